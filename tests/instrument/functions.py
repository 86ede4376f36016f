#!/usr/bin/env python3
#
# functions.py - record --functions: the calls are those that programs count themselves; filters, stat, convert
#
#     functions.py POSIXTRACE LIBRARY CC|- CXX|-
#
# The programs are compiled here, without the options of the build. "-": there is no such compiler. clang and XRay are
# tried where clang is installed.
#
# SPDX-License-Identifier: MIT

import json
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / 'tool'))
import scene
from scene import Suite, equal

POSIXTRACE, LIBRARY = (Path(argument).resolve() for argument in sys.argv[1:3])
CC, CXX = (None if argument == '-' else argument.split() for argument in sys.argv[3:5])
HERE = Path(__file__).resolve().parent
HOOKS = ['-finstrument-functions']
XRAY = ['-fxray-instrument', '-fxray-instruction-threshold=1']
ALL = 'calls,jumps,threads,signals,fork'


def kinds(compiler, clang):
    """The ways in which programs are built: a name and a command."""
    if compiler:
        yield 'O0', [*compiler, '-O0', *HOOKS]
        yield 'O2', [*compiler, '-O2', *HOOKS]
    if shutil.which(clang):
        yield 'clang', [clang, '-O1', *HOOKS]
        yield 'xray', [clang, '-O2', *XRAY]


def build(source, kind, command):
    """Compiles a program once. Returns its path, or None if the compiler lacks something, such as XRay."""
    path = Path(f'{Path(source).stem}-{kind}').resolve()
    if not path.exists():
        done = subprocess.run([*command, '-g', '-w', '-pthread', HERE / source, '-o', path], capture_output=True,
                              text=True, timeout=300)
        if done.returncode != 0:
            print(f'{source} is not tried with {" ".join(map(str, command))}: {done.stderr.strip().splitlines()[-1]}')
            return None
    return path


def programs(source='functions_target.c', only=()):
    found = [(kind, build(source, kind, command)) for kind, command in
             (kinds(CXX, 'clang++') if source.endswith('.cpp') else kinds(CC, 'clang')) if not only or kind in only]
    found = [(kind, path) for kind, path in found if path]
    if not found:
        print('skipped: there is no compiler')
    return found


def record(program, what, *options, status=0):
    """Records a program. Returns the calls that it has counted."""
    Path('x.log').unlink(missing_ok=True)
    done = subprocess.run([POSIXTRACE, 'record', '-q', '--children', '-o', 'x.log', '-s', '16M', *options, '--',
                           program, what], capture_output=True, text=True, env=scene.ENVIRONMENT, timeout=100)
    equal(f'{program} {what}: {done.stderr}', done.returncode, status)
    return {name: int(number) for name, number in map(str.split, done.stdout.splitlines())}


def stat(*options):
    out, _ = scene.run(POSIXTRACE, 'stat', '--calls', '--call-tree', '--json', *options, 'x.log')
    return json.loads(out)


def calls(all_calls):
    return {function['name']: function['calls'] for function in all_calls['functions']}


def callers(all_calls):
    """Returns for each pair of a function and its caller, or '', the number of calls."""
    nodes = {node['id']: node for node in all_calls['tree']}
    pairs = Counter()
    for node in all_calls['tree']:
        pairs[node['name'], nodes[node['parent']]['name'] if 'parent' in node else ''] += node['calls']
    return pairs


def folded():
    out, _ = scene.run(POSIXTRACE, 'convert', '-q', '--to', 'folded', '-o', '-', 'x.log')
    return {tuple(stack.split(';')): int(ns) for stack, ns in (line.rsplit(' ', 1)
                                                               for line in out.decode().splitlines())}


