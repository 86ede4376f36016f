#
# spans.py - span(), Span, traced, counter(), messages of logging, and tasks of asyncio
#
#     spans.py POSIXTRACE PYTHON FOLDER
#
# SPDX-License-Identifier: MIT

import json
import subprocess

from program import POSIXTRACE, events, fails, python
from scene import Suite, equal


def durations(*pairs):
    """Returns how many spans of each pair stat has found in x.log, and how many begins have no end."""
    out = subprocess.run([POSIXTRACE, 'stat', '--json', '--nested', *[word for pair in pairs
                                                                      for word in ('--span', pair)], 'x.log'],
                         capture_output=True, text=True, check=True).stdout
    return [(span['count'], span['no_end']) for span in json.loads(out)['spans']]


def json_events():
    """Returns the events of x.log, with the durations at the ends of spans."""
    shown = subprocess.run([POSIXTRACE, 'report', '--json', 'x.log'], capture_output=True, text=True, check=True)
    return [json.loads(line) for line in shown.stdout.splitlines()]


def test_span():
    """A pair of events, ended by an exception, by return and by break; used again; another one inside."""
    equal('events', events('''
        import posixtrace

        with posixtrace.span("shop.order", id=7, item="tea", price=1.5, paid=True, key=b"\\1"):
            posixtrace.counter("queue", 3)
        try:
            with posixtrace.span("shop.fails"):
                raise ValueError
        except ValueError as error:
            assert error.__traceback__.tb_lineno == 8

        def leaves():
            for i in range(5):
                with posixtrace.span("shop.leaves", i=i):
                    if i == 1:
                        break
            with posixtrace.span("shop.leaves", i=-1):
                return 5
        assert leaves() == 5

        again = posixtrace.span("again")
        with again as entered:
            assert entered is again
            with again:
                pass
        work = posixtrace.Span("shop.work", id="u32", how="u8<fast,slow>")
        assert work and work.begin.name == "shop.work.begin" and work.end.name == "shop.work.end"
        with work(5, "slow"), work(how=0, id=6):
            pass
        '''), [
        ('shop.order.begin', dict(id=7, item='tea', price=1.5, paid=True, n_key=1, key='01')), ('queue', dict(value=3)),
        ('shop.order.end', None), ('shop.fails.begin', None), ('shop.fails.end', None),
        ('shop.leaves.begin', dict(i=0)), ('shop.leaves.end', None),
        ('shop.leaves.begin', dict(i=1)), ('shop.leaves.end', None),
        ('shop.leaves.begin', dict(i=-1)), ('shop.leaves.end', None),
        ('again.begin', None), ('again.begin', None), ('again.end', None), ('again.end', None),
        ('shop.work.begin', dict(id=5, how='slow')), ('shop.work.begin', dict(id=6, how='fast')),
        ('shop.work.end', None), ('shop.work.end', None)])
    equal('durations', durations('shop.order.begin,shop.order.end', 'shop.leaves.begin,shop.leaves.end',
                                 'shop.work.begin,shop.work.end'), [(1, 0), (3, 0), (2, 0)])


