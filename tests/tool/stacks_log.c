/*
 * stacks_log.c - makes a log as record --sample --off-cpu does, with any number of stacks
 *
 *     stacks_log FILE SAMPLES WAITS
 *
 * Four threads of two processes. The stacks are of functions of this program, which its symbols name, and of the
 * kernel, which the log names. There are some thousand different ones; a few are the most frequent. The same arguments
 * make the same events.
 *
 * SPDX-License-Identifier: MIT
 */
#include <elf.h>
#include <inttypes.h>
#include <link.h>
#include <posixtrace/log.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STACK_LAYOUT "cut:bool,kernel:u16,count:u16,stack:a64[count]}"
#define STATES       "preempted,blocked,sleeping,disk,stopped,traced,new,other"
#define KERNEL       UINT64_C(0xffffffff81000000)
#define KERNEL_SIZE  256 /* of a function */
#define KERNEL_COUNT 300
#define BEGIN        UINT64_C(1600000000000000000)
#define DIFFERENT    5000
#define DEPTH        40

/* Not static, so that the names are symbols in any build. */
int parse(int n);
int compile(int n);
int evaluate(int n);
int fetch(int n);
int store(int n);
int compare(int n);

__attribute__((noinline)) int parse(int n)
{
	return n + 1;
}

__attribute__((noinline)) int compile(int n)
{
	return n * 2;
}

__attribute__((noinline)) int evaluate(int n)
{
	return n - 3;
}

__attribute__((noinline)) int fetch(int n)
{
	return n ^ 4;
}

__attribute__((noinline)) int store(int n)
{
	return n | 5;
}

__attribute__((noinline)) int compare(int n)
{
	return n & 6;
}

static int (*const functions[])(int) = { parse, compile, evaluate, fetch, store, compare };

struct stack {
	uint16_t kernel, count;
	uint64_t address[DEPTH];
};

static struct stack stacks[DIFFERENT];
static struct posixtrace_log_writer *writer;
static uint64_t state = 1;

static uint64_t random_below(uint64_t end)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (state >> 33) % end;
}

static void check(int error, const char *what)
{
	if (error) {
		fprintf(stderr, "%s: %s\n", what, strerror(error));
		exit(1);
	}
}

/* Makes the stacks. Each but the first continues a part of another one, as those of a program do. */
static void make_stacks(void)
{
	for (unsigned i = 0; i < DIFFERENT; i++) {
		struct stack *s = &stacks[i];
		uint64_t outer[DEPTH];
		const struct stack *other = &stacks[i ? random_below(i) : 0];
		unsigned user = (unsigned)random_below(DEPTH - 10) + 1, shared = 0;

		s->kernel = random_below(3) ? 0 : (uint16_t)(1 + random_below(10));
		s->count = (uint16_t)(user + s->kernel);
		if (i)
			shared = (unsigned)random_below((uint64_t)(other->count - other->kernel) + 1);
		for (unsigned k = 0; k < user; k++)
			outer[k] = k < shared ? other->address[other->count - 1 - k] :
			                        (uint64_t)(uintptr_t)functions[random_below(6)] + 1;
		for (unsigned k = 0; k < user; k++)
			s->address[s->count - 1 - k] = outer[k];
		for (unsigned k = 0; k < s->kernel; k++)
			s->address[k] = KERNEL + random_below(KERNEL_COUNT) * KERNEL_SIZE + 16;
	}
}

/* Appends the stack to the data of an event. Returns their length. */
static size_t put_stack(unsigned char *data, size_t at)
{
	/* Half of the choices are among the first ten. */
	const struct stack *s = &stacks[random_below(2) ? random_below(10) : random_below(DIFFERENT)];

	data[at] = random_below(50) == 0;
	memcpy(data + at + 1, &s->kernel, 2);
	memcpy(data + at + 3, &s->count, 2);
	memcpy(data + at + 5, s->address, 8 * (size_t)s->count);
	return at + 5 + 8 * (size_t)s->count;
}

struct build_id {
	size_t length;
	unsigned char bytes[64];
};

/* Takes the build-id from the notes of the program, the first object; without it no file is the one that was traced. */
static int take_build_id(struct dl_phdr_info *object, size_t size, void *arg)
{
	struct build_id *id = arg;

	(void)size;
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &object->dlpi_phdr[i];
		const unsigned char *at = (const unsigned char *)object->dlpi_addr + part->p_vaddr;
		const unsigned char *end = at + part->p_memsz;

		for (ElfW(Nhdr) note; part->p_type == PT_NOTE && (size_t)(end - at) > sizeof note;) {
			memcpy(&note, at, sizeof note);
			at += sizeof note + (note.n_namesz + 3) / 4 * 4;
			if (note.n_type == NT_GNU_BUILD_ID && note.n_descsz <= sizeof id->bytes) {
				id->length = note.n_descsz;
				memcpy(id->bytes, at, id->length);
			}
			at += (note.n_descsz + 3) / 4 * 4;
		}
	}
	return 1;
}

