/*
 * layout.h - the layout of an event's data, made of the provider's description
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LTTNG_LAYOUT_H
#define LTTNG_LAYOUT_H

#include <stdbool.h>

#include "event.h"

/* Returns whether the provider records calls of functions, with their addresses: LTTng's cyg-profile wrapper. */
bool layout_of_calls(const char *provider);

/*
 * Returns the layout of the data, which the caller frees; null if there are no fields, or no memory. Fields that a layout
 * cannot have, and all behind them, are left out: they are shown as bytes. Stores which fields to swap.
 */
char *layout_new(const char *provider, const struct ust_event_desc *desc, struct event_swaps *swaps);

#endif
