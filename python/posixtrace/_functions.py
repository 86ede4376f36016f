#
# _functions.py - functions(): records the calls of all functions that are written in Python
#
# Up to Python 3.11 by a profile function in C, from 3.12 on by callbacks of sys.monitoring in C: src/calls.c.
#
# SPDX-License-Identifier: MIT

import contextlib
import fnmatch
import sys
import threading

from . import _posixtrace
from ._posixtrace import enabled, free_event

refused = free_event('python.refused', what='z')
monitoring = getattr(sys, 'monitoring', None)
lock = threading.Lock()
depth = 0  # how many functions() are active
tool = None  # our number in sys.monitoring


def chooser(include, exclude):
    """Returns a function that tells whether the functions of a module are recorded."""
    known = {}

    def matches(module, patterns):
        return any(fnmatch.fnmatchcase(module, pattern) or module.startswith(f'{pattern}.') for pattern in patterns)

    def choose(module):
        if module not in known:
            known[module] = not matches(module, ('posixtrace', *exclude)) and \
                (not include or matches(module, include))
        return known[module]

    return choose


def callbacks():
    events = monitoring.events
    return {events.PY_START: _posixtrace.calls_begin, events.PY_RESUME: _posixtrace.calls_begin,
            events.PY_THROW: _posixtrace.calls_throw, events.PY_RETURN: _posixtrace.calls_end,
            events.PY_YIELD: _posixtrace.calls_end, events.PY_UNWIND: _posixtrace.calls_unwind}


def start_monitoring(choose):
    global tool
    # The number of profilers last: cProfile needs it, and may begin meanwhile.
    for number in (3, 4, monitoring.PROFILER_ID):
        if monitoring.get_tool(number) is None:
            break
    else:
        return False
    if not _posixtrace.calls_start(choose, monitoring.DISABLE):
        return False
    tool = number
    monitoring.use_tool_id(tool, 'posixtrace')
    chosen = 0
    for event, callback in callbacks().items():
        monitoring.register_callback(tool, event, callback)
        chosen |= event
    monitoring.set_events(tool, chosen)
    # What an earlier recording has disabled may be wanted now.
    monitoring.restart_events()
    return True


def stop_monitoring():
    """Returns whether all was recorded until now."""
    global tool
    _posixtrace.calls_stop()
    monitoring.set_events(tool, 0)
    for event in callbacks():
        monitoring.register_callback(tool, event, None)
    monitoring.free_tool_id(tool)
    tool = None
    return True


def start_profile(choose):
    if threading._profile_hook:
        return False
    threading.setprofile(_posixtrace.profile_thread)
    if not _posixtrace.calls_start(choose, None):
        threading.setprofile(None)
        return False
    return True


def stop_profile():
    complete = _posixtrace.calls_stop()
    if threading._profile_hook is _posixtrace.profile_thread:
        threading.setprofile(None)
        return complete
    return False


class functions(contextlib.ContextDecorator):
    """Records python.call.begin and python.call.end for each call of a function that is written in Python.

    include, exclude: patterns of modules, "shop", "shop.*"; a package stands for all of its modules.
    wait: if nobody traces when the recording begins, wait for it; otherwise nothing is recorded then.
    Within another functions() nothing changes. If another profiler is active, an event "python.refused" is
    recorded instead; if one begins meanwhile, it is recorded at the end."""

    def __init__(self, include=(), exclude=(), wait=False):
        self.choose = chooser(*((patterns,) if isinstance(patterns, str) else tuple(patterns)
                                for patterns in (include, exclude)))
        self.wait = wait
        self.started = []

    def __enter__(self):
        global depth
        started = False
        with lock:
            if self.wait or enabled():
                if depth == 0:
                    started = start_monitoring(self.choose) if monitoring else start_profile(self.choose)
                    if not started:
                        refused('functions(): another profiler is active')
                else:
                    started = True
                depth += started
            self.started.append(started)
        return self

    def __exit__(self, *exception):
        global depth
        with lock:
            if self.started.pop():
                depth -= 1
                if depth == 0:
                    complete = stop_monitoring() if monitoring else stop_profile()
                    if not complete:
                        refused('functions(): another profiler has begun meanwhile; what was called since is missing')
