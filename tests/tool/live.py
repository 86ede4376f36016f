#!/usr/bin/env python3
# live.py - posixtrace live in a terminal, and without one
#
# SPDX-License-Identifier: MIT
#
# usage: live.py POSIXTRACE LIVE_TARGET [TEST...]      exit status 0: as expected, 77: skipped
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from scene import Suite, expect, has_terminals, without_pidfd

# nohup ignores SIGHUP, and every viewer would inherit that.
signal.signal(signal.SIGHUP, signal.SIG_DFL)

TOOL, TARGET = map(os.path.abspath, sys.argv[1:3])
SLOW = int(os.environ.get("TEST_SLOW", "1"))
DEADLINE = 30 * SLOW


def wait_for(what, condition):
    """Polls until the condition is true. Returns its value."""
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise TimeoutError(what)


class Target:
    """A program that records the events it is asked for."""
    def __init__(self):
        self.process = subprocess.Popen([TARGET], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = self.process.pid
        self.process.stdout.readline()

    def record(self, count, name):
        self.process.stdin.write(f"{count} {name}\n")
        self.process.stdin.flush()
        self.process.stdout.readline()

    def end(self):
        if not self.process.stdin.closed:
            self.process.stdin.close()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


class Terminal:
    """posixtrace live in tmux. The shell around it saves the modes of the terminal before and after."""
    def __init__(self, *arguments, columns=80, lines=24, locale="C.UTF-8", environment="", messages=False):
        self.directory = tempfile.TemporaryDirectory()
        d = self.directory.name
        words = " ".join(f"'{word}'" for word in arguments)
        # Messages go to the terminal, or into a file.
        errors = "" if messages else f"2>{d}/errors"
        script = f"""trap : INT
stty -g >{d}/before
LC_ALL={locale} {environment} sh -c 'echo $$ >{d}/pid; exec "$@"' sh {TOOL} live {words} {errors}
echo $? >{d}/status
stty -g >{d}/after
mv {d}/status {d}/done
exec cat
"""
        with open(f"{d}/script", "w") as file:
            file.write(script)
        self.tmux("new-session", "-d", "-x", str(columns), "-y", str(lines), f"sh {d}/script")
        self.tmux("set", "-g", "status", "off")
        self.tmux("resize-window", "-x", str(columns), "-y", str(lines))

    def tmux(self, *words):
        command = ["tmux", "-u", "-S", f"{self.directory.name}/tmux", "-f", "/dev/null", *words]
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout

    def screen(self, *options):
        return self.tmux("capture-pane", "-p", *options)

    def shows(self, pattern):
        """Waits until the pattern is on the screen. Returns the match."""
        try:
            return wait_for(pattern, lambda: re.search(pattern, self.screen(), re.MULTILINE))
        except TimeoutError:
            print(f"-- not on the screen: {pattern}\n{self.screen()}", flush=True)
            raise

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def type(self, text):
        self.tmux("send-keys", "-l", text)

    def size(self, columns, lines):
        self.tmux("resize-window", "-x", str(columns), "-y", str(lines))

    def read(self, name):
        with open(f"{self.directory.name}/{name}") as file:
            return file.read().strip()

    def pid(self):
        wait_for("its process id", lambda: os.path.exists(f"{self.directory.name}/pid"))
        return wait_for("its process id", lambda: int(self.read("pid") or 0))

    def ended(self):
        """Waits for the end. Checks that the terminal is as before. Returns the exit status."""
        wait_for("its end", lambda: os.path.exists(f"{self.directory.name}/done"))
        expect(self.read("before") == self.read("after"), "the terminal's modes have changed")
        flags = self.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag}").strip()
        expect(flags == "0 1", f"the terminal was left with another screen, or without cursor: {flags}")
        return int(self.read("done"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.tmux("kill-server")
        except subprocess.CalledProcessError:
            pass
        self.directory.cleanup()


def watch(target, *arguments, **options):
    """Returns a view of the target that has begun."""
    terminal = Terminal("-p", str(target.pid), *arguments, **options)
    try:
        terminal.shows("running|EVENT")
    except BaseException:
        terminal.__exit__()
        raise
    return terminal


def row(name, count):
    return rf"^{re.escape(name)} +{count} "


# -- On the screen ----------------------------------------------------------------------------------


def test_screen():
    with Target() as target, watch(target) as t:
        target.record(3, "sql.row")
        target.record(2, "note")
        t.shows(row("sql.row", 3))
        t.shows(row("note", 2))
        t.shows(rf"^ posixtrace live +{target.pid} live_target +running +\d\d:\d\d:\d\d")
        t.shows(r"^5 events .* lost 0$")
        t.shows(rf"^\d\d:\d\d:\d\d\.\d{{6}} live_[a-z]*/{target.pid} +sql.row \{{number=3 time=1000 ?ns\}}$")
        t.shows(r'note "some text"$')
        t.shows(r"^sql.row .*[▁▂▃▄▅▆▇█]")
        target.record(1, "named.later")
        t.shows(row("named.later", 1))
        target.record(1, "a\u202eb\u200bc\u00add")
        t.shows(re.escape(r" a\xe2\x80\xaeb\xe2\x80\x8bc\xc2\xadd "))
        t.keys("q")
        expect(t.ended() == 0, "exit status after q")


def test_ascii_only():
    with Target() as target, watch(target, locale="C") as t:
        target.record(3, "sql.row")
        t.shows(row("sql.row", 3))
        t.shows(r"^sql.row .*@")
        expect(t.screen().isascii(), "characters that are not ASCII where the locale has none")
        t.keys("q")
        t.ended()


def test_keys():
    with Target() as target, watch(target) as t:
        target.record(3, "sql.row")
        target.record(5, "note")
        t.shows(row("note", 5))
        t.keys("s")
        t.shows(r"sort: count")
        t.shows(r"^note .*\n(.*\n)*^sql.row ")
        t.keys("s")
        t.shows(r"sort: name")
        t.shows(r"^note .*\nsql.row ")
        t.keys("/")
        t.type("row")
        t.shows("^/row$")
        t.keys("Enter")
        t.shows(r"sort: name +/row")
        wait_for("no other rows", lambda: not re.search("^(note|posix_trace_start) ", t.screen(), re.MULTILINE))
        t.keys("/", "C-u", "Enter")
        t.shows(row("note", 5))
        t.keys("/", "x", "Escape")
        t.shows(r"sort: name +q quit")
        t.keys("?")
        t.shows("^KEYS$")
        t.keys("?")
        t.shows("^LATEST EVENTS$")
        # q in the help ends the help, and not the program.
        t.keys("?")
        t.shows("^KEYS$")
        t.keys("q")
        t.shows("^LATEST EVENTS$")
        t.keys("r")
        t.shows(row("note", 0))
        t.shows("^0 events")
        target.record(2, "note")
        t.shows(row("note", 2))
        t.keys("q")
        expect(t.ended() == 0, "exit status after q")


def test_pause():
    with Target() as target, watch(target) as t:
        target.record(3, "sql.row")
        t.shows(row("sql.row", 3))
        t.keys("p")
        t.shows("PAUSED")
        target.record(4, "sql.row")
        # The clock goes on: it has been drawn again, some times.
        clock = t.shows(r"\d\d:\d\d:\d\d$").group()
        wait_for("the clock", lambda: t.shows(r"\d\d:\d\d:\d\d$").group() != clock)
        expect(re.search(row("sql.row", 3), t.screen(), re.MULTILINE), "what is paused goes on")
        t.keys("Space")
        t.shows(row("sql.row", 7))
        t.shows("running")
        t.keys("q")
        t.ended()


def test_scroll():
    with Target() as target, watch(target) as t:
        target.record(200, "sql.row")
        t.shows(r"\{number=200 ")
        t.keys("e")
        t.shows(r"\{number=181 ")
        expect("EVENT  " not in t.screen(), "the table is there with the events expanded")
        t.keys("PPage")
        t.shows(r"before the latest")
        t.shows(r"\{number=161 ")
        t.keys("Up")
        t.shows(r"\{number=160 ")
        t.keys("Home")
        t.shows(r"\{number=1 ")
        t.keys("End")
        t.shows(r"\{number=200 ")
        t.keys("e")
        for number in range(40):
            target.record(1, f"type.{number:02}")
        t.keys("s", "s")
        t.shows("sort: name")
        t.shows("^type.06 ")
        expect(not re.search("^type.39 ", t.screen(), re.MULTILINE), "a table longer than its place")
        t.keys("End")
        t.shows("^type.39 ")
        t.keys("Home")
        t.shows("^note ")
        t.keys("q")
        t.ended()


def test_sizes():
    with Target() as target, watch(target, columns=40, lines=10) as t:
        target.record(12345, "sql.row")
        t.shows(r"^sql.row +12.3k ")
        t.shows(r"^LATEST EVENTS$")
        t.shows(r"\? help")
        for columns, lines in (20, 3), (120, 40), (10, 2), (1, 1), (40, 10), (80, 24):
            t.size(columns, lines)
            # Where there is nothing to be seen it has to survive.
            if columns >= 20:
                t.shows(r"^sql.row +12345 " if columns > 60 else rf"^ {target.pid}")
            text = t.screen().split("\n")
            expect(max(map(len, text)) <= columns, f"longer lines than {columns}")
        t.shows(r"LAST MINUTE")
        t.keys("q")
        expect(t.ended() == 0, "exit status after other sizes")


def test_losses():
    with Target() as target, watch(target) as t:
        # of the latest events, the places where some are missing are seen in any case
        t.keys("/", "n", "o", "n", "e", "Enter")
        t.shows("no event type matches none")
        # It is stopped meanwhile, and the stream has 8 MiB.
        os.kill(t.pid(), signal.SIGSTOP)
        target.record(1000000, "sql.row")
        os.kill(t.pid(), signal.SIGCONT)
        lost = t.shows(r"lost (\d+(\.\d+)?)k")
        expect(float(lost.group(1)) > 100, f"lost {lost.group(1)}k")
        t.shows(r"-- [\d.]+k events lost --")
        t.shows("-- complete again from here --")
        t.keys("/", "C-u", "Enter")
        t.shows("^posix_trace_overflow")
        t.keys("q")
        t.ended()


def test_end():
    target = Target()
    with watch(target) as t:
        target.record(3, "sql.row")
        t.shows(row("sql.row", 3))
        target.end()
        t.shows(rf"^{target.pid} has ended; q quits")
        t.shows("ENDED")
        t.shows(row("sql.row", 3))
        expect(not os.path.exists(f"{t.directory.name}/done"), "it does not stay when the program has ended")
        t.keys("q")
        expect(t.ended() == 0, "exit status after the program's end")


def test_signals():
    for number in signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGSEGV, signal.SIGABRT:
        with Target() as target, watch(target) as t:
            print(number.name, flush=True)
            os.kill(t.pid(), number)
            status = t.ended()
            expect(status == 128 + number, f"exit status after {number.name}: {status}")
    with Target() as target, watch(target) as t:
        t.keys("C-c")
        expect(t.ended() == 128 + signal.SIGINT, "exit status after Ctrl-C")


def test_choose():
    with Target() as target:
        target.record(1, "sql.row")
        def mark():
            # Other processes may be in the list. The marked one is in reverse.
            match = re.search(r"\x1b\[[0-9;]*7m(?:\x1b\[\d+m)* +(\d+) ", t.screen("-e"))
            marked = int(match.group(1)) if match else 0
            if marked != target.pid:
                t.keys("Down" if marked < target.pid else "Up")
            return marked == target.pid
        with Terminal() as t:
            t.shows(rf"^ +{target.pid} +2 +0 +{re.escape(TARGET[:20])}|^ +{target.pid} ")
            wait_for("it to be marked", mark)
            t.keys("Enter")
            t.shows(rf"^ posixtrace live +{target.pid} live_target")
            target.record(3, "note")
            t.shows(row("note", 3))
            t.keys("q")
            expect(t.ended() == 0, "exit status after a choice")
        with Terminal(messages=True) as t:
            t.shows(rf"^ +{target.pid} ")
            wait_for("it to be marked", mark)
            # The process ends after it was chosen; the list does not show that yet.
            os.kill(t.pid(), signal.SIGSTOP)
            target.end()
            t.keys("Enter")
            os.kill(t.pid(), signal.SIGCONT)
            expect(t.ended() == 1, "exit status after a choice that is gone")
            t.shows("there is no such process$")
    with Terminal() as t:
        t.shows("which process")
        t.keys("q")
        expect(t.ended() == 0, "exit status without a choice")


def test_command():
    with Terminal("--", TARGET, "5") as t:
        t.shows(row("sql.row", 5))
        t.shows("has ended; q quits")
        expect("ready" not in t.screen(), "what the command prints is on the screen")
        t.keys("q")
        expect(t.ended() == 0, "exit status after a command")
    with Terminal("-o", "/dev/null", "--", TARGET, "5", "stay") as t:
        t.shows(row("sql.row", 5))
        pid = int(t.shows(r"^ posixtrace live +(\d+) live_target").group(1))
        t.keys("q")
        expect(t.ended() == 0, "exit status after a command that stays")
        wait_for("its end", lambda: not lives(pid))
    with Terminal("--", "/no/such/command") as t:
        expect(t.ended() == 127, "exit status without a command")
        expect("no such command" in t.read("errors"), f"message: {t.read('errors')}")


def lives(pid):
    try:
        with open(f"/proc/{pid}/status") as file:
            return "\nState:\tZ" not in file.read()
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_no_view():
    with tempfile.TemporaryDirectory() as d:
        with Terminal("--", "touch", f"{d}/file", environment="TERM=no-such-terminal") as t:
            expect(t.ended() == 1, "exit status of a command with an unknown terminal")
            expect("TERM=no-such-terminal" in t.read("errors"), f"message: {t.read('errors')}")
        expect(not os.listdir(d), "the command was started, without a view")


def test_silent():
    sleep = subprocess.Popen(["sleep", "1000"])
    with Terminal("-p", str(sleep.pid)) as t:
        t.shows("has not loaded libposixtrace")
        sleep.kill()
        sleep.wait()
        t.shows("has ended; q quits")
        t.keys("q")
        t.ended()
    with Terminal("-p", str(sleep.pid), environment="TERM=no-such-terminal") as t:
        expect(t.ended() == 1, "exit status without the process")


def test_terminals():
    for name in "xterm", "vt100", "linux", "screen", "dumb":
        with Target() as target, Terminal("-p", str(target.pid), environment=f"TERM={name}") as t:
            target.record(3, "sql.row")
            wait_for(f"{name}", lambda: "sql.row" in t.screen() or os.path.exists(f"{t.directory.name}/done"))
            t.keys("q")
            wait_for(f"end on {name}", lambda: os.path.exists(f"{t.directory.name}/done"))
            expect(t.read("done") == "0" or "--batch" in t.read("errors"),
                   f"{name}: {t.read('done')} {t.read('errors')}")


# -- Without one ------------------------------------------------------------------------------------


def run(*arguments):
    return subprocess.run([TOOL, "live", *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, timeout=DEADLINE)


def test_batch():
    done = run("-b", "2", "--interval", "10s", "-o", "/dev/null", "--", TARGET, "7")
    expect(done.returncode == 0, f"batch: {done}")
    # The program ends within the first interval: one table has everything.
    expect(done.stdout.count("COUNT") == 1 and " (ended)  7 events" in done.stdout, f"batch: {done.stdout}")
    expect(re.search(r"^ +7 +\d+\.\d +\d+\.\d  sql.row$", done.stdout, re.MULTILINE), f"batch: {done.stdout}")
    # The shell executes the program in its place, or as a child.
    for words in ("sh", "-c", f"exec {TARGET} 7"), ("--children", "sh", "-c", f"{TARGET} 7; true"):
        done = run("-b", "1", "--interval", "10s", "-o", "/dev/null", *words)
        expect(re.search(r"^ +7 +\d+\.\d +\d+\.\d  sql.row$", done.stdout, re.MULTILINE), f"{words}: {done.stdout}")
    with Target() as target:
        done = run("--once", "--interval", "100ms", "-p", str(target.pid))
        expect("ended" not in done.stdout and "posix_trace_" not in done.stdout and " 0 events" in done.stdout,
               f"once: {done.stdout}")
        done = run("--once", "--system", "--interval", "100ms", "-p", str(target.pid))
        expect("ended" not in done.stdout and re.search(r"^ +1 .*posix_trace_start$", done.stdout, re.MULTILINE),
               f"once: {done.stdout}")
        done = run("-b", "3", "--interval", "50ms", "-p", str(target.pid))
        expect(done.stdout.count("COUNT") == 3, f"three: {done.stdout}")


def test_names():
    """Reports patterns that match no event type, and wrong names of event types."""
    done = run("-e", "sqll.*", "--once", "--interval", "10s", "-o", "/dev/null", "--", TARGET, "7")
    expect(done.returncode == 1 and "-e sqll.*: no event type has that name; there are sql.row, note" in done.stderr,
           f"no such name: {done}")
    done = run("-e", "sql.*", "--once", "--interval", "10s", "-o", "/dev/null", "--", TARGET, "7")
    expect(done.returncode == 0 and not done.stderr, f"such a name: {done}")
    with Target() as target:
        target.record(1, "bad{a:u99}")
        done = run("--once", "--interval", "100ms", "-p", str(target.pid))
        expect(done.stderr.count("'u99' in bad{a:u99} is not a type") == 1, f"wrong layout: {done.stderr}")
        if has_terminals():
            with watch(target, "-e", "sqll.*") as t:
                t.shows("^-e sqll.*: no event type has that name; there are sql.row")
                t.keys("q")
                expect(t.ended() == 0, "exit status")


def test_as_json():
    done = run("--json", "-o", "/dev/null", "--", TARGET, "7")
    last = json.loads(done.stdout.splitlines()[-1])
    types = {t["name"]: t for t in last["types"]}
    expect(last["ended"] and last["lost"] == 0 and last["events"] == 7 and last["command"] == "live_target", f"{last}")
    expect(types["sql.row"]["events"] == 7 and types["sql.row"]["bytes"] == 7 * 16, f"{types}")


def test_only():
    with Target() as target:
        viewer = subprocess.Popen([TOOL, "live", "-e", "!sql.row", "--json", "--interval", "50ms", "-p",
                                   str(target.pid)],
            stdout=subprocess.PIPE, text=True)
        json.loads(viewer.stdout.readline())
        target.record(5, "sql.row")
        target.record(4, "note")
        target.end()
        last = json.loads(viewer.stdout.read().splitlines()[-1])
        viewer.wait()
    counts = {t["name"]: t["events"] for t in last["types"]}
    expect(counts.get("note") == 4 and "sql.row" not in counts, f"-e '!sql.row': {counts}")


def test_where():
    """--where counts only events that satisfy it; types that cannot do so are not recorded."""
    words = ["--json", "-o", "/dev/null", "--where"]
    done = run(*words, "number > 5 && process == live_target", "--", TARGET, "7")
    last = json.loads(done.stdout.splitlines()[-1])
    expect(last["events"] == 2, f"--where: {last}")
    done = run(*words, "event == note", "--", TARGET, "7")
    last = json.loads(done.stdout.splitlines()[-1])
    expect(last["events"] == 0, f"--where: {last}")
    done = run(*words, "nmber > 5", "--", TARGET, "7")
    expect(done.returncode == 1 and "no event type has a field 'nmber'; there are number, time" in done.stderr,
           f"--where: {done}")


def test_command_ends():
    """When there are no more tables, for whatever reason."""
    for end in signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL, signal.SIGPIPE, "full":
        with tempfile.TemporaryDirectory() as d, open("/dev/full", "w") as full:
            words = ["--json", "--interval", "500ms", "--", "sh", "-c",
                     f"echo $$ >{d}/new; mv {d}/new {d}/pid; exec sleep 1000"]
            viewer = subprocess.Popen([TOOL, "live", *words], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                stdout=full if end == "full" else subprocess.PIPE)
            wait_for("the command", lambda: os.path.exists(f"{d}/pid"))
            with open(f"{d}/pid") as file:
                pid = int(file.read())
            if end == signal.SIGPIPE:
                viewer.stdout.close()
            elif end != "full":
                viewer.send_signal(end)
            status = viewer.wait(DEADLINE)
            expect(status == (1 if end == "full" else -end), f"exit status after {end}: {status}")
            try:
                wait_for("its end", lambda: not lives(pid))
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                expect(False, f"the command lives on after {end}")


def test_not_reaped():
    """Notices the end of a process that is still a zombie."""
    with Target() as target:
        viewer = subprocess.Popen([TOOL, "live", "--json", "--interval", "50ms", "-p", str(target.pid)],
                                  stdout=subprocess.PIPE, text=True,
            preexec_fn=without_pidfd)
        line = viewer.stdout.readline()
        if line:
            target.process.kill()
            try:
                last = viewer.communicate(timeout=DEADLINE)[0].splitlines()[-1]
                expect(json.loads(last)["ended"], f"without pidfd_open(): {last}")
            finally:
                viewer.kill()
        expect(viewer.wait() in (0, 77), f"without pidfd_open(): {viewer.returncode}")


def test_damaged():
    """A process whose files are damaged."""
    with Target() as target:
        target.record(1, "note")
        page, = Path("/dev/shm").glob(f"posixtrace-*/page-{target.pid}-*")
        whole = page.read_bytes()
        with page.open("r+b") as file:
            file.write(bytes(64))
        done = run("-b", "1", "-p", str(target.pid))
        expect(done.returncode == 1 and "its files in /dev/shm are damaged, or of another version" in done.stderr and
               f"posixtrace doctor -p {target.pid}" in done.stderr, f"{done}")
        with page.open("r+b") as file:
            file.write(whole[:64])


def test_usage():
    for words, status, message in (
            (["-p", "1", "--", "true"], 2, "cannot be combined"), (["-b", "0"], 2, "--batch 0"),
            (["-b", "1"], 2, "no process to watch"),
            (["-p", "x"], 2, "not a number"), (["-o", "x", "-p", "1"], 2, "-o is for the output of COMMAND"),
            (["--interval", "1ms", "-p", "1"], 2, "50ms"), (["--interval", "0", "-p", "1"], 2, "50ms"),
            (["-p", str(os.getpid())], 1, "not a terminal"), (["-b", "1", "-p", "999999999"], 1, "no such process"),
            (["-b", "1", "--", "/no/such/command"], 127, "no such command"), (["-b", "1", "--", "/"], 126, "/"),
            (["--nonsense"], 2, "--nonsense")):
        done = run(*words)
        expect(done.returncode == status and message in done.stderr and done.stderr.startswith("posixtrace live: ") and
            not done.stdout, f"{words}: {done}")
    done = run("--help")
    expect(done.returncode == 0 and done.stdout.startswith("usage: posixtrace live ") and not done.stderr,
           f"--help: {done}")


WITHOUT_TERMINAL = {"test_batch", "test_as_json", "test_only", "test_where", "test_command_ends", "test_not_reaped",
                    "test_damaged", "test_usage"}
if subprocess.run([TOOL, "live", "--help"], capture_output=True).returncode != 0:
    print("skipped: built without curses, so there is no such subcommand")
    sys.exit(77)
there = shutil.which("tmux") and has_terminals()
Suite(globals()).main(needs=globals().keys() - WITHOUT_TERMINAL,
                      missing="" if there else "there is no tmux, or no terminal")
