#!/usr/bin/env python3
#
# convert_ctf.py - posixtrace convert --to ctf: babeltrace2 reads the same as posixtrace report
#
#     convert_ctf.py POSIXTRACE REPORT_LOGS STAT_LOG CORPUS
#
# SPDX-License-Identifier: MIT

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import babeltrace
import scene
from made_log import OVERFLOW, PREDEFINED, RESUME, START, STOP, Log, typed_log
from scene import ENVIRONMENT

POSIXTRACE, REPORT_LOGS, STAT_LOG, CORPUS = (os.path.abspath(argument) for argument in sys.argv[1:5])


def run(command, *arguments, status=0, **more):
    system = ['--system'] if command in ('convert', 'report', 'stat') else []
    out, messages = scene.run(POSIXTRACE, command, *system, *arguments, status=status, **more)
    return out.decode(), messages.decode()


def convert(*arguments, out='out.ctf', **more):
    shutil.rmtree(out, ignore_errors=True)
    return run('convert', '--to', 'ctf', '-o', out, *arguments, **more)[1]


def report(*arguments):
    return [json.loads(line) for line in run('report', '--json', *arguments)[0].splitlines()]


def hexadecimal(values):
    return ''.join(f'{value:02x}' for value in values)


def identifier(name):
    return re.sub('[^A-Za-z0-9_]', '_', name)


def shown(name):
    """Names have no control characters."""
    return re.sub('[\0-\x1f\x7f]', lambda m: f'\\x{ord(m[0]):02x}', name)


def compare_fields(wanted, fields, what):
    """What the command prints as JSON, and what babeltrace2 has found."""
    fields = {name: value for name, value in fields.items() if not name.endswith('_length')
              or name in wanted.get('fields', {})}
    if 'fields' in wanted and 'data' not in fields and 'text' not in fields:
        for name, value in wanted['fields'].items():
            found = fields[identifier(name)]
            if isinstance(found, list) and isinstance(value, str):
                found = hexadecimal(found)
            if isinstance(value, float) or isinstance(found, float):
                assert abs(found - value) <= 1e-6 * abs(value), (what, name, found, value)
            else:
                # Integers that a double cannot hold are texts in JSON.
                assert found == value or (isinstance(found, int) and str(found) == value), (what, name, found, value)
    elif 'data' in fields and 'data' in wanted:
        assert hexadecimal(fields['data']) == wanted['data'], what
    elif 'data' in wanted:
        assert fields['text'] == wanted['text'], what


def compare(directory, *logs):
    last = 0
    wanted = report(*logs)
    found = [*babeltrace.events(directory)]
    assert len(found) == len(wanted), (len(found), len(wanted))
    for event, (time, name, context, fields) in zip(wanted, found):
        last = max(last, event['time'])
        assert time == last, (event, time)
        assert name.endswith(' ' + shown(event['event'])), (event, name)
        for key, field in (('pid', 'vpid'), ('tid', 'vtid'), ('thread', 'procname')):
            assert context[field] == event.get(key, 'recording' if key == 'thread' else 0), (event, context)
        assert context['ip'] == int(event.get('address', '0'), 16), (event, context)
        assert context['truncated'] == event.get('truncated', False), (event, context)
        compare_fields(event, fields, event)
    return found


# -- Tests ---------------------------------------------------------------------------------------------


def test_same_events():
    for kind in 'server', 'client', 'hole', 'open', 'i386', 'exec':
        convert(kind + '.log')
        compare('out.ctf', kind + '.log')


def test_typed():
    """Strings and sequences anywhere, enumerations, and the bytes of an event that is cut off."""
    Path('typed.log').write_bytes(typed_log())
    convert('typed.log')
    found = [fields for *_, fields in babeltrace.events('out.ctf')]
    assert found[0] == {
        'id': 1, 'item': '', 'n': 0, 'sizes': [], 'state': ('new', -1), 'states': [('on', 1), ('off', 0)],
        'mode': 0x101, 'ok': 1, 'when': 1795295105123, 'at': 1, 'where': 0x401136, 'key': [1, 2], 'n2': 2,
        'text': 'ab', 'hash': [255, 254], 'note': 'fine'}, found[0]
    assert [found[1][name] for name in ('item', 'sizes', 'state', 'states', 'text', 'hash')] == [
        'tea', [7, 65535], ('<unknown>', 5), [('<unknown>', 2), ('on', 1)], '', []], found[1]
    assert [list(fields) for fields in found[2:]] == [['_data_length', 'data']] * 2, found[2:]


