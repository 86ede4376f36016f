#
# libc.py - record --libc: what each group of functions records, and what the wrappers must not break
#
#     libc.py POSIXTRACE LIBRARIES CALLS HAZARDS EARLY ALLOCATOR SANITIZED
#
# LIBRARIES is the folder of libposixtrace-libc.so. SANITIZED is a program that was built with AddressSanitizer; it may
# be missing.
#
# SPDX-License-Identifier: MIT

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / 'tool'))
import scene
from scene import Suite, equal

POSIXTRACE, LIBRARIES, CALLS, HAZARDS, EARLY, ALLOCATOR, SANITIZED = (os.path.abspath(a) for a in sys.argv[1:8])
LIBC, MEMORY = (f'{LIBRARIES}/libposixtrace-libc{end}.so' for end in ('', '-memory'))


def events(log='x.log'):
    out, messages = scene.run(POSIXTRACE, 'report', '--json', log)
    found = [json.loads(line) for line in out.decode().splitlines()]
    for event in found:
        event['fields'] = event.get('fields', {})
    return found


def record(groups, *command, status=0, environment=None, children=True, lost=False, **more):
    """Records a program into x.log. Returns its output and its events."""
    Path('x.log').unlink(missing_ok=True)
    out, messages = scene.run(POSIXTRACE, 'record', '-q', '-s', '16M', '-o', 'x.log', *['--children'] * children,
                              '--libc', groups, '--', *command, status=status, environment=environment, **more)
    if not lost or b'events were lost' not in messages:
        equal('messages', messages.decode(), '')
    return out.decode(), events()


def names(found, *wanted):
    """Returns the names of events without their group, as many as are in `wanted`, if any are."""
    list_of = [event['event'].removeprefix('libc.') for event in found]
    return [name for name in list_of if not wanted or name in wanted]


def named(found, name):
    return [event['fields'] for event in found if event['event'] == 'libc.' + name]


def numbers(text):
    """Returns the words of an output with the values behind them."""
    return dict(re.findall(r'(\w+) (\w+)', text))


def hexadecimal(text):
    return int(text, 16)


# -- Groups -----------------------------------------------------------------------------------------------


def test_files():
    out, found = record('io', CALLS, 'files')
    here, first = os.getcwd(), None
    short = []
    for event in found:
        fields = event['fields']
        path = fields.get('path', '').replace(here, '.')
        short.append((event['event'].removeprefix('libc.'), path, fields.get('result'), fields['errno']))
        assert fields['took'] > 0 or fields['took'] == 0, fields
    file = './file'
    begin = next(i for i, event in enumerate(short) if event[0] == 'open' and event[1] == file)
    first = found[begin]['fields']['fd']
    wanted = [
        ('open', file, None, 'ok'), ('write', file, 5, 'ok'), ('pwrite', file, 2, 'ok'), ('pwrite', file, 1, 'ok'),
        ('writev', file, 7, 'ok'), ('read', file, 4, 'ok'), ('readv', file, 7, 'ok'), ('pread', file, 2, 'ok'),
        ('pread', file, 2, 'ok'), ('preadv', file, 3, 'ok'), ('pwritev', file, 3, 'ok'), ('fdatasync', file, 0, 'ok'),
        ('fsync', file, 0, 'ok'), ('ftruncate', file, 0, 'ok'), ('dup', file, first + 1, 'ok'),
        ('write', file, 4, 'ok'), ('close', file, 0, 'ok'), ('fcntl', file, 50, 'ok'), ('fcntl', file, 0, 'ok'),
        ('fcntl', file, 1, 'ok'), ('dup', file, 50, 'ok'), ('read', file, 1, 'ok'), ('close', file, 0, 'ok'),
        ('ioctl', file, 0, 'ok'), ('close', file, 0, 'ok'), ('close', '', -1, 'EBADF'),
        ('open', '/no/such/file', None, 'ENOENT'), ('read', '', -1, 'EBADF'), ('open', file, None, 'ok'),
        ('read', file, 1, 'ok'), ('close', file, 0, 'ok'), ('open', file, None, 'ok'), ('close', file, 0, 'ok'),
        ('open', './made', None, 'ok'), ('close', './made', 0, 'ok'),
    ]
    equal('calls', short[begin:begin + len(wanted)], wanted)
    equal('offsets', [fields['offset'] for fields in named(found, 'pread')], [3, 4])
    equal('flags', named(found, 'open')[-1]['flags'], 'O_WRONLY|O_CREAT|O_TRUNC')
    equal('command', named(found, 'fcntl')[0]['command'], 'F_DUPFD')
    # The event is a whole span.
    assert all('took' in event for event in found), found[0]


