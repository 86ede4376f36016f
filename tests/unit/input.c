/*
 * input.c - src/log/input.c: any file read as a log: only valid events come out
 *
 * SPDX-License-Identifier: MIT
 */
#include "log/input.h"

#include "sanitizer.h"
#include "unit_log.h"

static struct input in;

/* Returns the name of an event type, or null if the log does not define it. */
static const char *name_of(trace_event_id_t id)
{
	return eventtype_possible(id) && in.type[id] ? in.name[id] : NULL;
}

/* Returns the processor time of this process in ns. */
static int64_t worked(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

/* -- Reading back ------------------------------------------------------------------------ */

/*
 * The numbers that log_put_numbers() and log_writer_number() have written. Where some are missing, the log must
 * report a loss. Any other event counts as a failure.
 */
struct seen {
	uint64_t count;
	uint64_t first, last; /* numbers */
	unsigned gaps;
	uint64_t from; /* the first missing number of the last gap */
	uint32_t crc;  /* of all numbers in sequence */
};

static struct seen read_all(void)
{
	struct seen s = { .count = 0 };
	uint64_t overflow = 0, resume = 0, number;
	const struct log_event *e;
	const unsigned char *data;
	unsigned wrong = 0;

	while ((e = input_next(&in, &data))) {
		if (e->id == POSIX_TRACE_OVERFLOW) {
			wrong += overflow || resume || e->length || e->pid || e->tid || e->address || e->pthread ||
				e->truncated;
			/* The time of the event before, or of the creation. */
			overflow = e->time;
			wrong += overflow != LOG_WRITER_CREATED + s.last;
			continue;
		}
		if (e->id == POSIX_TRACE_RESUME) {
			wrong += !overflow || resume || e->length || e->pid;
			resume = e->time;
			continue;
		}
		if (e->id != 70 || e->length != 8 || e->pid != 11 || e->tid != 11 || strcmp(e->name, "unit") != 0) {
			wrong++;
			continue;
		}
		memcpy(&number, data, sizeof number);
		wrong += e->time != LOG_WRITER_CREATED + number;
		if (s.count > 0)
			wrong += number <= s.last;
		if (resume) {
			wrong += resume != e->time;
			s.gaps++;
			s.from = s.count ? s.last + 1 : 0;
			overflow = resume = 0;
		} else {
			wrong += overflow != 0;
			/* Without a reported loss, no number is missing. */
			wrong += s.count > 0 && number != s.last + 1;
		}
		if (s.count++ == 0)
			s.first = number;
		s.last = number;
		s.crc ^= crc32c(&number, sizeof number) + (uint32_t)s.count;
	}
	wrong += overflow || resume;
	CHECK("-", input_next(&in, &data) == NULL); /* the end is final */
	CHECK_EQ("OPEN-8", wrong, 0);
	return s;
}

/*
 * Opens the file and reads it twice, the second time after reading a third of it and rewinding. Returns false if it
 * is not a log.
 */
static bool read_file(int fd, struct seen *s)
{
	const unsigned char *data;
	struct seen again;
	int r = input_open(&in, fd);

	CHECK("OPEN-8", r == 0 || r == -EINVAL);
	if (r < 0) {
		CHECK("-", !in.name && !in.unpack && !in.body);
		return false;
	}
	*s = read_all();
	input_rewind(&in);
	for (uint64_t i = 0; i < s->count / 2; i++)
		CHECK("-", input_next(&in, &data));
	input_rewind(&in);
	again = read_all();
	CHECK("OPEN-9", again.count == s->count && again.crc == s->crc && again.first == s->first &&
	      again.gaps == s->gaps);
	input_close(&in);
	return true;
}

static bool read_bytes(const struct log_bytes *b, struct seen *s)
{
	int fd = log_file(b->bytes, b->size);
	bool r = read_file(fd, s);

	close(fd);
	return r;
}

/* -- A small log of each policy ------------------------------------------------------------- */

static unsigned char small[20000];
static size_t small_size;
static uint64_t small_events, small_from; /* number of events, and the first one still in the log */

static void make_small(int policy, bool complete)
{
	uint64_t events = policy == POSIX_TRACE_LOOP ? 120 : 60;
	struct log_writer w;

	log_writer_begin(&w, -1, policy, 2600, 8);
	if (policy == POSIX_TRACE_LOOP) {
		/* Fewer slots than the maximum, with several segments in each. */
		w.state->slot_size = 1000;
		w.state->capacity = 1000 - FRAME_BYTES;
		w.state->size = 3 * w.state->slot_size;
		draft_begin(&w.draft, 1, output_room(&w.output));
	}
	log_writer_type(&w, 70, "unit");
	for (small_events = 0; small_events < events; small_events++) {
		log_writer_number(&w, small_events);
		if (small_events % 4 == 3)
			MUST(log_writer_segment(&w) == 0);
		if (small_events == 30)
			log_writer_type(&w, 71, "later");
	}
	small_from = output_position(&w.output)->discarded;
	if (complete)
		log_writer_end(&w);
	small_size = (size_t)pread(w.fd, small, sizeof small, 0);
	MUST(small_size > 500 && small_size < sizeof small);
	close(w.fd);
	log_writer_free(&w);
}

TEST(small_ones)
{
	static const int policies[] = { POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND };
	struct seen s;

	for (unsigned i = 0; i < 6; i++) {
		int fd;

		make_small(policies[i % 3], i < 3);
		CHECK_EQ("-", small_from > 0, i % 3 == 0); /* the log has wrapped */
		fd = log_file(small, small_size);
		CHECK("OPEN-1", read_file(fd, &s));
		CHECK("OPEN-3", s.count == small_events - small_from && s.first == small_from && s.gaps == 0);
		MUST(input_open(&in, fd) == 0);
		CHECK_EQ("-", in.complete, i < 3);
		CHECK_STR("LOG-20", name_of(70), "unit");
		CHECK_STR("LOG-20", name_of(71), "later");
		CHECK_STR("LOG-20", name_of(POSIX_TRACE_START), "posix_trace_start");
		CHECK("-", !name_of(72));
		input_close(&in);
		/* The file's position does not matter, and stays where it is. */
		MUST(lseek(fd, 77, SEEK_SET) == 77);
		CHECK("-", read_file(fd, &s) && lseek(fd, 0, SEEK_CUR) == 77);
		close(fd);
	}
}

/* Cut off at each byte: the whole segments before the cut can be read, or in a LOOP log part of them. */
TEST(cut)
{
	static const int policies[] = { POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND };

	for (unsigned i = 0; i < 6; i++) {
		uint64_t most = 0;
		bool opened = false;

		make_small(policies[i % 3], i < 3);
		for (size_t size = 0; size <= small_size; size++) {
			int fd = log_file(small, size);
			struct seen s = { .count = 0 };

			CHECK("OPEN-8", read_file(fd, &s) || !opened); /* from the header on, the file is a log */
			opened |= size > 400;
			if (i % 3 == 0) {
				CHECK("LOG-24", s.count == 0 || (s.first >= small_from && s.last < small_events));
			} else {
				CHECK("LOG-24", s.gaps == 0 && s.first == 0 && s.count >= most &&
				      s.count <= small_events);
				most = s.count;
			}
			CHECK("-", size < small_size || s.count == small_events - small_from);
			close(fd);
		}
	}
}

/*
 * Each byte is damaged, in one bit or in all. The file is refused, or the remaining events are right and losses are
 * reported.
 */
TEST(damaged)
{
	static const int policies[] = { POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND };

	for (unsigned i = 0; i < 6; i++) {
		unsigned refused = 0, less = 0;
		int fd;

		make_small(policies[i % 3], i < 3);
		fd = log_file(small, small_size);
		for (size_t at = 0; at < small_size; at++) {
			unsigned char byte = small[at] ^ (unsigned char)(at % 9 ? 1u << at % 8 : 0xffu);
			struct seen s = { .count = 0 };

			MUST(pwrite(fd, &byte, 1, (off_t)at) == 1);
			if (!read_file(fd, &s))
				refused++;
			else if (s.count < small_events - small_from)
				less++;
			MUST(s.count == 0 || (s.first >= small_from && s.last < small_events));
			/* One segment is lost; in LOOP one slot at most. */
			MUST(s.count == 0 || s.count + (i % 3 ? 4 : 32) >= small_events - small_from);
			MUST(pwrite(fd, &small[at], 1, (off_t)at) == 1);
		}
		CHECK("-", refused > 100 && less > 100 && less < small_size);
		close(fd);
	}
}

/* Damage in many places: parts that are zero, missing, duplicated, or of a different log. */
TEST(much_damaged)
{
	static unsigned char bytes[sizeof small * 2];
	unsigned seed = 5, opened = 0;

	for (unsigned round = 0; round < 2000; round++) {
		size_t size = small_size, at, length;
		struct seen s;
		int fd;

		if (round % 100 == 0)
			make_small(round % 200 ? POSIX_TRACE_LOOP : POSIX_TRACE_APPEND, round % 300);
		size = small_size;
		memcpy(bytes, small, size);
		for (unsigned n = 1 + log_random(&seed, 3); n > 0; n--) {
			at = 200 + log_random(&seed, (unsigned)size - 300);
			length = 1 + log_random(&seed, 1 + log_random(&seed, (unsigned)(size - at)));
			if (length > size - at)
				length = size - at;
			switch (log_random(&seed, 4)) {
			case 0:
				memset(bytes + at, 0, length);
				break;
			case 1:
				memmove(bytes + at, bytes + at + length, size - at - length);
				size -= length;
				if (size < 600)
					n = 1;
				break;
			case 2:
				if (size + length > sizeof bytes)
					break;
				memmove(bytes + at + length, bytes + at, size - at);
				size += length;
				break;
			default:
				memmove(bytes + at, bytes + log_random(&seed, (unsigned)(size - length + 1)), length);
				break;
			}
		}
		fd = log_file(bytes, size);
		opened += read_file(fd, &s);
		close(fd);
	}
	CHECK("-", opened > 100);
}

/* -- Wrong contents with matching CRCs ------------------------------------------------------- */

TEST(no_log)
{
	static const char *const paths[] = { "/dev/null", "/dev/zero", "/proc/self/maps", "/proc/self/exe", "/" };
	struct log_bytes b = log_bytes_begin(POSIX_TRACE_APPEND);
	struct frame f = { .kind = FRAME_HEADER };
	uint32_t whole;
	struct seen s;
	int ends[2];

	for (unsigned i = 0; i < sizeof paths / sizeof paths[0]; i++) {
		int fd = open(paths[i], O_RDONLY | O_CLOEXEC);

		CHECK("OPEN-8", fd < 0 || !read_file(fd, &s));
		close(fd);
	}
	MUST(pipe(ends) == 0);
	CHECK("OPEN-8", !read_file(ends[0], &s));
	CHECK("OPEN-8", !read_file(-1, &s));
	CHECK("OPEN-8", !read_file(1 << 20, &s));

	/* A different frame first; no random number; a body that is too short or cut off. */
	CHECK("OPEN-1", read_bytes(&b, &s) && s.count == 0);
	whole = get32(b.bytes + 24);
	for (uint32_t size = 0; size <= whole; size++) {
		f.size = size;
		f.log = b.log;
		f.body_crc = crc32c(b.bytes + FRAME_BYTES, size);
		frame_put(b.bytes, &f);
		CHECK_EQ("OPEN-8", read_bytes(&b, &s), size == whole);
	}
	for (unsigned kind = 0; kind < 20; kind++) {
		f.kind = (uint16_t)kind;
		frame_put(b.bytes, &f);
		CHECK_EQ("OPEN-8", read_bytes(&b, &s), kind == FRAME_HEADER);
	}
	f.kind = FRAME_HEADER;
	f.log = 0;
	frame_put(b.bytes, &f);
	CHECK("OPEN-8", !read_bytes(&b, &s));
	f.log = b.log;
	f.size = UINT32_MAX;
	frame_put(b.bytes, &f);
	CHECK("OPEN-8", !read_bytes(&b, &s));
	free(b.bytes);
}

/*
 * Returns a new log with three segments and an index, with the numbers 0 to 29, and sets at[] to the segments'
 * offsets.
 */
static struct log_bytes three(uint64_t at[3])
{
	struct log_bytes b = log_bytes_begin(POSIX_TRACE_APPEND);

	for (unsigned i = 0; i < 3; i++)
		at[i] = log_put_numbers(&b, i + 1, 10 * i, 10);
	return b;
}

TEST(footers)
{
	struct log_bytes b;
	uint64_t at[3], end, footer;
	struct seen s;

	b = three(at);
	end = b.size;
	log_put_end(&b, NULL, 0, NULL, 0);
	footer = b.size - FRAME_BYTES;
	CHECK("-", read_bytes(&b, &s) && s.count == 30);
	/* Wherever the footer points, the events can be read, whether the log counts as complete or not. */
	for (unsigned i = 0; i < 400; i++) {
		uint64_t number = i < 300 ? i * 8 : i < 340 ? UINT64_MAX - (i - 300) * 8 : i < 380 ? end + i - 360
			: UINT64_C(1) << (i - 340);
		struct frame f = { .kind = FRAME_FOOTER, .log = b.log, .number = number };

		frame_put(b.bytes + footer, &f);
		CHECK("OPEN-1", read_bytes(&b, &s) && s.count == 30 && s.gaps == 0);
		{
			int fd = log_file(b.bytes, b.size);

			MUST(input_open(&in, fd) == 0);
			CHECK_EQ("-", in.complete, number == end);
			input_close(&in);
			close(fd);
		}
	}
	/* A footer of a different log, left in the file. */
	frame_put(b.bytes + footer, &(struct frame){ .kind = FRAME_FOOTER, .log = b.log + 1, .number = end });
	CHECK("-", read_bytes(&b, &s) && s.count == 30);
	free(b.bytes);
}

static void check_index(uint32_t slots, uint32_t frames, uint32_t marks, uint32_t size, bool complete)
{
	unsigned char body[2000] = { 0 };
	struct log_bytes b;
	uint64_t at[3], end;
	struct seen s;
	int fd;

	b = three(at);
	put64(body, 4711);
	put32(body + 32, slots);
	put32(body + 36, frames);
	put32(body + 40, marks);
	memset(body + 48, 0xa5, sizeof body - 48);
	/* The index says that no events are unwritten. */
	if (48 + 8 * ((uint64_t)slots + frames) + 24 * (uint64_t)marks + INDEX_BEHIND <= size)
		memset(body + 48 + 8 * (slots + frames) + 24 * marks, 0, INDEX_BEHIND);
	end = log_put_frame(&b, (struct frame){ .kind = FRAME_INDEX }, body, size);
	log_put_frame(&b, (struct frame){ .kind = FRAME_FOOTER, .number = end }, NULL, 0);
	fd = log_file(b.bytes, b.size);
	CHECK("-", read_file(fd, &s) && s.count == 30);
	MUST(input_open(&in, fd) == 0);
	CHECK_EQ("-", in.complete, complete);
	CHECK_EQ("-", in.events, complete ? 4711 : 30);
	input_close(&in);
	close(fd);
	free(b.bytes);
}

TEST(indices)
{
	check_index(0, 0, 0, 48, true);
	check_index(0, 0, 0, 2000, true); /* of a later version */
	check_index(0, 0, 0, 47, false);
	check_index(0, 0, 0, 0, false);
	check_index(16, 10, 5, 2000, true); /* invalid offsets */
	check_index(16, 10, UINT32_MAX, 2000, true); /* marks are optional */
	check_index(16, 228, 0, 2000, true);
	check_index(16, 229, 0, 2000, false);
	check_index(17, 0, 0, 2000, false);
	check_index(UINT32_MAX, 0, 0, 2000, false);
	check_index(0, UINT32_MAX, 0, 2000, false);
	check_index(UINT32_MAX, UINT32_MAX, UINT32_MAX, 2000, false);
	check_index(0, UINT32_C(1) << 29, 0, 2000, false); /* 2^32 bytes */
	check_index(0, UINT32_C(1) << 31, 0, 2000, false);
}

/* Each missing segment number leaves a gap, and no number counts twice. */
TEST(numbers)
{
	static const struct {
		uint64_t number[5];
		uint64_t count; /* events of valid segments, ten in each */
		unsigned gaps;
	} rows[] = {
		{ { 1, 2, 3, 4, 5 }, 50, 0 }, { { 2, 3, 4, 5, 6 }, 50, 1 }, { { 1, 2, 4, 5, 6 }, 50, 1 },
		{ { 1, 3, 5, 7, 9 }, 50, 4 },
		{ { 1, 1, 1, 1, 1 }, 10, 0 }, { { 5, 4, 3, 2, 1 }, 10, 1 }, { { 1, 2, 2, 3, 3 }, 30, 0 },
		{ { 1, 2, 3, 1, 4 }, 40, 0 },
		{ { 0, 1, 2, 3, 4 }, 40, 0 }, { { 0, 0, 0, 0, 0 }, 0, 0 }, { { 1, UINT64_MAX, 2, 3, 4 }, 40, 0 },
		{ { UINT64_MAX, UINT64_MAX, 1, 2, 2 }, 20, 0 }, { { 1, UINT64_MAX - 1, 3, 4, UINT64_MAX }, 20, 1 },
	};

	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct log_bytes b = log_bytes_begin(POSIX_TRACE_APPEND);
		struct seen s = { .count = 0 };

		for (unsigned k = 0; k < 5; k++)
			log_put_numbers(&b, rows[i].number[k], rows[i].number[k] % 1000 * 10 - 10, 10);
		CHECK("-", read_bytes(&b, &s));
		if (s.count != rows[i].count || s.gaps != rows[i].gaps)
			TEST_FAIL("LOG-24", "row %u: %llu events, %u gaps", i, (unsigned long long)s.count, s.gaps);
		free(b.bytes);
	}
}

