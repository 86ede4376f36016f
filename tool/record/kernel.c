/*
 * kernel.c - record --kernel: Linux's own events about the recorded process, into the log beside FILE
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/kernel.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/ticks.h"
#include "common/bytes.h"
#include "common/message.h"
#include "common/progress.h"
#include "common/unaligned.h"
#include "kernel/points.h"
#include "kernel/refused.h"
#include "kernel/states.h"
#include "record/kernel_types.h"
#include "record/pidset.h"
#include "record/stacks.h"

#define BUFFER_DEFAULT (UINT64_C(4) << 20)
/* With copied stacks, which are much larger than other records. */
#define BUFFER_COPIES (UINT64_C(16) << 20)
/* The longest time between two looks at the rings. */
#define LOOK_MS  50
/* Time between two looks for processes whose ends were lost; longer than records stay in the rings. */
#define SWEEP_NS UINT64_C(5000000000)
/* A name of a thread that is not recorded is read again after this time. */
#define NAME_NS UINT64_C(1000000000)
#define NAMES 512
/* Threads that have ended lately. */
#define ENDED 4096
/* Requests to disks at the same time. */
#define REQUESTS 256
/* Flags of a tracepoint's data, in its third byte: an interrupt was running. */
#define IN_INTERRUPT 0x18

struct request {
	uint64_t since, sector; /* since 0: free */
	uint64_t device;
	struct state_thread by;
	struct io_request io;
};

struct kernel {
	pid_t pid;
	bool children;
	bool all;         /* processes are recorded, but this one: */
	uint32_t without; /* 0: none */
	struct beside *beside;
	struct points points;
	struct rings *rings;
	struct states *states;
	struct kernel_types *types;
	struct pidset pids;
	struct stacks *stacks; /* null: none are wanted */
	int64_t write_ns; /* as in struct kernel_options */
	uint64_t swept; /* when the set of processes was swept */
	struct { uint64_t time; uint32_t tid; char name[STATES_NAME]; } name[NAMES];
	uint32_t ended[ENDED]; /* by their ids */
	struct request request[REQUESTS];
	uint64_t last; /* time of the last record */
	bool has_thread;
	pthread_t thread;
	int stop; /* an eventfd */
};

/* -- Arguments -------------------------------------------------------------------------------- */

unsigned kernel_groups(const char *list)
{
	unsigned groups = 0;

	do {
		size_t length = strcspn(list, ",");
		unsigned i = 0;

		while (i < GROUP_COUNT &&
		       (strlen(group_names[i]) != length || memcmp(group_names[i], list, length) != 0))
			i++;
		if (i < GROUP_COUNT)
			groups |= 1U << i;
		else if (length == 3 && memcmp(list, "all", 3) == 0)
			groups = GROUPS_ALL;
		else
			wrong_usage("--kernel %.*s: must be sched, syscalls, faults, signals, io or all, "
			            "separated by commas", (int)length, list);
		list += length;
	} while (*list++ == ',');
	return groups;
}

/* -- Processes -------------------------------------------------------------------------------------- */

/* Returns whether the events of a process are recorded. Idle processors are the threads of process 0. */
static bool is_recorded(const struct kernel *k, uint32_t pid)
{
	if (k->all)
		return pid && (int32_t)pid > 0 && pid != k->without;
	return pidset_has(&k->pids, pid);
}

/* -- Names --------------------------------------------------------------------------------------------- */

