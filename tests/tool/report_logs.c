/*
 * report_logs.c - logs that are the same each time: for the tests of what posixtrace prints
 *
 *     report_logs KIND FILE
 *
 *     server   two processes, layouts, text and bytes, what the system says, losses, names that are no text
 *     client   one more process, in between
 *     hole     a segment is missing
 *     open     as one that is still written
 *     i386     of a program with words of four bytes
 *     exec     a process that has executed another file, and one that nobody has looked at
 *     many     a million events
 *
 * SPDX-License-Identifier: MIT
 */
#include <fcntl.h>

#include "model/eventset.h"
#include "unit_log.h"

#define MS UINT64_C(1000000)

static struct log_writer writer;

/* -- Events ------------------------------------------------------------------------------ */

static struct log_event origin = { .pid = 4711, .tid = 4711, .pthread = 7, .address = 0x401136, .name = "server" };

/* ns: nanoseconds after the creation */
static void put(uint32_t id, uint64_t ns, const void *data, uint32_t length)
{
	struct log_event e = origin;

	e.id = id;
	e.time = LOG_WRITER_CREATED + ns;
	e.length = length;
	log_writer_add(&writer, &e, data);
}

static void system_event(uint32_t id, uint64_t ns, const void *data, uint32_t length)
{
	struct log_event e = { .id = id, .time = LOG_WRITER_CREATED + ns, .length = length };

	log_writer_add(&writer, &e, data);
}

static void begin(const char *path, const char *machine)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	MUST(fd >= 0);
	log_writer_begin(&writer, fd, POSIX_TRACE_APPEND, 64 << 20, 1024);
	strcpy(writer.header.machine, machine);
	MUST(output_begin(&writer.output, &writer.header) == 0);
	draft_begin(&writer.draft, output_position(&writer.output)->sequence, output_room(&writer.output));
	log_writer_type(&writer, 70, "sql.row{rows:u32,time:u64/ns}");
	log_writer_type(&writer, 71, "request");
	log_writer_type(&writer, 72, "line");
	log_writer_type(&writer, 73, "all{a:i8,b:i16[3],c:x64,d:f32/%,e:c[6]}");
	log_writer_type(&writer, 74, "all{f:f64,g:b}");
	log_writer_type(&writer, 75, "an \33[31mevil\n name");
	log_writer_type(&writer, 76, "request{id:u32/#,path:s}");
	log_writer_type(&writer, 77, "brace{but no layout}");
}

/* -- The kinds ------------------------------------------------------------------------------ */

static void put_layouts(void)
{
	struct {
		uint32_t rows;
		uint64_t time;
	} row;
	struct {
		int8_t a;
		int16_t b[3];
		uint64_t c;
		float d;
		char e[6];
		double f;
		unsigned char g[5];
	} all;

	memset(&row, 0, sizeof row);
	row.rows = 3;
	row.time = 1200;
	put(70, 2 * MS, &row, sizeof row);
	put(70, 2 * MS + 100, &row, 8);
	put(70, 2 * MS + 200, &row, 3);
	memset(&all, 0, sizeof all);
	all.a = -1;
	all.b[0] = -32768;
	all.b[2] = 32767;
	all.c = 0xdeadbeefcafe;
	all.d = 12.5f;
	strcpy(all.e, "six");
	all.f = -0.1;
	memcpy(all.g, "\1\2\3\4\5", 5);
	put(73, 3 * MS, &all, offsetof(__typeof__(all), g) + 5);
	put(74, 3 * MS + 1, &all, offsetof(__typeof__(all), g));
	/* By the name in front of the brace; the null belongs to nobody. */
	put(71, 4 * MS, "\5\0\0\0/index", 11);
	put(76, 4 * MS, "\6\0\0\0", 4);
}

static void put_unknown(void)
{
	unsigned char bytes[300];

	for (unsigned i = 0; i < sizeof bytes; i++)
		bytes[i] = (unsigned char)i;
	put(72, 5 * MS, "a \"line\"\tof\\text\n", 17);
	put(72, 5 * MS, "gr\xc3\xbc\xc3\x9f", 7);
	put(72, 5 * MS, "no\xfftext", 7);
	put(72, 5 * MS, "A", 2);
	put(72, 5 * MS, bytes, sizeof bytes);
	/* Truncation would fall into a character. */
	bytes[0] = 'x';
	for (unsigned i = 1; i < 201; i += 2)
		memcpy(bytes + i, "\xc3\xbc", 2);
	put(72, 5 * MS, bytes, 201);
	put(72, 5 * MS, NULL, 0);
	put(77, 5 * MS, "\1\2\3\4\5", 5);
	put(90, 5 * MS, "no name", 7);
	origin.truncated = true;
	put(72, 5 * MS, "as far as it", 12);
	origin.truncated = false;
}

static void make_server(void)
{
	trace_event_set_t set[2];
	int by_itself = 1, by_call = 0;

	eventset_empty(&set[0]);
	eventset_add(&set[0], 72);
	eventset_add(&set[0], 71);
	eventset_empty(&set[1]);
	eventset_add(&set[1], 71);
	eventset_add(&set[1], 70);
	put(POSIX_TRACE_START, MS, &set[0], sizeof set[0]);
	put(POSIX_TRACE_FILTER, MS + 10, set, sizeof set);
	put_layouts();
	origin.tid = 4712;
	strcpy(origin.name, "work \33[2J");
	put_unknown();
	origin.pid = origin.tid = 4800;
	strcpy(origin.name, "child");
	put(75, 6 * MS, NULL, 0);
	system_event(POSIX_TRACE_OVERFLOW, 6 * MS, NULL, 0);
	system_event(POSIX_TRACE_RESUME, 8 * MS + 500000, NULL, 0);
	put(71, 9 * MS, "\7\0\0\0x", 6);
	system_event(POSIX_TRACE_FLUSH_START, 10 * MS, NULL, 0);
	system_event(POSIX_TRACE_FLUSH_STOP, 11 * MS, NULL, 0);
	system_event(POSIX_TRACE_STOP, 12 * MS, &by_itself, sizeof by_itself);
	put(POSIX_TRACE_START, 72 * NS_PER_S, &set[1], 0);
	put(POSIX_TRACE_STOP, 3700 * NS_PER_S, &by_call, sizeof by_call);
}

