/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu-call-rcu.h, leeward's: another name of urcu/call-rcu.h.
 */
#include "urcu/call-rcu.h"
