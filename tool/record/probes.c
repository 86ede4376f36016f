/*
 * probes.c - record --usdt: the probes in the files of a process
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/probes.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <posixtrace/log.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <trace.h>
#include <unistd.h>

#include "base/ticks.h"
#include "common/message.h"
#include "common/progress.h"
#include "kernel/buffer.h"
#include "kernel/uprobe.h"
#include "logs/match.h"
#include "usdt/arguments.h"
#include "usdt/loads.h"
#include "usdt/notes.h"

/* Of each processor: a ring for samples, and one for what tells of files and threads, which wakes the recorder. */
#define RING_BYTES    (UINT32_C(1) << 20)
#define TRACKER_BYTES (UINT32_C(1) << 16)
#define DRAIN_MS 100
#define NAME_MAX_BYTES TRACE_EVENT_NAME_MAX
/* How much of the stack is in a sample of a probe with arguments relative to the frame pointer. */
#define FRAME_STACK 1024
#define LEFT_OFF_SHOWN 8

/* A probe: an event type. It may be at several places. */
struct probe {
	char *name;   /* "python:line" */
	uint32_t type;
	unsigned count;              /* of arguments */
	uint8_t size[ARGUMENTS_MAX]; /* 0: left off */
	bool is_signed[ARGUMENTS_MAX];
	bool said;           /* which arguments are left off */
	uint64_t events, cut; /* cut: events without their last fields, which were not in the sample */
};

struct location {
	struct probe *probe;
	struct argument argument[ARGUMENTS_MAX];
	unsigned count;
	struct uprobe where;
	int stack_register;
};

/* A file with probes that are wanted, or one that has none. */
struct file {
	dev_t device;
	ino_t inode;
	int fd; /* -1: no probes */
	char *path;
	struct location *location;
	unsigned count;
	bool opened;
	unsigned char build_id[NOTES_BUILD_ID_MAX];
	size_t build_id_length;
};

/* A process whose events are wanted. */
struct process {
	pid_t pid;
	bool described; /* the log says what it executes now */
};

/* An event of the kernel. */
struct opened {
	uint64_t id;
	int fd;
	unsigned ring;
	const struct location *location; /* null: the tracker */
};

/* A record of a ring that waits until no earlier one can come. */
struct waiting {
	uint64_t time;
	uint64_t number; /* of two with the same time the first */
	uint64_t from;   /* of a loss: the time of the record before it in its ring */
	bool followed;
	struct perf_event_header *record; /* null: a loss */
	uint64_t lost;
};

struct named {
	uint32_t tid;
	char name[16];
};

struct probes {
	const struct probes_wanted *wanted;
	pid_t pid;
	struct uprobe_how how;
	struct probelog log;
	struct buffer *ring; /* 2 n: of samples; 2 n + 1: of the tracker; on the processor n */
	uint64_t *ring_time; /* of the last record of each ring */
	uint64_t *ring_lost; /* samples that it had no room for, as far as reported */
	int *processor;
	unsigned processors, rings;
	struct file *file;
	unsigned files;
	struct probe **probe;
	unsigned probe_count;
	struct process *process; /* the process, and its children */
	unsigned processes;
	uint64_t foreign; /* samples of other processes that execute the same files */
	struct opened *opened; /* sorted by id */
	unsigned opened_count;
	struct waiting *waiting;
	size_t waiting_count, waiting_room;
	uint64_t number, lost;
	uint64_t watermark; /* all records before this time have come */
	struct named *named;
	unsigned named_count;
	pthread_t thread;
	bool running;
	int stop; /* eventfd */
	unsigned failed; /* places whose probes could not be set */
	int failure;     /* why */
};

static void *more(void *array, size_t count, size_t size)
{
	/* Twice as much at each power of 2. */
	if ((count & (count - 1)) == 0)
		array = realloc(array, (count ? 2 * count : 1) * size);
	if (!array)
		fail("no memory");
	return array;
}

