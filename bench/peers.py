#
# peers.py - logs of ours beside those of LTTng, in turns: rate without loss, bytes, reading
#
# usage: peers.py [--quick] [--rounds N] BUILD DIRECTORY RESULT
#
#   BUILD       with bench-disk, bench-size, bench-read and bench-peer
#   DIRECTORY   where logs and traces are for a while
#   RESULT      JSON, like that of the programs; LTTng's figures are the "floor"
#
# Rate: the highest one at which a session that discards what finds no room, and
# writes to a directory, has lost nothing, found by halving as bench-disk does
# it; with sub-buffers as large together as our stream. Bytes: all files of its
# trace. Reading: babeltrace2 with a sink that throws the events away, by CPU
# time. The events are those of ours, with the same fields.
#
# SPDX-License-Identifier: MIT

import argparse
import json
import resource
import subprocess
import sys
from pathlib import Path

from lttng import Session, daemon

STEPS = 5
TRIES = 2
ROOM = ['--discard', '--subbuf-size=4M', '--num-subbuf=8']


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument('--quick', action='store_true')
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('build', type=Path)
    parser.add_argument('directory', type=Path)
    parser.add_argument('result', type=Path)
    return parser.parse_args()


def children():
    """CPU time of those that have ended, seconds."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Peers:
    def __init__(self, options):
        self.options = options
        self.rows = {}

    def ours(self, program, only):
        """The figures of one round of a program: {(section, row): figure}."""
        file = self.options.directory / 'ours.json'
        command = [self.options.build / 'bench' / program, '--only', only, '--directory', self.options.directory,
                   '--json', file,
                   *(['--quick'] if self.options.quick else ['--rounds', '1'])]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        rows = json.loads(file.read_text())['rows']
        file.unlink()
        return {(row['section'], row['row']): row['figure'][0] for row in rows}

    def peer(self, *command):
        """Events, and seconds."""
        done = subprocess.run([self.options.build / 'bench' / 'bench-peer', *map(str, command)], check=True,
                              capture_output=True, text=True)
        events, seconds = done.stdout.split()
        return int(events), float(seconds)

    def row(self, section, name, ours, theirs):
        row = self.rows.setdefault((section, name), {'section': section, 'row': name, 'figure': [], 'floor': []})
        row['figure'].append(ours)
        row['floor'].append(theirs)
        print(f'  {section:10} {name:28} {ours:10.4g} {theirs:10.4g} {ours / theirs:8.3g}', flush=True)

    # -- Rate ------------------------------------------------------------------------------------

    def holds(self, length, kib, rate):
        """Million events per second at this rate, or 0 if some are lost."""
        # Long enough that even a rate a little too high fills the buffers.
        seconds = min(max(16 * kib * 1024 / ((20 + length) * rate), 0.1), 0.5)
        for _ in range(TRIES):
            with Session(self.options.directory, ['--discard', f'--subbuf-size={kib // 4}k',
                                                  '--num-subbuf=4']) as session:
                events, took = self.peer('rate', length, rate, seconds)
                session.stop()
                if session.discarded() == 0:
                    return events / took / 1e6
        return 0

    def sustained(self, length, kib):
        low, high, best = 0, 16e6, 0
        rate = 1e6
        for _ in range(STEPS + 3):
            held = self.holds(length, kib, rate)
            best = max(best, held)
            low, high = (rate, high) if held else (low, rate)
            rate = min(2 * rate, (low + high) / 2) if held and high == 16e6 else (low + high) / 2
        return best

    def rate(self):
        for mib in [1, 8]:
            name = f'1 thread, 32 bytes, {mib} MiB'
            ours = self.ours('bench-disk', name)['sustained', name]
            theirs = self.sustained(32, mib * 1024)
            if theirs == 0:
                print('note: LTTng loses events at any rate that was tried')
                continue
            self.row('sustained', name, ours, theirs)

    # -- Bytes, and reading -------------------------------------------------------------------------

    def trace(self, session, how, length, data, events):
        self.peer(how, length, data, events)
        session.stop()
        if session.discarded():
            sys.exit(f'bench: LTTng has lost {session.discarded()} of {events} events')

    def size(self):
        events = 20000 if self.options.quick else 200000
        for length, data in [(8, 'counters'), (8, 'random'), (32, 'counters'), (32, 'a request'), (32, 'random')]:
            name = f'{length} bytes, {data}'
            ours = self.ours('bench-size', name)['size', name]
            with Session(self.options.directory, ROOM) as session:
                self.trace(session, 'apart', length, data, events)
                self.row('size', name, ours, session.size() / events)

    def read(self):
        events = 100000 if self.options.quick else 1000000
        for length, data in [(8, 'counters'), (32, 'a request')]:
            name = f'{length} bytes, {data}'
            ours = self.ours('bench-read', name)['read', name]
            with Session(self.options.directory, ROOM) as session:
                self.trace(session, 'flushed', length, data, events)
                command = ['babeltrace2', '--component=sink.utils.dummy', session.directory]
                # Once to have it in memory.
                subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
                before = children()
                subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
                self.row('read', name, ours, events / (children() - before) / 1e6)

    def run(self):
        rounds = 1 if self.options.quick else self.options.rounds
        print(f'logs beside LTTng\'s, {rounds} rounds: million events/s without loss and read, bytes for each: '
              'ours, theirs, ratio')
        with daemon():
            for _ in range(rounds):
                self.rate()
                self.size()
                self.read()
        self.options.result.write_text(json.dumps({'rounds': rounds, 'rows': list(self.rows.values())}, indent=2))


if __name__ == '__main__':
    Peers(arguments()).run()
