#
# each_call.py - runs the tests of conformance with each call into the system failing, in each call of the library
#
# Usage: each_call.py [--all] [--each N] [--seed N] [--seconds N] [--slowest N] [-v] [--test NAME] [-j N] PROGRAM...
#
# The programs are those that tests/fault/each_call.c is linked with. Each of
# their tests has to pass as ever, whatever has failed in between. What fails is a
# situation: a place in the library that comes to the system, and the one before it, in
# a call from one place in the test. Several calls of a test may go on, each with its own failure; a test that
# then fails is run with each of these alone, and passes if it passes so. With --all each test is run until every
# situation has failed so often (--each). Without it only some fail, at random. With --seconds no run begins after so
# many seconds. The seed that is printed repeats the choice.
#
# The last line says how many calls of the library have met how many failures.
#
# SPDX-License-Identifier: MIT

import argparse
import concurrent.futures
import os
import random
import struct
import subprocess
import sys
import tempfile
import time

# See each_call.h.
ON = struct.Struct('=Q4I24s')
LEFT_OUT = struct.Struct('=32s24s')
SITUATION = struct.Struct('=QQII')
GONE_ON, LEFT_OUT_MOST, SITUATIONS = 4096, 8, 65536
CHOICE = struct.Struct('=6I')
COUNTS = struct.Struct('=9I')
COUNTS_AT = CHOICE.size + LEFT_OUT_MOST * LEFT_OUT.size + ON.size
ON_AT = COUNTS_AT + COUNTS.size
SIZE = ON_AT + GONE_ON * ON.size + SITUATIONS * SITUATION.size

# Each call is made many times.
SLOW = str(4 * int(os.environ.get('TEST_SLOW', '1')))

# Tests that are not run at all: they notice the interposed calls themselves, not a failure.
EXCEPT = {
    'other_process.states_while_busy': 'counts on what a thread does in milliseconds, in which calls are made many '
                                       'times',
    'system_events.origin_of_calls': 'the addresses of callers are those of each_call.c',
    'log_status.one_moment': 'two threads ask for the status of the only flush; here one that has failed is made '
                             'again, and its status asked for',
}

# (function, what it calls of base/sys.h) that does not fail in a test, as this rightly sees it. Each one is tried
# alone, too: if the test does
# not see it after all, the entry is out of date, and that is a failure.
MARK = 'a process that has executed something, and whose parents have ended, is known by its mark alone'
LIMIT = 'streams of others are counted by /proc/locks, and those of the dead are gone: what of that cannot be read ' \
    'is not known'
MARKED = [('posix_trace_create', call, MARK) for call in ('sys_unused_limit', 'sys_set_unused_limit')]
LEFT_OUT_OF = {
    'ends.limit': [('posix_trace_create', call, LIMIT) for call in ('sys_open', 'sys_read')],
    'ends.limit_for_one_process': [('posix_trace_create', call, LIMIT) for call in ('sys_open', 'sys_map')],
    'ends.parent_that_traces_itself': [
        ('posix_trace_create', 'sys_not_on_fork',
         'a child keeps the memory of its parent\'s stream until it executes something or ends')],
    'inheritance.child_does_not_control': MARKED,
    'inheritance.own_stream': MARKED,
    'inheritance.unaware_parent': MARKED,
    'inheritance.unaware_parent_between': MARKED,
    'inheritance.ways': MARKED,
    'inheritance.ways_as_user': MARKED,
}


