/*
 * stacks.mjs - the stacks of record --sample and --off-cpu: which functions ran, or waited, in a range of time
 *
 * The same rules as in tool/analysis/samples.h. A sample weighs 1. A time in which a thread did not run weighs its ns,
 * and belongs to the range in which it ended. It is divided into the time in which the thread was blocked, and the time
 * in which it was ready to run; the stacks of the two end with how the thread waited, such as [sleeping] and [ready].
 *
 * SPDX-License-Identifier: MIT
 */
import { hueCount, huesOfTexts } from './colours.mjs';
import { lowerBound } from './seek.mjs';
import { leaveOutMarks } from './trace.mjs';

/* Numbers of linux_off_stack.state in which a thread could run all the time, and the steps that they are. */
const statePreempted = 0, stateNew = 6;
const stateSteps = ['[preempted]', '[blocked]', '[sleeping]', '[disk]', '[stopped]', '[traced]', '[new]'];
/* Functions above a node that are looked at, for recursion. */
const recursionSearch = 1000;
const otherStep = '[other]', readyStep = '[ready]';

/* The nodes of all stacks. Node 0 is the root. */
class StackNodes {
	constructor(functions, block) {
		const view = block && new DataView(block.buffer, block.byteOffset, block.byteLength);
		this.functions = functions.map(([name, file, kernel]) => ({ name, file, kernel, step: false }));
		this.above = [0];
		this.function = [-1];
		this.steps = new Map();
		this.texts = new Map();
		for (let at = 0; block && at < block.length; at += 8) {
			this.above.push(view.getUint32(at, true));
			this.function.push(view.getUint32(at + 4, true));
		}
		this.recorded = this.above.length;
	}

	/* Returns the node of a step that is no function, below another node. */
	step(above, name) {
		const key = `${above} ${name}`;
		if (!this.steps.has(key)) {
			let number = this.functions.findIndex((each) => each.step && each.name === name);
			if (number < 0)
				number = this.functions.push({ name, file: '', kernel: true, step: true }) - 1;
			this.above.push(above);
			this.function.push(number);
			this.steps.set(key, this.above.length - 1);
		}
		return this.steps.get(key);
	}

	/* Computes what the sums need, when there are all nodes. */
	finish() {
		const { length } = this.above;
		this.above = Uint32Array.from(this.above);
		this.function = Int32Array.from(this.function);
		/* Lists of the nodes below each. */
		this.first = new Uint32Array(length);
		this.next = new Uint32Array(length);
		/* The innermost function of the program, or 0; whether the function is also above. */
		this.ofProgram = new Uint32Array(length);
		this.recursive = new Uint8Array(length);
		for (let node = 1; node < length; node++) {
			const above = this.above[node], called = this.function[node];
			this.next[node] = this.first[above];
			this.first[above] = node;
			this.ofProgram[node] = this.functions[called].kernel ? this.ofProgram[above] : node;
			for (let each = above, n = 0; each && n < recursionSearch && !this.recursive[node]; n++) {
				this.recursive[node] = this.function[each] === called ? 1 : 0;
				each = this.above[each];
			}
		}
	}

	/* Returns the functions of a stack, the innermost one first. */
	text(node) {
		if (!this.texts.has(node)) {
			const names = [];
			for (let each = node; each && each < this.above.length; each = this.above[each])
				names.push(this.functions[this.function[each]].name);
			this.texts.set(node, names.join(' ← ') || '(empty)');
		}
		return this.texts.get(node);
	}
}

/* Collects the events of a kind, in the order of time. */
function collectStacks(trace, types) {
	const { shape, time, offset, data, count } = trace.columns, isWanted = types.map(Boolean);
	const events = [], view = new DataView(data.buffer, data.byteOffset, data.byteLength);
	for (let i = 0; i < count; i++) {
		const type = trace.shapes.type[shape[i]];
		if (isWanted[type] && trace.shapes.length[shape[i]] >= types[type])
			events.push(i);
	}
	if (events.some((event, i) => i > 0 && time[event] < time[events[i - 1]]))
		events.sort((a, b) => time[a] - time[b] || a - b);
	return { count: events.length, event: Uint32Array.from(events), time: Float64Array.from(events, (i) => time[i]),
		lane: Uint32Array.from(events, (i) => trace.laneOfShape[shape[i]]),
		node: Uint32Array.from(events, (i) =>
			view.getUint32(offset[i] + types[trace.shapes.type[shape[i]]] - 4, trace.little)) };
}

