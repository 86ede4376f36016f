#!/usr/bin/env python3
#
# outputs.py - what convert, view and record write to, replace and remove, and what they leave alone
#
#     outputs.py POSIXTRACE STEPS
#
# In a directory that everybody can write to (like /tmp), another user may have put links, FIFOs and files where an
# output goes.
# As root the other user is nobody; as an ordinary user only what needs no other user is tried.
#
# SPDX-License-Identifier: MIT

import ctypes
import fcntl
import os
import pwd
import signal
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path

POSIXTRACE, STEPS = (os.path.abspath(argument) for argument in sys.argv[1:3])
ENVIRONMENT = {**os.environ, 'TZ': 'UTC0', 'LC_ALL': 'C.UTF-8'}
NOBODY = pwd.getpwnam('nobody')
ROOT = os.geteuid() == 0


def run(*arguments, status=0):
    done = subprocess.run([POSIXTRACE, *map(str, arguments)], capture_output=True, env=ENVIRONMENT, timeout=60,
                          stdin=subprocess.DEVNULL)
    assert done.returncode == status, f'{arguments}: exit status {done.returncode}: {done.stderr.decode()}'
    return done.stderr.decode()


def record(path, *options, failed=False, count=3):
    return run('record', '-q', *options, '-o', path, '--', STEPS, f'a*{count}', status=125 if failed else 0)


def foreign(path, *, link=None, fifo=False, mode=0o666):
    """Makes a link, a FIFO or a file of another user."""
    if link is not None:
        os.symlink(link, path)
    elif fifo:
        os.mkfifo(path)
    elif not os.path.exists(path):
        Path(path).write_bytes(b'')
    os.chown(path, NOBODY.pw_uid, NOBODY.pw_gid, follow_symlinks=False)
    if link is None:
        os.chmod(path, mode)


def belongs_to_another(message):
    assert 'belongs to another user' in message and '(%d)' % NOBODY.pw_uid in message, message


# -- What convert and view remove -----------------------------------------------------------------


def test_names_beside_the_output():
    """Whatever has the name of the output and a suffix is somebody's, and stays."""
    record('a.log')
    for to, kind in ('ctf', 'directory'), ('ctf', 'file'), ('csv', 'file'), ('csv', 'directory'), ('html', 'file'):
        shutil.rmtree('a.' + to, ignore_errors=True)
        beside = Path('a.%s.unfinished' % to)
        if kind == 'directory':
            beside.mkdir()
            (beside / 'precious').write_text('x')
        else:
            beside.write_text('x')
        run(*(['view'] if to == 'html' else ['convert', '-q', '--to', to]), 'a.log')
        assert (beside / 'precious' if kind == 'directory' else beside).read_text() == 'x'
        shutil.rmtree(beside) if kind == 'directory' else beside.unlink()
        assert os.path.exists('a.' + to)


def test_a_log_beside_the_output():
    record('a.log')
    record('a.csv.unfinished')
    before = Path('a.csv.unfinished').read_bytes()
    run('convert', '-q', '--to', 'csv', 'a.log')
    assert Path('a.csv.unfinished').read_bytes() == before


def test_force_replaces_only_a_trace():
    record('a.log')
    run('convert', '-q', '--to', 'ctf', 'a.log')
    Path('a.ctf/letter').write_text('dear')
    for options in [], ['--force']:
        run('convert', '-q', *options, '--to', 'ctf', 'a.log', status=1)
        assert Path('a.ctf/letter').read_text() == 'dear' and Path('a.ctf/metadata').exists()
    Path('a.ctf/letter').unlink()
    Path('a.ctf/folder').mkdir()
    Path('a.ctf/folder/letter').write_text('dear')
    run('convert', '-q', '--force', '--to', 'ctf', 'a.log', status=1)
    assert Path('a.ctf/folder/letter').read_text() == 'dear'
    shutil.rmtree('a.ctf/folder')
    # A link is no file of a trace, and its target is never gone into.
    Path('elsewhere').mkdir()
    shutil.copy('a.ctf/metadata', 'elsewhere')
    os.symlink('../elsewhere', 'a.ctf/1-a.log')
    run('convert', '-q', '--force', '--to', 'ctf', 'a.log', status=1)
    os.unlink('a.ctf/1-a.log')
    run('convert', '-q', '--force', '--to', 'ctf', 'a.log')
    # Several logs are several directories.
    run('convert', '-q', '--force', '--to', 'ctf', '-o', 'a.ctf', 'a.log', 'a.log')
    assert sorted(os.listdir('a.ctf')) == ['1-a.log', '2-a.log']
    run('convert', '-q', '--force', '--to', 'ctf', '-o', 'a.ctf', 'a.log')
    assert sorted(os.listdir('a.ctf')) == ['events', 'metadata']
    assert sorted(os.listdir()) == ['a.ctf', 'a.log', 'elsewhere']


