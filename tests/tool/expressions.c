/*
 * expressions.c - expressions about fields: what they say is wrong, and what they are for events
 *
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "event/evaluate.h"
#include "test.h"

/* -- Errors -------------------------------------------------------------------------------------- */

TEST(errors)
{
	static const struct {
		const char *text;
		size_t at;
		const char *why;
	} wrong[] = {
		{ "", 0, "missing at the end" },
		{ "   ", 3, "missing at the end" },
		{ "a >", 3, "missing at the end" },
		{ "a > > 1", 4, "'>' is not a name" },
		{ "a = 1", 2, "==" },
		{ "a == 1 and b", 7, "use &&" },
		{ "a == 1 or b", 7, "use ||" },
		{ "a | b", 2, "use ||" },
		{ "(a == 1", 0, "not closed" },
		{ "a == 1)", 6, "')' cannot follow" },
		{ "1 < a < 3", 6, "a < b && b < c" },
		{ "a == \"x", 5, "no closing \"" },
		{ "a == 'x", 5, "no closing '" },
		{ "`a == 1", 0, "no closing `" },
		{ "``", 0, "empty" },
		{ "a > 1.5x", 7, "'x' is not a unit" },
		{ "a > 18446744073709551616", 4, "64 bits" },
		{ "a > 0x10000000000000000", 4, "64 bits" },
		{ "a ~ b", 4, "quotation marks" },
		{ "a in 1", 5, "parentheses" },
		{ "a in (1, 2", 5, "not closed" },
		{ "a[x] == 1", 1, "NAME[NUMBER]" },
		{ "a[65536] == 1", 1, "65535" },
		{ "exists a", 0, "parentheses" },
		{ "exists(1)", 0, "parentheses" },
		{ "@ == 1", 0, "after @" },
		{ "\"text\"", 0, "not a condition" },
		{ "3ms", 0, "not a condition" },
		{ "a == in", 5, "'in' is not a name" },
		{ "((((((((((((((((((((((((((((((((((1))))))))))))))))))))))))))))))))))", 32, "more than 32" },
		{ "a == \x01", 5, "no control characters" },
		{ "ä \x0b> 1", 3, "no control characters" },
		{ "a > 1\xc2\x85", 5, "no control characters" },
		{ "a == \"\xff\"", 6, "UTF-8" },
	};

	for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		struct expression_fault fault = { .at = 4711 };
		struct expression *x = expression_parse(wrong[i].text, true, &fault);

		CHECK(wrong[i].text, x == NULL);
		CHECK_EQ(wrong[i].text, fault.at, wrong[i].at);
		CHECK(fault.why, strstr(fault.why, wrong[i].why) != NULL);
		free(x);
	}
}

/* The limits end with a message, not with an overflow. */
TEST(limits)
{
	static char text[3 * EXPRESSION_TEXT];
	struct expression_fault fault;

	memset(text, '!', EXPRESSION_TEXT - 2);
	CHECK("not", !expression_parse(text, true, &fault));
	memset(text, '-', EXPRESSION_TEXT - 3);
	strcpy(text + EXPRESSION_TEXT - 3, "1");
	CHECK("minus", !expression_parse(text, true, &fault) && strstr(fault.why, "too many operations"));
	strcpy(text, "a");
	for (unsigned i = 0; i < 300; i++)
		strcat(text, " + 1");
	CHECK("sum", !expression_parse(text, true, &fault) && strstr(fault.why, "too many operations"));
	/* Each list would double the operations of the one before. */
	strcpy(text, "a");
	for (unsigned i = 0; i < 20; i++) {
		char before[sizeof text];

		strcpy(before, text);
		snprintf(text, sizeof text, "(%.3900s) in (1, 2)", before);
	}
	CHECK("in", !expression_parse(text, true, &fault) && strstr(fault.why, "too many operations"));
	memset(text, 'a', EXPRESSION_TEXT);
	text[EXPRESSION_TEXT] = 0;
	CHECK("long", !expression_parse(text, true, &fault) && strstr(fault.why, "4095"));
	text[EXPRESSION_TEXT - 1] = 0;
	CHECK("longest", expression_parse(text, true, &fault) != NULL);
}

