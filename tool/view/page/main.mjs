/*
 * main.mjs - loads the trace and assembles the parts of the page
 *
 * SPDX-License-Identifier: MIT
 */
import { byId, element } from './dom.mjs';
import { load } from './load.mjs';
import { chooseHues, palette } from './colours.mjs';
import { makeCounters } from './counters.mjs';
import { makeState } from './state.mjs';
import { makeStates } from './states.mjs';
import { stackTree } from './stacks.mjs';
import { makeTimeline } from './timeline.mjs';
import { makeOverview } from './overview.mjs';
import { makeTable } from './table.mjs';
import { makeDetails } from './details.mjs';
import { makeSpanList } from './spanlist.mjs';
import { makeFlames } from './flames.mjs';
import { lossFacts, makeLists } from './about.mjs';
import { makeSearchBox } from './searchbox.mjs';
import { makeKeys } from './keys.mjs';
import { count, plural, visible } from './text.mjs';
import { duration } from './time.mjs';

/* -- Light and dark ------------------------------------------------------------------------------------- */

const themes = ['system', 'light', 'dark'], remembered = 'posixtrace-theme';

function makeTheme(state) {
	const button = byId('theme'), system = matchMedia('(prefers-color-scheme: dark)');
	let choice = 'system';
	try {
		choice = themes.includes(localStorage.getItem(remembered)) ? localStorage.getItem(remembered) :
			'system';
	} catch { /* some browsers have no storage for files */ }
	function apply() {
		const theme = choice === 'system' ? (system.matches ? 'dark' : 'light') : choice,
			colours = palette(theme);
		document.documentElement.dataset.theme = theme;
		colours.hues.forEach((colour, i) => document.documentElement.style.setProperty(`--hue-${i}`, colour));
		button.textContent = { system: '◐', light: '☀', dark: '☾' }[choice];
		button.setAttribute('aria-label', `Colours: ${choice === 'system' ? 'as the system' : choice}`);
		button.title = `Colours: ${choice === 'system' ? 'as the system has them' : choice} (t)`;
		state.setTheme(theme);
	}
	function next() {
		choice = themes[(themes.indexOf(choice) + 1) % themes.length];
		try {
			localStorage.setItem(remembered, choice);
		} catch { /* as above */ }
		apply();
	}
	system.addEventListener('change', apply);
	button.addEventListener('click', next);
	apply();
	return next;
}

/* -- Tabs --------------------------------------------------------------------------------------------------- */

function makeTabs(onShow) {
	const tabs = [...document.querySelectorAll('[role=tab]')];
	function show(index, focus = false) {
		if (tabs[index].hidden)
			return;
		tabs.forEach((tab, i) => {
			tab.setAttribute('aria-selected', String(i === index));
			tab.tabIndex = i === index ? 0 : -1;
			byId(tab.getAttribute('aria-controls')).hidden = i !== index;
		});
		if (focus)
			tabs[index].focus();
		onShow(index);
	}
	tabs.forEach((tab, i) => {
		tab.addEventListener('click', () => show(i));
		tab.addEventListener('keydown', (e) => {
			const by = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
			if (!by)
				return;
			e.preventDefault();
			e.stopPropagation();
			let next = i;
			do
				next = (next + by + tabs.length) % tabs.length;
			while (tabs[next].hidden);
			show(next, true);
		});
	});
	return { show };
}

/* -- Sizes of the parts ------------------------------------------------------------------------- */

function makeSplitter() {
	const splitter = byId('splitter'), stage = byId('stage');
	let width = 0;
	function set(pixels) {
		width = Math.round(Math.min(Math.max(pixels, 280), window.innerWidth - 420));
		stage.style.setProperty('--side', `${width}px`);
		splitter.setAttribute('aria-valuenow', width);
	}
	splitter.addEventListener('pointerdown', (e) => {
		splitter.setPointerCapture(e.pointerId);
		const move = (each) => set(window.innerWidth - each.clientX - 3);
		splitter.addEventListener('pointermove', move);
		splitter.addEventListener('lostpointercapture', () => splitter.removeEventListener('pointermove', move),
			{ once: true });
	});
	splitter.addEventListener('keydown', (e) => {
		const by = { ArrowLeft: 24, ArrowRight: -24 }[e.key];
		if (!by)
			return;
		e.preventDefault();
		e.stopPropagation();
		set((width || byId('side').clientWidth) + by);
	});
}

/* -- The head of the page ----------------------------------------------------------------------------------- */

function fillHead(trace) {
	const { tables } = trace, losses = lossFacts(trace);
	const processes = trace.groups.filter((group) => !group.system),
		threads = processes.reduce((sum, group) => sum + group.lanes.length, 0);
	const title = visible(tables.title), host = visible(tables.logs[0].about.host);
	document.title = `${title} – posixtrace`;
	byId('title').textContent = title;
	byId('title').title = tables.logs.map((log) => visible(log.about.file)).join('\n');
	byId('facts').replaceChildren(...[
		[plural(trace.count, 'event'), ''], [duration(trace.last - trace.first), ''],
			[plural(processes.length, 'process', 'processes'), ''], [plural(threads, 'thread'), ''],
		host ? [`on ${host}`, ''] : null,
		...losses,
	].filter(Boolean).map(([text, kind]) => element('span', { class: `fact ${kind}` }, text)));
	if (tables.wanted > tables.events) {
		byId('partial').hidden = false;
		byId('partial').textContent = `Only the ${tables.last ? 'last' : 'first'} ${count(tables.events)} ` +
			`of ${count(tables.wanted)} events are in this page: ` +
			'posixtrace view has --from, --to and -e to choose others, and --limit for more.';
	}
}

/* -- Beginning ------------------------------------------------------------------------------------------------ */

async function begin() {
	const started = performance.now(), bar = byId('loading-bar');
	const trace = await load((share) => {
		bar.style.width = `${Math.round(share * 100)}%`;
	});
	const loaded = performance.now();
	chooseHues(trace.types);
	makeCounters(trace);
	const hasStates = makeStates(trace), state = makeState(trace);
	/* What the strips of states show need not be slices, too. */
	state.addSets(trace.tables.spans, ({ whole, name }) => hasStates && whole &&
		(name === 'linux_run' || name === 'linux_off'));
	fillHead(trace);
	byId('loading').hidden = true;
	byId('app').hidden = false;
	const toggleTheme = makeTheme(state);
	const table = makeTable(state);
	makeSearchBox(state, table);
	const timeline = makeTimeline(state);
	makeOverview(state);
	makeDetails(state);
	const spanList = makeSpanList(state);
	makeLists(state);
	const flames = { 4: makeFlames(state, 'calls'), 5: makeFlames(state, 'on'), 6: makeFlames(state, 'off') };
	const tabs = makeTabs((index) => {
		if (index === 1)
			spanList.shown();
		for (const [tab, show] of Object.entries(flames))
			show(Number(tab) === index);
	});
	makeSplitter();
	makeKeys(state, { timeline, table, tabs, toggleTheme });
	byId('empty').hidden = trace.count > 0;
	/* For the console, and for tests. */
	window.posixtrace = { trace, state, timeline, table, flames, stackTree,
		times: { load: loaded - started, all: performance.now() - started } };
}

begin().catch((error) => {
	byId('loading').hidden = false;
	byId('loading').textContent = `This page cannot be shown: ${error.message}. ` +
		'A newer browser may be able to, or the file is not whole.';
	throw error;
});
