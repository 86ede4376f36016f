#
# each_call.py - runs the tests of conformance with each call into the system failing once, in each call of the library
#
# Usage: each_call.py [--all] [--passes N] [--seed N] [--seconds N] [--which] [-v] [--test NAME] [-j N] PROGRAM...
#
# The programs are those that tests/fault/each_call.c is linked with. Each of
# their tests has to pass as ever, whatever has failed in between. Without --all
# only some failures are tried, at random, so many seconds at the most; the seed that is printed
# repeats the choice. With it each test is run until all of them were.
#
# The last line says how many calls of the library have met how many failures.
#
# SPDX-License-Identifier: MIT

import argparse
import concurrent.futures
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import time

# See each_call.h.
HEAD = struct.Struct('=17I')
ON = struct.Struct('=4I')
FUNCTIONS, PROCESSES, MOST, GONE_ON = 23, 16, 512, 4096
SIZE = HEAD.size + ON.size * GONE_ON + 4 * FUNCTIONS * PROCESSES * MOST

# Each call is made many times.
SLOW = str(4 * int(os.environ.get('TEST_SLOW', '1')))

# What a test rightly sees of a failure, or of what is between it and the library. Nothing else.
EXCEPT = {
    ('system_events', 'origin_of_calls'): 'the addresses of callers are those of each_call.c',
}


class Test:
    def __init__(self, program, name):
        self.program, self.name = program, name
        self.area = os.path.basename(program).removeprefix('each-call-')
        self.passes = self.calls = self.points = self.refused = self.ended = 0
        self.skipped = False
        self.failures = []

    def run_once(self, options, path, number, only=(0, 0, 0, 0), verbose=False):
        step, most = (1, options.most) if options.all else (24, 24)
        with open(path, 'r+b') as f:
            f.write(HEAD.pack(number, options.seed, step, most, verbose, *only, 0, 0, 0, 0, 0, 0, 0, 0))
        try:
            done = subprocess.run([self.program, self.name], env=dict(os.environ, EACH_CALL=path, TEST_SLOW=SLOW), stdin=subprocess.DEVNULL,
                                  capture_output=True, timeout=600)
            self.status, said = done.returncode, done.stdout + done.stderr
        except subprocess.TimeoutExpired as e:
            self.status, said = 'no end', (e.stdout or b'') + (e.stderr or b'')
        self.said = said.decode(errors='replace')
        with open(path, 'rb') as f:
            (_, _, _, _, _, _, _, _, _, _, calls, points, refused, self.pending, ended, wrong, self.gone_on) = \
                HEAD.unpack(f.read(HEAD.size))
            self.on = [ON.unpack(f.read(ON.size)) for _ in range(min(self.gone_on, GONE_ON))]
        # One that could not go on may find that its log lacks something; but it ends, and by itself.
        self.good = self.status in (0, 77) or (ended and not wrong and self.status == 1 and 'signal' not in self.said)
        return calls, points, refused, ended

    def which(self, options, path):
        """Of the calls that have gone on: each alone, does the test fail?"""
        for on in list(self.on):
            with open(path, 'wb') as f:
                f.truncate(SIZE)
            self.run_once(options, path, self.passes - 1, on, True)
            if not self.good:
                yield ' '.join(map(str, on)) + '\n' + self.said

    def run(self, options, directory):
        path = os.path.join(directory, f'{self.area}.{self.name}')
        with open(path, 'wb') as f:
            f.truncate(SIZE)
        os.chmod(path, 0o666)
        while self.passes < options.passes and time.monotonic() < options.until:
            calls, points, refused, ended = self.run_once(options, path, self.passes, verbose=options.verbose)
            self.passes += 1
            self.calls += calls
            self.points += points
            self.refused += refused
            self.ended += ended
            if options.verbose:
                sys.stdout.write(self.said)
            if self.status == 77:
                self.skipped = True
                break
            if not self.good:
                self.failures.append(f'FAIL {self.area} {self.name}, pass {self.passes - 1}: {self.status}\n{self.said}')
                if options.which:
                    self.failures.extend(f'by call {w}' for w in self.which(options, path))
                break
            if not self.pending or not options.all:
                break
        os.unlink(path)
        return self


def tests_of(program):
    names = subprocess.run([program, '--list'], capture_output=True, text=True, check=True).stdout.split()
    return [Test(program, name) for name in names]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--all', action='store_true')
    parser.add_argument('--passes', type=int, default=1000)
    parser.add_argument('--seed', type=lambda s: int(s, 0), default=int(os.environ.get('EACH_CALL_SEED', '0'), 0))
    parser.add_argument('--seconds', type=float, default=1e9)
    parser.add_argument('--most', type=int, default=64)
    parser.add_argument('--which', action='store_true')
    parser.add_argument('--jobs', '-j', type=int, default=4)
    parser.add_argument('--test', action='append')
    parser.add_argument('-v', '--verbose', action='store_true')
    parser.add_argument('programs', nargs='+')
    options = parser.parse_args()
    options.seed = options.seed or random.randrange(1, 1 << 32)
    options.until = time.monotonic() + options.seconds
    print(f'EACH_CALL_SEED={options.seed:#x}', flush=True)
    tests = [t for p in options.programs for t in tests_of(p) if options.test is None or f'{t.area}.{t.name}' in options.test or t.name in options.test]
    tests = [t for t in tests if (t.area, t.name) not in EXCEPT]
    random.Random(options.seed).shuffle(tests)
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o711)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for future in concurrent.futures.as_completed(pool.submit(t.run, options, directory) for t in tests):
                t = future.result()
                if t.failures:
                    print('\n'.join(t.failures), flush=True)
                elif options.all and t.passes:
                    print(f'ok   {t.area} {t.name}: {t.passes} passes, {t.calls} calls, {t.points} failures', flush=True)
    ran = [t for t in tests if t.passes and not t.skipped]
    failed = [t for t in tests if t.failures]
    print(f'{len(ran)} tests of {len(tests)}, {sum(t.passes for t in ran)} passes: {sum(t.calls for t in ran)} calls, '
          f'{sum(t.points for t in ran)} failures, {sum(t.refused for t in ran)} of them refused; '
          f'{sum(t.ended for t in ran)} ended early; {len(failed)} tests failed')
    return 1 if failed else 0


sys.exit(main())
