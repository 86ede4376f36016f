/*
 * log_reader.c - posixtrace._log.Reader: opens logs and processes, selects events, and reads them
 *
 * SPDX-License-Identifier: MIT
 */
#include "log_extension.h"

#include <string.h>
#include <time.h>

#define ROWS_MAX    16384 /* rows read at once */
#define COLUMNS_MAX 128   /* of posixtrace_log_read() */

/* How long to wait for a running process before signals are looked at, and how many events are read with the GIL. */
#define SLICE_NS INT64_C(100000000)
#define EVENTS_WITH_GIL 256

/* A text of the library that nearly always is the same as the time before, and its str. */
struct known_text {
	char *bytes;
	PyObject *text;
};

struct reader {
	PyObject_HEAD
	struct posixtrace_log *log; /* null: closed */
	bool busy; /* with the GIL released, or in a function of the program */
	bool system; /* events of the recording itself are wanted */
	bool live; /* there is a running process */
	int64_t timeout; /* ns that an iteration waits for an event; negative: no limit */
	unsigned without_waiting; /* events since the GIL was released */
	unsigned long long pass; /* the number of this iteration */
	PyObject *where; /* function of the program; null: none */
	bool failed; /* there was an exception in it */
	struct log_type **type; /* by index; null: not used yet */
	size_t types;
	struct known_text *thread, *process; /* names, by index */
	size_t threads, processes;
};

struct iterator {
	PyObject_HEAD
	struct reader *reader; /* null: at the end */
	unsigned long long pass;
};

static struct log_state *state_of(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);

	/* posixtrace.Log is a subclass, which belongs to no module with a state. */
	while (type && !(type->tp_flags & Py_TPFLAGS_HEAPTYPE && ((PyHeapTypeObject *)type)->ht_module))
		type = type->tp_base;
	return type ? PyType_GetModuleState(type) : NULL;
}

/* Returns whether the reader can be used. Otherwise there is an exception. */
static bool usable(struct reader *r)
{
	if (r->busy)
		PyErr_SetString(PyExc_RuntimeError, "the log is being read, by another thread or around this function: "
		                "open it once more");
	else if (!r->log)
		PyErr_SetString(PyExc_ValueError, "the log is closed");
	else
		return true;
	return false;
}

/* -- Opening ------------------------------------------------------------------------------------------- */

static PyObject *reader_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
	struct reader *r = (struct reader *)type->tp_alloc(type, 0);
	int error = r ? posixtrace_log_open(NULL, &r->log) : 0;

	if (r)
		r->timeout = -1;
	if (r && error) {
		log_raise(error);
		Py_CLEAR(r);
	}
	return (PyObject *)r;
}

/* Waits for a pipe, without the GIL. */
static PyObject *reader_add_path(PyObject *self, PyObject *path)
{
	struct reader *r = (struct reader *)self;
	char *bytes;
	int error;

	/* Without a length: a null within the path is an exception. */
	if (PyBytes_AsStringAndSize(path, &bytes, NULL) < 0 || !usable(r))
		return NULL;
	r->busy = true;
	Py_BEGIN_ALLOW_THREADS
	error = posixtrace_log_add(r->log, bytes);
	Py_END_ALLOW_THREADS
	r->busy = false;
	if (error)
		return log_raise(error);
	Py_RETURN_NONE;
}

static PyObject *reader_add_fd(PyObject *self, PyObject *arguments)
{
	struct reader *r = (struct reader *)self;
	int fd, error;
	const char *name;

	if (!PyArg_ParseTuple(arguments, "iy", &fd, &name) || !usable(r))
		return NULL;
	r->busy = true;
	Py_BEGIN_ALLOW_THREADS
	error = posixtrace_log_add_fd(r->log, fd, name);
	Py_END_ALLOW_THREADS
	r->busy = false;
	if (error)
		return log_raise(error);
	Py_RETURN_NONE;
}

static PyObject *reader_add_memory(PyObject *self, PyObject *arguments)
{
	struct reader *r = (struct reader *)self;
	Py_buffer buffer;
	const char *name;
	int error = 0;

	if (!PyArg_ParseTuple(arguments, "y*y", &buffer, &name))
		return NULL;
	if (usable(r))
		error = posixtrace_log_add_memory(r->log, buffer.buf, (size_t)buffer.len, name);
	PyBuffer_Release(&buffer);
	if (error)
		return log_raise(error);
	if (PyErr_Occurred())
		return NULL;
	Py_RETURN_NONE;
}

