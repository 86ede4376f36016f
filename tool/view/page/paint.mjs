/*
 * paint.mjs - the rows of the time line, on a canvas
 *
 * The cost of a frame depends on the number of pixels, not of events: a binary search finds the next pixel. Slices that
 * are narrower than a pixel are drawn together with their neighbours, with an opacity that shows how much time they
 * fill.
 *
 * SPDX-License-Identifier: MIT
 */
import { lowerBound, lowerBoundNear, eachBin } from './seek.mjs';
import { spanText } from './spans.mjs';
import { huesOfTexts, hueCount } from './colours.mjs';
import { ownText } from './fields.mjs';
import { dataOf, laneOf } from './trace.mjs';
import { visible } from './text.mjs';
import { padding, sliceHeight, marksHeight, samplesOf, stripHeight, stripOf, rowOfLane } from './rows.mjs';
import { running, ready, disk } from './states.mjs';

const binPixels = 2, sampled = 9;
export const font = '11px system-ui, -apple-system, "Segoe UI", "Noto Sans", "Liberation Sans", sans-serif';

const votes = new Uint8Array(hueCount + 1);

/* Returns the most frequent hue of some events; of many events only a sample is examined. */
function commonHue(trace, events, from, to) {
	const { shape } = trace.columns, { type } = trace.shapes, n = Math.min(to - from, sampled);
	if (n === 1)
		return trace.types[type[shape[events[from]]]].hue;
	votes.fill(0);
	let best = 0;
	for (let i = 0; i < n; i++) {
		const hue = trace.types[type[shape[events[from + Math.floor(i * (to - from) / n)]]]].hue;
		if (++votes[hue] > votes[best])
			best = hue;
	}
	return votes[best] ? best : hueCount;
}

/* Merges adjacent rectangles of the same height and colour. */
function makeRun(context, colours) {
	let left = 0, right = -1, top = 0, height = 0, colour = -1;
	const flush = () => {
		if (right > left) {
			context.fillStyle = colours[colour];
			context.fillRect(left, top, right - left, height);
		}
		right = -1;
	};
	return {
		add(x0, x1, y, h, which) {
			if (right >= x0 && which === colour && h === height && y === top) {
				right = Math.max(right, x1);
				return;
			}
			flush();
			left = x0;
			right = x1;
			top = y;
			height = h;
			colour = which;
		},
		flush,
	};
}

function paintMarks(p, times, events, bottom, colours, hueOf) {
	const { t0, t1, scale } = p, run = makeRun(p.context, colours);
	eachBin(times, t0, t1, binPixels / scale, (bin, from, to) => {
		const n = to - from, x = n === 1 ? Math.round((times[from] - t0) * scale - 1) :
			Math.round((bin * binPixels / scale - t0) * scale);
		const height = n === 1 ? 8 : Math.min(8 + Math.round(Math.log2(n)), marksHeight);
		run.add(x, x + binPixels, bottom - height, height, hueOf(events, from, to));
	});
	run.flush();
}

/* Paints the density of all events of a process, relative to the densest visible part. */
function paintDensity(p, group, top, height, colour) {
	const bins = [];
	let most = 1;
	eachBin(group.times, p.t0, p.t1, binPixels / p.scale, (bin, from, to) => {
		bins.push(bin, to - from);
		most = Math.max(most, to - from);
	});
	const run = makeRun(p.context, [colour]);
	for (let i = 0; i < bins.length; i += 2) {
		const x = Math.round((bins[i] * binPixels / p.scale - p.t0) * p.scale),
			h = Math.max(2, Math.round((height - 8) * Math.log2(1 + bins[i + 1]) / Math.log2(1 + most)));
		run.add(x, x + binPixels, top + height - 4 - h, h, 0);
	}
	run.flush();
}

/* -- Slices ------------------------------------------------------------------------------------------ */

/* The number of slices that are examined to choose hues for their texts. */
const textsMost = 2000;

function textOf(trace, set, index) {
	if (set.calls)
		return spanText(trace, set, index);
	const type = trace.types[trace.shapes.type[trace.columns.shape[set.first[index]]]];
	return type.system ? null : ownText(type, dataOf(trace, set.first[index]), trace.little);
}

function chooseHueOfText(trace, set) {
	const n = set.first.length, step = Math.max(1, n / textsMost), weighed = [];
	for (let i = 0; i < n; i += step) {
		const index = Math.floor(i), text = textOf(trace, set, index);
		if (text)
			weighed.push([text, set.durations[index] + 1]);
	}
	return weighed.length ? huesOfTexts(weighed) : null;
}

