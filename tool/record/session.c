/*
 * session.c - one run of `posixtrace record`, from beginning to end
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/session.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/ticks.h"
#include "common/message.h"
#include "common/progress.h"
#include "process/launch.h"
#include "process/refusal.h"
#include "record/changes.h"
#include "record/newlog.h"
#include "record/preloadable.h"
#include "record/signals.h"
#include "record/trigger.h"

#define MS NS_PER_MS
#define NS_PER_MS INT64_C(1000000)
/* Intervals for new event type names, for file sizes, and for everything else. */
#define FOLLOW_NS   (20 * MS)
#define ROTATE_NS   (50 * MS)
#define LOOK_NS     (500 * MS)
/* Interval for the search for living descendants after the first process has ended. */
#define FAMILY_NS   (100 * MS)

/*
 * Times after the command's start at which the file it executes and its libraries are written to the log: after exec,
 * and when libraries have been loaded. The process may have ended when its first events are written. A process that
 * lives only a millisecond or two may be missed.
 */
static const int64_t describe_ns[] = { 0, MS / 3, MS, 2 * MS, 5 * MS, 10 * MS, 50 * MS, 250 * MS };
/* Index of the first process's descriptor among those that are waited for. */
#define FDS_FIRST 3

#define DESCRIBE_NS NS_PER_S /* the interval after these */

/* A recorded process. */
struct source {
	struct recording recording;
	struct trigger *trigger;
	int pidfd; /* readable when the process has ended; -1: none */
	pid_t pid;
	bool alone; /* the process has ended, but its descendants are still recorded */
	/* The snapshot that is due after a trigger: */
	int64_t due; /* CLOCK_MONOTONIC; 0: none */
	struct trigger_event event;
};

struct session {
	const struct session_options *o;
	const struct plan *plan;
	struct signals signals;
	struct launch launch;
	struct source *source;
	unsigned count;
	int trigger_in, trigger_out; /* a pipe; -1: none */
	struct changes changes; /* with --children, as root */
	int64_t began;
	int64_t next_follow, next_look, next_describe, next_family;
	unsigned described; /* number of descriptions so far */
	bool stopped; /* the recording has ended; the command may still run */
	bool ended;   /* the command has ended */
	int status;   /* of the command, from waitpid() */
};

/* -- Beginning ------------------------------------------------------------------------------ */

/* Returns the exit status for a recording that could not start. */
static int nothing(const struct session *s)
{
	return s->o->command ? STATUS_RECORD : STATUS_FAILED;
}

/*
 * Opens a FIFO, which blocks until the FIFO has a reader, perhaps forever. Meanwhile signals have their previous
 * effect: they end this process, and the waiting command ends with it. As long as the descriptor is open, the FIFO can
 * be opened again at once. Returns -1 if the file is not a FIFO.
 */
static int wait_for_reader(const struct session *s, const char *path)
{
	sigset_t now;
	int fd;

	sigprocmask(SIG_SETMASK, &s->signals.before, &now);
	fd = newlog_wait_for_reader(path);
	sigprocmask(SIG_SETMASK, &now, NULL);
	return fd;
}

/* program: the path of what the process will execute; null: it is running. */
static bool begin_source(struct session *s, unsigned i, pid_t pid, const char *what, const char *program)
{
	struct source *source = &s->source[i];
	bool started;
	char *path;
	int fifo;

	if (asprintf(&path, s->o->pid_count > 1 ? "%s.pid%d" : "%s", s->plan->output, (int)pid) < 0)
		fail("no memory");
	source->pid = pid;
	fifo = wait_for_reader(s, path);
	started = recording_start(&source->recording, s->plan, pid, what, path, s->o->command != NULL);
	if (fifo >= 0)
		close(fifo);
	if (!started)
		return false;
	s->count = i + 1;
	if (!recording_probe(&source->recording, program))
		return false;
	if (!s->plan->trigger)
		return true;
	source->trigger = trigger_start(pid, s->plan->children, s->plan->trigger, i, s->trigger_out);
	return source->trigger != NULL;
}

static void cancel(struct session *s)
{
	for (unsigned i = 0; i < s->count; i++) {
		trigger_end(s->source[i].trigger);
		recording_cancel(&s->source[i].recording);
	}
}

