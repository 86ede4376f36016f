#
# walk.py - runs the commands of a document with a certain Python as python3: walk.py PYTHON -- WALK ARGUMENT...
#
# SPDX-License-Identifier: MIT

import os
import subprocess
import sys
import tempfile
from pathlib import Path

with tempfile.TemporaryDirectory() as folder:
    Path(folder, 'python3').symlink_to(sys.argv[1])
    os.environ['PATH'] = f'{folder}:{os.environ["PATH"]}'
    # The descriptor that holds the lock of harness/shared.py is handed on.
    sys.exit(subprocess.run([sys.executable, *sys.argv[3:]], close_fds=False).returncode)