/* A segment with an invalid body counts as missing, whatever is wrong with it. */
TEST(bodies)
{
	for (unsigned what = 0; what < 6; what++) {
		struct log_bytes b = log_bytes_begin(POSIX_TRACE_APPEND);
		unsigned char body[1000];
		struct frame f = { .kind = FRAME_SEGMENT, .number = 2 };
		size_t size = log_numbers(body, sizeof body, 10, 10, &f);
		struct seen s;

		log_put_numbers(&b, 1, 0, 10);
		switch (what) {
		case 0: f.body_crc = 1; break;
		case 1: f.events++; break;
		case 2: f.last++; break;
		case 3: f.log = b.log + 1; break;
		case 4: size--; break;
		case 5: body[1] = 9; break;
		}
		log_put_frame(&b, f, body, size);
		log_put_numbers(&b, 3, 20, 10);
		CHECK("LOG-24", read_bytes(&b, &s) && s.count == 20 && s.gaps == 1 && s.from == 10);
		free(b.bytes);
	}
}

/* A valid segment may follow an invalid one of the same number. */
TEST(second_try)
{
	struct log_bytes b = log_bytes_begin(POSIX_TRACE_APPEND);
	uint64_t at;
	struct seen s;

	log_put_numbers(&b, 1, 0, 10);
	at = log_put_numbers(&b, 2, 10, 10);
	b.bytes[at + FRAME_BYTES] ^= 1;
	log_put_numbers(&b, 2, 10, 10);
	log_put_numbers(&b, 2, 10, 10);
	log_put_numbers(&b, 3, 20, 10);
	CHECK("LOG-24", read_bytes(&b, &s) && s.count == 30 && s.gaps == 0);
	free(b.bytes);
}

