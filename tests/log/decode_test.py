#!/usr/bin/env python3
#
# decode_test.py - decode.py gives back what was put into a log, and never fails otherwise than by saying so
#
#     decode_test.py [SEED]       the seed of random events and mutations; else another one each time, which is printed
#
# The logs are made here, in memory, from docs/log-format.md: nothing is shared
# with decode.py but that document, nor with the library.
#
# SPDX-License-Identifier: MIT

import os
import random
import resource
import signal
import struct
import subprocess
import sys
import tempfile
from collections import namedtuple
from pathlib import Path

import decode

HEADER, TYPES, PROCESS, SLOT, SEGMENT, INDEX, FOOTER = range(1, 8)
LOOP, UNTIL_FULL, APPEND = 1, 2, 4
LOG = 0x1122334455667788
ORDER = 1 if sys.byteorder == 'little' else 2
LENGTHS = [0, 1, 7, 8, 9, 16, 17, 63, 64, 65, 255, 256, 257, 1000]
MUTATIONS = 2000 if os.environ.get('TEST_THOROUGH') else 300
DECODE = Path(__file__).with_name('decode.py')

Event = namedtuple('Event', 'type pid tid pthread address time truncated data')

checks = 0
failures = 0


def equal(name, found, wanted):
    global checks, failures
    checks += 1
    if found != wanted:
        failures += 1
        print(f'FAILED: {name}')
        if isinstance(found, list) and isinstance(wanted, list):
            for i in range(max(len(found), len(wanted))):
                if found[i:i + 1] != wanted[i:i + 1]:
                    print(f'  line {i}: {str(found[i:i + 1])[:400]}\n  not:    {str(wanted[i:i + 1])[:400]}')
                    return
        print(f'  {str(found)[:400]}\n  not: {str(wanted)[:400]}')


# What the document says, written down a second time, bit by bit.

def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        for i in range(8):
            low = (crc ^ byte >> i) & 1
            crc = crc >> 1 ^ (0x82f63b78 if low else 0)
    return crc ^ 0xffffffff


def varint(number):
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7f | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def string(value):
    return struct.pack('<H', len(value)) + value


def packed(data, before):
    """Data of up to 256 bytes, and those of the event of that shape before."""
    words = [data[i:i + 8].ljust(8, b'\0') for i in range(0, len(data), 8)]
    old = [before[i:i + 8].ljust(8, b'\0') for i in range(0, len(before), 8)]
    xored = [bytes(a ^ b for a, b in zip(word, old[i] if i < len(old) else bytes(8))) for i, word in enumerate(words)]
    counts = [len(word.rstrip(b'\0')) for word in xored]
    out = bytearray()
    for i in range(0, len(counts), 2):
        out.append(counts[i] | (counts[i + 1] if i + 1 < len(counts) else 0) << 4)
    return bytes(out) + b''.join(word.rstrip(b'\0') for word in xored)


class Items:
    """The body of a SEGMENT as it grows."""

    def __init__(self, time):
        self.out = bytearray()
        self.threads = {}
        self.shapes = {}
        self.time = time

    def thread(self, pid, tid, pthread, name=b''):
        self.out += b'\0\1' + struct.pack('<IIQB', pid, tid, pthread, len(name)) + name
        self.threads[pid, tid, pthread] = len(self.threads)

    def shape(self, thread, type_id, flags, length, address):
        self.out += b'\0\2' + varint(thread) + varint(type_id) + bytes([flags]) + varint(length)
        self.out += struct.pack('<Q', address)

    def back(self, by):
        self.out += b'\0\3' + varint(by)
        self.time -= by

    def event(self, event, name=b'thread'):
        thread = event.pid, event.tid, event.pthread
        if thread not in self.threads:
            self.thread(*thread, b'' if thread == (0, 0, 0) else name)
        key = (self.threads[thread], event.type, event.truncated, len(event.data), event.address)
        if key not in self.shapes:
            self.shape(*key)
            self.shapes[key] = [len(self.shapes), b'']
        if event.time < self.time:
            self.back(self.time - event.time)
        number, before = self.shapes[key]
        self.out += varint(number + 1) + varint(event.time - self.time)
        self.out += event.data if len(event.data) > 256 else packed(event.data, before)
        self.shapes[key][1] = event.data
        self.time = event.time


