/*
 * notes.c - the probes that a program or a library has
 *
 * SPDX-License-Identifier: MIT
 */
#include "usdt/notes.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECTIONS_MAX 4096
#define SEGMENTS_MAX 512
#define TEXT_MAX     (UINT64_C(16) << 20)
#define NOTE_TYPE    3
#define OWNER        "stapsdt"
#define BASE_SECTION ".stapsdt.base"

/* What is needed of an ELF file of either word size. */
struct elf {
	int fd;
	bool wide; /* 64 bits */
	uint16_t machine, sections, segments, names;
	uint64_t section_table, segment_table;
	uint16_t section_size, segment_size;
	struct segment {
		uint32_t type;
		uint64_t offset, address, bytes;
	} segment[SEGMENTS_MAX];
};

struct section {
	uint32_t name, type;
	uint64_t address, offset, bytes;
};

static bool read_at(int fd, void *to, size_t bytes, uint64_t offset)
{
	return offset <= INT64_MAX && pread(fd, to, bytes, (off_t)offset) == (ssize_t)bytes;
}

#define MEMBERS(e, header)                                                                                             \
	((e)->machine = (header).e_machine, (e)->sections = (header).e_shnum, (e)->segments = (header).e_phnum,        \
	 (e)->names = (header).e_shstrndx, (e)->section_table = (header).e_shoff,                                      \
	 (e)->segment_table = (header).e_phoff, (e)->section_size = (header).e_shentsize,                              \
	 (e)->segment_size = (header).e_phentsize)

static bool read_segment(const struct elf *e, unsigned i, struct segment *s)
{
	uint64_t at = e->segment_table + (uint64_t)i * e->segment_size;
	Elf64_Phdr wide;
	Elf32_Phdr narrow;

	if (e->wide) {
		if (e->segment_size < sizeof wide || !read_at(e->fd, &wide, sizeof wide, at))
			return false;
		*s = (struct segment){ wide.p_type, wide.p_offset, wide.p_vaddr, wide.p_filesz };
	} else {
		if (e->segment_size < sizeof narrow || !read_at(e->fd, &narrow, sizeof narrow, at))
			return false;
		*s = (struct segment){ narrow.p_type, narrow.p_offset, narrow.p_vaddr, narrow.p_filesz };
	}
	return true;
}

static bool read_section(const struct elf *e, unsigned i, struct section *s)
{
	uint64_t at = e->section_table + (uint64_t)i * e->section_size;
	Elf64_Shdr wide;
	Elf32_Shdr narrow;

	if (e->wide) {
		if (e->section_size < sizeof wide || !read_at(e->fd, &wide, sizeof wide, at))
			return false;
		*s = (struct section){ wide.sh_name, wide.sh_type, wide.sh_addr, wide.sh_offset, wide.sh_size };
	} else {
		if (e->section_size < sizeof narrow || !read_at(e->fd, &narrow, sizeof narrow, at))
			return false;
		*s = (struct section){ narrow.sh_name, narrow.sh_type, narrow.sh_addr, narrow.sh_offset,
		                       narrow.sh_size };
	}
	return true;
}

static int open_elf(struct elf *e, int fd)
{
	union {
		unsigned char ident[EI_NIDENT];
		Elf64_Ehdr wide;
		Elf32_Ehdr narrow;
	} header;
	unsigned char order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;

	memset(&header, 0, sizeof header);
	e->fd = fd;
	if (!read_at(fd, &header, sizeof header.narrow, 0) || memcmp(header.ident, ELFMAG, SELFMAG) != 0 ||
	    header.ident[EI_DATA] != order)
		return -ENOEXEC;
	e->wide = header.ident[EI_CLASS] == ELFCLASS64;
	if (e->wide && !read_at(fd, &header, sizeof header.wide, 0))
		return -ENOEXEC;
	if (e->wide)
		MEMBERS(e, header.wide);
	else
		MEMBERS(e, header.narrow);
	if (e->segments > SEGMENTS_MAX || e->sections > SECTIONS_MAX)
		return -ENOEXEC;
	for (unsigned i = 0; i < e->segments; i++)
		if (!read_segment(e, i, &e->segment[i]))
			return -ENOEXEC;
	return 0;
}

/* Returns the place in the file of an address, or 0. */
static uint64_t place_of(const struct elf *e, uint64_t address)
{
	for (unsigned i = 0; i < e->segments; i++) {
		const struct segment *s = &e->segment[i];

		if (s->type == PT_LOAD && address >= s->address && address - s->address < s->bytes)
			return s->offset + (address - s->address);
	}
	return 0;
}

/* Returns the address of the section that tells whether the file was moved after it was linked; 0: there is none. */
static uint64_t base_of(const struct elf *e)
{
	struct section names, s;
	char name[sizeof BASE_SECTION];

	if (e->names >= e->sections || !read_section(e, e->names, &names))
		return 0;
	for (unsigned i = 0; i < e->sections; i++)
		if (read_section(e, i, &s) && s.name < names.bytes &&
		    read_at(e->fd, name, sizeof name, names.offset + s.name) &&
		    memcmp(name, BASE_SECTION, sizeof name) == 0)
			return s.address;
	return 0;
}

/* Returns the string at *p, and moves *p beyond its null. Returns null if it does not end. */
static const char *take_string(const char **p, const char *end)
{
	const char *text = *p, *null = memchr(text, 0, (size_t)(end - text));

	if (!null)
		return NULL;
	*p = null + 1;
	return text;
}