static bool attach(struct session *s)
{
	for (unsigned i = 0; i < s->o->pid_count; i++) {
		struct source *source = &s->source[i];
		pid_t pid = s->o->pids[i];
		char what[32];

		snprintf(what, sizeof what, "process %d", (int)pid);
		/* Linux before 5.3 has no pidfd_open(): then the process is polled with kill(). */
		source->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
		explain_process(&source->recording.evidence, pid);
		if (refusal_confined(pid, what, s->o->despite_seccomp) || !begin_source(s, i, pid, what, NULL)) {
			cancel(s);
			return false;
		}
	}
	return true;
}

/*
 * Gives the child the signal dispositions, the signal mask and the descriptors that it would have without the recorder.
 * It stays in the terminal's foreground process group.
 */
static void as_without(void *arg)
{
	const struct session *s = arg;

	/* Standard output is for the log. */
	if (strcmp(s->plan->output, "-") == 0)
		dup2(STDERR_FILENO, STDOUT_FILENO);
	signals_restore(&s->signals);
	if (!instruments_apply(&s->o->instruments))
		_exit(STATUS_RECORD);
}

/* Prints why no file can be executed as the command, with the file of this directory that may be meant. */
static void say_not_found(const char *name, int error)
{
	bool not_found = error == ENOENT && !strchr(name, '/');
	char here[PATH_MAX], *path = NULL;

	snprintf(here, sizeof here, "./%s", name);
	if (not_found)
		path = launch_find(here);
	complain("%s: %s%s%s%s", name, not_found ? "command not found" : strerror(error), path ? "; did you mean " : "",
	         path ? path : "", path ? "?" : "");
	free(path);
}

/* Returns 0, or the exit status if the command could not be started. */
static int launch(struct session *s)
{
	char **argv = s->o->command, *path = launch_find(argv[0]), *missing;
	int error = path ? 0 : errno;

	if (error) {
		say_not_found(argv[0], error);
		return error == ENOENT ? STATUS_NOT_FOUND : error == ENOMEM ? STATUS_RECORD : STATUS_NOT_RUN;
	}
	if (s->o->instruments.preload && !preloadable(path, argv[0])) {
		free(path);
		return STATUS_RECORD;
	}
	if (s->o->instruments.preload && strstr(s->o->instruments.preload, "libposixtrace-functions.so"))
		preloadable_functions(path, argv[0], s->plan->children);
	error = launch_start(&s->launch, path, argv, as_without, s);
	if (error) {
		complain(error == EMFILE ? "%s: %s: ulimit -n more" : "%s: %s", argv[0], strerror(error));
		free(path);
		return STATUS_RECORD;
	}
	explain_file(&s->source->recording.evidence, path);
	if (!begin_source(s, 0, s->launch.pid, argv[0], path)) {
		cancel(s);
		launch_cancel(&s->launch);
		free(path);
		return STATUS_RECORD;
	}
	free(path);
	error = launch_go(&s->launch);
	s->began = clock_ns(CLOCK_MONOTONIC);
	if (!error)
		return 0;
	cancel(s);
	path = error == ENOENT ? launch_find(argv[0]) : NULL;
	missing = path ? launch_missing(path) : NULL;
	if (missing)
		complain("%s: %s, which has to run it, does not exist", argv[0], missing);
	else
		complain("%s: %s", argv[0], strerror(error));
	free(missing);
	free(path);
	return error == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_RUN;
}

/* -- The end ------------------------------------------------------------------------------------ */

static bool crashed(const struct session *s)
{
	return s->ended && WIFSIGNALED(s->status) && WTERMSIG(s->status) != SIGINT && WTERMSIG(s->status) != SIGTERM &&
	       WTERMSIG(s->status) != SIGHUP && WTERMSIG(s->status) != SIGPIPE;
}

/* Returns whether the process has ended. Only a parent learns how: another process may have crashed. */
static bool gone(const struct source *source)
{
	struct pollfd fd = { .fd = source->pidfd, .events = POLLIN };

	return source->pidfd >= 0 ? poll(&fd, 1, 0) > 0 : launch_ended(source->pid);
}

