#
# __init__.py - trace points for Python programs, recorded by libposixtrace; and logs, read by libposixtrace-log
#
#     order = posixtrace.Event("shop.order", id="u32", item="z")
#     order(7, "tea")
#
#     with posixtrace.open("posixtrace.log") as log:
#         for event in log:
#             print(event.time, event.name, event.fields)
#
# docs/python.md. While nobody traces the process, a trace point is a call that returns at once.
#
# SPDX-License-Identifier: MIT

"""Trace points for Python programs."""

import importlib
import sys

try:
    from ._posixtrace import Event, Span, counter, enabled, log, span
except ModuleNotFoundError as error:
    from ._missing import explain
    raise explain(error) from None

# Loaded when they are used: a program that only records events need not import asyncio, or a reader.
_READER = ['Log', 'LogEvent', 'LogType', 'Loss', 'LossError', 'LossWarning', 'Meaning', 'live']
_LATER = {'Handler': '_logging', 'functions': '_functions', 'tasks': '_tasks', 'traced': '_traced',
          **dict.fromkeys(['open', *_READER], '_log_reader')}

# Without open, which would hide Python's own after `from posixtrace import *`.
__all__ = ['Event', 'Span', 'counter', 'enabled', 'log', 'span', *_LATER]
__all__.remove('open')


class _Nothing:
    """What cannot be loaded any more while the interpreter ends: functions() and Handler that do nothing."""

    level = 0

    def __init__(self, *arguments, **more):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        pass

    def __call__(self, function):
        return function

    def __getattr__(self, name):
        return lambda *arguments: None


def _untraced(function=None, *, name=None):
    return function if callable(function) else lambda function: function


_AT_EXIT = {'Handler': _Nothing, 'functions': _Nothing, 'tasks': lambda loop=None: None, 'traced': _untraced}


# The defaults: while the interpreter ends, the names of modules may be gone.
def __getattr__(name, later=_LATER, at_exit=_AT_EXIT, load=importlib.import_module, sys=sys, own=globals()):
    if name not in later:
        raise AttributeError(f'module {own["__name__"]!r} has no attribute {name!r}')
    try:
        value = getattr(load(f'.{later[name]}', own['__name__']), name)
    except Exception:
        # Nothing can be imported then.
        if name in at_exit and sys.is_finalizing():
            return at_exit[name]
        raise
    own[name] = value
    return value


def __dir__():
    return sorted({*globals(), *_LATER})
