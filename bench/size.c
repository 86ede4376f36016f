/*
 * size.c - how many bytes of a log does an event take?
 *
 * Data that looks like that of real programs, and random data, which no log can
 * make smaller; an event in about a microsecond, of four types. The whole file counts.
 *
 * In place of a floor stands what LTTng's CTF takes for the same events with the
 * same fields. LTTng's own files are measured by script/bench --peers.
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
 * Bytes of an event of LTTng 2.13, CTF 1.8, with the contexts vpid, vtid and ip and a payload of fixed
 * length: compact header of 32 bits (5 for the type, 27 for the time), 4, 4, 8, and the payload. Where
 * unaligned access is cheap, as on x86 and arm64, it aligns nothing; elsewhere it would be 32 and
 * 56. What its packets need besides is left out.
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
				/* A request does not go into 8 bytes; of 8 bytes it is the counter. */
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