/* -- Values -------------------------------------------------------------------------------------- */

/* An event type, and its event. */
struct sample {
	const char *layout, *data;
	size_t length;
};

static const struct log_event event = {
	.id = 70, .pid = 100, .tid = 101, .time = 5000001500, .address = 0x401136, .name = "worker",
};

static struct formula *compile(const char *text, const struct sample *s, struct layout *l, struct expression **x,
                               bool condition)
{
	struct formula_type type = { .name = "sql.row", .begin = 5000000000 };
	struct expression_fault fault;

	*x = expression_parse(text, condition, &fault);
	if (!*x) {
		fprintf(stderr, "%s: %s\n", text, fault.why);
		MUST(*x);
	}
	memset(l, 0, sizeof *l);
	if (s->layout) {
		struct layout_fault wrong;

		MUST(layout_declare(l, s->layout, &wrong));
		formula_declare(*x, l);
		type.layout = l;
	}
	return formula_new(*x, &type, condition);
}

/* Returns the truth as a word. In memory of exactly its size, the data must not be read beyond. */
static const char *truth(const char *text, const struct sample *s)
{
	static const char *const words[] = { "false", "unknown", "true" };
	struct log_event e = event;
	unsigned char *data = malloc(s->length ? s->length : 1);
	struct evaluation ask = { .event = &e, .data = data, .begin = 5000000000, .process = "shop" };
	struct expression *x;
	struct layout l;
	struct formula *f = compile(text, s, &l, &x, true);
	enum truth t, same;

	memcpy(data, s->data, s->length);
	e.length = (uint32_t)s->length;
	t = evaluate_truth(f, &ask);
	/* What is known without the event is what the event says. */
	if (formula_constant(f, &same))
		CHECK_EQ(text, t, same);
	formula_free(f);
	free(ask.room);
	free(data);
	free(x);
	return words[t];
}

#define TRUTH(sample, text, word) CHECK_STR(text, truth(text, &(sample)), word)

TEST(numbers)
{
	static const struct sample n = { "{u:u64,i:i64,h:x16,b:u8,f:f64,g:f32,t:bool,s:i8}",
		"\377\377\377\377\377\377\377\377" "\0\0\0\0\0\0\0\200" "\xef\xbe" "\7\0\0\0\0\0"
		"\0\0\0\0\0\0\xf8\x3f" "\0\0\300\177" "\2" "\376", 8 + 8 + 8 + 8 + 4 + 2 };

	/* A double has 53 bits. */
	TRUTH(n, "u == 18446744073709551615", "true");
	TRUTH(n, "u == 18446744073709551614", "false");
	TRUTH(n, "u > 18446744073709551614", "true");
	TRUTH(n, "u == 18446744073709551616.0", "false");
	TRUTH(n, "u < 18446744073709551616.0", "true");
	TRUTH(n, "u > 18446744073709549568.0", "true");
	TRUTH(n, "u == 0xffffffffffffffff", "true");
	TRUTH(n, "i == -9223372036854775808", "true");
	TRUTH(n, "i < -9223372036854775807", "true");
	TRUTH(n, "i < u", "true");
	TRUTH(n, "i - u == 0", "unknown"); /* 65 bits */
	TRUTH(n, "u - 1 == 18446744073709551614", "true");
	TRUTH(n, "u + 1 > 0", "unknown");
	TRUTH(n, "u * 1 == u && u / u == 1 && u % 10 == 5", "true");
	TRUTH(n, "i < -1 && -1 > i && i != 3 && 3 != i", "true");
	TRUTH(n, "i > -9223372036854777856.0", "true");
	TRUTH(n, "i == -9223372036854775808.0", "true");
	TRUTH(n, "-1 > u", "false");
	TRUTH(n, "u > -1", "true");
	TRUTH(n, "h == 0xbeef && h & 0xff == 0xef", "true");
	TRUTH(n, "h has 0xe0 && !(h has 0x10)", "true");
	TRUTH(n, "b == 7 && b >= 7 && b <= 7 && b < 8 && b > 6", "true");
	TRUTH(n, "b / 2 == 3 && b % 2 == 1 && -b / 2 == -3", "true");
	TRUTH(n, "b / 0 == 1", "unknown");
	TRUTH(n, "b * 1.0 / 2 == 3.5", "true");
	TRUTH(n, "b == 7.5 || b > 7.5", "false");
	TRUTH(n, "b < 7.5", "true");
	TRUTH(n, "f == 1.5 && f > 1 && f < 2 && 1 < f && -f == -1.5", "true");
	TRUTH(n, "f == 15e-1 && f < 1e3", "true");
	TRUTH(n, "g == g", "unknown"); /* NaN */
	TRUTH(n, "t == true && t && t != false && true == t", "true");
	TRUTH(n, "!t", "false");
	TRUTH(n, "s == -2 && s < 0 && s > -3 && s <= -2 && !(s > 200)", "true");
	TRUTH(n, "b in (1, 2, 7) && !(b in (8))", "true");
	TRUTH(n, "b + 1 * 2 == 9 && (b + 1) * 2 == 16 && b - 1 - 1 == 5", "true");
}

