#
# litmus.py - each pair of docs/recording.md has a litmus test, which tests/proof/litmus/pairs.tsv names
#
# SPDX-License-Identifier: MIT

import re

from check import ROOT, files, finish, spoiled

TABLE = 'tests/proof/litmus/pairs.tsv'
TESTS = 'tests/proof/litmus/litmus.c'
ORDERS = {'busy-owner', 'inside-change', 'waiting-commit', 'running-lock', 'held-waiting'}


def check(root):
    labels = set(ORDERS)
    for path in files(root, 'src', '.c', '.h'):
        if path.name != 'atomic.h':
            labels.update(re.findall(r'PAIR\((\w+)\)', path.read_text()))
    text = (root / TESTS).read_text()
    tests = set(re.findall(r'^TEST\((\w+)\)', text, re.M)) & set(re.findall(r'TEST_ENTRY\((\w+)\)', text))
    told = set()
    for number, line in enumerate((root / TABLE).read_text().splitlines(), 1):
        if line.startswith('#'):
            continue
        label, _, names = line.partition('\t')
        if label in told:
            yield f'{TABLE}:{number}: {label} twice'
        told.add(label)
        if label not in labels:
            yield f'{TABLE}:{number}: there is no PAIR({label})'
        if not names.split():
            yield f'{TABLE}:{number}: no test for {label}'
        for name in names.split():
            if name not in tests:
                yield f'{TABLE}:{number}: {TESTS} has no test {name}'
    for label in sorted(labels - told):
        yield f'{TABLE}: no {label}'


def all_problems():
    yield from check(ROOT)
    yield from spoiled(
        check, ['src', 'tests/proof/litmus'],
        ('src/shm/chunk.c', None, '/* PAIR(lonely) */\n'),
        (TABLE, 'recycle\t', 'cycle\t'),
        (TABLE, 'copy_and_lock', ''),
        (TABLE, 'look_again', 'look_away'),
        (TESTS, 'TEST_ENTRY(look_again), ', ''))


finish(all_problems())
