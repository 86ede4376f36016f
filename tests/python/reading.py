#
# reading.py - posixtrace.open() reads what posixtrace report reads; and losses, columns, what is wrong
#
#     reading.py POSIXTRACE PYTHON FOLDER CORPUS REPORT_LOGS [TEST...]      programs of corpus.c and report_logs.c
#
# SPDX-License-Identifier: MIT

import json
import math
import os
import random
import re
import struct
import subprocess
import sys
from pathlib import Path

from program import ENVIRONMENT, POSIXTRACE, PYTHON, python
from scene import Suite, equal, run, write

sys.path.append(str(Path(__file__).resolve().parent.parent / 'log'))
import agree
from made_log import Log, typed_log

CORPUS, REPORT_LOGS = (os.path.abspath(path) for path in sys.argv[4:6])
DAMAGED_VARIANTS = 6  # of each log of the corpus
ROW = '{number:u64,change:i32,part:f64,text:z}'
logs = []
# Prints events as report --json does. An argument is a log, or several with a comma between them.
DUMP = '''
    import datetime
    import json
    import posixtrace
    import sys

    PER = {"s": (1, 0), "ms": (1000, 3), "us": (10**6, 6), "ns": (10**9, 9)}

    def item(field, value):
        if isinstance(value, list):
            return [item(field, one) for one in value]
        if isinstance(value, bytes):
            return value.hex()
        if field.kind == "code":
            return f"0x{value:x}"
        if field.kind == "when":
            per, digits = PER[field.unit]
            try:
                moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=value // per)
            except OverflowError:
                return "far"
            return moment.strftime("%Y-%m-%dT%H:%M:%S") + (f".{value % per:0{digits}}" if digits else "") + "Z"
        if type(value) is int and abs(value) > 1 << 53:
            return str(value)
        return value

    def line(e, paths):
        out = {"time": e.time, "relative": e.relative, "event": e.name}
        if len(paths) > 1:
            out["file"] = paths[e.source]
        if e.tid:
            out.update(pid=e.pid, tid=e.tid, thread=e.thread)
        if e.fields:
            out["fields"] = {f.name: item(f, e[f.name]) for f in e.type.fields if f.name in e}
            if e.rest:
                out["more"] = e.rest.hex()
        elif e.length:
            out["data"] = e.rest.hex()
        if e.truncated:
            out["truncated"] = True
        if e.address:
            out["address"] = f"0x{e.address:x}"
        return out

    def dump(paths):
        try:
            log = posixtrace.open(*paths, losses="ignore")
        except (ValueError, OSError) as error:
            return print(json.dumps({"error": str(error)}))
        for i in range(2):
            for e in log:
                if i:
                    print(json.dumps(line(e, paths)))
        # The losses are those that the whole log has, and their counts are what the log says.
        found = log.losses
        assert log.scan().losses == found and log.complete == (not found), (found, log.losses)
        counted = {}
        for loss in found:
            counted[loss.reason] = counted.get(loss.reason, 0) + loss.count
        for reason in "lost", "overwritten", "discarded", "unwritten", "damaged":
            assert counted.get(reason, 0) == sum(getattr(one, reason) for one in log.about), (reason, counted)
        assert ("open" in counted) == (not all(one.closed for one in log.about))
        assert sum(log.counts.values()) == sum(one.events for one in log.about)
        log.close()

    for paths in sys.argv[1:]:
        dump(paths.split(","))
        print("null")
    '''


def dump(paths):
    """Returns for each argument the events that the package reads."""
    found, one = [], []
    for line in python(DUMP, *map(str, paths), traced=False).splitlines():
        if line == 'null':
            found.append(one)
            one = []
        else:
            one.append(json.loads(line))
    equal('logs', len(found), len(paths))
    return found


def plain(value):
    """Texts only as far as they are printable ASCII: report has U+FFFD for bytes that are not UTF-8."""
    if isinstance(value, list):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {plain(key): plain(one) for key, one in value.items()}
    if not isinstance(value, str):
        return value
    return re.sub(r'(\\x[0-9a-f]{2}|[^ -~]|\?)+', '?', value)


def is_user(event):
    return not event['event'].startswith('posix_trace_') or event['event'] == 'posix_trace_unnamed_userevent'


def simplified(event):
    """An event without what report adds from other events, or shows in another way."""
    event = {key: plain(value) for key, value in event.items() if key not in ('took', 'level', 'text')}
    if event.get('fields') == {}:
        # Not even the first field is complete.
        del event['fields']
        event['data'] = event.pop('more', '')
    return event


