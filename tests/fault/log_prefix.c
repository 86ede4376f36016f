/*
 * log_prefix.c - a log whose last writes never reached the disk
 *
 * The linker's --wrap puts the functions of this file in front of src/base/sys.c: they note all writes to a log. Then
 * the file is rebuilt as it was after each write, with the next write torn: truncated at several places, with some of
 * its sectors missing, or present while the write before it is missing. In each case the log can be opened as soon as
 * its header is there, and the events read lie between those before and after the write.
 *
 * SPDX-License-Identifier: MIT
 */
#include <sys/mman.h>

#include "base/sys.h"
#include "fault.h"

/* -- What was written ------------------------------------------------------------------- */

struct op {
	uint64_t offset;
	size_t size;
	unsigned char *data; /* null: the file was truncated to this offset */
};

#define OPS_MAX 4096

static struct op ops[OPS_MAX];
static int ops_count;
static struct stat log_file;

/* Notes a write. Called by the only thread that writes. */
static void note(int fd, const void *data, size_t size, uint64_t offset)
{
	struct stat st;
	struct op *op;

	if (fstat(fd, &st) != 0 || st.st_ino != log_file.st_ino || st.st_dev != log_file.st_dev || ops_count == OPS_MAX)
		return;
	op = &ops[ops_count++];
	*op = (struct op){ offset, size, data ? malloc(size) : NULL };
	if (data)
		memcpy(op->data, data, size);
}

static void forget(void)
{
	while (ops_count > 0)
		free(ops[--ops_count].data);
}

long __real_sys_write_at(int fd, const void *buf, size_t size, uint64_t offset);
long __wrap_sys_write_at(int fd, const void *buf, size_t size, uint64_t offset);
long __wrap_sys_write_at(int fd, const void *buf, size_t size, uint64_t offset)
{
	long n = __real_sys_write_at(fd, buf, size, offset);

	if (n > 0)
		note(fd, buf, (size_t)n, offset);
	return n;
}

int __real_sys_truncate(int fd, uint64_t size);
int __wrap_sys_truncate(int fd, uint64_t size);
int __wrap_sys_truncate(int fd, uint64_t size)
{
	int r = __real_sys_truncate(fd, size);

	if (r == 0)
		note(fd, NULL, 0, size);
	return r;
}

/* -- The file as it may be after a power failure ---------------------------------------------- */

static unsigned char *image; /* contents after the writes so far */
static size_t image_size, image_room;
static int image_fd;

static void apply(unsigned char *to, size_t *size, const struct op *op, size_t from, size_t until)
{
	if (!op->data) {
		if (op->offset > *size)
			memset(to + *size, 0, op->offset - *size);
		*size = op->offset;
		return;
	}
	if (until <= from)
		return;
	if (op->offset + from > *size)
		memset(to + *size, 0, op->offset + from - *size);
	memcpy(to + op->offset + from, op->data + from, until - from);
	if (op->offset + until > *size)
		*size = op->offset + until;
}

/* -- Reading the file ------------------------------------------------------------------------------ */

#define EVENTS_MAX 20000
#define PER_TYPE   150 /* events per type */

struct seen {
	trace_event_id_t id;
	unsigned number; /* of our event; else 0 */
	struct timespec time;
};

struct reading {
	bool opens;
	int count, holes;
	unsigned first, last; /* numbers of our events */
	struct seen event[EVENTS_MAX];
};

static int failures_reported;

#define TOLD(...)                                              \
	do {                                                   \
		if (failures_reported++ < 20)                      \
			TEST_FAIL("-", __VA_ARGS__);           \
	} while (0)

static bool names_missing; /* the write with the names is missing */

static void check_name(trace_id_t trid, trace_event_id_t id, unsigned number)
{
	static trace_id_t known;
	static unsigned known_type;
	char name[TRACE_EVENT_NAME_MAX + 1] = "", right[32];

	if (names_missing || (known == trid && known_type == number / PER_TYPE))
		return;
	known = trid;
	known_type = number / PER_TYPE;
	snprintf(right, sizeof right, "type %u", known_type);
	if (posix_trace_eventid_get_name(trid, id, name) != 0 || strcmp(name, right) != 0)
		TOLD("event %u has a type with the name \"%s\"", number, name);
}

