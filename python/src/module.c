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

static PyMethodDef module_functions[] = {
	{ "enabled", enabled, METH_NOARGS,
	  "enabled()\n--\n\nReturns whether somebody traces this process, so that events are recorded." },
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
	Py_VISIT(state->problem);
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
