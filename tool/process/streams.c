/*
 * streams.c - what lies in a user's directory of shared memory: streams, and the processes that they trace
 *
 * SPDX-License-Identifier: MIT
 */
#include "process/streams.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sys.h"
#include "common/message.h"
#include "host/lock.h"
#include "shm/chunk.h"
#include "shm/registry.h"
#include "shm/stream.h"

/* More than a working directory can have. Limits our memory where a user has filled the directory with files. */
#define FILES_MAX 20000

/* -- Processes ------------------------------------------------------------------------------- */

struct known {
	uint32_t number;
	struct ident ident;
};

static struct known *known;
static size_t knowns;

void process_name(uint32_t number, char name[COMMAND_SIZE])
{
	char path[40];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof path, "/proc/%u/comm", number);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, name, COMMAND_SIZE - 1);
		close(fd);
	}
	name[n > 0 ? n : 0] = 0;
	name[strcspn(name, "\n")] = 0;
}

static void look_for_library(const char *line, void *arg)
{
	const char *file = strrchr(line, '/'), *slash = strchr(line, '/');
	char *path = arg;

	if (!path[0] && file && strncmp(file, "/libposixtrace.", 15) == 0)
		snprintf(path, PATH_MAX, "%s", slash);
}

bool process_library(uint32_t number, char path[PATH_MAX])
{
	path[0] = 0;
	proc_each_map(number, look_for_library, path);
	return path[0] != 0;
}

/*
 * Reads the processes visible in /proc: a process of another pid namespace has a different number here than in its
 * ident.
 */
static void know_all(void)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	struct proc p;

	while (proc && (entry = readdir(proc))) {
		uint32_t number = (uint32_t)strtoul(entry->d_name, NULL, 10);

		if (number == 0 || proc_read(number, &p) < 0)
			continue;
		if (knowns % 256 == 0) {
			struct known *more = realloc(known, (knowns + 256) * sizeof *more);

			if (!more)
				fail("no memory");
			known = more;
		}
		known[knowns++] = (struct known){ number, p.ident };
	}
	if (proc)
		closedir(proc);
}

static bool same(struct ident a, struct ident b)
{
	return a.pid == b.pid && (a.start == b.start || !b.start) && (a.pidns == b.pidns || !b.pidns || !a.pidns);
}

struct seen_process process_find(struct ident ident)
{
	struct seen_process found = { 0, "" };
	struct proc p;

	if (proc_read(ident.pid, &p) == 0 && same(p.ident, ident)) {
		found.number = ident.pid;
	} else {
		if (!known)
			know_all();
		for (size_t i = 0; known && i < knowns && !found.number; i++)
			if (same(known[i].ident, ident))
				found.number = known[i].number;
	}
	if (found.number)
		process_name(found.number, found.name);
	return found;
}

/* -- Files ------------------------------------------------------------------------------------- */

/*
 * Opens a file for reading as the library does: does not follow a symbolic link, and does not block. Returns a
 * descriptor or a negative error number.
 */
static int open_file(int dir, const char *name, uint64_t *size)
{
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return -EACCES;
	}
	*size = (uint64_t)st.st_size;
	return fd;
}

static bool get(int fd, void *to, size_t size, uint64_t offset)
{
	return sys_read_at(fd, to, size, offset) == (long)size;
}

/* Returns room for one more element, zeroed. */
static void *append(void *array, size_t *count, size_t size)
{
	unsigned char **a = array;

	if (*count % 64 == 0) {
		unsigned char *more = realloc(*a, (*count + 64) * size);

		if (!more)
			fail("no memory");
		*a = more;
	}
	return memset(*a + size * (*count)++, 0, size);
}

/* -- Streams --------------------------------------------------------------------------------------- */

static bool header_valid(const struct seen_stream *s)
{
	const struct stream_header *h = &s->header;

	return h->header_size == STREAM_HEADER_BYTES && h->chunk_count > 0 && h->chunk_count <= CHUNK_COUNT_MAX &&
	       h->chunk_size > 0 &&
	       h->chunk_size <= CHUNK_SIZE_MAX && h->log_state <= LOG_BYTES_MAX &&
	       (!h->log_state || h->log_state >= sizeof(struct log_state)) && s->file_size == h->file_size &&
	       s->file_size == STREAM_HEADER_BYTES + (uint64_t)h->seat_count * sizeof(struct seat) +
	                       (uint64_t)h->chunk_count * (sizeof(struct chunk) + h->chunk_size) +
	                       (uint64_t)h->programs * sizeof(struct program) + h->log_state;
}

