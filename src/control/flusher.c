/*
 * flusher.c - the thread that writes a stream's log
 *
 * SPDX-License-Identifier: MIT
 */
#include "control/flusher.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "base/helper.h"
#include "base/sys.h"
#include "base/testpoint.h"
#include "base/text.h"
#include "base/ticks.h"

#define SLEEP_NS    NS_PER_S           /* longest sleep */
#define LOOK_NS     (NS_PER_S / 2)     /* time between two checks for the application's threads */
#define GUARDED_NS  (NS_PER_S / 50)    /* longest sleep if a hostile process may refuse to wake the flusher (H18) */
#define EXIT_TRIES  100                /* ms that exit() waits for another caller's question */

/* -- The thread ----------------------------------------------------------------------- */

static void set_error(struct stream_header *h, int error)
{
	uint32_t state = load_relaxed(&h->state);

	/* The first error stays until posix_trace_get_status() has read it (FLUSH-16). */
	while (!(state >> STATE_ERROR_SHIFT) && !cas(&h->state, &state, state | (uint32_t)error << STATE_ERROR_SHIFT))
		;
}

static int64_t period_of(const struct flusher *g)
{
	return attr_flush_period(&g->flush.handle->attr);
}

/* Returns true if there is anything to write, apart from the events of flushes themselves. */
static bool unread(const struct flusher *g)
{
	return !merge_empty(&g->flush.live->merge) || load_relaxed(&g->flush.stream->header->stopped_ticks) != 0;
}

static void mark(struct flusher *g, const struct event *caller, trace_event_id_t id, uint64_t ticks)
{
	struct event event = *caller;

	event.id = id;
	event.ticks = ticks;
	flush_marker(&g->flush, &event);
}

/* Flushes the stream. Returns 0 or a negative error number. caller: origin of FLUSH_START and FLUSH_STOP. */
static int flush(struct flusher *g, const struct event *caller)
{
	struct stream_header *h = g->flush.stream->header;
	uint32_t clock = g->flush.stream->clock_kind;
	bool running;
	uint64_t now;
	int r;

	/* From now on a writer that takes a chunk wakes the flusher again. */
	store_relaxed(&h->flush_waiting, 1);
	running = fetch_or(&h->state, STATE_FLUSHING) & STATE_RUNNING;
	/* A filter may select so few events that a log of many flushes would be larger than one of the events. */
	if (g->flush.filter && !caller->pid)
		running = false;
	now = ticks_read(clock);
	TEST_POINT("flush_begins");
	if (running)
		mark(g, caller, POSIX_TRACE_FLUSH_START, now);
	r = flush_until(&g->flush, now);
	if (r < 0)
		set_error(h, -r);
	/* Note in the log that events are missing, in case it is never completed; clear the note after a success. */
	if (r < 0 || g->reported)
		g->reported = flush_tell(&g->flush, -r) == 0 ? r < 0 : g->reported;
	if (running)
		mark(g, caller, POSIX_TRACE_FLUSH_STOP, ticks_read(clock));
	fetch_and(&h->state, ~STATE_FLUSHING);
	TEST_POINT("flush_ends");
	g->last = clock_ns(CLOCK_MONOTONIC);
	g->failed = r < 0;
	return r;
}

/* Writes all remaining events and the end of the log. Returns 0 or a negative error number. */
static int end(struct flusher *g)
{
	struct stream_header *h = g->flush.stream->header;
	int r, closed;

	fetch_or(&h->state, STATE_FLUSHING);
	r = flush_until(&g->flush, UINT64_MAX);
	if (r < 0) {
		set_error(h, -r);
		flush_give_up(&g->flush);
	}
	fetch_and(&h->state, ~STATE_FLUSHING);
	TEST_POINT("end_flushed");
	closed = flush_end(&g->flush);
	if (closed < 0)
		set_error(h, -closed);
	if (g->sum)
		*g->sum = flush_sum(&g->flush);
	if (r == 0 && closed == 0)
		fetch_or(&h->state, STATE_SAVED);
	TEST_POINT("end_closed");
	output_close(&g->flush.output);
	return r < 0 ? r : closed;
}

