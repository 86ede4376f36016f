/*
 * parts.c - what the subcommands share: layouts, times, what is wanted, numbers, rates
 *
 * SPDX-License-Identifier: MIT
 */
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/bytes.h"
#include "logs/debuginfo.h"
#include "common/json.h"
#include "event/layout_json.h"
#include "event/layout_print.h"
#include "event/layouts.h"
#include "logs/match.h"
#include "common/moment.h"
#include "common/out.h"
#include "live/rates.h"
#include "base/ticks.h"
#include "test.h"

/* Returns the output since the last call. */
static const char *put(void)
{
	static char text[4096];

	snprintf(text, sizeof text, "%.*s", (int)(out_at - out_buffer), out_buffer);
	out_at = out_buffer;
	return text;
}

/* -- out.h ------------------------------------------------------------------------------- */

TEST(numbers)
{
	char text[64];

	for (unsigned bits = 0; bits < 64; bits++)
		for (int by = -1; by <= 1; by++) {
			uint64_t n = (UINT64_C(1) << bits) + (uint64_t)by;

			out_number(n, 0);
			snprintf(text, sizeof text, "%llu", (unsigned long long)n);
			CHECK_STR("-", put(), text);
			out_number(n, 12);
			snprintf(text, sizeof text, "%12llu", (unsigned long long)n);
			CHECK_STR("-", put(), text);
			out_signed((int64_t)n, 12);
			snprintf(text, sizeof text, "%12lld", (long long)n);
			CHECK_STR("-", put(), text);
			out_digits(n, 9);
			snprintf(text, sizeof text, "%09llu", (unsigned long long)n);
			CHECK_STR("-", put(), text);
			out_hex(n);
			snprintf(text, sizeof text, "0x%llx", (unsigned long long)n);
			CHECK_STR("-", put(), text);
		}
	for (uint64_t n = 1; n < UINT64_C(10000000000000000000); n *= 10)
		for (int by = -1; by <= 0; by++) {
			out_number(n + (uint64_t)by, 0);
			snprintf(text, sizeof text, "%llu", (unsigned long long)n + (unsigned long long)by);
			CHECK_STR("-", put(), text);
		}
	out_signed(INT64_MIN, 0);
	CHECK_STR("-", put(), "-9223372036854775808");
}

/* -- bytes.h ------------------------------------------------------------------------------- */

TEST(sizes)
{
	static const struct {
		uint64_t bytes;
		const char *text, *brief;
	} sizes[] = {
		{ 0, "0 bytes", "0" }, { 1023, "1023 bytes", "1023" }, { 1024, "1 KiB", "1.0K" },
		{ 1536, "1.5 KiB", "1.5K" }, { 65536, "64 KiB", "64K" },
		{ 10188, "9.9 KiB", "9.9K" }, { 10200, "10.0 KiB", "10K" }, { 102348, "99.9 KiB", "100K" },
		{ 102399, "100 KiB", "100K" },
		{ 240000, "234 KiB", "234K" }, { 1048063, "1023 KiB", "1023K" }, { 1048064, "1.0 MiB", "1.0M" },
		{ 4 << 20, "4 MiB", "4.0M" },
		{ 59035320, "56.3 MiB", "56M" }, { UINT64_C(5) << 40, "5 TiB", "5.0T" },
		{ UINT64_MAX, "16 EiB", "16E" },
	};
	char text[16];

	for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		CHECK_STR("-", bytes_text(text, sizes[i].bytes), sizes[i].text);
		CHECK_STR("-", bytes_short(text, sizes[i].bytes), sizes[i].brief);
	}
}

/* -- layout.h ------------------------------------------------------------------------------ */

static unsigned fields(const char *name)
{
	struct layout l = { 0 };

	return layout_parse(&l, name) ? l.count : 0;
}

