#
# reader.py - <posixtrace/log.h> reads what posixtrace report reads, and writes logs that posixtrace reads
#
#     reader.py POSIXTRACE EVENTS COPY CORPUS REPORT_LOGS [TEST...]      programs of events.c, copy.c, corpus.c and
#                                                                        report_logs.c
#
# SPDX-License-Identifier: MIT

import ast
import datetime
import errno
import json
import os
import random
import resource
import signal
import struct
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path += [str(HERE.parent / 'tool'), str(HERE.parent / 'log')]
import agree
import decode
import scene
from made_log import OVERFLOW, RESUME, STOP, Log, typed_log
from scene import equal

POSIXTRACE, EVENTS, COPY, CORPUS, REPORT_LOGS = (os.path.abspath(path) for path in sys.argv[1:6])
LOST, STOPPED, OVERWRITTEN, DISCARDED, UNWRITTEN, DAMAGED, OPEN = range(7)
NONE, FIELDS, MORE, TEXT_FORM, BYTES_FORM = range(5)
CODE, WHEN, BYTES, BOOL, FLOAT, TEXT = 5, 6, 8, 4, 3, 7
# What report says of system events, and of what events mean.
SYSTEM_KEYS = {'filter', 'filter_before', 'by_itself', 'unwritten', 'took', 'level'}
DAMAGED_VARIANTS = 12  # of each log of the corpus
logs = []


def read(*arguments, **more):
    """Returns what events.c prints."""
    return [ast.literal_eval(line) for line in scene.run(EVENTS, *arguments, **more)[0].decode().splitlines()]


def batch(paths):
    """Returns what events.c prints for each log: much faster than a process for each."""
    out = scene.run(EVENTS, '--twice', '--batch', input='\n'.join(map(str, paths)).encode() + b'\n')[0].decode()
    found = [[ast.literal_eval(line) for line in one.splitlines()] for one in out.split('end\n')[:-1]]
    assert len(found) == len(paths)
    return found


def report(*arguments, system=True):
    out = scene.run(POSIXTRACE, 'report', '--json', *(['--system'] if system else []), *arguments)[0]
    return [json.loads(line) for line in out.decode().splitlines()]


# -- An event of the library as report shows it ---------------------------------------------------------


def text(data):
    """JSON has only UTF-8: report writes U+FFFD for other bytes, so those are not compared."""
    return ''.join(c if c.isascii() and c.isprintable() else '?' for c in data.decode('utf-8', 'replace'))


def plain(value):
    return ''.join(c if c.isascii() and c.isprintable() else '?' for c in value)


def when(value, unit):
    per, digits = {'s': (1, 0), 'ms': (1000, 3), 'us': (10**6, 6), 'ns': (10**9, 9)}[unit]
    moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=value // per)
    return moment.strftime('%Y-%m-%dT%H:%M:%S') + (f'.{value % per:0{digits}}' if digits else '') + 'Z'


def item(kind, unit, value):
    if isinstance(value, bytes):
        return value.hex() if kind == BYTES else text(value)
    if kind == BOOL:
        return value != 0
    if kind == CODE:
        return f'0x{value:x}'
    if kind == WHEN:
        try:
            return when(value, unit.decode())
        except (OverflowError, ValueError):
            return 'far'
    return str(value) if isinstance(value, int) and abs(value) > 1 << 53 else value


def as_report(e, paths):
    """The JSON of report for an event of the library; texts only as far as they are printable ASCII."""
    out = {'time': e['time'], 'relative': e['relative'], 'event': text(e['event'])}
    if len(paths) > 1:
        out['file'] = str(paths[e['source']])
    if e.get('tid'):
        out |= {'pid': e['pid'], 'tid': e['tid'], 'thread': text(e['thread'])}
    if e['fields'] or (e['rest'] and e['rest'] != e['data']):
        out['fields'] = {text(name): [item(kind, unit, one) for one in value] if isinstance(value, list)
                         else item(kind, unit, value) for name, (kind, unit, value) in e['fields'].items()}
        if e['rest']:
            out['more'] = e['rest'].hex()
    elif e['data']:
        out['data'] = e['data'].hex()
    if e['truncated']:
        out['truncated'] = True
    if e['address']:
        out['address'] = f'0x{e["address"]:x}'
    return out


def normal(value):
    return [normal(one) for one in value] if isinstance(value, list) else \
        {plain(k): normal(v) for k, v in value.items()} if isinstance(value, dict) else \
        plain(value) if isinstance(value, str) else value


def simplified(e):
    """An event of report without what the library does not say, or says otherwise."""
    e = {key: normal(value) for key, value in e.items() if key not in SYSTEM_KEYS | {'text'}}
    if e['event'].startswith('posix_trace_') and e['event'] != 'posix_trace_unnamed_userevent':
        e.pop('data', None)
    if e.get('fields') == {}:
        # Not even the first field is complete.
        e.pop('fields')
        e['data'] = e.pop('more', '')
    return e


