/*
 * span.c - posixtrace.Span, span() and counter(): pairs of events in a with statement, and numbers by their names
 *
 * SPDX-License-Identifier: MIT
 */
#include "extension.h"

#include <string.h>

/*
 * posixtrace.Span: NAME.begin with fields, and NAME.end. Calling it returns a struct open.
 *
 * The tools pair a begin with the next end of the same thread. Coroutines and generators are suspended inside their
 * with statements, so their spans need not be nested: their events have a number by which they belong together.
 */
struct span {
	PyObject_HEAD
	vectorcallfunc vectorcall;
	struct event *begin, *end;
	struct event *numbered_begin, *numbered_end; /* null until they are needed */
	bool only_numbered; /* `begin` and `end` are not recorded: the others have their names */
	bool no_numbers; /* there is no room for a number */
	bool told_overlap; /* the event that tells of overlapping spans was recorded */
	PyObject *name, *fields; /* fields: a dict, or null */
	PyObject *nothing; /* entered while no stream traces the process */
	PyObject *inferred; /* names of the values in the first call of span(); null: none */
	struct span *next; /* of the same name in span(), with other fields */
};

/* A begin without an end. */
struct begun {
	uint64_t number; /* 0: none */
	const void *frame; /* that has entered, if there is a number */
};

/* The object of a with statement: begins and ends the span. Several threads may enter it, each several times. */
struct open {
	PyObject_VAR_HEAD
	struct span *span; /* null: nothing is recorded */
	bool numbered; /* made in a coroutine or a generator, or entered by async with */
	unsigned depth, room; /* number of begins without an end, and room for begins */
	struct begun first, *begun; /* begins without an end; the first is in the object itself */
	unsigned char data[]; /* of the begin: room for the number, and the fields */
};

#define NUMBER_SIZE sizeof(uint64_t)

/* The last number of a span in this process, by whatever interpreter. */
static uint64_t last_number;

/* The unnumbered spans that this thread has entered, in order; spans beyond the room are only counted. */
static __thread struct {
	unsigned count;
	struct {
		const struct open *open;
		const struct event *begin;
	} each[32];
} entered;

#define ENTERED_MAX (sizeof entered.each / sizeof entered.each[0])

/* Returns whether the function that runs now may be suspended: whether it is a coroutine or a generator. */
static bool may_be_suspended(void)
{
	PyFrameObject *frame = PyEval_GetFrame();
	PyCodeObject *code = frame ? PyFrame_GetCode(frame) : NULL;
	bool may = code && code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR);

	Py_XDECREF(code);
	return may;
}

/* Returns whether events are recorded, without the event types of a span. */
static bool is_traced(struct state *state)
{
	if (!POSIXTRACE_ENABLED())
		return false;
	/* While the interpreter ends, there is no event to ask any more: the process has had its first look. */
	return !state || !state->problem || event_enabled(state->problem);
}

/* Returns the object of which nothing is recorded. */
static PyObject *nothing(struct span *span)
{
	Py_INCREF(span->nothing);
	return span->nothing;
}

static PyObject *open_new(PyTypeObject *type, struct span *span, Py_ssize_t size, const unsigned char *data)
{
	struct open *open = (struct open *)type->tp_alloc(type, (Py_ssize_t)NUMBER_SIZE + size);

	if (!open)
		return NULL;
	Py_XINCREF(span);
	open->span = span;
	open->begun = &open->first;
	open->room = 1;
	if (size)
		memcpy(open->data + NUMBER_SIZE, data, (size_t)size);
	return (PyObject *)open;
}

