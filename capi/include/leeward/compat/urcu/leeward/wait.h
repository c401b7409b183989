/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu/leeward/wait.h: how the queues and stacks wait for an enqueuer that has announced its node
 * and not yet linked it: two instructions, unless it was preempted between them. Programs do not
 * include this.
 *
 * The wait is a short spin, then some yields, then naps from 50 microseconds up to a millisecond:
 * the naps are what lets an enqueuer of lower priority run. A wait is no cancellation point,
 * because it may hold the queue's mutex, and leaves errno alone.
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

/* The rounds that yield, and then nap. */
#define LEE_1_URCU_YIELD_FROM 100u
#define LEE_1_URCU_NAP_FROM 110u

/* Yields or naps, as befits the round, without being a cancellation point or changing errno. */
__attribute__((__noinline__, __cold__, __unused__)) static void lee_1_urcu_wait_long(unsigned int round)
{
    int error = errno, cancel;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    if (round < LEE_1_URCU_NAP_FROM)
        sched_yield();
    else if (round < LEE_1_URCU_NAP_FROM + 4)
        lee_1_urcu_usleep(50u << (round - LEE_1_URCU_NAP_FROM));
    else
        lee_1_urcu_usleep(1000);
    pthread_setcancelstate(cancel, NULL);
    errno = error;
}

/* Waits as long as befits the round, which counts from 0. */
static inline void lee_1_urcu_wait(unsigned int round)
{
    if (caa_likely(round < LEE_1_URCU_YIELD_FROM))
        caa_cpu_relax();
    else
        lee_1_urcu_wait_long(round);
}

#ifdef __cplusplus
}
#endif

#endif
