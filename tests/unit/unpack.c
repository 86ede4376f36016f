/*
 * unpack.c - src/log/unpack.c: any bytes as a body: refused, or as many events as announced
 *
 * SPDX-License-Identifier: MIT
 */
#include "log/unpack.h"

#include "log/pack.h"
#include "unit_log.h"

#define SIZE_MAX_ 300000

static struct unpack u;
static unsigned char body[SIZE_MAX_];
static size_t size; /* of the body */
static struct frame frame;
static uint64_t now; /* time of the last event */

/* The body is copied to the end of this memory. After the bytes that unpack may read, the memory is not mapped. */
static unsigned char *edge;

static void begin(void)
{
	if (!edge)
		edge = log_memory(SIZE_MAX_ + UNPACK_SLACK) + SIZE_MAX_ + UNPACK_SLACK;
	size = 0;
	now = 1000;
	frame = (struct frame){ .kind = FRAME_SEGMENT, .first = now };
}

static void add(const void *bytes, size_t n)
{
	MUST(size + n <= sizeof body);
	memcpy(body + size, bytes, n);
	size += n;
}

static void add_number(uint64_t n)
{
	unsigned char bytes[VARINT_BYTES];

	add(bytes, (size_t)(put_varint(bytes, n) - bytes));
}

static void add_byte(unsigned b)
{
	unsigned char byte = (unsigned char)b;

	add(&byte, 1);
}

static void add_thread(uint32_t tid, const char *name, unsigned length)
{
	unsigned char fixed[19] = { 0, ITEM_THREAD };

	put32(fixed + 2, 1);
	put32(fixed + 6, tid);
	put64(fixed + 10, 3);
	fixed[18] = (unsigned char)length;
	add(fixed, sizeof fixed);
	add(name, length);
}

static void add_shape(uint64_t thread, uint64_t id, unsigned flags, uint64_t length)
{
	add_byte(0);
	add_byte(ITEM_SHAPE);
	add_number(thread);
	add_number(id);
	add_byte(flags);
	add_number(length);
	add("\1\2\3\4\5\6\7\10", 8);
}

static void add_back(uint64_t n)
{
	add_byte(0);
	add_byte(ITEM_BACK);
	add_number(n);
	now -= n;
}

/* Adds an event of a shape without data. */
static void add_event(uint64_t shape, uint64_t step)
{
	add_number(shape + 1);
	add_number(step);
	now += step;
	frame.events++;
	frame.last = now;
}

static uint32_t total; /* keeps the compiler from removing the reads */

/*
 * Returns whether the bytes are accepted as a body. If so, checks the number of events and that each of them is
 * valid.
 */
static bool taken_of(const unsigned char *bytes, size_t n)
{
	unsigned char *at = edge - UNPACK_SLACK - n;
	const struct log_event *e;
	const unsigned char *data;
	uint32_t events = 0, sum = 0;
	uint64_t latest = 0;

	memcpy(at, bytes, n);
	frame.size = (uint32_t)n;
	if (!unpack_begin(&u, &frame, at)) {
		CHECK("-", unpack_next(&u, &data) == NULL);
		return false;
	}
	while ((e = unpack_next(&u, &data))) {
		events++;
		latest = e->time > latest ? e->time : latest;
		CHECK("-", eventtype_possible(e->id) && e->length <= RECORD_DATA_MAX &&
		      memchr(e->name, 0, sizeof e->name));
		for (uint32_t i = 0; i < e->length; i++)
			sum += data[i]; /* the data is readable */
	}
	CHECK_EQ("OPEN-8", events, frame.events);
	CHECK_EQ("-", u.latest, latest);
	CHECK("-", unpack_next(&u, &data) == NULL);
	total += sum;
	return true;
}

static bool taken(void)
{
	return taken_of(body, size);
}

TEST(nothing)
{
	begin();
	CHECK("-", taken());
	frame.events = 1;
	CHECK("-", !taken());
}

