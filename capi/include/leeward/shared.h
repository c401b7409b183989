/*
 * lee_shared_mutex_lock(3): locks that several processes share.
 *
 * These are the mutex, the readers-writer lock, the condition variable, the semaphore,
 * the barrier and the event of the library for memory that several processes map, each
 * at any address: a region of lee_region_open(), or MAP_SHARED.
 *
 * Each function is its namesake of one process with `lee_shared_` in front:
 * lee_shared_mutex_lock() does what lee_mutex_lock() does,
 * lee_shared_rwlock_timedrdlock() what lee_rwlock_timedrdlock() does, and so on, at
 * the same cost but for the sleep. What a function takes, returns and promises is said
 * of its namesake, and here where it differs. No function initializes: zeroed memory
 * is a new one of each, which is unlocked, without permits, clear, or for one thread.
 *
 * Returns. A function returns what its namesake returns.
 *
 * Errors. They are those of the namesakes, but where DESCRIPTION says something else.
 *
 * Death. A process that is killed while it holds one of these locks leaves it held.
 * One that is killed while it waits, or inside a call on a condition variable, may
 * keep others waiting. For locks that survive, see lee_robust_mutex_lock().
 *
 * Trust. A process that shares a lock may write any bytes to it. Garbage in a word
 * makes a call wait or return early, and does nothing else in this process; calls with
 * a deadline end.
 *
 * Signals. A function is async-signal-safe if its namesake is.
 *
 * Fork. A lock in shared memory is one lock for parent and child, not a copy. What the
 * parent's threads hold, the child must not unlock. A permit that is held across the
 * fork is one permit.
 *
 * Rust. They are the types of `leeward::shared`, whose values lie behind the locks:
 * `struct { struct lee_shared_mutex lock; uint64_t value; }` is
 * `leeward::shared::Mutex<u64>`.
 *
 * See also lee_barrier_wait(3), lee_cond_wait(3), lee_event_wait(3),
 * lee_rwlock_rdlock(3), lee_semaphore_wait(3).
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

LEE_1_INLINE void lee_shared_mutex_lock(struct lee_shared_mutex *mutex)
{
	uint32_t word;

	if (LEE_1_UNLIKELY(!lee_1_mutex_take(&mutex->lee_1_word, &word))) {
		lee_1_shared_mutex_lock_slow(mutex);
		LEE_1_ACQUIRED(mutex);
	}
}

LEE_1_INLINE int lee_shared_mutex_trylock(struct lee_shared_mutex *mutex)
{
	uint32_t word;

	if (LEE_1_LIKELY(lee_1_mutex_take(&mutex->lee_1_word, &word)))
		return 0;
	if ((word & LEE_1_MUTEX_LOCKED) != 0)
		return EBUSY;
	return lee_1_shared_got(mutex, lee_1_shared_mutex_trylock_slow(mutex));
}

LEE_1_INLINE int lee_shared_mutex_timedlock(struct lee_shared_mutex *mutex, const struct timespec *deadline)
{
	uint32_t word;

	if (LEE_1_LIKELY(lee_1_mutex_take(&mutex->lee_1_word, &word)))
		return 0;
	return lee_1_shared_got(mutex, lee_1_shared_mutex_timedlock_slow(mutex, deadline));
}

LEE_1_INLINE void lee_shared_mutex_unlock(struct lee_shared_mutex *mutex)
{
	LEE_1_RELEASING(mutex);
	if (LEE_1_UNLIKELY(!lee_1_mutex_leave(&mutex->lee_1_word)))
		lee_1_shared_mutex_unlock_slow(mutex);
}

LEE_1_INLINE void lee_shared_mutex_unlock_fair(struct lee_shared_mutex *mutex)
{
	LEE_1_RELEASING(mutex);
	lee_1_shared_mutex_unlock_fair(mutex);
}

/*
 * Returns 0 always: where as many readers are counted as can be, which may be garbage,
 * it waits until one has left. So do lee_shared_rwlock_rdlock_recursive() and, until
 * the deadline, lee_shared_rwlock_timedrdlock().
 */
