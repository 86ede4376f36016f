/*
 * typed.c - <posixtrace/typed.h>: what is recorded, and by threads, handlers, children, several files and modules
 *
 * SPDX-License-Identifier: MIT
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "fault.h"
#include "../conformance/stream.h"
#include "typed_events.h"

TRACE_EVENT(shop, open)
TRACE_EVENT(shop, all, (u8, a), (u16, b, "B"), (i8, c), (i64, d), (x32, e), (f32, f), (f64, g, "%"), (boolean, h),
            (e8, i, "idle,busy=4"), (e16, j, "read|write"), (when, k), (str, l), (str, m, 8), (u32, n), (i16, o))
TRACE_EVENT(shop, places, (ptr, p), (code, c))
TRACE_EVENT(shop, view, (u32, id), (text, view, 100), (u8, end))
TRACE_EVENT(shop, key, (text, key), (text, part, 5), (u8, end))
TRACE_EVENT(shop, arrays, (u32s, sizes, 5), (bytes, key, 3), (f64s, shares, 2, "%"), (x16s, flags), (bytes, rest),
            (u8, end))
TRACE_EVENT_AS(shop, request_in, "begin=request,by=id", (u32, id))
TRACE_EVENT(shop, first_of_many, (u32, n))
TRACE_EVENT(shop, in_handler, (u32, n))

static trace_id_t running(void)
{
	trace_attr_t attr;
	trace_id_t trid;

	MUST(posix_trace_attr_init(&attr) == 0);
	MUST(posix_trace_attr_setinherited(&attr, POSIX_TRACE_INHERITED) == 0);
	MUST(posix_trace_attr_setstreamsize(&attr, 4 << 20) == 0);
	trid = stream_running(&attr);
	posix_trace_attr_destroy(&attr);
	return trid;
}

static const char *layout_of(trace_id_t trid, trace_event_id_t id)
{
	static char layout[POSIXTRACE_LAYOUT_MAX + 1];
	int error = posixtrace_get_layout(trid, id, layout, sizeof layout);

	return error == ENOENT ? "none" : error ? "error" : layout;
}

static const char *name_of(trace_id_t trid, trace_event_id_t id)
{
	static char name[TRACE_EVENT_NAME_MAX + 1];

	MUST(posix_trace_eventid_get_name(trid, id, name) == 0);
	return name;
}

TEST(all_types)
{
	static const unsigned char data[] = "\1" "\2\0" "\375" "\374\377\377\377\377\377\377\377" "\357\276\0\0"
		"\0\0\0\77" "\0\0\0\0\0\0\320\77" "\1" "\4" "\3\0" "\7\0\0\0\0\0\0\0" "text\0" "cut o\xe2\x80\xa6\0"
		"\11\0\0\0" "\376\377";
	struct stream_event e;
	trace_id_t trid;

	shm_private("");
	trid = running();
	trace(shop, all, 1, 2, -3, -4, 0xbeef, 0.5F, 0.25, true, 4, 3, 7, "text", "cut off here", 9, -2);
	stream_next(trid, &e);
	CHECK_STR("-", name_of(trid, e.info.posix_event_id), "shop.all");
	CHECK_STR("-", layout_of(trid, e.info.posix_event_id),
	          "{packed;a:u8,b:u16/B,c:i8,d:i64,e:x32,f:f32,g:f64/%,h:bool,i:u8<idle,busy=4>,j:u16<read|write>,k:t64,"
	          "l:z,m:z,n:u32,o:i16}");
	CHECK("-", !posixtrace_layout_wrong(layout_of(trid, e.info.posix_event_id), NULL, NULL));
	CHECK_EQ("-", e.len, sizeof data - 1);
	CHECK("-", *(const uint16_t *)"\1" != 1 || memcmp(e.data, data, sizeof data - 1) == 0);
	trace(shop, open);
	stream_next(trid, &e);
	CHECK_STR("-", name_of(trid, e.info.posix_event_id), "shop.open");
	CHECK_STR("-", layout_of(trid, e.info.posix_event_id), "none");
	CHECK_EQ("-", e.len, 0);
	trace(shop, places, &e, (void *)running);
	stream_next(trid, &e);
	CHECK("-", !posixtrace_layout_wrong(layout_of(trid, e.info.posix_event_id), NULL, NULL));
	CHECK_EQ("-", e.len, 2 * sizeof(void *));
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
}

/* Texts of all lengths around the maximum. What is cut ends with an ellipsis, behind a whole character. */
TEST(texts)
{
	char text[600], *recorded;
	struct stream_event e;
	trace_id_t trid;
	size_t length;

	shm_private("");
	trid = running();
	for (size_t n = 0; n < sizeof text; n++) {
		for (size_t i = 0; i < n; i++)
			text[i] = (char)('a' + i % 26);
		text[n] = 0;
		trace(shop, order, 7, text, 199);
		stream_next(trid, &e);
		recorded = (char *)e.data + 4;
		length = n <= 255 ? n : 255;
		CHECK_EQ("-", e.len, 4 + length + 1 + 8);
		CHECK_EQ("-", strlen(recorded), length);
		CHECK("-", n <= 255 ? strcmp(recorded, text) == 0 :
		                       memcmp(recorded, text, 252) == 0 && strcmp(recorded + 252, "\xe2\x80\xa6") == 0);
		CHECK("-", e.data[e.len - 8] == 199 || e.data[e.len - 1] == 199);
	}
	memset(text, 'a', 250);
	strcpy(text + 250, "\xe2\x82\xac\xe2\x82\xac"); /* two characters of three bytes, the second is cut */
	trace(shop, order, 7, text, 199);
	stream_next(trid, &e);
	CHECK_STR("-", (char *)e.data + 4 + 250, "\xe2\x80\xa6");
	trace(shop, order, 7, NULL, 199);
	stream_next(trid, &e);
	CHECK_STR("-", (char *)e.data + 4, "(null)");
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
}

/* What the events with one text have before it and behind it. */
#define FLOAT_BYTES  "\0\0\0\77"
#define DOUBLE_BYTES "\0\0\0\0\0\0\320\77"

/* An event with a text, and its data before the text and behind it. */
struct shape {
	void (*record)(const char *text);
	size_t most;
	size_t before_size, behind_size;
	const char *before, *behind;
};

TRACE_EVENT(shape, alone, (str, t))
TRACE_EVENT(shape, mixed, (u8, a), (u16, b), (i32, c), (str, t), (boolean, d), (f64, e), (u16, f))
TRACE_EVENT(shape, full, (u64, a), (u64, b), (str, t), (i64, c), (u64, d))
TRACE_EVENT(shape, across, (u8, a), (u64, b), (u8, c), (str, t, 9), (i16, d), (u64, e), (f32, f))
TRACE_EVENT(shape, before, (u64, a), (u64, b), (u8, c), (str, t))
TRACE_EVENT(shape, behind, (str, t), (u64, a), (u64, b), (u8, c))
TRACE_EVENT(shape, longest, (u8, a), (str, t, 511), (u8, b))
TRACE_EVENT(shape, longer, (u8, a), (str, t, 512), (u8, b))
TRACE_EVENT(shape, least, (str, t, 2))