TEST(layout_names)
{
	static const char *const wrong[] = {
		"", "name", "{a:u8}", "name{}", "name{a}", "name{a:}", "name{a:u9}", "name{:u8}", "name{a:u8",
		"name a:u8}", "name{a:u8,}", "name{,a:u8}",
		"name{a:u8}x", "name{a:u8[0]}", "name{a:u8[]}", "name{a:u8[65536]}", "name{a:u8[2}", "name{a:u8[-1]}",
		"name{a:s,b:u8}", "name{a:s[2]}",
		"name{a:u8/}", "name{a:u8}}", "name{a:u8]}", "name{a:u8/0123456789abcdef}",
		/* Terminal control characters, and invalid UTF-8. */
		"name{a:u8/\33[31mRED}", "name{\33[2J:u8}", "name{a\n:u8}", "name{a:u8/\177}",
		"name{a:u8/\xc2\x9b" "31m}", "name{\x9b" "2J:u8}",
		"name{a:u8/\xc2}",
	};

	CHECK_EQ("-", fields("name{a:u8}"), 1);
	CHECK_EQ("-", fields("n{a:u8,b:i16,c:x32,d:f64,e:c,f:s}"), 6);
	CHECK_EQ("-", fields("n{a:u8/%,b:i16[65535]/0123456789abcde,c:b}"), 3);
	CHECK_EQ("-", fields("n{x{a:u8}"), 1);
	CHECK_EQ("-", fields("n{größe:u8/µs,b:u8/a b}"), 2);
	CHECK_EQ("-", layout_name("sql.row{a:u8}"), 7);
	for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		CHECK_EQ("-", fields(wrong[i]), 0);
		CHECK_EQ("-", layout_name(wrong[i]), strlen(wrong[i]));
	}
}

/* Offsets as the compiler computes them. */
struct sample {
	uint8_t a;
	double b;
	uint16_t c[3];
	char d[5];
	uint64_t e;
	int32_t f;
	uint8_t g;
};

TEST(layout_places)
{
	struct layout l = { 0 };
	static const size_t expected[] = { offsetof(struct sample, a), offsetof(struct sample, b),
	                                   offsetof(struct sample, c), offsetof(struct sample, d),
		                           offsetof(struct sample, e), offsetof(struct sample, f),
		                           offsetof(struct sample, g) };

	/* i386. */
	if (_Alignof(struct sample) < 8)
		l.align_most = 4;
	MUST(layout_parse(&l, "n{a:u8,b:f64,c:u16[3],d:c[5]}"));
	MUST(layout_parse(&l, "n{e:u64,f:i32,g:u8}"));
	for (unsigned i = 0; i < l.count; i++)
		CHECK_EQ("-", l.field[i].offset, expected[i]);
	l = (struct layout){ .align_most = 4 };
	MUST(layout_parse(&l, "n{a:u32,b:u64}"));
	CHECK_EQ("-", l.field[1].offset, 4);
	/* No field can follow an unlimited one. */
	MUST(layout_parse(&l, "n{c:s}"));
	CHECK("-", !layout_parse(&l, "n{d:u8}"));
	CHECK_EQ("-", l.count, 3);
	l = (struct layout){ 0 };
	for (unsigned i = 0; i < LAYOUT_FIELDS + 1; i++) {
		char name[16];

		snprintf(name, sizeof name, "n{d%u:u8}", i);
		CHECK("-", layout_parse(&l, name) == (i < LAYOUT_FIELDS));
	}
	CHECK_EQ("-", l.count, LAYOUT_FIELDS);
	/* A duplicate field, in one name or in two. */
	l = (struct layout){ 0 };
	CHECK("-", !layout_parse(&l, "n{a:u8,a:u16}"));
	MUST(layout_parse(&l, "n{a:u8}"));
	CHECK("-", !layout_parse(&l, "n{b:u8,a:u8}") && l.count == 1);
}

