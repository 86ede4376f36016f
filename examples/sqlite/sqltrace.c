/*
 * sqltrace.c - trace points for SQLite: a loadable extension, sqltrace.so
 *
 *     .load ./sqltrace                                in the shell
 *     sqlite3_load_extension(db, "./sqltrace", 0, 0)  in a program
 *
 * From then on that connection, and each one that the process opens later,
 * records its statements (sqltrace.h). Nothing reads them here, and nothing
 * here knows whether anybody does: as long as nobody traces the process, a
 * trace point is a few loads and a branch.
 *
 * SQLite calls traced() with the connection's mutex held, so a struct
 * connection has one user at a time and needs no lock. Nothing is allocated
 * but one struct for each connection, and room for the running statements of
 * a connection that has more than eight of them at once.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stddef.h>
#include <sqlite3ext.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <trace.h>

#include "sqltrace.h"

SQLITE_EXTENSION_INIT1

struct running {
	sqlite3_stmt *stmt;
	uint64_t statement;
	uint64_t rows;
	uint64_t begun; /* nanoseconds, CLOCK_MONOTONIC; 0: SQLTRACE_LATE */
	uint32_t flags;
};

struct connection {
	uint32_t number;
	unsigned count, room;
	uint64_t statements;
	struct running *running; /* the latest is the last */
	struct running few[8];
};

static trace_event_id_t event_prepare, event_row, event_finish, event_close;
static atomic_uint connections;
static atomic_uint_least64_t statements;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static struct running *running_find(struct connection *c, const sqlite3_stmt *stmt)
{
	for (unsigned i = c->count; i-- > 0;)
		if (c->running[i].stmt == stmt)
			return &c->running[i];
	return NULL;
}

static struct running *running_add(struct connection *c, sqlite3_stmt *stmt)
{
	if (c->count == c->room) {
		void *old = c->running == c->few ? NULL : c->running;
		struct running *more = sqlite3_realloc64(old, 2ull * c->room * sizeof *more);

		if (!more)
			return NULL; /* this statement is not traced */
		if (!old)
			memcpy(more, c->few, sizeof c->few);
		c->running = more;
		c->room *= 2;
	}
	c->running[c->count].stmt = stmt;
	return &c->running[c->count++];
}

static void running_remove(struct connection *c, struct running *r)
{
	*r = c->running[--c->count];
}

static struct running *begin(struct connection *c, sqlite3_stmt *stmt, const char *text, uint32_t flags)
{
	struct running *r = running_find(c, stmt); /* an earlier run without a report of its end, or null */
	struct sqltrace_prepare data;
	size_t length = strlen(text);
	size_t kept = length < SQLTRACE_TEXT_MAX ? length : SQLTRACE_TEXT_MAX;

	if (!r)
		r = running_add(c, stmt);
	if (!r)
		return NULL;
	r->statement = atomic_fetch_add_explicit(&statements, 1, memory_order_relaxed) + 1;
	r->rows = 0;
	r->flags = flags;
	r->begun = flags & SQLTRACE_LATE ? 0 : now();
	c->statements++;

	data.statement = r->statement;
	data.connection = c->number;
	data.flags = flags;
	data.length = length < UINT32_MAX ? (uint32_t)length : UINT32_MAX;
	memcpy(data.text, text, kept);
	posix_trace_event(event_prepare, &data, offsetof(struct sqltrace_prepare, text) + kept);
	return r;
}

/*
 * SQLite says so at the beginning of a statement, and of each trigger that it
 * fires: then with a comment in place of the statement's own text. A nested
 * statement's text comes as a comment, too, but of a statement not yet running.
 */
static void on_start(struct connection *c, sqlite3_stmt *stmt, const char *text)
{
	const char *whole = sqlite3_sql(stmt);

	if (whole == text)
		begin(c, stmt, text, 0);
	else if (whole && !running_find(c, stmt))
		begin(c, stmt, whole, SQLTRACE_NESTED);
}

static void on_row(struct connection *c, sqlite3_stmt *stmt)
{
	struct running *r = running_find(c, stmt);
	struct sqltrace_row data;

	/*
	 * Not known: SQLite reads its schema, or it was begun before we were loaded, or again after the schema had
	 * changed.
	 */
	if (!r && sqlite3_sql(stmt) && sqlite3_stmt_status(stmt, SQLITE_STMTSTATUS_REPREPARE, 0) > 0)
		r = begin(c, stmt, sqlite3_sql(stmt), SQLTRACE_LATE);
	if (!r)
		return;
	data.statement = r->statement;
	data.row = ++r->rows;
	posix_trace_event(event_row, &data, sizeof data);
}

