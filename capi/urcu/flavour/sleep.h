/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Sleeping on a word until another thread of the process changes it. No function here is a
 * cancellation point or changes errno.
 */
#ifndef LEEWARD_URCU_FLAVOUR_SLEEP_H
#define LEEWARD_URCU_FLAVOUR_SLEEP_H

#include <limits.h>

#include "base.h"

/* The kernel's operations, on words that no other process shares. */
#define FUTEX_SLEEP (FUTEX_WAIT | 128)
#define FUTEX_ROUSE (FUTEX_WAKE | 128)

#define MILLISECOND 1000000L

/*
 * Sleeps while the word is `value`, for `nanoseconds` at most; 0: without bound. May return early.
 */
static void sleep_on(uint32_t *word, uint32_t value, long nanoseconds)
{
    struct timespec time = {nanoseconds / 1000000000, nanoseconds % 1000000000};
    int error = errno;

    syscall(LEE_1_URCU_NR_FUTEX, word, FUTEX_SLEEP, value, nanoseconds ? &time : NULL, NULL, 0);
    errno = error;
}

/* Wakes up to `count` threads that sleep on the word. */
static void wake(uint32_t *word, int count)
{
    int error = errno;

    syscall(LEE_1_URCU_NR_FUTEX, word, FUTEX_ROUSE, count, NULL, NULL, 0);
    errno = error;
}

/* Sleeps for that time. */
static void nap(long nanoseconds)
{
    uint32_t never = 0;

    sleep_on(&never, 0, nanoseconds);
}

/* Returns the time of the monotonic clock in nanoseconds. */
static int64_t now(void)
{
    struct timespec time = {0, 0};

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/*
 * A place where threads sleep until something that others do has happened. A thread that did it
 * calls announce() afterwards.
 */
struct event {
    uint32_t round;    /* counts the wakes; threads sleep on it */
    uint32_t sleepers; /* that sleep, or are about to */
};

/* Begins a sleep: the caller checks, after this, what it waits for; then it calls event_end(). */
static uint32_t event_begin(struct event *event)
{
    uint32_t round = __atomic_load_n(&event->round, __ATOMIC_RELAXED);

    /*
     * SeqCst: the announcement is before the caller's check. Partner: the load in announce(). If
     * the announcement comes first, we are woken; if not, the check sees what was done.
     */
    __atomic_fetch_add(&event->sleepers, 1, __ATOMIC_SEQ_CST);
    return round;
}

/* Sleeps until the event is announced, unless `is_over`, and ends what event_begin() began. */
static void event_end(struct event *event, uint32_t round, bool is_over)
{
    if (!is_over)
        sleep_on(&event->round, round, 0);
    /* Relaxed: who still counts us makes a needless system call. */
    __atomic_fetch_sub(&event->sleepers, 1, __ATOMIC_RELAXED);
}

/* Wakes all that sleep. What was done was stored by the caller with SeqCst. */
static void announce(struct event *event)
{
    /* SeqCst: partner of the announcement in event_begin(). */
    if (__atomic_load_n(&event->sleepers, __ATOMIC_SEQ_CST) == 0)
        return;
    /* Relaxed: the kernel compares it under its queue's lock. */
    __atomic_fetch_add(&event->round, 1, __ATOMIC_RELAXED);
    wake(&event->round, INT_MAX);
}

#endif
