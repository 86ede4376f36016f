/*
 * typenames.h - names and layouts of the event types of a running program
 *
 * The program defines types while it runs, so typenames_look() should be called now and then.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TYPENAMES_H
#define TYPENAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <trace.h>

#include "event/layouts.h"
#include "logs/match.h"
#include "model/eventtype.h"

struct typenames {
	struct layouts *layouts;
	bool known[EVENT_ID_END];
	/* An earlier type has the same name: this type is only a declaration as long as it has no events. */
	bool twice[EVENT_ID_END];
	uint32_t end; /* ids from here on are not known */
};

/* Returns an empty list of names, or null if there is no memory. */
struct typenames *typenames_new(void);
/* Reads the stream's new event types. Returns whether there were any. */
bool typenames_look(struct typenames *t, trace_id_t trid);
/* Returns the name without its layout, "?" if it is unknown. */
const char *typenames_name(const struct typenames *t, uint32_t id);

/* -- The process of a stream -------------------------------------------------------------- */

/* Returns whether the process has called the library since it executed its current file. */
bool stream_attached(trace_id_t trid);
/*
 * Returns how many names of the process were refused because they are too long, and the beginning of the first in name.
 * Returns 0 if none was.
 */
uint64_t stream_refused(trace_id_t trid, char name[TRACE_EVENT_NAME_MAX + 1]);
/* Returns how often there was no room for a name of the process. */
uint64_t stream_full_names(trace_id_t trid);
/*
 * Returns the number of event types without a name, because processes that became other users defined them with ids of
 * other types.
 */
uint32_t stream_names_taken(trace_id_t trid);
/*
 * Returns the user that the process became for good after the stream was created, or 0, according to the process
 * itself.
 */
uint32_t stream_user_since(trace_id_t trid);
/*
 * Returns the next user event type of the stream's list, from its beginning if rewind. Returns false at the end of the
 * list.
 */
bool stream_next_type(trace_id_t trid, bool rewind, trace_event_id_t *id, char name[TRACE_EVENT_NAME_MAX + 1]);
/* Prints what is wrong in the layouts of the stream's wanted types, and which names the library refused. */
void stream_say_wrong(trace_id_t trid, const struct match *m, const char *what);

#endif
