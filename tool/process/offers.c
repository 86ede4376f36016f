/*
 * offers.c - what a program has that can be recorded, found without running it
 *
 * SPDX-License-Identifier: MIT
 */
#include "process/offers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <elf.h>

#include "process/elf_file.h"
#include "process/explain.h"
#include "process/launch.h"
#include "process/libraries.h"
#include "process/sanitizer.h"

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

/* Reads the notes of a section .note.stapsdt: each has three addresses, then provider, probe and arguments as texts. */
static void look_for_probes(struct offers *o, const char *path, const struct elf_file *file)
{
	size_t size = 0, addresses = 3 * (elf_file_is_64(file) ? 8 : 4);
	unsigned char *notes = elf_file_section(file, ".note.stapsdt", &size);

	for (size_t at = 0; notes && at + sizeof(Elf64_Nhdr) <= size;) {
		Elf64_Nhdr head; /* the same in 32-bit files */
		size_t name, text;

		memcpy(&head, notes + at, sizeof head);
		name = at + sizeof head;
		text = name + ((size_t)head.n_namesz + 3) / 4 * 4;
		if (head.n_namesz > size || head.n_descsz > size || text > size || head.n_descsz > size - text)
			break;
		at = text + ((size_t)head.n_descsz + 3) / 4 * 4;
		if (head.n_type == 3 && head.n_namesz == sizeof "stapsdt" &&
		    memcmp(notes + name, "stapsdt", sizeof "stapsdt") == 0 && head.n_descsz > addresses &&
		    memchr(notes + text + addresses, 0, head.n_descsz - addresses))
			add_probe(o, (const char *)notes + text + addresses, path);
	}
	free(notes);
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
	look_for_probes(o, path, file);
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
