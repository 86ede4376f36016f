#!/usr/bin/env python3
#
# cpp.py - programs with <posixtrace/trace.hpp>, tracy.hpp and perfetto.hpp: what report and convert show of them
#
#     cpp.py POSIXTRACE VALUES TRACY PERFETTO libdw|...
#
# SPDX-License-Identifier: MIT

import json
import os
import re
import sys
from pathlib import Path

import scene

POSIXTRACE, VALUES, TRACY, PERFETTO = (os.path.abspath(argument) for argument in sys.argv[1:5])
LIBDW = sys.argv[5] == 'libdw'
HERE = Path(__file__).parent

EXPECTED_VALUES = '''
life.early {n=1}
v.numbers {a=-128 b=65535 c=-5 d=18446744073709551615 e=-9223372036854775808 f=4096B g=0.5 h=0.25}
v.kinds {a=true b="x" c=voucher d=read|write e=1500us f=120s g=1970-01-02T00:00:00.000000000Z h=0xff}
v.texts {a="literal" b="string" c="view" d="abc" e="Ann" f="a l…"}
v.arrays {n_a=3 a=[1 -2 3] n_b=2 b=[0.5 0.25] n_c=2 c=[cash card] n_d=1 d=[1] n_e=2 e=[1 -2]ct n_f=2 f=01ab}
v.options {n_a=1 a=[3] n_b=0 b=[] c="text" d="(null)"}
v.given {a=-1 b="text" c=0.5%}
v.count {value=-3}
v.work.begin {id=1}
v.work.end
v.work.begin {id=2}
v.work.end
life.late {n=2}
'''

TRACY_ROUND = '''
outer.begin
inner.begin
load.begin
zone.text {text="level N"}
zone.value {value=N}
load.textures.begin
zone.text {text="TEXTURES textures"}
load.textures.end
level N.begin
zone.name {text="other"}
level N.end
load.end
render.begin
memory.alloc {address=0x size=100 pool="textures"}
frames {value=60}
frames(value:u64) {value=18446744073709551615}
frames(value:f64) {value=0.5}
load {value=0.25}
memory.free {address=0x pool="textures"}
render.end
frame
inner.end
outer.end
'''
EXPECTED_TRACY = ('\nthread.name {text="main thread"}' + ''.join(
    TRACY_ROUND.rstrip().replace('TEXTURES', str(2 * n)).replace('N', str(n)) for n in (1, 2)) + '''
thread.begin
message info {text="sized"}
message info {text="literal"}
message info {text="coloured"}
thread.end
done
''')

# Events with a flow that are no spans: viewers connect flows with slices.
FLOWS = ['net.done', 'net.done', 'draw.ran', 'draw.' + 58 * 'n']

PERFETTO_ROUND = '''
net.request.begin {id=ID path="PATH"}
net.read PATH.begin
net.parse.begin {flag=FLAG}
net.parse.end
net.read PATH.end
net.done {flow_id=0x a_b_c=0.5 n_list=2 list=[1 2]}
net.open {value=OPEN}
net.request.end
'''
EXPECTED_PERFETTO = ''.join(
    PERFETTO_ROUND.rstrip().replace('ID', number).replace('PATH', path).replace('FLAG', flag).replace('OPEN', left)
    for number, path, flag, left in (('1', '/', 'false', '2'), ('2', '/tea', 'true', '1'))) + '''
draw.scene.begin
draw.memory {value=0.25}
draw.on
draw.scene.end
draw.old.begin {text="tea"}
draw.submit.begin {flow_id=0x id=5}
draw.run.begin {flow_id=0x id=5}
draw.run.end
draw.ran {flow_id=0x}
draw.NAME {flow_id=0x}
draw.last.begin {flow_id=0x}
draw.last.end
draw.submit.end
draw.old.end
'''.replace('NAME', 58 * 'n')
VALUES_PERFETTO = '''
v.big {value=3}
v.big(value:u64) {value=18446744073709551615}
v.load {value=1}
v.load(value:f64) {value=0.5}
v.same {a=1}
v.same(b:i32) {b=2}
v.cpu 0 {value=0}
v.cpu 1 {value=1}
v.details {b=2}
v.group {on=true}
'''
# Of 130 spans that begin in each other the first 128 are recorded.
DEEP_PERFETTO = 128 * 'deep.level.begin\n' + 128 * 'deep.level.end\n'


