/*
 * attach.c - src/record/attach.c: streams noticed, mapped, let go
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/attach.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include "base/wait.h"
#include "host/file.h"
#include "shm.h"
#include "unit.h"

static struct self *self;
static struct procpage *page;
static struct thread *me;
static int dir;

static void begin(void)
{
	int error;

	shm_private("");
	self = self_get(true, &error);
	MUST(self);
	page = self_process(self)->page;
	me = self_thread(self);
	dir = file_directory(&self_process(self)->shm_dir, true);
	MUST(me && dir >= 0);
	if (self_process(self)->locked)
		SKIP("no membarrier() here");
}

static struct page_entry entry_of(uint32_t serial)
{
	return (struct page_entry){ { 1234, 5678, 0 }, serial, 0 };
}

/* Enters a stream that exists, with a hold on its file, in this process's page. */
static struct hold held[20];

static int enter(uint32_t serial)
{
	struct page_entry entry = entry_of(serial);
	struct stream_origin origin = {
		.creator = entry.creator, .target = self_process(self)->ident, .serial = serial,
	};
	struct stream s;
	struct attr a;

	unit_attr(&a, 4096, 16 + serial, 0);
	MUST(stream_create(dir, &self_process(self)->shm_dir, &origin, &a, false, &s, &held[serial]) == 0);
	stream_unmap(&s);
	return procpage_enter(page, unit_tid(), &entry);
}

static bool file_there(uint32_t serial)
{
	char name[FILE_NAME_SIZE];

	stream_name(name, entry_of(serial).creator, serial);
	return faccessat(dir, name, F_OK, 0) == 0;
}

static void unlink_stream(uint32_t serial)
{
	char name[FILE_NAME_SIZE];

	stream_name(name, entry_of(serial).creator, serial);
	unlinkat(dir, name, 0);
	lock_release(&held[serial]);
}

static bool empty(int slot, uint32_t serial)
{
	struct page_entry entry = entry_of(serial);

	return procpage_leave(page, slot, unit_tid(), &entry);
}

/* Takes a stream out of the page as its controller does within the same process. */
static void leave(int slot)
{
	uint32_t serial = page->slot[slot].serial;

	unlink_stream(serial);
	CHECK("-", empty(slot, serial));
	attach_detach(self, slot);
	procpage_free(page, slot);
}

static struct attached *attach_to(int slot)
{
	return attach_slot(self, page, slot);
}

static bool is_mapped(const void *p)
{
	return mprotect((void *)(uintptr_t)p, 4096, PROT_READ | PROT_WRITE) == 0; /* does not change the protection */
}

static void *attach_too(void *slot)
{
	return attach_to((int)(uintptr_t)slot);
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
	a = attach_to(slot);
	MUST(a);
	CHECK_EQ("-", a->stream.header->serial, 1);
	CHECK_EQ("-", a->stream.header->data_size, 17);
	CHECK("-", attach_to(slot) == a);
	for (int i = 0; i < 4; i++) {
		void *other;

		pthread_join(thread[i], &other);
		CHECK("-", other == a); /* one mapping for all threads */
	}
	CHECK_EQ("-", shm_descriptors(), descriptors);
}

/* A stream whose file is gone or corrupt is taken out of the page. */
TEST(cannot_be_mapped)
{
	struct page_entry entry;
	struct attached *a;
	char name[FILE_NAME_SIZE];
	int slot;

	begin();
	slot = enter(1);
	unlink_stream(1);
	CHECK("-", attach_to(slot) == NULL);
	CHECK("-", !procpage_read(page, slot, &entry));
	attach_update(self, page, me);
	CHECK_EQ("-", me->count, 0);
	slot = enter(2);
	a = attach_to(slot);
	CHECK("-", a && a->stream.header->serial == 2);

	slot = enter(3);
	stream_name(name, entry_of(3).creator, 3);
	MUST(close(openat(dir, name, O_WRONLY | O_TRUNC)) == 0);
	CHECK("-", attach_to(slot) == NULL);
	CHECK("-", !procpage_read(page, slot, &entry));
	CHECK_EQ("-", page->slot[slot].lock, 0);
}

