#!/usr/bin/env python3
#
# doctor.py - posixtrace doctor: a machine where tracing works, and what it says where something is made wrong
#
#     doctor.py POSIXTRACE TRACER OFFERS OFFERS_SANITIZER
#
# SPDX-License-Identifier: MIT

import json
import os
import resource
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from random import Random

import scene
from scene import Tracer, Tool, expect

scene.private()
TRACER, OFFERS, OFFERS_SANITIZER = sys.argv[2:]
run = Tool(sys.argv[1], 'doctor')
GRADES = ('ok', 'warning', 'problem')


def lines(*arguments, status=0, **more):
    done = run('--json', *arguments, **more)
    expect(done.returncode == status and not done.stderr, f'{done}')
    found = [json.loads(line) for line in done.stdout.splitlines()]
    expect(all(f['grade'] in GRADES for f in found), f'{found}')
    expect((status == 1) == any(f['grade'] == 'problem' for f in found), f'exit status {status}: {found}')
    return found


def has(found, grade, about, words):
    for f in found:
        if f['grade'] == grade and f['about'] == about and words in f['text']:
            return expect(grade == 'ok' or f['remedy'], f'nothing to be done: {f}')
    return expect(False, f'no {grade} about {about} with "{words}": {json.dumps(found, indent=1)}')


def place():
    return next(Path('/dev/shm').glob('posixtrace-*'))


def healthy():
    found = lines()
    has(found, 'ok', '/dev/shm', 'tmpfs')
    has(found, 'ok', 'directory', 'can be created')
    has(found, 'ok', 'trial', 'this process traced itself: 5000 events')
    has(found, 'ok', 'trial', 'a child process was traced by its process id: 1000 events')
    has(found, 'ok', 'trial', 'a log of 1000 events')
    has(found, 'ok', 'leftovers', 'none')
    has(found, 'ok', 'streams', 'of at most 1024')
    done = run()
    expect(done.returncode == 0 and 'no problems' in done.stdout.splitlines()[-1], f'{done}')
    expect('\33[' not in done.stdout and '\33[' in run('--color=always').stdout, 'colours')


def directory_wrong():
    place().chmod(0o755)
    found = lines(status=1)
    has(found, 'problem', 'directory', 'other users can use')
    has(found, 'problem', 'trial', 'cannot be created: Permission denied')
    path = place()
    path.chmod(0o700)
    for file in path.iterdir():
        file.unlink()
    path.rmdir()
    path.write_text('not a directory')
    has(lines(status=1), 'problem', 'directory', 'is not a directory')
    path.unlink()
    if os.geteuid() == 0:
        path.mkdir(0o700)
        os.chown(path, 65534, 65534)
        found = lines()
        has(found, 'warning', 'directory', 'gives it another name')
        has(found, 'ok', 'trial', 'this process traced itself: 5000 events')
        next(Path('/dev/shm').glob('foreign-*')).rmdir()


def memory_full():
    if 'SCENE_PRIVATE' not in os.environ:
        print('memory_full: skipped, /dev/shm is that of all')
        return
    with open('/dev/shm/full', 'wb') as full:
        space = os.statvfs('/dev/shm')
        full.write(bytes(space.f_bavail * space.f_bsize - 50000))
    found = lines(status=1)
    has(found, 'problem', 'space', 'are free in /dev/shm')
    has(found, 'problem', 'trial', 'Cannot allocate memory')
    os.unlink('/dev/shm/full')


def limits():
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))
    has(lines(status=1, preexec_fn=limit), 'problem', 'limits', 'files may have at most 0.1 MiB')


