#!/usr/bin/env python3
#
# view.py - posixtrace view: what is in its pages, without a browser
#
#     view.py POSIXTRACE STAT_LOG
#
# Pages are taken apart here by what tool/view/columns.h says, and compared with what report and stat say of the same
# logs. How they look and work is
# view_browser.py's.
#
# SPDX-License-Identifier: MIT

import base64
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import scene
from made_log import OVERFLOW, PREDEFINED, RESUME, START, STOP, Log
from scene import ENVIRONMENT, Suite

POSIXTRACE, STAT_LOG = (Path(path).resolve() for path in sys.argv[1:3])
TRUNCATED, DAMAGED, WORDS = 1, 2, 4
NAMES = {name: number for number, name in PREDEFINED.items()}


def run(*arguments, messages='.*', **more):
    out, err = scene.run(POSIXTRACE, 'view', '--system', *arguments, **more)
    assert re.fullmatch(messages, err.decode(), re.S), f'{arguments}: {err.decode()}'
    return out


def tell(command, *arguments):
    return subprocess.run([POSIXTRACE, command, '--json', '--system', *map(str, arguments)], capture_output=True,
                          env=ENVIRONMENT, check=True).stdout.decode()


# -- What is in a page -------------------------------------------------------------------------------------


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


class Page:
    def __init__(self, text):
        self.text = text.decode()
        self.blocks = {}
        for kind, packing, size, packed in \
                re.findall(r'<script type="application/octet-stream" data-kind="(\w+)" data-packing="(\w+)" '
                           r'data-size="(\d+)">([^<]*)<', self.text):
            data = base64.b64decode(packed, validate=True)
            data = zlib.decompress(data) if packing == 'deflate' else data
            assert len(data) == int(size)
            self.blocks.setdefault(kind, []).append(data)
        self.tables = json.loads(self.blocks['tables'][0])
        self.shapes = [shape for block in self.blocks.get('shapes', []) for shape in struct.iter_unpack('<6I', block)]
        self.cuts = list(struct.iter_unpack('<3I', self.blocks['cuts'][0]))
        self.events = [event for block in self.blocks.get('events', []) for event in self.unpack(block)]
        assert len(self.events) == self.tables['events'], (len(self.events), self.tables['events'])
        assert sum(len(event['data']) for event in self.events) == self.tables['bytes']

    def unpack(self, block):
        count, times, shapes, data, base = struct.unpack_from('<4Id', block)
        time_at, shape_at, data_at, time = 24, 24 + times, 24 + times + shapes, int(base)
        assert len(block) == data_at + data
        for _ in range(count):
            step, time_at = varint(block, time_at)
            time += -(step + 1) // 2 if step % 2 else step // 2
            shape, shape_at = varint(block, shape_at)
            thread, kind, place, flags, length, whole = self.shapes[shape]
            log, pid, tid, name = self.tables['threads'][thread]
            yield {'time': time, 'type': self.tables['types'][kind], 'log': log, 'pid': pid, 'tid': tid, 'thread': name,
                   'data': block[data_at:data_at + length],
                   'place': self.tables['places'][place - 1] if place else None, 'flags': flags, 'whole': whole}
            data_at += length


def page_of(*arguments, **more):
    return Page(run('-o', '-', *arguments, **more))


def write(name, log):
    Path(name).write_bytes(log)
    return name


def of_system(log, time, number, data=b''):
    log.event(time, PREDEFINED[number], pid=0, tid=0, data=data)


def shop(name='shop.log', host='host', created=1_600_000_000_000_000_000):
    """Two processes, a declared layout, a loss, a damaged part, an event that is late."""
    log = Log(name='shop', host=host, created=created)
    log.process(100, '/usr/bin/shop')
    log.event(1000, 'sale{items:u32,took:u64/us}', data=struct.pack('<IIQ', 3, 0, 1500))
    log.event(2000, 'sale.begin', tid=101, thread='till', data=b'customer 7')
    log.event(1990, 'sale.begin', tid=100)
    log.event(7000, 'sale.end', tid=101, thread='till', truncated=True, data=bytes(range(40)))
    log.segment()
    log.event(8000, 'sale.begin', pid=200, tid=200, thread='office')
    of_system(log, 9000, OVERFLOW)
    of_system(log, 11000, RESUME)
    log.event(12000, 'sale.end', pid=200, tid=200, thread='office')
    log.segment(lost=5)
    log.event(13000, 'sale', data=bytes(16))
    log.segment(damaged=True)
    log.event(20000, 'sale.begin', tid=101, thread='till')
    of_system(log, 21000, STOP, struct.pack('=i', 1))
    of_system(log, 25000, START, struct.pack('=Q248x', 0x7465736576652131))  # a set as logs of 2026 have it
    log.event(26000, 'sale.end', tid=101, thread='till')
    log.segment()
    return write(name, log.closed(lost=5))


