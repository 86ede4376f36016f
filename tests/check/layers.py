#
# layers.py - each folder of src/ and of tool/ includes only what is below it
#
#   src/    base < model, host < shm < record | read | log < control < api
#   reader/ base, model, log, and of the command common/folder.h, event/layouts.h, system_text.h, wordpair.h; running.c
#           and recover.c also control
#   plugin/ only the public headers: <posixtrace/log.h>, and the numbers of <trace.h>
#   instrument/ only the public headers, and its own common/
#   tool/   common < event < logs < analysis, process, kernel < the subcommands < main
#
# No subcommand includes another, and no two files include each other, directly
# or through others. Includes name the folder, and no two files of src/ share a
# name: so an include shows its layer, and a function's noun leads to its file.
# A function that NAME.h declares is defined in NAME.c or inline in NAME.h, so
# what a file includes is also what it calls: there are no hidden circles.
#
# SPDX-License-Identifier: MIT

import os
import re
from collections import defaultdict
from functools import lru_cache

from check import ROOT, files, finish, spoiled

BELOW = {'base': ''}
BELOW['model'] = BELOW['host'] = 'base'
BELOW['shm'] = 'base model host'
BELOW['record'] = BELOW['read'] = BELOW['log'] = 'base model host shm'
BELOW['control'] = 'base model host shm record read log'
BELOW['api'] = BELOW['control'] + ' control'

# The command is a program like others, and reads logs and shared memory by the library's own parts.
TOOL_SRC = 'base model host shm log control'
TOOL_RECORDS = ['script']  # events in the name of the script
TOOL_BELOW = {'common': ''}
TOOL_BELOW['event'] = TOOL_BELOW['kernel'] = TOOL_BELOW['usdt'] = 'common'
TOOL_BELOW['logs'] = 'common event'
TOOL_BELOW['analysis'] = TOOL_BELOW['process'] = 'common event logs'
for command in ['report', 'stat', 'diff', 'convert', 'view']:
    TOOL_BELOW[command] = 'common event logs analysis'
for command in ['record', 'run', 'live', 'check', 'doctor', 'list', 'script']:
    TOOL_BELOW[command] = 'common event logs process'
TOOL_BELOW['kernel'] = 'common'
for command in ['record', 'run', 'doctor']:
    TOOL_BELOW[command] += ' kernel'
TOOL_BELOW['record'] += ' usdt'
TOOL_BELOW['process'] += ' usdt'
TOOL_BELOW[''] = ' '.join(TOOL_BELOW)  # main and complete

# The library that reads logs runs inside another program: it looks at no living streams.
READER = ('base/', 'model/', 'log/', 'common/folder.h', 'event/layouts.h', 'event/shown.h', 'event/system_text.h',
          'event/wordpair.h')
# But one file of it makes and reads the stream of a running process, and one finds that of a killed recorder.
READER_MORE = {'running.c': ('host/', 'control/', 'process/confinement.h'), 'recover.c': ('control/recover.h',)}
# Folders that use the library only through <trace.h>.
OUTSIDE = ['instrument', 'plugin', 'tests/conformance', 'tests/stress', 'tests/reader', 'bench', 'examples']

# Functions that a header declares, and another program defines.
# src/base/testpoint.h, invariant.h: the test that is linked with the library
DEFINED_ELSEWHERE = {'test_point', 'invariant_broken'}

# A member that only the structures of this implementation have.
ADDITION = re.compile(r'(?:\.|->)(__posix_\w+)')

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.M)


@lru_cache(None)
def includes_of(text):
    return INCLUDE.findall(text)


def includes(path):
    return includes_of(path.read_text())


def there(root, folder, name):
    return os.path.exists(f'{root}/{folder}/{name}')


def check_src(root):
    names = defaultdict(set)
    for path in files(root, 'src', '.c', '.h'):
        file = path.relative_to(root / 'src')
        if len(file.parts) != 2 or file.parts[0] not in BELOW:
            yield f'src/{file}: in no layer'
            continue
        layer = file.parts[0]
        names[path.stem].add(layer)
        for quote, name in includes(path):
            if quote == '<':
                if '/' in name and there(root, 'src', name):
                    yield f'src/{file}: <{name}> is ours, so "{name}"'
                continue
            folder = name.split('/')[0]
            if '/' not in name or not there(root, 'src', name):
                yield f'src/{file}: "{name}" is not FOLDER/FILE in src/'
            elif folder != layer and folder not in BELOW[layer].split():
                yield f'src/{file}: {layer} must not include {name}'
    for name, layers in names.items():
        if len(layers) > 1:
            yield f'src/: {name} is in {" and ".join(sorted(layers))}'


