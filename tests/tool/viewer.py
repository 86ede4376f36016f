#
# viewer.py - logs for tests of what viewers are given, and what has to be in it
#
# A test turns what posixtrace convert has written into marks and slices, as the viewer would; here they are compared
# with what
# posixtrace report and posixtrace stat say of the same logs.
#
# SPDX-License-Identifier: MIT

import json
import math
import random
import re
import struct
from dataclasses import dataclass, field

import scene
from made_log import OVERFLOW, PREDEFINED, PROCESS, RESUME, START, STOP, TYPES, Log
from scene import equal

SYSTEM = {PREDEFINED[START], PREDEFINED[STOP], 'posix_trace_filter'}
LOST = {PREDEFINED[OVERFLOW], PREDEFINED[RESUME]}
RESERVED = {'address', 'truncated', 'text', 'data', 'more', 'event', 'pid', 'tid', 'end', 'incomplete'}


@dataclass
class Event:
    """A mark, or what begins or ends a slice. Of a process whose machine is not the first one's pid and tid are not
    known to all."""
    time: int
    name: str
    values: dict
    pid: int = None
    tid: int = None
    thread: str = None


@dataclass
class Slice:
    span: str
    begin: int
    end: int = None
    incomplete: str = None


@dataclass
class Found:
    events: list = field(default_factory=list)
    slices: list = field(default_factory=list)
    losses: list = field(default_factory=list)  # (from, until or None)
    executables: dict = field(default_factory=dict)


def run(*command, **more):
    return scene.run(*command, **more)[0]


def report(posixtrace, *arguments):
    return [json.loads(line) for line in run(posixtrace, 'report', '--system', '--json',
                                             *arguments).decode().splitlines()]


# -- What has to be there ---------------------------------------------------------------------------------------


def unlabelled(values):
    """Fields by the names that were declared: without units, and without what tells them apart from what is said of
    events."""
    return {name[:-1] if name[:-1] in RESERVED else re.sub(r' \([^()]*\)$', '', name): value for name,
            value in values.items()}


def number(value):
    """Integers that a double cannot hold, and code addresses, are texts in JSON; what is no number has none there."""
    if isinstance(value, list):
        return [number(item) for item in value]
    if isinstance(value, str) and re.fullmatch(r'-?\d{16,20}|0x[0-9a-f]+', value):
        return int(value, 0)
    if isinstance(value, float):
        return float(struct.unpack('f', struct.pack('f', value))[0]) if math.isfinite(value) else None
    return value


def same_data(line, values):
    """What is declared, or all data as text or hex."""
    if 'fields' in line:
        return {name: number(value) for name, value in unlabelled(values).items()} == {name: number(value) for name,
                value in line['fields'].items()}
    data = bytes.fromhex(line.get('data', ''))
    if line['event'] in SYSTEM:
        return 'data' not in values
    if 'text' in values:
        return values['text'].encode() == (data[:-1] if data.endswith(b'\0') else data)
    return bytes.fromhex(values.get('data', '')) == data


def same_event(line, event, machine):
    values = dict(event.values)
    for name in ('event', 'more'):
        values.pop(name, None)
    address, truncated = values.pop('address', 0), values.pop('truncated', False)
    for name in ('pid', 'tid'):
        # Of slices that belong to no thread.
        if name not in line.get('fields', {}) and name in values:
            setattr(event, name, values.pop(name))
    where = [(line.get(name), getattr(event, name)) for name in ('pid', 'tid', 'thread')] if machine else []
    return ((line['time'], line['event'], int(line.get('address', '0'), 16), line.get('truncated', False)) ==
            (event.time, event.name, address, truncated) and
            all(a == b or b is None for a, b in where) and same_data(line, values))


def check_events(posixtrace, found, *arguments, machine=True):
    """Each event is there once, with all that the report says. machine: all logs are of one."""
    wanted = [line for line in report(posixtrace, *arguments) if line['event'] not in LOST]
    events = sorted(found.events, key=lambda event: (event.time, event.name, str(event.values)))
    equal('times and names', [(e.time, e.name) for e in events],
          sorted((line['time'], line['event']) for line in wanted))
    left = {}
    for event in events:
        left.setdefault((event.time, event.name), []).append(event)
    for line in wanted:
        candidates = left[line['time'], line['event']]
        fitting = [event for event in candidates if same_event(line, event, machine)]
        assert fitting, f'no such event: {line}\n  but {candidates}'
        candidates.remove(fitting[0])


