#
# babeltrace.py - what babeltrace2 reads, as Python values
#
# SPDX-License-Identifier: MIT

import re
import shutil
import subprocess
import sys

BABELTRACE = shutil.which('babeltrace2')
BEGIN = re.compile(r'^\[(\d+)\.(\d{9})\] \(.{12,}?\) ', re.M)
TOKEN = re.compile(r'"((?:[^"\\]|\\.)*)"|(0x[0-9A-Fa-f]+)|(-?[0-9.]+(?:e[+-]?\d+)?|-?inf|-?nan)'
                   r'|([{}\[\],=])|([^\s={}\[\],"]+)', re.S)
ESCAPES = {'n': '\n', 't': '\t', '"': '"', '\\': '\\', 'e': '\33', 'a': '\a', 'b': '\b', 'f': '\f', 'r': '\r',
           'v': '\v'}


def there():
    """Ends the test as skipped where there is no babeltrace2."""
    if not BABELTRACE:
        print('there is no babeltrace2')
        sys.exit(77)


def run(*arguments, status=0, environment=None):
    done = subprocess.run([BABELTRACE, *map(str, arguments)], capture_output=True, timeout=60, env=environment)
    assert done.returncode == status, f'babeltrace2 {arguments}: exit status {done.returncode}: ' \
        f'{done.stderr.decode(errors="replace")}'
    return done.stdout.decode(errors='surrogateescape'), done.stderr.decode(errors='replace')


def unescape(text):
    return re.sub(r'\\(x[0-9A-Fa-f]{2}|.)', lambda m: chr(int(m[1][1:], 16)) if m[1][0] == 'x' else ESCAPES[m[1]], text,
                  flags=re.S)


class Values:
    def __init__(self, text):
        self.tokens = list(TOKEN.finditer(text))
        self.at = 0

    def next(self):
        self.at += 1
        return self.tokens[self.at - 1]

    def peek(self):
        return self.tokens[self.at][0] if self.at < len(self.tokens) else ''

    def enumeration(self):
        """Returns the label and the number: ( "paid" : container = 3 )."""
        label = self.next()
        assert [self.next()[0] for _ in range(3)] == [':', 'container', '=']
        number = self.value()
        assert self.next()[0] == ')'
        return (label[0] if label[1] is None else unescape(label[1])), number

    def value(self):
        token = self.next()
        if token[1] is not None:
            return unescape(token[1])
        if token[2] or token[3]:
            return int(token[2], 16) if token[2] else float(token[3]) if re.search('[.enif]',
                    token[3]) else int(token[3])
        if token[0] == '(':
            return self.enumeration()
        close = {'{': '}', '[': ']'}[token[0]]
        pairs = []
        while self.peek() != close:
            key = self.value() if self.peek() == '[' else self.next()[0]
            assert self.next()[0] == '=', (key, self.at)
            pairs.append((key, self.value()))
            if self.peek() == ',':
                self.next()
        self.next()
        return dict(pairs) if close == '}' else [value for _, value in pairs]


def index_brackets(text):
    """[ [0] = 1, [1] = 2 ] is a list: without the numbers."""
    return re.sub(r'("(?:[^"\\]|\\.)*")|\[(\d+)\] =', lambda m: m[1] or f'_{m[2]} =', text, flags=re.S)


def events(*arguments, **more):
    """(ns, host and name, context, fields) of each; with the fields those of the context that only its type has."""
    text, _ = run(*arguments, '--clock-seconds', **more)
    begins = [*BEGIN.finditer(text)]
    for m, end in zip(begins, [m.start() for m in begins[1:]] + [len(text)]):
        line = text[m.end():end]
        at = line.index(': { vpid = ')
        values = Values(index_brackets(line[at + 2:]))
        context = values.value()
        fields = {}
        while values.peek() == ',':
            values.next()
            fields |= values.value()
        yield int(m[1]) * 10**9 + int(m[2]), line[:at], context, fields
