/*
 * plugin.c - what babeltrace2 is told that there is: the component class source.posixtrace.log
 *
 * SPDX-License-Identifier: MIT
 */
#include <babeltrace2/babeltrace.h>

#include "iterator.h"
#include "query.h"
#include "source.h"

BT_PLUGIN_MODULE();
BT_PLUGIN(posixtrace);
BT_PLUGIN_DESCRIPTION("Logs of posixtrace");
BT_PLUGIN_LICENSE("MIT");

BT_PLUGIN_SOURCE_COMPONENT_CLASS(log, iterator_next);
BT_PLUGIN_SOURCE_COMPONENT_CLASS_DESCRIPTION(log, "Reads logs of posixtrace");
BT_PLUGIN_SOURCE_COMPONENT_CLASS_HELP(log, "See babeltrace2-source.posixtrace.log(7)");
BT_PLUGIN_SOURCE_COMPONENT_CLASS_INITIALIZE_METHOD(log, source_initialize);
BT_PLUGIN_SOURCE_COMPONENT_CLASS_FINALIZE_METHOD(log, source_finalize);
BT_PLUGIN_SOURCE_COMPONENT_CLASS_QUERY_METHOD(log, query_answer);
BT_PLUGIN_SOURCE_COMPONENT_CLASS_MESSAGE_ITERATOR_CLASS_INITIALIZE_METHOD(log, iterator_initialize);
BT_PLUGIN_SOURCE_COMPONENT_CLASS_MESSAGE_ITERATOR_CLASS_FINALIZE_METHOD(log, iterator_finalize);
BT_PLUGIN_SOURCE_COMPONENT_CLASS_MESSAGE_ITERATOR_CLASS_SEEK_BEGINNING_METHODS(log, iterator_rewind,
                                                                               iterator_can_rewind);
