#
# instructions.py - a trace point takes no more instructions than it did
#
# usage: instructions.py PROGRAM BUILDTYPE COMPILER...
#
# The program, instructions.c, counts the instructions of each case. The counts
# are the same in each run with the same library. instructions.tsv has the last
# accepted counts, which are the limits; 3 % more is a failure. If a change
# needs more instructions, raise the limit and give the reason in the commit; if
# it needs fewer, lower the limit.
#
# The limits are for one compiler, processor, clock and kind of build. On others the check prints the counts and is
# skipped.
#
# SPDX-License-Identifier: MIT

import re
import subprocess
import sys
from pathlib import Path

from check import finish

SKIP = 77
MORE = 1.03
CLOCK = Path('/sys/devices/system/clocksource/clocksource0/current_clocksource')
LIMITS = Path(__file__).with_name('instructions.tsv')


def skip(why):
    print('skipped:', why)
    sys.exit(SKIP)


def limits():
    """Returns the machine of the limits, and the limit of each case."""
    lines = [line for line in LIMITS.read_text().splitlines() if line and not line.startswith('#')]
    return lines[0], {name: int(n) for name, n in (line.split('\t') for line in lines[1:])}


def machine(compiler):
    macros = subprocess.run([*compiler, '-dM', '-E', '-x', 'c', '/dev/null'], check=True, capture_output=True,
                            text=True).stdout
    major = re.search(r'__GNUC__ (\d+)', macros)
    kind = 'clang' if '__clang__' in macros else 'gcc'
    processor = 'x86_64' if '__x86_64__ 1' in macros and '__ILP32__' not in macros else 'another'
    return f'{kind} {major.group(1) if major else "?"} {processor}'


def clock():
    """Returns the kernel's clock, which decides on the clock of trace events (src/base/ticks.c)."""
    try:
        return CLOCK.read_text().strip()
    except OSError:
        return 'unknown'


def count(program):
    """Returns the number of instructions of each case, for one event."""
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    if done.returncode == SKIP:
        skip(done.stdout.strip() or 'it cannot be counted here')
    if done.returncode:
        sys.exit(f'{program}: exit status {done.returncode}\n{done.stderr}')
    return {name: int(n) for name, n in (line.split('\t') for line in done.stdout.splitlines() if '\t' in line)}


def problems(counted, allowed):
    for name in sorted(counted.keys() | allowed.keys()):
        if name not in allowed:
            yield f'instructions.tsv: no limit for {name}'
        elif name not in counted:
            yield f'instructions.c: no {name}'
        elif counted[name] > allowed[name] * MORE:
            yield (f'{name}: {counted[name]} instructions, and {allowed[name]} were enough: '
                   'make it less, or change instructions.tsv and say why')


def all_problems(program, buildtype, compiler):
    where, allowed = limits()
    counted = count(program)
    for name in sorted(counted):
        print(f'{name:16} {counted[name]:6} {allowed.get(name, 0):6}')
    here = f'{machine(compiler)} {buildtype} {clock()}'
    if here != where:
        skip(f'the limits are those of {where}, and this is {here}')
    yield from problems(counted, allowed)
    # The check itself must be able to fail.
    worse = {name: n * MORE * 1.01 for name, n in allowed.items()}
    if len(list(problems(worse, allowed))) != len(allowed):
        yield 'more instructions are not found'


finish(all_problems(sys.argv[1], sys.argv[2], sys.argv[3:]))
