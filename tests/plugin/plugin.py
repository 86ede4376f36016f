#!/usr/bin/env python3
#
# plugin.py - babeltrace2 reads logs as posixtrace report does, and does with them what it does with other traces
#
# plugin.py POSIXTRACE REPORT_LOGS CORPUS TRACER MESSAGES PLUGINS [PRELOAD]     what makes logs and reads them; where
# the plugin is
#
# PRELOAD: what a plugin with sanitizers needs in a program that is without. None may be lost of what it allocates.
#
# SEED=n, in the environment: other damage is done to logs.
#
# SPDX-License-Identifier: MIT

import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / 'tool'), str(HERE.parent / 'log')]

import decode  # noqa: E402
from made_log import INDEX, OVERFLOW, PREDEFINED, RESUME, SLOT, Log, crc32c, typed_log  # noqa: E402

POSIXTRACE, REPORT_LOGS, CORPUS, TRACER, MESSAGES, PLUGINS, *PRELOAD = (str(Path(argument).resolve())
    for argument in sys.argv[1:])
ENVIRONMENT = {**os.environ, 'TZ': 'UTC0', 'LC_ALL': 'C.UTF-8', 'BABELTRACE_PLUGIN_PATH': PLUGINS,
               'HOME': '/nonexistent'}
if PRELOAD:
    ENVIRONMENT['LD_PRELOAD'] = PRELOAD[0]
SEED = int(os.environ.get('SEED', '1'))
COMMON = ['vpid', 'vtid', 'ip', 'truncated', 'procname']
MS = 1_000_000


def run(*arguments, status=0):
    done = subprocess.run([str(argument) for argument in arguments], capture_output=True, env=ENVIRONMENT, timeout=120)
    assert done.returncode == status, f'{arguments}: exit status {done.returncode}: ' \
        f'{done.stderr.decode(errors="replace")}'
    return done


def babeltrace(*arguments, status=0):
    """Runs babeltrace2. Returns its output and its messages."""
    done = run('babeltrace2', *arguments, status=status)
    return done.stdout.decode(errors='surrogateescape'), done.stderr.decode(errors='surrogateescape')


def messages(*files, source=('posixtrace', 'log'), again=0):
    return [json.loads(line) for line in run(MESSAGES, *source, again, *files).stdout.splitlines()]


def kind(type, rows):
    return [row for row in rows if row['type'] == type]


def report(*files):
    return [json.loads(line) for line in run(POSIXTRACE, 'report', '--system', '--json', *files).stdout.splitlines()]


def write(name, data):
    Path(name).write_bytes(data)
    return name


# -- The same events as report ------------------------------------------------------------------------


def raw(path):
    """The data of each event, by the second reader."""
    with open(path, 'rb') as file:
        return [(event.address, event.data) for event in decode.Log(file.fileno()).events()]


def text(value):
    """Of a field: as messages.c writes it, a character for each byte."""
    return value.encode().decode('latin-1')


def shown(name):
    """A name without what a terminal obeys, as a pattern: JSON does not tell which byte was no UTF-8."""
    return ''.join(r'\\x[89a-f][0-9a-f]' if c == '\ufffd' else f'\\\\x{ord(c):02x}' if ord(c) < 32 or ord(c) == 127
                   else re.escape(text(c))
                   for c in name)


def declared(value):
    """A field of report's JSON as the plugin gives it."""
    return [declared(item) for item in value] if isinstance(value, list) else text(value) if isinstance(value,
            str) else value


def near(mine, theirs):
    if isinstance(mine, float) or isinstance(theirs, float):
        return abs(mine - theirs) <= abs(mine) * 1e-6
    if isinstance(mine, list) and isinstance(theirs, list):
        return len(mine) == len(theirs) and all(map(near, mine, theirs))
    if isinstance(mine, int) and isinstance(theirs, str):
        return str(mine) == theirs
    return mine == theirs


