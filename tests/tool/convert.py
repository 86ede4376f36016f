#!/usr/bin/env python3
#
# convert.py - posixtrace convert: what all formats have in common, JSON lines and tables
#
#     convert.py POSIXTRACE REPORT_LOGS
#
# SPDX-License-Identifier: MIT

import csv
import io
import json
import os
import pty
import re
import resource
import signal
import stat
import struct
import subprocess
import sys
import time
from pathlib import Path

import scene
from made_log import Log, typed_log
from scene import ENVIRONMENT, has_terminals

POSIXTRACE, REPORT_LOGS = (os.path.abspath(argument) for argument in sys.argv[1:3])


def run(command, *arguments, status=0, **more):
    system = ['--system'] if command in ('convert', 'report', 'stat') else []
    out, messages = scene.run(POSIXTRACE, command, *system, *arguments, status=status, **more)
    return out.decode(), messages.decode()


def report(*arguments):
    return [json.loads(line) for line in run('report', '--json', *arguments)[0].splitlines()]


def leftovers():
    return [name for name in os.listdir() if name.startswith('.')]


# -- JSON lines ----------------------------------------------------------------------------------------


def test_jsonl():
    for logs in ['server.log'], ['server.log', 'client.log'], ['-e', 'sql.*', 'server.log'], ['hole.log']:
        text, message = run('convert', '--to', 'jsonl', '-o', '-', *logs)
        assert text == run('report', '--json', *logs)[0]
        assert f'standard output: {len(text.splitlines())} events' in message, message


def test_hostile_characters():
    """No control character is written as it is, and no byte that is not UTF-8: files of stacks become SVG files."""
    log = Log()
    stack = 'cut:bool,kernel:u16,count:u16,stack:a64[count]}'
    log.declare('linux_kernel_function', '{packed;address:x64,size:u64,name:z}')
    log.declare('linux_sample', '{packed;cpu:u32,' + stack)
    thread = 'a\x9b31m\x1b;b\x7f'
    log.event(1, 'linux_kernel_function', thread=thread,
              data=struct.pack('<QQ', 4096, 64) + b'f\xff\xc2\x9b\xc3\xa9\n\0')
    log.event(2, 'linux_sample', thread=thread, data=struct.pack('<IBHHQ', 0, 0, 1, 1, 4096))
    log.segment()
    Path('hostile.log').write_bytes(log.out)
    text = run('convert', '--to', 'folded', '-o', '-', 'hostile.log')[0]
    assert text == 'a?31m?:b?;f??\u00e9?_[k] 1\n', ascii(text)
    text = run('report', '--json', 'hostile.log')[0]
    assert [e['thread'] for e in map(json.loads, text.splitlines())] == [thread] * 2
    assert not re.search('[\0-\x09\x0b-\x1f\x7f-\x9f]', text), ascii(text)


# -- Tables --------------------------------------------------------------------------------------------


def table(*arguments):
    return [*csv.DictReader(io.StringIO(run('convert', '--to', 'csv', '-o', '-', *arguments)[0], newline=''))]


def cell(value, declared=None):
    if isinstance(value, list):
        return ' '.join(map(cell, value))
    return repr(value) if isinstance(value, float) else str(value)


def compare_fields(event, row, what):
    for name, value in event.get('fields', {}).items():
        column = row['fields.' + name if 'fields.' + name in row else name]
        if isinstance(value, float) or (isinstance(value, int) and column.startswith('0x')):
            assert float(column) == value if isinstance(value, float) else int(column, 16) == value, what
        else:
            assert column == cell(value), (name, what)


def test_csv():
    for logs in ['server.log'], ['client.log'], ['i386.log'], ['open.log'], ['server.log', 'client.log']:
        events, rows = report(*logs), table(*logs)
        assert len(events) == len(rows) > 0
        for event, row in zip(events, rows):
            what = (event, row)
            assert int(row['time']) == event['time'] and int(row['relative']) == event['relative'], what
            for key in 'pid', 'tid', 'thread', 'event', 'address', 'file':
                assert row.get(key, '') == str(event.get(key, '')), what
            assert row['truncated'] == str(int(event.get('truncated', False))), what
            compare_fields(event, row, what)
            if 'data' in event:
                assert row['text'].rstrip('\0') == event['text'] if row['text'] else row['data'] == event['data'], what