static void make_client(void)
{
	origin = (struct log_event){ .pid = 5000, .tid = 5001, .name = "client" };
	put(71, 2 * MS, "\1\0\0\0/first", 11);
	put(71, 4 * MS, "\2\0\0\0/second", 12);
	put(71, 8 * MS, "\3\0\0\0/third", 11);
}

/* Overwrites the middle one of three segments with zeroes. */
static void make_hole(void)
{
	uint64_t from = 0, until = 0;
	unsigned char zeroes[4096] = { 0 };

	for (unsigned i = 0; i < 3; i++) {
		off_t before = lseek(writer.fd, 0, SEEK_END);

		put(72, (i + 1) * MS, "line", 4);
		MUST(log_writer_segment(&writer) == 0);
		if (i == 1) {
			from = (uint64_t)before;
			until = (uint64_t)lseek(writer.fd, 0, SEEK_END);
		}
	}
	MUST(until > from && until - from <= sizeof zeroes);
	MUST(pwrite(writer.fd, zeroes, until - from, (off_t)from) == (ssize_t)(until - from));
}

static unsigned char *put_string(unsigned char *p, const char *text)
{
	put16(p, (uint16_t)strlen(text));
	memcpy(p + 2, text, strlen(text));
	return p + 2 + strlen(text);
}

/* Adds the mappings of process origin.pid, as of this many ns after the creation. */
static void put_process(uint64_t ns, uint64_t start, const char *path)
{
	unsigned char body[256], *p = body;

	put32(p, origin.pid);
	put32(p + 4, 1);
	put64(p + 8, LOG_WRITER_CREATED + ns);
	p = put_string(p + 16, path);
	put64(p, start);
	put64(p + 8, start + 0x2000);
	put64(p + 16, 0x5000);
	p = put_string(p + 24, path);
	p = put_string(p, "id");
	MUST(output_frame(&writer.output, FRAME_PROCESS, body, (size_t)(p - body),
	                  output_position(&writer.output)->types) == 0);
}

/* The first events are older than the first look at the process. */
static void make_exec(void)
{
	put_process(2 * MS, 0x400000, "/nowhere/first");
	put_process(5 * MS, 0x400000, "/nowhere/second");
	put_process(5 * MS, 0x700000, "/nowhere/lib\33\302\233\342\200\256.so");
	for (unsigned i = 1; i <= 6; i++)
		put(72, i * MS, "line", 4);
	origin.address = 0x701fff;
	put(72, 7 * MS, "line", 4);
	origin.address = 0x702000;
	put(72, 8 * MS, "line", 4);
	/* A child is assumed to have its parent's mappings where this is certain. */
	origin.pid = origin.tid = 4800;
	origin.address = 0x700000;
	put(72, 9 * MS, "line", 4);
	origin.address = 0x401136;
	put(72, 9 * MS, "line", 4);
	origin.pid = 4900;
	put_process(9 * MS, 0x401000, "/nowhere/other");
	origin.pid = 4800;
	put(72, 10 * MS, "line", 4);
}

static void make_many(void)
{
	for (uint64_t i = 0; i < 1000000; i++)
		put(72, i * 10, &i, sizeof i);
}

/* As in a program with 32-bit words, where a 64-bit number is aligned to four bytes. */
static void make_i386(void)
{
	put(70, MS, "\3\0\0\0\xb0\4\0\0\0\0\0\0", 12);
}

static void as_i386(void)
{
	unsigned char bytes[FRAME_BYTES + HEADER_BODY_MAX];
	struct frame f;

	MUST(pread(writer.fd, bytes, sizeof bytes, 0) > FRAME_BYTES && frame_get(bytes, &f) && f.kind == FRAME_HEADER);
	bytes[FRAME_BYTES + 21] = 4;
	f.body_crc = crc32c(bytes + FRAME_BYTES, f.size);
	frame_put(bytes, &f);
	MUST(pwrite(writer.fd, bytes, FRAME_BYTES + f.size, 0) == (ssize_t)(FRAME_BYTES + f.size));
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*make)(void);
	} kinds[] = {
		{ "server", make_server }, { "client", make_client }, { "hole", make_hole },
		{ "open", make_client },   { "i386", make_i386 },     { "many", make_many },
		{ "exec", make_exec },
	};

	for (unsigned i = 0; argc == 3 && i < sizeof kinds / sizeof kinds[0]; i++) {
		if (strcmp(argv[1], kinds[i].name) != 0)
			continue;
		begin(argv[2], strcmp(argv[1], "i386") == 0 ? "i686" : "");
		kinds[i].make();
		if (strcmp(argv[1], "open") == 0)
			MUST(log_writer_segment(&writer) == 0);
		else
			log_writer_end(&writer);
		if (strcmp(argv[1], "i386") == 0)
			as_i386();
		return 0;
	}
	fprintf(stderr, "usage: report_logs KIND FILE\n");
	return 2;
}
