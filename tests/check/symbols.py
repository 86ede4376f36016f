#
# symbols.py - both libraries export exactly the names in symbols.txt, and need only the C library
#
#     symbols.py SHARED STATIC
#
# SPDX-License-Identifier: MIT

import re
import subprocess
import sys
from pathlib import Path

from check import ROOT, finish

LIST = Path(__file__).parent / 'symbols.txt'
HEADERS = ['trace.h', 'posixtrace/trace.h']
# The C library and its loader, and the libraries of a sanitizer build.
NEEDED = re.compile(r'libc\.so\.\d+|ld-linux\S*\.so\.\d+|lib(?:asan|ubsan|tsan|gcc_s|m)\.so\.\d+')
SANITIZED = re.compile(r'libasan|libubsan|libtsan')


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def static_problems(library, listed):
    """Yields wrong global names of the static library, all of which a statically linked program sees."""
    names = {line.split()[2] for line in output('nm', '-g', '--defined-only', library).splitlines()
             if len(line.split()) == 3}
    for name in sorted(names ^ listed):
        yield f'{name}: ' + ('global in the static library' if name in names else 'not in the static library')


def problems(library, static):
    listed = {line for line in LIST.read_text().splitlines() if line and not line.startswith('#')}
    found = set()
    for line in output('nm', '-D', '--defined-only', library).splitlines():
        _, kind, name = line.split()
        name, _, version = name.partition('@@')
        if kind == 'A':
            continue
        found.add(name)
        if version and version != 'POSIXTRACE_1':
            yield f'{name} has version {version}'
    yield from (f'exported, and not in {LIST.name}: {name}' for name in sorted(found - listed))
    yield from (f'in {LIST.name}, and not exported: {name}' for name in sorted(listed - found))

    yield from static_problems(static, listed)

    # Exactly the functions that the headers declare.
    headers = re.sub(r'/\*.*?\*/', '', ''.join((ROOT / 'include' / name).read_text() for name in HEADERS), flags=re.S)
    kinds = r'(?:int|void|trace_event_id_t|const char)\s+\*?'
    declared = set(re.findall(rf'^{kinds}(posix_?trace_\w+)\([^{{]*?\);', headers, re.M))
    functions = {name for name in listed if name.startswith(('posix_trace_', 'posixtrace_'))}
    standard = sum(name.startswith('posix_trace_') for name in functions)
    if standard != 50:
        yield f'{LIST.name}: {standard} functions of the standard, not 50'
    yield from (f'declared, and not in {LIST.name}: {name}' for name in sorted(declared - functions))
    yield from (f'in {LIST.name}, and not declared: {name}' for name in sorted(functions - declared))

    dynamic = output('readelf', '-dW', library)
    soname = re.findall(r'\(SONAME\).*\[(.*)\]', dynamic)
    if soname != ['libposixtrace.so.1']:
        yield f'its soname is {soname}'
    if not re.search(r'\(FLAGS_1\).*NODELETE', dynamic):
        yield 'it may be unloaded (H8): no NODELETE'
    needed = re.findall(r'\(NEEDED\).*\[(.*)\]', dynamic)
    sanitized = any(SANITIZED.match(name) for name in needed)
    for name in needed:
        if not NEEDED.fullmatch(name) or (not sanitized and re.match('libgcc_s|libm', name)):
            yield f'it depends on {name}'


finish(problems(sys.argv[1], sys.argv[2]))
