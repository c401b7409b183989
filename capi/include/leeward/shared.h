/*
 * Locks that several processes share: mutex, readers-writer lock, condition
 * variable, semaphore, barrier and event. They lie in memory that each process maps,
 * at any address: a lee_region (<leeward/region.h>), or MAP_SHARED.
 *
 * Each works as its namesake of one process: lee_shared_mutex_lock() is
 * lee_mutex_lock() of <leeward/mutex.h>, and so on, at the same cost but for the
 * sleep. They are the types of leeward::shared in Rust, whose values lie behind the
 * locks: struct { struct lee_shared_mutex lock; uint64_t value; } is
 * leeward::shared::Mutex<u64>.
 *
 * Zeroed memory is a new one of each: unlocked, without permits, clear, for one
 * thread.
 *
 * Death. A process that is killed while it holds one of these locks leaves it held;
 * one that is killed while it waits, or inside of a call on a condition variable, may
 * keep others waiting. Robust mutexes survive that (<leeward/robust.h>).
 *
 * Trust. A process that shares a lock may write any bytes to it. Garbage in a word
 * makes a call wait or return early, and does nothing else in this process; timed
 * calls end.
 *
 * Fork. A lock in shared memory is one lock for parent and child, not a copy. What the
 * parent's threads hold, the child must not unlock. A permit that is held across the
 * fork is one permit.
 */
#ifndef LEEWARD_SHARED_H
#define LEEWARD_SHARED_H

#include <leeward/deadline.h>

LEE_1_BEGIN

/* A mutex of several processes. Programs use its address only. */
struct lee_shared_mutex {
	uint32_t lee_1_word;
};
/* A readers-writer lock of several processes. */
struct lee_shared_rwlock {
	uint32_t lee_1_state;
	uint32_t lee_1_writers;
};
/* A condition variable of several processes, for lee_shared_mutex. */
struct lee_shared_cond {
	uint32_t lee_1_words[2];
	LEE_1_ALIGNED(8) uint64_t lee_1_counts;
	uintptr_t lee_1_unused;
	uint32_t lee_1_zero;
};
/* A semaphore of several processes. */
struct lee_shared_semaphore {
	uint32_t lee_1_word;
};
/* A barrier of several processes. */
struct lee_shared_barrier {
	uint32_t lee_1_word;
	uint32_t lee_1_size;
};
/* An event of several processes. */
struct lee_shared_event {
	uint32_t lee_1_word;
};
LEE_1_ASSERT(sizeof(struct lee_shared_mutex) == 4 && sizeof(struct lee_shared_rwlock) == 8 &&
		     sizeof(struct lee_shared_cond) == 16 + 2 * sizeof(uintptr_t) &&
		     offsetof(struct lee_shared_cond, lee_1_counts) == 8 && sizeof(struct lee_shared_semaphore) == 4 &&
		     sizeof(struct lee_shared_barrier) == 8 && sizeof(struct lee_shared_event) == 4,
	     "the locks are a part of the binary interface, and of shared memory");

#define LEE_SHARED_MUTEX_INIT { 0 }
#define LEE_SHARED_RWLOCK_INIT { 0, 0 }
#define LEE_SHARED_COND_INIT { { 0, 0 }, 0, 0, 0 }
#define LEE_SHARED_SEMAPHORE_INIT(permits) { (permits) }
#define LEE_SHARED_BARRIER_INIT(threads) { 0, (threads) }
#define LEE_SHARED_EVENT_INIT { 0 }

