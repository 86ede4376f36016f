/*
 * event_json.c - prints an event of a log as a line of JSON
 *
 * Times are whole nanoseconds, so they are exact.
 *
 * SPDX-License-Identifier: MIT
 */
#include "logs/event_json.h"

#include <string.h>

#include "common/json.h"
#include "event/layout_json.h"
#include "event/layout_print.h"
#include "event/meaning.h"
#include "model/eventset.h"

static void put_symbol(const struct symbol *symbol)
{
	if (symbol->function) {
		json_key("function");
		json_string(symbol->function);
	}
	if (symbol->source) {
		json_key("source");
		json_string(symbol->source);
		json_key("line");
		json_number(symbol->line);
	}
	if (symbol->image) {
		json_key("image");
		json_string(symbol->image);
		json_key("offset");
		json_hex(symbol->offset);
	}
}

static void put_filter(const struct source *s, const char *key, const trace_event_set_t *set)
{
	json_key(key);
	json_begin('[');
	for (uint32_t id = 1; id < EVENT_ID_END; id++)
		if (eventset_has(set, id) && layouts_name(s->layouts, id))
			json_string(layouts_name(s->layouts, id));
	json_end(']');
}

/* Prints the data of a system event. Returns false if the event is of another type, or its data has an unknown form. */
static bool put_system(const struct source *s, const struct log_event *e, const unsigned char *data)
{
	trace_event_set_t set[2];
	struct system_gap gap;

	if (e->id == POSIX_TRACE_STOP && e->length == sizeof(int)) {
		json_key("by_itself");
		json_bool(memcmp(data, &(int){ 0 }, sizeof(int)) != 0);
	} else if (e->id == POSIX_TRACE_OVERFLOW && e->length == sizeof gap) {
		memcpy(&gap, data, sizeof gap);
		json_key("unwritten");
		json_number(gap.events);
	} else if (e->id == POSIX_TRACE_START && eventset_read(&set[0], data, e->length)) {
		put_filter(s, "filter", &set[0]);
	} else if (e->id == POSIX_TRACE_FILTER && eventset_read(&set[0], data, e->length / 2) &&
	           eventset_read(&set[1], data + e->length / 2, e->length / 2)) {
		put_filter(s, "filter", &set[1]);
		put_filter(s, "filter_before", &set[0]);
	} else {
		return false;
	}
	return true;
}

static void put_data(const struct source *s, const struct log_event *e, const unsigned char *data)
{
	const struct layout *layout = layouts_find(s->layouts, e->id);
	size_t rest;

	if (e->length == 0 || put_system(s, e, data))
		return;
	json_key(layout ? "fields" : "data");
	rest = layout_json(layout, data, e->length);
	if (rest < e->length) {
		json_key("more");
		layout_json(NULL, data + rest, e->length - rest);
	}
	if (!layout && layout_is_text(data, e->length)) {
		json_key("text");
		json_text((const char *)data, strnlen((const char *)data, e->length));
	}
}

static void put_level(const struct source *s, const struct log_event *e, const unsigned char *data)
{
	const struct layout *layout = layouts_find(s->layouts, e->id);
	enum layout_level level = layout ? meaning_level(layout, data, e->length) : LEVEL_NONE;

	if (level == LEVEL_NONE)
		return;
	json_key("level");
	json_string(layout_levels[level]);
}

static void begin(const struct sources *all, const struct source *s, const char *event, uint64_t time)
{
	json_begin('{');
	json_key("time");
	json_number(time);
	json_key("relative");
	json_difference(time, all->begin);
	json_key("event");
	json_string(event);
	if (all->count > 1) {
		json_key("file");
		json_string(s->path);
	}
}

void event_json(const struct sources *all, const struct source *s, uint64_t took)
{
	const struct log_event *e = s->event;
	const char *name = layouts_name(s->layouts, e->id);

	begin(all, s, name ? name : logfile_type(s->file, e->id), e->time);
	/* System events belong to no thread. */
	if (e->tid) {
		json_key("pid");
		json_number(e->pid);
		json_key("tid");
		json_number(e->tid);
		json_key("thread");
		json_text(e->name, strnlen(e->name, sizeof e->name));
	}
	put_level(s, e, s->data);
	put_data(s, e, s->data);
	if (took != EVENT_JSON_NO_SPAN) {
		json_key("took");
		json_number(took);
	}
	if (e->truncated) {
		json_key("truncated");
		json_bool(true);
	}
	if (e->address) {
		json_key("address");
		json_hex(e->address);
	}
	if (s->symbols && e->address && e->id >= POSIX_TRACE_UNNAMED_USEREVENT)
		put_symbol(symbols_event(s->symbols, e, layouts_name(s->layouts, e->id)));
	json_end('}');
	json_done();
}
