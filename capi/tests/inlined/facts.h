/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What liburcu's headers declare and inline with _LGPL_SOURCE, as far as torture.c uses it: written from
 * the binary interface (capi/urcu/flavour/inlined.h), for systems without those headers. FLAVOUR is memb,
 * mb or bp.
 */
#ifndef INLINED_FACTS_H
#define INLINED_FACTS_H

#include <linux/futex.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#define JOIN__(a, b, c) a##b##c
#define JOIN_(a, b, c) JOIN__(a, b, c)
#define X(name) JOIN_(urcu_, FLAVOUR, _##name)

struct rcu_head {
    struct rcu_head *next;
    void (*func)(struct rcu_head *head);
};

extern struct {
    __attribute__((__aligned__(128))) long word;
    int32_t futex;
} X(gp);
void X(register_thread)(void);
void X(unregister_thread)(void);
void X(synchronize_rcu)(void);
void X(call_rcu)(struct rcu_head *head, void (*func)(struct rcu_head *head));
void X(barrier)(void);
int X(read_ongoing)(void);
void X(read_lock)(void);
void X(read_unlock)(void);
void X(call_rcu_before_fork)(void);
void X(call_rcu_after_fork_parent)(void);
void X(call_rcu_after_fork_child)(void);

#ifdef OF_BP
extern __thread long *X(reader);
void X(register)(void);
#else
extern __thread struct {
    __attribute__((__aligned__(128))) long word;
    char rest[248];
} X(reader);
#endif
#ifndef OF_MB
extern int X(has_sys_membarrier);
#endif

static inline void barrier_of_reader(void)
{
#ifdef OF_MB
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#else
    if (X(has_sys_membarrier))
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
    else
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

static inline volatile long *own_word(void)
{
#ifdef OF_BP
    if (!X(reader))
        X(register)();
    return X(reader);
#else
    return &X(reader).word;
#endif
}

static inline void rcu_read_lock(void)
{
    volatile long *own = own_word();

    if ((uint32_t)*own == 0) {
        *own = *(volatile long *)&X(gp).word;
        barrier_of_reader();
    } else {
        ++*own;
    }
}

static inline void rcu_read_unlock(void)
{
    volatile long *own = own_word();

    if ((uint32_t)*own != 1) {
        --*own;
        return;
    }
    barrier_of_reader();
    --*own;
    barrier_of_reader();
#ifndef OF_BP
    if (*(volatile int32_t *)&X(gp).futex == -1) {
        *(volatile int32_t *)&X(gp).futex = 0;
        syscall(SYS_futex, &X(gp).futex, FUTEX_WAKE, 1, NULL, NULL, 0);
    }
#endif
}

static inline int rcu_read_ongoing(void)
{
    return (int)(uint32_t)*own_word();
}

#define rcu_register_thread X(register_thread)
#define rcu_unregister_thread X(unregister_thread)
#define synchronize_rcu X(synchronize_rcu)
#define call_rcu X(call_rcu)
#define rcu_barrier X(barrier)
#define call_rcu_before_fork X(call_rcu_before_fork)
#define call_rcu_after_fork_parent X(call_rcu_after_fork_parent)
#define call_rcu_after_fork_child X(call_rcu_after_fork_child)
#define rcu_dereference(p) __atomic_load_n(&(p), __ATOMIC_CONSUME)
#define rcu_xchg_pointer(p, v) __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST)

#endif