def same(page, *arguments):
    """As report --json says, in its order."""
    lines = [json.loads(line) for line in tell('report', *arguments).splitlines()]
    assert len(lines) == len(page.events), (len(lines), len(page.events), arguments)
    for line, event in zip(lines, page.events):
        found = event['time'], event['type']['name'], event['pid'] if event['tid'] else None, event['tid'] or None, \
            bool(event['flags'] & TRUNCATED)
        assert found == (line['relative'], line['event'], line.get('pid'), line.get('tid'),
                         line.get('truncated', False)), (found, line)
        assert not event['tid'] or event['thread'] == line['thread']
        if 'data' in line:
            assert event['data'].hex() == line['data'][:2 * 4096] and event['whole'] == len(line['data']) // 2
        if line.get('fields', {}).get('items') is not None:
            assert struct.unpack_from('<I', event['data'])[0] == line['fields']['items']


# -- Tests -----------------------------------------------------------------------------------------------------


def test_help():
    assert run('--help').startswith(b'usage: posixtrace view ')


def test_events():
    same(page_of(shop()), 'shop.log')
    shop('other.log', host='other', created=1_600_000_000_000_003_333)
    page = page_of('shop.log', 'other.log')
    same(page, 'shop.log', 'other.log')
    assert [log['machine'] for log in page.tables['logs']] == [0, 1] and page.tables['begin'] == '1600000000000000000'
    assert len({type['name'] for type in page.tables['types']}) == len(page.tables['types']), 'a type of both is one'
    same(page_of('-e', 'sale*', '-e', '!sale.end', 'shop.log'), '-e', 'sale*', '-e', '!sale.end', 'shop.log')
    same(page_of('--tid', 101, 'shop.log'), '--tid', 101, 'shop.log')
    same(page_of('--from', '7us', '--to', '20us', 'shop.log'), '--from', '7us', '--to', '20us', 'shop.log')


def test_real_log():
    subprocess.run([STAT_LOG, 'real.log', '3', '20000'], stdout=subprocess.DEVNULL, check=True)
    page = page_of('real.log')
    assert len(page.blocks['events']) > 1, 'more than one block'
    same(page, 'real.log')
    assert {(span.get('name'), span['begin'], span['end'])
            for span in page.tables['spans']} == {('job', 'job.begin', 'job.end')}
    assert page_of('--no-pairs', 'real.log').tables['spans'] == []


def test_symbols():
    page = page_of('real.log')
    names = {event['place'].get('function') for event in page.events if event['place']} | {event['place'].get('image')
        for event in page.events if event['place']}
    assert any(name and 'stat_log' in name or name in ('run', 'recurse') for name in names), names
    assert all(not event['place'] or 'text' not in event['place']
               for event in page_of('--no-symbols', 'real.log').events)


def test_losses():
    page = page_of(shop())
    stat = json.loads(tell('stat', 'shop.log'))['files'][0]
    begin = stat['created']
    assert page.tables['logs'][0]['gaps'] == [[hole['from'] - begin, hole['until'] - begin if hole['until'] else None,
                                               hole['reason']] for hole in stat['holes']]
    assert len(page.tables['logs'][0]['gaps']) == 3, page.tables['logs'][0]['gaps']
    assert page.tables['logs'][0]['about']['lost'] == 5 == stat['lost']
    flags = [(event['type']['name'], bool(event['flags'] & DAMAGED)) for event in page.events
             if event['type']['name'] in (PREDEFINED[OVERFLOW], PREDEFINED[RESUME])]
    assert flags == [(PREDEFINED[OVERFLOW], False), (PREDEFINED[RESUME], False), (PREDEFINED[OVERFLOW], True),
                     (PREDEFINED[RESUME], True)]
    # Nothing goes on beyond: the two beginnings of losses, and the start behind the stop; also where they were filtered
    # out.
    position = [i for i, event in enumerate(page.events)
                if event['type']['name'] in (PREDEFINED[OVERFLOW], PREDEFINED[START])]
    assert page.cuts == [(i, 0, 0) for i in position]
    filtered = page_of('-e', 'sale.*', 'shop.log')
    assert filtered.cuts[-1] == (len(filtered.events) - 1, 0, 1), 'in front of the last end'


