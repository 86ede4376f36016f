/*
 * recover.c - what the dead left behind (H11)
 *
 * SPDX-License-Identifier: MIT
 */
#include "control/recover.h"

#include <fcntl.h>
#include <stddef.h>
#include <string.h>

#include "base/file.h"
#include "base/sys.h"

/* As the kernel gives it. */
struct entry {
	uint64_t inode;
	int64_t offset;
	uint16_t length;
	uint8_t type;
	char name[];
};

/* Files of one process stand together more often than not: the last answer is remembered. */
struct known {
	struct ident id;
	bool alive;
};

static bool alive(struct known *known, struct ident id)
{
	if (known->id.pid != id.pid || known->id.start != id.start) {
		known->id = id;
		known->alive = ident_alive(id);
	}
	return known->alive;
}

uint32_t recover_directory(int dir)
{
	_Alignas(struct entry) unsigned char buf[4096];
	struct known known = { { 0, 0 }, false };
	uint32_t streams = 0;
	int n, list = sys_open(dir, ".", O_RDONLY | O_DIRECTORY, 0);

	if (list < 0)
		return 0;
	while ((n = sys_getdents(list, buf, sizeof buf)) > 0) {
		for (int at = 0; at < n;) {
			const struct entry *e = (const struct entry *)(buf + at);
			struct ident id;
			uint32_t serial;
			char kind[16];

			at += e->length;
			if (!file_name_parse(e->name, kind, &id, &serial))
				continue; /* "." and "..", and what is not ours */
			if (strcmp(kind, "new") == 0) {
				/* Being made: its second number is a thread's, which may have ended in the middle. */
				if (!ident_alive((struct ident){ id.pid, 0 }))
					sys_unlink(dir, e->name);
			} else if (!alive(&known, id)) {
				sys_unlink(dir, e->name);
			} else if (strcmp(kind, "stream") == 0) {
				streams++;
			}
		}
	}
	sys_close(list);
	return streams;
}
