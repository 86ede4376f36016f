/*
 * resume.h - lets a full stream go on when it has been read
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CONTROL_RESUME_H
#define CONTROL_RESUME_H

#include "control/handle.h"

/*
 * Gives an automatic stop a time if it has none, so that its STOP is reported. A writer notes the time before it stops
 * the stream. But it may be held up in between until others have stopped the stream, and readers have reported that
 * stop, forgotten its time and restarted the stream: then the writer stops it once more.
 */
void resume_note_stop(struct handle *h);
/*
 * Queues the STOP of a stream that has stopped by itself and in which the reader has found nothing left, and restarts
 * the stream if it is armed. Does nothing if an event is left after all.
 */
void resume_drained(struct handle *h);
/* Ends the stream's full state if there is space again. Called after the reader has consumed an event. */
void resume_read(struct handle *h);

#endif
