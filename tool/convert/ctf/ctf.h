/*
 * ctf.h - the Common Trace Format, version 1.8: what the parts of convert --to ctf share
 *
 * A trace is a directory with a file `metadata`, which is text and says how the rest is to be read, and a file `events`:
 *
 *     packet, packet, ...           one for each segment of the log
 *
 *     packet:  magic u32, uuid 16 bytes, stream u32 | begin u64, end u64, content u64, size u64, number u64, discarded u64 | events
 *     event:   kind u32, time u64 | vpid u32, vtid u32, ip u64, truncated u8, procname | late u64 | fields
 *
 * Nothing is aligned, so all of an event but its time and its data is the same bytes for all events of a shape in a segment.
 * Times are ns since the Epoch; begin and end are those of the first and the last event, content and size are bits, number is the segment's
 * own, discarded counts the events that the stream has lost so far.
 *
 * kind: the event type, and FORM_... times CTF_TYPES: each kind has fixed fields. Times in a trace never go back, so events that
 * came late to the log have the time of the one before, and are kinds of their own, which also say how late.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CTF_H
#define CTF_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "event/layouts.h"
#include "logs/logfile.h"

#define CTF_TYPES 8192 /* more than there are ids of event types */
_Static_assert(CTF_TYPES >= EVENT_ID_END, "kinds");
#define CTF_LATE  (CTF_TYPES * FORMS)
#define CTF_KINDS (2 * CTF_LATE)
/* Readers of CTF count ns in 63 bits, and do not like the last of them. */
#define CTF_TIME_MAX (INT64_MAX - 1)

/* -- Packets: ctf_packet.c ------------------------------------------------------------------ */

/* A file of packets. */
struct ctf_file {
	const char *path; /* for messages */
	int fd;
	unsigned char uuid[16];
	unsigned char *buffer, *at;
	uint64_t written;  /* bytes, before the buffer */
	uint64_t packet;   /* offset of the packet that is open; UINT64_MAX: none is */
	uint64_t begin, end, number, discarded; /* of that */
};

/* What may be put after one call of ctf_room(). */
#define CTF_ROOM (UINT32_C(128) << 10)
#define CTF_BUFFER (UINT32_C(1) << 20)

/* All end the program by a message if that cannot be written. directory: a descriptor; path: the directory, for messages. */
void ctf_open(struct ctf_file *f, int directory, const char *path, const unsigned char uuid[16]);
void ctf_close(struct ctf_file *f);
void ctf_flush(struct ctf_file *f);

/* Room for CTF_ROOM more bytes. */
static inline void ctf_room(struct ctf_file *f)
{
	if (f->at > f->buffer + CTF_BUFFER - CTF_ROOM)
		ctf_flush(f);
}

/* Ends the packet before. discarded: since then. */
void ctf_packet(struct ctf_file *f, uint64_t begin, uint64_t number, uint64_t discarded);
/* The last event of the packet had this time. */
void ctf_packet_end(struct ctf_file *f, uint64_t end);

/* -- Metadata: ctf_metadata.c --------------------------------------------------------------- */

/* kinds: those that there are, CTF_KINDS. */
void ctf_metadata(int directory, const char *path, const struct logfile *log, const struct layouts *layouts,
                  const unsigned char uuid[16], const bool *kinds);

#endif
