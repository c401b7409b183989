/*
 * What the headers of locks share: the words of locks and the uncontended half of
 * their calls. Programs include the headers of the locks, each of which includes
 * this one.
 *
 * The words are those of the library's Rust types, bit for bit, so that C and Rust
 * share a lock. Their tables are in the book, on the page about locks.
 */
#ifndef LEEWARD_LOCK_WORDS_H
#define LEEWARD_LOCK_WORDS_H

#include <leeward/abi.h>
#include <errno.h>
#include <stdbool.h>
#include <time.h>

LEE_1_BEGIN

struct timespec;

/*
 * The thread sanitizer sees the atomic operations of inline functions, and not
 * those of the library: it is told of them here.
 */
#if defined(__SANITIZE_THREAD__)
#define LEE_1_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LEE_1_TSAN 1
#endif
#endif
#ifdef LEE_1_TSAN
void __tsan_acquire(void *address);
void __tsan_release(void *address);
#define LEE_1_ACQUIRED(lock) __tsan_acquire((void *)(lock))
#define LEE_1_RELEASING(lock) __tsan_release((void *)(lock))
#else
#define LEE_1_ACQUIRED(lock) ((void)(lock))
#define LEE_1_RELEASING(lock) ((void)(lock))
#endif

/*
 * The word of a mutex: 0 is unlocked, 1 is locked. The other bits are marks of
 * threads that wait: 1 contended, 2 reserved for them, 3-31 how many asked for that.
 */
#define LEE_1_MUTEX_LOCKED UINT32_C(1)

/* Takes a mutex whose word is 0; else returns false, and the word in `word`. */
LEE_1_INLINE bool lee_1_mutex_take(uint32_t *mutex, uint32_t *word)
{
	*word = 0;
	/* Acquire: partner of the release in lee_1_mutex_leave. Relaxed on failure: nothing was learnt. */
	return __atomic_compare_exchange_n(mutex, word, LEE_1_MUTEX_LOCKED, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* Unlocks a mutex whose word has no marks; else returns false. */
LEE_1_INLINE bool lee_1_mutex_leave(uint32_t *mutex)
{
	uint32_t word = LEE_1_MUTEX_LOCKED;
	/* Release: what was done under the lock happens before the next holder's acquire. */
	return __atomic_compare_exchange_n(mutex, &word, 0, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

/*
 * The state of a readers-writer lock: bits 0-19 count readers, all ones: a writer;
 * bit 31: writers may sleep, so readers that arrive stay out. The others are marks.
 */
#define LEE_1_RWLOCK_READER UINT32_C(1)
#define LEE_1_RWLOCK_READERS UINT32_C(0x000fffff)
#define LEE_1_RWLOCK_WRITER LEE_1_RWLOCK_READERS
#define LEE_1_RWLOCK_WRITERS_WAIT UINT32_C(0x80000000)

/* Makes one attempt to enter a lock without writers as a reader. */
LEE_1_INLINE bool lee_1_rwlock_enter(uint32_t *lock)
{
	/* Relaxed: the exchange decides. */
	uint32_t state = __atomic_load_n(lock, __ATOMIC_RELAXED);

	if ((state & LEE_1_RWLOCK_READERS) >= LEE_1_RWLOCK_WRITER - 1 || (state & LEE_1_RWLOCK_WRITERS_WAIT) != 0)
		return false;
	/* Acquire: partner of the release in lee_1_rwlock_leave_writing. Relaxed on failure: as above. */
	return __atomic_compare_exchange_n(lock, &state, state + LEE_1_RWLOCK_READER, true, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

/*
 * Leaves a lock as a reader. Returns false if there is more to do, and the state
 * before in `state`: writers wait, or no reader was inside.
 */
LEE_1_INLINE bool lee_1_rwlock_leave(uint32_t *lock, uint32_t *state)
{
	/* Release: what was read under the lock was read before a writer writes. */
	*state = __atomic_fetch_sub(lock, LEE_1_RWLOCK_READER, __ATOMIC_RELEASE);
	/* From 1 reader to as many as can be, and no writer waits. */
	return (*state & (LEE_1_RWLOCK_READERS | LEE_1_RWLOCK_WRITERS_WAIT)) - 1 < LEE_1_RWLOCK_WRITER - 1;
}

/* Makes one attempt to take a lock that no thread holds or waits for, as a writer. */
LEE_1_INLINE bool lee_1_rwlock_take(uint32_t *lock)
{
	uint32_t state = 0;
	/* Acquire: partner of the releases of those who leave. Relaxed on failure: nothing was learnt. */
	return __atomic_compare_exchange_n(lock, &state, LEE_1_RWLOCK_WRITER, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

/* Leaves a lock without marks as a writer; else returns false. */
LEE_1_INLINE bool lee_1_rwlock_leave_writing(uint32_t *lock)
{
	uint32_t state = LEE_1_RWLOCK_WRITER;
	/* Release: what was done under the lock happens before the next holder's acquire. */
	return __atomic_compare_exchange_n(lock, &state, 0, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

/*
 * The counts of a condition variable: bits 0-31 count the threads that wait and
 * were not notified.
 */
LEE_1_INLINE bool lee_1_cond_has_waiters(const uint64_t *counts)
{
	/* Relaxed: waiters count themselves under the mutex, which decides which of them came before. */
	return (uint32_t)__atomic_load_n(counts, __ATOMIC_RELAXED) != 0;
}

/* The word of a semaphore: bits 0-30 count permits; bit 31: a thread may sleep. */
#define LEE_1_SEMAPHORE_PERMITS UINT32_C(0x7fffffff)

/* Makes one attempt to take a permit. */
LEE_1_INLINE bool lee_1_semaphore_take(uint32_t *semaphore)
{
	/* Relaxed: the exchange decides. */
	uint32_t word = __atomic_load_n(semaphore, __ATOMIC_RELAXED);

	if ((word & LEE_1_SEMAPHORE_PERMITS) == 0)
		return false;
	/* Acquire: partner of the release that brought the permit. Relaxed on failure: as above. */
	return __atomic_compare_exchange_n(semaphore, &word, word - 1, true, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* The word of an event: bit 0: set. The others are marks. */
#define LEE_1_EVENT_SET UINT32_C(1)

/* Returns true if the event is set. */
LEE_1_INLINE bool lee_1_event_is_set(const uint32_t *event)
{
	/* Acquire: partner of the release that set it. */
	return (__atomic_load_n(event, __ATOMIC_ACQUIRE) & LEE_1_EVENT_SET) != 0;
}

LEE_1_END

#endif
