#!/usr/bin/env python3
#
# script.py - posixtrace event and posixtrace span: events of scripts, with fields; commands as spans
#
#     script.py POSIXTRACE
#
# SPDX-License-Identifier: MIT

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import scene
from scene import Suite, equal

POSIXTRACE = Path(sys.argv[1]).resolve()
ENVIRONMENT = {**scene.ENVIRONMENT, 'P': str(POSIXTRACE)}


def recorded(script, status=0):
    """Runs a script under record. Returns its events: name and fields."""
    Path('x.log').unlink(missing_ok=True)
    done = subprocess.run([POSIXTRACE, 'record', '-q', '--children', '-o', 'x.log', '--', 'sh', '-c', script],
                          capture_output=True, text=True, env=ENVIRONMENT, timeout=60)
    equal(f'{script}: {done.stderr}', done.returncode, status)
    if not Path('x.log').exists():
        return []
    out, _ = scene.run(POSIXTRACE, 'report', '--json', 'x.log')
    return [(event['event'], event.get('fields')) for event in map(json.loads, out.decode().splitlines())]


def test_fields():
    """Numbers of each kind, labels, units, text."""
    equal('events', recorded('''
        "$P" event -f id:u32=7 -f item=tea -f time:u64/ms=0x10 -f "state:u8<idle,busy=4>=busy" -f ok:bool=true all
        "$P" event -f n:i16=-32768 -f f:f32=0.5 -f x:x64=0xffffffffffffffff -f "empty=" -f "say=a = b" -f o:u8=010 more
        "$P" event -f "state:i8<new=-1>=new" -f "other:i8<new=-1>=5" labels
        '''), [
        ('all', {'id': 7, 'item': 'tea', 'time': 16, 'state': 'busy', 'ok': True}),
        ('more', {'n': -32768, 'f': 0.5, 'x': '18446744073709551615', 'empty': '',
                  'say': 'a = b', 'o': 10}),
        ('labels', {'state': 'new', 'other': 5})])


def test_meanings():
    equal('events', recorded('"$P" event --as took=time -f time:u64/ms=5 query;'
                             '"$P" event --as level=error -f why=x log'), [
        ('query', {'time': 5}), ('log', {'why': 'x'})])
    out, _ = scene.run(POSIXTRACE, 'stat', '--json', 'x.log')
    equal('span', [(span['name'], span['min']) for span in json.loads(out)['spans']], [('query', 5_000_000)])
    out, _ = scene.run(POSIXTRACE, 'report', 'x.log')
    equal('level', b'log   error {why="x"}' in out, True)


def test_wrong():
    for arguments, why in ((['-f', 'id', 'e'], 'not NAME:TYPE=VALUE'), (['-f', 'id:u99=1', 'e'], 'is not a type'),
                           (['-f', 'a:u8[2]=1', 'e'], 'one number'),
                           (['-f', 'a:s=1', 'e'], 'one number'), (['-f', '=1', 'e'], 'not NAME:TYPE=VALUE'),
                           (['-f', 'a=1', '-f', 'a=2', 'e'], 'is the name of an earlier field'),
                           (['-f', 'a=1', 'e', 'data'], 'declare all of the data'),
                           (['-f', 'a=1', '--u8', '1', 'e'], 'declare all of the data'),
                           (['--as', 'counter', 'e'], '--as needs'),
                           (['--as', 'loud', '-f', 'a=1', 'e'], "'loud' is not"),
                           (['-f', 'a=1', '--as', 'by=a', 'e'], 'before --field'),
                           (['-f', 'a,b:u8=1', 'e'], 'is not'), (['posix_trace_start'], 'belongs to the events of'),
                           (['-f', 'a=1', 'posix_trace_unnamed_userevent'], 'belongs to the events of'),
                           (['--as', 'begin=x', 'e'], '--as needs a --field'), ([''], 'the name of the event is empty'),
                           (['--as', 'level=error;y:u8', '-f', 'a=1', 'e'], 'fields are given by --field')):
        done = subprocess.run([POSIXTRACE, 'event', *arguments], capture_output=True, text=True, env=ENVIRONMENT)
        equal(f'{arguments}: {done.stderr}', (done.returncode, why in done.stderr, done.stdout), (2, True, ''))
    for arguments, status, why in (([], 2, 'expected NAME'), (['name'], 2, 'expected NAME'),
                                   (['name', '--'], 2, 'expected NAME'), (['x' * 58, 'true'], 2, '57 bytes'),
                                   (['a{b', 'true'], 2, 'no brace'), (['', 'true'], 2, '1 to 57'),
                                   (['x.begin', 'true'], 2, 'without .begin and .end'),
                                   (['name', '-f', 'a=1', '--', 'true'], 2, 'before NAME'),
                                   (['name', '/no/such'], 127, '/no/such: No such file or directory\n'),
                                   (['sleep', '0'], 127, 'expected: posixtrace span NAME -- COMMAND'),
                                   (['name', '--', 'order', 'tea'], 127, 'functions and builtins'),
                                   (['name', '--', 'sleep 0'], 127, "sh -c 'sleep 0'"),
                                   (['name', '--', 'A=1', 'true'], 127, 'env A=1'),
                                   (['name', '--', '/etc/passwd'], 126, 'Permission denied')):
        done = subprocess.run([POSIXTRACE, 'span', *arguments], capture_output=True, text=True, env=ENVIRONMENT)
        equal(f'{arguments}: {done.stderr}', (done.returncode, done.stdout, why in done.stderr), (status, '', True))


