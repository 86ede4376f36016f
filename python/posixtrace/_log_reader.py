#
# _log_reader.py - posixtrace.open(), posixtrace.live(): the events of logs and processes, as objects and as columns
#
# docs/python.md. Loaded when a program reads; the extension _log does the reading.
#
# SPDX-License-Identifier: MIT

import array
import datetime
import errno
import io
import os
import types
import warnings
from typing import NamedTuple

from . import _log
from ._log import LogEvent, LogType

_EVER = 2**64 - 1
_STANDARD = {'time': -1, 'pid': -2, 'tid': -3, 'address': -4, 'length': -5, 'source': -6, 'thread': -8}
_CODES = {'float': 'd', 'signed': 'q'}
_REASONS = {'lost': 'the stream lost them', 'stopped': 'recording stopped because the stream was full',
            'overwritten': 'newer events took their place', 'discarded': 'the log was full',
            'unwritten': 'the log could not be written', 'damaged': 'the log is damaged',
            'open': 'the log was not closed'}


class LossWarning(UserWarning):
    """Events of a log are missing."""


class LossError(Exception):
    """Events of a log are missing, and the log was opened with losses="raise"."""


class Field(NamedTuple):
    """A field of an event type."""

    name: str
    unit: str
    kind: str
    size: int
    array: bool
    count: int
    labels: dict
    bits: bool


class Meaning(NamedTuple):
    """What the layout and the name of an event type say of its events. Fields are named; None: none."""

    begin: str
    end: str
    span: str
    took: str
    by: str
    counters: tuple
    send: str
    receive: str
    level_field: str
    level: str


class Loss(NamedTuple):
    """Events that are missing at this place."""

    time: int
    relative: int
    reason: str
    count: int
    at_least: bool
    start: int
    end: int
    source: int

    def __str__(self):
        if self.at_least:
            count = f'at least {self.count} events are' if self.count else 'events may be'
        else:
            count = f'{self.count} event{" is" if self.count == 1 else "s are"}'
        return f'{count} missing at {self.relative / 1e9:.9f} s: {_REASONS.get(self.reason, self.reason)}'


class Module(NamedTuple):
    """A piece of a file that a process has mapped."""

    start: int
    end: int
    offset: int
    time: int
    path: str
    build_id: bytes


class Process(NamedTuple):
    """A process with events, or that a log describes."""

    pid: int
    parent: int
    time: int
    executable: str
    name: str
    command: list
    machine: int
    modules: list


class Thread(NamedTuple):
    """A thread that has recorded events."""

    pid: int
    tid: int
    name: str
    events: int
    machine: int


class About:
    """Where a log comes from, and what is missing from it."""

    def __init__(self, values):
        self.__dict__.update(values)

    def __repr__(self):
        return f'<posixtrace.About {self.path} {self.name}>'


class Column(array.array):
    """Numbers of many events: an array.array that pandas takes without a copy, too."""

    __slots__ = ()

    def __array__(self, dtype=None, copy=None):
        import numpy

        values = numpy.frombuffer(self, self.typecode) if len(self) else numpy.empty(0, self.typecode)
        return values if dtype is None and not copy else numpy.array(values, dtype)


def _texts(what, value):
    """Returns patterns as a tuple."""
    values = () if value is None else (value,) if isinstance(value, str) else tuple(value)
    for one in values:
        if not isinstance(one, str):
            raise TypeError(f'{what}: {one!r} is not a str')
        if '\0' in one:
            raise ValueError(f'{what}: {one!r} has a null')
    return values


def _numbers(what, value):
    """Returns ids as a tuple."""
    values = () if value is None else (value,) if isinstance(value, int) else tuple(value)
    for one in values:
        if not isinstance(one, int):
            raise TypeError(f'{what}: {one!r} is not an int')
        if not 0 <= one < 2**32:
            raise ValueError(f'{what}: {one} is not from 0 to {2**32 - 1}')
    return values


def _time(what, value, otherwise):
    """Returns nanoseconds since 1970."""
    if value is None:
        return otherwise
    if isinstance(value, datetime.datetime):
        since = value.astimezone(datetime.timezone.utc) - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
        value = (since.days * 86400 + since.seconds) * 10**9 + since.microseconds * 1000
    elif isinstance(value, float):
        try:
            value = round(value * 1e9)
        except (OverflowError, ValueError):
            raise ValueError(f'{what}: {value} is not a time') from None
    elif not isinstance(value, int):
        raise TypeError(f'{what}: {value!r} is not an int (ns), a float (s) or a datetime')
    if not 0 <= value <= _EVER:
        raise ValueError(f'{what}: {value} ns is not a time from 1970 on')
    return value


