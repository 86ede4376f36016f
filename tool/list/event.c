/*
 * event.c - posixtrace event: an event from a script
 *
 * The event goes into the streams that this process inherits from its ancestors. Without such a stream nothing happens,
 * which is no failure: a script runs the same way, traced or not.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <trace.h>

#include "common/command.h"
#include "common/message.h"
#include "common/options.h"
#include "control/target.h"
#include "model/data_layout.h"

#define DATA_MAX 65535

enum { HEX = OPTIONS_OWN, TRACED, NUMBERS };

/* In the order of their options, whose values begin with NUMBERS. */
static const struct {
	const char *name;
	unsigned size;
	char kind;
} numbers[] = {
	{ "--u8", 1, 'u' }, { "--u16", 2, 'u' }, { "--u32", 4, 'u' }, { "--u64", 8, 'u' },
	{ "--i8", 1, 'i' }, { "--i16", 2, 'i' }, { "--i32", 4, 'i' }, { "--i64", 8, 'i' },
	{ "--f32", 4, 'f' }, { "--f64", 8, 'f' },
};

static const struct option_row option_rows[] = {
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

static unsigned char data[DATA_MAX];
static size_t length;

static void add(const void *bytes, size_t size)
{
	if (size > DATA_MAX - length)
		wrong_usage("more than %d bytes of data", DATA_MAX);
	memcpy(data + length, bytes, size);
	length += size;
}

static void add_hex(const char *digits)
{
	for (const char *p = digits; *p; p += 2) {
		char pair[3] = { p[0], p[1], 0 };
		unsigned char byte;

		if (strspn(pair, "0123456789abcdefABCDEF") != 2)
			wrong_usage("--hex %s: not pairs of hex digits", digits);
		byte = (unsigned char)strtoul(pair, NULL, 16);
		add(&byte, 1);
	}
}

/* Returns the base of a number. Leading zeroes, as `date` prints them, do not make it octal. */
static int base(const char *text)
{
	text += *text == '-' || *text == '+';
	return text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 16 : 10;
}

/* Returns whether the number fits into a field of this size. */
static bool fits(char kind, unsigned size, const char *text, uint64_t n)
{
	int64_t most = INT64_MAX >> (64 - 8 * size);

	if (kind == 'u')
		return !strchr(text, '-') && (size == 8 || n >> (8 * size) == 0);
	return (int64_t)n <= most && (int64_t)n >= -most - 1;
}

static void add_number(unsigned which, const char *text)
{
	static const unsigned char zeroes[8];
	unsigned size = numbers[which].size;
	char kind = numbers[which].kind, *end;
	double real;
	float small;
	uint64_t n;

	add(zeroes, -length & (size - 1));
	errno = 0;
	if (kind == 'f') {
		real = strtod(text, &end);
		small = (float)real;
		memcpy(&n, &real, sizeof n);
		errno = 0;
	} else {
		n = kind == 'u' ? strtoull(text, &end, base(text)) : (uint64_t)strtoll(text, &end, base(text));
	}
	if (errno || end == text || *end || (kind != 'f' && !fits(kind, size, text, n)))
		wrong_usage("%s %s: not a number of this type", numbers[which].name, text);
	if (kind == 'f' && size == 4)
		add(&small, size);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	else
		add((unsigned char *)&n + 8 - size, size);
#else
	else
		add(&n, size);
#endif
}

/* Returns whether a stream traces this process. The page of the process also lists inherited streams. */
static bool traced(void)
{
	struct target self;
	bool some = false;

	if (target_open(0, &self) != 0)
		return false;
	for (int slot = 0; slot < PAGE_SLOTS; slot++)
		some |= procpage_taken(load_relaxed(&self.page->word[slot / 64]), slot);
	return some;
}

static void open_type(const char *name, trace_event_id_t *id)
{
	const struct layout none = { 0 };
	struct layout_fault fault;

	if (strlen(name) > TRACE_EVENT_NAME_MAX)
		fail("%s: the name of an event type, with its layout, has %d bytes at most; this one has %zu", name,
		     TRACE_EVENT_NAME_MAX, strlen(name));
	if (posix_trace_eventid_open(name, id) != 0)
		fail("%s: not a valid name for an event type", name);
	if (layout_wrong(&none, name, &fault))
		complain("wrong layout: '%.*s' in %s %s", (int)fault.length, fault.at, name, fault.why);
}

static int run(int argc, char **argv)
{
	bool must = false, verbose = false, some;
	trace_event_id_t id = POSIX_TRACE_UNNAMED_USEREVENT;
	int option;

	while ((option = next_option(argc, argv)) != -1) {
		if (option == TRACED)
			must = true;
		else if (option == 'v')
			verbose = true;
		else if (option == HEX)
			add_hex(optarg);
		else
			add_number((unsigned)option - NUMBERS, optarg);
	}
	if (argc - optind > 2 && argv[optind + 1][0] == '-')
		wrong_usage("options must come before NAME");
	if (argc - optind > 2 || (argc == optind && (!must || length)))
		wrong_usage("expected NAME [DATA]; quote DATA to make it one argument");
	if (argc - optind == 2)
		add(argv[optind + 1], strlen(argv[optind + 1]));
	if (argc > optind)
		open_type(argv[optind], &id);
	some = traced();
	if (argc > optind && some) {
		if (id == POSIX_TRACE_UNNAMED_USEREVENT)
			fail("%s: there are %d event types already, or no shared memory for more", argv[optind],
			     TRACE_USER_EVENT_MAX - 1);
		posix_trace_event(id, data, length);
	}
	if (verbose)
		complain(some ? "traced" :
		         "not traced: run the script under 'posixtrace record --children', "
		         "or create an inherited stream in a parent");
	return must && !some ? STATUS_FAILED : STATUS_DONE;
}

const struct command command_event = {
	.name = "event",
	.summary = "record one event, from a script",
	.synopsis = "[options] NAME [DATA]\n--traced",
	.about = "Records one event of the type NAME, with DATA as text, in the streams that trace the calling "
	         "script and its children. Numbers and bytes precede DATA in the order of their options, aligned "
	         "as in a C struct.",
	.options = option_rows,
	.ending = "Exit status: 0, also if no stream traces this process; 1 the event could not be recorded, or "
	          "--traced and no stream.",
	.operand = "NAME",
	.run = run,
};
