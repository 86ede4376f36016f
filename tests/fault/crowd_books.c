/*
 * crowd_books.c - checks that what was read of a stream or a log is complete
 *
 * For each source the reader must get each event once, intact, in order, with its process and thread. If numbers are
 * missing between two events, a system event between them must report it, and at least as many events must be counted
 * as lost by then. In the end
 *
 *     surely generated, not read <= lost + discarded <= possibly generated, not read
 *
 * Both bounds are equal if the stream existed during the whole life of its family and no process was killed in the
 * middle of a trace point: that book is *exact*.
 *
 * SPDX-License-Identifier: MIT
 */
#include "crowd.h"


void books_begin(struct books *b, struct subject *s, trace_id_t trid, bool log)
{
	memset(b, 0, sizeof *b);
	b->subject = s;
	b->family = &shared->family[s->family];
	b->trid = trid;
	b->log = log;
}

/* Returns true if the stream may record this source. `surely`: it does. A source that was made during the creation of
 * the stream may or may not be recorded. */
static bool books_about(const struct books *b, int source, bool *surely)
{
	int member = b->family->source[source].member;
	int64_t begun = 0;

	*surely = member == b->subject->target;
	if (!b->subject->all || *surely)
		return *surely;
	if (!member_branch(b->family, member, b->subject->target, &begun))
		return false;
	*surely = begun > b->subject->created && b->subject->created;
	return true;
}

/* Checks a gap of n events before this event of the source. */
static void books_gap(struct books *b, unsigned source, uint64_t n, uint64_t number)
{
	struct posix_trace_status_info status;

	b->gaps += n;
	b->gaps_of[source] += n;
	if (b->subject->doubtful)
		return;
	shared->total.gaps++;
	if (b->subject->with_system && b->reported <= b->report[source])
		BOOKS_FAIL(b, "source %u: %llu events are missing before %llu, and nothing has said so", source,
		           (unsigned long long)n, (unsigned long long)number);
	if (b->log)
		return;
	if (posix_trace_get_status(b->trid, &status) != 0)
		BOOKS_FAIL(b, "no status");
	else if (status.__posix_lost_events < b->gaps)
		BOOKS_FAIL(b, "source %u: before %llu, %llu events are missing so far, but %llu lost", source,
		           (unsigned long long)number, (unsigned long long)b->gaps,
		           (unsigned long long)status.__posix_lost_events);
}

static void books_number(struct books *b, const struct posix_trace_event_info *e, const struct number *n,
			 size_t length)
{
	unsigned s = n->source;
	struct number right;
	struct source *source;
	uint64_t from;
	bool surely;

	if (length < 16 || n->stamp != b->family->stamp || s >= SOURCES || !b->family->source[s].pid) {
		BOOKS_FAIL(b, "an event of nobody: %zu bytes, stamp %u, not %u, source %u", length, n->stamp,
		           b->family->stamp, s);
		return;
	}
	source = &b->family->source[s];
	if (number_fill(&right, n->stamp, s, n->number) != length || memcmp(&right, n, length) != 0)
		BOOKS_FAIL(b, "source %u: event %llu is damaged", s, (unsigned long long)n->number);
	if (n->number > source->begun)
		BOOKS_FAIL(b, "source %u: event %llu was never sent", s, (unsigned long long)n->number);
	if (e->posix_pid != source->pid || e->__posix_kernel_tid != source->tid)
		BOOKS_FAIL(b, "source %u: event of process %d and thread %d", s, (int)e->posix_pid,
		           (int)e->__posix_kernel_tid);
	if (!books_about(b, (int)s, &surely))
		BOOKS_FAIL(b, "source %u: an event of member %d", s, source->member);
	if (timespec_ns(&e->posix_timestamp) < b->at[s])
		BOOKS_FAIL(b, "source %u: event %llu is %lld ns older than the one before it", s,
		           (unsigned long long)n->number, (long long)(b->at[s] - timespec_ns(&e->posix_timestamp)));
	if (n->number <= b->last[s])
		BOOKS_FAIL(b, "source %u: event %llu behind %llu", s, (unsigned long long)n->number,
		           (unsigned long long)b->last[s]);
	/* An event in progress when the stream started may be missing or recorded. */
	from = b->last[s] ? b->last[s] : b->wraps || !surely ? n->number - 1 : b->subject->after[s];
	if (n->number > from + 1)
		books_gap(b, s, n->number - from - 1, n->number);
	if (!b->first[s])
		b->first[s] = n->number;
	b->last[s] = n->number;
	b->at[s] = timespec_ns(&e->posix_timestamp);
	b->report[s] = b->reports;
	b->unsure[s] += n->number <= b->subject->after[s];
	b->seen[s]++;
	b->users++;
}

void books_event(struct books *b, const struct posix_trace_event_info *e, const struct number *n,
		 size_t length)
{
	b->reports++;
	if (e->posix_event_id == b->id) {
		books_number(b, e, n, length);
		return;
	}
	b->starts += e->posix_event_id == POSIX_TRACE_START && e->posix_pid != 0;
	if (e->posix_pid == 0 && (e->posix_event_id == POSIX_TRACE_OVERFLOW || e->posix_event_id == POSIX_TRACE_STOP))
		b->reported = b->reports;
}

