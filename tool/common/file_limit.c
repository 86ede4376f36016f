/*
 * file_limit.c - writing beyond the limit of file sizes is an error, not a signal
 *
 * SPDX-License-Identifier: MIT
 */
#include "common/file_limit.h"

#include <signal.h>

static void (*inherited)(int);

void file_limit_is_an_error(void)
{
	inherited = signal(SIGXFSZ, SIG_IGN);
}

void file_limit_is_a_signal(void)
{
	signal(SIGXFSZ, inherited);
}
