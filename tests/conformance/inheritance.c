/*
 * inheritance.c - children of a traced process: in the same stream, or in none
 *
 * Whichever way they come about, and to any depth. inheritance_life.c has what becomes of the stream while they live
 * and end. What becomes of a traced process that executes another file, and of children whose controller ends, is in
 * ends.c; a process that forks while it traces itself, in fork.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include "birth.h"

/* -- A child is traced, or not ------------------------------------------------- */

/* In each way, from a parent that is recording. */
static void each_way(int kind)
{
	struct target t = target_make(kind);
	trace_id_t trid = inherited(t.pid), single = closed(t.pid);
	trace_event_id_t id = target_id(&t, "way");

	CHECK_TRACED("INH-1", trid, &t, id);
	stream_drain(single);
	for (int way = 0; way < WAYS; way++) {
		struct target child = born(&t, way);

		CHECK_NE("INH-6", child.pid, t.pid);
		if (ways[way].flags & MEMORY) {
			CHECK_TRACED("INH-1 INH-2 INH-6 INH-10 OBJ-8", trid, &child, id);
		} else {
			CHECK_TRACED("INH-1 INH-9 INH-6 OBJ-8 OBJ-9", trid, &child, NO_ID);
			CHECK_EQ("INH-9 EVT-18 EVT-23", target_id(&child, "way"), id);
			CHECK_TRACED("INH-1 INH-9 INH-6", trid, &child, id);
		}
		CHECK_EQ("INH-3 INH-4 OBJ-8", stream_drain(single), 0);
		reaped(&t, way, &child);
		CHECK_TRACED("INH-1 INH-3 INH-16", trid, &t, id);
		CHECK_TRACED("INH-3 INH-4", single, &t, id);
		CHECK_EQ("INH-1", stream_drain(trid), 3);
		stream_drain(trid);
		stream_drain(single);
		CHECK_LOST("-", lost_events(trid), ==, 0);
		say(way, kind);
	}
	stream_end(single);
	stream_end(trid);
	target_end(&t);
}

TEST(ways)
{
	for EACH_KIND(kind)
		each_way(kind);
}

TEST(ways_as_user)
{
	target_become(65534, 65534);
	if (access(target_path(), X_OK) != 0)
		SKIP("this program lies where another user may not execute it");
	for EACH_KIND(kind)
		each_way(kind);
}

/* The parent has not reached a trace point since the stream exists, or never has. */
static void of_unaware_parent(void)
{
	for EACH_KIND(kind)
	for (int way = 0; way < WAYS; way++) {
		struct target t = target_make(kind), child;
		trace_id_t single = closed(t.pid), trid = inherited(t.pid);
		trace_event_id_t id;

		child = born(&t, way);
		CHECK_TRACED("INH-1 INH-5 INH-9 MODEL-32", trid, &child, NO_ID);
		id = target_id(&child, "unaware");
		CHECK_TRACED("INH-1 INH-9 INH-6", trid, &child, id);
		reaped(&t, way, &child);
		CHECK_TRACED("INH-1", single, &t, NO_ID);
		CHECK_EQ("INH-1", stream_count(trid, NO_ID), 3);
		CHECK_EQ("EVT-18 EVT-23", target_id(&t, "unaware"), id);
		CHECK_EQ("INH-3 INH-4", stream_drain(single), 0);
		stream_end(single);
		stream_end(trid);
		target_end(&t);
		say(way, kind);
	}
}

TEST(unaware_parent)
{
	of_unaware_parent();
}

/* This process uses the library, has nothing to pass on, and is an ancestor of the parent. */
TEST(unaware_parent_between)
{
	stream_id("between");
	of_unaware_parent();
}

/*
 * A stream that is closed for children, which is the default: nothing of the child is recorded, however the child is
 * made, even if the parent has not noticed the stream.
 */
