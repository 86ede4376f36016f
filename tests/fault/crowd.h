/*
 * crowd.h - the memory that all processes of a crowd share, and that survives killed processes
 *
 * A *family* is a process and all its descendants, its *members*. A family is one process group, so the kernel knows
 * when its last member has ended. A member stays the same member when it executes this program again. Each thread that
 * traces is a *source*. It numbers its events from 1 on; it stores the number in *begun* before each trace point and in
 * *done* after it. So of a killed source all events up to *done* are committed, and at most one more, *begun*, may be.
 * A *job* is the work of a controller: streams of one family, one of them perhaps with a log.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CROWD_H
#define CROWD_H

#include "books.h"

#define SHARED_FILE "/dev/shm/crowd" /* in the test's own /dev/shm */

#define FAMILIES 80
#define MEMBERS  32 /* of a family during its whole life */
#define SOURCES  96
#define JOBS     80

#define HEAD 0 /* the first member of a family */

struct source {
	_Atomic uint64_t begun, done; /* numbers of the last trace points that have begun and returned */
	_Atomic int member, pid, tid; /* pid is set last; 0: unused */
} __attribute__((aligned(64)));

struct member {
	_Atomic int pid;
	_Atomic int parent;      /* index of a member */
	_Atomic int64_t born;    /* just before the parent made the member */
	_Atomic int images;      /* number of executions */
	_Atomic int way;         /* how it was made */
	_Atomic int headed;      /* number of streams created for the member and its descendants */
};

enum family_state { FAMILY_FREE, FAMILY_WAITS, FAMILY_LIVES, FAMILY_ENDS, FAMILY_DEAD };

struct family {
	_Atomic int state;
	uint64_t seed;
	uint32_t stamp;       /* in each of its events, unique to the family */
	_Atomic int group;    /* process id of the head */
	_Atomic int go, stop;
	int pace;             /* how fast it traces; 0: as fast as possible */
	bool lasting;         /* it lives as long as the test, and has no children */
	_Atomic int members, sources; /* may exceed the sizes of the arrays */
	struct member member[MEMBERS];
	struct source source[SOURCES];
};

/* The progress of a log's creator. */
enum log_phase { LOG_NONE, LOG_CREATING, LOG_CREATED, LOG_STARTED, LOG_ENDING, LOG_ENDED };

enum job_state { JOB_FREE, JOB_GIVEN, JOB_RUNS, JOB_OVER, JOB_AUDIT };

/* What a stream records. For a log this must be known after the death of its creator. */
struct subject {
	int family, target;      /* `target`: index of the member */
	bool all;                /* its descendants inherit the stream */
	bool with_system;            /* the stream records system events */
	_Atomic bool doubtful;   /* a stop, start or clear has begun: the number of events is uncertain */
	_Atomic int64_t created; /* when the create call had returned */
	_Atomic uint64_t before[SOURCES]; /* `done` when the stream was about to start, */
	_Atomic uint64_t after[SOURCES];  /* `begun` when it had started, */
	_Atomic uint64_t kept[SOURCES];   /* `done` when its end was about to begin, */
	_Atomic uint64_t end[SOURCES];    /* `begun` when it had ended */
};

struct job {
	_Atomic int state;
	_Atomic int pid;      /* of the controller */
	uint64_t seed;
	int family;
	bool early;           /* its streams start before the family */
	bool patient;         /* its streams end after the family */
	_Atomic int ready;    /* its streams have started */
	_Atomic int phase;    /* of its log */
	_Atomic int cut;      /* `log.kept` has been set */
	int log_policy, stream_policy;
	size_t log_size, stream_size;
	struct subject log;
};

struct totals {
	_Atomic uint64_t events, read, lost, discarded; /* read, lost, discarded: as reported to all controllers that
							 * ended normally */
	_Atomic uint64_t forks, images, sources, exits, kills, families;
	_Atomic uint64_t controllers, controllers_killed, streams, logs, logs_saved, gaps;
	_Atomic uint64_t exact; /* books in which each event was accounted for, with no uncertainty */
	_Atomic uint64_t balanced;
};

struct shared {
	_Atomic int failures;
	uint64_t seed;
	_Atomic uint32_t stamps;
	_Atomic int population; /* processes of all families */
	_Atomic int leave;      /* tells the lasting processes to end */
	struct totals total;
	struct family family[FAMILIES];
	struct job job[JOBS];
};

extern struct shared *shared;

#define CROWD_FAIL(...)                                                   \
	do {                                                              \
		char message_[400];                                       \
		snprintf(message_, sizeof message_, __VA_ARGS__);         \
		shared->failures++;                                       \
		TEST_FAIL("-", "%s", message_);                           \
	} while (0)

enum note { DONE, BEGUN };

struct books {
	struct subject *subject;
	struct family *family;
	trace_id_t trid;
	trace_event_id_t id;       /* the event type that the crowd records */
	bool log, wraps;           /* for a log; a log that wraps may begin at any event */
	uint64_t first[SOURCES], last[SOURCES], seen[SOURCES];
	uint64_t unsure[SOURCES];  /* of those seen: numbers that had begun when the stream had started */
	uint64_t report[SOURCES];  /* number of the report with the source's last event */
	int64_t at[SOURCES];
	uint64_t reports, reported;    /* number of events so far; the last event that reported a loss */
	uint64_t users, starts, gaps, gaps_of[SOURCES];
	int failures;
};

#define BOOKS_FAIL(b, ...)                                                                                             \
	do {                                                                                                           \
		char what_[300];                                                                                       \
		snprintf(what_, sizeof what_, __VA_ARGS__);                                                            \
		if ((b)->failures++ < 5)                                                                               \
			CROWD_FAIL("seed %#llx, family %d, %s of member %d%s%s%s: %s",                                 \
			           (unsigned long long)shared->seed, (b)->subject->family,                             \
			           (b)->log ? "log" : "stream", (b)->subject->target,                                  \
			           (b)->subject->all ? " and its children" : "",                                       \
			           (b)->subject->with_system ? "" : ", without system events", \
			           (b)->subject->doubtful ? ", doubtful" : "", what_);                                 \
	} while (0)

/* crowd_shared.c */
struct source *source_take(struct family *f, int member);
void source_send(struct family *f, struct source *s, trace_event_id_t id);
int sources_of(struct family *f);
void sources_note(struct family *f, enum note what, _Atomic uint64_t *note);
void job_cut(struct job *j);
bool family_gone(const struct family *f);
void member_show(const struct family *f, int m);
bool member_branch(const struct family *f, int m, int target, int64_t *begun);

/* crowd_books.c */
void books_begin(struct books *b, struct subject *s, trace_id_t trid, bool log);
void books_event(struct books *b, const struct posix_trace_event_info *e, const struct number *n,
		 size_t length);
bool books_try(struct books *b);
bool books_timed(struct books *b, int64_t us);
void books_balance(struct books *b, uint64_t lost, uint64_t discarded, uint64_t extra);
bool books_open(const struct books *b);

/* crowd_log.c */
const char *log_path(const struct job *j);
void log_check(struct job *j);

#endif
