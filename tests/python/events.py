#
# events.py - posixtrace.Event: every type and value, what does not fit, what is wrong
#
#     events.py POSIXTRACE PYTHON FOLDER
#
# SPDX-License-Identifier: MIT

import csv
import subprocess
import sys

from program import POSIXTRACE, events, fails, python, read
from scene import Suite, equal


def test_types():
    """Every type of a layout, and of Python."""
    equal('events', events('''
        import enum
        import posixtrace

        class How(enum.IntEnum):
            CASH = 0
            CARD = 3

        class Mode(enum.IntFlag):
            READ = 1
            WRITE = 2

        class Below(enum.Enum):
            A = -1
            B = 300

        whole = posixtrace.Event("whole", a="u8", b="u16", c="u32", d="u64", e="i8", f="i16", g="i32", h="i64")
        whole(255, 65535, 2**32 - 1, 2**53 - 1, -128, -32768, -2**31, -2**53 + 1)
        whole(0, 0, 0, 0, 127, 32767, 2**31 - 1, 2**53 - 1)
        posixtrace.Event("large", a="u64", b="i64")(2**64 - 1, -2**63)
        posixtrace.Event("hex", a="x8", b="x16", c="x32", d="x64", e="a64")(1, 2, 3, 4, 5)
        posixtrace.Event("real", a="f32", b="f64")(0.25, 0.1)
        posixtrace.Event("truth", a="bool", b="bool", c="bool")(True, 0, [1])
        posixtrace.Event("time", a="t32", b="t64", c="t64/ms")(1, 1500000000, 1.5)
        posixtrace.Event("text", a="z", b="c[4]", c="z<=8", d="s")("a", "tea", "cut off here", "the rest")
        posixtrace.Event("bytes", a="b[3]", b="b[]", c="b")(b"\\1\\2\\3", bytearray(b"\\4"), memoryview(b"\\5\\6"))
        array = posixtrace.Event("array", a="u32[]", b="i8[2]", c="f32[]", d="u16[]<=2", e="z")
        array([1, 2, 3], (-1, 1), [], [7, 8], "end")
        posixtrace.Event("labels", a="u8<idle,busy=4>", b="x16<read|write>", c="u8<idle,busy=4>")(4, 3, "busy")
        posixtrace.Event("enums", a=How, b=Mode, c=Below)(How.CARD, Mode.READ | Mode.WRITE, "A")
        posixtrace.Event("units", a="u64/ns", b="f64/%")(5, 50)
        posixtrace.Event("python", a=int, b=str, c=float, d=bool, e=bytes)(-7, "seven", 7.5, True, b"\\7")
        posixtrace.Event("none")()
        posixtrace.Event("keywords", a="u8", b="z", c="u8")(1, c=3, b="two")
        posixtrace.Event("name", name="z", self="z")(self="s", name="n")
        '''), [
        ('whole', dict(a=255, b=65535, c=2**32 - 1, d=2**53 - 1, e=-128, f=-32768, g=-2**31, h=-2**53 + 1)),
        ('whole', dict(a=0, b=0, c=0, d=0, e=127, f=32767, g=2**31 - 1, h=2**53 - 1)),
        ('large', dict(a=str(2**64 - 1), b=str(-2**63))),
        ('hex', dict(a=1, b=2, c=3, d=4, e='0x5')),
        ('real', dict(a=0.25, b=0.1)),
        ('truth', dict(a=True, b=False, c=True)),
        ('time', dict(a='1970-01-01T00:00:01Z', b='1970-01-01T00:00:01.500000000Z', c='1970-01-01T00:00:01.500Z')),
        ('text', dict(a='a', b='tea', c='cut o…', d='the rest')),
        ('bytes', dict(a='010203', n_b=1, b='04', c='0506')),
        ('array', dict(n_a=3, a=[1, 2, 3], b=[-1, 1], n_c=0, c=[], n_d=2, d=[7, 8], e='end')),
        ('labels', dict(a='busy', b='read|write', c='busy')),
        ('enums', dict(a='CARD', b='READ|WRITE', c='A')),
        ('units', dict(a=5, b=50)),
        ('python', dict(a=-7, b='seven', c=7.5, d=True, n_e=1, e='07')),
        ('none', None),
        ('keywords', dict(a=1, b='two', c=3)),
        ('name', dict(name='n', self='s')),
    ])
    # The same log in another form.
    out = subprocess.run([POSIXTRACE, 'convert', '--to', 'csv', 'x.log', '-o', '-'], capture_output=True, text=True,
                         check=True).stdout
    assert any('seven' in row for row in csv.reader(out.splitlines())), out


