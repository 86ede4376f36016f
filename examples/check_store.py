#
# check_store.py - tells store.c what to do under the recorder, and compares its events: check_store.py POSIXTRACE STORE
#
# SPDX-License-Identifier: MIT

import json
import os
import subprocess
import sys
import tempfile

POSIXTRACE, STORE = (os.path.abspath(argument) for argument in sys.argv[1:3])
LINES = [*(f'set tea:{n} {"leaf" * n}' for n in range(1, 11)), *(f'get tea:{n}' for n in (1, 1, 1, 2)), 'get none',
         'get none', 'get none:2', 'nonsense', 'set tea:1 water', 'drop tea:3', 'drop none', 'get tea:1']
PRINTED = ['leaf', 'leaf', 'leaf', 'leafleaf', 'water']


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **options)
    assert done.returncode == 0, f'{command}: exit status {done.returncode}: {done.stderr}'
    return done.stdout


def equal(what, got, expected):
    assert got == expected, f'{what}: {got}, not {expected}'


def groups(by, *options):
    said = json.loads(run(POSIXTRACE, 'stat', '--show', 'groups', '--group-by', by, '--json', *options, 'store.log'))
    return {group['by'][by]: group['events'] for group in said['groups']}


with tempfile.TemporaryDirectory() as directory:
    os.chdir(directory)
    printed = run(POSIXTRACE, 'record', '-q', '-o', 'store.log', '--', STORE, input='\n'.join(LINES) + '\n')
    equal('printed', printed.splitlines(), PRINTED)
    events = [json.loads(line) for line in run(POSIXTRACE, 'report', '--json', 'store.log').splitlines()]
    fields = [event['fields'] for event in events if event['event'] == 'store.command']
    equal('commands', groups('command'), {'set': 11, 'get': 8, 'drop': 2})
    equal('in their order', [f'{e["command"]} {e["key"]}' for e in fields],
          [' '.join(line.split()[:2]) for line in LINES if line != 'nonsense'])
    equal('missed keys', groups('key', '--where', 'found == miss && command == "get"'), {'none': 2, 'none:2': 1})
    equal('the size in the end', [e['fields'] for e in events if e['event'] == 'store.size'][-1],
          {'entries': 9, 'memory': 4 * (sum(range(1, 11)) - 1 - 3) + 5})
    equal('messages', [(e['level'], e['fields']['line']) for e in events if e['event'] == 'store.unknown'],
          [('warning', 'nonsense')])
    # Both are freed by the other thread, to which a flow leads.
    by_name = {name: [e for e in events if e['event'] == f'store.{name}'] for name in ('dropped', 'free_begin')}
    jobs = {name: {e['fields']['job']: e for e in found} for name, found in by_name.items()}
    equal('jobs', [sorted(found) for found in jobs.values()], [[1, 2], [1, 2]])
    for job, begin in jobs['free_begin'].items():
        equal('size', begin['fields']['size'], {1: 4, 2: 12}[job])
        assert begin['tid'] != jobs['dropped'][job]['tid'] and begin['time'] >= jobs['dropped'][job]['time'], events
    spans = {span['name']: span
             for span in json.loads(run(POSIXTRACE, 'stat', '--show', 'spans', '--json', 'store.log'))['spans']}
    equal('spans', {name: [span[key] for key in ('count', 'no_end', 'no_begin')] for name, span in spans.items()},
          {'store.command': [21, 0, 0], 'store.free': [2, 0, 0]})
    equal('durations', sum(e['time'] for e in fields), round(spans['store.command']['mean'] * 21))
    os.chdir('/')
