/*
 * instructions.c - a signal at each single instruction of a trace point
 *
 * H2, H4. The handler forks, and the child returns to the parent's place, but later: when the parent has recorded
 * enough to change all of the stream's memory, and is in the middle of another trace point. Nothing that the child then
 * does may have an effect: the parent's books balance, its seat is right, and the child comes to its end. In other
 * tests the handler traces; or it jumps away and never returns to the trace point (H17): the event is recorded, counted
 * as lost, or had not begun. Or the signal is SIGKILL (H6). Or the stream is full, and the event is counted as lost
 * once.
 *
 * SPDX-License-Identifier: MIT
 */
#include <posixtrace/trace.h>

#include "stress.h"

#if __has_include(<execinfo.h>)
# include <execinfo.h>
#endif
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "base/rseq.h"
#include "base/ticks.h"
#include "fault.h"
#include "fork.h"
#include "model/record.h"
#include "shm/layout.h"
#include "step.h"

#define STREAM_SIZE 4096
#define FILLING     300 /* more events than fit into a stream of this size */

enum { QUESTION, FILLER, HANDLER, SOURCES };

static struct {
	_Atomic int wanted;         /* a child was forked */
	_Atomic int go;             /* the child may return from the handler */
	_Atomic int came;           /* the child has come to its end */
	volatile uint32_t *busy;    /* in the process that is single-stepped */
	uint32_t seats;
	volatile struct chunk *chunk; /* in the same process */
	uint32_t chunks, chunk_size;
	struct stress_source source[SOURCES];
	uint64_t clock_kind;
} *family;

#define source family->source
static struct tally tally[2];
static trace_id_t trid[2];
static int streams;
static size_t least, most; /* limits of the data length of the event in question */
static enum { WITH_ROOM, CHANGES, OVERWRITES } chunk; /* whether the event finds its chunk full, and then an empty or a
						       * used chunk next */
static pid_t (*make_child)(void);
static bool needs_counter;
static bool with_text; /* the event in question is recorded by posixtrace_event_text() */
static size_t text_least; /* and the text has at least so many bytes */
static int policy = POSIX_TRACE_LOOP;
static int every = 1, first; /* the test stops at every n-th instruction, beginning with `first` */
static volatile pid_t child;

/* -- The process that is single-stepped -------------------------------------- */

/* Selects one of several instructions at random, or all of them in a thorough test. */
static __attribute__((unused)) void choose(int one_of)
{
	if (!test_thorough())
		every = one_of;
}

