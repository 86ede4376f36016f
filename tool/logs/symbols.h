/*
 * symbols.h - finds the function and source line of a trace point's address
 *
 * A log says where each process had mapped which files (PROCESS frames). The files themselves are read by elfutils'
 * libdw, if available, and only if their build-id is the one in the log.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SYMBOLS_H
#define SYMBOLS_H

#include <stdint.h>

#include "logs/debuginfo.h"
#include "logs/logfile.h"

struct symbols;

/* Reads the mappings of a log, and rewinds it. */
struct symbols *symbols_of(struct logfile *f);
/* Returns the symbol of an event; it is never freed. Each address is looked up once. */
const struct symbol *symbols_find(struct symbols *s, uint32_t pid, uint64_t address, uint64_t time);
/*
 * Returns the symbol of the function that begins at an address. Other addresses are return addresses, which belong to
 * the code before them.
 */
const struct symbol *symbols_function(struct symbols *s, uint32_t pid, uint64_t address, uint64_t time);
/* Returns the symbol of an event of the type of this name: functions.h in instrument/ records where functions begin. */
const struct symbol *symbols_event(struct symbols *s, const struct log_event *e, const char *type);

#endif