def test_system_words():
    words = {event['type']['name']: event['data'] for event in page_of(shop()).events if event['flags'] & WORDS}
    assert words == {PREDEFINED[STOP]: b'by itself: it is full', PREDEFINED[START]: b''}


def test_spans_asked_for():
    page = page_of('--span', 'sale.b*,*.end', '--span', 'sale,sale', '--by', 'process', '--nested', shop())
    names = [type['name'] for type in page.tables['types']]
    spans = [{**span, 'from': [names[i] for i in span['from']], 'to': [names[i] for i in span['to']]}
             for span in page.tables['spans']]
    assert spans == [{'begin': 'sale.b*', 'end': '*.end', 'by': 'process', 'nested': True, 'from': ['sale.begin'],
                      'to': ['sale.end']},
                     {'begin': 'sale', 'end': 'sale', 'by': 'process', 'nested': True, 'from': ['sale'],
                      'to': ['sale']}], spans


def test_limit():
    everything = page_of(shop())
    page = page_of('--limit', 4, 'shop.log', messages='.*the first 4 of 14 events are in the page.*')
    assert page.events == everything.events[:4] and (page.tables['wanted'], page.tables['last']) == (14, False)
    page = page_of('--limit', 4, '--last', 'shop.log', messages='.*the last 4 of 14 events.*')
    assert [event['time'] for event in page.events] == [event['time']
        for event in everything.events[-4:]] and page.tables['last']
    messages = r'[^\n]*damaged: 1 event is missing[^\n]*\n[^\n]*14 events[^\n]*\n'
    assert page_of('--limit', 14, 'shop.log', messages=messages).tables['wanted'] == 14


def test_long_data():
    log = Log()
    log.event(1, 'long', data=b'x' * 60000)
    log.segment()
    event, = page_of(write('long.log', log.closed())).events
    assert event['data'] == b'x' * 4096 and event['whole'] == 60000


def test_hostile_names():
    evil = '</script><img src=x onerror=alert(1)>'
    log = Log(name='<!-- ' + evil, host='"\'\n\x1b[31m')
    log.process(100, '/bin/' + evil)
    log.event(1, evil, thread='<b>\u202e</b>', data=b'</script><script>alert(2)</script>\xff')
    log.event(2, 'f{</script>:u8}')
    log.segment()
    page = page_of('--title', evil, write('evil.log', log.closed()))
    # Nothing of a log is in the page as text.
    assert 'onerror' not in page.text and 'alert(' not in page.text \
        and page.text.count('</script>') == page.text.count('<script')
    same(page, 'evil.log')
    assert page.tables['title'] == evil and page.tables['logs'][0]['processes'][0][1] == '/bin/' + evil


def test_extremes():
    log = Log()
    log.event(0, 'a')
    log.event(2**62, 'b')
    log.segment()
    page = page_of(write('far.log', log.closed()))
    assert [event['time'] for event in page.events] == [0, 2**62]
    empty = page_of(write('empty.log', Log().closed()))
    assert empty.events == [] and empty.tables['logs'][0]['gaps'] == []
    assert page_of('-e', '!*', 'shop.log', messages='.*: 4 events\n').tables['events'] == 4, 'losses are always there'


def test_nothing_there():
    shop()
    for arguments in (['-e', 'sael'], ['--span', 'sale.begin,sael.end']):
        run('-o', 'nothing.html', *arguments, 'shop.log', status=1,
            messages='.*: no event type has that name; there are sale.*')
        assert not Path('nothing.html').exists()


def test_damaged_files():
    data = Path(shop()).read_bytes()
    for at in range(64, len(data), 97):
        Path('cut.log').write_bytes(data[:at])
        done = subprocess.run([POSIXTRACE, 'view', '--system', '-o', 'cut.html', 'cut.log'], capture_output=True,
                              env=ENVIRONMENT)
        assert done.returncode in (0, 1), done
        if done.returncode == 0:
            same(Page(Path('cut.html').read_bytes()), 'cut.log')


