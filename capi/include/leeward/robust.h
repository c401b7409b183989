/*
 * lee_robust_mutex_lock(3): a mutex that survives the death of its owner.
 *
 *     struct account {
 *             struct lee_robust_mutex mutex;
 *             uint64_t balance[2];
 *     };
 *
 *     switch (lee_robust_mutex_lock(&account->mutex)) {
 *     case EOWNERDEAD:
 *             ... make balance[] whole again ...
 *             lee_robust_mutex_consistent(&account->mutex);
 *             break;
 *     case 0:
 *             break;
 *     default:
 *             return;
 *     }
 *     ...
 *     lee_robust_mutex_unlock(&account->mutex);
 *
 * A robust mutex is for threads and processes that may be killed while they hold it.
 * It may lie in memory that several processes share, such as a region of
 * lee_region_open(). Zeroed memory is an unlocked mutex, and there is nothing to
 * initialize or destroy.
 *
 * If the last owner died with the lock, the next locker has the lock and is told so.
 * It makes the data whole, and calls lee_robust_mutex_consistent(). If it unlocks
 * without having done so, no thread gets the lock again:
 *
 *     the lock was                its owner                       the next locker gets
 *     usable                      unlocked it                     0
 *     usable, or being repaired   died                            EOWNERDEAD, and the lock
 *     given with EOWNERDEAD       marked it consistent, unlocked  0
 *     given with EOWNERDEAD       unlocked it                     ENOTRECOVERABLE, forever
 *
 * To die is to be killed, to exit, as a thread or as a process, or to call execve(2).
 * An owner that is killed while it locks or unlocks is reported as dead although its
 * data is whole.
 *
 * How it works. The kernel walks a list of the robust locks that a thread holds when
 * that exits (get_robust_list(2)). These locks join the list of the C library, and mix
 * with robust mutexes of pthread.
 *
 * Where it may lie. While a thread holds the mutex, it is linked by its address: it
 * neither moves, nor is unmapped or freed, then, nor before each call of lock and
 * unlock on it has returned. In memory that processes share, each of them is trusted
 * to follow the protocol, and they are of one pid namespace.
 *
 * Limits. The kernel stops after 2,048 locks of a dying thread. A waiter for such a
 * lock gets ESRCH after 30 seconds, or at its deadline; so do waiters for a word that
 * was overwritten. The lock works with glibc only, on 64-bit systems.
 *
 * Cost. A compare-exchange locks a free mutex and another unlocks it, with a dozen
 * plain loads and stores, by call. Waiters spin shortly, then sleep.
 *
 * Memory ordering. What was done under the lock, also by an owner that died, happens
 * before the return of the next call that locks it.
 *
 * Signals. A signal handler may neither lock nor unlock.
 *
 * Fork. The child holds nothing: the parent holds its locks, and in the child to
 * unlock them returns EPERM. Children of fork(2), _Fork() and raw clone(2) may lock;
 * the child of vfork(2) may not.
 *
 * Cancellation. No function is a cancellation point. A thread that exits with the
 * lock, as one that is cancelled does, has died with it.
 *
 * Rust. The lock is `leeward::robust::Mutex` of Rust, whose value lies behind it, at
 * offset 40 or the next multiple of the value's alignment.
 *
 * See also lee_shared_mutex_lock(3).
 */
#ifndef LEEWARD_ROBUST_H
#define LEEWARD_ROBUST_H

#include <leeward/deadline.h>

LEE_1_BEGIN

/* A robust mutex. Programs use its address only. */
struct lee_robust_mutex {
	LEE_1_ALIGNED(8) uint32_t lee_1_words[6];
	uint64_t lee_1_links[2];
};
LEE_1_ASSERT(sizeof(struct lee_robust_mutex) == 40, "the mutex is a part of the binary interface");

#define LEE_ROBUST_MUTEX_INIT { { 0, 0, 0, 0, 0, 0 }, { 0, 0 } }