def test_other_values():
    """Spans of one name with other values than those of the first call lose none: their events have another name."""
    equal('events', events('''
        import posixtrace
        for i in range(2):
            for values in (dict(a=1, b="x"), dict(b="y", a=2), dict(a=3), dict(), dict(c=4), dict(a="text", b=5),
                           dict(a=1.5, b=None), dict(a=True, b=b"b")):
                with posixtrace.span("s", **values):
                    pass
        with posixtrace.span("s", a=2**64, b=""):
            pass
        long = "n" * 57
        for values in dict(a=1), dict(b=1), dict(c="text"):
            with posixtrace.span(long, **values):
                pass
        for value in (1, 2.5, 2**70, True):
            posixtrace.counter("whole", value)
        for value in (1.5, 2, "x", 2**70 + 1):
            posixtrace.counter("real", value)
        '''), [
        *[('s.begin', dict(a=1, b='x')), ('s.end', None), ('s.begin', dict(a=2, b='y')), ('s.end', None),
          ('s(a:i64).begin', dict(a=3)), ('s(a:i64).end', None), ('s().begin', None), ('s().end', None),
          ('s(c:i64).begin', dict(c=4)), ('s(c:i64).end', None),
          ('s(a:z,b:i64).begin', dict(a='text', b=5)), ('s(a:z,b:i64).end', None),
          ('s(a:f64,b:z).begin', dict(a=1.5, b='None')), ('s(a:f64,b:z).end', None),
          ('s.begin', dict(a=1, b="b")), ('s.end', None)] * 2,
        ('python.misfit', dict(what='s.begin, field a: the number does not fit')),
        ('s.begin', dict(a=str(2**63 - 1), b='')), ('s.end', None),
        ('n' * 57 + '.begin', dict(a=1)), ('n' * 57 + '.end', None),
        ('n' * 50 + '(b:i64).begin', dict(b=1)), ('n' * 50 + '(b:i64).end', None),
        ('n' * 52 + '(c:z).begin', dict(c='text')), ('n' * 52 + '(c:z).end', None),
        ('whole', dict(value=1)), ('whole', dict(value=2.5)), ('whole', dict(value=2**70)), ('whole', dict(value=1)),
        ('real', dict(value=1.5)), ('real', dict(value=2)),
        ('python.misfit', dict(what='real, field value: not a number')), ('real', dict(value=None)),
        ('real', dict(value=2**70))])


def test_suspended():
    """Spans around await and yield have ids, so those that overlap in a thread have their own durations."""
    program = '''
        import asyncio
        import contextlib
        import posixtrace

        work = posixtrace.Span("work", id="u8", n="u8")
        shared = posixtrace.Span("shared")()

        async def job(n):
            with posixtrace.span("span", n=n):
                await asyncio.sleep(n / 10)
            with work(n, n=n):
                await asyncio.sleep(n / 10)
            async with posixtrace.span("async", n=n) as span:
                await asyncio.sleep(n / 10)
            async with contextlib.AsyncExitStack() as stack:
                await stack.enter_async_context(posixtrace.span("stack", n=n))
                stack.enter_context(posixtrace.span("sync", n=n))
                await asyncio.sleep(n / 10)
            with plain(n):
                pass
            with shared:
                with posixtrace.span("inside", n=n):
                    await asyncio.sleep(n / 10)
            try:
                async with posixtrace.span("fails"):
                    raise KeyError
            except KeyError:
                pass

        def plain(n):
            return posixtrace.span("called", n=n)

        def step(n):
            with posixtrace.span("step", n=n):
                yield
                with shared, shared:
                    yield

        async def main():
            await asyncio.gather(job(3), job(1), job(2))

        asyncio.run(main())
        for i in zip(step(1), step(2)):
            pass
        with posixtrace.span("span", n=9):
            pass
        '''
    python(program, traced=False)
    python(program)
    begun, took = {}, {}
    shared = []
    for event in json_events():
        if event['event'] == 'shared.end':
            shared.append(round(event['took'] / 1e8))
        name, _, end = event['event'].rpartition('.')
        fields = event['fields']
        number = fields.get('span_id', fields.get('id'))
        if end == 'begin':
            assert begun.setdefault((name, number), fields) is fields
        else:
            took[name, begun[name, number].get('n')] = event['took'] / 1e6
    for name in 'span', 'work', 'async', 'stack', 'sync':
        for n in 1, 2, 3:
            assert n * 100 - 1 <= took[name, n] < n * 100 + 80, (name, n, took)
    # One object, entered by three coroutines at the same time, and twice by two generators.
    equal('shared', sorted(shared), [0, 0, 0, 0, 1, 2, 3])
    equal('names', {name for name, n in took},
          {'inside', 'span', 'work', 'async', 'stack', 'sync', 'called', 'fails', 'step', 'shared'})
    equal('ids', [fields['id'] for (name, number), fields in begun.items() if name == 'work'], [1, 2, 3])
    equal('both', events('''
        import posixtrace
        def step():
            with posixtrace.span("s", n=1):
                yield
        with posixtrace.span("s", n=0):
            pass
        list(step())
        with posixtrace.span("s", n=2):
            pass
        '''), [('s.begin', dict(n=0)), ('s.end', None), ('s(id:u64,n:i64).begin', dict(id=1, n=1)),
                ('s(id:u64,n:i64).end', dict(id=1)), ('s.begin', dict(n=2)), ('s.end', None)])
    # With so many fields that there is no room for an id.
    fields = {f'f{i}': i for i in range(32)}
    equal('full', events(f'''
        import posixtrace
        def step():
            with posixtrace.span("s", **{fields}):
                yield
        list(step())
        '''), [('s.begin', fields), ('s.end', None)])


