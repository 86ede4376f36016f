/*
 * spans.mjs - pairs events that begin and end spans
 *
 * Follows the rules of posixtrace stat --span (tool/analysis/span.h): an end belongs to the begin before it, of the
 * same thread, process or log. Where events were lost, or recording was started again, open spans are cut.
 *
 * SPDX-License-Identifier: MIT
 */
import { fieldValue, ownText } from './fields.mjs';
import { lowerBound } from './seek.mjs';
import { dataOf, placeOf, typeOf } from './trace.mjs';

/* Deeper recursion is assumed to be an error in the names; the oldest begins are dropped. */
const depthMost = 65536;
/* Rows in a lane; deeper spans are drawn in the last row. */
export const layersMost = 32;
/* The same for spans that are in no others, however many there are at a time: requests to disks. */
const unnestedMost = 3;

const begins = 1, ends = 2;

function rolesOfShapes(trace, definition) {
	const roles = new Uint8Array(trace.types.length);
	for (const type of definition.from)
		roles[type] |= begins;
	for (const type of definition.to)
		roles[type] |= ends;
	return Uint8Array.from(trace.shapes.type, (type) => roles[type]);
}

/*
 * Returns the number of the scope in which a begin waits for its end; logs do not share scopes. A begin with an id
 * waits in its process.
 */
function scopesOfShapes(trace, definition) {
	const numbers = new Map();
	return Uint32Array.from(trace.shapes.thread, (thread, shape) => {
		const [log, pid, tid] = trace.tables.threads[thread];
		const machine = trace.tables.logs[log].machine;
		const byId = trace.types[trace.shapes.type[shape]].by !== undefined;
		const key = definition.by === 'all' ? `${log}` : definition.by === 'process' || byId ?
			`${log} ${machine} ${pid}` : `${log} ${machine} ${pid} ${tid}`;
		if (!numbers.has(key))
			numbers.set(key, numbers.size);
		return numbers.get(key);
	});
}

class List {
	constructor() {
		this.array = new Uint32Array(1024);
		this.length = 0;
	}

	push(value) {
		if (this.length === this.array.length) {
			const longer = new Uint32Array(2 * this.length);
			longer.set(this.array);
			this.array = longer;
		}
		this.array[this.length++] = value;
	}

	done() {
		return this.array.slice(0, this.length);
	}
}

/* Returns a number of an event, or null if its data end before the field. field: an index. */
export function numberOf(trace, event, field) {
	const type = typeOf(trace, event);
	return fieldValue(type, type.fields[field], dataOf(trace, event), trace.little);
}

/* Durations of so many ns, and negative ones, are errors of the program. */
const noDuration = 2n ** 64n - 1n;
const unitNs = { ns: 1, us: 1e3, ms: 1e6, s: 1e9 };

/* Returns whether the duration of a span is at the beginning of the data, in ns. */
function tookIsFirst(type) {
	const field = type.fields?.[0];
	return type.took === 0 && field.kind === 'unsigned' && field.size === 8 && field.count === 1 &&
		field.unit === 'ns';
}

/* Returns the events that are whole spans, and how long each of them took. */
function wholeEvents(trace, definition) {
	const { shape, count } = trace.columns, roles = rolesOfShapes(trace, definition);
	const events = new List(), took = [];
	let impossible = 0;
	const quick = trace.types.map(tookIsFirst), { offset, data } = trace.columns, { length } = trace.shapes,
		view = new DataView(data.buffer, data.byteOffset, data.byteLength), high = trace.little ? 4 : 0;
	for (let i = 0; i < count; i++) {
		if (!roles[shape[i]])
			continue;
		/* Most types begin with it. Decoding all fields of millions of events takes seconds. */
		if (quick[trace.shapes.type[shape[i]]] && length[shape[i]] >= 8) {
			const upper = view.getUint32(offset[i] + high, trace.little);
			if (upper < 2 ** 20) {
				events.push(i);
				took.push(upper * 2 ** 32 + view.getUint32(offset[i] + 4 - high, trace.little));
				continue;
			}
		}
		const type = typeOf(trace, i), value = numberOf(trace, i, type.took);
		if (value === null)
			continue;
		const ns = BigInt(value) * BigInt(unitNs[type.fields[type.took].unit]);
		if (ns < 0n || ns >= noDuration) {
			impossible++;
			continue;
		}
		events.push(i);
		took.push(Number(ns));
	}
	const all = events.done();
	return { first: all, last: all, took, noEnd: 0, noBegin: 0, cut: 0, impossible };
}

