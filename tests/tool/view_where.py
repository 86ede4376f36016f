#!/usr/bin/env python3
#
# view_where.py - a search in the page of view finds what --where finds, and says the same of what is wrong
#
#     view_where.py POSIXTRACE NODE VIEW_WHERE.mjs
#
# SPDX-License-Identifier: MIT

import json
import random
import re
import struct
import subprocess
import sys
from pathlib import Path

import scene
from made_log import Log
from scene import Suite, equal, write

POSIXTRACE = Path(sys.argv[1]).resolve()
NODE, SCRIPT = sys.argv[2], Path(sys.argv[3]).resolve()

TYPES = {
    'row': '{rows:u32,time:u64/us,state:u8<idle,busy,done,in use=9>,ok:bool}',
    'key': '{packed;size:i64/B,key:z,hits:u16,rows:i16}',
    'mode': '{packed;bits:u16<read|write|all=7>,real:f64,single:f32,n:u8,list:u16[n],name:s}',
    'when': '{packed;at:t64,second:t32,raw:b[2],label:c[4],rows:f64/ms}',
}
OPERATORS = re.compile(r'&&|\|\||==|~')
WORDS = ['', 'user:1', 'user:22', 'tmp', 'größe', 'a*b', '[x]', 'ZZ', 'été', '\\']
NAMES = ['rows', 'time', 'state', 'ok', 'size', 'key', 'hits', 'bits', 'real', 'single', 'n', 'list', 'name', 'at',
         'second', 'label', 'list[0]', 'list[2]', '@time', 'event', 'pid', 'tid', 'process', 'thread', 'length',
         'address', 'truncated', '`rows`', '@pid', 'raw', 'nothing']
NUMBERS = ['0', '1', '2', '3', '7', '100', '-1', '1.5', '2e3', '0x10', '18446744073709551615', '9223372036854775808',
           '1ms', '1.5us', '2s', '4KiB', '1MB', '0.1', 'true', 'idle', 'busy', 'write', 'all', 'done']
TEXTS = ['"user:1"', '"tmp"', "'ZZ'", '"busy"', '"in use"', '"größe"', '"2026-11-26 14:30"', '"1970-01-01 00:00:01.5"',
         '"1970-01-01T00:00:01Z"', '"shop"', '"row"', '"10"', '"x\\"y"']
PATTERNS = ['"user:*"', '"*"', '"?"', '"*e*"', '"[a-u]*"', '"[!z]*"', '"t?p"', '"gr??e"', '"*\\\\**"', '"[[]x]"',
            '"[[:upper:]]*"', '"row"', '"user:[0-9]"', '"["', '"a\\*b"', '"thread-?0?"', '"*\\\\\\\\"']


# What makes sense together: numbers without a unit, durations, sizes, labels, texts.
SENSIBLE = [
    (['rows', 'hits', 'n', 'list', 'list[0]', 'real', 'single', 'pid', 'length', 'ok'],
     ['0', '1', '2', '3', '1.5', '100', '-1', 'hits', 'n', 'rows + 1', 'n * 2', '7 % 4']),
    (['time', '@time', 'at', 'second'], ['0', '1ms', '1.5us', '2s', '1500us', 'time', '@time + 1ms']),
    (['size', 'length'], ['0', '4KiB', '10B', '-1', '0x10', 'size / 2']),
    (['state'], ['idle', 'busy', '"in use"', '9', '5', 'state']),
    (['bits', 'bits & write'], ['0', 'write', 'all', '3', '7']),
    (['key', 'name', 'label', 'event', 'process', 'thread'], ['"tmp"', '"user:1"', '"ZZ"', 'event', '"shop"', 'key']),
]


SENSELESS = ('a text is not a number', 'an array needs an index, NAME[0]', 'a number with a unit has no bits',
             'it is bytes, for which there is only exists()', 'it is not an array, and has no items',
             'a time and a size do not go together', 'a text is compared with a number',
             'a number without a unit is divided by one with a unit', 'two numbers with units are multiplied',
             'a number without a unit and a duration do not go together', 'a number is compared with a pattern',
             'two arrays are compared; one of them needs an index', 'a condition is not a number',
             'has is followed by bits of the number before it',
             'a text is not a condition: compare it, NAME == "text" or NAME ~ "pattern"')


def some_text(chance):
    text = chance.choice(WORDS).encode()
    return text + b'\xff\xfe' if chance.random() < 0.1 else text


