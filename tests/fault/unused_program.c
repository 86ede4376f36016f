/*
 * unused_program.c - a program with a trace point that it never reaches, linked with the library or another one
 *
 * SPDX-License-Identifier: MIT
 */
#ifdef WITH_TRACE
# include <trace.h>
#else
void empty_library(void);
#endif

int main(int argc, char **argv)
{
	/* The compiler and the linker cannot know that this is false, so the library is needed. */
	if (argc > 100) {
#ifdef WITH_TRACE
		trace_event_id_t id;

		posix_trace_eventid_open("unused", &id);
		posix_trace_event(id, argv, 0);
#else
		empty_library();
#endif
	}
	return 0;
}
