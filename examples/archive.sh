#!/bin/sh
#
# archive.sh - packs folders, with trace points: a span for each folder and for each command, errors, a counter
#
#     posixtrace record --children -- sh archive.sh OUT FOLDER...
#
# Without posixtrace the script does the same. docs/shell.md.
#
# SPDX-License-Identifier: MIT

# Stands in for posixtrace where it is not installed: a span is its command, an event is nothing.
command -v posixtrace >/dev/null || posixtrace()
{
	[ "$1" = span ] || return 0
	while [ "$1" != -- ]; do
		shift
	done
	shift
	"$@"
}

# archive FOLDER - packs it, and reads the archive again
archive()
{
	file=$out/$(basename "$1").tar
	posixtrace span -f folder="$1" archive.pack -- tar -cf "$file" -C "$(dirname "$1")" "$(basename "$1")" &&
		posixtrace span archive.check -- tar -tf "$file" >/dev/null &&
		posixtrace event -f folder="$1" -f size:u64/B="$(stat -c %s "$file")" archive.packed
}

[ $# -gt 1 ] || {
	echo "usage: archive.sh OUT FOLDER..." >&2
	exit 2
}
out=$1
shift
status=0
for folder do
	posixtrace event -f folder="$folder" archive.folder.begin
	archive "$folder" || {
		posixtrace event --as level=error -f folder="$folder" -f status:u8=$? archive.failed
		status=1
	}
	posixtrace event archive.folder.end
	shift
	posixtrace event --as counter -f value:u32=$# archive.left
done
exit $status
