/*
 * replay.c - what the fuzzer has found, once more: each file of a directory as a log, in a process of its own
 *
 *     replay DIRECTORY
 *
 * SPDX-License-Identifier: MIT
 */
#include "fuzz.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "test.h"

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
	LLVMFuzzerTestOneInput(bytes, (size_t)st.st_size);
	free(bytes);
}

int main(int argc, char **argv)
{
	int failed = 0, passed = 0, status;
	struct dirent *e;
	DIR *directory;

	if (argc != 2 || !(directory = opendir(argv[1]))) {
		fprintf(stderr, "usage: replay DIRECTORY\n");
		return 2;
	}
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
		failed++;
		printf("FAIL %s: %s %d\n", e->d_name, WIFSIGNALED(status) ? "signal" : "exit status",
		       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	}
	closedir(directory);
	printf("%d passed, %d failed\n", passed, failed);
	return failed ? 1 : passed ? 0 : 77;
}
