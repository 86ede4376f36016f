/*
 * states.c - the states of threads from made-up records of switches, wakings, births, ends and losses
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kernel/states.h"
#include "test.h"

static char told[4096];

static void tell(const char *text)
{
	strncat(told, text, sizeof told - strlen(told) - 1);
}

static void run(void *arg, const struct state_thread *t, const struct state_run *r)
{
	char line[128];

	(void)arg;
	snprintf(line, sizeof line, "%" PRIu32 " ran %" PRIu64 "-%" PRIu64 " on %" PRIu32 ", %u; ", t->tid,
	         r->since, r->until, r->cpu, r->why);
	tell(line);
}

static void off(void *arg, const struct state_thread *t, const struct state_off *o)
{
	char line[128];

	(void)arg;
	snprintf(line, sizeof line, "%" PRIu32 " off %" PRIu64 "-%" PRIu64 ", %u", t->tid, o->since, o->until,
	         o->state);
	tell(line);
	if (o->ready_known) {
		snprintf(line, sizeof line, ", ready %" PRIu64, o->ready);
		tell(line);
	}
	if (o->waker) {
		snprintf(line, sizeof line, " by %" PRIu32 " %s", o->waker->tid, o->waker->name);
		tell(line);
	}
	tell("; ");
}

static const struct state_calls calls = { run, off };

static struct states *begin(void)
{
	told[0] = '\0';
	return states_new(&calls, NULL);
}

static struct state_thread *thread(struct states *s, uint32_t tid)
{
	return states_thread(s, 1, tid);
}

/* Checks what was told since the last call. */
#define TOLD(text) \
	do { \
		CHECK_STR("-", told, text); \
		told[0] = '\0'; \
	} while (0)

TEST(waits)
{
	struct states *s = begin();
	const struct waker by = { 7, "waker" };

	/* Where it was before its first switch is not known. */
	states_in(s, thread(s, 1), 100, 2);
	TOLD("");
	states_waits(s, thread(s, 1), OFF_DISK);
	states_out(s, thread(s, 1), 150, 2, false);
	TOLD("1 ran 100-150 on 2, 3; ");
	states_woken(s, thread(s, 1), 170, 1, &by);
	/* Only the first waking counts. */
	states_woken(s, thread(s, 1), 175, 1, NULL);
	states_in(s, thread(s, 1), 180, 3);
	TOLD("1 off 150-180, 3, ready 10 by 7 waker; ");
	/* Without a tracepoint the kind of waiting and the waking are not known. */
	states_out(s, thread(s, 1), 190, 3, false);
	states_in(s, thread(s, 1), 199, 3);
	TOLD("1 ran 180-190 on 3, 1; 1 off 190-199, 1; ");
	states_free(s);
}

/* Another processor wakes a thread that has decided to wait, before it is recorded that it has left its own one. */
TEST(woken_early)
{
	struct states *s = begin();
	const struct waker by = { 7, "waker" }, other = { 8, "other" };

	states_in(s, thread(s, 1), 100, 2);
	states_waits(s, thread(s, 1), OFF_DISK);
	states_woken(s, thread(s, 1), 140, 3, &by);
	states_out(s, thread(s, 1), 150, 2, false);
	states_in(s, thread(s, 1), 180, 3);
	TOLD("1 ran 100-150 on 2, 3; 1 off 150-180, 3, ready 30 by 7 waker; ");
	/* A later waking shows that the early one was not the end of this wait. */
	states_woken(s, thread(s, 1), 190, 2, &by);
	states_out(s, thread(s, 1), 200, 3, false);
	states_woken(s, thread(s, 1), 220, 2, &other);
	states_in(s, thread(s, 1), 230, 3);
	TOLD("1 ran 180-200 on 3, 1; 1 off 200-230, 1, ready 10 by 8 other; ");
	/* It was too early, or on its own processor. */
	states_woken(s, thread(s, 1), 240, 2, &by);
	states_out(s, thread(s, 1), 1000000, 3, false);
	states_in(s, thread(s, 1), 1000010, 3);
	TOLD("1 ran 230-1000000 on 3, 1; 1 off 1000000-1000010, 1; ");
	states_woken(s, thread(s, 1), 1000015, 3, &by);
	states_out(s, thread(s, 1), 1000020, 3, false);
	states_in(s, thread(s, 1), 1000030, 3);
	TOLD("1 ran 1000010-1000020 on 3, 1; 1 off 1000020-1000030, 1; ");
	/* It is no waking of the next wait. */
	states_woken(s, thread(s, 1), 1000035, 2, &by);
	states_out(s, thread(s, 1), 1000040, 3, false);
	states_in(s, thread(s, 1), 1000050, 3);
	states_out(s, thread(s, 1), 1000060, 3, false);
	states_in(s, thread(s, 1), 1000070, 3);
	TOLD("1 ran 1000030-1000040 on 3, 1; 1 off 1000040-1000050, 1, ready 10 by 7 waker; "
	     "1 ran 1000050-1000060 on 3, 1; 1 off 1000060-1000070, 1; ");
	states_free(s);
}

