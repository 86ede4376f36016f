/*
 * target.c - src/control/target.c: which process a pid means, whether it may be traced, and where its files are
 *
 * SPDX-License-Identifier: MIT
 */
#include "control/target.h"

#include <limits.h>
#include <sys/prctl.h>

#include "shm.h"
#include "unit.h"

static struct target t;

static int open_target(pid_t pid)
{
	int descriptors = shm_descriptors(), error = target_open(pid, &t);

	CHECK_EQ("-", shm_descriptors(), descriptors);
	return error;
}

TEST(self)
{
	char name[FILE_NAME_SIZE];

	shm_private("");
	CHECK_EQ("-", open_target(0), 0);
	MUST(t.self && t.page && t.names);
	CHECK("-", t.page == self_process(t.self)->page);
	CHECK("-", ident_same(t.ident, unit_ident()));
	CHECK_STR("-", t.shm_dir.path, shm_directory());
	CHECK("-", !t.shm_dir.guarded);
	CHECK_EQ("-", open_target(getpid()), 0);
	CHECK("-", t.self != NULL);
	target_leave(&t); /* the process's own page and registry stay */
	target_close(&t);
	file_name_once(name, "page", unit_ident());
	CHECK("-", unit_held(target_directory(&t), name));
}

TEST(nobody)
{
	struct unit_child child;
	pid_t thread = (pid_t)unit_living_thread();

	shm_private("");
	CHECK_EQ("-", open_target(-1), ESRCH);
	CHECK_EQ("-", open_target(-getpid()), ESRCH); /* process groups are not accepted */
	CHECK_EQ("-", open_target(INT_MIN), ESRCH);
	CHECK_EQ("-", open_target(INT_MAX), ESRCH);
	CHECK_EQ("-", open_target(thread), ESRCH); /* nor are thread ids */
	child = unit_child(NULL, NULL);
	unit_kill_child(&child);
	CHECK_EQ("-", open_target(child.pid), ESRCH);
	CHECK("-", shm_count(shm_directory(), "") <= 0); /* nothing was created */
}

static int count(const char *kind)
{
	return shm_count(shm_directory(), kind);
}

/* A process that has never made a trace call. */
TEST(another)
{
	struct unit_child child;

	shm_private("");
	child = unit_child(NULL, NULL);
	CHECK_EQ("-", open_target(child.pid), 0);
	CHECK("-", t.self == NULL && t.page && t.names == &t.registry);
	CHECK("-", ident_same(t.ident, child.ident) && procpage_is(t.page, child.ident));
	CHECK("-", ident_same(procpage_names(t.page), child.ident));
	CHECK_EQ("-", registry_count(t.names), 0);
	CHECK("-", t.page_hold.at && t.registry.hold.at);
	CHECK_EQ("-", count("page-"), 1);
	CHECK_EQ("-", count("names-"), 1);
	CHECK_EQ("-", count(""), 2);
	target_leave(&t);
	CHECK_EQ("-", count(""), 0); /* not used by another process */
	CHECK("-", procpage_is(t.page, child.ident)); /* the memory stays mapped */
	target_close(&t);
	unit_end_child(&child);
}

static void attach_itself(void *arg)
{
	int error;

	MUST(self_get(true, &error));
	MUST(self_event_id("childs") == EVENT_ID_USER);
}

/* A process that already has a page and names: the controller uses the same files, and they stay. */
TEST(another_that_traces)
{
	struct unit_child child;
	char name[REGISTRY_NAME_BYTES];

	shm_private("");
	child = unit_child(attach_itself, NULL);
	CHECK_EQ("-", open_target(child.pid), 0);
	CHECK_EQ("-", registry_count(t.names), 1);
	CHECK("-", registry_name(t.names, EVENT_ID_USER, name) && strcmp(name, "childs") == 0);
	CHECK_EQ("-", count(""), 2);
	target_close(&t);
	CHECK_EQ("-", count(""), 2);
	unit_kill_child(&child);
}

/* With several controllers, and a process that traces later, all use the same files until the last one leaves. */
static void open_parent_of(void *pid)
{
	MUST(target_open(*(pid_t *)pid, &t) == 0);
}

TEST(several_controllers)
{
	struct unit_child child, controller;

	shm_private("");
	child = unit_child(NULL, NULL);
	controller = unit_child(open_parent_of, &child.pid);
	CHECK_EQ("-", open_target(child.pid), 0);
	CHECK_EQ("-", count(""), 2);
	target_close(&t);
	CHECK_EQ("-", count(""), 2); /* the other controller uses them */
	unit_kill_child(&controller);
	CHECK_EQ("-", open_target(child.pid), 0);
	target_close(&t);
	CHECK_EQ("-", count(""), 0);
	unit_end_child(&child);
}

/* A zombie is still a process. */
TEST(ended)
{
	struct unit_child child;

	shm_private("");
	child = unit_child(NULL, NULL);
	close(child.end);
	MUST(waitid(P_PID, (id_t)child.pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT) == 0);
	CHECK_EQ("-", open_target(child.pid), 0);
	target_close(&t);
	CHECK_EQ("-", count(""), 0);
	waitpid(child.pid, NULL, 0);
	CHECK_EQ("-", open_target(child.pid), ESRCH);
}

