/*
 * kernel_events.c - which events of the kernel this user can record with record --kernel
 *
 * SPDX-License-Identifier: MIT
 */
#include "doctor/kernel_events.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doctor/findings.h"
#include "kernel/points.h"
#include "kernel/refused.h"

#define SUBJECT "kernel events"

/* Lists the groups that are complete, in part there, or not there. */
static void list(char *text, size_t size, const struct points *p, bool complete)
{
	size_t length = 0;

	text[0] = '\0';
	for (enum group i = 0; i < GROUP_COUNT; i++) {
		const char *lack = points_lack(p, i);

		if (complete ? lack != NULL : !lack)
			continue;
		length += (size_t)snprintf(text + length, size - length, "%s%s", length ? ", " : "", group_names[i]);
		if (lack && strcmp(lack, "all") != 0)
			length += (size_t)snprintf(text + length, size - length, " (%s)", lack);
	}
}

/* Says which stacks this user can have. */
static void stacks(void)
{
	struct sampling s = { .hertz = 999, .off_cpu = true, .depth = SAMPLING_DEPTH };

	sampling_find(&s);
	if (s.error)
		finding(GRADE_WARNING, SUBJECT, "be root, or sysctl kernel.perf_event_paranoid=2",
			"record --sample cannot take any samples: %s", strerror(s.error));
	else
		finding(GRADE_OK, SUBJECT, NULL, "record --sample can take samples, by %s%s%s",
			s.cycles ? "the counter of cycles" : "the clock",
			s.user_only ? ", of programs only; root also has those of the kernel" : "",
			s.off_error ? "; --off-cpu is for root" : "; --off-cpu works");
}

void doctor_kernel_events(void)
{
	char have[128], lack[256];
	struct points *p = calloc(1, sizeof *p);
	int error = p ? points_find(p, GROUPS_ALL) : ENOMEM;

	if (error) {
		struct refused r;

		refused_all(&r, error);
		finding(GRADE_WARNING, SUBJECT, r.remedy, "record --kernel cannot record any: %s", r.why);
		free(p);
		return;
	}
	list(have, sizeof have, p, true);
	list(lack, sizeof lack, p, false);
	if (!lack[0])
		finding(GRADE_OK, SUBJECT, NULL, "record --kernel can record all: %s", have);
	else if (geteuid() == 0)
		finding(GRADE_WARNING, SUBJECT, refused_some(p), "record --kernel cannot record: %s", lack);
	else
		finding(GRADE_OK, SUBJECT, NULL, "record --kernel can record %sbirths, executions, ends; root also has "
			"what is missing here: %s", p->has[POINT_MINOR] ? "switches, page faults, " : "switches, ",
			lack);
	stacks();
	points_free(p);
	free(p);
}
