/*
 * ftrace.c - the steps of the scheduler in a trace of Perfetto, which shows processors and states of threads
 *
 * A packet has a bundle of events of one processor (protos/perfetto/trace/ftrace of Perfetto).
 *
 * SPDX-License-Identifier: MIT
 */
#include "convert/perfetto/ftrace.h"

#include <stdio.h>
#include <string.h>

#include "convert/perfetto/packet.h"
#include "convert/sched.h"

enum { PACKET_FTRACE = 1 };
enum { BUNDLE_CPU = 1, BUNDLE_EVENT = 2 };
enum { FTRACE_TIME = 1, FTRACE_PID = 2, FTRACE_SWITCH = 4, FTRACE_WAKING = 20 };
enum { SWITCH_PREV_NAME = 1, SWITCH_PREV = 2, SWITCH_PREV_PRIORITY = 3, SWITCH_PREV_STATE = 4, SWITCH_NEXT_NAME = 5,
       SWITCH_NEXT = 6, SWITCH_NEXT_PRIORITY = 7 };
enum { WAKING_NAME = 1, WAKING_TID = 2, WAKING_PRIORITY = 3, WAKING_TARGET = 5 };

/* Events in a packet. */
#define BUNDLE 1000
/* The priority of an ordinary thread; real ones are not recorded. */
#define PRIORITY 120

static void put_thread(struct proto *p, const struct history_thread *t, uint32_t cpu, unsigned name, unsigned tid,
                       unsigned priority)
{
	char idle[24];

	snprintf(idle, sizeof idle, "swapper/%u", cpu);
	proto_text(p, name, t ? t->name : idle, strlen(t ? t->name : idle));
	proto_number(p, tid, t ? t->tid : 0);
	proto_number(p, priority, PRIORITY);
}

static void put_step(struct proto *p, const struct sched_step *step, uint64_t shift)
{
	size_t event = proto_begin(p, BUNDLE_EVENT), inner;

	proto_number(p, FTRACE_TIME, step->time - shift);
	if (step->kind == SCHED_SWITCH) {
		proto_number(p, FTRACE_PID, step->prev ? step->prev->tid : 0);
		inner = proto_begin(p, FTRACE_SWITCH);
		put_thread(p, step->prev, step->cpu, SWITCH_PREV_NAME, SWITCH_PREV, SWITCH_PREV_PRIORITY);
		proto_number(p, SWITCH_PREV_STATE, step->prev_state);
		put_thread(p, step->next, step->cpu, SWITCH_NEXT_NAME, SWITCH_NEXT, SWITCH_NEXT_PRIORITY);
	} else {
		proto_number(p, FTRACE_PID, step->waker);
		inner = proto_begin(p, FTRACE_WAKING);
		put_thread(p, step->woken, 0, WAKING_NAME, WAKING_TID, WAKING_PRIORITY);
		proto_number(p, WAKING_TARGET, step->target);
	}
	proto_end(p, inner);
	proto_end(p, event);
}

void ftrace_put(struct history *h, uint32_t machine, uint64_t shift)
{
	struct sched_steps steps;

	sched_collect(&steps, h, machine);
	for (size_t i = 0; i < steps.count;) {
		struct proto *p = &perfetto.packet;
		uint32_t cpu = steps.step[i].cpu;
		size_t bundle;

		proto_clear(p);
		proto_number(p, PACKET_SEQUENCE, 1);
		bundle = proto_begin(p, PACKET_FTRACE);
		proto_number(p, BUNDLE_CPU, cpu);
		for (unsigned n = 0; n < BUNDLE && i < steps.count && steps.step[i].cpu == cpu; n++)
			put_step(p, &steps.step[i++], shift);
		proto_end(p, bundle);
		perfetto_put_packet();
	}
	sched_free(&steps);
}
