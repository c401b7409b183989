/*
 * lee_semaphore_wait(3): a counting semaphore of one word.
 *
 *     static struct lee_semaphore free_seats = LEE_SEMAPHORE_INIT(4);
 *
 *     lee_semaphore_wait(&free_seats);
 *     ...
 *     lee_semaphore_post(&free_seats);
 *
 * A semaphore is for the threads of one process, and has four bytes. Zeroed memory is
 * one without permits, and there is nothing to destroy.
 *
 * Cost and fairness. To take a permit and to give it back are one compare-exchange
 * each where nobody waits. There is no fairness: a newcomer may take the permit that a
 * sleeper was woken for.
 *
 * Memory ordering. What was done before a post happens before the return of the call
 * that takes its permit.
 *
 * Lifetime. The semaphore lives until each call on it has returned.
 *
 * Signals. lee_semaphore_post(), lee_semaphore_post_many() and lee_semaphore_trywait()
 * are async-signal-safe. A handler that runs during a wait does not end it, unlike
 * with sem_wait(3).
 *
 * Fork. The child's copy keeps the number; permits that the parent's other threads
 * hold are never given back there.
 *
 * See also lee_event_wait(3), lee_mutex_lock(3), lee_shared_mutex_lock(3).
 */
#ifndef LEEWARD_SEMAPHORE_H
#define LEEWARD_SEMAPHORE_H

#include <leeward/deadline.h>

LEE_1_BEGIN

/* A semaphore. Programs use its address only. */
struct lee_semaphore {
	uint32_t lee_1_word;
};
LEE_1_ASSERT(sizeof(struct lee_semaphore) == 4, "the semaphore is a part of the binary interface");

/* The greatest number of permits, 2,147,483,647. */
#define LEE_SEMAPHORE_MOST LEE_1_SEMAPHORE_PERMITS

#define LEE_SEMAPHORE_INIT(permits) { (permits) }

void lee_1_semaphore_wait_slow(struct lee_semaphore *semaphore);
int lee_1_semaphore_trywait_slow(struct lee_semaphore *semaphore);
int lee_1_semaphore_timedwait_slow(struct lee_semaphore *semaphore, const struct timespec *deadline);
int lee_1_semaphore_post(struct lee_semaphore *semaphore, uint32_t permits);

/*
 * Makes the memory, which no thread uses, a semaphore with so many `permits`.
 *
 * EINVAL: there are more than LEE_SEMAPHORE_MOST permits.
 */
LEE_1_INLINE int lee_semaphore_init(struct lee_semaphore *semaphore, uint32_t permits)
{
	if (permits > LEE_SEMAPHORE_MOST)
		return EINVAL;
	semaphore->lee_1_word = permits;
	return 0;
}

/* Takes a permit, waiting as long as that takes. */
LEE_1_INLINE void lee_semaphore_wait(struct lee_semaphore *semaphore)
{
	if (LEE_1_UNLIKELY(!lee_1_semaphore_take(&semaphore->lee_1_word)))
		lee_1_semaphore_wait_slow(semaphore);
	LEE_1_ACQUIRED(semaphore);
}

/*
 * Takes a permit, if that is possible without waiting.
 *
 * EAGAIN: there is no permit.
 */
LEE_1_INLINE int lee_semaphore_trywait(struct lee_semaphore *semaphore)
{
	if (!lee_1_semaphore_take(&semaphore->lee_1_word) && lee_1_semaphore_trywait_slow(semaphore) != 0)
		return EAGAIN;
	LEE_1_ACQUIRED(semaphore);
	return 0;
}

/* Takes a permit, waiting until the deadline at most. Errors: ETIMEDOUT, EINVAL. */
LEE_1_INLINE int lee_semaphore_timedwait(struct lee_semaphore *semaphore, const struct timespec *deadline)
{
	int error = 0;

	if (LEE_1_UNLIKELY(!lee_1_semaphore_take(&semaphore->lee_1_word)))
		error = lee_1_semaphore_timedwait_slow(semaphore, deadline);
	if (error == 0)
		LEE_1_ACQUIRED(semaphore);
	return error;
}

/*
 * Adds so many `permits`, and wakes as many waiters.
 *
 * EOVERFLOW: there would be more permits than LEE_SEMAPHORE_MOST. The number has not
 * changed.
 */
LEE_1_INLINE int lee_semaphore_post_many(struct lee_semaphore *semaphore, uint32_t permits)
{
	LEE_1_RELEASING(semaphore);
	return lee_1_semaphore_post(semaphore, permits);
}

/* Adds a permit, and wakes a waiter. Errors: those of lee_semaphore_post_many(). */
LEE_1_INLINE int lee_semaphore_post(struct lee_semaphore *semaphore)
{
	return lee_semaphore_post_many(semaphore, 1);
}

/* Returns how many permits there were, which may have changed when it returns. */
LEE_1_INLINE uint32_t lee_semaphore_permits(const struct lee_semaphore *semaphore)
{
	/* Relaxed: out of date when it returns. */
	return __atomic_load_n(&semaphore->lee_1_word, __ATOMIC_RELAXED) & LEE_1_SEMAPHORE_PERMITS;
}

LEE_1_END

#endif
