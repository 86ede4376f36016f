/*
 * traced_late.c - a program that loads a library after its first event, for the tests of the command
 *
 *     traced_late LIBRARY
 *
 * SPDX-License-Identifier: MIT
 */
#include <dlfcn.h>
#include <trace.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	void (*traced_lib)(trace_event_id_t id);
	trace_event_id_t id;
	void *library;

	if (argc != 2 || posix_trace_eventid_open("place", &id) != 0)
		return 99;
	posix_trace_event(id, &argc, sizeof argc); /* before */
	library = dlopen(argv[1], RTLD_NOW);
	*(void **)&traced_lib = library ? dlsym(library, "traced_lib") : NULL;
	if (!traced_lib)
		return 98;
	traced_lib(id);
	/* The recorder looks at the new mappings while the process lives. */
	usleep(300000);
	posix_trace_event(id, &argc, sizeof argc); /* after */
	return 0;
}
