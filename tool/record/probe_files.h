/*
 * probe_files.h - the files with probes that record --usdt has met
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef PROBE_FILES_H
#define PROBE_FILES_H


struct probed_file;
struct probes;

/* Returns a file, which takes over the descriptor. Valid until the next call. */
struct probed_file *probed_file_add(struct probes *p, int fd, const char *path);

#endif
