/*
 * labels.c - the body of a frame LABELS: who has recorded a log
 *
 * SPDX-License-Identifier: MIT
 */
#include "log/labels.h"

#include <fcntl.h>
#include <string.h>

#include "base/little_endian.h"
#include "base/sys.h"
#include "base/utf8.h"

#define MACHINE_ID_DIGITS 32

static bool is_text(const char *text, size_t length, size_t most)
{
	return length <= most && utf8_harmless((const unsigned char *)text, length, "", NULL);
}

static bool is_label(const char *key, size_t key_length, const char *value, size_t value_length)
{
	return key_length && !memchr(key, '=', key_length) && is_text(key, key_length, LABEL_KEY_MAX) &&
	       is_text(value, value_length, LABEL_VALUE_MAX);
}

/* Takes the string at p. Returns the byte after it, or null if it does not end before end. */
static const unsigned char *take(const unsigned char *p, const unsigned char *end, const char **text, size_t *length)
{
	if (!p || end - p < 2 || end - p - 2 < get16(p))
		return NULL;
	*text = (const char *)p + 2;
	*length = get16(p);
	return p + 2 + *length;
}

/* Removes a label. Returns how many there were before. */
static unsigned forget(struct labels *l, const char *key, size_t key_length)
{
	const unsigned char *p = l->body, *next, *end = l->body + l->size;
	const char *k, *v;
	unsigned count = 0;
	size_t kn, vn;

	for (; (next = take(take(p, end, &k, &kn), end, &v, &vn)) != NULL; p = next) {
		count++;
		if (kn == key_length && memcmp(k, key, kn) == 0) {
			memmove(l->body + (p - l->body), next, (size_t)(end - next));
			l->size -= (size_t)(next - p);
			end -= next - p;
			next = p;
			count--;
		}
	}
	return count;
}

static unsigned char *put(unsigned char *p, const char *text, size_t length)
{
	put16(p, (uint16_t)length);
	memcpy(p + 2, text, length);
	return p + 2 + length;
}

bool labels_set(struct labels *l, const char *key, size_t key_length, const char *value, size_t value_length)
{
	unsigned char *p;

	if (!is_label(key, key_length, value, value_length) || forget(l, key, key_length) >= LABELS_MAX)
		return false;
	p = put(l->body + l->size, key, key_length);
	l->size = (size_t)(put(p, value, value_length) - l->body);
	return true;
}

void labels_set_machine(struct labels *l)
{
	char id[MACHINE_ID_DIGITS + 1] = "";
	int fd = sys_open(AT_FDCWD, "/etc/machine-id", O_RDONLY | O_NONBLOCK, 0);
	long n;

	if (fd < 0)
		return;
	n = sys_read(fd, id, MACHINE_ID_DIGITS);
	sys_close(fd);
	if (n != MACHINE_ID_DIGITS || strspn(id, "0123456789abcdef") != MACHINE_ID_DIGITS)
		return;
	labels_set(l, "host.id", sizeof "host.id" - 1, id, MACHINE_ID_DIGITS);
}

void labels_each(const unsigned char *body, size_t size,
                 void (*f)(const char *key, size_t key_length, const char *value, size_t value_length, void *arg),
                 void *arg)
{
	const unsigned char *p = body, *end = body + size;
	const char *key, *value;
	size_t key_length, value_length;

	while ((p = take(take(p, end, &key, &key_length), end, &value, &value_length)) != NULL)
		if (is_label(key, key_length, value, value_length))
			f(key, key_length, value, value_length, arg);
}
