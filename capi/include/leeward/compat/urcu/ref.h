/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu/ref.h, leeward's: a reference counter. All of it is inlined, safe in signal handlers, and
 * leaves errno alone.
 */
#ifndef LEEWARD_COMPAT_URCU_REF_H
#define LEEWARD_COMPAT_URCU_REF_H

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>

#include "assert.h"
#include "uatomic.h"

#ifdef __cplusplus
extern "C" {
#endif

struct urcu_ref {
    long refcount;
};

/* Sets the count. */
static inline void urcu_ref_set(struct urcu_ref *ref, long val)
{
    uatomic_set(&ref->refcount, val);
}

/* Sets the count to 1. */
static inline void urcu_ref_init(struct urcu_ref *ref)
{
    urcu_ref_set(ref, 1);
}

/*
 * Adds a reference unless the count is at LONG_MAX, or at `refused`. Returns whether it did.
 * Relaxed: a thread that takes a reference has the object already, or finds it by an order of its
 * own.
 */
static inline bool lee_1_urcu_ref_get_but(struct urcu_ref *ref, long refused)
{
    long found = uatomic_read(&ref->refcount);

    do {
        if (found == LONG_MAX || found == refused)
            return false;
    } while (!__atomic_compare_exchange_n(&ref->refcount, &found, found + 1, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return true;
}

/* Adds a reference and returns true; at LONG_MAX returns false. */
static inline __attribute__((__warn_unused_result__)) bool urcu_ref_get_safe(struct urcu_ref *ref)
{
    return lee_1_urcu_ref_get_but(ref, LONG_MAX);
}

/* Adds a reference. Aborts at LONG_MAX, because one more would make it a count of none. */
static inline void urcu_ref_get(struct urcu_ref *ref)
{
    if (!urcu_ref_get_safe(ref))
        abort();
}

/*
 * Adds a reference and returns true; at 0, where the object is on its way out, and at LONG_MAX,
 * returns false.
 */
static inline __attribute__((__warn_unused_result__)) bool urcu_ref_get_unless_zero(struct urcu_ref *ref)
{
    return lee_1_urcu_ref_get_but(ref, 0);
}

/*
 * Takes a reference away; the last one calls release(ref). A full fence: what any holder did is
 * seen by it.
 */
static inline void urcu_ref_put(struct urcu_ref *ref, void (*release)(struct urcu_ref *))
{
    long left = uatomic_sub_return(&ref->refcount, 1);

    urcu_posix_assert(left >= 0);
    if (left == 0)
        release(ref);
}

#ifdef __cplusplus
}
#endif

#endif