LEE_1_INLINE int lee_shared_rwlock_rdlock(struct lee_shared_rwlock *lock)
{
	if (LEE_1_LIKELY(lee_1_rwlock_enter(&lock->lee_1_state)))
		return 0;
	return lee_1_shared_got(lock, lee_1_shared_rwlock_rdlock_slow(lock, false));
}

LEE_1_INLINE int lee_shared_rwlock_rdlock_recursive(struct lee_shared_rwlock *lock)
{
	if (LEE_1_LIKELY(lee_1_rwlock_enter(&lock->lee_1_state)))
		return 0;
	return lee_1_shared_got(lock, lee_1_shared_rwlock_rdlock_slow(lock, true));
}

LEE_1_INLINE int lee_shared_rwlock_tryrdlock(struct lee_shared_rwlock *lock)
{
	if (LEE_1_LIKELY(lee_1_rwlock_enter(&lock->lee_1_state)))
		return 0;
	return lee_1_shared_got(lock, lee_1_shared_rwlock_tryrdlock_slow(lock));
}

LEE_1_INLINE int lee_shared_rwlock_timedrdlock(struct lee_shared_rwlock *lock, const struct timespec *deadline)
{
	if (LEE_1_LIKELY(lee_1_rwlock_enter(&lock->lee_1_state)))
		return 0;
	return lee_1_shared_got(lock, lee_1_shared_rwlock_timedrdlock_slow(lock, deadline));
}

LEE_1_INLINE void lee_shared_rwlock_rdunlock(struct lee_shared_rwlock *lock)
{
	uint32_t state;

	LEE_1_RELEASING(lock);
	if (LEE_1_UNLIKELY(!lee_1_rwlock_leave(&lock->lee_1_state, &state)))
		lee_1_shared_rwlock_rdunlock_slow(lock, state);
}

LEE_1_INLINE void lee_shared_rwlock_wrlock(struct lee_shared_rwlock *lock)
{
	if (LEE_1_UNLIKELY(!lee_1_rwlock_take(&lock->lee_1_state))) {
		lee_1_shared_rwlock_wrlock_slow(lock);
		LEE_1_ACQUIRED(lock);
	}
}

LEE_1_INLINE int lee_shared_rwlock_trywrlock(struct lee_shared_rwlock *lock)
{
	if (LEE_1_LIKELY(lee_1_rwlock_take(&lock->lee_1_state)))
		return 0;
	return lee_1_shared_got(lock, lee_1_shared_rwlock_trywrlock_slow(lock));
}

LEE_1_INLINE int lee_shared_rwlock_timedwrlock(struct lee_shared_rwlock *lock, const struct timespec *deadline)
{
	if (LEE_1_LIKELY(lee_1_rwlock_take(&lock->lee_1_state)))
		return 0;
	return lee_1_shared_got(lock, lee_1_shared_rwlock_timedwrlock_slow(lock, deadline));
}

LEE_1_INLINE void lee_shared_rwlock_wrunlock(struct lee_shared_rwlock *lock)
{
	LEE_1_RELEASING(lock);
	if (LEE_1_UNLIKELY(!lee_1_rwlock_leave_writing(&lock->lee_1_state)))
		lee_1_shared_rwlock_wrunlock_slow(lock);
}

LEE_1_INLINE void lee_shared_rwlock_downgrade(struct lee_shared_rwlock *lock)
{
	LEE_1_RELEASING(lock);
	lee_1_shared_rwlock_downgrade(lock);
}

/*
 * Does not notice that two mutexes are used at a time, since no process knows the
 * addresses of another.
 */
LEE_1_INLINE int lee_shared_cond_wait(struct lee_shared_cond *cond, struct lee_shared_mutex *mutex)
{
	int error;

	LEE_1_RELEASING(mutex);
	error = lee_1_shared_cond_wait(cond, mutex);
	LEE_1_ACQUIRED(mutex);
	return error;
}

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
 * Takes the `mutex` that all waiters use, too: if it is held, its unlock wakes the
 * waiter. For NULL the waiter is woken now. So does lee_shared_cond_broadcast().
 */
