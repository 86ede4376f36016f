/*
 * target.c - the process that a stream traces, as its controller has it
 *
 * SPDX-License-Identifier: MIT
 */
#include "control/target.h"

#include <errno.h>
#include <string.h>

#include "base/atomic.h"
#include "base/birthmark.h"
#include "base/guise.h"
#include "base/sys.h"
#include "base/testpoint.h"
#include "shm/family.h"

static int open_self(struct target *t)
{
	int error = 0;

	t->self = self_get(true, &error);
	if (!t->self)
		return error;
	t->ident = self_process(t->self)->ident;
	t->place = self_process(t->self)->place;
	t->page = self_process(t->self)->page;
	/* The stream's mapping has the names from the start (CREATE-26), and a fork handler comes with them. */
	t->names = self_registry();
	return t->names ? 0 : ENOMEM;
}

struct mapped {
	struct ident self;
	struct ident page; /* the youngest */
};

static void look_for_page(const char *line, void *arg)
{
	struct mapped *m = arg;
	const char *slash = strrchr(line, '/');
	struct ident id;
	uint32_t number;
	char kind[16];

	if (slash && strstr(line, "/" FILE_DIRECTORY) && file_name_parse(slash + 1, kind, &id, &number) &&
	    strcmp(kind, "page") == 0 && !ident_same(id, m->self) && (!m->page.pid || id.start > m->page.start))
		m->page = id;
}

/*
 * The page of the process that this one was forked from, if it has not made
 * one itself: then it still has that in its memory, unless it has executed
 * another file. Null: there is none. Negative: that cannot be told now.
 */
static int forked_from(const struct target *t, const struct family *family, struct procpage **page)
{
	struct mapped m = { .self = t->ident };
	int r = proc_each_map(t->number, look_for_page, &m);

	*page = NULL;
	if (r == -ESRCH || r == -EACCES || r == -EPERM)
		return 0; /* its memory is gone, or is not shown to us */
	if (r == 0 && m.page.pid)
		r = procpage_look(family->dir, &t->place, m.page, page);
	/* ESTALE: its process has just ended. */
	return r == -ENOENT || r == -EINVAL || r == -ESTALE ? 0 : r;
}

struct own {
	char page[FILE_NAME_SIZE];
	bool removed;
};

static void look_for_own(const char *line, void *arg)
{
	static const char removed[] = " (deleted)";
	struct own *own = arg;
	const char *slash = strrchr(line, '/');
	size_t length = strlen(own->page);

	own->removed |= slash && strstr(line, "/" FILE_DIRECTORY) && strncmp(slash + 1, own->page, length) == 0 &&
	                strcmp(slash + 1 + length, removed) == 0;
}

/*
 * Does the process have a page that it has removed, in its exit, or that somebody else has? It looks at that one for as long as it lives,
 * and not at another of this name. Negative: that cannot be told now.
 */
static int has_left(const struct target *t)
{
	struct own own = { .removed = false };
	int r;

	/* It has attached to this one. */
	if (load_relaxed(&t->page->image))
		return 0;
	file_name_once(own.page, "page", t->ident);
	r = proc_each_map(t->number, look_for_own, &own);
	return file_is_want(r) ? r : own.removed;
}

/* Its file, if nobody holds it any more. */
static void remove_page(const struct target *t, int dir)
{
	char page[FILE_NAME_SIZE];

	file_name_once(page, "page", t->ident);
	procpage_remove_unused(dir, &t->place, page);
}

/*
 * Names that the process was born with, where it has not come to copy them itself. They are
 * its names for good, so if they cannot be read now nobody may take it for one without.
 */
static int open_names(struct target *t, int dir, const struct procpage *above)
{
	struct ident id = procpage_names(t->page);
	struct registry seed;
	bool born = above && ident_same(id, t->ident);
	int r = born ? registry_open(dir, &t->place, procpage_names(above), NULL, &seed) : 0;
	bool seeded = born && r == 0;

	if (r < 0 && r != -EINVAL)
		return r;
	r = registry_open(dir, &t->place, id, seeded ? &seed : NULL, &t->registry);
	if (seeded)
		registry_close(&seed);
	if (r == 0)
		t->names = &t->registry;
	return r;
}

/* A child has no use for them, and would keep the memory. */
static void not_on_fork(struct target *t)
{
	sys_not_on_fork(t->page, PAGE_SIZE_BYTES);
	sys_not_on_fork(t->registry.header, REGISTRY_BYTES_MAX);
}

