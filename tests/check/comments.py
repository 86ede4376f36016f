#
# comments.py - each file begins with a comment that names it and its one job, and comments say what they mean
#
# Prints, for each folder of C sources, the share of comments that are hard to understand because a fifth or more of
# their words only point to something: who, that, it, those, one, there ... Comments of fewer than six words do not
# count. Well-known projects have 0.6 to 3.7 % such comments. A tree with more than 6 % is a failure.
#
# It is a thermometer: rewrite a comment for its reader, not for the figure.
#
# SPDX-License-Identifier: MIT

import re
from functools import lru_cache

from check import ROOT, files, finish, spoiled

FOLDERS = ['src', 'tool', 'plugin', 'reader', 'tests', 'examples', 'bench', 'include', 'script', 'python']
MEASURED = ['src', 'tool', 'plugin', 'reader', 'tests', 'python']
LIMIT = 0.06

POINTING = set('who whom whoever that it its those these this there what such one ones other others another so then '
               'them they somebody nobody anybody'.split())
LEAST = 6
MANY = 0.2

# A comment in /* */, or lines that begin with //.
COMMENT = re.compile(r'/\*(.*?)\*/|((?:^[ \t]*//[^\n]*\n)+)', re.S | re.M)


def check_head(root):
    for folder in FOLDERS:
        scripts = [''] if folder == 'script' else []
        for path in files(root, folder, '.c', '.h', '.cpp', '.hpp', '.py', '.sql', '.sh', '.mjs', '.css', *scripts):
            head = path.read_text().splitlines()[:60]
            file = path.relative_to(root)
            names = {path.name, path.stem}
            if not any(re.match(rf'\W*{re.escape(name)} - \S', line) for name in names for line in head[:5]):
                yield f'{file}: does not begin with "{path.name} - its job"'
            if not any('SPDX-License-Identifier: MIT' in line for line in head):
                yield f'{file}: no SPDX-License-Identifier: MIT'


@lru_cache(None)
def measure(text):
    """Returns how many comments of a source count, and the line numbers of those that are hard to understand."""
    count, hard = 0, []
    for match in COMMENT.finditer(text):
        words = re.findall(r"[A-Za-z']+", match[1] or match[2])
        if len(words) < LEAST or 'SPDX' in words:
            continue
        count += 1
        # "it's" and "one's" count as "it" and "one".
        if sum(word.lower().partition("'")[0] in POINTING for word in words) >= MANY * len(words):
            hard.append(text.count('\n', 0, match.start()) + 1)
    return count, hard


def measured(root, tree):
    """Returns for each folder of a tree the number of comments, and the places of those that are hard to understand."""
    folders = {}
    for path in files(root, tree, '.c', '.h', '.cpp', '.hpp'):
        count, hard = measure(path.read_text(errors='replace'))
        file = path.relative_to(root)
        total, places = folders.get(str(file.parent), (0, []))
        folders[str(file.parent)] = (total + count, places + [f'{file}:{line}' for line in hard])
    return folders


def check_language(root, trees):
    for tree in trees:
        folders = measured(root, tree)
        count = sum(total for total, _ in folders.values())
        hard = [place for _, places in folders.values() for place in places]
        if len(hard) > LIMIT * count:
            yield (f'{tree}: {100 * len(hard) / count:.1f} % of {count} comments have a fifth or more of words like '
                   f'who, '
                   f'that, it, those, one; {100 * LIMIT:.0f} % are allowed: {", ".join(hard[:20])}')


def all_problems():
    for tree in MEASURED:
        for folder, (count, places) in sorted(measured(ROOT, tree).items()):
            share = 100 * len(places) / max(count, 1)
            print(f'{folder:24} {count:5} comments, {share:4.1f} % hard to understand')
    yield from check_head(ROOT)
    yield from check_language(ROOT, MEASURED)
    yield from spoiled(
        check_head, FOLDERS,
        ('src/host/file.c', ' * file.c - ', ' * fill.c - '),
        ('src/host/file.c', 'SPDX-License-Identifier: MIT', 'All rights reserved'),
        ('tests/unit/new.c', None, 'int main(void)\n{\n}\n'))
    riddle = 'Of those that it was told of, {} is such a one as the other has.'
    for tree, comment in [*((tree, f'/* {riddle} */\n') for tree in MEASURED), ('plugin', f'// {riddle}\n\n')]:
        text = ''.join(comment.format(n) for n in range(400))
        yield from spoiled(lambda root: check_language(root, [tree]), [tree], (f'{tree}/riddles.c', None, text))


finish(all_problems())
