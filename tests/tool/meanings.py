#!/usr/bin/env python3
#
# meanings.py - spans, counters, flows and log messages that event types declare: each command shows what is in the log
#
#     meanings.py POSIXTRACE
#
# SPDX-License-Identifier: MIT

import json
import shutil
import struct
import sys
from decimal import Decimal
from pathlib import Path

import scene
from made_log import OVERFLOW, PREDEFINED, RESUME, START, Log
from scene import Suite, equal, write

POSIXTRACE = Path(sys.argv[1]).resolve()
HERE = Path(__file__).resolve().parent

REQUEST_IN = '{begin=request,by=id;id:u32}'
REQUEST_OUT = '{packed,end=request,by=id;status:u8,id:u32}'
QUERY = '{packed,took=time;time:u32/us,sql:z}'
QUEUE = '{packed,counter,by=number;number:u8,n:i16,load:f32,bytes:u64/B,name:z}'
LEVELS = '{packed,level=level;level:u8<debug=10,info=20,warning=30,error=40,critical=50,loud=60>,text:z}'


def run(command, *arguments):
    return [text.decode() for text in scene.run(POSIXTRACE, command, *arguments)]


def output(command, *arguments):
    return run(command, *arguments)[0]


def u32(n):
    return struct.pack('=I', n)


def requests():
    """Requests that overlap, begin in one thread and end in another, and have ids that other processes have too."""
    log = Log()
    log.declare('request.in', REQUEST_IN)
    log.declare('request.out', REQUEST_OUT)
    for time, name, pid, tid, number in (
            (1000, 'in', 100, 100, 1), (2000, 'in', 100, 101, 2), (3000, 'in', 200, 200, 1),
            (5000, 'out', 100, 101, 1),   # took 4000
            (5500, 'out', 200, 201, 2),   # no begin in this process
            (6000, 'out', 200, 200, 1),   # took 3000
            (7000, 'out', 100, 100, 2),   # took 5000
            (8000, 'in', 100, 100, 1), (8100, 'in', 100, 101, 1),  # begun again
            (8600, 'out', 100, 100, 1),   # took 500
            (9000, 'in', 100, 100, 7)):   # no end
        log.event(time, f'request.{name}', pid, tid, 't', u32(number) if name == 'in' else b'\1' + u32(number))
    log.segment()
    write('requests.log', log.closed())


def span_of(name, *files, options=()):
    found = [s for s in json.loads(output('stat', '--json', *options, *files))['spans'] if s.get('name') == name]
    equal(f'spans {name}', len(found), 1)
    return found[0]


def counts(span):
    return tuple(span[key] for key in ('count', 'no_end', 'no_begin', 'cut'))


def test_by_id():
    requests()
    span = span_of('request', 'requests.log')
    equal('counts', counts(span), (4, 2, 1, 0))
    equal('durations', (span['min'], span['max'], span['mean']), (500, 5000, 3125))
    equal('patterns', 'begin' in span, False)
    row = output('stat', '--show', 'spans', 'requests.log').splitlines()[1].split()
    equal('in the table', (row[0], row[-1]), ('4', 'request'))
    events = [json.loads(line) for line in output('report', '--json', 'requests.log').splitlines()]
    equal('took', [e['took'] for e in events if 'took' in e], [4000, 3000, 5000, 500])
    equal('as lines', output('convert', '-q', '--to', 'jsonl', '-o', '-', 'requests.log'),
          output('report', '--json', 'requests.log'))
    equal('as text', [line.split('{')[1] for line in output('report', '--no-header', 'requests.log').splitlines()
                      if 'took' in line],
          ['status=1 id=1} (took 4 us)', 'status=1 id=1} (took 3 us)', 'status=1 id=2} (took 5 us)',
           'status=1 id=1} (took 500 ns)'])
    # With a filter, begins that are not selected are no begins.
    equal('filtered', counts(span_of('request', '--tid', '100', 'requests.log')), (1, 2, 1, 0))
    # Then the ids of all processes are the same ids: 1 begins anew in process 200, and 2 ends there.
    equal('by all', counts(span_of('request', '--by', 'all', 'requests.log')), (3, 3, 2, 0))


