/*
 * seek.mjs - searches in sorted arrays
 *
 * SPDX-License-Identifier: MIT
 */

/* Returns the index of the first value that is not less than the wanted value, from lo up to hi. */
export function lowerBound(values, wanted, lo = 0, hi = values.length) {
	while (lo < hi) {
		const middle = (lo + hi) >>> 1;
		if (values[middle] < wanted)
			lo = middle + 1;
		else
			hi = middle;
	}
	return lo;
}

/* Like lowerBound(), but faster if the result is near lo, as from one pixel to the next. */
export function lowerBoundNear(values, wanted, lo, hi = values.length) {
	let step = 1;
	while (lo + step < hi && values[lo + step] < wanted) {
		lo += step;
		step *= 2;
	}
	return lowerBound(values, wanted, lo, Math.min(lo + step + 1, hi));
}

/*
 * Calls each(bin, from, to) for each bin of a fixed width that contains sorted times; from and to are indices into
 * times. Bins begin at multiples of the width, so that they stay the same when the view moves.
 */
export function eachBin(times, t0, t1, width, each) {
	const end = lowerBound(times, t1);
	let at = lowerBound(times, t0);
	while (at < end) {
		const bin = Math.floor(times[at] / width);
		let next = lowerBoundNear(times, (bin + 1) * width, at, times.length);
		/* Advance in any case, even if rounding makes the next bin the same: large times and a small width. */
		if (next <= at)
			next = at + 1;
		each(bin, at, next);
		at = next;
	}
}
