#
# functions.py - posixtrace.functions(), and python3 -m posixtrace
#
#     functions.py POSIXTRACE PYTHON FOLDER
#
# SPDX-License-Identifier: MIT

import json
import shutil
import subprocess
import zipfile
from pathlib import Path

from program import ENVIRONMENT, POSIXTRACE, PYTHON, events, python, read, wait_for_recorder, write
from scene import Suite, equal

VERSION = tuple(map(int, subprocess.run([PYTHON, '-c', 'import sys; print(*sys.version_info[:2])'], capture_output=True,
                                        text=True, check=True).stdout.split()))


def tree(log='x.log', module='__main__.'):
    """Returns the calls of functions of a module as text, (name, (inner calls...)), those of each thread apart."""
    threads = {}
    for event in read(log):
        stack = threads.setdefault(event['tid'], [[]])
        if event['event'] == 'python.call.begin':
            stack.append([event['fields']['function']])
        elif event['event'] == 'python.call.end':
            call = stack.pop()
            # Calls of other modules' functions are left out, but not the calls that those make.
            if call[0].startswith(module):
                stack[-1].append([call[0][len(module):], *call[1:]])
            else:
                stack[-1].extend(call[1:])
    assert all(len(stack) == 1 for stack in threads.values()), threads
    return [stack[0] for stack in threads.values()]


def test_calls():
    """Functions, methods, generators, exceptions, recursion; nothing before, nothing afterwards."""
    python('''
        import posixtrace
        def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
        def fails(n):
            if n: fails(n - 1)
            raise ValueError
        def numbers():
            yield 1
            yield 2
        class Shop:
            def __init__(self): self.sold = 0
            def sell(self): return sorted([2, 1], key=lambda x: -x)
        def caught():
            try:
                fails(1)
            except ValueError:
                pass
        fib(3)
        with posixtrace.functions():
            fib(2)
            caught()
            list(numbers())
            Shop().sell()
        fib(3)
        with posixtrace.functions():
            fib(1)
        ''')
    qualified = VERSION >= (3, 11)
    equal('calls', tree(), [[
        ['fib', ['fib'], ['fib']], ['caught', ['fails', ['fails']]], ['numbers'], ['numbers'], ['numbers'],
        ['Shop.__init__' if qualified else '__init__'],
        ['Shop.sell', ['Shop.sell.<locals>.<lambda>'], ['Shop.sell.<locals>.<lambda>']] if qualified else
        ['sell', ['<lambda>'], ['<lambda>']], ['fib']]])


def test_threads():
    """Threads that begin while functions are recorded; a hundred of them; and what they do afterwards."""
    python('''
        import threading
        import posixtrace
        def leaf(): pass
        def run():
            for i in range(10): leaf()
        def later():
            inside()
            go.wait()
            leaf()
        def inside(): pass
        go = threading.Event()
        with posixtrace.functions(include="__main__"):
            threads = [threading.Thread(target=run) for i in range(100)]
            last = threading.Thread(target=later)
            last.start()
            for thread in threads: thread.start()
            for thread in threads: thread.join()
        go.set()
        last.join()
        ''', record=['-s', '32M'])
    calls = {}
    for event in read():
        calls.setdefault(event['tid'], []).append(event.get('fields', {}).get('function', 'end'))
    runs = [thread for thread in calls.values() if thread[0] == '__main__.run']
    equal('runs', runs, [['__main__.run', *['__main__.leaf', 'end'] * 10, 'end']] * 100)
    equal('later', [thread for thread in calls.values() if '__main__.later' in thread],
          [['__main__.later', '__main__.inside', 'end']])


def test_chosen():
    """include, exclude, one within another, as a decorator, and waiting for a recorder."""
    Path('shop').mkdir(exist_ok=True)
    Path('shop/__init__.py').write_text('from .orders import order\n')
    Path('shop/orders.py').write_text('import json\ndef order(n): return json.dumps(n)\n')
    for options, wanted in (
            ('include="shop"', ['shop.orders.order'] * 2),
            ('include=["js*"]', ['json.dumps'] * 2), ('include="sho"', []),
            ('include=["shop", "json"], exclude="json"', ['shop.orders.order'] * 2),
            ('exclude=["json", "contextlib"]', ['shop.orders.order'] * 2)):
        found = events(f'''
            import json
            import posixtrace
            import shop
            posixtrace.Event("first")()
            with posixtrace.functions({options}):
                with posixtrace.functions():
                    shop.order(1)
                shop.order(2)
            shop.order(3)
            ''')
        names = [fields['function'] for name, fields in found if name == 'python.call.begin']
        equal(options, [name for name in names if not name.startswith(('json.enc', 'threading.'))], wanted)
        equal('ends', sum(name == 'python.call.end' for name, fields in found), len(names))
    python('''
        import posixtrace
        @posixtrace.functions()
        def decorated(): return 5
        assert decorated() == 5
        ''', traced=False)


