/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What each flavour's library exports of urcu/pointer.h and, by compat_futex.h, of urcu/futex.h,
 * for programs that were compiled to call it. pointer.symbols lists the functions.
 */
#include <urcu/pointer.h>

#include "compat_futex.h"

/*
 * The pointer that the caller has loaded. The compiler cannot see through the call, so that loads
 * through the result keep their dependency; a caller of liburcu's macro has loaded it volatile.
 */
__attribute__((__visibility__("default"))) void *rcu_dereference_sym(void *p)
{
    return rcu_dereference(p);
}

__attribute__((__visibility__("default"))) void *rcu_dereference_sym2(void **p)
{
    return rcu_dereference(*p);
}

__attribute__((__visibility__("default"))) void *rcu_set_pointer_sym(void **p, void *v)
{
    rcu_set_pointer(p, v);
    return v;
}

__attribute__((__visibility__("default"))) void *rcu_xchg_pointer_sym(void **p, void *v)
{
    return rcu_xchg_pointer(p, v);
}

__attribute__((__visibility__("default"))) void *rcu_cmpxchg_pointer_sym(void **p, void *old, void *_new)
{
    return rcu_cmpxchg_pointer(p, old, _new);
}
