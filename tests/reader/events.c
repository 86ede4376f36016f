/*
 * events.c - prints logs as <posixtrace/log.h> reads them: a Python literal on each line
 *
 *     events [OPTION...] [LOG...]
 *
 *     --batch            reads names of logs from standard input instead; each log's lines end with the line "end"
 *     --event PATTERN, --thread PATTERN, --pid N, --tid N, --from NS, --until NS     filters
 *     --long             a callback that selects events with 8 bytes of data or more, and no loss
 *     --memory           opens each log from memory; --fd: from a descriptor
 *     --scan             prints only the tables, after posixtrace_log_scan()
 *     --columns TYPE     prints rows of columns of this type, with all fields that are numbers
 *     --twice            reads everything, rewinds, and checks that the second time is the same
 *     --parts            also prints the segment of each event, the form of its data, and what a system event says
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <posixtrace/log.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MUST(what)                                                                          \
	do {                                                                                \
		if (!(what)) {                                                              \
			fprintf(stderr, "events.c:%d: %s: %s\n", __LINE__, #what, posixtrace_log_error()); \
			exit(3);                                                            \
		}                                                                           \
	} while (0)

static struct posixtrace_log *the_log;
static bool with_parts;

/* -- Values ------------------------------------------------------------------------------------- */

static void print_bytes(const void *bytes, size_t length)
{
	const unsigned char *p = bytes;

	printf("b'");
	for (size_t i = 0; i < length; i++)
		printf("\\x%02x", p[i]);
	putchar('\'');
}

static void print_text(const char *text)
{
	print_bytes(text, strlen(text));
}

/* Prints one item of a field that is a number, and checks that all functions agree on it. */
static void print_number(const struct posixtrace_log_event *e, const struct posixtrace_log_field *f, unsigned i,
                         size_t item)
{
	char label[2000];
	uint64_t n = 0;
	int64_t s = 0;
	double d = 0;

	MUST(posixtrace_log_get_double(e, i, item, &d) == 0);
	if (f->kind == POSIXTRACE_LOG_FLOAT) {
		MUST(posixtrace_log_get_signed(e, i, item, &s) == EINVAL);
		if (d - d == 0)
			printf("%.17g", d);
		else
			printf("None");
		return;
	}
	if (posixtrace_log_get_label(e, i, item, label, sizeof label) == 0) {
		print_text(label);
		return;
	}
	if (f->kind == POSIXTRACE_LOG_SIGNED) {
		MUST(posixtrace_log_get_signed(e, i, item, &s) == 0 && d == (double)s);
		MUST(posixtrace_log_get_unsigned(e, i, item, &n) == (s < 0 ? ERANGE : 0));
		printf("%" PRId64, s);
	} else {
		MUST(posixtrace_log_get_unsigned(e, i, item, &n) == 0 && d == (double)n);
		MUST(posixtrace_log_get_signed(e, i, item, &s) == (n > INT64_MAX ? ERANGE : 0));
		printf("%" PRIu64, n);
	}
}

static void print_field(const struct posixtrace_log_event *e, const struct posixtrace_log_field *f, unsigned i)
{
	const unsigned char *bytes;
	const char *text;
	size_t length, count;
	uint64_t n;

	MUST(posixtrace_log_get_bytes(e, i, &bytes, &length) == 0 && bytes >= e->data &&
	     bytes + length <= e->data + e->length);
	if (f->kind == POSIXTRACE_LOG_TEXT) {
		MUST(posixtrace_log_get_unsigned(e, i, 0, &n) == EINVAL);
		MUST(posixtrace_log_get_text(e, i, &text, &length) == 0);
		print_bytes(text, length);
		return;
	}
	MUST(posixtrace_log_get_text(e, i, &text, &count) == EINVAL);
	if (f->kind == POSIXTRACE_LOG_BYTES) {
		print_bytes(bytes, length);
		return;
	}
	MUST(posixtrace_log_get_count(e, i, &count) == 0 && count * f->size == length);
	MUST(posixtrace_log_get_unsigned(e, i, count, &n) == ENOENT);
	if (!f->array) {
		print_number(e, f, i, 0);
		return;
	}
	putchar('[');
	for (size_t item = 0; item < count; item++) {
		print_number(e, f, i, item);
		printf(", ");
	}
	putchar(']');
}

