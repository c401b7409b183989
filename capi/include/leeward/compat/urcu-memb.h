/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu-memb.h, leeward's: the flavour memb by the short names: rcu_read_lock stands for
 * urcu_memb_read_lock, and so on. If a source includes two headers like this one, the last one's
 * flavour gets the short names.
 */
#ifndef URCU_API_MAP
#define URCU_API_MAP
#endif

#include "urcu/urcu-memb.h"

#ifndef LEE_1_URCU_MEMB_IS_MAPPED
#define LEE_1_URCU_MEMB_IS_MAPPED
#include "urcu/map/urcu-memb.h"
#endif
