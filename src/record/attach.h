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

/*
 * Makes the thread's lanes anew from the process page; lets go of streams that
 * are not there any more, so not inside another trace point of this thread.
 */
void attach_update(struct self *self, struct procpage *page, struct thread *t);

/* For a thread without lanes: lets go of streams that are not there any more. Not inside another trace point of this thread. */
void attach_renew(struct self *self, struct procpage *page, struct thread *t);

/*
 * Now and then: has the stream's creator ended without a word? Then the stream
 * has ended too, for all that record there. Safe in handlers.
 */
void attach_check(struct self *self, struct attached *a);

/*
 * The stream says that it has ended, and the page still has it: whoever has ended it has not come to that slot, because
 * somebody else had it, and has not waited for ever. The next trace point lets go of it. Safe in handlers.
 */
void attach_ended(struct self *self, const struct attached *a, int slot);

/*
 * The slot's stream is shut down (H7) and the slot still taken: unmaps it, once no
 * other thread of this process is inside a trace point. One that stays inside
 * (stopped, or left by longjmp()) is not waited for for ever: then the mapping
 * stays until another stream is shut down.
 */
void attach_detach(struct self *self, int slot);

#endif
