#!/usr/bin/env python3
#
# kernel.py - what it costs to record Linux's events and samples: posixtrace, perf, strace, bpftrace, LTTng, in turns
#
# usage: kernel.py [--rounds N] [--scale X] [--update FILE] BUILD
#
#   BUILD     with tool/posixtrace
#   --scale   does X times as much in each round
#   --update  puts the table between its two marks in this document
#
# The program is kernel.c. A cost is the processor time of the program, over that of the same program when nobody
# records it in the same round, for each call, switch or sample. The recorder is processor time of its own process,
# over that of recording the same program while it does nothing. Bytes are those of the file. bpftrace and strace -c
# only count. LTTng's recorders are no children of ours, so only their bytes are known. All need root.
#
# SPDX-License-Identifier: MIT

import argparse
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Dict, List

from table import digits, update

HERE = Path(__file__).resolve().parent
BEGIN, END = '<!-- begin: script/bench --kernel --update-docs -->', '<!-- end: kernel -->'
HERTZ = 9999
OURS, PERF = ['record', '-q', '-o', 'ours.log'], ['perf', 'record', '-q', '-o', 'perf.data']
SCHED = ['-e', 'sched:sched_switch', '-e', 'sched:sched_waking']


def bpftrace(script):
    """bpftrace splits the command at blanks."""
    return lambda command: ['bpftrace', '-o', 'bpf.out', '-e', script, '-c', ' '.join(command)]


def plain(*words):
    return lambda command: [*words, *command]


# Records a command with LTTng's kernel tracer into the folder lttng; for the program alone, as far as it can.
LTTNG = '''
events=$1
shift
rm -rf lttng
lttng --no-sessiond list >list.out 2>&1 || lttng-sessiond --daemonize --pidfile="$PWD/sessiond.pid" >&2
end()
{
	lttng --no-sessiond destroy bench-kernel >&2
	[ ! -e sessiond.pid ] || { kill "$(cat sessiond.pid)"; rm -f sessiond.pid; }
}
trap end EXIT
lttng --no-sessiond create bench-kernel --output="$PWD/lttng" >&2 &&
	lttng --no-sessiond enable-event -k -s bench-kernel $events --filter='$ctx.procname == "bench-kernel"' >&2 &&
	lttng --no-sessiond start bench-kernel >&2 && "$@"
'''


def lttng_lacks():
    """Returns why LTTng's kernel tracer cannot run here; '' if it can."""
    if not shutil.which('lttng-sessiond'):
        return 'lttng-tools are not installed'
    if not Path('/proc/modules').exists():
        return 'it consists of modules, and this kernel takes none (CONFIG_MODULES is not set)'
    if 'lttng_tracer' in Path('/proc/modules').read_text():
        return ''
    if not shutil.which('modprobe') or subprocess.run(['modprobe', '-n', 'lttng-tracer'], capture_output=True,
                                                      check=False).returncode:
        return f'its modules are not installed for Linux {os.uname().release} (lttng-modules-dkms)'
    return ''


def lttng(events):
    return lambda command: ['LTTNG', events, *command]


# What happens; how often; what happened at last, by the number that the program prints.
KINDS = {
    'system call': ('calls', 100000, lambda n, switches: n),
    'switch': ('switches', 25000, lambda n, switches: switches),
    'sample': ('work', 200000000, None),
}
# Kind, tracer, its command, the file that it writes.
ROWS = [
    ('system call', 'posixtrace `--kernel syscalls`', plain('OURS', '--kernel', 'syscalls', '--'), 'ours.log'),
    ('system call', 'perf record, both tracepoints', plain(*PERF, '-e', 'raw_syscalls:sys_enter', '-e',
                                                           'raw_syscalls:sys_exit', '--'), 'perf.data'),
    ('system call', '`perf trace -s`', plain('perf', 'trace', '-s', '-o', 'trace.out', '--'), None),
    ('system call', '`strace -c --seccomp-bpf`', plain('strace', '-f', '-c', '--seccomp-bpf', '-o', 'strace.out'),
     None),
    ('system call', 'bpftrace, a count', bpftrace('tracepoint:raw_syscalls:sys_exit /comm == "bench-kernel"/ '
                                                  '{ @[args->id] = count(); }'), None),
    ('system call', "LTTng's kernel tracer", lttng('--syscall --all'), 'lttng'),
    ('switch', 'posixtrace `--kernel sched`', plain('OURS', '--kernel', 'sched', '--'), 'ours.log'),
    ('switch', 'posixtrace `--off-cpu`, with stacks', plain('OURS', '--off-cpu', '--'), 'ours.log'),
    ('switch', 'perf record, sched_switch and sched_waking', plain(*PERF, *SCHED, '--'), 'perf.data'),
    ('switch', 'perf record, the same with `-g`', plain(*PERF, '-g', *SCHED, '--'), 'perf.data'),
    ('switch', 'bpftrace, a count', bpftrace('tracepoint:sched:sched_switch /comm == "bench-kernel"/ '
                                             '{ @[tid] = count(); }'), None),
    ('switch', "LTTng's kernel tracer", lttng('sched_switch,sched_waking'), 'lttng'),
    ('sample', f'posixtrace `--sample {HERTZ}`', plain('OURS', '--sample', str(HERTZ), '--'), 'ours.log'),
    ('sample', f'`perf record -F {HERTZ} -g`', plain(*PERF, '-F', str(HERTZ), '-g', '--'), 'perf.data'),
    ('sample', f'posixtrace `--sample {HERTZ} --sample-dwarf`', plain('OURS', '--sample', str(HERTZ), '--sample-dwarf',
                                                                    '--'), 'ours.log'),
    ('sample', f'`perf record -F {HERTZ} --call-graph dwarf`', plain(*PERF, '-F', str(HERTZ), '--call-graph', 'dwarf',
                                                                   '--'), 'perf.data'),
    ('sample', f'bpftrace, stacks counted, {HERTZ} Hz', bpftrace(f'profile:hz:{HERTZ} /comm == "bench-kernel"/ '
                                                               '{ @[ustack, kstack] = count(); }'), None),
]


