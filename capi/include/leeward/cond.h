/*
 * lee_cond_wait(3): a condition variable.
 *
 *     static struct lee_mutex mutex = LEE_MUTEX_INIT;
 *     static struct lee_cond changed = LEE_COND_INIT;
 *
 *     lee_mutex_lock(&mutex);              lee_mutex_lock(&mutex);
 *     while (!ready)                       ready = true;
 *             lee_cond_wait(&changed,      lee_mutex_unlock(&mutex);
 *                           &mutex);       lee_cond_signal(&changed);
 *     lee_mutex_unlock(&mutex);
 *
 * A condition variable is for the threads of one process that share a struct
 * lee_mutex. Zeroed memory is one without waiters, and there is nothing to destroy. A
 * wait may end without a notification, so that callers test their condition in a loop.
 *
 * A notification wakes at least one (or all) of the threads that wait when it is
 * issued, and no thread that comes later takes it from them. If the mutex is held at
 * that time, its unlocks wake the waiters one by one, so that none finds it locked.
 *
 * Cost. To notify while no thread waits is one load, inline.
 *
 * Lifetime. The condition variable lives until each call on it has returned.
 *
 * Signals. No function is async-signal-safe. A handler that runs during a wait does
 * not end it.
 *
 * Fork. In the child, threads that waited are not there. As long as any of them is
 * counted, notifications may count absent threads. If another thread was inside a call
 * at the fork, the child's next call may wait forever.
 *
 * Cancellation. No function is a cancellation point, the waits neither: unlike
 * pthread_cond_wait(3), they go on until they are notified.
 *
 * See also lee_event_wait(3), lee_mutex_lock(3), lee_shared_mutex_lock(3).
 */
#ifndef LEEWARD_COND_H
#define LEEWARD_COND_H

#include <leeward/mutex.h>

LEE_1_BEGIN

/* A condition variable. Programs use its address only. */
struct lee_cond {
	uint32_t lee_1_words[2];
	LEE_1_ALIGNED(8) uint64_t lee_1_counts;
	uintptr_t lee_1_queue;
	uint32_t lee_1_process;
};
LEE_1_ASSERT(sizeof(struct lee_cond) == 16 + 2 * sizeof(uintptr_t) && offsetof(struct lee_cond, lee_1_counts) == 8,
	     "the condition variable is a part of the binary interface");

#define LEE_COND_INIT { { 0, 0 }, 0, 0, 0 }

int lee_1_cond_wait(struct lee_cond *cond, struct lee_mutex *mutex);
int lee_1_cond_timedwait(struct lee_cond *cond, struct lee_mutex *mutex, const struct timespec *deadline);
uint32_t lee_1_cond_notify(struct lee_cond *cond, uint32_t count);

/* Makes the memory, which no thread uses, a condition variable without waiters. */
LEE_1_INLINE void lee_cond_init(struct lee_cond *cond)
{
	cond->lee_1_words[0] = 0;
	cond->lee_1_words[1] = 0;
	cond->lee_1_counts = 0;
	cond->lee_1_queue = 0;
	cond->lee_1_process = 0;
}

/*
 * Unlocks the mutex, which the caller holds, waits for a notification, and has locked
 * the mutex again when it returns 0.
 *
 * EPERM: no thread holds the mutex. Nothing was unlocked, and a line on standard error
 * says so.
 * EINVAL: other threads wait with another mutex. Nothing was unlocked, and a line on
 * standard error says so.
 */
LEE_1_INLINE int lee_cond_wait(struct lee_cond *cond, struct lee_mutex *mutex)
{
	int error;

	LEE_1_RELEASING(mutex);
	error = lee_1_cond_wait(cond, mutex);
	LEE_1_ACQUIRED(mutex);
	return error;
}

/*
 * Waits as lee_cond_wait() does, until the deadline at most and for the time that it
 * takes to lock the mutex again. It holds the mutex whatever it returns. Errors:
 * EINVAL, and those of lee_cond_wait().
 *
 * ETIMEDOUT: no notification came before the deadline.
 */
LEE_1_INLINE int lee_cond_timedwait(struct lee_cond *cond, struct lee_mutex *mutex, const struct timespec *deadline)
{
	int error;

	LEE_1_RELEASING(mutex);
	error = lee_1_cond_timedwait(cond, mutex, deadline);
	LEE_1_ACQUIRED(mutex);
	return error;
}

/* Wakes one waiter. Returns how many there were to wake: 1 or 0. */
LEE_1_INLINE uint32_t lee_cond_signal(struct lee_cond *cond)
{
	return lee_1_cond_has_waiters(&cond->lee_1_counts) ? lee_1_cond_notify(cond, 1) : 0;
}

/* Wakes all waiters. Returns how many there were. */
LEE_1_INLINE uint32_t lee_cond_broadcast(struct lee_cond *cond)
{
	return lee_1_cond_has_waiters(&cond->lee_1_counts) ? lee_1_cond_notify(cond, UINT32_MAX) : 0;
}

LEE_1_END

#endif
