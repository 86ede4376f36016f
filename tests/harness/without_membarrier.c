/*
 * without_membarrier.c - executes a program without membarrier()
 *
 *     without_membarrier PROGRAM [ARGUMENT...]
 *
 * As under an old kernel or in a strict sandbox: each event takes the slow path.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof filter / sizeof filter[0], filter };

	if (argc < 2)
		return 99;
	/* A process that may not install a filter may do so if it gives up gaining rights. */
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0 &&
	    (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	     prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)) {
		printf("skipped: no seccomp filters here\n");
		return 77;
	}
	execv(argv[1], argv + 1);
	perror(argv[1]);
	return 99;
}