static void print_fields(const struct posixtrace_log_event *e)
{
	const unsigned char *rest;
	size_t length;
	bool ended = false;
	unsigned i = 0;

	printf(", 'fields': {");
	for (; i < e->type->fields; i++) {
		const struct posixtrace_log_field *f = posixtrace_log_field_at(e->type, i);
		const unsigned char *bytes;

		MUST(posixtrace_log_find_field(e->type, f->name) == (int)i);
		if (posixtrace_log_get_bytes(e, i, &bytes, &length) != 0) {
			ended = true;
			continue;
		}
		MUST(!ended);
		print_text(f->name);
		printf(": (%u, ", f->kind);
		print_text(f->unit);
		printf(", ");
		print_field(e, f, i);
		printf("), ");
	}
	MUST(!posixtrace_log_field_at(e->type, i) && posixtrace_log_get_bytes(e, i, &rest, &length) == ENOENT);
	printf("}, 'rest': ");
	if (posixtrace_log_get_rest(e, &rest, &length) == 0)
		print_bytes(rest, length);
	else
		printf("b''");
}

/* Prints the segment of the event, the form of its data, and what it says of the recording. */
static void print_parts(const struct posixtrace_log_event *e)
{
	const struct posixtrace_log_segment *s = e->segment;
	char says[4096], shown[16];
	uint32_t form;

	MUST(s && posixtrace_log_get_form(e, &form) == 0 && posixtrace_log_get_form(e, NULL) == EINVAL);
	printf(", 'segment': (%" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64 "), 'form': %u", s->number, s->begin,
	       s->end, s->missing, form);
	MUST(posixtrace_log_get_system_text(e, says, 0) == EINVAL);
	if (posixtrace_log_get_system_text(e, says, sizeof says) == 0) {
		MUST(e->type->system && posixtrace_log_get_system_text(e, says, strlen(says) + 1) == 0);
		MUST(!*says || posixtrace_log_get_system_text(e, shown, 1) == ERANGE);
		printf(", 'says': ");
		print_text(says);
	}
}

/* Checks how a text is shown that has a control character, a byte that is no UTF-8, and a character of two bytes. */
static void check_shown(void)
{
	const char *text = "a\033\377\303\251";
	char shown[12];

	MUST(posixtrace_log_show(text, SIZE_MAX, shown, sizeof shown) == 11);
	MUST(strcmp(shown, "a\\x1b\\xff\303\251") == 0);
	MUST(posixtrace_log_show(text, 2, shown, 6) == 5 && strcmp(shown, "a\\x1b") == 0);
	MUST(posixtrace_log_show(text, 2, shown, 5) == 5 && strcmp(shown, "a") == 0);
	MUST(posixtrace_log_show(text, 5, shown, 11) == 11 && strcmp(shown, "a\\x1b\\xff") == 0);
	MUST(posixtrace_log_show(text, 5, NULL, 0) == 11 && posixtrace_log_show(NULL, 5, shown, 1) == 0 && !*shown);
}

/* -- Events -------------------------------------------------------------------------------------- */

static void print_event(const struct posixtrace_log_event *e)
{
	printf("{'time': %" PRIu64 ", 'relative': %" PRId64 ", 'source': %u", e->time, e->relative, e->source);
	if (e->loss) {
		const unsigned char *bytes;
		size_t length;

		MUST(!e->type && !e->segment && posixtrace_log_get_bytes(e, 0, &bytes, &length) == ENOENT);
		printf(", 'reason': %u, 'at_least': %u, 'count': %" PRIu64, e->loss->reason, e->loss->at_least,
		       e->loss->count);
		printf(", 'from': %" PRIu64 ", 'until': %" PRIu64 "}\n", e->loss->from, e->loss->until);
		return;
	}
	MUST(e->type == posixtrace_log_type_at(the_log, e->type->index));
	printf(", 'event': ");
	print_text(e->type->name);
	if (e->thread) {
		MUST(e->thread->tid == e->tid && e->thread->process == e->process && e->process->pid == e->pid);
		MUST(&*e->thread == posixtrace_log_thread_at(the_log, e->thread->index));
		printf(", 'pid': %u, 'tid': %u, 'thread': ", e->pid, e->tid);
		print_text(e->thread_name);
	}
	printf(", 'address': %" PRIu64 ", 'truncated': %u, 'data': ", e->address, e->truncated);
	print_bytes(e->data, e->length);
	print_fields(e);
	if (with_parts)
		print_parts(e);
	printf("}\n");
}

