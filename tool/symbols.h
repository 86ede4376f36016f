/*
 * symbols.h - what the address of a trace point is: function and line of source
 *
 * A log says which files each process had mapped where (frames PROCESS). The files themselves are
 * looked at by elfutils' libdw, where there is one, and only if their build-id is the one in the log.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SYMBOLS_H
#define SYMBOLS_H

#include <stdint.h>

#include "logfile.h"

struct symbol {
	const char *function; /* null: not known */
	uint64_t into;        /* bytes behind its beginning; where the source is not known */
	const char *source;   /* path, as the compiler was told; null: not known */
	unsigned line;
	const char *image;    /* path of what is mapped there; null: not known */
	uint64_t offset;      /* as in the symbols of that file; in the file itself, if that cannot be looked at */
	const char *text;     /* all of that, for people */
};

struct symbols;

/* Of a log, which begins anew by that. */
struct symbols *symbols_of(struct logfile *f);
/* Of an event; stays for ever. Each address is looked up once. */
const struct symbol *symbols_find(struct symbols *s, uint32_t pid, uint64_t address, uint64_t time);

#endif
