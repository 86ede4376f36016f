#
# live.py - posixtrace.live() reads running processes; and what layouts say that events mean
#
#     live.py POSIXTRACE PYTHON FOLDER [TEST...]
#
# SPDX-License-Identifier: MIT

import signal
import struct
import subprocess
import time
from pathlib import Path

from program import ENVIRONMENT, PYTHON, python, write
from made_log import Log
from scene import Suite, without_pidfd

# Records what it is told: "COUNT" rows, "sleep", "end". Answers each line.
TRACED = '''
    import posixtrace
    import sys
    import time

    row = posixtrace.Event("row", number="u64", text="z")
    number = 0
    print("ready", flush=True)
    for line in sys.stdin:
        for i in range(int(line)):
            row(number, f"row {number}")
            number += 1
        print("done", flush=True)
    '''
# Begins a program that reads.
BEGIN = '''
    import os
    import posixtrace
    import signal
    import subprocess
    import sys
    import threading
    import time

    class Traced:
        def __init__(self):
            self.process = subprocess.Popen([sys.executable, "traced.py"], stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, text=True)
            self.pid = self.process.pid
            assert self.process.stdout.readline() == "ready\\n"

        def record(self, count):
            self.process.stdin.write(f"{count}\\n")
            self.process.stdin.flush()
            assert self.process.stdout.readline() == "done\\n"

        def end(self):
            self.process.communicate()

    traced = Traced()
    '''


def prepare():
    write(TRACED, 'traced.py')


def reads(text, **more):
    return python(BEGIN + text, traced=False, **more)


def test_events():
    """Events come as they are recorded, with their fields; the iteration ends with the process."""
    reads('''
    with posixtrace.live(traced) as log:
        assert repr(log) == f"<posixtrace.Log process {traced.pid}>", log
        assert log.live and not log.ended
        traced.record(3)
        events = iter(log)
        for number in range(3):
            event = next(events)
            assert (event.name, event["number"], event["text"]) == ("row", number, f"row {number}"), event
            assert event.pid == traced.pid and event.process.startswith("python"), (event.pid, event.process)
            assert 0 <= time.time() * 1e9 - event.time < 60e9
        assert log.processes[-1].modules and log.threads[-1].events == 3
        threading.Timer(0.2, lambda: (traced.record(1), traced.end())).start()
        assert next(events)["number"] == 3
        assert next(events, None) is None
        assert log.ended and log.complete and log.losses == []
        about = log.about[0]
        assert about.live and about.ended and about.lost == 0 and about.target == traced.pid
        assert list(log) == []
        try:
            log.columns("row")
        except ValueError as error:
            assert "columns() needs logs" in str(error)
        assert log.scan() is log
    assert log.closed
    ''')


def test_timeout():
    """An iteration ends after a pause, and the next one goes on."""
    reads('''
    with posixtrace.live(traced.pid, timeout=0.05, events="row") as log:
        assert list(log) == [] and not log.ended and log.complete is None
        for first in 0, 5:
            traced.record(5)
            assert [e["number"] for e in log] == list(range(first, first + 5))
        assert log.wait(0) is False
        began = time.monotonic()
        assert log.wait(0.2) is False and time.monotonic() - began >= 0.2
        traced.record(1)
        assert log.wait() is True and log.wait(0) is True
        assert next(iter(log))["number"] == 10
        try:
            log.scan()
        except ValueError as error:
            assert "read only once" in str(error)
        traced.end()
        assert log.wait(30) is True
        assert list(log) == [] and log.ended
    ''')


def test_several():
    """Events of several processes are merged by time; where and losses="items" count as for logs."""
    reads('''
    others = Traced(), Traced()
    with posixtrace.live(traced, *others, timeout=1, where=lambda e: e["number"] % 2, losses="items") as log:
        for one in traced, *others, traced, *others:
            one.record(2)
        got = [(e.source, e["number"]) for e in log]
        assert got == [(0, 1), (1, 1), (2, 1), (0, 3), (1, 3), (2, 3)], got
        traced.end()
        assert list(log) == [] and not log.ended
        for one in others:
            one.end()
        assert list(log) == [] and log.ended
    ''')


