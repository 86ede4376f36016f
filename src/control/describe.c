/*
 * describe.c - describes a log's events to its reader: names and layouts of event types, programs of processes
 *
 * SPDX-License-Identifier: MIT
 */
#include "control/describe.h"

#include <errno.h>
#include <string.h>

#include "base/sys.h"
#include "base/ticks.h"
#include "host/image.h"
#include "shm/program.h"

#define IMAGES      64
#define IMAGES_BODY (UINT32_C(256) << 10)
#define IMAGES_NS   NS_PER_S /* shortest time between two looks at one process */

bool describe_init(struct describe *d, const struct stream *s)
{
	d->stream = s;
	d->strangers = s->outsider;
	d->images = sys_map(IMAGES * sizeof *d->images, -1, 1);
	return d->images != NULL;
}

void describe_free(struct describe *d)
{
	if (d->images)
		sys_unmap(d->images, IMAGES * sizeof *d->images);
	d->images = NULL;
	later_free(&d->later);
}

static void set(uint64_t *types, trace_event_id_t id)
{
	types[id / 64] |= UINT64_C(1) << id % 64;
}

/* -- Processes ---------------------------------------------------------------------------- */

static struct images *images_of(const struct describe *d, uint32_t pid)
{
	for (uint32_t i = 0; i < IMAGES; i++)
		if (d->images[i].pid == pid)
			return &d->images[i];
	return NULL;
}

static void look_at_place(struct describe *d, const struct log_event *e)
{
	const struct images *known;

	if (!e->pid || !e->address || d->looks == DESCRIBE_LOOKS)
		return;
	known = images_of(d, e->pid);
	if (known && (images_have(known, e->address) || clock_ns(CLOCK_MONOTONIC) - (int64_t)known->looked < IMAGES_NS))
		return;
	for (uint32_t i = 0; i < d->looks; i++)
		if (d->look[i].pid == e->pid)
			return;
	d->look[d->looks++] = (struct describe_look){ e->pid, e->address };
}

void describe_event(struct describe *d, const struct log_event *e)
{
	if (eventtype_possible(e->id))
		set(d->used, e->id);
	look_at_place(d, e);
}

/* Returns the entry for a process; a new one replaces the entry of another process. */
static struct images *images_for(struct describe *d, uint32_t pid)
{
	struct images *images = images_of(d, pid);

	if (!images) {
		images = &d->images[d->images_next++ % IMAGES];
		images->pid = pid;
		images->count = 0;
	}
	return images;
}

static int write_process(const struct describe *d, struct output *o, const unsigned char *body, size_t size)
{
	if (d->on_process)
		d->on_process(d->on_process_arg, body, size);
	return output_frame(o, FRAME_PROCESS, body, size, output_position(o)->types);
}

/* Writes the mappings of a process as /proc shows them. changed: only if they differ from the known mappings. */
static int write_images(struct describe *d, struct output *o, uint32_t pid, bool changed)
{
	/* Of the processes in another pid namespace, only the traced process has a known number in /proc. */
	uint32_t number = pid == d->target ? d->target_number : d->strangers ? 0 : pid;
	bool own = number == (uint32_t)sys_getpid();
	struct images_whose whose = {
		.number = number,
		.owner = own ? sys_geteuid() : d->owner,
		.group = own ? sys_getegid() : d->group,
		.guarded = d->guarded && !own,
	};
	struct images *images = images_for(d, pid), before = *images;
	int64_t now = clock_ns(CLOCK_MONOTONIC);
	unsigned char *body;
	size_t size;
	int r = 0;

	images->looked = (uint64_t)now;
	body = whose.number ? sys_map(IMAGES_BODY, -1, 1) : NULL;
	if (!body)
		return 0;
	size = images_look(images, &whose, (uint64_t)(now + d->real_time), body, IMAGES_BODY);
	images->looked = (uint64_t)now;
	/* The process has ended or cannot be looked at: keep the known mappings. */
	if (!size)
		*images = before;
	else if (!(changed && images_same(images, &before)))
		r = write_process(d, o, body, size);
	sys_unmap(body, IMAGES_BODY);
	return r;
}

static bool in_segment(const struct pack *segment, uint32_t pid)
{
	for (uint32_t i = 0; segment && i < segment->threads; i++)
		if (segment->thread_of[i].pid == pid)
			return true;
	return !segment;
}

/*
 * Finds the oldest description that the log lacks: of process pid, or, if pid is 0, of any process with events in the
 * segment. A null segment means all processes. Returns false if there is none.
 */
static bool find_left(const struct describe *d, const struct pack *segment, uint32_t pid, struct program_key *key)
{
	struct program_key one;
	bool found = false;

	for (uint32_t i = 0; i < d->stream->programs; i++) {
		if (!program_new(d->stream, i, &one) || (found && one.key >= key->key))
			continue;
		if (pid ? one.pid != pid : !in_segment(segment, one.pid))
			continue;
		*key = one;
		found = true;
	}
	return found;
}

static int write_one_left(struct describe *d, struct output *o, struct program_key key, unsigned char *body)
{
	size_t size = program_read(d->stream, key, body, PROGRAM_SIZE_MAX);
	struct images *images;
	int r;

	/* The description may come from a process with fewer rights than this one. */
	if (!size || !image_valid(body, size))
		return 0;
	put32(body, key.pid);
	put64(body + 8, key.key + (uint64_t)d->real_time);
	r = write_process(d, o, body, size);
	if (r == 0) {
		images = images_for(d, key.pid);
		images_take(images, body, size);
		images->looked = (uint64_t)clock_ns(CLOCK_MONOTONIC);
	}
	return r;
}