void lee_1_shared_mutex_lock_slow(struct lee_shared_mutex *mutex);
int lee_1_shared_mutex_trylock_slow(struct lee_shared_mutex *mutex);
int lee_1_shared_mutex_timedlock_slow(struct lee_shared_mutex *mutex, const struct timespec *deadline);
void lee_1_shared_mutex_unlock_slow(struct lee_shared_mutex *mutex);
void lee_1_shared_mutex_unlock_fair(struct lee_shared_mutex *mutex);
int lee_1_shared_rwlock_rdlock_slow(struct lee_shared_rwlock *lock, bool is_nested);
int lee_1_shared_rwlock_tryrdlock_slow(struct lee_shared_rwlock *lock);
int lee_1_shared_rwlock_timedrdlock_slow(struct lee_shared_rwlock *lock, const struct timespec *deadline);
void lee_1_shared_rwlock_rdunlock_slow(struct lee_shared_rwlock *lock, uint32_t state);
void lee_1_shared_rwlock_wrlock_slow(struct lee_shared_rwlock *lock);
int lee_1_shared_rwlock_trywrlock_slow(struct lee_shared_rwlock *lock);
int lee_1_shared_rwlock_timedwrlock_slow(struct lee_shared_rwlock *lock, const struct timespec *deadline);
void lee_1_shared_rwlock_wrunlock_slow(struct lee_shared_rwlock *lock);
void lee_1_shared_rwlock_downgrade(struct lee_shared_rwlock *lock);
int lee_1_shared_cond_wait(struct lee_shared_cond *cond, struct lee_shared_mutex *mutex);
int lee_1_shared_cond_timedwait(struct lee_shared_cond *cond, struct lee_shared_mutex *mutex,
				const struct timespec *deadline);
uint32_t lee_1_shared_cond_notify(struct lee_shared_cond *cond, uint32_t count, struct lee_shared_mutex *mutex);
void lee_1_shared_semaphore_wait_slow(struct lee_shared_semaphore *semaphore);
int lee_1_shared_semaphore_trywait_slow(struct lee_shared_semaphore *semaphore);
int lee_1_shared_semaphore_timedwait_slow(struct lee_shared_semaphore *semaphore, const struct timespec *deadline);
int lee_1_shared_semaphore_post(struct lee_shared_semaphore *semaphore, uint32_t permits);
int lee_1_shared_barrier_wait(struct lee_shared_barrier *barrier);
int lee_1_shared_barrier_timedwait(struct lee_shared_barrier *barrier, const struct timespec *deadline);
void lee_1_shared_event_set(struct lee_shared_event *event);
void lee_1_shared_event_wait_slow(struct lee_shared_event *event);
int lee_1_shared_event_timedwait_slow(struct lee_shared_event *event, const struct timespec *deadline);

/* Tells the thread sanitizer that a call on `lock` that returned `error` has locked, if it has. */
LEE_1_INLINE int lee_1_shared_got(void *lock, int error)
{
	if (error == 0)
		LEE_1_ACQUIRED(lock);
	return error;
}

/* lee_mutex_lock() for processes. */
LEE_1_INLINE void lee_shared_mutex_lock(struct lee_shared_mutex *mutex)
{
	uint32_t word;

	if (LEE_1_UNLIKELY(!lee_1_mutex_take(&mutex->lee_1_word, &word))) {
		lee_1_shared_mutex_lock_slow(mutex);
		LEE_1_ACQUIRED(mutex);
	}
}

/* lee_mutex_trylock() for processes. Errors: EBUSY, also while it is reserved for a waiter. */
LEE_1_INLINE int lee_shared_mutex_trylock(struct lee_shared_mutex *mutex)
{
	uint32_t word;

	if (LEE_1_LIKELY(lee_1_mutex_take(&mutex->lee_1_word, &word)))
		return 0;
	if ((word & LEE_1_MUTEX_LOCKED) != 0)
		return EBUSY;
	return lee_1_shared_got(mutex, lee_1_shared_mutex_trylock_slow(mutex));
}