static uint64_t now(void)
{
	return (uint64_t)clock_ns(CLOCK_MONOTONIC);
}

/* -- What is wanted -------------------------------------------------------------------------- */

/* Returns the pattern for names, and the length of the path before it, 0 if there is none. */
static const char *pattern_names(const char *pattern, size_t *path)
{
	const char *names = strchr(pattern, ':');

	*path = 0;
	if (*pattern != '/' || !names)
		return pattern;
	*path = (size_t)(names - pattern);
	return names + 1;
}

static bool same_path(const char *pattern, size_t length, const char *path)
{
	char own[PATH_MAX], *real;
	bool same;

	if (length >= sizeof own)
		return false;
	memcpy(own, pattern, length);
	own[length] = '\0';
	real = realpath(own, NULL);
	same = strcmp(own, path) == 0 || (real && strcmp(real, path) == 0);
	free(real);
	return same;
}

static bool is_wanted(const struct probes *p, const char *name, const char *path)
{
	for (unsigned i = 0; i < p->wanted->count; i++) {
		size_t length;
		const char *names = pattern_names(p->wanted->pattern[i], &length);

		if ((!length || same_path(p->wanted->pattern[i], length, path)) && fnmatch(names, name, 0) == 0)
			return match_name(p->wanted->match, name);
	}
	return false;
}

/* -- The event types ------------------------------------------------------------------------- */

static struct probe *find_probe(struct probes *p, const char *name)
{
	struct probe *probe;

	for (unsigned i = 0; i < p->probe_count; i++)
		if (strcmp(p->probe[i]->name, name) == 0)
			return p->probe[i];
	p->probe = more(p->probe, p->probe_count, sizeof *p->probe);
	probe = calloc(1, sizeof *probe);
	if (probe)
		probe->name = strdup(name);
	if (!probe || !probe->name)
		fail("no memory");
	probe->type = UINT32_MAX;
	p->probe[p->probe_count++] = probe;
	return probe;
}

/* Adds a place to the fields of a probe that has no events yet: a field holds the values of all places. */
static void add_fields(struct probe *probe, const struct location *l, bool first)
{
	if (first)
		probe->count = l->count;
	for (unsigned i = 0; i < ARGUMENTS_MAX; i++) {
		bool there = i < l->count && argument_readable(&l->argument[i], l->stack_register);

		if (first) {
			probe->size[i] = there ? l->argument[i].size : 0;
			probe->is_signed[i] = there && l->argument[i].is_signed;
		} else if (!there) {
			probe->size[i] = 0;
		} else if (probe->size[i]) {
			if (l->argument[i].size > probe->size[i])
				probe->size[i] = l->argument[i].size;
			probe->is_signed[i] |= l->argument[i].is_signed;
		}
	}
}

static void declare(struct probes *p, struct probe *probe)
{
	char layout[32 * ARGUMENTS_MAX + 16] = "{packed;", name[NAME_MAX_BYTES + 1];
	bool some = false;

	for (unsigned i = 0; i < probe->count; i++) {
		if (!probe->size[i])
			continue;
		sprintf(layout + strlen(layout), "%sarg%u:%c%u", some ? "," : "", i + 1,
		        probe->is_signed[i] ? 'i' : probe->size[i] == 8 ? 'x' : 'u', 8U * probe->size[i]);
		some = true;
	}
	strcat(layout, "}");
	snprintf(name, sizeof name, "%s", probe->name);
	/* It fails without memory, or if there are too many types. Then the probe has no events. */
	if (posixtrace_log_declare(p->log.writer, name, some ? layout : NULL, &probe->type) != 0)
		probe->type = UINT32_MAX;
}

