/*
 * formatted.h - events whose fields are the arguments of a format, as tracef() of <posixtrace/typed.h> records them
 *
 * The compiler says which types the arguments have, with one letter for each:
 *
 *     i u    int, unsigned int            b    bool
 *     I U    the same of 64 bits          z    const char *
 *     f L    double, long double          p    const void *
 *
 * The values of a long double are doubles.
 *
 * The format only says what the fields are called: each has the words before its conversion.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef RECORD_FORMATTED_H
#define RECORD_FORMATTED_H

#include <stdbool.h>
#include <stddef.h>

#define FORMATTED_ARGUMENTS 10  /* at most; more letters are ignored */
#define FORMATTED_TEXT_MAX  255 /* bytes of an argument, without the null */
#define FORMATTED_LAYOUT    512 /* bytes of a layout, with the null: ten fields have less */
#define FORMATTED_DATA_MAX  (FORMATTED_ARGUMENTS * (FORMATTED_TEXT_MAX + 1))

/* Writes the layout, "{packed;order:i32,of:z}". A format without arguments is recorded as a text. */
void formatted_layout(char layout[FORMATTED_LAYOUT], const char *format, const char *types);

/* Returns whether a text of the format has a precision, "%.5s" or "%.*s". */
bool formatted_precise(const char *format);

/*
 * Writes the data of an event, of at most FORMATTED_DATA_MAX bytes. Returns their number. precise is what
 * formatted_precise() says: no more bytes of a text are read than its precision, which need not end with a null.
 */
size_t formatted_data(unsigned char *data, const char *format, const char *types, bool precise,
                      const unsigned long long *values);

#endif
