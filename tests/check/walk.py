#!/usr/bin/env python3
#
# walk.py - runs the commands of the documents, and compares what they print
#
#     walk.py POSIXTRACE LIBRARY COMPILER... -- DOCUMENT...
#
# A document is walked through from top to bottom in an empty directory, in one shell:
#
# - A block of C or C++ whose first line is a comment with a name, as in "jobs.c - three jobs", is written to a file of
#   that name. So is a block that follows a line which ends with "FILE:", where FILE is in backquotes.
# - A block that is marked "console" is run: lines that begin with "$ " are commands, "> " continues a command. The
#   other lines are the output of the command, including standard error.
#
# Outputs are compared loosely: numbers, units, bars of histograms, the width of columns and the name of the machine may
# differ. A line "..." stands for any number of lines, "..." in a line for any text. A command without lines below it
# must print nothing, and succeed.
#
# SPDX-License-Identifier: MIT

import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from check import finish

sys.path.append(str(Path(__file__).resolve().parent.parent / 'tool'))
import scene

SECONDS = 30 * int(os.environ.get('TEST_SLOW', '1'))
NUMBER = r'(?:0x[0-9a-f]+|\d[\d.:,]*)'
UNIT = r'(?: ?(?:ns|us|ms|s|B|[KMGT]iB|[kKMGT]B?)(?:/s)?\b)?'


def blocks(text):
    """Yields the blocks of a document: line number, language, the line before the block, and the lines of the block."""
    language, code, begun, above = None, [], 0, ''
    for number, line in enumerate(text.splitlines(), 1):
        fence = re.match(r'```(\w*)$', line)
        if fence and language is None:
            language, code, begun = fence[1], [], number
        elif fence:
            yield begun, language, above, code
            language = None
        elif language is not None:
            code.append(line)
        elif line.strip():
            above = line


def file_of(language, above, code):
    """Returns the name of the file that a block is the content of, or None."""
    named = re.match(r'/\* ([\w.-]+\.(?:[ch]|cpp)) - ', code[0]) if language in ('c', 'cpp') and code else None
    named = named or (re.search(r'`([\w.-]+)`:$', above) if language not in ('console', 'sh') else None)
    return named and named[1]


def commands(number, code):
    """Yields the commands of a console block: line number, command, and what it prints."""
    command, printed, begun = None, [], 0
    for offset, line in enumerate(code, 1):
        if line.startswith('$ '):
            if command is not None:
                yield begun, command, printed
            command, printed, begun = line[2:], [], number + offset
        elif line.startswith('> ') and not printed:
            command += '\n' + line[2:]
        else:
            printed.append(line)
    if command is not None:
        yield begun, command, printed


def pattern(line):
    """Returns the regular expression of a line of expected output."""
    line = re.sub(r'[▏▎▍▌▋▊▉█▁▂▃▄▅▆▇]+', '█', line)
    # The machine, and the directory.
    line = re.sub(r'^(# .* on) [\w.-]+$', r'\1 ...', line)
    line = re.sub(r'file:///home/user/', 'file://.../', line)
    parts = []
    for part in re.split(rf'(\.\.\.|█|<?{NUMBER}%|\b{NUMBER}{UNIT}(?![\w-])|\d+|\s+)', line.strip()):
        if part == '...':
            parts.append('.*')
        elif part == '█':
            parts.append('[▏▎▍▌▋▊▉█▁▂▃▄▅▆▇ ]*')
        elif part and part.isspace():
            parts.append(r'\s+')
        elif part and part[0].isdigit() or part.startswith('<') and part.endswith('%'):
            parts.append(rf'-?<?{NUMBER}(?:%|{UNIT})')
        else:
            parts.append(re.escape(part))
    return re.compile('-?' + ''.join(parts))


def differs(expected, lines):
    """Returns what is wrong with the lines that a command has printed, or None."""
    lines = [line.strip() for line in lines if line.strip()]
    wanted = [line.strip() for line in expected if line.strip()]
    at, free = 0, False
    for want in wanted:
        if want == '...':
            free = True
            continue
        match = pattern(want)
        while free and at < len(lines) and not match.fullmatch(lines[at]):
            at += 1
        if at == len(lines):
            return f'does not print "{want}"'
        if not match.fullmatch(lines[at]):
            return f'prints "{lines[at]}" and not "{want}"'
        at, free = at + 1, False
    return f'prints also "{lines[at]}"' if at < len(lines) and not free else None


