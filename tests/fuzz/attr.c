/*
 * attr.c - fuzzes attributes objects and sets of event types with arbitrary bytes
 *
 * The input is a sequence of acts on one object, in memory of exactly its size. A function must return EINVAL or the
 * right answer: the test keeps a model of each set, and remembers the attributes set. In the end a stream is created
 * with the attributes, also with a log, if it is not too large for this machine.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fuzz.h"
#include "input.h"
#include "must.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <trace.h>
#include <unistd.h>

#define IDS      8128 /* one past the last event type */
#define DATA_MAX 65535
/* The largest streams and logs that are made; larger ones do not fit. */
#define BYTES_MAX ((size_t)2 << 20)

/* -- The input ---------------------------------------------------------------------------------- */

static const uint64_t harmful[] = {
	0, 1, 2, 8, 62, 63, 64, 255, 1024, 1983, 1984, 4096, 8127, 8128, 65535, 65536, 1048576, INT32_MAX,
	UINT32_C(1) << 31, UINT32_MAX - 31, UINT32_MAX, UINT64_C(1) << 32, UINT64_C(1) << 40, INT64_MAX,
	UINT64_C(1) << 63, UINT64_MAX,
};

static uint64_t number(void)
{
	unsigned kind = (unsigned)take(1);

	if (kind & 1)
		return take(2);
	if (kind & 2)
		return take(8);
	return harmful[(kind >> 2) % (sizeof harmful / sizeof harmful[0])];
}

/* Overwrites some bytes of an object. */
static void poke(void *object, size_t size)
{
	size_t at = (size_t)take(2) % size, n = 1 + (size_t)take(1) % 64;
	unsigned char *p = object;

	if (n > size - at)
		n = size - at;
	/* One byte repeated, as in uninitialized memory, or bytes of the input. */
	if (take(1) & 1)
		memset(p + at, (int)take(1), n);
	else
		for (size_t i = 0; i < n; i++)
			p[at + i] = (unsigned char)take(1);
}

/* -- Attributes ---------------------------------------------------------------------------------- */

/* Returns true if the call succeeded, and checks that it gave EINVAL otherwise. */
static bool done(int error)
{
	MUST(error == 0 || error == EINVAL);
	return error == 0;
}

static bool stream_policy(int policy)
{
	return policy == POSIX_TRACE_LOOP || policy == POSIX_TRACE_UNTIL_FULL || policy == POSIX_TRACE_FLUSH;
}

static bool log_policy(int policy)
{
	return policy == POSIX_TRACE_LOOP || policy == POSIX_TRACE_UNTIL_FULL || policy == POSIX_TRACE_APPEND;
}

static bool inheritance(int value)
{
	return value == POSIX_TRACE_CLOSE_FOR_CHILD || value == POSIX_TRACE_INHERITED;
}

/* Gets all attributes. Returns true if this is a valid object; each function must agree. */
static bool ask_all(const trace_attr_t *attr)
{
	char *name = malloc(TRACE_NAME_MAX);
	struct timespec t;
	size_t size, all;
	int value;
	bool object;

	MUST(name);
	object = done(posix_trace_attr_getname(attr, name));
	MUST(!object || strlen(name) < TRACE_NAME_MAX);
	MUST(done(posix_trace_attr_getgenversion(attr, name)) == object && (!object || strlen(name) < TRACE_NAME_MAX));
	MUST(done(posix_trace_attr_getclockres(attr, &t)) == object &&
	     (!object || (t.tv_sec >= 0 && t.tv_nsec >= 0 && t.tv_nsec < 1000000000)));
	MUST(done(posix_trace_attr_getcreatetime(attr, &t)) == object &&
	     (!object || (t.tv_nsec >= 0 && t.tv_nsec < 1000000000)));
	MUST(done(posix_trace_attr_getstreamfullpolicy(attr, &value)) == object && (!object || stream_policy(value)));
	MUST(done(posix_trace_attr_getlogfullpolicy(attr, &value)) == object && (!object || log_policy(value)));
	MUST(done(posix_trace_attr_getinherited(attr, &value)) == object && (!object || inheritance(value)));
	MUST(done(posix_trace_attr_getstreamsize(attr, &size)) == object);
	MUST(done(posix_trace_attr_getlogsize(attr, &size)) == object);
	MUST(done(posix_trace_attr_getmaxsystemeventsize(attr, &size)) == object &&
	     (!object || (size > 0 && size < DATA_MAX)));
	MUST(done(posix_trace_attr_getmaxdatasize(attr, &size)) == object && (!object || size <= DATA_MAX));
	for (size_t n = 0; object && n <= DATA_MAX; n = 3 * n + 1) {
		MUST(posix_trace_attr_getmaxusereventsize(attr, n, &all) == 0 && all >= (n < size ? n : size) &&
		     all <= DATA_MAX + 256);
	}
	free(name);
	return object;
}

