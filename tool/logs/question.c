/*
 * question.c - an expression that is asked about the events of a log: --where, --of, --group-by
 *
 * SPDX-License-Identifier: MIT
 */
#include "logs/question.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/escape.h"
#include "common/message.h"
#include "event/suggest.h"

/* Names for a message. More than these are not compared. */
#define NAMES_MAX 500

struct question_names {
	struct suggest fields, labels;
};

/* -- Messages ------------------------------------------------------------------------------------ */

/* Returns the number of columns that a part of the expression has on the terminal. */
static int columns(const char *text, size_t length)
{
	char escaped[ESCAPE_MOST * EXPRESSION_TEXT];
	int columns = 0;

	escape_text(escaped, text, length, &columns);
	return columns;
}

/* Returns the text as one line, as question_say() shows it. */
static const char *one_line(const char *text)
{
	static char line[EXPRESSION_TEXT];
	size_t length = strnlen(text, sizeof line - 1);

	for (size_t i = 0; i < length; i++)
		line[i] = text[i] == '\n' || text[i] == '\t' ? ' ' : text[i];
	line[length] = 0;
	return line;
}

/* Returns whether the expression may ask for this value. */
static bool asks(const struct expression *x, enum builtin b)
{
	for (unsigned i = 0; i < x->count; i++)
		if (x->node[i].kind == NODE_NAME && strcmp(x->node[i].value.text, expression_builtins[b]) == 0)
			return true;
	return false;
}

struct question *question_new(const char *option, const char *text, bool condition)
{
	struct question *q = calloc(1, sizeof *q);
	struct expression_fault fault;

	if (!q)
		fail("no memory");
	q->x = expression_parse(text, condition, &fault);
	if (!q->x && strlen(text) >= EXPRESSION_TEXT)
		wrong_usage("%s: %s", option, fault.why);
	if (!q->x) {
		complain("%s: %s", option, fault.why);
		complain("  %s", one_line(text));
		wrong_usage("  %*s^", columns(one_line(text), fault.at), "");
	}
	q->names = calloc(1, sizeof *q->names);
	if (!q->names)
		fail("no memory");
	q->option = option;
	q->condition = condition;
	q->asks_process = asks(q->x, BUILTIN_PROCESS);
	q->asks_thread = asks(q->x, BUILTIN_THREAD);
	return q;
}

struct question *question_copy(const struct question *q)
{
	struct question *copy = calloc(1, sizeof *copy);

	if (!copy)
		fail("no memory");
	copy->x = q->x;
	copy->names = q->names;
	copy->option = q->option;
	copy->condition = q->condition;
	copy->asks_process = q->asks_process;
	copy->asks_thread = q->asks_thread;
	return copy;
}

static void point_at(const struct question *q, const struct node *n)
{
	complain("  %s", q->x->source);
	complain("  %*s^", columns(q->x->source, n->at), "");
}

/* Returns whether a node is compared with a field of some event type. */
static bool beside_field(const struct question *q, unsigned node)
{
	for (unsigned i = 0; i < q->x->count; i++) {
		const struct node *n = &q->x->node[i];
		unsigned other = n->left == node ? n->right : n->left;

		if (n->kind == NODE_RELATION && (n->left == node || n->right == node) &&
		    (q->x->node[other].kind == NODE_NAME || q->x->node[other].kind == NODE_ITEM) &&
		    q->x->node[other].declared)
			return true;
	}
	return false;
}

static void say_name(const struct question *q, unsigned node)
{
	const struct node *n = &q->x->node[node];
	bool compared = beside_field(q, node), label = compared && q->names->labels.count;
	const char *there = suggest_text(label ? &q->names->labels : &q->names->fields, n->value.text);
	const char *what = label ? n->kind == NODE_TEXT ? "label" : "field or label" : "field";

	if (n->own)
		complain("%s: '@%s' is none of @event, @pid, @tid, @process, @thread, @time, @length, @address and "
		         "@truncated", q->option, n->value.text);
	else if (there)
		complain("%s: no event type has a %s '%s'; there are %s", q->option, what, n->value.text, there);
	else
		complain("%s: no event type has a %s '%s'; no event type has declared fields", q->option, what,
		         n->value.text);
	point_at(q, n);
	/* As in item == tea. The shell takes away quotation marks that are not in others. */
	if (compared && !label && n->kind == NODE_NAME)
		complain("  if it is a text, it is written \"%s\", and the whole in '...' for the shell",
		         n->value.text);
}