/* Returns a number for all that an event has. */
static uint64_t sum_of(const struct posixtrace_log_event *e, uint64_t sum)
{
	uint64_t parts[] = { e->time, e->address, e->length, e->pid, e->tid, e->source, e->truncated,
		             e->loss ? e->loss->count * 8 + e->loss->reason : 77, e->type ? e->type->index : 99 };

	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		sum = (sum ^ parts[i]) * UINT64_C(0x9e3779b97f4a7c15);
	for (uint32_t i = 0; i < e->length; i++)
		sum = (sum ^ e->data[i]) * UINT64_C(0x9e3779b97f4a7c15);
	return sum;
}

static uint64_t read_events(bool print)
{
	const struct posixtrace_log_event *e;
	uint64_t sum = 0;
	int error;

	while ((error = posixtrace_log_next(the_log, &e)) == 0 && e) {
		sum = sum_of(e, sum);
		if (print)
			print_event(e);
	}
	if (error)
		printf("{'error': %d}\n", error);
	MUST(posixtrace_log_next(the_log, &e) == error && !e);
	return sum;
}

/* -- Tables ---------------------------------------------------------------------------------------- */

static void print_origin(const struct posixtrace_log_about *a)
{
	printf(", 'id': %" PRIu64 ", 'generation': %" PRIu64 ", 'unknown': %" PRIu64 ", 'labels': {", a->id,
	       a->generation, a->unknown);
	for (size_t i = 0; i < a->labels; i++) {
		print_text(a->label[i].key);
		printf(": ");
		print_text(a->label[i].value);
		printf(", ");
	}
	printf("}, 'clocks': [");
	for (size_t i = 0; i < a->clocks; i++) {
		const struct posixtrace_log_clock *c = &a->clock[i];

		printf("(%" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %d, %u, %u, %u, %u, %" PRId64 ", %" PRId64
		       ", %" PRIu64 ", %" PRIu64 "), ", c->monotonic, c->realtime, c->boottime, c->took, c->tai,
		       c->reason, c->known, c->state, c->status, c->offset, c->frequency, c->max_error,
		       c->estimated_error);
	}
	printf("]");
}

static void print_log(const struct posixtrace_log_about *a)
{
	printf("{'log': ");
	print_text(a->path);
	printf(", 'name': ");
	print_text(a->name);
	printf(", 'version': ");
	print_text(a->generator);
	printf(", 'host': ");
	print_text(a->host);
	printf(", 'created': %" PRIu64 ", 'target': %u, 'creator': %u, 'complete': %u, 'closed': %u, 'bytes': %" PRIu64,
	       a->created, a->target, a->creator, a->complete, a->closed, a->bytes);
	printf(", 'skipped': %" PRIu64 ", 'lost': %" PRIu64 ", 'overwritten': %" PRIu64 ", 'discarded': %" PRIu64,
	       a->skipped, a->lost, a->overwritten, a->discarded);
	printf(", 'unwritten': %" PRIu64 ", 'damaged': %" PRIu64 ", 'events': %" PRIu64 ", 'first': %" PRIu64
	       ", 'last': %" PRIu64, a->unwritten, a->damaged, a->events, a->first, a->last);
	print_origin(a);
	printf("}\n");
}

static void print_type(const struct posixtrace_log_type *t)
{
	printf("{'type': ");
	print_text(t->name);
	printf(", 'layout': ");
	print_text(t->layout);
	printf(", 'wrong': %d, 'system': %u, 'events': %" PRIu64, t->wrong != NULL, t->system, t->events);
	printf(", 'labels': [");
	for (unsigned i = 0; i < t->fields; i++) {
		const char *label;
		int64_t value;
		unsigned n = 0;

		while ((label = posixtrace_log_label_at(t, i, n, &value)) != NULL) {
			print_text(label);
			printf(", %" PRId64 ", ", value);
			n++;
		}
		MUST(n == posixtrace_log_field_at(t, i)->labels);
	}
	printf("]}\n");
}