/* lee_mutex_timedlock() for processes. Errors: ETIMEDOUT, EINVAL. */
LEE_1_INLINE int lee_shared_mutex_timedlock(struct lee_shared_mutex *mutex, const struct timespec *deadline)
{
	uint32_t word;

	if (LEE_1_LIKELY(lee_1_mutex_take(&mutex->lee_1_word, &word)))
		return 0;
	return lee_1_shared_got(mutex, lee_1_shared_mutex_timedlock_slow(mutex, deadline));
}

/* lee_mutex_unlock() for processes. */
LEE_1_INLINE void lee_shared_mutex_unlock(struct lee_shared_mutex *mutex)
{
	LEE_1_RELEASING(mutex);
	if (LEE_1_UNLIKELY(!lee_1_mutex_leave(&mutex->lee_1_word)))
		lee_1_shared_mutex_unlock_slow(mutex);
}

/* lee_mutex_unlock_fair() for processes. */
LEE_1_INLINE void lee_shared_mutex_unlock_fair(struct lee_shared_mutex *mutex)
{
	LEE_1_RELEASING(mutex);
	lee_1_shared_mutex_unlock_fair(mutex);
}

/*
 * lee_rwlock_rdlock() for processes. It returns 0: where as many readers are counted
 * as can be, which may be garbage, it waits until one has left.
 */
LEE_1_INLINE int lee_shared_rwlock_rdlock(struct lee_shared_rwlock *lock)
{
	if (LEE_1_LIKELY(lee_1_rwlock_enter(&lock->lee_1_state)))
		return 0;
	return lee_1_shared_got(lock, lee_1_shared_rwlock_rdlock_slow(lock, false));
}

/* lee_rwlock_rdlock_recursive() for processes. It returns 0, as lee_shared_rwlock_rdlock(). */
LEE_1_INLINE int lee_shared_rwlock_rdlock_recursive(struct lee_shared_rwlock *lock)
{
	if (LEE_1_LIKELY(lee_1_rwlock_enter(&lock->lee_1_state)))
		return 0;
	return lee_1_shared_got(lock, lee_1_shared_rwlock_rdlock_slow(lock, true));
}

/* lee_rwlock_tryrdlock() for processes. Errors: EBUSY. */
LEE_1_INLINE int lee_shared_rwlock_tryrdlock(struct lee_shared_rwlock *lock)
{
	if (LEE_1_LIKELY(lee_1_rwlock_enter(&lock->lee_1_state)))
		return 0;
	return lee_1_shared_got(lock, lee_1_shared_rwlock_tryrdlock_slow(lock));
}

/* lee_rwlock_timedrdlock() for processes. Errors: ETIMEDOUT, EINVAL. */
LEE_1_INLINE int lee_shared_rwlock_timedrdlock(struct lee_shared_rwlock *lock, const struct timespec *deadline)
{
	if (LEE_1_LIKELY(lee_1_rwlock_enter(&lock->lee_1_state)))
		return 0;
	return lee_1_shared_got(lock, lee_1_shared_rwlock_timedrdlock_slow(lock, deadline));
}

/* lee_rwlock_rdunlock() for processes. */
LEE_1_INLINE void lee_shared_rwlock_rdunlock(struct lee_shared_rwlock *lock)
{
	uint32_t state;

	LEE_1_RELEASING(lock);
	if (LEE_1_UNLIKELY(!lee_1_rwlock_leave(&lock->lee_1_state, &state)))
		lee_1_shared_rwlock_rdunlock_slow(lock, state);
}

/* lee_rwlock_wrlock() for processes. */
LEE_1_INLINE void lee_shared_rwlock_wrlock(struct lee_shared_rwlock *lock)
{
	if (LEE_1_UNLIKELY(!lee_1_rwlock_take(&lock->lee_1_state))) {
		lee_1_shared_rwlock_wrlock_slow(lock);
		LEE_1_ACQUIRED(lock);
	}
}

