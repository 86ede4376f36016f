#
# abi.py - sizes, offsets and values of <trace.h> on x86-64 are those of abi.txt
#
#     abi.py COMPILER...
#
# Generates a program that prints each expression of abi.txt. Programs that were
# compiled with earlier versions rely on the values. Skipped on other machines.
#
# SPDX-License-Identifier: MIT

import subprocess
import sys
import tempfile
from pathlib import Path

from check import ROOT, finish

LIST = Path(__file__).parent / 'abi.txt'


def rows():
    for line in LIST.read_text().splitlines():
        if line and not line.startswith('#'):
            expression, value = line.rsplit(None, 1)
            yield expression, int(value)


def program(expressions):
    yield '#include <stddef.h>\n#include <stdio.h>\n#include <trace.h>'
    yield 'int main(void)\n{\n#if defined __x86_64__ && defined __LP64__'
    for expression in expressions:
        yield f'\tprintf("%lld\\n", (long long)({expression}));'
    yield '#else\n\tputs("other");\n#endif\n\treturn 0;\n}'


def values(compiler, expressions):
    with tempfile.TemporaryDirectory() as name:
        source = Path(name) / 'abi.c'
        source.write_text('\n'.join(program(expressions)) + '\n')
        subprocess.run([*compiler, f'-I{ROOT / "include"}', '-Wall', '-Werror', source, '-o', Path(name) / 'abi'],
                       check=True)
        return subprocess.run([Path(name) / 'abi'], check=True, capture_output=True, text=True).stdout.split()


def problems(expected, found):
    for (expression, value), got in zip(expected, found):
        if value != int(got):
            yield f'{expression} is {got}, not {value}'


expected = list(rows())
found = values(sys.argv[1:], [expression for expression, _ in expected])
if found == ['other']:
    print('skipped: abi.txt is for x86-64')
    sys.exit(77)
wrong = [(expression, value + 1) for expression, value in expected]
if len(found) != len(expected) or len(list(problems(wrong, found))) != len(expected):
    finish(['the check itself: does not see wrong values'])
finish(problems(expected, found))
