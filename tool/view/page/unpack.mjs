/*
 * unpack.mjs - unpacks the blocks of the page into arrays
 *
 * The counterpart of columns.h and page.c.
 *
 * SPDX-License-Identifier: MIT
 */

export function fromBase64(text) {
	const binary = atob(text), bytes = new Uint8Array(binary.length);
	for (let i = 0; i < binary.length; i++)
		bytes[i] = binary.charCodeAt(i);
	return bytes;
}

/* Decompresses a block; size is the number of bytes after that. */
export async function inflate(packed, size) {
	const reader = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate')).getReader();
	const bytes = new Uint8Array(size);
	let at = 0;
	for (;;) {
		const { done, value } = await reader.read();
		if (done)
			return bytes;
		bytes.set(value, at);
		at += value.length;
	}
}

/* Allocates columns for a number of events and of bytes of data. */
export function emptyColumns(events, data) {
	return {
		count: 0,
		time: new Float64Array(events),
		shape: new Uint32Array(events),
		offset: new Uint32Array(events),
		data: new Uint8Array(data),
		dataEnd: 0,
	};
}

/* Returns shapes as columns, from a block of rows of six numbers. */
export function unpackShapes(blocks) {
	const rows = blocks.reduce((sum, block) => sum + block.length / 24, 0);
	const names = ['thread', 'type', 'place', 'flags', 'length', 'whole'], shapes = { count: rows };
	for (const name of names)
		shapes[name] = new Uint32Array(rows);
	let row = 0;
	for (const block of blocks) {
		const view = new DataView(block.buffer, block.byteOffset, block.byteLength);
		for (let at = 0; at < block.length; row++)
			for (const name of names) {
				shapes[name][row] = view.getUint32(at, true);
				at += 4;
			}
	}
	return shapes;
}

/* Appends the events of a block. */
export function unpackEvents(columns, shapes, block) {
	const view = new DataView(block.buffer, block.byteOffset, block.byteLength);
	const count = view.getUint32(0, true), times = view.getUint32(4, true), shapeBytes = view.getUint32(8, true);
	let timeAt = 24, shapeAt = 24 + times, dataAt = columns.dataEnd, time = view.getFloat64(16, true),
		index = columns.count;
	const { time: timeOf, shape: shapeOf, offset: offsetOf } = columns, { length } = shapes;

	columns.data.set(block.subarray(24 + times + shapeBytes), dataAt);
	for (let n = 0; n < count; n++, index++) {
		let byte = block[timeAt++], value = byte & 127, factor = 128;
		for (; byte > 127; factor *= 128) {
			byte = block[timeAt++];
			value += (byte & 127) * factor;
		}
		time += value % 2 ? -(value + 1) / 2 : value / 2;
		byte = block[shapeAt++];
		let shape = byte & 127;
		for (let shift = 7; byte > 127; shift += 7) {
			byte = block[shapeAt++];
			shape |= (byte & 127) << shift;
		}
		timeOf[index] = time;
		shapeOf[index] = shape;
		offsetOf[index] = dataAt;
		dataAt += length[shape];
	}
	columns.count = index;
	columns.dataEnd = dataAt;
}

export function unpackCuts(block) {
	const view = new DataView(block.buffer, block.byteOffset, block.byteLength), cuts = [];
	for (let at = 0; at < block.length; at += 12)
		cuts.push({ event: view.getUint32(at, true), log: view.getUint32(at + 4, true),
			hidden: view.getUint32(at + 8, true) !== 0 });
	return cuts;
}
