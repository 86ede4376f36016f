/*
 * text.mjs - makes text from logs harmless and visible; formats numbers
 *
 * Such text is inserted into the page only as text. Invisible characters, and characters that change the direction of
 * writing, are shown as their codes.
 *
 * SPDX-License-Identifier: MIT
 */

const unseen = new RegExp([
	/[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f]/,
	/[\u3164\ufeff\uffa0\ufff9-\ufffb]/,
	/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|\udb40[\udc00-\udfff]/,
].map((part) => part.source).join('|'), 'g');

function code(character) {
	const point = character.codePointAt(0);
	if (character === '\n')
		return '\u21b5';
	if (character === '\t')
		return '\u21e5';
	return point < 0x20 ? String.fromCharCode(0x2400 + point) : `\\u{${point.toString(16)}}`;
}

export function visible(text) {
	return text.replace(unseen, code);
}

/* 1 234 567 */
export function count(n) {
	return String(n).replace(/\B(?=(\d{3})+$)/g, '\u2009');
}

export function plural(n, one, many = one + 's') {
	return `${count(n)} ${n === 1 ? one : many}`;
}

export function bytes(n) {
	const names = ['bytes', 'KiB', 'MiB', 'GiB'];
	let i = 0;
	for (; n >= 1024 && i < names.length - 1; i++)
		n /= 1024;
	return `${i === 0 ? n : n.toPrecision(3)} ${i === 0 && n === 1 ? 'byte' : names[i]}`;
}

/* Returns a text shortened to a number of characters. */
export function shortened(text, most) {
	return text.length > most ? text.slice(0, most - 1) + '…' : text;
}
