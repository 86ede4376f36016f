/*
 * kills_log.c - checks that the log of a killed process is complete
 *
 * The creator of a stream with a log stores its progress in shared memory (kills.h, log_life). Afterwards the
 * log is opened by posix_trace_open(), and read. For each source it must contain every event once, in order, with the
 * right bytes and the right name. The log is complete and has an index, with which the books balance:
 *
 *     committed before the kill <= read + lost + discarded <= committed at all + one for each source
 *
 * The stream had no memory for the lost events, the log no space for the discarded ones. If no event is lost or
 * discarded, no event in between is missing. A second reader finds the same events, and reading does not change the
 * file.
 *
 * SPDX-License-Identifier: MIT
 */
#include <sys/stat.h>

#include "kills.h"


#define LOG_IDS 2048

static const char *const log_names[] = { "NONE", "CREATING", "CREATED", "STARTED", "ENDING", "ENDED" };

struct log_books {
	uint64_t first[LOG_SOURCES], last[LOG_SOURCES], seen[LOG_SOURCES];
	uint64_t skipped[LOG_SOURCES]; /* missing numbers between first and last */
	uint64_t users, called, all;   /* events: of sources; START and FILTER of calls; all in segments */
	struct log_index index;
	uint64_t sum;                  /* checksum of everything read */
	int last_id, last_value;
	int gaps;                      /* OVERFLOW events */
	bool full;
	struct posix_trace_status_info status;
};

/* Returns a checksum of the file, to notice changes. */
static uint64_t log_bytes_sum(int fd)
{
	static unsigned char block[1 << 16];
	uint64_t sum = 1, word;
	off_t at = 0;
	ssize_t n;

	while ((n = pread(fd, block, sizeof block, at)) > 0) {
		memset(block + n, 0, sizeof block - (size_t)n > 8 ? 8 : sizeof block - (size_t)n);
		for (ssize_t i = 0; i < n; i += 8) {
			memcpy(&word, block + i, 8);
			sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
			sum ^= sum >> 29;
		}
		at += n;
	}
	return sum + (uint64_t)at;
}

/* -- Reading a log ---------------------------------------------------------------------------- */

static void log_source(struct log_books *b, const struct posix_trace_event_info *e, const struct number *n,
		       size_t length)
{
	struct number right;
	unsigned s = n->source;

	if (length < 16 || s >= LOG_SOURCES) {
		ROUND_FAIL("in the log: no event of ours: length %zu, source %u", length, s);
		return;
	}
	b->users++;
	b->seen[s]++;
	if (number_fill(&right, 0, s, n->number) != length || memcmp(&right, n, length) != 0)
		ROUND_FAIL("in the log: source %u: event %llu is damaged", s, (unsigned long long)n->number);
	if (e->posix_pid != shared->source[s].pid)
		ROUND_FAIL("in the log: source %u: event of process %d", s, (int)e->posix_pid);
	if (!b->first[s])
		b->first[s] = n->number;
	else if (n->number <= b->last[s])
		ROUND_FAIL("in the log: source %u: event %llu after %llu", s, (unsigned long long)n->number,
		           (unsigned long long)b->last[s]);
	else
		b->skipped[s] += n->number - b->last[s] - 1;
	b->last[s] = n->number;
}

static void log_one(struct log_books *b, trace_id_t trid, const struct posix_trace_event_info *e,
		    const struct number *n, size_t length)
{
	static signed char is_number[LOG_IDS];
	static trace_id_t known;
	char name[TRACE_EVENT_NAME_MAX + 1];
	uint64_t mix = e->posix_event_id + (uint64_t)timespec_ns(&e->posix_timestamp) + (uint64_t)e->posix_pid;

	if (known != trid) {
		memset(is_number, -1, sizeof is_number);
		known = trid;
	}
	b->sum = chance_mix(b->sum ^ mix ^ (length >= 16 ? n->number << 8 | n->source : 0));
	b->last_id = (int)e->posix_event_id;
	if (e->posix_event_id == POSIX_TRACE_STOP && length == sizeof(int))
		memcpy(&b->last_value, n, sizeof(int));
	b->called += e->posix_pid != 0 &&
	             (e->posix_event_id == POSIX_TRACE_START || e->posix_event_id == POSIX_TRACE_FILTER);
	b->gaps += e->posix_event_id == POSIX_TRACE_OVERFLOW;
	if (e->posix_event_id < POSIX_TRACE_UNNAMED_USEREVENT)
		return;
	if (e->posix_event_id >= LOG_IDS) {
		ROUND_FAIL("in the log: an event with the id %u", e->posix_event_id);
		return;
	}
	if (is_number[e->posix_event_id] < 0) {
		name[0] = 0;
		if (posix_trace_eventid_get_name(trid, e->posix_event_id, name) != 0)
			ROUND_FAIL("in the log: the event type %u has no name", e->posix_event_id);
		is_number[e->posix_event_id] = strcmp(name, "number") == 0;
	}
	if (is_number[e->posix_event_id])
		log_source(b, e, n, length);
	else if (length >= 16)
		ROUND_FAIL("in the log: source %u: event with the id %u", n->source, e->posix_event_id);
}

