/*
 * why.c - report --why: how the time of spans divides into running, waiting and calls, and over threads
 *
 * The critical path goes back from the end of a span: while its thread was blocked, and another thread has woken it,
 * the time is what that thread did meanwhile, and so on.
 *
 * SPDX-License-Identifier: MIT
 */
#include "report/why.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/history.h"
#include "analysis/pairs.h"
#include "analysis/roles.h"
#include "common/json.h"
#include "common/message.h"
#include "common/moment.h"
#include "common/out.h"
#include "common/table.h"

/* Of all spans of a name, these are the slowest. */
#define SLOWEST_PERCENT 1
/* After so many parts of threads' times no further span is divided: in a forged log all spans may have all parts. */
#define PARTS_MAX 5000000
/* How many threads the critical path goes through, one having woken the other. */
#define DEPTH_MAX 16
/* Lines of a path, and rows of the table of paths, unless all are asked for. */
#define STEPS_SHOWN 40
#define ROWS_SHOWN  20
#define WHAT_MAX 256

/* A span that has ended. */
struct instance {
	uint64_t from, until;
	uint32_t machine, pid, tid;
};

/* What a thread did in a part of its time. */
struct what {
	enum history_state state;
	unsigned how; /* enum linux_state */
	bool fault;   /* blocked in a page fault */
	bool in_call; /* running in a system call */
	const char *system, *library;
};

struct row {
	struct lookup_key key;
	const struct history_thread *thread; /* null: of all threads */
	struct what what;
	uint64_t time, count;
};

struct rows {
	struct lookup found;
	struct row **row;
	size_t count, room;
};

/* A step of a critical path. Steps that follow with a higher depth are what happened meanwhile. */
struct path_step {
	unsigned depth;
	const struct history_thread *thread;
	uint64_t from, until;
	struct what what;
	bool waker_known;
	uint32_t waker;
	bool followed;
};

static struct {
	struct sources *logs;
	struct tasks tasks;
	struct history history;
	struct spans spans;
	struct roles roles;
	struct instance *instance;
	size_t instances, room;
	/* What ran on which processor: all runs, by processor and time. */
	struct run { uint32_t cpu; uint64_t from, until; const struct history_thread *thread; } *run;
	size_t runs;
	/* The results: */
	uint64_t total, minor, major;
	uint64_t parts;   /* of threads' times, looked at so far */
	size_t uncounted; /* chosen spans that were not divided */
	struct rows division, path;
	struct path_step *step; /* of the slowest span */
	size_t steps, step_room;
} why;

static void *more(void *list, size_t count, size_t *room, size_t size)
{
	if (count < *room)
		return list;
	*room = *room ? 2 * *room : 64;
	list = realloc(list, *room * size);
	if (!list)
		fail("no memory");
	return list;
}

/* -- What a thread did ---------------------------------------------------------------------------------- */

static struct what what_of(const struct history_part *part)
{
	struct what w = { .state = part->slice ? part->slice->state : HISTORY_UNKNOWN };

	if (w.state == HISTORY_RUNNING) {
		w.in_call = part->system != NULL;
		return w;
	}
	if (w.state == HISTORY_READY || w.state == HISTORY_BLOCKED)
		w.how = part->slice->how;
	if (w.state == HISTORY_READY)
		return w;
	w.system = part->system ? part->system->name : NULL;
	w.library = part->library ? part->library->name : NULL;
	w.fault = part->slice && part->slice->fault && !part->system;
	/* How the kernel waits is of no interest if it is known for what. */
	if (w.system || w.library || w.fault)
		w.how = LINUX_BLOCKED;
	return w;
}

static const char *what_text(const struct what *w, char text[WHAT_MAX])
{
	const char *in = w->state == HISTORY_BLOCKED ? "blocked in" : "in";

	if (w->state == HISTORY_RUNNING)
		return w->in_call ? "running, in system calls" : "running";
	if (w->state == HISTORY_READY)
		return w->how == LINUX_PREEMPTED ? "waiting for a processor, preempted" :
		       w->how == LINUX_NEW       ? "waiting for a processor, new" :
		                                   "waiting for a processor, woken";
	if (w->fault)
		snprintf(text, WHAT_MAX, "blocked in a page fault");
	else if (w->system && w->library)
		snprintf(text, WHAT_MAX, "%s %s, %s", in, w->system, w->library);
	else if (w->system || w->library)
		snprintf(text, WHAT_MAX, "%s %s", in, w->system ? w->system : w->library);
	else if (w->state == HISTORY_BLOCKED)
		snprintf(text, WHAT_MAX, "blocked%s%s", w->how == LINUX_BLOCKED ? "" : ", ",
		         w->how == LINUX_BLOCKED ? "" : linux_state_name(w->how));
	else
		snprintf(text, WHAT_MAX, "unknown");
	return text;
}

