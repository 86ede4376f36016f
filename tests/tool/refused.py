#!/usr/bin/env python3
#
# refused.py - what record --kernel says, and still records, where the kernel refuses its events; and a clock of its own
#
#     refused.py POSIXTRACE KERNEL_TARGET REFUSING
#
# REFUSING is tests/tool/refusing.c, or "none". A filter of seccomp does what a sandbox or a sysctl would do, and a file
# is mounted over the sysctl.
#
# SPDX-License-Identifier: MIT

import ctypes
import errno
import os
import platform
import subprocess
import sys
from pathlib import Path

import scene
from scene import Suite, equal, named, of

scene.private()
POSIXTRACE, TARGET = (Path(p).resolve() for p in sys.argv[1:3])
REFUSING = sys.argv[3]
PARANOID = Path('/proc/sys/kernel/perf_event_paranoid')
scene.mount_tracefs()
# The number of perf_event_open().
IS_64 = POSIXTRACE.read_bytes()[4] == 2
NUMBER = {('x86_64', True): 298, ('x86_64', False): 336, ('aarch64', True): 241, ('aarch64', False): 364}.get(
    (platform.machine(), IS_64))


def inside(script):
    """Returns the words that run a command with other mounts."""
    return ['unshare', '--mount', 'sh', '-ec', script + '\nexec "$@"', 'sh']


def record(*options, script='', preexec=None, environment=None):
    """Records the target. Returns its exit status, the messages and the events."""
    command = inside(script) if script else []
    done = subprocess.run([*command, POSIXTRACE, 'record', '--kernel', 'all', '-o', 'it.log', *options, '--', TARGET],
                          capture_output=True, text=True, preexec_fn=preexec, timeout=100, check=False,
                          env={**scene.ENVIRONMENT, **(environment or {})})
    return done.returncode, done.stderr, scene.events(POSIXTRACE, 'it.log') if Path('it.log').exists() else []


def doctor(script='', preexec=None, environment=None):
    done = subprocess.run([*(inside(script) if script else []), POSIXTRACE, 'doctor'], capture_output=True, text=True,
                          preexec_fn=preexec, env={**scene.ENVIRONMENT, **(environment or {})}, timeout=100,
                          check=False)
    return done.stdout


def goes_on(what, found):
    """The program was recorded, with its own events, and without those of the kernel."""
    status, messages, events = found
    equal(f'{what}: {messages}', status, 0)
    equal(f'{what}: one message', messages.count('no events of the kernel'), 1)
    equal(f'{what}: its own events', (len(named(events, 'part.begin')), len(named(events, 'part.end'))), (1, 1))
    equal(f'{what}: none of the kernel', [e for e in events if e['event'].startswith('linux_')], [])
    return messages


def some(what, found):
    """What needs no rights was recorded, and the rest was told of in one message."""
    status, messages, events = found
    equal(f'{what}: {messages}', status, 0)
    equal(f'{what}: one message', messages.count('--kernel: not recorded:'), 1)
    names = {e['event'] for e in events}
    equal(f'{what}: {names}', {'part.begin', 'linux_run', 'linux_off', 'linux_exec', 'linux_exit'} <= names, True)
    equal(f'{what}: no calls', any(name.startswith('linux_sys') for name in names), False)
    return messages


def sysctl(level):
    Path(f'paranoid{level}').write_text(f'{level}\n')
    return f'mount --bind {os.getcwd()}/paranoid{level} {PARANOID}'


def test_seccomp():
    """A container's profile refuses the call with EPERM, or as if the kernel did not have it."""
    if not NUMBER:
        return print('     the number of perf_event_open() is not known here')
    for error in errno.EPERM, errno.EACCES, errno.ENOSYS:
        refuse = lambda error=error: scene.refuse(NUMBER, error)  # noqa: E731
        messages = goes_on(errno.errorcode[error], record(script=sysctl(2), preexec=refuse))
        for text in messages, doctor(sysctl(2), refuse):
            equal(f'{errno.errorcode[error]}: {text}', ('a seccomp filter forbids it' in text,
                                                        'allow perf_event_open() in the seccomp profile' in text),
                  (True, True))
    status, messages, _ = record('-a', script=sysctl(2), preexec=lambda: scene.refuse(NUMBER, errno.EPERM))
    equal(f'-a: {messages}', (status, 'to record all processes' in messages), (125, True))
    return None


def test_paranoid():
    """Debian's level 3, and Ubuntu's 4, refuse with EACCES."""
    if not NUMBER:
        return print('     the number of perf_event_open() is not known here')
    for level in 3, 4:
        def refuse():
            scene.refuse(NUMBER, errno.EACCES)

        messages = goes_on(f'level {level}', record(script=sysctl(level), preexec=refuse))
        for text in messages, doctor(sysctl(level), refuse):
            equal(f'{level}: {text}', (f'kernel.perf_event_paranoid is {level}' in text,
                                       'sysctl kernel.perf_event_paranoid=2' in text), (True, True))
    return None


