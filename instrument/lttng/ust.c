/*
 * ust.c - liblttng-ust.so.1: what programs with providers call, and the tracepoints of tracef and tracelog
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi.h"
#include "thread.h"
#include "tracepoint.h"

/* -- Providers ------------------------------------------------------------------------------------------ */

EXPORT struct provider *lttng_ust_probe_register(const struct ust_probe_desc *desc);
EXPORT void lttng_ust_probe_unregister(struct provider *p);

EXPORT struct provider *lttng_ust_probe_register(const struct ust_probe_desc *desc)
{
	return posixtrace_lttng_provider_add(desc);
}

EXPORT void lttng_ust_probe_unregister(struct provider *p)
{
	posixtrace_lttng_provider_remove(p);
}

/* -- tracef, tracelog: the provider ------------------------------------------------------------------------ */

/* What an event of tracef or tracelog says. file null: tracef. */
struct message {
	const char *file, *function;
	int line;
	const char *text;
	unsigned length; /* without the null */
	void *ip;
};

/* Called like the functions of other providers, with the event and the arguments. */
static void write_message(void *data, const struct message *m)
{
	struct ust_event_common *event = (struct ust_event_common *)data;
	struct ust_event_recorder *recorder = (struct ust_event_recorder *)event->child;
	struct ust_channel_buffer_ops *ops = recorder->chan->ops;
	struct ust_probe_ctx probe = { sizeof probe, m->ip };
	struct ust_ring_buffer_ctx ctx = {
		.struct_size = sizeof ctx, .client_priv = recorder, .largest_align = 1, .probe_ctx = &probe,
	};
	size_t file = m->file ? strlen(m->file) + 1 : 0, function = m->file ? strlen(m->function) + 1 : 0;

	ctx.data_size = (m->file ? sizeof m->line : 0) + file + function + sizeof m->length + m->length;
	if (ops->event_reserve(&ctx) < 0)
		return;
	if (m->file) {
		ops->event_write(&ctx, &m->line, sizeof m->line, 1);
		ops->event_strcpy(&ctx, m->file, file);
		ops->event_strcpy(&ctx, m->function, function);
	}
	ops->event_write(&ctx, &m->length, sizeof m->length, 1);
	ops->event_pstrcpy_pad(&ctx, m->text, m->length);
	ops->event_commit(&ctx);
}

/* The functions that a program connects with these tracepoints have LTTng's arguments. */
typedef void (*tracef_function)(void *data, const char *text, unsigned length, void *ip);
typedef void (*tracelog_function)(void *data, const char *file, int line, const char *function, const char *text,
                                  unsigned length, void *ip);

static void write_tracef(void *data, const char *text, unsigned length, void *ip)
{
	struct message m = { .text = text, .length = length, .ip = ip };

	write_message(data, &m);
}

static void write_tracelog(void *data, const char *file, int line, const char *function, const char *text,
                           unsigned length, void *ip)
{
	struct message m = { file, function, line, text, length, ip };

	write_message(data, &m);
}

#define INTEGER(type, sign)                                                                                            \
	(const struct ust_type_common *)&(const struct ust_type_integer) {                                             \
		{ ust_type_integer }, sizeof(struct ust_type_integer), sizeof(type) * 8, 8, sign, 0, 10                \
	}
#define STRING                                                                                                         \
	(const struct ust_type_common *)&(const struct ust_type_string) {                                              \
		{ ust_type_string }, sizeof(struct ust_type_string), ust_string_encoding_UTF8                          \
	}
#define TEXT                                                                                                           \
	(const struct ust_type_common *)&(const struct ust_type_sequence) {                                            \
		{ ust_type_sequence }, sizeof(struct ust_type_sequence), NULL, INTEGER(char, 1), 0,                    \
		ust_string_encoding_UTF8                                                                               \
	}
#define FIELD(name, type) &(const struct ust_event_field) { sizeof(struct ust_event_field), name, type, 0, 0 }

static const struct ust_event_field *const tracelog_fields[] = {
	FIELD("line", INTEGER(int, 1)), FIELD("file", STRING), FIELD("func", STRING),
	FIELD("_msg_length", INTEGER(unsigned, 0)), FIELD("msg", TEXT),
};

static const struct ust_tracepoint_class tracelog_class = {
	sizeof tracelog_class, tracelog_fields, 5, (void (*)(void))write_tracelog,
	"const char *, file, int, line, const char *, func, const char *, msg, unsigned int, len, void *, ip", NULL,
};

/* The last two fields of tracelog. */
static const struct ust_tracepoint_class tracef_class = {
	sizeof tracef_class, tracelog_fields + 3, 2, (void (*)(void))write_tracef,
	"const char *, msg, unsigned int, len, void *, ip", NULL,
};

/* -- tracef, tracelog: the functions -------------------------------------------------------------------------- */

