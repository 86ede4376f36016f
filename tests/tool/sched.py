#!/usr/bin/env python3
#
# sched.py - posixtrace convert tells viewers of switches, wakings and system calls in their own terms
#
#     sched.py POSIXTRACE
#
# SPDX-License-Identifier: MIT

import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import scene
from made_log import Log
from scene import Suite, equal

HERE = Path(__file__).resolve().parent
POSIXTRACE = Path(sys.argv[1]).resolve()
CREATED = 1_600_000_000_000_000_000
NO_WAKER, DISK = 0, 3
PREEMPTED, SLEEPING, EXITED = 0, 2, 8
# The kernel's numbers.
RUNNABLE, S, D, DEAD, R_PLUS = 0, 1, 2, 16, 256
LOG = Path('sched.log').resolve()


def made():
    """Two threads on two processors, by turns on the second one."""
    log = Log(name='sched', created=CREATED)
    log.declare('linux_run', '{packed,took=took;took:u64/ns,cpu:u32,why:u8<preempted,blocked,sleeping,disk>}')
    log.declare('linux_off', '{packed,took=took;took:u64/ns,state:u8<preempted,blocked,sleeping,disk>,ready:u64/ns,'
                'waker:u32,waker_name:z}')
    log.declare('linux_sys_read', '{packed,took=took;took:u64/ns,result:i64,fd:i32,buf:x64,count:u64}')
    log.declare('linux_sys_exit', '{packed,took=took;took:u64/ns,error_code:i32}')
    # No system call has a text in it.
    log.declare('linux_sys_odd', '{packed,took=took;took:u64/ns,result:i64,name:z}')
    log.event(90, 'linux_sys_odd', tid=101, thread='till', data=struct.pack('<Qq', 10, 0) + b'text\0')

    def run(time, tid, name, took, cpu, why):
        log.event(time, 'linux_run', tid=tid, thread=name, data=struct.pack('<QIB', took, cpu, why))

    def off(time, tid, name, took, state, ready, waker=None):
        data = struct.pack('<QBQ', took, state, ready)
        log.event(time, 'linux_off', tid=tid, thread=name,
                  data=data + (struct.pack('<I', waker[0]) + waker[1] + b'\0' if waker else b''))

    run(1000, 101, 'till', 900, 0, SLEEPING)                    # 100 to 1000
    run(2000, 102, 'store', 1500, 1, PREEMPTED)                 # 500 to 2000
    off(2000, 101, 'till', 1000, SLEEPING, 300, (102, b'store'))  # woken at 1700
    run(2600, 101, 'till', 600, 1, DISK)                        # 2000 to 2600, right after store
    log.event(2600, 'linux_sys_read', tid=101, thread='till', data=struct.pack('<QqiQQ', 1650, -11, 7, 4096, 64))
    off(2700, 102, 'store', 700, PREEMPTED, 700)
    off(3000, 101, 'till', 400, DISK, 0, (0, b'interrupt'))
    log.event(3190, 'linux_sys_exit', tid=101, thread='till', data=struct.pack('<Qi', 10, 3))
    run(3200, 101, 'till', 200, 0, EXITED)
    run(3300, 102, 'store', 600, 1, EXITED + 1)                 # the recording ended
    log.segment()
    LOG.write_bytes(log.closed())


SWITCHES = {
    0: [(100, 'swapper/0', 0, RUNNABLE, 'till', 101), (1000, 'till', 101, S, 'swapper/0', 0),
        (3000, 'swapper/0', 0, RUNNABLE, 'till', 101), (3200, 'till', 101, DEAD, 'swapper/0', 0)],
    1: [(500, 'swapper/1', 0, RUNNABLE, 'store', 102), (2000, 'store', 102, R_PLUS, 'till', 101),
        (2600, 'till', 101, D, 'swapper/1', 0), (2700, 'swapper/1', 0, RUNNABLE, 'store', 102)],
}
# When, on which processor, who, and where it will run.
WAKINGS = [(1700, 1, 'till', 101, 1)]


