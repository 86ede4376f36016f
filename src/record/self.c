/*
 * self.c - this process and this thread, as recorders
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
#include "base/sys.h"
#include "base/testpoint.h"
#include "base/wait.h"
#include "host/file.h"
#include "host/thread_ref.h"
#include "model/eventtype.h"
#include "shm/family.h"

#define SLAB_THREADS 16

/* How many trace points do not try again after a failure that may go away; doubled after each further failure. */
#define FIRST_SKIP 256u
#define MORE_SKIPS 12

struct thread_slab {
	struct thread_slab *next;
	_Alignas(LINE) struct thread thread[SLAB_THREADS];
};

_Static_assert(offsetof(struct self, gate) == 0, "the gate of <trace.h>");
_Static_assert(sizeof(struct __posix_trace_gate) == sizeof(uint64_t), "the gate of <trace.h>");

/* The gate before the first use: its word says "look". */
static const struct __posix_trace_gate closed_gate;
const struct __posix_trace_gate *__posix_trace_gate = &closed_gate;

__thread struct thread *thread_self;
uint32_t self_names;

/* Null before the first use in this process and its ancestors. */
static struct self *self_area;

struct self *self_peek(void)
{
	struct self *self = load_acquire(&self_area); /* PAIR(area) */

	return self && load_acquire(&self->process) ? self : NULL; /* PAIR(process) */
}

#ifndef __SANITIZE_THREAD__
extern void __tsan_release(void *) __attribute__((weak));
#endif

/*
 * Sets the gate last: a trace point that comes through it finds everything. A program under ThreadSanitizer, which does
 * not see the stores of a library that was built without it, has to be told of them.
 */
static void open_gate(struct self *self, uint64_t distance)
{
#ifndef __SANITIZE_THREAD__
	if (__tsan_release) {
		__tsan_release(&self->gate);
		__tsan_release(&__posix_trace_gate);
	}
#endif
	store_release(&self->gate, distance);
	TEST_POINT("attach_gate");
	store_release(&__posix_trace_gate, (const struct __posix_trace_gate *)self); /* PAIR(gate) */
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
		/*
		 * Linux before 4.14, or an emulator that accepts the advice and ignores it. A child would write into
		 * its parent's streams, so nothing is recorded.
		 */
		self->failed = ENOSYS;
	} else if (r < 0) {
		sys_unmap(self, sizeof *self);
		return NULL;
	}
	/* PAIR(area): another thread, or a handler, may have been first. */
	if (!cas(&self_area, &none, self)) {
		sys_unmap(self, sizeof *self);
		return none;
	}
	return self;
}

/* The mappings in use, and as many that are being let go. */
#define MAPPINGS (2 * PAGE_SLOTS)

/* Not in memory that is wiped: the child must know what to replace. */
static struct mapping {
	uint32_t pid; /* the process with the mapping; 0: free */
	uint32_t kept; /* KEPT: the process was forked with it, and has not used it yet */
	void *at;
	size_t size;
	const struct attached *for_children; /* null: children do not keep it */
} mapping[MAPPINGS];

enum { NOT_KEPT, KEPT, TAKEN };

static uint32_t mappings; /* index after the last entry ever used */

void self_mapped(uint32_t pid, void *at, size_t size)
{
	for (unsigned i = 0; i < MAPPINGS; i++) {
		uint32_t nobody = 0;

		if (!load_relaxed(&mapping[i].pid) && cas(&mapping[i].pid, &nobody, pid)) {
			uint32_t used = load_relaxed(&mappings);

			while (used <= i && !cas(&mappings, &used, i + 1))
				;
			store_relaxed(&mapping[i].size, size);
			store_release(&mapping[i].at, at); /* PAIR(mapping) */
			return;
		}
	}
}

static void free_mapping(struct mapping *m)
{
	store_relaxed(&m->for_children, NULL);
	store_relaxed(&m->kept, NOT_KEPT);
	store_relaxed(&m->at, NULL);
	store_release(&m->pid, 0); /* PAIR(mapping) */
}

void self_unmapped(void *at)
{
	for (unsigned i = 0; i < load_relaxed(&mappings); i++)
		if (load_relaxed(&mapping[i].at) == at)
			free_mapping(&mapping[i]);
}

void self_mapped_for_children(void *at, const struct attached *a)
{
	for (unsigned i = 0; i < load_relaxed(&mappings); i++)
		if (load_relaxed(&mapping[i].at) == at)
			store_release(&mapping[i].for_children, a); /* PAIR(mapping) */
}

/*
 * Replaces the mappings that the process was forked with by private memory: in fork() at once, after other ways of
 * forking before the process maps anything itself. Several threads may do this at the same time. A stream that is kept
 * moves to another address, because the child may be in the middle of a record of its parent, which must not be written
 * there.
 */
