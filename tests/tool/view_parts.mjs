/*
 * view_parts.mjs - the parts of a page that need no browser: times, text, data, spans, spread, search
 *
 *     node --test view_parts.mjs
 *
 * SPDX-License-Identifier: MIT
 */
import assert from 'node:assert/strict';
import test from 'node:test';

import {lossFacts} from '../../tool/view/page/about.mjs';
import {chooseHues, hueCount, huesOfTexts, palette} from '../../tool/view/page/colours.mjs';
import {asText, decode, ownText, summary, valueText} from '../../tool/view/page/fields.mjs';
import {flowsOf} from '../../tool/view/page/flows.mjs';
import {makeCounters} from '../../tool/view/page/counters.mjs';
import {compile, find, splitWords} from '../../tool/view/page/search.mjs';
import {eachBin, lowerBound, lowerBoundNear} from '../../tool/view/page/seek.mjs';
import {callTree, functionsOf, walk} from '../../tool/view/page/calls.mjs';
import {layersMost, layOut, measure, nameOf, pairEvents, spansOf as spansOfEvent} from '../../tool/view/page/spans.mjs';
import {blocked, disk, makeStates, ready, running, stateAt, stateWords} from '../../tool/view/page/states.mjs';
import {histogram, mean, percentile} from '../../tool/view/page/spread.mjs';
import {bytes, count, plural, shortened, visible} from '../../tool/view/page/text.mjs';
import {absolute,
	duration,
	exactDuration,
	parseQuantity,
	plainSeconds,
	roundStep,
	seconds,
	ticks} from '../../tool/view/page/time.mjs';
import {eventAt, laneOf, makeTrace, summaryOf} from '../../tool/view/page/trace.mjs';
import {emptyColumns, unpackCuts, unpackEvents, unpackShapes} from '../../tool/view/page/unpack.mjs';

const plain = (text) => text.replace(/\u2009/g, ' ');

/* -- A trace, made by hand ---------------------------------------------------------------------------- */

const types = () => [{
	name : 'a.begin',
	system : 0,
	fields : [
		{ name : 'rows', unit : '', kind : 'unsigned', size : 4, count : 1, align : 4, counter : 0 },
		{ name : 'took', unit : 'us', kind : 'unsigned', size : 8, count : 1, align : 8, counter : 0 }
	],
	align : 8
},
		     { name : 'a.end', system : 0 },
		     { name : 'posix_trace_overflow', system : 4 },
];

/* events: [time, thread, type, data]; threads: [log, pid, tid, name] */
function made(events,
	      { threads = [ [ 0, 7, 7, 'main' ], [ 0, 7, 8, 'worker' ], [ 0, 0, 0, '' ] ], cuts = [],
		logs = 1, typed = types() } = {}) {
	const about = { file : 'a.log', host : 'h', lost : 0 };
	const tables = {
		begin : '1700000000000000000',
		order : 'little',
		events : events.length,
		types : typed,
		threads,
		places : [],
		spans : [],
		logs : Array.from({ length : logs },
				  (_, i) => ({ machine : i, processes : [ [ 7, '/bin/shop' ] ], gaps : [], about }))
	};
	const rows = events.map(([, thread, type, data = [] ]) => [thread, type, 0, 0, data.length, data.length]);
	const shapes = { count : rows.length };
	['thread', 'type', 'place', 'flags', 'length', 'whole'].forEach(
		(name, i) => { shapes[name] = Uint32Array.from(rows, (row) => row[i]); });
	const columns = emptyColumns(events.length, rows.reduce((sum, row) => sum + row[4], 0));
	events.forEach(([ time, , , data = [] ], i) => {
		columns.time[i] = time;
		columns.shape[i] = i;
		columns.offset[i] = columns.dataEnd;
		columns.data.set(data, columns.dataEnd);
		columns.dataEnd += data.length;
	});
	columns.count = events.length;
	return makeTrace(tables, columns, shapes, cuts);
}

const pair = {
	begin : 'a.begin',
	end : 'a.end',
	from : [ 0 ],
	to : [ 1 ],
	by : 'thread',
	nested : false
};
const spansOf = (trace, more = {}) => {
	const { first, last, ...rest } = pairEvents(trace, {...pair, ...more });
	return { pairs : Array.from(first, (event, i) => [event, last[i]]), ...rest };
};

/* -- Times -------------------------------------------------------------------------------------------- */

test('durations have three digits and a unit', () => {
	for (const [ns, text] of [[ 0, '0 ns' ], [ 820, '820 ns' ], [ 999, '999 ns' ], [ 1000, '1.00 µs' ],
				  [ 12345, '12.3 µs' ], [ 999999, '1.00 ms' ], [ 1.35e6, '1.35 ms' ], [ 2e9, '2.00 s' ],
				  [ 59.9e9, '59.9 s' ], [ 125e9, '2 min 5 s' ], [ 3661e9, '1 h 1 min' ],
				  [ -5, '−5 ns' ], [ NaN, '?' ]])
		assert.equal(duration(ns), text);
});

test('exact durations lose nothing', () => {
	for (const [ns, text] of [[ 0, '0 ns' ], [ 1, '1 ns' ], [ 1350204, '1.350 204 ms' ], [ 1000, '1 µs' ],
				  [ 1500, '1.500 µs' ], [ 2000000001, '2.000 000 001 s' ], [ -1500, '−1.500 µs' ]])
		assert.equal(plain(exactDuration(ns)), text);
});

test('seconds have nine digits, and are what --from takes', () => {
	assert.equal(plain(seconds(1621688)), '0.001 621 688');
	assert.equal(plainSeconds(1234567890), '1.234567890');
	assert.equal(plainSeconds(-5), '-0.000000005');
});

