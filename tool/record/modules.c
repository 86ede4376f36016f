/*
 * modules.c - which files the recorded processes execute, so that the addresses in their stacks can be resolved
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/modules.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/message.h"
#include "common/unaligned.h"
#include "logs/logfile.h"
#include "process/mapped_file.h"
#include "usdt/notes.h"

#define BUCKETS 1024
/*
 * Limits for one process, and for all together. A program may map any number of files with long names, and its children
 * have all of them.
 */
#define BYTES_MOST (UINT64_C(512) << 10)
#define ALL_MOST   (UINT64_C(256) << 20)
/* Of a PROCESS frame, before its mappings, and of a mapping without its texts. */
#define FRAME_FIXED 16
#define MAPPING_FIXED 28

struct mapping {
	uint64_t start, end, offset;
	uint64_t inode; /* 0: not known */
	char *path;     /* "" for memory of no file */
	unsigned char id[NOTES_BUILD_ID_MAX];
	uint16_t id_length;
	struct image *image; /* null: not looked for yet */
	bool replaced;       /* a later one is at some of its addresses */
	bool touched;        /* a stack has an address in it */
	bool described;
};

struct process {
	struct process *next; /* in its bucket */
	uint32_t pid;
	struct mapping *mapping;
	unsigned count, room;
	uint64_t bytes;     /* for the mappings */
	bool stale;         /* the mappings have to be read from /proc */
	bool described;     /* the log knows what it executes */
};

struct modules {
	struct beside *beside;
	struct process *bucket[BUCKETS];
	uint64_t bytes; /* for the mappings of all processes */
	bool left_out;  /* there were mappings beyond the limits */
	unsigned char *body;
};

static void *memory(void *p)
{
	if (!p)
		fail("no memory");
	return p;
}

/* -- Processes ------------------------------------------------------------------------------------ */

struct modules *modules_new(struct beside *b)
{
	struct modules *m = memory(calloc(1, sizeof *m));

	m->beside = b;
	m->body = memory(malloc(PROCESS_BODY_MAX));
	return m;
}

static void forget_mappings(struct modules *m, struct process *p)
{
	for (unsigned i = 0; i < p->count; i++)
		free(p->mapping[i].path);
	p->count = 0;
	p->described = false;
	m->bytes -= p->bytes;
	p->bytes = 0;
}

static void free_process(struct modules *m, struct process *p)
{
	forget_mappings(m, p);
	free(p->mapping);
	free(p);
}

void modules_free(struct modules *m)
{
	if (!m)
		return;
	for (unsigned i = 0; i < BUCKETS; i++)
		while (m->bucket[i]) {
			struct process *p = m->bucket[i];

			m->bucket[i] = p->next;
			free_process(m, p);
		}
	free(m->body);
	free(m);
}

static struct process **place(struct modules *m, uint32_t pid)
{
	struct process **p = &m->bucket[pid % BUCKETS];

	while (*p && (*p)->pid != pid)
		p = &(*p)->next;
	return p;
}

static struct process *process_of(struct modules *m, uint32_t pid)
{
	struct process **p = place(m, pid);

	if (!*p) {
		*p = memory(calloc(1, sizeof **p));
		(*p)->pid = pid;
	}
	return *p;
}

void modules_running(struct modules *m, uint32_t pid)
{
	process_of(m, pid)->stale = true;
}

void modules_exec(struct modules *m, uint32_t pid)
{
	struct process *p = process_of(m, pid);

	forget_mappings(m, p);
	p->stale = false;
}

void modules_exit(struct modules *m, uint32_t pid)
{
	struct process **at = place(m, pid), *p = *at;

	if (!p)
		return;
	*at = p->next;
	free_process(m, p);
}

void modules_gap(struct modules *m)
{
	for (unsigned i = 0; i < BUCKETS; i++)
		for (struct process *p = m->bucket[i]; p; p = p->next)
			p->stale = true;
}

void modules_keep(struct modules *m, bool (*lives)(void *arg, uint32_t pid), void *arg)
{
	for (unsigned i = 0; i < BUCKETS; i++)
		for (struct process **at = &m->bucket[i]; *at;) {
			struct process *p = *at;

			if (lives(arg, p->pid)) {
				at = &p->next;
				continue;
			}
			*at = p->next;
			free_process(m, p);
		}
}

