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
		"name{a:s,b:u8}", "name{a:s[2]}", "name{a:z[2]}", "name{a:b,c:u8}", "name{a:u8[b]}", "name{a:u8[a]}",
		"name{a:i8,b:u8[a]}", "name{a:u8[2],b:u8[a]}", "name{a:u8,b:u8[a}", "name{packed}", "name{packed;}",
		"name{;a:u8}", "name{p;a:u8}", "name{a:u8;}", "name{a:u8<>}", "name{a:u8<x}", "name{a:u8<x=256>}",
		"name{a:u8<x=-1>}", "name{a:i8<x=128>}", "name{a:i8<x=-129>}", "name{a:u8<x,x>}", "name{a:u8<x|y,z>}",
		"name{a:i8<x|y>}", "name{a:f32<x>}", "name{a:u8<x=>}", "name{a:u8<x=1a>}", "name{a:t64/B}",
		"name{a:u8<\33[2J>}", "name{a:u8[1]<x>}", "name{a:u64<x=18446744073709551616>}",
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
	static const struct sample sample;
	struct layout_places places;
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
	layout_locate(&l, (const unsigned char *)&sample, sizeof sample, &places);
	CHECK("-", places.whole && places.count == l.count && places.rest == sizeof sample);
	for (unsigned i = 0; i < l.count; i++)
		CHECK_EQ("-", places.of[i].at, expected[i]);
	l = (struct layout){ .align_most = 4 };
	MUST(layout_parse(&l, "n{a:u32,b:u64}"));
	layout_locate(&l, (const unsigned char *)&sample, 12, &places);
	CHECK("-", places.whole && places.of[1].at == 4);
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
		{ "n{a:u8}}", "}" }, { "n{x;a:u8}", "x" }, { "n{packed,x;a:u8}", "x" }, { "n{a:u8<x,,y>}", "" },
		{ "n{a:u8<x,y=256>}", "y=256" }, { "n{a:f32<x>}", "<x>" }, { "n{a:u8<x}", "<x" },
		{ "n{a:i8,b:u8[a]}", "[a]" }, { "n{b:u8[c]}", "[c]" }, { "n{a:t64/B}", "t64/B" },
		{ "n{a:u8<x>y}", "y" }, { "n{a:u8<x|y,z>}", ",z" },
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

/* The whole text of an event with this layout. */
static const char *shown(const char *layout, const char *data, size_t length, const struct layout_symbols *symbols)
{
	struct layout l = { 0 };
	struct layout_fault fault;

	MUST(layout_declare(&l, layout, &fault));
	layout_print(&l, (const unsigned char *)data, length, symbols);
	return put();
}

static const char *as_json(const char *layout, const char *data, size_t length)
{
	struct layout l = { 0 };
	struct layout_fault fault;
	const char *text;

	MUST(layout_declare(&l, layout, &fault));
	layout_json(&l, (const unsigned char *)data, length);
	text = put();
	json_done();
	return text;
}

#define SHOWN(layout, data, text) CHECK_STR(layout, shown(layout, data, sizeof(data) - 1, NULL), text)
#define JSON(layout, data, text)  CHECK_STR(layout, as_json(layout, data, sizeof(data) - 1), text)

/* Strings and counted arrays in any place move the fields after them. */
TEST(layout_varying_sizes)
{
	SHOWN("{a:z,b:z,c:u8}", "one\0\0\7", "{a=\"one\" b=\"\" c=7}");
	SHOWN("{packed;a:z,b:u16,c:s}", "x\0\1\0rest", "{a=\"x\" b=1 c=\"rest\"}");
	SHOWN("{a:z,b:u16}", "xy\0\0\1\0", "{a=\"xy\" b=1}");
	SHOWN("{n:u8,a:u16[n],b:u8}", "\2\0\1\0\2\0\7", "{n=2 a=[1 2] b=7}");
	SHOWN("{n:u8,a:u16[n],b:u8}", "\0\0\7", "{n=0 a=[] b=7}");
	SHOWN("{n:u8,a:c[n],b:b[2],c:b[n]}", "\3abc\1\2xyz", "{n=3 a=\"abc\" b=0102 c=78797a}");
	/* What is cut off. */
	SHOWN("{a:z,b:u8}", "cut", "{a=\"cut\" ...}");
	SHOWN("{n:u8,a:u16[n],b:u8}", "\4\0\1\0\2\0\3", "{n=4 a=[1 2] ... +03}");
	SHOWN("{n:u32,a:u8}", "\1\0", "{... +0100}");
	/* A number of items that no data can have. */
	SHOWN("{n:u64,a:u64[n],b:u8}", "\377\377\377\377\377\377\377\377\1\0\0\0\0\0\0\0",
	      "{n=18446744073709551615 a=[1] ...}");
	/* A structure may be filled up at its end. */
	SHOWN("{a:u32,b:z}", "\1\0\0\0x\0\0\0", "{a=1 b=\"x\"}");
	SHOWN("{packed;a:u32,b:z}", "\1\0\0\0x\0\0\0", "{a=1 b=\"x\" +0000}");
	JSON("{packed;n:u8,a:i8[n],b:z}", "\2\377\1x\0", "{\"n\":2,\"a\":[-1,1],\"b\":\"x\"}");
}

