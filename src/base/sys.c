/*
 * sys.c - the system calls that the library makes
 *
 * Through syscall(), whose errno is put back: the wrappers of the C library
 * are cancellation points, which a trace point must not contain.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"

#ifndef SYS_close_range
# define SYS_close_range 436
#endif
#ifndef CLOSE_RANGE_UNSHARE
# define CLOSE_RANGE_UNSHARE 2u
#endif
#ifndef SYS_futex_waitv
# define SYS_futex_waitv 449
#endif
#ifndef MADV_WIPEONFORK
# define MADV_WIPEONFORK 18
#endif
#ifndef SYS_futex
# define SYS_futex SYS_futex_time64
#endif
#ifndef RENAME_NOREPLACE
# define RENAME_NOREPLACE 1
#endif
#ifndef RENAME_EXCHANGE
# define RENAME_EXCHANGE 2
#endif

/* The kernel's result, errno as it was. */
#define CALL(...)                                                  \
	({                                                         \
		int saved_errno_ = errno;                          \
		long result_ = syscall(__VA_ARGS__);               \
		if (result_ < 0)                                   \
			result_ = -errno;                          \
		errno = saved_errno_;                              \
		result_;                                           \
	})

int sys_open(int dir, const char *path, int flags, unsigned mode)
{
	long fd = CALL(SYS_openat, dir, path, flags | O_CLOEXEC | O_NOCTTY, mode);

	/*
	 * If the application has closed its standard descriptors, its output must
	 * not end up in the library's file (H14).
	 */
	if (fd >= 0 && fd <= 2) {
		long high = CALL(SYS_fcntl, (int)fd, F_DUPFD_CLOEXEC, 3);

		sys_close((int)fd);
		fd = high;
	}
	return (int)fd;
}

struct sys_fd_path sys_fd_path(int fd)
{
	struct sys_fd_path path;
	struct text t = text_into(path.text, sizeof path.text);

	text_add(&t, "/proc/thread-self/fd/");
	text_add_number(&t, (uint64_t)fd);
	return path;
}

int sys_open_again(int fd, int flags)
{
	return sys_open(AT_FDCWD, sys_fd_path(fd).text, flags | O_LARGEFILE, 0);
}

int sys_close(int fd)
{
	return (int)CALL(SYS_close, fd);
}

int sys_dup(int fd)
{
	return (int)CALL(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 3);
}

long sys_read(int fd, void *buf, size_t size)
{
	return CALL(SYS_read, fd, buf, size);
}

/*
 * A 64-bit argument of a system call. With 32-bit registers it takes two registers, in the machine's byte order. Some
 * kernels require the first register to have an even number: then an unused argument precedes it. LONG_AFTER_n() is
 * used after n arguments. The C library's pread(), pwrite() and fallocate() are cancellation points and cannot be used.
 */
#if ULONG_MAX > 0xffffffff || defined __x86_64__ || (defined _MIPS_SIM && defined _ABIN32 && _MIPS_SIM == _ABIN32)
# define LONG_WORDS(v) (uint64_t)(v)
#elif __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
# define LONG_WORDS(v) (uint32_t)((v) >> 32), (uint32_t)(v)
#else
# define LONG_WORDS(v) (uint32_t)(v), (uint32_t)((v) >> 32)
#endif
#define LONG_AFTER_2(v) LONG_WORDS(v)
#if ULONG_MAX <= 0xffffffff && (defined __arm__ || defined __powerpc__ || defined __csky__ || defined __xtensa__ || \
                                (defined _MIPS_SIM && defined _ABIO32 && _MIPS_SIM == _ABIO32))
# define LONG_AFTER_1(v) 0, LONG_WORDS(v)
# define LONG_AFTER_3(v) 0, LONG_WORDS(v)
#elif defined __sh__
# define LONG_AFTER_1(v) LONG_WORDS(v)
# define LONG_AFTER_3(v) 0, LONG_WORDS(v)
#else
# define LONG_AFTER_1(v) LONG_WORDS(v)
# define LONG_AFTER_3(v) LONG_WORDS(v)
#endif