def test_overlap():
    """Spans without ids that overlap in a thread, or end in another one, are told: once for each name."""
    equal('events', events('''
        import threading
        import posixtrace
        first, second, other = posixtrace.span("s"), posixtrace.span("s"), posixtrace.span("other")
        none = None, None, None
        for i in range(2):
            first.__enter__()
            other.__enter__()
            second.__enter__()
            other.__exit__(*none)
            first.__exit__(*none)
            second.__exit__(*none)
        with posixtrace.span("moves") as moves:
            thread = threading.Thread(target=moves.__exit__, args=none)
            thread.start()
            thread.join()
        many = posixtrace.span("many")
        for i in range(100):
            many.__enter__()
        for i in range(100):
            many.__exit__(*none)
        ''')[:-200], [
        ('s.begin', None), ('other.begin', None), ('s.begin', None), ('other.end', None),
        ('python.misfit', dict(what='s.begin: spans of this name overlap in a thread, so their durations are wrong; '
                                    'async with has ids')),
        ('s.end', None), ('s.end', None),
        ('s.begin', None), ('other.begin', None), ('s.begin', None), ('other.end', None), ('s.end', None),
        ('s.end', None), ('moves.begin', None),
        ('python.misfit', dict(what='moves.begin: ended in another thread than begun, so its duration is wrong; '
                                    'async with has ids')), ('moves.end', None)])


def test_many_names():
    """Names that are made of values: untraced they take no memory, recorded they are fields, and it is told."""
    text = '''
        import posixtrace
        def run(begin, end):
            for n in range(begin, end):
                with posixtrace.span(f"request {n}", n=n):
                    posixtrace.counter(f"counter {n}", n)
        def size():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * 4096
        run(0, 2000)
        before = size()
        run(2000, END)
        assert size() - before < 2_000_000, size() - before
        '''
    python(text.replace('END', '30000'), traced=False, environment={'PYTHONMALLOC': 'malloc'})
    python(text.replace('END', '6000'), record=['-s', '32M'], environment={'PYTHONMALLOC': 'malloc'})
    found = [(event['event'], event.get('fields')) for event in json_events()]
    spans = [name[:-len('.begin')] if name != 'python.span.begin' else fields['name'] for name, fields in found
             if name.endswith('.begin')]
    equal('spans', spans, [f'request {n}' for n in range(6000)])
    counters = [(fields.get('name', name), fields['value']) for name, fields in found
                if name.startswith(('counter', 'python.counter'))]
    equal('counters', counters, [(f'counter {n}', n) for n in range(6000)])
    told = [fields['what'] for name, fields in found if name == 'python.misfit']
    assert len(told) == 1 and 'more than 1000 names' in told[0] and 'what varies belongs in a field' in told[0], told
    equal('as a field', sum(name == 'python.span.begin' for name, fields in found), 5500)
    python(text.replace('END', '2001'), options=['-X', 'dev', '-W', 'default'],
           messages='RuntimeWarning: posixtrace: span', environment={'PYTHONWARNINGS': '', 'PYTHONMALLOC': 'malloc'})


