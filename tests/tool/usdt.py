#!/usr/bin/env python3
#
# usdt.py - record --usdt: probes of programs as they are, set by the kernel
#
#     usdt.py POSIXTRACE TARGET
#
# SPDX-License-Identifier: MIT

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import scene
from scene import Suite, equal

POSIXTRACE, TARGET = (os.path.abspath(argument) for argument in sys.argv[1:3])


def impossible():
    """Returns why this machine cannot, or an empty text."""
    if os.uname().machine != 'x86_64':
        return 'the probes of the target are for x86-64'
    if os.geteuid() != 0:
        return 'only root may have the kernel set probes'
    done = record('--usdt', '*', '--', 'true')
    return done.stderr.strip() if done.returncode == 125 else ''


def record(*arguments, **more):
    Path('x.log').unlink(missing_ok=True)
    return subprocess.run([POSIXTRACE, 'record', '-o', 'x.log', *arguments], capture_output=True, text=True,
                          env=scene.ENVIRONMENT, timeout=100, check=False, **more)


def events():
    out, _ = scene.run(POSIXTRACE, 'report', '--json', 'x.log')
    return [json.loads(line) for line in out.decode().splitlines()]


def fields():
    return [(event['event'], event.get('fields', {})) for event in events()]


def hits():
    return [event['fields']['arg1'] for event in events() if event['event'] == 'target:hit']


def test_values():
    """Arguments in registers, on the stack, constants; between the program's own events; a semaphore."""
    # A name alone: the type is that of the note.
    done = record('--usdt', 'target:registers( minus,large , unsigned char u8)', '--usdt', 'target:*', '--', TARGET,
                  'values')
    equal('output', (done.returncode, done.stdout), (0, 'semaphore 1\n'))
    equal('events', fields(), [
        ('own', {'n': 1}),
        ('target:registers', {'minus': -5, 'large': '18364758544493064720', 'u8': 200, 'arg4': -56}),
        ('own', {'n': 2}),
        ('target:memory', {'arg1': -12, 'arg2': 3, 'arg3': -5}),
        ('target:constant', {'arg1': -3, 'arg2': 1048576}),
        ('target:none', {}),
        ('target:left', {'arg4': 200}),
        ('target:register_high', {'arg1': 0x12}),
        ('own', {'n': 3}),
        ('target:twice', {'arg1': 200}),
        ('target:twice', {'arg1': -5}),
        ('target:guarded', {'arg1': 77})])
    equal('refused', 'events of target:{b:u32} are not recorded' in done.stderr, True)
    equal('left off', 'target:left: arguments 1, 2, 3, 5 are left off' in done.stderr, True)
    equal('files', sorted(os.listdir()), ['x.log'])
    scene.run(POSIXTRACE, 'check', 'x.log')
    # The log tells what the process has executed, so that addresses can be looked up.
    out, _ = scene.run(POSIXTRACE, 'stat', 'x.log')
    equal('executable', os.path.realpath(TARGET) in out.decode(), True)


NAMES = next((path for path in map(Path, ('/sys/kernel/tracing/uprobe_events',
                                          '/sys/kernel/debug/tracing/uprobe_events')) if path.exists()), None)


def names_of(pid):
    """Returns the names in tracefs of a recorder."""
    return [line for line in NAMES.read_text().splitlines() if line.startswith(f'p:posixtrace_{pid}_')]


