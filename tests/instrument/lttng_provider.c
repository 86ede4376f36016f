/*
 * lttng_provider.c - the provider of lttng_events.h, linked into a program or loaded by it
 *
 * SPDX-License-Identifier: MIT
 */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#include "lttng_events.h"