def test_in_two_processes():
    """A span with an id that ends in another process is found by --by all, which stat says, and nothing of nesting."""
    log = Log()
    log.declare('request.in', REQUEST_IN)
    log.declare('request.out', REQUEST_OUT)
    log.event(1000, 'request.in', 100, 100, 't', u32(1))
    log.event(3000, 'request.out', 200, 200, 't', b'\1' + u32(1))
    log.segment()
    write('two.log', log.closed())
    equal('apart', counts(span_of('request', 'two.log')), (0, 1, 1, 0))
    equal('together', counts(span_of('request', 'two.log', options=('--by', 'all'))), (1, 0, 0, 0))
    hints = [output('stat', '--show', 'spans', *options, 'two.log') for options in ((), ('--by', 'all'))]
    equal('hint', ['see --by all' in text for text in hints], [True, False])
    equal('no hint', ['--nested' in text for text in hints], [False, False])


def test_by_thread():
    """Begins and ends whose names have nothing in common; one event ends a span and begins the next."""
    log = Log()
    log.declare('idle', '{begin=wait;why:u8}')
    log.declare('next', '{begin=wait,end=wait;why:u8}')
    log.declare('busy', '{end=wait;why:u8}')
    for time, name, tid in ((0, 'idle', 1), (10, 'idle', 2), (100, 'next', 1), (110, 'busy', 2), (300, 'busy', 1)):
        log.event(time, name, 100, tid, 't', b'\1')
    log.segment()
    write('thread.log', log.closed())
    span = span_of('wait', 'thread.log')
    equal('counts', counts(span), (3, 0, 0, 0))
    equal('durations', (span['min'], span['max']), (100, 200))


def test_names():
    """Pairs of names take as long in report and in JSON as in stat, with data or without."""
    log = Log()
    log.declare('tea.end', '{cups:u8}')
    for time, name, data in ((0, 'db.begin', b''), (70, 'db.end', b''), (100, 'tea.begin', b''), (150, 'db.end', b''),
                             (400, 'tea.end', b'\2'), (500, 'db.begin', b''), (600, 'db.begin', b''),
                             (610, 'db.end', b'')):
        log.event(time, name, 100, 100, 't', data)
    log.segment()
    write('names.log', log.closed())
    events = [json.loads(line) for line in output('report', '--json', 'names.log').splitlines()]
    equal('took', [(e['event'], e['took']) for e in events if 'took' in e],
          [('db.end', 70), ('tea.end', 300), ('db.end', 10)])
    equal('as lines', output('convert', '-q', '--to', 'jsonl', '-o', '-', 'names.log'),
          output('report', '--json', 'names.log'))
    for name, durations in ('db', [70, 10]), ('tea', [300]):
        spans = json.loads(output('stat', '--json', 'names.log'))['spans']
        span = next(s for s in spans if s['begin'] == f'{name}.begin')
        equal('as stat', (span['count'], span['min'], span['max']), (len(durations), min(durations), max(durations)))
    equal('as text', output('report', '--no-header', '--fields', 'event,data', 'names.log').splitlines(),
          ['db.begin', 'db.end    (took 70 ns)', 'tea.begin', 'db.end', 'tea.end   {cups=2} (took 300 ns)', 'db.begin',
           'db.begin', 'db.end    (took 10 ns)'])
    # Nothing but the event has no place for it.
    equal('without data', 'took' in output('report', '--no-header', '--fields', 'event', 'names.log'), False)


