#
# hazards.py - docs/hazards.md agrees with the H-numbers in code and tests
#
# Each number in src/ and tests/ has a section. The number of each section with a
# "Done" is in the code or in a test, and the tests that the section names exist.
#
# SPDX-License-Identifier: MIT

import re

from check import ROOT, files, finish, spoiled

PAGE = 'docs/hazards.md'
SUITES = 'conformance|unit|stress|fault|check'


def sections(root):
    text = (root / PAGE).read_text()
    for match in re.finditer(r'^## (H\d+) (.*?)\n(.*?)(?=^## |\Z)', text, re.M | re.S):
        yield match[1], match[3]


def item(text, name):
    """Returns an item of a section, such as "Done", as one line."""
    match = re.search(rf'^- \*{name}:\*(.*?)(?=^- \*|\Z)', text, re.M | re.S)
    return ' '.join(match[1].split()) if match else ''


def check(root):
    used = {}
    for path in files(root, 'src', '.c', '.h', '.build') + files(root, 'tests', '.c', '.h', '.build'):
        for number in re.findall(r'\bH\d+\b', path.read_text()):
            used.setdefault(number, path.relative_to(root))
    known = dict(sections(root))
    for number, file in used.items():
        if number not in known:
            yield f'{file}: {number} has no section in {PAGE}'
    for number, text in known.items():
        done = item(text, 'Done')
        if done and not done.startswith('nothing') and number not in used:
            yield f'{PAGE}: {number} is named neither in src/ nor in tests/'
        tried = item(text, 'Tried by')
        for file, after in re.findall(rf'`((?:{SUITES})/\w+\.\w+)`([^`]*)', tried):
            path = root / 'tests' / file
            if not path.exists():
                yield f'{PAGE}: {number}: there is no tests/{file}'
                continue
            tests = re.match(r'(?: in handlers)?((?:,? \w+)*)', after)[1].replace(',', ' ').split()
            for test in tests:
                if '_' in test and test not in path.read_text():
                    yield f'{PAGE}: {number}: tests/{file} has no {test}'


def all_problems():
    yield from check(ROOT)
    yield from spoiled(
        check, ['src', 'docs', 'tests'],
        ('src/host/file.c', None, '/* H99 */\n'),
        (PAGE, None, '\n## H98 A new one\n\n- *Done:* something.\n'),
        (PAGE, '`unit/file.c`', '`unit/fill.c`'),
        (PAGE, 'attached_once', 'attached_twice'))


finish(all_problems())
