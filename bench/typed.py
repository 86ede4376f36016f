#
# typed.py - the table of docs/typed.md: what typed trace points cost, beside plain ones and beside those of LTTng-UST
#
# usage: typed.py [--update FILE] RESULTS
#
#   RESULTS   the directory with the JSON of bench-typed and bench-typed-cpp, of one run
#   --update  puts the table between its two marks in this document
#
# Ratios are taken inside of each round. Without LTTng in the run its cells are empty.
#
# SPDX-License-Identifier: MIT

import argparse
import statistics
from pathlib import Path

from table import Results, cell, digits, ratio, update

BEGIN, END = '<!-- begin: script/bench --typed --update-docs -->', '<!-- end: typed -->'
HEAD = ['an event with', 'ours', 'against the same bytes', 'LTTng-UST', 'times ours']
# What LTTng's event of a row is.
CALLS = {'the same with tracef()': 'lttng_ust_tracef()', 'the same with tracef(), 9': 'lttng_ust_tracef()'}
LANGUAGES = [('', 'typed'), ('C++: ', 'typed C++')]


def median(values, unit):
    return f'{digits(statistics.median(values))} {unit}' if values else ''


def lines(results):
    for prefix, section in LANGUAGES:
        for (found, name), row in results.rows.items():
            if found != f'{section} recorded':
                continue
            peer = results.rows.get((f'{section} LTTng', name))
            theirs = median(peer['figure'], 'ns') if peer else ''
            yield [prefix + name, median(row['figure'], 'ns'), median(ratio(row['figure'], row['floor']), 'x'),
                   f'{theirs}, {CALLS[name]}' if theirs and name in CALLS else theirs,
                   cell(ratio(peer['figure'], peer['floor']), 'x') if peer else '']


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--update', type=Path)
    parser.add_argument('results', type=Path)
    options = parser.parse_args()
    results = Results(options.results)
    rows = [HEAD, ['---'] * len(HEAD), *lines(results)]
    rounds = results.files['typed']['rounds']
    table = '\n'.join('| ' + ' | '.join(row) + ' |' for row in rows) + f'\n\n{results.machine()}; {rounds} rounds.'
    print(table)
    if options.update:
        update(options.update, table + '\n', BEGIN, END)


if __name__ == '__main__':
    main()
