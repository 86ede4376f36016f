/*
 * common.c - what every benchmark needs: clocks, medians, a line about the machine
 *
 * SPDX-License-Identifier: MIT
 */
#include "common.h"

#include <trace.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

int n_cpus;
static int cpus[CPU_SETSIZE];

void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "%s: ", program_invocation_short_name);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(2);
}

void must(int error, const char *what)
{
	if (error)
		die("%s: %s", what, strerror(error));
}

double seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* -- CPUs ---------------------------------------------------------------------- */

void find_cpus(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	if (sched_getaffinity(0, sizeof set, &set) != 0)
		return;
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &set))
			cpus[n_cpus++] = i;
}

void pin(int number)
{
	cpu_set_t set;

	if (n_cpus < 2)
		return;
	CPU_ZERO(&set);
	/* From the last CPU down: the first one has most of the interrupts. */
	CPU_SET(cpus[n_cpus - 1 - number % n_cpus], &set);
	pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

/* -- Values ---------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double *new_values(int n)
{
	double *v = calloc((size_t)n, sizeof *v);

	if (!v)
		die("no memory");
	return v;
}

double quantile(const double *values, int n, double at)
{
	double *v = new_values(n), x;
	double where = at * (n - 1);
	int low = (int)where;

	memcpy(v, values, (size_t)n * sizeof *v);
	qsort(v, (size_t)n, sizeof *v, compare);
	x = v[low];
	if (low + 1 < n)
		x += (where - low) * (v[low + 1] - v[low]);
	free(v);
	return x;
}

/* -- The machine ------------------------------------------------------------------- */

struct machine {
	char cpu[128], kernel[sizeof(((struct utsname *)0)->release)], clock[64], load[64];
	char version[TRACE_NAME_MAX + 1];
};

/*
 * Copies the value of the first line that begins with the key, after its colon. Without a key, copies the first line.
 */
static void line_of(const char *path, const char *key, char *to, size_t size)
{
	FILE *f = fopen(path, "re");
	char line[512];

	if (!f)
		return;
	while (fgets(line, sizeof line, f)) {
		char *value = line;

		line[strcspn(line, "\n")] = '\0';
		if (key) {
			if (strncmp(line, key, strlen(key)) != 0 || !(value = strchr(line, ':')))
				continue;
			value += 1 + strspn(value + 1, " \t");
		}
		snprintf(to, size, "%.*s", (int)size - 1, value);
		break;
	}
	fclose(f);
}

static void describe(struct machine *m)
{
	struct utsname u;
	trace_attr_t attr;

	memset(m, 0, sizeof *m);
	if (uname(&u) == 0) {
		snprintf(m->cpu, sizeof m->cpu, "%s", u.machine);
		snprintf(m->kernel, sizeof m->kernel, "%s", u.release);
	}
	strcpy(m->clock, "unknown");
	line_of("/proc/cpuinfo", "model name", m->cpu, sizeof m->cpu);
	line_of("/sys/devices/system/clocksource/clocksource0/current_clocksource", NULL, m->clock, sizeof m->clock);
	line_of("/proc/loadavg", NULL, m->load, sizeof m->load);
	m->load[strcspn(m->load, " ")] = '\0';
	if (posix_trace_attr_init(&attr) == 0) {
		posix_trace_attr_getgenversion(&attr, m->version);
		posix_trace_attr_destroy(&attr);
	}
}

void machine_print(void)
{
	struct machine m;

	describe(&m);
	printf("%s; %s, %d CPU%s, Linux %s, clock source %s, load %s; compiled by %s\n", m.version, m.cpu,
	       n_cpus, n_cpus == 1 ? "" : "s", m.kernel, m.clock, m.load, __VERSION__);
}

static void json_string(FILE *f, const char *key, const char *s)
{
	fprintf(f, "  \"%s\": \"", key);
	for (; *s; s++)
		if (*s != '"' && *s != '\\' && (unsigned char)*s >= ' ')
			fputc(*s, f);
	fputs("\",\n", f);
}

void machine_json(FILE *f)
{
	struct machine m;

	describe(&m);
	json_string(f, "version", m.version);
	json_string(f, "cpu", m.cpu);
	json_string(f, "kernel", m.kernel);
	json_string(f, "clocksource", m.clock);
	json_string(f, "compiler", __VERSION__);
	json_string(f, "load", m.load);
	fprintf(f, "  \"cpus\": %d,\n", n_cpus);
}

void json_values(FILE *f, const double *v, int n)
{
	fputc('[', f);
	for (int i = 0; i < n; i++)
		fprintf(f, "%s%.4f", i ? ", " : "", v[i]);
	fputc(']', f);
}

/* -- Options ------------------------------------------------------------------------ */

long number(const char *s, char **end, long least, long most)
{
	long n;

	errno = 0;
	n = strtol(s, end, 10);
	if (errno || *end == s || n < least || n > most)
		die("%s: not a number from %ld to %ld", s, least, most);
	return n;
}
