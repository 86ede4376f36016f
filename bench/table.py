#
# table.py - all goals in one table: ours, floor, peer, ratio, goal, met or not
#
# usage: table.py [--markdown FILE] [--update FILE] RESULTS
#
#   RESULTS     the directory with the JSON of the programs and of peers.py, of one run
#   --markdown  writes the table there, as Markdown
#   --update    puts it between the two marks in this document
#
# A cell is the median of the rounds, with the least and the greatest. A ratio is
# taken inside of each round, so it need not be the quotient of the cells beside
# it. What was not measured has no line; without peers their cells are empty.
#
# SPDX-License-Identifier: MIT

import argparse
import json
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import List, Optional

BEGIN, END = '<!-- begin: script/bench --update-docs -->', '<!-- end -->'
HEAD = ['what', 'ours', 'floor', 'peer', 'ratio', 'goal', 'met']


@dataclass
class Line:
    """Figures by round. The goal is about the ratio if there is one, or would be with peers."""
    what: str
    unit: str
    ours: List[float]
    floor: Optional[List[float]] = None
    floor_is: str = ''
    peer: Optional[List[float]] = None
    ratio: Optional[List[float]] = None
    most: Optional[float] = None
    least: Optional[float] = None
    to_peer: bool = False

    def met(self):
        """None: nobody knows."""
        if (self.to_peer and not self.ratio) or (self.most is None and self.least is None):
            return None
        judged = statistics.median(self.ratio or self.ours)
        return judged <= self.most if self.most is not None else judged >= self.least

    def goal(self):
        if self.most is None and self.least is None:
            return ''
        number = f'≤ {self.most:g}' if self.most is not None else f'≥ {self.least:g}'
        return number + (' x' if self.ratio or self.to_peer else f' {self.unit}'.rstrip())

    def cells(self):
        floor = cell(self.floor, self.unit) + (f', {self.floor_is}' if self.floor and self.floor_is else '')
        return [self.what, cell(self.ours, self.unit), floor, cell(self.peer, self.unit), cell(self.ratio, 'x'),
                self.goal(),
                {True: 'yes', False: 'NO', None: ''}[self.met()]]


def digits(x):
    """Three of them."""
    size = abs(x)
    places = 0 if size >= 100 or size == 0 else 1 if size >= 10 else 2 if size >= 0.1 else 3
    return f'{x:.{places}f}'


def cell(values, unit):
    if not values:
        return ''
    middle, least, most = (digits(x) for x in (statistics.median(values), min(values), max(values)))
    return f'{middle} {unit}'.rstrip() + ('' if least == most else f' ({least}-{most})')


def ratio(above, below):
    return [a / b for a, b in zip(above, below)]


