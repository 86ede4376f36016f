#
# options.py - the option lists of the manual pages are those of the command's tables
#
# usage: options.py POSIXTRACE
#
# script/man-options --check compares them. Options in the documents: documents.py.
#
# SPDX-License-Identifier: MIT

import os
import subprocess
import sys

from check import ROOT, finish, spoiled

TOOL = os.path.abspath(sys.argv[1])


def check(root):
    done = subprocess.run([sys.executable, root / 'script' / 'man-options', '--check', TOOL],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode == 0 or done.stderr:
        yield from done.stderr.splitlines()
    else:
        yield f'script/man-options: exit status {done.returncode}'


def all_problems():
    yield from check(ROOT)
    yield from spoiled(
        check, ['man', 'script'],
        ('man/posixtrace-record.1', '.It Fl -rotate Ar size', '.It Fl -turn Ar size'),
        ('man/posixtrace-record.1', '.It Fl q , Fl -quiet', '.It Fl -quiet'),
        ('man/posixtrace-record.1', '.It Fl -keep Ar n', '.It Fl -keep Ar size'),
        ('man/posixtrace-record.1', '.Ss Flight recorder', '.Ss Flights'),
        ('man/posixtrace-record.1', '.Op Ar options\n', ''),
        ('man/posixtrace-stat.1', ' | pause', ' | break'),
        ('man/posixtrace-stat.1', '.It Fl -nested', '.It Fl -nested Ar depth'),
        ('man/posixtrace-stat.1', 'Only events of this process.', 'Events of this process.'),
        ('man/posixtrace-stat.1', '.\\" End of the options', '.\\" End'),
        ('man/posixtrace-convert.1', 'Only events before this time.', 'Events before this time.'),
        ('man/options.mdoc', '.Ss tid', '.Ss taskid'),
        ('man/options.mdoc', None, '.Ss unused\nA text.\n'))


finish(all_problems())
