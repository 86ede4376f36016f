#!/usr/bin/env python3
# check_attach.py - attaches to running programs, and compares what is printed with what they have done
#
# SPDX-License-Identifier: MIT
#
# usage: check_attach.py ATTACH LINES      exit status 0: as expected
import os
import re
import signal
import subprocess
import sys
import time

ATTACH, LINES = map(os.path.abspath, sys.argv[1:3])
LINE = re.compile(r"(\d+\.\d{9}) +(\d+) +(\d+) (\w+)(?: (.*))?\n")
failed = []


def check(ok, what):
	if not ok:
		failed.append(what)


class Lines:
	"""A program that counts words, by default lines itself."""
	def __init__(self, *command):
		self.process = subprocess.Popen(command or [LINES], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
			text=True)
		self.pid = self.process.pid

	def count(self, line):
		self.process.stdin.write(line + "\n")
		self.process.stdin.flush()
		words = self.process.stdout.readline()
		check(words == f"{len(line.split())}\n", f"{words!r} words in {line!r}")

	def end(self):
		self.process.stdin.close()
		check(self.process.wait() == 0, f"exit status {self.process.returncode} of lines")


class Watch:
	"""attach, from its first event on: then it watches."""
	def __init__(self, lines, *options):
		self.before = time.time()
		self.lines = lines
		self.process = subprocess.Popen([ATTACH, *options, str(lines.pid)], text=True,
			stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
		self.text = self.process.stdout.readline()

	def end(self, what, interrupt=False):
		"""Waits for it; its user events, as (process, name, data)."""
		if interrupt:
			self.process.send_signal(signal.SIGINT)
		self.text += self.process.stdout.read()
		errors = self.process.stderr.read()
		check(self.process.wait() == 0, f"{what}: exit status {self.process.returncode} of attach")
		print(f"== {what}\n{self.text}{errors}", end="", flush=True)
		check("attach: 0 events lost\n" in errors, f"{what}: {errors}")
		said = f"{self.lines.pid} has ended" in errors
		events = [LINE.fullmatch(line) for line in self.text.splitlines(True)]
		if None in events or len(events) < 2:
			check(False, f"{what}: a line is no event, or there are none")
			return [], said
		times = [float(event[1]) for event in events]
		check(times == sorted(times), f"{what}: the times are not in order")
		check(self.before - 0.01 <= times[0] <= times[-1] <= time.time() + 0.01,
			f"{what}: the times are not those of this run")
		for event, name in (events[0], "posix_trace_start"), (events[-1], "posix_trace_stop"):
			check(event[4] == name and int(event[2]) == self.process.pid,
				f"{what}: not {name} by attach: {event[0]}")
		for event in events[1:-1]: # all that is watched here has one thread
			check(event[2] == event[3], f"{what}: thread {event[3]} of process {event[2]}")
		return [(int(event[2]), event[4], event[5]) for event in events[1:-1]], said


def counted(*lines):
	"""The events of counted lines, each (process, text)."""
	return [event for pid, text in lines for event in (
		(pid, "line", f'"{text}"' if text else None),
		(pid, "words", len(text.split()).to_bytes(4, sys.byteorder).hex(" ")))]


def expect(what, events, expected):
	check(events == expected, f"{what}: {events}, not {expected}")


def check_process():
	what = "before its first event"
	lines = Lines()
	watch = Watch(lines)
	lines.count("one two three")
	lines.count("")
	lines.count("x" * 200)
	lines.end()
	events, _ = watch.end(what)
	expect(what, events, counted((lines.pid, "one two three"), (lines.pid, ""), (lines.pid, "x" * 200)))


def check_middle():
	lines = Lines()
	lines.count("nobody watches")
	first = Watch(lines)
	lines.count("one watches")
	second = Watch(lines)
	lines.count("two watch")
	events, _ = first.end("interrupted", interrupt=True)
	expect("interrupted", events, counted((lines.pid, "one watches"), (lines.pid, "two watch")))
	lines.count("one again")
	events, _ = second.end("attached second", interrupt=True)
	expect("attached second", events, counted((lines.pid, "two watch"), (lines.pid, "one again")))
	third = Watch(lines)
	third.process.kill()
	third.process.wait()
	lines.count("nobody again")
	last = Watch(lines)
	lines.count("the last")
	lines.process.kill()
	lines.process.wait()
	events, _ = last.end("killed")
	expect("killed", events, counted((lines.pid, "the last")))


def check_exec():
	"""A shell, which knows nothing of tracing, becomes lines."""
	lines = Lines("sh", "-c", 'read -r go && echo "$go" && exec "$0"', LINES)
	watch = Watch(lines)
	lines.count("1")
	lines.count("in the new program")
	lines.end()
	events, _ = watch.end("exec")
	expect("exec", events, counted((lines.pid, "in the new program")))


def check_children():
	lines = Lines(LINES, "-c")
	lines.count("before all")
	with_children, without = Watch(lines, "-f"), Watch(lines)
	lines.count("a child")
	lines.count("and one more")
	lines.end()
	events, said = without.end("children not followed")
	check(not said, "-f was not asked for")
	expect("children not followed", events, [])
	# Now the process has ended, and this goes on.
	time.sleep(0.2)
	check(with_children.process.poll() is None, "children are not watched any more when their parent has ended")
	events, said = with_children.end("children followed", interrupt=True)
	check(said, "not said that the process has ended")
	children = [pid for pid, name, _ in events if name == "line"]
	check(len(set(children)) == 2 and lines.pid not in children, f"{children}: not two children of {lines.pid}")
	expect("children followed", events, counted(*zip(children, ("a child", "and one more"))))


def check_grandchildren():
	"""Programs started by a shell, by another shell, and that shell itself."""
	script = 'read -r go; echo "$go"; echo one by one | "$0"; sh -c \'echo two | "$0"\' "$0"; exec "$0"'
	lines = Lines("sh", "-c", script, LINES)
	watch = Watch(lines, "-f")
	lines.count("1")
	check(lines.process.stdout.readline() + lines.process.stdout.readline() == "3\n1\n",
		"what the shell has started")
	lines.count("and exec")
	lines.end()
	events, _ = watch.end("started by shells", interrupt=True)
	started = [pid for pid, name, _ in events if name == "line"]
	check(len(set(started)) == 3 and started[2:] == [lines.pid], f"{started}: not two and {lines.pid}")
	expect("started by shells", events, counted(*zip(started, ("one by one", "two", "and exec"))))


def check_refused():
	gone = subprocess.Popen(["true"])
	gone.wait()
	for arguments, status, told in (
			([], 2, "usage"), (["0"], 2, "usage"), (["-1"], 2, "usage"), (["1x"], 2, "usage"),
			(["-f"], 2, "usage"),
			(["1", "2"], 2, "usage"), ([str(gone.pid)], 1, "No such process")):
		run = subprocess.run([ATTACH] + arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
		check(run.returncode == status and told in run.stderr and not run.stdout,
			f"attach {arguments}: exit status {run.returncode}, {run.stderr}")


for part in check_process, check_middle, check_exec, check_children, check_grandchildren, check_refused:
	part()
for what in failed:
	print("FAIL:", what, file=sys.stderr)
sys.exit(1 if failed else 0)
