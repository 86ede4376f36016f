/*
 * origin.c - src/log/labels.c and src/log/clocks.c: who has recorded a log, and what the clocks said
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>

#include "base/clock.h"
#include "log/clocks.h"
#include "log/labels.h"
#include "test.h"

static struct labels l;
static char all[LABELS_BODY_MAX];

static void add(const char *key, size_t key_length, const char *value, size_t value_length, void *arg)
{
	size_t n = strlen(all);

	(void)arg;
	snprintf(all + n, sizeof all - n, "%.*s=%.*s;", (int)key_length, key, (int)value_length, value);
}

static const char *text(void)
{
	all[0] = '\0';
	labels_each(l.body, l.size, add, NULL);
	return all;
}

static bool set(const char *key, const char *value)
{
	return labels_set(&l, key, strlen(key), value, strlen(value));
}

TEST(labels)
{
	char long_key[65] = "", long_value[257] = "";

	memset(long_key, 'k', 64);
	memset(long_value, 'v', 256);
	l.size = 0;
	CHECK_STR("-", text(), "");
	CHECK("-", set("a", "1") && set("b", "") && set("c", "x=y"));
	CHECK_STR("-", text(), "a=1;b=;c=x=y;");
	CHECK("-", set("a", "2") && set("c", "3"));
	CHECK_STR("-", text(), "b=;a=2;c=3;");
	CHECK("-", !set("", "1") && !set("a=b", "1") && !set("a\n", "1") && !set("a", "\x1b[31m") && !set("a", "\xff"));
	CHECK("-", !set(long_key, "") && !set("a", long_value));
	CHECK("-", set(long_key + 1, "") && set("a", long_value + 1));
	l.size = 0;
	for (int i = 0; i < LABELS_MAX + 1; i++) {
		char key[8];

		snprintf(key, sizeof key, "k%d", i);
		CHECK_EQ("-", set(key, long_value + 1), i < LABELS_MAX);
	}
	CHECK("-", set("k5", "again") && l.size <= sizeof l.body);
}

/* A body of a hostile log. */
TEST(any_bytes)
{
	srand(1);
	for (int round = 0; round < 20000; round++) {
		unsigned char *body = malloc(64);
		size_t size = (size_t)rand() % 65;

		MUST(body);
		for (size_t i = 0; i < size; i++)
			body[i] = (unsigned char)(rand() % 4 ? rand() % 6 : rand());
		all[0] = '\0';
		labels_each(body, size, add, NULL);
		CHECK("-", strlen(all) <= size);
		free(body);
	}
}

static uint64_t number(const unsigned char *body, int at)
{
	return get64(body + at);
}

TEST(clocks)
{
	int64_t before = clock_ns(CLOCK_MONOTONIC), real = clock_ns(CLOCK_REALTIME);
	unsigned char body[CLOCK_BYTES];
	struct clocks c;

	clocks_read(&c, CLOCK_BEGIN, NULL, body);
	CHECK("-", number(body, 0) >= (uint64_t)before && number(body, 0) <= (uint64_t)clock_ns(CLOCK_MONOTONIC));
	CHECK("-", number(body, 8) >= (uint64_t)real && number(body, 8) <= (uint64_t)clock_ns(CLOCK_REALTIME));
	CHECK("-", number(body, 16) + number(body, 24) >= number(body, 0));
	CHECK("-", body[36] == CLOCK_BEGIN && body[37] == 0);
	for (int i = 38; i < CLOCK_BYTES; i++)
		CHECK_EQ("-", body[i], 0);
	CHECK_EQ("-", clocks_due(&c), CLOCK_NONE);
	c.monotonic -= 11 * NS_PER_S;
	CHECK_EQ("-", clocks_due(&c), CLOCK_PERIOD);
	/* As fast as the kernel slows a clock down, and faster. */
	c.difference += 11 * NS_PER_S / 2000;
	CHECK_EQ("-", clocks_due(&c), CLOCK_PERIOD);
	c.difference += NS_PER_S;
	CHECK_EQ("-", clocks_due(&c), CLOCK_STEP);
	c.difference -= 2 * NS_PER_S;
	CHECK_EQ("-", clocks_due(&c), CLOCK_STEP);
}

static void ask(struct clock_layout *clock)
{
	clock->known = 1;
	PUT_FIELD(clock->state, 5);
	PUT_FIELD(clock->max_error, UINT64_C(16000));
}

TEST(asked)
{
	unsigned char body[CLOCK_BYTES];
	struct clocks c;

	clocks_read(&c, CLOCK_END, ask, body);
	CHECK("-", body[36] == CLOCK_END && body[37] == 1 && body[38] == 5 && number(body, 64) == 16000);
}

TEST_MAIN(TEST_ENTRY(labels), TEST_ENTRY(any_bytes), TEST_ENTRY(clocks), TEST_ENTRY(asked))