/* Describes the file of this program, as it is mapped. */
static void describe(uint32_t pid)
{
	struct build_id id = { 0 };
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4500], path[4096], rights[8];
	uint64_t start, end, offset;

	if (!maps)
		exit(1);
	dl_iterate_phdr(take_build_id, &id);
	check(posixtrace_log_describe(writer, BEGIN, pid, 0, "/usr/bin/stacks", NULL, 0), "describe");
	while (fgets(line, sizeof line, maps))
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %4095s", &start, &end, rights,
		           &offset, path) == 5 && rights[2] == 'x' && strstr(path, "stacks_log"))
			check(posixtrace_log_describe_module(writer, BEGIN, pid, start, end, offset, path, id.bytes,
			                                     id.length), "module");
	fclose(maps);
}

static void name_kernel_functions(uint32_t type)
{
	for (uint64_t i = 0; i < KERNEL_COUNT; i++) {
		unsigned char data[64];
		uint64_t address = KERNEL + i * KERNEL_SIZE, size = KERNEL_SIZE;
		int length;

		memcpy(data, &address, 8);
		memcpy(data + 8, &size, 8);
		length = snprintf((char *)data + 16, sizeof data - 16, "do_%" PRIu64, i);
		check(posixtrace_log_put(writer, BEGIN, 100, 100, 0, type, data, 17 + (size_t)length), "function");
	}
}

int main(int argc, char **argv)
{
	struct posixtrace_log_origin origin = { .size = sizeof origin, .name = "stacks", .created = BEGIN,
	                                        .target = 100 };
	static const struct {
		uint32_t pid, tid;
		const char *name;
	} threads[] = { { 100, 100, "main" }, { 100, 101, "worker" }, { 200, 200, "main" }, { 200, 201, "loader" } };
	uint32_t sample, off, function;
	uint64_t samples, waits, time = BEGIN;

	if (argc != 4)
		return 2;
	samples = strtoull(argv[2], NULL, 10);
	waits = strtoull(argv[3], NULL, 10);
	make_stacks();
	check(posixtrace_log_create(argv[1], &origin, &writer), argv[1]);
	check(posixtrace_log_declare(writer, "linux_sample", "{packed;cpu:u32," STACK_LAYOUT, &sample), "linux_sample");
	check(posixtrace_log_declare(writer, "linux_off_stack", "{packed;took:u64/ns,ready:u64/ns,state:u8<" STATES ">,"
	                             STACK_LAYOUT, &off), "linux_off_stack");
	check(posixtrace_log_declare(writer, "linux_kernel_function", "{packed;address:x64,size:u64,name:z}",
	                             &function), "linux_kernel_function");
	describe(100);
	describe(200);
	for (unsigned i = 0; i < 4; i++)
		check(posixtrace_log_name_thread(writer, threads[i].pid, threads[i].tid, threads[i].name), "name");
	name_kernel_functions(function);
	for (uint64_t left = samples + waits; left; left--) {
		unsigned char data[64 + 8 * DEPTH];
		uint64_t thread = random_below(4);
		uint32_t pid = threads[thread].pid, tid = threads[thread].tid, cpu = thread % 2;
		bool wait = random_below(left) < waits;

		time += 200000 + random_below(100000);
		if (!wait) {
			memcpy(data, &cpu, 4);
			check(posixtrace_log_put(writer, time, pid, tid, 0, sample, data, put_stack(data, 4)),
			      "sample");
			continue;
		}
		waits--;
		data[16] = (unsigned char)random_below(8);
		memcpy(data, &(uint64_t){ 1000 + random_below(500000) }, 8);
		/* A thread that was preempted could run all the time. */
		memcpy(data + 8, data, 8);
		if (data[16] != 0 && data[16] != 6) {
			uint64_t ready = random_below(4) ? random_below(1000) : 0;

			memcpy(data + 8, &ready, 8);
		}
		check(posixtrace_log_put(writer, time, pid, tid, 0, off, data, put_stack(data, 17)), "off");
	}
	check(posixtrace_log_finish(writer), "finish");
	return 0;
}
