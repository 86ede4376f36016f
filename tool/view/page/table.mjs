/*
 * table.mjs - the table of events, which has elements for the visible rows only
 *
 * Browsers limit the height of elements; a table that is higher than scrollMost scrolls faster than its scroll bar.
 *
 * SPDX-License-Identifier: MIT
 */
import { byId, element, onceAFrame } from './dom.mjs';
import { lowerBound } from './seek.mjs';
import { shortened, visible } from './text.mjs';
import { seconds } from './time.mjs';
import { eventAt, laneOf, summaryOf, typeOf } from './trace.mjs';

const rowHeight = 22, scrollMost = 8e6;

export function makeTable(state) {
	const scroller = byId('table'), sheet = byId('table-sheet'), body = byId('table-body'),
		empty = byId('table-empty'), { trace } = state;

	const rows = () => state.hits ? state.hits.length : trace.count;
	const eventOf = (row) => state.hits ? state.hits[row] : row;
	const rowOf = (event) => {
		if (!state.hits)
			return event;
		const row = lowerBound(state.hits, event);
		return state.hits[row] === event ? row : -1;
	};
	const whole = () => rows() * rowHeight;
	/* Returns the factor from scroll position to position in the table; more than 1 if the table is too high. */
	const scrollFactor = () => {
		const view = scroller.clientHeight, bar = Math.min(whole(), scrollMost) - view;
		return bar > 0 && whole() > scrollMost ? (whole() - view) / bar : 1;
	};

	function line(row, top) {
		const event = eventOf(row), type = typeOf(trace, event), selected = event === state.selected,
			data = summaryOf(trace, event);
		const marks = `${selected ? ' selected' : ''}${event === state.mark ? ' marked' : ''}`;
		const node = element('div', { class: `line${marks}`, role: 'row', id: `row-${event}`,
			'aria-rowindex': row + 2, 'aria-selected': String(selected) },
		element('span', { role: 'gridcell', class: 'cell time' }, seconds(trace.columns.time[event])),
		element('span', { role: 'gridcell', class: 'cell thread' }, laneOf(trace, event).short),
		element('span', { role: 'gridcell', class: 'cell type' },
			element('i', { class: `dot hue-${type.hue}` }), visible(type.name)),
		element('span', { role: 'gridcell', class: 'cell data' }, visible(shortened(data, 300))));
		node.style.transform = `translateY(${top}px)`;
		node.dataset.event = event;
		return node;
	}

	const resize = () => {
		sheet.style.height = `${Math.min(whole(), scrollMost)}px`;
	};

	function paint() {
		const n = rows(), view = scroller.clientHeight, factor = scrollFactor(),
			at = scroller.scrollTop * factor;
		const first = Math.max(0, Math.floor(at / rowHeight) - 4),
			last = Math.min(n, Math.ceil((at + view) / rowHeight) + 4), lines = [];
		for (let row = first; row < last; row++)
			lines.push(line(row, row * rowHeight - at + scroller.scrollTop));
		body.replaceChildren(...lines);
		scroller.setAttribute('aria-rowcount', n + 1);
		const there = document.getElementById(`row-${state.selected}`);
		if (there)
			scroller.setAttribute('aria-activedescendant', there.id);
		else
			scroller.removeAttribute('aria-activedescendant');
		empty.hidden = n > 0;
		empty.textContent = trace.count === 0 ? 'There are no events in this page.' :
			'No event matches. Escape in the search field shows all again.';
	}
	const repaint = onceAFrame(paint);

	function scrollTo(row, middle) {
		const view = scroller.clientHeight, factor = scrollFactor(), at = scroller.scrollTop * factor,
			top = row * rowHeight;
		if (top >= at && top + rowHeight <= at + view)
			return;
		/*
		 * Browsers round, and if the factor is more than 1 a pixel of the bar is several pixels: scroll too
		 * far, if at all.
		 */
		scroller.scrollTop = middle ? (top - view / 2) / factor : top < at ? Math.floor(top / factor) :
			Math.ceil((top + rowHeight - view) / factor);
	}

	scroller.addEventListener('scroll', repaint);
	body.addEventListener('click', (e) => {
		const node = e.target.closest('.line');
		if (node)
			state.select(Number(node.dataset.event));
	});
	body.addEventListener('dblclick', (e) => {
		const node = e.target.closest('.line');
		if (!node)
			return;
		const t = trace.columns.time[Number(node.dataset.event)], span = (state.view.t1 - state.view.t0) / 10;
		state.show(t - span / 2, t + span / 2);
	});

	/* Returns the row that is a number of rows after the current one. */
	function step(by) {
		const n = rows();
		if (n === 0)
			return;
		let row = state.selected >= 0 ? rowOf(state.selected) : -1;
		if (row < 0) {
			/* Start at the visible part, or at a selected event that does not match. */
			const from = state.selected >= 0 ? state.selected : eventAt(trace, state.view.t0);
			row = (state.hits ? lowerBound(state.hits, from) : from) - (by > 0 ? 1 : 0);
		}
		state.select(eventOf(Math.min(Math.max(row + by, 0), n - 1)));
	}

	scroller.addEventListener('keydown', (e) => {
		const page = Math.max(1, Math.floor(scroller.clientHeight / rowHeight) - 1);
		const by = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity,
			End: Infinity }[e.key];
		if (by === undefined || e.ctrlKey || e.metaKey || e.altKey)
			return;
		e.preventDefault();
		e.stopPropagation();
		step(by);
	});

	new ResizeObserver(repaint).observe(scroller);
	state.on('theme', repaint);
	state.on('search', () => {
		resize();
		scroller.scrollTop = 0;
		if (state.selected >= 0 && rowOf(state.selected) >= 0)
			scrollTo(rowOf(state.selected), true);
		repaint();
	});
	state.on('select', () => {
		const row = state.selected >= 0 ? rowOf(state.selected) : -1;
		if (row >= 0)
			scrollTo(row, false);
		repaint();
	});
	resize();
	return { step };
}
