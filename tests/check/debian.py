#
# debian.py - the Debian packages have what the build installs, its version, and the names that its libraries export
#
#     debian.py BUILD SHARED LOG_SHARED
#
# Libraries that stand before the C library compile with the options of a Debian build, which change its headers.
# script/test-more builds and installs the packages; this check needs neither debhelper nor root.
#
# SPDX-License-Identifier: MIT

import json
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from check import ROOT, finish, spoiled

BUILD = Path(sys.argv[1])
LIBRARIES = {'libposixtrace': sys.argv[2], 'libposixtrace-log': sys.argv[3]}
MAPS = {'libposixtrace': 'src/posixtrace.map', 'libposixtrace-log': 'reader/posixtrace-log.map'}
# A build may be without these parts.
OPTIONAL = ['python3-posixtrace', 'babeltrace2-plugin-posixtrace']
# Packages of meson.build for parts that are not installed.
NOT_INSTALLED = {'libsqlite3-dev', 'liblttng-ust-dev'}


def introspected(name):
    return json.loads((BUILD / 'meson-info' / f'intro-{name}.json').read_text())


def installed():
    """Yields what the build installs, at the place where a Debian build has it."""
    option = {o['name']: o['value'] for o in introspected('buildoptions')}
    plugins = option['babeltrace2-plugins']
    libraries = f'usr/{option["libdir"].removeprefix(option["prefix"]).strip("/")}/'
    for path in introspected('installed').values():
        if plugins and path.startswith(plugins):
            path = f'{option["prefix"]}/{option["libdir"]}/babeltrace2/plugins/{Path(path).name}'
        path = ('usr' + path.removeprefix(option['prefix'])) if path.startswith(option['prefix']) else path.lstrip('/')
        path = re.sub(r'^usr/lib(64)?/python3[^/]*/(dist|site)-packages/', 'usr/lib/python3/dist-packages/', path)
        if path.startswith(libraries) and not path.startswith('usr/lib/python3'):
            path = f'usr/lib/multiarch/{path.removeprefix(libraries)}'
        if not Path(path).name.startswith('libtrace.'):  # -Dlibtrace=true
            yield path


def pattern(line):
    """Returns the regular expression of a line of a .install file: a file, or a folder with all that is in it."""
    return re.compile(re.escape(line).replace(r'\*', '[^/]*') + '(/.*)?')


def check_files(root):
    patterns = [(path.stem, line) for path in sorted((root / 'debian').glob('*.install'))
                for line in path.read_text().split('\n') if line]
    used = set()
    for path in sorted(set(installed())):
        found = [(package, line) for package, line in patterns if pattern(line).fullmatch(path)]
        used.update(found)
        if len(found) != 1:
            yield f'{path} is in {len(found)} packages: {", ".join(package for package, _ in found)}'
    for package, line in patterns:
        if package not in OPTIONAL and (package, line) not in used:
            yield f'debian/{package}.install: nothing is installed as {line}'


def check_control(root):
    control = (root / 'debian' / 'control').read_text()
    packages = set(re.findall(r'^Package: (.*)', control, re.M))
    for path in sorted((root / 'debian').glob('*.install')):
        if path.stem not in packages:
            yield f'debian/control: no {path.stem}'
    for package in sorted(packages):
        if not (root / 'debian' / f'{package}.install').exists():
            yield f'debian/: no {package}.install'
    needed = set(re.findall(r"'([\w-]+-dev)'", (ROOT / 'meson.build').read_text())) - NOT_INSTALLED
    built_with = control.split('Package:')[0]
    for package in sorted(needed):
        if not re.search(rf'^ {package}\b', built_with, re.M):
            yield f'debian/control: Build-Depends has no {package}'
    for test in re.findall(r'^Tests: (.*)', (root / 'debian' / 'tests' / 'control').read_text(), re.M):
        if not (root / 'debian' / 'tests' / test).exists():
            yield f'debian/tests/: no {test}'


def check_version(root):
    version = re.search(r"version: '(.*?)'", (ROOT / 'meson.build').read_text())[1]
    latest = re.match(r'posixtrace \((.*?)\)', (root / 'debian' / 'changelog').read_text())
    if not latest or latest[1] != version:
        yield f'debian/changelog: its first line is not that of version {version}'
    if f'\nversion = "{version}"\n' not in (root / 'python' / 'pyproject.toml').read_text():
        yield f'python/pyproject.toml: its version is not {version}'