def same_data(payload, data, fields):
    """Does what the plugin gives stand for these bytes? fields: of report, if the type declares some."""
    if payload is None:
        return data == b''
    names = [name for name, _ in payload]
    if names == ['text'] and 'text' not in (fields or {}):
        value = payload[0][1].encode('latin-1')
        return value != b'' and b'\0' not in value and data in (value, value + b'\0')
    if names == ['data'] and 'data' not in (fields or {}):
        return bytes(payload[0][1]) == data
    more = payload.pop()[1] if names[-1] == 'more' and 'more' not in fields else None
    if more is not None and not data.endswith(bytes(more)):
        return False
    for (name, value), (expected, other) in zip(payload, fields.items(), strict=True):
        if isinstance(value, list) and isinstance(other, str):
            other = list(bytes.fromhex(other))
        if name != re.sub('[^A-Za-z0-9_]', '_', expected) or not near(value, declared(other)):
            return False
    return True


def system_words(theirs):
    """Returns the text of a system event, or None if its data is shown as for user events."""
    now, before = theirs.get('filter'), theirs.get('filter_before')
    if 'by_itself' in theirs:
        return 'by itself: it is full' if theirs['by_itself'] else ''
    if now is None:
        return None
    words = {'without ': [name for name in now if name not in (before or [])],
             'again with ': [name for name in before or [] if name not in now]}
    return '; '.join(word + ', '.join(names) for word, names in words.items() if names)


def same_event(mine, theirs, address, data):
    common = dict(mine['common'])
    late = dict(mine.get('specific', [])).get('late', 0)
    assert list(common) == COMMON, mine
    assert mine['time'] - late == theirs['time'], (mine, theirs)
    assert re.fullmatch(shown(theirs['event']), mine['name']), (mine, theirs)
    assert (common['vpid'], common['vtid'], common['ip']) == (theirs.get('pid', common['vpid']), theirs.get('tid', 0),
        address)
    assert common['truncated'] == theirs.get('truncated', False)
    assert common['vtid'] or common['procname'], mine
    assert not common['vtid'] or common['procname'] == text(theirs['thread']) or '\ufffd' in theirs['thread'] or \
        re.search('[\x80-\xff]', common['procname']), (mine, theirs)
    words = system_words(theirs)
    if words is not None:
        assert mine.get('payload', [['text', '']]) == [['text', text(words)]], (mine, theirs)
    else:
        assert same_data(mine.get('payload'), data, theirs.get('fields')), (mine, theirs, data)


def same_log(path):
    rows, expected, data = messages(path), report(path), raw(path)
    events = kind('event', rows)
    # What is missing at a damaged end is discarded events.
    if len(expected) == len(data) + 1 and expected[-1]['event'] == 'posix_trace_overflow':
        expected.pop()
    assert len(events) == len(expected) == len(data), \
        f'{path}: {len(events)} events, {len(expected)} in report, {len(data)} decoded'
    for mine, theirs, (address, bytes_) in zip(events, expected, data):
        same_event(mine, theirs, address, bytes_)
    return rows


def in_order(rows):
    """Times do not go back, and packets are closed, as those who read messages rely on."""
    now, packet = 0, False
    for row in rows:
        time = row.get('time', row.get('from', now))
        assert time >= now, (now, row)
        assert row['type'] != 'event' or packet
        assert not row['type'].startswith('lost') or (not packet and row['from'] == now and row['count'] > 0), row
        now, packet = time, row['type'] == 'packet' or (packet and row['type'] != 'packet end')


def test_same_as_report():
    for name in ('server', 'client', 'hole', 'open', 'i386', 'exec'):
        run(REPORT_LOGS, name, f'{name}.log')
        in_order(same_log(f'{name}.log'))
    Path('corpus').mkdir()
    run(CORPUS, 'corpus')
    logs = sorted(Path('corpus').glob('*.log'))
    assert len(logs) > 25
    for path in logs:
        in_order(same_log(path))


