/*
 * extension.h - what the files of the extension _posixtrace share
 *
 * All state is in the module, so each subinterpreter has its own. No function releases the GIL.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EXTENSION_H
#define EXTENSION_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include <errno.h>
#include <posixtrace/typed.h>
#include <stdbool.h>
#include <stdint.h>

#define FIELDS_MAX 32    /* as in a layout; with the counters of arrays */
#define DATA_MAX   65535 /* bytes of the data of an event */
#define STACK_MAX  1024  /* data up to this size are made on the stack */

/* How a value becomes bytes. The numbers are those of posixtrace/_layout.py. */
enum kind {
	KIND_UNSIGNED,
	KIND_SIGNED,
	KIND_FLOAT,
	KIND_BOOL,
	KIND_TIME,   /* an unsigned number; a float is in seconds */
	KIND_STRING, /* text with a null */
	KIND_CHARS,  /* text of a fixed size, filled with nulls */
	KIND_TEXT,   /* text that is the rest of the data */
	KIND_BYTES,  /* fixed size, counted, or the rest of the data */
};

enum many {
	MANY_ONE,
	MANY_FIXED,   /* `most` items, always */
	MANY_COUNTED, /* a counter of two bytes, then up to `most` items */
};

struct field {
	uint8_t kind; /* enum kind */
	uint8_t size; /* bytes of one item */
	uint8_t many; /* enum many */
	uint16_t most; /* items; for text and bytes: bytes */
	double scale; /* units of a time in a second */
	PyObject *name;
	PyObject *labels; /* dict of text to number, or null */
};

/* posixtrace.Event: an event type with its fields. Calling it records an event. */
struct event {
	PyObject_HEAD
	vectorcallfunc vectorcall;
	struct posixtrace_event type; /* with the texts of the next two */
	PyObject *name, *layout; /* layout: None if there are no fields */
	PyObject *keywords; /* the names of keyword arguments in the call before; null: none */
	unsigned count;
	size_t most; /* bytes of the data */
	unsigned long long misfits; /* values that did not fit */
	uint8_t place[FIELDS_MAX]; /* of each of those keyword arguments among the fields */
	struct field field[FIELDS_MAX];
};

struct state {
	PyTypeObject *event_type, *span_type, *open_type, *traced_type;
	PyObject *spans, *counters; /* by name: struct span, struct event */
	PyObject *nothing; /* a struct open of which nothing is recorded */
	PyObject *compile_fields, *inferred; /* functions of _layout.py */
	struct event *problem; /* the event that tells of a value that did not fit */
	/* Function tracing, in calls.c. */
	struct event *call_begin, *call_end;
	PyObject *choose; /* called with the name of a module: shall its functions be recorded? */
	PyObject *disable; /* sys.monitoring.DISABLE */
	Py_ssize_t extra; /* the index of what we keep beside code objects; -1: none */
	unsigned calls; /* the number of this recording of functions; 0: none */
	unsigned calls_before; /* the number of the last one */
};

/* Returns the state of the module that a type belongs to; null if the garbage collector has taken them apart. */
static inline struct state *state_of(PyTypeObject *type)
{
	struct state *state = PyType_GetModuleState(type);

	if (!state)
		PyErr_Clear();
	return state;
}

/* Makes a struct event from a name and a dict of fields, which is borrowed and may be null. */
struct event *event_make(struct state *state, PyObject *name, const char *attributes, PyObject *fields);

/* Returns an event type without fields; null and an exception on an error. */
struct event *event_plain(struct state *state, const char *prefix, const char *name);

/* Returns whether an event of this type would be recorded. The first call in a process finds that out. */
static inline bool event_enabled(struct event *e)
{
	return POSIXTRACE_ENABLED() && posixtrace__id(&e->type) != 0;
}

/* Records an event with ready data. Runs no Python code; an exception may be set. */
static inline void event_record(struct event *e, const void *data, size_t size)
{
	int before = errno;

	posixtrace_event_at(posixtrace__id(&e->type), data, size, NULL);
	errno = before;
}

/*
 * Writes the data for these arguments to `to`, which has room for e->most bytes. Returns the size; -1 and an exception
 * if a method of a value was interrupted, by KeyboardInterrupt for instance. state may be null.
 */
Py_ssize_t event_data(struct state *state, struct event *e, PyObject *const *values, const uint8_t *place,
                      unsigned char *to);

/*
 * Checks number and names of the arguments. Returns where each argument is among the fields, null if they are in order;
 * *wrong is whether there was an exception.
 */
const uint8_t *event_arguments(struct event *e, Py_ssize_t given, PyObject *names, bool *wrong);

int event_add(PyObject *module, struct state *state);
int span_add(PyObject *module, struct state *state);
int traced_add(PyObject *module, struct state *state);
int calls_add(PyObject *module, struct state *state);

extern PyModuleDef extension;
extern PyMethodDef span_functions[], calls_functions[];

#endif
