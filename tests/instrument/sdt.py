#!/usr/bin/env python3
#
# sdt.py - the drop-in <sys/sdt.h> and posixtrace-dtrace: what programs with probes record
#
#     sdt.py POSIXTRACE POSIXTRACE-DTRACE GENERATED VALUES...
#
# SPDX-License-Identifier: MIT

import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / 'tool'))
import scene
from scene import Suite, equal

POSIXTRACE, DTRACE, GENERATED, *VALUES = (os.path.abspath(argument) for argument in sys.argv[1:])

EXPECTED = '\n'.join(
    ['shop:n0'] + [f'shop:n{n} {{{" ".join(f"arg{i}={i}" for i in range(1, n + 1))}}}' for n in range(1, 13)]) + '''
shop:types {arg1=-1 arg2=-2 arg3=200 arg4=-3 arg5=60000 arg6=-5 arg7=4000000000 arg8=-7 arg9=8 arg10=-9 \
arg11=18446744073709551615 arg12=true}
shop:more {arg1=1.5 arg2=2.5 arg3=3.5 arg4=7 arg5=5 arg6=-2 arg7=0x1234 arg8=0xabcd arg9=0x77}
shop:texts {arg1="literal" arg2="array" arg3="(null)" arg4="é"}
''' + f'shop:long {{arg1="{"x" * 252}…" arg2=1}}' + '''
shop:page {arg1="last" arg2="acrosspages" arg3="t"}'''

EXPECTED_GENERATED = '''shop:order__begin {id=1 item="tea" price=250}
shop:order__end {id=1 how=44 time=7 weight=1 word="word"}
shop:nothing
shop:empty__words
shop:pointers {order=0x10 arg2=0x11 text="text" bytes=0x12 fn=0x13 arg6=-1}
shop:translated {o=0x14 errno=2}'''


def recorded(program):
    """Returns what the program has written, and the events."""
    out, said = scene.run(POSIXTRACE, 'record', '-q', '-o', 'x.log', '--', program)
    equal('complaints', said.decode(), '')
    events, _ = scene.run(POSIXTRACE, 'report', '--fields', 'event,data', 'x.log')
    lines = [' '.join(line.split(None, 1)) for line in events.decode().splitlines() if not line.startswith('#')]
    return out.decode(), '\n'.join(line.split(' (took')[0].rstrip() for line in lines)


def test_values():
    """Each number and each type of arguments, in C and in C++."""
    for program in VALUES:
        out, events = recorded(program)
        equal(f'{program}: events', events, EXPECTED)
        equal(f'{program}: semaphores', out, 'semaphore 1 1\nevaluated 1\n')


def test_off():
    """A program that nobody records evaluates nothing, and opens nothing."""
    for program in VALUES:
        done = subprocess.run([program, 'twice'], capture_output=True, text=True, env=scene.ENVIRONMENT, timeout=60,
                              check=True)
        equal(program, done.stdout + done.stderr, 'semaphore 0 0\ndescriptors as usual\nevaluated 0\n')


def test_generated():
    """Names and types of a .d file."""
    out, events = recorded(GENERATED)
    equal('events', events, EXPECTED_GENERATED)
    equal('enabled', out, 'enabled 1, semaphore 1\nenabled 1\n')
    done = subprocess.run([GENERATED], capture_output=True, text=True, env=scene.ENVIRONMENT, timeout=60, check=True)
    equal('off', done.stdout.splitlines()[-1], 'enabled 0')


def generated(text, *options):
    Path('p.d').write_text(text)
    done = subprocess.run([sys.executable, DTRACE, *options, '-h', '-s', 'p.d', '-o', '-'], capture_output=True,
                          text=True, timeout=60, check=False)
    lines = [line.strip() for line in done.stdout.splitlines()]
    return done.returncode, done.stderr, [line for line in lines if line.startswith('POSIXTRACE_SDT(')]


def probe(n, name, names, *values):
    return f'POSIXTRACE_SDT({n}, "{name}", "{names}"{"".join(", " + value for value in values)})'


def test_types():
    """How the types of a .d file become those of C."""
    _, _, lines = generated('provider p { probe a(unsigned long long int, long unsigned x, signed char, unsigned u, '
                            'const char *const restrict name, char **list, char text[], int *n, struct s, enum e k, '
                            'string s, other_t *o); };')
    equal('types', lines, [probe(
        12, 'p:a', 'arg1,x,arg3,u,name,list,text,n,arg9,k,s,o', '(unsigned long long)(arg1)', '(unsigned long)(arg2)',
        '(signed char)(arg3)', '(unsigned int)(arg4)', '(posixtrace_sdt_text)(arg5)', '(posixtrace_sdt_pointer)(arg6)',
        '(posixtrace_sdt_text)(arg7)', '(posixtrace_sdt_pointer)(arg8)', 'arg9', 'arg10',
        '(posixtrace_sdt_text)(arg11)', '(posixtrace_sdt_pointer)(arg12)')])
    _, _, lines = generated('provider a { probe one(int x, int x); };\nprovider b { probe two; probe three(T t); };\n')
    equal('providers', lines, [probe(2, 'a:one', 'x,arg2', '(int)(arg1)', '(int)(arg2)'), probe(0, 'b:two', ''),
                               probe(1, 'b:three', 't', 'arg1')])
    _, _, lines = generated('#ifdef MORE\nprovider p { probe a(Oid o); };\n#endif\n', '-C', '-DMORE',
                            '-D', 'Oid=unsigned')
    equal('-C', lines, [probe(1, 'p:a', 'o', '(unsigned int)(arg1)')])


def test_wrong():
    for text, why in (('', 'has no "provider'), ('provider p { probe a(int);', 'does not end'),
                      ('provider p { prob a(int); };', 'not "probe NAME'),
                      ('provider p { probe a(' + ','.join(['int'] * 13) + '); };', 'more than 12')):
        status, said, lines = generated(text)
        equal(text, (status, why in said, lines), (1, True, []))
    for arguments, why in ((['-s', 'p.d'], '-h or -G is missing'), (['-h'], '-s FILE.d is missing'),
                           (['-h', '-s', 'none.d'], 'none.d: No such file')):
        done = subprocess.run([sys.executable, DTRACE, *arguments], capture_output=True, text=True, timeout=60,
                              check=False)
        equal(str(arguments), (done.returncode, why in done.stderr), (1, True))


scene.private()
Suite(globals()).main()
