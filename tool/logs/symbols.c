/*
 * symbols.c - finds the function and source line of a trace point's address
 *
 * SPDX-License-Identifier: MIT
 */
#include "logs/symbols.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/message.h"

/* A mapping of a process. */
struct mapping {
	uint32_t pid;
	size_t number; /* in the log */
	uint64_t time; /* when it was read from /proc */
	uint64_t start, end, offset;
	struct image *image;
};

struct entry {
	uint32_t pid;
	bool used;
	const struct mapping *mapping; /* null: the address has only one mapping, at all times */
	uint64_t address;
	const struct symbol *symbol;
};

struct symbols {
	struct mapping *mapping;
	size_t mappings;
	/* Results, by a hash of process and address. At most half of the entries are used. */
	struct entry *entry;
	size_t entries, used;
};

static void *memory(void *p)
{
	if (!p)
		fail("no memory");
	return p;
}

/* -- Mappings, from the log ------------------------------------------------------------------- */

/* Returns a string of the log, and a pointer to the bytes after it; null if the string is cut off. */
static const unsigned char *get_string(const unsigned char *p, const unsigned char *end, const unsigned char **text,
                                       size_t *length)
{
	if (!p || end - p < 2 || end - p - 2 < get16(p))
		return NULL;
	*length = get16(p);
	*text = p + 2;
	return p + 2 + *length;
}

static void add_process(const unsigned char *body, size_t size, void *arg)
{
	const unsigned char *p = body + 16, *end = body + size, *path, *id;
	struct symbols *s = arg;
	size_t length, id_length;

	if (size < 16)
		return;
	p = get_string(p, end, &path, &length);
	for (uint32_t count = get32(body + 4); p && count > 0; count--) {
		const unsigned char *at = p;

		p = end - p < 24 ? NULL : get_string(p + 24, end, &path, &length);
		p = get_string(p, end, &id, &id_length);
		if (!p)
			return;
		s->mapping = memory(realloc(s->mapping, (s->mappings + 1) * sizeof *s->mapping));
		s->mapping[s->mappings] = (struct mapping){
			.pid = get32(body),
			.number = s->mappings,
			.time = get64(body + 8),
			.start = get64(at),
			.end = get64(at + 8),
			.offset = get64(at + 16),
			.image = image_of(get64(body + 8), (const char *)path, length, id, id_length),
		};
		s->mappings++;
	}
}