static void rows_add(struct rows *rows, const struct history_thread *thread, const struct what *w, uint64_t time)
{
	uint64_t bits = (uint64_t)w->state << 6 | (uint64_t)(w->how & 15) << 2 | (uint64_t)w->fault << 1 | w->in_call;
	/* Names and threads are the same if their addresses are, and addresses have less than 56 bits. */
	struct lookup_key key = { (uint64_t)(uintptr_t)w->system << 8 | bits,
	                          lookup_mix((uintptr_t)w->library, (uintptr_t)thread) };
	struct row *row = lookup(&rows->found, key, sizeof *row);

	if (!row->count) {
		rows->row = more((void *)rows->row, rows->count, &rows->room, sizeof(struct row *));
		rows->row[rows->count++] = row;
		row->thread = thread;
		row->what = *w;
	}
	row->time += time;
	row->count++;
}

static int more_time(const void *a, const void *b)
{
	const struct row *x = *(const struct row *const *)a, *y = *(const struct row *const *)b;

	return (x->time < y->time) - (x->time > y->time);
}

/* -- Dividing a span ------------------------------------------------------------------------------------ */

static void divide(void *arg, const struct history_part *part)
{
	struct what w = what_of(part);

	(void)arg;
	rows_add(&why.division, NULL, &w, part->until - part->from);
}

/* The walk through a thread on a critical path. */
struct walker {
	const struct history_thread *thread;
	unsigned depth;
	bool keep; /* the steps, for the slowest span */
};

static void walk(const struct walker *w, uint64_t from, uint64_t until);

/* Returns whether the part continues the last step, of a thread that runs; then the step has it. */
static bool extends(const struct walker *w, const struct history_part *part, const struct what *what)
{
	struct path_step *last = why.steps ? &why.step[why.steps - 1] : NULL;

	if (!last || what->state != HISTORY_RUNNING || last->what.state != HISTORY_RUNNING ||
	    last->thread != w->thread || last->depth != w->depth || last->until != part->from)
		return false;
	last->until = part->until;
	last->what.in_call &= what->in_call;
	return true;
}

static void walk_part(void *arg, const struct history_part *part)
{
	const struct walker *w = arg;
	const struct history_slice *slice = part->slice;
	struct walker next = { NULL, w->depth + 1, w->keep };
	struct what what = what_of(part);

	why.parts++;
	if (slice && slice->state == HISTORY_BLOCKED && slice->waker_known && slice->waker &&
	    slice->waker != w->thread->tid && w->depth < DEPTH_MAX) {
		next.thread = history_thread(&why.history, w->thread->machine, slice->waker);
		/* A thread that is not recorded has no slices. */
		if (!next.thread->slices.count && !next.thread->system.count)
			next.thread = NULL;
	}
	if (w->keep && !extends(w, part, &what)) {
		why.step = more(why.step, why.steps, &why.step_room, sizeof *why.step);
		why.step[why.steps++] = (struct path_step){
			w->depth, w->thread, part->from, part->until, what, slice && slice->waker_known &&
			slice->state == HISTORY_BLOCKED, slice ? slice->waker : 0, next.thread != NULL };
	}
	if (next.thread)
		walk(&next, part->from, part->until);
	else
		rows_add(&why.path, w->thread, &what, part->until - part->from);
}

static void walk(const struct walker *w, uint64_t from, uint64_t until)
{
	history_parts(w->thread, from, until, walk_part, (void *)w);
}

/* -- Spans ------------------------------------------------------------------------------------------------- */

/* Cuts off @TIME. Returns the time as text, or null. */
static char *take_time(char *text)
{
	char *at = strrchr(text, '@');

	if (!at || !at[1])
		return NULL;
	*at = '\0';
	return at + 1;
}

