/*
 * lttng_events.h - a provider for LTTng-UST with all kinds of fields
 *
 * SPDX-License-Identifier: MIT
 */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER kinds

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "lttng_events.h"

#if !defined LTTNG_EVENTS_H || defined LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ
#define LTTNG_EVENTS_H

#include <lttng/tracepoint.h>
#include <stdint.h>

LTTNG_UST_TRACEPOINT_EVENT(kinds, numbers,
	LTTNG_UST_TP_ARGS(int, n, unsigned long long, big),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(uint8_t, u8, n)
		lttng_ust_field_integer(int8_t, i8, n)
		lttng_ust_field_integer(uint16_t, u16, n)
		lttng_ust_field_integer(int16_t, i16, n)
		lttng_ust_field_integer(uint32_t, u32, n)
		lttng_ust_field_integer(int32_t, i32, n)
		lttng_ust_field_integer_nowrite(int, unwritten, n)
		lttng_ust_field_integer(uint64_t, u64, big)
		lttng_ust_field_integer(int64_t, i64, (int64_t)big)
		lttng_ust_field_integer_hex(uint64_t, x64, big)
		lttng_ust_field_integer_hex(int, signed_hex, n)
		lttng_ust_field_integer_network(uint16_t, port, 0x5000)
		lttng_ust_field_integer_network(int32_t, net, 0x01000000)
		lttng_ust_field_integer_network_hex(uint64_t, net_hex, 0xefbeaddeULL)
		lttng_ust_field_float(float, f32, n * 0.5F)
		lttng_ust_field_float(double, f64, n * 0.25)
	)
)

LTTNG_UST_TRACEPOINT_EVENT(kinds, texts,
	LTTNG_UST_TP_ARGS(const char *, text, unsigned, length, int, n),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_string(first, text)
		lttng_ust_field_integer(int, between, n)
		lttng_ust_field_string(none, NULL)
		lttng_ust_field_array_text(char, fixed, "fixed\0\0", 8)
		lttng_ust_field_sequence_text(char, counted, text, unsigned, length)
		lttng_ust_field_string(empty, "")
		lttng_ust_field_string_nowrite(unwritten, text)
		lttng_ust_field_integer(int, last, -n)
	)
)

LTTNG_UST_TRACEPOINT_EVENT(kinds, arrays,
	LTTNG_UST_TP_ARGS(const int *, items, size_t, count),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_array(int, three, items, 3)
		lttng_ust_field_array_hex(int, hex, items, 2)
		lttng_ust_field_array_network(int, net, items, 2)
		lttng_ust_field_sequence(int, some, items, size_t, count)
		lttng_ust_field_sequence_hex(uint8_t, bytes, (const uint8_t *)items, uint8_t, count)
		lttng_ust_field_sequence_network(uint16_t, ports, (const uint16_t *)items, unsigned short, count)
		lttng_ust_field_sequence(int64_t, nothing, (const int64_t *)NULL, uint16_t, 0)
		lttng_ust_field_sequence_nowrite(int, unwritten, items, size_t, count)
		lttng_ust_field_integer(int, a_name_that_is_longer_than_31_bytes_first, 1)
		lttng_ust_field_integer(int, a_name_that_is_longer_than_31_bytes_second, 2)
	)
)

LTTNG_UST_TRACEPOINT_ENUM(kinds, color,
	LTTNG_UST_TP_ENUM_VALUES(
		lttng_ust_field_enum_value("RED", 0)
		lttng_ust_field_enum_value("dark, or <BLUE>", 1)
		lttng_ust_field_enum_range("FEW", 3, 5)
		lttng_ust_field_enum_value("BELOW", -4)
		lttng_ust_field_enum_range("MANY", 100, 1000000)
	)
)

LTTNG_UST_TRACEPOINT_ENUM(kinds, counted,
	LTTNG_UST_TP_ENUM_VALUES(
		lttng_ust_field_enum_auto("ZERO")
		lttng_ust_field_enum_value("SEVEN", 7)
		lttng_ust_field_enum_auto("EIGHT")
	)
)

LTTNG_UST_TRACEPOINT_EVENT(kinds, labels,
	LTTNG_UST_TP_ARGS(int, n),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_enum(kinds, color, int, color, n)
		lttng_ust_field_enum(kinds, counted, unsigned char, small, n)
		lttng_ust_field_enum(kinds, counted, short, counted, n)
		lttng_ust_field_integer(int, after, n)
	)
)

LTTNG_UST_TRACEPOINT_EVENT(kinds, tick,
	LTTNG_UST_TP_ARGS(int, who, int, n),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(int, who, who)
		lttng_ust_field_integer(int, n, n)
	)
)

LTTNG_UST_TRACEPOINT_EVENT(kinds, long_text,
	LTTNG_UST_TP_ARGS(const char *, text, int, n),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_string(text, text)
		lttng_ust_field_integer(int, n, n)
	)
)

LTTNG_UST_TRACEPOINT_EVENT(kinds, nothing, LTTNG_UST_TP_ARGS(), LTTNG_UST_TP_FIELDS())

LTTNG_UST_TRACEPOINT_EVENT(kinds, an_event_whose_name_and_provider_have_more_than_63_bytes_together,
	LTTNG_UST_TP_ARGS(int, n), LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, n, n)))

LTTNG_UST_TRACEPOINT_EVENT_CLASS(kinds, level_class, LTTNG_UST_TP_ARGS(int, n),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, n, n)))
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(kinds, level_class, kinds, emergency, LTTNG_UST_TP_ARGS(int, n))
LTTNG_UST_TRACEPOINT_LOGLEVEL(kinds, emergency, LTTNG_UST_TRACEPOINT_LOGLEVEL_EMERG)
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(kinds, level_class, kinds, error, LTTNG_UST_TP_ARGS(int, n))
LTTNG_UST_TRACEPOINT_LOGLEVEL(kinds, error, LTTNG_UST_TRACEPOINT_LOGLEVEL_ERR)
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(kinds, level_class, kinds, module, LTTNG_UST_TP_ARGS(int, n))
LTTNG_UST_TRACEPOINT_LOGLEVEL(kinds, module, LTTNG_UST_TRACEPOINT_LOGLEVEL_DEBUG_MODULE)

#endif

#include <lttng/tracepoint-event.h>
