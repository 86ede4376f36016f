/*
 * call.h - one call on a descriptor: its duration, result and errno, and the name of what is behind the descriptor
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CALL_H
#define CALL_H

#include "libc/libc.h"
#include "libc/names.h"

/* Fields of each call on a descriptor: 14 bytes before the name, 8 behind it. */
#define CALL_LAYOUT(more) \
	"{packed,took=took;took:u64/ns,fd:i32," ERRNO_FIELD ",path:z,result:i64" more "}"
#define CALL_BEFORE 14

/* Defines the event of a call. */
#define CALL_EVENT(name, more) \
	static struct posixtrace_event event_##name = { "libc." #name, CALL_LAYOUT(more), 0 }

static inline __attribute__((__always_inline__)) void call_before(struct posixtrace_around *around, uint64_t began,
                                                                  int fd, bool failed, int error, const void *caller)
{
	uint64_t took = clock_now() - began;
	uint16_t code = failed ? (uint16_t)error : 0;

	memcpy(around->__before, &took, 8);
	memcpy(around->__before + 8, &fd, 4);
	memcpy(around->__before + 12, &code, 2);
	around->__address = caller;
}

/* Records a call. It failed if the result is negative. size: of `more` behind the result, 0 or 8. Keeps errno. */
static inline __attribute__((__always_inline__)) void call_record(struct posixtrace_event *event, uint64_t began, int fd,
                                                                  int64_t result, int64_t more, unsigned size,
                                                                  const void *caller)
{
	struct posixtrace_around around;
	char name[NAME_SIZE];

	call_before(&around, began, fd, result < 0, errno, caller);
	memcpy(around.__behind, &result, 8);
	if (size)
		memcpy(around.__behind + 8, &more, 8);
	record_text(event, names_get(fd, name), &around, POSIXTRACE_TEXT_SIZES(CALL_BEFORE, 8 + size, NAME_SIZE));
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