/* Prints the arguments that no sample has, unless it was done. Not in the thread, which must not print. */
static void say_left_off(struct probe *probe)
{
	char some[LEFT_OFF_SHOWN * 8] = "";
	unsigned count = 0;

	if (probe->said)
		return;
	probe->said = true;
	for (unsigned i = 0; i < probe->count; i++) {
		if (probe->size[i])
			continue;
		if (count++ < LEFT_OFF_SHOWN)
			sprintf(some + strlen(some), "%s%u", count > 1 ? ", " : "", i + 1);
	}
	if (count)
		progress_say("%s: argument%s %s %s left off: a sample of the kernel has registers and the top of the "
		             "stack", probe->name, count == 1 ? "" : "s", some, count == 1 ? "is" : "are");
}

/* -- Files ----------------------------------------------------------------------------------- */

/* Reads the places of the probes of a file that are wanted. */
static void read_places(struct probes *p, struct file *f)
{
	unsigned before = p->probe_count;
	struct notes notes;

	if (notes_read(f->fd, &notes) < 0)
		return;
	for (size_t i = 0; i < notes.count; i++) {
		const struct note *n = &notes.note[i];
		char name[NAME_MAX_BYTES + 1];
		struct location *l;

		snprintf(name, sizeof name, "%s:%s", n->provider, n->name);
		if (!is_wanted(p, name, f->path))
			continue;
		f->location = more(f->location, f->count, sizeof *f->location);
		l = &f->location[f->count++];
		*l = (struct location){ .probe = find_probe(p, name),
		                        .stack_register = arguments_stack_register(notes.machine) };
		l->count = arguments_parse(n->arguments, notes.machine, l->argument);
		l->where = (struct uprobe){ .file = f->fd, .offset = n->offset, .semaphore = n->semaphore };
		if (l->probe->type == UINT32_MAX) {
			add_fields(l->probe, l, l->probe->events == 0);
			l->probe->events = 1; /* its fields are not empty; see below */
		}
	}
	notes_free(&notes);
	for (unsigned i = before; i < p->probe_count; i++) {
		p->probe[i]->events = 0;
		declare(p, p->probe[i]);
	}
	for (unsigned i = 0; i < f->count; i++) {
		struct location *l = &f->location[i];
		size_t stack = 0;

		for (unsigned a = 0; a < l->count; a++) {
			size_t bytes = argument_stack(&l->argument[a], l->stack_register);

			if (!l->probe->size[a])
				continue;
			l->where.registers |= argument_registers(&l->argument[a]);
			if (bytes == SIZE_MAX)
				bytes = FRAME_STACK;
			if (bytes > stack)
				stack = bytes;
		}
		if (stack)
			l->where.registers |= UINT64_C(1) << l->stack_register;
		l->where.stack = (uint32_t)((stack + 7) & ~(size_t)7);
	}
}

/* Returns a file, which takes over the descriptor. Valid until the next call. */
static struct file *add_file(struct probes *p, int fd, const char *path)
{
	struct stat st;
	struct file *f;

	if (fstat(fd, &st) != 0)
		st = (struct stat){ 0 };
	for (unsigned i = 0; i < p->files; i++)
		if (p->file[i].device == st.st_dev && p->file[i].inode == st.st_ino) {
			close(fd);
			return &p->file[i];
		}
	p->file = more(p->file, p->files, sizeof *p->file);
	f = &p->file[p->files++];
	*f = (struct file){ .device = st.st_dev, .inode = st.st_ino, .fd = fd, .path = strdup(path) };
	if (!f->path)
		fail("no memory");
	f->build_id_length = notes_build_id(fd, f->build_id);
	read_places(p, f);
	if (!f->count) {
		close(f->fd);
		f->fd = -1;
	}
	return f;
}

/* -- The kernel's events --------------------------------------------------------------------- */

static int by_id(const void *a, const void *b)
{
	const struct opened *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static const struct opened *find_opened(const struct probes *p, uint64_t id)
{
	struct opened key = { .id = id };

	return bsearch(&key, p->opened, p->opened_count, sizeof *p->opened, by_id);
}

static void add_opened(struct probes *p, int fd, unsigned ring, const struct location *l)
{
	p->opened = more(p->opened, p->opened_count, sizeof *p->opened);
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
		add_opened(p, fd, 2 * i, l);
	}
}

