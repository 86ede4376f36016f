/*
 * samples.c - what the stacks of record --sample and --off-cpu say: functions, and the tree of their callers
 *
 * SPDX-License-Identifier: MIT
 */
#include "analysis/samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/calls.h"
#include "common/message.h"
#include "common/unaligned.h"

/* Of a stack in the data of an event: cut, kernel, count. */
#define STACK_FIXED 5
/* What comes before it, in linux_sample and in linux_off_stack. */
#define SAMPLE_FIXED 4
#define OFF_FIXED SAMPLES_BEFORE_MAX
#define FUNCTION_FIXED 16
/* States of linux_off in which a thread could run all the time. */
enum { PREEMPTED = 0, NEW = 6 };
/* Functions above a new node that are looked at, for recursion. */
#define ABOVE_MAX 1000

/* A function of the kernel, as a log names it. */
struct kernel_function {
	uint64_t address, size;
	char *name;
};

/* What is known of a log, in source.kernel. */
struct kernel_functions {
	struct kernel_function *function;
	size_t count, room;
};

/* A symbol or an address, and its function. */
struct known {
	struct lookup_key key;
	struct samples_function *function;
};

enum samples_kind samples_kind(const struct source *s, uint32_t id)
{
	static const struct { const char *name, *begins, *ends; } types[] = {
		[SAMPLES_ON] = { "linux_sample", "{packed;cpu:u32,", SAMPLES_STACK_LAYOUT },
		[SAMPLES_OFF] = { "linux_off_stack", "{packed;took:u64/ns,ready:u64/ns,state:u8<",
		                  SAMPLES_STACK_LAYOUT },
		[SAMPLES_FUNCTION] = { "linux_kernel_function", "{packed;", "{packed;address:x64,size:u64,name:z}" },
	};
	const char *name = layouts_name(s->layouts, id), *text;
	size_t length, end;

	for (unsigned i = SAMPLES_ON; name && i <= SAMPLES_FUNCTION; i++) {
		if (strcmp(name, types[i].name) != 0)
			continue;
		text = layouts_text(s->layouts, id);
		length = strlen(text);
		end = strlen(types[i].ends);
		if (strncmp(text, types[i].begins, strlen(types[i].begins)) == 0 && length >= end &&
		    strcmp(text + length - end, types[i].ends) == 0)
			return (enum samples_kind)i;
	}
	return SAMPLES_NONE;
}

/* Returns the last step of the stack of a thread that has waited in this way. */
static const char *state_name(unsigned state)
{
	static const char *const names[] = { "[preempted]", "[blocked]", "[sleeping]", "[disk]", "[stopped]",
	                                     "[traced]", "[new]" };

	return state < sizeof names / sizeof *names ? names[state] : "[other]";
}

static void *grow(void *list, size_t count, size_t *room, size_t size)
{
	if (count < *room)
		return list;
	*room = *room ? 2 * *room : 64;
	list = realloc(list, *room * size);
	if (!list)
		fail("no memory");
	return list;
}

static unsigned half(const unsigned char *p)
{
	return p[0] | (unsigned)p[1] << 8;
}

/* -- Functions of the kernel ------------------------------------------------------------------------- */

static void add_kernel_function(struct kernel_functions *all, const unsigned char *data, uint32_t length)
{
	size_t text = length > FUNCTION_FIXED ? strnlen((const char *)data + FUNCTION_FIXED, length - FUNCTION_FIXED) :
	                                        0;

	if (!text)
		return;
	all->function = grow(all->function, all->count, &all->room, sizeof *all->function);
	all->function[all->count] = (struct kernel_function){
		.address = unaligned_u64(data), .size = unaligned_u64(data + 8),
		.name = strndup((const char *)data + FUNCTION_FIXED, text),
	};
	if (!all->function[all->count++].name)
		fail("no memory");
}

