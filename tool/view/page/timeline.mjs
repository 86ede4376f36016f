/*
 * timeline.mjs - the time line: ruler, names of rows, the canvas, and mouse handling
 *
 * SPDX-License-Identifier: MIT
 */
import { byId, element, sizeCanvas, onceAFrame } from './dom.mjs';
import { valueText } from './fields.mjs';
import { lowerBound } from './seek.mjs';
import { count, plural, shortened, visible } from './text.mjs';
import { exactDuration, seconds, ticks } from './time.mjs';
import { makeRows, rowAt, padding, sliceHeight, stripHeight, stripOf, rowOfLane } from './rows.mjs';
import { paintRows, gapPixels, font } from './paint.mjs';
import { spanText } from './spans.mjs';
import { stateAt, stateWords } from './states.mjs';
import { placeTip } from './tip.mjs';
import { laneOf, summaryOf, typeOf } from './trace.mjs';

const near = 6; /* pixels: tolerance for the mouse */

/* -- Hit testing ------------------------------------------------------------------------------------ */

function spanAt(state, lane, layerIndex, t, tolerance) {
	const layer = lane.layers[layerIndex];
	if (!layer)
		return null;
	for (let i = lowerBound(layer.reach, t - tolerance), tries = 0; i < layer.start.length &&
		layer.start[i] <= t + tolerance && tries < 100; i++, tries++)
		if (layer.end[i] >= t - tolerance)
			return { set: state.sets[layer.set[i]], index: layer.span[i] };
	return null;
}

/* Returns the event that is nearest to a time, or -1 if none is near enough. */
function eventNear(times, events, t, tolerance) {
	const at = lowerBound(times, t);
	let best = -1, distance = tolerance;
	for (const i of [at - 1, at])
		if (i >= 0 && i < times.length && Math.abs(times[i] - t) <= distance) {
			best = events[i];
			distance = Math.abs(times[i] - t);
		}
	return best;
}

/* Returns what the mouse points to: {gap}, {span}, {state}, {event} or {}. */
function thingAt(state, layout, x, y, width) {
	const { t0, t1 } = state.view, scale = width / (t1 - t0), t = t0 + x / scale, row = rowAt(layout, y);
	if (!row)
		return { row, t };
	if (row.processor) {
		const index = stateAt(row.processor, t, 1 / scale);
		return index < 0 ? { row, t } : { row, t, state: { states: row.processor, index } };
	}
	if (row.lane && row.lane.states && y >= row.top + row.height - padding - stripHeight - 1) {
		const index = stateAt(row.lane.states, t, 1 / scale);
		if (index >= 0)
			return { row, t, state: { states: row.lane.states, index } };
	}
	if (row.lane && row.lane.samples && y >= row.top + row.height - padding - stripOf(row.lane) - stripHeight - 1) {
		const { times, events } = row.lane.samples;
		return { row, t, event: eventNear(times, events, t, near / scale) };
	}
	const logs = row.lane ? row.lane.logs : new Set(row.group.lanes.flatMap((lane) => [...lane.logs]));
	const gap = state.trace.gaps.find((each) => {
		const [left, right] = gapPixels(each, t0, scale);
		return logs.has(each.log) && x >= left - 1 && x <= right + 1;
	});
	if (row.lane) {
		const layer = Math.floor((y - row.top - padding) / sliceHeight),
			span = spanAt(state, row.lane, layer, t, 2 / scale);
		if (span)
			return { row, t, span };
	}
	const owner = row.counter || (row.lane ? row.lane.marks : row.group);
	const event = eventNear(owner.times, owner.events, t, near / scale);
	return gap ? { row, t, gap } : { row, t, event };
}

/* -- Tooltips ------------------------------------------------------------------------------------------- */

const reasons = { lost: 'Events were lost', full: 'No room: recording stopped by itself',
	damaged: 'Events are missing: the log is damaged here',
	unwritten: 'Events are missing: they could not be written' };

function lossText(log) {
	const { lost, discarded, unwritten, missing } = log.about;
	return [lost ? `the whole log has lost ${plural(lost, 'event')}` : '', unwritten ?
		`${plural(unwritten, 'event')} could not be written` : '', missing ?
		`${plural(missing, 'event')} in damaged parts` : '', discarded ?
		`${plural(discarded, 'event')} overwritten or discarded` : '']
		.filter(Boolean).join('; ');
}

