/*
 * question.mjs - an expression, compiled for each event type of the trace
 *
 * What the names of an expression mean depends on the type: docs/expressions.md. A compiled value is an operand, a
 * compiled condition a truth, or a function of a reader (of one event) that returns a truth.
 *
 * SPDX-License-Identifier: MIT
 */
import { eachNode, Fault, parseExpression } from './expression.mjs';
import { fieldReader, isArray, isText, locate, textBytes } from './fields.mjs';
import { dataOf, truncated, typeOf } from './trace.mjs';
import { calculate, falseTruth, mirrored, negated, nonzero, patternTest, relate, textOfBytes, textValue, trueTruth,
	truthOf, unitOf, unknown } from './values.mjs';

/* -- One event ------------------------------------------------------------------------------------- */

/* Reads the values of an event. One reader serves all events, one after the other. */
class Reader {
	constructor(trace) {
		this.trace = trace;
		this.event = 0;
		this.bytes = null;
		this.places = null;
	}

	move(event) {
		this.event = event;
		this.bytes = this.places = null;
		return this;
	}

	shape() {
		return this.trace.columns.shape[this.event];
	}

	/* Returns where a field is: {at, size}; undefined if the event does not have it. */
	place(index) {
		if (!this.places) {
			this.bytes = dataOf(this.trace, this.event);
			this.places = locate(typeOf(this.trace, this.event), this.bytes, this.trace.little).places;
		}
		return this.places[index];
	}
}

const baseOf = (path) => path.slice(path.lastIndexOf('/') + 1);

function processName(trace, [log, pid]) {
	const paths = trace.tables.logs[log].processes.filter(([each]) => each === pid);
	return paths.length ? textValue(baseOf(paths[paths.length - 1][1])) : null;
}

/* What every event has: its value by a reader, and what its unit measures. */
const builtins = {
	event: { text: true },
	pid: { ofThread: ([, pid]) => BigInt(pid) },
	tid: { ofThread: ([, , tid]) => BigInt(tid) },
	process: { text: true, ofThread: (thread, trace) => processName(trace, thread) },
	thread: { text: true, ofThread: ([, , tid, name]) => tid ? textValue(name) : null },
	time: { dimension: 'time', get: (reader) => BigInt(Math.round(reader.trace.columns.time[reader.event])) },
	length: { dimension: 'size', get: (reader) => BigInt(reader.trace.shapes.whole[reader.shape()]) },
	address: { get: (reader) => {
		const place = reader.trace.shapes.place[reader.shape()];
		return place ? BigInt(reader.trace.tables.places[place - 1].address) : 0n;
	} },
	truncated: { get: (reader) => reader.trace.shapes.flags[reader.shape()] & truncated ? 1n : 0n },
};

/* Returns a function that reads an entry of the table. What is the same for all events of a thread is kept. */
function builtinReader({ ofThread, get }) {
	const kept = new Map();
	return get || ((reader) => {
		const row = reader.trace.shapes.thread[reader.shape()];
		if (!kept.has(row))
			kept.set(row, ofThread(reader.trace.tables.threads[row], reader.trace));
		return kept.get(row);
	});
}

/* -- Times as texts -------------------------------------------------------------------------------- */

const durationUnits = new Map([['', 1000000000n], ['s', 1000000000n], ['ms', 1000000n], ['us', 1000n], ['ns', 1n],
	['m', 60000000000n], ['min', 60000000000n], ['h', 3600000000000n]]);
