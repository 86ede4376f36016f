/*
 * flows.mjs - flows: from an event that sends an id to the events that receive it
 *
 * Both events have a field of the same name and value; the layouts of their types say which field it is, and whether it
 * is sent or received (docs/layouts.md, "Meanings").
 *
 * SPDX-License-Identifier: MIT
 */
import { typeOf } from './trace.mjs';
import { numberOf } from './spans.mjs';

function keyOf(trace, event, field) {
	const value = numberOf(trace, event, field);
	return value === null ? null : `${typeOf(trace, event).fields[field].name} ${value}`;
}

/* Maps each id to the events that send it and those that receive it, in their order. */
function collect(trace) {
	const flows = new Map(), { shape, count } = trace.columns;
	const flowing = Uint8Array.from(trace.shapes.type, (type) =>
		Number(trace.types[type].send !== undefined || trace.types[type].receive !== undefined));
	for (let i = 0; i < count; i++) {
		if (!flowing[shape[i]])
			continue;
		const type = typeOf(trace, i);
		for (const end of ['send', 'receive']) {
			const key = type[end] === undefined ? null : keyOf(trace, i, type[end]);
			if (key === null)
				continue;
			if (!flows.has(key))
				flows.set(key, { send: [], receive: [] });
			flows.get(key)[end].push(i);
		}
	}
	return flows;
}

/* Returns the events from which a flow comes to an event, and those to which one goes: {from, to}. */
export function flowsOf(trace, event) {
	const { send, receive } = typeOf(trace, event), found = { from: [], to: [] };
	if (send === undefined && receive === undefined)
		return found;
	trace.flows ??= collect(trace);
	if (receive !== undefined) {
		/* The latest one before it: ids may be used again. */
		const before = (trace.flows.get(keyOf(trace, event, receive))?.send || []).filter((i) => i < event);
		found.from = before.slice(-1);
	}
	if (send !== undefined) {
		const { send: all, receive: ends } = trace.flows.get(keyOf(trace, event, send)) ||
			{ send: [], receive: [] };
		const next = all.find((i) => i > event) ?? Infinity;
		found.to = ends.filter((i) => i > event && i <= next);
	}
	return found;
}
