/*
 * target.c - the process that a stream traces, as its controller has it
 *
 * SPDX-License-Identifier: MIT
 */
#include "control/target.h"

#include <errno.h>
#include <string.h>

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

/* Names that the process may have been born with, where it has not come to copy them itself. */
static int open_names(struct target *t, int dir, const struct family *family)
{
	struct ident id = procpage_names(t->page);
	struct registry above;
	struct procpage *page;
	bool seed = false;
	int r;

	if (family->above.pid && ident_same(id, t->ident) && procpage_look(dir, &t->place, family->above, &page) == 0) {
		struct ident names = procpage_names(page);

		procpage_close(page);
		seed = registry_open(dir, &t->place, names, NULL, &above) == 0;
	}
	r = registry_open(dir, &t->place, id, seed ? &above : NULL, &t->registry);
	if (seed)
		registry_close(&above);
	TEST_POINT("target_names");
	if (r == 0)
		t->names = &t->registry;
	return r;
}

static int open_other(struct target *t, const struct proc *proc)
{
	struct family family = { .number = proc->number, .ident = proc->ident };
	int r;

	t->ident = proc->ident;
	t->place = place_of(proc);
	family.place = &t->place;
	family.dir = file_directory(&t->place, true);
	if (family.dir < 0)
		return family.dir;
	r = procpage_open(family.dir, &t->place, t->ident, family_inherit, &family, &t->page, &t->page_hold);
	TEST_POINT("target_page");
	if (r == 0) {
		r = open_names(t, family.dir, &family);
		if (r < 0) {
			procpage_close(t->page);
			lock_release(&t->page_hold);
		}
	}
	sys_close(family.dir);
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
	if (r < 0 || proc_permit((uint32_t)pid) < 0)
		return EPERM;
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
	char page[FILE_NAME_SIZE];
	int dir;

	if (t->self)
		return;
	lock_release(&t->page_hold);
	lock_release(&t->registry.hold);
	TEST_POINT("target_unlocked");
	dir = target_directory(t);
	if (dir < 0)
		return;
	file_name_once(page, "page", t->ident);
	file_remove_unused(dir, page, NULL);
	TEST_POINT("target_removed");
	file_remove_unused(dir, t->registry.file, NULL);
	sys_close(dir);
}

void target_close(struct target *t)
{
	if (t->self)
		return;
	target_leave(t);
	procpage_close(t->page);
	registry_close(&t->registry);
}
