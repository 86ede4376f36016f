#
# made_log.py - logs with exactly these events, at exactly these times
#
# Written by docs/log-format.md, without the library: what is in them is known to
# the nanosecond, and so is what is missing.
#
# SPDX-License-Identifier: MIT

import struct
import sys

HEADER, TYPES, PROCESS, SLOT, SEGMENT, INDEX, FOOTER = range(1, 8)
LAYOUTS = 9
START, STOP, OVERFLOW, RESUME = 1, 2, 4, 5
PREDEFINED = {START: 'posix_trace_start', STOP: 'posix_trace_stop', OVERFLOW: 'posix_trace_overflow',
              RESUME: 'posix_trace_resume'}
ORDER = 1 if sys.byteorder == 'little' else 2
ID = 0x1122334455667788

TABLE = []
for n in range(256):
    for _ in range(8):
        n = n >> 1 ^ (0x82f63b78 if n & 1 else 0)
    TABLE.append(n)


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 255]
    return crc ^ 0xffffffff


def varint(n):
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7f | 0x80)
        n >>= 7
    return bytes(out) + bytes([n])


def string(text):
    return struct.pack('<H', len(text.encode())) + text.encode()


def packed(data):
    words = [data[i:i + 8].rstrip(b'\0') for i in range(0, len(data), 8)]
    counts = [len(word) for word in words] + [0]
    return bytes(counts[i] | counts[i + 1] << 4 for i in range(0, len(words), 2)) + b''.join(words)


class Log:
    """An APPEND log in memory; times are nanoseconds since its creation."""

    def __init__(self, created=1_600_000_000_000_000_000, name='made', host='host', target=100, boot=bytes(16)):
        self.created = created
        self.out = bytearray()
        self.types = dict(map(reversed, PREDEFINED.items()))
        self.numbers = 0
        self.count = 0
        self.frames = []
        self.events = []
        body = b'posixtrace log\n\0' + struct.pack('<HHBBHQQQQQIBBBBII', 1, 0, ORDER, 8, 0, created, 77, 1, 65536,
                                                   1 << 20, 256, 3, 4, 0, 0, target, 99)
        body += boot + b''.join(map(string, ['posixtrace 1', name, host, '6.1', 'x86_64', '/f']))
        self.frame(HEADER, body)
        self.add_types(PREDEFINED)

    def frame(self, kind, body=b'', number=0, first=0, last=0, events=0, lost=0):
        if kind in (TYPES, PROCESS, LAYOUTS):
            self.frames.append(len(self.out))
        head = struct.pack('<IHHQQIIQQIII', 0x464c5450, kind, 0, ID, number, len(body), crc32c(body), first, last,
                           events,
                           lost, 0)
        self.out += head + struct.pack('<I', crc32c(head)) + body + bytes(-len(body) % 8)

    def add_types(self, names):
        encoded = {n: name if isinstance(name, bytes) else name.encode() for n, name in names.items()}
        self.frame(TYPES, b''.join(struct.pack('<HB', n, len(name)) + name for n, name in encoded.items()))

    def declare(self, name, layout):
        """Declares the layout of a type that has had an event, or will have some."""
        if name not in self.types:
            self.types[name] = 64 + len(self.types)
            self.add_types({self.types[name]: name})
        layout = layout if isinstance(layout, bytes) else layout.encode()
        self.frame(LAYOUTS, struct.pack('<HH', self.types[name], len(layout)) + layout)

    def process(self, pid, executable):
        self.frame(PROCESS, struct.pack('<IIQ', pid, 0, self.created) + string(executable))

    def event(self, time, name, pid=100, tid=100, thread='main', data=b'', truncated=False):
        """Of the segment that comes with the next segment()."""
        if name not in self.types:
            self.types[name] = 64 + len(self.types)
            self.add_types({self.types[name]: name})
        self.events.append((self.created + time, self.types[name], (pid, tid, thread if tid else ''), data, truncated))

    def segment(self, damaged=False, lost=0):
        """Writes the pending events as a segment. damaged: with a wrong checksum."""
        body, threads, shapes = bytearray(), {}, {}
        at = self.events[0][0]
        for time, number, thread, data, truncated in self.events:
            if thread not in threads:
                threads[thread] = len(threads)
                name = thread[2].encode()
                body += b'\0\1' + struct.pack('<IIQB', thread[0], thread[1], thread[1], len(name)) + name
            shape = threads[thread], number, len(data), truncated
            before = shapes.get(shape, (None, bytes(len(data))))[1]
            if shape not in shapes:
                body += b'\0\2' + varint(shape[0]) + varint(number) + bytes([truncated]) + varint(len(data)) + bytes(8)
            shapes[shape] = shapes.get(shape, (len(shapes),))[0], data
            if time < at:
                body += b'\0\3' + varint(at - time)
                at = time
            body += varint(shapes[shape][0] + 1) + varint(time - at)
            body += data if len(data) > 256 else packed(bytes(a ^ b for a, b in zip(data, before)))
            at = time
        self.numbers += 1
        self.count += len(self.events)
        place = len(self.out)
        self.frame(SEGMENT, bytes(body), self.numbers, self.events[0][0], at, len(self.events), lost)
        if damaged:
            self.out[place + 64] ^= 0xff
        self.events = []

    def open(self):
        """Returns the log as it is before it is closed."""
        return bytes(self.out)

    def closed(self, lost=0, discarded=0, status=0, error=0):
        place = len(self.out)
        body = struct.pack('<QQQIIIIII', self.count, lost, discarded, status, error, 0, len(self.frames), 0, 0)
        self.frame(INDEX, body + b''.join(struct.pack('<Q', offset) for offset in self.frames))
        self.frame(FOOTER, number=place)
        return bytes(self.out)