/* Adds for how long threads were blocked and ready, and the nodes of both. */
function addTimes(trace, nodes, stacks) {
	const { offset, data } = trace.columns, { little } = trace, { count } = stacks,
		view = new DataView(data.buffer, data.byteOffset, data.byteLength);
	const long = (at) => view.getUint32(at + (little ? 4 : 0), little) * 2 ** 32 +
		view.getUint32(at + (little ? 0 : 4), little);
	Object.assign(stacks, { blocked: new Float64Array(count), ready: new Float64Array(count),
		blockedNode: new Uint32Array(count), readyNode: new Uint32Array(count) });
	for (let i = 0; i < count; i++) {
		const at = offset[stacks.event[i]], took = long(at), ready = Math.min(long(at + 8), took),
			state = view.getUint8(at + 16), step = stateSteps[state] ?? otherStep;
		const couldRun = state === statePreempted || state === stateNew;
		stacks.blocked[i] = took - ready;
		stacks.ready[i] = ready;
		if (took > ready)
			stacks.blockedNode[i] = nodes.step(stacks.node[i], step);
		if (ready)
			stacks.readyNode[i] = nodes.step(stacks.node[i], couldRun ? step : readyStep);
	}
}

/*
 * Gives the trace its stacks: {nodes, on, off, hueOf, period}, of samples and of times off the processor; null if there
 * are none. Gives each lane its `samples`, or null.
 */
export function makeStacks(trace, block) {
	const stackTypes = (kind) => trace.types.map((type) => type.stacks === kind ?
		type.fields.reduce((sum, field) => sum + field.size, 0) : 0);
	trace.stacks = null;
	for (const lane of trace.lanes)
		lane.samples = null;
	if (!trace.types.some((type) => type.stacks))
		return;
	const nodes = new StackNodes(trace.tables.functions, block), on = collectStacks(trace, stackTypes('on')),
		off = collectStacks(trace, stackTypes('off'));
	for (const stacks of [on, off])
		stacks.node = stacks.node.map((node) => node < nodes.recorded ? node : 0);
	addTimes(trace, nodes, off);
	nodes.finish();
	for (const type of trace.types.filter((each) => each.stacks))
		type.fields[type.fields.length - 1].stacks = nodes;
	trace.stacks = { nodes, on, off, hueOf: huesOfFunctions(nodes, on.count ? on : off), period: 0 };
	giveLanes(trace);
	trace.stacks.period = periodOf(trace);
}

/* Returns the hue of each function by its name. Those that are innermost most often have one of their own. */
function huesOfFunctions(nodes, stacks) {
	const weights = new Float64Array(nodes.functions.length);
	for (const node of stacks.node)
		for (let each = nodes.ofProgram[node], share = 1; each && share > 1e-4; share /= 10) {
			weights[nodes.function[each]] += share;
			each = nodes.above[each];
		}
	return huesOfTexts(Array.from(weights, (weight, i) => [nodes.functions[i].name, weight])
		.filter(([, weight]) => weight));
}

/* Gives each lane its samples: times, events, hues of the functions of the program. */
function giveLanes(trace) {
	const counts = new Uint32Array(trace.lanes.length), { nodes, on, hueOf } = trace.stacks;
	const hues = nodes.functions.map(({ name, kernel }) => kernel ? hueCount : hueOf(name));
	for (const lane of on.lane)
		counts[lane]++;
	trace.lanes.forEach((lane, i) => {
		if (counts[i])
			lane.samples = { count: 0, times: new Float64Array(counts[i]),
				events: new Uint32Array(counts[i]), hues: new Uint8Array(counts[i]) };
	});
	for (let i = 0; i < on.count; i++) {
		const { samples } = trace.lanes[on.lane[i]], node = nodes.ofProgram[on.node[i]];
		samples.times[samples.count] = on.time[i];
		samples.events[samples.count] = on.event[i];
		samples.hues[samples.count++] = node ? hues[nodes.function[node]] : hueCount;
	}
	leaveOutMarks(trace, trace.types.map((type) => type.stacks));
}

/* Returns the time between two samples of a thread that runs: not many are nearer to each other. */
function periodOf({ lanes }) {
	const steps = [];
	for (const { samples } of lanes)
		for (let i = 1; samples && i < samples.count && steps.length < 1e5; i++)
			steps.push(samples.times[i] - samples.times[i - 1]);
	return steps.sort((a, b) => a - b)[steps.length >> 2] || 1e6;
}

