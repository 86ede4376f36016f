/*
 * kernel_events.h - which events of the kernel this user can record with record --kernel
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef DOCTOR_KERNEL_EVENTS_H
#define DOCTOR_KERNEL_EVENTS_H

void doctor_kernel_events(void);

#endif