class Results:
    def __init__(self, directory):
        self.files = {path.stem: json.loads(path.read_text()) for path in sorted(directory.glob('*.json'))}
        self.cases = {(case['case'], case['payload'], case['threads']): case['ns']
                      for case in self.files.get('record', {}).get('cases', [])}
        self.rows = {(row['section'], row['row']): row for name, content in self.files.items() if name != 'peers'
                     for row in content.get('rows', [])}
        self.peers = {(row['section'], row['row']): row for row in self.files.get('peers', {}).get('rows', [])}

    def machine(self):
        """What the figures come from, and how many others were at work when the programs began."""
        told = [content for content in self.files.values() if 'cpu' in content]
        if not told:
            sys.exit('table.py: no results')
        m, loads = told[0], [float(content['load']) for content in told if 'load' in content]
        return (f'{m["version"]}; {m["cpu"]}, {m["cpus"]} CPUs, Linux {m["kernel"]}, clock source {m["clocksource"]}'
                + (f', load {min(loads):g} to {max(loads):g}' if loads else '') + f'; compiled by {m["compiler"]}')

    # -- Lines, in the order of the table ------------------------------------------------------

    def events(self):
        for length, most in [(0, 1.3), (8, 1.3), (32, 1.3), (256, 1.4)]:
            ours, floor = self.cases.get(('record', length, 1)), self.cases.get(('floor', length, 1))
            if ours:
                yield Line(f'record, {length} bytes', 'ns', ours, floor, ratio=ratio(ours, floor), most=most)
        for length in [0, 8, 32, 256]:
            ours, one = self.cases.get(('record', length, 2)), self.cases.get(('record', length, 1))
            if ours and one:
                yield Line(f'record, {length} bytes, 2 threads', 'ns', ours, one, '1 thread', ratio=ratio(ours, one),
                           most=1.05)
        for length in [0, 8, 32, 256]:
            ours, peer = self.cases.get(('record', length, 1)), self.cases.get(('lttng', length, 1))
            if ours:
                yield Line(f'record, {length} bytes, LTTng-UST flight recorder', 'ns', ours, peer=peer,
                           ratio=peer and ratio(peer, ours), least=5, to_peer=True)
        loop = self.cases.get(('loop', 32, 1))
        for key, what, most in [('off', 'off, over an empty loop', 0.5),
                                ('off-call', 'off, called as a function, over an empty loop', 2),
                                ('off-gone', 'off, called as a function, the stream gone', 2),
                                ('off-child', 'off, called as a function, in a forked child', 2),
                                ('filtered', 'filtered out, over an empty loop', 2)]:
            ours = self.cases.get((key, 32, 1))
            if ours and loop:
                yield Line(what, 'ns', [a - b for a, b in zip(ours, loop)], loop, 'the loop', most=most)
        ours, one = self.cases.get(('two', 32, 1)), self.cases.get(('record', 32, 1))
        if ours and one:
            yield Line('two streams, 32 bytes', 'ns', ours, one, 'one stream', ratio=ratio(ours, one), most=1.6)

    def row(self, section, name, what, unit, floor_is='', to_floor=False, most=None, least=None):
        row = self.rows.get((section, name))
        if row:
            yield Line(what, unit, row['figure'], row['floor'], floor_is,
                       ratio=ratio(row['figure'], row['floor']) if to_floor else None, most=most, least=least)

    def peer(self, section, name, what, unit, most=None, least=None):
        row = self.peers.get((section, name))
        if row:
            yield Line(what, unit, row['figure'], peer=row['floor'], ratio=ratio(row['figure'], row['floor']),
                       most=most, least=least, to_peer=True)
        elif (section, name) in self.rows:
            yield Line(what, unit, self.rows[section, name]['figure'], most=most, least=least, to_peer=True)

    def logs(self):
        for mib in [1, 8]:
            name, what = f'1 thread, 32 bytes, {mib} MiB', f'to disk without loss, 32 bytes, stream of {mib} MiB'
            yield from self.row('sustained', name, what, 'M/s', 'write()', to_floor=True, least=0.7)
            yield from self.peer('sustained', name, f'{what}, LTTng', 'M/s', least=4)
        for name in ['8 bytes, counters', '32 bytes, a request', '32 bytes, random']:
            yield from self.row('size', name, f'log, {name}; CTF, calculated', 'B', 'CTF', to_floor=True, most=0.5)
            yield from self.peer('size', name, f'log, {name}; LTTng\'s files', 'B', most=0.5)
        for name in ['8 bytes, counters', '32 bytes, a request', '32 bytes, random']:
            yield from self.row('read', name, f'read a log, {name}', 'M/s', 'read()', least=25)
        for name in ['8 bytes, counters', '32 bytes, a request']:
            yield from self.peer('read', name, f'read a log, {name}; babeltrace2', 'M/s', least=5)
        yield from self.row('open', '1024 MiB', 'open a log of 1 GiB', 'ms', 'read() of all', most=5)

    def streams(self):
        for length in [8, 32]:
            yield from self.row('live', f'{length} bytes', f'read a live stream, {length} bytes', 'M/s',
                                'store and copy',
                                least=15)
        yield from self.row('wake', 'median', 'wake a sleeping reader, median', 'us', 'futex', most=60)
        for rate in ['10 000', '100 000']:
            for which, most in [('median', 60), ('99 %', 120)]:
                yield from self.row('latency', f'{rate} events/s, {which}',
                                    f'to a reader of the log, flush period 50 ms, {rate} events/s, {which}', 'ms',
                                    'period of 1 s', most=most)
        yield from self.row('life', 'median of 50', 'create, start, shutdown, 1 MiB', 'us', 'a file', most=150)
        yield from self.row('unused', 'system calls', 'linked and unused: system calls', '', 'a program', most=0)
        yield from self.row('unused', 'memory', 'linked and unused: memory', 'KiB', 'a program', most=0)
        yield from self.row('thousand lost', 'as many as promised', '1000 threads, 4 MiB: lost within the promise', '',
                            most=0)
        # A stream's file is larger than its size by what docs/memory-layout.md says.
        yield from self.row('thousand shared', '100 events each', '1000 threads, 100 events each: shared memory', 'KiB',
                            'as configured', to_floor=True, most=1.25)

    def growth(self):
        """What a hundred cost for each, to what one costs."""
        for section, what, unit, each, most in [
                ('threads', '100 threads, an event', 'ns', 1, 1.5),
                ('streams', '100 streams, an event in each', 'ns', 100, 1.5),
                ('types', '100 event types, an event', 'ns', 1, 1.5),
                ('log open', 'a log of 100 MiB, opened', 'ms', 1, 1.5),
                ('log read', 'a log of 100 MiB, an event read', 'ns', 1, 1.5)]:
            one, many = self.rows.get((f'grow {section}', '1')), self.rows.get((f'grow {section}', '100'))
            if one and many:
                figure = [x / each for x in many['figure']]
                yield Line(what, unit, figure, one['figure'], 'of 1', ratio=ratio(figure, one['figure']), most=most)

    def lines(self):
        return [*self.events(), *self.logs(), *self.streams(), *self.growth()]