def expand(events):
    """The library's losses that report has as events: damage, and what could not be written."""
    for e in events:
        if 'reason' not in e:
            yield e
            continue
        common = {'address': 0, 'truncated': 0, 'data': b'', 'fields': {}, 'rest': b'', 'source': e['source']}
        if e['reason'] == UNWRITTEN or (e['reason'] == DAMAGED and e['until'] and not e.get('quiet')):
            moved = e['from'] - e['time']
            yield common | {'time': e['from'], 'relative': e['relative'] + moved, 'event': b'posix_trace_overflow'}
        if e['reason'] == DAMAGED and e['until'] and not e.get('quiet'):
            moved = e['until'] - e['time']
            yield common | {'time': e['until'], 'relative': e['relative'] + moved, 'event': b'posix_trace_resume'}


def far(found, wanted):
    """Times beyond what Python can show are not compared."""
    if found == 'far':
        return wanted
    if isinstance(found, list) and isinstance(wanted, list) and len(found) == len(wanted):
        return [far(a, b) for a, b in zip(found, wanted)]
    if isinstance(found, dict) and isinstance(wanted, dict):
        return {key: far(value, wanted.get(key)) for key, value in found.items()}
    return found


def compare(what, found, wanted, paths):
    ends_damaged = any(e.get('reason') == DAMAGED and not e['until'] for e in found)
    found = [simplified(as_report(e, paths)) for e in expand(found)]
    wanted = [simplified(e) for e in wanted]
    # A damaged end is a loss of the library, and an event of report.
    if ends_damaged and len(wanted) == len(found) + 1 and wanted[-1]['event'] == 'posix_trace_overflow':
        wanted.pop()
    for i, (a, b) in enumerate(zip(found, wanted)):
        equal(f'{what}: event {i}', far(a, b), b)
    equal(f'{what}: events', len(found), len(wanted))


def is_event(e):
    return 'event' in e and 'fields' in e


def sequence(lines):
    return [e for e in lines if is_event(e) or 'reason' in e]


def check_counts(what, lines):
    """The losses have the counts that the description of the log has."""
    about = next(line for line in lines if 'log' in line)
    counted = [0] * 7
    for e in lines:
        if 'reason' in e:
            counted[e['reason']] += e['count']
    equal(f'{what}: counts', counted, [about['lost'], 0, about['overwritten'], about['discarded'],
                                       about['unwritten'], about['damaged'], 0])
    equal(f'{what}: number of events', about['events'], sum(is_event(e) for e in lines))
    equal(f'{what}: open', any(e.get('reason') == OPEN for e in lines), not about['closed'])
    by_type = sum(line['events'] for line in lines if 'layout' in line)
    equal(f'{what}: events of types', by_type, about['events'])


def json_of(path):
    """stat's description of a log."""
    return json.loads(scene.run(POSIXTRACE, 'stat', '--json', '--system', path)[0])


# -- The tests ------------------------------------------------------------------------------------------------


def prepare():
    os.mkdir('corpus')
    subprocess.run([*agree.WRAPPER, CORPUS, 'corpus'], check=True)
    logs.extend(sorted(Path('corpus').glob('*.log')))
    for kind in 'server', 'client', 'hole', 'open', 'i386', 'exec':
        scene.run(REPORT_LOGS, kind, f'{kind}.log')
        logs.append(Path(f'{kind}.log'))
    logs.append(Path(scene.write('typed.log', typed_log())))


def loop_begins_damaged(lines):
    """In a LOOP log the reader makes no events for damage before the first event that is left."""
    seen = False
    for e in lines:
        if e.get('reason') == DAMAGED and not seen:
            e['quiet'] = True
        seen |= is_event(e)
    return lines


def policy_is_loop(path):
    data = Path(path).read_bytes()
    return data[agree.LOG_POLICY] == agree.LOOP


def compare_all(paths):
    count = 0
    for path, lines in zip(paths, batch(paths)):
        if lines and 'error' in lines[0]:
            done = subprocess.run([POSIXTRACE, 'report', '--json', path], capture_output=True)
            assert done.returncode == 1, f'{path}: {lines}, but report reads it'
            equal(path, done.stderr.decode().strip(), f'posixtrace report: {lines[0]["message"].decode()}')
            continue
        check_counts(path, lines)
        events = sequence(lines)
        if policy_is_loop(path):
            loop_begins_damaged(events)
        compare(path, events, report(path), [path])
        count += 1
    return count


def test_corpus():
    equal('logs read', compare_all(logs), len(logs))


