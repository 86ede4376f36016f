/*
 * labels.h - names of event fields for formats where a field is only a name
 *
 * A field time:u64/ns is named "time (ns)". The standard fields of events have names too. A declared field of the same
 * name gets an underscore appended.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LABELS_H
#define LABELS_H

#include "model/data_layout.h"

/* Standard fields of events. */
enum label {
	LABEL_ADDRESS,    /* of the trace point */
	LABEL_TRUNCATED,  /* data was cut when it was recorded */
	LABEL_TEXT,       /* undeclared data, as text */
	LABEL_DATA,       /* undeclared data, as hex */
	LABEL_MORE,       /* data after the declared fields, as hex */
	LABEL_EVENT,      /* the type of an event that is part of a slice */
	LABEL_PID,
	LABEL_TID,
	LABEL_END,        /* all that is known about the event that ends a slice */
	LABEL_INCOMPLETE, /* why a slice ends without an event */
	LABELS,
};

extern const char *const labels[LABELS];

#define LABEL_BYTES 64 /* of any field */

/* Writes the name of a field, with a terminating null. Returns its length. */
size_t label_field(char text[LABEL_BYTES], const struct layout_field *f);

#endif
