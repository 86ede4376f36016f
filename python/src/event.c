/*
 * event.c - posixtrace.Event: declares an event type, and records events of it
 *
 * What is wrong with the declaration, or with the number and names of the arguments, raises an exception whether the
 * program is traced or not. Values are looked at only while it is traced, so they raise none: a value that does not fit
 * is recorded as near as possible, and counted.
 *
 * SPDX-License-Identifier: MIT
 */
#include "extension.h"

#include <math.h>
#include <string.h>

/* One value on its way into the data of an event. */
struct writing {
	struct event *event;
	const struct field *field;
	const char *problem; /* with the first value that did not fit */
	const struct field *problem_field;
	bool interrupted; /* an exception is set that has to be raised: KeyboardInterrupt ... */
};

static void misfit(struct writing *w, const char *problem)
{
	w->event->misfits++;
	if (!w->problem) {
		w->problem = problem;
		w->problem_field = w->field;
	}
}

/* Drops an exception of a value's own methods. KeyboardInterrupt and the like remain. */
static void failed(struct writing *w, const char *problem)
{
	if (PyErr_ExceptionMatches(PyExc_Exception)) {
		PyErr_Clear();
		misfit(w, problem);
	} else {
		w->interrupted = true;
	}
}

/* -- Numbers ---------------------------------------------------------------------------------------- */

static unsigned char *put_number(unsigned char *to, uint64_t value, unsigned size)
{
	uint8_t one = (uint8_t)value;
	uint16_t two = (uint16_t)value;
	uint32_t four = (uint32_t)value;

	switch (size) {
	case 1:
		memcpy(to, &one, 1);
		break;
	case 2:
		memcpy(to, &two, 2);
		break;
	case 4:
		memcpy(to, &four, 4);
		break;
	default:
		memcpy(to, &value, 8);
	}
	return to + size;
}

/* Returns the nearest number that the field can have to `value`, or to one beyond int64_t if overflow is not 0. */
static uint64_t fit(struct writing *w, int64_t value, int overflow)
{
	const struct field *f = w->field;
	unsigned spare = 64 - 8u * f->size;

	if (f->kind == KIND_SIGNED) {
		int64_t most = INT64_MAX >> spare, least = INT64_MIN >> spare;

		if (overflow == 0 && value >= least && value <= most)
			return (uint64_t)value;
		misfit(w, "the number does not fit");
		return (uint64_t)(overflow > 0 || (overflow == 0 && value > most) ? most : least);
	}
	if (overflow == 0 && value >= 0 && (uint64_t)value <= UINT64_MAX >> spare)
		return (uint64_t)value;
	misfit(w, "the number does not fit");
	return overflow < 0 || (overflow == 0 && value < 0) ? 0 : UINT64_MAX >> spare;
}

/* Returns the number of an int, or of an instance of a class below it. */
static uint64_t of_int(struct writing *w, PyObject *value)
{
	int overflow;
	int64_t number = PyLong_AsLongLongAndOverflow(value, &overflow);

	if (overflow > 0 && w->field->size == 8 && w->field->kind != KIND_SIGNED) {
		uint64_t large = PyLong_AsUnsignedLongLong(value);

		if (!PyErr_Occurred())
			return large;
		PyErr_Clear();
	}
	return fit(w, number, overflow);
}

/* Returns the nearest number that the field can have. */
static uint64_t fit_float(struct writing *w, double number)
{
	const double past_signed = 9223372036854775808.0, past_unsigned = 2 * past_signed;
	bool large = w->field->size == 8 && w->field->kind != KIND_SIGNED;

	if (isnan(number))
		return 0;
	if (number < -past_signed)
		return fit(w, 0, -1);
	if (number < past_signed)
		return fit(w, (int64_t)number, 0);
	return large && number < past_unsigned ? (uint64_t)number : fit(w, 0, 1);
}

static uint64_t of_float(struct writing *w, double number)
{
	unsigned long long before = w->event->misfits;
	uint64_t result;

	if (w->field->kind == KIND_TIME && !isnan(number))
		return fit_float(w, nearbyint(number * w->field->scale));
	result = fit_float(w, number);
	if (w->event->misfits == before)
		misfit(w, "a float, where the field is an integer");
	return result;
}

/* Returns the value of a member of a class of enum as a new reference; null without an exception if it is no member. */
static PyObject *of_member(struct writing *w, PyObject *value)
{
	struct state *state = state_of(Py_TYPE(w->event));
	PyObject *of;

	if (!state || !state->enum_type || !PyObject_TypeCheck(value, (PyTypeObject *)state->enum_type))
		return NULL;
	of = PyObject_GetAttrString(value, "_value_");
	if (!of)
		PyErr_Clear();
	return of;
}