TEST(closed_for_children)
{
	for EACH_KIND(kind)
	for (int explicitly = 0; explicitly < 2; explicitly++) {
		struct target t = target_make(kind);
		trace_id_t trid = explicitly ? closed(t.pid) : stream_running_for(t.pid, NULL);
		trace_event_id_t id = 0;

		for (int way = 0; way < WAYS; way++) {
			struct target child = born(&t, way);

			CHECK_NOT_TRACED("INH-3 INH-9 OBJ-8", trid, &child, NO_ID);
			if (id && (ways[way].flags & MEMORY))
				CHECK_NOT_TRACED("INH-3", trid, &child, id);
			CHECK_NOT_TRACED("INH-3 INH-9", trid, &child, target_id(&child, "closed"));
			reaped(&t, way, &child);
			id = target_id(&t, "closed");
			CHECK_TRACED("INH-3", trid, &t, id);
			CHECK_LOST("INH-3", lost_events(trid), ==, 0);
			say(way, kind);
		}
		stream_end(trid);
		target_end(&t);
	}
}

/* A child that is not traced has its parent's ids nevertheless. */
TEST(copied_names)
{
	for EACH_KIND(kind)
	for (int way = 0; way < WAYS; way++) {
		struct target t = target_make(kind), child;
		trace_id_t trid = closed(t.pid), of_child;
		trace_event_id_t id = target_id(&t, "copied"), mine, theirs;
		char name[TRACE_EVENT_NAME_MAX + 1];

		if (!(ways[way].flags & MEMORY))
			continue;
		child = born(&t, way);
		of_child = closed(child.pid);
		CHECK_TRACED("INH-10 CREATE-1", of_child, &child, id);
		CHECK_EQ("INH-10", target_id(&child, "copied"), id);
		CHECK_EQ("INH-10 CREATE-26", posix_trace_eventid_get_name(of_child, id, name), 0);
		CHECK_STR("INH-10 CREATE-26", name, "copied");
		/* Names opened from now on are separate. */
		theirs = target_id(&child, "of the child");
		mine = target_id(&t, "of the parent");
		CHECK_EQ("MODEL-14 MODEL-15", posix_trace_eventid_get_name(trid, mine, name), 0);
		CHECK_STR("MODEL-14 MODEL-15", name, "of the parent");
		CHECK_EQ("MODEL-14 MODEL-15", posix_trace_eventid_get_name(of_child, theirs, name), 0);
		CHECK_STR("MODEL-14 MODEL-15", name, "of the child");
		CHECK_TRACED("MODEL-7", of_child, &child, theirs);
		CHECK_EQ("INH-3", stream_drain(trid), 0);
		CHECK_TRACED("MODEL-7", trid, &t, mine);
		CHECK_EQ("INH-3", stream_drain(of_child), 0);
		stream_end(of_child);
		stream_end(trid);
		reaped(&t, way, &child);
		target_end(&t);
		say(way, kind);
	}
}

