/*
 * image.c - what a process executes, as bytes
 *
 * SPDX-License-Identifier: MIT
 */
#include "host/image.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/little_endian.h"
#include "base/sys.h"
#include "base/text.h"
#include "host/fs_credentials.h"
#include "host/ident.h"

#define BUILD_ID_MAX 64
#define SEGMENTS_MAX 64
#define FIXED        16 /* pid, count, time */
#define MAPPING      24 /* start, end, offset */
#define PAGE         UINT64_C(4096)

/* -- The build-id ------------------------------------------------------------------------------ */

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

/* An ELF file, either as a file or as mapped in a process's memory, which is then read as a file. */
struct elf {
	int fd;
	uint64_t base, limit; /* offset of its beginning, and number of bytes from there on */
	struct image_room *room;
	size_t have; /* number of bytes in room->first */
};

/* Reads up to size bytes, at most IMAGE_NOTES_SIZE, and returns their number. */
static size_t elf_read(const struct elf *e, uint64_t offset, uint64_t size, const unsigned char **bytes)
{
	long n;

	if (offset >= e->limit)
		return 0;
	if (size > e->limit - offset)
		size = e->limit - offset;
	if (size > IMAGE_NOTES_SIZE)
		size = IMAGE_NOTES_SIZE;
	if (offset < e->have && size <= e->have - offset) {
		*bytes = e->room->first + offset;
		return (size_t)size;
	}
	n = sys_read_at(e->fd, e->room->more, (size_t)size, e->base + offset);
	*bytes = e->room->more;
	return n > 0 ? (size_t)n : 0;
}

/* Defines find32() and find64(), which look for the build-id in the notes of an ELF file of either word size. */
#define FIND(bits)                                                                                          \
	static size_t find##bits(const struct elf *e, unsigned char id[BUILD_ID_MAX])                       \
	{                                                                                                   \
		const unsigned char *bytes;                                                                 \
		Elf##bits##_Ehdr file;                                                                      \
		Elf##bits##_Phdr part;                                                                      \
		size_t n = 0;                                                                               \
                                                                                                            \
		if (elf_read(e, 0, sizeof file, &bytes) != sizeof file)                                     \
			return 0;                                                                           \
		memcpy(&file, bytes, sizeof file);                                                          \
		if (file.e_phentsize != sizeof part)                                                        \
			return 0;                                                                           \
		for (unsigned i = 0; n == 0 && i < file.e_phnum && i < SEGMENTS_MAX; i++) {                 \
			if (elf_read(e, file.e_phoff + i * sizeof part, sizeof part, &bytes) != sizeof part) \
				continue;                                                                   \
			memcpy(&part, bytes, sizeof part);                                                  \
			if (part.p_type == PT_NOTE)                                                         \
				n = in_notes(bytes, elf_read(e, part.p_offset, part.p_filesz, &bytes), id); \
		}                                                                                           \
		return n;                                                                                   \
	}

FIND(32)
FIND(64)

static size_t elf_build_id(struct elf *e, unsigned char id[BUILD_ID_MAX])
{
	long n = sys_read_at(e->fd, e->room->first, e->limit < IMAGE_NOTES_SIZE ? (size_t)e->limit : IMAGE_NOTES_SIZE,
	                     e->base);

	e->have = n > 0 ? (size_t)n : 0;
	if (e->have < EI_NIDENT || memcmp(e->room->first, ELFMAG, SELFMAG) != 0)
		return 0;
	return e->room->first[EI_CLASS] == ELFCLASS64 ? find64(e, id) : find32(e, id);
}

/* -- Writing ---------------------------------------------------------------------------------------- */

struct looking {
	const struct image_of *of;
	struct image_room *room;
	unsigned char *at, *end;
	uint32_t written;
	bool full;
	int memory; /* descriptor of the caller's memory; negative: it cannot be read */
	/* The last mapping of the beginning of a file, and a hash that identifies the file. */
	uint64_t begin, begin_end, begin_file;
};

/*
 * Gets the build-id of a file that another process maps. path: as seen by that process. Returns its length, 0 if
 * none.
 */
static size_t build_id_of_file(const struct looking *l, const char *path, unsigned char id[BUILD_ID_MAX])
{
	struct elf e = { .fd = -1, .limit = INT64_MAX, .room = l->room };
	struct text t = text_into(l->room->path, sizeof l->room->path);
	struct fs_credentials fs_credentials;
	struct sys_stat st;
	size_t n = 0;
	int entry;

	text_add(&t, proc_path(l->of->number, "/root").text);
	text_add(&t, path);
	/* By now the path may be anything, and lead anywhere. So never use more rights than the process has (H18). */
	fs_credentials_use(&fs_credentials, l->of->owner, l->of->group);
	/*
	 * Opening a device or a queue has effects. So open the very file that was checked, even if its name has
	 * moved.
	 */
	entry = sys_open(AT_FDCWD, l->room->path, O_PATH, 0);
	if (entry >= 0 && sys_stat(entry, &st) == 0 && (st.mode & 0170000) == 0100000)
		e.fd = sys_open_again(entry, O_RDONLY | O_NONBLOCK);
	if (entry >= 0)
		sys_close(entry);
	fs_credentials_restore(&fs_credentials);
	if (e.fd >= 0) {
		n = elf_build_id(&e, id);
		sys_close(e.fd);
	}
	return n;
}