/* Returns an object to enter, whose begin will have these values. They are encoded now. */
static PyObject *span_open(struct span *span, PyObject *const *values, const uint8_t *place)
{
	struct state *state = state_of(Py_TYPE(span));
	unsigned char small[STACK_MAX], *data = small;
	PyObject *open = NULL;
	Py_ssize_t size;

	if (!is_traced(state))
		return nothing(span);
	if (span->begin->most > sizeof small)
		data = PyMem_RawMalloc(span->begin->most);
	if (!data) {
		span->begin->misfits++;
		return nothing(span);
	}
	size = event_data(state, span->begin, values, place, data);
	if (size >= 0)
		open = open_new(Py_TYPE(span->nothing), span, size, data);
	if (open)
		((struct open *)open)->numbered = may_be_suspended();
	if (data != small)
		PyMem_RawFree(data);
	return open;
}

/* -- Numbers of spans ------------------------------------------------------------------------------- */

uint64_t span_number(void)
{
	return __atomic_add_fetch(&last_number, 1, __ATOMIC_RELAXED);
}

/* Makes a pair of event types, whose names are free. Returns false with an exception. */
static bool span_events(struct state *state, PyObject *name, const char *attributes, PyObject *fields, PyObject *of_end,
                        struct event **begin, struct event **end)
{
	PyObject *begin_name = PyUnicode_FromFormat("%U.begin", name), *end_name = PyUnicode_FromFormat("%U.end", name);
	struct event *first = NULL, *last = NULL;

	if (begin_name && end_name)
		first = event_make(state, begin_name, attributes, fields);
	if (first)
		last = event_make(state, end_name, attributes, of_end);
	Py_XDECREF(begin_name);
	Py_XDECREF(end_name);
	if (!last) {
		Py_XDECREF(first);
		return false;
	}
	*begin = first;
	*end = last;
	return true;
}

/* Returns the name, or a similar one under which no other fields are declared; null with an exception. */
static PyObject *free_pair(struct state *state, PyObject *name, const char *attributes, PyObject *fields,
                           PyObject *of_end)
{
	if (PyUnicode_GET_LENGTH(name) > TRACE_EVENT_NAME_MAX) { /* an error that event_make() tells */
		Py_INCREF(name);
		return name;
	}
	return PyObject_CallFunction(state->free_name, "OO[(ssO)(ssO)]", state->declared, name, ".begin", attributes,
	                             fields ? fields : Py_None, ".end", attributes, of_end ? of_end : Py_None);
}

/*
 * Makes a pair of event types under a name that is free, and returns the name; null with an exception. Between looking
 * for the name and taking it another thread may take it.
 */
static PyObject *free_events(struct state *state, PyObject *name, const char *attributes, PyObject *fields,
                             PyObject *of_end, struct event **begin, struct event **end)
{
	PyObject *stem = free_pair(state, name, attributes, fields, of_end), *other, *kind, *value, *where;

	while (stem && !span_events(state, stem, attributes, fields, of_end, begin, end)) {
		if (!PyErr_ExceptionMatches(PyExc_ValueError)) {
			Py_DECREF(stem);
			return NULL;
		}
		PyErr_Fetch(&kind, &value, &where);
		other = free_pair(state, name, attributes, fields, of_end);
		if (other && PyUnicode_Compare(stem, other) == 0)
			Py_CLEAR(other);
		if (other || PyErr_Occurred()) {
			Py_XDECREF(kind);
			Py_XDECREF(value);
			Py_XDECREF(where);
		} else {
			PyErr_Restore(kind, value, where); /* another error, such as a name of a field */
		}
		Py_SETREF(stem, other);
	}
	return stem;
}

/* Returns the fields of a numbered begin, and in *name that of the number: id, or if there is such a field span_id. */
static PyObject *numbered_fields(struct span *span, PyObject **name)
{
	PyObject *fields = PyDict_New(), *type = PyUnicode_FromString("u64");
	bool done = false;

	*name = PyUnicode_FromString("id");
	while (*name && span->fields && PyDict_Contains(span->fields, *name) > 0)
		Py_SETREF(*name, PyUnicode_FromFormat("span_%U", *name));
	if (fields && type && *name && PyDict_SetItem(fields, *name, type) == 0)
		done = !span->fields || PyDict_Update(fields, span->fields) == 0;
	Py_XDECREF(type);
	if (!done)
		Py_CLEAR(fields);
	return fields;
}

