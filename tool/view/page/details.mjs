/*
 * details.mjs - the details of the selection: an event, a span, a range of time
 *
 * SPDX-License-Identifier: MIT
 */
import { byId, element } from './dom.mjs';
import { asText, decode, hex, shownUnit, valueText, valueWords } from './fields.mjs';
import { flowsOf } from './flows.mjs';
import { count, plural, visible } from './text.mjs';
import { absolute, duration, exactDuration, plainSeconds, seconds } from './time.mjs';
import { dataOf, damaged, eventAt, flagsOf, laneOf, logOf, placeOf, summaryOf, truncated, typeOf,
	words } from './trace.mjs';
import { numberOf, spansOf, spanText } from './spans.mjs';

function table(...rows) {
	return element('dl', { class: 'facts' }, ...rows.filter(Boolean).flatMap(([name, value, more]) => [
		element('dt', {}, name), element('dd', {}, value, more ?
			element('span', { class: 'more' }, ` ${more}`) : null)]));
}

function heading(text, hue, ...more) {
	return element('h2', {}, hue === null ? null : element('i', { class: `dot hue-${hue}` }),
		element('span', { class: 'what' }, text), ...more);
}

function button(text, title, action) {
	return element('button', { type: 'button', class: 'small', title, onclick: action }, text);
}

/* -- An event ----------------------------------------------------------------------------------------- */

function fieldRows(trace, event) {
	const type = typeOf(trace, event), data = dataOf(trace, event);
	if (data.length === 0)
		return [];
	if (flagsOf(trace, event) & words)
		return [['what', visible(summaryOf(trace, event))]];
	if (!type.fields) {
		const text = asText(data);
		return text === null ? [] : [['text', visible(text.replace(/\0+$/, ''))]];
	}
	const { values, missing, more } = decode(type, data, trace.little);
	const rows = values.map(({ field, value }) => [visible(field.name),
		visible(typeof value === 'string' ? value : valueText(field, value)), readable(field, value)]);
	if (missing)
		rows.push(['…', 'the data end before the other fields']);
	if (more.length)
		rows.push(['behind', hex(more)]);
	return rows;
}

const timeUnits = new Map([['ns', 1], ['us', 1e3], ['µs', 1e3], ['ms', 1e6], ['s', 1e9]]);

/* Returns the unit of a field; for a large time also the value in a larger unit. */
function readable(field, value) {
	if (!shownUnit(field))
		return '';
	const factor = timeUnits.get(field.unit);
	const unit = visible(field.unit === 'us' ? 'µs' : field.unit);
	return factor && typeof value === 'number' && value * factor >= 1000 && field.unit !== 's' ?
		`${unit} = ${duration(value * factor)}` : unit;
}

function rawData(trace, event) {
	const data = dataOf(trace, event), whole = trace.shapes.whole[trace.columns.shape[event]];
	/* Stacks are not as in the log. */
	if (data.length === 0 || flagsOf(trace, event) & words || typeOf(trace, event).stacks)
		return null;
	const lines = [];
	for (let at = 0; at < data.length && at < 1024; at += 16) {
		const part = data.subarray(at, at + 16);
		const text = Array.from(part, (byte) => byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) :
			'·').join('');
		lines.push(`${at.toString(16).padStart(4, '0')}  ${hex(part, 4).padEnd(35)}  ${text}`);
	}
	if (whole > 1024)
		lines.push(`… ${count(whole)} bytes in all`);
	return element('details', { class: 'raw' }, element('summary', {}, `Data, ${plural(whole, 'byte')}`),
		element('pre', {}, lines.join('\n')));
}

function placeRows(trace, event) {
	const place = placeOf(trace, event);
	if (!place)
		return [];
	return [
		place.function ? ['function', visible(place.function)] : null,
		place.source ? ['source', visible(`${place.source}:${place.line}`)] : null,
		place.image && !place.source ? ['file', visible(place.image)] : null,
		['address', place.address],
	];
}

/* Returns the level of a log message, or null. */
function levelOf(trace, event) {
	const type = typeOf(trace, event);
	if (type.level_field === undefined)
		return type.level ?? null;
	const value = numberOf(trace, event, type.level_field);
	return value === null ? null : valueWords(type.fields[type.level_field], value);
}

function flowButtons(state, event) {
	const { trace } = state, { from, to } = flowsOf(trace, event);
	const one = (other, word) => button(`${word} ${visible(laneOf(trace, other).label)}`,
		`${visible(typeOf(trace, other).name)}, ${seconds(trace.columns.time[other])} s`,
		() => state.select(other));
	return [...from.map((other) => one(other, '⇠ from')), ...to.slice(0, 4).map((other) => one(other, '⇢ to'))];
}

