#
# word_other.py - builds a test program with the library in it for the machine's other word size
#
#     word_other.py FLAG OUTPUT INCLUDES SOURCE... -- COMPILER...        INCLUDES: "-Ia -Ib"
#
# Where that is impossible the output is a script that skips the test: whether a
# C library of the other size is there may change between two builds, so this
# runs at each, and compiles if something is newer.
#
# SPDX-License-Identifier: MIT

import subprocess
import sys
from pathlib import Path

STUB = '''#!/bin/sh
echo '  skipped: no programs of the other word size ({}) can be built here'
exit 77
'''

split = sys.argv.index('--')
flag, output, includes, *sources = sys.argv[1:split]
compiler = sys.argv[split + 1:]
output = Path(output)


def inputs():
    for source in [*sources, __file__]:
        yield Path(source)
    for folder in includes.split():
        yield from Path(folder[2:]).rglob('*.h')


def up_to_date():
    return output.exists() and output.read_bytes()[:2] != b'#!' and \
        all(path.stat().st_mtime < output.stat().st_mtime for path in inputs())


if not up_to_date():
    built = subprocess.run([*compiler, flag, '-std=gnu11', '-D_GNU_SOURCE', '-DPOSIXTRACE_VERSION="other"', '-O1', '-g',
                            *includes.split(), *sources, '-o', output, '-pthread'], capture_output=True, text=True)
    if built.returncode != 0:
        trial = subprocess.run([*compiler, flag, '-xc', '-', '-o', '/dev/null'],
                               input='#include <stdio.h>\nint main(void) { return puts(""); }\n',
                               capture_output=True, text=True)
        if trial.returncode == 0: # it is not the machine's fault
            sys.exit(built.stderr)
        output.write_text(STUB.format(flag))
        output.chmod(0o755)
