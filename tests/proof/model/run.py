#
# run.py - has SPIN try the model: nothing may be found in it as it is, and something in each mutant
#
# usage: run.py model      the small configurations: a test; four of them at random, and all with TEST_THOROUGH
#        run.py mutants    mutants, each in a configuration where it shows: a test; three, and all with TEST_THOROUGH
#        run.py full       the large ones too, one after the other; prints the table of README.md (script/model)
#        run.py NAME...    some of them, by their names, thoroughly; and those that need 20 GB and more than an hour
#
# SPDX-License-Identifier: MIT

import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

MODEL = Path(__file__).resolve().parent / 'recording.pml'
# The fastest compiler first: compiling takes most of a test's time.
COMPILER = next((name for name in ('clang', 'gcc', 'cc') if shutil.which(name)), None)

# Seconds for each, and MB.
LIMIT = int(os.environ.get('MODEL_LIMIT', 7200))
MEMORY = int(os.environ.get('MODEL_MEMORY', 6000))
HUGE_MEMORY = max(MEMORY, 20000)

# Optimizing takes longer than a short search.
QUICK = ['-O0']
THOROUGH = ['-O1', '-DCOLLAPSE', f'-DMEMLIM={MEMORY}']
WHOLLY = ['-O2', '-DCOLLAPSE', f'-DMEMLIM={HUGE_MEMORY}']
QUICK_HASH, THOROUGH_HASH, WHOLLY_HASH = 20, 25, 28

ONE = 'WRITERS=1 EVENTS_1=0 '
TWO_EVENTS = 'EVENTS_0=2 TRIES=1 DEPTH=1'

# Name, defines, what it is about. A second or two each.
SMALL = {
    'loop': (ONE + 'EVENTS_0=3 CAP=2', 'one thread, LOOP overwrites beside the reader'),
    'loop-kill': (ONE + 'EVENTS_0=2 CAP=2 CHUNKS=1 KILLS STATUS=1', 'the same, killed; and the status'),
    'full': (ONE + 'EVENTS_0=3 CAP=2 UNTIL_FULL', 'one thread, UNTIL_FULL stops, and runs again'),
    'signal': (ONE + 'EVENTS_0=1 HANDLER KILLS', 'one thread, a handler, killed'),
    'restart': (ONE + 'EVENTS_0=1 HANDLER HAVE_RSEQ', 'a handler in the rseq of writer_write()'),
    'change': (ONE + 'EVENTS_0=3 CAP=2 HANDLER CHANGE READ_LATE', 'a handler in the rseq of writer_hold()'),
    'sleep': (ONE + 'EVENTS_0=2 SLEEP', 'a reader that sleeps'),
    'alone': ('EVENTS_0=1 ALONE TRIES=1 CHUNKS=1 DEPTH=1', 'a thread without a seat beside one with'),
    'kill': ('EVENTS_0=1 CHUNKS=1 TRIES=1 HANDLER KILLS READ_LATE', 'two threads, a handler, a kill, one chunk, late'),
    'run': (ONE + 'EVENTS_0=4 CHUNKS=1 TRIES=1 DEPTH=1 RUN',
            'a reader that takes two at once, LOOP overwrites beside it'),
    'give-up': (ONE + 'EVENTS_0=3 CAP=2 TRIES=1 DEPTH=1 GIVES_UP', 'an acquirer stands still, and the reader goes on'),
    'stop': (ONE + 'EVENTS_0=1 STOP TRIES=1 CHUNKS=1', 'stop beside a trace point'),
}

