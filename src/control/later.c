/*
 * later.c - reads names of event types that a traced process has opened as another user
 *
 * SPDX-License-Identifier: MIT
 */
#include "control/later.h"

#include <string.h>

#include "base/atomic.h"
#include "base/sys.h"
#include "host/fs_credentials.h"

#define NAMES_BYTES ((size_t)EVENT_USER_MAX * REGISTRY_NAME_BYTES)

struct later_layouts {
	uint32_t at[EVENT_USER_MAX]; /* where the layout begins in text, which ends with a null; 0: none */
	uint32_t used;
	char text[REGISTRY_BYTES_MAX];
};

void later_init(struct later *l, const struct shm_dir *shm_dir, const struct procpage *page, uint32_t number)
{
	memset(l, 0, sizeof *l);
	l->shm_dir = *shm_dir;
	l->page = page;
	l->other_users = number && proc_other_users(number) != 0;
}

void later_free(struct later *l)
{
	if (l->name)
		sys_unmap(l->name, NAMES_BYTES);
	l->name = NULL;
	l->names = 0;
	if (l->layouts)
		sys_unmap(l->layouts, sizeof *l->layouts);
	l->layouts = NULL;
	for (unsigned i = 0; i < l->count; i++)
		lock_release(&l->from[i].hold);
}

static struct shm_dir shm_dir_at(const struct later *l, const struct names_moved *at)
{
	return shm_dir_other(&l->shm_dir, l->other_users ? at->outside : at->user, at->outside);
}

/* Adds the registry that a process has noted to the sources, unless it is known. */
static void note(struct later *l, const struct names_moved *moved)
{
	struct names_moved at;
	uint32_t owner;

	if (load_acquire(&moved->state) != MOVED_REPORTED || l->count == LATER_SOURCES) /* PAIR(moved) */
		return;
	memcpy(&at, moved, sizeof at);
	/*
	 * A process without root's rights cannot become root: a note of that is false, and must not borrow root's
	 * rights.
	 */
	if (at.user == 0)
		return;
	owner = shm_dir_at(l, &at).owner;
	if (owner == 0 || owner == l->shm_dir.owner)
		return;
	for (unsigned i = 0; i < l->count; i++)
		if (names_moved_is(&l->from[i].at, at.user, names_moved_ident(&at)))
			return;
	l->from[l->count++] = (struct later_source){ .at = at };
}

static void take(struct later *l, const struct registry *read, uint32_t from)
{
	uint32_t count = registry_count(read);
	char name[REGISTRY_NAME_BYTES];

	for (uint32_t i = from; i < count; i++) {
		if (!registry_name(read, EVENT_ID_USER + i, name) || !name[0])
			continue;
		if (l->name[i][0]) {
			l->taken += strcmp(l->name[i], name) != 0;
			continue;
		}
		memcpy(l->name[i], name, sizeof name);
		if (i >= l->names)
			l->names = i + 1;
	}
}

/* Keeps the layouts of names that are known by the same id. */
static void take_layouts(struct later *l, const struct registry *read)
{
	struct later_layouts *known = l->layouts;
	char name[REGISTRY_NAME_BYTES], layout[LAYOUT_TEXT_SIZE];

	for (uint32_t i = 0; i < l->names; i++) {
		size_t length = known->at[i] ? 0 : registry_layout(read, EVENT_ID_USER + i, layout);

		if (length == 0 || !registry_name(read, EVENT_ID_USER + i, name) || strcmp(name, l->name[i]) != 0 ||
		    length + 1 >= sizeof known->text - known->used)
			continue;
		known->at[i] = ++known->used;
		memcpy(known->text + known->at[i], layout, length + 1);
		known->used += (uint32_t)length;
	}
}

