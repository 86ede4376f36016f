#
# tried.py - what was tried on programs of others goes into the tables of docs/programs.md
#
# SPDX-License-Identifier: MIT

import re
import sys
from pathlib import Path

DOCUMENT = Path(__file__).resolve().parent.parent.parent / 'docs' / 'programs.md'


def update_row(title, *cells, units=1):
    """
    Replaces the last cells of the row whose first cell is this title, or has it. The second cell may begin with the
    number of units that were run.
    """
    lines = DOCUMENT.read_text().split('\n')
    titles = {number: line[2:].split(' | ')[0] for number, line in enumerate(lines) if line.startswith('| ')}
    found = [number for number, text in titles.items() if text == title] or \
        [number for number, text in titles.items() if title in text]
    if len(found) != 1:
        sys.exit(f'tried.py: {DOCUMENT} has {len(found)} rows of {title}')
    row = lines[found[0]].strip('| ').split(' | ')
    row[-len(cells):] = map(str, cells)
    if units > 1:
        row[1] = re.sub(r'^\d+', str(units), row[1])
    lines[found[0]] = '| ' + ' | '.join(row) + ' |'
    DOCUMENT.write_text('\n'.join(lines))