/* Errors in a layout are reported with their place. */
TEST(layout_faults)
{
	static const struct {
		const char *name, *at; /* at is null if the layout is valid */
	} names[] = {
		{ "n", NULL }, { "n{a:u8}", NULL }, { "{a:u9}", NULL }, { "f{x", NULL }, { "a{b}c", NULL },
		{ "n{a:u99}", "u99" }, { "n{a:u8,b:}", "" },
		{ "n{}", NULL }, { "n{a}", NULL }, { "n{a:u8,b}", "b" }, { "n{a:u8,a:u16}", "a:u16" },
		{ "n{a:u8[0]}", "[0]" }, { "n{a:s[2]}", "[2]" }, { "n{a:s,b:u8}", "b:u8" },
		{ "n{a:u8/}", "/" }, { "n{a:u8]}", "]" }, { "n{a:u8", "{a:u8" }, { "n{a:u8}x", "x" },
		{ "n{a:u8}}", "}" },
	};
	const struct layout none = { 0 };

	for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
		struct layout_fault fault;
		bool wrong = layout_wrong(&none, names[i].name, &fault);
		char at[64] = "";

		if (wrong)
			snprintf(at, sizeof at, "%.*s", (int)fault.length, fault.at);
		CHECK(names[i].name, wrong == (names[i].at != NULL));
		CHECK_STR(names[i].name, at, names[i].at ? names[i].at : "");
	}
}

TEST(layout_json_exact)
{
	const int64_t most = INT64_C(1) << 53, numbers[] = { most, most + 1, -most, -most - 1, INT64_MAX, INT64_MIN };
	struct layout l = { 0 }, u = { 0 };

	MUST(layout_parse(&l, "n{a:i64[6]}") && layout_parse(&u, "n{a:x64[2]}"));
	layout_json(&l, (const unsigned char *)numbers, sizeof numbers);
	CHECK_STR("-", put(), "{\"a\":[9007199254740992,\"9007199254740993\",-9007199254740992,\"-9007199254740993\","
	                      "\"9223372036854775807\",\"-9223372036854775808\"]}");
	json_done();
	put();
	layout_json(&u, (const unsigned char *)numbers, 16);
	CHECK_STR("-", put(), "{\"a\":[9007199254740992,\"9007199254740993\"]}");
}

/* Every length, at the end of an allocation, so that a sanitizer detects reads beyond it. */
TEST(layout_lengths)
{
	struct sample s = { .a = 1, .b = 0.5, .c = { 1, 2, 3 }, .d = "abc", .e = UINT64_MAX, .f = -1, .g = 255 };
	struct layout l = { 0 };

	if (_Alignof(struct sample) < 8)
		l.align_most = 4;
	MUST(layout_parse(&l, "n{a:u8,b:f64,c:u16[3],d:c[5],e:u64,f:i32,g:u8}"));
	for (size_t length = 0; length <= sizeof s; length++) {
		unsigned char *data = malloc(length + 1);
		const char *text;

		MUST(data);
		memcpy(data, &s, length);
		data = realloc(data, length ? length : 1);
		layout_print(&l, data, length);
		text = put();
		CHECK("-", text[0] == '{' && text[strlen(text) - 1] == '}');
		layout_json(&l, data, length);
		put();
		layout_print_unknown(data, length);
		put();
		free(data);
	}
	json_done();
	put();
	/* A number beyond the precision of a double is a string. */
	layout_json(&l, (unsigned char *)&s, sizeof s);
	CHECK_STR("-", put(),
	          "{\"a\":1,\"b\":0.5,\"c\":[1,2,3],\"d\":\"abc\",\"e\":\"18446744073709551615\",\"f\":-1,\"g\":255}");
	layout_print(&l, (unsigned char *)&s, sizeof s);
	CHECK_STR("-", put(), "{a=1 b=0.5 c=[1 2 3] d=\"abc\" e=18446744073709551615 f=-1 g=255}");
	layout_print(&l, (unsigned char *)&s, offsetof(struct sample, c) + 4);
	CHECK_STR("-", put(), "{a=1 b=0.5 c=[1 2] ...}");
	/* An incomplete item is shown as bytes, padding between fields is not shown. */
	layout_print(&l, (unsigned char *)&s, offsetof(struct sample, c) + 5);
	CHECK_STR("-", put(), "{a=1 b=0.5 c=[1 2] ... +03}");
	layout_print(&l, (unsigned char *)&s, offsetof(struct sample, b));
	CHECK_STR("-", put(), "{a=1 ...}");
	layout_print(&l, (unsigned char *)&s, 0);
	CHECK_STR("-", put(), "{...}");
	layout_print(&l, (const unsigned char *)"\1\0\0\0\0\0\0\0\2\3", 10);
	CHECK_STR("-", put(), l.field[1].offset == 8 ? "{a=1 ... +0203}" : "{a=1 ... +00000000 0203}");
	l = (struct layout){ 0 };
	MUST(layout_parse(&l, "n{a:u32,b:s}"));
	layout_print(&l, (const unsigned char *)"abc", 3);
	CHECK_STR("-", put(), "{... +616263}");
	layout_print(&l, (const unsigned char *)"\1\0\0\0x", 5);
	CHECK_STR("-", put(), "{a=1 b=\"x\"}");
	/* According to the locale. */
	l = (struct layout){ 0 };
	MUST(layout_parse(&l, "n{größe:u8/µs}"));
	setlocale(LC_CTYPE, "C");
	layout_print(&l, &s.a, 1);
	CHECK_STR("-", put(), "{gr\\xc3\\xb6\\xc3\\x9fe=1\\xc2\\xb5s}");
	setlocale(LC_CTYPE, "C.UTF-8");
	layout_print(&l, &s.a, 1);
	CHECK_STR("-", put(), "{größe=1µs}");
}

