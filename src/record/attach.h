/*
 * attach.h - the streams that trace this process: finding, mapping and letting go of them
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef RECORD_ATTACH_H
#define RECORD_ATTACH_H

#include "record/self.h"

/* How many slots whose stream cannot be mapped a trace point looks at: a hostile page may have very many (H18). */
#define ATTACH_MISSES 4

/*
 * Returns the stream of a slot in use. The first thread to ask maps it for all threads. Returns null if it cannot be
 * mapped.
 */
struct attached *attach_slot(struct self *self, struct procpage *page, int slot);

/*
 * Remakes the thread's writers from the process page, and lets go of streams that are no longer there. Therefore not to
 * be called inside another trace point of this thread.
 */
void attach_update(struct self *self, struct procpage *page, struct thread *t);

/*
 * Does the same for the block of a handler's trace point inside another one of this thread, which may be using any of
 * the streams. So no stream is unmapped; the next attach_update() of any thread does that.
 */
void attach_update_inside(struct self *self, struct procpage *page, struct thread *t);

/* Returns whether a writer's stream is mapped. */
bool attach_has(const struct self *self, const struct writer *writer);

/*
 * Lets go of streams that are no longer in the page, for a thread without writers. Not to be called inside another
 * trace point of this thread.
 */
void attach_renew(struct self *self, struct procpage *page, struct thread *t);

/*
 * Maps the streams that trace this process before its first event there, because a process that becomes another user
 * afterwards could not open them any more (H20). While nobody traces, or if nothing is new, this is only a look at the
 * page. Not in handlers.
 */
void attach_ahead(void);

/*
 * Checks once a second whether the stream's creator has ended without shutting it down. Marks the stream as ended then,
 * for all processes that record there. Safe in handlers.
 */
void attach_check(struct self *self, struct attached *a);

/* Returns whether it is time for attach_check(). Makes no system call. */
bool attach_check_due(const struct attached *a);

/*
 * Frees the slot of a stream that has ended but is still in the page: whoever ended it gave up waiting for the slot,
 * because another thread had it locked. The next trace point lets go of the stream. Safe in handlers.
 */
void attach_ended(struct self *self, const struct attached *a, int slot);

/*
 * Unmaps the stream of a slot that is being shut down (H7) and whose slot is still taken, once no other thread of this
 * process is inside a trace point. The wait for a thread that stays inside (stopped, or left by longjmp()) is limited:
 * the mapping then stays until another stream is shut down.
 */
void attach_detach(struct self *self, int slot);

#endif
