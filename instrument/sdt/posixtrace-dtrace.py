#!/usr/bin/env python3
#
# posixtrace-dtrace - makes the header for the probes of a program, as dtrace does, from a file that describes them
#
#     posixtrace-dtrace -h -s probes.d [-o probes.h]     macros that record events with the names and types of probes.d
#     posixtrace-dtrace -G -s probes.d [-o probes.o]     an object with the semaphores
#
# Accepts the command line of dtrace as builds use it, so that ./configure DTRACE=posixtrace-dtrace is all that a
# program needs. The header includes <sys/sdt.h>, the one of `pkg-config --cflags posixtrace-sdt`.
#
# SPDX-License-Identifier: MIT

import os
import re
import shlex
import subprocess
import sys
import tempfile

ARGUMENTS_MOST = 12
FIELD_MOST = 31

# Names of <sys/sdt.h>, because builds edit the header with sed: 's/char \*/const char */'.
TEXT, POINTER = 'posixtrace_sdt_text', 'posixtrace_sdt_pointer'

# The C type of an argument, by its type in the file. Of other types the compiler knows what they are.
TYPES = {
    'char': 'char', 'signed char': 'signed char', 'unsigned char': 'unsigned char',
    'short': 'short', 'unsigned short': 'unsigned short', 'int': 'int', 'unsigned int': 'unsigned int',
    'long': 'long', 'unsigned long': 'unsigned long', 'long long': 'long long',
    'unsigned long long': 'unsigned long long', 'float': 'float', 'double': 'double', 'long double': 'long double',
    'bool': 'bool', '_Bool': 'bool', 'string': TEXT,
    'int8_t': 'int8_t', 'int16_t': 'int16_t', 'int32_t': 'int32_t', 'int64_t': 'int64_t',
    'uint8_t': 'uint8_t', 'uint16_t': 'uint16_t', 'uint32_t': 'uint32_t', 'uint64_t': 'uint64_t',
    'intptr_t': 'intptr_t', 'uintptr_t': 'uintptr_t', 'size_t': 'size_t', 'ssize_t': 'ptrdiff_t',
    'ptrdiff_t': 'ptrdiff_t', 'uchar_t': 'unsigned char', 'ushort_t': 'unsigned short', 'uint_t': 'unsigned int',
    'ulong_t': 'unsigned long', 'longlong_t': 'long long', 'u_longlong_t': 'unsigned long long',
    'pid_t': 'int', 'uid_t': 'unsigned int', 'gid_t': 'unsigned int', 'off_t': 'int64_t',
}
WORDS = {'char', 'short', 'int', 'long', 'signed', 'unsigned', 'float', 'double'}
QUALIFIERS = {'const', 'volatile', 'restrict', 'register', '__const', '__restrict'}
TAGS = {'struct', 'union', 'enum', 'class'}


def stop(text):
    print(f'posixtrace-dtrace: {text}', file=sys.stderr)
    sys.exit(1)


# -- The file ----------------------------------------------------------------------------------------


def without_comments(text):
    """Replaces comments by a space, and keeps strings and the ends of lines."""
    def one(found):
        return found[0] if found[0][0] in '"\'' else ' ' + '\n' * found[0].count('\n')
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', one, text, flags=re.S)


def preprocessed(path, options):
    """Returns the text as the C preprocessor makes it (-C)."""
    command = shlex.split(os.environ.get('CPP', 'cc -E')) + ['-x', 'c', '-P', '-D__DTRACE__'] + options + [path]
    try:
        made = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    except OSError as error:
        stop(f'{command[0]}: {error.strerror}; the environment variable CPP names the preprocessor')
    if made.returncode:
        stop(f'{path}: the preprocessor has failed: {shlex.join(command)}')
    return made.stdout.decode(errors='replace')


def with_definitions(text):
    """Replaces the words that '#define WORD TYPE' defines, without -C, and removes directives."""
    defined, lines = {}, []
    for line in text.split('\n'):
        found = re.match(r'\s*#\s*define\s+(\w+)\s+(.*?)\s*$', line)
        if found:
            defined[found[1]] = found[2]
        if re.match(r'\s*#', line):
            line = ''
        lines.append(line)
    text = '\n'.join(lines)
    for _ in range(8):  # a definition may use an earlier one
        new = re.sub(r'\b[A-Za-z_]\w*\b', lambda word: defined.get(word[0], word[0]), text)
        if new == text:
            break
        text = new
    return text


