#!/usr/bin/env python3
#
# readme.py - the figures of the first page, taken from docs/PERFORMANCE.md
#
# usage: readme.py [--check]
#
# Replaces the table between two marks in README.md. --check: changes nothing, and fails if the table is another one.
#
# SPDX-License-Identifier: MIT

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = '<!-- begin: bench/readme.py -->', '<!-- end -->'
# What the first page says; and the line of docs/PERFORMANCE.md.
ROWS = [
    ('record one event of 32 bytes', 'record, 32 bytes, LTTng-UST flight recorder'),
    ('events per second to a file, none lost', 'to disk without loss, 32 bytes, stream of 1 MiB, LTTng'),
    ('file size for such an event', "log, 32 bytes, a request; LTTng's files"),
    ('events per second read from a file', 'read a log, 32 bytes, a request; babeltrace2'),
]


TRACERS = ['posixtrace', 'LTTng-UST', 'uftrace', 'probes, perf']
NEEDS = ['nothing else', 'a session daemon', 'a program built with `-pg`', 'root']


def part_of(text, begin, end):
    """Returns the lines of a table between two marks: cells by name; and all other lines."""
    lines = text.split(begin)[1].split(end)[0].strip().splitlines()
    cells = [[cell.strip() for cell in line.strip('|').split('|')] for line in lines if line.startswith('|')]
    return {row[0]: row for row in cells[2:]}, [line for line in lines if line and not line.startswith('|')]


def median(cell):
    """Returns a cell without its least and its greatest."""
    return re.sub(r' \(.*', '', cell).replace(' M/s', ' million').replace(' B', ' bytes')


def figures():
    text = (ROOT / 'docs' / 'PERFORMANCE.md').read_text()
    rows, (machine, *_) = part_of(text, '<!-- begin: script/bench --update-docs -->', '<!-- end -->')
    tracers, (versions,) = part_of(text, '<!-- begin: script/bench --tracers --update-docs -->',
                                   '<!-- end: tracers -->')
    cpu, cpus, kernel = re.search(r'; (.*?), (\d+) CPUs, Linux ([\d.]+)', machine).groups()
    lines = [['', 'posixtrace', 'LTTng-UST', 'uftrace', 'USDT probes, perf'], ['---'] * 5,
             ['to record you need', *NEEDS],
             ['begin and end of a function', *(median(tracers[name][2]) for name in TRACERS)],
             ['the same, while nobody records', *(median(tracers[name][1]) for name in TRACERS)]]
    lines += [[says, median(rows[name][1]), median(rows[name][3]), '', ''] for says, name in ROWS]
    table = '\n'.join('| ' + ' | '.join(line) + ' |' for line in lines)
    versions, load = re.match(r'(.*?);.* (load \d+\.\d+)', versions).groups()
    return (f'{table}\n\n{cpu}, {cpus} CPUs, Linux {kernel}; medians; an empty cell was not measured.\n'
            f'The lines about a function: {versions}, in a run of their own,\nwith other work beside ({load}).\n')


def main():
    path = ROOT / 'README.md'
    before, _, rest = path.read_text().partition(BEGIN)
    there, found, after = rest.partition(END)
    if not found:
        sys.exit(f'readme.py: README.md has no {BEGIN} and {END}')
    new = f'\n\n{figures()}\n'
    if '--check' not in sys.argv:
        path.write_text(f'{before}{BEGIN}{new}{END}{after}')
    elif there.split() != new.split():
        sys.exit('README.md: its figures are not those of docs/PERFORMANCE.md; bench/readme.py puts them there')


if __name__ == '__main__':
    main()
