#!/usr/bin/env python3
#
# kept.py - logs of each version of the format are read as they always were
#
#     kept.py DUMP POSIXTRACE             compares
#     kept.py --update                    adds logs to kept/read.txt
#
# kept/VERSION-KIND.log are logs that the library of that version has written on a little-endian machine of 64 bits.
# kept/read.txt has how many lines decode.py reads of each, and their SHA-256; a line never changes. A new version of
# the format adds logs, and changes none.
#
# SPDX-License-Identifier: MIT

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import agree
import decode

KEPT = Path(__file__).resolve().parent / 'kept'
READ = KEPT / 'read.txt'


def digest(path):
    lines = list(decode.decode(path))
    return f'{path.name} {len(lines)} {hashlib.sha256(repr(lines).encode()).hexdigest()}'


def as_then(line):
    """A line of the library, which gives sets of event types the size that they have had since version 1.1."""
    words = line.split()
    if words[:2] == ['event', '1'] and words[-2] == '1024' and not words[-1][512:].strip('0'):
        words[-2:] = '256', words[-1][:512]
        return ' '.join(words)
    return line


def main():
    logs = sorted(KEPT.glob('*.log'))
    kept = READ.read_text().splitlines() if READ.exists() else []
    assert {log.name.split('-')[0] for log in logs} >= {'1.0', '1.1', '1.2', '1.3', '1.4'}
    if sys.argv[1:] == ['--update']:
        known = {line.split()[0] for line in kept}
        READ.write_text('\n'.join(kept + [digest(log) for log in logs if log.name not in known]) + '\n')
        return
    if sys.byteorder != 'little':
        print('SKIP: the logs are of a little-endian machine')
        sys.exit(77)
    dump, posixtrace = sys.argv[1:]
    problems = []
    for path, lines in agree.by_library(dump, map(str, logs)).items():
        decoder = agree.with_types(agree.by_decoder(path))
        library = agree.with_types(lines)
        # As the decoder has them: a log of version 1.0 has the smaller sets.
        library = [as_then(a) if a != b else a for a, b in zip(library, decoder)] + library[len(decoder):]
        problems += filter(None, [agree.same(path, library, decoder)])
    for log in logs:
        if digest(log) not in kept:
            problems.append(f'{log.name}: decode.py reads something else than before')
        done = subprocess.run([posixtrace, 'check', '--json', log], capture_output=True, check=False)
        said = json.loads(done.stdout)
        if not log.stem.endswith('-open') and (done.returncode or not said['ok'] or not said['complete']):
            problems.append(f'{log.name}: {done.stdout.decode()}')
    for problem in problems:
        print(problem[:2000])
    print(f'{len(logs)} logs: {len(problems)} problems')
    sys.exit(bool(problems))


if __name__ == '__main__':
    main()
