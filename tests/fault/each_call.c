/*
 * each_call.c - makes each system call of the library fail once, in each library call of a test
 *
 * Linked into a test program, by the linker's --wrap it sits between the test and the library, and between the library
 * and src/base/sys.c. It makes each library call with the first system call failing, then with the second, until no
 * system call fails any more. The test gets that last result, and has to pass with it as usual.
 *
 * A library call that fails is checked here and made again. A call that succeeds despite a failed system call cannot
 * always be repeated, so the test gets its result; the program is then run again and continues with the next failure. A
 * file records what has failed already, see each_call.h. each_call.py runs the programs; without it nothing fails.
 *
 * A test may make a call a thousand times, and a call may make as many system calls. So the unit of failure is a
 * situation: a place in the library, after a certain previous place, in a call from a certain place in the test. Each
 * situation fails a few times only.
 *
 * A thread of the library (src/control/flusher.c) fails together with the call that it works for. Trace points never
 * fail here: they have no result, and the test would rightly miss an event. tests/fault/inject.c tests them.
 *
 * SPDX-License-Identifier: MIT
 */
#include "each_call.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <trace.h>

#include "base/helper.h"
#include "base/sys.h"
#include "control/recover.h"
#include "host/file.h"
#include "record/self.h"
#include "shm.h"

#define ERRNO_BEFORE 4711
#define TRIES_MAX    4

static struct each_call *shared; /* null: nothing fails */
static pid_t program;            /* the parent of the tests' processes */

#define NAME(name, ...) "posix_trace_" #name,
static const char *const function_name[] = { EACH_CALL(NAME) };
#define ERRORS(name, ...) { __VA_ARGS__, 0 },
static const int function_errors[][16] = { EACH_CALL(ERRORS) };

/* -- The current library call --------------------------------------------------------- */

/* The state of a process that a failed call must restore. */
struct have {
	int descriptors, threads, files, dumpable, file_user;
	sigset_t signals;
};

struct call {
	int which;
	bool active;
	unsigned made;        /* number of tries */
	_Atomic unsigned left_out; /* how often a situation left out of this test came up in this try */
	uint32_t number;      /* number of this call among the calls of the function in this process */
	uint64_t id;          /* unique */
	uint64_t call_site;       /* where the test calls */
	_Atomic bool failing; /* no more failures in this try, by this thread or by a library thread working for it */
	const char *failed;   /* null: nothing has failed yet */
	struct each_call_situation *situation; /* the situation of the failure */
	uint64_t again;       /* key of the situation to repeat; 0: none */
	int error;            /* error number of the failure */
	int tries;            /* with the same failure */
	int strange;          /* an error that the failure does not explain: the call must give it without a failure,
			       * too */
	int opened, mapped;   /* by this thread, minus those closed or unmapped again */
	char stays[256];      /* a file that could not be removed */
	int stays_in;
	struct have before;
	int saved_errno;
	struct served *served_by;
};

static __thread struct call call;

/* A thread of the library, and the call that it works for. */
static __thread struct served {
	struct call *_Atomic caller;
	trace_id_t trid;
	_Atomic pid_t pid;          /* 0: free */
	_Atomic pid_t by;           /* thread id of the caller; 0: none */
	bool overrun, log_overrun;  /* consumed by ask_status(), so the test has not seen it yet */
	int flush_error;            /* consumed by ask_status() as well */
} *serves;

static struct served served[TRACE_SYS_MAX];
static __thread struct served *starting; /* the thread that the current call starts */

static struct served *served_find(trace_id_t trid)
{
	for (unsigned i = 0; i < TRACE_SYS_MAX; i++)
		if (served[i].pid == getpid() && served[i].trid == trid)
			return &served[i];
	return NULL;
}

static void say(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	fprintf(stderr, "each call: %s: ", function_name[call.which]);
	vfprintf(stderr, format, ap);
	fprintf(stderr, " (call %u, failure: %s, error %d; pass %u)\n", call.number, call.failed ? call.failed : "none",
	        call.error, shared->pass);
	va_end(ap);
	(*each_call_failures)++;
	atomic_fetch_add(&shared->wrong, 1);
}