static void replace_in_child(uint32_t pid)
{
	for (unsigned i = 0; i < load_relaxed(&mappings); i++) {
		struct mapping *m = &mapping[i];
		uint32_t owner = load_acquire(&m->pid); /* PAIR(mapping) */
		void *at, *again;

		if (!owner || owner == pid || !cas(&m->pid, &owner, pid))
			continue;
		at = exchange(&m->at, NULL);
		again = at && load_relaxed(&m->for_children) ? sys_map_again(at, m->size) : NULL;
		if (at)
			sys_map_over(at, m->size);
		if (!again) {
			free_mapping(m);
			continue;
		}
		store_release(&m->at, again);
		store_release(&m->kept, KEPT); /* PAIR(mapping) */
	}
}

int self_take_kept(const struct process *process, const struct page_entry *entry, struct attached *a)
{
	for (unsigned i = 0; i < load_relaxed(&mappings); i++) {
		struct mapping *m = &mapping[i];
		const struct attached *of = load_relaxed(&m->pid) == process->ident.pid
		                           ? load_acquire(&m->for_children) /* PAIR(mapping) */
		                           : NULL;
		uint32_t kept = KEPT;

		if (!of || !page_entry_same(&of->entry, entry))
			continue;
		if (!cas(&m->kept, &kept, TAKEN)) /* PAIR(mapping) */
			return -EBUSY;
		stream_again(&of->stream, m->at, process->ident.pidns, &a->stream);
		a->user = of->user;
		return 0;
	}
	return -ENOENT;
}

/* Unmaps the streams that the process was forked with and that its page does not name. */
static void drop_kept(const struct process *process)
{
	for (unsigned i = 0; i < load_relaxed(&mappings); i++) {
		struct mapping *m = &mapping[i];
		const struct attached *a = load_relaxed(&m->pid) == process->ident.pid
		                           ? load_acquire(&m->for_children) /* PAIR(mapping) */
		                           : NULL;
		uint32_t kept = KEPT;

		if (!a || load_acquire(&m->kept) != KEPT || procpage_find(process->page, &a->entry) >= 0 ||
		    !cas(&m->kept, &kept, TAKEN)) /* PAIR(mapping) */
			continue;
		sys_unmap(m->at, m->size);
		free_mapping(m);
	}
}

/*
 * The registry of a process. Not in memory that is wiped, because ids in the child's variables mean the same as in the
 * parent. After publication only move_names() and publish_names() change it. A forked child can only read it
 * (registry_protect()), because it may become another user. So signals are blocked while the process writes there: a
 * handler might fork, and the child would go on writing.
 */
struct process_names {
	struct registry registry;
	uint32_t pid; /* the process that opened it; in a child still the parent */
};

static pthread_mutex_t names_lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t names_locker; /* the process whose threads lock names_lock; NAMES_BUSY: it is being made new */
static struct process_names *names_now;

#define NAMES_BUSY UINT32_MAX

/*
 * Makes names_lock new in a child, where a thread of the parent may have held it. After _Fork() or clone() no handler
 * has run there. Called with signals blocked, before names_lock is locked.
 */
static void names_unlock_in_child(void)
{
	uint32_t pid = (uint32_t)sys_getpid(), locker = load_acquire(&names_locker); /* PAIR(names_locker) */

	while (locker != pid) {
		if (locker != NAMES_BUSY && cas(&names_locker, &locker, NAMES_BUSY)) {
			if (locker)
				pthread_mutex_init(&names_lock, NULL);
			store_release(&names_locker, pid); /* PAIR(names_locker) */
			return;
		}
		sys_yield();
		locker = load_acquire(&names_locker); /* PAIR(names_locker) */
	}
}

/* Returns whether this is the registry with this name, in the directory of the user that the process is now. */
static bool same_names(const struct registry *r, const struct process *process, struct ident id)
{
	return ident_same(r->id, id) && r->shm_dir.owner == process->shm_dir.owner;
}

/* The page of a registry that has the notes of processes whose names have moved. */
#define NOTES_PAGE   4096u
#define NOTES_OFFSET (offsetof(struct registry_header, moved) & ~(size_t)(NOTES_PAGE - 1))

_Static_assert(offsetof(struct registry_header, moved) + sizeof(struct names_moved[MOVED_MAX]) <=
               NOTES_OFFSET + NOTES_PAGE, "one page");

/*
 * Maps one page of the family's registry, for the note that move_names() leaves there. Without it the note is not made.
 * The process may become another user and notice it late, so it does not map all of the names for writing.
 */
static void map_family_notes(int dir, struct process *process, const struct registry *family)
{
	struct file_mapped mapped;
	char *map;

	if (file_map(dir, &process->shm_dir, family->file, REGISTRY_NAMES_OFFSET, REGISTRY_NAMES_OFFSET, &mapped,
	             NULL) < 0)
		return;
	if (mapped.inode != family->inode || sys_not_on_fork(mapped.map, REGISTRY_NAMES_OFFSET) < 0) {
		file_unmap(mapped.map, REGISTRY_NAMES_OFFSET);
		return;
	}
	map = mapped.map;
	sys_unmap(map, NOTES_OFFSET);
	sys_unmap(map + NOTES_OFFSET + NOTES_PAGE, REGISTRY_NAMES_OFFSET - NOTES_OFFSET - NOTES_PAGE);
	process->family_moved = ((struct registry_header *)(void *)map)->moved;
}