static int by_address(const void *a, const void *b)
{
	const struct kernel_function *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

/* Reads the names of the kernel's functions, which may be before the selected events. */
static void read_kernel_functions(struct source *s)
{
	struct kernel_functions *all = calloc(1, sizeof *all);
	const struct log_event *e;
	const unsigned char *data;

	if (!all)
		fail("no memory");
	while ((e = logfile_next(s->file, &data)) != NULL)
		if (samples_kind(s, e->id) == SAMPLES_FUNCTION)
			add_kernel_function(all, data, e->length);
	if (all->count)
		qsort(all->function, all->count, sizeof *all->function, by_address);
	s->kernel = all;
	logfile_rewind(s->file);
}

/* Returns the name of the function at an address in the kernel, or null. */
static const char *kernel_name(const struct source *s, uint64_t address)
{
	const struct kernel_functions *all = s->kernel;
	size_t low = 0, high = all ? all->count : 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (all->function[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address - all->function[low - 1].address < all->function[low - 1].size ?
	       all->function[low - 1].name : NULL;
}

void samples_symbols(struct sources *logs)
{
	for (unsigned i = 0; i < logs->count; i++) {
		struct source *s = &logs->source[i];
		bool stacks = false, functions = false;

		for (uint32_t id = POSIX_TRACE_UNNAMED_USEREVENT; id < EVENT_ID_END; id++) {
			enum samples_kind kind = samples_kind(s, id);

			stacks |= kind != SAMPLES_NONE;
			functions |= kind == SAMPLES_FUNCTION;
		}
		if (stacks && !s->symbols)
			s->symbols = symbols_of(s->file);
		if (functions)
			read_kernel_functions(s);
	}
	sources_rewind(logs);
}

/* -- Functions ------------------------------------------------------------------------------------------- */

static uint64_t hash_text(const char *text)
{
	uint64_t hash = 0;

	for (; text && *text; text++)
		hash = lookup_mix(hash, (unsigned char)*text);
	return hash;
}

/* Returns the function of this name in this file, which is the same in all processes. */
static struct samples_function *function_named(struct samples *s, const char *name, const char *image, bool in_kernel)
{
	struct lookup_key key = { lookup_mix(hash_text(name), in_kernel), hash_text(image) };
	struct samples_function *f = lookup(&s->by_name, key, sizeof *f);

	if (f->name)
		return f;
	f->name = strdup(name ? name : "[unknown]");
	if (!f->name)
		fail("no memory");
	f->image = image;
	f->in_kernel = in_kernel;
	s->function = grow(s->function, s->functions, &s->function_room, sizeof(struct samples_function *));
	s->function[s->functions++] = f;
	return f;
}

static struct samples_function *kernel_function(struct samples *s, const struct source *source, uint64_t address)
{
	struct lookup_key key = { address, source->index };
	struct known *known = lookup(&s->by_kernel_address, key, sizeof *known);
	const char *name;

	if (!known->function) {
		name = kernel_name(source, address);
		known->function = function_named(s, name ? name : "[kernel]", NULL, true);
	}
	return known->function;
}

/* Returns a name for all addresses of a file whose functions are not known. */
static char *name_of_file(const char *image)
{
	const char *base = image ? strrchr(image, '/') : NULL;
	char *name;

	base = base ? base + 1 : image;
	if (asprintf(&name, base && *base == '[' ? "%s" : "[%s]", base ? base : "unknown") < 0)
		fail("no memory");
	return name;
}

/* Makes the name of a function without the version of its symbol, "read@@GLIBC_2.2.5". Null if it has none. */
static char *without_version(const char *name)
{
	const char *at = strchr(name, '@');
	char *shorter;

	if (!at || at == name)
		return NULL;
	shorter = strndup(name, (size_t)(at - name));
	if (!shorter)
		fail("no memory");
	return shorter;
}

/* exact: the address is that of an instruction, not a return address. */
static struct samples_function *user_function(struct samples *s, const struct source *source, uint64_t address,
                                              bool exact)
{
	const struct log_event *e = source->event;
	const struct symbol *symbol = exact ? symbols_function(source->symbols, e->pid, address, e->time) :
	                                      symbols_find(source->symbols, e->pid, address, e->time);
	struct known *known = lookup(&s->by_symbol, (struct lookup_key){ .first = (uintptr_t)symbol }, sizeof *known);
	const char *name = NULL;
	char *made;

	if (known->function)
		return known->function;
	if (symbol->symbol || symbol->function)
		name = calls_name(symbol);
	made = name ? without_version(name) : name_of_file(symbol->image);
	known->function = function_named(s, made ? made : name, symbol->image, false);
	free(made);
	if (!known->function->source) {
		known->function->source = symbol->source;
		known->function->line = symbol->line;
	}
	return known->function;
}

/* -- Nodes ----------------------------------------------------------------------------------------------- */

static struct samples_node *node_at(struct samples *s, struct lookup_key key)
{
	struct samples_node *n = lookup(&s->by_key, key, sizeof *n);

	if (n->thread)
		return n;
	s->node = grow(s->node, s->nodes, &s->node_room, sizeof(struct samples_node *));
	s->node[s->nodes++] = n;
	return n;
}

static struct samples_node *thread_node(struct samples *s, const struct source *source)
{
	struct task *task = tasks_thread(&s->tasks, source);
	/* A program gives its threads names when they run already, so a thread has a node for each name. */
	struct samples_node *n = node_at(s, (struct lookup_key){ (uintptr_t)task, hash_text(task->name) });

	if (!n->thread) {
		n->thread = task;
		n->name = strndup(task->name[0] ? task->name : "?", sizeof task->name);
		if (!n->name)
			fail("no memory");
	}
	return n;
}

static struct samples_node *node_of(struct samples *s, const struct samples_node *parent,
                                    struct samples_function *function)
{
	struct samples_node *n = node_at(s, (struct lookup_key){ (uintptr_t)parent, (uintptr_t)function });
	const struct samples_node *above = parent;

	if (n->thread)
		return n;
	n->thread = parent->thread;
	n->parent = parent;
	n->function = function;
	for (unsigned i = 0; i < ABOVE_MAX && above->function && !n->recursive; i++, above = above->parent)
		n->recursive = above->function == function;
	return n;
}

/* -- Events ------------------------------------------------------------------------------------------------- */

void samples_begin(struct samples *s, const struct sources *logs, enum samples_kind kind)
{
	s->kind = kind;
	tasks_begin(&s->tasks, logs);
}

bool samples_stack(struct samples *s, const struct source *source, enum samples_kind kind, struct samples_stack *stack)
{
	const uint32_t fixed = kind == SAMPLES_ON ? SAMPLE_FIXED : OFF_FIXED;
	const unsigned char *p = source->data + fixed;
	unsigned kernel, count;

	*stack = (struct samples_stack){ .before = fixed };
	if (source->event->length < fixed + STACK_FIXED)
		return false;
	kernel = half(p + 1);
	count = half(p + 3);
	if (kernel > count || source->event->length - fixed - STACK_FIXED < 8 * count)
		return false;
	stack->cut = p[0] != 0;
	for (unsigned i = count; i > 0; i--) {
		uint64_t address = unaligned_u64(p + STACK_FIXED + 8 * (i - 1));
		struct samples_function *f = i <= kernel ? kernel_function(s, source, address) :
		                                           user_function(s, source, address, i - 1 == kernel);

		/* What is not known is one step, however long it is: it has no names anyway. */
		if (stack->count && s->step[stack->count - 1] == f && f->name[0] == '[')
			continue;
		s->step = grow(s->step, stack->count, &s->step_room, sizeof(struct samples_function *));
		s->step[stack->count++] = f;
	}
	stack->function = s->step;
	return true;
}

/* Adds a stack, from its outermost function. Returns the node of its innermost one. */
static struct samples_node *add_stack(struct samples *s, const struct source *source,
                                      const struct samples_stack *stack, struct samples_node **own)
{
	struct samples_node *n = thread_node(s, source), *innermost = NULL;

	s->cut += stack->cut;
	for (size_t i = 0; i < stack->count; i++) {
		n = node_of(s, n, stack->function[i]);
		if (!n->function->in_kernel)
			innermost = n;
	}
	*own = s->kind == SAMPLES_OFF && innermost ? innermost : n;
	return n;
}

/* Adds the time that a thread did not run. */
static void add_off(struct samples *s, struct samples_node *n, struct samples_node *own, const unsigned char *data)
{
	uint64_t took = unaligned_u64(data), ready = unaligned_u64(data + 8);
	unsigned state = data[16];
	bool could_run = state == PREEMPTED || state == NEW;

	if (ready > took)
		ready = took;
	own->own += took - ready;
	s->weight += took - ready;
	s->ready += ready;
	if (took > ready)
		node_of(s, n, function_named(s, state_name(state), NULL, true))->self += took - ready;
	if (ready)
		node_of(s, n, function_named(s, could_run ? state_name(state) : "[ready]", NULL, true))->self_ready +=
			ready;
}

bool samples_event(struct samples *s, const struct source *source)
{
	struct samples_stack stack;
	struct samples_node *n, *own;

	if (!source->symbols || samples_kind(source, source->event->id) != s->kind ||
	    !samples_stack(s, source, s->kind, &stack))
		return false;
	n = add_stack(s, source, &stack, &own);
	if (s->kind == SAMPLES_OFF) {
		add_off(s, n, own, source->data);
	} else {
		own->own++;
		n->self++;
		s->weight++;
	}
	s->stacks++;
	return true;
}

void samples_finish(struct samples *s)
{
	for (size_t i = 0; i < s->nodes; i++) {
		s->node[i]->total = s->node[i]->self;
		s->node[i]->total_ready = s->node[i]->self_ready;
	}
	for (size_t i = s->nodes; i > 0; i--) {
		const struct samples_node *n = s->node[i - 1];
		struct samples_node *parent = (struct samples_node *)(uintptr_t)n->parent;

		if (!parent)
			continue;
		parent->total += n->total;
		parent->total_ready += n->total_ready;
	}
}

uint64_t samples_sum(struct samples *s, const struct task *thread)
{
	uint64_t all = 0;

	for (size_t i = 0; i < s->functions; i++)
		s->function[i]->self = s->function[i]->total = s->function[i]->ready = 0;
	for (size_t i = 0; i < s->nodes; i++) {
		const struct samples_node *n = s->node[i];

		if (thread && n->thread != thread)
			continue;
		all += n->self;
		if (!n->function)
			continue;
		n->function->self += n->own;
		if (n->recursive)
			continue;
		n->function->total += n->total;
		n->function->ready += n->total_ready;
	}
	return all;
}
