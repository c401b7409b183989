/*
 * lee_deadline_after(3): a point in time at which a wait ends.
 *
 *     struct timespec deadline;
 *
 *     lee_deadline_after(&deadline, 50 * 1000 * 1000);
 *     if (lee_mutex_timedlock(&mutex, &deadline) == ETIMEDOUT) ...
 *
 * Functions with `timed` in their names take a struct timespec of CLOCK_MONOTONIC: a
 * point in time, so that a wait that is begun again ends when the first one would have
 * ended. (The timed functions of pthread use CLOCK_REALTIME, which may be set.)
 *
 * A function with a deadline attempts at least once, also if the deadline has passed,
 * and succeeds if that attempt does. It may not notice that a deadline is none where
 * it need not wait: one whose `tv_nsec` is not from 0 to 999,999,999, or a pointer
 * that is NULL.
 *
 * Errors. Functions with a deadline return:
 *
 * ETIMEDOUT: the deadline has passed.
 * EINVAL: the deadline is none.
 *
 * Signals. The function is async-signal-safe.
 *
 * See also clock_gettime(2), lee_cond_wait(3).
 */
#ifndef LEEWARD_DEADLINE_H
#define LEEWARD_DEADLINE_H

#include <leeward/lock_words.h>

LEE_1_BEGIN

/*
 * Stores the point in time that is so many `nanoseconds` from now. What is later than
 * the clock can say is the end of time.
 */
void lee_deadline_after(struct timespec *deadline, uint64_t nanoseconds);

LEE_1_END

#endif