/* Returns true if the thread of the event was, as far as is known, held up for longer than readers wait, or killed. */
static bool log_held_up(const struct posix_trace_event_info *e, const struct number *n)
{
	const struct source *s = &shared->source[n->source];

	return e->posix_event_id >= POSIX_TRACE_UNNAMED_USEREVENT && n->source < LOG_SOURCES &&
	       (s->longest > PATIENCE_NS || n->number > s->done);
}

/* Checks that an event is older than one before it only if its thread was held up for long (docs/reading.md). */
static void log_order(const struct log_books *b, const struct posix_trace_event_info *e, const struct number *n,
		      int64_t *newest)
{
	int64_t ns = timespec_ns(&e->posix_timestamp);

	if (ns < *newest && ns > *newest - PATIENCE_NS && !log_held_up(e, n))
		ROUND_FAIL(
			"in the log: event %llu, of type %u, is %lld ns older than one before it, the last of type %d",
			(unsigned long long)b->all, e->posix_event_id, (long long)(*newest - ns), b->last_id);
	if (ns > *newest)
		*newest = ns;
}

/* Reads a whole log. Returns the error number of posix_trace_open(). */
static int log_read(const char *path, struct log_books *b)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), error, unavailable = 0;
	struct posix_trace_event_info e;
	int64_t newest = 0, begin = now_ns();
	trace_id_t trid;
	struct number n;
	size_t length;

	MUST(fd >= 0);
	memset(b, 0, sizeof *b);
	error = posix_trace_open(fd, &trid);
	if (now_ns() - begin > 2 * DEADLINE_NS)
		ROUND_FAIL("open took %lld ms", (long long)(now_ns() - begin) / 1000000);
	if (error) {
		close(fd);
		return error;
	}
	b->full = log_index_read(fd, &b->index);
	close(fd);
	if (posix_trace_get_status(trid, &b->status) != 0)
		ROUND_FAIL("no status of the log");
	while (shared->failures < 10) {
		n.source = LOG_SOURCES;
		if (posix_trace_getnext_event(trid, &e, &n, sizeof n, &length, &unavailable) != 0)
			ROUND_FAIL("getnext of the log");
		if (unavailable)
			break;
		b->all++;
		log_order(b, &e, &n, &newest);
		log_one(b, trid, &e, &n, length);
	}
	if (posix_trace_close(trid) != 0)
		ROUND_FAIL("close of the log");
	return 0;
}

/* -- Completeness ---------------------------------------------------------------------------------- */

static void log_show(const struct log_books *b)
{
	const struct log_life *l = &shared->log;

	fprintf(stderr,
	        "  log: policies %d and %d, size %zu, stream %zu, of %d, next %d%s%s%s; phase %s\n"
	        "  read %llu (%llu of sources, %llu of calls), written %llu, lost %llu, discarded %llu, %d gaps; calls "
	        "%d to %d\n",
	        shared->round.log.policy, shared->round.log.stream, shared->round.log.size,
	        shared->round.log.stream_size, (int)shared->round.log.of, (int)shared->round.log.next,
	        shared->round.log.system ? ", system" : "", shared->round.log.changes ? ", changes" : "",
	        shared->round.log.moved ? ", moved" : "", log_names[l->phase], (unsigned long long)b->all,
	        (unsigned long long)b->users, (unsigned long long)b->called, (unsigned long long)b->index.written,
	        (unsigned long long)b->index.lost, (unsigned long long)b->index.discarded, b->gaps, l->least, l->most);
	for (int i = 0; i < LOG_SOURCES; i++)
		if (shared->source[i].pid)
			fprintf(stderr,
			        "  source %d: begins behind %llu to %llu, %llu to %llu committed; read %llu from %llu "
			        "to %llu, %llu missing\n",
			        i, (unsigned long long)l->before[i], (unsigned long long)l->after[i],
			        (unsigned long long)l->kept[i], (unsigned long long)shared->source[i].done,
			        (unsigned long long)b->seen[i], (unsigned long long)b->first[i],
			        (unsigned long long)b->last[i], (unsigned long long)b->skipped[i]);
}

