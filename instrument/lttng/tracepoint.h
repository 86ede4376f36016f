/*
 * tracepoint.h - liblttng-ust-tracepoint.so.1: connects the tracepoints of programs with the events of providers
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LTTNG_TRACEPOINT_H
#define LTTNG_TRACEPOINT_H

#include "abi.h"

/* For a tracepoint that was reached while nobody records: the process may be a child that is not recorded. */
void tracepoint_not_recorded(void);

/* What liblttng-ust.so.1 calls. Exported, but for no other library. */
struct provider;
/* Adds the events of a provider. Returns null if there is no memory. */
struct provider *posixtrace_lttng_provider_add(const struct ust_probe_desc *desc);
/* Removes them. Afterwards no thread is in the provider's functions. Null: nothing. */
void posixtrace_lttng_provider_remove(struct provider *p);

/* What programs call, and liblttng-ust.so.1 for its own tracepoints. */
int lttng_ust_tracepoint_module_register(struct ust_tracepoint *const *start, int count);
int lttng_ust_tracepoint_module_unregister(struct ust_tracepoint *const *start);
void lttng_ust_tp_rcu_read_lock(void);
void lttng_ust_tp_rcu_read_unlock(void);
void *lttng_ust_tp_rcu_dereference_sym(void *p);
int lttng_ust_tracepoint_provider_register(const char *provider, const char *event, void (*func)(void), void *data,
                                           const char *signature);
int lttng_ust_tracepoint_provider_unregister(const char *provider, const char *event, void (*func)(void), void *data);
void lttng_ust_tp_disable_destructors(void);
int lttng_ust_tp_get_destructors_state(void);

#endif
