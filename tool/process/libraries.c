/*
 * libraries.c - which libraries the dynamic loader will load for a program, without running anything
 *
 * SPDX-License-Identifier: MIT
 */
#include "process/libraries.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* More than any program has; also ends a chain that somebody made up. */
#define LIBRARIES_MOST 2000
#define CACHE_MOST     (16 << 20)

/* -- The cache of the dynamic loader --------------------------------------------------------------- */

/*
 * The layout of /etc/ld.so.cache: a header, entries, strings. Offsets of strings count from the header. An older layout
 * may come before it.
 */
struct cache_header {
	char magic[20];
	uint32_t entries, strings_size;
	uint32_t unused[5];
};

struct cache_entry {
	int32_t flags;
	uint32_t name, path; /* offsets */
	uint32_t system;
	uint64_t hardware;
};

static const char cache_magic[] = "glibc-ld.so.cache1.1";

struct cache {
	char *bytes; /* from the header on, with a zero byte behind; null: no cache */
	size_t size;
	void *allocated;
};

static void cache_read(struct cache *c)
{
	int fd = open("/etc/ld.so.cache", O_RDONLY | O_CLOEXEC);
	struct stat st;

	memset(c, 0, sizeof *c);
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && st.st_size > 0 && st.st_size <= CACHE_MOST) {
		char *all = calloc(1, (size_t)st.st_size + 1);
		ssize_t n = all ? pread(fd, all, (size_t)st.st_size, 0) : -1;
		char *at = n > 0 ? memmem(all, (size_t)n, cache_magic, sizeof cache_magic - 1) : NULL;

		c->allocated = all;
		if (at && (size_t)(all + n - at) >= sizeof(struct cache_header)) {
			c->bytes = at;
			c->size = (size_t)(all + n - at);
		}
	}
	close(fd);
}

/* Returns the index-th path of this library; null after the last. */
static const char *cache_find(const struct cache *c, const char *name, unsigned index)
{
	struct cache_header header;
	struct cache_entry e;

	if (!c->bytes)
		return NULL;
	memcpy(&header, c->bytes, sizeof header);
	for (uint32_t i = 0; i < header.entries; i++) {
		size_t at = sizeof header + i * sizeof e;

		if (at + sizeof e > c->size)
			return NULL;
		memcpy(&e, c->bytes + at, sizeof e);
		if (e.name < c->size && e.path < c->size && strcmp(c->bytes + e.name, name) == 0 && index-- == 0)
			return c->bytes + e.path;
	}
	return NULL;
}

/* -- Where a library is ------------------------------------------------------------------------------- */

struct library {
	char *path;
	char *name; /* under which another one needs it */
	struct elf_file *file;
};

struct search {
	struct cache cache;
	struct library *library;
	unsigned count;
	const char *program_path, *from_environment;
};

static struct elf_file *open_same_kind(const char *path, const struct elf_file *like)
{
	struct elf_file *f = elf_file_open(path);

	if (f && elf_file_same_kind(f, like))
		return f;
	elf_file_close(f);
	return NULL;
}

/* Returns `folder`, `length` bytes, with $ORIGIN replaced by the folder of `of`, and the name behind it. */
static char *path_in(const char *folder, size_t length, const char *of, const char *name)
{
	static const char *const words[] = { "$ORIGIN", "${ORIGIN}" };
	const char *slash = strrchr(of, '/');
	int origin = slash ? (int)(slash - of) : 1;
	char *path;

	for (unsigned i = 0; i < 2; i++) {
		size_t n = strlen(words[i]);

		if (length >= n && strncmp(folder, words[i], n) == 0)
			return asprintf(&path, "%.*s%.*s/%s", origin, slash ? of : ".", (int)(length - n), folder + n,
			                name) < 0
			     ? NULL
			     : path;
	}
	return asprintf(&path, "%.*s/%s", (int)length, folder, name) < 0 ? NULL : path;
}

