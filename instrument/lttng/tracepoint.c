/*
 * tracepoint.c - liblttng-ust-tracepoint.so.1: connects the tracepoints of programs with the events of providers
 *
 * A tracepoint is switched on while an event or a function of the program is connected with it. Events are connected only
 * in a process that is recorded, so a tracepoint elsewhere costs what a switched-off one of LTTng's costs: a load and a
 * branch. There is no sign when a recording begins, so that is looked for when the program begins, and whenever a
 * provider or a module is loaded. With POSIXTRACE_LTTNG=attach in the environment events are connected in any case.
 *
 * SPDX-License-Identifier: MIT
 */
#include "tracepoint.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "event.h"
#include "lock.h"
#include "thread.h"

struct provider {
	struct provider *next;
	struct event *events;
};

/* The tracepoints of a program or shared object. */
struct module {
	struct module *next;
	struct ust_tracepoint *const *start;
	int count;
};

/* A function that the program itself has connected with a tracepoint. */
struct function {
	struct function *next;
	char *provider, *event;
	void (*func)(void);
	void *data;
};

/* An array of probes for a tracepoint that has such functions. */
struct joined {
	struct joined *next;
	struct ust_tracepoint *tracepoint; /* null: replaced, and to be freed */
	struct ust_tracepoint_probe probes[];
};

static struct lock registry_lock;
static pid_t registry_holder; /* the thread that has the lock */
static struct provider *providers;
static struct module *modules;
static struct function *functions;
static struct joined *all_joined;
static bool on; /* events are connected */
static bool begun;
static int forked; /* in a child: whether it is recorded is not known yet */

static void registry_take(void)
{
	lock_take(&registry_lock);
	registry_holder = (pid_t)syscall(SYS_gettid);
}

static void registry_release(void)
{
	registry_holder = 0;
	lock_release(&registry_lock);
}

/* -- Is this process recorded? --------------------------------------------------------------------------- */

/* Returns whether events are connected in any case. */
static bool always(void)
{
	const char *setting = getenv("POSIXTRACE_LTTNG");

	return setting && strcmp(setting, "attach") == 0;
}

/* Returns whether a stream traces this process. Not in handlers. */
static bool recorded(void)
{
	const struct __posix_trace_gate *gate;

	posixtrace_attach();
	gate = __atomic_load_n(&__posix_trace_gate, __ATOMIC_ACQUIRE);
	/* 0: this user has no streams at all, so that posixtrace_attach() has not even looked. */
	return __atomic_load_n(&gate->__vacant, __ATOMIC_RELAXED) != 0 && posixtrace_enabled();
}

/* -- Connecting ---------------------------------------------------------------------------------------------- */

/* Returns whether the name is "provider:event". */
static bool is_name(const char *name, const char *provider, const char *event)
{
	size_t n = strlen(provider);

	return strncmp(name, provider, n) == 0 && name[n] == ':' && strcmp(name + n + 1, event) == 0;
}

static struct event *event_for(const struct ust_tracepoint *t)
{
	for (const struct provider *p = on ? providers : NULL; p; p = p->next)
		for (struct event *e = p->events; e; e = e->next)
			/* With other arguments the provider's function must not be called. */
			if (is_name(e->name, t->provider_name, t->event_name) &&
			    (!t->signature || strcmp(t->signature, e->signature) == 0))
				return e;
	return NULL;
}

static bool is_function_for(const struct function *f, const struct ust_tracepoint *t)
{
	return strcmp(f->provider, t->provider_name) == 0 && strcmp(f->event, t->event_name) == 0;
}

/* Returns an array of the event's function and those of the program; the event's own if there are no others. */
static struct ust_tracepoint_probe *join(struct ust_tracepoint *t, struct event *e)
{
	struct joined *j;
	size_t count = 0;

	for (const struct function *f = functions; f; f = f->next)
		count += is_function_for(f, t);
	if (count == 0)
		return e ? e->probes : NULL;
	j = calloc(1, sizeof *j + (count + 2) * sizeof *j->probes);
	if (!j)
		return e ? e->probes : NULL;
	count = 0;
	if (e)
		j->probes[count++] = e->probes[0];
	for (const struct function *f = functions; f; f = f->next)
		if (is_function_for(f, t))
			j->probes[count++] = (struct ust_tracepoint_probe){ f->func, f->data };
	j->tracepoint = t;
	j->next = all_joined;
	all_joined = j;
	return j->probes;
}

