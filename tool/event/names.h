/*
 * names.h - names from a log in a form that readers of CTF accept
 *
 * A log may have any contents. Names are made valid here, while texts in fields are the business of the exporter.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NAMES_H
#define NAMES_H

#include <stddef.h>

/* The size of the result for a name of this size. */
#define NAMES_SHOWN(bytes) (4 * (bytes) + 1)
#define NAMES_IDENTIFIER   48

/*
 * Copies a name as UTF-8 without control characters; other bytes become \xHH. The name ends at a null or after size
 * bytes. to has NAMES_SHOWN(size) bytes. Returns to.
 */
char *names_shown(char *to, const char *name, size_t size);

/*
 * The thread name of events that no thread has recorded (vpid 0), as in Perfetto and Chrome. It is not empty, because
 * babeltrace2 2.0 shows the text of an earlier event where a text is empty.
 */
#define NAMES_NO_THREAD "recording"

/* The names in one structure, all different. */
struct names {
	unsigned count;
	char name[40][NAMES_IDENTIFIER];
};

/*
 * Returns the name as an identifier of C: invalid characters become _, and a name in use gets a number. The result is
 * valid as long as n.
 */
const char *names_identifier(struct names *n, const char *name);

#endif
