/*
 * spread.mjs - percentiles and histograms of durations
 *
 * SPDX-License-Identifier: MIT
 */
import { lowerBound } from './seek.mjs';
import { roundStep } from './time.mjs';

/* Returns a percentile: the value that this share of all values does not exceed. */
export function percentile(sorted, percent) {
	if (sorted.length === 0)
		return NaN;
	return sorted[Math.min(Math.max(Math.ceil(sorted.length * percent / 100), 1), sorted.length) - 1];
}

export function mean(sorted) {
	let sum = 0;
	for (let i = 0; i < sorted.length; i++)
		sum += sorted[i];
	return sum / sorted.length;
}

function evenBounds(least, most) {
	const step = roundStep((most - least) / 14), bounds = [Math.floor(least / step) * step];
	while (bounds[bounds.length - 1] <= most)
		bounds.push(bounds[bounds.length - 1] + step);
	return bounds;
}

/* A wider range has fewer bars in each power of ten. */
function growingBounds(least, most) {
	const ratio = most / Math.max(least, 1);
	const factors = ratio < 100 ? [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8] : ratio < 1e4 ? [1, 1.5, 2.5, 4, 6] :
		[1, 2, 5];
	const bounds = least < 1 ? [0] : [];
	for (let power = 10 ** Math.floor(Math.log10(Math.max(least, 1))); ; power *= 10)
		for (const factor of factors) {
			const next = Math.round(factor * power * 1e6) / 1e6;
			if (next <= least)
				bounds.length = 0;
			if (bounds.length === 0 || next > bounds[bounds.length - 1])
				bounds.push(next);
			if (next > most)
				return bounds;
		}
}

/* Returns [{from, to, count}, ...]; each bar includes its lower bound, but not its upper bound. */
export function histogram(sorted) {
	if (sorted.length === 0)
		return [];
	const least = sorted[0], most = sorted[sorted.length - 1];
	const bounds = (most - least) / 3 < least ? evenBounds(least, most) : growingBounds(least, most);
	return bounds.slice(1).map((to,
		i) => ({ from: bounds[i], to, count: lowerBound(sorted, to) - lowerBound(sorted, bounds[i]) }));
}
