# shellcheck shell=sh
# parts.sh - builds and runs parts of the tests, and adds up their results; to be sourced
#
# The current directory is that of the project; $root is the directory to build into. Where other users cannot get to
# it, as in root's home directory, $root becomes a link to a directory in /var/tmp: some tests become other users.
#
# SPDX-License-Identifier: MIT

. script/packages.sh
passed=0 failed=0 skipped=0
failures= # a line for each
# One more than there are processors, because many tests wait for others most of the time.
jobs=$(($(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2) + 1))
# Streams are in /dev/shm, of which one test needs up to 48 MiB. In a container it often has 64 MiB.
room=$(df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 { print int($2 / 1024 / 48) }')
if [ "${room:-$jobs}" -lt "$jobs" ]; then
	jobs=$((room > 1 ? room : 1))
fi
# Failures must not depend on the environment of the caller.
unset MESON_TESTTHREADS TEST_SLOW || :
exec </dev/null

# reached: whether other users can get to the current directory
reached()
{
	directory=$PWD
	while [ "$directory" ]; do
		[ "$(find "$directory" -maxdepth 0 -perm -001)" ] || return 1
		directory=${directory%/*}
	done
}

if [ "$(id -u)" = 0 ] && ! reached; then
	if [ ! -L "$root" ] || [ ! -O "$root/" ]; then
		rm -rf "$root"
		elsewhere=$(mktemp -d /var/tmp/posixtrace-test.XXXXXX) || exit 1
		chmod 755 "$elsewhere"
		ln -s "$elsewhere" "$root"
	fi
	root=$(readlink "$root")
	echo "-- builds into $root, because other users, as whom some tests run, cannot get to $PWD"
fi

part()
{
	printf '\n== %s\n' "$*"
}

pass()
{
	passed=$((passed + 1))
	echo "ok   $*"
}

fail()
{
	failed=$((failed + 1))
	failures="$failures
FAIL $*"
	echo "FAIL $*"
}

skip()
{
	skipped=$((skipped + 1))
	echo "skip $*"
}

# finish: prints all failures again, so that they are at the end of the output, and the sum
finish()
{
	[ -z "$failures" ] || printf '\n== What failed\n%s\n' "$failures"
	printf '\n%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
	[ "$failed" -eq 0 ]
	exit
}

# build NAME [--for "SUITE..."] OPTION...: builds into $root/NAME everything, or what the tests of these suites need; a
# failure is counted and printed
build()
{
	directory=$root/$1
	name=$1
	suites=
	shift
	if [ "${1-}" = --for ]; then
		suites=$2
		shift 2
	fi
	mkdir -p "$directory"
	{
		reconfigure=
		[ ! -f "$directory/build.ninja" ] || reconfigure=--reconfigure
		# shellcheck disable=SC2046 # one word each
		meson setup $reconfigure "$directory" "$@" && ninja -C "$directory" $(needed)
	} >"$directory/log" 2>&1 || {
		grep -E -A8 'error|FAILED|ERROR|undefined' "$directory/log" | tail -n 60
		fail "build $name (all of it: $directory/log)"
		return 1
	}
	grep -E -A4 'warning:' "$directory/log" || :
}

# needed: prints what ninja has to build for $suites
needed()
{
	[ -n "$suites" ] || return 0
	meson introspect --tests --targets "$directory" | python3 -c '
import json
import os
import sys

wanted = set(sys.argv[2:])
root = os.path.realpath(sys.argv[1])
said = json.load(sys.stdin)
files = {target["id"]: target["filename"] for target in said["targets"]}
for test in said["tests"]:
	if wanted & {suite.split(":")[-1] for suite in test["suite"]}:
		for target in test["depends"]:
			print("\n".join(os.path.relpath(file, root) for file in files[target]))
' "$directory" $suites | sort -u
}

# chosen: prints the arguments by which meson test runs $suites, those of the last build --for
chosen()
{
	for suite in $suites; do
		printf -- '--suite %s ' "$suite"
	done
}

# run NAME [WRAPPER...] -- ARGUMENT...: runs meson test with the arguments, and adds up its results
run()
{
	directory=$root/$1
	shift
	wrapper=
	while [ "$1" != -- ]; do
		wrapper="$wrapper $1"
		shift
	done
	shift
	rm -f "$directory"/meson-logs/results*.json # of a setup, its name is in the middle
	# shellcheck disable=SC2086 # one word each
	$wrapper meson test -C "$directory" --no-rebuild --logbase results --print-errorlogs --num-processes "$jobs" \
		"$@" \
		>"$directory/test-log" 2>&1
	status=$?
	cat "$directory/test-log"
	# The first line has the counts; the others have the names of failed tests, and the end of their output.
	results=$(python3 - "$directory"/meson-logs/results*.json <<'END'
import json
import sys

LAST_WORDS = 25
count = {"pass": 0, "fail": 0, "skip": 0}
failures = []
for line in open(sys.argv[1]):
	test = json.loads(line)
	result = "pass" if test["result"] in ("OK", "EXPECTEDFAIL") else "skip" if test["result"] == "SKIP" else "fail"
	count[result] += 1
	if result == "fail":
		failures.append(f"FAIL {test['name']}: {test['result']} after {test['duration']:.1f} s")
		said = (test.get("stdout", "") + "\n" + test.get("stderr", "")).splitlines()
		failures += ["     " + words for words in said
			if words.strip() and not words.startswith("ok ")][-LAST_WORDS:]
print(count["pass"], count["fail"], count["skip"])
print("\n".join(failures))
END
	) || results=
	if [ -z "$results" ]; then
		fail "meson test in $directory: exit status $status"
		return
	fi
	told=$(printf '%s\n' "$results" | tail -n +2)
	[ -z "$told" ] || failures="$failures
${directory#"$root/"}: $told"
	# shellcheck disable=SC2046
	set -- $(printf '%s\n' "$results" | head -n 1)
	passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
	[ "$status" -eq 0 ] || [ "$2" -gt 0 ] || fail "meson test in $directory: exit status $status"
}

# works PROGRAM FLAG...: returns 0 if a program with a thread can be built with these flags, and run
works()
{
	program=$root/$1
	shift
	cat >"$program.c" <<'END'
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void *run(void *p) { return p; }
int main(void)
{
	pthread_t t;
	int status;
	if (fork() == 0)
		_exit(pthread_create(&t, 0, run, 0) || pthread_join(t, 0));
	return wait(&status) < 0 || status;
}
END
	gcc "$@" "$program.c" -o "$program" -pthread >"$program.log" 2>&1
}

# build_sanitizers: builds into $root/sanitizers; skipped if the machine does not support it
build_sanitizers()
{
	if ! works address -fsanitize=address,undefined || ! "$root/address" >"$root/address.log" 2>&1; then
		skip "sanitizers: AddressSanitizer does not run here: $(tail -n 1 "$root/address.log")"
		return 1
	fi
	build sanitizers -Db_sanitize=address,undefined
}

# sanitized ARGUMENT...: runs meson test with the arguments in $root/sanitizers
sanitized()
{
	ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1 \
		UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
		run sanitizers -- --setup sanitizers "$@"
}

# build_plain_for_valgrind: builds into $root/plain; skipped if valgrind does not run
build_plain_for_valgrind()
{
	packages_install valgrind || :
	if ! command -v valgrind >/dev/null || ! valgrind --quiet --error-exitcode=1 true >"$root/valgrind.log" 2>&1
	then
		skip "valgrind: it does not run here"
		return 1
	fi
	build plain
}

# build_musl [--for "SUITE..."]: builds into $root/musl, linked statically; skipped if the machine does not support it
build_musl()
{
	if [ "$(uname -m)" != x86_64 ] || ! packages_install musl-tools linux-libc-dev ||
		! command -v musl-gcc >/dev/null; then
		skip "musl: there is no musl-gcc, or not for this processor"
		return 1
	fi
	# musl has no kernel headers: use those of the system, and no other headers of the system.
	headers=$PWD/$root/musl-headers
	mkdir -p "$headers"
	ln -sfn /usr/include/linux "$headers/linux"
	ln -sfn /usr/include/asm-generic "$headers/asm-generic"
	ln -sfn "/usr/include/$(gcc -print-multiarch)/asm" "$headers/asm"
	build musl "$@" --cross-file tests/cross/musl.ini "-Dc_args=-isystem$headers" -Dsqlite=disabled
}