# Run one after another, up to some minutes each.
LARGE = {
    'loop-kill-more': (ONE + 'EVENTS_0=3 CAP=2 CHUNKS=1 KILLS', 'one thread, three events, killed'),
    'two': ('EVENTS_0=1', 'two threads, LOOP'),
    'two-full': ('EVENTS_0=1 UNTIL_FULL', 'two threads, UNTIL_FULL'),
    'two-fight': ('EVENTS_0=1 CHUNKS=1 CAP=2', 'two threads, one chunk'),
    'two-kill': ('EVENTS_0=1 KILLS', 'two threads, one is killed'),
    'signal-kill': (ONE + 'EVENTS_0=2 HANDLER KILLS CAP=2', 'a handler, overwriting, killed'),
    'restart-kill': (ONE + 'EVENTS_0=2 HANDLER HAVE_RSEQ KILLS', 'a handler in the rseq, killed'),
    'change-kill': (ONE + 'EVENTS_0=3 CAP=2 TRIES=1 HANDLER CHANGE KILLS READ_LATE',
                    'a handler in the rseq of writer_hold(), killed'),
    'change-loop': (ONE + 'EVENTS_0=2 CAP=2 CHUNKS=1 TRIES=1 DEPTH=1 HANDLER CHANGE',
                    'the same, overwriting beside the reader'),
    'change-two': (TWO_EVENTS + ' CAP=2 HANDLER CHANGE KILLS READ_LATE',
                   'two threads change, a handler, a kill, two chunks'),
    'change-live': (TWO_EVENTS + ' CAP=2 CHUNKS=1 CHANGE', 'two threads change, one chunk, a reader at any time'),
    'change-full': (TWO_EVENTS + ' CAP=2 HANDLER CHANGE UNTIL_FULL READ_LATE', 'the same, UNTIL_FULL'),
    'give-up-kill': (ONE + 'EVENTS_0=3 CAP=2 TRIES=1 DEPTH=1 KILLS GIVES_UP', 'the same, killed'),
    'give-up-two': (TWO_EVENTS + ' CAP=2 CHUNKS=1 GIVES_UP', 'the same, two threads, one chunk'),
    'run-two': (TWO_EVENTS + ' RUN', 'two threads, a reader that takes two at once'),
    'run-fight': (TWO_EVENTS + ' CHUNKS=1 RUN', 'the same, one chunk'),
    'full-signal': (ONE + 'EVENTS_0=3 HANDLER UNTIL_FULL CAP=2', 'a handler, UNTIL_FULL'),
    'alone-two': ('EVENTS_0=2 ALONE TRIES=1', 'a thread without a seat, two chunks'),
    'alone-kill': ('EVENTS_0=1 ALONE TRIES=1 CHUNKS=1 KILLS', 'a thread without a seat, one of both killed'),
    'stop-record': (ONE + 'EVENTS_0=2 STOP TRIES=1', 'stop beside trace points'),
    'stop-signal': (ONE + 'EVENTS_0=1 STOP HANDLER CHUNKS=1 DEPTH=1', 'stop beside a trace point and a handler'),
    'weak': ('EVENTS_0=1 ALONE TRIES=1 CHUNKS=1 WEAK', 'stores pass each other'),
    'weak-loop': (ONE + 'EVENTS_0=3 CAP=2 CHUNKS=1 WEAK DEPTH=3', 'the same while LOOP overwrites'),
    'all-late': ('CHUNKS=1 TRIES=1 HANDLER KILLS READ_LATE', 'two threads, three events, a handler, a kill, one chunk'),
    'all-late-restart': ('CHUNKS=1 TRIES=1 HANDLER HAVE_RSEQ KILLS READ_LATE', 'the same, the rseq is aborted'),
    'all-late-two': ('CAP=2 TRIES=1 HANDLER KILLS READ_LATE', 'the same, two chunks'),
    'all-late-full': ('CAP=2 TRIES=1 HANDLER KILLS UNTIL_FULL READ_LATE', 'the same, UNTIL_FULL'),
    'all-late-weak': ('CHUNKS=1 TRIES=1 HANDLER KILLS READ_LATE WEAK', 'all-late, stores pass each other'),
    'three-late': ('WRITERS=3 EVENTS_0=1 EVENTS_2=1 CHUNKS=1 TRIES=1 KILLS READ_LATE DEPTH=1',
                   'three threads, one of two killed'),
}

# Only by their names.
HUGE = {
    'all': ('EVENTS_0=1 CHUNKS=1 TRIES=1 DEPTH=1 HANDLER KILLS',
            'two threads, a handler, a kill, one chunk, a reader at any time'),
}