def test_texts():
    """Names and types of arguments; texts are fetched by the kernel, if it can."""
    before = NAMES and NAMES.read_text()
    done = record('--usdt', 'target:said(str first, const char *second, uint8_t low)', '--usdt',
                  'target:fixed(str a, str b)', '--', TARGET, 'texts')
    equal('status', done.returncode, 0)
    if not NAMES:
        equal(done.stderr, 'texts are recorded as addresses' in done.stderr, True)
        # Without tracefs a sample of the stack has to do, and the compiler decides where in it the second text is.
        left = ['second'] if 'target:said: argument 2 is left off' in done.stderr else []
        equal('names', sorted([*fields()[0][1], *left]), ['first', 'low', 'second'])
        return
    large, after = 'x' * 255, 65536
    equal(done.stderr, fields(), [
        ('target:said', {'first': 'tea', 'second': '', 'low': 200}),
        ('target:said', {'first': '', 'second': 'tea', 'low': 200}),
        ('target:fixed', {'a': after, 'b': 'tea'}),
        ('target:said', {'first': '', 'second': '', 'low': 64}),
        ('target:said', {'first': '', 'second': '', 'low': 64}),
        ('target:fixed', {'a': after, 'b': ''}),
        ('target:said', {'first': large, 'second': 't\u00e9', 'low': 255}),
        ('target:said', {'first': 't\u00e9', 'second': large, 'low': 255}),
        ('target:fixed', {'a': after, 'b': large})])
    equal('nothing is left in tracefs', NAMES.read_text(), before)


def test_killed():
    """What a recorder that was killed leaves in tracefs is removed by the next one."""
    if not NAMES:
        return
    target, recorder = started('files', '1', pattern='target:said(str a)')
    equal('names', len(names_of(recorder.pid)), 2)
    recorder.kill()
    recorder.communicate(timeout=60)
    target.kill()
    target.communicate(timeout=60)
    equal('left', len(names_of(recorder.pid)), 2)
    record('--usdt', 'target:said(str a)', '--', TARGET, 'texts')
    equal('removed', names_of(recorder.pid), [])
    for name in os.listdir():
        if name.startswith('x.log'):
            os.unlink(name)


def test_signatures():
    for arguments, why in (('str', "')' is missing"), ('str)', "'str' is no type and name"),
                           ('what a)', "unknown type in 'what a'"), ('int a, ptr a)', 'the same name'),
                           ('a b c)', 'unknown type'), ('int 1)', 'no type and name')):
        done = record('--usdt', f'target:said({arguments}', '--', 'true')
        equal(done.stderr, (done.returncode, why in done.stderr), (2, True))


def test_patterns():
    """A probe that is not wanted has no event, and its semaphore is not counted."""
    for options, names in ((['--usdt', 'target:no*'], ['target:none']),
                           (['--usdt', 'target:*', '-e', '*:none'], ['target:none']),
                           (['--usdt', f'{TARGET}:target:m*', '--usdt', '/bin/sh:*'], ['target:memory'])):
        done = record(*options, '--', TARGET, 'values')
        equal(f'{options}: {done.stderr}', [name for name, _ in fields() if name != 'own'], names)
        equal(f'{options}: semaphore', done.stdout, 'semaphore 0\n')
    done = record('--usdt', 'nothing:*', '--', TARGET, 'values')
    equal('nothing', (done.returncode, 'no probe of the program' in done.stderr), (0, True))


def test_threads():
    """Threads that begin later, and their numbers."""
    done = record('--usdt', 'target:hit', '--', TARGET, 'threads', '500')
    equal(done.stderr, (done.returncode, done.stdout), (0, 'semaphore 0\n'))
    found = {}
    for event in events():
        found.setdefault(event['tid'], []).append(event['fields']['arg1'])
    equal('threads', sorted(found.values()), [list(range(500))] * 4)


def test_children():
    done = record('--usdt', 'target:hit', '--', TARGET, 'child', '20')
    equal(done.stderr, (len(hits()), 'other processes that execute the same files' in done.stderr), (20, True))
    done = record('--children', '--usdt', 'target:hit', '--', TARGET, 'child', '20')
    equal(done.stderr, len(hits()), 40)
    equal('processes', len({event['pid'] for event in events()}), 2)
    # A shell starts the program, so its probes are set when it is seen: with its path they are set before.
    done = record('--children', '--usdt', f'{TARGET}:target:hit', '--', 'sh', '-c', f'"{TARGET}" child 20; true')
    equal(f'shell: {done.stderr}', len(hits()), 40)