/* Returns the number of any value that is no int. */
static uint64_t of_other(struct writing *w, PyObject *value)
{
	PyObject *number;
	uint64_t result = 0;

	if (PyFloat_Check(value))
		return of_float(w, PyFloat_AS_DOUBLE(value));
	if (PyUnicode_Check(value) && w->field->labels) {
		PyObject *label = PyDict_GetItemWithError(w->field->labels, value);

		if (label)
			return of_int(w, label);
		if (PyErr_Occurred())
			failed(w, "not a label");
		else
			misfit(w, "not a label");
		return 0;
	}
	if (!PyIndex_Check(value)) {
		number = of_member(w, value);
		if (number && PyLong_Check(number))
			result = of_int(w, number);
		else
			misfit(w, "not a number");
		Py_XDECREF(number);
		return result;
	}
	number = PyNumber_Index(value);
	if (!number) {
		failed(w, "__index__() has raised an exception");
		return 0;
	}
	result = of_int(w, number);
	Py_DECREF(number);
	return result;
}

/* Returns the number of a value that is no float: -1 and an exception if it is no number. */
static double real_of(struct writing *w, PyObject *value)
{
	const double exact = 9007199254740992.0; /* all integers below are numbers of a double */
	double number = PyLong_CheckExact(value) ? PyLong_AsDouble(value) : PyFloat_AsDouble(value);
	PyObject *kind, *error, *where, *member, *same;

	if (number == -1.0 && PyErr_Occurred()) {
		PyErr_Fetch(&kind, &error, &where);
		member = of_member(w, value);
		PyErr_Restore(kind, error, where);
		if (member) {
			PyErr_Clear();
			number = PyFloat_AsDouble(member);
			Py_DECREF(member);
		}
	} else if (fabs(number) >= exact && PyLong_Check(value)) {
		same = PyFloat_FromDouble(number);
		if (!same || PyObject_RichCompareBool(value, same, Py_EQ) == 0)
			misfit(w, "the number has more digits than the field");
		Py_XDECREF(same);
		PyErr_Clear();
	}
	return number;
}

static unsigned char *put_real(struct writing *w, PyObject *value, unsigned char *to)
{
	double number = PyFloat_CheckExact(value) ? PyFloat_AS_DOUBLE(value) : real_of(w, value);
	float four;

	if (number == -1.0 && PyErr_Occurred()) {
		number = NAN;
		if (PyErr_ExceptionMatches(PyExc_OverflowError) && PyLong_Check(value))
			number = PyObject_RichCompareBool(value, Py_False, Py_LT) > 0 ? -INFINITY : INFINITY;
		failed(w, "not a number");
	}
	if (w->field->size == 8) {
		memcpy(to, &number, 8);
		return to + 8;
	}
	four = (float)number;
	if (isinf(four) && !isinf(number))
		misfit(w, "the number does not fit");
	memcpy(to, &four, 4);
	return to + 4;
}

static unsigned char *put_item(struct writing *w, PyObject *value, unsigned char *to)
{
	int truth;

	switch (w->field->kind) {
	case KIND_FLOAT:
		return put_real(w, value, to);
	case KIND_BOOL:
		truth = PyObject_IsTrue(value);
		if (truth < 0)
			failed(w, "__bool__() has raised an exception");
		*to = truth > 0;
		return to + 1;
	default:
		return put_number(to, PyLong_Check(value) ? of_int(w, value) : of_other(w, value), w->field->size);
	}
}

/* -- Arrays ----------------------------------------------------------------------------------------- */

/* Writes the items of a sequence, which another value's method may change meanwhile. */
static unsigned char *put_items(struct writing *w, PyObject *value, Py_ssize_t count, unsigned char *to)
{
	for (Py_ssize_t i = 0; i < count; i++) {
		PyObject *item = NULL;

		if (PyList_CheckExact(value) && i < PyList_GET_SIZE(value)) {
			item = PyList_GET_ITEM(value, i);
			Py_INCREF(item);
		} else if (PyTuple_CheckExact(value)) {
			item = PyTuple_GET_ITEM(value, i);
			Py_INCREF(item);
		} else if (!w->interrupted) {
			item = PySequence_GetItem(value, i);
			if (!item)
				failed(w, "an item cannot be read");
		}
		if (item && !w->interrupted) {
			to = put_item(w, item, to);
		} else {
			memset(to, 0, w->field->size);
			to += w->field->size;
		}
		Py_XDECREF(item);
	}
	return to;
}

