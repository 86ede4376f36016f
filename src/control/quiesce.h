/*
 * quiesce.h - no writer in the middle of a record, none that holds a chunk
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CONTROL_QUIESCE_H
#define CONTROL_QUIESCE_H

#include <stdbool.h>

#include "control/handle.h"

/*
 * Takes all chunks away from their owners. Who records after this call has
 * looked at the stream's state after it: so with the state changed before,
 * nothing is recorded any more that the new state does not allow. False if a
 * thread stayed in the middle of a trace point for a tenth of a second; its
 * record may still come.
 */
bool quiesce(struct handle *h);

#endif
