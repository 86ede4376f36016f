/*
 * calls.c - functions(): records python.call.begin and python.call.end for each call of a function written in Python
 *
 * Up to Python 3.11 as a profile function of each thread. From 3.12 on as callbacks of sys.monitoring, which
 * posixtrace/_functions.py installs. The name of a function, and whether it is recorded, are found at its first call
 * and kept beside its code object.
 *
 * SPDX-License-Identifier: MIT
 */
#include "extension.h"

#include <frameobject.h>
#include <string.h>

#define NAME_MOST 255

#if PY_VERSION_HEX >= 0x030C0000
# define request_extra PyUnstable_Eval_RequestCodeExtraIndex
# define get_extra     PyUnstable_Code_GetExtra
# define set_extra     PyUnstable_Code_SetExtra
#else
# define request_extra _PyEval_RequestCodeExtraIndex
# define get_extra     _PyCode_GetExtra
# define set_extra     _PyCode_SetExtra
#endif

/* Kept beside the code object of each function. */
struct known {
	unsigned calls; /* the recording for which this was found out */
	bool wanted;
	uint16_t size; /* of the name and its null */
	char name[];
};

/* Returns a new text, or null without an exception. */
static PyObject *name_of(PyObject *code, PyObject *module)
{
#if PY_VERSION_HEX >= 0x030B0000
	PyObject *function = ((PyCodeObject *)code)->co_qualname;
#else
	PyObject *function = ((PyCodeObject *)code)->co_name;
#endif
	PyObject *name = module ? PyUnicode_FromFormat("%U.%U", module, function) :
	                          PyUnicode_FromFormat("%U", function);

	if (!name)
		PyErr_Clear();
	return name;
}

/* Returns whether functions of this module are recorded. */
static bool is_wanted(struct state *state, PyObject *module)
{
	PyObject *answer = state->choose && module ?
		PyObject_CallFunctionObjArgs(state->choose, module, NULL) : NULL;
	bool wanted = answer == Py_True;

	if (!answer)
		PyErr_Clear();
	Py_XDECREF(answer);
	return wanted;
}

/* Returns the name of the module that has these globals, borrowed; null if no module has them. */
static PyObject *module_of(PyObject *globals)
{
	PyObject *module = globals && PyDict_Check(globals) ? PyDict_GetItemString(globals, "__name__") : NULL;

	return module && PyUnicode_Check(module) ? module : NULL;
}

/* Finds out about a function at its first call. Returns null if there is no memory. No exception is set before. */
static struct known *learn(struct state *state, PyObject *code, PyObject *globals)
{
	PyObject *module = module_of(globals), *name;
	unsigned char text[NAME_MOST + 1];
	struct known *known;
	Py_ssize_t size = 0;

	Py_XINCREF(module);
	name = name_of(code, module);
	if (name) {
		size = event_data(state, state->call_begin, &name, NULL, text);
		Py_DECREF(name);
	}
	known = size > 0 ? PyMem_RawMalloc(sizeof *known + (size_t)size) : NULL;
	if (known) {
		known->calls = state->calls;
		known->wanted = is_wanted(state, module);
		known->size = (uint16_t)size;
		memcpy(known->name, text, (size_t)size);
		/* Frees what was there before. */
		if (set_extra(code, state->extra, known) < 0) {
			PyErr_Clear();
			PyMem_RawFree(known);
			known = NULL;
		}
	}
	Py_XDECREF(module);
	return known;
}

static struct known *known_of(struct state *state, PyObject *code)
{
	void *known = NULL;

	if (get_extra(code, state->extra, &known) < 0)
		PyErr_Clear();
	return known && ((struct known *)known)->calls == state->calls ? known : NULL;
}

/* Returns whether this function is not recorded. */
static bool begin(struct state *state, PyObject *code, PyObject *globals)
{
	struct known *known = known_of(state, code);

	if (!known)
		known = learn(state, code, globals);
	if (known && known->wanted)
		event_record(state->call_begin, known->name, known->size);
	return known && !known->wanted;
}

/* Returns whether this function is not recorded. A function whose begin was before the recording has no end either. */
static bool end(struct state *state, PyObject *code)
{
	struct known *known = known_of(state, code);

	if (known && known->wanted)
		event_record(state->call_end, NULL, 0);
	return known && !known->wanted;
}

/* -- Up to Python 3.11: profile functions ----------------------------------------------------------- */

#if PY_VERSION_HEX < 0x030C0000
static int profile(PyObject *module, PyFrameObject *frame, int what, PyObject *value)
{
	struct state *state = PyModule_GetState(module);
	PyObject *code;

	if (!state->calls) {
		/* The recording has ended, in another thread. */
		PyEval_SetProfile(NULL, NULL);
		return 0;
	}
	if ((what != PyTrace_CALL && what != PyTrace_RETURN) || !POSIXTRACE_ENABLED())
		return 0;
	code = (PyObject *)PyFrame_GetCode(frame);
	if (what == PyTrace_CALL) {
		/* The globals of the current frame are those of this one. */
		begin(state, code, PyEval_GetGlobals());
	} else {
		end(state, code);
	}
	Py_DECREF(code);
	return 0;
}

