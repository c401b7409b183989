/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu/assert.h, leeward's: assertions of programs and of these headers. One that is switched off
 * does not evaluate its condition, and the variables in it count as used.
 */
#ifndef LEEWARD_COMPAT_URCU_ASSERT_H
#define LEEWARD_COMPAT_URCU_ASSERT_H

#include <assert.h>

#include "config.h"

#define LEE_1_URCU_NO_ASSERT(cond) ((void)(0 && (cond)))

/* assert(), on unless NDEBUG is defined. */
#ifdef NDEBUG
#define urcu_posix_assert(cond) LEE_1_URCU_NO_ASSERT(cond)
#else
#define urcu_posix_assert(cond) assert(cond)
#endif

/* urcu_posix_assert() in units that define DEBUG_RCU, or CONFIG_RCU_DEBUG; else off. */
#if defined(DEBUG_RCU) || defined(CONFIG_RCU_DEBUG)
#define urcu_assert_debug(cond) urcu_posix_assert(cond)
#else
#define urcu_assert_debug(cond) LEE_1_URCU_NO_ASSERT(cond)
#endif

#endif