TEST(layouts_together)
{
	struct layouts *l = layouts_new();

	layouts_add(l, 64, "row");
	layouts_add(l, 65, "other{a:u8}");
	layouts_add(l, 66, "row{a:u32}");
	layouts_add(l, 67, "row{b:u64}");
	layouts_add(l, 67, "row{b:u64}");
	layouts_add(l, 68, "rows");
	for (uint32_t id = 64; id <= 67; id++)
		CHECK_STR("-", layouts_name(l, id), id == 65 ? "other" : "row");
	CHECK("-", layouts_find(l, 64) == layouts_find(l, 67) && layouts_find(l, 64)->count == 2);
	CHECK_EQ("-", layouts_find(l, 65)->count, 1);
	CHECK("-", !layouts_find(l, 68) && !layouts_find(l, 69) && !layouts_name(l, 69) &&
	      !layouts_find(l, UINT32_MAX));
}

TEST(texts)
{
	setlocale(LC_CTYPE, "C.UTF-8");
	CHECK("-", layout_is_text((const unsigned char *)"text\n\t", 6));
	CHECK("-", layout_is_text((const unsigned char *)"text", 5));
	CHECK("-", layout_is_text((const unsigned char *)"\xc3\xbc", 2));
	CHECK("-", !layout_is_text((const unsigned char *)"\xc3\xbc", 1));
	CHECK("-", !layout_is_text((const unsigned char *)"A", 2));
	CHECK("-", !layout_is_text((const unsigned char *)"te\0t", 4));
	CHECK("-", !layout_is_text((const unsigned char *)"\33[2J", 4));
	CHECK("-", !layout_is_text((const unsigned char *)"", 0));
	layout_print_unknown((const unsigned char *)"\1\2\3\4\5", 5);
	CHECK_STR("-", put(), "01020304 05");
}

static enum layout_form form(const char *declared, const char *data, size_t length)
{
	struct layout l = { 0 };

	return layout_form(declared && layout_parse(&l, declared) ? &l : NULL, (const unsigned char *)data, length);
}