static void say_unknown(const char *name, const struct spans *all)
{
	char known[600] = "", title[256];
	size_t length = 0;

	/* Names the spans of the program, or Linux's spans if the program has none. */
	for (unsigned own = 2; own-- > 0 && !length;)
		for (unsigned i = 0; i < all->count; i++) {
			span_title(all->span[i], title, sizeof title);
			if ((strncmp(title, "linux_", 6) != 0) == own && length + strlen(title) + 2 < sizeof known)
				length += (size_t)snprintf(known + length, sizeof known - length, "%s%s",
				                           length ? ", " : "", title);
		}
	complain("--why %s: no event type declares such a span, and no pair of names does%s%s", name,
	         *known ? "; there are: " : "; give the names of two events, as BEGIN,END", known);
}

/* Finds the span that is meant. */
static bool find_span(const char *name)
{
	/* The span is found even if the table is full. */
	struct spans all = { .silent = true };

	if (strchr(name, ',')) {
		span_add(&why.spans, name);
		return true;
	}
	pairs_add(&all, why.logs, false);
	for (unsigned i = 0; i < all.count; i++)
		if (all.span[i]->name && strcmp(all.span[i]->name, name) == 0)
			why.spans.span[why.spans.count++] = all.span[i];
	/* Those beyond the limit of the table. */
	for (unsigned i = 0; i < why.logs->count && !why.spans.count && all.count == SPANS_MAX; i++)
		for (uint32_t id = 1; id < EVENT_ID_END; id++) {
			const struct layout *l = layouts_find(why.logs->source[i].layouts, id);
			const char *type = layouts_name(why.logs->source[i].layouts, id);

			if (l && type && l->meaning.took && strcmp(type, name) == 0)
				span_add_declared(&why.spans, name, true);
		}
	if (!why.spans.count)
		say_unknown(name, &all);
	return why.spans.count > 0;
}

static void add_instance(const struct source *s, uint64_t took)
{
	const struct log_event *e = s->event;

	why.instance = more(why.instance, why.instances, &why.room, sizeof *why.instance);
	why.instance[why.instances++] = (struct instance){ took < e->time ? e->time - took : 0, e->time,
	                                                   why.tasks.machine[s->index], e->pid, e->tid };
}

static void read_logs(void)
{
	struct source *s;

	sources_rewind(why.logs);
	for (; (s = sources_oldest(why.logs)) != NULL; source_advance(s)) {
		const struct span_role *role = roles_of(&why.roles, s);

		if (source_tells_of_loss(s) || s->event->id == POSIX_TRACE_START)
			span_cut(&why.spans);
		history_event(&why.history, s);
		if (!span_role_none(role)) {
			const struct task *thread = tasks_thread(&why.tasks, s);
			uint64_t took = span_event(&why.spans, &(struct span_event){
				.role = role, .time = s->event->time, .thread = thread->number,
				.process = thread->process ? thread->process->number : 0, .data = s->data,
				.length = s->event->length });

			if (took != SPAN_NONE && s->event->tid && source_wanted(s))
				add_instance(s, took);
		}
	}
}

static int slower(const void *a, const void *b)
{
	const struct instance *x = a, *y = b;
	uint64_t i = x->until - x->from, j = y->until - y->from;

	return i != j ? (i < j) - (i > j) : (x->from > y->from) - (x->from < y->from);
}

/* Returns how many of the instances are chosen, which are the first ones then. */
static size_t choose(const char *time)
{
	uint64_t at = 0;
	size_t n = 0;

	if (why.instances)
		qsort(why.instance, why.instances, sizeof *why.instance, slower);
	if (!time)
		return (why.instances * SLOWEST_PERCENT + 99) / 100;
	if (!moment_parse(time, why.logs->begin, &at))
		wrong_usage("--why: @%s is no time", time);
	for (size_t i = 0; i < why.instances; i++)
		if (why.instance[i].from <= at && at <= why.instance[i].until)
			why.instance[n++] = why.instance[i];
	return n;
}

/* -- What ran instead ------------------------------------------------------------------------------------------ */

static int by_cpu(const void *a, const void *b)
{
	const struct run *x = a, *y = b;

	return x->cpu != y->cpu ? (x->cpu > y->cpu) - (x->cpu < y->cpu) : (x->from > y->from) - (x->from < y->from);
}

