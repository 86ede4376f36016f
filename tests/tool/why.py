#!/usr/bin/env python3
#
# why.py - report --why tells for what a program waited that waits in each way, once in a span of its own
#
#     why.py POSIXTRACE WHY_TARGET
#
# SPDX-License-Identifier: MIT

import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import scene
from made_log import Log
from scene import Suite, equal, named

scene.private()
POSIXTRACE, TARGET = (Path(p).resolve() for p in sys.argv[1:3])
LOG = Path('why.log').resolve()
scene.mount_tracefs()


def why(span, *arguments):
    out, _ = scene.run(POSIXTRACE, 'report', '--why', span, '--json', *arguments)
    found = json.loads(out)
    for part in 'division', 'path':
        equal(f'{span}: the {part} is all of the time', sum(row['time'] for row in found[part]), found['time'])
    steps = found['slowest']['steps']
    equal(f'{span}: steps', sum(step['time'] for step in steps if step['depth'] == 0), found['slowest']['time'])
    at = found['slowest']['from']
    for step in (step for step in steps if step['depth'] == 0):
        equal(f'{span}: steps follow each other', step['from'], at)
        at += step['time']
    return found


def most(rows):
    return max(rows, key=lambda row: row['time'])


def blocked(found, call):
    """Returns the step in which the span's thread was blocked for longest, and checks in which call it was."""
    row = most([row for row in found['division'] if row['state'] == 'blocked'])
    equal(f'{found["span"]}: blocked in', row.get('system_call'), call)
    return most([step for step in found['slowest']['steps'] if step['depth'] == 0 and step['state'] == 'blocked'])


def test_sleep():
    # perf events are not told of wakings in an interrupt of some threads: the idle one of the second processor, for
    # example, with Linux 6.18 (docs/kernel.md, Limits). So the waking is missing if that ran just then.
    for _ in range(20):
        found = why('sleep', LOG)
        equal('of three spans the slowest', (found['spans'], found['chosen']), (3, 1))
        equal('it is the third', found['time'] >= 15000000, True)
        step = blocked(found, 'clock_nanosleep')
        if 'waker_name' in step:
            break
        EVENTS[:] = record_again()
    equal('woken by', step['waker_name'], 'an interrupt')
    equal('the rest', {row['state'] for row in found['division']} <= {'running', 'ready', 'blocked'}, True)
    # The second one, by a time in it.
    first = why('sleep@%.6fs' % ((found['slowest']['from'] - 1000000) / 1e9), LOG)
    equal('another one', (first['chosen'], first['time'] < found['time']), (1, True))


def woken(span, call, waker):
    found = why(span, LOG)
    step = blocked(found, call)
    equal(f'{span}: woken by', step['waker_name'].split('/')[0], waker)
    equal(f'{span}: what it waited for, in the end', [
        (row['thread'], row.get('system_call')) for row in found['path']
        if row['state'] == 'blocked' and row['thread'] == waker and row['time'] >= 4000000],
        [(waker, 'clock_nanosleep')])
    return found


def test_lock():
    found = woken('lock', 'futex', 'lock')
    if LIBC:
        row = most([row for row in found['division'] if row['state'] == 'blocked'])
        equal('which lock', row['libc'].startswith('libc.mutex_wait lock=0x'), True)


def test_socket():
    woken('socket', 'recvfrom', 'socket')


def test_pipe():
    woken('pipe', 'read', 'pipe')


def test_relay():
    """The path goes through a thread that was blocked itself."""
    found = why('relay', LOG)
    step = blocked(found, 'read')
    equal('woken by', step['waker_name'].split('/')[0], 'relay')
    through = [step for step in found['slowest']['steps'] if step['depth'] == 1 and step['thread'] == 'relay' and
               step.get('system_call') == 'read']
    equal('which was woken by', [step['waker_name'].split('/')[0] for step in through], ['first'])
    row = most([row for row in found['path'] if row['state'] == 'blocked'])
    equal('the end of the path', (row['thread'], row['state'], row.get('system_call')),
          ('first', 'blocked', 'clock_nanosleep'))


def test_disk():
    found = why('disk', LOG)
    equal('blocked only in fsync', {row.get('system_call') for row in found['division'] if row['state'] == 'blocked'}
          <= {'fsync'}, True)


def test_fault():
    found = why('fault', LOG)
    equal('page faults', found['page_faults']['minor'] + found['page_faults']['major'] >= 1, True)
    for row in found['division']:
        if row['state'] == 'blocked':
            equal('blocked in', (row.get('system_call'), row.get('page_fault')), (None, True))


def test_busy():
    # On a machine with much else to do, the other thread may not have run in any of the three waits.
    for _ in range(20):
        found = why('busy', LOG)
        rows = [row for row in found['division'] if row['state'] == 'ready' and row['how'] == 'preempted']
        equal('preempted', [row['count'] >= 3 and row['time'] > 0 for row in rows], [True])
        out, _ = scene.run(POSIXTRACE, 'stat', '--json', LOG)
        created = json.loads(out)['files'][0]['created']
        runs = [(e['time'] - created - e['took'], e['time'] - created, e['tid']) for e in named(EVENTS, 'linux_run')
                if e['thread'] == 'busy']
        some = False
        for step in (step for step in found['slowest']['steps'] if step['depth'] == 0 and step['state'] == 'ready'):
            beside = {tid for begin, end, tid in runs if begin < step['from'] + step['time'] and step['from'] < end}
            equal(f'what ran instead: {step}', {step['ran_instead']} if 'ran_instead' in step else set(), beside)
            some = some or bool(beside)
        if some:
            return
        EVENTS[:] = record_again()
    equal('it ran instead', some, True)


