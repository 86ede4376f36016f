#
# record.py - posixtrace record and event, as a person uses them: real programs, terminals, crashes, full disks
#
#     record.py POSIXTRACE STEPS [TEST...]
#
# SPDX-License-Identifier: MIT

import contextlib
import fcntl
import glob
import json
import os
import pty
import re
import resource
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / 'log'))
import decode  # noqa: E402
from scene import can_mount, has_terminals, without_pidfd  # noqa: E402

POSIXTRACE, STEPS = (str(Path(path).resolve()) for path in sys.argv[1:3])
LIMIT = 20 * int(os.environ.get('TEST_SLOW', 1))
USER = 63  # ids of user event types begin here


def equal(a, b):
    if a != b:
        raise AssertionError(f'{a!r} is not {b!r}')


def contains(text, *parts):
    for part in parts:
        if part not in text:
            raise AssertionError(f'{part!r} is not in {text!r}')


def lacks(text, *parts):
    for part in parts:
        if part in text:
            raise AssertionError(f'{part!r} is in {text!r}')


class Log:
    """A log as docs/log-format.md has it; names and numbers of user events in order."""

    def __init__(self, path='posixtrace.log', complete=True):
        with open(path, 'rb') as file:
            log = decode.Log(file.fileno())
            types = dict(log.rows(decode.TYPES, decode.read_types))
            self.events = [e for e in log.events() if e.type >= USER]
            self.names = [types[e.type].decode() for e in self.events]
            self.numbers = [struct.unpack('<I', e.data)[0] for e in self.events if len(e.data) == 4]
            self.lost = log.index[1] if log.index else None
            if complete and log.index is None:
                raise AssertionError(f'{path} is not complete')

    def count(self, name):
        return self.names.count(name)


class Run:
    def __init__(self, *arguments, **options):
        self.process = subprocess.Popen([POSIXTRACE, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, **options)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for file in (self.process.stdin, self.process.stdout, self.process.stderr):
            if file:
                with contextlib.suppress(OSError):
                    file.close()

    def line(self):
        """Waits for the next line that the command writes, and returns it."""
        ready, _, _ = select.select([self.process.stdout], [], [], LIMIT)
        assert ready, 'nothing comes'
        return self.process.stdout.readline().strip()

    def message(self):
        ready, _, _ = select.select([self.process.stderr], [], [], LIMIT)
        assert ready, 'no message comes'
        return self.process.stderr.readline()

    def go(self):
        self.process.stdin.write('\n')
        self.process.stdin.flush()

    def close_input(self):
        self.process.stdin.close()
        self.process.stdin = None

    def end(self, status=0):
        out, err = self.process.communicate(timeout=LIMIT)
        equal((self.process.returncode, err if self.process.returncode != status else ''), (status, ''))
        return out, err


def record(*arguments, status=0, **options):
    """Standard output and standard error of a recording that ends by itself."""
    with Run('record', *arguments, **options) as run:
        return run.end(status)


def until(true, what):
    end = time.monotonic() + LIMIT
    while not true():
        assert time.monotonic() < end, f'never: {what}'
        time.sleep(0.01)


def seen(pid, what):
    """What `list` says of a process, as soon as it satisfies what is asked for."""
    def satisfies():
        done = subprocess.run([POSIXTRACE, 'list', '--json', '--events', '-p', str(pid)], capture_output=True,
                              timeout=LIMIT, check=False)
        return done.returncode == 0 and any(process['process'] and what(process) for process in json.loads(done.stdout))

    until(satisfies, 'the process as it is wanted')


def recorded(pid, streams=1):
    """So many streams of recorders are running."""
    seen(pid, lambda process: sum('running' in stream['status'] for stream in process['streams']) >= streams)


def traced(pid, streams=1):
    """And the process, which is busy, has seen as many."""
    recorded(pid, streams)
    until(lambda: len(set(re.findall(r'/stream-\S*', Path(f'/proc/{pid}/maps').read_text()))) >= streams, 'the stream')


def child_of(pid):
    def children():
        return Path(f'/proc/{pid}/task/{pid}/children').read_text().split()

    until(children, 'a child')
    return int(children()[0])


# -- Commands ---------------------------------------------------------------------------------------


def test_from_the_first_event():
    out, err = record('--', STEPS, 'first*100', 'say:hello', 'second')
    equal(out, 'hello\n')
    log = Log()
    equal(log.numbers, list(range(101)))
    equal(log.names, ['first'] * 100 + ['second'])
    equal(log.lost, 0)
    contains(err, 'posixtrace.log: 10')


def test_what_it_executes():
    """Where the program lies is in the log, although it ends before its events are written."""
    with Run('record', '-q', '--', STEPS, 'a', 'say:there', 'read') as run:
        run.line()
        time.sleep(0.3)
        run.go()
        run.end()
    lines = [line.split() for line in decode.decode('posixtrace.log',
        lambda log: log.rows(decode.PROCESS, decode.read_process))]
    address = Log().events[0].address
    equal({line[-1] for line in lines if line[0] == 'mapping' and int(line[1], 16) <= address < int(line[2], 16)},
          {STEPS})


class Process:
    """What the frames PROCESS say of each process id, the last one counts."""

    def __init__(self, rows):
        self.executable, self.command, self.parent, self.mappings = '', '', 0, []
        for row in rows:
            what, rest = row.split(' ', 1)
            if what == 'mapping':
                self.mappings.append(rest.split(' ', 4))
            elif what == 'process':
                self.executable = rest.split(' ', 2)[2]
            elif what == 'parent':
                self.parent = int(rest)
            else:
                self.command = rest

    def where(self, address):
        return [(build, path) for start, end, _, build,
                path in self.mappings if int(start, 16) <= address < int(end, 16)]


def processes(path='posixtrace.log'):
    found = {}
    for row in decode.decode(path, lambda log: log.rows(decode.PROCESS, decode.read_process)):
        if row.startswith('process '):
            pid = int(row.split()[1])
        found.setdefault(pid, []).append(row)
    return {pid: Process(rows) for pid, rows in found.items()}


def build_id_of(path):
    notes = subprocess.run(['readelf', '-n', path], capture_output=True, text=True, check=False).stdout
    return next(iter(re.findall(r'Build ID: ([0-9a-f]+)', notes)), '-')


def with_libraries():
    """An environment for a copy of the program, and where $ORIGIN cannot be told: it finds the library all the same."""
    found = subprocess.run(['ldd', STEPS], capture_output=True, text=True, check=False).stdout
    folder = next(iter(re.findall(r'libposixtrace\S* => (\S+)/', found)), '/')
    return {**os.environ, 'LD_LIBRARY_PATH': folder}


def check_identity(path, log_path='posixtrace.log', names=('a',), arguments=None, parents=None):
    """All that identifies the processes of these events is in the log."""
    found, log = processes(log_path), Log(log_path, complete=False)
    build_id = build_id_of(path)
    pids = {e.pid for e, name in zip(log.events, log.names) if name in names}
    assert pids, 'no events'
    for event, name in zip(log.events, log.names):
        if name in names:
            process = found.get(event.pid, Process([]))
            equal((process.executable, set(process.where(event.address))), (path, {(build_id, path)}))
            equal(process.command.split(' ')[0], path)
            if arguments:
                equal(process.command, ' '.join([path, *arguments]))
            if parents:
                assert process.parent in parents, f'parent {process.parent}'
    # Nothing is said of what the recorder's child was before it became the command.
    for pid in pids:
        lacks(' '.join(path for *_, path in found[pid].mappings), POSIXTRACE)
    return pids


def test_ends_at_once():
    """Of a program that ends before anybody can look at it the log has all that identifies it, each time."""
    for i in range(20):
        with Run('record', '-q', '--', STEPS, 'a*3') as run:
            recorder = run.process.pid
            run.end()
        check_identity(STEPS, arguments=['a*3'], parents={recorder})
    out = subprocess.run([POSIXTRACE, 'stat', '--show', 'processes', 'posixtrace.log'], capture_output=True, text=True,
                         check=True).stdout
    contains(out, STEPS)


def test_children_end_at_once():
    """Records more children than there are entries, at once and in sequence; and a program that executes another."""
    record('-q', '--children', '--', 'sh', '-c', f'for i in 1 2 3 4 5 6; do {STEPS} a & done; wait')
    equal(len(check_identity(STEPS)), 6)
    copy = shutil.copy(STEPS, str(Path('copy').resolve()))
    record('-q', '--children', '--', 'sh', '-c', f'i=0; while [ $i -lt 40 ]; do {STEPS} a; {copy} b; i=$((i+1)); done',
           env=with_libraries())
    equal(len(check_identity(STEPS)), 40)
    equal(len(check_identity(copy, names=('b',))), 40)
    record('-q', '--children', '-s', '64K', '--', 'sh', '-c',
           f'i=0; while [ $i -lt 60 ]; do {STEPS} a; i=$((i+1)); done')
    equal(len(check_identity(STEPS)), 60)


def test_killed_at_once():
    """And where both the program and the recorder are killed: who completes the log finds it."""
    with Run('record', '-q', '--', STEPS, 'a*50', 'say:there', 'read') as run:
        run.line()
        run.process.kill()
        run.process.wait(LIMIT)
        run.process.stdin.close()
    time.sleep(0.1)
    record('-q', '-o', 'other.log', '--', STEPS, 'b')
    check_identity(STEPS)


def test_flight_recorder_knows_processes():
    """The log is written in the end only, when the children have long ended."""
    record('-q', '--loop', '--children', '--', 'sh', '-c', f'{STEPS} a; {STEPS} a; sleep 0.3')
    equal(len(check_identity(STEPS)), 2)


def test_rotation_knows_processes():
    """A process that goes on is described in each file."""
    with Run('record', '-q', '--children', '--rotate', '8K', '-o', 'r', '--', 'sh', '-c',
             f'{STEPS} each:30:tick; true') as run:
        until(lambda: len(files_of('r')) >= 3, 'rotation')
        run.go()
        run.end()
    for path in files_of('r'):
        check_identity(STEPS, log_path=path, names=('tick',))


def test_identity_without_proc():
    """Identifies a process without /proc by the kernel's auxiliary vector: the executable and its address."""
    if not can_mount():
        return 'no namespaces here'
    script = f'mount -t tmpfs none /proc && exec {STEPS} say:there read a'
    with subprocess.Popen(['unshare', '-m', 'sh', '-c', script], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True,
                          env=with_libraries()) as target:
        equal(target.stdout.readline(), 'there\n')
        with Run('record', '-q', '-p', str(target.pid)) as run:
            recorded(target.pid)
            target.stdin.write('\n')
            target.stdin.flush()
            run.end()
    found, event = processes(), Log().events[0]
    equal(found[event.pid].executable, STEPS)
    equal(set(found[event.pid].where(event.address)), {(build_id_of(STEPS), STEPS)})
    return None


def test_exit_status():
    record('-q', '--', STEPS, 'a', 'exit:3', status=3)
    record('-q', '--', STEPS, 'a', f'kill:{signal.SIGKILL:d}', status=128 + signal.SIGKILL)
    equal(Log().names, ['a'])
    out, err = record('--', STEPS, 'a', f'kill:{signal.SIGSEGV:d}', status=128 + signal.SIGSEGV)
    contains(err, 'Segmentation fault')


def test_quiet():
    equal(record('-q', '--', STEPS, 'a'), ('', ''))


def test_no_command():
    record('-q', '--', STEPS, 'a')
    before = Path('posixtrace.log').read_bytes()
    out, err = record('--', 'no-such-command', status=127)
    contains(err, 'no-such-command', 'not found')
    Path('shop').write_text('#!/bin/sh\n')
    lacks(record('--', 'shop', status=127)[1], 'did you mean')
    os.chmod('shop', 0o755)
    contains(record('--', 'shop', status=127)[1], 'shop: command not found; did you mean ./shop?')
    record('--', './missing/file', status=127)
    Path('text').write_text('text')
    out, err = record('--', './text', status=126)
    contains(err, 'text', 'Permission denied')
    record('--', '.', status=126)
    record('--', './text/file', status=126)
    record('--', f'./{"x" * 300}', status=126)
    equal(Path('posixtrace.log').read_bytes(), before)
    record(status=2)
    record('--', status=2)
    record('--no-such-option', status=2)
    for wrong, why in ((['--rotat0=1M'], 'unknown option --rotat0; did you mean --rotate?'),
                       (['--log'], 'option --log is ambiguous: --log-policy or --log-size'),
                       (['--policy', 'x'], '--policy x: must be one of flush, loop or until-full'),
                       (['--no-such-option=1'], 'unknown option --no-such-option'), (['-x'], 'unknown option -x'),
                       (['--quiet', '-xq'], 'unknown option -x'),
                       (['--output=x', '-xq'], 'unknown option -x'), (['-qx'], 'unknown option -x'),
                       (['--children=1'], '--children takes no argument'),
                       (['--quiet=1'], '--quiet takes no argument'), (['--help=1'], '--help takes no argument'),
                       (['-o'], '-o needs an argument'),
                       (['--output'], '--output needs an argument'),
                       (['-p', '4144', '4156'], 'for several processes repeat -p')):
        out, err = record(*wrong, status=2)
        contains(err, 'record: ', why)
    for size in ('4 B', '4 ', ' 5', ' -5', '-5', '+5', '5KK', '5X', '5iB', 'K', ''):
        out, err = record('-s', size, '--', STEPS, 'a', status=2)
        contains(err, f'{size}: not a size')
    out, err = record('-s', '99999999T', '--', STEPS, 'a', status=2)
    contains(err, 'too large')
    for size in ('65536', '64k', '64KB', '64KiB'):
        record('-q', '-o', 'other.log', '-s', size, '--', STEPS, 'a')
    os.unlink('other.log')
    # It can be executed, but not be started: the interpreter is missing.
    Path('script').write_text('#!/no/such/interpreter\n')
    os.chmod('script', 0o755)
    record('-o', 'other.log', '--', './script', status=127)
    equal(os.path.exists('other.log'), False)
    # And what shells execute themselves.
    Path('script').write_text('exit 5\n')
    record('-q', '--', './script', status=5)


def test_as_without():
    """Signals, mask and descriptors are those that the command has without a recorder."""
    def odd():
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2, signal.SIGINT])

    plain = subprocess.run([STEPS, 'state'], capture_output=True, text=True, preexec_fn=odd, check=True).stdout
    contains(plain, f'ignored {signal.SIGHUP:d}\n', f'blocked {signal.SIGUSR2:d}\n')
    for options in ([], ['--loop'], ['--children', '--rotate', '1M']):
        equal(record('-q', *options, '--', STEPS, 'state', 'a', preexec_fn=odd)[0], plain)
    equal(Log().names, ['a'])


