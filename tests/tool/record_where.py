#
# record_where.py - record --where: its log gives the same answers as --where gives later on a log of everything
#
#     record_where.py POSIXTRACE WHERE_TARGET
#
# Two recorders record the same run of a program, one with --where and one without.
#
# SPDX-License-Identifier: MIT

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import scene
from scene import Suite, equal

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / 'log'))
import decode  # noqa: E402

scene.private()
POSIXTRACE, TARGET = (str(Path(path).resolve()) for path in sys.argv[1:3])
LIMIT = 60 * int(os.environ.get('TEST_SLOW', 1))
USER = 63  # ids of user event types begin here
LAYOUTS = ('number', 'told')  # what is declared after the first events of its type


def with_library():
    """Returns an environment in which a copy of the program finds the library."""
    found = subprocess.run(['ldd', TARGET], capture_output=True, text=True, check=False).stdout
    folder = next(iter(re.findall(r'libposixtrace\S* => (\S+)/', found)), '/')
    return {**os.environ, 'LC_ALL': 'C', 'LD_LIBRARY_PATH': folder}


ENVIRONMENT = with_library()


def run(command, *arguments, status=0):
    return scene.run(POSIXTRACE, command, *arguments, status=status)


def reported(log, *arguments):
    """Returns the events of programs as report shows them, without times, which each stream converts for itself."""
    events = []
    for line in run('report', '--json', *arguments, log)[0].decode().splitlines():
        event = json.loads(line)
        if not event['event'].startswith('posix_trace_'):
            events.append({key: value for key, value in event.items() if key not in ('time', 'relative')})
    return events


def by_thread(events):
    """Events of several threads within a clock tick have no order."""
    threads = {}
    for event in events:
        threads.setdefault((event['pid'], event['tid']), []).append(event)
    return threads


class Log:
    """What a decoder that knows nothing of the command says."""

    def __init__(self, path):
        with open(path, 'rb') as file:
            log = decode.Log(file.fileno())
            self.events = sum(event.type >= USER for event in log.events())
            self.left_out, self.complete = log.left_out, log.index is not None
            self.lost = log.index[1] if log.index else None


def remove_logs():
    for path in Path().glob('*.log*'):
        path.unlink()


def programs(path):
    rows = decode.decode(path, lambda log: log.rows(decode.PROCESS, decode.read_process))
    found = {tuple(row.split()[1::2]) for row in rows if row.startswith('process ')}
    return {row for row in found if row[-1] != POSIXTRACE}  # each stream is started by its own recorder


class Target:
    """A program that waits for go()."""

    def __init__(self, seed, events, threads=2):
        shutil.copy(TARGET, 'till')
        self.process = subprocess.Popen([TARGET, str(seed), str(events), str(threads), './till'],
                                        stdin=subprocess.PIPE, env=ENVIRONMENT)
        self.pid = self.process.pid

    def go(self):
        self.process.stdin.write(b'\n')
        self.process.stdin.close()

    def wait_for_streams(self, count):
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            done = subprocess.run([POSIXTRACE, 'list', '--json', '-p', str(self.pid)], capture_output=True, check=False)
            streams = json.loads(done.stdout)[0]['streams'] if done.stdout.strip() not in (b'', b'[]') else []
            if sum('running' in stream['status'] for stream in streams) >= count:
                return
            time.sleep(0.02)
        raise AssertionError('no streams')

    def kill(self):
        self.process.kill()
        self.process.wait()


def recorder(log, *arguments):
    return subprocess.Popen([POSIXTRACE, 'record', '-o', log, *arguments], stderr=subprocess.PIPE, text=True,
                            env=ENVIRONMENT)


def end(process, status=0):
    said = process.communicate(timeout=LIMIT)[1]
    equal(f'exit status, {said}', process.returncode, status)
    return said


def record_both(expression, seed, events=1500, threads=2, options=(), more=()):
    """Records one run with and without --where. Returns what the recorder with it said."""
    remove_logs()
    target = Target(seed, events, threads)
    both = [recorder('full.log', '--children', '-p', str(target.pid), *options),
            recorder('part.log', '--children', '-p', str(target.pid), *options, *more, '--where', expression)]
    target.wait_for_streams(2)
    target.go()
    equal('the program', target.process.wait(LIMIT), 0)
    end(both[0])
    return end(both[1])


# -- Random expressions ------------------------------------------------------------------------------

