/*
 * meaning.c - what <posixtrace/log.h> says that events mean: spans, counters, flows, levels
 *
 * SPDX-License-Identifier: MIT
 */
#include <posixtrace/log.h>
#include <stdint.h>
#include <string.h>

#include "test.h"

static struct posixtrace_log_writer *writer;
static struct posixtrace_log *the_log;
static uint64_t now;
static int fd;

static void begin(void)
{
	char path[] = "/tmp/posixtrace-meaning-XXXXXX";

	fd = mkstemp(path);
	MUST(fd >= 0);
	unlink(path);
	MUST(posixtrace_log_create_fd(fd, NULL, &writer) == 0);
}

static void put(const char *name, const char *layout, const void *data, size_t size)
{
	uint32_t type;

	MUST(posixtrace_log_declare(writer, name, layout, &type) == 0);
	MUST(posixtrace_log_put(writer, ++now, 7, 7, 0, type, data, size) == 0);
}

static void finish(void)
{
	MUST(posixtrace_log_finish(writer) == 0);
	MUST(posixtrace_log_open(NULL, &the_log) == 0);
	MUST(posixtrace_log_add_fd(the_log, fd, "log") == 0);
	close(fd);
}

static const struct posixtrace_log_event *next(void)
{
	const struct posixtrace_log_event *e;

	do
		MUST(posixtrace_log_next(the_log, &e) == 0 && e);
	while (!e->type || e->type->system);
	return e;
}

static const struct posixtrace_log_meaning *meaning(const char *name)
{
	const struct posixtrace_log_type *type = posixtrace_log_find_type(the_log, name);

	MUST(type);
	return posixtrace_log_meaning_of(type);
}

TEST(types)
{
	const struct posixtrace_log_type *type;
	const struct posixtrace_log_meaning *m;

	begin();
	put("in", "{begin=request,by=id;size:u8,id:u32}", "", 1);
	put("out", "{end=request,begin=reply,by=id;id:u32}", "", 1);
	put("query", "{took=time;time:u32/ms}", "", 1);
	put("load", "{counter,by=cpu;cpu:u8,user:f64,idle:i32,name:z}", "", 1);
	put("post", "{send=id;id:u64}", "", 1);
	put("get", "{receive=id,level=error;id:u64}", "", 1);
	put("says", "{level=rank;rank:u8<debug=10,error=40>}", "", 1);
	put("plain", NULL, "", 1);
	put("fields", "{id:u64}", "", 1);
	finish();

	m = meaning("in");
	CHECK_STR("-", m->begin, "request");
	CHECK_STR("-", m->end, "");
	CHECK_STR("-", m->span, "");
	CHECK_EQ("-", m->by, 1);
	CHECK_EQ("-", m->took, -1);
	m = meaning("out");
	CHECK_STR("-", m->begin, "reply");
	CHECK_STR("-", m->end, "request");
	CHECK_EQ("-", m->by, 0);
	m = meaning("query");
	CHECK_STR("-", m->span, "query");
	CHECK_EQ("-", m->took, 0);
	CHECK_EQ("-", m->counter, 0);
	m = meaning("load");
	CHECK_EQ("-", m->counter, 1);
	CHECK_EQ("-", m->by, 0);
	type = posixtrace_log_find_type(the_log, "load");
	for (unsigned i = 0; i < 4; i++)
		CHECK_EQ("-", posixtrace_log_field_at(type, i)->counter, i == 1 || i == 2);
	CHECK_EQ("-", meaning("post")->send, 0);
	CHECK_EQ("-", meaning("post")->receive, -1);
	CHECK_EQ("-", meaning("get")->receive, 0);
	CHECK_EQ("-", meaning("get")->level, POSIXTRACE_LOG_ERROR);
	CHECK_EQ("-", meaning("get")->level_field, -1);
	CHECK_EQ("-", meaning("says")->level_field, 0);
	CHECK_EQ("-", meaning("says")->level, POSIXTRACE_LOG_NO_LEVEL);
	for (unsigned i = 0; i < 2; i++) {
		m = meaning(i ? "fields" : "plain");
		CHECK("-", !m->begin[0] && !m->end[0] && !m->span[0] && !m->counter);
		CHECK("-", m->by == -1 && m->took == -1 && m->send == -1 && m->receive == -1 && m->level_field == -1);
		CHECK_EQ("-", m->level, POSIXTRACE_LOG_NO_LEVEL);
	}
	CHECK_EQ("-", posixtrace_log_field_at(posixtrace_log_find_type(the_log, "fields"), 0)->counter, 0);
	CHECK("-", !posixtrace_log_meaning_of(NULL));
	posixtrace_log_close(the_log);
}

