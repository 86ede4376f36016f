#
# run.py - has SPIN try the model: nothing may be found in it as it is, and something in each mutant
#
# usage: run.py model      the small configurations: a test
#        run.py mutants    each mutant, in a configuration where it shows: a test
#        run.py full       the large ones, one after the other; prints the table of README.md (script/model)
#        run.py NAME       one of them, by its name
#
# SPDX-License-Identifier: MIT

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

MODEL = Path(__file__).resolve().parent / 'recording.pml'

# Seconds for each.
LIMIT = int(os.environ.get('MODEL_LIMIT', 7200))

ONE = 'WRITERS=1 EVENTS_1=0 '

# Name, defines, what it is about. A second or two each.
SMALL = {
    'loop': (ONE + 'EVENTS_0=3 CAP=2', 'LOOP overwrites beside the reader'),
    'loop-kill': (ONE + 'EVENTS_0=3 CAP=2 CHUNKS=1 KILLS', 'the same, killed'),
    'full': (ONE + 'EVENTS_0=3 CAP=2 UNTIL_FULL', 'UNTIL_FULL stops, and runs again'),
    'signal': (ONE + 'EVENTS_0=1 HANDLER KILLS', 'a handler in a trace point, killed'),
    'restart': (ONE + 'EVENTS_0=1 HANDLER RESTART', 'a handler in the stretch of lane_write()'),
    'sleep': (ONE + 'EVENTS_0=2 SLEEP', 'a reader that sleeps'),
    'alone': ('EVENTS_0=1 ALONE TRIES=1 CHUNKS=1 DEPTH=1', 'a thread without a seat beside one with'),
    'kill': ('EVENTS_0=1 CHUNKS=1 TRIES=1 HANDLER KILLS READ_LATE', 'two threads, a handler, a kill; read afterwards'),
    'stop': (ONE + 'EVENTS_0=1 STOP TRIES=1 CHUNKS=1', 'stop beside a trace point'),
}

# Minutes each, one after the other.
LARGE = {
    'two': ('EVENTS_0=1', 'two threads, LOOP, room for all'),
    'two-full': ('EVENTS_0=1 UNTIL_FULL', 'two threads, UNTIL_FULL'),
    'two-fight': ('EVENTS_0=1 CHUNKS=1 CAP=2', 'two threads, one chunk: each takes it from the other, and overwrites'),
    'two-kill': ('EVENTS_0=1 KILLS', 'two threads, one is killed'),
    'signal-kill': (ONE + 'EVENTS_0=2 HANDLER KILLS CAP=2', 'a handler, overwriting, killed'),
    'restart-kill': (ONE + 'EVENTS_0=2 HANDLER RESTART KILLS', 'a handler in the stretch, killed'),
    'full-signal': (ONE + 'EVENTS_0=3 HANDLER UNTIL_FULL CAP=2', 'a handler, UNTIL_FULL'),
    'alone-two': ('EVENTS_0=2 ALONE TRIES=1', 'a thread without a seat, two chunks'),
    'alone-kill': ('EVENTS_0=1 ALONE TRIES=1 CHUNKS=1 KILLS', 'a thread without a seat, one of both killed'),
    'stop-record': (ONE + 'EVENTS_0=2 STOP TRIES=1', 'stop beside trace points'),
    'stop-signal': (ONE + 'EVENTS_0=1 STOP HANDLER CHUNKS=1 DEPTH=1', 'stop beside a trace point and a handler'),
    'weak': ('EVENTS_0=1 ALONE TRIES=1 CHUNKS=1 WEAK', 'stores pass each other, as ARM may'),
    'weak-loop': (ONE + 'EVENTS_0=3 CAP=2 CHUNKS=1 WEAK DEPTH=3', 'the same while LOOP overwrites'),
    'all-late': ('CHUNKS=1 TRIES=1 HANDLER KILLS READ_LATE', 'two threads, a handler, a kill, one chunk; read afterwards'),
    'all-late-restart': ('CHUNKS=1 TRIES=1 HANDLER RESTART KILLS READ_LATE', 'the same, and the stretch is broken off'),
    'all-late-two': ('CAP=2 TRIES=1 HANDLER KILLS READ_LATE', 'the same with two chunks'),
    'all-late-full': ('CAP=2 TRIES=1 HANDLER KILLS UNTIL_FULL READ_LATE', 'the same, UNTIL_FULL'),
    'all-late-weak': ('CHUNKS=1 TRIES=1 HANDLER KILLS READ_LATE WEAK', 'the same, stores pass each other'),
    'three-late': ('WRITERS=3 EVENTS_0=1 EVENTS_2=1 CHUNKS=1 TRIES=1 KILLS READ_LATE DEPTH=1', 'three threads, one of two killed'),
}

