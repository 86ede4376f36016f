/*
 * old_kernel.c - executes a program with only the system calls of an older Linux
 *
 *     old_kernel 4.14|5.0 PROGRAM [ARGUMENT...]
 *
 * A filter answers ENOSYS to all later calls. For 5.0 these are the calls with 64-bit times in 32-bit programs (5.1),
 * futex_waitv() (5.16) and close_range() (5.9). For 4.14 also rseq() (4.18), and EINVAL for the barriers of
 * membarrier() that came with 4.16.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The first call after 5.0, and after 4.14. The numbering of earlier calls depends on the processor. */
#if defined __i386__ || defined __arm__
# define AFTER_5_0 403 /* clock_gettime64 */
#else
# define AFTER_5_0 424 /* pidfd_send_signal */
#endif
#if defined __x86_64__
# define AFTER_4_14 333 /* io_pgetevents */
#elif defined __i386__
# define AFTER_4_14 385
#else
# define AFTER_4_14 AFTER_5_0
#endif

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
# define LOW_WORD 4
#else
# define LOW_WORD 0
#endif

static int filtered(struct sock_filter *filter, size_t size)
{
	struct sock_fprog program = { (unsigned short)(size / sizeof *filter), filter };

	/* Without root rights this is allowed only if the process gives up gaining rights. */
	if (geteuid() != 0)
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv)
{
	unsigned first;
	int r;

	if (argc < 3)
		return 99;
	first = strcmp(argv[1], "4.14") == 0 ? AFTER_4_14 : AFTER_5_0;
	{
		struct sock_filter later[] = {
			BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
			BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, first, 0, 1),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		};
		/* 4.14 has the commands 0, 1, 8 and 16. */
		struct sock_filter barriers[] = {
			BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 3),
			BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0]) + LOW_WORD),
			BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, ~(1u | 8u | 16u), 0, 1),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		};

		r = strcmp(argv[1], "4.14") == 0 ? filtered(barriers, sizeof barriers) : 0;
		r = r ? r : filtered(later, sizeof later);
	}
	if (r != 0) {
		printf("skipped: no seccomp filters here\n");
		return 77;
	}
	execv(argv[2], argv + 2);
	perror(argv[2]);
	return 99;
}
