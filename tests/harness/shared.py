#
# shared.py - runs a script that traces, beside other tests that share /dev/shm: shared.py SCRIPT [ARGUMENT...]
#
# alone.h tells of the lock that all tests take. A script that needs a /dev/shm of its own, and can have none, calls
# alone(), and runs while no other test does.
#
# SPDX-License-Identifier: MIT

import atexit
import fcntl
import os
import shutil
import sys
from pathlib import Path

SHM = Path('/dev/shm')
ROOM = 256 << 20  # with less space, scripts run one at a time
LIBRARY = ('posixtrace-*', 'foreign-*')  # the files of scripts among those that alone.h moves away


def wait(lock, how):
    """Takes the lock. A waiting script holds a second lock, so that scripts queue up."""
    turn = os.open('/dev', os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(turn, fcntl.LOCK_EX)
    fcntl.flock(lock, how)
    os.close(turn)


def files_in(directory):
    return [path for pattern in LIBRARY for path in directory.glob(pattern)]


def remove_all(directory):
    for path in files_in(directory):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def move_all(source, target):
    for path in files_in(source):
        try:
            path.rename(target / path.name)
        except OSError:
            pass  # somebody else's


def alone():
    """From here on no other test runs, and there is no directory of the library."""
    if os.environ.get('TEST_SHM') == 'alone':
        return
    lock = int(os.environ['TEST_SHM_LOCK']) if 'TEST_SHM_LOCK' in os.environ else os.open(SHM,
        os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(lock, fcntl.LOCK_UN)
    wait(lock, fcntl.LOCK_EX)
    aside = SHM / f'.aside-{os.geteuid()}'
    aside.mkdir(mode=0o700, exist_ok=True)
    move_all(aside, SHM)
    remove_all(aside)
    move_all(SHM, aside)
    os.environ['TEST_SHM'] = 'alone'
    tester = os.getpid()

    def end():
        if os.getpid() == tester:
            remove_all(SHM)
            move_all(aside, SHM)
            aside.rmdir()
            fcntl.flock(lock, fcntl.LOCK_UN)

    atexit.register(end)


def main():
    script = sys.argv[1:]
    if SHM.is_dir() and 'TEST_SHM' not in os.environ:
        # The script holds the lock; its children do not inherit it.
        lock = fcntl.fcntl(os.open(SHM, os.O_RDONLY | os.O_DIRECTORY), fcntl.F_DUPFD, 200)
        room = os.statvfs(SHM)
        wait(lock, fcntl.LOCK_EX if room.f_blocks * room.f_frsize < ROOM else fcntl.LOCK_SH)
        os.environ.update(TEST_SHM='shared', TEST_SHM_LOCK=str(lock))
    os.execv(sys.executable, [sys.executable, *script])


if __name__ == '__main__':
    main()
