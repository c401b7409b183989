/*
 * A barrier for the threads of one process: they wait for each other, round after
 * round. (For the barriers of RCU, which wait for callbacks, see <leeward/rcu.h>.)
 *
 *     static struct lee_barrier round = LEE_BARRIER_INIT(4);
 *
 *     if (lee_barrier_wait(&round) == LEE_BARRIER_LEADER) ...
 *
 * Zeroed memory is a barrier for one thread, which never waits. There is nothing to
 * destroy. What each thread did before it arrived happens before the return of all.
 * Rounds are told apart by 16 bits: with more threads than the barrier's size, a
 * thread that sleeps through exactly 65,536 rounds waits for another one.
 *
 * Lifetime. It lives until each call on it has returned. Fork: arrivals of the
 * parent's threads stay counted in the child's copy. No call is async-signal-safe, and
 * none a cancellation point. errno is changed by no call.
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

/* A barrier for so many threads, LEE_BARRIER_MOST at most. */
#define LEE_BARRIER_INIT(threads) { 0, (threads) }

int lee_1_barrier_wait(struct lee_barrier *barrier);
int lee_1_barrier_timedwait(struct lee_barrier *barrier, const struct timespec *deadline);

/*
 * Makes the memory, which no thread uses, a barrier for so many threads. Errors:
 * EINVAL if they are more than LEE_BARRIER_MOST.
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
 * LEE_BARRIER_LEADER to the last of them, and 0 to the others.
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
 * Waits as lee_barrier_wait() does, until the deadline at most. Errors: ETIMEDOUT,
 * EINVAL; the caller's arrival was taken back then.
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