/* The bytes as in docs/log-format.md. */
TEST(by_hand)
{
	const struct log_event *e;
	const unsigned char *data;

	begin();
	add_thread(2, "fifteen letters", 15);
	add_shape(0, 64, 0xfe | SHAPE_TRUNCATED, 9);
	add_event(0, 0);
	add("\x12\xaa\xbb\xcc", 4); /* two bytes of the first word, one of the second */
	add_thread(9, "", 0);
	add_shape(1, 1983, 0, 0);
	add_back(3);
	add_event(1, 1);
	add_event(0, 5);
	add("\x02\x01\x02", 3);
	MUST(taken());

	MUST(unpack_begin(&u, &frame, edge - UNPACK_SLACK - size));
	e = unpack_next(&u, &data);
	MUST(e);
	CHECK("LOG-20", e->id == 64 && e->truncated && e->pid == 1 && e->tid == 2 && e->pthread == 3 &&
	      e->time == 1000 && e->length == 9);
	CHECK("LOG-20", e->address == UINT64_C(0x0807060504030201));
	CHECK_STR("LOG-20", e->name, "fifteen letters");
	CHECK("LOG-20", memcmp(data, "\xaa\xbb\0\0\0\0\0\0\xcc", 9) == 0);
	e = unpack_next(&u, &data);
	MUST(e);
	CHECK("LOG-20", e->id == 1983 && !e->truncated && e->tid == 9 && e->time == 998 && e->length == 0);
	e = unpack_next(&u, &data);
	MUST(e);
	CHECK("LOG-20", e->id == 64 && e->time == 1003 && memcmp(data, "\xab\xb9\0\0\0\0\0\0\xcc", 9) == 0);
	CHECK("-", unpack_next(&u, &data) == NULL);
}

/* The last event is not the latest. */
TEST(latest)
{
	begin();
	add_thread(2, "", 0);
	add_shape(0, 64, 0, 0);
	add_event(0, 0);
	add_event(0, 7);
	add_back(5);
	add_event(0, 1);
	CHECK("-", taken());
	CHECK_EQ("-", u.latest, 1007);
}

