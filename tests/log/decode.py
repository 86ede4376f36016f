#!/usr/bin/env python3
#
# decode.py - what is in a log, as text: a second reader, written from docs/log-format.md alone
#
#     decode.py FILE...                   attributes, types, events and status, a line each
#     decode.py --frames FILE...          the row of frames: offset, kind, number, size, first, last, events, lost
#     decode.py --processes FILE...       the frames PROCESS: what was mapped where
#     decode.py --about FILE...           the generation, labels, and clocks
#
# Lines: "attr NAME VALUE", "type ID NAME", "event ID PID TID PTHREAD ADDRESS
# TIME TRUNCATED LENGTH DATA" (pthread_t, address and data in hexadecimal, no
# data "-"), and at last "status ..." or, if the log is incomplete,
# "incomplete skipped=BYTES". Control characters in names are written as \xHH.
# Exit status 1: one of the files is not a log.
#
# SPDX-License-Identifier: MIT

import argparse
import contextlib
import os
import re
import signal
import struct
import sys
import unicodedata
from collections import namedtuple
from itertools import islice

KINDS = dict(enumerate('HEADER TYPES PROCESS SLOT SEGMENT INDEX FOOTER SUM LAYOUTS LABELS CLOCK'.split(), 1))
HEADER, TYPES, PROCESS, SLOT, SEGMENT, INDEX, FOOTER, SUM, LAYOUTS, LABELS, CLOCK = KINDS
MAGIC = b'PTLF'
FRAME = struct.Struct('<4sHHQQIIQQIIII')
MAX_BODY, MAX_NUMBERS = 16 << 20, 4096  # of all kinds but SLOT; of threads, shapes and marks
LOOP, OVERFLOW, RESUME = 1, 4, 5

Frame = namedtuple('Frame', 'offset magic kind _ log number size body_crc first last events lost __ crc', rename=True)
Event = namedtuple('Event', 'type pid tid pthread address time truncated data')
CRC = list(range(256))
for _ in range(8):
    CRC = [value >> 1 ^ (0x82f63b78 if value & 1 else 0) for value in CRC]


class NotALog(Exception):
    """The file is none, or none that a reader of the document may read."""


class Damaged(NotALog):
    """A body is not what the document says: HEADER's, or the frame does not count."""


def check(right):
    if not right:
        raise Damaged('damaged')


def crc32c(data, table=CRC):
    crc = 0xffffffff
    for byte in data:
        crc = table[(crc ^ byte) & 0xff] ^ crc >> 8
    return crc ^ 0xffffffff


def text(name):
    name = name.decode(errors='surrogateescape')
    return ''.join(f'\\x{ord(c):02x}' if ord(c) < 32 or ord(c) == 127 else c for c in name)


