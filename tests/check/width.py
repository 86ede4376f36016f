#
# width.py - lines of documents have at most 100 columns
#
# A row of a table, a line of a code block, a line that is one word (an address) and what a script has written may be longer.
#
# SPDX-License-Identifier: MIT

from check import ROOT, files, finish, spoiled

COLUMNS = 100
WRITTEN = ['NEWS.md', 'CONFORMANCE.md']  # by union of branches; by script/conformance-table


def check(root):
    documents = [*root.glob('*.md')]
    for folder in ['docs', 'src', 'tool', 'tests', 'bench', 'examples', 'plugin', 'script']:
        documents += files(root, folder, '.md')
    for path in sorted(documents):
        if path.name in WRITTEN:
            continue
        code = script = False
        for number, line in enumerate(path.read_text().split('\n'), 1):
            if line.lstrip().startswith('```'):
                code = not code
            elif line.startswith('<!-- '):
                script = line.startswith('<!-- begin')
            elif not code and not script and len(line) > COLUMNS and not line.lstrip().startswith('|') and not line.startswith('    ') and ' ' in line.strip('-* '):
                yield f'{path.relative_to(root)}:{number}: {len(line)} columns, {COLUMNS} are allowed'


def all_problems():
    yield from check(ROOT)
    yield from spoiled(
        check, ['docs', 'src', 'tool', 'tests', 'bench', 'examples', 'plugin', 'script'],
        ('docs/faq.md', None, 'a line ' * 20 + '\n'),
        ('src/README.md', None, 'a line ' * 20 + '\n'))


finish(all_problems())
