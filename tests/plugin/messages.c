/*
 * messages.c - prints everything that babeltrace2 reads from traces, one line of JSON for each message
 *
 *     messages PLUGIN CLASS N INPUT...     PLUGIN.CLASS reads INPUT...; after the first N messages
 *                                          it goes back to the beginning
 *
 * A structure is a list of pairs, and text has a character for each byte. babeltrace2's muxer merges the traces, as in
 * its command. Exit status 1: babeltrace2 reports a failure, on standard error.
 *
 * SPDX-License-Identifier: MIT
 */
#include <babeltrace2/babeltrace.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long again, seen;

static void fail(const char *what)
{
	const bt_error *error = bt_current_thread_take_error();

	fprintf(stderr, "messages: %s\n", what);
	for (uint64_t i = 0; error && i < bt_error_get_cause_count(error); i++)
		fprintf(stderr, "  %s\n", bt_error_cause_get_message(bt_error_borrow_cause_by_index(error, i)));
	if (error)
		bt_error_release(error);
	exit(1);
}

#define MUST(what) ((what) ? (void)0 : fail(#what))

/* -- Values ----------------------------------------------------------------------------------------- */

static void put_text(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\')
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	putchar('"');
}

static void put_real(double d, int digits)
{
	if (isfinite(d))
		printf("%.*g", digits, d);
	else
		printf("\"%f\"", d);
}

static void put_field(const bt_field *field);

static void put_structure(const bt_field *field)
{
	const bt_field_class *fc = bt_field_borrow_class_const(field);

	putchar('[');
	for (uint64_t i = 0; i < bt_field_class_structure_get_member_count(fc); i++) {
		printf(i > 0 ? ", [" : "[");
		put_text(bt_field_class_structure_member_get_name(
			bt_field_class_structure_borrow_member_by_index_const(fc, i)));
		printf(", ");
		put_field(bt_field_structure_borrow_member_field_by_index_const(field, i));
		putchar(']');
	}
	putchar(']');
}

static void put_field(const bt_field *field)
{
	bt_field_class_type type = bt_field_get_class_type(field);

	if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER)) {
		printf("%" PRIu64, bt_field_integer_unsigned_get_value(field));
	} else if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_BOOL)) {
		printf("%s", bt_field_bool_get_value(field) ? "true" : "false");
	} else if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_SIGNED_INTEGER)) {
		printf("%" PRId64, bt_field_integer_signed_get_value(field));
	} else if (type == BT_FIELD_CLASS_TYPE_DOUBLE_PRECISION_REAL) {
		put_real(bt_field_real_double_precision_get_value(field), 17);
	} else if (type == BT_FIELD_CLASS_TYPE_SINGLE_PRECISION_REAL) {
		put_real(bt_field_real_single_precision_get_value(field), 9);
	} else if (type == BT_FIELD_CLASS_TYPE_STRING) {
		put_text(bt_field_string_get_value(field));
	} else if (type == BT_FIELD_CLASS_TYPE_STRUCTURE) {
		put_structure(field);
	} else if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_ARRAY)) {
		putchar('[');
		for (uint64_t i = 0; i < bt_field_array_get_length(field); i++) {
			printf(i > 0 ? ", " : "");
			put_field(bt_field_array_borrow_element_field_by_index_const(field, i));
		}
		putchar(']');
	} else {
		fail("a field of another type");
	}
}

/* -- Messages ------------------------------------------------------------------------------------------ */

static uint64_t value(const bt_clock_snapshot *clock)
{
	int64_t ns;

	MUST(bt_clock_snapshot_get_ns_from_origin(clock, &ns) == BT_CLOCK_SNAPSHOT_GET_NS_FROM_ORIGIN_STATUS_OK);
	return (uint64_t)ns;
}

static void put_member(const char *name, const bt_field *field)
{
	if (!field)
		return;
	printf(", \"%s\": ", name);
	put_field(field);
}

static void put_event(const bt_message *m)
{
	const bt_event *event = bt_message_event_borrow_event_const(m);
	const bt_event_class *class = bt_event_borrow_class_const(event);
	const char *name = bt_event_class_get_name(class);

	printf(", \"time\": %" PRIu64 ", \"id\": %" PRIu64 ", \"name\": ",
	       value(bt_message_event_borrow_default_clock_snapshot_const(m)), bt_event_class_get_id(class));
	put_text(name ? name : "");
	put_member("common", bt_event_borrow_common_context_field_const(event));
	put_member("specific", bt_event_borrow_specific_context_field_const(event));
	put_member("payload", bt_event_borrow_payload_field_const(event));
}