/* Adds a running process: add_live(pid, stream_size, data_size, children, despite_seccomp). */
static PyObject *reader_add_live(PyObject *self, PyObject *arguments)
{
	struct reader *r = (struct reader *)self;
	struct posixtrace_log_recording recording = { .size = sizeof recording };
	unsigned pid, data_size;
	unsigned long long stream_size;
	int children, despite, error;

	if (!PyArg_ParseTuple(arguments, "IKIpp", &pid, &stream_size, &data_size, &children, &despite) || !usable(r))
		return NULL;
	recording.stream_size = stream_size;
	recording.data_size = data_size;
	recording.children = (uint32_t)children;
	recording.despite_seccomp = (uint32_t)despite;
	r->busy = true;
	Py_BEGIN_ALLOW_THREADS
	error = posixtrace_log_add_live(r->log, pid, &recording);
	Py_END_ALLOW_THREADS
	r->busy = false;
	if (error)
		return log_raise(error);
	r->live = true;
	Py_RETURN_NONE;
}

static PyObject *reader_set_timeout(PyObject *self, PyObject *timeout)
{
	long long ns = PyLong_AsLongLong(timeout);

	if (ns == -1 && PyErr_Occurred())
		return NULL;
	((struct reader *)self)->timeout = ns;
	Py_RETURN_NONE;
}

static void forget(struct known_text *text, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		PyMem_Free(text[i].bytes);
		Py_XDECREF(text[i].text);
	}
	PyMem_Free(text);
}

static void close_reader(struct reader *r)
{
	struct posixtrace_log *log = r->log;

	r->log = NULL;
	for (size_t i = 0; i < r->types; i++)
		if (r->type[i]) {
			r->type[i]->about = NULL;
			r->type[i]->busy = NULL;
			Py_DECREF(r->type[i]);
		}
	PyMem_Free(r->type);
	forget(r->thread, r->threads);
	forget(r->process, r->processes);
	r->type = NULL;
	r->thread = r->process = NULL;
	r->types = r->threads = r->processes = 0;
	posixtrace_log_close(log);
}

static PyObject *reader_close(PyObject *self, PyObject *nothing)
{
	struct reader *r = (struct reader *)self;

	if (r->log) {
		if (!usable(r))
			return NULL;
		close_reader(r);
	}
	Py_CLEAR(r->where);
	Py_RETURN_NONE;
}

static int reader_traverse(PyObject *self, visitproc visit, void *arg)
{
#if PY_VERSION_HEX >= 0x03090000
	Py_VISIT(Py_TYPE(self));
#endif
	Py_VISIT(((struct reader *)self)->where);
	return 0;
}

static int reader_clear(PyObject *self)
{
	Py_CLEAR(((struct reader *)self)->where);
	return 0;
}

static void reader_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);

	PyObject_GC_UnTrack(self);
	close_reader((struct reader *)self);
	reader_clear(self);
	type->tp_free(self);
	Py_DECREF(type);
}

/* -- Names and types ------------------------------------------------------------------------------------- */

/* Makes room for the element with an index, and for some more. */
static void *grown(void *array, size_t *count, size_t index, size_t size)
{
	size_t more = index + index / 2 + 8;
	char *new = PyMem_Realloc(array, more * size);

	if (!new)
		return PyErr_NoMemory();
	memset(new + *count * size, 0, (more - *count) * size);
	*count = more;
	return new;
}

/* Returns a str, borrowed. */
static PyObject *name_of(struct known_text **texts, size_t *count, size_t index, const char *bytes)
{
	struct known_text *known;
	size_t length;

	if (index >= *count) {
		struct known_text *more = grown(*texts, count, index, sizeof **texts);

		if (!more)
			return NULL;
		*texts = more;
	}
	known = &(*texts)[index];
	if (known->bytes && strcmp(known->bytes, bytes) == 0)
		return known->text;
	length = strlen(bytes);
	PyMem_Free(known->bytes);
	known->bytes = PyMem_Malloc(length + 1);
	if (!known->bytes) {
		PyErr_NoMemory();
		return NULL;
	}
	memcpy(known->bytes, bytes, length + 1);
	Py_XSETREF(known->text, log_text(bytes, length));
	if (!known->text) {
		PyMem_Free(known->bytes);
		known->bytes = NULL;
	}
	return known->text;
}

/* Returns the posixtrace.LogType for a type, borrowed. */
static struct log_type *type_of(struct reader *r, struct log_state *state, const struct posixtrace_log_type *about)
{
	if (about->index >= r->types) {
		struct log_type **more = grown(r->type, &r->types, about->index, sizeof *more);

		if (!more)
			return NULL;
		r->type = more;
	}
	if (!r->type[about->index])
		r->type[about->index] = log_type_new(state, about);
	if (r->type[about->index])
		r->type[about->index]->busy = &r->busy;
	return r->type[about->index];
}

