/*
 * seek.mjs - finds places in sorted arrays
 *
 * SPDX-License-Identifier: MIT
 */

/* Index of the first value that is not less than the wanted one, from lo up to hi. */
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

/* The same; faster if it is not far behind lo, as from one pixel to the next. */
export function lowerBoundNear(values, wanted, lo, hi = values.length) {
	let step = 1;
	while (lo + step < hi && values[lo + step] < wanted) {
		lo += step;
		step *= 2;
	}
	return lowerBound(values, wanted, lo, Math.min(lo + step + 1, hi));
}

/*
 * How many of the sorted times lie in each of the bins of one width. Bins begin at whole multiples of the width, so that they
 * stay the same when the view moves. Only bins with something in them: each(bin, from, to), indices into times.
 */
export function eachBin(times, t0, t1, width, each) {
	const end = lowerBound(times, t1);
	let at = lowerBound(times, t0);
	while (at < end) {
		const bin = Math.floor(times[at] / width);
		let next = lowerBoundNear(times, (bin + 1) * width, at, times.length);
		/* Where times are large and the width is small, rounding must not stop it. */
		if (next <= at)
			next = at + 1;
		each(bin, at, next);
		at = next;
	}
}