def test_counts():
    """As many calls as the program has counted, each in the function that called it, and each with its end."""
    for kind, program in programs():
        counted = record(program, ALL, '--functions')
        found = stat()
        names = calls(found)
        equal(f'{kind}: calls', {name: names.get(name) for name in counted}, counted)
        equal(f'{kind}: open, without a begin', (found['open'], found['no_begin']), (0, 0))
        pairs = callers(found)
        for name, inside in (('after', 'catcher'), ('catcher', 'do_jumps'), ('handler', 'do_signals'),
                             ('jumping_handler', 'do_signals')):
            equal(f'{kind}: {name} in {inside}', pairs[name, inside], counted[name])
        equal(f'{kind}: middle in worker', pairs['middle', 'worker'], 400)
        equal(f'{kind}: leaf in handlers', pairs['leaf', 'handler'] + pairs['leaf', 'jumping_handler'],
              counted['handler'] + counted['jumping_handler'])


def test_times():
    """Self times add up to the total of the outermost calls, in the tree, in the table and in folded stacks."""
    for kind, program in programs(only=['O0', 'clang']):
        record(program, 'calls,jumps,threads', '--functions')
        found = stat()
        outermost = sum(node['total'] for node in found['tree'] if node['depth'] == 0)
        equal(f'{kind}: tree', sum(node['self'] for node in found['tree']), outermost)
        equal(f'{kind}: functions', sum(function['self'] for function in found['functions']), outermost)
        equal(f'{kind}: folded', sum(folded().values()), outermost)
        for function in found['functions']:
            assert function['min'] <= function['percentiles']['50'] <= function['max'] <= function['total'] * 1.01 + 1


def test_recursion():
    for kind, program in programs(only=['O2', 'xray']):
        record(program, 'calls', '--functions')
        found = stat()
        nodes = {node['id']: node for node in found['tree']}
        levels = Counter()
        for node in found['tree']:
            if node['name'] == 'recurse':
                depth, above = 1, node
                while 'parent' in above and nodes[above['parent']]['name'] == 'recurse':
                    depth, above = depth + 1, nodes[above['parent']]
                levels[depth] += node['calls']
        # recurse(10) calls recurse(9) and recurse(8), and so on.
        expected, arguments = Counter(), Counter({10: 1})
        for depth in range(1, 12):
            expected[depth] = sum(arguments.values())
            arguments = sum((Counter({n - 1: m}) + Counter({n - 2: m}) for n, m in arguments.items() if n >= 2),
                            Counter())
        equal(f'{kind}: levels', dict(levels), {depth: n for depth, n in expected.items() if n})


def test_filters():
    for kind, program in programs(only=['O2', 'xray']):
        counted = record(program, 'calls', '--functions=lea?')
        equal(f'{kind}: one name', calls(stat()), {'leaf': counted['leaf']})
        record(program, 'calls', '--functions=[l-m]*', '--functions=!leaf')
        found = calls(stat())
        found.pop('main', None)
        equal(f'{kind}: all but one', found, {'middle': counted['middle']})
        record(program, 'calls', '--functions-in=middle')
        equal(f'{kind}: inside', callers(stat()), {('middle', ''): 1, ('leaf', 'middle'): 10})
        record(program, 'calls', '--functions=recurse', '--functions-depth=2')
        equal(f'{kind}: depth', callers(stat()), {('recurse', ''): 1, ('recurse', 'recurse'): 2})


def test_longer():
    """Calls that take long are there, others are not; the program sleeps in one of them."""
    for kind, program in programs(only=['O2', 'xray']):
        record(program, 'slow', '--functions=!main', '--functions-longer-than', '30ms')
        found = [function for function in stat()['functions'] if function['name'] == 'slow']
        equal(f'{kind}: calls', [function['calls'] for function in found], [1])
        assert found[0]['total'] >= 30000000, found
        record(program, 'calls,slow', '--functions', '--functions-longer-than', '1ns')
        found = stat()
        pairs = callers(found)
        equal(f'{kind}: nested', (pairs['leaf', 'middle'], pairs['leaf', 'slow'], pairs['middle', 'leaf']), (12, 1, 0))
        record(program, 'calls', '--functions', '--functions-longer-than', '1h')
        out, _ = scene.run(POSIXTRACE, 'report', 'x.log')
        assert b'function.call' not in out, out


