#!/usr/bin/env python3
#
# programs.py - what recording programs as they are adds to a call, beside other tracers, in turns
#
# usage: programs.py [--quick] [--rounds N] [--update FILE] BUILD
#
#   BUILD     with the library, tool/posixtrace, and the libraries of instrument/
#   --update  puts the table between its two marks in this document
#
# "floor" is the bare call; "ours" and "peer" are what recording adds to it, "ratio" the peer's against ours. Times are
# processor time of the program. Where the kernel stops the program for another one (strace, ltrace), the program waits
# for it, so the processor time of both counts. A tracer that is not there, or does not work here, is left out, and a
# line says so.
#
# SPDX-License-Identifier: MIT

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import lttng
from table import HEAD, Line, ratio, text, update

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
BEGIN, END = '<!-- begin: script/bench --peers --update-docs -->', '<!-- end: programs -->'
# A flight recorder of 1 MiB for each processor, as ours has 1 MiB.
RECORDER = ['--overwrite', '--subbuf-size=256k', '--num-subbuf=4']
EVENTS = 'bench:words*,bench:text,lttng_ust_libc:*'
LOOP = ['--loop', '1M']
FAST, CALLS, SLOW, STOPPED = 2000000, 500000, 40000, 2000
PROBE = 'bench_programs:point'


class Missing(Exception):
    """Why a way of recording cannot be measured here."""


def run(command, environment=()):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, timeout=300,
                          stdin=subprocess.DEVNULL, env={**os.environ, **dict(environment)})
    if done.returncode:
        said = (done.stderr + done.stdout).strip().splitlines() or ['no message']
        raise Missing(f'{command[0]}: status {done.returncode}: {said[-1]}')
    return done.stdout


def need(*tools):
    for tool in tools:
        if not shutil.which(tool):
            raise Missing(f'{tool} is not installed')