/* Calls each for the threads of a process. */
static void each_thread(struct probes *p, pid_t pid, void (*each)(struct probes *p, pid_t task, void *arg), void *arg)
{
	char path[32];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	dir = opendir(path);
	if (!dir)
		return;
	while ((entry = readdir(dir)) != NULL)
		if (isdigit((unsigned char)entry->d_name[0]))
			each(p, (pid_t)atoi(entry->d_name), arg);
	closedir(dir);
}

/* Opens the probes of a file, unless they are. */
static void open_file(struct probes *p, struct file *f)
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

/* -- Processes ------------------------------------------------------------------------------ */

/* Returns the process, or null if its events are not wanted. Valid until the next call of add_process(). */
static struct process *find_process(const struct probes *p, uint32_t pid)
{
	/* The newest ones have the most events. */
	for (unsigned i = p->processes; i > 0; i--)
		if ((uint32_t)p->process[i - 1].pid == pid)
			return &p->process[i - 1];
	return NULL;
}

static void add_process(struct probes *p, pid_t pid)
{
	if (find_process(p, (uint32_t)pid))
		return;
	p->process = more(p->process, p->processes, sizeof *p->process);
	p->process[p->processes++] = (struct process){ .pid = pid };
}

/* Writes into the log what a process executes. path: of its first mapping, if it has ended already; may be null. */
static void describe(struct probes *p, struct process *process, uint64_t time, const char *path)
{
	char name[32], executable[PATH_MAX] = "", arguments[1024];
	ssize_t length = 0;
	int fd;

	process->described = true;
	snprintf(name, sizeof name, "/proc/%d/exe", (int)process->pid);
	if (readlink(name, executable, sizeof executable - 1) <= 0)
		snprintf(executable, sizeof executable, "%s", path ? path : "");
	snprintf(name, sizeof name, "/proc/%d/cmdline", (int)process->pid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		length = read(fd, arguments, sizeof arguments);
		close(fd);
	}
	posixtrace_log_describe(p->log.writer, probelog_time(&p->log, time), (uint32_t)process->pid, 0, executable,
	                        arguments, length > 0 ? (size_t)length : 0);
}

/* -- What a process has mapped --------------------------------------------------------------- */

/*
 * Opens a file that a process has mapped. The path may lead to another file by now, so the mapping itself is opened, or
 * the inode compared. Returns -1 if that is impossible.
 */
static int open_mapping(pid_t pid, uint64_t start, uint64_t end, uint64_t inode, const char *path)
{
	char name[PATH_MAX + 64];
	struct stat st;
	int fd;

	snprintf(name, sizeof name, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid, start, end);
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		snprintf(name, sizeof name, "/proc/%d/root%s", (int)pid, path);
		fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (fd >= 0 && (fstat(fd, &st) != 0 || st.st_ino != inode)) {
			close(fd);
			return -1;
		}
	}
	if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* What a process has mapped, to be executed. */
struct mapping {
	uint64_t start, end, offset, inode;
	const char *path;
};

static void see_mapping(struct probes *p, pid_t pid, uint64_t time, const struct mapping *m)
{
	int fd = *m->path == '/' && m->inode ? open_mapping(pid, m->start, m->end, m->inode, m->path) : -1;
	struct process *process = find_process(p, (uint32_t)pid);
	struct file *f;

	if (fd < 0 || !process) {
		if (fd >= 0)
			close(fd);
		return;
	}
	if (!process->described)
		describe(p, process, time, m->path);
	f = add_file(p, fd, m->path);
	posixtrace_log_describe_module(p->log.writer, probelog_time(&p->log, time), (uint32_t)pid, m->start, m->end,
	                               m->offset, m->path, f->build_id, f->build_id_length);
	open_file(p, f);
}

