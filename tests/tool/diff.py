#
# diff.py - posixtrace diff finds what is new, gone, or different, and nothing else
#
#     diff.py POSIXTRACE
#
# SPDX-License-Identifier: MIT

import json
import math
import os
import random
import struct
import sys
from pathlib import Path

import scene
from made_log import OVERFLOW, PREDEFINED, RESUME, Log
from scene import Suite, equal, write

POSIXTRACE = Path(sys.argv[1]).resolve()
SECOND = 10**9
# Of a percentile: half a step of the histogram.
ERROR = 1 / 256


def diff(*arguments, status):
    return scene.run(POSIXTRACE, 'diff', *arguments, status=status)


def changes(*arguments, status=1):
    found = json.loads(diff('--json', '--threshold', 5, *arguments, status=status)[0])
    return {(c['of'], c['name']): c for c in found['changes']}


class Made:
    """A log of ten seconds."""

    def __init__(self):
        self.log = Log()
        self.events = []

    def add(self, time, name, data=b'', **more):
        self.events.append((int(time), name, data, more))

    def regular(self, name, count, data=lambda n: b'', **more):
        for n in range(count):
            self.add(10 * SECOND * n / max(count - 1, 1), name, data(n), **more)

    def write(self, name):
        for time, event, data, more in sorted(self.events, key=lambda e: e[0]):
            self.log.event(time, event, data=data, **more)
        self.log.segment()
        return write(name, self.log.closed())


def spans(made, durations, begin='job.begin', end='job.end', tids=(100,)):
    for n, duration in enumerate(durations):
        at = 1000 + 9 * SECOND * n / len(durations)
        made.add(at, begin, tid=tids[n % len(tids)])
        made.add(at + duration, end, tid=tids[n % len(tids)])


def test_types():
    a, b = Made(), Made()
    for made, counts in ((a, {'same': 1000, 'more': 100, 'less': 500, 'gone': 3, 'few': 4}),
                         (b, {'same': 1020, 'more': 250, 'less': 100, 'new': 7, 'few': 8})):
        for name, count in counts.items():
            made.regular(name, count)
    found = changes(a.write('a.log'), b.write('b.log'))
    equal('names', set(found), {('type', name) for name in ('more', 'less', 'gone', 'new')})
    equal('kinds', {name: c['change'] for (_, name), c in found.items()},
          {'more': 'more', 'less': 'less', 'gone': 'gone', 'new': 'new'})
    equal('more', (found['type', 'more']['a'], found['type', 'more']['b']), (10, 25))
    equal('percent', round(found['type', 'less']['percent'], 6), -80)
    equal('new', (found['type', 'new']['a'], found['type', 'new']['b'], found['type', 'new']['percent']), (0, 7, None))
    found = changes('--threshold', 200, 'a.log', 'b.log')
    equal('threshold', set(found), {('type', 'gone'), ('type', 'new')})
    equal('decimal', b'no change of 10.5% or more' in diff('--threshold', 10.5, 'a.log', 'a.log', status=0)[0], True)
    equal('filter', changes('-e', 's*', 'a.log', 'b.log', status=0), {})
    equal('the same', changes('--threshold', 0, 'a.log', 'a.log', status=0), {})
    # Rates count, not numbers: half of the time, half of the events.
    half = Made()
    for n in range(500):
        half.add(5 * SECOND * n / 499, 'same')
    equal('rates', changes('-e', 'same', 'a.log', half.write('half.log'), status=0), {})


def test_spans():
    a, b = Made(), Made()
    chance = random.Random(3)
    before = [chance.expovariate(1e-6) for _ in range(1000)]
    spans(a, before, tids=(100, 101))
    spans(b, [3 * duration for duration in before], tids=(100, 101))
    for made in (a, b):
        spans(made, [1000] * 100, 'same.start', 'same.stop')
    spans(a, [1000] * 20, 'old.enter', 'old.leave')
    found = changes(a.write('a.log'), b.write('b.log'))
    job = found['span', 'job.begin, job.end']
    equal('measure', job['measure'] in ('50%', '90%', '99%'), True)
    exact = sorted(map(int, before))[math.ceil(1000 * float(job['measure'][:-1]) / 100) - 1]
    assert math.isclose(job['a'], exact, rel_tol=2 * ERROR), job
    assert math.isclose(job['b'], 3 * exact, rel_tol=2 * ERROR), job
    equal('gone', found['span', 'old.enter, old.leave']['change'], 'gone')
    equal('same', ('span', 'same.start, same.stop') in found, False)
    # Given by an option, in one thread and over all.
    spans(a, [100] * 20, 'x', 'y')
    spans(b, [200] * 20, 'x', 'y')
    found = changes('--span', 'x,y', a.write('a.log'), b.write('b.log'))
    equal('x, y', (found['span', 'x, y']['a'], found['span', 'x, y']['b']), (100, 200))