long sys_read_at(int fd, void *buf, size_t size, uint64_t offset)
{
	return CALL(SYS_pread64, fd, buf, size, LONG_AFTER_3(offset));
}

long sys_write(int fd, const void *buf, size_t size)
{
	return CALL(SYS_write, fd, buf, size);
}

long sys_write_at(int fd, const void *buf, size_t size, uint64_t offset)
{
	return CALL(SYS_pwrite64, fd, buf, size, LONG_AFTER_3(offset));
}

int sys_wait_writable(int fd)
{
	struct pollfd poll = { .fd = fd, .events = POLLOUT };

	return (int)CALL(SYS_ppoll, &poll, 1, NULL, NULL, 0);
}

uint64_t sys_next_data(int fd, uint64_t offset)
{
	int64_t next = -EIO;
	int own = sys_open_again(fd, O_RDONLY);

	if (own < 0)
		return offset;
#ifdef SYS__llseek
	{
		int r = (int)CALL(SYS__llseek, own, (uint32_t)(offset >> 32), (uint32_t)offset, &next, SEEK_DATA);

		next = r < 0 ? r : next;
	}
#else
	next = CALL(SYS_lseek, own, offset, SEEK_DATA);
#endif
	sys_close(own);
	return next == -ENXIO ? UINT64_MAX : next < 0 ? offset : (uint64_t)next;
}

bool sys_peer_gone(int fd)
{
	struct pollfd poll = { .fd = fd };
	struct timespec now = { 0, 0 };

	return CALL(SYS_ppoll, &poll, 1, &now, NULL, 0) > 0 && (poll.revents & POLLERR);
}

long sys_pipe_bytes(int fd)
{
	struct sys_stat st;
	int bytes = 0, r = sys_stat(fd, &st);

	if (r == 0 && !S_ISFIFO(st.mode))
		r = -EINVAL;
	if (r == 0)
		r = (int)CALL(SYS_ioctl, fd, FIONREAD, &bytes);
	return r < 0 ? r : bytes;
}

int sys_truncate(int fd, uint64_t size)
{
#ifdef SYS_ftruncate64
	return (int)CALL(SYS_ftruncate64, fd, LONG_AFTER_1(size));
#else
	return (int)CALL(SYS_ftruncate, fd, LONG_AFTER_1(size));
#endif
}

int sys_sync_data(int fd)
{
	return (int)CALL(SYS_fdatasync, fd);
}

long sys_read_link(const char *path, char *buf, size_t size)
{
	long n = CALL(SYS_readlinkat, AT_FDCWD, path, buf, size - 1);

	buf[n > 0 ? n : 0] = 0;
	return n;
}

int sys_open_flags(int fd)
{
	return (int)CALL(SYS_fcntl, fd, F_GETFL);
}

/*
 * struct statx as the kernel has it: musl 1.2.3 declares none, and the kernel's header and a C library's do not always
 * go together.
 */
struct file_status {
	uint32_t mask, block_size;
	uint64_t attributes;
	uint32_t links, uid, gid;
	uint16_t mode, unused;
	uint64_t inode, size, blocks, attributes_mask;
	struct {
		int64_t sec;
		uint32_t nsec, unused;
	} accessed, born, changed, modified;
	uint32_t rdev_major, rdev_minor, device_major, device_minor;
	uint64_t later[14];
};

_Static_assert(sizeof(struct file_status) == 256, "the kernel writes as much");

#define BASIC_STATUS 0x7ffu /* STATX_BASIC_STATS */

static int stat_at(int fd, const char *path, int flags, struct sys_stat *st)
{
	struct file_status status;
	int r = (int)CALL(SYS_statx, fd, path, flags, BASIC_STATUS, &status);

	if (r < 0)
		return r;
	st->mode = status.mode;
	st->uid = status.uid;
	st->links = status.links;
	st->device_major = status.device_major;
	st->device_minor = status.device_minor;
	st->inode = status.inode;
	st->size = status.size;
	return 0;
}

int sys_stat(int fd, struct sys_stat *st)
{
	return stat_at(fd, "", AT_EMPTY_PATH, st);
}

int sys_stat_path(const char *path, struct sys_stat *st)
{
	return stat_at(AT_FDCWD, path, 0, st);
}

