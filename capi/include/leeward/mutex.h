/*
 * lee_mutex_lock(3): a mutex of one word.
 *
 *     static struct lee_mutex mutex = LEE_MUTEX_INIT;
 *
 *     lee_mutex_lock(&mutex);
 *     ...
 *     lee_mutex_unlock(&mutex);
 *
 * A mutex is for the threads of one process, and has four bytes. Zeroed memory is an
 * unlocked mutex, and there is nothing to destroy. It has no owner: any thread may
 * unlock it. It is not recursive: a thread that locks it twice waits forever.
 *
 * Cost. One compare-exchange locks a free mutex and one unlocks it, both inline. A
 * waiter pauses and yields for some microseconds; then it sleeps by one system call,
 * and the thread that unlocks makes another. No function uses thread-local storage or
 * allocates, so that an allocator may use the mutex.
 *
 * Fairness. A free mutex goes to the first thread that takes it. A waiter that lost 32
 * wake-ups, or one after a millisecond, is overtaken by no newcomer from then on.
 *
 * Memory ordering. What was done under the mutex happens before the return of the next
 * call that locks it (acquire and release).
 *
 * Lifetime. A thread that has locked the mutex may free it, even while the thread that
 * unlocked it is still inside lee_mutex_unlock(). It lives until
 * lee_mutex_unlock_fair() has returned.
 *
 * Signals. lee_mutex_is_locked() is async-signal-safe. The others are not: the handler
 * may have interrupted the holder. A handler that runs during a wait does not end it.
 *
 * Fork. The child has a copy. What the forking thread held, the child's thread holds
 * and may unlock; what another thread held stays locked forever. A program that forks
 * beside other threads locks before and unlocks after, in both processes.
 *
 * Cancellation and thread exit. No function is a cancellation point: a thread that is
 * cancelled while it waits has the mutex first. (With PTHREAD_CANCEL_ASYNCHRONOUS no
 * function is safe.) A thread that exits with the mutex leaves it locked;
 * lee_robust_mutex_lock() is for locks that survive that.
 *
 * See also lee_cond_wait(3), lee_rwlock_rdlock(3), lee_shared_mutex_lock(3).
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

/* Makes the memory, which no thread uses, an unlocked mutex. */
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

/*
 * Locks the mutex, if that is possible without waiting.
 *
 * EBUSY: the mutex is held, or reserved for a waiter.
 */
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

/* Returns true if a thread held the mutex, which may be over when it returns. */
LEE_1_INLINE bool lee_mutex_is_locked(const struct lee_mutex *mutex)
{
	/* Relaxed: says nothing about what the holder did. */
	return (__atomic_load_n(&mutex->lee_1_word, __ATOMIC_RELAXED) & LEE_1_MUTEX_LOCKED) != 0;
}

LEE_1_END

#endif