/* Reads one event without waiting. Returns false if there is none. */
bool books_try(struct books *b)
{
	struct posix_trace_event_info e;
	struct number n = { 0 };
	size_t length = 0;
	int unavailable = 0, error = posix_trace_trygetnext_event(b->trid, &e, &n, sizeof n, &length, &unavailable);

	if (error)
		BOOKS_FAIL(b, "trygetnext: %s", strerror(error));
	if (error || unavailable)
		return false;
	books_event(b, &e, &n, length);
	return true;
}

/* Reads one event. Returns false if the time is over. */
bool books_timed(struct books *b, int64_t us)
{
	struct posix_trace_event_info e;
	struct number n = { 0 };
	size_t length = 0;
	struct timespec t = time_in(us);
	int unavailable = 0, error;

	error = posix_trace_timedgetnext_event(b->trid, &e, &n, sizeof n, &length, &unavailable, &t);
	if (error && error != ETIMEDOUT)
		BOOKS_FAIL(b, "timedgetnext: %s", strerror(error));
	if (error)
		return false;
	books_event(b, &e, &n, length);
	return true;
}

/* -- The balance -------------------------------------------------------------- */

/* Calculates how many events of a source are missing: surely, and possibly. */
static void books_missing(const struct books *b, int source, uint64_t *least, uint64_t *most)
{
	const struct subject *s = b->subject;
	uint64_t before = s->before[source], after = s->after[source], kept = s->kept[source], end = s->end[source];
	uint64_t late = b->last[source] > kept ? b->last[source] - kept : 0;
	uint64_t sure = b->seen[source] - b->unsure[source];
	bool surely;

	*least = *most = 0;
	if (!books_about(b, source, &surely))
		return;
	sure = sure > late ? sure - late : 0;
	if (surely && kept > after && kept - after > sure)
		*least = kept - after - sure;
	if (end - before > b->seen[source])
		*most = end - before - b->seen[source];
}

/* Calculates the same for all sources together, including START. */
static void books_missing_all(const struct books *b, uint64_t *least, uint64_t *most)
{
	uint64_t one, other;

	*least = *most = b->subject->with_system && !b->starts;
	for (int i = 0; i < sources_of(b->family); i++) {
		books_missing(b, i, &one, &other);
		*least += one;
		*most += other;
	}
}

static void books_show(const struct books *b, uint64_t least, uint64_t most)
{
	const struct subject *s = b->subject;
	uint64_t one, other;
	bool surely;

	fprintf(stderr, "  %llu to %llu are missing; %llu read, %llu of them in gaps\n", (unsigned long long)least,
	        (unsigned long long)most, (unsigned long long)b->users, (unsigned long long)b->gaps);
	for (int i = 0; i < sources_of(b->family); i++) {
		const struct source *at = &b->family->source[i];

		books_missing(b, i, &one, &other);
		if (!one && !other && !b->gaps_of[i])
			continue;
		if (books_about(b, i, &surely))
			fprintf(stderr,
			        "  source %d, member %d (of %d), process %d%s: %llu to %llu missing; before %llu, "
			        "after %llu, kept %llu, end %llu, now %llu/%llu;"
			        " read %llu from %llu to %llu, %llu in between missing\n",
			        i, at->member, b->family->member[at->member].parent, at->pid, surely ? "" : ", perhaps",
			        (unsigned long long)one, (unsigned long long)other, (unsigned long long)s->before[i],
			        (unsigned long long)s->after[i], (unsigned long long)s->kept[i],
			        (unsigned long long)s->end[i], (unsigned long long)at->done,
			        (unsigned long long)at->begun, (unsigned long long)b->seen[i],
			        (unsigned long long)b->first[i], (unsigned long long)b->last[i],
			        (unsigned long long)b->gaps_of[i]);
		member_show(b->family, at->member);
	}
}

/* Checks the books after everything was read. `extra`: number of discarded events that may be system events. */
void books_balance(struct books *b, uint64_t lost, uint64_t discarded, uint64_t extra)
{
	uint64_t least, most, reported = lost + discarded;

	shared->total.read += b->users;
	shared->total.lost += lost;
	shared->total.discarded += discarded;
	/* Such numbers are impossible, also if the stream is doubtful. */
	if (reported >> 32)
		BOOKS_FAIL(b, "%llu are lost, %llu discarded", (unsigned long long)lost, (unsigned long long)discarded);
	if (b->subject->doubtful)
		return;
	books_missing_all(b, &least, &most);
	if (reported < least || reported > most + extra) {
		BOOKS_FAIL(b, "%llu are lost%s, but %llu to %llu missing", (unsigned long long)reported,
		           discarded ? " or discarded" : "", (unsigned long long)least, (unsigned long long)most);
		books_show(b, least, most);
	} else if (b->gaps > lost) {
		BOOKS_FAIL(b, "%llu are missing in between, and %llu are lost", (unsigned long long)b->gaps,
		           (unsigned long long)lost);
		books_show(b, least, most);
	}
	shared->total.balanced++;
	shared->total.exact += least == most && extra == 0;
}

/* Returns true if events are not accounted for yet. */
bool books_open(const struct books *b)
{
	struct posix_trace_status_info status;
	uint64_t least, most;

	books_missing_all(b, &least, &most);
	return !b->subject->doubtful && posix_trace_get_status(b->trid, &status) == 0 &&
	       status.__posix_lost_events < least;
}
