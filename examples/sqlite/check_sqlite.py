#!/usr/bin/env python3
# check_sqlite.py - runs a small version of the SQLite example and compares the trace with what was run
#
# SPDX-License-Identifier: MIT
#
# usage: check_sqlite.py --workload PROGRAM | --shell SQLITE3   SQLTRACE.so SQLANALYZE.so
#
# Every statement that was run must be in the trace, once, with all its rows;
# no event lost; and the standard output must be the same as without a trace.
import argparse
import os
import re
import sqlite3
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
failed = []


def check(ok, what):
	if not ok:
		failed.append(what)


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


def run(command, output, stdin=subprocess.DEVNULL, **settings):
	environment = {name: value for name, value in os.environ.items() if not name.startswith("SQLANALYZE_")}
	environment.update(settings, SQLANALYZE_OUTPUT=output)
	result = subprocess.run(command, env=environment, stdin=stdin,
		stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=110)
	sys.stdout.write(result.stdout)
	sys.stderr.write(result.stderr)
	check(result.returncode == 0, f"exit status {result.returncode} of {command}")
	return result.stdout


class Trace:
	"""What sqlanalyze has written: a line for each statement, tables, totals."""
	LINE = re.compile(r" *(\d+\.\d{6}) s +(\d+) +(\d+) +(-|[\d.]+ (?:ns|us|ms|s)) +(<1 ms|[\d.]+ (?:ns|us|ms|s)) +(.*)")
	TOTAL = re.compile(r"(\d+) statements of (\d+) texts, (\d+) rows; (\d+) events read, (\d+) lost")
	ROW = re.compile(r" +(\d+) +(\d+) +[\d.]+ \w+ +[\d.]+ \w+ +[\d.]+ \w+ +(.*)")

	def __init__(self, path):
		with open(path) as file:
			text = file.read()
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


def check_workload(program, extensions, folder):
	database = os.path.join(folder, "shop.db")
	output = os.path.join(folder, "trace")
	make_database(database, 500)

	told = run([program, "-t", "3", "-r", "10", "-l", extensions[0], "-l", extensions[1], database], output)
	told = re.fullmatch(r"(\d+) connections: (\d+) statements, (\d+) rows in .*\n", told)
	check(told, "the workload did not say what it has run")
	trace = Trace(output)
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
	run([program, "-t", "3", "-r", "10", "-l", extensions[0], "-l", extensions[1], database], output, SQLANALYZE_ROWS="0")
	check(Trace(output).total()[0:3] == (statements, texts, rows), "without sql.row events the totals differ")
	check(Trace(output).total()[3] == 2 * statements + 2, "sql.row was not filtered out")

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
	trace = Trace(output)
	statements, texts, rows, events, lost = trace.total()
	check(statements == number_of_statements(queries), f"{statements} statements in the trace, "
		f"{number_of_statements(queries)} run")
	check(texts == statements - 1, "one of the statements is run twice")
	check(rows == len(plain.splitlines()), f"{rows} rows in the trace, {len(plain.splitlines())} printed")
	check(lost == 0, f"{lost} events lost")

	# A report on demand sees what has ended before it. Triggers belong to their statement, EXPLAIN is one (the shell
	# runs it twice, to indent its lines), and so is one that fails.
	number = run([program] + load + [":memory:", "CREATE TABLE t(a CHECK (a < 20))",
		"CREATE TRIGGER more AFTER INSERT ON t WHEN new.a < 15 BEGIN INSERT INTO t VALUES(new.a + 10); END",
		"INSERT INTO t VALUES(1), (2)", "EXPLAIN SELECT 1", "SELECT sqlanalyze_report()"], output).split("\n")
	check(number[-2] == "5", f"5 statements were run before the report, not {number[-2]}")
	trace = Trace(output)
	check([total[0] for total in trace.totals] == [5, 6], f"5 statements in the first report, 6 in the last: {trace.totals}")
	check("1 still running" in trace.text, "the SELECT that makes the report runs meanwhile")

	# Nothing to trace, and no stream: the shell says why, and goes on.
	run([program] + load[2:] + [":memory:", "SELECT 1"], output)
	check(Trace(output).total() == (0, 0, 0, 2, 0), "without sqltrace there is nothing but start and stop")
	number = run([program] + load + [":memory:", "SELECT 1"], output, SQLANALYZE_SIZE="1e9")
	check(number == "1\n", "the shell did not go on without a stream")


def main():
	parser = argparse.ArgumentParser()
	parser.add_argument("--workload")
	parser.add_argument("--shell")
	parser.add_argument("extensions", nargs=2)
	arguments = parser.parse_args()

	extensions = [os.path.abspath(path) for path in arguments.extensions]
	with tempfile.TemporaryDirectory() as folder:
		if arguments.workload:
			check_workload(os.path.abspath(arguments.workload), extensions, folder)
		if arguments.shell:
			check_shell(arguments.shell, extensions, folder)
	for what in failed:
		print("FAIL:", what, file=sys.stderr)
	return 1 if failed else 0


if __name__ == "__main__":
	sys.exit(main())
