#
# daemons.py - root records Debian's daemons, whose workers become other users; and what that costs
#
#     daemons.py [--update] BUILD
#
#   --update  puts the table between its two marks in docs/programs.md
#
# nginx, Apache, sshd and PostgreSQL as Debian ships them, in three ways: with preloaded trace points (daemons_calls.c),
# whose workers' user the recorder has to find, or has been told; and with --libc, with which workers stay in root's
# stream. What a daemon has written itself says how many events there have to be: the lines of an access log, the
# connections of a client. For script/test-more, as root.
#
# SPDX-License-Identifier: MIT

import argparse
import json
import os
import pwd
import re
import signal
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path += [str(ROOT / 'bench'), str(ROOT / 'tests' / 'tool')]
import scene
from scene import expect
from table import digits, update

BEGIN, END = '<!-- begin: script/test-more --update-docs daemons -->', '<!-- end: daemons -->'
LIMIT = 60 * int(os.environ.get('TEST_SLOW', 1))
REQUESTS, CONNECTIONS = 60, 5
ROUNDS, CALLS = 7, 500000
IDLE = 5  # seconds
FOUND, NAMED, LIBC = 'user found', 'user named', '--libc'


def wait_for(condition, text):
    end = time.monotonic() + LIMIT
    while not (found := condition()):
        if time.monotonic() > end:
            raise AssertionError(f'not in time: {text}')
        time.sleep(0.05)
    return found


def free_port():
    with socket.socket() as some:
        some.bind(('127.0.0.1', 0))
        return some.getsockname()[1]


def version(package):
    told = subprocess.run(['dpkg-query', '--show', '--showformat=${Version}', package], capture_output=True, text=True,
                          check=True).stdout
    return re.match(r'(?:\d+:)?(\d+(?:\.\d+)?)', told)[1]


def children_of(pid):
    """Returns all descendants of a process, with the users that they are."""
    parents = {}
    for path in Path('/proc').glob('[0-9]*/status'):
        try:
            fields = dict(line.split(':\t', 1) for line in path.read_text().splitlines() if ':\t' in line)
        except OSError:
            continue
        parents[int(fields['Pid'])] = int(fields['PPid']), int(fields['Uid'].split()[0])
    found, more = {}, {pid}
    while more:
        more = {child for child, (parent, _) in parents.items() if parent in more} - found.keys()
        found.update((child, parents[child][1]) for child in more)
    return found


class Recording:
    """A daemon of root, recorded until it ends."""

    last = None

    def __init__(self, posixtrace, folder, user, way, command):
        self.posixtrace, self.log, self.user = posixtrace, folder / 'x.log', pwd.getpwnam(user)
        self.log.unlink(missing_ok=True)
        self.began = time.time()
        Recording.last = self
        self.way = way
        options = {FOUND: [], NAMED: ['--also-user', user], LIBC: ['--libc', 'io']}[way]
        # As the program does not need it that starts the daemon, it is preloaded by the last one.
        self.preload = [] if way == LIBC else ['env', f'LD_PRELOAD={folder}/calls.so']
        self.output = open(folder / 'output', 'w+')
        self.process = subprocess.Popen(
            list(map(str, [posixtrace, 'record', '--children', *options, '-o', self.log, '--',
                           *command(self.preload)])),
            stdin=subprocess.DEVNULL, stdout=self.output, stderr=self.output, text=True, start_new_session=True,
            env={**os.environ, 'LC_ALL': 'C.UTF-8'})

    def workers(self):
        return [pid for pid, uid in children_of(self.process.pid).items() if uid == self.user.pw_uid]

    def wait_workers(self, count):
        """Waits until there are so many processes of the user, and the recorder has found their user."""
        def recorded():
            found = self.workers()
            streams = [path for path in Path(f'/dev/shm/posixtrace-{self.user.pw_uid}').glob('stream-*')
                       if path.stat().st_ctime >= self.began]
            return found if len(found) >= count and (streams or self.way != FOUND) else None
        return wait_for(recorded, f'{count} processes of {self.user.pw_name} are recorded: {self.told()}')

    def kill(self):
        for pid in [*children_of(self.process.pid), self.process.pid]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()

    def told(self):
        self.output.flush()
        return Path(self.output.name).read_text()

    def end(self):
        """Returns the events; and as the recorder counts, how many are of the user's processes, and of how many."""
        try:
            self.process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            raise AssertionError(f'the recorder does not end: {self.told()}') from None
        told = self.told()
        self.output.close()
        if self.process.returncode:
            raise AssertionError(f'status {self.process.returncode}: {told}')
        found = re.search(rf'(\d+) of the events are of (\d+) process\w* of user {self.user.pw_name} ', told)
        if not found and self.way != LIBC:
            raise AssertionError(f'no process of {self.user.pw_name}: {told}')
        lines = subprocess.run([self.posixtrace, 'report', '--json', self.log], capture_output=True, text=True,
                               check=True).stdout.splitlines()
        return Events(map(json.loads, lines)), *((int(found[1]), int(found[2])) if found else (None, None))


