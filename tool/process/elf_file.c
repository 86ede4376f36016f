/*
 * elf_file.c - reads executables and libraries: sections, needed libraries, symbols
 *
 * SPDX-License-Identifier: MIT
 */
#include "process/elf_file.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* More than any table has that the command looks at; a larger size in a header is damage. */
#define TABLE_MOST (UINT64_C(256) << 20)

struct elf_file {
	int fd;
	uint64_t size;
	bool is_64;
	uint16_t machine;
	char *loader;
	Elf64_Phdr *segment; /* widened, if the file has 32 bits */
	unsigned segments;
	Elf64_Shdr *section; /* likewise */
	unsigned sections;
	char *section_names;
	size_t section_names_size;
	Elf64_Dyn *dynamic; /* likewise */
	size_t dynamics;
	char *strings; /* of the dynamic section */
	size_t strings_size;
};

/* Reads a part of the file, with a zero byte behind it. Returns null if the part is not in the file. */
static void *read_part(const struct elf_file *f, uint64_t offset, uint64_t size)
{
	unsigned char *part;
	uint64_t done = 0;

	if (size > TABLE_MOST || offset > f->size || size > f->size - offset)
		return NULL;
	part = malloc(size + 1);
	while (part && done < size) {
		ssize_t n = pread(f->fd, part + done, size - done, (off_t)(offset + done));

		if (n <= 0) {
			free(part);
			return NULL;
		}
		done += (uint64_t)n;
	}
	if (part)
		part[size] = 0;
	return part;
}

/* -- Tables, with all numbers as wide as in 64-bit files --------------------------------------- */

static void widen_segment(Elf64_Phdr *to, const Elf32_Phdr *from)
{
	*to = (Elf64_Phdr){
		.p_type = from->p_type, .p_offset = from->p_offset, .p_vaddr = from->p_vaddr,
		.p_filesz = from->p_filesz, .p_memsz = from->p_memsz,
	};
}

static void widen_section(Elf64_Shdr *to, const Elf32_Shdr *from)
{
	*to = (Elf64_Shdr){
		.sh_name = from->sh_name, .sh_type = from->sh_type, .sh_offset = from->sh_offset,
		.sh_size = from->sh_size, .sh_link = from->sh_link,
	};
}

/* Reads the program headers. */
static void read_segments(struct elf_file *f, uint64_t offset, unsigned count)
{
	size_t size = f->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
	void *table = count ? read_part(f, offset, count * size) : NULL;

	if (table && f->is_64) {
		f->segment = table;
	} else if (table) {
		f->segment = calloc(count, sizeof *f->segment);
		for (unsigned i = 0; f->segment && i < count; i++)
			widen_segment(&f->segment[i], (const Elf32_Phdr *)table + i);
		free(table);
	}
	f->segments = f->segment ? count : 0;
}

/* Reads the section headers and their names. */
static void read_sections(struct elf_file *f, uint64_t offset, unsigned count, unsigned names)
{
	size_t size = f->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
	void *table = count ? read_part(f, offset, count * size) : NULL;

	if (table && f->is_64) {
		f->section = table;
	} else if (table) {
		f->section = calloc(count, sizeof *f->section);
		for (unsigned i = 0; f->section && i < count; i++)
			widen_section(&f->section[i], (const Elf32_Shdr *)table + i);
		free(table);
	}
	f->sections = f->section ? count : 0;
	if (names >= f->sections)
		return;
	f->section_names = read_part(f, f->section[names].sh_offset, f->section[names].sh_size);
	f->section_names_size = f->section_names ? f->section[names].sh_size : 0;
}

/* Returns the offset in the file of an address in memory; the size of the file if it is in no segment. */
static uint64_t offset_of(const struct elf_file *f, uint64_t address)
{
	for (unsigned i = 0; i < f->segments; i++) {
		const Elf64_Phdr *s = &f->segment[i];

		if (s->p_type == PT_LOAD && address >= s->p_vaddr && address - s->p_vaddr < s->p_filesz)
			return s->p_offset + (address - s->p_vaddr);
	}
	return f->size;
}

static uint64_t dynamic_value(const struct elf_file *f, int64_t tag)
{
	for (size_t i = 0; f->dynamic && i < f->dynamics; i++)
		if (f->dynamic[i].d_tag == tag)
			return f->dynamic[i].d_un.d_val;
	return 0;
}