static void take_snapshot(struct session *s, struct source *source)
{
	const struct plan *plan = s->plan;
	struct snapshot shot = { .end = UINT64_MAX, .at = source->event.time };

	snprintf(shot.why, sizeof shot.why, "%s", source->event.name);
	source->due = 0;
	if (plan->before >= 0)
		shot.begin = (uint64_t)plan->before < shot.at ? shot.at - (uint64_t)plan->before : 0;
	if (plan->after >= 0)
		shot.end = shot.at + (uint64_t)plan->after + 1;
	recording_keep(&source->recording, &shot);
}

static void take_triggers(struct session *s)
{
	struct trigger_event event;

	while (read(s->trigger_in, &event, sizeof event) == sizeof event) {
		struct source *source = &s->source[event.source];

		/* A trigger before the previous trigger's snapshot is covered by it. */
		if (source->due || source->recording.ended)
			continue;
		source->event = event;
		source->due = clock_ns(CLOCK_MONOTONIC) + (s->plan->after > 0 ? s->plan->after : 0);
	}
}

static void end_source(struct session *s, struct source *source)
{
	if (source->recording.ended)
		return;
	trigger_end(source->trigger);
	source->trigger = NULL;
	/* Take the triggers that arrived before the end. */
	if (s->trigger_in >= 0)
		take_triggers(s);
	if (source->due)
		take_snapshot(s, source);
	/* With a trigger, the events after the last snapshot are wanted only if the process has crashed. */
	recording_end(&source->recording, s->plan->trigger && !(s->o->command ? crashed(s) : gone(source)));
}

static void stop(struct session *s)
{
	if (s->stopped)
		return;
	s->stopped = true;
	progress_end();
	if (s->o->command && crashed(s))
		complain("%s: %s%s", s->o->command[0], strsignal(WTERMSIG(s->status)),
		         WCOREDUMP(s->status) ? " (core dumped)" : "");
	if (s->o->command && crashed(s) && WTERMSIG(s->status) == SIGSYS)
		complain("this looks like a seccomp filter; docs/processes.md (\"Seccomp\") lists the system calls "
		         "that trace points need");
	for (unsigned i = 0; i < s->count; i++)
		end_source(s, &s->source[i]);
}

/* -- The loop ----------------------------------------------------------------------------------------- */