def far(found, wanted):
    """Times beyond what Python can show are not compared. JSON has no infinite numbers, so report prints null."""
    if found == 'far':
        return wanted
    if isinstance(found, float) and not math.isfinite(found):
        return None
    if isinstance(found, list) and isinstance(wanted, list) and len(found) == len(wanted):
        return [far(a, b) for a, b in zip(found, wanted)]
    if isinstance(found, dict) and isinstance(wanted, dict):
        return {key: far(value, wanted.get(key)) for key, value in found.items()}
    return found


def report(*paths):
    out = run(POSIXTRACE, 'report', '--json', *paths)[0].decode()
    return [simplified(event) for event in map(json.loads, out.splitlines()) if is_user(event)]


def compare_all(paths):
    """Compares the events of each log with those of report. Returns how many logs could be read."""
    count = 0
    for path, found in zip(paths, dump(paths)):
        if found and 'error' in found[0]:
            done = subprocess.run([POSIXTRACE, 'report', '--json', path], capture_output=True)
            assert done.returncode == 1, f'{path}: {found}, but report reads it'
            continue
        found, wanted = [simplified(event) for event in found], report(path)
        for i, (a, b) in enumerate(zip(found, wanted)):
            equal(f'{path}: event {i}', far(a, b), b)
        equal(f'{path}: events', len(found), len(wanted))
        count += 1
    return count


def rows_log(count, created=1_600_000_000_000_000_000, lost=0):
    """Events row, one each microsecond, in two threads and two segments; sometimes an event other between them."""
    log = Log(created=created)
    log.declare('row', ROW)
    for i in range(count):
        data = struct.pack('<QiId', i, -i, 0, i / 4) + b'text%d\0' % (i % 7)
        log.event(1000 * i, 'row', tid=100 + i % 2, thread=f'thread {i % 2}', data=data)
        if i % 10 == 0:
            log.event(1000 * i + 1, 'other', thread='thread 0', data=b'\1\2')
        if i == count // 2:
            log.segment()
    log.segment(lost=lost)
    return log


def prepare():
    os.mkdir('corpus')
    subprocess.run([*agree.WRAPPER, CORPUS, 'corpus'], check=True)
    logs.extend(sorted(Path('corpus').glob('*.log')))
    for kind in 'server', 'client', 'hole', 'open', 'i386', 'exec':
        run(REPORT_LOGS, kind, f'{kind}.log')
        logs.append(Path(f'{kind}.log'))
    logs.append(Path(write('typed.log', typed_log())))
    write('rows.log', rows_log(1000).closed())
    write('lost.log', rows_log(1000, lost=3).closed(lost=3))
    write('cut.log', rows_log(1000).open())
    damaged = Log()
    for i in range(3):
        damaged.event(i, 'event', data=bytes([i]))
        damaged.segment(damaged=i == 1)
    write('damaged.log', damaged.closed())
    write('many.log', rows_log(40000).closed())
    real = Log()
    real.declare('real', '{packed;a:u8,part:f64}')
    real.event(0, 'posix_trace_start', tid=0, pid=0, data=bytes(8))
    for i, data in enumerate((struct.pack('<Bd', 1, 1.5), b'\1', struct.pack('<Bd', 1, 2.5))):
        real.event(i, 'real', data=data, truncated=i == 1)
    real.segment()
    write('cutreal.log', real.closed())
    stopped = Log()
    for i, (name, data) in enumerate([('row', b'\1'), ('posix_trace_stop', struct.pack('<i', 1)),
                                      ('posix_trace_start', bytes(8)), ('row', b'\2')]):
        stopped.event(i, name, tid=0 if 'posix' in name else 100, pid=0 if 'posix' in name else 100, data=data)
    stopped.segment()
    write('stopped.log', stopped.closed())
    for name, layout in ('a.log', 'u8'), ('b.log', 'u16'):
        log = Log()
        log.declare('a', f'{{x:{layout}}}')
        log.event(0, 'a', data=b'\1\0')
        log.segment()
        write(name, log.closed())


def test_corpus():
    equal('logs read', compare_all(logs), len(logs))


def test_damaged():
    rng = random.Random(int(os.environ.get('SEED', '1')))
    paths = []
    for log in logs:
        data = log.read_bytes()
        for i in range(DAMAGED_VARIANTS if len(data) < agree.LARGE else 1):
            paths.append(Path(write(f'{log}.{i}', agree.damaged(data, rng))))
    assert compare_all(paths) > len(paths) / 2


