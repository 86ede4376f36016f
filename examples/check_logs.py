#!/usr/bin/env python3
# check_logs.py - runs the examples of the three log policies, and compares what is in their logs with what they have
# done
#
# SPDX-License-Identifier: MIT
#
# usage: check_logs.py LOG_PRINT LOG_LOOP LOG_UNTIL_FULL LOG_APPEND LINES      exit status 0: as expected
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

PRINT, LOOP, UNTIL_FULL, APPEND, LINES = map(os.path.abspath, sys.argv[1:6])
LINE = re.compile(r" *(\d+\.\d{9}) +(\d+) +(\d+) (\w+)(?: (.*))?")
failed = []


def check(ok, what):
	if not ok:
		failed.append(what)


def run(*command):
	return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
		text=True)


class Log:
	"""What log_print says."""
	def __init__(self, file, *options):
		printed = run(PRINT, *options, file)
		check(printed.returncode == 0 and not printed.stderr, f"log_print {file}: {printed.returncode}, "
			f"{printed.stderr}")
		head, *rest = printed.stdout.split("\n\n") + [""]
		self.text = printed.stdout
		self.head = head
		self.count = int(re.search(r"(\d+) events\n\Z", printed.stdout)[1])
		self.events = [LINE.fullmatch(line) for line in rest[0].splitlines()] if len(rest) > 2 else []
		if None in self.events:
			check(False, f"{file}: a line is no event")
			self.events = []
		times = [float(event[1]) for event in self.events]
		check(times == sorted(times), f"{file}: the times are not in order")

	def named(self, *names):
		return [(event[4], event[5]) for event in self.events if event[4] in names]

	def names(self):
		return [event[4] for event in self.events]

	def show(self, what):
		lines = self.text.splitlines()
		print(f"== {what}", *lines[:12], *([f"... {len(lines) - 22} more"] + lines[-10:] if len(lines) > 22
			else lines[12:]), sep="\n")


def check_loop():
	crash = run(LOOP, "loop.log")
	check(crash.returncode == -signal.SIGABRT, f"log_loop has ended with {crash.returncode}, {crash.stderr}")
	log = Log("loop.log")
	log.show("LOOP, after a crash")
	check("flight recorder: " in log.head and "log LOOP, 64 KiB: the oldest events were overwritten" in log.head and
		": 0 events lost" in log.head, f"LOOP: {log.head}")
	check(log.count == len(log.events) > 1000, f"LOOP: {len(log.events)} events are printed of {log.count}")
	check(os.path.getsize("loop.log") < 128 << 10, f"LOOP: the file has {os.path.getsize('loop.log')} bytes")
	# All from some event on, to the one in which it crashed.
	last = 20011
	expected = []
	for number in range(1, last):
		expected += [("request", str(number)), ("answer", f"{number} {1000000 // (number * 7919 % last)}")]
	expected.append(("request", str(last)))
	events = log.named("request", "answer")
	check(len(events) < len(expected) and events == expected[-len(events):], "LOOP: not the newest events")
	check(log.names()[-1:] == ["posix_trace_stop"], f"LOOP: {log.names()[-1:]} at the end")
	check(Log("loop.log").text == log.text, "LOOP: another log when it is opened again")
	few = Log("loop.log", "-n", "6")
	check(few.count == log.count and [e[0] for e in few.events] == [e[0] for e in log.events[-6:]], "log_print -n")


def check_until_full():
	sort = run(UNTIL_FULL, "full.log")
	said = re.fullmatch(r"traced for (\d+) comparisons\nsorted with (\d+) comparisons\n", sort.stdout)
	check(sort.returncode == 0 and said, f"log_until_full: {sort.returncode}, {sort.stdout}{sort.stderr}")
	log = Log("full.log")
	log.show("UNTIL_FULL")
	traced, sorted_with = int(said[1]), int(said[2])
	check(traced < sorted_with, f"UNTIL_FULL: traced for {traced} of {sorted_with} comparisons")
	check("log UNTIL_FULL, 4 KiB: full, the newest events were dropped" in log.head, f"UNTIL_FULL: {log.head}")
	check(log.names()[:1] == ["posix_trace_start"] and log.names()[-1:] == ["posix_trace_stop"],
		f"UNTIL_FULL: from {log.names()[:1]} to {log.names()[-1:]}")
	stops = log.named("posix_trace_stop")
	check(len(stops) == 1 and stops[0][1] != "0", f"UNTIL_FULL: {stops}, not one by itself")
	pairs = log.named("compare")
	numbers = {str(i * 7919 % 20000) for i in range(1000)} # the first part of what is sorted
	check(100 < len(pairs) < traced and all(set(pair.split()) <= numbers for _, pair in pairs),
		f"UNTIL_FULL: not the first comparisons, {len(pairs)} of {traced}")
	check(os.path.getsize("full.log") < 64 << 10, f"UNTIL_FULL: the file has {os.path.getsize('full.log')} bytes")


