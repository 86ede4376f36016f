/*
 * kernel_types.c - the events of --kernel: their types, layouts and bytes (docs/kernel.md)
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/kernel_types.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/message.h"
#include "kernel/callnames.h"
#include "kernel/tracefs.h"
#include "logs/match.h"

#define CALLS_MAX 1024
#define DATA_MAX  256
#define SIGNALS \
	"HUP=1,INT,QUIT,ILL,TRAP,ABRT,BUS,FPE,KILL,USR1,SEGV,USR2,PIPE,ALRM,TERM,STKFLT,CHLD,CONT,STOP,TSTP,TTIN," \
	"TTOU,URG,XCPU,XFSZ,VTALRM,PROF,WINCH,IO,PWR,SYS"

enum type { RUN, OFF, UNFINISHED, FAULT, SEND, SIGNAL, IO, FORK, EXEC, EXIT, CLOCK, TYPES };

/* All layouts are packed, because their data are written one after the other. */
static const struct {
	const char *name, *layout;
} types[TYPES] = {
	[RUN] = { "linux_run", "{packed,took=took;took:u64/ns,cpu:u32,why:u8<" RUN_LABELS ">}" },
	[OFF] = { "linux_off",
	          "{packed,took=took;took:u64/ns,state:u8<" OFF_LABELS ">,ready:u64/ns,waker:u32,waker_name:z}" },
	[UNFINISHED] = { "linux_sys_unfinished", "{packed,took=took;took:u64/ns,call:z}" },
	[FAULT] = { "linux_fault", "{packed;address:x64,at:a64,kind:u8<minor,major>}" },
	[SEND] = { "linux_signal_send", "{packed;signal:u8<" SIGNALS ">,code:i32,to:u32,"
	           "result:u8<delivered,ignored,already_pending,overflow_failed,overflow_lost>,from:u32,from_name:z}" },
	[SIGNAL] = { "linux_signal", "{packed;signal:u8<" SIGNALS ">,code:i32,handler:a64}" },
	[IO] = { "linux_io", "{packed,took=took;took:u64/ns,sector:u64,bytes:u64/B,major:u32,minor:u32,error:i32,"
	         "kind:z}" },
	[FORK] = { "linux_fork", "{packed;pid:u32,tid:u32}" },
	[EXEC] = { "linux_exec", "{packed;name:z}" },
	[EXIT] = { "linux_exit", NULL },
	[CLOCK] = { "linux_clock", "{packed;off:i64/ns,bound:u64/ns}" },
};

/* A system call: its type, and its arguments. */
struct call {
	uint32_t id; /* 0: none yet */
	unsigned arguments;
	bool returns, unwanted;
	struct argument {
		uint8_t size;
	} argument[6];
};

struct kernel_types {
	struct beside *b;
	const struct match *match; /* null: all events are wanted */
	uint32_t id[TYPES];
	bool unwanted[TYPES];
	struct call call[2][CALLS_MAX]; /* of own and of 32-bit programs */
	/* The data of an event in the making. */
	unsigned char data[DATA_MAX];
	size_t size;
};

/*
 * Returns whether patterns of -e are about these events: one of them begins like their names, or there are only
 * patterns of what is not wanted. Otherwise they choose among the events of the program.
 */
static bool names_them(const struct match *m)
{
	const char *pattern;

	if (!match_wanted(m, 0))
		return true;
	for (unsigned i = 0; (pattern = match_wanted(m, i)) != NULL; i++)
		if (strncmp(pattern, "linux_", 6) == 0)
			return true;
	return false;
}

struct kernel_types *kernel_types_new(struct beside *b, const struct match *m)
{
	struct kernel_types *k = calloc(1, sizeof *k);

	if (!k)
		fail("no memory");
	k->b = b;
	k->match = m && names_them(m) ? m : NULL;
	for (enum type i = 0; i < TYPES; i++)
		k->unwanted[i] = k->match && !match_name(k->match, types[i].name);
	return k;
}

void kernel_types_free(struct kernel_types *k)
{
	free(k);
}

/* -- Data ---------------------------------------------------------------------------------------- */

static void add(struct kernel_types *k, const void *bytes, size_t size)
{
	if (size > DATA_MAX - k->size)
		size = DATA_MAX - k->size;
	memcpy(k->data + k->size, bytes, size);
	k->size += size;
}

static void add8(struct kernel_types *k, uint8_t n)
{
	add(k, &n, 1);
}

static void add32(struct kernel_types *k, uint32_t n)
{
	add(k, &n, 4);
}

static void add64(struct kernel_types *k, uint64_t n)
{
	add(k, &n, 8);
}

