/*
 * probe_events.c - the events of the kernel that record --usdt has opened, and their rings
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/probe_events.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#include "common/message.h"
#include "kernel/buffer.h"
#include "kernel/uprobe.h"
#include "record/probe_state.h"

/* The size of the ring of a processor for what tells of files and threads, which wakes the recorder. */
#define TRACKER_BYTES (UINT32_C(1) << 16)

static int by_id(const void *a, const void *b)
{
	const struct opened *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

void probe_events_sort(struct probes *p)
{
	qsort(p->opened, p->opened_count, sizeof *p->opened, by_id);
}

const struct opened *probe_event_find(const struct probes *p, uint64_t id)
{
	struct opened key = { .id = id };

	return bsearch(&key, p->opened, p->opened_count, sizeof *p->opened, by_id);
}

static void probe_event_add(struct probes *p, int fd, unsigned ring, const struct location *l)
{
	p->opened = probes_more(p->opened, p->opened_count, sizeof *p->opened);
	p->opened[p->opened_count++] = (struct opened){ uprobe_id(fd), fd, ring, l };
}

/* Opens the probe of a place, on all processors. */
static void open_place(struct probes *p, const struct location *l)
{
	for (unsigned i = 0; i < p->processors; i++) {
		int fd = uprobe_open(&p->how, &l->where, p->processor[i]), r = fd;

		if (fd >= 0)
			r = uprobe_redirect(fd, p->ring[2 * i].fd);
		if (r < 0) {
			if (fd >= 0)
				close(fd);
			p->failed++;
			p->failure = -r;
			return;
		}
		probe_event_add(p, fd, 2 * i, l);
	}
}

void probed_file_open(struct probes *p, struct probed_file *f)
{
	unsigned before = p->opened_count;

	if (f->opened)
		return;
	f->opened = true;
	for (unsigned i = 0; i < f->count; i++)
		open_place(p, &f->location[i]);
	for (unsigned i = before; i < p->opened_count; i++)
		uprobe_enable(p->opened[i].fd, true);
	qsort(p->opened, p->opened_count, sizeof *p->opened, by_id);
}

/* Maps the ring of an event, which it takes over. Returns 0 or an error number. fd negative: why there is no event. */
static int add_ring(struct probes *p, int fd, size_t size)
{
	int error;

	if (fd < 0)
		return -fd;
	p->ring = realloc(p->ring, (p->rings + 1) * sizeof *p->ring);
	p->ring_time = realloc(p->ring_time, (p->rings + 1) * sizeof *p->ring_time);
	p->ring_lost = realloc(p->ring_lost, (p->rings + 1) * sizeof *p->ring_lost);
	if (!p->ring || !p->ring_time || !p->ring_lost)
		fail("no memory");
	error = buffer_map(&p->ring[p->rings], fd, size);
	if (error) {
		close(fd);
		return error;
	}
	p->ring_time[p->rings] = probes_now();
	p->ring_lost[p->rings] = 0;
	probe_event_add(p, fd, p->rings++, NULL);
	return 0;
}

/* Makes both rings of a processor. Returns 0 or an error number. */
static int open_processor(struct probes *p, int processor)
{
	int error = add_ring(p, uprobe_open_owner(&p->how, processor), PROBE_RING_BYTES);

	if (!error)
		error = add_ring(p, uprobe_open_tracker(&p->how, p->pid, processor), TRACKER_BYTES);
	if (error)
		return error;
	p->processor = realloc(p->processor, (p->processors + 1) * sizeof *p->processor);
	if (!p->processor)
		fail("no memory");
	p->processor[p->processors++] = processor;
	return 0;
}

int probe_rings_open(struct probes *p)
{
	long processors = sysconf(_SC_NPROCESSORS_CONF);
	int error = 0;

	for (int i = 0; i < processors && !error; i++) {
		error = open_processor(p, i);
		/* A processor that is switched off. */
		if (error == ENODEV)
			error = 0;
	}
	return error ? error : p->processors ? 0 : ENODEV;
}

static void track_thread(struct probes *p, pid_t task)
{
	for (unsigned i = 0; task != p->pid && i < p->processors; i++) {
		int fd = uprobe_open_tracker(&p->how, task, p->processor[i]);

		if (fd >= 0 && uprobe_redirect(fd, p->ring[2 * i + 1].fd) == 0)
			probe_event_add(p, fd, 2 * i + 1, NULL);
		else if (fd >= 0)
			close(fd);
	}
}

void probe_rings_track(struct probes *p)
{
	char path[32];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof path, "/proc/%d/task", (int)p->pid);
	dir = opendir(path);
	if (!dir)
		return;
	while ((entry = readdir(dir)) != NULL)
		if (isdigit((unsigned char)entry->d_name[0]))
			track_thread(p, (pid_t)atoi(entry->d_name));
	closedir(dir);
}
