/*
 * traced.c - TracedFunction, what @posixtrace.traced makes of a function: begins and ends a span around each call
 *
 * SPDX-License-Identifier: MIT
 */
#include "extension.h"

struct traced {
	PyObject_HEAD
	vectorcallfunc vectorcall;
	PyObject *function;
	struct span_events {
		struct event *begin, *end;
	} of;
	PyObject *dict, *references;
};

static PyObject *traced_call(PyObject *self, PyObject *const *values, size_t flags, PyObject *names)
{
	struct traced *t = (struct traced *)self;
	PyObject *function = t->function, *result;

	if (!POSIXTRACE_ENABLED() || !event_enabled(t->of.begin))
		return PyObject_Vectorcall(function, values, flags, names);
	Py_INCREF(self); /* the function may delete its own name */
	event_record(t->of.begin, NULL, 0);
	result = PyObject_Vectorcall(function, values, flags, names);
	event_record(t->of.end, NULL, 0);
	Py_DECREF(self);
	return result;
}

static PyObject *traced_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
	struct state *state = PyType_GetModuleState(type);
	PyObject *function, *begin, *end;
	struct traced *t;

	if (!PyArg_ParseTuple(arguments, "OO!O!:TracedFunction", &function, state->event_type, &begin,
	                      state->event_type, &end))
		return NULL;
	if (!PyCallable_Check(function))
		return PyErr_Format(PyExc_TypeError, "%R cannot be called", function);
	t = (struct traced *)type->tp_alloc(type, 0);
	if (!t)
		return NULL;
	Py_INCREF(function);
	Py_INCREF(begin);
	Py_INCREF(end);
	t->vectorcall = traced_call;
	t->function = function;
	t->of.begin = (struct event *)begin;
	t->of.end = (struct event *)end;
	return (PyObject *)t;
}

static int traced_traverse(PyObject *self, visitproc visit, void *arg)
{
	struct traced *t = (struct traced *)self;

	Py_VISIT(Py_TYPE(self));
	Py_VISIT(t->function);
	Py_VISIT(t->of.begin);
	Py_VISIT(t->of.end);
	Py_VISIT(t->dict);
	return 0;
}

static int traced_clear(PyObject *self)
{
	struct traced *t = (struct traced *)self;

	/* The others are no parts of cycles, and a call may come after this. */
	Py_CLEAR(t->dict);
	return 0;
}

static void traced_dealloc(PyObject *self)
{
	struct traced *t = (struct traced *)self;
	PyTypeObject *type = Py_TYPE(self);

	PyObject_GC_UnTrack(self);
	if (t->references)
		PyObject_ClearWeakRefs(self);
	Py_XDECREF(t->function);
	Py_XDECREF(t->of.begin);
	Py_XDECREF(t->of.end);
	Py_XDECREF(t->dict);
	type->tp_free(self);
	Py_DECREF(type);
}

/* Binds a method, as a function does. */
static PyObject *traced_get(PyObject *self, PyObject *object, PyObject *type)
{
	if (!object || object == Py_None) {
		Py_INCREF(self);
		return self;
	}
	return PyMethod_New(self, object);
}

static PyObject *traced_repr(PyObject *self)
{
	return PyUnicode_FromFormat("<traced %R>", ((struct traced *)self)->function);
}

/* Returns the name by which pickle finds the function again. */
static PyObject *traced_reduce(PyObject *self, PyObject *nothing)
{
	return PyObject_GetAttrString(self, "__qualname__");
}

static PyObject *traced_itself(PyObject *self, PyObject *nothing)
{
	Py_INCREF(self);
	return self;
}

/* Returns an attribute; what only the function has is that of the function. */
static PyObject *traced_getattro(PyObject *self, PyObject *name)
{
	PyObject *value = PyObject_GenericGetAttr(self, name);

	if (value || !PyErr_ExceptionMatches(PyExc_AttributeError))
		return value;
	PyErr_Clear();
	return PyObject_GetAttr(((struct traced *)self)->function, name);
}

/* Returns an attribute by which inspect, unittest.mock, dis and others look into a function. */
static PyObject *traced_inside(PyObject *self, void *name)
{
	return PyObject_GetAttrString(((struct traced *)self)->function, name);
}

static int traced_set_inside(PyObject *self, PyObject *value, void *name)
{
	return PyObject_SetAttrString(((struct traced *)self)->function, name, value);
}

/* For isinstance(): what is made of a function written in Python is one, as far as inspect is concerned. */
static PyObject *traced_class(PyObject *self, void *nothing)
{
	PyObject *function = ((struct traced *)self)->function;
	PyTypeObject *type = PyFunction_Check(function) ? Py_TYPE(function) : Py_TYPE(self);

	Py_INCREF(type);
	return (PyObject *)type;
}

static PyMemberDef traced_members[] = {
	{ "__vectorcalloffset__", T_PYSSIZET, offsetof(struct traced, vectorcall), READONLY, NULL },
	{ "__dictoffset__", T_PYSSIZET, offsetof(struct traced, dict), READONLY, NULL },
	{ "__weaklistoffset__", T_PYSSIZET, offsetof(struct traced, references), READONLY, NULL },
	{ NULL, 0, 0, 0, NULL },
};

static PyGetSetDef traced_attributes[] = {
	{ "__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL },
	{ "__class__", traced_class, NULL, NULL, NULL },
	{ "__code__", traced_inside, traced_set_inside, NULL, "__code__" },
	{ "__defaults__", traced_inside, traced_set_inside, NULL, "__defaults__" },
	{ "__kwdefaults__", traced_inside, traced_set_inside, NULL, "__kwdefaults__" },
	{ NULL, NULL, NULL, NULL, NULL },
};

static PyMethodDef traced_methods[] = {
	{ "__reduce__", traced_reduce, METH_NOARGS, NULL },
	{ "__copy__", traced_itself, METH_NOARGS, NULL },
	{ "__deepcopy__", traced_itself, METH_O, NULL },
	{ NULL, NULL, 0, NULL },
};

static PyType_Slot traced_slots[] = {
	{ Py_tp_new, traced_new },
	{ Py_tp_dealloc, traced_dealloc },
	{ Py_tp_traverse, traced_traverse },
	{ Py_tp_clear, traced_clear },
	{ Py_tp_call, PyVectorcall_Call },
	{ Py_tp_descr_get, traced_get },
	{ Py_tp_getattro, traced_getattro },
	{ Py_tp_repr, traced_repr },
	{ Py_tp_members, traced_members },
	{ Py_tp_getset, traced_attributes },
	{ Py_tp_methods, traced_methods },
	{ 0, NULL },
};

static PyType_Spec traced_spec = {
	.name = "posixtrace.TracedFunction",
	.basicsize = sizeof(struct traced),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
	.slots = traced_slots,
};

int traced_add(PyObject *module, struct state *state)
{
	state->traced_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &traced_spec, NULL);
	return state->traced_type ? PyModule_AddType(module, state->traced_type) : -1;
}
