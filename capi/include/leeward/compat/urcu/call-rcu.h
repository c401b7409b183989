/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu/call-rcu.h, leeward's: callbacks after a grace period. Each flavour's header declares the
 * functions below, by its own names (urcu_memb_call_rcu) and, where it is mapped, by the short
 * ones.
 *
 * call_rcu(head, func)              Calls func(head) once, after a grace period, on a worker thread
 *                                   that blocks the program's signals, is registered, is online,
 *                                   and is not in a section. Never fails, never waits; may be
 *                                   called in sections, in callbacks and under any lock. One worker
 *                                   calls in the order of the calls. Not async-signal-safe. The
 *                                   head needs no initialisation, and is free again when func
 *                                   begins.
 * rcu_barrier()                     Waits until every callback that was queued before the call, by
 *                                   any thread and for any worker, has returned. In a section or in
 *                                   a callback it reports that and returns at once.
 * create_call_rcu_data(flags, cpu)  Returns a new worker with a queue of its own, on that processor
 *                                   if it exists and cpu is not negative. URCU_CALL_RCU_RT:
 *                                   call_rcu never wakes it; it looks for callbacks every 1 to 10
 *                                   ms. Without memory it returns the default one; never NULL.
 * call_rcu_data_free(data)          Ends a worker that no thread and no processor uses. What it has
 *                                   queued goes to the default one. Waits for a callback that runs,
 *                                   except in a section or in a callback of such a worker. NULL and
 *                                   the default one: does nothing. One that was freed before:
 *                                   reports that.
 * set_thread_call_rcu_data(data)    The calling thread's call_rcu uses that worker; NULL: no
 *                                   longer.
 * get_thread_call_rcu_data()        Returns that worker, or NULL. On a worker of a program's own,
 *                                   it is that worker.
 * set_cpu_call_rcu_data(cpu, data)  Calls on that processor, of threads without a worker of their
 *                                   own, use that worker; NULL: no longer. Returns 0; or, with
 *                                   errno set alike, -EINVAL (no such processor), -EEXIST (it has
 *                                   another), -ENOMEM. A worker that is taken away is freed after a
 *                                   grace period.
 * get_cpu_call_rcu_data(cpu)        Returns that worker, or NULL. Call it, and use it, in a
 *                                   section.
 * get_default_call_rcu_data()       Returns the worker of all others: the domain's. Never freed.
 * get_call_rcu_data()               Returns the worker that call_rcu would use.
 * get_call_rcu_thread(data)         Returns the worker's thread, which the program may join after
 *                                   call_rcu_data_free. (Where this was not called, that joins it.)
 *                                   The default worker's cannot be joined; it is not to be asked
 *                                   for in a section or callback.
 * create_all_cpu_call_rcu_data(flags)  Gives each possible processor a worker that has none.
 *                                      Returns 0, -EINVAL or -ENOMEM.
 * free_all_cpu_call_rcu_data()      Ends them, after a grace period.
 *
 * Around a fork whose child goes on without exec, nothing is needed: callbacks that wait at the
 * fork run in both processes, and the child's workers are started when they are needed. The fork
 * waits for a callback that runs, 100 ms at most; one that takes longer is lost to the child. After
 * call_rcu_before_fork() it waits for callbacks of the program's own workers as long as they take.
 * A program's own handlers of pthread_atfork() may make workers, end them and wait for them; those
 * that were installed before the library was loaded, not in the child. After _Fork() and clone(),
 * which run no handler, nothing but sections may be used in the child.
 *
 * These three functions, which the forking thread calls outside sections, also tell a hash table's
 * worker of the fork (urcu/flavor.h).
 *
 * call_rcu_before_fork()            Before the fork: no callback begins until the parent's
 *                                   function.
 * call_rcu_after_fork_parent()      Callbacks go on.
 * call_rcu_after_fork_child()       In the child: besides, the thread and the processors have no
 *                                   worker of their own any more.
 */
#ifndef LEEWARD_COMPAT_URCU_CALL_RCU_H
#define LEEWARD_COMPAT_URCU_CALL_RCU_H

#include <pthread.h>
#include <stdlib.h>

#include "leeward/head.h"
#include "wfcqueue.h"

/* Flags of create_call_rcu_data(); only the first is for programs. */
#define URCU_CALL_RCU_RT (1U << 0)
#define URCU_CALL_RCU_RUNNING (1U << 1)
#define URCU_CALL_RCU_STOP (1U << 2)
#define URCU_CALL_RCU_STOPPED (1U << 3)
#define URCU_CALL_RCU_PAUSE (1U << 4)
#define URCU_CALL_RCU_PAUSED (1U << 5)

/* A worker and its queue. */
struct call_rcu_data;

/* The functions above, with names that begin with `urcu`. */
#define LEE_1_URCU_CALL_RCU(urcu)                                                                    \
    void urcu##_call_rcu(struct rcu_head *head, void (*func)(struct rcu_head *head));                \
    void urcu##_barrier(void);                                                                       \
    struct call_rcu_data *urcu##_create_call_rcu_data(unsigned long flags, int cpu_affinity);        \
    void urcu##_call_rcu_data_free(struct call_rcu_data *crdp);                                      \
    struct call_rcu_data *urcu##_get_thread_call_rcu_data(void);                                     \
    void urcu##_set_thread_call_rcu_data(struct call_rcu_data *crdp);                                \
    struct call_rcu_data *urcu##_get_cpu_call_rcu_data(int cpu);                                     \
    int urcu##_set_cpu_call_rcu_data(int cpu, struct call_rcu_data *crdp);                           \
    struct call_rcu_data *urcu##_get_call_rcu_data(void);                                            \
    struct call_rcu_data *urcu##_get_default_call_rcu_data(void);                                    \
    pthread_t urcu##_get_call_rcu_thread(struct call_rcu_data *crdp);                                \
    int urcu##_create_all_cpu_call_rcu_data(unsigned long flags);                                    \
    void urcu##_free_all_cpu_call_rcu_data(void);                                                    \
    void urcu##_call_rcu_before_fork(void);                                                          \
    void urcu##_call_rcu_after_fork_parent(void);                                                    \
    void urcu##_call_rcu_after_fork_child(void);

#endif