/* Returns the hue of a slice: that of its text, or without texts that of its first event type. */
function hueOfSpan(trace, set, index) {
	if (set.hue[index] === 0) {
		if (set.hueOfText === undefined)
			set.hueOfText = chooseHueOfText(trace, set);
		const text = set.hueOfText && textOf(trace, set, index),
			type = trace.types[trace.shapes.type[trace.columns.shape[set.first[index]]]];
		set.hue[index] = 1 + (text ? set.hueOfText(text) : type.hue);
	}
	return set.hue[index] - 1;
}

const widths = new Map();

function widthOf(context, text) {
	let width = widths.get(text);
	if (width === undefined) {
		if (widths.size > 20000)
			widths.clear();
		width = context.measureText(text).width;
		widths.set(text, width);
	}
	return width;
}

/* Returns the part of a text that fits. */
function fitted(context, text, room) {
	let width = widthOf(context, text), letters = text.length, part = text;
	while (width > room) {
		letters = Math.min(Math.floor(letters * room / width), letters - 1);
		if (letters < 2)
			return '';
		part = text.slice(0, letters) + '…';
		width = widthOf(context, part);
	}
	return part;
}

function paintSlice(p, set, index, left, right, y, height) {
	const { context, state } = p, { colours, trace } = state, hue = hueOfSpan(trace, set, index),
		x = Math.max(left, -2), width = Math.min(right, p.width + 2) - x;
	context.fillStyle = colours.fills[hue];
	context.fillRect(x, y, width, height);
	if (width > 3) {
		context.fillStyle = colours.hues[hue];
		context.fillRect(x, y, left < -2 ? 0 : 2, height);
	}
	if (width < 24)
		return;
	/* The text of a slice that begins left of the view is moved into the view. */
	const text = fitted(context, visible(spanText(trace, set, index).slice(0, 200)), width - 10);
	if (text) {
		context.fillStyle = colours.sliceText;
		context.fillText(text, Math.max(x, 0) + 6, y + height / 2 + 0.5);
	}
}

function paintLayer(p, layer, y) {
	const { t0, t1, scale, context, state } = p, { start, end, reach, busy, set, span } = layer, n = start.length,
		height = sliceHeight - 2;
	let i = lowerBound(reach, t0);
	while (i < n && start[i] < t1) {
		const left = (start[i] - t0) * scale, right = (end[i] - t0) * scale;
		if (right - left >= binPixels) {
			paintSlice(p, state.sets[set[i]], span[i], left, right, y, height);
			i++;
			continue;
		}
		/* Combines the slices that begin in these pixels, except a slice that is longer than they are. */
		const x = Math.floor(left / binPixels) * binPixels, until = t0 + (x + binPixels) / scale;
		let next = Math.max(lowerBoundNear(start, until, i, n), i + 1);
		if (next - 1 > i && (end[next - 1] - start[next - 1]) * scale >= binPixels)
			next--;
		const share = Math.min((busy[next] - busy[i]) * scale / binPixels, 1);
		context.globalAlpha = p.alpha * (0.45 + 0.55 * share);
		context.fillStyle = state.colours.hues[hueOfSpan(state.trace, state.sets[set[i]], span[i])];
		context.fillRect(x, y, binPixels, height);
		context.globalAlpha = p.alpha;
		i = next;
	}
}

/* -- Counters ------------------------------------------------------------------------------------------- */

/* Paints the values as steps: each lasts until the next. Of the values in one bin, the last one and a sample count. */
function paintCounter(p, counter, top, height) {
	const { context, t0, t1, scale, state } = p, { times, values, least, most } = counter, span = most - least || 1;
	const yOf = (value) => top + height - 5 - (height - 10) * (value - least) / span;
	const floor = yOf(0), first = lowerBound(times, t0), hue = counter.hue;
	let x = 0, value = first > 0 ? values[first - 1] : null;
	const step = (until) => {
		if (value !== null && until > x) {
			const y = yOf(value);
			context.globalAlpha = 0.35;
			context.fillRect(x, Math.min(y, floor), until - x, Math.max(Math.abs(floor - y), 1));
			context.globalAlpha = 1;
			context.fillRect(x, Math.round(y), until - x, 1);
		}
		x = Math.max(until, x);
	};
	context.fillStyle = state.colours.hues[hue];
	eachBin(times, t0, t1, binPixels / scale, (bin, from, to) => {
		step(to - from === 1 ? Math.round((times[from] - t0) * scale) :
			Math.floor(bin * binPixels - t0 * scale));
		let low = values[to - 1], high = low;
		for (let i = 0, n = Math.min(to - from, sampled); i < n; i++) {
			const each = values[from + Math.floor(i * (to - from) / n)];
			low = Math.min(low, each);
			high = Math.max(high, each);
		}
		context.globalAlpha = 1;
		if (high > low)
			context.fillRect(x, yOf(high), 1, yOf(low) - yOf(high));
		value = values[to - 1];
	});
	step(p.width);
	context.globalAlpha = 1;
}