def split(text, separator=','):
    """Splits at separators that are not inside of brackets."""
    parts, depth, begin = [], 0, 0
    for at, letter in enumerate(text):
        depth += letter in '([{'
        depth -= letter in ')]}'
        if letter == separator and depth == 0:
            parts.append(text[begin:at])
            begin = at + 1
    return parts + [text[begin:]]


def declared(text, typedefs):
    """Returns the C type of a parameter, or None if only the compiler knows it, and its name, which may be ''."""
    function = re.search(r'\(\s*\*\s*(\w*)\s*\)', text)
    if function:
        return None, function[1]
    array = '[' in text
    stars = text.count('*') + array
    words = re.findall(r'[A-Za-z_]\w*', re.sub(r'\[[^]]*\]', ' ', text))
    behind_star = re.search(r'\*[\s\w]*?([A-Za-z_]\w*)\s*(?:\[|$)', text.strip())
    words = [word for word in words if word not in QUALIFIERS]
    name = ''
    if behind_star and behind_star[1] not in QUALIFIERS:
        name = behind_star[1]
        words = words[:-1]
    elif '*' not in text and len(words) > 1 and words[-1] not in WORDS and not (len(words) == 2 and words[0] in TAGS):
        name = words.pop()
    if not words:
        return None, name
    return pointer_type(words, stars, typedefs), name


def number_type(words):
    """Returns the words of a number's type in the usual order: 'unsigned long'."""
    if not set(words) <= WORDS:
        return ' '.join(words)
    sign = 'unsigned' if 'unsigned' in words else 'signed' if 'signed' in words and 'char' in words else ''
    base = next((word for word in ('char', 'short', 'double', 'float') if word in words), '')
    if base != 'char' and base != 'short' and base != 'float':
        base = ' '.join(['long'] * words.count('long') + (['double'] if base else [])) or 'int'
    return f'{sign} {base}'.strip()


def pointer_type(words, stars, typedefs):
    known = number_type(words)
    for _ in range(8):
        if known in TYPES or known not in typedefs:
            break
        known, more = typedefs[known]
        stars += more
    if known == 'string':
        return TYPES[known] if stars == 0 else POINTER
    if stars:
        return TEXT if known == 'char' and stars == 1 else POINTER
    return TYPES.get(known)


def parse(text, path):
    """Returns the probes: provider, name, and the parameters, each a type and a name."""
    typedefs, probes = {}, []
    for found in re.finditer(r'\btypedef\s+([^;{}]*?)(\w+)\s*;', text):
        words = [word for word in re.findall(r'[A-Za-z_]\w*', found[1]) if word not in QUALIFIERS]
        typedefs[found[2]] = number_type(words), found[1].count('*')
    providers = list(re.finditer(r'\bprovider\s+(\w+)\s*\{', text))
    if not providers:
        stop(f'{path}: has no "provider NAME {{ ... }};"')
    for provider in providers:
        end = text.find('}', provider.end())
        if end < 0:
            stop(f'{path}: provider {provider[1]} does not end: a "}}" is missing')
        for statement in text[provider.end():end].split(';'):
            statement = ' '.join(statement.split())
            if not statement:
                continue
            found = re.match(r'probe\s+([\w-]+)\s*(?:\((.*)\))?$', re.sub(r'\)\s*:\s*\(.*', ')', statement))
            if not found:
                stop(f'{path}: not "probe NAME(ARGUMENTS)" in provider {provider[1]}: {statement}')
            probes.append((provider[1], found[1].replace('-', '__'), parameters(found[2] or '', typedefs)))
            if len(probes[-1][2]) > ARGUMENTS_MOST:
                stop(f'{path}: {found[1]} has more than {ARGUMENTS_MOST} arguments')
    return probes


def parameters(text, typedefs):
    if text.strip() in ('', 'void'):
        return []
    found, used = [], set()
    for number, part in enumerate(split(text), 1):
        # Behind a colon is what a translator makes of the argument.
        kind, name = declared(split(part, ':')[0], typedefs)
        name = name[:FIELD_MOST] or f'arg{number}'
        if name in used:
            name = f'arg{number}'
        used.add(name)
        found.append((kind, name))
    return found


# -- What is made of it ----------------------------------------------------------------------------


def macro_name(provider, name):
    return f'{provider}_{name}'.upper().replace('__', '_')