FIGHT = 'EVENTS_0=2 CHUNKS=1'
OVER = ONE + 'EVENTS_0=3 CAP=2 CHUNKS=1'

# Each breaks one rule; SPIN has to find what comes of it.
MUTANTS = {
    'COMMIT_FIRST': ONE + 'EVENTS_0=1',
    'NO_LOOK_AT_THE_OWNER': FIGHT,
    'REVOKE_WITHOUT_BARRIER': FIGHT,
    'REVOKE_DOES_NOT_WAIT': 'EVENTS_0=1 ALONE TRIES=1 CHUNKS=1 DEPTH=1',
    'BUSY_ENDS_FIRST': FIGHT,
    'HELD_BEFORE_BEGUN': FIGHT,
    'CLAIM_OF_THE_LIVING': FIGHT,
    'CLAIMED_BEFORE_COPIED': OVER,
    'RECYCLE_LEAVES_READ': OVER,
    'RECYCLE_FIRST_LAST': OVER,
    'NO_SECOND_LOOK': ONE + 'EVENTS_0=4 CAP=2',
    'NO_GAP': OVER,
    'HORIZON_WITHOUT_BARRIER': 'EVENTS_0=2',
    'HORIZON_IGNORES_BUSY': 'EVENTS_0=2',
    'HORIZON_IGNORES_CLAIMS': 'EVENTS_0=1 ALONE TRIES=1 DEPTH=1',
    'TICKS_BEFORE_BUSY': 'EVENTS_0=2',
    'NO_PUT_BACK': OVER + ' KILLS',
    'CLAIM_OF_THE_DEAD': OVER + ' KILLS',
    'WAIT_FOR_THE_DEAD': ONE + 'EVENTS_0=2 CHUNKS=1 KILLS',
    'MEND_BELIEVES_NOTHING': ONE + 'EVENTS_0=2 HANDLER RESTART',
    'SLEEPS_AT_ONCE': ONE + 'EVENTS_0=1 SLEEP',
    'FORGETS_ANOTHERS_WAIT': ONE + 'EVENTS_0=2 SLEEP',
    'STRETCH_ENDS_LATE': 'CHUNKS=1 TRIES=1 HANDLER RESTART KILLS READ_LATE',
    'STATE_BEFORE_CLAIM': ONE + 'EVENTS_0=2 HANDLER STOP',
    'STOP_IGNORES_CLAIMS': ONE + 'EVENTS_0=2 HANDLER STOP',
    'READ_BEFORE_GAP': 'EVENTS_0=2 ALONE CHUNKS=1 CAP=2 TRIES=1 DEPTH=1 KILLS KILL_ONLY_1 READ_LATE',
    'NO_SETTLE': 'EVENTS_0=2 ALONE HANDLER CHUNKS=1 CAP=4 TRIES=1 DEPTH=1 KILLS KILL_ONLY_1 READ_LATE',
}

