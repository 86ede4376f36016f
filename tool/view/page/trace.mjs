/*
 * trace.mjs - the trace in the page: events, threads, processes, and gaps
 *
 * Events are numbered in the order of posixtrace report, and stored in columns. Each thread (lane) and each process
 * (group) has the numbers and times of its events, in order, so that a binary search finds what is drawn.
 *
 * SPDX-License-Identifier: MIT
 */
import { lowerBound } from './seek.mjs';
import { decoder, summary } from './fields.mjs';
import { visible } from './text.mjs';

/* Flags of shapes, columns.h. */
export const truncated = 1, damaged = 2, words = 4;

/*
 * Returns times that never decrease, for binary search. Recorded times can decrease, because clocks of processors
 * differ slightly and a file can contain anything.
 */
function rising(times) {
	let i = 1;
	while (i < times.length && times[i] >= times[i - 1])
		i++;
	if (i >= times.length)
		return times;
	const copy = times.slice();
	for (; i < copy.length; i++)
		if (copy[i] < copy[i - 1])
			copy[i] = copy[i - 1];
	return copy;
}

function baseName(path) {
	return path.slice(path.lastIndexOf('/') + 1);
}

/*
 * Makes lanes, the rows of the time line. Several rows of the table of threads are the same thread, if the thread was
 * renamed, or is in two logs.
 */
function makeLanes(tables) {
	const lanes = [], of = new Map(), laneOfThread = new Uint32Array(tables.threads.length);
	tables.threads.forEach(([log, pid, tid, name], row) => {
		const machine = tables.logs[log].machine, key = tid ? `${machine} ${pid} ${tid}` : `system ${log}`;
		let lane = of.get(key);
		if (!lane) {
			lane = { index: lanes.length, machine, pid, tid, names: [], logs: new Set(), count: 0 };
			of.set(key, lane);
			lanes.push(lane);
		}
		if (name && !lane.names.includes(name))
			lane.names.push(name);
		lane.logs.add(log);
		laneOfThread[row] = lane.index;
	});
	return { lanes, laneOfThread };
}

function executables(tables) {
	const paths = new Map();
	for (const log of tables.logs)
		for (const [pid, path] of log.processes)
			paths.set(`${log.machine} ${pid}`, path);
	return paths;
}

function makeGroups(tables, lanes) {
	const groups = new Map(), paths = executables(tables);
	for (const lane of lanes) {
		const key = lane.tid ? `${lane.machine} ${lane.pid}` : `system ${[...lane.logs][0]}`;
		if (!groups.has(key))
			groups.set(key, { system: !lane.tid, machine: lane.machine, pid: lane.pid,
				path: paths.get(key) || '', lanes: [], count: 0, collapsed: false });
		groups.get(key).lanes.push(lane);
		lane.group = groups.get(key);
	}
	return [...groups.values()];
}

/* Puts the name that a thread has had last behind its others. It may have had it before, as before an execution. */
function orderNames(trace) {
	const { columns, shapes, lanes, laneOfShape } = trace, seen = new Set();
	for (let i = columns.count - 1; i >= 0 && seen.size < lanes.length; i--) {
		const shape = columns.shape[i], lane = lanes[laneOfShape[shape]];
		if (seen.has(lane))
			continue;
		const name = trace.tables.threads[shapes.thread[shape]][3];
		seen.add(lane);
		if (name)
			lane.names = [...lane.names.filter((each) => each !== name), name];
	}
}

/* Names for display. */
function nameAll(trace) {
	const { tables } = trace, several = tables.logs.length > 1;
	const hosts = new Set(tables.logs.map((log) => log.about.host));
	for (const group of trace.groups) {
		const main = group.lanes.find((lane) => lane.tid === group.pid),
			log = tables.logs[[...group.lanes[0].logs][0]];
		const own = group.path ? baseName(group.path) : (main || group.lanes[0]).names[0] || 'process';
		group.name = visible(group.system ? (several ? `recording of ${log.about.file}` : 'recording') : own);
		group.label = group.system ? group.name : `${group.name} ${group.pid}`;
		if (hosts.size > 1)
			group.label += ` on ${visible(log.about.host)}`;
		for (const lane of group.lanes) {
			lane.name = group.system ? group.name :
				visible(lane.names[lane.names.length - 1] || (lane.tid === group.pid ? own : 'thread'));
			lane.label = group.system ? group.name : `${lane.name} ${lane.tid}`;
		}
	}
	/* The short name, for the table. */
	const often = new Map();
	for (const lane of trace.lanes)
		often.set(lane.name, (often.get(lane.name) || 0) + 1);
	for (const lane of trace.lanes)
		lane.short = often.get(lane.name) > 1 ? lane.label : lane.name;
}

/* A process with more threads is initially folded. */
const threadsShown = 100;

/* Collects the numbers and times of the events of each owner. */
function distribute(columns, owners, ownerOfShape) {
	const starts = new Uint32Array(owners.length + 1), { shape, time, count } = columns;
	for (let i = 0; i < count; i++)
		starts[ownerOfShape[shape[i]] + 1]++;
	for (let i = 0; i < owners.length; i++)
		starts[i + 1] += starts[i];
	const events = new Uint32Array(count), times = new Float64Array(count), at = starts.slice();
	for (let i = 0; i < count; i++) {
		const place = at[ownerOfShape[shape[i]]]++;
		events[place] = i;
		times[place] = time[i];
	}
	owners.forEach((owner, i) => {
		owner.events = events.subarray(starts[i], starts[i + 1]);
		owner.times = rising(times.subarray(starts[i], starts[i + 1]));
		owner.count = owner.events.length;
	});
}

