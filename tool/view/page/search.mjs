/*
 * search.mjs - finds the events that match a search
 *
 *     commit            in the name of the type, of the thread or process, or in the data; any case
 *     "two words"       the words together
 *     name:sql.*        the type's name, * for anything; also thread:, process:, data:, source:
 *     pid:71  tid:72    a number
 *     rows>3  time>=1ms a field of the data; = != < <= > >=; units of time where the field has one
 *     -word             not this
 *
 * All words have to match. What has an operator of expressions, such as && or ==, is an expression as in --where
 * (question.mjs). If the type and the thread alone decide, the result is calculated once for each shape. Only
 * if the data matter, events are examined one by one, some thousands at a time, so that the page stays responsive.
 *
 * SPDX-License-Identifier: MIT
 */
import { fieldValue, valueWords } from './fields.mjs';
import { askTrace, isExpression } from './question.mjs';
import { parseQuantity } from './time.mjs';
import { dataOf, summaryOf } from './trace.mjs';
import { formsTest } from './values.mjs';

export function splitWords(text) {
	return text.match(/-?[^\s"]*"[^"]*"?|\S+/g) || [];
}

function unquoted(text) {
	return text.replace(/"/g, '');
}

/* Returns a test: a pattern with * must match the whole text, other patterns a part of the text. */
function textTest(pattern) {
	const wanted = pattern.toLowerCase();
	if (!wanted.includes('*'))
		return (text) => text.toLowerCase().includes(wanted);
	const whole = formsTest(wanted.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\/]/g, '\\$&')));
	return (text) => whole(text.toLowerCase());
}

const comparisons = {
	'=': (a, b) => a === b, '!=': (a, b) => a !== b, '<': (a, b) => a < b, '<=': (a, b) => a <= b,
		'>': (a, b) => a > b, '>=': (a, b) => a >= b,
};
const unitFactors = new Map([['ns', 1], ['us', 1e3], ['µs', 1e3], ['ms', 1e6], ['s', 1e9]]);

/* Returns whether a value has this label, is true or false, or is the time in these words. */
function wordsTest(field, operator, wanted, value) {
	const all = Array.isArray(value) ? value : [value];
	const has = all.some((each) => typeof each === 'number' || typeof each === 'bigint' ?
		(valueWords(field, each) || '').split('|').includes(wanted) : false);
	return operator === '=' ? has : operator === '!=' ? !has : false;
}

function fieldTest(name, operator, wanted) {
	const compare = comparisons[operator], quantity = parseQuantity(wanted),
		literal = /^0x[0-9a-f]+$/i.test(wanted) ? Number(wanted) : quantity.value;
	return (field, value) => {
		if (typeof value === 'string')
			return operator === '=' || operator === '!=' ? compare(value, wanted) : false;
		if (Number.isNaN(literal))
			return wordsTest(field, operator, wanted, value);
		const factor = quantity.time ? unitFactors.get(field.unit) || 1 : 1;
		const all = Array.isArray(value) ? value : [value];
		return all.some((each) => (typeof each === 'number' || typeof each === 'bigint') &&
			compare(Number(each) * factor, literal));
	};
}

/*
 * Compiles one word: {shape(row): 0 no, 1 yes, 2 depends on the data; event(number): the result in case 2}.
 */