static void read_image(struct reading *r, const unsigned char *bytes, size_t size)
{
	struct posix_trace_event_info e;
	int unavailable = 0, error;
	unsigned data[40];
	trace_id_t trid;
	size_t length;

	MUST(ftruncate(image_fd, 0) == 0 && pwrite(image_fd, bytes, size, 0) == (ssize_t)size);
	memset(r, 0, offsetof(struct reading, event));
	error = posix_trace_open(image_fd, &trid);
	r->opens = error == 0;
	if (error) {
		CHECK_EQ("OPEN-8", error, EINVAL);
		return;
	}
	for (;;) {
		struct seen *s = &r->event[r->count];

		MUST(posix_trace_getnext_event(trid, &e, data, sizeof data, &length, &unavailable) == 0);
		if (unavailable)
			break;
		MUST(++r->count < EVENTS_MAX);
		*s = (struct seen){ e.posix_event_id, 0, e.posix_timestamp };
		r->holes += e.posix_event_id == POSIX_TRACE_OVERFLOW;
		if (e.posix_event_id < POSIX_TRACE_UNNAMED_USEREVENT)
			continue;
		s->number = data[0];
		for (unsigned i = 1; i < length / sizeof data[0]; i++)
			if (data[i] != data[0] * (i + 1))
				TOLD("event %u is damaged", data[0]);
		check_name(trid, s->id, s->number);
		if (!r->first)
			r->first = s->number;
		else if (s->number != r->last + 1 && !r->holes)
			TOLD("event %u behind %u", s->number, r->last);
		r->last = s->number;
	}
	MUST(posix_trace_close(trid) == 0);
}

static bool same(const struct seen *a, const struct seen *b)
{
	return a->id == b->id && a->number == b->number && a->time.tv_sec == b->time.tv_sec &&
	       a->time.tv_nsec == b->time.tv_nsec;
}

static bool begins_with(const struct reading *whole, const struct reading *part)
{
	if (part->count > whole->count)
		return false;
	for (int i = 0; i < part->count; i++)
		if (!same(&part->event[i], &whole->event[i]))
			return false;
	return true;
}

/* -- Torn writes ---------------------------------------------------------------------------------------- */

static bool wraps; /* the log's policy is LOOP */

/*
 * Checks the events read after a torn write. `cut`: the beginning of the write is there. Otherwise, if the write
 * replaced an older segment of a slot, a part of that segment may be left before the destroyed part: then a loss is
 * reported.
 */
static void check_torn(const struct reading *before, const struct reading *torn, const struct reading *after, int n,
                       bool cut, const char *how, size_t at)
{
	const struct op *op = &ops[n];

	/* A header that replaces an older one is written in part: no log. */
	if (!torn->opens) {
		if (before->opens && op->offset != 0)
			TOLD("write %d, %s at %zu: cannot be opened", n, how, at);
		return;
	}
	if (torn->holes && (cut || !wraps))
		TOLD("write %d, %s at %zu: a hole", n, how, at);
	/* A new log over an older one. */
	if (wraps && op->offset == 0 && (torn->count == 0 || torn->last == before->last))
		return;
	/* The other slot may have only events of the recording itself, where a flush came at the wrong moment. */
	if (wraps && torn->count > 0 && torn->last == 0)
		return;
	if (wraps) {
		if (before->last > torn->last || torn->last > after->last ||
		    (torn->last && torn->first > after->first && after->first) || torn->first < before->first)
			TOLD("write %d (%zu bytes at %lld), %s at %zu: %u to %u, %u to %u before, %u to %u after", n,
			     op->size, (long long)op->offset, how, at, torn->first, torn->last, before->first,
			     before->last, after->first, after->last);
		return;
	}
	/* After a new beginning the log has no older events. */
	if (!begins_with(after, torn) && !(op->offset == 0 && begins_with(before, torn)))
		TOLD("write %d, %s at %zu: %d events, which are not among the %d behind it", n, how, at, torn->count,
		     after->count);
	if (op->offset != 0 && !begins_with(torn, before))
		TOLD("write %d, %s at %zu: %d events, there were %d", n, how, at, torn->count, before->count);
}

