/*
 * traceable.c - processes that use the library: they have mapped it, or are traced
 *
 * SPDX-License-Identifier: MIT
 */
#include "process/traceable.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/streams.h"

#include "host/fs_credentials.h"
#include "shm/procpage.h"
#include "shm/registry.h"

static unsigned streams_of(const struct procpage *page)
{
	unsigned taken = 0;

	for (int slot = 0; slot < PAGE_SLOTS; slot++)
		taken += procpage_taken(load_relaxed(&page->word[slot / 64]), slot);
	return taken;
}

/* Calls f with the process's page, with the rights of the process's user. Returns false if the process has no page. */
static bool with_page(const struct proc *proc,
                      void (*f)(int dir, const struct shm_dir *shm_dir, const struct procpage *page, void *arg),
                      void *arg)
{
	struct shm_dir shm_dir = shm_dir_of(proc);
	struct ident id = proc->ident;
	struct procpage *page;
	struct fs_credentials fs_credentials;
	bool found = false;
	int dir;

	if (proc_blind(proc->number))
		id.start = id.pidns = 0; /* unknown to the process itself, and zero in its page */
	fs_credentials_use(&fs_credentials, shm_dir.owner, shm_dir.group);
	dir = file_directory(&shm_dir, false);
	if (dir >= 0 && procpage_look(dir, &shm_dir, id, &page) == 0) {
		found = true;
		f(dir, &shm_dir, page, arg);
		procpage_close(page);
	}
	if (dir >= 0)
		close(dir);
	fs_credentials_restore(&fs_credentials);
	return found;
}

static void read_page(int dir, const struct shm_dir *shm_dir, const struct procpage *page, void *arg)
{
	struct traceable *t = arg;

	t->attached |= load_relaxed(&page->image) != 0;
	t->streams = streams_of(page);
	t->events = registry_look(dir, shm_dir, procpage_names(page));
}

bool traceable_look(pid_t pid, struct traceable *t)
{
	char library[PATH_MAX];
	struct proc proc;

	memset(t, 0, sizeof *t);
	t->pid = pid;
	if (proc_read((uint32_t)pid, &proc) != 0 || proc.ended || (geteuid() != 0 && proc.uid != geteuid()) ||
	    proc_permit((uint32_t)pid) != 0)
		return false;
	t->attached = process_library((uint32_t)pid, library);
	/* A page without the library: a controller waits for the process to reach a trace point. */
	return with_page(&proc, read_page, t) || t->attached;
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

		if (!isdigit((unsigned char)entry->d_name[0]) || atoi(entry->d_name) == getpid() ||
		    !traceable_look(atoi(entry->d_name), &t))
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

struct names {
	void (*each)(const char *name, void *arg);
	void *arg;
};

static void read_names(int dir, const struct shm_dir *shm_dir, const struct procpage *page, void *arg)
{
	const struct names *names = arg;
	char file[FILE_NAME_SIZE], name[REGISTRY_NAME_BYTES];
	struct registry r;

	file_name_once(file, "names", procpage_names(page));
	if (registry_find(dir, shm_dir, file, &r) != 0)
		return;
	for (uint32_t id = EVENT_ID_USER; id < EVENT_ID_USER + registry_count(&r); id++)
		if (registry_name(&r, id, name))
			names->each(name, names->arg);
	registry_close(&r);
}

void traceable_names(pid_t pid, void (*each)(const char *name, void *arg), void *arg)
{
	struct names names = { each, arg };
	struct proc proc;

	if (proc_read((uint32_t)pid, &proc) == 0 && proc_permit((uint32_t)pid) == 0)
		with_page(&proc, read_names, &names);
}
