/*
 * names.h - names from a log as those who read CTF can take them, by babeltrace2 or not
 *
 * A log may have been written by anybody. What is text in a field is marked as such by whoever shows it;
 * names of events and of fields are shown as they are.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NAMES_H
#define NAMES_H

#include <stddef.h>

/* For a name of so many bytes. */
#define NAMES_SHOWN(bytes) (4 * (bytes) + 1)
#define NAMES_IDENTIFIER   48

/* UTF-8 without control characters; what is anything else becomes \xHH. Up to a null or to size; to is of NAMES_SHOWN(size) bytes. Returns to. */
char *names_shown(char *to, const char *name, size_t size);

/*
 * The thread name of events that no thread has recorded (vpid 0), as in Perfetto and Chrome. It is not empty, because
 * babeltrace2 2.0 shows the text of an earlier event where a text is empty.
 */
#define NAMES_NO_THREAD "recording"

/* Those of one structure, which are different from each other. */
struct names {
	unsigned count;
	char name[40][NAMES_IDENTIFIER];
};

/* As in an identifier of C: what is not allowed becomes _, and one that is there already gets a number. It stays as long as n does. */
const char *names_identifier(struct names *n, const char *name);

#endif
