/*
 * quiesce.h - waits until no writer is in the middle of a record or holds a chunk
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CONTROL_QUIESCE_H
#define CONTROL_QUIESCE_H

#include <stdbool.h>

#include "control/handle.h"

/*
 * Takes all chunks away from their owners. A writer that records after this
 * call loads the stream's state after it. So if the caller changes the state
 * first, no event is recorded after this call that the new state forbids.
 * Returns false if a thread stayed in the middle of a trace point for a tenth
 * of a second; its record may still come.
 */
bool quiesce(struct handle *h);

#endif