static const char *find_symbol(void *arg, uint64_t address)
{
	return address == 0x1234 ? arg : NULL;
}

TEST(layout_with_words)
{
	static char name[] = "main+0x4";
	const struct layout_symbols symbols = { find_symbol, name };

	SHOWN("{s:u8<idle,busy=4,done>}", "\0", "{s=idle}");
	SHOWN("{s:u8<idle,busy=4,done>[4]}", "\4\5\6\0", "{s=[busy done 6 idle]}");
	SHOWN("{s:i16<bad=-1,good>}", "\377\377", "{s=bad}");
	SHOWN("{s:x8<one=0x10,two>}", "\21", "{s=two}");
	SHOWN("{s:u64<most=18446744073709551615,none>}", "\377\377\377\377\377\377\377\377", "{s=most}");
	SHOWN("{m:x8<read|write|exec>}", "\5", "{m=read|exec}");
	SHOWN("{m:u8<read|write|all=7>}", "\7", "{m=read|write|all}");
	SHOWN("{m:x8<read|write>}", "\21", "{m=read|0x10}");
	SHOWN("{m:x8<read|write>}", "\20", "{m=0x10}");
	SHOWN("{m:x8<none=0|read=1>}", "\0", "{m=none}");
	SHOWN("{m:u8<a|b>}", "\0", "{m=0}");
	SHOWN("{a:bool,b:bool[2]}", "\0\1\2", "{a=false b=[true true]}");
	SHOWN("{t:t32}", "\0\0\0\0", "{t=1970-01-01T00:00:00Z}");
	SHOWN("{t:t64/ms}", "\1\4\0\0\0\0\0\0", "{t=1970-01-01T00:00:01.025Z}");
	SHOWN("{t:t64}", "\1\312\232\73\0\0\0\0", "{t=1970-01-01T00:00:01.000000001Z}");
	SHOWN("{t:t64/s}", "\377\377\377\377\377\377\377\377", "{t=18446744073709551615}");
	SHOWN("{f:a32}", "\64\22\0\0", "{f=0x1234}");
	CHECK_STR("-", shown("{f:a32,g:a32}", "\64\22\0\0\0\0\0\0", 8, &symbols), "{f=main+0x4 g=0x0}");
	JSON("{s:u8<idle,busy>,t:u8<idle>,m:x8<r|w>,b:bool,f:a32}", "\1\7\3\1\64\22\0\0",
	     "{\"s\":\"busy\",\"t\":7,\"m\":\"r|w\",\"b\":true,\"f\":\"0x1234\"}");
}