def test_lost():
    """What a slow reader loses is counted."""
    reads('''
    with posixtrace.live(traced, stream_size=65536, losses="items") as log:
        events = iter(log)
        traced.record(100000)
        traced.end()
        items = list(events)
        lost = sum(item.count for item in items if isinstance(item, posixtrace.Loss))
        rows = [item for item in items if not isinstance(item, posixtrace.Loss)]
        assert rows and rows[-1]["number"] == 99999
        assert lost > 50000 and 100000 <= lost + len(rows) <= 100001, (lost, len(rows))
        assert log.about[0].lost == lost and not log.complete
    ''')
    reads('''
    log = posixtrace.live(traced, stream_size=65536)
    traced.record(100000)
    traced.end()
    list(log)
    ''', status=1, messages='LossWarning: process')


def test_killed():
    """What a killed process has recorded is read."""
    reads('''
    log = posixtrace.live(traced)
    traced.record(1000)
    os.kill(traced.pid, signal.SIGKILL)
    assert [e["number"] for e in log] == list(range(1000)) and log.ended and log.complete
    traced.end()
    ''')


def test_first():
    """A shell that waits until it is recorded executes a program, whose first event is read."""
    reads('''
    traced.end()
    program = "import posixtrace; posixtrace.Event('first', n=int)(1)"
    started = subprocess.Popen(["sh", "-c", 'read go && exec "$@"', "sh", sys.executable, "-c", program],
                               stdin=subprocess.PIPE)
    with posixtrace.live(started) as log:
        started.stdin.write(b"\\n")
        started.stdin.close()
        events = list(log)
        assert [(e.name, e["n"]) for e in events] == [("first", 1)], events
    started.wait()
    ''')


def test_old_kernel():
    """Before Linux 5.3 the end of a process is found in /proc."""
    program = write(BEGIN + '''
    with posixtrace.live(traced, timeout=0.1) as log:
        traced.record(3)
        assert len(list(log)) == 3 and not log.ended
        traced.end()
        assert list(log) == [] and log.ended
    ''')
    subprocess.run([PYTHON, program], check=True, env=ENVIRONMENT, preexec_fn=without_pidfd, timeout=60)


def test_interrupt():
    """Ctrl-C ends the wait at once; so does an exception of another signal's handler."""
    for how in 'next(iter(log))', 'log.wait()', 'log.wait(1000)', 'list(log)':
        program = subprocess.Popen([PYTHON, write(BEGIN + f'''
    log = posixtrace.live(traced)
    try:
        print("waits", flush=True)
        {how}
    except KeyboardInterrupt:
        print("interrupted")
    assert not log.closed
    log.close()
    traced.end()
    ''')], stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)
        assert program.stdout.readline() == 'waits\n'
        time.sleep(0.3)
        began = time.monotonic()
        program.send_signal(signal.SIGINT)
        assert program.communicate(timeout=60)[0] == 'interrupted\n', how
        assert program.returncode == 0 and time.monotonic() - began < 30
    reads('''
    def handler(number, frame):
        raise ZeroDivisionError
    signal.signal(signal.SIGALRM, handler)
    log = posixtrace.live(traced)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        next(iter(log))
        raise SystemExit("no exception")
    except ZeroDivisionError:
        pass
    # The reader can be used again.
    traced.record(1)
    assert next(iter(log))["number"] == 0
    traced.end()
    ''')


def test_gil():
    """Other threads run while one waits; a second reader of the same log is refused; a program reads itself."""
    reads('''
    log = posixtrace.live(traced, timeout=1.0)
    counted = 0
    waits = threading.Thread(target=lambda: list(log))
    waits.start()
    time.sleep(0.2)
    began = time.monotonic()
    while time.monotonic() - began < 0.3:
        counted += 1
    assert counted > 1000, counted
    for use in log.close, lambda: log.wait(0), lambda: next(iter(log)):
        try:
            use()
            raise SystemExit("not refused")
        except RuntimeError as error:
            assert "is being read" in str(error)
    waits.join()
    log.close()
    own = posixtrace.live(os.getpid(), timeout=0.2, events="own")
    event = posixtrace.Event("own", number=int)
    recorder = threading.Thread(target=lambda: [event(i) for i in range(100)])
    recorder.start()
    assert [e["number"] for e in own] == list(range(100))
    recorder.join()
    own.close()
    traced.end()
    ''')


def test_fork():
    """A forked child cannot read its parent's processes, and does not end them."""
    reads('''
    log = posixtrace.live(traced, timeout=10)
    traced.record(2)
    events = iter(log)
    assert next(events)["number"] == 0
    child = os.fork()
    if not child:
        try:
            list(log)
            os._exit(1)
        except ValueError as error:
            log.close()
            os._exit(0 if "forked" in str(error) else 2)
    assert os.waitpid(child, 0)[1] == 0
    assert next(events)["number"] == 1
    traced.record(1)
    assert next(events)["number"] == 2
    traced.end()
    ''')


