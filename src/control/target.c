/*
 * target.c - finds and opens the files of the process that a stream traces
 *
 * SPDX-License-Identifier: MIT
 */
#include "control/target.h"

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/atomic.h"
#include "base/sys.h"
#include "base/testpoint.h"
#include "base/text.h"
#include "host/ancestor_tag.h"
#include "host/fs_credentials.h"
#include "shm/family.h"

/*
 * The library of <posixtrace/log.h> has a copy of this code that never records. Another copy may record, so the process
 * itself is for that one a process like others.
 */
#ifdef POSIXTRACE_CONTROLS_ONLY
# define RECORDS false
#else
# define RECORDS true
#endif

static int open_self(struct target *t)
{
	int error = 0;

	t->self = self_get(true, &error);
	if (!t->self)
		return error;
	t->ident = self_process(t->self)->ident;
	t->shm_dir = self_process(t->self)->shm_dir;
	t->page = self_process(t->self)->page;
	/* The stream has the names from its creation on (CREATE-26), and opening them installs a fork handler. */
	t->names = self_registry();
	if (!t->names)
		return ENOMEM;
	later_init(&t->later, &t->shm_dir, NULL, 0);
	return 0;
}

struct mapped {
	struct ident self;
	struct ident page;  /* the youngest process page */
	struct ident names; /* the youngest registry */
};

static void look_for_page(const char *line, void *arg)
{
	struct mapped *m = arg;
	const char *slash = strrchr(line, '/');
	struct ident id;
	uint32_t number;
	char kind[16];

	if (!slash || !strstr(line, "/" FILE_DIRECTORY) || !file_name_parse(slash + 1, kind, &id, &number) ||
	    ident_same(id, m->self))
		return;
	if (strcmp(kind, "page") == 0 && (!m->page.pid || id.start > m->page.start))
		m->page = id;
	if (strcmp(kind, "names") == 0 && (!m->names.pid || id.start > m->names.start))
		m->names = id;
}

/*
 * Finds the page of the parent that the process was forked from. A process that
 * has not made a page of its own still maps its parent's, unless it has executed
 * another file. page: null if there is none. names: the file of the registry that
 * the process was born with; empty if there is none. Returns 0, or a negative
 * error number if this cannot be determined now.
 */
static int forked_from(const struct target *t, const struct family *family, struct procpage **page,
                       char names[FILE_NAME_SIZE])
{
	struct mapped m = { .self = t->ident };
	int r = proc_each_map(t->number, look_for_page, &m);

	*page = NULL;
	names[0] = 0;
	if (r == -ESRCH || r == -EACCES || r == -EPERM)
		return 0; /* its memory is gone, or cannot be read */
	if (r == 0 && m.names.pid)
		file_name_once(names, "names", m.names);
	if (r == 0 && m.page.pid)
		r = procpage_look(family->dir, &t->shm_dir, m.page, page);
	/* ESTALE: the page's process has just ended. */
	return r == -ENOENT || r == -EINVAL || r == -ESTALE ? 0 : r;
}

struct own {
	char page[FILE_NAME_SIZE];
	bool removed;
};

static void look_for_own(const char *line, void *arg)
{
	static const char removed[] = " (deleted)";
	struct own *own = arg;
	const char *slash = strrchr(line, '/');
	size_t length = strlen(own->page);

	own->removed |= slash && strstr(line, "/" FILE_DIRECTORY) && strncmp(slash + 1, own->page, length) == 0 &&
	                strcmp(slash + 1 + length, removed) == 0;
}

/*
 * Returns 1 if the process maps a page of its own whose file was removed, by its exit or by another process: it uses
 * that page until it ends, and not a new page of the same name. Otherwise returns 0, or a negative error number if this
 * cannot be determined now.
 */
static int has_left(const struct target *t)
{
	struct own own = { .removed = false };
	int r;

	/* The process has attached to this page. */
	if (load_relaxed(&t->page->image))
		return 0;
	file_name_once(own.page, "page", t->ident);
	r = proc_each_map(t->number, look_for_own, &own);
	return file_is_want(r) ? r : own.removed;
}