class Test:
    def __init__(self, program, name):
        self.program, self.test = program, name
        self.area = os.path.basename(program).removeprefix('each-call-')
        self.name = self.area + '.' + name
        self.passes = self.calls = self.points = self.refused = self.ended = self.together = 0
        self.seconds = 0.0
        self.skipped = False
        self.failures = []

    def begin(self, path):
        with open(path, 'wb') as f:
            f.truncate(SIZE)
        os.chmod(path, 0o666)

    def run_once(self, options, path, number, only=None, verbose=False, alone=()):
        left_out = alone or [(function, call) for function, call, _ in LEFT_OUT_OF.get(self.name, ())]
        with open(path, 'r+b') as f:
            f.write(CHOICE.pack(number, options.seed, 1 << 30 if alone else options.each,
                                1 if options.all else options.some, verbose, bool(alone)))
            for i in range(LEFT_OUT_MOST):
                f.write(LEFT_OUT.pack(*(n.encode() for n in left_out[i])) if i < len(left_out)
                        else bytes(LEFT_OUT.size))
            f.write(ON.pack(*only) if only else bytes(ON.size))
            f.write(bytes(COUNTS.size))
        try:
            done = subprocess.run([self.program, self.test], env=dict(os.environ, EACH_CALL=path, TEST_SLOW=SLOW),
                                  stdin=subprocess.DEVNULL,
                                  capture_output=True, timeout=600)
            self.status, said = done.returncode, done.stdout + done.stderr
        except subprocess.TimeoutExpired as e:
            self.status, said = 'no end', (e.stdout or b'') + (e.stderr or b'')
        self.said = said.decode(errors='replace')
        with open(path, 'rb') as f:
            f.seek(COUNTS_AT)
            _, calls, points, refused, self.pending, ended, wrong, full, gone_on = COUNTS.unpack(f.read(COUNTS.size))
            self.on = [ON.unpack(f.read(ON.size)) for _ in range(min(gone_on, GONE_ON))]
        # A test with a failed shutdown may miss events in its log, but must end by itself.
        self.good = self.status in (0, 77) or (ended and not wrong and self.status == 1 and 'signal' not in self.said)
        if full:
            self.good = False
            self.said += f'more than {SITUATIONS} situations\n'
        return calls, points, refused, ended

    def which(self, options, path):
        """Of the calls that have gone on: each alone, does the test fail?"""
        found = []
        for on in list(self.on):
            self.begin(path)
            self.run_once(options, path, self.passes - 1, on, True)
            if not self.good:
                found.append(f'by {on[5].rstrip(bytes(1)).decode()}, error {on[4]}, in call {on[3]} of function '
                             f'{on[2]} in process {on[1]}\n{self.said}')
        return found

    def passes_of(self, options, path):
        """Runs the test until no call is left that could fail, or until a run is not good."""
        while time.monotonic() < options.until:
            if self.passes == options.passes:
                self.failures.append(f'FAIL {self.name}: after {self.passes} passes there are more\n')
                return
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
                return
            pending = self.pending
            if not self.good:
                # Several calls have gone on, each with a failure. One by one is what has to be borne.
                failure, several = f'FAIL {self.name}, pass {self.passes - 1}: {self.status}\n{self.said}', \
                    len(self.on) > 1
                found = self.which(options, path + '.one')
                os.path.exists(path + '.one') and os.unlink(path + '.one')
                if found or not several:
                    self.failures.extend([failure, *found])
                    return
                print(f'with several failures at once:\n{failure}', end='', flush=True)
                self.together += 1
            if not pending or not options.all:
                return

    def left_out(self, options, path):
        """Checks that the test still notices the failures that LEFT_OUT_OF names for it."""
        for function, call, _ in LEFT_OUT_OF.get(self.name, ()):
            self.begin(path)
            for number in range(3): # the result may depend on timing
                self.run_once(options, path, number, alone=[(function, call)])
                if not self.good:
                    break
            if self.good:
                self.failures.append(f'FAIL {self.name} passes whatever {call} does in {function}: LEFT_OUT_OF is '
                                     f'out of date\n')

    def run(self, options, directory):
        path = os.path.join(directory, self.name)
        began = time.monotonic()
        self.begin(path)
        self.passes_of(options, path)
        if options.all and not self.skipped:
            self.left_out(options, path)
        os.unlink(path)
        self.seconds = time.monotonic() - began
        return self


def tests_of(program):
    names = subprocess.run([program, '--list'], capture_output=True, text=True, check=True).stdout.split()
    return [Test(program, name) for name in names]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--all', action='store_true')
    parser.add_argument('--each', type=int, default=1)
    parser.add_argument('--some', type=int, default=8)
    parser.add_argument('--passes', type=int, default=1000)
    parser.add_argument('--seed', type=lambda s: int(s, 0), default=int(os.environ.get('EACH_CALL_SEED', '0'), 0))
    parser.add_argument('--seconds', type=float, default=1e9)
    parser.add_argument('--slowest', type=int, default=0)
    parser.add_argument('--jobs', '-j', type=int, default=4)
    parser.add_argument('--test', action='append')
    parser.add_argument('-v', '--verbose', action='store_true')
    parser.add_argument('programs', nargs='+')
    options = parser.parse_args()
    options.seed = options.seed or random.randrange(1, 1 << 32)
    began = time.monotonic()
    options.until = began + options.seconds
    print(f'EACH_CALL_SEED={options.seed:#x}', flush=True)
    tests = [t for p in options.programs for t in tests_of(p)]
    areas, names = {t.area for t in tests}, {t.name for t in tests}
    stale = sorted(n for n in {*EXCEPT, *LEFT_OUT_OF} if n.split('.')[0] in areas and n not in names)
    for name in stale:
        print(f'FAIL {name}: there is no such test')
    tests = [t for t in tests if t.name not in EXCEPT
             and (not options.test or t.name in options.test or t.test in options.test)]
    random.Random(options.seed).shuffle(tests)
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o711)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for future in concurrent.futures.as_completed(pool.submit(t.run, options, directory) for t in tests):
                t = future.result()
                if t.failures:
                    print('\n'.join(t.failures), flush=True)
                elif options.all and t.passes:
                    print(f'ok   {t.name}: {t.passes} passes, {t.calls} calls, {t.points} failures, {t.seconds:.0f} s',
                          flush=True)
    ran = [t for t in tests if t.passes and not t.skipped]
    failed = [t for t in tests if t.failures]
    for t in sorted(tests, key=lambda t: -t.seconds)[:options.slowest]:
        print(f'{t.seconds:6.1f} s {t.name}, {t.passes} passes')
    print(f'{len(ran)} tests of {len(tests)}, {sum(t.passes for t in ran)} passes: {sum(t.calls for t in ran)} calls, '
          f'{sum(t.points for t in ran)} failures, {sum(t.refused for t in ran)} of them refused; '
          f'{sum(t.ended for t in ran)} ended early; {sum(t.together for t in ran)} passes not good with several '
          f'failures at once; {len(failed)} tests failed; {time.monotonic() - began:.0f} s')
    return 1 if failed or stale else 0


sys.exit(main())