/* -- Mappings --------------------------------------------------------------------------------------- */

static bool same(const struct mapping *a, const struct mapping *b)
{
	return a->start == b->start && a->end == b->end && a->offset == b->offset && strcmp(a->path, b->path) == 0 &&
	       a->id_length == b->id_length && memcmp(a->id, b->id, a->id_length) == 0;
}

/* Returns the latest mapping at some of these addresses, or null. */
static struct mapping *latest(struct process *p, const struct mapping *new)
{
	for (unsigned i = p->count; i > 0; i--)
		if (p->mapping[i - 1].start < new->end && new->start < p->mapping[i - 1].end)
			return &p->mapping[i - 1];
	return NULL;
}

/* Appends a mapping, whose path is copied. */
static void append(struct modules *m, struct process *p, const struct mapping *new)
{
	uint64_t bytes = sizeof *new + strlen(new->path) + 1;

	if (p->bytes + bytes > BYTES_MOST || m->bytes + bytes > ALL_MOST) {
		m->left_out = true;
		return;
	}
	p->bytes += bytes;
	m->bytes += bytes;
	if (p->count == p->room) {
		p->room = p->room ? 2 * p->room : 16;
		p->mapping = memory(realloc(p->mapping, p->room * sizeof *p->mapping));
	}
	p->mapping[p->count] = *new;
	p->mapping[p->count].touched = p->mapping[p->count].described = false;
	p->mapping[p->count++].path = memory(strdup(new->path));
}

/* Adds a mapping if it is new. Later mappings replace earlier ones at the same addresses. */
static void add(struct modules *m, struct process *p, const struct mapping *new)
{
	struct mapping *old = latest(p, new);

	if (!old || !same(old, new)) {
		for (unsigned i = 0; old && i < p->count; i++)
			p->mapping[i].replaced |= p->mapping[i].start < new->end && new->start < p->mapping[i].end;
		append(m, p, new);
	} else if (new->inode) {
		old->inode = new->inode;
	}
}

void modules_fork(struct modules *m, uint32_t pid, uint32_t parent)
{
	struct process *p = process_of(m, pid), *from = *place(m, parent);

	forget_mappings(m, p);
	p->stale = !from || from->stale;
	for (unsigned i = 0; from && i < from->count; i++)
		append(m, p, &from->mapping[i]);
}

/* Finds the build-id of a file that a process has mapped. */
static void find_id(struct mapping *m, uint32_t pid, uint64_t inode)
{
	int fd = mapped_file_open(pid, m->start, m->end, inode, m->path);

	if (fd < 0)
		return;
	m->id_length = (uint16_t)notes_build_id(fd, m->id);
	close(fd);
}

void modules_map(struct modules *m, const struct ring_record *r)
{
	/* pid, tid, address, length, offset, device or build-id, inode, generation, rights, flags, path */
	struct mapping new = { 0 };
	uint32_t pid;

	if (r->size <= 64 || !memchr(r->data + 64, 0, r->size - 64))
		return;
	memcpy(&pid, r->data, 4);
	new.start = unaligned_u64(r->data + 8);
	new.end = new.start + unaligned_u64(r->data + 16);
	new.offset = unaligned_u64(r->data + 24);
	new.path = (char *)(uintptr_t)(r->data + 64);
	if (new.end <= new.start)
		return;
	if (strncmp(new.path, "//anon", 6) == 0)
		new.path = "";
#ifdef PERF_RECORD_MISC_MMAP_BUILD_ID
	if (r->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
		new.id_length = r->data[32] <= 20 ? r->data[32] : 0;
		memcpy(new.id, r->data + 36, new.id_length);
	} else
#endif
		find_id(&new, pid, unaligned_u64(r->data + 40));
	add(m, process_of(m, pid), &new);
}

