#!/usr/bin/env python3
#
# convert_chrome.py - posixtrace convert --to chrome: what viewers of trace events would show of it is what is in the
# log
#
#     convert_chrome.py POSIXTRACE STAT_LOG REPORT_LOGS
#
# SPDX-License-Identifier: MIT

import json
import shutil
import sys
from decimal import Decimal
from pathlib import Path

from made_log import OVERFLOW, RESUME, START, STOP, Log, typed_log
from scene import Suite, equal, write
from viewer import (LOST, PAIRS, ROWS, Event, Found, Slice, check_events, check_slices, cut_log, odd_log, random_log,
                    report,
                    rows_log, run, wild_log)

POSIXTRACE, STAT_LOG, REPORT_LOGS = (Path(path).resolve() for path in sys.argv[1:4])
PIDS = 4194304


def convert(*arguments):
    return run(POSIXTRACE, 'convert', '--to', 'chrome', '-q', '-o', '-', *arguments)


def unique(pairs):
    """An object whose members have names of their own."""
    equal('members', len(dict(pairs)), len(pairs))
    return dict(pairs)


class Reader:
    """As trace viewers do it: in the order of times, slices on a stack for each thread, or each id."""

    def __init__(self, data, logs=1, same_names=False):
        if shutil.which('jq'):
            run('jq', '-e', '.traceEvents | type == "array"', input=data)
        self.trace = json.loads(data, parse_float=Decimal, object_pairs_hook=dict if same_names else unique)
        equal('members', list(self.trace), ['traceEvents', 'displayTimeUnit', 'otherData'])
        self.begin, self.recording = self.trace['otherData']['begin'], logs * PIDS
        self.found, self.names, self.stacks = Found(), {}, {}
        events = []
        for event in self.trace['traceEvents']:
            if event['ph'] == 'M':
                self.name(event)
            else:
                # The name of a thread as it is in this place.
                events.append((self.time(event['ts']), event,
                               self.names.get(('thread_name', event['pid'], event['tid']))))
        for event in sorted(events, key=lambda event: event[0]):
            self.event(*event)
        equal('slices without an end', [s for s in self.stacks.values() if s], [])

    def time(self, ts):
        equal('decimals', ts.as_tuple().exponent, -3)
        return self.begin + int(ts * 1000)

    def name(self, event):
        equal('what names say', list(event), ['ph', 'name', 'ts', 'pid', 'tid', 'args'])
        number = (event['pid'], event['tid']) if event['name'] == 'thread_name' else (event['pid'],)
        self.names[event['name'], *number] = event['args']['name']

    def values(self, args):
        """Addresses are texts, since JSON has no numbers in hex."""
        return {name: int(value, 16) if name == 'address' else float(value) if isinstance(value, Decimal) else
                [float(v) if isinstance(v, Decimal) else v for v in value] if isinstance(value, list) else value
                for name, value in args.items()}

    def event(self, time, event, thread):
        phase, name, values = event['ph'], event['name'], self.values(event.get('args', {}))
        where = {'pid': event['pid'], 'tid': event['tid'], 'thread': thread}
        if event['pid'] == self.recording:
            equal('what is recorded', self.names['process_name', event['pid']], 'recording')
            where = {}
        if name == 'events lost':
            assert phase == ('X' if 'dur' in event else 'i') and not where
            self.found.losses.append((time, time + int(event['dur'] * 1000) if 'dur' in event else None))
        elif phase == 'i':
            equal('scope of a mark', event['s'], 't')
            self.found.events.append(Event(time, name, values, **where))
        else:
            # Nestable async events are found by their category and id, others by their thread.
            stack = self.stacks.setdefault((event['cat'], event['id']) if phase in 'be'
                                           else (event['pid'], event['tid']), [])
            self.slice(phase, stack, Slice(name, time), values, where)

    def slice(self, phase, stack, slice, values, where):
        if phase in 'bB':
            stack.append(slice)
            if phase == 'b':
                self.found.events.append(Event(slice.begin, values['event'], values, **where))
            else:
                # What is the same function has the same values, for speedscope.
                equal('values of B', values, {})
            return
        begun = stack.pop()
        equal('name', begun.span, slice.span)
        if phase == 'E':
            assert slice.begin > begun.begin, 'an E of the time of its B comes before it in speedscope'
            values = dict(values)
            last = {name: values.pop(name) for name in ('end', 'incomplete') if name in values}
            self.found.events.append(Event(begun.begin, values['event'], values, **where))
            values = last
        begun.end, begun.incomplete = slice.begin, values.get('incomplete')
        equal('what ends say', list(values), ['incomplete' if begun.incomplete else 'end'])
        if not begun.incomplete:
            end = self.values(values['end'])
            self.found.events.append(Event(slice.begin, end['event'], end, **where))
        self.found.slices.append(begun)


def read(*arguments, logs=1):
    return Reader(convert(*arguments), logs).found


