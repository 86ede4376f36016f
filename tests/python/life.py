#
# life.py - the Python package in threads, children, signal handlers, subinterpreters, at the end of a process, and
# where nobody traces
#
#     life.py POSIXTRACE PYTHON FOLDER
#
# SPDX-License-Identifier: MIT

import collections
import os
import re
import shutil
import subprocess
from pathlib import Path

from program import ENVIRONMENT, FOLDER, POSIXTRACE, PYTHON, events, python, read, wait_for_recorder, write
from scene import Suite, equal

EVERYTHING = '''
    import asyncio
    import logging
    import posixtrace

    order = posixtrace.Event("shop.order", id="u32", item="z", parts="u16[]")
    logging.getLogger().addHandler(posixtrace.Handler())

    @posixtrace.traced
    def f(x):
        with posixtrace.span("inside", x=x):
            return x + 1

    @posixtrace.traced
    async def job():
        await asyncio.sleep(0)

    async def main():
        posixtrace.tasks()
        await asyncio.gather(job(), job())

    def everything():
        order(7, "tea", [1, 2])
        order(1 << 40, parts=None, item=None)
        posixtrace.counter("queue", f(1))
        posixtrace.log("message")
        logging.warning("warning")
        asyncio.run(main())
        with posixtrace.functions():
            f(2)
'''


def test_untraced():
    """A program that nobody traces: not recorded, no files, no descriptors, errno, no output, its exit status."""
    text = EVERYTHING + '''
    import ctypes
    import os
    import sys

    def files():
        with open("/proc/self/maps") as maps:
            mapped = {line.split(None, 5)[5].strip() for line in maps if " /dev/shm" in line}
        return os.listdir("/proc/self/fd"), mapped

    errno = ctypes.CDLL(None).__errno_location
    errno.restype = ctypes.POINTER(ctypes.c_int)
    everything()
    before = files()
    for i in range(3):
        errno()[0] = 99
        order(7, "tea", [1, 2])
        with posixtrace.span("inside", x=1):
            posixtrace.counter("queue", 5)
        assert errno()[0] == 99, errno()[0]
        everything()
    assert files() == before, (before, files())
    if not TRACED:
        # The page by which recorders find the process: the first trace point makes it.
        assert all("/page-" in name for name in before[1]), before
        assert not order and not posixtrace.enabled() and order.misfits == 0
        with posixtrace.span("a") as a, posixtrace.span("b") as b:
            assert a is b
    sys.exit(7)
    '''
    for traced in False, True:
        equal('output', python(text.replace('TRACED', str(traced)), traced=traced, status=7,
                               messages=''), '')
    assert {'shop.order', 'queue', 'log', 'inside.begin', 'asyncio.task.end'} <= {event['event'] for event in read()}


def test_same():
    """A program that fails does so in the same way, traced or not."""
    for text, status in ('raise ValueError("once")', 1), ('import os; os.abort()', -6), ('exit("text")', 1):
        program = write(f'import posixtrace\nposixtrace.Event("e")()\n{text}\n')
        runs = [subprocess.run([*begin, PYTHON, program], capture_output=True, text=True, env=ENVIRONMENT)
                for begin in ([], [POSIXTRACE, 'record', '-q', '-o', 'x.log', '--'])]
        equal('standard error', runs[1].stderr.replace(f'posixtrace record: {PYTHON}: Aborted\n', ''), runs[0].stderr)
        equal('status', (runs[0].returncode, runs[1].returncode % 256 if status < 0 else runs[1].returncode),
              (status, 128 - status if status < 0 else status))


