#
# lttng.py - record --lttng: a program for LTTng-UST records what it would record there, and nothing if nobody records
#
#     lttng.py POSIXTRACE LIBLTTNG_UST [LINKED DYNAMIC PROVIDER]
#
# SPDX-License-Identifier: MIT

import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / 'tool'))
import scene  # noqa: E402

POSIXTRACE, LIBRARY, *PROGRAMS = (str(Path(argument).resolve()) for argument in sys.argv[1:])
LIMIT = 60 * int(os.environ.get('TEST_SLOW', 1))
FOLDER = str(Path(LIBRARY).parent)
SKIPPED = 77
failures = 0

if not PROGRAMS:
    print('skipped: the headers of LTTng-UST 2.13 are missing (liblttng-ust-dev)')
    sys.exit(SKIPPED)
LINKED, DYNAMIC, PROVIDER = PROGRAMS
# Another user's stream, or another recorder's, would make every program look for its own.
scene.private()
ENVIRONMENT = {name: value for name, value in os.environ.items()
               if name not in ('LD_PRELOAD', 'LD_LIBRARY_PATH', 'POSIXTRACE_LTTNG')}


def expect(right, text):
    global failures
    if not right:
        failures += 1
        print(text, file=sys.stderr)


def equal(what, found, wanted):
    expect(found == wanted, f'{what}: found {found!r}, not {wanted!r}')


def run(command, environment=(), status=0, **more):
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False,
                          env={**ENVIRONMENT, **dict(environment)}, **more)
    expect(done.returncode == status, f'{" ".join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}')
    return done


def events_of(log):
    done = run([POSIXTRACE, 'report', '--json', str(log)])
    return [json.loads(line) for line in done.stdout.splitlines()]


