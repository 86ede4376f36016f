#
# points.py - each test point of the library has a unique name, which the fault tests list
#
# SPDX-License-Identifier: MIT

import re

from check import ROOT, files, finish, spoiled


def check(root):
    places = {}
    for path in files(root, 'src', '.c', '.h'):
        file = str(path.relative_to(root))
        if file == 'src/base/testpoint.h':
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for name in re.findall(r'TEST_POINT\((.*?)\)', line):
                if not re.fullmatch(r'"[a-z][a-z_]*"', name):
                    yield f'{file}:{number}: TEST_POINT({name}) is no name in lower case'
                    continue
                if not re.fullmatch(r'\t+TEST_POINT\("[a-z_]+"\);', line):
                    yield f'{file}:{number}: a test point is a line of its own'
                places.setdefault(name.strip('"'), []).append(f'{file}:{number}')
    for name, where in places.items():
        if len(where) > 1:
            yield f'{where[1]}: the name {name} is that of {where[0]} already'
    text = (root / 'tests' / 'fault' / 'kills_points.h').read_text()
    known = re.findall(r'"([a-z_]+)"', text[text.index('kills_points[] ='):])
    for name in known:
        if known.count(name) > 1:
            yield f'tests/fault/kills_points.h: {name} twice'
        if name not in places:
            yield f'tests/fault/kills_points.h: there is no test point {name}'
    for name, where in places.items():
        if name not in known:
            yield f'tests/fault/kills_points.h: no {name}, which is in {where[0]}'


def all_problems():
    yield from check(ROOT)
    yield from spoiled(
        check, ['src', 'tests/fault'],
        ('src/shm/chunk.c', '	TEST_POINT("recycle_read");\n', ''),
        ('src/shm/chunk.c', '"recycle_read"', '"Recycle"'),
        ('src/shm/chunk.c', '"recycle_read"', '"recycle_first"'),
        ('src/shm/chunk.c', '"recycle_read"', '"recycle_other"'),
        ('src/shm/chunk.c', '	TEST_POINT("recycle_read");', '	if (c) TEST_POINT("recycle_read");'),
        ('tests/fault/kills_points.h', '"recycle_read", ', ''))


finish(all_problems())