/* Makes the event types with a number: under the names of the others if those have not been recorded. */
static bool make_numbered(struct state *state, struct span *span)
{
	PyObject *number = NULL, *fields = numbered_fields(span, &number), *of_end = NULL, *attributes = NULL;
	struct event *begin = NULL, *end = NULL;
	const char *text = NULL;
	bool made = false;
	PyObject *name;

	if (fields) {
		attributes = PyUnicode_FromFormat("by=%U", number);
		of_end = Py_BuildValue("{Os}", number, "u64");
		text = attributes ? PyUnicode_AsUTF8(attributes) : NULL;
	}
	if (of_end && text) {
		if (!span->begin->type.__id && !span->end->type.__id) {
			span->only_numbered = true;
			event_release(state, span->begin);
			event_release(state, span->end);
		}
		name = free_events(state, span->name, text, fields, of_end, &begin, &end);
		made = name;
		Py_XDECREF(name);
	}
	/* Another thread may have done this meanwhile. */
	if (made && !span->numbered_end) {
		span->numbered_begin = begin;
		span->numbered_end = end;
	} else if (made) {
		Py_DECREF(begin);
		Py_DECREF(end);
	}
	Py_XDECREF(number);
	Py_XDECREF(fields);
	Py_XDECREF(of_end);
	Py_XDECREF(attributes);
	return span->numbered_end;
}

/* Returns whether the next begin has a number. -1: an exception that is to be raised. */
static int with_number(struct open *open)
{
	struct span *span = open->span;
	struct state *state;

	if (span->no_numbers || !(open->numbered || span->only_numbered || may_be_suspended()))
		return 0;
	if (span->numbered_end)
		return 1;
	state = state_of(Py_TYPE(span));
	if (!state)
		return 0;
	if (make_numbered(state, span))
		return 1;
	span->no_numbers = true;
	span->only_numbered = false;
	if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception))
		return -1;
	PyErr_Clear();
	return 0;
}

/* Tells that the end of a span has another begin than its own, if it has. Returns false with an exception. */
static bool tell_overlap(struct open *open, bool here)
{
	struct event *begin = open->span->begin;

	if (open->span->told_overlap)
		return true;
	open->span->told_overlap = true;
	return event_tell(state_of(Py_TYPE(open)), begin, PyUnicode_FromFormat(
		here ? "%U: spans of this name overlap in a thread, so their durations are wrong; async with has ids" :
		       "%U: ended in another thread than begun, so its duration is wrong; async with has ids",
		begin->name));
}

/* Notes that this thread has ended a span without a number. Returns false with an exception. */
static bool leave(struct open *open)
{
	unsigned i = entered.count;
	bool overlap = false;

	if (i > ENTERED_MAX) {
		entered.count--;
		return true;
	}
	while (i > 0 && entered.each[i - 1].open != open) {
		overlap |= entered.each[i - 1].begin == open->span->begin;
		i--;
	}
	if (i == 0)
		return tell_overlap(open, false);
	memmove(&entered.each[i - 1], &entered.each[i], (entered.count - i) * sizeof entered.each[0]);
	entered.count--;
	return !overlap || tell_overlap(open, true);
}

/* -- With statements -------------------------------------------------------------------------------- */

/* Remembers a begin. Returns false without memory. */
static bool push(struct open *open, uint64_t number)
{
	struct begun *begun = open->begun == &open->first ? NULL : open->begun;

	if (open->depth == open->room) {
		begun = PyMem_RawRealloc(begun, 2 * open->room * sizeof *begun);
		if (!begun)
			return false;
		if (open->begun == &open->first)
			*begun = open->first;
		open->begun = begun;
		open->room *= 2;
	}
	open->begun[open->depth].number = number;
	open->begun[open->depth++].frame = number ? PyEval_GetFrame() : NULL;
	return true;
}

