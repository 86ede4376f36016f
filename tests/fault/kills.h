/*
 * kills.h - a round of kills.c: the memory that survives killed processes, and what its parts offer each other
 *
 * One block is shared by all processes of a test, also after an exec. It describes the round, how far each source of
 * events has come, and the test point of the library (base/testpoint.h) at which the victim ends.
 *
 * A *source* is a thread, or the signal handlers of a thread (books.h). It stores the number of the last trace point
 * that has returned: all events up to that number are committed, and one more may be.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef KILLS_H
#define KILLS_H

#include "books.h"
#include "kills_points.h"

#define SHARED_FILE "/dev/shm/kills" /* in the test's own /dev/shm */

#define SOURCES 32
#define NAMES   150 /* more than fit into the initial registry */
/* Sources: the first ones belong to the victim or its family, the last ones to the target. */
#define PER_PROCESS    6 /* up to three threads and their handlers */
#define TARGET_SOURCES 28
#define TARGET_THREADS 2
#define STRANGER       65534

enum kind { TRACED, CONTROLLER, FAMILY, SELF, RECOVERER, ORPHAN, LOGGER, LOG_TRACED, SAVER, KINDS };

enum arm {
	ARM_NOT,  /* killed from outside */
	ARM_KILL, /* kills itself at the point */
	ARM_STOP, /* one thread stays at the point, the other threads continue until the kill */
};

struct source {
	_Atomic uint64_t done; /* number of the last trace point that has returned */
	_Atomic uint64_t read; /* number of the last event read, for sources that wait for their reader */
	_Atomic int64_t longest; /* longest trace point in ns: it may have been held up in the middle of its record */
	_Atomic int pid;       /* 0: unused */
};

/* Which process a stream with a log traces. */
enum log_of {
	LOG_OF_SELF,  /* its creator */
	LOG_OF_OTHER, /* a process that survives */
	LOG_OF_BOTH,  /* a process that is killed as well */
	LOG_OFS,
};

/* What happens to a log whose writer was killed. */
enum log_next {
	LOG_NEXT_OPENS,   /* a reader opens it */
	LOG_NEXT_CREATES, /* a process creates a stream first */
	LOG_NEXT_TWO,     /* two processes at the same time, each does either */
	LOG_NEXTS,
};

/* A stream with a log, also chosen by the round's seed. */
struct log_round {
	int policy;         /* log-full-policy */
	int stream;         /* stream-full-policy; 0: not set, the default is FLUSH */
	size_t size;        /* log-max-size */
	size_t stream_size;
	enum log_of of;
	enum log_next next;
	bool system;        /* system events are in the log */
	bool changes;       /* the stream is stopped, started and cleared: which events must be in the log is unknown */
	bool append;        /* the file is opened for appending */
	bool moved;         /* the file is renamed before it is recovered */
	bool endless;       /* the creator does not end by itself */
};

/* Describes a round. The seed determines it before the round begins. */
struct round {
	int kind;
	uint64_t seed;
	int threads;       /* of the victim, or of each process of a family */
	bool handlers;     /* trace points in signal handlers as well */
	bool image;        /* the victim executes this program again */
	bool early;        /* the victim has made a trace call before the stream is created */
	bool running;      /* the victim is already recording when the stream is created */
	bool names;        /* opens names all the time */
	bool tight;        /* a stream of three chunks, and more writers than that */
	bool turns;        /* two streams take turns */
	bool stranger;     /* the victim is another user, without any files yet */
	int child;         /* in a family: index of the victim; -1: the first process */
	int how[3];        /* how each child of a family is made */
	int jitter;        /* one passage of a point in this many is delayed; 0: none */
	struct log_round log;
};

/* The progress of a log's creator. */
enum log_phase { LOG_NONE, LOG_CREATING, LOG_CREATED, LOG_STARTED, LOG_ENDING, LOG_ENDED };

/* What the creator of a log reports. The arrays have, for each source, the number of its last trace point when ... */
struct log_life {
	_Atomic int phase;
	_Atomic int doubtful;             /* a stop, start or clear has begun */
	_Atomic uint64_t before[SOURCES]; /* ... the stream was about to start, */
	_Atomic uint64_t after[SOURCES];  /* ... it had, */
	_Atomic bool early[SOURCES];      /* (and whether the source had begun by then) */
	_Atomic uint64_t kept[SOURCES];   /* ... its end was about to begin: all events so far must be in the log */
	_Atomic int cut;                  /* `kept` has been set */
	_Atomic int least, most;          /* least and greatest possible number of START and FILTER events */
	_Atomic int error;                /* error number of the creation */
};