/* Checks that the log has no event that was never sent, whatever else is in doubt. */
static void log_possible(const struct log_books *b)
{
	for (int i = 0; i < LOG_SOURCES; i++)
		if (b->last[i] > shared->source[i].done + (shared->source[i].pid != 0))
			ROUND_FAIL("in the log: source %d: %llu was never sent, %llu is the last", i,
			           (unsigned long long)b->last[i], (unsigned long long)shared->source[i].done);
	/* A log that wraps counts overwritten events; other logs have all events ever written. */
	if (b->index.written != b->all + (shared->round.log.policy == POSIX_TRACE_LOOP ? b->index.discarded : 0))
		ROUND_FAIL("in the log: %llu events were written, %llu discarded, %llu are there",
		           (unsigned long long)b->index.written, (unsigned long long)b->index.discarded,
		           (unsigned long long)b->all);
	if (b->status.__posix_lost_events != b->index.lost)
		ROUND_FAIL("in the log: the status says %llu lost, the index %llu",
		           (unsigned long long)b->status.__posix_lost_events, (unsigned long long)b->index.lost);
	if (shared->round.log.system && shared->round.log.policy == POSIX_TRACE_UNTIL_FULL && b->index.discarded &&
	    (b->last_id != POSIX_TRACE_STOP || !b->last_value))
		ROUND_FAIL("a full log does not end with STOP, but with %d", b->last_id);
}

static void log_balance(const struct log_books *b)
{
	const struct log_life *l = &shared->log;
	uint64_t least = 0, most = 0, have = b->users + b->index.lost + b->index.discarded;
	bool whole = b->index.lost == 0 && b->index.discarded == 0;

	if (shared->round.log.system) {
		least += (uint64_t)l->least;
		most += (uint64_t)l->most;
		have += b->called;
	}
	for (int i = 0; i < LOG_SOURCES; i++) {
		/* One event of the source may have been in progress when the stream started. */
		uint64_t kept = l->kept[i], done = shared->source[i].done;
		uint64_t unsure = l->phase < LOG_STARTED ? kept : l->after[i] + l->early[i];

		least += kept > unsure ? kept - unsure : 0;
		most += done + (shared->source[i].pid != 0) - l->before[i];
		if (b->index.lost == 0 && b->skipped[i])
			ROUND_FAIL("in the log: source %d: %llu are missing in between, and none is lost", i,
			           (unsigned long long)b->skipped[i]);
		if (whole && kept > unsure && (b->last[i] < kept || b->first[i] > unsure + 1))
			ROUND_FAIL(
				"in the log: source %d: %llu to %llu have to be there, and are not all, but nothing is "
				"lost",
				i, (unsigned long long)unsure + 1, (unsigned long long)kept);
		if (b->index.lost == 0 && shared->round.log.policy != POSIX_TRACE_UNTIL_FULL && b->seen[i] &&
		    b->last[i] < kept)
			ROUND_FAIL("in the log: source %d: %llu is the last one, not %llu", i,
			           (unsigned long long)b->last[i], (unsigned long long)kept);
	}
	/* A discarded event may be a system event. */
	if (have < least || (have > most && !(shared->round.log.system && b->index.discarded)))
		ROUND_FAIL("in the log: %llu read, %llu lost, %llu discarded, but there were %llu to %llu",
		           (unsigned long long)(have - b->index.lost - b->index.discarded),
		           (unsigned long long)b->index.lost,
		           (unsigned long long)b->index.discarded, (unsigned long long)least, (unsigned long long)most);
}

