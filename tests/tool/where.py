#
# where.py - --where selects the events that satisfy an expression, in each command that reads logs
#
#     where.py POSIXTRACE
#
# SPDX-License-Identifier: MIT

import json
import random
import struct
import sys
from pathlib import Path

import scene
from made_log import OVERFLOW, PREDEFINED, RESUME, START, Log
from scene import Suite, equal, write

POSIXTRACE = Path(sys.argv[1]).resolve()

STATES = ['idle', 'busy', 'done']


def run(command, *arguments, status=0):
    return scene.run(POSIXTRACE, command, *arguments, status=status)


def messages(command, *arguments, status):
    return run(command, *arguments, status=status)[1].decode().splitlines()


def many_log():
    """Returns a log of many random events, and what is in them."""
    chance = random.Random(1)
    log, events = Log(), []
    log.process(100, '/usr/bin/shop')
    log.process(200, '/usr/bin/till')
    log.declare('row', '{rows:u32,time:u64/us,state:u8<idle,busy,done>}')
    log.declare('key', '{packed;size:i64/B,key:z,hits:u16}')
    for n in range(2000):
        name = chance.choice(['row', 'key', 'bare'])
        pid, tid = chance.choice([(100, 100), (100, 101), (200, 200)])
        event = {'time': n * 1000, 'event': name, 'pid': pid, 'tid': tid, 'process': 'shop' if pid == 100 else 'till',
                 'thread': f'thread-{tid}', 'fields': {}}
        data = b''
        if name == 'row':
            fields = {'rows': chance.randrange(10), 'time': chance.randrange(1 << 64), 'state': chance.randrange(4)}
            data = struct.pack('<IxxxxQBxxxxxxx', *fields.values())
        elif name == 'key':
            fields = {'size': chance.randrange(-(1 << 63), 1 << 63), 'key': chance.choice(['user:1', 'user:22', 'tmp']),
                      'hits': chance.randrange(5)}
            data = b'%b%b\0%b' % (struct.pack('<q', fields['size']), fields['key'].encode(),
                                 struct.pack('<H', fields['hits']))
        else:
            fields = {}
        event['length'] = len(data)
        event['fields'] = fields
        events.append(event)
        log.event(event['time'], name, pid=pid, tid=tid, thread=event['thread'], data=data)
    log.segment()
    return log, events


EVENTS = []


def prepare():
    log, events = many_log()
    write('many.log', log.closed())
    EVENTS.extend(events)
    small = Log()
    small.declare('typed', '{a:u8,b:u8[3],raw:b[2],text:s}')
    small.event(0, PREDEFINED[START], pid=0, tid=0, data=bytes(4))
    for n in range(5):
        small.event(n, 'typed', data=bytes([n, n, n + 1, n + 2, 0, 0]) + b'text')
    small.event(10, PREDEFINED[OVERFLOW], pid=0, tid=0)
    small.event(11, PREDEFINED[RESUME], pid=0, tid=0)
    small.event(12, 'typed', data=b'\1')
    small.segment()
    write('small.log', small.closed())


def reported(*arguments):
    """Returns the relative times of the events that report prints, without losses."""
    lines = map(json.loads, run('report', '--json', *arguments)[0].decode().splitlines())
    return [line['relative'] for line in lines if line['event'] not in PREDEFINED.values()]


# An expression, and the same in Python; f: the fields, e: the event. A KeyError: the event does not have the field.
PAIRS = [
    ('rows > 5', lambda e, f: f['rows'] > 5),
    ('!(rows > 5)', lambda e, f: not f['rows'] > 5),
    ('rows in (1, 3, 5)', lambda e, f: f['rows'] in (1, 3, 5)),
    ('time > 9223372036854775808us', lambda e, f: f['time'] > 1 << 63),
    ('time > 10000000000000s', lambda e, f: f['time'] > 10**19),
    ('time % 1000 < 100us', lambda e, f: f['time'] % 1000 < 100),
    ('size < -4611686018427387904', lambda e, f: f['size'] < -(1 << 62)),
    ('size >= 0 && size < 4611686018427387904B', lambda e, f: 0 <= f['size'] < 1 << 62),
    ('state == busy', lambda e, f: f['state'] == 1),
    ('state != busy', lambda e, f: f['state'] != 1),
    ('state > done', lambda e, f: f['state'] > 2),
    ('key ~ "user:*"', lambda e, f: f['key'].startswith('user:')),
    ('key ~ "user:?"', lambda e, f: f['key'] == 'user:1'),
    ('key !~ "user:*" && hits >= 3', lambda e, f: f['key'] == 'tmp' and f['hits'] >= 3),
    ('key < "user"', lambda e, f: f['key'] == 'tmp'),
    ('event == row', lambda e, f: e['event'] == 'row'),
    ('event ~ "*e*"', lambda e, f: 'e' in e['event']),
    ('pid == 200 || tid == 101', lambda e, f: e['pid'] == 200 or e['tid'] == 101),
    ('process == till', lambda e, f: e['process'] == 'till'),
    ('thread ~ "*-10?" && process != till', lambda e, f: e['pid'] == 100),
    ('@time >= 1ms', lambda e, f: e['time'] >= 1000000),
    ('length == 0', lambda e, f: e['length'] == 0),
    ('exists(rows) || exists(hits)', lambda e, f: bool(f)),
    ('!exists(rows)', lambda e, f: 'rows' not in f),
    ('rows > 5 || event == bare', lambda e, f: f.get('rows', 0) > 5 or e['event'] == 'bare'),
    ('rows + hits > 0', lambda e, f: False),
    ('rows * 2 == 8 || hits * 2 == 8', lambda e, f: f.get('rows') == 4 or f.get('hits') == 4),
]


