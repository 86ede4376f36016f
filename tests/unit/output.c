/*
 * output.c - src/log/output.c: the places of segments in a file, by policy, and what counts after an interruption
 *
 * SPDX-License-Identifier: MIT
 */
#include "log/output.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "log/crc.h"
#include "unit_log.h"

static struct log_writer w;

static const struct log_position *place(void)
{
	return output_position(&w.output);
}

static uint64_t file_bytes_now(void)
{
	struct stat st;

	MUST(fstat(w.fd, &st) == 0);
	return (uint64_t)st.st_size;
}

/* -- Reading back ---------------------------------------------------------------------- */

static struct input in;

/* Returns the name of an event type, or null if the log does not define it. */
static const char *name_of(trace_event_id_t id)
{
	return eventtype_possible(id) && in.type[id] ? in.name[id] : NULL;
}

/* Returns how many events the log has, and sets *from to the number of the first. Checks that no number is missing. */
static uint64_t read_numbers(int fd, uint64_t *from)
{
	const struct log_event *e;
	const unsigned char *data;
	uint64_t count = 0, number, wrong = 0;

	MUST(input_open(&in, fd) == 0);
	while ((e = input_next(&in, &data))) {
		if (input_end_gap(&in, e))
			continue;
		if (e->id != 70 || e->length != sizeof number) {
			wrong++;
			continue;
		}
		memcpy(&number, data, sizeof number);
		if (count == 0)
			*from = number;
		wrong += number != *from + count || e->time != LOG_WRITER_CREATED + number;
		count++;
	}
	CHECK_EQ("LOG-20", wrong, 0);
	return count;
}

/* Returns the frame at an offset where the test knows that there is one. */
static struct frame frame_at(uint64_t at)
{
	unsigned char bytes[FRAME_BYTES];
	struct frame f = { .kind = 0 };

	if (pread(w.fd, bytes, sizeof bytes, (off_t)at) != FRAME_BYTES || !frame_get(bytes, &f) ||
	    f.log != place()->log)
		TEST_FAIL("-", "no frame of this log at %llu", (unsigned long long)at);
	return f;
}

/* -- Files and sizes ---------------------------------------------------------------------- */

static void check_possible(int fd, int loop, int others, bool regular)
{
	bool seeks = !regular;

	CHECK_EQ("LOG-3", output_possible(fd, POSIX_TRACE_LOOP, &seeks), loop);
	CHECK_EQ("LOG-4", output_possible(fd, POSIX_TRACE_UNTIL_FULL, &seeks), others);
	CHECK_EQ("LOG-4", output_possible(fd, POSIX_TRACE_APPEND, &seeks), others);
	if (others == 0)
		CHECK_EQ("-", seeks, regular);
	if (fd >= 0)
		close(fd);
}

TEST(files)
{
	char path[32], file[64];
	int dir = unit_directory(path), ends[2];

	snprintf(file, sizeof file, "%s/file", path);
	check_possible(open(file, O_WRONLY | O_CREAT, 0600), 0, 0, true);
	check_possible(open(file, O_RDWR), 0, 0, true);
	check_possible(open(file, O_WRONLY | O_APPEND), 0, 0, true);
	check_possible(open(file, O_RDONLY), -EBADF, -EBADF, true);
	check_possible(open(file, O_PATH), -EBADF, -EBADF, true);
	check_possible(open(file, O_RDWR | O_PATH), -EBADF, -EBADF, true);
	check_possible(open(path, O_RDONLY | O_DIRECTORY), -EBADF, -EBADF, true);
	check_possible(-1, -EBADF, -EBADF, true);
	check_possible(1 << 20, -EBADF, -EBADF, true);
	check_possible(open("/dev/null", O_WRONLY), -EINVAL, 0, false);
	check_possible(memfd_create("unit", 0), 0, 0, true);
	MUST(pipe(ends) == 0);
	check_possible(ends[1], -EINVAL, 0, false);
	check_possible(ends[0], -EBADF, -EBADF, true);
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
	check_possible(ends[0], -EINVAL, 0, false);
	close(ends[1]);
	unlink(file);
	close(dir);
	rmdir(path);
}

