/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu-defer.h, leeward's: another name of urcu/defer.h.
 */
#include "urcu/defer.h"
