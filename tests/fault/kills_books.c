/*
 * kills_books.c - what a surviving reader has read, and whether it is complete
 *
 * For each source the reader must get every event once, in order, with the right bytes. In the end an event may be
 * missing only if the stream reports it as lost:
 *
 *     committed <= read + lost <= committed + one for each source
 *
 * The sources store in shared memory what is committed. Events without a process (OVERFLOW, RESUME, the automatic STOP
 * and START) and those of posix_trace_stop() are never lost, and do not count.
 *
 * SPDX-License-Identifier: MIT
 */
#include "kills.h"

const char *round_note = "";
int failures_before;


bool failed(void)
{
	return test_failures > failures_before || shared->failures > 0;
}

/* Notes the progress of the sources: before the stream starts, and after it has started. */
void books_mark(const struct books *b, uint64_t *mark)
{
	source_settle();
	for (int i = b->first; i < b->first + b->count; i++)
		mark[i] = shared->source[i].done;
}

void books_event(struct books *b, const struct posix_trace_event_info *e, const struct number *n,
		 size_t length)
{
	struct number right;
	struct timespec t;

	if (e->posix_pid == 0)
		return;
	clock_gettime(CLOCK_REALTIME, &t);
	if (timespec_ns(&e->posix_timestamp) >= timespec_ns(&b->newest)) {
		b->newest = e->posix_timestamp;
		b->newest_read = timespec_ns(&t);
	} else if (timespec_ns(&e->posix_timestamp) > b->newest_read - PATIENCE_NS) {
		ROUND_FAIL("an event is %lld ns older than the one before it",
		           (long long)(timespec_ns(&b->newest) - timespec_ns(&e->posix_timestamp)));
	}
	if (e->posix_event_id == POSIX_TRACE_START || e->posix_event_id == POSIX_TRACE_FILTER) {
		b->total++;
		return;
	}
	if (e->posix_event_id != b->id) {
		if (e->posix_event_id >= POSIX_TRACE_UNNAMED_USEREVENT && length >= 16)
			ROUND_FAIL("source %u: event with the id %u, not %u", n->source, e->posix_event_id, b->id);
		return;
	}
	if (length < 16 || n->source < (unsigned)b->first || n->source >= (unsigned)(b->first + b->count)) {
		ROUND_FAIL("no event of ours: length %zu, source %u", length, n->source);
		return;
	}
	b->total++;
	b->seen[n->source]++;
	if (number_fill(&right, 0, n->source, n->number) != length || memcmp(&right, n, length) != 0)
		ROUND_FAIL("source %u: event %llu is damaged", n->source, (unsigned long long)n->number);
	if (n->number <= b->last[n->source])
		ROUND_FAIL("source %u: event %llu after %llu", n->source, (unsigned long long)n->number,
		           (unsigned long long)b->last[n->source]);
	if (n->number != b->last[n->source] + 1 && !b->skipped[n->source])
		b->skipped[n->source] = b->last[n->source] + 1;
	if (e->posix_pid != shared->source[n->source].pid)
		ROUND_FAIL("source %u: event of process %d", n->source, (int)e->posix_pid);
	b->last[n->source] = n->number;
	if (b->awaited)
		shared->source[n->source].read = n->number;
}

/* Reads one event without waiting. Returns false if there is none. */
bool books_try(struct books *b)
{
	struct posix_trace_event_info e;
	struct number n;
	size_t length = 0;
	int unavailable = 0, error;
	int64_t begin = now_ns();

	error = posix_trace_trygetnext_event(b->trid, &e, &n, sizeof n, &length, &unavailable);
	if (now_ns() - begin > DEADLINE_NS)
		ROUND_FAIL("trygetnext took %lld ms", (long long)(now_ns() - begin) / 1000000);
	if (error)
		ROUND_FAIL("trygetnext: error %d", error);
	if (error || unavailable)
		return false;
	books_event(b, &e, &n, length);
	return true;
}