def test_signals_passed_on():
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        with Run('record', '-q', '--', STEPS, 'a', 'say:there', 'read') as run:
            equal(run.line(), 'there')
            run.process.send_signal(number)
            run.process.wait(LIMIT)
            run.end(128 + number)
        equal(Log().names, ['a'])
    # A command that ignores the signal continues, and is recorded to its end.
    with Run('record', '-q', '--', STEPS, f'ignore:{signal.SIGTERM:d}', 'a', 'say:there', 'read', 'b', 'exit:7') as run:
        run.line()
        run.process.send_signal(signal.SIGTERM)
        time.sleep(0.1)
        run.go()
        run.end(7)
    equal(Log().names, ['a', 'b'])


def in_terminal(*arguments, keys, when='there', program=POSIXTRACE):
    """With a terminal of its own; the keys are typed when the word has been written. What was written, and the
    status."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(program, [program, *arguments])
    fcntl.ioctl(terminal, 0x5414, struct.pack('HHHH', 24, 80, 0, 0))  # TIOCSWINSZ
    out, end = b'', time.monotonic() + LIMIT
    while time.monotonic() < end:
        if not select.select([terminal], [], [], 0.1)[0]:
            continue
        try:
            more = os.read(terminal, 4096)
        except OSError:
            break
        if not more:
            break
        out += more
        if keys and re.search(when.encode(), out):
            os.write(terminal, keys)
            keys = b''
    else:
        os.kill(pid, signal.SIGKILL)
    status = os.waitpid(pid, 0)[1]
    os.close(terminal)
    return out.decode(), os.waitstatus_to_exitcode(status)


def test_interrupt():
    if not has_terminals():
        return 'no terminals here'
    out, status = in_terminal('record', '--', STEPS, 'a*10', 'say:there', 'read', keys=b'\3')
    equal(status, 128 + signal.SIGINT)
    equal(Log().count('a'), 10)
    contains(out, 'posixtrace.log: 1')
    # A command that takes the key itself goes on, and so does the recording.
    out, status = in_terminal('record', '--', STEPS, f'ignore:{signal.SIGINT:d}', 'a', 'say:there', 'read', 'b',
                              'exit:4', keys=b'\3\n')
    equal(status, 4)
    equal(Log().names, ['a', 'b'])


def test_log_on_a_terminal():
    if not has_terminals():
        return 'no terminals here'
    out, status = in_terminal('record', '-o', '-', '--', STEPS, 'say:started', keys=b'')
    equal(status, 125)
    contains(out, 'a log to a terminal')
    lacks(out, 'started')
    out, status = in_terminal('record', '-o', '-', '-p', str(os.getpid()), keys=b'')
    equal(status, 1)
    contains(out, 'a log to a terminal')
    return None


def test_terminal_closed():
    """The recorder leads the session, as in a new window: so the kernel tells it alone that there is no terminal any
    more."""
    if not has_terminals():
        return 'no terminals here'
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(POSIXTRACE, [POSIXTRACE, 'record', '-q', '--', STEPS, 'a', 'say:there', 'wait:100000', 'never'])
    out = b''
    while b'there' not in out:
        assert select.select([terminal], [], [], LIMIT)[0], 'nothing comes'
        out += os.read(terminal, 4096)
    command = child_of(pid)
    os.close(terminal)
    try:
        until(lambda: os.waitpid(pid, os.WNOHANG)[0], 'the end')
    except AssertionError:
        for process in (command, pid):
            os.kill(process, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise
    equal(os.path.exists(f'/proc/{command}'), False)
    equal(Log().names, ['a'])
    return None


def test_progress_line():
    if not has_terminals():
        return 'no terminals here'
    out, status = in_terminal('record', '--progress', '--', STEPS, 'a*1000', 'say:there', 'read', keys=b'\n',
                              when=r'10\d\d events.*lost')
    equal(status, 0)
    contains(out, ' 0 lost', '/s')
    # Not where the command writes to the same terminal, unless it is asked for.
    out, status = in_terminal('record', '--', STEPS, 'a*1000', 'say:there', 'read', keys=b'\n')
    lacks(out, ' lost')
    # With a log in a pipe it does, on standard error.
    for option, shown in ('', False), ('--progress', True):
        script = f'{POSIXTRACE} record {option} -o - -- {STEPS} a*1000 say:there wait:800 | cat >log'
        out, status = in_terminal('-c', script, keys=b'', program='/bin/sh')
        equal((status, ' lost' in out), (0, shown))


def test_two_at_once():
    with Run('record', '--', STEPS, 'a*5', 'say:there', 'read', 'b*5') as one:
        one.line()
        out, err = record('--', STEPS, 'c', status=125)
        contains(err, 'posixtrace.log', 'another recorder', '-o')
        # The same program, by two.
        pid = child_of(one.process.pid)
        with Run('record', '-o', 'two.log', '-p', str(pid)) as two:
            recorded(pid, 2)
            one.go()
            one.end()
            two.end()
    equal(Log().names, ['a'] * 5 + ['b'] * 5)
    equal(Log('two.log').names, ['b'] * 5)


def test_what_is_no_log_stays():
    Path('notes.txt').write_text('not a log\n' * 100)
    out, err = record('-o', 'notes.txt', '--', STEPS, 'a', status=125)
    contains(err, 'notes.txt', 'not a log')
    equal(Path('notes.txt').read_text(), 'not a log\n' * 100)
    out, err = record('-o', 'no/such/folder', '--', STEPS, 'say:never', status=125)
    equal(out, '')
    contains(err, 'no/such/folder', 'there is no directory no\n')


def test_what_is_there_stays():
    """What turns out not to be possible overwrites nothing."""
    record('-q', '--', STEPS, 'a*5')
    with subprocess.Popen(['true']) as ended:
        pass
    out, err = record('-p', str(ended.pid), status=1)
    contains(err, 'no such process')
    equal(Log().names, ['a'] * 5)
    for content, mode in ('', 'wb'), ('header', 'ab'):
        Path('out').write_text(content)
        with open('out', mode) as file:
            run = subprocess.run([POSIXTRACE, 'record', '-q', '-o', '-', '--', STEPS, 'a'], stdout=file,
                                 stderr=subprocess.PIPE, text=True, timeout=LIMIT)
        equal(run.returncode, 125 if content else 0)
        if content:
            contains(run.stderr, 'not overwritten')
            equal(Path('out').read_text(), content)
        else:
            equal(Log('out').names, ['a'])


def test_log_before_is_kept():
    """FILE.old is the log before; a recording without an event of the program takes no log's place."""
    old = lambda: {path: [Log(path).names[0], len(Log(path).names)] for path in sorted(glob.glob('k*'))}
    record('-q', '-o', 'k', '--', STEPS, 'a*3')
    for empty in [STEPS], ['true'], [STEPS, 'b'], ['nosuchcommand'], ['/dev/null']:
        options = ['-e', 'x'] if empty[-1] == 'b' else []
        status = 127 if empty == ['nosuchcommand'] else 126 if empty == ['/dev/null'] else 0
        _, err = record('-q', '-o', 'k', *options, '--', *empty, status=status)
        equal(old(), {'k': ['a', 3]})
        if status == 0:
            contains(err, 'no events were recorded', 'k is the previous log, unchanged')
    record('-q', '-o', 'k', '--', STEPS, 'b*4')
    equal(old(), {'k': ['b', 4], 'k.old': ['a', 3]})
    record('-q', '-o', 'k', '--', 'true')
    equal(old(), {'k': ['b', 4], 'k.old': ['a', 3]})
    record('-q', '-o', 'k', '--', STEPS, 'c*5')
    equal(old(), {'k': ['c', 5], 'k.old': ['b', 4]})
    # After SIGKILL of the recorder both its log and the previous one are there.
    with Run('record', '-o', 'k', '--', STEPS, 'd*6', 'say:there', 'read', 'exit:0') as run:
        run.line()
        run.process.kill()
        run.process.wait(LIMIT)
        run.process.stdin.close()
    record('-q', '-o', 'k', '--', STEPS, 'e*7')
    equal(old(), {'k': ['e', 7], 'k.old': ['d', 6]})
    # What is no log does not go because a log comes by.
    Path('k.old').write_text('dear')
    _, err = record('-q', '-o', 'k', '--', STEPS, 'f', status=125)
    contains(err, 'k: k.old is not a log')
    equal([Path('k.old').read_text(), Log('k').names[0]], ['dear', 'e'])