@dataclass
class Result:
    cost: List[float] = field(default_factory=list)      # ns for each
    recorder: List[float] = field(default_factory=list)  # ns for each
    bytes: List[float] = field(default_factory=list)     # of the file for each
    events: Dict[str, int] = field(default_factory=dict)


class Bench:
    def __init__(self, build, directory, scale):
        self.posixtrace, self.directory, self.scale = build / 'tool' / 'posixtrace', directory, scale
        self.program = directory / 'bench-kernel'
        subprocess.run(['cc', '-O2', '-g', '-fno-omit-frame-pointer', HERE / 'kernel.c', '-o', self.program,
                        '-pthread'], check=True)

    def run(self, wrap, kind, count):
        """Returns the processor time of the program, that of its tracer, and how many switches there were."""
        command = [str(self.program), KINDS[kind][0], str(count)]
        words = wrap(command) if wrap else command
        if words[0] == 'OURS':
            words = [str(self.posixtrace), *OURS, *words[1:]]
        if words[0] == 'LTTNG':
            if lttng_lacks():
                raise RuntimeError(f"LTTng's kernel tracer: {lttng_lacks()}")
            words = ['sh', '-c', LTTNG, 'sh', *words[1:]]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(words, cwd=self.directory, capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found = re.search(r'^(\d+) (\d+)$', done.stdout, re.M)
        if done.returncode or not found:
            raise RuntimeError(f'{" ".join(words)}: {done.stdout}{done.stderr}')
        all_of_it = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e9
        return int(found[1]), max(0, all_of_it - int(found[1])), int(found[2])

    def size(self, name):
        path = self.directory / (name or '')
        files = path.rglob('*') if path.is_dir() else [path]
        return sum(file.stat().st_size for file in files if file.is_file()) if name else 0

    def round(self, results):
        for kind, (_, count, number) in KINDS.items():
            count = int(count * self.scale)
            bare, _, _ = self.run(None, kind, count)
            for of, name, wrap, file in ROWS:
                if of != kind:
                    continue
                result = results.setdefault(name + of, Result())
                try:
                    _, idle, _ = self.run(wrap, kind, 1)
                    small = self.size(file)
                    cpu, recorder, switches = self.run(wrap, kind, count)
                except RuntimeError as error:
                    print(f'kernel.py: left out: {error}', file=sys.stderr)
                    continue
                happened = number(count, switches) if number else cpu / 1e9 * HERTZ
                result.cost.append((cpu - bare) / happened)
                if file != 'lttng':
                    result.recorder.append((recorder - idle) / happened)
                if file:
                    result.bytes.append((self.size(file) - small) / happened)


def cell(values, unit):
    if not values:
        return ''
    low, high = max(0, min(values)), max(0, max(values))
    return f'{digits(max(0, statistics.median(values)))} {unit} ({digits(low)}-{digits(high)})'


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--rounds', type=int, default=7)
    parser.add_argument('--scale', type=float, default=1)
    parser.add_argument('--update', type=Path)
    parser.add_argument('build', type=Path)
    options = parser.parse_args()
    results = {}
    with tempfile.TemporaryDirectory(prefix='kernel-') as name:
        bench = Bench(options.build.resolve(), Path(name), options.scale)
        for _ in range(options.rounds):
            bench.round(results)
    lines = ['| each | tracer | cost in the program | recorder, at 100 000 a second | bytes in the file |',
             '| --- | --- | --- | --- | --- |']
    for kind, name, _, _ in ROWS:
        result = results.get(name + kind)
        if not result or not result.cost:
            lines.append(f'| {kind} | {name} | it does not run here | | |')
            continue
        # ns for each, a hundred thousand times in a second, in parts of a processor.
        share = [ns * 1e5 / 1e9 * 100 for ns in result.recorder]
        lines.append(f'| {kind} | {name} | {cell(result.cost, "ns")} | {cell(share, "%")} | '
                     f'{cell(result.bytes, "B")} |')
    perf = subprocess.run(['perf', '--version'], capture_output=True, text=True, check=False).stdout.split()
    lines += ['', f'perf {perf[-1] if perf else ""}, Linux {os.uname().release}; {options.rounds} rounds, '
                  f'load {os.getloadavg()[0]:.1f}.']
    if lttng_lacks():
        lines += ['', f"LTTng's kernel tracer does not run here: {lttng_lacks()}."]
    table = '\n'.join(lines)
    print(table)
    if options.update:
        update(options.update, table + '\n', BEGIN, END)


if __name__ == '__main__':
    main()
