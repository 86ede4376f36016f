/*
 * each_call.h - the calls of the library that each_call.c makes again and again, and the file in which it keeps how far it is
 *
 * each_call.py makes the file, names it in the environment (EACH_CALL), and runs
 * the program until no situation in it has more to be tried.
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

#define EACH_CALL_GONE_ON    4096  /* that are written down */
#define EACH_CALL_LEFT_OUT   8     /* of one test */
#define EACH_CALL_SITUATIONS 65536 /* a power of two */

/*
 * A call into the system, from one place in the library and after the same
 * other one, in a call from one place in the test. There may be thousands like it.
 */
struct each_call_situation {
	_Atomic uint64_t key;     /* 0: free */
	_Atomic uint64_t last;    /* the call in which it has failed last */
	_Atomic uint32_t failed;  /* how often */
	_Atomic uint32_t undone;  /* of these, gone on, and the test has not seen the result yet */
};

/* A call that has succeeded with a failure in it, and the test has the result. */
struct each_call_on {
	uint64_t situation;
	uint32_t role, function, number, error;
	char name[24]; /* of what has failed */
};

/* What does not fail in one test. */
struct each_call_left_out {
	char function[32], name[24];
};

struct each_call {
	/* From each_call.py. */
	uint32_t pass;    /* how often it has been run before */
	uint32_t seed;
	uint32_t each;    /* how often a situation fails */
	uint32_t some;    /* 1: all situations; else one of so many, at random */
	uint32_t verbose; /* says of each failure what comes of it */
	uint32_t left_out_alone; /* nothing fails but what is left out otherwise */
	struct each_call_left_out left_out[EACH_CALL_LEFT_OUT];
	struct each_call_on only; /* if there is a situation: this failure and no other */
	/* For it. */
	_Atomic uint32_t processes; /* that have come to a call */
	_Atomic uint32_t calls;     /* of the library */
	_Atomic uint32_t points;    /* that have failed */
	_Atomic uint32_t refused;   /* of these, with a call that has failed */
	_Atomic uint32_t pending;   /* calls that may have more, for another pass */
	_Atomic uint32_t ended;     /* the test could not go on, and was not wrong */
	_Atomic uint32_t wrong;     /* checks of each_call.c that have failed */
	_Atomic uint32_t full;      /* there were more situations than there is room for */
	_Atomic uint32_t gone_on;
	struct each_call_on on[EACH_CALL_GONE_ON];
	struct each_call_situation situation[EACH_CALL_SITUATIONS];
};

#endif
