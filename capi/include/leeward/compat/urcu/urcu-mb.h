/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu/urcu-mb.h, leeward's: the flavour mb by its own names (urcu_mb_read_lock), with URCU_API_MAP
 * also by the short ones. Readers execute full fences; writers make no system call unless they
 * sleep. It is the domain lee_mb of <leeward/rcu.h>.
 */
#ifndef LEEWARD_COMPAT_URCU_URCU_MB_H
#define LEEWARD_COMPAT_URCU_URCU_MB_H

#include "leeward/flavour.h"
#include "leeward/names-mb.h"
#ifdef _LGPL_SOURCE
#include "futex.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif

LEE_1_URCU_FUNCTIONS(urcu_mb)
LEE_1_URCU_REGISTRATION(urcu_mb)
LEE_1_URCU_SECTIONS(urcu_mb, lee_mb, lee_1_mb_slot, lee_1_mb_slot != &lee_1_unregistered)

#ifdef __cplusplus
}
#endif

#ifdef URCU_API_MAP
#define LEE_1_URCU_MB_IS_MAPPED
#include "map/urcu-mb.h"
#endif

#endif
