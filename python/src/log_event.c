/*
 * log_event.c - posixtrace.LogEvent and posixtrace.LogType: an event of a log, and what its fields are
 *
 * SPDX-License-Identifier: MIT
 */
#include "log_extension.h"

#include <string.h>

#define LABEL_MAX  65536 /* bytes of a label: a layout is not longer */
#define LABELS_MAX 65536 /* numbers of a field whose labels are kept */

PyObject *log_raise(int error)
{
	if (error == ENOMEM)
		return PyErr_NoMemory();
	if (error == EINVAL || error == EBADMSG)
		PyErr_SetString(PyExc_ValueError, posixtrace_log_error());
	else if (error == EBUSY)
		PyErr_SetString(PyExc_RuntimeError, posixtrace_log_error());
	else {
		/* A subclass of OSError, by the number. */
		PyObject *text = log_text(posixtrace_log_error(), strlen(posixtrace_log_error()));
		PyObject *exception = text ? PyObject_CallFunction(PyExc_OSError, "iO", error, text) : NULL;

		if (exception)
			PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
		Py_XDECREF(exception);
		Py_XDECREF(text);
	}
	return NULL;
}

/* -- Types ------------------------------------------------------------------------------------------- */

/* Returns a dict of text to number. */
static PyObject *labels_of(const struct posixtrace_log_type *about, unsigned field, unsigned count)
{
	PyObject *labels = PyDict_New();

	for (unsigned i = 0; labels && i < count; i++) {
		int64_t number = 0;
		const char *label = posixtrace_log_label_at(about, field, i, &number);
		PyObject *key = label ? log_text(label, strlen(label)) : NULL;
		PyObject *value = key ? PyLong_FromLongLong(number) : NULL;

		if (label && (!value || PyDict_SetItem(labels, key, value) < 0))
			Py_CLEAR(labels);
		Py_XDECREF(key);
		Py_XDECREF(value);
	}
	return labels;
}

static const char *kind_name(uint32_t kind)
{
	static const char *const names[] = { "unsigned", "signed", "hex", "float", "bool", "code", "when", "text",
		"bytes" };

	return kind < sizeof names / sizeof *names ? names[kind] : "unknown";
}

/* Fills in a field, and stores its posixtrace.Field in the tuple of the type. */
static int add_field(struct log_state *state, struct log_type *type, unsigned index)
{
	const struct posixtrace_log_field *f = posixtrace_log_field_at(type->about, index);
	struct log_field *to = &type->field[index];
	PyObject *name, *labels = NULL, *unit = NULL, *number = NULL, *field = NULL;
	int result = -1;

	to->kind = f->kind;
	to->size = f->size;
	to->array = f->array;
	name = log_text(f->name, strlen(f->name));
	if (!name)
		return -1;
	PyUnicode_InternInPlace(&name);
	if (f->labels && (to->labels = PyDict_New()) == NULL)
		goto out;
	labels = labels_of(type->about, index, f->labels);
	unit = log_text(f->unit, strlen(f->unit));
	number = PyLong_FromUnsignedLong(index);
	if (!labels || !unit || !number)
		goto out;
	field = PyObject_CallFunction(state->make_field, "OOsIOIOO", name, unit, kind_name(f->kind), f->size,
	                              f->array ? Py_True : Py_False, f->count, labels, f->bits ? Py_True : Py_False);
	if (!field || PyDict_SetItem(type->indexes, name, number) < 0)
		goto out;
	PyTuple_SET_ITEM(type->fields, (Py_ssize_t)index, field);
	field = NULL;
	result = 0;
out:
	Py_DECREF(name);
	Py_XDECREF(labels);
	Py_XDECREF(unit);
	Py_XDECREF(number);
	Py_XDECREF(field);
	return result;
}

/* Returns a str, or None for "" and null. */
static PyObject *text_or_none(const char *text)
{
	if (text && *text)
		return log_text(text, strlen(text));
	Py_INCREF(Py_None);
	return Py_None;
}

/* Returns the name of a field; None for -1. */
static PyObject *field_name(const struct log_type *type, int32_t field)
{
	return text_or_none(field < 0 ? NULL : posixtrace_log_field_at(type->about, (unsigned)field)->name);
}