def test_csv_typed():
    Path('typed.log').write_bytes(typed_log())
    rows = table('typed.log')
    names = 'sizes', 'state', 'states', 'mode', 'ok', 'when', 'where', 'hash', 'fields.text'
    assert [rows[0][name] for name in names] == ['', 'new', 'on off', 'gift|fragile', 'true',
                                                 '2026-11-21T21:05:05.123Z', '0x401136', 'fffe', 'ab'], rows[0]
    assert [rows[1][name] for name in names[:4]] == ['7 65535', '5', '2 on', '0x0'], rows[1]
    assert [rows[3][name] for name in ('item', 'n', 'sizes', 'state', 'data')] == ['tea', '2', '7', '', 'ff']


def test_csv_columns():
    text, _ = run('convert', '--to', 'csv', '-o', '-', '-e', 'sql.row', 'server.log')
    assert text.splitlines()[0] == 'time,relative,pid,tid,thread,event,address,truncated,text,data,rows,fields.time'
    assert ',3,1200' in text.splitlines()[1]


def test_csv_system_in_words():
    rows = table('server.log')
    assert [row['text'] for row in rows if row['event'] == 'posix_trace_start'][0] == 'without request, line'


def test_csv_odd_names():
    log = Log()
    log.event(1, 'a{x:u8,x:u8}', data=b'\1\2')
    log.event(2, 'b{a,b:u8}', data=b'\3')
    log.event(3, 'c{"q":u8,pid:u8}', data=b'\4\5')
    log.event(4, 'name, with "quotes"', thread='t,h')
    log.event(5, 'd{x:u8}', data=b'\6\7')
    log.event(6, b'no \xff UTF-8\xc3', data=b'')
    log.event(7, 'e{s:s}', data=b'\xc3\xa4\xe4"')
    log.segment()
    Path('odd.log').write_bytes(log.closed())
    rows = table('odd.log')
    assert rows[0]['data'] == '0102' and rows[0]['x'] == ''  # nobody could tell them apart
    assert rows[1]['event'] == 'b{a,b:u8}' and rows[1]['data'] == '03'
    assert rows[2]['"q"'] == '4' and rows[2]['fields.pid'] == '5' and rows[2]['pid'] == '100'
    assert rows[3]['event'] == 'name, with "quotes"' and rows[3]['thread'] == 't,h'
    assert rows[4]['x'] == '6' and rows[4]['data'] == '07'  # more than is declared
    assert rows[5]['event'] == 'no \ufffd UTF-8\ufffd' and rows[6]['s'] == 'ä\ufffd"'


def test_csv_no_formulas():
    log = Log()
    begins = ['=', '+', '-', '@', "'", '\t', '\r', '\n', '\uff1d', '\uff0b', '\uff0d', '\uff20']
    formulas = [begin + 'cmd|"/C calc"!A1' for begin in begins] + ['=1', '-', '@SUM(1)']
    harmless = ['a=1', ' ', '', '1+1', '\uff1c', '(=1)']
    for i, text in enumerate(formulas + harmless):
        log.event(i, 'typed{s:s}', data=text.encode())
    log.event(100, '=1+1', thread='@thread')
    log.event(101, 'plain', data=b'=2+2\0')
    log.event(102, 'numbers{i:i32,f:f64,a:i8[2],=x:u8}', data=struct.pack('<i4xdbbB', -5, -0.5, -1, -2, 3))
    log.segment()
    Path('=formulas.log').write_bytes(log.closed())
    rows = table('./=formulas.log', './=formulas.log')
    assert all(row['file'] == './=formulas.log' for row in rows)
    rows = table('=formulas.log')
    assert [row['s'] for row in rows[:len(formulas)]] == ["'" + text for text in formulas]
    assert [row['s'] for row in rows[len(formulas):-3]] == harmless
    assert rows[-3]['event'] == "'=1+1" and rows[-3]['thread'] == "'@thread" and rows[-2]['text'] == "'=2+2"
    # Numbers are numbers.
    assert (rows[-1]['i'], rows[-1]['f'], rows[-1]['a']) == ('-5', '-0.5', '-1 -2')
    assert {row['file'] for row in table('=formulas.log', './=formulas.log')} == {"'=formulas.log", './=formulas.log'}
    # A cell of a header is as any other.
    assert not [name for name in rows[0] if name[0] in '=+-@']


