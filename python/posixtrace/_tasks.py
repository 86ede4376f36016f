#
# _tasks.py - tasks of asyncio as spans
#
# SPDX-License-Identifier: MIT

import asyncio
import sys

from . import _posixtrace

begin, end = _posixtrace.pair('asyncio.task', 'by=id', {'id': 'u64', 'coroutine': 'z'},
                              {'id': 'u64', 'name': 'z', 'how': 'u8<done,failed,cancelled>'})
DONE, FAILED, CANCELLED = range(3)


# In 3.13 a loop with a factory gives each task without a name the name "None".
if sys.version_info[:2] == (3, 13):
    class Task(asyncio.Task):
        def set_name(self, name):
            if name is not None:
                super().set_name(name)
else:
    Task = asyncio.Task


def name_of(coroutine):
    return getattr(coroutine, '__qualname__', None) or type(coroutine).__qualname__


def watch(task):
    """Records that the task begins, and has its end recorded."""
    if task.done():
        return
    number = _posixtrace.number()
    begin(number, name_of(task.get_coro()))

    def ended(task):
        # exception() would mark the exception as seen, and asyncio would not report it.
        how = CANCELLED if task.cancelled() else FAILED if getattr(task, '_exception', None) else DONE
        end(number, task.get_name(), how)

    task.add_done_callback(ended)


def tasks(loop=None):
    """Records the tasks of an event loop, by default of the running one, from now on: begin and end with a number.

    Tasks that exist already begin now. A task factory that the loop has remains in use. Called again, it does
    nothing."""
    try:
        loop = loop or asyncio.get_running_loop()
    except RuntimeError:
        raise RuntimeError('no event loop is running: call tasks() in a coroutine, or tasks(loop)') from None
    previous = loop.get_task_factory()
    if getattr(previous, 'of_posixtrace', False):
        return

    def factory(loop, coroutine, **more):
        task = previous(loop, coroutine, **more) if previous else Task(coroutine, loop=loop, **more)
        if begin and isinstance(task, asyncio.Future) and hasattr(task, 'get_coro'):
            watch(task)
        return task

    factory.of_posixtrace = True
    loop.set_task_factory(factory)
    if begin:
        for task in asyncio.all_tasks(loop):
            watch(task)
