/*
 * expression.mjs - an expression about the fields of events, as a tree
 *
 * The language of --where: docs/expressions.md, with the same messages. A node is {kind, at} with its operands:
 *
 *     or and         left, right               exists       left, a name
 *     not negate     left                      number       value, dimension
 *     relation       operation, left, right    text         value
 *     calculation    operation, left, right    name         value, own (after @), quoted, item (null: no index)
 *     match          left, right, negative
 *
 * SPDX-License-Identifier: MIT
 */
import { fitsInteger, unitOf } from './values.mjs';

const textMost = 4095, nodesMost = 256, nestedMost = 32, costMost = 2048;

/* What is wrong with an expression, and where. */
export class Fault extends Error {
	constructor(at, why) {
		super(why);
		this.at = at;
	}
}

const wordHere = /[\p{L}_\u0080-\u{10ffff}][\p{L}_\u0080-\u{10ffff}0-9.]*/uy,
	decimalHere = /(\d+)(?:\.(\d+))?(e[-+]?\d+)?/y, hexadecimalHere = /0[xX]([0-9a-fA-F]+)/y,
	blanksHere = /[ \n\t]*/y;

/* Returns the match of a sticky pattern at a position, or null. */
function matchAt(pattern, text, at) {
	pattern.lastIndex = at;
	return pattern.exec(text);
}

class Parser {
	constructor(text) {
		this.text = text;
		this.at = 0;
		this.depth = 0;
		this.count = 0;
		this.skip();
	}

	skip() {
		this.at += matchAt(blanksHere, this.text, this.at)[0].length;
	}

	/* Returns whether this is here, and moves beyond it. */
	take(operator) {
		if (!this.text.startsWith(operator, this.at))
			return false;
		this.at += operator.length;
		this.skip();
		return true;
	}

	word() {
		const match = matchAt(wordHere, this.text, this.at);
		return match ? match[0] : '';
	}

	takeWord(word) {
		return this.word() === word && this.take(word);
	}

	/* Returns what is here, for a message. */
	token() {
		const rest = this.text.slice(this.at);
		return (/^(?:\d[\w.]*|&&|\|\|)/.exec(rest) || [this.word() || [...rest][0] || ''])[0];
	}

	node(kind, at, members) {
		const cost = 1 + (members.left ? members.left.cost : 0) + (members.right ? members.right.cost : 0);
		if (++this.count >= nodesMost || cost > costMost)
			throw new Fault(at, 'the expression has too many operations');
		return { kind, at, cost, ...members };
	}

	/* -- Operands -- */

	number() {
		const at = this.at, hexadecimal = matchAt(hexadecimalHere, this.text, at);
		const decimal = hexadecimal || matchAt(decimalHere, this.text, at);
		const [all, whole, fraction = '', exponent] = decimal;
		const divisor = 10n ** BigInt(hexadecimal ? 0 : fraction.length);
		const digits = BigInt(hexadecimal ? all : whole + fraction);
		if (!fitsInteger(digits) && (hexadecimal || (!fraction && !exponent)))
			throw new Fault(at, 'the number has more than 64 bits');
		this.at += all.length;
		const name = this.word(), unit = unitOf(name);
		if (name && !unit.dimension)
			throw new Fault(this.at,
				`'${name}' is not a unit: ns, us, ms, s, min, h, B, KiB, MiB, GiB, kB, MB, GB`);
		this.at += name.length;
		this.skip();
		const scaled = digits * unit.scale, exact = !exponent && fitsInteger(digits) && fitsInteger(divisor) &&
			fitsInteger(scaled) && (unit.dimension || divisor === 1n) && scaled % divisor === 0n;
		const real = (hexadecimal ? Number(digits) : Number(all)) * Number(unit.scale);
		return this.node('number', at, { dimension: unit.dimension, value: exact ? scaled / divisor : real });
	}

	quoted() {
		const at = this.at, quote = this.text[at];
		let value = '', i = at + 1;
		for (; i < this.text.length && this.text[i] !== quote; i++) {
			if (this.text[i] === '\\' && i + 1 < this.text.length)
				i++;
			value += this.text[i];
		}
		if (i >= this.text.length)
			throw new Fault(at, `the text has no closing ${quote}`);
		this.at = i + 1;
		this.skip();
		return this.node('text', at, { value });
	}

	name() {
		const at = this.at, own = this.text[at] === '@', quoted = this.text[at] === '`';
		let value;
		if (quoted) {
			const end = this.text.indexOf('`', at + 1);
			if (end === at + 1 || end < 0)
				throw new Fault(at, end < 0 && at + 1 < this.text.length ? 'the name has no closing `' :
					'the name is empty');
			value = this.text.slice(at + 1, end);
			this.at = end + 1;
		} else {
			this.at += own ? 1 : 0;
			value = this.word();
			if (!value)
				throw new Fault(at, 'a name is missing after @');
			this.at += value.length;
		}
		this.skip();
		const item = this.text[this.at] === '[' ? this.item() : null;
		return this.node('name', at, { value, own, quoted, item });
	}

	item() {
		const match = matchAt(/\[(\d+)\]/y, this.text, this.at);
		if (!match || Number(match[1]) > 65535)
			throw new Fault(this.at, 'an item of an array is NAME[NUMBER]' +
				(/\d/.test(this.text[this.at + 1] || '') ? ', up to 65535' : ''));
		this.at += match[0].length;
		this.skip();
		return Number(match[1]);
	}

