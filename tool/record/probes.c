/*
 * probes.c - record --usdt: the probes in the files of a process
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/probes.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/message.h"
#include "common/progress.h"
#include "kernel/buffer.h"
#include "kernel/fetch.h"
#include "kernel/ring.h"
#include "kernel/uprobe.h"
#include "record/probe_events.h"
#include "record/probe_processes.h"
#include "record/probe_samples.h"
#include "record/probe_state.h"
#include "record/probe_types.h"

#define DRAIN_MS 100

static void *work(void *arg)
{
	struct probes *p = arg;
	struct pollfd *fds = calloc(p->rings + 1, sizeof *fds);

	pthread_setname_np(pthread_self(), "usdt");
	if (!fds)
		fail("no memory");
	for (unsigned i = 0; i < p->rings; i++)
		fds[i] = (struct pollfd){ .fd = p->ring[i].fd, .events = POLLIN };
	fds[p->rings] = (struct pollfd){ .fd = p->stop, .events = POLLIN };
	for (;;) {
		int n = poll(fds, p->rings + 1, DRAIN_MS);

		probe_samples_take(p);
		if (fds[p->rings].revents)
			break;
		/* When the thread of a ring's event has ended, its poll() returns at once for ever. */
		for (unsigned i = 0; n > 0 && i < p->rings; i++)
			if (fds[i].revents & (POLLHUP | POLLERR))
				fds[i].fd = -1;
	}
	free(fds);
	return NULL;
}

static void say_impossible(int error)
{
	if (error == ENODEV)
		complain("--usdt: this kernel has no uprobes for perf_event_open(), or /sys is not mounted: it needs "
		         "Linux 4.17, with CONFIG_UPROBE_EVENTS");
	else if (error == EACCES || error == EPERM)
		complain("--usdt: only root, or a process with CAP_PERFMON, may have the kernel set probes in a "
		         "program: run it as root; a program that is built with posixtrace's <sys/sdt.h> needs no "
		         "rights");
	else if (error == EMFILE)
		complain("--usdt: too many open files: each probe takes one for each processor; select fewer "
		         "probes, or raise ulimit -n");
	else
		complain("--usdt: probes cannot be set: %s", strerror(error));
}

/* Each probe takes a descriptor for each processor. The command has its own limit already. */
static void raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static unsigned places(const struct probes *p)
{
	unsigned count = 0;

	for (unsigned i = 0; i < p->files; i++)
		count += p->file[i].count;
	return count;
}

static bool some_are_set(const struct probes *p)
{
	for (unsigned i = 0; i < p->opened_count; i++)
		if (p->opened[i].location)
			return true;
	return false;
}

struct probes *probes_start(const struct probes_wanted *wanted, pid_t pid, const char *program, const char *path,
                            int fd)
{
	struct probes *p = calloc(1, sizeof *p);
	sigset_t all, before;
	int error;

	if (!p)
		fail("no memory");
	p->wanted = wanted;
	p->pid = pid;
	p->how.type = uprobe_type();
	p->how.children = wanted->children;
	p->stop = eventfd(0, EFD_CLOEXEC);
	p->clock_offset = ring_clock_offset();
	raise_limit();
	error = p->how.type < 0 ? -p->how.type : p->stop < 0 ? errno : probe_rings_open(p);
	if (error) {
		say_impossible(error);
		probes_free(p, false);
		return NULL;
	}
	if (!probelog_open(&p->log, path, fd, "usdt", (uint32_t)pid)) {
		probes_free(p, false);
		return NULL;
	}
	p->watermark = probes_now();
	probed_process_add(p, pid);
	if (!program)
		probe_rings_track(p);
	for (unsigned i = 0; i < p->opened_count; i++)
		uprobe_enable(p->opened[i].fd, true);
	probe_events_sort(p);
	if (program)
		probed_command_look(p, program);
	else
		probed_process_look(p, pid, probes_now());
	for (unsigned i = 0; i < p->probe_count; i++)
		probe_say_left_off(p->probe[i]);
	probe_say_no_texts(p);
	if (p->failed && !some_are_set(p)) {
		say_impossible(p->failure);
		probes_free(p, false);
		return NULL;
	}
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&p->thread, NULL, work, p);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!error) {
		p->running = true;
		return p;
	}
	complain("--usdt: no thread: %s", strerror(error));
	probes_free(p, false);
	return NULL;
}

