#!/usr/bin/env python3
#
# report.py - posixtrace report, as a person uses it
#
# report.py POSIXTRACE REPORT_LOGS LIBPOSIXTRACE LIBRARY PIE FIXED LATE libdw|...     what is tested, and what makes its
#                                                                                logs
#     report.py --update ...                                                         writes the golden files anew
#
# SPDX-License-Identifier: MIT

import contextlib
import gzip
import json
import os
import pty
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import scene
from made_log import OVERFLOW, PREDEFINED, RESUME, START, TYPED_FIELDS, TYPED_TEXTS, Log, typed_log
from scene import ENVIRONMENT, has_terminals

HERE = Path(__file__).parent
UPDATE = '--update' in sys.argv
POSIXTRACE, REPORT_LOGS, LIBPOSIXTRACE, LIBRARY, PIE, FIXED, LATE, LIBDW = (argument for argument in sys.argv[1:]
    if argument != '--update')
LIBPOSIXTRACE, LIBRARY, PIE, FIXED, LATE = (Path(path).resolve()
    for path in (LIBPOSIXTRACE, LIBRARY, PIE, FIXED, LATE))
POSIXTRACE, REPORT_LOGS = os.path.abspath(POSIXTRACE), os.path.abspath(REPORT_LOGS)


def run(*arguments, messages='', system=True, **more):
    """Checks the exit status and the messages. Returns the output."""
    out, err = scene.run(POSIXTRACE, 'report', *(['--system'] if system else []), *arguments, **more)
    assert re.fullmatch(messages, err.decode(), re.S), f'{arguments}: {err.decode()}'
    return out.decode()


def lines(*arguments, **more):
    return run('--no-header', *arguments, **more).splitlines()


def golden(name, *arguments):
    path, text = HERE / 'golden' / name, run(*arguments)
    if UPDATE:
        path.write_text(text)
    expected = path.read_text()
    for number, (a, b) in enumerate(zip(text.splitlines(), expected.splitlines()), 1):
        assert a == b, f'{name}:{number}: {a!r}, not {b!r}'
    assert text == expected, f'{name}: {len(text)} bytes, not {len(expected)}'


# -- Text ---------------------------------------------------------------------------------------------


def test_golden():
    golden('report.txt', 'server.log')
    golden('report-absolute.txt', '--absolute', 'server.log')
    golden('report-delta-colour.txt', '--delta', '--color=always', 'server.log')
    golden('report-merged.txt', 'server.log', 'client.log')
    golden('report-fields.txt', '--fields', 'data,tid,event', '--full', '--no-header', 'server.log')
    golden('report.json', '--json', 'server.log', 'client.log')
    golden('report-hole.txt', 'hole.log')
    golden('report-open.txt', 'open.log')
    golden('report-i386.txt', 'i386.log')


def test_help():
    assert run('--help').startswith('usage: posixtrace report ')
    assert run('-h') == run('--help')


def test_default_file():
    shutil.copy('client.log', 'posixtrace.log')
    assert lines() == lines('client.log') == lines('--', 'client.log')
    os.unlink('posixtrace.log')
    run(status=1, messages=r'posixtrace report: posixtrace\.log: No such file or directory\n')
    with open('client.log') as file:
        assert lines('-', stdin=file) == lines('client.log')


def test_range():
    everything = lines('server.log')
    count = len(everything)
    for n in (0, 1, 5, count, count + 5):
        assert lines('-n', n, 'server.log') == everything[:n]
        assert lines('--tail', n, 'server.log') == everything[max(count - n, 0):]
    assert len(run('-n', 0, 'server.log').splitlines()) == 1
    # The time of the line before, even if that is not shown.
    assert lines('--delta', '--tail', 3, 'server.log') == lines('--delta', 'server.log')[-3:]


