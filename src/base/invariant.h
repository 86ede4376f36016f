/*
 * invariant.h - what must hold of a structure, checked in the libraries that tests are linked with
 *
 * Nothing in the library as it is installed.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BASE_INVARIANT_H
#define BASE_INVARIANT_H

#ifdef POSIXTRACE_CHECKS
# include <stdbool.h>
# include <stdlib.h>
# include <string.h>

# include "base/sys.h"

/* Called instead of abort() in a test that has this function, because it breaks invariants on purpose. */
__attribute__((weak)) void invariant_broken(const char *what);

static inline bool invariant_holds(bool holds, const char *what)
{
	if (!holds && invariant_broken) {
		invariant_broken(what);
	} else if (!holds) {
		sys_write(2, what, strlen(what));
		abort();
	}
	return holds;
}
# define INVARIANT(holds) invariant_holds((holds), __FILE__ ": broken: " #holds "\n")
#endif

#endif