static void unmap_family_notes(struct process *process)
{
	char *notes = (char *)process->family_moved;

	if (notes)
		sys_unmap(notes - offsetof(struct registry_header, moved) + NOTES_OFFSET, NOTES_PAGE);
	process->family_moved = NULL;
}

/*
 * Makes a registry for a child that belongs to no family: it defines names for itself, and the names that it was born
 * with keep their ids. Done at once, because a controller may open further names.
 */
static void copy_names(int dir, struct process *process)
{
	const struct process_names *names = load_acquire(&names_now); /* PAIR(registry) */
	struct ident id = procpage_names(process->page);
	struct registry copy, born;

	if (!names)
		return;
	if (same_names(&names->registry, process, id)) {
		if (names->pid != process->ident.pid)
			map_family_notes(dir, process, &names->registry);
		return;
	}
	born = registry_in_child(&names->registry);
	if (registry_open(dir, &process->shm_dir, id, &born, &copy) < 0)
		return;
	process->names_hold = copy.hold;
	TEST_POINT("names_copied");
	/*
	 * A controller that could not find the names that this process was born with has made a registry without them.
	 */
	registry_append(&copy, &born);
	copy.hold.at = NULL;
	registry_close(&copy);
}

/*
 * The page of this process, once attached. Until then, in a child, the page of the nearest ancestor that had attached.
 * Not in memory that is wiped.
 */
static const struct procpage *page_above;
static uint32_t page_above_owner; /* the user in whose directory the page is */

static void close_page(struct process *process)
{
	if (process->page_seen)
		sys_unmap((void *)(uintptr_t)process->page_seen, PAGE_SIZE_BYTES);
	process->page_seen = NULL;
	unmap_family_notes(process);
	procpage_close(process->page);
	lock_release(&process->page_hold);
}

/*
 * Notes after an exec how many names there are already: the image before has defined them, and they do not count for
 * this one (INH-12).
 */
static void new_image(int dir, const struct process *process)
{
	struct procpage *page = process->page;
	uint64_t before = exchange(&page->image, ident_image());

	if (before && before != ident_image())
		store_relaxed(&page->names_before, registry_look(dir, &process->shm_dir, procpage_names(page)));
}

/* Maps the page a second time, for reading. Children keep this mapping and lose the first one. */
static int see_page(int dir, struct process *process)
{
	int r = procpage_see(dir, &process->shm_dir, process->page, &process->page_seen);

	if (r == 0)
		r = sys_not_on_fork(process->page, PAGE_SIZE_BYTES);
	if (r < 0)
		close_page(process);
	return r;
}

static int open_page(struct process *process)
{
	struct family family = { .shm_dir = &process->shm_dir, .ident = process->ident };
	const struct procpage *above = load_acquire(&page_above); /* PAIR(above) */
	int r;

	family.dir = file_directory(&process->shm_dir, true);
	if (family.dir < 0)
		return family.dir;
	/* Another user's page names files of that user, which are not inherited (H20). */
	if (above && !procpage_is(above, process->ident) && load_relaxed(&page_above_owner) == process->shm_dir.owner)
		family.known = above;
	r = procpage_open(family.dir, &process->shm_dir, process->ident, family_inherit, &family, &process->page,
	                  &process->page_hold);
	if (r == 0) {
		new_image(family.dir, process);
		r = see_page(family.dir, process);
	}
	if (r == 0)
		copy_names(family.dir, process);
	sys_close(family.dir);
	return r;
}

/*
 * Returns whether the process has more rights than its effective user, or may regain them at any time: root has
 * temporarily become another user, or the program runs with the rights of its file. Such a process does not write into
 * memory of that user (H20).
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
	process->shm_dir = shm_dir_own();
	TEST_POINT("attach_ident");
	process->locked = !barrier_register();
	r = open_page(process);
	if (r < 0) {
		sys_unmap(process, sizeof *process);
		return -r;
	}
	TEST_POINT("attach_page");
	/* PAIR(process): everything before the pointer. Another thread may have been first. */
	if (!cas(&self->process, &none, process)) {
		close_page(process);
		lock_release(&process->names_hold);
		sys_unmap(process, sizeof *process);
		process = none;
	}
	TEST_POINT("attach_process");
	store_relaxed(&page_above_owner, process->shm_dir.owner);
	store_release(&page_above, process->page_seen); /* PAIR(above) */
	drop_kept(process);
	store_relaxed(&self->failed, 0);
	open_gate(self, (uint64_t)((uintptr_t)&process->page_seen->sum.vacant - (uintptr_t)self));
	TEST_POINT("attach_done");
	return 0;
}