/*
 * Adds the unread part of a chunk. Returns the number of the next record to be read, counted from the stream's
 * beginning.
 */
static uint32_t add_chunk(struct seen_stream *s, const struct chunk *c)
{
	uint32_t records = progress_records(c->progress), position = progress_position(c->progress);
	uint32_t unread = records - c->read, here = records - c->first;

	if (unread > here)
		unread = here; /* the writer changed it meanwhile */
	if (position > s->header.chunk_size)
		position = s->header.chunk_size;
	s->unread += unread;
	if (unread)
		s->used += (uint64_t)position * unread / here;
	if (c->seen != c->first && c->gap_from)
		s->losing = true;
	/* How many of the overwritten events the reader had read before, only the reader knows. */
	if (!s->header.log_state && c->first)
		s->lost_at_least = s->header.stream_policy == POSIX_TRACE_LOOP;
	return c->read;
}

static void read_chunks(struct seen_stream *s, int fd)
{
	uint64_t at = STREAM_HEADER_BYTES + (uint64_t)s->header.seat_count * sizeof(struct seat);
	uint32_t read = 0, overwritten;
	struct chunk c[64];

	for (uint32_t i = 0; i < s->header.chunk_count; i += 64) {
		uint32_t n = s->header.chunk_count - i < 64 ? s->header.chunk_count - i : 64;

		if (!get(fd, c, n * sizeof c[0], at + i * sizeof c[0]))
			return;
		for (uint32_t k = 0; k < n; k++)
			read += add_chunk(s, &c[k]);
	}
	if (!s->header.log_state || s->log_hidden)
		return;
	/*
	 * Overwritten: all records that left the chunks, less the records that the flusher took. It may just be taking
	 * more.
	 */
	overwritten = read - s->mark.records;
	if (overwritten < UINT32_MAX / 2)
		s->lost += overwritten;
}

static bool read_log(struct seen_stream *s, int fd)
{
	struct log_state state;

	if (!get(fd, &state, sizeof state, s->file_size - s->header.log_state))
		return false;
	memcpy(s->log, state.path, sizeof s->log - 1);
	/* The state names the registry as soon as there is a flusher. */
	s->log_hidden = !state.names[0];
	s->log_inode = state.inode;
	s->log_device_major = state.device_major;
	s->log_device_minor = state.device_minor;
	s->log_position = state.position[state.position_now & 1];
	s->mark = state.mark[state.mark_now & 1];
	return true;
}

static void read_stream(struct seen_stream *s, int fd)
{
	struct stream_header *h = &s->header;

	s->alive = lock_held(fd);
	if (!get(fd, h, sizeof *h, 0)) {
		s->trouble = STREAM_DAMAGED;
		return;
	}
	h->name[sizeof h->name - 1] = h->version_string[sizeof h->version_string - 1] = 0;
	if (h->magic != STREAM_MAGIC)
		s->trouble = STREAM_DAMAGED;
	else if (h->version != LAYOUT_VERSION)
		s->trouble = STREAM_VERSION;
	else if (!header_valid(s) || (h->log_state && !read_log(s, fd)))
		s->trouble = STREAM_DAMAGED;
	if (s->trouble)
		return;
	s->lost = h->lost;
	if (h->state & STATE_OVERRUN)
		s->losing = true;
	read_chunks(s, fd);
	s->target = process_find((struct ident){ h->target_pid, h->target_start, h->pidns });
}

/* Fills *s, which the caller has zeroed. */
static void see_stream(struct seen_stream *s, int dir, const char *name, struct page_entry entry)
{
	int fd = open_file(dir, name, &s->file_size);

	snprintf(s->file, sizeof s->file, "%s", name);
	entry.creator.pidns = 0;
	s->entry = entry;
	if (fd < 0) {
		s->trouble = STREAM_UNREADABLE;
		s->error = fd;
		s->alive = true;
		return;
	}
	read_stream(s, fd);
	close(fd);
	if (s->alive)
		s->creator = process_find(entry.creator);
}

