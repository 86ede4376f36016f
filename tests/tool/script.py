#!/usr/bin/env python3
#
# script.py - posixtrace event and posixtrace span: events of scripts, with fields; commands as spans
#
#     script.py POSIXTRACE
#
# SPDX-License-Identifier: MIT

import json
import subprocess
import sys
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
                           (['-f', 'id:u8=256', 'e'], "'256' is no value of this type"),
                           (['-f', 'id:u8=-1', 'e'], 'is no value'), (['-f', 'id:i8=128', 'e'], 'is no value'),
                           (['-f', 'id:f64=x', 'e'], 'is no value'), (['-f', 'id:bool=yes', 'e'], 'is no value'),
                           (['-f', 'id:u8<a>=b', 'e'], 'is no value'), (['-f', 'a:u8[2]=1', 'e'], 'one number'),
                           (['-f', 'a:s=1', 'e'], 'one number'), (['-f', '=1', 'e'], 'not NAME:TYPE=VALUE'),
                           (['-f', 'a=1', '-f', 'a=2', 'e'], 'is the name of an earlier field'),
                           (['-f', 'a=1', 'e', 'data'], 'declare all of the data'),
                           (['-f', 'a=1', '--u8', '1', 'e'], 'declare all of the data'),
                           (['--as', 'counter', 'e'], 'is not'), (['--as', 'loud', '-f', 'a=1', 'e'], "'loud' is not"),
                           (['-f', 'a=1', '--as', 'by=a', 'e'], 'before --field'),
                           (['-f', 'a,b:u8=1', 'e'], 'is not')):
        done = subprocess.run([POSIXTRACE, 'event', *arguments], capture_output=True, text=True, env=ENVIRONMENT)
        equal(f'{arguments}: {done.stderr}', (done.returncode, why in done.stderr, done.stdout), (2, True, ''))
    for arguments, status in (([], 2), (['name'], 2), (['name', '--'], 2), (['x' * 58, 'true'], 2),
                              (['a{b', 'true'], 2), (['name', '/no/such'], 127), (['name', '--', '/etc/passwd'], 126)):
        done = subprocess.run([POSIXTRACE, 'span', *arguments], capture_output=True, text=True, env=ENVIRONMENT)
        equal(f'{arguments}: {done.stderr}', (done.returncode, done.stdout), (status, ''))


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


def test_ignored():
    """Signals that the script ignores are ignored by the command, too, and SIGCHLD is as it was."""
    recorded("trap '' INT USR1 CHLD; \"$P\" span work -- grep -E '^Sig(Ign|Blk|Cgt)' /proc/self/status >traced;"
             "grep -E '^Sig(Ign|Blk|Cgt)' /proc/self/status >bare")
    equal('signals', Path('traced').read_text(), Path('bare').read_text())


Suite(globals()).main()