static void set_name(trace_attr_t *attr, bool object)
{
	char *name = malloc(TRACE_NAME_MAX), *given;
	size_t length = (size_t)take(1) * 2;

	given = malloc(length + 1);
	MUST(name && given);
	for (size_t i = 0; i < length; i++)
		given[i] = (char)(1 + take(1) % 255);
	given[length] = 0;
	MUST(done(posix_trace_attr_setname(attr, given)) == object);
	if (object) {
		MUST(posix_trace_attr_getname(attr, name) == 0);
		MUST(strlen(name) == (length < TRACE_NAME_MAX ? length : TRACE_NAME_MAX - 1) &&
		     strncmp(name, given, strlen(name)) == 0);
	}
	free(name);
	free(given);
}

#define SET_INT(what, possible)                                                                                        \
	do {                                                                                                           \
		int given = (int)number(), before, after;                                                              \
		bool was = done(posix_trace_attr_get##what(attr, &before));                                            \
		MUST(done(posix_trace_attr_set##what(attr, given)) == (was && possible(given)));                       \
		if (was)                                                                                               \
			MUST(posix_trace_attr_get##what(attr, &after) == 0 &&                                          \
			     after == (possible(given) ? given : before));                                             \
	} while (0)

#define ANY_SIZE(size)  ((void)(size), true)
#define DATA_SIZE(size) ((size) <= DATA_MAX)

#define SET_SIZE(what, possible)                                                                                       \
	do {                                                                                                           \
		size_t given = (size_t)number(), before, after;                                                        \
		bool was = done(posix_trace_attr_get##what(attr, &before));                                            \
		MUST(done(posix_trace_attr_set##what(attr, given)) == (was && possible(given)));                       \
		if (was)                                                                                               \
			MUST(posix_trace_attr_get##what(attr, &after) == 0 &&                                          \
			     after == (possible(given) ? given : before));                                             \
	} while (0)

static void change_attributes(trace_attr_t *attr)
{
	switch (take(1) % 12) {
	case 0:
		MUST(posix_trace_attr_init(attr) == 0);
		MUST(ask_all(attr));
		break;
	case 1:
		if (done(posix_trace_attr_destroy(attr)))
			MUST(!ask_all(attr));
		break;
	case 2:
		set_name(attr, ask_all(attr));
		break;
	case 3:
		SET_INT(streamfullpolicy, stream_policy);
		break;
	case 4:
		SET_INT(logfullpolicy, log_policy);
		break;
	case 5:
		SET_INT(inherited, inheritance);
		break;
	case 6:
		SET_SIZE(streamsize, ANY_SIZE);
		break;
	case 7:
		SET_SIZE(logsize, ANY_SIZE);
		break;
	case 8:
		SET_SIZE(maxdatasize, DATA_SIZE);
		break;
	default:
		poke(attr, sizeof *attr);
		break;
	}
}

static bool fits(const trace_attr_t *attr)
{
	size_t stream, log, data;
	uint64_t size; /* the size may exceed a size_t */

	if (posix_trace_attr_getstreamsize(attr, &stream) != 0)
		return true;
	size = stream;
	return posix_trace_attr_getlogsize(attr, &log) == 0 && posix_trace_attr_getmaxdatasize(attr, &data) == 0 &&
	       (size <= BYTES_MAX || size > (UINT64_C(1) << 40)) && data <= 8192;
}

static void create(const trace_attr_t *attr, bool object)
{
	static const char bytes[100];
	trace_id_t trid = 4711, log;
	trace_event_id_t id;
	int policy, error, fd;

	if (!fits(attr))
		return;
	error = posix_trace_create(0, attr, &trid);
	MUST(object ? error == 0 || error == EINVAL || error == ENOMEM : error == EINVAL);
	if (error == 0) {
		MUST(posix_trace_attr_getstreamfullpolicy(attr, &policy) == 0 && policy != POSIX_TRACE_FLUSH);
		MUST(posix_trace_shutdown(trid) == 0);
	}
	fd = memfd_create("fuzz", MFD_CLOEXEC);
	MUST(fd >= 0);
	error = posix_trace_create_withlog(0, attr, fd, &trid);
	MUST(object ? error == 0 || error == EINVAL || error == ENOMEM || error == ENOSPC || error == EFBIG
	            : error == EINVAL);
	if (error == 0) {
		MUST(posix_trace_eventid_open("fuzz", &id) == 0 && posix_trace_start(trid) == 0);
		for (int i = 0; i < 100; i++)
			posix_trace_event(id, bytes, sizeof bytes);
		MUST(posix_trace_shutdown(trid) == 0);
		MUST(posix_trace_open(fd, &log) == 0 && posix_trace_close(log) == 0);
	}
	close(fd);
}

static void try_attributes(void)
{
	trace_attr_t *attr = malloc(sizeof *attr);
	bool object;

	MUST(attr);
	memset(attr, (int)take(1), sizeof *attr);
	if (take(1) % 8)
		MUST(posix_trace_attr_init(attr) == 0);
	for (int i = 0; i < 100 && left > 0; i++) {
		change_attributes(attr);
		ask_all(attr);
	}
	object = ask_all(attr);
	if (!object || left == 0)
		create(attr, object);
	free(attr);
}

/* -- Sets of event types ------------------------------------------------------------------------------ */

struct model {
	bool set; /* it is a valid set */
	bool has[IDS];
};

/* A suspended stream, and the model of its filter. */
static trace_id_t stream;
static struct model filter;

static void model_of(struct model *m, const trace_event_set_t *set)
{
	trace_event_set_t mark;

	MUST(posix_trace_eventset_empty(&mark) == 0);
	m->set = set->__mark == mark.__mark;
	for (unsigned id = 0; id < IDS; id++)
		m->has[id] = set->__bits[id / 64] >> id % 64 & 1;
}

static bool possible(trace_event_id_t id)
{
	return id >= 1 && id < IDS;
}

static void compare(const struct model *m, const trace_event_set_t *set)
{
	int member;

	for (trace_event_id_t id = 1; id < IDS; id++) {
		member = 4711;
		MUST(done(posix_trace_eventset_ismember(id, set, &member)) == m->set);
		MUST(m->set ? member == (int)m->has[id] : member == 4711);
	}
	MUST(posix_trace_eventset_ismember(0, set, &member) == EINVAL &&
	     posix_trace_eventset_ismember(IDS, set, &member) == EINVAL);
}

static void fill(struct model *m, int what)
{
	static const trace_event_id_t of_the_system[] = { POSIX_TRACE_ERROR, POSIX_TRACE_OVERFLOW, POSIX_TRACE_RESUME,
		                                          POSIX_TRACE_FLUSH_START, POSIX_TRACE_FLUSH_STOP };

	memset(m, 0, sizeof *m);
	m->set = true;
	for (unsigned id = 1; id < IDS; id++)
		m->has[id] = what == POSIX_TRACE_ALL_EVENTS ||
		             (what == POSIX_TRACE_SYSTEM_EVENTS && id < POSIX_TRACE_UNNAMED_USEREVENT);
	for (unsigned i = 0; what == POSIX_TRACE_WOPID_EVENTS && i < sizeof of_the_system / sizeof of_the_system[0];
	     i++)
		m->has[of_the_system[i]] = true;
}

static void set_filter(const struct model *m, const trace_event_set_t *set, int how)
{
	bool known = how == POSIX_TRACE_SET_EVENTSET || how == POSIX_TRACE_ADD_EVENTSET ||
	             how == POSIX_TRACE_SUB_EVENTSET;
	trace_event_set_t now;

	MUST(done(posix_trace_set_filter(stream, set, how)) == (known && m->set));
	for (unsigned id = 1; known && m->set && id < IDS; id++)
		filter.has[id] = how == POSIX_TRACE_SET_EVENTSET   ? m->has[id]
		                 : how == POSIX_TRACE_ADD_EVENTSET ? filter.has[id] || m->has[id]
		                                                   : filter.has[id] && !m->has[id];
	MUST(posix_trace_get_filter(stream, &now) == 0);
	compare(&filter, &now);
}

static void try_sets(void)
{
	trace_event_set_t *set = malloc(sizeof *set), none;
	struct model m;

	MUST(set);
	memset(set, (int)take(1), sizeof *set);
	model_of(&m, set);
	fill(&filter, 0);
	MUST(posix_trace_eventset_empty(&none) == 0 &&
	     posix_trace_set_filter(stream, &none, POSIX_TRACE_SET_EVENTSET) == 0);
	for (int i = 0; i < 100 && left > 0; i++) {
		unsigned act = (unsigned)take(1) % 9;
		trace_event_id_t id;
		int value;

		switch (act) {
		case 0:
			MUST(posix_trace_eventset_empty(set) == 0);
			fill(&m, 0);
			break;
		case 1:
			value = (int)number();
			if (done(posix_trace_eventset_fill(set, value)))
				fill(&m, value);
			else
				MUST(value != POSIX_TRACE_WOPID_EVENTS && value != POSIX_TRACE_SYSTEM_EVENTS &&
				     value != POSIX_TRACE_ALL_EVENTS);
			break;
		case 2:
		case 3:
		case 4:
			id = (trace_event_id_t)number();
			MUST(done(act == 4 ? posix_trace_eventset_del(id, set) : posix_trace_eventset_add(id, set)) ==
			     (m.set && possible(id)));
			if (m.set && possible(id))
				m.has[id] = act != 4;
			break;
		case 5:
			poke(set, sizeof *set);
			model_of(&m, set);
			break;
		default:
			set_filter(&m, set, (int)(act == 6 ? number() : take(1) % 4));
			break;
		}
	}
	compare(&m, set);
	free(set);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	/* Creation of a huge stream must fail rather than use all memory. */
	struct rlimit limit = { 16 * BYTES_MAX, 16 * BYTES_MAX };

	(void)argc;
	(void)argv;
	signal(SIGXFSZ, SIG_IGN);
	if (setrlimit(RLIMIT_FSIZE, &limit) != 0 || posix_trace_create(0, NULL, &stream) != 0) {
		fprintf(stderr, "nothing can be traced here\n");
		exit(77);
	}
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	input = bytes;
	left = size;
	if (take(1) % 2)
		try_attributes();
	else
		try_sets();
	return 0;
}
