#
# setup.py - builds the extension for pip: pip install --no-build-isolation ./python
#
# libposixtrace has to be installed, or LDFLAGS=-LBUILD/src names a build of this tree.
#
# SPDX-License-Identifier: MIT

from pathlib import Path

from setuptools import Extension, setup

sources = ['calls', 'event', 'module', 'span', 'traced']
headers = '../include'  # of this tree, if it is there; a source archive uses those that are installed

setup(ext_modules=[Extension('posixtrace._posixtrace', [f'src/{name}.c' for name in sources],
                             depends=['src/extension.h'], libraries=['posixtrace'],
                             include_dirs=[headers] if Path(headers).is_dir() else [],
                             extra_compile_args=['-std=gnu11'])])