def test_own_links_are_followed():
    record('a.log')
    os.mkdir('data')
    os.symlink('data', 'folder')
    os.symlink('data/real.csv', 'link.csv')
    os.symlink('data/real.log', 'link.log')
    run('convert', '-q', '-o', 'link.csv', 'a.log')
    run('convert', '-q', '-o', 'folder/other.csv', 'a.log')
    record('link.log')
    assert os.path.islink('link.csv') and sorted(os.listdir('data')) == ['other.csv', 'real.csv', 'real.log']
    for path in '/dev/null', '/dev/stdout', '/proc/self/fd/1':
        run('convert', '-q', '--to', 'csv', '-o', path, 'a.log')
        record(path)
    os.symlink('loop', 'loop')
    assert 'symbolic links' in run('convert', '--to', 'csv', '-o', 'loop', 'a.log', status=1)


# -- What others have put there -------------------------------------------------------------------


def shared():
    os.mkdir('shared')
    os.chmod('shared', 0o1777)


def test_links_of_others():
    """For a log, a table, a page, a directory; to a file, to nothing, to a directory on the way."""
    shared()
    os.mkdir('mine')
    record('mine/a.log')
    record('mine/victim.log')
    before = Path('mine/victim.log').read_bytes()
    for target in 'victim.log', 'nothing':
        for suffix in '.log', '.csv', '.html', '.ctf':
            path = 'shared/%s%s' % (target, suffix)
            foreign(path, link='../mine/' + target)
            if suffix == '.log':
                message = record(path, failed=True)
            elif suffix == '.html':
                message = run('view', '-f', '-o', path, 'mine/a.log', status=1)
            else:
                message = run('convert', '-f', '-o', path, 'mine/a.log', status=1)
            belongs_to_another(message)
            os.unlink(path)
    foreign('shared/way', link='../mine')
    belongs_to_another(record('shared/way/new.log', failed=True))
    belongs_to_another(run('convert', '--to', 'csv', '-o', 'shared/way/new.csv', 'mine/a.log', status=1))
    assert sorted(os.listdir('mine')) == ['a.log', 'victim.log'] and Path('mine/victim.log').read_bytes() == before


def test_files_of_others():
    shared()
    record('a.log')
    foreign('shared/open.log')
    belongs_to_another(record('shared/open.log', failed=True))
    foreign('shared/fifo', fifo=True)
    belongs_to_another(record('shared/fifo', failed=True))
    belongs_to_another(run('convert', '--to', 'csv', '-o', 'shared/fifo', 'a.log', status=1))
    foreign('shared/x.csv')
    belongs_to_another(run('convert', '-o', 'shared/x.csv', 'a.log', status=1))
    os.mkdir('shared/x.ctf')
    os.chown('shared/x.ctf', NOBODY.pw_uid, NOBODY.pw_gid)
    belongs_to_another(run('convert', '-f', '-o', 'shared/x.ctf', 'a.log', status=1))
    os.link('a.log', 'shared/hard.log')
    assert 'hard link' in record('shared/hard.log', failed=True)
    assert Path('shared/open.log').stat().st_size == 0
    # One's own file is no trouble there.
    record('shared/own.log')
    record('shared/own.log')


def test_rotation_beside_files_of_others():
    """Rotates beside FILE.next, FILE.unfinished and FILE.N of another user."""
    shared()
    os.mkdir('mine')
    record('mine/victim.log', count=50)
    before = Path('mine/victim.log').read_bytes()
    foreign('shared/r.next', link='../mine/victim.log')
    # The message names the obstacle, and nothing is written through it.
    assert 'r.next' in record('shared/r', '--rotate', '8K', failed=True)
    os.unlink('shared/r.next')
    foreign('shared/r.unfinished', link='../mine/nothing')
    foreign('shared/r.1', link='../mine/victim.log')
    foreign('shared/r.1073741823')
    # It rotates while the program waits.
    message = run('record', '--rotate', '8K', '--keep', '2', '-o', 'shared/r', '--', STEPS, 'a*20000', 'wait:300', 'b')
    assert 'tried again' not in message and 'r and those with numbers: 20001 events' in message, message
    assert sorted(os.listdir('mine')) == ['victim.log'] and Path('mine/victim.log').read_bytes() == before
    assert os.path.islink('shared/r.1') and os.path.islink('shared/r.unfinished')
    # On a busy machine there may be one part more.
    names = set(os.listdir('shared')) - {'r.3'}
    assert names == {'r', 'r.1', 'r.1073741823', 'r.2', 'r.unfinished'}, os.listdir('shared')


