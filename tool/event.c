/*
 * event.c - posixtrace event: an event from a script
 *
 * It goes into the streams that this process inherits from those that have started it. Where there are
 * none it is nothing, and no failure: a script does the same, traced or not.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <getopt.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <trace.h>

#include "command.h"
#include "control/target.h"

#define DATA_MAX 65535

enum { HEX = 0x100, TRACED, NUMBERS };

/* In the order of their options, which begin with NUMBERS. */
static const struct {
	const char *name;
	unsigned size;
	char kind;
} numbers[] = {
	{ "--u8", 1, 'u' }, { "--u16", 2, 'u' }, { "--u32", 4, 'u' }, { "--u64", 8, 'u' },
	{ "--i8", 1, 'i' }, { "--i16", 2, 'i' }, { "--i32", 4, 'i' }, { "--i64", 8, 'i' },
	{ "--f32", 4, 'f' }, { "--f64", 8, 'f' },
};

static const struct option options[] = {
	{ "u8", required_argument, NULL, NUMBERS }, { "u16", required_argument, NULL, NUMBERS + 1 },
	{ "u32", required_argument, NULL, NUMBERS + 2 }, { "u64", required_argument, NULL, NUMBERS + 3 },
	{ "i8", required_argument, NULL, NUMBERS + 4 }, { "i16", required_argument, NULL, NUMBERS + 5 },
	{ "i32", required_argument, NULL, NUMBERS + 6 }, { "i64", required_argument, NULL, NUMBERS + 7 },
	{ "f32", required_argument, NULL, NUMBERS + 8 }, { "f64", required_argument, NULL, NUMBERS + 9 },
	{ "hex", required_argument, NULL, HEX },
	{ "traced", no_argument, NULL, TRACED },
	{ "verbose", no_argument, NULL, 'v' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static const char usage[] =
	"usage: posixtrace event [options] NAME [DATA]\n"
	"       posixtrace event --traced\n"
	"\n"
	"Records one event of the type NAME, with DATA as text, for whoever traces the script that calls it and its children.\n"
	"\n"
	"      --u8 N, --u16 N, --u32 N, --u64 N, --i8 N, --i16 N, --i32 N, --i64 N, --f32 N, --f64 N\n"
	"                         data: a number, decimal or with 0x in front, aligned as in a C struct; several follow\n"
	"                         each other, before DATA\n"
	"      --hex DIGITS       data: bytes\n"
	"      --traced           exit status 1 if nobody traces\n"
	"  -v, --verbose          says so\n"
	"\n"
	"Exit status: 0, also if nobody traces; 1 it could not be recorded, or with --traced nobody traces.\n";

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
	while (*digits) {
		char pair[3] = { digits[0], digits[1], 0 }, *end;
		unsigned char byte = (unsigned char)strtoul(pair, &end, 16);

		if (end != pair + 2 || strspn(pair, "0123456789abcdefABCDEF") != 2)
			wrong_usage("--hex %s: not pairs of hex digits", digits);
		add(&byte, 1);
		digits += 2;
	}
}

/* Zeroes in front, as date has them, do not make it octal. */
static int base(const char *text)
{
	text += *text == '-' || *text == '+';
	return text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 16 : 10;
}

/* In so many bytes? */
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
		wrong_usage("%s %s: not such a number", numbers[which].name, text);
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

/* Its page has the streams that trace this process, those that it inherits as well. */
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

static int run(int argc, char **argv)
{
	bool must = false, verbose = false, some;
	trace_event_id_t id = POSIX_TRACE_UNNAMED_USEREVENT;
	int option;

	while ((option = next_option(argc, argv, "v", options)) != -1) {
		if (option == TRACED)
			must = true;
		else if (option == 'v')
			verbose = true;
		else if (option == HEX)
			add_hex(optarg);
		else
			add_number((unsigned)option - NUMBERS, optarg);
	}
	if (argc - optind > 2 || (argc == optind && (!must || length)))
		wrong_usage("NAME, and DATA in one argument");
	if (argc - optind == 2)
		add(argv[optind + 1], strlen(argv[optind + 1]));
	if (argc > optind && posix_trace_eventid_open(argv[optind], &id) != 0)
		fail("%s: a name has %d bytes at most", argv[optind], TRACE_EVENT_NAME_MAX);
	some = traced();
	if (argc > optind && some) {
		if (id == POSIX_TRACE_UNNAMED_USEREVENT)
			fail("%s: there are %d event types already, or no shared memory for more", argv[optind], TRACE_USER_EVENT_MAX - 1);
		posix_trace_event(id, data, length);
	}
	if (verbose)
		complain(some ? "traced" : "nobody traces: 'posixtrace record --children' does, or a stream of a parent that is inherited");
	return must && !some ? STATUS_FAILED : STATUS_DONE;
}

const struct command command_event = {
	.name = "event",
	.summary = "records one event, from a script",
	.usage = usage,
	.run = run,
};
