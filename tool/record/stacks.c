/*
 * stacks.c - record --sample and --off-cpu: the stacks of threads as events (docs/kernel.md)
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/stacks.h"

#include <stdlib.h>
#include <string.h>

#include "common/message.h"
#include "log/format.h"
#include "record/kallsyms.h"
#include "record/modules.h"
#include "record/unwind.h"

#define BUCKETS 1024
/* Threads whose stacks are kept while they do not run; the bound matters only if their ends were lost. */
#define KEPT_MOST (1U << 20)
/* Of an event without its addresses: at most those of linux_off_stack. */
#define DATA_FIXED 32
#define STACK_LAYOUT "cut:bool,kernel:u16,count:u16,stack:a64[count]}"

enum type { SAMPLE, OFF_STACK, FUNCTION, TYPES };

static const struct {
	const char *name, *layout;
} types[TYPES] = {
	[SAMPLE] = { "linux_sample", "{packed;cpu:u32," STACK_LAYOUT },
	/* No attribute took: linux_off is the span. */
	[OFF_STACK] = { "linux_off_stack",
	                "{packed;took:u64/ns,ready:u64/ns,state:u8<" OFF_LABELS ">," STACK_LAYOUT },
	[FUNCTION] = { "linux_kernel_function", "{packed;address:x64,size:u64,name:z}" },
};

/* A stack, the innermost address first; those of the kernel before those of the program. */
struct stack {
	bool cut;
	uint16_t kernel, count;
	uint64_t address[];
};

/* The stack of a thread that does not run. */
struct kept {
	struct kept *next; /* in its bucket */
	uint32_t pid, tid;
	struct stack *stack;
};

struct stacks {
	struct beside *beside;
	struct modules *modules;
	struct kallsyms *kallsyms; /* null: no stack has addresses of the kernel */
	uint32_t depth;
	uint32_t id[TYPES];
	struct stack *stack; /* of the record */
	unsigned char *data;
	struct kept *bucket[BUCKETS];
	unsigned kept;
};

static void *memory(void *p)
{
	if (!p)
		fail("no memory");
	return p;
}

static size_t stack_size(unsigned count)
{
	return sizeof(struct stack) + count * sizeof(uint64_t);
}

struct stacks *stacks_new(struct beside *b, const struct sampling *how)
{
	struct stacks *s = memory(calloc(1, sizeof *s));

	s->beside = b;
	s->depth = how->depth;
	s->modules = modules_new(b);
	s->stack = memory(malloc(stack_size(how->depth)));
	s->data = memory(malloc(DATA_FIXED + how->depth * sizeof(uint64_t)));
	/* This may take a second, in which the rings would fill if they were already in use. */
	if (!how->user_only)
		s->kallsyms = kallsyms_read();
	return s;
}

void stacks_free(struct stacks *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < BUCKETS; i++)
		while (s->bucket[i]) {
			struct kept *k = s->bucket[i];

			s->bucket[i] = k->next;
			free(k->stack);
			free(k);
		}
	modules_free(s->modules);
	kallsyms_free(s->kallsyms);
	free(s->stack);
	free(s->data);
	free(s);
}

/* -- Processes ------------------------------------------------------------------------------------- */

void stacks_fork(struct stacks *s, uint32_t pid, uint32_t parent)
{
	modules_fork(s->modules, pid, parent);
}

void stacks_exec(struct stacks *s, uint32_t pid)
{
	modules_exec(s->modules, pid);
}

void stacks_process_exit(struct stacks *s, uint32_t pid)
{
	modules_exit(s->modules, pid);
}

void stacks_map(struct stacks *s, const struct ring_record *r)
{
	modules_map(s->modules, r);
}

void stacks_running(struct stacks *s, uint32_t pid)
{
	modules_running(s->modules, pid);
}

/* -- Stacks ------------------------------------------------------------------------------------------- */

/* Reads the addresses of a record. Each part begins with a mark that says where its addresses belong. */
static void read_chain(struct stacks *s, const struct ring_record *r)
{
	struct stack *to = s->stack;
	bool in_kernel = false;

	*to = (struct stack){ 0 };
	for (uint64_t i = 0; i < r->chain_length; i++) {
		uint64_t address;

		memcpy(&address, r->chain + 8 * i, sizeof address);
		if (address >= (uint64_t)PERF_CONTEXT_MAX) {
			in_kernel = address == (uint64_t)PERF_CONTEXT_KERNEL;
			continue;
		}
		if (to->count == s->depth)
			break;
		to->address[to->count++] = address;
		to->kernel += in_kernel;
	}
	if (r->registers && to->count < s->depth) {
		modules_look(s->modules, r->pid);
		to->count += (uint16_t)unwind(s->modules, r, to->address + to->count, s->depth - to->count,
		                                &to->cut);
	}
	to->cut |= to->count >= s->depth;
}

