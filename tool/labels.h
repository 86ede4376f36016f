/*
 * labels.h - what the fields of events are called where a name is all there is
 *
 * time (ns), for time:u64/ns. What is said of events beside their declared fields has names too, and a field that is called so
 * gets an underscore behind its own.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LABELS_H
#define LABELS_H

#include "layout.h"

/* What is said of events. */
enum label {
	LABEL_ADDRESS,    /* of the trace point */
	LABEL_TRUNCATED,  /* data was cut when it was recorded */
	LABEL_TEXT,       /* data that nothing is declared of, as text */
	LABEL_DATA,       /* as hex */
	LABEL_MORE,       /* data behind the declared fields, as hex */
	LABEL_EVENT,      /* the type of an event that is part of a slice */
	LABEL_PID,
	LABEL_TID,
	LABEL_END,        /* all that the event says which ends a slice */
	LABEL_INCOMPLETE, /* why a slice ends where no event ended it */
	LABELS,
};

extern const char *const labels[LABELS];

#define LABEL_BYTES 64 /* of any field */

/* With a null; returns the length. */
size_t label_field(char text[LABEL_BYTES], const struct layout_field *f);

#endif
