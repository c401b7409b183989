/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu/urcu_ref.h, leeward's: an old name of urcu/ref.h.
 */
#warning "urcu/urcu_ref.h is deprecated: include urcu/ref.h"
#include "ref.h"