def text(lines):
    rows = [HEAD] + [line.cells() for line in lines]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEAD))]
    return '\n'.join('  '.join(c.ljust(w) for c, w in zip(row, widths)).rstrip() for row in rows)


def markdown(results, lines):
    rounds = results.files.get('record', {}).get('rounds')
    out = [f'{results.machine()}' + (f'; {rounds} rounds of recording.' if rounds else '.'), '']
    out += ['| ' + ' | '.join(HEAD) + ' |', '| ' + ' | '.join(['---'] * len(HEAD)) + ' |']
    out += ['| ' + ' | '.join(line.cells()) + ' |' for line in lines]
    met = [line.met() for line in lines if line.met() is not None]
    out += ['', f'{sum(met)} of {len(met)} goals are met in this run.']
    return '\n'.join(out) + '\n'


def update(document, table, begin, end):
    """Writes a table that ends with a line end between the two marks of a document."""
    before, found, rest = document.read_text().partition(begin)
    _, found_end, after = rest.partition(end)
    if not found or not found_end:
        sys.exit(f'{Path(sys.argv[0]).name}: {document} has no {begin} and {end}')
    document.write_text(f'{before}{begin}\n\n{table}\n{end}{after}')


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--markdown', type=Path)
    parser.add_argument('--update', type=Path)
    parser.add_argument('results', type=Path)
    options = parser.parse_args()
    results = Results(options.results)
    lines = results.lines()
    print(results.machine())
    print(text(lines))
    known = [line.met() for line in lines if line.met() is not None]
    rest = len(lines) - len(known)
    print(f'\n{sum(known)} of {len(known)} goals met' + (f', {rest} need --peers' if rest else ''))
    if options.markdown:
        options.markdown.write_text(markdown(results, lines))
    if options.update:
        update(options.update, markdown(results, lines), BEGIN, END)


if __name__ == '__main__':
    main()