/* Reads the new names and layouts of a source, with the rights of the user who owns the source. */
static void look_at(struct later *l, struct later_source *from, void *memory)
{
	struct shm_dir shm_dir = shm_dir_at(l, &from->at);
	struct registry read;
	struct fs_credentials fs_credentials;
	bool known = false;
	int dir;

	fs_credentials_use(&fs_credentials, shm_dir.owner, shm_dir.group);
	dir = file_directory(&shm_dir, false);
	if (dir >= 0) {
		known = registry_read(dir, &shm_dir, names_moved_ident(&from->at), from->names, from->layouts, memory,
		                      &read);
		if (known && !from->hold.at)
			file_hold(dir, read.file, read.inode, &from->hold);
		sys_close(dir);
	}
	fs_credentials_restore(&fs_credentials);
	if (!known)
		return;
	if (registry_count(&read) > from->names) {
		take(l, &read, from->names);
		from->names = registry_count(&read);
	}
	if (registry_layouts(&read) > from->layouts) {
		if (!l->layouts)
			l->layouts = sys_map(sizeof *l->layouts, -1, 1);
		if (l->layouts)
			take_layouts(l, &read);
		from->layouts = registry_layouts(&read);
	}
	/* The process may have become yet another user, even without opening a new name before. */
	for (unsigned i = 0; i < MOVED_MAX; i++)
		note(l, &read.header->moved[i]);
}

static void look(struct later *l, const struct registry *r)
{
	void *memory;

	for (unsigned i = 0; i < MOVED_MAX; i++)
		note(l, &registry_moved(r)[i]);
	if (l->page)
		note(l, &l->page->moved);
	if (!l->count)
		return;
	if (!l->name)
		l->name = sys_map(NAMES_BYTES, -1, 1);
	memory = l->name ? sys_map(REGISTRY_BYTES_MAX, -1, 1) : NULL;
	if (!memory)
		return;
	for (unsigned i = 0; i < l->count; i++)
		look_at(l, &l->from[i], memory);
	sys_unmap(memory, REGISTRY_BYTES_MAX);
}

uint32_t later_count(struct later *l, const struct registry *r)
{
	uint32_t count;

	look(l, r);
	count = registry_count(r);
	return count > l->names ? count : l->names;
}

bool later_name(struct later *l, const struct registry *r, trace_event_id_t id, char name[REGISTRY_NAME_BYTES])
{
	uint32_t i = id - EVENT_ID_USER;

	if (registry_name(r, id, name))
		return true;
	if (i >= EVENT_USER_MAX)
		return false;
	if (i >= l->names)
		look(l, r);
	if (i >= l->names || !l->name[i][0])
		return false;
	memcpy(name, l->name[i], REGISTRY_NAME_BYTES);
	return true;
}

size_t later_layout(const struct later *l, const struct registry *r, trace_event_id_t id,
                    char layout[LAYOUT_TEXT_SIZE])
{
	size_t length = registry_layout(r, id, layout);
	uint32_t i = id - EVENT_ID_USER;

	if (length || i >= EVENT_USER_MAX || !l->layouts || !l->layouts->at[i])
		return length;
	strcpy(layout, l->layouts->text + l->layouts->at[i]);
	return strlen(layout);
}

uint32_t later_taken(struct later *l, const struct registry *r)
{
	char name[REGISTRY_NAME_BYTES];
	uint32_t taken;

	look(l, r);
	taken = l->taken;
	/* Either of the two names may have been read first. */
	for (uint32_t i = 0; i < l->names; i++)
		taken += l->name[i][0] && registry_name(r, EVENT_ID_USER + i, name) && strcmp(name, l->name[i]) != 0;
	return taken;
}

void later_remove_unused(struct later *l)
{
	for (unsigned i = 0; i < l->count; i++) {
		const struct names_moved *at = &l->from[i].at;
		struct shm_dir shm_dir = shm_dir_at(l, at);
		char file[FILE_NAME_SIZE];
		struct fs_credentials fs_credentials;
		int dir;

		file_name_once(file, "names", names_moved_ident(at));
		lock_release(&l->from[i].hold);
		fs_credentials_use(&fs_credentials, shm_dir.owner, shm_dir.group);
		dir = file_directory(&shm_dir, false);
		if (dir >= 0) {
			registry_remove_unused(dir, &shm_dir, file);
			sys_close(dir);
		}
		fs_credentials_restore(&fs_credentials);
	}
}
