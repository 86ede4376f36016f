/*
 * log_marks.c - a death at each instruction between a record's chunk and the log's draft
 *
 * tests/unit/draft.c stops between the steps. Here a process is single-stepped through them. After each instruction the
 * test recovers a copy of the shared memory, as if the process had been killed there, even in the middle of a mark that
 * is half written. Each record must be either in the draft or in its chunk.
 *
 * SPDX-License-Identifier: MIT
 */
#include <sys/mman.h>

#include "base/atomic.h"
#include "log/draft.h"
#include "log/unpack.h"
#include "shm/chunk.h"
#include "step.h"

#define CAPACITY 4096
#define CHUNKS   3

/* The shared memory: the smallest possible stream, and the state of its log. */
static struct memory {
	struct stream_header header;
	struct chunk chunk[CHUNKS];
	_Alignas(64) unsigned char state[LOG_BODY_OFFSET + CAPACITY + 64];
} *memory;

static struct stream s;
static struct draft d;

static void use(struct memory *m)
{
	MUST(m != MAP_FAILED);
	memory = m;
	s.header = &memory->header;
	s.chunks = memory->chunk;
	s.chunk_count = CHUNKS;
	((struct log_state *)(void *)memory->state)->capacity = CAPACITY;
}

static void another(void)
{
	memset(&d, 0, sizeof d);
	MUST(draft_init(&d, (struct log_state *)(void *)memory->state) == 0);
	draft_recover(&d, &s);
}

static void add(char letter)
{
	struct log_event e = { .id = 70, .pid = 1, .tid = 2, .time = 1000 + (unsigned char)letter, .length = 1 };

	MUST(draft_add(&d, &e, &letter, e.time));
}

/* Returns the events of the draft as letters, or a message if the draft is no segment. */
static const char *contents(void)
{
	static struct unpack u;
	static char text[64];
	const struct log_mark *m = draft_mark(&d);
	struct frame f = { .size = m->position, .events = m->events, .first = m->first, .last = m->last };
	const unsigned char *data;
	char *p = text;

	if (!unpack_begin(&u, &f, d.body))
		return "what is no segment";
	while (unpack_next(&u, &data))
		*p++ = (char)data[0];
	*p = 0;
	return text;
}

/*
 * Records a, b, c, ... come from three chunks in turn, alternately one and two at once, some of which the log leaves
 * out. Each take is single-stepped separately.
 */
static const struct take {
	char letters[3];
	uint32_t chunk, number, count;
	unsigned left_out; /* of count */
} takes[] = {
	{ "a", 0, 0, 1, 0 }, { "bc", 1, 1, 2, 0 }, { "d", 0, 1, 1, 0 }, { "", 1, 2, 1, 1 }, { "ef", 2, 1, 2, 0 },
	{ "g", 1, 4, 2, 1 }, { "", 0, 4, 3, 3 }, { "h", 0, 5, 1, 0 },
};

#define TAKES (sizeof takes / sizeof takes[0])

static void run(void)
{
	another();
	draft_begin(&d, 1, CAPACITY);
	for (unsigned i = 0; i < TAKES; i++) {
		const struct take *t = &takes[i];

		step_begin();
		for (const char *p = t->letters; *p; p++)
			add(*p);
		d.next.left_out += t->left_out;
		draft_prepare(&d, t->chunk, t->number, t->count);
		store_release(&s.chunks[t->chunk].read, t->number + 1);
		draft_commit(&d);
		step_end();
	}
}

/* Returns the required contents of the draft: everything that was taken. */
static const char *taken(void)
{
	static char text[16];

	text[0] = 0;
	for (unsigned i = 0; i < TAKES; i++)
		if (s.chunks[takes[i].chunk].read > takes[i].number)
			strcat(text, takes[i].letters);
	return text;
}

/* Returns how many records were taken and left out. */
static uint64_t left_out(void)
{
	uint64_t count = 0;

	for (unsigned i = 0; i < TAKES; i++)
		count += s.chunks[takes[i].chunk].read > takes[i].number ? takes[i].left_out : 0;
	return count;
}

static void check_death(unsigned take, int n)
{
	static struct memory copy;
	struct memory *shared = memory;
	uint32_t records = 0;

	copy = *shared;
	use(&copy);
	another();
	if (strcmp(contents(), taken()) != 0)
		TEST_FAIL("-", "take %u, instruction %d: %s, not %s", take, n, contents(), taken());
	for (uint32_t i = 0; i < CHUNKS; i++)
		records += s.chunks[i].read;
	if (draft_mark(&d)->records != records)
		TEST_FAIL("-", "take %u, instruction %d: %u records are in the draft, %u were taken", take, n,
		          draft_mark(&d)->records, records);
	if (draft_mark(&d)->left_out != left_out())
		TEST_FAIL("-", "take %u, instruction %d: %u records count as left out, not %u", take, n,
		          (unsigned)draft_mark(&d)->left_out, (unsigned)left_out());
	draft_free(&d);
	use(shared);
}

/* H25 */
TEST(taken_once)
{
	struct step step;
	int n;

	use(mmap(NULL, sizeof *memory, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	step_start(&step, run);
	for (unsigned take = 0; take < TAKES; take++) {
		MUST(step_enter(&step));
		for (n = 0; step_one(&step) && test_failures < 5; n++)
			check_death(take, n);
		CHECK_OP("-", n, >, 50);
	}
	CHECK_EQ("-", step_finish(&step), 0);
}

TEST_MAIN(TEST_ENTRY(taken_once))