def test_traced():
    """Functions, methods, properties; what a decorated function says of itself; pickled and copied."""
    equal('events', events('''
        import copy
        import functools
        import inspect
        import pickle
        import weakref
        import posixtrace

        @posixtrace.traced
        def add(a, b=2, *more, c: int = 0, **others):
            "Adds."
            return a + b + c

        @posixtrace.traced("named")
        def named():
            raise KeyError

        class Shop:
            @posixtrace.traced
            def method(self, x):
                return self, x

            @posixtrace.traced
            @staticmethod
            def static():
                return 1

            @classmethod
            @posixtrace.traced(name="of class")
            def of_class(cls):
                return cls

            @property
            @posixtrace.traced
            def value(self):
                return 4

        assert add(1) == 3 and add(1, c=4, b=1) == 6 and add(*[1, 2, 3], **{"d": 1}) == 3
        try:
            named()
        except KeyError:
            pass
        shop = Shop()
        assert shop.method(1) == (shop, 1) and Shop.method(shop, x=2) == (shop, 2) and Shop.static() == 1
        assert Shop.of_class() is Shop and shop.value == 4
        assert add.__name__ == "add" and add.__doc__ == "Adds." and add.__module__ == "__main__"
        assert str(inspect.signature(add)) == "(a, b=2, *more, c: int = 0, **others)"
        assert pickle.loads(pickle.dumps(add)) is add and copy.copy(add) is add and copy.deepcopy(add) is add
        assert weakref.ref(add)() is add and functools.partial(add, 1)() == 3
        try:
            add()
        except TypeError as error:
            assert "add() missing 1 required positional argument" in str(error)
        '''), [(f'{name}.{word}', None) for name in [
            *['__main__.add'] * 3, 'named', *['__main__.Shop.method'] * 2, '__main__.Shop.static', 'of class',
            '__main__.Shop.value', '__main__.add', '__main__.add'] for word in ('begin', 'end')])
    equal('long', events('''
        import posixtrace
        def name(): pass
        name.__qualname__ = "é" * 40
        posixtrace.traced(name)()
        '''), [('…' + 'é' * 27 + '.begin', None), ('…' + 'é' * 27 + '.end', None)])


def test_traced_function():
    """What a decorated function is for inspect, unittest.mock, dis, help(), and for a class that it is defined in."""
    text = '''
        import contextlib
        import dis
        import inspect
        import io
        import typing
        from unittest import mock
        import posixtrace

        @posixtrace.traced
        def add(a, b: int = 2, *, c=3):
            "Adds."
            return a + b + c

        class Shop:
            made = []
            @posixtrace.traced
            def __new__(cls, *arguments):
                return super().__new__(cls)
            @posixtrace.traced
            def __init_subclass__(cls, key=0, **more):
                super().__init_subclass__(**more)
                cls.made.append((cls, key))
            @posixtrace.traced
            def __class_getitem__(cls, item):
                return cls, item
            @posixtrace.traced
            def sell(self, item):
                return item

        class Tea(Shop, key=7):
            pass

        assert Shop.made == [(Tea, 7)] and Tea[5] == (Tea, 5) and type(Tea()) is Tea and Tea().sell("x") == "x"
        assert isinstance(Shop.__dict__["__new__"], staticmethod) and type(Shop.__new__(Tea)) is Tea
        for name in "__init_subclass__", "__class_getitem__":
            assert isinstance(Shop.__dict__[name], classmethod)
        assert inspect.isfunction(add) and inspect.isroutine(add) and not inspect.isfunction(posixtrace.traced(len))
        assert inspect.ismethod(Tea().sell)
        assert {name for name, value in inspect.getmembers(Shop, inspect.isfunction)} == {"__new__", "sell"}
        known = inspect.getfullargspec(add)
        assert known.args == ["a", "b"] and known.defaults == (2,) and known.kwonlydefaults == {"c": 3}
        assert add.__code__.co_name == "add" and add.__globals__ is globals() and add.__closure__ is None
        assert add.__defaults__ == (2,) and add.__wrapped__.__code__ is add.__code__
        assert typing.get_type_hints(add) == {"b": int}
        assert inspect.getsource(add).startswith("@posixtrace.traced\\ndef add")
        assert str(inspect.signature(Tea().sell)) == "(item)"
        for spec, arguments in (mock.create_autospec(add), ()), (mock.create_autospec(Shop)().sell, (1, 2)):
            try:
                spec(*arguments)
            except TypeError:
                continue
            raise AssertionError(spec)
        add.__defaults__, add.__kwdefaults__ = (3,), {"c": 4}
        assert add(1) == 8
        add.mark = 5
        assert add.mark == 5 and not hasattr(add, "nothing")
        with contextlib.redirect_stdout(io.StringIO()) as out:
            dis.dis(add)
            help(add)
            help(Shop)
        assert "Adds." in out.getvalue()
        '''
    python(text, traced=False)
    names = {name for name, fields in events(text)}
    assert {f'__main__.{name}.begin' for name in (
        'add', 'Shop.sell', 'Shop.__new__', 'Shop.__init_subclass__', 'Shop.__class_getitem__')} <= names, names


