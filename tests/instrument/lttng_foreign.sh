#!/bin/sh
#
# lttng_foreign.sh - programs of others that have tracepoints for LTTng-UST, each with something to do
#
#     lttng_foreign.sh mir | launch | metrics | qemu FOLDER
#
#   mir      Debian's mir_demo_server, which shows the window of a client for 4 seconds
#   launch   Debian's lomiri-app-launch, which starts an application, twice
#   metrics  Debian's lomiri-ui-toolkit-launcher, which loads its provider, and shows a turning square for 6 seconds
#   qemu     qemu-img and qemu-io of FOLDER: disks are made, written, read, converted, compared, checked and merged
#
# For lttng_beside.py, or record --lttng. The first three need a display or a session bus (script/test-more).
#
# SPDX-License-Identifier: MIT

set -e
work=$(mktemp -d)
trap 'cd / && rm -rf "$work"' EXIT
chmod 700 "$work"
cd "$work"
export XDG_RUNTIME_DIR="$work" HOME="$work"

case $1 in
mir)
	mir_demo_server --platform-display-libs mir:x11 --platform-rendering-libs mir:x11 --x11-output 320x200 \
		--console-provider none --compositor-report lttng --display-report lttng --input-report lttng \
		--scene-report lttng --shared-library-prober-report lttng \
		--test-client mir_demo_client_wayland --test-timeout 4 >log 2>&1 || { tail -n 5 log && exit 1; }
	;;
launch)
	mkdir -p share/applications
	export XDG_DATA_HOME="$work/share" XDG_DATA_DIRS="$work/share:/usr/share"
	printf '[Desktop Entry]\nType=Application\nName=Clock\nExec=true\nIcon=clock\nX-Lomiri-Touch=true\n' \
		>share/applications/clock.desktop
	# It waits for the end of the application, of which systemd would tell.
	for _ in 1 2; do
		timeout 5 lomiri-app-launch clock >log 2>&1 || [ $? = 124 ] || { tail -n 5 log && exit 1; }
	done
	;;
metrics)
	cat >square.qml <<-'END'
		import QtQuick 2.4
		Rectangle {
			width: 200; height: 200
			Rectangle {
				width: 80; height: 80; color: "red"; anchors.centerIn: parent
				RotationAnimation on rotation { from: 0; to: 360; duration: 1000; loops: -1 }
			}
		}
	END
	timeout 6 lomiri-ui-toolkit-launcher --metrics-logging lttng square.qml >log 2>&1 || [ $? = 124 ] ||
		{ tail -n 5 log && exit 1; }
	;;
qemu)
	PATH=$2:$PATH
	qemu-img create -q -f qcow2 disk 64M
	qemu-io -c 'write -q -P 5 0 4M' -c 'aio_write -q 8M 64k' -c 'aio_read -q 0 64k' -c flush -c 'discard -q 0 64k' \
		-c 'write -q -z 1M 1M' disk
	qemu-img snapshot -c first disk
	qemu-img convert -O qcow2 -c disk small
	qemu-img convert -O vmdk disk other
	qemu-img compare -q disk small
	qemu-img check -q disk
	qemu-img create -q -f qcow2 -b disk -F qcow2 over
	qemu-io -c 'write -q -P 9 32k 300k' over
	qemu-img commit -q over
	qemu-img info --output=json disk >/dev/null
	qemu-img map --output=json disk >/dev/null
	;;
*)
	sed -n '3,14s/^# \{0,1\}//p' "$0" >&2
	exit 2
	;;
esac
