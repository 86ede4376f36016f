/*
 * trial.h - tracing itself, tried: a stream of one's own, another process, a log
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRIAL_H
#define TRIAL_H

/* Checks tracing itself by trying it. */
void doctor_trials(void);

#endif