static unsigned char *put_array(struct writing *w, PyObject *value, unsigned char *to)
{
	const struct field *f = w->field;
	Py_ssize_t count = 0, all;

	/* Nothing is iterated over: that would use up an iterator of the program. */
	if (PySequence_Check(value) && !PyUnicode_Check(value)) {
		count = PySequence_Size(value);
		if (count < 0) {
			failed(w, "__len__() has raised an exception");
			count = 0;
		}
	} else {
		misfit(w, "not a sequence");
	}
	all = count;
	if (count > f->most)
		count = f->most;
	if (all > count || (f->many == MANY_FIXED && all < f->most))
		misfit(w, "another number of items");
	if (f->many == MANY_COUNTED)
		to = put_number(to, (uint64_t)count, 2);
	to = put_items(w, value, count, to);
	if (f->many == MANY_FIXED) {
		memset(to, 0, (size_t)(f->most - count) * f->size);
		to += (size_t)(f->most - count) * f->size;
	}
	return to;
}

/* -- Texts and bytes -------------------------------------------------------------------------------- */

/* Writes one character. Returns the end; what is half of a pair is written as Python does, \udc80. */
static unsigned char *put_character(unsigned char *to, Py_UCS4 c)
{
	if (c < 0x80) {
		*to++ = (unsigned char)c;
	} else if (c < 0x800) {
		*to++ = (unsigned char)(0xc0 | c >> 6);
		*to++ = (unsigned char)(0x80 | (c & 0x3f));
	} else if (c >= 0xd800 && c < 0xe000) {
		static const char digits[] = "0123456789abcdef";

		*to++ = '\\';
		*to++ = 'u';
		for (int shift = 12; shift >= 0; shift -= 4)
			*to++ = (unsigned char)digits[c >> shift & 0xf];
	} else if (c < 0x10000) {
		*to++ = (unsigned char)(0xe0 | c >> 12);
		*to++ = (unsigned char)(0x80 | (c >> 6 & 0x3f));
		*to++ = (unsigned char)(0x80 | (c & 0x3f));
	} else {
		*to++ = (unsigned char)(0xf0 | c >> 18);
		*to++ = (unsigned char)(0x80 | (c >> 12 & 0x3f));
		*to++ = (unsigned char)(0x80 | (c >> 6 & 0x3f));
		*to++ = (unsigned char)(0x80 | (c & 0x3f));
	}
	return to;
}

/* Writes at most the field's bytes of a text, without a null. Returns the end. */
static unsigned char *put_bytes(struct writing *w, const char *text, size_t size, unsigned char *to)
{
	size_t most = w->field->most, seen = size <= most ? size : most + 1;
	const char *null = memchr(text, 0, seen);

	if (null) {
		misfit(w, "a null in a text, which ends there");
		size = (size_t)(null - text);
	}
	return posixtrace__bytes(to, text, size, most) - 1;
}

/*
 * Writes a text that is not ASCII. PyUnicode_AsUTF8AndSize() would keep its result with the program's string for as
 * long as that lives.
 */
static unsigned char *put_characters(struct writing *w, PyObject *value, unsigned char *to)
{
	int kind = PyUnicode_KIND(value);
	const void *characters = PyUnicode_DATA(value);
	Py_ssize_t length = PyUnicode_GET_LENGTH(value);
	unsigned char *begin = to;
	size_t most = w->field->most;

	for (Py_ssize_t i = 0; i < length; i++) {
		Py_UCS4 c = PyUnicode_READ(kind, characters, i);
		unsigned char encoded[8], *end = put_character(encoded, c);

		if (c == 0) {
			misfit(w, "a null in a text, which ends there");
			break;
		}
		if ((size_t)(to - begin) + (size_t)(end - encoded) > most) {
			/* Fills the rest with a part of the character, which the ellipsis replaces. */
			size_t rest = most - (size_t)(to - begin);

			memcpy(to, encoded, rest);
			return begin + posixtrace__ellipsis(begin, most);
		}
		memcpy(to, encoded, (size_t)(end - encoded));
		to += end - encoded;
	}
	return to;
}

static unsigned char *put_str(struct writing *w, PyObject *value, unsigned char *to)
{
#if PY_VERSION_HEX < 0x030C0000
	if (PyUnicode_READY(value) < 0) {
		failed(w, "not a text");
		return to;
	}
#endif
	if (PyUnicode_IS_COMPACT_ASCII(value))
		return put_bytes(w, (const char *)PyUnicode_1BYTE_DATA(value), (size_t)PyUnicode_GET_LENGTH(value), to);
	return put_characters(w, value, to);
}

