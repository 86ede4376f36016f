/*
 * part.c - a stream with its log
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/part.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/sys.h"
#include "control/flusher.h"
#include "control/handle.h"
#include "control/lifecycle.h"
#include "host/fs_credentials.h"
#include "process/typenames.h"
#include "record/clockstate.h"
#include "record/newlog.h"
#include "shm/procpage.h"

int part_create(struct part *p, pid_t pid, const trace_attr_t *attr, uint32_t turns, char *path)
{
	struct stat st;
	int error;

	*p = (struct part){ .path = path };
	p->fd = newlog_open(path, &p->kept);
	if (p->fd < 0)
		return -1;
	p->seeks = fstat(p->fd, &st) == 0 && S_ISREG(st.st_mode);
	error = lifecycle_create(pid, attr, &p->fd, turns, &p->trid);
	p->there = error == 0;
	return error;
}

static void begin_in(struct part *p, char *path, int fd)
{
	*p = (struct part){ .path = path, .fd = fd, .seeks = true };
}

int part_create_in(struct part *p, pid_t pid, const trace_attr_t *attr, char *path, int fd)
{
	int error;

	begin_in(p, path, fd);
	error = lifecycle_create(pid, attr, &p->fd, 0, &p->trid);
	p->there = error == 0;
	return error;
}

int part_create_for(struct part *p, const struct part_user *user, const trace_attr_t *attr, char *path, int fd)
{
	struct target_user target = { .uid = user->uid, .gid = user->gid };
	struct handle *h = handle_get(user->of->trid, HANDLE_ACTIVE);
	int error;

	begin_in(p, path, fd);
	if (!h)
		return EINVAL;
	if (handle_works(h))
		target.names = h->target.names;
	error = lifecycle_create_for(user->pid, &target, attr, p->fd, &p->trid);
	handle_put(h);
	p->there = error == 0;
	return error;
}

void part_stream(const struct part *p, char name[FILE_NAME_SIZE])
{
	struct handle *h = handle_get(p->trid, HANDLE_ACTIVE);

	name[0] = 0;
	if (!h)
		return;
	stream_name(name, h->entry.creator, h->entry.serial);
	handle_put(h);
}

uint64_t part_inherited_from(const struct part *p)
{
	struct handle *h = handle_get(p->trid, HANDLE_ACTIVE);
	uint64_t from = h ? h->entry.inherit_from : 0;

	if (h)
		handle_put(h);
	return from;
}

/* Returns whether an entry is of a stream of one of these parts. */
static bool is_of(const struct page_entry *entry, const struct part *parts, unsigned count)
{
	bool found = false;

	for (unsigned i = 0; i < count; i++) {
		struct handle *h = handle_get(parts[i].trid, HANDLE_ACTIVE);

		if (!h)
			continue;
		found |= page_entry_same(&h->entry, entry);
		handle_put(h);
	}
	return found;
}

/* Returns whether the page has a stream of this creator that is not of these parts. */
static bool traces(const struct procpage *page, struct ident creator, const struct part *but, unsigned count)
{
	struct page_entry entry;

	for (int i = 0; i < PAGE_SLOTS; i++)
		if (procpage_read(page, i, &entry) && entry.creator.pid == creator.pid &&
		    entry.creator.start == creator.start && !is_of(&entry, but, count))
			return true;
	return false;
}

int part_traces(const struct part *p, struct ident ident, const struct part *but, unsigned count)
{
	struct handle *h = handle_get(p->trid, HANDLE_ACTIVE);
	struct fs_credentials fs_credentials;
	struct procpage *page;
	int dir, found = -1;

	if (!h)
		return found;
	/* What the user has put there is opened with the user's rights, and read as what a stranger has written. */
	fs_credentials_use(&fs_credentials, h->target.shm_dir.owner, h->target.shm_dir.group);
	dir = file_directory(&h->target.shm_dir, false);
	if (dir >= 0 && procpage_look(dir, &h->target.shm_dir, ident, &page) == 0) {
		found = traces(page, h->entry.creator, but, count);
		procpage_close(page);
	}
	if (dir >= 0)
		sys_close(dir);
	fs_credentials_restore(&fs_credentials);
	handle_put(h);
	return found;
}

bool part_works(const struct part *p)
{
	struct handle *h = handle_get(p->trid, HANDLE_ACTIVE);
	bool works = h && handle_works(h);

	if (h)
		handle_put(h);
	return works;
}

