/*
 * doctor_machine.c - kernel, shared memory, limits and clock, as tracing needs them
 *
 * SPDX-License-Identifier: MIT
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/magic.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <trace.h>
#include <unistd.h>

#include "base/file.h"
#include "base/ident.h"
#include "base/lock.h"
#include "base/sys.h"
#include "base/ticks.h"
#include "base/wait.h"
#include "doctor.h"
#include "shm/stream.h"

#define MIB (1024.0 * 1024.0)
/* About what a stream with all defaults takes, with a log. */
#define STREAM_MIB 5.0

static void kernel(void)
{
	struct utsname name;
	unsigned major = 0, minor = 0;

	uname(&name);
	sscanf(name.release, "%u.%u", &major, &minor);
	if (major < 4 || (major == 4 && minor < 14))
		tell(GRADE_PROBLEM, "kernel", "a kernel from 4.14 on", "Linux %s is too old", name.release);
	else if (major == 4 && minor < 16)
		tell(GRADE_WARNING, "kernel", "a kernel from 4.16 on has the fast membarrier()",
		     "Linux %s: each event takes the long way", name.release);
	else
		tell(GRADE_OK, "kernel", NULL, "Linux %s, %s", name.release, name.machine);
}

/* -- /dev/shm ------------------------------------------------------------------------------------------- */

static void shm_space(const struct statfs *fs)
{
	double size = (double)fs->f_blocks * (double)fs->f_bsize / MIB;
	double left = (double)fs->f_bavail * (double)fs->f_bsize / MIB;

	if (left < STREAM_MIB)
		tell(left < 0.1 ? GRADE_PROBLEM : GRADE_WARNING, "space",
		     "mount -o remount,size=256m /dev/shm (docker: --shm-size), 'posixtrace recover', or smaller streams",
		     "%.1f of %.1f MiB are left in /dev/shm; a stream with a log takes about %.0f", left, size, STREAM_MIB);
	else
		tell(GRADE_OK, "space", NULL, "%.0f of %.0f MiB are left in /dev/shm", left, size);
	if (fs->f_files && fs->f_ffree < 100)
		tell(fs->f_ffree < 3 ? GRADE_PROBLEM : GRADE_WARNING, "files",
		     "remove what nobody needs, or mount -o remount,nr_inodes=100k /dev/shm",
		     "only %llu more files can be made in /dev/shm", (unsigned long long)fs->f_ffree);
}

/* False: the rest is of no use. */
static bool shm_mount(void)
{
	struct statfs fs;
	struct stat st;

	if (stat("/dev/shm", &st) < 0 || !S_ISDIR(st.st_mode)) {
		tell(GRADE_PROBLEM, "/dev/shm", "mount -t tmpfs -o mode=1777 tmpfs /dev/shm", "there is no such directory");
		return false;
	}
	if (statfs("/dev/shm", &fs) < 0) {
		tell(GRADE_PROBLEM, "/dev/shm", NULL, "%s", strerror(errno));
		return false;
	}
	if (fs.f_type != TMPFS_MAGIC)
		tell(GRADE_WARNING, "/dev/shm", "mount -t tmpfs -o mode=1777 tmpfs /dev/shm",
		     "it is not a tmpfs, but something slower");
	else if (st.st_mode & S_IWOTH && !(st.st_mode & S_ISVTX))
		tell(GRADE_WARNING, "/dev/shm", "chmod 1777 /dev/shm", "anybody can remove the files of others in it");
	else
		tell(GRADE_OK, "/dev/shm", NULL, "a tmpfs");
	shm_space(&fs);
	return true;
}