static void add_stream(struct streams *all, const char *name, struct page_entry entry)
{
	struct seen_stream *s = append(&all->stream, &all->streams, sizeof *s);

	see_stream(s, all->dir, name, entry);
}

bool streams_read_one(struct seen_stream *s, const struct shm_dir *shm_dir, const char *file)
{
	struct ident creator;
	uint32_t number;
	char kind[16];
	int dir = file_name_parse(file, kind, &creator, &number) && strcmp(kind, "stream") == 0 ?
	          file_directory(shm_dir, false) : -1;

	memset(s, 0, sizeof *s);
	if (dir < 0)
		return false;
	see_stream(s, dir, file, (struct page_entry){ .creator = creator, .serial = number });
	close(dir);
	return s->error != -ENOENT;
}

const struct seen_stream *streams_find(const struct streams *s, const struct page_entry *entry)
{
	for (size_t i = 0; i < s->streams; i++)
		if (page_entry_same(&s->stream[i].entry, entry))
			return &s->stream[i];
	return NULL;
}

int streams_log_there(const struct seen_stream *stream)
{
	struct sys_stat st;
	int r = stream->log[0] ? sys_stat_path(stream->log, &st) : -ENOENT;

	if (r == 0 && !sys_is_file(&st, stream->log_inode, stream->log_device_major, stream->log_device_minor))
		r = -ENOENT;
	return r;
}

/* -- Process pages ------------------------------------------------------------------------------------ */

static void read_page(struct seen_page *p, int fd)
{
	_Alignas(struct procpage) unsigned char bytes[PAGE_SIZE_BYTES];
	const struct procpage *page = (const struct procpage *)bytes;

	p->alive = lock_held(fd);
	if (!get(fd, bytes, sizeof bytes, 0))
		return;
	p->version = page->magic == PAGE_MAGIC ? page->version : 0;
	if (!procpage_is(page, p->ident))
		return;
	p->readable = true;
	p->attached = page->image != 0;
	file_name_once(p->names, "names", procpage_names(page));
	for (int i = 0; i < PAGE_SLOTS; i++) {
		struct page_entry entry;
		size_t count = p->entries;

		/* The entry is read in one piece. The stream of a changed entry does not exist. */
		if (!procpage_read(page, i, &entry))
			continue;
		*(struct page_entry *)append(&p->entry, &count, sizeof entry) = entry;
		p->entries++;
	}
}

static void add_page(struct streams *all, const char *name, struct ident ident)
{
	struct seen_page *p = append(&all->page, &all->pages, sizeof *p);
	uint64_t size;
	int fd = open_file(all->dir, name, &size);

	snprintf(p->file, sizeof p->file, "%s", name);
	p->ident = ident;
	p->process = process_find(ident);
	if (fd < 0)
		return;
	read_page(p, fd);
	close(fd);
}

const struct seen_page *streams_page(const struct streams *s, uint32_t number)
{
	for (size_t i = 0; i < s->pages; i++)
		if (s->page[i].process.number == number)
			return &s->page[i];
	return NULL;
}

/* -- Names ----------------------------------------------------------------------------------------------- */

/* Reads a declared layout that begins in this entry, or "". Everything in the file may be wrong. */
static void read_layout(int fd, uint16_t entry, char text[LAYOUT_TEXT_SIZE])
{
	uint64_t at = REGISTRY_NAMES_OFFSET + (entry - 1u) * (uint64_t)REGISTRY_NAME_BYTES;
	uint16_t length;

	text[0] = 0;
	if (entry < 1 || entry > REGISTRY_ENTRIES || !get(fd, &length, sizeof length, at) ||
	    length >= LAYOUT_TEXT_SIZE || !get(fd, text, length, at + sizeof length))
		return;
	text[length] = 0;
}