def leftovers(directory):
    log = directory / 'left.log'
    tracer = Tracer(TRACER, '-l', log)
    tracer.kill()
    has(lines(), 'warning', 'leftovers', '1 stream of programs that were killed')
    # The trials create streams, and so finish what can be finished.
    has(lines(), 'ok', 'leftovers', 'none')
    tracer = Tracer(TRACER, '-l', log)
    tracer.kill()
    log.unlink()
    for _ in range(2):
        has(lines(), 'warning', 'leftovers',
            '1 stream of programs that were killed belongs to logs that no longer exist')
    # A log that cannot be completed, and one that needs another version of the library.
    tracer = Tracer(TRACER, '-l', directory / 'other.log')
    other = next(file for file in place().glob('stream-*') if f'{tracer.pid:x}' in file.name
                 or f'{tracer.pid}' in file.name)
    with open(other, 'r+b') as stream:
        stream.seek(4)
        stream.write(b'\x07\0\0\0')
    tracer.kill()
    sizes = {file: f'{file.stat().st_size / 1048576:.1f} MiB' for file in place().glob('stream-*')}
    one = next(size for file, size in sizes.items() if file != other)
    has(lines(), 'warning', 'leftovers',
        f'1 stream of programs that were killed belongs to logs that no longer exist, {one}; '
        f'1 other of killed programs, {sizes[other]}')
    for file in place().iterdir():
        file.unlink()


def versions():
    tracer = Tracer(TRACER)
    file = next(place().glob('stream-*'))
    with open(file, 'r+b') as stream:
        stream.seek(4)
        stream.write(b'\x07\0\0\0')
    has(lines(), 'warning', 'versions', f'a stream of process {tracer.pid} tracer has layout 7')
    tracer.kill()
    file.unlink()


def a_process():
    tracer = Tracer(TRACER, '-0')
    found = lines('-p', tracer.pid)
    has(found, 'ok', 'process', f'{tracer.pid} tracer')
    has(found, 'ok', 'library', '')
    has(found, 'ok', 'trace points', 'it has reached a trace point')
    has(found, 'ok', 'streams', '0 trace it')
    has(found, 'ok', 'event types', '2 of its own')
    has(found, 'ok', 'trial', 'was created, and removed again')
    tracer.end()
    tracer = Tracer(TRACER)
    has(lines('-p', tracer.pid), 'ok', 'streams', '1 trace it, 1 of them are running')
    tracer.end()


def not_linked():
    with subprocess.Popen(['sleep', '60']) as sleep:
        found = lines('-p', sleep.pid, status=1)
        has(found, 'problem', 'library', 'not linked')
        sleep.kill()


def names_it(directory):
    """What record takes for a program that may load the library, doctor does."""
    program = directory / 'sleep'
    program.write_bytes(Path(shutil.which('sleep')).resolve().read_bytes() + b'libposixtrace.so.1')
    program.chmod(0o755)
    with subprocess.Popen([program, '60']) as sleep:
        has(lines('-p', sleep.pid), 'ok', 'library', 'its executable names it')
        sleep.kill()


def no_process():
    has(lines('-p', 4194303, status=1), 'problem', 'process', 'there is no process with this id')
    with subprocess.Popen(['true']) as zombie:
        os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
        has(lines('-p', zombie.pid, status=1), 'problem', 'process', 'has ended')
    told, end = threading.Event(), threading.Event()
    thread = threading.Thread(target=lambda: (told.set(), end.wait()))
    thread.start()
    told.wait()
    has(lines('-p', thread.native_id, status=1), 'problem', 'process', 'is a thread of another process')
    end.set()
    thread.join()


def other_user():
    """Only root can become another user; in a user namespace there is none."""
    def become():
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    tracer = Tracer(TRACER)
    try:
        found = lines('-p', tracer.pid, status=1, preexec_fn=become)
        has(found, 'problem', 'permission', 'it belongs to user 0, this command to user 65534')
    except (subprocess.SubprocessError, PermissionError):
        print('no other user to be tried')
    tracer.end()