def test_merged():
    sets = (['server.log', 'client.log'], ['client.log', 'hole.log', 'server.log', 'open.log'],
            ['corpus/append.log', 'typed.log', 'corpus/loop_round.log'])
    for paths, found in zip(sets, dump([','.join(paths) for paths in sets])):
        assert len({event['file'] for event in found}) > 1
        equal('order', [event['time'] for event in found], sorted(event['time'] for event in found))
        key = lambda event: json.dumps(event, sort_keys=True)
        equal(f'{paths}', sorted(map(simplified, found), key=key), sorted(report(*paths), key=key))


def test_recorded():
    """What the package has recorded, it reads."""
    python('''
        import posixtrace
        e = posixtrace.Event("shop.order", id="u32", item=str, how="u8<cash,card>", sizes="u16[]", key=bytes)
        for i in range(3):
            e(i, "tea " * i, i % 2, range(i), bytes(i))
        ''')
    os.rename('x.log', 'shop.log')
    python('''
        import posixtrace
        with posixtrace.open("shop.log", losses="raise") as log:
            found = [(e.name, e["id"], e["item"], e["how"], e["sizes"], e["key"], e.process[:6]) for e in log]
        assert found == [("shop.order", i, "tea " * i, ["cash", "card"][i % 2], list(range(i)), bytes(i), "python")
                         for i in range(3)], found
        assert log.complete and log.closed
        ''', traced=False)


def test_ways_to_open():
    python('''
        import gzip
        import io
        import os
        import pathlib
        import posixtrace
        import subprocess
        import tempfile

        def numbers(*logs):
            with posixtrace.open(*logs) as log:
                return [(e.time, e.source, e["number"]) for e in log if e.name == "row"]

        data = pathlib.Path("rows.log").read_bytes()
        wanted = numbers("rows.log")
        assert [n for _, _, n in wanted] == list(range(1000))
        with gzip.open("rows.log.gz", "wb") as packed:
            packed.write(data)
        descriptors = len(os.listdir("/proc/self/fd"))
        with open("rows.log", "rb") as file, open("rows.log", "rb", buffering=0) as raw, open("rows.log") as text, \\
                gzip.open("rows.log.gz") as packed, tempfile.NamedTemporaryFile() as temporary:
            temporary.write(data)
            temporary.flush()
            for log in (pathlib.Path("rows.log"), file, raw, text, packed, temporary, file.fileno(), data,
                        bytearray(data), memoryview(data), io.BytesIO(data)):
                assert numbers(log) == wanted, log
            os.dup2(file.fileno(), 0)
            assert numbers("-") == wanted
        with subprocess.Popen(["cat", "rows.log"], stdout=subprocess.PIPE) as cat:
            assert numbers(cat.stdout) == wanted
        both = numbers("rows.log", data)
        assert both == sorted([(t, s, n) for t, _, n in wanted for s in (0, 1)]), both[:5]
        assert len(os.listdir("/proc/self/fd")) == descriptors
        ''', traced=False)


def test_values():
    """Every type of a field, and events that are cut off."""
    python('''
        import copy
        import pickle
        import posixtrace
        with posixtrace.open("typed.log") as log:
            first, second, third, fourth = log
        assert first.fields == dict(
            id=1, item="", n=0, sizes=[], state="new", states=["on", "off"], mode="gift|fragile", ok=True,
            when=1795295105123, at=1, where=0x401136, key=b"\\1\\2", n2=2, text="ab", hash=b"\\xff\\xfe", note="fine")
        assert first["ok"] is True and second["ok"] is False and list(first.fields)[:3] == ["id", "item", "n"]
        assert (second["state"], second["states"], second["sizes"]) == (5, [2, "on"], [7, 65535])
        assert third.fields == dict(id=2, item="te") and third.truncated and not first.truncated
        assert fourth["sizes"] == [7] and fourth.rest == b"\\xff" and first.rest == b"" and fourth.length == 12
        assert "n" in first and "n" not in third and "none" not in first and 5 not in first
        assert third.get("n") is None and third.get("n", 5) == 5 and first.get("n", 5) == 0
        assert (first.name, first.pid, first.tid, first.thread, first.process) == ("typed", 100, 100, "main", "")
        assert (first.time, first.relative, second.relative) == (1_600_000_000_000_000_000, 0, 1)
        fields = {field.name: field for field in first.type.fields}
        assert fields["state"].labels == {"new": -1, "paid": 3, "sent": 4} and fields["mode"].bits
        assert fields["when"].unit == "ms" and fields["when"].kind == "when" and fields["sizes"].array
        assert repr(third) == "<posixtrace.LogEvent 1600000000000000002 typed {'id': 2, 'item': 'te'}>", third
        assert copy.copy(third) is third and copy.deepcopy([third])[0] is third
        try:
            pickle.dumps(third)
        except TypeError as error:
            assert "event.fields" in str(error), error
        else:
            raise AssertionError
        for name, words in ("n", "ends before the field 'n' of typed"), ("none", "typed has no field 'none'"):
            try:
                third[name]
            except KeyError as error:
                assert words in str(error), error
            else:
                raise AssertionError(name)
        ''', traced=False)


