#!/usr/bin/env python3
#
# workers.py - root records a daemon whose workers become other users, and may be hostile
#
#     workers.py POSIXTRACE STEPS
#
# Each expectation is an exact number of events. Where a worker must wait until it is recorded, it waits for a line.
#
# SPDX-License-Identifier: MIT

import collections
import json
import os
import re
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import scene
from scene import Tool, expect, finish

POSIXTRACE, STEPS = (os.path.abspath(argument) for argument in sys.argv[1:3])
NOBODY, OTHER, THIRD = 65534, 65533, 65532
LIMIT = 20 * int(os.environ.get('TEST_SLOW', 1))
nobody, other = f'become:{NOBODY}', f'become:{OTHER}'
record, report = (Tool(POSIXTRACE, name) for name in ('record', 'report'))


def reported(log):
    """Returns the events of each process: {pid: {type: count}}."""
    done = report('--json', log)
    expect(done.returncode == 0, done)
    found = collections.defaultdict(collections.Counter)
    before = 0
    for line in done.stdout.splitlines():
        event = json.loads(line)
        if not event['event'].startswith('posix_trace_'):
            found[event['pid']][event['event']] += 1
            expect(event['time'] >= before, f'{log}: not in the order of time: {line}')
            before = event['time']
    return {pid: dict(events) for pid, events in found.items()}


def in_order(log):
    return sorted((sorted(events.items()) for events in reported(log).values()))


def check(directory, options, steps, wanted, told=''):
    log = f'{directory}/a.log'
    for path in Path(directory).glob('a.log*'):
        path.unlink()
    recorded = record('-o', log, *options, '--', STEPS, *steps)
    expect(recorded.returncode == 0, recorded)
    for text in [told] if isinstance(told, str) else told:
        expect(text in recorded.stderr, f'{steps}: {recorded.stderr}')
    got = in_order(log)
    expect(got == sorted(sorted(events.items()) for events in wanted), f'{options} {steps}: {got}')
    left = [path.name for path in Path(directory).glob('a.log*')]
    expect(left == ['a.log'], left)
    expect(Tool(POSIXTRACE, 'check')(log).returncode == 0, f'{steps}: check')
    return recorded


class Daemon:
    """Root's program that does these steps, recorded; its processes wait for lines."""

    def __init__(self, log, options, *steps, by=()):
        self.process = subprocess.Popen(
            [*by, POSIXTRACE, 'record', '-o', log, *options, '--', STEPS, *steps], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1, env=scene.ENVIRONMENT)

    def line(self):
        return self.process.stdout.readline().strip()

    def go(self):
        self.process.stdin.write('\n')

    def hear(self, text):
        """Waits until the recorder says this."""
        said = ' '
        while said and text not in said:
            said = self.process.stderr.readline()
        expect(said, f'the recorder has ended without: {text}')

    def end(self):
        """Returns what the recorder has said, but for what was heard."""
        return self.process.communicate(timeout=LIMIT)[1]


def entries(pid, user):
    """Returns the streams in the page that a process has in its user's directory: their creators and numbers."""
    listed = Tool(POSIXTRACE, 'list')('--json', '-p', str(pid))
    found = json.loads(listed.stdout) if listed.stdout.strip() else []
    return [stream for process in found for stream in process['streams'] if 'running' in stream['status']]


def wait_for(condition, text):
    end = time.monotonic() + LIMIT
    while not condition():
        if not expect(time.monotonic() < end, f'not in time: {text}'):
            return False
        time.sleep(0.01)
    return True


def wait_recorded(pid, user=NOBODY):
    return wait_for(lambda: entries(pid, user), f'{pid} is recorded')