def test_losses():
    """No span goes on over lost events."""
    a, b = Made(), Made()
    for made in (a, b):
        spans(made, [1000] * 50)
    for n in range(20):
        b.add(9.5 * SECOND + n * 1000, 'job.begin')
        b.add(9.5 * SECOND + n * 1000 + 100, PREDEFINED[OVERFLOW], pid=0, tid=0)
        b.add(9.5 * SECOND + n * 1000 + 200, PREDEFINED[RESUME], pid=0, tid=0)
        b.add(9.5 * SECOND + n * 1000 + 900, 'job.end')
    found = changes(a.write('a.log'), b.write('b.log'))
    equal('spans', [key for key in found if key[0] == 'span'], [])


def test_fields():
    a, b = Made(), Made()
    layout = '{rows:u32,time:u32/us,big:u64,low:i32,part:f32,state:u32<idle,busy>,list:u8[4]}'

    def data(factor, n):
        return struct.pack('<IIQifI4s4x', 10 + n % 7, factor * (100 + n), (1 << 63) + n, -factor * (5 + n % 3),
                           0.5 * factor, n % 2 if factor == 1 else 1, bytes([factor] * 4))

    for made, factor in ((a, 1), (b, 2)):
        made.log.declare('row', layout)
        made.regular('row', 1000, lambda n: data(factor, n))
        made.log.declare('changed', '{one:u32,two:u32}' if factor == 1 else '{one:u32,three:u32}')
        made.regular('changed', 20, lambda n: struct.pack('<II', 5, 6))
    found = changes(a.write('a.log'), b.write('b.log'))
    equal('names', set(found), {('field', 'row time'), ('field', 'row low'), ('field', 'row part'),
                                ('field', 'changed two'), ('field', 'changed three')})
    equal('gone', found['field', 'changed two']['change'], 'gone')
    equal('new', found['field', 'changed three']['change'], 'new')
    for name in ('time', 'low', 'part'):
        c = found['field', f'row {name}']
        assert math.isclose(c['b'], 2 * c['a'], rel_tol=2 * ERROR), c
    equal('ns', 100_000 <= found['field', 'row time']['a'] <= 1_100_000, True)
    equal('where', b'no event satisfies --where' in diff('--where', 'rows < 10', 'a.log', 'b.log', status=2)[1], True)


def test_memory():
    """Fields that occur once, or a few times, take little memory, however many there are."""
    log = Log()
    for n in range(500):
        log.declare(f't{n}', '{' + ','.join(f'f{i}:u8' for i in range(32)) + '}')
    for n in range(1500):
        log.event(n, f't{n % 500}', data=bytes((n * i) % 256 for i in range(32)))
    log.segment()
    write('wide.log', log.closed())
    read, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(write_end, 1)
        os.execv(POSIXTRACE, ['posixtrace', 'diff', 'wide.log', 'wide.log'])
    os.close(write_end)
    with os.fdopen(read) as file:
        text = file.read()
    _, status, usage = os.wait4(pid, 0)
    equal('status', (status, 'no change' in text), (0, True))
    # With a table of all steps for each field it would be 1.8 GB.
    assert usage.ru_maxrss < 400000, f'{usage.ru_maxrss} kB'


def test_printed():
    a, b = Made(), Made()
    a.regular('tea', 100)
    b.regular('tea', 150)
    spans(a, [1000] * 20)
    spans(b, [5000] * 20)
    b.add(5, 'cake')
    lines = diff(a.write('a.log'), b.write('b.log'), status=1)[0].decode().splitlines()
    equal('sides', lines[:2], ['A  a.log: 140 events in 10 s', 'B  b.log: 191 events in 10 s'])
    equal('table', [line.split() for line in lines[3:]], [
        ['change', 'A', 'B', 'measure', 'of', 'name'],
        ['new', '0', '1', 'events', 'type', 'cake'],
        ['+400%', '1', 'us', '5', 'us', '50%', 'span', 'job.begin,', 'job.end'],
        ['+50%', '10', '15', 'per', 'second', 'type', 'tea']])
    lines = diff('-n', 1, 'a.log', 'b.log', status=1)[0].decode().splitlines()
    equal('lines', lines[-1], '... and 2 more, with --lines 0')
    lines = diff('a.log', 'a.log', status=0)[0].decode().splitlines()
    equal('nothing', lines[-1], 'no change of 10% or more')


def test_errors():
    made = Made()
    made.regular('tea', 10)
    file = made.write('a.log')
    for arguments, message in (([file], 'two logs'), ([file, file, file], 'two logs'),
                               ([file, 'missing'], 'No such file'),
                               (['-', '-'], 'one log only'), (['-e', 'teaa', file, file], 'there are tea'),
                               (['--where', 'x == 1', file, file], "no event type has a field 'x'"),
                               (['--threshold', '-1', file, file], '--threshold'),
                               (['--threshold', '1e3', file, file], 'a decimal number, such as 10.5'),
                               (['--where', 'pid == 3', file, file], 'no event satisfies --where'),
                               (['--pid', '3', file, file], 'no event is of a process given by --pid')):
        equal(message, message in diff(*arguments, status=2)[1].decode(), True)
    write('text', b'this is no log')
    diff(file, 'text', status=2)


Suite(globals()).main()