/* lee_rwlock_trywrlock() for processes. Errors: EBUSY. */
LEE_1_INLINE int lee_shared_rwlock_trywrlock(struct lee_shared_rwlock *lock)
{
	if (LEE_1_LIKELY(lee_1_rwlock_take(&lock->lee_1_state)))
		return 0;
	return lee_1_shared_got(lock, lee_1_shared_rwlock_trywrlock_slow(lock));
}

/* lee_rwlock_timedwrlock() for processes. Errors: ETIMEDOUT, EINVAL. */
LEE_1_INLINE int lee_shared_rwlock_timedwrlock(struct lee_shared_rwlock *lock, const struct timespec *deadline)
{
	if (LEE_1_LIKELY(lee_1_rwlock_take(&lock->lee_1_state)))
		return 0;
	return lee_1_shared_got(lock, lee_1_shared_rwlock_timedwrlock_slow(lock, deadline));
}

/* lee_rwlock_wrunlock() for processes. */
LEE_1_INLINE void lee_shared_rwlock_wrunlock(struct lee_shared_rwlock *lock)
{
	LEE_1_RELEASING(lock);
	if (LEE_1_UNLIKELY(!lee_1_rwlock_leave_writing(&lock->lee_1_state)))
		lee_1_shared_rwlock_wrunlock_slow(lock);
}

/* lee_rwlock_downgrade() for processes. */
LEE_1_INLINE void lee_shared_rwlock_downgrade(struct lee_shared_rwlock *lock)
{
	LEE_1_RELEASING(lock);
	lee_1_shared_rwlock_downgrade(lock);
}

/*
 * lee_cond_wait() for processes. Errors: EPERM if no thread holds the mutex. (Waiting
 * with two mutexes at a time is not noticed here, since no process knows the
 * addresses of another.)
 */
LEE_1_INLINE int lee_shared_cond_wait(struct lee_shared_cond *cond, struct lee_shared_mutex *mutex)
{
	int error;

	LEE_1_RELEASING(mutex);
	error = lee_1_shared_cond_wait(cond, mutex);
	LEE_1_ACQUIRED(mutex);
	return error;
}

/* lee_cond_timedwait() for processes. Errors: ETIMEDOUT, EINVAL, EPERM. */
LEE_1_INLINE int lee_shared_cond_timedwait(struct lee_shared_cond *cond, struct lee_shared_mutex *mutex,
					   const struct timespec *deadline)
{
	int error;

	LEE_1_RELEASING(mutex);
	error = lee_1_shared_cond_timedwait(cond, mutex, deadline);
	LEE_1_ACQUIRED(mutex);
	return error;
}

/*
 * lee_cond_signal() for processes. `mutex` is the one that all waiters use: if it is
 * held, its unlock wakes the waiter. NULL: the waiter is woken now.
 */
LEE_1_INLINE uint32_t lee_shared_cond_signal(struct lee_shared_cond *cond, struct lee_shared_mutex *mutex)
{
	return lee_1_cond_has_waiters(&cond->lee_1_counts) ? lee_1_shared_cond_notify(cond, 1, mutex) : 0;
}

/* lee_cond_broadcast() for processes. `mutex`: as for lee_shared_cond_signal(). */
LEE_1_INLINE uint32_t lee_shared_cond_broadcast(struct lee_shared_cond *cond, struct lee_shared_mutex *mutex)
{
	return lee_1_cond_has_waiters(&cond->lee_1_counts) ? lee_1_shared_cond_notify(cond, UINT32_MAX, mutex) : 0;
}

/* lee_semaphore_wait() for processes. */
LEE_1_INLINE void lee_shared_semaphore_wait(struct lee_shared_semaphore *semaphore)
{
	if (LEE_1_UNLIKELY(!lee_1_semaphore_take(&semaphore->lee_1_word)))
		lee_1_shared_semaphore_wait_slow(semaphore);
	LEE_1_ACQUIRED(semaphore);
}