/* Each stream is inherited or not by its own attribute, and each member of the family may have streams of its own. */
TEST(each_stream_for_itself)
{
	for EACH_KIND(kind)
	for (int way = FORK; way <= SPAWN; way += way == FORK ? SPAWN : 1) {
		struct target t = target_make(kind), child, grandchild, late;
		trace_id_t both = inherited(t.pid), parent = closed(t.pid), below, last;
		trace_event_id_t id;

		child = born(&t, way);
		below = inherited(child.pid);
		grandchild = born(&child, way);
		last = closed(grandchild.pid);
		id = target_id(&grandchild, "stream");
		MUST(target_id(&child, "stream") == id && target_id(&t, "stream") == id);
		CHECK_EQ("-", stream_drain(both) + stream_drain(parent) + stream_drain(below) + stream_drain(last), 0);
		target_send(&grandchild, id, 3, 0, 3);
		target_send(&child, id, 2, 0, 3);
		target_send(&t, id, 1, 0, 3);
		EXPECT_NUMBERS("INH-4 INH-5", both, id, grandchild.pid, 3, 0, 3);
		EXPECT_NUMBERS("INH-4 INH-1", both, id, child.pid, 2, 0, 3);
		EXPECT_NUMBERS("INH-4 INH-1", both, id, t.pid, 1, 0, 3);
		EXPECT_NUMBERS("INH-4 INH-3", parent, id, t.pid, 1, 0, 3);
		EXPECT_NUMBERS("INH-4 INH-5", below, id, grandchild.pid, 3, 0, 3);
		EXPECT_NUMBERS("INH-4 INH-1", below, id, child.pid, 2, 0, 3);
		EXPECT_NUMBERS("INH-4 INH-3", last, id, grandchild.pid, 3, 0, 3);
		CHECK_EQ("INH-4", stream_drain(both) + stream_drain(parent) + stream_drain(below) + stream_drain(last),
		         0);
		/* One of the streams ends. */
		stream_end(both);
		late = born(&t, way);
		target_send(&late, id, 4, 0, 3);
		target_send(&grandchild, id, 3, 3, 3);
		target_send(&t, id, 1, 3, 3);
		EXPECT_NUMBERS("INH-4", below, id, grandchild.pid, 3, 3, 3);
		EXPECT_NUMBERS("INH-4", last, id, grandchild.pid, 3, 3, 3);
		EXPECT_NUMBERS("INH-4", parent, id, t.pid, 1, 3, 3);
		CHECK_EQ("INH-4 INH-3", stream_drain(parent) + stream_drain(below) + stream_drain(last), 0);
		reaped(&t, way, &late);
		reaped(&child, way, &grandchild);
		reaped(&t, way, &child);
		stream_end(parent);
		stream_end(below);
		stream_end(last);
		target_end(&t);
		say(way, kind);
	}
}

/* Existing children are not traced, nor are their children, however shortly before the stream they began. */
TEST(existing_children)
{
	for EACH_KIND(kind)
	for (int way = 0; way < WAYS; way++)
	for (int late = 0; late < 2; late++) {
		struct target t, old, young, grandchild;
		trace_id_t trid;
		int again;

		if (ways[way].flags & BLOCKS)
			continue;
		t = target_make(kind);
		old = born(&t, way);
		trid = inherited(t.pid);
		if (late) /* whichever process reaches a trace point first */
			CHECK_NOT_TRACED("INH-5", trid, &old, NO_ID);
		young = born(&t, way);
		CHECK_TRACED("INH-1 INH-5", trid, &young, NO_ID);
		if (!late)
			CHECK_NOT_TRACED("INH-5", trid, &old, NO_ID);
		/*
		 * A child of fork() in a thread should not make threads, and a child in a signal handler does not wait
		 * for signals.
		 */
		again = way == THREAD ? FORK : way == HANDLER ? UNDERSCORE_FORK : way;
		grandchild = born(&old, again);
		CHECK_NOT_TRACED("INH-5", trid, &grandchild, NO_ID);
		CHECK_TRACED("INH-1", trid, &t, NO_ID);
		CHECK_NOT_TRACED("INH-5", trid, &old, NO_ID);
		if (ways[again].flags & OURS)
			reaped(&t, again, &grandchild); /* their parent is the parent of t's child */
		else
			reaped(&old, again, &grandchild);
		reaped(&t, way, &young);
		reaped(&t, way, &old);
		stream_end(trid);
		target_end(&t);
		say(way, kind);
	}
}

/*
 * A process in between had an inherited stream of its own, and both have ended. Its descendant that has not reached a
 * trace point yet is traced like the others.
 */