/* Returns the place of the last begin in a frame, or without a number if it is null; -1: none. */
static int find_begun(const struct open *open, const void *frame)
{
	int at = (int)open->depth - 1;

	while (at >= 0 && open->begun[at].frame != frame)
		at--;
	return at;
}

/* Forgets the begin that an end here belongs to. Returns its number. */
static uint64_t pop(struct open *open)
{
	int at = open->depth > 1 ? find_begun(open, PyEval_GetFrame()) : 0;
	uint64_t number;

	if (at < 0)
		at = find_begun(open, NULL);
	if (at < 0)
		at = (int)open->depth - 1;
	number = open->begun[at].number;
	open->depth--;
	memmove(&open->begun[at], &open->begun[at + 1], (open->depth - (unsigned)at) * sizeof *open->begun);
	return number;
}

static PyObject *open_enter(PyObject *self, PyObject *none)
{
	struct open *open = (struct open *)self;
	struct span *span = open->span;
	int numbered;

	if (span && is_traced(state_of(Py_TYPE(span)))) {
		uint64_t number;

		numbered = with_number(open);
		if (numbered < 0)
			return NULL;
		number = numbered ? span_number() : 0;
		if (push(open, number)) {
			size_t size = (size_t)Py_SIZE(open);

			memcpy(open->data, &number, NUMBER_SIZE);
			if (numbered) {
				event_record(span->numbered_begin, open->data, size);
			} else {
				if (entered.count < ENTERED_MAX) {
					entered.each[entered.count].open = open;
					entered.each[entered.count].begin = span->begin;
				}
				entered.count++;
				event_record(span->begin, open->data + NUMBER_SIZE, size - NUMBER_SIZE);
			}
		}
	}
	Py_INCREF(self);
	return self;
}

static PyObject *open_exit(PyObject *self, PyObject *const *exception, Py_ssize_t count)
{
	struct open *open = (struct open *)self;

	if (open->depth > 0) {
		uint64_t number = pop(open);
		bool left = number || leave(open);

		if (number)
			event_record(open->span->numbered_end, &number, NUMBER_SIZE);
		else
			event_record(open->span->end, NULL, 0);
		if (!left)
			return NULL;
	}
	Py_RETURN_NONE;
}

/* Returns what `await` has the value at once of, and takes over the value; null with an exception. */
static PyObject *ready(struct open *open, PyObject *value)
{
	struct state *state = state_of(Py_TYPE(open));
	PyObject *awaitable = NULL;

	if (value && state)
		awaitable = PyObject_CallFunctionObjArgs(state->ready, value, NULL);
	Py_XDECREF(value);
	return awaitable;
}

static PyObject *open_enter_async(PyObject *self, PyObject *none)
{
	struct open *open = (struct open *)self;

	if (open->span)
		open->numbered = true;
	return ready(open, open_enter(self, NULL));
}

static PyObject *open_exit_async(PyObject *self, PyObject *const *exception, Py_ssize_t count)
{
	return ready((struct open *)self, open_exit(self, exception, count));
}

static void open_dealloc(PyObject *self)
{
	struct open *open = (struct open *)self;
	PyTypeObject *type = Py_TYPE(self);

	if (open->begun != &open->first)
		PyMem_RawFree(open->begun);
	Py_XDECREF(open->span);
	type->tp_free(self);
	Py_DECREF(type);
}

static PyMethodDef open_methods[] = {
	{ "__enter__", open_enter, METH_NOARGS, NULL },
	{ "__exit__", (PyCFunction)(void (*)(void))open_exit, METH_FASTCALL, NULL },
	{ "__aenter__", open_enter_async, METH_NOARGS, NULL },
	{ "__aexit__", (PyCFunction)(void (*)(void))open_exit_async, METH_FASTCALL, NULL },
	{ NULL, NULL, 0, NULL },
};