static PyObject *make_event(struct reader *r, struct log_state *state, const struct posixtrace_log_event *event)
{
	PyObject *thread = state->empty_text, *process = state->empty_text;
	struct log_type *type = type_of(r, state, event->type);

	if (type && event->thread)
		thread = name_of(&r->thread, &r->threads, event->thread->index, event->thread_name);
	if (type && thread && event->process)
		process = name_of(&r->process, &r->processes, event->process->index, event->process->name);
	return type && thread && process ? log_event_new(state, type, event, thread, process) : NULL;
}

/* -- Selecting events --------------------------------------------------------------------------------------- */

typedef int only_text(struct posixtrace_log *, const char *);
typedef int only_number(struct posixtrace_log *, uint32_t);

static int select_texts(struct reader *r, only_text *only, PyObject *texts)
{
	for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(texts); i++) {
		const char *text = PyUnicode_AsUTF8(PyTuple_GET_ITEM(texts, i));
		int error = text ? only(r->log, text) : 0;

		if (error)
			log_raise(error);
		if (!text || error)
			return -1;
	}
	return 0;
}

static int select_numbers(struct reader *r, only_number *only, PyObject *numbers)
{
	for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(numbers); i++) {
		unsigned long number = PyLong_AsUnsignedLong(PyTuple_GET_ITEM(numbers, i));
		int error;

		if (PyErr_Occurred())
			return -1;
		/* No process and no thread has a number beyond 32 bits; UINT32_MAX is none either. */
		error = only(r->log, number > UINT32_MAX ? UINT32_MAX : (uint32_t)number);
		if (error) {
			log_raise(error);
			return -1;
		}
	}
	return 0;
}

/* Called by the library, without the GIL. */
static int is_no_system_event(const struct posixtrace_log_event *event, void *context)
{
	return !event->type || !event->type->system;
}

/* Replaces the selection by the arguments: events, threads, pids, tids, start, end, where, system. */
static PyObject *reader_select(PyObject *self, PyObject *arguments)
{
	struct reader *r = (struct reader *)self;
	PyObject *events, *threads, *pids, *tids, *where;
	unsigned long long from, until;
	int system, error;

	if (!PyArg_ParseTuple(arguments, "O!O!O!O!KKOp", &PyTuple_Type, &events, &PyTuple_Type, &threads, &PyTuple_Type,
	                      &pids, &PyTuple_Type, &tids, &from, &until, &where, &system) || !usable(r))
		return NULL;
	posixtrace_log_all(r->log);
	r->system = system;
	if (select_texts(r, posixtrace_log_only_event, events) < 0 ||
	    select_texts(r, posixtrace_log_only_thread, threads) < 0 ||
	    select_numbers(r, posixtrace_log_only_pid, pids) < 0 ||
	    select_numbers(r, posixtrace_log_only_tid, tids) < 0)
		return NULL;
	/* wait() must not find what an iteration leaves out. */
	if (r->live && !system)
		posixtrace_log_only_if(r->log, is_no_system_event, NULL);
	error = posixtrace_log_only_time(r->log, from, until);
	if (error)
		return log_raise(error);
	where = where == Py_None ? NULL : where;
	Py_XINCREF(where);
	Py_XSETREF(r->where, where);
	Py_RETURN_NONE;
}

/* Returns whether the function of the program wants the event; -1 and an exception if it failed. */
static int asked(struct reader *r, PyObject *event)
{
	PyObject *answer = PyObject_CallFunctionObjArgs(r->where, event, NULL);
	int wanted = answer ? PyObject_IsTrue(answer) : -1;

	Py_XDECREF(answer);
	return wanted;
}

/* -- One event after the other --------------------------------------------------------------------------------- */

static PyObject *make_loss(struct log_state *state, const struct posixtrace_log_event *event)
{
	static const char *const reasons[] = { "lost", "stopped", "overwritten", "discarded", "unwritten", "damaged",
		"open" };
	const struct posixtrace_log_loss *loss = event->loss;
	const char *reason = loss->reason < sizeof reasons / sizeof *reasons ? reasons[loss->reason] : "unknown";

	return PyObject_CallFunction(state->make_loss, "KLsKOKKI", (unsigned long long)event->time,
	                             (long long)event->relative, reason, (unsigned long long)loss->count,
	                             loss->at_least ? Py_True : Py_False, (unsigned long long)loss->from,
	                             (unsigned long long)loss->until, (unsigned)event->source);
}

/* Reads the next event or loss. Returns 0; 1 at the end; -1 and an exception. */
static int next_event(struct reader *r, const struct posixtrace_log_event **event)
{
	int error = posixtrace_log_next(r->log, event);

	if (error)
		log_raise(error);
	return error ? -1 : *event ? 0 : 1;
}

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/*
 * Waits until posixtrace_log_next() would not, or until a time; INT64_MAX: no limit. The reader is busy. Returns 0; 1
 * if nothing has come; -1 and an exception, such as one of a signal's handler.
 */