def check_tool(root):
    for path in files(root, 'tool', '.c', '.h'):
        file = path.relative_to(root / 'tool')
        folder = file.parts[0] if len(file.parts) > 1 else ''
        if folder not in TOOL_BELOW:
            yield f'tool/{file}: in no folder of tests/check/layers.py'
            continue
        for quote, name in includes(path):
            to = name.split('/')[0]
            if quote == '<':
                continue
            if there(root, 'src', name) and there(root, 'tool', name):
                yield f'tool/{file}: {name} is in src/ and in tool/'
            elif there(root, 'src', name):
                if to not in TOOL_SRC.split() and (to, folder in TOOL_RECORDS) != ('record', True):
                    yield f'tool/{file}: must not include {name}'
            elif '/' not in name and folder or not there(root, 'tool', name):
                yield f'tool/{file}: "{name}" is not FOLDER/FILE in tool/ or src/'
            elif '/' in name and to != folder and to not in TOOL_BELOW[folder].split():
                yield f'tool/{file}: {folder or "main"} must not include {name}'


def check_circles(root, folder):
    """No file includes another that includes it: a file is its .c and its .h."""
    graph = defaultdict(set)
    for path in files(root, folder, '.c', '.h'):
        unit = str(path.relative_to(root / folder).with_suffix(''))
        for quote, name in includes(path):
            to = name.rsplit('.', 1)[0]
            if quote == '"' and to != unit and there(root, folder, name):
                graph[unit].add(to)
    done = set()

    def walk(unit, way):
        if unit in way:
            yield f'{folder}/: a circle: {" -> ".join(way[way.index(unit):] + [unit])}'
        elif unit not in done:
            for to in sorted(graph[unit]):
                yield from walk(to, way + [unit])
            done.add(unit)

    for unit in sorted(graph):
        yield from walk(unit, [])


