#!/usr/bin/env python3
#
# users.py - root records a program that becomes another user, and opens event types afterwards
#
#     users.py POSIXTRACE STEPS
#
# SPDX-License-Identifier: MIT

import collections
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import scene
from scene import Tool, expect, finish

POSIXTRACE, STEPS = (os.path.abspath(argument) for argument in sys.argv[1:3])
NOBODY, OTHER = 65534, 65533
record, report, posixtrace_list = (Tool(POSIXTRACE, name) for name in ('record', 'report', 'list'))


def events(log):
    """How many events of each type a log has."""
    reported = report('--fields', 'event', log)
    expect(reported.returncode == 0, reported)
    lines = (line.strip() for line in reported.stdout.splitlines())
    return dict(collections.Counter(line for line in lines if line and not line.startswith('#') and line != 'EVENT'))


def check(directory, options, steps, wanted, told='', perhaps=''):
    """perhaps: a type that may have any number of events."""
    log = f'{directory}/a.log'
    recorded = record('-o', log, *options, '--', STEPS, *steps)
    expect(recorded.returncode == 0, recorded)
    expect(not told or told in recorded.stderr, recorded.stderr)
    got = events(log)
    got.pop(perhaps, None)
    expect(got == wanted, f'{options} {steps}: {got}')


def test_command(directory):
    nobody, keep = f'become:{NOBODY}', f'keep:{OTHER}'
    check(directory, [], ['a', nobody, 'b', 'a', 'c*2'], {'a': 2, 'b': 1, 'c': 2})
    check(directory, [], ['+a', '+x', 'a', nobody, 'b*3', 'x'], {'a': 1, 'b': 3, 'x': 1})
    # Twice, with the rights to do that, and at last without.
    check(directory, [], ['a', keep, 'b', 'a', nobody, 'c*2', 'b'], {'a': 2, 'b': 2, 'c': 2})
    # The recorder has read all names between the two changes.
    check(directory, [], ['a', keep, 'b', 'a', 'wait:1300', nobody, 'c*2', 'b'], {'a': 2, 'b': 2, 'c': 2})
    # A filter is for the types that come later, too. It is not there before the recorder has seen the first names.
    check(directory, ['-e', 'b*'], ['a', nobody, '+bb', '+c', 'wait:500', 'bb', 'c'], {'bb': 1}, perhaps='a')


def test_no_event_before(directory):
    """As most daemons do: the types are opened as root, and the first event is another user's."""
    nobody = f'become:{NOBODY}'
    for options in ([], ['--children']):
        check(directory, options, ['+a', '+b', nobody, '!a*3', '!b', '!a'], {'a': 4, 'b': 1})
        # Also where names come later, or the process asks the library between.
        check(directory, options, ['+a', nobody, '!a', 'b*2', '!a', 'a'], {'a': 3, 'b': 2})
    check(directory, ['--children'], ['+a', '+b', nobody, 'fork', '!a*3', '!b', 'c'], {'a': 3, 'b': 1, 'c': 1})
    check(directory, ['--children'], ['+a', '+b', nobody, 'workers:3', '!a*3', '!b'], {'a': 9, 'b': 3})


def test_attached_no_event_before(directory):
    """Attaches before the program opens its event types."""
    log = f'{directory}/p.log'
    for before in ([], ['+z']):
        steps = [*before, 'pid', 'read', '+a', '+b', f'become:{NOBODY}', '!a*3', '!b', 'say:end', 'read']
        with subprocess.Popen([STEPS, *steps], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              bufsize=1) as process:
            pid = process.stdout.readline().strip()
            with subprocess.Popen([POSIXTRACE, 'record', '-q', '-o', log, '-p', pid]) as recorder:
                recorded_by(pid, recorder.pid)
                process.stdin.write('\n')
                process.stdout.readline()
                process.stdin.write('\n')
                expect(recorder.wait(timeout=20) == 0, 'recorded')
        expect(events(log) == {'a': 3, 'b': 1}, f'{before}: {events(log)}')


def test_children(directory):
    nobody = f'become:{NOBODY}'
    # Names that only the child opens.
    check(directory, ['--children'], ['a', 'fork', 'b', nobody, 'c', 'a'], {'a': 2, 'b': 1, 'c': 1})
    check(directory, ['--children'], ['a', 'fork', 'a', nobody, 'c', 'a'], {'a': 3, 'c': 1})
    check(directory, ['--children'], ['a', nobody, 'fork', 'c', 'a'], {'a': 2, 'c': 1})
    check(directory, ['--children'], ['a', nobody, 'b', 'fork', 'c', 'a'], {'a': 2, 'b': 1, 'c': 1})
    # Workers that become the same user have their names in common.
    check(directory, ['--children'], ['a', 'workers:4', 'a', nobody, 'c*5', 'd', 'a'], {'a': 9, 'c': 20, 'd': 4})


def test_two_names(directory):
    """One id, and two users who have given it a name: that is told, whichever of the names is read first."""
    log = f'{directory}/two.log'
    for steps in (['a', f'child:a,become:{NOBODY},c', 'p*2'], ['a', f'child:a,become:{NOBODY},c', 'wait:1300', 'p*2'],
                  ['a', f'child:a,become:{NOBODY},c', f'child:a,become:{OTHER},p*2']):
        # With a filter the recorder asks for names all the time.
        recorded = record('--children', '-e', '?', '-o', log, '--', STEPS, *steps)
        expect('1 event type of processes that have become other users has the id of another type' in recorded.stderr,
               recorded)
        got = events(log)
        expect(got in ({'a': got['a'], 'c': 3}, {'a': got['a'], 'p': 3}), f'{steps}: {got}')


