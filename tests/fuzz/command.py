#
# command.py - what the command makes of the logs of fuzzers, read by readers that others have written
#
# Each log of the directories becomes some of the formats: CSV and JSON by Python's modules, protocol buffers by protoc,
# CTF by
# babeltrace2, where they are there. A log that is none is said to be none. What the formats have to contain is in
# tests/tool/.
#
# SPDX-License-Identifier: MIT

import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

POSIXTRACE, *DIRECTORIES = sys.argv[1:]
ENVIRONMENT = dict(os.environ, TZ='UTC', LC_ALL='C.UTF-8',
                   ASAN_OPTIONS=os.environ.get('ASAN_OPTIONS', '') + ':detect_leaks=0')
SLOW = int(os.environ.get('TEST_SLOW', '1'))


def run(*command, data=None):
    return subprocess.run(list(map(str, command)), input=data, capture_output=True, env=ENVIRONMENT, timeout=60 * SLOW)


def read_csv(out):
    rows = list(csv.reader(io.StringIO(out.decode(), newline=''), strict=True))
    assert rows and all(len(row) == len(rows[0]) for row in rows), 'rows of different lengths'
    return len(rows) - 1


def read_jsonl(out):
    events = [json.loads(line) for line in out.decode().split('\n')[:-1]]
    assert out == b'' or out.endswith(b'\n')
    return len(events)


def read_chrome(out):
    return len([e for e in json.loads(out)['traceEvents'] if e['ph'] != 'M'])


def read_perfetto(out):
    done = run('protoc', '--decode_raw', data=out)
    assert done.returncode == 0, done.stderr.decode(errors='replace')
    return None


def read_ctf(directory):
    done = run('babeltrace2', directory)
    assert done.returncode == 0, done.stderr.decode(errors='replace')[-2000:]
    return None


READERS = {'csv': read_csv, 'jsonl': read_jsonl, 'chrome': read_chrome}
if shutil.which('protoc'):
    READERS['perfetto'] = read_perfetto
if shutil.which('babeltrace2'):
    READERS['ctf'] = read_ctf


def convert(log, to, place):
    """How many events there are; None: it is no log."""
    output = place / 'out.ctf' if to == 'ctf' else '-'
    done = run(POSIXTRACE, 'convert', '--to', to, '-o', output, *(['-f'] if to == 'ctf' else []), log)
    assert done.returncode in (0, 1), f'exit status {done.returncode}: {done.stderr.decode(errors="replace")[-4000:]}'
    if done.returncode == 1:
        assert done.stderr.startswith(b'posixtrace convert: '), done.stderr
        return None
    count = READERS[to](output if to == 'ctf' else done.stdout)
    said = int(re.search(rb': (\d+) events?\b', done.stderr)[1])
    assert count is None or to == 'chrome' or count >= said, (count, said)
    return said


def main():
    tried = read = 0
    names = list(READERS)
    with tempfile.TemporaryDirectory() as place:
        log = Path(place, 'in.log')
        for path in sorted(p for d in DIRECTORIES for p in Path(d).iterdir()):
            log.write_bytes(path.read_bytes())
            logs = set()
            for i in (tried, tried + 2):
                to = names[i % len(names)]
                try:
                    logs.add(convert(log, to, Path(place)) is not None)
                except Exception:
                    print(f'{path}, as {to}:')
                    raise
            assert len(logs) == 1, f'{path}: a log for one format only'
            tried += 1
            read += True in logs
    assert read > 20, f'only {read} of {tried} are logs'
    print(f'{tried} logs, {read} of them can be read; by {", ".join(names)}')


main()
