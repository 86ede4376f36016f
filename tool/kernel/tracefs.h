/*
 * tracefs.h - the ids and formats of the kernel's tracepoints
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef KERNEL_TRACEFS_H
#define KERNEL_TRACEFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACEFS_FIELDS 24

struct tracefs_field {
	char name[32];
	char type[48];
	unsigned offset, size;
	bool is_signed;
};

struct tracefs_format {
	unsigned id; /* for perf_event_open() */
	unsigned count;
	struct tracefs_field field[TRACEFS_FIELDS];
};

/*
 * Returns the folder of the tracepoints. Returns null and sets *why, which says what to do, if there is none that this
 * user can read.
 */
const char *tracefs_folder(const char **why);
/* Reads the format of a tracepoint, such as "sched/sched_switch". Returns false if there is none. */
bool tracefs_read(const char *event, struct tracefs_format *f);
/* Returns the field with this name, or null. */
const struct tracefs_field *tracefs_find(const struct tracefs_format *f, const char *name);
/* Returns the number that a field has in the data of an event; 0 if the data are too short, or the field is null. */
uint64_t tracefs_number(const struct tracefs_field *f, const unsigned char *data, size_t size);

#endif
