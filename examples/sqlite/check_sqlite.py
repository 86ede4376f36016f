#!/usr/bin/env python3
# check_sqlite.py - runs a small version of the SQLite example and compares the trace with what was run
#
# SPDX-License-Identifier: MIT
#
# usage: check_sqlite.py --workload PROGRAM | --shell SQLITE3   SQLATTACH LOG_APPEND SQLREAD SQLTRACE.so SQLANALYZE.so
#
# Every statement that was run must be in the trace, once, with all its rows;
# no event lost; and the standard output must be the same as without a trace.
# And so for a trace from another process, from the moment on that it is there,
# and for a log.
import argparse
import os
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
failed = []


def check(ok, what):
	if not ok:
		failed.append(what)


def read(path):
	with open(path) as file:
		return file.read()


def number_of_statements(path):
	with open(path) as file:
		lines = [line for line in file if not line.startswith("--")]
	return sum(line.rstrip().endswith(";") for line in lines)


def make_database(path, orders):
	"""Runs shop.sql. The tests have no use for the shell here: the workload's test needs none."""
	with open(os.path.join(HERE, "shop.sql")) as file:
		script = file.read().replace("@orders", str(orders))
	connection = sqlite3.connect(path)
	connection.executescript(script)
	connection.close()


def settings(**values):
	environment = {name: value for name, value in os.environ.items() if not name.startswith("SQLANALYZE_")}
	environment.update(values)
	return environment


def run(command, output, stdin=subprocess.DEVNULL, **values):
	result = subprocess.run(command, env=settings(SQLANALYZE_OUTPUT=output, **values), stdin=stdin,
		stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=110)
	sys.stdout.write(result.stdout)
	sys.stderr.write(result.stderr)
	check(result.returncode == 0, f"exit status {result.returncode} of {command}")
	return result.stdout


class Trace:
	"""What sqlanalyze or sqlattach has written: a line for each statement, tables, totals."""
	LINE = re.compile(r" *(\d+\.\d{6}) s +(\d+) +(\d+) +(-|[\d.]+ (?:ns|us|ms|s)) +(<1 ms|[\d.]+ (?:ns|us|ms|s)) "
		r"+(.*)")
	TOTAL = re.compile(r"(\d+) statements of (\d+) texts, (\d+) rows; (\d+) events read, (\d+) lost")
	ROW = re.compile(r" +(\d+) +(\d+) +[\d.]+ \w+ +[\d.]+ \w+ +[\d.]+ \w+ +(.*)")

	def __init__(self, text):
		sys.stdout.write(text)
		lines = text.splitlines()
		self.statements = [m for m in map(self.LINE.fullmatch, lines) if m]
		self.totals = [tuple(map(int, m.groups())) for m in map(self.TOTAL.fullmatch, lines) if m]
		last = max((i for i, line in enumerate(lines) if line.lstrip().startswith("runs ")), default=len(lines))
		self.table = [m for m in map(self.ROW.fullmatch, lines[last:]) if m]
		self.text = text
		check(self.totals, "no totals")

	def total(self):
		return self.totals[-1] if self.totals else (0, 0, 0, 0, 0)