def test_forms():
    """Data that is not as declared is given as it is; nothing is lost."""
    run(REPORT_LOGS, 'server', 'server.log')
    forms = [(event['name'], [name for name, _ in event.get('payload', [])])
             for event in kind('event', messages('server.log'))]
    assert ('sql.row', ['rows', 'time']) in forms and ('sql.row', ['data']) in forms
    assert ('all', ['a', 'b', 'c', 'd', 'e', 'f', 'g']) in forms
    assert ('line', ['text']) in forms and ('line', ['data']) in forms and ('line', []) in forms
    log = Log()
    log.event(1, 'more{text:u8,data:u16}', data=b'\1\0\2\0end')
    log.event(2, 'twice{a b:u8,a.b:u8,1:c[2],a_b_2:u8,more:u8}', data=b'\1\2xy\3\4\5')
    log.event(3, 'null{a:s}', data=b'a\0b')
    log.event(4, 'null{a:s}', data=b'ab\0')
    log.event(5, 'array{x:x16[3],f:f64[2]}', data=struct.pack('<3Hxx2d', 1, 2, 65535, 0.5, -2))
    log.segment()
    rows = messages(write('forms.log', log.closed()))
    assert [event['payload'] for event in kind('event', rows)] == [
        [['text', 1], ['data', 2], ['more', list(b'end')]],
        [['a_b', 1], ['a_b_2', 2], ['1', 'xy'], ['a_b_2_4', 3], ['more', 4], ['more_6', [5]]],
        [['data', list(b'a\0b')]],
        [['a', 'ab']],
        [['x', [1, 2, 65535]], ['f', [0.5, -2]]]], kind('event', rows)


def test_declared():
    """Layouts beside the names. A wrong one, which no program can declare, is none."""
    log = Log()
    log.declare('row', '{count:u32,item:c[4]}')
    log.declare('wrong', '{count:u99}')
    log.declare('null', b'{count:u32}\0')
    for time, name in enumerate(('row', 'wrong', 'null')):
        log.event(time, name, data=struct.pack('<I4s', 7, b'tea'))
    log.segment()
    rows = messages(write('declared.log', log.closed()))
    same_log('declared.log')
    data = list(struct.pack('<I4s', 7, b'tea'))
    assert [event['payload'] for event in kind('event', rows)] == [
        [['count', 7], ['item', 'tea']], [['data', data]], [['data', data]]], kind('event', rows)


def test_typed():
    """Strings and arrays anywhere, enumerations, truth values, and the bytes of an event that is cut off."""
    rows = [dict(event['payload']) for event in kind('event', messages(write('typed.log', typed_log())))]
    assert rows[0] == {
        'id': 1, 'item': '', 'n': 0, 'sizes': [], 'state': -1, 'states': [1, 0], 'mode': 0x101, 'ok': True,
        'when': 1795295105123, 'at': 1, 'where': 0x401136, 'key': [1, 2], 'n2': 2, 'text': 'ab', 'hash': [255, 254],
        'note': 'fine'}, rows[0]
    assert [rows[1][name] for name in ('item', 'sizes', 'state', 'states', 'ok', 'text', 'hash')] == [
        'tea', [7, 65535], 5, [2, 1], False, '', []], rows[1]
    assert [list(fields) for fields in rows[2:]] == [['data']] * 2, rows[2:]
    enumerations = babeltrace('typed.log')[0]
    assert 'state = ( "new" : container = -1 )' in enumerations and '"on" : container = 1' in enumerations


def test_late_event():
    """Keeps a late event in its place with a field for the delay. Later events keep their times."""
    log = Log()
    log.event(10, 'a')
    log.event(20, 'a')
    log.event(15, 'b')
    log.event(18, 'b')
    log.segment()
    log.event(17, 'c')
    log.event(30, 'c')
    log.segment(lost=3)
    rows = messages(write('late.log', log.closed(lost=3)))
    in_order(rows)
    same_log('late.log')
    assert [(event['time'] - log.created, event.get('specific')) for event in kind('event', rows)] == [
        (10, None), (20, None), (20, [['late', 5]]), (20, [['late', 2]]), (20, [['late', 3]]), (30, None)]


