/*
 * attach.c - src/record/attach.c: streams noticed, mapped, let go
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/attach.h"

#include <sys/mman.h>

#include "base/file.h"
#include "base/wait.h"
#include "shm.h"
#include "unit.h"

static struct self *self;
static struct thread *me;
static int dir;

static void begin(void)
{
	int error;

	shm_private("");
	self = self_get(true, &error);
	MUST(self);
	me = self_thread(self);
	dir = file_directory(true);
	MUST(me && dir >= 0);
	if (self_process(self)->locked)
		SKIP("no membarrier() here");
}

/* A stream of this process, as this or another image of it has made it, entered in its page. */
static int enter_of_image(uint32_t serial, uint64_t image)
{
	struct stream_origin origin = {
		.creator = self_process(self)->ident, .creator_image = image, .target = self_process(self)->ident, .serial = serial,
	};
	struct stream s;
	struct attr a;

	unit_attr(&a, 4096, 16 + serial, 0);
	MUST(stream_create(dir, &origin, &a, false, &s) == 0);
	stream_unmap(&s);
	return procpage_enter(self_process(self)->page, self_process(self)->ident, serial);
}

static int enter(uint32_t serial)
{
	return enter_of_image(serial, ident_image());
}

static void leave(int slot)
{
	stream_unlink(geteuid(), self_process(self)->ident, self_process(self)->page->slot[slot].serial);
	procpage_leave(self_process(self)->page, slot);
	attach_detach(self, slot);
	procpage_free(self_process(self)->page, slot);
}

static bool is_mapped(const void *p)
{
	return mprotect((void *)(uintptr_t)p, 4096, PROT_READ | PROT_WRITE) == 0; /* as it was */
}

static void *attach_too(void *slot)
{
	return attach_slot(self, self_process(self)->page, (int)(uintptr_t)slot);
}

TEST(slot)
{
	pthread_t thread[4];
	struct attached *a;
	int slot, descriptors;

	begin();
	descriptors = shm_descriptors();
	slot = enter(1);
	for (int i = 0; i < 4; i++)
		MUST(pthread_create(&thread[i], NULL, attach_too, (void *)(uintptr_t)slot) == 0);
	a = attach_slot(self, self_process(self)->page, slot);
	MUST(a);
	CHECK_EQ("-", a->stream.header->serial, 1);
	CHECK_EQ("-", a->stream.header->data_size, 17);
	CHECK("-", attach_slot(self, self_process(self)->page, slot) == a);
	for (int i = 0; i < 4; i++) {
		void *other;

		pthread_join(thread[i], &other);
		CHECK("-", other == a); /* one mapping for all threads */
	}
	CHECK_EQ("-", shm_descriptors(), descriptors);
}

TEST(cannot_be_mapped)
{
	struct attached *a;
	int slot;

	begin();
	slot = enter(1);
	stream_unlink(geteuid(), self_process(self)->ident, 1);
	CHECK("-", attach_slot(self, self_process(self)->page, slot) == NULL);
	attach_update(self, self_process(self)->page, me);
	CHECK_EQ("-", me->count, 0);
	slot = enter(2);
	a = attach_slot(self, self_process(self)->page, slot);
	CHECK("-", a && a->stream.header->serial == 2);
}

/* H21: the process has executed another file since it made the stream. It has ended then, and goes. */
TEST(made_before_exec)
{
	char name[FILE_NAME_SIZE];
	struct attached *a;
	int slot;

	begin();
	slot = enter_of_image(1, ident_image() + 1);
	CHECK("-", attach_slot(self, self_process(self)->page, slot) == NULL);
	CHECK("MODEL-20", self_process(self)->page->vacant >> slot & 1);
	file_name(name, "stream", self_process(self)->ident, 1);
	CHECK("-", faccessat(dir, name, F_OK, 0) < 0);
	CHECK_EQ("-", enter(2), slot);
	a = attach_slot(self, self_process(self)->page, slot);
	CHECK("-", a && a->stream.header->serial == 2);
}

/* A slot whose stream has gone without a word, and another one is there now. */
TEST(slot_used_again)
{
	const struct stream_header *old;
	struct attached *a;
	uint32_t number;
	int slot;

	begin();
	slot = enter(1);
	a = attach_slot(self, self_process(self)->page, slot);
	MUST(a);
	old = a->stream.header;
	number = a->number;
	procpage_leave(self_process(self)->page, slot);
	procpage_free(self_process(self)->page, slot);
	CHECK_EQ("-", enter(2), slot);
	a = attach_slot(self, self_process(self)->page, slot);
	MUST(a);
	CHECK_EQ("-", a->stream.header->serial, 2);
	CHECK("-", a->number != number);
	CHECK("-", a->stream.header == old || !is_mapped(old));
}