/* Gets the build-id of a file that the caller maps, if the file is the one whose beginning was mapped last. */
static size_t build_id_in_memory(const struct looking *l, uint64_t file, unsigned char id[BUILD_ID_MAX])
{
	struct elf e = { .fd = l->memory, .base = l->begin, .limit = l->begin_end - l->begin, .room = l->room };

	return l->memory >= 0 && file == l->begin_file ? elf_build_id(&e, id) : 0;
}

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

static void put_mapping(struct looking *l, uint64_t start, uint64_t end, uint64_t offset, const char *path,
                        const unsigned char *id, size_t id_length)
{
	size_t length = strlen(path);

	if (l->of->range)
		l->of->range(start, end, l->of->arg);
	if (length >= IMAGE_PATH_SIZE || (size_t)(l->end - l->at) < MAPPING + 4 + length + BUILD_ID_MAX) {
		l->full = true;
		return;
	}
	put64(l->at, start);
	put64(l->at + 8, end);
	put64(l->at + 16, offset);
	l->at = put_bytes(l->at + MAPPING, path, length);
	l->at = put_bytes(l->at, id, id_length);
	l->written++;
}

/* Returns a hash of device, inode and path. */
static uint64_t file_of(const char *p)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	while (*p)
		h = (h ^ (unsigned char)*p++) * UINT64_C(0x100000001b3);
	return h;
}

/* "55d0c0a00000-55d0c0a25000 r-xp 00002000 fe:00 1234      /usr/bin/cat" */
static void look_at(const char *line, void *arg)
{
	struct looking *l = arg;
	unsigned char id[BUILD_ID_MAX];
	uint64_t start, end, offset, file = 0;
	const char *p = line, *path, *perms;
	size_t id_length = 0;

	start = hex(&p);
	if (*p++ != '-')
		return;
	end = hex(&p);
	if (strlen(p) < 6 || end <= start)
		return;
	perms = p + 1;
	p += 6;
	offset = hex(&p);
	path = strchr(p, '/');
	if (path && !l->of->number) {
		file = file_of(p);
		if (offset == 0 && perms[0] == 'r') {
			l->begin = start;
			l->begin_end = end;
			l->begin_file = file;
		}
	}
	if (perms[2] != 'x')
		return;
	if (path && strlen(path) < IMAGE_PATH_SIZE && !l->full)
		id_length = l->of->number ? build_id_of_file(l, path, id) : build_id_in_memory(l, file, id);
	if (!path)
		path = strchr(p, '['); /* [vdso] and the like */
	if (!path)
		path = ""; /* memory without a file, perhaps of a compiler that runs in the process */
	put_mapping(l, start, end, offset, path, id, id_length);
}

/*
 * Describes the caller's executable by the auxiliary vector, without any file of /proc. Returns false if the vector
 * does not help.
 */
static bool look_without_proc(struct looking *l)
{
	const ElfW(Phdr) *part = (const ElfW(Phdr) *)getauxval(AT_PHDR);
	const char *path = (const char *)getauxval(AT_EXECFN);
	size_t count = part && getauxval(AT_PHENT) == sizeof *part ? getauxval(AT_PHNUM) : 0;
	size_t length = path ? strnlen(path, IMAGE_PATH_SIZE - 1) : 0, id_length = 0;
	unsigned char id[BUILD_ID_MAX];
	uintptr_t bias = 0;

	if (!length || (size_t)(l->end - l->at) < 2 + length)
		return false;
	memcpy(l->room->path, path, length);
	l->room->path[length] = 0;
	l->at = put_bytes(l->at, path, length);
	for (size_t i = 0; i < count; i++)
		if (part[i].p_type == PT_PHDR)
			bias = (uintptr_t)part - part[i].p_vaddr;
	for (size_t i = 0; i < count && id_length == 0; i++)
		if (part[i].p_type == PT_NOTE)
			id_length = in_notes((const unsigned char *)(bias + part[i].p_vaddr), part[i].p_memsz, id);
	for (size_t i = 0; i < count; i++) {
		uint64_t start = (bias + part[i].p_vaddr) & ~(PAGE - 1);
		uint64_t end = (bias + part[i].p_vaddr + part[i].p_memsz + PAGE - 1) & ~(PAGE - 1);

		if (part[i].p_type == PT_LOAD && (part[i].p_flags & PF_X) && end > start)
			put_mapping(l, start, end, part[i].p_offset & ~(PAGE - 1), l->room->path, id, id_length);
	}
	return true;
}

