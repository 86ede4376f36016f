/*
 * sysconf.c - sysconf() knows the tracing options and limits
 *
 * The C library answers that there is no tracing. In a program that links this
 * library there is; everything else is passed on. Not with a C library that
 * has its own answer under no second name, as musl: there it stays as it is.
 *
 * SPDX-License-Identifier: MIT
 */
#include <trace.h>
#include <unistd.h>

#ifdef __GLIBC__

/* The C library's own, under the name that it keeps for itself. */
extern long __sysconf(int name);

long sysconf(int name)
{
	switch (name) {
	case _SC_TRACE:
		return _POSIX_TRACE;
	case _SC_TRACE_EVENT_FILTER:
		return _POSIX_TRACE_EVENT_FILTER;
	case _SC_TRACE_INHERIT:
		return _POSIX_TRACE_INHERIT;
	case _SC_TRACE_LOG:
		return _POSIX_TRACE_LOG;
	case _SC_TRACE_EVENT_NAME_MAX:
		return TRACE_EVENT_NAME_MAX;
	case _SC_TRACE_NAME_MAX:
		return TRACE_NAME_MAX;
	case _SC_TRACE_SYS_MAX:
		return TRACE_SYS_MAX;
	case _SC_TRACE_USER_EVENT_MAX:
		return TRACE_USER_EVENT_MAX;
	default:
		return __sysconf(name);
	}
}

#endif