/* Reads one event. Returns false if the time is over. */
bool books_timed(struct books *b, int64_t us)
{
	struct posix_trace_event_info e;
	struct timespec t = time_in(us);
	struct number n;
	size_t length = 0;
	int unavailable = 0, error;
	int64_t begin = now_ns();

	error = posix_trace_timedgetnext_event(b->trid, &e, &n, sizeof n, &length, &unavailable, &t);
	if (now_ns() - begin > us * 1000 + DEADLINE_NS)
		ROUND_FAIL("timedgetnext of %lld us took %lld ms", (long long)us,
		           (long long)(now_ns() - begin) / 1000000);
	if (error && error != ETIMEDOUT)
		ROUND_FAIL("timedgetnext: error %d", error);
	if (error)
		return false;
	books_event(b, &e, &n, length);
	return true;
}

/* Calculates the least and the greatest possible number of events read or lost by now. */
static void books_bounds(const struct books *b, uint64_t *least, uint64_t *most)
{
	*least = *most = b->system;
	for (int i = b->first; i < b->first + b->count; i++) {
		uint64_t done = shared->source[i].done;
		/* One event may have been in progress when the stream started. */
		uint64_t unsure = b->after[i] + b->running;

		*least += done > unsure ? done - unsure : 0;
		*most += done + (shared->source[i].pid != 0) - b->before[i];
	}
}

/* Returns the number of events read and lost. */
uint64_t books_have(struct books *b, uint64_t *lost)
{
	struct posix_trace_status_info status;
	bool overrun;

	if (posix_trace_get_status(b->trid, &status) != 0) {
		ROUND_FAIL("no status");
		return 0;
	}
	*lost = status.__posix_lost_events;
	overrun = status.posix_stream_overrun_status == POSIX_TRACE_OVERRUN;
	if (*lost < b->lost || overrun != (*lost > b->lost))
		ROUND_FAIL("overrun %d, lost before %llu, now %llu", overrun, (unsigned long long)b->lost,
		           (unsigned long long)*lost);
	b->lost = *lost;
	return *(const volatile uint64_t *)&b->total + *lost;
}

/* Returns true if an event is not accounted for yet. */
bool books_open(struct books *b)
{
	uint64_t least, most, lost = 0;
	bool behind = false;

	for (int i = b->first; i < b->first + b->count; i++)
		behind |= b->last[i] < shared->source[i].done && shared->source[i].done > b->after[i] + b->running;
	books_bounds(b, &least, &most);
	return books_have(b, &lost) < least || (behind && lost == 0);
}

/* Reads all remaining events, after all writers have stopped. Waits as long as the reader may wait for a dead
 * writer. */
void books_drain(struct books *b)
{
	int64_t begin = now_ns();

	while (books_try(b))
		;
	while (books_open(b) && now_ns() < begin + DEADLINE_NS)
		if (!books_try(b))
			sleep_us(1000);
	while (books_try(b))
		;
}

/* Checks the books, after all writers have stopped and everything was read. */
void books_balance(struct books *b)
{
	uint64_t least, most, lost = 0, have = books_have(b, &lost);

	books_bounds(b, &least, &most);
	if (have < least || have > most) {
		ROUND_FAIL("%llu read and %llu lost, but there were %llu to %llu", (unsigned long long)(have - lost),
		           (unsigned long long)lost, (unsigned long long)least, (unsigned long long)most);
		for (int i = b->first; i < b->first + b->count; i++)
			if (shared->source[i].pid)
				fprintf(stderr,
				        "  source %d: %llu committed, %llu read, the last was %llu, %llu is missing\n",
				        i, (unsigned long long)shared->source[i].done, (unsigned long long)b->seen[i],
				        (unsigned long long)b->last[i], (unsigned long long)b->skipped[i]);
	}
	for (int i = b->first; i < b->first + b->count; i++) {
		uint64_t done = shared->source[i].done, unsure = b->after[i] + b->running;
		uint64_t from = b->last[i] - b->seen[i] + 1; /* if none is missing in between */

		if (b->last[i] > done + (shared->source[i].pid != 0))
			ROUND_FAIL("source %d: %llu was never sent, %llu is the last", i,
			           (unsigned long long)b->last[i], (unsigned long long)done);
		if (lost)
			continue;
		if (b->last[i] < done && done > unsure)
			ROUND_FAIL("source %d: %llu is read last, but %llu was committed", i,
			           (unsigned long long)b->last[i], (unsigned long long)done);
		else if (b->seen[i] && from > unsure + 1)
			ROUND_FAIL("source %d: %llu events up to %llu: some are missing, and none is lost", i,
			           (unsigned long long)b->seen[i], (unsigned long long)b->last[i]);
	}
}