TEST(stream_between)
{
	for (int first = 0; first < 2; first++) {
		struct target t = target_make(USED), between, child;
		trace_id_t outer, inner;
		pid_t pid;

		outer = inherited(t.pid);
		between = born(&t, EXEC);
		pid = between.pid;
		CHECK_TRACED("INH-1", outer, &between, NO_ID);
		inner = inherited(pid);
		child = born(&between, DOUBLE_EXEC);
		if (first)
			stream_end(inner);
		reaped(&t, EXEC, &between);
		if (!first)
			stream_end(inner);
		CHECK_TRACED("INH-1 INH-9", outer, &child, NO_ID);
		reaped(NULL, DOUBLE_EXEC, &child);
		stream_end(outer);
		/* Afterwards no file of the process is left. A removal gives up if another process holds the lock. */
		for (int i = 0; i == 0 || (i < 50 && shm_files_of(pid, "page") > 0); i++)
			stream_end(closed(t.pid));
		CHECK_FILES("INH-14", shm_files_of(pid, "page"), ==, 0);
		target_end(&t);
	}
}

/* A chain of children, made in each way in turn. */
#define DEPTH 20

TEST(depth)
{
	for (int aware = 0; aware < 2; aware++) {
		struct target line[DEPTH + 1];
		int way[DEPTH];
		trace_id_t trid;
		trace_event_id_t id;

		line[0] = target_make(aware ? USED : FRESH);
		trid = inherited(line[0].pid);
		for (int i = 0; i < DEPTH; i++) {
			way[i] = (int[]){ FORK, SPAWN, CLONE, EXEC, UNDERSCORE_FORK, VFORK, THREAD }[i % 7];
			if (aware)
				CHECK_TRACED("INH-5", trid, &line[i], NO_ID);
			line[i + 1] = born(&line[i], way[i]);
		}
		for (int i = DEPTH; i >= 0; i--)
			CHECK_TRACED("INH-1 INH-5 INH-6", trid, &line[i], NO_ID);
		id = target_id(&line[DEPTH], "depth");
		CHECK_EQ("INH-2 EVT-23", target_id(&line[0], "depth"), id);
		CHECK_EQ("INH-2 EVT-23", target_id(&line[DEPTH / 2], "depth"), id);
		CHECK_TRACED("INH-5", trid, &line[DEPTH], id);
		for (int i = DEPTH; i-- > 0;)
			reaped(&line[i], way[i], &line[i + 1]);
		CHECK_TRACED("INH-5 INH-16", trid, &line[0], id);
		stream_end(trid);
		target_end(&line[0]);
	}
}

/* A process traces itself and its children. */
TEST(own_stream)
{
	trace_id_t trid = inherited(0), single = closed(0);
	trace_event_id_t id = stream_id("own"), theirs;
	char name[TRACE_EVENT_NAME_MAX + 1];

	for (int way = 0; way < WAYS; way++) {
		struct target child;

		if (ways[way].flags & BLOCKS)
			continue;
		child = born(NULL, way);
		if (ways[way].flags & MEMORY)
			CHECK_TRACED("INH-1 INH-2 INH-6", trid, &child, id);
		CHECK_TRACED("INH-1 INH-9", trid, &child, NO_ID);
		snprintf(name, sizeof name, "own.%d", way);
		theirs = target_id(&child, name);
		CHECK_TRACED("INH-1 INH-9", trid, &child, theirs);
		CHECK_EQ("INH-2 EVT-23", stream_id(name), theirs);
		number_send(id, 1, (unsigned)way);
		EXPECT_NUMBERS("INH-4", single, id, getpid(), 1, (unsigned)way, 1);
		EXPECT_NUMBERS("INH-1", trid, id, getpid(), 1, (unsigned)way, 1);
		CHECK_EQ("INH-3 INH-4", stream_drain(single), 0);
		reaped(NULL, way, &child);
		say(way, 0);
	}
	stream_end(single);
	stream_end(trid);
}

/* -- Names --------------------------------------------------------------------- */