LATE = TWO_EVENTS + ' CHUNKS=1 READ_LATE'
TWO = 'EVENTS_0=1 TRIES=1 DEPTH=1'
OVER = ONE + 'EVENTS_0=3 CAP=2 CHUNKS=1'
DEAD = ONE + 'EVENTS_0=2 CAP=2 CHUNKS=1 KILLS'

# Each mutant breaks one rule, in the configuration where SPIN finds the consequence fastest.
MUTANTS = {
    'COMMIT_FIRST': ONE + 'EVENTS_0=1',
    'NO_LOOK_AT_THE_OWNER': LATE,
    'REVOKE_WITHOUT_BARRIER': LATE,
    'REVOKE_DOES_NOT_WAIT': LATE,
    'BUSY_ENDS_FIRST': LATE,
    'HELD_BEFORE_BEGUN': LATE,
    'LOCK_OF_THE_LIVING': LATE,
    'LOCKED_BEFORE_COPIED': OVER,
    'RECYCLE_LEAVES_READ': OVER,
    'RECYCLE_FIRST_LAST': OVER,
    'NO_SECOND_LOOK': ONE + 'EVENTS_0=3 CAP=2',
    'NO_GAP': OVER,
    'WATERMARK_WITHOUT_BARRIER': TWO,
    'WATERMARK_IGNORES_BUSY': TWO,
    'WATERMARK_IGNORES_LOCKS': TWO + ' ALONE',
    'TICKS_BEFORE_BUSY': TWO,
    'NO_PUT_BACK': DEAD,
    'LOCK_OF_THE_DEAD': DEAD,
    'OVERRUN_BY_THE_BIT': DEAD + ' STATUS=1',
    'WAIT_FOR_THE_DEAD': ONE + 'EVENTS_0=2 CHUNKS=1 KILLS',
    'MEND_BELIEVES_NOTHING': ONE + 'EVENTS_0=2 CHUNKS=1 HANDLER HAVE_RSEQ READ_LATE',
    'TAKES_WHAT_IT_SAW': TWO_EVENTS + ' CAP=2 CHANGE READ_LATE',
    'GIVES_NOTHING_BACK': ONE + 'EVENTS_0=2 CHUNKS=2 CAP=2 TRIES=1 DEPTH=1 HANDLER CHANGE READ_LATE',
    'RUN_PASSES_OTHERS': TWO_EVENTS + ' RUN',
    'RUN_PASSES_WATERMARK': TWO_EVENTS + ' RUN',
    'GIVES_UP_SILENTLY': ONE + 'EVENTS_0=3 CAP=2 TRIES=1 DEPTH=1 GIVES_UP',
    'GIVES_UP_TOO_LATE': ONE + 'EVENTS_0=3 CAP=2 TRIES=1 DEPTH=1 GIVES_UP',
    'SLEEPS_AT_ONCE': ONE + 'EVENTS_0=1 SLEEP',
    'FORGETS_ANOTHERS_WAIT': ONE + 'EVENTS_0=2 SLEEP',
    'RSEQ_ENDS_LATE': 'CHUNKS=1 TRIES=1 HANDLER HAVE_RSEQ KILLS READ_LATE',
    'STATE_BEFORE_LOCK': ONE + 'EVENTS_0=2 HANDLER STOP',
    'STOP_IGNORES_LOCKS': ONE + 'EVENTS_0=2 HANDLER STOP',
    'READ_BEFORE_GAP': 'EVENTS_0=2 ALONE CHUNKS=1 CAP=2 TRIES=1 DEPTH=1 KILLS KILL_ONLY_1 READ_LATE',
    'NO_SETTLE': 'EVENTS_0=2 ALONE HANDLER CHUNKS=1 CAP=4 TRIES=1 DEPTH=1 KILLS KILL_ONLY_1 READ_LATE',
}


class Result:
    def __init__(self, text, seconds):
        def number(pattern, default='?'):
            match = re.search(pattern, text)
            return match[1] if match else default
        self.errors = number(r'errors: (\d+)')
        self.complete = 'Search not completed' not in text and 'max search depth too small' not in text
        self.states = number(r'([\d.e+]+) states, stored')
        self.depth = number(r'depth reached (\d+)')
        self.memory = number(r'([\d.]+)\s+total actual memory usage')
        self.what = number(r'(assertion violated .*) \(at depth', '')
        self.seconds = seconds
        self.text = text


