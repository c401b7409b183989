/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu/futex.h, leeward's: the futex system call, on futexes that processes may share.
 *
 * The functions return what the system call returns, and set errno as it does: -1 with EAGAIN,
 * EINTR, ETIMEDOUT and so on. All are safe in signal handlers here; programs that are to run on
 * liburcu too use futex_async() there, and one of the three for one address. Where a kernel or a
 * filter has no futexes (ENOSYS), futex_noasync() and futex_async() emulate them by looking at the
 * word every millisecond; futex() is the bare call, and fails.
 */
#ifndef LEEWARD_COMPAT_URCU_FUTEX_H
#define LEEWARD_COMPAT_URCU_FUTEX_H

#include <errno.h>
#include <sched.h> /* struct timespec also in strict C99, where <time.h> has none */
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "arch.h"
#include "assert.h"
#include "compiler.h"
#include "leeward/libc.h"

#ifndef FUTEX_WAIT
#define FUTEX_WAIT 0
#endif
#ifndef FUTEX_WAKE
#define FUTEX_WAKE 1
#endif

/* The call whose time has the size of the program's struct timespec. */
#if defined(__NR_futex) && !(__SIZEOF_LONG__ == 4 && defined(__NR_futex_time64) && \
                             (!defined(__GLIBC__) || defined(__USE_TIME_BITS64)))
#define LEE_1_URCU_NR_FUTEX __NR_futex
#else
#define LEE_1_URCU_NR_FUTEX __NR_futex_time64
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The emulation as functions, exported by each flavour's library. */
int compat_futex_noasync(int32_t *uaddr, int op, int32_t val, const struct timespec *timeout, int32_t *uaddr2,
                         int32_t val3);
int compat_futex_async(int32_t *uaddr, int op, int32_t val, const struct timespec *timeout, int32_t *uaddr2,
                       int32_t val3);

/* Fails with an error number, as a system call does. */
static inline int lee_1_urcu_futex_fail(int error)
{
    errno = error;
    return -1;
}

/* The milliseconds of a timeout, rounded up; -1 for none, and for one of more than thirty years. */
static inline int64_t lee_1_urcu_futex_rounds(const struct timespec *timeout)
{
    if (!timeout || timeout->tv_sec > 1000000000)
        return -1;
    return (int64_t)timeout->tv_sec * 1000 + (timeout->tv_nsec + 999999) / 1000000;
}

/* Waits until the word is no longer val, by looking. EINTR as from the call. */
static inline int lee_1_urcu_futex_poll(int32_t *uaddr, int32_t val, const struct timespec *timeout)
{
    int64_t left = lee_1_urcu_futex_rounds(timeout);

    if (timeout && (timeout->tv_sec < 0 || timeout->tv_nsec < 0 || timeout->tv_nsec > 999999999))
        return lee_1_urcu_futex_fail(EINVAL);
    /* Acquire: partner of whatever release changed the word. */
    if (__atomic_load_n(uaddr, __ATOMIC_ACQUIRE) != val)
        return lee_1_urcu_futex_fail(EAGAIN);
    while (__atomic_load_n(uaddr, __ATOMIC_ACQUIRE) == val) {
        if (left == 0)
            return lee_1_urcu_futex_fail(ETIMEDOUT);
        if (lee_1_urcu_usleep(1000) != 0)
            return lee_1_urcu_futex_fail(EINTR);
        if (left > 0)
            left--;
    }
    return 0;
}

/* FUTEX_WAIT and FUTEX_WAKE without a kernel's help. Waiters look for themselves: 0 are woken. */
static inline int lee_1_urcu_futex_emulate(int32_t *uaddr, int op, int32_t val, const struct timespec *timeout)
{
    switch (op) {
    case FUTEX_WAIT:
        return lee_1_urcu_futex_poll(uaddr, val, timeout);
    case FUTEX_WAKE:
        return 0;
    default:
        return lee_1_urcu_futex_fail(EINVAL);
    }
}

/* The call. */
static inline int futex(int32_t *uaddr, int op, int32_t val, const struct timespec *timeout, int32_t *uaddr2,
                        int32_t val3)
{
    return (int)lee_1_urcu_syscall(LEE_1_URCU_NR_FUTEX, uaddr, op, val, timeout, uaddr2, val3);
}

/* The call, or its emulation. Callers: threads, outside signal handlers. */
static inline int futex_noasync(int32_t *uaddr, int op, int32_t val, const struct timespec *timeout, int32_t *uaddr2,
                                int32_t val3)
{
    int error = errno;
    int result = futex(uaddr, op, val, timeout, uaddr2, val3);

    if (caa_likely(result >= 0 || errno != ENOSYS))
        return result;
    errno = error;
    return lee_1_urcu_futex_emulate(uaddr, op, val, timeout);
}

/* The call, or its emulation. Callers: threads and signal handlers. */
static inline int futex_async(int32_t *uaddr, int op, int32_t val, const struct timespec *timeout, int32_t *uaddr2,
                              int32_t val3)
{
    return futex_noasync(uaddr, op, val, timeout, uaddr2, val3);
}

#ifdef __cplusplus
}
#endif

#endif