LEE_1_INLINE uint32_t lee_shared_cond_signal(struct lee_shared_cond *cond, struct lee_shared_mutex *mutex)
{
	return lee_1_cond_has_waiters(&cond->lee_1_counts) ? lee_1_shared_cond_notify(cond, 1, mutex) : 0;
}

LEE_1_INLINE uint32_t lee_shared_cond_broadcast(struct lee_shared_cond *cond, struct lee_shared_mutex *mutex)
{
	return lee_1_cond_has_waiters(&cond->lee_1_counts) ? lee_1_shared_cond_notify(cond, UINT32_MAX, mutex) : 0;
}

LEE_1_INLINE void lee_shared_semaphore_wait(struct lee_shared_semaphore *semaphore)
{
	if (LEE_1_UNLIKELY(!lee_1_semaphore_take(&semaphore->lee_1_word)))
		lee_1_shared_semaphore_wait_slow(semaphore);
	LEE_1_ACQUIRED(semaphore);
}

LEE_1_INLINE int lee_shared_semaphore_trywait(struct lee_shared_semaphore *semaphore)
{
	if (lee_1_semaphore_take(&semaphore->lee_1_word))
		return lee_1_shared_got(semaphore, 0);
	return lee_1_shared_got(semaphore, lee_1_shared_semaphore_trywait_slow(semaphore));
}

LEE_1_INLINE int lee_shared_semaphore_timedwait(struct lee_shared_semaphore *semaphore,
						const struct timespec *deadline)
{
	if (LEE_1_LIKELY(lee_1_semaphore_take(&semaphore->lee_1_word)))
		return lee_1_shared_got(semaphore, 0);
	return lee_1_shared_got(semaphore, lee_1_shared_semaphore_timedwait_slow(semaphore, deadline));
}

LEE_1_INLINE int lee_shared_semaphore_post_many(struct lee_shared_semaphore *semaphore, uint32_t permits)
{
	LEE_1_RELEASING(semaphore);
	return lee_1_shared_semaphore_post(semaphore, permits);
}

LEE_1_INLINE int lee_shared_semaphore_post(struct lee_shared_semaphore *semaphore)
{
	return lee_shared_semaphore_post_many(semaphore, 1);
}

/* Counts a process that is killed while it waits as one that has arrived. */
LEE_1_INLINE int lee_shared_barrier_wait(struct lee_shared_barrier *barrier)
{
	int outcome;

	LEE_1_RELEASING(barrier);
	outcome = lee_1_shared_barrier_wait(barrier);
	LEE_1_ACQUIRED(barrier);
	return outcome;
}

LEE_1_INLINE int lee_shared_barrier_timedwait(struct lee_shared_barrier *barrier, const struct timespec *deadline)
{
	int outcome;

	LEE_1_RELEASING(barrier);
	outcome = lee_1_shared_barrier_timedwait(barrier, deadline);
	LEE_1_ACQUIRED(barrier);
	return outcome;
}

LEE_1_INLINE void lee_shared_event_set(struct lee_shared_event *event)
{
	LEE_1_RELEASING(event);
	lee_1_shared_event_set(event);
}

LEE_1_INLINE bool lee_shared_event_clear(struct lee_shared_event *event)
{
	/* Acquire: partner of the release that set it. */
	return (__atomic_fetch_and(&event->lee_1_word, ~LEE_1_EVENT_SET, __ATOMIC_ACQUIRE) & LEE_1_EVENT_SET) != 0;
}

LEE_1_INLINE bool lee_shared_event_is_set(const struct lee_shared_event *event)
{
	return lee_1_event_is_set(&event->lee_1_word);
}

LEE_1_INLINE void lee_shared_event_wait(struct lee_shared_event *event)
{
	if (!lee_1_event_is_set(&event->lee_1_word)) {
		lee_1_shared_event_wait_slow(event);
		LEE_1_ACQUIRED(event);
	}
}

LEE_1_INLINE int lee_shared_event_timedwait(struct lee_shared_event *event, const struct timespec *deadline)
{
	if (lee_1_event_is_set(&event->lee_1_word))
		return 0;
	return lee_1_shared_got(event, lee_1_shared_event_timedwait_slow(event, deadline));
}

LEE_1_END

#endif
