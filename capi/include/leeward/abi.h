/*
 * LEE_VERSION_MAJOR(3): the version of the headers of leeward.
 *
 * The three macros are the numbers of the version of the headers that a program is
 * compiled with, such as 0, 1 and 0 in version 0.1.0. They are integer constants, also
 * for the preprocessor. Every header of leeward defines them. This is the version of
 * November 27, 2026. The library that the program runs with may be a later one of the
 * same soname, as leeward(7) says. LEE_TLS_MODEL is the model of thread-local storage,
 * which LEE_DOMAIN() explains; a program may define it before it includes a header.
 *
 * Every header. All others include this one, which has what they share. Names that
 * begin with `lee_` or `LEE_` are for programs. Those that begin with `lee_1_` or
 * `LEE_1_` are a part of the binary interface, version 1, for the inline functions of
 * the headers alone. What is inlined uses its object at once: a NULL is a fault in the
 * caller's code. Functions that are not inlined end the process with a line for a
 * NULL, unless they say that they take one. A function that can fail returns 0 or a
 * positive number of <errno.h>. No function changes errno, and none is a cancellation
 * point.
 */
#ifndef LEEWARD_ABI_H
#define LEEWARD_ABI_H

#include <stddef.h>
#include <stdint.h>

#define LEE_VERSION_MAJOR 0
#define LEE_VERSION_MINOR 1
#define LEE_VERSION_PATCH 0

#ifdef __cplusplus
#define LEE_1_BEGIN extern "C" {
#define LEE_1_END }
#define LEE_1_ALIGNED(n) alignas(n)
#define LEE_1_ASSERT(condition, message) static_assert(condition, message)
#else
#define LEE_1_BEGIN
#define LEE_1_END
/* C99 has neither, but the compilers do. */
#define LEE_1_ALIGNED(n) __attribute__((__aligned__(n)))
#define LEE_1_ASSERT(condition, message) __extension__ _Static_assert(condition, message)
#endif

/* A function that is inlined at any level of optimization. */
#define LEE_1_INLINE static inline __attribute__((__always_inline__, __unused__))
/* A function that has no effect but its result. */
#define LEE_1_COLD __attribute__((__cold__))

/* How thread-local words are found. LEE_DOMAIN(3) says which programs define it otherwise. */
#ifndef LEE_TLS_MODEL
#define LEE_TLS_MODEL "initial-exec"
#endif
#define LEE_1_THREAD __thread __attribute__((__tls_model__(LEE_TLS_MODEL)))

#define LEE_1_LIKELY(x) __builtin_expect(!!(x), 1)
#define LEE_1_UNLIKELY(x) __builtin_expect(!!(x), 0)

#endif
