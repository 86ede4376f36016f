/*
 * selection.c - record --where: which events of a stream go into its log
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/selection.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/little_endian.h"
#include "common/message.h"
#include "common/progress.h"
#include "control/later.h"
#include "event/layouts.h"
#include "host/image.h"
#include "logs/question.h"
#include "model/attr.h"
#include "shm/program.h"

/* The description of a process that was read last. */
struct described {
	uint32_t pid;
	uint64_t key;
};

struct selection {
	struct flush_filter filter; /* the first member, so a pointer to it is one to the selection */
	const struct match *only;
	struct question *where;
	struct flush *flush;     /* since the first look */
	struct layouts *layouts; /* null: no memory */
	bool poor;               /* there was no memory for a name: all events are selected from then on */
	/* Event types: */
	bool named[EVENT_ID_END], declared[EVENT_ID_END];
	bool wanted[EVENT_ID_END]; /* -e selects the type */
	bool asked[EVENT_ID_END]; /* the type has no name, and it was looked for since the last look */
	uint32_t types, declarations; /* numbers of names and layouts in the registry at the last look */
	uint32_t end; /* ids from here on are not known */
	/* Processes: */
	uint32_t pid; /* of the last event */
	struct described *described;
	unsigned described_count;
	unsigned char *body; /* of a frame PROCESS */
};

/* -- Event types --------------------------------------------------------------------------------- */

/* Adds a name or a layout. Returns whether the type has a layout now. */
static bool add_type(struct selection *s, uint32_t id, const char *name, const char *layout)
{
	s->poor |= (name && !layouts_add(s->layouts, id, name)) || (layout && !layouts_declare(s->layouts, id, layout));
	if (name)
		s->wanted[id] = match_name(s->only, name);
	return layouts_find(s->layouts, id) != NULL;
}

static struct layouts *predefined_types(void)
{
	struct layouts *l = layouts_new();

	for (unsigned i = 0; l && i < EVENTTYPE_PREDEFINED; i++) {
		trace_event_id_t id = eventtype_predefined(i);

		if (!layouts_add(l, id, eventtype_predefined_name(id))) {
			layouts_free(l);
			return NULL;
		}
	}
	return l;
}

/*
 * Adds the event types that are new in the stream, and new layouts. Sets *late if one belongs before others that are
 * known: of several layouts of one name the first one counts, in the order of the ids. Returns whether a layout is new.
 */
static bool take_types(struct selection *s, struct describe *d, uint32_t end, bool *late)
{
	char name[REGISTRY_NAME_BYTES], layout[LAYOUT_TEXT_SIZE];
	bool some = false;

	for (uint32_t id = EVENT_ID_USER; id < end; id++) {
		bool named = !s->named[id] && later_name(&d->later, d->names, id, name), declared;

		if (!named && !s->named[id])
			continue;
		s->named[id] = true;
		declared = !s->declared[id] && later_layout(&d->later, d->names, id, layout) > 0;
		if (!named && !declared)
			continue;
		s->declared[id] |= declared;
		*late |= id < s->end;
		some |= add_type(s, id, named ? name : NULL, declared ? layout : NULL);
	}
	return some;
}

/* Compiles the expression for the known types. */
static void compile(struct selection *s)
{
	question_begin(s->where, s->layouts, s->where->evaluation.begin, s->wanted);
}

/* Begins with all types anew, in the order of their ids. */
static void take_all_types(struct selection *s, struct describe *d, uint32_t end)
{
	struct layouts *before = s->layouts;
	bool late = false;

	s->layouts = predefined_types();
	if (!s->layouts) {
		s->layouts = before;
		s->poor = true;
		return;
	}
	memset(s->named, 0, sizeof s->named);
	memset(s->declared, 0, sizeof s->declared);
	take_types(s, d, end, &late);
	s->end = end;
	compile(s);
	layouts_free(before);
}

/* again: also if the time from which times are counted has changed. */
static void look_at_types(struct selection *s, bool again)
{
	struct describe *d = &s->flush->describe;
	uint32_t count = d->names ? later_count(&d->later, d->names) : 0, end = EVENT_ID_USER + count;
	uint32_t declarations = d->names ? registry_layouts(d->names) : 0;
	bool late = false;

	if (end > EVENT_ID_END)
		end = EVENT_ID_END;
	/* Layouts in the directories of other users are in no count. */
	if (count != s->types || declarations != s->declarations || (count && d->later.count)) {
		s->types = count;
		s->declarations = declarations;
		again |= take_types(s, d, end, &late);
		if (end > s->end)
			s->end = end;
	}
	if (late)
		take_all_types(s, d, s->end);
	else if (again)
		compile(s);
}

/* -- Processes ----------------------------------------------------------------------------------- */