def test_traced_later():
    """Coroutines and generators: one span for each, with a number."""
    found = events('''
        import asyncio
        import inspect
        import posixtrace

        @posixtrace.traced
        async def job(n):
            await asyncio.sleep(n / 10)
            return n

        @posixtrace.traced("count")
        def count(n):
            "Counts."
            for i in range(n):
                try:
                    got = yield i
                except ValueError:
                    yield "caught"
                else:
                    assert got is None or got == "sent"
            return "done"

        @posixtrace.traced("later")
        async def later(n):
            for i in range(n):
                try:
                    got = yield i
                except ValueError:
                    yield "caught"
                await asyncio.sleep(0)

        async def main():
            assert sorted(await asyncio.gather(job(3), job(1), job(2))) == [1, 2, 3]
            assert [i async for i in later(3)] == [0, 1, 2]
            generator = later(5)
            assert await generator.asend(None) == 0 and await generator.athrow(ValueError) == "caught"
            await generator.aclose()
            try:
                await asyncio.wait_for(job(10000), 0.01)
            except asyncio.TimeoutError:
                pass

        assert inspect.iscoroutinefunction(job) and inspect.isgeneratorfunction(count)
        assert inspect.isasyncgenfunction(later) and count.__doc__ == "Counts."
        asyncio.run(main())
        assert list(count(3)) == [0, 1, 2]
        def delegates():
            assert (yield from count(1)) == "done"
        assert list(delegates()) == [0]
        generator = count(5)
        assert next(generator) == 0 and generator.send("sent") == 1
        assert generator.throw(ValueError) == "caught"
        generator.close()
        ''')
    begun, order = {}, []
    for name, fields in found:
        if name.endswith('.begin'):
            assert fields['id'] not in begun
            begun[fields['id']] = name[:-len('.begin')]
        else:
            equal('end', name, begun[fields['id']] + '.end')
            order.append(fields['id'])
    equal('spans', sorted(begun.values()), sorted(['__main__.job'] * 4 + ['later'] * 2 + ['count'] * 3))
    equal('ends', sorted(order), sorted(begun))
    equal('order', order[:3], [2, 3, 1])  # the shortest one ends first


def test_logging():
    """Levels, loggers and messages; wrong arguments, a formatter, a filter; nothing is printed."""
    equal('events', events('''
        import logging
        import posixtrace

        logger = logging.getLogger("shop.orders")
        logger.setLevel(logging.DEBUG)
        logger.propagate = False
        handler = posixtrace.Handler()
        logging.basicConfig(handlers=[handler])
        logger.addHandler(handler)
        logger.debug("%d orders", 5)
        logger.warning("%(what)s", {"what": "named"})
        logger.error("wrong %d", "text")
        logger.log(25, "own level")
        logger.log(1000, "high")
        try:
            1 / 0
        except ZeroDivisionError:
            logger.exception("failed")
        class Empty(Exception):
            def __len__(self): return 0
        try:
            raise Empty("text")
        except Empty:
            logger.exception("empty")
        logger.error("none", exc_info=(None, None, None))
        handler.addFilter(lambda record: "secret" not in record.getMessage())
        logger.info("a secret")
        handler.setFormatter(logging.Formatter("<%(message)s>"))
        logger.critical("formatted")
        handler.setLevel(logging.ERROR)
        logger.warning("too low")
        posixtrace.log("direct")
        posixtrace.log("direct", logging.ERROR, "shop")
        '''), [('log', dict(level=level, logger=logger, message=message)) if level else message
               for level, logger, message in [
                   ('debug', 'shop.orders', '5 orders'), ('warning', 'shop.orders', 'named'),
                   ('error', 'shop.orders', 'wrong %d'), (25, 'shop.orders', 'own level'),
                   (None, None, ('python.misfit', dict(what='log, field level: the number does not fit'))),
                   (255, 'shop.orders', 'high'),
                   ('error', 'shop.orders', 'failed: ZeroDivisionError: division by zero'),
                   ('error', 'shop.orders', 'empty: Empty: text'), ('error', 'shop.orders', 'none'),
                   ('critical', 'shop.orders', '<formatted>'),
                   ('info', '', 'direct'), ('error', 'shop', 'direct')]])