TEST(forms)
{
	CHECK_EQ("-", form(NULL, "", 0), FORM_NONE);
	CHECK_EQ("-", form("n{a:s}", "", 0), FORM_NONE);
	CHECK_EQ("-", form(NULL, "text\n", 5), FORM_TEXT);
	CHECK_EQ("-", form(NULL, "text", 5), FORM_TEXT);
	CHECK_EQ("-", form(NULL, "text\0", 6), FORM_BYTES);
	CHECK_EQ("-", form(NULL, "te\0t", 4), FORM_BYTES);
	CHECK_EQ("-", form(NULL, "A", 2), FORM_BYTES);
	CHECK_EQ("-", form(NULL, "\0", 1), FORM_BYTES);
	CHECK_EQ("-", form(NULL, "\33[2J", 4), FORM_BYTES);
	CHECK_EQ("-", form(NULL, "\xc3", 1), FORM_BYTES);
	CHECK_EQ("-", form("n{a:u8,b:u32}", "12345678", 8), FORM_FIELDS);
	CHECK_EQ("-", form("n{a:u32,b:u8}", "12345", 5), FORM_FIELDS);
	CHECK_EQ("-", form("n{a:u32,b:u8}", "12345678", 8), FORM_FIELDS); /* filled up as in C */
	CHECK_EQ("-", form("n{a:u32,b:u8}", "123456", 6), FORM_MORE);
	CHECK_EQ("-", form("n{a:u32,b:u8}", "1234", 4), FORM_TEXT);
	CHECK_EQ("-", form("n{a:u32,b:u8}", "\1\2\3\4", 4), FORM_BYTES);
	CHECK_EQ("-", form("n{a:u8,b:s}", "1", 1), FORM_FIELDS);
	CHECK_EQ("-", form("n{a:u8,b:s}", "1text", 6), FORM_FIELDS);
	CHECK_EQ("-", form("n{a:u8,b:s}", "1te\0t", 5), FORM_BYTES);
	CHECK_EQ("-", form("n{a:u8,b:b}", "1te\0t", 5), FORM_FIELDS);
	CHECK_EQ("-", form("n{a:u32,b:b}", "123", 3), FORM_TEXT);
}

/* -- moment.h ---------------------------------------------------------------------------------- */

#define BEGIN (UINT64_C(1795295105) * NS_PER_S + 500) /* 2026-11-21 21:05:05 UTC */

static uint64_t parsed(const char *text)
{
	uint64_t time;

	return moment_parse(text, BEGIN, &time) ? time - BEGIN : UINT64_MAX;
}

TEST(moments_read)
{
	static const char *const wrong[] = { "", "x", "-1", "1x", "1 y", "25:00", "14:60", "2026-13-01", "2026-11-21x",
	                                     "2026-11-21 ", "14:30:05.",
		                             "14:30:05.1x", "2026-1-1", "1e300", "nan", "inf", "0x10", "1e3", "1e3s",
		                             "1.5.2", ".", ".s",
		                             "2026-02-29", "2026-02-31 12:00", "2100-02-29", "2026-04-31", "2026-00-10",
		                             "2026-01-00" };

	setenv("TZ", "UTC0", 1);
	CHECK_EQ("-", parsed("0"), 0);
	CHECK_EQ("-", parsed("1.5"), 1500000000);
	CHECK_EQ("-", parsed("1.5s"), 1500000000);
	CHECK_EQ("-", parsed("500ms"), 500000000);
	CHECK_EQ("-", parsed("20us"), 20000);
	CHECK_EQ("-", parsed("7ns"), 7);
	CHECK_EQ("-", parsed("2m"), 120 * NS_PER_S);
	CHECK_EQ("-", parsed("1h"), 3600 * NS_PER_S);
	/* Exact to the nanosecond, as printed. */
	CHECK_EQ("-", parsed("86399.123456789"), 86399123456789);
	CHECK_EQ("-", parsed("21:05:06"), NS_PER_S - 500);
	CHECK_EQ("-", parsed("21:05:05.000000501"), 1);
	CHECK_EQ("-", parsed("21:06"), 55 * NS_PER_S - 500);
	CHECK_EQ("-", parsed("2026-11-22"), (2 * 3600 + 54 * 60 + 55) * NS_PER_S - 500);
	CHECK_EQ("-", parsed("2026-11-22 01:00"), (3 * 3600 + 54 * 60 + 55) * NS_PER_S - 500);
	CHECK_EQ("-", parsed("2026-11-21T21:05:05.5"), 500000000 - 500);
	CHECK_EQ("-", parsed(".5"), 500000000);
	CHECK_EQ("-", parsed("2."), 2 * NS_PER_S);
	CHECK_EQ("-", parsed("2028-02-29") - parsed("2028-02-28"), 86400 * NS_PER_S);
	CHECK_EQ("-", parsed("2026-12-31 23:59:60"), parsed("2027-01-01"));
	/* Beyond 64 bits of nanoseconds. */
	CHECK_EQ("-", parsed("2600-01-01") + BEGIN, UINT64_MAX);
	CHECK_EQ("-", parsed("9999-12-31 23:59:59.999999999") + BEGIN, UINT64_MAX);
	/* Beyond a time_t of 32 bits. */
	CHECK_EQ("-", parsed("2040-01-01 00:00:00.5") + BEGIN, UINT64_C(2208988800) * NS_PER_S + 500000000);
	CHECK_EQ("-", parsed("1969-12-31 23:59:59") + BEGIN, 0);
	CHECK_EQ("-", parsed("1960-01-01") + BEGIN, 0);
	for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
		CHECK_EQ("-", parsed(wrong[i]), UINT64_MAX);
}

