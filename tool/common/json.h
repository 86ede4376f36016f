/*
 * json.h - JSON to standard output
 *
 * One value; or, for what has no end, one object on each line (--json of report).
 *
 *     json_begin('{'); json_key("pid"); json_number(7); json_end('}'); json_done();
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef JSON_H
#define JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Begins an object or an array: '{' or '['. Commas are inserted automatically. */
void json_begin(char bracket);
void json_end(char bracket);
void json_key(const char *key);
/* Takes any bytes: invalid UTF-8 becomes U+FFFD. */
void json_text(const char *text, size_t size);
void json_string(const char *text);
void json_number(uint64_t n);
void json_signed(int64_t n);
/* Writes a - b, which may be negative. */
void json_difference(uint64_t a, uint64_t b);
void json_real(double n);
/* Prints a string like "0x7f": JSON has no hexadecimal numbers. */
void json_hex(uint64_t n);
/* Prints n / 1000 exactly. */
void json_thousandths(int64_t n);
void json_bool(bool b);
void json_null(void);
/* Ends the line. */
void json_done(void);

#endif