static void add_text(struct kernel_types *k, const char *text)
{
	add(k, text, strlen(text) + 1);
}

static void put_id(struct kernel_types *k, const struct state_thread *t, uint64_t time, uint32_t id)
{
	struct log_event e = { .id = id, .pid = t->pid, .tid = t->tid, .time = beside_time(k->b, time),
	                       .length = (uint32_t)k->size };

	memcpy(e.name, t->name, sizeof e.name);
	if (id)
		beside_put(k->b, &e, k->data);
	k->size = 0;
}

static void put(struct kernel_types *k, const struct state_thread *t, uint64_t time, enum type type)
{
	if (!k->id[type] && !k->unwanted[type])
		k->id[type] = beside_type(k->b, types[type].name, types[type].layout);
	put_id(k, t, time, k->id[type]);
}

/* -- States ---------------------------------------------------------------------------------------- */

void put_run(struct kernel_types *k, const struct state_thread *t, const struct state_run *run)
{
	add64(k, run->until - run->since);
	add32(k, run->cpu);
	add8(k, (uint8_t)run->why);
	put(k, t, run->until, RUN);
}

void put_off(struct kernel_types *k, const struct state_thread *t, const struct state_off *off)
{
	add64(k, off->until - off->since);
	add8(k, (uint8_t)off->state);
	if (off->ready_known)
		add64(k, off->ready);
	if (off->ready_known && off->waker) {
		add32(k, off->waker->tid);
		add_text(k, off->waker->name);
	}
	put(k, t, off->until, OFF);
}

/* -- System calls ----------------------------------------------------------------------------------- */

/* The names that the tracepoints have for calls with another name. */
static const char *const renamed[][2] = {
	{ "stat", "newstat" }, { "fstat", "newfstat" }, { "lstat", "newlstat" }, { "uname", "newuname" },
	{ "umount2", "umount" }, { "sendfile", "sendfile64" },
};

static bool read_format(const char *name, struct tracefs_format *f)
{
	char path[80];

	snprintf(path, sizeof path, "syscalls/sys_enter_%s", name);
	if (tracefs_read(path, f))
		return true;
	for (unsigned i = 0; i < sizeof renamed / sizeof *renamed; i++)
		if (strcmp(name, renamed[i][0]) == 0) {
			snprintf(path, sizeof path, "syscalls/sys_enter_%s", renamed[i][1]);
			return tracefs_read(path, f);
		}
	return false;
}

static bool one_of(const char *word, const char *const *words)
{
	for (; *words; words++)
		if (strstr(word, *words))
			return true;
	return false;
}

/* Returns the type of a field for an argument by its declaration in the kernel. */
static const char *field_type(const struct tracefs_field *f, bool is_compat)
{
	static const char *const hexadecimal[] = { "flag", "mode", "prot", "mask", "addr", "brk", "newsp", NULL };
	static const char *const wide[] = { "long", "size_t", "loff_t", "off_t", "u64", "aio_context_t", NULL };

	if (strchr(f->type, '*') || strstr(f->type, "sigset") || strstr(f->type, "sighandler"))
		return is_compat ? "x32" : "x64";
	if (one_of(f->name, hexadecimal))
		return one_of(f->type, wide) && !is_compat ? "x64" : "x32";
	/* File descriptors are unsigned there, but AT_FDCWD is -100. */
	if (strcmp(f->name, "fd") == 0 || strstr(f->name, "dfd"))
		return "i32";
	if (one_of(f->type, wide) && !is_compat)
		return strstr(f->type, "unsigned") || strstr(f->type, "size_t") ? "u64" : "i64";
	return strstr(f->type, "unsigned") || strstr(f->type, "u32") || strstr(f->type, "size_t") ? "u32" : "i32";
}

static bool never_returns(const char *name)
{
	return strcmp(name, "exit") == 0 || strcmp(name, "exit_group") == 0;
}