TEST(sizes)
{
	static const uint32_t data[] = { 0, 1, 100, 255, 256, 257, 512, 1024, 4096, 65535 };
	static const uint64_t asked[] = { 0, 1, 1000, 4096, 70000, 1 << 20, 100 << 20, UINT64_C(1) << 40,
	                                  UINT64_MAX / 2 };

	for (unsigned d = 0; d < sizeof data / sizeof data[0]; d++) {
		/* With OVERFLOW and RESUME before it, which are consumed together with it. */
		uint32_t largest = 2 * pack_size_max(0) + pack_size_max(output_longest(data[d]));

		/* FILTER is an event too. */
		CHECK("-", output_longest(data[d]) >= data[d] &&
		      output_longest(data[d]) >= 2 * sizeof(trace_event_set_t));
		for (unsigned a = 0; a < sizeof asked / sizeof asked[0]; a++) {
			struct log_state state = { .capacity = 0 };
			uint64_t size;

			CHECK_EQ("LOG-16", output_size(POSIX_TRACE_APPEND, asked[a], data[d]), asked[a]);
			/* Room for the largest event and for the last one. */
			size = output_size(POSIX_TRACE_UNTIL_FULL, asked[a], data[d]);
			CHECK("LOG-14", size >= asked[a] && size >= largest + 100 &&
			      (size == asked[a] || size <= largest + 1000));
			output_plan(&state, POSIX_TRACE_UNTIL_FULL, size, data[d]);
			CHECK("-", state.slot_size == 0 && state.capacity >= largest && state.size == size);
			CHECK("-", state.capacity <= FORMAT_BODY_MAX &&
			      stream_log_bytes(state.capacity) <= LOG_BYTES_MAX);
			/*
			 * At least two slots, each with room for the largest event. Together they take no more than
			 * requested.
			 */
			size = output_size(POSIX_TRACE_LOOP, asked[a], data[d]);
			CHECK("LOG-13", size >= asked[a] && (size == asked[a] || size <= 2 * (largest + 200)));
			output_plan(&state, POSIX_TRACE_LOOP, size, data[d]);
			CHECK("-", state.slot_size % FRAME_ALIGN == 0 && state.slot_size <= UINT32_MAX);
			CHECK("-", state.capacity >= largest && state.capacity + FRAME_BYTES <= state.slot_size);
			CHECK("-", 2 * state.slot_size <= size);
			CHECK("-", size / state.slot_size <= LOG_SLOTS || state.slot_size > UINT32_MAX - 100);
			/* The resulting size stays the same when it is requested. */
			CHECK("-", output_size(POSIX_TRACE_LOOP, size, data[d]) == size);
		}
	}
}

/* -- Front to back ---------------------------------------------------------------------------- */

TEST(append)
{
	uint64_t from = 99;

	log_writer_begin(&w, -1, POSIX_TRACE_APPEND, 1, 100);
	log_writer_type(&w, 70, "unit");
	for (uint64_t i = 0; i < 100000; i++)
		log_writer_number(&w, i);
	CHECK_EQ("LOG-16", place()->discarded, 0);
	log_writer_end(&w);
	CHECK_OP("-", place()->sequence, >, 2); /* without a call */
	CHECK_EQ("LOG-16", read_numbers(w.fd, &from), 100000);
	CHECK_EQ("-", from, 0);
	CHECK("-", in.complete && in.events == 100000 && in.discarded == 0 && in.slots == 0 && in.skipped == 0);
	CHECK_STR("-", name_of(70), "unit");
	CHECK_STR("-", name_of(POSIX_TRACE_OVERFLOW), eventtype_predefined_name(POSIX_TRACE_OVERFLOW));
	CHECK("-", memcmp(&in.header.attr, &w.header.attr, sizeof w.header.attr) == 0);
	CHECK_EQ("-", file_bytes_now() % 8, 0);
	input_close(&in);
	log_writer_free(&w);
}

TEST(until_full)
{
	uint64_t n, from;
	uint32_t room = UINT32_MAX, left;

	log_writer_begin(&w, -1, POSIX_TRACE_UNTIL_FULL, 10000, 100);
	for (n = 0; (left = output_room(&w.output)) >= pack_size_max(8); n++) {
		CHECK_OP("-", left, <=, room);
		room = left;
		log_writer_number(&w, n);
		MUST(log_writer_segment(&w) == 0);
	}
	/* The segments' bodies count, and the last event still has room. */
	CHECK_OP("LOG-14", place()->bytes, <=, 10000 - pack_size_max(4));
	CHECK_OP("LOG-14", place()->bytes, >, 10000 - 128 - 2 * pack_size_max(8));
	CHECK_OP("LOG-15", output_room(&w.output) + pack_size_max(sizeof(int)), <=, w.state->size - place()->bytes);
	MUST(log_writer_segment(&w) == 0);
	MUST(output_end(&w.output, &(struct output_end){ .discarded = 8 }) == 0);
	CHECK_EQ("LOG-14", read_numbers(w.fd, &from), n);
	CHECK_EQ("-", in.discarded, 8);
	input_close(&in);
	/* A full log stays full. */
	w.state->position[0].bytes = w.state->position[1].bytes = 20000;
	CHECK_EQ("-", output_room(&w.output), 0);
	log_writer_free(&w);
}

