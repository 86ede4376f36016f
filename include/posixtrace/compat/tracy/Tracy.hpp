/*
 * Tracy.hpp - for programs with #include <tracy/Tracy.hpp>
 *
 * SPDX-License-Identifier: MIT
 */
#include "../../tracy.hpp"