static void alone(const char *t)   { trace(shape, alone, t); }
static void mixed(const char *t)   { trace(shape, mixed, 1, 0x302, -2, t, true, 0.25, 0x908); }
static void full(const char *t)    { trace(shape, full, 0x807060504030201, 2, t, -3, 4); }
static void across(const char *t)  { trace(shape, across, 255, 0x807060504030201, 9, t, -1, 0x908070605040302, 0.5F); }
static void before(const char *t)  { trace(shape, before, 1, 2, 3, t); }
static void behind(const char *t)  { trace(shape, behind, t, 1, 2, 3); }
static void longest(const char *t) { trace(shape, longest, 1, t, 2); }
static void longer(const char *t)  { trace(shape, longer, 1, t, 2); }
static void least(const char *t)   { trace(shape, least, t); }

#define ZEROS7 "\0\0\0\0\0\0\0"

static const struct shape shapes[] = {
	{ alone, 255, 0, 0, "", "" },
	{ mixed, 255, 7, 11, "\1" "\2\3" "\376\377\377\377", "\1" DOUBLE_BYTES "\10\11" },
	{ full, 255, 16, 16, "\1\2\3\4\5\6\7\10" "\2" ZEROS7, "\375\377\377\377\377\377\377\377" "\4" ZEROS7 },
	{ across, 9, 10, 14, "\377" "\1\2\3\4\5\6\7\10" "\11", "\377\377" "\2\3\4\5\6\7\10\11" FLOAT_BYTES },
	{ before, 255, 17, 0, "\1" ZEROS7 "\2" ZEROS7 "\3", "" },
	{ behind, 255, 0, 17, "", "\1" ZEROS7 "\2" ZEROS7 "\3" },
	{ longest, 511, 1, 1, "\1", "\2" },
	{ longer, 512, 1, 1, "\1", "\2" },
	{ least, 2, 0, 0, "", "" },
};

#define SHAPES (sizeof shapes / sizeof shapes[0])

/* Writes what is recorded of a text. Returns its length. */
static size_t text_as_recorded(char *to, const char *text, size_t most)
{
	size_t length = strlen(text);

	if (length <= most || most < 3) {
		length = length < most ? length : most;
		memcpy(to, text, length);
	} else {
		length = most - 3;
		while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
			length--;
		memcpy(to, text, length);
		memcpy(to + length, "\xe2\x80\xa6", 3);
		length += 3;
	}
	to[length] = 0;
	return length;
}

/* Records an event with this text, and checks its data. */
static void check_shape(trace_id_t trid, const struct shape *s, const char *text)
{
	struct stream_event e;
	char expected[600];
	size_t length = text_as_recorded(expected, text, s->most);

	s->record(text);
	stream_next(trid, &e);
	CHECK_EQ("-", e.len, s->before_size + length + 1 + s->behind_size);
	CHECK_EQ("-", e.info.posix_truncation_status, POSIX_TRACE_NOT_TRUNCATED);
	CHECK_STR("-", (char *)e.data + s->before_size, expected);
	if (*(const uint16_t *)"\1" == 1) {
		CHECK("-", memcmp(e.data, s->before, s->before_size) == 0);
		CHECK("-", memcmp(e.data + e.len - s->behind_size, s->behind, s->behind_size) == 0);
	}
}

/* Returns memory of two pages, behind which there is none. */
static char *before_nothing(size_t *size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *memory = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	MUST(memory != MAP_FAILED);
	MUST(mprotect(memory + 2 * page, page, PROT_NONE) == 0);
	*size = 2 * page;
	return memory;
}

/* Texts of each length that end where their memory ends, and in the middle of it, in each shape of an event. */
TEST(texts_at_the_end)
{
	char *memory, *text;
	trace_id_t trid;
	size_t size;

	shm_private("");
	memory = before_nothing(&size);
	for (size_t n = 0; n < 600; n += n < 300 || n > 500 ? 1 : 50) {
		trid = running();
		for (size_t at_end = 0; at_end < 2; at_end++) {
			text = memory + size - n - 1 - (at_end ? 0 : 700);
			memset(memory, 'x', size);
			for (size_t i = 0; i < n; i++)
				text[i] = "abc\xc3\xa4\xe2\x82\xac"[(i + n) % 8];
			text[n] = 0;
			for (size_t i = 0; i < SHAPES; i++)
				check_shape(trid, &shapes[i], text);
		}
		CHECK_EQ("-", posix_trace_shutdown(trid), 0);
	}
	munmap(memory, size);
}

/* Texts that begin at each place around the end of a page. */
TEST(texts_at_pages)
{
	static const size_t lengths[] = { 0, 1, 15, 16, 31, 32, 33, 63, 64, 65, 127, 128, 129, 200, 255 };
	char *memory, *text;
	trace_id_t trid;
	size_t size;

	shm_private("");
	memory = before_nothing(&size);
	trid = running();
	for (size_t place = size / 2 - 70; place < size / 2 + 70; place++)
		for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
			memset(memory, 'y', size);
			text = memory + place;
			for (size_t k = 0; k < lengths[i]; k++)
				text[k] = (char)('a' + (k + place) % 26);
			text[lengths[i]] = 0;
			check_shape(trid, &shapes[1], text);
			check_shape(trid, &shapes[2], text);
		}
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
	munmap(memory, size);
}

static void *read_one(void *arg)
{
	static struct stream_event e;
	int unavailable;

	MUST(posix_trace_getnext_event(*(trace_id_t *)arg, &e.info, e.data, sizeof e.data, &e.len, &unavailable) == 0);
	return &e;
}

