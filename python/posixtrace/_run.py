#
# _run.py - runs a program with its functions, its tasks or its messages recorded
#
# Not in __main__.py, whose functions would be taken for those of the program.
#
# SPDX-License-Identifier: MIT

import argparse
import builtins
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import pkgutil
import runpy
import sys
import types

import posixtrace


def arguments():
    parser = argparse.ArgumentParser(prog='python3 -m posixtrace', allow_abbrev=False, description=(
        'Runs a Python program. posixtrace record -- python3 -m posixtrace --functions script.py records the calls of '
        'its functions.'))
    parser.add_argument('--functions', action='store_true', help='record the calls of functions written in Python')
    parser.add_argument('--include', metavar='MODULE', action='append', default=[],
                        help='only of these modules, patterns such as shop.*; a package stands for all of its modules')
    parser.add_argument('--exclude', metavar='MODULE', action='append', default=[], help='not of these modules')
    parser.add_argument('--wait', action='store_true',
                        help='also if nobody records when the program begins: for posixtrace record -p')
    parser.add_argument('--tasks', action='store_true', help='record the tasks of asyncio')
    parser.add_argument('--logging', action='store_true', help='record the messages of the module logging')
    parser.add_argument('-m', dest='module', action='store_true', help='the program is a module')
    parser.add_argument('program', help='a script, or with -m a module')
    parser.add_argument('arguments', nargs=argparse.REMAINDER, help='of the program')
    options = parser.parse_args()
    for name in 'include', 'exclude', 'wait':
        if getattr(options, name) and not options.functions:
            parser.error(f'--{name} is about --functions: give both')
    return options


def record_tasks():
    """Has the tasks of each event loop recorded once it runs, whatever policy or factory has made it."""
    import asyncio  # which takes longer than all else here

    set_loop = asyncio._set_running_loop

    def set_running_loop(loop):
        if loop is not None:
            posixtrace.tasks(loop)
        set_loop(loop)

    asyncio._set_running_loop = asyncio.events._set_running_loop = set_running_loop


def record_messages():
    """Has the messages of all loggers recorded. Not by a handler of the root logger: logging.basicConfig() would find
    one, and do nothing, and other programs remove it when they configure their own."""
    import logging

    handler = posixtrace.Handler()
    call = logging.Logger.callHandlers

    def call_handlers(logger, record):
        handler.handle(record)
        call(logger, record)

    logging.Logger.callHandlers = call_handlers


def has_first_folder():
    """Returns whether a folder of the program is first in sys.path: not with the options -P and -I."""
    return not (sys.flags.isolated or getattr(sys.flags, 'safe_path', False))


def first_folder(folder):
    if has_first_folder():
        sys.path[0] = folder


def run_folder(path):
    """Runs the __main__.py in a folder or an archive, which comes first in sys.path, even with -P."""
    sys.path[:has_first_folder()] = [path]
    own = sys.modules.pop('__main__')
    spec = importlib.util.find_spec('__main__')
    sys.modules['__main__'] = own
    if not spec:
        sys.exit(f"python3 -m posixtrace: can't find '__main__' module in {path!r}")
    code = spec.loader.get_code('__main__')
    module = importlib.util.module_from_spec(spec)
    module.__builtins__ = builtins
    sys.modules['__main__'] = module
    return lambda: exec(code, module.__dict__)


def run_script(path):
    """Runs a script as python3 does: as the module __main__, with its own directory first in sys.path."""
    whole = path if os.path.isabs(path) else os.path.join(os.getcwd(), path)
    if pkgutil.get_importer(path):
        return run_folder(whole)
    with io.open_code(path) as file:
        code = compile(file.read(), whole, 'exec', dont_inherit=True)
    module = types.ModuleType('__main__')
    module.__file__ = whole
    module.__builtins__ = builtins
    module.__cached__ = None
    if sys.version_info < (3, 14):
        module.__annotations__ = {}
    module.__loader__ = importlib.machinery.SourceFileLoader('__main__', whole)
    sys.modules['__main__'] = module
    first_folder(os.path.dirname(os.path.realpath(path)))
    return lambda: exec(code, module.__dict__)


def main():
    options = arguments()
    if options.module:
        first_folder(os.getcwd())
        run = lambda: runpy.run_module(options.program, run_name='__main__', alter_sys=True)
    else:
        try:
            run = run_script(options.program)
        except OSError as error:
            sys.exit(f'python3 -m posixtrace: {options.program}: {error.strerror}')
    sys.argv[:] = [options.program, *options.arguments]
    if options.tasks:
        record_tasks()
    if options.logging:
        record_messages()
    recording = posixtrace.functions(options.include, options.exclude, options.wait) if options.functions \
        else contextlib.nullcontext()
    with recording:
        run()