int sys_mkdir(int dir, const char *name, unsigned mode)
{
	return (int)CALL(SYS_mkdirat, dir, name, mode);
}

int sys_set_mode(int fd, unsigned mode)
{
	return (int)CALL(SYS_fchmod, fd, mode);
}

int sys_set_mode_path(const char *path, unsigned mode)
{
	return (int)CALL(SYS_fchmodat, AT_FDCWD, path, mode);
}

int sys_unlink(int dir, const char *name)
{
	return (int)CALL(SYS_unlinkat, dir, name, 0);
}

int sys_remove_directory(int dir, const char *name)
{
	return (int)CALL(SYS_unlinkat, dir, name, AT_REMOVEDIR);
}

int sys_rename(int dir, const char *from, const char *to)
{
	return (int)CALL(SYS_renameat2, dir, from, dir, to, RENAME_NOREPLACE);
}

int sys_exchange(int dir, const char *one, const char *other)
{
	return (int)CALL(SYS_renameat2, dir, one, dir, other, RENAME_EXCHANGE);
}

bool sys_size_allowed(uint64_t size)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || size <= limit.rlim_cur;
}

int sys_reserve(int fd, uint64_t size)
{
	if (!sys_size_allowed(size))
		return -EFBIG;
	return (int)CALL(SYS_fallocate, fd, 0, LONG_AFTER_2(UINT64_C(0)), LONG_WORDS(size));
}

int sys_reserve_space(int fd, uint64_t size)
{
	return (int)CALL(SYS_fallocate, fd, FALLOC_FL_KEEP_SIZE, LONG_AFTER_2(UINT64_C(0)), LONG_WORDS(size));
}

int sys_getdents(int fd, void *buf, size_t size)
{
	return (int)CALL(SYS_getdents64, fd, buf, size);
}

/* Locks of open files need no process id, and use the same structure with both word sizes. */
static int lock_call(int fd, int command, struct flock64 *lock)
{
#ifdef SYS_fcntl64
	return (int)CALL(SYS_fcntl64, fd, command, lock);
#else
	return (int)CALL(SYS_fcntl, fd, command, lock);
#endif
}

int sys_lock(int fd, bool exclusive, int64_t start, int64_t length)
{
	struct flock64 lock = { .l_type = exclusive ? F_WRLCK : F_RDLCK, .l_whence = SEEK_SET };

	lock.l_start = start;
	lock.l_len = length;
	return lock_call(fd, F_OFD_SETLK, &lock);
}

int sys_lock_probe(int fd, int64_t start, int64_t length)
{
	struct flock64 lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int r;

	lock.l_start = start;
	lock.l_len = length;
	r = lock_call(fd, F_OFD_GETLK, &lock);
	return r < 0 ? r : lock.l_type != F_UNLCK;
}

void *sys_map(size_t size, int fd, int writable)
{
	int saved = errno;
	void *p = mmap(NULL, size, PROT_READ | (writable ? PROT_WRITE : 0),
	               fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, 0);

	errno = saved;
	return p == MAP_FAILED ? NULL : p;
}

void *sys_map_family(size_t size)
{
	int saved = errno;
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	errno = saved;
	return p == MAP_FAILED ? NULL : p;
}

void *sys_map_untouched(size_t size, int fd)
{
	int saved = errno;
	void *p = mmap(NULL, size, PROT_NONE, MAP_SHARED, fd, 0);

	errno = saved;
	return p == MAP_FAILED ? NULL : p;
}

void sys_unmap(void *p, size_t size)
{
	int saved = errno;

	munmap(p, size);
	errno = saved;
}

