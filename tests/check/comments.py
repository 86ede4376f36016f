#
# comments.py - each file begins with a comment that names it and its one job, and has its license
#
# SPDX-License-Identifier: MIT

import re

from check import ROOT, files, finish, spoiled

FOLDERS = ['src', 'tool', 'plugin', 'tests', 'examples', 'bench', 'include', 'script']


def check(root):
    for folder in FOLDERS:
        for path in files(root, folder, '.c', '.h', '.py', '.sql', '.sh', '.mjs', '.css', *([''] if folder == 'script' else [])):
            head = path.read_text().splitlines()[:60]
            file = path.relative_to(root)
            names = {path.name, path.stem}
            if not any(re.match(rf'\W*{re.escape(name)} - \S', line) for name in names for line in head[:5]):
                yield f'{file}: does not begin with "{path.name} - its job"'
            if not any('SPDX-License-Identifier: MIT' in line for line in head):
                yield f'{file}: no SPDX-License-Identifier: MIT'


def all_problems():
    yield from check(ROOT)
    yield from spoiled(
        check, FOLDERS,
        ('src/host/file.c', ' * file.c - ', ' * fill.c - '),
        ('src/host/file.c', 'SPDX-License-Identifier: MIT', 'All rights reserved'),
        ('tests/unit/new.c', None, 'int main(void)\n{\n}\n'))


finish(all_problems())