def test_cut():
    """After a loss, and after a new start, nobody knows to which begin an end belongs."""
    log = Log()
    log.declare('request.in', REQUEST_IN)
    log.declare('request.out', REQUEST_OUT)
    log.event(0, 'request.in', data=u32(1))
    log.event(10, PREDEFINED[OVERFLOW], 0, 0)
    log.event(20, PREDEFINED[RESUME], 0, 0)
    log.event(30, 'request.out', data=b'\0' + u32(1))
    log.event(40, 'request.in', data=u32(2))
    log.event(50, PREDEFINED[START], 100, 100, 'main', bytes(8))
    log.event(60, 'request.out', data=b'\0' + u32(2))
    log.event(70, 'request.in', data=u32(3))
    log.event(80, 'request.out', data=b'\0' + u32(3))
    log.segment(lost=5)
    write('cut.log', log.closed(lost=5))
    equal('counts', counts(span_of('request', 'cut.log')), (1, 0, 2, 2))
    for command in (('report', '--json'), ('convert', '-q', '--to', 'jsonl', '-o', '-')):
        events = [json.loads(line) for line in output(*command, 'cut.log').splitlines()]
        equal(f'took of {command}', [e['took'] for e in events if 'took' in e], [10])
    slices = [e for e in chrome('cut.log') if e['name'] == 'request']
    equal('ends', [e['args'].get('incomplete') for e in slices if e['ph'] == 'e'],
          ['events lost', 'recording stopped', None])


def test_too_short():
    """Data that end before the id, or before the duration."""
    log = Log()
    log.declare('request.in', REQUEST_IN)
    log.declare('request.out', REQUEST_OUT)
    log.declare('query', QUERY)
    log.event(0, 'request.in', data=b'\1\0', truncated=True)
    log.event(10, 'request.out', data=b'\1\1\0', truncated=True)
    log.event(20, 'query', data=b'\1', truncated=True)
    log.event(30, 'query')
    log.segment()
    write('short.log', log.closed())
    for name in ('request', 'query'):
        equal(f'{name}', counts(span_of(name, 'short.log')), (0, 0, 0, 0))
    for form in ('chrome', 'perfetto', 'jsonl', 'csv'):
        output('convert', '-q', '--to', form, '-o', f'short.{form}', 'short.log')
    output('view', '-o', 'short.html', 'short.log')


def test_signs():
    """-1 and 2^64-1 have the same bits, and are different ids."""
    log = Log()
    log.declare('go', '{packed,begin=trip,by=k;k:i8}')
    log.declare('come', '{packed,end=trip,by=k;k:u64}')
    for n, (key, end) in enumerate(((-1, 2**64 - 1), (5, 5))):
        log.event(10 * n, 'go', data=struct.pack('<b', key))
        log.event(10 * n + 3, 'come', data=struct.pack('<Q', end))
    log.segment()
    write('signs.log', log.closed())
    equal('counts', counts(span_of('trip', 'signs.log')), (1, 1, 1, 0))
    slices = [e['args'].get('incomplete') for e in chrome('signs.log') if e['name'] == 'trip' and e['ph'] == 'e']
    equal('slices', sorted(map(str, slices)), ['None', 'end of log'])


def test_impossible():
    """Durations that are negative or too long are counted apart, by all commands."""
    log = Log()
    log.declare('far', '{packed,took=t;t:i64/s}')
    for n, seconds in enumerate((2, -1, 2**63 - 1, 4)):
        log.event(10 * 10**9 + n, 'far', data=struct.pack('<q', seconds))
    log.segment()
    write('far.log', log.closed())
    span = span_of('far', 'far.log')
    equal('counts', (counts(span), span['impossible'], span['min'], span['max'], span['mean']),
          ((2, 0, 0, 0), 2, 2 * 10**9, 4 * 10**9, 3 * 10**9))
    text = output('stat', 'far.log')
    equal(text, '2 events far left out: no such duration, negative or too long' in text, True)
    lines = [json.loads(line) for line in output('report', '--json', 'far.log').splitlines()]
    equal('report', [line.get('took') for line in lines], [2 * 10**9, None, None, 4 * 10**9])
    equal('slices', len([e for e in chrome('far.log') if e['name'] == 'far' and e['ph'] == 'b']), 2)


