/*
 * self.c - src/record/self.c: this process and this thread, as they record
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/self.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "base/sys.h"
#include "base/wait.h"
#include "host/file.h"
#include "shm.h"
#include "unit.h"

static struct self *get(void)
{
	int error = 0;
	struct self *self = self_get(false, &error);

	if (!self)
		TEST_FAIL("-", "not attached: error %d", error);
	MUST(self);
	return self;
}

TEST(attached_once)
{
	struct self *self;
	int descriptors;

	shm_private("");
	descriptors = shm_descriptors();
	CHECK("-", self_peek() == NULL);
	CHECK_EQ("-", shm_count("/dev/shm", "posixtrace-"), 0); /* nothing is created before the first use (H10) */
	self = get();
	CHECK("-", self_peek() == self);
	CHECK("-", get() == self);
	CHECK_EQ("-", self_process(self)->ident.pid, getpid());
	CHECK_EQ("-", self->failed, 0);
	MUST(self_process(self) && self_process(self)->page);
	CHECK_EQ("-", self_process(self)->page->pid, getpid());
	CHECK_EQ("-", shm_count(shm_directory(), "page-"), 1);
	/* The word that a trace point reads to find out whether the process is traced. */
	CHECK("-", (const void *)__posix_trace_gate == self);
	CHECK("-", (uint32_t *)(void *)((char *)self + self->gate) == &self_process(self)->page_seen->sum.vacant);
	CHECK_EQ("-", shm_descriptors(), descriptors);
}

TEST(failure)
{
	struct self *self;
	int error = 0;

	shm_mounted("");
	shm_remount(MS_RDONLY, NULL);
	CHECK("-", self_get(false, &error) == NULL);
	CHECK_EQ("-", error, EROFS);
	CHECK("-", self_peek() == NULL);
	/* From now on trace points return at once. */
	CHECK("-", *(const uint32_t *)(const void *)((const char *)__posix_trace_gate +
	                                             *(const uint64_t *)(const void *)__posix_trace_gate) ==
	      UINT32_MAX);
	shm_remount(0, "size=1m");
	error = 0;
	CHECK("-", self_get(false, &error) == NULL); /* only a caller that creates a stream tries again */
	CHECK_EQ("-", error, EROFS);
	self = self_get(true, &error);
	MUST(self);
	CHECK("-", self_process(self) && self->failed == 0 && self_peek() == self);
	CHECK("-", (uint32_t *)(void *)((char *)self + self->gate) == &self_process(self)->page_seen->sum.vacant);
}

static void *get_too(void *arg)
{
	return get();
}

/* From now on the kernel accepts all advice and ignores it. */
static void ignore_advice(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof filter / sizeof filter[0], filter };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		SKIP("no seccomp filters here");
}

/* As in an emulator that ignores advice: a child would write as if it were its parent, so recording is disabled. */
TEST(not_wiped)
{
	int error = 0;

	shm_private("");
	ignore_advice();
	CHECK("-", self_get(false, &error) == NULL);
	CHECK_EQ("-", error, ENOSYS);
	CHECK("-", self_get(true, &error) == NULL);
	CHECK_EQ("-", error, ENOSYS);
	CHECK("-", self_peek() == NULL);
	CHECK_EQ("-", shm_count("/dev/shm", "posixtrace-"), 0);
}

TEST(threads_agree)
{
	pthread_t thread[8];
	void *self = NULL, *got;

	shm_private("");
	for (int i = 0; i < 8; i++)
		MUST(pthread_create(&thread[i], NULL, get_too, NULL) == 0);
	for (int i = 0; i < 8; i++) {
		pthread_join(thread[i], &got);
		CHECK("-", i == 0 || got == self);
		self = got;
	}
	CHECK_EQ("-", shm_count(shm_directory(), "page-"), 1);
}

