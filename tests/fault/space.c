/*
 * space.c - too little memory or too few descriptors: create fails, trace points never do
 *
 * SPDX-License-Identifier: MIT
 */
#include "fault.h"
#include "sanitizer.h"

#include <sys/resource.h>

static void limit(int resource, rlim_t most)
{
	struct rlimit l;

	MUST(getrlimit(resource, &l) == 0);
	l.rlim_cur = most;
	MUST(setrlimit(resource, &l) == 0);
}

/* H12: creation fails with ENOMEM, and SIGBUS never occurs. */
TEST(tmpfs_too_small)
{
	trace_event_id_t id;

	shm_private("size=512k");
	id = fault_open("fault");
	for (int i = 0; i < 3; i++) {
		CHECK_EQ("CREATE-21", fault_create(0), ENOMEM); /* 1 MiB by default */
		CHECK_EQ("CREATE-21", fault_create(SIZE_MAX / 2), ENOMEM);
		CHECK_EQ("CREATE-21", fault_create(SIZE_MAX), ENOMEM);
		CHECK_EQ("-", shm_count(shm_directory(), "stream-"), 0);
		CHECK_EQ("-", shm_count(shm_directory(), "new-"), 0);
	}
	fault_silent(id);
	CHECK_EQ("-", fault_create(65536), 0);
	shm_remount(0, "size=16m");
	fault_works(id);
}

/* A stream's memory is reserved, so a full tmpfs does not harm it. */
TEST(tmpfs_full_later)
{
	static char block[65536];
	trace_event_id_t id;
	trace_id_t trid;
	int fd;

	shm_private("size=4m");
	id = fault_open("fault");
	MUST(posix_trace_create(0, NULL, &trid) == 0 && posix_trace_start(trid) == 0);
	fd = open("/dev/shm/others", O_CREAT | O_WRONLY, 0600);
	memset(block, 1, sizeof block);
	while (write(fd, block, sizeof block) > 0)
		;
	MUST(errno == ENOSPC);
	for (int i = 0; i < 20000; i++)
		posix_trace_event(id, block, 100); /* more than the stream holds */
	CHECK("-", fault_count(trid, id) > 5000);
	CHECK_EQ("CREATE-21", fault_create(0), ENOMEM);
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
}

/* No space even for the process page. */
TEST(no_space_at_all)
{
	trace_event_id_t id;

	shm_private("size=4k,nr_inodes=2"); /* room for the directory */
	id = fault_open("fault");
	CHECK("-", id > POSIX_TRACE_UNNAMED_USEREVENT);
	CHECK_EQ("CREATE-21", fault_create(65536), ENOMEM);
	fault_silent(id);
	CHECK_STR("-", shm_left(), "");
	shm_remount(0, "size=16m,nr_inodes=100");
	fault_works(id);
}

/* A name without memory gets the unnamed event type, like a name beyond the maximum. */
TEST(no_space_for_names)
{
	trace_event_id_t id = 0;
	char name[32];
	int i;

	shm_private("size=80k,nr_inodes=100"); /* the page, the registry, and 64 names more */
	for (i = 0; i < TRACE_USER_EVENT_MAX; i++) {
		sprintf(name, "name %d", i);
		id = fault_open(name);
		if (id == POSIX_TRACE_UNNAMED_USEREVENT)
			break;
	}
	CHECK("-", i >= 64 && i < TRACE_USER_EVENT_MAX - 1);
	fault_silent(id);
	CHECK("-", fault_open("name 0") > POSIX_TRACE_UNNAMED_USEREVENT);
}

/* H13: SIGXFSZ would end the program; tracing must not cause it. */
TEST(file_size)
{
	trace_event_id_t id;

	shm_private("");
	limit(RLIMIT_FSIZE, 300000);
	id = fault_open("fault");
	CHECK_EQ("CREATE-21", fault_create(0), ENOMEM);
	CHECK_EQ("-", fault_create(10000), 0);
	CHECK_EQ("-", shm_count(shm_directory(), "stream-"), 0);
	limit(RLIMIT_FSIZE, 0);
	CHECK_EQ("CREATE-21", fault_create(10000), ENOMEM);
	for (int i = 0; i < 500; i++) {
		char name[32];

		sprintf(name, "name %d", i);
		fault_open(name);
	}
	CHECK_EQ("-", fault_open("fault"), id);
	fault_silent(id);
}

/* A process that cannot write to a dead creator's file leaves the recovery to a later process. */
TEST(file_size_beside_dead)
{
	struct rlimit before;
	pid_t pid;

	shm_private("");
	fault_works(fault_open("fault"));
	fflush(stderr);
	pid = fork();
	if (pid == 0) {
		trace_id_t trid;

		MUST(posix_trace_create(0, NULL, &trid) == 0 && posix_trace_start(trid) == 0);
		raise(SIGKILL);
	}
	MUST(waitpid(pid, NULL, 0) == pid);
	CHECK_EQ("-", shm_count(shm_directory(), "stream-"), 1);
	MUST(getrlimit(RLIMIT_FSIZE, &before) == 0);
	limit(RLIMIT_FSIZE, 0);
	CHECK_EQ("CREATE-21", fault_create(10000), ENOMEM);
	MUST(setrlimit(RLIMIT_FSIZE, &before) == 0);
	fault_works(fault_open("fault"));
	CHECK_EQ("-", shm_count(shm_directory(), "stream-"), 0);
}