class Events(list):
    """Events of daemons_calls.c, or of --libc."""

    def accepted(self):
        return sum(event['event'] == 'call.accept' or event['event'] == 'libc.accept' and event['fields']['fd'] >= 0
                   and event['fields']['errno'] == 'ok' for event in self)

    def log_lines(self):
        return sum(event['event'] == 'call.write' and event['fields']['begin'] == 'REQUEST ' or
                   event['event'] in ('libc.write', 'libc.writev') and
                   event['fields'].get('path', '').endswith('/access.log') for event in self)


def get(port, count):
    for _ in range(count):
        with urllib.request.urlopen(f'http://127.0.0.1:{port}/', timeout=LIMIT) as answer:
            expect(answer.read() == b'hello\n', 'the answer')


def serves(port):
    with socket.socket() as client:
        return client.connect_ex(('127.0.0.1', port)) == 0


# -- Daemons: each returns the events of its workers, their number, and what was compared -----------------

def nginx(posixtrace, folder, way, workers=3, idle=None):
    port = free_port()
    (folder / 'conf').write_text(f'''
user www-data; worker_processes {workers}; daemon off; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 64; }}
http {{ log_format short 'REQUEST $request'; access_log {folder}/access.log short; 
server {{ listen 127.0.0.1:{port}; root {folder}; index index.html; }}
client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s; }}
''')
    (folder / 'access.log').unlink(missing_ok=True)
    daemon = Recording(posixtrace, folder, 'www-data', way, lambda preload: [
        *preload, 'nginx', '-c', folder / 'conf', '-e', folder / 'error.log'])
    first = daemon.wait_workers(workers)
    if idle:
        idle(daemon)
    get(port, REQUESTS)
    master = int((folder / 'pid').read_text())
    os.kill(master, signal.SIGHUP)
    wait_for(lambda: len(daemon.workers()) == workers and not set(first) & set(daemon.workers()), 'nginx reloads')
    daemon.wait_workers(workers)
    get(port, REQUESTS)
    os.kill(master, signal.SIGQUIT)
    events, number, processes = daemon.end()
    lines = len((folder / 'access.log').read_text().splitlines())
    expect(lines == 2 * REQUESTS, f'nginx: {lines} lines in its log')
    for what, found in (('lines', events.log_lines()), ('connections', events.accepted())):
        # Workers of a user who has to be found are recorded a little later; those after the reload at once.
        expect(found == lines or way == FOUND and REQUESTS <= found < lines, f'nginx: {found} {what}')
    return number, processes, f'{lines} requests, half of them after a reload: connections, lines of the access log'


def apache(posixtrace, folder, way, module):
    port = free_port()
    (folder / 'conf').write_text(f'''
ServerRoot {folder}
ServerName localhost
Listen 127.0.0.1:{port}
PidFile {folder}/pid
User www-data
Group www-data
LoadModule mpm_{module}_module /usr/lib/apache2/modules/mod_mpm_{module}.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule dir_module /usr/lib/apache2/modules/mod_dir.so
ErrorLog {folder}/error.log
LogFormat "REQUEST %r" short
CustomLog {folder}/access.log short
DocumentRoot {folder}
DirectoryIndex index.html
StartServers 3
''')
    (folder / 'access.log').unlink(missing_ok=True)
    daemon = Recording(posixtrace, folder, 'www-data', way, lambda preload: [
        *preload, 'apache2', '-DFOREGROUND', '-f', folder / 'conf'])
    daemon.wait_workers(3)
    wait_for(lambda: serves(port), 'apache serves')
    get(port, REQUESTS)
    os.kill(int((folder / 'pid').read_text()), signal.SIGTERM)
    events, number, processes = daemon.end()
    lines = len((folder / 'access.log').read_text().splitlines())
    expect(lines >= REQUESTS, f'apache: {lines} lines in its log')
    found = events.log_lines()
    expect(found == lines or way == FOUND and 0 < found < lines, f'apache: {found} lines')
    return number, processes, f'{REQUESTS} requests: lines of the access log'


