/*
 * export.h - the formats that posixtrace convert writes
 *
 * Each in a file of its own, export_NAME.c. It is called once for each event in the order of their times, and writes to
 * out.h, or, where the format is a directory, files there.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EXPORT_H
#define EXPORT_H

#include "analysis/span.h"
#include "logs/sources.h"

struct export {
	struct sources logs;
	struct spans spans;    /* what begins and ends something, as asked for and as names tell */
	uint32_t nested;       /* a bit for each span whose slices always nest on their threads: nesting.h */
	int directory;         /* descriptor, of a format that is one */
	uint64_t events, losses;
};

struct exporter {
	const char *name;   /* --to */
	const char *suffix; /* of files, with the point */
	bool directory;
	bool binary; /* not for terminals */
	bool rows;   /* a table of a program's events: those of the recording itself only with --system */
	bool spans;  /* has something for them */
	void (*begin)(struct export *x);
	/* The next event of this log. */
	void (*event)(struct export *x, struct source *s);
	/* Events are missing there. Null: OVERFLOW and RESUME are events like others. */
	void (*lost)(struct export *x, struct source *s, struct loss loss);
	/* A START that is not asked for: spans do not go on beyond it. */
	void (*cut)(struct export *x, struct source *s);
	void (*end)(struct export *x);
};

extern const struct exporter export_chrome;
extern const struct exporter export_csv;
extern const struct exporter export_ctf;
extern const struct exporter export_jsonl;
extern const struct exporter export_perfetto;

#endif
