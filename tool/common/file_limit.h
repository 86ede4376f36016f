/*
 * file_limit.h - writing beyond the limit of file sizes is an error, not a signal
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef FILE_LIMIT_H
#define FILE_LIMIT_H

/* Makes writing beyond the limit of file sizes (ulimit -f) fail with EFBIG. By default SIGXFSZ kills the process. */
void file_limit_is_an_error(void);
/* Undoes file_limit_is_an_error(): for a child that is about to execute another program. */
void file_limit_is_a_signal(void);

#endif
