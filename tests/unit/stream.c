/*
 * stream.c - src/shm/stream.c: the geometry of a stream, and what is refused
 *
 * SPDX-License-Identifier: MIT
 */
#include "shm/reap.h"
#include "shm/stream.h"

#include "host/file.h"
#include "shm.h"
#include "unit.h"

static const struct stream_origin origin = {
	.creator = { 11, 22, 33 }, .target = { 44, 55, 33 }, .serial = 66,
};
#define FILE_NAME "stream-11-22-66"

static char path[32];
static int dir;
static struct shm_dir shm_dir;
static struct hold hold;

static void begin(void)
{
	dir = unit_directory(path);
	shm_dir = unit_shm_dir(path);
}

static void begin_in_shm(const char *options)
{
	shm_private(options);
	strcpy(path, "/dev/shm");
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	shm_dir = unit_shm_dir(path);
}

static void end(void)
{
	CHECK_EQ("-", shm_count(path, ""), 0);
	CHECK_EQ("-", rmdir(path), 0);
}

static int create(uint64_t size, uint32_t data_size, struct stream *s)
{
	struct attr a;

	unit_attr(&a, size, data_size, POSIX_TRACE_UNTIL_FULL);
	attr_set_name(&a, "unit");
	lock_release(&hold);
	return stream_create(dir, &shm_dir, &origin, &a, false, s, &hold);
}

static int map(struct stream *s)
{
	return stream_map(dir, &shm_dir, origin.creator, origin.serial, 33, s);
}

static void check_geometry(uint64_t size, uint32_t data_size)
{
	int failures = test_failures;
	struct stream s, again;
	struct stat st;
	struct attr a;

	MUST(create(size, data_size, &s) == 0);
	MUST(fstatat(dir, FILE_NAME, &st, 0) == 0);
	unit_attr(&a, size, data_size, 0);
	/* S1 */
	CHECK_EQ("-", st.st_size, s.size);
	CHECK_EQ("-", s.header->file_size, s.size);
	CHECK_EQ("-", s.size, STREAM_HEADER_BYTES + s.seat_count * sizeof(struct seat) +
	         (uint64_t)s.chunk_count * (sizeof(struct chunk) + s.chunk_size));
	CHECK("-", (unsigned char *)s.seats == (unsigned char *)s.header + STREAM_HEADER_BYTES);
	CHECK("-", (unsigned char *)s.chunks == (unsigned char *)(s.seats + s.seat_count));
	CHECK("-", s.memory == (unsigned char *)(s.chunks + s.chunk_count));
	CHECK("-", stream_chunk_memory(&s, &s.chunks[s.chunk_count - 1]) + s.chunk_size ==
	      (unsigned char *)s.header + s.size);
	/* S2 */
	CHECK_EQ("-", s.chunk_size % LINE, 0);
	CHECK("-", s.chunk_size >= 2 * s.event_size_max && s.chunk_size <= CHUNK_SIZE_MAX);
	/* S3 */
	CHECK("-", s.event_size_max >= record_size_max(s.header->data_size));
	CHECK("-", s.event_size_max >= attr_event_size_max(&a));
	/*
	 * The requested size is available, whichever threads write: at the end of each chunk up to one event less a
	 * byte is unused, and two chunks do not count.
	 */
	CHECK("-", s.header->stream_size >= size);
	CHECK("-", (uint64_t)(s.chunk_count - 2) * (s.chunk_size - s.event_size_max) >= s.header->stream_size);
	CHECK("-", s.seat_count >= 1);
	/* The file is at most twice as large, plus a few chunks. */
	CHECK("-", s.size <= 2 * size + 10 * (uint64_t)s.chunk_size + STREAM_HEADER_BYTES + 1024 * sizeof(struct seat));

	MUST(map(&again) == 0);
	CHECK("-", again.header != s.header);
	CHECK("-", again.chunk_size == s.chunk_size && again.chunk_count == s.chunk_count &&
	      again.seat_count == s.seat_count &&
	      again.event_size_max == s.event_size_max && again.clock_kind == s.clock_kind && again.size == s.size);
	stream_unmap(&again);
	stream_unmap(&s);
	unlinkat(dir, FILE_NAME, 0);
	if (test_failures != failures)
		printf("  stream size %llu, data size %u\n", (unsigned long long)size, data_size);
}