def test_filters():
    def events(*arguments):
        return lines('--fields', 'event', *arguments, 'server.log')

    everything, lost = events(), [line for line in events() if 'lost' in line]
    assert len(lost) == 1 and 'sql.row' in everything
    assert events('-e', 'sql.*') == ['sql.row'] * 3 + lost
    assert events('-e', 'sql.*', '-e', '!*row') == lost
    assert sorted(events('-e', '!sql.*') + ['sql.row'] * 3) == sorted(everything)
    assert set(events('--pid', 4800)) == {'an \\x1b[31mevil\\x0a name', 'request', 'posix_trace_start',
                                          'posix_trace_stop', *lost}
    assert set(events('--pid', 4800, '--pid', 4711)) == set(everything) - {'posix_trace_flush_start',
        'posix_trace_flush_stop'}
    assert set(events('--tid', 4712)) == {'line', 'brace{but no layout}', '?90', *lost}
    assert events('--thread', 'chi*', '-e', 'request') == [lost[0], 'request']
    # From the first time on, up to the second.
    assert events('--from', '2ms', '--to', '0.0020001') == ['sql.row']
    assert lines('--from', '8us', '--to', '9us', 'server.log',
                 messages='posixtrace report: no event is at or after --from, and before --to; the log has .*') == []
    assert events('--from', '22:13:20.129456789', '--to', '2023-11-14 22:13:20.132456790') == events('--from', '6ms',
        '--to', '9000001ns')
    assert events('--from', '1h') == ['posix_trace_stop']


def test_system():
    """What the recording itself does is not shown, but on request; where events are missing is."""
    hidden = {'posix_trace_start', 'posix_trace_filter', 'posix_trace_flush_start', 'posix_trace_flush_stop'}

    def events(*arguments):
        return [line.strip() for line in lines('--fields', 'event', *arguments, 'server.log', system=False)]

    assert set(events('--system')) - set(events()) == hidden and hidden <= set(events('--system'))
    # The automatic stop is shown, as events are missing after it; the stop by a call is hidden.
    assert events('--system').count('posix_trace_stop') == 2 and events().count('posix_trace_stop') == 1
    assert set(events('-e', 'posix_*')) >= hidden and not set(events('-e', '*')) & hidden
    assert not any(json.loads(line)['event'] in hidden
                   for line in run('--json', 'server.log', system=False).splitlines())
    assert lines(made('flushes.log', (1, 'a'), (2, 'posix_trace_start')), '--fields', 'event', system=False) == ['a']
    csv = {all: subprocess.run([POSIXTRACE, 'convert', '--to', 'csv', *all, '-o', '-', 'server.log'],
                               capture_output=True, check=True).stdout
           for all in ((), ('--system',))}
    assert csv[()] != csv['--system',] and b'flush_start' not in csv[()] and b'flush_start' in csv['--system',]


def test_many_names():
    """What is similar to a name that there is not takes little time, however long the name and many the types."""
    log = Log()
    log.add_types({100 + n: f'some.name.of.an.event.type.{n:04}' for n in range(3900)})
    log.event(1, 'last')
    log.segment()
    scene.write('names.log', log.closed())
    wrong = [option for n in range(20) for option in ('-e', f'some.name.of.an.event.typ.{n:04}')]
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    _, err = scene.run(POSIXTRACE, 'report', *wrong, '-e', 'x' * 3000, 'names.log', status=1)
    took = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    assert b'typ.0003: no event type has that name; there are some.name.of.an.event.type.0003,' in err, err
    assert took < 3, took


def test_unseen():
    """Characters that cannot be seen are shown as codes: the same ones as in the page of view."""
    page = (HERE.parent.parent / 'tool/view/page/text.mjs').read_text()
    log, names = Log(), []
    for text in re.findall(r'\\u([0-9a-f]{4})', page[:page.index('udb40')]):
        if int(text, 16) >= 0x80 and not 0xd800 <= int(text, 16) < 0xe000:
            names.append(chr(int(text, 16)))
    assert len(names) > 12, names
    for n, name in enumerate([*names, '\U000e0041', 'é']):
        log.event(n, f'a{name}b')
    log.segment()
    scene.write('unseen.log', log.closed())
    shown = lines('--fields', 'event', 'unseen.log')
    for name, found in zip([*names, '\U000e0041'], shown):
        assert found == 'a' + ''.join(f'\\x{byte:02x}' for byte in name.encode()) + 'b', (name, found)
    assert shown[-1] == 'aéb', shown