ATOMS = ['rows > 5', 'rows == 0', 'rows in (1, 3, 5)', 'state == busy', 'state != idle', 'key ~ "user:*"',
         'key == "tmp"', 'key !~ "*2"', 'size < 0', 'size > 1KiB', 'size[2] >= 50', 'size == 7', 'exists(size)',
         '!exists(rows)', 'exists(size[3])', 'count % 2 == 1', 'count', 'number % 3 == 1', 'number < 300',
         'event == told', 'event ~ "*e*"', 'event in (row, late)', 'thread == "worker-0"', 'thread ~ "*1"',
         'process == till', 'process != till', 'length == 4', 'length > 12', 'rows + 1 > 4', 'true', 'truncated']


def expression(chance, depth=0):
    kind = chance.randrange(6) if depth < 3 else 0
    if kind < 3:
        return chance.choice(ATOMS)
    if kind == 3:
        return f'!({expression(chance, depth + 1)})'
    joined = ' && ' if kind == 4 else ' || '
    return f'({expression(chance, depth + 1)}{joined}{expression(chance, depth + 1)})'


def excused(text, event):
    """A layout that is declared after the first events of its type may come too late for them."""
    return event['event'] == 'told' and 'number' in text


def compare(text, seed):
    said = record_both(text, seed)
    full, part = Log('full.log'), Log('part.log')
    equal('losses', (full.lost, part.lost), (0, 0))
    equal(f'{text}: the books', part.events + part.left_out, full.events)
    equal(f'{text}: what it said', sum(map(int, re.findall(r'(\d+) events? did not match', said))), part.left_out)
    wanted = by_thread(reported('full.log', '--where', text))
    for what, found in (('as it is', reported('part.log')), ('with --where', reported('part.log', '--where', text))):
        found = by_thread(found)
        for thread in {**wanted, **found}:
            a, b = ([event for event in events.get(thread, []) if not excused(text, event)]
                    for events in (wanted, found))
            equal(f'{text}: {what}, {thread}', b, a)
    if not any(word in text for word in LAYOUTS):
        counts = [json.loads(run('stat', '--json', *arguments)[0]) for arguments in (
            ('--where', text, 'full.log'), ('part.log',))]
        equal(f'{text}: stat', *({row['name']: (row['events'], row['bytes']) for row in c['types']} for c in counts))
        equal(f'{text}: left out', counts[1]['files'][0]['left_out'], part.left_out)
    equal(f'{text}: processes', programs('part.log'), programs('full.log'))
    checked = json.loads(run('check', '--json', 'part.log')[0])
    equal(f'{text}: check', (checked['ok'], checked['events_left_out']), (True, part.left_out))


def test_random():
    chance = random.Random(4)
    for seed in range(int(os.environ.get('TEST_RUNS', 12))):
        compare(expression(chance), seed)


def test_late_layout():
    """Events after the declaration of their layout are selected by its fields."""
    record_both('number >= 0', 7)
    full, part = (by_thread([event for event in reported(log) if event['event'] == 'told'])
                  for log in ('full.log', 'part.log'))
    all_events = by_thread(reported('full.log'))
    for thread, events in full.items():
        half = len(all_events[thread]) // 2
        after = [event for event in all_events[thread][half:] if event['event'] == 'told']
        found = part.get(thread, [])
        equal('the end', found[len(found) - len(after):], after)
        equal('all of them are there', all(event in events for event in found), True)


# -- Without a full log beside it ------------------------------------------------------------------------


def record(*arguments, status=0, seed=1, events=1000, threads=2):
    """Records a new run of the program by its command. Returns the messages."""
    done = subprocess.run([POSIXTRACE, 'record', *arguments, '--', TARGET, str(seed), str(events), str(threads)],
                          capture_output=True, timeout=LIMIT, env=ENVIRONMENT, check=False)
    equal(f'exit status, {done.stderr.decode()}', done.returncode, status)
    return done.stderr.decode()


def test_messages():
    remove_logs()
    said = record('-o', 'a.log', '--where', 'rows >= 0 && event == row')
    log = Log('a.log')
    equal('what it said', re.sub(r', [\d.]+ \w+\n', ', SIZE\n', said),
          f'posixtrace record: a.log: {log.events} events, SIZE\n'
          f'posixtrace record: a.log: {log.left_out} events did not match --where\n')
    equal('all', log.events + log.left_out, 2000)
    equal('quiet', record('-q', '-o', 'a.log', '--where', 'rows >= 0 && event == row'), '')
    about = run('stat', 'a.log')[0].decode()
    assert f'  left out {log.left_out} events that did not match record --where\n' in about, about


def test_time():
    """Times count from the beginning of the log, as later in report."""
    remove_logs()
    record('-o', 'a.log', '--where', '@time < 3s')
    equal('all', Log('a.log').left_out, 0)
    record('-o', 'b.log', '--where', '@time > 3h', events=50)
    equal('nothing', Path('b.log').stat().st_size > 0 and Log('b.log').left_out, 100)