/* Streams that cut the data, that filter the event out, that do not run, and several; and a reader that sleeps. */
TEST(texts_in_streams)
{
	trace_event_set_t set;
	struct stream_event e;
	trace_id_t trid, other;
	trace_attr_t attr;
	pthread_t reader;
	void *read;

	shm_private("");
	stream_attr(&attr, POSIX_TRACE_LOOP, 0, 10);
	trid = stream_running(&attr);
	posix_trace_attr_destroy(&attr);
	trace(shop, order, 7, "tea, green and loose", 199);
	stream_next(trid, &e);
	CHECK_EQ("-", e.info.posix_truncation_status, POSIX_TRACE_TRUNCATED_RECORD);
	CHECK_EQ("-", e.len, 10);
	CHECK("-", memcmp(e.data + 4, "tea, g", 6) == 0);
	trace(shop, order, 7, "", 199);
	stream_next(trid, &e);
	CHECK_EQ("-", e.len, 10);

	other = running();
	trace(shop, order, 7, "pot", 199);
	stream_next(trid, &e);
	CHECK_EQ("-", e.len, 10);
	stream_next(other, &e);
	CHECK_EQ("-", e.len, 16);
	CHECK_STR("-", (char *)e.data + 4, "pot");
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);

	MUST(posix_trace_eventset_empty(&set) == 0);
	MUST(posix_trace_eventset_add(stream_id("shop.order"), &set) == 0);
	CHECK_EQ("-", posix_trace_set_filter(other, &set, POSIX_TRACE_SET_EVENTSET), 0);
	stream_drain(other);
	trace(shop, order, 7, "not recorded", 199);
	CHECK("-", !stream_try(other, &e));
	MUST(posix_trace_eventset_empty(&set) == 0);
	CHECK_EQ("-", posix_trace_set_filter(other, &set, POSIX_TRACE_SET_EVENTSET), 0);
	stream_drain(other);
	MUST(pthread_create(&reader, NULL, read_one, &other) == 0);
	usleep(50000);
	trace(shop, order, 7, "awaited", 199);
	pthread_join(reader, &read);
	CHECK_STR("-", (char *)((struct stream_event *)read)->data + 4, "awaited");
	CHECK("-", !stream_try(other, &e)); /* recorded once */

	MUST(posix_trace_stop(other) == 0);
	trace(shop, order, 7, "stopped", 199);
	stream_next(other, &e); /* POSIX_TRACE_STOP */
	CHECK("-", !stream_try(other, &e));
	CHECK_EQ("-", posix_trace_shutdown(other), 0);
}

/* Many events, so that they cross the ends of chunks. None is lost or damaged. */
TEST(texts_in_chunks)
{
	struct stream_event e;
	char text[256];
	trace_id_t trid;
	size_t n;

	shm_private("");
	trid = running();
	for (uint32_t i = 0; i < 20000; i++) {
		n = i * 7919 % sizeof text;
		memset(text, 'a' + (int)(i % 26), n);
		text[n] = 0;
		trace(shop, order, i, text, n);
		if (i % 64 != 63)
			continue;
		for (uint32_t k = i - 63; k <= i; k++) {
			stream_next(trid, &e);
			n = k * 7919 % sizeof text;
			CHECK("-", e.len == 4 + n + 1 + 8 && memcmp(e.data, &k, 4) == 0);
			CHECK("-", strlen((char *)e.data + 4) == n && (n == 0 || e.data[3 + n] == 'a' + k % 26));
		}
	}
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
}

/* Bytes without a null, at the end of their memory, so that a sanitizer sees a read beyond it. */
TEST(texts_with_sizes)
{
	static const struct {
		const char *key, *part;
		size_t size, length;
		const char *data;
	} cases[] = {
		{ "key", "part", 3, 2 + 3 + 5, "key\0part\0\7" },
		{ "k\0y", "", 3, 2 + 1 + 1, "k\0\0\7" },
		{ "", "longer", 0, 2 + 0 + 6, "\0lo\xe2\x80\xa6\0\7" },
		{ NULL, "", 3, 6 + 3, "(null)\0\0\7" },
	};
	struct stream_event e;
	trace_id_t trid;

	shm_private("");
	trid = running();
	for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		size_t size = cases[i].size;
		char *key = malloc(size ? size : 1);

		MUST(key);
		if (cases[i].key)
			memcpy(key, cases[i].key, size);
		trace(shop, key, POSIXTRACE_TEXT(size && cases[i].key ? key : NULL, size),
		      POSIXTRACE_TEXT(cases[i].part, strlen(cases[i].part)), 7);
		free(key);
		stream_next(trid, &e);
		CHECK_EQ("-", e.len, cases[i].length);
		CHECK("-", memcmp(e.data, cases[i].data, e.len) == 0);
	}
	CHECK_STR("-", layout_of(trid, e.info.posix_event_id), "{packed;key:z,part:z,end:u8}");
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
}

/* Checks the event of views. */
static void check_view(const struct stream_event *e, const char *view, size_t size)
{
	char wanted[128] = "\1\0\0\0";
	const char *text = view ? view : size ? "(null)" : "";
	size_t length = view ? strnlen(view, size) : strlen(text);

	memcpy(wanted + 4, text, length < 100 ? length : 100);
	if (length > 100) {
		length = 100;
		memcpy(wanted + 4 + 97, "\xe2\x80\xa6", 3);
	}
	wanted[4 + length] = 0;
	wanted[4 + length + 1] = 9;
	CHECK_EQ("-", e->len, 4 + length + 2);
	CHECK("-", memcmp(e->data, wanted, 4 + length + 2) == 0);
}

/* One text without a null among numbers: of all lengths, and as near to memory that cannot be read as it gets. */
TEST(views)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct stream_event e;
	trace_id_t trid;
	char *memory;

	shm_private("");
	trid = running();
	memory = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(memory != MAP_FAILED);
	MUST(mprotect(memory + 2 * page, page, PROT_NONE) == 0);
	for (size_t i = 0; i < 2 * page; i++)
		memory[i] = (char)('a' + i % 26);
	for (size_t size = 0; size < 140; size++) {
		const size_t before_end[] = {
			size, size + 1, size + 31, size + 32, page + 1, page + size / 2, page + 31
		};

		for (unsigned i = 0; i < sizeof before_end / sizeof *before_end; i++) {
			const char *view = memory + 2 * page - before_end[i];

			trace(shop, view, 1, POSIXTRACE_TEXT(view, size), 9);
			stream_next(trid, &e);
			check_view(&e, view, size);
		}
		/* A null inside. */
		memory[2 * page - size / 2 - 1] = 0;
		trace(shop, view, 1, POSIXTRACE_TEXT(memory + 2 * page - size, size), 9);
		stream_next(trid, &e);
		check_view(&e, memory + 2 * page - size, size);
		memory[2 * page - size / 2 - 1] = 'n';
		trace(shop, view, 1, POSIXTRACE_TEXT(NULL, size), 9);
		stream_next(trid, &e);
		check_view(&e, NULL, size);
	}
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
}

/* Checks a counter and its items at *at, and goes behind them. */
static void check_items(const unsigned char **at, const void *items, size_t count, size_t size)
{
	uint16_t recorded;

	memcpy(&recorded, *at, sizeof recorded);
	CHECK_EQ("-", recorded, count);
	CHECK("-", memcmp(*at + 2, items, count * size) == 0);
	*at += 2 + count * size;
}