def test_killed():
    """Of a killed program all calls are there, and those that it was in have no end."""
    for kind, program in programs():
        done = record(program, 'calls,killed', '--functions', status=128 + signal.SIGKILL)
        found = stat()
        equal(f'{kind}: calls', {name: calls(found).get(name) for name in done}, done)


def test_slices():
    """Slices of Chrome and Perfetto have the names of functions, and nest."""
    for kind, program in programs(only=['O2']):
        counted = record(program, 'calls', '--functions')
        scene.run(POSIXTRACE, 'convert', '-q', '--to', 'chrome', '-o', 'x.json', 'x.log')
        open_slices, seen = [], Counter()
        for event in json.loads(Path('x.json').read_text())['traceEvents']:
            if event['ph'] == 'B':
                open_slices.append(event['name'])
                seen[event['name']] += 1
            elif event['ph'] == 'E':
                equal('innermost slice', event['name'], open_slices.pop())
            elif event['ph'] == 'b':
                seen[event['name']] += 1
        equal('open slices', open_slices, [])
        equal('slices', {name: seen[name] for name in counted}, counted)
        scene.run(POSIXTRACE, 'convert', '-q', '--to', 'perfetto', '-o', 'x.pftrace', 'x.log')
        assert all(name.encode() in Path('x.pftrace').read_bytes() for name in counted)
        out, _ = scene.run(POSIXTRACE, 'report', '--symbols', 'x.log')
        assert b'functions_target.c' in out and b'took' in out


def test_names():
    """Names of C++ are qualified; exceptions leave functions, whichever compiler calls hooks for them."""
    expected = {'caught': 10, 'shape::fail': 40, 'shape::circle::circle': 42, 'shape::circle::~circle': 42,
                '(anonymous namespace)::after': 20, 'shape::circle::draw': 1, 'shape::area<int>': 5,
                'shape::area<double>': 1, 'shape::circle::operator()': 1, 'shape::circle::operator<': 1}
    for kind, program in programs('functions_cpp.cpp'):
        record(program, '', '--functions')
        found = stat()
        names = calls(found)
        names.pop('main', None)
        equal(f'{kind}: calls', names, expected)
        equal(f'{kind}: open, without a begin', (found['open'], found['no_begin']), (0, 0))
        pairs = callers(found)
        equal(f'{kind}: after in caught', pairs['(anonymous namespace)::after', 'caught'], 20)
        record(program, '', '--functions=shape::*', '--functions=!shape::circle::*')
        equal(f'{kind}: selected', calls(stat()), {'shape::fail': 40, 'shape::area<int>': 5, 'shape::area<double>': 1})


def test_nobody():
    """A program that nobody records does the same as without the library."""
    for kind, program in programs():
        outputs = []
        for preload in ({}, {'LD_PRELOAD': str(LIBRARY)}):
            done = subprocess.run([program, ALL], capture_output=True, timeout=60,
                                  env={**scene.ENVIRONMENT, **preload})
            outputs.append((done.returncode, done.stdout, done.stderr))
        equal(f'{kind}: output', outputs[1], outputs[0])
    # A program whose functions are not instrumented leaves nothing, not even while it runs.
    out = subprocess.run(['sh', '-c', 'ls /dev/shm/*/*-$$-* 2>/dev/null; exit 0'], capture_output=True,
                         env={**scene.ENVIRONMENT, 'LD_PRELOAD': str(LIBRARY)}).stdout
    equal('files of a program without functions', out, b'')


def test_exec():
    """The functions of a program that another one has executed are in none of its functions."""
    for kind, program in programs(only=['O0']):
        Path('x.log').unlink(missing_ok=True)
        script = f'{program} calls; exec {program} calls'
        subprocess.run([POSIXTRACE, 'record', '-q', '--children', '-o', 'x.log', '--functions', '--', 'sh', '-c',
                        script], capture_output=True, check=True, env=scene.ENVIRONMENT, timeout=60)
        equal('calls', callers(stat())['middle', ''], 2)