static void tear(int n, const struct reading *before, const struct reading *after)
{
	static struct reading torn;
	const struct op *op = &ops[n];
	unsigned char *copy = malloc(image_room);
	size_t cuts[] = { 1,   8,   40,   63,           64,           65,           72,
		          511, 512, 4096, op->size / 3, op->size / 2, op->size - 8, op->size - 1 };
	size_t size;

	MUST(copy);
	for (unsigned i = 0; op->data && i < sizeof cuts / sizeof cuts[0]; i++) {
		if (cuts[i] == 0 || cuts[i] >= op->size)
			continue;
		memcpy(copy, image, image_size);
		size = image_size;
		apply(copy, &size, op, 0, cuts[i]);
		read_image(&torn, copy, size);
		check_torn(before, &torn, after, n, true, "cut off", cuts[i]);
		/* Only the rest of the write is there. */
		memcpy(copy, image, image_size);
		size = image_size;
		apply(copy, &size, op, cuts[i], op->size);
		read_image(&torn, copy, size);
		check_torn(before, &torn, after, n, false, "there only", cuts[i]);
	}
	/* Every other sector is there. */
	for (unsigned odd = 0; op->data && op->size > 512 && odd < 2; odd++) {
		memcpy(copy, image, image_size);
		size = image_size;
		for (size_t at = 0; at < op->size; at += 512)
			if ((at / 512) % 2 == odd)
				apply(copy, &size, op, at, at + 512 < op->size ? at + 512 : op->size);
		read_image(&torn, copy, size);
		check_torn(before, &torn, after, n, false, "every other sector", odd);
	}
	free(copy);
}

/* Checks a file with the last write, but without the one before it: missing events must be reported. */
static void swap(int n, const unsigned char *before, size_t before_size, const struct reading *after)
{
	static struct reading r;
	const struct op *op = &ops[n];
	unsigned char *copy = malloc(image_room);
	size_t size = before_size;

	MUST(copy);
	memcpy(copy, before, before_size);
	apply(copy, &size, op, 0, op->size);
	names_missing = true;
	read_image(&r, copy, size);
	names_missing = false;
	free(copy);
	if (!r.opens)
		return;
	if (r.last > after->last ||
	    (!wraps && r.count != after->count && r.count && !r.holes &&
	     same(&r.event[r.count - 1], &after->event[after->count - 1])))
		TOLD("write %d without %d: %d events to %u of %d to %u, and no hole", n, n - 1, r.count, r.last,
		     after->count, after->last);
}

/* Replays all writes in turn. Returns what is read of the whole log. */
static const struct reading *replay(const void *old, size_t old_size)
{
	static struct reading readings[2];
	unsigned char *previous;
	size_t previous_size;
	struct reading *before = &readings[0], *after = &readings[1], *swapped;

	image_room = old_size;
	for (int i = 0; i < ops_count; i++)
		if (ops[i].offset + ops[i].size > image_room)
			image_room = ops[i].offset + ops[i].size;
	image = malloc(image_room);
	previous = malloc(image_room);
	image_fd = memfd_create("log", MFD_CLOEXEC);
	MUST(image && previous && image_fd >= 0);
	if (old_size)
		memcpy(image, old, old_size);
	image_size = previous_size = old_size;
	read_image(before, image, image_size);
	for (int i = 0; i < ops_count && failures_reported < 20; i++) {
		static struct reading next;
		unsigned char *now = malloc(image_room);
		size_t now_size = image_size;

		MUST(now);
		memcpy(now, image, image_size);
		apply(now, &now_size, &ops[i], 0, ops[i].size);
		read_image(&next, now, now_size);
		*after = next;
		if (!after->opens)
			TOLD("after write %d it cannot be opened", i);
		check_torn(before, before, after, i, true, "not", 0);
		tear(i, before, after);
		if (i > 1 && ops[i].data && ops[i - 1].data && ops[i].offset != 0 && ops[i - 1].offset != 0)
			swap(i, previous, previous_size, after);
		memcpy(previous, image, image_size);
		previous_size = image_size;
		free(image);
		image = now;
		image_size = now_size;
		swapped = before;
		before = after;
		after = swapped;
	}
	free(previous);
	close(image_fd);
	return before;
}

/* -- Recordings ---------------------------------------------------------------------------------------------- */

static trace_id_t trid;
static unsigned number;

static void record(unsigned count)
{
	static trace_event_id_t id;
	unsigned data[40];
	char name[32];

	for (unsigned end = number + count; number < end;) {
		number++;
		if (!id || number % PER_TYPE == 0) {
			snprintf(name, sizeof name, "type %u", number / PER_TYPE);
			id = fault_open(name);
		}
		for (unsigned i = 0; i < 40; i++)
			data[i] = number * (i + 1);
		posix_trace_event(id, data, sizeof data[0] * (1 + number * 7 % 40));
	}
}

