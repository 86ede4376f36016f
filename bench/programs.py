#!/usr/bin/env python3
#
# programs.py - what recording programs as they are adds to a call, beside other tracers, in turns
#
# usage: programs.py [--quick] [--rounds N] [--only PREFIX] [--update] BUILD
#
#   BUILD     with the library, tool/posixtrace, and the libraries of instrument/
#   --only    measures only the figures whose names begin so, for a test; names are in ways()
#   --update  puts the tables between their marks in docs/PERFORMANCE.md and docs/programs.md
#
# "floor" is the bare call; "ours" and "peer" are what recording adds to it, "ratio" the peer's against ours. Times are
# processor time of the program. Where the kernel stops the program for another one (strace, ltrace), the program waits
# for it, so the processor time of both counts. A tracer that is not there, or does not work here, is left out, and a
# line says so.
#
# SPDX-License-Identifier: MIT

import argparse
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import textwrap
from contextlib import ExitStack
from pathlib import Path

import lttng
from table import HEAD, Line, digits, ratio, text, update

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
# One run makes the table of all goals, and the tables of single sections, so they do not contradict each other.
GOALS, SECTIONS = ROOT / 'docs' / 'PERFORMANCE.md', ROOT / 'docs' / 'programs.md'
BEGIN, END = '<!-- begin: script/bench --programs --update-docs -->', '<!-- end: programs -->'
# A flight recorder of 1 MiB for each processor, as ours has 1 MiB.
RECORDER = ['--overwrite', '--subbuf-size=256k', '--num-subbuf=4']
EVENTS = 'bench:words*,bench:text,lttng_ust_libc:*'
LOOP = ['--loop', '1M']
FAST, CALLS, SLOW, STOPPED, STARTS = 2000000, 500000, 40000, 2000, 200
# A log of so many calls is complete: retried where events were lost, because a lost event costs less.
TRIES = 3
ALL_GROUPS = 'io,locks,threads,process,memory'
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

    def logged(self, options, program, what, count):
        """As record, into a log that lacks nothing."""
        for _ in range(TRIES):
            took = self.record(options, program, what, count)
            counted = json.loads(run([self.posixtrace, 'stat', '--json', self.directory / 'ours.log']))
            if not sum(file['missing'] for file in counted['files']):
                return took
        raise Missing(f'record {" ".join(options)} loses events here')

    def bytes(self, name, count):
        """Bytes of the last file of this name for each call, of which a program does a tenth more than it is told."""
        path = self.directory / name
        if not path.exists():
            raise Missing(f'there is no {name}')
        return path.stat().st_size / (1.1 * int(self.command('plain', '', count)[-1]))

    def environment(self, options):
        """What record --OPTION adds to the environment of a program."""
        key = tuple(options)
        if key not in self.environments:
            names = ('LD_PRELOAD', 'LD_LIBRARY_PATH', 'POSIXTRACE_')
            listed = run([self.posixtrace, 'record', '-q', *options, '-o', self.directory / 'none.log', '--', 'env'])
            self.environments[key] = dict(line.split('=', 1) for line in listed.splitlines() if line.startswith(names))
        return self.environments[key]

    def prepared(self, options, program, what, count):
        """As record --OPTION prepares a program, but nobody records."""
        return self.told(self.command(program, what, count), self.environment(options))

    def elsewhere(self, options, program, what, count):
        """The same while its parent is recorded."""
        prepare = [f'{name}={value}' for name, value in self.environment(options).items()]
        return self.told([self.posixtrace, 'record', '-q', '-o', self.directory / 'other.log', '--', 'sh', '-c',
                          'env "$@"; exit $?', 'sh', *prepare, *self.command(program, what, count)])

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

    def uftrace(self, program, what, count, *options):
        need('uftrace')
        folder = self.directory / 'uftrace'
        try:
            return self.beside(['uftrace', 'record', '--no-libcall', '--no-event', *options, '-d', folder], program,
                               what, count)
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
    found = {'loop': lambda: w.bare('plain', 'loop', FAST)}
    # The session does not record this one.
    found['number off'] = lambda: w.prepared(['--lttng'], 'lttng', 'number', FAST)
    found['number lttng off'] = lambda: w.bare('lttng', 'number', FAST)
    for what in ('words1', 'words4', 'text'):
        found[what] = lambda what=what: w.record(['--lttng', *LOOP], 'lttng', what, CALLS)
        found[f'{what} lttng'] = lambda what=what: w.lttng(what, CALLS)
    found.update({
        'function': lambda: w.bare('plain', 'functions', FAST),
        'hooks bare': lambda: w.bare('hooks', 'functions', FAST),
        'hooks off': lambda: w.prepared(['--functions'], 'hooks', 'functions', FAST),
        'hooks': lambda: w.record(['--functions', *LOOP], 'hooks', 'functions', CALLS),
        'hooks uftrace': lambda: w.uftrace('hooks', 'functions', CALLS),
        'hooks log': lambda: w.logged(['--functions'], 'hooks', 'functions', CALLS),
        'hooks log bytes': lambda: w.bytes('ours.log', CALLS),
        'hooks large': lambda: w.logged(['--functions', '-s', '64M'], 'hooks', 'functions', FAST),
        # main() and do_functions() are two levels, and take longer than any call that is measured.
        'hooks deeper': lambda: w.record(['--functions', '--functions-depth', '2'], 'hooks', 'functions', CALLS),
        'hooks deeper uftrace': lambda: w.uftrace('hooks', 'functions', CALLS, '-D', '2'),
        'hooks others': lambda: w.record(['--functions=do_*'], 'hooks', 'functions', CALLS),
        'hooks longer': lambda: w.record(['--functions', '--functions-longer-than', '1ms'], 'hooks', 'functions',
                                         CALLS),
        'hooks longer uftrace': lambda: w.uftrace('hooks', 'functions', CALLS, '-t', '1ms'),
        'clang': lambda: w.bare('clang', 'functions', FAST),
        'sleds off': lambda: w.prepared(['--functions'], 'sleds', 'functions', FAST),
        'sleds': lambda: w.record(['--functions', *LOOP], 'sleds', 'functions', CALLS),
        'sleds log': lambda: w.logged(['--functions'], 'sleds', 'functions', CALLS),
        'malloc': lambda: w.bare('plain', 'malloc', FAST),
        'malloc off': lambda: w.prepared(['--libc', 'memory'], 'plain', 'malloc', FAST),
        'malloc elsewhere': lambda: w.elsewhere(['--libc', 'memory'], 'plain', 'malloc', FAST),
        'malloc on': lambda: w.record(['--libc', 'memory', *LOOP], 'plain', 'malloc', CALLS),
        'malloc log': lambda: w.logged(['--libc', 'memory', '-s', '64M'], 'plain', 'malloc', CALLS),
        'malloc lttng': lambda: w.lttng_libc('malloc', CALLS),
        'malloc heaptrack': lambda: w.heaptrack('malloc', SLOW),
        'malloc ltrace': lambda: w.ltrace('malloc+free', 'malloc', STOPPED),
        'write': lambda: w.bare('plain', 'write', CALLS),
        'write off': lambda: w.prepared(['--libc', 'io'], 'plain', 'write', CALLS),
        'write elsewhere': lambda: w.elsewhere(['--libc', 'io'], 'plain', 'write', CALLS),
        'write on': lambda: w.record(['--libc', 'io', *LOOP], 'plain', 'write', CALLS),
        'write log': lambda: w.logged(['--libc', 'io', '-s', '64M'], 'plain', 'write', CALLS),
        'write strace': lambda: w.strace(['-e', 'trace=write'], 'write', SLOW),
        'write perf trace': lambda: w.perf_trace(['-e', 'write'], 'write', SLOW),
        'write ltrace': lambda: w.ltrace('write', 'write', STOPPED),
        'start': lambda: w.bare('plain', 'start', STARTS),
        'start off': lambda: w.prepared(['--libc', ALL_GROUPS], 'plain', 'start', STARTS),
        'start elsewhere': lambda: w.elsewhere(['--libc', ALL_GROUPS], 'plain', 'start', STARTS),
        'start on': lambda: w.record(['--libc', ALL_GROUPS, '--children', *LOOP], 'plain', 'start', STARTS),
        'start log': lambda: w.logged(['--libc', ALL_GROUPS, '--children'], 'plain', 'start', STARTS),
        'drop-in off': lambda: w.bare('drop-in', 'probe', FAST),
        'drop-in': lambda: w.record(LOOP, 'drop-in', 'probe', CALLS),
        'probe': lambda: w.bare('probe', 'probe', FAST),
        'probe on': lambda: w.record(['--usdt', PROBE], 'probe', 'probe', SLOW),
        'probe on bytes': lambda: w.bytes('ours.log', SLOW),
        'probe perf': lambda: w.perf_probe(SLOW),
        'probe perf bytes': lambda: w.bytes('perf.data', SLOW),
        'probe bpftrace': lambda: w.bpftrace(SLOW),
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
    # Both write files.
    ('function, `-finstrument-functions`; uftrace', 'function', 'hooks log', 'hooks uftrace', {'least': 2.5}),
    ('function, XRay, off', 'clang', 'sleds off', None, {'most': 0.5}),
    ('function, XRay; uftrace, `-finstrument-functions`', 'function', 'sleds log', 'hooks uftrace', {}),
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


# The tables of docs/programs.md: the name of a section, the head of its table, and its rows. A figure is what a way
# adds to the bare call, or with None that call itself; a pair of them is a ratio.
ADDED = {'number': 'loop', 'words1': 'loop', 'words4': 'loop', 'text': 'loop', 'hooks': 'function',
         'sleds': 'clang', 'malloc': 'malloc', 'write': 'write', 'start': 'start', 'drop-in': 'loop', 'probe': 'loop'}
UFTRACE = 'hooks uftrace'
TABLES = {
    'lttng': (['an event of', 'posixtrace', "LTTng's flight recorder", 'of that'], [
        ['8 bytes', 'words1', 'words1 lttng', ('words1', 'words1 lttng')],
        ['32 bytes', 'words4', 'words4 lttng', ('words4', 'words4 lttng')],
        ['a text of 18 bytes, two numbers', 'text', 'text lttng', ('text', 'text lttng')],
        ['a number, while nobody records', 'number off', 'number lttng off', None],
    ]),
    'functions': (['a call', 'adds', 'of what uftrace adds', 'bytes in the log'], [
        ['with `-finstrument-functions`, nobody records', 'hooks bare', None],
        ['the same with the library preloaded', 'hooks off', None],
        ['with XRay and the library, nobody records', 'sleds off', None],
        ['`record --functions`', 'hooks log', ('hooks log', UFTRACE), ('hooks log bytes', None)],
        ['the same with XRay', 'sleds log', ('sleds log', UFTRACE)],
        ['`--loop`', 'hooks', ('hooks', UFTRACE)],
        ['the same with XRay', 'sleds', ('sleds', UFTRACE)],
        ['`-s 64M`, more than the caches hold', 'hooks large', ('hooks large', UFTRACE)],
        ['`--functions-depth`, deeper calls; uftrace `-D`', 'hooks deeper', ('hooks deeper', 'hooks deeper uftrace')],
        ['`--functions=NAME`, other functions', 'hooks others', None],
        ['`--functions-longer-than`, shorter calls; uftrace `-t`', 'hooks longer',
         ('hooks longer', 'hooks longer uftrace')],
        ['uftrace', UFTRACE, None],
        ['uftrace `-D`, deeper calls', 'hooks deeper uftrace', None],
        ['uftrace `-t`, shorter calls', 'hooks longer uftrace', None],
    ]),
    'libc': (['', 'bare', 'nobody records', 'another process is recorded', 'flight recorder', 'log'], [
        ['`malloc()` and `free()`', ('malloc', None), 'malloc off', 'malloc elsewhere', 'malloc on', 'malloc log'],
        ['`write()` to `/dev/null`', ('write', None), 'write off', 'write elsewhere', 'write on', 'write log'],
        ['a process, `/bin/true`', ('start', None), 'start off', 'start elsewhere', 'start on', 'start log'],
    ]),
    'usdt': (['a probe', 'adds', 'bytes in the file'], [
        ['our `<sys/sdt.h>`, nobody records', 'drop-in off', None],
        ["SystemTap's, a `nop`", 'probe', None],
        ['our `<sys/sdt.h>`, recorded', 'drop-in', None],
        ['`record --usdt`', 'probe on', ('probe on bytes', None)],
        ['`perf record`', 'probe perf', ('probe perf bytes', None)],
        ['bpftrace, which only counts', 'probe bpftrace', None],
    ]),
}


def added(times, name):
    """Returns what a way adds to the bare call, round by round, or None if it was not measured."""
    bare = next(ADDED[key] for key in ADDED if name.startswith(key))
    if name not in times or bare not in times:
        return None
    return [a - b for a, b in zip(times[name], times[bare])]


def span(values, unit):
    """The median, with the least and the greatest; below 0 is noise."""
    size = max(map(abs, values))
    scale, unit = (1e6, 'ms') if unit == 'ns' and size >= 1e5 else (1e3, 'us') if unit == 'ns' and size >= 1e3 \
        else (1, unit)
    middle, least, most = (digits(max(0, of(values)) / scale) for of in (statistics.median, min, max))
    return f'{middle} {unit}' + ('' if least == most else f' ({least}-{most})')


def figure(times, wanted):
    """Returns the cell of a table."""
    if wanted is None:
        return ''
    if isinstance(wanted, str):
        values, unit = added(times, wanted), 'ns'
    elif wanted[1] is None:
        values, unit = times.get(wanted[0]), 'bytes' if wanted[0].endswith('bytes') else 'ns'
    else:
        ours, theirs = (added(times, name) for name in wanted)
        values, unit = ours and theirs and ratio(ours, theirs), 'x'
    return span(values, unit) if values else 'not measured'


def told(quick, rounds, loads):
    """The sentences below each table."""
    low, high = sorted(loads)
    taken = f'medians of {rounds} rounds by turns' if rounds > 1 else 'one round'
    busy = ' The machine was busy: only ratios mean something.' if low > os.cpu_count() else ''
    test = ' This was a test of the benchmark (`--quick`), with few calls.' if quick else ''
    return textwrap.fill(f'{", ".join(versions())}; {os.cpu_count()} processors, {taken}, load {low:.1f} to '
                         f'{high:.1f}.{busy}{test}', 100)


def markdown(head, rows):
    return '\n'.join('| ' + ' | '.join(row) + ' |' for row in [head, ['---'] * len(head), *rows])


def write_documents(found, times, said):
    tables = {name: markdown(head, [[title, *(figure(times, wanted) for wanted in wanted_of),
                                     *[''] * (len(head) - 1 - len(wanted_of))] for title, *wanted_of in rows])
              for name, (head, rows) in TABLES.items()}
    update(GOALS, f'{markdown(HEAD, [line.cells() for line in found])}\n\n{met(found)}\n\n{said}\n', BEGIN, END)
    for name, table in tables.items():
        update(SECTIONS, f'{table}\n\n{said}\n', BEGIN.replace(' -->', f', {name} -->'), f'<!-- end: {name} -->')


def met(found):
    judged = [line.met() for line in found if line.met() is not None]
    return f'{sum(judged)} of {len(judged)} goals are met in this run.'


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
    parser.add_argument('--only', default='')
    parser.add_argument('--update', action='store_true')
    parser.add_argument('build', type=Path)
    options = parser.parse_args()
    rounds = 1 if options.quick else options.rounds
    print(f'programs as they are, beside other tracers, {rounds} rounds in turns', flush=True)
    with tempfile.TemporaryDirectory(prefix='programs-') as name, ExitStack() as stack:
        w = Ways(options.build.resolve(), Path(name), options.quick)
        stack.callback(w.clean)
        w.without_lttng = begin_lttng(stack, name)
        load = os.getloadavg()[0]
        wanted = {way: take for way, take in ways(w).items() if way.startswith(options.only)}
        times = measure(wanted, rounds)
    found = list(lines(times))
    print(text(found) if found else times)
    print(f'\n{met(found)}')
    if options.update:
        write_documents(found, times, told(options.quick, rounds, (load, os.getloadavg()[0])))


if __name__ == '__main__':
    sys.exit(main())
