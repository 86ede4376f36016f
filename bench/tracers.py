#!/usr/bin/env python3
#
# tracers.py - what it costs to trace a function's beginning and end: posixtrace, LTTng-UST, uftrace, probes with perf,
# in turns
#
# usage: tracers.py [--rounds N] [--update FILE] BUILD
#
#   BUILD     with the library, and tool/posixtrace
#   --update  puts the table between its two marks in this document
#
# Each tracer has the function of tracers.c, compiled for it. Two events a call, with 8 bytes; uftrace records the call
# and the return, without arguments. All keep the newest events in memory but uftrace and perf, which write a file.
# Processor time of the thread that calls, over that of the same loop without trace points; what other threads and
# processes do is not in it. perf has to be root.
#
# SPDX-License-Identifier: MIT

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from lttng import Session, daemon
from table import digits, update

HERE = Path(__file__).resolve().parent
BEGIN, END = '<!-- begin: script/bench --tracers --update-docs -->', '<!-- end: tracers -->'
# What is compiled: its flags; and how many calls.
VARIANTS = {'none': ([], 2000000), 'posixtrace': (['-DPOSIXTRACE'], 2000000), 'LTTng-UST': (['-DLTTNG'], 500000),
            'uftrace': (['-pg'], 100000), 'probes, perf': (['-DUSDT'], 20000)}


def run(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, **options)
    if done.returncode:
        sys.exit(f'tracers.py: {" ".join(map(str, command))}: {done.stdout}{done.stderr}')
    return done.stdout


class Tracers:
    def __init__(self, build, directory):
        self.posixtrace = build / 'tool' / 'posixtrace'
        self.directory = directory
        library = build / 'src'
        for name, (flags, _) in VARIANTS.items():
            run(['cc', '-O2', '-g', *flags, f'-I{HERE.parent / "include"}', f'-I{HERE}', HERE / 'tracers.c', '-o',
                 self.program(name),
                 *([f'-L{library}', '-lposixtrace', f'-Wl,-rpath,{library}'] if name == 'posixtrace' else []),
                 *(['-llttng-ust', '-ldl'] if name == 'LTTng-UST' else [])])

    def program(self, name):
        return self.directory / ('loop-' + name.split(',')[0].split('-')[0])

    def command(self, name):
        return [self.program(name), str(VARIANTS[name][1])]

    def off(self, name):
        """Returns the time of a call that is not recorded. uftrace's functions call the counter for gprof."""
        return float(run(self.command(name), cwd=self.directory).split()[0])

    def recorded(self, name):
        if name == 'posixtrace':
            out = run([self.posixtrace, 'record', '-q', '--loop', '1M', '-o', self.directory / 'ours.log', '--',
                       *self.command(name)])
        elif name == 'LTTng-UST':
            with Session(self.directory, ['--overwrite', '--subbuf-size=256K', '--num-subbuf=4'], snapshot=True):
                out = run(self.command(name))
        elif name == 'uftrace':
            out = run(['uftrace', 'record', '--no-libcall', '--no-event', '-d', self.directory / 'uftrace',
                       *self.command(name)])
            shutil.rmtree(self.directory / 'uftrace')
        else:
            out = run(['perf', 'record', '-q', '-o', self.directory / 'perf.data', '-e', 'sdt_bench:begin', '-e',
                       'sdt_bench:end', '--',
                       *self.command(name)])
        return float(next(line for line in out.splitlines() if line.replace('.', '').isdigit()))

    def probes(self, on):
        program = self.program('probes, perf')
        if on:
            run(['perf', 'buildid-cache', '--add', program])
            for event in ('begin', 'end'):
                run(['perf', 'probe', '-q', '-x', program, f'sdt_bench:{event}'])
        else:
            subprocess.run(['perf', 'probe', '-q', '-d', 'sdt_bench:*'], capture_output=True, check=False)
            subprocess.run(['perf', 'buildid-cache', '--remove', program], capture_output=True, check=False)


def measure(tracers, rounds):
    """Returns the times of all rounds, without the loop: {tracer: ([nobody records], [recorded])}."""
    times = {name: ([], []) for name in VARIANTS if name != 'none'}
    for _ in range(rounds):
        loop = tracers.off('none')
        for name, (off, recorded) in times.items():
            off.append(tracers.off(name) - loop)
            recorded.append(tracers.recorded(name) - loop)
    return times


def cell(values):
    return f'{digits(max(0, statistics.median(values)))} ns ({digits(max(0, min(values)))}-{digits(max(values))})'


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--rounds', type=int, default=11)
    parser.add_argument('--update', type=Path)
    parser.add_argument('build', type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix='tracers-') as name, daemon():
        tracers = Tracers(options.build.resolve(), Path(name))
        tracers.probes(False)
        try:
            tracers.probes(True)
            times = measure(tracers, options.rounds)
        finally:
            tracers.probes(False)
    versions = [run(command).split()[word].strip('v') for command, word in
                ((['lttng', '--version'], 4), (['uftrace', '--version'], 1), (['perf', '--version'], 2))]
    ours = statistics.median(times['posixtrace'][1])
    table = '\n'.join([
        '| tracer | nobody records | recorded | times ours |', '| --- | --- | --- | --- |',
        *(f'| {name} | {cell(off)} | {cell(recorded)} | {digits(statistics.median(recorded) / ours)} |' for name,
          (off, recorded) in times.items()),
        '', f'LTTng {versions[0]}, uftrace {versions[1]}, perf {versions[2]}; {options.rounds} rounds, '
            f'load {os.getloadavg()[0]:.2f}.'])
    print(table)
    if options.update:
        update(options.update, table + '\n', BEGIN, END)


if __name__ == '__main__':
    main()
