/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu/compiler.h, leeward's: branch hints, the compiler barrier, volatile accesses, from a member
 * to its structure, and checks at compile time. All of it is expanded or inlined; nothing here
 * needs a library, changes errno, or is unsafe in a signal handler.
 */
#ifndef LEEWARD_COMPAT_URCU_COMPILER_H
#define LEEWARD_COMPAT_URCU_COMPILER_H

#include <stddef.h>

#include "config.h"

/* Set where ThreadSanitizer watches: accesses it should understand are atomic then. */
#if defined(__SANITIZE_THREAD__)
#define LEE_1_URCU_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LEE_1_URCU_TSAN 1
#endif
#endif

/* Pastes two tokens after both are expanded. */
#define CAA_COMBINE_TOKENS_(a, b) a##b
#define CAA_COMBINE_TOKENS(a, b) CAA_COMBINE_TOKENS_(a, b)

/*
 * A union of pointers, as the type of an argument: C callers pass either. C++ has templates
 * instead.
 */
#ifdef __cplusplus
#define LEE_1_URCU_EITHER
#else
#define LEE_1_URCU_EITHER __attribute__((__transparent_union__))
#endif

/* Tells the compiler which outcome of a condition is the usual one. */
#define caa_likely(x) __builtin_expect(!!(x), 1)
#define caa_unlikely(x) __builtin_expect(!!(x), 0)

#ifdef __cplusplus
extern "C" {
#endif

static inline __attribute__((__always_inline__)) void lee_1_urcu_barrier(void)
{
    __asm__ __volatile__("" : : : "memory");
}

/* Returns the address of the structure whose member at `offset` is `member`; NULL for NULL. */
static inline void *lee_1_urcu_container(const volatile void *member, size_t offset)
{
    return member ? (void *)((char *)member - offset) : NULL;
}

#ifdef __cplusplus
}
#endif

/* Keeps the compiler from moving memory accesses across this point. The processor still may. */
#define cmm_barrier() lee_1_urcu_barrier()

/* The lvalue x, accessed exactly once and as a whole where its size allows. */
#define CMM_ACCESS_ONCE(x) (*(volatile __typeof__(x) *)&(x))

/* The pointer, as one to volatile. */
#define cmm_cast_volatile(ptr) ((volatile __typeof__(*(ptr)) *)(ptr))

/*
 * `ptr`, after the compiler has checked that it can point to `member` of `type`. The null pointer
 * is never chosen: it gives the conditional expression its type. `ptr` is evaluated once.
 */
#define LEE_1_URCU_MEMBER(ptr, type, member) (1 ? (ptr) : (__typeof__(((type *)0)->member) *)0)

/*
 * The structure of `type` whose `member` is at `ptr`, which is evaluated once, may be const, and is
 * not NULL.
 */
#define caa_container_of(ptr, type, member) \
    ((type *)(void *)((char *)LEE_1_URCU_MEMBER(ptr, type, member) - offsetof(type, member)))

/* caa_container_of(), and NULL for NULL. */
#define caa_container_of_check_null(ptr, type, member) \
    ((type *)lee_1_urcu_container(LEE_1_URCU_MEMBER(ptr, type, member), offsetof(type, member)))

/*
 * The greater and the smaller of two values. Both arguments are evaluated once. A program's own
 * definitions from before are kept.
 */
#ifdef __cplusplus
extern "C++" {
template <typename A, typename B> constexpr decltype(true ? A() : B()) lee_1_urcu_max(A a, B b)
{
    return a > b ? a : b;
}
template <typename A, typename B> constexpr decltype(true ? A() : B()) lee_1_urcu_min(A a, B b)
{
    return a < b ? a : b;
}
}
#define LEE_1_URCU_MAX(a, b) lee_1_urcu_max((a), (b))
#define LEE_1_URCU_MIN(a, b) lee_1_urcu_min((a), (b))
#else
/* The counter makes the names differ, so that one of these can be an argument of another. */
#define LEE_1_URCU_PICK(a, op, b, first, second) \
    (__extension__ ({                            \
        __typeof__(a) first = (a);               \
        __typeof__(b) second = (b);              \
        first op second ? first : second;        \
    }))
#define LEE_1_URCU_PICK_(a, op, b, n) \
    LEE_1_URCU_PICK(a, op, b, CAA_COMBINE_TOKENS(lee_1_first_, n), CAA_COMBINE_TOKENS(lee_1_second_, n))
#define LEE_1_URCU_MAX(a, b) LEE_1_URCU_PICK_(a, >, b, __COUNTER__)
#define LEE_1_URCU_MIN(a, b) LEE_1_URCU_PICK_(a, <, b, __COUNTER__)
#endif
#ifndef caa_max
#define caa_max(a, b) LEE_1_URCU_MAX(a, b)
#endif
#ifndef caa_min
#define caa_min(a, b) LEE_1_URCU_MIN(a, b)
#endif

/* The number of elements of an array; a constant. */
#define CAA_ARRAY_SIZE(x) (sizeof(x) / sizeof((x)[0]))

/* The bits of a long; usable in #if. */
#define CAA_BITS_PER_LONG (__SIZEOF_LONG__ * 8)

/* Does not compile if the constant condition is true; the second form has the value 0. */
#define CAA_BUILD_BUG_ON(cond) ((void)sizeof(char[(cond) ? -1 : 1]))
#define CAA_BUILD_BUG_ON_ZERO(cond) (sizeof(char[(cond) ? -1 : 1]) - 1)

/* Does not compile if the constant condition is false. `id` is an identifier, new in this scope. */
#if defined(__cplusplus)
#define urcu_static_assert(cond, message, id) static_assert(cond, message)
#else
#define urcu_static_assert(cond, message, id) __extension__ _Static_assert(cond, message)
#endif

/* True if the arithmetic type is a signed one. */
#define caa_is_signed_type(type) ((type)-1 < (type)1)

/* v as a long. Signed values keep their sign; unsigned ones are extended by zeros. */
#define caa_cast_long_keep_sign(v) ((long)(v))

/* A cast that no tool is to doubt: for sparse in C. */
#define URCU_FORCE_CAST(type, x) ((type)(x))

/* Marks a pointer that RCU protects, for readers of the code. */
#define __rcu

/* Marks what is not to be used by new code. */
#define CDS_DEPRECATED(msg) __attribute__((__deprecated__(msg)))

#endif
