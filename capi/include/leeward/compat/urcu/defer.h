/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu/defer.h, leeward's: functions that are called after a grace period, without a head in the
 * object. Each flavour's header declares the functions below.
 *
 * defer_rcu(fct, p)              Calls fct(p) after a grace period, on the worker of call_rcu, in
 *                                the order of the calls. Allocates; without memory it waits for the
 *                                grace period itself, and calls. May be called by any thread, also
 *                                in sections and callbacks (and waits there only without memory).
 * rcu_defer_register_thread()    Returns 0: nothing is needed.
 * rcu_defer_barrier()            Waits until everything that any thread has deferred was called. In
 *                                a section or in a deferred function it reports that and returns at
 *                                once.
 * rcu_defer_barrier_thread()     Calls rcu_defer_barrier().
 * rcu_defer_unregister_thread()  Calls rcu_defer_barrier().
 * rcu_defer_exit()               Does nothing.
 */
#ifndef LEEWARD_COMPAT_URCU_DEFER_H
#define LEEWARD_COMPAT_URCU_DEFER_H

#include <pthread.h>
#include <stdlib.h>

/* The functions above, with names that begin with `urcu`. */
#define LEE_1_URCU_DEFER(urcu)                               \
    void urcu##_defer_rcu(void (*fct)(void *p), void *p);    \
    int urcu##_defer_register_thread(void);                  \
    void urcu##_defer_unregister_thread(void);               \
    void urcu##_defer_barrier(void);                         \
    void urcu##_defer_barrier_thread(void);                  \
    void urcu##_defer_exit(void);

#endif