def frame(kind, body=b'', log=LOG, number=0, first=0, last=0, events=0, lost=0, size=None, body_crc=None):
    size = len(body) if size is None else size
    body_crc = (0 if kind == SLOT else crc32c(body)) if body_crc is None else body_crc
    head = struct.pack('<IHHQQIIQQIII', 0x464c5450, kind, 0, log, number, size, body_crc, first, last, events, lost, 0)
    return head + struct.pack('<I', crc32c(head)) + body + bytes(-len(body) % 8)


def raw_segment(number, body, first=0, last=0, events=0, **rest):
    return frame(SEGMENT, bytes(body), number=number, first=first, last=last, events=events, **rest)


def segment(number, events, behind=b'', **rest):
    items = Items(events[0].time if events else 0)
    for event in events:
        items.event(event)
    times = (events[0].time, events[-1].time) if events else (0, 0)
    return raw_segment(number, items.out + behind, *times, len(events), **rest)


def header(policy=APPEND, name=b'a trace', major=1, order=ORDER, magic=b'posixtrace log\n\0', more=b'', **rest):
    body = magic + struct.pack('<HHBBHQQQQQIBBBBII', major, 0, order, 8, 0, 1000, 77, 1, 65536, 1 << 20, 256, 3, policy,
                               1, 0, 4321, 1234)
    body += bytes(96 - len(body))
    strings = b'posixtrace 1', name, b'host', b'6.1', b'x86_64', b'/f'
    return frame(HEADER, body + b''.join(map(string, strings)) + more, **rest)


def types(names):
    return frame(TYPES, b''.join(struct.pack('<HB', number, len(name)) + name for number, name in names.items()))


def process(pid, executable, mappings):
    body = struct.pack('<IIQ', pid, len(mappings), 999) + string(executable)
    for start, end, offset, path, build_id in mappings:
        body += struct.pack('<QQQ', start, end, offset) + string(path) + string(build_id)
    return frame(PROCESS, body)


def close(log, status=0, error=0, lost=0, slots=(), frames=(), marks=(), more=b''):
    """The log with its INDEX and FOOTER."""
    body = struct.pack('<QQQIIIIII', 0, lost, 0, status, error, len(slots), len(frames), len(marks), 0)
    body += b''.join(struct.pack('<Q', offset) for offset in [*slots, *frames])
    body += b''.join(struct.pack('<QQQ', *mark) for mark in marks)
    return log + frame(INDEX, body + more) + frame(FOOTER, number=len(log))


# What decode.py is to say.

NAMES = {1: b'posix_trace_start', 4: b'posix_trace_overflow', 5: b'posix_trace_resume', 100: b'app:\xc3\xa4',
         2047: b'z'}
PREDEFINED = types({number: name for number, name in NAMES.items() if number < 100})
OTHERS = types({number: name for number, name in NAMES.items() if number >= 100})
MAPPINGS = [(0x1000, 0x2000, 0, b'/bin/a b', b'\xab\xcd'), (0x3000, 0x4000, 4096, b'', b'')]
ATTRIBUTES = ['attr version posixtrace 1', 'attr name a trace', 'attr created 1000', 'attr resolution 1',
              'attr stream-size 65536', 'attr log-size 1048576', 'attr data-size 256', 'attr stream-policy 3',
              'attr log-policy 4', 'attr inheritance 1']
CLOSED = 'status full=0 overrun=0 log-overrun=0 log-full=0 error=0 lost=0'


def begin(policy=APPEND):
    return header(policy) + PREDEFINED + process(4321, b'/bin/true', MAPPINGS) + OTHERS


def line(event):
    return (f'event {event.type} {event.pid} {event.tid} {event.pthread:x} {event.address:x} {event.time} '
            f'{event.truncated} {len(event.data)} {event.data.hex() or "-"}')


def gap(before, behind):
    return [f'event 4 0 0 0 0 {before} 0 0 -', f'event 5 0 0 0 0 {behind} 0 0 -']


def dump(events, last=CLOSED, policy=APPEND):
    """Events, and lines between them, as the dump of a log that begins as begin() does."""
    lines = [text.replace('policy 4', f'policy {policy}') if 'log-policy' in text else text for text in ATTRIBUTES]
    lines += [f'type {number} {name.decode()}' for number, name in sorted(NAMES.items())]
    return lines + [event if isinstance(event, str) else line(event) for event in events] + [last]