static void print_process(const struct posixtrace_log_process *p)
{
	printf("{'process': %u, 'parent': %u, 'time': %" PRIu64 ", 'executable': ", p->pid, p->parent, p->time);
	print_text(p->executable);
	printf(", 'name': ");
	print_text(p->name);
	printf(", 'command': ");
	print_bytes(p->command, p->command_length);
	printf(", 'modules': [");
	for (size_t i = 0; i < p->modules; i++) {
		const struct posixtrace_log_module *m = posixtrace_log_module_at(p, i);

		printf("(%" PRIu64 ", %" PRIu64 ", %" PRIu64 ", ", m->start, m->end, m->offset);
		print_text(m->path);
		printf(", ");
		print_bytes(m->build_id, m->build_id_length);
		printf("), ");
		MUST(m->end <= m->start || posixtrace_log_find_module(p, m->start, UINT64_MAX));
	}
	printf("]}\n");
	MUST(!posixtrace_log_module_at(p, p->modules));
}

static void print_tables(void)
{
	size_t i;

	for (i = 0; i < posixtrace_log_sources(the_log); i++)
		print_log(posixtrace_log_about_at(the_log, i));
	for (i = 0; i < posixtrace_log_types(the_log); i++)
		print_type(posixtrace_log_type_at(the_log, i));
	for (i = 0; i < posixtrace_log_processes(the_log); i++)
		print_process(posixtrace_log_process_at(the_log, i));
	for (i = 0; i < posixtrace_log_threads(the_log); i++) {
		const struct posixtrace_log_thread *t = posixtrace_log_thread_at(the_log, i);

		printf("{'thread': %u, 'of': %u, 'events': %" PRIu64 ", 'name': ", t->tid, t->process->pid, t->events);
		print_text(t->name);
		printf("}\n");
	}
	MUST(!posixtrace_log_thread_at(the_log, i));
	MUST(!posixtrace_log_about_at(the_log, posixtrace_log_sources(the_log)));
}

/* -- Columns ----------------------------------------------------------------------------------------- */

#define ROWS 7 /* few, so that several calls are needed */
#define MOST 40

/* Prints a row for each event: the time, the thread's id, and all fields that are numbers. */
static void print_columns(const char *name)
{
	static uint64_t values[MOST][ROWS];
	static unsigned char present[MOST][ROWS];
	const struct posixtrace_log_type *t = posixtrace_log_find_type(the_log, name);
	struct posixtrace_log_column column[MOST] = { { POSIXTRACE_LOG_TIME, 0, values[0], NULL },
		                                      { POSIXTRACE_LOG_TID, 0, values[1], NULL } };
	size_t count = 2, rows;

	MUST(t);
	for (unsigned i = 0; i < t->fields; i++) {
		const struct posixtrace_log_field *f = posixtrace_log_field_at(t, i);

		column[count] = (struct posixtrace_log_column){ (int32_t)i, POSIXTRACE_LOG_UINT64, values[count],
			                                        present[count] };
		if (f->kind == POSIXTRACE_LOG_FLOAT)
			column[count].values_type = POSIXTRACE_LOG_DOUBLE;
		if (f->kind == POSIXTRACE_LOG_SIGNED)
			column[count].values_type = POSIXTRACE_LOG_INT64;
		if (f->kind == POSIXTRACE_LOG_TEXT || f->kind == POSIXTRACE_LOG_BYTES)
			MUST(posixtrace_log_read(the_log, t, &column[count], 1, ROWS, &rows) == EINVAL);
		else
			count++;
	}
	for (;;) {
		MUST(posixtrace_log_read(the_log, t, column, count, ROWS, &rows) == 0);
		if (!rows)
			break;
		for (size_t row = 0; row < rows; row++) {
			printf("(");
			for (size_t i = 0; i < count; i++)
				if (i >= 2 && !present[i][row])
					printf("None, ");
				else if (column[i].values_type == POSIXTRACE_LOG_DOUBLE)
					printf("%.17g, ", ((double *)column[i].values)[row]);
				else if (column[i].values_type == POSIXTRACE_LOG_INT64)
					printf("%" PRId64 ", ", ((int64_t *)column[i].values)[row]);
				else
					printf("%" PRIu64 ", ", values[i][row]);
			printf(")\n");
		}
	}
}