/* Most texts need no memory. */
#define SHORT_TEXT 512

/* Formats a message, and calls the functions that are connected with a tracepoint. file null: tracef. */
static void trace_message(const struct ust_tracepoint *t, struct message *m, const char *format, va_list arguments)
{
	char room[SHORT_TEXT], *longer = NULL;
	const struct ust_tracepoint_probe *probe;
	int kept = errno, length;
	va_list again;

	va_copy(again, arguments);
	length = vsnprintf(room, sizeof room, format, arguments);
	if (length >= (int)sizeof room)
		length = vasprintf(&longer, format, again);
	va_end(again);
	errno = kept;
	if (length < 0)
		return;
	m->text = longer ? longer : room;
	m->length = (unsigned)length;
	section_begin();
	probe = __atomic_load_n(&t->probes, __ATOMIC_ACQUIRE);
	for (; probe && probe->func; probe++)
		if (m->file)
			((tracelog_function)probe->func)(probe->data, m->file, m->line, m->function, m->text, m->length,
			                                 m->ip);
		else
			((tracef_function)probe->func)(probe->data, m->text, m->length, m->ip);
	section_end();
	if (longer)
		free(longer);
	errno = kept;
}

#define TRACEF lttng_ust_tracepoint_lttng_ust_tracef___event

EXPORT extern struct ust_tracepoint TRACEF;
EXPORT void lttng_ust__tracef(const char *format, ...) __attribute__((format(printf, 1, 2)));
EXPORT void lttng_ust__vtracef(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));

EXPORT struct ust_tracepoint TRACEF = {
	.struct_size = sizeof TRACEF, .provider_name = "lttng_ust_tracef", .event_name = "event",
};

EXPORT void lttng_ust__vtracef(const char *format, va_list arguments)
{
	struct message m = { .ip = __builtin_return_address(0) };

	trace_message(&TRACEF, &m, format, arguments);
}

EXPORT void lttng_ust__tracef(const char *format, ...)
{
	struct message m = { .ip = __builtin_return_address(0) };
	va_list arguments;

	va_start(arguments, format);
	trace_message(&TRACEF, &m, format, arguments);
	va_end(arguments);
}

/* Expands to M(level) for each level of tracelog, in their order. */
#define LEVELS(M)                                                                                                      \
	M(EMERG) M(ALERT) M(CRIT) M(ERR) M(WARNING) M(NOTICE) M(INFO) M(DEBUG_SYSTEM) M(DEBUG_PROGRAM)                 \
	M(DEBUG_PROCESS) M(DEBUG_MODULE) M(DEBUG_UNIT) M(DEBUG_FUNCTION) M(DEBUG_LINE) M(DEBUG)

#define TRACELOG(level) lttng_ust_tracepoint_lttng_ust_tracelog___LTTNG_UST_TRACEPOINT_LOGLEVEL_##level
#define TRACELOG_CALL(level)  lttng_ust__tracelog_LTTNG_UST_TRACEPOINT_LOGLEVEL_##level
#define TRACELOG_VCALL(level) lttng_ust__vtracelog_LTTNG_UST_TRACEPOINT_LOGLEVEL_##level

/* Defines the tracepoint of a level, and the functions that programs call if it is on. */
#define DEFINE_TRACELOG(level)                                                                                         \
	EXPORT extern struct ust_tracepoint TRACELOG(level);                                                           \
	EXPORT struct ust_tracepoint TRACELOG(level) = {                                                               \
		.struct_size = sizeof(struct ust_tracepoint), .provider_name = "lttng_ust_tracelog",                   \
		.event_name = "LTTNG_UST_TRACEPOINT_LOGLEVEL_" #level,                                                 \
	};                                                                                                             \
	EXPORT void TRACELOG_VCALL(level)(const char *file, int line, const char *function, const char *format,        \
	                                  va_list arguments) __attribute__((format(printf, 4, 0)));                    \
	EXPORT void TRACELOG_VCALL(level)(const char *file, int line, const char *function, const char *format,        \
	                                  va_list arguments)                                                           \
	{                                                                                                              \
		struct message m = { file, function, line, NULL, 0, __builtin_return_address(0) };                     \
                                                                                                                       \
		trace_message(&TRACELOG(level), &m, format, arguments);                                                \
	}                                                                                                              \
	EXPORT void TRACELOG_CALL(level)(const char *file, int line, const char *function, const char *format, ...)    \
		__attribute__((format(printf, 4, 5)));                                                                 \
	EXPORT void TRACELOG_CALL(level)(const char *file, int line, const char *function, const char *format, ...)    \
	{                                                                                                              \
		struct message m = { file, function, line, NULL, 0, __builtin_return_address(0) };                     \
		va_list arguments;                                                                                     \
                                                                                                                       \
		va_start(arguments, format);                                                                           \
		trace_message(&TRACELOG(level), &m, format, arguments);                                                \
		va_end(arguments);                                                                                     \
	}