def test_system_events_in_words():
    convert('server.log')
    found = [(name.split()[-1], fields) for _, name, _,
             fields in babeltrace.events('out.ctf') if 'posix_trace_' in name]
    assert found[0] == ('posix_trace_start', {'text': 'without request, line'}), found
    assert ('posix_trace_filter', {'text': 'without sql.row; again with line'}) in found
    assert ('posix_trace_stop', {'text': 'by itself: it is full'}) in found and found[-1] == ('posix_trace_stop',
        {}), found


def test_real_program():
    subprocess.run([STAT_LOG, 'real.log', '3', '50'], check=True, stdout=subprocess.DEVNULL, env=ENVIRONMENT,
                   timeout=60)
    convert('real.log')
    assert len(compare('out.ctf', 'real.log')) > 100


def test_only():
    convert('-e', 'sql.*', 'server.log')
    assert {name.split()[-1] for _, name, _, _ in babeltrace.events('out.ctf')} >= {'sql.row'}
    assert len(compare('out.ctf', '-e', 'sql.*', 'server.log')) > 2


def test_several_logs():
    convert('server.log', 'client.log')
    assert sorted(os.listdir('out.ctf')) == ['1-server.log', '2-client.log']
    assert len([*babeltrace.events('out.ctf')]) == len(report('server.log', 'client.log'))
    compare('out.ctf/1-server.log', 'server.log')
    compare('out.ctf/2-client.log', 'client.log')


def test_packets():
    """Writes one packet for each segment, with its number and the losses before it."""
    log = Log()
    for i, lost in enumerate((3, 0, 5)):
        log.event(1000 * i + 10, 'a')
        log.segment(lost=lost)
    Path('lost.log').write_bytes(log.closed())
    convert('lost.log')
    details, _ = babeltrace.run('out.ctf', '-c', 'sink.text.details')
    assert [int(n) for n in re.findall(r'Discarded events \((\d+) events\)', details)] == [3,
        5] and discarded(details) == 8, details
    # From the end of the packet before to the end of the one with the number.
    assert len(re.findall('Packet beginning', details)) == 4
    _, messages = babeltrace.run('out.ctf')
    assert 'discarded 3 events' in messages and 'discarded 5 events' in messages, messages


def test_damaged_part():
    """Sequence numbers tell of it: packets are missing."""
    convert('hole.log')
    _, messages = babeltrace.run('out.ctf')
    assert 'discarded' in messages and 'packet' in messages, messages


def test_late_event():
    """Gives a late event the time of the event before, and a field for the delay."""
    log = Log()
    log.event(1000, 'a')
    log.event(400, 'b', data=b'text')
    log.event(1100, 'b', data=b'text')
    log.event(500, 'c')
    log.event(2000, 'd')
    log.segment()
    Path('late.log').write_bytes(log.closed())
    convert('late.log')
    found = [(time - log.created, name.split()[-1], values) for time, name, _, values in babeltrace.events('out.ctf')]
    assert found == [(1000, 'a', {}), (1000, 'b', {'late': 600, 'text': 'text'}), (1100, 'b', {'text': 'text'}),
                     (1100, 'c', {'late': 600}),
                     (2000, 'd', {})], found


def test_latest_time():
    """Readers have 63 bits for it."""
    log = Log(created=2**63 - 10)
    log.event(5, 'a')
    log.event(8, 'b')
    log.event(100, 'c')
    log.segment()
    Path('future.log').write_bytes(log.closed())
    convert('future.log')
    assert [time - log.created for time, _, _, _ in babeltrace.events('out.ctf')] == [5, 8, 8]


def discarded(details):
    return sum(int(n) for n in re.findall(r'Discarded events \((\d+) events?\)', details.replace(',', '')))


def test_corpus():
    """Of logs of all kinds: as many events, and as many that were lost."""
    Path('corpus').mkdir()
    subprocess.run([CORPUS, 'corpus'], check=True, stdout=subprocess.DEVNULL, env=ENVIRONMENT, timeout=60)
    losses = 0
    for log in sorted(Path('corpus').glob('*.log')):
        convert(log)
        number = len(report(log))
        lost = json.loads(run('stat', '--json', log)[0])['files'][0]['lost']
        if number == 0:
            continue
        details, _ = babeltrace.run('out.ctf', '-c', 'sink.text.details')
        assert len([*babeltrace.events('out.ctf')]) == number, log
        assert discarded(details) == lost, (log, discarded(details), lost)
        losses += lost > 0
    assert losses > 1


