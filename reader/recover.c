/*
 * recover.c - completes the logs of killed recorders
 *
 * SPDX-License-Identifier: MIT
 */
#include "control/recover.h"

#include "base/sys.h"
#include "error.h"
#include "source.h"

int posixtrace_log_recover(int fd)
{
	struct input in;
	int r = input_open_header(&in, fd);

	if (r < 0)
		return source_refuse("log", fd, -r);
	if (in.header.stream[0])
		recover_stream(in.header.stream, sys_fd_path(fd).text);
	input_close(&in);
	return 0;
}