/* Looks at all that a running process has mapped. time: when it was so. */
static void see_all(struct probes *p, pid_t pid, uint64_t time)
{
	char name[32], line[PATH_MAX + 128];
	FILE *maps;

	snprintf(name, sizeof name, "/proc/%d/maps", (int)pid);
	maps = fopen(name, "re");
	if (!maps)
		return;
	while (fgets(line, sizeof line, maps)) {
		struct mapping m;
		char rights[8];
		int at = 0;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %" SCNu64 " %n", &m.start, &m.end, rights,
		           &m.offset, &m.inode, &at) < 5 || !at || !strchr(rights, 'x'))
			continue;
		line[strcspn(line, "\n")] = '\0';
		m.path = line + at;
		see_mapping(p, pid, time, &m);
	}
	fclose(maps);
}

/* -- A command before it runs ---------------------------------------------------------------- */

static void see_file(const char *path, void *arg)
{
	struct probes *p = arg;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char *real = fd >= 0 ? realpath(path, NULL) : NULL;

	if (fd >= 0)
		open_file(p, add_file(p, fd, real ? real : path));
	free(real);
}

static void see_command(struct probes *p, const char *path)
{
	char *interpreter = loads_interpreter(path);

	see_file(interpreter ? interpreter : path, p);
	loads_each(interpreter ? interpreter : path, see_file, p);
	free(interpreter);
	/* Files that --usdt names: a shell may start them, or the program may load them later. */
	for (unsigned i = 0; i < p->wanted->count; i++) {
		char own[PATH_MAX];
		size_t length;

		pattern_names(p->wanted->pattern[i], &length);
		if (!length || length >= sizeof own)
			continue;
		memcpy(own, p->wanted->pattern[i], length);
		own[length] = '\0';
		see_file(own, p);
	}
}

/* -- Records --------------------------------------------------------------------------------- */

static const unsigned char *body_of(const struct waiting *w)
{
	return (const unsigned char *)(w->record + 1);
}

static size_t body_size(const struct waiting *w)
{
	return w->record->size - sizeof *w->record;
}

static uint64_t word_at(const unsigned char *p)
{
	uint64_t word;

	memcpy(&word, p, sizeof word);
	return word;
}

static uint32_t half_at(const unsigned char *p)
{
	uint32_t half;

	memcpy(&half, p, sizeof half);
	return half;
}

static void wait_in_order(struct probes *p, const struct waiting *w)
{
	if (p->waiting_count == p->waiting_room) {
		p->waiting_room = p->waiting_room ? 2 * p->waiting_room : 1024;
		p->waiting = realloc(p->waiting, p->waiting_room * sizeof *p->waiting);
		if (!p->waiting)
			fail("no memory");
	}
	p->waiting[p->waiting_count++] = *w;
}

/* Keeps a record until its turn. */
static void keep(struct probes *p, unsigned ring, const struct perf_event_header *h)
{
	const unsigned char *body = (const unsigned char *)(h + 1);
	size_t size = h->size - sizeof *h;
	uint64_t time = 0;
	struct waiting w = { .from = p->ring_time[ring], .number = p->number++ };

	/* A sample begins with identifier, address, thread, time. Other records end with thread, time, identifier. */
	if (h->type == PERF_RECORD_SAMPLE && size >= 32)
		time = word_at(body + 24);
	else if (h->type != PERF_RECORD_SAMPLE && size >= 24)
		time = word_at(body + size - 16);
	else
		return;
	w.time = time < p->ring_time[ring] ? p->ring_time[ring] : time;
	p->ring_time[ring] = w.time;
	w.record = malloc(h->size);
	if (!w.record)
		fail("no memory");
	memcpy(w.record, h, h->size);
	wait_in_order(p, &w);
}

static void name_thread(struct probes *p, uint32_t pid, uint32_t tid, const char *name)
{
	struct named *n = NULL;

	for (unsigned i = 0; i < p->named_count && !n; i++)
		if (p->named[i].tid == tid)
			n = &p->named[i];
	if (!n) {
		p->named = more(p->named, p->named_count, sizeof *p->named);
		n = &p->named[p->named_count++];
		n->tid = tid;
	}
	snprintf(n->name, sizeof n->name, "%s", name);
	posixtrace_log_name_thread(p->log.writer, pid, tid, n->name);
}