def header(probes):
    guard = '_' + re.sub(r'\W', '_', probes[0][0] if probes else 'EMPTY').upper() + '_PROBES_OF_POSIXTRACE'
    lines = [f'/* Made by posixtrace-dtrace. */', f'#ifndef {guard}', f'#define {guard}', '', '#include <sys/sdt.h>', '',
             '#ifndef POSIXTRACE_SDT', '# error "sys/sdt.h is not that of posixtrace: compile with '
             '`pkg-config --cflags posixtrace-sdt`"', '#endif', '', '#ifdef __cplusplus', 'extern "C" {', '#endif', '']
    for provider, name, fields in probes:
        macro = macro_name(provider, name)
        names = ', '.join(f'arg{i + 1}' for i in range(len(fields)))
        values = ''.join(f', ({kind})(arg{i + 1})' if kind else f', arg{i + 1}'
                         for i, (kind, _) in enumerate(fields))
        lines += [f'#define {macro}({names}) \\',
                  f'\tPOSIXTRACE_SDT({len(fields)}, "{provider}:{name}", "{",".join(n for _, n in fields)}"{values})',
                  f'#define {macro}_ENABLED() POSIXTRACE_ENABLED()',
                  f'extern unsigned short {provider}_{name}_semaphore;']
    return '\n'.join(lines + ['', '#ifdef __cplusplus', '}', '#endif', '', '#endif', ''])


def source(probes):
    """Returns the source of the object: the semaphores, and where <sys/sdt.h> finds them to set them."""
    names = sorted({f'{provider}_{name}_semaphore' for provider, name, _ in probes})
    lines = [f'unsigned short {name} __attribute__((section(".probes")));' for name in names]
    if names:
        lines.append('static unsigned short *semaphores[] __attribute__((used, section("posixtrace_sdt_flags"))) = {')
        lines += [f'\t&{name},' for name in names]
        lines.append('};')
    return '\n'.join(lines + [''])


def compile_object(text, output, options):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'probes.c')
        with open(path, 'w') as file:
            file.write(text)
        command = shlex.split(os.environ.get('CC', 'cc')) + ['-fPIC'] + options + ['-c', '-o', output, path]
        try:
            code = subprocess.call(command)
        except OSError as error:
            stop(f'{command[0]}: {error.strerror}; the environment variable CC names the compiler')
        if code:
            stop(f'{output}: the compiler has failed')


# -- The command line --------------------------------------------------------------------------------


def main(arguments):
    made = path = output = None
    cpp, for_cpp, for_cc = False, [], []
    rest = list(arguments)

    def value(option):
        if len(option) > 2:
            return option[2:]
        if not rest:
            stop(f'{option} needs an argument')
        return rest.pop(0)

    while rest:
        option = rest.pop(0)
        if option in ('-h', '-G'):
            made = option
        elif option == '--help':
            print('usage: posixtrace-dtrace [-C [-I DIR] [-D NAME]] -h | -G -s FILE.d [-o OUTPUT]')
            return
        elif option in ('-V', '--version'):
            print('posixtrace-dtrace')
            return
        elif option == '-C':
            cpp = True
        elif option[:2] == '-s':
            path = value(option)
        elif option[:2] == '-o':
            output = value(option)
        elif option[:2] in ('-I', '-D', '-U'):
            for_cpp.append(option[:2] + value(option))
        elif option in ('-32', '-64'):
            for_cc.append('-m' + option[1:])
        elif option[:2] in ('-x', '-L', '-b'):
            value(option)
        elif option[:2] in ('-f', '-m', '-g', '-O'):
            for_cc.append(option)
        # Others change nothing here: -k, -types. Objects behind -G have nothing to be changed.
    if not made:
        stop('-h or -G is missing: -h makes a header, -G an object')
    if not path:
        stop('-s FILE.d is missing')
    base = os.path.splitext(os.path.basename(path))[0]
    output = output or base + ('.h' if made == '-h' else '.o')
    try:
        if cpp:
            text = preprocessed(path, for_cpp)
        else:
            with open(path, errors='replace') as file:
                text = with_definitions(without_comments(file.read()))
    except OSError as error:
        stop(f'{path}: {error.strerror}')
    if cpp:
        text = with_definitions(without_comments(text))
    probes = parse(text, path)
    if made == '-G':
        compile_object(source(probes), output, for_cc)
        return
    if output == '-':
        sys.stdout.write(header(probes))
        return
    try:
        with open(output, 'w') as file:
            file.write(header(probes))
    except OSError as error:
        stop(f'{output}: {error.strerror}')


main(sys.argv[1:])
