#
# manual_examples.py - the programs in the manual pages of <trace.h> compile without a warning, run, and print what the
# pages say
#
#     manual_examples.py LIBRARY LOG_LIBRARY COMPILER...
#
# They are compiled like ordinary programs, as C99 with all warnings, against the shared libraries.
#
# SPDX-License-Identifier: MIT

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from check import ROOT, files, finish

FLAGS = ['-std=c99', '-pedantic', '-Wall', '-Wextra', '-Werror']
SECONDS = 20 * int(os.environ.get('TEST_SLOW', '1'))


def programs(path):
    """Returns the programs of a page: line number, source, and the expected output or None."""
    found = []
    text = path.read_text()
    for block in re.finditer(r'^\.Bd -literal.*?\n(.*?)^\.Ed$', text, re.M | re.S):
        code = block[1].replace(r'\e', '\\').replace(r'\&', '')
        if 'int main(' in code:
            found.append([text.count('\n', 0, block.start()) + 1, code, None])
        elif found and text[:block.start()].endswith('It prints:\n'):
            found[-1][2] = code
    return found


def problems_of(path, libraries, compiler, folder):
    for line, code, prints in programs(path):
        where = f'man/{path.name}:{line}'
        source, program = folder / f'{path.stem}.c', folder / path.stem
        source.write_text(code)
        built = subprocess.run([*compiler, *FLAGS, f'-I{ROOT / "include"}', source, *libraries,
                                *(f'-Wl,-rpath,{library.parent}' for library in libraries), '-o', program],
                               capture_output=True, text=True, check=False)
        if built.returncode:
            yield f'{where}: does not compile:\n{built.stderr}'
            continue
        ran = subprocess.run([program], cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False)
        if ran.returncode or ran.stderr:
            yield f'{where}: exit status {ran.returncode}: {ran.stderr}'
        if ran.stdout != (prints or ''):
            yield f'{where}: prints\n{ran.stdout}and not\n{prints or ""}'


def problems(libraries, compiler):
    count = 0
    with tempfile.TemporaryDirectory(prefix='manual-') as name:
        for path in files(ROOT, 'man', '.3', '.7'):
            count += len(programs(path))
            yield from problems_of(path, libraries, compiler, Path(name))
        # The check itself must complain about a warning, an exit status, and a different output.
        spoiled = Path(name) / 'spoiled.3'
        for code in ('int main(void)\n{\n\tint i;\n\treturn 0;\n}\n', 'int main(void)\n{\n\treturn 1;\n}\n',
                     '#include <stdio.h>\nint main(void)\n{\n\treturn puts("2") < 0;\n}\n'):
            spoiled.write_text(f'.Bd -literal\n{code}.Ed\nIt prints:\n.Bd -literal\n1\n.Ed\n')
            if not list(problems_of(spoiled, libraries, compiler, Path(name))):
                yield f'the check itself: does not see what is wrong with\n{code}'
    if count < 21:
        yield f'{count} programs in all pages'


finish(problems([Path(path).resolve() for path in sys.argv[1:3]], sys.argv[3:]))