function compileWord(trace, word) {
	const { shapes, types, tables } = trace, not = word.length > 1 && word[0] === '-', body = not ? word.slice(1) :
		word;
	const threadOf = (row) => tables.threads[shapes.thread[row]],
		laneOf = (row) => trace.lanes[trace.laneOfShape[row]];
	const comparison = /^([^\s:<>=!"]+)(<=|>=|!=|=|<|>)(.+)$/.exec(body),
		key = /^(name|thread|process|data|source|pid|tid):(.*)$/i.exec(body);
	let shape, event = null;

	if (key) {
		const kind = key[1].toLowerCase(), wanted = unquoted(key[2]), test = textTest(wanted);
		shape = {
			name: (row) => test(types[shapes.type[row]].name),
			thread: (row) => test(laneOf(row).name),
			process: (row) => test(laneOf(row).group.label),
			pid: (row) => String(threadOf(row)[1]) === wanted,
			tid: (row) => String(threadOf(row)[2]) === wanted,
			source: (row) => shapes.place[row] > 0 && test(tables.places[shapes.place[row] - 1].text || ''),
			data: (row) => shapes.length[row] ? 2 : 0,
		}[kind];
		if (kind === 'data')
			event = (i) => test(summaryOf(trace, i));
	} else if (comparison) {
		const [, name, operator, wanted] = comparison, test = fieldTest(name, operator, unquoted(wanted));
		const fieldOf = types.map((type) => (type.fields || []).find((each) => each.name === name));
		shape = (row) => fieldOf[shapes.type[row]] ? 2 : 0;
		event = (i) => {
			const field = fieldOf[shapes.type[trace.columns.shape[i]]],
				value = fieldValue(types[shapes.type[trace.columns.shape[i]]], field, dataOf(trace, i),
					trace.little);
			return value !== null && test(field, value);
		};
	} else {
		const test = textTest(unquoted(body));
		shape = (row) => test(types[shapes.type[row]].name) || test(laneOf(row).label) ||
			test(laneOf(row).group.label) ? 1 : shapes.length[row] ? 2 : 0;
		event = (i) => test(summaryOf(trace, i));
	}
	return not ? { shape: (row) => [1, 0, 2][Number(shape(row))], event: event && ((i) => !event(i)) } :
		{ shape: (row) => Number(shape(row)), event };
}

/* Compiles a search. Returns null if everything matches. Throws a Fault if an expression is wrong. */
export function compile(trace, text) {
	if (isExpression(text))
		return askTrace(trace, text);
	const words = splitWords(text).map((word) => compileWord(trace, word));
	if (words.length === 0)
		return null;
	const verdict = new Uint8Array(trace.shapes.count), asked = [];
	for (let row = 0; row < verdict.length; row++) {
		const each = words.map((word) => word.shape(row));
		verdict[row] = each.includes(0) ? 0 : each.includes(2) ? 2 : 1;
		asked.push(verdict[row] === 2 ? words.filter((word, i) => each[i] === 2) : null);
	}
	return { verdict, matches: (i) => asked[trace.columns.shape[i]].every((word) => word.event(i)) };
}

const pause = () => new Promise((resolve) => setTimeout(resolve));

/*
 * Returns the numbers of all events that match, in order. Yields to the page every few milliseconds. Returns null if
 * stopped() says that the result is not needed any more.
 */
export async function find(trace, text, { progress = () => {}, stopped = () => false, sliceMs = 12 } = {}) {
	const query = compile(trace, text);
	if (!query)
		return null;
	const { verdict, matches } = query, { shape, count } = trace.columns;
	let found = new Uint32Array(1024), n = 0, due = performance.now() + sliceMs;
	for (let i = 0; i < count; i++) {
		const of = verdict[shape[i]];
		if (of === 1 || (of === 2 && matches(i))) {
			if (n === found.length) {
				const longer = new Uint32Array(2 * n);
				longer.set(found);
				found = longer;
			}
			found[n++] = i;
		}
		if ((i & 255) === 0 && performance.now() > due) {
			progress(i / count, n);
			await pause();
			if (stopped())
				return null;
			due = performance.now() + sliceMs;
		}
	}
	return found.slice(0, n);
}

/* Returns for each lane the indices of its matching events, among all events of the lane. */
export function byLane(trace, found) {
	const lists = trace.lanes.map(() => []);
	for (const event of found)
		lists[trace.laneOfShape[trace.columns.shape[event]]].push(trace.columns.time[event]);
	return lists.map((list) => Float64Array.from(list).sort());
}