/* Called by threading at the first event of a new thread. From the second event on, profile() is called instead. */
static PyObject *profile_thread(PyObject *module, PyObject *const *values, Py_ssize_t given)
{
	struct state *state = PyModule_GetState(module);

	if (!state->calls) {
		PyEval_SetProfile(NULL, NULL);
		Py_RETURN_NONE;
	}
	PyEval_SetProfile(profile, module);
	if (given == 3 && PyFrame_Check(values[0]) && PyUnicode_Check(values[1]) &&
	    PyUnicode_CompareWithASCIIString(values[1], "call") == 0)
		profile(module, (PyFrameObject *)values[0], PyTrace_CALL, values[2]);
	Py_RETURN_NONE;
}
#endif

/* Begins a recording. Returns false if this thread has another profiler. */
static PyObject *calls_start(PyObject *module, PyObject *arguments)
{
	struct state *state = PyModule_GetState(module);
	PyObject *choose, *disable;

	if (!PyArg_ParseTuple(arguments, "OO", &choose, &disable))
		return NULL;
	if (PyInterpreterState_Get() != PyInterpreterState_Main())
		return PyErr_Format(PyExc_RuntimeError, "functions are only recorded in the main interpreter");
#if PY_VERSION_HEX < 0x030C0000
	if (PyThreadState_Get()->c_profilefunc)
		Py_RETURN_FALSE;
#endif
	if (state->extra < 0)
		state->extra = request_extra(PyMem_RawFree);
	if (state->extra < 0)
		Py_RETURN_FALSE;
	Py_INCREF(choose);
	Py_XSETREF(state->choose, choose);
	Py_INCREF(disable);
	Py_XSETREF(state->disable, disable);
	state->calls = ++state->calls_before;
#if PY_VERSION_HEX < 0x030C0000
	state->calls_thread = PyThread_get_thread_ident();
	PyEval_SetProfile(profile, module);
#endif
	Py_RETURN_TRUE;
}

/*
 * Ends the recording. Other threads notice at their next event. Returns false if another profiler has taken the place
 * of this one in the thread that began.
 */
static PyObject *calls_stop(PyObject *module, PyObject *nothing)
{
	struct state *state = PyModule_GetState(module);
	bool replaced = false;

	state->calls = 0;
#if PY_VERSION_HEX < 0x030C0000
	if (PyThreadState_Get()->c_profilefunc == profile)
		PyEval_SetProfile(NULL, NULL);
	else
		replaced = state->calls_thread == PyThread_get_thread_ident();
#endif
	return PyBool_FromLong(!replaced);
}

/* -- From Python 3.12 on: callbacks ----------------------------------------------------------------- */

/* Returns None, or DISABLE if the event need not be reported again. */
static PyObject *answer(struct state *state, bool disable)
{
	PyObject *value = disable && state->disable ? state->disable : Py_None;

	Py_INCREF(value);
	return value;
}

static PyObject *calls_begin(PyObject *module, PyObject *const *values, Py_ssize_t given)
{
	struct state *state = PyModule_GetState(module);

	if (given < 1 || !PyCode_Check(values[0]) || !state->calls || !POSIXTRACE_ENABLED())
		Py_RETURN_NONE;
	return answer(state, begin(state, values[0], PyEval_GetGlobals()));
}

static PyObject *calls_end(PyObject *module, PyObject *const *values, Py_ssize_t given)
{
	struct state *state = PyModule_GetState(module);

	if (given < 1 || !PyCode_Check(values[0]) || !state->calls || !POSIXTRACE_ENABLED())
		Py_RETURN_NONE;
	return answer(state, end(state, values[0]));
}

/* Like calls_begin() and calls_end(), of an event that cannot be disabled. */
static PyObject *calls_throw(PyObject *module, PyObject *const *values, Py_ssize_t given)
{
	Py_XDECREF(calls_begin(module, values, given));
	Py_RETURN_NONE;
}

static PyObject *calls_unwind(PyObject *module, PyObject *const *values, Py_ssize_t given)
{
	Py_XDECREF(calls_end(module, values, given));
	Py_RETURN_NONE;
}

#define FAST(function) (PyCFunction)(void (*)(void))function, METH_FASTCALL, NULL

PyMethodDef calls_functions[] = {
	{ "calls_start", calls_start, METH_VARARGS, NULL },
	{ "calls_stop", calls_stop, METH_NOARGS, NULL },
#if PY_VERSION_HEX < 0x030C0000
	{ "profile_thread", FAST(profile_thread) },
#endif
	{ "calls_begin", FAST(calls_begin) },
	{ "calls_end", FAST(calls_end) },
	{ "calls_throw", FAST(calls_throw) },
	{ "calls_unwind", FAST(calls_unwind) },
	{ NULL, NULL, 0, NULL },
};

int calls_add(PyObject *module, struct state *state)
{
	PyObject *name = PyUnicode_FromString("python.call.begin"), *fields = Py_BuildValue("{ss}", "function", "z");

	state->extra = -1;
	if (name && fields)
		state->call_begin = event_make(state, name, "", fields);
	Py_XDECREF(name);
	Py_XDECREF(fields);
	state->call_end = event_plain(state, "python.call.", "end");
	return state->call_begin && state->call_end ? 0 : -1;
}
