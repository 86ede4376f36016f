/*
 * fetch.h - probes with a name in tracefs, for which the kernel also fetches texts from the program's memory
 *
 * The names are in a group of this process. They last longer than a process that is killed, although nothing is set in
 * a program any more then: the next process that defines one removes them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef KERNEL_FETCH_H
#define KERNEL_FETCH_H

#include "kernel/tracefs.h"
#include "kernel/uprobe.h"

/*
 * Gives a probe a name, so that its samples have fields as well. fields: "t1=+0(%di):string". Sets u->tracepoint and
 * u->name, and the format of the samples. Returns 0 or a negative error number.
 */
int fetch_define(struct uprobe *u, const char *fields, struct tracefs_format *f);
/* Removes the name of a probe, if it has one. All of its events must be closed. */
void fetch_undefine(const struct uprobe *u);

#endif
