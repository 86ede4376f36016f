/*
 * debuginfo.c - looks up addresses in files that traced processes had mapped
 *
 * SPDX-License-Identifier: MIT
 */
#include "logs/debuginfo.h"

#include <stdlib.h>
#include <stdbool.h>
#include <string.h>

#include "common/message.h"

#ifdef HAVE_LIBDW
# include <dwarf.h>
# include <elfutils/libdw.h>
# include <elfutils/libdwfl.h>
# include <errno.h>
# include <fcntl.h>
# include <gelf.h>
# include <limits.h>
# include <linux/magic.h>
# include <stdio.h>
# include <sys/mman.h>
# include <sys/stat.h>
# include <sys/vfs.h>
# include <unistd.h>

# include "base/sys.h"

/* Files of which is printed what is wrong with them. */
# define SAID_MOST 20
/* Limit for all copies of other users' files together, in bytes. */
# define COPIES_MAX ((off_t)1 << 30)
/* Limit for what libdw may make of the compressed sections of these files, in bytes. */
# define EXPANDED_MAX (UINT64_C(256) << 20)
#endif

struct image {
	struct image *next;
	char *path;
	unsigned char *id;
	size_t path_length, id_length;
	uint64_t time; /* the last one at which it was mapped */
	bool tried;
#ifdef HAVE_LIBDW
	bool alone;          /* libdw may not open further files */
	bool foreign;        /* another user can write to the file */
	bool told;           /* that its rules are not followed */
	bool lines;          /* the debug information may be read */
	Dwfl_Module *module; /* null: the file cannot be read */
	GElf_Addr bias;
	Elf *elf;
#endif
};

static size_t hash(size_t h, const void *bytes, size_t size)
{
	const unsigned char *b = bytes;

	for (size_t i = 0; i < size; i++)
		h = (h ^ b[i]) * 16777619u;
	return h;
}

struct image *image_of(uint64_t time, const char *path, size_t length, const unsigned char *id, size_t id_length)
{
	/* A log may name any number of images. */
	static struct image *with_hash[1 << 14];
	struct image **all, *i;
	size_t h;

	/* A path ends at its first null byte, which may be anywhere in a log. path_length is the length up to there. */
	length = strnlen(path, length);
	h = hash(hash(2166136261u, path, length), id, id_length);
	all = &with_hash[(h ^ h >> 14) % (sizeof with_hash / sizeof with_hash[0])];
	for (i = *all; i; i = i->next)
		if (i->path_length == length && memcmp(i->path, path, length) == 0 && i->id_length == id_length &&
		    memcmp(i->id, id, id_length) == 0)
			break;
	if (i) {
		i->time = time > i->time ? time : i->time;
		return i;
	}
	i = calloc(1, sizeof *i);
	if (i) {
		i->path = strndup(path, length);
		i->id = malloc(id_length + 1);
	}
	if (!i || !i->path || !i->id)
		fail("no memory");
	memcpy(i->id, id, id_length);
	i->time = time;
	i->path_length = length;
	i->id_length = id_length;
	i->next = *all;
	*all = i;
	return i;
}

const char *image_path(const struct image *i)
{
	return i->path;
}

#ifndef HAVE_LIBDW

void image_look_up(struct image *i, struct symbol *s)
{
	static bool said;

	if (!said)
		complain("functions and source lines are not available: built without libdw (elfutils)");
	said = true;
}

void *image_rules(struct image *i, uint64_t *offset)
{
	return NULL;
}

#else

/* -- The file --------------------------------------------------------------------------------- */

/* Returns whether the file is the one that was traced. Files without a build-id cannot be told apart. */
static bool same(const struct image *i)
{
	const unsigned char *id;
	GElf_Addr where;
	int length = dwfl_module_build_id(i->module, &id, &where);

	return length <= 0 ? i->id_length == 0 : (size_t)length == i->id_length && memcmp(id, i->id, i->id_length) == 0;
}

static bool belongs_here(const struct stat *st)
{
	return st->st_uid == 0 || st->st_uid == geteuid();
}

