/*
 * traced.c - whether streams trace this process
 *
 * SPDX-License-Identifier: MIT
 */
#include "script/traced.h"

#include "control/target.h"

bool script_traced(void)
{
	struct target self;
	bool some = false;

	if (target_open(0, &self) != 0)
		return false;
	/* The page of the process also lists inherited streams. */
	for (int slot = 0; slot < PAGE_SLOTS; slot++)
		some |= procpage_taken(load_relaxed(&self.page->word[slot / 64]), slot);
	return some;
}