def test_hazards():
    """Calls before and after main(), in handlers, in threads that are cancelled, in malloc(), very deep."""
    for kind, program in programs('functions_hazards.c', only=['O0']):
        for options in (['--functions'], ['--functions=leaf,tick,thread']):
            counted = record(program, '', *options, status=3)
            if len(options[0]) > len('--functions'):
                del counted['deep']
            found = stat()
            names = calls(found)
            equal(f'{options}: calls', {name: names.get(name) for name in counted}, counted)
            equal(f'{options}: open', found['open'], 0)
        record(program, '', '--functions-longer-than', '1us', status=3)
        # A duration out of a frame that a handler has taken would be years.
        assert all(function['max'] < 10**12 for function in stat()['functions']), stat()


def test_registers():
    """All registers of arguments and results are as they were, and another handler of the program is called."""
    for kind, program in programs('functions_registers.c', only=['xray']):
        record(program, 'registers', '--functions')
        equal(f'{kind}: calls', {name: calls(stat())[name] for name in ('many', 'tail', 'variable', 'two', 'vector')},
              {'many': 200, 'tail': 100, 'variable': 100, 'two': 100, 'vector': 100})
        record(program, 'other', '--functions')


def test_messages():
    out, error = scene.run(POSIXTRACE, 'record', '--functions=', '-o', 'x.log', '--', 'true', status=2)
    assert b'pattern is empty' in error, error
    # A program without instrumented functions: --functions is in vain, but with --children for those that it starts.
    for children, words in (([], [b'neither the program nor a library', b'-finstrument-functions']),
                            (['--children'], [])):
        done = subprocess.run([POSIXTRACE, 'record', '-q', '-o', 'x.log', *children, '--functions', '--', 'true'],
                              check=True, capture_output=True, env=scene.ENVIRONMENT, timeout=60)
        equal(f'{children}: message', ([word in done.stderr for word in words], b'neither' in done.stderr),
              ([True] * len(words), bool(words)))
    if Path('x.log').exists():
        out, error = scene.run(POSIXTRACE, 'stat', '--calls', 'x.log', status=1)
        assert b'-finstrument-functions' in error, error
        assert b'select none' in error, error
    # Patterns that match nothing: no recording of one event, and the log of before stays.
    for kind, program in programs(only=['O0']):
        record(program, 'calls', '--functions')
        before = Path('x.log').read_bytes()
        out, error = scene.run(POSIXTRACE, 'record', '-o', 'x.log', '--functions=no_such_*', '--', program, 'calls')
        for words in (b'no events were recorded', b'matches --functions=no_such_*', b' functions; ', b'stat --calls',
                      b'is the previous log, unchanged'):
            assert words in error, (words, error)
        assert b'1 event' not in error, error
        equal(f'{kind}: log of before', Path('x.log').read_bytes(), before)
        Path('x.log').unlink()
    # What cannot be used is told: it calls nothing where a function ends.
    Path('plain.c').write_text('int main(void) { return 0; }\n')
    for option in ('-pg', '-fpatchable-function-entry=5') if CC else ():
        if subprocess.run([*CC, option, 'plain.c', '-o', 'plain'], capture_output=True).returncode != 0:
            continue
        out, error = scene.run(POSIXTRACE, 'record', '--functions', '-o', 'x.log', '--', './plain', status=None)
        wanted = option.partition('=')[0] + ', which tells of no end of a function'
        assert wanted in error.decode() and '-finstrument-functions' in error.decode(), error
        out, error = scene.run(POSIXTRACE, 'doctor', './plain', status=None)
        assert wanted in out.decode(), out
    Path('plain').unlink(missing_ok=True)


scene.private()
Suite(globals()).main()
