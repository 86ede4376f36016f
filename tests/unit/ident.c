/*
 * ident.c - src/base/ident.c: which process or thread, and does it still live
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/ident.h"

#include <sys/prctl.h>

#include "unit.h"

TEST(self)
{
	struct ident a = ident_self(), b = ident_self();

	CHECK_EQ("-", a.pid, getpid());
	CHECK("-", a.start != 0);
	CHECK_EQ("-", a.start, b.start);
	CHECK("-", ident_alive(a));
	CHECK("-", ident_alive((struct ident){ a.pid, 0 })); /* start not known */
	CHECK("-", !ident_alive((struct ident){ a.pid, a.start + 1 })); /* somebody who had this number before */
	CHECK("-", !ident_alive((struct ident){ 0, a.start }));
	CHECK("-", !ident_alive((struct ident){ 0x7ffffff0, 0 }));
}

/* The name of the command stands in the same line of /proc, and may contain what looks like the rest of it. */
TEST(odd_name)
{
	struct ident before = ident_self();

	MUST(prctl(PR_SET_NAME, ") Z 1 1 1 (") == 0);
	CHECK_EQ("-", ident_self().start, before.start);
	CHECK("-", ident_alive(before));
}

TEST(child)
{
	struct ident id;
	int status, to_parent[2], to_child[2];
	pid_t pid;
	char c;

	MUST(pipe(to_parent) == 0 && pipe(to_child) == 0);
	pid = fork();
	if (pid == 0) {
		if (!unit_send_ident(to_parent[1]))
			_exit(1);
		_exit(read(to_child[0], &c, 1) != 1);
	}
	close(to_parent[1]);
	id = unit_receive_ident(to_parent[0]);
	CHECK_EQ("-", id.pid, pid);
	CHECK("-", ident_alive(id));
	MUST(write(to_child[1], "", 1) == 1);
	MUST(waitid(P_PID, (id_t)pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT) == 0);
	CHECK("-", !ident_alive(id)); /* waits to be reaped */
	CHECK("-", !ident_alive((struct ident){ id.pid, 0 }));
	MUST(waitpid(pid, &status, 0) == pid && status == 0);
	CHECK("-", !ident_alive(id));
}

TEST(survives_exec)
{
	struct ident id;
	int status, to_parent[2], to_child[2];
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
	CHECK("-", ident_alive(id));
	MUST(write(to_child[1], "\n", 1) == 1);
	MUST(waitpid(pid, &status, 0) == pid);
	CHECK_EQ("-", status, 0);
}

static const char *program;

/* Different after exec, equal after fork. */
TEST(image)
{
	uint64_t image = ident_image(), other = 0;
	int fd[2], status;
	pid_t pid;

	CHECK("-", image != 0);
	CHECK("-", ident_image() == image);
	pid = fork();
	if (pid == 0)
		_exit(ident_image() != image);
	MUST(waitpid(pid, &status, 0) == pid);
	CHECK_EQ("-", status, 0);

	MUST(pipe(fd) == 0);
	pid = fork();
	if (pid == 0) {
		dup2(fd[1], 1);
		execl(program, program, "print_image", NULL);
		_exit(1);
	}
	close(fd[1]);
	MUST(read(fd[0], &other, sizeof other) == sizeof other);
	MUST(waitpid(pid, &status, 0) == pid);
	CHECK("-", other != image);
}

/* For the test above. */
TEST(print_image)
{
	uint64_t image = ident_image();

	MUST(write(1, &image, sizeof image) == sizeof image);
}

TEST(threads)
{
	CHECK("-", thread_alive(unit_tid()));
	CHECK("-", thread_alive(unit_living_thread()));
	CHECK("-", !thread_alive(unit_dead_thread()));
	CHECK("-", !thread_alive(0x7ffffff0));
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		TEST_ENTRY(self), TEST_ENTRY(odd_name), TEST_ENTRY(child), TEST_ENTRY(survives_exec), TEST_ENTRY(image),
		TEST_ENTRY(threads), { NULL, NULL },
	};

	program = argv[0];
	if (argc > 1 && strcmp(argv[1], "print_image") == 0) {
		test_print_image();
		return 0;
	}
	return test_main(tests, argc, argv);
}