/* Streams are identified by their names, traces by their addresses. */
static void put_stream(const bt_stream *stream)
{
	const char *name = bt_stream_get_name(stream);

	printf(", \"stream\": ");
	put_text(name ? name : "");
	printf(", \"trace\": \"%p\"", (const void *)bt_stream_borrow_trace_const(stream));
}

static void put_lost(const bt_clock_snapshot *from, const bt_clock_snapshot *until)
{
	printf(", \"from\": %" PRIu64 ", \"until\": %" PRIu64, value(from), value(until));
}

static void put_environment(const bt_trace *trace)
{
	printf(", \"name\": ");
	put_text(bt_trace_get_name(trace) ? bt_trace_get_name(trace) : "");
	printf(", \"environment\": {");
	for (uint64_t i = 0; i < bt_trace_get_environment_entry_count(trace); i++) {
		const bt_value *entry;
		const char *name;

		bt_trace_borrow_environment_entry_by_index_const(trace, i, &name, &entry);
		printf(i > 0 ? ", " : "");
		put_text(name);
		printf(": ");
		if (bt_value_is_string(entry))
			put_text(bt_value_string_get(entry));
		else
			printf("%" PRId64, bt_value_integer_signed_get(entry));
	}
	putchar('}');
}

static void put_message(const bt_message *m)
{
	uint64_t count;

	switch (bt_message_get_type(m)) {
	case BT_MESSAGE_TYPE_STREAM_BEGINNING:
		printf("{\"type\": \"stream\"");
		put_stream(bt_message_stream_beginning_borrow_stream_const(m));
		put_environment(bt_stream_borrow_trace_const(bt_message_stream_beginning_borrow_stream_const(m)));
		break;
	case BT_MESSAGE_TYPE_STREAM_END:
		printf("{\"type\": \"stream end\"");
		put_stream(bt_message_stream_end_borrow_stream_const(m));
		break;
	case BT_MESSAGE_TYPE_PACKET_BEGINNING:
		printf("{\"type\": \"packet\", \"time\": %" PRIu64,
		       value(bt_message_packet_beginning_borrow_default_clock_snapshot_const(m)));
		break;
	case BT_MESSAGE_TYPE_PACKET_END:
		printf("{\"type\": \"packet end\", \"time\": %" PRIu64,
		       value(bt_message_packet_end_borrow_default_clock_snapshot_const(m)));
		break;
	case BT_MESSAGE_TYPE_EVENT:
		printf("{\"type\": \"event\"");
		put_event(m);
		break;
	case BT_MESSAGE_TYPE_DISCARDED_EVENTS:
		printf("{\"type\": \"lost events\"");
		put_lost(bt_message_discarded_events_borrow_beginning_default_clock_snapshot_const(m),
		         bt_message_discarded_events_borrow_end_default_clock_snapshot_const(m));
		if (bt_message_discarded_events_get_count(m, &count) == BT_PROPERTY_AVAILABILITY_AVAILABLE)
			printf(", \"count\": %" PRIu64, count);
		break;
	case BT_MESSAGE_TYPE_DISCARDED_PACKETS:
		printf("{\"type\": \"lost packets\"");
		put_lost(bt_message_discarded_packets_borrow_beginning_default_clock_snapshot_const(m),
		         bt_message_discarded_packets_borrow_end_default_clock_snapshot_const(m));
		if (bt_message_discarded_packets_get_count(m, &count) == BT_PROPERTY_AVAILABILITY_AVAILABLE)
			printf(", \"count\": %" PRIu64, count);
		break;
	default:
		fail("a message of another type");
	}
	printf("}\n");
}

/* Prints messages. Returns false after the first `again` messages, which are to be read again. */
static bool put_messages(bt_message_array_const messages, uint64_t count)
{
	bool go_on = true;

	for (uint64_t i = 0; i < count; i++) {
		if (go_on) {
			put_message(messages[i]);
			go_on = again == 0 || ++seen != again;
		}
		bt_message_put_ref(messages[i]);
	}
	return go_on;
}