/* Starts a process that finds the log. Two such processes can run at the same time. */
static pid_t log_visitor(bool opens, const char *path)
{
	pid_t pid = fork();

	MUST(pid >= 0);
	if (pid == 0) {
		int fd = open(path, O_RDONLY | O_CLOEXEC), error;
		trace_id_t trid;

		alarm((unsigned)(20 * test_slow()));
		error = opens ? posix_trace_open(fd, &trid) : posix_trace_create(0, NULL, &trid);
		_exit(error ? 1 : 0);
	}
	return pid;
}

static void log_visited(pid_t pid, bool opens)
{
	int status = 0;

	MUST(waitpid(pid, &status, 0) == pid);
	/* A log that was just being created may not exist. */
	if (status && (!opens || shared->log.phase > LOG_CREATING))
		ROUND_FAIL("a process that finds the log ends with %#x", status);
}

static void log_come_by(const char *path, uint64_t *state)
{
	bool opens[2] = { chance(state, 2), chance(state, 2) };
	pid_t pid[2];

	switch (shared->round.log.next) {
	case LOG_NEXT_CREATES:
		log_visited(log_visitor(false, path), false);
		break;
	case LOG_NEXT_TWO:
		for (int i = 0; i < 2; i++)
			pid[i] = log_visitor(opens[i], path);
		for (int i = 0; i < 2; i++)
			log_visited(pid[i], opens[i]);
		break;
	default:
		break;
	}
}

/* Checks the log after all its writers have died or ended. */
void log_check(uint64_t *state)
{
	const char *path = LOG_FILE;
	struct log_books b, again;
	uint64_t sum;
	int error, fd;

	if (shared->log.phase == LOG_NONE)
		return;
	if (shared->log.error) {
		ROUND_FAIL("a stream with a log cannot be created: %s", strerror(shared->log.error));
		return;
	}
	if (shared->round.log.moved) {
		path = LOG_MOVED;
		MUST(rename(LOG_FILE, LOG_MOVED) == 0);
	}
	log_come_by(path, state);
	error = log_read(path, &b);
	if (error && (shared->log.phase > LOG_CREATING || error != EINVAL))
		ROUND_FAIL("open of a log: %s", strerror(error));
	if (!error && shared->log.phase > LOG_CREATING) {
		if (!b.full)
			ROUND_FAIL("the log is not complete");
		else
			log_possible(&b);
		if (!shared->log.doubtful)
			log_balance(&b);
		/* A complete log is not changed any more. */
		fd = open(path, O_RDONLY | O_CLOEXEC);
		sum = log_bytes_sum(fd);
		log_visited(log_visitor(false, path), false);
		if (log_read(path, &again) != 0 || again.sum != b.sum || again.all != b.all)
			ROUND_FAIL("another one reads something else in the log");
		if (log_bytes_sum(fd) != sum)
			ROUND_FAIL("the log has changed since it was read");
		close(fd);
	}
	if (failed())
		log_show(&b);
	else
		unlink(path);
}

/* -- The creator of a log ------------------------------------------------------------------------------- */

void log_choose(struct round *r, uint64_t *state)
{
	static const int policies[] = { POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND };
	static const int streams[] = { 0, POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_FLUSH };
	static const size_t stream_sizes[] = { 0, 4096, 65536, 300000, 1 << 20 };
	static const size_t sizes[] = { 0, 20000, 300000, 5000000 };
	struct log_round *l = &r->log;

	l->policy = policies[chance(state, 3)];
	l->stream = streams[chance(state, 4)];
	l->size = sizes[chance(state, 4)];
	l->stream_size = stream_sizes[chance(state, 5)];
	l->of = (enum log_of)chance(state, LOG_OFS);
	l->next = (enum log_next)chance(state, LOG_NEXTS);
	l->system = chance(state, 2);
	l->changes = chance(state, 5) == 0;
	l->append = chance(state, 5) == 0;
	l->moved = r->kind != SAVER && chance(state, 6) == 0;
}

