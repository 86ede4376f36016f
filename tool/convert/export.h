/*
 * export.h - the formats that posixtrace convert writes
 *
 * Each format has a file or a folder of its own. It is called for each event, in the order of times, and writes to
 * common/out.h or, if the format is a directory, to files there.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EXPORT_H
#define EXPORT_H

#include "analysis/span.h"
#include "logs/sources.h"

struct export {
	struct sources logs;
	struct spans spans;    /* from --span, and from pairs of names */
	uint64_t nested;       /* spans whose slices always nest on their threads, a bit for each: nesting.h */
	int directory;         /* the descriptor, if the format is a directory */
	bool off_cpu;          /* folded: stacks of threads that do not run */
	bool nothing;          /* the format has found nothing that it shows, and has said so */
	uint64_t events, losses;
};

struct exporter {
	const char *name;   /* --to */
	const char *suffix; /* of file names, with the point */
	bool directory;
	bool binary; /* not for terminals */
	bool rows;   /* a table of events of programs: events of the recording itself only with --system */
	bool spans;  /* the format has slices */
	void (*begin)(struct export *x);
	/* Writes the next event of this log. */
	void (*event)(struct export *x, struct source *s);
	/* Writes a loss. Null: OVERFLOW and RESUME are written like other events. */
	void (*lost)(struct export *x, struct source *s, struct loss loss);
	/* Handles a START that is not selected: it cuts open spans. */
	void (*cut)(struct export *x, struct source *s);
	void (*end)(struct export *x);
};

extern const struct exporter export_chrome;
extern const struct exporter export_csv;
extern const struct exporter export_ctf;
extern const struct exporter export_folded;
extern const struct exporter export_jsonl;
extern const struct exporter export_perfetto;

#endif
