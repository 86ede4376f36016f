#
# functions_foreign.py - record --functions counts the calls that uftrace counts, in programs that others wrote
#
#     functions_foreign.py [--update] [--sqlite FILE] [--examples FOLDER] POSIXTRACE WORK
#
#   --sqlite    SQLite's shell, built with -finstrument-functions
#   --examples  uftrace's example programs (tests/s-* of its source), which are built so here
#   --update    puts the table of both between its two marks in docs/programs.md
#
# Each program is recorded once by uftrace and once by posixtrace. What may differ is a rule with its reason (RULES),
# and anything else is a failure. Nothing may be lost. For script/test-more.
#
# SPDX-License-Identifier: MIT

import argparse
import collections
import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT / 'bench'))
from table import update

BEGIN, END = '<!-- begin: script/test-more --update-docs functions -->', '<!-- end: functions of others -->'
FLAGS = ['-O1', '-g', '-w', '-finstrument-functions']
LIBRARIES = ['-pthread', '-ldl', '-lm', '-lrt']
LIMIT = 120
STATEMENTS = [
    'create table shop(id integer primary key, item, price)',
    "with recursive n(i) as (select 1 union all select i + 1 from n where i < 300)"
    " insert into shop select i, hex(i), i * 7919 % 1009 from n",
    'create index prices on shop(price)',
    'select count(*), sum(price) from shop where price between 100 and 500',
    "select item from shop where item like '3%' order by price desc limit 5",
    'update shop set price = price + 1 where id % 3 = 0',
    'delete from shop where id > 250',
    'select a.id, b.id from shop a join shop b on a.price = b.price + 1 limit 10',
    'pragma integrity_check',
]


class Untried(Exception):
    """Why a program says nothing here."""


class Wrong(Exception):
    """What is not as it should be."""


def run(command, cwd):
    try:
        return subprocess.run(list(map(str, command)), cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, errors='replace', check=False, timeout=LIMIT)
    except subprocess.TimeoutExpired as reason:
        raise Untried(f'{command[0]} does not end') from reason


def plain(name):
    """Returns a name without what only one of the two prints: arguments of templates, parameters."""
    name = name.replace('(anonymous namespace)', '_GLOBAL__N_1').replace('[abi:cxx11]', '')
    # These look like brackets.
    name = re.sub(r'\boperator\s*(<<=?|>>=?|<=>?|>=?|->\*?|<|\(\))', 'operator', name)
    while (less := re.sub(r'<[^<>]*>', '', name)) != name:
        name = less
    return re.sub(r'\([^()]*\)(?=::)', '', name)


def of_uftrace(command, folder):
    """Returns the calls that uftrace has counted, by function, and the size of its files."""
    place = folder / 'uftrace.data'
    shutil.rmtree(place, ignore_errors=True)
    run(['uftrace', 'record', '--no-pager', '--no-libcall', '--no-event', '-d', place, *command], folder)
    report = run(['uftrace', 'report', '--no-pager', '-d', place, '-f', 'call'], folder).stdout
    calls = collections.Counter()
    for number, name in re.findall(r'^\s*(\d+)\s+(\S.*)$', report, re.MULTILINE):
        calls[plain(name.strip())] += int(number)
    return calls, sum(path.stat().st_size for path in place.iterdir())


def of_ours(posixtrace, command, folder):
    """Returns the same of ours, and how many calls have no end. The log lacks nothing."""
    log = folder / 'x.log'
    log.unlink(missing_ok=True)
    done = run([posixtrace, 'record', '-q', '--children', '-o', log, '--functions', '--', *command], folder)
    said = json.loads(run([posixtrace, 'stat', '--calls', '--json', log], folder).stdout)
    files = json.loads(run([posixtrace, 'stat', '--json', log], folder).stdout)['files']
    if missing := sum(file['missing'] for file in files):
        raise Wrong(f'{missing} events are missing')
    calls = collections.Counter()
    for function in said['functions']:
        calls[plain(function['name'])] += function['calls']
    return calls, log.stat().st_size, done.returncode, said['open']


# -- What may differ ---------------------------------------------------------------------------------

def loose(calls):
    """Returns the calls under names without what compilers have made, which each demangles in its own way."""
    found = collections.Counter()
    for name, number in calls.items():
        name = re.sub(r'^_GLOBAL__sub_I_.*', '_GLOBAL__sub_I', name)
        name = re.sub(r'\{lambda[^}]*\}|\$_\d+', 'lambda', name)
        found[name.replace('::cxx11', '')] += number
    return found


def surplus(more, less):
    """Returns how many calls there are more, or None if there is a function with fewer."""
    return None if less - more else sum((more - less).values())


def by_names(ours, theirs, _open, _text):
    return loose(ours) == loose(theirs)


def by_exit(ours, theirs, calls_open, text):
    return 'exit(' in text and surplus(ours, theirs) == calls_open > 0


def by_fork(ours, theirs, _open, text):
    return 'fork()' in text and set(theirs - ours) == {'main'} and surplus(theirs, ours) is not None


def by_thread(ours, theirs, _open, text):
    called = set(re.findall(r'pthread_key_create\([^,]*, (\w+)\)', text))
    return called <= set(ours - theirs) <= called | {'free'} if called else False