def test_log_before_is_kept_without_events():
    """A recording with --rotate or --loop that has no event leaves all files as they were, whatever --keep says."""
    def files():
        return {path.name: path.read_bytes() for path in Path('.').glob('v*')}

    record('-o', 'v', '--', STEPS, 'a*5')
    for options in (['--rotate', '64K', '--keep', '1'], ['--loop', '--keep', '1']):
        before = files()
        for _ in range(3):
            _, err = record('-o', 'v', *options, '--', 'true')
            contains(err, 'no events were recorded', 'v is the previous log, unchanged')
            assert files() == before, (options, files().keys())


def test_into_a_pipe():
    with Run('record', '-o', '-', '--', STEPS, 'a*3', 'say:aside') as run:
        run.process.stdin.close()
        log = run.process.stdout.buffer.read()
        err = run.process.stderr.read()
        contains(err, 'aside\n')
        assert re.search(r'standard output: \d+ events, \d', err) and ': 0 events' not in err, err
        equal(run.process.wait(LIMIT), 0)
    Path('piped').write_bytes(log)
    equal(Log('piped').names, ['a'] * 3)


def test_into_a_fifo():
    os.mkfifo('fifo')
    with Run('record', '-o', 'fifo', '--', STEPS, 'a*3', 'exit:4') as run:
        time.sleep(0.1)
        with open('fifo', 'rb') as file:
            Path('log').write_bytes(file.read())
        run.end(4)
    equal(Log('log').names, ['a'] * 3)
    # While the FIFO has no reader, a signal ends the recorder and its command.
    for number in (signal.SIGINT, signal.SIGTERM):
        with Run('record', '-o', 'fifo', '--', 'touch', 'file') as run:
            command = child_of(run.process.pid)
            time.sleep(0.1)
            run.process.send_signal(number)
            equal(run.process.wait(LIMIT), -number)
            until(lambda: not os.path.exists(f'/proc/{command}')
                  or '\nState:\tZ' in Path(f'/proc/{command}/status').read_text(), 'its end')
    equal(os.path.exists('file'), False)


# -- Others -----------------------------------------------------------------------------------------


def test_attach():
    with subprocess.Popen([STEPS, 'each:1000:tick'], stdin=subprocess.PIPE) as target:
        record('-q', '-p', str(target.pid), '--duration', '200ms')
        first = Log().numbers
        os.unlink('posixtrace.log')
        with Run('record', '-p', str(target.pid)) as run:
            traced(target.pid)
            run.process.send_signal(signal.SIGINT)
            out, err = run.end()
        os.unlink('posixtrace.log')
        with Run('record', '-p', str(target.pid)) as run:
            traced(target.pid)
            target.stdin.close()
            target.wait(LIMIT)
            run.end()
    equal(first, list(range(first[0], first[0] + len(first))))
    out, err = record('-p', str(target.pid), status=1)
    contains(err, 'no such process')