TEST(units)
{
	static const struct sample n = { "{us:u32/us,s:u64/s,ns:i64/ns,size:u32/B,plain:u32,k:u16/KiB,p:u8/%}",
		"\334\5\0\0" "\0\0\0\0" "\377\377\377\377\377\377\377\377" "\3\0\0\0\0\0\0\0" "\0\x10\0\0" "\0\x10\0\0"
		"\4\0" "\5", 35 };

	TRUTH(n, "us == 1.5ms && us == 1500us && us == 1500 && us == 0.0015s && us > 1499999ns", "true");
	TRUTH(n, "us < 1500001ns && us != 1500001ns && 1.5ms == us && 2ms > us", "true");
	/* More than 64 bits in ns. */
	TRUTH(n, "s > 18446744073709551615ns && s > 1h && s != us && s > ns", "true");
	TRUTH(n, "s == 18446744073709551615", "true");
	TRUTH(n, "ns == 3 && ns == 3ns && ns < 1us && us > ns", "true");
	TRUTH(n, "ns + us == 1500003ns && us - ns == 1499997ns && us / ns == 500000", "true");
	TRUTH(n, "size == 4KiB && size == 4K && size == 4096 && size > 4kB && size < 1MiB", "true");
	TRUTH(n, "plain == 4KiB && plain + 4KiB == 8KiB", "true");
	TRUTH(n, "k == 4KiB && k == size && k == 4 && k == 4096B", "true");
	TRUTH(n, "p == 5", "true");
	TRUTH(n, "@time == 1500ns && @time == 1.5us && time < 1min", "true");
	TRUTH(n, "length == 35 && length < 1K", "true");
	/* What makes no sense. */
	TRUTH(n, "us == 4KiB", "unknown");
	TRUTH(n, "plain > 1ms", "unknown");
	TRUTH(n, "us * us > 1", "unknown");
	TRUTH(n, "us & 1 == 1", "unknown");
}

TEST(texts)
{
	static const struct sample n = { "{packed;z:z,c:c[4],d:c[4],s:s}", "user:1\0" "abcd" "ab\0\0" "rest\0", 20 };
	static const struct sample fixed = { "{c:c[4],s:s}", "abcdrest", 8 };
	static const struct sample empty = { "{c:u32,s:s}", "abcd", 4 };

	TRUTH(n, "z == \"user:1\" && z != \"user:\" && z ~ \"user:*\" && z ~ 'u?er:[0-9]' && z !~ \"x*\"", "true");
	TRUTH(n, "z > \"user\" && z < \"user:2\" && \"user:2\" > z && z <= 'user:1'", "true");
	TRUTH(n, "c == \"abcd\" && c ~ \"abcd\" && c ~ \"*d\" && c !~ \"abc\" && c ~ \"abc*\" && d == \"ab\"", "true");
	TRUTH(n, "s == \"rest\" && s ~ \"r\\\\es*\" && s ~ \"*\"", "true");
	TRUTH(n, "z ~ \"user:1*\" && z !~ \"user:12*\" && z !~ \"user:\"", "true");
	TRUTH(fixed, "c == \"abcd\" && s == \"rest\" && c ~ \"*cd\" && s ~ \"*st\"", "true");
	TRUTH(empty, "s == \"\" && exists(s) && s ~ \"*\" && s !~ \"?*\"", "true");
	TRUTH(n, "z == 1", "unknown");
	TRUTH(n, "z ~ \"1\" || length ~ \"1\"", "unknown");
	TRUTH(n, "z == \"quote\\\"\" || z == 'user:1'", "true");
	TRUTH(n, "event == \"sql.row\" && event == sql.row && event ~ \"sql.*\" && event != sql && sql.row == event",
	      "true");
	TRUTH(n, "thread == worker && thread ~ \"work*\" && process == shop && process != \"sh\"", "true");
	TRUTH(n, "pid == 100 && tid == 101 && address == 0x401136 && !truncated", "true");
	TRUTH(n, "`z` == 'user:1' && @event == sql.row", "true");
}