int log_create(pid_t pid, trace_id_t *trid)
{
	const struct log_round *r = &shared->round.log;
	struct log_life *l = &shared->log;
	int fd = open(LOG_FILE, O_WRONLY | O_CLOEXEC | O_CREAT | (r->append ? O_APPEND : 0), 0600), error;
	trace_event_set_t set;
	trace_attr_t attr;

	MUST(fd >= 0);
	posix_trace_attr_init(&attr);
	posix_trace_attr_setstreamsize(&attr, r->stream_size);
	posix_trace_attr_setmaxdatasize(&attr, NUMBER_SIZE);
	posix_trace_attr_setlogfullpolicy(&attr, r->policy);
	posix_trace_attr_setlogsize(&attr, r->size);
	if (r->stream)
		posix_trace_attr_setstreamfullpolicy(&attr, r->stream);
	l->phase = LOG_CREATING;
	error = posix_trace_create_withlog(pid, &attr, fd, trid);
	close(fd);
	if (error) {
		l->error = error;
		return error;
	}
	l->phase = LOG_CREATED;
	if (!r->system) {
		posix_trace_eventset_fill(&set, POSIX_TRACE_SYSTEM_EVENTS);
		if (posix_trace_set_filter(*trid, &set, POSIX_TRACE_SET_EVENTSET) != 0)
			ROUND_FAIL("set_filter of a stream with a log");
	}
	for (int i = 0; i < SOURCES; i++)
		l->before[i] = shared->source[i].done;
	l->most++;
	if (posix_trace_start(*trid) != 0)
		ROUND_FAIL("start of a stream with a log");
	source_settle();
	for (int i = 0; i < SOURCES; i++) {
		l->early[i] = shared->source[i].pid != 0;
		l->after[i] = shared->source[i].done;
	}
	l->least++;
	l->phase = LOG_STARTED;
	return 0;
}

/* Makes a random call of the creator. */
void log_call(trace_id_t trid, uint64_t *state)
{
	struct posix_trace_status_info status;
	struct log_life *l = &shared->log;
	trace_event_set_t set;
	trace_attr_t attr;
	trace_id_t other;
	int error = 0;

	switch (chance(state, shared->round.log.changes ? 12 : 9)) {
	case 0:
	case 1:
	case 2:
		error = posix_trace_flush(trid);
		break;
	case 3:
		error = posix_trace_get_status(trid, &status);
		break;
	case 4:
		error = posix_trace_get_attr(trid, &attr);
		break;
	case 5:
		/* A type that is never recorded. */
		posix_trace_eventset_empty(&set);
		posix_trace_eventset_add(POSIX_TRACE_UNNAMED_USEREVENT, &set);
		l->most++;
		error = posix_trace_set_filter(trid, &set,
		                               chance(state, 2) ? POSIX_TRACE_ADD_EVENTSET : POSIX_TRACE_SUB_EVENTSET);
		/* Under other policies the stream may have stopped by itself, and then the call is not recorded. */
		l->least += shared->round.log.stream == POSIX_TRACE_LOOP;
		break;
	case 6:
		if (chance(state, 8) == 0 && posix_trace_create(0, NULL, &other) == 0)
			error = posix_trace_shutdown(other);
		break;
	case 9:
		l->doubtful = 1;
		error = posix_trace_stop(trid);
		break;
	case 10:
		l->doubtful = 1;
		error = posix_trace_start(trid);
		break;
	case 11:
		l->doubtful = 1;
		error = posix_trace_clear(trid);
		break;
	default:
		sleep_us(chance(state, 1000));
		break;
	}
	if (error)
		ROUND_FAIL("a call on a stream with a log: %s", strerror(error));
}

void log_end(trace_id_t trid)
{
	int error;

	log_cut();
	shared->log.phase = LOG_ENDING;
	error = posix_trace_shutdown(trid);
	if (error)
		ROUND_FAIL("shutdown of a stream with a log: %s", strerror(error));
	shared->log.phase = LOG_ENDED;
}

/* Runs a log from its beginning to its end, or to the end of this process. */
void log_life(pid_t pid, uint64_t *state)
{
	int calls = (int)chance(state, 40);
	trace_id_t trid;

	if (log_create(pid, &trid) != 0)
		return;
	while (shared->round.log.endless || calls-- > 0)
		log_call(trid, state);
	if (chance(state, 4)) {
		log_end(trid);
	} else {
		/* exit() does the rest. */
		log_cut();
		shared->log.phase = LOG_ENDING;
	}
}