/* Arrays of all lengths around the maximum, at the end of their memory, so that a sanitizer sees a read beyond it. */
TEST(arrays)
{
	static const double shares[] = { 0.5, -1, 1e300 };
	uint16_t flags[20];
	unsigned char rest[80];
	struct stream_event e;
	trace_id_t trid;

	shm_private("");
	trid = running();
	for (unsigned i = 0; i < 20; i++)
		flags[i] = (uint16_t)(0xff00 + i);
	for (unsigned i = 0; i < sizeof rest; i++)
		rest[i] = (unsigned char)(i * 7);
	for (size_t n = 0; n < 80; n++) {
		uint32_t *sizes = malloc(n ? n * sizeof *sizes : 1);
		size_t few = n % 4, some = n % 21;
		const unsigned char *at;

		MUST(sizes);
		for (size_t i = 0; i < n; i++)
			sizes[i] = (uint32_t)(i * 0x1000193);
		trace(shop, arrays, POSIXTRACE_ARRAY(sizes, n), POSIXTRACE_BYTES("key", few),
		      POSIXTRACE_ARRAY(shares, few), POSIXTRACE_ARRAY(flags, some), POSIXTRACE_BYTES(rest, n), 7);
		stream_next(trid, &e);
		at = e.data;
		check_items(&at, sizes, n < 5 ? n : 5, sizeof *sizes);
		check_items(&at, "key", few, 1);
		check_items(&at, shares, few < 2 ? few : 2, sizeof *shares);
		check_items(&at, flags, some < 16 ? some : 16, sizeof *flags);
		check_items(&at, rest, n < 64 ? n : 64, 1);
		CHECK_EQ("-", *at, 7);
		CHECK_EQ("-", at + 1 - e.data, (ptrdiff_t)e.len);
		free(sizes);
	}
	CHECK_STR("-", layout_of(trid, e.info.posix_event_id),
	          "{packed;n_sizes:u16,sizes:u32[n_sizes],n_key:u16,key:b[n_key],n_shares:u16,shares:f64[n_shares]/%,"
	          "n_flags:u16,flags:x16[n_flags],n_rest:u16,rest:b[n_rest],end:u8}");
	CHECK("-", !posixtrace_layout_wrong(layout_of(trid, e.info.posix_event_id), NULL, NULL));
	trace(shop, arrays, POSIXTRACE_ARRAY((uint32_t *)NULL, 3), POSIXTRACE_BYTES(NULL, 3),
	      POSIXTRACE_ARRAY((double *)NULL, 0), POSIXTRACE_ARRAY(flags, SIZE_MAX), POSIXTRACE_BYTES("", 0), 7);
	stream_next(trid, &e);
	CHECK_EQ("-", e.len, 3 * 2 + 2 + 16 * sizeof *flags + 2 + 1);
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
}

static uint32_t evaluated;

static uint32_t evaluate(void)
{
	return ++evaluated;
}

/* Reads an event of tracef(), and checks its name, its layout and the bytes of its data. */
static void check_note(trace_id_t trid, const char *name, const char *layout, const void *data, size_t size)
{
	struct stream_event e;

	stream_next(trid, &e);
	CHECK_STR("-", name_of(trid, e.info.posix_event_id), name);
	CHECK_STR("-", layout_of(trid, e.info.posix_event_id), layout);
	CHECK("-", !posixtrace_layout_wrong(layout_of(trid, e.info.posix_event_id), NULL, NULL));
	CHECK_EQ("-", e.len, size);
	CHECK("-", memcmp(e.data, data, size) == 0);
}

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
# define CHARACTER "c[4]"
#else
# define CHARACTER "i32"
#endif
#if __SIZEOF_POINTER__ == 8
# define POINTER "x64"
#else
# define POINTER "x32"
#endif

/* Arguments are recorded with their types, and fields named after the words before them. */
TEST(notes)
{
	struct __attribute__((packed)) {
		int32_t number;
		char text[4];
	} order = { 7, "tea" };
	struct __attribute__((packed)) {
		int32_t c, d;
		int64_t lld;
		uint64_t llu;
		uint32_t x;
		double f, Lf;
		const void *p;
		int32_t is;
		uint64_t llx;
	} all = { 'c', -3, -4, 5, 0xbeef, 0.5, 0.25, &order, 1, sizeof order };
	trace_id_t trid;

	shm_private("");
	trid = running();
	for (int i = 0; i < 2; i++) {
		tracef("shop.note", "order %d of %s, in time", 7, "tea");
		check_note(trid, "shop.note", "{packed;order:i32,of:z}", &order, sizeof order);
	}
	tracef("shop.all", "%c, d=%+05d, %lld%% of %llu; really? x = 0x%08x %.3f Lf: '%Lf' at %p is[%d] size%llx", 'c',
	       -3, -4LL, 5ULL, 0xbeefU, (double)0.5F, 0.25L, (void *)&order, evaluated == 0, sizeof order + 0ULL);
	check_note(trid, "shop.all",
	           "{packed;a1:" CHARACTER ",d:i32,a3:i64,of:u64,really_x_0x:x32,a6:f64,Lf:f64,at:" POINTER
	           ",is:i32,size:x64}",
	           &all, sizeof all);
	tracef("shop.text", "cache flushed");
	check_note(trid, "shop.text", "{packed;text:z}", "cache flushed", 14);
	tracef("shop.bool", "is %d", (bool)1);
	check_note(trid, "shop.bool", "{packed;is:bool}", "\1", 1);
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
}

/* Names of the fields of formats with numbers only. */
/* The value of an argument of type int. */
static unsigned long long value_of(int number)
{
	unsigned long long value = 0;

	memcpy(&value, &number, sizeof number);
	return value;
}

TEST(names_of_notes)
{
	static const struct {
		const char *format, *types, *layout;
	} cases[] = {
		{ "%d", "i", "{packed;a1:i32}" },
		{ "%d %d", "ii", "{packed;a1:i32,a2:i32}" },
		{ "x %d x %d", "ii", "{packed;x:i32,a2:i32}" },
		{ "a2 %d %d", "ii", "{packed;a2:i32,a2_:i32}" },
		{ "100%% of %d", "i", "{packed;of:i32}" },
		{ "in 5 of %-5d,%% left: %3d%%", "ii", "{packed;in_5_of:i32,left:i32}" },
		{ "width %*d", "ii", "{packed;a1:i32,width:i32}" },
		{ "%2$d of %1$d", "ii", "{packed;a1:i32,a2:i32}" },
		{ "error %m at %d", "i", "{packed;at:i32}" },
		{ "a{b}c:d<e>f;g[h],i/%d", "i", "{packed;a_b_c_d_e_f_g_h_i:i32}" },
		{ "Gr\xc3\xb6\xc3\x9f""e %d", "i", "{packed;Gr\xc3\xb6\xc3\x9f""e:i32}" },
		{ "could not open the file of the user %d", "i", "{packed;not_open_the_file_of_the_user:i32}" },
		{ "123456789012345678901234567890 x%d", "i", "{packed;x:i32}" },
		{ "abcdefghijklmnopqrstuvwxyzabcdefghijklmn%d", "i", "{packed;jklmnopqrstuvwxyzabcdefghijklmn:i32}" },
		{ "\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac"
		  "\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac%d", "i",
		  "{packed;\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac"
		  "\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac:i32}" },
		{ "Gr\xf6\xdf""e %d of %d", "ii", "{packed;a1:i32,of:i32}" },
		{ "half %", "i", "{packed;a1:i32}" },
		{ "too few", "ii", "{packed;a1:i32,a2:i32}" },
		{ "%x %X %u%d%d%d%d%d%d%d%d", "iuuiiiiiii",
		  "{packed;a1:x32,a2:x32,a3:u32,a4:i32,a5:i32,a6:i32,a7:i32,a8:i32,a9:i32,a10:i32}" },
	};
	trace_id_t trid;

	shm_private("");
	trid = running();
	for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		char name[] = { 'n', (char)('a' + i), 0 };
		struct posixtrace_format format = { { name, NULL, 0 }, cases[i].types, 0 };
		static const int32_t numbers[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };
		unsigned long long values[10] = { 0 };

		for (unsigned k = 0; k < 10; k++)
			memcpy(&values[k], &numbers[k], sizeof numbers[k]);

		posixtrace_event_format(&format, cases[i].format, values);
		check_note(trid, name, cases[i].layout, numbers, 4 * strlen(cases[i].types));
	}
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
}