def check_slices(posixtrace, found, spans, *arguments):
    """As many and as long as they are counted. spans: (begin, end, what its slices are called)."""
    options = [part for begin, end, _ in spans for part in ('--span', f'{begin},{end}')]
    rows = json.loads(run(posixtrace, 'stat', '--system', '--json', *options, *arguments))['spans']
    for row, (_, _, name) in zip(rows, spans):
        slices = [s for s in found.slices if s.span == name]
        durations = [s.end - s.begin for s in slices if not s.incomplete]
        reasons = [s.incomplete for s in slices]
        equal(f'{name}: complete', len(durations), row['count'])
        equal(f'{name}: no end', reasons.count('begun again') + reasons.count('end of log'), row['no_end'])
        equal(f'{name}: cut', reasons.count('events lost') + reasons.count('recording stopped'), row['cut'])
        if durations:
            equal(f'{name}: least and most', (min(durations), max(durations)), (row['min'], row['max']))
            assert math.isclose(sum(durations) / len(durations), row['mean']), f'{name}: mean'
            for line in row['histogram']:
                # Bounds are those of the steps, 0.4 percent.
                near = sum(line['from'] * 0.99 <= d <= line['to'] * 1.01 for d in durations)
                assert line['count'] <= near, f'{name}: {line}, {near}'
    equal('no other slices', {s.span for s in found.slices} - {name for _, _, name in spans}, set())


# -- Logs -------------------------------------------------------------------------------------------------------


def random_log(seed, host='host', created=10**18):
    """Spans of several threads that overlap as they like; losses, damage, late events, a second start."""
    choose, log, time = random.Random(seed), Log(created=created, host=host), 0
    log.process(100, '/usr/bin/one')
    log.process(200, '/opt/two "quoted"')
    threads = [(100, 100, 'main'), (100, 101, 'worker'), (200, 200, 'other'), (200, 201, 'w\n"orker')]
    before = {tid: 0 for _, tid, _ in threads}
    for part in range(9):
        for _ in range(150):
            pid, tid, name = choose.choice(threads)
            time += choose.choice((0, 1, 10, 100, 12345))
            # Of several threads some are late; each by itself is in order.
            before[tid] = max(before[tid], time - choose.choice((0,) * 20 + (5, 50)))
            event = choose.choice(('a.begin', 'a.end', 'b/enter{n:u32,s:s}', 'b/exit', 'lock', 'mark',
                                   'posix_trace_start', 'mark{x:i8}')
                                  if choose.random() < 0.1 else ('a.begin', 'a.end', 'b/enter{n:u32,s:s}', 'b/exit'))
            data = struct.pack('<I', choose.randrange(10)) + b'text' if event.startswith('b/enter') \
                else bytes(choose.randrange(3))
            if event.startswith('posix'):
                pid, tid, data = 0, 0, b''
            log.event(before.get(tid, time), event, pid, tid, name, data)
        if part % 3 == 1:
            log.event(time, PREDEFINED[OVERFLOW], 0, 0)
            log.event(time + 500, PREDEFINED[RESUME], 0, 0)
            time += 500
        log.segment(damaged=part == 4)
    return log.closed(lost=3)


def rows_log():
    """Calls in calls in two threads, one of no time, and a wait that begins in one and ends in another."""
    log = Log()
    for n, (name, tid) in enumerate((name, tid) for _ in range(3) for tid in (100, 101) for name in
                                    ('request.begin{id:u64}', 'db.query.begin{rows:u32}', 'disk.begin', 'disk.end',
                                     'wait.begin', 'db.query.end',
                                     'db.query.begin{rows:u32}', 'db.query.end', 'wait.end', 'request.end')):
        log.event(10 * n, name, tid=tid, thread=f't{tid}',
                  data=struct.pack('<Q', 2**60 + n)[:8 if 'id' in name else 4 if 'rows' in name else 0])
    log.segment()
    return log.closed()


ROWS = [('request.begin', 'request.end', 'request'), ('db.query.begin', 'db.query.end', 'db.query'),
        ('disk.begin', 'disk.end', 'disk'),
        ('wait.begin', 'wait.end', 'wait')]
