/*
 * unused_library.c - libraries for comparison: an empty one, and one whose activity must be noticed
 *
 * SPDX-License-Identifier: MIT
 */
#include <sys/mman.h>
#include <unistd.h>

void empty_library(void);

void empty_library(void)
{
}

#ifdef BUSY
__attribute__((constructor)) static void begin(void)
{
	void *p = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p != MAP_FAILED)
		*(char *)p = 1;
}

__attribute__((destructor)) static void end(void)
{
	(void)getppid();
}
#endif
