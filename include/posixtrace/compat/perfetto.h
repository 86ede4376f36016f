/*
 * perfetto.h - for programs with #include <perfetto.h>
 *
 * SPDX-License-Identifier: MIT
 */
#include "../perfetto.hpp"