TEST(preempted)
{
	struct states *s = begin();

	states_in(s, thread(s, 1), 10, 0);
	states_waits(s, thread(s, 1), OFF_OTHER);
	states_out(s, thread(s, 1), 20, 0, true);
	states_in(s, thread(s, 1), 50, 1);
	TOLD("1 ran 10-20 on 0, 0; 1 off 20-50, 0, ready 30; ");
	/* The kind of waiting of before is not that of the next time. */
	states_out(s, thread(s, 1), 60, 1, false);
	TOLD("1 ran 50-60 on 1, 1; ");
	/* A waking while it runs keeps it from waiting. */
	states_in(s, thread(s, 1), 70, 1);
	TOLD("1 off 60-70, 1; ");
	states_woken(s, thread(s, 1), 75, 1, NULL);
	states_out(s, thread(s, 1), 80, 1, false);
	states_in(s, thread(s, 1), 90, 1);
	TOLD("1 ran 70-80 on 1, 1; 1 off 80-90, 1; ");
	states_free(s);
}

TEST(births_and_ends)
{
	struct states *s = begin();

	states_birth(s, thread(s, 5), 100);
	states_in(s, thread(s, 5), 130, 1);
	TOLD("5 off 100-130, 6, ready 30; ");
	states_exit(s, thread(s, 5), 140);
	TOLD("5 ran 130-140 on 1, 8; ");
	CHECK("-", states_known(s, 5) == NULL);
	/* The next thread with this id has no state. */
	states_out(s, thread(s, 5), 150, 1, false);
	TOLD("");
	/* A thread that runs anyway, as after an execution. */
	states_runs(s, thread(s, 6), 200, 0);
	states_runs(s, thread(s, 6), 210, 0);
	states_end(s, 300);
	CHECK("-", strstr(told, "6 ran 200-300 on 0, 9; ") != NULL);
	CHECK("-", strstr(told, "5 off 150-300, 1; ") != NULL);
	states_free(s);
}

TEST(losses)
{
	struct states *s = begin();

	states_in(s, thread(s, 1), 100, 0);
	states_birth(s, thread(s, 2), 100);
	thread(s, 1)->call.open = true;
	states_gap_begins(s);
	CHECK("-", !states_sure(s));
	CHECK("-", !thread(s, 1)->call.open);
	/* In the gap, records of other processors come, but those between them may be missing. */
	states_out(s, thread(s, 1), 110, 0, false);
	states_in(s, thread(s, 1), 120, 0);
	states_gap_begins(s);
	states_gap_ends(s);
	CHECK("-", !states_sure(s));
	states_in(s, thread(s, 2), 130, 0);
	states_gap_ends(s);
	CHECK("-", states_sure(s));
	states_out(s, thread(s, 1), 140, 0, false);
	states_out(s, thread(s, 2), 140, 0, true);
	TOLD("");
	/* From here on all is known. */
	states_in(s, thread(s, 1), 150, 0);
	states_in(s, thread(s, 2), 160, 0);
	TOLD("1 off 140-150, 1; 2 off 140-160, 0, ready 20; ");
	/* A thread of another process has the id, and another name. */
	strcpy(thread(s, 2)->name, "till");
	CHECK("-", thread(s, 2)->name[0] == 't');
	CHECK("-", states_thread(s, 7, 2)->name[0] == '\0');
	/* A thread that leaves another processor than it had has records missing that nothing tells of. */
	states_out(s, thread(s, 1), 170, 1, false);
	TOLD("");
	states_free(s);
}

TEST(many)
{
	struct states *s = begin();
	unsigned missing = 0;

	for (uint32_t tid = 1; tid <= 5000; tid++)
		states_in(s, thread(s, tid), tid, 0);
	for (uint32_t tid = 1; tid <= 5000; tid++)
		missing += states_known(s, tid) == NULL;
	CHECK_EQ("-", missing, 0);
	for (uint32_t tid = 1; tid <= 5000; tid++) {
		char wanted[64];

		snprintf(wanted, sizeof wanted, "%u ran %u-6000 on 0, 8; ", tid, tid);
		states_exit(s, thread(s, tid), 6000);
		if (strcmp(told, wanted) != 0)
			missing++;
		told[0] = '\0';
	}
	CHECK_EQ("-", missing, 0);
	states_free(s);
}

TEST_MAIN(TEST_ENTRY(waits), TEST_ENTRY(woken_early), TEST_ENTRY(preempted), TEST_ENTRY(births_and_ends),
          TEST_ENTRY(losses), TEST_ENTRY(many))
