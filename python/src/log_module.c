/*
 * log_module.c - the module posixtrace._log, which is loaded when a program opens a log
 *
 * SPDX-License-Identifier: MIT
 */
#include "log_extension.h"

static int module_exec(PyObject *module)
{
	struct log_state *state = PyModule_GetState(module);

	return log_event_add(module, state) < 0 || log_reader_add(module, state) < 0 ? -1 : 0;
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
	struct log_state *state = PyModule_GetState(module);

	if (!state)
		return 0;
	Py_VISIT(state->reader_type);
	Py_VISIT(state->iterator_type);
	Py_VISIT(state->event_type);
	Py_VISIT(state->type_type);
	Py_VISIT(state->make_field);
	Py_VISIT(state->make_loss);
	Py_VISIT(state->make_meaning);
	Py_VISIT(state->tell_loss);
	return 0;
}

static int module_clear(PyObject *module)
{
	struct log_state *state = PyModule_GetState(module);

	if (!state)
		return 0;
	Py_CLEAR(state->make_field);
	Py_CLEAR(state->make_loss);
	Py_CLEAR(state->make_meaning);
	Py_CLEAR(state->tell_loss);
	Py_CLEAR(state->reader_type);
	Py_CLEAR(state->iterator_type);
	Py_CLEAR(state->event_type);
	Py_CLEAR(state->type_type);
	Py_CLEAR(state->empty_text);
	Py_CLEAR(state->empty_bytes);
	return 0;
}

static void module_free(void *module)
{
	module_clear(module);
}

static PyModuleDef_Slot module_slots[] = {
	{ Py_mod_exec, module_exec },
#if PY_VERSION_HEX >= 0x030C0000
	{ Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED },
#endif
	{ 0, NULL },
};

PyModuleDef log_extension = {
	PyModuleDef_HEAD_INIT,
	.m_name = "posixtrace._log",
	.m_doc = "Reads the logs of posixtrace with libposixtrace-log.",
	.m_size = sizeof(struct log_state),
	.m_slots = module_slots,
	.m_traverse = module_traverse,
	.m_clear = module_clear,
	.m_free = module_free,
};

PyMODINIT_FUNC PyInit__log(void);

PyMODINIT_FUNC PyInit__log(void)
{
	return PyModuleDef_Init(&log_extension);
}
