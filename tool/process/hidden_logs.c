/*
 * hidden_logs.c - finds the logs of streams for other users' processes
 *
 * SPDX-License-Identifier: MIT
 */
#include "process/hidden_logs.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/message.h"
#include "host/ident.h"

/* A log that a recorder has open: FILE.uidUSER.NUMBER. */
struct named_log {
	unsigned number;
	char *path;
};

static int by_number(const void *a, const void *b)
{
	const struct named_log *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

/* Returns the number at the end of the name of a user's log; 0: the path is another one. */
static unsigned number_of(const char *path, uint32_t uid)
{
	const char *name = strrchr(path, '/'), *at = NULL;
	char suffix[24], end;
	unsigned number;

	snprintf(suffix, sizeof suffix, ".uid%" PRIu32 ".", uid);
	for (const char *next = name; next && (next = strstr(next, suffix)); next++)
		at = next;
	return at && sscanf(at + strlen(suffix), "%u%c", &number, &end) == 1 ? number : 0;
}

/* Lists the logs of a user that a process has open, in the order of their numbers. */
static size_t list_logs(uint32_t process, uint32_t uid, struct named_log **logs)
{
	struct proc_path folder = proc_path(process, "/fd");
	DIR *dir = opendir(folder.text);
	struct dirent *entry;
	size_t count = 0;

	*logs = NULL;
	while (dir && (entry = readdir(dir))) {
		char link[sizeof folder.text + sizeof entry->d_name + 1], path[LOG_PATH_BYTES];
		ssize_t length;
		unsigned number;

		snprintf(link, sizeof link, "%s/%s", folder.text, entry->d_name);
		length = readlink(link, path, sizeof path - 1);
		path[length > 0 ? length : 0] = '\0';
		number = number_of(path, uid);
		if (!number)
			continue;
		*logs = realloc(*logs, (count + 1) * sizeof **logs);
		if (!*logs)
			fail("no memory");
		(*logs)[count] = (struct named_log){ number, strdup(path) };
		if (!(*logs)[count++].path)
			fail("no memory");
	}
	if (dir)
		closedir(dir);
	if (count)
		qsort(*logs, count, sizeof **logs, by_number);
	return count;
}

/* Returns how many streams of the same creator with hidden logs have smaller serial numbers, and how many there are. */
static size_t place_of(const struct streams *s, const struct seen_stream *of, size_t *all)
{
	size_t before = 0;

	*all = 0;
	for (size_t i = 0; i < s->streams; i++) {
		const struct seen_stream *other = &s->stream[i];

		if (!other->log_hidden || other->creator.number != of->creator.number)
			continue;
		++*all;
		before += other->entry.serial < of->entry.serial;
	}
	return before;
}

void hidden_logs_find(struct streams *s)
{
	for (size_t i = 0; i < s->streams; i++) {
		struct seen_stream *stream = &s->stream[i];
		struct named_log *logs;
		size_t count, all, place;

		if (!stream->log_hidden || !stream->creator.number)
			continue;
		count = list_logs(stream->creator.number, s->shm_dir.owner, &logs);
		/* A recorder makes both in the same order. While it makes one of them, their numbers differ. */
		place = place_of(s, stream, &all);
		if (logs && all == count)
			snprintf(stream->log, sizeof stream->log, "%s", logs[place].path);
		while (logs && count > 0)
			free(logs[--count].path);
		free(logs);
	}
}