def test_names_with_layouts():
    """A name can be given as the program writes it, with its braces."""
    for pattern in ('sql.row', 'sql.row{rows:u32,time:u64/ns}', 'sql.r*{rows:u32}'):
        assert lines('--fields', 'event', '-e', pattern, 'server.log')[:3] == ['sql.row'] * 3, pattern
    assert 'sql.row' not in lines('--fields', 'event', '-e', '!sql.row{rows:u32,time:u64/ns}', 'server.log')


def test_typed():
    """Fields of all types; and the complete fields of data that is cut off."""
    Path('typed.log').write_bytes(typed_log())
    shown = [line.partition(' {')[2] for line in lines('--fields', 'event,data', 'typed.log')]
    assert shown == [text + '}' for text in TYPED_TEXTS] + [
        'id=2 item="te" ...} (cut off)', 'id=2 item="tea" n=2 sizes=[7] ... +ff} (cut off)'], shown
    fields = [json.loads(line)['fields'] for line in run('--json', 'typed.log').splitlines()]
    assert fields[:2] == TYPED_FIELDS, fields
    assert fields[2:] == [{'id': 2, 'item': 'te'}, {'id': 2, 'item': 'tea', 'n': 2, 'sizes': [7]}], fields


def test_nothing_there():
    """Reports names and ids that are not in the log, with those that are, the nearest first."""
    def told(*arguments, status=1):
        done = subprocess.run([POSIXTRACE, 'report', '--no-header', *map(str, arguments), log], capture_output=True,
                              env=ENVIRONMENT, timeout=60)
        assert done.returncode == status and done.stdout == b'', (arguments, done)
        return done.stderr.decode()

    log = made('names.log', *((0.1 * i, name) for i,
                              name in enumerate(('disk.read', 'order', 'shop.order', 'shop.done'), 1)))
    assert told('-e', 'shop.ordre').endswith('-e shop.ordre: no event type has that name; there are shop.order, '
                                             'shop.done, order, disk.read\n')
    assert 'there are disk.read, ' in told('--json', '-e', 'dsk.*')
    assert 'give -e several times' in told('-e', 'order,shop.order')
    assert told('-e', 'shop.ordre', '-e', 'ordr').count('\n') == 2
    assert 'the log has 100\n' in told('--pid', 9) and 'the log has 100\n' in told('--tid',
        9) and 'the log has main\n' in told('--thread', 'b')
    assert 'from 0.1' in told('--from', '5s', status=0) and 'all of the options together' in told('-e', 'order', '-e',
        '!o*', status=0)
    assert '--from 2s is not before --to 1s' in told('--from', '2s', '--to', '1s', status=2)
    assert '--from 2s is not before --until 1s' in told('--from', '2s', '--until', '1s', status=2)
    assert 'no event is before --until; the log has' in told('--until', '1ns', status=0)
    assert run('--no-header', made('none.log', (1, 'posix_trace_start')), system=False,
               messages='posixtrace report: the log has no events\n') == ''
    # One of two is there.
    assert lines('--fields', 'event', '-e', 'order', '-e', 'x', log,
                 messages='.*-e x: no event type has that name.*') == ['order']


def test_time_zones():
    """A time of the day is one everywhere."""
    for zone in ('UTC0', 'Europe-14', 'Here-1', 'There12'):
        for time in ('00:00', '00:30', '13:59', '23:59:59'):
            run('--from', time, '-n', 0, 'server.log', environment={'TZ': zone})
    # 22:13:20 of the 14th in Greenwich.
    assert len(lines('--from', '00:13:21', 'server.log', environment={'TZ': 'East-2'})) == 2


def made(name, *events):
    """A log with them: seconds, name of the type, and more."""
    log = Log()
    for seconds, event, *more in events:
        of_system = {'pid': 0, 'tid': 0} if event in PREDEFINED.values() else {}
        log.event(round(seconds * 10**9), event, **{**of_system, **(more[0] if more else {})})
    log.segment()
    Path(name).write_bytes(log.closed())
    return name


