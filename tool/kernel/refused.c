/*
 * refused.c - why the kernel refuses perf events, and what to do about it
 *
 * SPDX-License-Identifier: MIT
 */
#include "kernel/refused.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel/points.h"

/* Bits of CapEff: CAP_SYS_ADMIN and CAP_PERFMON. */
#define MAY_PERF (UINT64_C(1) << 21 | UINT64_C(1) << 38)

/* Reads the value of a line of /proc/self/status. Returns false if there is none. */
static bool status(const char *name, int base, uint64_t *value)
{
	FILE *f = fopen("/proc/self/status", "re");
	size_t length = strlen(name);
	char line[256];
	bool found = false;

	while (f && !found && fgets(line, sizeof line, f))
		if (strncmp(line, name, length) == 0 && line[length] == ':') {
			*value = strtoull(line + length + 1, NULL, base);
			found = true;
		}
	if (f)
		fclose(f);
	return found;
}

/* Returns kernel.perf_event_paranoid; 2, the kernel's default, if it cannot be read. */
static int paranoid(void)
{
	FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
	int level = 2;

	if (f && fscanf(f, "%d", &level) != 1)
		level = 2;
	if (f)
		fclose(f);
	return level;
}

/* Capabilities of another user namespace are of no use for perf events. */
static bool is_first_user_namespace(void)
{
	FILE *f = fopen("/proc/self/uid_map", "re");
	uint32_t inside, outside, count;
	bool first = !f || fscanf(f, "%" SCNu32 " %" SCNu32 " %" SCNu32, &inside, &outside, &count) != 3 ||
	             count == UINT32_MAX;

	if (f)
		fclose(f);
	return first;
}

void refused_all(struct refused *r, int error)
{
	uint64_t seccomp = 0;
	int level = paranoid();

	r->remedy = NULL;
	status("Seccomp", 10, &seccomp);
	if (error != EACCES && error != EPERM && error != ENOSYS) {
		snprintf(r->why, sizeof r->why, "perf_event_open(): %s", strerror(error));
		if (error == EMFILE)
			r->remedy = "each thread needs several descriptors on each processor: ulimit -n";
	} else if (error == EACCES && level > 2) {
		/* Debian and Ubuntu have these levels. */
		snprintf(r->why, sizeof r->why, "perf_event_open(): %s: sysctl kernel.perf_event_paranoid is %d",
		         strerror(error), level);
		r->remedy = "be root, have CAP_PERFMON, or set it to 2: sysctl kernel.perf_event_paranoid=2";
	} else if (seccomp == 2) {
		snprintf(r->why, sizeof r->why, "perf_event_open(): %s: a seccomp filter forbids it", strerror(error));
		r->remedy = "in a container allow perf_event_open() in the seccomp profile";
	} else if (error == ENOSYS) {
		snprintf(r->why, sizeof r->why, "this kernel has no perf_event_open()");
		r->remedy = "it needs CONFIG_PERF_EVENTS";
	} else {
		snprintf(r->why, sizeof r->why, "perf_event_open(): %s: a security module, such as SELinux, or a "
		         "sandbox forbids it", strerror(error));
	}
}

const char *refused_some(const struct points *p)
{
	uint64_t capabilities = MAY_PERF;

	status("CapEff", 16, &capabilities);
	if (!is_first_user_namespace())
		return "root of a user namespace, such as a rootless container, has no rights of root here: record "
		       "outside of it";
	if (geteuid() != 0)
		return "be root, or have CAP_PERFMON and CAP_DAC_READ_SEARCH";
	if (!(capabilities & MAY_PERF))
		return "this root lacks CAP_PERFMON: start the container with --cap-add=PERFMON";
	if (p->no_tracefs)
		return p->no_tracefs;
	if (p->namespaced)
		return "tracepoints have the ids of the first pid namespace: record outside of the container";
	return "the kernel does not have them";
}
