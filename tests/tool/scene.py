#
# scene.py - what tests of the command share: a /dev/shm of their own, programs that trace as they are told to
#
# SPDX-License-Identifier: MIT

import ctypes
import errno
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / 'harness'))
import shared

ENVIRONMENT = {**os.environ, 'TZ': 'UTC0', 'LC_ALL': 'C.UTF-8', 'TERM': 'xterm'}
for variable in ('NO_COLOR', 'PAGER', 'LESS', 'POSIXLY_CORRECT'):
    ENVIRONMENT.pop(variable, None)
failures = 0


def can_mount():
    """Whether unshare --mount works: not in a chroot, for example."""
    return subprocess.run(['unshare', '--mount', 'true'], capture_output=True, check=False).returncode == 0


def can_look():
    """Whether this root may look at processes of other users: not in most containers, without CAP_SYS_PTRACE."""
    status = Path('/proc/self/status').read_text()
    return bool(int(re.search(r'^CapEff:\s*(\w+)', status, re.MULTILINE)[1], 16) >> 19 & 1)


def own_shm():
    """Gives this process, which is root's, a /dev/shm of its own. In a chroot / is no mount point, and mounts are made
    private from outside, where setns() leads."""
    private_mounts, namespace = 0x4000 | 0x40000, 0x20000  # MS_REC | MS_PRIVATE, CLONE_NEWNS
    libc = ctypes.CDLL(None, use_errno=True)
    here, mounts = os.getcwd(), None
    if libc.unshare(namespace) != 0:
        return False
    # Opened only now, because what was open before leads to the mounts of the other namespace.
    root = os.open('/', os.O_DIRECTORY)
    done = libc.mount(b'none', b'/', None, private_mounts, None) == 0
    if not done:
        mounts = os.open('/proc/self/ns/mnt', os.O_RDONLY)
        done = libc.setns(mounts, namespace) == 0 and libc.mount(b'none', b'/', None, private_mounts, None) == 0
        os.close(mounts)
        os.fchdir(root)
        os.chroot('.')
        os.chdir(here)
    os.close(root)
    return done and libc.mount(b'test', b'/dev/shm', b'tmpfs', 0, b'mode=1777,size=64m') == 0


def private():
    """Gives the test a /dev/shm of its own, where nobody else traces. Where that is not permitted, no other test
    runs."""
    if os.environ.get('SCENE_PRIVATE'):
        return
    if os.geteuid() == 0:
        if own_shm():
            os.environ['SCENE_PRIVATE'] = '1'
        else:
            shared.alone()
        return
    command = ['unshare', '--mount', '--map-root-user']
    mount = 'mount -t tmpfs -o mode=1777,size=64m test /dev/shm'
    try:
        possible = subprocess.run([*command, 'sh', '-c', mount], capture_output=True).returncode == 0
    except FileNotFoundError:
        possible = False
    if not possible:
        shared.alone()
        return
    os.environ['SCENE_PRIVATE'] = '1'
    os.execvp('unshare', [*command, 'sh', '-c', mount + ' && exec "$@"', 'sh', sys.executable, *sys.argv])


def has_terminals():
    """A chroot, for example, may have none."""
    try:
        for end in pty.openpty():
            os.close(end)
    except OSError:
        return False
    return True


def refuse(number, error):
    """For preexec_fn: from here on the kernel refuses a system call with an error number."""
    def instructions(*lines):
        return b''.join(struct.pack('=HBBI', *line) for line in lines)

    allow = 0x7fff0000
    program = instructions((0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x50000 | error), (0x06, 0, 0, allow))
    code = ctypes.create_string_buffer(program, len(program))
    filter_program = ctypes.create_string_buffer(struct.pack('@HP', 4, ctypes.addressof(code)))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4
    # PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP
    if prctl(38, 1, 0, 0, 0) or prctl(22, 2, ctypes.addressof(filter_program), 0, 0):
        os._exit(77)


def without_pidfd():
    """For preexec_fn: from here on the kernel has no pidfd_open(), as Linux before 5.3."""
    refuse(434, errno.ENOSYS)


