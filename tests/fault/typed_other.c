/*
 * typed_other.c - the same event in another file of the program; or in a module, as the function typed_module()
 *
 * SPDX-License-Identifier: MIT
 */
#include "typed_events.h"

#ifdef MODULE
void typed_module(uint32_t id);

void typed_module(uint32_t id)
#else
void typed_other(uint32_t id)
#endif
{
	trace(shop, order, id, "other", 2);
}