static void begin(int n_streams, size_t from, size_t to)
{
	shm_private("");
	/* On a slow machine, fewer instructions. */
	every *= test_slow();
	first = (int)(now_ns() / 1000 % every);
	streams = n_streams;
	least = from;
	most = to;
	family = mmap(NULL, sizeof *family, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	MUST((void *)family != MAP_FAILED);
}

/* Finds the seats and chunks of the stream that was mapped last. */
static void find_seats(void)
{
	char line[512];
	FILE *f = fopen("/proc/self/maps", "re");
	const struct stream_header *h;
	unsigned long at = 0;

	MUST(f);
	while (fgets(line, sizeof line, f))
		if (strstr(line, " rw-s ") && strstr(line, "/stream-"))
			MUST(sscanf(line, "%lx", &at) == 1);
	fclose(f);
	MUST(at);
	h = (const struct stream_header *)at;
	family->clock_kind = h->clock_kind;
	family->seats = h->seat_count;
	family->busy = &((struct seat *)(at + STREAM_HEADER_BYTES))->busy;
	family->chunk = (struct chunk *)(at + STREAM_HEADER_BYTES + h->seat_count * sizeof(struct seat));
	family->chunks = h->chunk_count;
	family->chunk_size = h->chunk_size;
}

static bool nobody_busy(void)
{
	for (uint32_t i = 0; i < family->seats; i++)
		if (family->busy[i * sizeof(struct seat) / sizeof(uint32_t)])
			return false;
	for (uint32_t i = 0; i < family->chunks; i++)
		if (family->chunk[i].lock)
			return false;
	return true;
}

/*
 * Returns true if the chunk of this thread has room for an event of this length. The thread has the first seat. A
 * handler's trace point inside another one has a seat and a chunk of its own.
 */
static bool has_room(size_t length)
{
	for (uint32_t i = 0; i < family->chunks; i++)
		if ((uint32_t)family->chunk[i].owner == 1)
			return family->chunk_size - (uint32_t)family->chunk[i].progress >=
			       record_size((uint32_t)length);
	return false;
}

/* Ends the child, which is at a mark or was sent here from one. */
static void end_child(int signal)
{
	atomic_store(&family->came, 1);
	_exit(0);
}

static void drain(void)
{
	for (int i = 0; i < streams; i++) {
		tally_drain(&tally[i], trid[i]);
		tally_check(&tally[i]);
	}
}

/* Fills the chunk, if an event of this length shall find it full. */
static void fill(size_t length)
{
	for (int i = 0; chunk == OVERWRITES && i < FILLING; i++)
		stress_record(&source[FILLER]);
	while (chunk != WITH_ROOM && has_room(length)) {
		stress_record(&source[FILLER]);
		if (chunk == CHANGES)
			drain();
	}
}

/* Data as a text and what is around it. */
struct split {
	const char *text;
	struct posixtrace_around around;
	unsigned sizes;
};

/* Splits data into up to 16 bytes, a text with its null, and up to 16 bytes. Returns false if there is no such text. */
static bool split(const void *data, size_t length, struct split *split)
{
	const char *bytes = data;

	for (size_t from = 0; from <= POSIXTRACE_AROUND_MOST && from < length; from++) {
		size_t n = strnlen(bytes + from, length - from), behind = length - from - n - 1;

		if (n >= length - from || n < text_least || behind > POSIXTRACE_AROUND_MOST)
			continue;
		split->text = bytes + from;
		memcpy(split->around.__before, bytes, from);
		memcpy(split->around.__behind, bytes + length - behind, behind);
		split->around.__address = data;
		/* Events of half of the lengths have a text without a null. */
		split->sizes = length & 8 ? POSIXTRACE_TEXT_SIZES(from, behind, n) | POSIXTRACE_TEXT_COUNTED :
		                            POSIXTRACE_TEXT_SIZES(from, behind, POSIXTRACE_TEXT_MOST);
		return true;
	}
	return false;
}

/* Records the event in question. Only the trace point is single-stepped; its data is prepared before. */
static __attribute__((noinline)) void record_stepped(void)
{
	struct stress_source *s = &source[QUESTION];
	uint64_t words[STRESS_WORDS];
	trace_event_id_t type = stress_type(s->number);
	struct split parts = { 0 };
	size_t length;

	/* The numbers of a source determine the lengths of its events. */
	while (length = stress_fill(words, s->number, s->generated),
	       length < least || length > most || (with_text && !split(words, length, &parts)))
		stress_record(s);
	fill(length);
	s->generated++;
	step_begin();
	if (with_text)
		posixtrace_event_text(type, parts.text, &parts.around, parts.sizes);
	else
		posix_trace_event(type, words, length);
	if (child == 0)
		end_child(0);
	step_end();
}

static void prepare(void (*handler)(int))
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };

	MUST(sigaction(SIGUSR1, &action, NULL) == 0);
	action.sa_handler = end_child;
	MUST(sigaction(SIGTRAP, &action, NULL) == 0);
	stress_types();
	for (int i = 0; i < streams; i++) {
		tally_init(&tally[i]);
		for (unsigned k = 0; k < SOURCES; k++)
			tally_add(&tally[i], &source[k], k);
		trid[i] = stress_stream(policy, STREAM_SIZE);
		MUST(posix_trace_start(trid[i]) == 0);
	}
	for (unsigned k = 0; k < SOURCES; k++)
		source[k].thread = pthread_self();
	child = -1;
	/* Let the process make its writers, and the loader resolve functions. */
	for (int i = 0; i < 10; i++)
		stress_record(&source[FILLER]);
	if (with_text)
		posixtrace_event_text(0, "", &(struct posixtrace_around){ { 0 }, { 0 }, NULL }, 0);
	find_seats();
	if (needs_counter && family->clock_kind != CLOCK_KIND_COUNTER)
		_exit(77);
}

