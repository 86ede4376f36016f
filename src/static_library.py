#
# static_library.py - the static library: one object, in which only the names of a version script are global
#
# usage: static_library.py ARCHIVE MAP OUT --ar AR --objcopy OBJCOPY -- COMPILER...
#
# A linker sees all global names of an archive. So the objects are linked to one, and all names that the shared library
# does not export are made local. The compiler does it, because objects for link-time optimisation have no code yet.
#
# SPDX-License-Identifier: MIT

import os
import re
import subprocess
import sys
from pathlib import Path


def exported(script):
    """The patterns behind "global:"."""
    text = re.sub(r'/\*.*?\*/', '', script.read_text(), flags=re.S)
    return re.findall(r'([\w*]+);', re.search(r'global:(.*?)local:', text, re.S).group(1))


def one_object(archive, out, compiler):
    """Links all objects to one. A compiler that does not know -flinker-output has real code in its objects."""
    # Without groups of sections: a linker keeps one of several groups with the same name, and a local name in another
    # one is lost (__x86.get_pc_thunk.*).
    command = [*compiler, '-r', '-nostdlib', '-Wl,--force-group-allocation', '-o', out,
               '-Wl,--whole-archive', archive, '-Wl,--no-whole-archive']
    native = subprocess.run([*command, '-flinker-output=nolto-rel'], capture_output=True, check=False)
    if native.returncode:
        subprocess.run(command, check=True)


def main():
    archive, script, out, _, ar, _, objcopy, _, *compiler = sys.argv[1:]
    # Named as no other object of a program is, for whoever unpacks the archive.
    whole = Path(f'{out}.p') / 'posixtrace.o'
    whole.parent.mkdir(exist_ok=True)
    one_object(archive, whole, compiler)
    names = exported(Path(script))
    subprocess.run([objcopy, '--wildcard', *(f'--keep-global-symbol={name}' for name in names), whole], check=True)
    if os.path.exists(out):
        os.unlink(out)
    subprocess.run([ar, 'rcsD', out, whole], check=True)


main()