static unsigned char *put_text(struct writing *w, PyObject *value, unsigned char *to)
{
	unsigned char *begin = to;
	PyObject *text;

	if (PyUnicode_Check(value)) {
		to = put_str(w, value, to);
	} else if (PyBytes_Check(value)) {
		to = put_bytes(w, PyBytes_AS_STRING(value), (size_t)PyBytes_GET_SIZE(value), to);
	} else {
		text = PyObject_Str(value);
		if (text)
			to = put_str(w, text, to);
		else
			failed(w, "__str__() has raised an exception");
		Py_XDECREF(text);
	}
	if (w->field->kind == KIND_STRING)
		*to++ = 0;
	if (w->field->kind == KIND_CHARS) {
		memset(to, 0, w->field->most - (size_t)(to - begin));
		to = begin + w->field->most;
	}
	return to;
}

/* Writes bytes of bytes, bytearray, memoryview and the like. */
static unsigned char *put_buffer(struct writing *w, PyObject *value, unsigned char *to)
{
	const struct field *f = w->field;
	Py_buffer buffer = { .buf = NULL };
	const char *data = "";
	size_t size = 0, all;

	if (PyBytes_Check(value)) {
		data = PyBytes_AS_STRING(value);
		size = (size_t)PyBytes_GET_SIZE(value);
	} else if (PyObject_GetBuffer(value, &buffer, PyBUF_SIMPLE) == 0) {
		data = buffer.buf;
		size = (size_t)buffer.len;
	} else {
		failed(w, "not bytes");
	}
	all = size;
	if (size > f->most)
		size = f->most;
	if (all > size || (f->many == MANY_FIXED && all < f->most))
		misfit(w, "another number of bytes");
	if (f->many == MANY_COUNTED)
		to = put_number(to, size, 2);
	memcpy(to, data, size);
	to += size;
	if (buffer.buf || buffer.obj)
		PyBuffer_Release(&buffer);
	if (f->many == MANY_FIXED) {
		memset(to, 0, f->most - size);
		to += f->most - size;
	}
	return to;
}

/* -- Events ----------------------------------------------------------------------------------------- */

bool event_tell(struct state *state, struct event *of, PyObject *message)
{
	struct event *about = state ? state->problem : NULL;
	PyObject *developing = PySys_GetObject("flags"), *flag;
	unsigned char data[STACK_MAX];
	bool warned = true;

	if (!message) {
		PyErr_Clear();
		return true;
	}
	if (about && about->most <= sizeof data && about != of) {
		PyObject *values[] = { message };
		Py_ssize_t size = event_data(state, about, values, NULL, data);

		if (size >= 0)
			event_record(about, data, (size_t)size);
	}
	flag = developing ? PyObject_GetAttrString(developing, "dev_mode") : NULL;
	if (!flag)
		PyErr_Clear();
	else if (flag == Py_True)
		warned = PyErr_WarnFormat(PyExc_RuntimeWarning, 1, "posixtrace: %U", message) == 0;
	Py_XDECREF(flag);
	Py_DECREF(message);
	return warned;
}

/* Tells of the first value of an event type that did not fit. */
static bool tell_problem(struct state *state, struct writing *w)
{
	if (w->event->told)
		return true;
	w->event->told = true;
	return event_tell(state, w->event,
	                  PyUnicode_FromFormat("%U, field %U: %s", w->event->name, w->problem_field->name, w->problem));
}

/* Tells once that the process has no room for the name of an event type. Returns false with an exception. */
static __attribute__((noinline, cold)) bool tell_unnamed(struct state *state, struct event *e)
{
	if (!state || state->told_unnamed)
		return true;
	state->told_unnamed = true;
	return event_tell(state, e,
	                  PyUnicode_FromFormat("%U: no room for the name: a process has %d event types with names, and "
	                                       "what varies belongs in a field", e->name, TRACE_USER_EVENT_MAX));
}

Py_ssize_t event_data(struct state *state, struct event *e, PyObject *const *values, const uint8_t *place,
                      unsigned char *to)
{
	struct writing w = { .event = e };
	unsigned char *begin = to;

	for (unsigned i = 0; i < e->count && !w.interrupted; i++) {
		PyObject *value = values[place ? place[i] : i];

		w.field = &e->field[i];
		if (w.field->kind == KIND_BYTES)
			to = put_buffer(&w, value, to);
		else if (w.field->kind >= KIND_STRING)
			to = put_text(&w, value, to);
		else if (w.field->many == MANY_ONE)
			to = put_item(&w, value, to);
		else
			to = put_array(&w, value, to);
	}
	if (w.interrupted || (w.problem && !tell_problem(state, &w)))
		return -1;
	return to - begin;
}