/* Returns whether the mode lets another user write. This user's own group has no other member, as far as is known. */
static bool others_write(const struct stat *st)
{
	return (st->st_mode & S_IWOTH) ||
	       ((st->st_mode & S_IWGRP) && st->st_gid != 0 && st->st_gid != getegid());
}

/*
 * Returns whether libdw may look for debug information in other files, beside this file or wherever it says. libdw
 * opens them without any check, and waits for a FIFO. So the file and all directories of its path must belong to this
 * user or to root. Others must not be able to write to its directory, or to rename entries of the directories above.
 * path: without symbolic links.
 */
static bool trusted(const char *path, const struct stat *st)
{
	char directory[PATH_MAX], *slash;
	mode_t harmless = 0;
	struct stat above;

	if (!belongs_here(st))
		return false;
	snprintf(directory, sizeof directory, "%s", path);
	while ((slash = strrchr(directory, '/')) && directory[1]) {
		slash[slash == directory] = 0;
		if (stat(directory, &above) != 0 || !belongs_here(&above) ||
		    (others_write(&above) && !(above.st_mode & harmless)))
			return false;
		harmless = S_ISVTX;
	}
	return slash != NULL;
}

static int find_debuginfo(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base, const char *file,
                          const char *link, GElf_Word crc, char **found)
{
	const struct image *i = *data;

	return i->alone ? -1 : dwfl_standard_find_debuginfo(module, data, name, base, file, link, crc, found);
}

/* Returns whether a file contains all of its debug information. */
static bool has_all(Elf *elf)
{
	size_t names;
	Elf_Scn *section = NULL;
	Dwarf_CU *unit = NULL;
	Dwarf *dwarf;
	uint8_t type;
	bool all = true;
	int r;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return false;
	while ((section = elf_nextscn(elf, section)) != NULL) {
		GElf_Shdr header;
		const char *name = gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;

		if (!name || strcmp(name, ".gnu_debugaltlink") == 0 || strcmp(name, ".debug_sup") == 0)
			return false;
	}
	dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	if (!dwarf)
		return false;
	while (all && (r = dwarf_get_units(dwarf, unit, &unit, NULL, &type, NULL, NULL)) == 0)
		all = type != DW_UT_skeleton;
	dwarf_end(dwarf);
	return all && r == 1;
}

/* Returns whether the kernel generates the file's contents: reading may block, or consume them. */
static bool made_up(int fd)
{
	static const long kinds[] = { PROC_SUPER_MAGIC, SYSFS_MAGIC, DEBUGFS_MAGIC, TRACEFS_MAGIC };
	struct statfs fs;

	if (fstatfs(fd, &fs) != 0)
		return true;
	for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if ((long)fs.f_type == kinds[i])
			return true;
	return false;
}

/* Opens the file that was found; without /proc, by its name. */
static int open_found(const char *name, int entry, const struct stat *st, char path[PATH_MAX])
{
	int fd = sys_open_again(entry, O_RDONLY | O_NONBLOCK);
	ssize_t n = fd >= 0 ? readlink(sys_fd_path(entry).text, path, PATH_MAX - 1) : -1;
	struct stat now;

	if (n > 0)
		path[n] = 0;
	if (fd != -ENOENT)
		return fd;
	fd = realpath(name, path) ? sys_open(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_LARGEFILE, 0) : -errno;
	if (fd < 0 || (fstat(fd, &now) == 0 && now.st_dev == st->st_dev && now.st_ino == st->st_ino))
		return fd;
	close(fd);
	return -ENOENT;
}

/*
 * Opens a file that is named by a log, and may be anything. Opening a device or a FIFO has side effects, so exactly the
 * checked file is opened. path: its name without symbolic links.
 */
static int open_regular(const char *name, struct stat *st, char path[PATH_MAX], const char **why)
{
	int entry = open(name, O_PATH | O_CLOEXEC), fd = -1;

	*why = NULL;
	*path = 0;
	if (entry < 0 || fstat(entry, st) != 0)
		*why = strerror(errno);
	else if (!S_ISREG(st->st_mode) || made_up(entry))
		*why = "not a regular file";
	else if ((fd = open_found(name, entry, st, path)) < 0)
		*why = strerror(-fd);
	if (entry >= 0)
		close(entry);
	return fd;
}