/* Reads the name of a thread that had started before the recording. */
static void know_thread(struct probes *p, uint32_t pid, uint32_t tid)
{
	char path[64], name[16] = "";
	FILE *f;

	/* The last one named is the most likely. */
	for (unsigned i = p->named_count; i > 0; i--)
		if (p->named[i - 1].tid == tid)
			return;
	snprintf(path, sizeof path, "/proc/%u/task/%u/comm", pid, tid);
	f = fopen(path, "re");
	if (f && fgets(name, sizeof name, f))
		name[strcspn(name, "\n")] = '\0';
	if (f)
		fclose(f);
	name_thread(p, pid, tid, name);
}

/* Finds the registers and the stack in a sample. Returns false if they are cut off. */
static bool find_state(const struct location *l, const unsigned char *at, const unsigned char *end,
                       struct argument_sample *s)
{
	size_t count = (size_t)__builtin_popcountll(l->where.registers);

	*s = (struct argument_sample){ .stack_register = l->stack_register };
	if (count) {
		if (end - at < 8)
			return false;
		/* 0: a thread of the kernel has none. */
		if (word_at(at) != 0) {
			if ((size_t)(end - at) < 8 + 8 * count)
				return false;
			s->mask = l->where.registers;
			s->registers = at + 8;
			at += 8 * count;
		}
		at += 8;
	}
	if (l->where.stack) {
		uint64_t size, copied;

		if (end - at < 8)
			return false;
		size = word_at(at);
		at += 8;
		if (size == 0)
			return true;
		if (size > (uint64_t)(end - at) || (uint64_t)(end - at) - size < 8)
			return false;
		copied = word_at(at + size);
		s->stack = at;
		s->stack_size = copied < size ? copied : size;
	}
	return true;
}

static void put_sample(struct probes *p, const struct waiting *w)
{
	const unsigned char *body = body_of(w), *end = body + body_size(w);
	const struct opened *o = find_opened(p, word_at(body));
	uint64_t address = word_at(body + 8);
	uint32_t pid = half_at(body + 16), tid = half_at(body + 20);
	unsigned char data[8 * ARGUMENTS_MAX];
	struct argument_sample state;
	const struct location *l;
	size_t size = 0;

	if (!o || !o->location)
		return;
	if (!find_process(p, pid)) {
		p->foreign++;
		return;
	}
	l = o->location;
	if (l->probe->type == UINT32_MAX)
		return;
	know_thread(p, pid, tid);
	if (!find_state(l, body + 32, end, &state))
		state = (struct argument_sample){ .stack_register = l->stack_register };
	for (unsigned i = 0; i < l->probe->count; i++) {
		uint64_t value = 0;

		if (!l->probe->size[i])
			continue;
		/* Data may end before the last field. */
		if (i >= l->count || !argument_value(&l->argument[i], &state, &value)) {
			l->probe->cut++;
			break;
		}
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
		value <<= 64 - 8 * l->probe->size[i];
#endif
		memcpy(data + size, &value, l->probe->size[i]);
		size += l->probe->size[i];
	}
	l->probe->events++;
	probelog_put(&p->log, w->time, pid, tid, address, l->probe->type, data, size);
}

/* Handles a record in the order of times. */
static void put_record(struct probes *p, const struct waiting *w)
{
	const unsigned char *body;
	size_t size;

	if (!w->record) {
		probelog_lose(&p->log, w->from, w->time, w->lost);
		return;
	}
	body = body_of(w);
	size = body_size(w);
	switch (w->record->type) {
	case PERF_RECORD_SAMPLE:
		put_sample(p, w);
		return;
	case PERF_RECORD_LOST:
		/* look_for_losses() has reported it: this record only comes with the next sample of its ring. */
		if (!p->how.no_lost)
			return;
		p->lost += word_at(body + 8);
		probelog_lose(&p->log, w->from, w->time, word_at(body + 8));
		return;
	case PERF_RECORD_COMM:
		if (size > 24)
			name_thread(p, half_at(body), half_at(body + 4), (const char *)body + 8);
		return;
	}
}

