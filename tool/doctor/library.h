/*
 * library.h - the library that programs get, and what programs of this user have left or use
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LIBRARY_H
#define LIBRARY_H

/* Checks the library that programs load, and looks for other versions. */
void doctor_library(void);
/* Checks the contents of this user's directory. */
void doctor_directory(void);
/* Returns in path the library that the dynamic loader finds, "" if none. */
void library_found(char *path, int size);

#endif
