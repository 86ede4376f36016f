/*
 * declare.c - layouts beside the names of event types: refused ones, and who can read the others
 *
 * SPDX-License-Identifier: MIT
 */
#include <posixtrace/trace.h>

#include "other.h"

#define ROW  "{rows:u32,time:u64/ns}"
#define ITEM "{item:c[12],price:f64}"

static const char *layout_of(trace_id_t trid, trace_event_id_t id)
{
	static char layout[POSIXTRACE_LAYOUT_MAX + 1];
	int error = posixtrace_get_layout(trid, id, layout, sizeof layout);

	return error == ENOENT ? "none" : error ? "error" : layout;
}

static trace_event_id_t declare(const char *name, const char *layout)
{
	trace_event_id_t id = 0;

	CHECK_EQ("-", posixtrace_declare(name, layout, &id), 0);
	return id;
}

static trace_id_t stream(pid_t pid)
{
	trace_attr_t attr;
	trace_id_t trid;

	MUST(posix_trace_attr_init(&attr) == 0);
	MUST(posix_trace_attr_setinherited(&attr, POSIX_TRACE_INHERITED) == 0);
	MUST(posix_trace_create(pid, &attr, &trid) == 0);
	posix_trace_attr_destroy(&attr);
	return trid;
}

TEST(refused)
{
	static const struct {
		const char *layout, *at, *why;
	} wrong[] = {
		{ "", "", "" },
		{ "rows:u32", "", "" },
		{ "{", "", "" },
		{ "{}", "", "" },
		{ "{rows}", "rows", "" },
		{ "{rows:u99}", "u99", "is not a type" },
		{ "{rows:u32,rows:u8}", "rows:u8", "is the name of an earlier field" },
		{ "{all:s,rows:u8}", "", "" },
		{ "{rows:u32} ", "", "" },
		{ "{span=x;rows:u32}", "span=x", "is not an attribute" },
		{ "{;rows:u32}", "", "is not an attribute" },
		{ "{packed,;rows:u32}", "", "is not an attribute" },
		{ "{packed=1;rows:u32}", "packed=1", "has no value" },
		{ "{packed,packed;rows:u32}", "packed", "is the second attribute" },
		{ "{begin;rows:u32}", "begin", "needs a value" },
		{ "{begin=;rows:u32}", "begin=", "names no span" },
		{ "{begin=a234567890123456789012345678901234567890123456789012345678901234;rows:u32}",
		  "begin=a234567890123456789012345678901234567890123456789012345678901234", "names no span" },
		{ "{end=\1;rows:u32}", "end=\1", "names no span" },
		{ "{by=other;rows:u32}", "by=other", "is not followed by the name of a field" },
		{ "{by=rows;rows:u32[2]}", "by=rows", "is not followed by the name of a field" },
		{ "{send=name;name:z}", "send=name", "is not followed by the name of a field" },
		{ "{receive=real;real:f64}", "receive=real", "is not followed by the name of a field" },
		{ "{took=rows;rows:u32}", "took=rows", "is not followed by the name of an integer field" },
		{ "{took=rows,end=x;rows:u32/ns}", "took=rows", "makes the event a whole span" },
		{ "{level=loud;rows:u32}", "level=loud", "is not a level" },
		{ "{level=rows;rows:u32}", "level=rows", "is not a level" },
		{ "{counter=rows;rows:u32}", "counter=rows", "has no value" },
		{ "{counter;name:z}", "counter", "needs a field that is a number" },
		{ "{counter,by=rows;rows:u32}", "counter", "needs a field that is a number" },
	};
	static char many[POSIXTRACE_LAYOUT_MAX + 2];
	trace_event_id_t id = 77;
	size_t offset, length;
	char name[TRACE_EVENT_NAME_MAX + 2];

	shm_private("");
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		const char *why = posixtrace_layout_wrong(wrong[i].layout, &offset, &length);

		if (!why) {
			TEST_FAIL("-", "%s is not wrong", wrong[i].layout);
			continue;
		}
		CHECK("-", offset + length <= strlen(wrong[i].layout));
		CHECK("-", strncmp(why, wrong[i].why, strlen(wrong[i].why)) == 0);
		if (*wrong[i].at)
			CHECK("-", length == strlen(wrong[i].at) &&
			           strncmp(wrong[i].layout + offset, wrong[i].at, length) == 0);
		CHECK("-", posixtrace_layout_wrong(wrong[i].layout, NULL, NULL) == why);
		CHECK_EQ("-", posixtrace_declare("name", wrong[i].layout, &id), EINVAL);
	}
	CHECK_EQ("-", shm_count("/dev/shm", "posixtrace-"), 0); /* nothing was opened */
	memset(many, 'a', sizeof many - 1);
	many[0] = '{';
	CHECK("-", posixtrace_layout_wrong(many, NULL, NULL) != NULL);
	memset(name, 'n', sizeof name - 1);
	name[sizeof name - 1] = 0;
	CHECK_EQ("-", posixtrace_declare(name, ROW, &id), ENAMETOOLONG);
	CHECK_EQ("-", posixtrace_declare(NULL, ROW, &id), EINVAL);
	CHECK_EQ("-", posixtrace_declare("name", NULL, &id), EINVAL);
	CHECK_EQ("-", posixtrace_declare("name", ROW, NULL), EINVAL);
	CHECK_EQ("-", posixtrace_declare("posix_trace_start", ROW, &id), EINVAL);
	CHECK_EQ("-", posixtrace_declare("name{rows:u32}", ROW, &id), EINVAL);
	CHECK_EQ("-", id, 77);
}