/* Returns a tuple of the names of the fields that are counters. */
static PyObject *counters_of(const struct log_type *type)
{
	PyObject *names = PyList_New(0), *tuple;

	for (unsigned i = 0; names && i < type->count; i++) {
		PyObject *name;

		if (!posixtrace_log_field_at(type->about, i)->counter)
			continue;
		name = field_name(type, (int32_t)i);
		if (!name || PyList_Append(names, name) < 0)
			Py_CLEAR(names);
		Py_XDECREF(name);
	}
	tuple = names ? PyList_AsTuple(names) : NULL;
	Py_XDECREF(names);
	return tuple;
}

/* Fills in what events of the type mean. Returns -1 and an exception if that failed. */
static int add_meaning(struct log_type *type)
{
	const struct posixtrace_log_meaning *m = posixtrace_log_meaning_of(type->about);
	PyObject *meaning;

	type->level_field = m->level_field;
	type->took = m->took;
	if (m->took >= 0) {
		const char *unit = posixtrace_log_field_at(type->about, (unsigned)m->took)->unit;

		type->took_unit = strcmp(unit, "s") == 0 ? 1000000000 : strcmp(unit, "ms") == 0 ? 1000000 :
		                  strcmp(unit, "us") == 0 ? 1000 : 1;
	}
	type->named = m->named != 0;
	Py_XSETREF(type->level, text_or_none(posixtrace_log_level_name(m->level)));
	if (!type->level)
		return -1;
	meaning = PyObject_CallFunction(type->make_meaning, "NNNNNNNNNO", text_or_none(m->begin),
	                                      text_or_none(m->end), text_or_none(m->span), field_name(type, m->took),
	                                      field_name(type, m->by), counters_of(type), field_name(type, m->send),
	                                      field_name(type, m->receive), field_name(type, m->level_field),
	                                      type->level);
	if (!meaning)
		return -1;
	Py_XSETREF(type->meaning, meaning);
	return 0;
}

/* A type that has come since may make a span with this one. While another thread reads, nothing is looked at. */
static PyObject *type_meaning(PyObject *self, void *closure)
{
	struct log_type *type = (struct log_type *)self;

	if (type->about && type->busy && !*type->busy &&
	    (posixtrace_log_meaning_of(type->about)->named != 0 || type->named) && add_meaning(type) < 0)
		return NULL;
	Py_INCREF(type->meaning);
	return type->meaning;
}

struct log_type *log_type_new(struct log_state *state, const struct posixtrace_log_type *about)
{
	struct log_type *type = (struct log_type *)state->type_type->tp_alloc(state->type_type, 0);

	if (!type)
		return NULL;
	type->about = about;
	type->index = about->index;
	type->system = about->system != 0;
	type->name = log_text(about->name, strlen(about->name));
	type->layout = log_text(about->layout, strlen(about->layout));
	type->wrong = about->wrong ? log_text(about->wrong, strlen(about->wrong)) : (Py_INCREF(Py_None), Py_None);
	type->fields = PyTuple_New((Py_ssize_t)about->fields);
	type->indexes = PyDict_New();
	type->field = PyMem_Calloc(about->fields ? about->fields : 1, sizeof *type->field);
	if (!type->field)
		PyErr_NoMemory();
	if (!type->name || !type->layout || !type->wrong || !type->fields || !type->indexes || !type->field)
		goto failed;
	type->count = about->fields;
	for (unsigned i = 0; i < about->fields; i++)
		if (add_field(state, type, i) < 0)
			goto failed;
	Py_INCREF(state->make_meaning);
	type->make_meaning = state->make_meaning;
	if (add_meaning(type) < 0)
		goto failed;
	return type;
failed:
	Py_DECREF(type);
	return NULL;
}

static void type_dealloc(PyObject *self)
{
	struct log_type *type = (struct log_type *)self;
	PyTypeObject *class = Py_TYPE(self);

	for (unsigned i = 0; i < type->count; i++)
		Py_XDECREF(type->field[i].labels);
	PyMem_Free(type->field);
	Py_XDECREF(type->name);
	Py_XDECREF(type->layout);
	Py_XDECREF(type->wrong);
	Py_XDECREF(type->fields);
	Py_XDECREF(type->indexes);
	Py_XDECREF(type->meaning);
	Py_XDECREF(type->make_meaning);
	Py_XDECREF(type->level);
	class->tp_free(self);
	Py_DECREF(class);
}

static PyObject *type_repr(PyObject *self)
{
	struct log_type *type = (struct log_type *)self;

	return PyUnicode_FromFormat("<posixtrace.LogType %U%s%U>", type->name,
	                            PyUnicode_GET_LENGTH(type->layout) ? " " : "", type->layout);
}

