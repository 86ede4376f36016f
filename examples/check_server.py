#
# check_server.py - runs server.py under the recorder, and checks its events: check_server.py POSIXTRACE PYTHON SERVER
#
# SPDX-License-Identifier: MIT

import collections
import json
import subprocess
import sys
import tempfile

POSIXTRACE, PYTHON, SERVER = sys.argv[1:]

with tempfile.TemporaryDirectory() as folder:
    log = f'{folder}/x.log'
    done = subprocess.run([POSIXTRACE, 'record', '-q', '-o', log, '--', PYTHON, SERVER, '30'], capture_output=True,
                          text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, '', ''), done
    report = subprocess.run([POSIXTRACE, 'report', '--json', log], capture_output=True, text=True, check=True).stdout
events = [json.loads(line) for line in report.splitlines()]
count = collections.Counter(event['event'] for event in events)
assert count == {'server.request.begin': 30, 'server.request.end': 30, 'server.threads': 30, 'server.answer': 30,
                 'server.render.begin': 20, 'server.render.end': 20, 'log': 10}, count
answers = [event['fields'] for event in events if event['event'] == 'server.answer']
assert sorted((fields['id'], fields['status']) for fields in answers) == \
    [(n, 404 if n % 3 == 0 else 200) for n in range(1, 31)], answers
assert all(event['fields']['message'] == '/missing is missing' for event in events if event['event'] == 'log')
assert len({event['tid'] for event in events}) > 1
print('30 requests')