TEST(labels)
{
	static const struct sample n = { "{state:u8<idle,busy=4,in use>,i:i8<bad=-1,good>,m:x16<read|write|all=7>,"
		"modes:u8<a|b>[2]}", "\4\377\5\0\1\2", 6 };

	TRUTH(n, "state == busy && state != idle && state == \"busy\" && busy == state && state > idle", "true");
	TRUTH(n, "state in (idle, busy) && state != \"in use\"", "true");
	TRUTH(n, "state == 4", "true");
	TRUTH(n, "state == nothing", "unknown");
	TRUTH(n, "state == \"nothing\"", "unknown");
	TRUTH(n, "i == bad && i < good && i == -1", "true");
	TRUTH(n, "m has read && !(m has write) && m & 4 == 4 && m & write == 0 && !(m has all)", "true");
	TRUTH(n, "modes == a && modes == b && modes[0] == a && modes[1] == b && !(modes == 3)", "true");
	TRUTH(n, "modes has b && !(modes has 4)", "true");
}

TEST(arrays)
{
	static const struct sample some = { "{n:u8,sizes:u16[n],fix:u16[3]}", "\2\0\1\0\2\0\5\0\6\0\7\0", 12 };
	static const struct sample no = { "{n:u8,sizes:u16[n],fix:u16[3]}", "\0\0\5\0\6\0", 6 };
	static const struct sample first = { "{fix:u16[3]/B,pos.x:f32}", "\5\0\6\0\7\0\0\0\0\0\200\77", 12 };

	TRUTH(some, "sizes > 1 && sizes != 1 && sizes == 1 && !(sizes == 3) && 1 < sizes && !(sizes > 2)", "true");
	TRUTH(some, "sizes[0] == 1 && sizes[1] == 2 && fix[2] == 7", "true");
	TRUTH(some, "sizes[2] == 1", "unknown");
	TRUTH(some, "fix[3] == 1", "unknown");
	TRUTH(some, "sizes && exists(sizes) && exists(sizes[1]) && !exists(sizes[2])", "true");
	TRUTH(some, "sizes == fix", "unknown");
	TRUTH(some, "sizes + 1 == 2", "unknown");
	TRUTH(some, "sizes[0] + fix[0] == 6", "true");
	TRUTH(some, "n[0] == 2", "unknown");
	TRUTH(no, "sizes > 0", "unknown");
	TRUTH(no, "exists(sizes)", "true");
	/* Data that end early: two items are complete. */
	TRUTH(no, "fix == 6 && fix[1] == 6 && !(fix == 0)", "true");
	TRUTH(no, "fix[2] == 0", "unknown");
	TRUTH(first, "pos.x == 1 && fix > 6B && fix == 6 && fix[1] == 6B", "true");
}