/* Stores the stream's attributes and creation time: in the log's header, and for a process that finishes the log. */
static void describe_beginning(struct flusher *g)
{
	struct flush *f = &g->flush;

	g->header.attr = f->handle->attr;
	g->header.monotonic = attr_created(&g->header.attr) - (uint64_t)f->handle->real_time;
	f->real_time = f->describe.real_time = f->handle->real_time;
	f->state->real_time = f->real_time;
	f->state->created_ticks = f->live->merge.times.creation.ticks;
	f->state->created_monotonic = f->live->merge.times.creation.monotonic;
}

static int begin(struct flusher *g)
{
	describe_beginning(g);
	return flush_begin(&g->flush);
}

static int clear(struct flusher *g)
{
	struct flush *f = &g->flush;

	g->failed = g->reported = false;
	f->markers = 0;
	f->full = false;
	g->header.generation++;
	f->discarded = f->left_out = f->unmarked = 0;
	f->lost = 0;
	draft_clear(&f->draft, f->stream);
	fetch_and(&f->stream->header->state, ~(STATE_LOG_FULL | STATE_LOG_OVERRUN));
	return begin(g);
}

static void answer(struct flusher *g, int r)
{
	g->answer = r < 0 ? -r : 0;
	store_release(&g->answered, g->asked); /* PAIR(answered) */
	sys_futex_wake(&g->answered);
}

/* Answers the question. Returns false if it asked for the flusher's end. */
static bool reply(struct flusher *g)
{
	switch (g->question) {
	case FLUSHER_FLUSH:
		answer(g, flush(g, &g->caller));
		return true;
	case FLUSHER_PAUSE:
		g->paused = true;
		answer(g, 0);
		return true;
	case FLUSHER_CLEAR:
		g->paused = false;
		answer(g, clear(g));
		return true;
	case FLUSHER_DESCRIBE:
		answer(g, describe_target(&g->flush.describe, &g->flush.output));
		return true;
	case FLUSHER_LABELS:
		answer(g, flush_labels(&g->flush));
		return true;
	case FLUSHER_FILTER:
		g->flush.filter = g->filter;
		g->flush.describe.on_process = g->filter->process;
		g->flush.describe.on_process_arg = g->filter;
		answer(g, 0);
		return true;
	default:
		answer(g, end(g));
		return false;
	}
}

static void sleep_until_needed(struct flusher *g, uint32_t wakeups)
{
	struct stream_header *h = g->flush.stream->header;
	int64_t most = g->flush.handle->target.shm_dir.guarded ? GUARDED_NS : SLEEP_NS, period = period_of(g);
	int64_t left = g->last + period - clock_ns(CLOCK_MONOTONIC);

	/* Nothing was left to write when the period ended. */
	if (left <= 0)
		left = period;
	if (load_acquire(&g->asked) != load_relaxed(&g->answered)) /* PAIR(asked) */
		return;
	TEST_POINT("flusher_sleeps");
	sys_futex_wait_for(&h->wakeups, wakeups, left < most ? left : most);
}

/* Returns true if the flusher has to flush unasked: a chunk or the stream is full, or the period is over. */
static bool due(const struct flusher *g)
{
	const struct stream *s = g->flush.stream;
	bool early;

	if (s->stream_policy != POSIX_TRACE_FLUSH || g->paused)
		return false;
	early = clock_ns(CLOCK_MONOTONIC) - g->last < period_of(g);
	/* A full disk or a closed pipe does not recover at once: try again after the period, and not before. */
	if (early && g->failed)
		return false;
	if (early && load_relaxed(&s->header->flush_waiting) && !(load_relaxed(&s->header->state) & STATE_ARMED))
		return false;
	store_relaxed(&s->header->flush_waiting, 1);
	return unread(g);
}

enum keeper_end {
	KEEPER_SLEEPS,
	KEEPER_RETURNS, /* the flusher has ended */
	KEEPER_EXITS,   /* no thread of the application is left */
};