/* H1, H2: the child does not know its parent's streams. */
TEST(child)
{
	struct self *self;
	struct thread *t;
	int status;

	shm_private("");
	self = get();
	t = self_thread(self);
	MUST(t);
	CHECK("-", thread_self == t && t->page_generation == &self_process(self)->page_seen->sum.generation &&
	      t->tid == unit_tid());
	if (fork() == 0) {
		CHECK("-", self_peek() == NULL);
		CHECK_EQ("-", self->gate, 0); /* points to itself, which means "look" */
		CHECK_EQ("-", t->tid, 0);
		CHECK("-", t->page_generation == NULL && t->ready == 0);
		self = get();
		CHECK_EQ("-", self_process(self)->ident.pid, getpid());
		CHECK_EQ("-", self_process(self)->page->pid, getpid());
		t = self_thread(self);
		CHECK("-", t && t->tid == unit_tid() && (pid_t)t->pid == getpid());
		_exit(test_failures ? 1 : 0);
	}
	wait(&status);
	CHECK_EQ("-", status, 0);
	CHECK("-", self_peek() == self && t->tid == unit_tid());
	CHECK_EQ("-", shm_count(shm_directory(), "page-"), 2); /* the child's page is left for the next recovery */
}

/* -- Thread blocks ---------------------------------------------------------------- */

static void *take_block(void *arg)
{
	struct thread *t = self_thread(get());

	CHECK("-", t && load_relaxed(&t->tid) == unit_tid() && t->pid == (uint32_t)getpid() && thread_self == t);
	CHECK("-", t && t->pthread == (uint64_t)(uintptr_t)pthread_self());
	for (int i = 0; t && i < SLOT_GROUP; i++)
		CHECK("-", t->writer[i].header == NULL && t->writer[i].chunk == NULL);
	if (t)
		/* Left for the next owner of the block to reset. */
		t->writer[3] = (struct writer){ .header = (void *)1, .attached = (void *)1 };
	return t;
}

TEST(blocks_of_the_dead)
{
	enum { COUNT = 300, KNOWN = 128 };
	void *known[KNOWN] = { NULL };
	unsigned blocks = 0;

	shm_private("");
	for (int i = 0; i < COUNT; i++) {
		pthread_t thread;
		unsigned k = 0;
		void *t;

		MUST(pthread_create(&thread, NULL, take_block, NULL) == 0);
		pthread_join(thread, &t);
		while (k < blocks && known[k] != t)
			k++;
		if (k == blocks && blocks < KNOWN)
			known[blocks++] = t;
	}
	CHECK_OP("-", blocks, <=, 17); /* one slab, and the block of a thread that had not quite ended */
}

static uint32_t arrived;

static void *take_block_and_stay(void *arg)
{
	void *t = take_block(arg);

	fetch_add(&arrived, 1);
	while (load_acquire(&arrived) < 100)
		unit_sleep_ms(1);
	return t;
}

TEST(blocks_of_the_living)
{
	pthread_t thread[100];
	void *t[100];

	shm_private("");
	for (int i = 0; i < 100; i++)
		MUST(pthread_create(&thread[i], NULL, take_block_and_stay, NULL) == 0);
	for (int i = 0; i < 100; i++) {
		pthread_join(thread[i], &t[i]);
		for (int j = 0; j < i; j++)
			CHECK("-", t[i] != t[j]);
	}
}

static pthread_barrier_t all_there;

static void *take_block_at_once(void *arg)
{
	void *t;

	pthread_barrier_wait(&all_there);
	t = take_block(arg);
	pthread_barrier_wait(&all_there);
	return t;
}

/*
 * About twice as many blocks as threads at the same time, and a few more if all start at once. Blocks of dead
 * threads are reused.
 */
TEST(blocks_of_many)
{
	enum { COUNT = 200, SETS = 6 };
	int count = test_slow() > 4 ? COUNT / 4 : COUNT;
	pthread_t thread[COUNT];

	shm_private("");
	MUST(pthread_barrier_init(&all_there, NULL, (unsigned)count) == 0);
	for (int set = 0; set < SETS; set++) {
		for (int i = 0; i < count; i++)
			MUST(pthread_create(&thread[i], NULL, take_block_at_once, NULL) == 0);
		for (int i = 0; i < count; i++)
			pthread_join(thread[i], NULL);
		CHECK_OP("-", get()->blocks, >=, (uint32_t)count);
		CHECK_OP("-", get()->blocks, <=, 3 * (uint32_t)count);
	}
}

/* -- Waiting for threads within a trace point ---------------------------------------- */

static struct thread *others;

static void *be_inside(void *arg)
{
	struct thread *t = self_thread(get());

	if (arg)
		store_relaxed(&t->depth, 1);
	else
		store_relaxed(&t->ready, (uintptr_t)__builtin_frame_address(0));
	store_release(&others, t);
	while (load_acquire(&others))
		unit_sleep_ms(1);
	store_relaxed(&t->depth, 0);
	store_release(&t->ready, (uintptr_t)THREAD_READY);
	return NULL;
}

