/*
 * query.h - babeltrace2 asks whether something is a log, before anything is opened
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef QUERY_H
#define QUERY_H

#include <babeltrace2/babeltrace.h>

/* The query method of the component class: it answers "babeltrace.support-info". */
bt_component_class_query_method_status query_answer(bt_self_component_class_source *self,
                                                    bt_private_query_executor *executor,
                                                    const char *object, const bt_value *params, void *data,
                                                    const bt_value **result);

#endif