LEVELS(DEFINE_TRACELOG)

static const int numbers[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14 };

enum {
#define LEVEL_INDEX(level) INDEX_##level,
	LEVELS(LEVEL_INDEX)
};

#define LEVEL_NUMBER(level) static const int *number_##level = &numbers[INDEX_##level];
LEVELS(LEVEL_NUMBER)

#define LEVEL_EVENT(level)                                                                                             \
	&(const struct ust_event_desc) {                                                                               \
		sizeof(struct ust_event_desc), "LTTNG_UST_TRACEPOINT_LOGLEVEL_" #level, NULL, &tracelog_class,         \
		&number_##level, NULL                                                                                  \
	},
static const struct ust_event_desc *const tracelog_events[] = { LEVELS(LEVEL_EVENT) };
static const struct ust_event_desc *const tracef_events[] = {
	&(const struct ust_event_desc) {
		sizeof(struct ust_event_desc), "event", NULL, &tracef_class, &number_DEBUG, NULL,
	},
};

static const struct ust_probe_desc tracelog_provider = {
	sizeof tracelog_provider, "lttng_ust_tracelog", tracelog_events, 15, UST_PROVIDER_MAJOR, 0,
};
static const struct ust_probe_desc tracef_provider = {
	sizeof tracef_provider, "lttng_ust_tracef", tracef_events, 1, UST_PROVIDER_MAJOR, 0,
};

#define LEVEL_TRACEPOINT(level) &TRACELOG(level),

/* They stay to the end of the process, as this library does. */
static __attribute__((constructor)) void begin(void)
{
	/* Not constant: a program that is no position-independent code has copies of its own. */
	static struct ust_tracepoint *tracepoints[16];
	struct ust_tracepoint *const all[] = { LEVELS(LEVEL_TRACEPOINT) &TRACEF };
	int kept = errno;

	memcpy(tracepoints, all, sizeof all);
	posixtrace_lttng_provider_add(&tracelog_provider);
	posixtrace_lttng_provider_add(&tracef_provider);
	lttng_ust_tracepoint_module_register(tracepoints, 16);
	errno = kept;
}

/* -- Functions without a meaning here ------------------------------------------------------------------------------ */

/* Programs refer to it, so that the linker does not leave the library out. */
EXPORT extern int lttng_ust_loaded;
EXPORT int lttng_ust_loaded = 1;

EXPORT void lttng_ust_init_thread(void);
EXPORT void init_usterr(void);
EXPORT void lttng_ust_dl_update(void *ip);
EXPORT void lttng_ust_context_procname_reset(void);
EXPORT void *lttng_ust_context_provider_register(void *provider);
EXPORT void lttng_ust_context_provider_unregister(void *provider);
EXPORT const char *lttng_ust_strerror(int error);
EXPORT void lttng_ust_before_fork(sigset_t *signals);
EXPORT void lttng_ust_after_fork_parent(sigset_t *signals);
EXPORT void lttng_ust_after_fork_child(sigset_t *signals);

/* For programs whose threads may not allocate later. */
EXPORT void lttng_ust_init_thread(void)
{
	thread_own();
}

EXPORT void init_usterr(void)
{
}

/* LTTng records here which files are loaded: a log says that without events. */
EXPORT void lttng_ust_dl_update(void *ip)
{
}

EXPORT void lttng_ust_context_procname_reset(void)
{
}

/* A program's own contexts are in no event. */
EXPORT void *lttng_ust_context_provider_register(void *provider)
{
	return provider;
}

EXPORT void lttng_ust_context_provider_unregister(void *provider)
{
}

EXPORT const char *lttng_ust_strerror(int error)
{
	return strerror(error < 0 ? -error : error);
}

/* What is to be done is done by functions of pthread_atfork(), and by the first event of a child. */
EXPORT void lttng_ust_before_fork(sigset_t *signals)
{
}

EXPORT void lttng_ust_after_fork_parent(sigset_t *signals)
{
}

EXPORT void lttng_ust_after_fork_child(sigset_t *signals)
{
}

#define NAMESPACE_CHANGE(name)                                                                                         \
	EXPORT void lttng_ust_after_##name(void);                                                                      \
	EXPORT void lttng_ust_after_##name(void)                                                                       \
	{                                                                                                              \
	}
NAMESPACE_CHANGE(setns)
NAMESPACE_CHANGE(unshare)
NAMESPACE_CHANGE(setuid)
NAMESPACE_CHANGE(setgid)
NAMESPACE_CHANGE(seteuid)
NAMESPACE_CHANGE(setegid)
NAMESPACE_CHANGE(setreuid)
NAMESPACE_CHANGE(setregid)
NAMESPACE_CHANGE(setresuid)
NAMESPACE_CHANGE(setresgid)