/* A pipe gets the same bytes as a file, without seeking. */
TEST(pipe_as_file)
{
	static unsigned char a[1 << 18], b[1 << 18];
	ssize_t got = 0, n;
	int ends[2];

	MUST(pipe(ends) == 0);
	if (fcntl(ends[1], F_SETPIPE_SZ, sizeof a) < 0)
		SKIP("pipes are small here");
	log_writer_begin(&w, ends[1], POSIX_TRACE_APPEND, 0, 100);
	CHECK("-", !w.output.seeks);
	for (uint64_t i = 0; i < 10000; i++)
		log_writer_number(&w, i);
	log_writer_type(&w, 70, "unit");
	/* A clear leaves the pipe's contents. */
	CHECK_EQ("CLEAR-8", output_begin(&w.output, &w.header), 0);
	log_writer_number(&w, 10000);
	log_writer_end(&w);
	close(ends[1]);
	while ((n = read(ends[0], a + got, sizeof a - (size_t)got)) > 0)
		got += n;
	w.fd = log_file(a, (size_t)got);
	{
		uint64_t from, log = place()->log;

		CHECK_EQ("LOG-17", read_numbers(w.fd, &from), 10001);
		CHECK("-", from == 0 && in.complete && in.log == log);
		input_close(&in);
		log_writer_free(&w);
	}
	/* The same events, written to a file. */
	log_writer_begin(&w, -1, POSIX_TRACE_APPEND, 0, 100);
	for (uint64_t i = 0; i < 10000; i++)
		log_writer_number(&w, i);
	log_writer_type(&w, 70, "unit");
	log_writer_number(&w, 10000);
	log_writer_end(&w);
	/* Except for the SUM frame: it is rewritten in place at the end, so a pipe cannot have it. */
	CHECK_EQ("LOG-17", pread(w.fd, b, sizeof b, 0), got + FRAME_BYTES + SUM_BYTES);
	log_writer_free(&w);
}

/* -- LOOP ------------------------------------------------------------------------------------------ */

/*
 * Records segments of this many events until the log has wrapped the given number of times. Returns the number of
 * events.
 */
static uint64_t loop(uint64_t size, uint64_t events, unsigned rounds)
{
	uint64_t n = 0, sequence = 0;
	unsigned round = 0;

	log_writer_begin(&w, -1, POSIX_TRACE_LOOP, size, 100);
	log_writer_type(&w, 70, "before"); /* frames after the header */
	while (round < rounds) {
		for (uint64_t i = 0; i < events; i++) {
			/* The next event always has room (FLUSH-8). */
			CHECK_OP("LOG-13", output_room(&w.output), >=, w.state->largest);
			log_writer_number(&w, n++);
		}
		MUST(log_writer_segment(&w) == 0);
		if (place()->slot_first[0] != sequence)
			round++;
		sequence = place()->slot_first[0];
	}
	return n;
}

TEST(slots)
{
	static const uint64_t sizes[] = { 1, 2000, 5000, 20000, 100000 };

	for (unsigned s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
		for (unsigned rounds = 1; rounds <= 4; rounds++) {
			uint64_t n = loop(sizes[s], 10 + 7 * rounds, rounds), from = 0, count, kept = 0;

			CHECK("-", place()->slots <= LOG_SLOTS);
			CHECK_OP("LOG-13", place()->slots * w.state->slot_size, <=, w.state->size);
			/* No slot overlaps another slot, or frames that are to be kept. */
			for (uint32_t i = 0; i < place()->slots; i++) {
				uint64_t at = place()->slot_offset[i];
				struct frame f = frame_at(at);

				CHECK_EQ("-", f.kind, FRAME_SLOT);
				CHECK_EQ("-", f.size, w.state->slot_size);
				CHECK("-", at >= frame_bytes(frame_at(0).size) &&
				      at + FRAME_BYTES + f.size <= place()->end);
				for (uint32_t k = 0; k < i; k++)
					CHECK("-", at >= place()->slot_offset[k] + FRAME_BYTES + f.size);
				kept += place()->slot_events[i];
			}
			CHECK_EQ("-", place()->events, n);
			CHECK_EQ("-", place()->discarded + kept, n);
			CHECK_EQ("-", place()->discarded > 0, rounds > 1);

			/* As it is now, after the death of its writer; and completed. */
			count = read_numbers(w.fd, &from);
			CHECK("LOG-13", !in.complete && count == kept && from + count == n);
			input_close(&in);
			log_writer_type(&w, 71, "behind");
			log_writer_end(&w);
			count = read_numbers(w.fd, &from);
			CHECK("LOG-13", in.complete && count == kept && from + count == n);
			CHECK_EQ("LOG-19", in.events, n);
			CHECK_EQ("LOG-19", in.discarded, n - kept);
			CHECK_STR("LOG-19", name_of(70), "before");
			CHECK_STR("LOG-19", name_of(71), "behind");
			CHECK_EQ("-", in.slots, place()->slots);
			input_close(&in);
			log_writer_free(&w);
			close(w.fd);
		}
	}
}