/* Makes the type of a call, with the names that the kernel gives to its arguments. */
static void make_call(struct kernel_types *k, struct call *call, uint64_t number, bool is_compat)
{
	const char *known = callnames_find(number, is_compat);
	char name[64], layout[512];
	struct tracefs_format f;
	size_t length;

	if (known)
		snprintf(name, sizeof name, "linux_sys_%.40s%s", known, is_compat ? "_32" : "");
	else
		snprintf(name, sizeof name, "linux_sys_%u%s", (unsigned)number, is_compat ? "_32" : "");
	call->returns = !known || !never_returns(known);
	length = (size_t)snprintf(layout, sizeof layout, "{packed,took=took;took:u64/ns%s",
	                          call->returns ? ",result:i64" : "");
	/* Fields of the tracepoint itself come first: common_..., and the number. */
	if (known && read_format(known, &f))
		for (unsigned i = 0; i < f.count && call->arguments < 6; i++) {
			const struct tracefs_field *field = &f.field[i];
			const char *type = field_type(field, is_compat);
			bool taken = strcmp(field->name, "took") == 0 || strcmp(field->name, "result") == 0;

			if (strncmp(field->name, "common_", 7) == 0 || strcmp(field->name, "__syscall_nr") == 0)
				continue;
			call->argument[call->arguments++].size = strstr(type, "64") ? 8 : 4;
			length += (size_t)snprintf(layout + length, sizeof layout - length, ",%s%s:%s",
			                           taken ? "arg_" : "", field->name, type);
		}
	snprintf(layout + length, sizeof layout - length, "}");
	call->unwanted = k->match && !match_name(k->match, name);
	call->id = call->unwanted ? 0 : beside_type(k->b, name, layout);
}

static struct call *call_of(struct kernel_types *k, const struct state_call *c)
{
	struct call *call = c->number < CALLS_MAX ? &k->call[c->is_compat][c->number] : NULL;

	if (call && !call->id && !call->unwanted)
		make_call(k, call, c->number, c->is_compat);
	return call;
}

static void add_arguments(struct kernel_types *k, const struct call *call, const struct state_call *c)
{
	for (unsigned i = 0; i < call->arguments; i++)
		if (call->argument[i].size == 8)
			add64(k, c->argument[i]);
		else
			add32(k, (uint32_t)c->argument[i]);
}

void put_call(struct kernel_types *k, const struct state_thread *t, uint64_t until, int64_t result)
{
	struct call *call = call_of(k, &t->call);

	if (!call)
		return;
	add64(k, until - t->call.since);
	if (call->returns)
		add64(k, (uint64_t)result);
	add_arguments(k, call, &t->call);
	put_id(k, t, until, call->id);
}

void put_unfinished(struct kernel_types *k, const struct state_thread *t, uint64_t until, bool exits)
{
	struct call *call = call_of(k, &t->call);
	const char *name = callnames_find(t->call.number, t->call.is_compat);

	if (exits && call && !call->returns) {
		put_call(k, t, until, 0);
		return;
	}
	add64(k, until - t->call.since);
	add_text(k, name ? name : "?");
	put(k, t, until, UNFINISHED);
}

/* -- The rest ----------------------------------------------------------------------------------------- */

void put_fault(struct kernel_types *k, const struct state_thread *t, uint64_t time, uint64_t address, uint64_t at,
               bool major)
{
	add64(k, address);
	add64(k, at);
	add8(k, major);
	put(k, t, time, FAULT);
}

void put_send(struct kernel_types *k, const struct state_thread *t, uint64_t time, const struct signal_send *send)
{
	add8(k, send->number);
	add32(k, (uint32_t)send->code);
	add32(k, send->to);
	add8(k, send->result);
	add32(k, send->from);
	add_text(k, send->from_name);
	put(k, t, time, SEND);
}

void put_signal(struct kernel_types *k, const struct state_thread *t, uint64_t time, uint8_t number, int32_t code,
                uint64_t handler)
{
	add8(k, number);
	add32(k, (uint32_t)code);
	add64(k, handler);
	put(k, t, time, SIGNAL);
}

void put_io(struct kernel_types *k, const struct state_thread *t, uint64_t since, uint64_t until,
            const struct io_request *io)
{
	add64(k, until - since);
	add64(k, io->sector);
	add64(k, io->bytes);
	add32(k, io->major);
	add32(k, io->minor);
	add32(k, (uint32_t)io->error);
	add_text(k, io->kind);
	put(k, t, until, IO);
}

void put_fork(struct kernel_types *k, const struct state_thread *t, uint64_t time, uint32_t pid, uint32_t tid)
{
	add32(k, pid);
	add32(k, tid);
	put(k, t, time, FORK);
}

void put_exec(struct kernel_types *k, const struct state_thread *t, uint64_t time)
{
	char name[STATES_NAME + 1] = "";

	memcpy(name, t->name, STATES_NAME);
	add_text(k, name);
	put(k, t, time, EXEC);
}

void put_exit(struct kernel_types *k, const struct state_thread *t, uint64_t time)
{
	put(k, t, time, EXIT);
}

void put_clock(struct kernel_types *k, const struct state_thread *t, uint64_t time, const struct clock_check *c)
{
	add64(k, (uint64_t)c->off);
	add64(k, c->bound);
	put(k, t, time, CLOCK);
}