test('absolute times keep their nanoseconds', () => {
	assert.match(plain(absolute(1700000000123456789n, 1)), /^2023-11-1\d \d\d:\d\d:20\.123 456 790$/);
	assert.equal(absolute(10n ** 30n, 0), `${10n ** 30n} ns`);
});

test('ticks are round, in order, and not too many', () => {
	assert.deepEqual([ 3, 10, 11, 40, 51 ].map(roundStep), [ 5, 10, 20, 50, 100 ]);
	for (const [t0, t1] of [[ 0, 1e9 ], [ -50, 733 ], [ 1e12, 1e12 + 500 ], [ 5e6, 5.3e6 ]]) {
		const { marks, step } = ticks(t0, t1, 8);
		assert.ok(marks.length > 2 && marks.length <= 9, `${marks.length} from ${t0} to ${t1}`);
		marks.forEach(({ time }, i) =>
				      assert.ok(time >= t0 && time <= t1 &&
						(i === 0 || Math.abs(time - marks[i - 1].time - step) < 1e-3)));
		assert.equal(new Set(marks.map(({ label }) => label)).size, marks.length, 'each has another label');
	}
	assert.deepEqual(ticks(0, 2e6, 4).marks.map(({ label }) => label),
			 [ '0.0 ms', '0.5 ms', '1.0 ms', '1.5 ms', '2.0 ms' ]);
	assert.ok(ticks(1e12, 1e12 + 500, 8).base > 0 && ticks(1e12, 1e12 + 500, 8).marks[0].label.startsWith('+'));
});

test('quantities with units', () => {
	assert.deepEqual(parseQuantity('1.5ms'), { value : 1.5e6, time : true });
	assert.deepEqual(parseQuantity('42'), { value : 42, time : false });
	assert.ok(Number.isNaN(parseQuantity('many').value));
});

/* -- Text --------------------------------------------------------------------------------------------- */

test('what cannot be seen is shown', () => {
	assert.equal(visible('a\nb\tc'), 'a↵b⇥c');
	assert.equal(visible('\u0000\u001b[31m'), '␀␛[31m');
	assert.equal(visible('ab\u202Edc\u2066\u200b\ufeff'), 'ab\\u{202e}dc\\u{2066}\\u{200b}\\u{feff}');
	assert.equal(visible('\u0085\ud800'), '\\u{85}\\u{d800}');
	assert.equal(visible('Zürich 😀 <b>'), 'Zürich 😀 <b>');
});

test('numbers for people', () => {
	assert.equal(plain(count(1234567)), '1 234 567');
	assert.equal(plural(1, 'event'), '1 event');
	assert.equal(plural(2, 'process', 'processes'), '2 processes');
	assert.equal(bytes(1), '1 byte');
	assert.equal(bytes(1536), '1.50 KiB');
	assert.equal(shortened('abcdef', 4), 'abc…');
});

/* -- Data --------------------------------------------------------------------------------------------- */

const field = (name, kind, size, more = {}) => ({ name, unit : '', kind, size, align : size, count : 1, counter : 0,
	...more });

test('fields of all kinds', () => {
	const type = {
		align : 8,
		fields : [
			field('u', 'unsigned', 1), field('i', 'signed', 2),
			field('x', 'hex', 4, { unit : 'B' }), field('f', 'float', 8),
			field('big', 'unsigned', 8), field('c', 'chars', 1, { count : 8 }),
			field('n', 'signed', 4, { count : 2 })
		]
	};
	const data = new Uint8Array(40), view = new DataView(data.buffer);
	data[0] = 200;
	view.setInt16(2, -3, true);
	view.setUint32(4, 0xbeef, true);
	view.setFloat64(8, 0.25, true);
	view.setBigUint64(16, 18446744073709551615n, true);
	data.set([ 104, 105, 0, 120 ], 24);
	view.setInt32(32, -1, true);
	view.setInt32(36, 7, true);
	assert.equal(summary(type, data, true), 'u=200 i=-3 x=0xbeefB f=0.25 big=18446744073709551615 c="hi" n=[-1 7]');
	assert.equal(summary(type, data.subarray(0, 8), true), 'u=200 i=-3 x=0xbeefB …');
	assert.equal(summary(type, data.subarray(0, 6), true), 'u=200 i=-3 … +efbe');
	assert.equal(decode(type, data, true).values[4].value, 18446744073709551615n);
	const more = new Uint8Array(44);
	assert.equal(decode(type, more, true).more.length, 4);
});

test('all the rest, as text or bytes', () => {
	const type = { align : 4, fields : [ field('n', 'unsigned', 4), field('s', 'text', 1, { count : 0 }) ] };
	assert.equal(summary(type, new Uint8Array([ 1, 0, 0, 0, 0x78, 0x22, 0 ]), true), 'n=1 s="x\\""');
	assert.equal(summary({ align : 1, fields : [ field('b', 'bytes', 1, { count : 0 }) ] },
			     new Uint8Array([ 1, 2, 3, 4, 5 ]), true),
		     'b=01020304 05');
	assert.equal(ownText(type, new Uint8Array([ 1, 0, 0, 0, 0x78 ]), true), 'x');
});