/* The rules are those of the command: the last word, and the first end that exists. */
TEST(names)
{
	static const char *const names[] = { "sql.begin", "sql.end", "job_start", "job_stop", "job_done", "a.Enter",
		                             "a.EXIT", "x.begin", "y.end", "begin", "end", "own.begin", "own.end" };

	begin();
	for (unsigned i = 0; i < 13; i++)
		put(names[i], i < 11 ? NULL : i == 11 ? "{begin=mine;n:u8}" : "{end=mine;n:u8}", "", 1);
	put("sql.end", NULL, "", 1);
	finish();
	CHECK_STR("-", meaning("sql.begin")->begin, "sql");
	CHECK_STR("-", meaning("sql.begin")->end, "");
	CHECK_EQ("-", meaning("sql.begin")->named, 1);
	CHECK_EQ("-", meaning("sql.begin")->by, -1);
	CHECK_STR("-", meaning("sql.end")->end, "sql");
	CHECK_STR("-", meaning("job_start")->begin, "job");
	CHECK_STR("-", meaning("job_stop")->end, "job");
	CHECK_STR("-", meaning("job_done")->end, "");
	CHECK_STR("-", meaning("a.Enter")->begin, "a");
	CHECK_STR("-", meaning("a.EXIT")->end, "a");
	for (unsigned i = 7; i < 11; i++)
		CHECK("-", !meaning(names[i])->begin[0] && !meaning(names[i])->end[0] && !meaning(names[i])->named);
	CHECK_STR("-", meaning("own.begin")->begin, "mine");
	CHECK_STR("-", meaning("own.end")->end, "mine");
	CHECK_EQ("-", meaning("own.end")->named, 0);
	posixtrace_log_close(the_log);
}

TEST(levels)
{
	static const char *const words[] = { "emergency", "alert", "critical", "error", "warning", "notice", "info",
		                             "debug" };
	const struct posixtrace_log_event *e;
	signed char ranks[] = { 10, 40, -1, 7 };
	uint32_t level = 99;

	for (uint32_t i = 0; i < 8; i++)
		CHECK_STR("-", posixtrace_log_level_name(i + 1), words[i]);
	CHECK("-", !posixtrace_log_level_name(0) && !posixtrace_log_level_name(9) &&
	           !posixtrace_log_level_name(UINT32_MAX));
	begin();
	for (unsigned i = 0; i < 4; i++)
		put("says", "{level=rank;rank:i8<debug=10,error=40,alert=-1,odd=7>}", &ranks[i], 1);
	put("says", "{level=rank;rank:i8<debug=10,error=40,alert=-1,odd=7>}", "", 0);
	put("says", "{level=rank;rank:i8<debug=10,error=40,alert=-1,odd=7>}", "\6", 1);
	put("all", "{level=notice;text:s}", "tea", 3);
	put("none", "{text:s}", "tea", 3);
	finish();
	CHECK("-", posixtrace_log_get_level(next(), &level) == 0 && level == POSIXTRACE_LOG_DEBUG);
	CHECK("-", posixtrace_log_get_level(next(), &level) == 0 && level == POSIXTRACE_LOG_ERROR);
	CHECK("-", posixtrace_log_get_level(next(), &level) == 0 && level == POSIXTRACE_LOG_ALERT);
	level = 99;
	/* A label that is no level, no data, no label. */
	for (unsigned i = 0; i < 3; i++)
		CHECK_EQ("-", posixtrace_log_get_level(next(), &level), ENOENT);
	CHECK_EQ("-", level, 99);
	CHECK("-", posixtrace_log_get_level(next(), &level) == 0 && level == POSIXTRACE_LOG_NOTICE);
	e = next();
	CHECK_EQ("-", posixtrace_log_get_level(e, &level), ENOENT);
	CHECK_EQ("-", posixtrace_log_get_level(e, NULL), EINVAL);
	CHECK_EQ("-", posixtrace_log_get_level(NULL, &level), EINVAL);
	posixtrace_log_close(the_log);
}

TEST(took)
{
	const struct posixtrace_log_event *e;
	uint64_t ns, most = UINT64_MAX;
	uint32_t number = 5;
	int16_t negative = -5;

	begin();
	put("ns", "{took=t;t:u32/ns}", &number, sizeof number);
	put("us", "{took=t;t:u32/us}", &number, sizeof number);
	put("ms", "{took=t;t:u32/ms}", &number, sizeof number);
	put("s", "{took=t;t:u32/s}", &number, sizeof number);
	put("less", "{took=t;t:i16/s}", &negative, sizeof negative);
	put("most", "{took=t;t:u64/s}", &most, sizeof most);
	put("ns", "{took=t;t:u32/ns}", &number, 3);
	put("none", "{t:u32/ns}", &number, sizeof number);
	finish();
	CHECK("-", posixtrace_log_get_took(next(), &ns) == 0 && ns == 5);
	CHECK("-", posixtrace_log_get_took(next(), &ns) == 0 && ns == 5000);
	CHECK("-", posixtrace_log_get_took(next(), &ns) == 0 && ns == 5000000);
	CHECK("-", posixtrace_log_get_took(next(), &ns) == 0 && ns == 5000000000);
	CHECK("-", posixtrace_log_get_took(next(), &ns) == 0 && ns == 0);
	CHECK("-", posixtrace_log_get_took(next(), &ns) == 0 && ns == UINT64_MAX);
	CHECK_EQ("-", posixtrace_log_get_took(next(), &ns), ENOENT);
	e = next();
	CHECK_EQ("-", posixtrace_log_get_took(e, &ns), ENOENT);
	CHECK_EQ("-", posixtrace_log_get_took(e, NULL), EINVAL);
	CHECK_EQ("-", posixtrace_log_get_took(NULL, &ns), EINVAL);
	posixtrace_log_close(the_log);
}

TEST_MAIN(TEST_ENTRY(types), TEST_ENTRY(names), TEST_ENTRY(levels), TEST_ENTRY(took))