def test_events():
    for kind in ('server', 'client', 'hole', 'open', 'i386', 'exec'):
        run(REPORT_LOGS, kind, f'{kind}.log')
    for logs in (['server.log'], ['server.log', 'client.log'], ['hole.log'], ['open.log'], ['i386.log'], ['exec.log']):
        check_events(POSIXTRACE, read(*logs, logs=len(logs)), *logs)
    created = 1700000000123456789
    equal('losses', read('server.log').losses, [(created + 6000000, created + 8500000)])


def test_whole():
    log = Log(created=10**18 + 7)
    log.event(1234567891, 'a', data=b'hello')
    log.segment()
    equal('all of it', json.loads(convert(write('one.log', log.closed()))), {
        'traceEvents': [
            {'ph': 'M', 'name': 'thread_name', 'ts': 0, 'pid': 100, 'tid': 100, 'args': {'name': 'main'}},
            {'ph': 'i', 'name': 'a', 'cat': 'posixtrace', 'ts': 1234567.891, 'pid': 100, 'tid': 100, 's': 't',
             'args': {'text': 'hello'}}],
        'displayTimeUnit': 'ns',
        'otherData': {'begin': 10**18 + 7,
                      'logs': [{'file': 'one.log', 'created': 10**18 + 7, 'host': 'host', 'kernel': '6.1',
                                                     'machine': 'x86_64', 'complete': True, 'lost': 0, 'discarded': 0,
                                                     'unwritten': 0, 'damaged': 0}]}})
    equal('nothing', json.loads(convert(write('none.log', Log().closed())))['traceEvents'], [])


def test_odd():
    found = read(write('odd.log', odd_log()))
    check_events(POSIXTRACE, found, 'odd.log')
    values = {event.name: event.values for event in found.events}
    equal('a field like what is said of events',
          {name: values['address'][name] for name in ('address_', 'time (ns)', 'text')},
          {'address_': 7, 'time (ns)': str(2**64 - 1), 'text': 'a\0b\ufffd'})
    equal('unit', values['nür'], {'ö (µs)': 255, 'more': '80'})
    equal('behind the declared', values['more'], {'a': 513, 'more': '030405'})
    assert values['cut']['truncated'] is True


def test_typed():
    check_events(POSIXTRACE, read(write('typed.log', typed_log())), 'typed.log')


def test_program():
    run(STAT_LOG, 'program.log', 4, 50)
    job, depth = ('job.begin', 'job.end', 'job'), ('depth.in', 'depth.out', 'depth.in to depth.out')
    for options, spans, phases in (([], [job], 'iBEM'), (['--by', 'process'], [job], 'ibeM'),
                                   (['--no-pairs'], [], 'iM'),
                                   (['--nested', '--span', 'depth.in,depth.out'], [job, depth], 'iBEM'),
                                   (['--nested', '--no-pairs', '--span', 'depth.in,depth.out'], [depth], 'iBEM')):
        reader = Reader(convert(*options, 'program.log'))
        check_slices(POSIXTRACE, reader.found, spans, *(o for o in options if o in ('--nested', '--by', 'process')),
                     'program.log')
        if '--by' not in options:
            check_events(POSIXTRACE, reader.found, 'program.log')
        # A slice of no time is asynchronous, whatever the span.
        no_time = 'be' if any(s.begin == s.end for s in reader.found.slices) else ''
        equal('phases', {event['ph'] for event in reader.trace['traceEvents']}, set(phases + no_time))
        assert set(reader.names.values()) >= {f'worker {i}' for i in range(4)} | {str(STAT_LOG)}


def test_slices():
    for seed in range(2):
        log = write('random.log', random_log(seed))
        for options in ([], ['--by', 'process'], ['--by', 'all'], ['-e', '!posix*'], ['--pid', '100']):
            found = read(*options, log)
            check_slices(POSIXTRACE, found, PAIRS, *options, log)
            if '--by' not in options:
                check_events(POSIXTRACE, found, *options, log)
        equal('losses', len(read(log).losses),
              sum(line['event'] == 'posix_trace_overflow' for line in report(POSIXTRACE, log)))


def test_wild():
    """JSON with all of the events, each slice ended, whatever is in the log."""
    for seed in range(4):
        log = write('wild.log', wild_log(seed))
        for options in (['--span', '*,*'], ['--nested', '--by', 'all', '--span', '*a*,?*']):
            found = Reader(convert(*options, log), same_names=True).found
            equal('types', {event.name for event in found.events},
                  {line['event'] for line in report(POSIXTRACE, log)} - LOST)
            assert len(found.slices) > 10