def test_huge_executable():
    """One with a hole of terabytes does not hold the recorder up."""
    shutil.copy(shutil.which('sleep'), 'big')
    try:
        os.truncate('big', 8 << 40)
    except OSError:
        return
    with subprocess.Popen(['./big', '60']) as target:
        try:
            _, err = record('--duration', '100ms', '-p', str(target.pid))
            contains(err, 'no events were recorded')
        finally:
            target.kill()


def test_attach_without_pidfd():
    """Notices the end of a process that is still a zombie."""
    with subprocess.Popen([STEPS, 'each:1000:tick'], stdin=subprocess.PIPE) as target:
        with Run('record', '-q', '-p', str(target.pid), preexec_fn=without_pidfd) as run:
            until(lambda: os.path.exists('posixtrace.log') or run.process.poll() is not None, 'the log')
            if run.process.poll() == 77:
                target.kill()
                return 'no system calls can be refused here'
            traced(target.pid)
            target.kill()
            run.end()
    assert Log().count('tick') > 0
    return None


def test_attach_to_several():
    with contextlib.ExitStack() as stack:
        targets = [stack.enter_context(subprocess.Popen([STEPS, f'each:500:tick{i}'], stdin=subprocess.PIPE))
                   for i in range(3)]
        with Run('record', '-o', 'all', *(option for t in targets for option in ('-p', str(t.pid)))) as run:
            for target in targets:
                traced(target.pid)
            for target in targets:
                target.stdin.close()
                target.wait(LIMIT)
            run.end()
        for i, target in enumerate(targets):
            equal(set(Log(f'all.pid{target.pid}').names), {f'tick{i}'})


def test_children():
    script = f'{STEPS} a*3; {STEPS} b fork c; exit 4'
    record('-q', '--children', '--', 'sh', '-c', script, status=4)
    equal(Log().names, ['a', 'a', 'a', 'b', 'c'])
    equal(len({e.pid for e in Log().events}), 3)
    out, err = record('--', 'sh', '-c', script, status=4)
    contains(err, 'no events', '--children')


def test_family():
    """To the last process that descends from the first one, whoever has ended in between."""
    late = f'(sleep 0.4; exec {STEPS} a*3) & exit 3'
    for words in ([late], [f'setsid sh -c \'{late}\' & exit 3']):
        out, err = record('--family', '--', 'sh', '-c', *words, status=3)
        equal(Log().names, ['a'] * 3)
    # What would go on for long ends by an interrupt, once the command has ended.
    with Run('record', '--family', '--', 'sh', '-c', f'{STEPS} a; sleep 20 <&- >&- 2>&- & echo there') as run:
        run.line()
        time.sleep(0.5)
        run.process.send_signal(signal.SIGINT)
        contains(run.end()[1], 'sh has started a process that still runs')
    equal(Log().names, ['a'])


def test_family_of_short_lives():
    """Processes that have each forked the next one, and ended, before anybody can look at them."""
    for _ in range(3):
        record('--family', '--', STEPS, *(['daemon'] * 1000), 'a')
        equal(Log().names, ['a'])


def test_family_of_another_user():
    """A daemon of another user is still one of the family, for root without CAP_SYS_RESOURCE too."""
    if os.geteuid() != 0:
        return
    daemon = 'import os, time; os.setuid(65534); os.fork() and os._exit(0); os.setsid(); time.sleep(1.5)'
    without = ['setpriv', '--bounding-set', '-sys_resource', '--inh-caps',
               '-sys_resource'] if shutil.which('setpriv') else []
    begun = time.monotonic()
    subprocess.run([*without, POSIXTRACE, 'record', '--family', '--', sys.executable, '-c', daemon], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=LIMIT)
    assert time.monotonic() - begun > 1.5, 'the recording ended before the daemon'


