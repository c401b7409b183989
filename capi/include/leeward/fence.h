/*
 * lee_heavy(3): a pair of full fences of which one half is free.
 *
 *     // The frequent side.                // The rare side.
 *     store(&frequent, 1);                 store(&rare, 1);
 *     lee_light();                         if (lee_heavy() != 0) ...;
 *     if (load(&rare)) ...;                if (load(&frequent)) ...;
 *
 * Two threads that each store and then look at what the other stored need a full fence
 * between the two, on both sides. Where one side runs often and the other rarely, the
 * frequent side executes lee_light(), which is no instruction, and the rare side
 * lee_heavy(), which pays for both. At least one of the two then sees the other's
 * store.
 *
 * Memory ordering. Let H be a call of lee_heavy() that returned 0, and L a call of
 * lee_light() by any thread of the same process. They behave towards each other as two
 * calls of `atomic_thread_fence(memory_order_seq_cst)` do: every access before L in
 * its thread is visible to every access after H, or every access before H is visible
 * to every access after L, or both. Two heavy fences order each other likewise, and a
 * heavy fence pairs with any full fence. Two light fences promise nothing to each
 * other, and neither half orders anything between two processes. The accesses
 * themselves are atomic, relaxed at least (`__ATOMIC_RELAXED`, `memory_order_relaxed`,
 * `volatile`).
 *
 * Cost. A heavy fence takes about a microsecond on bare processors, and more on
 * virtual machines whose interrupts are slow. Each processor that runs a thread of the
 * process is interrupted once. The call may sleep, and allocates nothing.
 *
 * Signals. lee_light() is async-signal-safe. lee_heavy() is, with either strategy of
 * membarrier(2), once lee_fence_init() has returned; with LEE_FENCE_SIGNAL it holds a
 * lock, and is not.
 *
 * Fork. The child goes on with its parent's strategy.
 *
 * See also lee_memory_model(7).
 */
#ifndef LEEWARD_FENCE_H
#define LEEWARD_FENCE_H

#include <leeward/abi.h>

LEE_1_BEGIN

/* Executes the frequent half. The compiler moves no memory access across it. */
LEE_1_INLINE void lee_light(void)
{
	__asm__ __volatile__("" ::: "memory");
}

/*
 * Executes the rare half: a full fence in the caller and, before it returns 0, one in
 * every other thread of the process, at some point during the call. It is one call of
 * membarrier(2) where the kernel has it, else a signal to each thread; see
 * lee_fence_init().
 *
 * ENOTSUP: no heavy fence is possible: membarrier(2), signals to the own threads and
 * sched_setaffinity(2) are all refused. The caller has executed a full fence, and the
 * other threads perhaps none.
 */
int lee_heavy(void);

/*
 * lee_fence_init(3): choose how the heavy fence reaches the threads.
 *
 * Nothing runs when the library is loaded: the strategy of lee_heavy() is chosen at
 * the first heavy fence, as the first of enum lee_fence_strategy that works, unless
 * LEEWARD_FENCE names another.
 *
 * LEE_FENCE_MEMBARRIER: the kernel's membarrier(2) for one process, since Linux 4.14.
 * LEE_FENCE_MEMBARRIER_GLOBAL: the kernel's membarrier(2) for all processes, since
 * Linux 4.3.
 * LEE_FENCE_SIGNAL: a signal to each thread, which answers from its handler: SIGURG,
 * or a real-time signal where the program handles that. Threads that do not answer,
 * because they block it, are reached by visiting all processors.
 *
 * Environment. LEEWARD_FENCE names a strategy: `membarrier`, `membarrier-global`,
 * `signal`, or `auto`, which means what no value means. It is read once, as it was
 * when the program was started. Another name counts for nothing: lee_fence_init()
 * returns EINVAL, and where it was not called, the first heavy fence writes one line to
 * standard error.
 *
 * Sandboxes. Where a filter of seccomp(2) is in force, a child process makes the calls
 * first, because the filter may answer by killing.
 *
 * Signals. lee_fence_strategy() and lee_fence_name() are async-signal-safe, the others
 * are not.
 *
 * Fork. The child of a fork goes on with its parent's strategy.
 */

/* How the heavy fence reaches the other threads, in the order in which it is tried. */
enum lee_fence_strategy {
	LEE_FENCE_NONE = 0,              /* none was chosen yet */
	LEE_FENCE_MEMBARRIER = 1,        /* membarrier(PRIVATE_EXPEDITED): about a microsecond */
	LEE_FENCE_MEMBARRIER_GLOBAL = 2, /* membarrier(GLOBAL): milliseconds, disturbs no thread */
	LEE_FENCE_SIGNAL = 3,            /* a signal to each thread: tens of microseconds for each */
	LEE_FENCE_SYMMETRIC = 4          /* two full fences: not on Linux */
};

/*
 * Chooses and prepares the strategy now. To register with the kernel is immediate
 * while the process has one thread, and may take milliseconds later.
 *
 * ENOTSUP: no heavy fence is possible.
 * EINVAL: LEEWARD_FENCE names no strategy; one was chosen all the same.
 */
int lee_fence_init(void);

/* Returns the strategy in use, of enum lee_fence_strategy. */
int lee_fence_strategy(void);

/*
 * Returns the name of a strategy, as LEEWARD_FENCE has it, or `symmetric`; and NULL if
 * there is no such strategy.
 */
const char *lee_fence_name(int strategy);

/*
 * Makes the strategy the one in use, after one heavy fence by it. That is sound at any
 * time and from any thread, since the light half is the same for all.
 *
 * ENOTSUP: the strategy does not work here, and the one in use stays.
 * EINVAL: there is no such strategy, and the one in use stays.
 */
int lee_fence_force(int strategy);

LEE_1_END

#endif
