#
# typed.py - <posixtrace/typed.h> in every language mode, and that wrong uses do not compile
#
# usage: typed.py INCLUDE_DIRECTORY
#
# Runs the compilers that are installed, with all warnings as errors. A mode that a compiler does not know is left out.
#
# SPDX-License-Identifier: MIT

import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from check import finish

INCLUDE = sys.argv[1]
WARNINGS = ['-Wall', '-Wextra', '-Wpedantic', '-Wshadow', '-Wvla', '-Werror', '-O1']
C = ['c99', 'gnu99', 'c11', 'gnu11', 'c17', 'gnu2x']
CXX = ['c++11', 'c++14', 'gnu++17', 'c++20', 'c++2b']

HEAD = '''
#define POSIXTRACE_SHORT_NAMES
#include <posixtrace/typed.h>
'''
WITHIN_C = '''
#define POSIXTRACE_SHORT_NAMES
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
extern "C" {
#include <posixtrace/typed.h>
}
'''
USE = HEAD + '''
#include <stdbool.h>
/* Fields may have the names of these, and of functions that the header calls. */
static unsigned id = 1, strlen_of = 2;
TRACE_EVENT(shop, open)
TRACE_EVENT(shop, order, (u32, id), (str, item), (u64, price, "ct"))
TRACE_EVENT(shop, a, (u8, a), (u16, b, "B"), (i8, c), (i64, d), (x32, e), (f32, f), (f64, g, "%"), (boolean, h),
            (ptr, i), (code, j), (when, k), (e8, l, "idle,busy=4"), (e16, m, "read|write"), (str, n, 8), (e32, o),
            (str, p))
TRACE_EVENT(shop, text, (text, a), (text, b, 9))
TRACE_EVENT(shop, sizes, (u32s, sizes, 16), (bytes, key, 32), (x64s, more), (f64s, times, 3, "ms"), (bytes, rest))
TRACE_EVENT(shop, arrays, (u8s, a), (u16s, b), (u32s, c), (u64s, d), (i8s, e), (i16s, f), (i32s, g), (i64s, h),
            (x8s, i), (x16s, j), (x32s, k), (x64s, l), (f32s, m), (f64s, n), (u8s, o, 65535), (u64s, p, 1))
TRACE_EVENT_AS(shop, in, "begin=shop.order,by=id", (u32, id))
TRACE_EVENT(shop, names_of, (u32, memcpy), (u32, name), (u32, size), (bytes, bytes), (text, text))
TRACE_EVENT(shop_names, of, (u32, id), (u32, strlen_of), (code, code))
struct bits {
	unsigned few : 3;
};
POSIXTRACE_EVENT_AS(shop, query, "took=time", (u64, time, "us"), (str, sql))
#define LETTER(n, value, letter) extern char letter_##n[POSIXTRACE__LETTER(value) == (letter) ? 1 : -1];
LETTER(1, 1, 'i') LETTER(2, 1U, 'u') LETTER(3, 1L, sizeof(long) == 8 ? 'I' : 'i')
LETTER(4, 1UL, sizeof(long) == 8 ? 'U' : 'u') LETTER(5, 1LL, 'I') LETTER(6, 1ULL, 'U') LETTER(7, (bool)1, 'b')
LETTER(8, 0.5F, 'f') LETTER(9, 0.5, 'f') LETTER(10, 0.5L, 'L') LETTER(11, "tea", 'z') LETTER(12, (char *)0, 'z')
LETTER(13, (void *)0, 'p') LETTER(14, (const void *)0, 'p') LETTER(15, (char)1, 'i') LETTER(16, (signed char)1, 'i')
LETTER(17, (unsigned char)1, 'i') LETTER(18, (short)1, 'i') LETTER(19, (unsigned short)1, 'i')
void use(unsigned n, const char *text);
void use(unsigned n, const char *text)
{
	TRACE_SCOPE("shop.use");
	struct bits bits = { 3 };
	TRACE_COUNTER("shop.counter", n);
	TRACE_COUNTER("shop.counter", 0.5F);
	TRACE_COUNTER("shop.counter", (long double)n);
	TRACE_COUNTER("shop.counter", sizeof n);
	TRACE_COUNTER("shop.counter", n == 1);
	TRACE_COUNTER("shop.counter", bits.few);
	trace(shop, names_of, 1, 2, 3, POSIXTRACE_BYTES(text, 1), POSIXTRACE_TEXT(text, 1));
	trace(shop_names, of, id, strlen_of, POSIXTRACE_CODE(use));
	trace(shop, open);
	trace(shop, in, n);
	trace(shop, query, n, text);
	if (n)
		trace(shop, order, n, text, 199);
	else
		trace(shop, order, 1, "tea", n);
	trace(shop, a, 1, 2, -3, -4, 5, 0.5F, 0.5, true, text, text, 6, 7, 8, text, 9, text);
	POSIXTRACE(shop, open);
	tracef("shop.note", "order %d of %s", (int)n, text);
	tracef("shop.note", "nothing");
	if (n)
		tracef("shop.one", "%s", text);
	else
		POSIXTRACE_F("shop.all", "%u %c %ld %llu %f %Lf %p %s %d %zu", n, 'c', -1L, 2ULL, 0.5F, (long double)n,
		             (const void *)text, "text", n == 7, sizeof n);
	POSIXTRACE(shop, text, POSIXTRACE_TEXT(text, n), POSIXTRACE_TEXT("tea", 3));
	{
		const uint32_t sizes[] = { 1, 2, 3 };
		uint8_t u8[2] = { 1, 2 };
		uint16_t u16[2] = { 1, 2 };
		uint64_t u64 = n;
		int8_t i8[2] = { 1, 2 };
		const int16_t i16[2] = { 1, 2 };
		int32_t i32[2] = { 1, 2 };
		int64_t i64[2] = { 1, 2 };
		float f32[2] = { 1, 2 };
		static double f64[2] = { 1, 2 };

		trace(shop, sizes, POSIXTRACE_ARRAY(sizes, n), POSIXTRACE_BYTES(text, n), POSIXTRACE_ARRAY(&u64, 1),
		      POSIXTRACE_ARRAY(f64 + 1, 1), POSIXTRACE_BYTES(i32, sizeof i32));
		trace(shop, arrays, POSIXTRACE_ARRAY(u8, 2), POSIXTRACE_ARRAY(u16, 2), POSIXTRACE_ARRAY(sizes, 3),
		      POSIXTRACE_ARRAY(&u64, 1), POSIXTRACE_ARRAY(i8, 2), POSIXTRACE_ARRAY(i16, 2),
		      POSIXTRACE_ARRAY(i32, n), POSIXTRACE_ARRAY(i64, 2), POSIXTRACE_ARRAY(u8, 2),
		      POSIXTRACE_ARRAY(u16, 2), POSIXTRACE_ARRAY(sizes, 3), POSIXTRACE_ARRAY(&u64, 1),
		      POSIXTRACE_ARRAY(f32, 2), POSIXTRACE_ARRAY(f64, 2), POSIXTRACE_ARRAY(u8, 2),
		      POSIXTRACE_ARRAY(&u64, 1));
	}
}
'''
WRONG = {
    'too few values': 'trace(shop, order, 1);',
    'too many values': 'trace(shop, order, 1, "tea", 2, 3);',
    'a number for a text': 'trace(shop, order, 1, 2, 3);',
    'a text for a number': 'trace(shop, order, "one", "tea", 3);',
    'an event that is not defined': 'trace(shop, unknown);',
    'an array of signed numbers': 'int32_t sizes[2] = { 1, 2 }; trace(shop, sizes, POSIXTRACE_ARRAY(sizes, 2), KEY);',
    'an array of longer numbers': 'uint64_t sizes[2] = { 1, 2 }; trace(shop, sizes, POSIXTRACE_ARRAY(sizes, 2), KEY);',
    'an array of pointers': 'void *sizes[2] = { 0, 0 }; trace(shop, sizes, POSIXTRACE_ARRAY(sizes, 2), KEY);',
    'an array of anything': 'uint32_t size = 1; void *sizes = &size; '
                            'trace(shop, sizes, POSIXTRACE_ARRAY(sizes, 1), KEY);',
    'a note with a format that is no literal': 'const char *f = "order %d"; tracef("shop.note", f, 1);',
    'a note with a name that is no literal': 'const char *n = "shop.note"; tracef(n, "order %d", 1);',
    'a note with too few arguments': 'tracef("shop.note", "order %d of %s", 1);',
    'a note with too many arguments': 'tracef("shop.note", "order %d", 1, 2);',
    'a note with a text for a number': 'tracef("shop.note", "order %d", "one");',
    'a note with a long number for a number': 'tracef("shop.note", "order %d", 1L);',
    'a note with a pointer to an array': 'int x[2] = { 1, 2 }; tracef("shop.note", "order %n", x);',
    'a note with 11 arguments': 'tracef("shop.note", "%d%d%d%d%d%d%d%d%d%d%d", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);',
    'a note with a name of 64 bytes': 'tracef("' + 'n' * 64 + '", "nothing");',
    'a scope with a name of 58 bytes': 'TRACE_SCOPE("' + 'n' * 58 + '");',
    'a scope without a name': 'TRACE_SCOPE("");',
    'a counter with a name of 64 bytes': 'TRACE_COUNTER("' + 'n' * 64 + '", 1);',
    'a counter with a name that is no literal': 'const char *n = "shop.note"; TRACE_COUNTER(n, 1);',
    'a text for a counter': 'TRACE_COUNTER("shop.note", "one");',
    'a jump over a scope': 'if (sizeof(int) == 4) goto out; TRACE_SCOPE("shop.note"); out: (void)0;',
    'a case behind a scope': 'switch (sizeof(int)) { case 4:; TRACE_SCOPE("shop.note"); break; default: break; }',
    'a number for an array': 'trace(shop, sizes, 7, KEY);',
    'a pointer for an array': 'uint32_t sizes[2] = { 1, 2 }; trace(shop, sizes, sizes, KEY);',
    'bytes for an array': 'trace(shop, sizes, KEY, KEY);',
    'an array for bytes': 'uint32_t sizes[2] = { 1, 2 }; '
                          'trace(shop, sizes, POSIXTRACE_ARRAY(sizes, 2), POSIXTRACE_ARRAY(sizes, 2));',
}
EVENT = """TRACE_EVENT(shop, order, (u32, id), (str, item), (u64, price, "ct"))
TRACE_EVENT(shop, sizes, (u32s, sizes, 16), (bytes, key, 32))
#define KEY POSIXTRACE_BYTES("key", 3)
"""
WRONG_EVENTS = {
    'a type that does not exist': 'TRACE_EVENT(shop, x, (u99, id))',
    'a type of C': 'TRACE_EVENT(shop, x, (int, id))',
    'a type of C that is a macro': 'TRACE_EVENT(shop, x, (bool, ok))',
    'a name of 64 bytes': f'TRACE_EVENT(shop, {"n" * 59})',
    'the same field twice': 'TRACE_EVENT(shop, x, (u32, id), (u32, id))',
    'the same event twice': EVENT + EVENT,
    'a field with the name of the counter': 'TRACE_EVENT(shop, x, (u32, n_sizes), (u32s, sizes))',
    'a field with the name of the counter of bytes': 'TRACE_EVENT(shop, x, (bytes, key), (u32, n_key))',
    'an array of a name of 30 bytes': f'TRACE_EVENT(shop, x, (u32s, {"n" * 30}))',
    'an array of 0 items': 'TRACE_EVENT(shop, x, (u32s, sizes, 0))',
    'an array of 65536 items': 'TRACE_EVENT(shop, x, (u32s, sizes, 65536))',
    'bytes with a unit': 'TRACE_EVENT(shop, x, (bytes, key, 3, "B"))',
    'a field that is a macro with a call': '#define errno (*f())\nTRACE_EVENT(shop, x, (i32, errno))',
    'a field that is a macro with a number': '#define LINE 7\nTRACE_EVENT(shop, x, (i32, LINE))',
    'a field that is a macro with an array': '#define item data[3]\nTRACE_EVENT(shop, x, (str, item))',
    'a field that is a macro with nothing': '#define far\nTRACE_EVENT(shop, x, (i32, far))',
    '17 fields': 'TRACE_EVENT(shop, x, ' + ', '.join(f'(u8, f{n})' for n in range(17)) + ')',
    '17 fields with a meaning': 'TRACE_EVENT_AS(shop, x, "counter", '
                                + ', '.join(f'(u8, f{n})' for n in range(17)) + ')',
}
# What the compiler says about them.
MESSAGES = {
    '17 fields': 'an event has up to 16 fields',
    '17 fields with a meaning': 'an event has up to 16 fields',
    'a note with 11 arguments': 'tracef() takes up to 10 arguments',
    'a scope with a name of 58 bytes': 'the name of an event has at most 63 bytes',
    'a scope without a name': 'a scope has a name',
    'a type of C': 'posixtrace_write_i32_for_int',
    'a type of C that is a macro': 'posixtrace_write_boolean_for_bool',
    'a counter with a name of 64 bytes': 'the name of an event has at most 63 bytes',
}