static bool open_same(int dir, const struct process *process, const struct registry *names, struct registry *fresh)
{
	if (registry_open(dir, &process->shm_dir, procpage_names(process->page), names, fresh) < 0)
		return false;
	if (registry_append(fresh, names))
		return true;
	registry_close(fresh);
	return false;
}

/*
 * Opens the registry of the process's page and adds these names, with the same ids. If the page names that of the
 * family, which has other names by now, the process gets a registry of its own. Returns false on failure.
 */
static bool open_same_names(int dir, const struct process *process, const struct registry *names,
                            struct registry *fresh)
{
	if (open_same(dir, process, names, fresh))
		return true;
	if (ident_same(procpage_names(process->page), process->ident))
		return false;
	procpage_set_names(process->page, process->ident);
	return open_same(dir, process, names, fresh);
}

/*
 * Moves another registry over this process's in memory, so that every pointer to the old one leads to the new one.
 * Closes the other one and returns false if that is not possible.
 */
static bool replace_names(int dir, struct process_names *names, struct registry *fresh)
{
	if (registry_protect(dir, fresh) == 0 && registry_move_over(&names->registry, fresh))
		return true;
	registry_close(fresh);
	return false;
}

/*
 * Copies the names to a registry of the new user, with the same ids. Returns false if the names stay as they are; the
 * page must stay then, too. Processes of one family that become the same user go on sharing a registry, unless the
 * family has opened more names since the first of them did.
 */
static bool move_names(int dir, struct process *process, struct procpage *page_before)
{
	struct process_names *names = load_acquire(&names_now); /* PAIR(registry) */
	bool own = names && names->pid == process->ident.pid;
	uint32_t outside = proc_user_outside(process->shm_dir.owner);
	struct names_moved *moved = own ? names->registry.header->moved : process->family_moved;
	struct registry fresh, before;
	struct ident id;

	if (!names || !names->registry.file[0])
		return true;
	before = registry_in_child(&names->registry);
	if (!open_same_names(dir, process, &before, &fresh))
		return false;
	/* Tell readers of the old names where the new ones are. */
	id = procpage_names(process->page);
	if (moved)
		names_moved_tell(moved, MOVED_MAX, &process->shm_dir, outside, id);
	names_moved_tell(&page_before->moved, 1, &process->shm_dir, outside, id);
	if (!own) {
		/* The names in memory are still the parent's. The process opens its own when it needs them. */
		process->names_hold = fresh.hold;
		fresh.hold.at = NULL;
		registry_close(&fresh);
		return true;
	}
	return replace_names(dir, names, &fresh);
}

/* Puts the new user's page into the family of the old page. Returns 0. */
static int same_family(struct procpage *page, void *before)
{
	procpage_set_names(page, procpage_names(before));
	return 0;
}

void self_retire(struct self *self, struct attached *a)
{
	a->next = load_relaxed(&self->retired);
	while (!cas(&self->retired, &a->next, a))
		;
}

/*
 * Enters the streams that the process records into in its new page, in the same slots as far as these are free. If the
 * process has been this user before, it finds its former page, which may have some of the streams. A stream must not
 * be in two slots: each event would be recorded twice.
 */
static void move_streams(struct self *self, const struct process *process, struct procpage *page)
{
	uint32_t ref = thread_ref_make((uint32_t)sys_gettid(), process->ident.pidns, page->pidns);
	struct attached *others = NULL, *a;

	for (int i = 0; i < PAGE_SLOTS; i++) {
		int there;

		a = load_acquire(&self->attached[i]); /* PAIR(attached) */
		if (!a)
			continue;
		a->foreign = a->user != process->shm_dir.owner;
		if (a->entry.inherit_from)
			self_mapped_for_children(a->stream.header, a->foreign ? a : NULL);
		there = procpage_find(page, &a->entry);
		if (there == i || (there < 0 && procpage_enter_slot(page, i, ref, &a->entry)))
			continue;
		if (cas(&self->attached[i], &a, NULL)) {
			a->next = others;
			others = a;
		}
	}
	/* All of these are out of their slots before the first gets another one. */
	while ((a = others)) {
		struct attached *none = NULL;
		int slot = procpage_find(page, &a->entry);

		others = a->next;
		if (slot < 0)
			slot = procpage_enter(page, ref, &a->entry);
		if (slot < 0 || !cas(&self->attached[slot], &none, a)) /* PAIR(attached) */
			self_retire(self, a);
	}
}

/*
 * Moves a process that has become another user for good (H20). It gets a page and names in that user's directory. They
 * take the place of the old ones in memory, so that pointers to them stay valid; the process can no longer write to the
 * old ones. The streams that it records into go on, because their memory has nothing but the process's own events. If
 * the move is not possible now, everything stays as it is.
 */
