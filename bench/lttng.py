#
# lttng.py - sessions of LTTng-UST that record bench:*, notes of lttng_ust_tracef() or other events, and their losses
#
# LTTng has a daemon; it is started where none runs, and ended again. Sessions
# have the contexts vpid, vtid and ip: the fields that an event of ours has.
#
# SPDX-License-Identifier: MIT

import os
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from contextlib import contextmanager
from pathlib import Path

CONTEXTS = ['--type=vpid', '--type=vtid', '--type=ip']


def lttng(*arguments, machine=False):
    """Its output; the program ends where it fails."""
    command = ['lttng', '--no-sessiond', *(['--mi=xml'] if machine else []), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        sys.exit(f'bench: {" ".join(command)}: {done.stdout}{done.stderr}')
    return done.stdout


def answers():
    return subprocess.run(['lttng', '--no-sessiond', 'list'], capture_output=True, check=False).returncode == 0


@contextmanager
def daemon():
    """A session daemon; programs that are started meanwhile wait until it knows them."""
    started = None
    os.environ['LTTNG_UST_REGISTER_TIMEOUT'] = '-1'
    with tempfile.TemporaryFile() as log:
        if not answers():
            # Without --no-kernel, it would want to know about the kernel's tracer, too.
            # Out of the terminal's way, but not in a session of its own: where the kernel shares processors among
            # sessions, it would have more of them than our flusher has.
            started = subprocess.Popen(['lttng-sessiond', '--no-kernel'], stdin=subprocess.DEVNULL, stdout=log,
                                       stderr=log,
                                       preexec_fn=os.setpgrp)
        try:
            for _ in range(240):
                if answers():
                    break
                time.sleep(0.25)
            else:
                log.seek(0)
                sys.exit('bench: the session daemon of LTTng does not answer:\n' + log.read().decode(errors='replace'))
            yield
        finally:
            if started:
                started.terminate()
                started.wait()


class Session:
    """Records while it is there. stop(), and what it has written is in the directory."""

    count = 0

    def __init__(self, directory, channel, snapshot=False, events='bench:*,lttng_ust_tracef:*'):
        Session.count += 1
        self.name = f'posixtrace-bench-{os.getpid()}-{Session.count}'
        self.directory = Path(directory) / self.name
        self.there = False
        self.begin(channel, snapshot, events)

    def begin(self, channel, snapshot, events):
        lttng('create', self.name, *(['--snapshot'] if snapshot else []), f'--output={self.directory}')
        self.there = True
        lttng('enable-channel', '--userspace', f'--session={self.name}', *channel, 'bench')
        lttng('add-context', '--userspace', f'--session={self.name}', '--channel=bench', *CONTEXTS)
        lttng('enable-event', '--userspace', f'--session={self.name}', '--channel=bench', events)
        lttng('start', self.name)

    def discarded(self):
        """Events, after a stop."""
        tree = ElementTree.fromstring(lttng('list', self.name, machine=True))
        return sum(int(element.text) for element in tree.iter() if element.tag.split('}')[-1] == 'discarded_events')

    def stop(self):
        lttng('stop', self.name)

    def size(self):
        """Bytes of all of its files."""
        return sum(path.stat().st_size for path in self.directory.rglob('*') if path.is_file())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.there:
            lttng('destroy', self.name)
        shutil.rmtree(self.directory, ignore_errors=True)
