/*
 * missing.c - how many events of a log are missing, and why
 *
 * SPDX-License-Identifier: MIT
 */
#include "logs/missing.h"

#include <inttypes.h>
#include <stdio.h>
#include <trace.h>

#include "common/message.h"

void missing_counted(struct missing *m, const struct logfile *f)
{
	const struct input *in = &f->in;
	bool loop = in->header.attr.log_policy == POSIX_TRACE_LOOP;

	*m = (struct missing){
		.lost = in->lost,
		.unwritten = in->unwritten,
		.overwritten = loop ? in->discarded : 0,
		.discarded = loop ? 0 : in->discarded,
		.skipped = in->ended ? 0 : in->skipped,
		.closed = in->ended,
		.overwritten_some = loop && in->discarded,
	};
}

void missing_find(struct missing *m, struct logfile *f)
{
	const struct logfile_sum *sum = logfile_whole(f);
	const struct input *in = &f->in;

	missing_counted(m, f);
	m->damaged = logfile_damaged(f, sum);
	m->damaged_more = sum->uncounted && !in->ended && !in->segments;
	m->overwritten_some |= in->header.attr.log_policy == POSIX_TRACE_LOOP && sum->first > 1;
}

uint64_t missing_add(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

uint64_t missing_sum(const struct missing *m)
{
	return missing_add(missing_add(m->lost, m->unwritten), missing_add(m->damaged, m->discarded));
}

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

unsigned missing_describe(const struct missing *m, struct missing_part part[MISSING_PARTS])
{
	const size_t size = sizeof part->text;
	unsigned n = 0;

	for (unsigned i = 0; i < MISSING_PARTS; i++)
		part[i].bad = true;
	if (m->lost)
		snprintf(part[n++].text, size, "%" PRIu64 " event%s lost", m->lost, plural(m->lost));
	if (m->unwritten)
		snprintf(part[n++].text, size, "incomplete: %s%" PRIu64 " could not be written",
		         m->closed ? "" : "at least ", m->unwritten);
	if (m->damaged)
		snprintf(part[n++].text, size, "damaged: %s%" PRIu64 " event%s missing",
		         m->damaged_more ? "at least " : "", m->damaged, m->damaged == 1 ? " is" : "s are");
	else if (m->damaged_more)
		snprintf(part[n++].text, size, "damaged: events are missing");
	else if (m->skipped)
		snprintf(part[n].text, size, "%" PRIu64 " bytes unfinished, damaged, or of an older log",
		         m->skipped);
	if (m->skipped && !m->damaged && !m->damaged_more)
		part[n++].bad = false;
	if (m->discarded)
		snprintf(part[n++].text, size, "%" PRIu64 " event%s discarded when the log was full", m->discarded,
		         plural(m->discarded));
	if (m->overwritten)
		snprintf(part[n].text, size, "%" PRIu64 " event%s overwritten by newer ones", m->overwritten,
		         plural(m->overwritten));
	else if (m->overwritten_some)
		snprintf(part[n].text, size, "older events overwritten by newer ones");
	if (m->overwritten_some)
		part[n++].bad = false;
	return n;
}

void missing_say_damage(struct logfile *f)
{
	struct missing m;

	missing_find(&m, f);
	if (m.damaged)
		complain("%s: the log is damaged: %s%" PRIu64 " event%s missing; 'posixtrace check' tells where",
		         f->path, m.damaged_more ? "at least " : "", m.damaged, m.damaged == 1 ? " is" : "s are");
	else if (m.damaged_more)
		complain("%s: the log is damaged: events are missing; 'posixtrace check' tells where", f->path);
}