def test_wrong():
    """Wrong arguments, processes that are not there, or another user's."""
    reads('''
    def fails(kind, words, *arguments, **more):
        try:
            posixtrace.live(*arguments, **more)
        except kind as error:
            assert words in str(error), error
        else:
            raise SystemExit(f"{arguments} {more}: no exception")

    fails(TypeError, "needs a process id")
    try:
        posixtrace.open(pid=traced.pid)
    except TypeError as error:
        assert "live(pid)" in str(error)
    fails(TypeError, "is not a process id", "1")
    fails(TypeError, "is not a process id", True)
    fails(ProcessLookupError, "no such process", 0)
    fails(ProcessLookupError, "no such process", 2**40)
    fails(ProcessLookupError, "no such process", 2**31 - 1)
    fails(TypeError, "timeout", traced, timeout="1")
    fails(ValueError, "timeout", traced, timeout=-1)
    fails(ValueError, "timeout", traced, timeout=float("nan"))
    fails(ValueError, "data_size", traced, data_size=65536)
    fails(TypeError, "stream_size", traced, stream_size=1.5)
    fails(ValueError, "losses", traced, losses="no")
    if os.getuid() == 0:
        traced.record(0)
        os.seteuid(65534)
        fails(PermissionError, "may not be traced", traced)
        os.seteuid(0)
    pid = traced.pid
    traced.end()
    fails(ProcessLookupError, "no such process", pid)
    ''')


def test_meaning():
    """LogType.meaning, LogEvent.level and LogEvent.took."""
    python('''
        import posixtrace
        with posixtrace.span("work", id=7):
            posixtrace.counter("queue", 5)
        posixtrace.log("tea", 40)
        ''')
    Path('x.log').rename('python.log')
    made = Log()
    events = [('query', '{took=time;time:u32/ms,rank:u8}', struct.pack('=Ix', 7)),
              ('query', '{took=time;time:u32/ms,rank:u8}', b''),
              ('less', '{took=time;time:i32/s}', struct.pack('=i', -7)),
              ('flow', '{send=id,level=notice;id:u8}', b'a'),
              ('flow.end', '{receive=id,by=n;n:u8,id:u8}', b'ab'),
              ('says', '{level=rank;rank:u8<debug=1,tea=2>}', b'\1'),
              ('says', '{level=rank;rank:u8<debug=1,tea=2>}', b'\2'),
              ('says', '{level=rank;rank:u8<debug=1,tea=2>}', b'\3')]
    for name, layout in dict((name, layout) for name, layout, _ in events).items():
        made.declare(name, layout)
    for time, (name, _, data) in enumerate(events):
        made.event(time, name, data=data)
    made.segment()
    Path('took.log').write_bytes(made.closed())
    python('''
        import posixtrace
        from posixtrace import Meaning
        none = Meaning(None, None, None, None, None, (), None, None, None, None)
        with posixtrace.open("python.log") as log:
            events = list(log)
            meanings = {t.name: t.meaning for t in log.types}
            assert meanings["posix_trace_start"] == none
            spans = [(e.type.meaning.begin, e.type.meaning.end) for e in events]
            assert [b for b, _ in spans if b] == [e for _, e in spans if e] != [], (spans, meanings)
            assert meanings["work.begin"].begin == meanings["work.end"].end == "work"
            assert [m.counters for m in meanings.values() if m.counters] != [], meanings
            assert [e.level for e in events if e.level] == ["error"], [(e.name, e.level, e.fields) for e in events]
            assert all(e.took is None for e in events)
        with posixtrace.open("took.log") as log:
            events = list(log)
            meanings = {t.name: t.meaning for t in log.types}
        assert [e.took for e in events] == [7000000, None, 0, *[None] * 5], [e.took for e in events]
        assert [e.level for e in events[3:]] == ["notice", None, "debug", None, None]
        assert meanings["query"] == none._replace(span="query", took="time")
        assert meanings["flow"] == none._replace(send="id", level="notice")
        assert meanings["flow.end"] == none._replace(receive="id", by="n")
        assert meanings["says"] == none._replace(level_field="rank")
        ''', traced=False)


Suite(globals()).main(prepare)