TEST(geometry)
{
	static const uint32_t data_size[] = { 0, 1, 8, 100, 512, 1000, 1024, 4096, 16384, RECORD_DATA_MAX };
	static const uint64_t size[] = { 0, 1, 63, 64, 1000, 4095, 4096, 4097, 65536, 100000, 131072, 262144, 1000003 };

	begin();
	for (unsigned d = 0; d < sizeof data_size / sizeof data_size[0]; d++)
		for (unsigned i = 0; i < sizeof size / sizeof size[0]; i++)
			check_geometry(size[i], data_size[d]);
	for (uint64_t s = 1000; s < 3000000; s = s * 13 / 10 + 7)
		check_geometry(s, (uint32_t)(s % 3000));
	end();
}

/* Chunks have a maximum size, so a large stream has more of them. */
TEST(large)
{
	begin_in_shm("size=2g");
	check_geometry(UINT64_C(600) << 20, 1024);
}

TEST(contents)
{
	struct stream s;
	struct attr a;

	begin();
	MUST(create(10000, 100, &s) == 0);
	CHECK("-", s.header->creator_pid == 11 && s.header->creator_start == 22);
	CHECK("-", s.header->target_pid == 44 && s.header->target_start == 55 && s.header->serial == 66 &&
	      s.header->pidns == 33);
	CHECK_EQ("-", s.header->data_size, 100);
	CHECK_EQ("-", s.header->stream_policy, POSIX_TRACE_UNTIL_FULL);
	CHECK_STR("-", s.header->name, "unit");
	CHECK_EQ("-", s.header->state, 0);
	CHECK_EQ("-", s.clock_kind, ticks_kind());
	for (uint32_t i = 0; i < s.chunk_count; i++)
		CHECK("-", !owner_is(s.chunks[i].owner) && s.chunks[i].progress == 0 &&
		      chunk_unread(&s.chunks[i], 0) == 0);
	for (uint32_t i = 0; i < s.seat_count; i++)
		CHECK("-", s.seats[i].ref == 0 && s.seats[i].busy == 0);

	/* A second stream of the same name is refused, and the first stays. */
	s.header->lost = 1;
	unit_attr(&a, 4096, 8, 0);
	CHECK_EQ("-", stream_create(dir, &shm_dir, &origin, &a, false, &(struct stream){ 0 }, &(struct hold){ NULL }),
	         -EEXIST);
	stream_unmap(&s);
	CHECK("-", s.header == NULL);
	MUST(map(&s) == 0);
	CHECK_EQ("-", s.header->lost, 1);
	unlinkat(dir, FILE_NAME, 0);
	CHECK_EQ("-", map(&(struct stream){ 0 }), -ENOENT);
	end();
}

static bool reap(void)
{
	struct page_entry entry = { origin.creator, origin.serial, 0 };

	stream_reap(dir, &shm_dir, 33, &entry, NULL, NULL);
	return faccessat(dir, FILE_NAME, F_OK, 0) < 0;
}

/* The stream exists as long as its creator holds it, whatever happens to the mappings. */
TEST(exists)
{
	struct stream s, again = { 0 };

	begin();
	MUST(create(10000, 100, &s) == 0);
	CHECK("-", hold.at && unit_held(dir, FILE_NAME));
	MUST(map(&again) == 0);
	stream_unmap(&s);
	CHECK("-", unit_held(dir, FILE_NAME));
	CHECK("-", !reap()); /* its creator lives */
	CHECK_EQ("-", again.header->state, 0);
	lock_release(&hold);
	CHECK("-", !unit_held(dir, FILE_NAME)); /* a mapping is not a hold */
	CHECK_EQ("-", map(&s), -ESTALE);
	CHECK("-", reap());
	CHECK_EQ("-", again.header->state, STATE_ENDED); /* visible to writers that still record */
	CHECK_EQ("-", map(&s), -ENOENT);
	end();
}

/*
 * The ids in a stream belong to the traced process's pid namespace. A process of a different namespace is an
 * outsider.
 */
TEST(namespaces)
{
	struct stream s, again;

	begin();
	MUST(create(10000, 100, &s) == 0);
	CHECK("-", s.pidns == 33 && s.outsider == 0);
	MUST(stream_map(dir, &shm_dir, origin.creator, origin.serial, 34, &again) == 0);
	CHECK("-", again.pidns == 33 && again.outsider == THREAD_REF_OUTSIDER);
	stream_unmap(&again);
	MUST(stream_map(dir, &shm_dir, origin.creator, origin.serial, 0, &again) == 0); /* unknown: counts as the
	                                                                                 * same */
	CHECK_EQ("-", again.outsider, 0);
	stream_unmap(&again);
	unlinkat(dir, FILE_NAME, 0);
	end();
}