/* The padding after the last frame may be missing. */
TEST(not_filled_up)
{
	struct log_bytes b = log_bytes_begin(POSIX_TRACE_APPEND);
	struct seen s;
	uint64_t at;

	log_put_numbers(&b, 1, 0, 10);
	at = log_put_numbers(&b, 2, 10, 11);
	b.size = at + FRAME_BYTES + get32(b.bytes + at + 24);
	CHECK("-", b.size % 8 != 0);
	CHECK("LOG-24", read_bytes(&b, &s) && s.count == 21);
	b.size--;
	CHECK("LOG-24", read_bytes(&b, &s) && s.count == 10);
	free(b.bytes);
}

/* Sizes larger than a body may be, and larger than the file. */
TEST(sizes)
{
	static const uint32_t sizes[] = { FORMAT_BODY_MAX + 1, FORMAT_BODY_MAX, 1000000, UINT32_MAX, UINT32_MAX - 7,
	                                  0x80000000 };

	for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
		for (unsigned kind = FRAME_TYPES; kind <= 20; kind++) {
			struct log_bytes b = log_bytes_begin(POSIX_TRACE_APPEND);
			struct seen s;

			log_put_numbers(&b, 1, 0, 10);
			log_put_frame(&b, (struct frame){ .kind = (uint16_t)kind, .number = 2, .size = sizes[i] }, "",
			              0);
			log_put_numbers(&b, 2, 10, 10);
			/* A slot may have any size, and be cut off. */
			CHECK("LOG-24", read_bytes(&b, &s) && s.count == (kind == FRAME_SLOT ? 10 : 20) && s.gaps == 0);
			free(b.bytes);
		}
}