def test_texts():
    """Texts of all lengths around the maximum, of characters of one to four bytes, and what is no valid text."""
    values = [c * n for c in ('a', 'é', '€', '😀')
              for n in (*range(0, 12), *range(60, 66), *range(80, 90), *range(120, 130), *range(250, 260), 4000)]
    python(f'''
        import posixtrace
        text = posixtrace.Event("text", value="z", after="u8")
        for c in ("a", "é", "€", "😀"):
            for n in (*range(0, 12), *range(60, 66), *range(80, 90), *range(120, 130), *range(250, 260), 4000):
                text(c * n, 7)
        assert text.misfits == 0
        ''')
    found = [event['fields'] for event in read()]
    equal('number', len(found), len(values))
    for value, fields in zip(values, found):
        data = value.encode()
        if len(data) > 255:
            # Whole characters, and an ellipsis, in 255 bytes.
            data = data[:252].decode(errors='ignore').encode() + '…'.encode()
        equal(f'{value[:1]} * {len(value)}', fields, dict(value=data.decode(), after=7))
    equal('others', events('''
        import pathlib
        import posixtrace
        text = posixtrace.Event("text", value="z")
        text("a\\udc80b")
        text(None)
        text(pathlib.Path("/usr"))
        text(b"bytes")
        text(5)
        assert text.misfits == 0
        text("be\\0fore")
        assert text.misfits == 1
        '''), [('text', dict(value=value)) for value in ('a\\udc80b', 'None', '/usr', 'bytes', '5')] +
        [('python.misfit', dict(what='text, field value: a null in a text, which ends there')),
         ('text', dict(value='be'))])


def test_misfits():
    """A value that does not fit raises nothing, is recorded as near as possible, is counted, and reported once."""
    found = events('''
        import posixtrace

        class Bad:
            def __index__(self): raise ValueError
            def __str__(self): raise ValueError
            def __bool__(self): raise ValueError
            def __float__(self): raise ValueError
            def __len__(self): raise ValueError
            def __getitem__(self, index): raise ValueError

        class Long:
            def __len__(self): return 3
            def __getitem__(self, index): raise IndexError

        number = posixtrace.Event("number", u="u8", i="i8")
        for value in (256, -1, 2**70, -2**70, 2.7, float("nan"), float("inf"), "x", None, Bad(), [1]):
            number(value, value)
        assert number.misfits == 21, number.misfits
        wide = posixtrace.Event("wide", u="u64", i="i64")
        for value in (2**64, -1, 2**64 - 1, 1e30, -1e30, 9.3e18):
            wide(value, value)
        other = posixtrace.Event("other", f="f32", g="f64", h="bool", t="z", b="b[2]", c="u8[2]", d="u8[]", e="u8<a,b>")
        other(1e300, 10**400, Bad(), Bad(), b"1", (1, 2, 3), Bad(), "none")
        other("x", -10**400, 1, "", 5, iter([1, 2]), "text", Bad())
        other(1, 1, 1, "", b"12", Long(), range(300), 0)
        ''')
    equal('number', [tuple(fields.values()) for name, fields in found if name == 'number'],
          [(255, 127), (0, -1), (255, 127), (0, -128), (2, 2), (0, 0), (255, 127), (0, 0), (0, 0), (0, 0), (0, 0)])
    equal('wide', [tuple(map(int, fields.values())) for name, fields in found if name == 'wide'],
          [(2**64 - 1, 2**63 - 1), (0, -1), (2**64 - 1, 2**63 - 1), (2**64 - 1, 2**63 - 1), (0, -2**63),
           (int(9.3e18), 2**63 - 1)])
    first, second, third = (fields for name, fields in found if name == 'other')
    del first['f'], first['g'], second['f'], second['g']  # infinite, and no numbers
    equal('first', first, dict(h=False, t='', b='3100', c=[1, 2], n_d=0, d=[], e='a'))
    equal('second', second, dict(h=True, t='', b='0000', c=[0, 0], n_d=0, d=[], e='a'))
    equal('third', third, dict(f=1, g=1, h=True, t='', b='3132', c=[0, 0], n_d=255,
                               d=[*range(255)], e='a'))
    equal('reported', [fields['what'].split(':')[0] for name, fields in found if name == 'python.misfit'],
          ['number, field u', 'wide, field u', 'other, field f'])