static uint64_t mix(uint64_t a, uint64_t b)
{
	uint64_t x = (a ^ b * 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;

	x = (x ^ x >> 30) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static uint32_t choose(uint64_t a, uint64_t b)
{
	return (uint32_t)(mix(mix((uint64_t)shared->seed << 32 | shared->pass, a), b) >> 33);
}

/* -- Situations ----------------------------------------------------------------------- */

#define CALL_SITE_DEPTH 16
#define FRAME_MAX   65536 /* bytes */

extern const char __executable_start[], etext[];

/* Returns the offset of an address in the program, the same in every run, or 0 if it is outside of the program. */
static uint64_t call_site(const void *address)
{
	return (const char *)address >= __executable_start && (const char *)address < etext
		? (uint64_t)((const char *)address - __executable_start) : 0;
}

/*
 * Returns a key for the place of the call in the test: the chain of return addresses within the program. The program
 * keeps frame pointers; a statically linked C library does not, so the chain ends there.
 */
static uint64_t place_of_call(void)
{
	void *const *frame = __builtin_frame_address(0), *const *below;
	uint64_t key = 0, from;

	for (int i = 0; i < CALL_SITE_DEPTH && (from = call_site(frame[1])); i++) {
		key = mix(key, from);
		below = frame;
		frame = *frame;
		if (frame <= below || (uintptr_t)frame - (uintptr_t)below > FRAME_MAX ||
		    (uintptr_t)frame % sizeof *frame)
			break;
	}
	return key;
}

static struct each_call_situation *situation_find(uint64_t key)
{
	for (uint64_t i = 0; i < EACH_CALL_SITUATIONS; i++) {
		struct each_call_situation *s = &shared->situation[(key + i) % EACH_CALL_SITUATIONS];
		uint64_t none = 0;

		if (atomic_load(&s->key) == key || atomic_compare_exchange_strong(&s->key, &none, key) || none == key)
			return s;
	}
	atomic_store(&shared->full, 1);
	return NULL;
}

/* Returns true if the test leaves this failure out. */
static bool left_out(const struct call *c, const char *name)
{
	for (int i = 0; i < EACH_CALL_LEFT_OUT; i++)
		if (strcmp(shared->left_out[i].function, function_name[c->which]) == 0 &&
		    strcmp(shared->left_out[i].name, name) == 0)
			return true;
	return false;
}

static bool one_less(_Atomic uint32_t *n)
{
	uint32_t now = atomic_load(n);

	while (now > 0)
		if (atomic_compare_exchange_weak(n, &now, now - 1))
			return true;
	return false;
}

/* Returns true if the situation shall fail in this call. */
static bool situation_fails(struct call *c, struct each_call_situation *s, const char *name)
{
	if (shared->only.situation)
		return s->key == shared->only.situation && !atomic_exchange(&s->failed, 1);
	/* Failures that are left out can also be tried alone: at every occurrence, but a repeated call skips the first
	 * occurrences. */
	if (shared->left_out_alone)
		return left_out(c, name) && atomic_fetch_add(&c->left_out, 1) + 1 >= c->made;
	if (left_out(c, name))
		return false;
	if (s->key == c->again)
		return true;
	/* Fails once in each call, and again if each_call.c has undone the call. */
	if (atomic_load(&s->last) == c->id || (shared->some > 1 && choose(s->key, 0) % shared->some))
		return false;
	if (shared->pass && one_less(&s->undone))
		return true;
	if (atomic_load(&s->failed) >= shared->each)
		return false;
	atomic_fetch_add(&s->failed, 1);
	return true;
}

/* -- The seam ------------------------------------------------------------------------- */

/*
 * A signal handler may interrupt a call and reach a trace point, and a trace point blocks signals before it does
 * anything complicated. Of the library calls only those block signals that switch the file system credentials.
 */
static __thread bool suspended, with_credentials;

struct fs_credentials;
void __real_fs_credentials_use(struct fs_credentials *g, uint32_t uid, uint32_t gid);
void __wrap_fs_credentials_use(struct fs_credentials *g, uint32_t uid, uint32_t gid);
void __wrap_fs_credentials_use(struct fs_credentials *g, uint32_t uid, uint32_t gid)
{
	with_credentials = true;
	__real_fs_credentials_use(g, uid, gid);
	with_credentials = false;
}

uint64_t __real_sys_signals_block(void);
uint64_t __wrap_sys_signals_block(void);
uint64_t __wrap_sys_signals_block(void)
{
	suspended = !with_credentials;
	return __real_sys_signals_block();
}

void __real_sys_signals_restore(uint64_t before);
void __wrap_sys_signals_restore(uint64_t before);
void __wrap_sys_signals_restore(uint64_t before)
{
	suspended = false;
	__real_sys_signals_restore(before);
}

static __thread uint64_t position_before; /* the place in the library that made the previous system call */

/* Returns an error number if this system call shall fail, else 0. */
static int fails(const char *name, const int *errors, const void *from)
{
	struct call *c = serves ? atomic_load(&serves->caller) : &call;
	struct each_call_situation *s;
	unsigned count = 0;
	uint64_t key;

	if (!c || !c->active || suspended)
		return 0;
	key = mix(c->call_site, mix(position_before, call_site(from)));
	position_before = call_site(from);
	if (atomic_load(&c->failing) || !(s = situation_find(key ? key : 1)) || !situation_fails(c, s, name))
		return 0;
	if (atomic_exchange(&c->failing, !shared->left_out_alone))
		return 0;
	if (s->key != c->again)
		c->tries = 0;
	while (errors[count])
		count++;
	c->error = shared->only.situation ? (int)shared->only.error : errors[choose(s->key, c->number) % count];
	c->situation = s;
	atomic_store(&s->last, c->id);
	c->failed = name;
	return c->error;
}

#define FAILS(name, errors) fails(name, errors, __builtin_return_address(0))

/* The possible errors, without errors that answer a question, such as ENOENT. */
static const int of_open[] = { EMFILE, ENFILE, ENOMEM, EACCES, 0 };
static const int of_read[] = { EIO, ENOMEM, 0 };
static const int of_kernel[] = { ENOMEM, 0 };
static const int of_write[] = { EIO, ENOSPC, EDQUOT, EFBIG, EINTR, 0 };
static const int of_space[] = { ENOSPC, ENOMEM, EDQUOT, EINTR, EFBIG, 0 };
static const int of_disk[] = { ENOSPC, EDQUOT, EFBIG, 0 };
static const int of_name[] = { ENOSPC, ENOMEM, EACCES, EROFS, 0 };
static const int of_link[] = { ENOMEM, EACCES, 0 };
static const int of_lock[] = { ENOLCK, ENOMEM, 0 };
static const int of_descriptor[] = { EMFILE, ENOMEM, 0 };
static const int of_right[] = { EPERM, 0 };
static const int of_sync[] = { EIO, ENOSPC, 0 };
static const int of_wait[] = { EINTR, ENOMEM, 0 };
static const int of_thread[] = { EAGAIN, ENOMEM, 0 };

#define SEAM(type, name, errors, declared, passed)                      \
	type __real_##name declared;                                    \
	type __wrap_##name declared;                                    \
	type __wrap_##name declared                                     \
	{                                                               \
		int error = FAILS(#name, errors);                       \
		return error ? (type)-error : __real_##name passed;     \
	}

SEAM(long, sys_read, of_kernel, (int fd, void *b, size_t n), (fd, b, n))
SEAM(long, sys_read_at, of_read, (int fd, void *b, size_t n, uint64_t o), (fd, b, n, o))
SEAM(long, sys_write, of_write, (int fd, const void *b, size_t n), (fd, b, n))
SEAM(long, sys_write_at, of_write, (int fd, const void *b, size_t n, uint64_t o), (fd, b, n, o))
SEAM(int, sys_wait_writable, of_wait, (int fd), (fd))
SEAM(int, sys_truncate, of_write, (int fd, uint64_t n), (fd, n))
SEAM(int, sys_sync_data, of_sync, (int fd), (fd))
SEAM(int, sys_open_flags, of_kernel, (int fd), (fd))
SEAM(int, sys_stat, of_kernel, (int fd, struct sys_stat *st), (fd, st))
SEAM(int, sys_stat_path, of_kernel, (const char *p, struct sys_stat *st), (p, st))
SEAM(int, sys_mkdir, of_name, (int d, const char *p, unsigned m), (d, p, m))
SEAM(int, sys_rename, of_name, (int d, const char *from, const char *to), (d, from, to))
SEAM(int, sys_reserve, of_space, (int fd, uint64_t n), (fd, n))
SEAM(int, sys_reserve_space, of_disk, (int fd, uint64_t n), (fd, n))
SEAM(int, sys_getdents, of_kernel, (int fd, void *b, size_t n), (fd, b, n))
SEAM(int, sys_lock, of_lock, (int fd, bool e, int64_t s, int64_t l), (fd, e, s, l))
SEAM(int, sys_lock_probe, of_lock, (int fd, int64_t s, int64_t l), (fd, s, l))
SEAM(int, sys_wipe_on_fork, of_kernel, (void *p, size_t n), (p, n))
SEAM(int, sys_not_on_fork, of_kernel, (void *p, size_t n), (p, n))
SEAM(int, sys_unused_limit, of_right, (uint32_t p, uint64_t *s, uint64_t *h), (p, s, h))
SEAM(int, sys_set_unused_limit, of_right, (uint32_t p, uint64_t s, uint64_t h), (p, s, h))
SEAM(int, sys_kill_probe, of_right, (int pid), (pid))
SEAM(int, sys_thread_probe, of_right, (int pid, int tid), (pid, tid))
SEAM(int, sys_own_descriptors, of_descriptor, (int fd), (fd))
SEAM(int, sys_membarrier, of_kernel, (int command), (command))

#define OPENING(name, errors, declared, passed)                         \
	int __real_##name declared;                                     \
	int __wrap_##name declared;                                     \
	int __wrap_##name declared                                      \
	{                                                               \
		int error = FAILS(#name, errors);                       \
		int r = error ? -error : __real_##name passed;          \
		call.opened += r >= 0;                                  \
		return r;                                               \
	}

/* The permission to look into a process is checked before, so /proc/ does not fail with EACCES. */
OPENING(sys_open, strncmp(p, "/proc/", 6) == 0 ? of_descriptor : of_open, (int d, const char *p, int f, unsigned m),
        (d, p, f, m))
OPENING(sys_dup, of_descriptor, (int fd), (fd))

/* A failure of close() could not be handled in any way: the descriptor is closed. */
int __real_sys_close(int fd);
int __wrap_sys_close(int fd);
int __wrap_sys_close(int fd)
{
	call.opened--;
	return __real_sys_close(fd);
}

/* A later process would remove the file; here come_by() removes it at the end of the call. */
int __real_sys_unlink(int dir, const char *path);
int __wrap_sys_unlink(int dir, const char *path);
int __wrap_sys_unlink(int dir, const char *path)
{
	int error = FAILS("sys_unlink", of_name);

	if (!error)
		return __real_sys_unlink(dir, path);
	if (!serves && strlen(path) < sizeof call.stays) {
		call.stays_in = dir < 0 ? dir : fcntl(dir, F_DUPFD_CLOEXEC, 3);
		strcpy(call.stays, path);
	}
	return -error;
}

/* Recovers the directory of one user: of this user, or as root of any user. */
static void recover_in(int all, const char *name)
{
	struct shm_dir shm_dir;
	struct ident me;
	struct stat st;
	int dir = openat(all, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (dir < 0)
		return;
	if (fstat(dir, &st) == 0 && ident_self(&me) == 0) {
		memset(&shm_dir, 0, sizeof shm_dir);
		snprintf(shm_dir.path, sizeof shm_dir.path, "/dev/shm/%.60s", name);
		shm_dir.owner = st.st_uid;
		shm_dir.group = st.st_gid;
		shm_dir.guarded = st.st_uid != geteuid();
		recover_directory(dir, &shm_dir, me.pidns, NULL);
	}
	close(dir);
}

/* Removes at once what a failed call has left for later processes; otherwise tests would rightly see it. A refused call
 * is made again, so only its file is removed. */
static void come_by(bool refused)
{
	int opened = call.opened, mapped = call.mapped;
	struct dirent *e;
	DIR *all;

	if (call.stays[0]) {
		unlinkat(call.stays_in, call.stays, 0);
		if (call.stays_in >= 0)
			close(call.stays_in);
		call.stays[0] = 0;
	}
	if (!call.failed || refused ||
	    (call.which != EACH_CALL_create && call.which != EACH_CALL_create_withlog &&
	     call.which != EACH_CALL_shutdown) ||
	    !(all = opendir("/dev/shm")))
		return;
	while ((e = readdir(all)))
		if (strncmp(e->d_name, "posixtrace-", strlen("posixtrace-")) == 0)
			recover_in(dirfd(all), e->d_name);
	closedir(all);
	call.opened = opened;
	call.mapped = mapped;
}

#define MAPPING(name, declared, passed)                                 \
	void *__real_##name declared;                                   \
	void *__wrap_##name declared;                                   \
	void *__wrap_##name declared                                    \
	{                                                               \
		void *p = FAILS(#name, of_kernel) ? NULL : __real_##name passed; \
		call.mapped += p != NULL;                               \
		return p;                                               \
	}

MAPPING(sys_map, (size_t n, int fd, int w), (n, fd, w))
MAPPING(sys_map_family, (size_t n), (n))
MAPPING(sys_map_untouched, (size_t n, int fd), (n, fd))

void __real_sys_unmap(void *p, size_t size);
void __wrap_sys_unmap(void *p, size_t size);
void __wrap_sys_unmap(void *p, size_t size)
{
	call.mapped--;
	__real_sys_unmap(p, size);
}

long __real_sys_read_link(const char *path, char *buf, size_t size);
long __wrap_sys_read_link(const char *path, char *buf, size_t size);
long __wrap_sys_read_link(const char *path, char *buf, size_t size)
{
	int error = FAILS("sys_read_link", of_link);

	if (!error)
		return __real_sys_read_link(path, buf, size);
	buf[0] = 0;
	return -error;
}

bool __real_sys_size_allowed(uint64_t size);
bool __wrap_sys_size_allowed(uint64_t size);
bool __wrap_sys_size_allowed(uint64_t size)
{
	static const int too_large[] = { EFBIG, 0 };

	return !FAILS("sys_size_allowed", too_large) && __real_sys_size_allowed(size);
}

/* -- Threads of the library ------------------------------------------------------------- */

struct start {
	void *(*run)(void *);
	void *arg;
	struct served *served;
};

static void *run_serving(void *arg)
{
	struct start s = *(struct start *)arg;
	void *result;

	free(arg);
	serves = s.served;
	result = s.run(s.arg);
	serves = NULL;
	return result;
}

int __real_helper_start(pthread_t *thread, void *(*run)(void *), void *arg);
int __wrap_helper_start(pthread_t *thread, void *(*run)(void *), void *arg);
int __wrap_helper_start(pthread_t *thread, void *(*run)(void *), void *arg)
{
	int error = FAILS("helper_start", of_thread);
	struct start *s;

	if (error || !call.active || !starting)
		return error ? error : __real_helper_start(thread, run, arg);
	s = malloc(sizeof *s);
	*s = (struct start){ run, arg, starting };
	error = __real_helper_start(thread, run_serving, s);
	if (error)
		free(s);
	return error;
}

/* -- What a call leaves behind ----------------------------------------------------------- */

/* Returns the number of entries of a directory. Allocates nothing, so that the child of a multithreaded process may
 * call it. */
static int count(const char *path)
{
	_Alignas(8) char entries[4096];
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), n = 0;
	long size;

	if (fd < 0)
		return -1;
	while ((size = syscall(SYS_getdents64, fd, entries, sizeof entries)) > 0)
		for (long at = 0; at < size; n++)
			at += *(unsigned short *)(entries + at + 16);
	close(fd);
	return n - 2;
}

/* Returns the number of threads. Is not a cancellation point. */
static int threads(void)
{
	int state, n;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	n = count("/proc/self/task");
	pthread_setcancelstate(state, NULL);
	return n;
}

static void look(struct have *h)
{
	h->threads = count("/proc/self/task");
	h->descriptors = count("/proc/self/fd");
	h->files = count(shm_directory());
	h->dumpable = prctl(PR_GET_DUMPABLE);
	h->file_user = setfsuid((uid_t)-1);
	pthread_sigmask(SIG_SETMASK, NULL, &h->signals);
}

static bool same_signals(const sigset_t *a, const sigset_t *b)
{
	for (int i = 1; i < NSIG; i++)
		if (sigismember(a, i) != sigismember(b, i))
			return false;
	return true;
}

/* Waits until temporary files of another process, and a thread that has just ended, have disappeared. */
static void wait_for_others(struct have *h)
{
	for (int i = 0; i < 2000 && (h->files > call.before.files || h->threads > call.before.threads); i++) {
		usleep(1000);
		look(h);
	}
}

/*
 * Checks what a failed call has left. Returns true if it has left something that may belong to the process for its
 * whole life. The same failure is tried again then, and must not leave more of it.
 */
static bool check_left(void)
{
	bool last = call.tries == TRIES_MAX, more;
	struct have now;

	if (call.opened)
		say("%d descriptors stay open", call.opened);
	look(&now);
	if (now.dumpable != call.before.dumpable || now.file_user != call.before.file_user)
		say("dumpable %d, not %d; user %d, not %d", now.dumpable, call.before.dumpable, now.file_user,
		    call.before.file_user);
	if (!same_signals(&now.signals, &call.before.signals))
		say("other signals are blocked");
	if (last)
		wait_for_others(&now);
	more = call.mapped > 0;
	if (more && last)
		say("%d mappings stay", call.mapped);
	if (now.files > call.before.files) {
		more = true;
		if (last)
			say("%d files, before it were %d", now.files, call.before.files);
	}
	/* Other threads of the process may open descriptors and start threads. */
	if (call.before.threads == 1 && (now.threads != 1 || now.descriptors != call.before.descriptors)) {
		more = true;
		if (last)
			say("%d threads; %d descriptors, before it were %d", now.threads, now.descriptors,
			    call.before.descriptors);
	}
	return more && !last;
}

/* Returns true if the current call may give this error after its failure. */
static bool allowed(int error)
{
	for (const int *e = function_errors[call.which]; *e; e++)
		if (*e == error || (*e == EACH_CALL_ANY && error == call.error))
			return true;
	return false;
}

/* -- Calls -------------------------------------------------------------------------------- */

static struct {
	pid_t pid;
	uint32_t role; /* index of the process in the test, in the order of their first calls */
	_Atomic uint32_t calls[EACH_CALL_FUNCTIONS];
} self;

static void know_self(void)
{
	if (self.pid == getpid())
		return;
	memset(served, 0, sizeof served);
	memset(&self, 0, sizeof self);
	self.role = atomic_fetch_add(&shared->processes, 1);
	self.pid = getpid();
}

static void begin(int which)
{
	int before = errno;
	uint32_t number;

	/* `call` may have contents of a call that was left by longjmp(), or by the end of its thread. */
	memset(&call, 0, sizeof call);
	if (!shared)
		return;
	know_self();
	number = atomic_fetch_add(&self.calls[which], 1);
	call.which = which;
	call.number = number;
	call.id = mix(mix(self.role + 1, (uint64_t)which), mix(number, shared->pass));
	call.call_site = place_of_call();
	if (shared->only.situation &&
	    (self.role != shared->only.role || which != (int)shared->only.function || number != shared->only.number))
		return;
	call.saved_errno = before;
	call.active = true;
	atomic_fetch_add(&shared->calls, 1);
}

static void enter(void)
{
	int state;

	if (!call.active)
		return;
	/* The work done here must not contain a cancellation point of the test's thread. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	atomic_store(&call.failing, false);
	atomic_store(&call.left_out, 0);
	call.made++;
	position_before = 0;
	call.failed = NULL;
	call.error = 0;
	call.opened = call.mapped = 0;
	look(&call.before);
	pthread_setcancelstate(state, NULL);
	errno = ERRNO_BEFORE;
}

/* Ends the tries of the current call: the test gets the result. */
static void finish(bool more)
{
	if (more)
		atomic_fetch_add(&shared->pending, 1);
	call.active = false;
	errno = call.saved_errno;
}

enum outcome { OVER, AGAIN, UNDO };

static void tell(const char *what, int error)
{
	if (shared->verbose)
		fprintf(stderr, "each call: %s %s %d: %s %d\n", function_name[call.which], call.failed, call.error,
		        what, error);
}

static enum outcome judge_refused(int error)
{
	bool more = check_left();

	tell("refused", error);
	if (error && !allowed(error))
		call.strange = error;
	if (call.tries == 1)
		atomic_fetch_add(&shared->refused, 1);
	call.again = more ? call.situation->key : 0;
	return AGAIN;
}

/* Records that the test gets the result of a call in which something failed. */
static void write_down(void)
{
	struct each_call_on *on;
	uint32_t n = atomic_fetch_add(&shared->gone_on, 1);

	if (n >= EACH_CALL_GONE_ON)
		return;
	on = &shared->on[n];
	*on = (struct each_call_on){ call.situation->key,  self.role, (uint32_t)call.which, call.number,
		                     (uint32_t)call.error, "" };
	snprintf(on->name, sizeof on->name, "%s", call.failed);
}

/* Decides how the current call continues. `refused`: it has failed, with this error or, if that is 0, in another
 * documented way. */
static enum outcome judge_call(bool refused, int error, bool can_undo, bool always)
{
	if (call.strange && (!call.failed || !refused) && error != call.strange) {
		say("it has given error %d, and now %d", call.strange, error);
		call.strange = 0;
	}
	if (!call.failed) { /* all situations have been tried */
		finish(false);
		return OVER;
	}
	if (++call.tries == 1)
		atomic_fetch_add(&shared->points, 1);
	if (refused)
		return judge_refused(error);
	tell("goes on", 0);
	call.again = 0;
	if (call.opened > (call.which == EACH_CALL_open))
		say("%d descriptors stay open", call.opened);
	if (shared->only.situation || shared->left_out_alone)
		can_undo = false;
	/* The first pass tries everything that can be undone. Later passes give the test one result after the other. */
	if (can_undo &&
	    (always || (shared->some == 1 ? shared->pass == 0 : choose(call.id, call.situation->key) % 4 != 0))) {
		if (!always && shared->some == 1) {
			atomic_fetch_add(&call.situation->undone, 1);
			atomic_fetch_add(&shared->pending, 1);
		}
		return UNDO;
	}
	write_down();
	finish(true);
	return OVER;
}

static enum outcome judge(bool refused, int error, bool can_undo, bool always)
{
	enum outcome outcome;
	int state;

	if (!call.active)
		return OVER;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	if (errno != ERRNO_BEFORE)
		say("errno is %d", errno);
	come_by(refused);
	outcome = judge_call(refused, error, can_undo, always);
	pthread_setcancelstate(state, NULL);
	return outcome;
}

static void unserve(struct served *s);

static void left(void *unused)
{
	unserve(call.served_by);
	call.active = false;
}

/* `refused` and `undo` are expressions that may use the result r. */
#define TRY(which, expression, refused, can_undo, undo, always)                 \
	int r;                                                                  \
	char until_left __attribute__((cleanup(left), unused));                 \
	begin(which);                                                           \
	for (;;) {                                                              \
		enum outcome outcome;                                           \
		enter();                                                        \
		r = expression;                                                 \
		outcome = judge(refused, r, can_undo, always);                  \
		if (outcome == OVER)                                            \
			return r;                                               \
		if (outcome == UNDO) {                                          \
			call.active = false;                                    \
			undo;                                                   \
			call.active = true;                                     \
		}                                                               \
	}

#define DECLARED(name, declared)                \
	int __real_posix_trace_##name declared; \
	int __wrap_posix_trace_##name declared; \
	int __wrap_posix_trace_##name declared

/* A function that works despite any failure: the test gets its result. */
#define PLAIN(name, declared, passed)                                                                     \
	DECLARED(name, declared)                                                                          \
	{                                                                                                 \
		TRY(EACH_CALL_##name, __real_posix_trace_##name passed, false, false, (void)0, false)           \
	}

PLAIN(start, (trace_id_t trid), (trid))
PLAIN(stop, (trace_id_t trid), (trid))
PLAIN(get_attr, (trace_id_t trid, trace_attr_t *attr), (trid, attr))
PLAIN(eventid_equal, (trace_id_t trid, trace_event_id_t a, trace_event_id_t b), (trid, a, b))
PLAIN(eventid_get_name, (trace_id_t trid, trace_event_id_t id, char *name), (trid, id, name))
PLAIN(eventtypelist_getnext_id, (trace_id_t trid, trace_event_id_t *id, int *none), (trid, id, none))
PLAIN(eventtypelist_rewind, (trace_id_t trid), (trid))
PLAIN(get_filter, (trace_id_t trid, trace_event_set_t *set), (trid, set))
PLAIN(set_filter, (trace_id_t trid, const trace_event_set_t *set, int how), (trid, set, how))
PLAIN(timedgetnext_event,
      (trace_id_t trid, struct posix_trace_event_info *event, void *data, size_t size, size_t *length, int *none,
       const struct timespec *until),
      (trid, event, data, size, length, none, until))
PLAIN(trygetnext_event,
      (trace_id_t trid, struct posix_trace_event_info *event, void *data, size_t size, size_t *length, int *none),
      (trid, event, data, size, length, none))

/* Returns true if a name got no id of its own. Without memory it is the unnamed type (docs/choices.md), which is a
 * failure, too. */
static bool unnamed(int r, const trace_event_id_t *id)
{
	return r != 0 || *id == POSIX_TRACE_UNNAMED_USEREVENT;
}

/* -- Reading logs ----------------------------------------------------------------------------- */

/* The number of events that the test has read of each open log. */
static struct {
	trace_id_t trid; /* 0: free */
	uint64_t seen;
} logs[64];

static uint64_t *log_seen(trace_id_t trid)
{
	for (unsigned i = 0; i < sizeof logs / sizeof logs[0]; i++)
		if (logs[i].trid == trid)
			return &logs[i].seen;
	return NULL;
}

static void log_know(trace_id_t trid)
{
	for (unsigned i = 0; i < sizeof logs / sizeof logs[0]; i++) {
		if (!logs[i].trid) {
			logs[i].trid = trid;
			logs[i].seen = 0;
			return;
		}
	}
}

int __real_posix_trace_open(int fd, trace_id_t *trid);
int __real_posix_trace_rewind(trace_id_t trid);
int __real_posix_trace_close(trace_id_t trid);
int __real_posix_trace_getnext_event(trace_id_t trid, struct posix_trace_event_info *event, void *data, size_t size,
                                     size_t *length, int *none);

DECLARED(rewind, (trace_id_t trid))
{
	uint64_t *seen = shared ? log_seen(trid) : NULL;

	if (seen)
		*seen = 0;
	/* An unreadable part of the log is missing until the next rewind. */
	TRY(EACH_CALL_rewind, __real_posix_trace_rewind(trid), false, true, (void)0, true)
}

DECLARED(close, (trace_id_t trid))
{
	for (unsigned i = 0; i < sizeof logs / sizeof logs[0]; i++)
		if (logs[i].trid == trid)
			logs[i].trid = 0;
	TRY(EACH_CALL_close, __real_posix_trace_close(trid), false, false, (void)0, false)
}

static void undo_open(trace_id_t *trid, trace_id_t before)
{
	__real_posix_trace_close(*trid);
	*trid = before;
}

static int try_open(int fd, trace_id_t *trid)
{
	trace_id_t before = shared && trid ? *trid : 0;

	/* A part that could not be read, or not be completed, is missing from this opening. */
	TRY(EACH_CALL_open, __real_posix_trace_open(fd, trid), r != 0, true, undo_open(trid, before), true)
}

DECLARED(open, (int fd, trace_id_t *trid))
{
	int r = try_open(fd, trid);

	if (shared && r == 0)
		log_know(*trid);
	return r;
}

/* Rewinds the log and reads up to the position of the test. */
static void log_again(trace_id_t trid, uint64_t seen)
{
	struct posix_trace_event_info event;
	size_t length;
	int none;

	if (__real_posix_trace_rewind(trid) != 0)
		say("no rewind");
	while (seen-- > 0)
		if (__real_posix_trace_getnext_event(trid, &event, NULL, 0, &length, &none) != 0 || none)
			say("%llu events are not there any more", (unsigned long long)seen + 1);
}

/* An unreadable part of a log counts as lost. After a rewind it is there again, so the test sees no loss. */
static int try_getnext_event(trace_id_t trid, struct posix_trace_event_info *event, void *data, size_t size,
                             size_t *length, int *none, const uint64_t *seen)
{
	TRY(EACH_CALL_getnext_event, __real_posix_trace_getnext_event(trid, event, data, size, length, none), false,
	    seen != NULL, log_again(trid, *seen), seen != NULL)
}

DECLARED(getnext_event,
         (trace_id_t trid, struct posix_trace_event_info *event, void *data, size_t size, size_t *length, int *none))
{
	uint64_t *seen = shared ? log_seen(trid) : NULL;
	int r;

	/* Several threads read different events of a log, so the position of a thread cannot be restored. */
	if (seen && threads() > 1)
		return __real_posix_trace_getnext_event(trid, event, data, size, length, none);
	r = try_getnext_event(trid, event, data, size, length, none, seen);

	if (seen && r == 0 && !*none)
		++*seen;
	return r;
}

/* -- Names and streams --------------------------------------------------------------------------- */

/*
 * Makes the process traceable. A process that cannot be traced when it first opens a name has private names for its
 * whole life. A test would rightly notice that.
 */
static void be_traceable(void)
{
	int error;

	if (shared && !self_peek())
		self_get(false, &error);
}

DECLARED(eventid_open, (const char *name, trace_event_id_t *id))
{
	be_traceable();
	TRY(EACH_CALL_eventid_open, __real_posix_trace_eventid_open(name, id), unnamed(r, id), false, (void)0, false)
}

DECLARED(trid_eventid_open, (trace_id_t trid, const char *name, trace_event_id_t *id))
{
	TRY(EACH_CALL_trid_eventid_open, __real_posix_trace_trid_eventid_open(trid, name, id), unnamed(r, id), false,
	    (void)0, false)
}

int __real_posix_trace_shutdown(trace_id_t trid);
int __real_posix_trace_create_withlog(pid_t pid, const trace_attr_t *attr, int fd, trace_id_t *trid);
int __real_posix_trace_flush(trace_id_t trid);
int __real_posix_trace_clear(trace_id_t trid);
int __real_posix_trace_get_status(trace_id_t trid, struct posix_trace_status_info *status);

/* Shuts the new stream down, and restores the identifier. */
static void undo_create(trace_id_t *trid, trace_id_t before)
{
	__real_posix_trace_shutdown(*trid);
	*trid = before;
}

DECLARED(create, (pid_t pid, const trace_attr_t *attr, trace_id_t *trid))
{
	trace_id_t before = shared && trid ? *trid : 0;

	TRY(EACH_CALL_create, __real_posix_trace_create(pid, attr, trid), r != 0, true, undo_create(trid, before),
	    false)
}

/* -- Calls of streams with a log, for which a thread works ----------------------------------- */

/* Makes the stream's thread work for the current call only. Waits while it works for the call of another thread. */
static void serve(struct served *s)
{
	pid_t none = 0;

	if (!s || !call.active)
		return;
	while (!atomic_compare_exchange_strong(&s->by, &none, (pid_t)syscall(SYS_gettid))) {
		none = 0;
		usleep(100);
	}
	call.served_by = s;
	atomic_store(&s->caller, &call);
}

static void unserve(struct served *s)
{
	if (!s || call.served_by != s)
		return;
	call.served_by = NULL;
	atomic_store(&s->caller, NULL);
	atomic_store(&s->by, 0);
}

/*
 * Asks for the status after a failure in a call of this stream. The failure may have hit the stream's thread while it
 * was writing on its own, and then only the status reports it. The question resets the status, so whatever this failure
 * did not cause is kept for the test.
 */
static void ask_status(struct served *s, trace_id_t trid, int r)
{
	struct posix_trace_status_info status;

	if (!s || !call.active || !call.failed || __real_posix_trace_get_status(trid, &status) != 0)
		return;
	if (r && !status.posix_stream_flush_error)
		say("it gives error %d, and the status does not know", r);
	s->overrun |= status.posix_stream_overrun_status == POSIX_TRACE_OVERRUN;
	s->log_overrun |= status.posix_log_overrun_status == POSIX_TRACE_OVERRUN;
	if (status.posix_stream_flush_error != call.error && status.posix_stream_flush_error != r && !s->flush_error)
		s->flush_error = status.posix_stream_flush_error;
}

static struct served *served_new(void)
{
	if (!shared)
		return NULL;
	know_self();
	for (unsigned i = 0; i < TRACE_SYS_MAX; i++) {
		int none = 0;

		if (!atomic_load(&served[i].pid) && atomic_compare_exchange_strong(&served[i].pid, &none, getpid()))
			return &served[i];
	}
	return NULL;
}

/* The read end of the pipe of other_pipe(); -1: none. */
static __thread int other_end = -1;

static void empty_pipe(void)
{
	char block[4096];
	int before = errno, state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	while (other_end >= 0 && read(other_end, block, sizeof block) > 0)
		;
	pthread_setcancelstate(state, NULL);
	errno = before;
}

/* Returns the write end of a pipe for all tries but the last, because data written to a pipe cannot be taken back.
 * Returns fd if that is a regular file, a directory or read-only. */
static int other_pipe(int fd, int ends[2])
{
	struct stat st;

	ends[0] = ends[1] = -1;
	if (!shared || fstat(fd, &st) < 0 || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode) ||
	    (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY)
		return fd;
	if (pipe2(ends, O_CLOEXEC) < 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0)
		return fd;
	other_end = ends[0];
	return ends[1];
}

/* Truncates a file to its former size. Its former contents are not guaranteed. */
static void cut(int fd, off_t size)
{
	int before = errno;
	struct stat st;

	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > size && ftruncate(fd, size) < 0)
		say("the file cannot be cut");
	errno = before;
}

static int create_withlog(struct served *s, pid_t pid, const trace_attr_t *attr, int fd, off_t size, trace_id_t *trid)
{
	int r;

	starting = s;
	serve(s);
	r = __real_posix_trace_create_withlog(pid, attr, fd, trid);
	if (r == 0)
		ask_status(s, *trid, r);
	unserve(s);
	starting = NULL;
	if (r != 0 && call.active && call.failed)
		cut(fd, size);
	if (r != 0)
		empty_pipe();
	return r;
}

static void undo_log(trace_id_t *trid, trace_id_t before, int fd, off_t size)
{
	undo_create(trid, before);
	cut(fd, size);
	empty_pipe();
}

/* `always`: the test gets none of the results. */
static int try_create_withlog(struct served *s, pid_t pid, const trace_attr_t *attr, int fd, bool always,
                              trace_id_t *trid)
{
	trace_id_t before = shared && trid ? *trid : 0;
	struct stat st = { .st_size = 0 };

	if (shared)
		fstat(fd, &st);
	TRY(EACH_CALL_create_withlog, create_withlog(s, pid, attr, fd, st.st_size, trid), r != 0, true,
	    undo_log(trid, before, fd, st.st_size), always)
}

DECLARED(create_withlog, (pid_t pid, const trace_attr_t *attr, int fd, trace_id_t *trid))
{
	trace_id_t before = shared && trid ? *trid : 0;
	struct served *s = served_new();
	int ends[2], to = other_pipe(fd, ends);
	int r = try_create_withlog(s, pid, attr, to, to != fd, trid), state;

	if (to != fd) {
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
		other_end = -1;
		close(ends[0]);
		close(ends[1]);
		pthread_setcancelstate(state, NULL);
		if (r == 0) {
			undo_create(trid, before);
			starting = s;
			r = __real_posix_trace_create_withlog(pid, attr, fd, trid);
			starting = NULL;
		}
	}
	if (s)
		s->trid = r == 0 ? *trid : 0;
	if (s && r != 0)
		atomic_store(&s->pid, 0);
	return r;
}

static int flush(struct served *s, trace_id_t trid)
{
	int r;

	serve(s);
	r = __real_posix_trace_flush(trid);
	ask_status(s, trid, r);
	unserve(s);
	return r;
}

DECLARED(flush, (trace_id_t trid))
{
	TRY(EACH_CALL_flush, flush(served_find(trid), trid), r != 0, false, (void)0, false)
}

DECLARED(get_status, (trace_id_t trid, struct posix_trace_status_info *status))
{
	struct served *s = shared ? served_find(trid) : NULL;
	int r = __real_posix_trace_get_status(trid, status);

	if (r == 0 && s && s->overrun)
		status->posix_stream_overrun_status = POSIX_TRACE_OVERRUN;
	if (r == 0 && s && s->log_overrun)
		status->posix_log_overrun_status = POSIX_TRACE_OVERRUN;
	if (r == 0 && s && s->flush_error)
		status->posix_stream_flush_error = s->flush_error;
	if (r == 0 && s) {
		s->overrun = s->log_overrun = false;
		s->flush_error = 0;
	}
	return r;
}

static int clear(struct served *s, trace_id_t trid)
{
	int r;

	serve(s);
	r = __real_posix_trace_clear(trid);
	if (s) {
		s->overrun = s->log_overrun = false;
		s->flush_error = 0;
	}
	ask_status(s, trid, 0);
	unserve(s);
	return r;
}

DECLARED(clear, (trace_id_t trid))
{
	TRY(EACH_CALL_clear, clear(served_find(trid), trid), r != 0, false, (void)0, false)
}

/*
 * Handles a failed shutdown. The stream has ended nevertheless, and its log has what could be written: a test cannot
 * know how much. So this test process ends here; another pass tests the rest of it.
 */
static int shutdown_failed(trace_id_t trid, int error)
{
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	atomic_fetch_add(&shared->points, 1);
	atomic_fetch_add(&shared->refused, 1);
	atomic_fetch_add(&shared->ended, 1);
	tell("refused", error);
	come_by(false);
	check_left();
	if (__real_posix_trace_shutdown(trid) != EINVAL)
		say("the stream is still there");
	write_down();
	finish(true);
	if (getppid() == program && syscall(SYS_gettid) == getpid())
		exit(*each_call_failures ? 1 : 0);
	pthread_setcancelstate(state, NULL);
	return error;
}

static int end_stream(struct served *s, trace_id_t trid)
{
	int r;

	serve(s);
	r = __real_posix_trace_shutdown(trid);
	unserve(s);
	if (s) {
		s->trid = 0;
		s->overrun = s->log_overrun = false;
		s->flush_error = 0;
		atomic_store(&s->pid, 0);
	}
	return call.active && call.failed && r && allowed(r) ? shutdown_failed(trid, r) : r;
}

DECLARED(shutdown, (trace_id_t trid))
{
	TRY(EACH_CALL_shutdown, end_stream(shared ? served_find(trid) : NULL, trid), false, false, (void)0, false)
}

/* -- The file --------------------------------------------------------------------------------- */

static void end_program(void)
{
	if (getpid() == program)
		alone_end();
}

__attribute__((constructor)) static void begin_program(void)
{
	const char *path = getenv("EACH_CALL"), *first = getenv("EACH_CALL_PROGRAM");
	char number[16];
	void *p;
	int fd;

	if (!path)
		return;
	/* A new image of another user, or in another root, may not reach the file: nothing fails in it. */
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return;
	p = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		return;
	if (!first) {
		snprintf(number, sizeof number, "%d", (int)getpid());
		setenv("EACH_CALL_PROGRAM", number, 1);
		/* Whatever is left in the private /dev/shm was made by this program. */
		shm_private("");
		atexit(end_program);
	}
	program = first ? atoi(first) : getpid();
	shared = p;
}
