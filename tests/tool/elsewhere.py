#!/usr/bin/env python3
#
# elsewhere.py - a log of record --kernel and --sample is read on another machine, which has none of what was recorded
#
#     elsewhere.py POSIXTRACE SAMPLE_TARGET SAMPLE_TARGET_WITHOUT_FRAME_POINTERS
#
# The other machine has another name and kernel, one processor, no tracefs and no file of the program. READER in the
# environment is another posixtrace that reads there: of the other word size, for example.
#
# SPDX-License-Identifier: MIT

import json
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import scene
from scene import Suite, equal, named, of

sys.path.append(str(Path(__file__).resolve().parent.parent / 'log'))
import decode  # noqa: E402

scene.private()
POSIXTRACE, TARGET, OTHER = (Path(p).resolve() for p in sys.argv[1:4])
HERE = {}  # where the samples are, read on the machine where they were recorded
READER = Path(os.environ.get('READER', POSIXTRACE)).resolve()
scene.mount_tracefs()
ELSEWHERE = '''
echo 'ffffffff80000000 T wrong_function' > kallsyms
mount --bind kallsyms /proc/kallsyms
mount -t tmpfs none /sys/devices/system
mkdir -p /sys/devices/system/cpu/cpu0
echo 0 | tee /sys/devices/system/cpu/online /sys/devices/system/cpu/possible > /dev/null
mount -t tmpfs none /sys/kernel
hostname elsewhere
exec "$@"'''


def here(*command):
    return scene.run(POSIXTRACE, *command)


def there(*command):
    return scene.run('unshare', '--mount', '--uts', 'sh', '-ec', ELSEWHERE, 'sh', READER, *command)


def contents(path):
    path = Path(path)
    if path.is_file():
        return path.read_bytes()
    return {str(p.relative_to(path)): p.read_bytes() for p in sorted(path.rglob('*')) if p.is_file()}


def test_same():
    """What does not need the program's files is the same to the last byte."""
    for command in (('report', '--json'), ('report',), ('stat', '--sched', '--syscalls', '--json'), ('stat', '--json'),
                    ('report', '--why', 'linux_off', '--json'), ('check',)):
        equal(f'{command}', there(*command, 'it.log')[0], here(*command, 'it.log')[0])
    for kind in 'perfetto', 'ctf', 'chrome':
        here('convert', '--to', kind, '-o', f'here.{kind}', 'it.log')
        there('convert', '--to', kind, '-o', f'there.{kind}', 'it.log')
        equal(kind, contents(f'there.{kind}'), contents(f'here.{kind}'))
    processors = {of(e, 'cpu') for e in named(scene.events(POSIXTRACE, 'it.log'), 'linux_run')}
    out, _ = there('report', '--json', '-e', 'linux_run', 'it.log')
    equal('processors', {of(json.loads(line), 'cpu') for line in out.splitlines()}, processors)


def names(run):
    found = json.loads(run('stat', '--profile', '--json', 'it.log')[0])
    sums = {}
    for f in found['functions']:
        key = f['name'], Path(f.get('image') or '').name
        sums[key] = sums.get(key, 0) + f['self']
    return found, sums


def test_kernel_functions():
    """The names of the kernel's functions are in the log; those of the reader's kernel are not shown."""
    found, sums = names(there)
    kernel = {key: n for key, n in HERE.items() if key[1] == '[kernel]'}
    equal('of the kernel', {key: n for key, n in sums.items() if key[1] == '[kernel]'}, kernel)
    equal('no name of the other kernel', any(name == 'wrong_function' for name, _ in sums), False)
    equal('all samples', sum(f['self'] for f in found['functions']), found['weight'])


def test_missing_file():
    """Without the program its functions are named by the file."""
    equal('here it is known', ('three_quarters', 'target') in HERE, True)
    os.rename('target', 'away')
    try:
        _, sums = names(there)
    finally:
        os.rename('away', 'target')
    equal('no name', [key for key in sums if key[0] == 'three_quarters'], [])
    equal(f'the file: {sums}', sum(n for key, n in sums.items() if key[0] == '[target]'),
          sum(n for key, n in HERE.items() if key[1] == 'target'))


def test_other_file():
    """Another program of this name does not name the functions of the recorded one."""
    os.rename('target', 'away')
    shutil.copy(OTHER, 'target')
    try:
        _, sums = names(there)
        _, messages = there('report', '--symbols', '-e', 'linux_sample', 'it.log')
    finally:
        os.rename('away', 'target')
    equal('no name of the other program', [key for key in sums if key[1] == 'target' and key[0] != '[target]'], [])
    if b'built without libdw' not in messages:
        equal(f'why: {messages}', b'not the file that was traced' in messages, True)


def test_other_reader():
    """A reader that was written from the document of the format, and knows no machine, reads the same."""
    types, found = {}, []
    for line in decode.decode('it.log'):
        word, *rest = line.split(' ')
        if word == 'type':
            types[int(rest[0])] = ' '.join(rest[1:])
        elif word == 'event':
            found.append((types[int(rest[0])], int(rest[2]), int(rest[5]), rest[8]))
    found = [event for event in found if not event[0].startswith('posix_trace_')]
    events = scene.events(POSIXTRACE, 'it.log')
    equal('events', [(name, tid, time) for name, tid, time, _ in found],
          [(e['event'], e['tid'], e['time']) for e in events])
    for (name, _, _, data), e in zip(found, events):
        data = bytes.fromhex(data) if data != '-' else b''
        if name == 'linux_run':
            took, cpu = struct.unpack_from('<QI', data)
            equal(f'{e}', (took, cpu), (of(e, 'took'), of(e, 'cpu')))
        elif name == 'linux_clock':
            equal(f'{e}', struct.unpack('<qQ', data), (of(e, 'off'), of(e, 'bound')))
        elif name == 'linux_sample':
            cpu, cut, kernel, count = struct.unpack_from('<IBHH', data)
            equal(f'{e}', (cpu, bool(cut), kernel, count), tuple(of(e, f) for f in ('cpu', 'cut', 'kernel', 'count')))


def prepare():
    shutil.copy(TARGET, 'target')
    scene.run(POSIXTRACE, 'record', '--kernel', 'sched,syscalls,faults', '--sample', '999', '--off-cpu', '-o', 'it.log',
              '--', './target', 'split')
    HERE.update(names(here)[1])


def missing():
    if os.geteuid() != 0 or sys.byteorder != 'little':
        return 'not root' if os.geteuid() else 'the bytes are compared as little-endian'
    if not scene.can_mount() or subprocess.run(['unshare', '--mount', '--uts', 'hostname', 'x'], capture_output=True,
                                               check=False).returncode:
        return 'no mount namespaces'
    _, messages = scene.run(POSIXTRACE, 'record', '--kernel', 'sched', '--sample', '999', '-o', 'trial.log', '--',
                            'true', status=None)
    return messages.decode() if b'no samples' in messages or b'no events of' in messages else ''


LACK = missing()
if LACK:
    print(f'skipped: {LACK}')
    sys.exit(77)
Suite(globals()).main(prepare)