def some_data(chance, name):
    if name == 'row':
        time = chance.choice([0, 1, 1500, chance.randrange(1 << 64)])
        return struct.pack('<IxxxxQB?xxxxxx', chance.randrange(10), time, chance.choice([0, 1, 2, 5, 9]),
                           chance.random() < 0.5)
    if name == 'key':
        return struct.pack('<q', chance.choice([0, -1, 4096, chance.randrange(-(1 << 63), 1 << 63)])) + \
            some_text(chance) + struct.pack('<xHh', chance.randrange(5), chance.randrange(-3, 4))
    if name == 'mode':
        items = [chance.randrange(5) for _ in range(chance.randrange(4))]
        real = chance.choice([0.0, 0.1, 1.5, -2.0, float('nan'), float('inf'), 1e300])
        return struct.pack('<Hdf', chance.randrange(16), real, chance.choice([0.1, 1.5, -0.0])) + \
            bytes([len(items)]) + struct.pack(f'<{len(items)}H', *items) + some_text(chance)
    return struct.pack('<QI', chance.choice([0, 1_500_000_000, 1_795_700_000_000_000_000]),
                       chance.choice([0, 1, 1_795_700_000])) + bytes([1, 2]) + \
        chance.choice([b'tmp\0', b'ZZZZ', bytes(4)]) + struct.pack('<d', chance.choice([0.0, 1.5, 100.0]))


def some_log(chance):
    log = Log()
    log.process(100, '/usr/bin/shop')
    log.process(200, '/usr/bin/till')
    for name, layout in TYPES.items():
        log.declare(name, layout)
    for n in range(400):
        name = chance.choice([*TYPES, 'bare'])
        pid, tid = chance.choice([(100, 100), (100, 101), (200, 200), (300, 300)])
        data = some_data(chance, name) if name in TYPES else chance.choice([b'', b'text'])
        if chance.random() < 0.15:
            data = data[:chance.randrange(len(data) + 1)]
        log.event(n * 10000, name, pid=pid, tid=tid, thread=f'thread-{tid}', data=data)
    log.segment()
    return log


def some_value(chance, depth):
    if depth > 0 and chance.random() < 0.3:
        operator = chance.choice(['+', '-', '*', '/', '%', '&'])
        return f'({some_value(chance, depth - 1)} {operator} {some_value(chance, depth - 1)})'
    if chance.random() < 0.05:
        return '-' + chance.choice(NAMES)
    return chance.choice(NAMES if chance.random() < 0.6 else NUMBERS)


def some_condition(chance, depth):
    kind = chance.random()
    if depth > 0 and kind < 0.15:
        return f'{some_condition(chance, depth - 1)} {chance.choice(["&&", "||"])} {some_condition(chance, depth - 1)}'
    if depth > 0 and kind < 0.2:
        return f'!({some_condition(chance, depth - 1)})'
    if kind < 0.7:
        names, values = chance.choice(SENSIBLE)
        relation = chance.choice(['==', '!=', '<', '<=', '>', '>=', 'has' if 'bits' in names else '=='])
        return f'{chance.choice(names)} {relation} {chance.choice(values)}'
    if kind < 0.78:
        return f'{chance.choice(NAMES)} {chance.choice(["~", "!~"])} {chance.choice(PATTERNS)}'
    if kind < 0.81:
        return f'exists({chance.choice(NAMES)})'
    if kind < 0.84:
        return f'{chance.choice(NAMES)} in ({some_value(chance, 0)}, {chance.choice(TEXTS + NUMBERS)})'
    if kind < 0.87:
        return f'!{chance.choice(NAMES)}'
    right = chance.choice(TEXTS) if chance.random() < 0.2 else some_value(chance, depth)
    return f'{some_value(chance, depth)} {chance.choice(["==", "!=", "<", "<=", ">", ">=", "has"])} {right}'


def damaged(chance, text):
    """Returns the expression with a mistake."""
    at = chance.randrange(len(text) + 1)
    mistake = chance.choice(['(', ')', '=', '&', '"', ' in ', '1', '@', '<', '`', '['])
    return text[:at] + mistake + text[at + chance.randrange(2):]


def reported(text):
    """Returns the times of the events that report finds, or what it says is wrong: column and reason."""
    done = subprocess.run([POSIXTRACE, 'report', '--json', '--where', text, 'x.log'], capture_output=True, text=True,
                          env=scene.ENVIRONMENT, timeout=60)
    if done.returncode == 0:
        return [json.loads(line)['relative'] for line in done.stdout.split('\n') if line]
    lines = [line.removeprefix('posixtrace report: ') for line in done.stderr.splitlines()]
    assert '^' in lines[2], (text, done.stderr)
    return {'at': lines[2].index('^') - 2, 'why': lines[0].removeprefix('--where: ')}


def searched(texts):
    done = subprocess.run([NODE, SCRIPT, 'x.html'], input=json.dumps(texts), capture_output=True, text=True,
                          env=scene.ENVIRONMENT, timeout=200)
    equal(f'node {done.stderr}', done.returncode, 0)
    return json.loads(done.stdout)


def comparable(answer):
    """Of names without a meaning, report has the nearest first, and knows whether they would be labels."""
    if isinstance(answer, dict):
        # Each of the event types may have a reason of its own.
        if answer['why'] in SENSELESS:
            return {'at': answer['at']}
        why = re.sub(r"has a (?:field or label|field|label) '(.*)'; .*", r"has '\1'", answer['why'])
        return {'at': answer['at'], 'why': why}
    return answer