def test_children_from_before():
    """Does not record children from before the start, nor waits for them; records later ones."""
    script = 'sleep 20 <&- >&- 2>&- & echo $!; read x; sleep 20 <&- >&- 2>&- & echo $!; read x; exit'
    with subprocess.Popen(['sh', '-c', script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          bufsize=1) as process:
        children = [int(process.stdout.readline())]
        for later in False, True:
            time.sleep(0.05)
            with Run('record', '--children', '-p', str(process.pid)) as run:
                recorded(process.pid)
                if later:
                    process.stdin.write('\n')
                    children.append(int(process.stdout.readline()))
                run.process.send_signal(signal.SIGINT)
                (contains if later else lacks)(run.end()[1], 'a process that still runs')
                if later:
                    time.sleep(0.05)
        process.stdin.close()
        for child in children:
            os.kill(child, signal.SIGKILL)


def test_family_without():
    """By default the recording ends with the first process, and says what goes on."""
    out, err = record('--children', '--', 'sh', '-c', 'sleep 0.5 <&- >&- 2>&- & exit')
    contains(err, 'neither sh nor a program that it started', 'a process that still runs', '--family')
    lacks(err, 'has no trace points')
    out, err = record('--children', '--', 'sh', '-c', f'{STEPS} a; exit')
    lacks(err, 'still run')


def test_family_of_attached():
    with subprocess.Popen(['sh', '-c', f'sleep 0.4; (sleep 0.4; exec {STEPS} a*3) & exit']) as target:
        record('--family', '-p', str(target.pid))
    equal(Log().names, ['a'] * 3)


def test_duration():
    with Run('record', '--duration', '300ms', '--', STEPS, 'a', 'say:there', 'read', 'b', 'exit:6') as run:
        contains(run.message(), 'posixtrace.log: ')
        equal(Log().names, ['a'])
        run.go()
        run.end(6)
    equal(Log().names, ['a'])
    for none in ('0', '0ms', '0.1ns', '', 's', '-1', '+1', '0x10', '1e3', '1e3ms', 'inf', 'nan', '1.5.2', '5 weeks',
                 '3000000h', '9' * 400):
        contains(record('--duration', none, '--', STEPS, 'never', status=2)[1], f'--duration {none}: ')


def about(path='posixtrace.log'):
    """Labels and clocks, as docs/log-format.md has them."""
    with open(path, 'rb') as file:
        log = decode.Log(file.fileno())
        return dict(log.rows(decode.LABELS, decode.read_labels)), list(log.rows(decode.CLOCK, decode.read_clock))


def test_labels():
    environment = {**os.environ, 'POSIXTRACE_LABELS': 'zone=a,version=1'}
    record('--label', 'version=1.2', '--label', 'name=a, b = c', '--', STEPS, 'a', env=environment)
    labels, clocks = about()
    machine = Path('/etc/machine-id')
    if machine.exists() and re.fullmatch('[0-9a-f]{32}\n?', machine.read_text()):
        equal(labels.pop('host.id'), machine.read_text().strip())
    equal(labels, {'zone': 'a', 'version': '1.2', 'name': 'a, b = c'})
    equal([clock['reason'] for clock in clocks], [1, 4])
    assert clocks[0]['monotonic'] < clocks[1]['monotonic'] and abs(clocks[1]['realtime'] / 1e9 - time.time()) < 60
    out = subprocess.run([POSIXTRACE, 'stat', 'posixtrace.log'], capture_output=True, text=True, check=True).stdout
    contains(out, '  labels   zone=a, version=1.2, name=a, b = c\n')
    lacks(out, 'host.id', '  clock ')
    # Each file of a recording has them, also one that is made of several.
    with Run('record', '-o', 'r.log', '--flush-every', '5ms', '--rotate', '4K', '--label', 'part=yes', '--', STEPS,
             'a*3000', 'read', 'b*3000') as run:
        until(lambda: Path('r.log.1').exists(), 'a second file')
        run.go()
        run.end()
    for path in ('r.log', 'r.log.1'):
        equal(about(path)[0]['part'], 'yes')
    record('--loop', '64K', '--label', 'loop=yes', '--', STEPS, 'a')
    equal(about()[0]['loop'], 'yes')
    for wrong in ('x', '=x', 'x\n=1', f'{"x" * 64}=1', f'x={"y" * 256}'):
        contains(record('--label', wrong, '--', STEPS, status=2)[1], 'must be KEY=VALUE')
    for wrong in ('x', 'a=1,=2', 'a=1,x\x1b=2'):
        environment = {**os.environ, 'POSIXTRACE_LABELS': wrong}
        contains(record('--', STEPS, status=2, env=environment)[1], 'POSIXTRACE_LABELS: ')


def test_flush_every():
    sizes = set()

    def more():
        sizes.add(os.stat('posixtrace.log').st_size)
        return len(sizes) > 60

    # With the default, sixty flushes would take a minute.
    with Run('record', '--flush-every', '5ms', '--', STEPS, 'each:20000:tick') as run:
        until(lambda: Path('posixtrace.log').exists(), 'a log')
        until(more, 'so many flushes')
        run.close_input()
        run.end()
    for wrong in ('0', '0.9ms', '61m', 'x'):
        contains(record('--flush-every', wrong, '--', STEPS, status=2)[1], f'--flush-every {wrong}: ')
    for without in ('--loop', '--policy=loop', '--policy=until-full'):
        contains(record('--flush-every', '1s', without, '--', STEPS, status=2)[1], 'only at the end')


# -- What is recorded ---------------------------------------------------------------------------------


def test_filter():
    steps = ['+sql.row', '+sql.query', '+other', 'say:there', 'read', 'sql.row*5', 'sql.query*5', 'other*5']
    for patterns, wanted in ((['sql.*'], {'sql.row', 'sql.query'}), (['!sql.row'], {'sql.query', 'other'}),
                             (['sql.*', '!sql.row'], {'sql.query'})):
        options = [option for p in patterns for option in ('-e', p)]
        with Run('record', '-q', *options, '--', STEPS, *steps) as run:
            run.line()
            seen(child_of(run.process.pid),
                 lambda process: {e['name'] for e in process['events'] if not e['filtered_out_by']} == wanted)
            run.go()
            run.end()
        equal(set(Log().names), wanted)
        equal(len(Log().names), 5 * len(wanted))


def test_filter_with_layout():
    """A name may be given as the program writes it."""
    for pattern in ('shop.order{id:i32,item:s}', 'shop.order'):
        record('-e', pattern, '--', STEPS, '+shop.order{id:i32,item:s}', '+shop.done', 'shop.order{id:i32,item:s}*3')
        equal(Log().names, ['shop.order{id:i32,item:s}'] * 3)
    out, err = record('-e', 'shop.ordre{id:i32}', '--', STEPS, '+other', '+shop.done', '+shop.order{id:i32,item:s}')
    contains(err, 'no event type', 'it has shop.order, shop.done, other')
    # Before the names are known nothing can be filtered out. On a busy machine the recorder may be the faster one.
    for _ in range(20):
        out, err = record('-e', 'x', '--', STEPS, 'y*3', 'x')
        others = Log().names.count('y')
        equal(f'{others} event{"s" * (others > 1)} of other type' in err, others > 0)
        if others == 3:
            break
    contains(err, 'posixtrace.log: 3 events of other types were recorded before they could be filtered out')
    out, err = record('--trigger', 'shop.ordre', '--', STEPS, 'other', 'shop.order')
    contains(err, '--trigger shop.ordre: no event type', 'it has shop.order, other')


def test_name_of_program():
    """The log of a process that runs has the process's name, and not the recorder's."""
    with subprocess.Popen([STEPS, 'each:1000:a'], stdin=subprocess.PIPE) as target:
        record('-p', str(target.pid), '--duration', '50ms')
        target.stdin.close()
    contains(subprocess.run([POSIXTRACE, 'report', '-n', '0'], capture_output=True, text=True, check=True).stdout,
             f', {os.path.basename(STEPS)[:15]}')


def test_loop_size():
    """The size may stand behind the option, with a blank or without an '='."""
    for words in (['--loop', '64K'], ['--loop=64K']):
        equal(record(*words, '--', STEPS, 'a*10000')[1].count('\n'), 1)
        assert os.path.getsize('posixtrace.log') < 100000


def test_filter_of_attached():
    """Names that are known already are filtered out from the first event on."""
    with subprocess.Popen([STEPS, '+a', '+b', 'each:200:b'], stdin=subprocess.PIPE) as target:
        seen(target.pid, lambda process: {'a', 'b'} <= {event['name'] for event in process['events']})
        out, err = record('-e', 'a', '-p', str(target.pid), '--duration', '100ms')
        equal(Log().names, [])
        contains(err, 'types (a)', 'none of their trace points')
        out, err = record('-e', 'x', '-p', str(target.pid), '--duration', '100ms')
        equal(Log().names, [])
        contains(err, 'no event type', 'it has a, b')
        target.stdin.close()


def test_data_and_sizes():
    record('-q', '--max-data', '2', '-s', '64K', '--', STEPS, 'a*10')
    equal({e.data for e in Log().events} <= {bytes([i, 0]) for i in range(10)}, True)
    record('-q', '--log-size', '8K', '--max-data', '16', '--', STEPS, 'a*20000')
    loop = Log()
    equal(loop.numbers[-1], 19999)
    assert 0 < len(loop.numbers) < 20000
    record('-q', '--log-policy', 'until-full', '--log-size', '8K', '--max-data', '16', '--', STEPS, 'a*20000')
    equal(Log().numbers[:10], list(range(10)))
    assert len(Log().numbers) < 20000
    record('-q', '--policy', 'loop', '-s', '16K', '--', STEPS, 'a*20000')
    equal(Log().numbers[-1], 19999)
    for wrong in (['--rotate', '1M', '--log-size', '1M'], ['--loop', '--rotate', '1M'], ['--keep', '2'],
                  ['--before', '1s'],
                  ['--policy', 'none'], ['-s', 'much'], ['-p', '1']):
        record(*wrong, '--', STEPS, 'never', status=2)


def test_sizes_that_are_too_small():
    """They are refused, and not made larger without a word."""
    for wrong in ('--log-size', '0'), ('--log-size', '1'), ('--log-size', '4K'), ('--rotate', '1'), ('--rotate',
            '4095'):
        contains(record(*wrong, '--', STEPS, 'never', status=2)[1], ' '.join(wrong) + ': too small', 'the minimum is')
    record('-q', '--log-size', '4800', '--max-data', '8', '--', STEPS, 'a')


def test_names_of_outputs():
    """Names the missing directory in the message, not only the file."""
    os.symlink('nowhere/x', 'dangling')
    Path('file').write_text('')
    for path, why in ('nodir/x.log', 'there is no directory nodir\n'), ('./nodir//sub/x.log',
            'there is no directory ./nodir\n'), ('dangling', 'no directory nowhere, to which a link points'), \
            ('file/x.log', 'file is not a directory'):
        contains(record('-o', path, '--', STEPS, 'never', status=125)[1], f'{path}: ', why)
    contains(record('-o', '', '--', STEPS, 'never', status=2)[1], "-o '': empty file name")


def test_few_descriptors():
    told = set()
    for most in range(4, 20):
        with Run('record', '-q', '--', STEPS, 'a',
                 preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))) as run:
            out, err = run.process.communicate(timeout=LIMIT)
        if run.process.returncode != 0 and 'cannot be traced' in err:
            told.add(err.split(': ', 1)[1])
            contains(err, 'raise ulimit -n')
    assert told


def test_limit_of_file_sizes():
    """What is beyond it is missing, and that is said; the program has the limit's signal as ever."""
    def limit(size):
        return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    for options in (), ('--rotate', '8M'):
        # With pauses: what comes too fast is lost before it gets to the file.
        out, err = record('-s', '16K', *options, '--', STEPS, *['a*2000', 'wait:5'] * 100, status=123,
                          preexec_fn=limit(1 << 19))
        contains(err, 'File too large')
    record('-q', '-s', '16K', '--', 'sh', '-c', 'exec head -c 2M /dev/zero > long', status=128 + signal.SIGXFSZ,
           preexec_fn=limit(1 << 20))
    # There is not even a stream.
    contains(record('-s', '16K', '--', STEPS, 'never', status=125, preexec_fn=limit(1 << 16))[1], 'ulimit -f unlimited')


def test_little_shared_memory():
    """What a stream takes in /dev/shm is told: more than its size. With that it is recorded."""
    if os.geteuid() != 0 or subprocess.run(['unshare', '-m', 'true'], capture_output=True, check=False).returncode:
        return 'no mounts of its own'

    def with_memory(size, *command):
        return subprocess.run(['unshare', '-m', 'sh', '-c',
                               'mount -t tmpfs -o mode=1777,size=$0 none /dev/shm && exec "$@"', str(size), POSIXTRACE,
                               'record', '-s', '4M', '--', *command], capture_output=True, text=True, check=False)

    takes = int(with_memory('64m', 'sh', '-c', 'stat -c %s /dev/shm/*/stream-*').stdout)
    assert takes > 4 << 20, takes
    done = with_memory(5 << 20, STEPS, 'a')
    equal(done.returncode, 125)
    contains(done.stderr, f'a stream of 4 MiB, whose file takes {takes / (1 << 20):.1f} MiB, with 5 MiB free')
    # With the page and the names of the program.
    done = with_memory(takes + (128 << 10), STEPS, 'a')
    equal((done.returncode, done.stderr.count('1 event')), (0, 1))


def test_losses_are_told():
    out, err = record('--policy', 'until-full', '-s', '16K', '--', STEPS, 'a*20000')
    contains(err, 'events were lost', '--stream-size')


# -- Rotation and flight recorder ---------------------------------------------------------------------


def files_of(path):
    numbered = sorted((f for f in glob.glob(f'{path}.*') if f.rsplit('.', 1)[1].isdigit()),
                      key=lambda f: int(f.rsplit('.', 1)[1]))
    return numbered + [path]