def test_environment():
    convert('server.log')
    details, _ = babeltrace.run('out.ctf', '-c', 'sink.text.details')
    for text in 'hostname: host', 'trace_name: unit', 'tracer_name: posixtrace', 'Origin is Unix epoch: Yes', \
            '(1 GHz)' if '(1 GHz)' in details else '1,000,000,000':
        assert text in details, (text, details[:3000])


def test_odd_names():
    names = ['quote"and\\back', 'trace', 'event { }', '/* no comment', 'tab\there', 'ümlaut', '"', ';', '%s%n',
             'a' * 63]
    log = Log()
    for i, name in enumerate(names):
        log.event(10 + i, name)
    log.event(100, 'odd{struct:u8,a-b:u16,a_b:u32,größe:u8,string:s}', data=b'\1\0\2\0\3\0\0\0\4text')
    log.segment()
    Path('odd.log').write_bytes(log.closed())
    convert('odd.log')
    found = [*babeltrace.events('out.ctf')]
    assert [name for _, name, _, _ in found[:-1]] == ['host ' + shown(name) for name in names], found
    fields = found[-1][3]
    assert fields['struct'] == 1 and fields['a_b'] == 2 and fields['a_b_3'] == 3 and fields['string'] == 'text', fields
    assert [value for name, value in fields.items() if name.startswith('gr')] == [4]


def test_large_segment():
    """Packets larger than what is kept in memory."""
    log = Log()
    for i in range(40):
        log.event(10 + i, 'big', data=b'%02d' % i + b'x' * 60000)
    log.segment()
    Path('big.log').write_bytes(log.closed())
    convert('big.log')
    found = [*babeltrace.events('out.ctf')]
    assert [fields['text'] for _, _, _, fields in found] == ['%02d' % i + 'x' * 60000 for i in range(40)]


def test_directory():
    assert re.fullmatch(r'posixtrace convert: out.ctf: \d+ events, .*\n', convert('server.log'))
    assert sorted(os.listdir('out.ctf')) == ['events', 'metadata']
    assert 'already exists' in run('convert', '--to', 'ctf', '-o', 'out.ctf', 'client.log', status=1)[1]
    run('convert', '--to', 'ctf', '-f', '-o', 'out.ctf/', 'client.log')
    compare('out.ctf', 'client.log')
    Path('precious').mkdir()
    Path('precious/file').write_text('x')
    assert 'is not a trace' in run('convert', '--to', 'ctf', '-f', '-o', 'precious', 'client.log', status=1)[1]
    Path('shop.c').write_text('int x;')
    assert 'shop.c already exists, and is not a trace; choose another OUT\n' in run('convert', '--to', 'ctf', '-o',
        'shop.c', 'client.log', status=1)[1]
    assert Path('precious/file').read_text() == 'x'
    # Its name is made from that of the log, and tells the format.
    shutil.rmtree('server.ctf', ignore_errors=True)
    run('convert', '--to', 'ctf', 'server.log')
    compare('server.ctf', 'server.log')
    shutil.rmtree('server.ctf')
    run('convert', '-o', 'server.ctf', 'server.log')
    compare('server.ctf', 'server.log')
    assert not [name for name in os.listdir() if name.startswith('.')]


def test_full_disk():
    if os.geteuid() != 0 or not scene.can_mount():
        return
    script = 'mkdir disk && mount -t tmpfs -o size=64k none disk && "$1" convert --to ctf -o disk/out big.log; echo ' \
        '$?; ls disk'
    done = subprocess.run(['unshare', '-m', 'sh', '-c', script, 'sh', POSIXTRACE], capture_output=True, env=ENVIRONMENT,
                          timeout=60)
    assert done.stdout == b'1\n' and done.stderr == b'posixtrace convert: disk/out: No space left on device\n', done


def prepare():
    babeltrace.there()
    for kind in 'server', 'client', 'hole', 'open', 'i386', 'exec':
        subprocess.run([REPORT_LOGS, kind, kind + '.log'], check=True)


scene.Suite(globals()).main(prepare)