def test_times_at_the_end():
    """Replaces times that babeltrace2 rejects by the last one it accepts."""
    last = (1 << 63) - 2
    log = Log(created=last - 1)
    for time in (0, 1, 2, 3, 1 << 63):
        log.event(time, 'a')
    log.segment(lost=0xffffffff)
    rows = messages(write('end.log', log.closed(lost=(1 << 64) - 1)))
    in_order(rows)
    assert [event['time'] for event in kind('event', rows)] == [last - 1, last, last, last, last]
    assert lost(rows) == (1 << 64) - 1
    converted('end.log', 'end.ctf')


def test_environment():
    log = Log(name='/usr/bin/shop', host='h\x1b[1m', target=4711, boot=bytes(range(16)))
    log.event(1, 'a')
    log.segment()
    stream = messages(write('environment.log', log.closed()))[0]
    assert stream['name'] == 'shop' and stream['stream'] == 'environment.log', stream
    expected = {'hostname': 'h\\x1b[1m', 'tracer_name': 'posixtrace', 'trace_name': '/usr/bin/shop', 'target_pid': 4711,
                'creator_pid': 99,
                'kernel_release': '6.1', 'machine': 'x86_64', 'boot_id': '00010203-0405-0607-0809-0a0b0c0d0e0f',
                'trace_creation_datetime': '20200913T122640+0000', 'trace_creation_ns': log.created,
                'architecture_bit_width': 64,
                'tracer_major': 1, 'tracer_minor': 0}
    assert expected.items() <= stream['environment'].items(), stream


# -- What is missing ----------------------------------------------------------------------------------


def lost(rows):
    return sum(row['count'] for row in kind('lost events', rows))


def missing(path):
    """Returns the number of events that are missing from a log, as the command counts them."""
    said = run(POSIXTRACE, 'convert', '--to', 'jsonl', '--system', '-o', os.devnull, path).stderr.decode()
    told = re.search(r'; (\d+) events? (?:was|were) lost', said)
    return int(told[1]) if told else 0


def lossy():
    log = Log()
    for number, count in enumerate([5, 0, 7, 0]):
        log.event(10 * number, 'a')
        log.event(10 * number + 5, 'a')
        log.segment(lost=count)
    return log


def test_lost_events():
    """Between packets, where they were lost; at the end those that no segment tells of."""
    log = lossy()
    rows = messages(write('lost.log', log.closed(lost=15)))
    in_order(rows)
    at = log.created
    assert [(row['from'] - at, row['until'] - at, row['count']) for row in kind('lost events', rows)] == [(0, 5, 5),
        (15, 25, 7), (35, 35, 3)]
    output, warnings = babeltrace('lost.log')
    assert output.count('\n') == 8 and re.findall(r'discarded (\d+) events', warnings) == ['5', '7', '3'], warnings
    assert lost(messages(write('open.log', lossy().open()))) == 12
    empty = Log()
    assert lost(messages(write('empty.log', empty.closed(lost=4)))) == 4


def test_lost_of_real_logs():
    """As many as report says, and between the packets where they were."""
    Path('corpus').mkdir(exist_ok=True)
    run(CORPUS, 'corpus')
    some = 0
    for path in sorted(Path('corpus').glob('*.log')):
        header = run(POSIXTRACE, 'report', '-n', 1, path).stdout.decode(errors='replace').split('\n')[0]
        told = re.search(r'(\d+) events? lost', header)
        rows = messages(path)
        assert lost(rows) == int(told[1] if told else 0), f'{path}: {header}: {kind("lost events", rows)}'
        some += bool(told)
    assert some >= 2


