/*
 * spanlist.mjs - the list of spans: durations, histograms, and a form to add spans
 *
 * SPDX-License-Identifier: MIT
 */
import { byId, element, sizeCanvas } from './dom.mjs';
import { histogram, mean, percentile } from './spread.mjs';
import { count, plural, shortened, visible } from './text.mjs';
import { duration, exactDuration } from './time.mjs';
import { font } from './paint.mjs';
import { spanText } from './spans.mjs';

const longestShown = 5, chartHeight = 120, axis = 17;

/* -- The histogram ------------------------------------------------------------------------------------ */

function paintChart(state, canvas, bars, over) {
	const width = canvas.parentElement.clientWidth, context = sizeCanvas(canvas, width, chartHeight),
		{ colours } = state;
	const most = Math.max(...bars.map((bar) => bar.count)), step = width / bars.length, floor = chartHeight - axis;
	context.clearRect(0, 0, width, chartHeight);
	context.font = font;
	bars.forEach((bar, i) => {
		const x = Math.round(i * step), w = Math.max(1, Math.round((i + 1) * step) - x - 2);
		const h = bar.count ? Math.max(2, (floor - 16) * bar.count / most) : 0;
		context.fillStyle = colours.line;
		context.fillRect(x, floor, w, 1);
		context.fillStyle = i === over ? colours.accent : colours.hues[0];
		context.fillRect(x, floor - h, w, h);
	});
	context.fillStyle = colours.dim;
	context.textBaseline = 'alphabetic';
	for (let i = 0, free = 0; i <= bars.length; i++) {
		const text = exactDuration(i < bars.length ? bars[i].from : bars[i - 1].to),
			room = context.measureText(text).width, x = Math.min(i * step, width - room);
		if (x >= free) {
			context.fillText(text, x, chartHeight - 4);
			free = x + room + 14;
		}
	}
}

function chart(state, set) {
	const bars = histogram(set.sorted), canvas = element('canvas', { role: 'img', 'aria-label': chartText(bars) }),
		said = element('p', { class: 'chart-said' }, '\u00a0');
	let over = -1;
	const paint = () => canvas.isConnected && paintChart(state, canvas, bars, over);
	canvas.addEventListener('pointermove', (e) => {
		over = Math.min(bars.length - 1, Math.max(0, Math.floor(e.offsetX / canvas.clientWidth * bars.length)));
		const bar = bars[over];
		said.textContent = `${exactDuration(bar.from)} to ${exactDuration(bar.to)}: ` +
			`${plural(bar.count, 'span')}, ${(bar.count / set.sorted.length * 100).toFixed(1)} %`;
		paint();
	});
	canvas.addEventListener('pointerleave', () => {
		over = -1;
		said.textContent = '\u00a0';
		paint();
	});
	return { node: element('div', { class: 'chart' }, canvas, said), paint };
}

function chartText(bars) {
	return 'Histogram of durations: ' +
		bars.filter((bar) => bar.count).map((bar) =>
		`${exactDuration(bar.from)} to ${exactDuration(bar.to)}: ${bar.count}`).join('; ');
}

/* -- One set of spans ---------------------------------------------------------------------------------- */

function numbers(set) {
	const cells = [['min', set.sorted[0]], ['mean', mean(set.sorted)], ['50 %', percentile(set.sorted, 50)],
		['90 %', percentile(set.sorted, 90)],
		['99 %', percentile(set.sorted, 99)], ['max', set.sorted[set.sorted.length - 1]]];
	return element('dl', { class: 'numbers' },
		...cells.map(([name, value]) => element('div', {}, element('dt', {}, name),
		element('dd', { title: exactDuration(value) }, duration(value)))));
}

function longest(state, set) {
	const order = Uint32Array.from(set.durations, (value, i) => i);
	/* Five are needed, so not all of them are sorted. */
	const least = set.sorted[Math.max(0, set.sorted.length - longestShown)];
	const few = order.filter((i) => set.durations[i] >= least)
		.sort((a, b) => set.durations[b] - set.durations[a]).slice(0, longestShown);
	return element('ol', { class: 'longest' },
		...Array.from(few, (i) => element('li', {}, element('button', { type: 'button', onclick: () => {
		const from = set.starts[i];
		state.show(from - set.durations[i] * 0.6 - 50, from + set.durations[i] * 1.6 + 50);
		state.selectSpan(set, i);
	} }, element('b', {}, duration(set.durations[i])), ' ',
		shortened(visible(spanText(state.trace, set, i)), 120)))));
}