static PyObject *open_call(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	return PyErr_Format(PyExc_TypeError,
	                    "a span is for `with`; @posixtrace.traced records the calls of a function");
}

static PyType_Slot open_slots[] = {
	{ Py_tp_doc, "A span to be entered by a with statement, or by async with." },
	{ Py_tp_dealloc, open_dealloc },
	{ Py_tp_call, open_call },
	{ Py_tp_methods, open_methods },
	{ 0, NULL },
};

static PyType_Spec open_spec = {
	.name = "posixtrace.OpenSpan",
	.basicsize = sizeof(struct open),
	.itemsize = 1,
#if PY_VERSION_HEX >= 0x030A0000
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
#else
	.flags = Py_TPFLAGS_DEFAULT,
#endif
	.slots = open_slots,
};

/* -- Span ------------------------------------------------------------------------------------------- */

static PyObject *span_call(PyObject *self, PyObject *const *values, size_t flags, PyObject *names)
{
	struct span *span = (struct span *)self;
	Py_ssize_t given = PyVectorcall_NARGS(flags) + (names ? PyTuple_GET_SIZE(names) : 0);
	uint8_t places[FIELDS_MAX];
	const uint8_t *place;
	bool wrong;

	place = event_arguments(span->begin, given, names, &wrong);
	if (wrong)
		return NULL;
	if (!POSIXTRACE_ENABLED())
		return nothing(span);
	if (place)
		place = memcpy(places, place, sizeof places);
	return span_open(span, values, place);
}

/*
 * Makes the two event types, under another name if it is not `declared` and the name has other fields. Returns null
 * with an exception.
 */
static struct span *span_make(struct state *state, PyObject *name, PyObject *fields, bool declared)
{
	struct span *span;

	if (!PyUnicode_Check(name)) {
		PyErr_Format(PyExc_TypeError, "the name of a span is a str, not %.200s", Py_TYPE(name)->tp_name);
		return NULL;
	}
	span = (struct span *)state->span_type->tp_alloc(state->span_type, 0);
	if (!span)
		return NULL;
	span->vectorcall = span_call;
	Py_INCREF(state->nothing);
	span->nothing = state->nothing;
	if (!declared)
		span->name = free_events(state, name, "", fields, NULL, &span->begin, &span->end);
	else if (span_events(state, name, "", fields, NULL, &span->begin, &span->end))
		span->name = PyUnicode_FromObject(name);
	if (fields && span->name)
		span->fields = PyDict_Copy(fields);
	if (!span->name || (fields && !span->fields))
		Py_CLEAR(span);
	return span;
}

static PyObject *span_new(PyTypeObject *type, PyObject *arguments, PyObject *fields)
{
	PyObject *name;

	if (!PyArg_ParseTuple(arguments, "U:Span", &name))
		return NULL;
	return (PyObject *)span_make(PyType_GetModuleState(type), name, fields, true);
}

static void span_dealloc(PyObject *self)
{
	struct span *span = (struct span *)self;
	PyTypeObject *type = Py_TYPE(self);

	Py_XDECREF(span->begin);
	Py_XDECREF(span->end);
	Py_XDECREF(span->numbered_begin);
	Py_XDECREF(span->numbered_end);
	Py_XDECREF(span->name);
	Py_XDECREF(span->fields);
	Py_XDECREF(span->next);
	Py_XDECREF(span->nothing);
	Py_XDECREF(span->inferred);
	type->tp_free(self);
	Py_DECREF(type);
}

static int span_bool(PyObject *self)
{
	return is_traced(state_of(Py_TYPE(self)));
}

static PyObject *span_repr(PyObject *self)
{
	return PyUnicode_FromFormat("<posixtrace.Span %R %R>", ((struct span *)self)->begin,
	                            ((struct span *)self)->end);
}