static void command_changed(struct session *s)
{
	siginfo_t info = { .si_pid = 0 };

	/* Look at the ended process before waitpid() reaps it. */
	if (s->o->command && !s->ended && waitid(P_PID, (id_t)s->launch.pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	    info.si_pid)
		explain_user(&s->source->recording.evidence, s->launch.pid);
	if (s->o->command && !s->ended && waitpid(s->launch.pid, &s->status, WNOHANG) == s->launch.pid) {
		s->ended = true;
		if (WIFEXITED(s->status) && WEXITSTATUS(s->status) == STATUS_NOT_FOUND)
			s->source->recording.evidence.not_found = true;
	}
}

/* Returns whether the signal means a closed terminal: the kernel sends SIGHUP only to the session leader. */
static bool hangs_up(int signal)
{
	return signal == SIGHUP && getsid(0) == getpid();
}

static void take_signal(struct session *s, const struct signalfd_siginfo *info)
{
	int signal = (int)info->ssi_signo;

	if (signal == SIGCHLD) {
		command_changed(s);
	} else if (signal == SIGUSR1) {
		for (unsigned i = 0; i < s->count; i++)
			recording_keep(&s->source[i].recording, SNAPSHOT_ALL);
	} else if (!s->o->command || s->ended) {
		stop(s);
	} else if ((info->ssi_code != SI_KERNEL || hangs_up(signal)) && !s->ended) {
		/*
		 * A signal from the terminal reaches the command as well. A signal from a process was sent to the
		 * recorder alone.
		 */
		kill(s->launch.pid, signal);
	}
}

static void take_signals(struct session *s)
{
	struct signalfd_siginfo info;

	while (signals_next(&s->signals, &info))
		take_signal(s, &info);
}

/* Ends the recording when the process has ended, unless descendants of it are recorded and still live. */
static void process_ended(struct session *s, struct source *source)
{
	struct kin *kin = &source->recording.kin;

	if (s->plan->family && !source->recording.ended) {
		source->alone = true;
		kin_look(kin);
		if (kin->alive || kin->unsure)
			return;
	}
	if (s->o->command)
		stop(s);
	else
		end_source(s, source);
}

/* Looks for living descendants of processes that have ended. Returns the time of the next look. */
static int64_t look_for_families(struct session *s, int64_t now)
{
	int64_t next = INT64_MAX;

	for (unsigned i = 0; i < s->count; i++) {
		struct source *source = &s->source[i];

		if (!source->alone || source->recording.ended)
			continue;
		if (now >= s->next_family)
			process_ended(s, source);
		next = s->next_family;
	}
	if (next == INT64_MAX || now < s->next_family)
		return next;
	s->next_family = now + FAMILY_NS;
	return s->next_family;
}

static void processes_ended(struct session *s)
{
	unsigned ended = 0;

	for (unsigned i = 0; i < s->count; i++) {
		struct source *source = &s->source[i];

		if (source->pidfd < 0 && !source->alone && gone(source))
			process_ended(s, source);
		ended += source->recording.ended;
	}
	if (ended == s->count)
		stop(s);
}

static void show_progress(const struct session *s)
{
	struct totals all = { 0 };
	unsigned kept = 0;

	for (unsigned i = 0; i < s->count; i++) {
		struct totals t = recording_totals(&s->source[i].recording);

		all.events += t.events;
		all.bytes += t.bytes;
		all.lost += t.lost;
		kept += s->source[i].recording.kept;
	}
	progress_show(all.events, all.bytes, all.lost, kept);
}

static int64_t sooner(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Describes the command's process if it is time to. Returns the time of the next description. */
static int64_t describe(struct session *s, int64_t now)
{
	static const unsigned times = sizeof describe_ns / sizeof describe_ns[0];

	if (!s->o->command || s->ended)
		return INT64_MAX;
	if (now >= s->next_describe) {
		recording_describe(&s->source->recording);
		s->described++;
		s->next_describe = s->described < times ? s->began + describe_ns[s->described] : now + DESCRIBE_NS;
	}
	return s->next_describe;
}

/* Looks for processes that have become other users. Returns the time of the next look. */
static int64_t look_for_workers(struct session *s, int64_t now)
{
	int64_t next = INT64_MAX;

	for (unsigned i = 0; i < s->count; i++)
		next = sooner(next, recording_look_for_workers(&s->source[i].recording, now));
	return next;
}

static void take_changes(struct session *s)
{
	changes_take(&s->changes);
	for (unsigned i = 0; s->changes.works && i < s->count; i++)
		recording_changes(&s->source[i].recording, &s->changes);
}

/* Does all that is due. Returns when the next thing is due, CLOCK_MONOTONIC. */
static int64_t look(struct session *s)
{
	int64_t now = clock_ns(CLOCK_MONOTONIC), next = INT64_MAX;

	if (s->stopped)
		return next;
	if (s->plan->duration && now - s->began >= s->plan->duration) {
		stop(s);
		return next;
	}
	if (s->plan->duration)
		next = s->began + s->plan->duration;
	next = sooner(next, describe(s, now));
	next = sooner(next, look_for_families(s, now));
	next = sooner(next, look_for_workers(s, now));
	if (!match_all(s->plan->match) && now >= s->next_follow) {
		for (unsigned i = 0; i < s->count; i++)
			recording_follow(&s->source[i].recording);
		s->next_follow = now + FOLLOW_NS;
	}
	if (now >= s->next_look) {
		for (unsigned i = 0; i < s->count; i++)
			recording_look(&s->source[i].recording);
		if (!s->o->command)
			processes_ended(s);
		if (progress_wanted())
			show_progress(s);
		s->next_look = now + (s->plan->rotate ? ROTATE_NS : LOOK_NS);
	}
	for (unsigned i = 0; i < s->count; i++) {
		struct source *source = &s->source[i];

		if (source->due && now >= source->due)
			take_snapshot(s, source);
		if (source->due)
			next = sooner(next, source->due);
	}
	if (!match_all(s->plan->match))
		next = sooner(next, s->next_follow);
	return sooner(next, s->next_look);
}

/* Waits for the next signal, trigger or end of a process, at most until this time. */
static void wait_for_more(struct session *s, struct pollfd *fds, int64_t until)
{
	int64_t left = until == INT64_MAX ? -1 : until - clock_ns(CLOCK_MONOTONIC);
	struct timespec t = { left > 0 ? left / NS_PER_S : 0, left > 0 ? left % NS_PER_S : 0 };

	fds[0] = (struct pollfd){ .fd = s->signals.fd, .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = s->trigger_in, .events = POLLIN };
	fds[2] = (struct pollfd){ .fd = s->changes.fd, .events = POLLIN };
	for (unsigned i = 0; i < s->count; i++)
		fds[FDS_FIRST + i] = (struct pollfd){ .fd = s->source[i].recording.ended || s->source[i].alone ? -1 :
		                                      s->source[i].pidfd, .events = POLLIN };
	if (ppoll(fds, FDS_FIRST + s->count, until == INT64_MAX ? NULL : &t, NULL) <= 0)
		return;
	if (fds[1].revents)
		take_triggers(s);
	if (fds[0].revents)
		take_signals(s);
	if (fds[2].revents)
		take_changes(s);
	for (unsigned i = 0; i < s->count; i++)
		if (fds[FDS_FIRST + i].revents)
			process_ended(s, &s->source[i]);
	if (!s->o->command)
		processes_ended(s);
}

/* Returns whether the session is over. It lasts until the command ends, even if the recording has ended before. */
static bool over(const struct session *s)
{
	if (s->o->command)
		return s->ended && (s->stopped || !s->plan->family);
	return s->stopped;
}

static void go_through(struct session *s)
{
	struct pollfd *fds = calloc(FDS_FIRST + s->count, sizeof *fds);

	if (!fds)
		fail("no memory");
	command_changed(s);
	while (!over(s)) {
		int64_t until = look(s);

		if (!over(s))
			wait_for_more(s, fds, until);
		if (s->o->command && s->ended && s->plan->family && !s->source->alone)
			process_ended(s, s->source);
	}
	stop(s);
	free(fds);
}

static bool open_trigger(struct session *s)
{
	int ends[2];

	s->trigger_in = s->trigger_out = -1;
	if (!s->plan->trigger)
		return true;
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
		return false;
	s->trigger_in = ends[0];
	s->trigger_out = ends[1];
	return true;
}

static int exit_status(const struct session *s)
{
	if (!s->o->command) {
		for (unsigned i = 0; i < s->count; i++)
			if (s->source[i].recording.failed)
				return STATUS_FAILED;
		return STATUS_DONE;
	}
	if (WIFEXITED(s->status) && WEXITSTATUS(s->status) == 0 && s->source->recording.failed)
		return STATUS_INCOMPLETE;
	return WIFSIGNALED(s->status) ? 128 + WTERMSIG(s->status) : WEXITSTATUS(s->status);
}

int session_run(const struct session_options *o)
{
	struct session s = { .o = o, .plan = &o->plan };
	int status = 0;

	s.source = calloc(o->pid_count ? o->pid_count : 1, sizeof *s.source);
	if (!s.source)
		fail("no memory");
	s.source[0].pidfd = -1;
	if (!open_trigger(&s) || signals_listen(&s.signals, o->plan.loop) != 0) {
		complain("no descriptors: %s", strerror(errno));
		return nothing(&s); /* NOLINT(clang-analyzer-unix.Malloc): its sources last as long as the process */
	}
	s.changes.fd = -1;
	if (o->plan.children && geteuid() == 0)
		changes_listen(&s.changes);
	s.began = clock_ns(CLOCK_MONOTONIC);
	if (o->command)
		status = launch(&s);
	else if (!attach(&s))
		status = nothing(&s);
	if (status)
		return status;
	/* If standard output is for the log, the command writes to the terminal too, through standard error. */
	if (!o->no_progress && (o->beside || !o->command || strcmp(o->plan.output, "-") != 0))
		progress_start(o->beside || !o->command);
	go_through(&s);
	return exit_status(&s);
}