static bool look_with_proc(struct looking *l)
{
	const struct image_of *of = l->of;
	long n = sys_read_link(proc_path(of->number, "/exe").text, l->room->path, IMAGE_PATH_SIZE);
	int r;

	if (n < 0 || (size_t)(l->end - l->at) < 2 + (size_t)n)
		return false;
	l->at = put_bytes(l->at, l->room->path, (size_t)n);
	l->memory = of->number ? -1 : sys_open(AT_FDCWD, proc_path(0, "/mem").text, O_RDONLY, 0);
	r = lines_each_in(l->room->line, proc_path(of->number, "/maps").text, 0, look_at, l);
	if (l->memory >= 0)
		sys_close(l->memory);
	return r >= 0;
}

/* Puts the parent and the command line, cut to the room that is left. */
static void put_command(struct looking *l, uint32_t parent)
{
	const struct image_of *of = l->of;
	size_t size = (size_t)(l->end - l->at), length = 0;
	int fd = -1;

	if (size < 6)
		return;
	put32(l->at, parent);
	l->at += 4;
	size -= 6;
	if (size > IMAGE_COMMAND_MAX)
		size = IMAGE_COMMAND_MAX;
	if (of->command || !of->number)
		fd = sys_open(AT_FDCWD, proc_path(of->number, "/cmdline").text, O_RDONLY, 0);
	while (fd >= 0 && length < size) {
		long n = sys_read(fd, l->at + 2 + length, size - length);

		if (n <= 0)
			break;
		length += (size_t)n;
	}
	if (fd >= 0)
		sys_close(fd);
	put16(l->at, (uint16_t)length);
	l->at += 2 + length;
}

/* Returns whether the process still executes the same file. A process that ends loses its mappings first. */
static bool same_executable(const struct looking *l, const unsigned char *executable)
{
	long n = sys_read_link(proc_path(l->of->number, "/exe").text, l->room->path, IMAGE_PATH_SIZE);

	return n >= 0 && n == get16(executable) && memcmp(l->room->path, executable + 2, (size_t)n) == 0;
}

size_t image_look(const struct image_of *of, struct image_room *room, unsigned char *bytes, size_t size)
{
	struct looking l = { .of = of, .room = room, .at = bytes + FIXED, .end = bytes + size, .memory = -1 };
	uint32_t parent = 0;
	uint64_t start;

	if (size < FIXED)
		return 0;
	put32(bytes, of->pid);
	put64(bytes + 8, of->time);
	if (!look_with_proc(&l)) {
		l.at = bytes + FIXED;
		l.written = 0;
		if (of->number || !look_without_proc(&l))
			return 0;
	}
	put32(bytes + 4, l.written);
	if (!of->number)
		parent = (uint32_t)sys_getppid();
	else
		proc_parent(of->number, &parent, &start);
	put_command(&l, parent);
	if (of->number && !same_executable(&l, bytes + FIXED))
		return 0;
	return (size_t)(l.at - bytes);
}

/* -- Reading --------------------------------------------------------------------------------------- */

/* Returns what follows a string without nulls, or null if the string is not valid. */
static const unsigned char *skip_path(const unsigned char *p, const unsigned char *end)
{
	if (!p || end - p < 2 || end - p - 2 < get16(p) || memchr(p + 2, 0, get16(p)))
		return NULL;
	return p + 2 + get16(p);
}

static const unsigned char *skip_bytes(const unsigned char *p, const unsigned char *end)
{
	return p && end - p >= 2 && end - p - 2 >= get16(p) ? p + 2 + get16(p) : NULL;
}

bool image_valid(const unsigned char *bytes, size_t size)
{
	const unsigned char *end = bytes + size, *p;

	if (size < FIXED)
		return false;
	p = skip_path(bytes + FIXED, end);
	for (uint32_t count = get32(bytes + 4); p && count > 0; count--) {
		if (end - p < MAPPING || get64(p + 8) <= get64(p))
			return false;
		p = skip_path(p + MAPPING, end);
		p = skip_bytes(p, end);
	}
	if (p && p < end)
		p = end - p < 4 ? NULL : skip_bytes(p + 4, end);
	return p == end;
}

void image_each(const unsigned char *bytes, size_t size, void (*f)(uint64_t, uint64_t, void *), void *arg)
{
	const unsigned char *end = bytes + size, *p = skip_bytes(bytes + FIXED, end);

	for (uint32_t count = get32(bytes + 4); p && count > 0 && end - p >= MAPPING; count--) {
		f(get64(p), get64(p + 8), arg);
		p = skip_bytes(skip_bytes(p + MAPPING, end), end);
	}
}
