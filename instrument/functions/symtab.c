/*
 * symtab.c - the symbols of the program and of its shared objects, read from their files
 *
 * SPDX-License-Identifier: MIT
 */
#include "symtab.h"

#include <fcntl.h>
#include <link.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MODULES 512

/* A file whose symbols were read. It stays mapped. */
struct module {
	uintptr_t start, end, base;
	const ElfW(Sym) *symbols;
	const char *names;
	size_t count, names_size;
	uint32_t *order; /* indices of the functions, by their addresses */
	size_t functions;
};

static struct module module[MODULES];
static size_t modules;

/* -- A lock that a forked child takes over ------------------------------------------------------------- */

static pid_t owner;

static void lock(void)
{
	pid_t self = getpid(), old = 0;

	while (!__atomic_compare_exchange_n(&owner, &old, self, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		/* The owner is a thread of the parent, of which a child has nothing but the memory. */
		if (old != self)
			continue;
		sched_yield();
		old = 0;
	}
}

static void unlock(void)
{
	__atomic_store_n(&owner, 0, __ATOMIC_RELEASE);
}

/* -- Files ------------------------------------------------------------------------------------------------- */

struct file {
	const unsigned char *bytes;
	size_t size;
};

static bool has(const struct file *f, uint64_t offset, uint64_t size)
{
	return offset <= f->size && size <= f->size - offset;
}

static bool map_file(struct file *f, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		return false;
	f->bytes = MAP_FAILED;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
		f->size = (size_t)st.st_size;
		f->bytes = mmap(NULL, f->size, PROT_READ, MAP_PRIVATE, fd, 0);
	}
	close(fd);
	return f->bytes != MAP_FAILED;
}

/* Returns the sections of a file, and stores their number; null if it is no ELF file of this machine. */
static const ElfW(Shdr) *sections(const struct file *f, unsigned *count)
{
	const ElfW(Ehdr) *h = (const void *)f->bytes;

	if (!has(f, 0, sizeof *h) || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 || h->e_shentsize != sizeof(ElfW(Shdr)) ||
	    h->e_shoff % sizeof(uint32_t) || !has(f, h->e_shoff, (uint64_t)h->e_shnum * sizeof(ElfW(Shdr))))
		return NULL;
	*count = h->e_shnum;
	return (const void *)(f->bytes + h->e_shoff);
}

/* Returns whether a section has texts, each with its null. */
static bool has_texts(const struct file *f, const ElfW(Shdr) *s)
{
	return s->sh_size > 0 && has(f, s->sh_offset, s->sh_size) && f->bytes[s->sh_offset + s->sh_size - 1] == '\0';
}

bool symtab_program_has(const char *name)
{
	const ElfW(Shdr) *section, *names;
	unsigned count = 0, index;
	bool found = false;
	struct file f;

	if (!map_file(&f, "/proc/self/exe"))
		return false;
	section = sections(&f, &count);
	index = section ? ((const ElfW(Ehdr) *)(const void *)f.bytes)->e_shstrndx : 0;
	names = index < count ? &section[index] : NULL;
	for (unsigned i = 0; i < count && names && has_texts(&f, names) && !found; i++)
		found = section[i].sh_name < names->sh_size &&
		        strcmp((const char *)f.bytes + names->sh_offset + section[i].sh_name, name) == 0;
	munmap((void *)(uintptr_t)f.bytes, f.size);
	return found;
}

/* Finds the table of symbols of a file: all symbols, or at least those that are exported. */
static void find_symbols(struct module *m, const struct file *f)
{
	unsigned found = 0, count = 0;
	const ElfW(Shdr) *section = sections(f, &count);

	for (unsigned i = 0; i < count; i++) {
		const ElfW(Shdr) *s = &section[i], *n;

		if ((s->sh_type != SHT_SYMTAB && s->sh_type != SHT_DYNSYM) || found == SHT_SYMTAB || s->sh_link >= count)
			continue;
		n = &section[s->sh_link];
		if (s->sh_offset % sizeof(uint32_t) || !has(f, s->sh_offset, s->sh_size) || !has_texts(f, n))
			continue;
		found = s->sh_type;
		m->symbols = (const void *)(f->bytes + s->sh_offset);
		m->count = s->sh_size / sizeof *m->symbols;
		m->names = (const char *)f->bytes + n->sh_offset;
		m->names_size = n->sh_size;
	}
}

