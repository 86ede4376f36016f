/*
 * ident.c - src/host/ident.c: the identity of a process or thread, and whether it is alive
 *
 * SPDX-License-Identifier: MIT
 */
#include "host/ident.h"

#include <linux/capability.h>
#include <sys/prctl.h>

#include "unit.h"

TEST(self)
{
	struct ident a = unit_ident(), b = unit_ident();
	struct proc proc;

	CHECK_EQ("-", a.pid, getpid());
	CHECK("-", a.start != 0);
	CHECK("-", a.pidns != 0);
	CHECK("-", ident_same(a, b));
	CHECK("-", !ident_same(a, (struct ident){ a.pid + 1, a.start, a.pidns }));
	CHECK("-", !ident_same(a, (struct ident){ a.pid, a.start + 1, a.pidns })); /* an earlier process with the
	                                                                            * same pid */
	CHECK("-", !ident_same(a, (struct ident){ a.pid, a.start, a.pidns + 1 }));
	CHECK_EQ("-", proc_number(), getpid());

	/* The process as seen through /proc by its number. */
	for (uint32_t number = 0; number <= (uint32_t)getpid(); number += (uint32_t)getpid()) {
		CHECK_EQ("-", proc_read(number, &proc), 0);
		CHECK("-", ident_same(proc.ident, a));
		CHECK_EQ("-", proc.number, getpid());
		CHECK_EQ("-", proc.parent, getppid());
		CHECK_EQ("-", proc.uid, geteuid());
		CHECK("-", !proc.ended);
		CHECK_EQ("-", proc_permit(number), 0);
	}
	CHECK("-", !proc_contained((uint32_t)getpid()));
	CHECK("-", !proc_other_users((uint32_t)getpid()));
	CHECK("-", !proc_blind((uint32_t)getpid()));
}

TEST(nobody)
{
	uint32_t parent = 0, thread = unit_living_thread();
	struct proc proc;
	uint64_t start = 0;

	CHECK_EQ("-", proc_read(0x7ffffff0, &proc), -ESRCH);
	CHECK_EQ("-", proc_read(UINT32_MAX, &proc), -ESRCH);
	CHECK("-", proc_parent(0x7ffffff0, &parent, &start) < 0);
	CHECK("-", parent == 0 && start == 0);
	CHECK_EQ("-", proc_read(thread, &proc), -ESRCH); /* a thread id is not a process id */
}

/* The command's name is in the same line of /proc, and may look like the fields that follow it. */
TEST(odd_name)
{
	static const char *const name[] = { ") Z 1 1 1 (", "x\nTgid:\t1", "x\nUid:\t7 7 7 7", "x\nNSpid:\t1", "(((", "",
	                                    "\\\n" };
	struct ident before = unit_ident();
	struct proc proc;

	for (unsigned i = 0; i < sizeof name / sizeof name[0]; i++) {
		MUST(prctl(PR_SET_NAME, name[i]) == 0);
		CHECK("-", ident_same(unit_ident(), before));
		CHECK_EQ("-", proc_read((uint32_t)getpid(), &proc), 0);
		CHECK("-", ident_same(proc.ident, before) && proc.uid == geteuid() && !proc.ended);
		CHECK_EQ("-", proc.parent, getppid());
	}
}

TEST(child)
{
	struct unit_child child = unit_child(NULL, NULL);
	uint32_t parent;
	struct proc proc;
	uint64_t start;

	CHECK_EQ("-", child.ident.pid, child.pid);
	CHECK_EQ("-", proc_read((uint32_t)child.pid, &proc), 0);
	CHECK("-", ident_same(proc.ident, child.ident) && !proc.ended);
	CHECK_EQ("-", proc.parent, getpid());
	CHECK_EQ("-", proc_parent((uint32_t)child.pid, &parent, &start), 0);
	CHECK("-", parent == (uint32_t)getpid() && start == child.ident.start);
	CHECK_EQ("-", proc_permit((uint32_t)child.pid), 0);
	close(child.end);
	MUST(waitid(P_PID, (id_t)child.pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT) == 0);
	CHECK_EQ("-", proc_read((uint32_t)child.pid, &proc), 0); /* a zombie is still a process */
	CHECK("-", proc.ended);
	CHECK("-", proc.ident.pid == child.ident.pid && proc.ident.start == child.ident.start);
	CHECK_EQ("-", proc_permit((uint32_t)child.pid), 0);
	MUST(waitpid(child.pid, NULL, 0) == child.pid);
	CHECK_EQ("-", proc_read((uint32_t)child.pid, &proc), -ESRCH);
}

TEST(survives_exec)
{
	struct ident id;
	int status, to_parent[2], to_child[2];
	struct proc proc;
	pid_t pid;
	char c;

	MUST(pipe(to_parent) == 0 && pipe(to_child) == 0);
	pid = fork();
	if (pid == 0) {
		if (!unit_send_ident(to_parent[1]) || dup2(to_child[0], 0) < 0 || dup2(to_parent[1], 1) < 0)
			_exit(1);
		execlp("sh", "sh", "-c", "echo; read line", NULL);
		_exit(1);
	}
	close(to_parent[1]);
	id = unit_receive_ident(to_parent[0]);
	MUST(read(to_parent[0], &c, 1) == 1 && c == '\n'); /* the shell is running now */
	CHECK_EQ("-", proc_read((uint32_t)pid, &proc), 0);
	CHECK("-", ident_same(proc.ident, id));
	MUST(write(to_child[1], "\n", 1) == 1);
	MUST(waitpid(pid, &status, 0) == pid);
	CHECK_EQ("-", status, 0);
}