def test_rotation():
    """Each event is in one of the files; children from before a rotation go on."""
    script = f'exec {STEPS} fork each:30:tick'
    with Run('record', '-q', '--children', '--rotate', '8K', '-o', 'r', '--', 'sh', '-c', script) as run:
        until(lambda: len(files_of('r')) >= 4, 'rotation')
        run.close_input()
        run.end()
    equal(os.path.exists('r.next'), False)
    numbers = [Log(path).numbers for path in files_of('r')]
    last = max(max(n) for n in numbers if n)
    equal(sorted(n for part in numbers for n in part), list(range(last + 1)))
    for part in numbers:
        equal(part, list(range(part[0], part[0] + len(part))) if part else [])


def stat(*paths):
    done = subprocess.run([POSIXTRACE, 'stat', '--json', *paths], capture_output=True, timeout=LIMIT, check=True)
    return json.loads(done.stdout)


def data_of(name, path):
    """Of each event: where there are very many, `report` is faster than Log."""
    done = subprocess.run([POSIXTRACE, 'report', '--fields', 'event,data', path], capture_output=True, text=True,
                          timeout=LIMIT, check=True)
    return [line for line in done.stdout.splitlines() if line.startswith(name + ' ')]


def test_rotation_books():
    """Checks, for a program that traces faster than the disk writes, that each event is in one file or is counted as
    lost in one."""
    for way in ('SIGINT', 'SIGKILL', 'end', 'SIGINT'):
        shutil.rmtree('books', ignore_errors=True)
        os.mkdir('books')
        many = 1000000 if way == 'end' else 1 << 31
        with Run('record', '-q', '--rotate', '64K', '--stream-size', '256K', '-o', 'books/r', '--', STEPS,
                 f'most:{many}:books/n:busy') as run:
            if way != 'end':
                until(lambda: len(files_of('books/r')) >= 4, 'rotation')
            if way == 'SIGINT':
                run.process.send_signal(signal.SIGINT)
            elif way == 'SIGKILL':
                os.kill(child_of(run.process.pid), signal.SIGKILL)
            run.process.communicate(timeout=LIMIT)
        files = files_of('books/r')
        traced, = struct.unpack('<I', Path('books/n').read_bytes())
        events = sum(row['events'] for row in stat(*files)['types'] if row['name'] == 'busy')
        lost = sum(file['lost'] for file in stat(*files)['files'])
        numbers = [data for path in files for data in data_of('busy', path)]
        equal((len(numbers), len(set(numbers))), (events, events))
        # The event under way was recorded or lost, and the program killed before it counted it.
        assert 0 <= events + lost - traced <= (way != 'end'), \
            f'{way}: {traced} traced, {events} recorded, {lost} missing'


def test_keep_of_all():
    """Also removes files of earlier recordings."""
    for _ in range(5):
        record('-q', '--rotate', '1M', '--keep', '2', '-o', 'r', '--', STEPS, 'a')
    equal(files_of('r'), ['r.3', 'r.4', 'r'])
    record('-q', '--rotate', '1M', '-o', 'r', '--', STEPS, 'a')
    record('-q', '--rotate', '1M', '-o', 'r', '--', STEPS, 'a')
    Path('r.2').write_text('no log')
    record('-q', '--rotate', '1M', '--keep', '1', '-o', 'r', '--', STEPS, 'a')
    equal(files_of('r'), ['r.2', 'r.7', 'r'])


def test_keep():
    with Run('record', '-q', '--rotate', '4K', '--keep', '2', '-o', 'r', '--', STEPS, 'each:20:tick') as run:
        until(lambda: any(int(f[2:]) >= 4 for f in glob.glob('r.[0-9]*')), 'rotation')
        run.close_input()
        run.end()
    names = files_of('r')
    equal(len(names), 3)
    number = int(names[-2].rsplit('.', 1)[1])
    equal(names[-3], f'r.{number - 1}')
    # The next recording goes on behind it, and overwrites nothing.
    last = Log('r').numbers
    record('-q', '--rotate', '1M', '-o', 'r', '--', STEPS, 'a')
    equal(Log(f'r.{number + 1}').numbers, last)
    equal(Log('r').names, ['a'])


def test_flight_recorder():
    with Run('record', '--loop=16K', '-o', 'f', '--', STEPS, 'a*20000', 'say:one', 'read', 'b*3', 'say:two', 'read',
             'c', 'exit:3') as run:
        run.line()
        run.process.send_signal(signal.SIGUSR1)
        contains(run.message(), 'f.1: ')
        first = Log('f.1')
        equal(first.numbers[-1], 19999)
        assert 10 < len(first.numbers) < 2000, 'not what the memory holds'
        equal(first.numbers, list(range(first.numbers[0], 20000)))
        run.go()
        run.line()
        run.process.send_signal(signal.SIGUSR1)
        contains(run.message(), 'f.2: ')
        equal(Log('f.2').names, ['b'] * 3)
        run.go()
        run.end(3)
    equal(Log('f').names, ['c'])
    equal(os.path.exists('f.next'), False)


def test_crash():
    record('-q', '--loop=16K', '-o', 'k', '--', STEPS, 'a*20000', f'kill:{signal.SIGABRT:d}', status=134)
    equal(Log('k').numbers[-1], 19999)
    # With a trigger only what it has asked for is kept, and a crash.
    out, err = record('--trigger', 'never', '-o', 'none', '--', STEPS, 'a')
    equal(glob.glob('none*'), [])
    out, err = record('--trigger', 'never', '-o', 'some', '--', STEPS, 'a', f'kill:{signal.SIGSEGV:d}', status=139)
    contains(err, 'Segmentation fault', 'some: ')
    equal(Log('some').names, ['a'])
    # How a process has ended that is no child of the recorder, it does not know.
    with subprocess.Popen([STEPS, 'each:1000:tick'], stdin=subprocess.PIPE) as target:
        record('-q', '--trigger', 'never', '-o', 'lives', '-p', str(target.pid), '--duration', '100ms')
        equal(glob.glob('lives*'), [])
        with Run('record', '-q', '--trigger', 'never', '-o', 'ends', '-p', str(target.pid)) as run:
            traced(target.pid, 2)  # one of the two alternating streams, and the trigger's
            target.kill()
            target.wait(LIMIT)
            run.end()
    assert Log('ends').count('tick') > 0


def test_trigger():
    with Run('record', '--trigger', 'bo*', '-o', 't', '--', STEPS, 'a*100', 'boom', 'say:there', 'read', 'b', 'boring',
             'say:there', 'read') as run:
        contains(run.message(), 't.1: ', 'boom')
        log = Log('t.1')
        equal(log.names[:101], ['a'] * 100 + ['boom'])
        run.line()
        run.go()
        contains(run.message(), 't.2: ', 'boring')
        equal(Log('t.2').names[-2:], ['b', 'boring'])
        run.go()
        out, err = run.end()
    contains(err, '2 snapshots')
    equal(sorted(glob.glob('t*')), ['t.1', 't.2'])


def test_trigger_at_the_end():
    for after in [], ['--after', '100ms']:
        for _ in range(4):
            record('-q', '--trigger', 'boom', *after, '-o', 't', '--', STEPS, 'a*100', 'boom', 'exit:0')
            equal(Log('t.1').names, ['a'] * 100 + ['boom'])
            os.unlink('t.1')


def test_before_and_after():
    with Run('record', '--trigger', 'boom', '--before', '100ms', '--after', '200ms', '-o', 't', '--', STEPS, 'old',
             'say:there', 'read',
             'boom', 'new', 'each:1000:tick') as run:
        run.line()
        time.sleep(0.3)
        run.go()
        contains(run.message(), 't.1: ', 'boom')
        log = Log('t.1')
        equal(log.names[:2], ['boom', 'new'])
        assert 20 < log.count('tick') < 250, log.count('tick')
        span = log.events[-1].time - log.events[0].time
        # The recorder has looked at the clocks at other moments than whoever wrote the log.
        assert span <= 201e6, span
        run.close_input()
        run.end()


# -- Misfortune -------------------------------------------------------------------------------------


def test_recorder_killed():
    """Who comes next completes the log, with all that was recorded after the recorder's death too, while it was
    there."""
    with Run('record', '--', STEPS, 'a*5000', 'say:there', 'read', 'exit:0') as run:
        run.line()
        run.process.kill()
        run.process.wait(LIMIT)
        run.process.stdin.close()
    record('-q', '-o', 'other.log', '--', STEPS, 'b')
    equal(Log().numbers, list(range(5000)))