static bool copy_piece(int from, int to, off_t at, off_t end)
{
	static char piece[1 << 16];

	while (at < end) {
		size_t size = end - at < (off_t)sizeof piece ? (size_t)(end - at) : sizeof piece;
		ssize_t n = pread(from, piece, size, at);

		/* 0: the file has been truncated meanwhile. */
		if (n <= 0)
			return n == 0;
		if (pwrite(to, piece, (size_t)n, at) != n)
			return false;
		at += n;
	}
	return true;
}

/*
 * Copies a file that another user can change while it is read. libdw maps files: truncating a mapped file would kill
 * this process. Returns the copy's descriptor and closes fd, or returns -1 and the reason. Holes stay holes.
 */
static int copy_of(int fd, const struct stat *st, const char **why)
{
	static off_t left = COPIES_MAX;
	int copy = memfd_create("posixtrace", MFD_CLOEXEC);
	off_t at = 0, end;

	if (copy < 0 || ftruncate(copy, st->st_size) != 0)
		*why = strerror(errno);
	while (!*why && at < st->st_size && (at = lseek(fd, at, SEEK_DATA)) >= 0 && at < st->st_size) {
		end = lseek(fd, at, SEEK_HOLE);
		if (end < 0 || end > st->st_size)
			end = st->st_size;
		if (end - at > left)
			*why = "it belongs to another user, who could change it while it is read, "
			       "and is too large to copy";
		else if (!copy_piece(fd, copy, at, end))
			*why = strerror(errno);
		left -= end - at;
		at = end;
	}
	close(fd);
	if (*why && copy >= 0)
		close(copy);
	return *why ? -1 : copy;
}

static bool is_elf(int fd)
{
	char magic[SELFMAG];

	return pread(fd, magic, SELFMAG, 0) == SELFMAG && memcmp(magic, ELFMAG, SELFMAG) == 0;
}

/*
 * Returns the size of a compressed section when it is expanded, 0 for other sections. libdw expands no section to more
 * than the size that it declares. UINT64_MAX: it declares none, as an embedded symbol table does (.gnu_debugdata).
 */
static uint64_t expanded_size(Elf *elf, size_t names, Elf_Scn *section)
{
	unsigned char size[12];
	GElf_Shdr header;
	GElf_Chdr compressed;
	const char *name;
	Elf_Data *data;
	uint64_t expanded = 0;

	if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS)
		return 0;
	if (header.sh_flags & SHF_COMPRESSED)
		return gelf_getchdr(section, &compressed) ? compressed.ch_size : 0;
	name = elf_strptr(elf, names, header.sh_name);
	if (name && strcmp(name, ".gnu_debugdata") == 0)
		return UINT64_MAX;
	/* The older form: "ZLIB", and the size as a big-endian number. */
	data = name && strncmp(name, ".zdebug", 7) == 0 ? elf_rawdata(section, NULL) : NULL;
	if (!data || !data->d_buf || data->d_size < sizeof size)
		return 0;
	memcpy(size, data->d_buf, sizeof size);
	for (unsigned k = 4; k < sizeof size; k++)
		expanded = expanded << 8 | size[k];
	return expanded;
}

/* Returns whether a copied file, and those before it, stay below the limit when libdw expands their sections. */
static bool may_expand(Elf *elf)
{
	static uint64_t left = EXPANDED_MAX;
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return true; /* no section can be found by its name */
	while ((section = elf_nextscn(elf, section)) != NULL) {
		uint64_t size = expanded_size(elf, names, section);

		if (size > left)
			return false;
		left -= size;
	}
	return true;
}

/* Returns whether the file was written to after a time. Files that are copied or installed are, too. */
static bool changed_since(const struct stat *st, uint64_t time)
{
	uint64_t second = time / 1000000000;

	return st->st_mtim.tv_sec >= 0 && ((uint64_t)st->st_mtim.tv_sec > second ||
	       ((uint64_t)st->st_mtim.tv_sec == second && (uint64_t)st->st_mtim.tv_nsec > time % 1000000000));
}

