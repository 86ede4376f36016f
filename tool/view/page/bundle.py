#
# bundle.py - makes one file in C of the page, its style and its program
#
#     bundle.py OUT.c DEPFILE PAGE.html STYLE.css MAIN.mjs      the modules are found by their imports
#     bundle.py --program MAIN.mjs                              the program alone, to standard output
#
# The modules become one function, in the order in which they need each other; names at their top level may not meet.
# The page's own policy permits exactly this program and this style, by their hashes, and no network.
#
# SPDX-License-Identifier: MIT

import base64
import hashlib
import re
import sys
from pathlib import Path

IMPORT = re.compile(r"^import \{([^}]*)\} from '\./([\w-]+\.mjs)';\n", re.M)
EXPORT = re.compile(r'^export (?=(?:async )?function|const|let|class)', re.M)
TOP = re.compile(r'^(?:export )?(?:async )?(?:function|class|const|let) (\w+)(.*)', re.M)
COMMENT = re.compile(r'^[ \t]*/\*.*?\*/\n', re.M | re.S)  # lines of their own
MORE = re.compile(r', (\w+) = ')  # const a = 1, b = 2


def refuse(text):
    sys.exit(f'bundle.py: {text}')


def modules(path, done):
    """All that it needs, in order, itself last."""
    text = path.read_text()
    if path.name in done:
        return
    done[path.name] = None
    for names, needed in IMPORT.findall(text):
        modules(path.parent / needed, done)
    done.pop(path.name)
    done[path.name] = text


def exports(text):
    names = set()
    for line in re.findall(r'^export [^\n]*', text, re.M):
        names.update(re.findall(r'(?:function|class) (\w+)', line))
        if re.match(r'export (const|let) ', line):
            names.update(re.findall(r'(\w+) = ', line))
    return names


def check(texts):
    seen = {}
    for name, text in texts.items():
        for first, rest in TOP.findall(text):
            for top in [first, *MORE.findall(rest)]:
                if seen.setdefault(top, name) != name:
                    refuse(f'{top} is in {seen[top]} and in {name}')
        for names, needed in IMPORT.findall(text):
            missing = {each.strip() for each in names.split(',')} - exports(texts[needed])
            if missing:
                refuse(f'{name}: {needed} does not export {", ".join(sorted(missing))}')
        if re.search(r'^import (?!\{)', text, re.M) or re.search(r'</script|<!--', text, re.I):
            refuse(f'{name}: an import of another form, or what would end the program in a page')


def program(main):
    texts = {}
    modules(main, texts)
    check(texts)
    parts = [f'\n// {name}\n' + COMMENT.sub('', EXPORT.sub('', IMPORT.sub('', text))) for name, text in texts.items()]
    return "'use strict';\n(() => {" + ''.join(parts) + '})();\n', [main.parent / name for name in texts]


def sha(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def c_string(name, text):
    def quoted(line):
        return ''.join(chr(byte) if 32 <= byte < 127 and byte not in b'"\\\\?' else f'\\{byte:03o}'
                       for byte in line.encode())

    lines = '\n'.join(f'\t"{quoted(line)}"' for line in text.splitlines(keepends=True))
    return f'const char {name}[] =\n{lines};\nconst size_t {name}_size = sizeof {name} - 1;\n'


def main():
    if sys.argv[1] == '--program':
        sys.stdout.write(program(Path(sys.argv[2]))[0])
        return
    out, depfile, page, style, script = map(Path, sys.argv[1:])
    code, files = program(script)
    css = style.read_text()
    policy = f"default-src 'none'; script-src {sha(code)}; style-src {sha(css)}"
    text = page.read_text().replace('<!-- policy -->', policy).replace('<!-- style -->', css)
    head, tail = text.split('<!-- blocks -->\n')
    tail = tail.replace('<!-- program -->', code)
    out.write_text(f'/* {out.name} - made by bundle.py */\n#include "view/page_parts.h"\n\n' +
                   c_string('page_head', head) + '\n' + c_string('page_tail', tail))
    depfile.write_text(f'{out}: ' + ' '.join(str(file) for file in files) + '\n')


main()
