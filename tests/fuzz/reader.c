/*
 * reader.c - fuzzes <posixtrace/log.h> with arbitrary bytes as a log: reads it, once and beside itself, in all ways
 *
 * For libFuzzer (script/fuzz); with replay.c it is a program that repeats the inputs found. A violation ends the
 * program.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fuzz.h"
#include "must.h"

#include <errno.h>
#include <posixtrace/log.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 5

static struct posixtrace_log *the_log;

static uint64_t mix(uint64_t sum, uint64_t value)
{
	sum = (sum ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return sum ^ sum >> 29;
}

/* Reads all bytes, so that a checker of memory finds bytes that must not be read. */
static uint64_t mix_bytes(uint64_t sum, const void *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		sum = mix(sum, ((const unsigned char *)bytes)[i]);
	return sum;
}

static uint64_t mix_text(uint64_t sum, const char *text)
{
	MUST(text);
	return mix_bytes(sum, text, strlen(text));
}

/* -- Values ------------------------------------------------------------------------------------- */

static uint64_t read_item(const struct posixtrace_log_event *e, unsigned field, size_t item, uint64_t sum)
{
	char label[40];
	uint64_t n = 0;
	int64_t s = 0;
	double d = 0;
	int error = posixtrace_log_get_unsigned(e, field, item, &n);

	MUST(error == 0 || error == EINVAL || error == ENOENT || error == ERANGE);
	error = posixtrace_log_get_signed(e, field, item, &s);
	MUST(error == 0 || error == EINVAL || error == ENOENT || error == ERANGE);
	error = posixtrace_log_get_double(e, field, item, &d);
	MUST(error == 0 || error == EINVAL || error == ENOENT);
	sum = mix(mix_bytes(sum, &d, sizeof d), n ^ (uint64_t)s);
	error = posixtrace_log_get_label(e, field, item, label, 1 + sum % sizeof label);
	MUST(error == 0 || error == ENOENT || error == ERANGE);
	return mix_text(sum, label);
}

static uint64_t read_fields(const struct posixtrace_log_event *e, uint64_t sum)
{
	const unsigned char *bytes;
	const char *text;
	size_t length, count;
	unsigned i = 0;

	for (; i < e->type->fields; i++) {
		if (posixtrace_log_get_bytes(e, i, &bytes, &length) != 0) {
			MUST(posixtrace_log_get_text(e, i, &text, &length) == ENOENT && *posixtrace_log_error());
			continue;
		}
		MUST(bytes >= e->data && length <= e->length && bytes + length <= e->data + e->length);
		sum = mix_bytes(sum, bytes, length);
		MUST(posixtrace_log_get_count(e, i, &count) == 0);
		for (size_t item = 0; item <= count && item < 20; item++)
			sum = read_item(e, i, item, sum);
		if (posixtrace_log_get_text(e, i, &text, &length) == 0)
			sum = mix_bytes(sum, text, length);
	}
	MUST(posixtrace_log_get_bytes(e, i, &bytes, &length) == ENOENT);
	if (posixtrace_log_get_rest(e, &bytes, &length) == 0) {
		MUST(length > 0 && bytes + length == e->data + e->length);
		sum = mix_bytes(sum, bytes, length);
	}
	return sum;
}

/* -- Events --------------------------------------------------------------------------------------- */

/* What an event means agrees with what its type means. */
static uint64_t mix_meaning(const struct posixtrace_log_event *e, uint64_t sum)
{
	const struct posixtrace_log_meaning *m = posixtrace_log_meaning_of(e->type);
	uint32_t level = 0;
	uint64_t ns = 0;
	int error = posixtrace_log_get_level(e, &level);

	MUST(error == (level ? 0 : ENOENT) && (level == 0) == !posixtrace_log_level_name(level));
	MUST(level == 0 || m->level_field >= 0 || m->level == level);
	error = posixtrace_log_get_took(e, &ns);
	MUST(error == 0 || (error == ENOENT && ns == 0));
	MUST(error != 0 || (m->took >= 0 && strcmp(m->span, e->type->name) == 0));
	return mix(mix(sum, level), ns);
}