def made_loss():
    """Events from 0.1 s to 0.9 s, and from 1.5 s on; what was between them has been lost."""
    return made('loss.log', *((i / 10, 'a') for i in range(1, 10)), (0.9, PREDEFINED[OVERFLOW]),
                (1.5, PREDEFINED[RESUME]), (1.6, 'b'), (2, 'b'))


def test_losses():
    log, lost = made_loss(), '   0.900000000 -- events lost for 600 ms --'
    assert lost in lines(log)
    for some, shown in ((['--from', '1s'], True), (['--from', '1s', '--to', '1.2s'], True), (['--to', '1s'], True),
                        (['--from', '1.5s'], False),
                        (['--from', '1.6s'], False), (['--to', '0.9s'], False),
                        (['--from', '0.9s', '--to', '0.91s'], True)):
        assert (lost in lines(*some, log)) == shown, some
    assert lines('--from', '1s', '--fields', 'time,event', log) == [lost, '   1.600000000 b', '   2.000000000 b']
    # The gap ends far after the range.
    long = made('long.log', (0.1, 'a'), (0.9, PREDEFINED[OVERFLOW]), (90, PREDEFINED[RESUME]), (90, 'b'))
    assert lines('--from', '1s', '--to', '2s', long) == ['   0.900000000 -- events lost for 1 min 29 s --']
    # Only times leave them out of JSON.
    for some, shown in (([], 2), (['-e', 'b'], 2), (['--pid', 77], 2), (['--tid', 77], 2), (['--thread', 'x'], 2),
                        (['--from', '1s'], 1), (['--from', '1.55s'], 0)):
        objects = [json.loads(line)['event'] for line in run('--json', *some, log).splitlines()]
        assert sum(name in (PREDEFINED[OVERFLOW], PREDEFINED[RESUME]) for name in objects) == shown, (some, objects)
    # Differences refer to the event before, even if that is a hidden one.
    delta = lines('--delta', '--fields', 'time,event', log)
    assert delta[-2:] == ['   0.100000000 b', '   0.400000000 b'] == lines('--delta', '--fields', 'time,event',
        '--tail', 2, log)


def test_several():
    merged = lines('--fields', 'time,file,event', 'server.log', 'client.log')
    times = [float(line.split()[0]) for line in merged]
    assert times == sorted(times) and len(merged) == len(lines('server.log')) + len(lines('client.log'))
    # The same time: the first file comes first; the ids of types are each log's own.
    both = [line.split()[1:] for line in merged if line.lstrip().startswith('0.004000000')]
    assert both == [['server.log', 'request']] * 2 + [['client.log', 'request']]
    assert lines('server.log', 'client.log', '-n', 4) == lines('-n', 4, 'server.log', 'client.log')


def test_wrong():
    usage = r"posixtrace report: .*\nTry 'posixtrace report --help'\.\n"
    for wrong in (['--nothing'], ['-n', 'x'], ['-n'], ['--tail', '-1'], ['-n', '1', '--tail', '1'], ['--fields', 'a'],
                  ['--fields', 'time,time'],
                  ['--fields', ''], ['--json', '--fields', 'event'], ['--from', 'x'], ['--pid', 'x'],
                  ['--color', 'blue'], ['--json=1']):
        assert run(*wrong, 'server.log', status=2, messages=usage) == ''
    for wrong, why in (['--fields', ''], "--fields '': no field given"), (['--json', '--fields', 'event'],
            '--json and --fields cannot be combined'), (['-n', '-3'], '--lines -3: must be from 0 to'):
        run(*wrong, 'server.log', status=2, messages=f'posixtrace report: {why}.*\n.*\n')
    Path('empty').touch()
    Path('text').write_text('no log\n' * 100)
    for path, why in (('empty', 'the file is empty'), ('text', 'not a posixtrace log'),
                      ('.', 'neither a regular file nor a pipe'),
                      ('nothing', 'No such file or directory')):
        run(path, status=1, messages=re.escape(f'posixtrace report: {path}: {why}\n'))