/* Until the log wraps nothing is discarded, and the log uses most of its size. */
TEST(loop_room)
{
	uint64_t n = 0, from;

	log_writer_begin(&w, -1, POSIX_TRACE_LOOP, 100000, 100);
	while (place()->discarded == 0)
		log_writer_number(&w, n++);
	CHECK_EQ("LOG-13", place()->slots, LOG_SLOTS);
	CHECK_OP("LOG-13", place()->bytes, >, 100000 / 2);
	log_writer_end(&w);
	CHECK("-", read_numbers(w.fd, &from) + place()->discarded == n && from == place()->discarded);
	input_close(&in);
	log_writer_free(&w);
}

/* At the end the file is cut to the used part of the last slot. Other slots keep their size. */
TEST(last_slot_cut)
{
	uint64_t before, from;

	log_writer_begin(&w, -1, POSIX_TRACE_LOOP, 1 << 20, 100);
	log_writer_number(&w, 0);
	log_writer_end(&w);
	CHECK_OP("-", file_bytes_now(), <, 2000);
	CHECK_EQ("-", read_numbers(w.fd, &from), 1);
	input_close(&in);
	log_writer_free(&w);

	/* A frame after the slot, so the slot is not at the end. */
	log_writer_begin(&w, -1, POSIX_TRACE_LOOP, 1 << 20, 100);
	log_writer_number(&w, 0);
	MUST(log_writer_segment(&w) == 0);
	log_writer_type(&w, 70, "behind");
	before = place()->end;
	log_writer_end(&w);
	CHECK_OP("-", file_bytes_now(), >, before);
	CHECK_EQ("-", read_numbers(w.fd, &from), 1);
	CHECK_STR("-", name_of(70), "behind");
	input_close(&in);
	log_writer_free(&w);
}

/* A log without events is a valid log. */
TEST(empty)
{
	static const int policies[] = { POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND };

	for (unsigned i = 0; i < 3; i++) {
		uint64_t from;

		log_writer_begin(&w, -1, policies[i], 5000, 100);
		CHECK_EQ("-", read_numbers(w.fd, &from), 0);
		CHECK("-", !in.complete);
		input_close(&in);
		log_writer_end(&w);
		CHECK_EQ("-", read_numbers(w.fd, &from), 0);
		CHECK("-", in.complete && in.events == 0);
		input_close(&in);
		log_writer_free(&w);
	}
	/* Not begun: no bytes. */
	log_writer_begin(&w, -1, POSIX_TRACE_APPEND, 0, 100);
	MUST(ftruncate(w.fd, 0) == 0);
	memset(w.state->position, 0, sizeof w.state->position);
	CHECK_EQ("-", output_end(&w.output, &(struct output_end){ .lost = 0 }), 0);
	CHECK_EQ("-", file_bytes_now(), 0);
	log_writer_free(&w);
}

/* -- Earlier contents of the file --------------------------------------------------------------------- */

static void over(int before, int now, bool complete)
{
	uint64_t from = 0, log, n = 500;
	int fd = memfd_create("unit", MFD_CLOEXEC);

	/* An older log, longer than the new one. */
	log_writer_begin(&w, fd, before, 50000, 100);
	for (uint64_t i = 0; i < (before == POSIX_TRACE_UNTIL_FULL ? 5000 : 20000); i++)
		log_writer_number(&w, 1000000 + i);
	log_writer_type(&w, 99, "older");
	log_writer_end(&w);
	log = place()->log;
	log_writer_free(&w);

	log_writer_begin(&w, fd, now, 50000, 100);
	for (uint64_t i = 0; i < n; i++) {
		log_writer_number(&w, i);
		if (i % 50 == 49)
			MUST(log_writer_segment(&w) == 0);
	}
	CHECK("-", place()->log != log);
	if (complete)
		log_writer_end(&w);
	CHECK_EQ("LOG-18", read_numbers(fd, &from), n);
	CHECK("LOG-18", from == 0 && in.complete == complete && !name_of(99));
	input_close(&in);
	log_writer_free(&w);
	close(fd);
}

TEST(over_an_older_log)
{
	static const int policies[] = { POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND };

	for (unsigned i = 0; i < 3; i++)
		for (unsigned k = 0; k < 3; k++) {
			over(policies[i], policies[k], true);
			over(policies[i], policies[k], false);
		}
}

