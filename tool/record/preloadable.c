/*
 * preloadable.c - whether libraries can be preloaded into the file of a program
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/preloadable.h"

#include <stdlib.h>

#include "common/message.h"
#include "process/elf_file.h"
#include "process/launch.h"
#include "process/offers.h"
#include "process/sanitizer.h"

bool preloadable(const char *path, const char *name)
{
	struct elf_file *f = elf_file_open(path);
	const char *sanitizer = f ? sanitizer_of(f) : NULL;
	bool other = f && elf_file_loader(f) && !elf_file_own_kind(f);

	if (sanitizer)
		complain("%s: built with %s, which has to be the first library, so nothing can be preloaded: build it "
		         "without -fsanitize",
		         name, sanitizer);
	else if (other)
		complain("%s: for another word size or processor than this posixtrace, whose libraries cannot be "
		         "preloaded into it: 'posixtrace record --kernel syscalls' records its system calls",
		         name);
	else if (f && !elf_file_loader(f))
		complain("%s: statically linked, so nothing is preloaded into it, only into programs that it starts",
		         name);
	/* What cannot be read may be executable all the same. The interpreters of scripts look after themselves. */
	elf_file_close(f);
	return !sanitizer && !other;
}

void preloadable_functions(const char *path, const char *name, bool children)
{
	static struct offers o;

	offers_look(&o, path);
	if (!o.found || o.what & (OFFER_FUNCTIONS | OFFER_XRAY))
		return;
	if (o.what & (OFFER_PROFILED | OFFER_PATCHABLE))
		complain("%s: built with %s, which tells of no end of a function: build it with -finstrument-functions "
		         "instead",
		         name, o.what & OFFER_PROFILED ? "-pg" : "-fpatchable-function-entry");
	else if (!children && o.dynamic)
		complain("%s: neither the program nor a library that it is linked with has instrumented functions: "
		         "build it with -finstrument-functions to record its calls",
		         name);
}

void preloadable_no_functions(const char *name, const char *patterns)
{
	char *path = launch_find(name);
	struct elf_file *f = path ? elf_file_open(path) : NULL;
	size_t count = f ? elf_file_functions(f) : 0;

	complain("no events were recorded:");
	if (!patterns)
		complain("no function of %s that is built with -finstrument-functions has run, or none for so long",
		         name);
	else
		complain("no function that has run has a name that matches %s; without a pattern all of them are "
		         "recorded, and 'posixtrace stat --calls -n 0' lists them", patterns);
	if (patterns && count)
		complain("%s has %zu functions; 'nm --demangle --defined-only %s' lists them", path, count, path);
	elf_file_close(f);
	free(path);
}
