#
# header.py - <posixtrace/log.h> in every language mode, and the names and needs of its library
#
#     header.py INCLUDE_DIRECTORY SHARED STATIC
#
# SPDX-License-Identifier: MIT

import re
import shutil
import subprocess
import sys
from pathlib import Path

INCLUDE, SHARED, STATIC = (Path(path).resolve() for path in sys.argv[1:])
WARNINGS = ['-Wall', '-Wextra', '-Wpedantic', '-Wshadow', '-Werror']
MODES = {'gcc': ['c99', 'c11', 'gnu17'], 'clang': ['c99', 'c11', 'gnu17'], 'g++': ['c++98', 'c++11', 'c++17', 'c++20'],
         'clang++': ['c++11', 'c++17', 'c++20']}
NEEDED = re.compile(r'libc\.so\.\d+|libc\.musl\S*|ld-\S*\.so\.\d+|lib(?:asan|ubsan|tsan|gcc_s|m)\.so\.\d+')
# Calls from C++ and from C; event, column and origin are used by value only where the caller makes them.
USE = '''
#include <posixtrace/log.h>
int use(const char *path);
int use(const char *path)
{
	struct posixtrace_log *log;
	const struct posixtrace_log_event *event;
	struct posixtrace_log_column column = { POSIXTRACE_LOG_TIME, POSIXTRACE_LOG_UINT64, 0, 0 };
	struct posixtrace_log_writer *writer;
	size_t rows;
	uint64_t value = 0;

	if (posixtrace_log_open(path, &log) != 0)
		return posixtrace_log_error()[0];
	while (posixtrace_log_next(log, &event) == 0 && event)
		if (event->type && posixtrace_log_get_unsigned(event, 0, 0, &value) == 0)
			value += event->data[0];
	posixtrace_log_read(log, 0, &column, 1, 10, &rows);
	posixtrace_log_close(log);
	return posixtrace_log_create(path, 0, &writer) == 0 ? posixtrace_log_finish(writer) : (int)value;
}
'''


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def compilers():
    tried = 0
    for compiler, modes in MODES.items():
        for mode in modes if shutil.which(compiler) else []:
            language = 'c++' if '+' in mode else 'c'
            # long long and variadic macros are newer than C++98, but every compiler has them.
            warnings = WARNINGS if mode != 'c++98' else [*WARNINGS, '-Wno-long-long']
            command = [compiler, f'-std={mode}', *warnings, f'-I{INCLUDE}', '-c', '-o', '/dev/null', '-x', language,
                       '-']
            done = subprocess.run(command, input=USE, capture_output=True, text=True, check=False)
            tried += 1
            if done.returncode:
                yield f'{compiler} -std={mode}: {done.stderr}'
    if tried < 3:
        yield f'only {tried} language modes were tried'


def names():
    text = re.sub(r'/\*.*?\*/', '', (INCLUDE / 'posixtrace' / 'log.h').read_text(), flags=re.S)
    declared = set(re.findall(r'\b(posixtrace_log_\w+)\(', text))
    shared = set()
    for line in output('nm', '-D', '--defined-only', SHARED).splitlines():
        _, kind, name = line.split()
        name, _, version = name.partition('@@')
        if kind != 'A':
            shared.add(name)
            if version != 'POSIXTRACE_LOG_1':
                yield f'{name} has the version {version}'
    static = {line.split()[2] for line in output('nm', '-g', '--defined-only', STATIC).splitlines()
              if len(line.split()) == 3}
    for library, found in (('shared', shared), ('static', static)):
        yield from (f'{name}: declared, and not in the {library} library' for name in sorted(declared - found))
        yield from (f'{name}: in the {library} library, and not declared' for name in sorted(found - declared))
    dynamic = output('readelf', '-dW', SHARED)
    for name in re.findall(r'\(NEEDED\).*\[(.*)\]', dynamic):
        if not NEEDED.fullmatch(name):
            yield f'it depends on {name}'
    if re.findall(r'\(SONAME\).*\[(.*)\]', dynamic) != ['libposixtrace-log.so.1']:
        yield 'its soname is not libposixtrace-log.so.1'


problems = [*compilers(), *names()]
for problem in problems:
    print(problem)
print(f'{len(problems)} problems')
sys.exit(bool(problems))