/* lee_semaphore_trywait() for processes. Errors: EAGAIN. */
LEE_1_INLINE int lee_shared_semaphore_trywait(struct lee_shared_semaphore *semaphore)
{
	if (lee_1_semaphore_take(&semaphore->lee_1_word))
		return lee_1_shared_got(semaphore, 0);
	return lee_1_shared_got(semaphore, lee_1_shared_semaphore_trywait_slow(semaphore));
}

/* lee_semaphore_timedwait() for processes. Errors: ETIMEDOUT, EINVAL. */
LEE_1_INLINE int lee_shared_semaphore_timedwait(struct lee_shared_semaphore *semaphore,
						const struct timespec *deadline)
{
	if (LEE_1_LIKELY(lee_1_semaphore_take(&semaphore->lee_1_word)))
		return lee_1_shared_got(semaphore, 0);
	return lee_1_shared_got(semaphore, lee_1_shared_semaphore_timedwait_slow(semaphore, deadline));
}

/* lee_semaphore_post_many() for processes. Errors: EOVERFLOW. */
LEE_1_INLINE int lee_shared_semaphore_post_many(struct lee_shared_semaphore *semaphore, uint32_t permits)
{
	LEE_1_RELEASING(semaphore);
	return lee_1_shared_semaphore_post(semaphore, permits);
}

/* lee_semaphore_post() for processes. Errors: EOVERFLOW. */
LEE_1_INLINE int lee_shared_semaphore_post(struct lee_shared_semaphore *semaphore)
{
	return lee_shared_semaphore_post_many(semaphore, 1);
}

/*
 * lee_barrier_wait() for processes. A process that is killed while it waits has arrived
 * all the same.
 */
LEE_1_INLINE int lee_shared_barrier_wait(struct lee_shared_barrier *barrier)
{
	int outcome;

	LEE_1_RELEASING(barrier);
	outcome = lee_1_shared_barrier_wait(barrier);
	LEE_1_ACQUIRED(barrier);
	return outcome;
}

/* lee_barrier_timedwait() for processes. Errors: ETIMEDOUT, EINVAL. */
LEE_1_INLINE int lee_shared_barrier_timedwait(struct lee_shared_barrier *barrier, const struct timespec *deadline)
{
	int outcome;

	LEE_1_RELEASING(barrier);
	outcome = lee_1_shared_barrier_timedwait(barrier, deadline);
	LEE_1_ACQUIRED(barrier);
	return outcome;
}

/* lee_event_set() for processes. */
LEE_1_INLINE void lee_shared_event_set(struct lee_shared_event *event)
{
	LEE_1_RELEASING(event);
	lee_1_shared_event_set(event);
}

/* lee_event_clear() for processes. */
LEE_1_INLINE bool lee_shared_event_clear(struct lee_shared_event *event)
{
	/* Acquire: partner of the release that set it. */
	return (__atomic_fetch_and(&event->lee_1_word, ~LEE_1_EVENT_SET, __ATOMIC_ACQUIRE) & LEE_1_EVENT_SET) != 0;
}

/* lee_event_is_set() for processes. */
LEE_1_INLINE bool lee_shared_event_is_set(const struct lee_shared_event *event)
{
	return lee_1_event_is_set(&event->lee_1_word);
}

/* lee_event_wait() for processes. */
LEE_1_INLINE void lee_shared_event_wait(struct lee_shared_event *event)
{
	if (!lee_1_event_is_set(&event->lee_1_word)) {
		lee_1_shared_event_wait_slow(event);
		LEE_1_ACQUIRED(event);
	}
}

/* lee_event_timedwait() for processes. Errors: ETIMEDOUT, EINVAL. */
LEE_1_INLINE int lee_shared_event_timedwait(struct lee_shared_event *event, const struct timespec *deadline)
{
	if (lee_1_event_is_set(&event->lee_1_word))
		return 0;
	return lee_1_shared_got(event, lee_1_shared_event_timedwait_slow(event, deadline));
}

LEE_1_END

#endif