static PyMemberDef span_members[] = {
	{ "__vectorcalloffset__", T_PYSSIZET, offsetof(struct span, vectorcall), READONLY, NULL },
	{ "begin", T_OBJECT, offsetof(struct span, begin), READONLY, "the Event that begins the span" },
	{ "end", T_OBJECT, offsetof(struct span, end), READONLY, "the Event that ends the span" },
	{ NULL, 0, 0, 0, NULL },
};

static PyType_Slot span_slots[] = {
	{ Py_tp_doc, "Span(name, /, **fields)\n--\n\n"
	             "A pair of event types, NAME.begin with fields and NAME.end. Calling it with the values of the\n"
	             "fields returns what a with statement enters; it is false while nobody traces this process." },
	{ Py_tp_new, span_new },
	{ Py_tp_dealloc, span_dealloc },
	{ Py_tp_call, PyVectorcall_Call },
	{ Py_tp_repr, span_repr },
	{ Py_tp_members, span_members },
	{ Py_nb_bool, span_bool },
	{ 0, NULL },
};

static PyType_Spec span_spec = {
	.name = "posixtrace.Span",
	.basicsize = sizeof(struct span),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
	.slots = span_slots,
};

/* -- By name ---------------------------------------------------------------------------------------- */

/* Returns the fields that values have by their own types. */
static PyObject *infer(struct state *state, PyObject *const *values, PyObject *names)
{
	PyObject *given = PyDict_New(), *fields = NULL;
	bool complete = given != NULL;

	for (Py_ssize_t i = 0; complete && names && i < PyTuple_GET_SIZE(names); i++)
		complete = PyDict_SetItem(given, PyTuple_GET_ITEM(names, i), values[i]) == 0;
	if (complete)
		fields = PyObject_CallFunctionObjArgs(state->inferred, given, NULL);
	Py_XDECREF(given);
	return fields;
}

/* Returns whether a value loses nothing in a field of an inferred type. */
static bool fits(const struct field *f, PyObject *value)
{
	switch (f->kind) {
	case KIND_SIGNED:
		return PyLong_Check(value);
	case KIND_FLOAT:
		return PyFloat_Check(value) || PyLong_Check(value);
	case KIND_BOOL:
		return PyBool_Check(value);
	case KIND_BYTES:
		return PyBytes_Check(value) || PyByteArray_Check(value);
	default:
		return true;
	}
}

/* Returns whether these values are those of a span, and where each one is among them. */
static bool are_fields(struct span *span, PyObject *const *values, PyObject *names, uint8_t *place)
{
	struct event *e = span->begin;
	Py_ssize_t given = names ? PyTuple_GET_SIZE(names) : 0;

	if (given != e->count)
		return false;
	for (unsigned i = 0; i < e->count; i++) {
		Py_ssize_t k = i;

		if (names != span->inferred) {
			k = 0;
			while (k < given && PyTuple_GET_ITEM(names, k) != e->field[i].name &&
			       PyUnicode_Compare(PyTuple_GET_ITEM(names, k), e->field[i].name) != 0)
				k++;
		}
		if (k == given || !fits(&e->field[i], values[k]))
			return false;
		place[i] = (uint8_t)k;
	}
	return true;
}

/* Makes a span of span(). Returns null with an exception. */
static struct span *make_inferred(struct state *state, PyObject *name, PyObject *const *values, PyObject *names)
{
	PyObject *fields;
	struct span *span = NULL;

	if (!PyUnicode_Check(name)) {
		PyErr_Format(PyExc_TypeError, "the name of a span is a str, not %.200s", Py_TYPE(name)->tp_name);
		return NULL;
	}
	fields = infer(state, values, names);
	if (fields)
		span = span_make(state, name, fields, false);
	Py_XDECREF(fields);
	if (!span)
		return NULL;
	span->inferred = names;
	Py_XINCREF(names);
	state->names++;
	return span;
}

