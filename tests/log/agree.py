#!/usr/bin/env python3
#
# agree.py - the library and decode.py read the same out of each log, whole or damaged
#
#     agree.py CORPUS DUMP [SEED]     programs of corpus.c and dump.c; the seed of what is damaged (1)
#
# decode.py was written from docs/log-format.md alone. Where one of the two is
# wrong, or the document is unclear, they differ.
#
# SPDX-License-Identifier: MIT

import os
import random
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import decode

DAMAGED = 40  # of each log
LARGE = 60000  # one of this size is not damaged: decode.py would take long
FRAME = 64
LOG_POLICY, LOOP = FRAME + 69, 1  # in the body of the first frame
WRAPPER = shlex.split(os.environ.get('MESON_EXE_WRAPPER', ''))  # built for another machine


def with_types(lines, known=()):
    """The lines, types by their numbers: in which order a type list gives them is its own affair."""
    types = {int(line.split()[1]): line for line in (*known, *(line for line in lines if line.startswith('type ')))}
    rest = [line for line in lines if not line.startswith('type ')]
    return [line for _, line in sorted(types.items())] + rest if rest != ['not a log'] else rest


def by_decoder(path):
    try:
        return list(decode.decode(path))
    except decode.NotALog:
        return ['not a log']


def by_library(dump, paths):
    """The lines of each of these files."""
    output = subprocess.run([*WRAPPER, dump, *paths], check=True,
                            capture_output=True).stdout.decode(errors='surrogateescape')
    logs = {}
    for line in output.split('\n')[:-1]:
        if line.startswith('FILE '):
            lines = logs[line.removeprefix('FILE ')] = []
        else:
            lines.append(line)
    return logs


def same(path, library, decoder):
    """Returns the first difference between both readers, or None."""
    # Whether a log is complete is not for the interface to tell; of one that is not, the status is that of what is
    # there.
    if decoder[-1].startswith('incomplete'):
        library, decoder = library[:-1], decoder[:-1]
    for i in range(max(len(library), len(decoder))):
        if library[i:i + 1] != decoder[i:i + 1]:
            return f'{path}: line {i + 1} of {len(library)} and {len(decoder)}:\n  library {library[i:i + 1]}\n  ' \
                f'decoder {decoder[i:i + 1]}'
    return None


def compare(dump, paths, predefined=()):
    """predefined: types that the library knows, even if the log does not tell."""
    problems = []
    for path, lines in by_library(dump, paths).items():
        problem = same(path, with_types(lines), with_types(by_decoder(path), predefined))
        if problem:
            problems.append(problem)
    return problems


def damaged(data, rng):
    """A variant of a log: cut, with some bytes changed, or pieces missing, doubled, exchanged or zero."""
    data = bytearray(data)
    loop, index = data[LOG_POLICY] == LOOP, True
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        what = rng.choice(('bit', 'zero', 'random', 'cut', 'missing') + (() if loop else ('double', 'copy')))
        # The index says where things were: that is followed by the one, and the other goes and looks.
        if what in ('missing', 'double', 'copy') and index:
            del data[-FRAME:]
            index = False
        at = rng.randrange(len(data))
        length = min(rng.choice((1, 8, 64, 200, 1000)), len(data) - at)
        if rng.random() < 0.5:
            at, length = at & -8, length & -8
        if what == 'bit':
            data[at] ^= 1 << rng.randrange(8)
        elif what == 'zero':
            data[at:at + length] = bytes(length)
        elif what == 'random':
            data[at:at + length] = rng.randbytes(length)
        elif what == 'cut':
            del data[max(at, FRAME):]
            index = False
        elif what == 'missing':
            del data[max(at, FRAME):at + length]
        elif what == 'double':
            data[at:at] = data[at:at + length]
        else:
            to = rng.randrange(len(data)) & -8
            data[to:to + length] = data[at:at + length]
    return bytes(data)


def main():
    corpus, dump, seed = sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 1
    problems = []
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run([*WRAPPER, corpus, directory], check=True)
        logs = sorted(Path(directory).glob('*.log'))
        assert len(logs) > 20
        problems += compare(dump, map(str, logs))
        lines = {log: by_decoder(str(log)) for log in logs}
        assert sum(any(line.startswith('event ') for line in lines[log]) for log in logs) > len(logs) / 2
        predefined = [line for line in lines[logs[0]] if line.startswith('type ') and int(line.split()[1]) < 64]
        assert len(predefined) == 9

        rng = random.Random(seed)
        variants = []
        for log in logs:
            data = log.read_bytes()
            for i in range(DAMAGED if len(data) < LARGE else 0):
                variants.append(f'{log}.{i}')
                Path(variants[-1]).write_bytes(damaged(data, rng))
        problems += compare(dump, variants, predefined)
    for problem in problems:
        print(problem)
    print(f'{len(logs)} logs, {len(variants)} damaged: {len(problems)} on which the two do not agree (seed {seed})')
    sys.exit(bool(problems))


if __name__ == '__main__':
    main()
