/*
 * counters.mjs - counters: the numbers of events whose layout says that they are values of counters
 *
 * Each number field of such a type is a counter of each process; if the type has an id (`by`), of each id in it.
 *
 * SPDX-License-Identifier: MIT
 */
import { decode } from './fields.mjs';
import { dataOf, laneOf, typeOf } from './trace.mjs';
import { visible } from './text.mjs';

/* More counters of one process are not shown, such as one for each of a million ids. */
const mostOfProcess = 32;

const isNumber = (field) => field.count === 1 && ['unsigned', 'signed', 'hex', 'float'].includes(field.kind);

function finish(counter) {
	const values = Float64Array.from(counter.values), times = Float64Array.from(counter.times);
	let least = Math.min(0, values[0]), most = Math.max(0, values[0]);
	for (let i = 0; i < values.length; i++) {
		least = Math.min(least, values[i]);
		most = Math.max(most, values[i]);
		if (i && times[i] < times[i - 1])
			times[i] = times[i - 1]; /* for binary search */
	}
	Object.assign(counter, { times, values, events: Uint32Array.from(counter.events), least, most });
}

function add(trace, event, type, found) {
	const { group } = laneOf(trace, event), { values } = decode(type, dataOf(trace, event), trace.little);
	const id = type.by === undefined ? '' : `[${values[type.by]?.value ?? '?'}]`;
	for (const { field, value } of values) {
		/* What is no number cannot be drawn. */
		if (!isNumber(field) || field === type.fields[type.by] || !Number.isFinite(Number(value)))
			continue;
		const name = `${type.name}.${field.name}${id}`;
		let counter = group.counters.find((each) => each.name === name);
		if (!counter) {
			if (group.counters.length === mostOfProcess)
				continue;
			counter = { name, label: visible(name), unit: field.unit, field, hue: type.hue, events: [],
				times: [], values: [] };
			group.counters.push(counter);
			found.push(counter);
		}
		counter.events.push(event);
		counter.times.push(trace.columns.time[event]);
		counter.values.push(Number(value));
	}
}

/* Gives each process the list of its counters, with their values in the order of time. */
export function makeCounters(trace) {
	const counting = Uint8Array.from(trace.shapes.type, (type) => Number(Boolean(trace.types[type].counter))),
		found = [];
	for (const group of trace.groups)
		group.counters = [];
	if (!counting.includes(1))
		return;
	for (let i = 0; i < trace.count; i++)
		if (counting[trace.columns.shape[i]])
			add(trace, i, typeOf(trace, i), found);
	found.forEach(finish);
}
