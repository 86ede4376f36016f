/*
 * demangle.h - the names of C++ functions as people write them
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef DEMANGLE_H
#define DEMANGLE_H

/*
 * Returns the qualified name of a symbol of C++, without parameters: "shape::circle::draw". Returns the symbol if it is
 * of another language, or if there is no libstdc++. Never frees the name: the caller keeps it.
 */
const char *demangle(const char *symbol);

#endif
