/*
 * open.c - how long does it take to open a log, by its size?
 *
 * Measures the time until the first event, with the log in memory or not, and with its index or without, as after a
 * kill. The floor here is not a goal but what the index avoids: read() of the whole log.
 *
 * SPDX-License-Identifier: MIT
 */
#include <trace.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common.h"
#include "events.h"
#include "rows.h"

#define SIZES 3

static const struct section OPEN = { "open", "posix_trace_open() and the first event, ms", "read() of all" };

static const long sizes[SIZES] = { 1, 64, 1024 }; /* MiB */

static void opened(int round, int fd, long mib, const char *how, double figure)
{
	char name[64];

	snprintf(name, sizeof name, "%ld MiB%s", mib, how);
	/* Immediately after the measurement, so if the log was not in memory, most of it still is not. */
	bench_row(&OPEN, name, round, figure, read_all(fd, CLOCK_MONOTONIC) * 1e3);
}

static void measure_opening(int round, int fd, long mib)
{
	const off_t size = size_of(fd), footer = 64;
	unsigned char end[64];

	/* No effect on a tmpfs, which has no disk to write to. */
	fdatasync(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	opened(round, fd, mib, ", not in memory", open_log(fd));
	opened(round, fd, mib, "", open_log(fd));
	/*
	 * Without the footer the index cannot be found, as if the writer had been killed before the end
	 * (docs/log-format.md).
	 */
	if (pread(fd, end, (size_t)footer, size - footer) != footer || ftruncate(fd, size - footer) < 0)
		die("the footer of a log: %s", strerror(errno));
	opened(round, fd, mib, ", without index", open_log(fd));
	if (pwrite(fd, end, (size_t)footer, size - footer) != footer)
		die("the footer of a log: %s", strerror(errno));
}

static bool room_for(long mib)
{
	struct statvfs space;

	if (statvfs(bench.directory, &space) < 0)
		die("%s: %s", bench.directory, strerror(errno));
	if ((double)space.f_bavail * (double)space.f_frsize >= 1.5 * (double)mib * MIB)
		return true;
	printf("note: no space in %s for a log of %ld MiB\n", bench.directory, mib);
	return false;
}

int main(int argc, char **argv)
{
	int fd[SIZES], n = 0;

	bench_begin(argc, argv, 5, "opening a log");
	events_begin(true);
	while (n < (bench.quick ? SIZES - 1 : SIZES) && room_for(sizes[n])) {
		fd[n] = large_log(sizes[n]);
		n++;
	}
	for (int r = 0; r < bench.rounds; r++)
		for (int i = 0; i < n; i++)
			measure_opening(r, fd[i], sizes[i]);
	return bench_end();
}