static int open_files(struct target *t, struct family *family)
{
	struct procpage *above;
	int r = forked_from(t, family, &above);

	if (r < 0)
		return r;
	family->known = above;
	r = procpage_open(family->dir, &t->place, t->ident, family_inherit, family, &t->page, &t->page_hold);
	TEST_POINT("target_page");
	if (r == 0) {
		/* Now that it is held: if it was there, it stays. */
		r = has_left(t);
		if (r > 0)
			r = -ESRCH;
		/* Once it has attached, it has copied what it needs. */
		if (r == 0)
			r = open_names(t, family->dir, load_relaxed(&t->page->image) ? NULL : above);
		if (r < 0) {
			procpage_close(t->page);
			lock_release(&t->page_hold);
			remove_page(t, family->dir);
		}
	}
	if (above)
		procpage_close(above);
	if (r == 0)
		not_on_fork(t);
	return r;
}

static int open_other(struct target *t, const struct proc *proc)
{
	struct family family = { .number = proc->number };
	struct guise guise;
	int r;

	t->number = proc->number;
	t->ident = proc->ident;
	if (!proc->ended && proc_blind(proc->number))
		t->ident.start = t->ident.space = 0; /* as it takes them to be itself */
	t->place = place_of(proc);
	/* A guess might be a way that ends with the process, and then nobody could remove what is made there. */
	if (t->place.error)
		return t->place.error;
	family.ident = t->ident;
	family.place = &t->place;
	guise_put_on(&guise, t->place.owner, t->place.group);
	r = family.dir = file_directory(&t->place, true);
	if (family.dir >= 0) {
		r = open_files(t, &family);
		sys_close(family.dir);
	}
	guise_take_off(&guise);
	return r;
}

int target_open(pid_t pid, struct target *t)
{
	struct proc proc;
	uint64_t start;
	uint32_t parent;
	int r, may_signal;

	memset(t, 0, sizeof *t);
	if (pid == 0 || pid == sys_getpid())
		return open_self(t);
	if (pid < 0)
		return ESRCH;
	may_signal = sys_kill_probe(pid);
	if (may_signal == -ESRCH)
		return ESRCH;
	/* Without /proc, or with that of another pid namespace, nothing is known about it. */
	if (proc_number() != (uint32_t)sys_getpid())
		return EPERM;
	r = proc_read((uint32_t)pid, &proc);
	if (r == -ESRCH && may_signal == 0)
		return ESRCH; /* a thread of another process */
	/* One of another user may be hidden from us. */
	if (r < 0)
		return may_signal == -EPERM || r == -ESRCH ? EPERM : -r;
	r = proc_permit((uint32_t)pid);
	if (r < 0)
		return -r;
	/* Still the same, so that what we know and what we may are of one process. */
	if (proc_parent((uint32_t)pid, &parent, &start) < 0 || start != proc.ident.start)
		return ESRCH;
	r = open_other(t, &proc);
	/* The right to look into a process of another user is not yet that to its user's files. */
	return r == -EACCES && sys_geteuid() != 0 && t->place.owner != sys_geteuid() ? EPERM : -r;
}

int target_directory(const struct target *t)
{
	/* Its own a process may make again, if somebody has removed it (H24). */
	return file_directory(&t->place, t->self != NULL);
}

void target_leave(struct target *t)
{
	struct guise guise;
	int dir;

	if (t->self)
		return;
	lock_release(&t->page_hold);
	TEST_POINT("target_unlocked");
	lock_release(&t->registry.hold);
	guise_put_on(&guise, t->place.owner, t->place.group);
	dir = target_directory(t);
	if (dir >= 0) {
		remove_page(t, dir);
		TEST_POINT("target_removed");
		registry_remove_unused(dir, &t->place, t->registry.file);
		sys_close(dir);
	}
	guise_take_off(&guise);
}

void target_close(struct target *t)
{
	if (t->self)
		return;
	target_leave(t);
	procpage_close(t->page);
	registry_close(&t->registry);
}

trace_event_id_t target_event_id(struct target *t, const char *name)
{
	trace_event_id_t id;
	struct guise guise;

	guise_put_on(&guise, t->place.owner, t->place.group);
	id = registry_id(t->names, name, procpage_names_limit(t->page));
	guise_take_off(&guise);
	return id;
}

void target_inherits(const struct target *t, bool inherits)
{
	if (inherits) {
		store_relaxed(&t->page->marked, 1);
		birthmark_set(t->number, t->ident);
	} else {
		birthmark_clear(t->number, t->ident);
	}
}