RULES = {
    'other names of constructors of static objects, of lambdas, of ABI tags': by_names,
    'functions that `exit()` leaves, which uftrace does not count': by_exit,
    '`main` in a child of `fork()`, which uftrace counts again': by_fork,
    "destructors of a thread's data, of which uftrace counts fewer": by_thread,
}


# -- Programs -----------------------------------------------------------------------------------------

def build(source, folder):
    compiler = 'g++' if source.suffix == '.cpp' else 'gcc'
    done = run([compiler, *FLAGS, source, '-o', folder / source.stem, *LIBRARIES], folder)
    if done.returncode:
        raise Untried(f'it does not build alone: {(done.stderr.strip().splitlines() or [""])[-1]}')
    return [folder / source.stem]


def compare(posixtrace, folder, text, command):
    """Returns which rule explains the differences, or an empty text; the calls; and the sizes of the files."""
    bare = run(command, folder).returncode
    theirs, their_size = of_uftrace(command, folder)
    ours, our_size, status, calls_open = of_ours(posixtrace, command, folder)
    if not theirs and not ours:
        raise Untried('no function is instrumented')
    # A shell's number for a signal.
    if status != (bare if bare >= 0 else 128 - bare):
        raise Wrong(f'status {status}, alone {bare}')
    if ours == theirs:
        return '', ours, our_size, their_size
    for reason, holds in RULES.items():
        if holds(ours, theirs, calls_open, text):
            return reason, ours, our_size, their_size
    different = {name: (ours[name], theirs[name]) for name in ours | theirs if ours[name] != theirs[name]}
    raise Wrong(f'calls of ours, and of uftrace: {str(different)[:2000]}')


def compare_example(posixtrace, work, source):
    folder = work / source.stem
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        return compare(posixtrace, folder, source.read_text(), build(source, folder))
    except (Untried, Wrong) as reason:
        return reason


def examples(posixtrace, work, folder):
    """Returns the rows of uftrace's examples, and how many are wrong."""
    sources = sorted(path for path in folder.glob('s-*') if path.suffix in ('.c', '.cpp'))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = dict(zip(sources, pool.map(lambda source: compare_example(posixtrace, work, source), sources)))
    kinds, wrong = collections.defaultdict(list), 0
    for source, result in results.items():
        if isinstance(result, (Untried, Wrong)):
            print(f'{source.name}: {"FAILED" if isinstance(result, Wrong) else "not tried"}: {result}')
            wrong += isinstance(result, Wrong)
        else:
            kinds[result[0]].append(result[1])
            if result[0]:
                print(f'{source.name}: {result[0]}')
    if not kinds['']:
        print(f'no example of {folder} has the same calls')
        wrong += 1
    rows = []
    for reason in ['', *RULES]:
        calls = [sum(counted.values()) for counted in kinds[reason]]
        if calls:
            rows.append([f"uftrace's `tests/s-*`: {len(calls)} {'program' if len(calls) == 1 else 'programs'}",
                         str(sum(map(len, kinds[reason]))), str(sum(calls)), reason or 'the same'])
    return rows, wrong


def sqlite(posixtrace, work, shell):
    """Returns the row of SQLite's shell, and whether it is wrong."""
    folder = work / 'sqlite'
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        reason, calls, our_size, their_size = compare(posixtrace, folder, '', [shell, ':memory:',
                                                                               '; '.join(STATEMENTS)])
    except (Untried, Wrong) as why:
        print(f'SQLite: FAILED: {why}')
        return [], 1
    return [[f"SQLite's shell, {len(STATEMENTS)} statements; the log has {size(our_size)}, uftrace's files "
             f'{size(their_size)}', str(len(calls)), str(sum(calls.values())), reason or 'the same']], 0


def size(number):
    return f'{number / 1024:.0f} KiB' if number < 1 << 20 else f'{number / (1 << 20):.1f} MiB'


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--update', action='store_true')
    parser.add_argument('--sqlite', type=Path)
    parser.add_argument('--examples', type=Path)
    parser.add_argument('posixtrace', type=Path)
    parser.add_argument('work', type=Path)
    options = parser.parse_args()
    posixtrace, work = options.posixtrace.resolve(), options.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    rows, wrong = sqlite(posixtrace, work, options.sqlite.resolve()) if options.sqlite else ([], 0)
    more, more_wrong = examples(posixtrace, work, options.examples.resolve()) if options.examples else ([], 0)
    head = ['programs', 'functions', 'calls', "beside uftrace's counts"]
    table = '\n'.join('| ' + ' | '.join(row) + ' |' for row in [head, ['---'] * len(head), *rows, *more])
    version = re.search(r'[\d.]+', run(['uftrace', '--version'], work).stdout)
    table += f'\n\nuftrace {version[0]}, gcc `{" ".join(FLAGS[:1] + FLAGS[3:])}`.\n'
    print(table)
    if options.update and rows and more and not wrong + more_wrong:
        update(ROOT / 'docs' / 'programs.md', table, BEGIN, END)
    return 1 if wrong + more_wrong else 0


if __name__ == '__main__':
    sys.exit(main())
