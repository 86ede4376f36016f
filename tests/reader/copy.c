/*
 * copy.c - writes logs with <posixtrace/log.h>
 *
 *     copy log FROM TO        what is in the log FROM, all but events of the recording itself
 *     copy pipe FROM          the same, to standard output
 *     copy kill COUNT TO      events with a number, flushed after each 1000th; then the process is killed
 *     copy full COUNT TO      events with a number, until nothing can be written any more
 *     copy later COUNT TO     events with a number, some of which come while nothing can be written
 *     copy numbers COUNT TO   events with a number, flushed after each 1000th; TO "-": standard output
 *     copy gone COUNT         events with a number, into a pipe without a reader
 *     copy errors TO          wrong calls, each of which has to fail with its error
 *     copy bench COUNT TO     events with a number and a time of 100 ns each, and four fields
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <posixtrace/log.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define MUST(what)                                                                          \
	do {                                                                                \
		if (!(what)) {                                                              \
			fprintf(stderr, "copy.c:%d: %s: %s\n", __LINE__, #what, posixtrace_log_error()); \
			exit(3);                                                            \
		}                                                                           \
	} while (0)

static struct posixtrace_log_writer *writer;
static struct posixtrace_log *from;

/* -- A whole log --------------------------------------------------------------------------------- */

static void copy_processes(void)
{
	const struct posixtrace_log_process *p;

	for (size_t i = 0; (p = posixtrace_log_process_at(from, i)) != NULL; i++) {
		const struct posixtrace_log_module *m;

		if (!p->time)
			continue;
		MUST(posixtrace_log_describe(writer, p->time, p->pid, p->parent, p->executable, p->command,
		                             p->command_length) == 0);
		for (size_t k = 0; (m = posixtrace_log_module_at(p, k)) != NULL; k++)
			MUST(posixtrace_log_describe_module(writer, m->time, p->pid, m->start, m->end, m->offset,
			                                    m->path, m->build_id, m->build_id_length) == 0);
	}
}

static void copy_event(const struct posixtrace_log_event *e)
{
	uint32_t type;

	if (e->loss) {
		if (e->loss->reason == POSIXTRACE_LOG_LOST)
			MUST(posixtrace_log_put_loss(writer, e->time, e->time, e->loss->count) == 0);
		return;
	}
	/* A log of ours may have types with names that the writer refuses. */
	if (e->type->system || !*e->type->name || strncmp(e->type->name, "posix_trace_", 12) == 0)
		return;
	MUST(posixtrace_log_declare(writer, e->type->name, e->type->fields ? e->type->layout : NULL, &type) == 0);
	MUST(posixtrace_log_name_thread(writer, e->pid, e->tid, e->thread_name) == 0);
	MUST(posixtrace_log_put(writer, e->time, e->pid, e->tid, e->address, type, e->data, e->length) == 0);
}

static void copy_log(const char *path, const char *to)
{
	struct posixtrace_log_origin origin = { .size = sizeof origin };
	const struct posixtrace_log_event *e;
	const struct posixtrace_log_about *a;

	MUST(posixtrace_log_open(path, &from) == 0);
	a = posixtrace_log_about_at(from, 0);
	origin.name = a->name;
	origin.generator = "copy 1.0";
	origin.host = a->host;
	origin.kernel = a->kernel;
	origin.machine = a->machine;
	origin.created = a->created;
	origin.resolution = a->resolution;
	origin.target = a->target;
	origin.word = a->word;
	if (to)
		MUST(posixtrace_log_create(to, &origin, &writer) == 0);
	else
		MUST(posixtrace_log_create_fd(STDOUT_FILENO, &origin, &writer) == 0);
	copy_processes();
	while (posixtrace_log_next(from, &e) == 0 && e)
		copy_event(e);
	MUST(posixtrace_log_finish(writer) == 0);
	posixtrace_log_close(from);
}

