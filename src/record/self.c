/*
 * self.c - this process and this thread, as they record
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/self.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/atomic.h"
#include "base/file.h"
#include "base/sys.h"
#include "base/wait.h"
#include "base/testpoint.h"
#include "model/eventtype.h"
#include "shm/family.h"

#define SLAB_THREADS 16

/* After a failure that may pass so many trace points do not try again; then twice as many, and so on. */
#define FIRST_SKIP 256u
#define MORE_SKIPS 12

struct thread_slab {
	struct thread_slab *next;
	_Alignas(LINE) struct thread thread[SLAB_THREADS];
};

_Static_assert(offsetof(struct self, gate) == 0, "the gate of <trace.h>");
_Static_assert(sizeof(struct __posix_trace_gate) == sizeof(uint64_t), "the gate of <trace.h>");

/* Before the first use: a gate that says "look". */
static const struct __posix_trace_gate closed_gate;
const struct __posix_trace_gate *__posix_trace_gate = &closed_gate;

__thread struct thread *thread_self;
uint32_t self_names;

/* Null before the first use in the process, or in one that it was forked from. */
static struct self *self_area;

struct self *self_peek(void)
{
	struct self *self = load_acquire(&self_area); /* PAIR(area) */

	return self && load_acquire(&self->process) ? self : NULL; /* PAIR(process) */
}

static struct self *area(void)
{
	struct self *self = load_acquire(&self_area), *none = NULL; /* PAIR(area) */
	int r;

	if (self)
		return self;
	self = sys_map(sizeof *self, -1, 1);
	if (!self)
		return NULL;
	r = sys_wipe_on_fork(self, sizeof *self);
	if (r == -EINVAL || (r == 0 && !sys_wipes_on_fork())) {
		/* Linux before 4.14, or an emulator that only says yes. A child would write into its parent's streams: rather none at all. */
		self->failed = ENOSYS;
	} else if (r < 0) {
		sys_unmap(self, sizeof *self);
		return NULL;
	}
	/* PAIR(area): another thread, or a handler, may have been faster. */
	if (!cas(&self_area, &none, self)) {
		sys_unmap(self, sizeof *self);
		return none;
	}
	return self;
}

/* Those in use, and as many that are being let go. */
#define MAPPINGS (2 * PAGE_SLOTS)

/* Not in memory that is wiped: the child needs to know what to replace. */
static struct mapping {
	uint32_t pid; /* whose it is; 0: free */
	void *at;
	size_t size;
} mapping[MAPPINGS];

void self_mapped(uint32_t pid, void *at, size_t size)
{
	for (unsigned i = 0; i < MAPPINGS; i++) {
		uint32_t nobody = 0;

		if (!load_relaxed(&mapping[i].pid) && cas(&mapping[i].pid, &nobody, pid)) {
			store_relaxed(&mapping[i].size, size);
			store_release(&mapping[i].at, at); /* PAIR(mapping) */
			return;
		}
	}
}

void self_unmapped(void *at)
{
	for (unsigned i = 0; i < MAPPINGS; i++) {
		if (load_relaxed(&mapping[i].at) == at) {
			store_relaxed(&mapping[i].at, NULL);
			store_relaxed(&mapping[i].pid, 0);
		}
	}
}

/* What it was forked with: by fork() at once, by other ways before it maps anything itself. Several threads may come to that. */
static void replace_in_child(uint32_t pid)
{
	for (unsigned i = 0; i < MAPPINGS; i++) {
		uint32_t owner = load_relaxed(&mapping[i].pid);
		void *at;

		if (!owner || owner == pid)
			continue;
		at = load_acquire(&mapping[i].at); /* PAIR(mapping) */
		if (at && cas(&mapping[i].at, &at, NULL))
			sys_map_over(at, mapping[i].size);
		cas(&mapping[i].pid, &owner, 0);
	}
}

/*
 * The registry of a process. Not in memory that is wiped: ids in the child's
 * variables mean what they did in the parent. Never changed once it is published.
 */
struct process_names {
	struct registry registry;
	uint32_t pid; /* whose it is; in a child still the parent's */
};

static pthread_mutex_t names_lock = PTHREAD_MUTEX_INITIALIZER;
static struct process_names *names_now;

/*
 * A child that is no family defines names for itself; those that it was born
 * with keep their ids. At once, because a controller may ask for more.
 */
static void copy_names(int dir, struct process *process)
{
	const struct process_names *names = load_acquire(&names_now); /* PAIR(registry) */
	struct ident id = procpage_names(process->page);
	struct registry copy;

	if (!names || ident_same(names->registry.id, id))
		return;
	if (registry_open(dir, &process->place, id, &names->registry, &copy) < 0)
		return;
	process->names_hold = copy.hold;
	TEST_POINT("names_copied");
	copy.hold.at = NULL;
	registry_close(&copy);
}

