/*
 * each_call.h - the calls of the library that each_call.c makes again and again, and the file in which it keeps how far it is
 *
 * each_call.py makes the file, names it in the environment (EACH_CALL), and runs
 * the program until there is no call in it that has more to be tried.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EACH_CALL_H
#define EACH_CALL_H

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>

/* Of the test program, where each of its failed checks counts. */
extern volatile int *const each_call_failures;

#define EACH_CALL_ANY (-1) /* the very error that the system has given */

/* Every function of <trace.h> that comes to the system, and what it may say then. */
#define EACH_CALL(FUNCTION)                                                                                   \
	FUNCTION(create, EAGAIN, ENOMEM, EPERM, ESRCH, EACCES, EMFILE, ENFILE, EROFS, ENOSPC)                 \
	FUNCTION(create_withlog, EAGAIN, ENOMEM, EPERM, ESRCH, EACCES, EBADF, ENOSPC, EACH_CALL_ANY)           \
	FUNCTION(flush, EACH_CALL_ANY)                                                                        \
	FUNCTION(shutdown, EACH_CALL_ANY)                                                                     \
	FUNCTION(clear, EACH_CALL_ANY)                                                                        \
	FUNCTION(start, 0)                                                                                    \
	FUNCTION(stop, 0)                                                                                     \
	FUNCTION(get_attr, 0)                                                                                 \
	FUNCTION(get_status, 0)                                                                               \
	FUNCTION(open, ENOMEM, EINVAL, EMFILE, ENFILE)                                                        \
	FUNCTION(rewind, 0)                                                                                   \
	FUNCTION(close, 0)                                                                                    \
	FUNCTION(eventid_open, 0)                                                                             \
	FUNCTION(trid_eventid_open, 0)                                                                        \
	FUNCTION(eventid_equal, 0)                                                                            \
	FUNCTION(eventid_get_name, 0)                                                                         \
	FUNCTION(eventtypelist_getnext_id, 0)                                                                 \
	FUNCTION(eventtypelist_rewind, 0)                                                                     \
	FUNCTION(get_filter, 0)                                                                               \
	FUNCTION(set_filter, 0)                                                                               \
	FUNCTION(getnext_event, 0)                                                                            \
	FUNCTION(timedgetnext_event, 0)                                                                       \
	FUNCTION(trygetnext_event, 0)

#define EACH_CALL_NUMBER(name, ...) EACH_CALL_##name,
enum { EACH_CALL(EACH_CALL_NUMBER) EACH_CALL_FUNCTIONS };

#define EACH_CALL_PROCESSES 16  /* of one test; others make calls that never fail */
#define EACH_CALL_MOST      512 /* of one function in one process; later ones never fail */

#define EACH_CALL_GONE_ON   4096 /* that are written down */

/* One call: where it goes on when the program is run again. */
struct each_call_entry {
	uint16_t next; /* the first failure that has not been tried; 0: all of them */
	uint16_t done; /* all have been */
};

/* A call that has succeeded with a failure in it, and the test has the result. */
struct each_call_on {
	uint32_t role, function, number, at;
};

struct each_call {
	/* From each_call.py. */
	uint32_t pass;    /* how often it has been run before */
	uint32_t seed;
	uint32_t step;    /* 1: all failures; else so far apart from each other at the most, at random */
	uint32_t most;    /* calls of one function in one process */
	uint32_t verbose; /* says of each failure what comes of it */
	uint32_t only_role, only_function, only_number, only_at; /* if the last is not 0: this failure and no other */
	/* For it. */
	_Atomic uint32_t processes; /* that have come to a call */
	_Atomic uint32_t calls;     /* in which something was to fail */
	_Atomic uint32_t points;    /* that have failed */
	_Atomic uint32_t refused;   /* of these, with a call that has failed */
	_Atomic uint32_t pending;   /* calls that have more, for another pass */
	_Atomic uint32_t ended;     /* the test could not go on, and was not wrong */
	_Atomic uint32_t wrong;     /* checks of each_call.c that have failed */
	_Atomic uint32_t gone_on;
	struct each_call_on on[EACH_CALL_GONE_ON];
	struct each_call_entry entry[EACH_CALL_PROCESSES][EACH_CALL_FUNCTIONS][EACH_CALL_MOST];
};

#endif
