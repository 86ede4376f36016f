#
# run.py - runs the benchmarks, one after the other, and leaves their figures in one directory
#
# usage: run.py [--quick] [--peers] BUILD [PROGRAM [ARGUMENT...]]
#
#   Without a program: all of them, into BUILD/results/, with LTTng beside them if
#   --peers is given; table.py makes a table of that.
#   With one: bench-PROGRAM, with its arguments, and no figures but what it prints.
#
# SPDX-License-Identifier: MIT

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path

from lttng import Session, daemon

PROGRAMS = ['parts', 'record', 'life', 'wake', 'latency', 'read', 'thousand', 'size', 'disk', 'open', 'grow', 'typed',
            'typed-cpp', 'reader']
BESIDE_LTTNG = ['record', 'typed', 'typed-cpp']
# A flight recorder of 1 MiB for each CPU.
RECORDER = ['--overwrite', '--subbuf-size=256k', '--num-subbuf=4']


def run(build, program, arguments, peers):
    """Ends as the program does, if it fails."""
    print(f'\n== bench-{program}', flush=True)
    # Only these record with LTTng beside them; peers.py has sessions of its own.
    peers = peers and program in BESIDE_LTTNG
    with tempfile.TemporaryDirectory() as directory, daemon() if peers else nullcontext():
        with Session(directory, RECORDER, snapshot=True) if peers else nullcontext():
            status = subprocess.run([build / 'bench' / f'bench-{program}', *arguments], check=False).returncode
    if status:
        print(f'bench: FAILED: bench-{program}: exit status {status}', file=sys.stderr)
        sys.exit(status if status > 0 else 1)


def unused(build, results):
    """What the library costs a program that is linked with it: a test measures that."""
    print('\n== linked and unused', flush=True)
    done = subprocess.run([build / 'tests' / 'fault' / 'fault-unused', 'unused'], capture_output=True, text=True,
                          check=False)
    print(done.stdout, end='')
    if done.returncode not in (0, 77):
        sys.exit(f'bench: FAILED: fault-unused: exit status {done.returncode}\n{done.stderr}')
    rows = [line.split('\t') for line in done.stdout.splitlines() if line.startswith('unused\t')]
    rows = [{'section': section, 'row': row, 'figure': [float(more)], 'floor': [float(empty)]}
            for section, row, more, empty in rows]
    (results / 'unused.json').write_text(json.dumps({'rows': rows}))


def everything(options):
    results = options.build / 'results'
    shutil.rmtree(results, ignore_errors=True)
    results.mkdir()
    with tempfile.TemporaryDirectory(dir='.', prefix='build-bench-') as logs:
        for program in PROGRAMS:
            # Is built where there is a C++ compiler.
            if program == 'typed-cpp' and not (options.build / 'bench' / f'bench-{program}').exists():
                continue
            # record.c has options of its own, and makes no files.
            where = [] if program == 'record' else ['--directory', logs]
            quick = ['--quick'] if options.quick else []
            run(options.build, program, [*quick, *where, '--json', results / f'{program}.json'], options.peers)
        unused(options.build, results)
        if options.peers:
            print('\n== peers', flush=True)
            subprocess.run([sys.executable, Path(__file__).with_name('peers.py'),
                            *(['--quick'] if options.quick else []),
                            options.build, logs, results / 'peers.json'], check=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--quick', action='store_true')
    parser.add_argument('--peers', action='store_true')
    parser.add_argument('build', type=Path)
    parser.add_argument('program', nargs='?')
    parser.add_argument('arguments', nargs=argparse.REMAINDER)
    options = parser.parse_args()
    options.build = options.build.resolve()
    if options.program:
        run(options.build, options.program, options.arguments, options.peers)
    else:
        everything(options)


if __name__ == '__main__':
    main()
