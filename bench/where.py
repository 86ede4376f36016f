#!/usr/bin/env python3
#
# where.py - what record --where costs the recorder
#
#     python3 bench/where.py POSIXTRACE WHERE_TARGET
#
# WHERE_TARGET: the program tests/tool/where_target. It records events of five types. Prints the processor time of the
# recorder for each event that it takes out of the stream, the least of several rounds; the median of the ratios to
# the recorder without the option in the same round, with the least and the largest; and the size of the log.
#
# SPDX-License-Identifier: MIT

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

POSIXTRACE, TARGET = sys.argv[1:3]
ROUNDS, EVENTS = 9, 400000
CASES = {
    'without': None,
    'all events, by their types': 'true',
    'all events, by a number of each': '@length >= 0',
    'no event, by a number of each': '@length > 5000',
    'no event, by a field that one type has': 'rows > 1000',
    'a twentieth, by a number': 'rows > 7',
    'a tenth, by a text': 'key ~ "user:*"',
    'a tenth, by a pattern without a plain beginning': 'key ~ "*:*"',
}


def record(folder, where, events):
    """Returns the recorder's processor time in ns, the events that it took, and the size of its log."""
    log = f'{folder}/x.log'
    program = subprocess.Popen([TARGET, '1', str(events), '1', '/nonexistent'], stdin=subprocess.PIPE)
    recorder = subprocess.Popen([POSIXTRACE, 'record', '-s', '64M', '-o', log, '-p', str(program.pid),
                                 *(['--where', where] if where else [])], stderr=subprocess.PIPE, text=True)
    while b'running' not in subprocess.run([POSIXTRACE, 'list', '--json', '-p', str(program.pid)], capture_output=True,
                                           check=False).stdout:
        time.sleep(0.01)
    program.stdin.write(b'\n')
    program.stdin.close()
    program.wait()
    said = recorder.stderr.read()
    usage = os.wait4(recorder.pid, 0)[2]
    taken = sum(int(number) for number in re.findall(r': (\d+) events?(?:,| did not)', said))
    size = os.stat(log).st_size
    os.unlink(log)
    return (usage.ru_utime + usage.ru_stime) * 1e9, taken, size


def main():
    times, sizes = {what: [] for what in CASES}, {}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(ROUNDS):
            nothing = record(folder, None, 10)[0]
            for what, where in CASES.items():
                spent, taken, sizes[what] = record(folder, where, EVENTS)
                times[what].append((spent - nothing) / taken)
    for what, each in times.items():
        ratios = [a / b for a, b in zip(each, times['without'])]
        print(f'{what:48}{min(each):6.1f} ns {statistics.median(ratios):6.2f} ({min(ratios):.2f}-{max(ratios):.2f})'
              f'{sizes[what] / 1024:7.0f} KiB')


if __name__ == '__main__':
    main()
