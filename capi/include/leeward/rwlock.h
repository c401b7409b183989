/*
 * lee_rwlock_rdlock(3): a readers-writer lock of two words.
 *
 *     static struct lee_rwlock lock = LEE_RWLOCK_INIT;
 *
 *     if (lee_rwlock_rdlock(&lock) == 0) {
 *             ...
 *             lee_rwlock_rdunlock(&lock);
 *     }
 *
 * Readers share the lock, and a writer is alone in it. It is for the threads of one
 * process, and has eight bytes. Zeroed memory is an unlocked lock, and there is
 * nothing to destroy. Any thread may unlock.
 *
 * Reads do not nest: a thread that reads and calls lee_rwlock_rdlock() may wait for a
 * writer that waits for it; lee_rwlock_rdlock_recursive() does not. A thread that asks
 * for writing while it is inside waits forever.
 *
 * Cost. One atomic operation each way where the lock is free, inline. Readers share
 * the word's cache line; where they are many and writes are rare, see
 * lee_asym_rwlock_rdlock(), or lee_rcu(7).
 *
 * Fairness. A writer that sleeps is overtaken by the readers that are inside, and by
 * those that an earlier writer kept out. A reader that sleeps is let in by the next
 * writer's unlock; from its first recheck on, one writer at most precedes it. Among
 * writers there is no bound.
 *
 * Memory ordering. What a writer did happens before what later readers and writers do
 * under the lock. What readers did happens before what later writers do.
 *
 * Lifetime. The lock lives until each call on it has returned.
 *
 * Signals. No function is async-signal-safe.
 *
 * Fork. The child has a copy. What the forking thread held, the child's thread may
 * unlock; what another thread held stays locked. Marks that waiting threads of the
 * parent left in a free lock expire: a waiter of the child goes on after a
 * millisecond.
 *
 * Cancellation and thread exit. No function is a cancellation point. A thread that
 * exits with the lock leaves it locked.
 *
 * See also lee_mutex_lock(3), lee_shared_mutex_lock(3).
 */
#ifndef LEEWARD_RWLOCK_H
#define LEEWARD_RWLOCK_H

#include <leeward/deadline.h>

LEE_1_BEGIN

/* A readers-writer lock. Programs use its address only. */
struct lee_rwlock {
	uint32_t lee_1_state;
	uint32_t lee_1_writers;
};
LEE_1_ASSERT(sizeof(struct lee_rwlock) == 8, "the lock is a part of the binary interface");

#define LEE_RWLOCK_INIT { 0, 0 }

int lee_1_rwlock_rdlock_slow(struct lee_rwlock *lock, bool is_nested);
int lee_1_rwlock_tryrdlock_slow(struct lee_rwlock *lock);
int lee_1_rwlock_timedrdlock_slow(struct lee_rwlock *lock, const struct timespec *deadline);
void lee_1_rwlock_rdunlock_slow(struct lee_rwlock *lock, uint32_t state);
void lee_1_rwlock_wrlock_slow(struct lee_rwlock *lock);
int lee_1_rwlock_trywrlock_slow(struct lee_rwlock *lock);
int lee_1_rwlock_timedwrlock_slow(struct lee_rwlock *lock, const struct timespec *deadline);
void lee_1_rwlock_wrunlock_slow(struct lee_rwlock *lock);
void lee_1_rwlock_downgrade(struct lee_rwlock *lock);

/* Makes the memory, which no thread uses, an unlocked lock. */
LEE_1_INLINE void lee_rwlock_init(struct lee_rwlock *lock)
{
	lock->lee_1_state = 0;
	lock->lee_1_writers = 0;
}

/* Tells the thread sanitizer that a call that returned `error` has locked, if it has. */
LEE_1_INLINE int lee_1_rwlock_got(struct lee_rwlock *lock, int error)
{
	if (error == 0)
		LEE_1_ACQUIRED(lock);
	return error;
}

/*
 * Locks for reading, waiting as long as that takes.
 *
 * EAGAIN: 1,048,574 readers are inside, which takes locks that were never unlocked. A
 * line on standard error says so.
 */
LEE_1_INLINE int lee_rwlock_rdlock(struct lee_rwlock *lock)
{
	if (LEE_1_LIKELY(lee_1_rwlock_enter(&lock->lee_1_state)))
		return 0;
	return lee_1_rwlock_got(lock, lee_1_rwlock_rdlock_slow(lock, false));
}