struct shared {
	struct round round;
	_Atomic int arm, point, passages; /* the end of the victim: at this passage of this point */
	_Atomic int arrived;              /* ARM_STOP: the victim stays at the point */
	_Atomic int losses; /* lost events, in rounds with little memory */
	_Atomic int ready, go, stop;
	_Atomic int target;               /* process id of the target */
	_Atomic int failures;             /* failures in other processes than the test's own */
	_Atomic int name_id[NAMES];       /* ids of a family's names, as the first process got them */
	_Atomic int family[4];            /* process ids */
	struct source source[SOURCES];
	struct log_life log;
	_Atomic unsigned passed[KINDS][POINTS]; /* by victims */
	_Atomic unsigned ended[POINTS];         /* victims that have ended there */
};

extern struct shared *shared;
extern bool kills_victim; /* this process is the victim */
extern __thread bool kills_deeper; /* the handler that runs shall be interrupted, if it has interrupted a trace point */

/* The longest that a reader may spend in a call without anything to wait for. */
#define DEADLINE_NS (5000000000ll * test_slow())

/*
 * A record that was held up for longer than this may be read after a newer one (docs/reading.md). Readers wait 100 ms
 * in any call, because no thread of these tests is stopped by a signal. The rest is for differences of the clocks.
 */
#define PATIENCE_NS 90000000ll

struct books {
	trace_id_t trid;
	trace_event_id_t id;
	int first, count;              /* the sources of this stream */
	uint64_t system;               /* events caused by this controller: START, FILTER */
	bool awaited;                      /* the sources wait for this reader */
	bool running;                  /* the sources were already recording when the stream started */
	uint64_t before[SOURCES];      /* `done` when the stream was about to start, */
	uint64_t after[SOURCES];       /* and when it had started */
	uint64_t last[SOURCES];        /* number read last */
	uint64_t seen[SOURCES], total; /* events read; total counts START and FILTER too */
	uint64_t skipped[SOURCES];     /* the first number that was missing in the sequence */
	struct timespec newest;
	int64_t newest_read;           /* when `newest` was read */
	uint64_t lost;                 /* according to the last status */
};

/* Further circumstances, for the messages. */
extern const char *round_note;
extern int failures_before;

/* Reports a failure, with what is needed to repeat the round. */
#define ROUND_FAIL(...)                                                                               \
	do {                                                                                          \
		char message_[256];                                                                   \
		snprintf(message_, sizeof message_, __VA_ARGS__);                                     \
		TEST_FAIL("-", "kind %d, round seed %#llx, point %s%s: %s", shared->round.kind,       \
		          (unsigned long long)shared->round.seed,                                     \
		          shared->arm == ARM_NOT ? "none" : kills_points[shared->point], round_note,  \
		          message_);                                                                  \
		shared->failures++;                                                                   \
	} while (0)

#define LOG_FILE  "/dev/shm/log" /* in the test's own /dev/shm */
#define LOG_MOVED "/dev/shm/log that was moved"

/* Sources 0 .. LOG_SOURCES - 1 trace into the log. */
#define LOG_SOURCES 6

struct left {
	int descriptors, mappings; /* of trace files */
};

extern pid_t target_pid; /* 0: no target is running */
extern int target_rounds;
extern struct left own_before;

/* kills_shared.c */
void log_cut(void);
void log_killed(void);
void source_begin(int source);
void source_send(int source, trace_event_id_t id);

/* kills_books.c */
bool failed(void);
void books_mark(const struct books *b, uint64_t *mark);
void books_event(struct books *b, const struct posix_trace_event_info *e, const struct number *n,
		 size_t length);
bool books_try(struct books *b);
bool books_timed(struct books *b, int64_t us);
uint64_t books_have(struct books *b, uint64_t *lost);
bool books_open(struct books *b);
void books_drain(struct books *b);
void books_balance(struct books *b);

/* kills_log.c */
void log_check(uint64_t *state);
void log_choose(struct round *r, uint64_t *state);
int log_create(pid_t pid, trace_id_t *trid);
void log_call(trace_id_t trid, uint64_t *state);
void log_end(trace_id_t trid);
void log_life(pid_t pid, uint64_t *state);

/* kills_roles.c */
trace_attr_t *attributes(uint64_t *state, trace_attr_t *attr);
void become_stranger(void);
char **image_arguments(const char *role);
void role(const char *name); /* does not return */
void role_target(void);

/* kills_left.c */
struct left left_in(pid_t pid);
void create_once(uint64_t *state);
void check_left(uint64_t *state);
void check_sys_max(void);
bool gone(pid_t pid, bool reap, siginfo_t *info);
void target_begin(uint64_t *state);
void target_read(void);
void target_lives(void);
void target_end(void);

/* kills_rounds.c */
void reap(pid_t pid);
bool after_a_second(int point);
void round_choose(int kind, uint64_t seed);
bool round_run(int kind, uint64_t seed, int arm, int point, int passages);

#endif
