/*
 * linux.c - stat --sched and --syscalls: what the kernel's events say of threads and of system calls (docs/kernel.md)
 *
 * SPDX-License-Identifier: MIT
 */
#include "stat/linux.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/message.h"
#include "common/moment.h"
#include "common/out.h"
#include "common/table.h"

/* -- Counting ---------------------------------------------------------------------------------- */

/* Makes an array as long as an index needs; new elements are all zero. */
static void *extend(void *array, unsigned *count, unsigned index, size_t size)
{
	unsigned more = *count ? *count : 64;

	if (index < *count)
		return array;
	while (more <= index)
		more *= 2;
	array = realloc(array, more * size);
	if (!array)
		fail("no memory");
	memset((char *)array + *count * size, 0, (more - *count) * size);
	*count = more;
	return array;
}

static void add_run(struct linux_thread *t, const struct linux_run *run)
{
	t->on += run->took;
	if (run->cpu_known) {
		t->moved += t->runs && run->cpu != t->cpu;
		t->cpu = run->cpu;
	}
	t->preempted += run->why_known && run->why == LINUX_PREEMPTED;
	t->runs++;
}

static void add_off(struct linux_thread *t, const struct linux_off *off)
{
	t->ready += off->ready;
	*(off->state == LINUX_DISK ? &t->disk : &t->blocked) += off->took - off->ready;
	if (off->ready_known && off->state != LINUX_PREEMPTED && off->state != LINUX_NEW)
		histogram_add(&t->latency, off->ready);
}

static void add_call(struct linux_stat *l, const struct tally *type, const unsigned char *data, uint32_t length)
{
	uint64_t took;
	int64_t result;

	if (!linux_read_call(&took, &result, data, length))
		return;
	l->call = extend(l->call, &l->calls, type->index, sizeof *l->call);
	l->call[type->index].tally = type;
	histogram_add(&l->call[type->index].took, took);
	l->call[type->index].errors += linux_is_error(result);
}

void linux_event(struct linux_stat *l, enum linux_kind kind, const struct tally *type, const struct tally *thread,
                 const unsigned char *data, uint32_t length)
{
	struct linux_run run;
	struct linux_off off;

	if (kind == LINUX_CALL) {
		add_call(l, type, data, length);
		return;
	}
	if ((kind != LINUX_RUN || !linux_read_run(&run, data, length)) &&
	    (kind != LINUX_OFF || !linux_read_off(&off, data, length)))
		return;
	l->thread = extend(l->thread, &l->threads, thread->index, sizeof *l->thread);
	l->thread[thread->index].tally = thread;
	if (kind == LINUX_RUN)
		add_run(&l->thread[thread->index], &run);
	else
		add_off(&l->thread[thread->index], &off);
}

bool linux_some_threads(const struct linux_stat *l)
{
	return l->threads > 0;
}

bool linux_some_calls(const struct linux_stat *l)
{
	return l->calls > 0;
}

/* -- Results --------------------------------------------------------------------------------------- */

static int more_on(const void *a, const void *b)
{
	const struct linux_thread *x = *(const struct linux_thread *const *)a;
	const struct linux_thread *y = *(const struct linux_thread *const *)b;

	return x->on != y->on ? (x->on < y->on) - (x->on > y->on) : x->tally->index < y->tally->index ? -1 : 1;
}

static int more_time(const void *a, const void *b)
{
	const struct linux_call *x = *(const struct linux_call *const *)a, *y = *(const struct linux_call *const *)b;

	return x->took.sum != y->took.sum ? (x->took.sum < y->took.sum) - (x->took.sum > y->took.sum) :
	       strcmp(x->tally->key.name, y->tally->key.name);
}

/* Returns the threads, in the order of their time on a processor; to be freed. */
static struct linux_thread **sort_threads(const struct linux_stat *l, unsigned *count)
{
	struct linux_thread **list = calloc(l->threads + 1, sizeof *list);

	if (!list)
		fail("no memory");
	*count = 0;
	for (unsigned i = 0; i < l->threads; i++)
		if (l->thread[i].tally)
			list[(*count)++] = &l->thread[i];
	qsort(list, *count, sizeof *list, more_on);
	return list;
}

static struct linux_call **sort_calls(const struct linux_stat *l, unsigned *count)
{
	struct linux_call **list = calloc(l->calls + 1, sizeof *list);

	if (!list)
		fail("no memory");
	*count = 0;
	for (unsigned i = 0; i < l->calls; i++)
		if (l->call[i].tally)
			list[(*count)++] = &l->call[i];
	qsort(list, *count, sizeof *list, more_time);
	return list;
}

static void cell_time(struct table *table, uint64_t ns)
{
	char text[32];

	table_cell(table, "%s", moment_duration(text, ns));
}

static void cell_percentile(struct table *table, const struct histogram *h, double percent)
{
	if (h->count)
		cell_time(table, percent < 100 ? histogram_percentile(h, percent) : h->most);
	else
		table_cell(table, "-");
}

