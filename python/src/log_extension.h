/*
 * log_extension.h - what the files of the extension _log share
 *
 * All state is in the module. The reader library lets one thread at a time use a reader: a reader is busy while the GIL
 * is released, or while a function of the program is called for an event.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LOG_EXTENSION_H
#define LOG_EXTENSION_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include <errno.h>
#include <posixtrace/log.h>
#include <stdbool.h>
#include <stdint.h>

struct log_state {
	PyTypeObject *reader_type, *iterator_type, *event_type, *type_type;
	/* Given by posixtrace/_log_reader.py: classes, and the function that tells the program about a loss. */
	PyObject *make_field, *make_loss, *make_meaning, *tell_loss;
	PyObject *empty_text, *empty_bytes;
};

/* A field of an event type, as far as reading a value depends on it. */
struct log_field {
	uint32_t kind, size; /* POSIXTRACE_LOG_UNSIGNED ... */
	bool array;
	PyObject *labels; /* dict of number to value, filled as numbers are found; null: no labels */
};

/* posixtrace.LogType: an event type with its fields. */
struct log_type {
	PyObject_HEAD
	const struct posixtrace_log_type *about; /* valid while the reader is open */
	PyObject *name, *layout, *wrong;
	PyObject *fields;  /* tuple of posixtrace.Field */
	PyObject *indexes; /* dict of name to index */
	PyObject *meaning; /* posixtrace.Meaning */
	PyObject *make_meaning; /* the class */
	bool named; /* the meaning has a span of the names */
	const bool *busy; /* of the reader, while it is open; null: not known yet */
	PyObject *level;   /* of all events, a str or None */
	int level_field, took; /* indexes; -1: none */
	unsigned long took_unit; /* ns */
	unsigned index;
	char system;
	unsigned count;
	struct log_field *field;
};

/* posixtrace.LogEvent. Everything is copied when the event is read, so it outlives its reader. */
struct log_event {
	PyObject_VAR_HEAD
	unsigned long long time, address, pthread;
	long long relative;
	struct log_type *type;
	PyObject *thread, *process; /* names */
	PyObject *rest; /* bytes that belong to no field */
	unsigned pid, tid, length, source;
	char truncated;
	PyObject *value[]; /* as many as the event has */
};

/* Sets the exception for an error number of the reader library. Returns null. */
PyObject *log_raise(int error);

/* Returns a str. Bytes that are not UTF-8 are shown as \xNN. */
static inline PyObject *log_text(const char *text, size_t length)
{
	return PyUnicode_DecodeUTF8(text, (Py_ssize_t)length, "backslashreplace");
}

/* Makes a posixtrace.LogType. */
struct log_type *log_type_new(struct log_state *state, const struct posixtrace_log_type *about);

/* Makes a posixtrace.LogEvent from what the library has read. */
PyObject *log_event_new(struct log_state *state, struct log_type *type, const struct posixtrace_log_event *event,
                        PyObject *thread, PyObject *process);

int log_event_add(PyObject *module, struct log_state *state);
int log_reader_add(PyObject *module, struct log_state *state);

extern PyModuleDef log_extension;

#endif