/* Unknown kinds of frames are skipped, with and without an index. */
TEST(unknown_kinds)
{
	struct log_bytes b = log_bytes_begin(POSIX_TRACE_APPEND);
	struct seen s;

	for (unsigned kind = 8; kind < 40; kind++) {
		log_put_frame(&b, (struct frame){ .kind = (uint16_t)kind, .number = 1 },
		              "whatever it is, it has some bytes, as many as its kind", kind);
		log_put_numbers(&b, kind - 7, 10 * (kind - 8), 10);
	}
	log_put_frame(&b, (struct frame){ .kind = 0, .number = 1 }, NULL, 0);
	log_put_frame(&b, (struct frame){ .kind = UINT16_MAX, .number = 1 }, NULL, 0);
	CHECK("OPEN-1", read_bytes(&b, &s) && s.count == 320 && s.gaps == 0);
	log_put_end(&b, NULL, 0, NULL, 0);
	CHECK("OPEN-1", read_bytes(&b, &s) && s.count == 320 && s.gaps == 0);
	free(b.bytes);
}

/* -- Types ------------------------------------------------------------------------------------ */

static size_t type(unsigned char *p, unsigned id, unsigned length, const char *name)
{
	put16(p, (uint16_t)id);
	p[2] = (unsigned char)length;
	memset(p + 3, 'x', length);
	memcpy(p + 3, name, strlen(name) < length ? strlen(name) : length);
	return 3 + length;
}

static void open_types(const unsigned char *body, size_t size, bool index)
{
	struct log_bytes b = log_bytes_begin(POSIX_TRACE_APPEND);
	uint64_t at = log_put_frame(&b, (struct frame){ .kind = FRAME_TYPES }, body, size);
	int fd;

	if (index)
		log_put_end(&b, NULL, 0, &at, 1);
	fd = log_file(b.bytes, b.size);
	MUST(input_open(&in, fd) == 0);
	CHECK_EQ("-", in.complete, index);
	close(fd);
	free(b.bytes);
}

