/*
 * tracks.c - the tracks of a trace of Perfetto: threads, processes, slices, losses
 *
 * SPDX-License-Identifier: MIT
 */
#include "convert/perfetto/tracks.h"

#include <stdio.h>
#include <string.h>

#include "convert/perfetto/packet.h"

/*
 * Writes a track that is no process or thread. parent 0: none. merge: viewers may merge tracks of the same name and
 * parent.
 */
static void write_track(const struct perfetto_log *log, uint64_t uuid, uint64_t parent, const char *name, bool merge)
{
	struct proto *p = perfetto_packet(log);
	size_t track = proto_begin(p, PACKET_TRACK);

	proto_number(p, TRACK_UUID, uuid);
	proto_text(p, TRACK_NAME, name, strlen(name));
	if (parent)
		proto_number(p, TRACK_PARENT, parent);
	if (!merge)
		proto_number(p, TRACK_MERGE, MERGE_NONE);
	proto_end(p, track);
	perfetto_put_packet();
}

/* Writes a track of a log, named after the log if there are several. */
static void write_log_track(const struct source *s, uint64_t uuid, const char *what)
{
	char name[4096 + 32];

	if (perfetto.logs->count > 1)
		snprintf(name, sizeof name, "%s (%.4096s)", what, s->path);
	write_track(perfetto_log(s), uuid, 0, perfetto.logs->count > 1 ? name : what, false);
}

static uint64_t recording_track(const struct source *s)
{
	struct perfetto_log *log = perfetto_log(s);
	uint64_t uuid = lookup_mix(log->uuid, 1);

	if (!log->recording_reported)
		write_log_track(s, uuid, "recording");
	log->recording_reported = true;
	return uuid;
}

uint64_t perfetto_lost_track(const struct source *s)
{
	struct perfetto_log *log = perfetto_log(s);
	uint64_t uuid = lookup_mix(log->uuid, 2);

	if (!log->lost_reported)
		write_log_track(s, uuid, "events lost");
	log->lost_reported = true;
	return uuid;
}

static uint64_t write_machine(const struct source *s, uint32_t machine)
{
	uint64_t uuid = tasks_machine_uuid(s);

	if (!perfetto.machine_reported[machine])
		write_track(perfetto_log(s), uuid, 0, s->file->in.header.host, false);
	perfetto.machine_reported[machine] = true;
	return uuid;
}

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* Writes a task of another machine, without a process, which Perfetto would take for one of the first machine. */
static void write_foreign(const struct source *s, const struct task *t)
{
	uint64_t parent = t->process ? t->process->uuid : write_machine(s, t->machine);
	char name[300];

	if (t->process)
		snprintf(name, sizeof name, "%.*s %u", (int)strnlen(t->name, sizeof t->name), t->name, t->tid);
	else
		snprintf(name, sizeof name, "%.256s %u", t->executable ? file_name(t->executable) : "process", t->pid);
	write_track(perfetto_log(s), t->uuid, parent, name, false);
}

/* Returns the value as Perfetto reads it, signed. */
static uint64_t as_int32(uint32_t n)
{
	return (uint64_t)(int64_t)(int32_t)n;
}

static void put_process(struct proto *p, const struct task *t)
{
	size_t process = proto_begin(p, TRACK_PROCESS);

	proto_number(p, PROCESS_PID, as_int32(t->pid));
	if (t->executable) {
		const char *name = file_name(t->executable);

		proto_text(p, PROCESS_COMMAND, t->executable, strlen(t->executable));
		proto_text(p, PROCESS_NAME, name, strlen(name));
	}
	proto_end(p, process);
}

static void put_thread(struct proto *p, const struct task *t)
{
	size_t thread = proto_begin(p, TRACK_THREAD), length = strnlen(t->name, sizeof t->name);

	proto_number(p, THREAD_PID, as_int32(t->pid));
	proto_number(p, THREAD_TID, t->tid);
	if (length)
		proto_text(p, THREAD_NAME, t->name, length);
	proto_end(p, thread);
}

static void write_task(const struct source *s, struct task *t)
{
	struct proto *p;
	size_t track;

	if (t->written)
		return;
	t->written = true;
	if (t->process)
		write_task(s, t->process);
	if (t->machine != perfetto.tasks.machine[0]) {
		write_foreign(s, t);
		return;
	}
	p = perfetto_packet(perfetto_log(s));
	track = proto_begin(p, PACKET_TRACK);
	proto_number(p, TRACK_UUID, t->uuid);
	if (t->process)
		put_thread(p, t);
	else
		put_process(p, t);
	proto_end(p, track);
	perfetto_put_packet();
}

uint64_t perfetto_thread_track(const struct source *s, struct task *thread)
{
	/* System events belong to no thread. */
	if (thread->tid == 0)
		return recording_track(s);
	write_task(s, thread);
	return thread->uuid;
}

uint64_t perfetto_slice_track(struct slice_track *t)
{
	struct perfetto_log *log = perfetto_log(t->source);
	uint64_t parent = t->scope ? t->scope->uuid : 0;
	uint64_t uuid = slices_uuid(t, log->uuid) | 1;
	char name[256];

	if (t->row && t->scope)
		return perfetto_thread_track(t->source, t->scope);
	if (t->written)
		return uuid;
	t->written = true;
	if (t->scope && (t->scope->process ? t->scope->tid == 0 : t->scope->pid == 0))
		parent = recording_track(t->source);
	else if (t->scope)
		write_task(t->source, t->scope);
	span_title(perfetto.slices.spans->span[t->span], name, sizeof name);
	write_track(log, uuid, parent, name, true);
	return uuid;
}

struct counter_track {
	struct lookup_key key;
	bool written;
};

static void write_counter(const struct source *s, const struct task *process, uint64_t uuid, const char *name,
                          const char *unit)
{
	struct proto *p = perfetto_packet(perfetto_log(s));
	size_t track = proto_begin(p, PACKET_TRACK), counter;

	proto_number(p, TRACK_UUID, uuid);
	proto_text(p, TRACK_NAME, name, strlen(name));
	proto_number(p, TRACK_PARENT, process->uuid);
	counter = proto_begin(p, TRACK_COUNTER);
	if (unit[0])
		proto_text(p, COUNTER_UNIT, unit, strlen(unit));
	proto_end(p, counter);
	proto_end(p, track);
	perfetto_put_packet();
}

uint64_t perfetto_counter_track(const struct source *s, struct task *thread, const struct layout *l, unsigned field,
                                uint64_t id)
{
	const struct layout_field *f = &l->field[field];
	uint64_t uuid = lookup_mix(perfetto_log(s)->uuid, (uint64_t)s->event->id << 8 | field) | 1;
	struct counter_track *t;
	char name[TRACE_EVENT_NAME_MAX + 64], which[24] = "";

	uuid = lookup_mix(lookup_mix(uuid, thread->process->uuid), id) | 1;
	t = lookup(&perfetto.counters, (struct lookup_key){ .first = uuid, .second = s->index }, sizeof *t);
	if (t->written)
		return uuid;
	t->written = true;
	perfetto_thread_track(s, thread);
	if (l->meaning.by)
		snprintf(which, sizeof which, "[%llu]", (unsigned long long)id);
	snprintf(name, sizeof name, "%s.%s%s", perfetto_type_name(s), f->name, which);
	write_counter(s, thread->process, uuid, name, f->unit);
	return uuid;
}