/* Removes the file of the process's page if no process holds it. */
static void remove_page(const struct target *t, int dir)
{
	char page[FILE_NAME_SIZE];

	file_name_once(page, "page", t->ident);
	procpage_remove_unused(dir, &t->shm_dir, page);
}

/*
 * Opens the process's registry. If the process has not yet copied the names that it was born with, copies them. A
 * process keeps these names for life, so if they cannot be read now, the call fails: a registry without them would be
 * wrong. The ancestor may have ended, but the process holds the ancestor's registry too. names_born: the file of the
 * ancestor's registry, or empty. Returns 0 or a negative error number.
 */
static int open_names(struct target *t, int dir, const char *names_born)
{
	struct ident id = procpage_names(t->page);
	struct registry seed;
	bool born = names_born[0] && ident_same(id, t->ident);
	int r = born ? registry_find(dir, &t->shm_dir, names_born, &seed) : 0;
	bool seeded = born && r == 0;

	/* If the registry was removed, the process still maps it, and copies the names when it attaches. */
	if (r < 0 && r != -EINVAL && r != -ENOENT)
		return r;
	r = registry_open(dir, &t->shm_dir, id, seeded ? &seed : NULL, &t->registry);
	if (seeded) {
		if (r == 0)
			registry_append(&t->registry, &seed);
		registry_close(&seed);
	}
	if (r == 0)
		t->names = &t->registry;
	return r;
}

/* Keeps the mappings out of forked children, which do not use them and would only keep the memory. */
static void not_on_fork(struct target *t)
{
	sys_not_on_fork(t->page, PAGE_SIZE_BYTES);
	sys_not_on_fork(t->registry.header, REGISTRY_BYTES_MAX);
}

static int open_files(struct target *t, struct family *family)
{
	struct procpage *above;
	char names_born[FILE_NAME_SIZE];
	int r = forked_from(t, family, &above, names_born);

	if (r < 0)
		return r;
	family->known = above;
	r = procpage_open(family->dir, &t->shm_dir, t->ident, family_inherit, family, &t->page, &t->page_hold);
	TEST_POINT("target_page");
	if (r == 0) {
		/* Checked while the page is held: an existing page cannot be removed any more. */
		r = has_left(t);
		if (r > 0)
			r = -ESRCH;
		/* An attached process has copied the names that it needs. */
		if (r == 0)
			r = open_names(t, family->dir, load_relaxed(&t->page->image) ? "" : names_born);
		if (r < 0) {
			procpage_close(t->page);
			lock_release(&t->page_hold);
			remove_page(t, family->dir);
		}
	}
	if (above)
		procpage_close(above);
	if (r == 0)
		not_on_fork(t);
	return r;
}

struct former {
	char page[FILE_NAME_SIZE];
	const char *directory; /* of the process's present page */
	uint64_t at;           /* address of the former page in the process; 0: not mapped */
	uint32_t user;         /* the number in the name of its directory */
};

static void look_for_former(const char *line, void *arg)
{
	struct former *f = arg;
	const char *slash = strrchr(line, '/'), *rights = strchr(line, ' ');
	size_t length = strlen(f->directory), first = strlen("/" FILE_DIRECTORY);
	const char *in = strstr(line, "/" FILE_DIRECTORY);

	if (slash && rights && strncmp(rights, " rw-s ", 6) == 0 && strcmp(slash + 1, f->page) == 0 &&
	    in && in < slash &&
	    ((size_t)(slash - line) < length || strncmp(slash - length, f->directory, length) != 0)) {
		f->at = text_hex(line);
		f->user = (uint32_t)text_number(in + first);
	}
}

/*
 * Wakes by the page's file. What the process maps says only in which user's directory to look. The file is opened with
 * that user's rights, and it must be a page of this process that somebody holds. So a process that maps something else
 * under such a name, or executes a program with more rights meanwhile, makes root write nowhere else.
 */
