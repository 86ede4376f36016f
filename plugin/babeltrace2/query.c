/*
 * query.c - babeltrace2 asks whether something is a log, before anything is opened
 *
 * SPDX-License-Identifier: MIT
 */
#include "query.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "identity.h"

/* Almost certain: no other file begins like a log. */
#define WEIGHT 0.95

/* Returns a parameter that is a text, or null. */
static const char *text_of(const bt_value *params, const char *name)
{
	const bt_value *value = bt_value_is_map(params) ? bt_value_map_borrow_entry_value_const(params, name) : NULL;

	return value && bt_value_is_string(value) ? bt_value_string_get(value) : NULL;
}

/* Returns the answer for a log, or null if there is no memory. */
static bt_value *claim(const char *group)
{
	bt_value *answer = bt_value_map_create();

	if (answer && bt_value_map_insert_real_entry(answer, "weight", WEIGHT) == BT_VALUE_MAP_INSERT_ENTRY_STATUS_OK &&
	    bt_value_map_insert_string_entry(answer, "group", group) == BT_VALUE_MAP_INSERT_ENTRY_STATUS_OK)
		return answer;
	bt_value_put_ref(answer);
	return NULL;
}

static bt_value *support_info(const char *path, const char *type)
{
	int fd = strcmp(type, "file") == 0 ? identity_open(path) : -1, error;
	char group[IDENTITY_BYTES];
	struct posixtrace_log *log;
	bt_value *answer;

	if (fd < 0)
		return bt_value_real_create_init(0.0);
	error = identity_reader(fd, path, &log);
	/* Claim a log with a damaged header, too: no other component can say what is wrong with it. */
	answer = !error           ? claim(identity_text(group, posixtrace_log_about_at(log, 0))) :
	         error == EBADMSG ? claim(path) :
	         error == ENOMEM  ? NULL :
	                            bt_value_real_create_init(0.0);
	posixtrace_log_close(log);
	close(fd);
	return answer;
}

bt_component_class_query_method_status query_answer(bt_self_component_class_source *self,
                                                    bt_private_query_executor *executor,
                                                    const char *object, const bt_value *params, void *data,
                                                    const bt_value **result)
{
	const char *input = text_of(params, "input"), *type = text_of(params, "type");

	(void)executor;
	(void)data;
	if (strcmp(object, "babeltrace.support-info") != 0)
		return BT_COMPONENT_CLASS_QUERY_METHOD_STATUS_UNKNOWN_OBJECT;
	if (!input || !type) {
		BT_CURRENT_THREAD_ERROR_APPEND_CAUSE_FROM_COMPONENT_CLASS(
			bt_self_component_class_source_as_self_component_class(self),
			"babeltrace.support-info needs the parameters `input` and `type`, both strings.");
		return BT_COMPONENT_CLASS_QUERY_METHOD_STATUS_ERROR;
	}
	*result = support_info(input, type);
	return *result ? BT_COMPONENT_CLASS_QUERY_METHOD_STATUS_OK :
	       BT_COMPONENT_CLASS_QUERY_METHOD_STATUS_MEMORY_ERROR;
}