/* Marks the array that a tracepoint has, if it is a joined one, as one to be freed. */
static void retire(const struct ust_tracepoint *t)
{
	for (struct joined *j = all_joined; j; j = j->next)
		if (j->tracepoint == t)
			j->tracepoint = NULL;
}

static void connect_tracepoint(struct ust_tracepoint *t)
{
	struct ust_tracepoint_probe *probes;

	retire(t);
	probes = join(t, event_for(t));
	/* A tracepoint that is reached in between has no probes, or is off. PAIR(lttng-probes) */
	if (!probes)
		__atomic_store_n(&t->state, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&t->probes, probes, __ATOMIC_RELEASE);
	if (probes)
		__atomic_store_n(&t->state, 1, __ATOMIC_RELEASE);
}

static void connect_module(const struct module *m)
{
	for (int i = 0; i < m->count; i++)
		if (m->start[i])
			connect_tracepoint(m->start[i]);
}

static void connect_all(void)
{
	for (const struct module *m = modules; m; m = m->next)
		connect_module(m);
}

/* Connects events, or no longer. Returns true if that has changed, and all tracepoints are as they have to be. */
static bool switch_to(bool now)
{
	__atomic_store_n(&forked, 0, __ATOMIC_RELAXED);
	if (now == on)
		return false;
	on = now;
	connect_all();
	return true;
}

/* Looks again whether this process is recorded. The result is that of switch_to(). */
static bool look(void)
{
	return switch_to(always() || recorded());
}

/* Waits until no thread is in a function that was connected, and frees arrays that were replaced. */
static bool settle(void)
{
	struct joined **link = &all_joined, *old = NULL, *j;
	bool ended;

	registry_take();
	while ((j = *link)) {
		if (j->tracepoint) {
			link = &j->next;
			continue;
		}
		*link = j->next;
		j->next = old;
		old = j;
	}
	registry_release();
	ended = posixtrace_lttng_sections_end();
	for (; (j = old); ended ? free(j) : (void)0)
		old = j->next;
	return ended;
}

/*
 * A child that is not recorded switches its tracepoints off, at the first of them: before, it may be about to execute
 * another program. Called in signal handlers, too.
 */
void tracepoint_not_recorded(void)
{
	if (__builtin_expect(!__atomic_load_n(&forked, __ATOMIC_RELAXED), 1) || !lock_try(&registry_lock))
		return;
	registry_holder = (pid_t)syscall(SYS_gettid);
	/* To connect functions of the program takes memory, which a handler must not allocate. */
	if (!functions && !always())
		switch_to(false);
	else
		__atomic_store_n(&forked, 0, __ATOMIC_RELAXED);
	registry_release();
}

/* -- Begin, fork() -------------------------------------------------------------------------------------------- */

static bool fork_locked;

/* Another thread must not be changing the lists. This one may be: a handler has interrupted it, and forks. */
static void before_fork(void)
{
	fork_locked = registry_holder != (pid_t)syscall(SYS_gettid);
	if (fork_locked)
		lock_take(&registry_lock);
}

static void after_fork(void)
{
	if (fork_locked)
		lock_release(&registry_lock);
}

static void after_fork_in_child(void)
{
	after_fork();
	__atomic_store_n(&forked, 1, __ATOMIC_RELAXED);
}

/* Other shared objects may register before our constructor has run. */
static __attribute__((constructor)) void begin(void)
{
	int kept = errno;

	registry_take();
	if (!begun) {
		begun = true;
		pthread_atfork(before_fork, after_fork, after_fork_in_child);
		look();
	}
	registry_release();
	errno = kept;
}

/* -- Providers ------------------------------------------------------------------------------------------------ */

EXPORT struct provider *posixtrace_lttng_provider_add(const struct ust_probe_desc *desc)
{
	struct provider *p = calloc(1, sizeof *p), **end;

	if (!p)
		return NULL;
	begin();
	/* LTTng refuses others as well, and then the program aborts. Here it has no events. */
	for (unsigned i = desc->major == UST_PROVIDER_MAJOR ? desc->nr_events : 0; i-- > 0;) {
		struct event *e = event_new(desc->provider_name, desc->event_desc[i]);

		if (!e)
			continue;
		e->next = p->events;
		p->events = e;
	}
	registry_take();
	/* The first one that provides an event is connected. */
	for (end = &providers; *end; end = &(*end)->next)
		;
	*end = p;
	if (!look())
		connect_all();
	registry_release();
	return p;
}

