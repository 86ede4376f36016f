#!/usr/bin/env python3
#
# convert_perfetto.py - posixtrace convert --to perfetto: what Perfetto would show of it is what is in the log
#
#     convert_perfetto.py POSIXTRACE STAT_LOG REPORT_LOGS
#
# SPDX-License-Identifier: MIT

import re
import shutil
import sys
from pathlib import Path

from made_log import OVERFLOW, RESUME, START, STOP, Log, typed_log
from scene import Suite, equal, write
from viewer import (LOST, PAIRS, ROWS, Event, Found, Slice, check_events, check_slices, cut_log, odd_log, random_log,
                    report,
                    rows_log, run, wild_log)

HERE = Path(__file__).resolve().parent
POSIXTRACE, STAT_LOG, REPORT_LOGS = (Path(path).resolve() for path in sys.argv[1:4])
if not shutil.which('protoc'):
    print('skipped: no protoc, of the package protobuf-compiler')
    sys.exit(77)

ESCAPES = {'n': b'\n', 't': b'\t', 'r': b'\r', '"': b'"', "'": b"'", '\\': b'\\'}


def unescaped(text):
    """A string as protoc prints it."""
    def one(match):
        code = match[1]
        return chr(int(code, 8)) if code[0].isdigit() else ESCAPES[code].decode()
    return re.sub(r'\\([0-7]{3}|.)', one, text).encode('latin-1').decode()


def value_of(text):
    if text.startswith('"'):
        return unescaped(text[1:-1])
    if re.fullmatch(r'-?\d+', text):
        return int(text)
    if re.fullmatch(r'-?(inf|nan|[\d.]+(e[-+]?\d+)?)', text):
        return float(text)
    return {'true': True, 'false': False}.get(text, text)


def parsed(text):
    """Each field a list of values; messages are dictionaries."""
    stack = [{}]
    for line in text.splitlines():
        line = line.strip()
        if line == '}':
            stack.pop()
            continue
        name, brace, value = re.fullmatch(r'(\w+)(?: ({)|: (.*))', line).groups()
        assert not name.isdigit(), f'a field that nobody knows: {line}'
        value = {} if brace else value_of(value)
        stack[-1].setdefault(name, []).append(value)
        if brace:
            stack.append(value)
    assert len(stack) == 1
    return stack[0]


def decoded(data):
    return parsed(run('protoc', f'-I{HERE}', '--decode=viewer.Trace', 'perfetto.proto',
                      input=data).decode('latin-1'))['packet']


def one(message, name, otherwise=None):
    values = message.get(name, [otherwise])
    assert len(values) == 1, f'{name} is there {len(values)} times'
    return values[0]