static void conclude(int n)
{
	drain();
	for (int i = 0; i < streams; i++) {
		tally_balance(&tally[i], 1, trid[i], 1);
		CHECK_EQ("SHUT-1", posix_trace_shutdown(trid[i]), 0);
	}
	if (test_failures)
		fprintf(stderr, "instruction %d, %zu to %zu bytes, %d streams, way %d\n", first + n * every, least,
		        most, streams, chunk);
	/* The fast path has some dozens of instructions. */
	CHECK("-", n * every > 50);
}

/* -- A child returns ---------------------------------------------------------- */

static void fork_and_wait(int signal)
{
	int saved = errno;

	child = make_child();
	if (child == 0) {
		struct timespec t = { 0, 100000 };

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (!atomic_load(&family->go))
			nanosleep(&t, NULL);
	} else {
		atomic_store(&family->wanted, 1);
	}
	errno = saved;
}

static void run_forks(void)
{
	int n = 0;

	prepare(fork_and_wait);
	for (; !step_last() && !test_failures; n++) {
		int status = 0;

		atomic_store(&family->wanted, 0);
		atomic_store(&family->go, 0);
		atomic_store(&family->came, 0);
		record_stepped();
		drain();
		/* The event is in the streams, and the tally ensures that it is there only once. Later losses come from
		 * overwriting. */
		for (int i = 0; i < streams; i++)
			CHECK("EVT-1 THR-3", tally[i].next[QUESTION] == source[QUESTION].generated);
		for (int i = 0; i < FILLING; i++)
			stress_record(&source[FILLER]);
		CHECK("-", nobody_busy());
		/* The child continues in the middle of this trace point. */
		record_stepped();
		if (child > 0) {
			while (waitpid(child, &status, 0) < 0 && errno == EINTR)
				;
			CHECK("THR-5", WIFEXITED(status) && WEXITSTATUS(status) == 0);
			child = -1;
		}
		CHECK("-", nobody_busy());
		drain();
		for (int i = 0; i < streams; i++)
			CHECK("EVT-1 THR-5", tally[i].next[QUESTION] == source[QUESTION].generated);
	}
	conclude(n - 1);
}

/* Releases the child while the process is in the middle of a record. */
static void pass_child(struct step *s)
{
	struct timespec t = { 0, 100000 };
	bool inside = false;

	if (!step_enter(s))
		return;
	while (!inside && step_one(s))
		inside = (uint32_t)step_peek(s, family->busy) != 0;
	CHECK("-", inside);
	if (inside && atomic_load(&family->wanted)) {
		atomic_store(&family->go, 1);
		for (int i = 0; i < 50000 && !atomic_load(&family->came); i++)
			nanosleep(&t, NULL);
		CHECK_EQ("THR-5", atomic_load(&family->came), 1);
		CHECK("-", (uint32_t)step_peek(s, family->busy) != 0);
	}
	step_signal(s, 0);
}