/* The whole family shares one mapping of names, whichever member opens a name first. */
TEST(names_of_a_family)
{
	for EACH_KIND(kind) {
		static const int way[] = { FORK, SPAWN, EXEC, CLONE };
		struct target member[6];
		trace_id_t trid, second;
		trace_event_id_t id[7], old;
		char name[TRACE_EVENT_NAME_MAX + 1];
		struct ids seen = { .n = 0 };

		member[0] = target_make(kind);
		old = target_id(&member[0], "family.old");
		trid = inherited(member[0].pid);
		if (kind == USED) /* otherwise it notices the stream through its children */
			CHECK_TRACED("INH-1", trid, &member[0], old);
		for (int i = 0; i < 4; i++)
			member[i + 1] = born(&member[0], way[i]);
		member[5] = born(&member[2], FORK);
		second = closed(member[3].pid);
		/* Each member opens one name first. */
		for (int i = 0; i < 6; i++) {
			snprintf(name, sizeof name, "family.%d", i);
			id[i] = target_id(&member[i], name);
		}
		id[6] = stream_id_there(trid, "family.6");
		for (int i = 0; i < 7; i++) {
			MUST(id[i] != NO_ID);
			CHECK_EQ("EVT-18 ID-17 MODEL-12", ids_add(&seen, id[i]), 0);
			snprintf(name, sizeof name, "family.%d", i);
			for (int j = 0; j < 6; j++)
				CHECK_EQ("EVT-18 EVT-19 EVT-23 ID-17 ID-18", target_id(&member[j], name), id[i]);
			CHECK_EQ("ID-17 ID-18", stream_id_there(trid, name), id[i]);
			CHECK_EQ("ID-17 ID-24", stream_id_there(second, name), id[i]);
		}
		CHECK_EQ("EVT-18", ids_times(&seen, old), 0);
		for (int j = 0; j < 6; j++)
			CHECK_EQ("INH-2 EVT-23", target_id(&member[j], "family.old"), old);
		/* The events have these names. */
		for (int j = 0; j < 6; j++) {
			CHECK_TRACED("EVT-23", trid, &member[j], id[5 - j]);
			MUST(posix_trace_eventid_get_name(trid, id[5 - j], name) == 0);
			CHECK_EQ("EVT-23 MODEL-15", name[7], '0' + 5 - j);
		}
		{
			int unavailable, count = 0;
			trace_event_id_t next;

			for (;;) {
				MUST(posix_trace_eventtypelist_getnext_id(trid, &next, &unavailable) == 0);
				if (unavailable)
					break;
				MUST(posix_trace_eventid_get_name(trid, next, name) == 0);
				count += strncmp(name, "family.", 7) == 0;
			}
			CHECK_EQ("MODEL-15 ID-29", count, 8);
		}
		stream_end(second);
		stream_end(trid);
		reaped(&member[2], FORK, &member[5]);
		for (int i = 1; i < 5; i++)
			reaped(&member[0], way[i - 1], &member[i]);
		target_end(&member[0]);
	}
}

/* All members open the same names at the same time. */
#define MANY (TRACE_USER_EVENT_MAX > 250 ? 200 : TRACE_USER_EVENT_MAX - 8)

static long long open_many_task(const void *step)
{
	unsigned i = 0, s;
	char name[32];

	memcpy(&s, step, sizeof s);
	for (unsigned n = 0; n < MANY; n++, i = (i + s) % MANY) {
		snprintf(name, sizeof name, "many.%u", i);
		stream_id(name);
	}
	return 0;
}

TEST(names_at_the_same_time)
{
	struct target t = target_make(USED), child[4];
	static const int way[] = { FORK, SPAWN, CLONE, EXEC };
	trace_id_t trid = inherited(t.pid);
	static struct ids seen;

	CHECK_TRACED("INH-1", trid, &t, NO_ID);
	for (int i = 0; i < 4; i++)
		child[i] = born(&t, way[i]);
	for (int i = 0; i < 4; i++) {
		unsigned step = (unsigned[]){ 1, MANY - 1, 7, 13 }[i];

		target_tell(&child[i], open_many_task, &step, sizeof step);
	}
	for (int i = 0; i < 4; i++)
		target_result(&child[i]);
	for (unsigned n = 0; n < MANY; n++) {
		trace_event_id_t id;
		char name[32];

		snprintf(name, sizeof name, "many.%u", n);
		id = target_id(&t, name);
		MUST(id != NO_ID);
		CHECK_EQ("EVT-18 MODEL-12", ids_add(&seen, id), 0);
		for (int i = 0; i < 4; i++)
			CHECK_EQ("EVT-18 EVT-19 EVT-23", target_id(&child[i], name), id);
		CHECK_EQ("ID-17", stream_id_there(trid, name), id);
	}
	for (int i = 0; i < 4; i++)
		reaped(&t, way[i], &child[i]);
	stream_end(trid);
	target_end(&t);
}