def test_directories_swapped():
    """Somebody exchanges a directory for a link while an output is removed: nothing behind the link goes."""
    shared()
    os.mkdir('mine')
    for n in range(300):
        Path('mine/%d' % n).write_text('x')
    record('a.log')
    os.mkdir('shared/x.csv.unfinished')
    os.mkdir('shared/x.csv.unfinished/sub')
    for path in 'shared/x.csv.unfinished', 'shared/x.csv.unfinished/sub':
        os.chown(path, NOBODY.pw_uid, NOBODY.pw_gid)
    done = threading.Event()

    def swap():
        while not done.is_set():
            os.rename('shared/x.csv.unfinished/sub', 'shared/x.csv.unfinished/old')
            os.symlink('../../mine', 'shared/x.csv.unfinished/sub')
            time.sleep(0.0005)
            os.unlink('shared/x.csv.unfinished/sub')
            os.rename('shared/x.csv.unfinished/old', 'shared/x.csv.unfinished/sub')

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        for _ in range(20):
            run('convert', '-q', '-o', 'shared/x.csv', 'a.log')
    finally:
        done.set()
        thread.join()
    assert len(os.listdir('mine')) == 300


class Exchange:
    """While it lasts, two names are exchanged all the time, by a process of its own."""

    def __init__(self, one, other):
        self.names = one.encode(), other.encode()

    def __enter__(self):
        rename = ctypes.CDLL(None).renameat2
        self.process = os.fork()
        while self.process == 0:
            if rename(-100, self.names[0], -100, self.names[1], 2) != 0 or os.getppid() == 1:
                os._exit(1)

    def __exit__(self, *_):
        os.kill(self.process, signal.SIGKILL)
        assert os.waitpid(self.process, 0)[1] == signal.SIGKILL


def test_fifos_swapped():
    """Where everybody may rename everything, a FIFO comes between the look at a file and its opening: it is not
    waited for, nor written to."""
    os.mkdir('shared')
    os.chmod('shared', 0o777)
    record('a.log')
    foreign('shared/trap', fifo=True)

    def attempts(count, *arguments):
        for _ in range(count):
            done = subprocess.run([POSIXTRACE, *arguments], capture_output=True, env=ENVIRONMENT, timeout=20,
                                  stdin=subprocess.DEVNULL)
            assert done.returncode in (0, 1, 125), done

    Path('shared/out').write_text('')
    with Exchange('shared/out', 'shared/trap'):
        attempts(10, 'live', '-b', '1', '--interval', '50ms', '-o', 'shared/out', '--', STEPS, 'a')
    for path in 'shared/out', 'shared/trap':
        os.unlink(path)
    foreign('shared/trap', fifo=True)
    os.mkfifo('shared/out')
    trap, own = (os.open(path, os.O_RDWR | os.O_NONBLOCK) for path in ('shared/trap', 'shared/out'))
    with Exchange('shared/out', 'shared/trap'):
        attempts(150, 'convert', '-q', '--to', 'csv', '-o', 'shared/out', 'a.log')
    assert os.read(own, 1)
    try:
        raise AssertionError('another user reads %r' % os.read(trap, 80))
    except BlockingIOError:
        pass
    finally:
        os.close(trap)
        os.close(own)


def test_leases_of_others():
    """The directory belongs to another user, and so may the files. A lease on one of them holds nobody up."""
    shared()
    for path in 'shared', 'shared/x.log':
        foreign(path, mode=0o1777 if path == 'shared' else 0o666)
    ready, told = os.pipe()
    leased = os.open('shared/x.log', os.O_RDWR)
    holder = os.fork()
    if holder == 0:
        signal.signal(signal.SIGIO, signal.SIG_IGN)
        os.setgid(NOBODY.pw_gid)
        os.setuid(NOBODY.pw_uid)
        fcntl.fcntl(leased, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        os.write(told, b'x')
        while True:
            signal.pause()  # until it is killed
    os.close(leased)
    os.close(told)
    try:
        assert os.read(ready, 1)
        begin = time.monotonic()
        assert 'lease' in record('shared/x.log', failed=True)
        assert 'lease' in run('live', '-b', '1', '--interval', '50ms', '-o', 'shared/x.log', '--', STEPS, 'a', status=1)
        assert time.monotonic() - begin < 20
    finally:
        os.kill(holder, signal.SIGKILL)
        os.waitpid(holder, 0)


NEED_ROOT = (test_links_of_others, test_files_of_others, test_rotation_beside_files_of_others, test_directories_swapped,
             test_fifos_swapped,
             test_leases_of_others)


def main():
    failed = 0
    for name, test in [(name, f) for name, f in globals().items() if name.startswith('test_')]:
        if test in NEED_ROOT and not ROOT:
            print('skip', name)
            continue
        with tempfile.TemporaryDirectory() as directory:
            os.chdir(directory)
            try:
                test()
                print('ok  ', name)
            except Exception:
                failed += 1
                print('FAIL', name)
                traceback.print_exc()
            os.chdir('/')
    sys.exit(failed != 0)


main()
