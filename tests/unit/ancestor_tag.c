/*
 * ancestor_tag.c - src/host/ancestor_tag.c: a word that every descendant inherits, through fork and exec
 *
 * SPDX-License-Identifier: MIT
 */
#include "host/ancestor_tag.h"

#include "base/sys.h"
#include "unit.h"

static const struct ident someone = { 4194303, UINT64_C(123456789012), 99 }, other = { 1, 2, 3 };

static bool marked(struct ident id)
{
	struct ident got = ancestor_tag_get(0);

	return got.pid == id.pid && got.start == id.start && got.pidns == 0;
}

static void begin(void)
{
	uint64_t soft, hard;

	MUST(sys_unused_limit(0, &soft, &hard) == 0);
	if (hard != SYS_NO_LIMIT)
		SKIP("somebody has set this limit");
	if (soft != hard)
		MUST(sys_set_unused_limit(0, hard, hard) == 0);
}

static void check_none(void *arg)
{
	CHECK_EQ("-", ancestor_tag_get(0).pid, 0);
}

static void check_marked(void *arg)
{
	CHECK("-", marked(someone));
}

TEST(set_and_cleared)
{
	uint64_t soft, hard;

	begin();
	check_none(NULL);
	ancestor_tag_set(0, someone);
	check_marked(NULL);
	ancestor_tag_clear(0, other); /* tag of another process */
	check_marked(NULL);
	ancestor_tag_set(0, other); /* the nearest ancestor replaces it */
	CHECK("-", marked(other));
	ancestor_tag_clear(0, other);
	check_none(NULL);
	MUST(sys_unused_limit(0, &soft, &hard) == 0);
	CHECK("-", soft == SYS_NO_LIMIT && hard == SYS_NO_LIMIT); /* as before the test */
}

TEST(inherited)
{
	struct unit_child before, after;

	begin();
	before = unit_child(NULL, NULL);
	ancestor_tag_set(0, someone);
	after = unit_child(check_marked, NULL);
	ancestor_tag_clear(0, someone);
	unit_end_child(&after);
	unit_end_child(&before);
}

/* Sets and clears the tag of another process. */
TEST(of_another)
{
	struct unit_child child;
	uint64_t soft, hard;

	begin();
	child = unit_child(NULL, NULL);
	ancestor_tag_set((uint32_t)child.pid, someone);
	check_none(NULL); /* the caller has no tag */
	MUST(sys_unused_limit((uint32_t)child.pid, &soft, &hard) == 0);
	CHECK("-", soft != SYS_NO_LIMIT && hard == SYS_NO_LIMIT);
	CHECK("-", ancestor_tag_get((uint32_t)child.pid).pid == someone.pid &&
	      ancestor_tag_get((uint32_t)child.pid).start == someone.start);
	ancestor_tag_clear((uint32_t)child.pid, someone);
	MUST(sys_unused_limit((uint32_t)child.pid, &soft, &hard) == 0);
	CHECK("-", soft == SYS_NO_LIMIT);
	unit_end_child(&child);
	ancestor_tag_set(0x7ffffff0, someone); /* no such process: no effect */
	ancestor_tag_clear(0x7ffffff0, someone);
	CHECK_EQ("-", ancestor_tag_get(0x7ffffff0).pid, 0);
}

static const char *program;

/* The tag passes through programs that do not use the library. */
TEST(executed)
{
	char command[300];
	int status;

	begin();
	ancestor_tag_set(0, someone);
	snprintf(command, sizeof command, "sh -c '%s marked'", program);
	status = system(command);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 126)
		SKIP("a shell cannot execute a program for this processor here");
	CHECK_EQ("-", status, 0);
	ancestor_tag_clear(0, someone);
	status = system(command);
	CHECK_NE("-", status, 0);
}

/* Where the application has set the limit itself, it is left alone. */
TEST(set_by_others)
{
	uint64_t soft, hard;

	begin();
	MUST(sys_set_unused_limit(0, 1000, SYS_NO_LIMIT) == 0);
	check_none(NULL);
	ancestor_tag_set(0, someone);
	check_none(NULL);
	ancestor_tag_clear(0, someone);
	MUST(sys_unused_limit(0, &soft, &hard) == 0);
	CHECK("-", soft == 1000 && hard == SYS_NO_LIMIT);
	MUST(sys_set_unused_limit(0, 1000, 2000) == 0);
	ancestor_tag_set(0, someone);
	MUST(sys_unused_limit(0, &soft, &hard) == 0);
	CHECK("-", soft == 1000 && hard == 2000);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		TEST_ENTRY(set_and_cleared), TEST_ENTRY(inherited), TEST_ENTRY(of_another), TEST_ENTRY(executed),
		TEST_ENTRY(set_by_others), { NULL, NULL },
	};

	program = argv[0];
	if (argc > 1 && strcmp(argv[1], "marked") == 0)
		return !marked(someone);
	return test_main(tests, argc, argv);
}