def origin_of(path):
    """The log's own numbers, its labels and clocks, as decode.py reads them."""
    with open(path, 'rb') as file:
        log = decode.Log(file.fileno())
        clocks = [tuple(clock[name] for name in decode.CLOCK_FIELDS if name != '_')
                  for clock in log.rows(decode.CLOCK, decode.read_clock)]
        return log.id, log.generation, dict(log.rows(decode.LABELS, decode.read_labels)), clocks


def check_origin(path):
    found = next(line for line in read('--twice', path) if 'log' in line)
    labels = {key.decode(): value.decode() for key, value in found['labels'].items()}
    equal(path, (found['id'], found['generation'], labels, found['clocks']), origin_of(path))


def test_origin():
    """Labels and clocks, of whole logs and of one with frames that are damaged, unknown, too short or hostile."""
    for path in logs:
        check_origin(path)
    assert origin_of('corpus/cleared_append.log')[1] and origin_of('corpus/append.log')[3][-1][5] == 4
    rng = random.Random(1)
    made = Log()
    for texts in ((b'a', b'1', b'b', b'2'), (b'a', b'3', b'', b'x', b'c'), (b'\xff', b'1', b'd', b'\x1b[31m'),
                  (b'k' * 63, b'v' * 255, b'k' * 64, b'', b'e', b'v' * 256), (b'a=b', b'1', b'z', b'\0')):
        made.frame(decode.LABELS, b''.join(struct.pack('<H', len(text)) + text for text in texts))
    for _ in range(50):
        made.frame(decode.LABELS, rng.randbytes(rng.randrange(200)))
    for size in (80, 80, 79, 0, 96):
        made.frame(decode.CLOCK, rng.randbytes(size))
    made.frame(77, b'unknown')
    made.frame(12)
    made.event(5, 'a')
    made.segment()
    scene.write('made.log', made.open())
    check_origin('made.log')
    equal('unknown', next(line for line in read('--twice', 'made.log') if 'log' in line)['unknown'], 2)


def test_damaged():
    rng = random.Random(int(os.environ.get('SEED', '1')))
    paths = []
    for log in logs:
        data = log.read_bytes()
        for i in range(DAMAGED_VARIANTS if len(data) < agree.LARGE else 1):
            paths.append(Path(scene.write(f'{log}.{i}', agree.damaged(data, rng))))
    assert compare_all(paths) > len(paths) / 2


def test_merged():
    for paths in (['server.log', 'client.log'], ['client.log', 'hole.log', 'server.log', 'open.log'],
                  ['corpus/append.log', 'typed.log', 'corpus/loop_round.log']):
        found = sorted(read(*paths), key=lambda e: e['time'])
        equal('order', [e['time'] for e in found if is_event(e)], [e['time'] for e in read(*paths) if is_event(e)])
        key = lambda e: json.dumps(e, sort_keys=True)
        a = sorted((simplified(as_report(e, paths)) for e in expand(loop_begins_damaged(found))), key=key)
        b = sorted((simplified(e) for e in report(*paths)), key=key)
        equal(f'{paths}', a, b)


def test_ways_to_open():
    wanted = read('server.log')
    for option in '--memory', '--fd':
        equal(option, read(option, 'server.log'), wanted)
    data = Path('server.log').read_bytes()
    equal('standard input', read('-', input=data), wanted)
    with open('server.log', 'rb') as file:
        equal('standard input that is a file', read('-', stdin=file), wanted)
    os.mkfifo('fifo')
    with subprocess.Popen(['cp', 'server.log', 'fifo']) as process:
        equal('FIFO', read('fifo'), wanted)
    equal('cp', process.returncode, 0)
    for data, message in ((b'', 'the pipe is empty'), (b'x' * 200, 'not a posixtrace log')):
        (found,) = read('-', input=data)
        equal('a wrong pipe', found, {'error': 22, 'message': f'standard input: {message}'.encode()})
    scene.write('empty', b'')
    scene.write('text', b'text ' * 100)
    scene.write('header', Path('server.log').read_bytes()[:40] + b'?' + Path('server.log').read_bytes()[41:])
    for path, error, message in (
            ('empty', errno.EINVAL, 'the file is empty'), ('text', errno.EINVAL, 'not a posixtrace log'),
            ('header', errno.EBADMSG, 'a log, but its header is damaged, or it is of another version, or of a machine '
             'with another byte order'), ('.', errno.EINVAL, 'neither a regular file nor a pipe')):
        equal(path, read(path), [{'error': error, 'message': f'{path}: {message}'.encode()}])
    equal('none', read('none'), [{'error': 2, 'message': b'none: No such file or directory'}])


