/*
 * preloadable.c - whether libraries can be preloaded into the file of a program
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/preloadable.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/message.h"

struct image {
	const unsigned char *bytes;
	uint64_t size;
};

/* What the names in a program say about it. */
static const struct {
	const char *word; /* the beginning of a name: a function, or a library */
	const char *sanitizer;
} signs[] = {
	{ "__asan_init", "AddressSanitizer" },       { "libasan.so", "AddressSanitizer" },
	{ "__hwasan_init", "HWAddressSanitizer" },   { "__tsan_init", "ThreadSanitizer" },
	{ "libtsan.so", "ThreadSanitizer" },         { "__msan_init", "MemorySanitizer" },
	{ "liblsan.so", "LeakSanitizer" },           { "__lsan_init", "LeakSanitizer" },
};

/* Returns the bytes at an offset, or null if they are not in the file. */
static const void *at(const struct image *i, uint64_t offset, uint64_t size)
{
	return offset <= i->size && size <= i->size - offset ? i->bytes + offset : NULL;
}

/* Returns the program headers, or null. *count: their number. */
static const ElfW(Phdr) *headers(const struct image *i, unsigned *count)
{
	const ElfW(Ehdr) *e = at(i, 0, sizeof *e);

	if (!e || memcmp(e->e_ident, ELFMAG, SELFMAG) != 0 || e->e_phentsize != sizeof(ElfW(Phdr)) ||
	    e->e_ident[EI_CLASS] != (sizeof(ElfW(Addr)) == 8 ? ELFCLASS64 : ELFCLASS32))
		return NULL;
	*count = e->e_phnum;
	return at(i, e->e_phoff, (uint64_t)e->e_phnum * sizeof(ElfW(Phdr)));
}

/* Returns the offset in the file of an address, or the size of the file. */
static uint64_t offset_of(const struct image *i, const ElfW(Phdr) *p, unsigned count, uint64_t address)
{
	for (unsigned n = 0; n < count; n++)
		if (p[n].p_type == PT_LOAD && address - p[n].p_vaddr < p[n].p_filesz)
			return p[n].p_offset + (address - p[n].p_vaddr);
	return i->size;
}

/* Returns the names that a program needs of its libraries, and theirs, with a null behind each; null: none. */
static const char *names(const struct image *i, const ElfW(Phdr) *p, unsigned count, const ElfW(Phdr) *dynamic,
                         uint64_t *size)
{
	const ElfW(Dyn) *d = at(i, dynamic->p_offset, dynamic->p_filesz);
	uint64_t address = 0;

	*size = 0;
	for (uint64_t n = 0; d && n < dynamic->p_filesz / sizeof *d && d[n].d_tag != DT_NULL; n++) {
		if (d[n].d_tag == DT_STRTAB)
			address = d[n].d_un.d_ptr;
		if (d[n].d_tag == DT_STRSZ)
			*size = d[n].d_un.d_val;
	}
	return address ? at(i, offset_of(i, p, count, address), *size) : NULL;
}

static const char *sanitizer_of(const char *list, uint64_t size)
{
	for (uint64_t from = 0; from < size; from += strnlen(list + from, size - from) + 1)
		for (unsigned n = 0; n < sizeof signs / sizeof *signs; n++)
			if (strlen(signs[n].word) <= size - from &&
			    memcmp(list + from, signs[n].word, strlen(signs[n].word)) == 0)
				return signs[n].sanitizer;
	return NULL;
}

static bool look(const struct image *i, const char *name)
{
	const ElfW(Phdr) *dynamic = NULL;
	const char *list, *sanitizer;
	bool interpreter = false;
	unsigned count = 0;
	const ElfW(Phdr) *p = headers(i, &count);
	uint64_t size;

	/* A script, or a program of another word size, whose own ld.so reports what it cannot preload. */
	if (!p)
		return true;
	for (unsigned n = 0; n < count; n++) {
		interpreter |= p[n].p_type == PT_INTERP;
		if (p[n].p_type == PT_DYNAMIC)
			dynamic = &p[n];
	}
	list = dynamic ? names(i, p, count, dynamic, &size) : NULL;
	sanitizer = list ? sanitizer_of(list, size) : NULL;
	if (sanitizer) {
		complain("%s: built with %s, which has to be the first library, so nothing can be preloaded: build it "
		         "without -fsanitize",
		         name, sanitizer);
		return false;
	}
	if (!interpreter)
		complain("%s: statically linked, so nothing is preloaded into it, only into programs that it starts",
		         name);
	return true;
}

bool preloadable(const char *path, const char *name)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct image i = { NULL, 0 };
	struct stat st;
	void *map;
	bool can;

	/* What cannot be read cannot be looked at. It may be executable all the same. */
	if (fd < 0)
		return true;
	map = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 ?
	              mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0) :
	              MAP_FAILED;
	close(fd);
	if (map == MAP_FAILED)
		return true;
	i.bytes = map;
	i.size = (uint64_t)st.st_size;
	can = look(&i, name);
	munmap(map, (size_t)st.st_size);
	return can;
}
