#
# stat.py - posixtrace stat counts and measures what is in a log, no more and no less
#
#     stat.py POSIXTRACE STAT_LOG [--golden]     --golden: writes golden/stat.txt anew
#
# SPDX-License-Identifier: MIT

import fcntl
import json
import math
import os
import pty
import random
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import scene
from made_log import OVERFLOW, PREDEFINED, RESUME, START, STOP, Log
from scene import ENVIRONMENT, Suite, equal, expect, has_terminals, write

POSIXTRACE, STAT_LOG = (Path(p).resolve() for p in sys.argv[1:3])
GOLDEN = Path(__file__).resolve().parent / 'golden' / 'stat.txt'
# Of a percentile: half a step of the histogram.
ERROR = 1 / 256


def run(*arguments, status=0, locale='C.UTF-8', system=('--system',)):
    out, messages = scene.run(POSIXTRACE, 'stat', *system, *arguments, status=status, environment={'LC_ALL': locale})
    return (messages if status else out).decode()


def stat(*arguments):
    return json.loads(run('--json', *arguments))


def by(rows, *keys):
    return {tuple(row[key] for key in keys) if len(keys) > 1 else row[keys[0]]: row for row in rows}


def some(row, *keys):
    return tuple(row[key] for key in keys)


def small_log():
    """Two processes, three threads, a declared layout, truncated data, a hole."""
    log = Log(name='shop', target=100)
    log.process(100, '/usr/bin/shop')
    log.event(0, PREDEFINED[START], pid=0, tid=0, data=bytes(4))
    log.event(1000, 'sale{items:u32}', tid=100, data=b'abcd')
    log.event(2000, 'sale', tid=101, thread='till', data=b'abcdefgh')
    log.event(7000, 'sale', tid=101, thread='till', data=b'abcdefgh', truncated=True)
    log.segment()
    log.event(8000, 'refund', pid=200, tid=200, thread='office')
    log.event(9000, PREDEFINED[OVERFLOW], pid=0, tid=0)
    log.event(11000, PREDEFINED[RESUME], pid=0, tid=0)
    log.event(20000, 'sale', tid=101, thread='till', data=b'abcdefgh')
    log.segment(lost=5)
    log.event(1_000_000_000, PREDEFINED[STOP], pid=0, tid=0, data=struct.pack('=i', 0))
    log.segment()
    return log


def test_counts():
    log = small_log()
    file = write('small.log', log.closed(lost=5, status=2))
    found = stat(file)
    types = by(found['types'], 'name')
    numbers = 'events', 'bytes', 'truncated', 'first', 'last', 'longest_pause', 'longest_pause_from', 'per_second'
    equal('types', [row['name'] for row in found['types']],
          ['sale', 'posix_trace_overflow', 'posix_trace_resume', 'posix_trace_start', 'posix_trace_stop', 'refund'])
    at = log.created
    equal('sale', some(types['sale'], *numbers), (4, 28, 1, at + 1000, at + 20000, 13000, at + 7000, 4.0))
    equal('refund', some(types['refund'], *numbers), (1, 0, 0, at + 8000, at + 8000, 0, 0, 1.0))
    processes = by(found['processes'], 'pid')
    equal('processes', [(row['pid'], row['events'], row['bytes'], row['executable']) for row in found['processes']],
          [(0, 4, 8, None), (100, 4, 28, '/usr/bin/shop'), (200, 1, 0, None)])
    equal('process', some(processes[0], *numbers[3:7]), (at, at + 10**9, 999989000, at + 11000))
    threads = by(found['threads'], 'pid', 'tid')
    equal('threads', {key: some(row, 'events', 'name') for key, row in threads.items()},
          {(0, 0): (4, None), (100, 101): (3, 'till'), (100, 100): (1, 'main'), (200, 200): (1, 'office')})
    keys = ('file complete name version host kernel machine created target creator stream_policy log_policy events '
            'first '
            'last lost discarded missing truncated stream_overrun stream_full skipped_bytes')
    equal('file', some(found['files'][0], *keys.split()),
          ('small.log', True, 'shop', 'posixtrace 1', 'host', '6.1', 'x86_64', at, 100, 99, 'FLUSH', 'APPEND', 9, at,
           at + 10**9, 5, 0, 0, 1, True, False, 0))
    equal('holes', found['files'][0]['holes'], [{'from': at + 9000, 'until': at + 11000, 'reason': 'lost'}])


def grouped(*arguments):
    found = stat(*arguments)
    return {tuple(row['by'].values()): row for row in found['groups']}, found['without']


