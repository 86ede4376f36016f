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

#include "base/atomic.h"
#include "base/file.h"
#include "base/sys.h"
#include "base/wait.h"
#include "model/eventtype.h"

#define SLAB_THREADS 64

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

	if (self)
		return self;
	self = sys_map(sizeof *self, -1, 1);
	if (!self)
		return NULL;
	if (sys_wipe_on_fork(self, sizeof *self) < 0) {
		/* Linux before 4.14. A child would write into its parent's streams: rather none at all. */
		self->failed = ENOSYS;
	}
	/* PAIR(area): another thread, or a handler, may have been faster. */
	if (!cas(&self_area, &none, self)) {
		sys_unmap(self, sizeof *self);
		return none;
	}
	return self;
}

static int attach(struct self *self)
{
	struct process *process = sys_map(sizeof *process, -1, 1), *none = NULL;
	int dir, r;

	if (!process)
		return ENOMEM;
	process->ident = ident_self();
	process->uid = sys_geteuid();
	process->locked = !barrier_register();
	dir = file_directory(true);
	r = dir;
	if (dir >= 0) {
		r = procpage_open(dir, process->ident, &process->page);
		sys_close(dir);
	}
	if (r < 0) {
		sys_unmap(process, sizeof *process);
		return -r;
	}
	/* PAIR(process): all of it before the pointer. Another thread may have been faster. */
	if (!cas(&self->process, &none, process)) {
		procpage_close(process->page);
		sys_unmap(process, sizeof *process);
		process = none;
	}
	store_relaxed(&self->failed, 0);
	/* The gate last: a trace point that comes through it finds everything. */
	store_release(&self->gate, (uint64_t)((uintptr_t)&process->page->vacant - (uintptr_t)self));
	store_release(&__posix_trace_gate, (const struct __posix_trace_gate *)self); /* PAIR(gate) */
	return 0;
}

struct self *self_get(bool retry, int *error)
{
	struct self *self = area();
	int err;

	if (!self) {
		*error = ENOMEM;
		return NULL;
	}
	if (load_acquire(&self->process)) /* PAIR(process) */
		return self;
	err = (int)load_relaxed(&self->failed);
	if (!err || (retry && err != ENOSYS)) {
		err = attach(self);
		if (!err)
			return self;
	}
	/* From now on a trace point finds that nobody traces. */
	store_relaxed(&self->failed, (uint32_t)err);
	store_relaxed(&self->quiet, ~UINT64_C(0));
	store_release(&self->gate, (uint64_t)offsetof(struct self, quiet));
	store_release(&__posix_trace_gate, (const struct __posix_trace_gate *)self); /* PAIR(gate) */
	*error = err;
	return NULL;
}

static struct thread *start_block(struct self *self, struct thread *t)
{
	/* PAIR(inside): what a thread that had the block before, and is dead, has written. */
	(void)load_acquire(&t->ready);
	(void)load_acquire(&t->depth);
	/* Of a dead thread with the same id, or interrupted here by our own handler: in both cases nobody else uses it. */
	memset(t->lane, 0, sizeof t->lane);
	t->pid = self_process(self)->ident.pid;
	t->pthread = (uint64_t)(uintptr_t)pthread_self();
	t->name_age = 0;
	t->page_change = &self_process(self)->page->change;
	t->only = NULL;
	/* Last: a handler that came in between has made lanes, which we have wiped. */
	fence_signal();
	store_relaxed(&t->depth, 0);
	store_relaxed(&t->count, 0);
	store_relaxed(&t->change, 0);
	fence_signal();
	store_relaxed(&t->ready, (uintptr_t)(self_process(self)->locked ? 0 : THREAD_READY));
	fence_signal();
	thread_self = t;
	return t;
}

struct thread *self_thread(struct self *self)
{
	uint32_t tid = (uint32_t)sys_gettid();
	struct thread_slab *slab, *first;