def whole_log():
    log = Log()
    log.declare('query', QUERY)
    for time, us, sql in ((5_000_000, 1000, 'a'), (6_000_000, 3000, 'around a'), (6_500_000, 200, 'b'),
                          (7_000_000, 0xffffffff, 'before the log')):
        log.event(time, 'query', data=u32(us) + sql.encode() + b'\0')
    log.segment()
    write('whole.log', log.closed())


def test_whole():
    """An event with a duration is a whole span, which ends at the time of the event."""
    whole_log()
    span = span_of('query', 'whole.log')
    equal('counts', counts(span), (4, 0, 0, 0))
    equal('durations', (span['min'], span['max']), (200_000, 0xffffffff * 1000))
    slices = [e for e in chrome('whole.log') if e['name'] == 'query']
    begins = {e['args']['sql']: e for e in slices if e['ph'] == 'b'}
    equal('begins', [(sql, begins[sql]['ts']) for sql in ('a', 'around a', 'b')],
          [('a', Decimal(4000)), ('around a', Decimal(3000)), ('b', Decimal(6300))])
    equal('the lane of slices that overlap', begins['a']['id'] != begins['around a']['id'], True)
    equal('the lane of others', begins['b']['id'] in (begins['a']['id'], begins['around a']['id']), True)
    equal('ends', sorted(e['ts'] for e in slices if e['ph'] == 'e'), [5000, 6000, 6500, 7000])
    equal('no second duration', 'took 1' in output('report', 'whole.log'), False)


def chrome(*files):
    return json.loads(output('convert', '-q', '--to', 'chrome', '-o', '-', *files),
                      parse_float=Decimal)['traceEvents']


def test_overlapping():
    """Slices with an id overlap; each is whole, and there are as many lanes as slices that are open together."""
    requests()
    slices = [e for e in chrome('requests.log') if e['name'] == 'request']
    open_slices, found = {}, []
    for e in slices:
        if e['ph'] == 'b':
            assert e['id'] not in open_slices, e
            open_slices[e['id']] = e
        else:
            begin = open_slices.pop(e['id'])
            found.append((begin['pid'], begin['args']['id'], int(begin['ts'] * 1000), int(e['ts'] * 1000),
                          e['args'].get('incomplete')))
    equal('open', open_slices, {})
    equal('slices', sorted(found), sorted([
        (100, 1, 1000, 5000, None), (200, 1, 3000, 6000, None), (100, 2, 2000, 7000, None),
        (100, 1, 8000, 8100, 'begun again'), (100, 1, 8100, 8600, None), (100, 7, 9000, 9000, 'end of log')]))
    equal('lanes', len({e['id'] for e in slices}), 3)
    events = [e for e in chrome('requests.log') if e['name'] == 'request.out']
    equal('an end without a begin is an event', [e['args']['id'] for e in events], [2])


def counters_log():
    log = Log()
    log.declare('queue', QUEUE)
    for time, number, n, load, size, name in ((0, 1, -3, 0.5, 10, b'x\0'), (1000, 2, 7, 1.5, 1 << 63, b'\0'),
                                              (2000, 1, 4, 2.5, 20, b'')):
        log.event(time, 'queue', data=struct.pack('=BhfQ', number, n, load, size) + name)
    log.segment()
    write('counters.log', log.closed())


def test_counters():
    counters_log()
    events = chrome('counters.log')
    equal('counters', [(e['ts'], e['id'], e['args']) for e in events if e['ph'] == 'C'],
          [(0, 1, {'n': -3, 'load': Decimal('0.5'), 'bytes (B)': 10}),
           (1, 2, {'n': 7, 'load': Decimal('1.5'), 'bytes (B)': 1 << 63}),
           (2, 1, {'n': 4, 'load': Decimal('2.5'), 'bytes (B)': 20})])
    equal('their events', len([e for e in events if e['ph'] == 'i' and e['name'] == 'queue']), 3)


def perfetto(name):
    """Returns the packets as protoc prints them, each as one text."""
    output('convert', '-q', '--to', 'perfetto', '-o', f'{name}.pftrace', f'{name}.log')
    with open(f'{name}.pftrace', 'rb') as trace:
        text, _ = scene.run('protoc', f'-I{HERE}', '--decode=viewer.Trace', 'perfetto.proto', input=trace.read())
    return text.decode().split('packet {')[1:]


