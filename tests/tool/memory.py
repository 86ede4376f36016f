#
# memory.py - posixtrace stat --memory counts what the events of a log say of blocks of memory
#
#     memory.py POSIXTRACE
#
# tests/instrument/memory.py does the same for a program.
#
# SPDX-License-Identifier: MIT

import json
import random
import struct
import sys
from pathlib import Path

import scene
from made_log import OVERFLOW, PREDEFINED, RESUME, Log
from scene import Suite, equal, write

POSIXTRACE = Path(sys.argv[1]).resolve()
LAYOUTS = {'malloc': '{size:u64/B,address:x64}', 'calloc': '{size:u64/B,address:x64}',
           'realloc': '{old:x64,size:u64/B,address:x64}', 'memalign': '{alignment:u64,size:u64/B,address:x64}',
           'free': '{address:x64}', 'memory_process': '{packed;fork:x64,parent:i32,whole:bool}',
           'memory_fork': '{fork:x64}'}


class Memory(Log):
    """A log of allocations. An event is (time, name, values), with the process and the thread."""

    def __init__(self, begin=True):
        super().__init__()
        for name, layout in LAYOUTS.items():
            self.declare('libc.' + name, layout)
        if begin:
            self.begin(0)

    def begin(self, time, pid=100, fork=0, parent=0, whole=True):
        self.event(time, 'libc.memory_process', pid=pid, tid=pid, data=struct.pack('<Qi?', fork, parent, whole))

    def call(self, time, name, *values, pid=100, tid=None):
        self.event(time, 'libc.' + name, pid=pid, tid=tid or pid, data=struct.pack(f'<{len(values)}Q', *values))

    def file(self, name='x.log', **more):
        self.segment()
        return write(name, self.closed(**more))


def run(*arguments, status=0):
    out, messages = scene.run(POSIXTRACE, 'stat', '--memory', *arguments, status=status)
    return (messages if status else out).decode()


def stat(*arguments):
    return json.loads(run('--json', *arguments))


def sums(process, *keys):
    return [(process[key]['blocks'], process[key]['bytes']) for key in keys]


def only(found):
    process, = found['processes']
    return process


def test_calls():
    """All functions; a realloc that fails, one that frees, one that begins; an aligned block; one that is refused."""
    log = Memory()
    log.call(10, 'malloc', 100, 0x1000)
    log.call(20, 'calloc', 50, 0x2000)
    log.call(30, 'realloc', 0x1000, 300, 0x3000)
    log.call(40, 'realloc', 0x2000, 1 << 40, 0)
    log.call(50, 'realloc', 0, 7, 0x4000)
    log.call(60, 'memalign', 64, 128, 0x5000)
    log.call(70, 'malloc', 1 << 50, 0)
    log.call(80, 'realloc', 0x4000, 0, 0)
    log.call(90, 'free', 0x3000)
    log.call(100, 'malloc', 0, 0x1000)
    found = only(stat(log.file()))
    equal('calls', found['calls'], {'malloc': 3, 'calloc': 1, 'realloc': 4, 'memalign': 1, 'free': 1})
    equal('sums', sums(found, 'allocated', 'freed', 'not_freed', 'peak'), [(6, 585), (3, 407), (3, 178), (4, 485)])
    equal('peak', found['peak_time'] - log.created, 60)
    equal('failed', (found['failed'], found['unknown_frees'], found['unseen_frees']), (2, 0, 0))
    text = run('x.log')
    assert '2 allocations have failed' in text and '178 bytes' in text and '485 bytes' in text, text


def test_temporary():
    """Blocks that their thread frees before it allocates again."""
    log = Memory()
    for i in range(4):
        log.call(10 * i + 1, 'malloc', 8, 0x1000)
        log.call(10 * i + 2, 'malloc', 8, 0x8000 + 16 * i, tid=101)
        log.call(10 * i + 3, 'free', 0x1000)
    log.call(50, 'malloc', 8, 0x2000)
    log.call(51, 'malloc', 8, 0x3000)
    log.call(52, 'free', 0x2000)
    log.call(53, 'free', 0x3000)
    log.call(60, 'malloc', 8, 0x2000)
    log.call(61, 'free', 0x2000, tid=101)
    equal('temporary', only(stat(log.file()))['temporary'], 5)


