/*
 * time.mjs - times and durations for people
 *
 * All are numbers of nanoseconds after the page's beginning, or between two events.
 *
 * SPDX-License-Identifier: MIT
 */

const units = [['ns', 1], ['µs', 1e3], ['ms', 1e6], ['s', 1e9]];

/* Digits in groups of three, by a thin space that does not break. */
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
		const value = ns / units[i][1], text = units[i][1] === 1 ? String(Math.round(value)) : value.toPrecision(3);
		if (Number(text) < 1000 || i === units.length - 1)
			return `${Number(text) < 1000 ? text : Math.round(value)} ${units[i][0]}`;
	}
	return '';
}

/* To the nanosecond, in the unit that suits: 1 350.204 µs would be 1.350 204 ms. */
export function exactDuration(ns) {
	if (!Number.isFinite(ns))
		return '?';
	const size = Math.abs(ns), sign = ns < 0 ? '\u2212' : '';
	const unit = units[size < 1e3 ? 0 : size < 1e6 ? 1 : size < 1e9 ? 2 : 3], digits = Math.round(Math.log10(unit[1]));
	const whole = Math.floor(size / unit[1]), rest = Math.round(size - whole * unit[1]);
	const fraction = digits ? String(rest).padStart(digits, '0').replace(/(000)+$/, '') : '';
	return `${sign}${whole}${fraction ? '.' + grouped(fraction) : ''} ${unit[0]}`;
}

/* Seconds with all nine digits, as posixtrace report has them; what it takes in --from and --to without the spaces. */
export function seconds(ns) {
	const size = Math.abs(ns), whole = Math.floor(size / 1e9);
	return `${ns < 0 ? '\u2212' : ''}${whole}.${grouped(String(Math.round(size - whole * 1e9)).padStart(9, '0'))}`;
}

export function plainSeconds(ns) {
	return seconds(ns).replace(/\u2009/g, '').replace('\u2212', '-');
}

const pad = (n, digits = 2) => String(n).padStart(digits, '0');

/* Date and time of day, local: begin is a BigInt of nanoseconds since 1970. */
export function absolute(begin, ns) {
	const time = begin + BigInt(Math.round(ns)), day = new Date(Number(time / 1000000n));
	if (Number.isNaN(day.getTime()))
		return `${time} ns`;
	return `${day.getFullYear()}-${pad(day.getMonth() + 1)}-${pad(day.getDate())} ` +
		`${pad(day.getHours())}:${pad(day.getMinutes())}:${pad(day.getSeconds())}.${grouped(pad(String(time % 1000000000n), 9))}`;
}

/* The least of 1, 2, 5, 10, 20, ... that is not below. */
export function roundStep(least) {
	const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
	for (const factor of [1, 2, 5])
		if (factor * power >= least)
			return factor * power;
	return 10 * power;
}

/* All of a ruler are in one unit, with as many digits as the step needs. */
function tickLabel(ns, step, most) {
	const unit = units[most < 1e3 ? 0 : most < 1e6 ? 1 : most < 1e9 ? 2 : 3];
	const digits = Math.max(0, Math.round(Math.log10(unit[1])) - Math.floor(Math.log10(step) + 1e-9));
	return `${(ns / unit[1]).toFixed(digits)} ${unit[0]}`;
}

/*
 * The marks of a ruler from t0 to t1, not more than most. Far from the beginning labels would be long: then they
 * count from base, which is said once.
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

/* 100us, 1.5ms, 2s as nanoseconds; a number alone as it is; NaN: neither. */
export function parseQuantity(text) {
	const match = /^([+-]?[0-9]*\.?[0-9]+(?:e[+-]?\d+)?)(ns|us|µs|ms|s)?$/i.exec(text);
	if (!match)
		return { value: NaN, time: false };
	const factor = { ns: 1, us: 1e3, 'µs': 1e3, ms: 1e6, s: 1e9 }[(match[2] || '').toLowerCase()];
	return { value: Number(match[1]) * (factor || 1), time: factor !== undefined };
}