static void own_directory(void)
{
	struct place place = place_own();
	struct stat st;

	if (lstat(place.path, &st) < 0 && errno == ENOENT) {
		if (access("/dev/shm", W_OK | X_OK) < 0)
			tell(GRADE_PROBLEM, "directory", "chmod 1777 /dev/shm", "this user cannot make %s: %s", place.path, strerror(errno));
		else
			tell(GRADE_OK, "directory", NULL, "%s is not there yet, and can be made", place.path);
	} else if (!S_ISDIR(st.st_mode)) {
		tell(GRADE_PROBLEM, "directory", "remove it", "%s is not a directory: somebody has put something else there",
		     place.path);
	} else if (st.st_uid != place.owner) {
		tell(GRADE_PROBLEM, "directory", "have its owner, or root, remove it", "%s belongs to user %u", place.path,
		     st.st_uid);
	} else if (st.st_mode & 077) {
		tell(GRADE_PROBLEM, "directory", "chmod 700 on it, after a look at what is in it", "%s is open to others (mode %03o)",
		     place.path, st.st_mode & 0777);
	} else if (access(place.path, W_OK | X_OK) < 0) {
		tell(GRADE_PROBLEM, "directory", "chmod 700 on it", "%s: %s", place.path, strerror(errno));
	} else {
		tell(GRADE_OK, "directory", NULL, "%s", place.path);
	}
}

/* All users together. */
static void stream_count(void)
{
	struct sys_stat st;
	int count = sys_stat_path("/dev/shm", &st) == 0 ? lock_count_streams(st.device_major, st.device_minor) : -1;

	if (count < 0)
		tell(GRADE_WARNING, "streams", "make /proc/locks readable",
		     "the kernel does not tell which locks there are, so streams cannot be counted exactly");
	else if (count >= TRACE_SYS_MAX)
		tell(GRADE_PROBLEM, "streams", "end some; 'posixtrace list --all' shows them",
		     "all %d streams that there can be exist", TRACE_SYS_MAX);
	else
		tell(count > TRACE_SYS_MAX * 9 / 10 ? GRADE_WARNING : GRADE_OK, "streams", NULL,
		     "%d of at most %d exist, of all users", count, TRACE_SYS_MAX);
}

/* -- Limits ------------------------------------------------------------------------------------------------ */

static void limits(void)
{
	struct rlimit r;
	bool fine = true;

	if (getrlimit(RLIMIT_FSIZE, &r) == 0 && r.rlim_cur != RLIM_INFINITY) {
		tell((double)r.rlim_cur < 1.5 * MIB ? GRADE_PROBLEM : GRADE_WARNING, "limits", "ulimit -f unlimited",
		     "files may have %.1f MiB: streams and logs cannot be larger", (double)r.rlim_cur / MIB);
		fine = false;
	}
	if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < 32) {
		tell(r.rlim_cur < 8 ? GRADE_PROBLEM : GRADE_WARNING, "limits", "ulimit -n 1024",
		     "only %llu descriptors; tracing needs some for moments",
		     (unsigned long long)r.rlim_cur);
		fine = false;
	}
	if (getrlimit(RLIMIT_AS, &r) == 0 && r.rlim_cur != RLIM_INFINITY && (double)r.rlim_cur < 256 * MIB) {
		tell(GRADE_WARNING, "limits", "ulimit -v unlimited", "address space of %.0f MiB: large streams cannot be mapped",
		     (double)r.rlim_cur / MIB);
		fine = false;
	}
	if (fine)
		tell(GRADE_OK, "limits", NULL, "of files, descriptors and address space are no obstacle");
}

/* -- What the kernel does for us ------------------------------------------------------------------------------ */

static double clock_cost(uint32_t kind)
{
	enum { TIMES = 10000 };
	int64_t best = INT64_MAX;
	uint64_t all = 0;

	for (int round = 0; round < 5; round++) {
		int64_t begin = clock_ns(CLOCK_THREAD_CPUTIME_ID), ns;

		for (int i = 0; i < TIMES; i++)
			all += ticks_read(kind);
		ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
		if (ns < best)
			best = ns;
	}
	return all ? (double)best / TIMES : 0;
}

static void clock_source(void)
{
	uint32_t kind = ticks_kind();
	double cost = clock_cost(kind);
	char source[64];

	first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", source, sizeof source);
	if (kind == CLOCK_KIND_COUNTER)
		tell(GRADE_OK, "clock", NULL, "the processor's counter, %.1f ns for each reading", cost);
	else
		tell(GRADE_WARNING, "clock", "the kernel does not trust the counter (dmesg | grep -i tsc); in a virtual machine, give it an invariant one",
		     "clock_gettime(), %.1f ns for each event; the kernel's clock source is %s", cost, source[0] ? source : "not known");
}