export function describe(state, thing) {
	const { trace } = state;
	if (thing.gap) {
		const { gap } = thing;
		return [reasons[gap.reason], gap.until === null ? 'nobody knows for how long' :
			`for ${exactDuration(gap.until - gap.from)}`,
			lossText(trace.tables.logs[gap.log])];
	}
	if (thing.span) {
		const { set, index } = thing.span;
		const text = spanText(trace, set, index), name = set.name === text ? '' : `${visible(set.name)} · `;
		return [shortened(visible(text), 240),
			`${exactDuration(set.durations[index])} · ${name}${laneOf(trace, set.first[index]).label}`,
			`from ${seconds(set.starts[index])} s`];
	}
	if (thing.state) {
		const { states, index } = thing.state, [what, more, stack] = stateWords(trace, states, index);
		return [`${what} · ${exactDuration(states.end[index] - states.start[index])}`, shortened(more, 240),
			shortened(stack, 240),
			`${laneOf(trace, states.event[index]).label} · from ${seconds(states.start[index])} s`];
	}
	if (thing.event >= 0)
		return [visible(typeOf(trace, thing.event).name),
			shortened(visible(summaryOf(trace, thing.event)), 240),
			`${seconds(trace.columns.time[thing.event])} s · ${laneOf(trace, thing.event).label}`];
	return null;
}

/* -- Ruler ------------------------------------------------------------------------------------------------ */

function paintRuler(state, canvas, width, height) {
	const context = sizeCanvas(canvas, width, height), { t0, t1 } = state.view, scale = width / (t1 - t0),
		{ colours } = state;
	context.fillStyle = colours.back;
	context.fillRect(0, 0, width, height);
	context.font = font;
	context.textBaseline = 'middle';
	const { base, step, marks } = ticks(t0, t1, Math.max(2, width / 80));
	const small = step * scale > 70 ? 10 : 5;
	context.fillStyle = colours.strong;
	if (marks.length)
		for (let k = -small; k <= marks.length * small; k++)
			context.fillRect(Math.round((marks[0].time + k * step / small - t0) * scale), height - 4, 1, 4);
	for (const { time, label } of marks) {
		const x = Math.round((time - t0) * scale);
		context.fillStyle = colours.strong;
		context.fillRect(x, height - 9, 1, 9);
		context.fillStyle = colours.dim;
		context.fillText(label, x + 4, height / 2 - 2);
	}
	if (state.range) {
		context.fillStyle = colours.accent;
		const left = (state.range.t0 - t0) * scale, right = (state.range.t1 - t0) * scale,
			text = exactDuration(state.range.t1 - state.range.t0);
		const room = context.measureText(text).width + 12,
			middle = Math.min(Math.max((left + right) / 2, room / 2), width - room / 2);
		context.fillRect(left, height - 3, right - left, 3);
		if (right > 0 && left < width) {
			context.beginPath();
			context.roundRect(middle - room / 2, 3, room, 17, 4);
			context.fill();
			context.fillStyle = colours.inverse;
			context.fillText(text, middle - room / 2 + 6, 12);
		}
	}
	return base;
}

/*
 * -- The whole time line
 * -----------------------------------------------------------------------------------------------
 */