def decoded(data, show=decode.show_log):
    path = folder / 'log'
    path.write_bytes(data)
    return list(decode.decode(path, show))


def of_events(data):
    return [text for text in decoded(data) if not text.startswith(('attr', 'type'))]


def random_events(count, start=10**9):
    """Few threads, types and lengths, so that shapes come again; times mostly go on, sometimes back."""
    threads = [(10, 10, 0x7f0000001000), (10, 11, 0x7f0000002000), (12, 12, 1), (0, 0, 0)]
    lengths = random.sample(LENGTHS, 4)
    data = {length: random.randbytes(length) for length in lengths}
    time = start
    for _ in range(count):
        time += random.choice([0, 1, 100, 127, 128, 10**6, 10**10]) - random.choice([0, 0, 0, 50])
        length = random.choice(lengths)
        if random.random() < .7:
            changed = bytearray(data[length])
            for _ in range(min(length, random.choice([0, 1, 3]))):
                changed[random.randrange(length)] = random.choice([0, 1, 255, random.randrange(256)])
            data[length] = bytes(changed)
        yield Event(random.choice([1, 100, 2047]), *random.choice(threads), random.choice([0, 0x401000, (1 << 64) - 1]),
                    time, random.choice([0, 0, 0, 1]), data[length])


def pieces(events, size):
    return [events[i:i + size] for i in range(0, len(events), size)]


def simple(time, data=b'', type_id=100):
    return Event(type_id, 7, 8, 9, 10, time, 0, data)


# The tests.

def test_numbers():
    equal('crc', (crc32c(b'123456789'), decode.crc32c(b'123456789')), (0xe3069283, 0xe3069283))
    for number in [0, 127, 128, 1 << 32, (1 << 64) - 1]:
        equal(f'varint {number}', decode.Body(varint(number)).varint(), number)
    for number in [1 << 64, 1 << 69, 1 << 70]:
        try:
            equal(f'varint {number}', decode.Body(varint(number)).varint(), 'none')
        except decode.Damaged:
            pass


def test_lengths():
    for length in LENGTHS:
        random_data = random.randbytes(length)
        rows = [bytes(length), random_data, random_data, bytes(length), b'\xff' * length,
                b'\1'[:length] + bytes(max(length - 1, 0)), bytes(max(length - 1, 0)) + b'\x80'[:length]]
        events = [simple(i + 5000, data) for i, data in enumerate(rows)]
        equal(f'length {length}', decoded(close(begin() + segment(1, events))), dump(events))
    # What is before is of the same shape, and of this segment.
    a = simple(1, b'aaaaaaaa')
    events = [a, a._replace(address=11), a, a._replace(truncated=1), a._replace(pid=1), a, a._replace(data=b'aaaaaaa')]
    equal('shapes', decoded(close(begin() + segment(1, events) + segment(2, events))), dump(events * 2))


def test_append():
    for policy in APPEND, UNTIL_FULL:
        for _ in range(15):
            events = list(random_events(random.choice([1, 5, 60])))
            log = begin(policy)
            for i, some in enumerate(pieces(events, random.choice([1, 7, 100]))):
                log += segment(i + 1, some, lost=random.choice([0, 3]))
            equal('append', decoded(close(log)), dump(events, CLOSED, policy))
            equal('append, incomplete', decoded(log), dump(events, 'incomplete skipped=0', policy))
    equal('no events', decoded(close(begin())), dump([]))
    equal('empty segments', decoded(close(begin() + segment(1, []) + segment(2, [simple(5)]) + segment(3, []))),
          dump([simple(5)]))


