/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu/system.h, leeward's: plain accesses to memory that other threads share. They are volatile
 * and of any size: the compiler does each exactly once, and the processor may reorder them. An
 * access that must not tear, or must be ordered, is one of urcu/uatomic.h.
 */
#ifndef LEEWARD_COMPAT_URCU_SYSTEM_H
#define LEEWARD_COMPAT_URCU_SYSTEM_H

#include "arch.h"
#include "compiler.h"

/*
 * Loads the lvalue x. The form without underscore has its order with devices' caches, of which
 * there are none.
 */
#define _CMM_LOAD_SHARED(x) CMM_ACCESS_ONCE(x)
#define CMM_LOAD_SHARED(x) _CMM_LOAD_SHARED(x)

/* Stores v to the lvalue x, and yields v in x's type. */
#define _CMM_STORE_SHARED(x, v)                \
    (__extension__ ({                          \
        __typeof__(x) lee_1_stored_ = (v);     \
        CMM_ACCESS_ONCE(x) = lee_1_stored_;    \
        lee_1_stored_;                         \
    }))
#define CMM_STORE_SHARED(x, v) _CMM_STORE_SHARED(x, v)

#endif
