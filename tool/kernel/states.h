/*
 * states.h - when threads run, and when and why they do not: from switches, wakings, births and ends
 *
 * A state is reported at its end, with the time when it began. After a loss nothing is known of any thread until its
 * next switch: no state is made up.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef KERNEL_STATES_H
#define KERNEL_STATES_H

#include <stdbool.h>
#include <stdint.h>

#define STATES_NAME 16

/* Why a thread does not run. The numbers are in logs. */
enum off_state {
	OFF_PREEMPTED, /* it could run, but another thread does */
	OFF_BLOCKED,   /* it waits; the kind is not known */
	OFF_SLEEPING,  /* it waits for an event, and a signal wakes it, too */
	OFF_DISK,      /* it waits, and no signal wakes it: for a disk, for example */
	OFF_STOPPED,   /* by a signal */
	OFF_TRACED,    /* by a debugger */
	OFF_NEW,       /* it has not run yet */
	OFF_OTHER,
};
#define OFF_LABELS "preempted,blocked,sleeping,disk,stopped,traced,new,other"

/* Why a thread has ended to run. The first ones are those of enum off_state. */
enum { RUN_EXITED = OFF_OTHER + 1, RUN_RECORDED };
#define RUN_LABELS "preempted,blocked,sleeping,disk,stopped,traced,new,other,exited,recording_ended"

/* The thread that has woken another one. tid 0 and a name: an interrupt. */
struct waker {
	uint32_t tid;
	char name[STATES_NAME];
};

struct state_thread {
	uint32_t pid, tid;
	char name[STATES_NAME];
	/* The system call that it is in, for the caller; forgotten after a gap. */
	struct state_call {
		bool open, is_compat;
		uint64_t number, since, argument[6];
	} call;
};

/* A thread has run from `since` to `until`. */
struct state_run {
	uint64_t since, until;
	uint32_t cpu;
	unsigned why; /* enum off_state, or RUN_... */
};

/* A thread has not run. */
struct state_off {
	uint64_t since, until;
	enum off_state state;
	bool ready_known;
	uint64_t ready; /* for how long it could have run, at the end */
	const struct waker *waker; /* null: not known, or none */
};

struct state_calls {
	void (*run)(void *arg, const struct state_thread *t, const struct state_run *run);
	void (*off)(void *arg, const struct state_thread *t, const struct state_off *off);
};

struct states;

/* Returns null if there is no memory. */
struct states *states_new(const struct state_calls *calls, void *arg);
void states_free(struct states *s);
/* Returns a thread, which is added if it is new; null if there is no memory. */
struct state_thread *states_thread(struct states *s, uint32_t pid, uint32_t tid);
/* Returns a thread if it is known, or null. */
struct state_thread *states_known(const struct states *s, uint32_t tid);
/* Calls a function for each thread. */
void states_each(const struct states *s, void (*each)(void *arg, struct state_thread *t), void *arg);
/* Returns whether no record is missing at present. */
bool states_sure(const struct states *s);

/* What the records say: */

/* The thread has been made, and may run. */
void states_birth(struct states *s, struct state_thread *t, uint64_t time);
/* The kernel is about to take the processor from the thread, which waits in this way. */
void states_waits(struct states *s, struct state_thread *t, enum off_state state);
/* The thread does not run any more. */
void states_out(struct states *s, struct state_thread *t, uint64_t time, uint32_t cpu, bool preempted);
/* The thread runs from now on. */
void states_in(struct states *s, struct state_thread *t, uint64_t time, uint32_t cpu);
/* The thread is known to run now, perhaps for long. */
void states_runs(struct states *s, struct state_thread *t, uint64_t time, uint32_t cpu);
/* The thread is woken; cpu: where the waker ran. */
void states_woken(struct states *s, struct state_thread *t, uint64_t time, uint32_t cpu, const struct waker *waker);
/* The thread has ended; t is not valid any more. */
void states_exit(struct states *s, struct state_thread *t, uint64_t time);
/* From now on, records may be missing. Gaps may overlap. */
void states_gap_begins(struct states *s);
void states_gap_ends(struct states *s);
/* The recording ends: reports the states that last. */
void states_end(struct states *s, uint64_t time);

#endif