TEST(too_large)
{
	static const uint64_t size[] = { 1 << 20, UINT64_C(1) << 30, UINT64_C(1) << 40, (UINT64_C(1) << 40) + 1,
		UINT64_C(1) << 63, UINT64_MAX - 1, UINT64_MAX };
	struct stream s;

	begin_in_shm("size=512k");
	for (unsigned i = 0; i < sizeof size / sizeof size[0]; i++) {
		CHECK_EQ("CREATE-21", create(size[i], 1024, &s), -ENOMEM);
		CHECK_EQ("-", shm_count("/dev/shm", ""), 0);
	}
	CHECK_EQ("-", create(1 << 17, 1024, &s), 0);
}

static void check_refused(const char *what, uint64_t value)
{
	struct stream s = { 0 };
	int r = map(&s);

	if (r != -EINVAL)
		TEST_FAIL("-", "%s = %llu: %d, not -EINVAL", what, (unsigned long long)value, r);
	CHECK("-", s.header == NULL); /* unchanged */
}

#define REFUSED(field, ...)                                                              \
	do {                                                                             \
		const uint64_t values[] = { __VA_ARGS__ };                               \
		for (unsigned i = 0; i < sizeof values / sizeof values[0]; i++) {        \
			s.header->field = (__typeof__(s.header->field))values[i];        \
			check_refused(#field, values[i]);                                \
		}                                                                        \
		*s.header = good;                                                        \
	} while (0)

TEST(refused)
{
	struct stream_header good;
	struct stream s, again;

	begin();
	MUST(create(100000, 1024, &s) == 0);
	good = *s.header;

	REFUSED(magic, 0, good.magic + 1, UINT32_MAX);
	REFUSED(version, 0, good.version - 1u, good.version + 1u);
	REFUSED(header_size, 0, good.header_size - 1u, good.header_size + 64u);
	REFUSED(chunk_size, 0, 1, good.chunk_size - 1u, good.chunk_size + 1u, good.chunk_size - 64u,
	        good.chunk_size + 64u,
	        good.chunk_size * 2u, UINT32_MAX, UINT32_C(1) << 31);
	REFUSED(chunk_count, 0, good.chunk_count - 1u, good.chunk_count + 1u, UINT32_MAX, UINT32_C(1) << 31);
	REFUSED(seat_count, 0, good.seat_count - 1u, good.seat_count + 1u, UINT32_MAX, UINT32_C(1) << 31);
	REFUSED(event_size_max, 0, good.chunk_size / 2 + 1, record_size_max(1024) - 1, UINT32_MAX);
	REFUSED(data_size, RECORD_DATA_MAX + 1, UINT32_MAX, good.event_size_max);
	REFUSED(file_size, 0, good.file_size - 1, good.file_size + 1, UINT64_MAX);

	/* Two wrong values that match: the same number of bytes, divided differently. */
	s.header->seat_count += 2;
	s.header->chunk_count = 0;
	check_refused("chunk_count", 0);
	*s.header = good;

	/* A file shorter or longer than its header says. */
	MUST(truncate(strcat(strcpy((char[64]){ 0 }, path), "/" FILE_NAME), (off_t)good.file_size + 64) == 0);
	check_refused("length", good.file_size + 64);
	MUST(truncate(strcat(strcpy((char[64]){ 0 }, path), "/" FILE_NAME), STREAM_HEADER_BYTES) == 0);
	check_refused("length", STREAM_HEADER_BYTES);
	MUST(truncate(strcat(strcpy((char[64]){ 0 }, path), "/" FILE_NAME), STREAM_HEADER_BYTES - 1) == 0);
	check_refused("length", STREAM_HEADER_BYTES - 1);
	MUST(truncate(strcat(strcpy((char[64]){ 0 }, path), "/" FILE_NAME), (off_t)good.file_size) == 0);
	CHECK_EQ("-", map(&again), 0); /* the good file is accepted */
	unlinkat(dir, FILE_NAME, 0);
	end();
}

/* H18: each bit of the sizes in the header. If the header is not refused, its sizes fit into the file. */
TEST(each_bit)
{
	struct stream s, again;
	unsigned refused = 0;

	begin();
	MUST(create(50000, 1024, &s) == 0);
	for (unsigned bit = 0; bit < 8 * offsetof(struct stream_header, creator_start); bit++) {
		unsigned char *byte = (unsigned char *)s.header + bit / 8;

		*byte ^= (unsigned char)(1u << bit % 8);
		if (map(&again) == 0) {
			CHECK_EQ("-", again.size, s.size);
			CHECK("-", again.memory + (uint64_t)again.chunk_count * again.chunk_size <=
			      (unsigned char *)again.header + s.size);
			CHECK("-", again.event_size_max <= again.chunk_size / 2);
			stream_unmap(&again);
		} else {
			refused++;
		}
		*byte ^= (unsigned char)(1u << bit % 8);
	}
	CHECK("-", refused >= 8 * 24);
	unlinkat(dir, FILE_NAME, 0);
	end();
}

/* -- With a log --------------------------------------------------------------------------------- */

static int create_with_log(uint64_t size, uint32_t capacity, struct stream *s)
{
	struct attr a;

	attr_init(&a);
	a.stream_size = size;
	lock_release(&hold);
	return stream_create(dir, &shm_dir, &origin, &a, stream_log_bytes(capacity), s, &hold);
}

/* The log's state follows the chunks, with room for the body and the padding of its frame. */
TEST(log_part)
{
	static const uint32_t capacity[] = { 1000, 1001, 1063, 1064, 4096, 262144, 1 << 20 };
	struct stream s, again;

	begin();
	for (unsigned i = 0; i < sizeof capacity / sizeof capacity[0]; i++) {
		CHECK("-", stream_log_bytes(capacity[i]) >= LOG_BODY_OFFSET + capacity[i] + 7 &&
		      stream_log_bytes(capacity[i]) % LINE == 0);
		MUST(create_with_log(10000 + i, capacity[i], &s) == 0);
		CHECK("-", (unsigned char *)s.log == s.memory + (size_t)s.chunk_count * s.chunk_size +
		      (size_t)s.programs * PROGRAM_BYTES);
		CHECK_EQ("-", s.log_bytes, stream_log_bytes(capacity[i]));
		CHECK("-", (unsigned char *)s.log + s.log_bytes == (unsigned char *)s.header + s.size);
		CHECK_EQ("-", s.header->log_state, s.log_bytes);
		CHECK_EQ("-", s.header->stream_policy, POSIX_TRACE_FLUSH); /* default with a log */
		for (uint32_t k = 0; k < s.log_bytes; k++)
			MUST(((unsigned char *)s.log)[k] == 0);
		MUST(map(&again) == 0);
		((unsigned char *)s.log)[s.log_bytes - 1] = 77;
		CHECK("-", again.log_bytes == s.log_bytes && ((unsigned char *)again.log)[s.log_bytes - 1] == 77);
		stream_unmap(&again);
		stream_unmap(&s);
		unlinkat(dir, FILE_NAME, 0);
	}
	/* A stream without a log does not have this part. */
	MUST(create(10000, 100, &s) == 0);
	CHECK("-", !s.log && s.log_bytes == 0);
	unlinkat(dir, FILE_NAME, 0);
	end();
}

TEST(log_part_refused)
{
	static const uint64_t wrong[] = {
		1, 63, 64, LOG_BODY_OFFSET, LOG_BODY_OFFSET - 64, (uint64_t)LOG_BYTES_MAX + 64, UINT32_MAX,
		UINT64_C(1) << 32, UINT64_MAX, UINT64_MAX - 63,
	};
	struct stream_header good;
	struct stream s;

	begin();
	MUST(create_with_log(10000, 1000, &s) == 0);
	good = *s.header;
	for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		s.header->log_state = wrong[i];
		check_refused("log_state", wrong[i]);
		/* Too large by a size, or by a number that wraps. */
		s.header->log_state = good.log_state + wrong[i];
		check_refused("log_state", s.header->log_state);
		*s.header = good;
	}
	s.header->log_state = 0;
	check_refused("log_state", 0);
	*s.header = good;
	unlinkat(dir, FILE_NAME, 0);
	end();
}