def test_csv_many_columns():
    log = Log()
    for i in range(300):
        log.event(i, f't{i}{{' + ','.join(f'{chr(97 + k)}{i}:u8' for k in range(4)) + '}', data=bytes(range(4)))
    log.segment()
    Path('wide.log').write_bytes(log.closed())
    rows = table('wide.log')
    assert len(rows) == 300 and len(rows[0]) == 10 + 1024
    assert rows[0]['d0'] == '3' and rows[0]['data'] == ''
    assert rows[299]['data'] == '00010203'


# -- What they have in common ------------------------------------------------------------------------------


def test_output():
    assert re.fullmatch(r'posixtrace convert: server.csv: \d+ events, [\d.]+ KiB; events were lost at 1 place\n',
                        run('convert', '--to', 'csv', 'server.log')[1])
    assert stat.S_IMODE(os.stat('server.csv').st_mode) == 0o600
    assert run('convert', '-q', '-o', 'other.csv', 'server.log') == ('', '')
    assert Path('other.csv').read_bytes() == Path('server.csv').read_bytes()
    # An existing file is replaced, unless it is a log.
    run('convert', '-o', 'other.csv', 'client.log')
    assert Path('other.csv').read_bytes() != Path('server.csv').read_bytes()
    before = Path('client.log').read_bytes()
    for log in 'client.log', 'server.log':
        assert 'is a log' in run('convert', '--to', 'csv', '-o', 'client.log', log, status=1)[1]
    assert Path('client.log').read_bytes() == before
    assert not leftovers()


def test_output_elsewhere():
    os.mkdir('directory')
    assert 'is a directory' in run('convert', '--to', 'csv', '-o', 'directory', 'server.log', status=1)[1]
    assert 'there is no directory nowhere' in run('convert', '--to', 'csv', '-o', 'nowhere/x.csv', 'server.log',
                                                  status=1)[1]
    run('convert', '--to', 'csv', '-o', '/dev/null', 'server.log')
    assert 'No space' in run('convert', '--to', 'csv', '-o', '/dev/full', 'server.log', status=1)[1]
    os.mkfifo('fifo')
    reader = subprocess.Popen(['cat', 'fifo'], stdout=subprocess.PIPE)
    run('convert', '--to', 'csv', '-o', 'fifo', 'server.log')
    assert reader.communicate()[0].decode() == run('convert', '--to', 'csv', '-o', '-', 'server.log')[0]
    # The log may be standard input.
    run('convert', '--to', 'csv', '-o', 'stdin.csv', '-', stdin=open('server.log'))
    assert Path('stdin.csv').read_text() == run('convert', '--to', 'csv', '-o', '-', 'server.log')[0]


def test_until():
    text, _ = run('convert', '--to', 'jsonl', '-o', '-', '--from', '3ms', '--until', '6ms', 'server.log')
    assert text == run('report', '--json', '--from', '3ms', '--to', '6ms', 'server.log')[0] == run('report', '--json',
        '--from', '3ms', '--until', '6ms', 'server.log')[0]
    assert text


def test_usage():
    for arguments in [], ['--to', 'xml', 'server.log'], ['-o', 'x.xml', 'server.log'], ['--to', 'csv', '--span', 'a,b',
            'server.log'], ['--by', 'x']:
        run('convert', *arguments, status=2)
    # The table of formats has two columns, which no line is too long for.
    formats = run('convert', '--help')[0].split('--to FORMAT')[-1].split('The default is')[0].splitlines()[1:-1]
    assert len(formats) >= 6 and all(re.match(' {25}(\\w+ +|  {9})\\S', line) for line in formats), formats
    # --to is the format here.
    assert '--to 2s: must be one of ctf, perfetto, chrome, csv, jsonl or folded; ' \
           'the end of the time range is --until\n' in \
        run('convert', '--from', '1s', '--to', '2s', 'server.log', status=2)[1]
    assert '--from 2s is not before --until 1s\n' in run('convert', '--to', 'csv', '--from', '2s', '--until', '1s',
        'server.log', status=2)[1]
    assert 'No such file' in run('convert', '--to', 'csv', 'none.log', status=1)[1]
    assert 'not a posixtrace log' in run('convert', '--to', 'csv', __file__, status=1)[1]
    assert not leftovers() and not os.path.exists('none.csv')


