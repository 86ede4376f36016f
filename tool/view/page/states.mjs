/*
 * states.mjs - when threads ran, could run and were blocked, and what ran on each processor (record --kernel sched)
 *
 * Each event linux_run and linux_off tells of a state at its end (docs/kernel.md). A linux_off is a time in which the
 * thread was blocked, and then a time in which it could run: two states with the same event. Without --kernel sched,
 * the linux_off_stack of --off-cpu tell the same.
 *
 * SPDX-License-Identifier: MIT
 */
import { decode } from './fields.mjs';
import { lowerBound } from './seek.mjs';
import { dataOf, laneOf, leaveOutMarks, typeOf } from './trace.mjs';
import { visible } from './text.mjs';

export const running = 0, ready = 1, blocked = 2, disk = 3;

/* Numbers of linux_off.state. */
const offDisk = 3;
/* How many events after a state are searched for the system call that it was in, and around it for its stack. */
const callSearch = 500, stackSearch = 4;

const fieldsOf = (type) => (type.fields || []).map((field) => `${field.name}:${field.size}`).join();

const run = 1, off = 2, offStack = 3;

/* Returns for each type run, off, offStack, or 0 if it tells of no state. */
function kindsOf(types) {
	const kinds = Uint8Array.from(types, (type) => {
		if (type.name === 'linux_run' && fieldsOf(type).startsWith('took:8,cpu:4,why:1'))
			return run;
		if (type.name === 'linux_off' && fieldsOf(type).startsWith('took:8,state:1,ready:8'))
			return off;
		return type.stacks === 'off' ? offStack : 0;
	});
	return kinds.includes(off) ? kinds.map((kind) => kind === offStack ? 0 : kind) : kinds;
}

function emptyStates(count) {
	return { start: new Float64Array(count), end: new Float64Array(count), kind: new Uint8Array(count),
		event: new Uint32Array(count), count: 0 };
}

function addState(states, start, end, kind, event) {
	const last = states.count - 1;
	/* Times may be a little later than they were, so that they never decrease: states must not overlap. */
	const from = last >= 0 ? Math.max(start, states.end[last]) : start;
	if (end <= from)
		return;
	states.start[states.count] = from;
	states.end[states.count] = end;
	states.kind[states.count] = kind;
	states.event[states.count++] = event;
}

function trimStates(states) {
	for (const name of ['start', 'end', 'kind', 'event'])
		states[name] = states[name].subarray(0, states.count);
	return states;
}

/*
 * Gives each lane its states, or null, and the trace its processors: what ran on them. Returns whether there are any.
 */
export function makeStates(trace) {
	const kinds = kindsOf(trace.types), kindOfShape = Uint8Array.from(trace.shapes.type, (type) => kinds[type]);
	const { columns, laneOfShape } = trace, { shape, time, offset, data, count } = columns;
	const most = new Uint32Array(trace.lanes.length), processors = new Map();
	trace.processors = [];
	for (const lane of trace.lanes)
		lane.states = null;
	if (!kinds.some(Boolean))
		return false;
	leaveOutMarks(trace, kinds);
	for (let i = 0; i < count; i++)
		most[laneOfShape[shape[i]]] += Math.min(kindOfShape[shape[i]], 2);
	/* The numbers of the lanes in trace.lanes, which sorting does not change. */
	trace.lanes.forEach((lane, i) => {
		lane.states = most[i] ? emptyStates(most[i]) : null;
	});
	const view = new DataView(data.buffer, data.byteOffset, data.byteLength), { little } = trace;
	const number = (at) => view.getUint32(at, little) + view.getUint32(at + 4, little) * 2 ** 32;
	const long = little ? number : (at) => view.getUint32(at, false) * 2 ** 32 + view.getUint32(at + 4, false);
	for (let i = 0; i < count; i++) {
		const kind = kindOfShape[shape[i]], at = offset[i], size = trace.shapes.length[shape[i]];
		if (!kind || size < 9)
			continue;
		const lane = trace.lanes[laneOfShape[shape[i]]], end = time[i], start = end - long(at);
		if (kind !== run) {
			const atReady = at + (kind === off ? 9 : 8), atState = at + (kind === off ? 8 : 16);
			const woken = size >= 17 ? Math.max(end - long(atReady), start) : end;
			addState(lane.states, start, woken, view.getUint8(atState) === offDisk ? disk : blocked, i);
			addState(lane.states, woken, end, ready, i);
			continue;
		}
		addState(lane.states, start, end, running, i);
		if (size < 12)
			continue;
		const cpu = view.getUint32(at + 8, little), key = lane.machine * 2 ** 20 + cpu;
		if (!processors.has(key))
			processors.set(key, { machine: lane.machine, cpu, events: [] });
		processors.get(key).events.push(i);
	}
	for (const lane of trace.lanes)
		if (lane.states)
			trimStates(lane.states);
	trace.processors = [...processors.values()].sort((a, b) => a.machine - b.machine || a.cpu - b.cpu)
		.map((processor) => runsOf(trace, processor, long));
	return true;
}

