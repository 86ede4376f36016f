#
# program.py - what the tests of the Python package share: runs a program that is recorded, and reads its events
#
#     TEST POSIXTRACE PYTHON FOLDER      FOLDER has the package, as it was built
#
# SPDX-License-Identifier: MIT

import json
import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / 'tool'))
import scene

POSIXTRACE, PYTHON, FOLDER = (os.path.abspath(argument) for argument in sys.argv[1:4])
# Each warning is an error, and memory that is used wrongly is found.
ENVIRONMENT = {**scene.ENVIRONMENT, 'PYTHONPATH': FOLDER, 'PYTHONWARNINGS': 'error', 'PYTHONMALLOC': 'debug',
               'PYTHONDONTWRITEBYTECODE': '1'}


def write(text, name='program.py'):
    """Writes a program. Returns its name."""
    Path(name).write_text(textwrap.dedent(text))
    return name


def python(text, *arguments, options=(), status=0, traced=True, messages='', record=(), environment=None):
    """Runs a program, recorded into x.log unless it is not traced. Returns its output."""
    command = [PYTHON, *options, write(text), *arguments]
    if traced:
        command = [POSIXTRACE, 'record', '-q', '-o', 'x.log', *record, '--', *command]
    Path('x.log').unlink(missing_ok=True)
    done = subprocess.run(command, capture_output=True, text=True, env={**ENVIRONMENT, **(environment or {})},
                          timeout=120)
    assert done.returncode == status, f'exit status {done.returncode}:\n{done.stdout}{done.stderr}'
    assert messages in done.stderr and (messages or not done.stderr), done.stderr
    return done.stdout


def read(log='x.log'):
    """Returns the events of a log, as JSON has them. Without a log: none."""
    if not Path(log).exists():
        return []
    done = subprocess.run([POSIXTRACE, 'report', '--json', log], capture_output=True, text=True, check=True,
                          env=scene.ENVIRONMENT)
    assert done.stderr in ('', 'posixtrace report: the log has no events\n'), done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def is_recorded(process):
    out = subprocess.run([POSIXTRACE, 'list', '--json'], capture_output=True, text=True, check=True).stdout
    # Streams of others may have a process that has ended: null.
    return any('running' in stream['status'] for traced in json.loads(out)
               if traced['process'] and traced['process']['pid'] == process.pid for stream in traced['streams'])


def wait_for_recorder(process, recorder):
    """Waits until `record -p` traces the process."""
    begin = time.monotonic()
    try:
        while not is_recorded(process):
            assert recorder.poll() is None, f'the recorder has ended: {recorder.stderr.read()}'
            assert time.monotonic() < begin + 60, 'not recorded after a minute'
            time.sleep(0.02)
    except BaseException:
        process.kill()
        recorder.kill()
        raise


def events(*arguments, **more):
    """Runs a program, recorded. Returns for each event its name and its fields."""
    python(*arguments, **more)
    return [(event['event'], event.get('fields')) for event in read()]


def fails(text, kind, *words):
    """Checks that the program raises the same exception untraced and traced, with these words."""
    for traced in False, True:
        done = subprocess.run([*([POSIXTRACE, 'record', '-q', '-o', 'x.log', '--'] if traced else []), PYTHON,
                               write('import posixtrace\n' + textwrap.dedent(text))],
                              capture_output=True, text=True, env=ENVIRONMENT, timeout=120)
        said = [line for line in done.stderr.splitlines() if line.startswith(f'{kind}: ')]
        assert done.returncode == 1 and len(said) == 1 and all(word in said[0] for word in words), \
            f'{text}: {done.stderr}'
