#!/usr/bin/env python3
#
# check_programs.py - runs a patched program under the recorder, and compares its events with what it was told to do
#
# usage: check_programs.py POSIXTRACE memcached|redis|ninja FOLDER      the folder in which the program was built
#
# SPDX-License-Identifier: MIT

import collections
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

PATIENCE = 60  # seconds
POSIXTRACE, BUILT = os.path.abspath(sys.argv[1]), Path(sys.argv[3]).resolve()


def equal(what, got, expected):
    assert got == expected, f'{what}: {got}, not {expected}'


def run(*command, status=0, **options):
    """Returns the output."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False, **options)
    assert done.returncode == status, f'{command}: exit status {done.returncode}: {done.stdout}{done.stderr}'
    return done.stdout


def groups(log, by, *options):
    """Returns how many events have each value of a field, as stat counts them."""
    said = json.loads(run(POSIXTRACE, 'stat', '--show', 'groups', '--group-by', by, '--json', *options, log))
    return {group['by'][by]: group['events'] for group in said['groups']}


def spans(log):
    """Returns the spans of stat: {name: row}."""
    said = json.loads(run(POSIXTRACE, 'stat', '--show', 'spans', '--json', log))
    return {span['name']: span for span in said['spans']}


def whole(span, count):
    """Checks that there are so many spans, and that each has a beginning and an end."""
    equal(span['name'], [span[key] for key in ('count', 'no_end', 'no_begin', 'cut')], [count, 0, 0, 0])


class Events:
    """The events of a log, as report prints them."""

    def __init__(self, log):
        self.all = [json.loads(line) for line in run(POSIXTRACE, 'report', '--json', log).splitlines()]

    def named(self, name):
        return [event for event in self.all if event['event'] == name]

    def fields(self, name):
        return [event['fields'] for event in self.named(name)]


@contextmanager
def recorded(log, *command):
    """Records a server while the block runs, in which it is told to end."""
    with open('server.txt', 'w+') as said:
        server = subprocess.Popen([POSIXTRACE, 'record', '-q', '-o', log, '--', *map(str, command)], stdout=said,
                                  stderr=said, stdin=subprocess.DEVNULL)
        try:
            yield server
            status = server.wait(PATIENCE)
        finally:
            if server.poll() is None:
                server.terminate()
                server.wait()
            said.seek(0)
            text = said.read()
    assert status == 0, f'{command}: exit status {status}: {text}'


def connected(path, server):
    """Returns a connection with a server that is about to listen."""
    for _ in range(PATIENCE * 20):
        assert server.poll() is None, Path('server.txt').read_text()
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(path)
        except OSError:
            connection.close()
            time.sleep(0.05)
        else:
            connection.settimeout(PATIENCE)
            return connection
    raise AssertionError(f'no connection with {path}')


# -- memcached ---------------------------------------------------------------------------------------


def memcached():
    """Stores keys, reads some of them and some that are not there."""
    stored = {f'tea:{n}': 'x' * (10 + n) for n in range(1, 8)}
    read = ['tea:1'] * 5 + ['tea:2'] * 3 + ['none:1'] * 4
    # memcached runs as another user when it creates the socket.
    os.chmod('.', 0o777)
    with recorded('memcached.log', BUILT / 'memcached', '-u', 'nobody', '-s', os.path.abspath('socket')) as server, \
            connected('socket', server) as connection:
        file = connection.makefile('rb')
        for key, value in stored.items():
            connection.sendall(f'set {key} 0 0 {len(value)}\r\n{value}\r\n'.encode())
            equal('answer', file.readline(), b'STORED\r\n')
        for key in read:
            connection.sendall(f'get {key}\r\n'.encode())
            answer = file.readline()
            while answer not in (b'END\r\n', b''):
                answer = file.readline()
            equal('answer', answer, b'END\r\n')
        server.terminate()  # the recorder passes SIGTERM on
    events = Events('memcached.log')
    equal('stored', [(e['key'], e['result']) for e in events.fields('memcached.store')],
          [(key, 'stored') for key in stored])
    # The sizes include the end of line.
    equal('sizes', [e['size'] for e in events.fields('memcached.store')], [len(value) + 2 for value in stored.values()])
    equal('read', [(e['key'], e['found']) for e in events.fields('memcached.get')],
          [(key, 'hit' if key in stored else 'miss') for key in read])
    equal('found', groups('memcached.log', 'found'), {'hit': 8, 'miss': 4})
    equal('keys that are missed', groups('memcached.log', 'key', '--where', 'found == miss'), {'none:1': 4})
    whole(spans('memcached.log')['memcached.process'], len(stored) + len(read))
    equal('one connection', len({e['connection'] for e in events.fields('memcached.command')}), 1)


# -- redis -------------------------------------------------------------------------------------------

REDIS_COMMANDS = [
    *(f'SET tea:{n} leaves' for n in range(1, 21)),
    *(f'GET tea:{n}' for n in range(1, 6)),
    *(f'GET none:{n}' for n in range(1, 4)),
    'MGET tea:1 none:1 tea:2',
    'MULTI', 'INCR visits', 'INCR visits', 'EXEC',
    'EVAL "return redis.call(\'GET\', KEYS[1])" 1 tea:9',
    'AUTH user unspoken',
    'CONFIG SET requirepass ""',
    'UNLINK crowd',
    'DBSIZE',
]
REDIS_COUNT = {'set': 20, 'get': 9, 'mget': 1, 'multi': 1, 'incr': 2, 'exec': 1, 'eval': 1, 'auth': 1, 'config|set': 1,
               'unlink': 1, 'dbsize': 1, 'sadd': 1, 'bgsave': 1}


def redis():
    """Sends commands, one of which has something freed by another thread, and saves by a child process."""
    cli = [BUILT / 'src' / 'redis-cli', '-s', 'socket']
    with recorded('redis.log', BUILT / 'src' / 'redis-server', '--port', '0', '--unixsocket', os.path.abspath('socket'),
                  '--dir', os.getcwd(), '--save', '', '--appendonly', 'no') as server:
        connected('socket', server).close()
        run(*cli, 'SADD', 'crowd', *map(str, range(1, 1001)))
        run(*cli, input='\n'.join(REDIS_COMMANDS) + '\n')
        assert 'started' in run(*cli, 'BGSAVE')
        saved = time.monotonic() + PATIENCE
        while 'rdb_bgsave_in_progress:0' not in run(*cli, 'INFO', 'persistence') and time.monotonic() < saved:
            time.sleep(0.05)
        time.sleep(0.3)  # the counters, ten times a second
        run(*cli, 'SHUTDOWN', 'NOSAVE')
    events, commands = Events('redis.log'), groups('redis.log', 'command', '-e', 'redis.command')
    equal('commands', {name: commands.get(name, 0) for name in REDIS_COUNT}, REDIS_COUNT)
    fields = events.fields('redis.command')
    equal('keys', [e['key'] for e in fields if e['command'] == 'set'], [f'tea:{n}' for n in range(1, 21)])
    equal('no key', {e['key'] for e in fields if e['command'] in ('auth', 'config|set', 'eval', 'dbsize')}, {''})
    assert b'unspoken' not in Path('redis.log').read_bytes(), 'the log has an argument that is no key'
    equal('hits and misses of MGET', [(e['hits'], e['misses']) for e in fields if e['command'] == 'mget'], [(2, 1)])
    equal('keys that are missed', groups('redis.log', 'key', '--where', 'misses > 0 && command == "get"'),
          {f'none:{n}': 1 for n in range(1, 4)})
    equal('changes', sum(e['changes'] for e in fields if e['command'] in ('set', 'sadd', 'exec', 'unlink')),
          20 + 1000 + 2 + 1)
    # A command that EXEC or EVAL calls ends before its caller does.
    names = [e['command'] for e in fields]
    equal('inside', [names[names.index(outer) - 1] for outer in ('exec', 'eval')], ['incr', 'get'])
    took = {outer: next(e['time'] for e in fields if e['command'] == outer) for outer in ('exec', 'eval')}
    inner = sum(e['time'] for e in fields if e['command'] == 'incr')
    assert took['exec'] > inner > 0, (took, inner)
    whole(spans('redis.log')['redis.command'], len(fields))
    # The set is freed by another thread.
    submitted, begun = events.named('redis.job_submit'), events.named('redis.job_begin')
    freed = [e for e in submitted if e['fields']['kind'] == 'free']
    equal('jobs', (len(freed), len(submitted)), (1, len(begun)))
    run_by = next(e for e in begun if e['fields'] == freed[0]['fields'])
    assert run_by['tid'] != freed[0]['tid'] and run_by['time'] >= freed[0]['time'], (freed, run_by)
    whole(spans('redis.log')['redis.job'], len(begun))
    equal('children', [e['child'] for e in events.fields('redis.fork')], ['rdb'])
    load = events.fields('redis.load')
    equal('keys in the end', load[-1]['keys'], 21)
    assert max(e['clients'] for e in load) >= 0 and all(e['memory'] > 100000 for e in load), load


# -- ninja -------------------------------------------------------------------------------------------

NINJA_BUILD = '''
rule make
  command = sleep 0.1 && touch $out
rule join
  command = cat $in > $out
rule fail
  command = exit 3
build a: make
build b: make
build c: make
build d: make
build all: join a b c d
build parts: phony all
build bad: fail parts
default bad
'''


def ninja():
    """Runs a small graph with two jobs: four commands that need nothing, one that needs them, and one that fails."""
    Path('build.ninja').write_text(NINJA_BUILD)
    run(POSIXTRACE, 'record', '-q', '-o', 'ninja.log', '--', BUILT / 'ninja', '-j2', status=1)
    events = Events('ninja.log')
    rules = groups('ninja.log', 'rule', '-e', 'ninja.finish')
    equal('commands of each rule', rules, {'make': 4, 'join': 1, 'fail': 1})
    equal('results', groups('ninja.log', 'result'), {'success': 5, 'failure': 1})
    started = {e['output']: e['edge'] for e in events.fields('ninja.start')}
    equal('outputs', sorted(started), ['a', 'all', 'b', 'bad', 'c', 'd'])
    finished = events.fields('ninja.finish')
    equal('the last', finished[-1]['output'], 'bad')
    assert all(e['time'] >= 100 for e in finished if e['rule'] == 'make'), finished
    causes = {e['edge']: e['cause'] for e in events.fields('ninja.ready')}
    equal('what needs nothing', [causes[started[name]] for name in 'abcd'], [-1] * 4)
    order = [e['output'] for e in finished]
    equal('what made them ready', [causes[started['all']], causes[started['bad']]],
          [started[order[3]], started['all']])
    equal('running jobs', collections.Counter(e['value'] for e in events.fields('ninja.running')).keys(), {0, 1, 2})
    shown = spans('ninja.log')
    for name in ('ninja.wait', 'ninja.run'):
        whole(shown[name], 6)
    # Two of the four wait until others have finished.
    assert shown['ninja.wait']['max'] >= 90e6, shown['ninja.wait']
    whole(shown['ninja/.ninja parse'], 1)
    equal('looks at files inside of each other', shown['ninja/node stat']['no_end'], 0)
    # Nothing to do: no command, but a look at each file.
    Path('build.ninja').write_text(NINJA_BUILD.replace('default bad', 'default parts'))
    run(POSIXTRACE, 'record', '-q', '-o', 'nothing.log', '--', BUILT / 'ninja', '-j2')
    counts = collections.Counter(event['event'] for event in Events('nothing.log').all)
    assert counts['ninja.start'] == 0 and counts['ninja/node stat.begin'] >= 5, counts


CHECKS = {'memcached': memcached, 'redis': redis, 'ninja': ninja}

with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    CHECKS[sys.argv[2]]()
    os.chdir('/')
print(f'{sys.argv[2]}: its events are those that it was told to cause')