TEST(moments_printed)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} durations[] = {
		{ 0, "0 ns" }, { 999, "999 ns" }, { 1000, "1 us" }, { 1234567, "1.23 ms" }, { 1500000, "1.5 ms" },
		{ 20000, "20 us" },
		{ 999499, "999 us" }, { 999500, "1 ms" }, { 99949, "99.9 us" }, { 99951, "100 us" }, { 9995, "10 us" },
		{ 59999999999, "60 s" },
		{ 60000000000, "1 min 0 s" }, { 125000000000, "2 min 5 s" }, { 3723000000000, "1 h 2 min" },
		{ 180000000000000, "2 d 2 h" },
	};
	char text[32], utc[40];

	setenv("TZ", "UTC0", 1);
	for (unsigned i = 0; i < sizeof durations / sizeof durations[0]; i++)
		CHECK_STR("-", moment_duration(text, durations[i].ns), durations[i].text);
	CHECK("-", strlen(moment_duration(text, UINT64_MAX)) < 16);
	moment_print(BEGIN);
	CHECK_STR("-", put(), "2026-11-21 21:05:05.000000500");
	moment_print(BEGIN + NS_PER_S);
	CHECK_STR("-", put(), "2026-11-21 21:05:06.000000500");
	moment_print(UINT64_C(2208988800) * NS_PER_S);
	CHECK_STR("-", put(), "2040-01-01 00:00:00.000000000");
	CHECK_STR("-", moment_utc(utc, UINT64_C(2208988805) * NS_PER_S), "2040-01-01T00:00:05Z");
	CHECK_STR("-", moment_utc(utc, UINT64_MAX), "2554-07-21T23:34:33Z");
	moment_print_seconds(1500000000, 14);
	CHECK_STR("-", put(), "   1.500000000");
	moment_print_seconds(-1, 14);
	CHECK_STR("-", put(), "  -0.000000001");
	moment_print_seconds(-1500000000, 0);
	CHECK_STR("-", put(), "-1.500000000");
}

/* -- match.h ------------------------------------------------------------------------------------- */

static bool wanted(const char *a, const char *b, const char *name)
{
	struct match *m = match_new();

	CHECK("-", match_option(m, 'e', a));
	if (b)
		CHECK("-", match_option(m, 'e', b));
	CHECK("-", !match_all(m));
	return match_name(m, name);
}