def test_items():
    top = (1 << 64) - 1
    for behind in b'', b'\0\1' + bytes(17), b'\0\3\5', b'\0\1' + bytes(17) + b'\0\2\0\1' + bytes(10):
        equal('definitions behind', of_events(close(begin() + segment(1, [simple(9)], behind))),
              [line(simple(9)), CLOSED])
    events = [simple(0), simple(top), simple(0), simple(5), simple(4)]
    equal('times', of_events(close(begin() + segment(1, events))), [*map(line, events), CLOSED])
    for count in 4096, 4097:
        items = Items(5)
        for i in range(count):
            items.event(Event(100, i + 1, 1, 1, 1, 5, 0, b'x'))
        wanted = [line(Event(100, i + 1, 1, 1, 1, 5, 0, b'x')) for i in range(4096)] if count == 4096 else []
        equal(f'{count} threads and shapes', of_events(close(begin() + raw_segment(1, items.out, 5, 5, count))),
              [*wanted, CLOSED])
    for threads, shapes in (4096, 1), (4097, 1), (1, 4096), (1, 4097):
        items = Items(5)
        for i in range(threads):
            items.thread(7, 8, 9)
        for i in range(shapes):
            items.shape(0, 100, 0, 0, 10)
        equal(f'{threads} threads, {shapes} shapes',
              of_events(close(begin() + raw_segment(1, items.out + b'\1\0', 5, 5, 1))),
              [line(simple(5)), CLOSED] if threads + shapes == 4097 else [CLOSED])
    thread = b'\0\1' + struct.pack('<IIQB', 7, 8, 9, 0)
    shape = b'\0\2\0\x64\0\0' + struct.pack('<Q', 10)
    nine = thread + b'\0\2\0\x64\0\x09' + struct.pack('<Q', 10) + b'\1\0'
    equal('by hand', of_events(close(begin() + raw_segment(1, nine + b'\x18' + b'abcdefgh' + b'i', 5, 5, 1))),
          [line(simple(5, b'abcdefghi')), CLOSED])
    named = thread[:-1] + b'\x0f' + b'n' * 15 + shape + b'\1\0'
    equal('a name of 15', of_events(close(begin() + raw_segment(1, named, 5, 5, 1))), [line(simple(5)), CLOSED])
    flags = thread + shape.replace(b'\x64\0', b'\x64\xfe') + b'\1\0'
    equal('unused flags', of_events(close(begin() + raw_segment(1, flags, 5, 5, 1))), [line(simple(5)), CLOSED])
    good = thread + shape + b'\1\0'
    bad = {
        'no shape': (thread + b'\1\0', 5, 5, 1), 'no thread': (shape + b'\1\0', 5, 5, 1),
        'another definition': (good + b'\0\4\0', 5, 5, 1), 'definition 0': (good + b'\0\0\0', 5, 5, 1),
        'half a definition': (good + b'\0', 5, 5, 1), 'half a thread': (good + thread[:-1], 5, 5, 1),
        'half a shape': (good + shape[:-1], 5, 5, 1),
        'a name of 16': (thread[:-1] + b'\x10' + bytes(16) + shape + b'\1\0', 5, 5, 1),
        'too few': (good, 5, 5, 2), 'too many': (good, 5, 5, 0), 'no time': (good[:-1], 5, 5, 1),
        'varint of 11 bytes': (good[:-1] + b'\x80' * 10 + b'\0', 5, 5, 1),
        'varint of 65 bits': (good[:-1] + b'\x80' * 9 + b'\2', 5, 5, 1),
        'unending varint': (good + b'\xff', 5, 5, 1), 'time below 0': (thread + shape + b'\0\3\6' + b'\1\6', 5, 5, 1),
        'time above': (good + b'\1\1' + b'\0\3\1' + b'\1\0', top, top, 3),
        'first': (thread + shape + b'\1\1', 5, 6, 1), 'last': (good, 5, 6, 1),
        'type of 14 bits': (thread + b'\0\2\0\x80\x40\0\0' + bytes(8) + b'\1\0', 5, 5, 1),
        'data missing': (nine + b'\x18' + b'abcdefgh', 5, 5, 1),
        'a word of 9': (nine + b'\x19' + b'abcdefghi' + b'i', 5, 5, 1),
        'more than the last word': (nine + b'\x28' + b'abcdefgh' + b'ij', 5, 5, 1),
        'zero at the top': (nine + b'\x18' + b'abcdefg\0' + b'i', 5, 5, 1),
        'odd half': (nine.replace(b'\x64\0\x09', b'\x64\0\x08') + b'\x11a' + b'b', 5, 5, 1),
        'huge data': (thread + b'\0\2\0\x64\0' + varint(1 << 63) + bytes(8) + b'\1\0', 5, 5, 1)}
    for name, (body, first, last, count) in bad.items():
        log = begin() + segment(1, [simple(3)]) + raw_segment(2, body, first, last, count) + segment(3, [simple(8)])
        equal(name, of_events(close(log)), [line(simple(3)), *gap(3, 8), line(simple(8)), CLOSED])


