#
# libc_suites.py - test suites of other people's programs, with and without record --libc
#
#     libc_suites.py [--update] POSIXTRACE SOURCES WORK [SUITE[=UNIT,...] ...]
#
# --update puts the numbers of results into docs/programs.md, of suites that were run as a whole and do not differ.
# SOURCES has a folder for each program, named like its Debian source package, built where that is needed
# (part_libc() in script/test-more). Runs each suite without posixtrace and with all groups recorded, and compares the
# results test by test. What differs is run again, both ways: a test whose result depends on the machine's speed does
# not differ each time. Prints a line for each suite, and each test that differs.
#
# SPDX-License-Identifier: MIT

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from tried import update_row

UPDATE = sys.argv[1:2] == ['--update']
POSIXTRACE, SOURCES, WORK = (Path(a).resolve() for a in sys.argv[1 + UPDATE:4 + UPDATE])
GROUPS = 'io,locks,threads,process,memory'
# How many times a test that differs is run again, both ways.
AGAIN = 3
# A test of python3 that forks with threads sometimes hangs, without posixtrace as well: then it is run again.
LIMIT = 600
MOST_PRINTED = 20

RECORD = [str(POSIXTRACE), 'record', '-q', '--children', '--loop', '4M', '--libc', GROUPS]


def call(recorded, command, cwd, environment=None, limit=LIMIT):
    """Runs a command. Returns its status, and its output with its messages."""
    log = WORK / 'suite.log'
    prefix = [*RECORD, '-o', str(log), '--'] if recorded else []
    with open(WORK / 'output', 'w+b') as output:
        process = subprocess.Popen([*prefix, *map(str, command)], cwd=cwd, env={**os.environ, **(environment or {})},
                                   stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                   start_new_session=True)
        try:
            status = process.wait(limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.wait()
            status = 'timeout'
        output.seek(0)
        text = output.read().decode(errors='replace')
    return status, text


def tally(pattern, text):
    """Returns a result for each test of an output: the groups `name` and `result` of a pattern."""
    return {found['name'].strip(): found['result'] for found in re.finditer(pattern, text, re.MULTILINE)}


# -- Suites: each is a list of units that can be run alone, and a function that runs one and returns its results ----

def bash_list():
    tests = SOURCES / 'bash/tests'
    for helper in 'recho', 'zecho', 'printenv':
        subprocess.run(['cc', '-w', f'-I{tests}/..', f'-I{tests}/../include', '-o', tests / helper,
                        tests / f'../support/{helper}.c'], check=True)
    # These wait for a person at a terminal, or a suite for another shell.
    return sorted(p.name for p in tests.glob('run-*')
                  if p.name not in ('run-all', 'run-minimal', 'run-gprof') and not p.name.endswith(('.orig', '~')))


def bash(name, recorded):
    tests = SOURCES / 'bash/tests'
    status, text = call(recorded, ['sh', name], tests, {
        'THIS_SH': '/bin/bash', 'BUILD_DIR': str(tests.parent), 'PATH': f'{tests}:{os.environ["PATH"]}',
        'BASH_TSTOUT': str(WORK / 'bash.out'), 'TMPDIR': str(WORK)})
    # What differs from the expected output is printed: as many lines without posixtrace as with it.
    return {name: (status, len(re.findall('^[<>]', text, re.MULTILINE)))}


PYTHON = '''
import json, sys, unittest
sys.argv[0:1] = ['unittest']
class Result(unittest.TextTestResult):
    of = {}
    def addSuccess(self, t): self.of[t.id()] = 'ok'
    def addError(self, t, e): self.of[t.id()] = 'error'; super().addError(t, e)
    def addFailure(self, t, e): self.of[t.id()] = 'failed'; super().addFailure(t, e)
    def addSkip(self, t, why): self.of[t.id()] = 'skipped'
    def addExpectedFailure(self, t, e): self.of[t.id()] = 'expected'
def some(tests):
    for test in tests:
        if isinstance(test, unittest.TestSuite): yield from some(test)
        # Waits for ever where the machine has no loopback for AF_VSOCK.
        elif 'ThreadedVSOCK' not in test.id(): yield test
suite = unittest.TestSuite(some(unittest.defaultTestLoader.loadTestsFromNames(sys.argv[1:])))
unittest.TextTestRunner(resultclass=Result).run(suite)
print('RESULTS', json.dumps(Result.of))
'''


def python_list():
    return ['test.' + name for name in (
        'test_threading', 'test_subprocess', 'test_socket', 'test_io', 'test_os', 'test_posix', 'test_signal',
        'test_tempfile', 'test_select', 'test_selectors', 'test_fork1', 'test_mmap', 'test_pty', 'test_queue',
        'test_thread', 'test_sqlite3', 'test_ssl', 'test_ctypes', 'test_asyncio.test_subprocess',
        'test_asyncio.test_unix_events', 'test_concurrent_futures', 'test_multiprocessing_fork')]


def python(name, recorded):
    status, text = call(recorded, ['/usr/bin/python3', '-c', PYTHON, name], WORK)
    found = re.findall('^RESULTS (.*)$', text, re.MULTILINE)
    return {'(status)': status, **json.loads(found[-1])} if found else {'(status)': (status, 'no results')}


def git_list():
    folder = SOURCES / 'git/t'
    wanted = (
        't0000 t0001 t0005 t0006 t0021 t0050 t0060 t0061 t0062 t0210 t1000 t1006 t1050 t1450 t1500 t2000 t2020 t3000 '
        't3200 t3900 t4000 t4200 t5000 t5300 t5303 t5304 t5400 t5500 t5601 t6020 t6500 t7004 t7006 t7300 t7400 t7500 '
        't7527 t7600 t7700 t0012 t1400 t2400 t3404 t5310 t5510 t6300 t0027 t1300 t4013').split()
    return sorted(p.name for p in folder.glob('t[0-9]*.sh') if p.name.startswith(tuple(w + '-' for w in wanted)))


def git(name, recorded):
    status, text = call(recorded, ['sh', name], SOURCES / 'git/t', {'TEST_NO_MALLOC_CHECK': '1'})
    return {'(status)': status, **tally(r'^(?P<result>ok|not ok) (?P<name>\d+) ', text)}


NUMBERS = 'with recursive n(i) as (select 1 union all select i + 1 from n where i < {})'
SQLITE = {
    'values': f'create table t(a integer primary key, b, c); begin; {NUMBERS.format(20000)} insert into t select i,'
              ' i * 7919 % 10007, hex(i) from n; commit; create index u on t(b); select sum(b), max(c) from t where b'
              ' between 100 and 5000; delete from t where a % 3 = 0; vacuum; select count(*) from t; select'
              ' group_concat(c) from (select c from t order by b, a limit 50); pragma integrity_check;',
    'wal': f'pragma journal_mode=wal; create table t(a, b); {NUMBERS.format(500)} insert into t select i, 0 from n;'
           ' pragma wal_checkpoint(truncate); update t set b = a * a; select sum(b) from t; pragma integrity_check;',
    'many transactions': 'create table t(a);' + 'insert into t values(1);' * 100 + 'select count(*) from t;',
    'attach and back up': "attach 'other.db' as o; create table o.t(a); insert into o.t values (1), (2); create table"
                          " u as select * from o.t;\n.backup copy.db\n.dump\n",
    'mapped': f'pragma mmap_size=10000000; create table t(a, b); {NUMBERS.format(3000)} insert into t select i,'
              ' printf("%0200d", i) from n; select sum(length(b)) from t;',
    'errors': 'create table t(a unique); insert into t values (1); insert into t values (1); select * from none;'
              " attach '/none/x' as y; select 1/0;",
}


def sqlite_list():
    if (SOURCES / 'sqlite3/testfixture').exists():
        return ['select1', 'insert', 'trans', 'wal', 'wal2', 'lock', 'lock4', 'shared', 'thread001', 'thread003',
                'pager1', 'crash', 'backup', 'attach', 'mmap1', 'io', 'unixexcl', 'incrblob', 'exclusive', 'backup2']
    return [*SQLITE, 'several processes']


def sqlite(name, recorded):
    folder = WORK / 'sqlite'
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    if (SOURCES / 'sqlite3/testfixture').exists():
        status, text = call(recorded, [SOURCES / 'sqlite3/testfixture', SOURCES / f'sqlite3/test/{name}.test'], folder)
        # Messages about errors are beside the results.
        return {'(status)': status, **tally(r'^(?:! )?(?P<name>\S+?)\.\.\. (?P<result>Ok|.*)$', text),
                '(sum)': re.findall(r'^\d+ errors out of \d+ tests', text, re.MULTILINE)}
    if name == 'several processes':
        command = ['sh', '-c', 'sqlite3 x.db "create table t(a)"; for i in 1 2 3 4; do (for j in 1 2 3 4 5; do sqlite3'
                   ' -cmd ".timeout 60000" x.db "insert into t values($i)"; done) & done; wait;'
                   ' sqlite3 x.db "select count(*), sum(a) from t"']
    else:
        (folder / 'script').write_text(SQLITE[name])
        command = ['sh', '-c', 'sqlite3 x.db <script; echo status $?; ls -l | awk "{ print \\$5, \\$9 }"']
    return {name: call(recorded, command, folder)}


def nginx_list():
    return ['files', 'many', 'reload']


NGINX = r'''
set -u; cd "$1"
cat >nginx.conf <<X
worker_processes 2; pid $1/nginx.pid; error_log $1/error.log; daemon off; %s
events { worker_connections 64; }
http { access_log $1/access.log; sendfile on; client_body_temp_path $1/body; proxy_temp_path $1/proxy;
fastcgi_temp_path $1/fastcgi; uwsgi_temp_path $1/uwsgi; scgi_temp_path $1/scgi; aio threads;
server { listen unix:$1/web.sock; root $1/www; gzip on; gzip_types *;
location /up { proxy_pass http://unix:$1/web.sock:/; } } }
X
mkdir -p www; echo hello >www/index.html; head -c 3000000 /dev/zero >www/big
i=0; while [ $i -lt 200 ]; do i=$((i + 1)); echo file $i >www/$i; done
chmod -R a+rX . ..
nginx -p "$1" -e "$1/error.log" -c "$1/nginx.conf" & p=$!
get() { curl -s --unix-socket web.sock "$@"; }
i=0; until get http://x/ >/dev/null || [ $i -gt 400 ]; do i=$((i + 1)); sleep 0.05; done
case $2 in
files) get http://x/; get http://x/big | md5sum; get --compressed http://x/big | md5sum; get http://x/up/big | md5sum
	get -I http://x/none | head -n 1; get -r 5-8 http://x/index.html ;;
many) i=0; while [ $i -lt 200 ]; do i=$((i + 1)); get http://x/$i http://x/up/$i; done | md5sum
	i=0; while [ $i -lt 8 ]; do i=$((i + 1)); get http://x/big >got$i & q="${q:-} $!"; done; wait $q; md5sum got* ;;
reload) for i in 1 2 3; do kill -HUP $p; sleep 0.3; get http://x/$i; done; kill -USR1 $p; sleep 0.2; get http://x/9 ;;
esac
kill -QUIT $p; wait $p; echo status $?; grep -c -E 'alert|emerg|crit' error.log; wc -l <access.log
''' % ('user root;' if os.geteuid() == 0 else '')


def nginx(name, recorded):
    folder = WORK / 'nginx'
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return {name: call(recorded, ['sh', '-c', NGINX, 'sh', folder, name], WORK, limit=120)}


def redis_list():
    source = SOURCES / 'redis/src'
    for program in 'server', 'cli', 'benchmark', 'sentinel', 'check-aof', 'check-rdb':
        link = source / f'redis-{program}'
        if not os.path.lexists(link):
            link.symlink_to(shutil.which(f'redis-{program}') or '/none')
    return ['unit/type/string', 'unit/type/list', 'unit/type/hash', 'unit/type/set', 'unit/type/zset', 'unit/type/incr',
            'unit/expire', 'unit/scan', 'unit/info', 'unit/multi', 'unit/pubsub', 'unit/acl', 'unit/protocol',
            'unit/dump', 'unit/introspection', 'unit/latency-monitor', 'unit/querybuf', 'unit/aofrw', 'unit/shutdown',
            'integration/aof', 'integration/rdb', 'integration/redis-cli', 'integration/replication-psync']


def redis(name, recorded):
    status, text = call(recorded, ['tclsh', 'tests/test_helper.tcl', '--single', name, '--clients', '2', '--tags',
                                   '-needs:debug -slow -large-memory'], SOURCES / 'redis')
    text = re.sub('\x1b\\[[0-9;]*m', '', text)
    return {'(status)': status,
            **tally(r'^\[(?P<result>ok|err|exception|ignore|skip)\]: (?P<name>.*?)(?: \(\d+ ms\)| in .*)?$', text)}


def node_list():
    folder = SOURCES / 'nodejs/test/parallel'
    wanted = re.compile(r'test-(fs|child-process|worker|net|cluster|process|dns|pipe|stdin|stdout|timers|tls|http-|'
                        r'zlib|os|spawn|dgram|signal|readline|crypto-h|stream-p)')
    # Every twelfth of them.
    return [p.name for p in sorted(folder.glob('test-*.js')) if wanted.match(p.name)][::12]


def node(name, recorded):
    test = SOURCES / 'nodejs/test/parallel' / name
    flags = re.findall(r'^// Flags: (.*)$', test.read_text(), re.MULTILINE)
    return {name: call(recorded, ['node', *' '.join(flags).split(), test], WORK, {'NODE_TEST_DIR': str(WORK)}, 60)[0]}


GCC = '''
for source in "$@"; do
	name=$(basename "$source" .c); rm -f "$name.x"
	gcc -w -O2 -pipe "$source" -o "$name.x" -lm >/dev/null 2>&1; built=$?; ran=none
	[ $built -ne 0 ] || { ./"$name.x" >/dev/null 2>&1; ran=$?; }
	echo "$name: $built,$ran"; rm -f "$name.x"
done'''


def gcc_list():
    return list('0123456789p')


def gcc(name, recorded):
    sources = sorted((SOURCES / 'gcc-12/gcc/testsuite/gcc.c-torture/execute').glob('*.c'))
    few = [s for s in sources if s.name[0] not in 'p0123456789'][::8] if name == '0' else \
        sources[int(name, 16) if name != 'p' else 0::60][:25]
    return tally(r'^(?P<name>\S+): (?P<result>\d+,.*)$', call(recorded, ['sh', '-c', GCC, 'sh', *few], WORK)[1])


DISPLAY = r'''
number=$(($$ % 500 + 90)); Xvfb :$number -screen 0 800x600x24 -nolisten tcp >/dev/null 2>&1 & server=$!
i=0; until [ -e /tmp/.X11-unix/X$number ] || [ $i -gt 200 ]; do i=$((i + 1)); sleep 0.05; done
DISPLAY=:$number; export DISPLAY; NO_AT_BRIDGE=1; export NO_AT_BRIDGE
"$@"; status=$?; echo status $status
kill $server; wait $server; exit $status'''

QT = r'''
import sys
from PyQt5.QtCore import QThread, QTimer, QProcess
from PyQt5.QtWidgets import QApplication, QTreeView, QFileSystemModel, QLabel
app = QApplication(sys.argv)
class Work(QThread):
    def run(self): self.sum = sum(range(100000))
work = [Work() for i in range(4)]
[w.start() for w in work]; [w.wait() for w in work]
model = QFileSystemModel(); model.setRootPath('/etc')
tree = QTreeView(); tree.setModel(model); tree.resize(400, 300); tree.show()
process = QProcess(); process.start('echo', ['child']); process.waitForFinished()
label = QLabel('text'); label.show()
def done():
    image = tree.grab().toImage()
    print(work[0].sum, bytes(process.readAllStandardOutput()), image.width(), image.height(),
          model.rowCount(model.index('/etc')))
    app.quit()
QTimer.singleShot(1500, done)
sys.exit(app.exec())
'''

SCREENS = {
    'zenity --info': ['sh', '-c', 'zenity --info --text=x --timeout=2; test $? -eq 5'],
    'zenity --progress': ['sh', '-c', 'for i in 10 50 100; do echo $i; sleep 0.2; done |'
                          ' zenity --progress --auto-close'],
    'zenity --list': ['sh', '-c', 'seq 500 | zenity --list --column=n --timeout=2; test $? -eq 5'],
    'gtk3-demo': ['sh', '-c', 'timeout -s TERM 4 gtk3-demo --run=builder >/dev/null 2>&1; test $? -eq 124'],
    'gtk3-widget-factory': ['sh', '-c', 'timeout -s TERM 4 gtk3-widget-factory >/dev/null 2>&1; test $? -eq 124'],
    'Qt': ['/usr/bin/python3', '-c', QT],
}


def screen_list():
    return list(SCREENS)


def screen(name, recorded):
    command = SCREENS[name]
    status, text = call(recorded, ['sh', '-c', DISPLAY, 'sh', *command], WORK, {'QT_QPA_PLATFORM': 'xcb'}, 60)
    # Messages have times, and numbers of processes.
    return {name: (status, re.findall(r'^(?:status )?\d.*', text, re.MULTILINE))}


def postgresql_list():
    # The server does not run as root, and has to get to all of it.
    folders = ' '.join(f'"{folder}/."' for folder in (SOURCES, WORK, POSIXTRACE.parent))
    if os.geteuid() == 0 and subprocess.run(['su', 'postgres', '-s', '/bin/sh', '-c', f'ls -d {folders}'],
                                            capture_output=True).returncode:
        print(f'postgresql: the user postgres cannot get to {SOURCES}, {WORK} or {POSIXTRACE}')
        return []
    return ['installcheck']


def postgresql(name, recorded):
    regress = SOURCES / 'postgresql-15/src/test/regress'
    folder = WORK / 'postgresql'
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    folder.chmod(0o777)
    command = [regress / 'pg_regress', '--inputdir', regress, '--outputdir', folder, '--dlpath', regress, '--bindir',
               '/usr/lib/postgresql/15/bin', '--temp-instance', folder / 'data', '--port', '54999', '--no-locale',
               '--max-connections=4',
               'test_setup', 'boolean', 'char', 'int4', 'int8', 'numeric', 'strings', 'date', 'timestamp', 'horology',
               'create_table', 'copy', 'create_index', 'triggers', 'select', 'join', 'aggregates', 'transactions',
               'union', 'portals', 'arrays', 'hash_index', 'update', 'delete', 'plpgsql', 'temp', 'vacuum', 'cluster',
               'subselect', 'jsonb', 'select_parallel', 'prepared_xacts', 'largeobject', 'copy2', 'async', 'guc']
    if os.geteuid() == 0:
        log = ['-o', folder / 'suite.log'] if recorded else []
        shell = ' '.join(f"'{word}'" for word in [*(RECORD if recorded else []), *log, *(['--'] if recorded else []),
                                                  *command])
        status, text = call(False, ['su', 'postgres', '-s', '/bin/sh', '-c', f'cd {folder} && {shell}'], WORK)
    else:
        status, text = call(recorded, command, WORK)
    return {'(status)': status, **tally(r'^(?:test| {5}) ?(?P<name>\S+) +\.\.\. (?P<result>ok|FAILED)', text)}


ALLOCATORS = ('libjemalloc.so.2', 'libtcmalloc_minimal.so.4', 'libmimalloc.so.2.0')
ALLOCATING = {
    'python3': ['/usr/bin/python3', '-c', 'import json,threading,hashlib,subprocess\nr=[]\ndef f():\n'
                ' r.append(hashlib.md5(json.dumps([list(range(1000))]*50).encode()).hexdigest())\n'
                't=[threading.Thread(target=f) for i in range(8)]\n[x.start() for x in t];[x.join() for x in t]\n'
                'print(sorted(r), subprocess.run(["sh","-c","seq 1000|sort|md5sum"],capture_output=True).stdout)'],
    'sort': ['sh', '-c', 'seq 200000 | sort -R --random-source=/bin/sh --parallel=4 | md5sum'],
    'git': ['sh', '-c', 'git -C "$0" log -p --stat -50 | md5sum; git -C "$0" fsck --no-dangling 2>/dev/null; echo $?',
            str(Path(__file__).resolve().parent)],
    'gcc': ['sh', '-c', 'echo "int main(void){return 7;}" >a.c; g++ -x c++ -O2 a.c -o a.x && ./a.x; echo $?'],
    'perl': ['perl', '-e', 'my %h; $h{$_ % 1000} .= "x" for 1..100000; print length(join "", values %h);'
             'system "exit 3"; print $? >> 8; fork or exit 4; wait; print $? >> 8'],
}


def allocators_list():
    return [f'{library} {place} {name}' for library in ALLOCATORS if (path := f'/usr/lib/x86_64-linux-gnu/{library}')
            and os.path.exists(path) for place in ('before', 'after') for name in ALLOCATING]


def allocators(name, recorded):
    """Another allocator is preloaded after ours: record puts its own libraries first. Or before, inside of COMMAND."""
    library, place, program = name.split()
    path = f'/usr/lib/x86_64-linux-gnu/{library}'
    if place == 'after':
        command, environment = ALLOCATING[program], {'LD_PRELOAD': path}
    else:
        command = ['sh', '-c', f'LD_PRELOAD="{path}${{LD_PRELOAD:+:$LD_PRELOAD}}"; export LD_PRELOAD; exec "$@"', 'sh',
                   *ALLOCATING[program]]
        environment = {}
    return {name: call(recorded, command, WORK, environment, 120)}


SUITES = {'bash': bash, 'python': python, 'git': git, 'sqlite': sqlite, 'nginx': nginx, 'redis': redis, 'node': node,
          'gcc': gcc, 'screen': screen, 'postgresql': postgresql, 'allocators': allocators}


# The rows of docs/programs.md.
ROWS = {'bash': 'bash 5', 'python': 'python3.11', 'git': 'git 2', 'sqlite': 'sqlite3 3', 'nginx': 'nginx 1.22',
        'redis': 'redis-server', 'node': 'node 20', 'gcc': 'gcc 12', 'screen': 'GTK 3', 'postgresql': 'PostgreSQL 15',
        'allocators': 'python3, sort'}


def differing(one, other):
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))