def _nanoseconds(what, seconds):
    """Returns a time to wait; -1: no limit."""
    if seconds is None:
        return -1
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        raise TypeError(f'{what}: {seconds!r} is not a number of seconds')
    if not 0 <= seconds < 2**33:
        raise ValueError(f'{what}: {seconds} is not a number of seconds from 0 on')
    return round(seconds * 10**9)


def _size(what, value, most):
    """Returns a number of bytes."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f'{what}: {value!r} is not an int')
    if not 0 <= value <= most:
        raise ValueError(f'{what}: {value} is not from 0 to {most}')
    return value


def _is_file(log):
    """Returns whether a file object has the bytes of its descriptor's file, as a gzip.GzipFile has not."""
    log = getattr(log, 'buffer', log)
    return isinstance(getattr(log, 'raw', log), io.FileIO)


class Log(_log.Reader):
    """Logs and processes whose events are merged by time; made by posixtrace.open() and posixtrace.live()."""

    def __init__(self, logs, add, events, pid, tid, thread, start, end, where, losses, system):
        if losses not in ('warn', 'items', 'raise', 'ignore'):
            raise ValueError(f'losses: {losses!r} is not "warn", "items", "raise" or "ignore"')
        if where is not None and not callable(where):
            raise TypeError(f'where: {where!r} is not a function, such as lambda event: event["id"] > 1')
        self._time = _time('start', start, 0), _time('end', end, _EVER)
        self._chosen = (_texts('events', events), _texts('thread', thread), _numbers('pid', pid),
                        _numbers('tid', tid), *self._time, where, bool(system))
        # A list without anything selects nothing.
        if any(value is not None and not chosen for value, chosen in zip((events, thread, pid, tid), self._chosen)):
            self._chosen = (('!*',), *self._chosen[1:])
        self._mode = losses
        self._met = []       # the losses of this pass
        self._all = None     # all losses, once they are known
        self._warned = False
        self._names = []
        for log in logs:
            add(self, log)
        self._select(*self._chosen)

    def _add(self, log):
        name = None
        if isinstance(log, (str, os.PathLike)):
            name = os.fspath(log)
            name = os.fsdecode(name)
            self._add_path(os.fsencode(name))
            self._names.append(name if name != '-' else 'standard input')
            return
        if isinstance(log, bool):
            raise TypeError(f'{log!r} is not a log')
        if hasattr(log, 'read') and not _is_file(getattr(log, 'file', log)):
            name, log = getattr(log, 'name', None), log.read()
            if not isinstance(log, bytes):
                raise TypeError('a file with a log has to be opened in binary mode')
        if isinstance(log, (bytes, bytearray, memoryview)):
            name = name if isinstance(name, str) else 'log in memory'
            self._add_memory(log, os.fsencode(name))
        elif isinstance(log, int):
            name = f'descriptor {log}'
            self._add_fd(log, os.fsencode(name))
        elif hasattr(log, 'fileno'):
            name = getattr(log, 'name', None)
            name = name if isinstance(name, str) else f'descriptor {log.fileno()}'
            self._add_fd(log.fileno(), os.fsencode(name))
        else:
            raise TypeError(f'{log!r} is not a path, a file, a descriptor or bytes')
        self._names.append(name)

    # For type hints: Log[LogEvent].
    __class_getitem__ = classmethod(types.GenericAlias)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def __repr__(self):
        return f'<posixtrace.Log {" ".join(self._names)}{" (closed)" if self.closed else ""}>'

    def __iter__(self):
        """Begins at the first event; of running processes, at the next one."""
        iterator = super().__iter__()
        if not self.live:
            self._met, self._warned = [], False
        return iterator

    def wait(self, timeout=None):
        """Waits up to timeout seconds for an event of a process, or its end. Returns whether there is one of them."""
        return self._wait(_nanoseconds('timeout', timeout))

    # -- What is missing ------------------------------------------------------------------------------------

    def _tell(self, loss):
        """Called for a loss in an iteration, and with None at its end. Returns what the iteration yields, or None."""
        if loss is None:
            if self._time == (0, _EVER):
                self._all = self._met
            return None
        self._met.append(loss)
        if self._mode == 'items':
            return loss
        self._say(loss, 3)
        return None

    def _say(self, loss, level):
        text = f'{self._names[loss.source]}: {loss}'
        if self._mode == 'raise':
            raise LossError(text)
        if self._mode != 'ignore' and not self._warned:
            self._warned = True
            warnings.warn(f'{text} (Log.losses has all; open(..., losses="items") yields them)', LossWarning,
                          stacklevel=level)

    def _find_losses(self):
        """Finds all losses. Goes back to the first event."""
        if self._all is not None:
            return
        if self.live:
            raise ValueError(f'{", ".join(self._names)}: the events of a running process can be read only once')
        self._select(('!*',), (), (), (), 0, _EVER, None, False)
        try:
            self._all = self._scan()
        finally:
            self._select(*self._chosen)

    @property
    def losses(self):
        """The losses that were met so far; after scan() or a whole iteration: all."""
        return list(self._all if self._all is not None else self._met)

    @property
    def complete(self):
        """Whether no events are missing; None: not known before scan(), or a whole iteration without start and end."""
        if self._met:
            return False
        return None if self._all is None else not self._all

    def scan(self):
        """Reads all logs to their ends, for losses, threads, processes and numbers of events. Iterations end."""
        self._all = None if not self.live else self._all
        self._find_losses()
        return self

    # -- Tables -----------------------------------------------------------------------------------------------

    @property
    def about(self):
        """An About for each log."""
        return [About(values) for values in self._abouts()]

    @property
    def types(self):
        """All event types."""
        return self._types()

    @property
    def counts(self):
        """A dict of the numbers of events read so far, by LogType."""
        return dict(zip(self._types(), self._counts()))

    @property
    def processes(self):
        """The processes that the logs describe, and those with events read so far."""
        return [Process(*first, command.split('\0')[:-1] if command.endswith('\0') else command.split('\0') if command
                        else [], machine, [Module(*module) for module in modules])
                for *first, command, machine, modules in self._processes()]

    @property
    def threads(self):
        """The threads with events read so far."""
        return [Thread(*values) for values in self._threads()]

    # -- Columns ------------------------------------------------------------------------------------------------

    def _type(self, event):
        if isinstance(event, LogType):
            return event
        if not isinstance(event, str):
            raise TypeError(f'{event!r} is not a name of an event or a LogType')
        found = [one for one in self._types() if one.name == event]
        if not found:
            raise KeyError(f'{", ".join(self._names)}: there is no event type {event!r}')
        if len(found) > 1:
            raise ValueError(f'{len(found)} event types have the name {event!r}: give one of Log.types')
        return found[0]

    def columns(self, event, /, *names):
        """Returns a dict of the values of all events of a type; without names: the time and all fields.

        Numbers are in a Column, which supports the buffer protocol; texts, bytes and arrays are in a list.
        """
        if self.live:
            raise ValueError(f'{", ".join(self._names)}: columns() needs logs: iterate over the events of a process')
        kind = self._type(event)
        fields = {field.name: (index, field) for index, field in enumerate(kind.fields)}
        if not names:
            names = ('.time' if 'time' in fields else 'time', *fields)
        numbers, others = {}, {}
        for name in names:
            if not isinstance(name, str):
                raise TypeError(f'{name!r} is not a name of a column')
            index, field = fields.get(name, (_STANDARD.get(name[1:] if name[:1] == '.' else name), None))
            if index is None:
                raise KeyError(f'{kind.name} has no field {name!r}')
            if field and (field.array or field.kind in ('text', 'bytes')):
                others[name] = [None, name]
            else:
                numbers[name] = index, _CODES.get(field.kind, 'Q') if field else 'Q'
        columns = {name: Column(code) for name, (_, code) in numbers.items()}
        lacking = self._fill(kind, numbers, columns)
        for name in others:
            columns[name] = []
        if others:
            lacking += self._collect(kind, {name: columns[name] for name in others})
        self._report(kind, lacking, numbers)
        return {name: columns[name] for name in names}

    def _fill(self, kind, numbers, columns):
        """Fills the columns of numbers. Returns the names of those with events that lack the value."""
        lacking = {}
        self._rewind()
        while numbers:
            rows, chunks = self._rows(kind, list(numbers.values()))
            if not rows:
                break
            for (name, column), (values, present) in zip(columns.items(), chunks):
                before = len(column)
                column.frombytes(values)
                at = present.find(0)
                while at >= 0:
                    lacking[name] = True
                    if column.typecode == 'd':
                        column[before + at] = float('nan')
                    at = present.find(0, at + 1)
        return list(lacking)

    def _collect(self, kind, columns):
        """Fills the columns of other values, event by event. Returns the names of those that some events lack."""
        lacking = {}
        fill = [(name, column.append) for name, column in columns.items()]
        events, threads, pids, tids, start, end, where, _ = self._chosen
        mode, self._mode, self._met = self._mode, 'ignore', []
        self._select(events, threads, pids, tids, start, end, where, True)
        try:
            for event in super().__iter__():
                if event.type is kind:
                    for name, append in fill:
                        value = event.get(name)
                        append(value)
                        if value is None:
                            lacking[name] = True
        finally:
            self._mode = mode
            self._select(*self._chosen)
        return list(lacking)

    def _report(self, kind, lacking, numbers):
        """Tells of losses, and of events without a value, after columns were read."""
        if self._all is None and self._time == (0, _EVER) and numbers and not self._losses_met():
            self._all = []  # the logs were read to their ends
        self._find_losses()
        self._rewind()
        start, end = self._time
        self._met = [loss for loss in self._all if loss.start < end and (loss.end == 0 or loss.end >= start)]
        self._warned = False
        for loss in self._met[:1]:
            self._say(loss, 4)
        if lacking and self._mode in ('warn', 'items'):
            warnings.warn(f'{", ".join(self._names)}: some events of {kind.name} were cut, and have no value for '
                          f'{", ".join(lacking)}: it is 0, NaN or None there', LossWarning, stacklevel=3)
        elif lacking and self._mode == 'raise':
            raise LossError(f'{", ".join(self._names)}: some events of {kind.name} were cut, and have no value for '
                            f'{", ".join(lacking)}')