/*
 * Pairs events by a definition {begin, end, by, nested, from, to}; from and to are numbers of types. Returns the
 * numbers of the events that begin and end each span, in the order of the ends, and the counts of begins and ends
 * without the other.
 */
export function pairEvents(trace, definition) {
	const roles = rolesOfShapes(trace, definition), scopes = scopesOfShapes(trace, definition),
		{ shape, count } = trace.columns;
	const open = new Map(), openOfLog = new Map(), first = new List(), last = new List();
	let noEnd = 0, noBegin = 0, cut = 0, nextCut = 0;

	function cutLog(log) {
		for (const stack of openOfLog.get(log) || []) {
			cut += stack.length;
			stack.length = 0;
		}
	}

	/* Returns the open begins that an event may end; null if it has no id although its type has one. */
	function stackOf(event) {
		const { by } = typeOf(trace, event), id = by === undefined ? '' : numberOf(trace, event, by);
		if (id === null)
			return null;
		const scope = by === undefined ? scopes[shape[event]] : `${scopes[shape[event]]} ${id}`;
		let stack = open.get(scope);
		if (!stack) {
			const log = trace.tables.threads[trace.shapes.thread[shape[event]]][0];
			stack = [];
			open.set(scope, stack);
			if (!openOfLog.has(log))
				openOfLog.set(log, new Set());
			openOfLog.get(log).add(stack);
			if (by !== undefined)
				stack.forget = () => {
					open.delete(scope);
					openOfLog.get(log).delete(stack);
				};
		}
		return stack;
	}

	function end(event, again) {
		const stack = stackOf(event);
		if (!stack)
			return;
		if (stack.length) {
			first.push(stack.pop());
			last.push(event);
		} else if (!again) {
			noBegin++;
		}
		/* Ids are seldom used again. */
		if (!stack.length && stack.forget)
			stack.forget();
	}

	function begin(event) {
		const stack = stackOf(event);
		if (!stack)
			return;
		if (stack.length && (!definition.nested || stack.forget)) {
			noEnd++;
			stack[stack.length - 1] = event;
			return;
		}
		if (stack.length === depthMost) {
			noEnd++;
			stack.shift();
		}
		stack.push(event);
	}

	for (let i = 0; i <= count; i++) {
		const role = i < count ? roles[shape[i]] : 0;
		let due = nextCut < trace.cuts.length && trace.cuts[nextCut].event <= i;
		for (; due && nextCut < trace.cuts.length && trace.cuts[nextCut].event <= i &&
			trace.cuts[nextCut].hidden; nextCut++)
			cutLog(trace.cuts[nextCut].log);
		if (role & ends)
			end(i, role & begins);
		for (; due && nextCut < trace.cuts.length && trace.cuts[nextCut].event <= i; nextCut++)
			cutLog(trace.cuts[nextCut].log);
		if (role & begins)
			begin(i);
	}
	for (const stack of open.values())
		noEnd += stack.length;
	return { first: first.done(), last: last.done(), noEnd, noBegin, cut };
}

/* Returns a definition with its spans, when they start, and their durations, in order and sorted. */
export function measure(trace, definition) {
	const { first, last, took, noEnd, noBegin, cut, impossible = 0 } =
		definition.whole ? wholeEvents(trace, definition) : pairEvents(trace, definition);
	const { time } = trace.columns;
	const durations = new Float64Array(first.length), starts = new Float64Array(first.length);
	for (let i = 0; i < first.length; i++) {
		durations[i] = took ? took[i] : Math.max(time[last[i]] - time[first[i]], 0);
		starts[i] = took ? time[last[i]] - took[i] : time[first[i]];
	}
	return { ...definition, name: nameOf(definition), first, last, starts, durations,
		sorted: durations.slice().sort(), noEnd, noBegin, cut, impossible,
		hue: new Uint8Array(first.length) };
}

