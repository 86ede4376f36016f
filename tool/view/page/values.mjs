/*
 * values.mjs - numbers and texts as expressions know them: exact integers, units, relations, calculations, patterns
 *
 * An integer is a BigInt of 64 bits and a sign, a real number a Number, a text a string with a byte in each character;
 * null is no value. The truth of a comparison is falseTruth, unknown or trueTruth: && is the minimum, || the maximum.
 *
 * SPDX-License-Identifier: MIT
 */
export const falseTruth = 0, unknown = 1, trueTruth = 2;

const integerEnd = 1n << 64n;

export const truthOf = (yes) => yes ? trueTruth : falseTruth;

/* Returns whether the magnitude of an integer has at most 64 bits. */
export const fitsInteger = (n) => n < integerEnd && -n < integerEnd;

const inRange = (n) => fitsInteger(n) ? n : null;

const expressionUnits = new Map([
	['ns', ['time', 1n]], ['us', ['time', 1000n]], ['ms', ['time', 1000000n]], ['s', ['time', 1000000000n]],
	['min', ['time', 60000000000n]], ['h', ['time', 3600000000000n]], ['B', ['size', 1n]],
	...['K', 'M', 'G', 'T'].flatMap((letter, i) => {
		const scale = 1n << BigInt(10 * (i + 1));
		return [[letter, ['size', scale]], [letter + 'iB', ['size', scale]],
			[(letter === 'K' ? 'k' : letter) + 'B', ['size', 1000n ** BigInt(i + 1)]]];
	}),
]);

/* Returns what a unit measures, '' if that is unknown, and its scale in ns or bytes. */
export function unitOf(name) {
	const [dimension, scale] = expressionUnits.get(name) || ['', 1n];
	return { dimension, scale };
}

/* Returns a text as expressions compare it: by its bytes in UTF-8. */
export function textOfBytes(bytes) {
	let text = '';
	for (let i = 0; i < bytes.length; i += 4096)
		text += String.fromCharCode(...bytes.subarray(i, i + 4096));
	return text;
}

export const textValue = (text) => textOfBytes(new TextEncoder().encode(text));

/* -- Relations ------------------------------------------------------------------------------------- */

/* Returns negative, 0 or positive; null if the values cannot be compared. */
function order(a, b, factors) {
	if (a === null || b === null || (typeof a === 'string') !== (typeof b === 'string'))
		return null;
	let x = a, y = b;
	if (typeof a === 'bigint' && typeof b === 'bigint') {
		x = a * factors[0];
		y = b * factors[1];
	} else if (typeof a === 'bigint') {
		y = b * Number(factors[1]) / Number(factors[0]);
	} else if (typeof b === 'bigint') {
		x = a * Number(factors[0]) / Number(factors[1]);
	} else if (typeof a === 'number') {
		x = a * Number(factors[0]);
		y = b * Number(factors[1]);
	}
	return x > y ? 1 : x < y ? -1 : Number.isNaN(x) || Number.isNaN(y) ? null : 0;
}

const holds = {
	'==': (n) => n === 0, '!=': (n) => n !== 0, '<': (n) => n < 0, '<=': (n) => n <= 0, '>': (n) => n > 0,
	'>=': (n) => n >= 0,
};

const mirrors = { '<': '>', '<=': '>=', '>': '<', '>=': '<=' };

/* Returns the relation of b and a that holds if this one of a and b does. */
export const mirrored = (relation) => mirrors[relation] || relation;

/* Returns whether the relation holds for two values, each times its factor. */
export function relate(relation, a, b, factors) {
	if (relation === 'has')
		return typeof a !== 'bigint' || typeof b !== 'bigint' || a < 0n || b < 0n ? unknown :
			truthOf((a & b) === b);
	const n = order(a, b, factors);
	return n === null ? unknown : truthOf(holds[relation](n));
}

export function nonzero(value) {
	return typeof value === 'bigint' ? truthOf(value !== 0n) : typeof value === 'number' ? truthOf(value !== 0) :
		unknown;
}

/* -- Calculations ---------------------------------------------------------------------------------- */

const ofIntegers = {
	'+': (a, b) => a + b, '-': (a, b) => a - b, '*': (a, b) => a * b, '/': (a, b) => b ? a / b : null,
	'%': (a, b) => b ? a % b : null, '&': (a, b) => a < 0n || b < 0n ? null : a & b,
};

const ofReals = {
	'+': (a, b) => a + b, '-': (a, b) => a - b, '*': (a, b) => a * b, '/': (a, b) => b ? a / b : null,
	'%': (a, b) => b ? a % b : null, '&': () => null,
};

/* Returns the result for two numbers, each times its factor; null if there is none, or it has more than 64 bits. */
export function calculate(operation, a, b, factors) {
	if (a === null || b === null)
		return null;
	if (typeof a === 'number' || typeof b === 'number')
		return ofReals[operation](Number(a) * Number(factors[0]), Number(b) * Number(factors[1]));
	const x = inRange(a * factors[0]), y = inRange(b * factors[1]);
	const result = x === null || y === null ? null : ofIntegers[operation](x, y);
	return result === null ? null : inRange(result);
}

export const negated = (value) => value === null ? null : -value;

/* -- Patterns -------------------------------------------------------------------------------------- */

/* In texts that are not UTF-8, each byte is a character, and only those of ASCII are letters. */
const noBreak = '\\xa0\\u2007\\u202f', blanks = ' \\t\\u1680\\u2000-\\u2006\\u2008-\\u200a\\u205f\\u3000',
	seen = `\\p{L}\\p{M}\\p{N}\\p{P}\\p{S}\\p{Cf}\\p{Co}${noBreak}`;