def test_told(directory):
    """Why nothing was recorded."""
    log, nobody = f'{directory}/none.log', f'become:{NOBODY}'
    recorded = record('-o', log, '--', STEPS, nobody, 'a')
    expect(f'became user {NOBODY} before it reached a trace point' in recorded.stderr, recorded)
    recorded = record('-o', log, '--children', '--', STEPS, '+a', 'fork', nobody, '!a')
    # Unless the recorder has found it in time.
    expect('is recorded only from when it is found' in recorded.stderr or
           '1 of the events are of 1 process of user nobody' in recorded.stderr.replace('event is', 'events are'),
           recorded)
    recorded = record('-o', log, '--', STEPS, 'wait:1')
    expect('but has not reached a trace point\n' in recorded.stderr, recorded)
    for steps, told in ((['pid', 'read', nobody, 'a'], f'became user {NOBODY} before it reached a trace point'),
                        (['+a', 'pid', 'read', nobody, '!a'], f'became user {NOBODY} before its first event'),
                        (['pid', 'read'], 'but has not reached a trace point\n')):
        with subprocess.Popen([STEPS, *steps], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              bufsize=1) as process:
            pid = process.stdout.readline().strip()
            with subprocess.Popen([POSIXTRACE, 'record', '-o', log, '-p', pid], stderr=subprocess.PIPE,
                                  text=True) as recorder:
                recorded_by(pid, recorder.pid)
                process.stdin.write('\n')
                said = recorder.communicate(timeout=20)[1]
        expect(told in said, f'{steps}: {said}')


def recorded_by(pid, recorder):
    end = time.monotonic() + 20
    while not any(str(recorder) in line and 'running' in line
                  for line in posixtrace_list('-p', pid).stdout.splitlines()):
        if not expect(time.monotonic() < end, f'{pid} is not recorded'):
            break
        time.sleep(0.02)


def test_attached(directory):
    """By its number, before the change and after."""
    log, later = f'{directory}/p.log', f'{directory}/q.log'
    for daemon in ([], ['daemon']):
        steps = ['+a', *daemon, 'pid', 'read', 'a', f'become:{NOBODY}', 'b*2', 'say:changed', 'read', 'b', 'c',
                 'say:end', 'read', 'd']
        with subprocess.Popen([STEPS, *steps], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              bufsize=1) as process:
            pid = process.stdout.readline().strip()
            recorders = []
            for name in (log, later):
                recorders.append(subprocess.Popen([POSIXTRACE, 'record', '-q', '-o', name, '-p', pid]))
                recorded_by(pid, recorders[-1].pid)
                process.stdin.write('\n')
                process.stdout.readline()
            listed = posixtrace_list('--events', '-p', pid)
            expect({'a', 'b', 'c'} <= set(listed.stdout.split()) and '?' not in listed.stdout, listed)
            # The recorder from after the change removes the names at its end: the other one must have read them before.
            os.kill(recorders[1].pid, signal.SIGSTOP)
            os.waitid(os.P_PID, recorders[1].pid, os.WSTOPPED)
            process.stdin.write('\n')
            expect(recorders[0].wait(timeout=20) == 0, 'recorded')
            os.kill(recorders[1].pid, signal.SIGCONT)
            expect(recorders[1].wait(timeout=20) == 0, 'recorded')
        expect(events(log) == {'a': 1, 'b': 3, 'c': 1, 'd': 1}, f'{daemon}: {events(log)}')
        expect(events(later) == {'b': 1, 'c': 1, 'd': 1}, f'{daemon}: {events(later)}')


def test_names_removed(directory):
    """Names that another controller has removed before the recorder came to read them: that is told."""
    log = f'{directory}/r.log'
    steps = ['pid', 'read', '+a', 'a', f'become:{NOBODY}', 'b*3', 'c', 'say:end', 'read']
    with subprocess.Popen([STEPS, *steps], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          bufsize=1) as process:
        pid = process.stdout.readline().strip()
        with subprocess.Popen([POSIXTRACE, 'record', '-o', log, '-p', pid], stderr=subprocess.PIPE,
                              text=True) as recorder:
            recorded_by(pid, recorder.pid)
            os.kill(recorder.pid, signal.SIGSTOP)
            os.waitid(os.P_PID, recorder.pid, os.WSTOPPED)
            process.stdin.write('\n')
            process.stdout.readline()
            process.stdin.write('\n')
            process.wait()
            for names in Path(f'/dev/shm/posixtrace-{NOBODY}').glob('names-*'):
                names.unlink()
            os.kill(recorder.pid, signal.SIGCONT)
            said = recorder.communicate(timeout=20)[1]
    expect('4 events of 2 types have no name' in said, said)
    stat = Tool(POSIXTRACE, 'stat')(log)
    expect('missing  4 events have types without names' in stat.stdout, stat)
    expect(json.loads(Tool(POSIXTRACE, 'stat')('--json', log).stdout)['files'][0]['unnamed'] == 4, log)


if os.geteuid() != 0:
    print('only root can become other users', file=sys.stderr)
    sys.exit(77)
scene.private()
with scene.directory() as scratch:
    test_command(scratch)
    test_no_event_before(scratch)
    test_told(scratch)
    test_two_names(scratch)
    test_children(scratch)
    if scene.can_look():
        test_attached(scratch)
    else:
        print('test_attached: skipped, this root may not look at processes of other users')
    test_attached_no_event_before(scratch)
    test_names_removed(scratch)
# The recorders have removed what the programs had left as other users.
left = [str(path) for user in (NOBODY, OTHER) for path in Path(f'/dev/shm/posixtrace-{user}').glob('names-*')]
expect(not left, left)
finish()
