/*
 * header.c - the description at the beginning of a log
 *
 * SPDX-License-Identifier: MIT
 */
#include "log/header.h"

#include <fcntl.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/sys.h"
#include "base/ticks.h"
#include "log/format.h"
#include "model/record.h"

static unsigned hex(char c)
{
	return c >= 'a' ? (unsigned)(c - 'a' + 10) : (unsigned)(c - '0') & 15;
}

/* "6b0c5d6e-...": 32 digits with dashes between. */
static void boot_id(unsigned char id[16])
{
	int fd = sys_open(AT_FDCWD, "/proc/sys/kernel/random/boot_id", O_RDONLY, 0);
	unsigned digits = 0;
	char text[64];
	long n;

	if (fd < 0)
		return;
	n = sys_read(fd, text, sizeof text);
	sys_close(fd);
	for (long i = 0; i < n && digits < 32; i++)
		if (text[i] != '-' && text[i] != '\n') {
			id[digits / 2] = (unsigned char)(id[digits / 2] << 4 | hex(text[i]));
			digits++;
		}
}

static void copy(char *to, const char *from, size_t size)
{
	size_t n = strnlen(from, size - 1);

	memcpy(to, from, n);
	to[n] = 0;
}

void header_machine(struct log_header *h)
{
	struct utsname name;

	h->word = sizeof(void *);
	memset(h->boot, 0, sizeof h->boot);
	boot_id(h->boot);
	if (uname(&name) == 0) {
		copy(h->host, name.nodename, sizeof h->host);
		copy(h->kernel, name.release, sizeof h->kernel);
		copy(h->machine, name.machine, sizeof h->machine);
	}
}

static unsigned char *put_string(unsigned char *p, const char *s)
{
	size_t n = strlen(s);

	put16(p, (uint16_t)n);
	memcpy(p + 2, s, n); /* NOLINT(bugprone-not-null-terminated-result): its length is in front of it */
	return p + 2 + n;
}

size_t header_put(unsigned char body[HEADER_BODY_MAX], const struct log_header *h)
{
	const struct attr *a = &h->attr;
	struct header_layout *l = (struct header_layout *)body;
	unsigned char *p = body + sizeof *l;

	memset(l, 0, sizeof *l);
	memcpy(l->magic, FORMAT_MAGIC, sizeof FORMAT_MAGIC);
	PUT_FIELD(l->major, FORMAT_MAJOR);
	PUT_FIELD(l->minor, FORMAT_MINOR);
	l->order = FORMAT_ORDER;
	l->word = h->word;
	PUT_FIELD(l->created, attr_created(a));
	PUT_FIELD(l->monotonic, h->monotonic);
	PUT_FIELD(l->resolution, (uint64_t)a->resolution_nsec);
	PUT_FIELD(l->stream_size, a->stream_size);
	PUT_FIELD(l->log_size, a->log_size);
	PUT_FIELD(l->data_size, a->data_size);
	l->stream_policy = (unsigned char)a->stream_policy;
	l->log_policy = (unsigned char)a->log_policy;
	l->inheritance = (unsigned char)a->inheritance;
	PUT_FIELD(l->target, h->target);
	PUT_FIELD(l->creator, h->creator);
	memcpy(l->boot, h->boot, sizeof l->boot);
	p = put_string(p, a->version);
	p = put_string(p, a->name);
	p = put_string(p, h->host);
	p = put_string(p, h->kernel);
	p = put_string(p, h->machine);
	p = put_string(p, h->stream);
	put64(p, h->generation);
	return (size_t)(p + 8 - body);
}

/* Copies a string, cut if it is too long. Returns null if the string is incomplete. */
static const unsigned char *get_string(const unsigned char *p, const unsigned char *end, char *to, size_t size)
{
	size_t n, fits;

	if (!p || end - p < 2)
		return NULL;
	n = get16(p);
	p += 2;
	if ((size_t)(end - p) < n)
		return NULL;
	fits = n < size - 1 ? n : size - 1;
	memcpy(to, p, fits);
	memset(to + fits, 0, size - fits);
	return p + n;
}

static bool policies_valid(const struct attr *a)
{
	return a->stream_policy >= POSIX_TRACE_LOOP && a->stream_policy <= POSIX_TRACE_FLUSH &&
	       (a->log_policy == POSIX_TRACE_LOOP || a->log_policy == POSIX_TRACE_UNTIL_FULL ||
	        a->log_policy == POSIX_TRACE_APPEND) &&
	       (a->inheritance == POSIX_TRACE_CLOSE_FOR_CHILD || a->inheritance == POSIX_TRACE_INHERITED);
}

bool header_get(struct log_header *h, const unsigned char *body, size_t size)
{
	const struct header_layout *l = (const struct header_layout *)body;
	const unsigned char *p = body + sizeof *l, *end = body + size;
	struct attr *a = &h->attr;
	uint64_t created;

	memset(h, 0, sizeof *h);
	if (size < sizeof *l || memcmp(l->magic, FORMAT_MAGIC, sizeof FORMAT_MAGIC - 1) != 0 ||
	    GET_FIELD(l->major) != FORMAT_MAJOR || l->order != FORMAT_ORDER)
		return false;
	attr_init(a);
	h->word = l->word;
	created = GET_FIELD(l->created);
	a->create_sec = (int64_t)(created / NS_PER_S);
	a->create_nsec = (int64_t)(created % NS_PER_S);
	h->monotonic = GET_FIELD(l->monotonic);
	a->resolution_nsec = (int64_t)GET_FIELD(l->resolution);
	a->stream_size = GET_FIELD(l->stream_size);
	a->log_size = GET_FIELD(l->log_size);
	a->data_size = GET_FIELD(l->data_size);
	a->stream_policy = l->stream_policy;
	a->log_policy = l->log_policy;
	a->inheritance = l->inheritance;
	h->target = GET_FIELD(l->target);
	h->creator = GET_FIELD(l->creator);
	memcpy(h->boot, l->boot, sizeof h->boot);
	/* Truncated to the size of the buffers of posix_trace_attr_get*(). */
	p = get_string(p, end, a->version, TRACE_NAME_MAX);
	p = get_string(p, end, a->name, TRACE_NAME_MAX);
	p = get_string(p, end, h->host, sizeof h->host);
	p = get_string(p, end, h->kernel, sizeof h->kernel);
	p = get_string(p, end, h->machine, sizeof h->machine);
	p = get_string(p, end, h->stream, sizeof h->stream);
	/* Before version 1.4 nothing followed. */
	if (p && GET_FIELD(l->minor) >= 4) {
		if (end - p < 8)
			return false;
		h->generation = get64(p);
	}
	return p && policies_valid(a) && a->data_size <= RECORD_DATA_MAX && a->resolution_nsec >= 0 &&
	       created <= INT64_MAX;
}