/* Looks in the folders of a list; empty ones are the current folder. Sets *found. */
static struct elf_file *in_list(const char *list, const char *of, const char *name, const struct elf_file *like,
                                char **found)
{
	for (const char *end; list; list = *end ? end + 1 : NULL) {
		struct elf_file *f;
		char *path;

		end = strpbrk(list, ":;");
		end = end ? end : list + strlen(list);
		path = end == list ? path_in(".", 1, of, name) : path_in(list, (size_t)(end - list), of, name);
		f = path ? open_same_kind(path, like) : NULL;
		if (f) {
			*found = path;
			return f;
		}
		free(path);
	}
	return NULL;
}

static struct elf_file *find(const struct search *s, const char *name, const struct library *for_whom, char **found)
{
	const char *runpath = elf_file_dynamic(for_whom->file, DT_RUNPATH, 0);
	const char *rpath = runpath ? NULL : elf_file_dynamic(for_whom->file, DT_RPATH, 0);
	const struct elf_file *like = for_whom->file;
	struct elf_file *f = NULL;
	const char *path;

	if (strchr(name, '/')) {
		f = open_same_kind(name, like);
		*found = f ? strdup(name) : NULL;
		return f;
	}
	f = in_list(rpath, for_whom->path, name, like, found);
	f = f ? f : in_list(s->from_environment, s->program_path, name, like, found);
	f = f ? f : in_list(runpath, for_whom->path, name, like, found);
	for (unsigned i = 0; !f && (path = cache_find(&s->cache, name, i)); i++) {
		f = open_same_kind(path, like);
		*found = f ? strdup(path) : NULL;
	}
	return f ? f : in_list("/lib64:/usr/lib64:/lib:/usr/lib:/usr/local/lib", s->program_path, name, like, found);
}

/* -- All of them ------------------------------------------------------------------------------------ */

/* Takes path and file, unless there is no memory. */
static bool add(struct search *s, char *path, const char *name, struct elf_file *file)
{
	struct library *more;
	char *copy;

	if (s->count % 64 == 0) {
		more = realloc(s->library, (s->count + 64) * sizeof *more);
		if (!more)
			return false;
		s->library = more;
	}
	copy = strdup(name);
	if (copy)
		s->library[s->count++] = (struct library){ .path = path, .name = copy, .file = file };
	return copy != NULL;
}

static bool known(const struct search *s, const char *name)
{
	for (unsigned i = 0; i < s->count; i++)
		if (strcmp(s->library[i].name, name) == 0)
			return true;
	return false;
}

bool libraries_each(const char *program, void (*each)(const char *path, const struct elf_file *file, void *arg),
                    void (*missing)(const char *name, void *arg), void *arg)
{
	struct search s = { .program_path = program, .from_environment = getenv("LD_LIBRARY_PATH") };
	struct elf_file *file = elf_file_open(program);
	char *path = file ? strdup(program) : NULL;
	const char *name;

	if (!path || !add(&s, path, "", file)) {
		elf_file_close(file);
		free(path);
		free(s.library);
		return false;
	}
	cache_read(&s.cache);
	for (unsigned i = 0; i < s.count && s.count < LIBRARIES_MOST; i++) {
		each(s.library[i].path, s.library[i].file, arg);
		for (unsigned n = 0; (name = elf_file_dynamic(s.library[i].file, DT_NEEDED, n)); n++) {
			if (known(&s, name))
				continue;
			path = NULL;
			file = find(&s, name, &s.library[i], &path);
			if (file && path && add(&s, path, name, file))
				continue;
			elf_file_close(file);
			free(path);
			if (missing)
				missing(name, arg);
		}
	}
	for (unsigned i = 0; i < s.count; i++) {
		elf_file_close(s.library[i].file);
		free(s.library[i].path);
		free(s.library[i].name);
	}
	free(s.library);
	free(s.cache.allocated);
	return true;
}
