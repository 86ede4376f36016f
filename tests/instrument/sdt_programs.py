#!/usr/bin/env python3
#
# sdt_programs.py - memcached or PostgreSQL, built with <sys/sdt.h> of posixtrace: what they record
#
#     sdt_programs.py POSIXTRACE memcached FILE | postgresql FOLDER
#
# FOLDER has the programs of PostgreSQL. For script/test-more; root becomes another user, as both programs want.
#
# SPDX-License-Identifier: MIT

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

POSIXTRACE, PROGRAM, PLACE = os.path.abspath(sys.argv[1]), sys.argv[2], os.path.abspath(sys.argv[3])


def become_user():
    """Gives root's folder to nobody, and becomes nobody."""
    if os.geteuid() == 0:
        os.chown('.', 65534, 65534)
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    os.environ['HOME'] = os.getcwd()


def check(what, found, wanted):
    if found != wanted:
        print(f'sdt_programs.py: {PROGRAM}: {what}: {found}, not {wanted}')
        sys.exit(1)


def recorded():
    """Returns the events by their types, and the fields of each."""
    out = subprocess.run([POSIXTRACE, 'report', '--json', 'x.log'], stdout=subprocess.PIPE, check=True).stdout
    types = {}
    for event in map(json.loads, out.splitlines()):
        types.setdefault(event['event'], []).append(event.get('fields', {}))
    return types


def record(command, *options):
    return subprocess.Popen([POSIXTRACE, 'record', '-q', '-s', '64M', *options, '-o', 'x.log', '--', *command],
                            stdout=subprocess.DEVNULL)


def memcached():
    path = os.path.abspath('socket')
    recorder = record([PLACE, '-s', path, '-t', '2'])
    client = socket.socket(socket.AF_UNIX)
    while client.connect_ex(path) != 0:
        time.sleep(0.05)
    answers = client.makefile('rb')
    for i in range(100):
        client.sendall(b'set key%d 0 0 5\r\nhello\r\n' % i)
        check('answer', answers.readline(), b'STORED\r\n')
        client.sendall(b'get key%d\r\n' % i)
        while answers.readline() != b'END\r\n':
            pass
    client.close()
    recorder.send_signal(signal.SIGTERM)
    recorder.wait(timeout=60)
    types = recorded()
    check('sets', [(fields['key'], fields['keylen'], fields['size']) for fields in types['memcached:command__set']],
          [(f'key{i}', len(f'key{i}'), 7) for i in range(100)])
    check('gets', len(types['memcached:command__get']), 100)
    check('types of fields', sorted(types['memcached:slabs__allocate'][0]), ['ptr', 'size', 'slabclass', 'slabsize'])


def postgresql():
    subprocess.run([f'{PLACE}/initdb', '-D', 'data', '-A', 'trust', '-U', 'one', '--locale=C', '-E', 'UTF8'],
                   stdout=subprocess.DEVNULL, check=True)
    folder = os.path.abspath('data')
    recorder = record([f'{PLACE}/postgres', '-D', folder, '-k', folder, '-c', 'listen_addresses=', '-c', 'fsync=off'],
                      '--children')
    psql = [f'{PLACE}/psql', '-h', folder, '-U', 'one', '-d', 'postgres', '-qAt']
    while subprocess.run([*psql, '-c', 'select 1'], capture_output=True, check=False).returncode != 0:
        time.sleep(0.2)
    query = 'select sum(n) from generate_series(1,1000) n'
    check('answer', subprocess.run([*psql, '-c', query], stdout=subprocess.PIPE, check=True).stdout, b'500500\n')
    subprocess.run([*psql, '-c', 'checkpoint'], check=True)
    subprocess.run([f'{PLACE}/pg_ctl', '-D', 'data', 'stop', '-m', 'fast'], stdout=subprocess.DEVNULL, check=True)
    recorder.wait(timeout=60)
    types = recorded()
    check('query', [fields['arg1'] for fields in types['postgresql:query__start'] if 'sum' in fields['arg1']], [query])
    check('locks', {'arg1', 'arg2'} == set(types['postgresql:lwlock__acquire'][0]), True)
    check('checkpoints', len(types['postgresql:checkpoint__done']) >= 2, True)


place = tempfile.mkdtemp(dir='/tmp')
os.chdir(place)
os.chmod('.', 0o755)
try:
    become_user()
    {'memcached': memcached, 'postgresql': postgresql}[PROGRAM]()
finally:
    shutil.rmtree(place, ignore_errors=True)
