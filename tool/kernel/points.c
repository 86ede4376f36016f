/*
 * points.c - the perf events of each group of --kernel: which there are, and which this user may have
 *
 * SPDX-License-Identifier: MIT
 */
#include "kernel/points.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* If more events than this would be needed for single threads, all threads of the machine are recorded instead. */
#define SINGLE_MOST 65536U
/* The group of events that are asked for otherwise. */
#define GROUP_NONE (GROUP_COUNT + 1)

const char *const group_names[GROUP_COUNT] = { "sched", "syscalls", "faults", "signals", "io" };

/*
 * Wakings, signals and completed requests happen in other threads, or in an interrupt of whatever thread runs then. So
 * these are recorded for all threads, and those that are not about a recorded one are left out.
 */
static const struct {
	unsigned group; /* GROUP_COUNT: all */
	const char *tracepoint;
	bool everywhere;
} about[POINT_COUNT] = {
	[POINT_TASK] = { GROUP_COUNT, NULL, false },
	[POINT_SWITCH] = { GROUP_SCHED, "sched/sched_switch", false },
	[POINT_WAKING] = { GROUP_SCHED, "sched/sched_waking", true },
	[POINT_ENTER] = { GROUP_SYSCALLS, "raw_syscalls/sys_enter", false },
	[POINT_EXIT] = { GROUP_SYSCALLS, "raw_syscalls/sys_exit", false },
	[POINT_MINOR] = { GROUP_FAULTS, NULL, false },
	[POINT_MAJOR] = { GROUP_FAULTS, NULL, false },
	[POINT_SEND] = { GROUP_SIGNALS, "signal/signal_generate", true },
	[POINT_DELIVER] = { GROUP_SIGNALS, "signal/signal_deliver", false },
	[POINT_ISSUE] = { GROUP_IO, "block/block_rq_issue", true },
	[POINT_COMPLETE] = { GROUP_IO, "block/block_rq_complete", true },
	[POINT_STACK] = { GROUP_NONE, NULL, false },
	[POINT_OFF_STACK] = { GROUP_NONE, NULL, false },
};

static bool wanted(const struct points *p, enum point point)
{
	return about[point].group == GROUP_COUNT || p->groups >> about[point].group & 1;
}

static struct perf_event_attr attribute(const struct points *p, enum point point)
{
	struct perf_event_attr attr = { .size = sizeof attr, .type = PERF_TYPE_SOFTWARE, .disabled = 1 };

	switch (point) {
	case POINT_TASK:
		attr.config = PERF_COUNT_SW_DUMMY;
		attr.exclude_kernel = 1;
		attr.task = attr.comm = attr.comm_exec = 1;
		attr.context_switch = p->groups >> GROUP_SCHED & 1;
		if (sampling_any(&p->sampling))
			sampling_modules(&attr);
		break;
	case POINT_STACK:
		sampling_attribute(&p->sampling, &attr);
		break;
	case POINT_OFF_STACK:
		sampling_off_attribute(&p->sampling, &attr);
		break;
	case POINT_MINOR:
	case POINT_MAJOR:
		attr.config = point == POINT_MINOR ? PERF_COUNT_SW_PAGE_FAULTS_MIN : PERF_COUNT_SW_PAGE_FAULTS_MAJ;
		attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_ADDR;
		attr.sample_period = 1;
		attr.exclude_kernel = p->user_only;
		break;
	default:
		attr.type = PERF_TYPE_TRACEPOINT;
		attr.config = p->format[point].id;
		attr.sample_type = PERF_SAMPLE_RAW;
		attr.sample_period = 1;
		/* Tells 32-bit programs, which have other numbers of calls. There must be a register. */
		if (point == POINT_ENTER) {
			attr.sample_type |= PERF_SAMPLE_REGS_USER;
			attr.sample_regs_user = 1;
		}
	}
	return attr;
}

static int try_point(struct points *p, enum point point)
{
	struct perf_event_attr attr;

	if (about[point].tracepoint && p->no_tracefs)
		return ENOENT;
	if (about[point].tracepoint && !tracefs_read(about[point].tracepoint, &p->format[point]))
		return ENOENT;
	attr = attribute(p, point);
	return about[point].everywhere ? ring_trial(&attr, -1, 0) : ring_trial(&attr, 0, -1);
}

/* Returns whether this process is in the first pid namespace of the machine, which has this number in all kernels. */
static bool first_namespace(void)
{
	char text[32];
	ssize_t n = readlink("/proc/self/ns/pid", text, sizeof text - 1);

	if (n < 0)
		return true;
	text[n] = '\0';
	return strcmp(text, "pid:[4026531836]") == 0;
}

int points_find(struct points *p, unsigned groups)
{
	const char *why;

	*p = (struct points){ .groups = groups };
	if (!tracefs_folder(&why))
		p->no_tracefs = why;
	for (enum point i = 0; i < POINT_COUNT; i++) {
		if (!wanted(p, i))
			continue;
		p->error[i] = try_point(p, i);
		if (p->error[i] && (i == POINT_MINOR || i == POINT_MAJOR) && !p->user_only) {
			p->user_only = true;
			p->error[i] = try_point(p, i);
		}
		p->has[i] = p->error[i] == 0;
	}
	/* Their ids of threads are those of the first namespace. */
	p->namespaced = !first_namespace();
	if (p->namespaced)
		p->has[POINT_WAKING] = p->has[POINT_SEND] = false;
	/* A begin without its end, or an end without its begin, is useless. */
	p->has[POINT_ENTER] = p->has[POINT_EXIT] = p->has[POINT_ENTER] && p->has[POINT_EXIT];
	p->has[POINT_ISSUE] = p->has[POINT_COMPLETE] = p->has[POINT_ISSUE] && p->has[POINT_COMPLETE];
	return p->has[POINT_TASK] ? 0 : p->error[POINT_TASK];
}