struct own_names {
	int sibling, count;
};

static long long own_names_task(const void *arg)
{
	struct own_names own;
	int named = 0;
	char name[32];

	memcpy(&own, arg, sizeof own);
	for (int i = 0; i < own.count; i++) {
		snprintf(name, sizeof name, "sibling.%d.%d", own.sibling, i);
		named += stream_id(name) != NO_ID;
	}
	return named;
}

/* Three siblings open many types each, as programs with different libraries do: all types have a name. */
TEST(names_of_siblings)
{
	struct target t = target_make(FRESH), child[3];
	trace_id_t trid = inherited(t.pid);
	struct own_names own = { 0, TRACE_USER_EVENT_MAX > 2000 ? 1200 : (TRACE_USER_EVENT_MAX - 1) / 3 };

	for (int i = 0; i < 3; i++)
		child[i] = born(&t, i == 1 ? SPAWN : FORK);
	for (own.sibling = 0; own.sibling < 3; own.sibling++)
		CHECK_EQ("EVT-16 EVT-18 LIM-4", target_do(&child[own.sibling], own_names_task, &own, sizeof own),
		         own.count);
	stream_end(trid);
	for (int i = 0; i < 3; i++)
		reaped(&t, i == 1 ? SPAWN : FORK, &child[i]);
	target_end(&t);
}

/* A family has no more names than the limit, and a name beyond it is refused in all members. */
TEST(name_limit)
{
	struct target t = target_make(FRESH), child[2];
	trace_id_t trid = inherited(t.pid);
	trace_event_id_t id;
	unsigned n;
	char name[32];

	child[0] = born(&t, FORK);
	child[1] = born(&t, SPAWN);
	for (n = 0; n < TRACE_USER_EVENT_MAX + 10; n++) {
		snprintf(name, sizeof name, "limit.%u", n);
		id = target_id(n % 3 == 2 ? &t : &child[n % 3], name);
		if (id == NO_ID)
			break;
	}
	CHECK_EQ("EVT-16 EVT-23 LIM-4", n, TRACE_USER_EVENT_MAX - 1);
	CHECK_EQ("EVT-20", target_id(&t, name), NO_ID);
	CHECK_EQ("EVT-20", target_id(&child[0], name), NO_ID);
	CHECK_EQ("EVT-20", target_id(&child[1], name), NO_ID);
	CHECK_EQ("EVT-20 ID-19", stream_id_there(trid, name), NO_ID);
	for (n = 0; n < 6; n++) {
		snprintf(name, sizeof name, "limit.%u", n);
		id = stream_id_there(trid, name);
		CHECK_NE("EVT-19", id, NO_ID);
		CHECK_EQ("EVT-19 EVT-23", target_id(&t, name), id);
		CHECK_EQ("EVT-19 EVT-23", target_id(&child[0], name), id);
		CHECK_EQ("EVT-19 EVT-23", target_id(&child[1], name), id);
	}
	stream_end(trid);
	reaped(&t, FORK, &child[0]);
	reaped(&t, SPAWN, &child[1]);
	target_end(&t);
}

/* -- The origin of an event ----------------------------------------------------------- */

static long long tid_task(const void *arg)
{
	return syscall(SYS_gettid);
}

static void *send_in_thread(void *arg)
{
	target_send_task(arg);
	return NULL;
}