static bt_graph_simple_sink_component_consume_func_status consume(bt_message_iterator *iterator, void *data)
{
	bt_message_array_const messages;
	uint64_t count;
	bt_bool can;

	(void)data;
	switch (bt_message_iterator_next(iterator, &messages, &count)) {
	case BT_MESSAGE_ITERATOR_NEXT_STATUS_OK:
		if (put_messages(messages, count))
			return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_OK;
		MUST(bt_message_iterator_can_seek_beginning(iterator, &can) ==
		             BT_MESSAGE_ITERATOR_CAN_SEEK_BEGINNING_STATUS_OK &&
		     can);
		MUST(bt_message_iterator_seek_beginning(iterator) == BT_MESSAGE_ITERATOR_SEEK_BEGINNING_STATUS_OK);
		again = 0;
		return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_OK;
	case BT_MESSAGE_ITERATOR_NEXT_STATUS_END:
		return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_END;
	default:
		return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_ERROR;
	}
}

/* -- The graph ------------------------------------------------------------------------------------------- */

static const bt_plugin *find(const char *name)
{
	const bt_plugin *plugin = NULL;

	bt_plugin_find(name, BT_TRUE, BT_TRUE, BT_TRUE, BT_FALSE, BT_TRUE, &plugin);
	return plugin;
}

static bt_value *parameters(char **input, int count)
{
	bt_value *params = bt_value_map_create(), *inputs;

	MUST(bt_value_map_insert_empty_array_entry(params, "inputs", &inputs) == BT_VALUE_MAP_INSERT_ENTRY_STATUS_OK);
	for (int i = 0; i < count; i++)
		MUST(bt_value_array_append_string_element(inputs, input[i]) == BT_VALUE_ARRAY_APPEND_ELEMENT_STATUS_OK);
	return params;
}

static void connect(bt_graph *graph, const bt_component_source *source, const bt_component_filter *muxer,
                    const bt_component_sink *sink)
{
	uint64_t ports = bt_component_source_get_output_port_count(source);

	for (uint64_t i = 0; i < ports; i++)
		MUST(bt_graph_connect_ports(graph, bt_component_source_borrow_output_port_by_index_const(source, i),
		                            bt_component_filter_borrow_input_port_by_index_const(muxer, i), NULL) ==
		     BT_GRAPH_CONNECT_PORTS_STATUS_OK);
	MUST(bt_graph_connect_ports(graph, bt_component_filter_borrow_output_port_by_index_const(muxer, 0),
	                            bt_component_sink_borrow_input_port_by_index_const(sink, 0),
	                            NULL) == BT_GRAPH_CONNECT_PORTS_STATUS_OK);
}

int main(int argc, char **argv)
{
	bt_graph *graph = bt_graph_create(0);
	const bt_plugin *plugin, *utils = find("utils");
	const bt_component_class_source *class;
	const bt_component_source *source;
	const bt_component_filter *muxer;
	const bt_component_sink *sink;
	bt_value *params;

	MUST(argc > 4 && graph && utils);
	plugin = find(argv[1]);
	MUST(plugin);
	class = bt_plugin_borrow_source_component_class_by_name_const(plugin, argv[2]);
	again = strtoul(argv[3], NULL, 10);
	params = parameters(argv + 4, argc - 4);
	MUST(class && bt_graph_add_source_component(graph, class, "log", params, BT_LOGGING_LEVEL_WARNING, &source) ==
	                      BT_GRAPH_ADD_COMPONENT_STATUS_OK);
	MUST(bt_graph_add_filter_component(graph, bt_plugin_borrow_filter_component_class_by_name_const(utils, "muxer"),
	                                   "muxer", NULL, BT_LOGGING_LEVEL_WARNING,
	                                   &muxer) == BT_GRAPH_ADD_COMPONENT_STATUS_OK);
	MUST(bt_graph_add_simple_sink_component(graph, "sink", NULL, consume, NULL, NULL, &sink) ==
	     BT_GRAPH_ADD_COMPONENT_STATUS_OK);
	connect(graph, source, muxer, sink);
	MUST(bt_graph_run(graph) == BT_GRAPH_RUN_STATUS_OK);
	bt_graph_put_ref(graph);
	bt_value_put_ref(params);
	bt_plugin_put_ref(plugin);
	bt_plugin_put_ref(utils);
	return 0;
}
