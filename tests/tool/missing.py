#
# missing.py - all commands say the same about the events that a log lacks
#
#     missing.py POSIXTRACE STEPS
#
# SPDX-License-Identifier: MIT

import json
import re
import struct
import sys
from pathlib import Path

import scene
from made_log import OVERFLOW, PREDEFINED, SEGMENT, Log
from scene import Suite, equal, write

POSIXTRACE, STEPS = (Path(path).resolve() for path in sys.argv[1:3])


def run(command, *arguments, **more):
    out, err = scene.run(POSIXTRACE, command, *arguments, **more)
    return out.decode(), err.decode()


def record(log, *options, steps='a*20000'):
    run('record', '-q', '-o', log, '--max-data', 16, *options, '--', STEPS, steps)
    return log


def stat(log):
    return json.loads(run('stat', '--json', log)[0])['files'][0]


def header(log):
    return run('report', '--no-pager', log)[0].splitlines()[0]


def agree(log, missing, discarded=0, policy='APPEND'):
    """All commands count the same events that are missing, because of damage or by the policy."""
    checked = json.loads(run('check', '--json', log, status=None)[0])
    equal(f'{log}: check', checked['events_missing'], missing)
    about = stat(log)
    equal(f'{log}: stat', (about['missing'], about['discarded'], about['log_policy']), (missing, discarded, policy))
    damaged = f'damaged: {missing} event{" is" if missing == 1 else "s are"} missing'
    overwritten = (f'{discarded} events overwritten by newer ones' if policy == 'LOOP' else
                   f'{discarded} events discarded when the log was full')
    heads = [header(log), *run('diff', log, log)[0].splitlines()[:2]]
    for head in heads:
        equal(f'{log}: {head}', (damaged in head, overwritten in head), (missing > 0, discarded > 0))
    for command in (('report', '--json'), ('report', '--no-header'), ('view', '-o', '-')):
        equal(f'{log}: {command}', f'{log}: the log is {damaged};' in run(*command, log)[1], missing > 0)
    for form in ('ctf', 'perfetto', 'chrome', 'csv', 'jsonl'):
        said = run('convert', '--force', '--to', form, '-o', f'out.{form}', log)[1]
        policies = f'{discarded} events were discarded', f'{discarded} older events were'
        equal(f'{log}: {form}: {said}', ('lost' in said, f'{missing} in damaged parts' in said,
                                         any(policy in said for policy in policies)),
              (missing + about['lost'] > 0, missing > 0, discarded > 0))
    chrome, = json.loads(Path('out.chrome').read_text())['otherData']['logs']
    equal(f'{log}: chrome', (chrome['damaged'], chrome['discarded'], chrome['complete']),
          (missing, discarded, missing == 0 and about['complete']))
    for side in json.loads(run('diff', '--json', log, log)[0]).values():
        if isinstance(side, dict):
            equal(f'{log}: diff', (side['damaged'], side['discarded'] + side['overwritten']), (missing, discarded))


def made(damaged):
    """Three segments of 100 events, of which these are damaged."""
    log = Log()
    for number in range(3):
        for n in range(100):
            log.event(1000 * number + n, 'a', data=b'x')
        log.segment(damaged=number in damaged)
    return log.closed()


def test_damaged():
    agree(write('whole.log', made(())), 0)
    agree(write('last.log', made((2,))), 100)
    agree(write('middle.log', made((1,))), 100)
    agree(write('all.log', made((0, 1, 2))), 300)
    last = run('report', '--no-header', '--tail', 1, 'last.log')[0]
    assert last.endswith(' -- events lost --\n'), last
    equal('holes', [hole['reason'] for hole in stat('last.log')['holes']], ['damaged'])
    lines = [json.loads(line) for line in run('report', '--json', 'last.log')[0].splitlines()]
    equal('as JSON', lines[-1]['event'], PREDEFINED[OVERFLOW])
    assert '-- events lost --' in run('report', 'all.log')[0]


def test_part_of_the_time():
    """A command that stops reading early still knows what is in the rest."""
    write('whole.log', made(()))
    write('last.log', made((2,)))
    for log, missing in (('whole.log', 0), ('last.log', 100)):
        said = run('convert', '--to', 'csv', '--until', '1us', '-o', 'part.csv', log)[1]
        equal(said, '100 in damaged parts' in said, missing > 0)
        said = run('view', '--to', '1us', '-o', '-', log)[1]
        equal(said, '100 events are missing' in said, missing > 0)


