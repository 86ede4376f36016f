/*
 * log_memory.c - additions to log.c for libFuzzer: checked memory (heap.h), and changes by mutate.h
 *
 * SPDX-License-Identifier: MIT
 */
#include "fuzz.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <trace.h>

#include "heap.h"
#include "log/format.h"
#include "log/unpack.h"
#include "mutate.h"

/* Prepares the memory before anything is read; see heap.h. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	trace_id_t trid;

	(void)argc;
	(void)argv;
	heap_own_shm();
	if (posix_trace_create(0, NULL, &trid) != 0 || posix_trace_shutdown(trid) != 0) {
		fprintf(stderr, "nothing can be traced here\n");
		exit(1);
	}
	heap_begin();
	return 0;
}

/* Copies each body into memory of its size, so that accesses beyond the end are noticed. */
bool __real_unpack_begin(struct unpack *u, const struct frame *frame, const unsigned char *body);
bool __wrap_unpack_begin(struct unpack *u, const struct frame *frame, const unsigned char *body);

bool __wrap_unpack_begin(struct unpack *u, const struct frame *frame, const unsigned char *body)
{
	/* Two logs may be open at one time. */
	static struct {
		struct unpack *u;
		unsigned char *bytes;
	} copies[2];
	static unsigned last;
	unsigned i = copies[0].u == u ? 0 : copies[1].u == u ? 1 : !last;

	last = i;
	free(copies[i].bytes);
	copies[i].u = u;
	copies[i].bytes = malloc((size_t)frame->size + UNPACK_SLACK);
	if (!copies[i].bytes)
		abort();
	memcpy(copies[i].bytes, body, frame->size);
	memset(copies[i].bytes + frame->size, 0xa5, UNPACK_SLACK);
	return __real_unpack_begin(u, frame, copies[i].bytes);
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t max_size, unsigned seed)
{
	return mutate_log(bytes, size, max_size, seed);
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t size_a, const uint8_t *b, size_t size_b, uint8_t *out,
                                 size_t max_size, unsigned seed)
{
	return mutate_cross(a, size_a, b, size_b, out, max_size, seed);
}
