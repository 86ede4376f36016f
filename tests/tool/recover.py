#!/usr/bin/env python3
#
# recover.py - posixtrace recover: logs of programs that were killed are finished, and what they left goes
#
#     recover.py POSIXTRACE TRACER
#
# SPDX-License-Identifier: MIT

import json
import os
import resource
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import scene
from made_log import crc32c
from scene import Tracer, Tool, expect, shared_files

scene.private()
POSIXTRACE, TRACER = sys.argv[1:3]
run, check = Tool(POSIXTRACE, 'recover'), Tool(POSIXTRACE, 'check')


def killed(log, *arguments, events=1000):
    """Kills a program whose last events are not in its log yet."""
    tracer = Tracer(TRACER, '-l', log, '-n', 'mine', '-s', 'loop', *arguments)
    tracer.do(f'trace {events}')
    tracer.kill()
    return tracer


def whole(log, events):
    """Complete, with all that was traced, and START and STOP."""
    said = json.loads(check('--json', log).stdout)
    expect(said['ok'] and said['complete'] and said['events'] == events + 2, f'{log}: {said}')


def nothing():
    done = run()
    expect(done.returncode == 0 and done.stdout == 'nothing to recover\n', f'{done}')
    expect(run('--dry-run').stdout == 'nothing to recover\n', 'nothing')


def finishes(log):
    tracer = killed(log)
    before, files = log.read_bytes(), shared_files()
    done = run('--dry-run')
    expect(done.returncode == 0 and f'would finish {log}, by stream mine of process {tracer.pid}\n' in done.stdout,
           f'{done}')
    expect(log.read_bytes() == before and shared_files() == files, '--dry-run has changed something')
    expect('its creator has ended' in check(log).stdout, 'check does not tell')
    done = run()
    expect(done.returncode == 0 and f'finished {log}: 1002 events, by stream mine of process '
                                    f'{tracer.pid}\n' in done.stdout, f'{done}')
    expect(f'removed the page of process {tracer.pid}' in done.stdout
           and f'removed the names of process {tracer.pid}' in done.stdout, f'{done}')
    whole(log, 1000)
    expect(shared_files() == [], f'{shared_files()}')
    nothing()
    done = run(log)
    expect(done.returncode == 0 and done.stdout == f'{log} is complete: 1002 events\n', f'{done}')


def one_file(log):
    killed(log)
    done = run('--dry-run', log)
    expect(done.returncode == 0 and done.stdout.startswith(f'would finish {log}'), f'{done}')
    done = run(log)
    expect(done.returncode == 0 and done.stdout == f'finished {log}: 1002 events\n', f'{done}')
    whole(log, 1000)


def moved(log):
    other, copy = log.with_name('elsewhere.log'), log.with_name('copy.log')
    killed(log)
    shutil.copy(log, copy)
    log.rename(other)
    done = run()
    expect(done.returncode == 1 and f'cannot finish {log}, 1001 events of stream mine' in done.stdout
           and 'posixtrace recover FILE' in done.stdout,
           f'{done}')
    expect(run('--dry-run').returncode == 1, 'it cannot be')
    done = run(copy)
    expect(done.returncode == 1 and 'a copy' in done.stderr and str(log) in done.stderr, f'{done}')
    done = run(other)
    expect(done.returncode == 0 and done.stdout == f'finished {other}: 1002 events\n', f'{done}')
    whole(other, 1000)
    expect(run().returncode == 0, 'the rest')
    expect(shared_files() == [], f'{shared_files()}')


def removed(log):
    killed(log)
    log.unlink()
    expect(run().returncode == 1, 'it cannot be')
    expect(run('--discard', '--dry-run').stdout.startswith(f'would discard {log}'), '--dry-run')
    done = run('--discard')
    expect(done.returncode == 0 and 'discarded stream mine' in done.stdout and '1001 events' in done.stdout, f'{done}')
    expect(shared_files() == [], f'{shared_files()}')