def test_page_alone():
    """Checks that the page loads nothing from elsewhere, and runs no other script."""
    text = page_of(shop()).text
    outside = re.sub(r'<script type="application/octet-stream".*?</script>', '', text)
    assert not re.search(r'https?:|//[a-z]+\.|@import|\bsrc=|\bhref=|url\('
                         r'|XMLHttpRequest|fetch\(|WebSocket|importScripts', outside)
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)[1]
    assert policy.startswith("default-src 'none'; script-src 'sha256-") and 'unsafe' not in policy


def test_output():
    shop()
    message = (r'[^\n]*damaged: 1 event is missing[^\n]*\nposixtrace view: shop\.html: 14 events, [0-9.]+ KiB; '
               r'open it in a browser:\n  file:///.*/shop\.html\n')
    run('shop.log', messages=message)
    first = Path('shop.html').read_bytes()
    assert Path('shop.html').stat().st_mode & 0o777 == 0o600
    run('shop.log', messages=message)
    assert Path('shop.html').read_bytes() == first, 'a page is replaced, and the same log gives the same'
    shutil.copy('shop.log', 'posixtrace.log')
    run(messages='.*posixtrace.html.*')
    with open('shop.log') as file:
        run('-', stdin=file)
    shutil.copy('shop.log', 'a trace')
    run('a trace', messages='.*a%20trace.html\n')
    assert sorted(path.name for path in Path('.').glob('.*')) == []


def test_what_is_not_overwritten():
    shop()
    Path('letter.html').write_text('dear')
    run('-o', 'letter.html', 'shop.log', status=1,
        messages=r'posixtrace view: letter\.html already exists, .*--force replaces it\n')
    assert Path('letter.html').read_text() == 'dear'
    run('-f', '-o', 'letter.html', 'shop.log')
    assert Page(Path('letter.html').read_bytes()).events
    shutil.copy('shop.log', 'kept.log')
    for option in ([], ['-f']):
        run(*option, '-o', 'kept.log', 'shop.log', status=1,
            messages=r'posixtrace view: kept\.log is a log, which is never overwritten.*')
    assert Path('kept.log').read_bytes() == Path('shop.log').read_bytes()
    assert sorted(path.name for path in Path('.').glob('.*')) == []


def test_trouble():
    usage = r"posixtrace view: .*\nTry 'posixtrace view --help'\.\n"
    for wrong in (['--nothing'], ['--limit', '0'], ['--limit', 'x'], ['--span', 'a'], ['--by', 'what'],
                  ['--from', 'never']):
        run(*wrong, 'shop.log', status=2, messages=usage)
    run('absent.log', status=1, messages=r'posixtrace view: absent\.log: No such file or directory\n')
    run('/dev/null', status=1)
    run('-o', '/no/such/place.html', 'shop.log', status=1,
        messages=r'posixtrace view: /no/such/place\.html: there is no directory /no\n')
    run('-o', '/dev/full', 'real.log', status=1, messages=r'posixtrace view: /dev/full: No space left on device\n')
    read, write_end = os.pipe()
    os.close(read)
    done = subprocess.run([POSIXTRACE, 'view', '-o', '-', 'real.log'], stdout=write_end, stderr=subprocess.PIPE,
                          env=ENVIRONMENT)
    os.close(write_end)
    assert done.returncode != 0
    try:
        terminal = pty.openpty()
    except OSError:
        return
    done = subprocess.run([POSIXTRACE, 'view', '-o', '-', 'shop.log'], stdout=terminal[1], stderr=subprocess.PIPE,
                          env=ENVIRONMENT)
    assert done.returncode == 1 and b'terminal' in done.stderr


def test_bounded():
    """Memory does not grow with the log: 100 MB are enough for the page of any."""
    subprocess.run([STAT_LOG, 'long.log', '4', '40000'], stdout=subprocess.DEVNULL, check=True)
    limited = ['prlimit', '--data=100000000', POSIXTRACE, 'view']
    # What has been built with a sanitizer does not even start.
    if not shutil.which('prlimit') or subprocess.run([*limited, '--help'], capture_output=True).returncode != 0:
        return
    done = subprocess.run([*limited, '--no-symbols', '-o', '/dev/null', 'long.log'], capture_output=True,
                          env=ENVIRONMENT)
    assert done.returncode == 0, done


Suite(globals()).main()