/* Reads the name of a thread; "" if it has ended. */
static void read_name(char name[STATES_NAME], uint32_t pid, uint32_t tid)
{
	char path[64];
	ssize_t n;
	int fd;

	memset(name, 0, STATES_NAME);
	snprintf(path, sizeof path, "/proc/%" PRIu32 "/task/%" PRIu32 "/comm", pid, tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	n = read(fd, name, STATES_NAME);
	close(fd);
	if (n > 0 && name[n - 1] == '\n')
		name[n - 1] = '\0';
}

/* Returns the name of a thread that is not recorded, or not any more. */
static const char *other_name(struct kernel *k, uint32_t pid, uint32_t tid, uint64_t time)
{
	unsigned i = tid % NAMES;
	char name[STATES_NAME];

	if (k->name[i].tid == tid && time - k->name[i].time <= NAME_NS)
		return k->name[i].name;
	read_name(name, pid, tid);
	/* A thread that has ended keeps the name that it had. */
	if (k->name[i].tid != tid || name[0])
		memcpy(k->name[i].name, name, sizeof name);
	k->name[i].tid = tid;
	k->name[i].time = time;
	return k->name[i].name;
}

/* Keeps the name of a thread that ends: it still wakes others, and sends SIGCHLD. */
static void keep_name(struct kernel *k, const struct state_thread *t, uint64_t time)
{
	unsigned i = t->tid % NAMES;

	k->name[i].tid = t->tid;
	k->name[i].time = time;
	memcpy(k->name[i].name, t->name, sizeof t->name);
}

/* Sets the name of the thread, perhaps of another process, in which a record was made. */
static void name_other(struct kernel *k, const struct ring_record *r, struct waker *w)
{
	const struct state_thread *t = states_known(k->states, r->tid);

	w->tid = r->tid;
	memset(w->name, 0, sizeof w->name);
	if (r->size > 2 && r->data[2] & IN_INTERRUPT) {
		w->tid = 0;
		strcpy(w->name, "interrupt");
		return;
	}
	if (t && t->pid == r->pid) {
		memcpy(w->name, t->name, sizeof w->name - 1);
		return;
	}
	if (!r->tid || (int32_t)r->tid < 0)
		return;
	memcpy(w->name, other_name(k, r->pid, r->tid, r->time), sizeof w->name - 1);
}

/* -- Records ------------------------------------------------------------------------------------------- */

/* Returns the number in a field of a tracepoint's data. */
static uint64_t field(const struct kernel *k, const struct ring_record *r, const char *name)
{
	return tracefs_number(tracefs_find(&k->points.format[r->kind], name), r->data, r->size);
}

static struct state_thread *thread(struct kernel *k, uint32_t pid, uint32_t tid)
{
	struct state_thread *t = states_thread(k->states, pid, tid);

	if (!t)
		fail("no memory");
	if (!t->name[0])
		read_name(t->name, pid, tid);
	return t;
}

/*
 * After the record of its end, a thread is still switched. Where all threads of the machine are recorded, these records
 * are there, and must not make a new thread.
 */
static void ends(struct kernel *k, uint32_t tid)
{
	k->ended[tid % ENDED] = tid;
}

static bool has_ended(const struct kernel *k, uint32_t tid)
{
	return k->ended[tid % ENDED] == tid;
}

/* A new thread has the id, or the thread that has executed a program. */
static void begins(struct kernel *k, uint32_t tid)
{
	if (has_ended(k, tid))
		k->ended[tid % ENDED] = 0;
}

/* Takes a birth. The record was made in the parent. */
static void take_fork(struct kernel *k, const struct ring_record *r)
{
	uint32_t pid = unaligned_u32(r->data), parent = unaligned_u32(r->data + 4);
	uint32_t tid = unaligned_u32(r->data + 8), by = unaligned_u32(r->data + 12);
	struct state_thread *t, *p;

	if (!is_recorded(k, parent))
		return;
	p = thread(k, parent, by);
	put_fork(k->types, p, r->time, pid, tid);
	if (pid != parent && !k->children && !k->all)
		return;
	pidset_add(&k->pids, pid);
	if (pid != parent && k->stacks)
		stacks_fork(k->stacks, pid, parent);
	begins(k, tid);
	t = states_thread(k->states, pid, tid);
	if (!t)
		fail("no memory");
	memcpy(t->name, p->name, sizeof t->name);
	if (k->points.groups >> GROUP_SCHED & 1)
		states_birth(k->states, t, r->time);
}

static void take_exit(struct kernel *k, const struct ring_record *r)
{
	uint32_t pid = unaligned_u32(r->data), tid = unaligned_u32(r->data + 8);
	struct state_thread *t, ended;

	if (!is_recorded(k, pid))
		return;
	t = thread(k, pid, tid);
	if (t->call.open)
		put_unfinished(k->types, t, r->time, true);
	ended = *t;
	ends(k, tid);
	keep_name(k, t, r->time);
	states_exit(k->states, t, r->time);
	put_exit(k->types, &ended, r->time);
	if (k->stacks)
		stacks_exit(k->stacks, tid);
	if (pidset_exit(&k->pids, pid) && k->stacks)
		stacks_process_exit(k->stacks, pid);
}

/* Takes the name that a thread has got, by an execution or by itself. */
static void take_name(struct kernel *k, const struct ring_record *r)
{
	uint32_t pid = unaligned_u32(r->data), tid = unaligned_u32(r->data + 4);
	struct state_thread *t;
	size_t length = r->size - 8;

	if (!is_recorded(k, pid))
		return;
	t = states_thread(k->states, pid, tid);
	if (!t)
		fail("no memory");
	memset(t->name, 0, sizeof t->name);
	memcpy(t->name, r->data + 8, length < sizeof t->name - 1 ? length : sizeof t->name - 1);
	if (!(r->misc & PERF_RECORD_MISC_COMM_EXEC))
		return;
	begins(k, tid);
	put_exec(k->types, t, r->time);
	if (k->stacks)
		stacks_exec(k->stacks, pid);
	if (k->points.has[POINT_TASK] && k->points.groups >> GROUP_SCHED & 1)
		states_runs(k->states, t, r->time, r->cpu);
}

static enum off_state state_of(uint64_t state)
{
	/* The kernel's TASK_... */
	static const struct { unsigned bits; enum off_state state; } states[] = {
		{ 0x1, OFF_SLEEPING }, { 0x2, OFF_DISK }, { 0x4, OFF_STOPPED }, { 0x8, OFF_TRACED },
	};

	for (unsigned i = 0; i < sizeof states / sizeof *states; i++)
		if (state & states[i].bits)
			return states[i].state;
	return OFF_OTHER;
}

static void take_waking(struct kernel *k, const struct ring_record *r)
{
	struct state_thread *t = states_known(k->states, (uint32_t)field(k, r, "pid"));
	struct waker waker;

	if (!t)
		return;
	name_other(k, r, &waker);
	states_woken(k->states, t, r->time, r->cpu, &waker);
}

static void take_call(struct kernel *k, const struct ring_record *r, struct state_thread *t)
{
	const struct tracefs_field *args = tracefs_find(&k->points.format[POINT_ENTER], "args");

	t->call.open = states_sure(k->states) && args && args->offset + args->size <= r->size;
	/* This command has the numbers of 64-bit programs only if it is one. */
	if (sizeof(long) == 4 && r->abi == PERF_SAMPLE_REGS_ABI_64)
		t->call.open = false;
	if (!t->call.open)
		return;
	t->call.number = field(k, r, "id");
	t->call.since = r->time;
	t->call.is_compat = sizeof(long) == 8 && r->abi == PERF_SAMPLE_REGS_ABI_32;
	/* They are as large as the kernel's pointers. */
	for (unsigned i = 0; i < 6; i++) {
		struct tracefs_field one = { .offset = args->offset + i * (args->size / 6), .size = args->size / 6 };

		t->call.argument[i] = tracefs_number(&one, r->data, r->size);
	}
}

static void take_return(struct kernel *k, const struct ring_record *r, struct state_thread *t)
{
	/* The return of a call that began before the recording, or in a gap. A child returns from its parent's fork. */
	if (!t->call.open || t->call.number != field(k, r, "id"))
		return;
	put_call(k->types, t, r->time, (int64_t)field(k, r, "ret"));
	t->call.open = false;
}

static void take_send(struct kernel *k, const struct ring_record *r)
{
	struct state_thread *to = states_known(k->states, (uint32_t)field(k, r, "pid"));
	bool own = is_recorded(k, r->pid);
	struct state_thread by = { .pid = r->pid, .tid = r->tid };
	struct waker from;
	struct signal_send send = {
		.number = (uint8_t)field(k, r, "sig"), .result = (uint8_t)field(k, r, "result"),
		.code = (int32_t)field(k, r, "code"), .to = (uint32_t)field(k, r, "pid"),
	};

	if (!own && !to && !is_recorded(k, send.to))
		return;
	name_other(k, r, &from);
	/* An interrupt that sends a signal to another process is not this thread's work. */
	if (!from.tid && !to && !is_recorded(k, send.to))
		return;
	send.from = from.tid;
	send.from_name = from.name;
	memcpy(by.name, from.name, sizeof by.name);
	put_send(k->types, own && from.tid ? &by : to ? to : thread(k, send.to, send.to), r->time, &send);
}

static void take_issue(struct kernel *k, const struct ring_record *r)
{
	const struct tracefs_field *kind = tracefs_find(&k->points.format[r->kind], "rwbs");
	struct request *free = NULL;
	uint32_t device = (uint32_t)field(k, r, "dev");

	if (!is_recorded(k, r->pid) || !states_sure(k->states))
		return;
	for (unsigned i = 0; i < REQUESTS && !free; i++)
		if (!k->request[i].since)
			free = &k->request[i];
	if (!free)
		return;
	*free = (struct request){ .since = r->time, .sector = field(k, r, "sector"), .device = device,
	                          .by = *thread(k, r->pid, r->tid) };
	/* The kernel's own numbers of devices have 20 bits for the minor number. */
	free->io = (struct io_request){ .sector = free->sector, .bytes = field(k, r, "nr_sector") * 512,
	                                .major = device >> 20, .minor = device & 0xfffff };
	if (kind && kind->offset < r->size)
		snprintf(free->io.kind, sizeof free->io.kind, "%.*s", (int)(r->size - kind->offset),
		         (const char *)r->data + kind->offset);
}

static void take_complete(struct kernel *k, const struct ring_record *r)
{
	uint64_t sector = field(k, r, "sector"), device = field(k, r, "dev");

	for (unsigned i = 0; i < REQUESTS; i++) {
		struct request *q = &k->request[i];

		if (!q->since || q->sector != sector || q->device != device)
			continue;
		q->io.error = (int32_t)field(k, r, "error");
		put_io(k->types, &q->by, q->since, r->time, &q->io);
		q->since = 0;
		return;
	}
}

/* Takes a sample that belongs to the thread in which it was made. */
static void take_sample(struct kernel *k, const struct ring_record *r)
{
	struct state_thread *t = r->kind == POINT_SWITCH ? states_known(k->states, r->tid) :
	                                                   thread(k, r->pid, r->tid);

	if (!t)
		return;
	switch ((enum point)r->kind) {
	case POINT_SWITCH:
		states_waits(k->states, t, state_of(field(k, r, "prev_state")));
		return;
	case POINT_ENTER:
		take_call(k, r, t);
		return;
	case POINT_EXIT:
		take_return(k, r, t);
		return;
	case POINT_MINOR:
	case POINT_MAJOR:
		put_fault(k->types, t, r->time, r->address, r->ip, r->kind == POINT_MAJOR);
		return;
	case POINT_STACK:
		stacks_sample(k->stacks, t, r);
		return;
	case POINT_OFF_STACK:
		stacks_leaves(k->stacks, r);
		return;
	case POINT_DELIVER:
		put_signal(k->types, t, r->time, (uint8_t)field(k, r, "sig"), (int32_t)field(k, r, "code"),
		           field(k, r, "sa_handler"));
		return;
	default:
		return;
	}
}

static void take_switch(struct kernel *k, const struct ring_record *r)
{
	bool out = r->misc & PERF_RECORD_MISC_SWITCH_OUT;
	struct state_thread *t = out ? states_known(k->states, r->tid) : thread(k, r->pid, r->tid);

	/* The last switch of a thread that has ended already. */
	if (!t)
		return;
	if (r->misc & PERF_RECORD_MISC_SWITCH_OUT)
		states_out(k->states, t, r->time, r->cpu, r->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT);
	else
		states_in(k->states, t, r->time, r->cpu);
}

static void take_record(void *arg, const struct ring_record *r)
{
	struct kernel *k = arg;

	k->last = r->time;
	if (r->type == PERF_RECORD_FORK)
		take_fork(k, r);
	else if (r->type == PERF_RECORD_EXIT)
		take_exit(k, r);
	else if (r->type == PERF_RECORD_COMM)
		take_name(k, r);
	else if (r->type == PERF_RECORD_SAMPLE && r->kind == POINT_WAKING)
		take_waking(k, r);
	else if (r->type == PERF_RECORD_SAMPLE && r->kind == POINT_SEND)
		take_send(k, r);
	else if (r->type == PERF_RECORD_SAMPLE && r->kind == POINT_ISSUE)
		take_issue(k, r);
	else if (r->type == PERF_RECORD_SAMPLE && r->kind == POINT_COMPLETE)
		take_complete(k, r);
	else if (!is_recorded(k, r->pid) || (int32_t)r->tid <= 0 || has_ended(k, r->tid)) /* -1: it is ending */
		return;
	else if (r->type == PERF_RECORD_SAMPLE)
		take_sample(k, r);
	else if (r->type == PERF_RECORD_MMAP2 && k->stacks)
		stacks_map(k->stacks, r);
	else if (r->type == PERF_RECORD_SWITCH || r->type == PERF_RECORD_SWITCH_CPU_WIDE)
		take_switch(k, r);
}

static void begin_gap(void *arg, uint64_t time)
{
	struct kernel *k = arg;

	k->last = time;
	states_gap_begins(k->states);
	pidset_gap(&k->pids);
	if (k->stacks)
		stacks_gap(k->stacks);
	/* Whether these requests end in the gap is not known. */
	memset(k->request, 0, sizeof k->request);
}

static void end_gap(void *arg, uint64_t from, uint64_t until, uint64_t lost)
{
	struct kernel *k = arg;

	states_gap_ends(k->states);
	if (lost)
		beside_lost(k->beside, beside_time(k->beside, from), beside_time(k->beside, until), lost);
}

static const struct ring_calls ring_calls = { take_record, begin_gap, end_gap };

static void state_run(void *arg, const struct state_thread *t, const struct state_run *run)
{
	put_run(((struct kernel *)arg)->types, t, run);
}

static void state_off(void *arg, const struct state_thread *t, const struct state_off *off)
{
	struct kernel *k = arg;

	put_off(k->types, t, off);
	if (k->stacks)
		stacks_off(k->stacks, t, off);
}

static const struct state_calls state_calls = { state_run, state_off };

/* -- The thread --------------------------------------------------------------------------------------- */

static bool lives(void *arg, uint32_t pid)
{
	return pidset_has(&((struct kernel *)arg)->pids, pid);
}

/* Forgets processes whose ends were lost. */
static void sweep(struct kernel *k, uint64_t now)
{
	if (now - k->swept < SWEEP_NS)
		return;
	k->swept = now;
	pidset_sweep(&k->pids);
	if (k->stacks)
		stacks_keep(k->stacks, lives, k);
}

static void *read_rings(void *arg)
{
	struct kernel *k = arg;
	int look_ms = k->write_ns < LOOK_MS * INT64_C(1000000) ? (int)(k->write_ns / 1000000) : LOOK_MS;
	int64_t written = clock_ns(CLOCK_MONOTONIC), now;
	uint64_t stop;

	/* From the time that it has this name, all events are recorded. */
	pthread_setname_np(pthread_self(), "kernel-rings");
	while (read(k->stop, &stop, sizeof stop) != sizeof stop) {
		rings_read(k->rings, &ring_calls, k, false);
		now = clock_ns(CLOCK_MONOTONIC);
		if (now - written >= k->write_ns) {
			beside_flush(k->beside);
			written = now;
			sweep(k, (uint64_t)now);
		}
		rings_wait(k->rings, k->stop, look_ms);
	}
	return NULL;
}

/* -- Beginning ----------------------------------------------------------------------------------------- */

/* Prints in one message which events this user may not record, and how to get them. */
static void say_lack(const struct points *p)
{
	const char *what;
	char text[400] = "";
	size_t length = 0;

	for (enum group i = 0; i < GROUP_COUNT; i++) {
		if (!(p->groups >> i & 1) || !(what = points_lack(p, i)))
			continue;
		length += (size_t)snprintf(text + length, sizeof text - length, "%s%s%s%s%s", length ? "; " : "",
		                           group_names[i], strcmp(what, "all") == 0 ? "" : " (",
		                           strcmp(what, "all") == 0 ? "" : what, strcmp(what, "all") == 0 ? "" : ")");
	}
	if (length)
		progress_say("--kernel: not recorded: %s: %s", text, refused_some(p));
}

/* Reads a setting of the kernel's; "" if it cannot be read. Returns whether it can. */
static bool setting(const char *name, char line[16])
{
	char path[64];
	FILE *f;

	*line = '\0';
	snprintf(path, sizeof path, "/proc/sys/kernel/%s", name);
	f = fopen(path, "re");
	if (f && fgets(line, 16, f))
		line[strcspn(line, "\n")] = '\0';
	if (f)
		fclose(f);
	return f != NULL;
}

uint32_t kernel_samples_most(void)
{
	char most[16];
	unsigned long n = setting("perf_event_max_sample_rate", most) ? strtoul(most, NULL, 10) : 0;

	return n ? (uint32_t)n : UINT32_MAX;
}

/* Prints what stacks this user cannot have, and how to get them. */
static void say_stacks(const struct sampling *s)
{
	char most[16];

	if (s->error == EINVAL) {
		setting("perf_event_max_sample_rate", most);
		progress_say("--sample: no samples: the kernel refuses %" PRIu32 " in a second; sysctl "
		             "kernel.perf_event_max_sample_rate is %s", s->hertz, most);
	} else if (s->error) {
		progress_say("--sample: no samples: perf_event_open(): %s", strerror(s->error));
	} else if (s->hertz && s->user_only) {
		progress_say("--sample: only samples in the program itself, not in the kernel: be root, or set sysctl "
		             "kernel.perf_event_paranoid=1");
	}
	if (s->off_error)
		progress_say("--off-cpu: no stacks: %s: be root, or set sysctl kernel.perf_event_paranoid=1",
		             strerror(s->off_error));
}

/* option: the one that asks for events. */
static void say_nothing(const char *option, int error)
{
	struct refused r;

	refused_all(&r, error);
	complain("%s: no events of the kernel: %s%s%s", option, r.why, r.remedy ? ": " : "", r.remedy ? r.remedy : "");
}

static void say_not_all(int error)
{
	char line[16];

	setting("perf_event_paranoid", line);
	complain("-a: perf_event_open(): %s: to record all processes be root, have CAP_PERFMON, or set sysctl "
	         "kernel.perf_event_paranoid=0 (it is %s); without -a, only the process itself is recorded",
	         strerror(error), line);
}

/* Frees all but the log. */
static void free_kernel(struct kernel *k)
{
	rings_free(k->rings);
	points_free(&k->points);
	states_free(k->states);
	kernel_types_free(k->types);
	pidset_free(&k->pids);
	stacks_free(k->stacks);
	if (k->stop >= 0)
		close(k->stop);
	free(k);
}

/* Adds the threads of all processes with their names: a thread that ends has none any more. */
static void add_all(struct kernel *k)
{
	DIR *processes = opendir("/proc"), *threads;
	const struct dirent *process, *each;
	char path[300];

	while (processes && (process = readdir(processes)) != NULL) {
		uint32_t pid = (uint32_t)strtoul(process->d_name, NULL, 10);

		if (!is_recorded(k, pid))
			continue;
		snprintf(path, sizeof path, "/proc/%" PRIu32 "/task", pid);
		threads = opendir(path);
		while (threads && (each = readdir(threads)) != NULL)
			if (strtoul(each->d_name, NULL, 10)) {
				pidset_add(&k->pids, pid);
				thread(k, pid, (uint32_t)strtoul(each->d_name, NULL, 10));
			}
		if (threads)
			closedir(threads);
	}
	if (processes)
		closedir(processes);
}

static int open_rings(struct kernel *k, const struct kernel_options *o)
{
	size_t size = o->buffer ? o->buffer : o->sampling.dwarf ? BUFFER_COPIES : BUFFER_DEFAULT;
	char is[16], asked[16];
	int error;

	k->rings = rings_new(size);
	if (!k->rings)
		return errno;
	if (o->buffer && rings_size(k->rings) < o->buffer)
		progress_say("--kernel-buffer: %s of memory for each processor, not %s, because %s",
		             bytes_text(is, rings_size(k->rings)), bytes_text(asked, o->buffer),
		             geteuid() == 0 ? "the kernel has no more for a buffer" :
		             "this user may lock no more: ulimit -l, or sysctl kernel.perf_event_mlock_kb");
	error = points_open(&k->points, k->rings, k->pid);
	/* A thread that ends before its first record is read has no name any more. */
	for (unsigned i = 0; i < k->points.tids; i++) {
		pidset_add(&k->pids, (uint32_t)k->pid);
		thread(k, (uint32_t)k->pid, (uint32_t)k->points.tid[i]);
	}
	if (k->all && !error)
		add_all(k);
	return error;
}

bool kernel_start(struct kernel **new, const struct kernel_options *o, pid_t pid, bool command, bool children,
                  const char *path, int fd)
{
	struct kernel *k = calloc(1, sizeof *k);
	int error;

	*new = NULL;
	if (!k)
		fail("no memory");
	k->pid = pid;
	k->children = children;
	k->all = o->all;
	k->write_ns = o->write_ns;
	k->without = o->without_recorder ? (uint32_t)getpid() : 0;
	k->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	k->states = states_new(&state_calls, k);
	if (!k->states || k->stop < 0)
		fail("no memory");
	error = points_find(&k->points, o->groups);
	if (!error && sampling_any(&o->sampling))
		points_find_stacks(&k->points, &o->sampling);
	k->points.on_exec = command && !k->all;
	k->points.all = k->all;
	if (!error)
		error = open_rings(k, o);
	if (error && k->all) {
		say_not_all(error);
		free_kernel(k);
		return false;
	}
	if (error) {
		say_nothing(o->groups ? "--kernel" : "--sample", error);
		free_kernel(k);
		return true;
	}
	if (!o->quiet) {
		say_lack(&k->points);
		say_stacks(&k->points.sampling);
	}
	k->beside = beside_open(path, "kernel", fd);
	if (!k->beside) {
		free_kernel(k);
		return false;
	}
	k->types = kernel_types_new(k->beside, o->match);
	if (k->points.has[POINT_STACK] || k->points.has[POINT_OFF_STACK])
		k->stacks = stacks_new(k->beside, &k->points.sampling);
	if (k->stacks && !command)
		stacks_running(k->stacks, (uint32_t)pid);
	for (unsigned i = 0; k->stacks && k->all && i < k->pids.slots; i++)
		if (k->pids.entry[i].pid && k->pids.entry[i].pid != (uint32_t)pid)
			stacks_running(k->stacks, k->pids.entry[i].pid);
	rings_enable(k->rings);
	error = pthread_create(&k->thread, NULL, read_rings, k);
	k->has_thread = error == 0;
	if (error) {
		complain("--kernel: no thread can be created: %s", strerror(error));
		beside_close(kernel_stop(k, true), true);
		return false;
	}
	*new = k;
	return true;
}

/* -- The end -------------------------------------------------------------------------------------------- */

static void end_call(void *arg, struct state_thread *t)
{
	struct kernel *k = arg;

	if (t->call.open)
		put_unfinished(k->types, t, k->last, false);
}

/* Reports the states that last, and losses that no record has told of. */
static void end_all(struct kernel *k, uint64_t now)
{
	uint64_t untold = rings_untold(k->rings);

	if (untold) {
		begin_gap(k, k->last);
		end_gap(k, k->last, now, untold);
	}
	k->last = now;
	states_each(k->states, end_call, k);
	states_end(k->states, now);
}

/* Writes how exact the times are, if there are any events, and reports a clock that is not this process's. */
static void check_clock(struct kernel *k)
{
	struct state_thread t = { .pid = (uint32_t)k->pid, .tid = (uint32_t)k->pid };
	struct clock_check c;

	if (!beside_events(k->beside) || !clock_check(&c))
		return;
	memcpy(t.name, other_name(k, t.pid, t.tid, k->last), sizeof t.name);
	put_clock(k->types, &t, (uint64_t)clock_ns(CLOCK_MONOTONIC), &c);
	if (c.off)
		progress_say("--kernel: the kernel's clock is %" PRId64 " ns away from this process's, give or take "
		             "%" PRIu64 " ns, so its events are in the wrong places by as much", c.off,
		             c.bound - (uint64_t)(c.off < 0 ? -c.off : c.off));
}

struct beside *kernel_stop(struct kernel *k, bool quiet)
{
	struct beside *b = k->beside;
	uint64_t one = 1;
	char size[16];

	if (k->has_thread) {
		if (write(k->stop, &one, sizeof one) == sizeof one)
			pthread_join(k->thread, NULL);
		rings_disable(k->rings);
		rings_read(k->rings, &ring_calls, k, true);
		end_all(k, (uint64_t)clock_ns(CLOCK_MONOTONIC));
		check_clock(k);
	}
	beside_finish(b);
	if (beside_lost_events(b) && !quiet)
		progress_say("--kernel: %" PRIu64 " records of the kernel were lost: use a larger --kernel-buffer "
		             "than %s, or fewer groups", beside_lost_events(b),
		             bytes_text(size, rings_size(k->rings)));
	if (k->stacks && stacks_left_out(k->stacks) && !quiet)
		progress_say("--sample: a process had more files mapped than are remembered, so some functions have no "
		             "names");
	free_kernel(k);
	return b;
}