def without_sys():
    """The library looks for the clock source in /sys; without it, the counter is not to blame."""
    if 'SCENE_PRIVATE' not in os.environ or not scene.can_mount():
        return
    done = subprocess.run(['unshare', '--mount', 'sh', '-c', 'mount -t tmpfs test /sys && exec "$@"', 'sh', sys.argv[1],
                           'doctor', '--json'],
                          capture_output=True, text=True, timeout=60)
    clock = next(f for f in map(json.loads, done.stdout.splitlines()) if f['about'] == 'clock')
    expect(clock['grade'] == 'ok' or (clock['remedy'] == 'mount -t sysfs sysfs /sys' and 'not known' in clock['text']),
           f'{clock}')


def programs(directory):
    """What a program offers is found in the file, or in the interpreter of a script; nothing is run."""
    found = lines(OFFERS)
    has(found, 'ok', 'program', 'linked dynamically')
    has(found, 'ok', 'USDT', f'2 probes of shop in {OFFERS}')
    has(found, 'ok', 'USDT', f'1 probe of till in {OFFERS}')
    has(found, 'ok', 'functions', '-finstrument-functions')
    has(found, 'ok', 'trace points', 'none of posixtrace')
    has(lines(TRACER), 'ok', 'trace points', 'it uses posixtrace')
    has(lines(TRACER), 'ok', 'functions', 'not instrumented')
    has(lines(OFFERS_SANITIZER), 'warning', 'C library', 'AddressSanitizer')
    script, inner = directory / 'script', directory / 'inner'
    inner.write_text(f'#! {OFFERS} argument\n')
    script.write_text(f'#!{inner}\n')
    script.chmod(0o755)
    inner.chmod(0o755)
    found = lines(script)
    has(found, 'ok', 'program', f'{OFFERS} (runs the script)')
    has(found, 'ok', 'USDT', '2 probes of shop')
    own = directory / 'own'
    own.write_bytes(Path(OFFERS).read_bytes())
    own.chmod(0o4755)
    if os.geteuid() == 0 and run('--json', own, preexec_fn=lambda: os.setuid(65534)).returncode == 0:
        has(lines(own, preexec_fn=lambda: os.setuid(65534)), 'warning', 'preloading', 'set-user-ID')
    has(lines('no such program', status=1), 'problem', 'program', 'No such file')
    text = directory / 'text'
    text.write_text('no program')
    found = lines(text, status=1)
    has(found, 'problem', 'program', 'Permission denied')
    expect('chmod +x' in found[0]['remedy'], found)
    has(lines(directory, status=1), 'problem', 'program', 'Is a directory')
    text.chmod(0o755)
    has(lines(text, status=1), 'problem', 'program', 'is no program')
    script.write_text(f'#!{script}\n')
    has(lines(script, status=1), 'problem', 'program', 'is no program')
    expect(run('-p', '1', OFFERS).returncode == 2 and run(OFFERS, 'argument').returncode == 2, 'too many arguments')


def damaged_programs(directory):
    """Numbers in headers that lead anywhere, or a file that ends early, are no reason to crash."""
    good, damaged, random = Path(OFFERS).read_bytes(), directory / 'damaged', Random(1)
    for i in range(300):
        bytes_ = bytearray(good)
        places = [random.randrange(64)] if i % 3 == 0 else [random.randrange(len(good)) for _ in range(50)]
        for place in places if i % 3 < 2 else []:
            bytes_[place] = random.choice((0, 1, 0x7f, 0x80, 0xff, random.randrange(256)))
        damaged.write_bytes(bytes_[:random.randrange(len(good))] if i % 3 == 2 else bytes_)
        damaged.chmod(0o755)
        done = run('--json', damaged)
        expect(done.returncode in (0, 1) and not done.stderr, f'{i}: {done}')


def usage():
    expect(run('--help').stdout.startswith('usage: posixtrace doctor'), '--help')
    expect(run('--what').returncode == 2 and run('-p', '0').returncode == 2, 'wrong usage')


with scene.directory() as name:
    healthy()
    directory_wrong()
    memory_full()
    limits()
    leftovers(Path(name))
    versions()
    a_process()
    not_linked()
    names_it(Path(name))
    no_process()
    other_user()
    without_sys()
    programs(Path(name))
    damaged_programs(Path(name))
    usage()
scene.finish()
