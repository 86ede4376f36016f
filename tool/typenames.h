/*
 * typenames.h - names and layouts of the event types of a running program
 *
 * They come while it runs; so typenames_look() now and then.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TYPENAMES_H
#define TYPENAMES_H

#include <stdbool.h>
#include <trace.h>

#include "layouts.h"
#include "model/eventtype.h"

struct typenames {
	struct layouts *layouts;
	bool known[EVENT_ID_END];
	/* There is an earlier type of this name: this one only declares, as long as it has no events. */
	bool twice[EVENT_ID_END];
	uint32_t end; /* ids from here on are not known */
};

/* Null: no memory. */
struct typenames *typenames_new(void);
/* True: there are new ones. */
bool typenames_look(struct typenames *t, trace_id_t trid);
/* Without the layout; "?" if there is none. */
const char *typenames_name(const struct typenames *t, uint32_t id);

#endif