/* Checks that this change alone makes the body invalid. */
#define REFUSED(what)                                            \
	do {                                                     \
		size_t size_ = size;                             \
		struct frame frame_ = frame;                     \
		uint64_t now_ = now;                             \
		CHECK("-", taken());                             \
		what;                                            \
		if (taken())                                     \
			TEST_FAIL("OPEN-8", "%s is taken", #what); \
		size = size_;                                    \
		frame = frame_;                                  \
		now = now_;                                      \
	} while (0)

TEST(refused)
{
	begin();
	add_thread(2, "name", 4);
	add_shape(0, 64, 0, 0);
	add_event(0, 0);
	REFUSED(frame.events++);
	REFUSED(frame.events--);
	REFUSED(frame.events = UINT32_MAX);
	REFUSED(frame.first--); /* frame.first must be the first event's time, frame.last the last one's */
	REFUSED(frame.last++);
	REFUSED((add_event(0, 1), frame.last--));
	REFUSED(add_event(1, 0)); /* no such shape */
	REFUSED(add_event(UINT64_MAX - 1, 0));
	REFUSED(add_event(SHAPES_MAX, 0));
	REFUSED(add_event(0, UINT64_MAX)); /* beyond the maximum */
	REFUSED(add_event(0, UINT64_MAX - 999));
	REFUSED(add_back(1001));
	REFUSED(add_back(UINT64_MAX));
	REFUSED(add_thread(3, "a name that is too long", 16));
	REFUSED(add_thread(3, "a name that is too long", 23));
	REFUSED(add_shape(1, 64, 0, 0)); /* no such thread */
	REFUSED(add_shape(UINT64_MAX, 64, 0, 0));
	REFUSED(add_shape(UINT64_C(1) << 32, 64, 0, 0));
	REFUSED(add_shape(0, 0, 0, 0)); /* no such type */
	REFUSED(add_shape(0, EVENT_ID_END, 0, 0));
	REFUSED(add_shape(0, (UINT64_C(1) << 32) + 64, 0, 0));
	REFUSED(add_shape(0, 64, 0, RECORD_DATA_MAX + 1));
	REFUSED(add_shape(0, 64, 0, UINT64_MAX));
	REFUSED(add_shape(0, 64, 0, UINT64_C(1) << 32));
	REFUSED((add_byte(0), add_byte(0)));
	REFUSED((add_byte(0), add_byte(4)));
	REFUSED((add_byte(0), add_byte(255)));
	REFUSED(add_byte(0)); /* cut off after it */
	REFUSED(add_byte(0x80));
	REFUSED(add("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\1", 11));
	REFUSED((add_byte(0), add_byte(ITEM_THREAD)));
	REFUSED((add_byte(0), add_byte(ITEM_SHAPE)));
	REFUSED((add_byte(0), add_byte(ITEM_BACK)));
	REFUSED((add_thread(3, "name", 4), size--));
	REFUSED((add_shape(0, 64, 0, 0), size--));
	REFUSED((add_event(0, 1), size--));
	/* These changes are accepted. */
	add_shape(0, 1, 0xff, RECORD_DATA_MAX);
	add_shape(0, EVENT_ID_END - 1, 0, 0);
	add_back(1000);
	CHECK("-", taken());
}

TEST(data_refused)
{
	static const unsigned char raw[300] = { 1 };

	begin();
	add_thread(2, "name", 4);
	add_shape(0, 64, 0, 12);
	add_shape(0, 64, 0, 257);
	add_event(0, 0);
	add("\x48" "12345678" "1234", 13); /* the maximum */
	REFUSED((add_event(0, 0), add("\x58" "12345678" "12345", 14))); /* more than the last word has */
	REFUSED((add_event(0, 0), add("\x80" "12345678", 9)));
	REFUSED((add_event(0, 0), add("\x09" "123456789", 10)));
	REFUSED((add_event(0, 0), add("\x0f" "123456789012345", 16)));
	REFUSED((add_event(0, 0), add("\x48" "12345678" "123", 12))); /* cut off */
	REFUSED((add_event(0, 0), add("\x48", 1)));
	REFUSED(add_event(0, 0));
	REFUSED((add_event(1, 0), add(raw, 256)));
	REFUSED(add_event(1, 0));
	add_event(1, 0);
	add(raw, 257);
	CHECK("-", taken());
	/* Three words: the fourth half byte must be zero. */
	begin();
	add_thread(2, "name", 4);
	add_shape(0, 64, 0, 17);
	add_event(0, 0);
	add("\x11\x01" "123", 5);
	REFUSED((add_event(0, 0), add("\x11\x11" "1234", 6)));
	REFUSED((add_event(0, 0), add("\x11\x02" "1234", 6)));
	CHECK("-", taken());
}

TEST(limits)
{
	begin();
	for (uint32_t i = 0; i < THREADS_MAX; i++)
		add_thread(i, "", 0);
	for (uint32_t i = 0; i < SHAPES_MAX; i++)
		add_shape(THREADS_MAX - 1 - i, 64, 0, i % (PACKED_MAX + 1));
	for (uint32_t i = 0; i < SHAPES_MAX; i += PACKED_MAX + 1)
		add_event(i, 0);
	CHECK("-", taken());
	add_thread(1, "", 0);
	CHECK("OPEN-8", !taken());
	size -= 19;
	CHECK("-", taken());
	add_shape(0, 64, 0, 0);
	CHECK("OPEN-8", !taken());
	/* All shapes with the longest packed data: the memory suffices. */
	begin();
	add_thread(1, "", 0);
	for (uint32_t i = 0; i < SHAPES_MAX; i++) {
		add_shape(0, 64, 0, PACKED_MAX);
		add_event(i, 0);
		for (int n = 0; n < 16; n++)
			add_byte(n < 15 ? 0 : 0x10);
		add_byte(i);
	}
	CHECK("-", taken());
}

/* -- Damaged bodies --------------------------------------------------------------------- */

static struct log_event good[200];
static unsigned char good_data[200][600];
static uint32_t good_end[200]; /* end of each event in the body */
static uint32_t goods;

static void begin_good(unsigned seed)
{
	static struct pack p;
	uint64_t time = 100000;

	begin();
	pack_begin(&p, body, 3000 + 1000 * (seed % 3), time);
	for (goods = 0; goods < 200; goods++) {
		struct log_event *e = &good[goods];

		log_event_make(e, good_data[goods], &seed, 600);
		time += log_random(&seed, 1000) - log_random(&seed, 200);
		e->time = goods ? time : 100000;
		if (!pack_event(&p, e, good_data[goods]))
			break;
		good_end[goods] = p.position;
	}
	MUST(goods > 3);
	size = p.position;
	frame.first = 100000;
	frame.last = good[goods - 1].time;
	frame.events = goods;
}

/* Cut off at each byte: refused, except after an event if the frame's count matches. */
TEST(cut)
{
	for (unsigned seed = 1; seed <= 6; seed++) {
		begin_good(seed);
		CHECK("-", taken());
		for (uint32_t cut = 0, n = 0; cut < size; cut++) {
			frame.events = goods;
			frame.last = good[goods - 1].time;
			CHECK("OPEN-8", !taken_of(body, cut));
			while (n < goods && good_end[n] <= cut)
				n++;
			frame.events = n;
			frame.last = n ? good[n - 1].time : frame.first;
			CHECK("-", taken_of(body, cut) || n == 0 || good_end[n - 1] != cut);
		}
	}
}

/* Each byte is changed to other values: refused or valid. */
TEST(changed)
{
	unsigned refused = 0, all = 0;

	for (unsigned seed = 1; seed <= 3; seed++) {
		begin_good(seed);
		for (size_t i = 0; i < size; i++)
			for (unsigned change = 1; change < 256; change = change * 2 + (seed & 1)) {
				body[i] ^= (unsigned char)change;
				refused += !taken();
				all++;
				body[i] ^= (unsigned char)change;
			}
	}
	/* Most bytes are data, in which any value is valid. */
	CHECK("-", refused > all / 20 && refused < all);
}

/* Bytes are inserted, removed and repeated, or all are random. */
TEST(any_bytes)
{
	static unsigned char other[SIZE_MAX_];
	unsigned seed = 77, valid = 0;

	for (int round = 0; round < 20000; round++) {
		size_t n, at, length;

		if (round % 200 == 0)
			begin_good((unsigned)round / 200);
		memcpy(other, body, size);
		n = size;
		at = log_random(&seed, (unsigned)size);
		length = 1 + log_random(&seed, 1 + log_random(&seed, 50));
		if (length > n - at)
			length = n - at;
		switch (round % 4) {
		case 0:
			memmove(other + at, other + at + length, n - at - length);
			n -= length;
			break;
		case 1:
			memmove(other + at + length, other + at, n - at);
			n += length;
			break;
		case 2:
			for (size_t i = 0; i < length; i++)
				other[at + i] = (unsigned char)rand_r(&seed);
			break;
		default:
			n = log_random(&seed, 200);
			for (size_t i = 0; i < n; i++)
				other[i] = (unsigned char)log_random(&seed, round % 3 ? 6 : 256);
			frame.events = log_random(&seed, 4);
			break;
		}
		valid += taken_of(other, n);
		frame.events = goods;
	}
	CHECK("-", valid > 0);
}

TEST_MAIN(TEST_ENTRY(nothing), TEST_ENTRY(by_hand), TEST_ENTRY(latest), TEST_ENTRY(refused), TEST_ENTRY(data_refused),
          TEST_ENTRY(limits), TEST_ENTRY(cut), TEST_ENTRY(changed), TEST_ENTRY(any_bytes))
