#!/usr/bin/env python3
#
# run.py - posixtrace run: what it records of programs as they are, what it prints, and that they behave as ever
#
#     run.py POSIXTRACE STEPS OFFERS
#
# SPDX-License-Identifier: MIT

import json
import os
import signal
import struct
import subprocess
import sys
from pathlib import Path

import scene
from scene import Tool, expect, finish

NOBODY = 65534

scene.private()
POSIXTRACE, STEPS, OFFERS = (os.path.abspath(argument) for argument in sys.argv[1:4])
run, report = Tool(POSIXTRACE, 'run'), Tool(POSIXTRACE, 'report')
# Without shared libraries, on 32 bits and with musl nothing is preloaded.
PRELOADS = '--libc' in run('--dry-run', '--', '/bin/sh').stderr


def names(log):
    done = report('--json', log)
    expect(done.returncode == 0, done)
    return [json.loads(line)['event'] for line in done.stdout.splitlines()]


def test_own(directory):
    """Its own trace points are recorded; its output and its exit status are its own."""
    log = f'{directory}/own.log'
    done = run('-o', log, '--no-page', '--', STEPS, 'a', 'b*3')
    expect(done.returncode == 0 and done.stdout == '', done)
    expect('its trace points' in done.stderr, done.stderr)
    recorded = names(log)
    expect((recorded.count('a'), recorded.count('b')) == (1, 3), recorded)
    done = run('-q', '-o', log, '--', '/bin/sh', '-c', 'echo out; echo error >&2; exit 7')
    expect((done.returncode, done.stdout, done.stderr) == (7, 'out\n', 'error\n'), done)
    expect(not Path(f'{directory}/own.html').exists(), 'a page, although it is quiet')


def test_libc(directory):
    """A program without trace points: what it asks of the C library, a summary and a page."""
    log, text = f'{directory}/libc.log', f'{directory}/text'
    done = run('-o', log, '--', '/bin/sh', '-c', f'echo one > {text}; cat {text}')
    expect(done.returncode == 0 and done.stdout == 'one\n', done)
    if not PRELOADS:
        return
    expect('--libc io,locks,threads,process' in done.stderr, done.stderr)
    expect(text in done.stderr, f'no summary by file: {done.stderr}')
    expect('no thread waited for a lock' in done.stderr, done.stderr)
    expect(f'{directory}/libc.html' in done.stderr and Path(f'{directory}/libc.html').exists(), done.stderr)
    recorded = names(log)
    expect(recorded.count('libc.exec') >= 1 and 'libc.read' in recorded, recorded)


def test_functions(directory):
    log = f'{directory}/functions.log'
    done = run('-o', log, '--no-page', '--', OFFERS)
    expect(done.returncode == 0 and done.stdout == 'run\n', done)
    if '--functions' not in done.stderr:
        return
    recorded = names(log)
    expect((recorded.count('function.begin'), recorded.count('function.end')) == (1, 1), recorded)
    expect('function' in done.stderr and 'main' in done.stderr, done.stderr)


def test_nothing(directory):
    """Nothing was recorded, and the log of before is restored: it is not shown as if it were of this run."""
    os.chmod(directory, 0o755)
    place = Path(directory, 'user')
    place.mkdir()
    if os.geteuid() == 0:
        os.chown(place, NOBODY, NOBODY)

    def become():
        # Without the kernel's events, which root has of every program.
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)

    def as_user(*steps):
        return subprocess.run([POSIXTRACE, 'run', '-o', 'it.log', '--', STEPS, *steps], cwd=place,
                              preexec_fn=become, capture_output=True, text=True, check=False)

    done = as_user('a')
    expect(done.returncode == 0 and 'More: posixtrace report it.log' in done.stderr, done)
    before = (place / 'it.html').stat().st_mtime_ns
    done = as_user('+one')
    expect(done.returncode == 0 and 'it.log is the previous log, unchanged' in done.stderr, done)
    expect('More: ' not in done.stderr and 'view' not in done.stderr, done.stderr)
    expect((place / 'it.html').stat().st_mtime_ns == before, 'a page of the previous log')