def slot(size, *parts):
    body = b''.join(parts)
    assert len(body) <= size and size % 8 == 0
    return frame(SLOT, size=size, body_crc=0) + body + bytes(size - len(body))


def loop_log():
    """Three slots: the second is the oldest, and the first has been written again over older ones."""
    events = list(random_events(60))
    size = 16384
    parts = pieces(events, 10)
    log = begin(LOOP).replace(OTHERS, b'')
    offsets = []
    leftover = segment(2, [simple(1)])
    rows = [[segment(7, parts[4]), segment(8, parts[5]), leftover, segment(3, [simple(2)])],
            [segment(3, parts[0]), segment(4, parts[1])], [segment(5, parts[2]), segment(6, parts[3])]]
    for row in rows:
        offsets.append(len(log))
        log += slot(size, *row)
    late = len(log)
    log += OTHERS  # a type that came late
    return log, events, offsets, late, size


def test_loop():
    log, events, offsets, late, size = loop_log()
    wanted = dump(events, CLOSED, LOOP)
    order = [offsets[1], offsets[2], offsets[0]]
    equal('loop', decoded(close(log, slots=order, frames=[late])), wanted)
    equal('loop, incomplete', decoded(log), [*wanted[:-1], 'incomplete skipped=0'])
    lines = [*map(line, events)]

    # The slot with 3 and 4 is being written again: first a part of the frame 9, then all of it.
    place = offsets[1] + 64
    fresh = segment(9, [simple(10**13)])
    torn = bytearray(log)
    torn[place:place + 64] = fresh[:60] + bytes(4)
    equal('torn header', of_events(bytes(torn)), [*lines[20:], 'incomplete skipped=0'])
    torn[place:place + 64] = fresh[:64]
    equal('torn body', of_events(bytes(torn)), [*lines[20:], 'incomplete skipped=0'])
    torn[place:place + len(fresh)] = fresh
    equal('a slot that begins again', of_events(bytes(torn)),
          [*lines[20:], line(simple(10**13)), 'incomplete skipped=0'])

    # 5 does not count, 6 does: a gap from 4 to 6.
    spoiled = bytearray(log)
    spoiled[offsets[2] + 64 + 70] ^= 1
    equal('a gap', of_events(close(bytes(spoiled))),
          [*lines[:20], *gap(events[19].time, events[30].time), *lines[30:], CLOSED])
    spoiled = bytearray(log)
    spoiled[offsets[2] + 64 + 17] ^= 1  # damages a header, which ends the slot
    equal('a slot lost', of_events(close(bytes(spoiled))),
          [*lines[:20], *gap(events[19].time, events[40].time), *lines[40:], CLOSED])

    # The last slot is shorter when closed, and not yet there when it was not.
    short = begin(LOOP) + slot(16384, segment(1, events[:10]))
    last = segment(2, events[10:20])
    equal('a short slot', of_events(close(short + slot(len(last), last))), [*lines[:20], CLOSED])
    growing = short + slot(16384, last)[:64 + len(last)]
    equal('a slot that grows', of_events(growing), [*lines[:20], 'incomplete skipped=0'])
    equal('a slot that is cut', of_events(growing[:-8]), [*lines[:10], 'incomplete skipped=0'])
    one = segment(1, events[:10])
    other = frame(PROCESS, number=2) + segment(3, events[:10])
    for name, inner, less in ('too long', last, 8), ('no segment', other, 0):
        row = frame(SLOT, size=len(one) + len(inner) - less, body_crc=0) + one + inner
        equal(f'in a slot: {name}', of_events(begin(LOOP) + row), [*lines[:10], f'incomplete skipped={less}'])
    equal('an empty slot', of_events(short + slot(4096)), [*lines[:10], 'incomplete skipped=0'])