def test_rotating_recorder_killed():
    """Whichever of the two parts was running: what it has stays, under the next number, when somebody records there
    again."""
    for files in 2, 3:
        with Run('record', '-q', '--rotate', '8K', '-o', 'r', '--', STEPS, 'each:30:tick') as run:
            until(lambda: len(files_of('r')) >= files, 'rotation')
            run.process.kill()
            run.process.wait(LIMIT)
            run.process.stdin.close()
        record('-q', '--rotate', '1M', '-o', 'r', '--', STEPS, 'b')
        equal([os.path.exists(path) for path in ('r.next', 'r.unfinished')], [False, False])
        equal(Log('r').names, ['b'])
        numbers = [Log(path).numbers for path in files_of('r')[:-1]]
        each = [n for part in numbers for n in part]
        equal(each, list(range(len(each))))
        for path in files_of('r'):
            os.unlink(path)


def test_part_in_two_files():
    """A recorder that is killed after it has copied a part leaves it twice: the next recording removes one of the two,
    and only a log with the same events of the same stream."""
    for file in 'r', 'r.next':
        record('-q', '-o', file, '--', STEPS, 'a*5')
        shutil.copy(file, 'r.7')
        record('-q', '-o', 'r.6', '--', STEPS, 'a*5')
        record('-q', '--rotate', '1M', '-o', 'r', '--', STEPS, 'b')
        equal([(path, Log(path).names) for path in files_of('r')],
              [('r.6', ['a'] * 5), ('r.7', ['a'] * 5), ('r', ['b'])])
        equal(os.path.exists('r.next'), False)
        # Now the last FILE.N has other events, so nothing is removed.
        shutil.copy('r.7', file)
        os.rename('r.6', 'r.8')
        record('-q', '--rotate', '1M', '-o', 'r', '--', STEPS, 'c')
        names = [Log(path).names[0] for path in files_of('r')]
        equal(names, ['a', 'a', 'a', 'c'] if file == 'r' else ['a', 'a', 'a', 'b', 'c'])
        for path in files_of('r'):
            os.unlink(path)


def test_numbers_of_others():
    """A file that has got the next number meanwhile stays; so does a log that cannot be opened any more."""
    with Run('record', '-q', '--rotate', '4K', '-o', 'r', '--', STEPS, 'each:20:tick') as run:
        until(lambda: os.path.exists('r.1'), 'rotation')
        others = ['r.4', 'r.5']
        for path in others:
            Path(path).write_text('mine')
        until(lambda: os.path.exists('r.7'), 'rotation')
        run.close_input()
        run.end()
    equal({Path(path).read_text() for path in others}, {'mine'})
    numbers = {n for path in files_of('r') if path not in others for n in Log(path).numbers}
    equal(sorted(numbers), list(range(max(numbers) + 1)))
    for path in files_of('r'):
        os.unlink(path)
    record('-q', '-o', 'r', '--', STEPS, 'a*5')
    damaged = bytearray(Path('r').read_bytes())
    damaged[60] ^= 255
    Path('r').write_bytes(damaged)
    record('-q', '--rotate', '1M', '-o', 'r', '--', STEPS, 'b')
    equal(Path('r.1').read_bytes(), damaged)


def test_snapshot_later():
    """Requests a snapshot while the previous one cannot be written."""
    os.mkdir('small')
    if subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=128k', 'none', 'small'], capture_output=True,
                      check=False).returncode:
        return 'no mount without privilege'
    try:
        with Run('record', '--trigger', 't*', '-o', 'small/log', '--', STEPS, 'a', 'say:there', 'read', 't1', 'b',
                 'read', 't2', 'say:there', 'read') as run:
            run.line()
            with contextlib.suppress(OSError), open('small/fill', 'wb', buffering=0) as fill:
                while fill.write(bytes(4096)):
                    pass
            run.go()
            contains(run.message(), 'No space left on device')
            run.go()
            run.line()
            time.sleep(0.2)
            os.unlink('small/fill')
            contains(run.message(), 'log.1: ', 't1')
            contains(run.message(), 'log.2: ', 't2')
            run.go()
            run.end()
        equal(Log('small/log.1').names[:2], ['a', 't1'])
        equal(Log('small/log.2').names[-1], 't2')
    finally:
        subprocess.run(['umount', 'small'], check=True)
    return None


def test_disk_full():
    os.mkdir('small')
    if subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=64k', 'none', 'small'], capture_output=True,
                      check=False).returncode:
        return 'no mount without privilege'
    try:
        # Until the file is full: what comes too fast is lost before it gets there.
        with Run('record', '-o', 'small/log', '-s', '64K', '--', STEPS, 'each:10:a', 'a*200000', 'exit:3') as run:
            contains(run.message(), 'small/log', 'No space left on device')
            run.close_input()
            out, err = run.end(3)
            contains(err, 'No space left on device', 'could not be written; the log is incomplete', 'lost')
        numbers = Log('small/log', complete=False).numbers
        assert len(numbers) > 1000
        os.unlink('small/log')
        # The log cannot be kept, so recording continues in the same file, with a message.
        with Run('record', '-o', 'small/log', '--rotate', '30K', '--', STEPS, 'each:10:tick') as run:
            contains(run.message(), 'small/log', 'No space left on device')
            run.close_input()
            run.end(123)
    finally:
        subprocess.run(['umount', 'small'], check=True)
    return None


def test_part_not_kept():
    """All events are in a part that there is no space to copy, and none is in the part after it: they are counted,
    and it is said where they are."""
    os.mkdir('small')
    if subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=96k', 'none', 'small'], capture_output=True,
                      check=False).returncode:
        return 'no mount without privilege'
    try:
        # The recorder may be so early that it finds the events in two parts, which fit.
        for _ in range(10):
            with Run('record', '-o', 'small/log', '--rotate', '30K', '--', STEPS, 'a*14000', 'wait:300') as run:
                out, err = run.process.communicate(timeout=LIMIT)
            if run.process.returncode:
                break
            for file in os.listdir('small'):
                os.unlink(f'small/{file}')
        equal(run.process.returncode, 123)
        contains(err, 'No space left on device', 'log: 14000 events', 'small/log: this part could not be kept')
        lacks(err, 'no events')
        equal(Log('small/log').numbers, list(range(14000)))
        equal(sorted(os.listdir('small')), ['log', 'log.next'])
        # The next recording numbers the file.
        record('-q', '-o', 'small/log', '--rotate', '30K', '--', STEPS, 'b')
        equal(Log('small/log.1').numbers, list(range(14000)))
    finally:
        subprocess.run(['umount', 'small'], check=True)
    return None


def test_empty():
    out, err = record('--', 'true')
    contains(err, 'no events', 'true', 'has no trace points', '--children', "'posixtrace run'")
    contains(record('--', '/bin/../bin/../bin/../bin/../bin/true')[1], '/bin/../bin/../bin/../bin/../bin/true has no')
    out, err = record('--', 'sh', '-c', 'no-such-command', status=127)
    contains(err, 'has no trace points')
    lacks(err, '--children')
    out, err = record('--usdt', '-o', 'x.log', '--', 'true', status=2)
    contains(err, '--usdt needs a pattern')
    out, err = record('--', STEPS)
    contains(err, 'no events', 'linked', 'not reached a trace point')
    out, err = record('--', STEPS, '+one', '+two')
    contains(err, 'no events', 'one, two', '--family records a program that goes to the background')
    out, err = record('-e', 'sql.*', '--', STEPS, '+one', 'two')
    contains(err, 'no event type', 'it has one, two')


def test_wrong_layouts():
    """Each tool that shows an event type tells what is wrong in its name, once, and the place."""
    out, err = record('--', STEPS, 'bad{a:u99}', 'bad{a:u99}', 'twice{a:u8,a:u8}', 'good{a:u32}')
    told = ("'u99' in bad{a:u99} is not a type", "'a:u8' in twice{a:u8,a:u8} is the name of an earlier field")
    lacks(err, 'in good')
    contains(err, *told)
    for command in ('report', 'stat', 'check', 'convert'):
        done = subprocess.run([POSIXTRACE, command, *(('--to', 'csv', '-o', 'x.csv') if command == 'convert' else ()),
                               'posixtrace.log'],
                              capture_output=True, text=True, check=True)
        contains(done.stderr, *told)
        equal(done.stderr.count('wrong layout'), 2)
    done = subprocess.run([POSIXTRACE, 'event', 'bad{a:u99}'], capture_output=True, text=True, check=True)
    contains(done.stderr, told[0])
    with Run('record', '-o', 'p.log', '--', STEPS, '+bad{a:u99}', 'read') as run:
        pid = child_of(run.process.pid)
        until(lambda: 'bad{a:u99}' in subprocess.run([POSIXTRACE, 'list', '-p', str(pid)], capture_output=True,
            text=True, check=False).stdout, 'the name')
        for command in ('list', 'doctor'):
            contains(subprocess.run([POSIXTRACE, command, '-p', str(pid)], capture_output=True, text=True,
                                    check=False).stdout, told[0])
        os.kill(pid, signal.SIGKILL)
        run.end(137)