/* Returns whether the description is newer than the one that was read, and notes it. */
static bool is_newer(struct selection *s, struct program_key key)
{
	struct described *more;

	for (unsigned i = 0; i < s->described_count; i++)
		if (s->described[i].pid == key.pid) {
			bool newer = key.key > s->described[i].key;

			s->described[i].key = newer ? key.key : s->described[i].key;
			return newer;
		}
	more = realloc(s->described, (s->described_count + 1) * sizeof *more);
	if (more) {
		s->described = more;
		s->described[s->described_count++] = (struct described){ key.pid, key.key };
	}
	return true;
}

/* Reads the descriptions that processes have left in the stream, and that are not in the log yet. */
static void look_at_processes(struct selection *s)
{
	const struct stream *stream = s->flush->stream;
	struct program_key key;

	for (uint32_t i = 0; i < stream->programs; i++) {
		size_t size;

		if (!program_new(stream, i, &key) || !is_newer(s, key))
			continue;
		size = program_read(stream, key, s->body, PROGRAM_SIZE_MAX);
		/* The description may come from a process with fewer rights than this one. */
		if (!size || !image_valid(s->body, size))
			continue;
		put32(s->body, key.pid);
		question_add_process(s->where, s->body, size);
	}
}

/* Reads the executable of a process whose description found no room in the stream. */
static void look_into_proc(struct selection *s, uint32_t pid)
{
	const struct describe *d = &s->flush->describe;
	uint32_t number = pid == d->target ? d->target_number : d->strangers ? 0 : pid;
	char link[32];
	ssize_t n;

	snprintf(link, sizeof link, "/proc/%u/exe", number);
	n = number ? readlink(link, (char *)s->body + 18, IMAGE_PATH_SIZE) : -1;
	if (n <= 0)
		return;
	put32(s->body, pid);
	put16(s->body + 16, (uint16_t)n);
	question_add_process(s->where, s->body, (size_t)n + 18);
}

static void find_process(struct selection *s, uint32_t pid)
{
	s->pid = pid;
	if (question_has_process(s->where, pid))
		return;
	look_at_processes(s);
	if (!question_has_process(s->where, pid))
		look_into_proc(s, pid);
}

/* -- The filter ---------------------------------------------------------------------------------- */

static void look(struct flush_filter *filter, struct flush *f)
{
	struct selection *s = (struct selection *)filter;
	uint64_t begin = attr_created(&f->header->attr);
	bool again = !s->flush || s->where->evaluation.begin != begin;

	s->flush = f;
	s->where->evaluation.begin = begin;
	memset(s->asked, 0, sizeof s->asked);
	look_at_types(s, again);
	if (s->where->asks_process) {
		s->pid = 0;
		look_at_processes(s);
	}
}

static void take_process(void *filter, const unsigned char *body, size_t size)
{
	struct selection *s = filter;

	if (s->where->asks_process)
		question_add_process(s->where, body, size);
}

/* Returns whether -e selects a type without a name, as report shows it. */
static bool wants_unnamed(const struct selection *s, uint32_t id)
{
	char name[16];

	snprintf(name, sizeof name, "?%u", id);
	return match_name(s->only, name);
}

static bool selects(struct flush_filter *filter, const struct log_event *e, const unsigned char *data)
{
	struct selection *s = (struct selection *)filter;

	if (e->id >= EVENT_ID_USER && !s->named[e->id] && !s->asked[e->id]) {
		s->asked[e->id] = true;
		look_at_types(s, false);
	}
	if (s->poor)
		return true;
	/* The stream may have recorded the event before it had a filter for its type. */
	if (!s->wanted[e->id] && !(s->asked[e->id] && wants_unnamed(s, e->id)))
		return false;
	if (s->where->asks_process && e->pid != s->pid)
		find_process(s, e->pid);
	return question_true(s->where, e, data);
}

/* -- Beginning and end --------------------------------------------------------------------------- */

struct selection *selection_new(const char *where, const struct match *only)
{
	struct selection *s = calloc(1, sizeof *s);

	if (!s)
		fail("no memory");
	s->filter = (struct flush_filter){ look, selects, take_process };
	s->only = only;
	s->end = EVENT_ID_USER;
	s->wanted[POSIX_TRACE_UNNAMED_USEREVENT] =
	        match_name(only, eventtype_predefined_name(POSIX_TRACE_UNNAMED_USEREVENT));
	/* Streams have threads of their own, so they share no expression. */
	s->where = question_new("--where", where, true);
	s->layouts = predefined_types();
	s->body = malloc(PROGRAM_SIZE_MAX);
	if (!s->layouts || !s->body)
		fail("no memory");
	/* The thread that asks belongs to the library: it must not end the program. */
	s->where->lenient = true;
	return s;
}

struct flush_filter *selection_filter(struct selection *s)
{
	return &s->filter;
}

void selection_say(struct selection *s, const char *what)
{
	bool some = false;

	for (uint32_t id = EVENT_ID_USER; id < s->end; id++)
		some |= s->wanted[id];
	if (s->poor || s->where->poor)
		progress_say("%s: there was no memory for --where: the log has events that do not match", what);
	if (!some)
		return;
	s->where->lenient = false;
	compile(s);
	question_say(s->where);
}