def test_known_users(directory):
    """Workers of users who were named are recorded from their first event, however short they live."""
    users = ['--children', '--also-user', 'nobody', '--also-user', str(OTHER)]
    check(directory, users, ['a', f'child:{nobody},a*3,b', f'child:{other},c*2,b', f'child:{nobody},d', 'a'],
          [{'a': 2}, {'a': 3, 'b': 1}, {'c': 2, 'b': 1}, {'d': 1}],
          ['5 of the events are of 2 processes of user nobody (65534)',
           f'3 of the events are of 1 process of user {OTHER}\n'])
    # With threads.
    check(directory, users, ['a', f'child:{nobody},threads:3:t*100,a', f'child:{other},threads:2:t*50'],
          [{'a': 1}, {'t': 300, 'a': 1}, {'t': 100}])
    # Forked after the change; before it, by another child.
    check(directory, users, ['a', f'child:{nobody},fork,a*2', f'child:fork,{nobody},a*4', f'child:{nobody},a,fork,b'],
          [{'a': 1}, {'a': 2}, {'a': 4}, {'a': 1}, {'b': 1}])
    # Names that were opened as root, before the change. The process has attached as root, and stays in root's stream.
    check(directory, users, ['+a', '+b', f'child:{nobody},!b*2,!a', f'child:{nobody},c,!a'],
          [{'b': 2, 'a': 1}, {'c': 1, 'a': 1}])
    check(directory, users, ['a', f'child:a,{nobody},b*2'], [{'a': 1}, {'a': 1, 'b': 2}])
    # A program executed after the change; after it was recorded as root, too.
    check(directory, users, ['a', f'child:{nobody},exec:a*3;b'], [{'a': 1}, {'a': 3, 'b': 1}])
    check(directory, users, ['a', f'child:{nobody},a,exec:b*3;a'], [{'a': 1}, {'a': 2, 'b': 3}])
    # The first process itself becomes another user, before its first event or afterwards.
    check(directory, users, [nobody, 'a*3'], [{'a': 3}])
    check(directory, users, [nobody, 'exec:a*3'], [{'a': 3}])
    # The processes in between have ended.
    check(directory, ['--family', *users[1:]], ['daemon', 'a', f'child:{nobody},a*2', f'child:{other},c'],
          [{'a': 1}, {'a': 2}, {'c': 1}])
    check(directory, [*users, '--quiet'], [f'child:{nobody},a'], [{'a': 1}])
    expect(record('-q', '-o', f'{directory}/a.log', *users, '--', STEPS, f'child:{nobody},a').stderr == '', 'quiet')


def test_filters(directory):
    """--where, and one type in both streams: it is one type in the log, with its layout."""
    users, log = ['--children', '--also-user', 'nobody'], f'{directory}/w.log'
    steps = ['=v{n:u32}', 'v*3', f'child:{nobody},=w{{n:u32}},w*5,v*2']
    for where, wanted in (([], {'v': [0, 1, 2, 8, 9], 'w': [3, 4, 5, 6, 7]}),
                          (['--where', 'n >= 2 && n != 5'], {'v': [2, 8, 9], 'w': [3, 4, 6, 7]})):
        recorded = record('-o', log, *users, *where, '--', STEPS, *steps)
        expect(recorded.returncode == 0, recorded)
        if where:
            expect('w.log: 3 events did not match --where' in recorded.stderr, recorded)
        found = collections.defaultdict(list)
        for line in report('--json', log).stdout.splitlines():
            event = json.loads(line)
            if event['event'] in ('v', 'w'):
                found[event['event']].append(event['fields']['n'])
        expect(found == wanted, f'{where}: {found}')
    # A filter by type applies as soon as the recorder has seen the types.
    record('-o', log, *users, '-e', 'b*', '--', STEPS, '+a', f'child:{nobody},+b,a*3,b*2')
    expect(sum(events.get('b', 0) for events in reported(log).values()) == 2, reported(log))


def test_found(directory, by=()):
    """
    Workers of users who were not named are recorded from when they are found; later ones from their first event.
    by: a command that starts the recorder.
    """
    log = f'{directory}/f.log'
    daemon = Daemon(log, ['--children'], 'a', f'child:{nobody},+b,pid,read,b*4,threads:2:t*10,fork,c*2',
                    f'child:{nobody},a*7', f'child:{nobody},fork,d*5', by=by)
    worker = daemon.line()
    wait_recorded(worker)
    # Only the recorder has the path in its memory.
    logs = [stream['log']['path'] for stream in entries(worker, NOBODY)]
    expect(logs and all(path and path.startswith(f'{log}.uid{NOBODY}.') for path in logs), f'logs: {logs}')
    daemon.go()
    said = daemon.end()
    got = in_order(log)
    wanted = [{'a': 1}, {'b': 4, 't': 20}, {'c': 2}, {'a': 7}, {'d': 5}]
    expect(got == sorted(sorted(events.items()) for events in wanted), f'{by}: {got}')
    expect('38 of the events are of 4 processes of user nobody (65534)' in said, said)