def test_pipes():
    """A log may come through a pipe, whole, to each reader, and to one that reads it twice."""
    with open('server.log', 'rb') as file:
        log = file.read()

    def through(*arguments, data=log, more=()):
        with subprocess.Popen([POSIXTRACE, *arguments, '-', *more], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE,
                              env=ENVIRONMENT) as reader:
            # In pieces: no read has all of it.
            with contextlib.suppress(BrokenPipeError):
                for i in range(0, len(data), 1000):
                    reader.stdin.write(data[i:i + 1000])
                    reader.stdin.flush()
            out, err = reader.communicate(timeout=60)
            return reader.returncode, out.decode(), err.decode()

    assert through('report', '--system', '--no-header') == (0, '\n'.join(lines('server.log')) + '\n', '')
    assert through('report', '--system', '--no-header', '--tail', '3')[1].splitlines() == lines('server.log')[-3:]
    for arguments in (['stat', '--json'], ['stat', '--json', '-e', 'sql.row'], ['convert', '--to', 'csv', '-o', '-'],
                      ['check', '--json']):
        status, out, err = through(*arguments)
        done = subprocess.run([POSIXTRACE, *arguments, 'server.log'], capture_output=True, env=ENVIRONMENT, text=True)
        assert (status, out) == (done.returncode, done.stdout.replace('"server.log"', '"standard input"')), (out, err)
    assert through('view', '-o', 'piped.html')[0] == 0
    for data, why in ((b'', 'the pipe is empty'), (b'no log\n' * 100000, 'not a posixtrace log')):
        assert through('report', data=data) == (1, '', f'posixtrace report: standard input: {why}\n')
    os.mkfifo('fifo')
    with subprocess.Popen(['cp', 'server.log', 'fifo']):
        assert lines('fifo') == lines('server.log')
    # A device has no end.
    run('/dev/zero', status=1, messages='posixtrace report: /dev/zero: neither a regular file nor a pipe\n')


# -- JSON -------------------------------------------------------------------------------------------------


def test_json():
    objects = [json.loads(line) for line in run('--json', 'server.log').splitlines()]
    by_name = {object['event']: object for object in objects}
    assert by_name['sql.row']['time'] == 1700000000123456789 + 2000200 and by_name['sql.row']['relative'] == 2000200
    assert (objects[0]['filter'], objects[-1]['by_itself']) == (['request', 'line'], False)
    assert (objects[1]['filter'], objects[1]['filter_before']) == (['sql.row', 'request'], ['request', 'line'])
    assert objects[2]['fields'] == {'rows': 3, 'time': 1200}
    assert objects[5]['fields'] == {'a': -1, 'b': [-32768, 0, 32767], 'c': 0xdeadbeefcafe, 'd': 12.5, 'e': 'six',
                                    'f': -0.1, 'g': '0102030405'}
    assert [object['text'] for object in objects if 'text' in object] == ['a "line"\tof\\text\n', 'grüß',
        'x' + 100 * 'ü', 'no name', 'as far as it']
    assert bytes.fromhex([object for object in objects if len(object.get('data', '')) == 600][0]['data'])[255] == 255
    assert [object['event'] for object in objects if object.get('truncated')] == ['line']
    assert by_name['an \33[31mevil\n name']['thread'] == 'child' \
        and by_name['brace{but no layout}']['thread'] == 'work \33[2J'
    assert len(objects) == len(lines('server.log')) + 1  # a loss is two events
    # What the system does has no process, and is cut as other data is, even where nothing of it is left.
    assert not {'pid', 'tid', 'thread'} & set(by_name['posix_trace_overflow'])
    cut = made('cut.log', (0.1, 'a', {'truncated': True}),
               (0.2, PREDEFINED[START], {'data': bytes(4), 'truncated': True}), (0.3, 'a'))
    assert [json.loads(line).get('truncated') for line in run('--json', cut).splitlines()] == [True, True, None]
    # Only this event.
    assert json.loads(run('--json', '-n', 1, '-e', 'sql.row', 'server.log'))['address'] == '0x401136'


# -- Places in the program -----------------------------------------------------------------------------------


