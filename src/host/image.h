/*
 * image.h - what a process executes, as bytes
 *
 * The bytes of a frame PROCESS (docs/log-format.md): the executable, its mappings of executable memory with the
 * build-ids of their files, the parent, and the command line.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HOST_IMAGE_H
#define HOST_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/lines.h"

#define IMAGE_PATH_SIZE   4200
#define IMAGE_NOTES_SIZE  4096
#define IMAGE_COMMAND_MAX 1024 /* bytes of the command line; the rest is left out */

/* Working memory, which may be too large for a signal handler's stack. */
struct image_room {
	char line[LINES_BUFFER];
	char path[IMAGE_PATH_SIZE + 32];
	unsigned char first[IMAGE_NOTES_SIZE], more[IMAGE_NOTES_SIZE];
};

struct image_of {
	uint32_t number; /* as /proc calls the process; 0: the caller */
	uint32_t pid;    /* the process id to write into the bytes */
	uint64_t time;
	/*
	 * For another process: the user and group with whose rights its mapped files are opened, and whether to read
	 * its command line, for which the process can make the reader wait.
	 */
	uint32_t owner, group;
	bool command;
	/* Called for each executable mapping, whether the mapping fits into the bytes or not. May be null. */
	void (*range)(uint64_t start, uint64_t end, void *arg);
	void *arg;
};

/*
 * Describes a process. Returns the number of bytes, or 0 if nothing can be found out, or the process has ended or
 * executed another file meanwhile. If the process is the caller, the function is safe in signal handlers and takes no
 * lock. It reads the build-ids from the caller's own memory through /proc, so it opens no mapped file, and a wrong
 * address does no harm. Without /proc it describes the executable by what the kernel has left on the stack.
 */
size_t image_look(const struct image_of *of, struct image_room *room, unsigned char *bytes, size_t size);

/* Returns whether these bytes, a copy of memory that others can write, have the form made by image_look(). */
bool image_valid(const unsigned char *bytes, size_t size);
/* Calls f for each mapping of valid bytes. */
void image_each(const unsigned char *bytes, size_t size, void (*f)(uint64_t start, uint64_t end, void *arg), void *arg);

#endif
