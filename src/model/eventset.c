/*
 * eventset.c - sets of trace event types
 *
 * SPDX-License-Identifier: MIT
 */
#include "model/eventset.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "model/eventtype.h"

#define MARK UINT64_C(0x7465736576652131)

_Static_assert(sizeof(trace_event_set_t) == 1024, "a set is part of the ABI and of event data");
_Static_assert(EVENTSET_WORDS * 64 == EVENT_ID_END, "one bit for each id");

bool eventset_valid(const trace_event_set_t *set)
{
	return set && set->__mark == MARK;
}

void eventset_empty(trace_event_set_t *set)
{
	memset(set, 0, sizeof *set);
	set->__mark = MARK;
}

bool eventset_read(trace_event_set_t *set, const void *data, size_t length)
{
	trace_event_set_t s;

	memset(&s, 0, sizeof s);
	if (length <= sizeof s.__mark || length % sizeof s.__mark)
		return false;
	memcpy(&s, data, length < sizeof s ? length : sizeof s);
	if (!eventset_valid(&s))
		return false;
	*set = s;
	return true;
}

bool eventset_fill(trace_event_set_t *set, int what)
{
	trace_event_set_t s;

	eventset_empty(&s);
	switch (what) {
	case POSIX_TRACE_WOPID_EVENTS:
		/* Events that the system causes by itself (docs/choices.md, CH-27). */
		eventset_add(&s, POSIX_TRACE_ERROR);
		eventset_add(&s, POSIX_TRACE_OVERFLOW);
		eventset_add(&s, POSIX_TRACE_RESUME);
		eventset_add(&s, POSIX_TRACE_FLUSH_START);
		eventset_add(&s, POSIX_TRACE_FLUSH_STOP);
		break;
	case POSIX_TRACE_SYSTEM_EVENTS:
		for (trace_event_id_t id = 1; eventtype_system(id); id++)
			eventset_add(&s, id);
		break;
	case POSIX_TRACE_ALL_EVENTS:
		memset(s.__bits, 0xff, sizeof s.__bits);
		eventset_del(&s, 0);
		break;
	default:
		return false;
	}
	*set = s;
	return true;
}

void eventset_add(trace_event_set_t *set, trace_event_id_t id)
{
	set->__bits[id / 64] |= UINT64_C(1) << id % 64;
}

void eventset_del(trace_event_set_t *set, trace_event_id_t id)
{
	set->__bits[id / 64] &= ~(UINT64_C(1) << id % 64);
}

bool eventset_has(const trace_event_set_t *set, trace_event_id_t id)
{
	return set->__bits[id / 64] >> id % 64 & 1;
}

bool eventset_is_empty(const trace_event_set_t *set)
{
	for (int i = 0; i < EVENTSET_WORDS; i++)
		if (set->__bits[i])
			return false;
	return true;
}

bool eventset_combine(trace_event_set_t *to, const trace_event_set_t *set, int how)
{
	for (int i = 0; i < EVENTSET_WORDS; i++) {
		switch (how) {
		case POSIX_TRACE_SET_EVENTSET:
			to->__bits[i] = set->__bits[i];
			break;
		case POSIX_TRACE_ADD_EVENTSET:
			to->__bits[i] |= set->__bits[i];
			break;
		case POSIX_TRACE_SUB_EVENTSET:
			to->__bits[i] &= ~set->__bits[i];
			break;
		default:
			return false;
		}
	}
	return true;
}