static void collect_runs(void)
{
	size_t room = 0;

	for (unsigned i = 0; i < why.history.threads.slots; i++) {
		const struct history_thread *t = (const struct history_thread *)(void *)why.history.threads.slot[i];
		const struct history_slice *slice = t ? t->slices.item : NULL;

		for (size_t k = 0; t && k < t->slices.count; k++) {
			if (slice[k].state != HISTORY_RUNNING || slice[k].cpu == UINT32_MAX)
				continue;
			why.run = more(why.run, why.runs, &room, sizeof *why.run);
			why.run[why.runs++] = (struct run){ slice[k].cpu, slice[k].from, slice[k].until, t };
		}
	}
	if (why.runs)
		qsort(why.run, why.runs, sizeof *why.run, by_cpu);
}

/* Returns the processor that the thread had to wait for; UINT32_MAX: not known. */
static uint32_t cpu_after(const struct history_thread *t, uint64_t time)
{
	const struct history_slice *slice = t->slices.item;

	for (size_t i = history_slice_at(t, time); i < t->slices.count && slice[i].from <= time; i++)
		if (slice[i].from == time && slice[i].state == HISTORY_RUNNING)
			return slice[i].cpu;
	return UINT32_MAX;
}

/* Returns the thread that ran for most of the time on a processor, or null; *time: for how long. */
static const struct history_thread *ran_instead(const struct path_step *step, uint32_t cpu, uint64_t *time)
{
	const struct history_thread *most = NULL;
	size_t low = 0, high = why.runs;

	*time = 0;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (why.run[middle].cpu > cpu || (why.run[middle].cpu == cpu && why.run[middle].until > step->from))
			high = middle;
		else
			low = middle + 1;
	}
	for (; low < why.runs && why.run[low].cpu == cpu && why.run[low].from < step->until; low++) {
		const struct run *r = &why.run[low];
		uint64_t from = r->from > step->from ? r->from : step->from,
		         until = r->until < step->until ? r->until : step->until;

		if (until - from > *time && r->thread != step->thread) {
			*time = until - from;
			most = r->thread;
		}
	}
	return most;
}

/* -- For people ------------------------------------------------------------------------------------------------ */

static void cell_time(struct table *table, uint64_t ns)
{
	char text[32];

	table_cell(table, "%s", moment_duration(text, ns));
}

static void cell_thread(struct table *table, const struct history_thread *t)
{
	char text[64];

	snprintf(text, sizeof text, "%.20s/%u", t->name, t->tid);
	table_foreign(table, text, strlen(text));
}

static void cell_what(struct table *table, const struct what *w)
{
	char buffer[WHAT_MAX];
	const char *text = what_text(w, buffer);

	table_foreign(table, text, strlen(text));
}

static double percent(uint64_t part)
{
	return why.total ? 100.0 * (double)part / (double)why.total : 0.0;
}

static void print_rows(struct rows *rows, bool threads, size_t most)
{
	struct table *table = threads ? table_new(">time", ">%", "<thread", "<what it did", (char *)NULL) :
	                                table_new(">time", ">%", ">times", "<what", (char *)NULL);

	if (rows->count)
		qsort((void *)rows->row, rows->count, sizeof(struct row *), more_time);
	for (size_t i = 0; i < rows->count && i < most; i++) {
		const struct row *r = rows->row[i];

		cell_time(table, r->time);
		table_cell(table, "%.1f", percent(r->time));
		if (threads)
			cell_thread(table, r->thread);
		else
			table_cell(table, "%llu", (unsigned long long)r->count);
		cell_what(table, &r->what);
	}
	table_print(table, 0);
	table_free(table);
	if (rows->count > most)
		out_printf("... and %zu more: see --full\n", rows->count - most);
}

static int longer(const void *a, const void *b)
{
	const struct path_step *x = a, *y = b;
	uint64_t i = x->until - x->from, j = y->until - y->from;

	return (i < j) - (i > j);
}

/* Returns the length of the shortest steps that are shown. */
static uint64_t least_shown(void)
{
	struct path_step *sorted;
	uint64_t least;

	if (why.steps <= STEPS_SHOWN)
		return 0;
	sorted = malloc(why.steps * sizeof *sorted);
	if (!sorted)
		fail("no memory");
	memcpy(sorted, why.step, why.steps * sizeof *sorted);
	qsort(sorted, why.steps, sizeof *sorted, longer);
	least = sorted[STEPS_SHOWN].until - sorted[STEPS_SHOWN].from + 1;
	free(sorted);
	return least;
}

static const char *waker_text(const struct path_step *step, char text[64])
{
	const struct history_thread *t;

	if (!step->waker)
		return "an interrupt";
	t = history_thread(&why.history, step->thread->machine, step->waker);
	snprintf(text, 64, "%.20s/%u", t->name[0] ? t->name :
	         history_waker_name(&why.history, step->thread->machine, step->waker), step->waker);
	return text;
}