def test_threads():
    """A hundred threads, each its own events in order, with the first event of all at the same time."""
    python('''
        import threading
        import posixtrace
        event = posixtrace.Event("event", thread="u8", number="u32", text="z")
        barrier = threading.Barrier(100)
        def run(thread):
            barrier.wait()
            for i in range(300):
                with posixtrace.span("span", thread=thread):
                    event(thread, text=f"{thread}.{i}", number=i)
        threads = [threading.Thread(target=run, args=(i,)) for i in range(100)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        ''', record=['-s', '32M'])
    of_thread, tids = collections.defaultdict(list), collections.defaultdict(set)
    names = collections.Counter()
    for event in read():
        names[event['event']] += 1
        if event['event'] == 'event':
            fields = event['fields']
            assert fields['text'] == f'{fields["thread"]}.{fields["number"]}', fields
            of_thread[fields['thread']].append(fields['number'])
            tids[fields['thread']].add(event['tid'])
    equal('names', dict(names), {'event': 30000, 'span.begin': 30000, 'span.end': 30000})
    equal('threads', sorted(of_thread), [*range(100)])
    assert all(numbers == [*range(300)] for numbers in of_thread.values())
    assert all(len(tid) == 1 for tid in tids.values())


def test_first_calls():
    """Threads that make the first spans and counters of the same names, with different fields, at the same time."""
    python('''
        import random
        import sys
        import threading
        import posixtrace
        sys.setswitchinterval(1e-6)
        barrier = threading.Barrier(16)

        def step(name):
            with posixtrace.span(name):
                yield

        def run(thread):
            some = random.Random(thread)
            barrier.wait()
            for i in range(100):
                n = some.randrange(20)
                with posixtrace.span(f"span{n}", **{f"f{some.randrange(3)}": some.choice([1, 1.5, "x", b"b"])}):
                    posixtrace.counter(f"counter{n}", i)
                    posixtrace.log("message")
                list(step(f"span{n}"))
                with posixtrace.span(f"step{n}"):
                    list(step(f"step{n}"))

        threads = [threading.Thread(target=run, args=(i,)) for i in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        ''', record=['-s', '32M'])
    # report says on standard error that there are many names of spans.
    out = subprocess.run([POSIXTRACE, 'report', '--fields', 'event', 'x.log'], capture_output=True, text=True,
                         check=True).stdout
    count = collections.Counter(re.sub(r'\d+|\(.*\)', '', name.strip()) for name in out.splitlines()
                                if not name.startswith('#'))
    equal('events', dict(count), {'span.begin': 3200, 'span.end': 3200, 'counter': 1600, 'log': 1600,
                                  'step.begin': 3200, 'step.end': 3200})


def test_children():
    """os.fork() before and after the first event, a child of a child, multiprocessing by fork and by spawn."""
    python('''
        import multiprocessing
        import os
        import posixtrace
        event = posixtrace.Event("event", who="z")

        def child(who):
            pid = os.fork()
            if pid == 0:
                event(who)
                if who == "first":
                    child("grandchild")
                os._exit(0)
            assert os.waitpid(pid, 0)[1] == 0

        def work(who):
            with posixtrace.span("work"):
                event(who)
            return os.getpid()

        if __name__ == "__main__":
            child("first")
            event("parent")
            child("second")
            for method in "fork", "spawn":
                with multiprocessing.get_context(method).Pool(2) as pool:
                    assert os.getpid() not in pool.map(work, [f"{method} {i}" for i in range(10)], 1)
                    pool.close()
                    pool.join()
        ''', record=['--family'], options=['-W', 'ignore'])
    found = [event for event in read() if event['event'] == 'event']
    pid = {event['fields']['who']: event['pid'] for event in found}
    wanted = ['first', 'grandchild', 'parent', 'second',
              *[f'{method} {i}' for method in ('fork', 'spawn') for i in range(10)]]
    equal('events', sorted(event['fields']['who'] for event in found), sorted(wanted))
    assert len({pid[who] for who in ('first', 'grandchild', 'parent', 'second', 'fork 0', 'spawn 0')}) == 6, pid