/* posix_trace_clear(): the same writer begins the log again. */
TEST(begun_again)
{
	static const int policies[] = { POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND };

	for (unsigned i = 0; i < 3; i++) {
		uint64_t from, log;

		log_writer_begin(&w, -1, policies[i], 30000, 100);
		log_writer_type(&w, 99, "older");
		for (uint64_t k = 0; k < 3000; k++)
			log_writer_number(&w, 1000000 + k);
		MUST(log_writer_segment(&w) == 0);
		log = place()->log;
		w.header.attr.create_sec++;
		MUST(output_begin(&w.output, &w.header) == 0);
		CHECK("CLEAR-8", place()->log != log && place()->sequence == 1 && place()->events == 0 &&
		      place()->slots == 0 &&
		      place()->discarded == 0 && place()->types == 0 && place()->bytes == 0);
		draft_begin(&w.draft, 1, output_room(&w.output));
		for (uint64_t k = 0; k < 10; k++)
			log_writer_number(&w, k);
		log_writer_end(&w);
		CHECK_EQ("CLEAR-8", read_numbers(w.fd, &from), 10);
		CHECK("CLEAR-8", in.complete && in.events == 10 && !name_of(99));
		CHECK_EQ("CLEAR-8", in.header.attr.create_sec, w.header.attr.create_sec);
		CHECK_OP("-", file_bytes_now(), <, 3000);
		input_close(&in);
		log_writer_free(&w);
	}
}

/* -- Clocks --------------------------------------------------------------------------------------------- */

static void put_clock(enum clock_reason reason, unsigned char state)
{
	unsigned char body[CLOCK_BYTES] = { [36] = (unsigned char)reason, [38] = state };

	MUST(output_clock(&w.output, body) == 0);
}

static unsigned state_at(uint64_t at)
{
	unsigned char body[CLOCK_BYTES];

	MUST(pread(w.fd, body, sizeof body, (off_t)(at + FRAME_BYTES)) == CLOCK_BYTES);
	CHECK_EQ("-", frame_at(at).body_crc, crc32c(body, sizeof body));
	return body[38];
}

/* Each frame CLOCK tells where the one before it is, and the index where the last is. */
TEST(clocks)
{
	static const int policies[] = { POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND };

	for (unsigned i = 0; i < 3; i++) {
		bool loop = policies[i] == POSIX_TRACE_LOOP;
		uint64_t first, step, from;

		log_writer_begin(&w, -1, policies[i], 30000, 100);
		put_clock(CLOCK_BEGIN, 1);
		first = w.output.clock;
		CHECK_EQ("-", first, place()->sum + FRAME_BYTES + SUM_BYTES);
		log_writer_number(&w, 0);
		MUST(log_writer_segment(&w) == 0);
		for (unsigned char n = 0; n < 100; n++) {
			uint64_t end = place()->end, before = w.output.clock;

			put_clock(CLOCK_PERIOD, n);
			/* A LOOP log does not grow. */
			CHECK_EQ("-", place()->end - end, loop ? 0 : FRAME_BYTES + CLOCK_BYTES);
			CHECK_EQ("-", w.output.clock, loop ? first : end);
			CHECK_EQ("-", frame_at(w.output.clock).number, loop ? 0 : before);
			CHECK_EQ("-", state_at(w.output.clock), n);
		}
		from = w.output.clock;
		put_clock(CLOCK_STEP, 7);
		step = w.output.clock;
		CHECK("-", step != from && frame_at(step).number == from && state_at(step) == 7);
		put_clock(CLOCK_PERIOD, 8);
		CHECK_EQ("-", state_at(loop ? first : w.output.clock), 8);
		put_clock(CLOCK_END, 9);
		CHECK_EQ("-", frame_at(w.output.clock).number, loop ? step : frame_at(w.output.clock).number);
		draft_begin(&w.draft, place()->sequence, output_room(&w.output));
		log_writer_number(&w, 1);
		log_writer_end(&w);
		CHECK_EQ("-", read_numbers(w.fd, &from), 2);
		CHECK_EQ("-", in.clock, w.output.clock);
		input_close(&in);
		log_writer_free(&w);
	}
}

/* -- The index ------------------------------------------------------------------------------------------- */

static unsigned char *read_index(struct frame *index, uint64_t *at)
{
	struct frame footer = frame_at(file_bytes_now() - FRAME_BYTES);
	unsigned char *body;

	CHECK_EQ("-", footer.kind, FRAME_FOOTER);
	CHECK_EQ("-", footer.size, 0);
	*at = footer.number;
	*index = frame_at(footer.number);
	CHECK_EQ("-", index->kind, FRAME_INDEX);
	body = malloc(index->size);
	MUST(body && pread(w.fd, body, index->size, (off_t)(footer.number + FRAME_BYTES)) == (ssize_t)index->size);
	CHECK_EQ("-", crc32c(body, index->size), index->body_crc);
	return body;
}

/*
 * Checks that each mark names a segment, and that marks are in order, evenly spread, and not too many. Returns the
 * number of marks.
 */
