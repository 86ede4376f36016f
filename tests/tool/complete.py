#!/usr/bin/env python3
# complete.py - what bash offers to complete, asked as bash asks
#
# SPDX-License-Identifier: MIT
#
# usage: complete.py POSIXTRACE LIVE_TARGET      exit status 0: as expected, 77: skipped
import os
import shutil
import subprocess
import sys
import tempfile

TOOL, TARGET = map(os.path.abspath, sys.argv[1:3])
SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "completion", "posixtrace.bash")
BASH = shutil.which("bash")
failed = []

# The words come as bash splits them; the last one is being typed.
ASK = """
source "$1"
shift
complete -p posixtrace >/dev/null || exit 1
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
COMP_LINE="$*"
COMP_POINT=${#COMP_LINE}
$(complete -p posixtrace | sed 's/.*-F \\([^ ]*\\) .*/\\1/') posixtrace \
    "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
((${#COMPREPLY[@]} == 0)) || printf '%s\\n' "${COMPREPLY[@]}"
"""


def check(ok, what):
    if not ok:
        failed.append(what)
        print(f"FAILED: {what}", flush=True)


def offers(*words):
    """What is offered for the last of the words."""
    done = subprocess.run([BASH, "--norc", "-c", ASK, "bash", SCRIPT, TOOL, *words], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    print(f"{words}: {done.stdout.split()}", flush=True)
    check(done.returncode == 0 and not done.stderr, f"{words}: {done}")
    return done.stdout.splitlines()


def subcommands():
    listed = [line.split()[0] for line in subprocess.run([TOOL, "help"], stdout=subprocess.PIPE,
        text=True).stdout.splitlines()
        if line.startswith("  ")]
    check(set(offers("")) == {*listed, "help", "--help", "--version"}, f"all that help lists: {listed}")
    check(offers("rep") == ["report"], "one subcommand")
    check(set(offers("help", "")) == {*listed, "help"}, "help of all")
    check(offers("no-such") == [], "no subcommand")
    for name in listed:
        options = offers(name, "--")
        check("--help" in options and len(set(options)) == len(options), f"options of {name}: {options}")
        usage = subprocess.run([TOOL, name, "--help"], stdout=subprocess.PIPE, text=True).stdout
        check(all(len(line) <= 80 for line in usage.splitlines()), f"lines of {name} --help that are too long")
        check(all(option in usage or option == "--help" for option in options),
              f"options of {name} that it does not have: {options}")


def options():
    check("--event" in offers("report", "--e") and offers("report", "--pi") == ["--pid"], "long options")
    check("-e" in offers("report", "-"), "short options")
    check(set(offers("event", "--u")) == {"--u8", "--u16", "--u32", "--u64"},
          "several options with arguments in a line")
    check(offers("event", "--f64", "") == [] == offers("event", "--u16", ""), "a number")
    check(offers("convert", "--to", "c") == ["ctf", "chrome", "csv"], "a format")
    check(offers("stat", "--by", "p") == ["process"], "a scope")
    check(set(offers("record", "--policy", "")) == {"flush", "loop", "until-full"}, "choices of an option")
    check(offers("record", "--loop", "--ch") == ["--children"], "an argument that may be missing is not the next word")
    check(offers("record", "--loop", "=", "") == [] == offers("record", "--loop", "="), "it is behind =")
    for words in ("--output", "=", "x.log"), ("--loop", "=", "4M"), ("--output", "x.log"), ("--loop",):
        check(offers("record", *words, "--ch") == ["--children"], f"an option behind {words}")
        check("bash" in offers("record", *words, "--", "bas"), f"a command behind {words}")


def files():
    with tempfile.TemporaryDirectory() as directory:
        for name in "one.log", "two words.log", "other":
            open(os.path.join(directory, name), "w").close()
        check(offers("report", f"{directory}/o") == [f"{directory}/one.log", f"{directory}/other"] or
            set(offers("report", f"{directory}/o")) == {f"{directory}/one.log", f"{directory}/other"}, "files")
        check(offers("convert", "-o", f"{directory}/t") == [f"{directory}/two words.log"], "a file to write")
        check(offers("report", f"{directory}/t") == [f"{directory}/two words.log"], "a file with a blank")


def processes():
    """Offers the event types of a process, with and without a layout."""
    target = subprocess.Popen([TARGET], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    target.stdout.readline()
    pid = str(target.pid)
    check(pid in offers("report", "--pid", ""), "process ids")
    check(pid in offers("report", "--pid", "=", pid[:-1]), "--pid=")
    check(offers("report", "--pid", pid, "-e", "") == ["note", "sql.row"], "event types of a process")
    check(offers("report", "--pid", pid, "-e", "sq") == ["sql.row"], "an event type")
    check(offers("report", "--pid", pid, "-e", "!no") == ["!note"], "all but an event type")
    check(str(os.getpid()) not in offers("report", "--pid", ""), "a process that has nothing of the library")
    target.stdin.close()
    target.wait()


def logs():
    """Of a log that a program has written of itself."""
    with tempfile.TemporaryDirectory() as directory:
        log = os.path.join(directory, "posixtrace.log")
        subprocess.run([TARGET, "log", log], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
        check(offers("report", log, "-e", "") == ["note", "sql.row"], "event types of a log")
        os.chdir(directory)
        check(offers("report", "-e", "s") == ["sql.row"], "event types of the usual log")
        check(offers("report", os.devnull, "-e", "s") == ["sql.row"], "no log")
        os.chdir("/")
        check(offers("report", "-e", "") == [], "event types without a log")


def commands():
    """Where a subcommand takes a command. Built without curses, there is none such here."""
    if "live" not in offers("li"):
        return
    check("bash" in offers("live", "--", "bas"), "a command behind --")
    check("bash" in offers("live", "--interval", "1s", "bas"), "a command behind an option with an argument")
    check("bash" in offers("live", "bas"), "a command")
    check(offers("live", "--interval", "") == [], "a time")
    check(offers("live", "--color", "a") == ["auto", "always"], "one of some words")
    check(set(offers("live", "--", "cat", "/etc/pass")) >= {"/etc/passwd"}, "files of a command")


if BASH is None:
    print("skipped: there is no bash")
    sys.exit(77)
os.chdir("/")
for part in subcommands, options, files, processes, logs, commands:
    part()
sys.exit(1 if failed else 0)
