/*
 * iterator.h - a log's events, as messages
 *
 *     stream beginning
 *         [discarded packets]  segments are missing here
 *         [discarded events]   the stream has lost events
 *         packet beginning     a segment of the log
 *             event ...
 *         packet end
 *         ...
 *     stream end
 *
 * In the order of the log, and each with a time that is not less than the one before.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef ITERATOR_H
#define ITERATOR_H

#include <babeltrace2/babeltrace.h>

/* Methods of the message iterator class. */
bt_message_iterator_class_initialize_method_status
iterator_initialize(bt_self_message_iterator *self, bt_self_message_iterator_configuration *configuration,
                    bt_self_component_port_output *port);
void iterator_finalize(bt_self_message_iterator *self);
bt_message_iterator_class_next_method_status iterator_next(bt_self_message_iterator *self,
                                                           bt_message_array_const messages,
                                                           uint64_t capacity, uint64_t *count);
bt_message_iterator_class_can_seek_beginning_method_status iterator_can_rewind(bt_self_message_iterator *self,
                                                                               bt_bool *can);
bt_message_iterator_class_seek_beginning_method_status iterator_rewind(bt_self_message_iterator *self);

#endif
