/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu/map/urcu.h, leeward's: the short names of the flavour that RCU_MB or RCU_SIGNAL chooses; of
 * memb, if neither is defined.
 */
#if defined(RCU_MB)
#include "urcu-mb.h"
#elif defined(RCU_SIGNAL)
#include "urcu-signal.h"
#else
#include "urcu-memb.h"
#endif
