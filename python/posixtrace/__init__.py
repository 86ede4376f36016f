#
# __init__.py - trace points for Python programs, recorded by libposixtrace
#
#     order = posixtrace.Event("shop.order", id="u32", item="z")
#     order(7, "tea")
#
# docs/python.md. While nobody traces the process, a trace point is a call that returns at once.
#
# SPDX-License-Identifier: MIT

"""Trace points for Python programs."""

import importlib

from ._posixtrace import Event, Span, counter, enabled, span

# Loaded when they are used: a program that only records events need not import asyncio.
_LATER = {'Handler': '_logging', 'functions': '_functions', 'log': '_logging', 'tasks': '_tasks', 'traced': '_traced'}

__all__ = ['Event', 'Span', 'counter', 'enabled', 'span', *_LATER]


def __getattr__(name):
    if name not in _LATER:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    value = getattr(importlib.import_module(f'.{_LATER[name]}', __name__), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *__all__})