def test_program_has_ended(directory):
    """
    The program of a daemon in the background has ended when a worker is found. Workers that its process forks later are
    recorded from their first event, and those whose parents have ended, too, each by itself.
    """
    log = f'{directory}/g.log'
    daemon = Daemon(log, ['--family'], 'pid', 'daemon', 'a', 'read', f'child:{nobody},pid,read,b*3,fork,c*2',
                    f'child:{nobody},d*4', f'child:{other},pid,read,e*2')
    program = daemon.line()
    wait_for(lambda: not Path(f'/proc/{program}').exists(), f'{program} has ended')
    daemon.go()
    for user in (NOBODY, OTHER):
        wait_recorded(daemon.line(), user)
        daemon.go()
    said = daemon.end()
    expect(in_order(log) == [[('a', 1)], [('b', 3)], [('c', 2)], [('d', 4)], [('e', 2)]], f'{in_order(log)} {said}')
    expect('cannot be recorded' not in said and '9 of the events are of 3 processes of user nobody' in said, said)
    # Root's process has ended, too, and init is the worker's parent.
    daemon = Daemon(log, ['--family'], 'pid', 'daemon', 'daemon', nobody, 'pid', 'read', 'b*3', 'fork', 'c*2')
    program = daemon.line()
    worker = daemon.line()
    wait_for(lambda: not Path(f'/proc/{program}').exists(), f'{program} has ended')
    wait_recorded(worker)
    daemon.go()
    said = daemon.end()
    expect(in_order(log) == [[('b', 3)], [('c', 2)]], f'{in_order(log)} {said}')


def test_found_before_first_event(directory):
    log = f'{directory}/f.log'
    daemon = Daemon(log, ['--children'], 'a', f'child:{nobody},pid,read,b*4',
                    f'child:{other},pid,read,exec:pid;read;c*2')
    for user in (NOBODY, OTHER):
        wait_recorded(daemon.line(), user)
        daemon.go()
    wait_recorded(daemon.line(), OTHER)
    daemon.go()
    said = daemon.end()
    got = in_order(log)
    expect(got == [[('a', 1)], [('b', 4)], [('c', 2)]], f'{got} {said}')


def test_executed_after_attaching(directory):
    """A process that was in root's stream executes a program as another user: the program is not in that stream."""
    log = f'{directory}/f.log'
    daemon = Daemon(log, ['--children'], f'child:a,{nobody},a,exec:+b;pid;read;b*3')
    worker = daemon.line()
    wait_for(lambda: sum(stream['creator']['pid'] == daemon.process.pid for stream in entries(worker, NOBODY)),
             'recorded after exec')
    daemon.go()
    said = daemon.end()
    expect(in_order(log) == [[('a', 2), ('b', 3)]], f'{in_order(log)} {said}')


def test_attached(directory):
    """By its number, with -p."""
    log = f'{directory}/p.log'
    steps = ['a', 'pid', 'read', 'a', f'child:{nobody},b*3', 'say:end', 'read', 'a']
    with subprocess.Popen([STEPS, *steps], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          bufsize=1) as process:
        pid = process.stdout.readline().strip()
        with subprocess.Popen([POSIXTRACE, 'record', '-o', log, '--children', '--also-user', 'nobody', '-p', pid],
                              stderr=subprocess.PIPE, text=True) as recorder:
            wait_recorded(pid, 0)
            process.stdin.write('\n')
            process.stdout.readline()
            process.stdin.write('\n')
            said = recorder.communicate(timeout=LIMIT)[1]
    expect(in_order(log) == [[('a', 2)], [('b', 3)]], f'{in_order(log)} {said}')


