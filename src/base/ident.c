/*
 * ident.c - which process or thread, and does it still live
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/ident.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/sys.h"
#include "base/text.h"

/* State letter and start time from /proc; false if it cannot be read. */
static bool read_stat(uint32_t pid, char *state, uint64_t *start)
{
	char path[32], buf[1024], *p;
	struct text t = text_into(path, sizeof path);
	long n;
	int fd;

	text_add(&t, "/proc/");
	text_add_number(&t, pid);
	text_add(&t, "/stat");
	fd = sys_open(AT_FDCWD, path, O_RDONLY, 0);
	if (fd < 0)
		return false;
	n = sys_read(fd, buf, sizeof buf - 1);
	sys_close(fd);
	if (n <= 0)
		return false;
	buf[n] = 0;

	/* The command name, in parentheses, may contain anything; the state is field 3, the start time field 22. */
	p = strrchr(buf, ')');
	if (!p || p[1] != ' ')
		return false;
	p += 2;
	*state = *p;
	for (int field = 3; field < 22; field++) {
		p = strchr(p, ' ');
		if (!p)
			return false;
		p++;
	}
	*start = text_number(p);
	return true;
}

struct ident ident_self(void)
{
	struct ident id = { (uint32_t)sys_getpid(), 0 };
	char state;

	if (!read_stat(id.pid, &state, &id.start))
		id.start = 0;
	return id;
}

bool ident_alive(struct ident id)
{
	char state;
	uint64_t start;

	if (id.pid == 0 || sys_kill_probe((int)id.pid) == -ESRCH)
		return false;
	if (!read_stat(id.pid, &state, &start))
		return true;
	return (id.start == 0 || start == id.start) && state != 'Z' && state != 'X';
}

uint64_t ident_image(void)
{
	const void *random = (const void *)getauxval(AT_RANDOM);
	uint64_t image = 0;

	if (random)
		memcpy(&image, random, sizeof image);
	return image;
}

bool thread_alive(uint32_t tid)
{
	return sys_thread_probe(0, (int)tid) != -ESRCH;
}