class Result:
    def __init__(self, text):
        def number(pattern, default='?'):
            match = re.search(pattern, text)
            return match[1] if match else default
        self.errors = number(r'errors: (\d+)')
        self.complete = 'Search not completed' not in text and 'max search depth too small' not in text
        self.states = number(r'([\d.e+]+) states, stored')
        self.depth = number(r'depth reached (\d+)')
        self.seconds = number(r'elapsed time ([\d.]+)')
        self.memory = number(r'([\d.]+)\s+total actual memory usage')
        self.what = number(r'(assertion violated .*) \(at depth', '')
        self.text = text


def run(defines, compile_with, limit, hash_bits):
    with tempfile.TemporaryDirectory() as directory:
        flags = ['-D' + d for d in defines.split()]
        subprocess.run(['spin', *flags, '-a', str(MODEL)], cwd=directory, check=True, stdout=subprocess.DEVNULL)
        # Steps are not left out (NOREDUCE): SPIN's way to do that does not go with processes that are stopped from outside.
        subprocess.run(['gcc', '-w', '-DSAFETY', '-DNOREDUCE', '-DVECTORSZ=2048', *compile_with, '-o', 'pan', 'pan.c'],
                       cwd=directory, check=True)
        # -E: where a thread was killed is no deadlock; the model looks for those itself (monitor).
        text = subprocess.run(['./pan', '-E', '-n', '-m1000000', f'-w{hash_bits}'], cwd=directory, timeout=limit,
                              stdout=subprocess.PIPE, text=True).stdout
        result = Result(text)
        if result.seconds == '?':
            sys.exit(f'{defines}: the search was broken off\n{text[-500:]}')
        return result


def show(name, result, about):
    print(f'{name:24} {result.states:>11} states, depth {result.depth:>6}, {float(result.seconds):7.1f} s, '
          f'{float(result.memory):6.0f} MB  {about}', flush=True)


def right(name, defines, about, compile_with, hash_bits=24):
    try:
        result = run(defines, compile_with, LIMIT, hash_bits)
    except subprocess.TimeoutExpired:
        print(f'{name:24} not finished in {LIMIT} s  {about}', flush=True)
        return False
    show(name, result, about)
    if result.errors != '0' or not result.complete:
        print(f'{name}: {result.what or result.text[-500:]}', file=sys.stderr)
        return False
    return True


def wrong(name, defines, compile_with, hash_bits=24):
    try:
        result = run(defines + ' MUTANT_' + name, compile_with, LIMIT, hash_bits)
    except subprocess.TimeoutExpired:
        print(f'{name:24} not found in {LIMIT} s', flush=True)
        return False
    show(name, result, result.what[:60])
    if result.errors == '0' or not result.what:
        print(f'{name}: SPIN finds nothing wrong with it', file=sys.stderr)
        return False
    return True


def main():
    what = sys.argv[1] if len(sys.argv) > 1 else 'model'
    if not shutil.which('spin') or not shutil.which('gcc'):
        print('no spin, or no gcc: skipped')
        return 77
    os.nice(19 if what == 'full' else 0)
    quick, large = ['-O1'], ['-O2', '-DCOLLAPSE', '-DMEMLIM=16000']
    good = True
    if what == 'model':
        for name, (defines, about) in SMALL.items():
            good &= right(name, defines, about, quick)
    elif what == 'mutants':
        for name, defines in MUTANTS.items():
            good &= wrong(name, defines, quick)
    elif what == 'full':
        for name, (defines, about) in {**SMALL, **LARGE}.items():
            good &= right(name, defines, about, large, 26)
        for name, defines in MUTANTS.items():
            good &= wrong(name, defines, large)
    else:
        both = {**SMALL, **LARGE}
        if what in both:
            good = right(what, *both[what], large, 26)
        elif what in MUTANTS:
            good = wrong(what, MUTANTS[what], large, 24)
        else:
            print(f'run.py: no {what}', file=sys.stderr)
            return 2
    return 0 if good else 1


sys.exit(main())
