/*
 * instruments.h - record --lttng, --functions, --libc: libraries that are preloaded into COMMAND, and their settings
 *
 * Such a library (instrument/) is loaded by ld.so into COMMAND and into all programs that COMMAND executes. Its
 * settings are environment variables. The recorder's own environment does not change.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef INSTRUMENTS_H
#define INSTRUMENTS_H

#include <stdbool.h>

/* Returns whether such a library, or the folder of libraries, is installed. */
bool instruments_installed(const char *name);

struct instruments {
	char *preload;   /* paths for LD_PRELOAD, separated by ':'; null: none */
	char *libraries; /* folders for LD_LIBRARY_PATH, likewise */
	char **settings; /* names and values by turns */
	unsigned settings_count;
};

/*
 * Adds a library of instrument/ to those that are preloaded. name: its file name, "libposixtrace-libc.so". Ends the
 * program with a message if it is not installed.
 */
void instruments_preload(struct instruments *i, const char *name);
/*
 * Makes the folder `name` of instrument/ the first in which ld.so looks for libraries. Ends the program with a message
 * if it is not installed.
 */
void instruments_replace(struct instruments *i, const char *name);
/* Sets an environment variable of COMMAND. */
void instruments_set(struct instruments *i, const char *name, const char *value);
bool instruments_any(const struct instruments *i);
/* Changes the environment of this process, which is about to execute COMMAND. Returns false if there is no memory. */
bool instruments_apply(const struct instruments *i);

#endif
