#!/usr/bin/env python3
#
# kernel.py - record --kernel has what Linux did for a program whose calls, waits, faults and signals are known
#
#     kernel.py POSIXTRACE KERNEL_TARGET KERNEL_ANALYZER
#
# SPDX-License-Identifier: MIT

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import scene
from scene import NOBODY, Suite, become_nobody, equal, named, of

scene.private()
POSIXTRACE, TARGET, ANALYZER = (Path(p).resolve() for p in sys.argv[1:4])
scene.mount_tracefs()


def record(*arguments, status=0, **more):
    out, messages = scene.run(POSIXTRACE, 'record', *arguments, status=status, **more)
    return out.decode(), messages.decode()


def events(*arguments):
    return scene.events(POSIXTRACE, *arguments)


def test_time_namespace():
    """The clock of a time namespace is another one than that of the kernel's records."""
    for offset in 1000, -1000:
        done = subprocess.run(['unshare', '-T', '--monotonic', str(offset), '--fork', POSIXTRACE, 'record', '--kernel',
                               'sched,syscalls', '-o', 'clock.log', '--', 'sleep', '0.3'], capture_output=True,
                              text=True, check=False)
        if 'unshare: ' in done.stderr:
            return
        equal(f'{offset}: {done.stderr}', done.returncode == 0 and 'clock is' not in done.stderr, True)
        times = [e['relative'] for e in events('clock.log')]
        equal(f'{offset}: {times[0]} to {times[-1]}', 0 <= times[0] <= times[-1] < 900e9, True)


def test_all():
    """Every group, exactly."""
    out, messages = record('--kernel', 'all', '-o', 'all.log', '--', TARGET)
    equal('nothing is lost', 'lost' in messages, False)
    equal('nothing is left', Path('all.log.kernel').exists(), False)
    scene.run(POSIXTRACE, 'check', 'all.log')
    found = events('all.log')
    times = [e['time'] for e in found]
    equal('in the order of time', times, sorted(times))
    main, = {e['pid'] for e in named(found, 'part.begin')}

    # The child is not recorded, but its birth is.
    equal('processes', {e['pid'] for e in found if e['event'].startswith('linux_') and
                        e['event'] != 'linux_signal_send'}, {main})
    births = [(of(e, 'pid') == main) for e in named(found, 'linux_fork')]
    equal('births: a thread and a process', births, [True, False])
    thread, = [of(e, 'tid') for e in named(found, 'linux_fork') if of(e, 'pid') == main]

    # Calls, with the program's own events around seven of them.
    calls = named(found, 'linux_sys_getpgid')
    equal('calls', len(calls), 10)
    equal('of threads', sorted([sum(e['tid'] == t for e in calls) for t in (main, thread)]), [3, 7])
    equal('results', {int(of(e, 'result')) for e in calls}, {os.getpgid(0)})
    equal('arguments', {of(e, 'pid') for e in calls}, {0})
    names = [e['event'] for e in found if e['tid'] == main and e['event'] in
             ('part.begin', 'part.end', 'linux_sys_getpgid')]
    equal('in their places', names, ['part.begin'] + 7 * ['linux_sys_getpgid'] + ['part.end'])
    equal('no result', len(named(found, 'linux_sys_exit_group')), 1)

    # Signals.
    equal('sent', [(of(e, 'signal'), of(e, 'to')) for e in named(found, 'linux_signal_send')
                   if of(e, 'signal') == 'USR1'], 3 * [('USR1', main)])
    equal('delivered', [of(e, 'signal') for e in named(found, 'linux_signal') if of(e, 'signal') == 'USR1'],
          3 * ['USR1'])

    # Page faults.
    begin, end, count = (int(word, 0) for word in out.split())
    page = (end - begin) // 16
    # Something else may have been mapped there before.
    after = named(found, 'part.end')[0]['time']
    touched = [(int(of(e, 'address')) - begin) // page for e in named(found, 'linux_fault')
               if begin <= int(of(e, 'address')) < end and e['time'] > after]
    # The program counts what its own memory needs meanwhile, too: AddressSanitizer's shadow of the pages.
    equal('faults', (sorted(set(touched)), 16 <= len(touched) <= count), (list(range(16)), True))

    # States: a thread is always on or off, and the times add up.
    sleeps = [of(e, 'took') for e in found if e['event'].endswith('nanosleep')]
    equal('sleeps', (len(sleeps), all(int(ns) >= 1000000 for ns in sleeps)), (4, True))
    for tid in (main, thread):
        states = [e for e in found if e['tid'] == tid and e['event'] in ('linux_run', 'linux_off')]
        equal('turns', {a['event'] == b['event'] for a, b in zip(states, states[1:])}, {False})
        equal('first', states[0]['event'], 'linux_run' if tid == main else 'linux_off')
        equal('why', of(states[-1], 'why'), 'exited')
        span = states[-1]['time'] - (states[0]['time'] - states[0]['took'])
        equal('all of its life', sum(e['took'] for e in states), span)
    waits = [e for e in named(found, 'linux_off') if e['tid'] == thread and of(e, 'state') == 'sleeping']
    equal('the waker', [of(e, 'waker') for e in waits][-1:], [main])
    equal('one end of each', sorted(e['tid'] for e in named(found, 'linux_exit')), sorted([main, thread]))


