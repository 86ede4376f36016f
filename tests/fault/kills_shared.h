/*
 * kills_shared.h - memory that survives killed processes, and the test points where they are killed
 *
 * One block is shared by all processes of a test, also after an exec. It describes the round, how far each source of
 * events has come, and the test point of the library (base/testpoint.h) at which the victim ends.
 *
 * A *source* is a thread, or the signal handlers of a thread. It numbers its events from 1 on and stores the number of
 * the last trace point that has returned: all events up to that number are committed, and one more may be.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef KILLS_SHARED_H
#define KILLS_SHARED_H

#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <linux/membarrier.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <trace.h>

#include "chance.h"
#include "kills_points.h"
#include "test.h"

#define SHARED_FILE "/dev/shm/kills" /* in the test's own /dev/shm */

#define SOURCES 32
#define NAMES   150 /* more than fit into the initial registry */

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

static struct shared *shared __attribute__((unused));
static bool kills_victim __attribute__((unused)); /* this process is the victim */

static inline void shared_map(bool create)
{
	int fd = open(SHARED_FILE, O_RDWR | O_CLOEXEC | (create ? O_CREAT | O_EXCL : 0), 0600);

	MUST(fd >= 0 && (!create || ftruncate(fd, sizeof *shared) == 0));
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	MUST(shared != MAP_FAILED);
	close(fd);
}

/* -- The points ------------------------------------------------------------ */

/* Returns the index of a name in kills_points, or POINTS. Compares names only once for each address. */
static inline int point_number(const char *name)
{
	static struct {
		_Atomic(const char *) name;
		_Atomic int number;
	} known[1024];
	unsigned i = (unsigned)((uintptr_t)name * 2654435761u >> 7) % 1024;
	int number = -1;

	for (;; i = (i + 1) % 1024) {
		const char *there = atomic_load(&known[i].name);

		if (there == name && (number = atomic_load(&known[i].number)) > 0)
			return number - 1;
		if (there && there != name)
			continue;
		for (number = 0; number < POINTS; number++)
			if (strcmp(kills_points[number], name) == 0)
				break;
		if (there || atomic_compare_exchange_strong(&known[i].name, &there, name) || there == name) {
			atomic_store(&known[i].number, number + 1);
			return number;
		}
	}
}

static inline void point_wait(int jitter)
{
	static __thread uint64_t state;

	if (!state)
		state = (uint64_t)now_ns() ^ (uintptr_t)&state;
	if (chance(&state, (uint32_t)jitter) == 0)
		sleep_us(chance(&state, 200));
}

/*
 * Stays in the middle of a record, whatever signals arrive, to keep the chunk from other writers. Stops after 60 ms, or
 * when a writer has lost an event: on a loaded machine writers wait for long.
 */
static inline void point_stay(void)
{
	int64_t until = now_ns() + 60000000;
	int before = shared->losses;

	while (now_ns() < until && shared->losses == before)
		sleep_us(1000);
}

/*
 * Makes source_settle() apply to this process. The store to `done` may still be in a store buffer when its source has
 * looked at the state of the stream for later events: the value that another processor reads may be some events old.
 * After source_settle(), a source whose `done` reads n is at event n + 1.
 */
static inline void source_visible(void)
{
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0);
}

static inline void source_settle(void)
{
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) != 0)
		sleep_us(1000);
}

/* Notes what must be in the log. Called when the end of a log's creator, or of its stream, is about to begin. Only the
 * first call has an effect. */
static inline void log_cut(void)
{
	if (atomic_fetch_add(&shared->log.cut, 1) > 0)
		return;
	for (int i = 0; i < SOURCES; i++)
		shared->log.kept[i] = shared->source[i].done;
}

/* Notes, before a kill, what must be in the log if the victim is a log's creator. */
static inline void log_killed(void)
{
	if (shared->log.phase != LOG_NONE && shared->round.kind != LOG_TRACED)
		log_cut();
}

/* The library calls this function at each test point. */
void test_point(const char *name);
void test_point(const char *name)
{
	int number, saved = errno;

	if (!shared)
		return;
	if (shared->round.jitter)
		point_wait(shared->round.jitter);
	if (shared->round.tight && strcmp(name, "lost_counted") == 0)
		shared->losses++;
	if (kills_victim) {
		if (shared->round.tight && strcmp(name, "record_owned") == 0 && shared->go)
			point_stay();
		number = point_number(name);
		if (number >= POINTS)
			abort(); /* tests/check/points.py reports it in words */
		atomic_fetch_add(&shared->passed[shared->round.kind][number], 1);
		if (shared->arm != ARM_NOT && shared->point == number && atomic_fetch_sub(&shared->passages, 1) == 1) {
			atomic_fetch_add(&shared->ended[number], 1);
			if (shared->arm == ARM_KILL) {
				log_killed();
				kill(getpid(), SIGKILL);
			}
			shared->arrived = 1;
			for (;;)
				pause();
		}
	}
	errno = saved;
}

/* -- Sources ---------------------------------------------------------------- */

#define NUMBER_SIZE 240

struct number {
	uint32_t source;
	uint32_t length;
	uint64_t number;
	unsigned char filler[NUMBER_SIZE - 16];
};

/* Makes the event with this number, and returns its length. Length and bytes follow from number and source. */
static inline size_t number_fill(struct number *n, int source, uint64_t number)
{
	uint64_t mix = chance_mix(number * SOURCES + (unsigned)source);

	n->source = (uint32_t)source;
	n->number = number;
	n->length = 16 + (uint32_t)(mix % 5 ? mix >> 8 & 31 : (mix >> 8) % (NUMBER_SIZE - 16));
	memset(n->filler, (int)(mix >> 40 & 255), n->length - 16);
	return n->length;
}

static inline void source_begin(int source)
{
	shared->source[source].done = 0;
	shared->source[source].read = 0;
	shared->source[source].longest = 0;
	shared->source[source].pid = getpid();
}

static inline void source_send(int source, trace_event_id_t id)
{
	struct source *s = &shared->source[source];
	uint64_t number = atomic_load_explicit(&s->done, memory_order_relaxed) + 1;
	struct number n;
	size_t length = number_fill(&n, source, number);
	int64_t begin = now_ns(), took;

	posix_trace_event(id, &n, length);
	took = now_ns() - begin;
	if (took > atomic_load_explicit(&s->longest, memory_order_relaxed))
		atomic_store_explicit(&s->longest, took, memory_order_relaxed);
	atomic_store_explicit(&s->done, number, memory_order_release);
}

#endif