/* Reads the dynamic section by its segment, which files without section headers have, too. */
static void read_dynamic(struct elf_file *f, const Elf64_Phdr *segment)
{
	size_t size = f->is_64 ? sizeof(Elf64_Dyn) : sizeof(Elf32_Dyn);
	size_t count = segment->p_filesz / size;
	void *table = read_part(f, segment->p_offset, count * size);

	if (table && f->is_64) {
		f->dynamic = table;
	} else if (table) {
		f->dynamic = calloc(count + 1, sizeof *f->dynamic);
		for (size_t i = 0; f->dynamic && i < count; i++) {
			f->dynamic[i].d_tag = ((const Elf32_Dyn *)table)[i].d_tag;
			f->dynamic[i].d_un.d_val = ((const Elf32_Dyn *)table)[i].d_un.d_val;
		}
		free(table);
	}
	while (f->dynamic && f->dynamics < count && f->dynamic[f->dynamics].d_tag != DT_NULL)
		f->dynamics++;
	f->strings_size = dynamic_value(f, DT_STRSZ);
	f->strings = read_part(f, offset_of(f, dynamic_value(f, DT_STRTAB)), f->strings_size);
}

/* -- The file ----------------------------------------------------------------------------------- */

static bool read_header(struct elf_file *f)
{
	union {
		unsigned char ident[EI_NIDENT];
		Elf32_Ehdr narrow;
		Elf64_Ehdr wide;
	} h;
	ssize_t n = pread(f->fd, &h, sizeof h, 0);
	const unsigned char native = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;

	if (n < (ssize_t)sizeof h.narrow || memcmp(h.ident, ELFMAG, SELFMAG) != 0 || h.ident[EI_DATA] != native)
		return false;
	f->is_64 = h.ident[EI_CLASS] == ELFCLASS64;
	f->machine = h.narrow.e_machine; /* at the same place in both */
	if (f->is_64) {
		if (n < (ssize_t)sizeof h.wide || (h.wide.e_phnum && h.wide.e_phentsize != sizeof(Elf64_Phdr)) ||
		    (h.wide.e_shnum && h.wide.e_shentsize != sizeof(Elf64_Shdr)))
			return false;
		read_segments(f, h.wide.e_phoff, h.wide.e_phnum);
		read_sections(f, h.wide.e_shoff, h.wide.e_shnum, h.wide.e_shstrndx);
	} else {
		if ((h.narrow.e_phnum && h.narrow.e_phentsize != sizeof(Elf32_Phdr)) ||
		    (h.narrow.e_shnum && h.narrow.e_shentsize != sizeof(Elf32_Shdr)))
			return false;
		read_segments(f, h.narrow.e_phoff, h.narrow.e_phnum);
		read_sections(f, h.narrow.e_shoff, h.narrow.e_shnum, h.narrow.e_shstrndx);
	}
	return true;
}

struct elf_file *elf_file_open(const char *path)
{
	struct elf_file *f = calloc(1, sizeof *f);
	struct stat st;

	if (!f)
		return NULL;
	/* A FIFO or a device would block or do something. */
	f->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (f->fd < 0 || fstat(f->fd, &st) < 0 || !S_ISREG(st.st_mode))
		goto no;
	f->size = (uint64_t)st.st_size;
	if (!read_header(f))
		goto no;
	for (unsigned i = 0; i < f->segments; i++) {
		const Elf64_Phdr *s = &f->segment[i];

		if (s->p_type == PT_INTERP && !f->loader)
			f->loader = read_part(f, s->p_offset, s->p_filesz);
		else if (s->p_type == PT_DYNAMIC && !f->dynamic)
			read_dynamic(f, s);
	}
	return f;
no:
	elf_file_close(f);
	return NULL;
}

void elf_file_close(struct elf_file *f)
{
	if (!f)
		return;
	if (f->fd >= 0)
		close(f->fd);
	free(f->loader);
	free(f->segment);
	free(f->section);
	free(f->section_names);
	free(f->dynamic);
	free(f->strings);
	free(f);
}

