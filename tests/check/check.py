#
# check.py - what the checks share: where the repository is, and how one says what is wrong
#
# A check is a function that takes the root of a tree and yields complaints.
# Where it is cheap, it is tried on a spoiled copy too: a check that finds
# nothing there is worth nothing.
#
# SPDX-License-Identifier: MIT

import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def files(root, folder, *endings):
    return sorted(p for p in (root / folder).rglob('*') if p.is_file() and p.suffix in endings)


def spoiled(check, folders, *changes):
    """Each change, (file, old text, new text), must be complained about; old None: the text is appended."""
    for file, old, new in changes:
        with tempfile.TemporaryDirectory() as name:
            root = Path(name)
            for folder in folders:
                # What fuzzers have collected is hundreds of files, and none for a check.
                shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns('corpus', 'found'))
            path = root / file
            text = path.read_text() if path.exists() else ''
            if old is not None and old not in text:
                yield f'the check itself: "{old}" is not in {file}, so it cannot be spoiled'
                continue
            path.parent.mkdir(exist_ok=True)
            path.write_text(text + new if old is None else text.replace(old, new, 1))
            before = set(check(ROOT))
            if not set(check(root)) - before:
                yield f'the check itself: does not see that {file} has "{new.strip()}"'


def finish(problems):
    problems = list(problems)
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f'{len(problems)} problems')
    sys.exit(1 if problems else 0)