function without(set) {
	const parts = [[set.noEnd, 'without an end'], [set.noBegin, 'ends without a begin'],
		[set.cut, 'cut by losses'],
		[set.impossible, 'left out: no such duration']].filter(([n]) => n);
	return parts.length ? element('p', { class: 'hint' },
		parts.map(([n, text]) => `${count(n)} ${text}`).join(' · ')) : null;
}

/* Returns how the events of a set are paired. */
function ruleOf(state, set) {
	const { types } = state.trace, names = (list) => list.map((i) => visible(types[i].name)).join(', ');
	if (set.whole)
		return 'each event is a span, and says how long it took';
	const id = [...set.from, ...set.to].map((i) => types[i]).find((type) => type.by !== undefined);
	const same = id ? `${visible(id.fields[id.by].name)} and ` : '';
	const scope = { thread: id ? 'process' : 'thread', process: 'process', all: 'log' }[set.by];
	return `${set.begin ? visible(set.begin) : names(set.from)} → ${set.end ? visible(set.end) : names(set.to)}, ` +
		`of the same ${same}${scope}${set.nested ? ', nested' : ''}`;
}

function setPart(state, set, charts) {
	const parts = [element('h2', {}, element('span', { class: 'what' }, visible(set.name)),
		element('span', { class: 'number' }, plural(set.first.length, 'span')),
		element('button', { type: 'button', class: 'small', 'aria-pressed': String(!set.hidden),
			title: 'On the time line', onclick: () => {
			set.hidden = !set.hidden;
			state.layOut();
		} }, set.hidden ? 'Show' : 'Hide'),
		element('button', { type: 'button', class: 'small', 'aria-label': `Remove ${visible(set.name)}`,
			title: 'Remove', onclick: () => state.removeSet(set) }, '✕')),
	element('p', { class: 'hint' }, ruleOf(state, set))];
	if (set.first.length) {
		const drawn = chart(state, set);
		charts.push(drawn.paint);
		parts.push(numbers(set), drawn.node, element('h3', {}, 'Longest'), longest(state, set));
	} else {
		parts.push(element('p', { class: 'hint' }, 'There is no such span in this page.'));
	}
	parts.push(without(set));
	return element('section', {}, ...parts);
}

/* -- New ones ------------------------------------------------------------------------------------------- */

function choice(label, id, options) {
	return element('label', { for: id }, element('span', {}, label),
		element('select', { id }, ...options.map(([value, text]) => element('option', { value }, text))));
}

function form(state) {
	const { types } = state.trace;
	const names = types.map((type, i) => [i, visible(type.name)]).filter(([i]) => !types[i].system)
		.sort((a, b) => a[1].localeCompare(b[1]));
	if (names.length === 0)
		return null;
	const nested = element('input', { type: 'checkbox', id: 'span-nested' });
	const made = element('form', { class: 'measure', onsubmit: (e) => {
		e.preventDefault();
		const from = Number(made.querySelector('#span-from').value),
			to = Number(made.querySelector('#span-to').value);
		state.addSet({ begin: types[from].name, end: types[to].name, from: [from], to: [to],
			by: made.querySelector('#span-by').value, nested: nested.checked });
	} },
	element('h2', {}, 'Measure'),
	choice('from', 'span-from', names), choice('to the next', 'span-to', names),
	choice('of the same', 'span-by', [['thread', 'thread'], ['process', 'process'], ['all', 'log']]),
	element('label', { class: 'check', for: 'span-nested' }, nested, element('span', {}, 'nested')),
	element('button', { type: 'submit', class: 'strong' }, 'Measure'));
	const chosen = state.selected >= 0 ? state.trace.shapes.type[state.trace.columns.shape[state.selected]] :
		names[0][0];
	if (!types[chosen].system)
		made.querySelector('#span-from').value = chosen;
	made.querySelector('#span-to').value = names[Math.min(1, names.length - 1)][0];
	return made;
}

export function makeSpanList(state) {
	const node = byId('panel-spans');
	let charts = [];
	function paint() {
		charts = [];
		node.replaceChildren(...[...state.sets.map((set) => setPart(state, set, charts)),
			state.sets.length ? null : element('p', { class: 'hint' },
				'No spans are shown. Choose below from which event to which one time is measured; ' +
				'or give --span to posixtrace view.'),
			form(state)].filter(Boolean));
		paintCharts();
	}
	function paintCharts() {
		if (!node.hidden)
			charts.forEach((each) => each());
	}
	state.on('rows', paint);
	state.on('theme', paintCharts);
	new ResizeObserver(paintCharts).observe(node);
	paint();
	return { shown: paintCharts };
}
