/*
 * debuginfo.c - files that were mapped by traced processes, and what is in them
 *
 * SPDX-License-Identifier: MIT
 */
#include "debuginfo.h"

#include <stdlib.h>
#include <string.h>

#include "command.h"

#ifdef HAVE_LIBDW
# include <dwarf.h>
# include <elfutils/libdw.h>
# include <elfutils/libdwfl.h>
# include <errno.h>
# include <fcntl.h>
# include <gelf.h>
# include <sys/stat.h>
# include <unistd.h>
#endif

struct image {
	struct image *next;
	char *path;
	unsigned char *id;
	size_t id_length;
	bool tried;
#ifdef HAVE_LIBDW
	Dwfl_Module *module; /* null: it cannot be looked at */
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

struct image *image_of(const char *path, size_t length, const unsigned char *id, size_t id_length)
{
	/* A log may name as many as it likes. */
	static struct image *with_hash[1 << 14];
	size_t h = hash(hash(2166136261u, path, length), id, id_length);
	struct image **all = &with_hash[(h ^ h >> 14) % (sizeof with_hash / sizeof with_hash[0])], *i;

	for (i = *all; i; i = i->next)
		if (strncmp(i->path, path, length) == 0 && !i->path[length] && i->id_length == id_length &&
		    memcmp(i->id, id, id_length) == 0)
			return i;
	i = calloc(1, sizeof *i);
	if (i) {
		i->path = strndup(path, length);
		i->id = malloc(id_length + 1);
	}
	if (!i || !i->path || !i->id)
		fail("no memory");
	memcpy(i->id, id, id_length);
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
		complain("functions and lines are not known: built without libdw (elfutils)");
	said = true;
}

#else

/* -- The file --------------------------------------------------------------------------------- */

/* Is it the file that was traced? One without a build-id cannot be known from another. */
static bool same(const struct image *i)
{
	const unsigned char *id;
	GElf_Addr where;
	int length = dwfl_module_build_id(i->module, &id, &where);

	return length <= 0 ? i->id_length == 0 : (size_t)length == i->id_length && memcmp(id, i->id, i->id_length) == 0;
}

static const char *open_image(struct image *i)
{
	static char *nowhere;
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.section_address = dwfl_offline_section_address,
		.debuginfo_path = &nowhere,
	};
	Dwfl *dwfl;
	struct stat st;
	int fd;

	/* The log says the name; it may be that of anything. */
	fd = open(i->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return strerror(errno);
	dwfl = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? dwfl_begin(&callbacks) : NULL;
	if (!dwfl) {
		close(fd);
		return "no regular file";
	}
	/* Alone, and where it was linked to be: so a process's own addresses do not matter. */
	i->module = dwfl_report_elf(dwfl, i->path, i->path, fd, 0, false);
	if (!i->module) {
		close(fd);
		return dwfl_errmsg(-1);
	}
	dwfl_report_end(dwfl, NULL, NULL);
	i->elf = dwfl_module_getelf(i->module, &i->bias);
	return !i->elf ? dwfl_errmsg(-1) : same(i) ? NULL : "not the file that was traced, by its build-id";
}

/* From a place in the file to an address in it. */
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

/* The body of the trace point in <trace.h>: the program's line is where that was called. */
static bool is_trace_point(Dwarf_Die *die)
{
	const char *name = dwarf_tag(die) == DW_TAG_inlined_subroutine ? dwarf_diename(die) : NULL;

	return name && strcmp(name, "__posix_trace_point") == 0;
}

static void called_from(Dwarf_Die *unit, Dwarf_Die *die, struct symbol *s)
{
	Dwarf_Attribute attribute;
	Dwarf_Word file, line;
	Dwarf_Files *files;
	size_t count;

	if (dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &attribute), &file) != 0 ||
	    dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &attribute), &line) != 0 || dwarf_getsrcfiles(unit, &files, &count) != 0 ||
	    file >= count)
		return;
	s->source = dwarf_filesrc(files, file, NULL, NULL);
	s->line = (unsigned)line;
}

/* The innermost function of the program, which may be inlined into others. */
static void scopes(struct image *i, GElf_Addr address, struct symbol *s)
{
	Dwarf_Addr bias;
	Dwarf_Die *unit = dwfl_module_addrdie(i->module, address, &bias), *at = NULL, *around = NULL;
	int n = unit ? dwarf_getscopes(unit, address - bias, &at) : 0;

	/* The first list leads from an inlined function to where it was defined, this one to where it was called. */
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

void image_look_up(struct image *i, struct symbol *s)
{
	const char *name;
	GElf_Addr address;
	Dwfl_Line *line;
	GElf_Sym symbol;
	int number = 0;

	if (!i->tried) {
		const char *problem = i->path[0] == '/' ? open_image(i) : "";

		i->tried = true;
		if (problem) {
			i->module = NULL;
			if (*problem)
				complain("%s: no functions and lines: %s", i->path, problem);
		}
	}
	if (!i->module || !to_address(i, &s->offset))
		return;
	/* The recorded address is behind the call; what is in front of it belongs to the call. */
	address = s->offset + i->bias - 1;
	line = dwfl_module_getsrc(i->module, address);
	if (line)
		s->source = dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL);
	s->line = s->source ? (unsigned)number : 0;
	scopes(i, address, s);
	if (s->function)
		return;
	name = dwfl_module_addrinfo(i->module, address, &s->into, &symbol, NULL, NULL, NULL);
	s->function = name;
	s->into++;
}

#endif