/* Reads what the process has mapped now; keeps what is known if it has ended. */
static void read_maps(struct modules *all, struct process *p)
{
	char name[32], line[PATH_MAX + 128];
	FILE *maps;

	p->stale = false;
	snprintf(name, sizeof name, "/proc/%" PRIu32 "/maps", p->pid);
	maps = fopen(name, "re");
	if (!maps)
		return;
	while (fgets(line, sizeof line, maps)) {
		struct mapping m = { 0 };
		const struct mapping *old;
		char rights[8];
		int at = 0;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %" SCNu64 " %n", &m.start, &m.end, rights,
		           &m.offset, &m.inode, &at) < 5 || !at || !strchr(rights, 'x') || m.end <= m.start)
			continue;
		line[strcspn(line, "\n")] = '\0';
		m.path = line + at;
		old = latest(p, &m);
		/* After a loss, most mappings are those of before. */
		if (old && m.inode && old->inode == m.inode && old->start == m.start && old->end == m.end &&
		    old->offset == m.offset && strcmp(old->path, m.path) == 0)
			continue;
		find_id(&m, p->pid, m.inode);
		add(all, p, &m);
	}
	fclose(maps);
}

/* -- Descriptions ------------------------------------------------------------------------------------ */

static unsigned char *put_bytes(unsigned char *at, const void *bytes, size_t length)
{
	put16(at, (uint16_t)length);
	memcpy(at + 2, bytes, length);
	return at + 2 + length;
}

/* Writes the mappings that stacks have touched, from one on, as many as there is room for. Returns where to go on. */
static unsigned describe(struct modules *m, struct process *p, unsigned from, uint64_t time)
{
	const char *executable = p->count ? p->mapping[0].path : "";
	unsigned char *at = m->body + FRAME_FIXED;
	unsigned i = from, written = 0;

	put32(m->body, p->pid);
	put64(m->body + 8, beside_time(m->beside, time));
	at = put_bytes(at, executable, strnlen(executable, PATH_MAX));
	for (; i < p->count; i++) {
		struct mapping *one = &p->mapping[i];
		size_t length = strnlen(one->path, PATH_MAX);

		if (!one->touched || one->described)
			continue;
		if (at + MAPPING_FIXED + length + one->id_length > m->body + PROCESS_BODY_MAX)
			break;
		put64(at, one->start);
		put64(at + 8, one->end);
		put64(at + 16, one->offset);
		at = put_bytes(at + 24, one->path, length);
		at = put_bytes(at, one->id, one->id_length);
		one->described = true;
		written++;
	}
	put32(m->body + 4, written);
	beside_process(m->beside, m->body, (size_t)(at - m->body));
	return i;
}

/* Returns the latest mapping at an address, or null. */
static struct mapping *mapping_at(struct process *p, uint64_t address)
{
	for (unsigned i = p->count; i > 0; i--)
		if (address >= p->mapping[i - 1].start && address < p->mapping[i - 1].end)
			return &p->mapping[i - 1];
	return NULL;
}

struct image *modules_image(struct modules *m, uint32_t pid, uint64_t *address)
{
	struct process *p = process_of(m, pid);

	struct mapping *one = mapping_at(p, *address);

	if (!one || one->path[0] != '/')
		return NULL;
	if (!one->image)
		one->image = image_of(UINT64_MAX, one->path, strlen(one->path), one->id, one->id_length);
	*address = *address - one->start + one->offset;
	return one->image;
}

/* Returns the process, whose mappings are known as far as they can be. */
static struct process *looked_at(struct modules *m, uint32_t pid)
{
	struct process *p = process_of(m, pid);

	if (p->stale)
		read_maps(m, p);
	return p;
}

void modules_look(struct modules *m, uint32_t pid)
{
	looked_at(m, pid);
}

void modules_used(struct modules *m, uint32_t pid, uint64_t time, const uint64_t *address, unsigned count)
{
	struct process *p = looked_at(m, pid);
	struct mapping *last[2] = { NULL, NULL };
	bool wanted = !p->described;
	unsigned at = 0;

	for (unsigned i = 0; i < count; i++) {
		struct mapping *one = NULL;

		/* Functions of two files often call each other. */
		for (unsigned k = 0; k < 2 && !one; k++)
			if (last[k] && !last[k]->replaced && address[i] >= last[k]->start && address[i] < last[k]->end)
				one = last[k];
		if (!one) {
			one = mapping_at(p, address[i]);
			last[1] = last[0];
			last[0] = one;
		}
		if (one && !one->described)
			wanted = one->touched = true;
	}
	if (!wanted)
		return;
	p->described = true;
	do
		at = describe(m, p, at, time);
	while (at < p->count);
}

bool modules_left_out(const struct modules *m)
{
	return m->left_out;
}