static const char *open_image(struct image *i)
{
	static char *nowhere;
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = find_debuginfo,
		.section_address = dwfl_offline_section_address,
		.debuginfo_path = &nowhere,
	};
	char path[PATH_MAX];
	Dwfl *dwfl = NULL;
	const char *why;
	struct stat st = { 0 };
	void **data;
	int fd = open_regular(i->path, &st, path, &why);

	/* Refuses compressed files: libdw would expand them to any size. */
	if (!why && !is_elf(fd))
		why = "not an ELF file";
	i->foreign = !belongs_here(&st) || others_write(&st);
	if (!why && i->foreign)
		fd = copy_of(fd, &st, &why);
	if (!why && !(dwfl = dwfl_begin(&callbacks)))
		why = dwfl_errmsg(-1);
	if (why) {
		if (fd >= 0)
			close(fd);
		return why;
	}
	/*
	 * The file is the only module, at the addresses it was linked for, so a process's own addresses do not matter.
	 * Separate debug information is looked for beside its real path.
	 */
	i->alone = !trusted(path, &st);
	i->module = dwfl_report_elf(dwfl, i->path, path, fd, 0, false);
	if (!i->module) {
		close(fd);
		return dwfl_errmsg(-1);
	}
	dwfl_module_info(i->module, &data, NULL, NULL, NULL, NULL, NULL, NULL);
	*data = i;
	dwfl_report_end(dwfl, NULL, NULL);
	i->elf = dwfl_module_getelf(i->module, &i->bias);
	if (!i->elf)
		return dwfl_errmsg(-1);
	if (i->foreign && !may_expand(i->elf))
		return "it belongs to another user, and its compressed sections are too large";
	/* Check the build-id before anything else is read. */
	if (!same(i))
		return i->id_length ? "not the file that was traced: its build-id differs"
		                    : "perhaps not the file that was traced: the log has no build-id of it";
	if (!i->id_length && changed_since(&st, i->time))
		return "perhaps not the file that was traced: it has changed since, and has no build-id";
	i->lines = !i->alone || has_all(i->elf);
	return NULL;
}

/* Converts an offset in the file to an address. Returns false if the offset is in no loaded segment. */
static bool to_address(const struct image *i, uint64_t *offset)
{
	size_t n;

	if (elf_getphdrnum(i->elf, &n) != 0)
		return false;
	for (size_t k = 0; k < n; k++) {
		GElf_Phdr part;

		if (gelf_getphdr(i->elf, (int)k, &part) && part.p_type == PT_LOAD && *offset >= part.p_offset &&
		    *offset - part.p_offset < part.p_filesz) {
			*offset += part.p_vaddr - part.p_offset;
			return true;
		}
	}
	return false;
}

/* -- Functions and lines ------------------------------------------------------------------------ */

/*
 * Returns whether the entry is inlined from <trace.h> or <posixtrace/typed.h>, or is marked as artificial, as those of
 * <posixtrace/trace.hpp> are. The program's source line is that of its call.
 */
static bool is_trace_point(Dwarf_Die *die)
{
	const char *name = dwarf_tag(die) == DW_TAG_inlined_subroutine ? dwarf_diename(die) : NULL;

	return name && (strcmp(name, "__posix_trace_point") == 0 || strncmp(name, "posixtrace__", 12) == 0 ||
	                dwarf_hasattr_integrate(die, DW_AT_artificial));
}

static void called_from(Dwarf_Die *unit, Dwarf_Die *die, struct symbol *s)
{
	Dwarf_Attribute attribute;
	Dwarf_Word file, line;
	Dwarf_Files *files;
	size_t count;

	if (dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &attribute), &file) != 0 ||
	    dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &attribute), &line) != 0 ||
	    dwarf_getsrcfiles(unit, &files, &count) != 0 || file >= count)
		return;
	s->source = dwarf_filesrc(files, file, NULL, NULL);
	s->line = (unsigned)line;
}