/* Keeps the application's descriptors open, because exit() may write to them. */
static void *keep(void *arg)
{
	static uint32_t exiting;
	struct flusher *g = arg;
	uint32_t end, first = 0;

	helper_counts();
	while ((end = load_relaxed(&g->keeper_ends)) == KEEPER_SLEEPS)
		sys_futex_wait(&g->keeper_ends, KEEPER_SLEEPS, NULL);
	/* Each log has a keeper, but only one thread may call exit(). */
	if (end == KEEPER_EXITS && cas(&exiting, &first, 1)) {
		pthread_sigmask(SIG_SETMASK, &g->signals, NULL);
		exit(0);
	}
	helper_counts_no_more();
	return NULL;
}

static void keeper_end(struct flusher *g, enum keeper_end how)
{
	uint32_t sleeps = KEEPER_SLEEPS;

	cas(&g->keeper_ends, &sleeps, how);
	sys_futex_wake(&g->keeper_ends);
}

/* Ends the process if no thread of the application is left. */
static void look_for_threads(struct flusher *g)
{
	int64_t now = clock_ns(CLOCK_MONOTONIC);

	if (now - g->looked < LOOK_NS)
		return;
	g->looked = now;
	if (helper_alone())
		keeper_end(g, KEEPER_EXITS);
}

static void *run(void *arg)
{
	static const struct event nobody;
	struct flusher *g = arg;
	struct stream_header *h = g->flush.stream->header;

	for (;;) {
		uint32_t wakeups = load_relaxed(&h->wakeups);

		if (load_acquire(&g->asked) != load_relaxed(&g->answered)) { /* PAIR(asked) */
			if (!reply(g)) {
				helper_counts_no_more();
				return NULL;
			}
			continue;
		}
		if (due(g)) {
			flush(g, &nobody);
			continue;
		}
		look_for_threads(g);
		sleep_until_needed(g, wakeups);
	}
}

/* -- Its birth ---------------------------------------------------------------------------- */

struct birth {
	struct flusher *flusher;
	int fd;
	bool seeks;
	bool shared; /* the thread uses the application's table of descriptors */
	int error;   /* 0 or an error number; valid after born is set */
	uint32_t born;
};

/*
 * Stores the present path of the log's file: "" if the file has no name any more, "?" if its name cannot be determined.
 * After a death, a create() cannot find the log by "?", but a process that opens the log can finish it.
 */
static void find_path(struct log_state *state, const char *link, const struct sys_stat *st)
{
	struct sys_stat by_path;
	long n = sys_read_link(link, state->path, sizeof state->path);

	state->inode = st->inode;
	state->device_major = st->device_major;
	state->device_minor = st->device_minor;
	if (n <= 0 || n >= (long)sizeof state->path - 1 || state->path[0] != '/' ||
	    sys_stat_path(state->path, &by_path) < 0 || !sys_same_file(&by_path, st)) {
		state->path[0] = st->links ? '?' : 0;
		state->path[1] = 0;
	}
}

/*
 * Returns the thread's own descriptor of the log, or a negative error number. A file is written by position, wherever
 * other processes seek and whatever they append.
 */
static int own_descriptor(struct birth *b, struct log_state *state)
{
	char link[40];
	struct text t = text_into(link, sizeof link);
	struct sys_stat st;
	int fd = b->fd, own;

	/* Without a table of its own, the thread gets a duplicate of the descriptor. */
	if (sys_own_descriptors(fd) < 0) {
		b->shared = true;
		fd = sys_dup(fd);
		if (fd < 0)
			return fd;
	}
	if (!b->seeks)
		return fd;
	if (sys_stat(fd, &st) < 0)
		return -EBADF;
	text_add(&t, "/proc/thread-self/fd/");
	text_add_number(&t, (uint64_t)fd);
	find_path(state, link, &st);
	if (!(sys_open_flags(fd) & O_APPEND))
		return fd;
	/* With O_APPEND a descriptor cannot be written by position: open the file again. */
	own = sys_open(AT_FDCWD, link, O_WRONLY, 0);
	sys_close(fd);
	return own < 0 ? -EINVAL : own;
}

