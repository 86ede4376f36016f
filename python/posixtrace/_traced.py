#
# _traced.py - @posixtrace.traced: a span around each call of a function
#
# SPDX-License-Identifier: MIT

import functools
import inspect

from ._posixtrace import TracedFunction, number as new_number, pair

NAME_MOST = 63 - len('.begin')
IMPLICIT = {'__new__': staticmethod, '__init_subclass__': classmethod, '__class_getitem__': classmethod}


def name_of(function):
    """Returns module.function; of a name that is too long the end, behind an ellipsis."""
    name = f'{getattr(function, "__module__", None)}.{getattr(function, "__qualname__", type(function).__qualname__)}'
    name = name.encode(errors='backslashreplace')
    if len(name) > NAME_MOST:
        name = '…'.encode() + name[3 - NAME_MOST:].decode(errors='ignore').encode()
    return name.decode()


class Numbered:
    """Two events with a number by which they belong together, because the spans of a thread need not be nested."""

    def __init__(self, name):
        self.first, self.last = pair(name, 'by=id', {'id': 'u64'}, {'id': 'u64'})

    def begin(self):
        """Returns the number for end(), 0 if nobody traces."""
        if not self.first:
            return 0
        number = new_number()
        self.first(number)
        return number

    def end(self, number):
        if number:
            self.last(number)


def of_coroutine(function, name):
    span = Numbered(name)

    async def call(*arguments, **keywords):
        number = span.begin()
        try:
            return await function(*arguments, **keywords)
        finally:
            span.end(number)

    return call


def of_generator(function, name):
    span = Numbered(name)

    def call(*arguments, **keywords):
        number = span.begin()
        try:
            return (yield from function(*arguments, **keywords))
        finally:
            span.end(number)

    return call


def of_async_generator(function, name):
    span = Numbered(name)

    async def call(*arguments, **keywords):
        number = span.begin()
        generator = function(*arguments, **keywords)
        try:
            step = generator.asend(None)
            while True:
                try:
                    item = await step
                except StopAsyncIteration:
                    return
                try:
                    sent = yield item
                except GeneratorExit:
                    await generator.aclose()
                    raise
                except BaseException as error:
                    step = generator.athrow(error)
                else:
                    step = generator.asend(sent)
        finally:
            span.end(number)

    return call


def in_class(function):
    """Returns whether a function was defined in the body of a class."""
    outer, _, _ = function.__qualname__.rpartition('.')
    return bool(outer) and not outer.endswith('<locals>')


def wrap(function, name):
    if isinstance(function, (staticmethod, classmethod)):
        return type(function)(wrap(function.__func__, name))
    if not callable(function) or isinstance(function, type):
        raise TypeError(f'traced is for functions, not for {function!r}')
    name = name or name_of(function)
    if inspect.iscoroutinefunction(function):
        wrapper = of_coroutine(function, name)
    elif inspect.isasyncgenfunction(function):
        wrapper = of_async_generator(function, name)
    elif inspect.isgeneratorfunction(function):
        wrapper = of_generator(function, name)
    else:
        wrapper = TracedFunction(function, *pair(name))
    functools.update_wrapper(wrapper, function)
    # What a class makes of functions with these names in its body, and would not make of a TracedFunction.
    if isinstance(wrapper, TracedFunction) and inspect.isfunction(function) and in_class(function):
        implicit = IMPLICIT.get(function.__name__)
        return implicit(wrapper) if implicit else wrapper
    return wrapper


def traced(function=None, *, name=None):
    """Records NAME.begin and NAME.end around each call: @traced, @traced("name") or @traced(name="name").

    The name is module.function unless it is given. A coroutine or a generator is one span from its first step to its
    end; its events have a field id, because such spans need not be nested."""
    if isinstance(function, str):
        if name is not None:
            raise TypeError('traced: two names')
        function, name = None, function
    if name is not None and not isinstance(name, str):
        raise TypeError(f'traced: the name is a str, not {type(name).__name__}')
    if function is None:
        return lambda function: wrap(function, name)
    return wrap(function, name)