TEST(types)
{
	unsigned char body[4000], *p = body;

	p += type(p, 64, 3, "one");
	p += type(p, EVENT_ID_END - 1, TRACE_EVENT_NAME_MAX, "");
	p += type(p, 65, 255, "long"); /* truncated */
	p += type(p, 0, 3, "no"); /* an invalid id */
	p += type(p, EVENT_ID_END, 3, "no");
	p += type(p, 65535, 3, "no");
	p += type(p, 64, 3, "two"); /* the later definition counts */
	p += type(p, 67, 0, "");
	for (unsigned index = 0; index < 2; index++) {
		open_types(body, (size_t)(p - body), index);
		CHECK_STR("LOG-20", name_of(64), "two");
		CHECK_EQ("LOG-20", strlen(name_of(EVENT_ID_END - 1)), TRACE_EVENT_NAME_MAX);
		CHECK_EQ("LOG-20", strlen(name_of(65)), TRACE_EVENT_NAME_MAX);
		CHECK("LOG-20", memcmp(name_of(65), "longxxx", 7) == 0);
		CHECK_STR("LOG-20", name_of(67), ""); /* an empty name is a name */
		CHECK("-", !name_of(66) && !name_of(0) && !name_of(EVENT_ID_END) && !name_of(65535));
		input_close(&in);
		/* Cut off at each byte: the complete entries count. */
		for (size_t cut = 0; cut < 3 + 3 + 3 + TRACE_EVENT_NAME_MAX; cut++) {
			open_types(body, cut, index);
			CHECK_EQ("-", name_of(64) != NULL, cut >= 6);
			CHECK("-", !name_of(EVENT_ID_END - 1));
			input_close(&in);
		}
	}
}

/* -- Slots ----------------------------------------------------------------------------------------- */

/* Returns a log with two slots of size bytes, with segments 1, 2 and 3, 4. The index is left to the caller. */
static struct log_bytes two_slots(uint64_t slot[2], uint32_t size)
{
	struct log_bytes b = log_bytes_begin(POSIX_TRACE_LOOP);

	for (unsigned i = 0; i < 2; i++) {
		slot[i] = log_put_frame(&b, (struct frame){ .kind = FRAME_SLOT, .size = size }, NULL, 0);
		log_put_numbers(&b, 2 * i + 1, 20 * i + 1, 10);
		log_put_numbers(&b, 2 * i + 2, 20 * i + 11, 10);
		if (b.size < slot[i] + FRAME_BYTES + 1000) {
			b.bytes = realloc(b.bytes, slot[i] + FRAME_BYTES + 1000);
			MUST(b.bytes);
			memset(b.bytes + b.size, 0, slot[i] + FRAME_BYTES + 1000 - b.size);
			b.size = slot[i] + FRAME_BYTES + 1000;
		}
	}
	return b;
}

TEST(slots)
{
	struct log_bytes b;
	uint64_t slot[16];
	struct seen s;

	/* In either order: without an index, the numbers determine the order. */
	b = two_slots(slot, 1000);
	CHECK("OPEN-3", read_bytes(&b, &s) && s.count == 40 && s.first == 1 && s.gaps == 0);
	log_put_end(&b, slot, 2, NULL, 0);
	CHECK("OPEN-3", read_bytes(&b, &s) && s.count == 40 && s.gaps == 0);
	free(b.bytes);

	/* The newest slot first: the reader skips segments older than those that it has read. */
	b = two_slots(slot, 1000);
	slot[2] = slot[0];
	log_put_end(&b, slot + 1, 2, NULL, 0);
	CHECK("OPEN-8", read_bytes(&b, &s) && s.count == 20 && s.first == 21);
	free(b.bytes);

	/* Many offsets of the same slot; others are invalid, or lead to a segment. */
	b = two_slots(slot, 1000);
	for (unsigned i = 1; i < 16; i++)
		slot[i] = i % 2 ? slot[0] : i % 4 ? UINT64_MAX - i * 8 : slot[0] + FRAME_BYTES;
	log_put_end(&b, slot, 16, NULL, 0);
	CHECK("OPEN-8", read_bytes(&b, &s) && s.count == 20 && s.first == 1);
	free(b.bytes);

	/* No slots at all. */
	b = log_bytes_begin(POSIX_TRACE_LOOP);
	log_put_end(&b, NULL, 0, NULL, 0);
	CHECK("-", read_bytes(&b, &s) && s.count == 0);
	free(b.bytes);
}

/* For each size of the slot: a segment that does not end within its slot is ignored. */
TEST(slot_sizes)
{
	uint64_t slot[2], one, two;
	struct log_bytes b;
	struct seen s;

	/* The sizes without padding. */
	b = two_slots(slot, 1000);
	one = FRAME_BYTES + get32(b.bytes + slot[0] + FRAME_BYTES + 24);
	two = frame_bytes(get32(b.bytes + slot[0] + FRAME_BYTES + 24));
	two += FRAME_BYTES + get32(b.bytes + slot[0] + FRAME_BYTES + two + 24);
	free(b.bytes);
	for (uint32_t size = 0; size < two + 20; size++) {
		uint64_t in_first = size < one ? 0 : size < two ? 10 : 20;

		b = two_slots(slot, size);
		log_put_end(&b, slot, 2, NULL, 0);
		MUST(read_bytes(&b, &s));
		CHECK_EQ("LOG-24", s.count, 2 * in_first);
		CHECK_EQ("LOG-24", s.gaps, in_first == 10); /* segment 2 is missing */
		free(b.bytes);
	}
	/* A slot that extends far beyond the file, or over the next slot: each segment counts once. */
	for (unsigned i = 0; i < 3; i++) {
		b = two_slots(slot, i == 0 ? UINT32_MAX : i == 1 ? 0x80000000 : 2000);
		log_put_end(&b, slot, 2, NULL, 0);
		CHECK("LOG-24", read_bytes(&b, &s) && s.count == 40 && s.gaps == 0);
		free(b.bytes);
	}
}

