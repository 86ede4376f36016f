/*
 * elf_file.h - reads executables and libraries: sections, needed libraries, symbols
 *
 * The file may be damaged or made to mislead: each offset and size is checked against the file, which is read and never
 * mapped, because a mapped file that shrinks raises SIGBUS.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef ELF_FILE_H
#define ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_file;

/* What a symbol is in a file. */
enum elf_symbol { ELF_SYMBOL_ABSENT, ELF_SYMBOL_WANTED, ELF_SYMBOL_DEFINED };

/*
 * Returns the file, or null if it cannot be read or is no ELF file in this machine's byte order. The caller closes it
 * with elf_file_close().
 */
struct elf_file *elf_file_open(const char *path);
void elf_file_close(struct elf_file *f);
/* Returns whether two files are for the same processor and word size. */
bool elf_file_same_kind(const struct elf_file *f, const struct elf_file *other);
/* Returns whether the file is for the word size and the processor of this command; true if that is unknown. */
bool elf_file_own_kind(const struct elf_file *f);
/* Returns the path of the dynamic loader that the file asks for; null if it asks for none. */
const char *elf_file_loader(const struct elf_file *f);
/* Returns the index-th string with this tag (DT_NEEDED ...) of the dynamic section; null after the last. */
const char *elf_file_dynamic(const struct elf_file *f, uint64_t tag, unsigned index);
/* Reads a section; the caller frees it. Returns null if there is none. size: its length in bytes, or null. */
unsigned char *elf_file_section(const struct elf_file *f, const char *name, size_t *size);
/* Returns what the symbol is in the dynamic symbol table, or else in the full one. */
enum elf_symbol elf_file_symbol(const struct elf_file *f, const char *name);
/* Returns how many functions the file defines that have a name; of a stripped file those that it exports. */
size_t elf_file_functions(const struct elf_file *f);

#endif
