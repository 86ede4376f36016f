#
# check.py - shared by the checks: the place of the repository, the self-test, the report
#
# A check is a function that takes the root of a tree and yields problems. It is
# also run on copies of the tree that were spoiled on purpose, to show that it
# finds the problems there.
#
# SPDX-License-Identifier: MIT

import os
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def files(root, folder, *endings):
    return sorted(Path(place, name) for place, _, names in os.walk(root / folder) for name in names
                  if os.path.splitext(name)[1] in endings)


def spoiled(check, folders, *changes):
    """Yields a problem for each change that the check does not find.

    A change is (file, old text, new text); if old is None, the new text is appended.
    """
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        for folder in folders:
            # The inputs that fuzzers have collected are hundreds of files, and not checked.
            shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns('corpus', 'found'),
                            ignore_dangling_symlinks=True)
        before = set(check(root))
        for file, old, new in changes:
            path = root / file
            text = path.read_text() if path.exists() else None
            if old is not None and old not in (text or ''):
                yield f'the check itself: "{old}" is not in {file}, so it cannot be spoiled'
                continue
            made = not path.parent.exists()
            path.parent.mkdir(exist_ok=True)
            path.write_text((text or '') + new if old is None else text.replace(old, new, 1))
            if not set(check(root)) - before:
                yield f'the check itself: does not see that {file} has "{new.strip()}"'
            if text is not None:
                path.write_text(text)
            elif made:
                shutil.rmtree(path.parent)
            else:
                path.unlink()


def finish(problems):
    problems = list(problems)
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f'{len(problems)} problems')
    sys.exit(1 if problems else 0)