def test_perfetto():
    counters_log()
    packets = perfetto('counters')
    tracks = [p for p in packets if 'counter {' in p]
    equal('tracks', sorted(line.split('"')[1] for p in tracks for line in p.splitlines() if ' name: ' in line),
          sorted(f'queue.{field}[{number}]' for field in ('n', 'load', 'bytes') for number in (1, 2)))
    equal('units', sum('unit_name: "B"' in p for p in tracks), 2)
    values = [line.split(': ')[1] for p in packets if 'type: COUNTER' in p for line in p.splitlines()
              if 'counter_value' in line]
    equal('values', values, ['-3', '0.5', '10', '7', '1.5', '9.2233720368547758e+18', '4', '2.5', '20'])
    flow_log()
    packets = perfetto('flow')
    flows = [line.strip() for p in packets for line in p.splitlines() if 'flow_id' in line]
    equal('flows', [flow.split(':')[0] for flow in flows],
          ['flow_ids', 'terminating_flow_ids', 'flow_ids', 'terminating_flow_ids'])
    equal('ids', [flows[0].split(': ')[1] == flows[1].split(': ')[1], flows[2].split(': ')[1] ==
                  flows[3].split(': ')[1], flows[0] == flows[2]], [True, True, False])
    steps_log()
    flows = [line.strip() for p in perfetto('steps') for line in p.splitlines() if 'flow_id' in line]
    equal('steps', [flow.split(':')[0] for flow in flows], ['flow_ids', 'flow_ids', 'flow_ids', 'terminating_flow_ids'])
    equal('one flow', len({flow.split(': ')[1] for flow in flows}), 1)
    levels_log()
    equal('categories', [line.strip() for p in perfetto('levels') for line in p.splitlines() if 'categories' in line],
          [f'categories: "{level}"' for level in ('debug', 'critical', 'warning')])


def flow_log():
    log = Log()
    log.declare('send', '{send=id;id:u64}')
    log.declare('receive', '{receive=id;id:u16}')
    for time, name, pid, number in ((0, 'send', 100, 5), (10, 'receive', 200, 5), (20, 'send', 200, 6),
                                    (30, 'receive', 100, 6)):
        log.event(time, name, pid, pid, 't', struct.pack('=Q' if name == 'send' else '=H', number))
    log.segment()
    write('flow.log', log.closed())


def steps_log():
    """A flow that goes through events, each of which receives it and sends it on."""
    log = Log()
    log.declare('step', '{send=id,receive=id;id:u64}')
    log.declare('last', '{receive=id;id:u64}')
    for time, name in ((0, 'step'), (10, 'step'), (20, 'step'), (30, 'last')):
        log.event(time, name, data=struct.pack('=Q', 5))
    log.segment()
    write('steps.log', log.closed())


def test_flows():
    flow_log()
    ends = [e for e in chrome('flow.log') if e['ph'] in 'sf']
    equal('ends', [(e['ph'], e['pid']) for e in ends], [('s', 100), ('f', 200), ('s', 200), ('f', 100)])
    equal('ids', [ends[0]['id'] == ends[1]['id'], ends[2]['id'] == ends[3]['id'], ends[0]['id'] == ends[2]['id']],
          [True, True, False])
    steps_log()
    equal('steps', ''.join(e['ph'] for e in chrome('steps.log') if e['ph'] in 'sf'), 'fsfsfsf')
    # Viewers connect flows with slices.
    equal('slices', [e['ph'] for e in chrome('flow.log') if e['name'] in ('send', 'receive')], ['X'] * 4)


def test_counters_without_value():
    """A value that is no number is no value of a counter: viewers would take it for 0."""
    log = Log()
    log.declare('load', '{counter;a:f64,b:f32}')
    for n, values in enumerate(((1.5, 2.5), (float('nan'), 1.0), (float('inf'), float('-inf')), (3.0, 4.0))):
        log.event(n * 1000, 'load', data=struct.pack('=df', *values))
    log.segment()
    write('nan.log', log.closed())
    equal('chrome', [e['args'] for e in chrome('nan.log') if e['ph'] == 'C'],
          [{'a': 1.5, 'b': 2.5}, {'b': 1.0}, {}, {'a': 3.0, 'b': 4.0}])