test('strings and counted arrays anywhere', () => {
	const bytes = (text) => new Uint8Array([...text].map((each) => each.charCodeAt(0)));
	const type = { align : 2, fields : [
		field('a', 'string', 1, { count : 0 }), field('n', 'unsigned', 1),
		field('v', 'unsigned', 2, { count : 0, counter : 2 }), field('b', 'bytes', 1, { count : 2 }),
		field('c', 'chars', 1, { count : 0, counter : 2 })
	] };
	assert.equal(summary(type, bytes('one\x00\x02\x00\x01\x00\x02\x00xyhi'), true),
		     'a="one" n=2 v=[1 2] b=7879 c="hi"');
	assert.equal(summary(type, bytes('one\x00\x02\x00\x01\x00\x02'), true), 'a="one" n=2 v=[1] … +02');
	assert.equal(summary(type, bytes('on'), true), 'a="on" …');
});

test('labels, bits, times, addresses', () => {
	const labels = [ [ '0', 'idle' ], [ '4', 'busy' ] ], bits = [ [ '1', 'read' ], [ '2', 'write' ] ];
	const type = { align : 1, fields : [
		field('s', 'unsigned', 1, { naming : 'values', labels }),
		field('m', 'hex', 1, { naming : 'bits', labels : bits }),
		field('b', 'bool', 1), field('t', 'time', 8, { align : 1, unit : 'ms' }),
		field('f', 'code', 4, { align : 1 })
	] };
	const data = (...head) => new Uint8Array([...head, 1, 4, 0, 0, 0, 0, 0, 0, 0x34, 0x12, 0, 0 ]);
	assert.equal(summary(type, data(4, 3, 1), true),
		     's=busy m=read|write b=true t=1970-01-01T00:00:01.025Z f=0x1234');
	assert.equal(summary(type, data(5, 0x11, 0), true),
		     's=5 m=read|0x10 b=false t=1970-01-01T00:00:01.025Z f=0x1234');
	assert.equal(valueText(type.fields[1], 0), '0x0');
});

test('text without a declaration, or not', () => {
	const of = (text) => asText(new TextEncoder().encode(text));
	assert.equal(of('hello\n'), 'hello\n');
	assert.equal(of('abc\0'), 'abc');
	assert.equal(of('Grüße'), 'Grüße');
	assert.equal(of('a\0'), null);
	assert.equal(of('\x1b[0m'), null);
	assert.equal(of('a\u0085'), null);
	const strict = new TextDecoder('utf-8', { fatal : true, ignoreBOM : true });
	for (let i = 0; i < 20000; i++) {
		const some = Uint8Array.from({ length : 1 + i % 5 },
					     () => Math.random() < 0.3 ? 0x41 : 0x80 + Math.floor(Math.random() * 128));
		let right = null;
		try {
			right = strict.decode(some);
		} catch { /* it is not */
		}
		assert.equal(asText(some), right !== null && /[\u0080-\u009f]/.test(right) ? null : right, `${some}`);
	}
	for (const bytes of [[ 0xe0, 0x80, 0x80 ], [ 0xed, 0xa0, 0x80 ], [ 0xf4, 0x90, 0x80, 0x80 ], [ 0xc0, 0x80 ],
			     [ 0xe2, 0x82 ], [ 0xff ]])
		assert.equal(asText(new Uint8Array(bytes)), null);
	assert.equal(asText(new Uint8Array(0)), null);
});

/* -- Places in arrays ---------------------------------------------------------------------------------- */

test('binary search finds what going through finds', () => {
	const times = Float64Array.from({ length : 500 }, (_, i) => Math.floor(i / 3) * 7);
	for (let wanted = -5; wanted < 1200; wanted += 3) {
		let slow = 0;
		while (slow < times.length && times[slow] < wanted)
			slow++;
		assert.equal(lowerBound(times, wanted), slow);
		for (const from of [0, slow >> 1, slow])
			assert.equal(lowerBoundNear(times, wanted, from), slow);
	}
});

test('each event is in one bin, and bins stay where they are', () => {
	const times = Float64Array.from({ length : 1000 }, () => Math.random() * 1e6).sort(), seen = new Map();
	for (const [t0, t1] of [[ 0, 1e6 ], [ 12345.6, 765432.1 ]]) {
		let n = 0;
		eachBin(times, t0, t1, 777, (bin, from, to) => {
			for (let i = from; i < to; i++)
				assert.equal(Math.floor(times[i] / 777), bin);
			if (from > lowerBound(times, t0) && to < lowerBound(times, t1))
				assert.equal(seen.get(bin) ?? to - from, to - from);
			seen.set(bin, to - from);
			n += to - from;
		});
		assert.ok(n >= lowerBound(times, t1) - lowerBound(times, t0));
	}
	let calls = 0;
	eachBin(Float64Array.from([ 1e18, 1e18 + 256 ]), 0, 2e18, 1e-6, () => calls++);
	assert.ok(calls <= 2, 'rounding does not stop it');
});

/* -- Blocks ---------------------------------------------------------------------------------------------- */

test('a block of events becomes columns', () => {
	const bytesOf = new Uint8Array(24 + 5 + 3 + 5), view = new DataView(bytesOf.buffer);
	view.setUint32(0, 3, true);
	view.setUint32(4, 4, true);
	view.setUint32(8, 3, true);
	view.setUint32(12, 5, true);
	view.setFloat64(16, 1000, true);
	bytesOf.set([ 0, 0xd8, 0x04, 3, 0, 1, 0, 9, 8, 7, 6, 5 ], 24); /* steps 0, 300, -2 */
	const shapeBlock = new Uint8Array(48);
	new Uint32Array(shapeBlock.buffer).set([ 0, 0, 0, 0, 2, 2, 1, 1, 0, 0, 1, 5 ]);
	const shapes = unpackShapes([ shapeBlock ]), columns = emptyColumns(3, 5);
	unpackEvents(columns, shapes, bytesOf.subarray(0, 36));
	assert.deepEqual([...columns.time ], [ 1000, 1300, 1298 ]);
	assert.deepEqual([...columns.shape ], [ 0, 1, 0 ]);
	assert.deepEqual([...columns.offset ], [ 0, 2, 3 ]);
	assert.deepEqual([...columns.data ], [ 9, 8, 7, 6, 5 ]);
	assert.equal(shapes.whole[1], 5);
	assert.deepEqual(unpackCuts(new Uint8Array([ 1, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0 ])),
			 [ { event : 1, log : 2, hidden : true } ]);
});

