/*
 * names.h - names of fields in a form that readers of CTF accept
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NAMES_H
#define NAMES_H

#define NAMES_IDENTIFIER 48

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
