#!/usr/bin/env python3
#
# lttng_compare.py - record --lttng records what LTTng records, event by event: of LTTng's examples, and other programs
#
#     lttng_compare.py POSIXTRACE FOLDER [COMMAND...]
#
# FOLDER: where the programs are built. Each further argument is a command, which is run under LTTng's cyg-profile
# wrapper. Both recordings are printed by babeltrace2, and compared as text without times and contexts. Needs
# lttng-tools, liblttng-ust-dev and babeltrace2; the session daemon is started if none runs.
#
# SPDX-License-Identifier: MIT

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from lttng_session import OWN, peer, session

HERE = Path(__file__).resolve().parent
EXAMPLES = Path('/usr/share/doc/liblttng-ust-dev/examples')
# The last two record nothing themselves: they stand around functions that a program calls.
WRAPPERS = ['libc-wrapper', 'pthread-wrapper', 'dl', 'fork libc-wrapper', 'fd libc-wrapper']
LIMIT = 300
failures = 0


def complain(text):
    global failures
    failures += 1
    print(text, file=sys.stderr)


def run(command, environment=(), **more):
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False, stdin=subprocess.DEVNULL,
                          env={**os.environ, **dict(environment)}, **more)


# -- Event by event -------------------------------------------------------------------------------------------

def printed(directory):
    """Returns the events as babeltrace2 prints them, without times and contexts."""
    done = run(['babeltrace2', '--no-delta', str(directory)])
    events = []
    for line in done.stdout.splitlines():
        found = re.match(r'\[[^]]*\] (?:\S+ )?(\S+:\S+): (?:\{[^}]*\}, )?(\{.*\})$', line)
        if found and not found[1].startswith(OWN):
            events.append(f'{found[1]} {found[2]}')
    # Without any event there are no files.
    if not events and 'ERROR' in done.stderr and 'No trace was found' not in done.stderr:
        complain(f'babeltrace2 cannot read {directory}: {done.stderr[-2000:]}')
    return events


def alike(event):
    """Removes what differs for a reason: names that are too long, labels of ranges, addresses of another run."""
    event = re.sub(r'"FEW\+\d"', '"FEW"', event)
    event = re.sub(r'\b(a_name_that_is_longer_than_31_b)\w+', r'\1', event)
    event = event.replace('a_name_that_is_longer_than_31_2', 'a_name_that_is_longer_than_31_b')
    event = event.replace('dark_ or _BLUE_', 'dark, or <BLUE>')
    event = re.sub(r'^(kinds:an_event_whose_name_and_provider_have_more_than)\S+', r'\1', event)
    # Of a range that is too long for labels, only the first value has one; of several labels, the first counts.
    event = re.sub(r'0x[0-9A-F]{9,}', '0x...', event)
    return re.sub(r'\{ ?', '{ ', event)


def both(posixtrace, command, environment, work):
    """Runs a command under each. Returns the events of LTTng, and ours."""
    theirs, ours = work / 'theirs', work / 'ours'
    log = work / 'log'
    for path in (theirs, ours):
        shutil.rmtree(path, ignore_errors=True)
    log.unlink(missing_ok=True)
    with session(theirs):
        done = run(command, environment, cwd=work)
    other = run([posixtrace, 'record', '--lttng', '--children', '--max-data', '65535', '-s', '256M', '-q', '-o',
                 str(log), '--', *command], environment, cwd=work)
    if done.returncode != other.returncode or done.stdout != other.stdout:
        complain(f'{command}: status {other.returncode}, not {done.returncode}: {other.stderr}')
    run([posixtrace, 'convert', '-q', '--to', 'ctf', '-o', str(ours), str(log)])
    return printed(theirs), printed(ours)