TEST(names)
{
	struct match *m = match_new();

	CHECK("-", match_all(m) && match_name(m, "any") && !match_option(m, 'x', "y"));
	CHECK("-", wanted("sql.*", NULL, "sql.row") && !wanted("sql.*", NULL, "sql") &&
	      !wanted("sql", NULL, "sql.row"));
	CHECK("-", wanted("sql.row{a:u8}", NULL, "sql.row{a:u8}") && wanted("sql.row{a:u8,b:s}", NULL, "sql.row"));
	CHECK("-", !wanted("!sql.row{a:u8}", NULL, "sql.row{a:u8}") && wanted("bad{a:u99}", NULL, "bad{a:u99}"));
	CHECK("-", wanted("sql.row", NULL, "sql.row{a:u8}") && !wanted("*}", NULL, "sql.row{a:u8}"));
	CHECK("-", !wanted("!sql.row", NULL, "sql.row") && wanted("!sql.row", NULL, "other"));
	CHECK("-", !wanted("sql.*", "!sql.row", "sql.row") && wanted("sql.*", "!sql.row", "sql.open") &&
	      !wanted("sql.*", "!sql.row", "other"));
	CHECK("-", wanted("!sql.*", "sql.row", "sql.row") && !wanted("!sql.*", "sql.row", "sql.open") &&
	      wanted("!sql.*", "sql.row", "other"));
}

/* -- debuginfo.h ---------------------------------------------------------------------------------- */

/* A path of a damaged log with a length far beyond its end, outside of the heap. */
TEST(image_paths)
{
	static const unsigned char id[] = "id";
	size_t length = 64 << 20;
	char *path = calloc(1, length);
	struct image *i;

	MUST(path);
	strcpy(path, "/bin/true");
	i = image_of(path, length, id, 0);
	CHECK_STR("-", image_path(i), "/bin/true");
	CHECK("-", image_of(path, length, id, 0) == i && image_of(path, 9, id, 0) == i);
	CHECK("-", image_of(path, 8, id, 0) != i && image_of(path, 9, id, 2) != i);
	CHECK("-", image_of(path, 0, id, 0) == image_of("", 0, id, 0));
	free(path);
}

/* -- rates.h ------------------------------------------------------------------------------------- */

TEST(seconds)
{
	struct rates *r = rates_new(10 * NS_PER_S);
	uint64_t seconds[RATES_SECONDS];

	MUST(r);
	rates_add(r, 5, 1);
	rates_add(r, 5, 1);
	rates_tick(r, 11 * NS_PER_S);
	rates_add(r, 5, 1);
	rates_add(r, 6, 1);
	rates_look(r, 11 * NS_PER_S + 1);
	/* More than a minute without a look, while time passes and events come. */
	for (unsigned second = 11; second < 90; second++) {
		CHECK_EQ("-", rates_history(r, 5, seconds), 11);
		CHECK_EQ("-", seconds[RATES_SECONDS - 1], 1);
		CHECK_EQ("-", seconds[RATES_SECONDS - 2], 2);
		CHECK_EQ("-", seconds[0], 0);
		rates_history(r, RATES_ALL, seconds);
		CHECK_EQ("-", seconds[RATES_SECONDS - 1], 2);
		rates_add(r, 5, 1);
		rates_tick(r, (second + 1) * NS_PER_S);
	}
	rates_look(r, 90 * NS_PER_S);
	CHECK_EQ("-", rates_history(r, 5, seconds), 90);
	CHECK_EQ("-", seconds[RATES_SECONDS - 1], 0);
	for (unsigned i = 0; i < RATES_SECONDS - 1; i++)
		CHECK_EQ("-", seconds[i], 1);
	rates_free(r);
}

TEST_MAIN(TEST_ENTRY(numbers), TEST_ENTRY(sizes), TEST_ENTRY(layout_names), TEST_ENTRY(layout_places),
          TEST_ENTRY(layout_json_exact), TEST_ENTRY(layout_faults), TEST_ENTRY(layout_lengths),
          TEST_ENTRY(layouts_together), TEST_ENTRY(texts), TEST_ENTRY(forms), TEST_ENTRY(moments_read),
          TEST_ENTRY(moments_printed), TEST_ENTRY(names), TEST_ENTRY(image_paths), TEST_ENTRY(seconds))