/* -- Samples --------------------------------------------------------------------------------------------- */

/*
 * Paints the samples of a thread in the hues of their functions. The height is the share of the time in which the
 * thread ran.
 */
function paintSamples(p, { times, hues }, top) {
	const { t0, t1, scale, state } = p, { period } = state.trace.stacks,
		run = makeRun(p.context, state.colours.hues);
	eachBin(times, t0, t1, binPixels / scale, (bin, from, to) => {
		const share = Math.min((to - from) * period * scale / binPixels, 1), n = Math.min(to - from, sampled);
		const height = Math.max(2, Math.round(share * stripHeight));
		const x = Math.round((bin * binPixels / scale - t0) * scale);
		let hue = hues[from];
		votes.fill(0);
		for (let i = 0; i < n; i++) {
			const each = hues[from + Math.floor(i * (to - from) / n)];
			if (++votes[each] > votes[hue])
				hue = each;
		}
		run.add(x, x + binPixels, top + stripHeight - height, height, hue);
	});
	run.flush();
}

/* -- States ---------------------------------------------------------------------------------------------- */

/* Returns the colours of states, by their numbers. */
function stateColours({ hues, strong }) {
	return [hues[2], hues[1], strong, hues[6]];
}

const shares = new Float64Array(4);

/* Finds the share of each state in the time of some; of many only a sample is examined. */
function shareStates({ kind, start, end }, from, to) {
	const n = Math.min(to - from, 4 * sampled);
	let all = 0;
	shares.fill(0);
	for (let i = 0; i < n; i++) {
		const at = from + Math.floor(i * (to - from) / n), long = end[at] - start[at];
		shares[kind[at]] += long;
		all += long;
	}
	for (let i = 0; i < shares.length; i++)
		shares[i] /= all || 1;
}

/* Paints the states of a thread. In pixels with many states, the heights of the colours are their shares. */
function paintStates(p, states, top) {
	const { t0, t1, scale, context, state } = p, { start, end, kind, count } = states,
		colours = stateColours(state.colours), run = makeRun(context, colours);
	let i = lowerBound(end, t0);
	while (i < count && start[i] < t1) {
		const left = (start[i] - t0) * scale, right = (end[i] - t0) * scale;
		if (right - left >= binPixels) {
			const thin = kind[i] === running || kind[i] === ready || kind[i] === disk ? 0 : 2;
			run.add(Math.max(left, -2), Math.min(right, p.width + 2), top + thin, stripHeight - 2 * thin,
				kind[i]);
			i++;
			continue;
		}
		const x = Math.floor(left / binPixels) * binPixels, until = t0 + (x + binPixels) / scale;
		let next = Math.max(lowerBoundNear(start, until, i, count), i + 1), y = top;
		if (next - 1 > i && (end[next - 1] - start[next - 1]) * scale >= binPixels)
			next--;
		shareStates(states, i, next);
		for (const each of [ready, disk, running]) {
			const height = Math.min(Math.ceil(shares[each] * stripHeight), top + stripHeight - y);
			if (height > 0)
				run.add(x, x + binPixels, y, height, each);
			y += height;
		}
		if (y < top + stripHeight)
			run.add(x, x + binPixels, y, top + stripHeight - y, 2);
		i = next;
	}
	run.flush();
}