static int wait_until(struct reader *r, int64_t deadline)
{
	/* With an event at hand, the GIL is released only now and then: other threads would keep it for a while. */
	int error = r->without_waiting < EVENTS_WITH_GIL ? posixtrace_log_wait(r->log, 0) : ETIMEDOUT;

	r->without_waiting++;
	while (error == ETIMEDOUT || error == EINTR) {
		int64_t left = deadline == INT64_MAX ? SLICE_NS : deadline - now();
		bool last = left <= 0;

		if (PyErr_CheckSignals() < 0)
			return -1;
		left = last ? 0 : left < SLICE_NS ? left : SLICE_NS;
		r->without_waiting = 0;
		Py_BEGIN_ALLOW_THREADS
		error = posixtrace_log_wait(r->log, left);
		Py_END_ALLOW_THREADS
		if (error == ETIMEDOUT && last)
			return 1;
	}
	if (error)
		log_raise(error);
	return error ? -1 : 0;
}

/* Returns the time after so many ns; negative: INT64_MAX. */
static int64_t deadline_of(int64_t timeout)
{
	int64_t time = timeout < 0 ? 0 : now();

	return timeout < 0 || timeout > INT64_MAX - time ? INT64_MAX : time + timeout;
}

/* Waits for a selected event or the end: wait(ns). Returns whether one of them has come. */
static PyObject *reader_wait(PyObject *self, PyObject *timeout)
{
	struct reader *r = (struct reader *)self;
	long long ns = PyLong_AsLongLong(timeout);
	int result;

	if ((ns == -1 && PyErr_Occurred()) || !usable(r))
		return NULL;
	r->busy = true;
	r->without_waiting = EVENTS_WITH_GIL;
	result = wait_until(r, deadline_of(ns));
	r->busy = false;
	return result < 0 ? NULL : PyBool_FromLong(result == 0);
}

/* Returns a new iterator at the first event. An older one does not go on. */
static PyObject *reader_iter(PyObject *self)
{
	struct reader *r = (struct reader *)self;
	struct log_state *state = state_of(self);
	struct iterator *i;

	if (!state || !usable(r))
		return NULL;
	i = PyObject_GC_New(struct iterator, state->iterator_type);
	if (!i)
		return NULL;
	posixtrace_log_rewind(r->log);
	Py_INCREF(r);
	i->reader = r;
	i->pass = ++r->pass;
	PyObject_GC_Track(i);
	return (PyObject *)i;
}

/*
 * Tells the program of a loss, which is taken over. Returns an item for the iteration: the loss, or Py_None if the
 * iteration goes on with the next event. Returns null and an exception if the program wants one.
 */
static PyObject *tell_loss(struct reader *r, struct log_state *state, PyObject *loss)
{
	PyObject *item = loss ? PyObject_CallFunctionObjArgs(state->tell_loss, (PyObject *)r, loss, NULL) : NULL;

	Py_XDECREF(loss);
	return item;
}

/* Tells the program that an iteration has come to its end. */
static void tell_end(struct reader *r, struct log_state *state)
{
	PyObject *done = PyObject_CallFunctionObjArgs(state->tell_loss, (PyObject *)r, Py_None, NULL);

	Py_XDECREF(done);
}

/* Returns the next item. Returns null at the end, or with an exception. */
static PyObject *next_item(struct iterator *i, struct reader *r, struct log_state *state)
{
	const struct posixtrace_log_event *event;
	int64_t deadline = r->live ? deadline_of(r->timeout) : INT64_MAX;

	for (unsigned passed = 1;; passed++) {
		PyObject *item;
		int wanted = r->live ? wait_until(r, deadline) : 0;

		if (wanted) {
			if (wanted > 0)
				Py_CLEAR(i->reader);
			return NULL;
		}
		wanted = next_event(r, &event);
		if (wanted > 0) {
			Py_CLEAR(i->reader);
			tell_end(r, state);
			return NULL;
		}
		if (wanted < 0 || (passed % 1024 == 0 && PyErr_CheckSignals() < 0))
			return NULL;
		if (event->loss) {
			item = tell_loss(r, state, make_loss(state, event));
			if (item != Py_None)
				return item;
			Py_DECREF(item);
			continue;
		}
		if (event->type->system && !r->system)
			continue;
		item = make_event(r, state, event);
		wanted = !item ? -1 : r->where ? asked(r, item) : 1;
		if (wanted > 0)
			return item;
		Py_XDECREF(item);
		if (wanted < 0)
			return NULL;
	}
}

