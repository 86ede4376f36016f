/*
 * guise.c - src/base/guise.c: with another user's rights in the file system, for a moment
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/guise.h"

#include <sys/prctl.h>

#include "sanitizer.h"
#include "shm.h"
#include "unit.h"

#define USER 65534

static void root_only(void)
{
	if (geteuid() != 0)
		SKIP("only root has other users' rights");
	shm_private("");
}

/* Who a file belongs to that is made now; its name is gone. */
static long owner_of_new(void)
{
	struct stat st = { .st_uid = 4711 };
	int fd = open("/dev/shm/new", O_CREAT | O_EXCL | O_WRONLY, 0600);

	if (fd < 0)
		return -errno;
	MUST(fstat(fd, &st) == 0);
	close(fd);
	unlink("/dev/shm/new");
	return (long)st.st_uid;
}

TEST(on_and_off)
{
	struct guise g;

	root_only();
	CHECK_EQ("-", owner_of_new(), 0);
	guise_put_on(&g, USER, USER);
	CHECK_EQ("-", owner_of_new(), USER);
	CHECK_EQ("-", geteuid(), 0); /* in the file system only */
	guise_take_off(&g);
	CHECK_EQ("-", owner_of_new(), 0);
	guise_take_off(&g); /* nothing is on */
	CHECK_EQ("-", owner_of_new(), 0);
}

/* What that user may not do cannot be done: nothing leads where it could not go itself. */
TEST(rights)
{
	struct guise g;

	root_only();
	MUST(mkdir("/dev/shm/closed", 0700) == 0);
	MUST(close(open("/dev/shm/closed/file", O_CREAT | O_WRONLY, 0600)) == 0);
	guise_put_on(&g, USER, USER);
	CHECK("-", open("/dev/shm/closed/file", O_RDONLY) < 0 && errno == EACCES);
	CHECK("-", unlink("/dev/shm/closed/file") < 0 && errno == EACCES);
	guise_take_off(&g);
	CHECK("-", access("/dev/shm/closed/file", F_OK) == 0);
}

static int handled;

static void handler(int signal)
{
	handled++;
}

/* A handler of the application's does not run with it; and what the kernel changes with it is put back. */
TEST(nobody_sees_it)
{
	sigset_t before, after;
	struct guise g;
	int death = 0;

	root_only();
	signal(SIGUSR1, handler);
	MUST(prctl(PR_SET_PDEATHSIG, SIGUSR2) == 0);
	sigprocmask(SIG_BLOCK, NULL, &before);
	for (int dumpable = 0; dumpable < 2; dumpable++) {
		MUST(prctl(PR_SET_DUMPABLE, dumpable) == 0);
		handled = 0;
		guise_put_on(&g, USER, USER);
		raise(SIGUSR1);
		CHECK_EQ("-", handled, 0);
		guise_take_off(&g);
		sanitizer_signals();
		CHECK_EQ("-", handled, 1);
		CHECK_EQ("-", prctl(PR_GET_DUMPABLE), dumpable);
		MUST(prctl(PR_GET_PDEATHSIG, &death) == 0);
		CHECK_EQ("-", death, SIGUSR2);
	}
	sigprocmask(SIG_BLOCK, NULL, &after);
	for (int i = 1; i < SIGRTMAX; i++)
		CHECK_EQ("-", sigismember(&before, i), sigismember(&after, i));
}

/* Another thread, which was there before, has its own rights. */
static uint32_t on;

static void *make_file(void *owner)
{
	while (!load_acquire(&on))
		sched_yield();
	*(long *)owner = owner_of_new();
	return NULL;
}

TEST(this_thread_only)
{
	long owner = -1;
	pthread_t thread;
	struct guise g;

	root_only();
	MUST(pthread_create(&thread, NULL, make_file, &owner) == 0);
	guise_put_on(&g, USER, USER);
	store_release(&on, 1);
	pthread_join(thread, NULL);
	guise_take_off(&g);
	CHECK_EQ("-", owner, 0);
}

TEST(oneself)
{
	sigset_t before, during;
	struct guise g;

	sigprocmask(SIG_BLOCK, NULL, &before);
	guise_put_on(&g, geteuid(), getegid());
	sigprocmask(SIG_BLOCK, NULL, &during);
	for (int i = 1; i < SIGRTMAX; i++)
		CHECK_EQ("-", sigismember(&before, i), sigismember(&during, i)); /* nothing is done */
	guise_take_off(&g);
}

/* Who may not change his rights keeps them. */
TEST(without_rights)
{
	struct guise g;
	int status;

	root_only();
	if (fork() == 0) {
		MUST(setgid(USER) == 0 && setuid(USER) == 0);
		guise_put_on(&g, 65533, 65533);
		CHECK_EQ("-", owner_of_new(), USER);
		guise_take_off(&g);
		CHECK_EQ("-", owner_of_new(), USER);
		_exit(test_failures ? 1 : 0);
	}
	wait(&status);
	CHECK_EQ("-", status, 0);
}

TEST_MAIN(TEST_ENTRY(on_and_off), TEST_ENTRY(rights), TEST_ENTRY(nobody_sees_it), TEST_ENTRY(this_thread_only),
          TEST_ENTRY(oneself), TEST_ENTRY(without_rights))
