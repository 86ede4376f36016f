#
# check_archive.py - packs folders by archive.sh, recorded, untraced and without posixtrace, and compares its events
#
# usage: check_archive.py POSIXTRACE ARCHIVE
#
# SPDX-License-Identifier: MIT

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

POSIXTRACE, ARCHIVE = (os.path.abspath(argument) for argument in sys.argv[1:3])
EXPECTED = '''
archive.folder.begin {folder="tea"}
archive.pack.begin   {folder="tea"}
archive.pack.end     {status=0 signal=0}
archive.check.begin
archive.check.end    {status=0 signal=0}
archive.packed       {folder="tea" size=10240B}
archive.folder.end
archive.left         {value=1}
archive.folder.begin {folder="no such"}
archive.pack.begin   {folder="no such"}
archive.pack.end     {status=2 signal=0}
archive.failed       error {folder="no such" status=2}
archive.folder.end
archive.left         {value=0}
'''


def run(*command, path, status=0):
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False,
                          env={**os.environ, 'PATH': path, 'LC_ALL': 'C.UTF-8'})
    assert done.returncode == status, f'{command}: exit status {done.returncode}: {done.stderr}'
    return done.stdout, done.stderr


def folder_of(*programs):
    """Returns a folder with links to these programs."""
    folder = Path(tempfile.mkdtemp(dir='.'))
    for program in programs:
        (folder / Path(program).name).symlink_to(program)
    return os.path.abspath(folder)


with tempfile.TemporaryDirectory() as directory:
    os.chdir(directory)
    Path('tea').mkdir()
    Path('tea/leaves').write_text('green\n')
    ours = folder_of(POSIXTRACE) + ':' + os.environ['PATH']
    others = folder_of(*(shutil.which(name) for name in ('sh', 'tar', 'stat', 'basename', 'dirname')))
    command = ['sh', ARCHIVE, '.', 'tea', 'no such']

    printed = run('posixtrace', 'record', '-q', '--children', '-o', 'archive.log', '--', *command, path=ours, status=1)
    shown, _ = run('posixtrace', 'report', '--no-header', '--fields', 'event,data', 'archive.log', path=ours)
    assert [re.sub(r' *(\(took .*\))?$', '', line) for line in shown.splitlines()] == EXPECTED.split('\n')[1:-1], shown
    for path in (ours, others):
        Path('tea.tar').unlink()
        assert run(*command, path=path, status=1) == printed, path
        assert Path('tea.tar').stat().st_size == 10240
    os.chdir('/')
