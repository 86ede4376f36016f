/*
 * debuginfo.h - looks up addresses in files that traced processes had mapped
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef DEBUGINFO_H
#define DEBUGINFO_H

#include <stddef.h>
#include <stdint.h>

struct symbol {
	const char *function; /* null: unknown */
	uint64_t into;        /* offset from the function's beginning, where the source is unknown */
	const char *symbol;   /* name in the file's table of symbols, of C++ a mangled one; null: unknown */
	const char *source;   /* path as given to the compiler; null: unknown */
	unsigned line;
	const char *image;    /* path of the mapped file; null: unknown */
	uint64_t offset;      /* address as in the file's symbols or, if the file cannot be read, offset in the file */
	const char *text;     /* the whole symbol as text */
};

struct image;

/*
 * Returns the image of this path and build-id, which was mapped at this time, ns of CLOCK_REALTIME; UINT64_MAX: now.
 * Always returns the same one for the same path and build-id.
 */
struct image *image_of(uint64_t time, const char *path, size_t length, const unsigned char *id, size_t id_length);
const char *image_path(const struct image *i);
/*
 * Fills in the other members of a symbol whose s->offset is an offset in the file. Prints once for each file why it
 * cannot be read.
 */
void image_look_up(struct image *i, struct symbol *s);
/*
 * Returns libdw's rules for leaving functions (Dwarf_CFI), and converts an offset in the file to an address for them;
 * null if there are none, or if another user can write to the file: libdw takes as much memory as rules ask for. Says
 * so once for each file.
 */
void *image_rules(struct image *i, uint64_t *offset);

#endif
