#
# lttng_session.py - sessions of LTTng that record all events of user space, for comparisons with record --lttng
#
# SPDX-License-Identifier: MIT

import os
import sys
import time
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / 'bench'))
import lttng as peer  # noqa: E402

# Events that LTTng records of itself, when a recording begins, and not of the program.
OWN = ('lttng_ust_statedump:', 'lttng_ust_lib:', 'posix_trace_')


@contextmanager
def session(directory, options=(), channel=('--subbuf-size=4M', '--num-subbuf=8'), contexts=()):
    """LTTng records all events of user space meanwhile."""
    name = f'posixtrace-compare-{os.getpid()}-{time.monotonic_ns()}'
    peer.lttng('create', name, *options, f'--output={directory}')
    try:
        peer.lttng('enable-channel', '--userspace', f'--session={name}', *channel, 'all')
        if contexts:
            peer.lttng('add-context', '--userspace', f'--session={name}', '--channel=all',
                       *(f'--type={context}' for context in contexts))
        peer.lttng('enable-event', '--userspace', f'--session={name}', '--channel=all', '--all')
        peer.lttng('start', name)
        yield
        peer.lttng('stop', name)
    finally:
        peer.lttng('destroy', name)
