#!/usr/bin/env python3
#
# hostile.py - files, logs and processes that another user has made to do harm
#
#     hostile.py POSIXTRACE STEPS CONFINED
#
# Root works in directories that nobody can write to, reads logs of nobody, and traces processes of nobody.
#
# SPDX-License-Identifier: MIT

import ctypes
import os
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import made_log
import scene
from scene import Suite, equal, expect

POSIXTRACE, STEPS, CONFINED = (os.path.abspath(argument) for argument in sys.argv[1:4])
NOBODY = 65534
RENAME_EXCHANGE = 2
NUMBER_MAX = 2**30 - 1
FRAME, KIND, NUMBER, CRC = 64, 4, 16, 60  # of a frame's header, docs/log-format.md
LARGE = 16 << 20                         # the largest body


def run(*arguments, status=0, timeout=60):
    done = subprocess.run([POSIXTRACE, *map(str, arguments)], capture_output=True, env=scene.ENVIRONMENT,
                          timeout=timeout, stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == status, f'{arguments}: exit status {done.returncode}: {done.stderr.decode()}'
    return done.stderr.decode()


def record(path, *options, events='a*3', status=0):
    return run('record', '-q', *options, '-o', path, '--', STEPS, events, status=status)


def as_nobody():
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


def folder(name, mode=0o1777):
    shutil.rmtree(name, ignore_errors=True)
    os.mkdir(name)
    os.chmod(name, mode)
    os.chdir(name)


def plant(path, link=None):
    """A file of nobody, or a link."""
    if link is None:
        Path(path).touch()
    else:
        os.symlink(link, path)
    os.chown(path, NOBODY, NOBODY, follow_symlinks=False)


class Program:
    """A program of nobody."""

    def __init__(self, *arguments, user=as_nobody):
        self.process = subprocess.Popen(arguments, preexec_fn=user, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.pid = self.process.pid
        self.process.stdout.readline()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


# -- What convert --force removes --------------------------------------------------------------------


def exchange(inode, stop):
    """What nobody does: as soon as the old output has its new name, it is exchanged with a directory of root's."""
    rename = ctypes.CDLL(None).renameat2
    while not stop.is_set():
        for name in os.listdir('.'):
            try:
                if name.startswith('.out.') and os.stat(name).st_ino == inode:
                    rename(-100, name.encode(), -100, b'precious', RENAME_EXCHANGE)
                    return
            except OSError:
                pass


def test_removed_directory_is_exchanged():
    record('in.log')
    folder('nobody', 0o755)
    os.mkdir('precious')
    for n in range(300):
        Path(f'precious/{n}').write_text('x')
    for n in range(2000):
        os.makedirs(f'out/{n}')
        Path(f'out/{n}/metadata').write_text('/* CTF 1.8 */')
    for path in '.', 'out', *(f'out/{n}' for n in range(2000)):
        os.chown(path, NOBODY, NOBODY)
    stop = threading.Event()
    attack = threading.Thread(target=exchange, args=(os.stat('out').st_ino, stop))
    attack.start()
    try:
        run('convert', '-q', '--to', 'ctf', '--force', '-o', 'out', '../in.log')
    finally:
        stop.set()
        attack.join()
    # If the exchange came in time, the old output is left, under another name.
    equal("root's files", sum(name.isdigit() for _, _, files in os.walk('.') for name in files), 300)
    equal('the output', sorted(os.listdir('out')), ['events', 'metadata'])
    os.chdir('..')


def test_trace_of_another_owner_inside():
    """Nobody's directory with a trace of root's in it is no output that --force may remove."""
    record('in.log')
    folder('nobody', 0o755)
    os.mkdir('out')
    run('convert', '-q', '--to', 'ctf', '-o', 'out/1', '../in.log')
    os.chown('out', NOBODY, NOBODY)
    run('convert', '-q', '--to', 'ctf', '--force', '-o', 'out', '../in.log', status=1)
    equal("root's trace", sorted(os.listdir('out/1')), ['events', 'metadata'])
    os.chown('out', 0, 0)
    run('convert', '-q', '--to', 'ctf', '--force', '-o', 'out', '../in.log')
    equal('the output', sorted(os.listdir('.')), ['out'])
    os.chdir('..')


# -- FILE.N ---------------------------------------------------------------------------------------------


def logs(prefix):
    return sorted(name for name in os.listdir('.') if name.startswith(prefix))


def test_planted_numbers():
    """Files of others do not count: no log is removed for them, and no number is skipped but one that is taken."""
    for options, name in ((('--rotate', '1M'), 'r'), (('--loop', '1M'), 'l')):
        folder('shared')
        for _ in range(3):
            record(name, *options, '--keep', '5')
        equal('before', logs(name), [name, f'{name}.1', f'{name}.2'])
        plant(f'{name}.1000000')
        plant(f'{name}.9999', link='nothing')
        plant(f'{name}.{NUMBER_MAX}')
        plant(f'{name}.{NUMBER_MAX + 1}')
        for number in range(3, 40):
            plant(f'{name}.{number}')
        record(name, *options, '--keep', '5')
        expect({f'{name}.1', f'{name}.2', f'{name}.40'} <= set(logs(name)), logs(name))
        record(name, *options, '--keep', '2')
        present = set(logs(name))
        expect({f'{name}.40', f'{name}.41', f'{name}.3', f'{name}.{NUMBER_MAX}'} <= present, present)
        expect(not {f'{name}.1', f'{name}.2', f'{name}.42'} & present, present)
        os.chdir('..')


def test_own_numbers_with_gaps():
    """The largest numbers are kept, however far they are apart. Other files of the user do not count."""
    folder('own', 0o755)
    for _ in range(4):
        record('r', '--rotate', '1M')
    os.rename('r.3', 'r.70')
    os.rename('r.2', 'r.50')
    Path('r.60').write_text('a letter')
    os.mkdir('r.65')
    record('r', '--rotate', '1M', '--keep', '3')
    equal('kept', logs('r'), ['r', 'r.50', 'r.60', 'r.65', 'r.70', 'r.71'])
    os.chdir('..')


def test_largest_number():
    """A number is handed out only if it is found again."""
    folder('own', 0o755)
    for _ in range(2):
        record('r', '--rotate', '1M')
    os.rename('r.1', f'r.{NUMBER_MAX}')
    expect('cannot be kept' in record('r', '--rotate', '1M', status=125), 'no number is left')
    equal('nothing is lost', logs('r'), ['r', f'r.{NUMBER_MAX}'])
    os.chdir('..')


def test_older_planted_during_a_recording():
    folder('shared')
    record('r')
    with subprocess.Popen([POSIXTRACE, 'record', '-o', 'r', '--', STEPS, 'say:there', 'read'], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as recorder:
        recorder.stdout.readline()
        plant('r.older', link='/etc/shadow')
        message = recorder.communicate()[1]
    expect('r is the previous log' in message, message)
    equal('names', logs('r'), ['r', 'r.older'])
    os.chdir('..')


def test_old_replaced_during_a_recording():
    """Where everybody may rename everything, FILE.old is not taken back if it is another user's."""
    folder('shared', 0o777)
    record('r')
    with subprocess.Popen([POSIXTRACE, 'record', '-o', 'r', '--', STEPS, 'say:there', 'read'], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as recorder:
        recorder.stdout.readline()
        os.rename('r.old', 'away')
        plant('r.old', link='/etc/shadow')
        message = recorder.communicate()[1]
    expect('could not get its name back' in message, message)
    expect(not os.path.islink('r') and os.path.islink('r.old'), logs('r'))
    os.chdir('..')


# -- Sparse logs -------------------------------------------------------------------------------------------


def short_log():
    log = made_log.Log()
    log.event(1000, 'one')
    log.segment()
    return log.open()


def crc_of_zeros(size):
    """By doubling: the CRC of zeros is linear in what it begins with."""
    step = [made_log.TABLE[(1 << bit) & 255] ^ (1 << bit) >> 8 for bit in range(32)]

    def apply(matrix, vector):
        result = 0
        for bit in range(32):
            if vector >> bit & 1:
                result ^= matrix[bit]
        return result

    crc = 0xffffffff
    while size:
        if size & 1:
            crc = apply(step, crc)
        step = [apply(step, column) for column in step]
        size >>= 1
    return crc ^ 0xffffffff


def frame_of_zeros(log, kind, number, checksum):
    """The header of a frame with the largest body, all zeros, whose checksums are right."""
    header = bytearray(log[:FRAME])
    struct.pack_into('<H', header, KIND, kind)
    struct.pack_into('<QII', header, NUMBER, number, LARGE, checksum)
    struct.pack_into('<I', header, CRC, made_log.crc32c(header[:CRC]))
    return header


def timed(command, path, most):
    begin = time.monotonic()
    done = subprocess.run([POSIXTRACE, command, path], capture_output=True, timeout=100, check=False)
    expect(done.returncode in (0, 1), f'{command} {path}: {done}')
    expect(time.monotonic() - begin < most, f'{command} {path}: {time.monotonic() - begin:.1f} s')
    return done


def test_islands():
    """Few data, far apart: the holes between them are not read."""
    with open('islands.log', 'wb') as file:
        file.write(short_log())
        for n in range(1, 20001):
            file.seek(n * 100_000_000 // 4096 * 4096)
            file.write(b'\1' * 4096)
    for command in 'check', 'stat':
        timed(command, 'islands.log', 15)
    os.unlink('islands.log')


def test_large_bodies():
    """Bodies that are holes, with right checksums: of each kind, and of one that this version does not know."""
    log = short_log()
    equal('a checksum', crc_of_zeros(1000), made_log.crc32c(bytes(1000)))
    checksum = crc_of_zeros(LARGE)
    for kind in made_log.TYPES, made_log.PROCESS, made_log.SEGMENT, made_log.INDEX, 99:
        with open('large.log', 'wb') as file:
            file.write(log)
            at = len(log)
            for n in range(2000):
                file.seek(at)
                file.write(frame_of_zeros(log, kind, n + 2, checksum))
                at += FRAME + LARGE
            file.truncate(at)
        for command in 'check', 'stat':
            done = timed(command, 'large.log', 15)
            expect(command == 'stat' or done.returncode == 1, f'kind {kind}: {done}')
        os.unlink('large.log')


# -- What is said --------------------------------------------------------------------------------------------


def test_damaged_shared_memory():
    for kind in 'page', 'names':
        with Program(STEPS, '+a', 'say:there', 'read') as victim:
            path = next(Path(f'/dev/shm/posixtrace-{NOBODY}').glob(f'{kind}-{victim.pid}-*'))
            with open(path, 'r+b') as file:
                file.write(bytes(path.stat().st_size))
            message = run('record', '-q', '--duration', '100ms', '-o', 'p.log', '-p', victim.pid, status=1)
            expect('/dev/shm are damaged' in message and 'loop' not in message, message)
    message = run('record', '-q', '--log-policy', 'loop', '--log-size', '1M', '-o', '/dev/null', '--', STEPS, 'a',
                  status=125)
    expect('as --log-policy loop needs' in message, message)


def test_no_inodes_in_shared_memory():
    if not scene.can_mount():
        return
    script = '''mount -t tmpfs -o mode=1777,size=64m,nr_inodes=200 test /dev/shm || exit 77
                i=0
                while true 2>/dev/null >/dev/shm/x$i; do i=$((i + 1)); done
                exec "$@"'''
    command = [POSIXTRACE, 'record', '-q', '-o', 'own.log', '--', STEPS, 'a']
    done = subprocess.run(['unshare', '--mount', 'bash', '-c', script, 'bash', *command], capture_output=True,
                          text=True, timeout=60, check=False)
    if done.returncode != 77:
        expect(done.returncode == 125 and '/dev/shm is full' in done.stderr and 'own.log' not in done.stderr, done)


def test_killed_by_its_filter():
    for reaped in False, True:
        with Program(CONFINED, 'openat') as victim:
            if victim.process.poll() is not None:
                return
            with subprocess.Popen([POSIXTRACE, 'record', '-q', '--despite-seccomp', '--duration', '5s', '-o', 'k.log',
                                   '-p', str(victim.pid)], stderr=subprocess.PIPE, text=True) as recorder:
                if reaped:
                    expect(victim.process.wait(20) == -signal.SIGSYS, victim.process.returncode)
                message = recorder.communicate()[1]
            words = 'may have killed it' if reaped else 'was killed by its seccomp filter (SIGSYS)'
            # Who waits for it may be faster or slower than the recorder.
            expect(words in message or (reaped and '(SIGSYS)' in message), message)
            expect('reached none' not in message, message)


# -- Debug information ------------------------------------------------------------------------------------------


def set_expanded_size(path, size):
    """What a compressed section says of its size. Returns whether there is one."""
    elf = bytearray(Path(path).read_bytes())
    if elf[4] != 2:
        return False  # 32 bits
    table = struct.unpack_from('=Q', elf, 40)[0]
    width, count = struct.unpack_from('=HH', elf, 58)
    some = False
    for n in range(count):
        flags, _, offset = struct.unpack_from('=QQQ', elf, table + n * width + 8)
        if flags & 0x800:  # SHF_COMPRESSED
            struct.pack_into('=Q', elf, offset + 8, size)
            some = True
    Path(path).write_bytes(elf)
    return some


def test_compressed_debug_information():
    if not shutil.which('objcopy'):
        return
    done = subprocess.run(['objcopy', '--compress-debug-sections=zlib', STEPS, 'victim'], capture_output=True,
                          check=False)
    if done.returncode or not set_expanded_size('victim', 1 << 30):
        return
    os.chown('victim', NOBODY, NOBODY)
    os.environ['LD_LIBRARY_PATH'] = f'{Path(POSIXTRACE).parents[1]}/src:' + os.environ.get('LD_LIBRARY_PATH', '')
    subprocess.run([POSIXTRACE, 'record', '-q', '-o', 'v.log', '--', './victim', 'a'], check=True)
    message = run('report', '--symbols', 'v.log')
    expect('compressed sections are too large' in message or 'built without libdw' in message, message)


if os.geteuid() != 0:
    print('only root can be harmed by nobody', file=sys.stderr)
    sys.exit(77)
scene.private()
Suite(globals()).main(prepare=lambda: os.chmod('.', 0o755),
                      needs=('test_damaged_shared_memory', 'test_killed_by_its_filter'),
                      missing='' if scene.can_look() else 'this root may not look at processes of other users')
