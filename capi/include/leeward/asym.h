/*
 * lee_asym_rwlock_rdlock(3): a readers-writer lock whose readers share no cache line.
 *
 *     static struct lee_asym_rwlock lock = LEE_ASYM_RWLOCK_INIT;
 *
 *     if (lee_asym_rwlock_rdlock(&lock) == 0) {
 *             ...
 *             lee_asym_rwlock_rdunlock(&lock);
 *     }
 *
 * The lock is for data that is read far more often than it is written, and for the
 * threads of one process. Zeroed memory is an unlocked lock, too, and there is nothing
 * to destroy. (It is one for Rust, as leeward's `asym::RawRwLock`, from the first call
 * of C on.)
 *
 * A reader stores into a slot of its own thread, without a fence or an atomic
 * read-modify-write; readers share no cache line that is written. A writer takes an
 * ordinary lock; if readers have come since the last write, it issues a heavy fence
 * (lee_heavy()) and waits for the slots. For 10 to 100 microseconds after that,
 * readers take the ordinary lock, too.
 *
 * The thread that locked for reading unlocks. Reads of one thread nest, past writers
 * that wait. A thread that writes the lock already and asks for it again waits
 * forever.
 *
 * Cost. To lock and unlock for reading are calls, each of which finds the thread's
 * slot: some 60 instructions together, none of them locked. (A section of RCU is
 * inline, and several times as fast.) The write that follows reads costs a heavy
 * fence. A thread's first read registers a block of 128 bytes, which allocates; the
 * block is given back when the thread exits. Where no heavy fence is possible, the
 * lock is an ordinary one.
 *
 * Fairness, memory ordering. They are those of lee_rwlock_rdlock().
 *
 * Lifetime. The lock lives until each call on it has returned. The memory may be used
 * for another lock while a thread that forgot to unlock is still counted as a reader
 * of this one.
 *
 * Signals. No function is async-signal-safe.
 *
 * Fork. In the child, the lock is no longer held by other threads that read it by
 * their slots. What other threads held in another way stays locked.
 *
 * Cancellation and thread exit. No function is a cancellation point. A thread that
 * exits with the lock leaves it locked forever.
 *
 * See also lee_rcu(7).
 */
#ifndef LEEWARD_ASYM_H
#define LEEWARD_ASYM_H

#include <leeward/deadline.h>

LEE_1_BEGIN

/* A readers-writer lock that is biased towards its readers. Programs use its address only. */
struct lee_asym_rwlock {
	LEE_1_ALIGNED(8) uint64_t lee_1_words[4];
};
LEE_1_ASSERT(sizeof(struct lee_asym_rwlock) == 32, "the lock is a part of the binary interface");

#define LEE_ASYM_RWLOCK_INIT { { 1, 0, 0, 0 } }

int lee_1_asym_rwlock_rdlock(struct lee_asym_rwlock *lock);
int lee_1_asym_rwlock_tryrdlock(struct lee_asym_rwlock *lock);
int lee_1_asym_rwlock_timedrdlock(struct lee_asym_rwlock *lock, const struct timespec *deadline);
void lee_1_asym_rwlock_rdunlock(struct lee_asym_rwlock *lock);
int lee_1_asym_rwlock_wrlock(struct lee_asym_rwlock *lock);
int lee_1_asym_rwlock_trywrlock(struct lee_asym_rwlock *lock);
int lee_1_asym_rwlock_timedwrlock(struct lee_asym_rwlock *lock, const struct timespec *deadline);
void lee_1_asym_rwlock_wrunlock(struct lee_asym_rwlock *lock);
void lee_1_asym_rwlock_downgrade(struct lee_asym_rwlock *lock);

/* Tells the thread sanitizer that a call that returned `error` has locked, if it has. */
LEE_1_INLINE int lee_1_asym_rwlock_got(struct lee_asym_rwlock *lock, int error)
{
	if (error == 0)
		LEE_1_ACQUIRED(lock);
	return error;
}

