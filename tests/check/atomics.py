#
# atomics.py - only src/base/atomic.h uses atomic builtins
#
# So each operation has its memory order in its name, and one file implements all
# operations.
#
# SPDX-License-Identifier: MIT

import re

from check import ROOT, files, finish, spoiled

BARE = re.compile(r'\b(__atomic_\w+|__sync_\w+|stdatomic\.h|_Atomic|atomic_(?:load|store|exchange|fetch|compare)\w*)')


def check(root):
    for path in files(root, 'src', '.c', '.h'):
        file = path.relative_to(root)
        if str(file) == 'src/base/atomic.h':
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for name in BARE.findall(line):
                yield f'{file}:{number}: {name}'


def all_problems():
    yield from check(ROOT)
    yield from spoiled(
        check, ['src'],
        ('src/shm/chunk.c', None, 'int f(int *p) { return __atomic_load_n(p, __ATOMIC_RELAXED); }\n'),
        ('src/shm/chunk.h', None, '#include <stdatomic.h>\n'),
        ('src/record/emit.c', None, 'int g(int *p) { return __sync_fetch_and_add(p, 1); }\n'))


finish(all_problems())
