#!/usr/bin/env python3
#
# documents.py - files, links, options and commands in the documents exist and work
#
#     documents.py ROOT POSIXTRACE EXAMPLES
#
# Code is in fences, files in commands exist, links lead to existing targets, options are known,
# and commands on the log of an example succeed.
#
# SPDX-License-Identifier: MIT

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT, POSIXTRACE, EXAMPLES = (Path(path).resolve() for path in sys.argv[1:4])
# The subcommands that are run on the log of the example.
READERS = ('report', 'stat', 'convert', 'view')
failures = []


def blocks(path):
    """Returns the code of a document, and reports lines outside of fences that look like code."""
    code, fence, begun = [], False, 0
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.startswith('```'):
            fence, begun = not fence, number
        elif fence or line.startswith('    '):
            code.append((number, line.strip()))
        elif re.match(r'\$ |\s*▕|\S.*▕█', line):
            failures.append(f'{path.name}:{number}: code without a fence: {line[:60]}')
        elif line.startswith('#') and number > 1 and path.read_text().splitlines()[number - 2].strip():
            failures.append(f'{path.name}:{number}: a heading right behind a line')
    if fence:
        failures.append(f'{path.name}:{begun}: a fence without an end')
    return code


def check_links(path):
    """Checks links to files of the repository, and to headings of documents."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        for target, heading in re.findall(r'\]\(([^():# ]*)(?:#([^() ]+))?\)', line):
            there = path.parent / target if target else path
            if not there.exists():
                failures.append(f'{path.name}:{number}: there is no {target}')
            elif heading and heading not in headings(there):
                failures.append(f'{path.name}:{number}: {target or path.name} has no heading #{heading}')


def headings(path):
    """Returns the headings of a document, as links name them."""
    lines = (line.lstrip('#').strip().lower() for line in path.read_text().splitlines() if line.startswith('#'))
    return {re.sub(r'[^\w -]', '', line).replace(' ', '-') for line in lines}


def usage(command, known={}):  # noqa: B006
    if command not in known:
        known[command] = subprocess.run([POSIXTRACE, command, '--help'], capture_output=True, text=True,
                                        check=False).stdout
    return known[command]


def check_options(path, number, words):
    """Checks the options of posixtrace, but not those of a command that it starts."""
    if len(words) < 2 or words[0] != 'posixtrace' or not re.fullmatch('[a-z]+', words[1]):
        return
    text = usage(words[1])
    if not text:
        # Without ncurses there is no live.
        return
    for word in words[2:words.index('--') if '--' in words else None]:
        option = re.match(r'--[a-z][a-z0-9-]*', word)
        if option and not re.search(re.escape(option[0]) + r'\b', text):
            failures.append(f'{path.name}:{number}: {words[1]} has no option {option[0]}')


def check_command(path, number, line, there):
    line = line.split('#')[0]
    for name in re.findall(r'(?:^|[\s<"\'])((?:examples|docs|script|tests|src)/[\w./-]+)', line):
        if not (ROOT / name).exists():
            failures.append(f'{path.name}:{number}: there is no {name}')
    for name in re.findall(r'<\s+([\w./-]+)', line):
        if not (ROOT / name).exists():
            failures.append(f'{path.name}:{number}: there is no {name}')
    try:
        words = shlex.split(line)
    except ValueError:
        return
    check_options(path, number, words)
    ours = words[:1] == ['posixtrace'] and words[1:2] != []
    if not ours or words[1] not in READERS or words[-1] not in there or '|' in words:
        return
    done = subprocess.run([POSIXTRACE, *words[1:]], capture_output=True, text=True, timeout=20, check=False)
    if done.returncode != 0 or (not done.stdout and words[1] != 'view'):
        failures.append(f'{path.name}:{number}: {line.strip()}: exit status {done.returncode}: {done.stderr}')


os.chdir(tempfile.mkdtemp(prefix='documents-'))
# It crashes, as the documents show.
subprocess.run([EXAMPLES / 'log_loop', 'flight.log'], stderr=subprocess.DEVNULL, check=False)
there = {path.name for path in Path('.').iterdir()}
if not there:
    failures.append('log_loop: no flight.log')
for path in [ROOT / 'README.md', ROOT / 'CONTRIBUTING.md', *sorted((ROOT / 'docs').glob('*.md')),
             ROOT / 'examples' / 'README.md']:
    check_links(path)
    for number, line in blocks(path):
        if line.startswith(('$ ', 'posixtrace ')):
            check_command(path, number, line.removeprefix('$ '), there)
print('\n'.join(failures))
sys.exit(bool(failures))
