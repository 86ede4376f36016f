/*
 * header.c - src/log/header.c: a log's header can be read back, and invalid headers are refused
 *
 * SPDX-License-Identifier: MIT
 */
#include "log/header.h"

#include <sys/utsname.h>

#include "log/format.h"
#include "unit_log.h"

static struct log_header h, got;
static unsigned char body[HEADER_BODY_MAX];
static size_t size;

static void begin(void)
{
	memset(&h, 0, sizeof h);
	attr_init(&h.attr);
	attr_set_name(&h.attr, "a stream");
	h.attr.create_sec = 1700000000;
	h.attr.create_nsec = 123456789;
	h.attr.resolution_nsec = 4;
	h.attr.stream_size = UINT64_C(0x123456789ab);
	h.attr.log_size = UINT64_C(0x223456789ab);
	h.attr.data_size = 4321;
	h.attr.stream_policy = POSIX_TRACE_UNTIL_FULL;
	h.attr.log_policy = POSIX_TRACE_APPEND;
	h.attr.inheritance = POSIX_TRACE_INHERITED;
	h.monotonic = 77;
	h.target = 12;
	h.creator = 34;
	h.word = 4;
	for (unsigned i = 0; i < sizeof h.boot; i++)
		h.boot[i] = (unsigned char)(i + 1);
	strcpy(h.host, "a host");
	strcpy(h.kernel, "6.1");
	strcpy(h.machine, "x86_64");
	strcpy(h.stream, "/dev/shm/posixtrace-0/stream-1-2-3");
	size = header_put(body, &h);
	MUST(size <= sizeof body);
}

static bool taken(void)
{
	unsigned char *edge = log_memory(size);
	bool r;

	memcpy(edge, body, size);
	memset(&got, 0xee, sizeof got);
	r = header_get(&got, edge, size);
	munmap((void *)((uintptr_t)edge & ~(uintptr_t)4095), (size + 4095) & ~(size_t)4095);
	return r;
}

TEST(there_and_back)
{
	begin();
	MUST(taken());
	CHECK("LOG-20", memcmp(&got.attr, &h.attr, sizeof h.attr) == 0);
	CHECK_EQ("LOG-20", got.word, 4);
	CHECK("LOG-20", got.monotonic == 77 && got.target == 12 && got.creator == 34 &&
	      memcmp(got.boot, h.boot, sizeof h.boot) == 0);
	CHECK_STR("LOG-20", got.host, h.host);
	CHECK_STR("LOG-20", got.kernel, h.kernel);
	CHECK_STR("LOG-20", got.machine, h.machine);
	CHECK_STR("LOG-20", got.stream, h.stream);
}

/* The bytes as in docs/log-format.md. */
TEST(layout)
{
	begin();
	CHECK("-", memcmp(body, "posixtrace log\n", 16) == 0);
	CHECK("-", get16(body + 16) == 1 && get16(body + 18) == FORMAT_MINOR);
	CHECK("-", body[20] == (*(const uint16_t *)"\1" == 1 ? 1 : 2) && body[21] == 4 && get16(body + 22) == 0);
	CHECK_EQ("-", get64(body + 24), INT64_C(1700000000123456789));
	CHECK_EQ("-", get64(body + 32), 77);
	CHECK_EQ("-", get64(body + 40), 4);
	CHECK_EQ("-", get64(body + 48), INT64_C(0x123456789ab));
	CHECK_EQ("-", get64(body + 56), INT64_C(0x223456789ab));
	CHECK_EQ("-", get32(body + 64), 4321);
	CHECK("-", body[68] == 2 && body[69] == 4 && body[70] == 1 && body[71] == 0);
	CHECK("-", get32(body + 72) == 12 && get32(body + 76) == 34);
	CHECK("-", memcmp(body + 80, h.boot, 16) == 0);
	CHECK_EQ("-", get16(body + 96), strlen(h.attr.version));
	CHECK("-", memcmp(body + 98, h.attr.version, strlen(h.attr.version)) == 0);
	CHECK("-", memcmp(body + 98 + strlen(h.attr.version),
	                  "\10\0a stream\6\0a host\3\0" "6.1\6\0x86_64\42\0/dev/shm/", 42) == 0);
	CHECK_EQ("-", size, 96 + 6 * 2 + strlen(h.attr.version) + 8 + 6 + 3 + 6 + 34 + 8);
}

/* A later minor version may add fields at the end and use reserved bytes. */
TEST(later_version)
{
	begin();
	put16(body + 18, 7);
	memset(body + 22, 0xff, 2);
	body[71] = 0xff;
	memset(body + size, 0xff, 100);
	size += 100;
	CHECK("OPEN-8", taken());
	CHECK_STR("-", got.stream, h.stream);
	CHECK("-", memcmp(&got.attr, &h.attr, sizeof h.attr) == 0);
}

static void check_refused(unsigned at, unsigned bytes, uint64_t value)
{
	begin();
	MUST(taken());
	for (unsigned i = 0; i < bytes; i++)
		body[at + i] = (unsigned char)(value >> 8 * i);
	if (taken())
		TEST_FAIL("OPEN-8", "%llu at %u is taken", (unsigned long long)value, at);
}