class Lines:
	"""A program that counts words; log_append traces it, from its beginning on."""
	def __init__(self, output, *options):
		self.process = subprocess.Popen([LINES, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
			stderr=subprocess.DEVNULL, text=True)
		self.pid = self.process.pid
		self.append = subprocess.Popen([APPEND, str(self.pid)], stdin=subprocess.DEVNULL, stdout=output,
			stderr=subprocess.PIPE, text=True)
		self.said = self.append.stderr.readline()
		self.expected = []

	def count(self, line):
		self.process.stdin.write(line + "\n")
		self.process.stdin.flush()
		words = self.process.stdout.readline()
		check(words == f"{len(line.split())}\n", f"{words!r} words in {line!r}")
		self.expected += [("line", f'"{line}"'), ("words", str(len(line.split())))]

	def end(self):
		self.process.stdin.close()
		check(self.process.wait() == 0, f"exit status {self.process.returncode} of lines")

	def end_append(self, what, status=0):
		self.said += self.append.stderr.read()
		check(self.append.wait() == status, f"{what}: exit status {self.append.returncode} of log_append: "
			f"{self.said}")

	def check_log(self, what, file):
		log = Log(file)
		log.show(what)
		check(f"log_append: {self.pid}\nlog_append: 0 events lost\n" == self.said, f"{what}: {self.said}")
		check("log APPEND\n" in log.head + "\n" and ": 0 events lost" in log.head, f"{what}: {log.head}")
		check(log.named("line", "words") == self.expected, f"{what}: {log.named('line', 'words')}")
		# A flush that was under way at the stop may end behind it.
		names = [name for name in log.names() if name != "posix_trace_flush_stop"]
		check(names[:1] == ["posix_trace_start"] and names[-1:] == ["posix_trace_stop"],
			f"{what}: not from start to stop")
		return log


def check_pipe():
	"""As with | xz: what comes out of the pipe is put into a file later."""
	lines = Lines(subprocess.PIPE)
	for i in range(2000):
		lines.count(f"line {i} goes into a pipe")
	lines.end()
	with open("pipe.log", "wb") as file:
		file.write(lines.append.stdout.buffer.read())
	lines.end_append("pipe")
	lines.check_log("APPEND, into a pipe", "pipe.log")


def check_file():
	"""Until an interrupt; children too. Its log can be read while it is written."""
	with open("file.log", "wb") as file:
		lines = Lines(file, "-c")
	lines.count("first of all")
	deadline = time.time() + 60
	while not Log("file.log").named("words") and time.time() < deadline:
		time.sleep(0.05)
	check(Log("file.log").named("line", "words") == lines.expected, "the log of a process that runs")
	lines.count("and of another child")
	lines.append.send_signal(signal.SIGINT)
	lines.end_append("file")
	log = lines.check_log("APPEND, to a file", "file.log")
	children = {event[2] for event in log.events if event[4] == "line"}
	check(len(children) == 2 and str(lines.pid) not in children, f"{children}: not two children of {lines.pid}")
	lines.count("nobody traces")
	lines.end()


def check_broken_pipe():
	lines = Lines(subprocess.PIPE)
	lines.append.stdout.close()
	lines.count("nobody reads")
	lines.end()
	lines.end_append("a pipe that nobody reads", status=1)
	check("Broken pipe" in lines.said, f"a pipe that nobody reads: {lines.said}")


def check_refused():
	gone = subprocess.Popen(["true"])
	gone.wait()
	with open("text", "w") as text:
		text.write("no log\n" * 1000)
	for command, status, told in (
			([APPEND], 2, "usage"), ([APPEND, "0"], 2, "usage"), ([APPEND, "1x"], 2, "usage"),
			([APPEND, str(gone.pid)], 1, "No such process"), ([PRINT], 2,
				"usage"), ([PRINT, "-n", "0", "text"], 2, "usage"),
			([PRINT, "-n", "text"], 2, "usage"), ([PRINT, "text"], 1, "not a log"), ([PRINT, "."], 1,
				"not a log"),
			([PRINT, "missing"], 1, "No such file"), ([LOOP], 2, "usage"), ([UNTIL_FULL], 2, "usage")):
		refused = run(*command)
		check(refused.returncode == status and told in refused.stderr and not refused.stdout,
			f"{command}: exit status {refused.returncode}, {refused.stderr}")


with tempfile.TemporaryDirectory() as directory:
	os.chdir(directory)
	for part in check_loop, check_until_full, check_pipe, check_file, check_broken_pipe, check_refused:
		part()
	os.chdir("/")
for what in failed:
	print("FAIL:", what, file=sys.stderr)
sys.exit(1 if failed else 0)
