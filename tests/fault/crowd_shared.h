/*
 * crowd_shared.h - memory that all processes of a crowd share, and that survives killed processes
 *
 * A *family* is a process and all its descendants, its *members*. A family is one process group, so the kernel knows
 * when its last member has ended. A member stays the same member when it executes this program again. Each thread that
 * traces is a *source*. It numbers its events from 1 on; it stores the number in *begun* before each trace point and in
 * *done* after it. So of a killed source all events up to *done* are committed, and at most one more, *begun*, may be.
 * A *job* is the work of a controller: streams of one family, one of them perhaps with a log.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CROWD_SHARED_H
#define CROWD_SHARED_H

#include <fcntl.h>
#include <linux/membarrier.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <trace.h>

#include "chance.h"
#include "test.h"

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

static struct shared *shared __attribute__((unused));

#define CROWD_FAIL(...)                                                   \
	do {                                                              \
		char message_[400];                                       \
		snprintf(message_, sizeof message_, __VA_ARGS__);         \
		shared->failures++;                                       \
		TEST_FAIL("-", "%s", message_);                           \
	} while (0)

static inline void shared_map(bool create)
{
	int fd = open(SHARED_FILE, O_RDWR | O_CLOEXEC | (create ? O_CREAT | O_EXCL : 0), 0600);

	/* Allocate the whole file at once: the census checks how much space is in use. */
	MUST(fd >= 0 && (!create || posix_fallocate(fd, 0, sizeof *shared) == 0));
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	MUST(shared != MAP_FAILED);
	close(fd);
}

/* -- Time ----------------------------------------------------------------- */

static inline int64_t timespec_ns(const struct timespec *t)
{
	return t->tv_sec * 1000000000ll + t->tv_nsec;
}

/* -- Sources ---------------------------------------------------------------- */

#define NUMBER_SIZE 200

/* An event's data. */
struct number {
	uint32_t stamp, source;
	uint64_t number;
	unsigned char filler[NUMBER_SIZE - 16];
};

/* Makes the event with this number, and returns its length. Length and bytes follow from stamp, source and number. */
static inline size_t number_fill(struct number *n, uint32_t stamp, uint32_t source, uint64_t number)
{
	uint64_t mix = chance_mix((uint64_t)stamp << 40 ^ (uint64_t)source << 32 ^ number);
	size_t filler = mix % 5 ? mix >> 8 & 31 : (mix >> 8) % (NUMBER_SIZE - 16);

	n->stamp = stamp;
	n->source = source;
	n->number = number;
	memset(n->filler, (int)(mix >> 40 & 255), filler);
	return 16 + filler;
}

/* Returns an entry for this thread, or NULL if none is left: then the thread must not trace. */
static inline struct source *source_take(struct family *f, int member)
{
	int i = atomic_fetch_add(&f->sources, 1);
	struct source *s = &f->source[i];

	if (i >= SOURCES)
		return NULL;
	s->member = member;
	s->tid = (int)syscall(SYS_gettid);
	s->pid = getpid();
	return s;
}

static inline void source_send(struct family *f, struct source *s, trace_event_id_t id)
{
	uint64_t number = atomic_load_explicit(&s->done, memory_order_relaxed) + 1;
	struct number n;
	size_t length = number_fill(&n, f->stamp, (uint32_t)(s - f->source), number);

	atomic_store_explicit(&s->begun, number, memory_order_release);
	posix_trace_event(id, &n, length);
	atomic_store_explicit(&s->done, number, memory_order_release);
}

static inline int sources_of(struct family *f)
{
	int n = f->sources;

	return n < SOURCES ? n : SOURCES;
}

/*
 * Makes source_settle() apply to this process. The store to `done` may still be in a store buffer when its source has
 * looked at the state of the stream for later events: the value that another processor reads may be some events old.
 * After source_settle() it is up to date.
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

enum note { DONE, BEGUN };

/* Copies the progress of each source. */
static inline void sources_note(struct family *f, enum note what, _Atomic uint64_t *note)
{
	source_settle();
	for (int i = 0; i < SOURCES; i++)
		note[i] = what == DONE ? f->source[i].done : f->source[i].begun;
}

/* Notes what must be in the log. Called when the end of a log's stream, or of its creator, is about to begin. Only the
 * first call has an effect. */
static inline void job_cut(struct job *j)
{
	if (atomic_fetch_add(&j->cut, 1) == 0)
		sources_note(&shared->family[j->family], DONE, j->log.kept);
}

/* -- Families --------------------------------------------------------------- */

/* Returns true if all members have ended and been reaped. */
static inline bool family_gone(const struct family *f)
{
	return kill(-f->group, 0) != 0 && errno == ESRCH;
}

/* Prints to standard error how a member descends from the head. */
static inline void member_show(const struct family *f, int m)
{
	for (; m != HEAD; m = f->member[m].parent)
		fprintf(stderr, " %d (made in way %d, %d images, heads %d streams) <-", m, f->member[m].way,
		        f->member[m].images, f->member[m].headed);
	fprintf(stderr, " %d (%d images, heads %d streams)\n", m, f->member[m].images, f->member[m].headed);
}

/* Returns true if member m is the target or descends from it. `begun` is then the time when that branch began. */
static inline bool member_branch(const struct family *f, int m, int target, int64_t *begun)
{
	while (m != target && m != HEAD) {
		*begun = f->member[m].born;
		m = f->member[m].parent;
	}
	return m == target;
}

#endif