def test_incomplete():
    parts = [[simple(100 + 10 * i), simple(105 + 10 * i, b'data')] for i in range(4)]
    frames = [segment(i + 1, part) for i, part in enumerate(parts)]
    log = begin() + b''.join(frames)
    lines = [line(event) for part in parts for event in part]
    for length in range(len(begin()), len(log) + 1):
        whole = 0
        rest = length - len(begin())
        while whole < 4 and rest >= len(frames[whole]):
            rest -= len(frames[whole])
            whole += 1
        if whole < 4 and rest >= 64 + struct.unpack_from('<I', frames[whole], 24)[0]:
            whole, rest = whole + 1, 0  # what is cut are the zeroes only
        equal(f'cut at {length}', of_events(log[:length]), [*lines[:2 * whole], f'incomplete skipped={rest}'])
    for length in range(len(begin())):
        try:
            decoded(log[:length])
            found = True
        except decode.NotALog:
            found = False
        equal(f'cut at {length}', found, length >= 64 + struct.unpack_from('<I', log, 24)[0])
    closed = close(log)
    for length in range(len(log) + 1, len(closed)):
        equal(f'cut at {length}', of_events(closed[:length])[:-1], lines)
    equal('bytes behind', of_events(closed + bytes(8)), [*lines, 'incomplete skipped=8'])
    older = segment(5, parts[1], log=LOG + 1)
    equal('of an older log', of_events(log + older + frames[0][:64]), [*lines, f'incomplete skipped={len(older) + 64}'])
    equal('FOOTER of an older log', of_events(log + frame(FOOTER, number=0, log=5)), [*lines, 'incomplete skipped=64'])
    for number in 8, len(log), len(log) + 64, 1 << 63, (1 << 64) - 8:
        equal(f'FOOTER with {number}', of_events(log + frame(FOOTER, number=number)), [*lines, 'incomplete skipped=0'])
    index = frame(INDEX, bytes(48))
    equal('FOOTER of another kind', of_events(log + index + frame(99, number=len(log))),
          [*lines, 'incomplete skipped=0'])
    equal('INDEX of another kind', of_events(log + frame(99, bytes(48)) + frame(FOOTER, number=len(log))),
          [*lines, 'incomplete skipped=0'])
    equal('INDEX at an odd place', of_events(log + bytes(4) + index + bytes(4) + frame(FOOTER, number=len(log) + 4)),
          [*lines, f'incomplete skipped={len(index) + 8}'])
    equal('FOOTER at an odd place', of_events(log + index + bytes(4) + frame(FOOTER, number=len(log))),
          [*lines, 'incomplete skipped=68'])
    equal('INDEX with many marks', of_events(close(log, marks=[(0, 0, 0)] * 4097)), [*lines, 'incomplete skipped=0'])
    equal('8 bytes between', of_events(begin() + bytes(8) + b''.join(frames)), [*lines, 'incomplete skipped=8'])
    equal('INDEX with a slot too many', of_events(log + frame(INDEX, bytes(32) + b'\1' + bytes(15 + 7)) +
                                                  frame(FOOTER, number=len(log))), [*lines, 'incomplete skipped=0'])
    equal('INDEX with huge counts', of_events(log + frame(INDEX, bytes(32) + b'\xff' * 16) +
                                              frame(FOOTER, number=len(log))), [*lines, 'incomplete skipped=0'])
    with open(folder / 'log', 'wb') as file:
        file.write(log)
        file.truncate(1 << 40)
    equal('space reserved', list(decode.decode(folder / 'log'))[-9:],
          [*lines, f'incomplete skipped={(1 << 40) - len(log)}'])


def test_damaged():
    parts = [[simple(100 + 10 * i), simple(105 + 10 * i, b'data')] for i in range(5)]
    frames = [segment(i + 1, part) for i, part in enumerate(parts)]
    lines = [[*map(line, part)] for part in parts]

    def damaged(place, *numbers):
        spoiled = [bytes([*row[:place], row[place] ^ 4, *row[place + 1:]]) if i + 1 in numbers else row
                   for i, row in enumerate(frames)]
        return begin() + b''.join(spoiled)

    def lost(*numbers):
        """The lines of what is left."""
        left, before, missing = [], 1000, False
        for i, part in enumerate(parts):
            if i + 1 in numbers:
                missing = True
                continue
            left += gap(before, part[0].time) if missing else []
            missing = False
            left += lines[i]
            before = part[-1].time
        return left

    for numbers in (3,), (2, 3), (2, 4), (5,), (4, 5), (1,), (1, 2), (1, 2, 3, 4, 5):
        equal(f'bodies {numbers}', of_events(close(damaged(70, *numbers))), [*lost(*numbers), CLOSED])
        equal(f'headers {numbers}', of_events(close(damaged(16, *numbers))), [*lost(*numbers), CLOSED])
        skipped = sum(len(frames[number - 1]) for number in numbers)
        equal(f'headers {numbers}, incomplete', of_events(damaged(16, *numbers)),
              [*lost(*numbers), f'incomplete skipped={skipped}'])
    equal('missing', of_events(close(begin() + frames[0] + frames[3])),
          [*lines[0], *gap(parts[0][1].time, parts[3][0].time), *lines[3], CLOSED])
    equal('twice', of_events(close(begin() + frames[0] + frames[1] + frames[1] + frames[0] + frames[2])),
          [*lines[0], *lines[1], *lines[2], CLOSED])
    for name, body in {'half a name': b'\1\0\5abc', 'no length': b'\1\0', 'an id of 14 bits': b'\0\x20\1a'}.items():
        bare = close(begin().replace(OTHERS, frame(TYPES, body)) + frames[0])
        equal(f'TYPES with {name}', [row for row in decoded(bare) if row.startswith('type')],
              [f'type {number} {NAMES[number].decode()}' for number in (1, 4, 5)])


