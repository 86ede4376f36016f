#
# lists.py - each source and each test is in a meson.build, so it is built and run
#
# SPDX-License-Identifier: MIT

import re

from check import ROOT, finish, files, spoiled


def words(path):
    return set(re.findall(r"'([^'\n]+)'", re.sub(r'(?m)^\s*#.*', '', path.read_text())))


def check(root):
    for folder in ['src', 'tool', 'reader']:
        known = words(root / folder / 'meson.build')
        for path in files(root, folder, '.c'):
            file = str(path.relative_to(root / folder))
            if file not in known:
                yield f'{folder}/meson.build: no {file}'
    known = words(root / 'plugin' / 'babeltrace2' / 'meson.build')
    for path in files(root, 'plugin', '.c'):
        if path.name not in known:
            yield f'plugin/babeltrace2/meson.build: no {path.name}'
    for folder in ['conformance', 'unit', 'stress', 'fault', 'log', 'tool', 'plugin', 'python', 'check', 'reader']:
        known = words(root / 'tests' / folder / 'meson.build')
        for path in files(root / 'tests', folder, '.c', '.py'):
            if path.stem not in known and path.name not in known and path.name != 'check.py':
                yield f'tests/{folder}/meson.build: no {path.stem}'


def all_problems():
    yield from check(ROOT)
    yield from spoiled(
        check, ['src', 'tool', 'plugin', 'reader', 'tests'],
        ('src/base/new.c', None, '\n'),
        ('tool/common/new.c', None, '\n'),
        ('reader/new.c', None, '\n'),
        ('plugin/babeltrace2/new.c', None, '\n'),
        ('tests/unit/new.c', None, '\n'),
        ('tests/check/new.py', None, '\n'))


finish(all_problems())
