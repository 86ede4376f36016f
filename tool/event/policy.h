/*
 * policy.h - what full policies are called
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef POLICY_H
#define POLICY_H

/* Returns LOOP, UNTIL_FULL, FLUSH or APPEND; "?" for any other value, which a damaged file may have. */
const char *policy_name(int policy);

#endif