const classes = {
	alpha: ['\\p{Alphabetic}', 'A-Za-z'], digit: ['0-9', '0-9'],
	alnum: ['\\p{Alphabetic}\\p{Nd}', 'A-Za-z0-9'], upper: ['\\p{Uppercase}\\p{Lt}', 'A-Z'],
	lower: ['\\p{Lowercase}\\p{Lt}', 'a-z'],
	space: [`${blanks}\\n-\\r\\u2028\\u2029`, ' \\t-\\r'], blank: [blanks, ' \\t'],
	punct: [`\\p{M}\\p{No}\\p{P}\\p{S}\\p{Cf}\\p{Co}${noBreak}`, '!-\\/:-@\\[-`\\{-~'],
	xdigit: ['0-9A-Fa-f', '0-9A-Fa-f'], cntrl: ['\\p{Cc}\\u2028\\u2029', '\\x00-\\x1f\\x7f'],
	print: [`${seen}\\p{Zs}`, ' -~'], graph: [seen, '!-~'],
};

const codePoint = (character) => `\\u{${character.codePointAt(0).toString(16)}}`;
const escapedForm = (character) => /[\w\s]/.test(character) ? character : codePoint(character);

/* Returns the regular expression for [...] and the index behind it; null if it is not closed. */
function bracket(characters, from, bytes) {
	const not = characters[from] === '!' || characters[from] === '^';
	let i = from + (not ? 1 : 0), set = '';
	for (let first = true; i < characters.length; first = false) {
		let one = characters[i++];
		if (one === ']' && !first)
			return { form: set ? `[${not ? '^' : ''}${set}]` : '(?!)', next: i };
		if (one === '[' && characters[i] === ':') {
			const name = /^:(\w+):\]/.exec(characters.slice(i, i + 12).join(''));
			if (name && classes[name[1]]) {
				set += classes[name[1]][Number(bytes)];
				i += name[0].length;
				continue;
			}
		}
		/* [.x.] and [=x=] are the character alone. */
		if (one === '[' && '.='.includes(characters[i] || ' ') && characters[i + 2] === characters[i] &&
		    characters[i + 3] === ']') {
			one = characters[i + 1];
			i += 4;
		} else if (one === '\\')
			one = characters[i++];
		if (one === undefined)
			return null;
		set += escapedForm(one);
		if (characters[i] === '-' && characters[i + 1] !== undefined && characters[i + 1] !== ']') {
			const last = characters[i + 1] === '\\' ? characters[i + 2] : characters[i + 1];
			if (last === undefined)
				return null;
			if (last.codePointAt(0) < one.codePointAt(0))
				set = set.slice(0, set.length - escapedForm(one).length);
			else
				set += '-' + escapedForm(last);
			i += characters[i + 1] === '\\' ? 3 : 2;
		}
	}
	return null;
}

/* Returns regular expressions for what is between the stars. Each matches texts of one length only. */
function patternForms(pattern, bytes) {
	const characters = [...(bytes ? textValue(pattern) : pattern)], forms = [];
	let form = '';
	for (let i = 0; i < characters.length; i++) {
		const set = characters[i] === '[' ? bracket(characters, i + 1, bytes) : null;
		if (set) {
			form += set.form;
			i = set.next - 1;
		} else if (characters[i] === '*') {
			forms.push(form);
			form = '';
		} else if (characters[i] === '?') {
			form += '.';
		} else if (characters[i] === '\\') {
			/* A pattern that ends in a backslash matches nothing. */
			form += ++i < characters.length ? escapedForm(characters[i]) : '(?!)';
		} else {
			form += escapedForm(characters[i]);
		}
	}
	return [...forms, form];
}

/*
 * Returns a function that tells whether a text begins with the first of the forms, ends with the last one, and has the
 * others between them, in this order. The first place is good enough for each: a single regular expression would try
 * all places, which takes for ever.
 */
export function formsTest(forms) {
	if (forms.length === 1) {
		const whole = new RegExp(`^(?:${forms[0]})$`, 'su');
		return (text) => whole.test(text);
	}
	const expressions = forms.map((form, i) =>
		i === 0 ? new RegExp(form, 'suy') : new RegExp(i < forms.length - 1 ? form : `(?:${form})$`, 'gsu'));
	return (text) => {
		let at = 0;
		return expressions.every((each) => {
			each.lastIndex = at;
			const found = each.test(text);
			at = each.lastIndex;
			return found;
		});
	};
}

const strictDecoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/* Returns the text in characters; null if its bytes are not UTF-8. */
function charactersOf(text) {
	try {
		return strictDecoder.decode(Uint8Array.from(text, (character) => character.charCodeAt(0)));
	} catch {
		return null;
	}
}

/* Returns a function that tells whether a text of bytes matches a pattern like those of file names. */
export function patternTest(pattern) {
	const ofCharacters = formsTest(patternForms(pattern, false));
	let ofBytes = null;
	return (text) => {
		/* eslint-disable-next-line no-control-regex */
		const decoded = /^[\0-\x7f]*$/.test(text) ? text : charactersOf(text);
		/* As fnmatch() of glibc, which looks at the bytes if the characters do not match: ? is either. */
		if (decoded !== null && (decoded === text || ofCharacters(decoded)))
			return ofCharacters(decoded);
		ofBytes = ofBytes || formsTest(patternForms(pattern, true));
		return ofBytes(text);
	};
}