	existence() {
		const at = this.at;
		this.takeWord('exists');
		if (!this.take('(') || !(this.word() || /[`@]/.test(this.text[this.at] || '')))
			throw new Fault(at, 'it must be followed by a name in parentheses');
		const left = this.name();
		if (!this.take(')'))
			throw new Fault(this.at, 'exists(NAME) ends here with )');
		return this.node('exists', at, { left });
	}

	parentheses(at) {
		if (this.depth === nestedMost)
			throw new Fault(at, `there are more than ${nestedMost} parentheses inside each other`);
		this.depth++;
		const node = this.disjunction();
		this.depth--;
		if (!this.take(')'))
			throw new Fault(at, 'the parenthesis is not closed');
		return node;
	}

	factor() {
		const at = this.at, word = this.word(), character = this.text[at] || '';
		if (this.take('-'))
			return this.node('negate', at, { left: this.factor() });
		if (this.take('('))
			return this.parentheses(at);
		if (word === 'exists')
			return this.existence();
		if (word === 'true' || word === 'false') {
			this.take(word);
			return this.node('number', at, { value: word === 'true' ? 1n : 0n, dimension: '' });
		}
		if (/\d/.test(character))
			return this.number();
		if (character === '"' || character === "'")
			return this.quoted();
		if (word === 'in' || word === 'has' || !(word || /[`@]/.test(character)))
			throw new Fault(at, character ? `'${this.token()}' is not a name, a number or a text` :
				'a name, a number or a text is missing at the end');
		return this.name();
	}

	/* -- Operations -- */

	product() {
		const at = this.at;
		let left = this.factor();
		for (;;) {
			const operation = '*/%&'.includes(this.text[this.at] || ' ') ? this.text[this.at] : '';
			if (!operation || this.text.startsWith('&&', this.at))
				return left;
			this.take(operation);
			left = this.node('calculation', at, { operation, left, right: this.factor() });
		}
	}

	sum() {
		const at = this.at;
		let left = this.product();
		while (this.text[this.at] === '+' || this.text[this.at] === '-') {
			const operation = this.text[this.at];
			this.take(operation);
			left = this.node('calculation', at, { operation, left, right: this.product() });
		}
		return left;
	}

	pattern(at, left, negative) {
		if (this.text[this.at] !== '"' && this.text[this.at] !== "'")
			throw new Fault(this.at, 'a pattern is a text in quotation marks, such as "sql.*"');
		return this.node('match', at, { left, right: this.quoted(), negative });
	}

	/* Parses (A, B): the same as left == A || left == B. */
	list(at, left) {
		const open = this.at;
		let all = null;
		if (!this.take('('))
			throw new Fault(open, 'in is followed by a list in parentheses: in (1, 2)');
		do {
			const one = this.node('relation', at, { operation: '==', left, right: this.sum() });
			all = all ? this.node('or', at, { left: all, right: one }) : one;
		} while (this.take(','));
		if (!this.take(')'))
			throw new Fault(open, 'the parenthesis is not closed');
		return all;
	}

	/* Returns the relation that was here, or ''. */
	relation() {
		return ['==', '!=', '<=', '<', '>=', '>'].find((each) => this.take(each)) ||
			(this.takeWord('has') ? 'has' : '');
	}

	comparison() {
		const at = this.at, left = this.sum();
		if (this.take('!~'))
			return this.pattern(at, left, true);
		if (this.take('~'))
			return this.pattern(at, left, false);
		if (this.takeWord('in'))
			return this.list(at, left);
		const operation = this.relation();
		if (!operation) {
			if (this.text[this.at] === '=')
				throw new Fault(this.at, 'values are compared with ==');
			return left;
		}
		const node = this.node('relation', at, { operation, left, right: this.sum() }), next = this.at;
		if (this.relation())
			throw new Fault(next, 'comparisons do not follow each other: use a < b && b < c');
		return node;
	}

	negation() {
		const at = this.at;
		if (this.text[at] === '!' && !/[=~]/.test(this.text[at + 1] || '')) {
			this.take('!');
			return this.node('not', at, { left: this.negation() });
		}
		return this.comparison();
	}

	conjunction() {
		const at = this.at;
		let left = this.negation();
		while (this.take('&&'))
			left = this.node('and', at, { left, right: this.negation() });
		return left;
	}

	disjunction() {
		const at = this.at;
		let left = this.conjunction();
		while (this.take('||'))
			left = this.node('or', at, { left, right: this.conjunction() });
		return left;
	}

	whole() {
		const root = this.disjunction(), word = this.word();
		if (this.at < this.text.length)
			throw new Fault(this.at, `'${this.token()}' cannot follow here` + (word === 'and' ? '; use &&' :
				word === 'or' || this.text[this.at] === '|' ? '; use ||' : ''));
		if (root.kind === 'text' || (root.kind === 'number' && root.dimension))
			throw new Fault(root.at, 'this is not a condition, such as size > 100');
		return root;
	}
}

/* Returns the root of the parsed condition. Throws a Fault. */
export function parseExpression(text) {
	if (new TextEncoder().encode(text).length > textMost)
		throw new Fault(0, `an expression has up to ${textMost} bytes`);
	const control = /[^\P{Cc}\n\t]/u.exec(text);
	if (control)
		throw new Fault(control.index, 'an expression has no control characters');
	return new Parser(text).whole();
}

/* Calls a function for the operands of a node, and for the node. */
export function eachNode(node, visit) {
	if (node.left)
		eachNode(node.left, visit);
	if (node.right)
		eachNode(node.right, visit);
	visit(node);
}