/*
 * Not in memory that is wiped: in a child the page of the process that it was
 * forked from, or that one's, if that one has never attached.
 */
static struct procpage *page_above;

/* After an exec what there is of names was defined by the image before, and does not count for this one (INH-12). */
static void new_image(int dir, const struct process *process)
{
	struct procpage *page = process->page;
	uint64_t before = exchange(&page->image, ident_image());

	if (before && before != ident_image())
		store_relaxed(&page->names_before, registry_look(dir, &process->place, procpage_names(page)));
}

static int open_page(struct process *process)
{
	struct family family = { .place = &process->place, .ident = process->ident };
	struct procpage *above = load_acquire(&page_above); /* PAIR(above) */
	int r;

	family.dir = file_directory(&process->place, true);
	if (family.dir < 0)
		return family.dir;
	family.known = above && !procpage_is(above, process->ident) ? above : NULL;
	r = procpage_open(family.dir, &process->place, process->ident, family_inherit, &family, &process->page,
	                  &process->page_hold);
	if (r == 0) {
		new_image(family.dir, process);
		copy_names(family.dir, process);
	}
	sys_close(family.dir);
	return r;
}

/*
 * Who has more rights than the user that it is just now, or may take them at
 * any time, does not write into memory of that user (H20): for a while root has
 * become another, or a program runs with the rights of its file.
 */
static bool has_more_rights(void)
{
	unsigned effective = sys_geteuid(), real, saved;

	sys_other_uids(&real, &saved);
	return effective != 0 && (real != effective || saved != effective || getauxval(AT_SECURE));
}

static int attach(struct self *self)
{
	struct process *process, *none = NULL;
	int r;

	if (has_more_rights())
		return EPERM;
	process = sys_map(sizeof *process, -1, 1);
	if (!process)
		return ENOMEM;
	r = ident_self(&process->ident);
	if (r < 0) {
		sys_unmap(process, sizeof *process);
		return -r;
	}
	replace_in_child(process->ident.pid);
	process->place = place_own();
	TEST_POINT("attach_ident");
	process->locked = !barrier_register();
	r = open_page(process);
	if (r < 0) {
		sys_unmap(process, sizeof *process);
		return -r;
	}
	TEST_POINT("attach_page");
	/* PAIR(process): all of it before the pointer. Another thread may have been faster. */
	if (!cas(&self->process, &none, process)) {
		procpage_close(process->page);
		lock_release(&process->page_hold);
		lock_release(&process->names_hold);
		sys_unmap(process, sizeof *process);
		process = none;
	}
	TEST_POINT("attach_process");
	store_release(&page_above, process->page); /* PAIR(above) */
	store_relaxed(&self->failed, 0);
	/* The gate last: a trace point that comes through it finds everything. */
	store_release(&self->gate, (uint64_t)((uintptr_t)&process->page->sum.vacant - (uintptr_t)self));
	TEST_POINT("attach_gate");
	store_release(&__posix_trace_gate, (const struct __posix_trace_gate *)self); /* PAIR(gate) */
	TEST_POINT("attach_done");
	return 0;
}

/* Of what there was none, there may be some later; a user may be another one again. */
static bool passing(int error)
{
	return error == EMFILE || error == ENFILE || error == ENOMEM || error == EAGAIN || error == EPERM;
}

bool self_waits(void)
{
	struct self *self = load_acquire(&self_area); /* PAIR(area) */
	uint32_t skip = self && !load_relaxed(&self->process) ? load_relaxed(&self->skip) : 0;

	if (skip)
		store_relaxed(&self->skip, skip - 1); /* that others count too does no harm */
	return skip != 0;
}

struct self *self_get(bool retry, int *error)
{
	struct self *self = area();
	uint32_t failures;
	int err;

	if (!self) {
		*error = ENOMEM;
		return NULL;
	}
	if (load_acquire(&self->process)) /* PAIR(process) */
		return self;
	err = (int)load_relaxed(&self->failed);
	if (!err || passing(err) || (retry && err != ENOSYS)) {
		err = attach(self);
		if (!err)
			return self;
	}
	*error = err;
	store_relaxed(&self->failed, (uint32_t)err);
	if (passing(err)) {
		failures = load_relaxed(&self->failures);
		store_relaxed(&self->skip, FIRST_SKIP << failures);
		store_relaxed(&self->failures, failures < MORE_SKIPS ? failures + 1 : failures);
		return NULL;
	}
	/* From now on a trace point finds that nobody traces. */
	store_relaxed(&self->quiet, ~UINT32_C(0));
	store_release(&self->gate, (uint64_t)offsetof(struct self, quiet));
	store_release(&__posix_trace_gate, (const struct __posix_trace_gate *)self); /* PAIR(gate) */
	return NULL;
}

