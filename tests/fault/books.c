/*
 * books.c - numbered events, the memory that processes share, and the index of a log
 *
 * SPDX-License-Identifier: MIT
 */
#include <linux/membarrier.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "books.h"

size_t number_fill(struct number *n, uint32_t stamp, uint32_t source, uint64_t number)
{
	uint64_t mix = chance_mix((uint64_t)stamp << 40 ^ (uint64_t)source << 32 ^ number);
	size_t filler = mix % 5 ? mix >> 8 & 31 : (mix >> 8) % (NUMBER_SIZE - 16);

	n->stamp = stamp;
	n->source = source;
	n->number = number;
	memset(n->filler, (int)(mix >> 40 & 255), filler);
	return 16 + filler;
}

void source_visible(void)
{
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0);
}

void source_settle(void)
{
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) != 0)
		sleep_us(1000);
}

void *memory_map(const char *file, size_t size, bool create)
{
	int fd = open(file, O_RDWR | O_CLOEXEC | (create ? O_CREAT | O_EXCL : 0), 0600);
	void *memory;

	/* Allocate the whole file at once: the census of crowd.c checks how much space is in use. */
	MUST(fd >= 0 && (!create || posix_fallocate(fd, 0, (off_t)size) == 0));
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	MUST(memory != MAP_FAILED);
	close(fd);
	return memory;
}

int64_t timespec_ns(const struct timespec *t)
{
	return t->tv_sec * 1000000000ll + t->tv_nsec;
}

struct timespec time_in(int64_t us)
{
	struct timespec t;
	int64_t until;

	clock_gettime(CLOCK_REALTIME, &t);
	until = timespec_ns(&t) + us * 1000;
	return (struct timespec){ until / 1000000000, until % 1000000000 };
}

bool log_index_read(int fd, struct log_index *index)
{
	unsigned char foot[64];
	uint32_t magic;
	uint16_t kind;
	uint64_t at;
	struct stat st;

	if (fstat(fd, &st) != 0 || st.st_size < 64 || pread(fd, foot, 64, st.st_size - 64) != 64)
		return false;
	memcpy(&magic, foot, 4);
	memcpy(&kind, foot + 4, 2);
	memcpy(&at, foot + 16, 8);
	return magic == 0x464c5450 && kind == 7 && pread(fd, index, sizeof *index, (off_t)at + 64) == sizeof *index;
}
