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

/* Returns true if the file has these numbers. */
static inline bool sys_is_file(const struct sys_stat *st, uint64_t inode, uint32_t device_major, uint32_t device_minor)
{
	return st->inode == inode && st->device_major == device_major && st->device_minor == device_minor;
}

static inline bool sys_same_file(const struct sys_stat *a, const struct sys_stat *b)
{
	return sys_is_file(a, b->inode, b->device_major, b->device_minor);
}

int sys_open(int dir, const char *path, int flags, unsigned mode);
/*
 * Returns the name that an open descriptor of this thread has in /proc: a link to its file, whatever has the file's own
 * name by now. A thread may have a descriptor table of its own (sys_own_descriptors()), which /proc/self does not show.
 */
struct sys_fd_path {
	char text[40];
};
struct sys_fd_path sys_fd_path(int fd);
/* Opens the file of a descriptor once more; the descriptor may be opened with O_PATH. Needs /proc. */
int sys_open_again(int fd, int flags);
int sys_close(int fd);
int sys_dup(int fd);
long sys_read(int fd, void *buf, size_t size);
long sys_read_at(int fd, void *buf, size_t size, uint64_t offset);
long sys_write(int fd, const void *buf, size_t size);
long sys_write_at(int fd, const void *buf, size_t size, uint64_t offset);
/* Sleeps until something can be written. */
int sys_wait_writable(int fd);
/*
 * Returns the next offset at which the file has data and not a hole. Returns UINT64_MAX if no data follows, and the
 * given offset if the file system cannot tell. Does not move the file position, which other descriptors share.
 */
uint64_t sys_next_data(int fd, uint64_t offset);
/* Returns true if the reader of a pipe or socket has gone. */
bool sys_peer_gone(int fd);
/* Returns the number of unread bytes in a pipe, or a negative number if fd is not a pipe. */
long sys_pipe_bytes(int fd);
int sys_truncate(int fd, uint64_t size);
/* Waits until all written data is on the disk. */
int sys_sync_data(int fd);
/* Copies the link's target, cut to the size of buf, with a terminating null. */
long sys_read_link(const char *path, char *buf, size_t size);
/* Returns the flags of an open file: O_RDONLY, O_APPEND, ... */
int sys_open_flags(int fd);
int sys_stat(int fd, struct sys_stat *st);
/* Follows symbolic links. */
int sys_stat_path(const char *path, struct sys_stat *st);
int sys_mkdir(int dir, const char *name, unsigned mode);
int sys_set_mode(int fd, unsigned mode);
int sys_set_mode_path(const char *path, unsigned mode);
int sys_unlink(int dir, const char *name);
int sys_remove_directory(int dir, const char *name);
/* Returns -EEXIST if the new name exists. */
int sys_rename(int dir, const char *from, const char *to);
/* Exchanges two names in one step. Follows no link. */
int sys_exchange(int dir, const char *one, const char *other);
/* Returns false if writing to a file up to this size would cause a SIGXFSZ for the application (H13). */
bool sys_size_allowed(uint64_t size);
/* Sets the file's size and allocates all of its space, or fails. */
int sys_reserve(int fd, uint64_t size);
/* Allocates space and leaves the file's size as it is. Returns -EOPNOTSUPP if the file system cannot do this. */
int sys_reserve_space(int fd, uint64_t size);
int sys_getdents(int fd, void *buf, size_t size);
/*
 * Locks bytes of an open file. The lock belongs to the open file, not to the
 * process. Returns -EAGAIN if another lock excludes it.
 */
int sys_lock(int fd, bool exclusive, int64_t start, int64_t length);
/* Returns 0 if no other open file has a lock on these bytes. */
int sys_lock_probe(int fd, int64_t start, int64_t length);