void probes_stop(struct probes *p)
{
	const uint64_t one = 1;

	if (!p->running)
		return;
	p->running = false;
	for (unsigned i = 0; i < p->opened_count; i++)
		uprobe_enable(p->opened[i].fd, false);
	if (write(p->stop, &one, sizeof one) == sizeof one)
		pthread_join(p->thread, NULL);
	probe_samples_finish(p);
	probelog_finish(&p->log);
	if (p->failed)
		progress_say("--usdt: %u probe%s could not be set: %s", p->failed, p->failed == 1 ? "" : "s",
		             strerror(p->failure));
	if (!places(p))
		progress_say("--usdt: no probe of the program or its libraries matches; 'readelf -n FILE' shows the "
		             "probes of a file");
	for (unsigned i = 0; i < p->probe_count; i++)
		probe_say_left_off(p->probe[i]);
	for (unsigned i = 0; i < p->probe_count; i++)
		if (p->probe[i]->cut)
			progress_say("%s: %" PRIu64 " of %" PRIu64 " events lack their last arguments, which were too "
			             "deep in the stack", p->probe[i]->name, p->probe[i]->cut, p->probe[i]->events);
	probe_say_no_texts(p);
	if (p->log.lost)
		progress_say("--usdt: %" PRIu64 " events were lost, because the kernel's ring was full: select fewer "
		             "probes%s", p->log.lost,
		             p->foreign ? "; some of them may be of other processes with these files" : "");
	if (p->foreign)
		progress_say("--usdt: other processes that execute the same files have met the probes %" PRIu64
		             " times; they were slower meanwhile", p->foreign);
	if (p->log.error)
		progress_say("%s: %s", p->log.path, strerror(p->log.error));
}

bool probes_merge(struct probes *p, const char *path, int fd, struct merged *m)
{
	int error;

	*m = (struct merged){ 0 };
	if (!p->log.events && !p->log.lost)
		return true;
	error = probelog_merge(&p->log, path, fd, m);
	if (!error)
		return !p->log.error;
	progress_say("%s: the events of --usdt could not be added, and are in %s: %s", path, p->log.path,
	             strerror(error));
	return false;
}

void probes_free(struct probes *p, bool keep)
{
	if (!p)
		return;
	if (p->running)
		probes_stop(p);
	if (keep)
		probelog_leave(&p->log);
	else
		probelog_cancel(&p->log);
	for (unsigned i = 0; i < p->rings; i++)
		buffer_unmap(&p->ring[i]);
	for (unsigned i = 0; i < p->opened_count; i++)
		close(p->opened[i].fd);
	for (unsigned i = 0; i < p->files; i++) {
		for (unsigned n = 0; n < p->file[i].count; n++)
			fetch_undefine(&p->file[i].location[n].where);
		if (p->file[i].fd >= 0)
			close(p->file[i].fd);
		free(p->file[i].path);
		free(p->file[i].location);
	}
	for (unsigned i = 0; i < p->probe_count; i++) {
		free(p->probe[i]->name);
		free(p->probe[i]);
	}
	for (size_t i = 0; i < p->waiting_count; i++)
		free(p->waiting[i].record);
	if (p->stop >= 0)
		close(p->stop);
	free(p->waiting);
	free(p->file);
	free(p->probe);
	free(p->process);
	free(p->opened);
	free(p->named);
	free(p->ring);
	free(p->ring_time);
	free(p->ring_lost);
	free(p->processor);
	free(p);
}
