#!/usr/bin/env python3
#
# check.py - posixtrace check: logs of all kinds, damaged at chosen places; each is found, and placed right
#
#     check.py POSIXTRACE CORPUS
#
# SPDX-License-Identifier: MIT

import json
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / 'log'))
import decode  # noqa: E402
from decode import FOOTER, HEADER, INDEX, PROCESS, SEGMENT, SLOT, TYPES  # noqa: E402

POSIXTRACE, CORPUS = (str(Path(argument).resolve()) for argument in sys.argv[1:3])
FLIP = 0x41
UNNAMED = 63  # event types below are those of the recording itself
failures = 0


def complain(text):
    global failures
    failures += 1
    print(text, file=sys.stderr)


def expect(right, text):
    if not right:
        complain(text)


def run(*arguments, **more):
    return subprocess.run([POSIXTRACE, 'check', *map(str, arguments)], capture_output=True, text=True, timeout=120,
                          **more)


def look(paths):
    """What --json says of each file, in their order."""
    paths, result = list(paths), []
    for i in range(0, len(paths), 200):
        done = run('--json', *paths[i:i + 200])
        expect(not done.stderr, f'messages: {done.stderr}')
        result += [json.loads(line) for line in done.stdout.splitlines()]
    expect([said['file'] for said in result] == [str(path) for path in paths], 'not one object for each file, in order')
    return result


def problems(said):
    return [f for f in said['findings'] if not f['note']]


# -- The frames of a log, as decode.py finds them ---------------------------------------------------------------

class Whole:
    """A log without damage."""

    def __init__(self, path):
        self.path, self.bytes = path, path.read_bytes()
        with open(path, 'rb') as file:
            log = decode.Log(file.fileno())
            self.frames, self.slots = [], []
            for frame in [log.frame(0), *log.frames()]:
                self.frames.append(frame)
                if frame.kind == SLOT:
                    self.slots.append((frame, list(log.in_slot(frame))))
            tail = [log.frame(log.frame(len(self.bytes) - 64).number), log.frame(len(self.bytes) - 64)]
            self.frames += [f for f in tail if f.offset not in [g.offset for g in self.frames]]
        for _, segments in self.slots:
            self.frames += segments
        self.segments = sorted((f for f in self.frames if f.kind == SEGMENT), key=lambda f: f.number)
        if self.slots:
            inside = {s.offset for _, segments in self.slots for s in segments}
            self.frames = [f for f in self.frames if f.kind != SEGMENT or f.offset in inside]
            self.segments = [f for f in self.segments if f.offset in inside]

    def missing_with(self, frame):
        """Events that cannot be read when the header of this frame is damaged."""
        if frame.kind == SEGMENT and self.slots:
            rest = [s for _, segments in self.slots if frame in segments for s in segments[segments.index(frame):]]
            return sum(s.events for s in rest)
        if frame.kind == SLOT:
            return sum(s.events for slot, segments in self.slots if slot.offset == frame.offset for s in segments)
        return frame.events if frame.kind == SEGMENT else 0

    def with_byte(self, offset):
        changed = bytearray(self.bytes)
        changed[offset] ^= FLIP
        return bytes(changed)

    def with_frame(self, frame, body=None, **fields):
        """Other figures in a frame, and checksums that are right."""
        changed = bytearray(self.bytes)
        if body is not None:
            changed[frame.offset + 64:frame.offset + 64 + len(body)] = body
            fields['body_crc'] = decode.crc32c(body)
        places = {'kind': (4, 'H'), 'number': (16, 'Q'), 'size': (24, 'I'), 'body_crc': (28, 'I'), 'first': (32, 'Q'),
                  'last': (40, 'Q'), 'events': (48, 'I'), 'lost': (52, 'I')}
        for name, value in fields.items():
            struct.pack_into('<' + places[name][1], changed, frame.offset + places[name][0], value)
        struct.pack_into('<I', changed, frame.offset + 60, decode.crc32c(changed[frame.offset:frame.offset + 60]))
        return bytes(changed)

    def body(self, frame):
        return self.bytes[frame.offset + 64:frame.offset + 64 + frame.size]


# -- Damage ------------------------------------------------------------------------------------------------------