/* -- The program ------------------------------------------------------------------------------------- */

static bool memory, descriptor, scan, twice;
static const char *columns;
static const char *option[32][2];
static unsigned options;
static uint64_t from, until = UINT64_MAX;

static int is_long(const struct posixtrace_log_event *e, void *context)
{
	MUST(context == &options);
	return !e->loss && e->length >= 8;
}

static int open_log(const char *path)
{
	int error, fd;

	if (!memory && !descriptor)
		return posixtrace_log_add(the_log, path);
	fd = open(path, O_RDONLY);
	MUST(fd >= 0);
	if (memory) {
		off_t size = lseek(fd, 0, SEEK_END);
		char *bytes = malloc((size_t)size + 1);

		MUST(bytes && pread(fd, bytes, (size_t)size, 0) == size);
		error = posixtrace_log_add_memory(the_log, bytes, (size_t)size, path);
		free(bytes);
	} else {
		error = posixtrace_log_add_fd(the_log, fd, path);
	}
	close(fd);
	return error;
}

static void set_filters(void)
{
	for (unsigned i = 0; i < options; i++) {
		const char *name = option[i][0], *value = option[i][1];

		if (strcmp(name, "--event") == 0)
			MUST(posixtrace_log_only_event(the_log, value) == 0);
		else if (strcmp(name, "--thread") == 0)
			MUST(posixtrace_log_only_thread(the_log, value) == 0);
		else if (strcmp(name, "--pid") == 0)
			MUST(posixtrace_log_only_pid(the_log, (uint32_t)atoi(value)) == 0);
		else if (strcmp(name, "--tid") == 0)
			MUST(posixtrace_log_only_tid(the_log, (uint32_t)atoi(value)) == 0);
		else if (strcmp(name, "--from") == 0)
			from = strtoull(value, NULL, 10);
		else if (strcmp(name, "--until") == 0)
			until = strtoull(value, NULL, 10);
		else if (strcmp(name, "--long") == 0)
			MUST(posixtrace_log_only_if(the_log, is_long, &options) == 0);
	}
	if (from || until != UINT64_MAX)
		MUST(posixtrace_log_only_time(the_log, from, until) == 0);
}

static void print_logs(char **paths, int count)
{
	int error = 0;

	MUST(posixtrace_log_open(NULL, &the_log) == 0);
	for (int i = 0; i < count && error == 0; i++)
		error = open_log(paths[i]);
	if (error) {
		MUST(*posixtrace_log_error());
		printf("{'error': %d, 'message': ", error);
		print_text(posixtrace_log_error());
		printf("}\n");
		posixtrace_log_close(the_log);
		return;
	}
	set_filters();
	if (columns) {
		print_columns(columns);
	} else if (scan) {
		error = posixtrace_log_scan(the_log);
		MUST(error == 0);
		print_tables();
	} else {
		uint64_t sum = read_events(true);

		if (twice) {
			print_tables();
			posixtrace_log_rewind(the_log);
			MUST(read_events(false) == sum);
		}
	}
	posixtrace_log_close(the_log);
}

int main(int argc, char **argv)
{
	static char line[4096];
	bool batch = false;
	int i = 1;

	for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
		if (strcmp(argv[i], "--batch") == 0)
			batch = true;
		else if (strcmp(argv[i], "--memory") == 0)
			memory = true;
		else if (strcmp(argv[i], "--fd") == 0)
			descriptor = true;
		else if (strcmp(argv[i], "--scan") == 0)
			scan = true;
		else if (strcmp(argv[i], "--twice") == 0)
			twice = true;
		else if (strcmp(argv[i], "--parts") == 0)
			with_parts = true;
		else if (strcmp(argv[i], "--columns") == 0)
			columns = argv[++i];
		else {
			option[options][0] = argv[i];
			option[options++][1] = strcmp(argv[i], "--long") == 0 ? "" : argv[++i];
		}
	}
	if (with_parts)
		check_shown();
	if (!batch) {
		print_logs(argv + i, argc - i);
		return 0;
	}
	while (fgets(line, sizeof line, stdin)) {
		char *path = line;

		line[strcspn(line, "\n")] = 0;
		print_logs(&path, 1);
		printf("end\n");
	}
	return 0;
}