def test_later():
    """What a later minor version may add."""
    log = header(more=b'more') + PREDEFINED + frame(99, b'new', number=1) + OTHERS + frame(0) + segment(1, [simple(5)])
    equal('additions', decoded(close(log, more=b'more')), dump([simple(5)]))


def test_status():
    for bit, name in enumerate(['full', 'overrun', 'log-overrun', 'log-full']):
        equal(name, of_events(close(begin(), 1 << bit)), [CLOSED.replace(f' {name}=0', f' {name}=1')])
    equal('error', of_events(close(begin(), 0xf, 28, 1 << 40, slots=[8], frames=[16], marks=[(1, 2, 3)])),
          [f'status full=1 overrun=1 log-overrun=1 log-full=1 error=28 lost={1 << 40}'])


def test_rows():
    log, _, offsets, late, size = loop_log()
    rows = [text.split() for text in decoded(close(log), decode.show_frames)]
    equal('kinds', [row[1] for row in rows],
          ['HEADER', 'TYPES', 'PROCESS', *['SLOT', 'SEGMENT', 'SEGMENT'] * 3, 'TYPES', 'INDEX', 'FOOTER'])
    equal('offsets', [int(row[0]) for row in rows if row[1] in ('SLOT', 'FOOTER')], [*offsets, len(close(log)) - 64])
    equal('numbers', [int(row[2]) for row in rows if row[1] == 'SEGMENT'], [7, 8, 3, 4, 5, 6])
    equal('a slot', rows[3], [str(offsets[0]), 'SLOT', '0', str(size), '0', '0', '0', '0'])
    one = segment(1, [simple(5), simple(6)], lost=4)
    equal('a segment', decoded(begin() + one, decode.show_frames)[-1],
          f'{len(begin())} SEGMENT 1 {struct.unpack_from("<I", one, 24)[0]} 5 6 2 4')
    path = folder / 'log'
    path.write_bytes(begin())
    run = subprocess.run([sys.executable, DECODE, '--processes', path], capture_output=True, text=True)
    equal('processes', (run.returncode, run.stdout.splitlines()),
          (0, ['process 4321 999 /bin/true', 'mapping 1000 2000 0 abcd /bin/a b', 'mapping 3000 4000 1000 - ']))
    name = close(header(name=b'a\nb\xff\x7f'))
    path.write_bytes(name)
    run = subprocess.run([sys.executable, DECODE, path], capture_output=True)
    equal('a name', (run.returncode, run.stdout.splitlines()[1]), (0, b'attr name a\\x0ab\xff\\x7f'))


def test_refused():
    rows = {'empty': b'', 'text': b'posixtrace log\n\0' * 9, 'zeroes': bytes(4096), 'major': header(major=2),
            'order': header(order=3 - ORDER), 'order 0': header(order=0), 'magic': header(magic=b'posixtrace log\r\0'),
            'crc': header(body_crc=1), 'short': frame(HEADER, b'posixtrace log\n\0' + b'\1\0\0\0'),
            'no HEADER': PREDEFINED, 'another kind': frame(TYPES, header()[64:]), 'cut': header()[:-8],
            'too large': frame(HEADER, size=(16 << 20) + 1), 'all of it': frame(HEADER, size=(1 << 32) - 1)}
    for name, data in rows.items():
        path = folder / name
        path.write_bytes(data)
    os.mkfifo(folder / 'fifo')
    for name in [*rows, 'fifo', 'none', '.', '/dev/zero', '/dev/null']:
        run = subprocess.run([sys.executable, DECODE, folder / name], capture_output=True, text=True, timeout=60)
        equal(f'refused: {name}', (run.returncode, run.stdout, 'Traceback' in run.stderr, len(run.stderr.splitlines())),
              (1, '', False, 1))
    (folder / 'good').write_bytes(close(begin()))
    run = subprocess.run([sys.executable, DECODE, folder / 'text', folder / 'good'], capture_output=True, text=True)
    equal('one of two', (run.returncode, run.stdout.splitlines()), (1, dump([])))