/* -- The trace ------------------------------------------------------------------------------------------- */

test('threads are grouped under their processes', () => {
	const trace = made([ [ 10, 0, 0 ], [ 20, 1, 0 ], [ 15, 0, 1 ], [ 30, 2, 2 ] ]);
	assert.deepEqual(trace.groups.map((group) => group.label), [ 'shop 7', 'recording' ]);
	assert.deepEqual(trace.groups[0].lanes.map((lane) => lane.label), [ 'main 7', 'worker 8' ]);
	assert.deepEqual([...trace.groups[0].events ], [ 0, 1, 2 ]);
	assert.deepEqual([...trace.groups[0].times ], [ 10, 20, 20 ], 'what goes back can be searched all the same');
	assert.deepEqual([...laneOf(trace, 0).events ], [ 0, 2 ]);
	assert.equal(eventAt(trace, 16), 1);
	assert.deepEqual([ trace.first, trace.last ], [ 10, 30 ]);
});

test('an empty trace', () => {
	const trace = made([], { threads : [] });
	assert.equal(trace.count, 0);
	assert.ok(trace.last > trace.first);
	assert.deepEqual(spansOf(trace).pairs, []);
});

/* -- Spans ------------------------------------------------------------------------------------------------- */

test('an end belongs to the begin before it, of its thread', () => {
	assert.deepEqual(spansOf(made([ [ 0, 0, 0 ], [ 1, 1, 0 ], [ 2, 0, 1 ], [ 3, 1, 1 ] ])),
			 { pairs : [ [ 0, 2 ], [ 1, 3 ] ], noEnd : 0, noBegin : 0, cut : 0 });
	assert.deepEqual(spansOf(made([ [ 0, 0, 0 ], [ 1, 1, 0 ], [ 2, 0, 1 ], [ 3, 1, 1 ] ]), {
				 by : 'process',
				 nested : true
			 }).pairs,
			 [ [ 1, 2 ], [ 0, 3 ] ]);
	assert.deepEqual(spansOf(made([ [ 0, 0, 1 ], [ 1, 0, 0 ], [ 2, 0, 0 ], [ 3, 0, 1 ], [ 4, 0, 0 ] ])),
			 { pairs : [ [ 2, 3 ] ], noEnd : 2, noBegin : 1, cut : 0 });
	assert.deepEqual(spansOf(made([ [ 0, 0, 0 ], [ 1, 0, 0 ], [ 2, 0, 1 ], [ 3, 0, 1 ] ]), { nested : true }).pairs,
			 [ [ 1, 2 ], [ 0, 3 ] ]);
	assert.deepEqual(spansOf(made([ [ 0, 0, 0 ], [ 1, 0, 0 ], [ 2, 0, 0 ] ]), { to : [ 0 ] }),
			 { pairs : [ [ 0, 1 ], [ 1, 2 ] ], noEnd : 1, noBegin : 0, cut : 0 });
});

test('nothing goes on where events were lost', () => {
	const events = [ [ 0, 0, 0 ], [ 1, 2, 2 ], [ 2, 0, 1 ], [ 3, 0, 0 ], [ 4, 0, 1 ] ];
	assert.deepEqual(spansOf(made(events, { cuts : [ { event : 1, log : 0, hidden : false } ] })),
			 { pairs : [ [ 3, 4 ] ], noEnd : 0, noBegin : 1, cut : 1 });
	/* One that is not in the page is before the event with its number; one that is, between its end and its begin.
	 */
	const two = [ [ 0, 0, 0 ], [ 1, 0, 1 ] ];
	assert.equal(spansOf(made(two, { cuts : [ { event : 1, log : 0, hidden : true } ] })).cut, 1);
	assert.equal(spansOf(made(two, { cuts : [ { event : 1, log : 0, hidden : false } ] })).cut, 0);
	assert.equal(spansOf(made([ [ 0, 0, 0 ] ], { cuts : [ { event : 1, log : 0, hidden : true } ] })).cut, 1,
		     'behind the last event');
});

test('logs do not share spans', () => {
	const threads = [ [ 0, 7, 7, 'main' ], [ 1, 7, 7, 'main' ] ];
	assert.deepEqual(spansOf(made([ [ 0, 0, 0 ], [ 1, 1, 1 ] ], { threads, logs : 2 })),
			 { pairs : [], noEnd : 1, noBegin : 1, cut : 0 });
	const cut = [ { event : 1, log : 1, hidden : true } ];
	assert.equal(spansOf(made([ [ 0, 0, 0 ], [ 1, 0, 1 ] ], { threads, logs : 2, cuts : cut })).pairs.length, 1);
});