/* Paints what ran on a processor: each process has a hue. */
function paintProcessor(p, processor, top, height) {
	const { t0, t1, scale, context, state } = p, { start, end, lane, busy, count } = processor,
		{ trace, colours } = state;
	const hueOf = (i) => trace.lanes[lane[i]].group.number % hueCount;
	let i = lowerBound(end, t0);
	while (i < count && start[i] < t1) {
		const left = (start[i] - t0) * scale, right = (end[i] - t0) * scale;
		if (right - left >= binPixels) {
			const x = Math.max(left, -2), width = Math.min(right, p.width + 2) - x;
			context.fillStyle = colours.fills[hueOf(i)];
			context.fillRect(x, top + padding, width, height - 2 * padding);
			const text = width < 24 ? '' : fitted(context, trace.lanes[lane[i]].label, width - 10);
			if (text) {
				context.fillStyle = colours.sliceText;
				context.fillText(text, Math.max(x, 0) + 5, top + height / 2 + 0.5);
			}
			i++;
			continue;
		}
		const x = Math.floor(left / binPixels) * binPixels, until = t0 + (x + binPixels) / scale;
		let next = Math.max(lowerBoundNear(start, until, i, count), i + 1);
		if (next - 1 > i && (end[next - 1] - start[next - 1]) * scale >= binPixels)
			next--;
		const share = Math.min((busy[next] - busy[i]) * scale / binPixels, 1),
			filled = Math.max(1, Math.round(share * (height - 2 * padding)));
		context.fillStyle = colours.hues[hueOf(i + Math.floor((next - i) / 2))];
		context.fillRect(x, top + height - padding - filled, binPixels, filled);
		i = next;
	}
}

/* -- Rows ---------------------------------------------------------------------------------------------- */

function paintLane(p, lane, top, height) {
	const { state, context } = p, { trace, colours } = state, searching = state.hitTimes !== null;
	const bottom = top + height - padding - stripOf(lane) - samplesOf(lane);
	p.alpha = searching ? 0.4 : 1;
	context.globalAlpha = p.alpha;
	lane.layers.forEach((layer, i) => paintLayer(p, layer, top + padding + i * sliceHeight));
	context.globalAlpha = searching ? 0.3 : 1;
	if (lane.states)
		paintStates(p, lane.states, top + height - padding - stripHeight);
	if (lane.samples)
		paintSamples(p, lane.samples, top + height - padding - stripOf(lane) - stripHeight);
	paintMarks(p, lane.marks.times, lane.marks.events, bottom, colours.hues,
		(events, from, to) => commonHue(trace, events, from, to));
	context.globalAlpha = 1;
	if (searching)
		paintMarks(p, state.hitTimes[lane.index], null, bottom, [colours.mark], () => 0);
}

function paintRow(p, row, index, top) {
	const { context, state } = p, { colours } = state;
	const plain = row.lane || row.counter || row.processor;
	context.fillStyle = !plain ? colours.group : index % 2 ? colours.stripe : colours.back;
	context.fillRect(0, top, p.width, row.height);
	if (row.counter)
		paintCounter(p, row.counter, top, row.height);
	else if (row.processor)
		paintProcessor(p, row.processor, top, row.height);
	else if (row.lane)
		paintLane(p, row.lane, top, row.height);
	else
		paintDensity(p, row.group, top, row.height, colours.grey);
	context.fillStyle = colours.line;
	context.fillRect(0, top + row.height - 1, p.width, 1);
}

/* -- Gaps ------------------------------------------------------------------------------------------------ */

let hatching = null, hatchingOf = '';

function hatch(context, colours) {
	const ratio = window.devicePixelRatio || 1, size = Math.round(9 * ratio), key = `${colours.loss} ${ratio}`;
	if (hatchingOf !== key) {
		const canvas = document.createElement('canvas'), c = canvas.getContext('2d');
		canvas.width = canvas.height = size;
		c.fillStyle = colours.lossBack;
		c.fillRect(0, 0, size, size);
		c.strokeStyle = colours.loss;
		c.globalAlpha = 0.5;
		c.lineWidth = 1.3 * ratio;
		for (const shift of [-size, 0, size]) {
			c.beginPath();
			c.moveTo(shift - 2, size + 2);
			c.lineTo(shift + size + 2, -2);
			c.stroke();
		}
		hatching = context.createPattern(canvas, 'repeat');
		hatching.setTransform(new DOMMatrix().scale(1 / ratio));
		hatchingOf = key;
	}
	return hatching;
}

/* Returns where to draw a gap, with a minimum width. */
export function gapPixels(gap, t0, scale) {
	const left = (gap.from - t0) * scale, right = gap.until === null ? left + 8 : (gap.until - t0) * scale;
	return right - left < 4 ? [left - 2, left + 2] : [left, right];
}