/* Attributes that are right, each alone and together. */
TEST(meanings)
{
	static const char *const right[] = {
		"{begin=shop.order;rows:u32}", "{end=a = b;rows:u32}", "{begin=x,end=x,by=rows;rows:u32}",
		"{packed,took=time;time:i64/ms,name:z}", "{time:u32/s}", "{took=time,packed;time:u8/us}",
		"{counter,by=cpu;cpu:u8,load:f32}", "{send=a,receive=b;a:x64,b:u8}", "{level=emergency;text:z}",
		"{level=debug;debug:u8<low,high>}", "{level=rank;rank:i32<debug=-1,error=4>,text:s}",
	};

	for (size_t i = 0; i < sizeof right / sizeof right[0]; i++)
		CHECK_STR(right[i], posixtrace_layout_wrong(right[i], NULL, NULL) ?: "right", "right");
}

TEST(declared_twice)
{
	trace_event_id_t id, other = 0;
	trace_id_t trid;
	char small[8];

	shm_private("");
	id = declare("row", ROW);
	CHECK_EQ("-", declare("row", ROW), id);
	CHECK_EQ("-", posixtrace_declare("row", ITEM, &other), EEXIST);
	CHECK_EQ("-", other, id);
	CHECK_EQ("-", fault_open("row"), id);
	trid = stream(0);
	CHECK_STR("-", layout_of(trid, id), ROW);
	CHECK_STR("-", layout_of(trid, fault_open("bare")), "none");
	CHECK_STR("-", layout_of(trid, POSIX_TRACE_START), "none");
	CHECK_STR("-", layout_of(trid, 8000), "none");
	CHECK_STR("-", layout_of(trid, 100000), "none");
	CHECK_EQ("-", posixtrace_get_layout(trid, id, small, sizeof small), ERANGE);
	CHECK_EQ("-", posixtrace_get_layout(trid, id, NULL, sizeof small), EINVAL);
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
	CHECK_EQ("-", posixtrace_get_layout(trid, id, small, sizeof small), EINVAL);
}

static long task_declare(const void *what)
{
	return declare(what, ROW);
}

static long task_differs(const void *name)
{
	trace_event_id_t id;

	return posixtrace_declare(name, ITEM, &id);
}

/* The child of a traced process, and processes that were started by others. */
TEST(other_processes)
{
	struct other o;
	trace_id_t trid;
	long id, late;
	int status;
	pid_t child;

	shm_private("");
	o = other_start(NULL, NULL);
	id = other_do(&o, task_declare, "early", sizeof "early");
	trid = stream(o.pid);
	CHECK_STR("-", layout_of(trid, (trace_event_id_t)id), ROW);
	late = other_do(&o, task_declare, "late", sizeof "late");
	CHECK_STR("-", layout_of(trid, (trace_event_id_t)late), ROW);
	CHECK_EQ("-", other_do(&o, task_differs, "late", sizeof "late"), EEXIST);
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
	other_kill(&o);

	/* All processes of a family have the same layout for a name. */
	id = declare("of the parent", ROW);
	trid = stream(0);
	child = fork();
	MUST(child >= 0);
	if (child == 0) {
		trace_event_id_t same = 0;

		CHECK_EQ("-", posixtrace_declare("of the parent", ITEM, &same), EEXIST);
		CHECK_EQ("-", same, id);
		declare("of the child", ITEM);
		_exit(test_failures != 0);
	}
	MUST(waitpid(child, &status, 0) == child);
	CHECK_EQ("-", status, 0);
	CHECK_STR("-", layout_of(trid, fault_open("of the child")), ITEM);
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
}