/* Returns null on failure. fd -1: private anonymous memory, zeroed. */
void *sys_map(size_t size, int fd, int writable);
/* Anonymous memory shared with forked children. */
void *sys_map_family(size_t size);
/* Maps a file without access to its pages: the mapping only has to exist. */
void *sys_map_untouched(size_t size, int fd);
void sys_unmap(void *p, size_t size);
/* Replaces a mapping by private zeroed memory. */
void sys_map_over(void *p, size_t size);
/* Replaces one mapping by another in one step. */
int sys_move_over(void *from, void *to, size_t size);
/* Maps the pages of a shared mapping once more. Returns null on failure. */
void *sys_map_again(void *p, size_t size);
/* A forked child finds this memory zeroed. */
int sys_wipe_on_fork(void *p, size_t size);
/* Returns false if sys_wipe_on_fork() succeeds without effect, as in emulators. Returns true if that is unknown. */
bool sys_wipes_on_fork(void);
/* A forked child does not have this mapping. */
int sys_not_on_fork(void *p, size_t size);
/* Undoes sys_not_on_fork(): a forked child has this mapping again. */
int sys_on_fork(void *p, size_t size);

int sys_gettid(void);
int sys_getpid(void);
int sys_getppid(void);
unsigned sys_geteuid(void);
unsigned sys_getegid(void);
/* Users that the process may become at any time. */
void sys_other_uids(unsigned *real, unsigned *saved);
/* Sets whose rights the thread has in the file system. Has no effect if the thread may not change them. */
void sys_set_file_user(unsigned uid, unsigned gid);
int sys_dumpable(void);
void sys_set_dumpable(int dumpable);
int sys_death_signal(void);
void sys_set_death_signal(int signal);

/* A resource limit of a process that the kernel has no use for; pid 0: the caller. */
#define SYS_NO_LIMIT UINT64_MAX
int sys_unused_limit(uint32_t pid, uint64_t *soft, uint64_t *hard);
int sys_set_unused_limit(uint32_t pid, uint64_t soft, uint64_t hard);
/* Returns 0 if the caller may send the process a signal; otherwise -ESRCH or -EPERM. */
int sys_kill_probe(int pid);
/* Returns -ESRCH if the thread does not exist; pid 0: in any process. */
int sys_thread_probe(int pid, int tid);
void sys_thread_name(char name[16]);
/* Processors that this process may run on. */
uint32_t sys_processors(void);
void sys_yield(void);
void sys_sleep_ns(long ns);
/* Fills buf with random bytes. */
void sys_random(void *buf, size_t size);
/*
 * Gives the calling thread its own table of descriptors, with fd as the only
 * entry. Returns a negative number if it still shares its process's table.
 */
int sys_own_descriptors(int fd);

/*
 * Blocks the calling thread's signals, except those that an instruction causes
 * (the handler for an unreadable address must run). Used for the microsecond of
 * a slow path (H5): a handler that interrupts it might fork, and the child would
 * return into the middle.
 */
uint64_t sys_signals_block(void);
/*
 * Blocks the signals of a thread that is about to begin, for its whole life. Leaves the C library's internal signals
 * unblocked too: by these signals setuid() reaches each thread and waits for it.
 */
uint64_t sys_signals_block_thread(void);
void sys_signals_restore(uint64_t before);

/* The signals that a failed write causes, which are blocked for a while. */
struct sys_spared {
	uint64_t before; /* the thread's mask */
	uint64_t pending; /* signals that were pending already, and are not removed */
};

/* Blocks SIGPIPE and SIGXFSZ in the calling thread. */
struct sys_spared sys_spare_begin(void);
/*
 * Removes the signal of a write that has failed with this error number, EPIPE or EFBIG; other numbers: none. Then
 * restores the mask.
 */
void sys_spare_end(const struct sys_spared *spared, int error);

/* Returns 1 if the caller is on an alternate signal stack, and where; or 1 and size 0 if that is unknown. */
int sys_on_signal_stack(uintptr_t *from, size_t *size);

int sys_membarrier(int command);
/* Sleeps while *word is value; may wake for no reason. deadline: absolute, by CLOCK_REALTIME; null for none. */
int sys_futex_wait(uint32_t *word, uint32_t value, const struct timespec *deadline);
/* Sleeps like sys_futex_wait(), for at most ns nanoseconds, even if clocks are set. */
int sys_futex_wait_for(uint32_t *word, uint32_t value, int64_t ns);
int sys_futex_wake(uint32_t *word);

#endif