def test_large_reals():
    """Percentiles of real numbers that are too large for millionths, alone and after smaller ones and integers."""
    for kind, form in (('f64', 'd'), ('i64', 'q')):
        for factor in (1, 10**15, -10**15, 10**18, 1e200):
            log = Log()
            log.declare('a', f'{{v:{kind}}}')
            log.declare('b', '{v:f64}')
            values = [factor * n for n in range(1, 6)]
            for n, v in enumerate(values[:4]):
                log.event(n, 'a', data=struct.pack('<' + form, v if form == 'd' or abs(v) < 1 << 63 else 0))
            log.event(9, 'b', data=struct.pack('<d', values[4]))
            if form == 'q' and abs(factor) > 10**18:
                continue
            log.segment()
            write('large.log', log.closed())
            found = stat('--of', 'v', 'large.log')['groups'][0]['of']
            for percent, value in (('50', values[2]), ('99.9', max(values))):
                expect(abs(found['percentiles'][percent] / value - 1) < 0.05, (kind, factor, percent, found))


def groups_log():
    """Random events with fields, and their values."""
    chance = random.Random(2)
    log, values = Log(), []
    log.declare('job', '{state:u8<idle,busy,done>,key:c[3],size:i64/B,time:u32/us,part:f64}')
    for n in range(1000):
        value = (chance.randrange(4), chance.choice(['abc', 'x', '']), chance.randrange(-5000, 5000),
                 int(chance.expovariate(1e-4)), chance.random())
        values.append(value)
        data = struct.pack('<B3s4xqI4xd', value[0], value[1].encode(), *value[2:])
        log.event(n * 1000, 'job', tid=100 + n % 2, thread=f't{n % 2}', data=data)
    log.event(10**7, 'bare')
    log.segment()
    return log.closed(), values


def check_spread(what, row, values):
    """Compares the members of a row with those of the values, in which percentiles have a small error."""
    values = sorted(values)
    equal(what, some(row, 'count', 'min', 'max'), (len(values), values[0], values[-1]))
    assert math.isclose(row['sum'], sum(values), rel_tol=1e-9), what
    assert math.isclose(row['mean'], sum(values) / len(values), rel_tol=1e-9), what
    for percent, found in row['percentiles'].items():
        exact = values[max(math.ceil(len(values) * float(percent) / 100), 1) - 1]
        assert math.isclose(found, exact, rel_tol=ERROR, abs_tol=2e-6), f'{what}: {percent}%: {found}, not {exact}'


def test_groups():
    data, values = groups_log()
    file = write('groups.log', data)
    states = ['idle', 'busy', 'done', 3]
    found, without = grouped('--group-by', 'state,key', '--of', 'size', file)
    equal('without', without, 1)
    equal('groups', set(found), {(states[v[0]], v[1]) for v in values})
    for key, row in found.items():
        check_spread(key, row['of'], [v[2] for v in values if (states[v[0]], v[1]) == key])
        equal(key, row['events'], row['of']['count'])
    found, _ = grouped('--group-by', 'state', '--of', 'time', file)
    for key, row in found.items():
        check_spread(key, row['of'], [v[3] * 1000 for v in values if states[v[0]] == key[0]])
        equal('histogram', sum(bar['count'] for bar in row['of']['histogram']), row['events'])
    found, _ = grouped('--group-by', 'thread', '--of', 'part', file)
    for n in range(2):
        check_spread(n, found[f't{n}',]['of'], [v[4] for v in values[n::2]])
    found, _ = grouped('--of', 'time * 2', '--where', 'state == busy', file)
    check_spread('all', found[()]['of'], [v[3] * 2000 for v in values if v[0] == 1])
    found, without = grouped('--group-by', 'event', '--group-by', 'size / 1000', file)
    equal('ranges', {key[1]: row['events'] for key, row in found.items()},
          {n: sum(int(v[2] / 1000) == n for v in values) for n in range(-4, 5)})
    equal('without, ranges', without, 1)


def test_unfinished_scopes():
    """A span whose end never came, of which not even the type exists; and a hint at recursion."""
    log = Log()
    for time, name in enumerate(['a.begin', 'a.begin', 'a.end', 'a.end', 'b.hangs.begin', 'server.start']):
        log.event(time, name)
    log.segment()
    file = write('open.log', log.closed())
    equal('spans', [(span['begin'], span['end'], *some(span, 'count', 'no_end', 'no_begin')) for span in
                    stat(file)['spans']], [('a.begin', 'a.end', 1, 1, 1), ('b.hangs.begin', 'b.hangs.end', 0, 1, 0)])
    equal('hint', 'a span may be recursive: see --nested' in run('--show', 'spans', file), True)
    equal('no hint', 'recursive' in run('--show', 'spans', '--nested', file), False)


