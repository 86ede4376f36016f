#!/usr/bin/env python3
#
# header.py - makes of <trace.h> one that the standard permits as well: other numbers, limits, names, orders
#
#     header.py include/trace.h OUTPUT
#
# With it the whole library is compiled once more. What the conformance tests
# find in both is not by chance what they find in ours.
#
# SPDX-License-Identifier: MIT

import re
import sys

NUMBERS = {
    'POSIX_TRACE_SUSPENDED': 21, 'POSIX_TRACE_RUNNING': 20,
    'POSIX_TRACE_NOT_FULL': 31, 'POSIX_TRACE_FULL': 30,
    'POSIX_TRACE_NO_OVERRUN': 0, 'POSIX_TRACE_OVERRUN': -4,  # reading resets it "to zero"
    'POSIX_TRACE_NOT_FLUSHING': 51, 'POSIX_TRACE_FLUSHING': 50,
    'POSIX_TRACE_NOT_TRUNCATED': 62, 'POSIX_TRACE_TRUNCATED_RECORD': 61, 'POSIX_TRACE_TRUNCATED_READ': 60,
    'POSIX_TRACE_LOOP': 70, 'POSIX_TRACE_UNTIL_FULL': 73, 'POSIX_TRACE_FLUSH': 77, 'POSIX_TRACE_APPEND': 71,
    'POSIX_TRACE_CLOSE_FOR_CHILD': 82, 'POSIX_TRACE_INHERITED': 81,
    'POSIX_TRACE_WOPID_EVENTS': 93, 'POSIX_TRACE_SYSTEM_EVENTS': 91, 'POSIX_TRACE_ALL_EVENTS': 92,
    'POSIX_TRACE_SET_EVENTSET': 102, 'POSIX_TRACE_ADD_EVENTSET': 103, 'POSIX_TRACE_SUB_EVENTSET': 101,
    'POSIX_TRACE_START': 44, 'POSIX_TRACE_STOP': 9, 'POSIX_TRACE_FILTER': 61, 'POSIX_TRACE_OVERFLOW': 1,
    'POSIX_TRACE_RESUME': 60, 'POSIX_TRACE_FLUSH_START': 33, 'POSIX_TRACE_FLUSH_STOP': 2, 'POSIX_TRACE_ERROR': 50,
    'TRACE_EVENT_NAME_MAX': 40, 'TRACE_NAME_MAX': 24, 'TRACE_SYS_MAX': 64, 'TRACE_USER_EVENT_MAX': 200,
}
# The library is compiled with -D for these: our_name=other_name.
NAMES = {
    '__posix_lost_events': '__other_lost', '__posix_kernel_tid': '__other_thread', '__bits': '__other_set',
    '__mark': '__other_mark',
    '__size': '__other_bytes',
}


def replaced(text, pattern, by):
    text, n = re.subn(pattern, by, text, flags=re.M)
    if n == 0:
        sys.exit(f'header.py: nothing in trace.h is like {pattern}')
    return text


def reversed_members(text, struct):
    """The members of a struct, last one first."""
    head, rest = text.split(f'struct {struct} {{\n', 1)
    body, rest = rest.split('\n};', 1)
    members = [re.sub(r'/\*.*?\*/', '', line).strip() for line in body.splitlines()]
    members = [line for line in members if line.endswith(';')]
    if len(members) < 7:
        sys.exit(f'header.py: struct {struct} has {len(members)} members')
    return head + f'struct {struct} {{\n\tchar __other_room[24];\n\t' + '\n\t'.join(reversed(members)) + '\n};' + rest


def main():
    text = open(sys.argv[1]).read()
    for name, number in NUMBERS.items():
        text = replaced(text, rf'^(# *define {name} +)(\(\(trace_event_id_t\))?-?\d+',
                        rf'\g<1>\g<2>{number}' if number >= 0 else rf'\g<1>({number})')
    for struct in ('posix_trace_event_info', 'posix_trace_status_info'):
        text = reversed_members(text, struct)
    for ours, other in NAMES.items():
        text = replaced(text, rf'\b{ours}\b', other)
    # Nothing in line.
    text = replaced(text, r'^# +define posix_trace_event\(.*$', '')
    open(sys.argv[2], 'w').write(text)


if __name__ == '__main__':
    if len(sys.argv) != 3:
        sys.exit('usage: header.py TRACE.H OUTPUT')
    main()