int part_labels(const struct part *p, const char *const *label, size_t count)
{
	struct handle *h = handle_get(p->trid, HANDLE_ACTIVE);
	int error = 0;

	if (!h)
		return 0;
	if (h->flusher && handle_works(h))
		error = flusher_labels(h, label, count, clockstate);
	handle_put(h);
	return error;
}

void part_filter(const struct part *p, struct flush_filter *filter)
{
	struct handle *h = handle_get(p->trid, HANDLE_ACTIVE);

	if (!h)
		return;
	if (h->flusher && handle_works(h))
		flusher_filter(h, filter);
	handle_put(h);
}

/* -- Event types --------------------------------------------------------------------------- */

void part_follow(struct part *p, const struct match *m)
{
	char name[TRACE_EVENT_NAME_MAX + 1];
	trace_event_set_t unwanted;
	trace_event_id_t id;
	bool some = false;

	posix_trace_eventset_empty(&unwanted);
	while (stream_next_type(p->trid, false, &id, name)) {
		if (match_name(m, name))
			continue;
		posix_trace_eventset_add(id, &unwanted);
		some = true;
	}
	if (some)
		posix_trace_set_filter(p->trid, &unwanted, POSIX_TRACE_ADD_EVENTSET);
}

/* -- Numbers ---------------------------------------------------------------------------------- */

struct part_numbers part_numbers(const struct part *p)
{
	struct handle *h = p->there ? handle_get(p->trid, HANDLE_ACTIVE) : NULL;
	struct part_numbers n = { 0 };

	if (!h)
		return n;
	/* The segment that the flusher is writing may be counted or not. */
	if (h->flusher && handle_works(h)) {
		const struct log_state *state = h->flusher->flush.state;
		const struct log_position *position = &state->position[load_relaxed(&state->position_now) & 1];
		const struct log_mark *mark = &state->mark[load_relaxed(&state->mark_now) & 1];

		n.events = load_relaxed(&position->events);
		n.users = load_relaxed(&position->users);
		if (load_relaxed(&mark->sequence) == load_relaxed(&position->sequence)) {
			n.events += load_relaxed(&mark->events);
			n.users += load_relaxed(&mark->users);
		}
		n.bytes = load_relaxed(&position->end);
		n.left_out = load_relaxed(&mark->left_out);
	}
	handle_put(h);
	return n;
}

void part_describe(const struct part *p)
{
	struct handle *h = handle_get(p->trid, HANDLE_ACTIVE);

	if (!h)
		return;
	if (h->flusher && handle_works(h))
		flusher_describe(h);
	handle_put(h);
}

void part_look(struct part *p)
{
	struct posix_trace_status_info status;

	if (posix_trace_get_status(p->trid, &status) != 0)
		return;
	if (status.posix_stream_flush_error)
		p->error = status.posix_stream_flush_error;
	if (status.posix_log_full_status == POSIX_TRACE_FULL)
		p->log_full = true;
	p->lost = status.__posix_lost_events;
}

/* -- Its life ------------------------------------------------------------------------------------ */

int part_flush(struct part *p)
{
	return posix_trace_flush(p->trid);
}

void part_stop(struct part *p)
{
	struct handle *h;

	posix_trace_stop(p->trid);
	h = handle_get(p->trid, HANDLE_ACTIVE);
	if (!h)
		return;
	if (handle_works(h))
		fetch_and(&h->stream.header->state, ~STATE_LOSING);
	handle_put(h);
}

void part_lost(struct part *p, uint64_t lost)
{
	struct handle *h = lost ? handle_get(p->trid, HANDLE_ACTIVE) : NULL;

	if (!h)
		return;
	if (handle_works(h))
		fetch_add(&h->stream.header->lost, lost);
	handle_put(h);
}

void part_clear(struct part *p)
{
	lifecycle_clear(p->trid, __builtin_return_address(0), &p->lost);
	p->lost = 0;
	/* The file still has the old events after its new header. They are not needed any more. */
	if (p->seeks && ftruncate(p->fd, (off_t)part_numbers(p).bytes) != 0)
		return;
}

int part_end(struct part *p)
{
	/*
	 * Like posix_trace_shutdown(), but also returns how many events could not be written where even the log cannot
	 * say so.
	 */
	int error = p->there ? lifecycle_shutdown(p->trid, __builtin_return_address(0), &p->sum) : 0;

	p->there = false;
	return error;
}

void part_free(struct part *p)
{
	part_end(p);
	if (p->fd >= 0)
		close(p->fd);
	free(p->path);
	*p = (struct part){ .fd = -1 };
}
