/*
 * packet.c - the packets of a trace in the Common Trace Format
 *
 * The beginning of a packet has values that are known only at its end. A packet may be larger than the buffer, so its
 * beginning may be in the file already.
 *
 * SPDX-License-Identifier: MIT
 */
#include "convert/ctf/packet.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/message.h"

#define MAGIC UINT32_C(0xc1fc1fc1)
/* Offset in the packet of the values that are known at its end: end, content, size. */
#define LATER   (4 + 16 + 4 + 8)
#define NO_PACKET UINT64_MAX

static void put(struct ctf_file *f, const void *bytes, size_t size)
{
	memcpy(f->at, bytes, size);
	f->at += size;
}

static void write_all(struct ctf_file *f, const void *bytes, size_t size, uint64_t offset)
{
	const unsigned char *p = bytes;

	while (size > 0) {
		ssize_t n = pwrite(f->fd, p, size, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			fail("%s: %s", f->path, strerror(errno));
		p += n;
		size -= (size_t)n;
		offset += (uint64_t)n;
	}
}

void ctf_flush(struct ctf_file *f)
{
	write_all(f, f->buffer, (size_t)(f->at - f->buffer), f->written);
	f->written += (uint64_t)(f->at - f->buffer);
	f->at = f->buffer;
}

void ctf_open(struct ctf_file *f, int directory, const char *path, const unsigned char uuid[16])
{
	*f = (struct ctf_file){ .packet = NO_PACKET, .buffer = malloc(CTF_BUFFER) };
	f->at = f->buffer;
	memcpy(f->uuid, uuid, 16);
	if (!f->buffer)
		fail("no memory");
	f->path = path;
	f->fd = openat(directory, "events", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (f->fd < 0)
		fail("%s: %s", f->path, strerror(errno));
}

static void finish(struct ctf_file *f)
{
	uint64_t size = f->written + (uint64_t)(f->at - f->buffer) - f->packet;
	const uint64_t later[] = { f->end, 8 * size, 8 * size };

	if (f->packet >= f->written)
		memcpy(f->buffer + (f->packet - f->written) + LATER, later, sizeof later);
	else
		write_all(f, later, sizeof later, f->packet + LATER);
	f->packet = NO_PACKET;
}

void ctf_packet(struct ctf_file *f, uint64_t begin, uint64_t number, uint64_t discarded)
{
	const uint32_t magic = MAGIC, stream = 0;

	if (f->packet != NO_PACKET)
		finish(f);
	/* Keep the header in one piece, in the buffer or in the file. */
	ctf_room(f);
	f->packet = f->written + (uint64_t)(f->at - f->buffer);
	f->begin = f->end = begin;
	f->discarded += discarded;
	put(f, &magic, 4);
	put(f, f->uuid, 16);
	put(f, &stream, 4);
	put(f, (const uint64_t[]){ begin, 0, 0, 0, number, f->discarded }, 6 * 8);
}

void ctf_packet_end(struct ctf_file *f, uint64_t end)
{
	f->end = end;
}

void ctf_close(struct ctf_file *f)
{
	if (f->packet != NO_PACKET)
		finish(f);
	ctf_flush(f);
	if (close(f->fd) != 0)
		fail("%s: %s", f->path, strerror(errno));
	free(f->buffer);
}