def test_sockets():
    out, found = record('io', CALLS, 'sockets')
    here, peer = os.getcwd(), f'127.0.0.1:{numbers(out)["port"]}'
    connects = [(f['path'], f['errno']) for f in named(found, 'connect')]
    local = 'unix:socket'
    equal('connect', connects, [(peer, 'ok'), (local, 'ok'), ('unix:nobody', 'ENOENT')])
    equal('send', [(f['path'], f['result']) for f in named(found, 'send')], [(peer, 7)])
    equal('sendto', [(f['path'], f['result']) for f in named(found, 'sendto')], [(peer, 2)])
    accepted, = named(found, 'accept')
    assert re.fullmatch(r'127\.0\.0\.1:\d+', accepted['path']) and accepted['path'] != peer, accepted
    equal('received', {f['path'] for name in ('recv', 'recvfrom') for f in named(found, name)},
          {accepted['path'], peer})
    ends = [f'127.0.0.1:{numbers(out)[name]}' for name in ('datagrams0', 'datagrams1')]
    # The last address has no room in the program's buffer: the socket's own is recorded.
    equal('sendmsg', [f['path'] for f in named(found, 'sendmsg')], [accepted['path'], ends[1], ends[0]])
    equal('recvmsg', [f['path'] for f in named(found, 'recvmsg')], [peer, ends[0], 'at ' + ends[0]])
    assert any(re.fullmatch(r'unix:\[\d+\]', f['path']) for f in named(found, 'write')), named(found, 'write')
    equal('listen', named(found, 'listen')[0]['path'], 'at ' + peer)
    equal('write', [f['path'] for f in named(found, 'write') if f['result'] == 5], [local])


def test_ready():
    out, found = record('io', CALLS, 'ready')
    equal('calls', [(name, f['result'], f['errno']) for name in ('poll', 'select', 'epoll_wait')
                    for f in named(found, name)],
          [('poll', 1, 'ok'), ('select', 1, 'ok'), ('epoll_wait', 1, 'ok'), ('epoll_wait', -1, 'EINVAL')])


def test_locks():
    """Only what waits, with the thread that holds the lock."""
    out, found = record('locks', CALLS, 'locks')
    known = numbers(out)
    lock, holder = hexadecimal(known['mutex']), int(known['holder'])
    mutexes = named(found, 'mutex_wait')
    equal('mutex', [(f['holder'], f['result']) for f in mutexes if f['lock'] == lock], [(holder, 'ok')])
    equal('deadlocks', [f['result'] for f in mutexes if f['result'] == 'EDEADLK'], ['EDEADLK'] * 2)
    rwlock = hexadecimal(known['rwlock'])
    reads, = named(found, 'rdlock_wait')
    equal('rdlock', (reads['lock'], reads['holder'], reads['result']), (rwlock, holder, 'ok'))
    equal('wrlock', named(found, 'wrlock_wait'), [])
    cond, = named(found, 'cond_wait')
    equal('cond', (cond['cond'], cond['mutex']), (hexadecimal(known['cond']), hexadecimal(known['other'])))
    equal('barriers', sorted(f['result'] for f in named(found, 'barrier_wait')), ['last', 'ok'])
    semaphore = hexadecimal(known['semaphore'])
    equal('semaphores', [(f['semaphore'], f['errno']) for f in named(found, 'sem_wait')],
          [(semaphore, 'ok'), (semaphore, 'ETIMEDOUT')])
    joins = named(found, 'join_wait')
    equal('join', (joins[-1]['thread'], joins[-1]['result']), (hexadecimal(known['thread']), 'ok'))
    assert len({event['tid'] for event in found}) == 2, names(found)
    assert all('took' in event for event in found), found