test('layers do not overlap', () => {
	const events = [];
	for (let i = 0; i < 300; i++)
		events.push([ i * 10, 0, 0 ], [ i * 10 + 3, 0, 0 ], [ i * 10 + 5, 0, 1 ], [ i * 10 + 9, 0, 1 ]);
	const trace = made(events), set = measure(trace, {...pair, nested : true });
	layOut(trace, [ set ]);
	const { layers } = trace.lanes[0];
	assert.equal(layers.length, 2);
	for (const { start, end, reach, busy } of layers)
		for (let i = 0; i < start.length; i++)
			assert.ok((i === 0 || start[i] >= end[i - 1]) && reach[i] === end[i] &&
				  busy[i + 1] - busy[i] === end[i] - start[i]);
	const deep = made([
		...Array.from({ length : 40 }, (_, i) => [i, 0, 0]),
		...Array.from({ length : 40 }, (_, i) => [100 + i, 0, 1])
	]);
	layOut(deep, [ measure(deep, {...pair, nested : true }) ]);
	assert.equal(deep.lanes[0].layers.length, layersMost);
	assert.equal(deep.lanes[0].layers.reduce((sum, layer) => sum + layer.start.length, 0), 40);
});

test('calls of functions', () => {
	/* f calls g twice, and itself once; g is cut by the range. */
	const place = (name) => ({ function : name }), trace = made([
		[ 0, 0, 0 ], [ 10, 0, 0 ], [ 20, 0, 1 ], [ 30, 0, 0 ], [ 35, 0, 0 ], [ 45, 0, 1 ], [ 50, 0, 1 ],
		[ 100, 0, 1 ],
	]);
	trace.tables.places = [ place('f'), place('g') ];
	[ 0, 1, 1, 0, 1, 1, 0, 0 ].forEach((which, i) => { trace.shapes.place[i] = which + 1; });
	const set = measure(trace, {...pair, nested : true, calls : true });
	const list = (t0, t1) => functionsOf(callTree(trace, [ set ], null, t0, t1).root)
				     .map(({ name, calls, total, self }) => [name, calls, total, self]);
	assert.deepEqual(list(0, 100), [ [ 'f', 2, 100, 80 ], [ 'g', 2, 20, 20 ] ]);
	assert.deepEqual(list(15, 40), [ [ 'f', 2, 25, 15 ], [ 'g', 2, 10, 10 ] ]);
	const { root } = callTree(trace, [ set ], null, 0, 100);
	assert.deepEqual([...walk(root)].map(({ node, depth }) => [depth, node.name, node.total, node.self]),
			 [ [ 0, 'f', 100, 70 ], [ 1, 'f', 20, 10 ], [ 2, 'g', 10, 10 ], [ 1, 'g', 10, 10 ] ]);
	assert.equal(callTree(trace, [ set ], null, 200, 300).root.children.size, 0);
});

test('the spans of an event', () => {
	const trace = made([ [ 0, 0, 0 ], [ 1, 0, 0 ], [ 2, 0, 1 ], [ 3, 0, 1 ] ]),
	      set = measure(trace, {...pair, nested : true });
	assert.deepEqual([ 0, 1, 2, 3 ].map((event) => spansOfEvent([ set ], event).map(({ index }) => index)),
			 [ [ 1 ], [ 0 ], [ 0 ], [ 1 ] ]);
	const periods = measure(trace, {...pair, to : [ 0 ] });
	assert.deepEqual(spansOfEvent([ periods ], 1).map(({ index }) => index), [ 0 ]);
});

const number = (name, size, unit = '') => ({ name, unit, kind : 'unsigned', size, count : 1, align : 1, counter : 0 });

test('an end belongs to the begin with its id, of its process', () => {
	const id = [ number('id', 1) ], typed = [ { name : 'in', system : 0, fields : id, align : 1, by : 0 },
		{ name : 'out', system : 0, fields : id, align : 1, by : 0 } ];
	const threads = [ [ 0, 7, 7, 'main' ], [ 0, 7, 8, 'worker' ], [ 0, 9, 9, 'other' ] ];
	assert.deepEqual(spansOf(made([ [ 0, 0, 0, [ 1 ] ], [ 1, 1, 0, [ 2 ] ], [ 2, 2, 0, [ 1 ] ], [ 3, 1, 1, [ 1 ] ],
					[ 4, 0, 1, [ 2 ] ], [ 5, 2, 1, [ 2 ] ], [ 6, 2, 1, [ 1 ] ] ],
				      { threads, typed })),
			 { pairs : [ [ 0, 3 ], [ 1, 4 ], [ 2, 6 ] ], noEnd : 0, noBegin : 1, cut : 0 });
	assert.deepEqual(spansOf(made([ [ 0, 0, 0, [ 1 ] ], [ 1, 0, 0, [ 1 ] ], [ 2, 1, 1, [ 1 ] ], [ 3, 0, 1, [] ] ],
				      { threads, typed }), { nested : true }),
			 { pairs : [ [ 1, 2 ] ], noEnd : 1, noBegin : 0, cut : 0 });
	assert.deepEqual(spansOf(made([ [ 0, 0, 0, [ 1 ] ], [ 1, 0, 1, [ 1 ] ] ],
				      { threads, typed, cuts : [ { event : 1, log : 0, hidden : true } ] })),
			 { pairs : [], noEnd : 0, noBegin : 1, cut : 1 });
});