function eventPart(state) {
	const { trace, selected } = state, type = typeOf(trace, selected), lane = laneOf(trace, selected),
		log = trace.tables.logs[logOf(trace, selected)];
	const time = trace.columns.time[selected], flags = flagsOf(trace, selected),
		shape = trace.columns.shape[selected];
	const level = levelOf(trace, selected);
	const cut = trace.shapes.whole[shape] > trace.shapes.length[shape];
	return [
		heading(visible(type.name), type.hue,
			element('span', { class: 'number' }, `event ${count(selected + 1)}`)),
		table(
			['time', `${seconds(time)} s`], ['', absolute(trace.begin, time)],
			state.mark >= 0 && state.mark !== selected ?
				['since mark', exactDuration(time - trace.columns.time[state.mark]),
				`${seconds(time - trace.columns.time[state.mark])} s`] : null,
			lane.group.system ? ['by', 'recording itself'] :
				['process', lane.group.label, lane.group.path ? visible(lane.group.path) : ''],
			lane.group.system ? null : ['thread', lane.label],
			trace.tables.logs.length > 1 ? ['log', visible(log.about.file)] : null,
			...placeRows(trace, selected)),
		table(level === null ? null : ['level', level],
			...fieldRows(trace, selected),
			flags & truncated ? ['cut', 'the data were longer than the stream takes'] : null,
			cut ? ['cut', `the page has the first ${count(trace.shapes.length[shape])} bytes ` +
				`of ${count(trace.shapes.whole[shape])}`] : null,
			flags & damaged ? ['damage', 'a part of the log cannot be read; this stands for it'] : null),
		rawData(trace, selected),
		element('p', { class: 'actions' },
			...flowButtons(state, selected),
			...(state.span ? [] : spansOf(state.sets, selected).map(({ set, index }) =>
				button(`${visible(set.name)}: ${duration(set.durations[index])}`,
					'The span that it begins or ends', () => state.selectSpan(set, index)))),
			button(state.mark === selected ? 'Unmark' : 'Mark',
				'Measure from here to what is selected next (m)',
				() => state.setMark(state.mark === selected ? -1 : selected)),
			button('Zoom in', 'To the surroundings of this event (f)',
				() => state.show(time - 500, time + 500)),
			button('Only this type', 'Search for events of this type',
				() => state.wantSearch(`name:${type.name}`)),
			lane.group.system ? null : button('Only this thread', 'Search for events of this thread',
				() => state.wantSearch(`tid:${lane.tid}`))),
	];
}

/* -- A span ------------------------------------------------------------------------------------------------ */

function spanPart(state) {
	const { trace, span: { set, index } } = state, first = set.first[index], last = set.last[index],
		time = set.starts[index];
	let slower = 0;
	for (const each of set.sorted)
		slower += each > set.durations[index];
	return [
		heading(visible(spanText(trace, set, index)), null, element('span', { class: 'number' }, 'span')),
		table(
			['duration', exactDuration(set.durations[index]),
				`longer than ${((1 - (slower + 1) / set.sorted.length) * 100).toFixed(1)} % ` +
				`of ${plural(set.sorted.length, 'span')}`],
			['of', visible(set.name)], ['from', `${seconds(time)} s`],
				['to', `${seconds(trace.columns.time[last])} s`]),
		element('p', { class: 'actions' },
			button('Zoom in', 'To this span (f)',
				() => state.show(time - set.durations[index] * 0.1 - 1,
				time + set.durations[index] * 1.1 + 1)),
			set.whole ? null :
				button('Its begin', visible(typeOf(trace, first).name), () => state.select(first)),
			button('Its end', visible(typeOf(trace, last).name), () => state.select(last))),
	];
}

/* -- A range ----------------------------------------------------------------------------------------------- */

const countedMost = 2e6;

function rangePart(state) {
	const { trace, range } = state, from = eventAt(trace, range.t0), to = eventAt(trace, range.t1),
		long = range.t1 - range.t0, counts = new Map();
	for (let i = from; i < Math.min(to, from + countedMost); i++) {
		const type = typeOf(trace, i);
		counts.set(type, (counts.get(type) || 0) + 1);
	}
	const top = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 6);
	return [
		heading(exactDuration(long), null, element('span', { class: 'number' }, 'range')),
		table(
			['from', `${seconds(range.t0)} s`], ['to', `${seconds(range.t1)} s`],
			['events', count(to - from), to > from ?
				`${count(Math.round((to - from) / long * 1e9))} per second` : ''],
			...top.map(([type, n]) => [visible(type.name), count(n)])),
		element('p', { class: 'actions' },
			button('Zoom in', 'To this range (f)', () => state.show(range.t0, range.t1)),
			button('Clear', 'Escape', () => state.setRange(null)),
			element('code', {}, `--from ${plainSeconds(range.t0)} --to ${plainSeconds(range.t1)}`)),
	];
}

function nothing() {
	return [element('p', { class: 'hint' },
		'Nothing is selected. Click an event or a span on the time line, or a line of the table. ',
		'Drag with Shift to measure a time; press ', element('kbd', {}, '?'), ' for all keys.')];
}

export function makeDetails(state) {
	const node = byId('details'), status = byId('status'), { trace } = state;
	function paint() {
		const parts = [state.range ? rangePart(state) : null, state.span ? spanPart(state) : null,
			state.selected >= 0 ? eventPart(state) : null].filter(Boolean);
		const opened = node.querySelector('details.raw')?.open;
		node.replaceChildren(...(parts.length ? parts :
			[nothing()]).map((part) => element('section', {}, ...part)));
		const raw = node.querySelector('details.raw');
		if (raw && opened)
			raw.open = true;
	}
	state.on('select range', paint);
	state.on('select', () => {
		if (state.selected < 0)
			return;
		const { span } = state, time = trace.columns.time[state.selected];
		const ofSpan = span ? `, span of ${exactDuration(span.set.durations[span.index])}` : '';
		status.textContent = `${visible(typeOf(trace, state.selected).name)}, ${seconds(time)} seconds, ` +
			`${laneOf(trace, state.selected).label}${ofSpan}`;
	});
	state.on('range', () => {
		status.textContent = state.range ? `range of ${exactDuration(state.range.t1 - state.range.t0)}` : '';
	});
	paint();
}