def expect(right, text):
    global failures
    if not right:
        failures += 1
        print(f'line {sys._getframe(1).f_lineno}: {text}', file=sys.stderr)
    return right


def equal(what, found, wanted):
    assert found == wanted, f'{what}:\n  {str(found)[:2000]}\n  not: {str(wanted)[:2000]}'


def run(*command, status=0, environment=None, **more):
    """Runs a command in UTC and in the language of C. status None: any. Returns its output and its messages."""
    done = subprocess.run([*map(str, command)], capture_output=True, env={**ENVIRONMENT, **(environment or {})},
                          timeout=120, **more)
    assert status in (None, done.returncode), f'{command}: exit status {done.returncode}: {done.stderr.decode()}'
    return done.stdout, done.stderr


def write(name, data):
    """Writes a file. Returns its name."""
    Path(name).write_bytes(data)
    return name


def mount_tracefs():
    """Mounts what describes the kernel's tracepoints, which often nobody has done. The mount is this test's own."""
    if os.geteuid() == 0 and 'SCENE_PRIVATE' in os.environ and not Path('/sys/kernel/tracing/events').exists():
        subprocess.run(['mount', '-t', 'tracefs', 'tracefs', '/sys/kernel/tracing'], capture_output=True, check=False)


def events(posixtrace, *arguments):
    """Returns the events that report prints of a log, or of several."""
    out, _ = run(posixtrace, 'report', '--json', *arguments)
    return [json.loads(line) for line in out.splitlines()]


def named(found, name):
    return [e for e in found if e.get('event') == name]


def of(e, field):
    return e['fields'][field] if 'fields' in e else e['data'][field]


NOBODY = 65534


def become_nobody():
    """For preexec_fn."""
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


class Suite:
    """Runs the functions test_* of a module, all in the same temporary folder. Arguments of the program may name
    some of them."""

    def __init__(self, module):
        tests = {name: test for name, test in module.items() if name.startswith('test_')}
        self.tests = {name: test for name, test in tests.items() if name in sys.argv} or tests

    def main(self, prepare=None, needs=(), missing=''):
        """Calls `prepare` in the folder first. Skips the tests named in `needs` if something is `missing`."""
        failed = skipped = 0
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            if prepare:
                prepare()
            for name, test in self.tests.items():
                before = failed + failures
                if missing and name in needs:
                    skipped += 1
                    continue
                try:
                    test()
                except Exception:
                    traceback.print_exc(file=sys.stdout)
                    failed += 1
                if failed + failures > before:
                    print(f'FAILED: {name}', flush=True)
            os.chdir('/')
        failed += failures
        print(f'{len(self.tests) - skipped} tests, {failed} failures' +
              (f', {skipped} skipped: {missing}' if skipped else ''))
        sys.exit(1 if failed else 77 if skipped else 0)


def finish():
    print(f'{failures} failures')
    sys.exit(1 if failures else 0)


def shared_files():
    """Returns the names of the library's files."""
    return sorted(path.name for path in Path('/dev/shm').glob('posixtrace-*/*'))


class Tool:
    def __init__(self, path, name):
        self.command = [path, name]

    def __call__(self, *arguments, **more):
        return subprocess.run([*self.command, *map(str, arguments)], capture_output=True, text=True, timeout=60, **more)


class Tracer:
    """tests/tool/tracer.c"""

    def __init__(self, path, *arguments):
        self.process = subprocess.Popen([path, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, bufsize=1)
        self.pid = self.process.pid
        self.line('ready')

    def line(self, begin):
        """Waits for a line that begins with this word. Returns the rest of the line."""
        while True:
            line = self.process.stdout.readline()
            if not line:
                raise EOFError(f'tracer has ended, instead of "{begin}"')
            if line.startswith(begin):
                return line[len(begin):].strip()

    def do(self, order):
        self.process.stdin.write(order + '\n')
        self.line('done')

    def child(self):
        self.process.stdin.write('child\n')
        pid = int(self.line('child'))
        self.line('attached')
        return pid

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def directory():
    return tempfile.TemporaryDirectory()
