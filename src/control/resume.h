/*
 * resume.h - lets a full stream go on when it has been read
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CONTROL_RESUME_H
#define CONTROL_RESUME_H

#include "control/handle.h"

/*
 * Queues the STOP of a stream that has stopped by itself and in which the reader
 * has found nothing left, and restarts the stream if it is armed. Does nothing if
 * an event is left after all.
 */
void resume_drained(struct handle *h);
/* Ends the stream's full state if there is space again. Called after the reader has consumed an event. */
void resume_read(struct handle *h);

#endif
