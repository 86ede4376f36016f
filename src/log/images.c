/*
 * images.c - what a process executes: its mappings, with build-ids
 *
 * SPDX-License-Identifier: MIT
 */
#include "log/images.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>

#include "base/lines.h"
#include "base/sys.h"
#include "base/text.h"
#include "base/ticks.h"
#include "log/format.h"

#define PATH_SIZE     4200
#define BUILD_ID_MAX  64
#define NOTES_MAX     4096
#define SEGMENTS_MAX  64
#define FIXED         16

bool images_same(const struct images *a, const struct images *b)
{
	return a->count == b->count && memcmp(a->image, b->image, a->count * sizeof a->image[0]) == 0;
}

bool images_have(const struct images *images, uint64_t address)
{
	for (uint32_t i = 0; i < images->count; i++)
		if (address - images->image[i].start < images->image[i].end - images->image[i].start)
			return true;
	return false;
}

/* -- The build-id of a file ------------------------------------------------------------- */

static size_t in_notes(const unsigned char *p, size_t size, unsigned char id[BUILD_ID_MAX])
{
	while (size >= 12) {
		uint32_t name, length, type;
		size_t all;

		memcpy(&name, p, 4);
		memcpy(&length, p + 4, 4);
		memcpy(&type, p + 8, 4);
		if (name > size || length > size)
			return 0;
		all = 12 + ((name + 3) & ~(size_t)3) + ((length + 3) & ~(size_t)3);
		if (all > size)
			return 0;
		if (type == NT_GNU_BUILD_ID && name == 4 && memcmp(p + 12, "GNU", 4) == 0 && length <= BUILD_ID_MAX) {
			memcpy(id, p + 16, length);
			return length;
		}
		p += all;
		size -= all;
	}
	return 0;
}

static size_t in_segment(int fd, uint64_t offset, uint64_t size, unsigned char id[BUILD_ID_MAX])
{
	unsigned char notes[NOTES_MAX];
	long n = sys_read_at(fd, notes, size < sizeof notes ? (size_t)size : sizeof notes, offset);

	return n > 0 ? in_notes(notes, (size_t)n, id) : 0;
}

/* The notes of an ELF file for programs of either word size. */
#define FIND(bits)                                                                                          \
	static size_t find##bits(int fd, unsigned char id[BUILD_ID_MAX])                                    \
	{                                                                                                   \
		Elf##bits##_Ehdr file;                                                                      \
		Elf##bits##_Phdr part;                                                                      \
		size_t n = 0;                                                                               \
                                                                                                            \
		if (sys_read_at(fd, &file, sizeof file, 0) != (long)sizeof file || file.e_phentsize != sizeof part) \
			return 0;                                                                           \
		for (unsigned i = 0; n == 0 && i < file.e_phnum && i < SEGMENTS_MAX; i++)                   \
			if (sys_read_at(fd, &part, sizeof part, file.e_phoff + i * sizeof part) == (long)sizeof part && \
			    part.p_type == PT_NOTE)                                                         \
				n = in_segment(fd, part.p_offset, part.p_filesz, id);                       \
		return n;                                                                                   \
	}

FIND(32)
FIND(64)

/* path: in the eyes of the process. */
static size_t build_id(uint32_t number, const char *path, unsigned char id[BUILD_ID_MAX])
{
	unsigned char ident[EI_NIDENT];
	char own[PATH_SIZE + 32];
	struct text t = text_into(own, sizeof own);
	struct sys_stat st;
	size_t n = 0;
	int fd;

	text_add(&t, "/proc/");
	text_add_number(&t, number);
	text_add(&t, "/root");
	text_add(&t, path);
	/* A device or a queue is none of ours to open. */
	if (sys_stat_path(own, &st) < 0 || (st.mode & 0170000) != 0100000)
		return 0;
	fd = sys_open(AT_FDCWD, own, O_RDONLY | O_NONBLOCK, 0);
	if (fd < 0)
		return 0;
	if (sys_read_at(fd, ident, sizeof ident, 0) == (long)sizeof ident && memcmp(ident, ELFMAG, SELFMAG) == 0)
		n = ident[EI_CLASS] == ELFCLASS64 ? find64(fd, id) : find32(fd, id);
	sys_close(fd);
	return n;
}

/* -- The mappings ---------------------------------------------------------------------------- */

struct looking {
	struct images *images;
	uint32_t number;
	unsigned char *at, *end;
	uint32_t written;
	bool full;
};

static uint64_t hex(const char **p)
{
	uint64_t n = 0;

	for (;; ++*p) {
		char c = **p;

		if (c >= '0' && c <= '9')
			n = n << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			n = n << 4 | (uint64_t)(c - 'a' + 10);
		else
			return n;
	}
}

static unsigned char *put_bytes(unsigned char *p, const void *bytes, size_t n)
{
	put16(p, (uint16_t)n);
	memcpy(p + 2, bytes, n);
	return p + 2 + n;
}

/* "55d0c0a00000-55d0c0a25000 r-xp 00002000 fe:00 1234      /usr/bin/cat" */
static void look_at(const char *line, void *arg)
{
	struct looking *l = arg;
	struct images *images = l->images;
	unsigned char id[BUILD_ID_MAX];
	uint64_t start, end, offset;
	const char *p = line, *path;
	size_t length;

	start = hex(&p);
	if (*p++ != '-')
		return;
	end = hex(&p);
	if (strlen(p) < 6 || p[3] != 'x' || end <= start)
		return;
	p += 6;
	offset = hex(&p);
	path = strchr(p, '/');
	if (!path)
		path = strchr(p, '['); /* [vdso], and memory without a file, */
	if (!path)
		path = ""; /* of a compiler that runs in the process, say */
	length = strlen(path);
	if (images->count < sizeof images->image / sizeof images->image[0])
		images->image[images->count++] = (struct image){ start, end };
	if (length >= PATH_SIZE || (size_t)(l->end - l->at) < 24 + 4 + length + BUILD_ID_MAX) {
		l->full = true;
		return;
	}
	put64(l->at, start);
	put64(l->at + 8, end);
	put64(l->at + 16, offset);
	l->at = put_bytes(l->at + 24, path, length);
	l->at = put_bytes(l->at, id, path[0] == '/' ? build_id(l->number, path, id) : 0);
	l->written++;
}

size_t images_look(struct images *images, uint32_t number, uint64_t time, unsigned char *body, size_t size)
{
	struct looking l = { .images = images, .number = number, .end = body + size };
	char path[PATH_SIZE], exe[32];
	struct text t;
	long n;

	t = text_into(exe, sizeof exe);
	text_add(&t, "/proc/");
	text_add_number(&t, number);
	text_add(&t, "/exe");
	n = sys_read_link(exe, path, sizeof path);
	images->count = 0;
	if (n < 0 || size < FIXED + 2 + (size_t)n)
		return 0;
	put32(body, images->pid);
	put64(body + 8, time);
	l.at = put_bytes(body + FIXED, path, (size_t)n);
	t = text_into(exe, sizeof exe);
	text_add(&t, "/proc/");
	text_add_number(&t, number);
	text_add(&t, "/maps");
	if (lines_each(exe, 0, look_at, &l) < 0)
		return 0;
	put32(body + 4, l.written);
	return (size_t)(l.at - body);
}