def speedscope(events):
    """Imports as speedscope 1.25 does, for one thread: B and E in two queues by time, frames known by names and values.

    Returns (name of the frame, begin, end, depth) for each. Fails where speedscope would drop an event or end a
    frame by itself.
    """
    def key(event):
        return event['name'] + (json.dumps(event['args'], default=str) if 'args' in event else '')
    begins, ends = ([e for e in sorted(events, key=lambda e: e['ts']) if e['ph'] == phase] for phase in 'BE')
    stack, frames = [], []
    while begins or ends:
        if begins and (not ends or begins[0]['ts'] < ends[0]['ts'] or begins[0]['ts'] == ends[0]['ts']
                       and key(begins[0]) == key(ends[0])):
            stack.append(begins.pop(0))
            continue
        at = next((i for i, e in enumerate(ends) if stack and e['ts'] == ends[0]['ts']
                   and e['name'] == stack[-1]['name']), 0)
        last = ends.pop(at)
        assert stack and stack[-1]['name'] == last['name'], f'{last} is dropped, {stack} is open'
        frames.append((key(stack[-1]), stack[-1]['ts'], last['ts'], len(stack)))
        stack.pop()
    equal('open at the end', stack, [])
    return frames


def frames_of(reader):
    threads = {}
    for event in reader.trace['traceEvents']:
        assert 'ts' in event
        threads.setdefault((event['pid'], event['tid']), []).append(event)
    return [frame for events in threads.values() for frame in speedscope(events)]


def test_one_row():
    """Puts nested slices in the row of their thread, as one call stack for speedscope; overlapping ones apart."""
    reader = Reader(convert(write('rows.log', rows_log())))
    check_slices(POSIXTRACE, reader.found, ROWS, 'rows.log')
    check_events(POSIXTRACE, reader.found, 'rows.log')
    frames = frames_of(reader)
    equal('frames', sorted({(name, depth) for name, _, _, depth in frames}),
          [('db.query', 2), ('disk', 3), ('request', 1)])
    equal('count', len(frames), 6 + 12 + 6)
    equal('async', {e['name'] for e in reader.trace['traceEvents'] if e['ph'] in 'be'}, {'wait'})


def test_speedscope():
    """No begin and no end is dropped, whatever the times are."""
    for seed in range(2):
        log = write('random.log', random_log(seed))
        for options in ([], ['--nested'], ['--nested', '--span', 'lock,mark']):
            frames = frames_of(Reader(convert(*options, log)))
            assert len({name for name, *_ in frames}) in (1, 2) and len(frames) > 20, frames[:5]
    log = Log()
    for time, name in ((5, 'a.begin'), (5, 'b.begin'), (5, 'b.end'), (5, 'a.end'), (5, 'a.begin'), (5, 'b.begin'),
                       (5, 'b.end'), (6, 'b.begin'),
                       (7, 'b.end'), (7, 'a.end'), (7, 'a.begin'), (7, 'a.end'), (7, 'b.begin'), (8, 'b.end')):
        log.event(time, name)
    log.segment()
    reader = Reader(convert(write('instants.log', log.closed())))
    check_slices(POSIXTRACE, reader.found, [('a.begin', 'a.end', 'a'), ('b.begin', 'b.end', 'b')], 'instants.log')
    check_events(POSIXTRACE, reader.found, 'instants.log')
    equal('frames', [name for name, *_ in frames_of(reader)], ['b', 'a', 'b'])


def test_too_deep():
    """Of more begins than spans are counted for the latest have an end."""
    kept, more = 65536, 3
    log = Log()
    for i in range(2 * (kept + more)):
        log.event(i, 'x.begin' if i < kept + more else 'x.end')
        if i % 4096 == 4095:
            log.segment()
    log.segment()
    found = read('--nested', write('deep.log', log.closed()))
    check_slices(POSIXTRACE, found, [('x.begin', 'x.end', 'x')], '--nested', 'deep.log')
    equal('ends', [sum(s.incomplete == reason for s in found.slices) for reason in (None, 'end of log')], [kept, more])


def test_cuts():
    for name, reason in ((OVERFLOW, 'events lost'), (START, 'recording stopped'), (STOP, 'end of log'),
                         (RESUME, 'end of log')):
        log = write('cut.log', cut_log(name))
        for options in ([], ['-e', '!posix*']):
            found = read(*options, log)
            check_slices(POSIXTRACE, found, [('x.begin', 'x.end', 'x')], *options, log)
            equal(f'why {name} cuts', {s.incomplete for s in found.slices}, {None, reason})
            equal('loss', len(found.losses), name in (OVERFLOW, RESUME))


def test_machines():
    """The same pids on two hosts, and twice on one."""
    logs = [write(f'{i}.log', random_log(i, host, 10**18 + i)) for i, host in enumerate(('here', 'there', 'here'))]
    reader = Reader(convert(*logs), 3)
    check_events(POSIXTRACE, reader.found, *logs, machine=False)
    check_slices(POSIXTRACE, reader.found, PAIRS, *logs)
    equal('processes', {number[0]: name for (what, *number), name in reader.names.items() if what == 'process_name'},
          {100: '/usr/bin/one', 200: '/opt/two "quoted"', PIDS + 100: 'there: /usr/bin/one 100',
           PIDS + 200: 'there: /opt/two "quoted" 200', 3 * PIDS: 'recording'})
    equal('threads', (reader.names['thread_name', 200, 200], reader.names['thread_name', PIDS + 200, PIDS + 200]),
          ('other', 'other 200'))


Suite(globals()).main()