def test_missing_segments():
    log = Log()
    for number in range(7):
        log.event(10 * number, 'a')
        log.segment(damaged=number in (0, 2, 3, 6))
    rows = messages(write('missing.log', log.closed()))
    in_order(rows)
    same_log('missing.log')
    at = log.created
    assert [(row['from'] - at, row['until'] - at, row['count']) for row in kind('lost packets', rows)] == [(0, 10, 1),
        (10, 40, 2)]
    names = [(event['name'], event['time'] - at) for event in kind('event', rows)]
    # As many events, each in the place of its segment; those of the end are reported after it.
    assert [(row['from'] - at, row['until'] - at, row['count']) for row in kind('lost events', rows)] == [(0, 10, 1),
        (10, 40, 2), (50, 50, 1)]
    gap = [PREDEFINED[OVERFLOW], PREDEFINED[RESUME]]
    assert names == [(gap[0], 0), (gap[1], 10), ('a', 10), (gap[0], 10), (gap[1], 40), ('a', 40), ('a', 50)], names
    # One packet for each segment, one for the loss before the first, and one for that at the end.
    assert [row['time'] - at for row in kind('packet', rows)] == [0, 10, 40, 50, 50]


def test_damaged_end():
    """Counts what is missing where a log was cut off, as all commands do."""
    Path('corpus').mkdir(exist_ok=True)
    run(CORPUS, 'corpus')
    some = 0
    for path in sorted(Path('corpus').glob('*.log')):
        data = path.read_bytes()
        for size in (len(data) // 2, len(data) - 200):
            rows = messages(write('cut.log', data[:size]))
            in_order(rows)
            assert lost(rows) == missing('cut.log'), f'{path}, {size} bytes'
            some += lost(rows) > 0
    assert some > 10, some


def test_loop_begins_anywhere():
    Path('corpus').mkdir(exist_ok=True)
    run(CORPUS, 'corpus')
    with open('corpus/loop_round.log', 'rb') as file:
        assert next(iter(decode.Log(file.fileno()).segments())).number > 1
    assert not kind('lost packets', messages('corpus/loop_round.log'))


# -- babeltrace2 itself -----------------------------------------------------------------------------------


def frames(data):
    """Offset, kind and size of the body of each, those in slots too."""
    at = 0
    while at + 64 <= len(data) and data[at:at + 4] == b'PTLF':
        kind_, size = struct.unpack_from('<H', data, at + 4)[0], struct.unpack_from('<I', data, at + 24)[0]
        yield at, kind_, size
        at += 64 if kind_ == SLOT else 64 + (size + 7) // 8 * 8


def set_right(data, at, kind_, size):
    """Its checksums."""
    if kind_ != SLOT:
        struct.pack_into('<I', data, at + 28, crc32c(data[at + 64:at + 64 + size]))
    struct.pack_into('<I', data, at + 60, crc32c(data[at:at + 60]))


def test_lost_before_the_oldest():
    """What a LOOP log says to have lost, and no segment does, was in segments that have been overwritten."""
    Path('corpus').mkdir(exist_ok=True)
    run(CORPUS, 'corpus')
    data = bytearray(Path('corpus/loop_round.log').read_bytes())
    at = data.rindex(struct.pack('<IH', 0x464c5450, INDEX))
    size = struct.unpack_from('<I', data, at + 24)[0]
    struct.pack_into('<Q', data, at + 64 + 8, 9)
    set_right(data, at, INDEX, size)
    rows = messages(write('loop.log', data))
    in_order(rows)
    assert lost(messages('corpus/loop_round.log')) == 0
    assert [row['count'] for row in kind('lost events', rows)] == [9]
    types = [row['type'] for row in rows]
    assert types.index('lost events') < types.index('event') and kind('lost events', rows)[0]['until'] >= kind('event',
        rows)[0]['time']


def kill_a_tracer():
    tracer = subprocess.Popen([TRACER, '-l', 'killed.log', '-s', 'loop'], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True)
    tracer.stdin.write('trace 1000\n')
    tracer.stdin.flush()
    assert [tracer.stdout.readline() for _ in range(2)] == ['ready\n', 'done\n']
    tracer.kill()
    tracer.wait()
    tracer.stdin.close()
    tracer.stdout.close()


def test_finished():
    """Reads the log of a killed program, whose last events were still in memory: opening the log adds them."""
    grown = False
    for _ in range(20):
        kill_a_tracer()
        size = os.path.getsize('killed.log')
        assert len(kind('event', messages('killed.log'))) == 1002
        # On a busy machine, the program may have written its log before it is killed.
        grown = os.path.getsize('killed.log') > size
        if grown:
            break
    assert grown
    assert json.loads(run(POSIXTRACE, 'check', '--json', 'killed.log').stdout)['complete']


def two_logs():
    """Makes the logs of two programs that record alternately, by one clock."""
    names = []
    for number, name in enumerate(['shop', 'bank']):
        log = Log(name=name, target=100 + number)
        for turn in range(10):
            log.event((2 * turn + number) * 100 * MS, name, pid=100 + number, tid=100 + number)
            if turn % 3 == 2:
                log.segment()
        log.segment()
        names.append(write(f'{name}.log', log.closed()))
    return names


def test_recognised():
    """Recognizes a log by its contents, not by its name. Rejects other files quickly."""
    one, two = two_logs()
    os.rename(one, 'photo.jpeg')
    assert babeltrace('photo.jpeg')[0].count('shop: {') == 10
    Path('folder/inner').mkdir(parents=True)
    shutil.copy(two, 'folder/inner/trace')
    os.mkfifo('folder/fifo')
    write('folder/notes.txt', b'nothing\n')
    assert babeltrace('folder')[0].count('bank: {') == 10
    for name, data in ('text', b'posixtrace log\n' * 100), ('nothing', b''), ('short', b'PTLF'):
        write(name, data)
        assert 'No trace was found' in babeltrace(name, status=1)[1]


def test_query():
    (name, _), ask = two_logs(), ('query', 'src.posixtrace.log', 'babeltrace.support-info', '--params')
    assert re.search(r'group: .*\n.*weight: 0\.9', babeltrace(*ask, f'type="file",input="{name}"')[0])
    os.mkfifo('query_fifo')
    for type, path in ('file', '/dev/null'), ('file', 'query_fifo'), ('file', '.'), ('directory', '.'), ('string',
            name), ('file', 'none'):
        assert float(babeltrace(*ask, f'type="{type}",input="{path}"')[0]) == 0, path
    assert '`input`' in babeltrace(*ask, 'type="file"', status=1)[1]
    assert '`input`' in babeltrace(*ask, 'type="file",input=7', status=1)[1]
    babeltrace('query', 'src.posixtrace.log', 'something.else', status=1)


def test_what_is_wrong():
    def says(words, parameters):
        messages = babeltrace('convert', '-c', 'src.posixtrace.log', '--params', parameters, '-c', 'sink.utils.dummy',
                              status=1)[1]
        assert words in messages, messages

    name = two_logs()[0]
    damaged = bytearray(Path(name).read_bytes())
    damaged[100] ^= 1
    write('damaged.log', damaged)
    says('no parameter `a`', 'a=1')
    says('no parameter `input`', f'inputs=["{name}"],input=1')
    assert 'array of paths' in babeltrace('convert', '-c', 'src.posixtrace.log', status=1)[1]
    says('array of paths', 'inputs=7')
    says('array of paths', 'inputs=[7]')
    says('array of paths', 'inputs=[]')
    says('none.log: No such file', 'inputs=["none.log"]')
    says('/dev/null: not a regular file', 'inputs=["/dev/null"]')
    write('text.txt', b'text')
    says('text.txt: not a posixtrace log', 'inputs=["text.txt"]')
    says('damaged.log: a log, but its header is damaged', 'inputs=["damaged.log"]')
    assert 'damaged.log: a log, but its header is damaged' in babeltrace('damaged.log', status=1)[1]


def test_merged():
    """Two logs are one row in the order of time, as report merges them."""
    names = two_logs()
    expected = [(row['time'], row['event']) for row in report(*names)]
    assert [(row['time'], row['name']) for row in kind('event', messages(*names))] == expected
    assert re.findall(r'(shop|bank): \{', babeltrace(*reversed(names))[0]) == ['shop', 'bank'] * 10
    assert len({row['trace'] for row in kind('stream', messages(*names))}) == 2


def test_parts_of_one_trace():
    """Combines logs of one recorder and one process in one trace, which begins with the oldest."""
    for number in range(3):
        log = Log(created=1_600_000_000_000_000_000 + (2 - number) * 1000 * MS, name='shop')
        log.event(number * MS, 'a')
        log.event(1500 * MS, 'a')
        log.segment()
        write(f'part.{number}', log.closed())
    files = [f'part.{number}' for number in range(3)]
    rows = messages(*files)
    streams = kind('stream', rows)
    assert len({row['trace'] for row in streams}) == 1 and sorted(row['stream'] for row in streams) == files
    assert streams[0]['environment']['trace_creation_ns'] == 1_600_000_000_000_000_000
    times = [row['time'] for row in kind('event', rows)]
    assert times == sorted(times) and len(times) == 6
    assert times == [row['time'] for row in report(*files)]
    details = babeltrace(*files, '-c', 'sink.text.details')[0]
    assert details.count('Trace class:') == 1 and details.count('Stream beginning') == 3, details


def test_trimmed():
    names = two_logs()

    def count(*arguments):
        return len(re.findall(r'(?:shop|bank): \{', babeltrace(*names, *arguments)[0]))

    assert count('--begin', '12:26:40.500') == 15
    assert count('--end', '12:26:40.5') == 6
    assert count('--begin', '12:26:40.5', '--end', '12:26:41.2') == 8
    assert count('--timerange', '2020-09-13 12:26:41,2020-09-13 12:26:41.35') == 4


def test_back_to_the_beginning():
    write('lost.log', lossy().closed(lost=15))
    log = Log()
    for number in range(4):
        log.event(number * MS, 'a{b:u8,c:s}', data=b'\1text')
        log.segment(damaged=number == 1)
    write('hole.log', log.closed())
    for name in ('lost.log', 'hole.log'):
        once = messages(name)
        for n in range(1, len(once)):
            again = messages(name, again=n)
            for row in again:
                row['trace'] = once[0]['trace']
            assert len(again) >= len(once) and [{**row, 'trace': once[0]['trace']}
                                                for row in once] == again[-len(once):], (name, n)


def converted(path, to):
    babeltrace(path, '-o', 'ctf', '-w', to)
    return [metadata.parent for metadata in sorted(Path(to).rglob('metadata'))]


def comparable(row):
    """What is the same when it has been through CTF 1.8. babeltrace2 2.0.4 reads the text before in the place of one
    that is empty."""
    def members(pairs):
        return [[name, value] for name, value in pairs if value != '' and not name.endswith('_len')]

    return row['time'], row['name'], members(row['common']), members(row.get('specific',
            [])), members(row.get('payload', []))


def without_empty(mine, theirs):
    return [[[name, value] for name, value in pairs if name in dict(other)] if isinstance(pairs, list) else pairs
            for pairs, other in zip(mine, theirs)]


def test_converted():
    """To CTF and back: the same events, and the same losses."""
    run(REPORT_LOGS, 'server', 'server.log')
    run(REPORT_LOGS, 'hole', 'hole.log')
    write('lost.log', lossy().closed(lost=15))
    log = Log()
    log.event(20, 'late{a:u8,b.c:i16[2],d:s,"e":b}', data=b'\xff\0\1\0\2\0')
    log.event(15, 'late{a:u8,b.c:i16[2],d:s,"e":b}', data=b'\xff\0\1\0\2\0text')
    log.event(30, 'quo"te\\', data=b'\0\1\2')
    log.segment()
    write('odd.log', log.closed())
    for name in ('server.log', 'hole.log', 'lost.log', 'odd.log'):
        folders = converted(name, f'{name}.ctf')
        assert len(folders) == 1 and 'absolute = true' in (folders[0] / 'metadata').read_text()
        once, twice = messages(name), messages(*folders, source=('ctf', 'fs'))
        events = list(map(comparable, kind('event', once))), list(map(comparable, kind('event', twice)))
        assert len(events[0]) == len(events[1])
        for mine, theirs in zip(*events):
            assert list(mine) == without_empty(theirs, mine), (name, mine, theirs)
        if name == 'lost.log':
            # On one time line with a log.
            log = Log(name='other')
            log.event(12, 'between')
            log.segment()
            names = re.findall(r'(\w+): \{', babeltrace(write('other.log', log.closed()), folders[0])[0])
            assert names == ['a'] * 3 + ['between'] + ['a'] * 5, names
        for type in ('lost events', 'lost packets'):
            assert kind(type, once) == kind(type, twice), (name, kind(type, once), kind(type, twice))


# -- Files that are damaged ----------------------------------------------------------------------------


def damage(data, chance):
    """Some bytes changed, and mostly the checksums set right, so that it is not noticed at once."""
    data = bytearray(data)
    known = list(frames(data))
    for _ in range(chance.randint(1, 4)):
        at, kind_, size = chance.choice(known)
        body = size if kind_ != SLOT else 0
        where = at + (64 + chance.randrange(body) if body and chance.random() < .7 else chance.randrange(16, 56))
        data[where] = chance.choice([0, 1, 255, data[where] ^ 1 << chance.randrange(8)])
    for frame in known if chance.random() < .9 else []:
        set_right(data, *frame)
    return data[:chance.randrange(len(data))] if chance.random() < .1 else data


def test_damaged_logs():
    """Checks that babeltrace2 reads a damaged log or reports an error, never crashes, and reads the same events as
    posixtrace report."""
    chance = random.Random(SEED)
    Path('corpus').mkdir(exist_ok=True)
    run(CORPUS, 'corpus')
    run(REPORT_LOGS, 'server', 'server.log')
    write('lost.log', lossy().closed(lost=15))
    logs = [path.read_bytes() for path in [Path('server.log'), Path('lost.log'), *sorted(Path('corpus').glob('*.log'))]]
    logs = [data for data in logs if len(data) < 30000]
    read = 0
    for number in range(200):
        write('damaged.log', damage(chance.choice(logs), chance))
        done = subprocess.run(['babeltrace2', 'damaged.log'], capture_output=True, env=ENVIRONMENT, timeout=60)
        assert done.returncode in (0, 1), \
            f'SEED={SEED}, number {number}: exit status {done.returncode}: {done.stderr.decode(errors="replace")}'
        if done.returncode == 0:
            theirs = run(POSIXTRACE, 'report', '--system', '--json', 'damaged.log').stdout
            # What could not be written is told as events that were discarded, which is no line. Nor is a damaged end:
            # an overflow, whatever the damage has made of its name, is of no process.
            more = theirs.count(b'\n') - theirs.count(b'"unwritten":') - done.stdout.count(b'\n')
            assert more == 0 or (more == 1 and b'"pid":' not in theirs.splitlines()[-1]), \
                f'SEED={SEED}, number {number}'
            # A header that was set right may tell of more events than there are.
            if number % 4 == 0:
                assert lost(messages('damaged.log')) >= missing('damaged.log'), f'SEED={SEED}, number {number}'
            read += 1
        shutil.rmtree('damaged.ctf', ignore_errors=True)
        if number % 4 == 0 and done.returncode == 0:
            done = subprocess.run(['babeltrace2', 'damaged.log', '-o', 'ctf', '-w', 'damaged.ctf'], capture_output=True,
                                  env=ENVIRONMENT, timeout=60)
            assert done.returncode == 0, f'SEED={SEED}, number {number}: {done.stderr.decode(errors="replace")}'
    assert read > 100


def main():
    if not shutil.which('babeltrace2'):
        print('skipped: babeltrace2 is not installed')
        sys.exit(77)
    failed = 0
    for name, test in list(globals().items()):
        if name.startswith('test_'):
            with tempfile.TemporaryDirectory() as folder:
                os.chdir(folder)
                try:
                    test()
                    print(f'ok {name}')
                except Exception:
                    traceback.print_exc(file=sys.stdout)
                    print(f'FAILED {name}')
                    failed += 1
                os.chdir('/')
    sys.exit(failed > 0)


main()