	for (int sweep = 0; sweep < 2; sweep++) {
		/* PAIR(slab): a slab before the pointer to it. */
		first = load_acquire(&self->slabs);
		for (slab = first; slab; slab = slab->next) {
			for (int i = 0; i < SLAB_THREADS; i++) {
				struct thread *t = &slab->thread[i];
				uint32_t owner = load_relaxed(&t->tid);

				if (owner && owner != tid && sweep && sys_thread_probe((int)self_process(self)->ident.pid, (int)owner) == -ESRCH)
					cas(&t->tid, &owner, 0);
				owner = load_relaxed(&t->tid);
				if (owner == tid || (owner == 0 && cas(&t->tid, &owner, tid)))
					return start_block(self, t);
			}
		}
	}
	slab = sys_map(sizeof *slab, -1, 1);
	if (!slab)
		return NULL;
	if (sys_wipe_on_fork(slab, sizeof *slab) < 0) {
		sys_unmap(slab, sizeof *slab);
		return NULL;
	}
	slab->thread[0].tid = tid;
	first = load_relaxed(&self->slabs);
	do
		slab->next = first;
	while (!cas(&self->slabs, &first, slab)); /* PAIR(slab) */
	return start_block(self, &slab->thread[0]);
}

bool self_wait_outside(struct self *self, int steps)
{
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

/* Not in memory that is wiped: the child needs to know what to replace. */
static struct mapping {
	void *at; /* null: free */
	size_t size;
} mapping[2 * PAGE_SLOTS];

void self_mapped(void *at, size_t size)
{
	for (unsigned i = 0; i < 2 * PAGE_SLOTS; i++) {
		void *none = NULL;

		if (!load_relaxed(&mapping[i].at) && cas(&mapping[i].at, &none, at)) {
			store_relaxed(&mapping[i].size, size);
			return;
		}
	}
}

void self_unmapped(void *at)
{
	for (unsigned i = 0; i < 2 * PAGE_SLOTS; i++)
		if (load_relaxed(&mapping[i].at) == at)
			store_relaxed(&mapping[i].at, NULL);
}

static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;

static void replace_in_child(void)
{
	/* Another thread of the parent may have held it. */
	pthread_mutex_init(&registry_lock, NULL);
	for (unsigned i = 0; i < 2 * PAGE_SLOTS; i++) {
		if (!mapping[i].at)
			continue;
		sys_map_over(mapping[i].at, mapping[i].size);
		mapping[i].at = NULL;
	}
}

/* Not in memory that is wiped: ids in the child's variables mean what they did in the parent. */
static struct registry registry;
static uint32_t registry_pid; /* whose it is; in a child still the parent's */

/* A child defines names for itself; those that it was born with keep their ids. */
static void copy_names(struct registry *to, const struct registry *from)
{
	uint32_t count = registry_count(from);

	for (uint32_t i = 0; i < count; i++)
		registry_id(to, registry_name(from, EVENT_ID_USER + i));
}

struct registry *self_registry(void)
{
	uint32_t pid = (uint32_t)sys_getpid();
	int r = 0;

	if (load_acquire(&registry_pid) == pid) /* PAIR(registry) */
		return &registry;
	pthread_mutex_lock(&registry_lock);
	if (registry_pid != pid) {
		struct registry fresh;

		/*
		 * Here, because this comes before every event with a name, is
		 * never called in a handler, and may allocate.
		 */
		if (!registry_pid)
			pthread_atfork(NULL, NULL, replace_in_child);
		r = registry_open(ident_self(), &fresh);
		if (r == 0) {
			/* The parent's stays mapped: another thread of ours may be looking at it. */
			if (registry.header)
				copy_names(&fresh, &registry);
			registry = fresh;
			store_release(&registry_pid, pid); /* PAIR(registry) */
		}
	}
	pthread_mutex_unlock(&registry_lock);
	return r == 0 ? &registry : NULL;
}

const char *self_registry_file(void)
{
	return load_acquire(&registry_pid) == (uint32_t)sys_getpid() ? registry.file : ""; /* PAIR(registry) */
}

trace_event_id_t self_event_id(const char *name)
{
	struct registry *r = self_registry();
	trace_event_id_t id = r ? registry_id(r, name) : POSIX_TRACE_UNNAMED_USEREVENT;
	uint32_t known = load_relaxed(&self_names), names = id - POSIX_TRACE_UNNAMED_USEREVENT;

	while (known < names && !cas(&self_names, &known, names))
		;
	return id;
}