def test_flow_ids_again():
    """An id that is used again is another flow, also if nobody has received the first one."""
    log = Log()
    log.declare('send', '{send=id;id:i64}')
    log.declare('receive', '{receive=id;id:i64}')
    log.declare('other', '{send=number;number:i64}')
    for n, (name, pid, number) in enumerate((('send', 100, 5), ('send', 100, 5), ('other', 100, 5), ('send', 100, -5),
                                             ('receive', 200, 5), ('receive', 200, -5), ('send', 300, 5),
                                             ('receive', 200, 5), ('receive', 200, 7))):
        log.event(n * 10, name, pid, pid, 't', struct.pack('=q', number))
    log.segment()
    write('again.log', log.closed())
    ids = [e['id'] for e in chrome('again.log') if e['ph'] in 'sf']
    equal('chrome', [ids.index(number) for number in ids], [0, 1, 2, 3, 1, 3, 6, 6, 8])


def levels_log():
    log = Log()
    log.declare('log', LEVELS)
    log.declare('disk', '{level=warning;text:z}')
    for time, level in ((0, 10), (1, 50), (2, 60), (3, 61)):
        log.event(time, 'log', data=bytes([level]) + b'x\0')
    log.event(4, 'disk', data=b'full\0')
    log.event(5, 'log')
    log.segment()
    write('levels.log', log.closed())


def test_levels():
    levels_log()
    events = [json.loads(line) for line in output('report', '--json', 'levels.log').splitlines()]
    equal('levels', [e.get('level') for e in events], ['debug', 'critical', None, None, 'warning', None])
    equal('in the line', 'disk warning {text="full"}' in output('report', 'levels.log'), True)
    equal('categories', [e['cat'] for e in chrome('levels.log') if e['ph'] == 'i'],
          ['posixtrace,debug', 'posixtrace,critical', 'posixtrace', 'posixtrace', 'posixtrace,warning', 'posixtrace'])
    colours = output('report', '--color', 'always', 'levels.log')
    equal('red', '\33[31mlog' in colours or '31mlog' in colours, True)
    output('convert', '-q', '--to', 'ctf', '-o', 'levels.ctf', 'levels.log')
    equal('CTF', Path('levels.ctf/metadata').read_text().count('loglevel = 4;'), 1)


def test_table_is_full():
    """More spans than there is room for: the rest is named."""
    log = Log()
    for i in range(70):
        log.declare(f'e{i:02}', f'{{begin=span{i:02},end=span{i:02};n:u8}}')
        log.event(i, f'e{i:02}', data=b'\0')
    log.segment()
    write('full.log', log.closed())
    out, messages = run('stat', '--json', 'full.log')
    equal('spans', len(json.loads(out)['spans']), 64)
    equal('message', 'more than 64 spans: span64 and others are left out' in messages, True)


def test_wrong():
    """Wrong attributes are told of, with their place."""
    for layout, at, why in (('{span=x;a:u8}', 'span=x', 'is not an attribute'),
                            ('{by=b;a:u8}', 'by=b', 'is not followed by the name of a field'),
                            ('{took=a;a:u8}', 'took=a', 'with the unit ns, us, ms or s'),
                            ('{level=loud;a:u8}', 'level=loud', 'is not a level')):
        log = Log()
        log.declare('wrong', layout)
        log.event(0, 'wrong', data=b'\0')
        log.segment()
        write('wrong.log', log.closed())
        _, messages = run('stat', 'wrong.log')
        equal(f'{layout}', f"'{at}'" in messages and why in messages, True)


Suite(globals()).main(needs={'test_perfetto'},
                      missing='' if shutil.which('protoc') else 'no protoc, of the package protobuf-compiler')