/* A name has the layout of its first format. Events of another format have another name, not wrong fields. */
TEST(notes_of_one_name)
{
	static struct posixtrace_event declared = { "shop.note", "{packed;order:i32,of:z}", 0 };
	char long_name[TRACE_EVENT_NAME_MAX + 1];
	struct posixtrace_format of_long_name = { { long_name, NULL, 0 }, "i", 0 };
	struct posixtrace_format other_type = { { long_name, NULL, 0 }, "u", 0 };
	const struct __attribute__((packed)) {
		int32_t number;
		char text[2];
	} order = { 7, "a" };
	int32_t number = 7;
	trace_id_t trid;

	shm_private("");
	trid = running();
	posixtrace_event_open(&declared);
	for (int i = 0; i < 2; i++) {
		tracef("shop.note", "paid %d", number);
		check_note(trid, "shop.note(paid:i32)", "{packed;paid:i32}", &number, sizeof number);
		tracef("shop.note", "order %u", 7U);
		check_note(trid, "shop.note(order:u32)", "{packed;order:u32}", &number, sizeof number);
		tracef("shop.note", "order: %d, of: %s.", number, "a");
		check_note(trid, "shop.note", "{packed;order:i32,of:z}", &order, sizeof order);
	}
	/* There is no room for the fields in the name. */
	memset(long_name, 'n', sizeof long_name - 1);
	long_name[sizeof long_name - 1] = 0;
	posixtrace_event_format(&of_long_name, "%d", &(unsigned long long){ value_of(7) });
	check_note(trid, long_name, "{packed;a1:i32}", &number, sizeof number);
	posixtrace_event_format(&other_type, "%u", &(unsigned long long){ value_of(7) });
	memcpy(long_name + 53, "#b7328e84)", sizeof "#b7328e84)");
	check_note(trid, long_name, "{packed;a1:u32}", &number, sizeof number);
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
}

TEST(texts_of_notes)
{
	char text[600];
	struct stream_event e;
	trace_id_t trid;

	shm_private("");
	trid = running();
	for (size_t n = 0; n < sizeof text; n++) {
		memset(text, 'a', n);
		text[n] = 0;
		tracef("shop.note", "%s%s%s", text, (char *)NULL, "end");
		stream_next(trid, &e);
		if (n <= 255) {
			CHECK_EQ("-", e.len, n + 1 + sizeof "(null)" + sizeof "end");
			CHECK_STR("-", (char *)e.data, text);
		} else {
			CHECK_EQ("-", e.len, 255 + 1 + sizeof "(null)" + sizeof "end");
			CHECK("-", memcmp(e.data, text, 252) == 0);
			CHECK_STR("-", (char *)e.data + 252, "\xe2\x80\xa6");
		}
		CHECK_STR("-", (char *)e.data + e.len - sizeof "(null)" - sizeof "end", "(null)");
		CHECK_STR("-", (char *)e.data + e.len - sizeof "end", "end");
	}
	memset(text, 'a', 250);
	strcpy(text + 250, "\xe2\x82\xac\xe2\x82\xac"); /* two characters of three bytes, the second is cut */
	tracef("shop.note", "%s%s%s", text, text, text);
	stream_next(trid, &e);
	CHECK_STR("-", (char *)e.data + 250, "\xe2\x80\xa6");
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
}

