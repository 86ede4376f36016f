/*
 * state.mjs - what is shown now, and listeners for changes
 *
 * Topics: view (the times that are shown), select, range, search, rows (lanes and spans), theme.
 *
 * SPDX-License-Identifier: MIT
 */
import { measure, layOut } from './spans.mjs';
import { Fault } from './expression.mjs';
import { find, byLane } from './search.mjs';
import { palette } from './colours.mjs';

/* The smallest range that can be shown: a tenth of a nanosecond for each pixel. */
const spanLeast = 100;

export function makeState(trace) {
	const listeners = new Map(), margin = Math.max((trace.last - trace.first) * 0.01, 50);
	const state = {
		trace,
		all: { t0: trace.first - margin, t1: trace.last + margin },
		view: null,
		selected: -1,      /* an event */
		span: null,        /* {set, index} */
		mark: -1,          /* an event to measure from */
		range: null,       /* {t0, t1} */
		hits: null,        /* numbers of events that match; null: no search */
		hitTimes: null,    /* times of these events, by lane */
		query: '',
		fault: null,       /* what is wrong with the query, a Fault */
		searching: null,   /* progress, from 0 to 1 */
		sets: [],          /* of spans */
		theme: 'light',
		colours: palette('light'),
	};

	state.on = (topics, listener) => {
		for (const topic of topics.split(' '))
			listeners.set(topic, [...(listeners.get(topic) || []), listener]);
	};
	state.changed = (topic) => (listeners.get(topic) || []).forEach((listener) => listener());
	state.view = { ...state.all };

	state.show = (t0, t1) => {
		const most = state.all.t1 - state.all.t0, span = Math.min(Math.max(t1 - t0, spanLeast), most),
			middle = (t0 + t1) / 2;
		const from = Math.min(Math.max(middle - span / 2, state.all.t0), state.all.t1 - span);
		state.view = { t0: from, t1: from + span };
		state.changed('view');
	};
	state.zoom = (factor, at = (state.view.t0 + state.view.t1) / 2) => {
		const { t0, t1 } = state.view,
			span = Math.min(Math.max((t1 - t0) * factor, spanLeast), state.all.t1 - state.all.t0),
			share = (at - t0) / (t1 - t0);
		state.show(at - share * span, at - share * span + span);
	};
	state.pan = (by) => state.show(state.view.t0 + by, state.view.t1 + by);
	state.reveal = (from, to = from) => {
		const { t0, t1 } = state.view, span = t1 - t0;
		if (from >= t0 && to <= t1)
			return;
		if (to - from > span * 0.8)
			state.show(from - (to - from) * 0.1, to + (to - from) * 0.1);
		else
			state.show((from + to) / 2 - span / 2, (from + to) / 2 + span / 2);
	};
	state.select = (event, { reveal = true } = {}) => {
		state.selected = event;
		state.span = null;
		if (event >= 0 && reveal)
			state.reveal(trace.columns.time[event]);
		state.changed('select');
	};
	state.selectSpan = (set, index, { reveal = true } = {}) => {
		const event = set.first[index], from = set.starts[index];
		state.selected = event;
		state.span = { set, index };
		if (reveal)
			state.reveal(from, from + set.durations[index]);
		state.changed('select');
	};
	state.setMark = (event) => {
		state.mark = event;
		state.changed('select');
	};
	state.setRange = (range) => {
		state.range = range && { t0: Math.min(range.t0, range.t1), t1: Math.max(range.t0, range.t1) };
		state.changed('range');
	};
	state.setTheme = (theme) => {
		state.theme = theme;
		state.colours = palette(theme);
		state.changed('theme');
	};
	state.addSet = (definition) => {
		state.sets.push(measure(trace, definition));
		state.layOut();
		return state.sets[state.sets.length - 1];
	};
	/* Adds several sets. hides: whether a set is not shown at first. */
	state.addSets = (definitions, hides) => {
		for (const definition of definitions)
			state.sets.push({ ...measure(trace, definition), hidden: hides(definition) });
		state.layOut();
	};
	state.removeSet = (set) => {
		state.sets = state.sets.filter((each) => each !== set);
		if (state.span && state.span.set === set)
			state.span = null;
		state.layOut();
	};
	state.layOut = () => {
		layOut(trace, state.sets);
		state.changed('rows');
	};
	let search = 0;
	state.search = async (query) => {
		const mine = ++search;
		let hits = null, fault = null;
		state.query = query;
		try {
			hits = await find(trace, query, {
				stopped: () => mine !== search,
				progress: (share) => {
					state.searching = share;
					state.changed('searching');
				},
			});
		} catch (error) {
			if (!(error instanceof Fault))
				throw error;
			fault = error;
		}
		if (mine !== search)
			return;
		state.fault = fault;
		state.searching = null;
		state.hits = hits;
		state.hitTimes = hits && byLane(trace, hits);
		state.changed('searching');
		state.changed('search');
	};
	return state;
}
