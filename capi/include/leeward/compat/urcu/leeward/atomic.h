/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu/leeward/atomic.h: what urcu/uatomic.h and urcu/pointer.h are made of: the type behind an
 * address, memory orders, and the full fence after an operation. Programs do not include this.
 *
 * The operations are the compiler's __atomic builtins on the type the program gave, and so work
 * for const, volatile and incomplete types, in C and in C++, and under ThreadSanitizer. Where a
 * value must survive a fence, C keeps it in a compound literal and C++ in a function's argument:
 * neither has a name, so that one operation can be an argument of another without shadowing it.
 */
#ifndef LEEWARD_COMPAT_URCU_LEEWARD_ATOMIC_H
#define LEEWARD_COMPAT_URCU_LEEWARD_ATOMIC_H

#include "../arch.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Memory orders. The first six are the compiler's; CMM_SEQ_CST_FENCE is a sequentially consistent
 * operation that a full fence follows.
 */
enum cmm_memorder {
    CMM_RELAXED = 0,
    CMM_CONSUME = 1,
    CMM_ACQUIRE = 2,
    CMM_RELEASE = 3,
    CMM_ACQ_REL = 4,
    CMM_SEQ_CST = 5,
    CMM_SEQ_CST_FENCE = 6
};

/* A full fence if `needed`, which is a constant wherever the order is one. */
static inline __attribute__((__always_inline__)) void lee_1_urcu_fence_if(int needed)
{
    if (needed)
        cmm_smp_mb();
}

/*
 * The fence of one of two outcomes. (As a function: where both are the same, compilers would warn of
 * a condition in a macro.)
 */
static inline __attribute__((__always_inline__)) void lee_1_urcu_fence_of(int outcome, int if_true, int if_false)
{
    lee_1_urcu_fence_if(outcome ? if_true : if_false);
}

#ifdef __cplusplus
}
#endif

/* The orders the builtins know are theirs. */
#define LEE_1_URCU_ORDER(mo) ((int)(mo) == (int)CMM_SEQ_CST_FENCE ? __ATOMIC_SEQ_CST : (int)(mo))

/* True if a fence must follow a load; a store or a read-modify-write. */
#define LEE_1_URCU_FENCE_LOAD(mo) ((int)(mo) == (int)CMM_SEQ_CST_FENCE)
#define LEE_1_URCU_FENCE_RMW(mo) ((int)(mo) == (int)CMM_SEQ_CST_FENCE && !LEE_1_URCU_RMW_IS_FENCE)

/*
 * The type `addr` points to, without qualifiers: the type of what a load returns. Nothing is
 * evaluated.
 */
#define LEE_1_URCU_TYPE(addr) __typeof__(__atomic_load_n((addr), __ATOMIC_RELAXED))

/* The sizes that have atomic operations, beside int's. Bytes and shorts need an instruction. */
#define UATOMIC_HAS_ATOMIC_INT 1
#if __GCC_ATOMIC_CHAR_LOCK_FREE == 2
#define UATOMIC_HAS_ATOMIC_BYTE 1
#define LEE_1_URCU_HAS_BYTE 1
#else
#define LEE_1_URCU_HAS_BYTE 0
#endif
#if __GCC_ATOMIC_SHORT_LOCK_FREE == 2
#define UATOMIC_HAS_ATOMIC_SHORT 1
#define LEE_1_URCU_HAS_SHORT 1
#else
#define LEE_1_URCU_HAS_SHORT 0
#endif
#if CAA_BITS_PER_LONG == 64
#define UATOMIC_HAS_ATOMIC_LLONG 1
#define LEE_1_URCU_HAS_LLONG 1
#else
#define LEE_1_URCU_HAS_LLONG 0
#endif
#define LEE_1_URCU_HAS_SIZE(size)                                               \
    ((size) == 4 || ((size) == 1 && LEE_1_URCU_HAS_BYTE) || ((size) == 2 && LEE_1_URCU_HAS_SHORT) || \
     ((size) == 8 && LEE_1_URCU_HAS_LLONG))

/*
 * The address, as one that the compiler accesses exactly as written. Adding 0 is the check of the
 * size: an array of negative size stands for "no atomic operation of this size here".
 */
#define LEE_1_URCU_AT(addr) \
    ((volatile __typeof__(*(addr)) *)(addr) + CAA_BUILD_BUG_ON_ZERO(!LEE_1_URCU_HAS_SIZE(sizeof(*(addr)))))

/* LEE_1_URCU_THEN: `value`, of `type`, after a full fence if `needed`. */
#ifdef __cplusplus
extern "C++" {
template <typename T> static inline __attribute__((__always_inline__)) T lee_1_urcu_then(T value, int needed)
{
    lee_1_urcu_fence_if(needed);
    return value;
}
}
#define LEE_1_URCU_THEN(type, value, needed) (lee_1_urcu_then<type>((value), (needed)))
#else
static inline __attribute__((__always_inline__)) void *lee_1_urcu_then(void *value, int needed)
{
    lee_1_urcu_fence_if(needed);
    return value;
}
#define LEE_1_URCU_THEN(type, value, needed) \
    (__extension__({ *(type *)lee_1_urcu_then(&(type){ value }, (needed)); }))
#endif

/*
 * The order of a compare and exchange that succeeds. A compiler wants it to be no weaker than that
 * of a failure, which programs may ask for: then both are sequentially consistent.
 */
#define LEE_1_URCU_SUCCESS(success, failure) \
    (LEE_1_URCU_ORDER(success) < LEE_1_URCU_ORDER(failure) ? __ATOMIC_SEQ_CST : LEE_1_URCU_ORDER(success))

/*
 * Compare and exchange: the value found. `success` is the order if it is `expected`, and `failure`
 * the order of the load if it is not.
 */
#define LEE_1_URCU_CMPXCHG(addr, expected, desired, success, failure)                                       \
    (__extension__({                                                                                        \
        LEE_1_URCU_TYPE(addr) lee_1_found_ = (LEE_1_URCU_TYPE(addr))(expected);                             \
        lee_1_urcu_fence_of(__atomic_compare_exchange_n(LEE_1_URCU_AT(addr), &lee_1_found_,                 \
                                                        (LEE_1_URCU_TYPE(addr))(desired), 0,                \
                                                        LEE_1_URCU_SUCCESS(success, failure),               \
                                                        LEE_1_URCU_ORDER(failure)),                         \
                            LEE_1_URCU_FENCE_RMW(success), LEE_1_URCU_FENCE_LOAD(failure));                 \
        lee_1_found_;                                                                                       \
    }))

/* The third, fourth, sixth argument: behind a macro's own arguments, the one their number picks. */
#define LEE_1_URCU_3RD(a, b, c, ...) c
#define LEE_1_URCU_4TH(a, b, c, d, ...) d
#define LEE_1_URCU_6TH(a, b, c, d, e, f, ...) f

#endif
