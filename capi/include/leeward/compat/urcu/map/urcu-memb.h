/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu/map/urcu-memb.h, leeward's: the short names (rcu_read_lock) stand for those of the flavour
 * memb (urcu_memb_read_lock) from here on, whatever they stood for before.
 */
#include "../leeward/names-memb.h"

#undef LEE_1_URCU_NAME
#undef LEE_1_URCU_NAME_
#undef LEE_1_URCU_DOMAIN
#undef LEE_1_URCU_SLOT
#undef LEE_1_URCU_IS_QSBR
#undef LEE_1_URCU_IS_BP
#define LEE_1_URCU_NAME(name) urcu_memb_##name
#define LEE_1_URCU_NAME_(name) _urcu_memb_##name
/* The domain of <leeward/rcu.h>, and the calling thread's variable of it. */
#define LEE_1_URCU_DOMAIN(name) lee_memb_##name
#define LEE_1_URCU_SLOT lee_1_memb_slot
#include "../leeward/map.h"
