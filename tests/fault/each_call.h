/*
 * each_call.h - the library calls that each_call.c repeats, and the file that records its progress
 *
 * each_call.py makes the file, names it in the environment (EACH_CALL), and runs the program until nothing is left to
 * try in any situation.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EACH_CALL_H
#define EACH_CALL_H

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>

/* The test program's counter of failed checks. */
extern volatile int *const each_call_failures;

#define EACH_CALL_ANY (-1) /* the error number of the failed system call */

/* Every function of <trace.h> that makes system calls, and the errors that it may return after a failure. */
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
	FUNCTION(open, ENOMEM, EINVAL, EMFILE)                                                                \
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

#define EACH_CALL_GONE_ON    4096  /* most entries of `on` */
#define EACH_CALL_LEFT_OUT   8     /* most entries for one test */
#define EACH_CALL_SITUATIONS 65536 /* a power of two */

/*
 * A system call from one place in the library, after a certain previous place, in a call from one place in the test. It
 * may occur thousands of times.
 */
struct each_call_situation {
	_Atomic uint64_t key;     /* 0: free */
	_Atomic uint64_t last;    /* the library call in which it failed last */
	_Atomic uint32_t failed;  /* number of failures */
	_Atomic uint32_t undone;  /* number of failures with a successful call that was undone: the test has not seen
				   * the results yet */
};

/* A library call that has succeeded despite a failure, and whose result the test has got. */
struct each_call_on {
	uint64_t situation;
	uint32_t role, function, number, error;
	char name[24]; /* of the failed system call */
};

/* A failure left out of one test. */
struct each_call_left_out {
	char function[32], name[24];
};

struct each_call {
	/* From each_call.py. */
	uint32_t pass;    /* number of earlier runs */
	uint32_t seed;
	uint32_t each;    /* how often each situation fails */
	uint32_t some;    /* 1: all situations; n: a random one of n */
	uint32_t verbose; /* print the outcome of each failure */
	uint32_t left_out_alone; /* only failures that are otherwise left out */
	struct each_call_left_out left_out[EACH_CALL_LEFT_OUT];
	struct each_call_on only; /* if the situation is not 0: this failure only */
	/* For each_call.py. */
	_Atomic uint32_t processes; /* processes that have made a library call */
	_Atomic uint32_t calls;     /* library calls */
	_Atomic uint32_t points;    /* situations that have failed */
	_Atomic uint32_t refused;   /* of these: with a failed library call */
	_Atomic uint32_t pending;   /* calls with failures left for another pass */
	_Atomic uint32_t ended;     /* processes that could not continue, without an error */
	_Atomic uint32_t wrong;     /* failed checks of each_call.c */
	_Atomic uint32_t full;      /* there were more than EACH_CALL_SITUATIONS */
	_Atomic uint32_t gone_on;
	struct each_call_on on[EACH_CALL_GONE_ON];
	struct each_call_situation situation[EACH_CALL_SITUATIONS];
};

#endif