static uint64_t take_address(const char **p, bool wide)
{
	uint64_t address;
	uint32_t narrow;

	if (wide) {
		memcpy(&address, *p, 8);
	} else {
		memcpy(&narrow, *p, 4);
		address = narrow;
	}
	*p += wide ? 8 : 4;
	return address;
}

/* Adds the note whose description is from p to end. Returns 0 or -ENOMEM. */
static int add(struct notes *n, const struct elf *e, uint64_t base, const char *p, const char *end)
{
	struct note note = { 0 };
	uint64_t address, linked, semaphore;

	if ((size_t)(end - p) < 3 * (e->wide ? 8U : 4U))
		return 0;
	address = take_address(&p, e->wide);
	linked = take_address(&p, e->wide);
	semaphore = take_address(&p, e->wide);
	note.provider = take_string(&p, end);
	note.name = note.provider ? take_string(&p, end) : NULL;
	note.arguments = note.name ? take_string(&p, end) : NULL;
	if (!note.arguments || !*note.provider || !*note.name)
		return 0;
	note.offset = place_of(e, base && linked ? address + (base - linked) : address);
	if (!note.offset)
		return 0;
	if (semaphore)
		note.semaphore = place_of(e, base && linked ? semaphore + (base - linked) : semaphore);
	if ((n->count & (n->count - 1)) == 0) {
		struct note *more = realloc(n->note, (n->count ? 2 * n->count : 1) * sizeof *more);

		if (!more)
			return -ENOMEM;
		n->note = more;
	}
	n->note[n->count++] = note;
	return 0;
}

/* Goes through the notes of a section, whose bytes are at p. */
static int add_all(struct notes *n, const struct elf *e, uint64_t base, const char *p, const char *end)
{
	Elf64_Nhdr h; /* the same for both word sizes */
	int r = 0;

	while (r == 0 && (size_t)(end - p) >= sizeof h) {
		uint64_t name, description;

		memcpy(&h, p, sizeof h);
		p += sizeof h;
		name = ((uint64_t)h.n_namesz + 3) & ~UINT64_C(3);
		description = ((uint64_t)h.n_descsz + 3) & ~UINT64_C(3);
		/* The last description may lack its padding. */
		if (name > (uint64_t)(end - p) || h.n_descsz > (uint64_t)(end - p) - name)
			return 0;
		if (h.n_type == NOTE_TYPE && h.n_namesz == sizeof OWNER && memcmp(p, OWNER, sizeof OWNER) == 0)
			r = add(n, e, base, p + name, p + name + h.n_descsz);
		if (name + description > (uint64_t)(end - p))
			return r;
		p += name + description;
	}
	return r;
}

int notes_read(int fd, struct notes *n)
{
	struct elf *e = calloc(1, sizeof *e);
	int r = e ? open_elf(e, fd) : -ENOMEM;
	struct section s;

	*n = (struct notes){ 0 };
	for (unsigned i = 0; r == 0 && i < e->sections; i++) {
		char head[sizeof(Elf64_Nhdr) + sizeof OWNER];

		if (!read_section(e, i, &s) || s.type != SHT_NOTE || s.bytes < sizeof head || s.bytes > TEXT_MAX ||
		    !read_at(fd, head, sizeof head, s.offset) ||
		    memcmp(head + sizeof(Elf64_Nhdr), OWNER, sizeof OWNER) != 0)
			continue;
		n->text = malloc(s.bytes);
		if (!n->text)
			r = -ENOMEM;
		else if (!read_at(fd, n->text, s.bytes, s.offset))
			r = -EIO;
		else
			r = add_all(n, e, base_of(e), n->text, n->text + s.bytes);
		break; /* the linker makes one section of all */
	}
	if (e)
		n->machine = e->machine;
	if (r < 0)
		notes_free(n);
	free(e);
	return r;
}

void notes_free(struct notes *n)
{
	free(n->note);
	free(n->text);
	*n = (struct notes){ 0 };
}

/* Finds the build-id among the notes at p. Returns its length, 0 if it is not among them. */
static size_t find_build_id(const unsigned char *p, size_t size, unsigned char *id)
{
	Elf64_Nhdr h;

	while (size >= sizeof h + 4) {
		uint64_t name, all;

		memcpy(&h, p, sizeof h);
		name = sizeof h + (((uint64_t)h.n_namesz + 3) & ~UINT64_C(3));
		all = name + (((uint64_t)h.n_descsz + 3) & ~UINT64_C(3));
		if (all > size)
			return 0;
		if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == 4 && memcmp(p + sizeof h, "GNU", 4) == 0 &&
		    h.n_descsz <= NOTES_BUILD_ID_MAX) {
			memcpy(id, p + name, h.n_descsz);
			return h.n_descsz;
		}
		p += all;
		size -= all;
	}
	return 0;
}

size_t notes_build_id(int fd, unsigned char *id)
{
	struct elf *e = calloc(1, sizeof *e);
	unsigned char notes[1024];
	size_t length = 0;

	if (e && open_elf(e, fd) == 0)
		for (unsigned i = 0; !length && i < e->segments; i++) {
			const struct segment *s = &e->segment[i];

			if (s->type == PT_NOTE && s->bytes <= sizeof notes && read_at(fd, notes, s->bytes, s->offset))
				length = find_build_id(notes, s->bytes, id);
		}
	free(e);
	return length;
}