def test_same_as_where():
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    chance = random.Random(seed)
    write('x.log', some_log(chance).closed())
    scene.run(POSIXTRACE, 'view', '-f', '-o', 'x.html', 'x.log')
    texts = [some_condition(chance, 2) for _ in range(250)]
    texts += [damaged(chance, chance.choice(texts)) for _ in range(100)]
    # What is no expression for the page is searched for in another way.
    texts = [text if OPERATORS.search(re.sub(r'"[^"]*"?', '""', text)) else f'true && {text}' for text in texts]
    found = 0
    for text, answer in zip(texts, searched(texts)):
        wanted = reported(text)
        equal(f'seed {seed}: {text}', comparable(answer), comparable(wanted))
        found += isinstance(wanted, list) and 0 < len(wanted) < 400
    equal(f'{found} select some events', found > 80, True)


def test_words():
    """Searches that are no expressions."""
    log = Log()
    log.declare('row', '{rows:u32,path:s}')
    for n in range(6):
        log.event(n, 'row', data=struct.pack('<I', n) + b'/search')
    log.segment()
    write('x.log', log.closed())
    scene.run(POSIXTRACE, 'view', '-f', '-o', 'x.html', 'x.log')
    texts = ['rows>3', 'rows>3 row', 'rows>3 -row', 'path=/search', 'rows > 3', '-rows>3', 'rows >', 'rw > 3']
    equal('found', searched(texts), [[4, 5], [4, 5], [], [0, 1, 2, 3, 4, 5], [4, 5], [0, 1, 2, 3],
                                     {'at': 6, 'why': 'a name, a number or a text is missing at the end'},
                                     {'at': 0, 'why': "no event type has a field or label 'rw'; there are path, rows"}])


def test_odd_characters():
    """Blanks are the same, control characters are refused, and null bytes belong to a text."""
    log = Log()
    log.declare('note', '{text:s}')
    for n, text in enumerate((b'a', b'a\0b', b'\0z', 'ä'.encode())):
        log.event(n, 'note', data=text)
    log.segment()
    write('x.log', log.closed())
    scene.run(POSIXTRACE, 'view', '-f', '-o', 'x.html', 'x.log')
    texts = ['text ~ "a*b"', 'text ~ "[!a]*"', 'text == "a"', 'text\n==\t"a"', 'text\u00a0== "a"', 'text \u2003== "a"',
             'text == "a"\u00a0', 'text ==\x0b"a"', 'text == "\x7f"', 'text == "\u0085"', 'true && text', '!(event)']
    answers = searched(texts)
    for text, answer in zip(texts, answers):
        equal(repr(text), comparable(answer), comparable(reported(text)))
    equal('found', answers[:4], [[1], [2, 3], [0], [0]])


def test_patterns():
    """Patterns of many stars take no longer than others, and classes have the characters that those of C have."""
    log = Log()
    log.declare('note', '{text:s}')
    log.declare('when', '{at:t64}')
    letters = ['½', '💥', '\u00a0', '\u2003', 'ǅ', 'ª', '\u2028', 'e\u0301', '٣', 'ß', 'Ⅷ', '_', '\x85', '\x7f']
    for n, text in enumerate(['a' * 250, 'a' * 249 + 'b', 'aab', 'abab', 'ba', *letters]):
        log.event(n, 'note', data=text.encode())
    log.event(100, 'when', data=bytes(8))
    log.segment()
    write('x.log', log.closed())
    scene.run(POSIXTRACE, 'view', '-f', '-o', 'x.html', 'x.log')
    texts = [f'text ~ "{"*a" * 50}*b"', f'text ~ "{"*a" * 50}*c"', 'text ~ "a*ab"', 'text ~ "ab*ab"', 'text ~ "**b**a"',
             'text ~ "ba*ba"', 'text ~ "a*b"', 'text ~ "[[=a=]]*"', 'text ~ "[[.a.]]*b"', 'text ~ "[![=a=][.b.]]*"']
    texts += [f'text ~ "{pattern}"' for pattern in ('?', '??', '???', '????', '[!a]?', '*?½', '[½]', 'ß', '?ß', 'Ⅷ*')]
    texts += [f'text ~ "[[:{name}:]]"' for name in ('alnum', 'upper', 'lower', 'space', 'blank', 'punct', 'cntrl',
                                                    'print', 'graph', 'digit', 'xdigit')]
    texts += [f'at >= "{text}"' for text in ('5constructor', '9000000000000000000ns', '99999999999999999999s', '1.5s',
                                             '.', '5.', '.5ms', '123456789.123456789s', '9999-12-31Z')]
    for text, answer in zip(texts, searched(texts)):
        equal(repr(text), comparable(answer), comparable(reported(text)))
    equal('words', searched(['name:n' + '*o' * 100 + '*x', 'data:' + '*a' * 50 + '*b*', 'name:n*e']),
          [[], [1], list(range(19))])


Suite(globals()).main()
