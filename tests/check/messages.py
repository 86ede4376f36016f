#
# messages.py - the messages that docs/troubleshooting.md quotes are messages of the command or of the library
#
# A reader searches the page for the message on the screen. A message is a text in backquotes that has a blank and is
# not a command line, a heading or bold text in double quotes, and each line of a code block that is not run (walk.py
# runs the console blocks). It must occur in a string literal of tool/ or src/; a conversion of the literal, such as %s,
# matches any text, and "..." in the page stands for a part that the page leaves out.
#
# SPDX-License-Identifier: MIT

import re
from functools import lru_cache

from check import ROOT, files, finish, spoiled

PAGE = 'docs/troubleshooting.md'
FOLDERS = ['docs', 'src', 'tool']

# Backquoted texts that begin with one of these words are command lines.
COMMANDS = {'posixtrace', 'record', 'report', 'recover', 'pgrep', 'mount', 'docker', 'chmod', 'sudo', 'pkg-config',
            'ulimit'}
# Messages of the compiler, of the dynamic loader and of the shell.
FOREIGN = {
    'trace.h: No such file or directory',
    'libposixtrace.so.1: cannot open shared object file',
}
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*', re.S)
CONVERSION = re.compile(r'%[-+ #0]*(?:\d+|\*)?(?:\.(?:\d+|\*))?(?:hh|h|ll|l|j|z|t)?[a-zA-Z]')
# How much of a quoted message must be letters of the literal itself: a literal like "%s: %s" matches everything.
SHARE = 0.5


def quoted(text):
    """Yields the messages that the page quotes: line number, text."""
    language = None
    for number, line in enumerate(text.splitlines(), 1):
        fence = re.match(r'```(\w*)$', line)
        if fence:
            language = fence[1] if language is None else None
            continue
        if language is not None:
            if language == '':
                # The command, the file, or the grade and the topic that `posixtrace doctor` prints in columns.
                yield number, re.sub(r'^posixtrace \w+: (?:\S+: )?|^(?:ok|warning|PROBLEM)\s+.{13}|^\s+-> ', '', line)
            continue
        for message in re.findall(r'^#+ "(.+)"$|\*\*"(.+?)"', line):
            yield number, message[0] or message[1]
        for message in re.findall(r'`([^`]+)`', line):
            word = message.split()[0]
            if ' ' in message and word not in COMMANDS and not word.startswith(('-', '/')) and message not in FOREIGN:
                yield number, message


@lru_cache(None)
def literals(text):
    """Returns the string literals of a source, with literals that follow each other joined."""
    text = re.sub(r'" *(?:PRI[a-zA-Z0-9]+) *"', 'lu', COMMENT.sub(' ', text))
    text = re.sub(r'"\s*\n?\s*"', '', text)
    return {re.sub(r'\\(.)', r'\1', literal) for literal in LITERAL.findall(text) if ' ' in literal}


@lru_cache(None)
def tokens(literal):
    """Returns the characters of a literal; None stands for a conversion."""
    found, at = [], 0
    for match in CONVERSION.finditer(literal.replace('%%', '\0\0')):
        found += [*literal[at:match.start()], None]
        at = match.end()
    return tuple(found + [*literal[at:]])


def matched(message, literal):
    """Returns how many characters of a message are those of the literal, or -1 if the message is not a part of it."""
    parts = tokens(literal)
    best = {at: 0 for at in range(len(parts))}
    for character in message:
        after = {}
        for at, count in best.items():
            # A conversion may also print nothing more, or nothing at all.
            while at < len(parts) and parts[at] is None:
                after[at] = max(after.get(at, 0), count)
                at += 1
            if at < len(parts) and parts[at] == character:
                after[at + 1] = max(after.get(at + 1, 0), count + 1)
        best = after
    return max(best.values(), default=-1)


def words(text):
    return set(re.findall(r'[A-Za-z]{3,}', text))


def known(message, texts):
    """Is each part of a message, between any "...", a part of a literal?"""
    for part in (part.strip(' ;:') for part in message.split('...')):
        if len(words(part)) < 2:
            continue
        for literal in texts:
            common = len(words(part) & words(literal))
            if 2 * common >= len(words(part)) and matched(part, literal) >= SHARE * len(part):
                break
        else:
            return False
    return True


def check(root):
    texts = set()
    for folder in ['tool', 'src']:
        for path in files(root, folder, '.c', '.h'):
            texts |= literals(path.read_text())
    count = 0
    for number, message in quoted((root / PAGE).read_text()):
        count += 1
        if not known(message, texts):
            yield f'{PAGE}:{number}: no message of the command or the library: {message}'
    if count < 20:
        yield f'{PAGE}: {count} messages found'


def all_problems():
    yield from check(ROOT)
    yield from spoiled(
        check, FOLDERS,
        (PAGE, None, '\n`what shall be done with this?`\n'),
        (PAGE, None, '\n```\nposixtrace report: x.log: no file of this kind was ever here\n```\n'),
        (PAGE, None, '\n## "nothing at all was found there"\n'),
        (PAGE, '`there is no such process`', '`there was no such process`'),
        (PAGE, '`it belongs to user 0, this command', '`it belongs to user 0, that command'))


finish(all_problems())