def test_filters():
    every = read('server.log')
    begin = every[0]['time'] - every[0]['relative']
    middle = begin + 5_000_000
    threads = sorted({e['thread'] for e in every if e.get('tid')})
    assert len(threads) > 1
    pids = sorted({e['pid'] for e in every if e.get('tid')})
    for options, selects in (
            (['--event', 'sql.*'], ['-e', 'sql.*']), (['--event', '!sql.row'], ['-e', '!sql.row']),
            (['--event', '*', '--event', '!line'], ['-e', '*', '-e', '!line']),
            (['--event', 'sql.row{rows:u32,time:u64/ns}'], ['-e', 'sql.row']),
            (['--pid', pids[0]], ['--pid', pids[0]]),
            (['--pid', pids[0], '--pid', pids[-1]], ['--pid', pids[0], '--pid', pids[-1]]),
            (['--thread', threads[0].decode()], ['--thread', threads[0].decode()]),
            (['--from', middle], ['--from', '5ms']), (['--until', middle], ['--to', '5ms']),
            (['--from', begin + 2_000_000, '--until', middle], ['--from', '2ms', '--to', '5ms'])):
        found = [e for e in read(*options, 'server.log') if is_event(e)]
        system = ['posix_trace_overflow', 'posix_trace_resume']
        wanted = [e for e in report(*selects, 'server.log')]
        names = options[0] in ('--from', '--until')
        compare(f'{options}', [e for e in found if names or e['event'].decode('utf-8', 'replace') not in system],
                [e for e in wanted if names or e['event'] not in system], ['server.log'])
        assert found, options
    equal('a callback', read('--long', 'server.log'), [e for e in every if is_event(e) and len(e['data']) >= 8])
    tid = next(e['tid'] for e in every if e.get('tid'))
    equal('--tid', read('--tid', tid, 'server.log'), [e for e in every if 'reason' in e or e.get('tid') == tid])
    equal('no such event', [e for e in read('--event', 'none', 'server.log') if is_event(e)], [])
    # After the selected time nothing is read, and what is lost there is not reported.
    log = Log()
    for second in range(6):
        log.event(second * 10**9, 'tick')
        log.segment(lost=second)
    scene.write('seconds.log', log.closed(lost=15))
    found = read('--until', log.created + 2 * 10**9, 'seconds.log')
    equal('times', [e['relative'] for e in found if is_event(e)], [0, 10**9])
    equal('losses', [e['count'] for e in found if 'reason' in e], [1, 2])


def test_losses():
    log = Log()
    log.event(1000, 'a')
    log.segment()
    for n in range(5):
        log.event(2000 + n, 'a')
    log.segment(damaged=True, lost=3)
    log.event(3000, 'a')
    log.event(3001, 'posix_trace_overflow', pid=0, tid=0)
    log.event(3005, 'posix_trace_resume', pid=0, tid=0)
    log.event(3005, 'posix_trace_stop', data=struct.pack('=i', 1))
    log.segment(lost=7)
    created = log.created

    def losses(data):
        path = scene.write('losses.log', data)
        lines = read('--twice', path)
        check_counts(path, lines)
        return [(e['reason'], e['count'], e['at_least'], e['from'] - created, e['until'] and e['until'] - created)
                for e in lines if 'reason' in e]

    opened = log.open()
    known = [(DAMAGED, 5, 0, 1000, 3000), (LOST, 10, 0, 1000, 3005), (STOPPED, 0, 1, 3005, 0)]
    equal('closed', losses(log.closed(lost=12, discarded=4)),
          [*known, (LOST, 2, 0, 3005, 0), (DISCARDED, 4, 0, 3005, 0)])
    equal('open', losses(opened), known + [(OPEN, 0, 1, 3005, 0)])
    equal('cut', losses(opened[:-8]), [(DAMAGED, 9, 1, 1000, 0), (LOST, 10, 0, 1000, 0), (OPEN, 0, 1, 1000, 0)])
    # Without the frame of the damaged segment: at the end the number is known again.
    log = Log(created=created)
    for part in range(4):
        log.event(1000 * part, 'a')
        log.event(1000 * part + 1, 'a')
        if part == 1:
            place = len(log.out)
        log.segment()
        if part == 1:
            log.out[place] ^= 1
    equal('frame', losses(log.closed()), [(DAMAGED, 0, 1, 1, 2000), (DAMAGED, 2, 0, 3001, 0)])
    # A damaged segment with a valid copy behind it is not missing.
    log = Log(created=created)
    log.event(0, 'a')
    log.segment()
    place = len(log.out)
    log.event(1, 'a')
    log.segment()
    segment = bytes(log.out[place:])
    log.out[place + 64] ^= 0xff
    log.out += segment
    equal('copy', losses(log.open()), [(OPEN, 0, 1, 1, 0)])
    equal('copy, stat', json_of('losses.log')['files'][0]['missing'], 0)
    equal('LOOP', [e['reason'] for e in read('corpus/loop_round.log') if 'reason' in e][:1], [OVERWRITTEN])
    about = json_of('corpus/loop_round.log')['files'][0]
    found = [e for e in read('--twice', 'corpus/loop_round.log') if 'log' in e][0]
    for ours, theirs in (('lost', 'lost'), ('overwritten', 'discarded'), ('events', 'events'), ('first', 'first'),
                         ('last', 'last'), ('created', 'created'), ('bytes', 'bytes')):
        equal(ours, found[ours], about[theirs])