test('an event that is a whole span', () => {
	const typed = [ { name : 'query', system : 0, fields : [ number('time', 1, 'us') ], align : 1, took : 0 } ];
	const trace = made([ [ 5000, 0, 0, [ 2 ] ], [ 9000, 0, 0, [ 8 ] ], [ 9500, 0, 0, [] ] ],
			   { threads : [ [ 0, 7, 7, 'main' ] ], typed });
	const set = measure(trace, { name : 'query', whole : true, from : [ 0 ], to : [ 0 ], by : 'thread' });
	assert.deepEqual([ [...set.starts ], [...set.durations ] ], [ [ 3000, 1000 ], [ 2000, 8000 ] ]);
	const signed = [ { ...typed[0], fields : [ { ...number('time', 1, 's'), kind : 'signed' } ] } ];
	const wrong = made([ [ 5000, 0, 0, [ 255 ] ], [ 9000, 0, 0, [ 0 ] ] ],
			   { threads : [ [ 0, 7, 7, 'main' ] ], typed : signed });
	const some = measure(wrong, { name : 'query', whole : true, from : [ 0 ], to : [ 0 ], by : 'thread' });
	assert.deepEqual([ [...some.durations ], some.impossible, set.impossible ], [ [ 0 ], 1, 0 ]);
	layOut(trace, [ set ]);
	assert.equal(trace.lanes[0].layers.length, 2);
	assert.deepEqual(spansOfEvent([ set ], 1).map(({ index }) => index), [ 1 ]);
});

test('flows go to what receives the id before it is sent again', () => {
	const typed = [ { name : 'send', system : 0, fields : [ number('id', 1) ], align : 1, send : 0 },
		{ name : 'receive', system : 0, fields : [ number('id', 2) ], align : 1, receive : 0 } ];
	const trace = made([ [ 0, 0, 0, [ 5 ] ], [ 1, 1, 1, [ 5, 0 ] ], [ 2, 0, 1, [ 5, 0 ] ], [ 3, 0, 0, [ 5 ] ],
			     [ 4, 1, 1, [ 5, 0 ] ], [ 5, 1, 1, [ 6, 0 ] ] ], { typed });
	assert.deepEqual([ 0, 1, 2, 3, 4, 5 ].map((event) => flowsOf(trace, event)), [
		{ from : [], to : [ 1, 2 ] }, { from : [ 0 ], to : [] }, { from : [ 0 ], to : [] },
		{ from : [], to : [ 4 ] }, { from : [ 3 ], to : [] }, { from : [], to : [] } ]);
});

test('counters', () => {
	const typed = [ { name : 'queue', system : 0, fields : [ number('cpu', 1), number('n', 1, 'B') ], align : 1,
		counter : true, by : 0 } ];
	const trace = made([ [ 0, 0, 0, [ 1, 3 ] ], [ 2, 1, 0, [ 2, 9 ] ], [ 1, 1, 0, [ 1, 5 ] ], [ 3, 0, 0, [ 1 ] ] ],
			   { typed });
	makeCounters(trace);
	assert.deepEqual(trace.groups[0].counters.map(({ label, unit, times, values, least, most }) =>
		[label, unit, [...times ], [...values ], least, most]),
			 [ [ 'queue.n[1]', 'B', [ 0, 1 ], [ 3, 5 ], 0, 5 ],
			   [ 'queue.n[2]', 'B', [ 2 ], [ 9 ], 0, 9 ] ]);
});

test('counters: what is no number is no value', () => {
	const typed = [ { name : 'load', system : 0, fields : [ {...number('v', 8), kind : 'float' } ], align : 8,
		counter : true } ];
	const bytesOf = (value) => [...new Uint8Array(Float64Array.of(value).buffer) ];
	const events = [ 1.5, NaN, Infinity, -2, -Infinity ].map((value, i) => [i, 0, 0, bytesOf(value)]);
	const trace = made(events, { typed });
	makeCounters(trace);
	assert.deepEqual(trace.groups[0].counters.map(({ times, values, least, most }) =>
		[[...times ], [...values ], least, most]), [ [ [ 0, 3 ], [ 1.5, -2 ], -2, 1.5 ] ]);
});

test('names of spans', () => {
	assert.equal(nameOf({ begin : 'sql.begin', end : 'sql.end' }), 'sql');
	assert.equal(nameOf({ begin : 'request', end : 'answer' }), 'request → answer');
	assert.equal(nameOf({ begin : 'sql.*', end : 'sql.end' }), 'sql.* → sql.end');
	assert.equal(nameOf({ begin : 'x', end : 'y', name : 'z' }), 'z');
});

/* -- Spread ----------------------------------------------------------------------------------------------- */

test('percentiles are values', () => {
	const sorted = Float64Array.from({ length : 200 }, (_, i) => i + 1);
	assert.deepEqual([ 0, 1, 50, 99, 100 ].map((p) => percentile(sorted, p)), [ 1, 2, 100, 198, 200 ]);
	assert.equal(mean(sorted), 100.5);
	assert.ok(Number.isNaN(percentile(new Float64Array(0), 50)));
});

test('a histogram has everything, once', () => {
	for (const make of [(i) => i, (i) => 1000 + i / 10, (i) => 2 ** (i / 20), () => 5, () => 0, (i) => i * 1e9]) {
		const sorted = Float64Array.from({ length : 500 }, (_, i) => make(i)).sort(), bars = histogram(sorted);
		assert.equal(bars.reduce((sum, bar) => sum + bar.count, 0), 500, make.toString());
		assert.ok(bars.length <= 80 &&
			  bars.every((bar, i) => bar.from < bar.to && (i === 0 || bar.from === bars[i - 1].to)));
	}
	assert.deepEqual(histogram(new Float64Array(0)), []);
});

/* -- Search ------------------------------------------------------------------------------------------------ */

const rows = (n, took) => {
	const data = new Uint8Array(16), view = new DataView(data.buffer);
	view.setUint32(0, n, true);
	view.setBigUint64(8, BigInt(took), true);
	return [...data ];
};
const letters = (text) => [...new TextEncoder().encode(text)];

test('words of a search', () => {
	assert.deepEqual(splitWords('a name:"x y" -b "c d"'), [ 'a', 'name:"x y"', '-b', '"c d"' ]);
});