unsigned streams_names(const struct streams *s, const char *names, seen_name *f, void *arg)
{
	struct registry_header h;
	char name[REGISTRY_NAME_BYTES], layout[LAYOUT_TEXT_SIZE];
	uint64_t size;
	unsigned count = 0;
	int fd = names[0] ? open_file(s->dir, names, &size) : -ENOENT;

	if (fd < 0)
		return 0;
	if (get(fd, &h, sizeof h, 0) && h.magic == REGISTRY_MAGIC && h.version == LAYOUT_VERSION)
		for (; count < EVENT_USER_MAX && h.index[count] >= 1 && h.index[count] <= REGISTRY_ENTRIES; count++) {
			if (!get(fd, name, sizeof name,
			         REGISTRY_NAMES_OFFSET + (h.index[count] - 1u) * (uint64_t)REGISTRY_NAME_BYTES))
				break;
			name[sizeof name - 1] = 0;
			read_layout(fd, h.layout[count], layout);
			if (f)
				f(EVENT_ID_USER + count, name, layout, arg);
		}
	close(fd);
	return count;
}

uint64_t streams_refused(const struct streams *s, const char *names, char name[REGISTRY_NAME_BYTES])
{
	struct registry_header h;
	uint64_t size, count = 0;
	int fd = names[0] ? open_file(s->dir, names, &size) : -ENOENT;

	if (fd < 0)
		return 0;
	if (get(fd, &h, sizeof h, 0) && h.magic == REGISTRY_MAGIC && h.version == LAYOUT_VERSION) {
		count = h.refused;
		memcpy(name, h.refused_name, REGISTRY_NAME_BYTES);
		name[REGISTRY_NAME_BYTES - 1] = 0;
	}
	close(fd);
	return count;
}

/* -- The directory ---------------------------------------------------------------------------------------------- */

static bool add(int dir, const char *name, void *arg)
{
	struct streams *s = arg;
	struct ident ident;
	uint32_t number;
	char kind[16];

	if (!file_name_parse(name, kind, &ident, &number))
		return true;
	if (s->streams + s->pages + s->others >= FILES_MAX)
		return false;
	if (strcmp(kind, "stream") == 0) {
		add_stream(s, name, (struct page_entry){ .creator = ident, .serial = number });
	} else if (strcmp(kind, "page") == 0) {
		add_page(s, name, ident);
	} else {
		struct seen_file *f = append(&s->other, &s->others, sizeof *f);

		snprintf(f->file, sizeof f->file, "%s", name);
		memcpy(f->kind, kind, sizeof f->kind);
		f->ident = ident;
		f->alive = file_held(dir, name);
		/* The name of a file that is being made has a thread id in place of the start time. */
		if (strcmp(kind, "new") == 0)
			ident = (struct ident){ .pid = ident.pid };
		f->process = process_find(ident);
	}
	return true;
}

int streams_read(struct streams *s, const struct shm_dir *shm_dir)
{
	int r;

	memset(s, 0, sizeof *s);
	s->shm_dir = *shm_dir;
	s->dir = file_directory(shm_dir, false);
	if (s->dir < 0)
		return s->dir;
	r = file_each(s->dir, add, s);
	return r < 0 ? r : 0;
}

void streams_free(struct streams *s)
{
	for (size_t i = 0; i < s->pages; i++)
		free(s->page[i].entry);
	free(s->stream);
	free(s->page);
	free(s->other);
	if (s->dir >= 0)
		close(s->dir);
}

void streams_each_user(void (*f)(const struct shm_dir *, void *), void *arg)
{
	static const char prefix[] = "posixtrace-";
	DIR *shm = opendir("/dev/shm");
	struct dirent *entry;
	struct stat st;

	while (shm && (entry = readdir(shm))) {
		struct shm_dir shm_dir = { .guarded = false };

		if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0 ||
		    fstatat(dirfd(shm), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode) ||
		    strlen("/dev/shm/") + strlen(entry->d_name) >= sizeof shm_dir.path)
			continue;
		snprintf(shm_dir.path, sizeof shm_dir.path, "/dev/shm/%.80s", entry->d_name);
		shm_dir.owner = st.st_uid;
		shm_dir.group = st.st_gid;
		f(&shm_dir, arg);
	}
	if (shm)
		closedir(shm);
}