static struct {
	unsigned called;
	bool answer;
	bool held; /* whether the file was held during the call */
	uint32_t state;
	struct stream s;
} saving;

static bool save(int fd, void *arg)
{
	saving.called++;
	CHECK("-", arg == &saving);
	saving.held = unit_held(dir, FILE_NAME);
	CHECK_EQ("-", stream_map_dead(fd, &shm_dir, 33, &saving.s), 0);
	if (saving.s.header)
		saving.state = saving.s.header->state;
	return saving.answer;
}

static bool reap_saving(bool with)
{
	struct page_entry entry = { origin.creator, origin.serial, 0 };

	saving.called = 0;
	return stream_reap(dir, &shm_dir, 33, &entry, with ? save : NULL, &saving);
}

static bool is_there(void)
{
	return faccessat(dir, FILE_NAME, F_OK, 0) == 0;
}

/* The contents are saved to the log before the file is removed. If they cannot be saved, the file stays. */
TEST(saved)
{
	struct stream s;

	begin();
	MUST(create_with_log(10000, 1000, &s) == 0);
	s.header->state = STATE_RUNNING | STATE_ARMED | STATE_FLUSHING | STATE_FULL;
	/* The creator lives. */
	CHECK("-", !reap_saving(true) && saving.called == 0 && is_there());
	CHECK_EQ("-", s.header->state, STATE_RUNNING | STATE_ARMED | STATE_FLUSHING | STATE_FULL);
	lock_release(&hold);
	/* Without a function that saves it, the stream ends and its file stays. */
	reap_saving(false);
	CHECK("-", saving.called == 0 && is_there());
	CHECK_EQ("-", s.header->state, STATE_ENDED | STATE_CUT | STATE_FULL);
	/* Saving fails. */
	saving.answer = false;
	reap_saving(true);
	CHECK("-", saving.called == 1 && is_there() && saving.held);
	/* save() gets all of the stream, with a state that says that it was running. */
	CHECK_EQ("-", saving.state, STATE_ENDED | STATE_CUT | STATE_FULL);
	CHECK("-", saving.s.log && saving.s.chunk_count == s.chunk_count && saving.s.size == s.size &&
	      saving.s.outsider == 0);
	stream_unmap(&saving.s);
	/* The next attempt succeeds. */
	saving.answer = true;
	CHECK("-", reap_saving(true));
	CHECK("-", saving.called == 1 && !is_there());
	stream_unmap(&saving.s);
	/* The file is gone. */
	reap_saving(true);
	CHECK_EQ("-", saving.called, 0);

	/* Streams of a different version, with and without a log, are not touched. */
	for (int log = 0; log < 2; log++) {
		MUST((log ? create_with_log(10000, 1000, &s) : create(10000, 100, &s)) == 0);
		s.header->version ^= 1;
		s.header->state = STATE_RUNNING;
		lock_release(&hold);
		reap_saving(true);
		CHECK("-", saving.called == 0 && is_there());
		CHECK_EQ("-", s.header->state, STATE_RUNNING);
		unlinkat(dir, FILE_NAME, 0);
	}

	/* A stream without a log is removed without saving. */
	MUST(create(10000, 100, &s) == 0);
	lock_release(&hold);
	CHECK("-", reap_saving(true) && saving.called == 0 && !is_there());
	end();
}

