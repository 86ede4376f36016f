/*
 * probe_samples.h - the samples of the kernel for record --usdt, in the order of their times, into the log
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef PROBE_SAMPLES_H
#define PROBE_SAMPLES_H


struct probes;

/*
 * Takes all that is in the rings. A record is in its ring within microseconds of its time: what is older than the
 * beginning of the pass before, or than some milliseconds, has all come.
 */
void probe_samples_take(struct probes *p);
/* Takes all that is left, when no probe is set any more. */
void probe_samples_finish(struct probes *p);

#endif