TYPED = ('{packed;id:u32,item:z,n:u8,sizes:u16[n],state:i8<new=-1,paid=3,sent>,states:u8<off,on>[2],'
         'mode:x16<gift|express|fragile=0x100>,ok:bool,when:t64/ms,at:t32,where:a64,key:b[2],n2:u8,text:c[n2],hash:b[n2],note:s}')
# The fields of its events as report shows them, and as JSON.
TYPED_TEXTS = [
    'id=1 item="" n=0 sizes=[] state=new states=[on off] mode=gift|fragile ok=true when=2026-11-21T21:05:05.123Z '
    'at=1970-01-01T00:00:01Z where=0x401136 key=0102 n2=2 text="ab" hash=fffe note="fine"',
    'id=2 item="tea" n=2 sizes=[7 65535] state=5 states=[2 on] mode=0x0 ok=false when=1970-01-01T00:00:00.000Z '
    'at=1970-01-01T00:00:01Z where=0x0 key=0102 n2=0 text="" hash= note=""']
TYPED_FIELDS = [
    {'id': 1, 'item': '', 'n': 0, 'sizes': [], 'state': 'new', 'states': ['on', 'off'], 'mode': 'gift|fragile',
     'ok': True, 'when': '2026-11-21T21:05:05.123Z', 'at': '1970-01-01T00:00:01Z', 'where': '0x401136', 'key': '0102',
     'n2': 2, 'text': 'ab', 'hash': 'fffe', 'note': 'fine'},
    {'id': 2, 'item': 'tea', 'n': 2, 'sizes': [7, 65535], 'state': 5, 'states': [2, 'on'], 'mode': 0, 'ok': False,
     'when': '1970-01-01T00:00:00.000Z', 'at': '1970-01-01T00:00:01Z', 'where': '0x0', 'key': '0102', 'n2': 0,
     'text': '', 'hash': '', 'note': ''}]


def typed_log():
    """Events with fields of all types, of which some vary in size: two whole ones, and two that are cut off."""
    log = Log()
    log.declare('typed', TYPED)
    first = (struct.pack('<IBB', 1, 0, 0) + struct.pack('<bBBHBQIQ', -1, 1, 0, 0x101, 1, 1795295105123, 1, 0x401136) +
             b'\1\2' + b'\2ab\xff\xfe' + b'fine')
    second = (struct.pack('<I', 2) + b'tea\0' + struct.pack('<BHH', 2, 7, 65535) +
              struct.pack('<bBBHBQIQ', 5, 2, 1, 0, 0, 0, 1, 0) + b'\1\2' + b'\0')
    for time, data in enumerate((first, second, second[:6], second[:12])):
        log.event(time, 'typed', data=data, truncated=time > 1)
    log.segment()
    return log.closed()
