/*
 * colours.mjs - the colours of types and spans, light and dark
 *
 * Eight hues that people with any colour vision can distinguish, by brightness as well as by hue. Events of the
 * recording itself are grey.
 *
 * SPDX-License-Identifier: MIT
 */

const hues = {
	light: ['#3b73d1', '#e0772b', '#17906d', '#b3508f', '#8a7a00', '#1e96b6', '#c23b3b', '#6a57b8'],
	dark: ['#6b9dff', '#ff9e57', '#3fc79a', '#e588c4', '#d8c64a', '#62cbe8', '#ff7b74', '#a797f2'],
};
/* Fill colours of slices, which contain text. */
const fills = {
	light: ['#a9c5f5', '#fac79c', '#99dcc3', '#eab6d6', '#e6da85', '#a9dff0', '#f5b3ad', '#cabff0'],
	dark: ['#2f5596', '#8f5527', '#1d6d55', '#7f3f69', '#70651a', '#1f6a80', '#8f3a36', '#53468c'],
};
const rest = {
	light: {
		back: '#ffffff', stripe: '#f6f7f9', group: '#eef0f4', line: '#e2e5ea', strong: '#c9ced6',
			text: '#1c2129', dim: '#5f6877', grey: '#8a93a1',
		accent: '#1d5fd0', mark: '#d97a00', range: 'rgba(29, 95, 208, .13)', loss: '#c62f2f',
			lossBack: 'rgba(198, 47, 47, .08)', sliceText: '#141820',
		window: 'rgba(29, 95, 208, .10)', hover: 'rgba(20, 30, 50, .35)', inverse: '#ffffff',
	},
	dark: {
		back: '#12151a', stripe: '#161a20', group: '#1c2129', line: '#262c36', strong: '#3b4452',
			text: '#e6e9ef', dim: '#98a3b3', grey: '#7d8897',
		accent: '#7ab0ff', mark: '#ffb347', range: 'rgba(122, 176, 255, .16)', loss: '#ff6f69',
			lossBack: 'rgba(255, 111, 105, .10)', sliceText: '#f4f6fa',
		window: 'rgba(122, 176, 255, .14)', hover: 'rgba(230, 235, 250, .35)', inverse: '#12151a',
	},
};

export const hueCount = hues.light.length;

export function palette(name) {
	return { hues: [...hues[name], rest[name].grey], fills: [...fills[name], rest[name].line], ...rest[name] };
}

/* Assigns hues: the most frequent types get their own hue, the last hue is grey. */
export function chooseHues(types) {
	const order = types.map((type, i) => i).sort((a, b) => types[b].count - types[a].count || a - b);
	let next = 0;
	for (const i of order)
		types[i].hue = types[i].system ? hueCount : next++ % hueCount;
}

/*
 * Returns hues for texts, given [[text, weight], ...], in which a text may occur several times. The texts with the
 * largest weights get their own hue; the hue of other texts is a hash of the text, so the same text always has the
 * same hue.
 */
export function huesOfTexts(weighed) {
	const weights = new Map();
	for (const [text, weight] of weighed)
		weights.set(text, (weights.get(text) || 0) + weight);
	const first = [...weights].sort((a, b) => b[1] - a[1]).slice(0, hueCount).map(([text]) => text);
	return (text) => {
		const at = first.indexOf(text);
		if (at >= 0)
			return at;
		let hash = 0x811c9dc5;
		for (let i = 0; i < text.length; i++)
			hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
		return (Math.imul(hash ^ hash >>> 15, 0x2c1b3c6d) >>> 8) % hueCount;
	};
}