static void put(struct stacks *s, const struct state_thread *t, uint64_t time, enum type type, size_t size)
{
	struct log_event e = { .pid = t->pid, .tid = t->tid, .time = beside_time(s->beside, time),
	                       .length = (uint32_t)size };

	if (!s->id[type])
		s->id[type] = beside_type(s->beside, types[type].name, types[type].layout);
	e.id = s->id[type];
	memcpy(e.name, t->name, sizeof e.name);
	if (e.id)
		beside_put(s->beside, &e, s->data);
}

/* Writes the names of the kernel's functions in a stack, each once in a log, before the stack. */
static void put_functions(struct stacks *s, const struct state_thread *t, uint64_t time, const struct stack *stack)
{
	for (unsigned i = 0; s->kallsyms && i < stack->kernel; i++) {
		struct kallsyms_function *f = kallsyms_find(s->kallsyms, stack->address[i]);
		size_t length;

		if (!f || f->written)
			continue;
		f->written = true;
		put64(s->data, f->address);
		put64(s->data + 8, f->end - f->address);
		length = strnlen(f->name, s->depth * sizeof(uint64_t));
		memcpy(s->data + 16, f->name, length);
		s->data[16 + length] = '\0';
		put(s, t, time, FUNCTION, 17 + length);
	}
}

/* Describes the files that a stack needs. */
static void use(struct stacks *s, uint32_t pid, uint64_t time, const struct stack *stack)
{
	modules_used(s->modules, pid, time, stack->address + stack->kernel, stack->count - stack->kernel);
}

/* Appends a stack to the data of an event, and writes that. */
static void put_stack(struct stacks *s, const struct state_thread *t, uint64_t time, enum type type, size_t at,
                      const struct stack *stack)
{
	unsigned char *p = s->data + at;

	p[0] = stack->cut;
	put16(p + 1, stack->kernel);
	put16(p + 3, stack->count);
	memcpy(p + 5, stack->address, stack->count * sizeof(uint64_t));
	put(s, t, time, type, at + 5 + stack->count * sizeof(uint64_t));
}

void stacks_sample(struct stacks *s, const struct state_thread *t, const struct ring_record *r)
{
	read_chain(s, r);
	use(s, t->pid, r->time, s->stack);
	put_functions(s, t, r->time, s->stack);
	memcpy(s->data, &r->cpu, sizeof r->cpu);
	put_stack(s, t, r->time, SAMPLE, sizeof r->cpu, s->stack);
}

/* -- Off the processor ----------------------------------------------------------------------------------- */

static struct kept **place(struct stacks *s, uint32_t tid)
{
	struct kept **k = &s->bucket[tid % BUCKETS];

	while (*k && (*k)->tid != tid)
		k = &(*k)->next;
	return k;
}

static void drop(struct stacks *s, struct kept **at)
{
	struct kept *k = *at;

	if (!k)
		return;
	*at = k->next;
	s->kept--;
	free(k->stack);
	free(k);
}

void stacks_exit(struct stacks *s, uint32_t tid)
{
	drop(s, place(s, tid));
}

void stacks_gap(struct stacks *s)
{
	modules_gap(s->modules);
	/* The next stack of these threads may be among what is missing. */
	for (unsigned i = 0; i < BUCKETS; i++)
		while (s->bucket[i])
			drop(s, &s->bucket[i]);
}

void stacks_leaves(struct stacks *s, const struct ring_record *r)
{
	struct kept **at = place(s, r->tid);
	size_t size;

	read_chain(s, r);
	drop(s, at);
	at = place(s, r->tid);
	if (s->kept == KEPT_MOST)
		return;
	*at = memory(calloc(1, sizeof **at));
	s->kept++;
	(*at)->pid = r->pid;
	(*at)->tid = r->tid;
	size = stack_size(s->stack->count);
	(*at)->stack = memory(malloc(size));
	memcpy((*at)->stack, s->stack, size);
}

void stacks_off(struct stacks *s, const struct state_thread *t, const struct state_off *off)
{
	struct kept **at = place(s, t->tid);
	uint64_t took = off->until - off->since;

	if (!*at)
		return;
	if ((*at)->pid == t->pid) {
		use(s, t->pid, off->since, (*at)->stack);
		put_functions(s, t, off->until, (*at)->stack);
		put64(s->data, took);
		put64(s->data + 8, off->ready_known ? off->ready : 0);
		s->data[16] = (unsigned char)off->state;
		put_stack(s, t, off->until, OFF_STACK, 17, (*at)->stack);
	}
	drop(s, at);
}

void stacks_keep(struct stacks *s, bool (*lives)(void *arg, uint32_t pid), void *arg)
{
	modules_keep(s->modules, lives, arg);
	for (unsigned i = 0; i < BUCKETS; i++)
		for (struct kept **at = &s->bucket[i]; *at;)
			if (lives(arg, (*at)->pid))
				at = &(*at)->next;
			else
				drop(s, at);
}

bool stacks_left_out(const struct stacks *s)
{
	return modules_left_out(s->modules);
}
