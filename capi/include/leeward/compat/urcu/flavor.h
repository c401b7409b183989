/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu/flavor.h, leeward's: a flavour as a value, for code that serves several, such as a hash
 * table.
 *
 * Each flavour's header declares its own, urcu_memb_flavor (rcu_flavor, where it is mapped), and
 *
 * urcu_register_rculfhash_atfork(atfork)    Has call_rcu's three functions for forks call those of
 *                                           `atfork`. The flavour keeps one, and counts how often
 *                                           it was registered.
 * urcu_unregister_rculfhash_atfork(atfork)  Takes one registration back.
 */
#ifndef LEEWARD_COMPAT_URCU_FLAVOR_H
#define LEEWARD_COMPAT_URCU_FLAVOR_H

#include <stdbool.h>

#include "leeward/head.h"
#include "urcu-poll.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What runs around a fork, with `priv`. */
struct urcu_atfork {
    void (*before_fork)(void *priv);
    void (*after_fork_parent)(void *priv);
    void (*after_fork_child)(void *priv);
    void *priv;
};

/*
 * A flavour's functions. The order is liburcu's: its hash table, which is compiled, uses it. The
 * last two came with 0.14.
 */
struct rcu_flavor_struct {
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
    struct urcu_gp_poll_state (*update_start_poll_synchronize_rcu)(void);
    bool (*update_poll_state_synchronize_rcu)(struct urcu_gp_poll_state state);
};

#ifdef __cplusplus
}
#endif

/* The values of a flavour's members up to 0.13's, and after them, by the short names. */
#define LEE_1_URCU_MEMBERS_0_13                                                                              \
    rcu_read_lock, rcu_read_unlock, rcu_read_ongoing, rcu_quiescent_state, call_rcu, synchronize_rcu,        \
        defer_rcu, rcu_thread_offline, rcu_thread_online, rcu_register_thread, rcu_unregister_thread,        \
        rcu_barrier, urcu_register_rculfhash_atfork, urcu_unregister_rculfhash_atfork
#define LEE_1_URCU_MEMBERS_0_14 start_poll_synchronize_rcu, poll_state_synchronize_rcu

/* Defines the flavour that the short names stand for, as a value of that name. */
#define DEFINE_RCU_FLAVOR(name) const struct rcu_flavor_struct name = {LEE_1_URCU_MEMBERS_0_13, LEE_1_URCU_MEMBERS_0_14}

/*
 * The functions above, and the flavour as a value, with names that begin with `urcu`. The value's
 * symbol is another than in liburcu: programs copy it with the size it had when they were compiled,
 * and under that name they find what 0.13 had.
 */
#define LEE_1_URCU_FLAVOR(urcu)                                                           \
    extern const struct rcu_flavor_struct urcu##_flavor __asm__("lee_1_" #urcu "_flavor"); \
    void urcu##_register_rculfhash_atfork(struct urcu_atfork *atfork);                    \
    void urcu##_unregister_rculfhash_atfork(struct urcu_atfork *atfork);

#endif