def test_text():
    out, _ = scene.run(POSIXTRACE, 'report', '--why', 'relay', LOG)
    text = out.decode()
    for words in ('relay: the slowest 1 % of 1 spans', 'blocked in read; woken by relay/', 'meanwhile:',
                  'blocked in clock_nanosleep', 'The critical path'):
        equal(words, words in text, True)
    out, _ = scene.run(POSIXTRACE, 'report', '--why', 'lock.begin,lock.end', LOG)
    equal('two patterns', 'blocked in futex' in out.decode(), True)


def test_wrong():
    _, messages = scene.run(POSIXTRACE, 'report', '--why', 'nothing', LOG, status=1)
    equal('no such span', 'there are: ' in messages.decode() and 'relay' in messages.decode(), True)
    scene.run(POSIXTRACE, 'record', '--kernel', 'syscalls', '-o', 'true.log', '--', 'true')
    _, messages = scene.run(POSIXTRACE, 'report', '--why', 'execve', 'true.log', status=1)
    equal('spans of Linux', 'linux_sys_openat' in messages.decode(), True)
    scene.run(POSIXTRACE, 'report', '--why', 'sleep@100s', LOG, status=1)
    _, messages = scene.run(POSIXTRACE, 'report', '--why', 'sleep@never', LOG, status=2)
    scene.run(POSIXTRACE, 'report', '--why', 'sleep', '--tail', '3', LOG, status=2)


def test_without():
    """Without states, the calls are what is known; without any, nothing, and it says what is missing."""
    scene.run(POSIXTRACE, 'record', '--kernel', 'syscalls', '-o', 'calls.log', '--', TARGET, 'file')
    found = why('sleep', 'calls.log')
    row = most(found['division'])
    equal('in a call', (row['state'], row['system_call']), ('unknown', 'clock_nanosleep'))
    scene.run(POSIXTRACE, 'record', '-o', 'plain.log', '--', TARGET, 'file')
    out, messages = scene.run(POSIXTRACE, 'report', '--why', 'sleep', 'plain.log')
    equal('unknown', b'unknown' in out, True)
    equal('what to do', b'record --kernel sched' in messages, True)


def test_fault_after_many_waits():
    """A log may tell of any number of waits before a page fault: the fault does not go back over all of them."""
    log = Log()
    log.declare('linux_off', '{packed,took=took;took:u64/ns,state:u8<preempted,blocked,sleeping,disk,stopped,traced,'
                'new,other>,ready:u64/ns,waker:u32,waker_name:z}')
    log.declare('linux_fault', '{packed;address:x64,at:a64,kind:u8<minor,major>}')
    log.declare('x', '{packed,took=took;took:u64/ns}')
    for n in range(1, 101):
        log.event(1000 * n, 'linux_off', data=struct.pack('<QBQ', 600, 3, 200))
    log.event(100000, 'linux_fault', data=struct.pack('<QQB', 1, 2, 1))
    log.event(100001, 'x', data=struct.pack('<Q', 100000))
    log.segment()
    Path('waits.log').write_bytes(log.out)
    found = why('x', 'waits.log')
    waits = [row['count'] for row in found['division'] if row.get('page_fault')]
    equal(f'waits of the fault: {waits}', 1 <= sum(waits) <= 8, True)


def test_many_spans():
    """In a forged log each of many spans may have all states: not all are divided, which is told."""
    log = Log()
    log.declare('linux_off', '{packed,took=took;took:u64/ns,state:u8<preempted,blocked,sleeping,disk,stopped,traced,'
                'new,other>,ready:u64/ns,waker:u32,waker_name:z}')
    log.declare('x', '{packed,took=took;took:u64/ns}')
    for n in range(1, 1201):
        log.event(1000 * n, 'linux_off', data=struct.pack('<QBQ', 600, 3, 200))
    for n in range(2500):
        log.event(1200001 + n, 'x', data=struct.pack('<Q', 1200000))
    log.segment()
    Path('spans.log').write_bytes(log.out)
    found = why('x@0.0006', 'spans.log')
    equal(f'{found["chosen"]} and {found["uncounted"]}', (found['chosen'] + found['uncounted'],
                                                         100 < found['chosen'] < 2500), (2500, True))
    out, _ = scene.run(POSIXTRACE, 'report', '--why', 'x@0.0006', 'spans.log')
    equal('told', f'{found["uncounted"]} more of these spans are not counted'.encode() in out, True)


def record(*more):
    return scene.run(POSIXTRACE, 'record', '--kernel', 'sched,syscalls,faults', *more, '-o', LOG, '--', TARGET,
                     'file', status=None)


def recorded():
    return scene.events(POSIXTRACE, LOG)


def record_again():
    record(*(['--libc', 'locks'] if LIBC else []))
    return recorded()


LIBC = True
_, MESSAGES = record('--libc', 'locks')
if not LOG.exists():
    LIBC = False
    _, MESSAGES = record()
if os.geteuid() != 0 or b'not recorded' in MESSAGES or b'no events of' in MESSAGES:
    print(f'skipped: perf events are not to be had: {MESSAGES.decode()}')
    sys.exit(77)
EVENTS = recorded()
LIBC = LIBC and any(e.get('event', '').startswith('libc.') for e in EVENTS)
Suite(globals()).main()
