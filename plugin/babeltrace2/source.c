/*
 * source.c - the component: logs become streams
 *
 * SPDX-License-Identifier: MIT
 */
#include "source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "classes.h"
#include "describe.h"
#include "identity.h"

typedef bt_component_class_initialize_method_status status;

#define DONE   BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_OK
#define FAILED BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_ERROR
#define MEMORY BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_MEMORY_ERROR

/* -- Parameters -------------------------------------------------------------------------------------- */

static bt_value_map_foreach_entry_const_func_status find_unknown(const char *key, const bt_value *value, void *unknown)
{
	(void)value;
	if (strcmp(key, "inputs") != 0 && !*(const char **)unknown)
		*(const char **)unknown = key;
	return BT_VALUE_MAP_FOREACH_ENTRY_CONST_FUNC_STATUS_OK;
}

/* Returns the array of paths, or null after it has logged what is wrong with the parameters. */
static const bt_value *find_inputs(bt_self_component *self, const bt_value *params)
{
	const bt_value *inputs = bt_value_map_borrow_entry_value_const(params, "inputs");
	const char *unknown = NULL;

	(void)bt_value_map_foreach_entry_const(params, find_unknown, &unknown);
	if (unknown) {
		BT_CURRENT_THREAD_ERROR_APPEND_CAUSE_FROM_COMPONENT(self, "There is no parameter `%s`.", unknown);
		return NULL;
	}
	for (uint64_t i = 0; inputs && bt_value_is_array(inputs) && i < bt_value_array_get_length(inputs); i++)
		if (!bt_value_is_string(bt_value_array_borrow_element_by_index_const(inputs, i)))
			inputs = NULL;
	if (inputs && bt_value_is_array(inputs) && !bt_value_array_is_empty(inputs))
		return inputs;
	BT_CURRENT_THREAD_ERROR_APPEND_CAUSE_FROM_COMPONENT(self,
	                                                    "The parameter `inputs` is needed: "
	                                                    "an array of paths of logs.");
	return NULL;
}

/* -- Logs -------------------------------------------------------------------------------------------- */

static status open_log(bt_self_component *self, struct source_log *log, const char *path)
{
	int error;

	log->path = strdup(path);
	if (!log->path)
		return MEMORY;
	log->fd = identity_open(path);
	if (log->fd < 0) {
		BT_CURRENT_THREAD_ERROR_APPEND_CAUSE_FROM_COMPONENT(
			self, "%s: %s", path, log->fd == -EINVAL ? "not a regular file" : strerror(-log->fd));
		return FAILED;
	}
	/* As every opening of a log by the command does: in place, and once. What is wrong is said below. */
	posixtrace_log_recover(log->fd);
	error = identity_reader(log->fd, path, &log->reader);
	log->about = posixtrace_log_about_at(log->reader, 0);
	if (!error)
		return DONE;
	if (error == ENOMEM)
		return MEMORY;
	BT_CURRENT_THREAD_ERROR_APPEND_CAUSE_FROM_COMPONENT(self, "%s", posixtrace_log_error());
	return FAILED;
}

/* Returns the log that was created first; it describes the trace. */
static const struct posixtrace_log_about *oldest(const struct source *s, const char *identity)
{
	const struct posixtrace_log_about *found = NULL;
	char text[IDENTITY_BYTES];

	for (size_t i = 0; i < s->count; i++) {
		const struct posixtrace_log_about *a = s->log[i].about;

		if (strcmp(identity_text(text, a), identity) == 0 && (!found || a->created < found->created))
			found = a;
	}
	return found;
}

/* -- Traces -------------------------------------------------------------------------------------------- */

static bool add_port(bt_self_component_source *self, size_t i, struct source_log *log)
{
	char name[32];

	snprintf(name, sizeof name, "out%zu", i);
	return bt_self_component_source_add_output_port(self, name, log, NULL) == BT_SELF_COMPONENT_ADD_PORT_STATUS_OK;
}

/*
 * Returns a reference to the trace of log i: the trace of an earlier log with the same identity, or a new one. Returns
 * null if there is no memory.
 */
static bt_trace *trace_of(bt_self_component *self, struct source *s, size_t i)
{
	char identity[IDENTITY_BYTES], other[IDENTITY_BYTES];
	bt_trace_class *tc;
	bt_trace *trace;

	identity_text(identity, s->log[i].about);
	for (size_t j = 0; j < i; j++)
		if (strcmp(identity_text(other, s->log[j].about), identity) == 0) {
			trace = bt_stream_borrow_trace(s->log[j].stream);
			bt_trace_get_ref(trace);
			return trace;
		}
	tc = bt_trace_class_create(self);
	trace = tc ? describe_trace(tc, oldest(s, identity)) : NULL;
	bt_trace_class_put_ref(tc);
	return trace;
}

static status make_stream(bt_self_component *self, struct source *s, size_t i)
{
	struct source_log *log = &s->log[i];
	bt_clock_class *clock_class = describe_clock(self, log->about);
	bt_trace *trace = clock_class ? trace_of(self, s, i) : NULL;
	bt_stream_class *class = trace ? classes_stream(bt_trace_borrow_class(trace), clock_class) : NULL;

	if (class)
		log->stream = describe_stream(class, trace, log->path);
	bt_stream_class_put_ref(class);
	bt_clock_class_put_ref(clock_class);
	bt_trace_put_ref(trace);
	return log->stream ? DONE : MEMORY;
}

/* -- Methods -------------------------------------------------------------------------------------------- */

static struct source *new_source(size_t count)
{
	struct source *s = calloc(1, sizeof *s + count * sizeof s->log[0]);

	for (size_t i = 0; s && i < count; i++)
		s->log[i].fd = -1;
	if (s)
		s->count = count;
	return s;
}

static void free_source(struct source *s)
{
	for (size_t i = 0; i < s->count; i++) {
		struct source_log *log = &s->log[i];

		bt_stream_put_ref(log->stream);
		posixtrace_log_close(log->reader);
		if (log->fd >= 0)
			close(log->fd);
		free(log->path);
	}
	free(s);
}

static status fill(bt_self_component_source *self, struct source *s, const bt_value *inputs)
{
	bt_self_component *component = bt_self_component_source_as_self_component(self);
	status r = DONE;

	for (size_t i = 0; i < s->count && r == DONE; i++)
		r = open_log(component, &s->log[i],
		             bt_value_string_get(bt_value_array_borrow_element_by_index_const(inputs, i)));
	for (size_t i = 0; i < s->count && r == DONE; i++)
		r = make_stream(component, s, i);
	for (size_t i = 0; i < s->count && r == DONE; i++)
		r = add_port(self, i, &s->log[i]) ? DONE : MEMORY;
	return r;
}

bt_component_class_initialize_method_status source_initialize(bt_self_component_source *self,
                                                              bt_self_component_source_configuration *configuration,
                                                              const bt_value *params, void *data)
{
	bt_self_component *component = bt_self_component_source_as_self_component(self);
	const bt_value *inputs = find_inputs(component, params);
	struct source *s;
	status r;

	(void)configuration;
	(void)data;
	if (!inputs)
		return FAILED;
	s = new_source(bt_value_array_get_length(inputs));
	if (!s)
		return MEMORY;
	r = fill(self, s, inputs);
	if (r == DONE)
		bt_self_component_set_data(component, s);
	else
		free_source(s);
	return r;
}

void source_finalize(bt_self_component_source *self)
{
	free_source(bt_self_component_get_data(bt_self_component_source_as_self_component(self)));
}
