/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu/leeward/wait.h: how the queues and stacks wait for an enqueuer that has announced its node
 * and not yet linked it: two instructions, unless it was preempted between them. Programs do not
 * include this.
 *
 * The wait is a short spin, then some yields, then naps from 50 microseconds up to a millisecond:
 * the naps are what lets an enqueuer of lower priority run. A wait is no cancellation point, because
 * it may hold the queue's mutex, and leaves errno alone.
 */
#ifndef LEEWARD_COMPAT_URCU_LEEWARD_WAIT_H
#define LEEWARD_COMPAT_URCU_LEEWARD_WAIT_H

#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include "../arch.h"
#include "libc.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Sleeps without being a cancellation point and without changing errno. */
static inline void lee_1_urcu_nap(unsigned int microseconds)
{
    int error = errno, cancel;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    lee_1_urcu_usleep(microseconds);
    pthread_setcancelstate(cancel, &cancel);
    errno = error;
}

/* The rounds that yield, and then nap. */
#define LEE_1_URCU_YIELD_FROM 100u
#define LEE_1_URCU_NAP_FROM 110u

/* Waits as long as befits the round, which counts from 0. */
static inline void lee_1_urcu_wait(unsigned int round)
{
    if (caa_likely(round < LEE_1_URCU_YIELD_FROM)) {
        caa_cpu_relax();
    } else if (round < LEE_1_URCU_NAP_FROM) {
        sched_yield();
    } else {
        unsigned int doublings = round - LEE_1_URCU_NAP_FROM;

        lee_1_urcu_nap(doublings < 4 ? 50u << doublings : 1000u);
    }
}

#ifdef __cplusplus
}
#endif

#endif
