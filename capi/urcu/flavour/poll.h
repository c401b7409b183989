/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * start_poll_synchronize_rcu() and its other half: the domain's tickets, whose first is 1 where
 * liburcu's is 0.
 */
#ifndef LEEWARD_URCU_FLAVOUR_POLL_H
#define LEEWARD_URCU_FLAVOUR_POLL_H

#include "base.h"

/* The greatest number that was given out, plus 1. */
static unsigned long given_out;

EXPORT struct urcu_gp_poll_state start_poll_synchronize_rcu(void)
{
    struct lee_cookie cookie = LEE_1_URCU_DOMAIN(start_poll)();
    struct urcu_gp_poll_state state = {(unsigned long)cookie.ticket - 1};
    /* Relaxed, all: a thread that polls a state has got it from one that was here. */
    unsigned long before = __atomic_load_n(&given_out, __ATOMIC_RELAXED);

    while (before < cookie.ticket && !__atomic_compare_exchange_n(&given_out, &before, (unsigned long)cookie.ticket,
                                                                  true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
    return state;
}

EXPORT bool poll_state_synchronize_rcu(struct urcu_gp_poll_state state)
{
    struct lee_cookie cookie = {(uint64_t)state.grace_period_id + 1};

    /* A number that no call returned: its grace period has not passed. */
    return cookie.ticket <= __atomic_load_n(&given_out, __ATOMIC_RELAXED) && LEE_1_URCU_DOMAIN(poll)(cookie);
}

#endif
