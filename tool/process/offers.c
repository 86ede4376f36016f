/*
 * offers.c - what a program has that can be recorded, found without running it
 *
 * SPDX-License-Identifier: MIT
 */
#include "process/offers.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <elf.h>

#include "process/elf_file.h"
#include "process/explain.h"
#include "process/launch.h"
#include "process/libraries.h"
#include "process/sanitizer.h"
#include "usdt/notes.h"

/* -- Probes ------------------------------------------------------------------------------------------ */

static void add_probe(struct offers *o, const char *provider, const char *file)
{
	struct provider *p = o->provider;

	o->probes++;
	while (p < o->provider + o->providers && (strcmp(p->name, provider) != 0 || strcmp(p->file, file) != 0))
		p++;
	if (p == o->provider + OFFERS_PROVIDERS)
		return;
	if (p == o->provider + o->providers) {
		o->providers++;
		snprintf(p->name, sizeof p->name, "%s", provider);
		snprintf(p->file, sizeof p->file, "%s", file);
		p->in_program = strcmp(file, o->program) == 0;
	}
	p->probes++;
}

static void look_for_probes(struct offers *o, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct notes n = { 0 };

	if (fd >= 0 && notes_read(fd, &n) == 0)
		for (size_t i = 0; i < n.count; i++)
			add_probe(o, n.note[i].provider, path);
	notes_free(&n);
	if (fd >= 0)
		close(fd);
}

/* -- One file ------------------------------------------------------------------------------------------- */

static bool has(const struct elf_file *file, const char *section)
{
	unsigned char *bytes = elf_file_section(file, section, NULL);

	free(bytes);
	return bytes != NULL;
}

static bool needs(const struct elf_file *file, const char *library)
{
	const char *name;

	for (unsigned i = 0; (name = elf_file_dynamic(file, DT_NEEDED, i)); i++)
		if (strcmp(name, library) == 0)
			return true;
	return false;
}

static void note(char *first, const char *path)
{
	if (!*first)
		snprintf(first, PATH_MAX, "%s", path);
}

unsigned offers_functions(const struct elf_file *file)
{
	static const char *const profiled[] = { "__fentry__", "mcount", "_mcount" };
	unsigned what = 0;

	if (elf_file_symbol(file, "__cyg_profile_func_enter") == ELF_SYMBOL_WANTED)
		what |= OFFER_FUNCTIONS;
	if (has(file, "xray_instr_map"))
		what |= OFFER_XRAY;
	for (unsigned i = 0; i < sizeof profiled / sizeof *profiled; i++)
		if (elf_file_symbol(file, profiled[i]) == ELF_SYMBOL_WANTED)
			what |= OFFER_PROFILED;
	if (has(file, "__patchable_function_entries"))
		what |= OFFER_PATCHABLE;
	return what;
}

static void look_into(const char *path, const struct elf_file *file, void *arg)
{
	struct offers *o = arg;
	bool program = o->libraries++ == 0;
	unsigned functions;

	if (needs(file, "libposixtrace.so.1") || (program && elf_file_symbol(file, "posix_trace_event")))
		o->what |= OFFER_OWN;
	if (needs(file, "liblttng-ust.so.1") || has(file, "lttng_ust_tracepoints_ptrs")) {
		o->what |= OFFER_LTTNG;
		note(o->lttng, path);
	}
	functions = offers_functions(file);
	/* Of a library that nobody can be expected to build, -pg is not told. */
	o->what |= program ? functions : functions & (OFFER_FUNCTIONS | OFFER_XRAY);
	if (functions & (OFFER_FUNCTIONS | OFFER_XRAY))
		note(o->functions, path);
	look_for_probes(o, path);
	if (o->probes)
		o->what |= OFFER_USDT;
	if (program) {
		const char *loader = elf_file_loader(file);

		o->dynamic = loader != NULL;
		o->same_kind = elf_file_own_kind(file);
		o->glibc = loader && !strstr(loader, "ld-musl");
		o->sanitizer = sanitizer_of(file);
	}
}

static void lost(const char *name, void *arg)
{
	struct offers *o = arg;

	if (!*o->missing)
		snprintf(o->missing, sizeof o->missing, "%s", name);
}

/* -- All ------------------------------------------------------------------------------------------------- */

void offers_look(struct offers *o, const char *path)
{
	memset(o, 0, sizeof *o);
	launch_program(path, o->program);
	o->script = strcmp(path, o->program) != 0;
	o->found = libraries_each(o->program, look_into, lost, o);
	if (o->found) {
		struct evidence e;

		explain_file(&e, o->program);
		o->other_user = e.other_user;
	}
}