def discard_finishes(log):
    """What can be finished is not discarded."""
    killed(log)
    expect(f'finished {log}' in run('--discard').stdout, '--discard')
    whole(log, 1000)


def gone(log):
    """As after a restart of the machine."""
    killed(log)
    for path in Path('/dev/shm').glob('posixtrace-*/*'):
        path.unlink()
    done = run(log)
    expect(done.returncode == 1 and 'the rest of its stream is lost' in done.stderr, f'{done}')
    nothing()


def alive(log):
    tracer = Tracer(TRACER, '-l', log)
    expect(run().stdout == 'nothing to recover\n', 'it lives')
    done = run(log)
    expect(done.returncode == 1 and f'process {tracer.pid} tracer is writing it' in done.stderr, f'{done}')
    expect(check(log).returncode == 0 and 'it is being written' in check(log).stdout, 'check')
    copy, cut = log.with_name('copy.log'), log.with_name('cut.log')
    shutil.copy(log, copy)
    cut.write_bytes(log.read_bytes()[:-24])
    for other in (copy, cut):
        done = run(other)
        expect(done.returncode == 1 and 'a copy' in done.stderr and str(log) in done.stderr, f'{done}')
        done = check(other)
        expect(done.returncode == 1 and 'it is being written' not in done.stdout, f'a copy: {done}')
    tracer.do('shutdown')
    tracer.end()


def stream_file():
    return next(Path('/dev/shm').glob('posixtrace-*/stream-*'))


def not_readable(log):
    """What cannot be looked into is not gone."""
    killed(log)
    place = stream_file().parent
    place.chmod(0o755)
    done = run(log)
    expect(done.returncode == 1 and str(place) in done.stderr and 'gone' not in done.stderr, f'{done}')
    place.chmod(0o700)
    expect(run(log).stdout.startswith('finished'), 'later')


def wrong_stream(log):
    """One of another version of the library, and one that is damaged, are no reason to call the log a copy."""
    killed(log)
    good = stream_file().read_bytes()
    for at, words in ((4, 'another version of the library'), (0, 'its stream is damaged')):
        stream_file().write_bytes(good[:at] + bytes([good[at] ^ 0x55]) + good[at + 1:])
        names = next(stream_file().parent.glob('names-*'))
        if at == 4:
            good_names = names.read_bytes()
            names.write_bytes(good_names[:4] + b'\7' + good_names[5:])
        for option in ([], ['--dry-run']):
            done = run(*option, log)
            expect(done.returncode == 1 and words in done.stderr and 'a copy' not in done.stderr and stream_file(),
                   f'{done}')
        if at == 4:
            # Another program leaves the log alone.
            Tracer(TRACER, '-l', log.with_name('next.log')).end()
            done = run()
            expect(done.returncode == 1 and 'made by another version' in done.stdout, f'{done}')
            file = stream_file()
            expect(file.read_bytes()[64:] == good[64:], 'it has been changed')
            expect(names.exists(), 'its names have been removed')
            names.write_bytes(good_names)
    stream_file().write_bytes(good)
    expect(run(log).returncode == 0, 'good again')
    whole(log, 1000)


def strange_name(log):
    """A name may be anything, and this a terminal."""
    log = log.with_name('a\33[31m.log')
    killed(log)
    for arguments, words in ((['--dry-run', log], 'would finish'), ([log], 'finished'), ([log], 'is complete')):
        done = run(*arguments)
        expect(done.returncode == 0 and words in done.stdout and '\33' not in done.stdout
               and 'a\\x1b[31m.log' in done.stdout, f'{done}')


def without_log():
    tracer = Tracer(TRACER, '-n', 'alone')
    tracer.do('trace 5')
    tracer.kill()
    done = run()
    expect(done.returncode == 0 and f'removed stream alone of process {tracer.pid}: without a log, 6 '
                                    f'events' in done.stdout, f'{done}')


