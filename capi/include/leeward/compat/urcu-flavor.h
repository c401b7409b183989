/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu-flavor.h, leeward's: another name of urcu/flavor.h.
 */
#include "urcu/flavor.h"