def line_of(file, mark):
    text = (HERE / file).read_text().splitlines()
    return [number for number, line in enumerate(text, 1) if line.endswith(f'/* {mark} */')][0]


def places(log, **more):
    return [re.sub(r'^\S+ *', '', line) for line in lines('--fields', 'event,symbol', '-e', 'place', log, **more)]


def expected_places():
    called, in_line = line_of('traced.c', 'called'), line_of('traced.c', 'in_line')
    return [f'called (traced.c:{called})', f'in_line (traced.c:{in_line})',
            f'traced_lib (traced_lib.c:{line_of("traced_lib.c", "traced_lib")})', f'called (traced.c:{called})']


def test_symbols():
    for program in (PIE, FIXED):
        subprocess.run([program, 'traced.log'], check=True)
        if LIBDW != 'libdw':
            found = places('traced.log', messages=r'posixtrace report: .*without libdw.*\n')
            assert re.fullmatch(rf'{re.escape(str(program))}\+0x[0-9a-f]+', found[0]), found
            continue
        assert places('traced.log') == expected_places()
        # Symbols come last by default.
        assert lines('--symbols', '--fields', 'event', 'traced.log') == lines('--fields', 'event,symbol', 'traced.log')
        assert lines('--symbols', '--fields', 'symbol,event', 'traced.log') == lines('--fields', 'symbol,event',
            'traced.log')
        object = json.loads(run('--json', '--symbols', '-e', 'place', '-n', 1, 'traced.log'))
        assert (object['function'], object['line'], object['image']) == ('called', line_of('traced.c', 'called'),
            str(program))


def test_no_index():
    """clang writes no index of addresses. One by gcc is removed."""
    if LIBDW != 'libdw':
        return
    libraries = {'LD_LIBRARY_PATH': f'{LIBRARY.parent}:{LIBPOSIXTRACE.parent}'}
    # A program without a sanitizer does not start with a library that has one.
    if shutil.which('clang') and not re.search(rb'libasan|libtsan|libubsan', LIBPOSIXTRACE.read_bytes()):
        subprocess.run(['clang', '-g', '-O1', f'-I{HERE.parent.parent}/include', HERE / 'traced.c', LIBRARY,
                        LIBPOSIXTRACE, '-o', 'unindexed'], check=True)
        subprocess.run(['./unindexed', 'traced.log'], check=True, env={**os.environ, **libraries})
        assert places('traced.log') == expected_places()
    if shutil.which('objcopy'):
        subprocess.run(['objcopy', '--remove-section=.debug_aranges', PIE, 'unindexed'], check=True)
        subprocess.run(['./unindexed', 'traced.log'], check=True, env={**os.environ, **libraries})
        assert places('traced.log') == expected_places()


def test_loaded_late():
    """The recorder describes a process once more when it has loaded a library, and keeps the build-ids."""
    if LIBDW != 'libdw':
        return
    subprocess.run([POSIXTRACE, 'record', '-q', '-o', 'late.log', '--', LATE, LIBRARY], check=True)
    assert places('late.log') == [f'main (traced_late.c:{line_of("traced_late.c", "before")})',
                                  f'traced_lib (traced_lib.c:{line_of("traced_lib.c", "traced_lib")})',
                                  f'main (traced_late.c:{line_of("traced_late.c", "after")})']


def test_exec():
    first, second, library = '/nowhere/first+0x6136', '/nowhere/second+0x6136', \
        r'/nowhere/lib\x1b\xc2\x9b\xe2\x80\xae.so'
    # Two other processes have different files mapped at the last address.
    assert lines('--fields', 'symbol', 'exec.log',
                 messages=r'(posixtrace report: [^\n\33]*\n)+') == [' ' + place for place in [
        *[first] * 4, *[second] * 2, f'{library}+0x6fff', '0x702000', f'{library}+0x5000', '0x401136', '0x401136']]