def open(*logs, events=None, pid=None, tid=None, thread=None, start=None, end=None, where=None, losses='warn',
         system=False):
    """Opens logs, whose events are merged by time.

    A log is a path ("-": standard input), a file, a descriptor, or bytes. events, thread: patterns of names. pid, tid:
    numbers. start, end: times, as int (ns), float (s) or datetime. where: a function that is called with an event.
    losses: "warn", "items", "raise" or "ignore". system: also events of the recording itself.
    """
    if not logs:
        raise TypeError('open() needs a log; live(pid) reads a running process')
    return Log(logs, Log._add, events, pid, tid, thread, start, end, where, losses, system)


def live(*processes, timeout=None, children=False, stream_size=0, data_size=0, despite_seccomp=False, events=None,
         tid=None, thread=None, end=None, where=None, losses='warn', system=False):
    """Records running processes from now on, and reads their events as they come, merged by time.

    A process is a process id, or has one in its attribute pid, like subprocess.Popen. timeout: seconds without an event
    after which an iteration ends; the next one goes on. children: also those that a process starts from now on.
    stream_size: bytes of shared memory for events not read yet. data_size: bytes of an event's data that are kept.
    despite_seccomp: also processes with a seccomp filter, which may kill them. The others as for open().
    """
    if not processes:
        raise TypeError('live() needs a process id')
    how = (_size('stream_size', stream_size, _EVER), _size('data_size', data_size, 65535), bool(children),
           bool(despite_seccomp))
    wait = _nanoseconds('timeout', timeout)

    def add(log, process):
        pid = getattr(process, 'pid', process)
        if isinstance(pid, bool) or not isinstance(pid, int):
            raise TypeError(f'{process!r} is not a process id')
        if not 0 < pid < 2**31:
            raise ProcessLookupError(errno.ESRCH, f'{pid}: there is no such process')
        log._add_live(pid, *how)
        log._names.append(f'process {pid}')

    log = Log(processes, add, events, None, tid, thread, None, end, where, losses, system)
    log._set_timeout(wait)
    return log


_log.setup(Field, Loss, Meaning, Log._tell)