bool question_say(const struct question *q)
{
	const struct expression *x = q->x;

	if (!x->compiled)
		return false;
	/* Texts last: a text beside a name without a meaning has none either. */
	for (unsigned texts = 0; texts < 2; texts++)
		for (unsigned i = 0; i < x->count; i++) {
			const struct node *n = &x->node[i];

			if (n->kind >= NODE_TEXT && (n->kind == NODE_TEXT) == (texts == 1) && !n->found) {
				say_name(q, i);
				return true;
			}
		}
	for (unsigned i = 0; i < x->count; i++) {
		const struct node *n = &x->node[i];

		if (n->why && !n->good) {
			complain("%s: %s", q->option, n->why);
			point_at(q, n);
			return true;
		}
	}
	return false;
}

bool question_say_text(const struct question *q)
{
	bool text = false;

	for (uint32_t id = 0; id < EVENT_ID_END; id++) {
		const struct formula *f = q->formula[id];

		if (f && f->has_value && !f->is_text)
			return false;
		text |= f && f->has_value;
	}
	if (text)
		complain("%s: %s is a text, not a number; --group-by counts texts", q->option, q->x->source);
	return text;
}

/* Handles a lack of memory. */
static void no_memory(struct question *q)
{
	if (!q->lenient)
		fail("no memory");
	q->poor = true;
}

/* -- Event types --------------------------------------------------------------------------------- */

static void suggest_labels(struct question *q, const struct layout *l)
{
	const struct node *node = q->x->node;

	for (unsigned i = 0; i < q->x->count; i++) {
		const struct node *n = &node[i];
		bool left = n->kind == NODE_RELATION && !node[n->left].found;
		bool right = n->kind == NODE_RELATION && !node[n->right].found;
		const struct layout_field *f = left ? formula_field(&node[n->right], l) :
		                               right ? formula_field(&node[n->left], l) : NULL;

		for (unsigned k = 0; f && k < f->labels && q->names->labels.count < NAMES_MAX; k++) {
			const struct layout_label *label = &l->label[f->first_label + k];
			char name[LAYOUT_LABEL_MAX + 1] = "";

			memcpy(name, l->text + label->at, label->length);
			suggest_add(&q->names->labels, name);
		}
	}
}

/* Keeps names for a message, if some name of the expression was not found yet. */
static void suggest(struct question *q, const struct layout *l)
{
	bool missing = false;

	for (unsigned i = 0; i < q->x->count; i++)
		missing |= q->x->node[i].kind >= NODE_TEXT && !q->x->node[i].found;
	if (!l || !missing || q->lenient)
		return;
	suggest_labels(q, l);
	for (unsigned i = 0; i < l->count && q->names->fields.count < NAMES_MAX; i++)
		suggest_add(&q->names->fields, l->field[i].name);
}

static void compile(struct question *q, uint32_t id)
{
	struct formula_type type = { .name = layouts_name(q->layouts, id), .layout = layouts_find(q->layouts, id),
	                             .begin = q->evaluation.begin };
	enum truth truth;
	char *number;

	if (!type.name) {
		/* The name must outlive the formula. */
		if (asprintf(&number, "?%u", id) < 0) {
			no_memory(q);
			return;
		}
		type.name = number;
	}
	q->formula[id] = formula_new(q->x, &type, q->condition);
	if (!q->formula[id]) {
		no_memory(q);
		return;
	}
	if (formula_constant(q->formula[id], &truth))
		q->truth[id] = (uint8_t)truth;
	suggest(q, type.layout);
}

const struct formula *question_formula(struct question *q, uint32_t id)
{
	if (!q->formula[id])
		compile(q, id);
	return q->formula[id];
}

