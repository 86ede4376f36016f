/*
 * sdt_values_cpp.cpp - the probes of sdt_values.h in C++
 *
 * SPDX-License-Identifier: MIT
 */
#include "sdt_values.h"