PAIRS = [('a.begin', 'a.end', 'a'), ('b/enter', 'b/exit', 'b')]


def cut_log(name):
    """Returns a log with open spans around a system event of this type."""
    log = Log()
    for time, event, tid in ((0, 'x.begin', 100), (5, 'x.begin', 7), (10, PREDEFINED[name], 0), (20, 'x.end', 100),
                             (30, 'x.begin', 100),
                             (37, 'x.end', 100)):
        log.event(time, event, 100 if tid else 0, tid, f'{tid}', bytes(4) if not tid else b'')
    log.segment()
    return log.closed()


def odd_log():
    """Names and data that are no good text."""
    log = Log(name='odd "log"\n', host='a\x1bhost')
    for n, name in enumerate((b'\xff\xfe{x:u8}', b'a"b\\c\n', b'a\x01\x7f', b'', b'</script>',
                              b'n\xc3\xbcr{\xc3\xb6:u16/\xc2\xb5s}', b'x' * 63)):
        log.types[f'odd{n}'] = 200 + n
        log.frame(TYPES, struct.pack('<HB', 200 + n, len(name)) + name)
    executable = b'/bin/\xff"\n\0x'
    log.frame(PROCESS, struct.pack('<IIQH', 100, 0, 0, len(executable)) + executable)
    for n in range(7):
        log.event(10 * n, f'odd{n}', data=b'\xff\0\x80', tid=100 + n, thread='t"\n\x02')
    log.event(100, 'address{address:u8,time:u64/ns,text:s}',
              data=bytes([7]) + bytes(7) + struct.pack('<Q', 2**64 - 1) + b'a\0b\xff')
    log.event(110, 'real{f:f64,d:f32,a:f64[2]}', data=struct.pack('<dfxxxxdd', math.inf, math.nan, -0.5, 1e300))
    log.event(120, 'bytes', data=bytes(range(256)) * 4)
    log.event(130, 'numbers{a:i64,b:x64,c:u8[200]}', data=struct.pack('<qQ', -2**63, 2**64 - 1) + bytes(range(200)))
    log.event(140, 'more{a:u16}', data=b'\1\2\3\4\5')
    log.event(150, 'large', pid=2**32 - 1, tid=2**32 - 1, thread='')
    log.event(160, 'cut', data=b'abc', truncated=True)
    log.event(170, 'no pid', pid=0, tid=5)
    log.segment()
    return log.closed()


def wild_log(seed):
    """Returns a log of random names, layouts and data."""
    choose = random.Random(seed)
    log = Log(host='\x7f"' * choose.randrange(9))
    kinds = ('u8', 'u16', 'i32', 'x64', 'f32', 'f64', 'c[9]', 'i8[3]', 'u16[400]', 'b', 's', 'z', 'bool', 'a32',
             't64', 'u8<x,y>', 'x16<x|y>', 'i8<x=-1>[2]', 'b[3]', 'u16[a]', 'c[b]', 'b[a]')
    for n in range(40):
        names = choose.choices('abc.-é"\\ ', k=choose.randrange(1, 5))
        fields = ','.join(f'{name}:{choose.choice(kinds)}{choose.choice(("", "/ns", "/%"))}' for name in names)
        name = choose.choice((choose.randbytes(choose.randrange(63)), f'n{n}{{{fields}}}'.encode()[:63], b'x.begin',
                              b'x.end', b''))
        log.types[f'wild{n}'] = 70 + n
        log.frame(TYPES, struct.pack('<HB', 70 + n, len(name)) + name)
    for time in range(400):
        pid = choose.choice((0, 1, 100, 2**31, 2**32 - 1))
        data = choose.choice((choose.randbytes(choose.randrange(60)), bytes(choose.randrange(900)), b'text\0',
                              b'\xff' * 300))
        log.event(choose.randrange(1000) if choose.random() < 0.1 else time, f'wild{choose.randrange(40)}', pid,
                  choose.choice((pid, 5, 0)),
                  choose.choice(('', 'a', '\x1b"\\', 'ü')), data, choose.random() < 0.1)
        if time % 100 == 99:
            log.segment(damaged=choose.random() < 0.2)
    return log.closed()
