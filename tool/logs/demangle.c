/*
 * demangle.c - the names of C++ functions as people write them
 *
 * SPDX-License-Identifier: MIT
 */
#include "logs/demangle.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef char *demangler(const char *symbol, char *buffer, size_t *size, int *status);

/* Returns the function of a C++ library, if one is installed. The command itself is not linked with any. */
static demangler *find(void)
{
	static const char *const libraries[] = { "libstdc++.so.6", "libc++abi.so.1" };
	static demangler *found;
	static bool looked;

	for (unsigned i = 0; i < 2 && !looked && !found; i++) {
		void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_LOCAL);

		if (library)
			found = (demangler *)dlsym(library, "__cxa_demangle");
	}
	looked = true;
	return found;
}

/* Returns whether an operator ends here, whose name has a parenthesis or an angle bracket. */
static bool behind_operator(const char *name, const char *at)
{
	return at - name >= 8 && memcmp(at - 8, "operator", 8) == 0;
}

/* Returns the beginning of the parameters, the last list in parentheses at the outermost level; null if none. */
static char *parameters(char *name)
{
	char *found = NULL;
	int depth = 0;

	for (char *p = name; *p; p++) {
		if (*p == '(' && depth == 0 && strncmp(p, "(anonymous namespace)", 21) == 0) {
			p += 20;
		} else if (*p == '(' && depth == 0 && strncmp(p, "()", 2) == 0 && behind_operator(name, p)) {
			p++;
		} else if (behind_operator(name, p) && strncmp(p, "->", 2) == 0) {
			p++;
		} else if (behind_operator(name, p) && strchr("<>", *p)) {
			/* Template arguments would follow a blank. */
			p += strspn(p, "<>=") - 1;
		} else if (*p == '(' || *p == '<') {
			if (*p == '(' && depth == 0)
				found = p;
			depth++;
		} else if (*p == ')' || *p == '>') {
			depth--;
		} else if (*p == ':' && depth == 0) {
			/* A function in a function, as a lambda: the parameters were those of the outer one. */
			found = NULL;
		}
	}
	return found;
}

/* Returns the name without the type of its result, which only templates have. */
static char *behind_result(char *name)
{
	char *behind = name;
	int depth = 0;

	for (char *p = name; *p; p++) {
		if (behind_operator(name, p))
			break;
		depth += (*p == '<' || *p == '(') - (*p == '>' || *p == ')');
		if (*p == ' ' && depth == 0)
			behind = p + 1;
	}
	return behind;
}

const char *demangle(const char *symbol)
{
	demangler *with = strncmp(symbol, "_Z", 2) == 0 ? find() : NULL;
	char *name, *end;
	int status;

	name = with ? with(symbol, NULL, NULL, &status) : NULL;
	if (!name)
		return symbol;
	end = parameters(name);
	if (!end || end == name)
		return name;
	*end = '\0';
	return behind_result(name);
}
