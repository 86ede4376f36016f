/*
 * sqltrace.h - the events of a traced SQLite, and what data they carry
 *
 * sqltrace.c records them, analysis.c reads them, and so may anybody else.
 *
 * A statement, here, is one run of an SQL statement: a prepared statement that
 * is run three times makes three. Each has a number, unique in its process,
 * and so has each connection; events of several threads are told apart by them.
 *
 *     sql.prepare   a statement begins
 *     sql.row       it has made a row
 *     sql.finish    it has ended
 *     sql.close     a connection is about to be closed
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SQLTRACE_H
#define SQLTRACE_H

#include <stdint.h>

#define SQLTRACE_PREPARE "sql.prepare"
#define SQLTRACE_ROW     "sql.row"
#define SQLTRACE_FINISH  "sql.finish"
#define SQLTRACE_CLOSE   "sql.close"

/* As much text as fits into 1024 bytes of data, what a stream takes by default. */
#define SQLTRACE_TEXT_MAX 1004

/* Run from inside another statement of the same connection, as full text search does. */
#define SQLTRACE_NESTED 1u
/*
 * SQLite did not say when it began: EXPLAIN, or the schema had changed and it was begun a second time. The time in
 * sql.finish is then SQLite's own, in whole milliseconds.
 */
#define SQLTRACE_LATE 2u

/*
 * sql.prepare. SQLite has no hook for sqlite3_prepare(): this is recorded when
 * a run begins, by its first sqlite3_step(). Only the bytes of text that there
 * are get recorded; a stream with a smaller max-data-size keeps fewer.
 */
struct sqltrace_prepare {
	uint64_t statement;
	uint32_t connection;
	uint32_t flags;  /* SQLTRACE_NESTED, SQLTRACE_LATE */
	uint32_t length; /* bytes of the whole text */
	char     text[SQLTRACE_TEXT_MAX]; /* parameters as they are written (?1), no null at the end */
};

/* sql.row */
struct sqltrace_row {
	uint64_t statement;
	uint64_t row; /* 1, 2, ... */
};

/* sql.finish */
struct sqltrace_finish {
	uint64_t statement;
	uint64_t nanoseconds; /* since sql.prepare; what the program does between its steps is in it */
	uint64_t rows;
	uint32_t connection;
	uint32_t flags; /* as in sql.prepare */
};

/* sql.close */
struct sqltrace_close {
	uint32_t connection;
	uint32_t reserved; /* 0 */
	uint64_t statements; /* that it has run */
};

#endif