def sshd(posixtrace, folder, way):
    port = free_port()
    Path('/run/sshd').mkdir(exist_ok=True)
    for key in ('host', 'key'):
        (folder / key).unlink(missing_ok=True)
        subprocess.run(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', folder / key], check=True)
    (folder / 'conf').write_text(f'''Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host
AuthorizedKeysFile {folder}/key.pub
UsePAM yes
StrictModes no
PidFile {folder}/pid
''')
    daemon = Recording(posixtrace, folder, 'postgres', way, lambda preload: [
        *preload, '/usr/sbin/sshd', '-D', '-e', '-f', folder / 'conf'])
    wait_for(lambda: 'Server listening' in daemon.told(), 'sshd serves')
    for _ in range(CONNECTIONS):
        said = subprocess.run(['ssh', '-q', '-i', folder / 'key', '-p', str(port), '-o', 'StrictHostKeyChecking=no',
                               '-o', 'UserKnownHostsFile=/dev/null', 'postgres@127.0.0.1',
                               'id -un; sleep 1; echo end'],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=LIMIT)
        expect(said.stdout == 'postgres\nend\n', f'a login: status {said.returncode}: {said.stdout}{said.stderr}')
    os.kill(int((folder / 'pid').read_text()), signal.SIGTERM)
    events, number, processes = daemon.end()
    expect(events.accepted() == CONNECTIONS, f'sshd: {events.accepted()} connections')
    expect(way != NAMED or processes == CONNECTIONS, f'sshd: {processes} processes')
    return number, processes, f'{CONNECTIONS} logins: connections, and processes of the user'


def postgresql(posixtrace, folder, way, by):
    port, programs, data = free_port(), Path('/usr/lib/postgresql/15/bin'), folder / 'data'
    subprocess.run(['rm', '-rf', data], check=True)
    os.chown(folder, pwd.getpwnam('postgres').pw_uid, -1)
    as_postgres = ['setpriv', '--reuid', 'postgres', '--regid', 'postgres', '--clear-groups']
    subprocess.run([*as_postgres, programs / 'initdb', '-D', data, '-A', 'trust'], check=True, capture_output=True,
                   cwd='/')
    words = [programs / 'postgres', '-D', data, '-p', port, '-k', folder, '-c', 'listen_addresses=127.0.0.1', '-c',
             'fsync=off']
    daemon = Recording(posixtrace, folder, 'postgres', way, lambda preload: [*as_postgres, *preload, *words]
                       if by == 'setpriv' else ['su', 'postgres', '-s', '/bin/sh', '-c',
                                                'exec ' + ' '.join(map(str, preload + words))])
    wait_for(lambda: 'ready to accept connections' in daemon.told(), 'PostgreSQL serves')
    daemon.wait_workers(2)
    for number in range(CONNECTIONS):
        said = subprocess.run([*as_postgres, programs / 'psql', '-qAt', '-h', '127.0.0.1', '-p', str(port), '-c',
                               f'select {number} + 1', 'postgres'], capture_output=True, text=True, check=False,
                              cwd='/')
        expect(said.stdout == f'{number + 1}\n', said)
    os.kill(int((data / 'postmaster.pid').read_text().split()[0]), signal.SIGINT)
    events, number, processes = daemon.end()
    expect(events.accepted() == CONNECTIONS, f'postgresql: {events.accepted()} connections')
    return number, processes, f'{CONNECTIONS} queries: connections'


# -- What it costs --------------------------------------------------------------------------------------

def event_costs(posixtrace, build, folder):
    """Returns what an event of a worker costs against one of root's, by rounds in turns."""
    program = folder / 'loop'
    subprocess.run(['cc', '-O2', '-DPOSIXTRACE', f'-I{ROOT}/include', ROOT / 'bench/tracers.c', '-o', program,
                    f'-L{build}/src', '-lposixtrace', f'-Wl,-rpath,{build}/src'], check=True)
    become = ['setpriv', '--reuid', 'nobody', '--regid', 'nogroup', '--clear-groups']
    ratios = []
    for _ in range(ROUNDS):
        took = []
        for before in ([], become):
            done = subprocess.run(list(map(str, [posixtrace, 'record', '-q', '--children', '--also-user', 'nobody',
                                                 '-s', '64M', '-o', folder / 'x.log', '--', *before, program, CALLS])),
                                  capture_output=True, text=True, check=True)
            took.append(float(done.stdout))
        ratios.append(took[1] / took[0])
    return ratios


def merge_seconds(posixtrace, folder):
    """Returns how long the recorder works after a program and its worker have ended, and their events."""
    command = f'"{folder}/loop" {CALLS}; setpriv --reuid nobody --regid nogroup --clear-groups "{folder}/loop" {CALLS}'
    with subprocess.Popen([posixtrace, 'record', '--children', '--also-user', 'nobody', '-s', '64M', '-o',
                           folder / 'x.log', '--', 'sh', '-c', command], stdout=subprocess.PIPE,
                          stderr=open(folder / 'output', 'w'), text=True) as recorder:
        for _ in range(2):
            recorder.stdout.readline()
        began = time.monotonic()
        recorder.wait(LIMIT)
        took = time.monotonic() - began
    files = json.loads(subprocess.run([posixtrace, 'stat', '--json', folder / 'x.log'], capture_output=True, text=True,
                                      check=True).stdout)['files']
    return took, sum(file['events'] for file in files)


def processor_time(pid):
    fields = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def processes_begun():
    return int(re.search(r'^processes (\d+)', Path('/proc/stat').read_text(), re.MULTILINE)[1])


def idle_percent(posixtrace, folder):
    """
    Returns the recorder's processor time in percent while 100 workers do nothing; and how many processes began on the
    machine in a second, because the kernel tells the recorder of each.
    """
    found = []

    def idle(daemon):
        before, begun = processor_time(daemon.process.pid), processes_begun()
        time.sleep(IDLE)
        found.extend(((processor_time(daemon.process.pid) - before) / IDLE * 100, (processes_begun() - begun) / IDLE))

    nginx(posixtrace, folder, NAMED, workers=100, idle=idle)
    return found


# -- All ------------------------------------------------------------------------------------------------

DAEMONS = [
    ('nginx', 'nginx', '3 workers', nginx, ()),
    ('Apache', 'apache2', 'prefork', apache, ('prefork',)),
    ('Apache', 'apache2', 'event', apache, ('event',)),
    ('OpenSSH', 'openssh-server', '', sshd, ()),
    ('PostgreSQL', 'postgresql-15', 'by `setpriv`', postgresql, ('setpriv',)),
    ('PostgreSQL', 'postgresql-15', 'by `su`', postgresql, ('su',)),
]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--update', action='store_true')
    parser.add_argument('--only', default='')
    parser.add_argument('build', type=Path)
    options = parser.parse_args()
    if os.geteuid() != 0 or not scene.can_look():
        print('skipped: only root starts daemons so, and only one that may look at processes of other users')
        return 77
    build = options.build.resolve()
    posixtrace = build / 'tool' / 'posixtrace'
    rows = []
    with scene.directory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / 'index.html').write_text('hello\n')
        subprocess.run(['cc', '-O2', '-shared', '-fPIC', f'-I{ROOT}/include', Path(__file__).parent / 'daemons_calls.c',
                        '-o', folder / 'calls.so', f'-L{build}/src', '-lposixtrace', f'-Wl,-rpath,{build}/src'],
                       check=True)
        for title, package, how, run, arguments in DAEMONS:
            label = f'{title} {version(package)}{", " + how if how else ""}'
            if not label.startswith(options.only):
                continue
            # With --libc, sshd's child before the login would be killed by its seccomp filter (docs/programs.md).
            for way in (FOUND, NAMED) if run is sshd else (FOUND, NAMED, LIBC):
                before = scene.failures
                try:
                    number, processes, compared = run(posixtrace, folder, way, *arguments)
                except (AssertionError, OSError, subprocess.SubprocessError) as why:
                    expect(False, f'{label}, {way}: {why}')
                    Recording.last.kill()
                    continue
                recorded = f'{number} events of {processes} processes of the user' if number else "all in root's stream"
                print(f'{label}, {way}: {recorded}; {"the same" if scene.failures == before else "FAILED"}: {compared}',
                      flush=True)
                if way == NAMED:
                    rows.append([label, str(processes), str(number), compared])
        if options.only:
            return 1 if scene.failures else 0
        ratios, (seconds, events) = event_costs(posixtrace, build, folder), merge_seconds(posixtrace, folder)
        idle, begun = idle_percent(posixtrace, folder)
    head = ['daemon', 'processes that became the user', 'their events', 'compared, and the same']
    table = '\n'.join('| ' + ' | '.join(row) + ' |' for row in [head, ['---'] * len(head), *rows])
    table += f'''

An event of a worker costs {digits(statistics.median(ratios))} times ({digits(min(ratios))}-{digits(max(ratios))} in
{ROUNDS} rounds by turns) what one of root's process costs. One log was made of two with {events} events
together in {digits(seconds)} s. The recorder used {digits(idle)} % of a processor while 100 workers did nothing, and
{begun:.0f} processes began in each second elsewhere on the machine, of each of which the kernel tells it.
{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}.
'''
    print(table)
    if options.update and not scene.failures:
        update(ROOT / 'docs' / 'programs.md', table, BEGIN, END)
    return 1 if scene.failures else 0


if __name__ == '__main__':
    sys.exit(main())
