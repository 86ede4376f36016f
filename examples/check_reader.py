#
# check_reader.py - log_import makes a log of a text, and log_fields reads it
#
#     check_reader.py LOG_IMPORT LOG_FIELDS POSIXTRACE
#
# SPDX-License-Identifier: MIT

import os
import subprocess
import sys
import tempfile

IMPORT, FIELDS, POSIXTRACE = map(os.path.abspath, sys.argv[1:])
TEXT = ''.join(f'1700000000.{i:06} {7 + i % 2} worker{i % 2} request.{"size" if i % 3 else "time"} {100 * i}\n'
               for i in range(9))


def run(*command, text='', status=0):
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == status, f'{command}: {done.returncode}: {done.stderr}'
    return done.stdout + done.stderr


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    run(IMPORT, 'text.log', text=TEXT)
    assert 'no damage; 9 events' in run(POSIXTRACE, 'check', 'text.log')
    lines = [line.split() for line in run(POSIXTRACE, 'report', '--no-header', 'text.log').splitlines()]
    assert lines[4] == ['0.000004000', '1', 'worker0/7', 'request.size', '{value=400}'], lines[4]
    out = run(FIELDS, 'text.log')
    assert out.split() == ('request.time: 3 events value 0 300 600 '
                           'request.size: 6 events value 100 450 800').split(), out
    out = run(FIELDS, '-e', '*.time', 'text.log', 'text.log')
    assert 'request.time: 6 events' in out, out
    # Cut off before its only segment: the numbers at the front are there.
    data = open('text.log', 'rb').read()
    open('cut.log', 'wb').write(data[:600])
    assert '9 events: in damaged parts' in run(FIELDS, 'cut.log')
    assert 'none.log: No such file' in run(FIELDS, 'none.log', status=1)
    assert 'the time is before' in run(IMPORT, 'wrong.log', text='2.0 1 a b 1\n1.0 1 a b 1\n', status=1)
print('0 failures')