static int prepare(struct birth *b)
{
	struct flusher *g = b->flusher;
	struct flush *f = &g->flush;
	int fd = own_descriptor(b, f->state), r;

	if (fd < 0)
		return fd;
	f->output.fd = fd;
	if (b->shared && output_share(&f->output) < 0)
		return -EBADF;
	store_relaxed(&f->stream->header->flush_waiting, 1);
	/* Finds out now whether there is space, where the file system can tell (LOG-11). */
	if (b->seeks && f->output.policy != POSIX_TRACE_APPEND) {
		r = sys_reserve_space(fd, f->state->size);
		if (r == -ENOSPC || r == -EFBIG || r == -EDQUOT)
			return r == -EFBIG ? r : -ENOSPC;
	}
	return begin(g);
}

static void *be_born(void *arg)
{
	struct birth *b = arg;
	struct flusher *g = b->flusher;
	int r = prepare(b);

	g->last = g->looked = clock_ns(CLOCK_MONOTONIC);
	if (r == 0)
		helper_counts();
	if (r < 0 && g->flush.output.fd != b->fd)
		sys_close(g->flush.output.fd);
	b->error = r < 0 ? -r : 0;
	store_release(&b->born, 1); /* PAIR(born) */
	sys_futex_wake(&b->born);
	return r < 0 ? NULL : run(g);
}

static int start_thread(struct birth *b)
{
	int error = helper_start(&b->flusher->thread, be_born, b);

	if (error)
		return error;
	while (!load_acquire(&b->born)) /* PAIR(born) */
		sys_futex_wait(&b->born, 0, NULL);
	if (b->error)
		helper_join(b->flusher->thread);
	return b->error;
}

static void describe_stream(struct flusher *g, const struct handle *h)
{
	struct text t = text_into(g->header.stream, sizeof g->header.stream);
	char name[FILE_NAME_SIZE];

	header_machine(&g->header);
	g->header.target = h->stream.header->target_pid;
	g->header.creator = h->entry.creator.pid;
	stream_name(name, h->entry.creator, h->entry.serial);
	text_add(&t, h->target.shm_dir.path);
	text_add(&t, "/");
	text_add(&t, name);
}

/*
 * Returns the memory in which segments are put together, or null if there is none. The stream's own memory serves
 * unless a process with fewer rights can write there: it must not be able to change the log.
 */
static struct log_state *state_for(struct flusher *g, struct handle *h)
{
	if (!h->target.shm_dir.guarded)
		return h->stream.log;
	g->own_size = h->stream.log_bytes;
	g->own_state = sys_map(g->own_size, -1, 1);
	if (g->own_state)
		memcpy(g->own_state, h->stream.log, sizeof *g->own_state);
	return g->own_state;
}

static void flusher_free(struct handle *h)
{
	struct flusher *g = h->flusher;

	flush_free(&g->flush);
	if (g->own_state)
		sys_unmap(g->own_state, g->own_size);
	pthread_mutex_destroy(&g->asking);
	sys_unmap(g, sizeof *g);
	h->flusher = NULL;
}

static void keeper_join(struct flusher *g)
{
	keeper_end(g, KEEPER_RETURNS);
	helper_join(g->keeper);
}

int flusher_start(struct handle *h, int fd, bool seeks)
{
	struct flusher *g = sys_map(sizeof *g, -1, 1);
	struct birth b = { .flusher = g, .fd = fd, .seeks = seeks };
	struct log_state *state;
	int r;

	if (!g)
		return ENOMEM;
	sys_not_on_fork(g, sizeof *g);
	h->flusher = g;
	pthread_mutex_init(&g->asking, NULL);
	pthread_sigmask(SIG_BLOCK, NULL, &g->signals);
	state = state_for(g, h);
	r = state ? flush_init(&g->flush, &h->stream, &h->live, state, fd, seeks) : -ENOMEM;
	if (r == 0) {
		g->flush.handle = h;
		g->flush.header = &g->header;
		g->flush.labels = &g->labels;
		g->flush.describe.names = h->target.names;
		g->flush.describe.later = h->target.later;
		g->flush.describe.target = h->stream.header->target_pid;
		g->flush.describe.target_number = h->target.number ? h->target.number : (uint32_t)sys_getpid();
		g->flush.describe.guarded = h->target.shm_dir.guarded;
		g->flush.describe.owner = h->target.shm_dir.owner;
		g->flush.describe.group = h->target.shm_dir.group;
		describe_stream(g, h);
		labels_set_machine(&g->labels);
		memcpy(state->names, h->target.names->file, sizeof h->target.names->file);
		r = -helper_start_large(&g->keeper, keep, g);
		if (r == 0) {
			r = -start_thread(&b);
			if (r < 0)
				keeper_join(g);
		}
	}
	if (r < 0)
		flusher_free(h);
	return -r;
}

