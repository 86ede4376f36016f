/*
 * crowd_shared.h - memory that all of a crowd share, and that outlives those who are killed
 *
 * A *family* is a process and all that descend from it, its *members*; they are
 * one process group, so the kernel knows when the last one has gone. A member stays
 * the same when it executes itself anew. Each thread that traces is a *source*: it numbers
 * its events from 1 on, and says before each trace point which number it is about
 * to give, and behind it that it is done. So of whoever is killed, all events up to *done* are
 * committed, and at most *begun*, one more, may be. A *job* is what a controller does: streams
 * of one family, and perhaps one with a log.
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
#define MEMBERS  32 /* of one family, as long as it is there */
#define SOURCES  96
#define JOBS     80

#define HEAD 0 /* the member that a family begins with */

struct source {
	_Atomic uint64_t begun, done; /* number of the trace point that has begun last, and returned last */
	_Atomic int member, pid, tid; /* pid is set last; 0: not in use */
} __attribute__((aligned(64)));

struct member {
	_Atomic int pid;
	_Atomic int parent;      /* which member */
	_Atomic int64_t born;    /* just before its parent has made it */
	_Atomic int images;      /* that it has executed */
	_Atomic int way;         /* how it was made */
	_Atomic int headed;      /* streams that were created for it, and all that descend from it */
};

enum family_state { FAMILY_FREE, FAMILY_WAITS, FAMILY_LIVES, FAMILY_ENDS, FAMILY_DEAD };

struct family {
	_Atomic int state;
	uint64_t seed;
	uint32_t stamp;       /* in each of its events; no other family has it */
	_Atomic int group;    /* process id of the head */
	_Atomic int go, stop;
	int pace;             /* how fast it traces, 0: as fast as it can */
	bool lasting;         /* it is there as long as the test, and has no children */
	_Atomic int members, sources; /* taken; may be more than there is room for */
	struct member member[MEMBERS];
	struct source source[SOURCES];
};

/* How far the creator of a log has come. */
enum log_phase { LOG_NONE, LOG_CREATING, LOG_CREATED, LOG_STARTED, LOG_ENDING, LOG_ENDED };

enum job_state { JOB_FREE, JOB_GIVEN, JOB_RUNS, JOB_OVER, JOB_AUDIT };

/* What a stream is about; that of a log has to be known when its creator is dead. */
struct subject {
	int family, target;      /* of which member */
	bool all;                /* and all that descend from it */
	bool told;               /* events of the system are in it */
	_Atomic bool doubtful;   /* a stop, start or clear has begun: it is not known how many there have to be */
	_Atomic int64_t created; /* when the call had returned */
	_Atomic uint64_t before[SOURCES]; /* done when the stream was about to start, */
	_Atomic uint64_t after[SOURCES];  /* begun when it had, */
	_Atomic uint64_t kept[SOURCES];   /* done when its end was about to begin, */
	_Atomic uint64_t end[SOURCES];    /* begun when it had ended */
};

struct job {
	_Atomic int state;
	_Atomic int pid;      /* of the controller */
	uint64_t seed;
	int family;
	bool early;           /* its streams start before the family does */
	bool patient;         /* and end after it */
	_Atomic int ready;    /* they have started */
	_Atomic int phase;    /* of its log */
	_Atomic int cut;      /* that its end begins has been noted */
	int log_policy, stream_policy;
	size_t log_size, stream_size;
	struct subject log;
};

struct totals {
	_Atomic uint64_t events, read, lost, discarded; /* the latter three: as told to all controllers that came to their end */
	_Atomic uint64_t forks, images, sources, exits, kills, families;
	_Atomic uint64_t controllers, controllers_killed, streams, logs, logs_saved, gaps;
	_Atomic uint64_t exact; /* books in which each event was accounted for, with no slack at all */
	_Atomic uint64_t balanced;
};

struct shared {
	_Atomic int failures;
	uint64_t seed;
	_Atomic uint32_t stamps;
	_Atomic int population; /* processes of all families */
	_Atomic int leave;      /* the lasting ones end */
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

	/* All its space at once: how much is in use is looked at. */
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

/* The event with this number: its length follows from all three, its bytes too. */
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

/* A place for this thread's books; NULL: there is none left, so it must not trace. */
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
 * A processor may have begun to look at what another one has not seen it leave: what a source says that it has done may
 * be some events old. Behind source_settle() it is not, of those who have called source_visible().
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

/* How far each source is. */
static inline void sources_note(struct family *f, enum note what, _Atomic uint64_t *note)
{
	source_settle();
	for (int i = 0; i < SOURCES; i++)
		note[i] = what == DONE ? f->source[i].done : f->source[i].begun;
}

/* The end of a log's stream, or of its creator, is about to begin; the first time counts. */
static inline void job_cut(struct job *j)
{
	if (atomic_fetch_add(&j->cut, 1) == 0)
		sources_note(&shared->family[j->family], DONE, j->log.kept);
}

/* -- Families --------------------------------------------------------------- */

/* Has everybody gone, and been waited for? */
static inline bool family_gone(const struct family *f)
{
	return kill(-f->group, 0) != 0 && errno == ESRCH;
}

/* To standard error: how it descends from the head. */
static inline void member_show(const struct family *f, int m)
{
	for (; m != HEAD; m = f->member[m].parent)
		fprintf(stderr, " %d (made in way %d, %d images, heads %d streams) <-", m, f->member[m].way, f->member[m].images,
		        f->member[m].headed);
	fprintf(stderr, " %d (%d images, heads %d streams)\n", m, f->member[m].images, f->member[m].headed);
}

/* Member m descends from the target by a branch that has begun at this time; false: it does not. */
static inline bool member_branch(const struct family *f, int m, int target, int64_t *begun)
{
	while (m != target && m != HEAD) {
		*begun = f->member[m].born;
		m = f->member[m].parent;
	}
	return m == target;
}

#endif