def test_perfetto():
    if not shutil.which('protoc'):
        print('     no protoc, of the package protobuf-compiler')
        return
    out, _ = scene.run(POSIXTRACE, 'convert', '--to', 'perfetto', '-o', '-', LOG)
    text = subprocess.run(['protoc', f'-I{HERE}', '--decode=viewer.Trace', 'perfetto.proto'], input=out,
                          capture_output=True, check=True).stdout.decode()
    boot = int(re.search(r'clock_id: 6\s+timestamp: (\d+)', text)[1])
    real = int(re.search(r'clock_id: 1\s+timestamp: (\d+)', text)[1])
    equal('the times are those of the log', real, CREATED)
    switches, wakings = {}, []
    for bundle in re.findall(r'^  ftrace_events \{\n(.*?)^  \}', text, re.M | re.S):
        cpu = int(re.search(r'^    cpu: (\d+)', bundle, re.M)[1])
        for event in re.findall(r'^    event \{\n(.*?)^    \}', bundle, re.M | re.S):
            values = {name: value.strip('"') for name, value in re.findall(r'(\w+): (.*)', event)}
            # The thread is there twice: of the event itself, and of the waking.
            pids = re.findall(r'\bpid: (\d+)', event)
            time = int(values['timestamp']) - boot
            if 'sched_switch' in event:
                equal('the event is of the thread before', pids[0], values['prev_pid'])
                switches.setdefault(cpu, []).append((
                    time, values['prev_comm'], int(values['prev_pid']), int(values['prev_state']),
                    values['next_comm'], int(values['next_pid'])))
            else:
                equal('a waking', 'sched_waking' in event, True)
                wakings.append((time, cpu, values['comm'], int(pids[1]), int(values['target_cpu'])))
                equal('the waker', pids[0], '102')
    equal('switches', switches, SWITCHES)
    equal('wakings', wakings, WAKINGS)


LINE = re.compile(r'^\[(\d+)\.(\d{9})\] \(.*?\) host (\S+): \{ cpu_id = (\d+) \}, \{ (.*) \}$', re.M)


def kernel_events(directory):
    done = subprocess.run(['babeltrace2', '--clock-seconds', directory], capture_output=True, check=True)
    equal('no complaints', done.stderr, b'')
    for seconds, ns, name, cpu, fields in LINE.findall(done.stdout.decode()):
        values = dict(re.findall(r'(\w+) = ("[^"]*"|[^,]+)', fields))
        yield int(seconds) * 10**9 + int(ns) - CREATED, name, int(cpu), {
            key: value.strip('"') if '"' in value else int(value, 0) for key, value in values.items()}


def test_ctf():
    if not shutil.which('babeltrace2'):
        print('     no babeltrace2')
        return
    # Twice, over the first one.
    for _ in range(2):
        scene.run(POSIXTRACE, 'convert', '--to', 'ctf', '-f', '-o', 'out.ctf', LOG)
    found = [*kernel_events('out.ctf/kernel')]
    switches = {}
    for time, name, cpu, values in found:
        if name == 'sched_switch':
            switches.setdefault(cpu, []).append((time, values['prev_comm'], values['prev_tid'], values['prev_state'],
                                                 values['next_comm'], values['next_tid']))
    equal('switches', switches, SWITCHES)
    for name in 'sched_waking', 'sched_wakeup':
        equal(name, [(time, cpu, values['comm'], values['tid'], values['target_cpu'])
                     for time, kind, cpu, values in found if kind == name], WAKINGS)
    equal('a call', [(time, cpu, values) for time, name, cpu, values in found if name == 'syscall_entry_read'],
          [(950, 0, {'fd': 7, 'buf': 4096, 'count': 64})])
    equal('its end', [(time, cpu, values) for time, name, cpu, values in found if name == 'syscall_exit_read'],
          [(2600, 1, {'ret': -11})])
    equal('a call without end', [(time, values) for time, name, _, values in found if name.endswith('_exit')],
          [(3180, {'error_code': 3})])
    metadata = Path('out.ctf/kernel/metadata').read_text()
    equal('no odd one', 'odd' in metadata, False)
    for words in 'domain = "kernel"', 'tracer_name = "lttng-modules"', 'u32 cpu_id':
        equal(words, words in metadata, True)
    # The program's trace is what it was.
    count = subprocess.run(['babeltrace2', 'out.ctf'], capture_output=True, check=True).stdout.count(b'\n')
    equal('all events are in the other trace', count, 11)


def test_without():
    """A log without such events has no trace of the kernel."""
    log = Log(name='plain', created=CREATED)
    log.event(1000, 'order')
    log.segment()
    Path('plain.log').write_bytes(log.closed())
    scene.run(POSIXTRACE, 'convert', '--to', 'ctf', '-o', 'plain.ctf', 'plain.log')
    equal('files', sorted(path.name for path in Path('plain.ctf').iterdir()), ['events', 'metadata'])


made()
Suite(globals()).main()