/* No descriptor is available from the first to the last call. */
TEST(no_descriptors)
{
	trace_event_id_t id;
	int error;

	shm_private("");
	limit(RLIMIT_NOFILE, 3);
	id = fault_open("fault");
	CHECK("-", id > POSIX_TRACE_UNNAMED_USEREVENT);
	error = fault_create(0);
	CHECK_EQ("-", error, EMFILE);
	fault_trace(&id);
	limit(RLIMIT_NOFILE, 1024);
	fault_works(id);
}

/* Creating a stream needs descriptors. Recording, reading and shutdown do not. */
TEST(no_descriptors_later)
{
	trace_event_id_t id;
	trace_id_t trid;

	shm_private("");
	id = fault_open("fault");
	MUST(posix_trace_create(0, NULL, &trid) == 0 && posix_trace_start(trid) == 0);
	posix_trace_event(id, NULL, 0);
	limit(RLIMIT_NOFILE, 3);
	fault_trace(&id);
	CHECK_EQ("-", fault_count(trid, id), 11);
	CHECK_EQ("-", posix_trace_stop(trid), 0);
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
	limit(RLIMIT_NOFILE, 1024);
	CHECK_EQ("-", shm_count(shm_directory(), "stream-"), 0);
	fault_works(id);
}

/* No descriptor is available at the first event. When descriptors are available again, events are recorded again, and
 * the missing events are counted. */
TEST(no_descriptors_at_first_event)
{
	struct posix_trace_status_info status;
	trace_event_id_t id;
	trace_id_t trid;
	int got;

	shm_private("");
	id = fault_open("fault");
	MUST(posix_trace_create(0, NULL, &trid) == 0 && posix_trace_start(trid) == 0);
	limit(RLIMIT_NOFILE, 3);
	posix_trace_event(id, NULL, 0);
	limit(RLIMIT_NOFILE, 1024);
	posix_trace_event(id, NULL, 0);
	got = fault_count(trid, id);
	CHECK_EQ("-", posix_trace_get_status(trid, &status), 0);
	if (got == 1)
		CHECK_EQ("-", status.__posix_lost_events, 1);
	else
		CHECK_EQ("-", got, 2);
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
}

/* With every number of descriptors create either succeeds or returns the error and leaves nothing behind. */
TEST(few_descriptors)
{
	trace_event_id_t id;
	int error = EMFILE;

	shm_private("");
	id = fault_open("fault");
	fault_works(id);
	for (rlim_t n = 3; n < 10 && error == EMFILE; n++) {
		limit(RLIMIT_NOFILE, n);
		error = fault_create(0);
		CHECK("-", error == 0 || error == EMFILE);
		limit(RLIMIT_NOFILE, 1024);
		CHECK_EQ("-", shm_count(shm_directory(), "stream-"), 0);
		CHECK_EQ("-", shm_count(shm_directory(), "new-"), 0);
	}
	CHECK_EQ("-", error, 0);
	fault_works(id);
}

TEST(address_space)
{
#if SANITIZER_ADDRESS || SANITIZER_THREAD
	SKIP("the sanitizer needs all of the address space");
#endif
	trace_event_id_t id;
	struct rlimit before;
	int error = ENOMEM;

	if (getenv("TEST_SLOW"))
		SKIP("other programs than this one share its address space");
	shm_private("");
	id = fault_open("fault");
	fault_works(id);
	MUST(getrlimit(RLIMIT_AS, &before) == 0);
	for (rlim_t n = 1 << 20; n < (rlim_t)1 << 32 && error == ENOMEM; n += n / 4) {
		limit(RLIMIT_AS, n);
		error = fault_create(0);
		fault_trace(&id);
		MUST(setrlimit(RLIMIT_AS, &before) == 0);
		CHECK("-", error == 0 || error == ENOMEM);
		CHECK_EQ("-", shm_count(shm_directory(), "stream-"), 0);
		CHECK_EQ("-", shm_count(shm_directory(), "new-"), 0);
	}
	CHECK_EQ("-", error, 0);
	fault_works(id);
}

/* The process has not mapped anything yet. */
TEST(address_space_at_first_event)
{
#if SANITIZER_ADDRESS || SANITIZER_THREAD
	SKIP("the sanitizer needs all of the address space");
#endif
	trace_event_id_t id = POSIX_TRACE_UNNAMED_USEREVENT;
	struct rlimit before;

	if (getenv("TEST_SLOW"))
		SKIP("other programs than this one share its address space");
	shm_private("");
	MUST(getrlimit(RLIMIT_AS, &before) == 0);
	limit(RLIMIT_AS, 4096);
	fault_trace(&id);
	CHECK_EQ("CREATE-21", fault_create(0), ENOMEM);
	MUST(setrlimit(RLIMIT_AS, &before) == 0);
	fault_works(fault_open("fault"));
}

TEST_MAIN(TEST_ENTRY(tmpfs_too_small), TEST_ENTRY(tmpfs_full_later), TEST_ENTRY(no_space_at_all),
          TEST_ENTRY(no_space_for_names), TEST_ENTRY(file_size), TEST_ENTRY(file_size_beside_dead),
          TEST_ENTRY(no_descriptors), TEST_ENTRY(no_descriptors_later), TEST_ENTRY(no_descriptors_at_first_event),
          TEST_ENTRY(few_descriptors), TEST_ENTRY(address_space), TEST_ENTRY(address_space_at_first_event))
