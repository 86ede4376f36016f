/*
 * source.h - the component: logs become streams
 *
 * Logs of one trace (identity.h) are streams of one trace, each with a port of its own. Not one row of events: the
 * parts of a trace that was rotated overlap at their seams, and babeltrace2 knows how to merge.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SOURCE_H
#define SOURCE_H

#include <babeltrace2/babeltrace.h>
#include <posixtrace/log.h>

struct source_log {
	char *path; /* as given */
	int fd;
	struct posixtrace_log *reader; /* only for about; an iterator has its own */
	const struct posixtrace_log_about *about;
	bt_stream *stream;
};

struct source {
	size_t count;
	struct source_log log[];
};

/* Methods of the component class. The only parameter is `inputs`, an array of paths. */
bt_component_class_initialize_method_status source_initialize(bt_self_component_source *self,
                                                              bt_self_component_source_configuration *configuration,
                                                              const bt_value *params, void *data);
void source_finalize(bt_self_component_source *self);

#endif