def test_other_profiler():
    """Another profiler goes on, and a program that has one is not disturbed."""
    found = events('''
        import cProfile
        import io
        import pstats
        import sys
        import posixtrace
        def f(): pass
        profile = cProfile.Profile()
        profile.enable()
        with posixtrace.functions(include="__main__"):
            f()
        f()
        profile.disable()
        out = io.StringIO()
        pstats.Stats(profile, stream=out).print_stats("program.py.*f")
        assert " 2 " in out.getvalue(), out.getvalue()
        f()
        assert sys.getprofile() is None
        ''')
    if VERSION < (3, 12):
        equal('events', found, [('python.refused', dict(what='functions(): another profiler is active'))])
    else:
        equal('events', found, [('python.call.begin', dict(function='__main__.f')), ('python.call.end', None)])


def test_later_profiler():
    """Another profiler that begins meanwhile: it works, and the events that it prevents are told."""
    program = '''
        import cProfile
        import sys
        import threading
        import posixtrace
        def f(): pass
        def profiler(frame, what, value): pass
        def other():
            BEGIN
            f()
            END
        with posixtrace.functions(include="__main__"):
            other()
            f()
        assert sys.getprofile() is None
        '''
    told = ('python.refused',
            dict(what='functions(): another profiler has begun meanwhile; what was called since is missing'))
    for begin, end in (('profile = cProfile.Profile(); profile.enable()', 'profile.disable()'),
                       ('sys.setprofile(profiler)', 'sys.setprofile(None)'),
                       ('threading.setprofile(profiler)', 'threading.setprofile(None)')):
        text = program.replace('BEGIN', begin).replace('END', end)
        python(text, traced=False)
        found = events(text)
        equal(begin, found[0], ('python.call.begin', dict(function='__main__.other')))
        if VERSION < (3, 12):
            equal(begin, [found[-1], found.count(told)], [told, 1])
        else:
            equal(begin, [found.count(told), sum(name == 'python.call.begin' for name, fields in found)], [0, 3])


def test_as_python():
    """A script, a module, a folder, an archive see the same of themselves as without -m posixtrace."""
    text = '''
        import sys
        own = {name: type(value) if name in ("__loader__", "__spec__") else value for name, value in globals().items()
               if name not in ("sys", "__builtins__", "__annotations__")}
        print(sorted(own.items(), key=str))
        print(sys.argv, sys.path, sys._getframe().f_code.co_filename, __name__)
        '''
    for folder in 'as', 'as/sub', 'as/app':
        Path(folder).mkdir(exist_ok=True)
    write(text, 'as/script.py')
    write(text, 'as/app/__main__.py')
    Path('as/sub/link.py').symlink_to('../script.py')
    with zipfile.ZipFile('as/app.zip', 'w') as archive:
        archive.write('as/app/__main__.py', '__main__.py')
    cases = [('as', [], 'script.py'), ('as', [], 'sub/link.py'), ('as/sub', [], '../script.py'),
             ('as', [], '-m script'), ('as', [], str(Path('as/script.py').resolve())), ('as', [], 'app'),
             ('as', [], 'app.zip')]
    if VERSION >= (3, 11):
        cases += [('as', ['-P'], 'script.py'), ('as/sub', ['-P'], '../app')]
    for folder, options, program in cases:
        runs = [subprocess.run([PYTHON, *options, *begin, *program.split(), 'a', '-b'], cwd=folder, text=True,
                               capture_output=True, env=ENVIRONMENT) for begin in ([], ['-m', 'posixtrace'])]
        equal(f'{folder}: {options} {program}', (runs[1].stdout, runs[1].stderr), (runs[0].stdout, ''))
        equal('status', [run.returncode for run in runs], [0, 0])


def test_command():
    """python3 -m posixtrace: a script, its arguments, __file__, its directory, exit status, a module, errors."""
    Path('folder').mkdir(exist_ok=True)
    Path('folder/beside.py').write_text('def f(): return 5\n')
    write('''
        import json
        import os
        import pickle
        import sys
        import beside
        class Mine: pass
        assert type(pickle.loads(pickle.dumps(Mine()))) is Mine
        assert sys.modules["__main__"].__dict__ is globals() and __name__ == "__main__"
        def main():
            print(json.dumps([sys.argv[1:], os.path.basename(__file__), beside.f()]))
            sys.exit(9)
        main()
        ''', 'folder/script.py')
    command = [PYTHON, '-m', 'posixtrace', '--functions', '--exclude', 'json', 'folder/script.py', '-a', '--functions']
    for record in [], [POSIXTRACE, 'record', '-q', '-o', 'x.log', '--']:
        done = subprocess.run([*record, *command], capture_output=True, text=True, env=ENVIRONMENT)
        equal('run', (done.returncode, done.stderr, json.loads(done.stdout)),
              (9, '', [['-a', '--functions'], 'script.py', 5]))
    functions = [event['fields']['function'] for event in read() if event['event'] == 'python.call.begin']
    assert {'__main__.main', '__main__.<module>', 'beside.f'} <= {*functions}, functions
    assert not any(function.startswith(('json.', 'posixtrace.')) for function in functions), functions
    equal('first', functions[0], '__main__.<module>')
    done = subprocess.run([POSIXTRACE, 'record', '-q', '-o', 'x.log', '--', PYTHON, '-m', 'posixtrace', '--functions',
                           '-m', 'json.tool', '--compact'], input='[1, 2]', capture_output=True, text=True,
                          env=ENVIRONMENT)
    equal('module', (done.returncode, done.stdout, done.stderr), (0, '[1,2]\n', ''))
    assert any(event['fields'].get('function') == 'json.decoder.JSONDecoder.decode' or
               event['fields'].get('function') == 'json.decoder.decode'
               for event in read() if event['event'] == 'python.call.begin')
    done = subprocess.run([PYTHON, '-m', 'posixtrace', 'none.py'], capture_output=True, text=True, env=ENVIRONMENT)
    equal('missing', (done.returncode, done.stderr),
          (1, 'python3 -m posixtrace: none.py: No such file or directory\n'))
    for option in ['--include', 'x'], ['--exclude', 'x'], ['--wait']:
        done = subprocess.run([PYTHON, '-m', 'posixtrace', *option, 'folder/script.py'], capture_output=True, text=True,
                              env=ENVIRONMENT)
        equal('status', (done.returncode, done.stdout), (2, ''))
        assert f'{option[0]} is about --functions: give both' in done.stderr, done.stderr


