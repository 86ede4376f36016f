/*
 * running.c - the stream of a running process, made and read by the library's own parts
 *
 * SPDX-License-Identifier: MIT
 */
#include "running.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/lines.h"
#include "base/sys.h"
#include "control/filter.h"
#include "control/lifecycle.h"
#include "control/reading.h"
#include "error.h"
#include "host/ident.h"
#include "model/eventset.h"
#include "process/confinement.h"

/* Room for 20 ms at 10 million events per second. If /dev/shm is too small, a sixteenth is used. */
#define STREAM_BYTES (UINT64_C(8) << 20)
#define DATA_BYTES   1024u
/* Room for any event, also those of the system. */
#define DATA_ROOM    65536u

/* A process with events, and its start: process ids are given out again. */
struct kin {
	uint32_t pid;
	uint64_t start;
};

#define KIN_MAX 4096

struct running {
	trace_id_t trid;
	uint32_t pid, owner; /* the traced process, and the one that has opened the stream */
	int end_fd;
	bool gone, children, outsider;
	uint64_t start;   /* of the process, to know it by */
	uint32_t user;    /* to whom the process belongs */
	int64_t real_time;
	const struct registry *names; /* of the stream */
	struct kin *kin;
	unsigned kins;
	unsigned char *data;
};

/* -- Begin and end ------------------------------------------------------------------------------------- */

/* Returns a message for an error of creating the stream. */
static int refuse(uint32_t pid, int error)
{
	struct proc proc;

	switch (error) {
	case ESRCH:
		return error_say(error, "%u: there is no such process, or it is ending", pid);
	case EPERM:
		if (sys_geteuid() != 0 && proc_read(pid, &proc) == 0 && proc.uid != sys_geteuid())
			return error_say(error, "%u may not be traced: it belongs to user %u, this program to user %u: "
			                 "run as that user, or as root", pid, proc.uid, sys_geteuid());
		if (sys_geteuid() == 0)
			return error_say(error, "%u may not be traced: it has capabilities, or a user namespace, that "
			                 "this root does not have: give the container CAP_SYS_PTRACE", pid);
		return error_say(error, "%u may not be traced: it is not dumpable, like programs that have more rights "
		                 "than the user who starts them: run as root", pid);
	case EAGAIN:
		return error_say(error, "%u: this user has the maximum number of streams; 'posixtrace list' shows them",
		                 pid);
	case ENOENT:
		return error_say(error, "%u: there is no /dev/shm, where streams are created", pid);
	case ENOMEM:
		return error_say(error, "%u: no space for a stream in /dev/shm, or no memory", pid);
	default:
		return error_system(error, "%u", pid);
	}
}

/* A process begins to be traced with system calls, which its filter may not allow. */
static int refuse_confined(uint32_t pid, bool despite)
{
	char text[CONFINEMENT_TEXT];
	enum confinement most = pid == (uint32_t)sys_getpid() ? CONFINEMENT_NONE : confinement_look((pid_t)pid, text);

	if (most < CONFINEMENT_OWN || (most == CONFINEMENT_OWN && despite))
		return 0;
	return error_say(EPERM, "%u is not traced: %s%s", pid, text, most == CONFINEMENT_OWN ?
	                 ": set despite_seccomp if its filter allows the calls listed in docs/processes.md" : "");
}

static int create(struct running *r, uint32_t pid, const struct posixtrace_log_recording *how)
{
	trace_attr_t attr;
	struct attr *a = (struct attr *)(void *)&attr;
	bool smaller = how->stream_size == 0;
	int error;

	attr_init(a);
	attr_set_name(a, "posixtrace_log_live");
	a->stream_size = how->stream_size ? how->stream_size : STREAM_BYTES;
	a->stream_policy = POSIX_TRACE_LOOP;
	a->data_size = how->data_size ? how->data_size : DATA_BYTES;
	a->inheritance = how->children ? POSIX_TRACE_INHERITED : POSIX_TRACE_CLOSE_FOR_CHILD;
	if (!attr_valid(a, false))
		return error_say(EINVAL, "a stream of %llu bytes for events with %u bytes of data is too large",
		                 (unsigned long long)a->stream_size, a->data_size);
	error = lifecycle_create((pid_t)pid, &attr, NULL, 0, &r->trid);
	if (error == ENOMEM && smaller) {
		a->stream_size = STREAM_BYTES / 16;
		error = lifecycle_create((pid_t)pid, &attr, NULL, 0, &r->trid);
	}
	return error ? refuse(pid, error) : 0;
}

/* Evaluates an expression with the locked handle h of the stream; has the other value if there is none. */
#define WITH_HANDLE(running, other, call)                                             \
	({                                                                            \
		struct handle *h = handle_get((running)->trid, HANDLE_ACTIVE);        \
		__typeof__(call) result_ = (other);                                   \
		if (h) {                                                              \
			latch_acquire(&h->lock);                                      \
			if (handle_works(h))                                          \
				result_ = (call);                                     \
			latch_release(&h->lock);                                      \
			handle_put(h);                                                \
		}                                                                     \
		result_;                                                              \
	})