/* The reader is busy meanwhile: an allocation may run the garbage collector, and this any method __del__. */
static PyObject *iterator_next(PyObject *self)
{
	struct iterator *i = (struct iterator *)self;
	struct reader *r = i->reader;
	struct log_state *state = PyType_GetModuleState(Py_TYPE(self));
	PyObject *item;

	if (!r || !state || !usable(r))
		return NULL;
	if (i->pass != r->pass)
		return PyErr_Format(PyExc_RuntimeError, "another iteration over this log has begun: open it once more");
	Py_INCREF(r);
	r->busy = true;
	item = next_item(i, r, state);
	r->busy = false;
	Py_DECREF(r);
	return item;
}

static int iterator_traverse(PyObject *self, visitproc visit, void *arg)
{
#if PY_VERSION_HEX >= 0x03090000
	Py_VISIT(Py_TYPE(self));
#endif
	Py_VISIT(((struct iterator *)self)->reader);
	return 0;
}

static int iterator_clear(PyObject *self)
{
	Py_CLEAR(((struct iterator *)self)->reader);
	return 0;
}

static void iterator_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);

	PyObject_GC_UnTrack(self);
	iterator_clear(self);
	type->tp_free(self);
	Py_DECREF(type);
}

/* -- Columns -------------------------------------------------------------------------------------------------- */

/* Called by the library for an event, in columns. After an exception events are passed without the function. */
static int ask_for_row(const struct posixtrace_log_event *event, void *context)
{
	struct reader *r = context;
	struct log_state *state = state_of((PyObject *)r);
	PyObject *item = r->failed || !state ? NULL : make_event(r, state, event);
	int wanted = item ? asked(r, item) : -1;

	Py_XDECREF(item);
	r->failed |= wanted < 0;
	return wanted > 0;
}

/* Reads rows into the columns. Returns false and an exception if that failed. */
static bool read_rows(struct reader *r, const struct posixtrace_log_type *type,
                      const struct posixtrace_log_column *columns, size_t count, size_t *rows)
{
	int error;

	r->busy = true;
	r->failed = false;
	if (r->where) {
		posixtrace_log_only_if(r->log, ask_for_row, r);
		error = posixtrace_log_read(r->log, type, columns, count, ROWS_MAX, rows);
		posixtrace_log_only_if(r->log, NULL, NULL);
	} else {
		Py_BEGIN_ALLOW_THREADS
		error = posixtrace_log_read(r->log, type, columns, count, ROWS_MAX, rows);
		Py_END_ALLOW_THREADS
	}
	r->busy = false;
	if (r->failed)
		return false;
	if (error)
		log_raise(error);
	return !error && PyErr_CheckSignals() == 0;
}

/*
 * Reads the next rows: rows(type, [(field, 'Q', 'q' or 'd'), ...]). Returns the number of rows, and for each column its
 * bytes, and a byte for each row that is 1 if the event has the value.
 */
static PyObject *reader_rows(PyObject *self, PyObject *arguments)
{
	struct reader *r = (struct reader *)self;
	struct posixtrace_log_column column[COLUMNS_MAX];
	struct log_state *state = state_of(self);
	PyObject *wanted, *result = NULL, *list;
	unsigned char *memory = NULL, *present;
	struct log_type *type;
	Py_ssize_t count;
	size_t rows;

	if (!state || !PyArg_ParseTuple(arguments, "O!O!", state->type_type, &type, &PyList_Type, &wanted) ||
	    !usable(r))
		return NULL;
	count = PyList_GET_SIZE(wanted);
	if (count > COLUMNS_MAX)
		return PyErr_Format(PyExc_ValueError, "%zd columns are more than %d", count, COLUMNS_MAX);
	if (!type->about || type->index >= r->types || r->type[type->index] != type)
		return PyErr_Format(PyExc_ValueError, "%U is an event type of another log", type->name);
	memory = PyMem_Malloc((size_t)(count ? count : 1) * ROWS_MAX * (sizeof(uint64_t) + 1));
	if (!memory)
		return PyErr_NoMemory();
	present = memory + (size_t)count * ROWS_MAX * sizeof(uint64_t);
	for (Py_ssize_t i = 0; i < count; i++) {
		int code;

		if (!PyArg_ParseTuple(PyList_GET_ITEM(wanted, i), "iC", &column[i].field, &code))
			goto out;
		column[i].values_type = code == 'd' ? POSIXTRACE_LOG_DOUBLE :
		                        code == 'q' ? POSIXTRACE_LOG_INT64 : POSIXTRACE_LOG_UINT64;
		column[i].values = memory + (size_t)i * ROWS_MAX * sizeof(uint64_t);
		column[i].present = present + i * ROWS_MAX;
	}
	if (!read_rows(r, type->about, column, (size_t)count, &rows))
		goto out;
	list = PyList_New(count);
	for (Py_ssize_t i = 0; list && i < count; i++) {
		PyObject *both = Py_BuildValue("(y#y#)", column[i].values, (Py_ssize_t)(rows * sizeof(uint64_t)),
		                               column[i].present, (Py_ssize_t)rows);

		if (!both)
			Py_CLEAR(list);
		else
			PyList_SET_ITEM(list, i, both);
	}
	if (list)
		result = Py_BuildValue("nN", (Py_ssize_t)rows, list);
out:
	PyMem_Free(memory);
	return result;
}