static void check_inside(void *how)
{
	struct self *self = get();
	pthread_t thread;
	struct thread *t;

	MUST(pthread_create(&thread, NULL, be_inside, how) == 0);
	while (!(t = load_acquire(&others)))
		sched_yield();
	CHECK("-", !self_wait_quiescent(self, 3));
	store_release(&others, NULL);
	CHECK("-", self_wait_quiescent(self, 100000));
	pthread_join(thread, NULL);
	CHECK("-", self_wait_quiescent(self, 0));
	/* A thread that was killed inside a trace point is not waited for. */
	store_relaxed(&t->ready, (uintptr_t)&t);
	t->tid = unit_dead_thread();
	CHECK("-", self_wait_quiescent(self, 0));
}

TEST(wait_quiescent)
{
	shm_private("");
	if (!barrier_register())
		SKIP("no membarrier() here");
	self_thread(get());
	CHECK("-", self_wait_quiescent(get(), 0)); /* the caller itself does not count */
	check_inside(NULL);
	check_inside(&others);
}

/* -- Mappings, in a child ------------------------------------------------------------ */

TEST(mapped)
{
	char path[32], *at;
	int dir, fd, status;

	shm_private("");
	dir = unit_directory(path);
	fd = openat(dir, "file", O_RDWR | O_CREAT, 0600);
	MUST(fd >= 0 && ftruncate(fd, 4096) == 0);
	at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	unlinkat(dir, "file", 0);
	rmdir(path);
	MUST(self_registry()); /* from now on forks are prepared */
	self_mapped((uint32_t)getpid(), at, 4096);
	at[0] = 1;
	if (fork() == 0) {
		at[0] = 2; /* has no effect in the parent */
		_exit(0);
	}
	wait(&status);
	CHECK_EQ("-", at[0], 1);
	self_unmapped(at);
	if (fork() == 0) {
		at[0] = 3; /* shared memory that is no longer registered */
		_exit(0);
	}
	wait(&status);
	CHECK_EQ("-", at[0], 3);
}

/* -- Names ----------------------------------------------------------------------------- */

static void *open_name(void *arg)
{
	return (void *)(uintptr_t)self_event_id(arg);
}

TEST(names)
{
	char name[REGISTRY_NAME_BYTES];
	trace_event_id_t one, two;
	pthread_t thread;
	int status;
	void *id;

	shm_private("");
	one = self_event_id("one");
	CHECK_EQ("-", one, EVENT_ID_USER);
	CHECK_EQ("-", self_names, 1);
	two = self_event_id("two");
	CHECK_EQ("-", two, EVENT_ID_USER + 1);
	CHECK_EQ("-", self_names, 2);
	CHECK_EQ("-", self_event_id("one"), one);
	CHECK_EQ("-", self_names, 2);
	MUST(pthread_create(&thread, NULL, open_name, "three") == 0);
	pthread_join(thread, &id);
	CHECK_EQ("-", (uintptr_t)id, EVENT_ID_USER + 2);

	if (fork() == 0) {
		/* The child keeps the names that existed at the fork, and the names it adds are its own. */
		CHECK_EQ("-", self_event_id("two"), two);
		CHECK_EQ("-", self_event_id("child"), EVENT_ID_USER + 3);
		CHECK("-", registry_name(self_registry(), one, name));
		CHECK_STR("-", name, "one");
		_exit(test_failures ? 1 : 0);
	}
	wait(&status);
	CHECK_EQ("-", status, 0);
	CHECK_EQ("-", self_event_id("parent"), EVENT_ID_USER + 3);
	CHECK_EQ("-", registry_count(self_registry()), 4);
}

TEST_MAIN(TEST_ENTRY(attached_once), TEST_ENTRY(failure), TEST_ENTRY(not_wiped), TEST_ENTRY(threads_agree),
          TEST_ENTRY(child), TEST_ENTRY(blocks_of_the_dead), TEST_ENTRY(blocks_of_the_living),
          TEST_ENTRY(blocks_of_many), TEST_ENTRY(wait_quiescent), TEST_ENTRY(mapped), TEST_ENTRY(names))