/* Records an event whose data may be longer than what is made on the stack. */
static __attribute__((noinline)) bool record_long(struct state *state, struct event *e, PyObject *const *values,
                                                  const uint8_t *place)
{
	unsigned char *data = PyMem_RawMalloc(e->most);
	Py_ssize_t size;

	if (!data) {
		e->misfits++;
		return true;
	}
	size = event_data(state, e, values, place, data);
	if (size >= 0)
		event_record(e, data, (size_t)size);
	PyMem_RawFree(data);
	return size >= 0;
}

static __attribute__((noinline)) bool record(struct event *e, PyObject *const *values, const uint8_t *place)
{
	struct state *state;
	unsigned char data[STACK_MAX];
	Py_ssize_t size;

	if (!event_enabled(e))
		return true;
	state = state_of(Py_TYPE(e));
	if (__builtin_expect(e->type.__id == POSIX_TRACE_UNNAMED_USEREVENT, 0) && !tell_unnamed(state, e))
		return false;
	if (e->most > sizeof data)
		return record_long(state, e, values, place);
	size = event_data(state, e, values, place, data);
	if (size >= 0)
		event_record(e, data, (size_t)size);
	return size >= 0;
}

static void *wrong_arguments(struct event *e, Py_ssize_t given)
{
	PyErr_Format(PyExc_TypeError, "%U has %u field%s, and %zd value%s given", e->name, e->count,
	             e->count == 1 ? "" : "s", given, given == 1 ? " was" : "s were");
	return NULL;
}

/* Finds the places of keyword arguments, and remembers them for the next call. Returns false with an exception. */
static bool find_keywords(struct event *e, Py_ssize_t given, PyObject *names)
{
	Py_ssize_t keywords = PyTuple_GET_SIZE(names), positional = given - keywords;
	uint8_t place[FIELDS_MAX];

	if (given != e->count)
		return wrong_arguments(e, given);
	for (unsigned i = 0; i < e->count; i++)
		place[i] = i < positional ? (uint8_t)i : UINT8_MAX;
	for (Py_ssize_t k = 0; k < keywords; k++) {
		PyObject *name = PyTuple_GET_ITEM(names, k);
		unsigned i = 0;

		while (i < e->count && e->field[i].name != name && PyUnicode_Compare(e->field[i].name, name) != 0)
			i++;
		if (i == e->count) {
			PyErr_Format(PyExc_TypeError, "%U has no field %R", e->name, name);
			return false;
		}
		if (place[i] != UINT8_MAX) {
			PyErr_Format(PyExc_TypeError, "%U: two values for the field %R", e->name, name);
			return false;
		}
		place[i] = (uint8_t)(positional + k);
	}
	Py_INCREF(names);
	Py_XSETREF(e->keywords, names);
	memcpy(e->place, place, sizeof place);
	return true;
}

const uint8_t *event_arguments(struct event *e, Py_ssize_t given, PyObject *names, bool *wrong)
{
	*wrong = false;
	if (!names || PyTuple_GET_SIZE(names) == 0) {
		*wrong = given != e->count;
		return *wrong ? wrong_arguments(e, given) : NULL;
	}
	/* Each place of the program that calls has its own tuple, and all arguments of the same kinds: one is kept. */
	if ((names != e->keywords || given != e->count) && !find_keywords(e, given, names)) {
		*wrong = true;
		return NULL;
	}
	return e->place;
}

static PyObject *event_call(PyObject *self, PyObject *const *values, size_t flags, PyObject *names)
{
	struct event *e = (struct event *)self;
	Py_ssize_t given = PyVectorcall_NARGS(flags);
	const uint8_t *place = NULL;
	uint8_t places[FIELDS_MAX];
	bool wrong;

	if (names || given != e->count) {
		place = event_arguments(e, given + (names ? PyTuple_GET_SIZE(names) : 0), names, &wrong);
		if (wrong)
			return NULL;
	}
	if (POSIXTRACE_ENABLED()) {
		/* A method of a value may call the event with other keywords. */
		if (place)
			place = memcpy(places, place, sizeof places);
		if (!record(e, values, place))
			return NULL;
	}
	Py_RETURN_NONE;
}

/* -- Declaring -------------------------------------------------------------------------------------- */

/* Copies a field from what _layout.py has made of it. Returns false with an exception. */
static bool take_field(struct event *e, PyObject *name, PyObject *plan)
{
	struct field *f = &e->field[e->count];
	int kind, size, many, most;
	PyObject *labels;

	if (plan == Py_None || !PyTuple_Check(plan) || PyTuple_GET_ITEM(plan, 0) == Py_None) {
		PyErr_Format(PyExc_ValueError, "%U: the field %U has a type that is not supported", e->name, name);
		return false;
	}
	if (!PyArg_ParseTuple(plan, "iiiidO", &kind, &size, &many, &most, &f->scale, &labels))
		return false;
	f->kind = (uint8_t)kind;
	f->size = (uint8_t)size;
	f->many = (uint8_t)many;
	f->most = (uint16_t)most;
	Py_INCREF(name);
	PyUnicode_InternInPlace(&name);
	f->name = name;
	if (labels != Py_None) {
		Py_INCREF(labels);
		f->labels = labels;
	}
	e->count++;
	/* A text has one byte more for the null, which posixtrace__bytes() always writes. */
	e->most += (many == MANY_COUNTED ? 2u : 0u) + (size_t)size * (size_t)most + (kind >= KIND_STRING ? 1 : 0);
	return true;
}

