/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu/pointer.h, leeward's: publishing pointers and following them, in every flavour.
 *
 * Each argument is evaluated once, and a result has the type of the pointer. The pointers may be
 * const, volatile, and to incomplete types; a value that cannot be compared with the pointer is
 * diagnosed by the compiler. All are expanded inline, in every mode, safe in signal handlers, and
 * leave errno alone. The _rcu_ forms are the same, for programs that redefine the others.
 */
#ifndef LEEWARD_COMPAT_URCU_POINTER_H
#define LEEWARD_COMPAT_URCU_POINTER_H

#include "arch.h"
#include "compiler.h"
#include "leeward/atomic.h"
#include "system.h"
#include "uatomic.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Returns non-zero if a and b are equal, and hides it from the compiler: it then cannot use one
 * pointer in place of another, and so lose the order of loads through what rcu_dereference()
 * returned.
 */
static inline int cmm_ptr_eq(const void *a, const void *b)
{
    __asm__("" : "+r"(a));
    __asm__("" : "+r"(b));
    return a == b;
}

/*
 * The same operations as functions, exported by each flavour's library for programs that were
 * compiled to call them. rcu_dereference_sym() is given the pointer that its caller has loaded;
 * rcu_dereference_sym2() loads it.
 */
void *rcu_dereference_sym(void *p);
void *rcu_dereference_sym2(void **p);
void *rcu_set_pointer_sym(void **p, void *v);
void *rcu_xchg_pointer_sym(void **p, void *v);
void *rcu_cmpxchg_pointer_sym(void **p, void *old, void *_new);

#ifdef __cplusplus
}
#endif

/* `v`, if it is of a type that can stand beside the pointer at `p`. */
#define LEE_1_URCU_LIKE(p, v) (1 ? (v) : *(p))

/*
 * Loads the pointer p, an lvalue, inside a section. Loads through the result see what was stored
 * before rcu_assign_pointer() or another of these published it.
 *
 * Consume: partner of the release in rcu_set_pointer(). Before C11 and C++11, and where a program
 * defines URCU_DEREFERENCE_USE_VOLATILE, a volatile load, whose order rests on the processor's
 * respect for dependent addresses; never so on Alpha, which has none, or beside ThreadSanitizer.
 */
#if (defined(URCU_DEREFERENCE_USE_VOLATILE) || \
     (!defined(__cplusplus) && (!defined(__STDC_VERSION__) || __STDC_VERSION__ < 201112L))) && \
    !defined(URCU_ARCH_ALPHA) && !defined(LEE_1_URCU_TSAN)
#define _rcu_dereference(p) (__extension__({ CMM_LOAD_SHARED(p); }))
#else
#define _rcu_dereference(p) __atomic_load_n((volatile __typeof__(p) *)&(p), __ATOMIC_CONSUME)
#endif

/*
 * Stores the pointer v to *p. A void expression. What was stored before is seen by readers that
 * follow the pointer.
 *
 * Release: partner of the consume in rcu_dereference().
 */
#define _rcu_set_pointer(p, v) \
    __atomic_store_n(LEE_1_URCU_AT(p), (LEE_1_URCU_TYPE(p))LEE_1_URCU_LIKE(p, v), __ATOMIC_RELEASE)

/* rcu_set_pointer() of the lvalue p. */
#define _rcu_assign_pointer(p, v) _rcu_set_pointer(&(p), v)

/* Stores the pointer v to *p and returns the pointer from before. A full fence. */
#define _rcu_xchg_pointer(p, v) uatomic_xchg_mo(p, LEE_1_URCU_LIKE(p, v), CMM_SEQ_CST_FENCE)

/*
 * Stores the pointer _new to *p if it was old, and returns the pointer found: old if it was
 * stored. An expression. A full fence if it was stored; no order if not.
 */
#define _rcu_cmpxchg_pointer(p, old, _new) \
    uatomic_cmpxchg_mo(p, LEE_1_URCU_LIKE(p, old), LEE_1_URCU_LIKE(p, _new), CMM_SEQ_CST_FENCE, CMM_RELAXED)

#define rcu_dereference(p) _rcu_dereference(p)
#define rcu_set_pointer(p, v) _rcu_set_pointer(p, v)
#define rcu_assign_pointer(p, v) _rcu_assign_pointer(p, v)
#define rcu_xchg_pointer(p, v) _rcu_xchg_pointer(p, v)
#define rcu_cmpxchg_pointer(p, old, _new) _rcu_cmpxchg_pointer(p, old, _new)

#endif