/* -- Permission ---------------------------------------------------------------------- */

static void become(void *uid)
{
	MUST(setgid((gid_t)(uintptr_t)uid) == 0 && setuid((uid_t)(uintptr_t)uid) == 0);
	MUST(prctl(PR_SET_DUMPABLE, 1) == 0); /* as for any program executed by this user */
}

/* As for a set-user-ID program, other processes of the user may not inspect this one. */
static void hide(void *arg)
{
	MUST(prctl(PR_SET_DUMPABLE, 0) == 0);
}

static void become_and_hide(void *uid)
{
	become(uid);
	hide(NULL);
}

TEST(permitted)
{
	struct unit_child mine, hidden, others;
	struct proc proc;

	if (geteuid() != 0)
		SKIP("only root has children of several users");
	NEEDS_OTHERS();
	mine = unit_child(become, (void *)65533);
	hidden = unit_child(become_and_hide, (void *)65533);
	others = unit_child(become, (void *)65534);
	/* Root may inspect all of them, and sees their owners. */
	CHECK_EQ("-", proc_permit((uint32_t)mine.pid), 0);
	CHECK_EQ("-", proc_permit((uint32_t)hidden.pid), 0);
	CHECK_EQ("-", proc_read((uint32_t)others.pid, &proc), 0);
	CHECK_EQ("-", proc.uid, 65534);
	CHECK("-", ident_same(proc.ident, others.ident));
	become((void *)65533);
	CHECK_EQ("-", proc_permit((uint32_t)mine.pid), 0);
	CHECK_EQ("-", proc_permit((uint32_t)hidden.pid), -EPERM);
	CHECK_EQ("-", proc_permit((uint32_t)others.pid), -EPERM);
	CHECK_EQ("-", proc_permit(1), -EPERM);
	CHECK_EQ("-", proc_read((uint32_t)others.pid, &proc), 0);
	CHECK_EQ("-", proc.uid, 65534);
	close(mine.end);
	close(hidden.end);
	close(others.end);
}

/* -- Namespaces ---------------------------------------------------------------------- */

static void unshare_pids(void *arg)
{
	int *fd = arg, go[2];
	uint64_t word[3] = { 0 };
	pid_t pid;

	if (unshare(CLONE_NEWPID) < 0)
		SKIP("no pid namespaces for this user here");
	MUST(pipe(go) == 0);
	pid = fork();
	if (pid == 0) {
		/* With /proc of the old namespace: the identity is taken from what it says about "self". */
		MUST(read(go[0], word, 1) == 1);
		_exit(!unit_send_ident(fd[1]) || pause());
	}
	word[0] = (uint64_t)pid;
	MUST(write(fd[1], word, sizeof word) == sizeof word && write(go[1], "", 1) == 1);
}

TEST(namespace)
{
	int fd[2];
	struct unit_child child;
	struct ident id;
	struct proc proc;
	uint64_t word[3];
	pid_t pid;

	if (!test_capable(CAP_SYS_ADMIN))
		SKIP("only root makes pid namespaces, and not here");
	MUST(pipe(fd) == 0);
	child = unit_child(unshare_pids, fd);
	close(fd[1]);
	MUST(read(fd[0], word, sizeof word) == sizeof word);
	pid = (pid_t)word[0];
	id = unit_receive_ident(fd[0]);
	MUST(pid > 1);
	CHECK_EQ("-", proc_read((uint32_t)pid, &proc), 0);
	CHECK_EQ("-", proc.number, pid);
	CHECK("-", ident_same(proc.ident, id)); /* the identity within its own namespace, where it is process 1 */
	CHECK("-", proc.ident.pidns != unit_ident().pidns);
	CHECK("-", proc_contained((uint32_t)pid));
	kill(pid, SIGKILL);
	unit_kill_child(&child);
}

/* -- Time ------------------------------------------------------------------------------ */

/* A process that starts after a tick has begun has this tick or a later one as its start time. */
TEST(ticks)
{
	for (int i = 0; i < 10; i++) {
		uint64_t before = ident_ticks(), from;
		struct unit_child early = unit_child(NULL, NULL), late;

		from = ident_ticks() + 1;
		ident_next_tick();
		CHECK_OP("-", ident_ticks(), >=, from);
		late = unit_child(NULL, NULL);
		CHECK_OP("-", early.ident.start, <, from);
		CHECK_OP("-", early.ident.start, >=, before);
		CHECK_OP("-", late.ident.start, >=, from);
		unit_end_child(&late); /* it has inherited the pipe on which the other child waits */
		unit_end_child(&early);
	}
}

TEST(threads)
{
	CHECK("-", thread_alive(unit_tid()));
	CHECK("-", thread_alive(unit_living_thread()));
	CHECK("-", !thread_alive(unit_dead_thread()));
	CHECK("-", !thread_alive(0x7ffffff0));
}

TEST_MAIN(TEST_ENTRY(self), TEST_ENTRY(nobody), TEST_ENTRY(odd_name), TEST_ENTRY(child), TEST_ENTRY(survives_exec),
          TEST_ENTRY(permitted), TEST_ENTRY(namespace), TEST_ENTRY(ticks), TEST_ENTRY(threads))