def is_good(result):
    """Returns whether a result is a success: for the sum, which shows that a suite runs at all."""
    return result in ('ok', 'Ok', '0,0') or (result[0] if isinstance(result, tuple) else result) == 0


def compare(wanted):
    suite, _, some = wanted.partition('=')
    run = SUITES[suite]
    tests = good = 0
    wrong = []
    odd = []
    slow = {False: 0.0, True: 0.0}
    units = globals()[suite + '_list']()
    if some:
        units = [unit for unit in units if unit in some.split(',')]
    for unit in units:
        seen = {False: [], True: []}
        for attempt in range(1 + AGAIN):
            for recorded in (False, True):
                began = time.monotonic()
                seen[recorded].append(run(unit, recorded))
                if attempt == 0:
                    slow[recorded] += time.monotonic() - began
            # A test that has had the same result both ways, in whichever run, does not differ.
            wrong = [name for name in set().union(*seen[False], *seen[True]) if not
                     {repr(r.get(name)) for r in seen[False]} & {repr(r.get(name)) for r in seen[True]}]
            if not wrong:
                break
        tests += len(set().union(*seen[False], *seen[True]))
        good += sum(is_good(result) for result in seen[False][0].values())
        changing = differing(seen[False][0], seen[True][0])
        for name in wrong:
            odd.append((unit, name, [r.get(name) for r in seen[False]], [r.get(name) for r in seen[True]]))
            if len(odd) <= MOST_PRINTED:
                print(f'{suite}: {unit}: {name}:\n  without {odd[-1][2]}\n  with    {odd[-1][3]}', flush=True)
        if changing and not wrong:
            print(f'{suite}: {unit}: the same after another run: {len(changing)}: '
                  f'{[(n, seen[False][0].get(n), seen[True][0].get(n)) for n in changing[:4]]}'[:600], flush=True)
    print(f'{suite}: {len(units)} units, {tests} results, {good} of them good without; {len(odd)} differ; '
          f'{slow[False]:.0f} s without, {slow[True]:.0f} s with', flush=True)
    if UPDATE and units and not some and not odd:
        update_row(ROWS[suite], tests, 'all', units=len(units))
    return 77 if not units else 1 if odd else 0


def main():
    WORK.mkdir(parents=True, exist_ok=True)
    statuses = {compare(suite) for suite in sys.argv[4 + UPDATE:] or SUITES}
    # 77: there was nothing to run.
    sys.exit(1 if 1 in statuses else min(statuses))


main()