def test_other_file():
    """Prints functions from the traced file only, and otherwise offsets in it."""
    if LIBDW != 'libdw':
        return
    shutil.copy(PIE, 'copy')
    subprocess.run(['./copy', 'traced.log'], check=True,
                   env={**os.environ, 'LD_LIBRARY_PATH': f'{LIBRARY.parent}:{LIBPOSIXTRACE.parent}'})
    here = os.path.realpath('copy')
    assert places('traced.log')[0] == expected_places()[0]
    for change, why in ((lambda: shutil.copy(FIXED, 'copy'), 'not the file that was traced'),
                        (lambda: os.unlink('copy'), 'No such file'),
                        (lambda: Path('copy').write_text('x'), 'not an ELF file'),
                        # libdw would expand it.
                        (lambda: Path('copy').write_bytes(gzip.compress(Path(PIE).read_bytes())), 'not an ELF file'),
                        # A regular file, by its mode.
                        (lambda: (os.unlink('copy'), os.symlink('/proc/cpuinfo', 'copy')), 'not a regular file'),
                        (lambda: (os.unlink('copy'), os.mkfifo('copy')), 'not a regular file')):
        change()
        found = places('traced.log', messages=rf'posixtrace report: {re.escape(here)}: no functions and source '
                                              rf'lines: {why}[^\n]*\n')
        assert re.fullmatch(rf'{re.escape(here)}\+0x[0-9a-f]+', found[0]) and found[0] == found[3], found
        assert found[2] == expected_places()[2]


def test_separate_debug_file():
    """Beside a file in a directory that others can write to, no debug file is opened: it may be a FIFO."""
    if LIBDW != 'libdw' or not shutil.which('objcopy'):
        return
    os.mkdir('beside')
    shutil.copy(PIE, 'beside/copy')
    subprocess.run(['objcopy', '--only-keep-debug', 'copy', 'copy.debug'], check=True, cwd='beside')
    subprocess.run(['objcopy', '--strip-debug', '--add-gnu-debuglink=copy.debug', 'copy'], check=True, cwd='beside')
    subprocess.run(['beside/copy', 'traced.log'], check=True,
                   env={**os.environ, 'LD_LIBRARY_PATH': f'{LIBRARY.parent}:{LIBPOSIXTRACE.parent}'})

    def first():
        done = subprocess.run([POSIXTRACE, 'report', '--symbols', '--no-header', '--fields', 'symbol', '-e', 'place',
                               '-n', '1', 'traced.log'],
                              capture_output=True, text=True, timeout=20, env=ENVIRONMENT, stdin=subprocess.DEVNULL)
        assert done.returncode == 0 and done.stderr == '', done
        return done.stdout.strip()

    assert first() == expected_places()[0].strip()
    os.chmod('beside', 0o777)
    # The file itself has names of functions, and no lines.
    assert re.fullmatch(r'called\+0x[0-9a-f]+ \(.*\)', first()), first()
    os.unlink('beside/copy.debug')
    os.mkfifo('beside/copy.debug')
    assert re.fullmatch(r'called\+0x[0-9a-f]+ \(.*\)', first()), first()
    # Nor beside a link to a file in order: it is looked for where the file is.
    os.mkdir('apart')
    os.rename('beside/copy', 'apart/copy')
    os.symlink('../apart/copy', 'beside/copy')
    assert re.fullmatch(r'called\+0x[0-9a-f]+ \(.*\)', first()), first()
    subprocess.run(['objcopy', '--only-keep-debug', PIE, 'apart/copy.debug'], check=True)
    assert first() == expected_places()[0].strip()


