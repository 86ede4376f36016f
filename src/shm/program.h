/*
 * program.h - what the processes of a stream execute, as they have described it in the stream
 *
 * A process stores its description before its first event in a stream with a log. The process that writes the log
 * reads it from there, even when the traced process or the log's creator has ended. A description is split into
 * entries of equal size, which are found by their key. So nothing has to be repaired after a death, and any entry is
 * good for any part. An entry is written between key = 0 and the new key.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SHM_PROGRAM_H
#define SHM_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shm/stream.h"

#define PROGRAM_SIZE_MAX ((size_t)PROGRAM_PARTS * PROGRAM_DATA)

struct program_key {
	uint64_t key;
	uint32_t pid;
};

/*
 * Stores a description. If no entry is empty, replaces an entry that is in the log, preferably of a process that has
 * ended; otherwise, unless the stream keeps its first events, the oldest entry of a process that has ended. Returns
 * false if there was no room. Safe in handlers; never waits. Sets *crowded if most entries are not in the log yet.
 */
bool program_leave(const struct stream *s, struct program_key key, const unsigned char *bytes, size_t size,
                   bool *crowded);
/* Gets the key of the description in entry i. Returns false unless entry i is a first part that the log lacks. */
bool program_new(const struct stream *s, uint32_t i, struct program_key *key);
/* Copies a whole description and returns its size. Returns 0 if parts are missing, or were replaced meanwhile. */
size_t program_read(const struct stream *s, struct program_key key, unsigned char *bytes, size_t size);
/* Marks a description that is in the log, or of no use. */
void program_reported(const struct stream *s, struct program_key key);
/* Clears all marks of program_reported(), because the log begins anew. */
void program_forget_reported(const struct stream *s);

#endif