def test_texts():
    """Bytes that are not UTF-8, in names and values, can be printed."""
    log = Log()
    log.declare(b'n\xff', '{packed;a:z}')
    log.event(0, b'n\xff', data=b'a\xffb\xc3\xa9\0')
    log.segment()
    write('text.log', log.closed())
    equal('printed', python('import posixtrace\nfor e in posixtrace.open("text.log"): print(e.name, e["a"], ascii(e))',
                            traced=False),
          "n\\xff a\\xffbé <posixtrace.LogEvent 1600000000000000000 n\\xff {'a': 'a\\\\xffb\\xe9'}>\n")


def test_filters():
    python('''
        import datetime
        import posixtrace

        def count(**more):
            with posixtrace.open("rows.log", **more) as log:
                return len(list(log))

        begin = 1_600_000_000_000_000_000
        assert count() == 1100
        assert count(events="row") == 1000 and count(events=["*", "!row"]) == 100 == count(events="o*")
        assert count(pid=100) == 1100 and count(pid=[100, 200]) == 1100 and count(pid=200) == 0
        assert count(tid=101) == 500 and count(tid=(100, 101)) == 1100 and count(tid=range(5)) == 0
        assert count(thread="thread 1") == 500 and count(thread=["thread*", "!* 0"]) == 500
        assert count(events="row", start=begin + 500_000) == 500 == count(events="row", end=begin + 500_000)
        assert count(events="row", start=begin + 1000, end=begin + 3000) == 2
        assert count(start=1.7e9) == 0 and count(end=1.7e9) == 1100 == count(start=1.5e9)
        at = datetime.datetime.fromtimestamp(1.6e9 + 0.0005, datetime.timezone.utc)
        assert count(events="row", start=at) == 500
        for argument in "events", "pid", "tid", "thread":
            assert count(**{argument: None}) == 1100
            for nothing in [], (), iter([]):
                assert count(**{argument: nothing}) == 0, argument
                assert count(**{argument: nothing, "system": True}) == 0, argument
            with posixtrace.open("rows.log", **{argument: []}) as log:
                assert len(log.columns("row", "number", "text")["text"]) == 0 and log.complete
        assert count(where=lambda e: e.name == "row" and e["number"] < 5) == 5
        assert count(events="row", tid=101, where=lambda e: e["number"] % 3 == 0) == 167
        odd = lambda e: e["number"] % 2
        with posixtrace.open("rows.log", events="row", where=odd, tid=101, end=begin + 9000) as log:
            assert list(log.columns("row", "number")["number"]) == [1, 3, 5, 7]
            assert log.columns("row", "number", "text")["text"] == ["text1", "text3", "text5", "text0"]
            assert [e["number"] for e in log] == [1, 3, 5, 7]
        with posixtrace.open("cutreal.log") as log:
            assert [(e.name, e.type.system) for e in log] == [("real", False)] * 3
        with posixtrace.open("cutreal.log", system=True) as log:
            assert [(e.name, e.type.system) for e in log] == [("posix_trace_start", True)] + [("real", False)] * 3
        ''', traced=False)


