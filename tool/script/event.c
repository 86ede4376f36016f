/*
 * event.c - posixtrace event: an event from a script
 *
 * The event goes into the streams that this process inherits from its ancestors. Without such a stream nothing happens,
 * which is no failure: a script runs the same way, traced or not.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <trace.h>

#include "common/command.h"
#include "common/message.h"
#include "common/options.h"
#include "script/fields.h"
#include "script/parent.h"
#include "script/traced.h"

enum { HEX = OPTIONS_OWN, TRACED, AS, NUMBERS };

static struct {
	bool must, verbose;
} options;

/* In the order of their options, whose values begin with NUMBERS. */
static const struct {
	const char *name;
	uint8_t size, kind; /* enum layout_kind */
} numbers[] = {
	{ "--u8", 1, LAYOUT_UNSIGNED },  { "--u16", 2, LAYOUT_UNSIGNED }, { "--u32", 4, LAYOUT_UNSIGNED },
	{ "--u64", 8, LAYOUT_UNSIGNED }, { "--i8", 1, LAYOUT_SIGNED },    { "--i16", 2, LAYOUT_SIGNED },
	{ "--i32", 4, LAYOUT_SIGNED },   { "--i64", 8, LAYOUT_SIGNED },   { "--f32", 4, LAYOUT_FLOAT },
	{ "--f64", 8, LAYOUT_FLOAT },
};

static const struct option_row option_rows[] = {
	OPTION('f', "field", "FIELD",
	       "add a field, NAME:TYPE=VALUE or NAME=TEXT: id:u32=7, time:u64/ms=12, item=tea; may be repeated"),
	OPTION(AS, "as", "ATTRIBUTES",
	       "what the event means: begin=SPAN, took=FIELD, level=error ... (docs/layouts.md)"),
	OPTION(NUMBERS, "u8", "N", ""),
	OPTION(NUMBERS + 1, "u16", "N", ""),
	OPTION(NUMBERS + 2, "u32", "N", ""),
	OPTION(NUMBERS + 3, "u64", "N", "add an unsigned integer, decimal or 0x..., to the data"),
	OPTION(NUMBERS + 4, "i8", "N", ""),
	OPTION(NUMBERS + 5, "i16", "N", ""),
	OPTION(NUMBERS + 6, "i32", "N", ""),
	OPTION(NUMBERS + 7, "i64", "N", "add a signed integer"),
	OPTION(NUMBERS + 8, "f32", "N", ""),
	OPTION(NUMBERS + 9, "f64", "N", "add a floating-point number"),
	OPTION(HEX, "hex", "DIGITS", "add bytes, in hexadecimal"),
	OPTION(TRACED, "traced", NULL, "exit with status 1 if no stream traces this process"),
	OPTION('v', "verbose", NULL, "say whether a stream traces this process"),
	{ 0 },
};

static struct fields fields;

static void add_hex(const char *digits)
{
	for (const char *p = digits; *p; p += 2) {
		char pair[3] = { p[0], p[1], 0 };
		unsigned char byte;

		if (strspn(pair, "0123456789abcdefABCDEF") != 2)
			wrong_usage("--hex %s: not pairs of hex digits", digits);
		byte = (unsigned char)strtoul(pair, NULL, 16);
		fields_add_bytes(&fields, &byte, 1);
	}
}

/* Adds the number of an option, aligned as in a C struct. */
static void add_number(unsigned which, const char *text)
{
	static const unsigned char zeroes[8];
	unsigned size = numbers[which].size;

	fields_add_bytes(&fields, zeroes, -fields.length & (size - 1));
	fields_add_number(&fields, numbers[which].kind, size, numbers[which].name, text);
}

/* Takes an option. Returns false if it is one of those that add data without a declaration. */
static bool take(int option, const char *argument)
{
	switch (option) {
	case TRACED:
		options.must = true;
		return true;
	case 'v':
		options.verbose = true;
		return true;
	case 'f':
		fields_add(&fields, argument);
		return true;
	case AS:
		if (fields.layout[0])
			wrong_usage("--as comes once, before --field");
		fields_attributes(&fields, argument);
		return true;
	default:
		return false;
	}
}

static void take_all(int argc, char **argv)
{
	bool bare = false;
	int option;

	while ((option = next_option(argc, argv)) != -1) {
		if (take(option, optarg))
			continue;
		bare = true;
		if (option == HEX)
			add_hex(optarg);
		else
			add_number((unsigned)option - NUMBERS, optarg);
	}
	if (argc - optind > 2 && argv[optind + 1][0] == '-')
		wrong_usage("options must come before NAME");
	if (argc - optind > 2 || (argc == optind && (!options.must || fields.length)))
		wrong_usage("expected NAME [DATA]; quote DATA to make it one argument");
	if (fields.layout[0] && (bare || argc - optind == 2))
		wrong_usage("--field and --as declare all of the data: no DATA and no %s besides",
		            "--u8, --hex and the like");
	if (argc - optind == 2)
		fields_add_bytes(&fields, argv[optind + 1], strlen(argv[optind + 1]));
}

static int run(int argc, char **argv)
{
	trace_event_id_t id = POSIX_TRACE_UNNAMED_USEREVENT;
	bool some;

	take_all(argc, argv);
	if (argc > optind)
		id = fields_open(&fields, argv[optind]);
	some = script_traced();
	if (argc > optind && some) {
		if (id == POSIX_TRACE_UNNAMED_USEREVENT)
			fail("%s: there are %d event types already, or no shared memory for more", argv[optind],
			     TRACE_USER_EVENT_MAX - 1);
		fields_say_misfit(&fields);
		script_act_for_parent(true);
		posix_trace_event(id, fields.data, fields.length);
	}
	if (options.verbose)
		complain(some ? "traced" :
		         "not traced: run the script under 'posixtrace record --children', "
		         "or create an inherited stream in a parent");
	return options.must && !some ? STATUS_FAILED : STATUS_DONE;
}

const struct command command_event = {
	.name = "event",
	.summary = "record one event, from a script",
	.synopsis = "[options] NAME [DATA]\n--traced",
	.about = "Records one event of the type NAME, with DATA as text, in the streams that trace the calling "
	         "script and its children; or with fields. Numbers and bytes precede DATA in the order of their "
	         "options, aligned as in a C struct.",
	.options = option_rows,
	.ending = "Exit status: 0, also if no stream traces this process; 1 the event could not be recorded, or "
	          "--traced and no stream.",
	.operand = "NAME",
	.run = run,
};