/* Returns a text of 5 bytes without a null, at the end of memory that can be read. */
static char *hello_at_end(void)
{
	char *pages = mmap(NULL, 0x20000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	MUST(pages != MAP_FAILED && mprotect(pages + 0x10000, 0x10000, PROT_NONE) == 0);
	return memcpy(pages + 0x10000 - 5, "hello", 5);
}

/* No more bytes of a text are read than its precision, wherever that is. */
TEST(precisions_of_notes)
{
	char *hello = hello_at_end(), longer[600];
	const struct __attribute__((packed)) {
		int32_t width, precision;
		char text[6];
	} both = { 7, 4, "hell" };
	const struct __attribute__((packed)) {
		double real;
		int64_t number;
		int32_t precision;
		char text[3], rest[3];
	} last = { 0.5, 6, 2, "he", "he" };
	trace_id_t trid;

	shm_private("");
	trid = running();
	for (int i = 0; i < 2; i++) {
		tracef("shop.constant", "of %.5s", hello);
		check_note(trid, "shop.constant", "{packed;of:z}", "hello", 6);
		tracef("shop.none", "of %.s", hello + 5);
		check_note(trid, "shop.none", "{packed;of:z}", "", 1);
		tracef("shop.null", "of %.3s", (char *)NULL);
		check_note(trid, "shop.null", "{packed;of:z}", "(null)", 7);
		tracef("shop.both", "of %-*.*s", both.width, both.precision, hello);
		check_note(trid, "shop.both", "{packed;a1:i32,a2:i32,of:z}", &both, 4 + 4 + 5);
		tracef("shop.last", "real %.1Lf number %5.3lld of %.*s, 100%% %m rest %.2s", 0.5L, 6LL, last.precision,
		       hello, hello);
		check_note(trid, "shop.last", "{packed;real:f64,number:i64,a3:i32,of:z,rest:z}", &last, sizeof last);
		tracef("shop.negative", "of %.*s", -1, "hello");
		check_note(trid, "shop.negative", "{packed;a1:i32,of:z}", "\377\377\377\377hello", 4 + 6);
		tracef("shop.positions", "%2$.*1$s", 5, hello);
		check_note(trid, "shop.positions", "{packed;a1:i32,a2:z}",
		           *(const uint16_t *)"\1" == 1 ? "\5\0\0\0hello" : "\0\0\0\5hello", 4 + 6);
	}
	/* A text that is longer than a field, and than the precision. */
	for (int precision = 254; precision < 258; precision++) {
		struct stream_event e;

		memset(longer, 'a', sizeof longer);
		tracef("shop.longer", "of %.*s", precision, longer);
		stream_next(trid, &e);
		CHECK_EQ("-", e.len, 4 + (size_t)(precision < 255 ? precision : 255) + 1);
		CHECK_STR("-", (char *)e.data + 4 + 252,
		          precision == 254 ? "aa" : precision == 255 ? "aaa" : "\xe2\x80\xa6");
	}
	CHECK_EQ("-", munmap(hello + 5 - 0x10000, 0x20000), 0);
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
}

/* In a process that nobody traces nothing is opened, and after the first trace point no value is evaluated. */
TEST(nobody_traces)
{
	trace_id_t trid;

	shm_private("");
	for (int i = 0; i < 10; i++) {
		TRACE_SCOPE("shop.work");
		TRACE_COUNTER("shop.counter", evaluate());
		trace(shop, first_of_many, evaluate());
		tracef("shop.note", "%u", evaluate());
	}
	CHECK_EQ("-", evaluated, 0);
	CHECK_EQ("-", posixtrace_enabled(), 0);
	CHECK_EQ("-", shm_count(shm_directory(), "names-"), 0);
	trid = running();
	trace(shop, first_of_many, evaluate());
	CHECK_EQ("-", evaluated, 1);
	tracef("shop.note", "%u", evaluate());
	CHECK_EQ("-", evaluated, 2);
	CHECK_EQ("-", stream_count(trid, stream_id("shop.first_of_many")), 1);
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
}

/* Reads an event, and checks its name, and the layout and the bytes of its value. */
static void check_counter(trace_id_t trid, const char *name, const char *type, const void *value)
{
	char layout[32];

	snprintf(layout, sizeof layout, "{counter;value:%s}", type);
	check_note(trid, name, layout, value, sizeof(uint64_t));
}

/* Counters have the values that the program gives them, whatever their types. */
TEST(counters)
{
	const volatile uint64_t most = UINT64_MAX, more = (uint64_t)INT64_MAX + 1;
	const int64_t five = 5, least = INT64_MIN;
	const uint64_t greatest = INT64_MAX;
	const double parts[] = { 0.75, 0.5, 0.25 };
	struct {
		unsigned few : 3;
	} bits = { 5 };
	trace_id_t trid;

	shm_private("");
	trid = running();
	for (int i = 0; i < 2; i++) {
		TRACE_COUNTER("shop.frac", parts[0]);
		check_counter(trid, "shop.frac", "f64", &parts[0]);
		TRACE_COUNTER("shop.frac", 0.5F);
		check_counter(trid, "shop.frac", "f64", &parts[1]);
		TRACE_COUNTER("shop.frac", 0.25L);
		check_counter(trid, "shop.frac", "f64", &parts[2]);
		TRACE_COUNTER("shop.bytes", (size_t)5);
		check_counter(trid, "shop.bytes", "i64", &five);
		TRACE_COUNTER("shop.bytes", bits.few);
		check_counter(trid, "shop.bytes", "i64", &five);
		TRACE_COUNTER("shop.bytes", INT64_MIN);
		check_counter(trid, "shop.bytes", "i64", &least);
		TRACE_COUNTER("shop.bytes", (uint64_t)INT64_MAX);
		check_counter(trid, "shop.bytes", "i64", &greatest);
		TRACE_COUNTER("shop.bytes", most);
		check_counter(trid, "shop.bytes(value:u64)", "u64", (const void *)&most);
		TRACE_COUNTER("shop.bytes", more);
		check_counter(trid, "shop.bytes(value:u64)", "u64", (const void *)&more);
		TRACE_COUNTER("shop.bytes", parts[1]);
		check_counter(trid, "shop.bytes(value:f64)", "f64", &parts[1]);
	}
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
}

static void leave_early(bool early)
{
	TRACE_SCOPE("shop.work");
	if (early)
		return;
	TRACE_COUNTER("shop.counter", -5);
}

static __attribute__((noinline)) void begin_untraced(trace_id_t *trid)
{
	TRACE_SCOPE("shop.untraced");
	*trid = running();
}

TEST(scopes)
{
	static const char *const expected[] = { "shop.work.begin", "shop.counter", "shop.work.end", "shop.work.begin",
		                                "shop.work.end" };
	struct stream_event e;
	trace_id_t trid;
	int64_t value;

	shm_private("");
	fault_open("anything");
	TRACE_COUNTER("shop.counter", 0); /* the process finds out that nobody traces */
	begin_untraced(&trid);
	leave_early(false);
	leave_early(true);
	for (int i = 0; i < 5; i++) {
		stream_next(trid, &e);
		CHECK_STR("-", name_of(trid, e.info.posix_event_id), expected[i]);
		if (i == 1) {
			CHECK_STR("-", layout_of(trid, e.info.posix_event_id), "{counter;value:i64}");
			memcpy(&value, e.data, sizeof value);
			CHECK_EQ("-", value, -5);
		}
	}
	CHECK_EQ("-", stream_drain(trid), 0);
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
}

/* A scope. trid, if not null: a stream that begins in it, which must not see its end. */
static void begin_first(trace_id_t *trid)
{
	TRACE_SCOPE("shop.first");
	if (!trid)
		return;
	CHECK_EQ("-", posixtrace_enabled(), 0);
	*trid = running();
}

/* A beginning that finds out that nobody traces has no end: the first event of a process, and that of a child. */
TEST(scopes_first)
{
	struct stream_event e;
	trace_id_t trid;

	shm_private("");
	for (int i = 0; i < 2; i++) {
		trace_id_t before = 0;
		pid_t child;
		int status;

		/* The second time the event type is open already, because the parent has recorded it. */
		if (i > 0) {
			trace_attr_t attr;

			MUST(posix_trace_attr_init(&attr) == 0);
			MUST(posix_trace_attr_setinherited(&attr, POSIX_TRACE_CLOSE_FOR_CHILD) == 0);
			before = stream_running(&attr);
			posix_trace_attr_destroy(&attr);
			begin_first(NULL);
			stream_next(before, &e);
			CHECK_STR("-", name_of(before, e.info.posix_event_id), "shop.first.begin");
		}
		child = fork();
		MUST(child >= 0);
		if (child == 0) {
			CHECK_EQ("-", posixtrace_enabled(), 1);
			begin_first(&trid);
			CHECK_EQ("-", stream_drain(trid), 0);
			CHECK_EQ("-", posix_trace_shutdown(trid), 0);
			_exit(test_failures != 0);
		}
		MUST(waitpid(child, &status, 0) == child);
		CHECK_EQ("-", status, 0);
		if (i > 0)
			CHECK_EQ("-", posix_trace_shutdown(before), 0);
	}
}

/* The attributes are part of the layout. */
TEST(meanings)
{
	struct stream_event e;
	trace_id_t trid;

	shm_private("");
	fault_open("anything");
	trid = running();
	trace(shop, request_in, 7);
	stream_next(trid, &e);
	CHECK_STR("-", name_of(trid, e.info.posix_event_id), "shop.request_in");
	CHECK_STR("-", layout_of(trid, e.info.posix_event_id), "{packed,begin=request,by=id;id:u32}");
	CHECK_EQ("-", e.len, sizeof(uint32_t));
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
}

/* The most code of these functions. A sanitizer adds much of it. */
#if defined __SANITIZE_ADDRESS__ || !defined __OPTIMIZE__
# define HERE_BYTES 16000u
#else
# define HERE_BYTES 2000u
#endif

static __attribute__((noinline)) void here(void)
{
	trace(shop, first_of_many, 1);
	TRACE_COUNTER("shop.counter", 1);
	tracef("shop.note", "%d", 1);
	trace(shop, order, 1, "tea", 199);
	__asm__ volatile("");
}

static __attribute__((noinline)) void and_here(void)
{
	tracef("shop.here_of", "order %d of %s", 1, "tea");
	tracef("shop.here_two", "%s of %s", "tea", "pot");
	tracef("shop.here_only", "nothing");
	__asm__ volatile("");
}

/* The address of an event is that of the trace point, not of a function of the header. */
TEST(addresses)
{
	struct stream_event e;
	trace_id_t trid;

	shm_private("");
	trid = running();
	/* The second time, the event types are open. */
	for (int i = 0; i < 2; i++) {
		here();
		and_here();
	}
	for (int i = 0; i < 2 * 7; i++) {
		stream_next(trid, &e);
		CHECK("-", (uintptr_t)e.info.posix_prog_address - (uintptr_t)(i % 7 < 4 ? here : and_here) <
		           HERE_BYTES);
	}
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
}

#define THREADS 8
#define EACH    500

static atomic_uint waiting;

static void *many(void *arg)
{
	/* All have their first event at the same time. */
	atomic_fetch_add(&waiting, 1);
	while (atomic_load(&waiting) < THREADS)
		;
	for (uint32_t i = 0; i < EACH; i++) {
		trace(shop, first_of_many, i);
		tracef("shop.note", "in a thread %u", i);
	}
	return arg;
}

TEST(threads)
{
	pthread_t thread[THREADS];
	trace_event_id_t first, note;
	struct stream_event e;
	int firsts = 0, notes = 0;
	trace_id_t trid;

	shm_private("");
	trid = running();
	for (int i = 0; i < THREADS; i++)
		MUST(pthread_create(&thread[i], NULL, many, NULL) == 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	first = stream_id("shop.first_of_many");
	note = stream_id("shop.note");
	while (stream_try(trid, &e)) {
		firsts += posix_trace_eventid_equal(trid, e.info.posix_event_id, first) != 0;
		notes += posix_trace_eventid_equal(trid, e.info.posix_event_id, note) != 0;
	}
	CHECK_EQ("-", firsts, THREADS * EACH);
	CHECK_EQ("-", notes, THREADS * EACH);
	CHECK_STR("-", layout_of(trid, note), "{packed;in_a_thread:u32}");
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
}

static volatile uint32_t handled;

static void handler(int signal)
{
	(void)signal;
	trace(shop, in_handler, handled);
	tracef("shop.handled", "%u", handled);
	handled++;
}

/* The handler's first event comes at any time, also while the program has its own first one. */
TEST(handlers)
{
	for (int round = 0; round < 20; round++) {
		int status;
		pid_t child = fork();

		MUST(child >= 0);
		if (child == 0) {
			struct itimerval often = { { 0, 50 + round }, { 0, 30 + round } };
			uint32_t n = 0, of_program = 0, of_handler = 0;
			struct stream_event e;
			trace_event_id_t id;
			trace_id_t trid;

			shm_private("");
			trid = running();
			signal(SIGALRM, handler);
			setitimer(ITIMER_REAL, &often, NULL);
			while (n < 200 || handled < 20)
				trace(shop, first_of_many, n++);
			often.it_value.tv_usec = often.it_interval.tv_usec = 0;
			setitimer(ITIMER_REAL, &often, NULL);
			id = stream_id("shop.in_handler");
			while (stream_try(trid, &e))
				if (posix_trace_eventid_equal(trid, e.info.posix_event_id, id))
					of_handler++;
				else if (strcmp(name_of(trid, e.info.posix_event_id), "shop.first_of_many") == 0)
					of_program++;
			CHECK_EQ("-", of_handler, handled);
			/* A program that is faster than 4 MiB of events is none of this test's business. */
			CHECK("-", of_program == n || n > 50000);
			_exit(test_failures != 0);
		}
		MUST(waitpid(child, &status, 0) == child);
		CHECK_EQ("-", status, 0);
	}
}

/* Children by fork and by a bare system call, before and after the parent's first event. */
TEST(children)
{
	trace_id_t trid;

	shm_private("");
	trid = running();
	for (uint32_t i = 0; i < 4; i++) {
		pid_t child = i % 2 ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();

		MUST(child >= 0);
		if (child == 0) {
			trace(shop, first_of_many, i);
			trace(shop, order, i, "child", 1);
			_exit(0);
		}
		MUST(waitpid(child, NULL, 0) == child);
		if (i > 0)
			trace(shop, first_of_many, 10 + i);
	}
	CHECK_EQ("-", stream_count(trid, stream_id("shop.first_of_many")), 4 + 3);
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
}

/* A daemon that has looked for its streams before it becomes another user records afterwards, with names. */
TEST(another_user)
{
	struct stream_event e;
	trace_id_t trid;
	int go[2], status;
	pid_t child;

	if (geteuid() != 0)
		SKIP("not root");
	shm_private("");
	MUST(pipe(go) == 0);
	child = fork();
	MUST(child >= 0);
	if (child == 0) {
		char byte;

		MUST(read(go[0], &byte, 1) == 1);
		posixtrace_attach(); /* the header does so before main() */
		MUST(setgid(65534) == 0 && setuid(65534) == 0);
		trace(shop, order, 7, "tea", 199);
		trace(shop, open);
		MUST(read(go[0], &byte, 1) == 1); /* the names are read while the process lives */
		_exit(0);
	}
	MUST(posix_trace_create(child, NULL, &trid) == 0 && posix_trace_start(trid) == 0);
	MUST(write(go[1], "1", 1) == 1);
	do
		MUST(posix_trace_getnext_event(trid, &e.info, e.data, sizeof e.data, &e.len, &status) == 0);
	while (e.info.posix_event_id < POSIX_TRACE_UNNAMED_USEREVENT);
	CHECK_STR("-", name_of(trid, e.info.posix_event_id), "shop.order");
	CHECK_STR("-", layout_of(trid, e.info.posix_event_id), "{packed;id:u32,item:z,price:u64/ct}");
	MUST(posix_trace_getnext_event(trid, &e.info, e.data, sizeof e.data, &e.len, &status) == 0);
	CHECK_STR("-", name_of(trid, e.info.posix_event_id), "shop.open");
	MUST(write(go[1], "2", 1) == 1);
	MUST(waitpid(child, &status, 0) == child);
	CHECK_EQ("-", status, 0);
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
}

/* A process without streams makes nothing when it looks for them. */
TEST(attached_to_nothing)
{
	shm_private("");
	posixtrace_attach();
	CHECK_EQ("-", shm_count("/dev/shm", "posixtrace-"), 0);
}

/* One event type, whoever defines it; a module may be unloaded and loaded again. */
TEST(files_and_modules)
{
	struct stream_event e;
	trace_event_id_t id;
	trace_id_t trid;
	int n = 0;

	shm_private("");
	trid = running();
	trace(shop, order, 0, "here", 1);
	typed_other(1);
#ifdef MODULE_PATH
	for (int i = 0; i < 3; i++) {
		void *module = dlopen(MODULE_PATH, RTLD_NOW);
		void (*record)(uint32_t);

		MUST(module);
		*(void **)&record = dlsym(module, "typed_module");
		MUST(record);
		record(2);
		dlclose(module);
	}
#endif
	id = stream_id("shop.order");
	for (; stream_try(trid, &e); n++) {
		CHECK("-", posix_trace_eventid_equal(trid, e.info.posix_event_id, id));
		CHECK_STR("-", layout_of(trid, e.info.posix_event_id), "{packed;id:u32,item:z,price:u64/ct}");
	}
#ifdef MODULE_PATH
	CHECK_EQ("-", n, 5);
#else
	CHECK_EQ("-", n, 2);
#endif
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
}

/* 16 bytes. */
#define UMLAUTS "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"

/* A name has the layout of its first event. Events with other fields have another name, not wrong fields. */
TEST(layouts_of_one_name)
{
	static const struct {
		const char *name, *layout, *other;
	} cases[] = {
		{ "row", "{b:u64}", "row(b:u64)" },
		{ "row", "{packed;b:u64}", "row(b:u64)#" }, /* the name is taken, so there is none */
		{ "row", "{took=time,level=info;time:u64/us,state:u8<idle,busy>}",
		  "row(time:u64/us,state:u8<idle,busy>)" },
		{ "row", "{the_first_of_many_fields:u64,the_second_of_many_fields:u32}",
		  "row(the_first_of_many_fields:u64,the_second_of_many_f#" },
		{ "row", "{the_first_of_many_fields:u64,the_second_of_many_fields:u16}",
		  "row(the_first_of_many_fields:u64,the_second_of_many_f#" },
		{ "row", "{" UMLAUTS ":u8," UMLAUTS "1:u8,x" UMLAUTS UMLAUTS ":u16}",
		  "row(" UMLAUTS ":u8," UMLAUTS "1:u8,x\xc3\xa4\xc3\xa4\xc3\xa4#" },
	};
	trace_event_id_t id[6], first;
	trace_id_t trid;

	shm_private("");
	trid = running();
	CHECK_EQ("-", posixtrace_declare("row", "{a:u32}", &first), 0);
	for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		/* A name that is too long for its fields ends with a number. */
		size_t length = strcspn(cases[i].other, "#"), whole = length + (cases[i].other[length] ? 10 : 0);

		/* In each file that has the event. */
		for (int file = 0; file < 2; file++) {
			struct posixtrace_event event = { cases[i].name, cases[i].layout, 0 };

			id[i] = posixtrace_event_open(&event);
			CHECK_EQ(cases[i].layout, event.__id, id[i]);
			if (i == 1) {
				CHECK_EQ("-", id[i], POSIX_TRACE_UNNAMED_USEREVENT);
				continue;
			}
			CHECK(cases[i].layout, strncmp(name_of(trid, id[i]), cases[i].other, length) == 0);
			CHECK_STR(cases[i].layout, layout_of(trid, id[i]), cases[i].layout);
			CHECK_EQ(cases[i].layout, strlen(name_of(trid, id[i])), whole);
		}
		for (unsigned k = 0; k < i; k++)
			CHECK(cases[i].layout, id[k] != id[i]);
	}
	CHECK_STR("-", layout_of(trid, first), "{a:u32}");
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
}

/* Events are recorded also if their name is too long, or belongs to a system event. */
TEST(refused)
{
	static struct posixtrace_event long_name = { "", NULL, 0 }, of_system = { "posix_trace_start", NULL, 0 };
	char name[TRACE_EVENT_NAME_MAX + 2];
	struct posixtrace_format long_format = { { name, NULL, 0 }, "i", 0 };
	struct posixtrace_format format_of_system = { { "posix_trace_start", NULL, 0 }, "i", 0 };
	trace_id_t trid;

	shm_private("");
	trid = running();
	memset(name, 'n', sizeof name - 1);
	name[sizeof name - 1] = 0;
	long_name.__name = name;
	CHECK_EQ("-", posixtrace_event_open(&long_name), POSIX_TRACE_UNNAMED_USEREVENT);
	CHECK_EQ("-", posixtrace_event_open(&of_system), POSIX_TRACE_UNNAMED_USEREVENT);
	posixtrace_event_format(&long_format, "%d", &(unsigned long long){ value_of(7) });
	posixtrace_event_format(&format_of_system, "%d", &(unsigned long long){ value_of(7) });
	CHECK_EQ("-", long_format.__event.__id, POSIX_TRACE_UNNAMED_USEREVENT);
	CHECK_EQ("-", format_of_system.__event.__id, POSIX_TRACE_UNNAMED_USEREVENT);
	CHECK_EQ("-", stream_drain(trid), 2);
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
}

TEST_MAIN(TEST_ENTRY(all_types), TEST_ENTRY(texts), TEST_ENTRY(texts_at_the_end), TEST_ENTRY(texts_at_pages),
          TEST_ENTRY(texts_in_streams), TEST_ENTRY(texts_in_chunks), TEST_ENTRY(texts_with_sizes), TEST_ENTRY(views),
          TEST_ENTRY(arrays),
          TEST_ENTRY(notes), TEST_ENTRY(names_of_notes), TEST_ENTRY(notes_of_one_name), TEST_ENTRY(texts_of_notes),
          TEST_ENTRY(precisions_of_notes), TEST_ENTRY(nobody_traces), TEST_ENTRY(counters), TEST_ENTRY(scopes),
          TEST_ENTRY(scopes_first), TEST_ENTRY(meanings), TEST_ENTRY(addresses), TEST_ENTRY(threads),
          TEST_ENTRY(handlers), TEST_ENTRY(children), TEST_ENTRY(another_user), TEST_ENTRY(attached_to_nothing),
          TEST_ENTRY(files_and_modules), TEST_ENTRY(layouts_of_one_name), TEST_ENTRY(refused))
