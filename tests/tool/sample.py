#!/usr/bin/env python3
#
# sample.py - record --sample and --off-cpu: where a program runs and waits, of which that is known
#
#     sample.py POSIXTRACE SAMPLE_TARGET LIBRARY SAMPLE_TARGET_WITHOUT_FRAME_POINTERS
#
# SPDX-License-Identifier: MIT

import collections
import json
import os
import platform
import shutil
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import scene
from scene import NOBODY, Suite, become_nobody, equal, named, of

scene.private()
POSIXTRACE, TARGET, LIBRARY, BARE = (Path(p).resolve() for p in sys.argv[1:5])
scene.mount_tracefs()


def record(*arguments, status=0, **more):
    _, messages = scene.run(POSIXTRACE, 'record', *arguments, status=status, **more)
    return messages.decode()


def profile(*arguments):
    out, _ = scene.run(POSIXTRACE, 'stat', '--profile', '--json', *arguments)
    return json.loads(out)


def functions(found):
    """Sums by name: the C library may have functions of the same name as its parts."""
    sums = collections.defaultdict(lambda: collections.defaultdict(int))
    for f in found['functions']:
        for key in ('self', 'total', 'ready'):
            sums[f['name']][key] += f.get(key, 0)
    return sums


def folded(log, *options):
    out, _ = scene.run(POSIXTRACE, 'convert', '--to', 'folded', '-o', '-', *options, log)
    lines = [line.rsplit(' ', 1) for line in out.decode().splitlines()]
    return [(stack.split(';'), int(weight)) for stack, weight in lines]


def events(*arguments):
    return scene.events(POSIXTRACE, *arguments)


def of_time(found):
    """A time in the middle of some events, as --from takes it."""
    begin = json.loads(scene.run(POSIXTRACE, 'stat', '--json', 'split.log')[0])['files'][0]['created']
    return f'{(found[len(found) // 2]["time"] - begin) / 1e9:.9f}s'


def between(what, value, low, high):
    equal(f'{what}: {value} is in {low} to {high}', low <= value <= high, True)


def test_split():
    """Three quarters of the samples are in one function, one quarter in another."""
    record('--sample', '999', '-o', 'split.log', '--', TARGET, 'split')
    scene.run(POSIXTRACE, 'check', 'split.log')
    found = profile('split.log')
    by_name = functions(found)
    # 0.8 s of processor time.
    between('samples', found['stacks'], 200, 5000)
    three, one = by_name['three_quarters']['total'], by_name['one_quarter']['total']
    between('share', three / (three + one), 0.62, 0.88)
    between('all', (three + one) / found['weight'], 0.9, 1)
    between('main', by_name['main']['total'], three + one, found['weight'])
    equal('main itself', by_name['main']['self'] < found['weight'] / 10, True)
    equal('self', sum(f['self'] for f in found['functions']), found['weight'])

    # Folded stacks are the same.
    stacks = folded('split.log')
    equal('weights', sum(weight for _, weight in stacks), found['weight'])
    equal('threads', {stack[0] for stack, _ in stacks}, {TARGET.name[:15]})
    equal('folded', sum(weight for stack, weight in stacks if 'three_quarters' in stack), three)
    equal('order', all(stack.index('main') < stack.index('three_quarters') for stack, _ in stacks
                       if 'three_quarters' in stack and 'main' in stack), True)

    # A range of time has its part.
    middle = of_time(events('-e', 'linux_sample', 'split.log'))
    equal('range', sum(profile(*part, 'split.log')['stacks'] for part in (('--to', middle), ('--from', middle))),
          found['stacks'])
    out, _ = scene.run(POSIXTRACE, 'stat', '--profile', 'split.log')
    equal('table', b'three_quarters' in out and out.startswith(b'%d samples' % found['weight']), True)