class Trials:
    def __init__(self, directory):
        self.directory, self.cases = directory, []

    def add(self, name, data, check):
        path = self.directory / f'{len(self.cases)}.log'
        path.write_bytes(data)
        self.cases.append((name, path, check))

    def run(self):
        for (name, _, check), said in zip(self.cases, look(path for _, path, _ in self.cases)):
            before = failures
            check(name, said)
            if failures > before:
                print(f'  {name}: {json.dumps(said)}', file=sys.stderr)
        count = len(self.cases)
        for _, path, _ in self.cases:
            path.unlink()
        self.cases = []
        return count


def found_at(offset, missing=None, kinds=None, segment=None, named=False):
    """Returns a condition: a problem at or across this offset, with this many missing events. named: the footer's
    problem that names the offset also counts."""
    def is_here(f):
        if named and f['kind'] == 'index' and f'offset {offset},' in f['text']:
            return True
        return f['offset'] <= offset < f['offset'] + f.get('size', 1) or f['offset'] == offset

    def check(name, said):
        here = [f for f in problems(said) if is_here(f)]
        expect(not said['ok'], f'{name}: not found')
        expect(here, f'{name}: not placed at {offset}')
        if missing is not None:
            expect(said['events_missing'] == missing,
                   f'{name}: {said["events_missing"]} events are missing instead of {missing}')
        if kinds:
            expect(any(f['kind'] in kinds for f in here), f'{name}: not one of {kinds}')
        if segment:
            expect(any(f.get('segment', 0) <= segment <= f.get('last_segment', 0) for f in here),
                   f'{name}: not told of segment {segment}')
    return check


def fine(name, said):
    expect(said['ok'] and not problems(said), f'{name}: found although there is none')


def header_bytes(whole, trials):
    """Each field of each frame's header."""
    for frame in whole.frames:
        for field in (0, 5, 9, 17, 25, 29, 33, 47, 48, 52, 57, 63):
            name = f'{whole.path.name}: byte {field} of the header of frame {frame.kind} at {frame.offset}'
            missing = whole.missing_with(frame)
            # The number of missing events is unknown if the index or the header is damaged, too.
            if frame.kind in (INDEX, FOOTER) or frame.kind == HEADER:
                missing = None
            # The index is told of by its footer, and found where that says; if it has begun in the rest of the last
            # slot, all of that is the slot's.
            at = frame.offset
            rest = frame.kind == INDEX and any(slot.offset < at < slot.offset + 64 + slot.size for slot,
                                               _ in whole.slots)
            trials.add(name, whole.with_byte(at + field),
                       found_at(at, missing, None, frame.number if frame.kind == SEGMENT else None, rest))


