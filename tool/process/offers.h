/*
 * offers.h - what a program has that can be recorded, found without running it
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef OFFERS_H
#define OFFERS_H

#include <limits.h>
#include <stdbool.h>

enum offer {
	OFFER_OWN       = 1 << 0, /* trace points of posixtrace */
	OFFER_LTTNG     = 1 << 1, /* trace points for LTTng-UST 2.13 */
	OFFER_USDT      = 1 << 2, /* probes in .note.stapsdt */
	OFFER_FUNCTIONS = 1 << 3, /* built with -finstrument-functions */
	OFFER_XRAY      = 1 << 4, /* built with -fxray-instrument */
	OFFER_PROFILED  = 1 << 5, /* built with -pg, which --functions cannot use */
	OFFER_PATCHABLE = 1 << 6, /* built with -fpatchable-function-entry; the same */
};

/* Providers of probes that are told apart; the probes of further ones are only counted. */
#define OFFERS_PROVIDERS 16

struct provider {
	char name[64];
	char file[PATH_MAX]; /* the program or library that has it */
	unsigned probes;
	bool in_program; /* not in a library */
};

struct offers {
	bool found;      /* the file, or the interpreter of a script, is a program of this machine */
	bool script;
	bool dynamic;    /* needs a dynamic loader, so that libraries can be preloaded */
	bool same_kind;  /* has the word size and the processor of this command, and of its libraries */
	bool glibc;      /* that loader is the GNU C library's */
	bool other_user; /* has the rights of its file (set-user-ID), so nothing is preloaded into it */
	unsigned what;   /* enum offer, of the program and the libraries that it is linked with */
	char program[PATH_MAX];  /* the program, or the interpreter of a script */
	const char *sanitizer;   /* "AddressSanitizer" ...; null if there is none */
	char missing[256];       /* a library that was not found; "" if all were */
	char lttng[PATH_MAX], functions[PATH_MAX]; /* the first file that has them */
	struct provider provider[OFFERS_PROVIDERS];
	unsigned providers, probes, libraries;
};

struct elf_file;

/* Returns how the functions of one file are prepared, of OFFER_FUNCTIONS to OFFER_PATCHABLE. */
unsigned offers_functions(const struct elf_file *file);
/* Fills *o for a file; path is as launch_find() returns it. */
void offers_look(struct offers *o, const char *path);

#endif
