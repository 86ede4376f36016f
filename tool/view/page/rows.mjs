/*
 * rows.mjs - the order and heights of the rows of the time line
 *
 * A process with several threads has a row with all of its events, and a row for each thread. A process with a
 * single thread has one row. The counters of a process have a row each, below its threads. States are a strip at the
 * bottom of the row of their thread, and samples a strip above it. Processors come last.
 *
 * SPDX-License-Identifier: MIT
 */

export const groupHeight = 26, sliceHeight = 18, marksHeight = 15, padding = 4, counterHeight = 40;
export const stripHeight = 9, processorHeight = 26;

/* Returns the height of the strip of states, with the space above it. */
export function stripOf(lane) {
	return lane.states ? stripHeight + 2 : 0;
}

/* Returns the height of the strip of samples, with the space above it. */
export function samplesOf(lane) {
	return lane.samples ? stripHeight + 2 : 0;
}

function laneHeight(lane) {
	return 2 * padding + lane.layers.length * sliceHeight + (lane.layers.length ? 3 : 0) + marksHeight +
		(lane.layers.length ? 0 : 4) + stripOf(lane) + samplesOf(lane);
}

export function makeRows(trace) {
	const rows = [];
	let top = 0;
	const add = (row) => {
		rows.push({ ...row, top });
		top += row.height;
	};
	for (const group of trace.groups) {
		const single = group.lanes.length === 1;
		if (single)
			add({ group, lane: group.lanes[0], single,
				height: Math.max(laneHeight(group.lanes[0]), groupHeight) });
		else
			add({ group, lane: null, single, height: groupHeight });
		if (!single && !group.collapsed)
			for (const lane of group.lanes)
				add({ group, lane, single, height: laneHeight(lane) });
		if (single || !group.collapsed)
			for (const counter of group.counters)
				add({ group, lane: null, counter, single, height: counterHeight });
	}
	if (trace.processors.length) {
		const group = { label: 'processors', lanes: [], processors: true, count: 0 };
		for (const processor of trace.processors)
			add({ group, lane: null, processor, single: false, height: processorHeight });
	}
	return { rows, height: top };
}

/* Returns the row at a height, or null if there is none. */
export function rowAt(layout, y) {
	let lo = 0, hi = layout.rows.length;
	while (lo < hi) {
		const middle = (lo + hi) >> 1;
		if (layout.rows[middle].top + layout.rows[middle].height <= y)
			lo = middle + 1;
		else
			hi = middle;
	}
	return lo < layout.rows.length && y >= layout.rows[lo].top ? layout.rows[lo] : null;
}

export function rowOfLane(layout, lane) {
	return layout.rows.find((row) => row.lane === lane) ||
		layout.rows.find((row) => row.group === lane.group && !row.lane && !row.counter);
}
