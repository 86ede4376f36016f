/*
 * replay.c - inputs of a fuzzer once more, without libFuzzer: each file of the directories in a process of its own
 *
 *     replay DIRECTORY...
 *
 * SPDX-License-Identifier: MIT
 */
#include "fuzz.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "test.h"

/* Not every target needs to be prepared. */
#pragma weak LLVMFuzzerInitialize

static int passed, failed, skipped;

static void try(int directory, const char *name)
{
	int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
	struct stat st;
	uint8_t *bytes;

	MUST(fd >= 0 && fstat(fd, &st) == 0);
	/* As long as the file, so that a byte too many is noticed. */
	bytes = malloc((size_t)st.st_size + !st.st_size);
	MUST(bytes && read(fd, bytes, (size_t)st.st_size) == st.st_size);
	close(fd);
	alarm(60 * (unsigned)test_slow());
	if (LLVMFuzzerInitialize)
		LLVMFuzzerInitialize(NULL, NULL);
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
		pid = fork();
		if (pid == 0) {
			try(dirfd(directory), e->d_name);
			_exit(0);
		}
		MUST(pid > 0 && waitpid(pid, &status, 0) == pid);
		if (status == 0) {
			passed++;
			continue;
		}
		/* It cannot be tried here, and it has said why. */
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