/* Handles what tells of files and processes: probes cannot wait for their turn. */
static void follow(struct probes *p, const struct waiting *w)
{
	const struct perf_event_header *h = w->record;
	const unsigned char *body;
	size_t size;

	if (!h)
		return;
	body = body_of(w);
	size = body_size(w);
	if (h->type == PERF_RECORD_FORK && size >= 24) {
		if (half_at(body) == half_at(body + 4) || !p->wanted->children || !find_process(p, half_at(body + 4)))
			return;
		add_process(p, (pid_t)half_at(body));
		see_all(p, (pid_t)half_at(body), w->time);
	} else if (h->type == PERF_RECORD_COMM && h->misc & PERF_RECORD_MISC_COMM_EXEC && size > 24) {
		struct process *process = find_process(p, half_at(body));

		/* It executes another file from now on. */
		if (process)
			process->described = false;
	} else if (h->type == PERF_RECORD_MMAP2 && size > 64 + 24) {
		/* pid, tid, address, length, offset, device or build-id, inode, generation, rights, flags, path */
		struct mapping m = { .start = word_at(body + 8), .offset = word_at(body + 24),
		                     .inode = word_at(body + 40), .path = (const char *)body + 64 };

		m.end = m.start + word_at(body + 16);
		see_mapping(p, (pid_t)half_at(body), w->time, &m);
	}
}

static int by_time(const void *a, const void *b)
{
	const struct waiting *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

/* Puts the records up to a time; they are sorted. */
static void put_until(struct probes *p, uint64_t time)
{
	size_t n = 0;

	for (; n < p->waiting_count && p->waiting[n].time < time; n++) {
		put_record(p, &p->waiting[n]);
		free(p->waiting[n].record);
	}
	p->waiting_count -= n;
	if (p->waiting_count)
		memmove(p->waiting, p->waiting + n, p->waiting_count * sizeof *p->waiting);
}

/* Reports the samples that a ring had no room for since it was looked at. from: the time of the last one before. */
static void look_for_losses(struct probes *p, unsigned ring, uint64_t from)
{
	struct waiting w = { .from = from, .time = now(), .number = p->number++ };
	uint64_t lost = 0;

	for (unsigned i = 0; i < p->opened_count; i++) {
		uint64_t own = 0;

		if (p->opened[i].ring == ring && p->opened[i].location)
			uprobe_count(&p->how, p->opened[i].fd, &own);
		lost += own;
	}
	w.lost = lost - p->ring_lost[ring];
	if (lost <= p->ring_lost[ring])
		return;
	p->ring_lost[ring] = lost;
	wait_in_order(p, &w);
}

/*
 * Takes all that is in the rings. A record is in its ring within microseconds of its time: what is older than the
 * beginning of the pass before, or than some milliseconds, has all come.
 */
static void drain(struct probes *p)
{
	uint64_t begin = now();
	const struct perf_event_header *h;

	for (unsigned i = 0; i < p->rings; i++) {
		uint64_t there = buffer_there(&p->ring[i]), end = p->ring[i].tail + there, from = p->ring_time[i];

		while ((h = buffer_next(&p->ring[i])) != NULL) {
			keep(p, i, h);
			/* What was lost came after what had filled the ring. */
			if (p->ring[i].tail <= end)
				from = p->ring_time[i];
			buffer_release(&p->ring[i]);
		}
		if (there > RING_BYTES / 2)
			look_for_losses(p, i, from);
	}
	/* In the order of their times: a process begins in one ring, and maps a file in another. */
	qsort(p->waiting, p->waiting_count, sizeof *p->waiting, by_time);
	for (size_t i = 0; i < p->waiting_count; i++) {
		if (!p->waiting[i].followed)
			follow(p, &p->waiting[i]);
		p->waiting[i].followed = true;
	}
	put_until(p, p->watermark);
	if (begin - p->watermark > 10 * UINT64_C(1000000))
		p->watermark = begin;
}

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

		drain(p);
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

/* -- Beginning and end ----------------------------------------------------------------------- */

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
	p->ring_time[p->rings] = now();
	p->ring_lost[p->rings] = 0;
	add_opened(p, fd, p->rings++, NULL);
	return 0;
}

