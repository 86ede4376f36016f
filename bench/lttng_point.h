/*
 * lttng_point.h - trace points of LTTng-UST for the lengths of data that bench-record has by default
 *
 * The fields are those of bench/record.c's events: words, copied, with nothing in between.
 *
 * SPDX-License-Identifier: MIT
 */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./lttng_point.h"

#if !defined BENCH_LTTNG_POINT_H || defined LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ
# define BENCH_LTTNG_POINT_H

# include <lttng/tracepoint.h>
# include <stdint.h>

LTTNG_UST_TRACEPOINT_EVENT(bench, words0, LTTNG_UST_TP_ARGS(const uint64_t *, words), LTTNG_UST_TP_FIELDS())

LTTNG_UST_TRACEPOINT_EVENT(bench, words1, LTTNG_UST_TP_ARGS(const uint64_t *, words),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, a, words[0])))

LTTNG_UST_TRACEPOINT_EVENT(bench, words4, LTTNG_UST_TP_ARGS(const uint64_t *, words),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, a, words[0])
                                               lttng_ust_field_integer(uint64_t, b, words[1])
                                               lttng_ust_field_integer(uint64_t, c, words[2])
                                               lttng_ust_field_integer(uint64_t, d, words[3])))

LTTNG_UST_TRACEPOINT_EVENT(bench, words32, LTTNG_UST_TP_ARGS(const uint64_t *, words),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_array(uint64_t, a, words, 32)))

#endif

#include <lttng/tracepoint-event.h>