static void move_now(struct self *self, const struct process *old)
{
	struct process *process;
	int dir;

	/* First, because a filter that only refuses to open files, as sshd's, may kill who asks for its user ids. */
	if (!file_possible() || has_more_rights())
		return;
	/* Another thread may have moved the process since the caller looked, and has given up what the old one held. */
	if (load_acquire(&self->process) != old) /* PAIR(process) */
		return;
	process = sys_map(sizeof *process, -1, 1);
	if (!process)
		return;
	*process = *old;
	process->shm_dir = shm_dir_own();
	process->page_hold.at = process->names_hold.at = NULL;
	process->page_seen = NULL;
	dir = file_directory(&process->shm_dir, true);
	if (dir < 0 || procpage_open(dir, &process->shm_dir, process->ident, same_family, old->page, &process->page,
	                             &process->page_hold) < 0)
		goto unmap;
	exchange(&process->page->image, ident_image());
	if (see_page(dir, process) < 0)
		goto unmap;
	store_relaxed(&process->page->names_before, load_relaxed(&old->page->names_before));
	if (!move_names(dir, process, old->page)) {
		close_page(process);
		goto unmap;
	}
	unmap_family_notes(process);
	move_streams(self, process, process->page);
	/* A generation that no thread has seen. */
	fetch_add(&process->page->sum.generation, load_relaxed(&old->page->sum.generation) + 16);
	if (sys_move_over((void *)(uintptr_t)process->page_seen, (void *)(uintptr_t)old->page_seen,
	                  PAGE_SIZE_BYTES) == 0)
		process->page_seen = old->page_seen;
	if (sys_move_over(process->page, old->page, PAGE_SIZE_BYTES) == 0)
		process->page = old->page;
	struct hold page_hold = old->page_hold, names_hold = old->names_hold;

	lock_release(&page_hold);
	lock_release(&names_hold);
	store_relaxed(&page_above_owner, process->shm_dir.owner);
	store_release(&self->process, process); /* PAIR(process) */
	sys_close(dir);
	return;
unmap:
	if (dir >= 0)
		sys_close(dir);
	sys_unmap(process, sizeof *process);
}

/*
 * Does so with signals blocked: a handler might fork, and the child must not go on with it. The names are locked, so
 * that no thread opens one that is not copied, or in half of each registry. Without `wait` nothing happens if another
 * thread has them: a trace point does not wait, and the next call looks again.
 */
static void move(struct self *self, const struct process *old, bool wait)
{
	uint64_t signals = sys_signals_block();

	names_unlock_in_child();
	if ((wait ? pthread_mutex_lock(&names_lock) : pthread_mutex_trylock(&names_lock)) == 0) {
		move_now(self, old);
		pthread_mutex_unlock(&names_lock);
	}
	sys_signals_restore(signals);
}

/* Returns whether an error may be temporary: a resource was exhausted, or the effective user may change again. */
static bool passing(int error)
{
	return error == EMFILE || error == ENFILE || error == ENOMEM || error == EAGAIN || error == EPERM;
}

bool self_waits(void)
{
	struct self *self = load_acquire(&self_area); /* PAIR(area) */
	uint32_t skip = self && !load_relaxed(&self->process) ? load_relaxed(&self->skip) : 0;

	if (skip)
		store_relaxed(&self->skip, skip - 1); /* a race with other threads that count does no harm */
	return skip != 0;
}

struct self *self_get(bool retry, int *error)
{
	struct self *self = area();
	const struct process *process;
	uint32_t failures;
	int err;

	if (!self) {
		*error = ENOMEM;
		return NULL;
	}
	process = load_acquire(&self->process); /* PAIR(process) */
	if (process) {
		if (process->shm_dir.owner != sys_geteuid())
			move(self, process, false);
		return self;
	}
	err = (int)load_relaxed(&self->failed);
	if (!err || passing(err) || (retry && err != ENOSYS)) {
		err = attach(self);
		if (!err)
			return self;
	}
	*error = err;
	store_relaxed(&self->failed_user, sys_geteuid());
	store_relaxed(&self->failed, (uint32_t)err);
	if (passing(err)) {
		failures = load_relaxed(&self->failures);
		store_relaxed(&self->skip, FIRST_SKIP << failures);
		store_relaxed(&self->failures, failures < MORE_SKIPS ? failures + 1 : failures);
		return NULL;
	}
	/* From now on the gate tells trace points that no stream traces this process. */
	store_relaxed(&self->quiet, ~UINT32_C(0));
	open_gate(self, offsetof(struct self, quiet));
	return NULL;
}

struct writer *self_writer(struct thread *t, int slot)
{
	struct writer **more;