def test_groups_of_several_types():
    """Values are grouped by what they mean: labels by their words, numbers with units in one unit."""
    log = Log()
    values = {'door': ('{state:u8<open,closed>}', '<B', [0, 1, 0, 1, 2]),
              'job': ('{state:u8<idle,busy>}', '<B', [0, 1, 1]),
              'lid': ('{state:i16<closed=-1>}', '<h', [-1, -1]), 'raw': ('{state:u8}', '<B', [1, 2]),
              'mode': ('{state:u8<read|write>}', '<B', [1, 3]), 'wait': ('{state:u32/ms}', '<I', [1, 3]),
              'nap': ('{state:i64/us}', '<q', [1000, -3000]), 'rest': ('{state:f64/ms}', '<d', [0.5, 1.0]),
              'flag': ('{state:bool}', '<?', [True])}
    for name, (layout, form, numbers) in values.items():
        log.declare(name, layout)
        for n, number in enumerate(numbers):
            log.event(n, name, data=struct.pack(form, number))
    log.segment()
    file = write('types.log', log.closed())
    found = stat('--group-by', 'state', file)['groups']
    rows = sorted((str(row['by']['state']), row['events']) for row in found)
    # A number is 1 without a unit, 1 ms, or 1.0 ms: a real number is another value than an integer.
    equal('json', rows, sorted([('open', 2), ('closed', 4), ('2', 2), ('idle', 1), ('busy', 2), ('1', 1), ('read', 1),
                                ('read|write', 1), ('1000000', 2), ('3000000', 1), ('-3000000', 1), ('500000', 1),
                                ('1000000', 1), ('true', 1)]))
    lines = run('--show', 'groups', '--group-by', 'state', file).splitlines()[1:]
    equal('text', sorted((' '.join(line.split()[2:]), int(line.split()[0])) for line in lines),
          sorted([('open', 2), ('closed', 4), ('2', 2), ('idle', 1), ('busy', 2), ('1', 1), ('read', 1),
                  ('read|write', 1), ('1 ms', 2), ('3 ms', 1), ('-3 ms', 1), ('500 us', 1), ('1 ms', 1), ('true', 1)]))


def test_unusable():
    """What cannot be added up is counted, and told of."""
    log = Log()
    log.declare('odd', '{packed;real:f64,key:z}')
    for real in (1.5, math.inf, -math.inf, math.nan, 2.5):
        log.event(0, 'odd', data=struct.pack('<d', real) + b'x')
    log.event(1, 'bare')
    log.segment()
    file = write('odd.log', log.closed())
    found = stat('--of', 'real', file)
    equal('counts', (found['groups'][0]['of']['count'], found['without'], found['unusable']), (2, 1, 3))
    equal('text', '3 other events have a value of --of that is a text, infinite,' in run('--of', 'real', file), True)
    equal('a text', '--of: key is a text, not a number' in run('--of', 'key', file, status=1), True)
    for text in ('key', '@event'):
        equal('over time', f'--over-time: {text} is a text, not a number' in
              run('--over-time', text, file, status=1), True)
    equal('negative', 'no histogram, because some values are negative' in run('--of', 'real - 2', file), True)


def test_groups_printed():
    file = write('groups.log', groups_log()[0])
    lines = run('--show', 'groups', '--group-by', 'state', '--of', 'time', '--sort', 'mean', file).splitlines()
    equal('head', lines[0].split(), 'events sum min mean 50% 90% 99% 99.9% max state'.split())
    equal('rows', sorted(line.split()[-1] for line in lines[1:5]), ['3', 'busy', 'done', 'idle'])
    equal('without', lines[5], '1 other events do not have all of these values')
    rows = [(row['of']['mean'], row['by']['state']) for row in
            stat('--group-by', 'state', '--of', 'time', '--sort', 'mean', file)['groups']]
    equal('order', [str(row[1]) for row in sorted(rows, reverse=True)], [line.split()[-1] for line in lines[1:5]])
    lines = run('--show', 'groups', '-n', 1, '--group-by', 'event', file).splitlines()
    equal('two', lines, ['events  share  event', '  1000  99.9%  job', '... and 1 more, with --lines 0'])
    text = run('--of', 'time', file)
    equal('chart', text.count('time\n'), 1)
    equal('bars', '%\n' in text, True)
    for arguments, status, message in ((['--group-by', 'sate', file], 1, "no event type has a field 'sate'; there "),
                                       (['--of', 'key[', file], 2, 'NAME[NUMBER]'),
                                       (['--of', 'state == busy', file], 1, 'a condition is not a number'),
                                       (['--sort', 'mean', file], 2, 'needs --of'),
                                       (['--show', 'groups', file], 2, 'needs --group-by or --of')):
        equal(message, message in run(*arguments, status=status), True)


