/*
 * flames.mjs - flame graphs of calls, of samples and of times off the processor, in the selected range or what is shown
 *
 * SPDX-License-Identifier: MIT
 */
import { byId, element, onceAFrame } from './dom.mjs';
import { callTree } from './calls.mjs';
import { stackTree } from './stacks.mjs';
import { huesOfTexts } from './colours.mjs';
import { count, plural, visible } from './text.mjs';
import { duration, exactDuration } from './time.mjs';
import { hideTip, placeTip } from './tip.mjs';

const flameHeight = 19, functionsShown = 50, lanesShown = 1000;
/* More of them appear when one of the last is clicked. */
const flameRows = 150;
/* Narrower parts, as a share of the width, are not drawn. */
const leastShare = 0.002;

const percent = (part, all) => `${(100 * part / (all || 1)).toFixed(1)} %`;

/* What the graphs differ in. lanes: those that have something to show. */
const kinds = {
	calls: {
		tab: 'calls',
		what: 'Calls',
		lanes: ({ trace, sets }) => {
			const found = new Set();
			for (const set of sets.filter((each) => each.calls))
				for (const event of set.first)
					found.add(trace.lanes[trace.laneOfShape[trace.columns.shape[event]]]);
			return found;
		},
		tree: ({ trace, sets }, lanes, t0, t1) => callTree(trace, sets, lanes, t0, t1),
		sum: ({ total }) => exactDuration(total),
		tip: (node, all) => [`total ${exactDuration(node.total)}, ${percent(node.total, all)}`,
			`self ${exactDuration(node.self)}, ${percent(node.self, all)}`, plural(node.calls, 'call')],
		columns: ['calls', 'total', 'self'],
		cells: (f) => [count(f.calls), duration(f.total), duration(f.self)],
	},
	on: {
		tab: 'samples',
		what: 'Samples',
		lanes: ({ trace }) => new Set(trace.stacks ?
			Array.from(new Set(trace.stacks.on.lane), (lane) => trace.lanes[lane]) : []),
		tree: ({ trace }, lanes, t0, t1) => stackTree(trace, 'on', lanes, t0, t1),
		hueOf: ({ trace }) => trace.stacks.hueOf,
		sum: ({ total }) => plural(total, 'sample'),
		tip: (node, all) => [`total ${plural(node.total, 'sample')}, ${percent(node.total, all)}`,
			`self ${plural(node.self, 'sample')}, ${percent(node.self, all)}`],
		columns: ['self', '%', 'total', '%'],
		cells: (f, all) => [count(f.self), percent(f.self, all), count(f.total), percent(f.total, all)],
	},
	off: {
		tab: 'waits',
		what: 'Whole times off the processor that ended',
		lanes: ({ trace }) => new Set(trace.stacks ?
			Array.from(new Set(trace.stacks.off.lane), (lane) => trace.lanes[lane]) : []),
		tree: ({ trace }, lanes, t0, t1, withReady) => stackTree(trace, 'off', lanes, t0, t1, withReady),
		choice: 'also ready to run',
		hueOf: ({ trace }) => trace.stacks.hueOf,
		sum: ({ total, ready }) => `${duration(total)} blocked` +
			(ready ? `, ${duration(ready)} ready to run` : ''),
		tip: (node, all) => [`${exactDuration(node.weight)}, ${percent(node.weight, all)}`,
			`blocked ${exactDuration(node.total)}, ready to run ${exactDuration(node.ready)}`,
			node.self ? `blocked in it itself ${exactDuration(node.self)}` : ''],
		columns: ['self', 'total', 'ready'],
		cells: (f) => [duration(f.self), duration(f.total), duration(f.ready)],
	},
};

/* Makes the select element with the threads. Returns it, and a function for the set of lanes, null for all. */
function makeChooser(trace, lanes, changed) {
	const groups = trace.groups.filter((group) => group.lanes.some((lane) => lanes.has(lane)));
	const choices = [null];
	const option = (text, of) => {
		choices.push(new Set(of));
		return element('option', { value: choices.length - 1 }, text);
	};
	const options = groups.flatMap((group) => {
		const own = group.lanes.filter((lane) => lanes.has(lane));
		const threads = own.slice(0, lanesShown).map((lane) => option(`\u2003${lane.label}`, [lane]));
		return own.length === 1 && group.lanes.length === 1 ? [option(group.label, own)] :
			[option(`${group.label}, all threads`, own), ...threads];
	});
	const node = element('select', { 'aria-label': 'Threads', onchange: changed },
		element('option', { value: 0 }, 'All threads'), ...options);
	return { node: lanes.size > 1 ? node : null, chosen: () => choices[Number(node.value)] };
}