def test_enums():
    """Members of all classes of enum, in fields of the class and in others; values that are no members."""
    found = events('''
        import enum
        import posixtrace

        class State(enum.Enum):
            IDLE = 0
            WAITS = 0
            BUSY = 4
        class Below(enum.Enum):
            LEAST = -3
            MOST = 70000
        class Mode(enum.Flag):
            NONE = 0
            READ = 1
            WRITE = 2
        class Truth(enum.Enum):
            NO = False
            YES = True
        class Part(enum.Enum):
            HALF = 0.5
        class Word(enum.Enum):
            TEA = "tea"
        class Own(enum.Enum):
            def __index__(self): return 9
            ONE = 1

        state = posixtrace.Event("state", s=State, b=Below, m=Mode, t=Truth)
        state(State.BUSY, Below.LEAST, Mode.READ | Mode.WRITE, Truth.YES)
        state(State.WAITS, Below.MOST, Mode.NONE, Truth.NO)
        state("BUSY", "LEAST", "WRITE", "YES")
        state(4, 70000, Mode.WRITE, True)
        assert state.misfits == 0, state.misfits
        other = posixtrace.Event("other", u="u32", i="i8[]", x="x8", f=float, g="f32", o="u8", z="z")
        other(State.BUSY, [Below.LEAST, State.BUSY], Mode.READ, Part.HALF, State.BUSY, Own.ONE, State.BUSY)
        assert other.misfits == 0, other.misfits
        other(Word.TEA, [Part.HALF], Word.TEA, 1, 1, Part.HALF, "")
        assert other.misfits == 4, other.misfits
        ''')
    equal('events', found, [
        ('state', dict(s='BUSY', b='LEAST', m='READ|WRITE', t='YES')),
        ('state', dict(s='IDLE', b='MOST', m=0, t='NO')),
        ('state', dict(s='BUSY', b='LEAST', m='WRITE', t='YES')),
        ('state', dict(s='BUSY', b='MOST', m='WRITE', t='YES')),
        ('other', dict(u=4, n_i=2, i=[-3, 4], x=1, f=0.5, g=4, o=9, z='State.BUSY')),
        ('python.misfit', dict(what='other, field u: not a number')),
        ('other', dict(u=0, n_i=1, i=[0], x=0, f=1, g=1, o=0, z=''))])


def test_digits():
    """Integers with more digits than a float has: told once, also for a counter."""
    equal('events', events('''
        import posixtrace
        real = posixtrace.Event("real", value=float)
        for value in (2**53, -2**53, 2**60, 2**53 + 1, -2**53 - 1):
            real(value)
        assert real.misfits == 2, real.misfits
        '''), [('real', dict(value=2**53)), ('real', dict(value=-2**53)), ('real', dict(value=2**60)),
                ('python.misfit', dict(what='real, field value: the number has more digits than the field')),
                ('real', dict(value=2**53)), ('real', dict(value=-2**53))])


