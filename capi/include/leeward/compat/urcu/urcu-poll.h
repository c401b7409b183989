/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu/urcu-poll.h, leeward's: grace periods without waiting for them. Each flavour's header
 * declares the functions below.
 *
 * start_poll_synchronize_rcu()       Asks for a grace period and returns its state. Any thread may.
 * poll_state_synchronize_rcu(state)  Returns true if that grace period has passed, from then on
 *                                    always. Never waits for a reader. In qsbr the calling thread
 *                                    is one.
 */
#ifndef LEEWARD_COMPAT_URCU_URCU_POLL_H
#define LEEWARD_COMPAT_URCU_URCU_POLL_H

#include <stdbool.h>

/* A grace period that was asked for. The first of a process has the number 0. */
struct urcu_gp_poll_state {
    unsigned long grace_period_id;
};

/* The functions above, with names that begin with `urcu`. */
#define LEE_1_URCU_POLL(urcu)                                              \
    struct urcu_gp_poll_state urcu##_start_poll_synchronize_rcu(void);     \
    bool urcu##_poll_state_synchronize_rcu(struct urcu_gp_poll_state state);

#endif