def test_segments():
    """Each event is in the segment of the log that the second reader finds it in."""
    for path in logs:
        with open(path, 'rb') as file:
            wanted = [(frame.number, frame.first, frame.events) for frame in decode.Log(file.fileno()).segments()]
        events = [e for e in read('--parts', path) if is_event(e)]
        numbers = dict.fromkeys(e['segment'] for e in events)
        found = []
        for segment in numbers:
            number, begin, end, missing = segment
            times = [e['time'] for e in events if e['segment'] == segment]
            assert max(times) == end and (missing == 0 or path.name == 'hole.log'), f'{path}: {segment}'
            found.append((number, begin, len(times)))
        if path.name != 'hole.log':
            equal(f'{path}: segments', found, wanted)
    log = Log()
    for number in range(7):
        log.event(10 * number, 'a')
        log.segment(damaged=number in (0, 2, 3, 6))
    scene.write('missing.log', log.closed())
    equal('missing segments', [e['segment'][::3] for e in read('--parts', 'missing.log') if is_event(e)],
          [(2, 1), (5, 2), (6, 0)])


def test_forms():
    """The forms of data lack nothing, and system events say what report says."""
    forms = set()
    log = Log()
    log.event(1, 'more{text:u8,data:u16}', data=b'\1\0\2\0end')
    log.segment()
    scene.write('more.log', log.closed())
    for path in [*logs, 'more.log']:
        for e in read('--parts', path):
            if not is_event(e):
                continue
            form, data = e['form'], e['data']
            forms.add(form)
            equal('no data', form == NONE, not data)
            if form in (FIELDS, MORE):
                assert e['fields'] and (form == MORE) == (e['rest'] != b''), e
            if form == TEXT_FORM:
                assert data.decode().isprintable() or b'\n' in data or data[-1] == 0, e
            assert e.get('says', b'') == b'' or e['says'].startswith((b'without ', b'again with ', b'by itself')), e
    equal('forms', forms, {NONE, FIELDS, MORE, TEXT_FORM, BYTES_FORM})
    says = [e['says'] for e in read('--parts', 'server.log') if e.get('says')]
    filters = [e for e in report('server.log') if e.get('filter') or e.get('filter_before') or e.get('by_itself')]
    equal('what system events say', len(says), len(filters))
    assert says


def losses_of(lines):
    return {e['reason']: (e['count'], e['at_least']) for e in lines if 'reason' in e}