class Reader:
    """As trace_processor does it: names by sequence, then events in the order of their times, slices on a stack for
    each track."""

    def __init__(self, packets, same_names=False):
        self.same_names = same_names  # a layout has fields of the same name
        self.names, self.labels, self.texts = {}, {}, {}
        self.tracks, self.known = {}, set()
        self.found = Found()
        self.rows = {}  # of each span: the names of tracks, and how deep slices are
        events = []
        for packet in packets:
            sequence = one(packet, 'trusted_packet_sequence_id')
            flags = one(packet, 'sequence_flags', 0)
            assert flags != 2 or sequence in self.known
            if flags == 1:
                assert sequence not in self.known and one(packet, 'first_packet_on_sequence')
                equal('clock', one(one(packet, 'trace_packet_defaults'), 'timestamp_clock_id'), 1)
                self.known.add(sequence)
            self.intern(sequence, one(packet, 'interned_data', {}))
            if 'track_descriptor' in packet:
                self.track(one(packet, 'track_descriptor'))
            if 'track_event' in packet:
                event = one(packet, 'track_event')
                assert flags == 2 and one(event, 'track_uuid') in self.tracks, 'a track that nobody has told of'
                # The name of a thread as it is in this place.
                events.append((one(packet, 'timestamp'), sequence, event, dict(self.tracks[one(event, 'track_uuid')])))
        self.stacks = {}
        for event in sorted(events, key=lambda event: event[0]):
            self.event(*event)
        equal('slices without an end', [s for s in self.stacks.values() if s], [])

    def intern(self, sequence, data):
        for key, names, text in (('event_names', self.names, 'name'), ('debug_annotation_names', self.labels, 'name'),
                                 ('debug_annotation_string_values', self.texts, 'str')):
            for entry in data.get(key, []):
                number = sequence, one(entry, 'iid')
                assert number not in names and number[1] > 0, f'{number} twice'
                names[number] = one(entry, text)

    def track(self, track):
        uuid, thread, process = one(track, 'uuid'), one(track, 'thread', {}), one(track, 'process', {})
        assert uuid and (thread or process or one(track, 'name'))
        parent = self.tracks[one(track, 'parent_uuid')] if 'parent_uuid' in track else {}
        self.tracks[uuid] = dict(parent, name=one(track, 'name'), parent=parent.get('name'))
        if thread:
            self.tracks[uuid].update(pid=one(thread, 'pid') % 2**32, tid=one(thread, 'tid'),
                                     thread=one(thread, 'thread_name', ''))
        if process:
            self.tracks[uuid].update(pid=one(process, 'pid') % 2**32)
            self.found.executables[one(process, 'pid')] = one(process, 'cmdline'), one(process, 'process_name')

    def value(self, sequence, value):
        if 'dict_entries' in value:
            return self.values(sequence, value['dict_entries'])
        if 'array_values' in value:
            return [self.value(sequence, item) for item in value['array_values']]
        (name, content), = ((name, content[0]) for name, content in value.items() if name != 'name_iid')
        if name == 'string_value_iid':
            return self.texts[sequence, content]
        return [] if (name, content) == ('string_value', '[]') else content  # an array without items is a text

    def values(self, sequence, values):
        found = {self.labels[sequence, one(value, 'name_iid')]: self.value(sequence, value) for value in values}
        assert self.same_names or len(found) == len(values), f'values of the same name: {values}'
        return found

    def event(self, time, sequence, event, track):
        kind, uuid = one(event, 'type'), one(event, 'track_uuid')
        name = one(event, 'name') or self.names.get((sequence, one(event, 'name_iid')))
        values = self.values(sequence, event.get('debug_annotations', []))
        stack = self.stacks.setdefault(uuid, [])
        where = {key: track.get(key) for key in ('pid', 'tid', 'thread')}
        if name == 'events lost' or (kind == 'SLICE_END' and stack and stack[-1].span == 'events lost'):
            if kind == 'SLICE_BEGIN':
                stack.append(Slice(name, time))
            else:
                self.found.losses.append((stack.pop().begin, time) if kind == 'SLICE_END' else (time, None))
            return
        if kind == 'INSTANT':
            self.found.events.append(Event(time, name, values, **where))
        elif kind == 'SLICE_BEGIN':
            # A slice named after its span has its event in a value; otherwise its track is named after the span.
            self.found.events.append(Event(time, values.get('event', name), values, **where))
            stack.append(Slice(name if 'event' in values else track['name'], time))
            self.rows.setdefault(stack[-1].span, set()).add((track['name'] or '', len(stack)))
        else:
            assert stack, f'nothing is open where {event} ends it'
            slice = stack.pop()
            slice.end, slice.incomplete = time, values.get('incomplete')
            assert list(values) == ['incomplete' if slice.incomplete else 'end'], values
            if not slice.incomplete:
                self.found.events.append(Event(time, values['end']['event'], values['end'], **where))
            self.found.slices.append(slice)


def convert(*arguments):
    return decoded(run(POSIXTRACE, 'convert', '--to', 'perfetto', '-q', '-o', '-', *arguments))


def read(*arguments):
    return Reader(convert(*arguments)).found