/* From the name's registry to the log, before the first event and after. */
TEST(in_a_log)
{
	FILE *file;
	trace_event_id_t early, late, none;
	trace_attr_t attr;
	trace_id_t trid;
	char longest[POSIXTRACE_LAYOUT_MAX + 1];
	size_t at = 1;

	shm_private("");
	/* As long as fields can make it. */
	longest[0] = '{';
	for (int i = 0; i < 32; i++)
		at += (size_t)snprintf(longest + at, sizeof longest - at,
		                       "%sa_field_of_this_length_%02d:c[65535]/a_unit", i ? "," : "", i);
	snprintf(longest + at, sizeof longest - at, "}");
	file = tmpfile();
	MUST(file && posix_trace_attr_init(&attr) == 0);
	early = declare("early", ROW);
	none = fault_open("none");
	MUST(posix_trace_create_withlog(0, &attr, fileno(file), &trid) == 0 && posix_trace_start(trid) == 0);
	posix_trace_event(early, NULL, 0);
	MUST(posix_trace_flush(trid) == 0);
	late = posixtrace_layout_wrong(longest, NULL, NULL) ? 0 : declare("late", longest);
	MUST(late);
	posix_trace_event(late, NULL, 0);
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
	MUST(posix_trace_open(fileno(file), &trid) == 0);
	CHECK_STR("-", layout_of(trid, early), ROW);
	CHECK_STR("-", layout_of(trid, late), longest);
	CHECK_STR("-", layout_of(trid, none), "none");
	CHECK_EQ("-", posix_trace_close(trid), 0);
	fclose(file);
}

/* The layouts do not take event types, and run out only after the names. */
TEST(many)
{
	char name[32], layout[64];
	int error = 0, i;
	trace_event_id_t id;
	trace_id_t trid;

	shm_private("");
	for (i = 0; i < TRACE_USER_EVENT_MAX && !error; i++) {
		snprintf(name, sizeof name, "name %d", i);
		snprintf(layout, sizeof layout, "{the_number_%d:u32,and_another_one:u64}", i);
		error = posixtrace_declare(name, layout, &id);
	}
	CHECK_EQ("-", error, ENOSPC);
	CHECK_EQ("-", i, TRACE_USER_EVENT_MAX); /* one of these is POSIX_TRACE_UNNAMED_USEREVENT */
	CHECK_EQ("-", id, POSIX_TRACE_UNNAMED_USEREVENT);
	trid = stream(0);
	for (i = 0; i < TRACE_USER_EVENT_MAX - 1; i += 97) {
		snprintf(name, sizeof name, "name %d", i);
		snprintf(layout, sizeof layout, "{the_number_%d:u32,and_another_one:u64}", i);
		CHECK_STR("-", layout_of(trid, fault_open(name)), layout);
	}
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
}

/* The gate is open while a stream traces the process, and what it guards costs nothing otherwise. */
TEST(enabled)
{
	trace_event_id_t id;
	trace_id_t trid;

	shm_private("");
	CHECK_EQ("-", posixtrace_enabled(), 1); /* nobody has looked yet */
	id = fault_open("fault");
	CHECK_EQ("-", posixtrace_enabled(), 0);
	trid = stream(0);
	CHECK_EQ("-", posix_trace_start(trid), 0);
	posix_trace_event(id, NULL, 0);
	CHECK_EQ("-", posixtrace_enabled(), 1);
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
	posix_trace_event(id, NULL, 0); /* now the process knows */
	CHECK_EQ("-", posixtrace_enabled(), 0);
}

TEST_MAIN(TEST_ENTRY(refused), TEST_ENTRY(meanings), TEST_ENTRY(declared_twice), TEST_ENTRY(other_processes),
          TEST_ENTRY(in_a_log),
          TEST_ENTRY(many), TEST_ENTRY(enabled))