def test_no_interpreter(directory):
    """A script whose interpreter is missing is there itself: all say which file is not."""
    script, second = (Path(directory, name) for name in ('script', 'second'))
    script.write_text('#!/no/such/shell -e\n')
    second.write_text(f'#!{script}\n')
    for path in script, second:
        path.chmod(0o755)
        for command, status in (('record', 127), ('run', 127), ('doctor', 1)):
            options = [] if command == 'doctor' else ['-o', f'{directory}/script.log', '--']
            done = Tool(POSIXTRACE, command)(*options, str(path))
            expect(done.returncode == status, done)
            expect('/no/such/shell, which has to run it, does not exist' in done.stderr + done.stdout, done)
    expect(not Path(f'{directory}/script.log').exists(), 'a log')


def test_other_kind(directory):
    """Nothing is preloaded into a program of another word size: ld.so would complain in its output."""
    program, wide = Path(directory, 'other'), struct.calcsize('P') == 8
    shell = b'/bin/sh\0'
    ident = b'\x7fELF' + bytes([1 if wide else 2, 1 if sys.byteorder == 'little' else 2, 1]) + bytes(9)
    if wide:
        head = ident + struct.pack('=HHIIIIIHHHHHH', 2, 3, 1, 0, 52, 0, 0, 52, 32, 1, 0, 0, 0)
        part = struct.pack('=IIIIIIII', 3, 84, 0, 0, len(shell), len(shell), 4, 1)
    else:
        head = ident + struct.pack('=HHIQQQIHHHHHH', 2, 62, 1, 0, 64, 0, 0, 64, 56, 1, 0, 0, 0)
        part = struct.pack('=IIQQQQQQ', 3, 4, 120, 0, 0, len(shell), len(shell), 1)
    program.write_bytes(head + part + shell)
    program.chmod(0o755)
    done = run('--dry-run', '--', str(program))
    expect('another word size' in done.stderr and '--libc' not in done.stderr, done)
    done = Tool(POSIXTRACE, 'doctor')(str(program))
    expect('another word size' in done.stdout, done)
    if PRELOADS:
        done = Tool(POSIXTRACE, 'record')('-o', f'{directory}/other.log', '--libc', 'io', '--', str(program))
        expect(done.returncode == 125 and 'another word size' in done.stderr, done)


def test_dry(directory):
    done = run('--dry-run', '-o', f'{directory}/dry.log', '--', OFFERS)
    expect(done.returncode == 0 and done.stdout == '' and OFFERS in done.stderr, done)
    expect("--usdt 'shop:*'" in done.stderr and "--usdt 'till:*'" in done.stderr, done.stderr)
    expect(not Path(f'{directory}/dry.log').exists(), 'a log of nothing')


def test_signal(directory):
    """A signal to run ends the program, whose status it returns."""
    log = f'{directory}/signal.log'
    with subprocess.Popen([POSIXTRACE, 'run', '-q', '-o', log, '--', '/bin/sh', '-c',
                           'trap "exit 5" TERM; echo ready; while :; do sleep 0.05; done'],
                          stdout=subprocess.PIPE, text=True) as process:
        expect(process.stdout.readline() == 'ready\n', 'not started')
        process.send_signal(signal.SIGTERM)
        expect(process.wait(60) == 5, process.returncode)


def test_wrong(directory):
    expect(run('--', f'{directory}/none').returncode == 127, 'a program that is not there')
    Path(f'{directory}/text.txt').write_text('no program')
    expect(run('--', f'{directory}/text.txt').returncode == 126, 'no program')
    done = run('--', directory)
    expect((done.returncode, done.stderr) == (126, f'posixtrace run: {directory}: Is a directory\n'), done)
    os.chmod(f'{directory}/text.txt', 0o755)
    done = run('--dry-run', '--', f'{directory}/text.txt')
    expect('no program of this machine' in done.stderr and 'statically' not in done.stderr, done.stderr)
    for arguments in [], ['-o', '-', '--', 'true'], ['--what']:
        done = run(*arguments)
        expect(done.returncode == 2 and done.stderr, done)


with scene.directory() as name:
    test_own(name)
    test_libc(name)
    test_functions(name)
    test_nothing(name)
    test_no_interpreter(name)
    test_other_kind(name)
    test_dry(name)
    test_signal(name)
    test_wrong(name)
finish()
