/*
 * edit_distance.h - how much two names differ, for "did you mean"
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EDIT_DISTANCE_H
#define EDIT_DISTANCE_H

/* Returns how many letters must change to turn one name into the other. Wildcards match without a change. */
unsigned edit_distance(const char *asked, const char *name);

/* The nearest name so far; null: none is near. */
struct nearest {
	const char *name;
	unsigned distance;
};

/* Takes the name if at most two letters are wrong, and it is nearer than the previous one. */
void nearest_add(struct nearest *n, const char *asked, const char *name);

#endif
