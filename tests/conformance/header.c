/*
 * header.c - <trace.h>: the types, members, constants and prototypes are the ones that the standard lists
 *
 * The header comes first, alone: it must need no other. How it behaves in other
 * language modes and between other headers is header_modes.c's business.
 *
 * SPDX-License-Identifier: MIT
 */
#include <trace.h>

#if defined posix_trace_event
# define EVENT_IS_A_MACRO 1
#else
# define EVENT_IS_A_MACRO 0
#endif

/* Constants of the header as the preprocessor sees them, before a different header is included. */
#define SPELLED_AGAIN(...) #__VA_ARGS__
#define SPELLED(...) SPELLED_AGAIN(__VA_ARGS__)

#include <stdint.h>
#include <time.h>

#include "stream.h"

/* 1 if the expression has exactly this type. The expression is not evaluated. */
#define HAS_TYPE(expression, ...) _Generic(&(expression), __VA_ARGS__ *: 1, default: 0)
#define MEMBER_HAS_TYPE(structure, member, ...) HAS_TYPE(((structure *)0)->member, __VA_ARGS__)

/* The function must exist even if parentheses around its name suppress a macro. */
#define CHECK_PROTOTYPE(ids, name, returns, ...)                                             \
	do {                                                                                 \
		returns (*volatile function) __VA_ARGS__ = (name);                           \
		CHECK(ids, function != NULL);                                                \
		CHECK(ids, _Generic((name), returns (*) __VA_ARGS__: 1, default: 0));        \
	} while (0)