/*
 * Locks for reading, on a thread that may hold the lock for reading already. It
 * overtakes waiting writers while any reader is inside, so that such calls may starve
 * writers. Errors: those of lee_rwlock_rdlock().
 */
LEE_1_INLINE int lee_rwlock_rdlock_recursive(struct lee_rwlock *lock)
{
	if (LEE_1_LIKELY(lee_1_rwlock_enter(&lock->lee_1_state)))
		return 0;
	return lee_1_rwlock_got(lock, lee_1_rwlock_rdlock_slow(lock, true));
}

/*
 * Locks for reading, if that is possible without waiting.
 *
 * EBUSY: a writer holds the lock, or waits for it.
 */
LEE_1_INLINE int lee_rwlock_tryrdlock(struct lee_rwlock *lock)
{
	if (LEE_1_LIKELY(lee_1_rwlock_enter(&lock->lee_1_state)))
		return 0;
	return lee_1_rwlock_got(lock, lee_1_rwlock_tryrdlock_slow(lock));
}

/*
 * Locks for reading, waiting until the deadline at most. Errors: ETIMEDOUT, EINVAL,
 * and those of lee_rwlock_rdlock().
 */
LEE_1_INLINE int lee_rwlock_timedrdlock(struct lee_rwlock *lock, const struct timespec *deadline)
{
	if (LEE_1_LIKELY(lee_1_rwlock_enter(&lock->lee_1_state)))
		return 0;
	return lee_1_rwlock_got(lock, lee_1_rwlock_timedrdlock_slow(lock, deadline));
}

/*
 * Unlocks a lock that is held for reading. (Where no reader holds it, a line on
 * standard error says so and nothing else happens, if no other thread uses the lock.)
 */
LEE_1_INLINE void lee_rwlock_rdunlock(struct lee_rwlock *lock)
{
	uint32_t state;

	LEE_1_RELEASING(lock);
	if (LEE_1_UNLIKELY(!lee_1_rwlock_leave(&lock->lee_1_state, &state)))
		lee_1_rwlock_rdunlock_slow(lock, state);
}

/* Locks for writing, waiting as long as that takes. */
LEE_1_INLINE void lee_rwlock_wrlock(struct lee_rwlock *lock)
{
	if (LEE_1_UNLIKELY(!lee_1_rwlock_take(&lock->lee_1_state))) {
		lee_1_rwlock_wrlock_slow(lock);
		LEE_1_ACQUIRED(lock);
	}
}

/*
 * Locks for writing, if that is possible without waiting.
 *
 * EBUSY: a thread is inside, or a reader waits that was bypassed before.
 */
LEE_1_INLINE int lee_rwlock_trywrlock(struct lee_rwlock *lock)
{
	if (LEE_1_LIKELY(lee_1_rwlock_take(&lock->lee_1_state)))
		return 0;
	return lee_1_rwlock_got(lock, lee_1_rwlock_trywrlock_slow(lock));
}

/* Locks for writing, waiting until the deadline at most. Errors: ETIMEDOUT, EINVAL. */
LEE_1_INLINE int lee_rwlock_timedwrlock(struct lee_rwlock *lock, const struct timespec *deadline)
{
	if (LEE_1_LIKELY(lee_1_rwlock_take(&lock->lee_1_state)))
		return 0;
	return lee_1_rwlock_got(lock, lee_1_rwlock_timedwrlock_slow(lock, deadline));
}

/*
 * Unlocks a lock that is held for writing. (Where no writer holds it, a line on
 * standard error says so and nothing else happens.)
 */
LEE_1_INLINE void lee_rwlock_wrunlock(struct lee_rwlock *lock)
{
	LEE_1_RELEASING(lock);
	if (LEE_1_UNLIKELY(!lee_1_rwlock_leave_writing(&lock->lee_1_state)))
		lee_1_rwlock_wrunlock_slow(lock);
}

/* Makes the writer a reader: no other writer comes between, and waiting readers are let in. */
LEE_1_INLINE void lee_rwlock_downgrade(struct lee_rwlock *lock)
{
	LEE_1_RELEASING(lock);
	lee_1_rwlock_downgrade(lock);
}

LEE_1_END

#endif