def test_misfits():
    """Values that do not fit are data of the script: it goes on as without a recorder."""
    for field, shown in (('u8=256', 255), ('u8=-1', 0), ('u8=-0', 0), ('i8=128', 127), ('i8=-129', -128),
                         ('i8=-128', -128), ('i64=-9223372036854775809', '-9223372036854775808'),
                         ('u64=18446744073709551616', '18446744073709551615'), ('u16=', 0),
                         ('u16=x', 0), ('u16=7x', 0), ('f64=x', 0), ('bool=yes', False), ('u8<a>=b', 'a')):
        fits = field in ('u8=-0', 'i8=-128')
        equal(field, recorded(f'"$P" event -f "n:{field}" e 2>message; echo $? >>message'), [('e', {'n': shown})])
        said = f'posixtrace event: --field n:{field}: not a value of this type; the nearest one, or 0, is recorded\n'
        equal(f'{field}: message', Path('message').read_text(), ('' if fits else said) + '0\n')
        done = subprocess.run([POSIXTRACE, 'event', '-f', f'n:{field}', 'e'], capture_output=True, env=ENVIRONMENT)
        equal(f'{field}: untraced', (done.returncode, done.stdout, done.stderr), (0, b'', b''))
    equal('without a field', recorded('"$P" event --u8 300 --i16 -40000 e 2>message'), [('e', None)])
    equal('message', Path('message').read_text().startswith('posixtrace event: --u8 300: not a value'), True)
    equal('span', recorded('"$P" span -f n:u8=300 s -- sh -c "exit 5"', status=5),
          [('s.begin', {'n': 255}), ('s.end', {'status': 5, 'signal': 0})])


def test_other_layout():
    """The same name with other fields, in one script."""
    equal('events', recorded('"$P" event -f a:u8=1 e; "$P" event -f b:u8=1 e 2>message; echo $? >>message'),
          [('e', {'a': 1}), ('e(b:u8)', {'b': 1})])
    equal('message', Path('message').read_text(), '0\n')
    # The command of a span runs, whatever the names have, and its status is that of span.
    equal('events', recorded('"$P" event -f a=1 e.begin; "$P" event -f status:u8=1 e.end;'
                             '"$P" span e -- sh -c "exit 5"', status=5),
          [('e.begin', {'a': '1'}), ('e.end', {'status': 1}), ('e.begin', None),
           ('e.end(status:u8,signal:u8)', {'status': 5, 'signal': 0})])


