/*
 * replay.c - runs inputs of a fuzzer without libFuzzer: each file of the directories in its own process
 *
 *     replay DIRECTORY...
 *
 * SPDX-License-Identifier: MIT
 */
#include "fuzz.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "shm.h"

/* Some targets need no preparation. */
#pragma weak LLVMFuzzerInitialize

static int passed, failed, skipped;

static void try(int directory, const char *name)
{
	int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
	struct stat st;
	uint8_t *bytes;

	MUST(fd >= 0 && fstat(fd, &st) == 0);
	/* Exactly as long as the file, so that an access beyond the end is noticed. */
	bytes = malloc((size_t)st.st_size + !st.st_size);
	MUST(bytes && read(fd, bytes, (size_t)st.st_size) == st.st_size);
	close(fd);
	alarm(60 * (unsigned)test_slow());
	if (LLVMFuzzerInitialize) {
		/* The target may trace, or leave files that look like a dead process's. */
		shm_private("");
		LLVMFuzzerInitialize(NULL, NULL);
	}
	LLVMFuzzerTestOneInput(bytes, (size_t)st.st_size);
	free(bytes);
}

static void try_all(DIR *directory)
{
	struct dirent *e;
	int status;

	while ((e = readdir(directory))) {
		pid_t pid;

		if (e->d_name[0] == '.' || strcmp(e->d_name, "README.md") == 0)
			continue;
		fflush(stdout);
		alone_share();
		pid = fork();
		if (pid == 0) {
			alone_tell();
			try(dirfd(directory), e->d_name);
			_exit(0);
		}
		MUST(pid > 0 && waitpid(pid, &status, 0) == pid);
		alone_end();
		if (status == 0) {
			passed++;
			continue;
		}
		/* The input cannot be run here; the child has printed the reason. */
		if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
			skipped++;
			continue;
		}
		failed++;
		printf("FAIL %s: %s %d\n", e->d_name, WIFSIGNALED(status) ? "signal" : "exit status",
		       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	}
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		DIR *directory = opendir(argv[i]);

		if (!directory) {
			perror(argv[i]);
			return 2;
		}
		try_all(directory);
		closedir(directory);
	}
	if (argc < 2) {
		fprintf(stderr, "usage: replay DIRECTORY...\n");
		return 2;
	}
	printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
	return failed ? 1 : passed ? 0 : 77;
}