def test_signals():
    """A handler that records, whatever it interrupts: methods of values, too."""
    found = events('''
        import signal
        import posixtrace
        handled = 0
        outer = posixtrace.Event("outer", n="u32", text="z")
        inner = posixtrace.Event("inner", n="u32")
        class Text:
            def __str__(self):
                return "".join(str(i) for i in range(5))
        def handler(number, frame):
            global handled
            handled += 1
            n = handled
            with posixtrace.span("handler"):
                inner(n)
                outer(0, "of the handler")
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.0001, 0.0001)
        n = 0
        while n < 3000 or handled < 50:
            n += 1
            if n > 3000:
                signal.pause()
            outer(n, Text())
        signal.setitimer(signal.ITIMER_REAL, 0)
        posixtrace.counter("outer events", n)
        posixtrace.counter("handled", handled)
        ''', record=['-s', '32M'])
    last = {name: fields['value'] for name, fields in found if name in ('outer events', 'handled')}
    equal('outer', [fields['n'] for name, fields in found if name == 'outer' and fields['text'] == '01234'],
          [*range(1, last['outer events'] + 1)])
    # A handler may interrupt another one.
    equal('inner', sorted(fields['n'] for name, fields in found if name == 'inner'), [*range(1, last['handled'] + 1)])


def test_shutdown():
    """Events in atexit, in __del__ while modules are taken apart, and in a daemon thread."""
    found = events('''
        import atexit
        import posixtrace
        event = posixtrace.Event("event", where="z")
        work = posixtrace.Span("work", where="z")
        class Last:
            def __init__(self):
                self.itself, self.event, self.work, self.counter = self, event, work, posixtrace.counter
            def __del__(self):
                self.event("del")
                self.event(where=5)
                with self.work("del"):
                    self.counter("counter", 5)
        @posixtrace.traced
        def traced():
            return 5
        class Calls:
            def __del__(self, traced=traced):
                assert traced() == 5
        last, calls = Last(), Calls()
        atexit.register(lambda: event("atexit"))
        ''')
    names = [(name, *(fields or {}).values()) for name, fields in found]
    for wanted in ('event', 'atexit'), ('event', 'del'), ('event', '5'), ('work.begin', 'del'), ('counter', 5), \
            ('__main__.traced.begin',), ('__main__.traced.end',):
        equal(wanted, names.count(wanted), 1)
    python('''
        import threading
        import time
        import posixtrace
        work = posixtrace.Span("work", where="z")
        def busy():
            while True:
                with work("daemon"):
                    time.sleep(0.0001)
        for i in range(5):
            threading.Thread(target=busy, daemon=True).start()
        time.sleep(0.01)
        ''')
    assert len(read()) > 10


def test_late_import():
    """What is loaded when it is used, used first in __del__ while the interpreter ends."""
    text = '''
        import sys
        import posixtrace
        class Calls:
            def __del__(self):
                assert sys.is_finalizing() and "logging" not in (sys.modules or ())
                posixtrace.log("last", 30)
                with posixtrace.functions(include="x", wait=True):
                    print("functions")
                handler = posixtrace.Handler()
                handler.setLevel(10)
                assert handler.level <= 10 and not handler.handle(None)
                @posixtrace.traced
                def one(): return 1
                @posixtrace.traced("name")
                def two(): return 2
                posixtrace.tasks()
                with posixtrace.span("span", n=1):
                    posixtrace.counter("counter", 5)
                posixtrace.Event("event", n="u8")(7)
                print(one() + two())
                try:
                    posixtrace.open
                except ImportError:
                    print("done")
        posixtrace.itself = posixtrace
        calls = Calls()
        KEEP
        '''
    for keep in ("", "calls.itself = calls", "import builtins; builtins.calls = calls",
                 "import json; json.calls = calls"):
        python(text.replace("KEEP", keep), traced=False)
        equal("events", events(text.replace("KEEP", keep)), [
            ("log", dict(level="warning", logger="", message="last")), ("span.begin", dict(n=1)),
            ("counter", dict(value=5)), ("span.end", None), ("event", dict(n=7))])
        equal(keep, python(text.replace("KEEP", keep)), "functions\n3\ndone\n")


