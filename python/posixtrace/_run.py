#
# _run.py - runs a program with its functions or its tasks recorded
#
# Not in __main__.py, whose functions would be taken for those of the program.
#
# SPDX-License-Identifier: MIT

import argparse
import contextlib
import io
import os
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
    parser.add_argument('-m', dest='module', action='store_true', help='the program is a module')
    parser.add_argument('program', help='a script, or with -m a module')
    parser.add_argument('arguments', nargs=argparse.REMAINDER, help='of the program')
    return parser.parse_args()


def record_tasks():
    """Has the tasks of each new event loop recorded."""
    import asyncio  # which takes longer than all else here

    class Policy(asyncio.DefaultEventLoopPolicy):
        def new_event_loop(self):
            loop = super().new_event_loop()
            posixtrace.tasks(loop)
            return loop

    asyncio.set_event_loop_policy(Policy())


def run_script(path):
    """Runs a script as python3 does: as the module __main__, with its own directory first in sys.path."""
    with io.open_code(path) as file:
        code = compile(file.read(), path, 'exec', dont_inherit=True)
    module = types.ModuleType('__main__')
    module.__file__ = path
    module.__builtins__ = __builtins__
    sys.modules['__main__'] = module
    sys.path[0] = os.path.dirname(os.path.realpath(path))
    return lambda: exec(code, module.__dict__)


def main():
    options = arguments()
    if options.module:
        sys.path[0] = os.getcwd()
        run = lambda: runpy.run_module(options.program, run_name='__main__', alter_sys=True)
    else:
        try:
            run = run_script(options.program)
        except OSError as error:
            sys.exit(f'python3 -m posixtrace: {options.program}: {error.strerror}')
    sys.argv[:] = [options.program, *options.arguments]
    if options.tasks:
        record_tasks()
    recording = posixtrace.functions(options.include, options.exclude, options.wait) if options.functions \
        else contextlib.nullcontext()
    with recording:
        run()