def test_losses():
    """A loss is a warning, an item, or an exception; silent only if that is wanted."""
    python('''
        import posixtrace
        import warnings

        def told(do, *arguments, **more):
            with warnings.catch_warnings(record=True) as found:
                warnings.simplefilter("always")
                with posixtrace.open(*arguments, **more) as log:
                    result = do(log)
            assert all(w.category is posixtrace.LossWarning and w.filename == __file__ for w in found), found
            return result, [str(w.message) for w in found], log

        for name, reason, words, count, items in (
                ("lost.log", "lost", "lost.log: 3 events are missing at ", 3, 1100),
                ("cut.log", "open", "cut.log: events may be missing at ", 0, 1100),
                ("stopped.log", "stopped", "stopped.log: events may be missing at 0.000000001 s: recording", 0, 2),
                ("damaged.log", "damaged", "damaged.log: 1 event is missing at ", 1, 2)):
            for do in list, lambda log: log.columns("row" if "damaged" not in name else "event", "time"):
                result, messages, log = told(do, name)
                assert len(messages) == 1 and messages[0].startswith(words), (name, messages)
                assert log.complete is False and [loss.reason for loss in log.losses] == [reason], log.losses
                assert told(do, name, losses="ignore")[1] == []
                try:
                    told(do, name, losses="raise")
                except posixtrace.LossError as error:
                    assert words in str(error)
                else:
                    raise AssertionError(name)
            found, messages, log = told(list, name, losses="items")
            assert messages == [] and len(found) == items + 1
            losses = [one for one in found if isinstance(one, posixtrace.Loss)]
            assert len(losses) == 1 and losses[0].count == count and losses[0].source == 0, losses
            assert losses == log.losses and log.complete is False
            # In its place.
            times = [one.time for one in found]
            assert times == sorted(times), name
            # Also if the program leaves the loop, or does not want these events.
            assert len(told(lambda log: [e for e in log], name, events="none")[1]) == 1
            assert len(told(lambda log: [e for e in log], name, where=lambda e: False)[1]) == 1
            assert told(lambda log: (list(log), list(log)), name)[1][1].startswith(words)
        with posixtrace.open("lost.log", losses="ignore") as log:
            assert log.complete is None and log.losses == []
            next(iter(log))
            assert log.complete is None
            assert log.scan().complete is False and len(log.losses) == 1
        with posixtrace.open("rows.log", losses="raise") as log:
            assert log.complete is None and len(list(log)) == 1100 and log.complete is True and log.losses == []
        with posixtrace.open("rows.log", losses="raise") as log:
            log.columns("row", "number")
            assert log.complete is True
        # Only losses in the range of time.
        begin = 1_600_000_000_000_000_000
        assert told(list, "lost.log", end=begin + 1000)[1] == []
        assert told(lambda log: log.columns("row"), "lost.log", end=begin + 1000)[1] == []
        # Several logs: the name of the right one.
        found, messages, log = told(list, "rows.log", "lost.log", losses="items")
        assert [one.source for one in found if isinstance(one, posixtrace.Loss)] == [1]
        assert told(list, "rows.log", "lost.log")[1][0].startswith("lost.log: ")
        ''', traced=False)
    done = subprocess.run([PYTHON, '-c', 'import posixtrace\nfor e in posixtrace.open("lost.log"): pass'],
                          env={**ENVIRONMENT, 'PYTHONWARNINGS': ''}, capture_output=True, text=True)
    assert done.returncode == 0 and 'LossWarning: lost.log: 3 events are missing' in done.stderr, done.stderr


def test_columns():
    python('''
        import array
        import math
        import posixtrace
        import warnings

        with posixtrace.open("rows.log", losses="raise") as log:
            rows = [e for e in log if e.name == "row"]
            c = log.columns("row", ".time", "time", "number", "change", "part", "pid", "tid", "length", "address",
                            "source", "thread", "text")
            threads = log.threads
            whole = log.columns("row")
            other = log.columns("other")
            types = {one.name: one for one in log.types}
            same = log.columns(types["row"], "part")
        assert list(c[".time"]) == list(c["time"]) == [e.time for e in rows]
        for name in "number", "change", "part", "text":
            assert list(c[name]) == [e[name] for e in rows], name
        for name in "pid", "tid", "length", "address", "source":
            assert list(c[name]) == [getattr(e, name) for e in rows], name
        assert [threads[i].name for i in c["thread"]] == [e.thread for e in rows]
        assert list(whole) == ["time", "number", "change", "part", "text"] and list(other) == ["time"]
        assert len(other["time"]) == 100 and same["part"] == c["part"]
        assert [c[name].typecode for name in ("number", "change", "part")] == ["Q", "q", "d"]
        assert isinstance(c["part"], array.array) and memoryview(c["change"]).format == "q"
        assert memoryview(c["change"])[2] == -2
        assert log.closed  # and the columns remain
        # A field with the name of something that each event has.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for paths in ["server.log"], ["client.log", "server.log"]:
                with posixtrace.open(*paths) as log:
                    for kind in log.types:
                        wanted = [e for e in log if e.type is kind]
                        if kind.system or not wanted:
                            continue
                        columns = log.columns(kind)
                        for name, column in columns.items():
                            if name == ".time" or name == "time" and ".time" not in columns:
                                assert list(column) == [e.time for e in wanted]
                            elif isinstance(column, list):
                                assert column == [e.get(name) for e in wanted]
                            elif not any(field.labels for field in kind.fields):
                                assert list(column) == [e.get(name, 0) for e in wanted], name
        # Events that are cut off.
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            with posixtrace.open("typed.log") as log:
                c = log.columns("typed", "id", "state", "sizes", "note", "item")
        assert len(found) == 1 and "typed.log: some events of typed were cut, and have no value for state, sizes" in \\
            str(found[0].message) and found[0].filename == __file__, found
        assert list(c["state"]) == [-1, 5, 0, 0] and c["sizes"] == [[], [7, 65535], None, [7]]
        assert c["item"] == ["", "tea", "te", "tea"] and c["note"] == ["fine", "", None, None]
        try:
            posixtrace.open("typed.log", losses="raise").columns("typed", "state")
        except posixtrace.LossError as error:
            assert "state" in str(error)
        else:
            raise AssertionError("no error")
        with posixtrace.open("cutreal.log", losses="ignore") as log:
            part = log.columns("real", "part")["part"]
            assert part[0] == 1.5 and math.isnan(part[1]) and part[2] == 2.5
        # Many rows, more than are read at once.
        with posixtrace.open("many.log") as log:
            assert list(log.columns("row", "number")["number"]) == list(range(40000))
        ''', traced=False)