void question_begin(struct question *q, const struct layouts *layouts, uint64_t begin, const bool *wanted)
{
	q->layouts = layouts;
	q->evaluation.begin = begin;
	for (uint32_t id = 0; id < EVENT_ID_END; id++) {
		formula_free(q->formula[id]);
		q->formula[id] = NULL;
		q->truth[id] = QUESTION_ASK;
		if ((!wanted || wanted[id]) && layouts_find(layouts, id))
			formula_declare(q->x, layouts_find(layouts, id));
	}
	for (uint32_t id = 0; id < EVENT_ID_END; id++)
		if ((!wanted || wanted[id]) && layouts_name(layouts, id))
			compile(q, id);
}

/* -- Processes ----------------------------------------------------------------------------------- */

static void add_name(struct question *q, uint32_t pid, const char *name, size_t length)
{
	struct question_process *more = realloc(q->process, (q->processes + 1) * sizeof *more);
	char *copy = strndup(name, length);

	if (more)
		q->process = more;
	if (!more || !copy) {
		free(copy);
		no_memory(q);
		return;
	}
	q->process[q->processes++] = (struct question_process){ pid, copy };
}

/* Returns the name of the executable in a PROCESS frame (docs/log-format.md), or null. */
static const char *executable(const unsigned char *body, size_t size, size_t *length)
{
	const char *path = (const char *)body + 18, *slash;

	if (size < 18 || get16(body + 16) > size - 18)
		return NULL;
	*length = get16(body + 16);
	slash = memrchr(path, '/', *length);
	if (!slash)
		return path;
	*length -= (size_t)(slash + 1 - path);
	return slash + 1;
}

static void add_process(const unsigned char *body, size_t size, void *arg)
{
	size_t length;
	const char *name = executable(body, size, &length);

	if (name)
		add_name(arg, get32(body), name, length);
}

bool question_has_process(const struct question *q, uint32_t pid)
{
	for (unsigned i = q->processes; i-- > 0;)
		if (q->process[i].pid == pid)
			return true;
	return false;
}

void question_add_process(struct question *q, const unsigned char *body, size_t size)
{
	size_t length;
	const char *name = executable(body, size, &length);

	q->last_pid = 0;
	for (unsigned i = q->processes; name && i-- > 0;)
		if (q->process[i].pid == get32(body)) {
			free(q->process[i].name);
			q->process[i] = q->process[--q->processes];
			break;
		}
	if (name)
		add_name(q, get32(body), name, length);
}

static void forget_processes(struct question *q)
{
	while (q->processes > 0)
		free(q->process[--q->processes].name);
	q->last_pid = 0;
	q->evaluation.process = NULL;
}

void question_process(struct question *q, uint32_t pid, const char *name)
{
	forget_processes(q);
	if (*name)
		add_name(q, pid, name, strlen(name));
}

void question_log(struct question *q, struct logfile *f, uint64_t begin, const bool *wanted)
{
	struct layouts *before = q->own_layouts;

	forget_processes(q);
	if (q->asks_process)
		logfile_processes(f, add_process, q);
	q->own_layouts = layouts_of(&f->in);
	if (!q->own_layouts)
		fail("no memory");
	question_begin(q, q->own_layouts, begin, wanted);
	layouts_free(before);
}

/* Finds the name of the event's process. The latest frame of a process has its current executable. */
static void find_process(struct question *q, uint32_t pid)
{
	q->last_pid = pid;
	q->evaluation.process = NULL;
	for (unsigned i = q->processes; i-- > 0;)
		if (q->process[i].pid == pid) {
			q->evaluation.process = q->process[i].name;
			return;
		}
}

/* -- Events -------------------------------------------------------------------------------------- */

static const struct formula *prepare(struct question *q, const struct log_event *e, const unsigned char *data)
{
	q->evaluation.event = e;
	q->evaluation.data = data;
	if (q->asks_process && e->pid != q->last_pid)
		find_process(q, e->pid);
	return question_formula(q, e->id);
}

bool question_ask(struct question *q, const struct log_event *e, const unsigned char *data)
{
	const struct formula *f = prepare(q, e, data);

	return !f || evaluate_truth(f, &q->evaluation) == TRUTH_TRUE;
}

struct value question_value(struct question *q, const struct log_event *e, const unsigned char *data)
{
	return evaluate_value(prepare(q, e, data), &q->evaluation);
}