def test_threads():
    out, found = record('threads', CALLS, 'threads')
    known = numbers(out)
    created, = named(found, 'pthread_create')
    equal('created', (created['thread'], created['result']), (hexadecimal(known['thread']), 0))
    started, = [event for event in found if event['event'] == 'libc.thread_start']
    equal('started', (started['tid'], started['fields']['thread']), (int(known['started']), created['thread']))
    equal('function', started['fields']['function'], created['function'])
    equal('names', [f['name'] for f in named(found, 'thread_name')], ['first', 'second'])


def test_process():
    out, found = record('process', CALLS, 'process')
    known = numbers(out)
    fork = next(f for f in named(found, 'fork'))
    equal('fork', (fork['child'], fork['errno']), (int(known['child']), 'ok'))
    execs = [(f['path'], f['count'], f['arguments']) for f in named(found, 'exec')]
    for wanted in (('/bin/true', 3, 'true of execl'), ('no-such-program', 1, 'no'),
                   ('/no/such/file', 3, 'true of spawn')):
        assert wanted in execs, execs
    equal('failed', [f['errno'] for f in named(found, 'exec_failed')], ['ENOENT', 'ENOENT'])
    equal('spawn', [(f['path'], f['child'], f['result']) for f in named(found, 'posix_spawn')],
          [('/bin/true', int(known['spawned']), 0), ('/no/such/file', 0, 2)])
    equal('system', [(f['command'], f['result']) for f in named(found, 'system')], [('exit 3', 3 << 8)])
    equal('popen', [f['command'] for f in named(found, 'popen')], ['exit 4'])
    assert [f['path'] for f in named(found, 'dlopen')] == ['libnothing.so.77'], named(found, 'dlopen')
    assert {int(known['child']), int(known['spawned'])} <= {f['result'] for f in named(found, 'wait')}


def test_memory():
    out, found = record('memory', CALLS, 'memory')
    known = numbers(out)
    malloc, calloc, realloc = (hexadecimal(known[name]) for name in ('malloc', 'calloc', 'realloc'))
    assert {'size': 1001, 'address': malloc} in named(found, 'malloc')
    assert {'size': 1010, 'address': calloc} in named(found, 'calloc')
    assert {'old': malloc, 'size': 100001, 'address': realloc} in named(found, 'realloc')
    assert {'old': 0, 'size': 1133, 'address': hexadecimal(known['reallocarray'])} in named(found, 'realloc')
    equal('memalign', [(f['alignment'], f['size']) for f in named(found, 'memalign')], [(64, 1003), (32, 1024)])
    equal('refused', [f['address'] for f in named(found, 'malloc') if f['size'] == 2**63 - 1 or
                      str(f['size']) == str(2**63 - 1)], [0])
    # One event for each call, also where the C library calls itself; strdup() calls malloc().
    for address in (calloc, realloc):
        equal('frees', [f['address'] for f in named(found, 'free')].count(address) >= 1, True)
    assert {'size': 17, 'address': hexadecimal(known['strdup'])} in named(found, 'malloc')
    equal('groups', {name for name in names(found)},
          {'malloc', 'calloc', 'realloc', 'memalign', 'free', 'memory_process'})
    # Addresses of events are in the program.
    caller = next(event for event in found if event['fields'] == {'size': 1001, 'address': malloc})
    done = scene.run(POSIXTRACE, 'report', '--symbols', 'x.log')[0].decode()
    assert caller['address'] and 'memory' in done, done[:2000]


def test_groups():
    """Groups are recorded only if they are asked for, and memory needs a library of its own."""
    out, found = record('io,threads', CALLS, 'files', 'locks', 'threads', 'memory', 'process')
    recorded = set(names(found))
    assert {'open', 'write', 'pthread_create'} <= recorded, recorded
    assert not recorded & {'mutex_wait', 'malloc', 'fork', 'exec'}, recorded
    out, found = record('memory', CALLS, 'files', 'memory')
    assert not set(names(found)) & {'open', 'write'}, set(names(found))
    out, found = record('all', CALLS, 'files', 'locks', 'memory')
    assert {'open', 'mutex_wait', 'malloc'} <= set(names(found)), set(names(found))
    messages = scene.run(POSIXTRACE, 'record', '--libc', 'io', '--', 'true')[1].decode()
    assert 'true has called nothing that --libc was to record' in messages, messages
    messages = scene.run(POSIXTRACE, 'record', '--libc', 'io,lock', '--', 'true', status=2)[1].decode()
    assert "no group 'lock'" in messages, messages
    messages = scene.run(POSIXTRACE, 'record', '--libc', 'io', '-p', os.getpid(), status=2)[1].decode()
    assert 'preloaded' in messages, messages


