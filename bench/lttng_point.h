/*
 * lttng_point.h - trace points of LTTng-UST for the lengths of data that bench-record has by default, and for the
 * fields of bench-typed
 *
 * The fields are those of the events of record.c, words, copied, with nothing in between; and those of typed.c.
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

LTTNG_UST_TRACEPOINT_EVENT(bench, number, LTTNG_UST_TP_ARGS(uint64_t, n),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, n, n)))

LTTNG_UST_TRACEPOINT_EVENT(bench, numbers, LTTNG_UST_TP_ARGS(uint32_t, a, uint32_t, b, uint64_t, c),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint32_t, a, a)
                                               lttng_ust_field_integer(uint32_t, b, b)
                                               lttng_ust_field_integer(uint64_t, c, c)))

LTTNG_UST_TRACEPOINT_EVENT(bench, array, LTTNG_UST_TP_ARGS(uint32_t, id, const uint32_t *, sizes, uint16_t, count),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint32_t, id, id)
                                               lttng_ust_field_sequence(uint32_t, sizes, sizes, uint16_t, count)))

LTTNG_UST_TRACEPOINT_EVENT(bench, text, LTTNG_UST_TP_ARGS(uint32_t, id, const char *, text, uint64_t, price),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint32_t, id, id)
                                               lttng_ust_field_string(text, text)
                                               lttng_ust_field_integer(uint64_t, price, price)))

#endif

#include <lttng/tracepoint-event.h>