def test_twice():
    """A name is declared twice: with the same fields, with others, and with others after nobody has recorded the first.

    What is declared by the package itself, as log(), takes another name."""
    same = 'first = posixtrace.Event("same", x="u8"); first(1); '
    fails(same + 'posixtrace.Event("same", x="u16")', 'ValueError', 'same: ', 'other fields, {packed;x:u8}')
    fails(same + 'posixtrace.Event("same")', 'ValueError', 'other fields')
    fails(same + 'posixtrace.Event("same", "counter", x="u8")', 'ValueError', 'other fields')
    fails('e = posixtrace.Event("s.begin", x="u8"); posixtrace.Span("s")', 'ValueError', 's.begin: ', 'other fields')
    fails('e = posixtrace.Event("s.end", x="u8"); posixtrace.Span("s")', 'ValueError', 's.end: ', 'other fields')
    fails('e = posixtrace.Event("none"); posixtrace.Event("none", x="u8")', 'ValueError', 'other fields, None')
    fails('posixtrace.Event("python.misfit", x="u8")', 'ValueError', 'other fields')
    equal('events', events('''
        import logging
        import posixtrace

        kept = posixtrace.Event("same", x="u8", y="z")
        posixtrace.Event("same", x="u8", y="z")(1, "a")
        del kept
        posixtrace.Event("same", x="u8", y="z")(2, "b")
        try:
            posixtrace.Event("same", x="u16")
        except ValueError:
            pass
        else:
            raise AssertionError
        for i in range(5):
            posixtrace.Event("unused", **{f"x{i}": "u8"})
        posixtrace.Event("unused", a="u8")(3)

        posixtrace.Event("log", text=str, code="u32")("hello", 7)
        posixtrace.log("message")
        logging.getLogger().addHandler(posixtrace.Handler())
        logging.warning("handled")
        posixtrace.Event("s.begin", n="u8")(1)
        with posixtrace.span("s", n=2):
            pass
        posixtrace.Event("load", n="u8")(1)
        posixtrace.counter("load", 2)
        posixtrace.Event("exact", "counter", value="u64")(2**64 - 2)
        posixtrace.counter("exact", 2**64 - 1)
        posixtrace.Event("t.begin", n="u8")(1)
        @posixtrace.traced("t")
        def f(): pass
        f()
        '''), [
        ('same', dict(x=1, y='a')), ('same', dict(x=2, y='b')), ('unused', dict(a=3)),
        ('log', dict(text='hello', code=7)),
        ('log(2)', dict(level='info', logger='', message='message')),
        ('log(2)', dict(level='warning', logger='root', message='handled')),
        ('s.begin', dict(n=1)), ('s(n:i64).begin', dict(n=2)), ('s(n:i64).end', None),
        ('load', dict(n=1)), ('load(value:f64)', dict(value=2)),
        ('exact', dict(value=str(2**64 - 2))), ('exact', dict(value=str(2**64 - 1))),
        ('t.begin', dict(n=1)), ('t().begin', None), ('t().end', None)])


def test_many_types():
    """More event types than have names: told once, and the events are recorded."""
    found = events('''
        import posixtrace
        for i in range(4200):
            posixtrace.Event(f"event {i}", n="u16")(i)
        ''', record=['-s', '16M'], messages='no room for a name')
    equal('named', sum(name.startswith('event ') for name, fields in found) > 4000, True)
    told = [fields['what'] for name, fields in found if name == 'python.misfit']
    assert len(told) == 1 and 'no room for the name' in told[0], told
    equal('number', len(found), 4201)


def test_interrupted():
    """KeyboardInterrupt in a method of a value is not lost, and records nothing. SystemExit neither."""
    equal('events', events('''
        import posixtrace
        class Stop:
            def __str__(self): raise KeyboardInterrupt
            __index__ = __str__
        event = posixtrace.Event("event", n="u8", array="u8[]", text="z")
        for arguments in ((1, [], Stop()), (Stop(), [], ""), (1, [2, Stop(), 3], "")):
            try:
                event(*arguments)
            except KeyboardInterrupt:
                print("interrupted")
        event(1, [2], "3")
        '''), [('event', dict(n=1, n_array=1, array=[2], text='3'))])


def test_changing_values():
    """Methods of values that change the list that is recorded, call the event itself, or delete it."""
    found = events('''
        import posixtrace
        class Shrinks:
            def __index__(self):
                values.clear()
                return 5
        class Calls:
            def __str__(self):
                event(array=[], text="inner", n=3)
                return "outer"
        class Deletes:
            def __str__(self):
                global event
                del event
                return "deleted"
        event = posixtrace.Event("event", n="u8", array="u8[]", text="z")
        values = [1, Shrinks(), 2, 3]
        event(1, values, "")
        event(text=Calls(), n=1, array=[])
        event(1, [], Deletes())
        ''')
    equal('events', [fields for name, fields in found if name == 'event'],
          [dict(n=1, n_array=4, array=[1, 5, 0, 0], text=''), dict(n=3, n_array=0, array=[], text='inner'),
           dict(n=1, n_array=0, array=[], text='outer'), dict(n=1, n_array=0, array=[], text='deleted')])


