/*
 * traceable.c - processes that have something to do with the library: they have mapped it, or are traced
 *
 * SPDX-License-Identifier: MIT
 */
#include "traceable.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/guise.h"
#include "shm/procpage.h"
#include "shm/registry.h"

static void look_for_library(const char *line, void *mapped)
{
	const char *slash = strrchr(line, '/');

	if (slash && strncmp(slash, "/libposixtrace.", 15) == 0)
		*(bool *)mapped = true;
}

static unsigned streams_of(const struct procpage *page)
{
	unsigned taken = 0;

	for (int slot = 0; slot < PAGE_SLOTS; slot++)
		taken += procpage_taken(load_relaxed(&page->word[slot / 64]), slot);
	return taken;
}

/* What its page says, if it has one. */
static bool read_page(const struct proc *proc, struct traceable *t)
{
	struct place place = place_of(proc);
	struct ident id = proc->ident;
	struct procpage *page;
	struct guise guise;
	bool found = false;
	int dir;

	if (proc_blind(proc->number))
		id.start = id.space = 0; /* as it takes them to be itself */
	guise_put_on(&guise, place.owner, place.group);
	dir = file_directory(&place, false);
	if (dir >= 0 && procpage_look(dir, &place, id, &page) == 0) {
		found = true;
		t->streams = streams_of(page);
		t->events = registry_look(dir, &place, procpage_names(page));
		procpage_close(page);
	}
	if (dir >= 0)
		close(dir);
	guise_take_off(&guise);
	return found;
}

static bool look(pid_t pid, struct traceable *t)
{
	struct proc proc;
	bool mapped = false, paged;

	memset(t, 0, sizeof *t);
	t->pid = pid;
	if (proc_read((uint32_t)pid, &proc) != 0 || proc.ended || (geteuid() != 0 && proc.uid != geteuid()) ||
	    proc_permit((uint32_t)pid) != 0)
		return false;
	proc_each_map((uint32_t)pid, look_for_library, &mapped);
	paged = read_page(&proc, t);
	return mapped || paged;
}

bool traceable_is(pid_t pid)
{
	struct traceable t;

	return look(pid, &t);
}

static void read_command(struct traceable *t)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/cmdline", (int)t->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	n = read(fd, t->command, sizeof t->command - 1);
	close(fd);
	for (ssize_t i = 0; i + 1 < n; i++)
		if (!t->command[i])
			t->command[i] = ' ';
	t->command[n > 0 ? n : 0] = 0;
}

static int by_pid(const void *a, const void *b)
{
	return ((const struct traceable *)a)->pid - ((const struct traceable *)b)->pid;
}

struct traceable *traceable_all(unsigned *count)
{
	DIR *dir = opendir("/proc");
	struct traceable *all = NULL;
	struct dirent *entry;
	unsigned n = 0;

	while (dir && (entry = readdir(dir))) {
		struct traceable t, *more;

		if (!isdigit((unsigned char)entry->d_name[0]) || atoi(entry->d_name) == getpid() || !look(atoi(entry->d_name), &t))
			continue;
		read_command(&t);
		more = realloc(all, (n + 1) * sizeof *all);
		if (!more)
			break;
		all = more;
		all[n++] = t;
	}
	if (dir)
		closedir(dir);
	if (n)
		qsort(all, n, sizeof *all, by_pid);
	*count = n;
	return all;
}
