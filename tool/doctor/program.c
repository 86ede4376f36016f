/*
 * program.c - what a program offers to be recorded
 *
 * SPDX-License-Identifier: MIT
 */
#include "doctor/program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor/findings.h"
#include "process/launch.h"
#include "process/offers.h"

static struct offers offers;

/* Says what cannot be preloaded. Returns whether libraries can be preloaded into the program. */
static bool preloadable(void)
{
	if (!offers.dynamic) {
		finding(GRADE_WARNING, "preloading",
		        "posixtrace record --kernel records its system calls all the same",
		        "it is linked statically, so no library can be preloaded: not --libc, --lttng or --functions");
		return false;
	}
	if (!offers.same_kind) {
		finding(GRADE_WARNING, "preloading",
		        "posixtrace record --kernel records its system calls all the same",
		        "it is for another word size or processor than posixtrace, so no library can be preloaded: not "
		        "--libc, --lttng or --functions");
		return false;
	}
	if (offers.other_user) {
		finding(GRADE_WARNING, "preloading", "run it as its owner",
		        "it runs with the rights of its file (set-user-ID), so no library is preloaded");
		return false;
	}
	if (*offers.missing)
		finding(GRADE_WARNING, "libraries", "install it, or set LD_LIBRARY_PATH",
		        "%s, which it needs, was not found here", offers.missing);
	return true;
}

static void tell_probes(void)
{
	for (unsigned i = 0; i < offers.providers; i++) {
		const struct provider *p = &offers.provider[i];
		char how[128];

		snprintf(how, sizeof how, "posixtrace record --usdt '%s:*'", p->name);
		finding(GRADE_OK, "USDT", how, "%u probe%s of %s in %s", p->probes, p->probes == 1 ? "" : "s", p->name,
		        p->file);
	}
	if (!offers.probes)
		finding(GRADE_OK, "USDT", NULL, "no probes in .note.stapsdt");
}

void doctor_program(const char *name)
{
	char *path = launch_find(name);
	char *missing;
	bool preload;

	if (!path) {
		finding(GRADE_PROBLEM, "program",
		        errno == EACCES ? "make it executable: chmod +x" : "give its path, or a name that is in PATH",
		        "%s: %s", name, strerror(errno));
		return;
	}
	missing = launch_missing(path);
	if (missing) {
		finding(GRADE_PROBLEM, "program", "install it, or correct the first line of the script",
		        "%s: %s, which has to run it, does not exist", path, missing);
		free(missing);
		free(path);
		return;
	}
	offers_look(&offers, path);
	free(path);
	if (!offers.found) {
		finding(GRADE_PROBLEM, "program", "give an ELF program of this machine, or a script with '#!'",
		        "%s is no program that can be looked into, or it cannot be read", offers.program);
		return;
	}
	finding(GRADE_OK, "program", NULL, "%s%s, %s, with %u librar%s", offers.program,
	        offers.script ? " (runs the script)" : "", offers.dynamic ? "linked dynamically" : "linked statically",
	        offers.libraries - 1, offers.libraries == 2 ? "y" : "ies");
	preload = preloadable();
	if (offers.what & OFFER_OWN)
		finding(GRADE_OK, "trace points", "posixtrace record", "it uses posixtrace");
	else
		finding(GRADE_OK, "trace points", NULL, "none of posixtrace");
	if (offers.what & OFFER_LTTNG)
		finding(GRADE_OK, "LTTng-UST", preload ? "posixtrace record --lttng" : NULL, "used by %s",
		        offers.lttng);
	else
		finding(GRADE_OK, "LTTng-UST", NULL, "not used by it or the libraries that it is linked with");
	tell_probes();
	if (offers.what & (OFFER_FUNCTIONS | OFFER_XRAY))
		finding(GRADE_OK, "functions", preload ? "posixtrace record --functions" : NULL, "%s was built with %s",
		        offers.functions,
		        offers.what & OFFER_FUNCTIONS ? "-finstrument-functions" : "-fxray-instrument");
	else if (offers.what & (OFFER_PROFILED | OFFER_PATCHABLE))
		finding(GRADE_OK, "functions", "build it with -finstrument-functions instead",
		        "built with %s, which tells of no end of a function",
		        offers.what & OFFER_PROFILED ? "-pg" : "-fpatchable-function-entry");
	else
		finding(GRADE_OK, "functions", NULL,
		        "not instrumented; build it with -finstrument-functions to record its calls");
	if (offers.sanitizer)
		finding(GRADE_WARNING, "C library", "build it without that for --libc",
		        "it was built with %s, which has to be the first to see calls", offers.sanitizer);
	else if (preload && offers.glibc)
		finding(GRADE_OK, "C library", "posixtrace record --libc io,locks,threads,process",
		        "input and output, waits for locks, threads and processes can be recorded");
	else if (preload)
		finding(GRADE_WARNING, "C library", "record its system calls: posixtrace record --kernel syscalls",
		        "not the GNU C library, which --libc needs");
}