def test_full_disk():
    if os.geteuid() != 0 or not scene.can_mount():
        return
    script = 'mkdir disk && mount -t tmpfs -o size=64k none disk && "$1" convert -o disk/out.csv many.log; echo $?; ' \
        'ls disk'
    done = subprocess.run(['unshare', '-m', 'sh', '-c', script, 'sh', POSIXTRACE], capture_output=True, env=ENVIRONMENT,
                          timeout=60)
    assert done.stdout == b'1\n' and b'No space left' in done.stderr, done


def test_limit_of_file_sizes():
    """ulimit -f is an error like a full disk, and no signal."""
    for arguments in ('convert', '--to', 'csv', '-o', 'long.csv'), ('convert', '--to', 'ctf', '-o',
            'long.ctf'), ('view', '-o', 'long.html'), ('report',):
        with open('standard', 'wb') as standard:
            done = subprocess.run([POSIXTRACE, *arguments, 'many.log'], stdout=standard, stderr=subprocess.PIPE,
                                  env=ENVIRONMENT, timeout=60,
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)))
        assert done.returncode == 1 and done.stderr.endswith(b': File too large\n') and done.stderr.count(b'\n') == 1, \
            done
        assert not leftovers()


def test_commands():
    for wrong, why in (('recrod',), "unknown command recrod; did you mean record?"), (('stats',),
            'did you mean stat?'), (('frobnicate',), 'unknown command frobnicate\n'), \
            (('-o', 'x', 'record'), 'unknown option -o; options of a command follow its name'):
        assert why in run(*wrong, status=2)[1], why


def begun(process, to):
    if to == 'ctf':
        return bool(leftovers())
    directory = f'/proc/{process.pid}/fd'
    try:
        return any(os.readlink(f'{directory}/{fd}').startswith(os.getcwd() + '/#')
                   for fd in os.listdir(directory)) or bool(leftovers())
    except OSError:
        return False


def test_interrupted():
    """Leaves no files, and ends by the signal."""
    os.mkfifo('held')
    for signal_ in signal.SIGINT, signal.SIGTERM:
        for to in 'csv', 'ctf':
            out = 'stopped.' + to
            process = subprocess.Popen([POSIXTRACE, 'convert', '-o', out, *['many.log'] * 8], stderr=subprocess.PIPE,
                                       env=ENVIRONMENT)
            end = time.monotonic() + 30
            # A directory is there from the beginning; a file has no name yet, and is among the descriptors.
            while not begun(process, to) and process.poll() is None and time.monotonic() < end:
                time.sleep(0.001)
            process.send_signal(signal_)
            process.communicate(timeout=30)
            assert process.returncode == -signal_ and not os.path.exists(out) and not leftovers(), (process.returncode,
                os.listdir())


def test_progress():
    """On a terminal only, and it goes."""
    if not has_terminals():
        return
    master, slave = pty.openpty()
    process = subprocess.Popen([POSIXTRACE, 'convert', '-o', 'seen.csv', *['many.log'] * 4], stderr=slave, stdin=slave,
                               env=ENVIRONMENT,
                               start_new_session=True, preexec_fn=lambda: __import__('fcntl').ioctl(0, 0x540e, 0))
    os.close(slave)
    shown = b''
    try:
        while more := os.read(master, 4096):
            shown += more
    except OSError:
        pass
    os.close(master)
    assert process.wait() == 0
    assert re.search(rb'\d+ %  \d+ events  \d+/s', shown), shown
    assert shown.rsplit(b'\33[K', 1)[1].startswith(b'posixtrace convert: seen.csv: '), shown


def prepare():
    for kind in 'server', 'client', 'hole', 'open', 'i386', 'many':
        subprocess.run([REPORT_LOGS, kind, kind + '.log'], check=True)


scene.Suite(globals()).main(prepare)
