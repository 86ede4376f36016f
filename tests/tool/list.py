#!/usr/bin/env python3
#
# list.py - posixtrace list: processes, streams and event types as they are
#
#     list.py POSIXTRACE TRACER
#
# SPDX-License-Identifier: MIT

import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import scene
from scene import Tracer, Tool, expect

scene.private()
TRACER = sys.argv[2]
run = Tool(sys.argv[1], 'list')


def processes(*arguments):
    done = run('--json', *arguments)
    expect(done.returncode == 0 and not done.stderr, f'{done}')
    return json.loads(done.stdout)


def stream_of(pid):
    """The streams of a process."""
    return [s for p in processes() if p['process'] and p['process']['pid'] == pid for s in p['streams']]


def nothing():
    done = run()
    expect(done.returncode == 0 and not done.stdout and 'no process' in done.stderr, f'{done}')
    expect(processes() == [], 'an empty list')
    done = run('-p', os.getpid())
    expect(done.returncode == 0 and f'doctor -p {os.getpid()}' in done.stderr, f'{done}')
    done = run('-p', 4194303)
    expect(done.returncode == 1 and 'there is no process 4194303' in done.stderr, f'{done}')
    done = run('--json', '-p', 4194303)
    expect(done.returncode == 1 and not done.stdout and 'there is no process 4194303' in done.stderr, f'{done}')
    expect(processes('-p', os.getpid()) == [], 'one that has nothing of the library')


def unreadable():
    """A directory that is not as it should be: who is traced is not known."""
    place = Path(f'/dev/shm/posixtrace-{os.geteuid()}')
    before = place.exists()
    place.mkdir(exist_ok=True)
    place.chmod(0o755)
    for arguments, printed in ((), ''), (('--all',), ''), (('--json',), '[]\n'):
        done = run(*arguments)
        expect(done.returncode == 1 and done.stdout == printed and str(place) in done.stderr, f'{done}')
        expect('no process' not in done.stderr and 'chmod 700' in done.stderr, f'{done}')
    place.chmod(0o700)
    if not before:
        place.rmdir()


def of_another_user():
    """A user who looks at processes of root is told what to do."""
    with tempfile.TemporaryDirectory() as name:
        # Where that user can get to it.
        os.chmod(name, 0o755)
        command = shutil.copy(sys.argv[1], name)
        tracer = Tracer(TRACER)
        for arguments, told in (('-p', str(tracer.pid)), 'it belongs to user 0, this command to user 65534'), \
                               (('--all',), 'it belongs to another user'):
            done = subprocess.run([command, 'list', *arguments], user=65534, group=65534, extra_groups=[],
                                  capture_output=True, text=True, check=False)
            expect(done.returncode == 1 and not done.stdout, f'{done}')
            expect(told in done.stderr and 'run as that user, or as root' in done.stderr, f'{done}')
        tracer.end()


def not_traced():
    tracer = Tracer(TRACER, '-0')
    lines = run().stdout.splitlines()
    expect(len(lines) == 2 and lines[0].split()[0] == 'PID', f'{lines}')
    expect(lines[1].split() == [str(tracer.pid), 'tracer', '-', 'not', 'traced'], f'{lines}')
    # Nor is its child, or a process that does not trace at all, which is no error.
    with subprocess.Popen(['sh', '-c', 'sleep 20 & echo $!; wait'], stdout=subprocess.PIPE, text=True) as shell:
        child = int(shell.stdout.readline())
        done = run('-p', child)
        expect(done.returncode == 0 and f'process {child} has not used the library' in done.stderr
               and not done.stdout.strip(), f'{done}')
        os.kill(child, 9)
    tracer.end()
    expect(processes() == [], 'it has ended')


def one_stream():
    tracer = Tracer(TRACER, '-n', 'mine', '-s', 'until-full', '-S', '4096')
    s, = stream_of(tracer.pid)
    expect(s['creator'] == {'pid': tracer.pid, 'command': 'tracer'} and s['target'] == s['creator'], f'{s}')
    expect(s['name'] == 'mine' and s['policy'] == 'UNTIL_FULL' and not s['inheritance'] and s['log'] is None, f'{s}')
    expect(s['status'] == ['running'] and s['lost'] == 0 and s['size'] >= 4096, f'{s}')
    before = s['unread']
    tracer.do('trace 10')
    expect(stream_of(tracer.pid)[0]['unread'] == before + 10, f'10 events more than {before}')
    tracer.do('stop')
    expect(stream_of(tracer.pid)[0]['status'] == ['suspended'], 'stopped')
    tracer.do('start')
    tracer.do('trace 10000')
    s, = stream_of(tracer.pid)
    expect('full' in s['status'] and 'running' not in s['status'] and s['used'] > 4096, f'{s}')
    line = run().stdout.splitlines()[1]
    expect('mine' in line and f'{tracer.pid} tracer' in line and 'UNTIL_FULL' in line and 'suspended, full' in line,
           line)
    tracer.do('shutdown')
    expect(stream_of(tracer.pid) == [], 'shut down')
    tracer.end()


