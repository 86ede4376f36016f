/*
 * crowd_shared.c - sources, members and jobs in the memory that all processes of a crowd share
 *
 * SPDX-License-Identifier: MIT
 */
#include <sys/syscall.h>

#include "crowd.h"

struct shared *shared;


/* Returns an entry for this thread, or NULL if none is left: then the thread must not trace. */
struct source *source_take(struct family *f, int member)
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

void source_send(struct family *f, struct source *s, trace_event_id_t id)
{
	uint64_t number = atomic_load_explicit(&s->done, memory_order_relaxed) + 1;
	struct number n;
	size_t length = number_fill(&n, f->stamp, (uint32_t)(s - f->source), number);

	atomic_store_explicit(&s->begun, number, memory_order_release);
	posix_trace_event(id, &n, length);
	atomic_store_explicit(&s->done, number, memory_order_release);
}

int sources_of(struct family *f)
{
	int n = f->sources;

	return n < SOURCES ? n : SOURCES;
}

/* Copies the progress of each source. */
void sources_note(struct family *f, enum note what, _Atomic uint64_t *note)
{
	source_settle();
	for (int i = 0; i < SOURCES; i++)
		note[i] = what == DONE ? f->source[i].done : f->source[i].begun;
}

/* Notes what must be in the log. Called when the end of a log's stream, or of its creator, is about to begin. Only the
 * first call has an effect. */
void job_cut(struct job *j)
{
	if (atomic_fetch_add(&j->cut, 1) == 0)
		sources_note(&shared->family[j->family], DONE, j->log.kept);
}

/* Returns true if all members have ended and been reaped. */
bool family_gone(const struct family *f)
{
	return kill(-f->group, 0) != 0 && errno == ESRCH;
}

/* Prints to standard error how a member descends from the head. */
void member_show(const struct family *f, int m)
{
	for (; m != HEAD; m = f->member[m].parent)
		fprintf(stderr, " %d (made in way %d, %d images, heads %d streams) <-", m, f->member[m].way,
		        f->member[m].images, f->member[m].headed);
	fprintf(stderr, " %d (%d images, heads %d streams)\n", m, f->member[m].images, f->member[m].headed);
}

/* Returns true if member m is the target or descends from it. `begun` is then the time when that branch began. */
bool member_branch(const struct family *f, int m, int target, int64_t *begun)
{
	while (m != target && m != HEAD) {
		*begun = f->member[m].born;
		m = f->member[m].parent;
	}
	return m == target;
}
