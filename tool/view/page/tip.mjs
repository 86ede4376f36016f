/*
 * tip.mjs - the tooltip
 *
 * SPDX-License-Identifier: MIT
 */
import { byId, element } from './dom.mjs';

/* Shows lines near a point of the window. */
export function placeTip(lines, x, y) {
	const tip = byId('tip');
	tip.replaceChildren(...lines.filter(Boolean).map((line, i) => element('div',
		{ class: i ? 'tip-more' : 'tip-first' }, line)));
	tip.hidden = false;
	const { width, height } = tip.getBoundingClientRect();
	const left = Math.max(4, Math.min(x + 14, window.innerWidth - width - 6));
	const top = y + 18 + height > window.innerHeight ? y - height - 10 : y + 18;
	tip.style.transform = `translate(${left}px, ${top}px)`;
}

export function hideTip() {
	byId('tip').hidden = true;
}
