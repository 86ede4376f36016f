/*
 * sys.h - the system calls that the library makes, results as in the kernel
 *
 * Each returns 0 or more, or a negative error number, and leaves errno alone:
 * a trace point may get here from a signal handler. None is a cancellation
 * point. Everything of the library that talks to the system outside the C
 * library's pure functions goes through here, so that tests can make call N fail.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BASE_SYS_H
#define BASE_SYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct sys_stat {
	uint32_t mode;
	uint32_t uid;
	uint32_t links;
	uint32_t device_major;
	uint32_t device_minor;
	uint64_t inode;
	uint64_t size;
};

/* Is it the file with these numbers? */
static inline bool sys_is_file(const struct sys_stat *st, uint64_t inode, uint32_t device_major, uint32_t device_minor)
{
	return st->inode == inode && st->device_major == device_major && st->device_minor == device_minor;
}

static inline bool sys_same_file(const struct sys_stat *a, const struct sys_stat *b)
{
	return sys_is_file(a, b->inode, b->device_major, b->device_minor);
}

int sys_open(int dir, const char *path, int flags, unsigned mode);
int sys_close(int fd);
int sys_dup(int fd);
long sys_read(int fd, void *buf, size_t size);
long sys_read_at(int fd, void *buf, size_t size, uint64_t offset);
long sys_write(int fd, const void *buf, size_t size);
long sys_write_at(int fd, const void *buf, size_t size, uint64_t offset);
/* Sleeps until something can be written. */
int sys_wait_writable(int fd);
int sys_truncate(int fd, uint64_t size);
/* All that was written is on the disk. */
int sys_sync_data(int fd);
/* What the link says, as far as there is room, with a null. */
long sys_read_link(const char *path, char *buf, size_t size);
/* O_RDONLY, O_APPEND, ... of an open file. */
int sys_open_flags(int fd);
int sys_stat(int fd, struct sys_stat *st);
/* Of what the path leads to, through links. */
int sys_stat_path(const char *path, struct sys_stat *st);
int sys_mkdir(int dir, const char *name, unsigned mode);
int sys_unlink(int dir, const char *name);
/* -EEXIST if the new name is taken. */
int sys_rename(int dir, const char *from, const char *to);
/* May this process write to a file up to there? Beyond, the kernel would send SIGXFSZ, to a program that has done nothing wrong (H13). */
bool sys_size_allowed(uint64_t size);
/* Gives the file its size with all of its space, or fails. */
int sys_reserve(int fd, uint64_t size);
/* Gives a file the space, its size stays. -EOPNOTSUPP where the file system cannot. */
int sys_reserve_space(int fd, uint64_t size);
int sys_getdents(int fd, void *buf, size_t size);
/*
 * Locks bytes of an open file, as that file, not as this process. -EAGAIN if
 * another has a lock there that excludes it.
 */
int sys_lock(int fd, bool exclusive, int64_t start, int64_t length);
/* Could they be locked? 0: yes, nobody has a lock there. */
int sys_lock_probe(int fd, int64_t start, int64_t length);

/* Null on failure. fd -1: private anonymous memory, zeroed. */
void *sys_map(size_t size, int fd, int writable);
/* Anonymous memory shared with forked children. */
void *sys_map_family(size_t size);
/* Pages of a file that nobody can touch, for what a mapping does by being there. */
void *sys_map_untouched(size_t size, int fd);
void sys_unmap(void *p, size_t size);
/* Private zeroed memory in place of what is mapped there. */
void sys_map_over(void *p, size_t size);
/* A forked child finds this memory zeroed. */
int sys_wipe_on_fork(void *p, size_t size);
/* Does it, where the call says so? Emulators take advice for hints. True too where that cannot be found out. */
bool sys_wipes_on_fork(void);
/* A forked child does not have it at all. */
int sys_not_on_fork(void *p, size_t size);

int sys_gettid(void);
int sys_getpid(void);
unsigned sys_geteuid(void);
unsigned sys_getegid(void);
/* Users that the process may become at any time. */
void sys_other_uids(unsigned *real, unsigned *saved);
/* Whose rights the thread has in the file system. Who may not change that keeps its own. */
void sys_set_file_user(unsigned uid, unsigned gid);
int sys_dumpable(void);
void sys_set_dumpable(int dumpable);
int sys_death_signal(void);
void sys_set_death_signal(int signal);

/* A resource limit of a process that the kernel has no use for; pid 0: the caller. */
#define SYS_NO_LIMIT UINT64_MAX
int sys_unused_limit(uint32_t pid, uint64_t *soft, uint64_t *hard);
int sys_set_unused_limit(uint32_t pid, uint64_t soft, uint64_t hard);
/* 0 if the process may be sent a signal; -ESRCH, -EPERM. */
int sys_kill_probe(int pid);
/* -ESRCH if there is no such thread; pid 0: of whatever process. */
int sys_thread_probe(int pid, int tid);
void sys_thread_name(char name[16]);
/* Processors that this process may run on. */
uint32_t sys_processors(void);
void sys_yield(void);
void sys_sleep_ns(long ns);
/* Bytes that nobody can guess. */
void sys_random(void *buf, size_t size);
/*
 * The calling thread alone has from now on a table of descriptors in which there
 * is only fd. Negative: it still shares that of its process.
 */
int sys_own_descriptors(int fd);

/*
 * Blocks the calling thread's signals, those excepted that an instruction
 * causes (an address that cannot be read must reach its handler). For the
 * microsecond that a slow path takes (H5): a handler in the middle of it might
 * fork, and its child return there.
 */
uint64_t sys_signals_block(void);
/*
 * The same for the whole life of a thread that is about to begin: but for those signals too that the C library
 * keeps for itself. By them it has each thread do what setuid() does, and waits for it.
 */
uint64_t sys_signals_block_thread(void);
void sys_signals_restore(uint64_t before);

/* Is the caller on an alternate signal stack? 1 also if nothing can be told. */
int sys_on_signal_stack(void);

int sys_membarrier(int command);
/* Sleeps while *word is value, until woken. deadline: CLOCK_REALTIME, absolute; null for none. */
int sys_futex_wait(uint32_t *word, uint32_t value, const struct timespec *deadline);
/* The same for so many nanoseconds, whatever clocks are set to. */
int sys_futex_wait_for(uint32_t *word, uint32_t value, int64_t ns);
int sys_futex_wake(uint32_t *word);

#endif
