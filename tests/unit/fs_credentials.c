/*
 * fs_credentials.c - src/host/fs_credentials.c: temporary use of another user's rights in the file system
 *
 * SPDX-License-Identifier: MIT
 */
#include "host/fs_credentials.h"

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

/* Returns the owner of a newly created file, or a negative error number. The file is unlinked. */
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
	struct fs_credentials g;

	root_only();
	CHECK_EQ("-", owner_of_new(), 0);
	fs_credentials_use(&g, USER, USER);
	CHECK_EQ("-", owner_of_new(), USER);
	CHECK_EQ("-", geteuid(), 0); /* only in the file system */
	fs_credentials_restore(&g);
	CHECK_EQ("-", owner_of_new(), 0);
	fs_credentials_restore(&g); /* no effect when not in use */
	CHECK_EQ("-", owner_of_new(), 0);
}

/* An operation that the user may not do fails, so a path cannot lead where the user could not go. */
TEST(rights)
{
	struct fs_credentials g;

	root_only();
	MUST(mkdir("/dev/shm/closed", 0700) == 0);
	MUST(close(open("/dev/shm/closed/file", O_CREAT | O_WRONLY, 0600)) == 0);
	fs_credentials_use(&g, USER, USER);
	CHECK("-", open("/dev/shm/closed/file", O_RDONLY) < 0 && errno == EACCES);
	CHECK("-", unlink("/dev/shm/closed/file") < 0 && errno == EACCES);
	fs_credentials_restore(&g);
	CHECK("-", access("/dev/shm/closed/file", F_OK) == 0);
}

static int handled;

static void handler(int signal)
{
	handled++;
}

/* No signal handler runs with the changed credentials, and what the kernel changes along with them is restored. */
TEST(nobody_sees_it)
{
	sigset_t before, after;
	struct fs_credentials g;
	int death = 0;

	root_only();
	signal(SIGUSR1, handler);
	MUST(prctl(PR_SET_PDEATHSIG, SIGUSR2) == 0);
	sigprocmask(SIG_BLOCK, NULL, &before);
	for (int dumpable = 0; dumpable < 2; dumpable++) {
		MUST(prctl(PR_SET_DUMPABLE, dumpable) == 0);
		handled = 0;
		fs_credentials_use(&g, USER, USER);
		raise(SIGUSR1);
		CHECK_EQ("-", handled, 0);
		fs_credentials_restore(&g);
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

/* Other threads keep their own credentials. */
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
	struct fs_credentials g;

	root_only();
	MUST(pthread_create(&thread, NULL, make_file, &owner) == 0);
	fs_credentials_use(&g, USER, USER);
	store_release(&on, 1);
	pthread_join(thread, NULL);
	fs_credentials_restore(&g);
	CHECK_EQ("-", owner, 0);
}

TEST(oneself)
{
	sigset_t before, during;
	struct fs_credentials g;

	sigprocmask(SIG_BLOCK, NULL, &before);
	fs_credentials_use(&g, geteuid(), getegid());
	sigprocmask(SIG_BLOCK, NULL, &during);
	for (int i = 1; i < SIGRTMAX; i++)
		CHECK_EQ("-", sigismember(&before, i), sigismember(&during, i)); /* no effect */
	fs_credentials_restore(&g);
}

/* A process without the right to change its credentials keeps them. */
TEST(without_rights)
{
	struct fs_credentials g;
	int status;

	root_only();
	if (fork() == 0) {
		MUST(setgid(USER) == 0 && setuid(USER) == 0);
		fs_credentials_use(&g, 65533, 65533);
		CHECK_EQ("-", owner_of_new(), USER);
		fs_credentials_restore(&g);
		CHECK_EQ("-", owner_of_new(), USER);
		_exit(test_failures ? 1 : 0);
	}
	wait(&status);
	CHECK_EQ("-", status, 0);
}

TEST_MAIN(TEST_ENTRY(on_and_off), TEST_ENTRY(rights), TEST_ENTRY(nobody_sees_it), TEST_ENTRY(this_thread_only),
          TEST_ENTRY(oneself), TEST_ENTRY(without_rights))