def test_off_cpu():
    """A thread sleeps in one function; its stack says so, and its time is that of linux_off."""
    messages = record('--sample', '999', '--off-cpu', '-o', 'wait.log', '--', TARGET, 'wait')
    if '--off-cpu: no stacks' in messages:
        return
    found = profile('--off-cpu', 'wait.log')
    by_name = functions(found)
    between('sleep in ms', by_name['waits_here']['total'] / 1e6, 200, 1e6)
    between('the sleep itself', by_name['[sleeping]']['total'], by_name['waits_here']['total'], found['weight'])
    # The thread that runs is only ever ready, not blocked, but where it begins and ends.
    equal('busy', by_name['three_quarters']['total'] <= by_name['waits_here']['total'] / 4, True)
    stacks = folded('wait.log', '--off-cpu')
    slept = sum(weight for stack, weight in stacks if 'waits_here' in stack and stack[-1] != '[ready]'
                and stack[-1] != '[preempted]')
    between('in microseconds', slept, by_name['waits_here']['total'] / 1000 - len(stacks),
            by_name['waits_here']['total'] / 1000 + len(stacks))
    preempted = sum(weight for stack, weight in stacks if stack[-1] == '[preempted]')
    between('preempted', preempted, by_name['[preempted]']['ready'] / 1000 - len(stacks),
            by_name['[preempted]']['ready'] / 1000 + len(stacks))

    # Each time off the processor has its stack, but for threads that have not run yet.
    all_events = events('wait.log')
    off = sorted((e['tid'], e['time'], of(e, 'took'), of(e, 'state')) for e in named(all_events, 'linux_off')
                 if of(e, 'state') != 'new')
    stacked = sorted((e['tid'], e['time'], of(e, 'took'), of(e, 'state')) for e in
                     named(all_events, 'linux_off_stack'))
    equal('each one', stacked, off)
    # The samples are those of the thread that runs.
    per_thread = profile('--per-thread', 'wait.log')
    busy = [t for t in per_thread['threads'] if t['name'] == 'busy']
    equal('the thread', len(busy), 1)
    equal('runs', functions(busy[0])['three_quarters']['total'] > busy[0]['weight'] * 0.8, True)


def test_dwarf():
    """Without frame pointers, copied stacks have all callers, also that of the C library."""
    shutil.copy(BARE, 'bare') # belongs to this user
    messages = record('--sample', '999', '--off-cpu', '--sample-dwarf', '-o', 'dwarf.log', '--', './bare', 'wait',
                      status=None)
    if 'built without libdw' in messages or '--off-cpu: no stacks' in messages:
        return
    for stack, _ in folded('dwarf.log', '--off-cpu'):
        if 'waits_here' in stack:
            equal(f'{stack}', stack.index('main') < stack.index('waits_here') < stack.index('calls_library'), True)
    by_name = functions(profile('--off-cpu', 'dwarf.log'))
    # The thread sleeps 200 ms from the call on, and stops to run a little later.
    between('sleep in ms', by_name['calls_library']['total'] / 1e6, 150, 1e6)
    equal('callers', by_name['calls_library']['total'] <= by_name['waits_here']['total'] <= by_name['main']['total'],
          True)
    busy = [(stack, weight) for stack, weight in folded('dwarf.log') if stack[0] == 'busy' and 'busy' in stack[1:]]
    between('busy', sum(weight for _, weight in busy), 25, 2000)
    below = sum(weight for stack, weight in busy if 'three_quarters' in stack[stack.index('busy', 1):])
    between('below its caller', below / sum(weight for _, weight in busy), 0.8, 1)


def test_dwarf_foreign():
    """Rules in a file of another user are not followed: with ten bytes they make libdw take all memory."""
    if os.geteuid() != 0:
        return
    for owner, group, mode in (NOBODY, NOBODY, 0o755), (0, 0, 0o757), (0, NOBODY, 0o775):
        shutil.copy(BARE, 'foreign')
        os.chown('foreign', owner, group)
        os.chmod('foreign', mode)
        messages = record('--sample', '999', '--sample-dwarf', '-o', 'foreign.log', '--', './foreign', 'split',
                          status=None)
        if 'built without libdw' in messages:
            return
        equal(f'{owner}:{group} {mode:o}: told once', messages.count('another user can change this file'), 1)
        equal('innermost', functions(profile('foreign.log'))['three_quarters']['self'] > 20, True)
        os.unlink('foreign')


def test_replaced():
    """No functions are shown of a file that has changed since, although it has no build-id."""
    bare = TARGET.read_bytes()
    note = struct.pack('<III', 4, 20, 3) + b'GNU\0'
    equal('it has a build-id', bare.count(note), 1)
    Path('plain').write_bytes(bare.replace(note, struct.pack('<III', 4, 20, 99) + b'GNU\0'))
    os.chmod('plain', 0o755)
    record('--sample', '999', '-o', 'plain.log', '--', './plain', 'split')
    equal('as it was', functions(profile('plain.log'))['three_quarters']['self'] > 20, True)
    os.utime('plain')
    out, messages = scene.run(POSIXTRACE, 'stat', '--profile', 'plain.log')
    equal(messages.decode(), b'it has changed since' in messages, True)
    equal('no names', b'three_quarters' in out, False)


