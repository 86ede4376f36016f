/*
 * load.mjs - makes the trace from the blocks in the page
 *
 * SPDX-License-Identifier: MIT
 */
import { emptyColumns, fromBase64, inflate, unpackCuts, unpackEvents, unpackShapes } from './unpack.mjs';
import { makeStacks } from './stacks.mjs';
import { makeTrace } from './trace.mjs';

/* Returns a block's bytes, and frees the memory of its text. */
async function bytesOf(node) {
	const packed = fromBase64(node.textContent), { packing, size } = node.dataset;
	node.remove();
	return packing === 'deflate' ? inflate(packed, Number(size)) : packed;
}

async function allOf(kind, progress = () => {}) {
	const nodes = [...document.querySelectorAll(`script[data-kind="${kind}"]`)], blocks = [];
	for (const node of nodes) {
		blocks.push(await bytesOf(node));
		progress(blocks.length / nodes.length);
	}
	return blocks;
}

export async function load(progress) {
	const text = new TextDecoder().decode((await allOf('tables'))[0]), tables = JSON.parse(text);
	const shapes = unpackShapes(await allOf('shapes')), columns = emptyColumns(tables.events, tables.bytes);
	for (const [i, node] of [...document.querySelectorAll('script[data-kind="events"]')].entries()) {
		unpackEvents(columns, shapes, await bytesOf(node));
		progress(columns.count / tables.events, i);
	}
	const cuts = unpackCuts((await allOf('cuts'))[0]);
	if (columns.count !== tables.events)
		throw new Error(`the page has ${columns.count} events instead of ${tables.events}: it is not complete`);
	const trace = makeTrace(tables, columns, shapes, cuts);
	makeStacks(trace, (await allOf('stacks'))[0]);
	return trace;
}
