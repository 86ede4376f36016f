/*
 * searchbox.mjs - the search field, and the number of matches
 *
 * SPDX-License-Identifier: MIT
 */
import { byId } from './dom.mjs';
import { lowerBound } from './seek.mjs';
import { count } from './text.mjs';

export function makeSearchBox(state, table) {
	const field = byId('search'), said = byId('search-said'), next = byId('search-next'),
		before = byId('search-before');
	let waiting = 0;

	function paint() {
		const { hits, selected, fault } = state;
		field.classList.toggle('none', fault !== null || (hits !== null && hits.length === 0));
		said.title = fault ? fault.message : '';
		next.disabled = before.disabled = !hits || hits.length === 0;
		if (state.searching !== null)
			said.textContent = `${Math.round(state.searching * 100)} %`;
		else if (fault)
			said.textContent = `column ${fault.at + 1}: ${fault.message}`;
		else if (!hits)
			said.textContent = '';
		else {
			const at = selected >= 0 ? lowerBound(hits, selected) : -1;
			said.textContent = at >= 0 && hits[at] === selected ?
				`${count(at + 1)} of ${count(hits.length)}` : hits.length ?
				`${count(hits.length)} match` : 'none';
		}
	}

	/* Waits for a pause in typing. */
	field.addEventListener('input', () => {
		clearTimeout(waiting);
		waiting = setTimeout(() => state.search(field.value), 120);
	});
	field.addEventListener('keydown', (e) => {
		if (e.key === 'Escape') {
			e.preventDefault();
			if (field.value)
				state.wantSearch('');
			else
				byId('scroller').focus();
		} else if (e.key === 'Enter') {
			e.preventDefault();
			clearTimeout(waiting);
			if (state.query === field.value && state.searching === null)
				table.step(e.shiftKey ? -1 : 1);
			else
				state.search(field.value).then(() => state.hits && state.hits.length && table.step(1));
		}
	});
	next.addEventListener('click', () => table.step(1));
	before.addEventListener('click', () => table.step(-1));
	state.wantSearch = (query) => {
		clearTimeout(waiting);
		/* Replaces characters that separate words, or are not allowed in the field, by wildcards. */
		field.value = query.startsWith('name:') ? query.replace(/["\s\p{Cc}]/gu, '*') : query;
		return state.search(field.value);
	};
	state.on('search searching select', paint);
	paint();
}