def test_unknown():
    """Frees of blocks from before the recording; an address that is allocated twice, because a free is not there."""
    log = Memory(begin=False)
    log.begin(0, whole=False)
    log.call(10, 'free', 0x7000)
    log.call(20, 'realloc', 0x7100, 20, 0x1000)
    log.call(30, 'malloc', 40, 0x2000)
    log.call(40, 'malloc', 60, 0x2000)
    found = only(stat(log.file()))
    equal('doubts', (found['unknown_frees'], found['unseen_frees'], found['from_beginning']), (2, 1, False))
    equal('sums', sums(found, 'not_freed', 'freed'), [(2, 80), (1, 40)])
    text = run('x.log')
    for said in ('2 frees are of blocks', '1 block has no free', '1 process was not recorded from its beginning'):
        assert said in text, text


def test_order():
    """Events of threads with the same time, or so near that the clock cannot tell; realloc() that is recorded late."""
    log = Memory()
    log.call(10, 'free', 0x1000, tid=101)
    log.call(10, 'malloc', 100, 0x1000)
    log.call(20, 'malloc', 100, 0x1000)
    log.call(30, 'malloc', 200, 0x1000, tid=101)
    log.call(30, 'free', 0x1000)
    log.call(40, 'free', 0x1000, tid=101)
    log.call(1000, 'free', 0x2000, tid=101)
    log.call(1900, 'malloc', 10, 0x2000)
    # Thread 100 has moved the block and is interrupted; 101 gets the address and frees it.
    log.call(5000, 'malloc', 30, 0x3000)
    log.call(6000, 'malloc', 40, 0x3000, tid=101)
    log.call(7000, 'free', 0x3000, tid=101)
    log.call(30_000_000, 'realloc', 0x3000, 50, 0x4000)
    log.call(30_000_100, 'malloc', 60, 0x5000)
    log.call(30_000_200, 'malloc', 70, 0x5000, tid=101)
    log.call(60_000_000, 'realloc', 0x5000, 80, 0x6000)
    found = only(stat(log.file()))
    equal('doubts', (found['unknown_frees'], found['unseen_frees']), (0, 0))
    equal('not freed', sums(found, 'not_freed'), [(3, 50 + 70 + 80)])
    # Without knowing the beginning, only the same time counts.
    log = Memory(begin=False)
    log.call(1000, 'free', 0x2000, tid=101)
    log.call(1900, 'malloc', 10, 0x2000)
    found = only(stat(log.file()))
    equal('unknown', (found['unknown_frees'], *sums(found, 'not_freed')), (1, (1, 10)))


def test_children():
    """A child has what its parent had when it was forked, and nothing of it is counted again."""
    log = Memory()
    log.call(10, 'malloc', 100, 0x1000)
    log.call(20, 'malloc', 200, 0x2000)
    log.call(30, 'malloc', 300, 0x3000)
    log.call(40, 'free', 0x1000)
    log.call(45, 'memory_fork', 7)
    # The parent goes on before the first event of the child.
    log.call(50, 'free', 0x2000)
    log.call(60, 'malloc', 400, 0x4000)
    log.call(70, 'realloc', 0x3000, 310, 0x2000)
    log.begin(100, pid=200, fork=7, parent=100)
    log.call(101, 'free', 0x2000, pid=200)
    log.call(102, 'realloc', 0x3000, 11, 0x3000, pid=200)
    log.call(103, 'malloc', 12, 0x4000, pid=200)
    log.call(104, 'free', 0x1000, pid=200)
    found = {process['pid']: process for process in stat(log.file())['processes']}
    equal('parent', sums(found[100], 'not_freed', 'inherited'), [(2, 710), (0, 0)])
    equal('child', sums(found[200], 'allocated', 'not_freed', 'inherited'), [(2, 23), (2, 23), (2, 500)])
    equal('freed', (found[200]['inherited_freed'], found[200]['unknown_frees']), (2, 1))
    equal('all', sum(caller['not_freed']['bytes'] for caller in stat('x.log')['callers']), 733)
    assert 'inherited' in run('x.log'), run('x.log')
    # The fork is not in the log.
    log = Memory()
    log.call(10, 'malloc', 100, 0x1000)
    log.begin(100, pid=200, fork=7, parent=100)
    log.call(101, 'free', 0x1000, pid=200)
    assert '1 child may have more blocks' in run(log.file()), run('x.log')


