/*
 * stacks.c - the stacks of record --sample and --off-cpu in a page: each different one is there once
 *
 * SPDX-License-Identifier: MIT
 */
#include "view/stacks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "common/json.h"
#include "common/lookup.h"
#include "common/message.h"
#include "model/data_layout.h"
#include "view/page.h"

/* A function that is called by those above it, or a function by itself; numbers begin with 1. */
struct numbered {
	struct lookup_key key;
	uint32_t number;
};

static struct {
	bool used; /* a log may have stacks */
	struct samples samples;
	struct lookup nodes;     /* by the number of the node above, and the function */
	struct lookup functions; /* by their addresses */
	const struct samples_function **function;
	uint32_t function_count, function_room;
	unsigned char *node; /* the block */
	uint32_t node_count, node_room;
} stacks;

void stacks_begin(struct sources *logs)
{
	stacks.used = true;
	samples_symbols(logs);
	samples_begin(&stacks.samples, logs, SAMPLES_NONE);
}

const struct layout *stacks_layout(const struct source *s, uint32_t id, enum samples_kind *kind)
{
	static const char in_page[] = "cut:bool,stack:u32}";
	struct layout *layout;
	const char *text;
	char *changed;
	size_t before;

	*kind = stacks.used ? samples_kind(s, id) : SAMPLES_NONE;
	if (*kind != SAMPLES_ON && *kind != SAMPLES_OFF)
		return NULL;
	text = layouts_text(s->layouts, id);
	before = strlen(text) - strlen(SAMPLES_STACK_LAYOUT);
	layout = calloc(1, sizeof *layout);
	if (!layout || asprintf(&changed, "%.*s%s", (int)before, text, in_page) < 0)
		fail("no memory");
	/* The fields before the stack, and so the text, have been accepted before. */
	if (!layout_declare(layout, changed, &(struct layout_fault){ 0 }))
		fail("cannot change the layout %s", text);
	free(changed);
	return layout;
}

/* Returns the row of a function. */
static uint32_t function_row(const struct samples_function *f)
{
	struct numbered *n = lookup(&stacks.functions, (struct lookup_key){ (uintptr_t)f, 0 }, sizeof *n);

	if (n->number)
		return n->number - 1;
	if (stacks.function_count == stacks.function_room) {
		stacks.function_room = stacks.function_room ? 2 * stacks.function_room : 256;
		stacks.function = realloc(stacks.function, stacks.function_room * sizeof(struct samples_function *));
		if (!stacks.function)
			fail("no memory");
	}
	stacks.function[stacks.function_count] = f;
	n->number = ++stacks.function_count;
	return n->number - 1;
}

/* Returns the number of the node of a function below another one. */
static uint32_t node_below(uint32_t above, const struct samples_function *f)
{
	struct numbered *n = lookup(&stacks.nodes, (struct lookup_key){ above, (uintptr_t)f }, sizeof *n);

	if (n->number)
		return n->number;
	if (stacks.node_count == stacks.node_room) {
		stacks.node_room = stacks.node_room ? 2 * stacks.node_room : 1024;
		stacks.node = realloc(stacks.node, 8 * (size_t)stacks.node_room);
		if (!stacks.node)
			fail("no memory");
	}
	put32(stacks.node + 8 * (size_t)stacks.node_count, above);
	put32(stacks.node + 8 * (size_t)stacks.node_count + 4, function_row(f));
	n->number = ++stacks.node_count;
	return n->number;
}

uint32_t stacks_data(const struct source *s, unsigned char data[STACKS_DATA])
{
	enum samples_kind kind = stacks.used ? samples_kind(s, s->event->id) : SAMPLES_NONE;
	struct samples_stack stack;
	uint32_t node = 0;

	if (kind != SAMPLES_ON && kind != SAMPLES_OFF)
		return 0;
	if (!samples_stack(&stacks.samples, s, kind, &stack)) {
		uint32_t length = s->event->length < stack.before ? s->event->length : stack.before;

		memcpy(data, s->data, length);
		return length;
	}
	for (size_t i = 0; i < stack.count; i++)
		node = node_below(node, stack.function[i]);
	memcpy(data, s->data, stack.before);
	data[stack.before] = stack.cut;
	memcpy(data + stack.before + 1, &node, sizeof node);
	return stack.before + 1 + (uint32_t)sizeof node;
}

void stacks_write_block(void)
{
	if (stacks.node_count)
		page_block("stacks", stacks.node, 8 * (size_t)stacks.node_count);
}

void stacks_write_functions(void)
{
	json_key("functions");
	json_begin('[');
	for (uint32_t i = 0; i < stacks.function_count; i++) {
		const struct samples_function *f = stacks.function[i];

		json_begin('[');
		json_string(f->name);
		json_string(f->image ? f->image : "");
		json_bool(f->in_kernel);
		json_end(']');
	}
	json_end(']');
}
