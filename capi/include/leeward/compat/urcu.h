/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu.h, leeward's: the flavour that RCU_MB or RCU_SIGNAL chooses, by the short names; memb, if
 * neither is defined. (The flavour signal is memb here.)
 */
#ifdef RCU_MB
#include "urcu-mb.h"
#else
#include "urcu-memb.h"
#endif
#include "urcu/urcu.h"