/* Must be an object-like macro, an integer constant expression, and parenthesized. */
#define CHECK_CONSTANT(ids, name)                                                            \
	do {                                                                                 \
		enum { constant = (int)(name) };                                             \
		static const int object = (int)(name);                                       \
		const char *text = SPELLED(name);                                            \
		CHECK_EQ(ids, constant, name);                                               \
		CHECK_EQ(ids, object, name);                                                 \
		CHECK(ids, strcmp(text, #name) != 0);                                        \
		CHECK(ids, text[0] == '(' || strspn(text, "0123456789") == strlen(text));    \
	} while (0)

static trace_event_id_t same_id(trace_event_id_t id)
{
	return id;
}

static trace_id_t same_stream(trace_id_t trid)
{
	return trid;
}

static trace_event_set_t same_set(trace_event_set_t set)
{
	return set;
}

static int is_member(trace_event_id_t id, const trace_event_set_t *set)
{
	int member = -1;

	MUST(posix_trace_eventset_ismember(id, set, &member) == 0);
	return member != 0;
}

TEST(types)
{
	trace_attr_t attr;
	trace_event_set_t set;

	CHECK("HDR-4", sizeof attr > 0 && sizeof(trace_event_id_t) > 0 && sizeof(trace_id_t) > 0);
	CHECK("HDR-4", _Generic((size_t)0, __typeof__(sizeof 0): 1, default: 0));
	CHECK("HDR-5", sizeof set > 0);
	/* Ours: identifiers are integers. The other two types are not arithmetic. */
	CHECK("HDR-6", _Generic((trace_event_id_t)0, unsigned int: 1, default: 0));
	CHECK("HDR-6", (trace_id_t)-1 > 0);
}

TEST(copies)
{
	trace_event_id_t id = stream_id("header.copies"), id2;
	trace_id_t trid = stream_create(NULL), trid2, bystander = stream_create(NULL);
	trace_event_set_t set, set2, set3;

	id2 = same_id(id);
	CHECK("HDR-7", posix_trace_eventid_equal(trid, id, id2));
	trid2 = same_stream(trid);
	CHECK_EQ("HDR-7", posix_trace_start(trid2), 0);
	CHECK_EQ("HDR-7", stream_status(trid).posix_stream_status, POSIX_TRACE_RUNNING);
	CHECK_EQ("HDR-7", stream_status(bystander).posix_stream_status, POSIX_TRACE_SUSPENDED);

	MUST(posix_trace_eventset_empty(&set) == 0);
	MUST(posix_trace_eventset_add(id, &set) == 0);
	set2 = same_set(set);
	memcpy(&set3, &set2, sizeof set3);
	/* The copies stay valid without the original, and are independent of it. */
	memset(&set, 0, sizeof set);
	CHECK("HDR-7 HDR-8", is_member(id, &set2));
	CHECK("HDR-8", is_member(id, &set3));
	MUST(posix_trace_eventset_del(id, &set2) == 0);
	CHECK("HDR-7 HDR-8", !is_member(id, &set2));
	CHECK("HDR-8", is_member(id, &set3));
	CHECK_EQ("HDR-8", posix_trace_set_filter(trid, &set3, POSIX_TRACE_SET_EVENTSET), 0);
	stream_end(trid2);
	stream_end(bystander);
}

TEST(event_info)
{
	typedef struct posix_trace_event_info info;

	CHECK("HDR-9", MEMBER_HAS_TYPE(info, posix_event_id, trace_event_id_t));
	CHECK("HDR-9", MEMBER_HAS_TYPE(info, posix_pid, pid_t));
	CHECK("HDR-9", MEMBER_HAS_TYPE(info, posix_prog_address, void *));
	CHECK("HDR-9", MEMBER_HAS_TYPE(info, posix_thread_id, pthread_t));
	CHECK("HDR-9", MEMBER_HAS_TYPE(info, posix_timestamp, struct timespec));
	CHECK("HDR-9", MEMBER_HAS_TYPE(info, posix_truncation_status, int));
#if OURS_KERNEL_TID
	CHECK("HDR-12", MEMBER_HAS_TYPE(info, __posix_kernel_tid, pid_t));
#endif
}

TEST(status_info)
{
	typedef struct posix_trace_status_info info;

	CHECK("HDR-10", MEMBER_HAS_TYPE(info, posix_stream_status, int));
	CHECK("HDR-10", MEMBER_HAS_TYPE(info, posix_stream_full_status, int));
	CHECK("HDR-10", MEMBER_HAS_TYPE(info, posix_stream_overrun_status, int));
	CHECK("HDR-11", MEMBER_HAS_TYPE(info, posix_log_full_status, int));
	CHECK("HDR-11", MEMBER_HAS_TYPE(info, posix_log_overrun_status, int));
	CHECK("HDR-11", MEMBER_HAS_TYPE(info, posix_stream_flush_error, int));
	CHECK("HDR-11", MEMBER_HAS_TYPE(info, posix_stream_flush_status, int));
#if OURS_LOST_EVENTS
	CHECK("HDR-12", sizeof ((info *)0)->__posix_lost_events == 8);
#endif
}

TEST(constants)
{
	CHECK_CONSTANT("HDR-13 HDR-14", POSIX_TRACE_RUNNING);
	CHECK_CONSTANT("HDR-13 HDR-14", POSIX_TRACE_SUSPENDED);
	CHECK_CONSTANT("HDR-13 HDR-15", POSIX_TRACE_FULL);
	CHECK_CONSTANT("HDR-13 HDR-15", POSIX_TRACE_NOT_FULL);
	CHECK_CONSTANT("HDR-13 HDR-16", POSIX_TRACE_OVERRUN);
	CHECK_CONSTANT("HDR-13 HDR-16", POSIX_TRACE_NO_OVERRUN);
	CHECK_CONSTANT("HDR-13 HDR-17", POSIX_TRACE_FLUSHING);
	CHECK_CONSTANT("HDR-13 HDR-17", POSIX_TRACE_NOT_FLUSHING);
	CHECK_CONSTANT("HDR-13 HDR-18", POSIX_TRACE_NOT_TRUNCATED);
	CHECK_CONSTANT("HDR-13 HDR-18", POSIX_TRACE_TRUNCATED_RECORD);
	CHECK_CONSTANT("HDR-13 HDR-18", POSIX_TRACE_TRUNCATED_READ);
	CHECK_CONSTANT("HDR-13 HDR-19", POSIX_TRACE_LOOP);
	CHECK_CONSTANT("HDR-13 HDR-19", POSIX_TRACE_UNTIL_FULL);
	CHECK_CONSTANT("HDR-13 HDR-20", POSIX_TRACE_FLUSH);
	CHECK_CONSTANT("HDR-13 HDR-20", POSIX_TRACE_APPEND);
	CHECK_CONSTANT("HDR-13 HDR-21", POSIX_TRACE_CLOSE_FOR_CHILD);
	CHECK_CONSTANT("HDR-13 HDR-21", POSIX_TRACE_INHERITED);
	CHECK_CONSTANT("HDR-13 HDR-22", POSIX_TRACE_WOPID_EVENTS);
	CHECK_CONSTANT("HDR-13 HDR-22", POSIX_TRACE_SYSTEM_EVENTS);
	CHECK_CONSTANT("HDR-13 HDR-22", POSIX_TRACE_ALL_EVENTS);
	CHECK_CONSTANT("HDR-13 HDR-23", POSIX_TRACE_SET_EVENTSET);
	CHECK_CONSTANT("HDR-13 HDR-23", POSIX_TRACE_ADD_EVENTSET);
	CHECK_CONSTANT("HDR-13 HDR-23", POSIX_TRACE_SUB_EVENTSET);
	CHECK_CONSTANT("HDR-13 HDR-24", POSIX_TRACE_START);
	CHECK_CONSTANT("HDR-13 HDR-24", POSIX_TRACE_STOP);
	CHECK_CONSTANT("HDR-13 HDR-24", POSIX_TRACE_OVERFLOW);
	CHECK_CONSTANT("HDR-13 HDR-24", POSIX_TRACE_RESUME);
	CHECK_CONSTANT("HDR-13 HDR-24", POSIX_TRACE_ERROR);
	CHECK_CONSTANT("HDR-13 HDR-25", POSIX_TRACE_FILTER);
	CHECK_CONSTANT("HDR-13 HDR-26", POSIX_TRACE_FLUSH_START);
	CHECK_CONSTANT("HDR-13 HDR-26", POSIX_TRACE_FLUSH_STOP);
	CHECK_CONSTANT("HDR-13 HDR-27", POSIX_TRACE_UNNAMED_USEREVENT);
	CHECK_CONSTANT("HDR-13 HDR-27", POSIX_TRACE_UNNAMED_USER_EVENT);
}

TEST(distinct_values)
{
	static const int policy[] = { POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_FLUSH, POSIX_TRACE_APPEND };

	CHECK_NE("HDR-14", POSIX_TRACE_RUNNING, POSIX_TRACE_SUSPENDED);
	CHECK_NE("HDR-15", POSIX_TRACE_FULL, POSIX_TRACE_NOT_FULL);
	CHECK_NE("HDR-16", POSIX_TRACE_OVERRUN, POSIX_TRACE_NO_OVERRUN);
	CHECK_EQ("HDR-16", POSIX_TRACE_NO_OVERRUN, 0);
	CHECK_NE("HDR-17", POSIX_TRACE_FLUSHING, POSIX_TRACE_NOT_FLUSHING);
	CHECK_NE("HDR-18", POSIX_TRACE_NOT_TRUNCATED, POSIX_TRACE_TRUNCATED_RECORD);
	CHECK_NE("HDR-18", POSIX_TRACE_NOT_TRUNCATED, POSIX_TRACE_TRUNCATED_READ);
	CHECK_NE("HDR-18", POSIX_TRACE_TRUNCATED_RECORD, POSIX_TRACE_TRUNCATED_READ);
	for (size_t i = 0; i < sizeof policy / sizeof *policy; i++)
		for (size_t j = 0; j < i; j++)
			CHECK_NE("HDR-19 HDR-20", policy[i], policy[j]);
	CHECK_NE("HDR-21", POSIX_TRACE_CLOSE_FOR_CHILD, POSIX_TRACE_INHERITED);
	CHECK_NE("HDR-22", POSIX_TRACE_WOPID_EVENTS, POSIX_TRACE_SYSTEM_EVENTS);
	CHECK_NE("HDR-22", POSIX_TRACE_WOPID_EVENTS, POSIX_TRACE_ALL_EVENTS);
	CHECK_NE("HDR-22", POSIX_TRACE_SYSTEM_EVENTS, POSIX_TRACE_ALL_EVENTS);
	CHECK_NE("HDR-23", POSIX_TRACE_SET_EVENTSET, POSIX_TRACE_ADD_EVENTSET);
	CHECK_NE("HDR-23", POSIX_TRACE_SET_EVENTSET, POSIX_TRACE_SUB_EVENTSET);
	CHECK_NE("HDR-23", POSIX_TRACE_ADD_EVENTSET, POSIX_TRACE_SUB_EVENTSET);
	for (size_t i = 0; i < PREDEFINED; i++)
		for (size_t j = 0; j < i; j++)
			CHECK_NE("HDR-28", predefined[i].id, predefined[j].id);
}

TEST(event_id_types)
{
	CHECK("HDR-24", _Generic(POSIX_TRACE_START, trace_event_id_t: 1, default: 0));
	CHECK("HDR-24", _Generic(POSIX_TRACE_STOP, trace_event_id_t: 1, default: 0));
	CHECK("HDR-24", _Generic(POSIX_TRACE_OVERFLOW, trace_event_id_t: 1, default: 0));
	CHECK("HDR-24", _Generic(POSIX_TRACE_RESUME, trace_event_id_t: 1, default: 0));
	CHECK("HDR-24", _Generic(POSIX_TRACE_ERROR, trace_event_id_t: 1, default: 0));
	CHECK("HDR-25", _Generic(POSIX_TRACE_FILTER, trace_event_id_t: 1, default: 0));
	CHECK("HDR-26", _Generic(POSIX_TRACE_FLUSH_START, trace_event_id_t: 1, default: 0));
	CHECK("HDR-26", _Generic(POSIX_TRACE_FLUSH_STOP, trace_event_id_t: 1, default: 0));
	CHECK("HDR-27", _Generic(POSIX_TRACE_UNNAMED_USEREVENT, trace_event_id_t: 1, default: 0));
	CHECK_EQ("HDR-27", POSIX_TRACE_UNNAMED_USEREVENT, POSIX_TRACE_UNNAMED_USER_EVENT);
}

TEST(prototypes)
{
	CHECK_PROTOTYPE("HDR-29 HDR-34", posix_trace_attr_destroy, int, (trace_attr_t *));
	CHECK_PROTOTYPE("HDR-29 HDR-35", posix_trace_attr_getclockres, int, (const trace_attr_t *, struct timespec *));
	CHECK_PROTOTYPE("HDR-29 HDR-36", posix_trace_attr_getcreatetime, int,
	                (const trace_attr_t *, struct timespec *));
	CHECK_PROTOTYPE("HDR-29 HDR-37", posix_trace_attr_getgenversion, int, (const trace_attr_t *, char *));
	CHECK_PROTOTYPE("HDR-29 HDR-38", posix_trace_attr_getinherited, int,
	                (const trace_attr_t *restrict, int *restrict));
	CHECK_PROTOTYPE("HDR-29 HDR-39", posix_trace_attr_getlogfullpolicy, int,
	                (const trace_attr_t *restrict, int *restrict));
	CHECK_PROTOTYPE("HDR-29 HDR-40", posix_trace_attr_getlogsize, int,
	                (const trace_attr_t *restrict, size_t *restrict));
	CHECK_PROTOTYPE("HDR-29 HDR-41", posix_trace_attr_getmaxdatasize, int,
	                (const trace_attr_t *restrict, size_t *restrict));
	CHECK_PROTOTYPE("HDR-29 HDR-42", posix_trace_attr_getmaxsystemeventsize, int,
			(const trace_attr_t *restrict, size_t *restrict));
	CHECK_PROTOTYPE("HDR-29 HDR-43", posix_trace_attr_getmaxusereventsize, int,
			(const trace_attr_t *restrict, size_t, size_t *restrict));
	CHECK_PROTOTYPE("HDR-29 HDR-44", posix_trace_attr_getname, int, (const trace_attr_t *, char *));
	CHECK_PROTOTYPE("HDR-29 HDR-45", posix_trace_attr_getstreamfullpolicy, int,
			(const trace_attr_t *restrict, int *restrict));
	CHECK_PROTOTYPE("HDR-29 HDR-46", posix_trace_attr_getstreamsize, int,
	                (const trace_attr_t *restrict, size_t *restrict));
	CHECK_PROTOTYPE("HDR-29 HDR-47", posix_trace_attr_init, int, (trace_attr_t *));
	CHECK_PROTOTYPE("HDR-29 HDR-48", posix_trace_attr_setinherited, int, (trace_attr_t *, int));
	CHECK_PROTOTYPE("HDR-29 HDR-49", posix_trace_attr_setlogfullpolicy, int, (trace_attr_t *, int));
	CHECK_PROTOTYPE("HDR-29 HDR-50", posix_trace_attr_setlogsize, int, (trace_attr_t *, size_t));
	CHECK_PROTOTYPE("HDR-29 HDR-51", posix_trace_attr_setmaxdatasize, int, (trace_attr_t *, size_t));
	CHECK_PROTOTYPE("HDR-29 HDR-52", posix_trace_attr_setname, int, (trace_attr_t *, const char *));
	CHECK_PROTOTYPE("HDR-29 HDR-53", posix_trace_attr_setstreamfullpolicy, int, (trace_attr_t *, int));
	CHECK_PROTOTYPE("HDR-29 HDR-54", posix_trace_attr_setstreamsize, int, (trace_attr_t *, size_t));
	CHECK_PROTOTYPE("HDR-29 HDR-55", posix_trace_clear, int, (trace_id_t));
	CHECK_PROTOTYPE("HDR-29 HDR-56", posix_trace_close, int, (trace_id_t));
	CHECK_PROTOTYPE("HDR-29 HDR-57", posix_trace_create, int,
	                (pid_t, const trace_attr_t *restrict, trace_id_t *restrict));
	CHECK_PROTOTYPE("HDR-29 HDR-58", posix_trace_create_withlog, int,
			(pid_t, const trace_attr_t *restrict, int, trace_id_t *restrict));
	CHECK_PROTOTYPE("HDR-29 HDR-59", posix_trace_event, void, (trace_event_id_t, const void *restrict, size_t));
	CHECK_PROTOTYPE("HDR-29 HDR-60", posix_trace_eventid_equal, int,
	                (trace_id_t, trace_event_id_t, trace_event_id_t));
	CHECK_PROTOTYPE("HDR-29 HDR-61", posix_trace_eventid_get_name, int, (trace_id_t, trace_event_id_t, char *));
	CHECK_PROTOTYPE("HDR-29 HDR-62", posix_trace_eventid_open, int,
	                (const char *restrict, trace_event_id_t *restrict));
	CHECK_PROTOTYPE("HDR-29 HDR-63", posix_trace_eventset_add, int, (trace_event_id_t, trace_event_set_t *));
	CHECK_PROTOTYPE("HDR-29 HDR-64", posix_trace_eventset_del, int, (trace_event_id_t, trace_event_set_t *));
	CHECK_PROTOTYPE("HDR-29 HDR-65", posix_trace_eventset_empty, int, (trace_event_set_t *));
	CHECK_PROTOTYPE("HDR-29 HDR-66", posix_trace_eventset_fill, int, (trace_event_set_t *, int));
	CHECK_PROTOTYPE("HDR-29 HDR-67", posix_trace_eventset_ismember, int,
			(trace_event_id_t, const trace_event_set_t *restrict, int *restrict));
	CHECK_PROTOTYPE("HDR-29 HDR-68", posix_trace_eventtypelist_getnext_id, int,
			(trace_id_t, trace_event_id_t *restrict, int *restrict));
	CHECK_PROTOTYPE("HDR-29 HDR-69", posix_trace_eventtypelist_rewind, int, (trace_id_t));
	CHECK_PROTOTYPE("HDR-29 HDR-70", posix_trace_flush, int, (trace_id_t));
	CHECK_PROTOTYPE("HDR-29 HDR-71", posix_trace_get_attr, int, (trace_id_t, trace_attr_t *));
	CHECK_PROTOTYPE("HDR-29 HDR-72", posix_trace_get_filter, int, (trace_id_t, trace_event_set_t *));
	CHECK_PROTOTYPE("HDR-29 HDR-73", posix_trace_get_status, int, (trace_id_t, struct posix_trace_status_info *));
	CHECK_PROTOTYPE("HDR-29 HDR-74", posix_trace_getnext_event, int,
			(trace_id_t, struct posix_trace_event_info *restrict, void *restrict, size_t,
			 size_t *restrict, int *restrict));
	CHECK_PROTOTYPE("HDR-29 HDR-75", posix_trace_open, int, (int, trace_id_t *));
	CHECK_PROTOTYPE("HDR-29 HDR-76", posix_trace_rewind, int, (trace_id_t));
	CHECK_PROTOTYPE("HDR-29 HDR-77", posix_trace_set_filter, int, (trace_id_t, const trace_event_set_t *, int));
	CHECK_PROTOTYPE("HDR-29 HDR-78", posix_trace_shutdown, int, (trace_id_t));
	CHECK_PROTOTYPE("HDR-29 HDR-79", posix_trace_start, int, (trace_id_t));
	CHECK_PROTOTYPE("HDR-29 HDR-80", posix_trace_stop, int, (trace_id_t));
	CHECK_PROTOTYPE("HDR-29 HDR-81", posix_trace_timedgetnext_event, int,
			(trace_id_t, struct posix_trace_event_info *restrict, void *restrict, size_t,
			 size_t *restrict, int *restrict, const struct timespec *restrict));
	CHECK_PROTOTYPE("HDR-29 HDR-82", posix_trace_trid_eventid_open, int,
			(trace_id_t, const char *restrict, trace_event_id_t *restrict));
	CHECK_PROTOTYPE("HDR-29 HDR-83", posix_trace_trygetnext_event, int,
			(trace_id_t, struct posix_trace_event_info *restrict, void *restrict, size_t,
			 size_t *restrict, int *restrict));
}

struct pair {
	int a, b;
};

static int evaluations[3];

static trace_event_id_t count_id(trace_event_id_t id)
{
	evaluations[0]++;
	return id;
}

static const void *count_data(const void *data)
{
	evaluations[1]++;
	return data;
}

static size_t count_length(size_t length)
{
	evaluations[2]++;
	return length;
}

static void check_evaluations(trace_event_id_t id, int line)
{
	static const int number = 5;

	memset(evaluations, 0, sizeof evaluations);
	posix_trace_event(count_id(id), count_data(&number), count_length(sizeof number));
	for (int i = 0; i < 3; i++)
		if (evaluations[i] != 1)
			TEST_FAIL("HDR-31", "argument %d evaluated %d times, called from line %d", i + 1,
			          evaluations[i], line);
}

TEST(single_evaluation)
{
	trace_event_id_t id = stream_id("header.evaluation"), other = stream_id("header.filtered");
	trace_event_set_t filter;
	trace_id_t trid;

	CHECK_EQ("HDR-30", EVENT_IS_A_MACRO, 1);
	check_evaluations(id, __LINE__); /* without a stream */
	trid = stream_create(NULL);
	check_evaluations(id, __LINE__); /* suspended */
	MUST(posix_trace_eventset_empty(&filter) == 0);
	MUST(posix_trace_eventset_add(other, &filter) == 0);
	MUST(posix_trace_set_filter(trid, &filter, POSIX_TRACE_SET_EVENTSET) == 0);
	MUST(posix_trace_start(trid) == 0);
	check_evaluations(id, __LINE__);    /* recorded */
	check_evaluations(other, __LINE__); /* filtered out */
	check_evaluations(0, __LINE__);     /* not an event type */
	CHECK_EQ("HDR-31", stream_count(trid, id), 1);
	stream_end(trid);
	check_evaluations(id, __LINE__);
}

/* The macro can be used wherever a call of a void function can. */
TEST(form_of_the_macro)
{
	trace_event_id_t id = stream_id("header.form");
	trace_id_t trid = stream_running(NULL);
	struct stream_event e;
	int after = 0;

	posix_trace_event(id, &(struct pair){ 1, 2 }, sizeof(struct pair));
	stream_expect(trid, id, &e);
	CHECK_EQ("HDR-31", e.len, sizeof(struct pair));
	CHECK_EQ("HDR-31", ((struct pair *)(void *)e.data)->a, 1);
	CHECK_EQ("HDR-31", ((struct pair *)(void *)e.data)->b, 2);

	posix_trace_event(id, ((int[]){ 3, 4, 5 }), 3 * sizeof(int));
	stream_expect(trid, id, &e);
	CHECK_EQ("HDR-31", e.len, 3 * sizeof(int));
	CHECK_EQ("HDR-31", ((int *)(void *)e.data)[2], 5);

	after = (posix_trace_event(id, NULL, 0), 7);
	CHECK_EQ("HDR-31", after, 7);
	after ? posix_trace_event(id, NULL, 0) : (void)0;
	if (after)
		posix_trace_event(id, NULL, 0);
	else
		posix_trace_event(0, NULL, 0);
	for (posix_trace_event(id, NULL, 0); after; posix_trace_event(id, NULL, 0))
		after = 0;
	(void)posix_trace_event(id, NULL, 0);
	CHECK_EQ("HDR-31", stream_count(trid, id), 6);
	stream_end(trid);
}

/* The function behind the macro does the same. */
TEST(real_function)
{
	void (*volatile event)(trace_event_id_t, const void *, size_t) = posix_trace_event;
	trace_event_id_t id = stream_id("header.function");
	trace_id_t trid = stream_running(NULL);
	struct stream_event e;

	event(id, "abc", 3);
	stream_expect(trid, id, &e);
	CHECK_EQ("HDR-29", e.len, 3);
	CHECK_EQ("HDR-29", memcmp(e.data, "abc", 3), 0);
	(posix_trace_event)(id, "de", 2);
	stream_expect(trid, id, &e);
	CHECK_EQ("HDR-29", e.len, 2);
#undef posix_trace_event
	posix_trace_event(id, "f", 1);
	stream_expect(trid, id, &e);
	CHECK_EQ("HDR-29", e.len, 1);
	stream_end(trid);
}

/* The error number is returned, and errno is never set to 0. */
#define CHECK_RETURNS(call, result)                                                          \
	do {                                                                                 \
		errno = E2BIG;                                                               \
		CHECK_EQ("HDR-33", call, result);                                            \
		CHECK_NE("HDR-33", errno, 0);                                                \
	} while (0)

TEST(errors_are_returned)
{
	trace_id_t trid = stream_create(NULL), gone = stream_create(NULL), new;
	trace_event_id_t id;
	trace_event_set_t set;
	trace_attr_t attr;
	struct posix_trace_status_info status;
	struct stream_event e;
	char long_name[TRACE_EVENT_NAME_MAX + 2], name[TRACE_EVENT_NAME_MAX + 1];
	int unavailable;

	stream_end(gone);
	memset(long_name, 'x', sizeof long_name);
	long_name[sizeof long_name - 1] = '\0';
	MUST(posix_trace_attr_init(&attr) == 0);

	CHECK_RETURNS(posix_trace_attr_setinherited(&attr, -1), EINVAL);
	CHECK_RETURNS(posix_trace_attr_setinherited(&attr, POSIX_TRACE_INHERITED), 0);
	CHECK_RETURNS(posix_trace_create((pid_t)-5, NULL, &new), ESRCH);
	CHECK_RETURNS(posix_trace_clear(gone), EINVAL);
	CHECK_RETURNS(posix_trace_close(trid), EINVAL);
	CHECK_RETURNS(posix_trace_eventid_get_name(gone, POSIX_TRACE_START, name), EINVAL);
	CHECK_RETURNS(posix_trace_eventid_open(long_name, &id), ENAMETOOLONG);
	CHECK_RETURNS(posix_trace_eventid_open("header.errors", &id), 0);
	CHECK_RETURNS(posix_trace_eventset_empty(&set), 0);
	CHECK_RETURNS(posix_trace_eventset_fill(&set, -1), EINVAL);
	CHECK_RETURNS(posix_trace_eventtypelist_getnext_id(gone, &id, &unavailable), EINVAL);
	CHECK_RETURNS(posix_trace_eventtypelist_rewind(gone), EINVAL);
	CHECK_RETURNS(posix_trace_flush(trid), EINVAL);
	CHECK_RETURNS(posix_trace_get_attr(gone, &attr), EINVAL);
	CHECK_RETURNS(posix_trace_get_filter(gone, &set), EINVAL);
	CHECK_RETURNS(posix_trace_get_status(gone, &status), EINVAL);
	CHECK_RETURNS(posix_trace_getnext_event(gone, &e.info, e.data, sizeof e.data, &e.len, &unavailable), EINVAL);
	CHECK_RETURNS(posix_trace_trygetnext_event(trid, &e.info, e.data, sizeof e.data, &e.len, &unavailable), 0);
	CHECK_RETURNS(posix_trace_timedgetnext_event(trid, &e.info, e.data, sizeof e.data, &e.len, &unavailable,
						     &(struct timespec){ 1, 0 }), ETIMEDOUT);
	CHECK_RETURNS(posix_trace_rewind(trid), EINVAL);
	CHECK_RETURNS(posix_trace_set_filter(trid, &set, -1), EINVAL);
	CHECK_RETURNS(posix_trace_shutdown(gone), EINVAL);
	CHECK_RETURNS(posix_trace_start(gone), EINVAL);
	CHECK_RETURNS(posix_trace_stop(gone), EINVAL);
	CHECK_RETURNS(posix_trace_trid_eventid_open(gone, "a", &id), EINVAL);
	stream_end(trid);
}

TEST_MAIN(TEST_ENTRY(types), TEST_ENTRY(copies), TEST_ENTRY(event_info), TEST_ENTRY(status_info),
          TEST_ENTRY(constants), TEST_ENTRY(distinct_values), TEST_ENTRY(event_id_types), TEST_ENTRY(prototypes),
          TEST_ENTRY(single_evaluation), TEST_ENTRY(form_of_the_macro), TEST_ENTRY(real_function),
          TEST_ENTRY(errors_are_returned))