TEST(missing)
{
	static const struct sample n = { "{a:u8,b:u32,rest:b}", "\1\0", 2 };
	static const struct sample bare = { NULL, "abcd", 4 };

	TRUTH(n, "x == 1", "unknown");
	TRUTH(n, "x != 1 || !(x == 1) || x", "unknown");
	TRUTH(n, "x == 1 || a == 1", "true");
	TRUTH(n, "a == 1 || x == 1", "true");
	TRUTH(n, "x == 1 && a == 2", "false");
	TRUTH(n, "a == 2 && x == 1", "false");
	TRUTH(n, "a == 1 && x == 1", "unknown");
	TRUTH(n, "!(x == 1 && a == 2)", "true");
	/* The data end before it. */
	TRUTH(n, "b == 0", "unknown");
	TRUTH(n, "b + 1 == 1", "unknown");
	TRUTH(n, "exists(a) && !exists(b) && !exists(x) && !exists(rest) && exists(pid)", "true");
	TRUTH(n, "rest == 1", "unknown");
	TRUTH(bare, "a == 1", "unknown");
	TRUTH(bare, "!exists(a) && length == 4 && event == sql.row", "true");
	/* A field hides what every event has. */
	static const struct sample hides = { "{time:u8,pid:u8}", "\7\10", 2 };
	TRUTH(hides, "time == 7 && pid == 8 && @pid == 100 && @time == 1500", "true");
}

TEST(times)
{
	setenv("TZ", "UTC", 1);
	tzset();

	static const struct sample n = { "{t:t64/ms,s:t32}", "\1\4\0\0\0\0\0\0" "\0\0\0\0", 12 };

	TRUTH(n, "t > \"1970-01-01\" && t < '1970-01-01 00:00:02' && t >= \"1970-01-01 00:00:01\"", "true");
	TRUTH(n, "s == \"1970-01-01\" && t == 1025 && t > s", "true");
	TRUTH(n, "t > \"tomorrow\"", "unknown");
}

/* Constants are calculated when the expression is compiled, and decide what can be decided. */
TEST(constants)
{
	static const struct sample n = { "{a:u8}", "\1", 1 };
	static const struct {
		const char *text;
		int truth; /* -1: depends on the event */
	} tries[] = {
		{ "event == sql.row", TRUTH_TRUE }, { "event != sql.row", TRUTH_FALSE }, { "a == 1", -1 },
		{ "event == x && a == 1", TRUTH_FALSE }, { "a == 1 && event == x", TRUTH_FALSE },
		{ "event == sql.row && a == 1", -1 }, { "a == 1 || event == sql.row", TRUTH_TRUE },
		{ "x == 1", TRUTH_UNKNOWN }, { "x == 1 && y == 1", TRUTH_UNKNOWN }, { "x == 1 || true", TRUTH_TRUE },
		{ "1 + 2 * 3 == 7 && 2s == 2000ms && 7 & 3 == 3", TRUTH_TRUE }, { "exists(x)", TRUTH_FALSE },
		{ "event == sql.row && (a == 1 || a == 2) && true", -1 },
		{ "(a == 1 && true) || (x == 1 && a == 3)", -1 },
	};

	for (unsigned i = 0; i < sizeof tries / sizeof tries[0]; i++) {
		struct expression *x;
		struct layout l;
		struct formula *f = compile(tries[i].text, &n, &l, &x, true);
		enum truth t = TRUTH_FALSE;
		bool is = formula_constant(f, &t);

		CHECK_EQ(tries[i].text, is, tries[i].truth >= 0);
		if (is)
			CHECK_EQ(tries[i].text, (int)t, tries[i].truth);
		formula_free(f);
	}
	TRUTH(n, "event == sql.row && (a == 1 || a == 2) && true", "true");
	TRUTH(n, "event == sql.row && (a == 2 || (a == 3 || a == 1)) && (true && (a == 1 && (false || a < 2)))",
	      "true");
	TRUTH(n, "(x == 1 || a == 1) && (a == 1 || x == 1) && !(x == 1 && a == 2)", "true");
}