static long long send_in_thread_task(const void *arg)
{
	pthread_t thread;

	MUST(pthread_create(&thread, NULL, send_in_thread, (void *)(uintptr_t)arg) == 0);
	MUST(pthread_join(thread, NULL) == 0);
	return (long long)(uintptr_t)thread;
}

TEST(origin)
{
	struct target t = target_make(USED);
	trace_id_t trid = inherited(t.pid);
	static const int way[] = { FORK, UNDERSCORE_FORK, CLONE, EXEC, SPAWN };

	CHECK_TRACED("INH-1", trid, &t, NO_ID);
	for (int i = 0; i < 5; i++) {
		struct target child = born(&t, way[i]);
		struct target_numbers one = { NO_ID, 0, 0, 1 };
		struct stream_event e;
		long long thread;

		target_send(&child, NO_ID, 0, 0, 1);
		stream_expect(trid, NO_ID, &e);
		CHECK_EQ("INH-6 EVT-6", e.info.posix_pid, child.pid);
		CHECK_TID("INH-6 HDR-12", &e.info, ==, target_do(&child, tid_task, NULL, 0));
		CHECK_EQ("EVT-7", (uintptr_t)e.info.posix_thread_id,
		         (uintptr_t)target_do(&child, target_pthread, NULL, 0));
		if (way[i] == FORK || way[i] == EXEC || way[i] == SPAWN) { /* the others must not have threads */
			thread = target_do(&child, send_in_thread_task, &one, sizeof one);
			stream_expect(trid, NO_ID, &e);
			CHECK_EQ("INH-6 EVT-6", e.info.posix_pid, child.pid);
			CHECK_TID("HDR-12", &e.info, !=, child.pid);
			CHECK_EQ("EVT-7", (uintptr_t)e.info.posix_thread_id, (uintptr_t)thread);
		}
		reaped(&t, way[i], &child);
	}
	stream_end(trid);
	target_end(&t);
}

/* -- Control ------------------------------------------------------------------------ */

/* Uses the identifier in every function, in a child of the creator. */
static long long use_identifier_task(const void *arg)
{
	struct posix_trace_status_info s;
	struct posix_trace_event_info e;
	struct timespec soon = now_plus_ms(1000);
	trace_event_set_t set = set_of(NO_ID);
	trace_event_id_t id;
	trace_attr_t attr;
	trace_id_t trid;
	char name[TRACE_EVENT_NAME_MAX + 1];
	size_t len;
	int unavailable;

	memcpy(&trid, arg, sizeof trid);
	CHECK_EQ("CREATE-15 INH-8", posix_trace_start(trid), EINVAL);
	CHECK_EQ("CREATE-15 INH-8", posix_trace_stop(trid), EINVAL);
	CHECK_EQ("CREATE-15 INH-8", posix_trace_clear(trid), EINVAL);
	CHECK_EQ("CREATE-15 INH-8", posix_trace_flush(trid), EINVAL);
	CHECK_EQ("CREATE-15 INH-8", posix_trace_get_attr(trid, &attr), EINVAL);
	CHECK_EQ("CREATE-15 INH-8", posix_trace_get_status(trid, &s), EINVAL);
	CHECK_EQ("CREATE-15 INH-8", posix_trace_get_filter(trid, &set), EINVAL);
	CHECK_EQ("CREATE-15 INH-8", posix_trace_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET), EINVAL);
	CHECK_EQ("CREATE-15 INH-8", posix_trace_trid_eventid_open(trid, "name", &id), EINVAL);
	CHECK_EQ("CREATE-15 INH-8", posix_trace_eventid_get_name(trid, POSIX_TRACE_START, name), EINVAL);
	CHECK_EQ("CREATE-15 INH-8", posix_trace_eventtypelist_getnext_id(trid, &id, &unavailable), EINVAL);
	CHECK_EQ("CREATE-15 INH-8", posix_trace_eventtypelist_rewind(trid), EINVAL);
	CHECK_EQ("CREATE-15 INH-8", posix_trace_getnext_event(trid, &e, NULL, 0, &len, &unavailable), EINVAL);
	CHECK_EQ("CREATE-15 INH-8", posix_trace_timedgetnext_event(trid, &e, NULL, 0, &len, &unavailable, &soon),
	         EINVAL);
	CHECK_EQ("CREATE-15 INH-8", posix_trace_trygetnext_event(trid, &e, NULL, 0, &len, &unavailable), EINVAL);
	CHECK_EQ("CREATE-15 INH-8", posix_trace_shutdown(trid), EINVAL);
	return 0;
}

