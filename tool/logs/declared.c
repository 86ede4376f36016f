/*
 * declared.c - reports wrong layouts in the names of event types
 *
 * SPDX-License-Identifier: MIT
 */
#include "logs/declared.h"

#include <string.h>

#include "common/message.h"
#include "common/progress.h"

#define SAID_MAX 8 /* limit of printed types; further types are counted */

void declared_say(const struct layouts *l, const char *where)
{
	unsigned count = 0;

	for (uint32_t id = EVENT_ID_USER; id < EVENT_ID_END; id++) {
		const char *wrong = layouts_wrong(l, id);

		if (wrong && count++ < SAID_MAX)
			progress_say("%s: wrong layout of an event type: %s", where, wrong);
	}
	if (count > SAID_MAX)
		progress_say("%s: %u more event types have a wrong layout", where, count - SAID_MAX);
}

void declared_say_log(struct input *in, const char *where)
{
	struct layouts *l = layouts_of(in);

	if (!l)
		fail("no memory");
	declared_say(l, where);
	layouts_free(l);
}

void declared_say_refused(const char *what, uint64_t count, const char *first)
{
	if (count)
		progress_say("%s: a name of more than %d bytes, or of a system event, was refused %llu time%s: events "
		             "of such types have no name, or are not recorded; the first was '%s%s'", what,
		             TRACE_EVENT_NAME_MAX, (unsigned long long)count, count == 1 ? "" : "s", first,
		             strlen(first) < TRACE_EVENT_NAME_MAX ? "" : "...");
}

void declared_say_full(const char *what, uint64_t count)
{
	if (count)
		progress_say("%s: there was no room for a name %llu time%s, after %d event types: events of further "
		             "types have the name posix_trace_unnamed_userevent; what varies belongs in a field", what,
		             (unsigned long long)count, count == 1 ? "" : "s", TRACE_USER_EVENT_MAX - 1);
}