def record(*command, environment=(), options=(), silent=True):
    """Records a command. Returns its output, and its events. silent: the recorder has nothing to say."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / 'log'
        done = run([POSIXTRACE, 'record', '--lttng', '-s', '16M', *options, '-q', '-o', str(log), '--', *command],
                   environment)
        if silent:
            equal(f'{command}: messages', done.stderr, '')
        return done.stdout, events_of(log)


def fields(events, name):
    return [event['fields'] for event in events if event['event'] == name]


def ticks(events, who):
    return [tick['n'] for tick in fields(events, 'kinds:tick') if tick['who'] == who]


# -- All kinds of fields ------------------------------------------------------------------------------------

# Integers of more than 53 bits are texts in JSON.
NUMBERS = [
    dict(u8=7, i8=7, u16=7, i16=7, u32=7, i32=7, u64=str(1 << 63), i64=str(-(1 << 63)), x64=str(1 << 63), signed_hex=7,
         port=0x50, net=1, net_hex='16045690981097406464', f32=3.5, f64=1.75),
    dict(u8=253, i8=-3, u16=65533, i16=-3, u32=4294967293, i32=-3, u64=42, i64=42, x64=42, signed_hex=4294967293,
         port=0x50, net=1, net_hex='16045690981097406464', f32=-1.5, f64=-0.75),
]
TEXTS = [
    {'first': 'tea', 'between': 5, 'none': '(null)', 'fixed': 'fixed', '_counted_length': 2, 'counted': 'te',
     'empty': '', 'last': -5},
    {'first': '', 'between': -5, 'none': '(null)', 'fixed': 'fixed', '_counted_length': 0, 'counted': '', 'empty': '',
     'last': 5},
]
ITEMS = [1, -2, 0x10203, 4, 5]
ITEM_BYTES = struct.pack('=5i', *ITEMS)


def arrays(count):
    return {
        'three': ITEMS[:3], 'hex': [1, 0xfffffffe], 'net': list(struct.unpack('>2i', ITEM_BYTES[:8])),
        '_some_length': count, 'some': ITEMS[:count], '_bytes_length': count, 'bytes': list(ITEM_BYTES[:count]),
        '_ports_length': count, 'ports': list(struct.unpack(f'>{count}H', ITEM_BYTES[:2 * count])),
        '_nothing_length': 0, 'nothing': [], 'a_name_that_is_longer_than_31_b': 1,
        'a_name_that_is_longer_than_31_2': 2,
    }


def color(n):
    return {-4: 'BELOW', 0: 'RED', 1: 'dark_ or _BLUE_', 3: 'FEW', 4: 'FEW+1', 5: 'FEW+2'}.get(n, n)


def counted(n):
    return {0: 'ZERO', 7: 'SEVEN', 8: 'EIGHT'}.get(n, n)


def shortened(name):
    """As type_name() of instrument/lttng/event.c."""
    number = 2166136261
    for byte in name.encode():
        number = (number ^ byte) * 16777619 & 0xffffffff
    return f'{name[:54]}~{number:08x}'


def check_kinds(program, environment=()):
    _, events = record(program, 'kinds', environment=environment, options=['--max-data', '65535'])
    what = f'{Path(program).name} kinds'
    equal(f'{what}, numbers', fields(events, 'kinds:numbers'), NUMBERS)
    equal(f'{what}, texts', fields(events, 'kinds:texts'), TEXTS)
    equal(f'{what}, arrays', fields(events, 'kinds:arrays'), [arrays(5), arrays(0)])
    equal(f'{what}, labels', fields(events, 'kinds:labels'), [
        {'color': color(n), 'small': counted(n & 255), 'counted': counted(n), 'after': n} for n in range(-4, 10)])
    equal(f'{what}, long text', fields(events, 'kinds:long_text'), [{'text': 'x' * 20000, 'n': 1}])
    nothing = [event for event in events if event['event'] == 'kinds:nothing']
    equal(f'{what}, no fields', [event.get('fields', {}) for event in nothing], [{}])
    long_name = 'kinds:an_event_whose_name_and_provider_have_more_than_63_bytes_together'
    equal(f'{what}, long name', fields(events, shortened(long_name)), [{'n': 9}])
    levels = {event['event']: event.get('level') for event in events}
    for name, level in [('kinds:emergency', 'emergency'), ('kinds:error', 'error'), ('kinds:module', 'debug'),
                        ('kinds:texts', None)]:
        equal(f'{what}, level of {name}', levels.get(name, 'no event'), level)
    # Each tracepoint of the program has an address of its own, and the loop has one.
    equal(f'{what}, addresses', len({event['address'] for event in events}), len(events) - 13)
    if program == DYNAMIC:
        return
    for name, level in [('lttng_ust_tracef:event', 'debug'),
                        ('lttng_ust_tracelog:LTTNG_UST_TRACEPOINT_LOGLEVEL_WARNING', 'warning')]:
        equal(f'{what}, level of {name}', levels.get(name, 'no event'), level)
    equal(f'{what}, tracef', fields(events, 'lttng_ust_tracef:event'),
          [{'_msg_length': len(text), 'msg': text} for text in ('3 of tea', 'x' * 20000)])
    logged = fields(events, 'lttng_ust_tracelog:LTTNG_UST_TRACEPOINT_LOGLEVEL_WARNING')
    equal(f'{what}, tracelog', [(line['func'], line['msg'], Path(line['file']).name) for line in logged],
          [('notes', 'low: 5', 'lttng_notes.c')])


def check_cut():
    """Without --max-data a long text is cut, as all data are, and nothing is lost."""
    _, events = record(LINKED, 'kinds')
    equal('cut: events', len([event for event in events if event['event'].startswith('kinds:')]), 26)
    texts = [event for event in events if event['event'] == 'kinds:long_text']
    equal('cut: long text', len(texts), 1)


# -- Threads, handlers, children, providers ------------------------------------------------------------------

def check_threads():
    _, events = record(LINKED, 'threads')
    for who in range(200):
        if ticks(events, who) != list(range(200)):
            expect(False, f'threads: of thread {who} there are {ticks(events, who)}')


def check_handlers():
    output, events = record(LINKED, 'handlers')
    looped, handled = map(int, output.split())
    equal('handlers: of the loop', ticks(events, 0), list(range(looped)))
    equal('handlers: of the handler', ticks(events, 1), list(range(handled)))


def check_jumps():
    """A handler that jumps away from an event loses this event at most, and breaks no other one."""
    output, events = record(LINKED, 'jumps', silent=False)
    looped, handled = map(int, output.split())
    jumps = handled // 16
    for what, found, wanted in (('loop', ticks(events, 0), looped), ('handler', ticks(events, 1), handled)):
        # The loop repeats the number of an event that a handler has interrupted.
        equal(f'jumps: of the {what}, in order', found, sorted(found))
        missing = set(range(wanted)) - set(found)
        expect(len(missing) <= jumps, f'jumps: of the {what}, {missing} are missing after {jumps} jumps')
        expect(set(found) <= set(range(wanted)), f'jumps: of the {what}, events that were not recorded')


def check_forks():
    for options, children in ((['--children'], 1), ([], 0)):
        output, events = record(LINKED, 'forks', options=options)
        equal(f'forks {options}: on', output.split('\n'), [f'child {children}'] * 3 + ['parent 1', ''])
        equal(f'forks {options}: parent', ticks(events, 0), [0, 1])
        for who in (10, 20, 30):
            equal(f'forks {options}: child', ticks(events, who), [0, 1] if children else [])
            equal(f'forks {options}: thread of child', ticks(events, who + 1), list(range(200)) if children else [])


def check_loads():
    _, events = record(DYNAMIC, 'loads', PROVIDER)
    equal('loads: with the provider', ticks(events, 1), list(range(50)))
    equal('loads: without', ticks(events, 2), [])


def check_functions():
    output, events = record(LINKED, 'functions')
    equal('functions: on afterwards', output, '1\n')
    equal('functions: recorded as well', (ticks(events, 2), ticks(events, 4)), ([3], [5]))
    done = run([LINKED, 'functions'], {'LD_LIBRARY_PATH': FOLDER})
    equal('functions, unrecorded', (done.stdout, done.stderr), ('0\n', ''))


def check_ends():
    """Constructors of the program, and destructors, record."""
    _, events = record(LINKED, 'functions', environment={'AT_EXIT': '1'})
    equal('ends', ticks(events, 3), [1, 3])


# -- Nobody records, other ways in --------------------------------------------------------------------------------

def check_unrecorded():
    """No output, no thread, no file; a tracepoint is off."""
    if not shutil.which('strace'):
        print('skipped: the system calls of a program that nobody records: strace is missing')
        return
    with tempfile.NamedTemporaryFile() as file:
        done = subprocess.run(['strace', '-f', '-e', 'trace=clone,clone3,creat,open,openat,memfd_create,write', '-o',
                               file.name, LINKED, 'wait'], capture_output=True, text=True, timeout=LIMIT, check=False,
                              env={**ENVIRONMENT, 'LD_LIBRARY_PATH': FOLDER}, input='')
        if done.returncode == 1 and 'ptrace' in done.stderr:
            print('skipped: the system calls of a program that nobody records: strace is not permitted')
            return
        equal('unrecorded: output', (done.returncode, done.stdout, done.stderr), (0, '0\n', ''))
        calls = Path(file.name).read_text().splitlines()
    expect(not any('clone' in call for call in calls), 'unrecorded: has made a thread')
    expect(not any('O_CREAT' in call or 'memfd' in call for call in calls), 'unrecorded: has made a file')
    equal('unrecorded: writes', len([call for call in calls if ' write(' in call]), 1)


def check_unrecorded_loads():
    done = run([DYNAMIC, 'loads', PROVIDER], {'LD_LIBRARY_PATH': FOLDER, 'UNRECORDED': '1'})
    equal('unrecorded loads', (done.stdout, done.stderr), ('', ''))


def check_attach():
    """POSIXTRACE_LTTNG=attach: a recording that begins later has the events from then on."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / 'log'
        program = subprocess.Popen([LINKED, 'wait'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                   env={**ENVIRONMENT, 'LD_LIBRARY_PATH': FOLDER, 'POSIXTRACE_LTTNG': 'attach'})
        equal('attach: on', program.stdout.readline(), '1\n')

        def tick():
            program.stdin.write('.')
            program.stdin.flush()
            return program.stdout.readline()

        tick()
        recorder = subprocess.Popen([POSIXTRACE, 'record', '-o', str(log), '-p', str(program.pid)],
                                    stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
        last = 0
        # Until the recording has begun, as its log shows, and a bit longer.
        deadline = time.monotonic() + LIMIT
        more = 20
        while more and time.monotonic() < deadline and recorder.poll() is None:
            last = int(tick())
            if log.exists() and log.stat().st_size:
                more -= 1
            time.sleep(0.01)
        program.stdin.close()
        program.wait(LIMIT)
        recorder.communicate(timeout=LIMIT)
        found = ticks(events_of(log), 6)
        expect(found and found == list(range(found[0], last + 1)) and found[0] > 0, f'attach: {found} up to {last}')


def check_other_ways():
    """By LD_LIBRARY_PATH and LD_PRELOAD without the option, alone and together, and two copies."""
    with tempfile.TemporaryDirectory() as folder:
        copies = Path(folder) / 'copies'
        copies.mkdir()
        for name in os.listdir(FOLDER):
            if name.endswith('.so.1'):
                shutil.copy(Path(FOLDER) / name, copies / name)
        ways = [
            {'LD_LIBRARY_PATH': FOLDER}, {'LD_PRELOAD': LIBRARY}, {'LD_LIBRARY_PATH': FOLDER, 'LD_PRELOAD': LIBRARY},
            {'LD_LIBRARY_PATH': f'{copies}:{Path(POSIXTRACE).parent.parent / "src"}', 'LD_PRELOAD': LIBRARY},
            {'LD_LIBRARY_PATH': FOLDER, 'LD_PRELOAD': PROVIDER},
        ]
        for number, way in enumerate(ways):
            log = Path(folder) / f'log{number}'
            done = run([POSIXTRACE, 'record', '-q', '-o', str(log), '--', LINKED, 'functions'], way)
            equal(f'{way}: messages', done.stderr, '')
            equal(f'{way}: events', (ticks(events_of(log), 2), ticks(events_of(log), 4)), ([3], [5]))
        # Loaded a second time by its path, of which ld.so does not know that it is the same.
        log = Path(folder) / 'twice'
        environment = {'LD_PRELOAD': PROVIDER, 'LD_LIBRARY_PATH': FOLDER}
        os.mkdir(Path(folder) / 'second')
        second = shutil.copy(PROVIDER, Path(folder) / 'second')
        done = run([POSIXTRACE, 'record', '-q', '-o', str(log), '--', DYNAMIC, 'loads', second], {
            **environment, 'LD_LIBRARY_PATH': f'{FOLDER}'}, status=1)
        expect('on without a provider' in done.stderr, f'two providers: the first one is not left: {done.stderr}')


def check_refused():
    done = run([POSIXTRACE, 'record', '--lttng', '-p', str(os.getpid())], status=2)
    expect('start the program with record' in done.stderr, f'-p with --lttng: {done.stderr}')


check_kinds(LINKED)
check_kinds(DYNAMIC, {'LD_PRELOAD': PROVIDER})
check_cut()
check_threads()
check_handlers()
check_jumps()
check_forks()
check_loads()
check_functions()
check_ends()
check_unrecorded()
check_unrecorded_loads()
check_attach()
check_other_ways()
check_refused()
print(f'{failures} failures')
sys.exit(1 if failures else 0)
