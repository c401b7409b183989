/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu-bp.h, leeward's: the flavour bp by the short names: rcu_read_lock stands for
 * urcu_bp_read_lock, and so on. If a source includes two headers like this one, the last one's
 * flavour gets the short names.
 */
#ifndef URCU_API_MAP
#define URCU_API_MAP
#endif

#include "urcu/urcu-bp.h"

#ifndef LEE_1_URCU_BP_IS_MAPPED
#define LEE_1_URCU_BP_IS_MAPPED
#include "urcu/map/urcu-bp.h"
#endif
