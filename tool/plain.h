/*
 * plain.h - the table of event types on standard output, for scripts
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef PLAIN_H
#define PLAIN_H

#include "rows.h"

void plain_table(const struct watch *w, const struct rows *rows);
/* One line, an object. */
void plain_json(const struct watch *w, const struct rows *rows);

#endif
