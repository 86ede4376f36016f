#!/usr/bin/env python3
#
# python.py - what a trace point of the Python package costs, beside an empty function call; and reading a log
#
#     PYTHONPATH=BUILD/python python3 bench/python.py [--read] [POSIXTRACE]
#
# --read: measures only how fast a log is read. Millions of events or values in a second of the processor's time, of the
# fastest of several rounds.
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
EVENTS = 100000
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


def write_log():
    """Records events with five fields."""
    import posixtrace

    row = posixtrace.Event("row", number="u64", time="u64/ns", size="u32/B", change="i32", part="f64")
    for i in range(EVENTS):
        row(i, 100 + i % 1000, i * 7 % 2**32, i % 100 - 50, i / 3)


def sum_numbers(log):
    for event in log:
        if event.name == 'row':
            event['number'] + event['size']


def read_log(path):
    """Prints how fast a log is read in several ways."""
    import posixtrace

    print(f'Python {sys.version.split()[0]}; a log of {EVENTS} events with five fields\n')
    for what, values, do in (
            ('for event in log', 1, lambda log: all(True for event in log)),
            ('two fields of each event', 1, sum_numbers),
            ('event.fields', 1, lambda log: all(True for event in log if event.fields)),
            ('where=', 1, lambda log: all(True for event in log)),
            ('one column', 1, lambda log: log.columns('row', 'number')),
            ('three columns', 3, lambda log: log.columns('row', '.time', 'number', 'part')),
            ('six columns', 6, lambda log: log.columns('row'))):
        best = 1e9
        for _ in range(ROUNDS):
            with posixtrace.open(path, where=(lambda event: event['size'] >= 0) if what == 'where=' else None) as log:
                before = time.process_time()
                do(log)
                best = min(best, time.process_time() - before)
        print(f'{what:26}{EVENTS * values / best / 1e6:6.1f} million {"values" if "column" in what else "events"}/s')


def measure_reading(posixtrace):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([posixtrace, 'record', '-q', '-s', '64M', '-o', f'{folder}/x.log', '--', sys.executable,
                        os.path.abspath(__file__), '--write-log'], check=True)
        read_log(f'{folder}/x.log')


def main():
    if '--write-log' in sys.argv:
        return write_log()
    if '--read' in sys.argv:
        sys.argv.remove('--read')
        return measure_reading(sys.argv[1] if len(sys.argv) > 1 else 'posixtrace')
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
    print()
    measure_reading(posixtrace)


main()