static void log_begin(int policy, size_t size, const void *old, size_t old_size)
{
	int fd = open("/dev/shm/log", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	trace_attr_t attr;

	MUST(fd >= 0 && pwrite(fd, old, old_size, 0) == (ssize_t)old_size && fstat(fd, &log_file) == 0);
	posix_trace_attr_init(&attr);
	posix_trace_attr_setlogfullpolicy(&attr, policy);
	posix_trace_attr_setlogsize(&attr, size);
	posix_trace_attr_setstreamsize(&attr, 100000);
	MUST(posix_trace_create_withlog(0, &attr, fd, &trid) == 0 && posix_trace_start(trid) == 0);
	wraps = policy == POSIX_TRACE_LOOP;
	close(fd);
}

static void flush(void)
{
	CHECK_EQ("FLUSH-20", posix_trace_flush(trid), 0);
}

/* Records segments of one event, of some, and of many. */
static void record_all(unsigned times)
{
	static const unsigned counts[] = { 1, 30, 2, 200, 100, 5, 400, 60 };

	for (unsigned i = 0; i < times; i++) {
		record(counts[i % 8]);
		flush();
	}
}

static void log_end(void)
{
	CHECK_EQ("SHUT-8", posix_trace_shutdown(trid), 0);
	CHECK_OP("-", ops_count, >, 10);
}

static void begin(void)
{
	shm_private("");
}

TEST(append)
{
	const struct reading *r;

	begin();
	log_begin(POSIX_TRACE_APPEND, 0, NULL, 0);
	record_all(20);
	log_end();
	r = replay(NULL, 0);
	CHECK("LOG-16 SHUT-7", r->first == 1 && r->last == number && !r->holes);
}

TEST(until_full)
{
	const struct reading *r;

	begin();
	log_begin(POSIX_TRACE_UNTIL_FULL, 60000, NULL, 0);
	record_all(24);
	log_end();
	r = replay(NULL, 0);
	CHECK("LOG-14", r->first == 1 && r->last > 100 && r->last < number);
	CHECK_EQ("LOG-15", r->event[r->count - 1].id, POSIX_TRACE_STOP);
}

TEST(loop)
{
	const struct reading *r;

	begin();
	log_begin(POSIX_TRACE_LOOP, 60000, NULL, 0);
	record_all(40);
	log_end();
	r = replay(NULL, 0);
	CHECK_OP("LOG-13", r->first, >, 100);
	CHECK_EQ("LOG-13", r->last, number);
	CHECK_EQ("LOG-13", r->holes, 0);
}

/* Two slots: each turn of the log discards half of it. */
TEST(loop_of_two)
{
	const struct reading *r;

	begin();
	log_begin(POSIX_TRACE_LOOP, 0, NULL, 0);
	record_all(40);
	log_end();
	r = replay(NULL, 0);
	CHECK_OP("LOG-13", r->first, >, 100);
	CHECK_EQ("LOG-13", r->last, number);
	CHECK_EQ("LOG-13", r->holes, 0);
}

/* After posix_trace_clear() the log has only what follows. */
TEST(cleared)
{
	const struct reading *r;
	unsigned from;

	begin();
	log_begin(POSIX_TRACE_APPEND, 0, NULL, 0);
	record_all(12);
	CHECK_EQ("CLEAR-8", posix_trace_clear(trid), 0);
	from = number;
	record_all(8);
	log_end();
	r = replay(NULL, 0);
	CHECK("CLEAR-8", r->first == from + 1 && r->last == number && !r->holes);
}

/* Writes a log over a longer, older log. Nothing of the older one may be read as part of the new one. */
static void over_an_older(int policy)
{
	const struct reading *r;
	unsigned char *old;
	unsigned from;
	size_t size;
	int fd;

	begin();
	log_begin(policy, 100000, NULL, 0);
	record_all(30);
	log_end();
	old = malloc(1 << 20);
	MUST(old);
	fd = open("/dev/shm/log", O_RDONLY | O_CLOEXEC);
	size = (size_t)read(fd, old, 1 << 20);
	MUST(size > 10000 && size < 1 << 20);
	close(fd);
	forget();
	from = number;
	log_begin(policy, 100000, old, size);
	record_all(7);
	log_end();
	r = replay(old, size);
	CHECK("LOG-21", r->first == from + 1 && r->last == number && !r->holes);
	free(old);
}

TEST(append_over_an_older)
{
	over_an_older(POSIX_TRACE_APPEND);
}

TEST(loop_over_an_older)
{
	over_an_older(POSIX_TRACE_LOOP);
}

TEST_MAIN(TEST_ENTRY(append), TEST_ENTRY(until_full), TEST_ENTRY(loop), TEST_ENTRY(loop_of_two), TEST_ENTRY(cleared),
          TEST_ENTRY(append_over_an_older), TEST_ENTRY(loop_over_an_older))
