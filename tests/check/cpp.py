#
# cpp.py - <posixtrace/trace.hpp>, tracy.hpp and perfetto.hpp in every language mode, and that wrong uses do not compile
#
# usage: cpp.py INCLUDE_DIRECTORY
#
# Runs the compilers that are installed, with all warnings as errors. A mode that a compiler does not know is left out.
#
# SPDX-License-Identifier: MIT

import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from check import finish

INCLUDE = sys.argv[1]
WARNINGS = ['-Wall', '-Wextra', '-Wpedantic', '-Wshadow', '-Wconversion', '-Wsign-conversion', '-Werror']
MODES = ['c++17', 'gnu++17', 'c++20', 'c++2b']
OPTIONS = [['-O2'], ['-O0', '-fno-exceptions', '-fno-rtti', '-fPIC']]

HEAD = '''
#include <posixtrace/trace.hpp>
#include <array>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>
'''
# The values of each kind, in both forms of an event.
USE = HEAD + '''
using namespace std::chrono_literals;
enum class how { cash, card };
constexpr const char *posixtrace_labels(how) { return "cash,card"; }
enum mode : unsigned { off, on };
struct named { std::string name; };
inline const std::string &posixtrace_value(const named &n) { return n.name; }
struct bits { unsigned a : 3; unsigned b : 5; };

constexpr posixtrace::typed_event<> empty{"shop.empty"};
static constexpr posixtrace::typed_event<int, std::string, long> order{"shop.order", "id", "item", "price/ct"};
constexpr posixtrace::typed_event<std::vector<int>, std::optional<float>, how, std::chrono::milliseconds, const void *,
	std::chrono::system_clock::time_point, std::optional<std::string>, named> typed{
	"shop.typed", "a", "b", "c", "d", "e", "f", "g", "h"};
void use(unsigned n, const char *text, volatile int &changing);
void use(unsigned n, const char *text, volatile int &changing)
{
	std::string string(text);
	std::vector<int> vector{1, 2};
	bits b{1, 2};
	volatile bool flag = n > 1;

	empty();
	order(1, "tea", 199);
	order(2, string, 199);
	order(3, std::string_view(string), static_cast<long>(n));
	typed(vector, 0.5F, how::card, 3s, text, std::chrono::system_clock::now(), string, named{"name"});
	if (order)
		order(4, text + n, 1);
	POSIXTRACE_SCOPE("shop.scope");
	POSIXTRACE_COUNTER("shop.macro", n);
#if __cplusplus >= 202002L
	posixtrace::event<"shop.deduced", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j"> deduced;
	posixtrace::event<"shop.deduced2", "a", "b", "c", "d", "e", "f", "g", "h/B"> deduced2;
	posixtrace::event<"shop.none"> none;
	posixtrace::counter<"shop.count"> count;
	posixtrace::span<"shop.work"> work;
	posixtrace::span<"shop.work2", "id"> work2{n};

	deduced(true, 'c', 2ULL, 0.5, how::cash, on, 3ms, std::chrono::steady_clock::now(), nullptr, vector);
	deduced2(text, string, std::array<double, 2>{}, std::optional<int>(), named{"n"}, posixtrace::text<9>(text),
	         posixtrace::array<1>(vector), b.a);
	posixtrace::event<"shop.volatile", "a">{}(changing);
	posixtrace::event<"shop.volatile2", "a">{}(flag);
	POSIXTRACE_COUNTER("shop.flag", flag);
	POSIXTRACE_F("shop.flag2", "is %d", flag);
	none();
	count(n);
	work2.end();
	auto generic = [&](auto... values) { posixtrace::event<"shop.generic", "a", "b">{}(values...); };
	generic(1, "a");
	generic(2, string);
#else
	(void)b;
	(void)flag;
	changing = 0;
#endif
}
'''
TOOL = Path(__file__).resolve().parent.parent / 'tool'
EVENT = 'constexpr posixtrace::typed_event<int, std::string> order{"shop.order", "id", "item"};\n'
WRONG_17 = {
    'too few values': (EVENT, 'order(1);'),
    'too many values': (EVENT, 'order(1, "tea", 2);'),
    'a number for a text': (EVENT, 'order(1, 2);'),
    'a text for a number': (EVENT, 'order("one", "tea");'),
    'a narrowed number': (EVENT, 'order(1LL << 40, "tea");'),
    'too few fields': ('constexpr posixtrace::typed_event<int> x{"shop.x"};', ''),
    'too many fields': ('constexpr posixtrace::typed_event<int> x{"shop.x", "a", "b"};', ''),
    'the same field twice': ('constexpr posixtrace::typed_event<int, int> x{"shop.x", "a", "a/ns"};', ''),
    'a field without a name': ('constexpr posixtrace::typed_event<int> x{"shop.x", "/ns"};', ''),
    'a field with a colon': ('constexpr posixtrace::typed_event<int> x{"shop.x", "a:u8"};', ''),
    'a unit of 16 bytes': ('constexpr posixtrace::typed_event<int> x{"shop.x", "a/' + 'n' * 16 + '"};', ''),
    'a name of 64 bytes': ('constexpr posixtrace::typed_event<> x{"' + 'n' * 64 + '"};', ''),
    'attributes without a field': ('constexpr posixtrace::typed_event<> x{"shop{counter}"};', ''),
    'attributes without an end': ('constexpr posixtrace::typed_event<int> x{"shop{counter", "a"};', ''),
    'a type that cannot be recorded': ('constexpr posixtrace::typed_event<std::deque<int>> x{"shop.x", "a"};', ''),
}
WRONG_20 = {
    'too few values': ('', 'posixtrace::event<"shop.x", "a", "b">{}(1);'),
    'too many values': ('', 'posixtrace::event<"shop.x", "a">{}(1, 2);'),
    'other types': ('', 'posixtrace::event<"shop.x", "a"> x; x(1); x(1L);'),
    'other types in another function': ('void f(); void f() { posixtrace::event<"shop.x", "a">{}(1); }',
                                        'posixtrace::event<"shop.x", "a">{}("one");'),
    'other fields': ('', 'posixtrace::event<"shop.x", "a">{}(1); posixtrace::event<"shop.x", "b">{}(1);'),
    'other units': ('', 'posixtrace::event<"shop.x", "a">{}(1); posixtrace::event<"shop.x", "a/ns">{}(1);'),
    'a counter that is an event': ('', 'posixtrace::event<"shop.x", "a">{}(1); posixtrace::counter<"shop.x">{}(1);'),
    'a counter of both kinds': ('', 'posixtrace::counter<"shop.x"> x; x(1); x(0.5);'),
    'the same field twice': ('', 'posixtrace::event<"shop.x", "a", "a/ns">{}(1, 2);'),
    'a field without a name': ('', 'posixtrace::event<"shop.x", "">{}(1);'),
    'a name of 30 bytes': ('', f'posixtrace::event<"shop.x", "{"n" * 30}">{{}}(1);'),
    'a name of 64 bytes': ('', f'posixtrace::event<"{"n" * 64}">{{}}();'),
    'attributes without a name': ('', 'posixtrace::event<"{counter}", "a">{}(1);'),
    'attributes of a span': ('', 'posixtrace::span<"shop.x{level=error}"> x;'),
    'an empty name': ('', 'posixtrace::event<"">{}();'),
    '33 fields': ('', 'posixtrace::event<"shop.x"' + ''.join(f', "f{n}"' for n in range(33)) + '>{}('
                  + ', '.join(['1'] * 33) + ');'),
    'a type that cannot be recorded': ('', 'posixtrace::event<"shop.x", "a">{}(std::deque<int>());'),
    'an array of texts': ('', 'posixtrace::event<"shop.x", "a">{}(std::vector<std::string>());'),
    'a name that is no literal': ('', 'const char *name = "x"; posixtrace::event<name>{}();'),
    'a span that ends at once': ('', 'posixtrace::span<"shop.x">{};'),
    'a span with a field that ends at once': ('', 'posixtrace::span<"shop.x", "a">(1);'),
    'a copied span': ('', 'posixtrace::span<"shop.x"> a; posixtrace::span<"shop.x"> b(a);'),
}