static struct thread *start_block(struct self *self, struct thread *t)
{
	/* PAIR(inside): what a thread that had the block before, and is dead, has written. */
	(void)load_acquire(&t->ready);
	(void)load_acquire(&t->depth);
	/* Of a dead thread with the same id, or interrupted here by our own handler: in both cases nobody else uses it. */
	for (int i = 0; i < PAGE_SLOTS; i++)
		if (t->lane[i].attached)
			memset(&t->lane[i], 0, sizeof t->lane[i]);
	t->pid = self_process(self)->ident.pid;
	TEST_POINT("thread_block");
	t->pthread = (uint64_t)(uintptr_t)pthread_self();
	t->name_age = 0;
	t->page_change = &self_process(self)->page->sum.change;
	t->only = NULL;
	t->filters = 0;
	/* Last: a handler that came in between has made lanes, which we have wiped. */
	fence_signal();
	store_relaxed(&t->depth, 0);
	store_relaxed(&t->count, 0);
	t->tries = t->wait = 0;
	store_relaxed(&t->change, 0);
	fence_signal();
	store_relaxed(&t->ready, (uintptr_t)(self_process(self)->locked ? 0 : THREAD_READY));
	fence_signal();
	thread_self = t;
	TEST_POINT("thread_done");
	return t;
}

/* Blocks whose threads have died are free. */
static void bury_blocks(struct self *self, struct thread_slab *from, uint32_t tid)
{
	for (struct thread_slab *slab = from; slab; slab = slab->next) {
		for (int i = 0; i < SLAB_THREADS; i++) {
			uint32_t *owner = &slab->thread[i].tid, who = load_relaxed(owner);

			if (who && who != tid && sys_thread_probe((int)self_process(self)->ident.pid, (int)who) == -ESRCH)
				cas(owner, &who, 0);
		}
	}
}

/* A block that is free, or has this id, in the slabs up to another one. */
static struct thread *take_block(struct self *self, struct thread_slab *from, const struct thread_slab *until, uint32_t tid)
{
	for (struct thread_slab *slab = from; slab != until; slab = slab->next) {
		for (int i = 0; i < SLAB_THREADS; i++) {
			struct thread *t = &slab->thread[i];
			uint32_t owner = load_relaxed(&t->tid);

			if (owner == tid || (owner == 0 && cas(&t->tid, &owner, tid))) {
				fetch_add(&self->births, 1);
				return t;
			}
		}
	}
	return NULL;
}

struct thread *self_thread(struct self *self)
{
	uint32_t tid = (uint32_t)sys_gettid();
	struct thread_slab *slab, *seen, *first = load_acquire(&self->slabs); /* PAIR(slab): a slab before the pointer to it */
	struct thread *t = take_block(self, first, NULL, tid);

	/*
	 * Whose thread has died is asked when half as many blocks have been taken since as there are: so nobody asks for more than
	 * two of them, on the average, however many threads there are; and there are some twice as many blocks as threads. Only
	 * then it begins anew: who comes meanwhile asks as well, and takes no more memory.
	 */
	if (!t && load_relaxed(&self->births) >= load_relaxed(&self->blocks) / 2) {
		bury_blocks(self, first, tid);
		store_relaxed(&self->births, 0);
		t = take_block(self, first, NULL, tid);
	}
	if (t)
		return start_block(self, t);
	slab = sys_map(sizeof *slab, -1, 1);
	if (!slab)
		return NULL;
	if (sys_wipe_on_fork(slab, sizeof *slab) < 0) {
		sys_unmap(slab, sizeof *slab);
		return NULL;
	}
	slab->thread[0].tid = tid;
	do {
		/* Threads that begin at once need not have a slab each. */
		seen = first;
		first = load_acquire(&self->slabs); /* PAIR(slab) */
		t = take_block(self, first, seen, tid);
		if (t) {
			sys_unmap(slab, sizeof *slab);
			return start_block(self, t);
		}
		slab->next = first;
	} while (!cas(&self->slabs, &first, slab)); /* PAIR(slab) */
	fetch_add(&self->blocks, SLAB_THREADS);
	fetch_add(&self->births, 1);
	return start_block(self, &slab->thread[0]);
}

/* A trace point takes some 20 ns: most are over before one has to sleep. */
#define OUTSIDE_LOOKS 200

