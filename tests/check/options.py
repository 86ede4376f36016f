#
# options.py - the manual pages have the options that the command has
#
# usage: options.py POSIXTRACE
#
# The command makes --help and completion from its tables of options, and prints these tables by `posixtrace complete
# options`. Each manual page describes these options, with these arguments and choices. Options in the documents:
# documents.py.
#
# SPDX-License-Identifier: MIT

import re
import subprocess
import sys

from check import ROOT, finish, spoiled

TOOL = sys.argv[1]
COMMON = {'-h', '--help'}


def complete(*words):
    return subprocess.run([TOOL, 'complete', *words], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()


def table(command):
    """Returns for each option of a subcommand the name of the argument ('-': none), and the choices."""
    rows = [line.split() for line in complete('options', command)]
    return {row[0]: (row[1], row[2:]) for row in rows if row[0] not in COMMON}


TABLES = {command: table(command) for command in complete('commands') if command != 'help'}


def described(page):
    """Yields each option in a manual page, the name of its argument, and the text.

    The name is '-' for no argument, '?' for an optional argument, and None for an argument without a name.
    """
    for item in re.split(r'^\.It (?=Fl )', page.replace('\\', ''), flags=re.M)[1:]:
        line, _, text = item.partition('\n')
        line = line.replace(' , Ns Ar ', ',').replace(' Ns Op = Ns Ar size', ' Ar ?').replace(' Ns = Ns ', ' ')
        waiting, before = [], ''
        for word in line.split():
            if before in ('Ar', 'Cm'):
                # After Cm there are the choices instead of a name.
                yield from ((option, word if before == 'Ar' else None, item) for option in waiting)
                waiting = []
            if before == 'Cm':
                break
            if before != 'Ar' and word not in ('Fl', ',', 'Ar', 'Cm'):
                waiting.append('-' + word)
            before = word
        yield from ((option, '-', text) for option in waiting)


def check_page(where, page, rows):
    found = {}
    for option, argument, text in described(page):
        found[option] = argument
        if option not in rows:
            yield f'{where}: the command has no option {option}'
            continue
        wanted, choices = rows[option]
        if argument not in ('?', None, wanted.lower()) and option.startswith('--'):
            yield f'{where}: the argument of {option} is {wanted.lower()}, not {argument}'
        for choice in choices:
            if not re.search(rf'\b{choice}\b', text):
                yield f'{where}: {option} does not tell of {choice}'
    for option in rows.keys() - found.keys():
        yield f'{where}: the option {option} is not described'


def check(root):
    for command, rows in TABLES.items():
        name = f'man/posixtrace-{command}.1'
        yield from check_page(name, (root / name).read_text(), rows)


def all_problems():
    yield from check(ROOT)
    yield from spoiled(
        check, ['man'],
        ('man/posixtrace-record.1', '.It Fl \\-rotate Ar size', '.It Fl \\-turn Ar size'),
        ('man/posixtrace-record.1', '.It Fl q , \\-quiet', '.It Fl \\-quiet'),
        ('man/posixtrace-record.1', '.It Fl \\-keep Ar n', '.It Fl \\-keep Ar size'),
        ('man/posixtrace-stat.1', '.Cm pause', '.Cm break'),
        ('man/posixtrace-stat.1', '.It Fl -nested', '.It Fl -nested Ar depth'))


finish(all_problems())
