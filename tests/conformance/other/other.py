#!/usr/bin/env python3
#
# other.py - script/conformance with another implementation: it passes, and its mistakes are seen
#
#     other.py SCRIPT DIRECTORY [CFLAG...]      where its trace.h and its library are
#
# SPDX-License-Identifier: MIT

import subprocess
import sys
import tempfile
from pathlib import Path

script, directory, flags = sys.argv[1], sys.argv[2], sys.argv[3:]
QUICK = ['attributes', 'event_ids', 'event_sets', 'examples_log', 'filter']
# Mistakes: linked into a program, such a function stands in front of the library's.
WRONG_FILTER = '''#include <trace.h>
int posix_trace_get_filter(trace_id_t trid, trace_event_set_t *set) { return posix_trace_eventset_fill(set,
    POSIX_TRACE_SYSTEM_EVENTS); }
'''
DEATH = '''#include <stdlib.h>
#include <trace.h>
int posix_trace_stop(trace_id_t trid) { abort(); }
'''
WITHOUT_LOGS = '''#include_next <trace.h>
#undef _POSIX_TRACE_LOG
#define _POSIX_TRACE_LOG -1
'''
problems = 0


def conformance(programs, cflags='', libs='', first=''):
    """Runs script/conformance. Returns its exit status and its report."""
    run = subprocess.run(
        [script, '--cflags', ' '.join([first, f'-I{directory}', cflags] + flags),
         '--libs', ' '.join([libs, f'-L{directory} -Wl,-rpath,{directory} -lothertrace'] + flags)] + programs,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return run.returncode, run.stdout


def expect(what, result, status, *lines):
    global problems
    found, report = result
    missing = [line for line in lines if line not in report]
    if found != status or missing:
        problems += 1
        print(f'{what}: exit status {found}, not {status}; not there: {missing}\n{report}')


# -D: whether null pointers are looked at cannot be otherwise in a library that is ours.
expect('another implementation', conformance(QUICK, '-DOURS_REFUSALS=0'), 0,
       'unknown here: OURS_LOST_EVENTS', 'unknown here: OURS_KERNEL_TID', 'unknown here: OURS_FILES', 'ok   filter',
       'All that was checked and is demanded is met.')
with tempfile.TemporaryDirectory() as place:
    source = Path(place) / 'mistake.c'
    source.write_text(WRONG_FILTER)
    expect('a wrong filter', conformance(['filter', 'controller'], libs=str(source)), 1,
           'FAIL filter', 'FAIL FILT-1 (S)', 'ok   controller', 'Not all that is demanded is met.')
    source.write_text(DEATH)
    expect('a process that dies', conformance(['controller'], libs=str(source)), 1,
           'FAIL session has not come to its end: Aborted', 'Not ended:\n  controller session')
    (Path(place) / 'trace.h').write_text(WITHOUT_LOGS)
    expect('an option that is not supported',
           conformance(['options_limits', 'log_status', 'event_sets'], first=f'-I{place}'), 0,
           'options: TRACE TRACE_EVENT_FILTER TRACE_INHERIT\n', 'log_status: TRACE_LOG', 'options_limits: TRACE_LOG',
           'ok   event_sets')
    (Path(place) / 'trace.h').write_text('#include_next <trace.h>\n#define posix_trace_attr_getname none\n')
    expect('a function that is missing', conformance(['attributes', 'event_sets'], first=f'-I{place}'), 1,
           'FAIL attributes cannot be compiled', 'Not compiled:\n  attributes', 'ok   event_sets')
    (Path(place) / 'trace.h').write_text('#error none\n')
    expect('no header', conformance(['event_sets'], first=f'-I{place}'), 2, 'no program with <trace.h> can be compiled')
sys.exit(problems > 0)