void points_find_stacks(struct points *p, const struct sampling *wanted_stacks)
{
	p->sampling = *wanted_stacks;
	sampling_find(&p->sampling);
	p->has[POINT_STACK] = wanted_stacks->hertz && p->sampling.error == 0;
	p->has[POINT_OFF_STACK] = wanted_stacks->off_cpu && p->sampling.off_error == 0;
}

void points_free(struct points *p)
{
	free(p->tid);
}

/* -- Opening ----------------------------------------------------------------------------------------- */

static int open_point(const struct points *p, struct rings *r, pid_t tid, enum point point)
{
	struct perf_event_attr attr = attribute(p, point);

	if (tid >= 0) {
		attr.inherit = 1;
		attr.enable_on_exec = p->on_exec;
	}
	return rings_open(r, &attr, tid, point);
}

/* Opens the events that are of one thread, or those that are of all; tid -1: of all. */
static int open_points(const struct points *p, struct rings *r, pid_t tid, bool everywhere)
{
	int error = 0;

	for (enum point i = 0; i < POINT_COUNT && !error; i++)
		if (p->has[i] && about[i].everywhere == everywhere)
			error = open_point(p, r, tid, i);
	return error;
}

static bool is_open(const struct points *p, pid_t tid)
{
	for (unsigned i = 0; i < p->tids; i++)
		if (p->tid[i] == tid)
			return true;
	return false;
}

static bool remember(struct points *p, pid_t tid)
{
	if (p->tids == p->room) {
		pid_t *more = realloc(p->tid, (p->room ? 2 * p->room : 16) * sizeof *more);

		if (!more)
			return false;
		p->tid = more;
		p->room = p->room ? 2 * p->room : 16;
	}
	p->tid[p->tids++] = tid;
	return true;
}

/* Lists the threads of a process that are not known yet. Returns their number. */
static unsigned list_threads(struct points *p, pid_t pid)
{
	unsigned before = p->tids;
	struct dirent *entry;
	char path[40];
	DIR *dir;

	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)) != NULL)
		if (isdigit((unsigned char)entry->d_name[0]) && !is_open(p, (pid_t)atoi(entry->d_name)) &&
		    !remember(p, (pid_t)atoi(entry->d_name)))
			break;
	if (dir)
		closedir(dir);
	return p->tids - before;
}

/* Returns whether single threads would take too many events, and those of all threads may be had. */
static bool is_wide(const struct points *p, const struct rings *r)
{
	struct perf_event_attr attr = attribute(p, POINT_TASK);
	unsigned events = 0;

	for (enum point i = 0; i < POINT_COUNT; i++)
		events += p->has[i] && !about[i].everywhere;
	return (uint64_t)p->tids * events * rings_count(r) > SINGLE_MOST && ring_trial(&attr, -1, 0) == 0;
}

/* Opens the events of each thread. A thread that is not opened yet may start others meanwhile. */
static int open_threads(struct points *p, struct rings *r, pid_t pid)
{
	unsigned next = 0;
	int error = 0;

	while (!error && next < p->tids) {
		error = open_points(p, r, p->tid[next++], false);
		if (error == ESRCH)
			error = 0;
		if (next == p->tids)
			list_threads(p, pid);
	}
	return error;
}

int points_open(struct points *p, struct rings *r, pid_t pid)
{
	int error = 0;

	list_threads(p, pid);
	if (!p->tids)
		return ESRCH;
	p->wide = p->all || is_wide(p, r);
	if (!p->wide)
		error = open_threads(p, r, pid);
	/* Without enough descriptors for single threads, root has those of all. */
	if (error == EMFILE) {
		rings_close_events(r);
		p->wide = true;
	}
	if (p->wide)
		error = open_points(p, r, -1, false);
	return error ? error : open_points(p, r, -1, true);
}

/* -- What is missing --------------------------------------------------------------------------------- */

const char *points_lack(const struct points *p, enum group group)
{
	switch (group) {
	case GROUP_SCHED:
		return !p->has[POINT_SWITCH] ? "kind of waiting, and who ends it" :
		       !p->has[POINT_WAKING] ? "who ends a wait" : NULL;
	case GROUP_SYSCALLS:
		return p->has[POINT_ENTER] ? NULL : "all";
	case GROUP_FAULTS:
		return !p->has[POINT_MINOR] ? "all" : p->user_only ? "those in system calls" : NULL;
	case GROUP_SIGNALS:
		return !p->has[POINT_DELIVER] ? "all" : p->has[POINT_SEND] ? NULL : "the sending";
	case GROUP_IO:
		return p->has[POINT_ISSUE] ? NULL : "all";
	default:
		return NULL;
	}
}
