/*
 * carrier.h - a descriptor that tells a new program whom it descends from
 *
 * A process that is traced by an inherited stream keeps its page's file open,
 * at a high number, and lets programs that it starts inherit that: so a
 * descendant finds what it inherits even if all in between have ended, and
 * knew nothing of tracing. It is not the only way (shm/family.h), so nothing is
 * lost at once where programs close what they do not know.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef RECORD_CARRIER_H
#define RECORD_CARRIER_H

#include "record/self.h"

/* Opens or closes it, as this process needs one or not. Safe in handlers. */
void carrier_update(const struct process *process, bool wanted);
/* The page of the process whose descriptor this program was given, mapped; or null. */
struct procpage *carrier_find(const struct place *place);

#endif