static void wake_by_file(const struct target *t, struct former *f)
{
	struct fs_credentials fs_credentials;
	struct procpage *page;
	struct shm_dir former;
	int dir;

	if (proc_each_map(t->number, look_for_former, f) < 0 || !f->at)
		return;
	former = shm_dir_beside(&t->shm_dir, f->user);
	if (former.error < 0)
		return;
	fs_credentials_use(&fs_credentials, former.owner, former.group);
	dir = file_directory(&former, false);
	if (dir >= 0 && procpage_look(dir, &former, t->ident, &page) == 0) {
		fetch_and(&page->sum.vacant, ~PAGE_LOOK);
		procpage_look_again(page);
		procpage_close(page);
	}
	if (dir >= 0)
		sys_close(dir);
	fs_credentials_restore(&fs_credentials);
}

/*
 * Wakes by the process's memory, for a controller that has no right to the former user's files but could use ptrace()
 * on the process. The memory is opened before the mappings are read: each descriptor stays with the memory that it was
 * opened for, so if the process executes a file in between, the address is of the new memory and the old memory has
 * gone. The page must say that it is this process's, and only the word that trace points load is written. A program
 * that has the rights of its file does not do this: it would use these rights for any user.
 */
static void wake_by_memory(const struct target *t, struct former *f)
{
	const size_t at = offsetof(struct procpage, sum), head = at + sizeof(union page_sum);
	struct procpage *page;
	int fd;

	if (getauxval(AT_SECURE))
		return;
	fd = proc_memory(t->number);
	if (fd < 0)
		return;
	page = sys_map(PAGE_SIZE_BYTES, -1, 1);
	if (page && proc_each_map(t->number, look_for_former, f) == 0 && f->at &&
	    sys_read_at(fd, page, head, f->at) == (long)head && procpage_is(page, t->ident)) {
		page->sum.vacant &= ~PAGE_LOOK;
		page->sum.generation++;
		sys_write_at(fd, &page->sum, sizeof page->sum, f->at + at);
	}
	if (page)
		sys_unmap(page, PAGE_SIZE_BYTES);
	sys_close(fd);
}

/*
 * Makes a process that has become another user check its user at the next trace point. Until a check, such a process
 * uses the page that it had as its former user. This function changes the word of that page that trace points load.
 */
static void wake_former(const struct target *t)
{
	struct former f = { .directory = strrchr(t->shm_dir.path, '/'), .at = 0 };

	if (load_relaxed(&t->page->image))
		return;
	file_name_once(f.page, "page", t->ident);
	if (sys_geteuid() == 0)
		wake_by_file(t, &f);
	else
		wake_by_memory(t, &f);
}

/* Makes the files be those of another user, in the same /dev/shm. */
static void use_directory_of(struct target *t, const struct target_user *user)
{
	struct shm_dir of_process = t->shm_dir;
	uint32_t outside = proc_other_users(t->number) ? user->uid : proc_user_outside(user->uid);

	t->for_user = true;
	t->shm_dir = shm_dir_other(&of_process, user->uid, outside);
	t->shm_dir.group = user->gid;
	t->shm_dir.error = of_process.error;
}

static int open_other(struct target *t, const struct proc *proc, const struct target_user *user)
{
	struct family family = { .number = proc->number };
	struct fs_credentials fs_credentials;
	int r;

	t->number = proc->number;
	t->ident = proc->ident;
	if (!proc->ended && proc_blind(proc->number))
		t->ident.start = t->ident.pidns = 0; /* as the process itself assumes */
	t->shm_dir = shm_dir_of(proc);
	if (user)
		use_directory_of(t, user);
	/* A guessed path may become invalid when the process ends: files made there could not be removed any more. */
	if (t->shm_dir.error)
		return t->shm_dir.error;
	family.ident = t->ident;
	family.shm_dir = &t->shm_dir;
	fs_credentials_use(&fs_credentials, t->shm_dir.owner, t->shm_dir.group);
	r = family.dir = file_directory(&t->shm_dir, true);
	if (family.dir >= 0) {
		r = open_files(t, &family);
		sys_close(family.dir);
	}
	/* A descendant that has these names in its variables then finds its ids taken by the same names. */
	if (r == 0 && user && user->names)
		registry_append(&t->registry, user->names);
	fs_credentials_restore(&fs_credentials);
	if (r == 0)
		later_init(&t->later, &t->shm_dir, t->page, t->number);
	if (r == 0 && !user)
		wake_former(t);
	return r;
}