/* Removes the marks of events of some types, by number, which are shown in other ways. */
export function leaveOutMarks(trace, isLeftOut) {
	const { shape } = trace.columns, { type } = trace.shapes;
	for (const { marks } of trace.lanes) {
		const kept = marks.events.map((event, i) => isLeftOut[type[shape[event]]] ? 0 : i + 1).filter(Boolean);
		if (kept.length < marks.events.length) {
			marks.times = Float64Array.from(kept, (i) => marks.times[i - 1]);
			marks.events = kept.map((i) => marks.events[i - 1]);
		}
	}
}

function countTypes(trace) {
	const { shape, count } = trace.columns, perShape = new Uint32Array(trace.shapes.count);
	for (let i = 0; i < count; i++)
		perShape[shape[i]]++;
	for (const type of trace.types)
		type.count = type.bytes = 0;
	perShape.forEach((n, row) => {
		const type = trace.types[trace.shapes.type[row]];
		type.count += n;
		type.bytes += n * trace.shapes.whole[row];
	});
}

function makeGaps(trace) {
	const gaps = [];
	trace.tables.logs.forEach((log, number) => {
		for (const [from, until, reason] of log.gaps)
			gaps.push({ log: number, from, until: until === null ? null : Math.max(until, from), reason });
	});
	return gaps.sort((a, b) => a.from - b.from);
}

/* Returns the first and the last time of events and gaps. */
function extent(trace) {
	const { time, count } = trace.columns;
	let first = Infinity, last = -Infinity;
	for (let i = 0; i < count; i++) {
		if (time[i] < first)
			first = time[i];
		if (time[i] > last)
			last = time[i];
	}
	return count ? { first, last } : { first: 0, last: 1000 };
}

export function makeTrace(tables, columns, shapes, cuts) {
	const { lanes, laneOfThread } = makeLanes(tables), groups = makeGroups(tables, lanes);
	const trace = { tables, columns, shapes, cuts, lanes, laneOfThread, groups, types: tables.types,
		count: columns.count };
	const groupIndex = new Map(groups.map((group, i) => [group, i]));
	const laneOfShape = Uint32Array.from(shapes.thread, (thread) => laneOfThread[thread]);

	trace.begin = BigInt(tables.begin);
	trace.little = tables.order === 'little';
	trace.laneOfShape = laneOfShape;
	trace.times = rising(columns.time);
	orderNames(trace);
	nameAll(trace);
	distribute(columns, lanes, laneOfShape);
	distribute(columns, groups, Uint32Array.from(laneOfShape, (lane) => groupIndex.get(lanes[lane].group)));
	/* In the order of their beginning; the recording itself comes last. */
	const rank = (group) => group.system ? 2 : group.events.every((event) => typeOf(trace, event).system) ? 1 : 0;
	const ranks = new Map(groups.map((group) => [group, rank(group)]));
	groups.sort((a, b) => ranks.get(a) - ranks.get(b) || (a.times[0] ?? 0) - (b.times[0] ?? 0));
	groups.forEach((group, number) => {
		group.number = number;
		group.collapsed = group.lanes.length > threadsShown;
	});
	for (const group of groups)
		group.lanes.sort((a, b) => (b.tid === group.pid) - (a.tid === group.pid) ||
			(a.times[0] ?? 0) - (b.times[0] ?? 0));
	for (const lane of lanes)
		lane.marks = { times: lane.times, events: lane.events };
	countTypes(trace);
	trace.gaps = makeGaps(trace);
	Object.assign(trace, extent(trace));
	return trace;
}

/* -- One event -------------------------------------------------------------------------------------- */

export function typeOf(trace, event) {
	return trace.types[trace.shapes.type[trace.columns.shape[event]]];
}

export function laneOf(trace, event) {
	return trace.lanes[trace.laneOfShape[trace.columns.shape[event]]];
}

export function logOf(trace, event) {
	return trace.tables.threads[trace.shapes.thread[trace.columns.shape[event]]][0];
}

export function dataOf(trace, event) {
	const from = trace.columns.offset[event];
	return trace.columns.data.subarray(from, from + trace.shapes.length[trace.columns.shape[event]]);
}

/* Returns null if unknown. */
export function placeOf(trace, event) {
	const place = trace.shapes.place[trace.columns.shape[event]];
	return place ? trace.tables.places[place - 1] : null;
}

export function flagsOf(trace, event) {
	return trace.shapes.flags[trace.columns.shape[event]];
}

/* Returns the data of an event in one line, not yet made harmless. */
export function summaryOf(trace, event) {
	const type = typeOf(trace, event), data = dataOf(trace, event);
	if (data.length === 0)
		return '';
	if (flagsOf(trace, event) & words)
		return decoder.decode(data);
	return summary(type, data, trace.little);
}

/* Returns the number of the first event at or after a time. */
export function eventAt(trace, time) {
	return lowerBound(trace.times, time);
}