def test_another_users_program(directory):
    """A process that is another user's from the beginning: its children inherit its stream, and nothing is doubled."""
    log = f'{directory}/p.log'
    steps = ['+a', 'pid', 'read', 'a', 'child:b*3,pid,read,b', 'a']
    with subprocess.Popen(['setpriv', '--reuid', str(NOBODY), '--regid', str(NOBODY), '--clear-groups', STEPS, *steps],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as process:
        pid = process.stdout.readline().strip()
        with subprocess.Popen([POSIXTRACE, 'record', '-o', log, '--children', '--also-user', str(OTHER), '-p', pid],
                              stderr=subprocess.PIPE, text=True) as recorder:
            wait_recorded(pid, 0)
            process.stdin.write('\n')
            process.stdout.readline()
            time.sleep(0.2)
            process.stdin.write('\n')
            said = recorder.communicate(timeout=LIMIT)[1]
    expect(in_order(log) == [[('a', 2)], [('b', 4)]], f'{in_order(log)} {said}')
    expect('--also-user is for a process of root' in said, said)


def test_refused(directory):
    """What is not recorded is told."""
    log = f'{directory}/r.log'
    daemon = Daemon(log, ['--children'], 'a', f'child:borrow:{NOBODY},pid,read,b')
    daemon.line()
    daemon.hear(f' runs as user {NOBODY} but can become another user again')
    daemon.go()
    said = daemon.end()
    expect(in_order(log) == [[('a', 1)]], f'{in_order(log)} {said}')
    fifo = f'{directory}/fifo'
    os.mkfifo(fifo)
    with open(log, 'wb') as file, subprocess.Popen(['cat', fifo], stdout=file) as reader:
        daemon = Daemon(fifo, ['--children'], 'a', f'child:{nobody},b,read')
        daemon.hear('a pipe takes one log only')
        daemon.go()
        daemon.end()
        reader.wait(timeout=LIMIT)
    expect(in_order(log) == [[('a', 1)]], in_order(log))
    for options, told in ((['--also-user', 'nobody'], '--also-user needs --children'),
                          (['--children', '--also-user', 'no such user'], 'there is no such user')):
        refused = record('-o', log, *options, '--', STEPS, 'a')
        expect(refused.returncode != 0 and told in refused.stderr, refused)


def as_user(user, function):
    """Calls the function in a process of the user."""
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
            function()
            os._exit(0)
        except BaseException as error:  # the process must not go on as a test
            print(f'as user {user}: {error!r}', file=sys.stderr)
        os._exit(1)
    return expect(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, 'as another user')


def streams(user):
    return sorted(Path(f'/dev/shm/posixtrace-{user}').glob('stream-*'))


def forge(user, pid, number):
    """Replaces the process that events name in the user's streams."""
    changed = 0
    for path in streams(user):
        data = bytearray(path.read_bytes())
        at = data.find(struct.pack('<HHI', 0, 0x8000, pid))
        while at >= 0:
            struct.pack_into('<I', data, at + 4, number)
            changed += 1
            at = data.find(struct.pack('<HHI', 0, 0x8000, pid), at + 1)
        with open(path, 'r+b') as file:
            file.write(data)
    if not changed:
        raise AssertionError('nothing to forge')


def test_forged(directory):
    """Events that name a process of root, or one that root's stream has, are not shown as that process's."""
    log = f'{directory}/h.log'
    for victim in ('root', 'daemon', 'none'):
        daemon = Daemon(log, ['--children', '--also-user', 'nobody', '--policy', 'until-full'], 'a', 'pid',
                        f'child:{nobody},b*4,pid,read', 'a')
        root, worker = int(daemon.line()), int(daemon.line())
        number = {'root': 1, 'daemon': root, 'none': 4_190_000}[victim]
        as_user(NOBODY, lambda number=number, worker=worker: forge(NOBODY, worker, number))
        daemon.go()
        said = daemon.end()
        got = reported(log)
        expect(got[root] == {'a': 2}, f'{victim}: {got}')
        expect(1 not in got, got)
        if victim != 'none':
            expect(set(got) == {root}, f'{victim}: {got}')
            expect('4 events in the memory of user nobody (65534) were left out' in said, f'{victim}: {said}')


def test_broken(directory):
    """Any bytes in the user's memory, or none: root's events are whole, and the recorder ends."""
    log = f'{directory}/h.log'

    def ruin():
        for path in streams(NOBODY):
            with open(path, 'r+b') as file:
                file.write(os.urandom(path.stat().st_size))

    def empty():
        for path in streams(NOBODY):
            os.truncate(path, 0)

    def remove():
        for path in Path(f'/dev/shm/posixtrace-{NOBODY}').iterdir():
            path.unlink()

    def link():
        remove()
        for name in ('page', 'names', 'stream'):
            for path in Path('/dev/shm/posixtrace-0').glob(f'{name}-*'):
                os.symlink(path, f'/dev/shm/posixtrace-{NOBODY}/{path.name}')

    for harm in (ruin, empty, remove, link):
        daemon = Daemon(log, ['--children', '--also-user', 'nobody'], 'a*5', f'child:{nobody},b*4,pid,read,b',
                        f'child:{nobody},c', 'a*5')
        daemon.line()
        as_user(NOBODY, harm)
        daemon.go()
        said = daemon.end()
        got = in_order(log)
        expect([('a', 10)] in got, f'{harm.__name__}: {got} {said}')
        expect(daemon.process.returncode in (0, 123), f'{harm.__name__}: {daemon.process.returncode} {said}')
        if harm is empty:
            expect('have damaged their stream' in said, f'{harm.__name__}: {said}')
        for path in Path(f'/dev/shm/posixtrace-{NOBODY}').glob('*'):
            path.unlink()


def test_planted(directory):
    """A link, a file or a queue in place of the user's directory, made before the recording."""
    log, place, victim = f'{directory}/h.log', Path(f'/dev/shm/posixtrace-{THIRD}'), Path(directory) / 'victim'
    victim.mkdir()

    def plant_link():
        os.symlink(victim, place)

    def plant_file():
        place.write_text('nothing')

    def plant_queue():
        os.mkfifo(place)

    for plant in (plant_link, plant_file, plant_queue):
        as_user(THIRD, plant)
        recorded = record('-o', log, '--children', '--', STEPS, 'a', f'child:become:{THIRD},b,wait:200', 'a')
        expect(recorded.returncode == 0 and in_order(log) == [[('a', 2)]], f'{plant.__name__}: {recorded}')
        expect(not list(victim.iterdir()), f'{plant.__name__}: something in the victim')
        named = record('-o', log, '--children', '--also-user', str(THIRD), '--', STEPS, 'a')
        expect(named.returncode == 125 and f'processes of user {THIRD} cannot be recorded' in named.stderr, named)
        place.unlink()


def test_directory_of_worker(directory):
    """The log is in a directory of the worker's user, who has put links where files of the recorder will be."""
    theirs = Path(directory) / 'theirs'
    theirs.mkdir()
    os.chown(theirs, NOBODY, NOBODY)
    victim = Path(directory) / 'untouched'
    victim.write_text('text')
    log = theirs / 'a.log'

    def plant():
        for name in (f'a.log.uid{NOBODY}.1', 'a.log.unfinished'):
            os.symlink(victim, theirs / name)

    as_user(NOBODY, plant)
    recorded = record('-o', str(log), '--children', '--also-user', 'nobody', '--', STEPS, 'a', f'child:{nobody},b*3')
    expect(recorded.returncode == 0, recorded)
    expect(in_order(str(log)) == [[('a', 1)], [('b', 3)]], f'{in_order(str(log))} {recorded}')
    expect(victim.read_text() == 'text' and log.stat().st_uid == 0, 'untouched')
    expect(sorted(path.name for path in theirs.iterdir()) == ['a.log', f'a.log.uid{NOBODY}.1', 'a.log.unfinished'],
           list(theirs.iterdir()))
    # The user takes the log away: what cannot be put in its place stays beside it.
    log.unlink()
    daemon = Daemon(str(log), ['--children', '--also-user', 'nobody'], 'a', f'child:{nobody},b*3,pid,read')
    daemon.line()
    as_user(NOBODY, log.unlink)
    daemon.go()
    said = daemon.end()
    found = re.search(r'(\S+) has events of user nobody \(65534\), which could not be added', said)
    expect(found, said)
    if found:
        expect(in_order(found[1]) == [[('b', 3)]], in_order(found[1]))


def test_full(directory):
    """A user has filled /dev/shm, so another one gets no stream: that is told, and root's events are whole."""
    log, filled = f'{directory}/h.log', Path('/dev/shm/filled')

    def fill():
        size = os.statvfs('/dev/shm')
        with open(filled, 'wb') as file:
            os.posix_fallocate(file.fileno(), 0, size.f_bavail * size.f_bsize)

    daemon = Daemon(log, ['--children', '-s', '64K'], 'pid', 'read', 'a*3', f'child:{other},pid,read,b', 'a')
    daemon.line()
    as_user(NOBODY, fill)
    daemon.go()
    daemon.line()
    daemon.hear(f'processes of user {OTHER} cannot be recorded: ')
    daemon.go()
    said = daemon.end()
    filled.unlink()
    expect(in_order(log) == [[('a', 4)]], f'{in_order(log)} {said}')


def test_killed(directory):
    """What was written of workers outlives the recorder, in a file of its own."""
    log = f'{directory}/k.log'
    rest = f'{log}.uid{NOBODY}.1'
    daemon = Daemon(log, ['--children', '--also-user', 'nobody'], 'pid', 'a', f'child:{nobody},b*3,pid,read')
    pids = [int(daemon.line()), int(daemon.line())]
    wait_for(lambda: in_order(rest) == [[('b', 3)]], 'written')
    daemon.process.kill()
    daemon.process.wait()
    daemon.process.stdin.close()
    wait_for(lambda: not any(Path(f'/proc/{pid}').exists() for pid in pids), 'the processes have ended')
    expect(in_order(rest) == [[('b', 3)]], in_order(rest))
    expect(in_order(log) == [[('a', 1)]], in_order(log))


def test_loop(directory):
    """A flight recorder: each file has the events of all since the file before."""
    check(directory, ['--children', '--also-user', 'nobody', '--loop=1M'], ['a*2', f'child:{nobody},b*3', 'a'],
          [{'a': 3}, {'b': 3}])
    log = f'{directory}/l.log'
    daemon = Daemon(log, ['--children', '--also-user', 'nobody', '--loop=1M'], 'a*2',
                    f'child:{nobody},b*3,say:one,read,c*2,say:two,read,d', 'a')
    for number in (1, 2):
        daemon.line()
        daemon.process.send_signal(signal.SIGUSR1)
        file = f'{log}.{number}'
        wait_for(lambda file=file, number=number: Path(file).exists() and len(in_order(file)) == 3 - number, file)
        daemon.go()
    said = daemon.end()
    got = [in_order(path) for path in (f'{log}.1', f'{log}.2', log)]
    expect(got == [[[('a', 2)], [('b', 3)]], [[('c', 2)]], [[('a', 1)], [('d', 1)]]], f'{got} {said}')
    expect('9 events' in said and '6 of the events are of 1 process of user nobody' in said, said)


def test_rotated(directory):
    """The events of a worker come into the part that is written next; no part has one twice."""
    log = f'{directory}/o.log'
    recorded = record('-o', log, '--rotate', '4K', '--children', '--also-user', 'nobody', '--', STEPS, 'a*20000',
                      'wait:150', f'child:{nobody},b*3000', 'a*20000', 'wait:150', f'child:{nobody},c*2000', 'a')
    expect(recorded.returncode == 0, recorded)
    total = collections.Counter()
    for path in Path(directory).glob('o.log*'):
        for events in reported(str(path)).values():
            total.update(events)
    expect(total == {'a': 40001, 'b': 3000, 'c': 2000}, total)
    expect('5000 of the events are of 2 processes of user nobody' in recorded.stderr, recorded.stderr)


def test_many_users(directory):
    """At most 64 users; that there are more is told."""
    log, first = f'{directory}/m.log', 20000
    daemon = Daemon(log, ['-s', '64K', '--children', *[f'--also-user={first + i}' for i in range(64)]],
                    *[f'child:become:{first + i},a' for i in range(64)], f'child:become:{first + 64},a,read')
    daemon.hear(f'user {first + 64} and further users are not recorded: at most 64 users')
    daemon.go()
    said = daemon.end()
    expect(in_order(log) == [[('a', 1)]] * 64, f'{len(in_order(log))} {said}')


if os.geteuid() != 0:
    print('only root can become other users', file=sys.stderr)
    sys.exit(77)
scene.private()
if not scene.can_look():
    print('this root may not look at processes of other users', file=sys.stderr)
    sys.exit(77)
with scene.directory() as scratch:
    os.chmod(scratch, 0o755)
    for test in (test_known_users, test_filters, test_found, test_program_has_ended, test_found_before_first_event,
                 test_executed_after_attaching, test_attached, test_another_users_program, test_refused, test_forged,
                 test_broken, test_planted, test_directory_of_worker, test_full, test_killed, test_loop,
                 test_rotated, test_many_users):
        began = time.monotonic()
        test(scratch)
        if os.environ.get('TEST_TIMES'):
            print(f'{test.__name__}: {time.monotonic() - began:.2f} s', file=sys.stderr)
    # Where the kernel does not tell of changes, as in most containers.
    test_found(scratch, ('setpriv', '--bounding-set', '-net_admin'))
left = [str(path) for user in (NOBODY, OTHER) for path in Path(f'/dev/shm/posixtrace-{user}').glob('[np]*-*')]
expect(not left, left)
finish()