/* Raises ValueError for a layout that the library refuses. */
static bool check_layout(PyObject *name, PyObject *layout)
{
	const char *text = PyUnicode_AsUTF8(layout), *why;
	size_t offset = 0, length = 0;
	PyObject *part;

	if (!text)
		return false;
	if (strlen(text) != (size_t)PyUnicode_GET_LENGTH(layout) && PyUnicode_IS_COMPACT_ASCII(layout)) {
		PyErr_Format(PyExc_ValueError, "%U: a null in a field", name);
		return false;
	}
	why = posixtrace_layout_wrong(text, &offset, &length);
	if (!why)
		return true;
	part = PyUnicode_DecodeUTF8(text + offset, (Py_ssize_t)length, "replace");
	if (part)
		PyErr_Format(PyExc_ValueError, "%U: '%U' %s", name, part, why);
	Py_XDECREF(part);
	return false;
}

static bool check_name(PyObject *name)
{
	const char *text, *brace;
	Py_ssize_t length;

	if (!PyUnicode_Check(name)) {
		PyErr_Format(PyExc_TypeError, "the name of an event is a str, not %.200s", Py_TYPE(name)->tp_name);
		return false;
	}
	text = PyUnicode_AsUTF8AndSize(name, &length);
	if (!text)
		return false;
	if (length < 1 || length > TRACE_EVENT_NAME_MAX || strlen(text) != (size_t)length) {
		PyErr_Format(PyExc_ValueError, "%R is not a name of an event: 1 to %d bytes of UTF-8", name,
		             TRACE_EVENT_NAME_MAX);
		return false;
	}
	brace = strrchr(text, '{');
	if (brace && brace > text && !posixtrace_layout_wrong(brace, NULL, NULL)) {
		PyErr_Format(PyExc_ValueError, "%R: a name has no fields; declare them as Event(name, field=type)",
		             name);
		return false;
	}
	if (strncmp(text, "posix_trace_", strlen("posix_trace_")) == 0) {
		PyErr_Format(PyExc_ValueError, "%R is the name of an event of the system", name);
		return false;
	}
	return true;
}

/* Gives the event its fields. Returns false with an exception. */
static bool take_fields(struct state *state, struct event *e, const char *attributes, PyObject *fields)
{
	PyObject *result = PyObject_CallFunction(state->compile_fields, "Os", fields, attributes), *plans, *name, *type;
	Py_ssize_t position = 0;
	bool done = false;

	if (!result || !PyArg_ParseTuple(result, "OO!", &e->layout, &PyList_Type, &plans))
		goto end;
	Py_INCREF(e->layout);
	if (e->layout == Py_None) {
		done = true;
		goto end;
	}
	if (!check_layout(e->name, e->layout))
		goto end;
	if (PyList_GET_SIZE(plans) != PyDict_GET_SIZE(fields) || PyDict_GET_SIZE(fields) > FIELDS_MAX) {
		PyErr_Format(PyExc_ValueError, "%U: an event has at most 32 fields", e->name);
		goto end;
	}
	for (Py_ssize_t i = 0; PyDict_Next(fields, &position, &name, &type); i++)
		if (!take_field(e, name, PyList_GET_ITEM(plans, i)))
			goto end;
	if (e->most > DATA_MAX) {
		PyErr_Format(PyExc_ValueError, "%U: its fields have up to %zu bytes, and an event at most %d", e->name,
		             e->most, DATA_MAX);
		goto end;
	}
	e->type.__layout = PyUnicode_AsUTF8(e->layout);
	done = e->type.__layout != NULL;
end:
	Py_XDECREF(result);
	return done;
}

/*
 * Notes that the event has this name and this layout, in state->declared: a list of the layout and of how many events
 * there are. Raises ValueError if the name has another layout: what is recorded would be read by the first one.
 */
