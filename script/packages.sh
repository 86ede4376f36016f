# shellcheck shell=sh
# packages.sh - installs the Debian packages that are missing; to be sourced
#
#     packages_install PACKAGE...     returns 0 if all are installed afterwards
#     packages_there PACKAGE...       returns 0 if all are installed
#
# Does nothing, and needs no network, if no package is missing. Uses sudo if it
# is not run by root.
#
# SPDX-License-Identifier: MIT

packages_missing()
{
	for package; do
		case $(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null) in
		installed) ;;
		*) printf ' %s' "$package" ;;
		esac
	done
}

packages_there()
{
	[ -z "$(packages_missing "$@")" ]
}

packages_apt()
{
	if [ "$(id -u)" -eq 0 ]; then
		DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 "$@"
	else
		sudo DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 "$@"
	fi
}

packages_install()
{
	if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
		echo "-- not a Debian system: these packages, or what they are called here, must be there: $*"
		return 0
	fi
	packages_wanted=$(packages_missing "$@")
	[ -n "$packages_wanted" ] || return 0
	if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
		echo "-- not root, and there is no sudo. Missing:$packages_wanted" >&2
		return 1
	fi

	echo "-- installs with apt-get:$packages_wanted"
	packages_log=$(mktemp) || return 1
	# The package lists may be missing, or too old: update them and try again.
	# shellcheck disable=SC2086 # one word each
	if packages_apt install --yes --no-install-recommends $packages_wanted </dev/null >"$packages_log" 2>&1 ||
		{ packages_apt update </dev/null >"$packages_log" 2>&1 &&
			packages_apt install --yes --no-install-recommends $packages_wanted </dev/null \
				>>"$packages_log" 2>&1; }; then
		rm -f "$packages_log"
		return 0
	fi
	tail -n 20 "$packages_log" >&2
	rm -f "$packages_log"
	echo "-- apt-get could not install:$packages_wanted" >&2
	return 1
}
