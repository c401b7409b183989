/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu/debug.h, leeward's: urcu_assert(), the older name of urcu_assert_debug() (urcu/assert.h).
 */
#ifndef LEEWARD_COMPAT_URCU_DEBUG_H
#define LEEWARD_COMPAT_URCU_DEBUG_H

#include "assert.h"

#define urcu_assert(cond) urcu_assert_debug(cond)

#endif