int target_open_for(pid_t pid, const struct target_user *user, struct target *t)
{
	struct proc proc;
	uint64_t start;
	uint32_t parent;
	int r, may_signal;

	memset(t, 0, sizeof *t);
	if (RECORDS && !user && (pid == 0 || pid == sys_getpid()))
		return open_self(t);
	if (pid < 0)
		return ESRCH;
	may_signal = sys_kill_probe(pid);
	if (may_signal == -ESRCH)
		return ESRCH;
	/* Without /proc, or with the /proc of another pid namespace, nothing is known about the process. */
	if (proc_number() != (uint32_t)sys_getpid())
		return EPERM;
	r = proc_read((uint32_t)pid, &proc);
	if (r == -ESRCH && may_signal == 0)
		return ESRCH; /* pid is a thread of another process */
	/* /proc may hide other users' processes. */
	if (r < 0)
		return may_signal == -EPERM || r == -ESRCH ? EPERM : -r;
	r = proc_permit((uint32_t)pid);
	if (r < 0)
		return -r;
	/* Check the start time again: the pid may have been reused between proc_read() and proc_permit(). */
	if (proc_parent((uint32_t)pid, &parent, &start) < 0 || start != proc.ident.start)
		return ESRCH;
	r = open_other(t, &proc, user);
	/* The right to read another user's process does not include access to the user's files. */
	return r == -EACCES && sys_geteuid() != 0 && t->shm_dir.owner != sys_geteuid() ? EPERM : -r;
}

int target_open(pid_t pid, struct target *t)
{
	return target_open_for(pid, NULL, t);
}

int target_directory(const struct target *t)
{
	/* A process may make its own directory again if it was removed (H24). */
	return file_directory(&t->shm_dir, t->self != NULL);
}

void target_leave(struct target *t)
{
	struct fs_credentials fs_credentials;
	int dir;

	later_remove_unused(&t->later);
	if (t->self)
		return;
	lock_release(&t->page_hold);
	TEST_POINT("target_unlocked");
	lock_release(&t->registry.hold);
	fs_credentials_use(&fs_credentials, t->shm_dir.owner, t->shm_dir.group);
	dir = target_directory(t);
	if (dir >= 0) {
		remove_page(t, dir);
		TEST_POINT("target_removed");
		registry_remove_unused(dir, &t->shm_dir, t->registry.file);
		sys_close(dir);
	}
	fs_credentials_restore(&fs_credentials);
}

void target_close(struct target *t)
{
	later_free(&t->later);
	if (t->self)
		return;
	target_leave(t);
	procpage_close(t->page);
	registry_close(&t->registry);
}

uint32_t target_names(struct target *t)
{
	return later_count(&t->later, t->names);
}

bool target_name(struct target *t, trace_event_id_t id, char name[REGISTRY_NAME_BYTES])
{
	return later_name(&t->later, t->names, id, name);
}

size_t target_layout(struct target *t, trace_event_id_t id, char layout[LAYOUT_TEXT_SIZE])
{
	later_count(&t->later, t->names);
	return later_layout(&t->later, t->names, id, layout);
}

trace_event_id_t target_event_id(struct target *t, const char *name)
{
	trace_event_id_t id;
	struct fs_credentials fs_credentials;

	if (t->self)
		return self_event_id(name);
	fs_credentials_use(&fs_credentials, t->shm_dir.owner, t->shm_dir.group);
	id = registry_id(t->names, name, procpage_names_limit(t->page));
	fs_credentials_restore(&fs_credentials);
	return id;
}

void target_inherits(const struct target *t, bool inherits)
{
	/* Another stream of the process passes itself on, and sets the same tag. */
	if (t->for_user)
		return;
	if (inherits) {
		store_relaxed(&t->page->marked, 1);
		ancestor_tag_set(t->number, t->ident);
	} else {
		ancestor_tag_clear(t->number, t->ident);
	}
}
