/*
 * samples.h - what the stacks of record --sample and --off-cpu say: functions, and the tree of their callers
 *
 * A node of the tree is a function as it was called by the functions above it; the outermost nodes are threads. The
 * weight of a stack is 1 if it was sampled; if it is that of a thread that did not run, the time in ns, of which a part
 * may be "ready": the thread could have run, but others did. Such stacks end with the kind of waiting: [sleeping],
 * [disk], [preempted], or [ready] for the time after a thread was woken.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SAMPLES_H
#define SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/lookup.h"
#include "logs/sources.h"
#include "logs/tasks.h"

/* What an event type says. */
enum samples_kind { SAMPLES_NONE, SAMPLES_ON, SAMPLES_OFF, SAMPLES_FUNCTION };

/* In the layouts of SAMPLES_ON and SAMPLES_OFF, the fields of the stack, which are the last ones. */
#define SAMPLES_STACK_LAYOUT "cut:bool,kernel:u16,count:u16,stack:a64[count]}"
/* The most bytes that are before them in an event. */
#define SAMPLES_BEFORE_MAX 17

struct samples_function {
	struct lookup_key key;
	const char *name;
	const char *image, *source; /* file of the program; source file, null: unknown */
	unsigned line;
	bool in_kernel;
	/* Set by samples_sum(): */
	uint64_t self, total, ready; /* ready: of the total */
};

/* The stack of an event. */
struct samples_stack {
	bool cut;        /* the outermost functions are missing */
	uint32_t before; /* bytes of the event's data before the stack */
	size_t count;
	struct samples_function **function; /* from the outermost one on; overwritten by the next stack */
};

struct samples_node {
	struct lookup_key key;
	const struct samples_node *parent; /* null: this is a thread */
	const struct task *thread;
	const char *name;                  /* of a thread */
	struct samples_function *function;
	bool recursive;                    /* the function is also above */
	uint64_t self, self_ready;         /* of stacks that end here */
	uint64_t own;                      /* of stacks whose innermost function of the program is this */
	uint64_t total, total_ready;       /* set by samples_finish() */
};

struct samples {
	enum samples_kind kind;
	struct samples_node **node;       /* each one after the one above it */
	size_t nodes, node_room;
	struct samples_function **function;
	size_t functions, function_room;
	uint64_t stacks, cut;             /* cut: stacks whose outermost functions are missing */
	uint64_t weight, ready;           /* of all */
	struct samples_function **step;   /* of the latest stack */
	size_t step_room;

	struct tasks tasks;
	struct lookup by_key, by_symbol, by_name, by_kernel_address;
};

/* Prepares logs that have stacks for samples_begin(): symbols, and the functions of the kernel. Rewinds all. */
void samples_symbols(struct sources *logs);
/* Returns what an event type of a log says. A program may have types of these names, too, with other layouts. */
enum samples_kind samples_kind(const struct source *source, uint32_t id);
/*
 * Finds the functions of the stack of the next event, whose type is of this kind. Returns false if its data are wrong;
 * then only stack->before is set.
 */
bool samples_stack(struct samples *s, const struct source *source, enum samples_kind kind, struct samples_stack *stack);
/* Prepares for stacks of this kind. */
void samples_begin(struct samples *s, const struct sources *logs, enum samples_kind kind);
/* Takes the next event of a source, whatever its type is. Returns whether it is a stack of the kind. */
bool samples_event(struct samples *s, const struct source *source);
/* Computes the totals of the nodes. */
void samples_finish(struct samples *s);
/* Computes the members of all functions, from the stacks of a thread, or of all (null). Returns the sum of weights. */
uint64_t samples_sum(struct samples *s, const struct task *thread);

#endif