/* The segment, the form of the data, and texts that can be shown. */
static uint64_t mix_shown(const struct posixtrace_log_event *e, uint64_t sum)
{
	char text[4096], shown[64];
	uint32_t form = 0;
	size_t length;
	int error;

	MUST(e->segment && e->segment->number > 0);
	MUST(posixtrace_log_get_form(e, &form) == 0);
	error = posixtrace_log_get_system_text(e, text, sizeof text);
	MUST(error == 0 || error == ENOENT);
	if (error == 0)
		sum = mix_text(sum, text);
	length = posixtrace_log_show((const char *)e->data, e->length, shown, sizeof shown);
	MUST(strlen(shown) <= length);
	for (const char *c = shown; *c; c++)
		MUST((unsigned char)*c >= ' ');
	return mix_text(mix(mix(sum, form), e->segment->number ^ e->segment->missing), shown);
}

static uint64_t mix_event(const struct posixtrace_log_event *e, uint64_t sum)
{
	MUST(!e->type != !e->loss && e->source < posixtrace_log_sources(the_log));
	sum = mix(mix(sum, e->time), e->address ^ e->pthread);
	if (e->loss) {
		MUST(e->loss->reason <= POSIXTRACE_LOG_OPEN && e->loss->at_least <= 1);
		return mix(mix(sum, e->loss->count), e->loss->from ^ e->loss->until);
	}
	MUST(e->type == posixtrace_log_type_at(the_log, e->type->index));
	MUST((e->pid || e->tid) == (e->thread != NULL) && !e->process == !e->thread);
	MUST(strlen(e->thread_name) < 16 && e->length <= 65535);
	sum = mix_shown(e, mix_meaning(e, sum));
	return read_fields(e, mix_text(mix(sum, (uint64_t)e->pid << 32 | e->tid), e->thread_name));
}

/* Returns a checksum of all events, and counts them. */
static uint64_t read_events(uint64_t *events)
{
	const struct posixtrace_log_event *e;
	uint64_t sum = 0;

	*events = 0;
	for (;;) {
		MUST(posixtrace_log_next(the_log, &e) == 0);
		if (!e)
			break;
		sum = mix_event(e, sum);
		*events += e->type != NULL;
	}
	MUST(posixtrace_log_next(the_log, &e) == 0 && !e);
	return sum;
}

/* Reads the events of a type in columns. */
static uint64_t read_columns(const struct posixtrace_log_type *t)
{
	/* On the heap, so that an access beyond the end is noticed. */
	uint64_t *values = malloc(3 * ROWS * sizeof *values);
	unsigned char *present = malloc(ROWS);
	struct posixtrace_log_column column[3] = { { POSIXTRACE_LOG_TIME, 0, values, NULL },
		                                   { POSIXTRACE_LOG_THREAD, 1, values + ROWS, present } };
	uint64_t events = 0;
	size_t rows;

	MUST(values && present);
	for (unsigned i = 0; i < t->fields || i == 0; i++) {
		column[2] = (struct posixtrace_log_column){ (int32_t)i, i % 3, values + 2 * ROWS, present };
		posixtrace_log_rewind(the_log);
		events = 0;
		do {
			int error = posixtrace_log_read(the_log, t, column, t->fields ? 3 : 2, ROWS, &rows);

			MUST(error == 0 || error == EINVAL);
			MUST(rows <= ROWS);
			events += rows;
			if (error) {
				events = t->events;
				break;
			}
		} while (rows);
		MUST(events == t->events);
	}
	free(values);
	free(present);
	return events;
}

/* -- Tables ----------------------------------------------------------------------------------------- */

static uint64_t read_type(const struct posixtrace_log_type *t)
{
	const struct posixtrace_log_meaning *m;
	uint64_t sum = mix_text(mix_text(0, t->name), t->layout);

	MUST(posixtrace_log_find_type(the_log, t->name));
	if (t->wrong)
		sum = mix_text(sum, t->wrong);
	m = posixtrace_log_meaning_of(t);
	for (unsigned i = 0; i < 5; i++) {
		const int32_t field[5] = { m->by, m->took, m->send, m->receive, m->level_field };

		MUST(field[i] >= -1 && field[i] < (int32_t)t->fields);
	}
	sum = mix_text(mix_text(mix_text(sum, m->begin), m->end), m->span);
	for (unsigned i = 0; i < t->fields; i++) {
		const struct posixtrace_log_field *f = posixtrace_log_field_at(t, i);
		const char *label;
		int64_t value;

		sum = mix_text(mix_text(sum, f->name), f->unit);
		MUST(f->kind <= POSIXTRACE_LOG_BYTES && posixtrace_log_find_field(t, f->name) == (int)i);
		for (unsigned n = 0; (label = posixtrace_log_label_at(t, i, n, &value)) != NULL; n++)
			sum = mix(mix_text(sum, label), (uint64_t)value);
	}
	return sum;
}