static void print_step(const struct path_step *step)
{
	char what[WHAT_MAX], waker[64], line[2 * WHAT_MAX], duration[32];
	uint32_t cpu = step->what.state == HISTORY_READY ? cpu_after(step->thread, step->until) : UINT32_MAX;
	const struct history_thread *other;
	uint64_t time;
	int n;

	moment_print_seconds(step->from, why.logs->begin, 14);
	out_printf("  %8s  %*s", moment_duration(duration, step->until - step->from), (int)(2 * step->depth), "");
	n = snprintf(line, sizeof line, "%.20s/%u: %s", step->thread->name, step->thread->tid,
	             what_text(&step->what, what));
	if (step->waker_known)
		n += snprintf(line + n, sizeof line - (size_t)n, "; woken by %s%s", waker_text(step, waker),
		              step->followed ? ", meanwhile:" : "");
	if (cpu != UINT32_MAX && (other = ran_instead(step, cpu, &time)) != NULL)
		n += snprintf(line + n, sizeof line - (size_t)n, "; on CPU %u ran %.20s/%u for %s", cpu, other->name,
		              other->tid, moment_duration(duration, time));
	out_foreign(line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1, 0);
	out_char('\n');
}

static void print_steps(bool full)
{
	uint64_t least = full ? 0 : least_shown();
	size_t count = 0;

	for (size_t i = 0; i < why.steps; i++) {
		uint64_t took = why.step[i].until - why.step[i].from;

		if (took >= least) {
			print_step(&why.step[i]);
			continue;
		}
		count++;
	}
	if (count)
		out_printf("... and %zu shorter steps: see --full\n", count);
}

/* Says what was not recorded, and so cannot be in the tables. */
static void say_lack(void)
{
	if (!why.history.states)
		complain("the log does not tell when threads ran: record --kernel sched");
	else if (!why.history.system && !why.history.library)
		complain("the log does not tell in which calls threads were blocked: record --kernel sched,syscalls, "
		         "and --libc locks for the locks of the program");
}

static void print_all(size_t chosen, bool at, bool full)
{
	const struct instance *slowest = &why.instance[0];
	char text[32], title[256];

	span_title(why.spans.span[0], title, sizeof title);
	out_foreign(title, strlen(title), 0);
	if (at)
		out_printf(": %zu span%s at this time, %s\n", chosen, chosen == 1 ? "" : "s",
		           moment_duration(text, why.total));
	else
		out_printf(": the slowest %d %% of %zu spans: %zu, %s\n", SLOWEST_PERCENT, why.instances, chosen,
		           moment_duration(text, why.total));
	out_char('\n');
	if (why.uncounted)
		out_printf("%zu more of these spans are not counted: those above have %d million parts\n\n",
		           why.uncounted, PARTS_MAX / 1000000);
	print_rows(&why.division, false, full ? SIZE_MAX : ROWS_SHOWN);
	if (why.minor || why.major)
		out_printf("page faults: %llu, and %llu that waited for a disk\n", (unsigned long long)why.minor,
		           (unsigned long long)why.major);
	out_text("\nThe critical path, over threads: what those did that the span waited for\n\n");
	print_rows(&why.path, true, full ? SIZE_MAX : ROWS_SHOWN);
	out_printf("\nThe path of the slowest one, %s in ", moment_duration(text, slowest->until - slowest->from));
	snprintf(title, sizeof title, "%.20s/%u", history_thread(&why.history, slowest->machine, slowest->tid)->name,
	         slowest->tid);
	out_foreign(title, strlen(title), 0);
	out_text("\n\n");
	print_steps(full);
	out_flush();
	say_lack();
}

/* -- For programs ------------------------------------------------------------------------------------------------- */

static void json_member(const char *key, uint64_t value)
{
	json_key(key);
	json_number(value);
}

static void json_string_member(const char *key, const char *text)
{
	json_key(key);
	json_string(text);
}