const timeLast = (1n << 64n) - 1n, durationEnd = 9n * 10n ** 18n;
const dateForm = /^(?:(\d{4})-(\d\d)-(\d\d)(?:[ T](?=.)|$))?(?:(\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?(Z)?)?$/;

/* Returns a time since 1970 in ns: a local date or time of day, or a duration after the beginning; null if wrong. */
function parseMoment(text, begin) {
	const after = /^(?=\.?\d)(\d*)\.?(\d*) *([a-z]*)$/.exec(text);
	if (after && durationUnits.has(after[3])) {
		const divisor = 10n ** BigInt(after[2].length);
		const product = BigInt(after[1] + after[2]) * durationUnits.get(after[3]);
		const size = (2n * product + divisor) / (2n * divisor);
		return size >= durationEnd ? null : begin + size < timeLast ? begin + size : timeLast;
	}
	const match = dateForm.exec(text);
	if (!match || !text)
		return null;
	const [, year, month, day, hour = 0, minute = 0, second = 0, fraction = '', utc] = match;
	const date = new Date(Number(begin / 1000000n)), last = new Date(2000, month, 0).getDate();
	if (hour > 23 || minute > 59 || second > 60 || (utc && !year))
		return null;
	if (year) {
		date.setFullYear(year, month - 1, day);
		if (month < 1 || month > 12 || day < 1 || day > last || date.getDate() !== Number(day))
			return null;
	}
	if (utc)
		date.setTime(Date.UTC(year, month - 1, day, hour, minute, second));
	else
		date.setHours(hour, minute, second, 0);
	const time = BigInt(date.getTime()) * 1000000n + BigInt(fraction.slice(0, 9).padEnd(9, '0'));
	return time < 0n ? 0n : time < timeLast ? time : timeLast;
}

/* -- Compiling ------------------------------------------------------------------------------------- */

const noOperand = { kind: 'none' }, badOperand = { kind: 'bad' };

/* Makes the value of an expression, or its truth, for one event type. */
class Compiler {
	constructor(trace, type) {
		this.trace = trace;
		this.type = type;
		this.fields = type.fields || [];
	}

	bad(node, why) {
		node.why = why;
		return badOperand;
	}

	constant(value, dimension = '', scale = 1n) {
		return { kind: typeof value === 'string' ? 'text' : 'number', constant: true, value, dimension, scale,
			get: () => value };
	}

	/* Returns the index of the field that a node is, or -1. */
	fieldOf(node) {
		return node.kind !== 'name' || node.own ? -1 :
			this.fields.findIndex((each) => each.name === node.value);
	}

	builtinOf(node) {
		return node.kind === 'name' && node.item === null && !node.quoted && (node.own || !node.declared) &&
			Object.hasOwn(builtins, node.value) ? builtins[node.value] : null;
	}

	/* Returns what the other operand of a comparison is, which may give a word its meaning. */
	beside(node) {
		const field = this.fieldOf(node), builtin = this.builtinOf(node);
		return field >= 0 ? { field: this.fields[field] } :
			{ words: Boolean(builtin && builtin.text), missing: node.kind === 'name' && !builtin };
	}

	/* -- Operands -- */

	labelOf(field, name) {
		const label = field && field.naming ? field.labels.find(([, each]) => each === name) : null;
		return label ? this.constant(BigInt(label[0])) : null;
	}

	fieldOperand(node, index) {
		const field = this.fields[index], array = isArray(field);
		node.found = true;
		if (field.kind === 'bytes')
			return this.bad(node, 'it is bytes, for which there is only exists()');
		if (node.item !== null && (!array || isText(field)))
			return this.bad(node, 'it is not an array, and has no items');
		node.good = true;
		if (isText(field))
			return { kind: 'text', get: (reader) => {
				const place = reader.place(index);
				return place ? textOfBytes(textBytes(field, place, reader.bytes)) : null;
			} };
		const unit = unitOf(field.unit || (field.kind === 'time' ? field.size === 4 ? 's' : 'ns' : ''));
		const read = fieldReader(field, this.trace.little), offset = (node.item || 0) * field.size;
		return { kind: 'number', array: array && node.item === null, index, ...unit, get: (reader) => {
			const place = reader.place(index), there = place && offset + field.size <= place.size;
			return there ? read(reader.bytes, place.at + offset) : null;
		} };
	}

	nameOperand(node, other) {
		const label = node.item === null && !node.own ? this.labelOf(other.field, node.value) : null;
		const index = this.fieldOf(node), builtin = this.builtinOf(node);
		const word = other.words && !node.own && node.item === null;
		if (label || (index < 0 && (builtin || word)))
			node.found = node.good = true;
		if (label)
			return label;
		if (index >= 0)
			return this.fieldOperand(node, index);
		if (builtin && node.value === 'event')
			return this.constant(textValue(this.type.name));
		if (builtin)
			return { kind: builtin.text ? 'text' : 'number', dimension: builtin.dimension || '', scale: 1n,
				get: builtinReader(builtin) };
		return word ? this.constant(textValue(node.value)) : noOperand;
	}

	/* Returns a text, or the value that it means beside a field with labels, or beside a time. */
	textOperand(node, other) {
		if (other.field && other.field.naming) {
			const label = this.labelOf(other.field, node.value);
			if (label)
				node.found = node.good = true;
			return label || noOperand;
		}
		if (other.missing)
			return noOperand;
		node.found = true;
		if (other.field && other.field.kind === 'time') {
			const time = parseMoment(node.value, this.trace.begin);
			if (time === null)
				return this.bad(node, 'it is not a time, such as 14:30:05 or 2026-11-21 14:30');
			node.good = true;
			return this.constant(time, 'time');
		}
		node.good = true;
		return this.constant(textValue(node.value));
	}

	operand(node, other = {}) {
		switch (node.kind) {
		case 'number':
			return this.constant(node.value, node.dimension);
		case 'text':
			return this.textOperand(node, other);
		case 'name':
			return this.nameOperand(node, other);
		case 'negate':
			return this.negation(node);
		case 'calculation':
			return this.calculation(node);
		default:
			/* Its names may have a meaning. */
			this.condition(node);
			node.good = false;
			return this.bad(node, 'a condition is not a number');
		}
	}

	/* -- Units and calculations -- */

	/* Returns factors by which two numbers become numbers of one unit, and that unit; or why there are none. */
	convert(a, b) {
		const unit = a.dimension ? a : b, without = a.dimension ? b : a;
		if (a.dimension && b.dimension) {
			if (a.dimension !== b.dimension)
				return { why: 'a time and a size do not go together' };
			let scale = a.scale, rest = b.scale;
			while (rest)
				[scale, rest] = [rest, scale % rest];
			return { factors: [a.scale / scale, b.scale / scale], dimension: unit.dimension, scale };
		}
		if (unit.constant && !without.constant && unit.dimension === 'time')
			return { why: 'a number without a unit and a duration do not go together' };
		return { factors: [1n, 1n], dimension: unit.dimension, scale: unit.scale };
	}

	calculationUnits(operation, a, b) {
		const plain = { factors: [1n, 1n], dimension: '', scale: 1n }, of = (unit) => ({ ...plain,
			dimension: unit.dimension, scale: unit.scale });
		if (operation === '&')
			return a.dimension || b.dimension ? { why: 'a number with a unit has no bits' } : plain;
		if (operation === '*')
			return a.dimension && b.dimension ? { why: 'two numbers with units are multiplied' } :
				of(a.dimension ? a : b);
		if (operation === '/' && !b.dimension)
			return of(a);
		if (operation === '/' && !a.dimension)
			return { why: 'a number without a unit is divided by one with a unit' };
		const converted = this.convert(a, b);
		return operation === '/' && !converted.why ? { ...plain, factors: converted.factors } : converted;
	}

	/* Returns the operand if it is one number; otherwise what the calculation becomes. */
	numberOperand(node, of, other) {
		const operand = this.operand(of, other);
		return operand.kind === 'text' ? this.bad(node, 'a text is not a number') :
			operand.array ? this.bad(node, 'an array needs an index, NAME[0]') : operand;
	}

	calculation(node) {
		const { operation, left, right } = node, bits = operation === '&';
		const a = this.numberOperand(node, left, bits ? this.beside(right) : {}),
			b = this.numberOperand(node, right, bits ? this.beside(left) : {});
		if (a === badOperand || b === badOperand)
			return badOperand;
		if (a === noOperand || b === noOperand)
			return noOperand;
		const { why, factors, dimension, scale } = this.calculationUnits(operation, a, b);
		if (why)
			return this.bad(node, why);
		if (a.constant && b.constant) {
			const value = calculate(operation, a.value, b.value, factors);
			if (value === null)
				return this.bad(node, 'there is no result, or one of more than 64 bits');
			node.good = true;
			return this.constant(value, dimension, scale);
		}
		node.good = true;
		return { kind: 'number', dimension, scale,
			get: (reader) => calculate(operation, a.get(reader), b.get(reader), factors) };
	}

	negation(node) {
		const a = this.numberOperand(node, node.left);
		if (a.kind !== 'number')
			return a;
		node.good = true;
		return a.constant ? this.constant(negated(a.value), a.dimension, a.scale) :
			{ ...a, get: (reader) => negated(a.get(reader)), index: undefined };
	}

	/* -- Conditions -- */

	/* Returns a function that finds the greatest truth of an array's items, with the value of another operand. */
	anyItem({ index }, other, test) {
		const field = this.fields[index], read = fieldReader(field, this.trace.little);
		return (reader) => {
			const place = reader.place(index), value = other.get(reader);
			if (!place || place.size < field.size)
				return unknown;
			let most = falseTruth;
			for (let at = 0; at + field.size <= place.size && most !== trueTruth; at += field.size)
				most = Math.max(most, test(read(reader.bytes, place.at + at), value));
			return most;
		};
	}

	comparison(node) {
		const { operation, left, right } = node;
		const a = this.operand(left, this.beside(right)), b = this.operand(right, this.beside(left));
		if ([a, b].includes(noOperand) || [a, b].includes(badOperand))
			return unknown;
		const numbers = a.kind === 'number' && b.kind === 'number', has = operation === 'has';
		const converted = numbers && !has ? this.convert(a, b) : { factors: [1n, 1n] };
		const why = a.array && b.array ? 'two arrays are compared; one of them needs an index' :
			has && (!numbers || b.array) ? 'has is followed by bits of the number before it' :
				a.kind !== b.kind ? 'a text is compared with a number' : converted.why;
		if (why) {
			this.bad(node, why);
			return unknown;
		}
		node.good = true;
		const { factors } = converted, exchanged = [factors[1], factors[0]], mirror = mirrored(operation);
		if (a.constant && b.constant)
			return relate(operation, a.value, b.value, factors);
		if (a.array)
			return this.anyItem(a, b, (item, value) => relate(operation, item, value, factors));
		if (b.array)
			return this.anyItem(b, a, (item, value) => relate(mirror, item, value, exchanged));
		return (reader) => relate(operation, a.get(reader), b.get(reader), factors);
	}

	match(node) {
		const a = this.operand(node.left);
		node.right.found = node.right.good = true;
		if (a.kind === 'number')
			this.bad(node, 'a number is compared with a pattern');
		if (a.kind !== 'text')
			return unknown;
		node.good = true;
		const test = patternTest(node.right.value);
		const truth = (text) => text === null ? unknown : truthOf(test(text) !== node.negative);
		return a.constant ? truth(a.value) : (reader) => truth(a.get(reader));
	}

	existence(node) {
		const name = node.left, index = this.fieldOf(name), field = this.fields[index];
		node.good = true;
		if (!field) {
			const there = this.builtinOf(name) !== null;
			name.found = name.found || there;
			return truthOf(there);
		}
		name.found = name.good = true;
		if (name.item !== null && (!isArray(field) || isText(field)))
			return falseTruth;
		return (reader) => {
			const place = reader.place(index);
			return truthOf(place !== undefined &&
				(name.item === null || (name.item + 1) * field.size <= place.size));
		};
	}

	/* Both operands are compiled in any case, because this finds out what their names mean. */
	junction(node, decisive) {
		const left = this.condition(node.left), right = this.condition(node.right);
		const together = decisive === falseTruth ? Math.min : Math.max;
		if (left === decisive || right === decisive)
			return decisive;
		if (typeof left === 'number' && typeof right === 'number')
			return together(left, right);
		const [first, second] = [left, right].map((each) => typeof each === 'number' ? () => each : each);
		return (reader) => {
			const truth = first(reader);
			return truth === decisive ? truth : together(truth, second(reader));
		};
	}

	numberCondition(node) {
		/* It may be good in another event type. */
		const { good } = node, a = this.operand(node);
		if (a.kind === 'text') {
			this.bad(node, 'a text is not a condition: compare it, NAME == "text" or NAME ~ "pattern"');
			node.good = good;
		}
		if (a.kind !== 'number')
			return unknown;
		node.good = true;
		if (a.constant)
			return nonzero(a.value);
		return a.array ? this.anyItem(a, this.constant(0n), nonzero) : (reader) => nonzero(a.get(reader));
	}

	condition(node) {
		switch (node.kind) {
		case 'or':
			return this.junction(node, trueTruth);
		case 'and':
			return this.junction(node, falseTruth);
		case 'not': {
			const truth = this.condition(node.left);
			return typeof truth === 'number' ? trueTruth - truth : (reader) => trueTruth - truth(reader);
		}
		case 'relation':
			return this.comparison(node);
		case 'match':
			return this.match(node);
		case 'exists':
			return this.existence(node);
		default:
			return this.numberCondition(node);
		}
	}
}

/* -- All event types ------------------------------------------------------------------------------- */

const namesShown = 12;

/* Returns all names of fields, and of labels of fields that are compared, for a message. */
function namesOf(trace) {
	const fields = new Set(trace.types.flatMap((type) => (type.fields || []).map((field) => field.name)));
	const shown = [...fields].sort().slice(0, namesShown).join(', ');
	return fields.size > namesShown ? `${shown} and ${fields.size - namesShown} more` : shown;
}

/* Throws a Fault for a name or a text without a meaning, or a calculation without a sense, in all event types. */
function complainIfNothing(trace, root) {
	const nodes = [];
	eachNode(root, (node) => nodes.push(node));
	/* Texts last: a text beside a name without a meaning has none either. */
	for (const kind of ['name', 'text']) {
		const lost = nodes.find((node) => node.kind === kind && !node.found);
		const names = lost ? namesOf(trace) : '';
		if (lost && lost.own)
			throw new Fault(lost.at, `'@${lost.value}' is none of @` +
				Object.keys(builtins).join(', @').replace(/, (?=@\w+$)/, ' and '));
		if (lost)
			throw new Fault(lost.at, `no event type has a field or label '${lost.value}'; ` +
				(names ? `there are ${names}` : 'no event type has declared fields'));
	}
	const senseless = nodes.find((node) => node.why && !node.good);
	if (senseless)
		throw new Fault(senseless.at, senseless.why);
}

/*
 * Compiles a condition for all events: {verdict: for each shape 0 no, 1 yes, 2 depends on the event, matches(event):
 * the result in case 2}. Throws a Fault.
 */
export function askTrace(trace, text) {
	const root = parseExpression(text), reader = new Reader(trace);
	const declared = new Set(trace.types.flatMap((type) => (type.fields || []).map((field) => field.name)));
	eachNode(root, (node) => {
		node.declared = node.kind === 'name' && declared.has(node.value);
	});
	const truths = trace.types.map((type) => new Compiler(trace, type).condition(root));
	if (truths.length)
		complainIfNothing(trace, root);
	const verdict = Uint8Array.from(trace.shapes.type.subarray(0, trace.shapes.count), (type) =>
		typeof truths[type] === 'number' ? Number(truths[type] === trueTruth) : 2);
	return { verdict, matches: (event) =>
		truths[trace.shapes.type[trace.columns.shape[event]]](reader.move(event)) === trueTruth };
}

const conditions = new Set(['and', 'or', 'not', 'relation', 'match', 'exists']);

/* Returns whether a search is an expression, or has an operator that only expressions have. */
export function isExpression(text) {
	const bare = text.replace(/"[^"]*"?/g, '""');
	if (/&&|\|\||==|!~|~|^\s*[!(]|\bexists\s*\(|\s(?:[<>]=?|!=|in|has)(?:\s|$)/.test(bare))
		return true;
	/* Several words, and one that is excluded, are no expression. */
	if (/\s|^-/.test(text.trim()))
		return false;
	try {
		return conditions.has(parseExpression(text).kind);
	} catch {
		return false;
	}
}
