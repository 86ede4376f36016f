/*
 * time.mjs - formats and parses times and durations
 *
 * Times are nanoseconds since the beginning of the page, durations are nanoseconds.
 *
 * SPDX-License-Identifier: MIT
 */

const units = [['ns', 1], ['µs', 1e3], ['ms', 1e6], ['s', 1e9]];

/* Separates groups of three digits by a narrow no-break space. */
function grouped(digits) {
	return digits.replace(/(\d{3})(?=\d)/g, '$1\u2009');
}

/* 820 ns, 1.35 ms, 12.4 s, 2 min 5 s: three digits. */
export function duration(ns) {
	if (!Number.isFinite(ns))
		return '?';
	if (ns < 0)
		return '\u2212' + duration(-ns);
	if (ns >= 60e9) {
		const seconds = Math.round(ns / 1e9);
		return seconds >= 3600 ? `${Math.floor(seconds / 3600)} h ${Math.floor(seconds / 60) % 60} min`
			: `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
	}
	for (let i = 0; i < units.length; i++) {
		const value = ns / units[i][1], text = units[i][1] === 1 ? String(Math.round(value)) :
			value.toPrecision(3);
		if (Number(text) < 1000 || i === units.length - 1)
			return `${Number(text) < 1000 ? text : Math.round(value)} ${units[i][0]}`;
	}
	return '';
}

/* Returns an exact duration in a suitable unit: 1.350 204 ms, not 1 350.204 µs. */
export function exactDuration(ns) {
	if (!Number.isFinite(ns))
		return '?';
	const size = Math.abs(ns), sign = ns < 0 ? '\u2212' : '';
	const unit = units[size < 1e3 ? 0 : size < 1e6 ? 1 : size < 1e9 ? 2 : 3],
		digits = Math.round(Math.log10(unit[1]));
	const whole = Math.floor(size / unit[1]), rest = Math.round(size - whole * unit[1]);
	const fraction = digits ? String(rest).padStart(digits, '0').replace(/(000)+$/, '') : '';
	return `${sign}${whole}${fraction ? '.' + grouped(fraction) : ''} ${unit[0]}`;
}

/*
 * Returns seconds with all nine digits, as posixtrace report prints them; without the spaces also for --from and --to.
 */
export function seconds(ns) {
	const size = Math.abs(ns), whole = Math.floor(size / 1e9);
	return `${ns < 0 ? '\u2212' : ''}${whole}.${grouped(String(Math.round(size - whole * 1e9)).padStart(9, '0'))}`;
}

export function plainSeconds(ns) {
	return seconds(ns).replace(/\u2009/g, '').replace('\u2212', '-');
}

const pad = (n, digits = 2) => String(n).padStart(digits, '0');

/* Returns local date and time of day; begin is a BigInt of nanoseconds since 1970. */
export function absolute(begin, ns) {
	const time = begin + BigInt(Math.round(ns)), day = new Date(Number(time / 1000000n));
	if (Number.isNaN(day.getTime()))
		return `${time} ns`;
	return `${day.getFullYear()}-${pad(day.getMonth() + 1)}-${pad(day.getDate())} ` +
		`${pad(day.getHours())}:${pad(day.getMinutes())}:${pad(day.getSeconds())}.` +
		`${grouped(pad(String(time % 1000000000n), 9))}`;
}

/* Returns the smallest of 1, 2, 5, 10, 20, ... that is not less than a value. */
export function roundStep(least) {
	const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
	for (const factor of [1, 2, 5])
		if (factor * power >= least)
			return factor * power;
	return 10 * power;
}

/* Returns a function for the labels of a ruler: one unit, and as many digits as the step needs. */
function tickLabel(ns, step, most) {
	const unit = units[most < 1e3 ? 0 : most < 1e6 ? 1 : most < 1e9 ? 2 : 3];
	const digits = Math.max(0, Math.round(Math.log10(unit[1])) - Math.floor(Math.log10(step) + 1e-9));
	return `${(ns / unit[1]).toFixed(digits)} ${unit[0]}`;
}

/*
 * Returns the marks of a ruler from t0 to t1, at most a given number. Far from the beginning, labels would be long;
 * then they are relative to base, which is shown once.
 */
export function ticks(t0, t1, most) {
	const step = roundStep((t1 - t0) / Math.max(most, 1));
	let base = 0;
	if (t0 > 0 && t0 / step > 20000) {
		const coarse = 10 ** Math.ceil(Math.log10(t1 - t0));
		base = Math.floor(t0 / coarse) * coarse;
	}
	const marks = [], farthest = Math.max(Math.abs(t0 - base), Math.abs(t1 - base), step);
	for (let k = Math.ceil((t0 - base) / step); k * step + base <= t1 && marks.length <= 2 * most; k++)
		marks.push({ time: k * step + base, label: (base ? '+' : '') + tickLabel(k * step, step, farthest) });
	return { base, step, marks };
}

/* Parses 100us, 1.5ms, 2s to nanoseconds, and a number without a unit to itself. Returns NaN for anything else. */
export function parseQuantity(text) {
	const match = /^([+-]?[0-9]*\.?[0-9]+(?:e[+-]?\d+)?)(ns|us|µs|ms|s)?$/i.exec(text);
	if (!match)
		return { value: NaN, time: false };
	const factor = { ns: 1, us: 1e3, 'µs': 1e3, ms: 1e6, s: 1e9 }[(match[2] || '').toLowerCase()];
	return { value: Number(match[1]) * (factor || 1), time: factor !== undefined };
}
