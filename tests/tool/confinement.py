#!/usr/bin/env python3
#
# confinement.py - processes under seccomp filters: what the command refuses to trace, and why; what is killed, and what
# is not
#
#     confinement.py POSIXTRACE CONFINED
#
# SPDX-License-Identifier: MIT

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import scene
from scene import expect

scene.private()
POSIXTRACE, CONFINED = (str(Path(path).resolve()) for path in sys.argv[1:3])
DOCUMENT = Path(__file__).resolve().parents[2] / 'docs' / 'processes.md'
MAY_KILL = 'runs under a seccomp filter, which may kill it'


def run(*arguments, **more):
    return subprocess.run([POSIXTRACE, *map(str, arguments)], capture_output=True, text=True, timeout=60, check=False,
                          **more)


class Confined:
    def __init__(self, name, **more):
        self.process = subprocess.Popen([CONFINED, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        **more)
        self.pid = self.process.pid
        self.works = self.process.stdout.readline() == 'ready\n'

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def lives(self):
        """It has come to some trace points more."""
        time.sleep(0.1)
        return self.process.poll() is None


def events(log):
    done = run('stat', '--json', log)
    types = json.loads(done.stdout)['types'] if done.returncode == 0 else []
    return sum(t['events'] for t in types if t['name'] == 'confined')


def record(confined, *options, **more):
    return run('record', '-q', '-o', 'a.log', '--duration', '300ms', *options, '-p', confined.pid, **more)


def doctor(confined):
    done = run('doctor', '--json', '-p', confined.pid)
    return {f['about']: f for f in map(json.loads, done.stdout.splitlines())}, done.returncode


def refused(name, words, anyway):
    with Confined(name) as confined:
        if not confined.works:
            return print(f'{name}: no such filter here')
        done = record(confined)
        expect(done.returncode == 1 and words in done.stderr, f'{name}: {done}')
        expect(('--despite-seccomp' in done.stderr) == anyway, f'{name}: {done}')
        expect(not Path('a.log').exists(), f'{name}: a log')
        found, status = doctor(confined)
        expect(status == 1 and found['seccomp']['grade'] == 'problem' and words in found['seccomp']['text'],
               f'{name}: {found}')
        expect('trial' not in found, f'{name}: {found}')
        done = run('live', '--once', '--interval', '50ms', '-p', confined.pid)
        expect(done.returncode == 1 and words in done.stderr or 'unknown' in done.stderr, f'{name}: {done}')
        expect(confined.lives(), f'{name} has not survived: {confined.process.returncode}')
        if not anyway:
            done = record(confined, '--despite-seccomp')
            expect(done.returncode == 1 and words in done.stderr and confined.lives(), f'{name}: {done}')
    return None


def killed():
    """Records in spite of the filter with --despite-seccomp."""
    with Confined('openat') as confined:
        if confined.works:
            record(confined, '--despite-seccomp')
            expect(confined.process.wait(10) == -signal.SIGSYS, f'{confined.process.returncode}')


def listed():
    """What the document lists is enough, also for many chunks, and when the recorder is killed."""
    with Confined('listed') as confined:
        if not confined.works:
            return print('listed: no such filter here')
        done = record(confined, '--despite-seccomp', '-s', '64K')
        expect(done.returncode == 0 and confined.lives() and events('a.log') > 1000,
               f'{done}, {confined.process.poll()}')
        with subprocess.Popen([POSIXTRACE, 'record', '-q', '-o', 'b.log', '--despite-seccomp', '-p',
                               str(confined.pid)]) as recorder:
            time.sleep(0.3)
            recorder.kill()
        time.sleep(1.3)  # a traced process asks once in a second whether the stream's creator lives
        expect(confined.lives(), f'{confined.process.poll()}, after the recorder')
        done = record(confined, '--despite-seccomp', '-s', '64K')
        expect(done.returncode == 0 and confined.lives() and events('a.log') > 1000,
               f'{done}, {confined.process.poll()}')
    return None


def harmless():
    """As in a container: under the recorder's own filter nothing is refused; under one that the recorder has not it
    is, for want of knowledge."""
    with Confined('none', preexec_fn=scene.without_pidfd) as confined:
        expect(confined.works, 'no filter')
        done = record(confined)
        expect(done.returncode == 1 and MAY_KILL in done.stderr, f'{done}')
        done = record(confined, '--despite-seccomp')
        expect(done.returncode == 0 and events('a.log') > 1000, f'{done}')
        Path('a.log').unlink()
        done = record(confined, preexec_fn=scene.without_pidfd)
        expect(done.returncode == 0 and events('a.log') > 1000, f'{done}')
    Path('a.log').unlink()
    # The recorder's own is no reason to refuse a process that has none.
    with Confined('none') as confined:
        expect(doctor(confined)[0]['seccomp']['grade'] == 'ok', f'{doctor(confined)}')
        done = record(confined, preexec_fn=scene.without_pidfd)
        expect(done.returncode == 0 and events('a.log') > 1000, f'{done}')
    Path('a.log').unlink()


def started():
    """What a command does later cannot be known, but afterwards it is told."""
    done = run('record', '-o', 'a.log', '--', CONFINED, 'late')
    if done.returncode == 77:
        return print('late: no such filter here')
    expect(done.returncode == 128 + signal.SIGSYS and 'this looks like a seccomp filter' in done.stderr, f'{done}')
    done = run('record', '--despite-seccomp', '--', CONFINED, 'none')
    return expect(done.returncode == 2 and '--despite-seccomp needs -p' in done.stderr, f'{done}')


def document():
    """The filter of `listed` and the document's list are one."""
    part = DOCUMENT.read_text().split('## Seccomp\n')[1].split('\n## ')[0]
    table = next(line for line in part.splitlines() if line.startswith('| traced'))
    names = subprocess.run([CONFINED, 'names'], capture_output=True, text=True, check=True).stdout.split()
    there, here = set(re.findall(r'`(\w+)`', table)), {name.removesuffix('32') for name in names}
    expect(there == here, f'docs/processes.md and confined.c differ: {sorted(there ^ here)}')


with tempfile.TemporaryDirectory() as directory:
    os.chdir(directory)
    refused('openat', 'it ' + MAY_KILL, True)
    refused('thread', '1 of its 2 threads ' + MAY_KILL, True)
    refused('strict', 'strict mode', False)
    killed()
    harmless()
    listed()
    started()
    document()
    os.chdir('/')
scene.finish()