bool elf_file_same_kind(const struct elf_file *f, const struct elf_file *other)
{
	return f->is_64 == other->is_64 && f->machine == other->machine;
}

bool elf_file_own_kind(const struct elf_file *f)
{
	struct elf_file *own = elf_file_open("/proc/self/exe");
	bool same = !own || elf_file_same_kind(f, own);

	elf_file_close(own);
	return same;
}

const char *elf_file_loader(const struct elf_file *f)
{
	return f->loader;
}

const char *elf_file_dynamic(const struct elf_file *f, uint64_t tag, unsigned index)
{
	for (size_t i = 0; i < f->dynamics; i++) {
		const Elf64_Dyn *d = &f->dynamic[i];

		if ((uint64_t)d->d_tag == tag && index-- == 0)
			return f->strings && d->d_un.d_val < f->strings_size ? f->strings + d->d_un.d_val : NULL;
	}
	return NULL;
}

static const Elf64_Shdr *find_section(const struct elf_file *f, const char *name)
{
	for (unsigned i = 0; i < f->sections; i++)
		if (f->section[i].sh_name < f->section_names_size &&
		    strcmp(f->section_names + f->section[i].sh_name, name) == 0)
			return &f->section[i];
	return NULL;
}

unsigned char *elf_file_section(const struct elf_file *f, const char *name, size_t *size)
{
	const Elf64_Shdr *s = find_section(f, name);

	if (!s || s->sh_type == SHT_NOBITS)
		return NULL;
	if (size)
		*size = s->sh_size;
	return read_part(f, s->sh_offset, s->sh_size);
}

/* Calls the function for each symbol of a table, until it returns false. */
static void each_symbol(const struct elf_file *f, const char *table,
                        bool (*each)(const Elf64_Sym *symbol, const char *name, void *arg), void *arg)
{
	const Elf64_Shdr *s = find_section(f, table);
	size_t entry = f->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	unsigned char *symbols;
	bool more = true;
	char *strings;

	if (!s || s->sh_type == SHT_NOBITS || s->sh_link >= f->sections)
		return;
	symbols = read_part(f, s->sh_offset, s->sh_size);
	strings = read_part(f, f->section[s->sh_link].sh_offset, f->section[s->sh_link].sh_size);
	for (size_t at = 0; symbols && strings && more && at + entry <= s->sh_size; at += entry) {
		Elf64_Sym symbol;

		if (f->is_64) {
			memcpy(&symbol, symbols + at, sizeof symbol);
		} else {
			const Elf32_Sym *narrow = (const void *)(symbols + at);

			symbol = (Elf64_Sym){ .st_name = narrow->st_name, .st_info = narrow->st_info,
				              .st_shndx = narrow->st_shndx, .st_value = narrow->st_value };
		}
		if (symbol.st_name < f->section[s->sh_link].sh_size)
			more = each(&symbol, strings + symbol.st_name, arg);
	}
	free(symbols);
	free(strings);
}

struct wanted {
	const char *name;
	enum elf_symbol is;
};

static bool look_for(const Elf64_Sym *symbol, const char *name, void *arg)
{
	struct wanted *w = arg;

	if (strcmp(name, w->name) == 0)
		w->is = symbol->st_shndx == SHN_UNDEF ? ELF_SYMBOL_WANTED : ELF_SYMBOL_DEFINED;
	return w->is != ELF_SYMBOL_DEFINED;
}

static enum elf_symbol in_table(const struct elf_file *f, const char *table, const char *name)
{
	struct wanted w = { name, ELF_SYMBOL_ABSENT };

	each_symbol(f, table, look_for, &w);
	return w.is;
}

enum elf_symbol elf_file_symbol(const struct elf_file *f, const char *name)
{
	enum elf_symbol is = in_table(f, ".dynsym", name);

	return is ? is : in_table(f, ".symtab", name);
}

static bool count_function(const Elf64_Sym *symbol, const char *name, void *arg)
{
	size_t *count = arg;

	*count += ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_shndx != SHN_UNDEF && *name;
	return true;
}

size_t elf_file_functions(const struct elf_file *f)
{
	size_t count = 0;

	each_symbol(f, ".symtab", count_function, &count);
	if (!count)
		each_symbol(f, ".dynsym", count_function, &count);
	return count;
}