EXPORT void posixtrace_lttng_provider_remove(struct provider *p)
{
	struct event *e;

	if (!p)
		return;
	registry_take();
	for (struct provider **link = &providers; *link; link = &(*link)->next)
		if (*link == p) {
			*link = p->next;
			break;
		}
	connect_all();
	registry_release();
	if (!settle())
		return;
	while ((e = p->events)) {
		p->events = e->next;
		event_free(e);
	}
	free(p);
}

/* -- Modules --------------------------------------------------------------------------------------------------- */

EXPORT int lttng_ust_tracepoint_module_register(struct ust_tracepoint *const *start, int count)
{
	struct module *m = calloc(1, sizeof *m);

	if (!m)
		return -ENOMEM;
	begin();
	*m = (struct module){ NULL, start, count };
	registry_take();
	m->next = modules;
	modules = m;
	if (!look())
		connect_module(m);
	registry_release();
	return 0;
}

/* The tracepoints stay as they are: destructors of the program may still record. */
EXPORT int lttng_ust_tracepoint_module_unregister(struct ust_tracepoint *const *start)
{
	struct module *m = NULL;

	registry_take();
	for (struct module **link = &modules; *link && !m; link = m ? link : &(*link)->next)
		if ((*link)->start == start) {
			m = *link;
			*link = m->next;
		}
	registry_release();
	free(m);
	return 0;
}

/* -- Functions of the program ------------------------------------------------------------------------------------ */

static void connect_named(const char *provider, const char *event)
{
	for (const struct module *m = modules; m; m = m->next)
		for (int i = 0; i < m->count; i++)
			if (m->start[i] && strcmp(m->start[i]->provider_name, provider) == 0 &&
			    strcmp(m->start[i]->event_name, event) == 0)
				connect_tracepoint(m->start[i]);
}

static void function_free(struct function *f)
{
	if (!f)
		return;
	free(f->provider);
	free(f->event);
	free(f);
}

EXPORT int lttng_ust_tracepoint_provider_register(const char *provider, const char *event, void (*func)(void),
                                                  void *data, const char *signature)
{
	struct function *f = calloc(1, sizeof *f), **end;
	int error = 0;

	if (!f)
		return -ENOMEM;
	*f = (struct function){ NULL, strdup(provider), strdup(event), func, data };
	if (!f->provider || !f->event) {
		function_free(f);
		return -ENOMEM;
	}
	begin();
	registry_take();
	for (end = &functions; *end && !error; end = &(*end)->next)
		if (strcmp((*end)->provider, provider) == 0 && strcmp((*end)->event, event) == 0 &&
		    (*end)->func == func && (*end)->data == data)
			error = -EEXIST;
	if (!error) {
		*end = f;
		f = NULL;
		connect_named(provider, event);
	}
	registry_release();
	function_free(f);
	settle();
	return error;
}

EXPORT int lttng_ust_tracepoint_provider_unregister(const char *provider, const char *event, void (*func)(void),
                                                    void *data)
{
	struct function *found = NULL;

	registry_take();
	for (struct function **link = &functions; *link; link = &(*link)->next)
		if (strcmp((*link)->provider, provider) == 0 && strcmp((*link)->event, event) == 0 &&
		    (*link)->func == func && (*link)->data == data) {
			found = *link;
			*link = found->next;
			break;
		}
	if (found)
		connect_named(provider, event);
	registry_release();
	function_free(found);
	settle();
	return found ? 0 : -ENOENT;
}

/* -- What a tracepoint calls ---------------------------------------------------------------------------------------- */

EXPORT void lttng_ust_tp_rcu_read_lock(void)
{
	section_begin();
}

EXPORT void lttng_ust_tp_rcu_read_unlock(void)
{
	section_end();
}

/* Reads nothing: the caller has loaded the pointer, and passes it on for the order of what is loaded through it. */
EXPORT void *lttng_ust_tp_rcu_dereference_sym(void *p)
{
	return p;
}

EXPORT void lttng_ust_tp_disable_destructors(void)
{
}

/*
 * Tells a program not to close this library when it ends: then LTTng's code in it would clear pointers to functions
 * that other threads are about to call, and these would be killed.
 */
EXPORT int lttng_ust_tp_get_destructors_state(void)
{
	return 0;
}