def test_text_format():
    """Checks that the parser of these tests accepts valid text, and rejects unknown fields."""
    equal('text', parsed('a: 1\nb {\n  c: "x\\n\\303\\274\\"\\\\"\n  c: true\n}\nd: -inf\ne: 1.5e-07'),
          {'a': [1], 'b': [{'c': ['x\nü"\\', True]}], 'd': [float('-inf')], 'e': [1.5e-7]})
    for text in ('7: 3', '8 {\n}'):
        try:
            parsed(text)
        except AssertionError:
            continue
        assert False, text


def test_events():
    for kind in ('server', 'client', 'hole', 'open', 'i386', 'exec'):
        run(REPORT_LOGS, kind, f'{kind}.log')
    for logs in (['server.log'], ['server.log', 'client.log'], ['hole.log'], ['open.log'], ['i386.log'], ['exec.log']):
        check_events(POSIXTRACE, read(*logs), *logs)
    created = 1700000000123456789
    equal('losses', read('server.log').losses, [(created + 6000000, created + 8500000)])
    equal('executables', read('exec.log').executables[4711][1],
          'lib\33\302\233\342\200\256.so'.encode('latin-1').decode())


def test_head():
    write('made.log', Log(created=10**18).closed())
    log = Log(created=10**18)
    log.event(5, 'a')
    log.segment()
    packets = convert(write('made.log', log.closed()))
    clocks = one(packets[1], 'clock_snapshot')
    equal('clocks', ({one(c, 'clock_id'): one(c, 'timestamp') for c in clocks['clocks']},
                     one(clocks, 'primary_trace_clock')),
          ({1: 10**18, 3: 77, 6: 77}, 'REALTIME'))
    assert 'trace_uuid' in packets[0]
    equal('machine', one(one(packets[2], 'system_info'), 'utsname'),
          {'sysname': ['Linux'], 'release': ['6.1'], 'machine': ['x86_64']})
    equal('again', convert('made.log'), packets)


def test_odd():
    found = read(write('odd.log', odd_log()))
    check_events(POSIXTRACE, found, 'odd.log')
    values = {event.name: event.values for event in found.events}
    equal('a field like what is said of events',
          {name: values['address'][name] for name in ('address_', 'time (ns)', 'text')},
          {'address_': 7, 'time (ns)': 2**64 - 1, 'text': 'a\0b\ufffd'})
    equal('unit', values['nür'], {'ö (µs)': 255, 'more': '80'})
    equal('types', values['numbers'], {'a': -2**63, 'b': 2**64 - 1, 'c': list(range(200))})
    equal('behind the declared', values['more'], {'a': 513, 'more': '030405'})
    equal('real', (values['real']['f'], values['real']['a']), (float('inf'), [-0.5, 1e300]))
    assert values['real']['d'] != values['real']['d']
    assert values['cut']['truncated'] is True


def test_typed():
    check_events(POSIXTRACE, read(write('typed.log', typed_log())), 'typed.log')


def test_program():
    run(STAT_LOG, 'program.log', 4, 50)
    found = read('program.log')
    check_events(POSIXTRACE, found, 'program.log')
    check_slices(POSIXTRACE, found, [('job.begin', 'job.end', 'job')], 'program.log')
    assert {event.thread for event in found.events} >= {f'worker {i}' for i in range(4)}
    equal('executable', list(found.executables.values()), [(str(STAT_LOG), STAT_LOG.name)])
    nested = read('--nested', '--span', 'depth.in,depth.out', 'program.log')
    check_events(POSIXTRACE, nested, 'program.log')
    check_slices(POSIXTRACE, nested, [('job.begin', 'job.end', 'job'),
                                      ('depth.in', 'depth.out', 'depth.in to depth.out')],
                 '--nested', 'program.log')
    equal('none', read('--no-pairs', 'program.log').slices, [])