def test_exec():
    """The blocks of a process are not those of the program that it executes."""
    log = Memory()
    log.call(10, 'malloc', 100, 0x1000)
    log.call(20, 'malloc', 50, 0x2000)
    log.call(25, 'free', 0x2000)
    log.begin(30)
    log.call(40, 'malloc', 30, 0x1000)
    log.call(50, 'free', 0x1000)
    found = stat(log.file())['processes']
    equal('programs', [sums(process, 'not_freed', 'peak') for process in found], [[(1, 100), (2, 150)],
                                                                                  [(0, 0), (1, 30)]])
    equal('doubts', [(process['unknown_frees'], process['unseen_frees']) for process in found], [(0, 0)] * 2)


def test_selected():
    log = Memory()
    for i in range(10):
        log.call(1000 * i, 'malloc', 10 + i, 0x1000 * (i + 1), tid=100 + i % 2)
    log.call(20_000, 'free', 0x1000)
    log.call(20_001, 'free', 0x2000)
    file = log.file()
    equal('all', sums(only(stat(file)), 'not_freed'), [(8, 124)])
    equal('size', sums(only(stat('--where', 'size > 14', file)), 'allocated', 'not_freed'), [(5, 85)] * 2)
    equal('thread', sums(only(stat('--tid', '100', file)), 'allocated', 'not_freed'), [(5, 70), (4, 60)])
    equal('from', sums(only(stat('--from', '0.000001', file)), 'allocated', 'not_freed'), [(9, 135), (8, 124)])
    equal('to', sums(only(stat('--to', '0.0000055', file)), 'allocated', 'not_freed'), [(6, 75)] * 2)
    assert 'no allocations' in run('--pid', '7', file, status=1)
    log = Log()
    log.event(10, 'other')
    log.segment()
    assert '--libc memory' in run(write('other.log', log.closed()), status=1)


def test_losses():
    log = Memory()
    log.call(10, 'malloc', 100, 0x1000)
    log.segment()
    log.event(20, PREDEFINED[OVERFLOW], pid=0, tid=0)
    log.event(30, PREDEFINED[RESUME], pid=0, tid=0)
    log.call(40, 'malloc', 10, 0x2000)
    log.segment(lost=5)
    log.call(50, 'free', 0x2000)
    text = run(log.file(lost=5, status=2))
    assert '5 events lost: blocks may be missing' in text, text
    equal('missing', stat('x.log')['missing'], 5)


def test_many():
    """Random calls of several threads, and what a simple model of them says."""
    chance, log, live = random.Random(5), Memory(), {}
    allocated = freed = peak = 0
    for i in range(6000):
        address = 16 * chance.randrange(1, 1000)
        tid = 100 + chance.randrange(3)
        if address in live:
            log.call(1000 * i, 'free', address, tid=tid)
            freed += live.pop(address)
        else:
            size = chance.randrange(1000)
            log.call(1000 * i, 'malloc', size, address, tid=tid)
            live[address] = size
            allocated += size
            peak = max(peak, allocated - freed)
        if i % 2000 == 1999:
            log.segment()
    log.call(10**9, 'malloc', 0, 8)
    found = only(stat(log.file()))
    equal('sums', [found[key]['bytes'] for key in ('allocated', 'freed', 'peak')], [allocated, freed, peak])
    equal('left', sums(found, 'not_freed'), [(len(live) + 1, sum(live.values()))])
    equal('callers', sum(place['bytes'] for place in found['at_peak']), peak)


def test_options():
    log = Memory()
    log.call(10, 'malloc', 100, 0x1000)
    file = log.file()
    for more in ('--lines', '1'), ('--reverse',), ('--sort', 'bytes'), ('--sort', 'name'), ('--color=always',):
        assert '100 bytes' in run(*more, file)


Suite(globals()).main()
