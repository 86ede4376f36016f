# shellcheck shell=sh
# lttng.sh - a session of LTTng-UST for the benchmarks; to be sourced
#
#     lttng_begin DIRECTORY                   a session daemon, if none is running
#     lttng_session OPTION... -- CHANNEL-OPTION...
#                                             records bench:*, with vpid, vtid and ip, as people have it
#     lttng_session_end                       it is no more, and what it had to write is written
#     lttng_end                               nor is the daemon
#
# What they print goes to DIRECTORY/lttng.log.
#
# SPDX-License-Identifier: MIT

lttng_daemon=
lttng_session=

lttng_begin()
{
	lttng_log=$1/lttng.log
	# Without it, LTTng would want to know about the kernel's tracer, too.
	if ! pgrep -x lttng-sessiond >/dev/null; then
		setsid lttng-sessiond --no-kernel >"$lttng_log" 2>&1 </dev/null &
		lttng_daemon=$!
	fi
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		! lttng --no-sessiond list >>"$lttng_log" 2>&1 || return 0
		sleep 0.5
	done
	echo "-- the session daemon of LTTng does not answer:" >&2
	cat "$lttng_log" >&2
	return 1
}

lttng_session()
{
	lttng_session=posixtrace-bench-$$
	lttng_create=
	while [ "$1" != -- ]; do
		lttng_create="$lttng_create $1"
		shift
	done
	shift
	{
		# shellcheck disable=SC2086 # one word each
		lttng --no-sessiond create "$lttng_session" $lttng_create &&
			lttng --no-sessiond enable-channel --userspace --session="$lttng_session" "$@" bench &&
			lttng --no-sessiond add-context --userspace --session="$lttng_session" --channel=bench \
				--type=vpid --type=vtid --type=ip &&
			lttng --no-sessiond enable-event --userspace --session="$lttng_session" --channel=bench 'bench:*' &&
			lttng --no-sessiond start "$lttng_session"
	} >>"$lttng_log" 2>&1 </dev/null || {
		cat "$lttng_log" >&2
		return 1
	}
}

lttng_session_end()
{
	[ -z "$lttng_session" ] || lttng --no-sessiond destroy "$lttng_session" >>"$lttng_log" 2>&1
	lttng_session=
}

lttng_end()
{
	lttng_session_end
	[ -z "$lttng_daemon" ] || kill "$lttng_daemon" 2>/dev/null
	lttng_daemon=
}