TEST(refused)
{
	for (unsigned i = 0; i < 15; i++)
		check_refused(i, 1, 'X');
	check_refused(16, 2, 0);
	check_refused(16, 2, 2);
	check_refused(16, 2, 256);
	check_refused(20, 1, 0);
	check_refused(20, 1, 3 - FORMAT_ORDER); /* LOG-22: byte order of a different machine */
	check_refused(24, 8, UINT64_MAX);
	check_refused(40, 8, UINT64_MAX);
	check_refused(64, 4, RECORD_DATA_MAX + 1);
	check_refused(64, 4, UINT32_MAX);
	check_refused(68, 1, 0);
	check_refused(68, 1, 4);
	check_refused(68, 1, 255);
	check_refused(69, 1, 0);
	check_refused(69, 1, 3);
	check_refused(69, 1, 5);
	check_refused(70, 1, 2);
	check_refused(96, 2, 65535); /* a string longer than the header */
}

/* Cut off at each byte; and each string with a length beyond the end. */
TEST(cut)
{
	size_t whole, at;

	begin();
	whole = size;
	for (size = 0; size < whole; size++)
		CHECK("OPEN-8", !taken());
	at = 96;
	for (unsigned string = 0; string < 6; string++) {
		uint16_t length = get16(body + at);

		size = whole;
		put16(body + at, (uint16_t)(whole - at - 1));
		CHECK("OPEN-8", !taken());
		put16(body + at, length);
		CHECK("-", taken());
		at += 2u + length;
	}
	CHECK_EQ("-", at + 8, whole);
}

/* Strings that are too long are truncated, as posix_trace_attr_setname() does, and followed by nothing else. */
TEST(long_strings)
{
	unsigned char *p = body + HEADER_FIXED;

	begin();
	for (unsigned string = 0; string < 6; string++) {
		put16(p, 150);
		memset(p + 2, 'a' + (int)string, 150);
		p += 152;
	}
	put64(p, 7);
	p += 8;
	size = (size_t)(p - body);
	MUST(taken());
	/* The posix_trace_attr_get*() functions have this many bytes for them, including the terminating null byte. */
	CHECK_EQ("ATTR-16", strlen(got.attr.version), TRACE_NAME_MAX - 1);
	CHECK_EQ("ATTR-18", strlen(got.attr.name), TRACE_NAME_MAX - 1);
	CHECK("-", got.attr.version[0] == 'a' && got.attr.name[0] == 'b' && got.host[0] == 'c' && got.stream[0] == 'f');
	CHECK_EQ("-", strlen(got.host), HEADER_WORD_MAX - 1);
	CHECK_EQ("-", strlen(got.kernel), HEADER_WORD_MAX - 1);
	CHECK_EQ("-", strlen(got.machine), HEADER_WORD_MAX - 1);
	CHECK_EQ("-", strlen(got.stream), 150);
	CHECK_EQ("-", got.generation, 7);
	/* Before version 1.4 nothing followed. */
	put16(body + 18, 3);
	size -= 8;
	MUST(taken());
	CHECK_EQ("-", got.generation, 0);
}

/* The longest strings that the library itself writes all fit into one header. */
TEST(longest)
{
	begin();
	memset(h.attr.version, 'v', TRACE_NAME_MAX - 1);
	memset(h.attr.name, 'n', TRACE_NAME_MAX - 1);
	memset(h.host, 'h', sizeof h.host - 1);
	memset(h.kernel, 'k', sizeof h.kernel - 1);
	memset(h.machine, 'm', sizeof h.machine - 1);
	memset(h.stream, 's', sizeof h.stream - 1);
	size = header_put(body, &h);
	CHECK_OP("-", size, <=, HEADER_BODY_MAX);
	MUST(taken());
	CHECK("-", memcmp(&got, &h, sizeof h) == 0);
}

TEST(any_bytes)
{
	unsigned seed = 9;

	for (int i = 0; i < 20000 / test_slow(); i++) {
		begin();
		for (unsigned n = log_random(&seed, 4) + 1; n > 0; n--)
			body[log_random(&seed, (unsigned)size)] = (unsigned char)rand_r(&seed);
		if (!taken())
			continue;
		CHECK("-", memchr(got.attr.name, 0, TRACE_NAME_MAX) && memchr(got.attr.version, 0, TRACE_NAME_MAX) &&
		      memchr(got.host, 0, sizeof got.host) && memchr(got.kernel, 0, sizeof got.kernel) &&
		      memchr(got.machine, 0, sizeof got.machine) && memchr(got.stream, 0, sizeof got.stream));
		CHECK("-", got.attr.create_sec >= 0 && got.attr.create_nsec >= 0 && got.attr.create_nsec < NS_PER_S);
		CHECK("-", got.attr.resolution_nsec >= 0 && got.attr.data_size <= RECORD_DATA_MAX);
		CHECK("-", attr_get((trace_attr_t *)&got.attr) == &got.attr);
	}
}

TEST(machine)
{
	struct utsname name;
	char boot[64] = "", hex[33];
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");

	memset(&h, 0xee, sizeof h);
	header_machine(&h);
	MUST(uname(&name) == 0);
	CHECK_STR("-", h.host, name.nodename);
	CHECK_STR("-", h.kernel, name.release);
	CHECK_STR("-", h.machine, name.machine);
	if (!file || !fgets(boot, sizeof boot, file))
		SKIP("no boot id in /proc");
	fclose(file);
	for (unsigned i = 0; i < 16; i++)
		sprintf(hex + 2 * i, "%02x", h.boot[i]);
	for (char *from = boot, *to = boot; ; from++)
		if (*from != '-' && *from != '\n' && (*to++ = *from) == 0)
			break;
	CHECK_STR("-", hex, boot);
}

TEST_MAIN(TEST_ENTRY(there_and_back), TEST_ENTRY(layout), TEST_ENTRY(later_version), TEST_ENTRY(refused),
          TEST_ENTRY(cut), TEST_ENTRY(long_strings), TEST_ENTRY(longest), TEST_ENTRY(any_bytes), TEST_ENTRY(machine))
