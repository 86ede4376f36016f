/*
 * machine.c - kernel, shared memory, limits and clock, as tracing needs them
 *
 * SPDX-License-Identifier: MIT
 */
#include "doctor/machine.h"

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

#include "base/sys.h"
#include "base/ticks.h"
#include "base/wait.h"
#include "control/recover.h"
#include "doctor/findings.h"
#include "host/file.h"
#include "host/ident.h"
#include "shm/stream.h"

#define MIB (1024.0 * 1024.0)
/* Approximate size of a stream with default attributes and a log. */
#define STREAM_MIB 5.0

static void kernel(void)
{
	struct utsname name;
	unsigned major = 0, minor = 0;

	uname(&name);
	sscanf(name.release, "%u.%u", &major, &minor);
	if (major < 4 || (major == 4 && minor < 14))
		finding(GRADE_PROBLEM, "kernel", "use Linux 4.14 or later", "Linux %s is too old", name.release);
	else if (major == 4 && minor < 16)
		finding(GRADE_WARNING, "kernel", "Linux 4.16 and later have the fast membarrier()",
			"Linux %s: every event takes the slow path", name.release);
	else
		finding(GRADE_OK, "kernel", NULL, "Linux %s, %s", name.release, name.machine);
}

/* -- /dev/shm --------------------------------------------------------------------------------- */

static void shm_space(const struct statfs *fs)
{
	double size = (double)fs->f_blocks * (double)fs->f_bsize / MIB;
	double left = (double)fs->f_bavail * (double)fs->f_bsize / MIB;

	if (left < STREAM_MIB)
		finding(left < 0.1 ? GRADE_PROBLEM : GRADE_WARNING, "space",
			"mount -o remount,size=256m /dev/shm (docker: --shm-size), run 'posixtrace recover', "
			"or use smaller streams",
			"%.1f of %.1f MiB are free in /dev/shm, which all users share; "
			"a stream with a log takes about %.0f",
			left, size, STREAM_MIB);
	else
		finding(GRADE_OK, "space", NULL, "%.0f of %.0f MiB are free in /dev/shm", left, size);
	if (fs->f_files && fs->f_ffree < 100)
		finding(fs->f_ffree < 3 ? GRADE_PROBLEM : GRADE_WARNING, "files",
			"remove unneeded files, or mount -o remount,nr_inodes=100k /dev/shm",
			"only %llu more files can be created in /dev/shm, which all users share",
			(unsigned long long)fs->f_ffree);
}

/* Returns false if further checks of /dev/shm are useless. */
static bool shm_mount(void)
{
	struct statfs fs;
	struct stat st;

	if (stat("/dev/shm", &st) < 0 || !S_ISDIR(st.st_mode)) {
		finding(GRADE_PROBLEM, "/dev/shm", "mount -t tmpfs -o mode=1777 tmpfs /dev/shm",
			"there is no such directory");
		return false;
	}
	if (statfs("/dev/shm", &fs) < 0) {
		finding(GRADE_PROBLEM, "/dev/shm", NULL, "%s", strerror(errno));
		return false;
	}
	if (fs.f_type != TMPFS_MAGIC)
		finding(GRADE_WARNING, "/dev/shm", "mount -t tmpfs -o mode=1777 tmpfs /dev/shm",
			"it is not a tmpfs, but a slower file system");
	else if (st.st_mode & S_IWOTH && !(st.st_mode & S_ISVTX))
		finding(GRADE_WARNING, "/dev/shm", "chmod 1777 /dev/shm",
			"any user can remove files of other users in it");
	else
		finding(GRADE_OK, "/dev/shm", NULL, "a tmpfs");
	shm_space(&fs);
	return true;
}

static void own_directory(void)
{
	struct shm_dir shm_dir = shm_dir_own();
	struct stat st;

	if (lstat(shm_dir.path, &st) < 0 && errno == ENOENT) {
		if (access("/dev/shm", W_OK | X_OK) < 0)
			finding(GRADE_PROBLEM, "directory", "chmod 1777 /dev/shm", "this user cannot create %s: %s",
				shm_dir.path, strerror(errno));
		else
			finding(GRADE_OK, "directory", NULL, "%s does not exist yet, and can be created", shm_dir.path);
	} else if (st.st_uid != shm_dir.owner && geteuid() == 0) {
		finding(GRADE_WARNING, "directory", "look at /dev/shm/foreign-* afterwards, and remove it",
			"user %u has made %s; the next trace call of root gives it another name", st.st_uid,
			shm_dir.path);
	} else if (!S_ISDIR(st.st_mode)) {
		finding(GRADE_PROBLEM, "directory", "remove it", "%s is not a directory",
			shm_dir.path);
	} else if (st.st_uid != shm_dir.owner) {
		finding(GRADE_PROBLEM, "directory", "ask its owner, or root, to remove it", "%s belongs to user %u",
			shm_dir.path, st.st_uid);
	} else if (st.st_mode & 077) {
		finding(GRADE_PROBLEM, "directory", "look at its contents, then chmod 700 it",
			"other users can use %s (mode %03o)", shm_dir.path, st.st_mode & 0777);
	} else if (access(shm_dir.path, W_OK | X_OK) < 0) {
		finding(GRADE_PROBLEM, "directory", "chmod 700 it", "%s: %s", shm_dir.path, strerror(errno));
	} else {
		finding(GRADE_OK, "directory", NULL, "%s", shm_dir.path);
	}
}