/* A node of the tree in a range of time. The nodes below it are made when they are asked for. */
class StackNode {
	constructor(sums, number, parent) {
		this.sums = sums;
		this.number = number;
		this.parent = parent;
		this.kept = null;
	}

	get called() {
		return this.sums.nodes.functions[this.sums.nodes.function[this.number]];
	}

	get key() {
		return this.sums.nodes.function[this.number];
	}

	get name() {
		return this.number ? this.called.name : null;
	}

	get total() {
		return this.sums.total[this.number];
	}

	get ready() {
		return this.sums.ready ? this.sums.ready[this.number] : 0;
	}

	get self() {
		return this.sums.self[this.number];
	}

	get weight() {
		return this.total + this.ready;
	}

	get children() {
		const { sums, number } = this, { nodes } = sums;
		if (!this.kept) {
			this.kept = new Map();
			for (let node = nodes.first[number]; node; node = nodes.next[node])
				if (sums.total[node] || (sums.ready && sums.ready[node]))
					this.kept.set(nodes.function[node], new StackNode(sums, node, this));
		}
		return this.kept;
	}
}

function sumUp(nodes, values) {
	for (let node = values.length - 1; node > 0; node--)
		values[nodes.above[node]] += values[node];
}

/* Returns {name, file, kernel, total, self, ready} of each function, those with the most time of their own first. */
function functionsOfSums(sums) {
	const { nodes } = sums, { functions } = nodes;
	const found = functions.map((each) => ({ ...each, total: 0, self: 0, ready: 0 }));
	for (let node = 1; node < sums.total.length; node++) {
		const f = found[nodes.function[node]];
		f.self += sums.self[node];
		if (nodes.recursive[node])
			continue;
		f.total += sums.total[node];
		f.ready += sums.ready ? sums.ready[node] : 0;
	}
	return found.filter((f) => f.total || f.self || f.ready)
		.sort((a, b) => b.self - a.self || b.total - a.total || b.ready - a.ready);
}

/*
 * Returns the tree of the stacks of a kind, 'on' or 'off', at or after one time and before another: {root, functions,
 * stacks: how many, share(test): weight of the outermost functions for which test(name) is true}. lanes: which of them,
 * or null for all. withReady: the times in which threads were ready to run count, too.
 */
export function stackTree(trace, kind, lanes, t0, t1, withReady = true) {
	const { nodes, [kind]: stacks } = trace.stacks, { length } = nodes.above, isOff = kind === 'off';
	const sums = { nodes, total: new Float64Array(length), self: new Float64Array(length),
		ready: isOff ? new Float64Array(length) : null };
	const wanted = lanes && Uint8Array.from(trace.lanes, (lane) => lanes.has(lane) ? 1 : 0);
	/* Whole ns, as --from and --to have them. */
	const from = lowerBound(stacks.time, Math.round(t0)), to = lowerBound(stacks.time, Math.round(t1));
	let found = 0;
	for (let i = from; i < to; i++) {
		if (wanted && !wanted[stacks.lane[i]])
			continue;
		const node = stacks.node[i];
		found++;
		if (!isOff) {
			sums.total[node]++;
			sums.self[node]++;
			continue;
		}
		sums.total[stacks.blockedNode[i]] += stacks.blocked[i];
		sums.ready[stacks.readyNode[i]] += withReady ? stacks.ready[i] : 0;
		sums.self[nodes.ofProgram[node] || node] += stacks.blocked[i];
	}
	sumUp(nodes, sums.total);
	if (isOff)
		sumUp(nodes, sums.ready);
	return { root: new StackNode(sums, 0, null), functions: functionsOfSums(sums), stacks: found,
		share: (test) => shareOf(sums, test) };
}

function shareOf(sums, test) {
	const { nodes } = sums, hits = nodes.functions.map(({ name }) => test(name)),
		hit = new Uint8Array(nodes.above.length);
	let weight = 0;
	for (let node = 1; node < hit.length; node++) {
		const above = hit[nodes.above[node]];
		hit[node] = above || hits[nodes.function[node]] ? 1 : 0;
		if (hit[node] && !above)
			weight += sums.total[node] + (sums.ready ? sums.ready[node] : 0);
	}
	return weight;
}
