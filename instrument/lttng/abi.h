/*
 * abi.h - the binary interface between LTTng-UST 2.13 and the programs that were built for it
 *
 * The structures are those of <lttng/tracepoint-types.h>, <lttng/ust-events.h> and <lttng/ust-ringbuffer-context.h>,
 * without the prefix lttng_: these headers need not be installed to build this. tests/instrument/lttng_abi.c compares
 * both where they are.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LTTNG_ABI_H
#define LTTNG_ABI_H

#include <stddef.h>
#include <stdint.h>

/* Makes a function or variable visible to programs. */
#define EXPORT __attribute__((visibility("default")))

/* The major version of providers that were built for LTTng-UST 2.13. */
#define UST_PROVIDER_MAJOR 3

/* -- Tracepoints: where the program calls -------------------------------------------------------------- */

struct ust_tracepoint_probe {
	void (*func)(void); /* null: the end of the array */
	void *data; /* the function's first argument */
};

struct ust_tracepoint {
	uint32_t struct_size;
	const char *provider_name;
	const char *event_name;
	int state; /* 0: the program does not call the probes */
	struct ust_tracepoint_probe *probes;
	int *tracepoint_provider_ref;
	const char *signature;
};

/* -- Providers: what the fields are, and the functions that write them ---------------------------------- */

enum ust_type {
	ust_type_integer, ust_type_string, ust_type_float, ust_type_dynamic, ust_type_enum, ust_type_array,
	ust_type_sequence, ust_type_struct,
};

enum ust_string_encoding {
	ust_string_encoding_none, ust_string_encoding_UTF8, ust_string_encoding_ASCII,
};

/* Every type begins with this. */
struct ust_type_common {
	enum ust_type type;
};

struct ust_type_integer {
	struct ust_type_common parent;
	uint32_t struct_size;
	unsigned int size; /* in bits */
	unsigned short alignment;
	unsigned int signedness : 1;
	unsigned int reverse_byte_order : 1;
	unsigned int base; /* 2, 8, 10, 16 */
};

struct ust_type_float {
	struct ust_type_common parent;
	uint32_t struct_size;
	unsigned int exp_dig;
	unsigned int mant_dig; /* both together: the size in bits */
	unsigned short alignment;
	unsigned int reverse_byte_order : 1;
};

struct ust_type_string {
	struct ust_type_common parent;
	uint32_t struct_size;
	enum ust_string_encoding encoding;
};

struct ust_type_enum {
	struct ust_type_common parent;
	uint32_t struct_size;
	const struct ust_enum_desc *desc;
	const struct ust_type_common *container_type;
};

struct ust_type_array {
	struct ust_type_common parent;
	uint32_t struct_size;
	const struct ust_type_common *elem_type;
	unsigned int length; /* in items */
	unsigned int alignment;
	enum ust_string_encoding encoding;
};

struct ust_type_sequence {
	struct ust_type_common parent;
	uint32_t struct_size;
	const char *length_name; /* null: the field before this one */
	const struct ust_type_common *elem_type;
	unsigned int alignment;
	enum ust_string_encoding encoding;
};

struct ust_enum_value {
	unsigned long long value;
	unsigned int signedness : 1;
};

#define UST_ENUM_ENTRY_IS_AUTO 1U /* one more than the end of the entry before */

struct ust_enum_entry {
	uint32_t struct_size;
	struct ust_enum_value start, end; /* both inclusive */
	const char *string;
	unsigned int options;
};

struct ust_enum_desc {
	uint32_t struct_size;
	const char *name;
	const struct ust_enum_entry *const *entries;
	unsigned int nr_entries;
	const struct ust_probe_desc *probe_desc;
};

struct ust_event_field {
	uint32_t struct_size;
	const char *name;
	const struct ust_type_common *type;
	unsigned int nowrite : 1, /* not in the event's data */
		nofilter : 1;
};

struct ust_tracepoint_class {
	uint32_t struct_size;
	const struct ust_event_field *const *fields;
	size_t nr_fields;
	void (*probe_callback)(void);
	const char *signature;
	const struct ust_probe_desc *probe_desc;
};

struct ust_event_desc {
	uint32_t struct_size;
	const char *event_name;
	const struct ust_probe_desc *probe_desc;
	const struct ust_tracepoint_class *tp_class;
	const int **loglevel; /* points to null: none was given */
	const char **model_emf_uri;
};

struct ust_probe_desc {
	uint32_t struct_size;
	const char *provider_name;
	const struct ust_event_desc *const *event_desc;
	unsigned int nr_events;
	uint32_t major;
	uint32_t minor;
};

/* -- Recording: what a provider's function calls ---------------------------------------------------------- */

struct ust_probe_ctx {
	uint32_t struct_size;
	void *ip; /* return address in the function with the tracepoint */
};

struct ust_ring_buffer_ctx {
	uint32_t struct_size;
	void *client_priv; /* the recorder */
	size_t data_size; /* of all fields, at most */
	int largest_align;
	struct ust_probe_ctx *probe_ctx;
	void *priv; /* for us, from event_reserve() to event_commit() */
};

enum ust_event_type {
	ust_event_type_recorder, ust_event_type_notifier,
};

struct ust_event_common {
	uint32_t struct_size;
	void *priv;
	enum ust_event_type type;
	void *child;
	int enabled;
	int eval_filter;
	int (*run_filter)(const struct ust_event_common *event, const char *stack_data, struct ust_probe_ctx *probe_ctx,
	                  void *filter_ctx);
};

struct ust_event_recorder {
	uint32_t struct_size;
	struct ust_event_common *parent;
	void *priv;
	struct ust_channel_buffer *chan;
};

struct ust_channel_buffer_ops {
	uint32_t struct_size;
	void *priv;
	int (*event_reserve)(struct ust_ring_buffer_ctx *ctx);
	void (*event_commit)(struct ust_ring_buffer_ctx *ctx);
	void (*event_write)(struct ust_ring_buffer_ctx *ctx, const void *src, size_t len, size_t alignment);
	void (*event_strcpy)(struct ust_ring_buffer_ctx *ctx, const char *src, size_t len);
	void (*event_pstrcpy_pad)(struct ust_ring_buffer_ctx *ctx, const char *src, size_t len);
};

enum ust_channel_type {
	ust_channel_type_buffer,
};

struct ust_channel_common {
	uint32_t struct_size;
	void *priv;
	enum ust_channel_type type;
	void *child;
	int enabled;
	struct ust_session *session;
};

struct ust_channel_buffer {
	uint32_t struct_size;
	struct ust_channel_common *parent;
	void *priv;
	struct ust_channel_buffer_ops *ops;
};

struct ust_session {
	uint32_t struct_size;
	void *priv;
	int active;
};

#endif