def test_other_python():
    """The package, built for another Python, says so."""
    shutil.copytree(f'{FOLDER}/posixtrace', 'other/posixtrace',
                    ignore=shutil.ignore_patterns('_posixtrace.*.so*', '*.p'))
    for built, words in ([], 'posixtrace is not built, and this is '), \
            (['cpython-35m-x86_64-linux-gnu'], 'posixtrace was built for cpython-35m-x86_64-linux-gnu, and this is '):
        for tag in built:
            Path(f'other/posixtrace/_posixtrace.{tag}.so').write_text('')
        done = subprocess.run([PYTHON, '-c', 'import posixtrace'], capture_output=True, text=True,
                              env={**ENVIRONMENT, 'PYTHONPATH': os.path.abspath('other')})
        last = done.stderr.splitlines()[-1]
        assert done.returncode == 1 and last.startswith(f'ImportError: {words}') and PYTHON in last, done.stderr


def test_modules():
    """The module is loaded twice, and taken apart."""
    equal('events', events('''
        import gc
        import sys
        import posixtrace
        first = posixtrace.Event("event", n="u8")
        for i in range(20):
            for name in [name for name in sys.modules if name.startswith("posixtrace")]:
                del sys.modules[name]
            del posixtrace
            gc.collect()
            import posixtrace
            posixtrace.Event("event", n="u8")(i)
            with posixtrace.span("span"):
                pass
            first(100 + i)
        '''), [event for i in range(20) for event in (('event', dict(n=i)), ('span.begin', None), ('span.end', None),
                                                      ('event', dict(n=100 + i)))])


def test_interpreters():
    """Subinterpreters have the same event types; one that ends leaves those of the others alone. functions() is refused
    there."""
    equal('events', events('''
        import textwrap
        import warnings
        warnings.simplefilter("ignore")
        try:
            import _xxsubinterpreters as interpreters
        except ImportError:
            import _interpreters as interpreters
        import posixtrace
        event = posixtrace.Event("event", n="u8")
        event(0)
        for n in range(1, 4):
            interpreter = interpreters.create()
            error = interpreters.run_string(interpreter, textwrap.dedent(f"""
                import posixtrace
                posixtrace.Event("event", n="u8")({n})
                with posixtrace.span("span", n={n}):
                    posixtrace.counter("counter", {n})
                try:
                    with posixtrace.functions():
                        pass
                except RuntimeError as error:
                    assert "main interpreter" in str(error)
                else:
                    raise AssertionError
                """))
            assert error is None, error
            interpreters.destroy(interpreter)
            event(10 + n)
        '''), [('event', dict(n=0))] + [event for n in (1, 2, 3) for event in (
            ('event', dict(n=n)), ('span.begin', dict(n=n)), ('counter', dict(value=n)), ('span.end', None),
            ('event', dict(n=10 + n)))])


def test_later():
    """A process that is already running is recorded, and the trace points know when that has ended."""
    program = write('''
        import posixtrace
        import sys
        event = posixtrace.Event("event", n="u8")
        class Never:
            def __str__(self): raise SystemExit(5)
        unseen = posixtrace.Event("unseen", text="z")
        unseen(Never())
        assert not event
        print("ready", flush=True)
        sys.stdin.readline()
        assert event and posixtrace.enabled()
        event(7)
        print("done", flush=True)
        sys.stdin.readline()
        event(8) # sees that the recording has ended
        assert not event and not posixtrace.enabled()
        unseen(Never())
        ''')
    with subprocess.Popen([PYTHON, program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          env=ENVIRONMENT) as process:
        equal('program', process.stdout.readline(), 'ready\n')
        with subprocess.Popen([POSIXTRACE, 'record', '-o', 'x.log', '-p', str(process.pid)], stderr=subprocess.PIPE,
                              text=True) as recorder:
            wait_for_recorder(process, recorder)
            process.stdin.write('go\n')
            process.stdin.flush()
            equal('program', process.stdout.readline(), 'done\n')
            recorder.terminate()
            recorder.communicate()
        process.communicate('go\n')
        equal('status', process.returncode, 0)
    equal('events', [(event['event'], event['fields']) for event in read()], [('event', dict(n=7))])


def test_another_user():
    """A daemon that becomes another user after it has imported the package."""
    if os.geteuid() != 0:
        return
    equal('events', events('''
        import os
        import posixtrace
        event = posixtrace.Event("event", n="u8")
        os.setgid(65534)
        os.setuid(65534)
        event(7)
        '''), [('event', dict(n=7))])


Suite(globals()).main()