class Shell:
    """One shell, for all commands of a document."""

    def __init__(self, directory, environment):
        self.output = directory / '.output'
        self.process = subprocess.Popen(['bash', '--norc'], cwd=directory, env=environment, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True, start_new_session=True)

    def run(self, command):
        """Returns the exit status and the output of a command; the status is None if the command takes too long."""
        self.process.stdin.write(f'{{ {command}\n}} >{self.output} 2>&1 </dev/null; echo $?\n')
        self.process.stdin.flush()
        previous = signal.signal(signal.SIGALRM, lambda *_: self.stop())
        signal.alarm(SECONDS)
        status = self.process.stdout.readline().strip()
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)
        return int(status) if status else None, self.output.read_text(errors='replace').splitlines()

    def stop(self):
        """Ends the shell and all processes that it has started."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()


def environment_of(directory, posixtrace, library, compiler):
    """Makes a directory of commands: posixtrace; cc and c++ that find header and library as if they were installed."""
    root = Path(__file__).resolve().parent.parent.parent
    bin_ = directory / 'bin'
    bin_.mkdir()
    (bin_ / 'posixtrace').symlink_to(posixtrace)
    # The library that reads logs is in the folder beside.
    folders = [library.parent, library.parent.parent / 'reader']
    flags = f'-I{root / "include"} ' + ' '.join(f'-L{folder} -Wl,-rpath,{folder}' for folder in folders)
    # The compiler may be called cc, too, and ccache looks for it in PATH.
    for name, command in ('cc', ' '.join(compiler)), ('c++', 'c++'):
        # Below the installed headers there is also a directory for the headers of others.
        arguments = f'"${{@/#-I\\/usr\\/local/-I{root}}}"'.replace(str(root), str(root).replace('/', '\\/'))
        (bin_ / name).write_text(f'#!/bin/bash\nPATH="{os.environ["PATH"]}"\nexec {command} {arguments} {flags}\n')
        (bin_ / name).chmod(0o755)
    return {**os.environ, 'PATH': f'{bin_}:{os.environ["PATH"]}', 'LC_ALL': 'C.UTF-8', 'PAGER': 'cat',
            'LD_LIBRARY_PATH': f'{library.parent}:{os.environ.get("LD_LIBRARY_PATH", "")}'.rstrip(':')}


def walk(document, text, tools):
    """Yields what is wrong with the commands of a document."""
    count = 0
    with tempfile.TemporaryDirectory(prefix='walk-') as name:
        work = Path(name) / 'work'
        work.mkdir()
        shell = Shell(work, environment_of(Path(name), *tools))
        try:
            for number, language, above, code in blocks(text):
                file = file_of(language, above, code)
                if file:
                    (work / file).write_text('\n'.join(code) + '\n')
                if language != 'console':
                    continue
                for line, command, printed in commands(number, code):
                    count += 1
                    status, lines = shell.run(command)
                    if status is None:
                        yield f'{document}:{line}: {command}: takes longer than {SECONDS} s'
                        return
                    # Without ncurses there is no live.
                    if any('was built without the command live' in text for text in lines):
                        continue
                    wrong = differs(printed, lines)
                    if wrong or (status and not printed):
                        wrong = wrong or f'exit status {status}'
                        yield f'{document}:{line}: {command}: {wrong}:\n  ' + '\n  '.join(lines[:40])
        finally:
            shell.stop()
    if not count:
        yield f'{document}: no command'


def problems(arguments):
    tools, documents = arguments[:arguments.index('--')], arguments[arguments.index('--') + 1:]
    tools = (Path(tools[0]).resolve(), Path(tools[1]).resolve(), tools[2:])
    for path in documents:
        yield from walk(Path(path).name, Path(path).read_text(), tools)
    # The check itself must see a different text, a line too many, a line too few, a failure, and a file.
    for block in ('$ echo a 1 b\na 2 c', '$ echo a', '$ echo a\na\nb', '$ false', '$ cat none.c', '$ echo 5 ms\n5 kg'):
        if not list(walk('spoiled', f'```console\n{block}\n```\n', tools)):
            yield f'the check itself: does not see what is wrong with\n{block}'
    for block in ('$ echo a 1.5 ms b\na 2.0 us b', '$ printf "a\\nb\\nc\\n"\na\n...\nc',
                  '$ echo some text here\nsome ... here'):
        yield from walk('the check itself', f'```console\n{block}\n```\n', tools)


# The recorder of another test would finish the log of a recorder that a document kills.
scene.private()
finish(problems(sys.argv[1:]))