def test_cut():
    """A log that is cut off anywhere: the numbers that its creator has left at the beginning are exact."""
    scene.run(COPY, 'numbers', 2500, 'numbers.log')
    data = Path('numbers.log').read_bytes()
    size, seen = len(data), set()
    for end in (*range(size - 200, size, 24), *range(2000, size, size // 16)):
        lines = read('--twice', scene.write('cut.log', data[:end]))
        check_counts(end, lines)
        there = sum(is_event(e) for e in lines)
        missing = {DAMAGED: (2500 - there, 0)} if there < 2500 else {}
        equal(f'cut at {end}', losses_of(lines), missing)
        equal(f'stat at {end}', json_of('cut.log')['files'][0]['missing'], 2500 - there)
        assert next(line for line in lines if 'log' in line)['closed']
        seen.add(there)
    equal('segments', seen, {0, 1000, 2000, 2500})
    # Without these numbers: what the frame of the segment says that is cut off.
    log = Log()
    for segment in range(3):
        for n in range(10 + segment):
            log.event(100 * segment + n, 'a')
        log.segment(lost=segment)
    end = len(log.out)
    for cut, missing in ((8, {DAMAGED: (12, 1), LOST: (2, 0)}), (12, {DAMAGED: (12, 1), LOST: (2, 0)}), (0, {})):
        lines = read('--twice', scene.write('cut.log', log.out[:end - cut]))
        check_counts(f'last {cut}', lines)
        equal(f'last {cut}', losses_of([e for e in lines if e.get('until') == 0]), missing | {OPEN: (0, 1)})
    # A LOOP log, whose last slot is cut off within a segment.
    data = Path('corpus/loop_round.log').read_bytes()
    whole = [e for e in read('corpus/loop_round.log') if is_event(e)]
    for end in range(len(data) // 2, len(data), len(data) // 20):
        lines = read('--twice', scene.write('cut.log', data[:end]))
        check_counts(f'LOOP at {end}', lines)
        about = next(line for line in lines if 'log' in line)
        if about['closed']:
            equal(f'LOOP at {end}', sum(is_event(e) for e in lines) + about['damaged'], len(whole))


def test_time_limits():
    """The times that are farthest from each other: nothing is left out, and no difference has the wrong sign."""
    log = Log()
    for time in (0, 1000, 2**64 - 1 - log.created):
        log.event(time, 'a')
    log.segment()
    scene.write('limits.log', log.closed())
    lines = read('--twice', 'limits.log')
    check_counts('limits', lines)
    far = 2**64 - 1 - log.created
    equal('relative', [e['relative'] for e in lines if is_event(e)], [0, 1000, 2**63 - 1])
    equal('complete', losses_of(lines), {})
    equal('JSON', [e['relative'] for e in report('limits.log')], [0, 1000, far])
    shown = scene.run(POSIXTRACE, 'report', '--no-header', 'limits.log')[0].split(b'\n')
    equal('report', shown[2].split()[0].decode(), f'{far // 10**9}.{far % 10**9:09}')
    rows = scene.run(POSIXTRACE, 'convert', '--to', 'csv', '-o', '-', 'limits.log')[0].decode().splitlines()
    equal('CSV', rows[-1].split(',')[:2], [str(2**64 - 1), str(far)])
    scene.run(POSIXTRACE, 'view', '-o', 'limits.html', 'limits.log')
    for until, count in ((2**64 - 1, 3), (2**64 - 2, 2), (log.created + 1000, 1)):
        found = [e for e in read('--until', until, 'limits.log') if is_event(e)]
        equal(f'until {until}', len(found), count)
    equal('from', len([e for e in read('--from', 2**64 - 2, 'limits.log') if is_event(e)]), 1)


def test_tables():
    lines = read('--scan', 'server.log', 'client.log')
    events = [e for e in read('server.log', 'client.log') if is_event(e)]
    types = {}
    for e in events:
        types[e['event']] = types.get(e['event'], 0) + 1
    found = {}
    for line in lines:
        if 'layout' in line:
            found[line['type']] = found.get(line['type'], 0) + line['events']
    equal('types', {name: count for name, count in found.items() if count}, types)
    threads = {}
    for e in events:
        if e.get('tid'):
            threads[e['pid'], e['tid']] = threads.get((e['pid'], e['tid']), 0) + 1
    equal('threads', {(line['of'], line['thread']): line['events'] for line in lines if 'of' in line}, threads)
    row = next(line for line in lines if line.get('type') == b'sql.row')
    equal('layout', row['layout'], b'{rows:u32,time:u64/ns}')
    typed = next(line for line in read('--scan', 'typed.log') if line.get('type') == b'typed')
    equal('labels', typed['labels'], [b'new', -1, b'paid', 3, b'sent', 4, b'off', 0, b'on', 1, b'gift', 1,
                                      b'express', 2, b'fragile', 256])
    # Types of the same name in several logs are one if their fields are the same.
    for other, count in (('{a:u8}', 1), ('{a:u16}', 2), ('{counter;a:u8}', 2), ('{begin=a;a:u8}', 2),
                         ('{a:u8<x>}', 2), ('{a:u8/B}', 2)):
        for path, layout in (('one.log', '{a:u8}'), ('two.log', other)):
            log = Log()
            log.declare('t', layout)
            log.event(0, 't', data=b'ab')
            log.segment()
            scene.write(path, log.closed())
        found = [line for line in read('--scan', 'one.log', 'two.log') if line.get('type') == b't']
        equal(other, [line['events'] for line in found], [2] if count == 1 else [1, 1])


def test_processes():
    log = Log()
    mapping = struct.pack('<QQQ', 0x1000, 0x3000, 0x10) + b'\5\0/prog' + b'\4\0\1\2\3\4'
    body = struct.pack('<IIQ', 100, 1, log.created + 5) + b'\5\0/prog' + mapping
    log.frame(3, body + struct.pack('<I', 7) + b'\x0a\0' + b'prog\0file\0')
    log.frame(3, body[:30])
    log.process(101, '/usr/bin/none')
    log.event(0, 'a')
    log.event(1, 'a', pid=102, tid=103)
    log.segment()
    lines = [line for line in read('--scan', scene.write('processes.log', log.closed())) if 'process' in line]
    equal('processes', lines, [
        {'process': 100, 'parent': 7, 'time': log.created + 5, 'executable': b'/prog', 'name': b'prog',
         'command': b'prog\0file\0', 'modules': [(0x1000, 0x3000, 0x10, b'/prog', b'\1\2\3\4')]},
        {'process': 101, 'parent': 0, 'time': log.created, 'executable': b'/usr/bin/none', 'name': b'none',
         'command': b'', 'modules': []},
        {'process': 102, 'parent': 0, 'time': 0, 'executable': b'', 'name': b'', 'command': b'', 'modules': []}])


def test_columns():
    for path, name in (('server.log', b'sql.row'), ('server.log', b'all'), ('typed.log', b'typed')):
        wanted = []
        for e in read(path):
            if not is_event(e) or e['event'] != name:
                continue
            values = [value for kind, _, value in e['fields'].values() if kind not in (TEXT, BYTES)]
            wanted.append((e['time'], e['tid'], values))
        rows = read('--columns', name.decode(), path)
        equal('rows', len(rows), len(wanted))
        assert len(rows) > 1
        for row, (time, tid, values) in zip(rows, wanted):
            equal('time and thread', row[:2], (time, tid))
            present = [value for value in row[2:] if value is not None]
            numbers = [value[0] if isinstance(value, list) else value for value in values if value != []]
            equal('number of values', len(present), len(numbers))
            for a, b in zip(present, numbers):
                assert isinstance(b, bytes) or a == b, f'{a} is not {b}'


# -- Logs of the writer ----------------------------------------------------------------------------------------


def without_system(lines):
    return [e for e in lines if is_event(e) and e['event'] and not e['event'].startswith(b'posix_trace_')]


def test_copies():
    for path in logs:
        lines = read(path)
        scene.run(COPY, 'log', path, 'copy.log')
        checked, _ = scene.run(POSIXTRACE, 'check', 'copy.log')
        assert b'no damage' in checked, checked
        late = sorted(e['time'] for e in lines if is_event(e)) != [e['time'] for e in lines if is_event(e)]
        assert not late, path
        found = without_system(read('copy.log'))
        wanted = without_system(lines)
        for e in wanted + found:
            # A foreign event is not cut, and has the type's whole layout.
            e['truncated'] = 0
        equal(path, found, wanted)
        lost = sum(e['count'] for e in lines if e.get('reason') == LOST)
        equal('lost', sum(e['count'] for e in read('copy.log') if e.get('reason') == LOST), lost)
        compare('copy', read('copy.log'), report('copy.log'), ['copy.log'])
        processes = [[line for line in read('--scan', of) if 'modules' in line and line['time']]
                     for of in (path, 'copy.log')]
        for p in processes[0]:
            p['modules'] = [m for m in p['modules'] if m[1] > m[0]]
        equal('processes', processes[1], processes[0])


def test_shown():
    scene.run(COPY, 'log', 'server.log', 'copy.log')
    options = ['--no-header', '--fields', 'time,pid,tid,thread,event,data']
    wanted = [line for line in scene.run(POSIXTRACE, 'report', *options, 'server.log')[0].splitlines()
              if b'posix_trace_' not in line and b'-- ' not in line]
    found = [line for line in scene.run(POSIXTRACE, 'report', *options, 'copy.log')[0].splitlines()
             if b'-- ' not in line]
    equal('report', [line.split() for line in found], [line.replace(b' (cut off)', b'').split() for line in wanted])
    for form in 'ctf', 'perfetto', 'chrome', 'csv', 'jsonl':
        scene.run(POSIXTRACE, 'convert', '--to', form, '-o', f'copy.{form}', 'copy.log')
    scene.run(POSIXTRACE, 'view', '-o', 'copy.html', 'copy.log')
    equal('stat', json_of('copy.log')['files'][0]['version'], 'copy 1.0')
    piped, _ = scene.run(COPY, 'pipe', 'server.log')
    scene.write('piped.log', piped)
    equal('through a pipe', without_system(read('piped.log')), without_system(read('copy.log')))
    assert b'no damage' in scene.run(POSIXTRACE, 'check', 'piped.log')[0]


def test_killed():
    scene.run(COPY, 'kill', 12345, 'killed.log', status=-signal.SIGKILL)
    lines = read('killed.log')
    equal('numbers', [e['fields'][b'number'][2] for e in lines if is_event(e)], list(range(12000)))
    equal('name of the thread', {e['thread'] for e in lines if is_event(e)}, {b'numbers and mor'})
    equal('losses', [e['reason'] for e in lines if 'reason' in e], [OPEN])
    checked = scene.run(POSIXTRACE, 'check', 'killed.log', status=None)[0].decode()
    assert 'damage' not in checked or 'no damage' in checked, checked
    compare('killed', lines, report('killed.log'), ['killed.log'])
    # Nobody else's file is overwritten.
    scene.write('text', b'text')
    assert b'exists, and is not a log' in scene.run(COPY, 'kill', 1, 'text', status=3)[1]
    equal('text', Path('text').read_bytes(), b'text')


def test_full():
    accepted = int(scene.run(COPY, 'full', 100000, 'full.log')[0])
    lines = read('full.log')
    events = [e for e in lines if is_event(e)]
    unwritten = sum(e['count'] for e in lines if e.get('reason') == UNWRITTEN)
    assert 0 < len(events) < accepted < 100000
    equal('all events', len(events) + unwritten, 100000)
    compare('full', lines, report('full.log'), ['full.log'])


def test_full_for_a_while():
    """What could not be written is reported where it is missing."""
    failed, again = ast.literal_eval(scene.run(COPY, 'later', 100000, 'later.log')[0].decode())
    lines = read('--twice', 'later.log')
    check_counts('later', lines)
    begin = 1_700_000_000_000_000_000
    equal('losses', [(e['reason'], e['count'], e['at_least'], e['from'] - begin, e['until'] - begin)
                     for e in lines if 'reason' in e], [(LOST, again - failed, 0, failed - 1, again - 1)])
    around = [e['time'] - begin for e in lines if is_event(e) and e['event'].startswith(b'posix_trace_')]
    equal('events around', around, [failed, again - 1])
    numbers = [e['fields'][b'number'][2] for e in without_system(lines)]
    scattered = [n * 0x9e3779b97f4a7c15 % 2**64 for n in (*range(failed), *range(again, 100000))]
    equal('the others', numbers, scattered)
    assert b'no damage' in scene.run(POSIXTRACE, 'check', 'later.log')[0]
    compare('later', sequence(lines), report('later.log'), ['later.log'])


def test_gone():
    scene.run(COPY, 'gone', 20000)


def test_pipe_with_a_limit():
    data = Path('server.log').read_bytes()
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
    (found,) = read('-', input=data, preexec_fn=limit)
    equal('error', found['error'], errno.EFBIG)
    assert found['message'].endswith(b': File too large'), found


def test_appending():
    """Descriptors that can only append, as of '>>' in a shell."""
    def numbers(path, flags, status):
        fd = os.open(path, flags | os.O_CREAT, 0o600)
        try:
            done = subprocess.run([COPY, 'numbers', '3000', '-'], stdout=fd, stderr=subprocess.PIPE, check=False)
            equal('status', done.returncode, status)
            return done.stderr
        finally:
            os.close(fd)

    scene.run(COPY, 'numbers', 3000, 'numbers.log')
    wanted = read('numbers.log')
    for flags in os.O_WRONLY, os.O_RDWR:
        numbers('appended.log', flags | os.O_APPEND, 0)
        equal('empty file', read('appended.log'), wanted)
        assert b'no damage' in scene.run(POSIXTRACE, 'check', 'appended.log')[0]
        data = Path('appended.log').read_bytes()
        told = numbers('appended.log', flags | os.O_APPEND, 3)
        assert b'the file is not empty, and nothing can be appended to a log' in told, told
        equal('file that is not empty', Path('appended.log').read_bytes(), data)
        # From the beginning: only over a log.
        Path('appended.log').write_bytes(data + bytes(100000))
        numbers('appended.log', flags, 0)
        equal('over a log', read('appended.log'), wanted)
        scene.write('text', b'text')
        assert b'exists, and is not a log' in numbers('text', flags, 3)
        equal('text', Path('text').read_bytes(), b'text')
        os.remove('appended.log')


def test_other_users():
    """A directory that all can write to, with links and files of another user."""
    if os.getuid():
        return
    nobody = 65534
    os.mkdir('all')
    os.chmod('all', 0o1777)
    os.chmod('.', 0o755)
    scene.run(COPY, 'numbers', 10, 'mine.log')
    os.symlink(os.path.abspath('mine.log'), 'all/link')
    os.symlink(os.path.abspath('none'), 'all/dangling')
    os.symlink('.', 'all/way')
    scene.write('all/theirs', b'')
    os.chmod('all/theirs', 0o666)
    for name in 'link', 'dangling', 'way', 'theirs':
        os.lchown(f'all/{name}', nobody, nobody)
    os.link('mine.log', 'all/second')
    data = Path('mine.log').read_bytes()
    for name, why in (('link', 'belongs to another user (65534)'), ('dangling', 'belongs to another user (65534)'),
                      ('way/new', 'belongs to another user (65534)'), ('theirs', 'it belongs to another user (65534)'),
                      ('second', 'it has another name (a hard link)')):
        told = scene.run(COPY, 'numbers', 20, f'all/{name}', status=3)[1].decode()
        assert f'all/{name}: ' in told and why in told and 'choose another file' in told, told
    equal('mine.log', Path('mine.log').read_bytes(), data)
    equal('their file', Path('all/theirs').read_bytes(), b'')
    assert not os.path.exists('none') and not os.path.exists('all/new')
    # Their own files, links of the same user, and directories that only their owner can write to.
    os.symlink('own.log', 'all/own')
    for name in 'new', 'own', 'own':
        scene.run(COPY, 'numbers', 20, f'all/{name}')
        equal(name, len(without_system(read(f'all/{name}'))), 20)


def test_errors():
    scene.run(COPY, 'errors', 'errors.log')


if __name__ == '__main__':
    scene.private()
    scene.Suite(globals()).main(prepare)
