/*
 * sanitizer.c - which sanitizer a program was built with
 *
 * SPDX-License-Identifier: MIT
 */
#include "process/sanitizer.h"

#include <elf.h>
#include <string.h>

/* clang links the sanitizer statically, so that its function is in the program; gcc names its library. */
static const struct {
	const char *function, *library, *name;
} sanitizers[] = {
	{ "__asan_init", "libasan.so", "AddressSanitizer" },
	{ "__hwasan_init", "libhwasan.so", "HWAddressSanitizer" },
	{ "__tsan_init", "libtsan.so", "ThreadSanitizer" },
	{ "__msan_init", NULL, "MemorySanitizer" },
	{ "__lsan_init", "liblsan.so", "LeakSanitizer" },
};

static bool needs(const struct elf_file *f, const char *library)
{
	const char *name;

	for (unsigned i = 0; library && (name = elf_file_dynamic(f, DT_NEEDED, i)); i++)
		if (strncmp(name, library, strlen(library)) == 0)
			return true;
	return false;
}

const char *sanitizer_of(const struct elf_file *f)
{
	for (unsigned i = 0; i < sizeof sanitizers / sizeof *sanitizers; i++)
		if (needs(f, sanitizers[i].library) || elf_file_symbol(f, sanitizers[i].function))
			return sanitizers[i].name;
	return NULL;
}