def test_arrays():
    """numpy and pandas share the memory of the columns."""
    python('''
        import posixtrace
        import sys
        import warnings
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                import numpy
                import pandas
            except ImportError:
                sys.exit()
            c = posixtrace.open("rows.log").columns("row")
            values = numpy.asarray(c["change"])
            assert values.dtype == numpy.int64 and values.sum() == -499500
            c["change"][5] = 77
            assert values[5] == 77
            assert numpy.shares_memory(numpy.asarray(c["part"]), numpy.asarray(c["part"]))
            frame = pandas.DataFrame(c)
            assert list(frame.dtypes.astype(str)) == ["uint64", "uint64", "int64", "float64", "object"], frame.dtypes
            assert frame["number"].sum() == 499500 and frame["text"][8] == "text1"
            assert numpy.asarray(c["number"], dtype="f8").dtype == numpy.float64
            series = pandas.Series(c["change"], copy=False)
            assert numpy.shares_memory(series.to_numpy(), values)
            frame = pandas.DataFrame({name: c[name] for name in ("number", "change")}, copy=False)
            assert numpy.shares_memory(frame["change"].to_numpy(), values)
        ''', traced=False)


def test_tables():
    python('''
        import posixtrace
        with posixtrace.open("exec.log", "server.log", losses="ignore") as log:
            assert repr(log) == "<posixtrace.Log exec.log server.log>" and not log.closed
            assert sum(log.counts.values()) == 0 == sum(one.events for one in log.about)
            events = list(log)
            assert {(e.pid, e.tid) for e in events if e.tid} <= {(t.pid, t.tid) for t in log.threads}
            assert {e.pid for e in events if e.pid} <= {p.pid for p in log.processes}
            first, second = log.about
            assert first.path == "exec.log" and second.path == "server.log" and len(first.boot) == 16
            assert first.bytes > 0 and sum(log.counts.values()) == first.events + second.events >= len(events)
            described = [p for p in log.processes if p.executable]
            assert described and all(p.executable.endswith(p.name) for p in described)
            assert all(e.type is log.types[e.type.index] for e in events)
        assert repr(log) == "<posixtrace.Log exec.log server.log (closed)>"
        assert repr(events[0].type).startswith("<posixtrace.LogType ") and events[0].fields is not None
        ''', traced=False)