/* Returns the runs on a processor, in the order of time. busy: the sum of their durations before each. */
function runsOf(trace, { machine, cpu, events }, long) {
	const { time, offset, shape } = trace.columns, states = emptyStates(events.length);
	for (const event of events)
		addState(states, time[event] - long(offset[event]), time[event], running, event);
	const runs = trimStates(states), busy = new Float64Array(runs.count + 1),
		machines = new Set(trace.lanes.filter((lane) => lane.tid).map((lane) => lane.machine));
	for (let i = 0; i < runs.count; i++)
		busy[i + 1] = busy[i] + runs.end[i] - runs.start[i];
	const host = machines.size > 1 ? ` on ${visible(trace.tables.logs[machine].about.host)}` : '';
	const lane = Uint32Array.from(runs.event, (event) => trace.laneOfShape[shape[event]]);
	return { ...runs, cpu, label: `CPU ${cpu}${host}`, busy, lane };
}

/* Returns the index of the state at a time, or -1. */
export function stateAt(states, t, tolerance = 0) {
	const i = lowerBound(states.end, t - tolerance);
	return i < states.count && states.start[i] <= t + tolerance ? i : -1;
}

/* Returns the event of the system call that a thread was in, or -1. It is after the state, as it ended later. */
function callAround(trace, lane, event, start, end) {
	const { time } = trace.columns;
	for (let i = lowerBound(lane.events, event) + 1, n = 0; i < lane.events.length && n < callSearch; i++, n++) {
		const each = lane.events[i], type = typeOf(trace, each);
		if (!type.name.startsWith('linux_sys_') || time[each] < end)
			continue;
		const { values } = decode(type, dataOf(trace, each), trace.little);
		return values.length && time[each] - Number(values[0].value) <= start ? each : -1;
	}
	return -1;
}

/* Returns the functions with which a thread has stopped to run, from the event of --off-cpu at this time, or ''. */
function stackAround(trace, event) {
	const { time, count } = trace.columns, lane = laneOf(trace, event);
	for (let i = Math.max(event - stackSearch, 0); i <= event + stackSearch && i < count; i++) {
		const type = typeOf(trace, i);
		if (type.stacks !== 'off' || time[i] !== time[event] || laneOf(trace, i) !== lane)
			continue;
		const { values } = decode(type, dataOf(trace, i), trace.little),
			{ field, value } = values[values.length - 1] ?? {};
		return field?.stacks ? field.stacks.text(field.stacks.ofProgram[value] || value) : '';
	}
	return '';
}

function wakerText(values) {
	if (values.waker === undefined)
		return '';
	const name = visible(values.waker_name || '');
	return Number(values.waker) ? `woken by ${name} ${values.waker}` : `woken by an ${name || 'interrupt'}`;
}

/* Returns what a state is, in words: [what, more, the functions that it was in]. */
export function stateWords(trace, states, index) {
	const words = wordsOf(trace, states, index);
	return [...words, states.kind[index] === running ? '' : visible(stackAround(trace, states.event[index]))];
}

function wordsOf(trace, states, index) {
	const event = states.event[index], type = typeOf(trace, event), kind = states.kind[index];
	const values = {}, words = {};
	for (const { field, value } of decode(type, dataOf(trace, event), trace.little).values) {
		values[field.name] = value;
		words[field.name] = field.labels?.find(([label]) => label === String(value))?.[1] ?? String(value);
	}
	if (kind === running)
		return [`Running on CPU ${values.cpu}`, `until it was ${words.why}`.replace('was exited', 'ended')
			.replace('was recording_ended', 'was recorded no more')];
	if (kind === ready)
		return ['Waiting for a processor', words.state === 'preempted' ? 'preempted' :
			words.state === 'new' ? 'it has not run yet' : wakerText(values)];
	const call = callAround(trace, laneOf(trace, event), event, states.start[index], states.end[index]);
	if (call < 0)
		return [words.state === 'blocked' ? 'Blocked' : `Blocked: ${words.state}`, wakerText(values)];
	const decoded = decode(typeOf(trace, call), dataOf(trace, call), trace.little).values
		.filter(({ field }) => field.name !== 'took' && field.name !== 'result')
		.map(({ field, value }) => `${field.name}=${field.kind === 'hex' ? '0x' + value.toString(16) : value}`);
	return [`Blocked in ${visible(typeOf(trace, call).name.slice('linux_sys_'.length))}(${decoded.join(', ')})`,
		wakerText(values)];
}
