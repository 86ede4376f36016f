/*
 * fields.mjs - what the data of an event mean
 *
 * Decodes data by the layout that the program has declared (docs/layouts.md), or guesses from the bytes.
 *
 * SPDX-License-Identifier: MIT
 */

export const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

const twoDigits = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

export function hex(bytes, group = 4) {
	let text = '';
	for (let i = 0; i < bytes.length; i++)
		text += (group && i && i % group === 0 ? ' ' : '') + twoDigits[bytes[i]];
	return text;
}

function upToNull(bytes) {
	const end = bytes.indexOf(0);
	return end < 0 ? bytes : bytes.subarray(0, end);
}

function withoutNulls(bytes) {
	let end = bytes.length;
	while (end > 0 && bytes[end - 1] === 0)
		end--;
	return bytes.subarray(0, end);
}

/* Returns the length of the UTF-8 character at a position; 0 if it is invalid or not printable. */
function characterLength(bytes, at) {
	const first = bytes[at], second = bytes[at + 1], n = first < 0x80 ? 1 : first >= 0xc2 && first < 0xe0 ? 2 :
		first >= 0xe0 && first < 0xf0 ? 3 : first >= 0xf0 && first < 0xf5 ? 4 : 0;
	if (n === 1)
		return (first < 0x20 && first !== 10 && first !== 9) || first === 0x7f ? 0 : 1;
	for (let i = 1; i < n; i++)
		if ((bytes[at + i] & 0xc0) !== 0x80) /* also true after the end */
			return 0;
	/* Reject overlong encodings, surrogates, values beyond Unicode, and control characters. */
	const wrong = (first === 0xe0 && second < 0xa0) || (first === 0xed && second > 0x9f) ||
		(first === 0xf0 && second < 0x90) || (first === 0xf4 && second > 0x8f) ||
		(first === 0xc2 && second < 0xa0);
	return wrong ? 0 : n;
}

/*
 * Returns the bytes as text, which may end in a null, or null if they are not text. A small number of two bytes looks
 * like a string of one character.
 */
export function asText(bytes) {
	const part = bytes.length > 2 && bytes[bytes.length - 1] === 0 ? bytes.subarray(0, bytes.length - 1) : bytes;
	if (part.length === 0)
		return null;
	for (let at = 0, n; at < part.length; at += n) {
		n = characterLength(part, at);
		if (n === 0)
			return null;
	}
	return decoder.decode(part);
}

const isRest = (field) => field.kind === 'text' || (field.kind === 'bytes' && field.count === 0 && !field.counter);

export const isText = (field) => field.kind === 'chars' || field.kind === 'string' || field.kind === 'text';

export const isArray = (field) => field.count !== 1 && field.kind !== 'bytes' && !isText(field);

const roundUp = (at, align) => Math.ceil(at / align) * align;

/* Returns the size of a field in the data from `at` on, and whether it is complete. Only whole items count. */
function sizeOf(field, count, bytes, at) {
	const left = bytes.length - at;
	if (isRest(field))
		return { size: left, whole: true };
	if (field.kind === 'string') {
		const end = bytes.indexOf(0, at);
		return end < 0 ? { size: left, whole: false } : { size: end + 1 - at, whole: true };
	}
	const fit = Math.floor(left / field.size);
	return { size: Math.min(count, fit) * field.size, whole: count <= fit };
}

/*
 * Returns where the fields are: [{at, size}, ...] of those that are in the data, and the offset of the bytes that
 * belong to no field, which is the length if there are only padding bytes or none.
 */
export function locate(type, bytes, little) {
	const places = [];
	let end = 0;
	for (const field of type.fields) {
		const at = Math.min(roundUp(end, field.align), bytes.length), counter = field.counter - 1;
		const count = field.counter ? Number(item(type.fields[counter], bytes, places[counter].at, little)) :
			field.count;
		const { size, whole } = sizeOf(field, count, bytes, at);
		end = at + size;
		if (whole || size)
			places.push({ at, size });
		if (!whole)
			return { places, rest: end };
	}
	return { places, rest: roundUp(end, type.align) === bytes.length ? bytes.length : end };
}

/* Returns a number, or a BigInt if a number would not be exact. */
function item(field, bytes, at, little) {
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	if (field.kind === 'float')
		return field.size === 8 ? view.getFloat64(at, little) :
			Number(view.getFloat32(at, little).toPrecision(7));
	const signed = field.kind === 'signed';
	switch (field.size) {
	case 1:
		return signed ? view.getInt8(at) : view.getUint8(at);
	case 2:
		return signed ? view.getInt16(at, little) : view.getUint16(at, little);
	case 4:
		return signed ? view.getInt32(at, little) : view.getUint32(at, little);
	default: {
		const value = signed ? view.getBigInt64(at, little) : view.getBigUint64(at, little);
		return value >= -9007199254740991n && value <= 9007199254740991n ? Number(value) : value;
	}
	}
}