/* Segments of an earlier round, left after the newest segment of a slot. */
TEST(slot_rests)
{
	struct log_bytes b = log_bytes_begin(POSIX_TRACE_LOOP);
	uint64_t slot[2];
	struct seen s;

	slot[0] = log_put_frame(&b, (struct frame){ .kind = FRAME_SLOT, .size = 1000 }, NULL, 0);
	log_put_numbers(&b, 7, 60, 10);
	log_put_numbers(&b, 2, 10, 10); /* written two rounds ago */
	log_put_numbers(&b, 8, 70, 10); /* not the successor of 7's segment */
	b.bytes = realloc(b.bytes, slot[0] + FRAME_BYTES + 1000);
	MUST(b.bytes);
	memset(b.bytes + b.size, 0, slot[0] + FRAME_BYTES + 1000 - b.size);
	b.size = slot[0] + FRAME_BYTES + 1000;
	slot[1] = log_put_frame(&b, (struct frame){ .kind = FRAME_SLOT, .size = 1000 }, NULL, 0);
	log_put_numbers(&b, 4, 30, 10);
	log_put_numbers(&b, 5, 40, 10);
	log_put_numbers(&b, 6, 50, 10);
	CHECK("LOG-13", read_bytes(&b, &s) && s.count == 40 && s.first == 30 && s.last == 69 && s.gaps == 0);
	free(b.bytes);
}

/* More slots than the maximum: the rest is ignored. */
TEST(many_slots)
{
	struct log_bytes b = log_bytes_begin(POSIX_TRACE_LOOP);
	uint64_t before = b.size;
	uint32_t size;
	struct seen s;

	log_put_numbers(&b, 1, 0, 10);
	size = (uint32_t)(b.size - before);
	b.size = before;
	for (unsigned i = 0; i < 40; i++) {
		log_put_frame(&b, (struct frame){ .kind = FRAME_SLOT, .size = size }, NULL, 0);
		log_put_numbers(&b, i + 1, 10 * i, 10);
	}
	CHECK("OPEN-8", read_bytes(&b, &s) && s.count == 160 && s.first == 0 && s.gaps == 0);
	free(b.bytes);
}

/* -- No hang ------------------------------------------------------------------------------------- */

#define LARGE (UINT64_C(1) << 40) /* size of a sparse file, which takes no space */

/* Checks that the file is opened and read quickly, whatever its size. */
static void check_quick(int fd, const char *what)
{
	int64_t before = worked(), spent;
	struct seen s;

	read_file(fd, &s);
	spent = worked() - before;
	if (spent > NS_PER_S * 3 * test_slow())
		TEST_FAIL("OPEN-8", "%s: %lld ms", what, (long long)spent / 1000000);
	close(fd);
}

static int large_file(const struct log_bytes *b)
{
	int fd = log_file(b->bytes, b->size);

	if (ftruncate(fd, (off_t)LARGE) < 0)
		SKIP("no file of that size here");
	return fd;
}

static void put_at(int fd, uint64_t at, struct frame f)
{
	unsigned char bytes[FRAME_BYTES];

	f.log = 0x4711;
	frame_put(bytes, &f);
	MUST(pwrite(fd, bytes, sizeof bytes, (off_t)at) == sizeof bytes);
}

TEST(large_and_empty)
{
	static const int policies[] = { POSIX_TRACE_LOOP, POSIX_TRACE_APPEND };

	for (unsigned i = 0; i < 2; i++) {
		struct log_bytes b = log_bytes_begin(policies[i]);
		uint64_t index;
		int fd;

		log_put_numbers(&b, 1, 0, 10);
		check_quick(large_file(&b), "nothing behind the first segment");
		fd = large_file(&b);
		put_at(fd, LARGE - FRAME_BYTES, (struct frame){ .kind = FRAME_FOOTER, .number = LARGE / 2 });
		check_quick(fd, "a footer that leads nowhere");
		index = b.size;
		log_put_end(&b, NULL, 0, NULL, 0);
		fd = large_file(&b);
		put_at(fd, LARGE - FRAME_BYTES, (struct frame){ .kind = FRAME_FOOTER, .number = index });
		check_quick(fd, "complete, and nothing between");
		free(b.bytes);
	}
	check_quick(large_file(&(struct log_bytes){ NULL, 0, 0 }), "nothing at all");
}

/* The log continues after a hole of any size. */
TEST(large_hole)
{
	struct log_bytes b = log_bytes_begin(POSIX_TRACE_APPEND);
	uint64_t before, half = LARGE / 2 / 65536 * 65536;
	struct seen s;
	int fd;

	log_put_numbers(&b, 1, 0, 10);
	before = b.size;
	fd = large_file(&b);
	log_put_numbers(&b, 2, 10, 10);
	MUST(pwrite(fd, b.bytes + before, b.size - before, (off_t)(half + 4096 + FRAME_ALIGN)) ==
	     (ssize_t)(b.size - before));
	CHECK("OPEN-8", lseek(fd, 7, SEEK_SET) == 7);
	read_file(fd, &s);
	CHECK("OPEN-8", s.count == 20 && s.first == 0 && s.gaps == 0);
	CHECK("OPEN-8", lseek(fd, 0, SEEK_CUR) == 7);
	check_quick(fd, "a hole in the middle");
	free(b.bytes);
}

#define MANY 4000

/* Writes frames at the given distance all over the file. */
static void spread(const char *what, int policy, struct frame f, uint64_t distance)
{
	struct log_bytes b = log_bytes_begin(policy);
	int fd = large_file(&b);

	for (uint64_t i = 0; i < MANY; i++) {
		if (f.kind == FRAME_SEGMENT)
			f.number = i + 1;
		put_at(fd, 4096 + i * distance, f);
	}
	free(b.bytes);
	check_quick(fd, what);
}

