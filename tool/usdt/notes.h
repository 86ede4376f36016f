/*
 * notes.h - the probes that a program or a library has, from its section .note.stapsdt
 *
 * The file may have any contents: all offsets and lengths are checked, and it is only read by position.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef USDT_NOTES_H
#define USDT_NOTES_H

#include <stddef.h>
#include <stdint.h>

/* A place in the code. Several may belong to one probe. */
struct note {
	const char *provider, *name, *arguments; /* "-4@%edi 8@-16(%rbp)" */
	uint64_t offset;    /* of the instruction, in the file */
	uint64_t semaphore; /* offset in the file of the counter of its tracers; 0: none */
};

struct notes {
	struct note *note;
	size_t count;
	uint16_t machine; /* EM_X86_64 ... */
	char *text;       /* has all strings */
};

/*
 * Reads the notes of an open file, none if it has none. Notes that are damaged are left out. Returns 0, or a negative
 * error number: -ENOEXEC not an ELF file of this byte order, -ENOMEM, -EIO.
 */
int notes_read(int fd, struct notes *n);
void notes_free(struct notes *n);
#define NOTES_BUILD_ID_MAX 64
/* Copies the build-id of a file, at most NOTES_BUILD_ID_MAX bytes. Returns its length, 0 if there is none. */
size_t notes_build_id(int fd, unsigned char *id);

#endif