def frames_in(data, offset, end, found):
    """Offsets of frames, also of those in slots; of a log that is whole."""
    while offset + 64 <= end and data[offset:offset + 4] == b'PTLF':
        found.append(offset)
        size = struct.unpack_from('<I', data, offset + 24)[0]
        if data[offset + 4] == SLOT:
            frames_in(data, offset + 64, offset + 64 + size, found)
        offset += 64 + (size + 7) // 8 * 8
    return found


def repair(data, offset):
    """Corrects the CRCs of a frame, so that the decoder looks at its contents."""
    size = struct.unpack_from('<I', data, offset + 24)[0]
    if size < 1 << 16 and data[offset + 4] != SLOT:
        struct.pack_into('<I', data, offset + 28, crc32c(data[offset + 64:offset + 64 + size]))
    struct.pack_into('<I', data, offset + 60, crc32c(data[offset:offset + 60]))


def mutate(data):
    """Changes random bytes, or bytes of one frame, whose CRCs are corrected afterwards."""
    data = bytearray(data)
    how = random.randrange(4)
    if how == 0:
        for _ in range(random.randrange(1, 6)):
            data[random.randrange(len(data))] = random.randrange(256)
    elif how == 1:
        where, length = random.randrange(len(data)), random.randrange(1, 200)
        data[where:where + length] = random.choice([b'', bytes(length), data[-length:], data[:length] * 2])
    else:
        offset = random.choice(frames_in(data, 0, len(data), []))
        size = struct.unpack_from('<I', data, offset + 24)[0]
        for _ in range(random.randrange(1, 4)):
            if how == 2 and data[offset + 4] != SLOT and size:
                place = offset + 64 + random.randrange(size)
            else:
                place = offset + random.choice([4, *range(16, 60)])
            data[place] = random.choice([0, 1, 2, 127, 128, 255, data[place] ^ 1, random.randrange(256)])
        repair(data, offset)
    return bytes(data)


def test_mutations():
    small = list(random_events(30))
    append = begin()
    for i, some in enumerate(pieces(small, 10)):
        append += segment(i + 1, some)
    loop = begin(LOOP) + slot(1024, segment(4, [simple(9)] * 9), segment(2, [simple(1)]))
    loop += slot(1024, segment(2, [simple(2, b'q')] * 3), segment(3, [simple(3, bytes(257))] * 2))
    logs = [close(append, frames=[0], marks=[(8, 1, 1)]), append, close(loop, slots=[8, 16]), loop]
    shows = [decode.show_log, decode.show_log, decode.show_frames, lambda log: log.rows(PROCESS, decode.read_process)]
    for i in range(MUTATIONS):
        data = mutate(random.choice(logs))
        signal.alarm(60)
        try:
            lines = decoded(data, shows[i % len(shows)])
            if i % len(shows) < 2:
                equal(f'mutation {i}: last line', lines[-1].split()[0] in ('status', 'incomplete'), True)
        except decode.NotALog:
            pass
        except BaseException as problem:  # also MemoryError, and the alarm
            equal(f'mutation {i} of seed {seed}', repr(problem), 'no exception')
        signal.alarm(0)


class Hangs(Exception):
    pass


def alarm(*_):
    raise Hangs


seed = int(sys.argv[1]) if len(sys.argv) > 1 else random.randrange(1 << 32)
print(f'seed {seed}', flush=True)
random.seed(seed)
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, resource.getrlimit(resource.RLIMIT_AS)[1]))
signal.signal(signal.SIGALRM, alarm)
with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    for test in [value for key, value in list(globals().items()) if key.startswith('test_')]:
        test()
print(f'{checks} checks, {failures} failed')
sys.exit(failures != 0)