/* -- Numbers ------------------------------------------------------------------------------------------ */

static uint32_t begin_numbers(const char *to)
{
	uint32_t type, other;

	MUST((strcmp(to, "-") == 0 ? posixtrace_log_create_fd(STDOUT_FILENO, NULL, &writer) :
	      posixtrace_log_create(to, NULL, &writer)) == 0);
	MUST(posixtrace_log_declare(writer, "other", NULL, &other) == 0);
	MUST(posixtrace_log_declare(writer, "number", "{number:u64}", &type) == 0 && type != other);
	MUST(posixtrace_log_name_thread(writer, 10, 11, "numbers and more of it") == 0);
	return type;
}

static int put_number(uint32_t type, uint64_t n)
{
	return posixtrace_log_put(writer, UINT64_C(1700000000000000000) + 1000 * n, 10, 11, 0x1234, type, &n, sizeof n);
}

static void put_numbers(uint64_t count, const char *to, bool killed)
{
	uint32_t type = begin_numbers(to);

	for (uint64_t n = 0; n < count; n++) {
		MUST(put_number(type, n) == 0);
		if (n % 1000 == 999)
			MUST(posixtrace_log_flush(writer) == 0);
	}
	if (killed)
		raise(SIGKILL);
	MUST(posixtrace_log_finish(writer) == 0);
}

/* -- Writes that fail: signals keep their default action, which would end the program ------------------ */