TEST(child_does_not_control)
{
	trace_id_t trid = inherited(0);

	for (int way = 0; way < WAYS; way++) {
		struct target child;

		if (ways[way].flags & BLOCKS)
			continue;
		child = born(NULL, way);
		for (int i = 0; i < 2; i++) {
			if (i)
				CHECK_TRACED("INH-1", trid, &child, NO_ID);
			target_do(&child, use_identifier_task, &trid, sizeof trid);
			CHECK_STR("INH-8 MODEL-19", state(trid), "RN");
			CHECK_EQ("INH-8", stream_drain(trid), 0);
		}
		reaped(NULL, way, &child);
		say(way, 0);
	}
	CHECK_STR("INH-8", state(trid), "RN");
	number_send(NO_ID, 0, 1);
	EXPECT_NUMBERS("INH-8", trid, NO_ID, getpid(), 0, 1, 1);
	stream_end(trid);
}

/* A child may create streams for itself and for its parent, whatever streams the parent has. */
TEST(child_creates)
{
	for (int i = 0; i < 3; i++) {
		static const int way[] = { FORK, SPAWN, EXEC };
		trace_id_t trid = inherited(0);
		struct target child = born(NULL, way[i]);
		trace_event_id_t id = target_id(&child, "creates");

		target_control(&child, 0, 0);
		CHECK_TRACED("INH-1 MODEL-6", trid, &child, id);
		CHECK_EQ("INH-1 MODEL-6", target_count(&child, id), 3);
		CHECK_EQ("SEC-6", stream_drain(trid), 0); /* START of the new stream is not recorded here */
		number_send(NO_ID, 0, 1);
		EXPECT_NUMBERS("INH-8", trid, NO_ID, getpid(), 0, 1, 1);
		CHECK_EQ("MODEL-6", target_count(&child, NO_ID), 0);
		MUST(target_do(&child, target_shutdown_task, NULL, 0) == 0);
		target_control(&child, getpid(), 0);
		number_send(NO_ID, 0, 2);
		EXPECT_NUMBERS("MODEL-6", trid, NO_ID, getpid(), 0, 2, 1);
		CHECK_EQ("MODEL-6", target_count(&child, NO_ID), 1);
		CHECK_TRACED("INH-1", trid, &child, id);
		CHECK_EQ("MODEL-6", target_count(&child, id), 0);
		reaped(NULL, way[i], &child); /* its stream ends too */
		number_send(NO_ID, 0, 3);
		EXPECT_NUMBERS("INH-8 MODEL-20", trid, NO_ID, getpid(), 0, 3, 1);
		stream_end(trid);
	}
}

TARGET_MAIN(TEST_ENTRY(ways), TEST_ENTRY(ways_as_user), TEST_ENTRY(unaware_parent), TEST_ENTRY(unaware_parent_between),
            TEST_ENTRY(closed_for_children), TEST_ENTRY(copied_names), TEST_ENTRY(each_stream_for_itself),
            TEST_ENTRY(existing_children), TEST_ENTRY(stream_between), TEST_ENTRY(depth), TEST_ENTRY(own_stream),
            TEST_ENTRY(names_of_a_family), TEST_ENTRY(names_at_the_same_time), TEST_ENTRY(names_of_siblings),
            TEST_ENTRY(name_limit), TEST_ENTRY(origin), TEST_ENTRY(child_does_not_control), TEST_ENTRY(child_creates))
