#
# words.py - no file of the repository names the machine on which it was made
#
# SPDX-License-Identifier: MIT

import shutil
import subprocess
import sys

from check import ROOT, finish

# Each is in two pieces, so that this file does not contain it.
WORDS = ['..' + '/shared', '/work' + '/']


def problems(paths):
    for path in paths:
        if not path.is_file():
            continue
        for number, line in enumerate(path.read_bytes().decode(errors='replace').splitlines(), 1):
            for word in WORDS:
                if word in line:
                    yield f'{path.relative_to(ROOT)}:{number}: {word}'


git = None
if (ROOT / '.git').exists() and shutil.which('git'):
    git = subprocess.run(['git', '-c', f'safe.directory={ROOT}', '-C', ROOT, 'ls-files', '-z', '--cached', '--others',
                          '--exclude-standard'], capture_output=True, text=True)
if git is None or git.returncode != 0:
    print('skipped: no clone, or no git, so the files of the repository are unknown')
    sys.exit(77)
finish(problems(ROOT / name for name in git.stdout.split('\0') if name))
