/*
 * Asymmetric fences: a pair of full fences whose frequent half costs nothing and
 * whose rare half pays for both.
 *
 *     // The frequent side.                // The rare side.
 *     store(&frequent, 1);                 store(&rare, 1);
 *     lee_light();                         if (lee_heavy() != 0) ...;
 *     if (load(&rare)) ...;                if (load(&frequent)) ...;
 *
 * At least one of the two sees the other's store, if each store and load is at
 * least relaxed (__ATOMIC_RELAXED, memory_order_relaxed, volatile).
 *
 * The promise. Let H be a call of lee_heavy() that returned 0, and L a call of
 * lee_light() by any thread of the same process. They behave towards each other as
 * two atomic_thread_fence(memory_order_seq_cst) do: every access before L in its
 * thread is visible to every access after H, or every access before H is visible
 * to every access after L, or both. Two heavy fences order each other likewise,
 * and a heavy fence pairs with any full fence. Two light fences promise nothing to
 * each other, and neither half orders anything between two processes.
 *
 * How. The heavy half is a membarrier() call where the kernel has it; else a signal
 * to each thread. LEEWARD_FENCE in the environment names a strategy (see
 * lee_fence_name). Nothing runs when the library is loaded: the strategy is chosen
 * at the first heavy fence, or by lee_fence_init().
 *
 * fork: the child goes on with its parent's strategy. No call is a cancellation
 * point, and none changes errno.
 */
#ifndef LEEWARD_FENCE_H
#define LEEWARD_FENCE_H

#include <leeward/abi.h>

LEE_1_BEGIN

/* How the heavy fence reaches the other threads, in the order in which it is tried. */
enum lee_fence_strategy {
	LEE_FENCE_NONE = 0,              /* none was chosen yet */
	LEE_FENCE_MEMBARRIER = 1,        /* membarrier(PRIVATE_EXPEDITED): about a microsecond */
	LEE_FENCE_MEMBARRIER_GLOBAL = 2, /* membarrier(GLOBAL): milliseconds, disturbs no thread */
	LEE_FENCE_SIGNAL = 3,            /* a signal to each thread: tens of microseconds for each */
	LEE_FENCE_SYMMETRIC = 4          /* two full fences: not on Linux */
};

/*
 * Executes the frequent half: no instruction. The compiler moves no memory access
 * across it. Async-signal-safe.
 */
LEE_1_INLINE void lee_light(void)
{
	__asm__ __volatile__("" ::: "memory");
}

/*
 * Executes the rare half: a full fence in the caller and, before it returns 0, one
 * in every other thread of the process. It may sleep, allocates nothing, and
 * interrupts the threads that run.
 *
 * Errors: ENOTSUP if no heavy fence is possible here (membarrier, signals to the
 * own threads and sched_setaffinity are all refused). Then the caller has executed a
 * full fence, and the others perhaps none.
 *
 * Async-signal-safe with either membarrier strategy once lee_fence_init() has
 * returned; not with LEE_FENCE_SIGNAL, which holds a lock.
 */
int lee_heavy(void);

/*
 * Chooses and prepares the strategy now rather than at the first heavy fence.
 * Registering with the kernel is immediate while the process has one thread, and
 * may take milliseconds later. Not async-signal-safe.
 *
 * Errors: ENOTSUP if no heavy fence is possible. EINVAL if LEEWARD_FENCE names no
 * strategy; one was chosen all the same.
 */
int lee_fence_init(void);

/* Returns the strategy in use, of enum lee_fence_strategy. Async-signal-safe. */
int lee_fence_strategy(void);

/*
 * Returns the name of a strategy, as LEEWARD_FENCE has it: "membarrier",
 * "membarrier-global", "signal" or "symmetric"; NULL if there is no such strategy.
 */
const char *lee_fence_name(int strategy);

/*
 * Makes the strategy the one in use, after one heavy fence by it. Sound at any
 * time and from any thread, since the light half is the same for all strategies.
 * Not async-signal-safe.
 *
 * Errors: ENOTSUP if it does not work here, and EINVAL if there is no such
 * strategy; the one in use stays.
 */
int lee_fence_force(int strategy);

LEE_1_END

#endif
