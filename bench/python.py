#!/usr/bin/env python3
#
# python.py - what a trace point of the Python package costs, beside an empty function call
#
#     PYTHONPATH=BUILD/python python3 bench/python.py [POSIXTRACE]
#
# Prints nanoseconds for each call, the least of several rounds, without the loop around it: untraced, and under
# POSIXTRACE record. Functions: a recursive program under functions() and under cProfile.
#
# SPDX-License-Identifier: MIT

import cProfile
import json
import os
import subprocess
import sys
import tempfile
import time
import timeit

ROUNDS, CALLS = 15, 10000
SETUP = '''
import posixtrace
order = posixtrace.Event("shop.order", id="u32", item="z")
plain = posixtrace.Event("plain")
real = posixtrace.Event("real", value="f64")
work = posixtrace.Span("shop.work")
def nothing(): pass
traced = posixtrace.traced(nothing)
item = "a pot of tea"
'''
CASES = {
    'empty function': 'nothing()',
    'if order:': 'if order: pass',
    'plain()': 'plain()',
    'order(7, item)': 'order(7, item)',
    'order(id=7, item=item)': 'order(id=7, item=item)',
    'real(0.5)': 'real(0.5)',
    'counter("queue", 7)': 'posixtrace.counter("queue", 7)',
    'with work():': 'with work(): pass',
    'with span("work", id=7):': 'with posixtrace.span("work", id=7): pass',
    'function with @traced': 'traced()',
}


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def call_seconds(begin, end):
    """Returns the seconds that fib(13), 753 calls, takes between begin() and end()."""
    best = 1e9
    for _ in range(500):
        begin()
        before = time.perf_counter()
        fib(13)
        best = min(best, time.perf_counter() - before)
        end()
    return best / 753 * 1e9


def measure():
    """Returns nanoseconds for each case."""
    import posixtrace

    names = {'posixtrace': posixtrace}
    exec(SETUP, names)
    loop = min(timeit.repeat('pass', repeat=ROUNDS, number=CALLS))
    found = {name: (min(timeit.repeat(case, globals=names, repeat=ROUNDS, number=CALLS)) - loop) / CALLS * 1e9
             for name, case in CASES.items()}
    found['fib(13), a call'] = call_seconds(lambda: None, lambda: None)
    functions = posixtrace.functions(wait=True)
    found['the same in functions()'] = call_seconds(functions.__enter__, lambda: functions.__exit__(None, None, None))
    profile = cProfile.Profile()
    found['the same under cProfile'] = call_seconds(profile.enable, profile.disable)
    return found


def main():
    posixtrace = sys.argv[1] if len(sys.argv) > 1 else 'posixtrace'
    if posixtrace == '--measure':
        print(json.dumps(measure()))
        return
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, os.path.abspath(__file__), '--measure']
        recorded = [posixtrace, 'record', '-q', '-s', '64M', '--policy', 'loop', '-o', f'{folder}/x.log', '--',
                    *command]
        untraced, traced = (json.loads(subprocess.run(each, check=True, capture_output=True, text=True).stdout)
                            for each in (command, recorded))
    empty = untraced['empty function']
    print(f'Python {sys.version.split()[0]}; an empty function call: {empty:.1f} ns\n')
    print(f'{"":26}{"untraced":>10}{"recorded":>10}  times an empty call')
    for name in untraced:
        print(f'{name:26}{untraced[name]:7.1f} ns{traced[name]:7.1f} ns{untraced[name] / empty:8.1f}'
              f'{traced[name] / empty:6.1f}')


main()