def test_children():
    record('--children', '--kernel', 'syscalls,sched', '-o', 'children.log', '--', TARGET)
    found = events('children.log')
    main, = {e['pid'] for e in named(found, 'part.begin')}
    calls = named(found, 'linux_sys_getpgid')
    equal('calls', (len(calls), sum(e['pid'] == main for e in calls)), (15, 10))
    equal('ends', len(named(found, 'linux_exit')), 3)


def test_main_thread_ends_first():
    record('--kernel', 'syscalls,sched', '-o', 'leave.log', '--', TARGET, 'leave')
    found = events('leave.log')
    equal('calls', len(named(found, 'linux_sys_getpgid')), 9)
    equal('ends', len(named(found, 'linux_exit')), 2)


def names_of(pid):
    """The names of the threads of a process."""
    names = []
    for thread in Path(f'/proc/{pid}/task').iterdir():
        try:
            names.append((thread / 'comm').read_text())
        except FileNotFoundError:
            pass
    return names


def test_running():
    """With -p, a thread that exists already is recorded, too."""
    with subprocess.Popen([TARGET, 'wait'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as target:
        equal('ready', target.stdout.readline(), 'ready\n')
        with subprocess.Popen([POSIXTRACE, 'record', '-p', str(target.pid), '--kernel', 'syscalls,sched', '-o',
                               'running.log'], stderr=subprocess.PIPE) as recorder:
            # The rings are enabled before the recorder starts the thread that reads them.
            while 'kernel-rings\n' not in names_of(recorder.pid):
                time.sleep(0.01)
            target.stdin.write('go\n')
            target.stdin.flush()
            target.wait()
            recorder.communicate()
            equal('status', recorder.returncode, 0)
    equal('calls', len(named(events('running.log'), 'linux_sys_getpgid')), 10)


def test_stat():
    record('--kernel', 'syscalls,sched', '-o', 'stat.log', '--', TARGET)
    out, _ = scene.run(POSIXTRACE, 'stat', '--sched', '--syscalls', '--json', 'stat.log')
    found = json.loads(out)
    all_events = events('stat.log')
    calls = {call['name']: call for call in found['syscalls']}
    equal('getpgid', (calls['getpgid']['took']['count'], calls['getpgid']['errors']), (10, 0))
    for name, call in calls.items():
        own = [e for e in named(all_events, f'linux_sys_{name}')]
        equal(name, (call['took']['count'], call['took']['sum']), (len(own), sum(e['took'] for e in own)))
        equal(name, call['errors'], sum(-4096 < int(of(e, 'result')) < 0 for e in own))
    for row in found['sched']:
        own = [e for e in all_events if e['tid'] == row['tid']]
        runs = named(own, 'linux_run')
        equal('on', row['on'], sum(e['took'] for e in runs))
        equal('runs', (row['runs'], row['preempted']), (len(runs), sum(of(e, 'why') == 'preempted' for e in runs)))
        equal('off', row['ready'] + row['blocked'] + row['disk'], sum(e['took'] for e in named(own, 'linux_off')))
    out, _ = scene.run(POSIXTRACE, 'stat', '--syscalls', '-n', '0', 'stat.log')
    equal('table', b'getpgid' in out, True)


def test_all_processes():
    """With -a, a process that is not the recorder's is recorded, and the recorder, unless it is left out."""
    for options in ([], ['--without-recorder']):
        with subprocess.Popen([TARGET, 'wait'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other, \
             subprocess.Popen([POSIXTRACE, 'record', '-a', *options, '--kernel', 'sched', '-o', 'everything.log',
                               '--', TARGET, 'wait'], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as recorder:
            # When its own command is ready, it records.
            for process in recorder, other:
                equal('ready', process.stdout.readline(), 'ready\n')
            other.communicate('go\n')
            _, messages = recorder.communicate('go\n')
            equal('status', recorder.returncode, 0)
        # All that the machine does meanwhile is in the log.
        found = events('-e', 'linux_[ref]*', '--pid', str(other.pid), 'everything.log')
        if 'were lost' not in messages:
            # Its thread was there before.
            child, = (of(e, 'tid') for e in named(found, 'linux_fork'))
            ends = {e['tid'] for e in named(found, 'linux_exit')}
            equal('ends', (len(ends), other.pid in ends), (2, True))
            equal('runs', {e['tid'] for e in named(found, 'linux_run')}, ends)
            ended = events('-e', 'linux_exit', '--pid', str(child), 'everything.log')
            equal('its child ends, too', [e['tid'] for e in ended], [child])
            equal('names', {e['thread'] for e in found}, {'kernel_target', 'waiter'})
        own, _ = scene.run(POSIXTRACE, 'report', '--json', '--pid', str(recorder.pid), '-n', '1', 'everything.log',
                           status=None)
        equal(f'its own activity, {options}', bool(own), not options)


def test_analyzer():
    """The standard's analyzer reads the program's events and Linux's in one order, and knows the names."""
    record('--kernel', 'sched,syscalls', '-o', 'analyzer.log', '--', TARGET)
    out, _ = scene.run(ANALYZER, 'analyzer.log')
    lines = out.decode().splitlines()
    types = {line[1:] for line in lines if line.startswith('-')}
    names = [line for line in lines if not line.startswith('-')]
    equal('the list of types', {'part.begin', 'linux_run', 'linux_off', 'linux_sys_getpgid', 'linux_exit'} <= types,
          True)
    equal('all events', names, [e['event'] for e in events('--system', 'analyzer.log')])
    equal('in one order', [name for name in names if name in ('part.begin', 'part.end')], ['part.begin', 'part.end'])
    between = names[names.index('part.begin'):names.index('part.end')]
    equal('calls between two events of the program', between.count('linux_sys_getpgid') >= 7, True)


def test_filter():
    """-e also chooses among Linux's events, if a pattern names them."""
    for options, there, missing in (
            (['-e', 'part.*'], {'part.begin', 'linux_run', 'linux_off', 'linux_sys_getpgid'}, set()),
            (['-e', '!linux_off', '-e', '!linux_sys_*'], {'part.begin', 'linux_run'},
             {'linux_off', 'linux_sys_getpgid'}),
            (['-e', 'linux_sys_*'], {'linux_sys_getpgid'}, {'linux_run', 'linux_off'}),
            (['-e', 'part.*', '-e', 'linux_sys_getpgid'], {'part.begin', 'linux_sys_getpgid'},
             {'linux_off', 'linux_run', 'linux_sys_exit_group'})):
        record(*options, '--kernel', 'sched,syscalls', '-o', 'filter.log', '--', TARGET)
        names = {e['event'] for e in events('filter.log')}
        equal(f'{options}', (there - names, missing & names), (set(), set()))


def test_losses():
    """A ring that is too small loses records: their number is exact, and no call is paired with another's end."""
    loop = 'import os\nfor i in range(20000): os.getpgid(0)'
    out, messages = record('--kernel', 'syscalls', '--kernel-buffer', '4K', '-o', 'small.log', '--', sys.executable,
                           '-c', loop)
    found = events('small.log')
    calls = len(named(found, 'linux_sys_getpgid'))
    if 'records of the kernel were lost' not in messages:
        equal('all of them', calls, 20000)
        return
    out, _ = scene.run(POSIXTRACE, 'stat', '--json', 'small.log')
    lost = sum(file['lost'] for file in json.loads(out)['files'])
    equal('the log tells how many', f'{lost} records of the kernel were lost' in messages, True)
    equal('the rest is missing', (calls < 20000, lost > 0), (True, True))
    out, _ = scene.run(POSIXTRACE, 'stat', '--syscalls', 'small.log')
    equal('the table tells that it is not whole', out.startswith(b'missing from'), True)
    scene.run(POSIXTRACE, 'check', 'small.log')


def test_full_disk():
    """The disk is full: an event is in the log, or counts as missing, and is not told of as recorded as well."""
    os.mkdir('disk')
    if subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=64k', 'none', 'disk'], capture_output=True,
                      check=False).returncode:
        return 'no mount without privilege'
    try:
        _, messages = record('--kernel', 'syscalls', '-o', 'disk/log', '--', sys.executable, '-c',
                             'import os\nfor i in range(100000): os.getpgid(0)', status=123)
        there = len([e for e in events('disk/log') if e['event'].startswith('linux_')])
        equal('missing', 'events of the kernel could not be written' in messages, True)
        said, = re.findall(r'disk/log: (\d+) events?, .*, incomplete\n', messages)
        equal('events', int(said), there)
    finally:
        subprocess.run(['umount', 'disk'], check=True)
    return None


def test_killed():
    """After kill -9 both logs can be read."""
    with subprocess.Popen([POSIXTRACE, 'record', '--kernel', 'sched', '-o', 'killed.log', '--', 'sleep', '100'],
                          stderr=subprocess.PIPE) as recorder:
        # It writes once a second.
        log = Path('killed.log.kernel')
        while not log.exists() or not log.stat().st_size or not named(events(log), 'linux_exec'):
            time.sleep(0.1)
        children = Path(f'/proc/{recorder.pid}/task/{recorder.pid}/children').read_text().split()
        recorder.kill()
        recorder.wait()
        for child in children:
            os.kill(int(child), signal.SIGKILL)
    found = events('killed.log', 'killed.log.kernel')
    equal('the execution', [of(e, 'name') for e in named(found, 'linux_exec')], ['sleep'])


def test_user():
    """An ordinary user has switches, births, executions, ends and page faults, and is told the rest."""
    os.chmod('.', 0o755)
    os.makedirs('user', exist_ok=True)
    os.chown('user', NOBODY, NOBODY)
    shutil.copy(TARGET, 'user/target')

    done = subprocess.run([POSIXTRACE, 'record', '--kernel', 'all', '-o', 'user.log', '--', './target'], cwd='user',
                          preexec_fn=become_nobody, capture_output=True, text=True, check=False,
                          env={**os.environ, 'LD_LIBRARY_PATH': os.environ.get('LD_LIBRARY_PATH', '')})
    paranoid = int(Path('/proc/sys/kernel/perf_event_paranoid').read_text())
    if paranoid > 2:
        equal('nothing', (done.returncode, 'perf_event_paranoid' in done.stderr), (0, True))
        return
    equal('status', done.returncode, 0)
    equal('one message', done.stderr.count('not recorded:'), 1)
    found = events('user/user.log')
    equal('events', {'linux_run', 'linux_off', 'linux_fork', 'linux_exec', 'linux_exit', 'linux_fault'} <=
          {e['event'] for e in found}, True)
    equal('no calls', any(e['event'].startswith('linux_sys') for e in found), False)
    equal('ends', len(named(found, 'linux_exit')), 2)
    done = subprocess.run([POSIXTRACE, 'record', '-a', '--kernel', 'sched', '-o', 'user2.log', '--', './target'],
                          cwd='user', preexec_fn=become_nobody, capture_output=True, text=True, check=False,
                          env={**os.environ, 'LD_LIBRARY_PATH': os.environ.get('LD_LIBRARY_PATH', '')})
    if paranoid > 0:
        equal('not all processes', (done.returncode, 'record all processes be root' in done.stderr), (125, True))


def test_wrong():
    for arguments, words in ((('--kernel', 'disks'), 'must be sched'),
                             (('--kernel', 'all', '-o', '-'), 'cannot be combined'),
                             (('--kernel', 'all', '--loop'), 'cannot be combined'),
                             (('-a',), 'needs --kernel'),
                             (('--kernel', 'all', '--without-recorder'), 'needs -a'),
                             (('--kernel-buffer', '1M'), 'needs --kernel')):
        _, messages = record(*arguments, '--', 'true', status=None)
        equal(f'{arguments}', words in messages, True)


def missing():
    if os.geteuid() != 0:
        return 'not root'
    _, messages = record('--kernel', 'all', '-o', 'trial.log', '--', 'true', status=None)
    return messages if 'not recorded' in messages or 'no events of' in messages else ''


LACK = missing()
if LACK:
    print(f'skipped: perf events are not to be had: {LACK}')
    sys.exit(77)
Suite(globals()).main()
