/*
 * span.c - posixtrace.Span, span() and counter(): pairs of events in a with statement, and numbers by their names
 *
 * SPDX-License-Identifier: MIT
 */
#include "extension.h"

#include <string.h>

/* posixtrace.Span: NAME.begin with fields, and NAME.end. Calling it returns a struct open. */
struct span {
	PyObject_HEAD
	vectorcallfunc vectorcall;
	struct event *begin, *end;
	PyObject *nothing; /* entered while no stream traces the process */
	PyObject *inferred; /* names of the values in the first call of span(); null: none */
};

/* What a with statement has: begins and ends the span. The same one may be entered again, and by several threads. */
struct open {
	PyObject_VAR_HEAD
	struct span *span; /* null: nothing is recorded */
	unsigned depth; /* how many begins have no end yet */
	unsigned char data[]; /* of the begin */
};

/* Returns the object of which nothing is recorded. */
static PyObject *nothing(struct span *span)
{
	Py_INCREF(span->nothing);
	return span->nothing;
}

static PyObject *open_new(PyTypeObject *type, struct span *span, Py_ssize_t size, const unsigned char *data)
{
	struct open *open = (struct open *)type->tp_alloc(type, size);

	if (!open)
		return NULL;
	Py_XINCREF(span);
	open->span = span;
	if (size)
		memcpy(open->data, data, (size_t)size);
	return (PyObject *)open;
}

/* Returns an object to enter, whose begin will have these values. They are encoded now. */
static PyObject *span_open(struct span *span, PyObject *const *values, const uint8_t *place)
{
	struct state *state = state_of(Py_TYPE(span));
	unsigned char small[STACK_MAX], *data = small;
	PyObject *open = NULL;
	Py_ssize_t size;

	if (!event_enabled(span->begin))
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
	if (data != small)
		PyMem_RawFree(data);
	return open;
}

static PyObject *open_enter(PyObject *self, PyObject *none)
{
	struct open *open = (struct open *)self;

	if (open->span && event_enabled(open->span->begin)) {
		event_record(open->span->begin, open->data, (size_t)Py_SIZE(open));
		open->depth++;
	}
	Py_INCREF(self);
	return self;
}

static PyObject *open_exit(PyObject *self, PyObject *const *exception, Py_ssize_t count)
{
	struct open *open = (struct open *)self;

	if (open->depth > 0) {
		open->depth--;
		event_record(open->span->end, NULL, 0);
	}
	Py_RETURN_NONE;
}

static void open_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);

	Py_XDECREF(((struct open *)self)->span);
	type->tp_free(self);
	Py_DECREF(type);
}

static PyMethodDef open_methods[] = {
	{ "__enter__", open_enter, METH_NOARGS, NULL },
	{ "__exit__", (PyCFunction)(void (*)(void))open_exit, METH_FASTCALL, NULL },
	{ NULL, NULL, 0, NULL },
};