	if (slot < SLOT_GROUP)
		return &t->writer[slot];
	more = &t->more[slot / SLOT_GROUP - 1];
	if (!*more) {
		*more = sys_map(SLOT_GROUP * sizeof **more, -1, 1);
		if (*more && sys_wipe_on_fork(*more, SLOT_GROUP * sizeof **more) < 0) {
			sys_unmap(*more, SLOT_GROUP * sizeof **more);
			*more = NULL;
		}
	}
	return thread_writer(t, slot);
}

/* Makes a block as that of a new thread. The writers of its former thread, now dead, are forgotten. */
static void reset_block(struct self *self, struct thread *t)
{
	/*
	 * The writers are those of a dead thread with the same id, or our own handler has interrupted us here and made
	 * them. In both cases no other thread uses them.
	 */
	for (int i = 0; i < PAGE_SLOTS; i++) {
		struct writer *writer = thread_writer(t, i);

		if (!writer)
			i += SLOT_GROUP - 1;
		else if (writer->attached)
			memset(writer, 0, sizeof *writer);
	}
	t->pid = self_process(self)->ident.pid;
	TEST_POINT("thread_block");
	t->pthread = (uint64_t)(uintptr_t)pthread_self();
	t->name_age = 0;
	t->acts_for = 0;
	t->signal_stack_size = 0;
	t->page_generation = &self_process(self)->page_seen->sum.generation;
	t->only = NULL;
	t->filters = 0;
	/* Last, because a handler that interrupted the code above has made writers, which are wiped now. */
	fence_signal();
	store_relaxed(&t->depth, 0);
	store_relaxed(&t->count, 0);
	t->tries = t->wait = 0;
	store_relaxed(&t->generation, 0);
	fence_signal();
	store_relaxed(&t->ready, (uintptr_t)(self_process(self)->locked ? 0 : THREAD_READY));
}

static struct thread *start_block(struct self *self, struct thread *t)
{
	/* PAIR(inside): makes visible what the block's former thread, now dead, has written. */
	(void)load_acquire(&t->ready);
	(void)load_acquire(&t->depth);
	/* The deeper blocks belong to this one, whichever thread has it. */
	for (struct thread *level = t->deeper; level; level = level->deeper) {
		store_relaxed(&level->tid, load_relaxed(&t->tid));
		reset_block(self, level);
	}
	reset_block(self, t);
	fence_signal();
	thread_self = t;
	TEST_POINT("thread_done");
	return t;
}

struct thread *self_deeper(struct self *self, struct thread *t)
{
	unsigned levels = 1;
	struct thread *deeper = t->deeper;

	if (deeper)
		return deeper;
	for (const struct thread *level = thread_self; level && level != t; level = level->deeper)
		levels++;
	if (levels >= THREAD_LEVELS)
		return NULL;
	deeper = sys_map(sizeof *deeper, -1, 1);
	if (!deeper)
		return NULL;
	/* A child that returns into a trace point with this block must find it as it finds the first one (H1). */
	if (sys_wipe_on_fork(deeper, sizeof *deeper) < 0) {
		sys_unmap(deeper, sizeof *deeper);
		return NULL;
	}
	store_relaxed(&deeper->tid, load_relaxed(&t->tid));
	reset_block(self, deeper);
	deeper->pid = t->pid;
	deeper->acts_for = t->acts_for;
	memcpy(deeper->name, t->name, sizeof deeper->name);
	fence_signal();
	store_relaxed(&t->deeper, deeper);
	TEST_POINT("thread_deeper");
	return deeper;
}

/* Frees the blocks of threads that have died. */
static void reap_blocks(struct self *self, struct thread_slab *from, uint32_t tid)
{
	for (struct thread_slab *slab = from; slab; slab = slab->next) {
		for (int i = 0; i < SLAB_THREADS; i++) {
			uint32_t *owner = &slab->thread[i].tid, ref = load_relaxed(owner);

			if (ref && ref != tid &&
			    sys_thread_probe((int)self_process(self)->ident.pid, (int)ref) == -ESRCH)
				cas(owner, &ref, 0);
		}
	}
}

/* Takes a block that is free or has this id already, from the slabs before `until`. Returns null if there is none. */
static struct thread *take_block(struct self *self, struct thread_slab *from, const struct thread_slab *until,
                                 uint32_t tid)
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
	struct thread_slab *slab, *searched,
		*first = load_acquire(&self->slabs); /* PAIR(slab): a slab before the pointer to it */
	struct thread *t = take_block(self, first, NULL, tid);

	/*
	 * Look for dead owners only after half as many blocks have been taken as there are. On average this costs two
	 * probes for each new thread, however many threads there are, and there are about twice as many blocks as
	 * threads. The count is reset after the look, so that threads which come meanwhile also look, and allocate no
	 * more memory.
	 */
	if (!t && load_relaxed(&self->births) >= load_relaxed(&self->blocks) / 2) {
		reap_blocks(self, first, tid);
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
	searched = first;
	do {
		/*
		 * Threads that start at the same time need not have a slab each. After a lost cas `first` is the
		 * winner's slab, which has not been searched.
		 */
		first = load_acquire(&self->slabs); /* PAIR(slab) */
		t = take_block(self, first, searched, tid);
		if (t) {
			sys_unmap(slab, sizeof *slab);
			return start_block(self, t);
		}
		slab->next = searched = first;
	} while (!cas(&self->slabs, &first, slab)); /* PAIR(slab) */
	fetch_add(&self->blocks, SLAB_THREADS);
	fetch_add(&self->births, 1);
	return start_block(self, &slab->thread[0]);
}

