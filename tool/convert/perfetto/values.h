/*
 * values.h - the values of events in a trace of Perfetto: their data
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef PERFETTO_VALUES_H
#define PERFETTO_VALUES_H

#include "convert/perfetto/packet.h"

/* Begins a value with this name. Returns its offset, for proto_end(). The interned numbers of labels are label + 1. */
size_t perfetto_value(struct proto *p, unsigned field, enum label label);
void perfetto_put_number(struct proto *p, unsigned field, enum label label, enum value_field type, uint64_t n);
void perfetto_put_text(struct proto *p, unsigned field, enum label label, const char *text, size_t length);
/* Puts all data of the next event. */
void perfetto_put_data(struct proto *p, unsigned field, const struct source *s, const struct layout *l);
/* Puts the values that are equal for all events of a shape. */
void perfetto_put_constant(struct proto *p, unsigned field, const struct log_event *e);

#endif
