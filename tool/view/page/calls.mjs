/*
 * calls.mjs - the tree of calls of functions in a range of time, and what each function cost there
 *
 * The same rules as in tool/analysis/calls.h: "total" is with all that a function calls, and of recursive calls only
 * the outermost one counts; "self" is without.
 *
 * SPDX-License-Identifier: MIT
 */
import { spanText } from './spans.mjs';

/*
 * Returns the calls of a thread, [set, index] each, outer ones before inner ones. Where begins and ends are events,
 * their order tells which call is in which; whole spans have only their times.
 */
function ordered(calls) {
	return calls.sort(([a, i], [b, j]) => a.whole || b.whole ?
		a.starts[i] - b.starts[j] || b.durations[j] - a.durations[i] || b.first[j] - a.first[i] :
		a.first[i] - b.first[j]);
}

function within([a, i], [b, j]) {
	return a.whole || b.whole ? a.starts[i] + a.durations[i] <= b.starts[j] + b.durations[j] :
		a.last[i] < b.last[j];
}

function newNode(name, parent) {
	let recursive = false;
	for (let above = parent; above && !recursive; above = above.parent)
		recursive = above.name === name;
	return { name, key: name, parent, recursive, calls: 0, total: 0, self: 0, children: new Map(),
		get weight() {
			return this.total;
		} };
}

/* Adds the calls of a thread to the tree. */
function addThread(trace, root, calls, t0, t1) {
	const stack = [];
	for (const call of ordered(calls)) {
		const [set, index] = call, start = set.starts[index], end = start + set.durations[index];
		while (stack.length && !within(call, stack[stack.length - 1].call))
			stack.pop();
		const above = stack.length ? stack[stack.length - 1].node : root, name = spanText(trace, set, index);
		let node = above.children.get(name);
		if (!node)
			above.children.set(name, node = newNode(name, above));
		const time = Math.max(Math.min(end, t1) - Math.max(start, t0), 0);
		node.calls++;
		node.total += time;
		node.self += time;
		if (above !== root)
			above.self -= time;
		else
			root.total += time;
		stack.push({ call, node });
	}
}

/*
 * Returns the tree of the calls that are, or were partly, between two times: {root, functions, share(test)} as
 * stackTree() has it. lanes: which of them, or null for all.
 */
export function callTree(trace, sets, lanes, t0, t1) {
	const root = newNode(null, null), threads = new Map();
	for (const set of sets.filter((each) => each.calls))
		for (let i = 0; i < set.first.length; i++) {
			if (set.starts[i] > t1 || set.starts[i] + set.durations[i] < t0)
				continue;
			const shape = trace.columns.shape[set.first[i]], thread = trace.shapes.thread[shape];
			if (lanes && !lanes.has(trace.lanes[trace.laneOfShape[shape]]))
				continue;
			if (!threads.has(thread))
				threads.set(thread, []);
			threads.get(thread).push([set, i]);
		}
	for (const calls of threads.values())
		addThread(trace, root, calls, t0, t1);
	return { root, functions: functionsOf(root), share: (test) => shareOfCalls(root, test) };
}

/* Returns the time in the outermost functions for which test(name) is true. */
function shareOfCalls(root, test) {
	const waiting = [root];
	let time = 0;
	while (waiting.length)
		for (const node of waiting.pop().children.values())
			if (test(node.name))
				time += node.total;
			else
				waiting.push(node);
	return time;
}

/* Returns all nodes below a node, each before those below it, with depth: {node, depth}. */
export function* walk(root) {
	const below = (node) => [...node.children.values()].sort((a, b) => a.total - b.total);
	const waiting = below(root).map((node) => ({ node, depth: 0 }));
	/* Without recursion of this function, because that of the program may be deep. */
	while (waiting.length) {
		const next = waiting.pop();
		yield next;
		for (const node of below(next.node))
			waiting.push({ node, depth: next.depth + 1 });
	}
}

/* Returns {name, calls, total, self} of each function, those with the most time of their own first. */
export function functionsOf(root) {
	const functions = new Map();
	for (const { node } of walk(root)) {
		if (!functions.has(node.name))
			functions.set(node.name, { name: node.name, calls: 0, total: 0, self: 0 });
		const f = functions.get(node.name);
		f.calls += node.calls;
		f.self += node.self;
		f.total += node.recursive ? 0 : node.total;
	}
	return [...functions.values()].sort((a, b) => b.self - a.self);
}