def compiles(compiler, mode, text, options=('-fsyntax-only',)):
    done = subprocess.run([compiler, f'-std={mode}', *WARNINGS, *options, f'-I{INCLUDE}',
                           f'-I{INCLUDE}/posixtrace/compat', '-c', '-o', '/dev/null', '-x', 'c++', '-'],
                          input=text, capture_output=True, text=True, check=False)
    return done.returncode == 0, done.stderr


def function(body):
    return f'void use();\nvoid use() {{ {body} }}\n'


def try_mode(compiler, mode):
    """Returns the problems, or None if the compiler does not know the mode."""
    if not compiles(compiler, mode, 'extern int nothing;\n')[0]:
        return None
    found = []
    # And programs with the macros of Tracy and of Perfetto.
    for text, kinds in ((USE, OPTIONS), *(((TOOL / name).read_text(), [['-O1']])
                                          for name in ('cpp_tracy.cpp', 'cpp_perfetto.cpp'))):
        for options in kinds:
            good, messages = compiles(compiler, mode, text, options)
            if not good:
                found.append(f'{compiler} -std={mode} {" ".join(options)}: {messages}')
    return found


def precompiled(compiler, mode, folder):
    """Compiles HEAD once, as reading it takes most of the time. Returns the options that include it."""
    head = folder / 'head.hpp'
    head.write_text(HEAD)
    out = folder / ('head.hpp.gch' if compiler == 'g++' else 'head.pch')
    subprocess.run([compiler, f'-std={mode}', *WARNINGS, f'-I{INCLUDE}', f'-I{INCLUDE}/posixtrace/compat', '-x',
                    'c++-header', head, '-o', out], capture_output=True, check=True)
    return ['-fsyntax-only', '-include', head] if compiler == 'g++' else ['-fsyntax-only', '-include-pch', out]


def try_wrong(compiler, mode, cases):
    with tempfile.TemporaryDirectory() as folder:
        head = precompiled(compiler, mode, Path(folder))
        # Each wrong use is compiled into a whole program that is right without it.
        good, messages = compiles(compiler, mode, EVENT + function('order(1, "tea");'), head)
        if not good:
            return [f'{compiler} -std={mode} does not compile a right program: {messages}']
        return [f'{compiler} -std={mode} compiles {what}' for what, (before, body) in cases.items()
                if compiles(compiler, mode, before + '\n' + function(body), head)[0]]


def problems():
    compilers = [compiler for compiler in ('g++', 'clang++') if shutil.which(compiler)]
    if not compilers:
        print('skipped: there is no C++ compiler')
        sys.exit(77)
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda pair: try_mode(*pair), [(c, mode) for c in compilers for mode in MODES]))
        wrong = list(pool.map(lambda pair: try_wrong(*pair), [
            (compiler, mode, cases) for compiler in compilers
            for mode, cases in (('c++17', WRONG_17), ('c++20', WRONG_20))
            if compiles(compiler, mode, 'extern int nothing;\n')[0]]))
    tried = [found for found in results if found is not None]
    if len(tried) < 2:
        yield f'only {len(tried)} language modes were tried'
    for found in tried + wrong:
        yield from found


finish(problems())
