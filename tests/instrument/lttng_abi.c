/*
 * lttng_abi.c - the structures of instrument/lttng/abi.h are those of LTTng's headers: it has to compile
 *
 * SPDX-License-Identifier: MIT
 */
#include <lttng/tracepoint.h>
#include <lttng/ust-events.h>
#include <lttng/ust-ringbuffer-context.h>

#define _LGPL_SOURCE
#include <lttng/urcu/static/urcu-ust.h>

#include "../../instrument/lttng/abi.h"

#define SAME_SIZE(name) _Static_assert(sizeof(struct ust_##name) == sizeof(struct lttng_ust_##name), #name)
#define SAME(name, member)                                                                                             \
	_Static_assert(offsetof(struct ust_##name, member) == offsetof(struct lttng_ust_##name, member) &&             \
	               sizeof(((struct ust_##name *)0)->member) == sizeof(((struct lttng_ust_##name *)0)->member),     \
	               #name "." #member)
#define SAME_NUMBER(name) _Static_assert((int)ust_##name == (int)lttng_ust_##name, #name)

SAME_SIZE(tracepoint_probe);
SAME(tracepoint_probe, func);
SAME(tracepoint_probe, data);
SAME_SIZE(tracepoint);
SAME(tracepoint, struct_size);
SAME(tracepoint, provider_name);
SAME(tracepoint, event_name);
SAME(tracepoint, state);
SAME(tracepoint, probes);
SAME(tracepoint, tracepoint_provider_ref);
SAME(tracepoint, signature);

SAME_NUMBER(type_integer);
SAME_NUMBER(type_string);
SAME_NUMBER(type_float);
SAME_NUMBER(type_dynamic);
SAME_NUMBER(type_enum);
SAME_NUMBER(type_array);
SAME_NUMBER(type_sequence);
SAME_NUMBER(type_struct);
SAME_NUMBER(string_encoding_none);
SAME_NUMBER(string_encoding_UTF8);
SAME_NUMBER(string_encoding_ASCII);
_Static_assert((int)UST_ENUM_ENTRY_IS_AUTO == (int)LTTNG_UST_ENUM_ENTRY_OPTION_IS_AUTO, "auto");
_Static_assert((int)ust_event_type_recorder == (int)LTTNG_UST_EVENT_TYPE_RECORDER, "recorder");
_Static_assert((int)ust_event_type_notifier == (int)LTTNG_UST_EVENT_TYPE_NOTIFIER, "notifier");
_Static_assert((int)ust_channel_type_buffer == (int)LTTNG_UST_CHANNEL_TYPE_BUFFER, "buffer");
_Static_assert(UST_PROVIDER_MAJOR == LTTNG_UST_PROVIDER_MAJOR, "major");

SAME_SIZE(type_common);
SAME_SIZE(type_integer);
SAME(type_integer, parent.type);
SAME(type_integer, size);
SAME(type_integer, alignment);
SAME(type_integer, base);
SAME_SIZE(type_float);
SAME(type_float, exp_dig);
SAME(type_float, mant_dig);
SAME(type_float, alignment);
SAME_SIZE(type_string);
SAME(type_string, encoding);
SAME_SIZE(type_enum);
SAME(type_enum, desc);
SAME(type_enum, container_type);
SAME_SIZE(type_array);
SAME(type_array, elem_type);
SAME(type_array, length);
SAME(type_array, alignment);
SAME(type_array, encoding);
SAME_SIZE(type_sequence);
SAME(type_sequence, length_name);
SAME(type_sequence, elem_type);
SAME(type_sequence, alignment);
SAME(type_sequence, encoding);
SAME_SIZE(enum_value);
SAME(enum_value, value);
SAME_SIZE(enum_entry);
SAME(enum_entry, start);
SAME(enum_entry, end);
SAME(enum_entry, string);
SAME(enum_entry, options);
SAME_SIZE(enum_desc);
SAME(enum_desc, name);
SAME(enum_desc, entries);
SAME(enum_desc, nr_entries);
SAME(enum_desc, probe_desc);
SAME_SIZE(event_field);
SAME(event_field, name);
SAME(event_field, type);
SAME_SIZE(tracepoint_class);
SAME(tracepoint_class, fields);
SAME(tracepoint_class, nr_fields);
SAME(tracepoint_class, probe_callback);
SAME(tracepoint_class, signature);
SAME(tracepoint_class, probe_desc);
SAME_SIZE(event_desc);
SAME(event_desc, event_name);
SAME(event_desc, probe_desc);
SAME(event_desc, tp_class);
SAME(event_desc, loglevel);
SAME(event_desc, model_emf_uri);
SAME_SIZE(probe_desc);
SAME(probe_desc, provider_name);
SAME(probe_desc, event_desc);
SAME(probe_desc, nr_events);
SAME(probe_desc, major);
SAME(probe_desc, minor);

SAME_SIZE(probe_ctx);
SAME(probe_ctx, ip);
SAME_SIZE(ring_buffer_ctx);
SAME(ring_buffer_ctx, client_priv);
SAME(ring_buffer_ctx, data_size);
SAME(ring_buffer_ctx, largest_align);
SAME(ring_buffer_ctx, probe_ctx);
SAME(ring_buffer_ctx, priv);
SAME_SIZE(event_common);
SAME(event_common, priv);
SAME(event_common, type);
SAME(event_common, child);
SAME(event_common, enabled);
SAME(event_common, eval_filter);
SAME(event_common, run_filter);
SAME_SIZE(event_recorder);
SAME(event_recorder, parent);
SAME(event_recorder, priv);
SAME(event_recorder, chan);
SAME_SIZE(channel_buffer_ops);
SAME(channel_buffer_ops, priv);
SAME(channel_buffer_ops, event_reserve);
SAME(channel_buffer_ops, event_commit);
SAME(channel_buffer_ops, event_write);
SAME(channel_buffer_ops, event_strcpy);
SAME(channel_buffer_ops, event_pstrcpy_pad);
SAME_SIZE(channel_common);
SAME(channel_common, type);
SAME(channel_common, child);
SAME(channel_common, enabled);
SAME(channel_common, session);
SAME_SIZE(channel_buffer);
SAME(channel_buffer, parent);
SAME(channel_buffer, priv);
SAME(channel_buffer, ops);
SAME_SIZE(session);
SAME(session, priv);
SAME(session, active);

/* What programs compiled with _LGPL_SOURCE have inline. */
_Static_assert(LTTNG_UST_URCU_GP_COUNT == 1UL, "count of a read-side section");
_Static_assert(LTTNG_UST_URCU_GP_CTR_PHASE == 1UL << (sizeof(long) << 2), "phase of a read-side section");
_Static_assert(offsetof(struct lttng_ust_urcu_reader, ctr) == 0, "counter of a thread");
_Static_assert(offsetof(struct lttng_ust_urcu_gp, ctr) == 0, "counter of the process");

/* Bit-fields have no offset: compares the bytes. */
#define SAME_BITS(name, ...)                                                                                           \
	do {                                                                                                           \
		static const struct ust_##name ours = { __VA_ARGS__ };                                                 \
		static const struct lttng_ust_##name theirs = { __VA_ARGS__ };                                         \
                                                                                                                       \
		if (memcmp(&ours, &theirs, sizeof ours) != 0)                                                          \
			return 1;                                                                                      \
	} while (0)

int main(void)
{
	SAME_BITS(type_integer, .signedness = 1);
	SAME_BITS(type_integer, .reverse_byte_order = 1);
	SAME_BITS(type_float, .reverse_byte_order = 1);
	SAME_BITS(enum_value, .signedness = 1);
	SAME_BITS(event_field, .nowrite = 1);
	SAME_BITS(event_field, .nofilter = 1);
	return 0;
}