def posixtrace(*arguments):
    """Returns the output. There must be no message."""
    out, err = scene.run(POSIXTRACE, *arguments)
    assert not err, f'{arguments}: {err.decode()}'
    return out.decode()


def recorded(program, name):
    """Records a program, and returns its events, without durations, and with one space between name and data."""
    scene.run(POSIXTRACE, 'record', '-o', name, '--', program)
    text = re.sub(r' *\(took .*\)\n', '\n', posixtrace('report', '--no-header', '--fields', 'event,data', name))
    return re.sub(r' +', ' ', re.sub(r'(?m) +$', '', re.sub(r'(address|flow_id)=0x[0-9a-f]+', r'\1=0x', text)))


def compare(got, expected):
    expected = expected.strip().splitlines()
    for number, (a, b) in enumerate(zip(got.splitlines(), expected), 1):
        assert a == b, f'line {number}: {a!r}, not {b!r}'
    assert len(got.splitlines()) == len(expected), f'{len(got.splitlines())} events, not {len(expected)}:\n{got}'


def chrome(name):
    """Returns the events of a log that has been converted."""
    scene.run(POSIXTRACE, 'convert', '--to', 'chrome', '-o', f'{name}.json', name)
    events = json.loads(Path(f'{name}.json').read_text())
    return events['traceEvents'] if isinstance(events, dict) else events


def slices(name):
    """Returns the names of the slices that a viewer shows."""
    return sorted(event['name'] for event in chrome(name) if event['ph'] in 'BX')


def test_values():
    compare(recorded(VALUES, 'values.log'), EXPECTED_VALUES)
    assert slices('values.log') == ['v.work', 'v.work'], slices('values.log')


def test_places():
    """Returns the source line of an event: that of the trace point, not of the header."""
    if not LIBDW:
        print('skipped: no libdw')
        return
    source = (HERE / 'cpp_values.cpp').read_text().splitlines()
    for event, text in (('v.count', 'count(-3)'), ('v.given', 'given(-1'), ('v.work.begin', 'span<"v.work"')):
        line = next(number for number, line in enumerate(source, 1) if text in line)
        shown = next(shown for shown in posixtrace('report', '--no-header', '--symbols', 'values.log').splitlines()
                     if f' {event} ' in shown)
        assert shown.endswith(f'(cpp_values.cpp:{line})'), shown


def test_tracy():
    compare(recorded(TRACY, 'tracy.log'), EXPECTED_TRACY)
    expected = ['outer', 'inner', 'load', 'load.textures', 'render'] * 2 + ['level 1', 'level 2', 'thread']
    assert slices('tracy.log') == sorted(expected), slices('tracy.log')


def test_perfetto():
    compare(recorded(PERFETTO, 'perfetto.log'),
            EXPECTED_PERFETTO.replace('draw.old.end\n', '') + VALUES_PERFETTO.lstrip() + DEEP_PERFETTO +
            'draw.old.end\n')
    expected = sorted(['net.request', 'net.parse'] * 2 + ['net.read /', 'net.read /tea'] +
                      [f'draw.{name}' for name in ('scene', 'old', 'submit', 'run', 'last')] +
                      FLOWS + 128 * ['deep.level'])  # slices without duration
    shown = slices('perfetto.log')
    assert shown == expected, shown


def test_perfetto_flows():
    """The number of a flow, and to which events it goes on."""
    scene.run(POSIXTRACE, 'record', '-q', '-o', 'flows.log', '--', PERFETTO)
    lines = [json.loads(line) for line in posixtrace('report', '--json', 'flows.log').splitlines()]
    ids = [(line['event'], int(line['fields']['flow_id']) ^ line['pid'] << 40) for line in lines
           if line['event'] == 'net.done']
    assert ids == [('net.done', 7)] * 2, ids
    job = {int(line['fields']['flow_id']) for line in lines if line['event'] in ('draw.submit.begin', 'draw.run.begin',
                                                                                 'draw.ran')}
    assert len(job) == 1, job
    known = [int(line['fields']['flow_id']) for line in lines
             if line['event'] in ('draw.' + 58 * 'n', 'draw.last.begin')]
    assert known == [40, 40], known
    # Ends (f) and beginnings (s), in the order of the events: an event with a flow is both, but the last one.
    ends = {}
    for event in chrome('perfetto.log'):
        if event['ph'] in 'sf':
            ends.setdefault(event['id'], []).append(event['ph'])
    assert sorted(''.join(phases) for phases in ends.values()) == ['fsf', 'fsfs', 'fsfsf'], ends


scene.Suite(globals()).main()