static PyType_Slot open_slots[] = {
	{ Py_tp_doc, "A span to be entered by a with statement." },
	{ Py_tp_dealloc, open_dealloc },
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

/* Makes the two event types. Returns null with an exception. */
static struct span *span_make(struct state *state, PyObject *name, PyObject *fields)
{
	PyObject *begin, *end;
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
	begin = PyUnicode_FromFormat("%U.begin", name);
	end = PyUnicode_FromFormat("%U.end", name);
	if (begin && end) {
		span->begin = event_make(state, begin, "", fields);
		span->end = span->begin ? event_make(state, end, "", NULL) : NULL;
	}
	Py_XDECREF(begin);
	Py_XDECREF(end);
	if (!span->end)
		Py_CLEAR(span);
	return span;
}

static PyObject *span_new(PyTypeObject *type, PyObject *arguments, PyObject *fields)
{
	PyObject *name;

	if (!PyArg_ParseTuple(arguments, "U:Span", &name))
		return NULL;
	return (PyObject *)span_make(PyType_GetModuleState(type), name, fields);
}

static void span_dealloc(PyObject *self)
{
	struct span *span = (struct span *)self;
	PyTypeObject *type = Py_TYPE(self);

	Py_XDECREF(span->begin);
	Py_XDECREF(span->end);
	Py_XDECREF(span->nothing);
	Py_XDECREF(span->inferred);
	type->tp_free(self);
	Py_DECREF(type);
}

static int span_bool(PyObject *self)
{
	return event_enabled(((struct span *)self)->begin);
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

/* Returns the span of this name, which its first call makes, as a borrowed reference. Null with an exception. */
static struct span *span_named(struct state *state, PyObject *name, PyObject *const *values, PyObject *names)
{
	struct span *span = (struct span *)PyDict_GetItemWithError(state->spans, name);
	PyObject *fields;

	if (span || PyErr_Occurred())
		return span;
	fields = infer(state, values, names);
	span = fields ? span_make(state, name, fields) : NULL;
	Py_XDECREF(fields);
	if (!span)
		return NULL;
	span->inferred = names;
	Py_XINCREF(names);
	if (PyDict_SetItem(state->spans, name, (PyObject *)span) < 0)
		Py_CLEAR(span);
	else
		Py_DECREF(span);
	return span;
}

/* Opens a span whose arguments are not the fields of the first call: missing values are 0, others are dropped. */
static PyObject *open_other(struct state *state, struct span *span, PyObject *const *values, PyObject *names)
{
	PyObject *all[FIELDS_MAX], *zero = PyLong_FromLong(0), *open;
	struct event *e = span->begin;
	Py_ssize_t given = names ? PyTuple_GET_SIZE(names) : 0;
	unsigned used = 0;

	if (!zero)
		return NULL;
	for (unsigned i = 0; i < e->count; i++) {
		all[i] = e->field[i].kind == KIND_BYTES ? Py_None : zero;
		for (Py_ssize_t k = 0; k < given; k++)
			if (PyUnicode_Compare(PyTuple_GET_ITEM(names, k), e->field[i].name) == 0) {
				all[i] = values[k];
				used++;
			}
	}
	open = span_open(span, all, NULL);
	if (used < given || used < e->count)
		e->misfits++;
	Py_DECREF(zero);
	return open;
}

static PyObject *span_by_name(PyObject *module, PyObject *const *values, Py_ssize_t given, PyObject *names)
{
	struct state *state = PyModule_GetState(module);
	struct span *span;

	if (given != 1)
		return PyErr_Format(PyExc_TypeError, "span(name, **values) has one argument without a name, not %zd",
		                    given);
	span = span_named(state, values[0], values + 1, names);
	if (!span)
		return NULL;
	if (!POSIXTRACE_ENABLED())
		return nothing(span);
	if (names == span->inferred)
		return span_open(span, values + 1, NULL);
	return open_other(state, span, values + 1, names);
}

static struct event *counter_named(struct state *state, PyObject *name, PyObject *value)
{
	struct event *e = (struct event *)PyDict_GetItemWithError(state->counters, name);
	PyObject *fields;

	if (e || PyErr_Occurred())
		return e;
	fields = Py_BuildValue("{ss}", "value", PyFloat_Check(value) ? "f64" : "i64");
	e = fields ? event_make(state, name, "counter", fields) : NULL;
	Py_XDECREF(fields);
	if (e && PyDict_SetItem(state->counters, name, (PyObject *)e) < 0)
		Py_CLEAR(e);
	else
		Py_XDECREF(e);
	return e;
}

static PyObject *counter(PyObject *module, PyObject *const *values, Py_ssize_t given)
{
	struct state *state = PyModule_GetState(module);
	struct event *e;

	if (given != 2)
		return PyErr_Format(PyExc_TypeError, "counter(name, value) has two arguments, not %zd", given);
	e = counter_named(state, values[0], values[1]);
	if (!e)
		return NULL;
	return e->vectorcall((PyObject *)e, values + 1, 1, NULL);
}

PyMethodDef span_functions[] = {
	{ "span", (PyCFunction)(void (*)(void))span_by_name, METH_FASTCALL | METH_KEYWORDS,
	  "span(name, /, **values)\n--\n\n"
	  "Returns what a with statement enters: records NAME.begin with the values, and NAME.end." },
	{ "counter", (PyCFunction)(void (*)(void))counter, METH_FASTCALL,
	  "counter(name, value, /)\n--\n\nRecords the value of a counter as the event NAME with the field value." },
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
	state->spans = PyDict_New();
	state->counters = PyDict_New();
	state->nothing = open_new(state->open_type, NULL, 0, NULL);
	return state->spans && state->counters && state->nothing ? 0 : -1;
}