static int note_stream(const struct handle *h, struct running *r)
{
	r->outsider = h->stream.outsider;
	r->real_time = h->real_time;
	r->start = h->target.ident.start;
	r->user = h->target.shm_dir.owner;
	r->names = h->target.names;
	return 0;
}

int running_open(uint32_t pid, const struct posixtrace_log_recording *how, struct running **running)
{
	struct posixtrace_log_recording usual = { .size = sizeof usual };
	struct running *r;
	int error;

	if (how && (how->size < sizeof usual.size || how->size > sizeof usual))
		return error_say(EINVAL, "the recording has no valid size: it is sizeof(struct "
		                 "posixtrace_log_recording)");
	if (how)
		memcpy(&usual, how, how->size);
	if (pid == 0 || pid > INT_MAX)
		return refuse(pid, ESRCH);
	error = refuse_confined(pid, usual.despite_seccomp);
	if (error)
		return error;
	r = calloc(1, sizeof *r);
	if (!r)
		return error_memory();
	r->pid = pid;
	r->owner = (uint32_t)sys_getpid();
	r->children = usual.children;
	r->data = malloc(DATA_ROOM);
	r->kin = r->children ? calloc(KIN_MAX, sizeof *r->kin) : NULL;
	/* Before the stream is made: if the process id is given out again meanwhile, the end is reached at once. */
	r->end_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	error = r->data && (r->kin || !r->children) ? create(r, pid, &usual) : error_memory();
	if (!error) {
		error = WITH_HANDLE(r, EINVAL, note_stream(h, r));
		error = error ? error : WITH_HANDLE(r, EINVAL, lifecycle_start(h, NULL));
		if (error)
			error_keep("%u: the process has taken the stream's memory away", pid);
	}
	if (error)
		running_close(r);
	else
		*running = r;
	return error;
}

void running_close(struct running *r)
{
	/* In a forked child there is no such stream, and its descriptor is another one of the parent's. */
	if (r->trid)
		lifecycle_shutdown(r->trid, NULL, NULL);
	if (r->end_fd >= 0)
		close(r->end_fd);
	free(r->kin);
	free(r->data);
	free(r);
}

static int describe(const struct handle *h, struct log_header *to)
{
	to->attr = h->attr;
	to->monotonic = attr_created(&h->attr) - (uint64_t)h->real_time;
	to->target = h->stream.header->target_pid;
	to->creator = h->entry.creator.pid;
	return 0;
}

void running_describe(const struct running *r, struct log_header *to)
{
	header_machine(to);
	to->word = sizeof(void *);
	WITH_HANDLE(r, 0, describe(h, to));
}

/* -- Events -------------------------------------------------------------------------------------------- */

enum running_result running_next(struct running *r, struct log_event *e, const unsigned char **data)
{
	struct posix_trace_event_info info;
	size_t length = 0;
	int none = 1;

	if (reading_next(r->trid, &info, r->data, DATA_ROOM, &length, &none, READING_TRY, NULL) != 0)
		return (uint32_t)sys_getpid() == r->owner ? RUNNING_BROKEN : RUNNING_FORKED;
	if (none)
		return RUNNING_NONE;
	*e = (struct log_event){
		.id = info.posix_event_id,
		.truncated = info.posix_truncation_status != POSIX_TRACE_NOT_TRUNCATED,
		.pid = (uint32_t)info.posix_pid,
		.tid = (uint32_t)info.__posix_kernel_tid,
		.pthread = (uint64_t)(uintptr_t)info.posix_thread_id,
		.address = (uint64_t)(uintptr_t)info.posix_prog_address,
		.time = (uint64_t)info.posix_timestamp.tv_sec * (uint64_t)NS_PER_S +
		        (uint64_t)info.posix_timestamp.tv_nsec,
		.length = (uint32_t)length,
	};
	*data = r->data;
	return RUNNING_EVENT;
}

bool running_broken(const struct running *r)
{
	return !WITH_HANDLE(r, false, true);
}

uint64_t running_lost(struct running *r)
{
	struct posix_trace_status_info status = { .__posix_lost_events = 0 };

	WITH_HANDLE(r, 0, lifecycle_status(h, &status));
	return status.__posix_lost_events;
}

uint64_t running_now(const struct running *r)
{
	return (uint64_t)(clock_ns(CLOCK_MONOTONIC) + r->real_time);
}

/* -- The end ---------------------------------------------------------------------------------------------- */

/* Returns whether a process has ended. Its parent may not have reaped it. */
static bool ended(uint32_t pid, uint64_t start)
{
	struct proc proc;
	int r = proc_read(pid, &proc);

	/* After another error the process may go on. */
	if (r < 0)
		return r == -ESRCH || r == -ENOENT;
	return proc.ended || (start && proc.ident.start != start);
}

