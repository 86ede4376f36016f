/*
 * extension.h - what the files of the extension _posixtrace share
 *
 * All state is in the module, so each subinterpreter has its own, but for the numbers of spans and the spans that a
 * thread has entered. No function releases the GIL.
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

#define FIELDS_MAX  32    /* as in a layout; with the counters of arrays */
#define DATA_MAX    65535 /* bytes of the data of an event */
#define STACK_MAX   1024  /* data up to this size are made on the stack */
#define EVENTS_MANY 1000 /* after so many declarations the names may run out */
#define NAMES_MAX   1000 /* how many names span() and counter() keep: of those beyond, the name is a field */

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
	bool told; /* the first of them was recorded as an event */
	bool claimed; /* counted in state->declared */
	uint8_t place[FIELDS_MAX]; /* of each of those keyword arguments among the fields */
	struct field field[FIELDS_MAX];
};

struct state {
	PyTypeObject *event_type, *span_type, *open_type, *traced_type;
	PyObject *spans, *counters; /* by name: struct span, struct event */
	PyObject *nothing; /* a struct open of which nothing is recorded */
	PyObject *rest; /* the struct span of names that are not kept; null until it is needed */
	struct event *rest_counter; /* likewise */
	unsigned names; /* in spans, with all sorts of fields, and in counters */
	bool told_names; /* the event that tells of too many was recorded */
	PyObject *declared; /* by name: a list of the layout, and of how many events there are */
	PyObject *compile_fields, *inferred, *free_name, *counter_fields, *ready; /* functions of _layout.py */
	PyObject *enum_type; /* enum.Enum */
	unsigned made; /* how many events were declared */
	bool told_unnamed; /* the event that tells of too many event types was recorded */
	struct event *problem; /* the event that tells of a value that did not fit */
	struct event *message; /* of log() and Handler; null until it is needed */
	/* Function tracing, in calls.c. */
	struct event *call_begin, *call_end;
	PyObject *choose; /* called with the name of a module: shall its functions be recorded? */
	PyObject *disable; /* sys.monitoring.DISABLE */
	Py_ssize_t extra; /* the index of what we keep beside code objects; -1: none */
	unsigned calls; /* the number of this recording of functions; 0: none */
	unsigned calls_before; /* the number of the last one */
	unsigned long calls_thread; /* where it began */
};

/* Returns the state of the module that a type belongs to; null if the garbage collector has taken them apart. */
static inline struct state *state_of(PyTypeObject *type)
{
	struct state *state = PyType_GetModuleState(type);

	if (!state)
		PyErr_Clear();
	return state;
}

/*
 * Makes a struct event from a name and a dict of fields, which is borrowed and may be null. Raises ValueError if the
 * name has other fields already.
 */
struct event *event_make(struct state *state, PyObject *name, const char *attributes, PyObject *fields);

/* Likewise, but if the name has other fields already, the event has another name: NAME(FIELDS). */
struct event *event_make_free(struct state *state, PyObject *name, const char *attributes, PyObject *fields);

/* Gives up the name of an event that has not been recorded and will not be. */
void event_release(struct state *state, struct event *e);

/*
 * Tells once for each caller what is wrong: as the event python.misfit, and in -X dev as a warning. Takes over the
 * message, which is null after an exception. Returns false if the warning is an exception. `of` is what it is about.
 */
bool event_tell(struct state *state, struct event *of, PyObject *message);

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

/* Returns a number that no other span in this process has. */
uint64_t span_number(void);

/* Returns what a module has under this name; null with an exception. */
PyObject *take_from(const char *module, const char *name);

int event_add(PyObject *module, struct state *state);
int span_add(PyObject *module, struct state *state);
int traced_add(PyObject *module, struct state *state);
int calls_add(PyObject *module, struct state *state);

extern PyModuleDef extension;
extern PyMethodDef span_functions[], calls_functions[];

#endif
