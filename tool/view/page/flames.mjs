/*
 * flames.mjs - the tab of calls: a flame graph of the selected range, or of what is shown, and the functions in it
 *
 * SPDX-License-Identifier: MIT
 */
import { byId, element, onceAFrame } from './dom.mjs';
import { callTree, functionsOf } from './calls.mjs';
import { huesOfTexts } from './colours.mjs';
import { count, plural, visible } from './text.mjs';
import { duration, exactDuration } from './time.mjs';

const flameHeight = 19, functionsShown = 50;
/* More of them appear when one of the last is clicked. */
const flameRows = 150;
/* Narrower parts, as a share of the width, are not drawn. */
const leastShare = 0.002;

export function makeFlames(state) {
	const panel = byId('panel-calls');
	/* Names from the outermost function to the one that fills the width. */
	let path = [], open = false;

	function times() {
		return state.range || state.view;
	}

	/* Returns the node at the path, or the deepest one that is there. */
	function shownNode(root) {
		let node = root;
		for (const name of path)
			node = node.children.get(name) ?? node;
		return node;
	}

	function bar(node, names, left, width, row, colour) {
		const { colours } = state, text = visible(node.name);
		const made = element('button', { type: 'button', class: 'flame', title: `${text}\n` +
			`total ${exactDuration(node.total)}, self ${exactDuration(node.self)}, ` +
			`${plural(node.calls, 'call')}`, onclick: () => {
			path = names;
			paint();
		} }, text);
		Object.assign(made.style, { left: `${100 * left}%`, width: `${100 * width}%`,
			top: `${row * flameHeight}px`, background: colours.fills[colour(node.name)],
			color: colours.sliceText });
		return made;
	}

	function graph(root) {
		const shown = shownNode(root), box = element('div', { class: 'flames' }), above = [];
		const colour = huesOfTexts(functionsOf(shown).slice(0, 100).map(({ name, self }) => [name, self]));
		let rows = 0;
		for (let node = shown; node !== root; node = node.parent)
			above.unshift(node);
		const namesTo = (node) => above.slice(0, above.indexOf(node) + 1).map((each) => each.name);
		above.forEach((node, row) => box.append(bar(node, namesTo(node), 0, 1, row, colour)));
		/* Without recursion of this function, because that of the program may be deep. */
		const waiting = [{ node: shown, names: above.map((node) => node.name), left: 0, width: 1,
			row: above.length }];
		while (waiting.length) {
			const { node, names, left, width, row } = waiting.pop();
			let at = left;
			if (row - above.length === flameRows)
				continue;
			for (const child of [...node.children.values()].sort((a, b) => b.total - a.total)) {
				const share = width * child.total / Math.max(node.total, 1);
				const to = [...names, child.name];
				if (share < leastShare)
					break;
				box.append(bar(child, to, at, share, row, colour));
				rows = Math.max(rows, row + 1);
				waiting.push({ node: child, names: to, left: at, width: share, row: row + 1 });
				at += share;
			}
		}
		box.style.height = `${Math.max(rows, above.length) * flameHeight}px`;
		return box;
	}

	function table(root) {
		const functions = functionsOf(root), line = (cells, tag) => element('tr', {},
			...cells.map((cell) => element(tag, {}, cell)));
		return element('table', { class: 'functions' },
			element('thead', {}, line(['calls', 'total', 'self', 'function'], 'th')),
			element('tbody', {}, ...functions.slice(0, functionsShown).map((f) => line([count(f.calls),
				duration(f.total), duration(f.self), visible(f.name)], 'td'))));
	}

	function paint() {
		if (!open)
			return;
		const { t0, t1 } = times(), root = callTree(state.trace, state.sets, t0, t1);
		panel.replaceChildren(element('section', {},
			element('p', { class: 'hint' }, state.range ? 'Calls in the selected range. ' :
				'Calls in the time that is shown; drag with Shift to select a range. ',
			path.length ? element('button', { type: 'button', class: 'small', onclick: () => {
				path = [];
				paint();
			} }, 'Show all') : null),
			root.children.size ? graph(root) : element('p', { class: 'hint' }, 'There are no calls.')),
		element('section', {}, table(root)));
	}

	const soon = onceAFrame(paint);
	state.on('view range rows theme', soon);
	byId('tab-calls').hidden = !state.sets.some((set) => set.calls && set.first.length);
	return { shown: (is) => {
		open = is;
		paint();
	} };
}