def holds(function, event):
    try:
        return function(event, event['fields'])
    except KeyError:
        return False


def test_report():
    for text, function in PAIRS:
        wanted = [event['time'] for event in EVENTS if holds(function, event)]
        assert text == 'rows + hits > 0' or 0 < len(wanted) < len(EVENTS), text
        equal(text, reported('--where', text, 'many.log'), wanted)
    equal('with -e', reported('-e', 'key', '--where', 'length > 0', '--pid', '100', 'many.log'),
          [event['time'] for event in EVENTS if event['event'] == 'key' and event['pid'] == 100])


def test_other_commands():
    text, function = 'rows > 5 || hits == 4', lambda e, f: f.get('rows', 0) > 5 or f.get('hits') == 4
    wanted = [event for event in EVENTS if holds(function, event)]
    found = json.loads(run('stat', '--json', '--where', text, 'many.log')[0])
    equal('stat', {row['name']: row['events'] for row in found['types']},
          {name: sum(event['event'] == name for event in wanted) for name in ('row', 'key')})
    lines = run('convert', '--to', 'jsonl', '-o', '-', '--where', text, 'many.log')[0].decode().splitlines()
    equal('convert', [json.loads(line)['relative'] for line in lines], [event['time'] for event in wanted])
    said = messages('view', '--where', text, '-o', 'many.html', 'many.log', status=0)
    equal('view', f'{len(wanted)} events' in said[0], True)


def test_two_logs():
    """The names of all logs count, and each log has its own formulas."""
    times = reported('--where', 'a == 1 || rows == 1', 'small.log', 'many.log')
    rows = [event['time'] for event in EVENTS if event['fields'].get('rows') == 1]
    equal('both', sorted(times), sorted([1, 12] + rows))


def test_losses():
    """A loss is shown whatever the expression is."""
    lines = run('report', '--no-header', '--where', 'a == 3', 'small.log')[0].decode().splitlines()
    equal('lines', len(lines), 2)
    equal('the loss', 'events lost' in lines[1], True)


def test_messages():
    for arguments, wanted in (
            (['row > 3'], ["no event type has a field 'row'; there are rows, time, key, hits, size, state",
                           '  row > 3', '  ^']),
            (['rows > 3 && stat == idle'], ["no event type has a field 'stat'; there are state, hits, rows, size, key, "
                                            "time", '  rows > 3 && stat == idle', '              ^']),
            (['key == tea'], ["no event type has a field 'tea'; there are key, time, rows, hits, size, state",
                              '  key == tea', '         ^',
                              """  if it is a text, it is written "tea", and the whole in '...' for the shell"""]),
            (['state == bussy'], ["no event type has a field or label 'bussy'; there are busy, done, idle",
                                  '  state == bussy', '           ^']),
            (['state == "bussy"'], ["no event type has a label 'bussy'; there are busy, done, idle",
                                    '  state == "bussy"', '           ^']),
            (['rows == "x"'], ['a text is compared with a number', '  rows == "x"', '  ^']),
            (['rows > 1ms'], ['a number without a unit and a duration do not go together', '  rows > 1ms', '  ^']),
            (['time > 1KiB'], ['a time and a size do not go together', '  time > 1KiB', '  ^']),
            (['@tme > 1'], ["'@tme' is none of @event, @pid, @tid, @process, @thread, @time, @length, @address and "
                            "@truncated", '  @tme > 1', '  ^'])):
        found = messages('report', '--where', *arguments, 'many.log', status=1)
        found = [line.removeprefix('posixtrace report: ').removeprefix('--where: ') for line in found]
        # The order of the names depends on how similar they are.
        equal(arguments, *(sorted(line.replace(';', ',').split(', ')) for line in (found[0], wanted[0])))
        equal(arguments, found[1:len(wanted)], wanted[1:])
    # The field exists, but not in the event types that -e selects.
    found = messages('report', '-e', 'bare', '--where', 'rows > 3', 'many.log', status=1)
    equal('-e', found[0], "posixtrace report: --where: no event type has a field 'rows'; no event type has declared "
          'fields')
    for command in ('report', 'stat', 'convert', 'view'):
        more = {'convert': ['--to', 'csv', '-o', 'none.csv'], 'view': ['-o', 'none.html']}.get(command, [])
        found = messages(command, '--where', 'rws > 3', *more, 'many.log', status=1)
        equal(command, "no event type has a field 'rws'; there are rows" in found[0], True)
    equal('nothing written', [name for name in ('none.csv', 'none.html') if Path(name).exists()], [])


