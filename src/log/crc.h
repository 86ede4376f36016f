/*
 * crc.h - CRC-32C, by processor instructions if available
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LOG_CRC_H
#define LOG_CRC_H

#include <stddef.h>
#include <stdint.h>

uint32_t crc32c(const void *data, size_t size);
/* Calculates without special instructions, for tests. */
uint32_t crc32c_plain(const void *data, size_t size);

#endif
