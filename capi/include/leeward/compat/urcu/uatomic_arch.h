/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu/uatomic_arch.h, leeward's: an old name of urcu/uatomic.h.
 */
#warning "urcu/uatomic_arch.h is deprecated: include urcu/uatomic.h"
#include "uatomic.h"
