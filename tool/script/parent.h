/*
 * parent.h - events in the name of the script that calls the command
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SCRIPT_PARENT_H
#define SCRIPT_PARENT_H

#include <stdbool.h>

/*
 * Makes the events of this process appear as those of the parent's process; with as_thread also as those of its thread,
 * if it has only one. Does nothing if the parent is unknown: it has ended, or is in another pid namespace or session.
 */
void script_act_for_parent(bool as_thread);

#endif
