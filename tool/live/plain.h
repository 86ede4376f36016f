/*
 * plain.h - prints the table of event types to standard output, for scripts
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef PLAIN_H
#define PLAIN_H

#include "live/rows.h"

void plain_table(const struct watch *w, const struct rows *rows);
/* Prints the table as a JSON object on one line. */
void plain_json(const struct watch *w, const struct rows *rows);

#endif