class Body:
    """The bytes of a body from front to back; Damaged if one takes more than there are."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        check(count <= len(self.data) - self.at)
        self.at += count
        return self.data[self.at - count:self.at]

    def number(self, width):
        return int.from_bytes(self.take(width), 'little')

    def string(self):
        return self.take(self.number(2))

    def varint(self):
        value = 0
        for i, byte in enumerate(self.data[self.at:self.at + 10]):
            value |= (byte & 0x7f) << 7 * i
            if byte < 0x80 and value < 1 << 64:
                self.at += i + 1
                return value
        raise Damaged('no number of 64 bits')

    def packed(self, length):
        """The words of data before they are xored, as one little-endian number."""
        words = (length + 7) // 8
        counts = [half for byte in self.take((words + 1) // 2) for half in (byte & 15, byte >> 4)]
        value = 0
        for i, count in enumerate(counts):
            word = self.take(count)
            check(count == 0 or count <= 8 and i < words and word[-1])
            value |= int.from_bytes(word, 'little') << 64 * i
        return value


class Shape:
    def __init__(self, body, threads):
        thread, self.type, self.flags = body.varint(), body.varint(), body.number(1)
        self.length, self.address = body.varint(), body.number(8)
        check(thread < len(threads) and self.type < 1 << 13)
        self.thread = threads[thread]
        self.before = 0  # data of its event before, as a number

    def event(self, body, time):
        if self.length > 256:
            data = body.take(self.length)
        else:
            self.before ^= body.packed(self.length)
            check(self.before >> 8 * self.length == 0)  # what the last word is filled up with
            data = self.before.to_bytes(self.length, 'little')
        return Event(self.type, *self.thread, self.address, time, self.flags & 1, data)


def read_events(frame, data):
    """Those of a SEGMENT; Damaged, maybe only behind the last, if it does not count."""
    body, threads, shapes = Body(data), [], []
    count, time, last = 0, frame.first, frame.last
    while body.at < len(data):
        number = body.varint()
        what = body.number(1) if number == 0 else None
        if number > 0:
            time += body.varint()
            check(number <= len(shapes) and count < frame.events and time < 1 << 64)
            check(count > 0 or time == frame.first)
            count, last = count + 1, time
            yield shapes[number - 1].event(body, time)
        elif what == 1:
            threads.append((body.number(4), body.number(4), body.number(8)))
            check(len(body.take(body.number(1))) <= 15 and len(threads) <= MAX_NUMBERS)
        elif what == 2:
            shapes.append(Shape(body, threads))
            check(len(shapes) <= MAX_NUMBERS)
        else:
            check(what == 3)
            time -= body.varint()
            check(time >= 0)
    check(count == frame.events and last == frame.last)


class Log:
    def __init__(self, file):
        if not os.path.isfile(file):
            raise NotALog('not a file')
        self.file, self.size, self.id = file, os.fstat(file).st_size, None
        frame = self.frame(0)
        if frame is None or frame.kind != HEADER:
            raise NotALog('no frame HEADER at its beginning')
        self.id = frame.log
        self.read_header(Body(self.body(frame)))
        self.begin = self.behind(frame)
        self.index = self.read_index()
        self.sum = None if self.index else self.read_sum()
        self.unwritten = self.index[-2] if self.index else self.sum[3] if self.sum else 0
        self.left_out = self.index[-1] if self.index else self.sum[9] if self.sum else 0

    def frame(self, offset, end=None):
        """The frame there, if its header is right and its body ends before `end`, of the file or of a slot."""
        header = os.pread(self.file, FRAME.size, offset)
        if len(header) < FRAME.size:
            return None
        frame = Frame(offset, *FRAME.unpack(header))
        if frame.magic != MAGIC or self.id not in (None, frame.log) or frame.crc != crc32c(header[:60]):
            return None
        # The last slot may reach beyond the end of a log that was not closed.
        fits = frame.size <= MAX_BODY and offset + FRAME.size + frame.size <= (end or self.size)
        return frame if fits or frame.kind == SLOT else None

    def behind(self, frame):
        return frame.offset + FRAME.size + (frame.size + 7) // 8 * 8

    def body(self, frame):
        data = os.pread(self.file, frame.size, frame.offset + FRAME.size)
        check(len(data) == frame.size and crc32c(data) == frame.body_crc)
        return data

    def read_header(self, body):
        magic, major, _minor, order = body.take(16), body.number(2), body.number(2), body.number(1)
        if magic != b'posixtrace log\n\0' or major != 1:
            raise NotALog('of another format, or another version of it')
        if order != {'little': 1, 'big': 2}[sys.byteorder]:
            raise NotALog('from a machine of another byte order')
        body.take(3)  # word, reserved
        created, _monotonic, *sizes = (body.number(8) for _ in range(5))
        numbers = [*sizes, *(body.number(width) for width in (4, 1, 1, 1))]
        check(created < 1 << 63)
        body.take(96 - body.at)
        version, name, _host, _kernel, _machine, _stream = (text(body.string()) for _ in range(6))
        # Before version 1.4 nothing follows.
        self.generation = body.number(8) if len(body.data) - body.at >= 8 else 0
        names = 'version name created resolution stream-size log-size data-size stream-policy log-policy inheritance'
        self.attributes = dict(zip(names.split(), (version, name, created, *numbers)))
        self.loop = self.attributes['log-policy'] == LOOP

    def read_index(self):
        """The numbers at the beginning of INDEX; None if the log is incomplete."""
        try:
            end = self.size - FRAME.size
            footer = self.frame(end)
            check(end % 8 == 0 and footer and footer.kind == FOOTER and footer.number % 8 == 0 and footer.number < end)
            frame = self.frame(footer.number, end)
            check(frame and frame.kind == INDEX)
            body = Body(self.body(frame))
            numbers = [body.number(width) for width in (8, 8, 8, 4, 4, 4, 4, 4, 4)]
            slots, frames, marks = numbers[5:8]
            check(marks <= MAX_NUMBERS)
            body.take(8 * slots + 8 * frames + 24 * marks)
            # Version 1.0 has nothing behind the marks, versions 1.1 and 1.2 only the first number, 1.3 two.
            more = [body.number(8) if len(body.data) - body.at >= 8 else 0 for _ in range(3)]
            self.last_clock = more.pop()
            return numbers + more
        except Damaged:
            return None

    def read_sum(self):
        """The numbers of SUM, which only counts where there is no INDEX; None if there is none."""
        try:
            frame = self.frame(self.begin)
            check(frame and frame.kind == SUM and frame.size >= 64)
            body = Body(self.body(frame))
            return [body.number(width) for width in (8, 8, 8, 8, 4, 4, 8, 4, 4, 8)]
        except Damaged:
            return None

    def search(self, offset):
        """The next frame of this log, not before `offset`."""
        while offset < self.size:
            try:
                offset = os.lseek(self.file, offset, os.SEEK_DATA) & -8
            except OSError:
                return None  # nothing but a hole up to the end
            chunk = os.pread(self.file, 1 << 20, offset)
            for match in re.finditer(MAGIC, chunk):
                frame = self.frame(offset + match.start()) if match.start() % 8 == 0 else None
                if frame is not None:
                    return frame
            offset += len(chunk) or self.size

    def frames(self):
        """Those of the file, without what is in slots. Counts the bytes skipped."""
        offset = self.skipped = 0
        while offset < self.size:
            frame = self.frame(offset) or self.search(offset + 8)
            self.skipped += (frame.offset if frame else self.size) - offset
            if not frame:
                return
            yield frame
            offset = self.behind(frame)

    def in_slot(self, slot):
        offset, number = slot.offset + FRAME.size, None
        end = min(offset + slot.size, self.size)
        while offset < end:
            frame = self.frame(offset, end)
            if frame is None or frame.kind != SEGMENT or number not in (None, frame.number - 1):
                return
            yield frame
            offset, number = self.behind(frame), frame.number

    def segments(self):
        if not self.loop:
            return (frame for frame in self.frames() if frame.kind == SEGMENT)
        slots = (frame for frame in self.frames() if frame.kind == SLOT)
        firsts = sorted((first.number, slot) for slot in slots for first in islice(self.in_slot(slot), 1))
        return (frame for _, slot in firsts for frame in self.in_slot(slot))

    def events(self):
        number = None if self.loop else 0  # of the last segment that counted; what LOOP overwrote is not missing
        time = self.attributes['created']
        missing = False
        for frame in self.segments():
            try:
                check(frame.number > (number or 0))
                data = self.body(frame)
                for _ in read_events(frame, data):
                    pass  # it counts as a whole or not at all, and may be too much to keep
            except Damaged:
                continue
            missing = missing or number not in (None, frame.number - 1)
            number = frame.number
            for event in read_events(frame, data):
                if missing:
                    yield Event(OVERFLOW, 0, 0, 0, 0, time, 0, b'')
                    yield Event(RESUME, 0, 0, 0, 0, event.time, 0, b'')
                    missing = False
                time = event.time
                yield event
        if self.unwritten:
            yield Event(OVERFLOW, 0, 0, 0, 0, time, 0, b'')

    def rows(self, kind, read):
        """Yields what `read` finds in the intact frames of a kind."""
        for frame in self.frames():
            try:
                yield from list(read(Body(self.body(frame)))) if frame.kind == kind else ()
            except Damaged:
                pass


def read_types(body):
    while body.at < len(body.data):
        number, name = body.number(2), body.take(body.number(1))
        check(number < 1 << 13)
        yield number, name


def read_layouts(body):
    while body.at < len(body.data):
        number, text = body.number(2), body.take(body.number(2))
        check(number < 1 << 13 and len(text) < 2048)
        yield number, text


def read_labels(body):
    while body.at < len(body.data):
        try:
            key, value = body.string(), body.string()
        except Damaged:
            return
        if 0 < len(key) < 64 and len(value) < 256 and b'=' not in key:
            with contextlib.suppress(UnicodeDecodeError):
                if not any(unicodedata.category(c) == 'Cc' for c in (key + value).decode()):
                    yield key.decode(), value.decode()


CLOCK_FIELDS = 'monotonic realtime boottime took tai reason known state status _ offset frequency max_error ' \
               'estimated_error'.split()


def read_clock(body):
    yield dict(zip(CLOCK_FIELDS, struct.unpack('<QQQQiBBHIIqqQQ', body.take(80))))


def read_process(body):
    pid, count, time, path = body.number(4), body.number(4), body.number(8), body.string()
    yield f'process {pid} {time} {text(path)}'
    for _ in range(count):
        start, end, offset, path, build = *(body.number(8) for _ in range(3)), body.string(), body.string()
        yield f'mapping {start:x} {end:x} {offset:x} {build.hex() or "-"} {text(path)}'
    if body.at < len(body.data):
        yield f'parent {body.number(4)}'
        arguments = body.string().removesuffix(b'\0').split(b'\0')
        yield f'command {" ".join(map(text, arguments))}'


def show_log(log):
    yield from (f'attr {name} {value}' for name, value in log.attributes.items())
    yield from (f'type {number} {text(name)}' for number, name in sorted(dict(log.rows(TYPES, read_types)).items()))
    yield from (f'layout {number} {text(layout)}'
                for number, layout in sorted(dict(log.rows(LAYOUTS, read_layouts)).items()))
    for event in log.events():
        *numbers, pthread, address, time, truncated, data = event
        yield (f'event {" ".join(map(str, numbers))} {pthread:x} {address:x} {time} {truncated} {len(data)} '
               f'{data.hex() or "-"}')
    if log.index:
        _, lost, _, status, error = log.index[:5]
    elif log.sum and log.sum[7] & 1:
        _, lost, _, _, status, error = log.sum[:6]
    else:
        yield f'incomplete skipped={log.skipped}'
        return
    lost += log.unwritten
    flags = [f'{name}={status >> bit & 1}' for bit, name in enumerate(['full', 'overrun', 'log-overrun', 'log-full'])]
    yield f'status {" ".join(flags)} error={error} lost={lost}'


def show_about(log):
    yield f'generation {log.generation}'
    yield from (f'label {key}={value}' for key, value in sorted(dict(log.rows(LABELS, read_labels)).items()))
    for clock in log.rows(CLOCK, read_clock):
        yield f'clock {" ".join(f"{name}={clock[name]}" for name in CLOCK_FIELDS if name != "_")}'


def show_frames(log):
    for frame in log.frames():
        for f in (frame, *(log.in_slot(frame) if log.loop and frame.kind == SLOT else ())):
            yield f'{f.offset} {KINDS.get(f.kind, f.kind)} {f.number} {f.size} {f.first} {f.last} {f.events} {f.lost}'


def decode(path, show=show_log):
    """The lines of a file; NotALog or OSError if there are none."""
    with open(path, 'rb', opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:  # it may be a FIFO
        yield from show(Log(file.fileno()))


def main():
    parser = argparse.ArgumentParser(description='Prints what is in logs.')
    parser.add_argument('--frames', dest='show', action='store_const', const=show_frames, default=show_log)
    parser.add_argument('--processes', dest='show', action='store_const',
                        const=lambda log: log.rows(PROCESS, read_process))
    parser.add_argument('--about', dest='show', action='store_const', const=show_about)
    parser.add_argument('files', nargs='+', metavar='FILE')
    arguments = parser.parse_args()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.stdout.reconfigure(encoding='utf-8', errors='surrogateescape')
    failed = False
    for path in arguments.files:
        try:
            for line in decode(path, arguments.show):
                print(line)
        except (NotALog, OSError) as problem:
            sys.stdout.flush()
            print(f'decode.py: {path}: {getattr(problem, "strerror", None) or problem}', file=sys.stderr)
            failed = True
    sys.exit(failed)


if __name__ == '__main__':
    main()