TEST(large_and_sparse)
{
	uint32_t zeroes = 0, crc = ~UINT32_C(0);
	static const unsigned char nothing[1 << 16];

	/* 16 MiB of zeroes, so that the frame is found to be invalid only after all of them have been read. */
	zeroes = crc32c(nothing, sizeof nothing);
	{
		unsigned char *all = sys_map(FORMAT_BODY_MAX, -1, 1);

		MUST(all);
		crc = crc32c(all, FORMAT_BODY_MAX);
		sys_unmap(all, FORMAT_BODY_MAX);
	}
	spread("holes", POSIX_TRACE_APPEND, (struct frame){ .kind = 99 }, UINT64_C(60) << 20);
	spread("segments of zeroes", POSIX_TRACE_APPEND, (struct frame){ .kind = FRAME_SEGMENT, .size = FORMAT_BODY_MAX,
	                                                                 .body_crc = crc },
	       FORMAT_BODY_MAX + FRAME_BYTES);
	spread("segments of zeroes, with an event", POSIX_TRACE_APPEND,
	       (struct frame){ .kind = FRAME_SEGMENT, .size = FORMAT_BODY_MAX, .body_crc = crc, .events = 1 },
	       FORMAT_BODY_MAX + FRAME_BYTES);
	spread("segments that are damaged", POSIX_TRACE_APPEND,
	       (struct frame){ .kind = FRAME_SEGMENT, .size = FORMAT_BODY_MAX, .body_crc = 1 },
	       FORMAT_BODY_MAX + FRAME_BYTES);
	spread("types of zeroes", POSIX_TRACE_APPEND, (struct frame){ .kind = FRAME_TYPES, .size = FORMAT_BODY_MAX,
	                                                              .body_crc = crc },
	       FORMAT_BODY_MAX + FRAME_BYTES);
	spread("types that are damaged", POSIX_TRACE_LOOP, (struct frame){ .kind = FRAME_TYPES, .size = FORMAT_BODY_MAX,
	                                                                   .body_crc = 1 },
	       FORMAT_BODY_MAX + FRAME_BYTES);
	spread("small types", POSIX_TRACE_LOOP, (struct frame){ .kind = FRAME_TYPES, .size = sizeof nothing,
	                                                        .body_crc = zeroes },
	       sizeof nothing + FRAME_BYTES);
	spread("slots", POSIX_TRACE_LOOP, (struct frame){ .kind = FRAME_SLOT, .size = 200 << 20 },
	       (200 << 20) + FRAME_BYTES);
	spread("processes", POSIX_TRACE_LOOP, (struct frame){ .kind = FRAME_PROCESS, .size = FORMAT_BODY_MAX },
	       FORMAT_BODY_MAX + FRAME_BYTES);
}

/* Slots that contain only large, invalid segments. */
TEST(large_slots)
{
	struct log_bytes b = log_bytes_begin(POSIX_TRACE_LOOP);
	uint64_t slot[16];
	int fd = large_file(&b);

	for (unsigned i = 0; i < 16; i++) {
		slot[i] = 65536 + i * (UINT64_C(1) << 32);
		put_at(fd, slot[i], (struct frame){ .kind = FRAME_SLOT, .size = UINT32_C(250) << 24 });
		for (uint64_t k = 0; k < 249; k++)
			put_at(fd, slot[i] + FRAME_BYTES + k * (FORMAT_BODY_MAX + FRAME_BYTES),
			       (struct frame){ .kind = FRAME_SEGMENT, .number = 249 * i + k + 1,
			                       .size = FORMAT_BODY_MAX, .body_crc = 1 });
	}
	check_quick(fd, "slots of segments that are none");
	free(b.bytes);
}

/* The index names the same frame as often as possible. */
TEST(same_frame_often)
{
	enum { TIMES = (FORMAT_BODY_MAX - INDEX_FIXED) / 8 };
	unsigned char *body = sys_map(1 << 20, -1, 1);
	uint64_t *list = malloc(TIMES * sizeof *list);
	struct log_bytes b = log_bytes_begin(POSIX_TRACE_APPEND);
	uint64_t large, little;

	MUST(body && list);
	large = log_put_frame(&b, (struct frame){ .kind = FRAME_TYPES }, body, 1 << 20);
	little = log_put_frame(&b, (struct frame){ .kind = FRAME_TYPES }, "\100\0\1x", 4);
	log_put_numbers(&b, 1, 0, 10);
	for (unsigned i = 0; i < TIMES; i++)
		list[i] = i % 2 ? large : little;
	log_put_end(&b, NULL, 0, list, TIMES);
	check_quick(log_file(b.bytes, b.size), "the same frame, two million times");
	free(b.bytes);
	free(list);
	sys_unmap(body, 1 << 20);
}

/* Damage in many places, as on a failing disk: all intact segments are read. */
TEST(damage_in_many_places)
{
	struct log_bytes b = log_bytes_begin(POSIX_TRACE_APPEND);
	unsigned char *body = malloc(1 << 18);
	uint64_t good = 0;
	struct seen s;

	MUST(body);
	memset(body, 0x11, 1 << 18);
	for (uint64_t i = 0; i < 200; i++) {
		if (i % 2)
			log_put_frame(&b, (struct frame){ .kind = FRAME_SEGMENT, .number = i + 1, .body_crc = 1 }, body,
			              1 << 18);
		else
			log_put_numbers(&b, i + 1, i * 10, 10), good += 10;
	}
	CHECK("LOG-24", read_bytes(&b, &s) && s.count == good && s.gaps == 99);
	free(b.bytes);
	free(body);
}

/* -- Memory use ------------------------------------------------------------------------------------ */

/* Returns the peak of this process's address space in KiB. */
static long peak(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[200];
	long kib = -1;

	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "VmPeak: %ld", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib;
}