def test_slices():
    reasons = set()
    for seed in range(2):
        log = write('random.log', random_log(seed))
        for options in ([], ['--by', 'process'], ['--by', 'all'], ['-e', '!posix*'], ['--pid', '100']):
            found = read(*options, log)
            check_slices(POSIXTRACE, found, PAIRS, *options, log)
            reasons |= {s.incomplete for s in found.slices}
            filters = options if options and options[0] != '--by' else []
            # An end that is late is where its begin is.
            if '--by' not in options:
                check_events(POSIXTRACE, found, *filters, log)
        found = read('--span', 'a.begin,a.begin', '--no-pairs', log)
        check_slices(POSIXTRACE, found, [('a.begin', 'a.begin', 'a.begin to a.begin')], log)
        losses = read(log).losses
        equal('losses', len(losses), sum(line['event'] == 'posix_trace_overflow' for line in report(POSIXTRACE, log)))
    equal('ends', reasons, {None, 'begun again', 'events lost', 'recording stopped', 'end of log'})


def test_nested():
    """Where times do not go back; else an inner end may be later than its outer one's."""
    log = Log()
    for i, (name, tid) in enumerate((('x.begin', 1), ('x.begin', 1), ('x.begin', 2), ('x.end', 1), ('x.end', 2),
                                     ('x.end', 1),
                                     ('x.end', 1), ('x.begin', 2))):
        log.event(i * i, name, tid=tid, thread=str(tid))
    log.segment()
    write('nested.log', log.closed())
    for options in (['--nested'], ['--nested', '--by', 'all'], []):
        found = read(*options, 'nested.log')
        check_slices(POSIXTRACE, found, [('x.begin', 'x.end', 'x')], *options, 'nested.log')
        check_events(POSIXTRACE, found, 'nested.log')


def test_one_row():
    """Puts nested slices on the track of their thread, and overlapping ones on separate tracks."""
    reader = Reader(convert(write('rows.log', rows_log())))
    check_slices(POSIXTRACE, reader.found, ROWS, 'rows.log')
    check_events(POSIXTRACE, reader.found, 'rows.log')
    equal('rows', reader.rows, {'request': {('', 1)}, 'db.query': {('', 2)}, 'disk': {('', 3)}, 'wait': {('wait', 1)}})


def test_wild():
    """A trace with all of the events, each slice ended, whatever is in the log."""
    for seed in range(4):
        log = write('wild.log', wild_log(seed))
        for options in (['--span', '*,*'], ['--nested', '--by', 'all', '--span', '*a*,?*']):
            found = Reader(convert(*options, log), same_names=True).found
            wanted = {line['event'] for line in report(POSIXTRACE, log)} - LOST
            equal('types', {event.name for event in found.events}, wanted)
            assert len(found.slices) > 10


def test_names_change():
    log = Log()
    for time, name in ((0, 'one'), (10, 'two'), (20, 'one')):
        log.event(time, 'a', thread=name)
        log.segment()
    equal('names', [event.thread for event in read(write('names.log', log.closed())).events], ['one', 'two', 'one'])


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
    packets = convert(*logs)
    reader = Reader(packets)
    check_events(POSIXTRACE, reader.found, *logs, machine=False)
    check_slices(POSIXTRACE, reader.found, PAIRS, *logs)
    processes = [one(packet, 'track_descriptor') for packet in packets
                 if 'process' in one(packet, 'track_descriptor', {})]
    equal('processes', sorted(one(one(track, 'process'), 'pid') for track in processes), [100, 200])
    names = {track['name']: track['parent'] for track in reader.tracks.values()}
    equal('those of another machine', {name: names[name]
                                       for name in ('there', 'one 100', 'two "quoted" 200', 'main 100', 'other 200')},
          {'there': None, 'one 100': 'there', 'two "quoted" 200': 'there', 'main 100': 'one 100',
           'other 200': 'two "quoted" 200'})
    assert f'events lost ({logs[1]})' in names


Suite(globals()).main()