def test_wrong():
    python('''
        import gc
        import io
        import posixtrace

        def fails(kind, words, do):
            try:
                do()
            except kind as error:
                assert words in str(error), f"{error!r}: not {words}"
            else:
                raise AssertionError(words)

        fails(FileNotFoundError, "none.log: No such file", lambda: posixtrace.open("none.log"))
        fails(ValueError, "not a posixtrace log", lambda: posixtrace.open(__file__))
        fails(ValueError, "log in memory: ", lambda: posixtrace.open(b""))
        fails(OSError, "Bad file descriptor", lambda: posixtrace.open(99))
        fails(ValueError, "neither a regular file nor a pipe", lambda: posixtrace.open("/"))
        fails(ValueError, "null", lambda: posixtrace.open("a\\0b"))
        fails(TypeError, "needs a log", lambda: posixtrace.open())
        for log in None, 1.5, True, ["rows.log"], object():
            fails(TypeError, "is not a", lambda: posixtrace.open(log))
        fails(TypeError, "binary mode", lambda: posixtrace.open(io.StringIO("x")))
        for more, kind, words in (
                (dict(events=5), TypeError, ""), (dict(events=[5]), TypeError, "5 is not a str"),
                (dict(events="a\\0"), ValueError, "null"), (dict(thread=[b"x"]), TypeError, "is not a str"),
                (dict(pid="5"), TypeError, "is not an int"), (dict(tid=[1.5]), TypeError, "is not an int"),
                (dict(pid=-1), ValueError, "is not from 0"), (dict(tid=2**32), ValueError, "is not from 0"),
                (dict(start="1"), TypeError, "datetime"), (dict(start=-1), ValueError, "start: -1 ns"),
                (dict(end=2**64), ValueError, "is not a time"), (dict(end=float("nan")), ValueError, "is not a time"),
                (dict(start=5, end=5), ValueError, "not after its beginning"),
                (dict(where=5), TypeError, "not a function"), (dict(losses="x"), ValueError, "losses: 'x'"),
                (dict(other=1), TypeError, "other")):
            fails(kind, words, lambda: posixtrace.open("rows.log", **more))
        log = posixtrace.open("rows.log")
        fails(KeyError, "no event type 'none'", lambda: log.columns("none"))
        fails(KeyError, "row has no field 'none'", lambda: log.columns("row", "none"))
        fails(TypeError, "not a name", lambda: log.columns(5))
        fails(TypeError, "not a name", lambda: log.columns("row", 5))
        fails(ValueError, "of another log", lambda: log.columns(posixtrace.open("rows.log").types[-1]))
        fails(ValueError, "129 columns are more than 128", lambda: log._rows(log.types[-1], [(-1, "Q")] * 129))
        fails(ValueError, "2 event types have the name 'a'", lambda: posixtrace.open("a.log", "b.log").columns("a"))
        fails(TypeError, "", posixtrace.LogEvent)
        fails(TypeError, "", posixtrace.LogType)
        fails(AttributeError, "", lambda: setattr(next(iter(log)), "time", 5))
        fails(AttributeError, "'number' is a field: event['number']", lambda: next(iter(log)).number)
        fails(AttributeError, "no attribute 'none'", lambda: next(iter(log)).none)
        # The exception of a function comes through, and reading goes on.
        log = posixtrace.open("rows.log", where=lambda e: e["number"] < 3 or 1 / 0, events="row")
        fails(ZeroDivisionError, "", lambda: list(log))
        fails(ZeroDivisionError, "", lambda: log.columns("row"))
        fails(ZeroDivisionError, "", lambda: log.columns("row", "text"))
        iterator = iter(log)
        assert [next(iterator)["number"] for i in range(3)] == [0, 1, 2]
        # Neither can a method __del__, which the garbage collector runs in the midst of an allocation.
        class Closes:
            def __del__(self):
                try:
                    log.close()
                except RuntimeError as error:
                    refused.append(str(error))

        refused = []
        gc.set_threshold(1)
        for i in range(200):
            log = posixtrace.open("typed.log")
            try:
                for e in log:
                    cycle = Closes()
                    cycle.cycle = cycle
                    del cycle
                log.types, log.counts, log.processes, log.about, log.threads, log.scan()
            except ValueError as error:
                assert str(error) == "the log is closed", error
        gc.set_threshold(700)
        # A function cannot use the log that it is asked for.
        for use in (lambda e: log.close(), lambda e: next(iterator), lambda e: iter(log), lambda e: log.types,
                    lambda e: log.columns("row"), lambda e: log.scan()):
            log = posixtrace.open("rows.log", where=use)
            iterator = iter(log)
            fails(RuntimeError, "open it once more", lambda: next(iterator))
            fails(RuntimeError, "open it once more", lambda: log.columns("row", "number"))
            log.close()
        ''', traced=False)


def test_closed():
    """A log that is closed, or read anew, while it is iterated over."""
    python('''
        import posixtrace
        log = posixtrace.open("rows.log")
        found = []
        try:
            for e in log:
                found.append(e)
                if len(found) == 5:
                    log.close()
        except ValueError as error:
            assert str(error) == "the log is closed"
        else:
            raise AssertionError("no error")
        assert len(found) == 5 and found[0]["number"] == 0 and found[0].fields["text"] == "text0"
        log.close()
        for use in (lambda: iter(log), lambda: log.types, lambda: log.about, lambda: log.threads, lambda: log.processes,
                    lambda: log.columns("row"), lambda: log.scan(), lambda: log.counts):
            try:
                use()
            except ValueError as error:
                assert str(error) == "the log is closed"
            else:
                raise AssertionError("no error")
        assert log.losses == [] and log.complete is None
        log = posixtrace.open("rows.log")
        for use in (lambda: iter(log), lambda: log.scan(), lambda: log.columns("row", "number")):
            first = iter(log)
            assert next(first)["number"] == 0
            use()
            try:
                next(first)
            except RuntimeError as error:
                assert "another iteration" in str(error)
            else:
                raise AssertionError("no error")
        # Tables do not disturb.
        iterator = iter(log)
        next(iterator)
        log.types, log.threads, log.processes, log.about, log.losses, log.counts
        assert len(list(iterator)) == 1099 and list(iterator) == []
        # An event outlives all.
        e = next(iter(posixtrace.open("rows.log")))
        assert e["text"] == "text0" and e.type.name == "row"
        ''', traced=False)