def test_family():
    """A child has its parent's memory, then that of another execution of the program."""
    record('--children', '--sample', '999', '-o', 'family.log', '--', TARGET, 'family')
    by_name = functions(profile('family.log'))
    between('child', by_name['three_quarters']['total'], 50, 2000)
    between('executed', by_name['one_quarter']['total'], 50, 2000)


def test_all():
    """-a needs no --kernel."""
    with subprocess.Popen([sys.executable, '-c', 'while True: pass']) as busy, \
         subprocess.Popen([POSIXTRACE, 'record', '-a', '--sample', '999', '-o', 'a.log', '--', 'sleep', '1000'],
                          stderr=subprocess.PIPE) as recorder:
        while recorder.poll() is None and (not Path('a.log.kernel').exists() or
                                           busy.pid not in {e.get('pid') for e in events('a.log.kernel')}):
            time.sleep(0.1)
        recorder.send_signal(signal.SIGINT)
        recorder.communicate()
        busy.kill()
    equal('another process', busy.pid in {e['pid'] for e in named(events('a.log'), 'linux_sample')}, True)


def test_library():
    record('--sample', '999', '-o', 'lib.log', '--', TARGET, 'lib', LIBRARY)
    found = profile('lib.log')
    between('of the library', functions(found)['lib_spin']['total'] / found['weight'], 0.7, 1)


def test_made_code():
    """Code of no file is shown as unknown, whatever else is known."""
    if platform.machine() != 'x86_64' or sys.maxsize < 2**32:
        return
    record('--sample', '999', '-o', 'jit.log', '--', TARGET, 'jit')
    found = profile('jit.log')
    between('unknown', functions(found)['[unknown]']['total'] / found['weight'], 0.7, 1)


def test_many_threads():
    record('--sample', '999', '--off-cpu', '-o', 'threads.log', '--', TARGET, 'threads', '1000')
    found = events('threads.log')
    equal('births', len(named(found, 'linux_fork')), 1000)
    equal('ends', len(named(found, 'linux_exit')), 1001)


def test_many_processes():
    record('--children', '--sample', '999', '--kernel', 'sched', '-o', 'children.log', '--', TARGET, 'children', '300')
    found = events('children.log')
    equal('births', len(named(found, 'linux_fork')), 300)
    equal('ends', len(named(found, 'linux_exit')), 301)


