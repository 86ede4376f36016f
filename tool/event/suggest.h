/*
 * suggest.h - existing names, the nearest first, for a message about an unknown name
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SUGGEST_H
#define SUGGEST_H

#include <stdbool.h>
#include <stdint.h>
#include <trace.h>

struct suggest {
	unsigned count, room;
	char (*name)[TRACE_EVENT_NAME_MAX + 1];
	uint32_t *slot; /* a hash table of the names, of twice the room: 1 + the index in name; 0: free */
};

/* Adds a name without its layout, unless it was added before. */
void suggest_add(struct suggest *s, const char *name);
/* Forgets all names. */
void suggest_clear(struct suggest *s);
void suggest_free(struct suggest *s);
/*
 * Returns "order, item, done", nearest to the given name first; the text is never freed here. Returns null if there are
 * no names.
 */
const char *suggest_text(struct suggest *s, const char *asked);

#endif
