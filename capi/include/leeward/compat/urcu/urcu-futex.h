/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu/urcu-futex.h, leeward's: an old name of urcu/futex.h.
 */
#warning "urcu/urcu-futex.h is deprecated: include urcu/futex.h"
#include "futex.h"
