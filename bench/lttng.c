/*
 * lttng.c - trace points of LTTng-UST, in loops like those of record.c
 *
 * SPDX-License-Identifier: MIT
 */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_point.h"

#include "lttng.h"

#define WORDS(i) ((const uint64_t *)(const void *)(table + ((i) & 511) * 8))

bool lttng_has(size_t len)
{
	return len == 0 || len == 8 || len == 32 || len == 256;
}

bool lttng_records(size_t len)
{
	switch (len) {
	case 0:
		return lttng_ust_tracepoint_enabled(bench, words0);
	case 8:
		return lttng_ust_tracepoint_enabled(bench, words1);
	case 32:
		return lttng_ust_tracepoint_enabled(bench, words4);
	default:
		return lttng_ust_tracepoint_enabled(bench, words32);
	}
}

void lttng_events(unsigned count, const unsigned char *table, size_t len)
{
	switch (len) {
	case 0:
		for (unsigned i = 0; i < count; i++)
			lttng_ust_tracepoint(bench, words0, WORDS(i));
		break;
	case 8:
		for (unsigned i = 0; i < count; i++)
			lttng_ust_tracepoint(bench, words1, WORDS(i));
		break;
	case 32:
		for (unsigned i = 0; i < count; i++)
			lttng_ust_tracepoint(bench, words4, WORDS(i));
		break;
	default:
		for (unsigned i = 0; i < count; i++)
			lttng_ust_tracepoint(bench, words32, WORDS(i));
		break;
	}
}

void lttng_event(const void *bytes, size_t len)
{
	const uint64_t *words = bytes;

	switch (len) {
	case 0:
		lttng_ust_tracepoint(bench, words0, words);
		break;
	case 8:
		lttng_ust_tracepoint(bench, words1, words);
		break;
	case 32:
		lttng_ust_tracepoint(bench, words4, words);
		break;
	default:
		lttng_ust_tracepoint(bench, words32, words);
		break;
	}
}