def cpu():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(defines, compile_with, hash_bits):
    with tempfile.TemporaryDirectory() as directory:
        flags = ['-D' + d for d in defines.split()]
        subprocess.run(['spin', *flags, '-a', str(MODEL)], cwd=directory, check=True, stdout=subprocess.DEVNULL)
        # Steps are not left out (NOREDUCE): SPIN's way to do that does not go with processes that are stopped from
        # outside.
        subprocess.run([COMPILER, '-w', '-DSAFETY', '-DNOREDUCE', '-DVECTORSZ=2048', *compile_with, '-o', 'pan',
                        'pan.c'],
                       cwd=directory, check=True)
        before = cpu()
        # -E: where a thread was killed is no deadlock; the model looks for those itself (monitor).
        text = subprocess.run(['./pan', '-E', '-n', '-m20000', f'-w{hash_bits}'], cwd=directory, timeout=LIMIT,
                              stdout=subprocess.PIPE, text=True).stdout
        result = Result(text, cpu() - before)
        if '?' in (result.errors, result.states, result.memory):
            sys.exit(f'{defines}: the search was broken off\n{text[-500:]}')
        return result


def show(name, result, about):
    print(f'| {name} | {result.states} | {result.depth} | {result.seconds:.1f} | {float(result.memory):.0f} | '
          f'{about} |',
          flush=True)


def right(name, defines, about, compile_with, hash_bits):
    try:
        result = run(defines, compile_with, hash_bits)
    except subprocess.TimeoutExpired:
        print(f'{name}: not finished in {LIMIT} s', flush=True)
        return False
    show(name, result, about)
    if result.errors != '0' or not result.complete:
        print(f'{name}: {result.what or result.text[-500:]}', file=sys.stderr)
        return False
    return True


def wrong(name, defines, compile_with, hash_bits):
    try:
        result = run(defines + ' MUTANT_' + name, compile_with, hash_bits)
    except subprocess.TimeoutExpired:
        print(f'{name}: not found in {LIMIT} s', flush=True)
        return False
    show(name, result, result.what[:60])
    if result.errors == '0' or not result.what:
        print(f'{name}: SPIN finds nothing wrong with it', file=sys.stderr)
        return False
    return True


def all_right(configurations, *how):
    # A list, not a generator: run all configurations even if one has failed.
    return all([right(name, defines, about, *how) for name, (defines, about) in configurations.items()])


def all_wrong(mutants, *how):
    return all([wrong(name, defines, *how) for name, defines in mutants.items()])


def some_of(configurations, count):
    if os.environ.get('TEST_THOROUGH'):
        return configurations
    return dict(random.sample(sorted(configurations.items()), count))


def main():
    what = sys.argv[1:] or ['model']
    if not shutil.which('spin') or not COMPILER:
        print('no spin, or no compiler: skipped')
        return 77
    if what == ['model']:
        good = all_right(some_of(SMALL, 4), QUICK, QUICK_HASH)
    elif what == ['mutants']:
        good = all_wrong(some_of(MUTANTS, 3), QUICK, QUICK_HASH)
    elif what == ['full']:
        os.nice(10)
        good = all_right({**SMALL, **LARGE}, THOROUGH, THOROUGH_HASH)
        good &= all_wrong(MUTANTS, QUICK, QUICK_HASH)
    else:
        both = {**SMALL, **LARGE}
        unknown = [name for name in what if name not in both and name not in HUGE and name not in MUTANTS]
        if unknown:
            print(f'run.py: no {unknown[0]}', file=sys.stderr)
            return 2
        good = all_right({name: both[name] for name in what if name in both}, THOROUGH, THOROUGH_HASH)
        good &= all_right({name: HUGE[name] for name in what if name in HUGE}, WHOLLY, WHOLLY_HASH)
        good &= all_wrong({name: MUTANTS[name] for name in what if name in MUTANTS}, QUICK, QUICK_HASH)
    return 0 if good else 1


sys.exit(main())