/* A lack of descriptors is temporary: the stream stays in the page. */
TEST(not_now)
{
	struct rlimit limit, none;
	struct page_entry entry;
	struct attached *a;
	int slot;

	begin();
	slot = enter(1);
	MUST(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	none = limit;
	none.rlim_cur = 3;
	MUST(setrlimit(RLIMIT_NOFILE, &none) == 0);
	CHECK("-", attach_to(slot) == NULL);
	MUST(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	CHECK("-", procpage_read(page, slot, &entry) && file_there(1));
	a = attach_to(slot);
	CHECK("-", a && a->stream.header->serial == 1);
}

/* H11, H21: the creator has ended without shutting the stream down. The stream is marked as ended and removed. */
TEST(creator_has_ended)
{
	struct page_entry entry;
	struct attached *a;
	int slot;

	begin();
	slot = enter(1);
	lock_release(&held[1]);
	CHECK("-", attach_to(slot) == NULL);
	CHECK("MODEL-20", !procpage_read(page, slot, &entry));
	CHECK("-", !file_there(1));
	CHECK_EQ("-", enter(2), slot);
	a = attach_to(slot);
	CHECK("-", a && a->stream.header->serial == 2);
}

/*
 * The creator ends while events are recorded. The writer notices at its next check, and does not check at every
 * event.
 */
TEST(creator_ends_later)
{
	struct page_entry entry;
	struct attached *a;
	int slot;

	begin();
	slot = enter(1);
	a = attach_to(slot);
	MUST(a);
	store_relaxed(&a->stream.header->state, STATE_RUNNING);
	a->checked -= 10 * NS_PER_S;
	attach_check(self, a);
	CHECK_EQ("-", a->stream.header->state, STATE_RUNNING); /* the creator is alive */
	lock_release(&held[1]);
	attach_check(self, a);
	CHECK_EQ("-", a->stream.header->state, STATE_RUNNING); /* checked a moment ago */
	a->checked -= 10 * NS_PER_S;
	attach_check(self, a);
	CHECK_EQ("-", a->stream.header->state, STATE_ENDED | STATE_CUT);
	CHECK("-", !procpage_read(page, slot, &entry));
	CHECK("-", !file_there(1));
	CHECK_EQ("-", page->slot[slot].lock, 0);
	/* The next update unmaps the stream. */
	attach_update(self, page, me);
	CHECK("-", self->attached[slot] == NULL && me->count == 0);
}

/*
 * The stream of a slot has gone and a new one uses the slot. A trace point that this handler interrupted may still
 * be using the old stream, so its mapping stays until an update outside of all trace points.
 */
TEST(slot_used_again)
{
	const struct stream_header *old;
	struct attached *a;
	uint32_t number;
	int slot;

	begin();
	slot = enter(1);
	a = attach_to(slot);
	MUST(a);
	old = a->stream.header;
	number = a->number;
	CHECK("-", empty(slot, 1));
	procpage_free(page, slot);
	CHECK_EQ("-", enter(2), slot);
	a = attach_to(slot);
	MUST(a);
	CHECK_EQ("-", a->stream.header->serial, 2);
	CHECK("-", a->number != number && a->stream.header != old);
	CHECK("-", is_mapped(old));
	attach_update(self, page, me);
	CHECK("-", !is_mapped(old));
	CHECK("-", is_mapped(a->stream.header));
	CHECK("-", self->retired == NULL);
}

/*
 * The controller in another process has shut down. The next update unmaps the stream, and later events need no
 * update.
 */
TEST(let_go)
{
	const struct stream_header *old;
	int slot[2];

	begin();
	slot[0] = enter(1);
	slot[1] = enter(2);
	attach_update(self, page, me);
	CHECK_EQ("-", me->count, 2);
	old = me->writer[slot[0]].header;
	CHECK("-", page->sum.vacant & PAGE_LOOK);
	unlink_stream(1);
	CHECK("-", empty(slot[0], 1));
	procpage_free(page, slot[0]);
	CHECK("-", !(page->sum.vacant & PAGE_LOOK)); /* makes the process look at the page */
	CHECK("-", is_mapped(old));
	attach_update(self, page, me);
	CHECK("-", !is_mapped(old));
	CHECK("-", page->sum.vacant & PAGE_LOOK);
	CHECK_EQ("-", me->count, 1);
	unlink_stream(2);
	CHECK("-", empty(slot[1], 2));
	procpage_free(page, slot[1]);
	CHECK("-", page->sum.vacant != UINT32_MAX);
	attach_update(self, page, me);
	CHECK("-", page->sum.vacant == UINT32_MAX); /* from now on a trace point costs nothing */
	CHECK("-", self->attached[slot[1]] == NULL);
}

TEST(writers)
{
	int slot[3];
	struct chunk mark;

	begin();
	me->generation = 0;
	attach_update(self, page, me);
	CHECK_EQ("-", me->count, 0);
	CHECK_EQ("-", me->generation, page->sum.generation);
	for (uint32_t i = 0; i < 3; i++)
		slot[i] = enter(i + 1);
	CHECK("-", me->generation != page->sum.generation); /* makes the thread look at the page */
	attach_update(self, page, me);
	CHECK_EQ("-", me->count, 3);
	CHECK_EQ("-", me->generation, page->sum.generation);
	for (uint32_t i = 0; i < 3; i++) {
		const struct writer *writer = &me->writer[slot[i]];

		MUST(writer->header && writer->attached);
		CHECK_EQ("-", writer->header->serial, i + 1);
		CHECK_EQ("-", writer->data_size, 17 + i);
		CHECK_EQ("-", writer->clock_kind, writer->header->clock_kind);
		CHECK("-", writer->chunk == NULL && writer->seat == NULL);
		CHECK("-", me->order[i] == writer);
	}
	/* Writers of other slots stay as they are. The writer of an empty slot is empty. */
	me->writer[slot[2]].chunk = &mark;
	leave(slot[1]);
	attach_update(self, page, me);
	CHECK_EQ("-", me->count, 2);
	CHECK("-", me->writer[slot[1]].header == NULL && me->writer[slot[1]].attached == NULL);
	CHECK("-", me->writer[slot[2]].chunk == &mark);
	/* A new stream in the same slot gets a new writer. */
	me->writer[slot[0]].chunk = &mark;
	leave(slot[0]);
	CHECK_EQ("-", enter(9), slot[0]);
	attach_update(self, page, me);
	CHECK("-", me->writer[slot[0]].chunk == NULL);
	MUST(me->writer[slot[0]].header);
	CHECK_EQ("-", me->writer[slot[0]].header->serial, 9);
}

static bool filtered(trace_event_id_t id)
{
	return me->filters && (me->filter[id / 32] >> id % 32 & 1);
}

/*
 * A thread filters out by itself the types that all streams filter out, except where a stream is inherited: a change
 * of an inherited stream's filter is not announced to this process.
 */
TEST(filters)
{
	int slot[2];
	struct stream_header *h[2];

	begin();
	slot[0] = enter(1);
	attach_update(self, page, me);
	CHECK("FILT-2", !filtered(70) && !filtered(100));
	h[0] = me->writer[slot[0]].header;
	h[0]->filter[70 / 32] |= 1u << 70 % 32;
	h[0]->filter[100 / 32] |= 1u << 100 % 32;
	procpage_look_again(page);
	CHECK("-", me->generation != page->sum.generation);
	attach_update(self, page, me);
	CHECK("FILT-2", filtered(70) && filtered(100) && !filtered(71));
	/* The second stream wants type 100. */
	slot[1] = enter(2);
	attach_update(self, page, me);
	CHECK("FILT-4", !filtered(70) && !filtered(100));
	h[1] = me->writer[slot[1]].header;
	h[1]->filter[100 / 32] |= 1u << 100 % 32;
	procpage_look_again(page);
	attach_update(self, page, me);
	CHECK("FILT-4", !filtered(70) && filtered(100));
	leave(slot[1]);
	attach_update(self, page, me);
	CHECK("FILT-4", filtered(70) && filtered(100));
	leave(slot[0]);
	attach_update(self, page, me);
	/* Without streams, all types are filtered out. */
	CHECK("-", filtered(70) && filtered(71) && filtered(100));
	/*
	 * Where a stream is inherited, or its page is not to be looked at, the thread leaves filtering to the
	 * stream.
	 */
	slot[0] = enter(3);
	attach_update(self, page, me);
	me->writer[slot[0]].header->filter[70 / 32] |= 1u << 70 % 32;
	me->writer[slot[0]].attached->entry.inherit_from = 1;
	procpage_look_again(page);
	attach_update(self, page, me);
	CHECK("FILT-2", !filtered(70));
}

TEST(detach)
{
	const struct stream_header *header;
	struct attached *a;
	int slot;

	begin();
	slot = enter(1);
	a = attach_to(slot);
	MUST(a);
	header = a->stream.header;
	CHECK("-", is_mapped(header));
	leave(slot);
	CHECK("-", !is_mapped(header));
	CHECK("-", self->attached[slot] == NULL);
	leave(enter(2)); /* a stream that no thread has mapped */
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

/* H7: while a thread is inside a trace point the mapping stays, as the thread's next store would otherwise kill it. */
TEST(detach_from_one_inside)
{
	const struct stream_header *header;
	struct attached *a;
	pthread_t thread;
	int64_t before;
	int slot;

	begin();
	slot = enter(1);
	a = attach_to(slot);
	MUST(a);
	header = a->stream.header;
	MUST(pthread_create(&thread, NULL, stay_inside, NULL) == 0);
	while (!load_acquire(&inside))
		sched_yield();
	before = unit_now();
	leave(slot);
	CHECK("-", is_mapped(header));
	CHECK_OP("-", unit_now() - before, <, 5000000000ll * test_slow()); /* the wait has a limit */
	/* The slot can be used again. */
	CHECK_EQ("-", enter(2), slot);
	a = attach_to(slot);
	CHECK("-", a && a->stream.header->serial == 2 && a->stream.header != header);
}

/* If the process itself notices the shutdown, it does not wait for the thread inside. The next update tries again. */
TEST(let_go_while_one_is_inside)
{
	const struct stream_header *old;
	struct attached *a;
	pthread_t thread;
	int slot;

	begin();
	slot = enter(1);
	a = attach_to(slot);
	MUST(a);
	old = a->stream.header;
	MUST(pthread_create(&thread, NULL, stay_inside, NULL) == 0);
	while (!load_acquire(&inside))
		sched_yield();
	unlink_stream(1);
	CHECK("-", empty(slot, 1));
	procpage_free(page, slot);
	for (int i = 0; i < 3; i++) {
		attach_update(self, page, me);
		CHECK("-", is_mapped(old));
		CHECK("-", page->sum.vacant != UINT32_MAX);
	}
	store_release(&inside->ready, (uintptr_t)THREAD_READY);
	attach_update(self, page, me);
	CHECK("-", !is_mapped(old));
	CHECK("-", page->sum.vacant == UINT32_MAX);
}

TEST_MAIN(TEST_ENTRY(slot), TEST_ENTRY(cannot_be_mapped), TEST_ENTRY(not_now), TEST_ENTRY(creator_has_ended),
          TEST_ENTRY(creator_ends_later),
          TEST_ENTRY(slot_used_again), TEST_ENTRY(let_go), TEST_ENTRY(writers), TEST_ENTRY(filters), TEST_ENTRY(detach),
          TEST_ENTRY(detach_from_one_inside), TEST_ENTRY(let_go_while_one_is_inside))
