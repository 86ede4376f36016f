/*
 * view_where.mjs - the events that searches find in a page: view_where.mjs PAGE.html <SEARCHES
 *
 * SEARCHES is a JSON list of texts. For each, prints a list of the times of the events, or {at, why}.
 *
 * SPDX-License-Identifier: MIT
 */
import {readFileSync} from 'node:fs';
import {inflateSync} from 'node:zlib';

import {find} from '../../tool/view/page/search.mjs';
import {makeTrace} from '../../tool/view/page/trace.mjs';
import {emptyColumns, fromBase64, unpackCuts, unpackEvents, unpackShapes} from '../../tool/view/page/unpack.mjs';

function blocks(page, kind) {
	const form = new RegExp(`<script[^>]*data-kind="${kind}"([^>]*)>([^<]*)</script>`, 'g');
	return [...page.matchAll(form)].map(([, attributes, text]) => {
		const bytes = fromBase64(text);
		return attributes.includes('deflate') ? new Uint8Array(inflateSync(bytes)) : bytes;
	});
}

function traceOf(page) {
	const tables = JSON.parse(new TextDecoder().decode(blocks(page, 'tables')[0]));
	const shapes = unpackShapes(blocks(page, 'shapes')), columns = emptyColumns(tables.events, tables.bytes);
	blocks(page, 'events').forEach((block) => unpackEvents(columns, shapes, block));
	return makeTrace(tables, columns, shapes, unpackCuts(blocks(page, 'cuts')[0]));
}

const trace = traceOf(readFileSync(process.argv[2], 'utf8'));
const answers = [];
for (const text of JSON.parse(readFileSync(0, 'utf8'))) {
	try {
		answers.push([...await find(trace, text)].map((event) => trace.columns.time[event]));
	} catch (fault) {
		answers.push({ at : fault.at, why : fault.message });
	}
}
console.log(JSON.stringify(answers));