def test_wrong():
    found = messages('report', '--where', 'größe > > 3\n', 'many.log', status=2)
    equal('caret', found, ["posixtrace report: --where: '>' is not a name, a number or a text",
                           'posixtrace report:   größe > > 3 ', 'posixtrace report:           ^',
                           "Try 'posixtrace report --help'."])
    found = messages('stat', '--where', 'a == 1', '--where', 'a == 2', 'many.log', status=2)
    equal('twice', 'only once' in found[0], True)


def test_text_alone():
    """A text is neither true nor false. It is said, unless a number of some event type has the same name."""
    for where, at in (('key', 0), ('!key', 1), ('rows > 3 || key', 12), ('event', 0), ('"x" || rows > 3', 0)):
        found = messages('report', '--where', where, 'many.log', status=1)
        equal(where, found, ['posixtrace report: --where: a text is not a condition: compare it, NAME == "text" or '
                             'NAME ~ "pattern"', f'posixtrace report:   {where}', f'posixtrace report:   {" " * at}^'])
    for first, second in (('z', 'u8'), ('u8', 'z')):
        log = Log()
        log.declare('one', f'{{a:{first}}}')
        log.declare('two', f'{{a:{second}}}')
        for n, name in enumerate(('one', 'two')):
            log.event(n, name, data=b'1\0' if (first, second)[n] == 'z' else b'\1')
        log.segment()
        write('both.log', log.closed())
        equal(f'{first}, {second}', reported('--where', 'a', 'both.log'), [int(second == 'u8')])


def test_array_of_another_type():
    """That a name is an array in one event type is no mistake if it is a number in another one."""
    for first, second in (('u8[2]', 'u8'), ('u8', 'u8[2]')):
        log = Log()
        log.declare('one', f'{{a:{first}}}')
        log.declare('two', f'{{a:{second}}}')
        for n, name in enumerate(('one', 'two')):
            log.event(n, name, data=b'\1\2'[:2 if (first, second)[n] == 'u8[2]' else 1])
        log.segment()
        write('both.log', log.closed())
        found = json.loads(run('stat', '--json', '--of', 'a', 'both.log')[0])
        equal(f'{first}, {second}', [row['of']['count'] for row in found['groups']], [1])


def test_null_in_text():
    """A pattern matches the whole text, as == compares it, also if there are null bytes in it."""
    log = Log()
    log.declare('note', '{text:s}')
    for n, text in enumerate((b'a', b'a\0b', b'\0z', b'a\0\0')):
        log.event(n, 'note', data=text)
    log.segment()
    write('null.log', log.closed())
    for where, wanted in (('text == "a"', [0, 3]), ('text ~ "a"', [0, 3]), ('text ~ "[a]"', [0, 3]),
                          ('text ~ "a*b"', [1]), ('text ~ "?z"', [2]), ('text ~ "[[:cntrl:]]z"', [2]),
                          ('text ~ "*"', [0, 1, 2, 3]), ('text ~ "a?b"', [1])):
        equal(where, reported('--where', where, 'null.log'), wanted)


def test_nothing():
    found = messages('report', '--where', 'rows > 99', 'many.log', status=0)
    equal('message', found[-1], 'posixtrace report: no event satisfies --where')


def test_lines():
    """A line end or a tab in a text is kept. Messages show it as a blank."""
    log = Log()
    log.declare('set', '{packed;key:z}')
    for n, key in enumerate(('new\nline', 'new line', 'a\tb', 'a b')):
        log.event(n * 1000, 'set', data=key.encode() + b'\0')
    log.segment()
    write('lines.log', log.closed())
    for where, wanted in (('key == "new\nline"', [0]), ('key\n==\t"new line"', [1]), ('key == "a\tb"', [2]),
                          ('key ~ "*\n*"', [0]), ('key in ("a b",\n"a\tb")', [2, 3])):
        equal(where, reported('--where', where, 'lines.log'), [1000 * n for n in wanted])


def test_arrays():
    equal('any', reported('--where', 'b == 3', 'small.log'), [1, 2, 3])
    equal('none', reported('--where', '!(b == 3)', 'small.log'), [0, 4])
    equal('item', reported('--where', 'b[2] == 3', 'small.log'), [1])
    equal('text', reported('--where', 'text == "text" && a < 3', 'small.log'), [0, 1, 2])
    found = messages('report', '--where', 'raw == 1', 'small.log', status=1)
    equal('bytes', 'it is bytes, for which there is only exists()' in found[0], True)


Suite(globals()).main(prepare)
