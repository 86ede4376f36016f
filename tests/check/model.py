#
# model.py - transitions of the model name functions of src/; mutants are tried, and listed in README.md
#
# SPDX-License-Identifier: MIT

import re

from check import ROOT, finish, spoiled

MODEL = 'tests/proof/model/recording.pml'
RUN = 'tests/proof/model/run.py'
README = 'tests/proof/model/README.md'


def defines(text, name):
    """Returns the match of a definition: its first line begins at the margin, and is not a declaration."""
    return re.search(rf'^(?:[a-z_].*\b)?{name}\)?\([^;]*$', text, re.M)


def check(root):
    text = (root / MODEL).read_text()
    named = 0
    for comment in re.findall(r'/\*.*?\*/', text, re.S):
        file = None
        for part in re.findall(r'src/\w+/\w+\.[ch]|\b\w+\(\)', comment):
            if part.startswith('src/'):
                file = part
                continue
            if not file:
                continue
            named += 1
            if not (root / file).exists():
                yield f'{MODEL}: there is no {file}'
            elif not defines((root / file).read_text(), part[:-2]):
                yield f'{MODEL}: {file} has no {part}'
    if not named:
        yield f'{MODEL}: names no function'
    for match in re.finditer(r'((?:/\*(?:(?!\*/).)*\*/|#define \w[^\n]*|\s)*)^(?:inline|proctype) (\w+)\(', text,
                             re.M | re.S):
        before, name = match[1], match[2]
        if name not in OURS and not re.search(r'src/\w+/\w+\.[ch]', before):
            yield f'{MODEL}: {name} does not say which function it stands for'
    run = (root / RUN).read_text()
    for name in sorted(set(re.findall(r'MUTANT_([A-Z_]+)', text)) - {''}):
        if f"'{name}'" not in run:
            yield f'{RUN}: MUTANT_{name} is not tried'
    for name in re.findall(r"^    '([A-Z_]+)':", run, re.M):
        if f'MUTANT_{name}\n' not in text:
            yield f'{MODEL}: no MUTANT_{name}'
    told = set(re.findall(r'^\| ([\w-]+) \|', (root / README).read_text(), re.M))
    tried = set(re.findall(r"^    '([\w-]+)':", run, re.M))
    for name in sorted(tried - told):
        yield f'{README}: does not list {name}'
    for name in sorted(told - tried - {'mutant', 'configuration', '---'}):
        yield f'{README}: {RUN} has no {name}'


# Parts of the model without a counterpart in src/: memory and store buffers, accounting, external events.
OURS = {'hold', 'store_late', 'store', 'store_release', 'out', 'all_out', 'memory', 'committed', 'commit',
        'say_overrun',
        'held_up_by', 'forget_waiting', 'report', 'killer', 'monitor'}


def all_problems():
    yield from check(ROOT)
    yield from spoiled(
        check, ['src', 'tests/proof/model'],
        ('src/shm/chunk.c', 'uint32_t chunk_recycle(', 'uint32_t chunk_use_again('),
        (MODEL, 'src/read/merge.c: put_back()', 'src/read/merge.c: put_away()'),
        (MODEL, '/* src/shm/chunk.c: settle() */\n', ''),
        (MODEL, 'MUTANT_NO_SETTLE', 'MUTANT_NO_SETTLERS'),
        (RUN, "    'NO_GAP': OVER,\n", ''),
        (README, '| NO_GAP |', '| NO_GAPS |'),
        (RUN, "    'two-kill': (", "    'two-killed': ("))


finish(all_problems())