/* Makes both rings of a processor. Returns 0 or an error number. */
static int open_processor(struct probes *p, int processor)
{
	int error = add_ring(p, uprobe_open_owner(&p->how, processor), RING_BYTES);

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

static int open_rings(struct probes *p)
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

/* Follows threads that are there already, besides the first. */
static void track(struct probes *p, pid_t task, void *arg)
{
	(void)arg;
	for (unsigned i = 0; task != p->pid && i < p->processors; i++) {
		int fd = uprobe_open_tracker(&p->how, task, p->processor[i]);

		if (fd >= 0 && uprobe_redirect(fd, p->ring[2 * i + 1].fd) == 0)
			add_opened(p, fd, 2 * i + 1, NULL);
		else if (fd >= 0)
			close(fd);
	}
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
	raise_limit();
	error = p->how.type < 0 ? -p->how.type : p->stop < 0 ? errno : open_rings(p);
	if (error) {
		say_impossible(error);
		probes_free(p, false);
		return NULL;
	}
	if (!probelog_open(&p->log, path, fd, "usdt", (uint32_t)pid)) {
		probes_free(p, false);
		return NULL;
	}
	p->watermark = now();
	add_process(p, pid);
	if (!program)
		each_thread(p, pid, track, NULL);
	for (unsigned i = 0; i < p->opened_count; i++)
		uprobe_enable(p->opened[i].fd, true);
	qsort(p->opened, p->opened_count, sizeof *p->opened, by_id);
	if (program)
		see_command(p, program);
	else
		see_all(p, pid, now());
	for (unsigned i = 0; i < p->probe_count; i++)
		say_left_off(p->probe[i]);
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

/*
 * Reports samples that were lost after the last record of a ring, on a kernel that does not count them: nothing else
 * tells of them.
 */
static void count_lost(struct probes *p)
{
	uint64_t hits = 0, samples = p->foreign + p->lost, none;

	for (unsigned i = 0; i < p->opened_count; i++)
		hits += p->opened[i].location ? uprobe_count(&p->how, p->opened[i].fd, &none) : 0;
	for (unsigned i = 0; i < p->probe_count; i++)
		samples += p->probe[i]->events;
	if (hits > samples)
		probelog_lose(&p->log, p->log.last - (uint64_t)p->log.offset, now(), hits - samples);
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
	drain(p);
	for (unsigned i = 0; i < p->rings && !p->how.no_lost; i++)
		look_for_losses(p, i, p->ring_time[i]);
	qsort(p->waiting, p->waiting_count, sizeof *p->waiting, by_time);
	put_until(p, UINT64_MAX);
	if (p->how.no_lost)
		count_lost(p);
	probelog_finish(&p->log);
	if (p->failed)
		progress_say("--usdt: %u probe%s could not be set: %s", p->failed, p->failed == 1 ? "" : "s",
		             strerror(p->failure));
	if (!places(p))
		progress_say("--usdt: no probe of the program or its libraries matches; 'readelf -n FILE' shows the "
		             "probes of a file");
	for (unsigned i = 0; i < p->probe_count; i++)
		say_left_off(p->probe[i]);
	for (unsigned i = 0; i < p->probe_count; i++)
		if (p->probe[i]->cut)
			progress_say("%s: %" PRIu64 " of %" PRIu64 " events lack their last arguments, which were too "
			             "deep in the stack", p->probe[i]->name, p->probe[i]->cut, p->probe[i]->events);
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