def used():
    """Processor time of all programs that have ended, seconds."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Ways:
    """Each method measures one way, and returns nanoseconds for each call."""

    def __init__(self, build, directory, quick):
        self.posixtrace = build / 'tool' / 'posixtrace'
        self.build, self.directory, self.quick = build, directory, quick
        self.built, self.environments, self.without_lttng = {}, {}, ''

    # -- Programs ------------------------------------------------------------------------------

    def program(self, name='plain'):
        """Builds a variant of programs.c the first time that it is wanted."""
        compiler, flags, libraries = {
            'plain': ('cc', [], []),
            'hooks': ('cc', ['-finstrument-functions'], []),
            'clang': ('clang', [], []),
            'sleds': ('clang', ['-fxray-instrument', '-fxray-instruction-threshold=1'], []),
            'lttng': ('cc', ['-DLTTNG', f'-I{HERE}'], ['-llttng-ust', '-ldl']),
            'drop-in': ('cc', ['-DPROBE', f'-I{ROOT}/instrument/sdt', f'-I{ROOT}/include'],
                        [f'-L{self.build}/src', '-lposixtrace', f'-Wl,-rpath,{self.build}/src']),
            'probe': ('cc', ['-DPROBE'], []),
        }[name]
        path = self.directory / f'programs-{name}'
        if name not in self.built:
            need(compiler)
            source = HERE / 'programs.c'
            self.built[name] = None
            run([compiler, '-O2', '-g', '-D_GNU_SOURCE', '-fno-builtin-malloc', '-pthread', *flags, source, '-o',
                 path, *libraries])
            self.built[name] = path
        if not self.built[name]:
            raise Missing(f'programs.c does not build: {name}')
        return path

    def command(self, program, what, count):
        return [self.program(program), what, max(count // (20 if self.quick else 1), 130)]

    # -- Measuring -----------------------------------------------------------------------------

    def told(self, command, environment=()):
        """What the program says that it took."""
        return float(re.search(r'^ns ([\d.]+)$', run(command, environment), re.M)[1])

    def bare(self, program, what, count):
        return self.told(self.command(program, what, count))

    def record(self, options, program, what, count):
        return self.told([self.posixtrace, 'record', '-q', *options, '-o', self.directory / 'ours.log', '--',
                          *self.command(program, what, count)])

    def prepared(self, options, program, what, count):
        """As record --OPTION prepares a program, but nobody records."""
        key = tuple(options)
        if key not in self.environments:
            names = ('LD_PRELOAD', 'LD_LIBRARY_PATH', 'POSIXTRACE_')
            listed = run([self.posixtrace, 'record', '-q', *options, '-o', self.directory / 'none.log', '--', 'env'])
            self.environments[key] = dict(line.split('=', 1) for line in listed.splitlines() if line.startswith(names))
        return self.told(self.command(program, what, count), self.environments[key])

    def beside(self, tracer, program, what, count):
        """A tracer that the program does not wait for."""
        need(tracer[0])
        return self.told([*tracer, *self.command(program, what, count)])

    def stopped(self, tracer, program, what, count):
        """A tracer that the program waits for at each call: the processor time of both, without start and end."""
        need(tracer[0])
        times = []
        for calls in (count // 10, count):
            begin = used()
            run([*tracer, *self.command(program, what, 20 * calls if self.quick else calls)])
            times.append(used() - begin)
        # A program first does a tenth more, to warm up.
        return max(times[1] - times[0], 0) / (0.9 * 1.1 * count) * 1e9

    # -- Tracers -------------------------------------------------------------------------------

    def lttng(self, what, count, program='lttng', environment=()):
        """LTTng-UST: main() has begun its session."""
        if self.without_lttng:
            raise Missing(self.without_lttng)
        return self.told(self.command(program, what, count), environment)

    def lttng_libc(self, what, count):
        return self.lttng(what, count, 'plain', {'LD_PRELOAD': 'liblttng-ust-libc-wrapper.so.1'})

    def uftrace(self, program, what, count):
        need('uftrace')
        folder = self.directory / 'uftrace'
        try:
            return self.beside(['uftrace', 'record', '--no-libcall', '--no-event', '-d', folder], program, what, count)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def heaptrack(self, what, count):
        return self.beside(['heaptrack', '--raw', '-o', self.directory / 'heap'], 'plain', what, count)

    def perf(self, events, program, what, count):
        self.tracefs()
        return self.beside(['perf', 'record', '-q', '-o', self.directory / 'perf.data',
                            *(f'--event={e}' for e in events), '--'], program, what, count)

    def perf_trace(self, options, what, count):
        self.tracefs()
        return self.beside(['perf', 'trace', '-o', self.directory / 'trace', *options, '--'], 'plain', what, count)

    def strace(self, options, what, count):
        return self.stopped(['strace', '-f', '--seccomp-bpf', '-o', self.directory / 'strace', *options], 'plain',
                            what, count)

    def ltrace(self, functions, what, count):
        return self.stopped(['ltrace', '-o', self.directory / 'ltrace', '-e', functions], 'plain', what, count)

    def bpftrace(self, count):
        need('bpftrace')
        self.root()
        program = self.program('probe')
        script = f'usdt:{program}:{PROBE} {{ @ = count(); }}'
        command = self.command('probe', 'probe', count)
        return self.told(['bpftrace', '-e', script, '-c', ' '.join(map(str, command))])

    def perf_probe(self, count):
        need('perf')
        self.tracefs()
        if 'perf probe' not in self.built:
            program = self.program('probe')
            run(['perf', 'buildid-cache', '--add', program])
            run(['perf', 'probe', '-q', '-x', program, f'sdt_{PROBE}'])
            self.built['perf probe'] = program
        return self.perf([f'sdt_{PROBE}'], 'probe', 'probe', count)

    def clean(self):
        """Removes the probe that perf has given a name in the kernel."""
        if self.built.get('perf probe'):
            for command in (['perf', 'probe', '-q', '-d', f'sdt_{PROBE}'],
                            ['perf', 'buildid-cache', '--remove', self.built['perf probe']]):
                subprocess.run(command, capture_output=True, check=False)

    def root(self):
        if os.geteuid() != 0:
            raise Missing('it needs root')

    def tracefs(self):
        self.root()
        need('perf')
        if not Path('/sys/kernel/tracing/events').exists():
            raise Missing('tracefs is not mounted')


def ways(w):
    """What is measured in each round: the name of a figure, and how it is taken."""
    sched = ['sched:sched_switch', 'sched:sched_waking']
    calls = ['raw_syscalls:sys_enter', 'raw_syscalls:sys_exit']
    found = {'loop': lambda: w.bare('plain', 'loop', FAST)}
    # The session does not record this one.
    found['number off'] = lambda: w.prepared(['--lttng'], 'lttng', 'number', FAST)
    found['number lttng off'] = lambda: w.bare('lttng', 'number', FAST)
    for what in ('words1', 'words4', 'text'):
        found[what] = lambda what=what: w.record(['--lttng', *LOOP], 'lttng', what, CALLS)
        found[f'{what} lttng'] = lambda what=what: w.lttng(what, CALLS)
    found.update({
        'function': lambda: w.bare('plain', 'functions', FAST),
        'hooks off': lambda: w.prepared(['--functions'], 'hooks', 'functions', FAST),
        'hooks': lambda: w.record(['--functions', *LOOP], 'hooks', 'functions', CALLS),
        'hooks uftrace': lambda: w.uftrace('hooks', 'functions', CALLS),
        'clang': lambda: w.bare('clang', 'functions', FAST),
        'sleds off': lambda: w.prepared(['--functions'], 'sleds', 'functions', FAST),
        'sleds': lambda: w.record(['--functions', *LOOP], 'sleds', 'functions', CALLS),
        'malloc': lambda: w.bare('plain', 'malloc', FAST),
        'malloc off': lambda: w.prepared(['--libc', 'memory'], 'plain', 'malloc', FAST),
        'malloc on': lambda: w.record(['--libc', 'memory', *LOOP], 'plain', 'malloc', CALLS),
        'malloc lttng': lambda: w.lttng_libc('malloc', CALLS),
        'malloc heaptrack': lambda: w.heaptrack('malloc', SLOW),
        'malloc ltrace': lambda: w.ltrace('malloc+free', 'malloc', STOPPED),
        'write': lambda: w.bare('plain', 'write', CALLS),
        'write off': lambda: w.prepared(['--libc', 'io'], 'plain', 'write', CALLS),
        'write on': lambda: w.record(['--libc', 'io', *LOOP], 'plain', 'write', CALLS),
        'write strace': lambda: w.strace(['-e', 'trace=write'], 'write', SLOW),
        'write perf trace': lambda: w.perf_trace(['-e', 'write'], 'write', SLOW),
        'write ltrace': lambda: w.ltrace('write', 'write', STOPPED),
        'drop-in off': lambda: w.bare('drop-in', 'probe', FAST),
        'drop-in': lambda: w.record(LOOP, 'drop-in', 'probe', CALLS),
        'probe': lambda: w.bare('probe', 'probe', FAST),
        'probe on': lambda: w.record(['--usdt', PROBE], 'probe', 'probe', SLOW),
        'probe perf': lambda: w.perf_probe(SLOW),
        'probe bpftrace': lambda: w.bpftrace(SLOW),
        'syscall': lambda: w.bare('plain', 'syscall', CALLS),
        'syscall on': lambda: w.record(['--kernel', 'syscalls'], 'plain', 'syscall', SLOW),
        'syscall perf': lambda: w.perf(calls, 'plain', 'syscall', SLOW),
        'syscall strace': lambda: w.strace(['-c'], 'syscall', SLOW),
        'syscall perf trace': lambda: w.perf_trace(['-s'], 'syscall', SLOW),
        'switches': lambda: w.bare('plain', 'switches', SLOW),
        'switches on': lambda: w.record(['--kernel', 'sched'], 'plain', 'switches', SLOW),
        'switches perf': lambda: w.perf(sched, 'plain', 'switches', SLOW),
    })
    return found


def measure(found, rounds):
    """Returns the figures of all rounds: {name: [nanoseconds]}, without what cannot be measured here."""
    times = {name: [] for name in found}
    for number in range(rounds):
        for name in list(times):
            try:
                times[name].append(found[name]())
            except Missing as reason:
                times.pop(name)
                print(f'  {name}: skipped: {reason}', flush=True)
        print(f'  round {number + 1} of {rounds}', flush=True)
    return times


# What is recorded; the name of its bare figure, of ours, of the peer's; what the peer is; the goal.
LTTNG, FLIGHT = "LTTng-UST's tracepoint", 'flight recorder'
ROWS = [
    (f'{LTTNG}, off; LTTng-UST', 'loop', 'number off', 'number lttng off', {'most': 1, 'compare': False}),
    (f'{LTTNG}, 8 bytes; LTTng-UST, {FLIGHT}', 'loop', 'words1', 'words1 lttng', {'least': 2}),
    (f'{LTTNG}, 32 bytes; LTTng-UST, {FLIGHT}', 'loop', 'words4', 'words4 lttng', {'least': 2}),
    (f'{LTTNG}, a text and two numbers; LTTng-UST, {FLIGHT}', 'loop', 'text', 'text lttng', {'least': 2}),
    ('function, `-finstrument-functions`, off', 'function', 'hooks off', None, {}),
    ('function, `-finstrument-functions`; uftrace', 'function', 'hooks', 'hooks uftrace', {'least': 2.5}),
    ('function, XRay, off', 'clang', 'sleds off', None, {'most': 0.5}),
    ('function, XRay; uftrace, `-finstrument-functions`', 'function', 'sleds', 'hooks uftrace', {}),
    ('`malloc()` and `free()`, off', 'malloc', 'malloc off', None, {'most': 5}),
    ('`malloc()` and `free()`', 'malloc', 'malloc on', None, {'most': 50}),
    ("`malloc()` and `free()`; LTTng's libc wrapper", 'malloc', 'malloc on', 'malloc lttng', {}),
    ('`malloc()` and `free()`; heaptrack', 'malloc', 'malloc on', 'malloc heaptrack', {}),
    ('`malloc()` and `free()`; ltrace', 'malloc', 'malloc on', 'malloc ltrace', {}),
    ('`write()`, off', 'write', 'write off', None, {'most': 5}),
    ('`write()`', 'write', 'write on', None, {'most': 100}),
    ('`write()`; strace --seccomp-bpf', 'write', 'write on', 'write strace', {}),
    ('`write()`; perf trace', 'write', 'write on', 'write perf trace', {}),
    ('`write()`; ltrace', 'write', 'write on', 'write ltrace', {}),
    ("a probe, compiled with our `<sys/sdt.h>`, off; SystemTap's", 'loop', 'drop-in off', 'probe',
     {'most': 0.5, 'compare': False}),
    ('a probe, compiled with our `<sys/sdt.h>`', 'loop', 'drop-in', None, {}),
    ('a probe, `--usdt`; perf record', 'probe', 'probe on', 'probe perf', {}),
    ('a probe, `--usdt`; bpftrace, which only counts', 'probe', 'probe on', 'probe bpftrace', {}),
    ('`getppid()`, `--kernel syscalls`; perf record', 'syscall', 'syscall on', 'syscall perf', {}),
    ('`getppid()`, `--kernel syscalls`; strace -c --seccomp-bpf', 'syscall', 'syscall on', 'syscall strace', {}),
    ('`getppid()`, `--kernel syscalls`; perf trace -s', 'syscall', 'syscall on', 'syscall perf trace', {}),
    ('four switches, `--kernel sched`; perf record', 'switches', 'switches on', 'switches perf', {}),
]


def lines(times):
    """Returns the lines of what was measured. A tracer that is missing takes its line with it, if that is only its."""
    for what, bare, ours, peer, goal in ROWS:
        if bare not in times or ours not in times or (peer and peer not in times and goal.get('compare', True)):
            continue
        added = [a - b for a, b in zip(times[ours], times[bare])]
        theirs = [a - b for a, b in zip(times[peer], times[bare])] if peer in times else None
        compare = theirs and goal.get('compare', True)
        yield Line(what, 'ns', added, times[bare], peer=theirs, ratio=ratio(theirs, added) if compare else None,
                   most=goal.get('most'), least=goal.get('least'))


def versions():
    asked = {'LTTng': ['lttng', '--version'], 'uftrace': ['uftrace', '--version'], 'perf': ['perf', '--version'],
             'strace': ['strace', '-V'], 'ltrace': ['ltrace', '-V'], 'bpftrace': ['bpftrace', '--version'],
             'heaptrack': ['heaptrack', '--version']}
    for name, command in asked.items():
        if shutil.which(command[0]):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            found = re.search(r'\d+\.\d+(\.\d+)?', done.stdout + done.stderr)
            if found:
                yield f'{name} {found[0]}'


def begin_lttng(stack, directory):
    """Begins a session of LTTng that lasts as long as the stack. Returns why there is none, or an empty text."""
    if not shutil.which('lttng-sessiond'):
        return 'lttng-sessiond is not installed'
    try:
        stack.enter_context(lttng.daemon())
        stack.enter_context(lttng.Session(directory, RECORDER, snapshot=True, events=EVENTS))
    except SystemExit as reason:
        return str(reason)
    return ''


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--quick', action='store_true')
    parser.add_argument('--rounds', type=int, default=7)
    parser.add_argument('--update', type=Path)
    parser.add_argument('build', type=Path)
    options = parser.parse_args()
    rounds = 1 if options.quick else options.rounds
    print(f'programs as they are, beside other tracers, {rounds} rounds in turns', flush=True)
    with tempfile.TemporaryDirectory(prefix='programs-') as name, ExitStack() as stack:
        w = Ways(options.build.resolve(), Path(name), options.quick)
        stack.callback(w.clean)
        w.without_lttng = begin_lttng(stack, name)
        load = os.getloadavg()[0]
        found = list(lines(measure(ways(w), rounds)))
        print(text(found))
    met = [line.met() for line in found if line.met() is not None]
    print(f'\n{sum(met)} of {len(met)} goals met')
    if options.update:
        cells = [HEAD, ['---'] * len(HEAD), *(line.cells() for line in found)]
        table = '\n'.join('| ' + ' | '.join(row) + ' |' for row in cells)
        update(options.update, f'{table}\n\n{", ".join(versions())}; {os.cpu_count()} processors, {rounds} rounds, '
               f'load {load:.2f} to {os.getloadavg()[0]:.2f}.\n', BEGIN, END)


if __name__ == '__main__':
    sys.exit(main())
