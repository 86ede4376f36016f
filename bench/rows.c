/*
 * rows.c - see rows.h
 *
 * SPDX-License-Identifier: MIT
 */
#include "rows.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"

#define MAX_ROWS 96

struct row {
	const struct section *section;
	char name[64];
	double *figure, *floor; /* by round */
};

struct bench bench = { .directory = "." };

static struct row rows[MAX_ROWS];
static int n_rows;

/* -- Options --------------------------------------------------------------------- */

static void usage(FILE *to, const char *what)
{
	fprintf(to,
	        "usage: %s [options]\n"
	        "%s\n"
	        "  --rounds N        rounds, default %d\n"
	        "  --quick           1 round, short: does it run?\n"
	        "  --directory DIR   where it makes files, default the current directory\n"
	        "  --only TEXT       only rows with this in their name\n"
	        "  --json FILE       all figures of all rounds; - for stdout\n",
	        program_invocation_short_name, what, bench.rounds);
}

void bench_begin(int argc, char **argv, int rounds, const char *what)
{
	static const struct option longopts[] = {
		{ "rounds", required_argument, NULL, 'r' }, { "quick", no_argument, NULL, 'q' },
		{ "directory", required_argument, NULL, 'd' }, { "only", required_argument, NULL, 'o' },
		{ "json", required_argument, NULL, 'j' }, { "help", no_argument, NULL, 'h' }, { NULL, 0, NULL, 0 },
	};
	char *end = "";
	int c;

	bench.rounds = rounds;
	while ((c = getopt_long(argc, argv, "", longopts, NULL)) != -1) {
		switch (c) {
		case 'r':
			bench.rounds = (int)number(optarg, &end, 1, 10000);
			break;
		case 'q':
			bench.quick = true;
			bench.rounds = 1;
			break;
		case 'd':
			bench.directory = optarg;
			break;
		case 'o':
			bench.only = optarg;
			break;
		case 'j':
			bench.json = optarg;
			break;
		case 'h':
			usage(stdout, what);
			exit(0);
		default:
			usage(stderr, what);
			exit(2);
		}
		if (*end)
			die("%s: not a number", optarg);
	}
	if (optind < argc) {
		usage(stderr, what);
		exit(2);
	}
	find_cpus();
	machine_print();
	printf("%s; %d round%s: median, least, most; ratio: to the floor of the same round\n", what, bench.rounds,
	       bench.rounds == 1 ? "" : "s");
#ifndef __OPTIMIZE__
	puts("NOT OPTIMISED: the figures mean nothing. meson setup --buildtype=release ...");
#endif
	fflush(stdout);
}

/* -- Rows ------------------------------------------------------------------------ */

bool bench_wants(const char *name)
{
	return !bench.only || strstr(name, bench.only);
}

void bench_row(const struct section *section, const char *name, int round, double figure, double floor)
{
	struct row *r = rows;

	while (r < rows + n_rows && (r->section != section || strcmp(r->name, name) != 0))
		r++;
	if (r == rows + MAX_ROWS)
		die("too many rows");
	if (r == rows + n_rows) {
		n_rows++;
		r->section = section;
		snprintf(r->name, sizeof r->name, "%s", name);
		r->figure = new_values(bench.rounds);
		r->floor = new_values(bench.rounds);
	}
	r->figure[round] = figure;
	r->floor[round] = floor;
}

static double ratio(const struct row *r)
{
	double *v = new_values(bench.rounds), x;

	for (int i = 0; i < bench.rounds; i++)
		v[i] = r->figure[i] / r->floor[i];
	x = quantile(v, bench.rounds, 0.5);
	free(v);
	return x;
}

static void print_row(const struct row *r)
{
	printf("  %-32s %9.4g %9.4g %9.4g", r->name, quantile(r->figure, bench.rounds, 0.5),
	       quantile(r->figure, bench.rounds, 0), quantile(r->figure, bench.rounds, 1));
	if (!isnan(r->floor[0]))
		printf(" %12.4g %9.3g", quantile(r->floor, bench.rounds, 0.5), ratio(r));
	putchar('\n');
}

/* Prints the tables. The rows of a section keep their order in each round, but other rows may come between them. */
static void print_rows(void)
{
	for (int i = 0; i < n_rows; i++) {
		const struct section *s = rows[i].section;
		bool first = true;

		for (int j = 0; j < i; j++)
			first &= rows[j].section != s;
		if (!first)
			continue;
		printf("\n%s\n%-34s %9s %9s %9s %12s %9s\n", s->heading, "", "median", "min", "max",
		       s->floor ? s->floor : "", s->floor ? "ratio" : "");
		for (int j = i; j < n_rows; j++)
			if (rows[j].section == s)
				print_row(&rows[j]);
	}
}

static void write_json(void)
{
	FILE *f = strcmp(bench.json, "-") == 0 ? stdout : fopen(bench.json, "we");

	if (!f)
		die("%s: %s", bench.json, strerror(errno));
	fputs("{\n", f);
	machine_json(f);
	fprintf(f, "  \"rounds\": %d,\n  \"rows\": [\n", bench.rounds);
	for (int i = 0; i < n_rows; i++) {
		fprintf(f, "    {\"section\": \"%s\", \"row\": \"%s\", \"figure\": ", rows[i].section->key,
		        rows[i].name);
		json_values(f, rows[i].figure, bench.rounds);
		fputs(", \"floor\": ", f);
		if (isnan(rows[i].floor[0]))
			fputs("null", f);
		else
			json_values(f, rows[i].floor, bench.rounds);
		fprintf(f, "}%s\n", i == n_rows - 1 ? "" : ",");
	}
	fputs("  ]\n}\n", f);
	if (f == stdout ? fflush(f) != 0 : fclose(f) != 0)
		die("%s: %s", bench.json, strerror(errno));
}

int bench_end(void)
{
	if (!n_rows)
		die("no row is called %s", bench.only ? bench.only : "anything");
	print_rows();
	if (bench.json)
		write_json();
	for (int i = 0; i < n_rows; i++) {
		free(rows[i].figure);
		free(rows[i].floor);
	}
	return 0;
}