def compiles(compiler, mode, text, options=()):
    language = 'c++' if '+' in mode else 'c'
    done = subprocess.run([compiler, f'-std={mode}', *WARNINGS, *options, f'-I{INCLUDE}', '-c', '-o', '/dev/null', '-x',
                           language, '-'], input=text, capture_output=True, text=True, check=False)
    return done.returncode == 0, done.stderr


def try_mode(compiler, mode):
    """Returns the problems, or None if the compiler does not know the mode."""
    if not compiles(compiler, mode, 'extern int nothing;\n')[0]:
        return None
    found = []
    for options in ((), ('-D__POSIX_TRACE_NO_INLINE',), ('-O3',), ('-Os',), ('-Og',)):
        good, messages = compiles(compiler, mode, USE, options)
        if not good:
            found.append(f'{compiler} -std={mode} {" ".join(options)}: {messages}')
    if '+' in mode:
        good, messages = compiles(compiler, mode, WITHIN_C + USE)
        if not good:
            found.append(f'{compiler} -std={mode} within extern "C": {messages}')
    return found


def try_wrong(compiler, mode):
    texts = {what: EVENT + f'void use(void);\nvoid use(void) {{ {text} }}' for what, text in WRONG.items()}
    for what, text in (texts | WRONG_EVENTS).items():
        good, messages = compiles(compiler, mode, HEAD + text + '\n')
        if good:
            yield f'{compiler} -std={mode} compiles {what}'
        elif MESSAGES.get(what, '') not in messages:
            yield f'{compiler} -std={mode} does not say "{MESSAGES[what]}" about {what}:\n{messages}'


def problems():
    pairs = [(compiler, mode) for compilers, modes in ((('gcc', 'clang'), C), (('g++', 'clang++'), CXX))
             for compiler in compilers if shutil.which(compiler) for mode in modes]
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda pair: try_mode(*pair), pairs))
    tried = [found for found in results if found is not None]
    if len(tried) < 3:
        yield f'only {len(tried)} language modes were tried'
    for found in tried:
        yield from found
    for compiler, mode in (('gcc', 'c99'), ('gcc', 'c11'), ('clang', 'c11'), ('g++', 'c++17')):
        if shutil.which(compiler):
            yield from try_wrong(compiler, mode)


finish(problems())
