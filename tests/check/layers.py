#
# layers.py - each folder of src/ includes only what is below it
#
#   base < model < shm < record | read | log < control < api
#
# Includes name the folder, and no two files of src/ share a name: so an include
# shows its layer, and a function's noun leads to its file.
#
# SPDX-License-Identifier: MIT

import re
from collections import defaultdict

from check import ROOT, files, finish, spoiled

BELOW = {'base': ''}
BELOW['model'] = 'base'
BELOW['shm'] = 'base model'
BELOW['record'] = BELOW['read'] = BELOW['log'] = 'base model shm'
BELOW['control'] = 'base model shm record read log'
BELOW['api'] = BELOW['control'] + ' control'
# The command is a program like others, and reads logs and shared memory by the library's own parts.
TOOL = 'base model shm log control'
# In a program of others: it reads logs, and nothing that lives but what <trace.h> does.
PLUGIN = ['base/', 'model/', 'shm/layout.h', 'log/']
PLUGIN_TOOL = ['layout.h', 'layouts.h', 'names.h', 'system_text.h', 'utf8.h']
# What sees the library only as programs do.
OUTSIDE = ['tests/conformance', 'tests/stress', 'bench', 'examples']

# A member that only our structures have.
ADDITION = re.compile(r'(?:\.|->)(__posix_\w+)')

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.M)


def check(root):
    names = defaultdict(set)
    for path in files(root, 'src', '.c', '.h'):
        file = path.relative_to(root / 'src')
        if len(file.parts) != 2 or file.parts[0] not in BELOW:
            yield f'src/{file}: in no layer'
            continue
        layer = file.parts[0]
        names[path.stem].add(layer)
        for quote, name in INCLUDE.findall(path.read_text()):
            if quote == '<':
                if '/' in name and (root / 'src' / name).exists():
                    yield f'src/{file}: <{name}> is ours, so "{name}"'
                continue
            folder = name.split('/')[0]
            if '/' not in name or not (root / 'src' / name).exists():
                yield f'src/{file}: "{name}" is not FOLDER/FILE in src/'
            elif folder != layer and folder not in BELOW[layer].split():
                yield f'src/{file}: {layer} must not include {name}'
    for name, layers in names.items():
        if len(layers) > 1:
            yield f'src/: {name} is in {" and ".join(sorted(layers))}'
    for path in files(root, 'tool', '.c', '.h'):
        for quote, name in INCLUDE.findall(path.read_text()):
            if '/' in name and (root / 'src' / name).exists() and name.split('/')[0] not in TOOL.split():
                yield f'{path.relative_to(root)}: must not include {name}'
    for path in files(root, 'plugin', '.c', '.h'):
        for quote, name in INCLUDE.findall(path.read_text()):
            of_src = (root / 'src' / name).exists() and '/' in name and not name.startswith(tuple(PLUGIN))
            of_tool = (root / 'tool' / name).exists() and not (path.parent / name).exists() and name not in PLUGIN_TOOL
            if quote == '"' and (of_src or of_tool or '..' in name):
                yield f'{path.relative_to(root)}: must not include {name}'
    for folder in OUTSIDE:
        for path in files(root, folder, '.c', '.h'):
            for quote, name in INCLUDE.findall(path.read_text()):
                if (root / 'src' / name).exists() or '/../' in name:
                    yield f'{path.relative_to(root)}: must not include {name}'
    for path in files(root, 'tests/conformance', '.c', '.h'):
        for member in sorted(set(ADDITION.findall(path.read_text()))):
            if path.name not in ['ours.h', 'header.c']:
                yield f'{path.relative_to(root)}: no other implementation has {member}: see tests/conformance/ours.h'


def all_problems():
    yield from check(ROOT)
    yield from spoiled(
        check, ['src', 'tool', 'plugin', 'tests', 'bench', 'examples'],
        ('src/base/file.c', None, '#include "model/attr.h"\n'),
        ('src/model/attr.c', None, '#include "shm/chunk.h"\n'),
        ('src/record/emit.c', None, '#include "read/merge.h"\n'),
        ('src/read/merge.c', None, '#include "record/self.h"\n'),
        ('src/control/handle.c', None, '# include "api/none.h"\n'),
        ('src/shm/stream.c', None, '#include "control/handle.h"\n'),
        ('src/shm/stream.c', '#include "shm/stream.h"', '#include "stream.h"'),
        ('src/shm/stream.c', '#include "shm/stream.h"', '#include <shm/stream.h>'),
        ('src/base/chunk.h', None, '/* the second of this name */\n'),
        ('src/util/list.h', None, '/* of no layer */\n'),
        ('plugin/babeltrace2/source.c', None, '#include "control/recover.h"\n'),
        ('plugin/babeltrace2/fields.c', None, '#include "shm/stream.h"\n'),
        ('plugin/babeltrace2/fields.c', None, '#include "out.h"\n'),
        ('tests/conformance/read.c', None, '#include "shm/chunk.h"\n'),
        ('tests/conformance/read.c', None, 'status.__posix_lost_events\n'))


finish(all_problems())