# -- Hazards ----------------------------------------------------------------------------------------------


def hazard(name, **more):
    """Runs a hazard bare, with the libraries but not recorded, and recorded. Returns the events."""
    scene.run(HAZARDS, name)
    for path in Path().iterdir():
        if path.is_file():
            path.unlink()
    scene.run(HAZARDS, name, environment={'LD_PRELOAD': f'{LIBC}:{MEMORY}'})
    for path in Path().iterdir():
        if path.is_file():
            path.unlink()
    return record('all', HAZARDS, name, **more)[1]


def test_errno():
    hazard('errno')


def test_cancellation():
    hazard('cancellation')


def test_handlers():
    found = hazard('handlers')
    assert len(named(found, 'read')) >= 2000


def test_longjmp():
    # An event that a handler has left by longjmp() may count as lost.
    found = hazard('longjmp', lost=True)
    equal('the write after', [f['result'] for f in named(found, 'write') if f['path'].endswith('/after')], [5])


def test_fork():
    found = hazard('fork')
    writes = {(f['path'].rpartition('/')[2], f['result']) for f in named(found, 'write')}
    assert {('parent', 1), ('child', 2), ('child', 3), ('parent', 4)} <= writes, writes


def test_vfork():
    found = hazard('vfork')
    writes = [(f['path'].rpartition('/')[2], f['result']) for f in named(found, 'write')]
    equal('parent', {path for path, size in writes if size in (1, 3)}, {'parent'})
    equal('executed', [f['arguments'] for f in named(found, 'exec')][:10], ['sh -c exit 7'] * 10)


def test_spawn():
    hazard('spawn')


def test_descriptors():
    found = hazard('descriptors')
    writes = {(f['path'].rpartition('/')[2], f['result']) for f in named(found, 'write')}
    assert {('one', 1), ('three', 3), ('four', 4)} <= writes, writes


def test_seccomp():
    found = hazard('seccomp')
    equal('paths', [(f['path'], f['result']) for f in named(found, 'write') if f['result'] in (1, 2)],
          [('', 1), ('confined', 2)])


def test_arguments():
    hazard('arguments')


def test_exits_of_threads():
    hazard('threads')


def test_dlopen():
    hazard('dlopen')


def test_allocations():
    found = hazard('memory')
    balance(found)


def balance(found):
    """No address is allocated twice without a free or a move between. Events of one thread each."""
    live = set()
    tids = {event['tid'] for event in found}
    for event in found:
        fields = event['fields']
        if len(tids) > 1:
            break
        if event['event'] == 'libc.free':
            live.discard(fields['address'])
        elif event['event'] != 'libc.realloc' and 'address' in fields and fields['address'] != 0:
            assert fields['address'] not in live, fields
            live.add(fields['address'])


def test_early():
    """A library that is preloaded behind ours has its constructor before ours, and its destructor after ours."""
    scene.run('true', environment={'LD_PRELOAD': f'{LIBC}:{MEMORY}:{EARLY}'})
    record('all', CALLS, 'memory', environment={'LD_PRELOAD': EARLY})


def test_other_allocator():
    """The next allocator gets all calls, and only its own memory."""
    for groups in ('io', 'all'):
        with open('nine', 'wb') as nine:
            os.dup2(nine.fileno(), 9)
            Path('x.log').unlink(missing_ok=True)
            out, found = record(groups, CALLS, 'memory', 'files', environment={'LD_PRELOAD': ALLOCATOR}, pass_fds=[9])
            os.close(9)
        count = re.search(r'(\d+) mallocs, (\d+) frees, (\d+) foreign', Path('nine').read_text())
        assert count and int(count[1]) > 5 and count[3] == '0', Path('nine').read_text()
        if groups == 'all':
            made = sum(len(named(found, name)) for name in ('malloc', 'calloc', 'realloc', 'memalign'))
            assert made >= 5, made