def started(*arguments, pattern='target:hit'):
    """Starts the recorder and the target, which waits for a file."""
    target = subprocess.Popen([TARGET, *arguments], stdout=subprocess.PIPE, text=True)
    target.stdout.readline()
    recorder = subprocess.Popen([POSIXTRACE, 'record', '-o', 'x.log', '--usdt', pattern, '-p', str(target.pid)],
                                stderr=subprocess.PIPE, text=True, env=scene.ENVIRONMENT)
    # The thread that takes the samples begins when the probes are set.
    while 'usdt\n' not in [Path(f'/proc/{recorder.pid}/task/{task}/comm').read_text()
                           for task in os.listdir(f'/proc/{recorder.pid}/task')]:
        time.sleep(0.01)
    return target, recorder


def test_running():
    Path('x.log').unlink(missing_ok=True)
    target, recorder = started('files', '30')
    Path('go').touch()
    while Path('go').exists():
        time.sleep(0.01)
    Path('go').touch()
    target.communicate(timeout=60)
    _, said = recorder.communicate(timeout=60)
    equal(said, (recorder.returncode, hits()), (0, list(range(31))))


def test_lost():
    """A recorder that does not come to read: each lost event is counted, in its place."""
    count = 60000
    Path('x.log').unlink(missing_ok=True)
    target, recorder = started('files', str(count))
    # Each processor has a ring of its own.
    os.sched_setaffinity(target.pid, [min(os.sched_getaffinity(0))])
    recorder.send_signal(signal.SIGSTOP)
    Path('go').touch()
    while Path('go').exists():
        time.sleep(0.01)
    # The target waits for the file again when all probes were met.
    while not idle(target.pid):
        pass
    recorder.send_signal(signal.SIGCONT)
    while not idle(recorder.pid):
        pass
    Path('go').touch()
    target.communicate(timeout=60)
    _, said = recorder.communicate(timeout=60)
    found = hits()
    equal(f'all are there, or counted: {said}', f'--usdt: {count + 1 - len(found)} events were lost' in said, True)
    equal('some were lost', 0 < len(found) < count, True)
    equal('the first ones', found[:-1], list(range(len(found) - 1)))
    equal('the last one', found[-1], count)
    out, _ = scene.run(POSIXTRACE, 'report', '--fields', 'event,data', 'x.log')
    lines = out.decode().splitlines()
    equal('where', ['lost' in line for line in lines[-2:]], [True, False])
    out, _ = scene.run(POSIXTRACE, 'check', 'x.log')
    equal('the log', f'{count + 1 - len(found)} lost' in out.decode(), True)


def ticks(pid):
    return sum(map(int, Path(f'/proc/{pid}/stat').read_text().rsplit(')', 1)[1].split()[11:13]))


def idle(pid):
    before = ticks(pid)
    time.sleep(0.3)
    return ticks(pid) == before


def test_refused():
    for options, why in ((['--loop'], 'cannot be combined'), (['--where', 'a > 1'], 'cannot be combined'),
                         (['-o', '-'], 'standard output')):
        done = record('--usdt', '*', *options, '--', 'true')
        equal(f'{options}', (done.returncode, why in done.stderr), (2, True))
    done = record('--usdt', '', '--', 'true')
    equal('empty', (done.returncode, 'needs a pattern' in done.stderr), (2, True))


def test_user():
    """Somebody else than root learns what to do, and the program is not started."""
    os.chmod('.', 0o777)
    done = record('--usdt', '*', '--', 'touch', 'started', user=65534, group=65534, extra_groups=[])
    equal(done.stderr, (done.returncode, 'only root' in done.stderr and 'CAP_PERFMON' in done.stderr), (125, True))
    equal('files', [name for name in os.listdir() if name != 'x.log'], [])


scene.private()
MISSING = impossible()
Suite(globals()).main(needs=[name for name in list(globals()) if name.startswith('test_') and name != 'test_refused'],
                      missing=MISSING)
