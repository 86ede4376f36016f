/*
 * attach.h - the streams that trace this process: noticed, mapped, let go
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef RECORD_ATTACH_H
#define RECORD_ATTACH_H

#include "record/self.h"

/* The stream of a slot in use, mapped for all threads by the one that comes first. Null: it cannot be mapped. */
struct attached *attach_slot(struct self *self, struct procpage *page, int slot);

/* Makes the thread's lanes anew from the process page. Safe in handlers. */
void attach_update(struct self *self, struct procpage *page, struct thread *t);

/*
 * The slot's stream is shut down (H7) and the slot still taken: unmaps it, once no
 * other thread of this process is inside a trace point. One that stays inside
 * (stopped, or left by longjmp()) is not waited for for ever: then the mapping
 * stays until another stream is shut down.
 */
void attach_detach(struct self *self, int slot);

#endif
