/*
 * call.h - one call on a descriptor: its duration, result and errno, and the name of what is behind the descriptor
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CALL_H
#define CALL_H

#include "libc/clock.h"
#include "libc/libc.h"
#include "libc/names.h"

/* Fields of each call on a descriptor: 14 bytes before the name, 8 or 16 behind it. */
#define CALL_LAYOUT(more) \
	"{packed,took=took;took:u64/ns,fd:i32," ERRNO_FIELD ",path:z,result:i64" more "}"
#define CALL_BEFORE 14
#define CALL_BEHIND 16

/* Defines the event of a call. */
#define CALL_EVENT(name, more) \
	static struct posixtrace_event event_##name = { "libc." #name, CALL_LAYOUT(more), 0 }

/* The data of a call, made where its name is: a copy less than with posixtrace_event_text(). */
struct call {
	unsigned char data[CALL_BEFORE + NAME_SIZE + CALL_BEHIND];
};

/* Where the name of a call's descriptor goes. */
static inline char *call_name(struct call *call)
{
	return (char *)call->data + CALL_BEFORE;
}

static inline __attribute__((__always_inline__)) void call_before(unsigned char *to, uint64_t began, int fd, bool failed,
                                                                  int error)
{
	uint64_t took = clock_took(began);
	uint16_t code = failed ? (uint16_t)error : 0;

	memcpy(to, &took, 8);
	memcpy(to + 8, &fd, 4);
	memcpy(to + 12, &code, 2);
}

/* Records a call whose name has been written. size: of `more` behind the result, 0 or 8. */
static inline __attribute__((__always_inline__)) void call_end(struct posixtrace_event *event, struct call *call,
                                                               size_t length, int64_t result, int64_t more,
                                                               unsigned size, const void *caller)
{
	unsigned char *behind = call->data + CALL_BEFORE + length + 1;

	memcpy(behind, &result, 8);
	if (size)
		memcpy(behind + 8, &more, 8);
	record_data(event, call->data, CALL_BEFORE + length + 1 + 8 + size, caller);
}

/* Records a call. It failed if the result is negative. Keeps errno. */
static inline __attribute__((__always_inline__)) void call_record(struct posixtrace_event *event, uint64_t began, int fd,
                                                                  int64_t result, int64_t more, unsigned size,
                                                                  const void *caller)
{
	struct call call;

	call_before(call.data, began, fd, result < 0, errno);
	call_end(event, &call, names_get(fd, call_name(&call)), result, more, size, caller);
}

/*
 * Defines a wrapper whose first argument is the descriptor. It may be left by cancellation, and holds nothing then.
 * MORE is the value of a further field.
 */
#define CALL_WRAPPER(returns, name, event, parameters, arguments) \
	CALL_WRAPPER_SIZE(returns, name, event, parameters, arguments, 0, 0)
#define CALL_WRAPPER_MORE(returns, name, event, parameters, arguments, more) \
	CALL_WRAPPER_SIZE(returns, name, event, parameters, arguments, more, 8)
#define CALL_WRAPPER_SIZE(returns, name, event, parameters, arguments, more, size)                         \
	WRAPPER returns name parameters;                                                                   \
	WRAPPER returns name parameters                                                                    \
	{                                                                                                  \
		NEXT(returns, name, parameters);                                                           \
		uint64_t began;                                                                            \
		returns result;                                                                            \
                                                                                                           \
		if (!RECORDED(GROUP_IO))                                                                   \
			return next arguments;                                                             \
		began = clock_now();                                                                       \
		result = next arguments;                                                                   \
		call_record(&event_##event, began, fd, (int64_t)result, (int64_t)(more), size, CALLER);    \
		return result;                                                                             \
	}

#endif
