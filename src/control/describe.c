/*
 * describe.c - what is needed to understand a log's events: names of types, what the processes execute
 *
 * SPDX-License-Identifier: MIT
 */
#include "control/describe.h"

#include <errno.h>
#include <string.h>

#include "base/sys.h"
#include "base/ticks.h"

#define IMAGES      64
#define IMAGES_BODY (UINT32_C(256) << 10)
#define IMAGES_NS   NS_PER_S /* one process is not looked at more often */

bool describe_init(struct describe *d, const struct stream *s)
{
	d->strangers = s->outsider;
	d->images = sys_map(IMAGES * sizeof *d->images, -1, 1);
	return d->images != NULL;
}

void describe_free(struct describe *d)
{
	if (d->images)
		sys_unmap(d->images, IMAGES * sizeof *d->images);
	d->images = NULL;
}

/* -- Processes ---------------------------------------------------------------------------- */

static struct images *images_of(const struct describe *d, uint32_t pid)
{
	for (uint32_t i = 0; i < IMAGES; i++)
		if (d->images[i].pid == pid)
			return &d->images[i];
	return NULL;
}

void describe_place(struct describe *d, const struct log_event *e)
{
	const struct images *known;

	if (!e->pid || !e->address || d->look_pid)
		return;
	known = images_of(d, e->pid);
	if (known && (images_have(known, e->address) || clock_ns(CLOCK_MONOTONIC) - (int64_t)known->looked < IMAGES_NS))
		return;
	d->look_pid = e->pid;
}

/* changed: only if they are not as they were. */
static int write_images(struct describe *d, struct output *o, uint32_t pid, bool changed)
{
	/* Of another pid namespace only the traced process itself is known by both names. */
	uint32_t number = pid == d->target ? d->target_number : d->strangers ? 0 : pid;
	struct images *images = images_of(d, pid), before;
	int64_t now = clock_ns(CLOCK_MONOTONIC);
	unsigned char *body;
	size_t size;
	int r = 0;

	if (!images) {
		images = &d->images[d->images_next++ % IMAGES];
		images->pid = pid;
		images->count = 0;
	}
	before = *images;
	images->looked = (uint64_t)now;
	body = number ? sys_map(IMAGES_BODY, -1, 1) : NULL;
	if (!body)
		return 0;
	size = images_look(images, number, (uint64_t)(now + d->real_time), body, IMAGES_BODY);
	images->looked = (uint64_t)now;
	if (size && !(changed && images_same(images, &before)))
		r = output_frame(o, FRAME_PROCESS, body, size, output_place(o)->types);
	sys_unmap(body, IMAGES_BODY);
	return r;
}

/* -- Types ------------------------------------------------------------------------------------- */

#define TYPES_BODY ((EVENTTYPE_PREDEFINED + EVENT_USER_MAX) * (size_t)(3 + TRACE_EVENT_NAME_MAX))

static unsigned char *put_type(unsigned char *p, trace_event_id_t id, const char *name)
{
	size_t n = strnlen(name, TRACE_EVENT_NAME_MAX);

	put16(p, (uint16_t)id);
	p[2] = (unsigned char)n;
	memcpy(p + 3, name, n);
	return p + 3 + n;
}

/* Those that the log does not have yet. */
static int write_types(const struct describe *d, struct output *o, bool predefined)
{
	uint32_t have = output_place(o)->types, count = d->names ? registry_count(d->names) : have;
	char name[REGISTRY_NAME_BYTES];
	unsigned char *body, *p;
	int r;

	if (count <= have && !predefined)
		return 0;
	body = p = sys_map(TYPES_BODY, -1, 1);
	if (!body)
		return -ENOMEM;
	for (unsigned i = 0; predefined && i < EVENTTYPE_PREDEFINED; i++)
		p = put_type(p, eventtype_predefined(i), eventtype_predefined_name(eventtype_predefined(i)));
	for (uint32_t i = have; i < count; i++)
		if (registry_name(d->names, EVENT_ID_USER + i, name))
			p = put_type(p, EVENT_ID_USER + i, name);
	r = output_frame(o, FRAME_TYPES, body, (size_t)(p - body), count);
	sys_unmap(body, TYPES_BODY);
	return r;
}

int describe_all(struct describe *d, struct output *o)
{
	int r = write_types(d, o, true);

	if (r == 0 && d->target_number)
		r = write_images(d, o, d->target, false);
	return r;
}

int describe_more(struct describe *d, struct output *o)
{
	uint32_t pid = d->look_pid;
	int r = write_types(d, o, false);

	if (r == 0 && pid) {
		d->look_pid = 0;
		r = write_images(d, o, pid, false);
	}
	return r;
}

int describe_target(struct describe *d, struct output *o)
{
	return d->target_number ? write_images(d, o, d->target, true) : 0;
}