def run_recorded(text, *options):
    """Runs a program by python3 -m posixtrace. Returns its output and messages."""
    command = [PYTHON, '-m', 'posixtrace', *options, write(text)]
    bare, recorded = (subprocess.run([*record, *command], capture_output=True, text=True, env=ENVIRONMENT)
                      for record in ([], [POSIXTRACE, 'record', '-q', '-o', 'x.log', '--']))
    equal('untraced', (bare.returncode, bare.stdout, bare.stderr), (0, recorded.stdout, recorded.stderr))
    equal('status', recorded.returncode, 0)
    return recorded.stdout, recorded.stderr


def test_command_tasks():
    """python3 -m posixtrace --tasks records the tasks of any program, whatever has made the event loop."""
    runs = ['asyncio.run(main())', 'loop = Own(); loop.run_until_complete(main()); loop.close()']
    if VERSION >= (3, 11):
        runs.append('with asyncio.Runner(loop_factory=Own) as runner: runner.run(main())')
    for run in runs:
        run_recorded(f'''
            import asyncio
            class Own(asyncio.SelectorEventLoop): pass
            async def job(): await asyncio.sleep(0)
            async def main(): await asyncio.gather(job(), job())
            {run}
            ''', '--tasks')
        equal(run, [event['fields']['coroutine'] for event in read() if event['event'] == 'asyncio.task.begin'][:3],
              ['main', 'job', 'job'])


def test_command_logging():
    """python3 -m posixtrace --logging records what a program logs, which configures logging as without it."""
    _, said = run_recorded('''
        import logging
        import logging.config
        logging.warning("first")
        logging.getLogger().handlers.clear()
        logging.basicConfig(format="basic %(message)s")
        logging.getLogger("shop").warning("%d orders", 5)
        logging.info("not logged")
        logging.config.dictConfig({"version": 1, "root": {"level": "INFO", "handlers": []}})
        logging.info("without a handler")
        own = logging.getLogger("access")
        own.propagate = False
        own.error("wrong %d", "text")
        own.addFilter(lambda record: False)
        own.error("filtered")
        ''', '--logging')
    equal('messages', said.splitlines()[:2], ['WARNING:root:first', 'basic 5 orders'])
    equal('log', [(event['fields']['level'], event['fields']['logger'], event['fields']['message'])
                  for event in read() if event['event'] == 'log'],
          [('warning', 'root', 'first'), ('warning', 'shop', '5 orders'), ('info', 'root', 'without a handler'),
           ('error', 'access', 'wrong %d')])


def test_wait():
    """--wait: a program that is recorded after it has begun."""
    program = write('''
        import sys
        def work(): pass
        def main():
            print("ready", flush=True)
            while sys.stdin.readline() == "go\\n":
                work()
                print("done", flush=True)
        main()
        ''')
    for wait, wanted in ([], False), (['--wait'], True):
        with subprocess.Popen([PYTHON, '-m', 'posixtrace', '--functions', *wait, program], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True, env=ENVIRONMENT) as process:
            equal('program', process.stdout.readline(), 'ready\n')
            with subprocess.Popen([POSIXTRACE, 'record', '-q', '-o', f'x{wanted}.log', '-p', str(process.pid)],
                                  stderr=subprocess.PIPE, text=True) as recorder:
                wait_for_recorder(process, recorder)
                process.stdin.write('go\n')
                process.stdin.flush()
                equal('program', process.stdout.readline(), 'done\n')
                recorder.terminate()
                recorder.communicate()
            process.communicate('end\n')
            equal('status', process.returncode, 0)
    equal('without --wait', read('xFalse.log'), [])
    equal('calls', [event['fields']['function'] for event in read('xTrue.log')
                    if event['event'] == 'python.call.begin' and '__main__' in event['fields']['function']],
          ['__main__.work'])


Suite(globals()).main()
