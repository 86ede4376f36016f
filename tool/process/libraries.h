/*
 * libraries.h - which libraries the dynamic loader will load for a program, without running anything
 *
 * `ldd` runs the loader that the file names, which can be any program. This looks where glibc's loader looks: the
 * paths in the file, LD_LIBRARY_PATH, /etc/ld.so.cache, and the loader's own folders.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LIBRARIES_H
#define LIBRARIES_H

#include "process/elf_file.h"

/*
 * Calls each(path, file, arg) for the program itself, then for each library that it needs, directly or through others.
 * Libraries that the program loads by dlopen() are not known. file is valid during the call. missing(name, arg) is
 * called for each library that is not found; it may be null. Returns false if the program is no ELF file.
 */
bool libraries_each(const char *program, void (*each)(const char *path, const struct elf_file *file, void *arg),
                    void (*missing)(const char *name, void *arg), void *arg);

#endif