def test_overwritten():
    record('loop.log', '--log-size', '8K')
    about = stat('loop.log')
    assert about['discarded'] > 1000 and about['discarded'] == about['overwritten'], about
    agree('loop.log', 0, about['discarded'], 'LOOP')
    record('full.log', '--log-policy', 'until-full', '--log-size', '8K')
    about = stat('full.log')
    assert about['discarded'] > 1000 and about['overwritten'] == 0, about
    agree('full.log', 0, about['discarded'], 'UNTIL_FULL')


def segments(data):
    """The offset and the number of events of each SEGMENT frame."""
    found, at = [], data.find(b'PTLF')
    while at >= 0:
        kind, = struct.unpack_from('<I', data, at + 4)
        if kind & 0xffff == SEGMENT:
            found.append((at, struct.unpack_from('<I', data, at + 48)[0]))
        at = data.find(b'PTLF', at + 1)
    return found


def test_cut_off():
    """Of a log that was closed the number is known. Else the frames tell it, also that of the segment that is cut."""
    data = Path(record('long.log')).read_bytes()
    places = segments(data)
    whole = sum(events for _, events in places)
    for name, at in (('all', places[0][0] + 80), ('some', places[-1][0] + 80)):
        agree(write(f'cut-{name}.log', data[:at]), whole - sum(n for place, n in places if place + 80 < at))
    log = made(())
    place = segments(log)[1][0]
    agree(write('open.log', log[:place + 100]), 100)
    header_open = header('open.log')
    assert header_open.endswith('damaged: 100 events are missing, not complete'), header_open
    # Bytes that are no frames: how many events were there, nobody knows. They may be of an older log.
    write('unknown.log', log[:place] + b'x' * 800)
    equal('check', json.loads(run('check', '--json', 'unknown.log', status=1)[0])['events_missing'], None)
    unknown = header('unknown.log')
    assert unknown.endswith(', 800 bytes unfinished, damaged, or of an older log, not complete'), unknown
    loop = Path(record('loop.log', '--log-size', '8K')).read_bytes()
    at = segments(loop)[-1][0] + 80
    checked = json.loads(run('check', '--json', write('cut-loop.log', loop[:at]), status=None)[0])
    about = stat('cut-loop.log')
    equal('loop', about['missing'], checked['events_missing'])
    assert 'older events overwritten' in header('cut-loop.log') or about['discarded'], header('cut-loop.log')


def test_twice():
    """A segment that is there twice has lost nothing."""
    data = made(())
    (first, _), (second, _), *_ = segments(data)
    copied = data[:second] + data[first:second] + data[second:]
    checked = json.loads(run('check', '--json', write('twice.log', copied), status=1)[0])
    equal('check', (checked['events'], checked['events_missing']), (300, 0))
    equal('stat', stat('twice.log')['missing'], 0)
    assert 'missing' not in run('check', 'twice.log', status=1)[0]
    # A valid copy replaces a damaged segment.
    damaged = bytearray(copied)
    damaged[first + 64] ^= 0xff
    checked = json.loads(run('check', '--json', write('replaced.log', bytes(damaged)), status=1)[0])
    equal('replaced', (checked['events'], checked['events_missing']), (300, 0))
    equal('stat', stat('replaced.log')['missing'], 0)


def test_same_frame_often():
    """An index that lists a frame again and again is wrong."""
    log = Log()
    log.event(1, 'a')
    log.segment()
    log.frames += log.frames[-1:] * 1000
    said = run('check', write('often.log', log.closed()), status=1)[0]
    assert re.search(r'INDEX: of the frames .* 1000 are there twice', said), said


def test_any_numbers():
    """Numbers in a log may be any: their sum is the largest number, and not a small one."""
    log = Log()
    log.event(1, 'a')
    log.segment()
    write('huge.log', log.closed(lost=2**64 - 1))
    said = run('convert', '--to', 'csv', '-o', 'huge.csv', 'huge.log', 'huge.log')[1]
    assert f'{2**64 - 1} events were lost' in said, said


Suite(globals()).main()
