/*
 * keys.mjs - keyboard commands
 *
 * SPDX-License-Identifier: MIT
 */
import { byId, element } from './dom.mjs';
import { laneOf } from './trace.mjs';
import { lowerBound } from './seek.mjs';

const help = [
	['Time line', [
		['wheel, + and −, w and s', 'zoom in and out'],
		['drag, ← and →, a and d', 'move in time'],
		['↑ and ↓, Alt and wheel', 'move over the rows'],
		['0', 'the whole trace'],
		['f', 'zoom to what is selected'],
		['Shift and drag', 'measure a range of time'],
		['double click', 'zoom to the span, or in'],
		['c', 'fold all processes, or unfold them'],
	]],
	['Events', [
		['/', 'search'],
		['n and N', 'the next that matches, the one before'],
		['j and k', 'the next line of the table, the one before'],
		['] and [', 'the next event of the same thread, the one before'],
		['m', 'mark: measure from here to what is selected next'],
		['Escape', 'let go of range, selection, mark, search'],
	]],
	['Page', [
		['1 2 3 4', 'events, spans, types, logs'],
		['5 6 7', 'calls, samples, off CPU, if there are some'],
		['arrows, Enter, Escape', 'in a flame graph: move, show one function, show all'],
		['t', 'light, dark, or as the system is'],
		['Tab', 'from one part to the next'],
		['?', 'these keys'],
	]],
	['In a search', [
		['commit', 'in a name or in the data'],
		['"two words"', 'as they are written'],
		['name:sql.* thread: process: data: source:', 'in this only; * stands for anything'],
		['pid:4711 tid:4712', 'a number'],
		['rows>3 time>=1ms', 'a field of the data'],
		['-word', 'not that'],
		['rows > 3 && key ~ "user:*"', 'an expression, as after --where'],
	]],
];

function fillHelp(dialog) {
	dialog.querySelector('.columns').replaceChildren(...help.map(([title, keys]) => element('section', {},
		element('h3', {}, title),
		element('dl', {}, ...keys.flatMap(([key, text]) => [element('dt', {}, key),
			element('dd', {}, text)])))));
}

/* Selects the next event of the same thread. */
function stepInLane(state, by) {
	const { trace } = state;
	if (state.selected < 0)
		return;
	const { events } = laneOf(trace, state.selected), next = events[lowerBound(events, state.selected) + by];
	if (next !== undefined)
		state.select(next);
}

function zoomToSelection(state) {
	const { trace } = state;
	if (state.range)
		state.show(state.range.t0, state.range.t1);
	else if (state.span) {
		const from = state.span.set.starts[state.span.index],
			long = state.span.set.durations[state.span.index];
		state.show(from - long * 0.1 - 1, from + long * 1.1 + 1);
	} else if (state.selected >= 0) {
		state.show(trace.columns.time[state.selected] - 500, trace.columns.time[state.selected] + 500);
	}
}

/* Clears one thing at a time, the most recent first. */
function letGo(state) {
	if (state.range)
		state.setRange(null);
	else if (state.span || state.selected >= 0)
		state.select(-1);
	else if (state.mark >= 0)
		state.setMark(-1);
	else if (state.hits)
		state.wantSearch('');
}

export function makeKeys(state, { timeline, table, tabs, toggleTheme }) {
	const dialog = byId('help'), scroller = byId('scroller'),
		step = (share) => share * (state.view.t1 - state.view.t0);
	fillHelp(dialog);
	const keys = {
		'+': () => state.zoom(0.6), '=': () => state.zoom(0.6), w: () => state.zoom(0.6),
			'-': () => state.zoom(1 / 0.6), s: () => state.zoom(1 / 0.6),
		a: () => state.pan(step(-0.15)), d: () => state.pan(step(0.15)),
		0: () => state.show(state.all.t0, state.all.t1), f: () => zoomToSelection(state),
		c: () => timeline.collapseAll(!state.trace.groups.some((group) => group.collapsed)),
		'/': () => byId('search').focus(), n: () => table.step(1), N: () => table.step(-1),
			j: () => table.step(1), k: () => table.step(-1),
		']': () => stepInLane(state, 1), '[': () => stepInLane(state, -1),
		m: () => state.setMark(state.mark === state.selected ? -1 : state.selected),
		t: toggleTheme, '?': () => dialog.showModal(), Escape: () => letGo(state),
		1: () => tabs.show(0), 2: () => tabs.show(1), 3: () => tabs.show(2), 4: () => tabs.show(3),
		5: () => tabs.show(4), 6: () => tabs.show(5), 7: () => tabs.show(6),
	};
	const timelineKeys = {
		ArrowLeft: () => state.pan(step(-0.15)), ArrowRight: () => state.pan(step(0.15)),
		ArrowUp: () => scroller.scrollBy(0, -40), ArrowDown: () => scroller.scrollBy(0, 40),
		PageUp: () => scroller.scrollBy(0, -scroller.clientHeight),
			PageDown: () => scroller.scrollBy(0, scroller.clientHeight),
		Home: () => state.pan(state.all.t0 - state.view.t0), End: () => state.pan(state.all.t1 - state.view.t1),
	};
	document.addEventListener('keydown', (e) => {
		if (e.ctrlKey || e.metaKey || e.altKey || dialog.open || e.target.closest('input, select, textarea'))
			return;
		const action = ((e.target === document.body || e.target.closest('#time')) && timelineKeys[e.key]) ||
			keys[e.key];
		if (!action || (e.key === 'Escape' && e.defaultPrevented))
			return;
		e.preventDefault();
		action();
	});
	byId('help-open').addEventListener('click', () => dialog.showModal());
	byId('help-close').addEventListener('click', () => dialog.close());
	dialog.addEventListener('click', (e) => e.target === dialog && dialog.close());
}
