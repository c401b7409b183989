/*
 * Deadlines: the points in time at which timed calls give up.
 *
 * Every timed call takes a struct timespec of CLOCK_MONOTONIC: a point in time, so
 * that a wait that is begun again ends when the first one would have ended. (The
 * pthread_..._timed... functions use CLOCK_REALTIME, which may be set.)
 *
 *     struct timespec deadline;
 *
 *     lee_deadline_after(&deadline, 50 * 1000 * 1000);
 *     if (lee_mutex_timedlock(&mutex, &deadline) == ETIMEDOUT) ...
 *
 * A timed call attempts at least once, also if its deadline has passed, and
 * succeeds if that attempt does. Otherwise it returns ETIMEDOUT, or EINVAL if
 * tv_nsec is not from 0 to 999,999,999 (or the pointer is null), which it may not
 * notice where it need not wait.
 */
#ifndef LEEWARD_DEADLINE_H
#define LEEWARD_DEADLINE_H

#include <leeward/lock_words.h>

LEE_1_BEGIN

/*
 * Stores the point in time that is so many nanoseconds from now. What is later
 * than the clock can say is the end of time. Async-signal-safe.
 */
void lee_deadline_after(struct timespec *deadline, uint64_t nanoseconds);

LEE_1_END

#endif
