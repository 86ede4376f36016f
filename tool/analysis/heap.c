/*
 * heap.c - rebuilds the blocks of memory of processes from the events of record --libc memory
 *
 * SPDX-License-Identifier: MIT
 */
#include "analysis/heap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/calls.h"
#include "base/clock.h"
#include "common/message.h"
#include "event/meaning.h"

const char *const heap_calls[HEAP_CALLS] = {
	[HEAP_MALLOC] = "malloc", [HEAP_CALLOC] = "calloc", [HEAP_REALLOC] = "realloc",
	[HEAP_MEMALIGN] = "memalign", [HEAP_FREE] = "free",
};

/* A block that is allocated: an entry of a hash table by address. */
struct heap_block {
	uint64_t address; /* 0: a free slot */
	uint64_t size, time;
	uint32_t share;
	uint32_t state; /* BLOCK_ */
};

enum { BLOCK_COUNTS = 1, BLOCK_INHERITED = 2 };

/* A block that was freed: a child may be forked from the time before. */
struct heap_freed {
	const struct heap_process *process;
	uint64_t address, size, time, until;
};

/* So many frees are remembered until a child has its first event. */
#define FREED_MAX (UINT32_C(1) << 18)

/* An address whose events may have been recorded in another order than they happened. */
struct heap_doubt {
	uint64_t address, time;
	uint32_t tid;
	enum { DOUBT_OVER, DOUBT_FREE, DOUBT_BLOCK } kind;
};

/* So many threads may be within realloc(), or have events of one time. */
#define DOUBTS 64
/*
 * A thread may read the clock so long before it has the block that another thread gives it: the processor reads ahead,
 * as far as a cache miss lasts.
 */
#define DOUBT_AHEAD UINT64_C(20000)
/* No realloc() is recorded later than this after it has freed a block. */
#define DOUBT_TIME (UINT64_C(1) * NS_PER_S)

/* What a type of a log is, and where its fields are: 1 + the index; 0: it has no such field. */
struct heap_kind {
	uint64_t segment;
	bool known;
	enum { KIND_OTHER, KIND_CALL, KIND_FORK, KIND_BEGIN } kind;
	enum heap_call call;
	const struct layout *layout;
	unsigned size, address, old, fork, parent, whole;
};

struct heap_thread {
	struct lookup_key key;
	uint64_t last; /* the block that it has allocated last; 0: none, or another one was freed */
};

/* A process id, and the process that has it. */
struct current {
	struct lookup_key key;
	struct heap_process *process;
};

/* When a process has called fork(), by the number of the call. */
struct heap_fork {
	struct lookup_key key;
	uint64_t time; /* 0: unknown */
};

static void *memory(void *p)
{
	if (!p)
		fail("no memory");
	return p;
}

/* Makes room for one more element. A power of two is full. */
static void *grow(void *list, size_t count, size_t size)
{
	return (count & (count - 1)) == 0 ? memory(realloc(list, (count ? 2 * count : 1) * size)) : list;
}

/* -- Blocks ------------------------------------------------------------------------------------------ */