/* -- The whole log ----------------------------------------------------------------------------------------------- */

/* Begins a list of what the reader knows. It is busy meanwhile, as in iterator_next(). */
static PyObject *list_begin(struct reader *r)
{
	PyObject *list;

	if (!usable(r))
		return NULL;
	r->busy = true;
	list = PyList_New(0);
	if (!list)
		r->busy = false;
	return list;
}

/* Appends an element, which is taken over. Returns whether there was no exception. */
static bool list_add(PyObject *list, PyObject *one)
{
	int result = one ? PyList_Append(list, one) : -1;

	Py_XDECREF(one);
	return result == 0;
}

/* Goes back to the first event. An iteration does not go on. */
static PyObject *reader_rewind(PyObject *self, PyObject *nothing)
{
	struct reader *r = (struct reader *)self;

	if (!usable(r))
		return NULL;
	r->pass++;
	posixtrace_log_rewind(r->log);
	Py_RETURN_NONE;
}

/*
 * Reads all events for the tables, and goes back to the first. Returns the losses. The selection has to be without
 * events and without a function.
 */
static PyObject *reader_scan(PyObject *self, PyObject *nothing)
{
	struct reader *r = (struct reader *)self;
	struct log_state *state = state_of(self);
	PyObject *losses, *done = reader_rewind(self, NULL);

	if (!done)
		return NULL;
	Py_DECREF(done);
	r->busy = true;
	losses = PyList_New(0);
	while (losses && state) {
		const struct posixtrace_log_event *event;
		PyObject *loss = NULL;
		int error;

		Py_BEGIN_ALLOW_THREADS
		error = posixtrace_log_next(r->log, &event);
		Py_END_ALLOW_THREADS
		if (error)
			log_raise(error);
		else if (!event)
			break;
		if (!error && event->type)
			continue;
		loss = error ? NULL : make_loss(state, event);
		if (!list_add(losses, loss))
			Py_CLEAR(losses);
	}
	r->busy = false;
	posixtrace_log_rewind(r->log);
	return losses;
}

static PyObject *text_or_empty(const char *text)
{
	return log_text(text ? text : "", text ? strlen(text) : 0);
}

/* Returns the types, as far as they are known. */
static PyObject *reader_types(PyObject *self, PyObject *nothing)
{
	struct reader *r = (struct reader *)self;
	struct log_state *state = state_of(self);
	PyObject *list = state ? list_begin(r) : NULL;

	if (!list)
		return NULL;
	for (size_t i = 0; list && i < posixtrace_log_types(r->log); i++) {
		struct log_type *type = type_of(r, state, posixtrace_log_type_at(r->log, i));

		if (!type || PyList_Append(list, (PyObject *)type) < 0)
			Py_CLEAR(list);
	}
	r->busy = false;
	return list;
}

static PyObject *module_tuple(const struct posixtrace_log_module *m)
{
	return Py_BuildValue("KKKKNy#", (unsigned long long)m->start, (unsigned long long)m->end,
	                     (unsigned long long)m->offset, (unsigned long long)m->time, text_or_empty(m->path),
	                     m->build_id ? (const char *)m->build_id : "", (Py_ssize_t)m->build_id_length);
}

/* Returns a tuple for each process, with a list of tuples for the modules. */
static PyObject *reader_processes(PyObject *self, PyObject *nothing)
{
	struct reader *r = (struct reader *)self;
	PyObject *list = list_begin(r);

	if (!list)
		return NULL;
	for (size_t i = 0; list && i < posixtrace_log_processes(r->log); i++) {
		const struct posixtrace_log_process *p = posixtrace_log_process_at(r->log, i);
		PyObject *modules = PyList_New(0), *one = NULL;

		for (size_t m = 0; modules && m < p->modules; m++)
			if (!list_add(modules, module_tuple(posixtrace_log_module_at(p, m))))
				Py_CLEAR(modules);
		if (modules)
			one = Py_BuildValue("IIKNNNIN", p->pid, p->parent, (unsigned long long)p->time,
			                    text_or_empty(p->executable), text_or_empty(p->name),
			                    log_text(p->command ? p->command : "", p->command ? p->command_length : 0),
			                    p->machine, modules);
		if (!list_add(list, one))
			Py_CLEAR(list);
	}
	r->busy = false;
	return list;
}

