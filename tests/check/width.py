#
# width.py - lines of documents have at most 100 columns, lines of code at most 120
#
# In documents a row of a table, a line of a code block, a line that is one word (an address) and what a script has
# written may be longer. In code a tab counts as 8 columns, and only a line that is one word may be longer.
#
# SPDX-License-Identifier: MIT

from check import ROOT, files, finish, spoiled

DOCUMENT, CODE = 100, 120
WRITTEN = ['CONFORMANCE.md']  # by script/conformance-table
FOLDERS = ['docs', 'src', 'tool', 'plugin', 'reader', 'tests', 'bench', 'examples', 'include', 'script', 'python',
           'debian/tests']


def check_documents(root):
    documents = [*root.glob('*.md')]
    for folder in FOLDERS:
        documents += files(root, folder, '.md')
    for path in sorted(documents):
        if path.name in WRITTEN:
            continue
        code = script = False
        for number, line in enumerate(path.read_text().split('\n'), 1):
            text = line.lstrip()
            if text.startswith('```'):
                code = not code
            elif line.startswith('<!-- '):
                script = line.startswith('<!-- begin')
            elif code or script or text.startswith('|') or line.startswith('    '):
                continue
            elif len(line) > DOCUMENT and ' ' in line.strip('-* '):
                yield f'{path.relative_to(root)}:{number}: {len(line)} columns, {DOCUMENT} are allowed'


def is_code(root, path):
    """Is it a source, or a script, which has no suffix and begins with #?"""
    if path.suffix in ('.c', '.h', '.cpp', '.hpp', '.py', '.mjs', '.sh'):
        return True
    return path.suffix == '' and path.read_bytes()[:1] == b'#'


def check_code(root):
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob('*')):
            if not path.is_file() or {'corpus', 'found'} & {*path.parts} or not is_code(root, path):
                continue
            for number, line in enumerate(path.read_text(errors='replace').split('\n'), 1):
                columns = len(line.expandtabs(8))
                if columns > CODE and len(line.split()) > 1:
                    yield f'{path.relative_to(root)}:{number}: {columns} columns, {CODE} are allowed'


def check(root):
    yield from check_documents(root)
    yield from check_code(root)


def all_problems():
    yield from check(ROOT)
    line = 'a line ' * 20 + '\n'
    yield from spoiled(check_documents, FOLDERS, ('docs/faq.md', None, line), ('src/README.md', None, line))
    for file, text in (('src/host/file.c', f'/* {line}*/\n'), ('tool/main.c', '\t' * 15 + 'x = 1;\n'),
                       ('script/test', f'# {line}'),
                       ('tests/check/check.py', f'# {line}'), ('tool/view/page/dom.mjs', f'// {line}')):
        yield from spoiled(check_code, [file.split('/')[0]], (file, None, text))


finish(all_problems())