def test_took():
    """Durations are those that the program measures around its calls, which are a little longer."""
    out, found = record('io', HAZARDS, 'took')
    measured, took = [int(line) for line in out.split()], [f['took'] for f in named(found, 'poll')]
    equal('calls', len(took), len(measured))
    for i, (outer, inner) in enumerate(zip(measured, took)):
        assert inner <= outer * 1.002 + 2000, (i, outer, inner)
        assert inner >= (29.9e6 if i % 20 == 0 else 20), (i, outer, inner)


def test_untraced():
    """In a process that nobody records: no more descriptors, threads and files than without the libraries."""
    bare = scene.run(HAZARDS, 'idle')
    for libraries in LIBC, f'{LIBC}:{MEMORY}', f'{MEMORY}:{LIBC}', MEMORY:
        # With calls before the constructor, too.
        for early in '', f':{EARLY}':
            preloaded = scene.run(HAZARDS, 'idle', environment={'LD_PRELOAD': libraries + early})
            equal('what the process has', preloaded, bare)


def wait_for(path):
    """Waits until a file exists. The limit of the test is for hangs."""
    while not Path(path).exists():
        time.sleep(0.01)


def start(hazard, libraries):
    for name in 'ready', 'stop':
        Path(name).unlink(missing_ok=True)
    process = subprocess.Popen([HAZARDS, hazard], env={**os.environ, 'LD_PRELOAD': libraries}, stdout=subprocess.PIPE)
    wait_for('ready')
    return process


def test_late():
    """A process that nobody recorded at its start, and that has left nothing in /dev/shm, is recorded later."""
    for libraries in f'{LIBC}:{MEMORY}', LIBC, MEMORY:
        process = start('late', libraries)
        found = []
        # The library for memory alone does not look later. It leaves nothing, either.
        while not found and libraries != MEMORY:
            scene.run(POSIXTRACE, 'record', '-q', '-o', 'x.log', '--duration', '500ms', '-p', process.pid)
            found = named(events(), 'read')
        assert all(f['path'] == '/dev/zero' and f['result'] == 1 for f in found), found[:3]
        Path('stop').touch()
        equal('its status', process.wait(), 0)


def test_confined_idle():
    """A process that nobody records looks for nobody any more after it has confined itself."""
    for libraries in LIBC, f'{LIBC}:{MEMORY}':
        scene.run(HAZARDS, 'confined_idle', environment={'LD_PRELOAD': libraries})


def test_idle_vfork():
    """A child of vfork() does not take its parent's memory for its own when it sees that somebody is recorded."""
    other = start('late', LIBC)
    process = start('idle_vfork', f'{LIBC}:{MEMORY}')
    with subprocess.Popen([POSIXTRACE, 'record', '-q', '-o', 'y.log', '-p', str(other.pid)]) as recorder:
        while not any('/stream-' in str(path) for path in Path('/dev/shm').glob('*/*')):
            time.sleep(0.01)
        Path('stop').touch()
        equal('what it has mapped', process.communicate()[0], b'')
        equal('its status', process.wait(), 0)
        equal('the status of the other process', other.wait(), 0)
        recorder.wait()


def test_thread_storage():
    """The libraries use little of the static storage of threads."""
    for library in (LIBC, MEMORY):
        out = scene.run('readelf', '-lW', library)[0].decode()
        size = int(re.search(r'^\s+TLS\s+\S+\s+\S+\s+\S+\s+\S+\s+(\S+)', out, re.MULTILINE)[1], 16)
        assert size <= 32, f'{library}: {size} bytes'
        assert 'STATIC_TLS' in scene.run('readelf', '-dW', library)[0].decode(), library


def test_sanitizer():
    if not Path(SANITIZED).exists():
        print('no AddressSanitizer: not tested')
        return
    scene.run(SANITIZED)
    out, messages = scene.run(POSIXTRACE, 'record', '--libc', 'io', '--', SANITIZED, status=125)
    assert b'built with AddressSanitizer' in messages and b'-fsanitize' in messages, messages
    equal('it was not started', out, b'')


scene.private()
Suite(globals()).main()
