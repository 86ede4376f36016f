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

from ._posixtrace import Event, Span, counter, enabled, span

# Loaded when they are used: a program that only records events need not import asyncio, or a reader.
_READER = ['Log', 'LogEvent', 'LogType', 'Loss', 'LossError', 'LossWarning', 'Meaning', 'live']
_LATER = {'Handler': '_logging', 'functions': '_functions', 'log': '_logging', 'tasks': '_tasks', 'traced': '_traced',
          **dict.fromkeys(['open', *_READER], '_log_reader')}

# Without open, which would hide Python's own after `from posixtrace import *`.
__all__ = ['Event', 'Span', 'counter', 'enabled', 'span', *_LATER]
__all__.remove('open')


def __getattr__(name):
    if name not in _LATER:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    value = getattr(importlib.import_module(f'.{_LATER[name]}', __name__), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *_LATER})