def test_over_time():
    chance = random.Random(4)
    log, values = Log(), []
    log.declare('level', '{level:i32/us}')
    times = sorted(chance.sample(range(10**9), 500))
    for time in times:
        values.append(chance.randrange(-1000, 1000))
        log.event(time, 'level', data=struct.pack('<i', values[-1]))
    log.event(2 * 10**9, 'bare')
    log.segment()
    file = write('levels.log', log.closed())
    found = stat('--over-time', 'level', file)['over_time']
    width, columns = found['width'], found['columns']
    equal('begin', found['begin'], log.created + times[0])
    equal('columns', 64 <= len(columns) <= 128 and width & (width - 1) == 0, True)
    for n, column in enumerate(columns):
        part = [1000 * value for time, value in zip(times, values) if (time - times[0]) // width == n]
        equal(n, column['count'], len(part))
        if part:
            assert math.isclose(column['mean'], sum(part) / len(part), rel_tol=1e-9, abs_tol=1e-6), (n, column)
        else:
            equal(n, column['mean'], None)
    equal('all', sum(column['count'] for column in columns), 500)
    head, line = run('--show', 'time', '--over-time', 'level', file).splitlines()
    equal('head', head.startswith('level from -'), True)
    equal('line', set(line) <= set(' ▁▂▃▄▅▆▇█') and '▁' in line and '█' in line, True)
    line = run('--show', 'time', '--over-time', 'level', file, locale='C').splitlines()[1]
    equal('ASCII', set(line) <= set(' _.-~=+*#') and '_' in line and '#' in line, True)
    found = run('--over-time', 'levl', file, status=1)
    equal('message', "no event type has a field 'levl'; there are level" in found, True)
    equal('nothing to show', '--over-time' in run('--show', 'time', file, status=2), True)


def test_late():
    """Events of several threads are in order as good as their clocks can tell."""
    log = Log()
    for time in (100, 50, 300, 200):
        log.event(time, 'a')
    log.segment()
    found = stat(write('late.log', log.closed()))
    wanted = log.created + 50, log.created + 300
    equal('late', some(found['types'][0], 'first', 'last', 'longest_pause', 'longest_pause_from'),
          (*wanted, 200, log.created + 100))
    equal('late, the file', some(found['files'][0], 'first', 'last'), wanted)
    equal('late, the thread', some(found['threads'][0], 'first', 'last'), wanted)


def test_order():
    file = write('small.log', small_log().closed())
    for key, names in (('events', ['sale', 'posix_trace_overflow']),
                       ('name', ['posix_trace_overflow', 'posix_trace_resume']),
                       ('last', ['posix_trace_start', 'refund']), ('pause', ['sale', 'posix_trace_overflow']),
                       ('first', ['posix_trace_start', 'sale']), ('bytes', ['sale', 'posix_trace_start'])):
        found = [row['name'] for row in stat('--sort', key, file)['types']]
        equal(f'by {key}', found[:2], names)
        equal(f'by {key}, reversed', [row['name'] for row in stat('--sort', key, '-r', file)['types']], found[::-1])
    equal('options behind', run(file, '--show', 'types', '-n', 2), run('--show', 'types', '-n', 2, file))
    equal('rows', run('--show', 'types', '-n', 2, file).splitlines()[-1], '... and 4 more, with --lines 0')
    equal('all rows', len(run('--show', 'types', '-n', 0, file).splitlines()), 7)


def test_filters():
    file = write('small.log', small_log().closed())
    for options, wanted in ((['-e', 'sale'], {'sale': 4}), (['--pid', 200], {'refund': 1}),
                            (['--thread', 'till'], {'sale': 3}), (['-e', '!posix*'], {'sale': 4, 'refund': 1}),
                            (['--from', '2us', '--to', '8us'], {'sale': 2}),
                            (['--tid', 100], {'sale': 1})):
        found = stat(*options, file)
        equal(f'{options}', {row['name']: row['events'] for row in found['types']}, wanted)
        equal(f'{options}: sum', sum(row['events'] for row in found['threads']), sum(wanted.values()))
        equal(f'{options}: all of the log', found['files'][0]['events'], 9)


def test_losses():
    log = Log()
    for i in range(4):
        log.event(1000 * i, 'a')
        log.event(1000 * i + 500, 'b')
        log.segment(damaged=i in (1, 2))
    log.event(5000, PREDEFINED[STOP], data=struct.pack('=i', 1))
    log.event(5500, PREDEFINED[RESUME], pid=0, tid=0)  # of nothing: its OVERFLOW was filtered out
    log.event(6000, PREDEFINED[START], data=bytes(4))
    log.segment()
    opened = log.open()
    for data, complete in ((opened, False), (log.closed(), True)):
        found = stat('--span', 'b,a', write('damaged.log', data))
        about = found['files'][0]
        equal('damaged', some(about, 'complete', 'events', 'missing'), (complete, 7, 4))
        at = log.created
        equal('damaged: holes', about['holes'], [{'from': at + 500, 'until': at + 3000, 'reason': 'damaged'},
                                                 {'from': at + 5000, 'until': at + 6000, 'reason': 'full'}])
        equal('damaged: spans', some(found['spans'][0], 'count', 'no_end', 'no_begin', 'cut'), (0, 0, 2, 2))
    garbage = stat(write('garbage.log', opened + b'x' * 4096))['files'][0]
    equal('skipped', some(garbage, 'complete', 'events', 'skipped_bytes'), (False, 7, 4096))


def test_holes_in_holes():
    """Each end belongs to a hole of its own kind, whatever came in between; but not to one on the other side of
    damage."""
    ends = {STOP: struct.pack('=i', 1), START: bytes(4)}
    for damaged in (False, True):
        log = Log()
        for time, number in ((100, STOP), (200, OVERFLOW), (300, RESUME), (400, START), (500, STOP), (600, 0),
                             (700, START)):
            if number:
                log.event(time, PREDEFINED[number], pid=0, tid=0, data=ends.get(number, b''))
                log.segment()
            elif damaged:
                log.event(time, 'a')
                log.segment(damaged=True)
        found = [(hole['from'] - log.created, hole['until'] and hole['until'] - log.created, hole['reason'])
                 for hole in stat(write('holes.log', log.closed()))['files'][0]['holes']]
        wanted = [(100, 400, 'full'), (200, 300, 'lost'), (500, None if damaged else 700, 'full')]
        equal(f'holes in holes, damaged: {damaged}', found, wanted + ([(500, 700, 'damaged')] if damaged else []))


def exact(values, percent):
    return sorted(values)[max(0, math.ceil(len(values) * percent / 100) - 1)]


def test_durations():
    """All magnitudes, and what a percentile of them is by definition."""
    for count, most in ((1, 1000), (7, 10**6), (3000, 300), (3000, 10**12)):
        log, now, values = Log(), 0, []
        for i in range(count):
            values.append(int(math.exp(random.uniform(0, math.log(most)))))
            log.event(now, 'begin')
            log.event(now + values[-1], 'end')
            now += values[-1] + random.randrange(1000)
            if i % 500 == 499:
                log.segment()
        if log.events:
            log.segment()
        span, = stat('--span', 'begin,end', write('spans.log', log.closed()))['spans']
        equal('count', some(span, 'count', 'min', 'max', 'no_end', 'no_begin', 'cut'),
              (count, min(values), max(values), 0, 0, 0))
        equal('mean', math.isclose(span['mean'], sum(values) / count), True)
        for percent, found in span['percentiles'].items():
            wanted = exact(values, float(percent))
            equal(f'{percent} percent of {count}: {found}, {wanted}', abs(found - wanted) <= wanted * ERROR, True)
        equal('rows', sum(row['count'] for row in span['histogram']), count)
        for row in span['histogram']:
            least, all_in = row['from'] * (1 - ERROR), row['to'] * (1 + ERROR)
            equal('row', row['count'] <= sum(least <= value < all_in for value in values), True)


def spans_of(log, *options):
    return [some(span, 'count', 'no_end', 'no_begin', 'cut', *(['min', 'max'] if span['count'] else []))
            for span in stat(*options, write('spans.log', log))['spans']]


def test_pairs():
    log = Log()
    for time, name, pid, tid in ((0, 'end', 1, 1), (10, 'begin', 1, 1), (20, 'begin', 1, 2), (30, 'begin', 2, 3),
                                 (50, 'begin', 1, 1), (60, 'end', 1, 1), (100, 'end', 1, 1), (120, 'end', 1, 2),
                                 (400, 'begin', 1, 2)):
        log.event(time, name, pid, tid, f'{tid}')
    log.types['gone'] = 200
    log.add_types({200: 'gone'})
    log.segment()
    data = log.closed()
    #                                                         count, no end, no begin, cut, min, max
    equal('thread', spans_of(data, '--span', 'begin,end'), [(2, 3, 2, 0, 10, 100)])
    equal('nested', spans_of(data, '--span', 'begin,end', '--nested'), [(3, 2, 1, 0, 10, 100)])
    equal('process', spans_of(data, '--span', 'begin,end', '--by', 'process'), [(1, 4, 3, 0, 10, 10)])
    equal('all', spans_of(data, '--span', 'begin,end', '--by', 'all'), [(1, 4, 3, 0, 10, 10)])
    equal('all, nested', spans_of(data, '--span', 'begin,end', '--by', 'all', '--nested'), [(3, 2, 1, 0, 10, 100)])
    equal('patterns', spans_of(data, '--span', 'b*,e*', '--span', '*n,gone'), [(2, 3, 2, 0, 10, 100), (0, 5, 0, 0)])
    equal('periods', spans_of(data, '--span', 'begin,begin', '--by', 'all'), [(4, 1, 0, 0, 10, 350)])
    equal('only some', spans_of(data, '--span', 'begin,end', '--tid', 2), [(1, 1, 0, 0, 100, 100)])


def test_too_deep():
    """Of more begins than are kept the latest are."""
    kept, more = 65536, 3
    log = Log()
    for i in range(2 * (kept + more)):
        log.event(i, 'begin' if i < kept + more else 'end')
        if i % 4096 == 4095:
            log.segment()
    log.segment()
    equal('too deep', spans_of(log.closed(), '--span', 'begin,end', '--nested'),
          [(kept, more, more, 0, 1, 2 * kept - 1)])


def test_cuts():
    for name, cuts in ((OVERFLOW, True), (STOP, False), (RESUME, False), (START, True)):
        log = Log()
        log.event(0, 'begin')
        log.event(5, 'begin', tid=7)
        log.event(10, PREDEFINED[name], pid=0, tid=0, data=bytes(4))
        log.event(20, 'end')
        log.event(30, 'begin')
        log.event(37, 'end')
        log.segment()
        wanted = (1, 0, 1, 2, 7, 7) if cuts else (2, 1, 0, 0, 7, 20)
        equal(f'cut by {PREDEFINED[name]}', spans_of(log.closed(), '--span', 'begin,end'), [wanted])
        equal('though it is not asked for', spans_of(log.closed(), '--span', 'begin,end', '-e', '!posix*'), [wanted])


def test_files():
    """Several are one; threads are the same if the machine is."""
    files = []
    for i, (host, at) in enumerate((('one', 2000), ('one', 0), ('two', 500))):
        log = Log(created=10**18 + at, host=host)
        log.event(100, 'begin')
        log.event(200, 'end', data=b'12345678')
        log.event(300, 'begin')
        log.segment()
        files.append(write(f'file{i}.log', log.closed()))
    found = stat('--span', 'begin,end', *files)
    equal('in order', [row['file'] for row in found['files']], ['file1.log', 'file2.log', 'file0.log'])
    types = by(found['types'], 'name')
    equal('begin', some(types['begin'], 'events', 'first', 'last', 'longest_pause'),
          (6, 10**18 + 100, 10**18 + 2300, 1300))
    equal('threads', [some(row, 'host', 'tid', 'events') for row in found['threads']],
          [('one', 100, 6), ('two', 100, 3)])
    equal('spans', some(found['spans'][0], 'count', 'no_end', 'min', 'max'), (3, 3, 100, 100))
    with open(files[0]) as file:
        done = subprocess.run([POSIXTRACE, 'stat', '--json', '-'], stdin=file, env=ENVIRONMENT, capture_output=True,
                              check=True)
    equal('stdin', json.loads(done.stdout)['files'][0]['file'], 'standard input')
    for i in range(2):
        log = Log(created=10**18 + 10 * i)
        log.event(0, 'x')
        log.event(1000 * (i + 1), 'x')
        log.segment()
        files.append(write(f'both{i}.log', log.closed()))
    x, = stat(*files[-2:])['types']
    equal('at once', some(x, 'events', 'first', 'last', 'longest_pause', 'longest_pause_from'),
          (4, 10**18, 10**18 + 2010, 1010, 10**18 + 1000))
    for name, times in (('o1.log', range(100, 1001, 100)), ('o2.log', (50, 2000))):
        log = Log()
        for time in times:
            log.event(time, 'a')
        log.segment()
        write(name, log.closed())
    a, = stat('o1.log', 'o2.log')['types']
    equal('overlap', some(a, 'first', 'last', 'longest_pause', 'longest_pause_from'),
          (log.created + 50, log.created + 2000, 1000, log.created + 1000))
    os.symlink(files[0], 'posixtrace.log')
    equal('no file', stat()['files'][0]['file'], 'posixtrace.log')


def on_terminal(columns, *arguments):
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
    with subprocess.Popen([POSIXTRACE, 'stat', *map(str, arguments)], stdout=slave,
                          env={**ENVIRONMENT, 'NO_COLOR': '', 'PAGER': ''}) as child:
        os.close(slave)
        out = b''
        while True:
            try:
                piece = os.read(master, 65536)
            except OSError:
                break
            if not piece:
                break
            out += piece
    os.close(master)
    equal('terminal', child.returncode, 0)
    return re.sub('\33\\[[0-9;]*m', '', out.decode().replace('\r\n', '\n'))


def test_output():
    log = Log(name='shop', target=100)
    log.process(100, '/usr/bin/shop')
    now = 0
    for i, duration in enumerate([800] * 3 + [1500] * 40 + [2600] * 17 + [90_000] * 2):
        log.event(now, 'sale.begin')
        log.event(now + duration, 'sale.end', data=struct.pack('=Q', i))
        now += duration + 10_000
    log.segment()
    log.event(now, PREDEFINED[OVERFLOW], pid=0, tid=0)
    log.event(now + 5000, PREDEFINED[RESUME], pid=0, tid=0)
    log.segment(lost=12)
    write('shop.log', log.closed(lost=12, status=2))
    text = ''
    for options, locale in (([], 'C.UTF-8'), (['--span', 'sale.begin,sale.end'], 'C.UTF-8'),
                            (['--show', 'histograms', '--span', 'sale.begin,sale.end'], 'C')):
        text += f"$ LC_ALL={locale} posixtrace stat " \
            f"{' '.join(options + ['shop.log'])}\n{run(*options, 'shop.log', locale=locale)}\n"
    if '--golden' in sys.argv:
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(text)
    equal('output', text, GOLDEN.read_text())
    for columns in (50, 80, 133) if has_terminals() else ():
        picture = on_terminal(columns, '--show', 'histograms', '--span', 'sale.begin,sale.end', 'shop.log')
        equal(f'in {columns} columns', max(map(len, picture.splitlines())), columns)
    equal('colours', '\33[' in run('--color', 'always', 'shop.log'), True)


def test_complaints():
    write('text.log', b'not a log\n' * 100)
    log = Log()
    log.event(0, 'alone')
    log.segment()
    write('bare.log', log.closed())
    wrong = [['--span', 'a'], ['--span', ',b'], ['--sort', 'x'], ['--show', 'x'], ['--by', ''], ['--lines', 'x'],
             ['--nothing']]
    for arguments, status, word in (*((arguments, 2, ' '.join(arguments)) for arguments in wrong),
                                    (['--show', 'types,x'], 2, '--show x: must be one of header, '),
                                    (['--show', 'types,spans', 'bare.log'], 1, 'no spans: give --span BEGIN,END'),
                                    (['--show', 'histograms', 'bare.log'], 1, 'no spans: give --span BEGIN,END'),
                                    (['--span', 'a,b'] * 65, 2, '64'),
                                    (['missing.log'], 1, 'missing.log'), (['text.log'], 1, 'text.log')):
        equal(f'{arguments}', word in run(*arguments, status=status), True)
    equal('help', run('--help').startswith('usage: posixtrace stat'), True)


def test_system():
    """What the recording itself does is counted on request only."""
    log = Log()
    log.event(0, 'posix_trace_start', 0, 0, '')
    log.event(50, 'a', 1, 1, 'a')
    log.event(70, 'b', 1, 1, 'a')
    log.event(90, 'posix_trace_stop', 0, 0, '')
    log.segment()
    write('system.log', log.closed())
    equal('all', len(stat('system.log')['types']), 4)
    hidden = json.loads(run('--json', 'system.log', system=()))
    equal('hidden', sorted(by(hidden['types'], 'name')), ['a', 'b'])
    equal('title', 'system.log: 2 events in 20 ns' in run('system.log', system=()), True)
    equal('by name', sorted(by(json.loads(run('--json', '-e', 'posix_trace_sto*', 'system.log', system=()))['types'],
                               'name')), ['posix_trace_stop'])


def test_nothing_there():
    log = Log()
    log.event(0, 'sql.begin{id:u32,text:s}', 1, 1, 'a')
    log.event(5, 'sql.end', 1, 1, 'a')
    log.segment()
    write('names.log', log.closed())
    for arguments, words in ((['-e', 'sql.bgin'],
                              '-e sql.bgin: no event type has that name; there are sql.begin, sql.end\n'),
                             (['--span', 'sql.begin,sql.edn'],
                              '--span sql.edn: no event type has that name; there are sql.end, sql.begin\n'),
                             (['--pid', 9], 'no event is of a process given by --pid; the log has 1\n')):
        equal(arguments, words in run(*arguments, 'names.log', status=1), True)
    equal('reversed', 'is not before' in run('--from', '2s', '--to', '1s', 'names.log', status=2), True)
    # A name with braces: commas inside them do not separate names.
    equal('braces', [span['count'] for span in stat('--span', 'sql.begin{id:u32,text:s},sql.end',
        'names.log')['spans']], [1])


def test_nothing_recorded():
    """Tables of events that the log does not have: which option of record makes them, status 1, no empty table."""
    log = Log(name='shop', target=100)
    log.event(1000, 'sale', tid=100)
    write('none.log', log.closed())
    for options, words in ((['--io'], '--libc io'), (['--locks'], '--libc locks'), (['--memory'], '--libc memory'),
                           (['--calls'], '--functions'), (['--call-tree'], '--functions'),
                           (['--sched'], '--kernel sched'), (['--syscalls'], '--kernel syscalls'),
                           (['--profile'], '--sample'), (['--profile', '--off-cpu'], '--off-cpu')):
        for json_too in [], ['--json']:
            out, messages = scene.run(POSIXTRACE, 'stat', *options, *json_too, 'none.log', status=1)
            expect(words in messages.decode() and messages.startswith(b'posixtrace stat: no '), messages)
            if not json_too:
                equal(options, out, b'')
    for options, words in (([], '--functions'), (['--off-cpu'], '--off-cpu')):
        _, messages = scene.run(POSIXTRACE, 'convert', '--to', 'folded', '-o', 'none.folded', *options, 'none.log',
                                status=1)
        expect('no stacks' in messages.decode() and words in messages.decode(), messages)


def test_pairs_of_no_table():
    """Pairs of names beyond those that spans can be are told of only where spans are shown."""
    log = Log()
    for n in range(70):
        log.event(2 * n, f'work{n}.begin')
        log.event(2 * n + 1, f'work{n}.end')
    write('pairs.log', log.closed())
    for options, status, told in (([], 0, True), (['--syscalls'], 1, False), (['--show', 'types'], 0, False)):
        _, messages = scene.run(POSIXTRACE, 'stat', *options, 'pairs.log', status=status)
        equal(options, b'more than 64 spans' in messages, told)


def test_program():
    """A log as the library writes it."""
    threads, rounds = 3, 5000
    done = subprocess.run([STAT_LOG, 'program.log', str(threads), str(rounds)], capture_output=True, check=True,
                          timeout=120)
    pid, *rest = done.stdout.decode().splitlines()
    outside = {int(tid): int(ns) for tid, ns in (line.split() for line in rest)}
    found = stat('--span', 'job.begin,job.end', '--span', 'depth.in,depth.out', 'program.log')
    types = by(found['types'], 'name')
    jobs, ended = threads * rounds, threads * (rounds - rounds // 10)
    equal('program: lost', some(found['files'][0], 'lost', 'missing', 'complete', 'holes'), (0, 0, True, []))
    equal('program: types', {name: some(types[name], 'events', 'bytes') for name in types
                             if not name.startswith('posix')},
          {'job.begin': (jobs, 16 * jobs), 'job.end': (ended, 8 * ended), 'depth.in': (2 * jobs, 8 * jobs),
           'depth.out': (2 * jobs, 8 * jobs)})
    rows = by(found['threads'], 'pid', 'tid')
    for i, tid in enumerate(outside):
        wanted = 5 * rounds + rounds - rounds // 10, f'worker {i}'
        equal('program: thread', some(rows[int(pid), tid], 'events', 'name'), wanted)
    equal('program: spans', [some(span, 'count', 'no_end', 'no_begin', 'cut') for span in found['spans']],
          [(ended, jobs - ended, 0, 0), (jobs, jobs, jobs, 0)])
    job = found['spans'][0]
    equal('program: durations', 0 < job['mean'] * job['count'] <= sum(outside.values()), True)
    nested = stat('--nested', '--span', 'depth.in,depth.out', 'program.log')['spans'][0]
    equal('program: nested', some(nested, 'count', 'no_end', 'no_begin', 'cut'), (2 * jobs, 0, 0, 0))
    executable = by(found['processes'], 'pid')[int(pid)]['executable']
    equal('program: executable', executable, str(STAT_LOG))


random.seed(1)
Suite(globals()).main()