bool running_ended(struct running *r)
{
	struct pollfd fd = { .fd = r->end_fd, .events = POLLIN };

	if (!r->gone)
		r->gone = r->end_fd >= 0 ? poll(&fd, 1, 0) > 0 : ended(r->pid, r->start);
	while (r->gone && r->kins > 0 && ended(r->kin[r->kins - 1].pid, r->kin[r->kins - 1].start))
		r->kins--;
	return r->gone && r->kins == 0;
}

void running_knows(struct running *r, uint32_t pid)
{
	struct proc proc;

	/* Process ids of another pid namespace mean nothing here. This process has started the recording. */
	if (!r->children || r->outsider || pid == r->pid || pid == r->owner || r->kins == KIN_MAX)
		return;
	for (unsigned i = 0; i < r->kins; i++)
		if (r->kin[i].pid == pid)
			return;
	/* A hostile process may give the id of one that never ends, but hardly of one of its user. */
	if (proc_read(pid, &proc) == 0 && proc.uid == r->user)
		r->kin[r->kins++] = (struct kin){ pid, proc.ident.start };
}

int running_end_fd(const struct running *r)
{
	return r->gone ? -1 : r->end_fd;
}

/* -- Event types --------------------------------------------------------------------------------------------- */

uint64_t running_types(const struct running *r)
{
	return (uint64_t)registry_count(r->names) << 32 | registry_layouts(r->names);
}

uint32_t running_types_end(struct running *r)
{
	uint32_t names = WITH_HANDLE(r, (uint32_t)0, target_names(&h->target));

	return names < EVENT_ID_END - EVENT_ID_USER ? EVENT_ID_USER + names : EVENT_ID_END;
}

bool running_type_name(struct running *r, uint32_t id, char name[TRACE_EVENT_NAME_MAX + 1])
{
	const char *predefined = eventtype_predefined_name(id);
	char defined[REGISTRY_NAME_BYTES] = "";

	if (predefined)
		strcpy(name, predefined);
	else if (WITH_HANDLE(r, false, target_name(&h->target, id, defined)))
		memcpy(name, defined, strnlen(defined, TRACE_EVENT_NAME_MAX) + 1);
	else
		return false;
	name[TRACE_EVENT_NAME_MAX] = 0;
	return true;
}

bool running_type_layout(struct running *r, uint32_t id, char layout[LAYOUT_TEXT_SIZE])
{
	return WITH_HANDLE(r, (size_t)0, target_layout(&h->target, id, layout)) > 0;
}

void running_filter(struct running *r, const uint64_t unwanted[EVENT_ID_END / 64 + 1])
{
	trace_event_set_t set;

	eventset_empty(&set);
	for (uint32_t id = EVENT_ID_USER; id < EVENT_ID_END; id++)
		if (unwanted[id / 64] >> id % 64 & 1)
			eventset_add(&set, id);
	WITH_HANDLE(r, 0, filter_change(h, &set, POSIX_TRACE_SET_EVENTSET, NULL));
}

/* -- Processes and threads ------------------------------------------------------------------------------------- */

void running_thread_name(const struct running *r, uint32_t pid, uint32_t tid, char name[16])
{
	struct proc_path path;
	char what[40];
	long n = 0;
	int fd;

	memset(name, 0, 16);
	if (r->outsider || !tid || !pid)
		return;
	snprintf(what, sizeof what, "/task/%u/comm", tid);
	path = proc_path(pid, what);
	fd = sys_open(AT_FDCWD, path.text, O_RDONLY | O_CLOEXEC, 0);
	if (fd >= 0) {
		n = sys_read(fd, name, 15);
		sys_close(fd);
	}
	name[n > 0 ? n : 0] = 0;
	name[strcspn(name, "\n")] = 0;
}

static size_t look_at(const struct handle *h, uint32_t pid, struct images *images, unsigned char *body, size_t size)
{
	uint32_t number = pid == h->stream.header->target_pid ? h->target.number : h->stream.outsider ? 0 : pid;
	bool own = number == (uint32_t)sys_getpid();
	struct images_whose whose = {
		.number = number,
		.owner = own ? sys_geteuid() : h->target.shm_dir.owner,
		.group = own ? sys_getegid() : h->target.shm_dir.group,
		.guarded = h->target.shm_dir.guarded && !own,
	};

	images->pid = pid;
	return images_look(images, &whose, (uint64_t)(clock_ns(CLOCK_MONOTONIC) + h->real_time), body, size);
}

size_t running_image(const struct running *r, uint32_t pid, struct images *images, unsigned char *body, size_t size)
{
	return WITH_HANDLE(r, (size_t)0, look_at(h, pid, images, body, size));
}