void sys_map_over(void *p, size_t size)
{
	int saved = errno;

	(void)mmap(p, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	errno = saved;
}

int sys_move_over(void *from, void *to, size_t size)
{
	int saved = errno, r = mremap(from, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, to) == MAP_FAILED ? -errno : 0;

	errno = saved;
	return r;
}

void *sys_map_again(void *p, size_t size)
{
	int saved = errno;
	void *again = mremap(p, 0, size, MREMAP_MAYMOVE); /* of a shared mapping nothing is moved then */

	errno = saved;
	return again == MAP_FAILED ? NULL : again;
}

int sys_wipe_on_fork(void *p, size_t size)
{
	return (int)CALL(SYS_madvise, p, size, MADV_WIPEONFORK);
}

bool sys_wipes_on_fork(void)
{
	const size_t size = 4096;
	int saved = errno;
	void *p = mmap(NULL, size, PROT_NONE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	bool wipes = true;

	/* The kernel refuses MADV_WIPEONFORK on shared memory; an emulator that accepts it ignores the advice. */
	if (p != MAP_FAILED) {
		wipes = sys_wipe_on_fork(p, size) < 0;
		munmap(p, size);
	}
	errno = saved;
	return wipes;
}

int sys_not_on_fork(void *p, size_t size)
{
	return (int)CALL(SYS_madvise, p, size, MADV_DONTFORK);
}

int sys_on_fork(void *p, size_t size)
{
	return (int)CALL(SYS_madvise, p, size, MADV_DOFORK);
}

int sys_gettid(void)
{
	return (int)CALL(SYS_gettid);
}

int sys_getpid(void)
{
	return (int)CALL(SYS_getpid);
}

int sys_getppid(void)
{
	return (int)CALL(SYS_getppid);
}

unsigned sys_geteuid(void)
{
	return geteuid();
}

void sys_other_uids(unsigned *real, unsigned *saved)
{
	uid_t r = getuid(), e, s = geteuid();
	int error = errno;

	getresuid(&r, &e, &s);
	errno = error;
	*real = r;
	*saved = s;
}

unsigned sys_getegid(void)
{
	return getegid();
}

void sys_set_file_user(unsigned uid, unsigned gid)
{
#ifdef SYS_setfsuid32
	CALL(SYS_setfsgid32, gid);
	CALL(SYS_setfsuid32, uid);
#else
	CALL(SYS_setfsgid, gid);
	CALL(SYS_setfsuid, uid);
#endif
}

int sys_dumpable(void)
{
	return (int)CALL(SYS_prctl, PR_GET_DUMPABLE, 0, 0, 0, 0);
}

void sys_set_dumpable(int dumpable)
{
	CALL(SYS_prctl, PR_SET_DUMPABLE, dumpable, 0, 0, 0);
}

int sys_death_signal(void)
{
	int signal = 0;

	CALL(SYS_prctl, PR_GET_PDEATHSIG, &signal, 0, 0, 0);
	return signal;
}

void sys_set_death_signal(int signal)
{
	CALL(SYS_prctl, PR_SET_PDEATHSIG, signal, 0, 0, 0);
}

/* As the kernel has it, for programs of both word sizes. */
struct limit {
	uint64_t soft;
	uint64_t hard;
};

int sys_unused_limit(uint32_t pid, uint64_t *soft, uint64_t *hard)
{
	struct limit limit;
	int r = (int)CALL(SYS_prlimit64, pid, RLIMIT_LOCKS, NULL, &limit);

	if (r < 0)
		return r;
	*soft = limit.soft;
	*hard = limit.hard;
	return 0;
}

int sys_set_unused_limit(uint32_t pid, uint64_t soft, uint64_t hard)
{
	struct limit limit = { soft, hard };

	return (int)CALL(SYS_prlimit64, pid, RLIMIT_LOCKS, &limit, NULL);
}

int sys_kill_probe(int pid)
{
	return (int)CALL(SYS_kill, pid, 0);
}

int sys_thread_probe(int pid, int tid)
{
	if (pid)
		return (int)CALL(SYS_tgkill, pid, tid, 0);
	return (int)CALL(SYS_tkill, tid, 0);
}

void sys_thread_name(char name[16])
{
	CALL(SYS_prctl, PR_GET_NAME, name, 0, 0, 0);
}

uint32_t sys_processors(void)
{
	unsigned long set[128]; /* 8192 processors */
	long bytes = CALL(SYS_sched_getaffinity, 0, sizeof set, set);
	uint32_t count = 0;

	for (long i = 0; i < bytes / (long)sizeof set[0]; i++)
		count += (uint32_t)__builtin_popcountl(set[i]);
	return count ? count : 1;
}

void sys_yield(void)
{
	CALL(SYS_sched_yield);
}

void sys_sleep_ns(long ns)
{
	/* Not nanosleep(): it is a cancellation point. */
	uint32_t word = 0;
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += ns;
	while (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	sys_futex_wait(&word, 0, &until);
}

void sys_random(void *buf, size_t size)
{
	unsigned char *p = buf;

	while (size > 0) {
		long n = CALL(SYS_getrandom, p, size, 0);

		if (n <= 0) /* not before Linux 3.17, or forbidden: the time will have to do */
			n = 1, *p ^= (unsigned char)clock_ns(CLOCK_MONOTONIC);
		p += n;
		size -= (size_t)n;
	}
}

int sys_own_descriptors(int fd)
{
	/* Unshare first, so that descriptors are closed in this thread only, or are not even copied. */
	if (fd > 0) {
		if (CALL(SYS_close_range, 0u, (unsigned)fd - 1, CLOSE_RANGE_UNSHARE) < 0)
			return -ENOSYS;
		return (int)CALL(SYS_close_range, (unsigned)fd + 1, ~0u, 0);
	}
	return (int)CALL(SYS_close_range, (unsigned)fd + 1, ~0u, CLOSE_RANGE_UNSHARE);
}

/* The kernel's set is an array of words, that with the first signals in front. */
#if ULONG_MAX <= 0xffffffff && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
# define SIGNAL_BIT(n) (UINT64_C(1) << (((n) - 1) ^ 32))
#else
# define SIGNAL_BIT(n) (UINT64_C(1) << ((n) - 1))
#endif

/* Uses the kernel's set of signals, which includes the C library's internal signals. */
static uint64_t signal_mask(int how, uint64_t set)
{
	uint64_t before = 0;

	CALL(SYS_rt_sigprocmask, how, &set, &before, sizeof set);
	return before;
}

static uint64_t signal_mask_now(void)
{
	uint64_t now = 0;

	CALL(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &now, sizeof now);
	return now;
}

#define BY_INSTRUCTION                                                                                  \
	(SIGNAL_BIT(SIGSEGV) | SIGNAL_BIT(SIGBUS) | SIGNAL_BIT(SIGILL) | SIGNAL_BIT(SIGFPE) |           \
	 SIGNAL_BIT(SIGTRAP) | SIGNAL_BIT(SIGSYS))

uint64_t sys_signals_block(void)
{
	return signal_mask(SIG_BLOCK, ~BY_INSTRUCTION);
}

uint64_t sys_signals_block_thread(void)
{
	uint64_t library = 0;

	for (int i = 32; i < SIGRTMIN; i++)
		library |= SIGNAL_BIT(i);
	return signal_mask(SIG_BLOCK, ~(BY_INSTRUCTION | library));
}

void sys_signals_restore(uint64_t before)
{
	signal_mask(SIG_SETMASK, before);
}

static uint64_t signals_pending(void)
{
	uint64_t pending = 0;

	CALL(SYS_rt_sigpending, &pending, sizeof pending);
	return pending;
}

struct sys_spared sys_spare_begin(void)
{
	struct sys_spared spared = { .before = signal_mask(SIG_BLOCK, SIGNAL_BIT(SIGPIPE) | SIGNAL_BIT(SIGXFSZ)) };

	spared.pending = signals_pending();
	return spared;
}

void sys_spare_end(const struct sys_spared *spared, int error)
{
	uint64_t caused = error == EPIPE ? SIGNAL_BIT(SIGPIPE) : error == EFBIG ? SIGNAL_BIT(SIGXFSZ) : 0;
	uint64_t now[2] = { 0, 0 }; /* a time of 0, whatever the size of its members */

	caused &= ~spared->pending;
	if (caused)
#ifdef SYS_rt_sigtimedwait
		CALL(SYS_rt_sigtimedwait, &caused, NULL, now, sizeof caused);
#else
		CALL(SYS_rt_sigtimedwait_time64, &caused, NULL, now, sizeof caused);
#endif
	sys_signals_restore(spared->before);
}

int sys_on_signal_stack(uintptr_t *from, size_t *size)
{
	stack_t stack;

	*from = 0;
	*size = 0;
	if (CALL(SYS_sigaltstack, NULL, &stack) < 0)
		return 1;
	if (!(stack.ss_flags & SS_ONSTACK))
		return 0;
	*from = (uintptr_t)stack.ss_sp;
	*size = stack.ss_size;
	return 1;
}

int sys_membarrier(int command)
{
	return (int)CALL(SYS_membarrier, command, 0, 0);
}

#ifndef FUTEX_WAITV_MAX /* of the header that has the structure; the call's number is of another one */
struct futex_waitv {
	uint64_t val;
	uint64_t uaddr;
	uint32_t flags;
	uint32_t reserved;
};
#endif
#ifndef FUTEX_32
# define FUTEX_32 2
#endif

/* A time of 64 bits, for kernels of both word sizes. */
struct futex_time {
	int64_t sec;
	int64_t nsec;
};

static int futex_timed(uint32_t *word, int operation, uint32_t value, const struct futex_time *time, uint32_t bits)
{
#ifdef SYS_futex_time64
	int r = (int)CALL(SYS_futex_time64, word, operation, value, time, NULL, bits);

# if SYS_futex != SYS_futex_time64
	/* 32 bits before Linux 5.1, or a filter that does not know the call: with a time of 32 bits. */
	if (r == -ENOSYS || r == -EPERM) {
		struct {
			int32_t sec;
			int32_t nsec;
		} time32 = { time->sec < INT32_MAX ? (int32_t)time->sec : INT32_MAX, (int32_t)time->nsec };

		r = (int)CALL(SYS_futex, word, operation, value, &time32, NULL, bits);
	}
# endif
	return r;
#else
	return (int)CALL(SYS_futex, word, operation, value, time, NULL, bits);
#endif
}

/*
 * Returns true if the handler that has just run must have had SA_RESTART, because every possible handler has. Blocked
 * signals have not arrived, signals of instructions do not arrive in a system call, and the C library's own handlers
 * have SA_RESTART.
 */
static bool only_restarting_handlers(void)
{
	uint64_t blocked = signal_mask_now() | BY_INSTRUCTION;
	int saved = errno;
	bool only = true;

	for (int i = 1; i <= SIGRTMAX && only; i++) {
		struct sigaction action;

		if (blocked & SIGNAL_BIT(i) || sigaction(i, NULL, &action) < 0)
			continue;
		/* With SA_RESETHAND the handler is not there any more, its flags are. */
		if ((action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN) ||
		    (action.sa_flags & (int)SA_RESETHAND))
			only = action.sa_flags & SA_RESTART;
	}
	errno = saved;
	return only;
}

int sys_futex_wait(uint32_t *word, uint32_t value, const struct timespec *deadline)
{
	struct futex_time until;
	struct futex_waitv waiter = { .val = value, .uaddr = (uintptr_t)word, .flags = FUTEX_32 };
	int r;

	if (!deadline)
		return (int)CALL(SYS_futex, word, FUTEX_WAIT, value, NULL, NULL, 0);
	until.sec = deadline->tv_sec;
	until.nsec = deadline->tv_nsec;
	/*
	 * futex_waitv() with a time limit goes on after a handler with
	 * SA_RESTART; the older call always gives EINTR. Then the caller looks and
	 * waits again, unless a handler without SA_RESTART may have run.
	 */
	r = (int)CALL(SYS_futex_waitv, &waiter, 1, 0, &until, CLOCK_REALTIME);
	if (r != -ENOSYS && r != -EPERM)
		return r > 0 ? 0 : r;
	r = futex_timed(word, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, value, &until, FUTEX_BITSET_MATCH_ANY);
	return r == -EINTR && only_restarting_handlers() ? 0 : r;
}

int sys_futex_wait_for(uint32_t *word, uint32_t value, int64_t ns)
{
	struct futex_time time = { ns / 1000000000, ns % 1000000000 };

	return futex_timed(word, FUTEX_WAIT, value, &time, 0);
}

int sys_futex_wake(uint32_t *word)
{
	return (int)CALL(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}