static int by_process(const void *a, const void *b)
{
	const struct mapping *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

struct symbols *symbols_of(struct logfile *f)
{
	struct symbols *s = memory(calloc(1, sizeof *s));

	s->entries = 1024;
	s->entry = memory(calloc(s->entries, sizeof *s->entry));
	logfile_processes(f, add_process, s);
	if (s->mappings)
		qsort(s->mapping, s->mappings, sizeof *s->mapping, by_process);
	return s;
}

/* Returns the index of the first mapping of a process, or where it would be: a log may have thousands of processes. */
static size_t first_of(const struct symbols *s, uint32_t pid)
{
	size_t low = 0, high = s->mappings;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->mapping[middle].pid < pid)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool has(const struct mapping *m, uint64_t address)
{
	return m->end > m->start && address - m->start < m->end - m->start;
}

static bool same_place(const struct mapping *a, const struct mapping *b)
{
	return a->image == b->image && a->start - a->offset == b->start - b->offset;
}

/* Returns the mapping of any process at an address, or null if there is none, or if they differ. */
static const struct mapping *find_other(const struct symbols *s, uint64_t address)
{
	const struct mapping *found = NULL;

	for (size_t i = 0; i < s->mappings; i++) {
		const struct mapping *m = &s->mapping[i];

		if (!has(m, address))
			continue;
		if (found && !same_place(found, m))
			return NULL;
		found = m;
	}
	return found;
}

/*
 * Returns the mapping at an address, or null. A process that has executed several files has several mappings: the last
 * one before the event counts, or the first one, because a process is described after its first events. A child that
 * ended before its description has the mapping of any other process, unless these differ. *alone: the result is the
 * same for any time.
 */
static const struct mapping *find_mapping(const struct symbols *s, uint32_t pid, uint64_t address, uint64_t time,
                                          bool *alone)
{
	const struct mapping *own = NULL;

	*alone = true;
	for (size_t i = first_of(s, pid); i < s->mappings && s->mapping[i].pid == pid; i++) {
		const struct mapping *m = &s->mapping[i];

		if (!has(m, address))
			continue;
		if (own && !same_place(own, m))
			*alone = false;
		if (!own || m->time <= time)
			own = m;
	}
	return own ? own : find_other(s, address);
}

/* -- Symbols ------------------------------------------------------------------------------------- */

static void describe(struct symbol *s, uint64_t address)
{
	const char *base = s->source ? strrchr(s->source, '/') : NULL;
	char *text;
	int n;

	base = base ? base + 1 : s->source;
	if (s->source)
		n = asprintf(&text, "%s (%s:%u)", s->function ? s->function : "?", base, s->line);
	else if (s->function)
		n = asprintf(&text, "%s+0x%llx (%s)", s->function, (unsigned long long)s->into, s->image);
	else if (s->image)
		n = asprintf(&text, "%s+0x%llx", s->image, (unsigned long long)s->offset);
	else
		n = asprintf(&text, "0x%llx", (unsigned long long)address);
	s->text = memory(n < 0 ? NULL : text);
}

static const struct symbol *look_up(const struct mapping *m, uint64_t address)
{
	struct symbol *s = memory(calloc(1, sizeof *s));

	if (m) {
		s->image = image_path(m->image);
		s->offset = address - m->start + m->offset;
		if (*s->image)
			image_look_up(m->image, s);
		else
			s->image = NULL;
	}
	describe(s, address);
	return s;
}

static struct entry *slot(const struct symbols *s, uint32_t pid, const struct mapping *m, uint64_t address)
{
	uint64_t hash = (address ^ (uint64_t)pid << 40) * UINT64_C(0x9e3779b97f4a7c15);
	size_t i = (size_t)(hash >> 32) & (s->entries - 1);

	while (s->entry[i].used &&
	       (s->entry[i].pid != pid || s->entry[i].address != address || s->entry[i].mapping != m))
		i = (i + 1) & (s->entries - 1);
	return &s->entry[i];
}

static void grow(struct symbols *s)
{
	struct entry *old = s->entry;
	size_t n = s->entries;

	s->entries *= 2;
	s->entry = memory(calloc(s->entries, sizeof *s->entry));
	for (size_t i = 0; i < n; i++)
		if (old[i].used)
			*slot(s, old[i].pid, old[i].mapping, old[i].address) = old[i];
	free(old);
}

const struct symbol *symbols_find(struct symbols *s, uint32_t pid, uint64_t address, uint64_t time)
{
	struct entry *e = slot(s, pid, NULL, address);
	const struct mapping *m;
	bool alone;

	if (e->used)
		return e->symbol;
	m = find_mapping(s, pid, address, time, &alone);
	if (!alone)
		e = slot(s, pid, m, address);
	if (e->used)
		return e->symbol;
	*e = (struct entry){ .pid = pid, .used = true, .mapping = alone ? NULL : m, .address = address,
	                     .symbol = look_up(m, address) };
	if (++s->used <= s->entries / 2)
		return e->symbol;
	grow(s);
	return slot(s, pid, alone ? NULL : m, address)->symbol;
}

const struct symbol *symbols_function(struct symbols *s, uint32_t pid, uint64_t address, uint64_t time)
{
	return symbols_find(s, pid, address + 1, time);
}

const struct symbol *symbols_event(struct symbols *s, const struct log_event *e, const char *type)
{
	if (type && strncmp(type, "function.", 9) == 0)
		return symbols_function(s, e->pid, e->address, e->time);
	return symbols_find(s, e->pid, e->address, e->time);
}