static uint32_t check_marks(const unsigned char *p, uint32_t marks, uint64_t oldest)
{
	uint64_t before = 0, first = 0, distance = 0;

	CHECK_OP("-", marks, <=, MARKS_MAX);
	for (uint32_t i = 0; i < marks; i++, p += MARK_BYTES) {
		struct frame f = frame_at(get64(p));
		uint64_t number = get64(p + 8);

		CHECK("-", f.kind == FRAME_SEGMENT && f.number == number && f.first == get64(p + 16));
		CHECK("-", number >= oldest && f.first >= first);
		if (i == 1)
			distance = number - before;
		if (i > 0)
			CHECK_EQ("-", number - before, distance);
		before = number;
		first = f.first;
	}
	if (marks > 0)
		CHECK("-", place()->sequence - before <= (distance ? distance : place()->sequence));
	return marks;
}

TEST(index_contents)
{
	struct output_end end = { .lost = 5, .discarded = 3, .status = INDEX_STREAM_FULL | INDEX_LOG_OVERRUN,
	                          .flush_error = ENOSPC };
	unsigned char *body;
	struct frame index;
	uint64_t at;

	log_writer_begin(&w, -1, POSIX_TRACE_APPEND, 0, 100);
	log_writer_type(&w, 70, "one");
	for (uint64_t i = 0; i < 100; i++) {
		log_writer_number(&w, i);
		MUST(log_writer_segment(&w) == 0);
	}
	log_writer_type(&w, 71, "two");
	MUST(output_end(&w.output, &end) == 0);
	body = read_index(&index, &at);
	CHECK("LOG-20", get64(body) == 100 && get64(body + 8) == 5 && get64(body + 16) == 3);
	CHECK("LOG-20", get32(body + 24) == (INDEX_STREAM_FULL | INDEX_LOG_OVERRUN) && get32(body + 28) == ENOSPC);
	CHECK("-", get32(body + 32) == 0 && get32(body + 36) == 2 && get32(body + 40) == 100 && get32(body + 44) == 0);
	CHECK_EQ("-", index.size, 48 + 2 * 8 + 100 * 24 + INDEX_BEHIND);
	CHECK("-", frame_at(get64(body + 48)).kind == FRAME_TYPES && frame_at(get64(body + 56)).kind == FRAME_TYPES);
	CHECK("-", get64(body + 48) < get64(body + 56));
	check_marks(body + 64, 100, 1);
	free(body);

	MUST(input_open(&in, w.fd) == 0);
	CHECK("LOG-20", in.status == end.status && in.flush_error == ENOSPC && in.lost == 5 && in.discarded == 3);
	input_close(&in);
	log_writer_free(&w);
}

/* Far more segments than marks, and more frames than the initial memory has room for. */
TEST(marks_thinned)
{
	unsigned char *body;
	struct frame index;
	uint64_t at;

	log_writer_begin(&w, -1, POSIX_TRACE_APPEND, 0, 100);
	for (uint64_t i = 0; i < 3 * MARKS_MAX + 100; i++) {
		log_writer_number(&w, i);
		MUST(log_writer_segment(&w) == 0);
		if (i % 10 == 0)
			log_writer_type(&w, (uint16_t)(64 + i % 1000), "a type");
	}
	log_writer_end(&w);
	body = read_index(&index, &at);
	CHECK_EQ("-", get32(body + 36), (3 * MARKS_MAX + 100 + 9) / 10);
	for (uint32_t i = 0; i < get32(body + 36); i++)
		CHECK_EQ("-", frame_at(get64(body + 48 + 8 * i)).kind, FRAME_TYPES);
	CHECK_OP("-", check_marks(body + 48 + 8 * (size_t)get32(body + 36), get32(body + 40), 1), >=, MARKS_MAX / 2);
	free(body);
	log_writer_free(&w);
}

/* LOOP: no mark names an overwritten segment. */
TEST(marks_of_a_loop)
{
	unsigned char *body;
	struct frame index;
	uint64_t at, oldest = 0;

	loop(20000, 5, 3);
	for (uint32_t i = 0; i < place()->slots; i++)
		if (oldest == 0 || place()->slot_first[i] < oldest)
			oldest = place()->slot_first[i];
	log_writer_end(&w);
	body = read_index(&index, &at);
	CHECK_EQ("-", get32(body + 32), place()->slots);
	for (uint32_t i = 0, before = 0; i < place()->slots; i++) {
		uint64_t slot = get64(body + 48 + 8 * i);

		CHECK_EQ("-", frame_at(slot).kind, FRAME_SLOT);
		CHECK_OP("OPEN-3", frame_at(slot + FRAME_BYTES).number, >, before); /* oldest first */
		before = (uint32_t)frame_at(slot + FRAME_BYTES).number;
	}
	CHECK("-", check_marks(body + 48 + 8 * (size_t)(place()->slots + get32(body + 36)), get32(body + 40), oldest) >
	      0);
	free(body);
	log_writer_free(&w);
}

/* -- Continuing a log ------------------------------------------------------------------------------------------- */