def test_references():
    """Nothing is lost or kept, whatever happens: references, memory, descriptors."""
    python('''
        import gc
        import os
        import pathlib
        import posixtrace
        import sys
        import warnings

        class Bad:
            def __bool__(self): raise ValueError

        where = lambda e: e["number"] % 2
        bad = lambda e: Bad()
        data = pathlib.Path("rows.log").read_bytes()
        objects = [where, bad, data]
        warnings.simplefilter("ignore")

        def attempt(do, *arguments, **more):
            try:
                with posixtrace.open(*arguments, **more) as log:
                    do(log)
            except (ValueError, TypeError, KeyError, OSError, posixtrace.LossError):
                pass

        def half(log):
            for i, e in enumerate(log):
                if i == 50:
                    return e.fields, e.rest, e.get("none"), repr(e)

        def use():
            attempt(list, "typed.log")
            attempt(half, data)
            attempt(list, "lost.log", losses="items")
            attempt(list, "lost.log", losses="raise")
            attempt(list, "rows.log", where=where, events="row")
            attempt(list, "rows.log", where=bad)
            attempt(list, data, events=5)
            attempt(list, "none.log")
            attempt(list, b"not a log")
            attempt(lambda log: log.columns("row"), data, where=where, events="row")
            attempt(lambda log: log.columns("row"), data, where=bad)
            attempt(lambda log: log.columns("row", "number", "text"), data)
            attempt(lambda log: log.columns("row", "none"), data)
            attempt(lambda log: log.columns("typed"), "typed.log")
            attempt(lambda log: (log.types, log.counts, log.threads, log.processes, log.about, log.scan()), "exec.log")
            log = posixtrace.open("rows.log", where=lambda e: log)  # a cycle
            iterator = iter(log)
            next(iterator)
            log.iterator = iterator

        for i in range(3):
            use()
        gc.collect()
        before, blocks = [sys.getrefcount(o) for o in objects], sys.getallocatedblocks()
        descriptors = len(os.listdir("/proc/self/fd"))
        for i in range(30):
            use()
        gc.collect()
        assert [sys.getrefcount(o) for o in objects] == before, before
        assert sys.getallocatedblocks() - blocks < 100, sys.getallocatedblocks() - blocks
        assert len(os.listdir("/proc/self/fd")) == descriptors
        ''', traced=False)


def test_threads():
    """Threads with logs of their own, and threads that use one log: an error at most, and no harm."""
    python('''
        import posixtrace
        import threading

        results, errors = [], []

        def own():
            with posixtrace.open("rows.log") as log:
                for i in range(5):
                    results.append((sum(e["number"] for e in log if e.name == "row"),
                                    sum(log.columns("row", "number")["number"])))

        def together():
            for i in range(20):
                try:
                    for e in shared:
                        pass
                    shared.columns("row", "number")
                    shared.scan()
                except RuntimeError as error:
                    errors.append(str(error))

        shared = posixtrace.open("many.log")
        for target in own, together:
            threads = [threading.Thread(target=target) for i in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert results == [(499500, 499500)] * 20
        assert all("open it once more" in error for error in errors), errors
        assert len(list(shared)) == 44000
        ''', traced=False)


def test_import():
    """Programs that only record load nothing that reads."""
    python('''
        import pathlib
        import sys
        import posixtrace
        loaded = [name for name in sys.modules if name.startswith("posixtrace.")]
        assert sorted(loaded) == ["posixtrace._layout", "posixtrace._posixtrace"], loaded
        assert "posixtrace-log" not in pathlib.Path("/proc/self/maps").read_text()
        assert "open" in dir(posixtrace) and "open" not in posixtrace.__all__ and "Log" in posixtrace.__all__
        posixtrace.open("rows.log")
        assert "posixtrace._log" in sys.modules
        ''', traced=False)


Suite(globals()).main(prepare)
