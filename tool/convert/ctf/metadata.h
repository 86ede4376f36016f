/*
 * metadata.h - how a trace in the Common Trace Format is to be read, in its own language
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CTF_METADATA_H
#define CTF_METADATA_H

#include <stdbool.h>

#include "event/layouts.h"
#include "logs/logfile.h"

/* Writes the file metadata. kinds: CTF_KINDS flags, of the kinds that occur. */
void ctf_metadata(int directory, const char *path, const struct logfile *log, const struct layouts *layouts,
                  const unsigned char uuid[16], const bool *kinds);


/*
 * Writes the metadata of a trace of the kernel: kernel.h. calls: for each event type, whether the trace has system
 * calls of it.
 */
void ctf_kernel_metadata(int directory, const char *path, const struct logfile *log, const struct layouts *layouts,
                         const unsigned char uuid[16], const bool *calls);

#endif
