/*
 * policy.h - what full policies are called
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef POLICY_H
#define POLICY_H

/* LOOP, UNTIL_FULL, FLUSH, APPEND, of a stream or of a log; "?": none of them, it is from a file. */
const char *policy_name(int policy);

#endif