TEST(lanes)
{
	int slot[3];
	struct chunk mark;

	begin();
	me->change = 0;
	attach_update(self, self_process(self)->page, me);
	CHECK_EQ("-", me->count, 0);
	CHECK_EQ("-", me->change, self_process(self)->page->change);
	for (uint32_t i = 0; i < 3; i++)
		slot[i] = enter(i + 1);
	CHECK("-", me->change != self_process(self)->page->change); /* that is how a thread notices */
	attach_update(self, self_process(self)->page, me);
	CHECK_EQ("-", me->count, 3);
	CHECK_EQ("-", me->change, self_process(self)->page->change);
	for (uint32_t i = 0; i < 3; i++) {
		const struct lane *lane = &me->lane[slot[i]];

		MUST(lane->header && lane->attached);
		CHECK_EQ("-", lane->header->serial, i + 1);
		CHECK_EQ("-", lane->data_size, 17 + i);
		CHECK_EQ("-", lane->clock_kind, lane->header->clock_kind);
		CHECK("-", lane->chunk == NULL && lane->seat == NULL);
		CHECK_EQ("-", me->order[i], slot[i]);
	}
	/* A change elsewhere leaves a lane as it is; what is gone is empty. */
	me->lane[slot[2]].chunk = &mark;
	leave(slot[1]);
	attach_update(self, self_process(self)->page, me);
	CHECK_EQ("-", me->count, 2);
	CHECK("-", me->lane[slot[1]].header == NULL && me->lane[slot[1]].attached == NULL);
	CHECK("-", me->lane[slot[2]].chunk == &mark);
	/* Another stream in the same slot is another lane. */
	me->lane[slot[0]].chunk = &mark;
	leave(slot[0]);
	CHECK_EQ("-", enter(9), slot[0]);
	attach_update(self, self_process(self)->page, me);
	CHECK("-", me->lane[slot[0]].chunk == NULL);
	MUST(me->lane[slot[0]].header);
	CHECK_EQ("-", me->lane[slot[0]].header->serial, 9);
}

TEST(detach)
{
	const struct stream_header *header;
	struct attached *a;
	int slot;

	begin();
	slot = enter(1);
	a = attach_slot(self, self_process(self)->page, slot);
	MUST(a);
	header = a->stream.header;
	CHECK("-", is_mapped(header));
	leave(slot);
	CHECK("-", !is_mapped(header));
	CHECK("-", self->attached[slot] == NULL);
	leave(enter(2)); /* one that nobody has mapped */
}

static struct thread *inside;

static void *stay_inside(void *arg)
{
	struct thread *t = self_thread(self);

	store_relaxed(&t->ready, (uintptr_t)__builtin_frame_address(0));
	store_release(&inside, t);
	for (;;)
		unit_sleep_ms(1000);
	return NULL;
}

/* H7: a thread that stays inside a trace point keeps its mapping: it must not be killed by a store there. */
TEST(detach_from_one_inside)
{
	const struct stream_header *header;
	struct attached *a;
	pthread_t thread;
	int64_t before;
	int slot;

	begin();
	slot = enter(1);
	a = attach_slot(self, self_process(self)->page, slot);
	MUST(a);
	header = a->stream.header;
	MUST(pthread_create(&thread, NULL, stay_inside, NULL) == 0);
	while (!load_acquire(&inside))
		sched_yield();
	before = unit_now();
	leave(slot);
	CHECK("-", is_mapped(header));
	CHECK_OP("-", unit_now() - before, <, 5000000000ll * test_slow()); /* and nobody waits for it for ever */
	/* The slot can be used again all the same. */
	CHECK_EQ("-", enter(2), slot);
	a = attach_slot(self, self_process(self)->page, slot);
	CHECK("-", a && a->stream.header->serial == 2 && a->stream.header != header);
}

TEST_MAIN(TEST_ENTRY(slot), TEST_ENTRY(cannot_be_mapped), TEST_ENTRY(made_before_exec),
          TEST_ENTRY(slot_used_again), TEST_ENTRY(lanes), TEST_ENTRY(detach),
          TEST_ENTRY(detach_from_one_inside))
