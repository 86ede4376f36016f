/*
 * store.c - keeps texts under keys, and does what each line of its input says: set KEY TEXT, get KEY, drop KEY
 *
 * With typed trace points (<posixtrace/typed.h>) like those that examples/patches/ puts into redis: each command as a
 * whole span with its duration, a counter, and a flow to the thread that frees what was dropped.
 *
 * SPDX-License-Identifier: MIT
 */
#include <posixtrace/typed.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

POSIXTRACE_EVENT_AS(store, command, "took=time", (u64, time, "ns"), (str, command, 8), (str, key, 60),
                    (e8, found, "miss,hit"))
POSIXTRACE_EVENT_AS(store, size, "counter", (u32, entries), (u64, memory, "B"))
POSIXTRACE_EVENT_AS(store, dropped, "send=job", (u32, job))
POSIXTRACE_EVENT_AS(store, free_begin, "begin=store.free,receive=job", (u32, job), (u64, size, "B"))
POSIXTRACE_EVENT_AS(store, free_end, "end=store.free", (u32, job))
POSIXTRACE_EVENT_AS(store, unknown, "level=warning", (str, line))

struct entry {
	struct entry *next;
	unsigned job; /* what is to be freed has a number */
	char *key, *text;
};

static struct entry *entries, *jobs;
static bool ended;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;

/* Frees the entries that were dropped, the latest first. */
static void *frees(void *unused)
{
	struct entry *entry;

	pthread_mutex_lock(&mutex);
	while (jobs || !ended) {
		if (!jobs) {
			pthread_cond_wait(&more, &mutex);
			continue;
		}
		entry = jobs;
		jobs = entry->next;
		pthread_mutex_unlock(&mutex);
		POSIXTRACE(store, free_begin, entry->job, strlen(entry->text));
		POSIXTRACE(store, free_end, entry->job);
		free(entry->key);
		free(entry->text);
		free(entry);
		pthread_mutex_lock(&mutex);
	}
	pthread_mutex_unlock(&mutex);
	return unused;
}

/* Gives an entry to the other thread; null: tells it to end. */
static void drop(struct entry *entry)
{
	static unsigned job;

	pthread_mutex_lock(&mutex);
	if (entry) {
		entry->job = ++job;
		entry->next = jobs;
		jobs = entry;
		POSIXTRACE(store, dropped, entry->job);
	}
	ended = !entry;
	pthread_cond_signal(&more);
	pthread_mutex_unlock(&mutex);
}

/* Takes the entry with this key out of the list. Returns null if there is none. */
static struct entry *take(const char *key)
{
	struct entry **at = &entries, *found;

	while (*at && strcmp((*at)->key, key) != 0)
		at = &(*at)->next;
	found = *at;
	if (found)
		*at = found->next;
	return found;
}

/* Puts an entry into the list. */
static void put(struct entry *entry)
{
	entry->next = entries;
	entries = entry;
}

/* Does what a line says. Returns whether there was such a key, or -1 if the line says nothing that is known. */
static int run(const char *command, const char *key, const char *text)
{
	struct entry *old = take(key), *entry;

	if (strcmp(command, "get") == 0 && old) {
		puts(old->text);
		put(old);
	} else if (strcmp(command, "drop") == 0 && old) {
		drop(old);
	} else if (strcmp(command, "set") == 0) {
		if (old)
			drop(old);
		entry = calloc(1, sizeof *entry);
		if (!entry || !(entry->key = strdup(key)) || !(entry->text = strdup(text)))
			abort();
		put(entry);
	} else if (old) {
		put(old);
	}
	return old != NULL;
}

static uint64_t nanoseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Returns the bytes of all texts, and counts the entries. */
static uint64_t memory(uint32_t *count)
{
	uint64_t bytes = 0;

	for (struct entry *entry = entries; entry; entry = entry->next, ++*count)
		bytes += strlen(entry->text);
	return bytes;
}

int main(void)
{
	char line[1000], command[9], key[61];
	pthread_t other;

	if (pthread_create(&other, NULL, frees, NULL) != 0)
		return 1;
	while (fgets(line, sizeof line, stdin)) {
		int text = 0, found;
		uint64_t begun;

		line[strcspn(line, "\n")] = 0;
		if (sscanf(line, "%8s %60s %n", command, key, &text) < 2 || text == 0) {
			POSIXTRACE(store, unknown, line);
			continue;
		}
		begun = POSIXTRACE_ENABLED() ? nanoseconds() : 0;
		found = run(command, key, line + text);
		if (begun)
			POSIXTRACE(store, command, nanoseconds() - begun, command, key, found);
		if (POSIXTRACE_ENABLED()) {
			uint32_t count = 0;
			uint64_t bytes = memory(&count);

			POSIXTRACE(store, size, count, bytes);
		}
	}
	drop(NULL);
	pthread_join(other, NULL);
	while (entries) {
		struct entry *entry = take(entries->key);

		free(entry->key);
		free(entry->text);
		free(entry);
	}
	return 0;
}
