/*
 * names.c - whether the name of a function is one of --functions=PATTERN and --functions-in
 *
 * SPDX-License-Identifier: MIT
 */
#include "functions.h"
#include "names.h"

#include <string.h>

#include "symtab.h"

/* -- Names of C++ ------------------------------------------------------------------------------------- */

static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Takes the length before an identifier. Returns the identifier, or null if the name ends before it. */
static const char *identifier(const char *p, size_t *length)
{
	*length = 0;
	while (digit(*p) && *length < 4096)
		*length = *length * 10 + (size_t)(*p++ - '0');
	return strnlen(p, *length) == *length ? p : NULL;
}

/* Returns what is behind the template arguments that begin at an I; null if they have no end. */
static const char *behind_arguments(const char *p)
{
	unsigned depth = 0;

	while (*p) {
		size_t length;

		if (digit(*p)) {
			p = identifier(p, &length);
			if (!p)
				return NULL;
			p += length;
			continue;
		}
		if (*p == 'S' && p[1]) {
			/* A substitution: St, S_, S0_. */
			p++;
			if (digit(*p) || (*p >= 'A' && *p <= 'Z'))
				p += strcspn(p, "_");
			p += *p != '\0';
			continue;
		}
		if (*p == 'T' && (p[1] == '_' || digit(p[1]))) {
			p += strcspn(p, "_");
			continue;
		}
		if (*p == 'L' && p[1] != '_') {
			p += strcspn(p, "E");
			p += *p != '\0';
			continue;
		}
		depth += *p == 'I' || *p == 'N' || *p == 'X' || *p == 'J' || *p == 'F';
		if (*p++ == 'E' && --depth == 0)
			return p;
	}
	return NULL;
}

struct name {
	char *to;
	size_t size, length;
};

static void add(struct name *n, const char *text, size_t length)
{
	if (n->length && n->length + 2 < n->size) {
		memcpy(n->to + n->length, "::", 2);
		n->length += 2;
	}
	if (length < n->size - n->length) {
		memcpy(n->to + n->length, text, length);
		n->length += length;
	}
	n->to[n->length] = '\0';
}

bool names_qualified(char *to, size_t size, const char *symbol)
{
	struct name n = { .to = to, .size = size };
	const char *p = symbol + 2, *last = NULL;
	size_t length = 0;
	bool nested;

	if (strncmp(symbol, "_Z", 2) != 0)
		return false;
	nested = *p == 'N';
	p += nested;
	p += strspn(p, nested ? "rVKRO" : "");
	while (p && *p && (last == NULL || nested)) {
		if (strncmp(p, "St", 2) == 0) {
			add(&n, "std", 3);
			p += 2;
		} else if (*p == 'L') {
			p++;
		} else if (digit(*p)) {
			last = p = identifier(p, &length);
			if (!p)
				return false;
			if (length > 11 && strncmp(p, "_GLOBAL__N_", 11) == 0)
				add(&n, "(anonymous namespace)", 21);
			else
				add(&n, p, length);
			p += length;
		} else if (*p == 'I') {
			p = behind_arguments(p);
		} else if ((*p == 'C' || *p == 'D') && digit(p[1]) && last) {
			char destructor[256] = "~";

			if (*p == 'D' && length < sizeof destructor - 1) {
				memcpy(destructor + 1, last, length);
				add(&n, destructor, length + 1);
			} else {
				add(&n, last, length);
			}
			p += 2;
		} else {
			/* Operators have two letters; which one it is is left out. At E the name ends. */
			if (nested && *p >= 'a' && *p <= 'z')
				add(&n, "operator", 8);
			break;
		}
	}
	return last != NULL;
}

/* -- Patterns -------------------------------------------------------------------------------------------- */

/* Returns whether a set, [abc] or [!a-z], has a character. Stores what is behind the set; null: it has no end. */
static bool in_set(const char *p, const char *end, char c, const char **behind)
{
	bool not = ++p < end && (*p == '!' || *p == '^'), found = false;

	p += not;
	for (const char *first = p; p < end && (*p != ']' || p == first); p++) {
		if (end - p > 2 && p[1] == '-' && p[2] != ']') {
			found |= *p <= c && c <= p[2];
			p += 2;
		} else {
			found |= *p == c;
		}
	}
	*behind = p < end ? p + 1 : NULL;
	return found != not;
}

/* Returns whether a pattern as of file names matches. Not fnmatch(), which may allocate, and depends on the locale. */
static bool matches(const char *p, const char *end, const char *name)
{
	const char *star = NULL, *retry = NULL, *behind;

	for (;;) {
		if (p < end && *p == '*') {
			star = ++p;
			retry = name;
			continue;
		}
		if (p == end && !*name)
			return true;
		if (*name && p < end) {
			if (*p == '[' && (in_set(p, end, *name, &behind), behind)) {
				if (in_set(p, end, *name, &behind)) {
					p = behind;
					name++;
					continue;
				}
			} else if (*p == '?' || *p == *name) {
				p++;
				name++;
				continue;
			}
		}
		if (!star || !*retry)
			return false;
		p = star;
		name = ++retry;
	}
}

/* Returns whether a list of patterns selects a name: the last one that matches decides. */
static bool selects(const char *list, const char *symbol, const char *qualified)
{
	bool selected = *list == '!';

	while (*list) {
		const char *end = list + strcspn(list, ",");
		bool not = *list == '!';

		list += not;
		if (matches(list, end, symbol) || (qualified && matches(list, end, qualified)))
			selected = !not;
		list = end + (*end == ',');
	}
	return selected;
}

static unsigned judge(uintptr_t function)
{
	const char *symbol = symtab_name(function);
	char text[1024], *qualified = symbol && names_qualified(text, sizeof text, symbol) ? text : NULL;
	unsigned verdict = 0;

	if (!symbol)
		symbol = "?";
	if (!settings.only || selects(settings.only, symbol, qualified))
		verdict |= NAME_ONLY;
	if (settings.in && selects(settings.in, symbol, qualified))
		verdict |= NAME_IN;
	return verdict;
}

/* -- What was found ---------------------------------------------------------------------------------------- */

#define SLOTS 65536
#define PROBES 64

/* An address and its verdict: four times the one, and 0 in no used slot. */
static uint64_t slot[SLOTS];

/* Returns the slot of an address, or one that is free for it; null if there is none. */
static uint64_t *find(uintptr_t function)
{
	uint64_t hash = (uint64_t)function * UINT64_C(0x9e3779b97f4a7c15) >> 48;

	for (unsigned i = 0; i < PROBES; i++) {
		uint64_t *s = &slot[(hash + i) % SLOTS];
		uint64_t found = __atomic_load_n(s, __ATOMIC_RELAXED);

		if (!found || found >> 2 == function)
			return s;
	}
	return NULL;
}

bool names_known(uintptr_t function, unsigned *verdict)
{
	const uint64_t *s = find(function);
	uint64_t found = s ? __atomic_load_n(s, __ATOMIC_RELAXED) : 0;

	if (found >> 2 != function)
		return false;
	*verdict = found & 3;
	return true;
}

unsigned names_verdict(uintptr_t function)
{
	unsigned verdict = judge(function);
	uint64_t *s = find(function), none = 0;

	/* Another thread may take the slot for another function. */
	if (s)
		__atomic_compare_exchange_n(s, &none, (uint64_t)function << 2 | verdict, false, __ATOMIC_RELAXED,
		                            __ATOMIC_RELAXED);
	return verdict;
}