TEST(calculated)
{
	static const struct sample n = { "{a:u8,t:u32/us,s:i8<x=-2>,z:s}", "\7\0\0\0" "\5\0\0\0" "\376" "ab", 11 };
	static const struct {
		const char *text;
		struct value value;
		uint8_t dimension;
		uint64_t scale;
	} tries[] = {
		{ "a * 2", { .kind = INTEGER_VALUE, .magnitude = 14 }, DIMENSION_NONE, 1 },
		{ "t + 1ms", { .kind = INTEGER_VALUE, .magnitude = 1005000 }, DIMENSION_TIME, 1 },
		{ "t", { .kind = INTEGER_VALUE, .magnitude = 5 }, DIMENSION_TIME, 1000 },
		{ "t / 2.0", { .kind = REAL_VALUE, .real = 2.5 }, DIMENSION_TIME, 1000 },
		{ "s", { .kind = INTEGER_VALUE, .magnitude = 2, .negative = true }, DIMENSION_NONE, 1 },
		{ "z", { .kind = TEXT_VALUE, .length = 2, .text = "ab" }, DIMENSION_NONE, 1 },
		{ "event", { .kind = TEXT_VALUE, .length = 7, .text = "sql.row" }, DIMENSION_NONE, 1 },
		{ "x", { .kind = NO_VALUE }, 0, 0 },
		{ "a == 1", { .kind = NO_VALUE }, 0, 0 },
	};

	for (unsigned i = 0; i < sizeof tries / sizeof tries[0]; i++) {
		struct log_event e = event;
		struct evaluation ask = { .event = &e, .data = (const unsigned char *)n.data, .begin = 5000000000 };
		const struct value *wanted = &tries[i].value;
		struct expression *x;
		struct layout l;
		struct formula *f = compile(tries[i].text, &n, &l, &x, false);
		struct value v;

		e.length = (uint32_t)n.length;
		v = evaluate_value(f, &ask);
		CHECK_EQ(tries[i].text, v.kind, wanted->kind);
		CHECK(tries[i].text, v.negative == wanted->negative && v.magnitude == wanted->magnitude);
		if (v.kind == TEXT_VALUE)
			CHECK(tries[i].text, memcmp(v.text, wanted->text, v.length) == 0);
		if (v.kind != NO_VALUE) {
			CHECK_EQ(tries[i].text, f->unit.dimension, tries[i].dimension);
			CHECK_EQ(tries[i].text, f->unit.scale, tries[i].scale);
		}
		formula_free(f);
	}
}

/* -- Threads ------------------------------------------------------------------------------------- */

#define EVALUATIONS 2000000

struct thread {
	pthread_t id;
	unsigned char number;
	enum truth truth;
	unsigned wrong;
};

static void *evaluate_often(void *arg)
{
	static const char text[] = "a * 3 + 1 > 10 && !(a - 1 > 100 || a + a == 7)";
	const struct sample one = { "{a:u8}", "", 1 };
	struct thread *t = arg;
	struct log_event e = event;
	struct evaluation ask = { .event = &e, .data = &t->number };
	struct expression *x;
	struct layout l;
	struct formula *f = compile(text, &one, &l, &x, true);

	e.length = 1;
	for (unsigned i = 0; i < EVALUATIONS; i++)
		t->wrong += evaluate_truth(f, &ask) != t->truth;
	formula_free(f);
	return NULL;
}

/* `record` evaluates in the threads that write its logs, each with an expression of its own. */
TEST(threads)
{
	struct thread threads[] = { { .number = 5, .truth = TRUTH_TRUE }, { .number = 1, .truth = TRUTH_FALSE },
	                            { .number = 200, .truth = TRUTH_FALSE } };

	for (unsigned i = 0; i < 3; i++)
		MUST(pthread_create(&threads[i].id, NULL, evaluate_often, &threads[i]) == 0);
	for (unsigned i = 0; i < 3; i++) {
		pthread_join(threads[i].id, NULL);
		CHECK_EQ("-", threads[i].wrong, 0);
	}
}

TEST_MAIN(TEST_ENTRY(errors), TEST_ENTRY(limits), TEST_ENTRY(numbers), TEST_ENTRY(units), TEST_ENTRY(texts),
          TEST_ENTRY(labels), TEST_ENTRY(arrays), TEST_ENTRY(missing), TEST_ENTRY(times), TEST_ENTRY(constants),
          TEST_ENTRY(calculated), TEST_ENTRY(threads))