static void on_finish(struct connection *c, sqlite3_stmt *stmt, uint64_t nanoseconds)
{
	struct running *r = running_find(c, stmt);
	struct sqltrace_finish data;

	if (!r && sqlite3_sql(stmt))
		r = begin(c, stmt, sqlite3_sql(stmt), SQLTRACE_LATE);
	if (!r)
		return;
	data.statement = r->statement;
	data.nanoseconds = r->begun ? now() - r->begun : nanoseconds;
	data.rows = r->rows;
	data.connection = c->number;
	data.flags = r->flags;
	running_remove(c, r);
	posix_trace_event(event_finish, &data, sizeof data);
}

static int traced(unsigned what, void *context, void *p, void *x)
{
	struct connection *c = context;

	switch (what) {
	case SQLITE_TRACE_STMT:
		on_start(c, p, x);
		break;
	case SQLITE_TRACE_ROW:
		on_row(c, p);
		break;
	case SQLITE_TRACE_PROFILE:
		on_finish(c, p, (uint64_t)*(sqlite3_int64 *)x);
		break;
	case SQLITE_TRACE_CLOSE: {
		struct sqltrace_close data = { .connection = c->number, .statements = c->statements };

		posix_trace_event(event_close, &data, sizeof data);
		break;
	}
	}
	return 0;
}

/* SELECT sqltrace_connection(): the number by which the events call this connection. */
static void function_connection(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct connection *c = sqlite3_user_data(context);

	(void)argc;
	(void)argv;
	sqlite3_result_int64(context, c->number);
}

/*
 * SQLITE_TRACE_CLOSE comes too early to free anything: statements may go on
 * after it. A function's context is freed when the connection really goes.
 */
static void connection_free(void *context)
{
	struct connection *c = context;

	if (c->running != c->few)
		sqlite3_free(c->running);
	sqlite3_free(c);
}

static int connection_trace(sqlite3 *db, char **error, const sqlite3_api_routines *api)
{
	struct connection *c = sqlite3_malloc(sizeof *c);
	int status;

	(void)error;
	(void)api;
	if (!c)
		return SQLITE_NOMEM;
	memset(c, 0, sizeof *c);
	c->number = atomic_fetch_add(&connections, 1) + 1;
	c->running = c->few;
	c->room = sizeof c->few / sizeof c->few[0];
	/*
	 * Loaded twice into one connection, it begins anew: this order, since the second call frees the former context.
	 */
	sqlite3_trace_v2(db, SQLITE_TRACE_STMT | SQLITE_TRACE_ROW | SQLITE_TRACE_PROFILE | SQLITE_TRACE_CLOSE, traced,
		c);
	status = sqlite3_create_function_v2(db, "sqltrace_connection", 0, SQLITE_UTF8, c, function_connection, NULL,
		NULL,
	                                    connection_free);
	if (status != SQLITE_OK) /* it has freed the context */
		sqlite3_trace_v2(db, 0, NULL, NULL);
	return status;
}

/* What the data are, for tools that know nothing of SQLite: docs/command.md. These types have no events. */
static void declare_layouts(void)
{
	static const char *const layouts[] = {
		SQLTRACE_PREPARE "{statement:u64,connection:u32,flags:x32}", SQLTRACE_PREPARE "{length:u32,text:s}",
		SQLTRACE_ROW "{statement:u64,row:u64}",
		SQLTRACE_FINISH "{statement:u64,time:u64/ns,rows:u64}", SQLTRACE_FINISH "{connection:u32,flags:x32}",
		SQLTRACE_CLOSE "{connection:u32,reserved:u32,statements:u64}",
	};
	trace_event_id_t declared;

	for (unsigned i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
		posix_trace_eventid_open(layouts[i], &declared);
}

/* What SQLite looks for, by the file's name. All else is hidden: SQLite loads extensions into one scope. */
__attribute__((visibility("default")))
int sqlite3_sqltrace_init(sqlite3 *db, char **error, const sqlite3_api_routines *api);

int sqlite3_sqltrace_init(sqlite3 *db, char **error, const sqlite3_api_routines *api)
{
	int status;

	SQLITE_EXTENSION_INIT2(api);
	posix_trace_eventid_open(SQLTRACE_PREPARE, &event_prepare);
	posix_trace_eventid_open(SQLTRACE_ROW, &event_row);
	posix_trace_eventid_open(SQLTRACE_FINISH, &event_finish);
	posix_trace_eventid_open(SQLTRACE_CLOSE, &event_close);
	declare_layouts();

	status = sqlite3_auto_extension((void (*)(void))connection_trace);
	if (status == SQLITE_OK)
		status = connection_trace(db, error, api);
	/* Other connections call traced() when this one is long closed: never unload it. */
	return status == SQLITE_OK ? SQLITE_OK_LOAD_PERMANENTLY : status;
}