static void lead(void (*run)(void), int n_streams, size_t from, size_t to)
{
	struct step s;
	int status;

	begin(n_streams, from, to);
	step_start(&s, run);
	for (int n = first; !s.ended && !step_last(); n += every) {
		if (step_to(&s, n)) {
			step_signal(&s, SIGUSR1);
		} else if (!s.ended) {
			step_shared->last = 1;
			step_signal(&s, 0);
		}
		if (run == run_forks && !s.ended)
			pass_child(&s);
	}
	status = step_finish(&s);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		SKIP("restartable sequences are for the processor's counter only (H2)");
	CHECK("THR-3 THR-5", WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void forks(pid_t (*way)(void), int n_streams, size_t from, size_t to)
{
	make_child = way;
	lead(run_forks, n_streams, from, to);
}

TEST(fork_short)   { forks(fork, 1, 16, 31); }
TEST(fork_long)    { forks(fork, 1, 100, 128); }
TEST(fork_streams) { forks(fork, 2, 32, 63); }

/* No fork() handlers run in these children: only restartable sequences stop them. */

static void forks_unnoticed(pid_t (*way)(void), int n_streams, size_t from, size_t to)
{
#if HAVE_RSEQ
	if (!&rseq_libc_size || !rseq_libc_size)
		SKIP("no restartable sequences in this C library, or this kernel (H2)");
	needs_counter = true;
	forks(way, n_streams, from, to);
#else
	SKIP("no restartable sequences on this architecture, or with this sanitizer (H2)");
#endif
}

TEST(underscore_short)   { forks_unnoticed(fork_underscore, 1, 16, 31); }
TEST(underscore_middle)  { forks_unnoticed(fork_underscore, 1, 32, 63); }
TEST(underscore_long)    { forks_unnoticed(fork_underscore, 1, 100, 128); }
TEST(underscore_streams) { forks_unnoticed(fork_underscore, 2, 32, 63); }
TEST(clone_long)         { forks_unnoticed(fork_clone, 1, 100, 128); }

/* -- At a change of chunks ------------------------------------------------------ */

/* Without restartable sequences a change of chunks runs with signals blocked, and has thousands of instructions. */
#if HAVE_RSEQ
/* These tests are slow: they use one of four instructions, and different instructions in each run. */
# define CHANGED(name, way, ...) TEST(name) { chunk = way; choose(4); __VA_ARGS__; }
#else
# define CHANGED(name, way, ...) \
	TEST(name) { SKIP("no restartable sequences on this architecture, or with this sanitizer (H2)"); }
#endif

CHANGED(fork_changes,          CHANGES,    forks(fork, 1, 16, 31))
CHANGED(underscore_changes,    CHANGES,    forks_unnoticed(fork_underscore, 1, 16, 31))
CHANGED(underscore_overwrites, OVERWRITES, forks_unnoticed(fork_underscore, 1, 16, 31))

/* -- A handler that traces ----------------------------------------------------- */

static void trace_in_handler(int signal)
{
	stress_record(&source[HANDLER]);
}

static void run_traces(void)
{
	int n = 0;

	prepare(trace_in_handler);
	for (; !step_last() && !test_failures; n++) {
		record_stepped();
		CHECK("-", nobody_busy());
		drain();
		for (int i = 0; i < streams; i++) {
			CHECK("EVT-1 THR-3", tally[i].next[QUESTION] == source[QUESTION].generated);
			CHECK("EVT-1 THR-3", tally[i].next[HANDLER] == source[HANDLER].generated);
		}
	}
	CHECK_EQ("-", source[HANDLER].generated, n - 1);
	conclude(n - 1);
}

TEST(trace_short)   { lead(run_traces, 1, 16, 31); }
TEST(trace_long)    { lead(run_traces, 1, 100, 128); }
TEST(trace_streams) { lead(run_traces, 2, 32, 63); }

CHANGED(trace_changes,    CHANGES,    lead(run_traces, 1, 16, 31))
CHANGED(trace_overwrites, OVERWRITES, lead(run_traces, 2, 100, 128))

/* -- A handler that does not return -------------------------------------------- */

static sigjmp_buf back;

static void jump(int signal)
{
	siglongjmp(back, 1);
}

static void question(struct stress_source *s)
{
	uint64_t words[STRESS_WORDS];
	size_t length = stress_fill(words, s->number, s->generated++);

	posix_trace_event(stress_type(s->number), words, length);
}

/* Leaves a trace point by a jump. The following call uses the same depth of the stack as the one that was left. */
static __attribute__((noinline)) void sequence_left(void)
{
	fill(0);
	if (sigsetjmp(back, 1) == 0) {
		step_begin();
		question(&source[QUESTION]);
	}
	step_end();
	question(&source[FILLER]);
}

static uint64_t lost_in(trace_id_t stream)
{
	struct posix_trace_status_info status;

	MUST(posix_trace_get_status(stream, &status) == 0);
	return status.__posix_lost_events;
}

/* With later instructions the fate of the event changes: at first it has not begun, then it is given up and counted, in
 * the end it is recorded. */
enum fate { NOT_BEGUN, GIVEN_UP, RECORDED };

static void run_jumps(void)
{
	enum fate fate = NOT_BEGUN;
	uint64_t lost = 0;
	int n = 0;

	prepare(jump);
	for (; !step_last() && !test_failures; n++) {
		uint64_t generated = source[QUESTION].generated, more;
		enum fate now;
		bool read;

		sequence_left();
		CHECK("H17", nobody_busy());
		drain();
		read = tally[0].next[QUESTION] != generated;
		more = lost_in(trid[0]) - lost;
		now = read ? RECORDED : more ? GIVEN_UP : NOT_BEGUN;
		CHECK("EVT-1 H17", read + more <= 1);
		/*
		 * Sometimes a chunk is acquired with signals blocked: then the event is recorded, too. The kernel's
		 * clock does not always take the same number of instructions.
		 */
		CHECK("EVT-1 H17", now >= fate || chunk != WITH_ROOM || family->clock_kind != CLOCK_KIND_COUNTER);
		CHECK("EVT-1 H17", tally[0].next[FILLER] == source[FILLER].generated);
		if (!read)
			source[QUESTION].generated = generated; /* reuse the number */
		lost += more;
		fate = now;
	}
	/* Where reading the clock takes most of the instructions, a sample may contain none of those that give up. */
	CHECK("H17", lost > 0 || every > 1);
	CHECK("H17", fate == RECORDED || family->clock_kind != CLOCK_KIND_COUNTER);
	CHECK_EQ("SHUT-1", posix_trace_shutdown(trid[0]), 0);
	CHECK("-", n * every > 50);
}

TEST(jump) { lead(run_jumps, 1, 0, 0); }
CHANGED(jump_changes,    CHANGES,    lead(run_jumps, 1, 0, 0))

/* -- A full stream ------------------------------------------------------------------ */

static void fork_at_once(int signal)
{
	int saved = errno;

	child = make_child();
	errno = saved;
}

static __attribute__((noinline)) void sequence_lost(void)
{
	step_begin();
	question(&source[QUESTION]);
	if (child == 0)
		end_child(0);
	step_end();
}

static void prepare_full(void (*handler)(int))
{
	policy = POSIX_TRACE_UNTIL_FULL;
	prepare(handler);
	for (int i = 0; i < FILLING; i++)
		stress_record(&source[FILLER]);
}

/* Checks that each event is counted as lost once, and not again by a child that returns to the middle of it. */
static void run_lost(void (*handler)(int))
{
	uint64_t lost;
	int n = 0;

	prepare_full(handler);
	lost = lost_in(trid[0]);
	CHECK("EVT-1", lost > 0);
	for (; !step_last() && !test_failures; n++) {
		uint64_t more = source[HANDLER].generated;
		int status = 0;

		sequence_lost();
		if (child > 0) {
			while (waitpid(child, &status, 0) < 0 && errno == EINTR)
				;
			CHECK("THR-5", WIFEXITED(status) && WEXITSTATUS(status) == 0);
			child = -1;
		}
		lost += 1 + source[HANDLER].generated - more;
		CHECK_OP("EVT-1 THR-5", lost_in(trid[0]), ==, lost);
	}
	CHECK_EQ("SHUT-1", posix_trace_shutdown(trid[0]), 0);
	CHECK("-", n * every > 50);
}

static void run_lost_forks(void)
{
	run_lost(fork_at_once);
}

static void run_lost_traces(void)
{
	run_lost(trace_in_handler);
}

TEST(lost_fork)
{
	make_child = fork;
	lead(run_lost_forks, 1, 0, 0);
}

TEST(lost_underscore)
{
	make_child = fork_underscore;
	lead(run_lost_forks, 1, 0, 0);
}

TEST(lost_trace) { lead(run_lost_traces, 1, 0, 0); }

#if HAVE_RSEQ

#define LOST_EVENTS 1000
#define LOST_TRIES  5 /* once a second the trace point checks with signals blocked whether the creator is alive */

/* Installs a filter for this thread: blocking signals kills the process. */
static bool forbid_blocking(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigprocmask, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof filter / sizeof filter[0], filter };

	if (geteuid() != 0)
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static void *lose(void *unused)
{
	question(&source[QUESTION]);
	if (!forbid_blocking())
		_exit(77);
	for (int i = 1; i < LOST_EVENTS; i++)
		question(&source[QUESTION]);
	atomic_store(&family->came, 1);
	syscall(SYS_exit, 0); /* pthread_exit() blocks signals */
	return unused;
}

static void lose_without_blocking(void)
{
	struct timespec t = { 0, 100000 };
	pthread_t thread;
	uint64_t lost;

	needs_counter = true;
	prepare_full(SIG_IGN);
	lost = lost_in(trid[0]);
	MUST(pthread_create(&thread, NULL, lose, NULL) == 0);
	while (!atomic_load(&family->came))
		nanosleep(&t, NULL);
	_exit(lost_in(trid[0]) != lost + LOST_EVENTS);
}

TEST(lost_calls)
{
	int status = SIGSYS;

	if (!&rseq_libc_size || !rseq_libc_size)
		SKIP("no restartable sequences in this C library, or this kernel (H2)");
	begin(1, 0, 0);
	for (int try = 0; try < LOST_TRIES && WIFSIGNALED(status); try++) {
		pid_t pid = fork();

		MUST(pid >= 0);
		if (pid == 0)
			lose_without_blocking();
		MUST(waitpid(pid, &status, 0) == pid);
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		SKIP("no filters of system calls here, or no counter");
	CHECK("EVT-1", WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

#else
TEST(lost_calls) { SKIP("no restartable sequences on this architecture, or with this sanitizer (H2)"); }
#endif

/* -- A kill --------------------------------------------------------------------- */

/* Records until the kill. The parent created the stream. */
static void run_until_killed(void)
{
	struct timespec t = { 0, 100000 };

	while (!atomic_load(&family->go))
		nanosleep(&t, NULL);
	streams = 0;
	child = -1;
	for (int i = 0; i < 10; i++)
		stress_record(&source[FILLER]);
	find_seats();
	while (!step_last())
		record_stepped();
}

/* Kills a process before instruction n of its event. Returns false if the event has no such instruction. */
static bool killed_at(int n)
{
	struct posix_trace_status_info status;
	uint64_t generated = 1, accounted; /* the event of posix_trace_start() */
	bool reached;
	struct step s;

	atomic_store(&family->go, 0);
	tally_init(&tally[0]);
	for (unsigned k = 0; k < SOURCES; k++) {
		tally_add(&tally[0], &source[k], k);
		source[k].thread = pthread_self(); /* of the child, too */
	}
	step_start(&s, run_until_killed);
	tally[0].pid = s.pid;
	MUST(stress_create_for(s.pid, POSIX_TRACE_LOOP, STREAM_SIZE, POSIX_TRACE_CLOSE_FOR_CHILD, &trid[0]) == 0);
	MUST(posix_trace_start(trid[0]) == 0);
	atomic_store(&family->go, 1);
	reached = step_enter(&s);
	CHECK("-", reached);
	/* The next chunk to acquire has been read. */
	if (chunk == CHANGES)
		drain();
	for (int i = 0; i < n && reached; i++)
		reached = step_one(&s);
	step_kill(&s);
	drain();
	for (unsigned k = 0; k < SOURCES; k++)
		generated += source[k].generated;
	MUST(posix_trace_get_status(trid[0], &status) == 0);
	accounted = tally[0].read + tally[0].called + status.__posix_lost_events;
	/* The last event may not have been recorded yet. */
	CHECK("EVT-1 MODEL-8", generated == accounted || generated == accounted + 1);
	CHECK_EQ("SHUT-1", posix_trace_shutdown(trid[0]), 0);
	return reached;
}

static void kills(size_t from, size_t to)
{
	int n;

	begin(1, from, to);
	stress_types();
	for (n = first; !test_failures && killed_at(n); n += every)
		;
	CHECK("-", n > 50);
}

TEST(kill_short) { kills(16, 31); }
CHANGED(kill_changes,    CHANGES,    kills(16, 31))
CHANGED(kill_overwrites, OVERWRITES, kills(16, 31))

/* -- An event with a text ------------------------------------------------------- */

static void texts(size_t at_least)
{
	with_text = true;
	text_least = at_least;
}

TEST(text_fork)       { texts(3); forks(fork, 1, 16, 63); }
TEST(text_underscore) { texts(3); forks_unnoticed(fork_underscore, 1, 16, 63); }
TEST(text_long)       { texts(33); choose(2); forks_unnoticed(fork_underscore, 1, 34, 100); }
TEST(text_trace)      { texts(3); lead(run_traces, 1, 16, 63); }
TEST(text_streams)    { texts(3); choose(2); lead(run_traces, 2, 16, 63); }
CHANGED(text_changes, CHANGES, texts(3); forks_unnoticed(fork_underscore, 1, 16, 63))

/* -- A handler that inspects the stack, as profilers do ------------------------- */

#if HAVE_RSEQ && __has_include(<execinfo.h>)

#define FRAMES 64

static void *above[FRAMES]; /* the callers of record_stepped()'s caller */
static int n_above, whole;

static void look_at_stack(int signal)
{
	void *frame[FRAMES];
	int n = backtrace(frame, FRAMES);

	/* The address of the call itself differs in the caller's frame. */
	whole += n > n_above && memcmp(frame + n - n_above + 1, above + 1, (size_t)(n_above - 1) * sizeof *frame) == 0;
}

static void run_looks(void)
{
	int n = 0;

	n_above = backtrace(above, FRAMES);
	prepare(look_at_stack);
	for (; !step_last() && !test_failures; n++) {
		whole = 0;
		record_stepped();
		if (!step_last())
			CHECK_EQ("-", whole, 1);
		drain();
	}
	conclude(n - 1);
}

TEST(stack)
{
	void *frame[FRAMES];

	if (backtrace(frame, FRAMES) < 3)
		SKIP("backtrace() sees nothing here");
	lead(run_looks, 1, 32, 63);
}

#else
TEST(stack) { SKIP("no restartable sequences, or no backtrace(), here"); }
#endif

TEST_MAIN(TEST_ENTRY(fork_short), TEST_ENTRY(fork_long), TEST_ENTRY(fork_streams), TEST_ENTRY(underscore_short),
          TEST_ENTRY(underscore_middle), TEST_ENTRY(underscore_long), TEST_ENTRY(underscore_streams),
          TEST_ENTRY(clone_long), TEST_ENTRY(fork_changes), TEST_ENTRY(underscore_changes),
          TEST_ENTRY(underscore_overwrites), TEST_ENTRY(trace_short), TEST_ENTRY(trace_long), TEST_ENTRY(trace_streams),
          TEST_ENTRY(trace_changes), TEST_ENTRY(trace_overwrites), TEST_ENTRY(jump), TEST_ENTRY(jump_changes),
          TEST_ENTRY(lost_fork), TEST_ENTRY(lost_underscore), TEST_ENTRY(lost_trace), TEST_ENTRY(lost_calls),
          TEST_ENTRY(kill_short), TEST_ENTRY(kill_changes), TEST_ENTRY(kill_overwrites), TEST_ENTRY(text_fork),
          TEST_ENTRY(text_underscore), TEST_ENTRY(text_long), TEST_ENTRY(text_trace), TEST_ENTRY(text_streams),
          TEST_ENTRY(text_changes), TEST_ENTRY(stack))
