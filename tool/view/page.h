/*
 * page.h - a web page that has everything in it: the program that shows it, and data
 *
 * The page is written like all output files (logs/outfile.h): completely or not at all. Data are stored in blocks,
 * which the program in the page finds by their kind. They are encoded in base64, so no data can be taken for HTML.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef PAGE_H
#define PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Begins the page. Output (common/out.h) goes to this file from now on; "-" is standard output. Replaces an existing
 * file only if it is such a page, or with force, but never a log. Like page_block() and page_end(), ends the program
 * with a message on failure.
 */
void page_begin(const char *path, bool force);
/* Writes a block. kind: letters only. */
void page_block(const char *kind, const void *bytes, size_t size);
/* Writes the end of the page. Returns its size in bytes; 0: unknown. */
uint64_t page_end(void);

#endif
