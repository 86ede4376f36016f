/*
 * reap.h - removes a stream whose creator has died
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SHM_REAP_H
#define SHM_REAP_H

#include <stdbool.h>
#include <stdint.h>

#include "host/file.h"
#include "shm/procpage.h"

/*
 * Removes a stream unless its creator lives. In this order: writers that still record stop, all pages forget the
 * stream, save() completes the stream's log if it has one, and the file is removed. If save() returns false, the file
 * stays for a process that can save it; so it does if the stream has a log and save is null. A stream of another
 * layout version stays as it is. own_pidns: the caller's pid namespace. Returns false if the creator lives, or there
 * is no file.
 */
bool stream_reap(int dir, const struct shm_dir *shm_dir, uint32_t own_pidns, const struct page_entry *entry,
                 bool (*save)(int fd, void *arg), void *arg);

#endif