/* Writes the descriptions that processes have left in the stream (shm/program.h). */
static int write_left(struct describe *d, struct output *o, const struct pack *segment, uint32_t pid)
{
	unsigned char *body = NULL;
	struct program_key key = { 0, 0 };
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < d->stream->programs && find_left(d, segment, pid, &key); i++) {
		if (!body)
			body = sys_map(PROGRAM_SIZE_MAX, -1, 1);
		if (!body)
			return -ENOMEM;
		r = write_one_left(d, o, key, body);
		if (r == 0)
			program_reported(d->stream, key);
	}
	if (body)
		sys_unmap(body, PROGRAM_SIZE_MAX);
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

/* At most the layouts of the registry, and those of later ones. */
#define LAYOUTS_BODY (2 * (size_t)REGISTRY_BYTES_MAX + EVENT_USER_MAX * (size_t)4)

static bool has(const uint64_t *types, trace_event_id_t id)
{
	return types[id / 64] >> id % 64 & 1;
}

/*
 * Writes the declared layouts of the first `count` names, each once. A process that completes a dead stream's log does
 * not know which layouts the log has, and writes all again. A reader takes the last layout of a name.
 */
static int write_layouts(struct describe *d, struct output *o, uint32_t count)
{
	unsigned char *body = NULL, *p = NULL;
	char layout[LAYOUT_TEXT_SIZE];
	int r;

	if (!d->names)
		return 0;
	for (trace_event_id_t id = EVENT_ID_USER; id < EVENT_ID_USER + count; id++) {
		size_t length = has(d->declared, id) ? 0 : later_layout(&d->later, d->names, id, layout);

		if (length == 0)
			continue;
		if (!body)
			body = p = sys_map(LAYOUTS_BODY, -1, 1);
		if (!body)
			return -ENOMEM;
		if (length + 4 > LAYOUTS_BODY - (size_t)(p - body))
			break;
		put16(p, (uint16_t)id);
		put16(p + 2, (uint16_t)length);
		memcpy(p + 4, layout, length);
		p += 4 + length;
	}
	if (!body)
		return 0;
	r = output_frame(o, FRAME_LAYOUTS, body, (size_t)(p - body), output_position(o)->types);
	for (const unsigned char *at = body; r == 0 && at < p; at += 4 + get16(at + 2))
		set(d->declared, get16(at));
	sys_unmap(body, LAYOUTS_BODY);
	return r;
}

/* Writes the names and layouts of event types that the log lacks. predefined: including the predefined types. */
static int write_types(struct describe *d, struct output *o, bool predefined)
{
	uint32_t have = output_position(o)->types, count = d->names ? later_count(&d->later, d->names) : have;
	char name[REGISTRY_NAME_BYTES];
	unsigned char *body, *p;
	int r;

	if (count <= have && !predefined)
		return count ? write_layouts(d, o, count) : 0;
	body = p = sys_map(TYPES_BODY, -1, 1);
	if (!body)
		return -ENOMEM;
	for (unsigned i = 0; predefined && i < EVENTTYPE_PREDEFINED; i++)
		p = put_type(p, eventtype_predefined(i), eventtype_predefined_name(eventtype_predefined(i)));
	for (uint32_t i = have; i < count; i++)
		if (later_name(&d->later, d->names, EVENT_ID_USER + i, name)) {
			p = put_type(p, EVENT_ID_USER + i, name);
			set(d->named, EVENT_ID_USER + i);
		}
	r = output_frame(o, FRAME_TYPES, body, (size_t)(p - body), count);
	sys_unmap(body, TYPES_BODY);
	return r == 0 && count ? write_layouts(d, o, count) : r;
}

uint32_t describe_unnamed(const struct describe *d)
{
	uint32_t count = 0;

	/* System event types and the unnamed user event type are named from the start. */
	for (uint32_t id = EVENT_ID_USER; id < EVENT_ID_END; id++)
		count += (d->used[id / 64] & ~d->named[id / 64]) >> id % 64 & 1;
	return count;
}

int describe_all(struct describe *d, struct output *o)
{
	/*
	 * Processes are not described here: before its first event a process may still execute another file.
	 * Each process leaves a description when it records its first event.
	 */
	program_forget_reported(d->stream);
	memset(d->images, 0, IMAGES * sizeof *d->images);
	memset(d->declared, 0, sizeof d->declared);
	return write_types(d, o, true);
}

int describe_more(struct describe *d, struct output *o, const struct pack *segment)
{
	uint32_t looks = d->looks;
	int r = write_types(d, o, false);

	if (r == 0)
		r = write_left(d, o, segment, 0);
	for (uint32_t i = 0; r == 0 && i < looks; i++) {
		const struct images *known = images_of(d, d->look[i].pid);

		/* The description that the process left may include the address. */
		if (!known || !images_have(known, d->look[i].address))
			r = write_images(d, o, d->look[i].pid, false);
	}
	if (r == 0)
		d->looks = 0;
	return r;
}

int describe_target(struct describe *d, struct output *o)
{
	int r;

	if (!d->target_number)
		return 0;
	r = write_left(d, o, NULL, d->target);
	/* A process that has not reached a trace point may still execute another file, so it is not described yet. */
	return r == 0 && images_of(d, d->target) ? write_images(d, o, d->target, true) : r;
}