def exported(library):
    """Returns the names that a library exports, with their versions."""
    out = subprocess.run(['nm', '-D', '--defined-only', library], check=True, capture_output=True, text=True).stdout
    names = [line.split()[-1] for line in out.splitlines()]
    return {name.replace('@@', '@') if '@' in name else f'{name}@{name}' for name in names}


def check_symbols(root):
    for name, library in LIBRARIES.items():
        dynamic = subprocess.run(['readelf', '-dW', library], check=True, capture_output=True, text=True).stdout
        soname = re.search(r'\(SONAME\).*\[(.*)\]', dynamic)[1]
        path = root / 'debian' / f'{name}{soname.split(".so.")[1]}.symbols'
        if not path.exists():
            yield f'debian/: {soname} has no {path.name}'
            continue
        first, *lines = path.read_text().splitlines()
        if first.split()[:2] != [soname, path.stem]:
            yield f'debian/{path.name}: its first line is not of {soname} in {path.stem}'
        listed = {line.split()[0] for line in lines if line.startswith(' ')}
        yield from (f'debian/{path.name}: no {symbol}' for symbol in sorted(exported(library) - listed))
        yield from (f'debian/{path.name}: {symbol} is not exported' for symbol in sorted(listed - exported(library)))
        releases = set(re.findall(r'^(\w+) \{', (ROOT / MAPS[name]).read_text(), re.M))
        for release in sorted(releases ^ {symbol.split('@')[1] for symbol in listed}):
            yield f'debian/{path.name}: {release} is not in it and in {MAPS[name]}'


def fails_fortified(entry, without=()):
    """Returns whether a file of the build does not compile with the options of a Debian build that change headers."""
    words = [word for word in shlex.split(entry['command']) if word not in without]
    first = next(at for at, word in enumerate(words) if word.startswith('-'))
    words[first:first] = ['-D_FORTIFY_SOURCE=2', '-fstack-protector-strong']
    words[words.index('-o') + 1] = '/dev/null'
    done = subprocess.run([*words, '-O1', '-MF', '/dev/null'], cwd=entry['directory'], capture_output=True, text=True)
    return done.stderr if done.returncode else ''


def check_fortified():
    """Compiles the libraries that define functions of the C library."""
    entries = [entry for entry in json.loads((BUILD / 'compile_commands.json').read_text())
               if '/instrument/' in entry['file'] and '/tests/' not in entry['file']]
    with ThreadPoolExecutor(2) as pool:
        for entry, said in zip(entries, pool.map(fails_fortified, entries)):
            if said:
                yield f'{entry["file"]} does not compile with -D_FORTIFY_SOURCE=2:\n{said}'
    for entry in entries:
        jumps = entry['file'].endswith('/jumps.c') and 'musl' not in entry['command']
        if jumps and not fails_fortified(entry, ['-U_FORTIFY_SOURCE']):
            yield f'the check itself: {entry["file"]} compiles with -D_FORTIFY_SOURCE=2 in any case'


def check(root):
    yield from check_files(root)
    yield from check_control(root)
    yield from check_version(root)
    yield from check_symbols(root)


def all_problems():
    yield from check(ROOT)
    yield from check_fortified()
    yield from spoiled(
        check, ['debian', 'python'],
        ('debian/posixtrace.install', 'usr/share/man/man1\n', ''),
        ('debian/posixtrace.install', None, 'usr/bin/other\n'),
        ('debian/libposixtrace1.install', None, 'usr/include/trace.h\n'),
        ('debian/control', 'Package: posixtrace\n', 'Package: other\n'),
        ('debian/control', ' libdw-dev,\n', ''),
        ('debian/tests/control', None, '\nTests: other\n'),
        ('debian/changelog', '(0', '(1'),
        ('python/pyproject.toml', 'version = "', 'version = "9'),
        ('debian/libposixtrace1.symbols', ' posixtrace_declare@', ' posixtrace_declared@'),
        ('debian/libposixtrace-log1.symbols', 'libposixtrace-log.so.1', 'libposixtrace-log.so.2'))


finish(all_problems())
