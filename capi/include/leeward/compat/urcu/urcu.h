/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu/urcu.h, leeward's: the flavour that RCU_MB or RCU_SIGNAL chooses, by its own names; memb, if
 * neither is defined. <urcu.h> is the same with the short names.
 */
#if defined(RCU_MB)
#include "urcu-mb.h"
#elif defined(RCU_SIGNAL)
#include "urcu-signal.h"
#else
#include "urcu-memb.h"
#endif
