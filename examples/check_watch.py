#
# check_watch.py - log_watch prints the events of running processes
#
#     check_watch.py LOG_WATCH LINES
#
# SPDX-License-Identifier: MIT

import os
import signal
import subprocess
import sys

WATCH, LINES = map(os.path.abspath, sys.argv[1:])


def start(*command):
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def watch(*lines):
    watcher = start(WATCH, *(str(one.pid) for one in lines))
    assert watcher.stdout.readline() == f'{len(lines)} processes\n', watcher.stderr.read()
    return watcher


one, other = start(LINES), start(LINES)
for process in one, other:
    assert process.stderr.readline().split() == ['process', str(process.pid)]
watcher = watch(one, other)
for process, text in (one, 'hello world'), (other, 'tea'), (one, 'more'):
    process.stdin.write(text + '\n')
    process.stdin.flush()
    words = watcher.stdout.readline().split()
    assert words[1:3] == [f'lines/{process.pid}', 'line'], words
    words = watcher.stdout.readline().split()
    assert words[1:3] == [f'lines/{process.pid}', 'words'], words
one.communicate()
watcher.send_signal(signal.SIGINT)
assert watcher.communicate()[0] == 'interrupted\n' and watcher.returncode == 0
watcher = watch(other)
other.communicate()
assert watcher.communicate()[0] == 'all processes have ended\n' and watcher.returncode == 0
watcher = start(WATCH, str(other.pid))
assert 'no such process' in watcher.communicate()[1] and watcher.returncode == 1
print('0 failures')