bool self_wait_outside(struct self *self, int steps)
{
	int looks = OUTSIDE_LOOKS;

	if (!barrier_everywhere() && !self_process(self)->locked)
		return false;
	for (struct thread_slab *slab = load_acquire(&self->slabs); slab; slab = slab->next) { /* PAIR(slab) */
		for (int i = 0; i < SLAB_THREADS; i++) {
			struct thread *t = &slab->thread[i];

			/* Seen outside once is enough: each thread for itself, not all at the same moment. */
			for (;;) {
				uint32_t tid = load_relaxed(&t->tid);

				if (!tid || t == thread_self)
					break;
				/* PAIR(inside): all that a thread did inside is done. */
				if (load_acquire(&t->ready) <= THREAD_READY && load_acquire(&t->depth) == 0)
					break;
				if (looks > 0) {
					looks--;
					spin_pause();
					continue;
				}
				if (sys_thread_probe((int)self_process(self)->ident.pid, (int)tid) == -ESRCH)
					break;
				if (steps-- <= 0)
					return false;
				sys_sleep_ns(50000);
			}
		}
	}
	return true;
}

static void child_of_fork(void)
{
	/* Another thread of the parent may have held it. */
	pthread_mutex_init(&names_lock, NULL);
	replace_in_child((uint32_t)sys_getpid());
}

static int open_names(struct process_names *names, const struct process_names *before)
{
	int error = 0, dir, r;
	struct self *self = self_get(false, &error);
	const struct process *process = self ? self_process(self) : NULL;
	const struct registry *seed = before ? &before->registry : NULL;
	struct ident id;

	if (!process)
		return registry_open_private(seed, &names->registry);
	id = procpage_names(process->page);
	dir = file_directory(&process->place, true);
	if (dir < 0)
		return dir;
	if (seed && ident_same(seed->id, id)) {
		/* Born into a family: its names go on being those of all. Where the file is gone, all are gone but those that have it mapped. */
		names->registry = *seed;
		registry_hold(dir, &names->registry);
		r = 0;
	} else {
		r = registry_open(dir, &process->place, id, seed, &names->registry);
	}
	sys_close(dir);
	return r;
}

struct registry *self_registry(void)
{
	uint32_t pid = (uint32_t)sys_getpid();
	struct process_names *names = load_acquire(&names_now), *fresh; /* PAIR(registry) */

	if (names && names->pid == pid)
		return &names->registry;
	pthread_mutex_lock(&names_lock);
	names = names_now;
	if (!names || names->pid != pid) {
		/*
		 * Here, because this comes before every event with a name, is
		 * never called in a handler, and may allocate.
		 */
		if (!names)
			pthread_atfork(NULL, NULL, child_of_fork);
		/* The parent's stays mapped: another thread of ours may be looking at it. */
		fresh = sys_map(sizeof *fresh, -1, 1);
		if (fresh && open_names(fresh, names) < 0) {
			sys_unmap(fresh, sizeof *fresh);
			fresh = NULL;
		}
		if (fresh) {
			fresh->pid = pid;
			TEST_POINT("names_opened");
			store_release(&names_now, fresh); /* PAIR(registry) */
		}
		names = fresh;
	}
	pthread_mutex_unlock(&names_lock);
	return names ? &names->registry : NULL;
}

void self_leave(struct self *self)
{
	struct process *process = load_acquire(&self->process); /* PAIR(process) */
	struct process_names *names = load_acquire(&names_now); /* PAIR(registry) */
	char page[FILE_NAME_SIZE], file[FILE_NAME_SIZE];
	int dir = file_directory(&process->place, false);

	if (dir < 0)
		return;
	file_name_once(page, "page", process->ident);
	file_name_once(file, "names", procpage_names(process->page));
	TEST_POINT("leave_page");
	lock_release(&process->page_hold);
	lock_release(&process->names_hold);
	if (names && names->pid == process->ident.pid)
		lock_release(&names->registry.hold);
	TEST_POINT("leave_unlocked");
	procpage_remove_unused(dir, &process->place, page);
	TEST_POINT("leave_removed");
	registry_remove_unused(dir, &process->place, file);
	sys_close(dir);
}

trace_event_id_t self_event_id(const char *name)
{
	struct registry *r = self_registry();
	struct self *self = self_peek();
	uint32_t limit = self ? procpage_names_limit(self_process(self)->page) : TRACE_USER_EVENT_MAX - 1;
	trace_event_id_t id = r ? registry_id(r, name, limit) : POSIX_TRACE_UNNAMED_USEREVENT;
	uint32_t known = load_relaxed(&self_names), names = id - POSIX_TRACE_UNNAMED_USEREVENT;

	while (known < names && !cas(&self_names, &known, names))
		;
	return id;
}
