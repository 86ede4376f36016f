/*
 * life.c - how long does an empty stream take from creation to shutdown?
 *
 * Measures posix_trace_create(), _start() and _shutdown() of a stream of 1 MiB. The floor is shared memory by itself: a
 * file of the same size in /dev/shm is made, reserved, mapped, unmapped and removed.
 *
 * SPDX-License-Identifier: MIT
 */
#include <trace.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common.h"
#include "rows.h"

#define LIVES 50 /* in one round; the median counts */

static const struct section LIFE = { "life", "a stream of 1 MiB, created, started, shut down, us", "a file" };

static trace_id_t create(void)
{
	trace_attr_t attr;
	trace_id_t trid;

	must(posix_trace_attr_init(&attr), "posix_trace_attr_init");
	must(posix_trace_attr_setstreamsize(&attr, MIB), "posix_trace_attr_setstreamsize");
	must(posix_trace_create(0, &attr, &trid), "posix_trace_create");
	posix_trace_attr_destroy(&attr);
	return trid;
}

/* Returns the file size of this process's stream. */
static off_t stream_file(void)
{
	trace_id_t trid = create();
	char path[64], begin[32];
	struct dirent *entry;
	struct stat st;
	off_t size = 0;
	DIR *dir;

	snprintf(path, sizeof path, "/dev/shm/posixtrace-%u", (unsigned)geteuid());
	snprintf(begin, sizeof begin, "stream-%d-", (int)getpid());
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		if (strncmp(entry->d_name, begin, strlen(begin)) == 0 &&
		    fstatat(dirfd(dir), entry->d_name, &st, 0) == 0)
			size = st.st_size;
	if (dir)
		closedir(dir);
	must(posix_trace_shutdown(trid), "posix_trace_shutdown");
	if (size < (off_t)MIB)
		die("a stream's file is not found in %s", path);
	return size;
}

static double ours(void)
{
	double start = seconds(CLOCK_MONOTONIC);
	trace_id_t trid = create();

	must(posix_trace_start(trid), "posix_trace_start");
	must(posix_trace_shutdown(trid), "posix_trace_shutdown");
	return (seconds(CLOCK_MONOTONIC) - start) * 1e6;
}

static double file(off_t size)
{
	double start = seconds(CLOCK_MONOTONIC);
	char path[64];
	void *p;
	int fd;

	snprintf(path, sizeof path, "/dev/shm/bench-life-%d", (int)getpid());
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		die("%s: %s", path, strerror(errno));
	if (fallocate(fd, 0, 0, size) < 0)
		die("fallocate: %s", strerror(errno));
	p = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	munmap(p, (size_t)size);
	unlink(path);
	close(fd);
	return (seconds(CLOCK_MONOTONIC) - start) * 1e6;
}

int main(int argc, char **argv)
{
	double streams[LIVES], files[LIVES];
	off_t size;

	bench_begin(argc, argv, 7, "the life of a stream");
	pin(0);
	size = stream_file();
	for (int r = 0; r < bench.rounds; r++) {
		for (int i = 0; i < LIVES; i++) {
			streams[i] = ours();
			files[i] = file(size);
		}
		bench_row(&LIFE, "median of 50", r, quantile(streams, LIVES, 0.5), quantile(files, LIVES, 0.5));
	}
	return bench_end();
}