def test_span():
    """The status of the command is that of span, recorded or not; a signal ends both."""
    for command, status, fields in (('true', 0, {'status': 0, 'signal': 0}), ('exit 7', 7, {'status': 7, 'signal': 0}),
                                    ('kill -TERM $$', 143, {'status': 0, 'signal': 15}),
                                    ('kill -KILL $$', 137, {'status': 0, 'signal': 9})):
        script = f'"$P" span -f id:u8=1 work -- sh -c \'{command}\''
        equal('events', recorded(script + '; exit $?', status=status),
              [('work.begin', {'id': 1}), ('work.end', fields)])
        done = subprocess.run(['sh', '-c', script + '; exit $?'], capture_output=True, text=True, env=ENVIRONMENT)
        equal(f'untraced: {done.stderr}', (done.returncode, done.stdout), (status, ''))
    equal('no command', recorded('"$P" span work -- /no/such 2>message', status=127),
          [('work.begin', None), ('work.end', {'status': 127, 'signal': 0})])
    equal('message', 'posixtrace span: /no/such: No such file' in Path('message').read_text(), True)
    out, _ = scene.run(POSIXTRACE, 'stat', '--json', 'x.log')
    equal('span', [(span['name'], span['count']) for span in json.loads(out)['spans']], [('work', 1)])
    # Its own output, input and environment are the command's.
    recorded('echo in | X=1 "$P" span work -- sh -c "cat; echo \\$X" >out')
    equal('output', Path('out').read_text(), 'in\n1\n')


def tasks(script, command=None):
    """Records a script. Returns it as a process, and process, thread and its name of each event."""
    Path('x.log').unlink(missing_ok=True)
    done = subprocess.run([POSIXTRACE, 'record', '-q', '--children', '-o', 'x.log', '--',
                           *(command or ['sh', '-c', 'echo $$; ' + script])],
                          capture_output=True, text=True, env=ENVIRONMENT, timeout=60)
    equal(f'{script}: {done.stderr}', done.returncode, 0)
    out, _ = scene.run(POSIXTRACE, 'report', '--json', 'x.log')
    return int(done.stdout), [(e['pid'], e['tid'], e['thread']) for e in map(json.loads, out.decode().splitlines())]


def test_parent():
    """An event is one of its script. A span is in the script's process, and has a thread of its own."""
    sh, events = tasks('"$P" event one; "$P" event two data')
    equal('events', events, [(sh, sh, 'sh')] * 2)
    sh, events = tasks('"$P" event -f a:u8=1 x.begin; "$P" event x.end')
    out, _ = scene.run(POSIXTRACE, 'stat', '--json', 'x.log')
    equal('span', [(span['begin'], span['count']) for span in json.loads(out)['spans']], [('x.begin', 1)])
    sh, events = tasks('"$P" span a sleep 0.1 & "$P" span b sleep 0.1 & wait')
    equal('processes', {(pid, name) for pid, _, name in events}, {(sh, 'sh')})
    equal('threads', len({tid for _, tid, _ in events}), 2)
    # A command that the span runs is a process of its own.
    sh, events = tasks('"$P" span outer -- sh -c \'"$P" event inner; true\'')
    equal('inner', (events[1][0] != sh, events[1][0] == events[1][1]), (True, True))


def test_no_parent():
    """A caller with several threads, and one that is not known: the thread, or both, are the command's."""
    python = ('import os, subprocess, threading\nprint(os.getpid(), flush=True)\n'
              't = threading.Thread(target=lambda: subprocess.run([os.environ["P"], "event", "e"]))\n'
              't.start()\nt.join()\n')
    pid, events = tasks('threads', [sys.executable, '-c', python])
    equal('threads', (len(events), events[0][0], events[0][1] != pid), (1, pid, True))
    sh, events = tasks('setsid "$P" event e; sleep 0.2')
    equal('session', (len(events), events[0][0] != sh, events[0][0] == events[0][1]), (1, True, True))


def test_both():
    """Two streams, which have a chunk each."""
    sh, events = tasks('"$P" event a; "$P" record -q --children -o y.log -- sh -c \'"$P" event b; true\'')
    out, _ = scene.run(POSIXTRACE, 'report', '--json', 'y.log')
    equal('same', events[1:], [(e['pid'], e['tid'], e['thread']) for e in map(json.loads, out.decode().splitlines())])
    equal('names', [name for _, _, name in events], ['sh', 'sh'])


def test_nested():
    """A span inside of a span, and a command that records events of its own."""
    names = [name for name, _ in recorded('"$P" span outer -- "$P" span inner "$P" event middle')]
    equal('events', names, ['outer.begin', 'inner.begin', 'middle', 'inner.end', 'outer.end'])


def test_signals():
    """SIGTERM is handed on, and the end is recorded."""
    Path('ready').unlink(missing_ok=True)
    script = '"$P" span work -- sh -c \'trap "exit 5" TERM; touch ready; while :; do sleep 0.01; done\' & ' \
             'while ! [ -e ready ]; do sleep 0.01; done; kill $!; wait $!; exit $?'
    equal('events', recorded(script, status=5), [('work.begin', None), ('work.end', {'status': 5, 'signal': 0})])