def body_bytes(whole, trials):
    for frame in whole.frames:
        if frame.kind in (SLOT, FOOTER) or frame.size == 0:
            continue
        for at in {0, frame.size // 2, frame.size - 1}:
            name = f'{whole.path.name}: byte {at} of the body of frame {frame.kind} at {frame.offset}'
            kinds = ('checksum',)
            trials.add(name, whole.with_byte(frame.offset + 64 + at),
                       found_at(frame.offset, frame.events if frame.kind == SEGMENT else None, kinds))
        if frame.size % 8:
            at = frame.offset + 64 + frame.size
            trials.add(f'{whole.path.name}: behind the body of frame {frame.kind} at {frame.offset}',
                       whole.with_byte(at),
                       found_at(at, 0, ('padding',)))


def unused_bytes(whole, trials):
    """What is behind the last segment of a slot means nothing."""
    index = next(f for f in whole.frames if f.kind == INDEX)
    for slot, segments in whole.slots:
        end = segments[-1].offset + 64 + (segments[-1].size + 7) // 8 * 8 if segments else slot.offset + 64
        if end < min(slot.offset + 64 + slot.size, index.offset):
            trials.add(f'{whole.path.name}: unused byte {end}', whole.with_byte(end), fine)


def holes(whole, trials):
    """Whole frames made nothing."""
    for frame in whole.segments:
        data = bytearray(whole.bytes)
        size = 64 + (frame.size + 7) // 8 * 8
        data[frame.offset:frame.offset + size] = bytes(size)
        trials.add(f'{whole.path.name}: segment {frame.number} zeroed', bytes(data),
                   found_at(frame.offset, whole.missing_with(frame), None, frame.number))


def ends(whole, trials):
    """Files cut short, and files with more behind."""
    def cut(name, said):
        expect(not said['ok'] and not said['complete'], f'{name}: not found')
    for frame in whole.frames:
        if frame.offset:
            for more in (0, 30, 64 + frame.size // 2):
                if frame.offset + more < len(whole.bytes):
                    trials.add(f'{whole.path.name}: cut at {frame.offset} + {more}', whole.bytes[:frame.offset + more],
                               cut)
    if not whole.slots:
        for frame in whole.segments:
            if frame.size > 16:
                trials.add(f'{whole.path.name}: cut in segment {frame.number}', whole.bytes[:frame.offset + 70],
                           # The frame SUM counts the events after it as well.
                           found_at(frame.offset, sum(f.events for f in whole.segments if f.number >= frame.number),
                                    ('end',), frame.number))
    trials.add(f'{whole.path.name}: more behind', whole.bytes + b'more',
               found_at(len(whole.bytes), None, ('end', 'frame')))


def forged(whole, trials):
    """Wrong although each checksum is right."""
    name = whole.path.name
    index = next(f for f in whole.frames if f.kind == INDEX)
    footer = next(f for f in whole.frames if f.kind == FOOTER)
    segment = whole.segments[-1]
    body = bytearray(whole.body(index))
    trials.add(f'{name}: one event more', whole.with_frame(segment, events=segment.events + 1),
               found_at(segment.offset, None, ('content',)))
    trials.add(f'{name}: last event later', whole.with_frame(segment, last=segment.last + 1),
               found_at(segment.offset, None, ('content',)))
    trials.add(f'{name}: another number', whole.with_frame(segment, number=segment.number + 5), lambda n,
               said: expect(not said['ok'], n))
    trials.add(f'{name}: footer', whole.with_frame(footer, number=64), found_at(footer.offset, None, ('index',)))
    for at, what in ((0, 'events'), (32, 'slots'), (36, 'frames'), (40, 'marks')):
        other = bytearray(body)
        other[at] += 1
        trials.add(f'{name}: index, {what}', whole.with_frame(index, bytes(other)), lambda n,
                   said: expect(not said['ok'], n))
    for at in range(48, len(body), 8):
        other = bytearray(body)
        other[at] ^= 8
        trials.add(f'{name}: index, list at {at}', whole.with_frame(index, bytes(other)),
                   found_at(index.offset, None, ('index',)))
    if len(whole.segments) > 1 and not whole.slots and segment.events > 1:
        older = segment.first - whole.segments[-2].last + 10**9 * 3600
        trials.add(f'{name}: older', whole.with_frame(segment, first=segment.first - older, last=segment.last - older),
                   found_at(segment.offset, 0, ('time',)))
    types = next(f for f in whole.frames if f.kind == TYPES)
    names = bytearray(whole.body(types))
    end = 0
    while end < 3 + 64:
        end += 3 + names[end + 2]
    names[2] = end - 3
    trials.add(f'{name}: long name', whole.with_frame(types, bytes(names)), found_at(types.offset, None, ('content',)))
    trials.add(f'{name}: no names', whole.with_frame(types, kind=99), lambda n, said: expect(
        any(f['kind'] == 'type' or f['kind'] == 'index' for f in problems(said)), n))
    process = next((f for f in whole.frames if f.kind == PROCESS), None)
    if process:
        paths = bytearray(whole.body(process))
        paths[20] = 0  # in the path of the executable
        trials.add(f'{name}: a null byte in a path', whole.with_frame(process, bytes(paths)),
                   found_at(process.offset, None, ('content',)))
    header = bytearray(whole.body(whole.frames[0]))
    header[16] = 2
    trials.add(f'{name}: version', whole.with_frame(whole.frames[0], bytes(header)), found_at(0, None, ('header',)))


def one_event(size):
    """The body of a segment with one event, filled up with definitions of threads."""
    def thread(length):
        return b'\0\1' + struct.pack('<IIQB', 1, 1, 1, length) + bytes(length)

    for length in range(16):
        body = thread(0) + b'\0\2\0\1\0\0' + bytes(8) + b'\1\0'
        while len(body) + 19 <= size:
            rest = size - len(body) - 19
            body += thread(rest if rest <= 15 else length)
        if len(body) == size:
            return body
    raise ValueError(f'not {size} bytes')


def late_event(whole, trials):
    """A segment may have nothing but one event that is late."""
    before, segment = max(zip(whole.segments, whole.segments[1:]), key=lambda pair: pair[1].size)
    index = next(f for f in whole.frames if f.kind == INDEX)
    time = before.last - 1000
    path = trials.directory / 'late'
    path.write_bytes(whole.with_frame(segment, one_event(segment.size), events=1, first=time, last=time))
    body = bytearray(whole.body(index))
    struct.pack_into('<Q', body, 0, struct.unpack_from('<Q', body)[0] - segment.events + 1)
    slots, frames, marks = struct.unpack_from('<III', body, 32)
    for at in range(48 + 8 * (slots + frames), 48 + 8 * (slots + frames) + 24 * marks, 24):
        if struct.unpack_from('<Q', body, at)[0] == segment.offset:
            struct.pack_into('<Q', body, at + 16, time)

    def late(name, said):
        fine(name, said)
        expect(said['events_late'] == 1, f'{name}: not late')
    trials.add(f'{whole.path.name}: a segment is one late event', Whole(path).with_frame(index, bytes(body)), late)
    return trials.run()


def hostile_index(whole, trials):
    """An index of nothing but wrong offsets: as many are told of as anybody reads."""
    index, footer = (next(f for f in whole.frames if f.kind == kind) for kind in (INDEX, FOOTER))
    for list_at, words, item in ((36, 'describe', struct.pack('<Q', 13)),
                                 (40, 'segments', struct.pack('<QQQ', 0, 1, 1))):
        body = bytearray(whole.body(index)[:48]) + item * 5000 + bytes(24)
        struct.pack_into('<III', body, 32, 0, 0, 0)
        struct.pack_into('<I', body, list_at, 5000)
        header = bytearray(whole.bytes[index.offset:index.offset + 64])
        struct.pack_into('<II', header, 24, len(body), decode.crc32c(bytes(body)))
        struct.pack_into('<I', header, 60, decode.crc32c(bytes(header[:60])))
        data = whole.bytes[:index.offset] + bytes(header) + bytes(body) + whole.bytes[footer.offset:footer.offset + 64]

        def few(name, said, words=words):
            expect(100 < len(said['findings']) < 110, f'{name}: {len(said["findings"])} findings')
            expect(any('4900 more' in f['text'] and words in f['text'] for f in said['findings']),
                   f'{name}: how many more?')
        trials.add(f'{whole.path.name}: a hostile index of {words}', data, few)
    return trials.run()


def damage(path, trials):
    whole = Whole(path)
    for kind in (header_bytes, body_bytes, unused_bytes, holes, ends, forged):
        kind(whole, trials)
    return trials.run()


# -- As it is used ------------------------------------------------------------------------------------------------

def right_logs(logs):
    for path, said in zip(logs, look(logs)):
        with open(path, 'rb') as file:
            events = sum(1 for _ in decode.Log(file.fileno()).events())
        expect(said['events'] == events, f'{path.name}: {said["events"]} events, decode.py finds {events}')
        if said['complete']:
            fine(path.name, said)
        else:
            expect([f['kind'] for f in problems(said)][-1:] == ['end'], f'{path.name}: {said}')


def as_read(logs, directory):
    """What it takes for readable is what a reader reads, whatever has been done to the log."""
    random = Random(1)
    for i in range(300):
        data = bytearray(random.choice(logs).read_bytes())
        for _ in range(random.randrange(1, 4)):
            at, size = random.randrange(len(data)), random.randrange(800)
            if random.randrange(2):
                data[at] ^= FLIP
            else:
                data[at:at + size] = bytes(len(data[at:at + size]))
        (directory / f'{i}.mixed').write_bytes(data)
    paths = [directory / f'{i}.mixed' for i in range(300)]
    for path, said in zip(paths, look(paths)):
        with open(path, 'rb') as file:
            try:
                events = sum(1 for _ in with_right_bodies(decode.Log(file.fileno())))
            except decode.NotALog:
                continue
        expect(said['events'] == events,
               f'mixed: {said["events"]} events, decode.py reads {events}: {json.dumps(said)}')


def with_right_bodies(log):
    """Yields the intact events, without the system events that report losses."""
    number = None if log.loop else 0
    for frame in log.segments():
        try:
            decode.check(frame.number > (number or 0))
            events = list(decode.read_events(frame, log.body(frame)))
        except decode.Damaged:
            continue
        number = frame.number
        yield from events


def as_text(directory, log):
    done = run(log)
    expect(done.returncode == 0 and 'no damage' in done.stdout and not done.stderr, f'whole: {done}')
    whole = Whole(log)
    with open(log, 'rb') as file:
        system = sum(e.type < UNNAMED for e in with_right_bodies(decode.Log(file.fileno())))
    expect(system > 0 and f' events, {system} of the recording itself, in ' in done.stdout,
           f'of the recording itself, {system}: {done.stdout}')
    segment = whole.segments[0]
    bad = directory / 'bad.log'
    bad.write_bytes(whole.with_byte(segment.offset + 70))
    done = run(bad, log)
    expect(done.returncode == 1, f'exit status {done.returncode}')
    expect(f'{bad}: offset {segment.offset}: segment 1: the body does not match its checksum; {segment.events} '
           f'events are missing'
           in done.stdout, f'text: {done.stdout}')
    expect(done.stdout.splitlines()[-1].startswith(f'{log}: no damage'), f'text: {done.stdout}')
    expect('\33[' not in done.stdout and '\33[' in run('--color=always', bad).stdout, 'colours')
    with open(log) as file:
        done = run('-', stdin=file)
    expect(done.returncode == 0 and done.stdout.startswith('standard input: no damage; '), f'standard input: {done}')


def sparse_files(directory, log):
    """Checks that sparse files of terabytes are read quickly."""
    whole, sparse = log.read_bytes(), directory / 'sparse.log'
    for at in [], [1 << 40, 3 << 40]:
        with open(sparse, 'wb') as file:
            for offset in [0, *at]:
                file.seek(offset)
                file.write(whole)
            file.truncate(4 << 40)
        for command in 'check', 'report', 'stat', 'recover':
            done = subprocess.run([POSIXTRACE, command, str(sparse)], capture_output=True, text=True, timeout=20)
            expect(done.returncode in (0, 1), f'{command} of a sparse log: {done}')
            if command == 'check':
                expect(f'offset {len(whole)}: ' in done.stdout, f'a sparse log: {done.stdout}')
                expect(not at or f'offset {at[1]}: a HEADER in the middle' in done.stdout,
                       f'behind a hole: {done.stdout}')
        with open(sparse) as file:
            file.seek(64)
            run('-', stdin=file)
            expect(os.lseek(file.fileno(), 0, os.SEEK_CUR) == 64, 'the position of standard input')
    sparse.unlink()


def no_logs(directory):
    empty, text = directory / 'empty', directory / 'text'
    empty.write_bytes(b'')
    text.write_text('hello\n' * 100)
    for path, words in ((empty, 'empty'), (text, 'not a posixtrace log'), (directory, 'neither a regular file'),
                        (directory / 'missing', 'No such file')):
        done = run(path)
        expect(done.returncode == 1 and words in done.stderr and str(path) in done.stderr, f'{path}: {done}')
    expect(run(cwd=directory).returncode == 1, 'no posixtrace.log here')
    expect(run('--nonsense').returncode == 2, 'wrong usage')
    done = run('--help')
    expect(done.returncode == 0 and done.stdout.startswith('usage: posixtrace check'), '--help')


def main():
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        subprocess.run([CORPUS, name], check=True, timeout=120)
        logs = sorted(directory.glob('*.log'))
        right_logs(logs)
        trials = Trials(directory)
        count = sum(damage(directory / f'{log}.log', trials) for log in
                    ('append', 'another_process', 'system', 'until_full', 'loop_not_round', 'loop_round', 'loop_small',
                     'inherited', 'types'))
        count += late_event(Whole(directory / 'append.log'), trials)
        count += hostile_index(Whole(directory / 'append.log'), trials)
        as_read([log for log in logs if log.stat().st_size < 50000], directory)
        as_text(directory, directory / 'append.log')
        sparse_files(directory, directory / 'append.log')
        no_logs(directory)
    print(f'{count} damaged logs, {failures} failures')
    sys.exit(1 if failures else 0)


main()