class Attached:
	"""sqlattach, from the moment on that it traces."""
	def __init__(self, program, pid, *options, **values):
		self.pid = pid
		self.process = subprocess.Popen([program, *options, str(pid)], env=settings(**values),
			stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
		self.begin = self.process.stdout.readline()
		check(self.begin == f"process {pid} is traced\n", f"sqlattach says {self.begin!r}")

	def end(self, last, interrupt=False):
		"""Waits until it has ended; last is what it says of the process."""
		if interrupt:
			self.process.send_signal(signal.SIGINT)
		trace = Trace(self.begin + self.process.stdout.read())
		check(self.process.wait() == 0, f"exit status {self.process.returncode} of sqlattach")
		check(f"\nprocess {self.pid} {last}\n" in trace.text, f"sqlattach does not say that the process {last}")
		return trace


class Logged:
	"""log_append, from the moment on that it traces; what sqlread makes of its log."""
	def __init__(self, programs, pid, folder, **values):
		append, self.read = programs
		self.values = values
		self.file = os.path.join(folder, "log")
		with open(self.file, "w") as file:
			self.process = subprocess.Popen([append, str(pid)], stdin=subprocess.DEVNULL, stdout=file,
				stderr=subprocess.PIPE, text=True)
		begin = self.process.stderr.readline()
		check(begin == f"log_append: {pid}\n", f"log_append says {begin!r}")

	def wait_for(self, connections):
		"""Until statements of these are in the log: it can be read while it is written."""
		until = time.time() + 60
		while time.time() < until:
			time.sleep(0.2)
			text = subprocess.run([self.read, self.file], stdout=subprocess.PIPE, text=True).stdout
			if connections <= {m[2] for m in map(Trace.LINE.fullmatch, text.splitlines()) if m}:
				break

	def end(self, how=None):
		"""Waits until it has ended, or ends it by a signal."""
		if how:
			self.process.send_signal(how)
		said = self.process.stderr.read()
		self.process.wait()
		check(self.process.returncode == (-signal.SIGKILL if how == signal.SIGKILL else 0),
			f"log_append has ended: {said}")
		return Trace(run([self.read, self.file], os.devnull, **self.values))


class Shell:
	"""The sqlite3 shell, which is told one thing after the other."""
	def __init__(self, program, database, folder):
		self.output = os.path.join(folder, "shell")
		with open(self.output, "w") as output:
			self.process = subprocess.Popen([program, database],
				env=settings(SQLANALYZE_OUTPUT=os.path.join(folder, "trace")),
				stdin=subprocess.PIPE, stdout=output, text=True)
		self.pid = self.process.pid
		self.done = os.path.join(folder, "done")

	def tell(self, *lines):
		self.process.stdin.write("".join(line + "\n" for line in lines))
		self.process.stdin.flush()

	def wait(self):
		"""Until it has done all that."""
		self.tell(f".system touch '{self.done}'")
		self.wait_for_file()

	def wait_for_file(self):
		while not os.path.exists(self.done):
			if self.process.poll() is not None:
				sys.exit("the shell has ended by itself")
			time.sleep(0.01)
		os.unlink(self.done)

	def end(self):
		self.process.stdin.close()
		check(self.process.wait() == 0, f"exit status {self.process.returncode} of the shell")
		return read(self.output)


def check_workload(program, attach, logs, extensions, folder):
	database = os.path.join(folder, "shop.db")
	output = os.path.join(folder, "trace")
	make_database(database, 500)

	told = run([program, "-t", "3", "-r", "10", "-l", extensions[0], "-l", extensions[1], database], output)
	told = re.fullmatch(r"(\d+) connections: (\d+) statements, (\d+) rows in .*\n", told)
	check(told, "the workload did not say what it has run")
	trace = Trace(read(output))
	statements, texts, rows, events, lost = trace.total()
	if told:
		check(statements == int(told[2]), f"{statements} statements in the trace, {told[2]} run")
		check(rows == int(told[3]), f"{rows} rows in the trace, {told[3]} made")
		connections = {m[2] for m in trace.statements}
		check(len(connections) == int(told[1]), f"statements of {len(connections)} connections, not {told[1]}")
	check(len(trace.statements) == statements, f"{len(trace.statements)} lines for {statements} statements")
	# prepare, row and finish; and each of start and stop
	check(events == 2 * statements + rows + 2, f"{events} events for {statements} statements and {rows} rows")
	check(lost == 0, f"{lost} events lost")
	check(sum(int(m[1]) for m in trace.table) == statements, "the table has not all runs")
	check("without text" not in trace.text and "still running" not in trace.text, "something is missing")

	# The filter: the same statements without an event for each row.
	run([program, "-t", "3", "-r", "10", "-l", extensions[0], "-l", extensions[1], database], output,
		SQLANALYZE_ROWS="0")
	check(Trace(read(output)).total()[0:3] == (statements, texts, rows), "without sql.row events the totals differ")
	check(Trace(read(output)).total()[3] == 2 * statements + 2, "sql.row was not filtered out")

	# From another process, in the middle of the work of all threads, for a second. How much that is, nobody knows:
	# but each statement is there with all of it, those apart that were running at the beginning and at the end.
	command = [program, "-t", "3", "-r", "100000", "-p", "5", "-l", extensions[0], database]
	# And then into two logs; the second one's writer is killed.
	threads = {"2", "3", "4", "5"}
	with subprocess.Popen(command, env=settings(), stdout=subprocess.PIPE, text=True) as process:
		time.sleep(0.5)
		# On a busy machine a second may be too short for all threads to run.
		for _ in range(10):
			traces = [Attached(attach, process.pid, "-t", "1").end("goes on, untraced")]
			if {m[2] for m in traces[0].statements} >= threads:
				break
		for how in signal.SIGINT, signal.SIGKILL:
			log = Logged(logs, process.pid, folder)
			log.wait_for(threads)
			traces.append(log.end(how))
		check(process.poll() is None, "the workload has not outlived its trace")
		process.kill()
	for trace in traces:
		statements, texts, rows, events, lost = trace.total()
		check(statements > 50, f"only {statements} statements")
		check({m[2] for m in trace.statements} >= threads, "not all threads are in the trace")
		check(len(trace.statements) == statements, f"{len(trace.statements)} lines for {statements} statements")
		check(len([m for m in trace.statements if m[6] == "(no text)"]) <= 4,
			"each thread runs one statement at a time")
		check(lost == 0, f"{lost} events lost")

	# The trace points alone change nothing.
	run([program, "-t", "3", "-r", "10", "-l", extensions[0], database], output)


def check_shell(program, extensions, folder):
	database = os.path.join(folder, "shop.db")
	output = os.path.join(folder, "trace")
	queries = os.path.join(HERE, "queries.sql")
	make_database(database, 500)
	load = [argument for path in extensions for argument in ("-cmd", ".load " + path)]

	with open(queries) as script:
		plain = run([program, database], output, stdin=script)
	with open(queries) as script:
		traced = run([program] + load + [database], output, stdin=script)
	check(plain == traced, "the shell's output is another one with the trace")
	trace = Trace(read(output))
	statements, texts, rows, events, lost = trace.total()
	check(statements == number_of_statements(queries), f"{statements} statements in the trace, "
		f"{number_of_statements(queries)} run")
	check(texts == statements - 1, "one of the statements is run twice")
	check(rows == len(plain.splitlines()), f"{rows} rows in the trace, {len(plain.splitlines())} printed")
	check(lost == 0, f"{lost} events lost")

	# A report on demand sees what has ended before it. Triggers belong to their statement, EXPLAIN is one (the
	# shell runs it twice, to indent its lines), and so is one that fails.
	number = run([program] + load + [":memory:", "CREATE TABLE t(a CHECK (a < 20))",
		"CREATE TRIGGER more AFTER INSERT ON t WHEN new.a < 15 BEGIN INSERT INTO t VALUES(new.a + 10); END",
		"INSERT INTO t VALUES(1), (2)", "EXPLAIN SELECT 1", "SELECT sqlanalyze_report()"], output).split("\n")
	check(number[-2] == "5", f"5 statements were run before the report, not {number[-2]}")
	trace = Trace(read(output))
	check([total[0] for total in trace.totals] == [5, 6], f"5 statements in the first report, 6 in the last: "
		f"{trace.totals}")
	check("1 still running" in trace.text, "the SELECT that makes the report runs meanwhile")

	# Nothing to trace, and no stream: the shell says why, and goes on.
	run([program] + load[2:] + [":memory:", "SELECT 1"], output)
	check(Trace(read(output)).total() == (0, 0, 0, 2, 0), "without sqltrace there is nothing but start and stop")
	number = run([program] + load + [":memory:", "SELECT 1"], output, SQLANALYZE_SIZE="1e9")
	check(number == "1\n", "the shell did not go on without a stream")


def check_attach(program, attach, logs, extensions, folder):
	"""Another process traces the shell, beginning at different times, and records everything from then on."""
	database = os.path.join(folder, "shop.db")
	queries = os.path.join(HERE, "queries.sql")
	number = number_of_statements(queries)
	load = [".load " + path for path in extensions]
	with open(queries) as script:
		plain = run([program, database], os.path.join(folder, "trace"), stdin=script)
	rows = len(plain.splitlines())

	# Before the shell has anything to do with tracing, so the names of the events come from here.
	shell = Shell(program, database, folder)
	early = Attached(attach, shell.pid)
	shell.tell(load[0])
	shell.wait()
	# When the trace points are there, and no event has been recorded.
	idle = Attached(attach, shell.pid, SQLANALYZE_ROWS="0")
	# Into a log.
	log = Logged(logs, shell.pid, folder)
	# And a stream of its own beside these three.
	shell.tell(load[1])
	shell.tell(read(queries))
	check(shell.end() == plain, "the shell's output is another one when it is traced from outside")
	inside = Trace(read(os.path.join(folder, "trace")))
	early, idle, log = early.end("has ended"), idle.end("has ended"), log.end()
	check(log.total()[:3] == inside.total()[:3] and log.total()[4] == 0,
		f"{log.total()} in the log, {inside.total()}")
	check([(m[2], m[3], m[6]) for m in log.statements] == [(m[2], m[3], m[6]) for m in inside.statements],
		"statements in the log other than from inside")
	check(inside.total()[0] == number and inside.total()[2] == rows, "the trace from inside is not whole")
	for trace, events in (early, 2 * number + rows + 2), (idle, 2 * number + 2):
		check(trace.total() == (number, number - 1, rows, events, 0),
			f"{trace.total()}: not {number} statements, "
			f"{rows} rows, {events} events")
		check(len(trace.statements) == number, f"{len(trace.statements)} lines for {number} statements")
		check([m[6] for m in trace.statements] == [m[6] for m in inside.statements],
			"statements other than from inside")
		check("without text" not in trace.text and "still running" not in trace.text, "something is missing")
	check(all((m[4] != "-") == (m[3] != "0") for m in early.statements), "the time of the first row is missing")

	# In the middle of a statement: its end is seen, its text is not known.
	shell = Shell(program, database, folder)
	shell.tell(load[0], "SELECT 1;", "SELECT 2;")
	shell.wait()
	shell.tell(f"WITH RECURSIVE n(i) AS (SELECT writefile('{shell.done}', '') UNION ALL SELECT i + 1 FROM n LIMIT "
		f"6000000) "
		"SELECT max(i) FROM n;")
	shell.wait_for_file()
	first = Attached(attach, shell.pid)
	shell.wait()
	second = Attached(attach, shell.pid, "-t", "1000")
	shell.tell("SELECT 3;", "SELECT 4;")
	shell.wait()
	second = second.end("goes on, untraced", interrupt=True)
	check(shell.process.poll() is None, "the shell has ended with the trace")
	shell.tell("SELECT 5;")
	shell.wait()
	# The shell is killed: what it has recorded is there.
	shell.process.kill()
	shell.process.wait()
	first = first.end("has ended")
	check([m[6] for m in first.statements] == ["(no text)", "SELECT 3", "SELECT 4", "SELECT 5"],
		"attached in a statement")
	check("\n1 without text" in first.text and first.total()[0] == 4 and first.total()[4] == 0, f"{first.total()}")
	check([m[6] for m in second.statements] == ["SELECT 3", "SELECT 4"] and second.total() == (2, 2, 2, 8, 0),
		f"attached second: {second.total()}")

	# There is no such process any more.
	refused = subprocess.run([attach, str(shell.pid)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
	check((refused.returncode, refused.stdout) == (1, "") and "No such process" in refused.stderr, f"{refused}")


def main():
	parser = argparse.ArgumentParser()
	parser.add_argument("--workload")
	parser.add_argument("--shell")
	parser.add_argument("attach")
	parser.add_argument("append")
	parser.add_argument("read")
	parser.add_argument("extensions", nargs=2)
	arguments = parser.parse_args()
	room = os.statvfs("/dev/shm")
	if room.f_blocks * room.f_frsize < 256 << 20:
		print("/dev/shm is too small")
		return 77

	attach, *logs = map(os.path.abspath, (arguments.attach, arguments.append, arguments.read))
	extensions = [os.path.abspath(path) for path in arguments.extensions]
	with tempfile.TemporaryDirectory() as folder:
		if arguments.workload:
			check_workload(os.path.abspath(arguments.workload), attach, logs, extensions, folder)
		if arguments.shell:
			check_shell(arguments.shell, extensions, folder)
			check_attach(arguments.shell, attach, logs, extensions, folder)
	for what in failed:
		print("FAIL:", what, file=sys.stderr)
	return 1 if failed else 0


if __name__ == "__main__":
	sys.exit(main())
