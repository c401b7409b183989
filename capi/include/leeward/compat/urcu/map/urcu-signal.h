/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu/map/urcu-signal.h, leeward's: the flavour signal is memb here.
 */
#include "urcu-memb.h"
