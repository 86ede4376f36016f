/*
 * ancestor_tag.c - a word that all descendants inherit, through fork and exec
 *
 * SPDX-License-Identifier: MIT
 */
#include "host/ancestor_tag.h"

#include "base/sys.h"

/*
 *    63 62 61            22 21           0
 *    +----+---------------+--------------+
 *    | 01 |  start time   |  process id  |      a limit that no program sets
 *    +----+---------------+--------------+
 */
#define MARK      (UINT64_C(1) << 62)
#define PID_BITS  22
#define START_MAX ((UINT64_C(1) << (62 - PID_BITS)) - 1) /* 348 years */

static uint64_t mark_of(struct ident id)
{
	return MARK | (id.start & START_MAX) << PID_BITS | (id.pid & ((1u << PID_BITS) - 1));
}

static bool is_mark(uint64_t limit)
{
	return limit >> 62 == 1;
}

void ancestor_tag_set(uint32_t number, struct ident id)
{
	uint64_t soft, hard;

	if (sys_unused_limit(number, &soft, &hard) < 0 || hard != SYS_NO_LIMIT ||
	    (soft != SYS_NO_LIMIT && !is_mark(soft)))
		return;
	sys_set_unused_limit(number, mark_of(id), hard);
}

void ancestor_tag_clear(uint32_t number, struct ident id)
{
	uint64_t soft, hard;

	if (sys_unused_limit(number, &soft, &hard) == 0 && soft == mark_of(id))
		sys_set_unused_limit(number, hard, hard);
}

struct ident ancestor_tag_of(uint64_t limit)
{
	struct ident id = { 0, 0, 0 };

	if (is_mark(limit)) {
		id.pid = (uint32_t)limit & ((1u << PID_BITS) - 1);
		id.start = (limit & (MARK - 1)) >> PID_BITS;
	}
	return id;
}

struct ident ancestor_tag_get(uint32_t number)
{
	uint64_t soft, hard;

	return ancestor_tag_of(sys_unused_limit(number, &soft, &hard) == 0 ? soft : 0);
}
