#
# vocabulary.py - the sources use the field's terms, not the words that the project once invented
#
# docs/architecture.md has the glossary. Names of functions, of variables and of files count, and so do comments.
#
# SPDX-License-Identifier: MIT

import re
from functools import lru_cache

from check import ROOT, files, finish, spoiled

# The old word, and the term that replaces it.
OLD = {
    'birthmark': 'ancestor tag',
    'buried': 'reaped',
    'bury': 'reap',
    'guise': 'fs credentials',
    'horizon': 'watermark',
    'lane': 'writer',
    'long way': 'slow path',
    'short way': 'fast path',
    'shortest way': 'inline path',
    'stretch': 'rseq critical section',
    'tenure': 'generation',
    'unsaid': 'unacknowledged, undeclared',
    'wait outside': 'wait_quiescent',
}

# The trees, and the words that have a meaning of their own there.
TREES = {
    'src': set(),
    'plugin': set(),
    'reader': set(),
    # The lanes of an exported time line, and those of the page.
    'tool': {'lane'},
}
# The three lanes of a checksum that are calculated side by side.
LANES = {'src/log/crc.c'}


def pattern(word):
    """Returns the regular expression of a word, also as a part of a name, and in the plural."""
    return re.compile(rf'(?<![a-z]){word.replace(" ", "[ _-]")}s?(?![a-z])', re.I)


PATTERNS = {word: pattern(word) for word in OLD}
ANY = re.compile('|'.join(one.pattern for one in PATTERNS.values()), re.I)


@lru_cache(None)
def old_words(text):
    """Returns (old word, as it stands there, its line) for each old word of a text."""
    if not ANY.search(text):
        return []
    return [(word, match[0], text.count('\n', 0, match.start()))
            for word in OLD for match in PATTERNS[word].finditer(text)]


def check(root):
    for tree, allowed in TREES.items():
        for path in files(root, tree, '.c', '.h', '.mjs', '.py', '.build'):
            file = str(path.relative_to(root))
            for word, found, line in old_words(f'{path.stem}\n{path.read_text()}'):
                if word not in allowed and not (word == 'lane' and file in LANES):
                    yield f'{file}:{line}: "{found}" is an old word for {OLD[word]}'


def all_problems():
    yield from check(ROOT)
    yield from spoiled(
        check, list(TREES),
        ('src/host/file.c', None, 'static int lane_hold;\n'),
        ('src/record/tenure.h', None, '\n'),
        ('src/record/emit.c', None, '/* The shortest way. */\n'),
        ('tool/live/view.c', None, 'int wait_outside(void);\n'),
        ('tool/view/page/fields.mjs', None, 'const unsaid = 0;\n'),
        ('plugin/babeltrace2/fields.c', None, 'static int HORIZON;\n'))


finish(all_problems())
