/*
 * clockstate.h - whether the kernel says that the clock is right
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CLOCKSTATE_H
#define CLOCKSTATE_H

#include "log/clocks.h"

/* Stores what adjtimex() says; nothing if a seccomp filter does not allow the call. */
void clockstate(struct clock_layout *l);

#endif
