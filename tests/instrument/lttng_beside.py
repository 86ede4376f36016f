#!/usr/bin/env python3
#
# lttng_beside.py - LTTng and posixtrace record one run of a program, and each event has to be the same in both
#
#     lttng_beside.py [--update TITLE] POSIXTRACE LIBRARY COMMAND...
#
# --update puts what was recorded into the row of docs/programs.md with this title, if there is no difference.
# LIBRARY: lttng_beside.c, which COMMAND gets by LD_PRELOAD. Compares, for each thread, the events in their order: name,
# address, and fields with their values; and the level of each type of event. Times are not compared. Prints how many
# events and threads there were. Needs lttng-tools and babeltrace2; the session daemon is started if none runs.
#
# SPDX-License-Identifier: MIT

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

from lttng_session import OWN, peer, session
from tried import update_row

LIMIT = 400
# LTTng's 0 to 6. Its others are "debug" here, and 13 is also that of events without a level.
LEVELS = ['emergency', 'alert', 'critical', 'error', 'warning', 'notice', 'info']
LEVEL_NONE = 13
LEAVES = 'lttng_beside:leaves'
failures = 0


def complain(text):
    global failures
    failures += 1
    print(text, file=sys.stderr)


def run(command, **more):
    return subprocess.run(command, capture_output=True, text=True, errors='replace', timeout=LIMIT, check=False,
                          stdin=subprocess.DEVNULL, **more)


def events_of(directory):
    """
    Returns (name, address, fields as text) and the time of each event, by thread, as babeltrace prints them; and when
    the first provider of each process left.
    """
    done = run(['babeltrace', '--no-delta', '--clock-seconds', str(directory)])
    if done.returncode or 'discarded' in done.stderr:
        complain(f'babeltrace {directory}: {done.stderr[-2000:]}')
    threads, ends = defaultdict(list), {}
    for line in done.stdout.splitlines():
        found = re.match(r'\[([\d.]+)\] (?:\S+ )?(\S+:\S.*?): \{ (?:cpu_id = \d+ )?\}, \{ vpid = (\d+), vtid = (\d+), '
                         r'ip = (\w+)(?:, debug_info = \{.*?\})?[^}]*\}, (\{.*\})$', line)
        if found and found[2] == LEAVES:
            ends.setdefault(found[3], found[1])
        elif found and not found[2].startswith(OWN):
            threads[found[3], found[4]].append(((found[2], int(found[5], 0), found[6]), found[1]))
    return threads, ends


def levels_of_lttng(directory):
    text = ''.join(run(['babeltrace2', '--output-format=ctf-metadata', str(path.parent)]).stdout
                   for path in directory.glob('**/metadata'))
    return {name: int(level) for name, level in re.findall(
        r'event \{\s+name = "([^"]*)";(?:[^}]*?)loglevel = (\d+);', text)}


def levels_of(posixtrace, log):
    levels = {}
    for line in run([posixtrace, 'report', '--json', str(log)]).stdout.splitlines():
        event = json.loads(line)
        levels[event['event']] = event.get('level')
    return levels


def difference(ours, theirs, end):
    """
    Returns the first difference of two lists as text; null: none. end: when the first provider left. What was recorded
    then is not compared, nor the last event before, which one may have recorded just before, and the other not.
    """
    for number, ((our, our_time), (their, their_time)) in enumerate(zip(ours, theirs)):
        if end and max(our_time, their_time) >= end:
            return None
        if our != their:
            return f'event {number}:\n  LTTng      {str(their)[:600]}\n  posixtrace {str(our)[:600]}'
    more = ours[len(theirs):] or theirs[len(ours):]
    if end:
        more = [event for event in more if event[1] < end][1:]
    if more:
        return f'{len(ours)} events, and {len(theirs)} of LTTng; the first one more, at {more[0][1]}: {more[0][0]}'
    return None


def main(title, posixtrace, library, command):
    work = Path(tempfile.mkdtemp(prefix='lttng-beside-'))
    log, theirs, ours = work / 'log', work / 'theirs', work / 'ours'
    with peer.daemon(), session(theirs, contexts=('vpid', 'vtid', 'ip')):
        done = run([posixtrace, 'record', '--children', '--max-data', '65535', '-s', '256M', '-q', '-o', str(log), '--',
                    'env', f'LD_PRELOAD={library}', *command])
    if done.returncode:
        complain(f'{command}: status {done.returncode}')
    sys.stderr.write(''.join(line + '\n' for line in done.stderr.splitlines() if line.startswith('posixtrace')))
    run([posixtrace, 'convert', '-q', '--to', 'ctf', '-o', str(ours), str(log)])
    (their, _), (our, ends) = events_of(theirs), events_of(ours)
    names = Counter(event[0] for events in our.values() for event, _ in events)
    recorded = {process for process, _ in our}
    for thread in sorted({*their, *our}):
        # LTTng's session daemon serves all programs of the machine: others are not compared.
        if thread[0] not in recorded and not any(event[0] in names for event, _ in their[thread]):
            continue
        text = difference(our.get(thread, []), their.get(thread, []), ends.get(thread[0]))
        if text:
            complain(f'{command[-1]}: process {thread[0]}, thread {thread[1]}: {text}')
    their_levels, our_levels = levels_of_lttng(theirs), levels_of(posixtrace, log)
    for name in names:
        number = their_levels.get(name)
        wanted = None if number is None else LEVELS[number] if number < len(LEVELS) else 'debug'
        if our_levels.get(name) != wanted and not (number == LEVEL_NONE and our_levels.get(name) is None):
            complain(f'{name}: level {our_levels.get(name)}, and of LTTng {number}')
    count = sum(map(len, our.values()))
    if not count:
        complain(f'{command}: no events')
    print(f'{" ".join(command)[:100]}: {count} events of {len(names)} types, {len(our)} threads in '
          f'{len(recorded)} processes; {failures} differences')
    if title and not failures:
        processes = f' of {len(recorded)} processes' if len(recorded) > 1 else ''
        update_row(title, f'{count} in {len(our)} threads{processes}', len(names))
    if os.environ.get('VERBOSE'):
        for name, number in sorted(names.items()):
            print(f'{number:9} {name} {their_levels.get(name)} {our_levels.get(name)}')
        print(work)
    else:
        shutil.rmtree(work)


missing = [tool for tool in ('lttng-sessiond', 'lttng', 'babeltrace', 'babeltrace2') if not shutil.which(tool)]
if missing:
    print(f'skipped: {" ".join(missing)} missing')
    sys.exit(77)
arguments, wanted = sys.argv[1:], ''
if arguments[0] == '--update':
    wanted, arguments = arguments[1], arguments[2:]
main(wanted, *(str(Path(argument).resolve()) for argument in arguments[:2]), arguments[2:])
sys.exit(1 if failures else 0)
