#!/usr/bin/env python3
# check_hello.py - runs hello, or hello_log, and compares what it prints, the times apart
#
# SPDX-License-Identifier: MIT
#
# usage: check_hello.py COMMAND [ARGUMENT...]      exit status 0: as expected
import os
import re
import subprocess
import sys
import tempfile
import time

EXPECTED = ["posix_trace_start", "hello 1", "hello 2", "hello 3", "posix_trace_stop"]
# A log is flushed by itself when it likes to be.
FLUSHES = ["posix_trace_flush_start", "posix_trace_flush_stop"]

before = time.time()
with tempfile.TemporaryDirectory() as directory:
	run = subprocess.run([os.path.abspath(sys.argv[1]), *sys.argv[2:]], stdin=subprocess.DEVNULL,
		stdout=subprocess.PIPE, text=True, cwd=directory)
after = time.time()
print(run.stdout, end="")

failed = []
if run.returncode != 0:
	failed.append(f"exit status {run.returncode}")
lines = [re.fullmatch(r"(\d+\.\d{9}) (.*)", line) for line in run.stdout.splitlines()]
if None in lines:
	failed.append("a line does not begin with a time")
else:
	names = [line[2] for line in lines if line[2] not in FLUSHES]
	times = [float(line[1]) for line in lines]
	if names != EXPECTED:
		failed.append(f"{names}, not {EXPECTED}")
	if times != sorted(times):
		failed.append("the times are not in order")
	if times and not before - 0.01 <= times[0] <= times[-1] <= after + 0.01:
		failed.append("the times are not those of this run")
for what in failed:
	print("FAIL:", what, file=sys.stderr)
sys.exit(1 if failed else 0)