/* Returns a tuple for each thread. */
static PyObject *reader_threads(PyObject *self, PyObject *nothing)
{
	struct reader *r = (struct reader *)self;
	PyObject *list = list_begin(r);

	if (!list)
		return NULL;
	for (size_t i = 0; list && i < posixtrace_log_threads(r->log); i++) {
		const struct posixtrace_log_thread *t = posixtrace_log_thread_at(r->log, i);
		PyObject *one = Py_BuildValue("IINKI", t->process->pid, t->tid, text_or_empty(t->name),
		                              (unsigned long long)t->events, t->process->machine);

		if (!list_add(list, one))
			Py_CLEAR(list);
	}
	r->busy = false;
	return list;
}

/* Returns a dict of the labels. */
static PyObject *labels_dict(const struct posixtrace_log_about *a)
{
	PyObject *all = PyDict_New();

	for (size_t i = 0; all && i < a->labels; i++) {
		PyObject *value = text_or_empty(a->label[i].value);

		if (!value || PyDict_SetItemString(all, a->label[i].key, value) < 0)
			Py_CLEAR(all);
		Py_XDECREF(value);
	}
	return all;
}

static PyObject *about_dict(const struct posixtrace_log_about *a)
{
#define NUMBER(member) #member, (unsigned long long)a->member
#define TEXT(member)   #member, text_or_empty(a->member)
#define TRUTH(member)  #member, a->member ? Py_True : Py_False
	return Py_BuildValue("{sNsNsNsNsNsNsy#" "sKsKsKsKsKsKsO" "sKsKsKsKsKsKsKsOsO" "sKsKsKsKsKsKsKsKsKsK"
	                     "sKsOsOsKsKsKsN}",
	                     TEXT(path), TEXT(name), TEXT(generator), TEXT(host), TEXT(kernel), TEXT(machine),
	                     "boot", (const char *)a->boot, (Py_ssize_t)16, NUMBER(created),
	                     NUMBER(created_monotonic), NUMBER(resolution), NUMBER(target), NUMBER(creator),
	                     NUMBER(word), TRUTH(children), NUMBER(stream_policy), NUMBER(log_policy),
	                     NUMBER(stream_size), NUMBER(log_size), NUMBER(data_size), NUMBER(bytes), NUMBER(skipped),
	                     TRUTH(complete), TRUTH(closed), NUMBER(error), NUMBER(machine_index),
	                     NUMBER(lost), NUMBER(overwritten), NUMBER(discarded), NUMBER(unwritten), NUMBER(damaged),
	                     NUMBER(events), NUMBER(first), NUMBER(last), NUMBER(losses), TRUTH(live), TRUTH(ended),
	                     NUMBER(id), NUMBER(generation), NUMBER(unknown), "labels", labels_dict(a));
}

/* Returns a dict for each log. */
static PyObject *reader_abouts(PyObject *self, PyObject *nothing)
{
	struct reader *r = (struct reader *)self;
	PyObject *list = list_begin(r);

	if (!list)
		return NULL;
	for (size_t i = 0; list && i < posixtrace_log_sources(r->log); i++) {
		PyObject *one = about_dict(posixtrace_log_about_at(r->log, i));

		if (!list_add(list, one))
			Py_CLEAR(list);
	}
	r->busy = false;
	return list;
}

/* Returns the number of events read so far, for each type. */
static PyObject *reader_counts(PyObject *self, PyObject *nothing)
{
	struct reader *r = (struct reader *)self;
	PyObject *list = list_begin(r);

	if (!list)
		return NULL;
	for (size_t i = 0; list && i < posixtrace_log_types(r->log); i++) {
		PyObject *one = PyLong_FromUnsignedLongLong(posixtrace_log_type_at(r->log, i)->events);

		if (!list_add(list, one))
			Py_CLEAR(list);
	}
	r->busy = false;
	return list;
}

/* Returns the number of losses met so far, whatever is selected. */
static PyObject *reader_losses_met(PyObject *self, PyObject *nothing)
{
	struct reader *r = (struct reader *)self;
	unsigned long long sum = 0;

	if (!usable(r))
		return NULL;
	for (size_t i = 0; i < posixtrace_log_sources(r->log); i++)
		sum += posixtrace_log_about_at(r->log, i)->losses;
	return PyLong_FromUnsignedLongLong(sum);
}

static PyObject *reader_live(PyObject *self, void *closure)
{
	return PyBool_FromLong(((struct reader *)self)->live);
}