static PyMemberDef type_members[] = {
	{ "name", T_OBJECT_EX, offsetof(struct log_type, name), READONLY, "the name of the events" },
	{ "layout", T_OBJECT_EX, offsetof(struct log_type, layout), READONLY, "as declared; '' if there is none" },
	{ "wrong", T_OBJECT_EX, offsetof(struct log_type, wrong), READONLY, "what is wrong with the layout, or None" },
	{ "fields", T_OBJECT_EX, offsetof(struct log_type, fields), READONLY, "a tuple of Field" },
	{ "index", T_UINT, offsetof(struct log_type, index), READONLY, "in Log.types" },
	{ "system", T_BOOL, offsetof(struct log_type, system), READONLY, "whether it is about the recording itself" },
	{ NULL, 0, 0, 0, NULL },
};

static PyGetSetDef type_getset[] = {
	{ "meaning", type_meaning, NULL, "what the layout and the names say of the events: a Meaning", NULL },
	{ NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot type_slots[] = {
	{ Py_tp_doc, "An event type of a log." },
	{ Py_tp_dealloc, type_dealloc },
	{ Py_tp_repr, type_repr },
	{ Py_tp_members, type_members },
	{ Py_tp_getset, type_getset },
	{ 0, NULL },
};

/* Without these flags a program could make an object that has no type or reader behind it. */
#if PY_VERSION_HEX >= 0x030A0000
#define NOT_MADE Py_TPFLAGS_DISALLOW_INSTANTIATION
#else
#define NOT_MADE 0
#endif

static PyType_Spec type_spec = {
	.name = "posixtrace.LogType",
	.basicsize = sizeof(struct log_type),
	.flags = Py_TPFLAGS_DEFAULT | NOT_MADE,
	.slots = type_slots,
};

/* -- Values ------------------------------------------------------------------------------------------- */

/* Returns the label of a number, or the number if it has none. Takes over the number. */
static PyObject *label_of(const struct posixtrace_log_event *event, unsigned index, size_t item,
                          struct log_field *f, PyObject *number)
{
	PyObject *found = PyDict_GetItemWithError(f->labels, number);
	char *text;

	if (found || PyErr_Occurred()) {
		Py_XINCREF(found);
		Py_DECREF(number);
		return found;
	}
	text = PyMem_Malloc(LABEL_MAX);
	if (!text) {
		Py_DECREF(number);
		return PyErr_NoMemory();
	}
	if (posixtrace_log_get_label(event, index, item, text, LABEL_MAX) == 0) {
		found = log_text(text, strlen(text));
	} else {
		found = number;
		Py_INCREF(found);
	}
	PyMem_Free(text);
	if (PyDict_GET_SIZE(f->labels) >= LABELS_MAX)
		PyDict_Clear(f->labels);
	if (found && PyDict_SetItem(f->labels, number, found) < 0)
		Py_CLEAR(found);
	Py_DECREF(number);
	return found;
}

/* Returns an item that is a number. *lacks: the event does not have it, which is no exception. */
static PyObject *number_of(const struct posixtrace_log_event *event, unsigned index, size_t item,
                           struct log_field *f, bool *lacks)
{
	PyObject *number;
	uint64_t value;
	int64_t less;
	double real;

	switch (f->kind) {
	case POSIXTRACE_LOG_FLOAT:
		*lacks = posixtrace_log_get_double(event, index, item, &real) != 0;
		return *lacks ? NULL : PyFloat_FromDouble(real);
	case POSIXTRACE_LOG_SIGNED:
		*lacks = posixtrace_log_get_signed(event, index, item, &less) != 0;
		number = *lacks ? NULL : PyLong_FromLongLong(less);
		break;
	default:
		*lacks = posixtrace_log_get_unsigned(event, index, item, &value) != 0;
		if (!*lacks && f->kind == POSIXTRACE_LOG_BOOL)
			return PyBool_FromLong(value != 0);
		number = *lacks ? NULL : PyLong_FromUnsignedLongLong(value);
	}
	return number && f->labels ? label_of(event, index, item, f, number) : number;
}

static PyObject *list_of(const struct posixtrace_log_event *event, unsigned index, struct log_field *f, bool *lacks)
{
	PyObject *list;
	size_t count;

	*lacks = posixtrace_log_get_count(event, index, &count) != 0;
	list = *lacks ? NULL : PyList_New((Py_ssize_t)count);
	for (size_t i = 0; list && i < count; i++) {
		PyObject *item = number_of(event, index, i, f, lacks);

		if (!item) {
			Py_CLEAR(list);
			break;
		}
		PyList_SET_ITEM(list, (Py_ssize_t)i, item);
	}
	return list;
}

static PyObject *value_of(const struct posixtrace_log_event *event, unsigned index, struct log_field *f, bool *lacks)
{
	const unsigned char *bytes;
	const char *text;
	size_t length;

	switch (f->kind) {
	case POSIXTRACE_LOG_TEXT:
		*lacks = posixtrace_log_get_text(event, index, &text, &length) != 0;
		return *lacks ? NULL : log_text(text, length);
	case POSIXTRACE_LOG_BYTES:
		*lacks = posixtrace_log_get_bytes(event, index, &bytes, &length) != 0;
		return *lacks ? NULL : PyBytes_FromStringAndSize((const char *)bytes, (Py_ssize_t)length);
	default:
		return f->array ? list_of(event, index, f, lacks) : number_of(event, index, 0, f, lacks);
	}
}

/* Returns the bytes that belong to no field. */
static PyObject *rest_of(struct log_state *state, const struct posixtrace_log_event *event, unsigned fields)
{
	const unsigned char *bytes;
	size_t length;

	/* Nearly always the last field ends the data. */
	if (event->length == 0 ||
	    (fields && posixtrace_log_get_bytes(event, fields - 1, &bytes, &length) == 0 &&
	     bytes + length == event->data + event->length) ||
	    posixtrace_log_get_rest(event, &bytes, &length) != 0) {
		Py_INCREF(state->empty_bytes);
		return state->empty_bytes;
	}
	return PyBytes_FromStringAndSize((const char *)bytes, (Py_ssize_t)length);
}

/* -- Events -------------------------------------------------------------------------------------------- */

PyObject *log_event_new(struct log_state *state, struct log_type *type, const struct posixtrace_log_event *event,
                        PyObject *thread, PyObject *process)
{
	struct log_event *e = PyObject_NewVar(struct log_event, state->event_type, (Py_ssize_t)type->count);
	unsigned count = 0;

	if (!e)
		return NULL;
	Py_INCREF(type);
	Py_INCREF(thread);
	Py_INCREF(process);
	e->time = event->time;
	e->relative = event->relative;
	e->address = event->address;
	e->pthread = event->pthread;
	e->type = type;
	e->thread = thread;
	e->process = process;
	e->rest = NULL;
	e->pid = event->pid;
	e->tid = event->tid;
	e->length = event->length;
	e->source = event->source;
	e->truncated = event->truncated != 0;
	for (; count < type->count; count++) {
		bool lacks = false;

		e->value[count] = value_of(event, count, &type->field[count], &lacks);
		if (!e->value[count]) {
			Py_SET_SIZE(e, (Py_ssize_t)count);
			if (!lacks || PyErr_Occurred()) {
				Py_DECREF(e);
				return NULL;
			}
			break;
		}
	}
	e->rest = rest_of(state, event, count);
	if (!e->rest) {
		Py_DECREF(e);
		return NULL;
	}
	return (PyObject *)e;
}

static void event_dealloc(PyObject *self)
{
	struct log_event *e = (struct log_event *)self;
	PyTypeObject *class = Py_TYPE(self);

	for (Py_ssize_t i = 0; i < Py_SIZE(e); i++)
		Py_DECREF(e->value[i]);
	Py_DECREF(e->type);
	Py_DECREF(e->thread);
	Py_DECREF(e->process);
	Py_XDECREF(e->rest);
	PyObject_Free(self);
	Py_DECREF(class);
}

/*
 * Returns the value of a field, borrowed. Returns null without an exception if the event lacks the field; *known is
 * whether its type has the field.
 */
static PyObject *find(struct log_event *e, PyObject *name, bool *known)
{
	PyObject *number = PyDict_GetItemWithError(e->type->indexes, name);
	Py_ssize_t index = number ? PyLong_AsSsize_t(number) : -1;

	*known = number != NULL;
	return number && index < Py_SIZE(e) ? e->value[index] : NULL;
}

static PyObject *event_subscript(PyObject *self, PyObject *name)
{
	struct log_event *e = (struct log_event *)self;
	bool known;
	PyObject *value = find(e, name, &known), *text;

	if (value) {
		Py_INCREF(value);
		return value;
	}
	if (PyErr_Occurred())
		return NULL;
	if (known)
		text = PyUnicode_FromFormat("the event ends before the field %R of %U: use get()", name, e->type->name);
	else
		text = PyUnicode_FromFormat("%U has no field %R", e->type->name, name);
	if (text) {
		PyErr_SetObject(PyExc_KeyError, text);
		Py_DECREF(text);
	}
	return NULL;
}

/* An attribute that does not exist may be meant as a field. */
static PyObject *event_getattro(PyObject *self, PyObject *name)
{
	PyObject *kind, *value, *where, *attribute = PyObject_GenericGetAttr(self, name);
	int known;

	if (attribute || !PyErr_ExceptionMatches(PyExc_AttributeError))
		return attribute;
	PyErr_Fetch(&kind, &value, &where);
	known = PyDict_Contains(((struct log_event *)self)->type->indexes, name);
	if (known == 0) {
		PyErr_Restore(kind, value, where);
		return NULL;
	}
	Py_XDECREF(kind);
	Py_XDECREF(value);
	Py_XDECREF(where);
	return known < 0 ? NULL : PyErr_Format(PyExc_AttributeError, "%R is a field: event[%R]", name, name);
}

static PyObject *event_get(PyObject *self, PyObject *const *arguments, Py_ssize_t count)
{
	bool known;
	PyObject *value;

	if (count < 1 || count > 2)
		return PyErr_Format(PyExc_TypeError, "get() takes a name and a default, and %zd arguments were given",
		                    count);
	value = find((struct log_event *)self, arguments[0], &known);
	if (!value && PyErr_Occurred())
		return NULL;
	value = value ? value : count == 2 ? arguments[1] : Py_None;
	Py_INCREF(value);
	return value;
}

static int event_contains(PyObject *self, PyObject *name)
{
	bool known;

	return find((struct log_event *)self, name, &known) ? 1 : PyErr_Occurred() ? -1 : 0;
}

static PyObject *event_fields(PyObject *self, void *closure)
{
	struct log_event *e = (struct log_event *)self;
	PyObject *fields = PyDict_New(), *key, *number;
	Py_ssize_t at = 0;

	while (fields && PyDict_Next(e->type->indexes, &at, &key, &number)) {
		Py_ssize_t index = PyLong_AsSsize_t(number);

		if (index < Py_SIZE(e) && PyDict_SetItem(fields, key, e->value[index]) < 0)
			Py_CLEAR(fields);
	}
	return fields;
}

static PyObject *event_name(PyObject *self, void *closure)
{
	PyObject *name = ((struct log_event *)self)->type->name;

	Py_INCREF(name);
	return name;
}

/* Returns the word for the level of a log message, or None. */
static PyObject *event_level(PyObject *self, void *closure)
{
	struct log_event *e = (struct log_event *)self;
	PyObject *level = e->type->level, *label = NULL;

	if (e->type->level_field >= 0 && e->type->level_field < Py_SIZE(e))
		label = e->value[e->type->level_field];
	/* A number without a label, or with another one, is no level. */
	for (uint32_t i = POSIXTRACE_LOG_EMERGENCY; label && PyUnicode_Check(label) && i <= POSIXTRACE_LOG_DEBUG; i++)
		if (PyUnicode_CompareWithASCIIString(label, posixtrace_log_level_name(i)) == 0)
			level = label;
	Py_INCREF(level);
	return level;
}

/* Returns how long a whole span took, in ns, or None. */
static PyObject *event_took(PyObject *self, void *closure)
{
	struct log_event *e = (struct log_event *)self;
	PyObject *value = e->type->took >= 0 && e->type->took < Py_SIZE(e) ? e->value[e->type->took] : NULL;
	PyObject *unit, *took, *zero;
	int negative;

	/* A number that has a label is a str. */
	if (!value || !PyLong_Check(value))
		Py_RETURN_NONE;
	zero = PyLong_FromLong(0);
	negative = zero ? PyObject_RichCompareBool(value, zero, Py_LT) : -1;
	if (negative)
		return negative > 0 ? zero : (Py_XDECREF(zero), NULL);
	Py_DECREF(zero);
	unit = PyLong_FromUnsignedLong(e->type->took_unit);
	took = unit ? PyNumber_Multiply(value, unit) : NULL;
	Py_XDECREF(unit);
	return took;
}

static PyObject *event_repr(PyObject *self)
{
	struct log_event *e = (struct log_event *)self;
	PyObject *fields = event_fields(self, NULL), *repr;

	repr = fields ? PyUnicode_FromFormat("<posixtrace.LogEvent %llu %U %R>", e->time, e->type->name, fields) : NULL;
	Py_XDECREF(fields);
	return repr;
}

#define MEMBER(name, type, text) { #name, type, offsetof(struct log_event, name), READONLY, text }

static PyMemberDef event_members[] = {
	MEMBER(time, T_ULONGLONG, "ns since 1970"),
	MEMBER(relative, T_LONGLONG, "ns since the first log was created"),
	MEMBER(type, T_OBJECT_EX, "the LogType"),
	MEMBER(thread, T_OBJECT_EX, "name of the thread at that time; '' if unknown"),
	MEMBER(process, T_OBJECT_EX, "name of the process; '' if unknown"),
	MEMBER(pid, T_UINT, "process id; 0: none"),
	MEMBER(tid, T_UINT, "thread id of the kernel; 0: none"),
	MEMBER(address, T_ULONGLONG, "of the trace point; 0: unknown"),
	MEMBER(pthread, T_ULONGLONG, "pthread_t of the thread; 0: unknown"),
	MEMBER(length, T_UINT, "bytes of the data"),
	MEMBER(truncated, T_BOOL, "whether the data were cut when they were recorded"),
	MEMBER(rest, T_OBJECT_EX, "the bytes that belong to no field"),
	MEMBER(source, T_UINT, "index of the log in Log.about"),
	{ NULL, 0, 0, 0, NULL },
};

static PyGetSetDef event_getset[] = {
	{ "name", event_name, NULL, "the name of the event", NULL },
	{ "fields", event_fields, NULL, "a dict of the fields that the event has", NULL },
	{ "level", event_level, NULL, "the level of a log message, as 'error'; None: it has none", NULL },
	{ "took", event_took, NULL, "ns that a whole span took; None: it is none", NULL },
	{ NULL, NULL, NULL, NULL, NULL },
};

static PyObject *event_itself(PyObject *self, PyObject *nothing)
{
	Py_INCREF(self);
	return self;
}

static PyObject *event_reduce(PyObject *self, PyObject *nothing)
{
	return PyErr_Format(PyExc_TypeError, "a LogEvent cannot be pickled: pickle what is needed of it, such as "
	                    "(event.name, event.time, event.fields)");
}

static PyMethodDef event_methods[] = {
	{ "__copy__", event_itself, METH_NOARGS, NULL },
	{ "__deepcopy__", event_itself, METH_O, NULL },
	{ "__reduce__", event_reduce, METH_NOARGS, NULL },
	{ "get", (PyCFunction)(void (*)(void))event_get, METH_FASTCALL,
	  "get(name, default=None, /)\n--\n\nReturns the value of a field, or the default if the event lacks it." },
	{ NULL, NULL, 0, NULL },
};

static PyType_Slot event_slots[] = {
	{ Py_tp_doc, "An event of a log; event[name] is the value of a field." },
	{ Py_tp_dealloc, event_dealloc },
	{ Py_tp_getattro, event_getattro },
	{ Py_tp_repr, event_repr },
	{ Py_tp_members, event_members },
	{ Py_tp_getset, event_getset },
	{ Py_tp_methods, event_methods },
	{ Py_mp_subscript, event_subscript },
	{ Py_sq_contains, event_contains },
	{ 0, NULL },
};

static PyType_Spec event_spec = {
	.name = "posixtrace.LogEvent",
	.basicsize = sizeof(struct log_event),
	.itemsize = sizeof(PyObject *),
	.flags = Py_TPFLAGS_DEFAULT | NOT_MADE,
	.slots = event_slots,
};

/* Makes a class that programs cannot call, before Python 3.10 too. */
static PyTypeObject *class_add(PyObject *module, PyType_Spec *spec)
{
	PyTypeObject *type = (PyTypeObject *)PyType_FromModuleAndSpec(module, spec, NULL);

	if (type)
		type->tp_new = NULL;
	if (type && PyModule_AddType(module, type) < 0)
		Py_CLEAR(type);
	return type;
}

int log_event_add(PyObject *module, struct log_state *state)
{
	state->empty_text = PyUnicode_FromStringAndSize(NULL, 0);
	state->empty_bytes = PyBytes_FromStringAndSize(NULL, 0);
	state->type_type = class_add(module, &type_spec);
	state->event_type = class_add(module, &event_spec);
	return state->empty_text && state->empty_bytes && state->type_type && state->event_type ? 0 : -1;
}
