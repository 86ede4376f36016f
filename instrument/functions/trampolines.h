/*
 * trampolines.h - a shorter way from the places of XRay to the handler than that of XRay's runtime
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRAMPOLINES_H
#define TRAMPOLINES_H

#include <stddef.h>
#include <stdint.h>

/* The address of each function, by its number. */
extern uintptr_t *xray_address __attribute__((visibility("hidden")));
extern size_t xray_functions __attribute__((visibility("hidden")));

/*
 * Takes the place of XRay's trampolines, on x86-64, if they are as known. handler: the one that XRay's runtime gets next;
 * when the program sets another one, that is called. Does nothing if the runtime has a handler already: the trampolines
 * may be in use.
 */
void trampolines_install(uintptr_t handler);

#endif