def compare(name, theirs, ours):
    """The same events in the same order: programs with one thread."""
    for number, (their, our) in enumerate(zip(theirs, ours)):
        if alike(their) != alike(our):
            complain(f'{name}: event {number}:\n  LTTng      {their[:500]}\n  posixtrace {our[:500]}')
            break
    if len(theirs) != len(ours):
        complain(f'{name}: {len(ours)} events, and {len(theirs)} of LTTng')
    elif not theirs:
        complain(f'{name}: no events')
    else:
        print(f'{name}: {len(theirs)} events, the same')


def build(folder):
    """Builds LTTng's examples, and our program as programs for LTTng are built. Returns the commands by name."""
    commands = {}
    for name, program, more in [('demo', 'demo-trace', ['0']), ('demo-tracef', 'demo-tracef', []),
                                ('demo-tracef', 'demo-vtracef', []), ('demo-tracelog', 'demo-tracelog', []),
                                ('demo-tracelog', 'demo-vtracelog', [])]:
        place = folder / name
        if not place.exists():
            shutil.copytree(EXAMPLES / name, place)
        done = run(['make', '-C', str(place)])
        if done.returncode:
            sys.exit(f'{name} cannot be built: {done.stderr}')
        path = place / program
        path.chmod(0o755)
        commands[program] = [str(path), *more]
    flags = ['-O2', '-w', f'-I{HERE}']
    files = [str(HERE / f'lttng_{part}.c') for part in ('provider', 'program', 'notes')]
    done = run(['cc', *flags, *files, '-o', str(folder / 'kinds'), '-llttng-ust', '-llttng-ust-tracepoint', '-ldl',
                '-lpthread'])
    if done.returncode:
        sys.exit(f'kinds cannot be built: {done.stderr}')
    commands['kinds'] = [str(folder / 'kinds'), 'kinds']
    return commands


def check_wrappers(posixtrace, work):
    """Debian's program runs as ever under each of LTTng's wrappers, and has the same kinds of events."""
    code = '''
import ctypes, os, threading
ctypes.CDLL("libm.so.6")
thread = threading.Thread(target=print, args=("thread",))
thread.start()
thread.join()
if os.fork() == 0:
    open("/dev/null").close()
    os._exit(0)
os.wait()
'''
    for wrapper in WRAPPERS:
        environment = {'LD_PRELOAD': ':'.join(f'liblttng-ust-{part}.so.1' for part in wrapper.split())}
        theirs, ours = both(posixtrace, ['/usr/bin/python3', '-c', code], environment, work)
        kinds = [{event.split()[0] for event in events} for events in (theirs, ours)]
        if kinds[0] != kinds[1] or not kinds[0]:
            complain(f'{wrapper}: events of {sorted(kinds[1])}, and of LTTng {sorted(kinds[0])}')
        else:
            print(f'{wrapper}: {len(ours)} events, {len(theirs)} of LTTng, of the same {len(kinds[0])} types')


def check_events(posixtrace, folder, programs):
    folder.mkdir(parents=True, exist_ok=True)
    work = folder / 'work'
    work.mkdir(exist_ok=True)
    for name, command in build(folder).items():
        compare(name, *both(posixtrace, command, {}, work))
    for program in programs:
        command = shlex.split(program)
        for wrapper in ('cyg-profile', 'cyg-profile-fast'):
            # At the same addresses in both runs.
            theirs, ours = both(posixtrace, ['setarch', '-R', *command],
                                {'LD_PRELOAD': f'liblttng-ust-{wrapper}.so.1'}, work)
            compare(f'{Path(command[0]).name} under {wrapper}', theirs, ours)
    check_wrappers(posixtrace, work)


missing = [tool for tool in ('lttng-sessiond', 'lttng', 'babeltrace2', 'cc', 'make') if not shutil.which(tool)]
if missing or not EXAMPLES.is_dir():
    print(f'skipped: {" ".join(missing) or EXAMPLES} missing')
    sys.exit(77)
with peer.daemon():
    check_events(str(Path(sys.argv[1]).resolve()), Path(sys.argv[2]).resolve(), sys.argv[3:])
sys.exit(1 if failures else 0)
