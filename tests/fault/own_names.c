/*
 * own_names.c - a statically linked program whose functions have names of internal functions of the library
 *
 * It can be linked, and neither calls the other's functions.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fault.h"

static int called;

int lock_acquire(int number);
int sys_open(const char *path);
void *file_map(void);

int lock_acquire(int number)
{
	called++;
	return number;
}

int sys_open(const char *path)
{
	called++;
	return path ? -1 : 0;
}

void *file_map(void)
{
	called++;
	return NULL;
}

/* The name of a variable of the library. */
int self_names = 4711;

TEST(own_names)
{
	trace_event_id_t id;
	trace_id_t trid;

	shm_private("");
	id = fault_open("own names");
	MUST(posix_trace_create(0, NULL, &trid) == 0 && posix_trace_start(trid) == 0);
	posix_trace_event(id, "data", 4);
	CHECK_EQ("-", posix_trace_stop(trid), 0);
	CHECK_EQ("-", fault_count(trid, id), 1);
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
	CHECK_EQ("-", called, 0);
	CHECK_EQ("-", self_names, 4711);
	CHECK_EQ("-", lock_acquire(12) + sys_open("x"), 11);
	CHECK("-", !file_map() && called == 3);
}

TEST_MAIN(TEST_ENTRY(own_names))
