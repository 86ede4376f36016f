/*
 * question.h - an expression that is asked about the events of a log: --where, --of, --group-by
 *
 * Each event type has its formula. Copies for several logs share the expression, which notes what was found in any of
 * them: so question_say() can tell what no log has.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef QUESTION_H
#define QUESTION_H

#include "event/evaluate.h"
#include "event/layouts.h"
#include "logs/logfile.h"

struct question_process {
	uint32_t pid;
	char *name;
};

struct question_names;

struct question {
	struct expression *x;         /* shared by all copies */
	struct question_names *names; /* the same: existing names, for messages */
	const char *option;
	bool condition;
	bool asks_process, asks_thread;
	bool lenient; /* lack of memory does not end the program, but sets poor: some events count as selected */
	bool poor;
	/* For the current log: */
	const struct layouts *layouts;
	struct layouts *own_layouts; /* those of a log, or null */
	unsigned processes;
	struct question_process *process;
	uint32_t last_pid; /* of which evaluation.process is the name */
	struct evaluation evaluation;
	struct formula *formula[EVENT_ID_END]; /* null: not compiled yet */
	uint8_t truth[EVENT_ID_END];           /* enum truth, or QUESTION_ASK */
};

/* The truth depends on the event, or the formula has not been compiled yet. */
#define QUESTION_ASK (TRUTH_TRUE + 1)

/*
 * Parses the argument of an option. Ends the program with wrong usage, and a caret below the error, if it is wrong.
 * condition: for question_true(), else for question_value().
 */
struct question *question_new(const char *option, const char *text, bool condition);
/* Returns a question with the same expression, for another log that is read at the same time. */
struct question *question_copy(const struct question *q);
/*
 * Begins with the event types of these layouts, which must stay valid until the next call. begin: the origin of times.
 * wanted: the event types that are selected, indexed by id; null: all. Only their fields count as found.
 */
void question_begin(struct question *q, const struct layouts *layouts, uint64_t begin, const bool *wanted);
/* Does the same for a log, which is not being read yet. */
void question_log(struct question *q, struct logfile *f, uint64_t begin, const bool *wanted);
/* Sets the name of the executable of a living process, the only one that is known. */
void question_process(struct question *q, uint32_t pid, const char *name);
/* Takes the name of the executable of a process from the body of a frame PROCESS. The last one of a process counts. */
void question_add_process(struct question *q, const unsigned char *body, size_t size);
/* Returns whether the executable of a process is known. */
bool question_has_process(const struct question *q, uint32_t pid);
/* Returns the formula of an event type. Null only if the question is lenient, and there is no memory. */
const struct formula *question_formula(struct question *q, uint32_t id);
/* Returns the truth of a condition for an event whose type does not decide it. */
bool question_ask(struct question *q, const struct log_event *e, const unsigned char *data);

/* Returns whether a condition is true for an event. */
static inline bool question_true(struct question *q, const struct log_event *e, const unsigned char *data)
{
	uint8_t truth = q->truth[e->id];

	return truth == QUESTION_ASK ? question_ask(q, e, data) : truth == TRUTH_TRUE;
}

struct value question_value(struct question *q, const struct log_event *e, const unsigned char *data);
/*
 * Prints what no selected event type has, or what cannot be calculated in any of them, after question_begin() for all
 * logs. Returns false if there is no such thing.
 */
bool question_say(const struct question *q);
/* Prints that the value is a text in all event types that have it, where a number is needed. Returns whether it is. */
bool question_say_text(const struct question *q);

#endif
