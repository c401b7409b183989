/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The flavour as a struct rcu_flavor_struct, and whom its forks are told (urcu/flavor.h).
 */
#ifndef LEEWARD_URCU_FLAVOUR_VALUE_H
#define LEEWARD_URCU_FLAVOUR_VALUE_H

#include "forks.h"

EXPORT void urcu_register_rculfhash_atfork(struct urcu_atfork *atfork)
{
    lock_workers();
    if (told.count == 0)
        told.what = atfork;
    /* Release: a child that finds it counted finds what it is. */
    __atomic_store_n(&told.count, told.count + 1, __ATOMIC_RELEASE);
    unlock_workers();
}

EXPORT void urcu_unregister_rculfhash_atfork(struct urcu_atfork *atfork)
{
    (void)atfork;
    lock_workers();
    if (told.count != 0 && --told.count == 0)
        told.what = NULL;
    unlock_workers();
}

/* For programs that were compiled with the header of ours, where rcu_flavor is this symbol. */
EXPORT DEFINE_RCU_FLAVOR(rcu_flavor);

/*
 * For those that were compiled with liburcu's. An executable has a copy, of the size that it was
 * linked with; the dynamic linker complains if the library's is greater, which 0.14's is for a
 * program of 0.13.
 */
struct lee_1_urcu_flavor_0_13 {
    void (*read_lock)(void);
    void (*read_unlock)(void);
    int (*read_ongoing)(void);
    void (*read_quiescent_state)(void);
    void (*update_call_rcu)(struct rcu_head *head, void (*func)(struct rcu_head *head));
    void (*update_synchronize_rcu)(void);
    void (*update_defer_rcu)(void (*fct)(void *p), void *p);
    void (*thread_offline)(void);
    void (*thread_online)(void);
    void (*register_thread)(void);
    void (*unregister_thread)(void);
    void (*barrier)(void);
    void (*register_rculfhash_atfork)(struct urcu_atfork *atfork);
    void (*unregister_rculfhash_atfork)(struct urcu_atfork *atfork);
};
urcu_static_assert(sizeof(struct lee_1_urcu_flavor_0_13) ==
                       offsetof(struct rcu_flavor_struct, update_start_poll_synchronize_rcu),
                   "0.13's members come first", flavor_0_13);

extern const struct lee_1_urcu_flavor_0_13 lee_1_urcu_flavor_0_13 __asm__(TEXT(LEE_1_URCU_NAME(flavor)));
#if defined(SERVES_INLINED) && defined(LEE_1_URCU_IS_QSBR)
#undef rcu_read_ongoing
#undef rcu_quiescent_state
#undef rcu_thread_offline
#undef rcu_thread_online
#undef rcu_register_thread
#undef rcu_unregister_thread
#define rcu_read_ongoing by_call_read_ongoing
#define rcu_quiescent_state by_call_quiescent_state
#define rcu_thread_offline by_call_thread_offline
#define rcu_thread_online by_call_thread_online
#define rcu_register_thread by_call_register_thread
#define rcu_unregister_thread by_call_unregister_thread
#endif
EXPORT const struct lee_1_urcu_flavor_0_13 lee_1_urcu_flavor_0_13 = {LEE_1_URCU_MEMBERS_0_13};

#endif
