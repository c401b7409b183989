/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu/map/urcu-qsbr.h, leeward's: the short names (rcu_read_lock) stand for those of the flavour
 * qsbr (urcu_qsbr_read_lock) from here on, whatever they stood for before.
 */
#include "../leeward/names-qsbr.h"

#undef LEE_1_URCU_NAME
#undef LEE_1_URCU_NAME_
#undef LEE_1_URCU_DOMAIN
#undef LEE_1_URCU_SLOT
#undef LEE_1_URCU_IS_QSBR
#undef LEE_1_URCU_IS_BP
#define LEE_1_URCU_NAME(name) urcu_qsbr_##name
#define LEE_1_URCU_NAME_(name) _urcu_qsbr_##name
/* The domain of <leeward/rcu.h>, and the calling thread's variable of it. */
#define LEE_1_URCU_DOMAIN(name) lee_qsbr_##name
#define LEE_1_URCU_SLOT lee_1_qsbr_slot
#define LEE_1_URCU_IS_QSBR 1
#include "../leeward/map.h"