LONG = '{number:u32,' + ','.join(f'a_field_of_this_length_{i}:u64/ns' for i in range(20)) + '}'


def declared(steps, *options, before=()):
    """Records what the steps declare. Returns the fields of the events as report --json has them."""
    record('-q', *options, '--', STEPS, *before, f'=shop.order{LONG}', *steps)
    out = subprocess.run([POSIXTRACE, 'report', '--json', 'posixtrace.log'], capture_output=True, text=True,
                         check=True).stdout
    return [json.loads(line).get('fields') for line in out.splitlines() if 'shop.order' in line]


def test_declared():
    """Layouts beside the names, which have more bytes than a name can have."""
    wanted = [{'number': 0}, {'number': 1}, {'number': 2}]
    equal(declared(['shop.order*3']), wanted)
    contains(subprocess.run([POSIXTRACE, 'check', 'posixtrace.log'], capture_output=True, text=True, check=True).stdout,
             'no damage')
    subprocess.run([POSIXTRACE, 'convert', '--to', 'csv', '-o', 'x.csv', 'posixtrace.log'], capture_output=True,
                   check=True)
    contains(Path('x.csv').read_text(), 'number')
    # Where names are given, the name alone is meant.
    equal(declared(['shop.order', 'other'], '-e', 'shop.order'), wanted[:1])
    # LOOP logs, parts of logs, children, and after a change of user.
    equal(declared(['shop.order*3'], '--loop', '64K'), wanted)
    equal(declared(['shop.order*3'], '--rotate', '1M'), wanted)
    equal(declared(['fork', 'shop.order*3'], '--children'), wanted)
    if os.geteuid() == 0:
        equal(declared(['shop.order*3'], before=('become:65534',)), wanted)
        equal(declared(['become:65534', 'shop.order*3']), wanted)


def test_declared_meanwhile():
    """By a process that is already recorded, beside a second recording; and what list and live show of it."""
    with Run('record', '-o', 'p.log', '--', STEPS, 'early', 'read', f'=shop.order{LONG}', 'shop.order', 'read') as run:
        pid = child_of(run.process.pid)
        recorded(pid)
        run.go()
        until(lambda: 'shop.order' in subprocess.run([POSIXTRACE, 'list', '--events', '-p', str(pid)],
            capture_output=True, text=True, check=False).stdout, 'the name')
        contains(subprocess.run([POSIXTRACE, 'list', '--events', '-p', str(pid)], capture_output=True, text=True,
                                check=True).stdout, 'shop.order {number:u32,a_field_of_this_length_0:u64/ns')
        run.go()
        run.end()
    contains(subprocess.run([POSIXTRACE, 'report', 'p.log'], capture_output=True, text=True, check=True).stdout,
             '{number=1 ...}')


def test_too_many_names():
    """More names than there may be event types, as names with numbers in them soon are."""
    out, err = record('--', STEPS, *[f'n{i}' for i in range(4100)])
    contains(err, 'there was no room for a name 5 times, after 4095 event types: events of further types have the name '
             'posix_trace_unnamed_userevent')


def test_long_names():
    name = 'shop.order{' + 'first_field:u32,second_field:u32,third_field:u32,fourth_field:u32}'
    out, err = record('--', STEPS, 'a', '+' + name)
    contains(err, 'a name of more than 63 bytes, or of a system event, was refused 1 time', name[:63] + '...')
    out, err = record('--', STEPS, 'a', 'typed:posix_trace_stop')
    contains(err, 'or of a system event, was refused 1 time', "the first was 'posix_trace_stop'")
    out, err = record('--', STEPS, 'a', 'typed:shop.order')
    lacks(err, 'refused')
    out, err = record('--', STEPS, 'a')
    lacks(err, 'refused')
    done = subprocess.run([POSIXTRACE, 'event', name], capture_output=True, text=True, check=False)
    equal(done.returncode, 1)
    contains(done.stderr, '63 bytes at most', f'this one has {len(name)}')


def test_counts_as_report():
    """The closing line counts the events of programs, and not those of the recording itself."""
    for options in ((), ('--log-size', '64K'), ('-e', 'a'), ('--loop', '64K'), ('--rotate', '1M')):
        out, err = record(*options, '--', STEPS, 'a', 'a', 'a')
        contains(err, 'posixtrace.log: 3 events,')
        out = subprocess.run([POSIXTRACE, 'report', '--no-header', 'posixtrace.log'], capture_output=True, text=True,
                             check=True).stdout
        equal(len(out.splitlines()), 3)


def test_forged_messages():
    """Names of events come into messages, and are any bytes: neither another line nor an order to the terminal."""
    name = 'a\nposixtrace record: FORGED\u009b31m\33[2J\tgrün'
    shown = r'a\x0aposixtrace record: FORGED\xc2\x9b31m\x1b[2J\x09grün'
    with Run('record', '--trigger', 'a*', '--', STEPS, name, 'read', env={**os.environ, 'LC_ALL': 'C.UTF-8'}) as run:
        # Not before the trigger has been seen.
        contains(run.message(), shown)
        run.go()
        run.end()
    out, err = record('-e', 'x', '--', STEPS, name, env={**os.environ, 'LC_ALL': 'C.UTF-8'})
    contains(err, f'it has {shown}\n')


def test_other_user():
    if os.geteuid() == 0:
        os.chmod('.', 0o777)
        if subprocess.run(['test', '-x', POSIXTRACE], user='nobody', group='nogroup', check=False).returncode != 0:
            return 'another user cannot execute what was built here'
        with subprocess.Popen([STEPS, 'each:1000:a'], stdin=subprocess.PIPE) as target:
            out, err = record('-p', str(target.pid), status=1, user='nobody', group='nogroup')
            target.stdin.close()
        contains(err, 'it belongs to user 0')
        return None
    out, err = record('-p', '1', status=1)
    contains(err, 'it belongs to user 0')
    return None


# -- event --------------------------------------------------------------------------------------------


def test_event():
    Path('script').write_text(f'''
set -e
{POSIXTRACE} event begin "some text"
{POSIXTRACE} event --u8 1 --u32 7 --i16 -2 --f64 0.5 --hex 0aFF typed
{POSIXTRACE} event --u8 08 --u8 010 --u8 0x1f --i8 -0X10 --i8 +09 --u8 " 7" bases
{POSIXTRACE} event --traced plain
''')
    record('-q', '--children', '--', 'sh', 'script')
    log = Log()
    equal(log.names, ['begin', 'typed', 'bases', 'plain'])
    equal([e.data for e in log.events], [b'some text', struct.pack('=B3xIh6xd2s', 1, 7, -2, 0.5, b'\x0a\xff'),
                                         struct.pack('BBBbbB', 8, 10, 31, -16, 9, 7), b''])
    # Nobody traces.
    for arguments, status in ((['x'], 0), (['--traced', 'x'], 1), (['--traced'], 1), ([], 2), (['x' * 64], 1),
                              (['--hex', '123', 'x'], 2),
                              # Values that do not fit are data of the script, and no wrong usage.
                              *((['--u8', n, 'x'], 0) for n in ('256', '-1', '0x', '1f', '0b1', '--1', '')),
                              (['--i8', '-129', 'x'], 0), (['--u64', ' -1', 'x'], 0)):
        done = subprocess.run([POSIXTRACE, 'event', *arguments], capture_output=True, text=True, check=False)
        equal((arguments, done.returncode), (arguments, status))
        equal(done.stdout, '')
    for arguments, why in ((['a{b:u32}', '--u32', '1'], 'options must come before NAME'),
                           (['--hex', '0abc1', 'x'], "--hex 0abc1: not pairs")):
        contains(subprocess.run([POSIXTRACE, 'event', *arguments], capture_output=True, text=True, check=False).stderr,
                 why)
    contains(subprocess.run([POSIXTRACE, 'event', '-v', 'x'], capture_output=True, text=True, check=True).stderr,
             'not traced')
    record('-q', '--children', '--', POSIXTRACE, 'event', '--traced')


def main():
    # As in a terminal, also where this runs in the background, or without one.
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    tests = {name[5:]: test for name, test in globals().items() if name.startswith('test_')}
    failed = False
    for name in sys.argv[3:] or tests:
        folder = tempfile.mkdtemp(prefix='record-test-')
        os.chdir(folder)
        try:
            skipped = tests[name]()
            print(f'{name}: {"skipped, " + skipped if skipped else "ok"}')
        except (AssertionError, OSError, subprocess.SubprocessError, decode.NotALog) as problem:
            failed = True
            print(f'{name}: FAILED: {type(problem).__name__}: {problem}')
            if '-v' in os.environ.get('TEST_FLAGS', ''):
                raise
        os.chdir('/')
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(failed)


main()