TEST(memory)
{
	struct log_bytes b = log_bytes_begin(POSIX_TRACE_APPEND);
	long before = peak();
	struct seen s;
	int fd;

	if (before < 0 || SANITIZER_THREAD || getenv("TEST_SLOW"))
		SKIP("what memory is used cannot be told here");
	log_put_numbers(&b, 1, 0, 10);
	MUST(read_bytes(&b, &s));
	/* Every log needs memory for shapes and names. */
	CHECK_OP("OPEN-8", peak() - before, <, 3 << 10);
	fd = large_file(&b);
	put_at(fd, b.size, (struct frame){ .kind = FRAME_SEGMENT, .size = FORMAT_BODY_MAX, .events = UINT32_MAX,
	                                   .number = 2 });
	put_at(fd, b.size + FRAME_BYTES + FORMAT_BODY_MAX,
	       (struct frame){ .kind = FRAME_TYPES, .size = FORMAT_BODY_MAX });
	put_at(fd, b.size + 2 * (FRAME_BYTES + FORMAT_BODY_MAX),
	       (struct frame){ .kind = FRAME_SLOT, .size = UINT32_MAX });
	check_quick(fd, "frames as large as they may be");
	CHECK_OP("OPEN-8", peak() - before, <, (3 + 17) << 10);
	free(b.bytes);
}

/* -- A file that changes while it is read (H26) ------------------------------------------------------ */

static struct {
	int fd;
	unsigned char *bytes;
	size_t size;
	uint32_t stop;
} changing;

static void *change(void *arg)
{
	unsigned seed = 8;

	while (!load_relaxed(&changing.stop)) {
		size_t at = log_random(&seed, (unsigned)changing.size), length = 1 + log_random(&seed, 300);
		unsigned char junk[300];

		if (length > changing.size - at)
			length = changing.size - at;
		switch (log_random(&seed, 4)) {
		case 0:
			MUST(ftruncate(changing.fd, (off_t)at) == 0);
			sched_yield();
			break;
		case 1:
			for (size_t i = 0; i < length; i++)
				junk[i] = (unsigned char)rand_r(&seed);
			MUST(pwrite(changing.fd, junk, length, (off_t)at) == (ssize_t)length);
			break;
		case 2:
			MUST(ftruncate(changing.fd, (off_t)(changing.size + length)) == 0);
			break;
		}
		sched_yield();
		/* The original contents again. */
		MUST(pwrite(changing.fd, changing.bytes, changing.size, 0) == (ssize_t)changing.size);
		MUST(ftruncate(changing.fd, (off_t)changing.size) == 0);
	}
	return NULL;
}

static void read_changing(int policy, bool complete)
{
	int64_t until = unit_now() + 300000000;
	unsigned opened = 0, whole = 0;
	pthread_t thread;

	make_small(policy, complete);
	changing.bytes = small;
	changing.size = small_size;
	changing.fd = log_file(small, small_size);
	store_relaxed(&changing.stop, 0);
	MUST(pthread_create(&thread, NULL, change, NULL) == 0);
	while (unit_now() < until || (opened == 0 && unit_now() < until + 20 * NS_PER_S)) {
		const unsigned char *data;
		const struct log_event *e;
		uint64_t count = 0, number, last = 0, bad = 0;

		if (input_open(&in, changing.fd) < 0)
			continue;
		opened++;
		for (int round = 0; round < 3; round++) {
			while ((e = input_next(&in, &data))) {
				if (e->id == POSIX_TRACE_OVERFLOW || e->id == POSIX_TRACE_RESUME)
					continue;
				MUST(e->id == 70 && e->length == 8);
				memcpy(&number, data, sizeof number);
				bad += number >= small_events || (count > 0 && number <= last) ||
					e->time != LOG_WRITER_CREATED + number;
				last = number;
				count++;
			}
			whole += count == small_events - small_from;
			count = 0;
			input_rewind(&in);
		}
		CHECK_EQ("OPEN-8", bad, 0);
		input_close(&in);
	}
	store_relaxed(&changing.stop, 1);
	pthread_join(thread, NULL);
	CHECK("-", opened > 0);
	close(changing.fd);
}

TEST(changing)
{
	read_changing(POSIX_TRACE_APPEND, true);
	read_changing(POSIX_TRACE_APPEND, false);
	read_changing(POSIX_TRACE_LOOP, true);
	read_changing(POSIX_TRACE_LOOP, false);
}

/* The file is truncated between two reads: the log ends there, and nothing else happens. */
TEST(truncated)
{
	const unsigned char *data;
	int fd;

	make_small(POSIX_TRACE_APPEND, true);
	fd = log_file(small, small_size);
	MUST(input_open(&in, fd) == 0);
	CHECK("-", input_next(&in, &data));
	MUST(ftruncate(fd, 0) == 0);
	for (int i = 0; i < 3; i++)
		CHECK("-", input_next(&in, &data)); /* from the segment in memory */
	CHECK("OPEN-8", !input_next(&in, &data));
	input_rewind(&in);
	CHECK("OPEN-8", !input_next(&in, &data));
	close(fd);
	CHECK("OPEN-8", !input_next(&in, &data));
	input_rewind(&in);
	CHECK("OPEN-8", !input_next(&in, &data));
	input_close(&in);
}

TEST_MAIN(TEST_ENTRY(small_ones), TEST_ENTRY(cut), TEST_ENTRY(damaged), TEST_ENTRY(much_damaged), TEST_ENTRY(no_log),
          TEST_ENTRY(footers), TEST_ENTRY(indices), TEST_ENTRY(numbers), TEST_ENTRY(bodies), TEST_ENTRY(second_try),
          TEST_ENTRY(not_filled_up), TEST_ENTRY(sizes), TEST_ENTRY(unknown_kinds), TEST_ENTRY(types),
          TEST_ENTRY(slots), TEST_ENTRY(slot_sizes), TEST_ENTRY(slot_rests), TEST_ENTRY(many_slots),
          TEST_ENTRY(large_and_empty), TEST_ENTRY(large_and_sparse), TEST_ENTRY(large_hole), TEST_ENTRY(large_slots),
          TEST_ENTRY(same_frame_often), TEST_ENTRY(damage_in_many_places), TEST_ENTRY(memory), TEST_ENTRY(changing),
          TEST_ENTRY(truncated))