def test_records():
    """A record of logging that lacks a part, as programs make them by hand: the handler does not fail."""
    found = events('''
        import logging
        import posixtrace
        handler = posixtrace.Handler()
        for part in ("msg", "args", "name", "levelno", "exc_info"):
            record = logging.makeLogRecord(dict(msg=f"without {part}", name="n", levelno=logging.ERROR))
            del record.__dict__[part]
            handler.handle(record)
        ''')
    equal('records', [fields for name, fields in found if name == 'log'], [
        dict(level='error', logger='n', message=''), dict(level='error', logger='n', message='without args'),
        dict(level='error', logger='', message='without name'), dict(level=0, logger='n', message='without levelno'),
        dict(level='error', logger='n', message='without exc_info')])


def test_long():
    """Data beyond what is made on the stack."""
    found = events('''
        import posixtrace
        posixtrace.Event("long", text="z<=30000", array="u64[]<=2000", end="u8")("ab" * 10000, range(2000), 9)
        ''', record=['--max-data', '65535'])
    equal('long', found, [('long', dict(text='ab' * 10000, n_array=2000, array=[*range(2000)], end=9))])


def test_wrong():
    """What is wrong in a declaration, or in the number of arguments, is found whether the program is traced or not."""
    def event(arguments, *words, kind='ValueError'):
        fails(f'posixtrace.Event({arguments})', kind, *words)

    event('"e", a="u99"', "e: 'u99' is not a type")
    event('"e", a="int"', 'int without quotation marks')
    event('"e", a="string"', 'str without quotation marks')
    event('', 'Event(name, field=type, ...)', kind='TypeError')
    event('"e", "a", "b"', 'one or two arguments', kind='TypeError')
    event('"e", a="u8<idle"', 'e: ')
    event('"e", a=""', 'e: ')
    event('"e", a="s", b="u8"', 'is after a field that takes all the rest')
    event('"e", a="z[4]"', 'not arrays')
    event('"e", a="c[]"', 'c[]')
    event('"e", a="u8<=4"', 'only a text, bytes or an array')
    event('"e", a="z<=0"', 'from 1 to 65535')
    event('"e", a="z<=70000"', 'from 1 to 65535')
    event('"e", a="u64[]<=60000"', 'at most 65535')
    event('"e", **{"a b:": "u8"}', 'e: ')
    event('"e", **{"a" * 32: "u8"}', 'field name')
    event('"e", **{f"f{i}": "u8" for i in range(33)}', '32 fields')
    event('"e", n_a="u8", a="u8[]"', 'earlier field')
    event('"e", a="u8\\0"', 'e: ')
    event('"n" * 64', 'not a name of an event')
    event('""', 'not a name of an event')
    event('"a\\0b"', 'not a name of an event')
    event('"posix_trace_start"', 'system')
    event('"a{b:u8}", v="u8"', 'a name has no fields')
    event('"a{b:u8}"', 'a name has no fields')
    event('5', kind='TypeError')
    event('', kind='TypeError')
    event('"e", "u8"', 'an event with attributes has at least one field')
    event('"e", "u8", a="u8"', "'u8' is not an attribute")
    event('"e", "by=b", a="u8"', "'by=b' is not followed by the name of a field")
    event('"e", "counter", "counter", a="u8"', kind='TypeError')
    event('"e", a=5', 'field a: 5 is not a type', kind='TypeError')
    event('"e", a=dict', 'is not a type', kind='TypeError')
    order = 'order = posixtrace.Event("shop.order", id="u32", item="z"); '
    fails(order + 'order(1)', 'TypeError', 'shop.order has 2 fields, and 1 value was given')
    fails(order + 'order()', 'TypeError', '0 values were given')
    fails(order + 'order(1, 2, 3)', 'TypeError', '3 values')
    fails(order + 'order(1, id=2)', 'TypeError', "two values for the field 'id'")
    fails(order + 'order(1, price=2)', 'TypeError', "no field 'price'")
    fails(order + 'order(1, item=2, id=3)', 'TypeError', '3 values')
    fails('import pickle; pickle.dumps(posixtrace.Event("e"))', 'TypeError', 'pickled')


