/*
 * fields.mjs - what the data of an event mean
 *
 * By the layout that its program has declared (docs/command.md), or by looking at the bytes.
 *
 * SPDX-License-Identifier: MIT
 */

const strict = new TextDecoder('utf-8', { fatal: true });
const lenient = new TextDecoder('utf-8');

export function hex(bytes, group = 4) {
	let text = '';
	for (let i = 0; i < bytes.length; i++)
		text += (group && i && i % group === 0 ? ' ' : '') + bytes[i].toString(16).padStart(2, '0');
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

/* Text, perhaps with a null at its end? A small number of two bytes looks like a string of one character. */
export function asText(bytes) {
	const part = bytes.length > 2 && bytes[bytes.length - 1] === 0 ? bytes.subarray(0, bytes.length - 1) : bytes;
	if (part.length === 0)
		return null;
	for (const byte of part)
		if ((byte < 0x20 && byte !== 10 && byte !== 9) || byte === 0x7f)
			return null;
	try {
		const text = strict.decode(part);
		return /[\u0080-\u009f]/.test(text) ? null : text;
	} catch {
		return null;
	}
}

const isRest = (field) => field.kind === 'text' || field.kind === 'bytes';

/* Bytes of a field that are there; of one that is no text, whole items. */
function there(field, length) {
	const left = Math.max(length - field.offset, 0), all = field.size * field.count;
	if (isRest(field))
		return left;
	return left < all ? Math.floor(left / field.size) * field.size : all;
}

/* A number, or a BigInt where that is not exact. */
function item(field, view, at, little) {
	if (field.kind === 'float')
		return field.size === 8 ? view.getFloat64(at, little) : Number(view.getFloat32(at, little).toPrecision(7));
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

/* As many items as there are; null: not one. */
export function fieldValue(field, bytes, little) {
	const size = there(field, bytes.length);
	if (size === 0 && !isRest(field))
		return null;
	const part = bytes.subarray(size ? field.offset : 0, (size ? field.offset : 0) + size);
	if (field.kind === 'chars')
		return lenient.decode(upToNull(part));
	if (field.kind === 'text')
		return lenient.decode(withoutNulls(part));
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

/* Of a field's value, for people. */
export function valueText(field, value) {
	if (typeof value === 'string')
		return JSON.stringify(value);
	if (value instanceof Uint8Array)
		return hex(value);
	if (Array.isArray(value))
		return '[' + value.map((each) => numberText(field, each)).join(' ') + ']';
	return numberText(field, value);
}

/* Offset of what the layout says nothing of; the length: nothing, or only what fills a structure up. */
function unsaid(type, length) {
	const all = Math.ceil(type.end / type.align) * type.align, last = type.fields[type.fields.length - 1];
	return isRest(last) || length === all || length < type.end ? length : type.end;
}

/* [{field, value}, ...] and the bytes behind them. */
export function decode(type, bytes, little) {
	const values = [];
	for (const field of type.fields) {
		const value = fieldValue(field, bytes, little);
		if (value === null)
			return { values, missing: true, more: bytes.subarray(bytes.length) };
		values.push({ field, value });
	}
	return { values, missing: false, more: bytes.subarray(unsaid(type, bytes.length)) };
}

/* One line: rows=3 time=1200ns; "text"; bytes in hex. */
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

/* The text in it, of which an event tells most: its first field that is one; null: there is none. */
export function ownText(type, bytes, little) {
	if (!type.fields)
		return asText(bytes);
	const field = type.fields.find((each) => each.kind === 'chars' || each.kind === 'text');
	return field ? fieldValue(field, bytes, little) : null;
}
