#
# setup.py - builds the extensions for pip: pip install --no-build-isolation ./python
#
# libposixtrace and libposixtrace-log have to be installed, or LDFLAGS="-LBUILD/src -LBUILD/reader" names a build of
# this tree.
#
# SPDX-License-Identifier: MIT

from pathlib import Path

from setuptools import Extension, setup

headers = '../include'  # of this tree, if it is there; a source archive uses those that are installed


def extension(name, sources, header, library):
    return Extension(f'posixtrace.{name}', [f'src/{source}.c' for source in sources], depends=[f'src/{header}.h'],
                     libraries=[library], include_dirs=[headers] if Path(headers).is_dir() else [],
                     extra_compile_args=['-std=gnu11'])


setup(ext_modules=[
    extension('_posixtrace', ['calls', 'event', 'module', 'span', 'traced'], 'extension', 'posixtrace'),
    extension('_log', ['log_event', 'log_module', 'log_reader'], 'log_extension', 'posixtrace-log'),
])