static bool claim(struct state *state, struct event *e)
{
	PyObject *known = PyDict_GetItemWithError(state->declared, e->name), *count;
	int same;

	if (!known) {
		known = PyErr_Occurred() ? NULL : Py_BuildValue("[Oi]", e->layout, 1);
		e->claimed = known && PyDict_SetItem(state->declared, e->name, known) == 0;
		Py_XDECREF(known);
		return e->claimed;
	}
	same = PyObject_RichCompareBool(PyList_GET_ITEM(known, 0), e->layout, Py_EQ);
	if (same == 0)
		PyErr_Format(PyExc_ValueError, "%U: this process has declared the name with other fields, %S; choose "
		             "another name", e->name, PyList_GET_ITEM(known, 0));
	count = same > 0 ? PyLong_FromSsize_t(PyLong_AsSsize_t(PyList_GET_ITEM(known, 1)) + 1) : NULL;
	e->claimed = count && PyList_SetItem(known, 1, count) == 0;
	return e->claimed;
}

void event_release(struct state *state, struct event *e)
{
	PyObject *known;
	Py_ssize_t count;

	/* What was recorded under the name has this layout for as long as the process runs. */
	if (!e->claimed || !state || !state->declared ||
	    (e->type.__id != 0 && e->type.__id != POSIX_TRACE_UNNAMED_USEREVENT))
		return;
	e->claimed = false;
	known = PyDict_GetItemWithError(state->declared, e->name);
	count = known ? PyLong_AsSsize_t(PyList_GET_ITEM(known, 1)) - 1 : 0;
	if (count > 0)
		PyList_SetItem(known, 1, PyLong_FromSsize_t(count));
	else if (known)
		PyDict_DelItem(state->declared, e->name);
	PyErr_Clear();
}

struct event *event_make(struct state *state, PyObject *name, const char *attributes, PyObject *fields)
{
	struct event *e;

	if (!check_name(name))
		return NULL;
	e = (struct event *)state->event_type->tp_alloc(state->event_type, 0);
	if (!e)
		return NULL;
	e->vectorcall = event_call;
	e->name = PyUnicode_FromObject(name); /* no object of a class below str */
	e->type.__name = e->name ? PyUnicode_AsUTF8(e->name) : NULL;
	if (!e->type.__name) {
		Py_CLEAR(e);
	} else if (*attributes && (!fields || PyDict_GET_SIZE(fields) == 0)) {
		PyErr_Format(PyExc_ValueError, "%U: an event with attributes has at least one field", name);
		Py_CLEAR(e);
	} else if (!fields || PyDict_GET_SIZE(fields) == 0) {
		Py_INCREF(Py_None);
		e->layout = Py_None;
	} else if (!take_fields(state, e, attributes, fields)) {
		Py_CLEAR(e);
	}
	if (e && !claim(state, e))
		Py_CLEAR(e);
	/* The event that tells of too many names needs one itself. */
	if (e && state->problem && ++state->made > EVENTS_MANY)
		event_enabled(state->problem);
	return e;
}

struct event *event_make_free(struct state *state, PyObject *name, const char *attributes, PyObject *fields)
{
	PyObject *found, *before = NULL, *kind, *value, *where;
	struct event *e = NULL;

	if (!check_name(name))
		return NULL;
	do {
		/* Again if another thread has taken the name meanwhile, but not for another error. */
		PyErr_Fetch(&kind, &value, &where);
		found = PyObject_CallFunction(state->free_name, "OO[(ssO)]", state->declared, name, "", attributes,
		                              fields ? fields : Py_None);
		if (found && before && PyUnicode_Compare(found, before) == 0) {
			PyErr_Restore(kind, value, where);
			Py_DECREF(found);
			break;
		}
		Py_XDECREF(kind);
		Py_XDECREF(value);
		Py_XDECREF(where);
		Py_XSETREF(before, found);
		if (found)
			e = event_make(state, found, attributes, fields);
	} while (found && !e && PyErr_ExceptionMatches(PyExc_ValueError));
	Py_XDECREF(before);
	return e;
}

struct event *event_plain(struct state *state, const char *prefix, const char *name)
{
	PyObject *whole = PyUnicode_FromFormat("%s%s", prefix, name);
	struct event *e = whole ? event_make(state, whole, "", NULL) : NULL;

	Py_XDECREF(whole);
	return e;
}

static PyObject *event_new(PyTypeObject *type, PyObject *arguments, PyObject *fields)
{
	const char *attributes = "";
	PyObject *name;

	if (PyTuple_GET_SIZE(arguments) < 1 || PyTuple_GET_SIZE(arguments) > 2)
		return PyErr_Format(PyExc_TypeError,
		                    "Event(name, field=type, ...), as in Event(\"shop.order\", id=\"u32\", item=str): "
		                    "one or two arguments without a name, the second for attributes, not %zd",
		                    PyTuple_GET_SIZE(arguments));
	if (!PyArg_ParseTuple(arguments, "U|s:Event", &name, &attributes))
		return NULL;
	return (PyObject *)event_make(PyType_GetModuleState(type), name, attributes, fields);
}

