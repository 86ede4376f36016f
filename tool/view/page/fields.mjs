/*
 * fields.mjs - what the data of an event mean
 *
 * Decodes data by the layout that the program has declared (docs/command.md), or guesses from the bytes.
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

const isRest = (field) => field.kind === 'text' || field.kind === 'bytes';

/* Returns how many bytes of a field are in the data; except in texts, only complete items count. */
function there(field, length) {
	const left = Math.max(length - field.offset, 0), all = field.size * field.count;
	if (isRest(field))
		return left;
	return left < all ? Math.floor(left / field.size) * field.size : all;
}

/* Returns a number, or a BigInt if a number would not be exact. */
function item(field, view, at, little) {
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

/* Returns the items that are complete, or null if there are none. */
export function fieldValue(field, bytes, little) {
	const size = there(field, bytes.length);
	if (size === 0 && !isRest(field))
		return null;
	const part = bytes.subarray(size ? field.offset : 0, (size ? field.offset : 0) + size);
	if (field.kind === 'chars')
		return decoder.decode(upToNull(part));
	if (field.kind === 'text')
		return decoder.decode(withoutNulls(part));
	if (field.kind === 'bytes')
		return part;
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	if (field.count === 1)
		return item(field, view, field.offset, little);
	const items = [];
	for (let at = 0; at < size; at += field.size)
		items.push(item(field, view, field.offset + at, little));
	return items;
}

function numberText(field, value) {
	return field.kind === 'hex' ? '0x' + value.toString(16) : String(value);
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

/* Returns the offset of the first incomplete item, for data that end before the last field. */
function endOfWhole(type, length) {
	for (const field of type.fields) {
		const size = there(field, length);
		if (size < field.size * field.count)
			return Math.min(field.offset + size, length);
	}
	return length;
}

/* Returns the offset of the bytes that belong to no field, or the length if there are only padding bytes or none. */
function undeclaredFrom(type, length) {
	const all = Math.ceil(type.end / type.align) * type.align, last = type.fields[type.fields.length - 1];
	if (length < (isRest(last) ? last.offset : type.end))
		return endOfWhole(type, length);
	return isRest(last) || length === all ? length : type.end;
}

/* Returns [{field, value}, ...] and the bytes after the fields. */
export function decode(type, bytes, little) {
	const values = [];
	for (const field of type.fields) {
		const value = fieldValue(field, bytes, little);
		if (value === null)
			return { values, missing: true, more: bytes.subarray(undeclaredFrom(type, bytes.length)) };
		values.push({ field, value });
	}
	return { values, missing: false, more: bytes.subarray(undeclaredFrom(type, bytes.length)) };
}

/* Returns data as one line: rows=3 time=1200ns; "text"; bytes in hex. */
export function summary(type, bytes, little) {
	if (!type.fields) {
		const text = asText(bytes);
		return text === null ? hex(bytes) : JSON.stringify(withoutEnd(text));
	}
	const { values, missing, more } = decode(type, bytes, little);
	const parts = values.map(({ field, value }) => `${field.name}=${valueText(field, value)}${field.unit}`);
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
	const field = type.fields.find((each) => each.kind === 'chars' || each.kind === 'text');
	return field ? fieldValue(field, bytes, little) : null;
}