static uint64_t read_processes(void)
{
	const struct posixtrace_log_process *p;
	const struct posixtrace_log_module *m;
	uint64_t sum = 0;

	for (size_t i = 0; (p = posixtrace_log_process_at(the_log, i)) != NULL; i++) {
		sum = mix_text(mix_text(sum, p->executable), p->name);
		sum = mix_bytes(sum, p->command, p->command_length + 1);
		for (size_t k = 0; (m = posixtrace_log_module_at(p, k)) != NULL; k++) {
			sum = mix_bytes(mix_text(sum, m->path), m->build_id, m->build_id_length);
			MUST(m->end <= m->start || posixtrace_log_find_module(p, m->start, m->time));
		}
	}
	return sum;
}

static void read_tables(void)
{
	const struct posixtrace_log_about *a = posixtrace_log_about_at(the_log, 0);
	const struct posixtrace_log_type *t;
	uint64_t sum = mix_text(mix_text(mix_text(0, a->name), a->generator), a->host), events = 0;

	sum = mix_bytes(sum, a->boot, 16);
	for (size_t i = 0; (t = posixtrace_log_type_at(the_log, i)) != NULL; i++) {
		sum = mix(sum, read_type(t));
		events += t->events;
		/* Unnamed types have no fields; so few others may have many. */
		if (i < 40)
			read_columns(t);
	}
	MUST(events == a->events * posixtrace_log_sources(the_log));
	mix(sum, read_processes());
}

/* -- The input ---------------------------------------------------------------------------------------- */

static int wanted(const struct posixtrace_log_event *e, void *context)
{
	uint64_t *sum = context;

	*sum = mix_event(e, *sum);
	return *sum & 1;
}

static void read_filtered(uint64_t from)
{
	const struct posixtrace_log_event *e;
	uint64_t sum = 0;

	posixtrace_log_rewind(the_log);
	MUST(posixtrace_log_only_event(the_log, "*a*") == 0 && posixtrace_log_only_event(the_log, "!*number") == 0);
	MUST(posixtrace_log_only_if(the_log, wanted, &sum) == 0);
	MUST(posixtrace_log_only_time(the_log, from, UINT64_MAX) == 0);
	do {
		MUST(posixtrace_log_next(the_log, &e) == 0);
		MUST(!e || !e->type || (e->time >= from && strchr(e->type->name, 'a')));
	} while (e);
	posixtrace_log_all(the_log);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	uint64_t sum, once, twice, created;
	int error;

	MUST(posixtrace_log_open(NULL, &the_log) == 0);
	error = posixtrace_log_add_memory(the_log, bytes, size, "input");
	MUST(error == 0 || error == EINVAL || error == EBADMSG);
	MUST(error == 0 || strncmp(posixtrace_log_error(), "input: ", 7) == 0);
	if (error == 0) {
		created = posixtrace_log_about_at(the_log, 0)->created;
		sum = read_events(&once);
		posixtrace_log_rewind(the_log);
		MUST(read_events(&twice) == sum && once == twice);
		MUST(posixtrace_log_about_at(the_log, 0)->events == once);
		MUST(posixtrace_log_scan(the_log) == 0);
		read_tables();
		read_filtered(created + 1);
		posixtrace_log_rewind(the_log);
		MUST(read_events(&twice) == sum && once == twice);
	}
	posixtrace_log_close(the_log);
	if (error)
		return 0;
	/* A log that is merged with itself has each event twice. */
	MUST(posixtrace_log_open(NULL, &the_log) == 0);
	for (int i = 0; i < 2; i++)
		MUST(posixtrace_log_add_memory(the_log, bytes, size, NULL) == 0);
	read_events(&twice);
	MUST(twice == 2 * once);
	read_tables();
	posixtrace_log_close(the_log);
	return 0;
}
