#
# pairs.py - each PAIR(label) is in at least two places, and in the table of docs/recording.md
#
# An acquire without a release is an error, and so is a release without an acquire.
#
# SPDX-License-Identifier: MIT

import re
from collections import Counter

from check import ROOT, files, finish, spoiled

TABLE = 'docs/recording.md'


def table(root):
    """Returns the labels in the first column of the table below the heading "## Pairs"."""
    text = (root / TABLE).read_text()
    match = re.search(r'^## Pairs\n(.*?)(?=^## |\Z)', text, re.M | re.S)
    return re.findall(r'^\| *`?(?:PAIR\()?(\w+)\)?`? *\|', match[1], re.M) if match else []


def check(root):
    places = Counter()
    for path in files(root, 'src', '.c', '.h'):
        text = path.read_text()
        if path.name == 'atomic.h':
            text = text.replace('PAIR(name), at both places', '')  # the explanation of the macro
        places.update(re.findall(r'PAIR\((\w+)\)', text))
    rows = [label for label in table(root) if label != 'label']
    if not rows:
        yield f'{TABLE}: no table under "## Pairs"'
    for label, count in places.items():
        if count < 2:
            yield f'PAIR({label}) stands alone'
        if label not in rows:
            yield f'{TABLE}: no PAIR({label})'
    for label in rows:
        if label not in places:
            yield f'{TABLE}: PAIR({label}) is not in src/'
        if rows.count(label) > 1:
            yield f'{TABLE}: PAIR({label}) twice'


def all_problems():
    yield from check(ROOT)
    yield from spoiled(
        check, ['src', 'docs'],
        ('src/shm/chunk.c', None, '/* PAIR(lonely) */\n'),
        ('src/shm/chunk.c', None, '/* PAIR(two) PAIR(two) */\n'),
        (TABLE, '\n| commit |', '\n| comit |'),
        (TABLE, '## Pairs', '## Couples'))


finish(all_problems())
