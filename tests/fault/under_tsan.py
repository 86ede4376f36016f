#
# under_tsan.py - ThreadSanitizer reports nothing about a program because of the library, which was built without it
#
# Usage: under_tsan.py POSIXTRACE PROGRAM. The program runs untraced and recorded, several times each.
#
# SPDX-License-Identifier: MIT

import ctypes
import subprocess
import sys
import tempfile

ADDR_NO_RANDOMIZE = 0x0040000
ROUNDS = 5
EVENTS = 5000


def fixed_addresses():
    """Asks for the layout of memory that ThreadSanitizer knows; some kernels randomize more than it supports."""
    ctypes.CDLL(None).personality(ADDR_NO_RANDOMIZE)


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, preexec_fn=fixed_addresses)


posixtrace, program = sys.argv[1:]
first = run(program)
if 'FATAL: ThreadSanitizer' in first.stderr:
    print('skipped: ThreadSanitizer does not run here:', first.stderr.strip())
    sys.exit(77)
failed = 0
with tempfile.TemporaryDirectory() as directory:
    log = directory + '/log'
    recorded = [posixtrace, 'record', '--children', '-o', log, '--', program]
    for way, command in (('untraced', [program]), ('recorded', recorded)):
        for _ in range(ROUNDS):
            result = run(*command)
            told = f'{log}: {EVENTS} events' if way == 'recorded' else ''
            if (result.returncode != 0 or result.stdout != 'done\n' or told not in result.stderr or
                    'ThreadSanitizer' in result.stderr):
                print(f'{way}: exit status {result.returncode}\n{result.stdout}{result.stderr}')
                failed = 1
                break
sys.exit(failed)
