/*
 * dom.mjs - makes elements of the page
 *
 * Contents are inserted as text, never as HTML.
 *
 * SPDX-License-Identifier: MIT
 */

export const byId = (id) => document.getElementById(id);

/* element('button', {class: 'x', onclick: f, 'aria-label': 'y'}, 'text', child, ...) */
export function element(name, attributes = {}, ...children) {
	const node = document.createElement(name);
	for (const [key, value] of Object.entries(attributes))
		if (key.startsWith('on'))
			node.addEventListener(key.slice(2), value);
		else if (value === true)
			node.setAttribute(key, '');
		else if (value !== false && value !== null && value !== undefined)
			node.setAttribute(key, value);
	node.append(...children.filter((child) => child !== null && child !== undefined));
	return node;
}

/* Sets the size of a canvas in CSS pixels, with the resolution of the screen. */
export function sizeCanvas(canvas, width, height) {
	const ratio = window.devicePixelRatio || 1, w = Math.max(1, Math.round(width * ratio)),
		h = Math.max(1, Math.round(height * ratio));
	if (canvas.width !== w || canvas.height !== h) {
		canvas.width = w;
		canvas.height = h;
		canvas.style.width = `${width}px`;
		canvas.style.height = `${height}px`;
	}
	const context = canvas.getContext('2d');
	context.setTransform(ratio, 0, 0, ratio, 0, 0);
	return context;
}

/* Returns a function that calls f once in the next frame, however often it is called before. */
export function onceAFrame(draw) {
	let asked = false;
	return () => {
		if (asked)
			return;
		asked = true;
		requestAnimationFrame(() => {
			asked = false;
			draw();
		});
	};
}