test('what matches', async () => {
	const trace = made([
		[ 0, 0, 0, rows(3, 1500) ], [ 1, 1, 0, rows(30, 20) ], [ 2, 1, 1, letters('Two Words, here') ],
		[ 3, 2, 2 ]
	]);
	const found = async (query) => [...(await find(trace, query))];
	for (const [query, expected] of [
		     [ 'name:a.begin', [ 0, 1 ] ], [ 'name:a.*', [ 0, 1, 2 ] ], [ 'begin', [ 0, 1 ] ],
		     [ '"two words"', [ 2 ] ], [ 'two here', [ 2 ] ], [ '-begin', [ 2, 3 ] ], [ 'tid:8', [ 1, 2 ] ],
		     [ 'pid:7 -tid:7', [ 1, 2 ] ], [ 'rows=3', [ 0 ] ], [ 'rows>3', [ 1 ] ], [ 'rows!=3', [ 1 ] ],
		     [ 'took>1ms', [ 0 ] ], [ 'took>=20', [ 0, 1 ] ], [ 'took<1ms', [ 1 ] ],
		     [ 'thread:worker words', [ 2 ] ], [ 'process:shop', [ 0, 1, 2 ] ], [ 'data:rows', [ 0, 1 ] ],
		     [ 'nothing', [] ], [ 'overflow', [ 3 ] ], [ 'name:.*', [] ], [ 'rows=30 -tid:8', [] ],
		     [ 'TWO', [ 2 ] ], [ 'rows=0x1e', [ 1 ] ]])
		assert.deepEqual(await found(query), expected, query);
	assert.equal(await find(trace, '  '), null);
	assert.equal(summaryOf(trace, 0), 'rows=3 took=1500us');
	assert.deepEqual([...compile(trace, 'name:a.end').verdict ], [ 0, 0, 1, 0 ]);
});

test('a search can be stopped, and lets others work', async () => {
	const trace = made(Array.from({ length : 5000 }, (_, i) => [i, 0, 1, letters(`number ${i}`)]));
	let turns = 0;
	assert.equal(await find(trace, 'number', { sliceMs : -1, stopped : () => ++turns > 3 }), null);
	assert.equal(turns, 4);
	assert.equal((await find(trace, 'number 49')).length, 5000 - 5000 + (await find(trace, '49')).length);
});

/* -- Losses ------------------------------------------------------------------------------------------------ */

test('what is missing', () => {
	const about = { lost : 0, unwritten : 0, missing : 0, discarded : 0, overwritten : 0, ended : true,
			log_policy : 'APPEND' };
	const facts = (more, gaps = []) =>
		lossFacts({ tables : { logs : [ { about }, { about : { ...about, ...more } } ] }, gaps })
			.map(([ text, kind ]) => `${plain(text)}:${kind}`).join(' ');
	assert.equal(facts({}), 'nothing lost:good');
	assert.equal(facts({ lost : 2 }), '2 events lost:bad');
	assert.equal(facts({ missing : 1, unwritten : 2 }), '3 events lost:bad');
	assert.equal(facts({ discarded : 5, log_policy : 'UNTIL_FULL' }), '5 events lost:bad');
	assert.equal(facts({ discarded : 5, overwritten : 5, log_policy : 'LOOP' }), '5 older events overwritten:');
	assert.equal(facts({ overwritten_some : true, ended : false, log_policy : 'LOOP' }),
		     'older events overwritten:');
	assert.equal(facts({ ended : false }), 'no loss known:');
	assert.equal(facts({}, [ {} ]), '1 gap:bad');
});

/* -- Colours ----------------------------------------------------------------------------------------------- */

test('colours', () => {
	const some = types().map((type, i) => ({...type, count : 10 - i }));
	chooseHues(some);
	assert.deepEqual(some.map((type) => type.hue), [ 0, 1, hueCount ]);
	const hue = huesOfTexts([ [ 'a', 1 ], [ 'b', 5 ], [ 'a', 9 ] ]);
	assert.deepEqual([ hue('a'), hue('b') ], [ 0, 1 ]);
	assert.equal(hue('other'), hue('other'));
	assert.ok(hue('other') < hueCount);
	/* Text in slices can be read: WCAG's contrast. */
	const linear = (byte) => byte / 255 <= 0.04045 ? byte / 255 / 12.92 : ((byte / 255 + 0.055) / 1.055) ** 2.4;
	const light = (colour) => 0.2126 * linear(parseInt(colour.slice(1, 3), 16)) +
				  0.7152 * linear(parseInt(colour.slice(3, 5), 16)) +
				  0.0722 * linear(parseInt(colour.slice(5, 7), 16));
	const contrast = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
	for (const name of ['light', 'dark']) {
		const colours = palette(name);
		for (const fill of colours.fills)
			assert.ok(contrast(fill, colours.sliceText) >= 4.5, `${name} ${fill}`);
		for (const each of colours.hues)
			assert.ok(contrast(each, colours.back) >= 3,
				  `${name} ${each}: ${contrast(each, colours.back)}`);
		assert.ok(contrast(colours.dim, colours.stripe) >= 4.5);
	}
});

/* -- States of threads --------------------------------------------------------------------------------- */

const stateField = (name, kind, size, labels) =>
	({ name, unit : name === 'took' ? 'ns' : '', kind, size, count : kind === 'string' ? 0 : 1,
	   align : 1, counter : 0,
	   ...(labels ? { naming : 'values', labels : labels.split(',').map((word, i) => [String(i), word]) } : {}) });
