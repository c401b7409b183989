/*
 * lee_barrier_wait(3): threads that wait for each other.
 *
 *     static struct lee_barrier round = LEE_BARRIER_INIT(4);
 *
 *     if (lee_barrier_wait(&round) == LEE_BARRIER_LEADER) ...
 *
 * A barrier is for a fixed number of threads of one process, round after round. (For
 * the barriers of RCU, which wait for callbacks, see lee_memb_barrier().) Zeroed
 * memory is a barrier for one thread, which never waits, and there is nothing to
 * destroy.
 *
 * Rounds. They are told apart by 16 bits: with more threads than the barrier is for, a
 * thread that sleeps through exactly 65,536 rounds waits for another one.
 *
 * Memory ordering. What each thread did before it arrived happens before the return of
 * all.
 *
 * Lifetime. The barrier lives until each call on it has returned.
 *
 * Signals. No function is async-signal-safe.
 *
 * Fork. Arrivals of the parent's threads stay counted in the child's copy.
 *
 * See also lee_event_wait(3), lee_shared_mutex_lock(3).
 */
#ifndef LEEWARD_BARRIER_H
#define LEEWARD_BARRIER_H

#include <leeward/deadline.h>

LEE_1_BEGIN

/* A barrier. Programs use its address only. */
struct lee_barrier {
	uint32_t lee_1_word;
	uint32_t lee_1_size;
};
LEE_1_ASSERT(sizeof(struct lee_barrier) == 8, "the barrier is a part of the binary interface");

/* The greatest number of threads that a barrier can be for. */
#define LEE_BARRIER_MOST UINT32_C(65535)

/* What one thread of each round is told: the last to arrive. */
#define LEE_BARRIER_LEADER (-1)

#define LEE_BARRIER_INIT(threads) { 0, (threads) }

int lee_1_barrier_wait(struct lee_barrier *barrier);
int lee_1_barrier_timedwait(struct lee_barrier *barrier, const struct timespec *deadline);

/*
 * Makes the memory, which no thread uses, a barrier for so many `threads`.
 *
 * EINVAL: there are more than LEE_BARRIER_MOST threads.
 */
LEE_1_INLINE int lee_barrier_init(struct lee_barrier *barrier, uint32_t threads)
{
	if (threads > LEE_BARRIER_MOST)
		return EINVAL;
	barrier->lee_1_word = 0;
	barrier->lee_1_size = threads;
	return 0;
}

/*
 * Waits until as many threads have arrived as the barrier is for. Returns
 * LEE_BARRIER_LEADER to the last thread of a round, and 0 to the others.
 */
LEE_1_INLINE int lee_barrier_wait(struct lee_barrier *barrier)
{
	int outcome;

	LEE_1_RELEASING(barrier);
	outcome = lee_1_barrier_wait(barrier);
	LEE_1_ACQUIRED(barrier);
	return outcome;
}

/*
 * Waits as lee_barrier_wait() does, until the deadline at most. Returns
 * LEE_BARRIER_LEADER, 0, or a positive error number.
 *
 * ETIMEDOUT: the deadline has passed, and the caller's arrival was taken back.
 * EINVAL: the deadline is none, and the caller's arrival was taken back.
 */
LEE_1_INLINE int lee_barrier_timedwait(struct lee_barrier *barrier, const struct timespec *deadline)
{
	int outcome;

	LEE_1_RELEASING(barrier);
	outcome = lee_1_barrier_timedwait(barrier, deadline);
	LEE_1_ACQUIRED(barrier);
	return outcome;
}

LEE_1_END

#endif
