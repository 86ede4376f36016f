/*
 * typed_events.h - an event that several files and shared objects define
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TYPED_EVENTS_H
#define TYPED_EVENTS_H

#define POSIXTRACE_SHORT_NAMES
#include <posixtrace/typed.h>

TRACE_EVENT(shop, order, (u32, id), (str, item), (u64, price, "ct"))

/* Records shop.order in another file of the program. */
void typed_other(uint32_t id);

#endif