/* Returns the common part of the names of begin and end: sql for sql.begin and sql.end. */
export function nameOf(definition) {
	if (definition.name)
		return definition.name;
	const { begin, end } = definition;
	let n = 0;
	while (n < begin.length && n < end.length && begin[n] === end[n])
		n++;
	const common = begin.slice(0, n).replace(/[^A-Za-z0-9]*$/, '');
	const whole = begin === end || /[^A-Za-z0-9]$/.test(begin.slice(0, n));
	return common && whole && !/[*?[\\]/.test(begin + end) ? common : `${begin} → ${end}`;
}

/* Returns the spans that an event begins or ends: [{set, index}, ...]. */
export function spansOf(sets, event) {
	const found = [];
	for (const set of sets) {
		const end = lowerBound(set.last, event), begin = set.first.indexOf(event);
		if (end < set.last.length && set.last[end] === event)
			found.push({ set, index: end });
		if (begin >= 0 && !set.whole)
			found.push({ set, index: begin });
	}
	return found;
}

/*
 * Returns the label of a span: the function, if it is a call; else the text of its first event, or else the name of its
 * set.
 */
export function spanText(trace, set, index) {
	if (set.calls)
		return placeOf(trace, set.first[index])?.function ?? set.name;
	const event = set.first[index], type = typeOf(trace, event), text = type.system ? null :
		ownText(type, dataOf(trace, event), trace.little);
	return text === null || text === '' ? set.name : text;
}

/*
 * Arranges the spans of all definitions in layers of each lane, so that no two spans of a layer overlap: a span inside
 * of another is below it. busy is the sum of the durations before each span.
 */
export function layOut(trace, sets) {
	const of = trace.lanes.map(() => []);
	sets.forEach((set, number) => {
		if (set.hidden)
			return;
		for (let i = 0; i < set.first.length; i++)
			of[trace.laneOfShape[trace.columns.shape[set.first[i]]]].push(number, i);
	});
	trace.lanes.forEach((lane, index) => {
		lane.layers = layersOf(of[index], sets);
	});
	for (const group of trace.groups)
		group.layers = [];
}

function layersOf(pairs, sets) {
	const n = pairs.length / 2, start = new Float64Array(n), length = new Float64Array(n),
		order = new Uint32Array(n);
	for (let i = 0; i < n; i++) {
		const set = sets[pairs[2 * i]], span = pairs[2 * i + 1];
		start[i] = set.starts[span];
		length[i] = set.durations[span];
		order[i] = i;
	}
	order.sort((a, b) => start[a] - start[b] || length[b] - length[a] || a - b);
	const free = [], members = [];
	for (const i of order) {
		let layer = 0;
		while (layer < free.length && free[layer] > start[i])
			layer++;
		layer = Math.min(layer, (sets[pairs[2 * i]].name === 'linux_io' ? unnestedMost : layersMost) - 1);
		if (layer === free.length) {
			free.push(0);
			members.push(new List());
		}
		free[layer] = Math.max(free[layer], start[i] + length[i]);
		members[layer].push(i);
	}
	return members.map((list) => columnsOf(list.done(), pairs, start, length));
}

function columnsOf(list, pairs, start, length) {
	const n = list.length, layer = {
		start: new Float64Array(n), end: new Float64Array(n), reach: new Float64Array(n),
			busy: new Float64Array(n + 1),
		set: new Uint16Array(n), span: new Uint32Array(n),
	};
	let reach = -Infinity;
	list.forEach((i, at) => {
		layer.start[at] = start[i];
		layer.end[at] = start[i] + length[i];
		reach = Math.max(reach, layer.end[at]);
		layer.reach[at] = reach;
		layer.busy[at + 1] = layer.busy[at] + length[i];
		layer.set[at] = pairs[2 * i];
		layer.span[at] = pairs[2 * i + 1];
	});
	return layer;
}