def test_nothing_matches():
    remove_logs()
    record('-o', 'a.log')
    before = Path('a.log').read_bytes()
    equal('what it said', record('-o', 'a.log', '--where', 'rows > 1000'),
          'posixtrace record: no events were recorded: 2000 events did not match --where\n'
          'posixtrace record: a.log is the previous log, unchanged\n')
    equal('the log before', Path('a.log').read_bytes(), before)


def test_size():
    """A log without events does not grow, however often it is flushed."""
    remove_logs()
    record('-o', 'a.log', '--where', 'rows > 1000', events=300000)
    assert Path('a.log').stat().st_size < 10000, Path('a.log').stat().st_size


def test_mistakes():
    """What is wrong in itself is reported before the program starts, and the rest at the end."""
    remove_logs()
    for text, why, caret in (('rows >', 'a name, a number or a text is missing at the end', 6),
                             ('rows > 3 &&& x', None, 11), ('"text"', None, 0)):
        done = subprocess.run([POSIXTRACE, 'record', '--where', text, '--', 'touch', 'started'], capture_output=True,
                              check=False, env=ENVIRONMENT)
        lines = done.stderr.decode().splitlines()
        equal(f'{text}: exit status', done.returncode, 2)
        equal(f'{text}: what it said', lines[1:3], [f'posixtrace record:   {text}',
                                                     f'posixtrace record:   {caret * " "}^'])
        assert not why or why in lines[0], lines
    done = subprocess.run([POSIXTRACE, 'record', '--where', 'a', '--where', 'b', '--', 'touch', 'started'],
                          capture_output=True, check=False, env=ENVIRONMENT)
    equal('twice', (done.returncode, b'only once' in done.stderr), (2, True))
    equal('started', Path('started').exists() or Path('posixtrace.log').exists(), False)
    said = record('-o', 'a.log', '--where', 'rows > 3 || row > 3').splitlines()
    assert said[2].startswith("posixtrace record: --where: no event type has a field 'row'; there are rows, "), said
    equal('a name', said[3:], ['posixtrace record:   rows > 3 || row > 3', 'posixtrace record:               ^'])
    assert Log('a.log').events > 100
    # -e decides which types there are.
    said = record('-o', 'a.log', '-e', 'row', '--where', 'size > 3')
    assert re.search(r"no event type has a field 'size'; there are (rows, state|state, rows)\n", said), said
    assert 'did not match --where or -e\n' in said, said


def test_pipe():
    with open('pipe.log', 'wb') as out, subprocess.Popen(['cat'], stdin=subprocess.PIPE, stdout=out) as cat:
        said = subprocess.run([POSIXTRACE, 'record', '-o', '-', '--where', 'rows > 4', '--', TARGET, '1', '500', '2'],
                              stdout=cat.stdin, stderr=subprocess.PIPE, check=True, env=ENVIRONMENT).stderr.decode()
        cat.stdin.close()
    log = Log('pipe.log')
    equal('all', (log.events + log.left_out, log.complete), (1000, True))
    assert f'{log.left_out} events did not match' in said, said
    equal('the same', reported('pipe.log', '--where', 'rows > 4'), reported('pipe.log'))


def test_policies():
    """A log that is limited has the first, or the last, of the events that match."""
    for policy in ('until-full', 'loop'):
        remove_logs()
        record_both('event == row', 3, events=20000, more=('--log-policy', policy, '--log-size', '64K'))
        full, part = reported('full.log', '-e', 'row'), reported('part.log')
        log = Log('part.log')
        assert 100 < len(part) < len(full), (len(part), len(full))
        equal(f'{policy}: left out', log.left_out, Log('full.log').events - len(full))
        full, part = by_thread(full), by_thread(part)
        for thread, events in part.items():
            all_of_it = full[thread]
            equal(f'{policy}: {thread}', events, all_of_it[:len(events)] if policy == 'until-full' else
                  all_of_it[len(all_of_it) - len(events):])
        run('check', 'part.log')


def test_memory():
    """A stream whose events are written at the end only."""
    for policy in ('loop', 'until-full'):
        remove_logs()
        record('-o', 'a.log', '--policy', policy, '--where', 'rows > 4', events=1000)
        log = Log('a.log')
        equal(policy, log.events + log.left_out, 2000)
        equal(policy, reported('a.log', '--where', 'rows > 4'), reported('a.log'))