/* Returns whether there are too many names to keep another one, and tells it if somebody traces: once. */
static bool too_many(struct state *state, bool *interrupted)
{
	*interrupted = false;
	if (state->names < NAMES_MAX)
		return false;
	if (!state->told_names && is_traced(state)) {
		state->told_names = true;
		*interrupted = !event_tell(state, NULL, PyUnicode_FromFormat(
			"span() and counter(): more than %d names or sorts of values: the events of others are "
			"python.span and python.counter, with the name as a field; what varies belongs in a field",
			NAMES_MAX));
	}
	return true;
}

/* Opens a span with a name that is not kept. */
static PyObject *open_rest(struct state *state, PyObject *name)
{
	PyObject *fields, *whole, *rest = NULL;

	if (!is_traced(state)) {
		Py_INCREF(state->nothing);
		return state->nothing;
	}
	if (!state->rest) {
		fields = Py_BuildValue("{ss}", "name", "z");
		whole = PyUnicode_FromString("python.span");
		if (fields && whole)
			rest = (PyObject *)span_make(state, whole, fields, false);
		/* Another thread may have done this meanwhile. */
		if (state->rest)
			Py_XDECREF(rest);
		else
			state->rest = rest;
		Py_XDECREF(fields);
		Py_XDECREF(whole);
	}
	return state->rest ? span_open((struct span *)state->rest, &name, NULL) : NULL;
}

/* Opens a span of which there is none with such values yet. */
static PyObject *open_another(struct state *state, struct span *first, PyObject *name, PyObject *const *values,
                              PyObject *names)
{
	bool interrupted;
	struct span *span;

	if (!PyUnicode_Check(name) || !too_many(state, &interrupted)) {
		span = make_inferred(state, name, values, names);
		if (!span)
			return NULL;
		/* Nothing is replaced: another thread may have made the same span meanwhile, and may use it. */
		if (!first)
			first = (struct span *)PyDict_SetDefault(state->spans, name, (PyObject *)span);
		if (!first || first == span) {
			Py_DECREF(span);
			if (!first)
				return NULL;
		} else {
			span->next = first->next;
			first->next = span;
		}
		return POSIXTRACE_ENABLED() ? span_open(span, values, NULL) : nothing(span);
	}
	return interrupted ? NULL : open_rest(state, name);
}

static PyObject *span_by_name(PyObject *module, PyObject *const *values, Py_ssize_t given, PyObject *names)
{
	struct state *state = PyModule_GetState(module);
	struct span *first, *span;
	uint8_t place[FIELDS_MAX];

	if (given != 1)
		return PyErr_Format(PyExc_TypeError, "span(name, **values) has one argument without a name, not %zd",
		                    given);
	first = (struct span *)PyDict_GetItemWithError(state->spans, values[0]);
	if (!first)
		return PyErr_Occurred() ? NULL : open_another(state, NULL, values[0], values + 1, names);
	if (!is_traced(state))
		return nothing(first);
	for (span = first; span; span = span->next)
		if (are_fields(span, values + 1, names, place))
			return span_open(span, values + 1, names == span->inferred ? NULL : place);
	return open_another(state, first, values[0], values + 1, names);
}

/* -- Counters --------------------------------------------------------------------------------------- */

/* Makes the event of a counter: of the type that the program has declared for the name, otherwise float. */
static struct event *make_counter(struct state *state, PyObject *name)
{
	PyObject *fields = PyObject_CallFunctionObjArgs(state->counter_fields, state->declared, name, NULL);
	struct event *e = fields ? event_make_free(state, name, "counter", fields) : NULL, *kept;

	Py_XDECREF(fields);
	if (!e)
		return NULL;
	state->names++;
	/* If another thread has added a counter of this name meanwhile, uses that counter. */
	kept = (struct event *)PyDict_SetDefault(state->counters, name, (PyObject *)e);
	Py_DECREF(e);
	return kept;
}