/* The stream of a dead creator is mapped only if its header is valid, and its namespace is taken into account. */
TEST(dead_ones)
{
	struct stream s, again;
	struct stat st;
	int fd;

	begin();
	MUST(create_with_log(10000, 1000, &s) == 0);
	lock_release(&hold);
	CHECK_EQ("-", map(&again), -ESTALE);
	fd = openat(dir, FILE_NAME, O_RDWR | O_CLOEXEC);
	MUST(fd >= 0 && fstat(fd, &st) == 0);
	CHECK_EQ("-", stream_map_dead(fd, &shm_dir, 33, &again), 0);
	CHECK("-", again.size == s.size && again.log_bytes == s.log_bytes && again.outsider == 0);
	stream_unmap(&again);
	CHECK_EQ("-", stream_map_dead(fd, &shm_dir, 34, &again), 0);
	CHECK_EQ("-", again.outsider, THREAD_REF_OUTSIDER);
	stream_unmap(&again);
	s.header->chunk_count++;
	CHECK_EQ("-", stream_map_dead(fd, &shm_dir, 33, &again), -EINVAL);
	s.header->chunk_count--;
	s.header->log_state += 64;
	CHECK_EQ("-", stream_map_dead(fd, &shm_dir, 33, &again), -EINVAL);
	s.header->log_state -= 64;
	MUST(ftruncate(fd, st.st_size - 1) == 0);
	CHECK("-", stream_map_dead(fd, &shm_dir, 33, &again) < 0);
	MUST(ftruncate(fd, 100) == 0);
	CHECK("-", stream_map_dead(fd, &shm_dir, 33, &again) < 0);
	MUST(ftruncate(fd, 0) == 0);
	CHECK("-", stream_map_dead(fd, &shm_dir, 33, &again) < 0);
	close(fd);
	CHECK("-", stream_map_dead(-1, &shm_dir, 33, &again) < 0);
	unlinkat(dir, FILE_NAME, 0);
	end();
}

TEST_MAIN(TEST_ENTRY(geometry), TEST_ENTRY(large), TEST_ENTRY(contents), TEST_ENTRY(exists), TEST_ENTRY(namespaces),
          TEST_ENTRY(too_large), TEST_ENTRY(refused), TEST_ENTRY(each_bit), TEST_ENTRY(log_part),
          TEST_ENTRY(log_part_refused), TEST_ENTRY(saved), TEST_ENTRY(dead_ones))
