#
# check_words.py - records words.cpp, and compares what it prints and what is reported
#
# usage: check_words.py POSIXTRACE WORDS
#
# SPDX-License-Identifier: MIT

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

POSIXTRACE, WORDS = (os.path.abspath(argument) for argument in sys.argv[1:3])
EXPECTED = '''
words.read.begin {name="tea"}
words.different  {value=3}
words.read.end
words.file       {name="tea" kind=text words=4 longest="leaves"}
words.read.begin {name="none"}
words.read.end
words.file       {name="none" kind=unreadable words=0 longest=""}
words.read.begin {name="empty"}
words.different  {value=0}
words.read.end
words.file       {name="empty" kind=empty words=0 longest=""}
'''


def run(*command, status=0):
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == status, f'{command}: exit status {done.returncode}: {done.stderr}'
    return done.stdout


with tempfile.TemporaryDirectory() as directory:
    os.chdir(directory)
    Path('tea').write_text('leaves and leaves\nwater\n')
    Path('empty').write_text('')
    printed = run(POSIXTRACE, 'record', '-o', 'words.log', '--', WORDS, 'tea', 'none', 'empty', status=1)
    assert printed == 'tea: 4 words\nempty: 0 words\n', printed
    shown = run(POSIXTRACE, 'report', '--no-header', '--fields', 'event,data', 'words.log')
    assert [re.sub(r' *(\(took .*\))?$', '', line) for line in shown.splitlines()] == EXPECTED.split('\n')[1:-1], shown
    os.chdir('/')