/* Makes the memory, which no thread uses, an unlocked lock. */
LEE_1_INLINE void lee_asym_rwlock_init(struct lee_asym_rwlock *lock)
{
	int i;

	lock->lee_1_words[0] = 1;
	for (i = 1; i < 4; i++)
		lock->lee_1_words[i] = 0;
}

/*
 * Locks for reading. It waits for writers that hold the lock, and for those that wait
 * for it, unless the calling thread reads it already.
 *
 * EAGAIN: more readers than can be counted hold the ordinary lock. A line on standard
 * error says so.
 */
LEE_1_INLINE int lee_asym_rwlock_rdlock(struct lee_asym_rwlock *lock)
{
	return lee_1_asym_rwlock_got(lock, lee_1_asym_rwlock_rdlock(lock));
}

/*
 * Locks for reading, if that is possible without waiting.
 *
 * EBUSY: a writer holds the lock, or waits for it.
 */
LEE_1_INLINE int lee_asym_rwlock_tryrdlock(struct lee_asym_rwlock *lock)
{
	return lee_1_asym_rwlock_got(lock, lee_1_asym_rwlock_tryrdlock(lock));
}

/*
 * Locks for reading, waiting until the deadline at most. Errors: ETIMEDOUT, EINVAL,
 * and those of lee_asym_rwlock_rdlock().
 */
LEE_1_INLINE int lee_asym_rwlock_timedrdlock(struct lee_asym_rwlock *lock, const struct timespec *deadline)
{
	return lee_1_asym_rwlock_got(lock, lee_1_asym_rwlock_timedrdlock(lock, deadline));
}

/*
 * Unlocks a lock that the calling thread holds for reading: one of its reads, if they
 * nest. (Where no reader holds it, a line on standard error says so.)
 */
LEE_1_INLINE void lee_asym_rwlock_rdunlock(struct lee_asym_rwlock *lock)
{
	LEE_1_RELEASING(lock);
	lee_1_asym_rwlock_rdunlock(lock);
}

/*
 * Locks for writing, waiting as long as that takes.
 *
 * EDEADLK: the calling thread reads the lock, and a slot shows it; a thread has four.
 * A line on standard error says so.
 */
LEE_1_INLINE int lee_asym_rwlock_wrlock(struct lee_asym_rwlock *lock)
{
	return lee_1_asym_rwlock_got(lock, lee_1_asym_rwlock_wrlock(lock));
}

/*
 * Locks for writing, if that is possible without waiting.
 *
 * EBUSY: a thread is inside.
 */
LEE_1_INLINE int lee_asym_rwlock_trywrlock(struct lee_asym_rwlock *lock)
{
	return lee_1_asym_rwlock_got(lock, lee_1_asym_rwlock_trywrlock(lock));
}

/*
 * Locks for writing, waiting until the deadline at most. Errors: ETIMEDOUT, EINVAL,
 * and those of lee_asym_rwlock_wrlock().
 */
LEE_1_INLINE int lee_asym_rwlock_timedwrlock(struct lee_asym_rwlock *lock, const struct timespec *deadline)
{
	return lee_1_asym_rwlock_got(lock, lee_1_asym_rwlock_timedwrlock(lock, deadline));
}

/* Unlocks a lock that is held for writing. */
LEE_1_INLINE void lee_asym_rwlock_wrunlock(struct lee_asym_rwlock *lock)
{
	LEE_1_RELEASING(lock);
	lee_1_asym_rwlock_wrunlock(lock);
}

/*
 * Makes the calling thread, which holds the lock for writing, a reader: no other
 * writer comes between.
 */
LEE_1_INLINE void lee_asym_rwlock_downgrade(struct lee_asym_rwlock *lock)
{
	LEE_1_RELEASING(lock);
	lee_1_asym_rwlock_downgrade(lock);
}

LEE_1_END

#endif