/*
 * Returns the compilation unit at an address, or null. clang writes no index of addresses (.debug_aranges), which libdw
 * relies on. Then the unit is searched for, among all.
 */
static Dwarf_Die *unit_at(struct image *i, GElf_Addr address, Dwarf_Addr *bias)
{
	Dwarf_Die *unit = dwfl_module_addrdie(i->module, address, bias);

	if (unit)
		return unit;
	while ((unit = dwfl_module_nextcu(i->module, unit, bias)) != NULL)
		if (dwarf_haspc(unit, address - *bias) > 0)
			return unit;
	return NULL;
}

/* Finds the source line of an address in its unit. */
static void find_line(Dwarf_Die *unit, Dwarf_Addr address, struct symbol *s)
{
	Dwarf_Line *line = dwarf_getsrc_die(unit, address);
	int number = 0;

	s->source = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
	s->line = s->source && dwarf_lineno(line, &number) == 0 ? (unsigned)number : 0;
}

/* Finds the innermost function of the program, which may be inlined into others. */
static void find_function(Dwarf_Die *unit, Dwarf_Addr address, struct symbol *s)
{
	Dwarf_Die *at = NULL, *around = NULL;
	int n = dwarf_getscopes(unit, address, &at);

	/* The first list leads from an inlined function to its definition, the second list to its caller. */
	n = n > 0 ? dwarf_getscopes_die(at, &around) : 0;
	for (int k = 0; k < n && !s->function; k++) {
		int tag = dwarf_tag(&around[k]);

		if (is_trace_point(&around[k]))
			called_from(unit, &around[k], s);
		else if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine)
			s->function = dwarf_diename(&around[k]);
	}
	free(at);
	free(around);
}

/*
 * Prints what is wrong with a file, unless there are many: the processes of other users may have mapped any number of
 * files.
 */
static void say_of_file(const struct image *i, const char *what, const char *why)
{
	static unsigned said;

	if (said < SAID_MOST)
		complain("%s: %s%s", i->path, what, why);
	else if (said == SAID_MOST)
		complain("and so other files");
	said += said <= SAID_MOST;
}

/* Opens the file if that was not tried yet. Returns whether it can be read. */
static bool is_open(struct image *i)
{
	const char *problem;

	if (i->tried)
		return i->module != NULL;
	problem = i->path[0] == '/' ? open_image(i) : "";
	i->tried = true;
	if (problem) {
		i->module = NULL;
		if (*problem)
			say_of_file(i, "no functions and source lines: ", problem);
	}
	return i->module != NULL;
}

void *image_rules(struct image *i, uint64_t *offset)
{
	Dwarf_Addr bias;
	Dwarf_CFI *rules;

	if (!is_open(i) || !to_address(i, offset))
		return NULL;
	if (i->foreign) {
		if (!i->told)
			say_of_file(i, "another user can change this file, so its rules (.eh_frame) are not followed, "
			            "and stacks are walked along frame pointers there", "");
		i->told = true;
		return NULL;
	}
	rules = dwfl_module_eh_cfi(i->module, &bias);
	*offset += i->bias - bias;
	return rules;
}

void image_look_up(struct image *i, struct symbol *s)
{
	const char *name;
	GElf_Addr address;
	Dwarf_Addr bias;
	GElf_Off into = 0;
	Dwarf_Die *unit;
	GElf_Sym symbol;

	if (!is_open(i) || !to_address(i, &s->offset))
		return;
	/* The recorded address is the return address. The byte before it belongs to the call. */
	address = s->offset + i->bias - 1;
	unit = i->lines ? unit_at(i, address, &bias) : NULL;
	if (unit) {
		find_line(unit, address - bias, s);
		find_function(unit, address - bias, s);
	}
	name = dwfl_module_addrinfo(i->module, address, &into, &symbol, NULL, NULL, NULL);
	s->symbol = name;
	if (s->function)
		return;
	s->function = name;
	s->into = into + 1;
}

#endif
