/*
 * page.h - a web page that has everything in it: the program that shows it, and data
 *
 * Written as outfile.h writes files: whole, or not at all. Data are stored in blocks, which the page's
 * own program finds by their kind; all of them as bytes, in base64, so that nothing in them can be taken for the page's text.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef PAGE_H
#define PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * All of out.h goes there from now on. "-": standard output. What is there already is replaced if it is such a page, or with force; never
 * a log. All of these end the program with a message if they cannot do it.
 */
void page_begin(const char *path, bool force);
/* kind: of letters only. */
void page_block(const char *kind, const void *bytes, size_t size);
/* The program, and the end of the file. Returns its bytes; 0: nobody knows. */
uint64_t page_end(void);

#endif
