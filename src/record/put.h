/*
 * put.h - writes the bytes of a record
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef RECORD_PUT_H
#define RECORD_PUT_H

/* First, because tests build the library with another <trace.h>. */
#include <trace.h>

#include <posixtrace/trace.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/copy.h"
#include "model/record.h"

/* The identity of the thread that records. */
struct owner_id {
	uint32_t pid;
	uint32_t tid; /* also goes into the chunk's lock, so never 0 */
	uint64_t pthread;
	char name[16];
	uint32_t acts_for; /* the thread that the owner record names instead; 0: this one */
};

/*
 * A call of posix_trace_event(), or of a function that records a system event. Where records are written, the length is
 * that of the record, and RECORD_TRUNCATED is added to the id if the data is longer.
 */
struct call {
	trace_event_id_t id;
	const void *data;
	size_t length;
	const void *address; /* where it was called */
};

/* A call that records a text between other bytes. */
struct text_call {
	trace_event_id_t id;
	const char *text;
	const struct posixtrace_around *around;
	unsigned sizes; /* POSIXTRACE_TEXT_SIZES, POSIXTRACE_TEXT_COUNTED */
};

static inline __attribute__((always_inline)) void put(unsigned char *at, struct call call, uint64_t ticks)
{
	struct record *r = (struct record *)at;

	r->length = (uint16_t)call.length;
	r->type = (uint16_t)call.id;
	r->reserved = 0;
	r->ticks = ticks;
	r->address = (uint64_t)(uintptr_t)call.address;
	copy(at + sizeof *r, call.data, (uint32_t)call.length);
}

/* Writes an owner record and returns its size. */
static inline uint32_t put_owner(unsigned char *at, const struct owner_id *w)
{
	struct record_owner *o = (struct record_owner *)at;

	memset(o, 0, sizeof *o);
	o->type = RECORD_OWNER;
	o->pid = w->pid;
	o->tid = w->acts_for ? w->acts_for : w->tid;
	o->thread = w->pthread;
	memcpy(o->name, w->name, sizeof o->name);
	return sizeof *o;
}

#endif
