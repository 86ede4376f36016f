#
# memory.py - stat --memory of a program that leaks: each block, by its caller
#
#     memory.py POSIXTRACE PROGRAM
#
# tests/tool/memory.py does the same for logs that were made.
#
# SPDX-License-Identifier: MIT

import json
import os
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / 'tool'))
import scene
from scene import Suite, equal

POSIXTRACE, PROGRAM = (os.path.abspath(a) for a in sys.argv[1:3])


def record(*arguments):
    """Records the program, and returns its processes and the functions with what they have."""
    scene.run(POSIXTRACE, 'record', '-q', '-s', '16M', '--children', '-o', 'x.log', '--libc', 'memory', '--', PROGRAM,
              *arguments)
    found = json.loads(scene.run(POSIXTRACE, 'stat', '--memory', '--json', 'x.log')[0])
    equal('missing', found['missing'], 0)
    functions = {}
    for caller in found['callers']:
        sums = functions.setdefault(caller.get('function'), [0, 0, 0, 0, 0])
        for i, (key, part) in enumerate([('allocated', 'blocks'), ('allocated', 'bytes'), ('not_freed', 'blocks'),
                                         ('not_freed', 'bytes')]):
            sums[i] += caller[key][part]
        sums[4] += caller['temporary']
    return found['processes'], functions


def check(functions, leaks=3):
    """allocations, bytes, not freed, bytes, temporary"""
    growing = sum(range(100, 2001, 100))
    handed = 2000
    equal('functions', {name: functions.get(name) for name in
                        ('leak_thousand', 'use_and_free', 'grow', 'make', 'child', 'main', 'consumer')},
          {'leak_thousand': [leaks, 1000 * leaks, leaks, 1000 * leaks, 0],
           'use_and_free': [50, 50 * 70, 0, 0, 50],
           'grow': [20, growing, 1, 2000, 0],
           # The threads take turns, so whether the parent allocates before the other one frees is not known; of what
           # is freed by the other thread nothing is temporary.
           'make': [2 + handed + 1, 5000000 + 40 * handed + 123, 0, 0, 2 - 1 + 1],
           'child': [1, 77, 1, 77, 0],
           'main': [1, 640, 1, 640, 0],
           'consumer': [667, 667 * 500, 0, 0, 667]})


def test_leaks():
    processes, functions = record()
    check(functions)
    parent, child = sorted(processes, key=lambda process: -process['allocated']['blocks'])
    for process in processes:
        equal('doubts', (process['unknown_frees'], process['unseen_frees'], process['failed']), (0, 0, 0))
        equal('whole', process['from_beginning'], True)
    equal('peak', [place['bytes'] for place in parent['at_peak'] if place.get('function') == 'make'], [5000000])
    equal('child', (child['inherited_freed'], child['not_freed']), (1, {'blocks': 1, 'bytes': 77}))
    equal('inherited', child['inherited']['blocks'], parent['not_freed']['blocks'] + 1)


def test_exec():
    processes, functions = record('exec')
    equal('processes', len(processes), 3)
    check(functions, leaks=4)


def test_text():
    record()
    text = scene.run(POSIXTRACE, 'stat', '--memory', 'x.log')[0].decode()
    line = next(line for line in text.splitlines() if 'leak_thousand' in line)
    equal('line', line.split()[:3], ['2.9', 'KiB', '3'])
    assert 'before the recording' not in text and 'no free' not in text, text


scene.private()
Suite(globals()).main()
