/*
 * page_parts.h - what is the same in each page, made of the files in view/ by view/bundle.py
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef PAGE_PARTS_H
#define PAGE_PARTS_H

#include <stddef.h>

/* The page before and after the blocks. */
extern const char page_head[], page_tail[];
extern const size_t page_head_size, page_tail_size;

#endif