static void say_more(unsigned count, unsigned shown)
{
	if (shown < count)
		out_printf("... and %u more: see --lines\n", count - shown);
}

void linux_print_threads(const struct linux_stat *l, unsigned lines)
{
	struct table *table = table_new(">on", ">ready", ">blocked", ">disk", ">runs", ">preempted", ">moved",
		">latency 50%", ">99%", ">max", "<thread", (char *)NULL);
	unsigned count, shown;
	struct linux_thread **list = sort_threads(l, &count);

	shown = lines && lines < count ? lines : count;
	for (unsigned i = 0; i < shown; i++) {
		const struct linux_thread *t = list[i];
		char name[64];

		cell_time(table, t->on);
		cell_time(table, t->ready);
		cell_time(table, t->blocked);
		cell_time(table, t->disk);
		table_cell(table, "%llu", (unsigned long long)t->runs);
		table_cell(table, "%llu", (unsigned long long)t->preempted);
		table_cell(table, "%llu", (unsigned long long)t->moved);
		cell_percentile(table, &t->latency, 50);
		cell_percentile(table, &t->latency, 99);
		cell_percentile(table, &t->latency, 100);
		snprintf(name, sizeof name, "%.20s/%u", t->tally->label ? t->tally->label : "", t->tally->key.tid);
		table_foreign(table, name, strlen(name));
	}
	table_print(table, 0);
	table_free(table);
	say_more(count, shown);
	free((void *)list);
}

static const char *call_name(const struct linux_call *c)
{
	return c->tally->key.name + strlen(LINUX_CALL_PREFIX);
}

void linux_print_calls(const struct linux_stat *l, unsigned lines)
{
	struct table *table = table_new(">calls", ">errors", ">time", ">%", ">mean", ">50%", ">90%", ">99%", ">max",
		"<system call", (char *)NULL);
	unsigned count, shown;
	struct linux_call **list = sort_calls(l, &count);
	uint64_t all = 0;

	for (unsigned i = 0; i < count; i++)
		all += list[i]->took.sum;
	shown = lines && lines < count ? lines : count;
	for (unsigned i = 0; i < shown; i++) {
		const struct linux_call *c = list[i];

		table_cell(table, "%llu", (unsigned long long)c->took.count);
		table_cell(table, "%llu", (unsigned long long)c->errors);
		cell_time(table, c->took.sum);
		table_cell(table, "%.1f", all ? 100.0 * (double)c->took.sum / (double)all : 0.0);
		cell_time(table, (uint64_t)(histogram_mean(&c->took) + 0.5));
		cell_percentile(table, &c->took, 50);
		cell_percentile(table, &c->took, 90);
		cell_percentile(table, &c->took, 99);
		cell_percentile(table, &c->took, 100);
		table_foreign(table, call_name(c), strlen(call_name(c)));
	}
	table_print(table, 0);
	table_free(table);
	say_more(count, shown);
	free((void *)list);
}

static void json_member(const char *key, uint64_t value)
{
	json_key(key);
	json_number(value);
}

static void json_histogram(const struct histogram *h)
{
	static const struct { const char *key; double percent; } percents[] = {
		{ "50", 50 }, { "90", 90 }, { "99", 99 }, { "99.9", 99.9 },
	};

	json_begin('{');
	json_member("count", h->count);
	json_member("sum", h->sum);
	json_member("min", h->least);
	json_member("max", h->most);
	json_key("percentiles");
	json_begin('{');
	for (unsigned i = 0; i < sizeof percents / sizeof *percents; i++)
		json_member(percents[i].key, histogram_percentile(h, percents[i].percent));
	json_end('}');
	json_end('}');
}

void linux_json_threads(const struct linux_stat *l)
{
	unsigned count;
	struct linux_thread **list = sort_threads(l, &count);

	json_begin('[');
	for (unsigned i = 0; i < count; i++) {
		const struct linux_thread *t = list[i];

		json_begin('{');
		json_member("pid", t->tally->key.pid);
		json_member("tid", t->tally->key.tid);
		if (t->tally->label) {
			json_key("name");
			json_string(t->tally->label);
		}
		json_member("on", t->on);
		json_member("ready", t->ready);
		json_member("blocked", t->blocked);
		json_member("disk", t->disk);
		json_member("runs", t->runs);
		json_member("preempted", t->preempted);
		json_member("moved", t->moved);
		json_key("latency");
		json_histogram(&t->latency);
		json_end('}');
	}
	json_end(']');
	free((void *)list);
}

void linux_json_calls(const struct linux_stat *l)
{
	unsigned count;
	struct linux_call **list = sort_calls(l, &count);

	json_begin('[');
	for (unsigned i = 0; i < count; i++) {
		json_begin('{');
		json_key("name");
		json_string(call_name(list[i]));
		json_member("errors", list[i]->errors);
		json_key("took");
		json_histogram(&list[i]->took);
		json_end('}');
	}
	json_end(']');
	free((void *)list);
}
