#
# package.py - the package as pip builds it, and its types as mypy sees them
#
#     package.py POSIXTRACE PYTHON FOLDER SOURCE LIBRARIES VERSION
#
# Skips what this machine has no tools for: pip, setuptools and wheel of that Python, mypy.
#
# SPDX-License-Identifier: MIT

import os
import shutil
import subprocess
import sys
from pathlib import Path

import program
from made_log import typed_log
from scene import Suite, equal, write

SOURCE, LIBRARIES, VERSION = sys.argv[4:7]
TYPED = '''
    import enum
    import logging
    import posixtrace
    import subprocess

    class How(enum.IntEnum):
        CASH = 0

    order = posixtrace.Event("shop.order", id="u32", item=str, how=How)
    order(7, "tea", 0)
    if order:
        order(id=7, item="tea", how=How.CASH)
    misfits: int = order.misfits
    with posixtrace.span("a", id=7):
        posixtrace.counter("q", 5)
    work = posixtrace.Span("w", id="u32")
    with work(5):
        pass

    async def waits() -> None:
        async with work(5), posixtrace.span("a", id=7) as open_span:
            with open_span:
                posixtrace.log("text", level=20)

    @posixtrace.traced
    def text(x: int) -> str:
        return str(x)

    @posixtrace.traced("name")
    async def later(x: int) -> int:
        return x

    right: str = text(5)
    logging.getLogger().addHandler(posixtrace.Handler(logging.INFO))
    with posixtrace.functions(include=["a"], wait=True):
        posixtrace.log("x", 20, "y")
    with posixtrace.open("x.log", "y.log", events="sql.*", pid=[5], start=1.5, where=lambda e: e["rows"] > 1) as log:
        for e in log:
            name: str = e.name
        numbers = log.columns("sql.row", "rows")["rows"]
        losses: list[posixtrace.Loss] = log.losses
    meaning: posixtrace.Meaning = log.types[0].meaning
    level: str = next(iter(log)).level or meaning.level or "none"
    with posixtrace.live(5, subprocess.Popen("x"), timeout=0.5, children=True, events=["a"]) as live:
        while not live.ended and live.wait(1):
            for e in live:
                name = e.name
    for item in posixtrace.open(b"", losses="items"):
        count: int = item.count if isinstance(item, posixtrace.Loss) else item["count"]
    '''


def missing():
    find = 'from importlib.util import find_spec; assert all(map(find_spec, ("pip", "setuptools", "wheel")))'
    done = subprocess.run([program.PYTHON, '-c', find], capture_output=True)
    return 'no pip, setuptools or wheel' if done.returncode else '' if shutil.which('mypy') else 'no mypy'


def test_wheel():
    """pip builds a wheel without network; the installed package records."""
    if missing() == 'no pip, setuptools or wheel':
        return
    shutil.copytree(SOURCE, 'tree/python', ignore=shutil.ignore_patterns('build', '*.egg-info'))
    shutil.copytree(Path(SOURCE, '../include'), 'tree/include')
    pip = [program.PYTHON, '-m', 'pip', '--quiet', '--disable-pip-version-check']
    environment = {**os.environ, 'LDFLAGS': ' '.join(f'-L{folder}' for folder in LIBRARIES.split(':')),
                   'LD_LIBRARY_PATH': LIBRARIES}
    subprocess.run([*pip, 'wheel', '--no-index', '--no-build-isolation', '--no-deps', '-w', 'wheels', './tree/python'],
                   check=True, env=environment)
    wheels = [path.name for path in Path('wheels').iterdir()]
    assert len(wheels) == 1 and wheels[0].startswith(f'posixtrace-{VERSION}-cp'), wheels
    subprocess.run([*pip, 'install', '--no-index', '--no-deps', '--target', 'installed', f'wheels/{wheels[0]}'],
                   check=True, env={**environment, 'PIP_ROOT_USER_ACTION': 'ignore'})
    write('typed.log', typed_log())
    equal('events', program.events('''
        import posixtrace
        assert "installed" in posixtrace.__file__
        posixtrace.Event("event", n=int)(5)
        posixtrace.traced(len)("")
        with open("typed.log", "rb") as file, posixtrace.open(file) as log:
            assert [e["item"] for e in log] == ["", "tea", "te", "tea"]
        ''', environment={'PYTHONPATH': os.path.abspath('installed'), 'LD_LIBRARY_PATH': LIBRARIES}),
          [('event', dict(n=5)), ('builtins.len.begin', None), ('builtins.len.end', None)])
    for name in 'py.typed', '__init__.pyi', '_log_reader.pyi', '_posixtrace.pyi':
        assert Path('installed/posixtrace', name).exists(), name


def test_types():
    """mypy accepts a program that is right, and sees what is wrong."""
    program.write(TYPED, 'typed.py')
    environment = {**os.environ, 'MYPYPATH': SOURCE}
    done = subprocess.run(['mypy', '--strict', 'typed.py'], capture_output=True, text=True, env=environment)
    equal('right', (done.returncode, done.stdout[:7]), (0, 'Success'))
    for wrong in 'right2: int = text(5)', 'posixtrace.Event("e", a=5)', 'posixtrace.counter("q", "5")', \
            'order.misfits = 5', 'posixtrace.traced(name=5)', 'posixtrace.open("x", losses="no")', \
            'posixtrace.open("x", pid="5")', 'posixtrace.live("5")', 'posixtrace.live(5, timeout="1")', \
            'e.time = 5', 'text(e.name)':
        program.write(TYPED + f'    {wrong}\n', 'typed.py')
        done = subprocess.run(['mypy', '--strict', 'typed.py'], capture_output=True, text=True, env=environment)
        assert done.returncode == 1 and 'Found 1 error' in done.stdout, f'{wrong}: {done.stdout}'


Suite(globals()).main(needs=['test_types'] + (['test_wheel'] if missing().startswith('no pip') else []),
                      missing=missing())