int lee_1_robust_mutex_lock(struct lee_robust_mutex *mutex);
int lee_1_robust_mutex_trylock(struct lee_robust_mutex *mutex);
int lee_1_robust_mutex_timedlock(struct lee_robust_mutex *mutex, const struct timespec *deadline);
int lee_1_robust_mutex_unlock(struct lee_robust_mutex *mutex);

/* Tells the thread sanitizer that a call that returned `error` has locked, if it has. */
LEE_1_INLINE int lee_1_robust_mutex_got(struct lee_robust_mutex *mutex, int error)
{
	if (error == 0 || error == EOWNERDEAD)
		LEE_1_ACQUIRED(mutex);
	return error;
}

/*
 * Locks the mutex, waiting as long as that takes.
 *
 * EOWNERDEAD: the caller has the lock, and the last owner died with it.
 * ENOTRECOVERABLE: an owner died, and the next one did not make the data whole.
 * EDEADLK: the calling thread holds the lock already. A line on standard error says
 * so.
 * ESRCH: the lock is held by a thread that does not exist; see Limits, and
 * lee_robust_mutex_declare_owner_dead().
 * ENOTSUP: the calling thread has no robust list that can be used, as with a C library
 * other than glibc.
 */
LEE_1_INLINE int lee_robust_mutex_lock(struct lee_robust_mutex *mutex)
{
	return lee_1_robust_mutex_got(mutex, lee_1_robust_mutex_lock(mutex));
}

/*
 * Locks the mutex, if that is possible without waiting. Errors: EOWNERDEAD,
 * ENOTRECOVERABLE, ENOTSUP.
 *
 * EBUSY: a thread holds the lock, which may be the caller.
 */
LEE_1_INLINE int lee_robust_mutex_trylock(struct lee_robust_mutex *mutex)
{
	return lee_1_robust_mutex_got(mutex, lee_1_robust_mutex_trylock(mutex));
}

/*
 * Locks the mutex, waiting until the deadline at most. (A deadline that is none is
 * noticed at once.) Errors: ETIMEDOUT, EINVAL, and those of lee_robust_mutex_lock().
 */
LEE_1_INLINE int lee_robust_mutex_timedlock(struct lee_robust_mutex *mutex, const struct timespec *deadline)
{
	return lee_1_robust_mutex_got(mutex, lee_1_robust_mutex_timedlock(mutex, deadline));
}

/*
 * Unlocks the mutex, which the calling thread holds. If that was told EOWNERDEAD and
 * has not called lee_robust_mutex_consistent() since, no thread gets the lock again.
 *
 * EPERM: the calling thread does not hold the lock. A line on standard error says so,
 * and nothing has changed.
 */
LEE_1_INLINE int lee_robust_mutex_unlock(struct lee_robust_mutex *mutex)
{
	LEE_1_RELEASING(mutex);
	return lee_1_robust_mutex_unlock(mutex);
}

/*
 * Says that the data is whole again, on the thread that was told EOWNERDEAD and holds
 * the lock.
 *
 * EINVAL: the calling thread was not told EOWNERDEAD, or does not hold the lock. A
 * line on standard error says so.
 */
int lee_robust_mutex_consistent(struct lee_robust_mutex *mutex);

/* Returns true if the lock is unusable forever. */
bool lee_robust_mutex_is_unrecoverable(const struct lee_robust_mutex *mutex);

/*
 * Returns the number of the thread that held the lock, as gettid(2) returns it there,
 * or 0 if none did. That may be over when it returns, unless the number is the
 * caller's own.
 */
uint32_t lee_robust_mutex_owner(const struct lee_robust_mutex *mutex);

/*
 * Frees a lock that the kernel did not reach (ESRCH): the next locker gets EOWNERDEAD.
 * The caller knows that the thread of the number `owner` is dead, in every pid
 * namespace. Errors: ENOTSUP.
 *
 * EINVAL: the thread of that number does not hold the lock.
 */
int lee_robust_mutex_declare_owner_dead(struct lee_robust_mutex *mutex, uint32_t owner);

LEE_1_END

#endif