def test_capability():
    """Root of a container lacks CAP_PERFMON: it has what an ordinary user has."""
    if int(PARANOID.read_text()) > 2:
        return print('     kernel.perf_event_paranoid is above 2')

    def drop():
        prctl = ctypes.CDLL(None, use_errno=True).prctl
        for capability in 21, 38:  # CAP_SYS_ADMIN, CAP_PERFMON
            prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP

    messages = some('no CAP_PERFMON', record(preexec=drop))
    for text in messages, doctor(preexec=drop):
        equal(f'what to do: {text}', '--cap-add=PERFMON' in text, True)
    return None


def test_user_namespace():
    """Root of a user namespace has all capabilities, and none for perf events."""
    if int(PARANOID.read_text()) > 2:
        return print('     kernel.perf_event_paranoid is above 2')
    command = ['unshare', '--user', '--map-root-user']
    if subprocess.run([*command, 'true'], capture_output=True, check=False).returncode:
        return print('     no user namespaces')
    done = subprocess.run([*command, POSIXTRACE, 'record', '--kernel', 'all', '-o', 'user.log', '--', TARGET],
                          capture_output=True, text=True, timeout=100, check=False, env=scene.ENVIRONMENT)
    messages = some('user namespace', (done.returncode, done.stderr, scene.events(POSIXTRACE, 'user.log')))
    equal(f'what to do: {messages}', 'root of a user namespace' in messages, True)
    return None


def test_no_tracefs():
    hide = 'for d in /sys/kernel/tracing /sys/kernel/debug; do mount -t tmpfs none $d; done'
    messages = some('no tracefs', record(script=hide))
    for text in messages, doctor(hide):
        equal(f'what to do: {text}', 'mount -t tracefs tracefs /sys/kernel/tracing' in text, True)


def test_lockdown():
    """A kernel that is locked down to be confidential does not let tracefs be read."""
    if REFUSING == 'none':
        return print('     nothing can be preloaded in this build')
    environment = {'LD_PRELOAD': REFUSING, 'REFUSE_TRACEFS': '1'}
    messages = some('lockdown', record(environment=environment))
    for text in messages, doctor(environment=environment):
        equal(f'why: {text}', 'the kernel is locked down' in text, True)
    return None


def clock(events):
    check, = named(events, 'linux_clock')
    equal('the last one', events[-1]['event'], 'linux_clock')
    return int(of(check, 'off')), int(of(check, 'bound'))


def calls_between(events):
    names = [e['event'] for e in events]
    between = names[names.index('part.begin'):names.index('part.end')]
    equal('calls between two events of the program', between.count('linux_sys_getpgid') >= 7, True)


def test_clock():
    """The log has the bound of the error of the kernel's times."""
    status, messages, events = record()
    off, bound = clock(events)
    equal(f'{status}, {messages}, {off}', (off, 0 < bound < 10**9, "the kernel's clock" in messages), (0, True, False))
    calls_between(events)


def test_other_clock():
    """A clock that is a second ahead exceeds the bound."""
    if REFUSING == 'none':
        return print('     nothing can be preloaded in this build')
    ahead = 10**9
    _, messages, events = record(environment={'LD_PRELOAD': REFUSING, 'SHIFT_CLOCK': str(ahead)})
    off, bound = clock(events)
    equal(f'{off} and {bound}', -ahead <= off < 0 and bound >= ahead, True)
    equal(messages, f"the kernel's clock is {off} ns away" in messages, True)
    return None


def test_time_namespace():
    """In a time namespace the kernel's times are on another clock than the program's, and converted."""
    command = ['unshare', '--time', '--monotonic', '5000']
    if subprocess.run([*command, 'true'], capture_output=True, check=False).returncode:
        return print('     no time namespaces')
    scene.run(*command, POSIXTRACE, 'record', '--kernel', 'syscalls', '-o', 'time.log', '--', TARGET)
    events = scene.events(POSIXTRACE, 'time.log')
    equal('off', clock(events)[0], 0)
    calls_between(events)
    return None


def missing():
    if os.geteuid() != 0:
        return 'not root'
    if not scene.can_mount():
        return 'no mount namespaces'
    _, messages = scene.run(POSIXTRACE, 'record', '--kernel', 'all', '-o', 'trial.log', '--', 'true', status=None)
    return messages.decode() if b'not recorded' in messages or b'no events' in messages else ''


LACK = missing()
if LACK:
    print(f'skipped: perf events are not to be had: {LACK}')
    sys.exit(77)
Suite(globals()).main()
