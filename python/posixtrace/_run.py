#
# _run.py - runs a program with its functions or its tasks recorded
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
    parser.add_argument('-m', dest='module', action='store_true', help='the program is a module')
    parser.add_argument('program', help='a script, or with -m a module')
    parser.add_argument('arguments', nargs=argparse.REMAINDER, help='of the program')
    options = parser.parse_args()
    for name in 'include', 'exclude', 'wait':
        if getattr(options, name) and not options.functions:
            parser.error(f'--{name} is about --functions: give both')
    return options


def record_tasks():
    """Has the tasks of each new event loop recorded."""
    import asyncio  # which takes longer than all else here

    class Policy(asyncio.DefaultEventLoopPolicy):
        def new_event_loop(self):
            loop = super().new_event_loop()
            posixtrace.tasks(loop)
            return loop

    asyncio.set_event_loop_policy(Policy())


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
    recording = posixtrace.functions(options.include, options.exclude, options.wait) if options.functions \
        else contextlib.nullcontext()
    with recording:
        run()