static void event_dealloc(PyObject *self)
{
	struct event *e = (struct event *)self;
	PyTypeObject *type = Py_TYPE(self);
	PyObject *kind, *value, *where;

	PyErr_Fetch(&kind, &value, &where);
	event_release(state_of(type), e);
	PyErr_Restore(kind, value, where);
	for (unsigned i = 0; i < e->count; i++) {
		Py_XDECREF(e->field[i].name);
		Py_XDECREF(e->field[i].labels);
	}
	Py_XDECREF(e->name);
	Py_XDECREF(e->layout);
	Py_XDECREF(e->keywords);
	type->tp_free(self);
	Py_DECREF(type);
}

static int event_bool(PyObject *self)
{
	return event_enabled((struct event *)self);
}

static PyObject *event_repr(PyObject *self)
{
	struct event *e = (struct event *)self;

	return e->layout == Py_None ? PyUnicode_FromFormat("<posixtrace.Event %U>", e->name) :
	                              PyUnicode_FromFormat("<posixtrace.Event %U %U>", e->name, e->layout);
}

static PyObject *event_reduce(PyObject *self, PyObject *nothing)
{
	return PyErr_Format(PyExc_TypeError, "an Event cannot be pickled: declare it in each process");
}

static PyObject *event_itself(PyObject *self, PyObject *nothing)
{
	Py_INCREF(self);
	return self;
}

static PyMemberDef event_members[] = {
	{ "__vectorcalloffset__", T_PYSSIZET, offsetof(struct event, vectorcall), READONLY, NULL },
	{ "name", T_OBJECT, offsetof(struct event, name), READONLY, "the name of the event type" },
	{ "layout", T_OBJECT, offsetof(struct event, layout), READONLY, "the layout of the data; None: no data" },
	{ "misfits", T_ULONGLONG, offsetof(struct event, misfits), READONLY, "how many values did not fit" },
	{ NULL, 0, 0, 0, NULL },
};

static PyMethodDef event_methods[] = {
	{ "__reduce__", event_reduce, METH_NOARGS, NULL },
	{ "__copy__", event_itself, METH_NOARGS, NULL },
	{ "__deepcopy__", event_itself, METH_O, NULL },
	{ NULL, NULL, 0, NULL },
};

static PyType_Slot event_slots[] = {
	{ Py_tp_doc, "Event(name, attributes='', /, **fields)\n--\n\n"
	             "An event type. Calling it records an event; it is false while nobody traces this process.\n"
	             "Each field has a type: \"u32\", \"z\", \"u64/ns\", \"u8<idle,busy>\", \"u32[]\", int, str, ..." },
	{ Py_tp_new, event_new },
	{ Py_tp_dealloc, event_dealloc },
	{ Py_tp_call, PyVectorcall_Call },
	{ Py_tp_repr, event_repr },
	{ Py_tp_members, event_members },
	{ Py_tp_methods, event_methods },
	{ Py_nb_bool, event_bool },
	{ 0, NULL },
};

static PyType_Spec event_spec = {
	.name = "posixtrace.Event",
	.basicsize = sizeof(struct event),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
	.slots = event_slots,
};

PyObject *take_from(const char *module, const char *name)
{
	PyObject *from = PyImport_ImportModule(module), *taken = from ? PyObject_GetAttrString(from, name) : NULL;

	Py_XDECREF(from);
	return taken;
}

int event_add(PyObject *module, struct state *state)
{
	PyObject *name, *fields;

	/* Kept, because nothing can be imported while the interpreter ends, and __del__ methods may declare events. */
	state->compile_fields = take_from("posixtrace._layout", "compile_fields");
	state->inferred = state->compile_fields ? take_from("posixtrace._layout", "inferred") : NULL;
	state->free_name = state->inferred ? take_from("posixtrace._layout", "free_name") : NULL;
	state->enum_type = state->free_name ? take_from("enum", "Enum") : NULL;
	if (!state->enum_type || !PyType_Check(state->enum_type))
		return -1;
	state->declared = PyDict_New();
	if (!state->declared)
		return -1;
	state->event_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &event_spec, NULL);
	if (!state->event_type || PyModule_AddType(module, state->event_type) < 0)
		return -1;
	name = PyUnicode_FromString("python.misfit");
	fields = Py_BuildValue("{ss}", "what", "z");
	if (name && fields)
		state->problem = event_make(state, name, "", fields);
	Py_XDECREF(name);
	Py_XDECREF(fields);
	return state->problem ? 0 : -1;
}