def test_itself():
    """What an Event says of itself."""
    python('''
        import copy
        import posixtrace
        e = posixtrace.Event("e", a="u8", b="u16[]")
        assert e.name == "e" and e.layout == "{packed;a:u8,n_b:u16,b:u16[n_b]}" and e.misfits == 0
        assert repr(e) == "<posixtrace.Event e {packed;a:u8,n_b:u16,b:u16[n_b]}>" and bool(e) and posixtrace.enabled()
        assert repr(posixtrace.Event("f")) == "<posixtrace.Event f>" and posixtrace.Event("f").layout is None
        assert copy.copy(e) is e and copy.deepcopy(e) is e
        for attribute in ("name", "layout", "misfits"):
            try:
                setattr(e, attribute, None)
            except AttributeError:
                continue
            raise AssertionError(attribute)
        e(1, [])
        ''')


def test_developing():
    """In -X dev the first value that does not fit is a warning, too; and an exception if warnings are."""
    text = '''
        import posixtrace
        e = posixtrace.Event("e", a="u8")
        e(256)
        e(256)
        '''
    equal('warned', events(text, options=['-X', 'dev', '-W', 'default'],
                           messages='RuntimeWarning: posixtrace: e, field a: the number does not fit',
                           environment={'PYTHONWARNINGS': ''}),
          [('python.misfit', dict(what='e, field a: the number does not fit')), ('e', dict(a=255)),
           ('e', dict(a=255))])
    python(text, options=['-X', 'dev', '-W', 'error'], status=1, messages='RuntimeWarning: posixtrace: e, field a')
    python(text, options=['-W', 'error'])


def test_references():
    """No reference is lost, and none is kept, by any way through a call."""
    python('''
        import enum
        import gc
        import posixtrace
        import sys

        class Bad:
            def __index__(self): raise ValueError
            __str__ = __index__

        e = posixtrace.Event("e", a="u8", b="z", c="u16[]", d="b[]")
        number, text, items, data, bad = 12345678, "text" * 5, [1 << 40, Bad()], b"data" * 5, Bad()
        name = "".join(["fresh", ".name"])
        objects = [number, text, items, data, bad, name, posixtrace.span]

        def calls():
            e(number, text, items, data)
            e(a=bad, b=bad, c=bad, d=bad)
            e(bad, d=data, c=items, b=text)
            for arguments, keywords in (((), {}), ((1, 2), {"x": 1, "y": 2}), ((1, 2, 3), {"a": 1})):
                try:
                    e(*arguments, **keywords)
                except TypeError:
                    pass
            posixtrace.Event(name, field="u8<busy>")(5)
            try:
                posixtrace.Event(name, field="u99")
            except ValueError:
                pass
            with posixtrace.span("span", number=number, text=text):
                pass
            with posixtrace.span("span", other=text):
                pass
            posixtrace.Span(name, f="z")(text)
            posixtrace.counter("counter", number)
            posixtrace.log(text, 20, logger=name)
            e(member, member, [member], data)
            try:
                posixtrace.Event("e", other="u8")
            except ValueError:
                pass
            list(suspended())
            try:
                waits().send(None)
            except StopIteration:
                pass
            first, second = posixtrace.span("over"), posixtrace.span("over")
            first.__enter__(), second.__enter__()
            first.__exit__(None, None, None), second.__exit__(None, None, None)

        class State(enum.Enum):
            BUSY = 4

        member = State.BUSY
        span = posixtrace.Span("suspended", a="z")

        def suspended():
            with span(text) as entered, entered, entered:
                yield

        async def waits():
            async with posixtrace.span("waits", text=text):
                pass

        calls()
        gc.collect()
        before, blocks = [sys.getrefcount(o) for o in objects], sys.getallocatedblocks()
        for i in range(1000):
            calls()
        gc.collect()
        assert [sys.getrefcount(o) for o in objects] == before, before
        assert sys.getallocatedblocks() - blocks < 500, sys.getallocatedblocks() - blocks
        ''', record=['--policy', 'loop'])


Suite(globals()).main()