/* Makes the graph of a kind in its tab. Returns a function that tells the graph whether its tab is shown. */
export function makeFlames(state, kindName) {
	const kind = kinds[kindName], panel = byId(`panel-${kind.tab}`), { trace } = state, lanes = kind.lanes(state);
	/* Keys from the outermost function to the one that fills the width, and to the one that has the focus. */
	let path = [], focused = null, open = false, wanted = '';

	byId(`tab-${kind.tab}`).hidden = lanes.size === 0;
	if (lanes.size === 0)
		return () => {};

	const soon = onceAFrame(paint), said = element('span', { class: 'said', role: 'status' });
	const chooser = makeChooser(trace, lanes, soon);
	const field = element('input', { type: 'search', placeholder: 'Find a function', spellcheck: 'false',
		'aria-label': 'Find a function', oninput: () => {
			wanted = field.value.trim().toLowerCase();
			soon();
		} });
	const box = kind.choice ? element('input', { type: 'checkbox', checked: true, onchange: soon }) : null;
	const choice = box && element('label', { title: 'The time in which the thread could have run, because it was ' +
		'preempted, or woken and not yet running' }, box, ` ${kind.choice}`);
	const hint = element('p', { class: 'hint' }), graphBox = element('div', {}), tableBox = element('section', {});
	panel.replaceChildren(element('section', {},
		element('div', { class: 'flame-tools' }, chooser.node, field, choice, said), hint, graphBox), tableBox);

	const isWanted = (name) => name !== null && name.toLowerCase().includes(wanted);

	/* Returns the node at the path, or the deepest one that is there. */
	function shownNode(root) {
		let node = root;
		for (const key of path)
			node = node.children.get(key) ?? node;
		return node;
	}

	function zoom(keys) {
		path = keys;
		focused = keys;
		paint();
	}

	function bar(node, keys, { left, width, row, all, colour }) {
		const { colours } = state, { name, called = {} } = node, text = visible(name);
		const where = called.step ? 'kind of waiting' : called.kernel ? 'kernel' : visible(called.file ?? '');
		const lines = [text, ...kind.tip(node, all), where].filter(Boolean);
		const looks = [called.kernel ? ' kernel' : '', called.step ? ' step' : '',
			wanted ? isWanted(name) ? ' found' : ' other' : ''].join('');
		const made = element('button', { type: 'button', class: `flame${looks}`, tabindex: -1,
			'aria-label': lines.join(', '), onclick: () => zoom(keys),
			onpointermove: (e) => placeTip(lines, e.clientX, e.clientY), onpointerleave: hideTip,
			onfocus: () => {
				focused = keys;
				const box = made.getBoundingClientRect();
				if (made.matches(':focus-visible'))
					placeTip(lines, box.left, box.bottom - 14);
			}, onblur: hideTip }, text);
		Object.assign(made.style, { left: `${100 * left}%`, width: `${100 * width}%`,
			top: `${row * flameHeight}px`, color: colours.sliceText,
			background: called.kernel ? colours.strong : colours.fills[colour(name)] });
		Object.assign(made.dataset, { path: keys.join(' '), row });
		return made;
	}

	function graph({ root, functions }) {
		const shown = shownNode(root), above = [], box = element('div', { class: 'flames', role: 'group',
			'aria-label': 'Flame graph. Arrow keys move, Enter shows one function, Escape all.' });
		const colour = kind.hueOf?.(state) ??
			huesOfTexts(functions.slice(0, 100).map(({ name, self }) => [name, self]));
		const all = root.weight;
		let rows = 0;
		for (let node = shown; node !== root; node = node.parent)
			above.unshift(node);
		const keysTo = (node) => above.slice(0, above.indexOf(node) + 1).map((each) => each.key);
		above.forEach((node, row) =>
			box.append(bar(node, keysTo(node), { left: 0, width: 1, row, all, colour })));
		/* Without recursion of this function, because that of the program may be deep. */
		const waiting = [{ node: shown, keys: above.map((node) => node.key), left: 0, width: 1,
			row: above.length }];
		while (waiting.length) {
			const { node, keys, left, width, row } = waiting.pop();
			let at = left;
			if (row - above.length === flameRows)
				continue;
			for (const child of [...node.children.values()].sort((a, b) => b.weight - a.weight)) {
				const share = width * child.weight / Math.max(node.weight, 1);
				const to = [...keys, child.key];
				if (share < leastShare)
					break;
				box.append(bar(child, to, { left: at, width: share, row, all, colour }));
				rows = Math.max(rows, row + 1);
				waiting.push({ node: child, keys: to, left: at, width: share, row: row + 1 });
				at += share;
			}
		}
		box.style.height = `${Math.max(rows, above.length) * flameHeight}px`;
		return box;
	}

	/* Gives one bar a place in the order of Tab, and the focus if it had it. */
	function restoreFocus(box, hadFocus) {
		const bars = [...box.children], key = focused?.join(' ');
		const at = bars.find((each) => each.dataset.path === key) ?? bars[0];
		if (!at)
			return;
		at.tabIndex = 0;
		if (hadFocus)
			at.focus({ preventScroll: true });
	}

	/* Returns the bar that an arrow key leads to. */
	function neighbour(bars, from, key) {
		const row = Number(from.dataset.row), left = parseFloat(from.style.left);
		const inRow = (n) => bars.filter((each) => Number(each.dataset.row) === n)
			.sort((a, b) => parseFloat(a.style.left) - parseFloat(b.style.left));
		if (key === 'ArrowUp')
			return inRow(row - 1).filter((each) => parseFloat(each.style.left) <= left + 1e-6).pop();
		if (key === 'ArrowDown')
			return inRow(row + 1).find((each) => each.dataset.path.startsWith(`${from.dataset.path} `));
		const own = inRow(row);
		return own[own.indexOf(from) + (key === 'ArrowRight' ? 1 : -1)];
	}

	graphBox.addEventListener('keydown', (e) => {
		const from = e.target.closest('.flame');
		if (!from || e.ctrlKey || e.metaKey || e.altKey)
			return;
		if (e.key === 'Escape' && path.length) {
			zoom([]);
		} else if (/^Arrow/.test(e.key)) {
			const to = neighbour([...from.parentElement.children], from, e.key);
			if (to) {
				from.tabIndex = -1;
				to.tabIndex = 0;
				to.focus();
			}
		} else {
			return;
		}
		e.preventDefault();
		e.stopPropagation();
	});

	function table(functions, all) {
		const line = (cells, tag) => element('tr', {}, ...cells.map((cell) => element(tag, {}, cell)));
		const shown = functions.filter((f) => !wanted || isWanted(f.name));
		return [element('table', { class: 'functions' },
			element('thead', {}, line([...kind.columns, 'function'], 'th')),
			element('tbody', {}, ...shown.slice(0, functionsShown).map((f) => {
				const made = line([...kind.cells(f, all), visible(f.name)], 'td');
				made.classList.toggle('kernel', Boolean(f.kernel));
				return made;
			}))),
		shown.length > functionsShown ? element('p', { class: 'hint' },
			`and ${plural(shown.length - functionsShown, 'other function')}`) : null].filter(Boolean);
	}

	function paint() {
		if (!open)
			return;
		const { t0, t1 } = state.range || state.view,
			tree = kind.tree(state, chooser.chosen(), t0, t1, box?.checked),
			{ root, functions } = tree, all = root.weight,
			hadFocus = graphBox.contains(document.activeElement);
		hideTip();
		hint.replaceChildren(...[`${kind.what} in the ${state.range ? 'selected range' :
			'time that is shown; drag with Shift to select a range'}: ${kind.sum(root)}. `,
		functions.some((f) => f.kernel) ? element('span', { class: 'flame-key' }, 'grey: the kernel') : null,
		path.length ? element('button', { type: 'button', class: 'small', onclick: () => zoom([]) },
			'Show all') : null].filter(Boolean));
		said.textContent = wanted ? `${percent(tree.share(isWanted), all)} found` : '';
		const made = root.children.size ? graph(tree) :
			element('p', { class: 'hint' }, 'There is nothing here.');
		graphBox.replaceChildren(made);
		if (root.children.size)
			restoreFocus(made, hadFocus);
		tableBox.replaceChildren(...table(functions, all));
	}

	state.on('view range rows theme', soon);
	return (is) => {
		open = is;
		hideTip();
		paint();
	};
}