/* Records the value of a counter whose name is not kept. */
static PyObject *count_rest(struct state *state, PyObject *const *values)
{
	PyObject *fields, *name;
	struct event *rest = NULL;

	if (!is_traced(state))
		Py_RETURN_NONE;
	if (!state->rest_counter) {
		fields = Py_BuildValue("{ssss}", "name", "z", "value", "f64");
		name = PyUnicode_FromString("python.counter");
		if (fields && name)
			rest = event_make_free(state, name, "", fields);
		if (state->rest_counter)
			Py_XDECREF(rest);
		else
			state->rest_counter = rest;
		Py_XDECREF(fields);
		Py_XDECREF(name);
	}
	return state->rest_counter ? state->rest_counter->vectorcall((PyObject *)state->rest_counter, values, 2, NULL) :
	                             NULL;
}

static PyObject *counter(PyObject *module, PyObject *const *values, Py_ssize_t given)
{
	struct state *state = PyModule_GetState(module);
	struct event *e;
	bool interrupted;

	if (given != 2)
		return PyErr_Format(PyExc_TypeError, "counter(name, value) has two arguments, not %zd", given);
	e = (struct event *)PyDict_GetItemWithError(state->counters, values[0]);
	if (!e && PyErr_Occurred())
		return NULL;
	if (!e && PyUnicode_Check(values[0]) && too_many(state, &interrupted))
		return interrupted ? NULL : count_rest(state, values);
	if (!e)
		e = make_counter(state, values[0]);
	return e ? e->vectorcall((PyObject *)e, values + 1, 1, NULL) : NULL;
}

/* Returns the next number of a span. */
static PyObject *number(PyObject *module, PyObject *none)
{
	return PyLong_FromUnsignedLongLong(span_number());
}

/* Makes the pair of events of @traced and the like, under another name if the name has other fields. */
static PyObject *make_pair(PyObject *module, PyObject *arguments)
{
	struct state *state = PyModule_GetState(module);
	PyObject *name, *fields = NULL, *of_end = NULL, *free_name;
	const char *attributes = "";
	struct event *begin, *end;
	bool made;

	if (!PyArg_ParseTuple(arguments, "U|sO!O!", &name, &attributes, &PyDict_Type, &fields, &PyDict_Type, &of_end))
		return NULL;
	free_name = free_events(state, name, attributes, fields, of_end, &begin, &end);
	made = free_name;
	Py_XDECREF(free_name);
	return made ? Py_BuildValue("(NN)", begin, end) : NULL;
}

PyMethodDef span_functions[] = {
	{ "span", (PyCFunction)(void (*)(void))span_by_name, METH_FASTCALL | METH_KEYWORDS,
	  "span(name, /, **values)\n--\n\n"
	  "Returns what a with statement enters: records NAME.begin with the values, and NAME.end." },
	{ "counter", (PyCFunction)(void (*)(void))counter, METH_FASTCALL,
	  "counter(name, value, /)\n--\n\nRecords the value of a counter as the event NAME with the field value." },
	{ "number", number, METH_NOARGS, NULL },
	{ "pair", make_pair, METH_VARARGS, NULL },
	{ NULL, NULL, 0, NULL },
};

int span_add(PyObject *module, struct state *state)
{
	state->open_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &open_spec, NULL);
	state->span_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &span_spec, NULL);
	if (!state->open_type || !state->span_type || PyModule_AddType(module, state->span_type) < 0)
		return -1;
#if PY_VERSION_HEX < 0x030A0000
	state->open_type->tp_new = NULL;
#endif
	state->counter_fields = take_from("posixtrace._layout", "counter_fields");
	state->ready = state->counter_fields ? take_from("posixtrace._layout", "ready") : NULL;
	if (!state->ready)
		return -1;
	state->spans = PyDict_New();
	state->counters = PyDict_New();
	state->nothing = open_new(state->open_type, NULL, 0, NULL);
	return state->spans && state->counters && state->nothing ? 0 : -1;
}
