/*
 * linux_event.c - reads the events of record --kernel: what a type is, and the values of an event (docs/kernel.md)
 *
 * SPDX-License-Identifier: MIT
 */
#include "analysis/linux_event.h"

#include <string.h>

#include "common/unaligned.h"

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

enum linux_kind linux_kind(const char *name, const char *layout)
{
	static const struct {
		enum linux_kind kind;
		const char *name, *layout; /* the beginning of the layout, as far as the fields are used */
	} kinds[] = {
		{ LINUX_RUN, "linux_run", "{packed,took=took;took:u64/ns,cpu:u32,why:u8<" },
		{ LINUX_OFF, "linux_off", "{packed,took=took;took:u64/ns,state:u8<" },
		{ LINUX_UNFINISHED, LINUX_CALL_PREFIX "unfinished", "{packed,took=took;took:u64/ns,call:z" },
		{ LINUX_FAULT, "linux_fault", "{packed;address:x64,at:a64,kind:u8<" },
		{ LINUX_FORK, "linux_fork", "{packed;pid:u32,tid:u32" },
		{ LINUX_EXIT, "linux_exit", "" },
	};

	if (!begins(name, "linux_"))
		return LINUX_NONE;
	for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strcmp(name, kinds[i].name) == 0)
			return begins(layout, kinds[i].layout) ? kinds[i].kind : LINUX_NONE;
	if (!begins(name, LINUX_CALL_PREFIX) || !begins(layout, "{packed,took=took;took:u64/ns"))
		return LINUX_NONE;
	return begins(layout, "{packed,took=took;took:u64/ns,result:i64") ? LINUX_CALL : LINUX_LAST_CALL;
}

const char *linux_state_name(unsigned state)
{
	static const char *const names[] = { "preempted", "blocked", "sleeping", "disk", "stopped", "traced", "new",
	                                     "other" };

	return state < sizeof names / sizeof *names ? names[state] : "other";
}

bool linux_read_run(struct linux_run *run, const unsigned char *data, uint32_t length)
{
	*run = (struct linux_run){ .why = LINUX_OTHER };
	if (length < 8)
		return false;
	run->took = unaligned_u64(data);
	run->cpu_known = length >= 12;
	if (run->cpu_known)
		run->cpu = unaligned_u32(data + 8);
	run->why_known = length >= 13;
	if (run->why_known)
		run->why = data[12];
	return true;
}

bool linux_read_off(struct linux_off *off, const unsigned char *data, uint32_t length)
{
	*off = (struct linux_off){ .state = LINUX_BLOCKED };
	if (length < 8)
		return false;
	off->took = unaligned_u64(data);
	if (length >= 9)
		off->state = data[8];
	off->ready_known = length >= 17;
	if (off->ready_known)
		off->ready = unaligned_u64(data + 9);
	if (off->ready > off->took)
		off->ready = off->took;
	off->waker_known = length >= 21;
	if (off->waker_known) {
		off->waker = unaligned_u32(data + 17);
		memcpy(off->waker_name, data + 21, length - 21 < LINUX_NAME - 1 ? length - 21 : LINUX_NAME - 1);
	}
	return true;
}

bool linux_read_call(uint64_t *took, int64_t *result, const unsigned char *data, uint32_t length)
{
	*result = 0;
	if (length < 8)
		return false;
	*took = unaligned_u64(data);
	if (length >= 16)
		*result = (int64_t)unaligned_u64(data + 8);
	return true;
}

bool linux_is_major(const unsigned char *data, uint32_t length)
{
	return length >= 17 && data[16] == 1;
}