/* Allows files of this size. */
static void limit_size(rlim_t size)
{
	struct rlimit limit;

	MUST(getrlimit(RLIMIT_FSIZE, &limit) == 0);
	limit.rlim_cur = size;
	MUST(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

/* Puts an event whose data cannot be compressed. */
static int put_scattered(uint32_t type, uint64_t n)
{
	uint64_t scattered = n * UINT64_C(0x9e3779b97f4a7c15);

	return posixtrace_log_put(writer, UINT64_C(1700000000000000000) + n, 10, 11, 0, type, &scattered,
	                          sizeof scattered);
}

static void check_pending(int signal, bool wanted)
{
	sigset_t pending, blocked;

	MUST(sigpending(&pending) == 0 && sigismember(&pending, signal) == wanted);
	MUST(sigprocmask(SIG_BLOCK, NULL, &blocked) == 0 && sigismember(&blocked, signal) == wanted);
}

/* Puts events into a file that may not become larger than 300 KiB. Prints how many were accepted. */
static void fill(uint64_t count, const char *to)
{
	uint32_t type = begin_numbers(to);
	uint64_t accepted = 0;
	sigset_t set;

	limit_size(300 << 10);
	for (uint64_t n = 0; n < count; n++) {
		int error = put_scattered(type, n);

		MUST(error == 0 || error == EFBIG);
		accepted += error == 0;
		if (n == count - 2)
			check_pending(SIGXFSZ, false);
		if (n != count - 2)
			continue;
		/* A signal of the program itself stays. */
		sigemptyset(&set);
		sigaddset(&set, SIGXFSZ);
		MUST(sigprocmask(SIG_BLOCK, &set, NULL) == 0 && raise(SIGXFSZ) == 0);
	}
	MUST(posixtrace_log_finish(writer) == EFBIG && strstr(posixtrace_log_error(), to));
	check_pending(SIGXFSZ, true);
	printf("%" PRIu64 "\n", accepted);
}

/*
 * Puts events, and lets the file grow again at the middle one. Prints the numbers of the first event that was not
 * accepted, and of the first after that which was.
 */
static void fill_later(uint64_t count, const char *to)
{
	uint32_t type = begin_numbers(to);
	uint64_t failed = 0, again = 0;

	limit_size(300 << 10);
	for (uint64_t n = 0; n < count; n++) {
		int error;

		if (n == count / 2)
			limit_size(RLIM_INFINITY);
		error = put_scattered(type, n);
		MUST(error == 0 || (error == EFBIG && n < count / 2));
		if (error && !failed)
			failed = n;
		if (!error && failed && !again)
			again = n;
	}
	MUST(posixtrace_log_finish(writer) == 0);
	printf("(%" PRIu64 ", %" PRIu64 ")\n", failed, again);
}

static void write_to_nobody(uint64_t count)
{
	uint32_t type;
	int fd[2], error = 0;

	MUST(pipe(fd) == 0 && posixtrace_log_create_fd(fd[1], NULL, &writer) == 0);
	close(fd[0]);
	MUST(posixtrace_log_declare(writer, "number", "{number:u64}", &type) == 0);
	for (uint64_t n = 0; n < count; n++) {
		error = put_scattered(type, n);
		MUST(error == EPIPE);
	}
	check_pending(SIGPIPE, false);
	MUST(posixtrace_log_finish(writer) == EPIPE);
	MUST(signal(SIGPIPE, SIG_IGN) == SIG_DFL);
}

static void bench(uint64_t count, const char *to)
{
	struct { uint64_t number, time; uint32_t size; int32_t change; double part; } data = { 0 };
	uint32_t type;

	MUST(posixtrace_log_create(to, NULL, &writer) == 0);
	MUST(posixtrace_log_declare(writer, "bench", "{number:u64,time:u64/ns,size:u32/B,change:i32,part:f64}",
	                            &type) == 0);
	for (uint64_t n = 0; n < count; n++) {
		data.number = n;
		data.time = 100 + n % 1000;
		data.size = (uint32_t)(n * 7);
		data.change = (int32_t)(n % 100) - 50;
		data.part = (double)n / 3;
		MUST(posixtrace_log_put(writer, UINT64_C(1700000000000000000) + 100 * n, 10, 11, 0x1234, type, &data,
		                        sizeof data) == 0);
	}
	MUST(posixtrace_log_finish(writer) == 0);
}

/* -- Errors --------------------------------------------------------------------------------------------- */

static void fail_with(int error, int found, int line)
{
	if (found == error && *posixtrace_log_error())
		return;
	fprintf(stderr, "copy.c:%d: error %d and not %d: %s\n", line, found, error, posixtrace_log_error());
	exit(3);
}

#define FAILS(error, call) fail_with(error, call, __LINE__)

static void errors(const char *to)
{
	struct posixtrace_log_origin origin = { .size = 4 };
	static char large[65536], name[65];
	uint32_t type, again;

	FAILS(EINVAL, posixtrace_log_create(to, &origin, &writer));
	FAILS(EINVAL, posixtrace_log_create(NULL, NULL, &writer));
	FAILS(ENOENT, posixtrace_log_create("/none/none", NULL, &writer));
	FAILS(EISDIR, posixtrace_log_create("/tmp", NULL, &writer));
	FAILS(EEXIST, posixtrace_log_create("/dev/null", NULL, &writer));
	FAILS(EBADF, posixtrace_log_create_fd(-1, NULL, &writer));
	origin.size = sizeof origin;
	origin.created = 1000;
	MUST(posixtrace_log_create(to, &origin, &writer) == 0);
	FAILS(EINVAL, posixtrace_log_declare(writer, "", NULL, &type));
	FAILS(EINVAL, posixtrace_log_declare(writer, "posix_trace_start", NULL, &type));
	FAILS(EINVAL, posixtrace_log_declare(writer, "a{b:u8}", NULL, &type));
	FAILS(EINVAL, posixtrace_log_declare(writer, "a", "{b:u9}", &type));
	MUST(strstr(posixtrace_log_error(), "'u9' in the layout of a is not a type"));
	memset(name, 'n', 64);
	FAILS(ENAMETOOLONG, posixtrace_log_declare(writer, name, NULL, &type));
	MUST(posixtrace_log_declare(writer, "a", NULL, &type) == 0 && type == 0);
	MUST(posixtrace_log_declare(writer, "a", "{b:u8}", &type) == 0 && type == 0);
	FAILS(EEXIST, posixtrace_log_declare(writer, "a", "{b:u16}", &again));
	MUST(posixtrace_log_declare(writer, "a", "{b:u8}", &again) == 0 && again == type);
	FAILS(EINVAL, posixtrace_log_put(writer, 999, 1, 1, 0, type, NULL, 0));
	FAILS(EINVAL, posixtrace_log_put(writer, 1000, 1, 1, 0, 1, NULL, 0));
	FAILS(EINVAL, posixtrace_log_put(writer, 1000, 1, 1, 0, type, NULL, 1));
	FAILS(EINVAL, posixtrace_log_put(writer, UINT64_MAX, 1, 1, 0, type, NULL, 0));
	FAILS(EMSGSIZE, posixtrace_log_put(writer, 1000, 1, 1, 0, type, large, 65536));
	MUST(posixtrace_log_put(writer, 1000, 1, 1, 0, type, large, 65535) == 0);
	MUST(posixtrace_log_put(writer, 2000, 1, 1, 0, type, "x", 1) == 0);
	FAILS(EINVAL, posixtrace_log_put(writer, 1999, 1, 1, 0, type, "x", 1));
	FAILS(EINVAL, posixtrace_log_put_loss(writer, 1999, 3000, 1));
	FAILS(EINVAL, posixtrace_log_put_loss(writer, 2000, 1999, 1));
	MUST(posixtrace_log_put_loss(writer, 2100, 2200, 5000000000) == 0);
	FAILS(EINVAL, posixtrace_log_describe(writer, 1, 0, 0, NULL, NULL, 0));
	FAILS(EINVAL, posixtrace_log_describe_module(writer, 1, 1, 5, 5, 0, "/x", NULL, 0));
	MUST(posixtrace_log_finish(writer) == 0);
	FAILS(EINVAL, posixtrace_log_finish(NULL));
	FAILS(EINVAL, posixtrace_log_open("/dev/zero", &from));
	MUST(strstr(posixtrace_log_error(), "neither a regular file nor a pipe"));
	FAILS(ENOENT, posixtrace_log_open("/none/none", &from));
	FAILS(EINVAL, posixtrace_log_open(to, NULL));
	MUST(posixtrace_log_open(to, &from) == 0);
	MUST(posixtrace_log_scan(from) == 0);
	FAILS(EBUSY, posixtrace_log_add(from, to));
	FAILS(EINVAL, posixtrace_log_only_time(from, 5, 5));
	posixtrace_log_close(from);
	posixtrace_log_close(NULL);
}

int main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "log") == 0)
		copy_log(argv[2], argv[3]);
	else if (argc == 3 && strcmp(argv[1], "pipe") == 0)
		copy_log(argv[2], NULL);
	else if (argc == 4 && strcmp(argv[1], "kill") == 0)
		put_numbers(strtoull(argv[2], NULL, 10), argv[3], true);
	else if (argc == 4 && strcmp(argv[1], "numbers") == 0)
		put_numbers(strtoull(argv[2], NULL, 10), argv[3], false);
	else if (argc == 4 && strcmp(argv[1], "later") == 0)
		fill_later(strtoull(argv[2], NULL, 10), argv[3]);
	else if (argc == 3 && strcmp(argv[1], "gone") == 0)
		write_to_nobody(strtoull(argv[2], NULL, 10));
	else if (argc == 4 && strcmp(argv[1], "full") == 0)
		fill(strtoull(argv[2], NULL, 10), argv[3]);
	else if (argc == 3 && strcmp(argv[1], "errors") == 0)
		errors(argv[2]);
	else if (argc == 4 && strcmp(argv[1], "bench") == 0)
		bench(strtoull(argv[2], NULL, 10), argv[3]);
	else
		return 2;
	return 0;
}
