/*
 * size.c - how many bytes of a log does an event take?
 *
 * Measures data like that of real programs, and random data, which no log can compress: about one event per
 * microsecond, of four types. The size of the whole file counts.
 *
 * In place of a floor stands the size of the same events with the same fields in LTTng's CTF. script/bench --peers
 * measures LTTng's own files.
 *
 * SPDX-License-Identifier: MIT
 */
#include <trace.h>

#include <stdio.h>
#include <unistd.h>

#include "events.h"
#include "rows.h"

static const struct section SIZE = { "size", "bytes per event, one in a microsecond", "CTF" };

/*
 * Returns the bytes of an event of LTTng 2.13, CTF 1.8, with the contexts vpid, vtid and ip and a payload of fixed
 * length: compact header of 32 bits (5 for the type, 27 for the time), 4, 4, 8, and the payload. Where unaligned access
 * is cheap, as on x86 and arm64, LTTng aligns nothing; elsewhere it would be 32 and 56. The overhead of packets is not
 * included.
 */
static double ctf_bytes(size_t len)
{
	return (double)(4 + 4 + 4 + 8 + len);
}

int main(int argc, char **argv)
{
	long events;

	bench_begin(argc, argv, 3, "bytes of a log");
	events_begin(true);
	events = bench.quick ? 20000 : 200000;
	for (int r = 0; r < bench.rounds; r++) {
		for (size_t len = 8; len <= EVENTS_LEN; len *= 4) {
			for (enum data what = 0; what < DATA; what++) {
				char name[64];
				int fd;

				snprintf(name, sizeof name, "%zu bytes, %s", len, data_name[what]);
				/* A request does not fit into 8 bytes: its first 8 bytes are the counter. */
				if ((len == 8 && what == REQUESTS) || !bench_wants(name))
					continue;
				fd = new_file();
				record_log(fd, events, what, len, true);
				bench_row(&SIZE, name, r, (double)size_of(fd) / (double)events, ctf_bytes(len));
				close(fd);
			}
		}
	}
	return bench_end();
}