static void json_what(const struct what *w)
{
	static const char *const states[] = { [HISTORY_UNKNOWN] = "unknown", [HISTORY_RUNNING] = "running",
	                                      [HISTORY_READY] = "ready", [HISTORY_BLOCKED] = "blocked" };

	json_string_member("state", states[w->state]);
	if (w->state == HISTORY_READY || (w->state == HISTORY_BLOCKED && w->how != LINUX_BLOCKED))
		json_string_member("how", linux_state_name(w->how));
	if (w->state == HISTORY_RUNNING && w->in_call) {
		json_key("in_system_call");
		json_bool(true);
	}
	if (w->system)
		json_string_member("system_call", w->system);
	if (w->library)
		json_string_member("libc", w->library);
	if (w->fault) {
		json_key("page_fault");
		json_bool(true);
	}
}

static void json_thread(const struct history_thread *t)
{
	json_member("tid", t->tid);
	json_string_member("thread", t->name);
}

static void json_rows(const struct rows *rows)
{
	json_begin('[');
	for (size_t i = 0; i < rows->count; i++) {
		json_begin('{');
		if (rows->row[i]->thread)
			json_thread(rows->row[i]->thread);
		json_what(&rows->row[i]->what);
		json_member("time", rows->row[i]->time);
		json_member("count", rows->row[i]->count);
		json_end('}');
	}
	json_end(']');
}

static void json_step(const struct path_step *step)
{
	uint32_t cpu = step->what.state == HISTORY_READY ? cpu_after(step->thread, step->until) : UINT32_MAX;
	const struct history_thread *other;
	uint64_t time;
	char text[64];

	json_begin('{');
	json_member("depth", step->depth);
	json_thread(step->thread);
	json_key("from");
	json_difference(step->from, why.logs->begin);
	json_member("time", step->until - step->from);
	json_what(&step->what);
	if (step->waker_known) {
		json_member("waker", step->waker);
		json_string_member("waker_name", waker_text(step, text));
	}
	if (cpu != UINT32_MAX && (other = ran_instead(step, cpu, &time)) != NULL) {
		json_member("cpu", cpu);
		json_member("ran_instead", other->tid);
	}
	json_end('}');
}

static void json_all(const char *name, size_t chosen)
{
	if (why.division.count)
		qsort((void *)why.division.row, why.division.count, sizeof(struct row *), more_time);
	if (why.path.count)
		qsort((void *)why.path.row, why.path.count, sizeof(struct row *), more_time);
	json_begin('{');
	json_string_member("span", name);
	json_member("spans", why.instances);
	json_member("chosen", chosen);
	json_member("uncounted", why.uncounted);
	json_member("time", why.total);
	json_key("division");
	json_rows(&why.division);
	json_key("page_faults");
	json_begin('{');
	json_member("minor", why.minor);
	json_member("major", why.major);
	json_end('}');
	json_key("path");
	json_rows(&why.path);
	json_key("slowest");
	json_begin('{');
	json_member("pid", why.instance[0].pid);
	json_member("tid", why.instance[0].tid);
	json_key("from");
	json_difference(why.instance[0].from, why.logs->begin);
	json_member("time", why.instance[0].until - why.instance[0].from);
	json_key("steps");
	json_begin('[');
	for (size_t i = 0; i < why.steps; i++)
		json_step(&why.step[i]);
	json_end(']');
	json_end('}');
	json_end('}');
	json_done();
}

bool why_print(struct sources *logs, const char *text, bool json, bool full)
{
	char *name = strdup(text), *time;
	size_t chosen;

	if (!name)
		fail("no memory");
	time = take_time(name);
	why.logs = logs;
	if (!find_span(name)) {
		free(name);
		return false;
	}
	tasks_begin(&why.tasks, logs);
	roles_begin(&why.roles, &why.spans, logs);
	history_begin(&why.history, logs, &why.tasks);
	read_logs();
	chosen = choose(time);
	if (!chosen) {
		complain("--why %s: there is no such span%s", text, time ? " at this time" : " with begin and end");
		free(name);
		return false;
	}
	for (size_t i = 0; i < chosen; i++) {
		const struct instance *in = &why.instance[i];
		struct walker walker = { history_thread(&why.history, in->machine, in->tid), 0, i == 0 };

		why.total += in->until - in->from;
		history_parts(walker.thread, in->from, in->until, divide, NULL);
		history_faults(walker.thread, in->from, in->until, &why.minor, &why.major);
		walk(&walker, in->from, in->until);
		if (why.parts > PARTS_MAX && i + 1 < chosen) {
			why.uncounted = chosen - (i + 1);
			chosen = i + 1;
		}
	}
	collect_runs();
	if (json)
		json_all(name, chosen);
	else
		print_all(chosen, time != NULL, full);
	free(name);
	return true;
}