static PyObject *reader_ended(PyObject *self, void *closure)
{
	struct reader *r = (struct reader *)self;

	for (size_t i = 0; i < posixtrace_log_sources(r->log); i++) {
		const struct posixtrace_log_about *about = posixtrace_log_about_at(r->log, i);

		if (about->live && !about->ended)
			Py_RETURN_FALSE;
	}
	Py_RETURN_TRUE;
}

static PyObject *reader_closed(PyObject *self, void *closure)
{
	return PyBool_FromLong(((struct reader *)self)->log == NULL);
}

/* -- The module ---------------------------------------------------------------------------------------------------- */

static PyMethodDef reader_methods[] = {
	{ "_add_path", reader_add_path, METH_O, NULL },
	{ "_add_fd", reader_add_fd, METH_VARARGS, NULL },
	{ "_add_memory", reader_add_memory, METH_VARARGS, NULL },
	{ "_add_live", reader_add_live, METH_VARARGS, NULL },
	{ "_set_timeout", reader_set_timeout, METH_O, NULL },
	{ "_wait", reader_wait, METH_O, NULL },
	{ "_losses_met", reader_losses_met, METH_NOARGS, NULL },
	{ "_select", reader_select, METH_VARARGS, NULL },
	{ "_rows", reader_rows, METH_VARARGS, NULL },
	{ "_rewind", reader_rewind, METH_NOARGS, NULL },
	{ "_scan", reader_scan, METH_NOARGS, NULL },
	{ "_types", reader_types, METH_NOARGS, NULL },
	{ "_counts", reader_counts, METH_NOARGS, NULL },
	{ "_processes", reader_processes, METH_NOARGS, NULL },
	{ "_threads", reader_threads, METH_NOARGS, NULL },
	{ "_abouts", reader_abouts, METH_NOARGS, NULL },
	{ "close", reader_close, METH_NOARGS,
	  "close()\n--\n\nCloses the log. Events that were read, and their values, remain." },
	{ NULL, NULL, 0, NULL },
};

static PyGetSetDef reader_getset[] = {
	{ "closed", reader_closed, NULL, "whether close() was called", NULL },
	{ "live", reader_live, NULL, "whether there is a running process", NULL },
	{ "ended", reader_ended, NULL, "whether all running processes have ended, and their events were read", NULL },
	{ NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot reader_slots[] = {
	{ Py_tp_new, reader_new },
	{ Py_tp_dealloc, reader_dealloc },
	{ Py_tp_traverse, reader_traverse },
	{ Py_tp_clear, reader_clear },
	{ Py_tp_iter, reader_iter },
	{ Py_tp_methods, reader_methods },
	{ Py_tp_getset, reader_getset },
	{ 0, NULL },
};

static PyType_Spec reader_spec = {
	.name = "posixtrace._log.Reader",
	.basicsize = sizeof(struct reader),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
	.slots = reader_slots,
};

static PyType_Slot iterator_slots[] = {
	{ Py_tp_dealloc, iterator_dealloc },
	{ Py_tp_traverse, iterator_traverse },
	{ Py_tp_clear, iterator_clear },
	{ Py_tp_iter, PyObject_SelfIter },
	{ Py_tp_iternext, iterator_next },
	{ 0, NULL },
};

static PyType_Spec iterator_spec = {
	.name = "posixtrace._log.Iterator",
	.basicsize = sizeof(struct iterator),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
	.slots = iterator_slots,
};

/* Keeps what the Python side gives: setup(make_field, make_loss, make_meaning, tell_loss). */
static PyObject *setup(PyObject *module, PyObject *arguments)
{
	struct log_state *state = PyModule_GetState(module);
	PyObject *field, *loss, *meaning, *tell;

	if (!PyArg_ParseTuple(arguments, "OOOO", &field, &loss, &meaning, &tell))
		return NULL;
	Py_INCREF(field);
	Py_INCREF(loss);
	Py_INCREF(meaning);
	Py_INCREF(tell);
	Py_XSETREF(state->make_field, field);
	Py_XSETREF(state->make_loss, loss);
	Py_XSETREF(state->make_meaning, meaning);
	Py_XSETREF(state->tell_loss, tell);
	Py_RETURN_NONE;
}

static PyMethodDef module_functions[] = {
	{ "setup", setup, METH_VARARGS, NULL },
	{ NULL, NULL, 0, NULL },
};

int log_reader_add(PyObject *module, struct log_state *state)
{
	state->reader_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &reader_spec, NULL);
	state->iterator_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &iterator_spec, NULL);
	if (!state->reader_type || !state->iterator_type)
		return -1;
	state->iterator_type->tp_new = NULL;
	return PyModule_AddType(module, state->reader_type) < 0 || PyModule_AddFunctions(module, module_functions) < 0 ?
	       -1 : 0;
}
