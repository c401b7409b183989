/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu-pointer.h, leeward's: another name of urcu/pointer.h.
 */
#include "urcu/pointer.h"