export function makeTimeline(state) {
	const scroller = byId('scroller'), sheet = byId('sheet'), pane = byId('pane'), canvas = byId('rows'),
		labels = byId('labels');
	const ruler = byId('ruler'), baseLabel = byId('base'), tip = byId('tip'), hair = byId('hair'),
		hairTime = byId('hair-time');
	const { trace } = state;
	let layout = makeRows(trace), width = 1, height = 1;
	/* Durations of frames, the newest last; for tests and measurements. */
	const frames = [];

	function measureSizes() {
		width = Math.max(pane.clientWidth - labels.offsetWidth, 10);
		height = scroller.clientHeight;
		pane.style.height = `${height}px`;
	}

	function paint() {
		const begin = performance.now();
		paintRows(state, layout, sizeCanvas(canvas, width, height),
			{ width, height, scroll: scroller.scrollTop });
		const base = paintRuler(state, ruler, width, 30);
		baseLabel.textContent = base ? `${seconds(base)} s` : 'time';
		frames.push(performance.now() - begin);
		if (frames.length > 500)
			frames.shift();
	}
	const repaint = onceAFrame(paint);

	function counterLabel(counter, style) {
		const range = `${valueText(counter.field, counter.least)} … ${valueText(counter.field, counter.most)}` +
			(counter.unit ? ` ${visible(counter.unit)}` : '');
		const node = element('div', { class: 'label counter' },
			element('span', { class: 'name' }, counter.label), element('span', { class: 'amount' }, range));
		node.style.cssText = style;
		node.title = `${counter.label}: ${plural(counter.values.length, 'value')}, ${range}`;
		return node;
	}

	function processorLabel(processor, style) {
		const busy = processor.busy[processor.count], all = trace.last - trace.first;
		const node = element('div', { class: 'label thread' },
			element('span', { class: 'name' }, processor.label),
			element('span', { class: 'amount' }, `${Math.round(100 * busy / (all || 1))} %`));
		node.style.cssText = style;
		node.title = `${processor.label}: ${plural(processor.count, 'run')} of recorded threads, ` +
			`${exactDuration(busy)} of ${exactDuration(all)}`;
		return node;
	}

	function label(row) {
		const { group, lane, single } = row, style = `top:${row.top}px;height:${row.height}px`;
		if (row.processor)
			return processorLabel(row.processor, style);
		if (row.counter)
			return counterLabel(row.counter, style);
		const amount = element('span', { class: 'amount' }, count((lane || group).count));
		const name = single ? group.label : lane ? lane.label : group.label;
		let node;
		if (!lane)
			node = element('button', { class: 'label group', type: 'button',
				'aria-expanded': String(!group.collapsed), onclick: () => toggle(group) },
				element('span', { class: 'arrow', 'aria-hidden': 'true' }, '▾'),
					element('span', { class: 'name' }, name), amount);
		else
			node = element('div', { class: `label ${single ? 'single' : 'thread'}` },
				element('span', { class: 'name' }, name), amount);
		node.style.cssText = style;
		node.title = `${name}: ${plural((lane || group).count, 'event')}` +
			(group.path ? `\n${visible(group.path)}` : '');
		return node;
	}

	/* Makes elements for the visible names only, because there may be thousands. */
	let shown = '';
	function placeLabels() {
		const top = scroller.scrollTop,
			rows = layout.rows.filter((row) => row.top + row.height > top - 200 &&
			row.top < top + height + 200);
		const key = rows.map((row) => `${row.top} ${row.height} ${row.group.collapsed}`).join();
		if (key === shown)
			return;
		shown = key;
		const focused = document.activeElement && labels.contains(document.activeElement) ?
			document.activeElement.textContent : null;
		labels.replaceChildren(...rows.map(label));
		if (focused !== null)
			[...labels.children].find((node) =>
				node.textContent === focused)?.focus({ preventScroll: true });
	}

	function relayout() {
		layout = makeRows(trace);
		sheet.style.height = `${layout.height}px`;
		placeLabels();
		repaint();
	}

	function toggle(group) {
		group.collapsed = !group.collapsed;
		shown = '';
		relayout();
	}

	/* Scrolls to the row of the selection. */
	function revealRow(event) {
		const row = rowOfLane(layout, laneOf(trace, event));
		if (row && row.top < scroller.scrollTop)
			scroller.scrollTop = row.top - 8;
		else if (row && row.top + row.height > scroller.scrollTop + height)
			scroller.scrollTop = row.top + row.height - height + 8;
	}

	/* -- Mouse ------------------------------------------------------------------------------------------ */

	const timeAt = (x) => state.view.t0 + x / width * (state.view.t1 - state.view.t0);
	const place = (e) => {
		const box = canvas.getBoundingClientRect();
		return { x: e.clientX - box.left, y: e.clientY - box.top + scroller.scrollTop };
	};

	pane.addEventListener('wheel', (e) => {
		if (e.altKey || e.clientX < canvas.getBoundingClientRect().left)
			return;
		e.preventDefault();
		const unit = e.deltaMode === 1 ? 30 : 1;
		if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY))
			state.pan((e.shiftKey ? e.deltaY || e.deltaX :
				e.deltaX) * unit / width * (state.view.t1 - state.view.t0));
		else
			state.zoom(Math.exp(Math.max(-1, Math.min(1, e.deltaY * unit * (e.ctrlKey ? 0.01 : 0.0022)))),
				timeAt(place(e).x));
	}, { passive: false });

	let drag = null;
	canvas.addEventListener('pointerdown', (e) => {
		if (e.button !== 0)
			return;
		canvas.setPointerCapture(e.pointerId);
		drag = { x: e.clientX, y: e.clientY, from: timeAt(place(e).x), view: { ...state.view },
			scroll: scroller.scrollTop, measure: e.shiftKey, moved: false };
	});
	canvas.addEventListener('pointermove', (e) => {
		hover(e);
		if (!drag)
			return;
		const dx = e.clientX - drag.x, dy = e.clientY - drag.y;
		if (!drag.moved && Math.hypot(dx, dy) < 4)
			return;
		drag.moved = true;
		tip.hidden = true;
		canvas.classList.add(drag.measure ? 'measuring' : 'panning');
		if (drag.measure) {
			state.setRange({ t0: drag.from, t1: timeAt(place(e).x) });
			return;
		}
		const by = dx / width * (drag.view.t1 - drag.view.t0);
		state.show(drag.view.t0 - by, drag.view.t1 - by);
		scroller.scrollTop = drag.scroll - dy;
	});
	function release(e) {
		canvas.classList.remove('measuring', 'panning');
		if (drag && !drag.moved && e.type === 'pointerup')
			choose(e);
		drag = null;
	}
	canvas.addEventListener('pointerup', release);
	canvas.addEventListener('pointercancel', release);

	function choose(e) {
		const { x, y } = place(e), thing = thingAt(state, layout, x, y, width);
		if (thing.span)
			state.selectSpan(thing.span.set, thing.span.index, { reveal: false });
		else if (thing.state || thing.event >= 0)
			state.select(thing.state ? thing.state.states.event[thing.state.index] : thing.event,
				{ reveal: false });
		else
			state.select(-1);
	}

	canvas.addEventListener('dblclick', (e) => {
		const { x, y } = place(e), { span, state: one } = thingAt(state, layout, x, y, width);
		if (one) {
			const from = one.states.start[one.index], until = one.states.end[one.index];
			return state.show(from - (until - from) * 0.1 - 1, until + (until - from) * 0.1 + 1);
		}
		if (!span)
			return state.zoom(0.25, timeAt(x));
		const from = span.set.starts[span.index], long = span.set.durations[span.index];
		return state.show(from - long * 0.1 - 1, from + long * 1.1 + 1);
	});

	function hover(e) {
		const { x, y } = place(e);
		hair.hidden = hairTime.hidden = false;
		hair.style.transform = `translateX(${Math.round(x) + labels.offsetWidth}px)`;
		hairTime.textContent = `${seconds(timeAt(x))} s`;
		hairTime.style.transform = `translateX(${Math.round(Math.min(Math.max(x - 50, 0), width - 110))}px)`;
		if (drag && drag.moved)
			return;
		const thing = thingAt(state, layout, x, y, width), lines = describe(state, thing);
		canvas.classList.toggle('over', Boolean(lines));
		if (lines)
			placeTip(lines, e.clientX, e.clientY);
		else
			tip.hidden = true;
	}
	canvas.addEventListener('pointerleave', () => {
		hair.hidden = hairTime.hidden = tip.hidden = true;
	});

	scroller.addEventListener('scroll', () => {
		placeLabels();
		repaint();
	});
	new ResizeObserver(() => {
		measureSizes();
		placeLabels();
		repaint();
	}).observe(scroller);

	state.on('view range theme search', repaint);
	state.on('rows', relayout);
	state.on('select', () => {
		if (state.selected >= 0)
			revealRow(state.selected);
		repaint();
	});
	measureSizes();
	relayout();
	return { frames, paint, toggle, width: () => width, layout: () => layout, collapseAll: (collapsed) => {
		for (const group of trace.groups)
			group.collapsed = collapsed;
		shown = '';
		relayout();
	} };
}