const stateTypes = () => [
	{ name : 'linux_run', align : 1, took : 0, fields : [ stateField('took', 'unsigned', 8),
	  stateField('cpu', 'unsigned', 4), stateField('why', 'unsigned', 1, 'preempted,blocked,sleeping,disk') ] },
	{ name : 'linux_off', align : 1, took : 0, fields : [ stateField('took', 'unsigned', 8),
	  stateField('state', 'unsigned', 1, 'preempted,blocked,sleeping,disk'), stateField('ready', 'unsigned', 8),
	  stateField('waker', 'unsigned', 4), stateField('waker_name', 'string', 1) ] },
	{ name : 'linux_sys_read', align : 1, took : 0, fields : [ stateField('took', 'unsigned', 8),
	  stateField('result', 'signed', 8), stateField('fd', 'signed', 4) ] },
];
const bytesOf = (...numbers) => numbers.flatMap(([ size, value ]) => {
	const view = new DataView(new ArrayBuffer(8));
	view.setBigUint64(0, BigInt(value), true);
	return [...new Uint8Array(view.buffer, 0, size)];
});
const runData = (took, cpu) => bytesOf([ 8, took ], [ 4, cpu ], [ 1, 2 ]);
const offData = (took, state, ready_, waker, name) =>
	[...bytesOf([ 8, took ], [ 1, state ], [ 8, ready_ ], [ 4, waker ]), ...new TextEncoder().encode(`${name}\0`)];

test('states of threads, and what ran on each processor', () => {
	const trace = made([
		[ 1000, 0, 0, runData(100, 1) ],                 /* 900 to 1000 on CPU 1 */
		[ 1500, 1, 0, runData(600, 0) ],                 /* 900 to 1500 on CPU 0 */
		[ 2000, 0, 1, offData(1000, 2, 200, 8, 'worker') ], /* blocked to 1800, then ready */
		[ 2100, 0, 0, runData(100, 0) ],
		[ 2150, 0, 2, bytesOf([ 8, 1200 ], [ 8, 1 ], [ 4, 3 ]) ], /* 950 to 2150 */
		[ 2400, 0, 1, offData(300, 0, 300, 0, 'interrupt') ],     /* preempted */
		[ 2900, 1, 1, offData(1400, 3, 0, 0, 'interrupt') ],      /* a disk */
	], { typed : stateTypes() });
	assert.equal(makeStates(trace), true);
	const [main, worker] = trace.lanes, list = ({ start, end, kind, count }) =>
		Array.from({ length : count }, (_, i) => [start[i], end[i], kind[i]]);
	assert.deepEqual(list(main.states), [[ 900, 1000, running ], [ 1000, 1800, blocked ], [ 1800, 2000, ready ],
					     [ 2000, 2100, running ], [ 2100, 2400, ready ]]);
	assert.deepEqual(list(worker.states), [[ 900, 1500, running ], [ 1500, 2900, disk ]]);
	assert.equal(trace.lanes[2].states, null);
	assert.deepEqual(trace.processors.map(({ label, count : runs, busy }) => [label, runs, busy[runs]]),
			 [[ 'CPU 0', 2, 700 ], [ 'CPU 1', 1, 100 ]]);
	assert.deepEqual([...trace.processors[0].lane], [ 1, 0 ]);
	assert.deepEqual([ 899, 900, 1400, 1801, 5000 ].map((t) => stateAt(main.states, t)), [ -1, 0, 1, 2, -1 ]);
	assert.deepEqual(stateWords(trace, main.states, 0), [ 'Running on CPU 1', 'until it was sleeping', '' ]);
	assert.deepEqual(stateWords(trace, main.states, 1), [ 'Blocked in read(fd=3)', 'woken by worker 8', '' ]);
	assert.deepEqual(stateWords(trace, main.states, 2), [ 'Waiting for a processor', 'woken by worker 8', '' ]);
	assert.deepEqual(stateWords(trace, main.states, 4), [ 'Waiting for a processor', 'preempted', '' ]);
	assert.deepEqual(stateWords(trace, worker.states, 1), [ 'Blocked: disk', 'woken by an interrupt', '' ]);
});

test('no states without such events', () => {
	const trace = made([[ 1, 0, 0, [] ]]);
	assert.equal(makeStates(trace), false);
	assert.deepEqual([ trace.processors, trace.lanes[0].states ], [ [], null ]);
});

test('a thread has the name that it had last, also if it has had it before', () => {
	const threads = [ [ 0, 7, 7, 'python3' ], [ 0, 7, 7, 'sh' ], [ 0, 0, 0, '' ] ];
	const trace = made([ [ 0, 0, 0 ], [ 1, 1, 0 ], [ 2, 0, 0 ], [ 3, 2, 2 ] ], { threads });
	assert.deepEqual(trace.lanes.filter((lane) => lane.tid).map((lane) => lane.name), [ 'python3' ]);
});

test('requests to disks take three rows, however many there are at a time', () => {
	const trace = made(Array.from({ length : 40 }, (_, i) => [i, 0, 0]));
	const numbers = Array.from({ length : 20 }, (_, i) => i), all = { starts : Float64Array.from(numbers),
		first : Uint32Array.from(numbers), durations : new Float64Array(20).fill(100) };
	for (const [name, rows] of [[ 'linux_io', 3 ], [ 'other', 20 ]]) {
		layOut(trace, [ {...all, name } ]);
		const { layers } = trace.lanes.find((lane) => lane.tid === 7);
		assert.equal(layers.length, rows);
		assert.equal(layers.reduce((n, layer) => n + layer.start.length, 0), 20);
	}
});