/* Counts the streams that trace this user's processes: the limit is per user. */
static void stream_count(void)
{
	struct shm_dir shm_dir = shm_dir_own();
	int dir = file_directory(&shm_dir, false), count = dir < 0 ? 0 : recover_count(dir, TRACE_SYS_MAX, NULL);

	if (dir >= 0)
		sys_close(dir);
	if (count >= TRACE_SYS_MAX)
		finding(GRADE_PROBLEM, "streams", "end some of them; 'posixtrace list --all' shows them",
			"this user has the maximum of %d streams", TRACE_SYS_MAX);
	else
		finding(count > TRACE_SYS_MAX * 9 / 10 ? GRADE_WARNING : GRADE_OK, "streams", NULL,
			"%d of at most %d of this user exist", count, TRACE_SYS_MAX);
}

/* -- Limits ----------------------------------------------------------------------------------- */

static void limits(void)
{
	struct rlimit r;
	bool fine = true;

	if (getrlimit(RLIMIT_FSIZE, &r) == 0 && r.rlim_cur != RLIM_INFINITY) {
		finding((double)r.rlim_cur < 1.5 * MIB ? GRADE_PROBLEM : GRADE_WARNING, "limits", "ulimit -f unlimited",
			"files may have at most %.1f MiB: larger streams and logs are impossible",
			(double)r.rlim_cur / MIB);
		fine = false;
	}
	if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < 32) {
		finding(r.rlim_cur < 8 ? GRADE_PROBLEM : GRADE_WARNING, "limits", "ulimit -n 1024",
			"only %llu descriptors; tracing needs some now and then",
			(unsigned long long)r.rlim_cur);
		fine = false;
	}
	if (getrlimit(RLIMIT_AS, &r) == 0 && r.rlim_cur != RLIM_INFINITY && (double)r.rlim_cur < 256 * MIB) {
		finding(GRADE_WARNING, "limits", "ulimit -v unlimited",
			"only %.0f MiB of address space: large streams cannot be mapped", (double)r.rlim_cur / MIB);
		fine = false;
	}
	if (fine)
		finding(GRADE_OK, "limits", NULL, "file size, descriptors and address space are sufficient");
}

/* -- What the kernel does for us -------------------------------------------------------------- */

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
		finding(GRADE_OK, "clock", NULL, "the processor's counter, %.1f ns to read", cost);
	else if (!source[0])
		finding(GRADE_WARNING, "clock", "mount -t sysfs sysfs /sys",
			"clock_gettime(), %.1f ns for each event; "
			"the kernel's clock source is not known without /sys", cost);
	else
		finding(GRADE_WARNING, "clock",
			"the kernel does not trust the counter (dmesg | grep -i tsc); "
			"give a virtual machine an invariant TSC",
			"clock_gettime(), %.1f ns for each event; the kernel's clock source is %s", cost, source);
}

static void membarrier(void)
{
	int commands = sys_membarrier(MEMBARRIER_CMD_QUERY);
	int64_t begin;

	if (commands < 0 || !(commands & MEMBARRIER_CMD_GLOBAL_EXPEDITED) ||
	    !(commands & MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) ||
	    !barrier_register()) {
		finding(GRADE_WARNING, "membarrier",
			"allow membarrier() in the container's seccomp profile; the kernel needs CONFIG_MEMBARRIER",
			"not available: every event takes the slow path; the trial below shows its cost");
		return;
	}
	begin = clock_ns(CLOCK_MONOTONIC);
	if (barrier_everywhere())
		finding(GRADE_OK, "membarrier", NULL, "all needed commands are available, %.1f us for a barrier",
			(double)(clock_ns(CLOCK_MONOTONIC) - begin) / 1e3);
	else
		finding(GRADE_WARNING, "membarrier", NULL,
			"registered, but refused when used: every event takes the slow path");
}

/* Tests close_range() in a child, which loses its descriptors. */
static void close_range_(void)
{
	pid_t child = fork();
	int status = 1;

	if (child == 0)
		_exit(sys_own_descriptors(0) < 0);
	if (child > 0)
		waitpid(child, &status, 0);
	if (status == 0)
		finding(GRADE_OK, "close_range", NULL, "the program cannot close a log's descriptor by accident");
	else
		finding(GRADE_WARNING, "close_range",
			"use Linux 5.9 or later, and allow it in the container's seccomp profile",
			"not available: a program that closes all descriptors ends its log");
}

static void rseq(void)
{
#if defined __x86_64__ && defined __LP64__
	const unsigned *size = dlsym(RTLD_DEFAULT, "__rseq_size");

	if (size && *size)
		finding(GRADE_OK, "rseq", NULL, "registered by the C library");
	else
		finding(GRADE_WARNING, "rseq", "use glibc 2.35 or later, "
		                               "without glibc.pthread.rseq=0 in GLIBC_TUNABLES",
			"not registered: matters only where a signal handler forks in the middle of a trace point");
#endif
}

/* -- /proc ------------------------------------------------------------------------------------ */

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
		finding(GRADE_PROBLEM, "/proc", "mount -t proc proc /proc",
			"not mounted: other processes cannot be traced");
	else if (proc_number() != (uint32_t)getpid())
		finding(GRADE_PROBLEM, "/proc", "mount -t proc proc /proc",
			"it belongs to another pid namespace: other processes cannot be traced");
	else if (hidden() && geteuid() != 0)
		finding(GRADE_OK, "/proc", NULL,
			"mounted with hidepid: hides processes of other users, which this user may not trace anyway");
	else
		finding(GRADE_OK, "/proc", NULL, "belongs to this pid namespace");
	if (first_line("/proc/sys/kernel/yama/ptrace_scope", yama, sizeof yama)[0] && yama[0] != '0')
		finding(GRADE_OK, "ptrace_scope", NULL, "%s, which does not matter: tracing needs no ptrace()", yama);
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