def test_all_processes():
    """With -a, samples are taken on the processors: a process that the recorder has not started has its own."""
    with subprocess.Popen([POSIXTRACE, 'record', '-a', '--kernel', 'sched', '--sample', '999', '-o', 'every.log', '--',
                           'sh', '-c', 'echo ready; read line'], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as recorder:
        equal('ready', recorder.stdout.readline(), 'ready\n')
        with subprocess.Popen([TARGET, 'quarter']) as other:
            pass
        _, messages = recorder.communicate('go\n')
        equal(f'status: {messages}', recorder.returncode, 0)
    scene.run(POSIXTRACE, 'check', 'every.log')
    own = events('-e', 'linux_sample', '--pid', str(other.pid), 'every.log')
    threads = [t for t in profile('--per-thread', 'every.log')['threads'] if t['tid'] == other.pid]
    if 'were lost' not in messages:
        between('samples', len(own), 50, 4000)
        equal('of one thread', {e['tid'] for e in own}, {other.pid})
        thread, = threads
        equal('all of them', thread['weight'], len(own))
        # The rest is the start of the program, and the kernel.
        between('in its function', functions(thread)['one_quarter']['total'] / len(own), 0.5, 1)
    # What it is compared with: it ran on the processor that each sample names.
    runs = [(e['time'] - of(e, 'took'), e['time'], of(e, 'cpu')) for e in
            events('-e', 'linux_run', '--pid', str(other.pid), 'every.log')]
    for e in own:
        equal(f'{e}', [cpu for begin, end, cpu in runs if begin <= e['time'] <= end][:1] or [of(e, 'cpu')],
              [of(e, 'cpu')])


def test_depth():
    record('--sample', '999', '--stack-depth', '2', '-o', 'depth.log', '--', TARGET, 'quarter')
    found = events('-e', 'linux_sample', 'depth.log')
    equal('depth', {of(e, 'count') <= 2 for e in found}, {True})
    equal('cut', {of(e, 'cut') == (of(e, 'count') == 2) for e in found}, {True})
    equal('counted', profile('depth.log')['cut'], sum(of(e, 'cut') for e in found))


def test_losses():
    """Each page fault is in the log or counted as lost, in its place: between those before and after."""
    with subprocess.Popen([TARGET, 'pages', '4000'], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as target:
        # The kernel tells of a loss before the next event on the same processor.
        os.sched_setaffinity(target.pid, {min(os.sched_getaffinity(0))})

        def say(line):
            target.stdin.write(line + '\n')
            target.stdin.flush()
            return int(target.stdout.readline())

        with subprocess.Popen([POSIXTRACE, 'record', '-p', str(target.pid), '--kernel', 'faults', '--kernel-buffer',
                               '16K', '-o', 'pages.log'], stderr=subprocess.PIPE, text=True) as recorder:
            # When it has written a page fault, it records.
            while not Path('pages.log.kernel').exists() or not named(events('pages.log.kernel'), 'linux_fault'):
                say('one')
                time.sleep(0.1)
            equal('none yet', say('begin'), 0)
            begin = time.time_ns()
            # The recorder cannot keep up while it is stopped.
            recorder.send_signal(signal.SIGSTOP)
            say('all')
            recorder.send_signal(signal.SIGCONT)
            # It has read the ring when the room is there again; what comes now is not lost.
            time.sleep(0.5)
            recorder.send_signal(signal.SIGSTOP)
            happened = say('all')
            recorder.send_signal(signal.SIGCONT)
            time.sleep(0.3)
            recorder.send_signal(signal.SIGINT)
            _, messages = recorder.communicate()
        target.stdin.close()
        target.wait()
    found = events('pages.log')
    seen = sum(e['time'] > begin for e in named(found, 'linux_fault'))
    out, _ = scene.run(POSIXTRACE, 'stat', '--json', 'pages.log')
    lost = sum(file['lost'] for file in json.loads(out)['files'])
    equal(f'{happened} page faults', happened >= 8000, True)
    between('lost', lost, 4000, happened)
    equal('each one', seen + lost, happened)
    equal('told', f'{lost} records of the kernel were lost' in messages, True)
    kinds = [e['event'] for e in found]
    gap = kinds.index('posix_trace_overflow')
    equal('in place', 'linux_fault' in kinds[:gap] and 'linux_fault' in kinds[gap:], True)
    scene.run(POSIXTRACE, 'check', 'pages.log')


MAPS = """
import mmap, os, sys, time
for _ in range(14):
    os.mkdir('d' * 250)
    os.chdir('d' * 250)
with open('f', 'wb') as f:
    f.truncate(3 * mmap.PAGESIZE)
fd = os.open('f', os.O_RDONLY)
maps = [mmap.mmap(fd, mmap.PAGESIZE, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC, offset=mmap.PAGESIZE)
        for _ in range(int(sys.argv[1]))]
end = time.process_time() + 0.3
while time.process_time() < end:
    pass
"""


def test_many_mappings():
    """A program cannot fill the recorder's memory and the log with names of files that it maps, and this is told."""
    for count, told in (20, False), (600, True):
        messages = record('--sample', '999', '-o', f'maps{count}.log', '--', sys.executable, '-c', MAPS, count)
        equal(f'{count}: {messages}', 'more files mapped than are remembered' in messages, told)
        shutil.rmtree('d' * 250)
        # Only files that stacks have touched are described.
        between('bytes', os.path.getsize(f'maps{count}.log'), 4000, 70_000)
        equal('functions', profile(f'maps{count}.log')['stacks'] > 0, True)


def test_killed():
    """After kill -9 both logs can be read, and the functions be found."""
    with subprocess.Popen([POSIXTRACE, 'record', '--sample', '999', '-o', 'killed.log', '--', sys.executable, '-c',
                           'while True: pass'], stderr=subprocess.PIPE) as recorder:
        while not Path('killed.log.kernel').exists() or not named(events('killed.log.kernel'), 'linux_sample'):
            time.sleep(0.1)
        children = Path(f'/proc/{recorder.pid}/task/{recorder.pid}/children').read_text().split()
        recorder.kill()
        recorder.wait()
        for child in children:
            os.kill(int(child), signal.SIGKILL)
    for command in ('report',), ('stat',), ('stat', '--sched'):
        for logs, told in (('killed.log',), True), (('killed.log', 'killed.log.kernel'), False):
            _, messages = scene.run(POSIXTRACE, *command, *logs, status=None)
            equal(f'{command} {logs}', b'killed.log.kernel has further events' in messages, told)
    record('--kernel', 'faults', '-o', 'other.log', '--', 'true')
    shutil.copy('killed.log.kernel', 'other.log.kernel')
    _, messages = scene.run(POSIXTRACE, 'stat', 'other.log')
    equal('of another recording', messages, b'')
    found = profile('killed.log', 'killed.log.kernel')
    equal('some', found['stacks'] > 0, True)
    equal('files', any('image' in f for f in found['functions']), True)


def test_kernel_functions_are_known_before():
    """The thread that empties the rings does not read the names of the kernel's functions: the rings would overflow."""
    record('-a', '--kernel', 'syscalls', '--sample', '999', '--kernel-buffer', '16M', '-o', 'names.log', '--', TARGET,
           'quarter')
    equal('names', bool(events('-e', 'linux_kernel_function', 'names.log')), True)
    longest = run = 0
    for e in events('-e', 'linux_sys_read', '-e', 'linux_sys_openat', 'names.log'):
        if e.get('thread') == 'kernel-rings':
            run = run + 1 if e['event'] == 'linux_sys_read' else 0
            longest = max(longest, run)
    between('reads of one file', longest, 0, 400)


def test_user():
    """An ordinary user has samples of the program itself, and is told the rest; or is told why there is nothing."""
    if os.geteuid() != 0:
        return
    os.chmod('.', 0o755)
    os.makedirs('user', exist_ok=True)
    os.chown('user', NOBODY, NOBODY)
    Path('user/target').write_bytes(TARGET.read_bytes())
    os.chmod('user/target', 0o755)

    done = subprocess.run([POSIXTRACE, 'record', '--sample', '999', '-o', 'user.log', '--', './target', 'quarter'],
                          cwd='user', preexec_fn=become_nobody, capture_output=True, text=True, check=False)
    paranoid = int(Path('/proc/sys/kernel/perf_event_paranoid').read_text())
    if paranoid > 2:
        equal('nothing', (done.returncode, 'perf_event_paranoid' in done.stderr), (0, True))
        return
    equal('status', done.returncode, 0)
    equal('one message', done.stderr.count('--sample: only samples in the program'), int(paranoid == 2))
    between('samples', functions(profile('user/user.log'))['one_quarter']['total'], 50, 2000)


def test_wrong():
    fastest = int(Path('/proc/sys/kernel/perf_event_max_sample_rate').read_text())
    for arguments, words in ((('--sample', '0'), '--sample'),
                             (('--sample', str(fastest + 1)), f'is {fastest}'),
                             (('--sample', str(fastest + 1), '--kernel', 'faults'), f"is {fastest}\nTry 'posixtrace"),
                             (('--sample', '999', '-o', '-'), 'cannot be combined'),
                             (('--off-cpu', '--loop'), 'cannot be combined'),
                             (('--stack-depth', '3'), 'needs --sample'), (('--sample-dwarf',), '--sample'),
                             (('--sample', '999', '--stack-depth', '9999'), '640')):
        messages = record(*arguments, '--', 'true', status=None)
        equal(f'{arguments}: {messages}', words in messages, True)
    record('--kernel', 'faults', '-o', 'none.log', '--', 'true')
    for command in (('stat', '--profile'), ('stat', '--profile', '--off-cpu')):
        _, messages = scene.run(POSIXTRACE, *command, 'none.log', status=1)
        equal('nothing', b'record with' in messages, True)
    for more in '--memory', '--calls', '--io', '--sched':
        _, messages = scene.run(POSIXTRACE, 'stat', '--profile', more, 'none.log', status=2)
        equal('one at a time', b'one at a time' in messages, True)
    for command in (('stat', '--off-cpu'), ('convert', '--to', 'csv', '--off-cpu')):
        scene.run(POSIXTRACE, *command, 'none.log', status=2)


def missing():
    if os.geteuid() != 0:
        return 'not root'
    messages = record('--sample', '999', '-o', 'trial.log', '--', 'true', status=None)
    return messages if 'no samples' in messages or 'no events of' in messages else ''


LACK = missing()
if LACK:
    print(f'skipped: samples are not to be had: {LACK}')
    sys.exit(77)
Suite(globals()).main()