/* A process that continues the log after a death finds the contents of the file and writes the same index. */
TEST(recalled)
{
	static const int policies[] = { POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND };

	for (unsigned i = 0; i < 3; i++) {
		struct output other;
		struct frame f;
		uint64_t at, from, size;

		log_writer_begin(&w, -1, policies[i], 30000, 100);
		for (uint64_t k = 0; k < 2000; k++) {
			log_writer_number(&w, k);
			if (k % 20 == 0)
				MUST(log_writer_segment(&w) == 0);
			if (k == 500 || k == 1500)
				log_writer_type(&w, 70, "a type");
		}
		MUST(log_writer_segment(&w) == 0);
		size = file_bytes_now();
		MUST(output_init(&other, w.fd, true, policies[i], w.state) == 0);
		MUST(input_open_header(&in, w.fd) == 0);
		at = in.begin;
		while (input_frame(&in, &f, &at)) {
			MUST(output_recall(&other, &f, at) == 0);
			at += frame_bytes(f.size);
		}
		input_close(&in);
		CHECK_EQ("-", other.frames, 2);
		CHECK("-", memcmp(other.frame, w.output.frame, 2 * sizeof *other.frame) == 0);
		if (policies[i] != POSIX_TRACE_LOOP)
			CHECK("-", other.marks == w.output.marks &&
			      memcmp(other.mark, w.output.mark, other.marks * sizeof *other.mark) == 0);
		output_free(&w.output);
		w.output = other;
		log_writer_number(&w, 2000);
		log_writer_end(&w);
		CHECK_OP("-", file_bytes_now(), !=, size);
		CHECK("-", read_numbers(w.fd, &from) + from == 2001 && in.complete);
		input_close(&in);
		log_writer_free(&w);
	}
}

/* -- H25, H12: failures and interruptions ---------------------------------------------------------------------- */

static struct rlimit no_limit;

/* Limits the size of files from here on. */
static void limit(uint64_t bytes)
{
	struct rlimit l = no_limit;

	if (bytes != UINT64_MAX)
		l.rlim_cur = (rlim_t)bytes;
	MUST(setrlimit(RLIMIT_FSIZE, &l) == 0);
}

/*
 * The file can only grow byte by byte. A call that fails changes nothing that counts, and the log can be opened,
 * with the events written before. As soon as there is room, writing goes on at the same place.
 */
static void grow(int policy)
{
	uint64_t n = 0, from, end, most = 0;
	struct log_position before;

	signal(SIGXFSZ, SIG_IGN);
	MUST(getrlimit(RLIMIT_FSIZE, &no_limit) == 0);
	log_writer_begin(&w, -1, policy, 8000, 8);
	for (unsigned round = 0; round < 40; round++) {
		int r = 0;

		for (unsigned i = 0; i < 3; i++) {
			before = *place();
			log_writer_number(&w, n);
			end = file_bytes_now();
			/* More and more of the segment is written before the call fails. */
			for (uint64_t some = 0; some < 200; some += 11) {
				uint64_t from_now = place()->end < end ? place()->end : end;

				limit(from_now + some);
				r = output_segment(&w.output, &w.draft, 0);
				limit(UINT64_MAX);
				if (r == 0)
					break;
				CHECK_EQ("FLUSH-11", r, -EFBIG);
				CHECK("-", memcmp(place(), &before, sizeof before) == 0);
				if (n > 0) {
					MUST(input_open(&in, w.fd) == 0);
					input_close(&in);
				}
			}
			if (r < 0)
				MUST((r = output_segment(&w.output, &w.draft, 0)) == 0);
			n++;
			draft_begin(&w.draft, place()->sequence, output_room(&w.output));
		}
		if (policy == POSIX_TRACE_UNTIL_FULL && output_room(&w.output) < 500)
			break;
		CHECK("-", read_numbers(w.fd, &from) + from == n);
		most = from > most ? from : most;
		input_close(&in);
	}
	CHECK_EQ("-", most > 0, policy == POSIX_TRACE_LOOP);
	/* Also at the end. */
	for (uint64_t some = 0;; some += 9) {
		int r;

		limit(place()->end + some);
		/* All events are in the log, and the SUM frame says so without needing further space. */
		CHECK_EQ("SHUT-12", output_end(&w.output, &(struct output_end){ .lost = 5 }), 0);
		CHECK("SHUT-12", read_numbers(w.fd, &from) + from == n && in.ended && in.lost == 5 &&
		      (in.complete || in.segments == place()->sequence - 1));
		input_close(&in);
		r = output_end(&w.output, &(struct output_end){ .unwritten = 7 });
		limit(UINT64_MAX);
		if (r == 0)
			break;
		CHECK_EQ("SHUT-12", r, -EFBIG);
		CHECK("SHUT-12", read_numbers(w.fd, &from) + from == n && !in.complete && in.ended &&
		      in.unwritten == 7);
		input_close(&in);
		MUST(some < 100000);
	}
	CHECK("-", read_numbers(w.fd, &from) + from == n && in.complete && in.unwritten == 7);
	input_close(&in);
	log_writer_free(&w);
	close(w.fd);
}

