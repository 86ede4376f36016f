/*
 * about.mjs - the lists of event types, of threads, and of the properties of each log
 *
 * SPDX-License-Identifier: MIT
 */
import { byId, element } from './dom.mjs';
import { bytes, count, plural, visible } from './text.mjs';
import { absolute, duration } from './time.mjs';

function bar(share, hue) {
	const node = element('span', { class: `bar hue-${hue}`, 'aria-hidden': 'true' });
	node.style.width = `${Math.max(share * 100, 0.5)}%`;
	return node;
}

function typeList(state) {
	const types = state.trace.types.filter((type) => type.count).sort((a, b) => b.count - a.count),
		most = types.length ? types[0].count : 1;
	return element('section', {}, element('h2', {}, element('span', { class: 'what' }, 'Event types'),
		element('span', { class: 'number' }, count(types.length))),
		element('ul', { class: 'counts' },
			...types.map((type) => element('li', {},
			element('button', { type: 'button', title: 'Only these',
			onclick: () => state.wantSearch(`name:${type.name}`) },
			element('span', { class: 'row' }, element('i', { class: `dot hue-${type.hue}` }),
				element('span', { class: 'what' }, visible(type.name)),
				element('span', { class: 'more' }, bytes(type.bytes)),
					element('span', { class: 'number' }, count(type.count))),
			element('span', { class: 'row' }, bar(type.count / most, type.hue)))))));
}

function laneList(state) {
	const ours = state.trace.lanes.filter((lane) => !lane.group.system);
	const lanes = ours.sort((a, b) => b.count - a.count).slice(0, 200), most = lanes.length ? lanes[0].count : 1;
	return element('section', {}, element('h2', {}, element('span', { class: 'what' }, 'Threads'),
		element('span', { class: 'number' }, count(lanes.length))),
		element('ul', { class: 'counts' },
			...lanes.map((lane) => element('li', {},
			element('button', { type: 'button', title: 'Only these',
			onclick: () => state.wantSearch(`tid:${lane.tid}`) },
			element('span', { class: 'row' }, element('span', { class: 'what' }, lane.label),
				element('span', { class: 'more' }, lane.group.label),
				element('span', { class: 'number' }, count(lane.count))),
			element('span', { class: 'row' }, bar(lane.count / most, 0)))))));
}

/* Returns the total duration of all gaps, which may overlap. */
function timeOf(gaps) {
	let sum = 0, reached = -Infinity;
	for (const [from, until] of [...gaps].sort((a, b) => a[0] - b[0])) {
		const end = until ?? from;
		sum += Math.max(0, end - Math.max(from, reached));
		reached = Math.max(reached, end);
	}
	return sum;
}

/* Returns what the page says about missing events: texts, each with its class. */
export function lossFacts(trace) {
	const { logs } = trace.tables, sum = (of) => logs.reduce((n, { about }) => n + of(about), 0);
	const loop = (about) => about.log_policy === 'LOOP', gaps = trace.gaps.length,
		lost = sum((about) => about.lost + about.unwritten + about.missing +
			(loop(about) ? 0 : about.discarded)),
		overwritten = sum((about) => about.overwritten);
	const facts = lost || gaps ? [[lost ? `${plural(lost, 'event')} lost` : plural(gaps, 'gap'), 'bad']] : [];
	if (overwritten)
		facts.push([`${plural(overwritten, 'older event')} overwritten`, '']);
	else if (logs.some(({ about }) => about.overwritten_some))
		facts.push(['older events overwritten', '']);
	if (!facts.length)
		facts.push(logs.every(({ about }) => about.ended) ? ['nothing lost', 'good'] : ['no loss known', '']);
	return facts;
}

function logPart(trace, log) {
	const { about } = log, rows = [
		['recorded', absolute(BigInt(log.created), 0)],
		['program', visible(about.name || '(without a name)'), `process ${about.target}`],
		['machine', visible(about.host), visible(`Linux ${about.kernel}, ${about.machine}`)],
		['events', count(about.events), about.complete ? 'complete' : about.unwritten ?
			'incomplete: not all of it could be written' : 'not closed: cut off, or still being written'],
		about.lost ? ['lost', plural(about.lost, 'event')] : null,
		about.unwritten ? ['not written', plural(about.unwritten, 'event')] : null,
		about.discarded ? ['discarded', plural(about.discarded, 'event'), 'overwritten, or behind the end'] :
			null,
		about.overwritten_some && !about.discarded ? ['overwritten', 'older events',
			'how many is unknown'] : null,
		about.missing ? ['damaged', plural(about.missing, 'event')] : null,
		about.truncated ? ['cut', `the data of ${plural(about.truncated, 'event')}`] : null,
		log.gaps.length ? ['gaps', count(log.gaps.length), `${duration(timeOf(log.gaps))} in all`] : null,
	].filter(Boolean);
	return element('section', {}, element('h2', {}, element('span', { class: 'what' }, visible(about.file))),
		element('dl', { class: 'facts' },
			...rows.flatMap(([name, value, more]) => [element('dt', {}, name),
			element('dd', {}, value, more ? element('span', { class: 'more' }, ` ${more}`) : null)])));
}

export function makeLists(state) {
	byId('panel-types').replaceChildren(typeList(state), laneList(state));
	byId('panel-logs').replaceChildren(...state.trace.tables.logs.map((log) => logPart(state.trace, log)),
		element('p', { class: 'hint' }, `Made by posixtrace ${visible(state.trace.tables.version)}. ` +
			'Everything is in this file; it asks no network for anything.'));
}
