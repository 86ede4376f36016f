/*
 * header.h - the description at the beginning of a log
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LOG_HEADER_H
#define LOG_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/attr.h"

#define HEADER_WORD_MAX   66   /* size of the kernel's strings about itself */
#define HEADER_STREAM_MAX 256
#define HEADER_BODY_MAX   1024

struct log_header {
	struct attr attr;   /* with the creation time */
	uint64_t monotonic; /* the creation time on CLOCK_MONOTONIC, ns */
	uint32_t target;    /* process ids, each in its own pid namespace */
	uint32_t creator;
	uint8_t word; /* bytes in a pointer of the controller */
	unsigned char boot[16];
	char host[HEADER_WORD_MAX];
	char kernel[HEADER_WORD_MAX];
	char machine[HEADER_WORD_MAX];
	char stream[HEADER_STREAM_MAX]; /* path of the stream's file */
	uint64_t generation; /* how often the log was begun anew */
};

/* Fills in the fields about this machine. */
void header_machine(struct log_header *h);
/* Writes the body of the frame HEADER and returns its size. */
size_t header_put(unsigned char body[HEADER_BODY_MAX], const struct log_header *h);
/* Reads a header. Returns false if this version on this machine cannot read the log. */
bool header_get(struct log_header *h, const unsigned char *body, size_t size);

#endif
