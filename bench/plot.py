#
# plot.py - draws what bench-grow has measured: a picture for each thing that grows
#
# usage: plot.py GROW.JSON DIRECTORY
#
# One SVG each, ours and the floor: medians of the rounds, with the least and the
# greatest as a line. Numbers of things grow by factors, so the axis does; cost is
# from 0 on, unless it grows too.
#
# SPDX-License-Identifier: MIT

import json
import math
import statistics
import sys
from dataclasses import dataclass
from html import escape
from pathlib import Path

WIDTH, HEIGHT = 720, 420
LEFT, RIGHT, TOP, BOTTOM = 76, 130, 48, 60
OURS, FLOOR = '#1f5fa8', '#8a6d3b'


@dataclass
class Picture:
    section: str
    file: str
    title: str
    x: str
    y: str
    floor: str
    factors: bool # on the axis of costs too


PICTURES = [
    Picture('threads', 'threads', 'Threads that record into one stream of 1 MiB', 'threads',
            'CPU time of an event of 32 bytes, ns', 'a ring for each', False),
    Picture('streams', 'streams', 'Streams that one thread is recorded into', 'streams',
            'CPU time of an event in all of them, ns', 'a ring for each', True),
    Picture('types', 'types', 'Event types, one after the other', 'event types',
            'CPU time of an event of 32 bytes, ns', 'a ring', False),
    Picture('log open', 'log-open', 'Opening a log', 'size of the log, MiB',
            'until the first event is there, ms', 'pread() of 256 KiB', True),
    Picture('log read', 'log-read', 'Reading a log', 'size of the log, MiB',
            'CPU time to read an event, ns', 'read() of all', False),
]


class Axis:
    """From values to places between two ends; by factors or not."""

    def __init__(self, values, begin, end, factors):
        self.factors = factors
        self.begin, self.end = begin, end
        if factors:
            self.low = 10 ** math.floor(math.log10(min(values)) + 1e-9)
            self.high = max(values) * 1.1
        else:
            self.low, self.high = 0, max(values) * 1.15

    def at(self, value):
        low, high = self.low, self.high
        if self.factors:
            low, high, value = (math.log10(v) for v in (low, high, value))
        return self.begin + (value - low) / (high - low) * (self.end - self.begin)

    def ticks(self):
        if self.factors:
            decades = range(round(math.log10(self.low)), math.floor(math.log10(self.high)) + 1)
            steps = [1, 2, 5] if len(decades) <= 3 else [1]
            return [m * 10.0 ** d for d in decades for m in steps if m * 10.0 ** d <= self.high]
        step = 10 ** math.floor(math.log10(self.high / 4))
        step = next(step * m for m in (1, 2, 5, 10) if self.high / (step * m) <= 7)
        return [i * step for i in range(int(self.high / step) + 1)]


def short(x):
    return f'{x:,.0f}'.replace(',', ' ') if x >= 1 or x == 0 else f'{x:g}'


def text(x, y, what, anchor='middle', size=12, color='#222', more=''):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{color}"{more}>'
            f'{escape(what)}</text>')


def axes(picture, across, up):
    yield text(LEFT, 26, picture.title, 'start', 15)
    for tick in across.ticks():
        x = across.at(tick)
        yield f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{HEIGHT - BOTTOM}" stroke="#e4e4e4"/>'
        yield text(x, HEIGHT - BOTTOM + 18, short(tick))
    for tick in up.ticks():
        y = up.at(tick)
        yield f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="#e4e4e4"/>'
        yield text(LEFT - 8, y + 4, short(tick), 'end')
    yield f'<path d="M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}" fill="none" stroke="#555"/>'
    yield text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 16, picture.x)
    middle = (TOP + HEIGHT - BOTTOM) / 2
    yield text(18, middle, picture.y, more=f' transform="rotate(-90 18 {middle:.1f})"')


def curve(points, across, up, color):
    """Points: (x, figures)."""
    places = [(across.at(x), up.at(statistics.median(figures))) for x, figures in points]
    points = ' '.join(f'{x:.1f},{y:.1f}' for x, y in places)
    yield f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="2"/>'
    for (x, y), (_, figures) in zip(places, points):
        yield (f'<line x1="{x:.1f}" y1="{up.at(min(figures)):.1f}" x2="{x:.1f}" y2="{up.at(max(figures)):.1f}" '
               f'stroke="{color}" '
               'stroke-opacity="0.5"/>')
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{color}"/>'


def draw(picture, rows, machine):
    """The picture as SVG."""
    ours = [(float(row['row']), row['figure']) for row in rows]
    floor = [(float(row['row']), row['floor']) for row in rows]
    across = Axis([x for x, _ in ours], LEFT, WIDTH - RIGHT, True)
    up = Axis([y for _, figures in ours + floor for y in figures], HEIGHT - BOTTOM, TOP, picture.factors)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
           'font-family="DejaVu Sans, Arial, sans-serif">',
           f'<title>{escape(picture.title)}: {escape(picture.y)}</title>',
           '<rect width="100%" height="100%" fill="#fff"/>']
    out += axes(picture, across, up)
    ends = []
    for points, color, name in [(floor, FLOOR, picture.floor), (ours, OURS, 'ours')]:
        out += curve(points, across, up, color)
        ends.append([up.at(statistics.median(points[-1][1])), color, name])
    # Names beside the ends of their curves, not over each other.
    ends.sort()
    if ends[1][0] - ends[0][0] < 15:
        ends[0][0] -= 7
        ends[1][0] += 8
    out += [text(WIDTH - RIGHT + 8, y + 4, name, 'start', color=color) for y, color, name in ends]
    out.append(text(WIDTH - 8, HEIGHT - 4, machine, 'end', 9, '#777'))
    return '\n'.join(out) + '\n</svg>\n'


def main():
    if len(sys.argv) != 3:
        sys.exit('usage: plot.py GROW.JSON DIRECTORY')
    results, directory = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2])
    machine = f'{results["cpu"]}, {results["cpus"]} CPUs; {results["rounds"]} rounds: median, least and greatest'
    directory.mkdir(parents=True, exist_ok=True)
    for picture in PICTURES:
        rows = [row for row in results['rows'] if row['section'] == f'grow {picture.section}']
        if len(rows) < 2:
            print(f'note: nothing to draw for {picture.file}.svg')
            continue
        (directory / f'{picture.file}.svg').write_text(draw(picture, rows, machine))
        print(f'{directory / picture.file}.svg')


if __name__ == '__main__':
    main()