/* -- Questions -------------------------------------------------------------------------------- */

/* Asks the flusher and returns its answer, 0 or an error number. The caller has locked asking. */
static int ask(struct flusher *g, enum flusher_question question, const struct event *caller)
{
	struct stream_header *h = g->flush.stream->header;
	uint32_t asked = g->asked + 1, answered;

	g->question = question;
	if (caller)
		g->caller = *caller;
	store_release(&g->asked, asked); /* PAIR(asked) */
	fetch_add(&h->wakeups, 1);
	sys_futex_wake(&h->wakeups);
	while ((answered = load_acquire(&g->answered)) != asked) /* PAIR(answered) */
		sys_futex_wait(&g->answered, answered, NULL);
	return g->answer;
}

int flusher_flush(struct handle *h, const struct event *caller)
{
	struct flusher *g = h->flusher;
	int error;

	pthread_mutex_lock(&g->asking);
	error = ask(g, FLUSHER_FLUSH, caller);
	pthread_mutex_unlock(&g->asking);
	return error;
}

int flusher_describe(struct handle *h)
{
	struct flusher *g = h->flusher;
	int error;

	pthread_mutex_lock(&g->asking);
	error = ask(g, FLUSHER_DESCRIBE, NULL);
	pthread_mutex_unlock(&g->asking);
	return error;
}

void flusher_filter(struct handle *h, struct flush_filter *filter)
{
	struct flusher *g = h->flusher;

	pthread_mutex_lock(&g->asking);
	g->filter = filter;
	ask(g, FLUSHER_FILTER, NULL);
	pthread_mutex_unlock(&g->asking);
}

int flusher_labels(struct handle *h, const char *const *list, size_t count, clocks_ask ask_clock)
{
	struct flusher *g = h->flusher;
	int error = 0;

	pthread_mutex_lock(&g->asking);
	g->flush.ask_clock = ask_clock;
	for (size_t i = 0; i < count && !error; i++) {
		const char *value = strchr(list[i], '=');

		if (!value || !labels_set(&g->labels, list[i], (size_t)(value - list[i]), value + 1, strlen(value + 1)))
			error = EINVAL;
	}
	if (!error)
		error = ask(g, FLUSHER_LABELS, NULL);
	pthread_mutex_unlock(&g->asking);
	return error;
}

void flusher_pause(struct handle *h)
{
	pthread_mutex_lock(&h->flusher->asking);
	ask(h->flusher, FLUSHER_PAUSE, NULL);
}

int flusher_clear(struct handle *h, uint64_t lost_base)
{
	int error;

	h->flusher->flush.output.lost_base = lost_base;
	error = ask(h->flusher, FLUSHER_CLEAR, NULL);
	pthread_mutex_unlock(&h->flusher->asking);
	return error;
}

int flusher_end(struct handle *h, struct output_end *sum)
{
	int error;

	h->flusher->sum = sum;
	error = ask(h->flusher, FLUSHER_END, NULL);

	helper_join(h->flusher->thread);
	keeper_join(h->flusher);
	flusher_free(h);
	return error;
}

bool flusher_try_end(struct handle *h)
{
	struct flusher *g = h->flusher;

	/* The mutex may be held by a thread that exit() has interrupted, so the wait is limited. */
	for (int i = 0; i < EXIT_TRIES; i++) {
		if (pthread_mutex_trylock(&g->asking) == 0) {
			ask(g, FLUSHER_END, NULL);
			pthread_mutex_unlock(&g->asking);
			return true;
		}
		sys_sleep_ns(1000000);
	}
	return false;
}
