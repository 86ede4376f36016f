#
# _missing.py - says why an extension of the package cannot be loaded
#
# SPDX-License-Identifier: MIT

import sys
from pathlib import Path


def explain(error):
    """Returns the error to raise for a ModuleNotFoundError: which Python the package was built for."""
    package, _, name = (error.name or '').rpartition('.')
    built = sorted(path.name[len(name) + 1:-len('.so')] for path in Path(__file__).parent.glob(f'{name}.*.so'))
    if package != __package__ or not name.startswith('_'):
        return error
    message = f'{package} is not built' if not built else f'{package} was built for {", ".join(built)}'
    return ImportError(f'{message}, and this is {sys.implementation.cache_tag} ({sys.executable}): build it for this '
                       f'Python, meson with its python3 first in PATH, or {sys.executable} -m pip install '
                       f'--no-build-isolation ./python', name=error.name)