def outline(text):
    """The text without comments, strings, preprocessor lines, and what is inside of braces."""
    text = re.sub(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', ' ', text, flags=re.S)
    text = re.sub(r'^[ \t]*#(?:.*\\\n)*.*$', '', text, flags=re.M)
    depth, kept = 0, ''
    for part in re.split(r'([{}])', text):
        depth -= part == '}'
        kept += part if depth == 0 and part != '{' else ''
        depth += part == '{'
    return kept


@lru_cache(None)
def functions(text):
    """The names of the functions that a file's text declares, and of those that it defines."""
    declared, defined = set(), set()
    for head, end in re.findall(r'([^;{}]*)(;|\})', outline(text)):
        head = re.sub(r'\b(?:__attribute__|__asm__)\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)', '', head)
        name = re.search(r'(\w+)\s*\(', head)
        if name and name[1] != '_Static_assert' and not re.search(r'\btypedef\b|=', head):
            (declared if end == ';' else defined).add(name[1])
    return declared, defined


def check_definitions(root, folder):
    """A header declares the functions of its own .c only."""
    for path in files(root, folder, '.h'):
        declared, inline = functions(path.read_text())
        own = path.with_suffix('.c')
        defined = functions(own.read_text())[1] if own.exists() else set()
        for name in sorted(declared - inline - defined - DEFINED_ELSEWHERE):
            yield f'{path.relative_to(root)}: {name}() is not defined in {path.stem}.c'


def check_reader(root):
    for path in files(root, 'reader', '.c', '.h'):
        for quote, name in includes(path):
            if quote == '<':
                continue
            allowed = READER + READER_MORE.get(path.name, ())
            if '/' in name and not name.startswith(allowed) or not any(
                    there(root, folder, name) for folder in ('reader', 'src', 'tool')):
                yield f'{path.relative_to(root)}: must not include {name}'
    yield from check_definitions(root, 'reader')
    yield from check_circles(root, 'reader')


def check_outside(root):
    for folder in OUTSIDE:
        for path in files(root, folder, '.c', '.h'):
            for _, name in includes(path):
                ours = any(there(root, part, name) for part in ('src', 'tool', 'reader'))
                if '../' in name or ours and not (path.parent / name).exists():
                    yield f'{path.relative_to(root)}: must not include {name}'
    for path in files(root, 'tests/conformance', '.c', '.h'):
        for member in sorted(set(ADDITION.findall(path.read_text()))):
            if path.name not in ['ours.h', 'header.c']:
                yield f'{path.relative_to(root)}: no other implementation has {member}: see tests/conformance/ours.h'


def check(root):
    yield from check_src(root)
    yield from check_tool(root)
    yield from check_circles(root, 'src')
    yield from check_circles(root, 'tool')
    yield from check_definitions(root, 'src')
    yield from check_definitions(root, 'tool')
    yield from check_reader(root)
    yield from check_outside(root)


def all_problems():
    yield from check(ROOT)
    yield from spoiled(
        check, ['src', 'tool', 'plugin', 'reader', 'tests', 'bench', 'examples'],
        ('src/base/lines.c', None, '#include "model/attr.h"\n'),
        ('src/base/lines.c', None, '#include "host/file.h"\n'),
        ('src/base/sys.c', None, '#include "base/ticks.h"\n'),
        ('src/model/attr.c', None, '#include "shm/chunk.h"\n'),
        ('src/record/emit.c', None, '#include "read/merge.h"\n'),
        ('src/read/merge.c', None, '#include "record/self.h"\n'),
        ('src/control/handle.c', None, '# include "api/none.h"\n'),
        ('src/shm/stream.c', None, '#include "control/handle.h"\n'),
        ('src/shm/stream.c', '#include "shm/stream.h"', '#include "stream.h"'),
        ('src/shm/stream.c', '#include "shm/stream.h"', '#include <shm/stream.h>'),
        ('src/base/chunk.h', None, '/* the second of this name */\n'),
        ('src/util/list.h', None, '/* of no layer */\n'),
        ('tool/common/json.c', None, '#include "event/layouts.h"\n'),
        ('tool/logs/match.c', None, '#include "process/streams.h"\n'),
        ('tool/report/report.c', None, '#include "stat/tally.h"\n'),
        ('tool/report/report.c', None, '#include "record/attach.h"\n'),
        ('tool/report/report.c', None, '#include "line.h"\n'),
        ('tool/stat/stat.c', None, '#include "kernel/states.h"\n'),
        ('tool/common/message.c', None, '#include "common/moment.h"\n#include "common/options.h"\n'),
        ('tool/report/line.h', None, '#include "main.h"\n'),
        ('tool/check/frames.h', None, 'void verify_index(struct verify *v, const struct frame *f, uint64_t at);\n'),
        ('tool/common/json.h', None, 'static inline int json_depth(void)\n{\n\treturn json_level();\n}\nint '
         'json_level(void);\n'),
        ('src/model/attr.h', None, 'extern int *attr_far(int (*with)(int), char *of)\n\t__attribute__((format(printf, '
         '1, 2)));\n'),
        ('tool/log/input.h', None, '/* of no folder */\n'),
        ('plugin/babeltrace2/source.c', None, '#include "control/recover.h"\n'),
        ('plugin/babeltrace2/fields.c', None, '#include "model/data_layout.h"\n'),
        ('plugin/babeltrace2/fields.c', None, '#include "event/names.h"\n'),
        ('plugin/babeltrace2/fields.c', None, '#include "reader.h"\n'),
        ('plugin/babeltrace2/fields.c', None, '#include "../../src/log/input.h"\n'),
        ('reader/source.c', None, '#include "shm/stream.h"\n'),
        ('reader/source.c', None, '#include "control/recover.h"\n'),
        ('reader/recover.c', None, '#include "control/handle.h"\n'),
        ('reader/running.c', None, '#include "record/attach.h"\n'),
        ('reader/source.c', None, '#include "common/message.h"\n'),
        ('reader/table.h', None, 'int types_add(void);\n'),
        ('reader/table.c', None, '#include "tasks.h"\n'),
        ('tests/reader/copy.c', None, '#include "log/format.h"\n'),
        ('tests/conformance/read.c', None, '#include "shm/chunk.h"\n'),
        ('tests/conformance/read.c', None, 'status.__posix_lost_events\n'))


finish(all_problems())
