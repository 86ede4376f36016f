/*
 * kallsyms.c - the functions of the running kernel, from /proc/kallsyms
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/kallsyms.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/message.h"

/* The last function has no next one. */
#define LAST_SIZE 4096

struct kallsyms {
	struct kallsyms_function *function;
	size_t count;
};

static void *memory(void *p)
{
	if (!p)
		fail("no memory");
	return p;
}

static int by_address(const void *a, const void *b)
{
	const struct kallsyms_function *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

/* Sets where functions end, and keeps the first of several names at one address. */
static void complete(struct kallsyms *k)
{
	size_t kept = 0;

	if (!k->count)
		return;
	qsort(k->function, k->count, sizeof *k->function, by_address);
	for (size_t i = 0; i < k->count; i++) {
		if (kept && k->function[kept - 1].address == k->function[i].address) {
			free((char *)(uintptr_t)k->function[i].name);
			continue;
		}
		k->function[kept++] = k->function[i];
	}
	k->count = kept;
	for (size_t i = 0; i + 1 < kept; i++)
		k->function[i].end = k->function[i + 1].address;
	k->function[kept - 1].end = k->function[kept - 1].address + LAST_SIZE;
}

struct kallsyms *kallsyms_read(void)
{
	struct kallsyms *k = memory(calloc(1, sizeof *k));
	FILE *f = fopen("/proc/kallsyms", "re");
	size_t room = 0;
	char line[512];

	while (f && fgets(line, sizeof line, f)) {
		uint64_t address;
		char kind, name[256];

		/* Lines of modules have the name of the module behind. */
		if (sscanf(line, "%" SCNx64 " %c %255s", &address, &kind, name) != 3 || !address ||
		    !strchr("tTwW", kind))
			continue;
		if (k->count == room) {
			room = room ? 2 * room : 1 << 16;
			k->function = memory(realloc(k->function, room * sizeof *k->function));
		}
		k->function[k->count++] = (struct kallsyms_function){ .address = address,
		                                                      .name = memory(strdup(name)) };
	}
	if (f)
		fclose(f);
	complete(k);
	return k;
}

struct kallsyms_function *kallsyms_find(const struct kallsyms *k, uint64_t address)
{
	size_t low = 0, high = k->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (k->function[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < k->function[low - 1].end ? &k->function[low - 1] : NULL;
}

void kallsyms_free(struct kallsyms *k)
{
	if (!k)
		return;
	for (size_t i = 0; i < k->count; i++)
		free((char *)(uintptr_t)k->function[i].name);
	free(k->function);
	free(k);
}
