/*
 * newlog.h - the file for a new log
 *
 * An existing log that no process writes any more becomes FILE.old. Any other existing file is left alone. A recording
 * with several files writes to FILE; FILE.1, FILE.2, ... are the earlier parts, the oldest first.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NEWLOG_H
#define NEWLOG_H

#include <stdbool.h>

/*
 * Returns a descriptor of an empty file, which is locked against other recorders as long as it is open. "-" means
 * standard output. Returns -1 after it has printed the reason. kept: the file was a log with events, which is FILE.old
 * now; then the caller must call newlog_settle().
 */
int newlog_open(const char *path, bool *kept);
/*
 * Completes newlog_open(). empty: the new log, open as fd, has no event, so the previous files get their names back.
 * Returns false if they cannot.
 */
bool newlog_settle(const char *path, int fd, bool empty);
/*
 * Opens a FIFO, waiting until it has a reader. As long as the descriptor is open, newlog_open() does not wait. Returns
 * -1 if the file is not a FIFO, or must not be written to.
 */
int newlog_wait_for_reader(const char *path);
/* Returns the largest N of the existing FILE.N that are logs of this user, or 0 if there is none. */
unsigned newlog_last(const char *path);
/* Returns FILE.N, to be freed by the caller. */
char *newlog_numbered(const char *path, unsigned number);
/*
 * Removes the existing FILE.N but those with the `keep` largest numbers; 0 removes nothing. Counts and removes only
 * logs of this user.
 */
void newlog_keep(const char *path, unsigned keep);
/*
 * Creates a file for a copy, whatever other users have put beside it. The file has no name, and *meanwhile is null. If
 * the file system does not support files without names, *meanwhile is its name, to be freed: FILE.unfinished or, if
 * that is taken, an unpredictable name. Returns a descriptor, or -1 and errno.
 */
int newlog_make(const char *copy, char **meanwhile);
/*
 * Gives a file the name FILE.N with the first N from *number on that no file has, and sets *number. from: its present
 * name, in the same directory; null: it is open as fd, and has no name. Returns 0 or an error number.
 */
int newlog_name(int fd, const char *from, const char *path, unsigned *number);
/*
 * Creates FILE.N with the first N that no file has, whatever other users have put there, or if that is not possible a
 * file without a name. *made: its path, to be freed, or null. Returns a descriptor, or -1 and errno.
 */
int newlog_beside(const char *path, char **made);
/*
 * Gives a file of newlog_make() the name of the log that is open as `old`, which it replaces, with its owner and mode.
 * Returns 0 or an error number: ESTALE if the old log has not got this name any more.
 */
int newlog_replace(const char *path, int old, int fd, const char *meanwhile);
/* Removes the file if the open file fd still has this name. */
void newlog_remove(const char *path, int fd);
/* Renames a file within its directory. Replaces an existing file. Returns 0 or an error number. */
int newlog_rename(const char *from, const char *to);
/* Returns FILE.next, the file of the second stream where two streams take turns; to be freed by the caller. */
char *newlog_next(const char *path);
/*
 * Returns FILE.unfinished, which is renamed to FILE.N when it is complete, if the file system needs a name until then;
 * to be freed by the caller.
 */
char *newlog_copy(const char *path);
/*
 * Renames an existing FILE to the next FILE.N, and also FILE.next, which a killed recorder leaves, the older of the two
 * first. A log stays if it is certain to report no event, or is being written. If all its events are in the last FILE.N
 * too, one of the two is removed. Removes the copy that a killed recorder has begun. Returns false after it has printed
 * why a log cannot be kept.
 */
bool newlog_retire(const char *path);

#endif
