#
# word_fields.py - a list of all structures of shared memory and their fields, for word_size.c
#
#     word_fields.py HEADER... OUTPUT
#
# From the declarations themselves, so that no field is forgotten.
#
# SPDX-License-Identifier: MIT

import re
import sys
from pathlib import Path

STRUCT = re.compile(r'^struct (\w+) \{\n(.*?)^\};', re.M | re.S)
FIELD = re.compile(r'^\t(?:_Alignas\(\w+\) )?(?:struct |union )?\w+ ([^;(]+);', re.M)


def rows(text):
    text = re.sub(r'/\*.*?\*/', '', text, flags=re.S)
    for name, body in STRUCT.findall(text):
        yield f'STRUCT({name})'
        fields = [re.sub(r'\[.*', '', field).strip() for fields in FIELD.findall(body) for field in fields.split(',')]
        if len(fields) < 2 or len(FIELD.findall(body)) != body.count(';'):
            sys.exit(f'word_fields.py: struct {name} is not understood')
        for field in fields:
            yield f'FIELD({name}, {field})'


found = [row for header in sys.argv[1:-1] for row in rows(Path(header).read_text())]
if len(found) < 80:
    sys.exit(f'word_fields.py: only {len(found)} rows')
Path(sys.argv[-1]).write_text('/* Made by word_fields.py. */\n' + '\n'.join(found) + '\n')
