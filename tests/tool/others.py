#!/usr/bin/env python3
#
# others.py - what another user has left in its part of /dev/shm, and root comes across
#
#     others.py POSIXTRACE STEPS
#
# Root lists what all users trace, and records a process of nobody. Nobody may have put anything into its own directory.
#
# SPDX-License-Identifier: MIT

import os
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import scene
from scene import Tool, expect, finish

POSIXTRACE, STEPS = (os.path.abspath(argument) for argument in sys.argv[1:3])
NOBODY = 65534
MINE = Path(f'/dev/shm/posixtrace-{NOBODY}')
# Of the header of a stream, docs/memory-layout.md.
CHUNK_SIZE, CHUNK_COUNT, SEAT_COUNT, FILE_SIZE, PROGRAMS, LOG_STATE = 12, 16, 20, 32, 68, 112
CHUNKS_MAX = 1 << 17

posixtrace_list, record = (Tool(POSIXTRACE, name) for name in ('list', 'record'))


def as_nobody():
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


def leave_stream(directory):
    """A stream with a log, whose recorder and program were killed."""
    with subprocess.Popen([POSIXTRACE, 'record', '-q', '-o', f'{directory}/left.log', '--', STEPS, 'a*100', 'say:there',
                           'read'],
                          preexec_fn=as_nobody, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as recorder:
        recorder.stdout.readline()
        children = Path(f'/proc/{recorder.pid}/task/{recorder.pid}/children').read_text().split()
        recorder.kill()
        for child in children:
            os.kill(int(child), 9)
    return max(MINE.glob('stream-*'))


def make_huge(path, chunks):
    """So many chunks, which take no space: they are a hole in the file. All else in the header is consistent."""
    with open(path, 'r+b') as file:
        header = bytearray(file.read(4096))
        size = os.fstat(file.fileno()).st_size

        def get(offset, kind):
            return struct.unpack_from('=' + kind, header, offset)[0]

        file.seek(size - get(LOG_STATE, 'Q'))
        state = file.read()
        size = 4096 + 64 * get(SEAT_COUNT, 'I') + chunks * (128 + get(CHUNK_SIZE, 'I')) + 2048 * get(PROGRAMS,
            'I') + len(state)
        struct.pack_into('=I', header, CHUNK_COUNT, chunks)
        struct.pack_into('=Q', header, FILE_SIZE, size)
        file.seek(0)
        file.write(header)
        file.truncate(size)
        file.seek(size - len(state))
        file.write(state)


def test_huge_streams():
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o777)
        stream = leave_stream(directory)
        expect(stream.stat().st_size > 4096, 'there is a stream')
        make_huge(stream, 1 << 27)
        began = time.monotonic()
        listed = posixtrace_list('-a')
        expect(listed.returncode == 0 and 'damaged' in listed.stdout, listed)
        with subprocess.Popen([STEPS, '+a', 'say:there', 'read', 'a*3'], preexec_fn=as_nobody, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE,
                              text=True) as victim:
            victim.stdout.readline()
            recorder = subprocess.Popen([POSIXTRACE, 'record', '-q', '-o', f'{directory}/root.log', '--duration',
                                         '300ms', '-p', str(victim.pid)])
            expect(recorder.wait(timeout=50) == 0, 'recorded')
            victim.stdin.close()
        expect(time.monotonic() - began < 20, f'{time.monotonic() - began} s')
        expect(not stream.exists(), 'what was left is gone')


if os.geteuid() != 0:
    print('only root can become other users', file=sys.stderr)
    sys.exit(77)
if not scene.can_look():
    print('this root may not look at processes of other users', file=sys.stderr)
    sys.exit(77)
scene.private()
test_huge_streams()
finish()