def losing():
    tracer = Tracer(TRACER, '-s', 'loop', '-S', '4096')
    tracer.do('trace 10000')
    s, = stream_of(tracer.pid)
    expect('losing' in s['status'] and s['lost_at_least'], f'{s}')
    tracer.end()


def with_log(directory):
    log = directory / 'a log'
    tracer = Tracer(TRACER, '-l', log, '-L', 'append')
    tracer.do('trace 100')
    tracer.do('flush')
    s, = stream_of(tracer.pid)
    expect(s['policy'] == 'FLUSH' and s['log']['path'] == str(log) and s['log']['there']
           and s['log']['policy'] == 'APPEND', f'{s}')
    expect(s['log']['events'] >= 100 and s['log']['bytes'] == log.stat().st_size, f'{s}')
    expect(str(log) in run().stdout, 'the path is not shown')
    log.rename(directory / 'moved')
    expect(not stream_of(tracer.pid)[0]['log']['there'] and 'moved or removed' in run().stdout, 'moved')
    tracer.kill()
    done = run()
    expect('creator ended' in done.stdout and '1 stream of creators that have ended' in done.stderr, f'{done}')
    for path in Path('/dev/shm').glob('posixtrace-*/stream-*'):
        path.unlink()


def events():
    tracer = Tracer(TRACER, '-0')
    lines = run('-p', tracer.pid).stdout.splitlines()
    expect([line.split() for line in lines[2:]] == [['64', 'plain'], ['65', 'sql.row', '{rows:u32,time:u64/ns}']],
           f'{lines}')
    expect(run('--events').stdout.splitlines() == lines, 'all processes')
    p, = processes('-p', tracer.pid)
    expect([(e['id'], e['name'], e['layout']) for e in p['events']] ==
           [(64, 'plain', None), (65, 'sql.row', '{rows:u32,time:u64/ns}')], f'{p}')
    tracer.end()


def inherited():
    tracer = Tracer(TRACER, '-i', '-n', 'family')
    child = tracer.child()
    s, = stream_of(child)
    expect(s['name'] == 'family' and s['inheritance'] and 'inherited' in s['status']
           and s['target']['pid'] == tracer.pid, f'{s}')
    expect('inherited' not in stream_of(tracer.pid)[0]['status'], 'its own')
    os.kill(child, signal.SIGKILL)
    tracer.end()


def hostile(directory):
    """Lists foreign files in the directory without harm."""
    tracer = Tracer(TRACER)
    place = next(Path('/dev/shm').glob('posixtrace-*'))
    stream = next(place.glob('stream-*'))
    header = stream.read_bytes()[:4096]
    (place / 'stream-1-2-3').write_bytes(b'')
    (place / 'stream-1-2-4').write_bytes(header)
    (place / 'stream-1-2-5').write_bytes(header[:4] + struct.pack('<I', 7) + header[8:])
    (place / 'stream-1-2-6').symlink_to('/etc/passwd')
    os.mkfifo(place / 'stream-1-2-7')
    (place / 'page-1-2-3').write_bytes(os.urandom(8192))
    (place / 'names-1-2-3').write_bytes(b'x')
    done = run()
    expect(done.returncode == 0 and 'another version' in done.stdout and done.stdout.count('damaged') == 2, f'{done}')
    expect(str(tracer.pid) in done.stdout, 'the one that is right')
    troubles = sorted(str(s['trouble']) for p in processes() for s in p['streams'])
    expect(troubles == ['None', 'damaged', 'damaged', 'other version', 'unreadable', 'unreadable'], f'{troubles}')
    tracer.end()
    for path in place.iterdir():
        path.unlink()


def usage():
    expect(run('--help').stdout.startswith('usage: posixtrace list'), '--help')
    expect(run('what').returncode == 2 and run('-p', 'x').returncode == 2, 'wrong usage')
    tracer = Tracer(TRACER)
    expect('\33[' in run('--color=always').stdout and '\33[' not in run().stdout, 'colours')
    expect(str(tracer.pid) in run('--all').stdout, '--all')
    tracer.end()


with scene.directory() as name:
    nothing()
    unreadable()
    if os.geteuid() == 0 and scene.can_look():
        of_another_user()
    not_traced()
    one_stream()
    losing()
    with_log(Path(name))
    events()
    inherited()
    hostile(Path(name))
    usage()
scene.finish()