def limited(log):
    """Fails while the log cannot be written, and recovers it later."""
    killed(log)
    size = log.stat().st_size
    done = run(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY)))
    expect(done.returncode == 1 and f'cannot finish {log}' in done.stdout, f'{done}')
    expect(run().returncode == 0, 'later')
    whole(log, 1000)


def two_at_once(directory):
    logs = [directory / f'{i}.log' for i in range(8)]
    tracers = [Tracer(TRACER, '-l', log, '-n', 'mine', '-s', 'loop', '-S', 100000) for log in logs]
    # All of them before the first is killed: whoever creates a stream finishes what was left.
    for tracer in tracers:
        tracer.do('trace 1000')
    for tracer in tracers:
        tracer.kill()
    both = [subprocess.Popen([POSIXTRACE, 'recover'], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = [process.communicate(timeout=60)[0] for process in both]
    expect([process.returncode for process in both] == [0, 0], f'{said}')
    for log in logs:
        whole(log, 1000)
        expect(any(f'finished {log}' in text for text in said), f'{log}: {said}')
    run()
    expect(shared_files() == [], f'{shared_files()}')


def other_user(log):
    """Root cannot finish the log of another user, and says who can."""
    if os.geteuid() != 0:
        return
    killed(log)
    # The same log and stream, as if they were of the user 1.
    data = bytearray(log.read_bytes())
    at = data.index(b'/dev/shm/posixtrace-0/stream')
    data[at:at + 21] = b'/dev/shm/posixtrace-1'
    size, = struct.unpack_from('<I', data, 24)
    struct.pack_into('<I', data, 28, crc32c(data[64:64 + size]))
    struct.pack_into('<I', data, 60, crc32c(data[:60]))
    log.write_bytes(bytes(data))
    theirs = Path('/dev/shm/posixtrace-1')
    Path('/dev/shm/posixtrace-0').rename(theirs)
    for path in (theirs, *theirs.iterdir()):
        os.chown(path, 1, 1)
    try:
        done = run(log)
        who = f"its stream belongs to user 1, who can complete it: run 'posixtrace recover {log}' as that user"
        expect(done.returncode == 1 and who in done.stderr and 'lost' not in done.stderr, f'{done}')
        expect("user 1, who can complete it: run 'posixtrace recover'" in check(log).stdout, f'{check(log)}')
        for command in ('report', 'stat'):
            done = Tool(POSIXTRACE, command)(log)
            expect(who in done.stderr and 'nothing known' not in done.stdout, f'{done}')
        words = ("1 stream of other users: its creator has ended; 'posixtrace recover', run by the user whose stream "
                 'it is, finishes the log and removes the stream')
        done = run()
        expect(done.stdout == 'nothing to recover\n' and words in done.stderr, f'{done}')
        done = Tool(POSIXTRACE, 'list')('--all')
        expect(words in done.stderr and done.stderr.count('recover') == 1, f'{done}')
    finally:
        shutil.rmtree(theirs)
    done = run(log)
    expect('the rest of its stream is lost' in done.stderr, f'{done}')


def no_logs(directory):
    text = directory / 'text'
    text.write_text('hello\n')
    done = run(text, directory / 'missing')
    expect(done.returncode == 1 and 'not a log' in done.stderr and 'No such file' in done.stderr, f'{done}')
    expect(run('--help').stdout.startswith('usage: posixtrace recover') and run('--what').returncode == 2, 'usage')
    expect(run('--discard', text).returncode == 2, '--discard FILE')


with scene.directory() as name:
    here = Path(name)
    nothing()
    for i, test in enumerate((finishes, one_file, moved, removed, discard_finishes, gone, alive, not_readable,
                              wrong_stream, strange_name, limited, other_user)):
        test(here / f'{test.__name__}.log')
        run()
    without_log()
    two_at_once(here)
    no_logs(here)
scene.finish()
