/*
 * lttng_notes.h - the part of lttng_program.c with tracef and tracelog
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LTTNG_NOTES_H
#define LTTNG_NOTES_H

void notes(const char *text);

#endif
