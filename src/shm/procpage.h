/*
 * procpage.h - which streams trace a process
 *
 * One page for each traced process, made by whoever needs it first. The
 * process looks at one word of it, vacant, at each trace point; controllers
 * fill and empty slots. A slot's content is written before its bit in vacant
 * is cleared, so that who sees the bit sees the content.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SHM_PROCPAGE_H
#define SHM_PROCPAGE_H

#include "base/ident.h"
#include "shm/layout.h"

/* Maps the page of a process, made if need be. 0 or a negative error number. */
int procpage_open(int dir, struct ident id, struct procpage **page);
void procpage_close(struct procpage *page);

/* Enters a stream. Returns the slot, or -EAGAIN if all are taken. */
int procpage_enter(struct procpage *page, struct ident creator, uint32_t serial);
/* The stream is not there any more; its slot stays taken until the mappings of it are gone too. */
void procpage_leave(struct procpage *page, int slot);
void procpage_free(struct procpage *page, int slot);

#endif