/* Returns a function that reads a number exactly: a BigInt, or a Number if it is real. */
export function fieldReader(field, little) {
	return (bytes, at) => {
		if (field.kind === 'float' && field.size === 4)
			return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getFloat32(at, little);
		const value = item(field, bytes, at, little);
		return field.kind === 'float' ? value : field.kind === 'bool' ? BigInt(value !== 0) : BigInt(value);
	};
}

/* Returns the bytes of a text, without the nulls that end it. */
export function textBytes(field, { at, size }, bytes) {
	const part = bytes.subarray(at, at + size);
	return field.kind === 'text' ? withoutNulls(part) : upToNull(part);
}

function valueAt(field, place, bytes, little) {
	const { at, size } = place, part = bytes.subarray(at, at + size);
	if (isText(field))
		return decoder.decode(textBytes(field, place, bytes));
	if (field.kind === 'bytes')
		return part;
	if (!isArray(field))
		return item(field, bytes, at, little);
	const items = [];
	for (let next = 0; next < size; next += field.size)
		items.push(item(field, bytes, at + next, little));
	return items;
}

/* Returns the value of one of the type's fields, or null if it is not in the data. */
export function fieldValue(type, field, bytes, little) {
	const place = locate(type, bytes, little).places[type.fields.indexOf(field)];
	return place ? valueAt(field, place, bytes, little) : null;
}

const unitDigits = { s: 0, ms: 3, us: 6, ns: 9 };

/* Returns a time in UTC. */
function timeText(field, value) {
	const digits = unitDigits[field.unit || (field.size === 4 ? 's' : 'ns')], perSecond = 10n ** BigInt(digits);
	const date = new Date(Number(BigInt(value) / perSecond) * 1000);
	if (Number.isNaN(date.getTime()))
		return null;
	const fraction = digits ? '.' + String(BigInt(value) % perSecond).padStart(digits, '0') : '';
	return date.toISOString().replace('.000Z', fraction + 'Z');
}

/* Returns the labels of the bits that are set, and in hexadecimal the bits that have no label. */
function bitsText(field, value) {
	const all = BigInt(value), names = [];
	let left = all;
	for (const [number, name] of field.labels) {
		const bits = BigInt(number);
		if (bits && (all & bits) === bits && left & bits) {
			names.push(name);
			left &= ~bits;
		}
	}
	if (!names.length)
		return null;
	return names.join('|') + (left ? `|0x${left.toString(16)}` : '');
}

/* Returns the words for a value that is not shown as a number, or null. */
export function valueWords(field, value) {
	if (field.stacks)
		return field.stacks.text(value);
	if (field.kind === 'bool')
		return value ? 'true' : 'false';
	if (field.kind === 'time')
		return timeText(field, value);
	if (field.naming === 'bits' && value)
		return bitsText(field, value);
	const label = field.naming ? field.labels.find(([number]) => number === String(value)) : null;
	return label ? label[1] : null;
}

function numberText(field, value) {
	const words = valueWords(field, value);
	if (words !== null)
		return words;
	return field.kind === 'hex' || field.kind === 'code' ? '0x' + value.toString(16) : String(value);
}

/* Returns a field's value as text for display. */
export function valueText(field, value) {
	if (typeof value === 'string')
		return JSON.stringify(value);
	if (value instanceof Uint8Array)
		return hex(value);
	if (Array.isArray(value))
		return '[' + value.map((each) => numberText(field, each)).join(' ') + ']';
	return numberText(field, value);
}

/* Returns the unit to show after a value: the words for a time contain it. */
export function shownUnit(field) {
	return field.kind === 'time' ? '' : field.unit;
}

/* Returns [{field, value}, ...] and the bytes after the fields. */
export function decode(type, bytes, little) {
	const { places, rest } = locate(type, bytes, little);
	const values = places.map((place, i) => ({ field: type.fields[i],
		value: valueAt(type.fields[i], place, bytes, little) }));
	return { values, missing: places.length < type.fields.length, more: bytes.subarray(rest) };
}

/* Returns data as one line: rows=3 time=1200ns; "text"; bytes in hex. */
export function summary(type, bytes, little) {
	if (!type.fields) {
		const text = asText(bytes);
		return text === null ? hex(bytes) : JSON.stringify(withoutEnd(text));
	}
	const { values, missing, more } = decode(type, bytes, little);
	const parts = values.map(({ field, value }) => `${field.name}=${valueText(field, value)}${shownUnit(field)}`);
	if (missing)
		parts.push('…');
	if (more.length)
		parts.push('+' + hex(more));
	return parts.join(' ');
}

function withoutEnd(text) {
	return text.replace(/\0+$/, '');
}

/* Returns the most informative text of an event: its first text field, or null if it has none. */
export function ownText(type, bytes, little) {
	if (!type.fields)
		return asText(bytes);
	const field = type.fields.find(isText);
	return field ? fieldValue(type, field, bytes, little) : null;
}
