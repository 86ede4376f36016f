/*
 * plain.c - prints the table of event types to standard output, for scripts
 *
 * SPDX-License-Identifier: MIT
 */
#include "live/plain.h"

#include <string.h>
#include <time.h>

#include "base/ticks.h"
#include "common/json.h"
#include "common/out.h"

void plain_table(const struct watch *w, const struct rows *rows)
{
	struct rates_figures all = rates_of(w->rates, RATES_ALL);
	time_t now = time(NULL);
	char clock[32];
	struct tm tm;

	localtime_r(&now, &tm);
	strftime(clock, sizeof clock, "%Y-%m-%d %H:%M:%S", &tm);
	out_printf("%s  %d ", clock, (int)w->pid);
	out_foreign(w->command, strlen(w->command), 0);
	out_printf("%s  %llu events  %.1f/s  %llu lost\n", w->ended ? " (ended)" : "",
	           (unsigned long long)all.sum.events, all.events_per_s, (unsigned long long)w->lost);
	out_text("       COUNT       RATE/S      BYTES/S  EVENT\n");
	for (unsigned i = 0; i < rows->count; i++) {
		const struct row *row = &rows->row[i];
		const char *name = typenames_name(w->types, row->id);

		out_printf("%12llu %12.1f %12.1f  ", (unsigned long long)row->figures.sum.events,
		           row->figures.events_per_s, row->figures.bytes_per_s);
		out_foreign(name, strlen(name), 0);
		out_char('\n');
	}
	out_char('\n');
	out_flush();
}

static void json_figures(const struct rates_figures *f)
{
	json_key("events");
	json_number(f->sum.events);
	json_key("bytes");
	json_number(f->sum.bytes);
	json_key("events_per_s");
	json_real(f->events_per_s);
	json_key("bytes_per_s");
	json_real(f->bytes_per_s);
}

void plain_json(const struct watch *w, const struct rows *rows)
{
	struct rates_figures all = rates_of(w->rates, RATES_ALL);

	json_begin('{');
	json_key("time");
	json_signed(clock_ns(CLOCK_REALTIME));
	json_key("pid");
	json_number((uint64_t)w->pid);
	json_key("command");
	json_string(w->command);
	json_key("ended");
	json_bool(w->ended);
	json_key("lost");
	json_number(w->lost);
	json_figures(&all);
	json_key("types");
	json_begin('[');
	for (unsigned i = 0; i < rows->count; i++) {
		json_begin('{');
		json_key("name");
		json_string(typenames_name(w->types, rows->row[i].id));
		json_figures(&rows->row[i].figures);
		json_end('}');
	}
	json_end(']');
	json_end('}');
	json_done();
	out_flush();
}