/* A trace point takes some 20 ns: most end before the waiting thread has to sleep. */
#define OUTSIDE_LOOKS 200

/*
 * Returns whether a thread is in no trace point. One that a handler left by longjmp() may be the only one that it is
 * in, with a deeper block (H17): its writers use the streams until the block is recovered.
 */
static bool is_outside(const struct thread *t)
{
	/* PAIR(inside): everything that the thread did inside is done. */
	for (const struct thread *level = t; level; level = load_relaxed(&level->deeper))
		if (load_acquire(&level->ready) > THREAD_READY)
			return false;
	return load_acquire(&t->depth) == 0;
}

bool self_wait_quiescent(struct self *self, int steps)
{
	int looks = OUTSIDE_LOOKS;

	if (!barrier_everywhere() && !self_process(self)->locked)
		return false;
	for (struct thread_slab *slab = load_acquire(&self->slabs); slab; slab = slab->next) { /* PAIR(slab) */
		for (int i = 0; i < SLAB_THREADS; i++) {
			struct thread *t = &slab->thread[i];

			/* It is enough to see each thread outside once, not all at the same moment. */
			for (;;) {
				uint32_t tid = load_relaxed(&t->tid);

				if (!tid || t == thread_self)
					break;
				if (is_outside(t))
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

/*
 * Moves the page and names of a process that has become another user before it forks. Its children will belong to the
 * new user, too (H20).
 */
static void before_fork(void)
{
	struct self *self = self_peek();
	const struct process *process = self ? self_process(self) : NULL;

	if (process && process->ident.pid == (uint32_t)sys_getpid() && process->shm_dir.owner != sys_geteuid())
		move(self, process, true);
}

static void child_of_fork(void)
{
	replace_in_child((uint32_t)sys_getpid());
}

/*
 * Returns whether to try again to attach, in a call that may take longer than a trace point: the process has, or is,
 * another user than when that failed.
 */
static bool user_changed(void)
{
	struct self *self = load_acquire(&self_area); /* PAIR(area) */
	uint32_t failed = self ? load_relaxed(&self->failed) : 0;

	return (failed == EPERM && !has_more_rights()) ||
	       (failed == EACCES && load_relaxed(&self->failed_user) != sys_geteuid());
}

/*
 * Opens the names of this process. Returns 0 or a negative error number. Forked children hold the registry as well, so
 * that its file stays for as long as the process or one of its descendants may need it. A controller of a child that
 * has not attached yet finds there the names that the child was born with, even if the parent has ended.
 */
static int open_names(struct process_names *names, const struct process_names *before)
{
	int error = 0, dir, r;
	struct self *self = self_get(user_changed(), &error);
	const struct process *process = self ? self_process(self) : NULL;
	struct registry born, *seed = NULL;
	struct ident id;

	if (before) {
		born = registry_in_child(&before->registry);
		seed = &born;
	}
	if (!process)
		return registry_open_private(seed, &names->registry);
	id = procpage_names(process->page);
	dir = file_directory(&process->shm_dir, true);
	if (dir < 0)
		return dir;
	r = registry_open(dir, &process->shm_dir, id, seed, &names->registry);
	/* A child born into a family shares its registry, and adds nothing unless somebody has removed the file. */
	if (r == 0 && seed && (!same_names(seed, process, id) || seed->inode != names->registry.inode))
		registry_append(&names->registry, seed);
	if (r == 0) {
		r = registry_protect(dir, &names->registry);
		if (r < 0)
			registry_close(&names->registry);
	}
	sys_close(dir);
	return r;
}

/*
 * Copies names that the process has opened before it could attach to the registry of its page, where others find them.
 * It goes on with that registry. The caller has locked names_lock.
 */
static void publish_names(struct process_names *names)
{
	int error = 0, dir;
	struct self *self = self_peek() || user_changed() ? self_get(true, &error) : NULL;
	const struct process *process = self ? self_process(self) : NULL;
	struct registry fresh;

	if (!process || names->registry.file[0])
		return;
	dir = file_directory(&process->shm_dir, true);
	if (dir < 0)
		return;
	if (open_same_names(dir, process, &names->registry, &fresh))
		replace_names(dir, names, &fresh);
	sys_close(dir);
}

struct registry *self_registry(void)
{
	uint32_t pid = (uint32_t)sys_getpid();
	struct process_names *names = load_acquire(&names_now), *fresh; /* PAIR(registry) */
	struct self *self = self_peek();
	uint64_t signals;
	int error;

	/* The names move along if the process has become another user. Not below, where they are locked. */
	if (self && self_process(self)->shm_dir.owner != sys_geteuid())
		self_get(false, &error);
	if (names && names->pid == pid && names->registry.file[0])
		return &names->registry;
	signals = sys_signals_block();
	names_unlock_in_child();
	pthread_mutex_lock(&names_lock);
	names = names_now;
	if (names && names->pid == pid)
		publish_names(names);
	if (!names || names->pid != pid) {
		/*
		 * pthread_atfork() belongs here: this code runs before every event with a name, never in a handler, and
		 * may allocate.
		 */
		if (!names)
			pthread_atfork(before_fork, NULL, child_of_fork);
		/* The parent's registry stays mapped, because another thread of this process may be using it. */
		fresh = sys_map(sizeof *fresh, -1, 1);
		if (fresh && open_names(fresh, names) < 0) {
			sys_unmap(fresh, sizeof *fresh);
			fresh = NULL;
		}
		if (fresh) {
			fresh->pid = pid;
			TEST_POINT("names_opened");
			store_release(&names_now, fresh); /* PAIR(registry) */
			/* The parent's file is of no more use to this process or its children. */
			if (names)
				lock_release(&names->registry.hold);
		}
		names = fresh;
	}
	pthread_mutex_unlock(&names_lock);
	sys_signals_restore(signals);
	return names ? &names->registry : NULL;
}

/* Returns whether the process records into a stream of the user that it was before. */
static bool records_for_other(struct self *self)
{
	for (int i = 0; i < PAGE_SLOTS; i++) {
		const struct attached *a = load_acquire(&self->attached[i]); /* PAIR(attached) */

		if (a && a->foreign)
			return true;
	}
	return false;
}

void self_leave(struct self *self)
{
	struct process *process = load_acquire(&self->process); /* PAIR(process) */
	struct process_names *names = load_acquire(&names_now); /* PAIR(registry) */
	char page[FILE_NAME_SIZE], file[FILE_NAME_SIZE];
	bool born = names && names->pid != process->ident.pid;
	int dir = file_directory(&process->shm_dir, false);

	if (dir < 0)
		return;
	file_name_once(page, "page", process->ident);
	file_name_once(file, "names", procpage_names(process->page));
	TEST_POINT("leave_page");
	lock_release(&process->page_hold);
	lock_release(&process->names_hold);
	/* The process's own registry, or the registry that the process was born with. */
	if (names)
		lock_release(&names->registry.hold);
	TEST_POINT("leave_unlocked");
	procpage_remove_unused(dir, &process->shm_dir, page);
	TEST_POINT("leave_removed");
	/* A controller that has the names from the former user reads later names here. */
	if (!records_for_other(self))
		registry_remove_unused(dir, &process->shm_dir, file);
	if (born && names->registry.file[0] && strcmp(names->registry.file, file) != 0)
		registry_remove_unused(dir, &process->shm_dir, names->registry.file);
	sys_close(dir);
}

/*
 * Returns the registry, for changing it, with signals blocked and the names locked, so that publish_names() and
 * move_names() miss none; null if there is none. To be ended by registry_changed().
 */
static struct registry *registry_to_change(uint64_t *signals)
{
	struct registry *r;

	*signals = sys_signals_block();
	r = self_registry();
	names_unlock_in_child();
	pthread_mutex_lock(&names_lock);
	return r;
}

static void registry_changed(uint64_t signals)
{
	pthread_mutex_unlock(&names_lock);
	sys_signals_restore(signals);
}

trace_event_id_t self_event_id(const char *name)
{
	uint64_t signals;
	struct registry *r = registry_to_change(&signals);
	struct self *self = self_peek();
	uint32_t limit = self ? procpage_names_limit(self_process(self)->page) : TRACE_USER_EVENT_MAX - 1;
	trace_event_id_t id = r ? registry_id(r, name, limit) : POSIX_TRACE_UNNAMED_USEREVENT;
	uint32_t known = load_relaxed(&self_names), names = id - POSIX_TRACE_UNNAMED_USEREVENT;

	if (r && id == POSIX_TRACE_UNNAMED_USEREVENT)
		registry_note_full(r);
	registry_changed(signals);
	while (known < names && !cas(&self_names, &known, names))
		;
	return id;
}

int self_declare(trace_event_id_t id, const char *layout)
{
	uint64_t signals;
	struct registry *r = registry_to_change(&signals);
	int err = r ? registry_declare(r, id, layout) : -ENOMEM;

	registry_changed(signals);
	return err;
}

void self_refuse_name(const char *name)
{
	uint64_t signals;
	struct registry *r = registry_to_change(&signals);

	if (r)
		registry_refuse(r, name);
	registry_changed(signals);
}
