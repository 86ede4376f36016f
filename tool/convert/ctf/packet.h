/*
 * packet.h - the Common Trace Format, version 1.8, and its packets
 *
 * A trace is a directory with two files: `metadata`, a text that describes the format of the other one, and `events`:
 *
 *     packet, packet, ...           one for each segment of the log
 *
 *     packet:  magic u32, uuid 16 bytes, stream u32 |
 *              begin u64, end u64, content u64, size u64, number u64, discarded u64 | events
 *     event:   kind u32, time u64 | vpid u32, vtid u32, ip u64, truncated u8, procname | late u64 | fields
 *
 * Nothing is aligned, so events of one shape in one segment differ only in time and data. Times are ns since the Epoch;
 * begin and end are the times of the first and the last event; content and size are in bits; number is the number of
 * the segment; discarded counts the events that the stream has lost so far.
 *
 * kind is the event type plus FORM_... times CTF_TYPES: each kind has fixed fields. Times in a trace never decrease, so
 * a late event has the time of the previous event. Late events are kinds of their own, with a field that says how late.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CTF_PACKET_H
#define CTF_PACKET_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "event/layouts.h"
#include "logs/logfile.h"

#define CTF_TYPES 8192 /* more than ids of event types */
_Static_assert(CTF_TYPES >= EVENT_ID_END, "kinds");
#define CTF_LATE  (CTF_TYPES * FORMS)
#define CTF_KINDS (2 * CTF_LATE)
/* The last but one ns that fits into 63 bits; readers of CTF have trouble with the last one. */
#define CTF_TIME_MAX (INT64_MAX - 1)

/*
 * Ids of events in the trace of the kernel. A system call's begin and end have KERNEL_CALLS + 2 * the id of its event
 * type, and one more.
 */
enum { KERNEL_SWITCH, KERNEL_WAKING, KERNEL_WAKEUP, KERNEL_WAKEUP_NEW, KERNEL_CALLS };

/* -- Packets: ctf_packet.c ------------------------------------------------------------------ */

/* A file of packets. */
struct ctf_file {
	const char *path; /* for messages */
	int fd;
	unsigned char uuid[16];
	unsigned char *buffer, *at;
	uint64_t written;  /* bytes in the file, before the buffer */
	uint64_t packet;   /* offset of the open packet; UINT64_MAX: none */
	uint64_t begin, end, number, discarded; /* of the open packet */
};

/* The room after one call of ctf_room(). */
#define CTF_ROOM (UINT32_C(128) << 10)
#define CTF_BUFFER (UINT32_C(1) << 20)

/*
 * Opens the file. Like the functions below, ends the program with a message on failure. directory: a descriptor; path:
 * the directory, for messages.
 */
void ctf_open(struct ctf_file *f, int directory, const char *path, const unsigned char uuid[16]);
void ctf_close(struct ctf_file *f);
void ctf_flush(struct ctf_file *f);

/* Makes room for CTF_ROOM more bytes. */
static inline void ctf_room(struct ctf_file *f)
{
	if (f->at > f->buffer + CTF_BUFFER - CTF_ROOM)
		ctf_flush(f);
}

/* Ends the current packet and begins the next. discarded: events lost between them. */
void ctf_packet(struct ctf_file *f, uint64_t begin, uint64_t number, uint64_t discarded);
/* Sets the time of the last event of the packet. */
void ctf_packet_end(struct ctf_file *f, uint64_t end);

#endif
