/*
 * A mutex of one word, for the threads of one process.
 *
 *     static struct lee_mutex mutex = LEE_MUTEX_INIT;
 *
 *     lee_mutex_lock(&mutex);
 *     ...
 *     lee_mutex_unlock(&mutex);
 *
 * Zeroed memory is an unlocked mutex, and there is nothing to destroy. It has no
 * owner: any thread may unlock it, and a thread that exits with it leaves it locked
 * (<leeward/robust.h> has locks that survive that). It is not recursive: a thread
 * that locks it twice waits forever. It uses no thread-local storage and allocates
 * nothing, so that an allocator may use it.
 *
 * Cost. Free: one compare-exchange to lock, one to unlock, both inline. Contended:
 * some microseconds of pauses and yields, then one system call to sleep and one of
 * the thread that unlocks.
 *
 * Fairness. A free mutex goes to the first thread that takes it. A waiter that lost
 * 32 wake-ups, or one after a millisecond, is overtaken by no newcomer from then on.
 *
 * Memory ordering. What was done under the mutex happens before the return of the
 * next call that locks it (acquire and release).
 *
 * Lifetime. A thread that has locked it may free it, even while the thread that
 * unlocked it is still inside of lee_mutex_unlock(). It lives until
 * lee_mutex_unlock_fair() has returned.
 *
 * Signals. No call is async-signal-safe: the handler may have interrupted the
 * holder. A handler that runs during a wait does not end it.
 *
 * Cancellation. No call is a cancellation point: a thread that is cancelled while it
 * waits has the mutex first. (With PTHREAD_CANCEL_ASYNCHRONOUS no call is safe.)
 *
 * Fork. The child has a copy. What the forking thread held, the child's thread
 * holds and may unlock; what another thread held stays locked for ever. A program
 * that forks beside other threads locks before and unlocks after, in both.
 *
 * errno is changed by no call.
 */
#ifndef LEEWARD_MUTEX_H
#define LEEWARD_MUTEX_H

#include <leeward/deadline.h>

LEE_1_BEGIN

/* A mutex. Programs use its address only. */
struct lee_mutex {
	uint32_t lee_1_word;
};
LEE_1_ASSERT(sizeof(struct lee_mutex) == 4, "the mutex is a part of the binary interface");

#define LEE_MUTEX_INIT { 0 }

void lee_1_mutex_lock_slow(struct lee_mutex *mutex);
int lee_1_mutex_trylock_slow(struct lee_mutex *mutex);
int lee_1_mutex_timedlock_slow(struct lee_mutex *mutex, const struct timespec *deadline);
void lee_1_mutex_unlock_slow(struct lee_mutex *mutex);
void lee_1_mutex_unlock_fair(struct lee_mutex *mutex);

/* Makes the memory an unlocked mutex, which no thread uses. */
LEE_1_INLINE void lee_mutex_init(struct lee_mutex *mutex)
{
	mutex->lee_1_word = 0;
}

/* Locks the mutex, waiting as long as that takes. */
LEE_1_INLINE void lee_mutex_lock(struct lee_mutex *mutex)
{
	uint32_t word;

	if (LEE_1_UNLIKELY(!lee_1_mutex_take(&mutex->lee_1_word, &word))) {
		lee_1_mutex_lock_slow(mutex);
		LEE_1_ACQUIRED(mutex);
	}
}

/* Locks the mutex if it is neither held nor reserved for a waiter. Errors: EBUSY. */
LEE_1_INLINE int lee_mutex_trylock(struct lee_mutex *mutex)
{
	uint32_t word;

	if (LEE_1_LIKELY(lee_1_mutex_take(&mutex->lee_1_word, &word)))
		return 0;
	if ((word & LEE_1_MUTEX_LOCKED) != 0 || lee_1_mutex_trylock_slow(mutex) != 0)
		return EBUSY;
	LEE_1_ACQUIRED(mutex);
	return 0;
}

/* Locks the mutex, waiting until the deadline at most. Errors: ETIMEDOUT, EINVAL. */
LEE_1_INLINE int lee_mutex_timedlock(struct lee_mutex *mutex, const struct timespec *deadline)
{
	uint32_t word;
	int error;

	if (LEE_1_LIKELY(lee_1_mutex_take(&mutex->lee_1_word, &word)))
		return 0;
	error = lee_1_mutex_timedlock_slow(mutex, deadline);
	if (error == 0)
		LEE_1_ACQUIRED(mutex);
	return error;
}

/*
 * Unlocks the mutex, which is locked. (Where it is not, a line on standard error
 * says so and nothing else happens.)
 */
LEE_1_INLINE void lee_mutex_unlock(struct lee_mutex *mutex)
{
	LEE_1_RELEASING(mutex);
	if (LEE_1_UNLIKELY(!lee_1_mutex_leave(&mutex->lee_1_word)))
		lee_1_mutex_unlock_slow(mutex);
}

/*
 * Unlocks the mutex, which is locked, for the thread that has slept longest, if any
 * sleeps. No other thread has it before, so that it is idle until that thread runs.
 */
LEE_1_INLINE void lee_mutex_unlock_fair(struct lee_mutex *mutex)
{
	LEE_1_RELEASING(mutex);
	lee_1_mutex_unlock_fair(mutex);
}

/* Returns true if a thread held the mutex. Out of date when it returns. Async-signal-safe. */
LEE_1_INLINE bool lee_mutex_is_locked(const struct lee_mutex *mutex)
{
	/* Relaxed: says nothing about what the holder did. */
	return (__atomic_load_n(&mutex->lee_1_word, __ATOMIC_RELAXED) & LEE_1_MUTEX_LOCKED) != 0;
}

LEE_1_END

#endif
