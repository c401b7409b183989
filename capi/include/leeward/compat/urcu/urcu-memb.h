/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu/urcu-memb.h, leeward's: the flavour memb by its own names (urcu_memb_read_lock), with
 * URCU_API_MAP also by the short ones. Readers execute no fence; writers call membarrier. It is the
 * domain lee_memb of <leeward/rcu.h>.
 */
#ifndef LEEWARD_COMPAT_URCU_URCU_MEMB_H
#define LEEWARD_COMPAT_URCU_URCU_MEMB_H

#include "leeward/flavour.h"
#include "leeward/names-memb.h"
#ifdef _LGPL_SOURCE
#include "futex.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif

LEE_1_URCU_FUNCTIONS(urcu_memb)
LEE_1_URCU_REGISTRATION(urcu_memb)
LEE_1_URCU_SECTIONS(urcu_memb, lee_memb, lee_1_memb_slot, lee_1_memb_slot != &lee_1_unregistered)

#ifdef __cplusplus
}
#endif

#ifdef URCU_API_MAP
#define LEE_1_URCU_MEMB_IS_MAPPED
#include "map/urcu-memb.h"
#endif

#endif