TEST(no_room)
{
	grow(POSIX_TRACE_APPEND);
	grow(POSIX_TRACE_UNTIL_FULL);
	grow(POSIX_TRACE_LOOP);
}

/* After part of a segment went into a pipe, nothing can follow it. */
TEST(pipe_broken)
{
	struct log_position before;
	int ends[2];

	signal(SIGPIPE, SIG_IGN);
	MUST(pipe(ends) == 0);
	log_writer_begin(&w, ends[1], POSIX_TRACE_APPEND, 0, 100);
	log_writer_number(&w, 1);
	MUST(log_writer_segment(&w) == 0);
	before = *place();
	close(ends[0]);
	log_writer_number(&w, 2);
	CHECK_EQ("-", output_segment(&w.output, &w.draft, 0), -EPIPE);
	CHECK("-", memcmp(place(), &before, sizeof before) == 0);
	/* A new reader does not help. */
	CHECK_EQ("-", output_segment(&w.output, &w.draft, 0), -EPIPE);
	CHECK_EQ("-", output_end(&w.output, &(struct output_end){ .lost = 0 }), -EPIPE);
	close(ends[1]);
	log_writer_free(&w);
}

/* For a non-blocking pipe, the writer waits itself. */
static void *read_slowly(void *arg)
{
	static unsigned char bytes[1 << 20];
	size_t got = 0;
	ssize_t n;

	while ((n = read(*(int *)arg, bytes + got, 1000)) > 0)
		got += (size_t)n;
	return (void *)(intptr_t)log_file(bytes, got);
}

TEST(pipe_slow)
{
	pthread_t thread;
	uint64_t from;
	int ends[2];
	void *fd;

	MUST(pipe2(ends, O_NONBLOCK) == 0 && fcntl(ends[0], F_SETFL, 0) == 0);
	MUST(pthread_create(&thread, NULL, read_slowly, &ends[0]) == 0);
	log_writer_begin(&w, ends[1], POSIX_TRACE_APPEND, 0, 100);
	for (uint64_t i = 0; i < 50000; i++)
		log_writer_number(&w, i);
	log_writer_end(&w);
	close(ends[1]);
	pthread_join(thread, &fd);
	CHECK("LOG-17", read_numbers((int)(intptr_t)fd, &from) == 50000 && in.complete);
	input_close(&in);
	log_writer_free(&w);
}

/* Lost events are reported with the next segment. A number beyond 32 bits is reported as the largest that fits. */
TEST(lost)
{
	log_writer_begin(&w, -1, POSIX_TRACE_APPEND, 0, 100);
	log_writer_number(&w, 0);
	MUST(output_segment(&w.output, &w.draft, 3) == 0);
	draft_begin(&w.draft, 2, output_room(&w.output));
	log_writer_number(&w, 1);
	MUST(output_segment(&w.output, &w.draft, 3) == 0);
	draft_begin(&w.draft, 3, output_room(&w.output));
	log_writer_number(&w, 2);
	MUST(output_segment(&w.output, &w.draft, UINT64_C(0x200000000)) == 0);
	CHECK_EQ("-", w.output.mark[0].number, 1);
	CHECK_EQ("-", frame_at(w.output.mark[0].offset).lost, 3);
	CHECK_EQ("-", frame_at(w.output.mark[1].offset).lost, 0);
	CHECK_EQ("-", frame_at(w.output.mark[2].offset).lost, UINT32_MAX);
	MUST(input_open(&in, w.fd) == 0);
	CHECK("-", in.lost == UINT64_C(3) + UINT32_MAX && in.status == INDEX_STREAM_OVERRUN);
	input_close(&in);
	log_writer_free(&w);
}

TEST_MAIN(TEST_ENTRY(files), TEST_ENTRY(sizes), TEST_ENTRY(append), TEST_ENTRY(until_full), TEST_ENTRY(pipe_as_file),
          TEST_ENTRY(slots), TEST_ENTRY(loop_room), TEST_ENTRY(last_slot_cut), TEST_ENTRY(empty),
          TEST_ENTRY(over_an_older_log), TEST_ENTRY(begun_again), TEST_ENTRY(clocks), TEST_ENTRY(index_contents),
          TEST_ENTRY(marks_thinned), TEST_ENTRY(marks_of_a_loop), TEST_ENTRY(recalled), TEST_ENTRY(no_room),
          TEST_ENTRY(pipe_broken), TEST_ENTRY(pipe_slow), TEST_ENTRY(lost))
