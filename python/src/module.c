/*
 * module.c - the module posixtrace._posixtrace
 *
 * SPDX-License-Identifier: MIT
 */
#include "extension.h"

/* Returns whether a stream traces this process. */
static PyObject *enabled(PyObject *module, PyObject *nothing)
{
	struct state *state = PyModule_GetState(module);

	return PyBool_FromLong(state->problem && event_enabled(state->problem));
}

/* Returns the event "log", which the first call makes: a program may have one of its own. Borrowed. */
static struct event *message_event(struct state *state)
{
	struct event *message = NULL;
	PyObject *name, *fields;

	if (state->message)
		return state->message;
	name = PyUnicode_FromString("log");
	fields = Py_BuildValue("{ssssss}", "level", "u8<debug=10,info=20,warning=30,error=40,critical=50>", "logger",
	                       "z<=100", "message", "z<=900"); /* of the default --max-data of 1024 bytes */
	if (name && fields)
		message = event_make_free(state, name, "level=level", fields);
	/* Another thread may have been faster. */
	if (state->message)
		Py_XDECREF(message);
	else
		state->message = message;
	Py_XDECREF(name);
	Py_XDECREF(fields);
	return state->message;
}

static PyObject *get_message_event(PyObject *module, PyObject *none)
{
	PyObject *e = (PyObject *)message_event(PyModule_GetState(module));

	Py_XINCREF(e);
	return e;
}

/* In C, because a __del__ method may log while the interpreter ends, when nothing can be imported. */
static PyObject *log_message(PyObject *module, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = { "message", "level", "logger", NULL };
	PyObject *values[3] = { NULL, NULL, NULL };
	PyObject *message, *level = NULL, *logger = NULL, *result = NULL;
	struct event *e;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O|OO:log", names, &message, &level, &logger))
		return NULL;
	e = message_event(PyModule_GetState(module));
	if (!e || !event_enabled(e)) {
		if (e)
			Py_RETURN_NONE;
		return NULL;
	}
	values[0] = level ? level : PyLong_FromLong(20);
	values[1] = logger ? logger : PyUnicode_FromString("");
	values[2] = message;
	if (values[0] && values[1])
		result = e->vectorcall((PyObject *)e, values, 3, NULL);
	if (!level)
		Py_XDECREF(values[0]);
	if (!logger)
		Py_XDECREF(values[1]);
	return result;
}

/* Makes an event like Event(), under another name if the name has other fields. */
static PyObject *free_event(PyObject *module, PyObject *arguments, PyObject *fields)
{
	const char *attributes = "";
	PyObject *name;

	if (!PyArg_ParseTuple(arguments, "U|s", &name, &attributes))
		return NULL;
	return (PyObject *)event_make_free(PyModule_GetState(module), name, attributes, fields);
}

static PyMethodDef module_functions[] = {
	{ "enabled", enabled, METH_NOARGS,
	  "enabled()\n--\n\nReturns whether somebody traces this process, so that events are recorded." },
	{ "log", (PyCFunction)(void (*)(void))log_message, METH_VARARGS | METH_KEYWORDS,
	  "log(message, level=20, logger='')\n--\n\n"
	  "Records a message as the event \"log\", with a level of the module logging and the name of a logger." },
	{ "message_event", get_message_event, METH_NOARGS, NULL },
	{ "free_event", (PyCFunction)(void (*)(void))free_event, METH_VARARGS | METH_KEYWORDS, NULL },
	{ NULL, NULL, 0, NULL },
};

static int module_exec(PyObject *module)
{
	struct state *state = PyModule_GetState(module);

	if (event_add(module, state) < 0 || span_add(module, state) < 0 || traced_add(module, state) < 0 ||
	    calls_add(module, state) < 0 || PyModule_AddFunctions(module, span_functions) < 0 ||
	    PyModule_AddFunctions(module, calls_functions) < 0)
		return -1;
	return 0;
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
	struct state *state = PyModule_GetState(module);

	if (!state)
		return 0;
	Py_VISIT(state->event_type);
	Py_VISIT(state->span_type);
	Py_VISIT(state->open_type);
	Py_VISIT(state->traced_type);
	Py_VISIT(state->spans);
	Py_VISIT(state->counters);
	Py_VISIT(state->nothing);
	Py_VISIT(state->compile_fields);
	Py_VISIT(state->inferred);
	Py_VISIT(state->free_name);
	Py_VISIT(state->counter_fields);
	Py_VISIT(state->ready);
	Py_VISIT(state->rest);
	Py_VISIT(state->rest_counter);
	Py_VISIT(state->declared);
	Py_VISIT(state->enum_type);
	Py_VISIT(state->problem);
	Py_VISIT(state->message);
	Py_VISIT(state->call_begin);
	Py_VISIT(state->call_end);
	Py_VISIT(state->choose);
	Py_VISIT(state->disable);
	return 0;
}

/* Methods such as __del__ may still record events afterwards: module_free() takes the rest. */
static int module_clear(PyObject *module)
{
	struct state *state = PyModule_GetState(module);

	if (!state)
		return 0;
	state->calls = 0;
	Py_CLEAR(state->choose);
	Py_CLEAR(state->disable);
	Py_CLEAR(state->problem);
	return 0;
}

static void module_free(void *module)
{
	struct state *state = PyModule_GetState(module);

	if (!state)
		return;
	module_clear(module);
	Py_CLEAR(state->spans);
	Py_CLEAR(state->counters);
	Py_CLEAR(state->nothing);
	Py_CLEAR(state->compile_fields);
	Py_CLEAR(state->inferred);
	Py_CLEAR(state->free_name);
	Py_CLEAR(state->counter_fields);
	Py_CLEAR(state->ready);
	Py_CLEAR(state->rest);
	Py_CLEAR(state->rest_counter);
	Py_CLEAR(state->declared);
	Py_CLEAR(state->enum_type);
	Py_CLEAR(state->message);
	Py_CLEAR(state->call_begin);
	Py_CLEAR(state->call_end);
	Py_CLEAR(state->traced_type);
	Py_CLEAR(state->open_type);
	Py_CLEAR(state->span_type);
	Py_CLEAR(state->event_type);
}

static PyModuleDef_Slot module_slots[] = {
	{ Py_mod_exec, module_exec },
#if PY_VERSION_HEX >= 0x030C0000
	{ Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED },
#endif
	{ 0, NULL },
};

PyModuleDef extension = {
	PyModuleDef_HEAD_INIT,
	.m_name = "posixtrace._posixtrace",
	.m_doc = "Records events of Python programs with libposixtrace.",
	.m_size = sizeof(struct state),
	.m_methods = module_functions,
	.m_slots = module_slots,
	.m_traverse = module_traverse,
	.m_clear = module_clear,
	.m_free = module_free,
};

PyMODINIT_FUNC PyInit__posixtrace(void);

PyMODINIT_FUNC PyInit__posixtrace(void)
{
	return PyModuleDef_Init(&extension);
}