/* The ids that a child inherited mean the same to its controller. */
TEST(born_with_names)
{
	struct unit_child child;
	char name[REGISTRY_NAME_BYTES];
	int error;

	shm_private("");
	MUST(self_get(true, &error));
	for (unsigned i = 0; i < 100; i++) {
		sprintf(name, "name %u", i);
		MUST(self_event_id(name) == EVENT_ID_USER + i);
	}
	child = unit_child(NULL, NULL);
	CHECK_EQ("-", open_target(child.pid), 0);
	CHECK_EQ("-", registry_count(t.names), 100);
	CHECK("-", registry_name(t.names, EVENT_ID_USER + 42, name) && strcmp(name, "name 42") == 0);
	CHECK("-", !ident_same(t.registry.id, unit_ident())); /* but the registry is separate: not a family */
	target_close(&t);
	unit_end_child(&child);
}

/* -- Users --------------------------------------------------------------------------------- */

static void become(void *uid)
{
	MUST(setgid((gid_t)(uintptr_t)uid) == 0 && setuid((uid_t)(uintptr_t)uid) == 0);
	MUST(prctl(PR_SET_DUMPABLE, 1) == 0);
}

static void become_and_hide(void *uid)
{
	become(uid);
	MUST(prctl(PR_SET_DUMPABLE, 0) == 0);
}

TEST(somebody_elses)
{
	struct unit_child same, hidden, other;

	if (geteuid() != 0)
		SKIP("only root has children of several users");
	NEEDS_OTHERS();
	shm_private("");
	same = unit_child(become, (void *)65533);
	hidden = unit_child(become_and_hide, (void *)65533);
	other = unit_child(become, (void *)65534);
	become((void *)65533);
	CHECK_EQ("-", open_target(hidden.pid), EPERM);
	CHECK_EQ("-", open_target(other.pid), EPERM);
	CHECK_EQ("-", open_target(getppid()), EPERM); /* root's process */
	CHECK_EQ("-", open_target(1), EPERM);
	CHECK_EQ("-", shm_count("/dev/shm", "posixtrace-"), 0);
	CHECK_EQ("-", open_target(same.pid), 0);
	CHECK("-", !t.shm_dir.guarded);
	target_close(&t);
	close(same.end);
	close(hidden.end);
	close(other.end);
}

TEST(as_root)
{
	struct unit_child child[2];
	struct stat st;

	if (geteuid() != 0)
		SKIP("not root");
	NEEDS_OTHERS();
	shm_private("");
	child[0] = unit_child(become, (void *)65534);
	child[1] = unit_child(become_and_hide, (void *)65534);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ("-", open_target(child[i].pid), 0);
		CHECK_STR("-", t.shm_dir.path, "/dev/shm/posixtrace-65534");
		CHECK("-", t.shm_dir.guarded);
		MUST(stat(t.shm_dir.path, &st) == 0);
		CHECK("-", st.st_uid == 65534 && (st.st_mode & 07777) == 0700);
		CHECK_EQ("-", shm_count(t.shm_dir.path, ""), 2);
		target_close(&t);
		CHECK_EQ("-", shm_count("/dev/shm/posixtrace-65534", ""), 0);
	}
	unit_end_child(&child[1]);
	unit_end_child(&child[0]);
}

/* Files that root created are used by the process itself: it traces later, and finds the entry. */
static int go[2], done[2];

static void attach_when_told(void *arg)
{
	if (fork() == 0) {
		struct self *self;
		int error;
		char c;

		become(arg);
		if (!unit_send_ident(done[1]) || read(go[0], &c, 1) != 1)
			_exit(1);
		self = self_get(true, &error);
		c = self && procpage_taken(self_process(self)->page->word[0], 0);
		_exit(write(done[1], &c, 1) != 1);
	}
}

TEST(made_by_root)
{
	struct page_entry entry = { { 1, 2, 0 }, 3, 0 };
	struct unit_child child;
	struct ident id;
	char c = 0;

	if (geteuid() != 0)
		SKIP("not root");
	NEEDS_OTHERS();
	shm_private("");
	MUST(pipe(go) == 0 && pipe(done) == 0);
	child = unit_child(attach_when_told, (void *)65534);
	id = unit_receive_ident(done[0]);
	CHECK_EQ("-", open_target((pid_t)id.pid), 0);
	CHECK_EQ("-", procpage_enter(t.page, unit_tid(), &entry), 0);
	MUST(write(go[1], "", 1) == 1);
	MUST(read(done[0], &c, 1) == 1);
	CHECK_EQ("-", c, 1);
	target_close(&t);
	unit_end_child(&child);
}

TEST_MAIN(TEST_ENTRY(self), TEST_ENTRY(nobody), TEST_ENTRY(another), TEST_ENTRY(another_that_traces),
          TEST_ENTRY(several_controllers), TEST_ENTRY(ended), TEST_ENTRY(born_with_names), TEST_ENTRY(somebody_elses),
          TEST_ENTRY(as_root), TEST_ENTRY(made_by_root))
