/*
 * overview.mjs - a strip with the whole trace, and the part that is shown
 *
 * SPDX-License-Identifier: MIT
 */
import { byId, sizeCanvas, onceAFrame } from './dom.mjs';
import { eachBin } from './seek.mjs';

export function makeOverview(state) {
	const canvas = byId('overview'), frame = byId('overview-frame'), { trace } = state;
	const background = document.createElement('canvas');
	let width = 1, height = 1;

	const scale = () => width / (state.all.t1 - state.all.t0);

	/* Drawn once, because moving the view does not change the picture. */
	function paintBackground() {
		const context = sizeCanvas(background, width, height), { colours } = state, bins = [];
		let most = 1;
		context.fillStyle = colours.stripe;
		context.fillRect(0, 0, width, height);
		eachBin(trace.times, state.all.t0, state.all.t1, 1 / scale(), (bin, from, to) => {
			bins.push(bin, to - from);
			most = Math.max(most, to - from);
		});
		context.fillStyle = colours.grey;
		for (let i = 0; i < bins.length; i += 2) {
			const h = Math.max(1.5, (height - 8) * Math.log2(1 + bins[i + 1]) / Math.log2(1 + most));
			context.fillRect((bins[i] / scale() - state.all.t0) * scale(), height - h, 1.2, h);
		}
		context.fillStyle = colours.loss;
		for (const gap of trace.gaps)
			context.fillRect((gap.from - state.all.t0) * scale() - 1, 0,
				Math.max(2, ((gap.until ?? gap.from) - gap.from) * scale()), 5);
		if (state.hits) {
			context.fillStyle = colours.mark;
			let before = -1;
			for (const event of state.hits) {
				const x = Math.round((trace.columns.time[event] - state.all.t0) * scale());
				if (x !== before)
					context.fillRect(x, height - 5, 1.5, 5);
				before = x;
			}
		}
	}

	function paint() {
		const context = sizeCanvas(canvas, width, height), { colours } = state;
		context.drawImage(background, 0, 0, width, height);
		const left = (state.view.t0 - state.all.t0) * scale(),
			right = Math.max((state.view.t1 - state.all.t0) * scale(), left + 3);
		context.fillStyle = colours.window;
		context.fillRect(left, 0, right - left, height);
		context.strokeStyle = colours.accent;
		context.lineWidth = 1.5;
		context.strokeRect(left + 0.75, 0.75, right - left - 1.5, height - 1.5);
		if (state.selected >= 0) {
			context.fillStyle = colours.accent;
			context.fillRect((trace.columns.time[state.selected] - state.all.t0) * scale(), 0, 1, height);
		}
	}
	const repaint = onceAFrame(paint);
	const anew = onceAFrame(() => {
		paintBackground();
		paint();
	});

	/*
	 * Dragging inside of the window moves it; elsewhere dragging draws a new window, and a click centres the
	 * window.
	 */
	let drag = null;
	const timeAt = (e) => state.all.t0 + (e.clientX - canvas.getBoundingClientRect().left) / scale();
	canvas.addEventListener('pointerdown', (e) => {
		const t = timeAt(e), { t0, t1 } = state.view, all = t1 - t0 > 0.98 * (state.all.t1 - state.all.t0);
		canvas.setPointerCapture(e.pointerId);
		drag = { t, x: e.clientX, view: state.view, inside: !all && t >= t0 && t <= t1, moved: false };
	});
	canvas.addEventListener('pointermove', (e) => {
		if (!drag || (!drag.moved && Math.abs(e.clientX - drag.x) < 3))
			return;
		drag.moved = true;
		const t = timeAt(e);
		if (drag.inside)
			state.show(drag.view.t0 + t - drag.t, drag.view.t1 + t - drag.t);
		else
			state.show(Math.min(t, drag.t), Math.max(t, drag.t));
	});
	canvas.addEventListener('pointerup', () => {
		if (drag && !drag.moved && !drag.inside) {
			const half = (state.view.t1 - state.view.t0) / 2;
			state.show(drag.t - half, drag.t + half);
		}
		drag = null;
	});
	canvas.addEventListener('pointercancel', () => {
		drag = null;
	});

	new ResizeObserver(() => {
		width = Math.max(frame.clientWidth, 10);
		height = frame.clientHeight;
		anew();
	}).observe(frame);
	state.on('view select', repaint);
	state.on('theme search', anew);
}