/* The maximum of labels, and what is beyond it. */
TEST(layout_many_labels)
{
	char text[LAYOUT_TEXT_SIZE] = "{a:u8<";
	size_t length = strlen(text);
	struct layout_fault fault;

	for (unsigned i = 0; i < LAYOUT_LABELS; i++)
		length += (size_t)sprintf(text + length, "%sl%u", i > 0 ? "," : "", i);
	strcpy(text + length, ">}");
	CHECK("-", layout_check(text, &fault));
	strcpy(text + length, ",x>}");
	CHECK("-", !layout_check(text, &fault));
	CHECK_EQ("-", fault.length, 1);
	CHECK_EQ("-", *fault.at, 'x');
	length = (size_t)sprintf(text, "{a:u8<");
	for (unsigned i = 0; i < LAYOUT_LABEL_TEXT / LAYOUT_LABEL_MAX + 1; i++)
		length += (size_t)sprintf(text + length, "%s%0*u", i > 0 ? "," : "", LAYOUT_LABEL_MAX, i);
	strcpy(text + length, ">}");
	CHECK("-", !layout_check(text, &fault));
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
		layout_print(&l, data, length, NULL);
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
	layout_print(&l, (unsigned char *)&s, sizeof s, NULL);
	CHECK_STR("-", put(), "{a=1 b=0.5 c=[1 2 3] d=\"abc\" e=18446744073709551615 f=-1 g=255}");
	layout_print(&l, (unsigned char *)&s, offsetof(struct sample, c) + 4, NULL);
	CHECK_STR("-", put(), "{a=1 b=0.5 c=[1 2] ...}");
	/* An incomplete item is shown as bytes, padding between fields is not shown. */
	layout_print(&l, (unsigned char *)&s, offsetof(struct sample, c) + 5, NULL);
	CHECK_STR("-", put(), "{a=1 b=0.5 c=[1 2] ... +03}");
	layout_print(&l, (unsigned char *)&s, offsetof(struct sample, b), NULL);
	CHECK_STR("-", put(), "{a=1 ...}");
	layout_print(&l, (unsigned char *)&s, 0, NULL);
	CHECK_STR("-", put(), "{...}");
	layout_print(&l, (const unsigned char *)"\1\0\0\0\0\0\0\0\2\3", 10, NULL);
	CHECK_STR("-", put(), l.field[1].align == 8 ? "{a=1 ... +0203}" : "{a=1 ... +00000000 0203}");
	l = (struct layout){ 0 };
	MUST(layout_parse(&l, "n{a:u32,b:s}"));
	layout_print(&l, (const unsigned char *)"abc", 3, NULL);
	CHECK_STR("-", put(), "{... +616263}");
	layout_print(&l, (const unsigned char *)"\1\0\0\0x", 5, NULL);
	CHECK_STR("-", put(), "{a=1 b=\"x\"}");
	/* According to the locale. */
	l = (struct layout){ 0 };
	MUST(layout_parse(&l, "n{größe:u8/µs}"));
	setlocale(LC_CTYPE, "C");
	layout_print(&l, &s.a, 1, NULL);
	CHECK_STR("-", put(), "{gr\\xc3\\xb6\\xc3\\x9fe=1\\xc2\\xb5s}");
	setlocale(LC_CTYPE, "C.UTF-8");
	layout_print(&l, &s.a, 1, NULL);
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
	struct layout_places places;
	struct layout l = { 0 };

	return layout_form(declared && layout_parse(&l, declared) ? &l : NULL, (const unsigned char *)data, length,
	                   &places);
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
	CHECK_EQ("-", form("n{a:z,b:u8}", "text\0x", 6), FORM_FIELDS);
	CHECK_EQ("-", form("n{a:z,b:u8}", "text\0xy", 7), FORM_MORE);
	CHECK_EQ("-", form("n{a:z,b:u8}", "text\0", 5), FORM_TEXT);
	CHECK_EQ("-", form("n{a:z}", "text", 4), FORM_TEXT);
	CHECK_EQ("-", form("n{n:u8,a:u8[n]}", "\2ab", 3), FORM_FIELDS);
	CHECK_EQ("-", form("n{n:u8,a:u8[n]}", "\3ab", 3), FORM_BYTES);
	CHECK_EQ("-", form("n{n:u8,a:u8[n]}", "\0", 1), FORM_FIELDS);
	CHECK_EQ("-", form("n{n:u64,a:u64[n]}", "\377\377\377\377\377\377\377\377xxxxxxxx", 16), FORM_BYTES);
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
		                             "2026-01-00", "21:05:06Z", "2026-11-21Z", "2026-11-21T21:05Zx" };

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
	/* UTC, as times are shown, whatever the local time is. */
	setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	CHECK_EQ("-", parsed("2026-11-21T21:05:06Z"), NS_PER_S - 500);
	CHECK_EQ("-", parsed("2026-11-21T21:05:05.5Z"), 500000000 - 500);
	CHECK_EQ("-", parsed("2026-11-21 21:06Z"), 55 * NS_PER_S - 500);
	CHECK_EQ("-", parsed("2026-11-21 22:05:06"), NS_PER_S - 500);
	setenv("TZ", "UTC0", 1);
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
	moment_print_seconds(1500000000, 0, 14);
	CHECK_STR("-", put(), "   1.500000000");
	moment_print_seconds(7, 8, 14);
	CHECK_STR("-", put(), "  -0.000000001");
	moment_print_seconds(0, 1500000000, 0);
	CHECK_STR("-", put(), "-1.500000000");
	moment_print_seconds(UINT64_MAX, 0, 14);
	CHECK_STR("-", put(), "18446744073.709551615");
	CHECK("-", moment_difference(UINT64_MAX, 0) == INT64_MAX && moment_difference(0, UINT64_MAX) == INT64_MIN);
	CHECK("-", moment_difference(5, 8) == -3 && moment_difference(8, 5) == 3);
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
	i = image_of(0, path, length, id, 0);
	CHECK_STR("-", image_path(i), "/bin/true");
	CHECK("-", image_of(0, path, length, id, 0) == i && image_of(0, path, 9, id, 0) == i);
	CHECK("-", image_of(0, path, 8, id, 0) != i && image_of(0, path, 9, id, 2) != i);
	CHECK("-", image_of(0, path, 0, id, 0) == image_of(0, "", 0, id, 0));
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
          TEST_ENTRY(layout_json_exact), TEST_ENTRY(layout_varying_sizes), TEST_ENTRY(layout_with_words),
          TEST_ENTRY(layout_many_labels), TEST_ENTRY(layout_faults), TEST_ENTRY(layout_lengths),
          TEST_ENTRY(layouts_together), TEST_ENTRY(texts), TEST_ENTRY(forms), TEST_ENTRY(moments_read),
          TEST_ENTRY(moments_printed), TEST_ENTRY(names), TEST_ENTRY(image_paths), TEST_ENTRY(seconds))