function paintGaps(p, rows) {
	const { context, state, t0, scale, width } = p, { trace } = state, severalLogs = trace.tables.logs.length > 1,
		reached = new Map();
	const bottom = rows.length ? rows[rows.length - 1].top + rows[rows.length - 1].row.height : 0;
	context.fillStyle = hatch(context, state.colours);
	for (const gap of trace.gaps) {
		const [left, right] = gapPixels(gap, t0, scale), before = reached.get(gap.log) ?? -Infinity;
		if (right < 0 || left > width || right <= before)
			continue;
		const x = Math.max(left, before, -8), w = Math.min(right, width + 8) - x;
		reached.set(gap.log, right);
		if (!severalLogs)
			context.fillRect(x, 0, w, bottom);
		else
			for (const { row, top } of rows)
				if (row.lane ? row.lane.logs.has(gap.log) :
					row.group.lanes.some((lane) => lane.logs.has(gap.log)))
					context.fillRect(x, top, w, row.height);
	}
}

/* -- Selection -------------------------------------------------------------------------------------- */

function paintRange(p) {
	const { context, state, t0, scale } = p, { range, colours } = state;
	if (!range)
		return;
	const left = (range.t0 - t0) * scale, right = (range.t1 - t0) * scale;
	context.fillStyle = colours.range;
	context.fillRect(left, 0, right - left, p.height);
	context.fillStyle = colours.accent;
	context.fillRect(Math.round(left), 0, 1, p.height);
	context.fillRect(Math.round(right) - 1, 0, 1, p.height);
}

function paintDiamond(context, x, y, size, fill, edge) {
	context.beginPath();
	context.moveTo(x, y - size);
	context.lineTo(x + size, y);
	context.lineTo(x, y + size);
	context.lineTo(x - size, y);
	context.closePath();
	context.fillStyle = fill;
	context.fill();
	context.lineWidth = 1.5;
	context.strokeStyle = edge;
	context.stroke();
}

function paintEvent(p, layout, event, colour) {
	const { context, state, t0, scale } = p, { trace } = state, x = (trace.columns.time[event] - t0) * scale;
	if (x < -10 || x > p.width + 10)
		return;
	context.fillStyle = colour;
	context.globalAlpha = 0.6;
	context.fillRect(Math.round(x), 0, 1, p.height);
	context.globalAlpha = 1;
	const row = rowOfLane(layout, laneOf(trace, event));
	if (row)
		paintDiamond(context, Math.round(x) + 0.5, row.top - p.scroll + row.height - padding - 5 -
			(row.lane ? stripOf(row.lane) + samplesOf(row.lane) : 0), 5.5, colour, state.colours.back);
}

function paintSpan(p, layout) {
	const { context, state, t0, scale } = p, { set, index } = state.span,
		lane = laneOf(state.trace, set.first[index]), row = rowOfLane(layout, lane);
	if (!row || !row.lane)
		return;
	const number = state.sets.indexOf(set);
	lane.layers.forEach((layer, i) => {
		const begin = set.starts[index];
		for (let at = lowerBound(layer.start, begin); at < layer.start.length; at++) {
			if (layer.span[at] === index && layer.set[at] === number) {
				const left = Math.max((layer.start[at] - t0) * scale, -4),
					right = Math.min((layer.end[at] - t0) * scale, p.width + 4);
				context.strokeStyle = state.colours.accent;
				context.lineWidth = 2;
				context.strokeRect(left, row.top - p.scroll + padding + i * sliceHeight,
					Math.max(right - left, 2), sliceHeight - 2);
				return;
			}
			if (layer.start[at] > begin)
				return;
		}
	});
}

/* Paints the visible part of the rows, which begins at scroll. */
export function paintRows(state, layout, context, { width, height, scroll }) {
	const { t0, t1 } = state.view, scale = width / (t1 - t0), rows = [];
	const p = { context, state, t0, t1, scale, width, height, scroll, alpha: 1 };
	context.font = font;
	context.textBaseline = 'middle';
	context.fillStyle = state.colours.back;
	context.fillRect(0, 0, width, height);
	layout.rows.forEach((row, index) => {
		const top = row.top - scroll;
		if (top + row.height < 0 || top > height)
			return;
		paintRow(p, row, index, top);
		rows.push({ row, top });
	});
	paintGaps(p, rows);
	paintRange(p);
	if (state.mark >= 0)
		paintEvent(p, layout, state.mark, state.colours.mark);
	if (state.span)
		paintSpan(p, layout);
	if (state.selected >= 0)
		paintEvent(p, layout, state.selected, state.colours.accent);
}