static void membarrier(void)
{
	int commands = sys_membarrier(MEMBARRIER_CMD_QUERY);
	int64_t begin;

	if (commands < 0 || !(commands & MEMBARRIER_CMD_GLOBAL_EXPEDITED) ||
	    !(commands & MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) ||
	    !barrier_register()) {
		tell(GRADE_WARNING, "membarrier", "permit membarrier() in the container's seccomp profile; the kernel needs CONFIG_MEMBARRIER",
		     "not to be had: each event takes the long way; the trial tells how long that is");
		return;
	}
	begin = clock_ns(CLOCK_MONOTONIC);
	if (barrier_everywhere())
		tell(GRADE_OK, "membarrier", NULL, "all commands that are used, %.1f us for a barrier",
		     (double)(clock_ns(CLOCK_MONOTONIC) - begin) / 1e3);
	else
		tell(GRADE_WARNING, "membarrier", NULL, "registered, and refused when it is used: each event takes the long way");
}

/* Asked in a child: it loses its descriptors. */
static void close_range_(void)
{
	pid_t child = fork();
	int status = 1;

	if (child == 0)
		_exit(sys_own_descriptors(0) < 0);
	if (child > 0)
		waitpid(child, &status, 0);
	if (status == 0)
		tell(GRADE_OK, "close_range", NULL, "a log's descriptor is out of the program's reach");
	else
		tell(GRADE_WARNING, "close_range", "Linux from 5.9 on, and permission in the container's seccomp profile",
		     "not to be had: a program that closes descriptors it does not know ends its log");
}

static void rseq(void)
{
#if defined __x86_64__ && defined __LP64__
	const unsigned *size = dlsym(RTLD_DEFAULT, "__rseq_size");

	if (size && *size)
		tell(GRADE_OK, "rseq", NULL, "registered by the C library");
	else
		tell(GRADE_WARNING, "rseq", "glibc from 2.35 on, without glibc.pthread.rseq=0 in GLIBC_TUNABLES",
		     "not registered: matters only where a signal handler forks in the middle of a trace point");
#endif
}

/* -- /proc ---------------------------------------------------------------------------------------------------------- */

static bool hidden(void)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char line[1024];
	bool hides = false;

	while (f && fgets(line, sizeof line, f))
		if (strstr(line, " /proc ") && (strstr(line, "hidepid=1") || strstr(line, "hidepid=2") ||
		                                strstr(line, "hidepid=invisible") ||
		                                strstr(line, "hidepid=noaccess") || strstr(line, "hidepid=ptraceable")))
			hides = true;
	if (f)
		fclose(f);
	return hides;
}

static void proc_mount(void)
{
	char yama[16];

	if (proc_number() == 0)
		tell(GRADE_PROBLEM, "/proc", "mount -t proc proc /proc", "it is not mounted: other processes cannot be traced");
	else if (proc_number() != (uint32_t)getpid())
		tell(GRADE_PROBLEM, "/proc", "mount -t proc proc /proc", "it is that of another pid namespace: other processes cannot be traced");
	else if (hidden() && geteuid() != 0)
		tell(GRADE_OK, "/proc", NULL, "mounted with hidepid: processes of other users cannot be seen, which this user may not trace anyway");
	else
		tell(GRADE_OK, "/proc", NULL, "that of this pid namespace");
	if (first_line("/proc/sys/kernel/yama/ptrace_scope", yama, sizeof yama)[0] && yama[0] != '0')
		tell(GRADE_OK, "ptrace_scope", NULL, "%s, which does not matter: nothing is attached", yama);
}

void doctor_machine(void)
{
	kernel();
	if (shm_mount()) {
		own_directory();
		stream_count();
	}
	limits();
	clock_source();
	membarrier();
	close_range_();
	rseq();
	proc_mount();
}