static bool is_function(const ElfW(Sym) *s)
{
	return (s->st_info & 0xf) == STT_FUNC && s->st_shndx != SHN_UNDEF;
}

static bool is_object(const ElfW(Sym) *s)
{
	return ELF64_ST_TYPE(s->st_info) == STT_OBJECT && s->st_shndx != SHN_UNDEF && s->st_value;
}

static uintptr_t value(const struct module *m, size_t i)
{
	return m->symbols[m->order[i]].st_value;
}

/* Moves an element of a heap down to its place. */
static void sink(struct module *m, size_t at, size_t count)
{
	for (size_t child; (child = 2 * at + 1) < count; at = child) {
		uint32_t swap = m->order[at];

		if (child + 1 < count && value(m, child + 1) > value(m, child))
			child++;
		if (value(m, at) >= value(m, child))
			return;
		m->order[at] = m->order[child];
		m->order[child] = swap;
	}
}

/* Sorts the functions by address, without qsort(), which may allocate. */
static void sort(struct module *m)
{
	for (size_t i = m->functions / 2; i > 0; i--)
		sink(m, i - 1, m->functions);
	for (size_t i = m->functions; i > 1; i--) {
		uint32_t swap = m->order[0];

		m->order[0] = m->order[i - 1];
		m->order[i - 1] = swap;
		sink(m, 0, i - 1);
	}
}

static void read_module(struct module *m, const char *path)
{
	struct file f;

	if (!map_file(&f, path))
		return;
	find_symbols(m, &f);
	if (m->count == 0) {
		munmap((void *)(uintptr_t)f.bytes, f.size);
		return;
	}
	m->order = mmap(NULL, m->count * sizeof *m->order, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (m->order == MAP_FAILED) {
		m->count = 0;
		return;
	}
	for (size_t i = 0; i < m->count; i++)
		if (is_function(&m->symbols[i]) && m->symbols[i].st_name < m->names_size)
			m->order[m->functions++] = (uint32_t)i;
	sort(m);
}

/* -- Modules ------------------------------------------------------------------------------------------------ */

struct wanted {
	uintptr_t address; /* 0: the program itself */
	uintptr_t start, end, base;
	char path[4096];
};

static int look_at(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct wanted *w = arg;

	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + p->p_vaddr;

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		if (w->address && (w->address < start || w->address - start >= p->p_memsz))
			continue;
		w->start = start;
		w->end = start + p->p_memsz;
		w->base = info->dlpi_addr;
		w->path[0] = '\0';
		strncat(w->path, info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe", sizeof w->path - 1);
		return 1;
	}
	return !w->address;
}

/* Returns the module at an address, read when it is wanted first; null if there is none. */
static struct module *module_at(uintptr_t address)
{
	struct wanted w = { .address = address };
	struct module *m = NULL;

	/* Before the lock: this waits for a thread that loads a library, whose constructors may wait for the lock. */
	if (!dl_iterate_phdr(look_at, &w) || !w.end)
		return NULL;
	lock();
	for (size_t i = 0; i < modules && !m; i++)
		if (module[i].start == w.start && module[i].end == w.end)
			m = &module[i];
	if (!m && modules < MODULES) {
		m = &module[modules];
		*m = (struct module){ .start = w.start, .end = w.end, .base = w.base };
		read_module(m, w.path);
		modules++;
	}
	unlock();
	return m;
}

const char *symtab_name(uintptr_t function)
{
	const struct module *m = module_at(function);
	size_t low = 0, high = m ? m->functions : 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (value(m, middle) < function - m->base)
			low = middle + 1;
		else
			high = middle;
	}
	if (!m || low == m->functions || value(m, low) != function - m->base)
		return NULL;
	return m->names + m->symbols[m->order[low]].st_name;
}

uintptr_t symtab_find(const char *name)
{
	const struct module *m = module_at(0);

	for (size_t i = 0; m && i < m->count; i++) {
		const ElfW(Sym) *s = &m->symbols[i];

		if ((is_function(s) || is_object(s)) && s->st_name < m->names_size &&
		    strcmp(m->names + s->st_name, name) == 0)
			return m->base + s->st_value;
	}
	return 0;
}
