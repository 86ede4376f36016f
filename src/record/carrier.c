/*
 * carrier.c - a descriptor that tells a new program whom it descends from
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/carrier.h"

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include "base/sys.h"
#include "base/testpoint.h"

/* The last numbers below this one, or below the limit: few programs get there, and the kernel's table stays small. */
#define NUMBER_END 1024
#define NUMBERS    16

/* In memory that a forked child keeps: it inherits the descriptor too. */
static struct carrier {
	uint32_t busy;  /* process in which somebody is at it */
	uint32_t pid;   /* whose page it is, in that one's namespace; 0: none is open */
	int fd;
	uint64_t inode; /* to know it again */
} carrier;

static int numbers_from(void)
{
	unsigned limit = sys_descriptor_limit();

	return (int)(limit < NUMBER_END ? limit : NUMBER_END) - NUMBERS;
}

/* Still ours? The program may have closed it, and got the number for something else. */
static bool still_there(void)
{
	struct sys_stat st;

	return carrier.pid && sys_stat(carrier.fd, &st) == 0 && S_ISREG(st.mode) && st.inode == carrier.inode;
}

static void open_it(const struct process *process)
{
	char name[FILE_NAME_SIZE];
	struct sys_stat st;
	int dir, fd, from = numbers_from(), high;

	if (from < 0)
		return;
	dir = file_directory(&process->place, false);
	if (dir < 0)
		return;
	file_name_once(name, "page", process->ident);
	fd = sys_open(dir, name, O_RDONLY | O_NOFOLLOW, 0);
	sys_close(dir);
	if (fd < 0)
		return;
	if (sys_stat(fd, &st) == 0) {
		TEST_POINT("carrier_opened");
		if (still_there())
			high = sys_duplicate_over(fd, carrier.fd);
		else
			high = sys_duplicate(fd, from, true);
		if (high >= from + NUMBERS) {
			sys_close(high); /* all of those are in use */
		} else if (high >= 0) {
			TEST_POINT("carrier_copied");
			carrier.fd = high;
			carrier.inode = st.inode;
			carrier.pid = process->ident.pid;
			TEST_POINT("carrier_known");
		}
	}
	sys_close(fd);
}

void carrier_update(const struct process *process, bool wanted)
{
	uint32_t busy = load_relaxed(&carrier.busy), pid = process->ident.pid;

	if (wanted ? load_relaxed(&carrier.pid) == pid : !load_relaxed(&carrier.pid))
		return;
	/* Somebody of a process that this one was forked from may have been at it. */
	if (busy == pid || !cas(&carrier.busy, &busy, pid)) /* PAIR(carrier) */
		return;
	TEST_POINT("carrier_busy");
	if (wanted) {
		open_it(process);
	} else {
		if (still_there())
			sys_close(carrier.fd);
		TEST_POINT("carrier_closed");
		carrier.pid = 0;
	}
	store_release(&carrier.busy, 0); /* PAIR(carrier) */
	TEST_POINT("carrier_free");
}

struct procpage *carrier_find(const struct place *place)
{
	int from = numbers_from();

	/* A program that has more rights than who started it believes nothing that it was given. */
	if (getauxval(AT_SECURE) || from < 0)
		return NULL;
	for (int fd = from; fd < from + NUMBERS; fd++) {
		struct procpage *page;
		struct sys_stat st;

		if (sys_stat(fd, &st) < 0 || !S_ISREG(st.mode) || st.uid != place->owner || st.size != PAGE_SIZE_BYTES)
			continue;
		page = sys_map(PAGE_SIZE_BYTES, fd, 0);
		if (!page)
			return NULL;
		if (procpage_is(page, (struct ident){ page->pid, page->start, page->space })) {
			TEST_POINT("carrier_found");
			/* Its number is ours now, for a page of our own. */
			carrier = (struct carrier){ 0, page->pid, fd, st.inode };
			return page;
		}
		sys_unmap(page, PAGE_SIZE_BYTES);
	}
	return NULL;
}
