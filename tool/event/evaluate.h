/*
 * evaluate.h - what an expression is for an event
 *
 * Nothing is allocated, except once for a text that is longer than all before it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EVALUATE_H
#define EVALUATE_H

#include "event/formula.h"
#include "log/input.h"

/* What a formula is evaluated with. */
struct evaluation {
	const struct log_event *event;
	const unsigned char *data;
	uint64_t begin;      /* times are differences to this one */
	const char *process; /* name of the executable; null: unknown */
	/* For texts that are compared with a pattern; kept from one event to the next, and freed by the caller. */
	char *room;
	size_t room_size;
};

enum truth evaluate_truth(const struct formula *f, struct evaluation *e);
/* Returns NO_VALUE if there is no value. A text is in the event's data, or as valid as the expression. */
struct value evaluate_value(const struct formula *f, struct evaluation *e);

#endif