def by_default():
    """Signals that the caller of the test ignores, as a shell in the background does, would be ignored here. In a
    process group without a parent in its session, SIGTSTP would have no effect."""
    os.setpgid(0, 0)
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTSTP):
        signal.signal(number, signal.SIG_DFL)


def start_span(*command):
    """Starts a span that is recorded. Returns its recorder, which ends with the status of span, and its process id."""
    Path('x.log').unlink(missing_ok=True)
    Path('ready').unlink(missing_ok=True)
    Path('pid').unlink(missing_ok=True)
    recorder = subprocess.Popen([POSIXTRACE, 'record', '-q', '--children', '-o', 'x.log', '--', 'sh', '-c',
                                 'echo $$ >pid; exec "$P" span work -- "$@"', 'sh', *command], env=ENVIRONMENT,
                                preexec_fn=by_default)
    wait_until(lambda: all(Path(name).exists() and Path(name).read_text().endswith('\n') for name in ('ready', 'pid')))
    return recorder, int(Path('pid').read_text())


def state_of(pid):
    return Path(f'/proc/{pid}/stat').read_text().rsplit(') ', 1)[1][0]


def wait_until(condition):
    until = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_sent_signals():
    """Whatever a process sends to span arrives at the command, which ends of it, or not."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGALRM, signal.SIGTERM, signal.SIGRTMIN + 3):
        recorder, pid = start_span('sh', '-c', 'echo $$ >ready; exec sleep 60')
        os.kill(pid, number)
        equal(f'status after {number}', recorder.wait(timeout=30), 128 + number)
    recorder, pid = start_span('sh', '-c', 'trap "exit 5" WINCH; echo $$ >ready; while :; do sleep 0.01; done')
    os.kill(pid, signal.SIGWINCH)
    equal('status after WINCH', recorder.wait(timeout=30), 5)


def test_killed():
    """SIGKILL of span is one of the command."""
    recorder, pid = start_span('sh', '-c', 'echo $$ >ready; exec sleep 60')
    command = int(Path('ready').read_text())
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not Path(f'/proc/{command}').exists() or state_of(command) == 'Z')
    equal('status', recorder.wait(timeout=30), 128 + signal.SIGKILL)


def test_stopped():
    """A command that stops itself stops span, so that the shell sees it; one that is continued goes on."""
    recorder, pid = start_span('sh', '-c', 'echo $$ >ready; kill -STOP $$; exit 3')
    command = int(Path('ready').read_text())
    wait_until(lambda: state_of(pid) == 'T' and state_of(command) == 'T')
    os.kill(pid, signal.SIGCONT)
    equal('status after a stop of itself', recorder.wait(timeout=30), 3)
    # A stop that is sent to span is one of both.
    recorder, pid = start_span('sh', '-c', 'echo $$ >ready; exec sleep 60')
    command = int(Path('ready').read_text())
    os.kill(pid, signal.SIGTSTP)
    wait_until(lambda: state_of(pid) == 'T' and state_of(command) == 'T')
    os.kill(pid, signal.SIGCONT)
    wait_until(lambda: state_of(pid) != 'T' and state_of(command) != 'T')
    os.kill(pid, signal.SIGTERM)
    equal('status after a stop', recorder.wait(timeout=30), 128 + signal.SIGTERM)


def test_alarm():
    """An alarm that was set before span was executed is the command's."""
    script = 'import os, signal\nsignal.alarm(1)\n' \
             'os.execvp(os.environ["P"], [os.environ["P"], "span", "a", "sleep", "60"])'
    done = subprocess.run([POSIXTRACE, 'record', '-q', '--children', '-o', 'x.log', '--', sys.executable, '-c', script],
                          env=ENVIRONMENT, timeout=50)
    equal('status', done.returncode, 128 + signal.SIGALRM)


def test_ignored():
    """Signals that the script ignores are ignored by the command, too, and SIGCHLD is as it was."""
    recorded("trap '' INT USR1 CHLD; \"$P\" span work -- grep -E '^Sig(Ign|Blk|Cgt)' /proc/self/status >traced;"
             "grep -E '^Sig(Ign|Blk|Cgt)' /proc/self/status >bare")
    equal('signals', Path('traced').read_text(), Path('bare').read_text())


Suite(globals()).main()