def test_file_of_another_user():
    """Copies a file of another user instead of mapping it: the owner may truncate or change it at any time."""
    if LIBDW != 'libdw' or os.geteuid() != 0:
        return
    shutil.copy(PIE, 'theirs')
    subprocess.run(['./theirs', 'traced.log'], check=True,
                   env={**os.environ, 'LD_LIBRARY_PATH': f'{LIBRARY.parent}:{LIBPOSIXTRACE.parent}'})
    os.chown('theirs', 65534, 65534)
    assert places('traced.log') == expected_places()
    out, full = os.pipe()
    os.set_blocking(full, False)
    try:
        while True:
            os.write(full, b'x' * 4096)
    except BlockingIOError:
        os.set_blocking(full, True)
    with subprocess.Popen([POSIXTRACE, 'report', '--symbols', 'traced.log'], stdout=full, env=ENVIRONMENT,
                          stdin=subprocess.DEVNULL) as report:
        asleep, deadline = 0, time.monotonic() + 30
        while asleep < 5 and time.monotonic() < deadline:
            asleep = asleep + 1 if Path(f'/proc/{report.pid}/stat').read_text().rsplit(')',
                1)[1].split()[0] == 'S' else 0
            time.sleep(0.01)
        maps = Path(f'/proc/{report.pid}/maps').read_text()
        os.truncate('theirs', 0)
        os.close(full)
        while os.read(out, 1 << 16):
            pass
        assert report.wait() == 0
    os.close(out)
    assert '/memfd:posixtrace' in maps and os.path.realpath('theirs') not in maps, maps


# -- Pipes and terminals ------------------------------------------------------------------------------------------


def test_closed_early():
    for ignored in (False, True):
        report = subprocess.Popen([POSIXTRACE, 'report', 'many.log'], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  env=ENVIRONMENT,
                                  preexec_fn=lambda: signal.signal(signal.SIGPIPE,
                                      signal.SIG_IGN if ignored else signal.SIG_DFL), restore_signals=False)
        assert report.stdout.readline().startswith(b'# many.log: ')
        report.stdout.close()
        assert report.stderr.read() == b''
        report.stderr.close()
        assert report.wait() == -signal.SIGPIPE


def test_full_disk():
    with open('/dev/full', 'w') as full:
        done = subprocess.run([POSIXTRACE, 'report', 'many.log'], stdout=full, stderr=subprocess.PIPE, env=ENVIRONMENT)
    assert done.returncode == 1 and done.stderr == b'posixtrace report: standard output: No space left on device\n'
    for said in ('--version', '--help', 'help'):
        with open('/dev/full', 'w') as full:
            done = subprocess.run([POSIXTRACE, said], stdout=full, stderr=subprocess.PIPE, env=ENVIRONMENT)
        assert done.returncode == 1 and done.stderr == b'posixtrace: standard output: No space left on device\n', done


def on_terminal(*arguments, status=0, **environment):
    """What comes to a terminal."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(POSIXTRACE, [POSIXTRACE, 'report', *arguments], {**ENVIRONMENT, **environment})
    text = b''
    try:
        while piece := os.read(terminal, 65536):
            text += piece
    except OSError:
        pass
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == status, text
    return text.decode()


def test_terminal():
    if not has_terminals():
        print('no terminals here, so none is tried')
        return
    assert on_terminal('client.log', PAGER='sed s/^/paged:/').count('paged:') == 4
    assert 'paged:' not in on_terminal('client.log', '--no-pager', PAGER='sed s/^/paged:/')
    assert '\33[1mrequest\33[0m' in on_terminal('client.log', PAGER='cat')
    for plain in ({'NO_COLOR': '1'}, {'TERM': 'dumb'}):
        assert '\33' not in on_terminal('client.log', PAGER='cat', **plain)
    assert '\33' not in on_terminal('client.log', '--color=never', '--no-pager')
    assert '\33' not in run('client.log')
    # A pager that does not exist, with any amount of output; and one that exits early.
    for log in ('client.log', 'many.log'):
        assert 'posixtrace report: the pager $PAGER cannot be executed' in on_terminal(log, PAGER='/nowhere/pager',
            status=1)
    assert len(on_terminal('many.log', PAGER='head -n 3', status=-signal.SIGPIPE).splitlines()) == 3
    assert '# client.log' in on_terminal('client.log', PAGER='sed q; exit 3')


def test_many():
    # More than fits in the buffer: nothing is missing between its parts.
    expected = ''.join(f'   0.{time:09} line\n' for time in range(0, 10000000, 10))
    assert run('--fields', 'time,event', '--no-header', 'many.log') == expected


def prepare():
    for kind in ('server', 'client', 'hole', 'open', 'i386', 'exec', 'many'):
        subprocess.run([REPORT_LOGS, kind, f'{kind}.log'], check=True)


scene.Suite(globals()).main(prepare)
