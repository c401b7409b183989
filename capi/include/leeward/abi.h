/*
 * What the headers of leeward share: linkage, storage, and the two halves of a
 * static assertion. Programs include the other headers, each of which includes
 * this one.
 *
 * What is inlined uses its object at once: a NULL is a fault in the caller's code.
 * Functions that are not inlined end the process with a line for a NULL, unless they
 * say that they take one.
 *
 * Names that begin with lee_ or LEE_ are for programs. Those that begin with
 * lee_1_ or LEE_1_ are a part of the binary interface, version 1, for the inline
 * functions of these headers alone.
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

/*
 * Thread-local words are found as initial-exec: in a program, and in a shared
 * library that the program links, that is a load or two. A library that is loaded
 * by dlopen takes 8 bytes a domain of a reserve that glibc keeps for this; the C
 * library musl keeps none, and its programs may define LEE_TLS_MODEL as
 * "global-dynamic" before they include any header.
 */
#ifndef LEE_TLS_MODEL
#define LEE_TLS_MODEL "initial-exec"
#endif
#define LEE_1_THREAD __thread __attribute__((__tls_model__(LEE_TLS_MODEL)))

#define LEE_1_LIKELY(x) __builtin_expect(!!(x), 1)
#define LEE_1_UNLIKELY(x) __builtin_expect(!!(x), 0)

#endif