static size_t home(const struct heap_process *p, uint64_t address)
{
	return (size_t)((address >> 3) * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (p->slots - 1);
}

/* Returns the slot of the block, or the free slot where it would be. There is a free slot. */
static struct heap_block *slot_of(const struct heap_process *p, uint64_t address)
{
	size_t i = home(p, address);

	while (p->block[i].address && p->block[i].address != address)
		i = (i + 1) & (p->slots - 1);
	return &p->block[i];
}

static struct heap_block *find_block(const struct heap_process *p, uint64_t address)
{
	struct heap_block *b = p->blocks ? slot_of(p, address) : NULL;

	return b && b->address ? b : NULL;
}

static void add_block(struct heap_process *p, const struct heap_block *b)
{
	if (4 * (p->blocks + 1) > 3 * p->slots) {
		struct heap_block *old = p->block;
		size_t slots = p->slots;

		p->slots = slots ? 2 * slots : 64;
		p->block = calloc(p->slots, sizeof *p->block);
		if (!p->block)
			fail("no memory");
		for (size_t i = 0; i < slots; i++)
			if (old[i].address)
				*slot_of(p, old[i].address) = old[i];
		free(old);
	}
	*slot_of(p, b->address) = *b;
	p->blocks++;
}

/* Moves later entries of the same chain into the gap, so that searches do not end there. */
static void remove_block(struct heap_process *p, struct heap_block *b)
{
	size_t mask = p->slots - 1, gap = (size_t)(b - p->block);

	for (size_t i = (gap + 1) & mask; p->block[i].address; i = (i + 1) & mask) {
		size_t from = home(p, p->block[i].address);

		/* An entry stays if its search begins behind the gap. */
		if (((i - from) & mask) < ((i - gap) & mask))
			continue;
		p->block[gap] = p->block[i];
		gap = i;
	}
	p->block[gap].address = 0;
	p->blocks--;
}

/* -- Callers ------------------------------------------------------------------------------------------ */

/* A symbol, and its caller. */
struct known {
	struct lookup_key key;
	struct heap_caller *caller;
};

/* A caller in a process. */
struct shared {
	struct lookup_key key;
	unsigned number; /* 1 + its index */
};

static uint64_t hash_text(const char *text)
{
	uint64_t hash = 0;

	for (; text && *text; text++)
		hash = lookup_mix(hash, (unsigned char)*text);
	return hash;
}

/* Returns the name with its namespaces and classes, unless the code belongs to another function that is inlined. */
static const char *name_of(const struct symbol *symbol)
{
	const char *name = symbol->function || symbol->symbol ? calls_name(symbol) : NULL;
	size_t length, end;

	if (!name || !symbol->function || !symbol->source)
		return name;
	length = strlen(name);
	end = strlen(symbol->function);
	return length >= end && strcmp(name + length - end, symbol->function) == 0 ? name : symbol->function;
}

static char *text_of(const struct symbol *symbol, const char *name)
{
	const char *base = symbol->source ? strrchr(symbol->source, '/') : NULL;
	char *text;
	int n;

	base = base ? base + 1 : symbol->source;
	if (name && symbol->source)
		n = asprintf(&text, "%s (%s:%u)", name, base, symbol->line);
	else if (name && symbol->image)
		n = asprintf(&text, "%s+0x%llx (%s)", name, (unsigned long long)symbol->into, symbol->image);
	else
		n = asprintf(&text, "%s", symbol->text);
	return memory(n < 0 ? NULL : text);
}

/* Returns the caller of the next event. It is the same in all processes that have mapped its file. */
static struct heap_caller *caller_of(struct heap *h, const struct source *s)
{
	const struct symbol *symbol = symbols_find(s->symbols, s->event->pid, s->event->address, s->event->time);
	struct known *known = lookup(&h->by_symbol, (struct lookup_key){ .first = (uintptr_t)symbol }, sizeof *known);
	struct lookup_key key;
	struct known *same;
	const char *name;
	char *text;

	if (known->caller)
		return known->caller;
	name = name_of(symbol);
	text = text_of(symbol, name);
	key.first = hash_text(text);
	key.second = hash_text(symbol->image) + !symbol->image;
	same = lookup(&h->by_text, key, sizeof *same);
	if (same->caller) {
		free(text);
	} else {
		same->caller = calloc(1, sizeof *same->caller);
		if (!same->caller)
			fail("no memory");
		h->caller = grow(h->caller, h->callers, sizeof *h->caller);
		h->caller[h->callers++] = same->caller;
		*same->caller = (struct heap_caller){ .text = text, .name = name, .image = symbol->image,
			                              .source = symbol->source, .line = symbol->line };
	}
	known->caller = same->caller;
	return known->caller;
}

/* Returns the index of a caller among those of the process. */
static unsigned share_of(struct heap_process *p, struct heap_caller *caller)
{
	struct lookup_key key = { .first = (uintptr_t)caller };
	struct shared *shared = lookup(&p->by_caller, key, sizeof *shared);

	if (!shared->number) {
		p->share = grow(p->share, p->shares, sizeof *p->share);
		p->share[p->shares++] = (struct heap_share){ .caller = caller };
		shared->number = p->shares;
	}
	return shared->number - 1;
}

/* -- What a process has ---------------------------------------------------------------------------------- */

/* Notes what the caller had at the peak, before that changes for the first time since. */
static struct heap_share *change(struct heap_process *p, unsigned index)
{
	struct heap_share *share = &p->share[index];

	if (share->epoch != p->epoch) {
		share->peak = share->live;
		share->epoch = p->epoch;
	}
	return share;
}

static void add_live(struct heap_process *p, const struct heap_block *b)
{
	struct heap_share *share = change(p, b->share);

	share->live.blocks++;
	share->live.bytes += b->size;
	p->live.blocks++;
	p->live.bytes += b->size;
	if (p->live.bytes <= p->peak.bytes)
		return;
	p->peak = p->live;
	p->peak_time = b->time;
	p->epoch++;
}

static void remove_live(struct heap_process *p, const struct heap_block *b)
{
	struct heap_share *share = change(p, b->share);

	share->live.blocks--;
	share->live.bytes -= b->size;
	p->live.blocks--;
	p->live.bytes -= b->size;
	p->freed.blocks++;
	p->freed.bytes += b->size;
}

/* Ends a process: what it still has is left. */
static void end_process(struct heap_process *p)
{
	for (unsigned i = 0; i < p->shares; i++) {
		struct heap_share *share = change(p, i);

		share->caller->left.blocks += share->live.blocks;
		share->caller->left.bytes += share->live.bytes;
		p->left.blocks += share->live.blocks;
		p->left.bytes += share->live.bytes;
	}
	free(p->block);
	free(p->doubt);
	p->block = NULL;
	p->doubt = NULL;
	p->blocks = p->slots = 0;
	p->ended = true;
}

static struct current *current_of(struct heap *h, const struct source *s, uint32_t pid)
{
	return lookup(&h->pids, (struct lookup_key){ .first = s->index, .second = pid }, sizeof(struct current));
}

static struct heap_process *new_process(struct heap *h, const struct source *s)
{
	struct heap_process *p = calloc(1, sizeof *p);

	if (!p)
		fail("no memory");
	p->source = s->index;
	p->pid = s->event->pid;
	p->first = s->event->time;
	p->epoch = 1;
	h->process = grow(h->process, h->processes, sizeof *h->process);
	h->process[h->processes++] = p;
	return p;
}

static struct heap_process *process_of(struct heap *h, const struct source *s)
{
	struct current *current = current_of(h, s, s->event->pid);

	if (!current->process)
		current->process = new_process(h, s);
	return current->process;
}

/* -- Doubts -------------------------------------------------------------------------------------------------- */

static void doubt(struct heap_process *p, unsigned kind, const struct log_event *e, uint64_t address)
{
	if (!p->doubt)
		p->doubt = memory(calloc(DOUBTS, sizeof *p->doubt));
	p->doubt[p->doubts++ % DOUBTS] = (struct heap_doubt){ .address = address, .time = e->time, .tid = e->tid,
		                                              .kind = kind };
}

/*
 * Returns how far events of two threads may be in the wrong order. If the process was recorded from its beginning, a
 * free of an unknown block has no other reason.
 */
static uint64_t disorder(const struct heap_process *p)
{
	return p->whole ? DOUBT_AHEAD : 0;
}

/*
 * Returns whether there is a doubt about the address, of another thread and at most so long ago, and ends the doubt.
 */
static bool resolve(struct heap_process *p, unsigned kind, const struct log_event *e, uint64_t address, uint64_t most)
{
	for (unsigned i = 0; i < DOUBTS && i < p->doubts; i++) {
		struct heap_doubt *d = &p->doubt[(p->doubts - 1 - i) % DOUBTS];

		if (e->time > d->time && e->time - d->time > most)
			return false;
		if (d->kind == kind && d->address == address && d->tid != e->tid) {
			d->kind = DOUBT_OVER;
			return true;
		}
	}
	return false;
}

/* -- Allocating and freeing ------------------------------------------------------------------------------------ */

/* Remembers a block for a child that was forked before, and whose first event is later. */
static void remember(struct heap *h, const struct heap_process *p, const struct heap_block *b, uint64_t time)
{
	if (h->frees == h->freed_room && h->freed_room < FREED_MAX) {
		h->freed_room = h->freed_room ? 2 * h->freed_room : 1024;
		h->freed = memory(realloc(h->freed, h->freed_room * sizeof *h->freed));
	}
	h->freed[h->frees++ % h->freed_room] = (struct heap_freed){ p, b->address, b->size, b->time, time };
}

/* Takes a block from a process. */
static void release(struct heap *h, struct heap_process *p, struct heap_block *b, uint64_t time)
{
	remember(h, p, b, time);
	if (b->state & BLOCK_INHERITED)
		p->inherited_freed++;
	else if (b->state & BLOCK_COUNTS)
		remove_live(p, b);
	remove_block(p, b);
}

/* Frees the block at an address. moved: by realloc(), which is recorded later. */
static void free_at(struct heap *h, struct heap_process *p, const struct log_event *e, uint64_t address, bool moved,
                    bool wanted)
{
	struct heap_block *b;

	/* The address is another block by now, and the one that is freed is counted already. */
	if (resolve(p, DOUBT_BLOCK, e, address, moved ? DOUBT_TIME : disorder(p))) {
		p->unseen--;
		return;
	}
	b = find_block(p, address);
	if (b) {
		release(h, p, b, e->time);
		return;
	}
	p->unknown += wanted;
	doubt(p, DOUBT_FREE, e, address);
}

static void allocate(struct heap *h, struct heap_process *p, const struct source *s, uint64_t address, uint64_t size,
                     bool wanted)
{
	struct heap_block new = { .address = address, .size = size, .time = s->event->time }, *old;

	old = find_block(p, address);
	if (old) {
		bool counts = !(old->state & BLOCK_INHERITED);

		release(h, p, old, s->event->time);
		if (counts) {
			p->unseen++;
			doubt(p, DOUBT_BLOCK, s->event, address);
		}
	}
	if (wanted) {
		struct heap_caller *caller = caller_of(h, s);

		new.state = BLOCK_COUNTS;
		new.share = share_of(p, caller);
		caller->allocated.blocks++;
		caller->allocated.bytes += size;
		p->allocated.blocks++;
		p->allocated.bytes += size;
		add_live(p, &new);
	}
	add_block(p, &new);
	/* Another thread has freed it, by the clock not later. */
	if (resolve(p, DOUBT_FREE, s->event, address, disorder(p))) {
		p->unknown -= p->unknown > 0;
		release(h, p, find_block(p, address), s->event->time);
	}
}

static struct heap_thread *thread_of(struct heap *h, const struct source *s)
{
	struct lookup_key key = { .first = s->index, .second = (uint64_t)s->event->pid << 32 | s->event->tid };

	if (!h->thread || h->thread->key.first != key.first || h->thread->key.second != key.second)
		h->thread = lookup(&h->threads, key, sizeof *h->thread);
	return h->thread;
}

/* Counts a temporary block: freed before the next allocation of the same thread. */
static void count_temporary(struct heap *h, struct heap_process *p, const struct source *s, uint64_t address)
{
	struct heap_thread *t = thread_of(h, s);
	const struct heap_block *b;

	if (t->last != address)
		return;
	t->last = 0;
	b = find_block(p, address);
	if (!b || !(b->state & BLOCK_COUNTS))
		return;
	p->temporary++;
	p->share[b->share].caller->temporary++;
}

/* -- Children -------------------------------------------------------------------------------------------------- */

static void inherit_block(struct heap_process *p, uint64_t address, uint64_t size)
{
	const struct heap_block b = { .address = address, .size = size, .time = p->first, .state = BLOCK_INHERITED };

	if (find_block(p, address))
		return;
	add_block(p, &b);
	p->inherited.blocks++;
	p->inherited.bytes += size;
}

/* Gives a child the blocks that its parent had at a time which is over. */
static void inherit(struct heap *h, struct heap_process *p, const struct heap_process *parent, uint64_t time)
{
	uint64_t oldest = h->frees > h->freed_room ? h->frees - h->freed_room : 0;
	uint64_t n = h->frees;

	for (size_t i = 0; i < parent->slots; i++)
		if (parent->block[i].address && parent->block[i].time <= time)
			inherit_block(p, parent->block[i].address, parent->block[i].size);
	for (; n > oldest; n--) {
		const struct heap_freed *f = &h->freed[(n - 1) % h->freed_room];

		if (f->until <= time)
			break;
		if (f->process == parent && f->time <= time)
			inherit_block(p, f->address, f->size);
	}
	p->torn |= n == oldest && oldest > 0;
}

static struct heap_fork *fork_of(struct heap *h, const struct heap_process *parent, uint64_t number)
{
	struct lookup_key key = { .first = (uintptr_t)parent, .second = number };

	return lookup(&h->forks, key, sizeof(struct heap_fork));
}

static void note_fork(struct heap *h, const struct source *s, const struct heap_kind *k)
{
	uint64_t number;

	if (meaning_integer(k->layout, k->fork, s->data, s->event->length, &number))
		fork_of(h, process_of(h, s), number)->time = s->event->time;
}

/* Begins a program, or a child. */
static void begin(struct heap *h, const struct source *s, const struct heap_kind *k)
{
	struct heap_process **current = &current_of(h, s, s->event->pid)->process, *parent = NULL;
	uint64_t number, pid, whole, time;

	if (!meaning_integer(k->layout, k->fork, s->data, s->event->length, &number) ||
	    !meaning_integer(k->layout, k->parent, s->data, s->event->length, &pid) ||
	    !meaning_integer(k->layout, k->whole, s->data, s->event->length, &whole))
		return;
	if (pid && pid <= UINT32_MAX && pid != s->event->pid)
		parent = current_of(h, s, (uint32_t)pid)->process;
	/* Of a program that was not recorded at its start, threads may have had events before. */
	if (*current && whole) {
		end_process(*current);
		*current = NULL;
	}
	if (!*current)
		*current = new_process(h, s);
	(*current)->whole = whole != 0;
	if (pid == 0)
		return;
	time = parent ? fork_of(h, parent, number)->time : 0;
	(*current)->torn = time == 0;
	if (time)
		inherit(h, *current, parent, time);
}

/* -- Events --------------------------------------------------------------------------------------------------- */

void heap_begin(struct heap *h, const struct sources *logs)
{
	*h = (struct heap){ .logs = logs };
	h->kinds = memory(calloc((size_t)logs->count * EVENT_ID_END, sizeof *h->kinds));
}

/* Returns 1 + the index of an integer field, or 0. */
static unsigned field(const struct layout *l, const char *name)
{
	unsigned i = layout_find_field(l, name, strlen(name));

	if (i >= l->count || l->field[i].count != 1)
		return 0;
	switch (l->field[i].kind) {
	case LAYOUT_SIGNED:
	case LAYOUT_BOOL:
	case LAYOUT_UNSIGNED:
	case LAYOUT_HEX:
		return i + 1;
	default:
		return 0;
	}
}

static void find_kind(struct heap_kind *k, const char *name, const struct layout *l)
{
	if (!name || !l || strncmp(name, "libc.", 5) != 0)
		return;
	name += 5;
	k->layout = l;
	k->size = field(l, "size");
	k->address = field(l, "address");
	k->old = field(l, "old");
	k->fork = field(l, "fork");
	k->parent = field(l, "parent");
	k->whole = field(l, "whole");
	if (strcmp(name, "memory_process") == 0 && k->fork && k->parent && k->whole)
		k->kind = KIND_BEGIN;
	if (strcmp(name, "memory_fork") == 0 && k->fork)
		k->kind = KIND_FORK;
	for (unsigned i = 0; i < HEAP_CALLS; i++)
		if (strcmp(name, heap_calls[i]) == 0 && k->address && (i == HEAP_FREE || k->size) &&
		    (i != HEAP_REALLOC || k->old)) {
			k->kind = KIND_CALL;
			k->call = (enum heap_call)i;
		}
}

/* Returns what the next event is. Ids have other names in each segment, if at all. */
static const struct heap_kind *kind_of(struct heap *h, const struct source *s)
{
	struct heap_kind *k = &h->kinds[(size_t)s->index * EVENT_ID_END + s->event->id];
	uint64_t segment = logfile_segment(s->file);

	if (!k->known || k->segment != segment) {
		*k = (struct heap_kind){ .segment = segment, .known = true };
		find_kind(k, layouts_name(s->layouts, s->event->id), layouts_find(s->layouts, s->event->id));
	}
	return k;
}

static void call(struct heap *h, const struct source *s, const struct heap_kind *k, bool wanted)
{
	const struct log_event *e = s->event;
	uint64_t size = 0, address, old = 0;
	struct heap_process *p;

	if (!meaning_integer(k->layout, k->address, s->data, e->length, &address) ||
	    (k->size && !meaning_integer(k->layout, k->size, s->data, e->length, &size)) ||
	    (k->old && !meaning_integer(k->layout, k->old, s->data, e->length, &old)))
		return;
	p = process_of(h, s);
	p->last = e->time;
	p->calls[k->call] += wanted;
	h->events++;
	if (k->call == HEAP_FREE) {
		count_temporary(h, p, s, address);
		if (address)
			free_at(h, p, e, address, false, wanted);
		return;
	}
	/* An allocator may free a block that is resized to nothing. */
	if (k->call == HEAP_REALLOC && old && (address || size == 0))
		free_at(h, p, e, old, true, wanted);
	if (address) {
		allocate(h, p, s, address, size, wanted);
		thread_of(h, s)->last = address;
		if (!p->name[0] && e->name[0])
			memcpy(p->name, e->name, sizeof p->name);
	} else if (k->call != HEAP_REALLOC || size) {
		p->failed += wanted;
	}
}

void heap_event(struct heap *h, const struct source *s, bool wanted)
{
	const struct heap_kind *k;

	if (s->event->id >= EVENT_ID_END || !s->symbols)
		return;
	k = kind_of(h, s);
	if (k->kind == KIND_CALL)
		call(h, s, k, wanted);
	else if (k->kind == KIND_FORK)
		note_fork(h, s, k);
	else if (k->kind == KIND_BEGIN)
		begin(h, s, k);
}

void heap_finish(struct heap *h)
{
	for (size_t i = 0; i < h->processes; i++)
		if (!h->process[i]->ended)
			end_process(h->process[i]);
	free(h->freed);
	h->freed = NULL;
}
