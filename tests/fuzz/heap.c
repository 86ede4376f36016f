/*
 * heap.c - the library's memory, with accesses beyond its ends detected
 *
 * SPDX-License-Identifier: MIT
 */
#include "heap.h"

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <unistd.h>

void *__real_sys_map(size_t size, int fd, int writable);
void __real_sys_unmap(void *p, size_t size);
void *__wrap_sys_map(size_t size, int fd, int writable);
void __wrap_sys_unmap(void *p, size_t size);

/* The unmapped bytes on each side of a mapping. */
#define FENCE ((size_t)1 << 20)

#define PIECES 64
static struct {
	uintptr_t p; /* inverted, so that a piece known only here counts as a leak */
	size_t size;
	void *fenced; /* the beginning of its fence; null: it is from the heap */
	size_t whole;
} pieces[PIECES];
static unsigned pieces_now;
static bool begun;

/* Maps a file with a fence on each side, which keeps other mappings away. Returns null on failure. */
static void *fenced(size_t size, int fd, int writable, void **fence, size_t *whole)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char *p;
	void *map;

	*whole = (size + page - 1) / page * page + 2 * FENCE;
	p = mmap(NULL, *whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	map = mmap(p + FENCE, size, PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED | MAP_FIXED, fd, 0);
	if (map == MAP_FAILED) {
		munmap(p, *whole);
		return NULL;
	}
	*fence = p;
	return map;
}

void *__wrap_sys_map(size_t size, int fd, int writable)
{
	for (int i = 0; begun && i < PIECES; i++)
		if (!pieces[i].p) {
			void *p = fd < 0 ? calloc(1, size)
			                 : fenced(size, fd, writable, &pieces[i].fenced, &pieces[i].whole);

			if (!p)
				return NULL;
			pieces[i].p = ~(uintptr_t)p;
			pieces[i].size = size;
			pieces_now++;
			return p;
		}
	return __real_sys_map(size, fd, writable);
}

void __wrap_sys_unmap(void *p, size_t size)
{
	for (int i = 0; i < PIECES; i++)
		if (pieces[i].p == ~(uintptr_t)p) {
			if (pieces[i].size != size)
				abort();
			pieces[i].p = 0;
			pieces_now--;
			if (pieces[i].fenced)
				munmap(pieces[i].fenced, pieces[i].whole);
			else
				free(p);
			pieces[i].fenced = NULL;
			return;
		}
	__real_sys_unmap(p, size);
}

void heap_own_shm(void)
{
	if (unshare(CLONE_NEWNS) == 0 && mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) == 0)
		mount("fuzz", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777");
}

void heap_begin(void)
{
	begun = true;
}

unsigned heap_pieces(void)
{
	return pieces_now;
}
