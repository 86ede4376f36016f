/*
 * workload.c - several connections of one program, at work at the same time
 *
 *     workload [-t READERS] [-r ROUNDS] [-p MILLISECONDS] [-l EXTENSION]... DATABASE
 *
 * Each reader is a thread with a connection of its own: a round is fast
 * look-ups and every now and then a slow query, then the pause of -p. One more
 * thread writes. The extensions are loaded into the main thread's connection,
 * and only there: what they do for the others, they do by themselves. At the
 * end it says how many statements it has run, so that they can be compared with
 * the trace.
 *
 * The database is that of shop.sql.
 *
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* ?1 is a customer's number, or whatever number the query wants */
static const struct {
	const char *sql;
	int every; /* rounds */
	int times;
} mix[] = {
	{ "SELECT name, city FROM customer WHERE id = ?1", 1, 10 },
	{ "SELECT id, day FROM orders WHERE customer = ?1", 1, 5 },
	{ "SELECT sum(pieces * cents) FROM orders "
	  "JOIN item ON item.orders = orders.id JOIN product ON product.id = item.product "
	  "WHERE customer = ?1", 1, 2 },
	{ "SELECT count(*) FROM customer WHERE city = (SELECT city FROM customer WHERE id = ?1)", 5, 1 },
	{ "SELECT count(*), sum(pieces) FROM item WHERE product = ?1", 10, 1 },
	{ "SELECT substr(day, 1, 7) AS month, count(*) FROM orders WHERE id % 10 = ?1 % 10 "
	  "GROUP BY month ORDER BY 2 DESC", 10, 1 },
};
enum { QUERIES = sizeof mix / sizeof mix[0] };

static const char *path;
static int rounds = 50, pause_ms, customers = 1;
static pthread_barrier_t ready;

struct worker {
	pthread_t thread;
	unsigned seed;
	long long statements, rows;
};

static void fail(const char *what, sqlite3 *db)
{
	fprintf(stderr, "workload: %s: %s\n", what, db ? sqlite3_errmsg(db) : "failed");
	exit(1);
}

static sqlite3 *connect(void)
{
	sqlite3 *db;

	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
		fail(path, db);
	sqlite3_busy_timeout(db, 60000);
	return db;
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *stmt;

	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
		fail(sql, db);
	return stmt;
}

/* Runs a statement to its end; the first column of its last row, if that is a number. */
static long long run(struct worker *w, sqlite3_stmt *stmt, int number)
{
	long long first = 0;
	int status;

	if (sqlite3_bind_parameter_count(stmt) > 0)
		sqlite3_bind_int(stmt, 1, number);
	while ((status = sqlite3_step(stmt)) == SQLITE_ROW) {
		first = sqlite3_column_int64(stmt, 0);
		w->rows++;
	}
	if (status != SQLITE_DONE)
		fail(sqlite3_sql(stmt), sqlite3_db_handle(stmt));
	sqlite3_reset(stmt);
	w->statements++;
	return first;
}

static long long run_once(struct worker *w, sqlite3 *db, const char *sql)
{
	sqlite3_stmt *stmt = prepare(db, sql);
	long long first = run(w, stmt, 0);

	sqlite3_finalize(stmt);
	return first;
}

static void rest(void)
{
	struct timespec time = { pause_ms / 1000, pause_ms % 1000 * 1000000 };

	if (pause_ms > 0)
		nanosleep(&time, NULL);
}

static int number_next(struct worker *w)
{
	return 1 + (int)(rand_r(&w->seed) % (unsigned)customers);
}

static void *reader(void *p)
{
	struct worker *w = p;
	sqlite3_stmt *stmt[QUERIES];
	sqlite3 *db = connect();
	char name[16];

	/* Names the threads for the trace. */
	snprintf(name, sizeof name, "reader %u", w->seed % 1000);
	pthread_setname_np(pthread_self(), name);
	for (int q = 0; q < QUERIES; q++)
		stmt[q] = prepare(db, mix[q].sql);
	pthread_barrier_wait(&ready);
	for (int r = 0; r < rounds; r++) {
		for (int q = 0; q < QUERIES; q++)
			for (int i = 0; r % mix[q].every == 0 && i < mix[q].times; i++)
				run(w, stmt[q], number_next(w));
		rest();
	}
	for (int q = 0; q < QUERIES; q++)
		sqlite3_finalize(stmt[q]);
	sqlite3_close(db);
	return NULL;
}

static void *writer(void *p)
{
	struct worker *w = p;
	sqlite3 *db = connect();
	sqlite3_stmt *begin = prepare(db, "BEGIN IMMEDIATE");
	sqlite3_stmt *update = prepare(db, "UPDATE product SET cents = cents + 1 WHERE id = ?1");
	sqlite3_stmt *commit = prepare(db, "COMMIT");

	pthread_setname_np(pthread_self(), "writer");
	pthread_barrier_wait(&ready);
	for (int r = 0; r < rounds; r++) {
		run(w, begin, 0);
		for (int i = 0; i < 5; i++)
			run(w, update, number_next(w));
		run(w, commit, 0);
		rest();
	}
	sqlite3_finalize(begin);
	sqlite3_finalize(update);
	sqlite3_finalize(commit);
	sqlite3_close(db);
	return NULL;
}

static void load(sqlite3 *db, const char *extension)
{
	char *error = NULL;

	if (sqlite3_load_extension(db, extension, NULL, &error) != SQLITE_OK) {
		fprintf(stderr, "workload: %s: %s\n", extension, error);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	const char *extensions[8];
	int n = 0, readers = 4, option;
	struct worker *workers, total = { 0 };
	struct timespec from, to;
	sqlite3 *db;

	while ((option = getopt(argc, argv, "t:r:p:l:")) != -1) {
		if (option == 't')
			readers = atoi(optarg);
		else if (option == 'r')
			rounds = atoi(optarg);
		else if (option == 'p')
			pause_ms = atoi(optarg);
		else if (option == 'l' && n < 8)
			extensions[n++] = optarg;
		else
			return 2;
	}
	if (optind != argc - 1 || readers < 0 || readers > 1000) {
		fprintf(stderr, "usage: workload [-t READERS] [-r ROUNDS] [-p MILLISECONDS] [-l EXTENSION]... "
		        "DATABASE\n");
		return 2;
	}
	path = argv[optind];

	db = connect();
	sqlite3_enable_load_extension(db, 1);
	for (int i = 0; i < n; i++)
		load(db, extensions[i]);
	customers = (int)run_once(&total, db, "SELECT count(*) FROM customer");

	workers = calloc((size_t)readers + 1, sizeof *workers);
	if (!workers || customers < 1)
		fail("no memory, or no customers", NULL);
	pthread_barrier_init(&ready, NULL, (unsigned)readers + 1);
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (int i = 0; i <= readers; i++) {
		workers[i].seed = (unsigned)i + 1;
		if (pthread_create(&workers[i].thread, NULL, i < readers ? reader : writer, &workers[i]) != 0)
			fail("cannot start a thread", NULL);
	}
	for (int i = 0; i <= readers; i++) {
		pthread_join(workers[i].thread, NULL);
		total.statements += workers[i].statements;
		total.rows += workers[i].rows;
	}
	clock_gettime(CLOCK_MONOTONIC, &to);
	printf("%d connections: %lld statements, %lld rows in %.2f s\n", readers + 2, total.statements, total.rows,
	       (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9);
	free(workers);
	sqlite3_close(db);
	return 0;
}