def test_tasks():
    """Each task is a span; names, ends, tasks that exist before; a task factory that the program has; no change of its
    own names and of what asyncio reports."""
    program = '''
        import asyncio
        import posixtrace

        async def job(n):
            await asyncio.sleep(n / 1000)

        async def fails():
            raise ValueError

        async def main():
            early = asyncio.create_task(job(300), name="early")
            made = []
            def own(loop, coroutine, **more):
                made.append(coroutine)
                return asyncio.Task(coroutine, loop=loop, **more)
            OWN
            posixtrace.tasks()
            posixtrace.tasks()
            tasks = [asyncio.create_task(job(200), name="a"), asyncio.create_task(job(100), name="b"),
                     asyncio.create_task(fails(), name="c"), asyncio.create_task(job(1000), name="d")]
            unnamed = asyncio.create_task(job(1))
            # In 3.13 the program's own factory would lose the name.
            assert OWNED or unnamed.get_name().startswith("Task-"), unnamed.get_name()
            await asyncio.sleep(0.005)
            tasks[3].cancel()
            result = await asyncio.gather(*tasks, early, unnamed, return_exceptions=True)
            assert isinstance(result[2], ValueError) and isinstance(result[3], asyncio.CancelledError)
            assert not OWNED or len(made) == 5
            reported = []
            asyncio.get_running_loop().set_exception_handler(lambda loop, context: reported.append(context))
            task = asyncio.create_task(fails(), name="unseen")
            await asyncio.sleep(0.001)
            del task
            assert len(reported) == 1 and reported[0]["message"] == "Task exception was never retrieved", reported

        asyncio.run(main())
        '''
    for own, owned in ('', 'False'), ('asyncio.get_running_loop().set_task_factory(own)', 'True'):
        text = program.replace('OWNED', owned).replace('OWN', own)
        python(text, traced=False)
        found = events(text)
        begun = {fields['id']: fields['coroutine'] for name, fields in found if name == 'asyncio.task.begin'}
        ends = [(begun[fields['id']], fields['name'], fields['how']) for name, fields in found
                if name == 'asyncio.task.end' and not fields['name'].startswith(('Task-', 'None'))]
        equal('ends', ends, [('fails', 'c', 'failed'), ('job', 'd', 'cancelled'), ('job', 'b', 'done'),
                             ('job', 'a', 'done'), ('job', 'early', 'done'), ('fails', 'unseen', 'failed')])
        equal('main', list(begun.values()).count('main'), 1)
        # They overlap in one thread, and each end has the begin with its id.
        took = {event['fields']['name']: event['took'] / 1e6 for event in json_events()
                if event['event'] == 'asyncio.task.end'}
        equal('took', (took['a'] >= 200, took['b'] >= 100, took['b'] < took['a'], took['c'] < took['b']),
              (True, True, True, True))


def test_wrong():
    fails('posixtrace.span()', 'TypeError', 'one argument without a name, not 0')
    fails('posixtrace.span("a", 5)', 'TypeError', 'not 2')
    fails('posixtrace.span(5)', 'TypeError', 'the name of a span is a str')
    fails('posixtrace.span("n" * 60)', 'ValueError', 'not a name of an event')
    fails('posixtrace.span("s", **{"a" * 40: 1})', 'ValueError', 'field name')
    fails('posixtrace.Span("s", a="u99")', 'ValueError', 'is not a type')
    fails('posixtrace.Span("s", a="u8")()', 'TypeError', 's.begin has 1 field, and 0 values')
    fails('posixtrace.counter("c")', 'TypeError', 'two arguments, not 1')
    fails('posixtrace.counter(5, 5)', 'TypeError', 'the name of an event is a str')
    fails('posixtrace.traced(5)', 'TypeError', 'traced is for functions')
    fails('posixtrace.traced(int)', 'TypeError', 'traced is for functions')
    fails('posixtrace.traced(name=5)(print)', 'TypeError', 'the name is a str')
    fails('posixtrace.traced("n" * 60)(print)', 'ValueError', 'not a name of an event')
    fails('posixtrace.nothing', 'AttributeError', 'nothing')
    fails('posixtrace.tasks()', 'RuntimeError', 'no event loop is running', 'tasks(loop)')
    fails('posixtrace.span("s")(print)', 'TypeError', '@posixtrace.traced')


Suite(globals()).main()