def test_rotate():
    remove_logs()
    said = record('-o', 'a.log', '--rotate', '8K', '--where', 'rows > 4 || event == key', events=40000)
    logs = sorted(Path().glob('a.log*'))
    numbers = [Log(path) for path in logs]
    assert len(logs) > 1, said
    equal('all', sum(log.events + log.left_out for log in numbers), 80000)
    equal('what it said', int(re.search(r'(\d+) events did not match', said)[1]),
          sum(log.left_out for log in numbers))
    for path in logs:
        equal(str(path), reported(path, '--where', 'rows > 4 || event == key'), reported(path))


def test_snapshot():
    remove_logs()
    target = Target(1, 1000)
    process = recorder('a.log', '--loop', '--children', '-p', str(target.pid), '--where', 'rows > 4')
    target.wait_for_streams(1)
    process.send_signal(signal.SIGUSR1)
    while not Path('a.log.1').exists():
        time.sleep(0.01)
    target.go()
    target.process.wait(LIMIT)
    end(process)
    equal('before', (Log('a.log.1').events, Log('a.log.1').left_out), (0, 0))
    log = Log('a.log' if Path('a.log').exists() and Log('a.log').events else 'a.log.2')
    equal('all', log.events + log.left_out, 2250)


def test_several():
    """Logs of several processes are written at the same time, by threads of one recorder."""
    remove_logs()
    targets = [Target(seed, 60000, 2) for seed in range(4)]
    pids = [str(target.pid) for target in targets]
    text = '(rows + 1 > 4 && rows * 2 < 18) || size[1] - 1 > 40 || key ~ "*:2*"'
    process = recorder('a.log', '-s', '8M', *[word for pid in pids for word in ('-p', pid)], '--where', text)
    for target in targets:
        target.wait_for_streams(1)
    for target in targets:
        target.go()
    for target in targets:
        target.process.wait(LIMIT)
    end(process)
    for pid in pids:
        log = f'a.log.pid{pid}'
        found = Log(log)
        equal('all', found.events + found.left_out + found.lost, 120000)
        # None is selected by mistake; and none is missing, as the programs record as many of each kind.
        equal(log, reported(log, '--where', text), reported(log))
    shares = [Log(f'a.log.pid{pid}').events / (120000 - Log(f'a.log.pid{pid}').lost) for pid in pids]
    assert max(shares) < 1.03 * min(shares), shares


# -- Deaths ----------------------------------------------------------------------------------------------


def test_killed():
    """The recorder and the program are killed: no event that matches is missing, and the books balance."""
    chance, text, threads = random.Random(8), 'rows > 4', 2
    alone = killed_late = 0
    for _ in range(15):
        remove_logs()
        target = Target(chance.randrange(1000), 3000000, threads)
        options = ('-s', '16M', '-p', str(target.pid))
        full, part = recorder('full.log', *options), recorder('part.log', *options, '--where', text)
        target.wait_for_streams(2)
        target.go()
        time.sleep(0.1 + chance.random() / 5)
        # Stopped, the program is at the same event for both: at most one of each thread is in one stream only.
        os.kill(target.pid, signal.SIGSTOP)
        time.sleep(chance.choice([0, 0.001, 0.01]))
        part.kill()
        target.kill()
        part.communicate()
        end(full)
        run('recover', status=None)
        equal('recovered', Log('part.log').complete, True)
        a, b = Log('full.log'), Log('part.log')
        # On a busy machine the program may have been stopped before its first event.
        if a.lost or b.lost or not reported('full.log'):
            continue
        alone += 1
        killed_late += b.left_out > 0
        assert abs(b.events + b.left_out - a.events) <= threads, (b.events, b.left_out, a.events)
        wanted, found = (by_thread(reported(log, '--where', text)) for log in ('full.log', 'part.log'))
        for thread in {**wanted, **found}:
            a, b = wanted.get(thread, []), found.get(thread, [])
            equal(f'{thread}', b[:len(a) - 1], a[:len(b)][:len(a) - 1])
            assert abs(len(a) - len(b)) <= 1, (len(a), len(b))
        run('check', 'part.log')
    assert alone > 3 and killed_late > 1, (alone, killed_late)


def test_program_killed():
    remove_logs()
    target = Target(1, 3000000)
    process = recorder('a.log', '-p', str(target.pid), '--where', 'rows > 4')
    target.wait_for_streams(1)
    target.go()
    time.sleep(0.1)
    target.kill()
    end(process)
    log = Log('a.log')
    assert log.complete and log.events > 0 and log.left_out > log.events, log.__dict__
    equal('the same', reported('a.log', '--where', 'rows > 4'), reported('a.log'))


if __name__ == '__main__':
    Suite(globals()).main()
