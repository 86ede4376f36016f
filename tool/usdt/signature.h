/*
 * signature.h - names and types of a probe's arguments, which its note does not have: "str file, int line"
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef USDT_SIGNATURE_H
#define USDT_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "usdt/arguments.h"

struct signature_field {
	char name[32];
	char kind;    /* of a layout's type: u, i, x, z; 0: as the note says */
	uint8_t size; /* of u, i, x */
};

struct signature {
	unsigned count;
	struct signature_field field[ARGUMENTS_MAX];
};

/*
 * Reads names and types, separated by commas. A type may be left out. Returns null, or what is wrong: a text that is
 * valid until the next call.
 */
const char *signature_parse(const char *text, struct signature *s);
/* Returns the arguments of a probe whose documentation names them, as signature_parse() reads them; null: none. */
const char *signature_known(const char *probe);

#endif
