/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu/cds.h, leeward's: all containers of these headers.
 */
#ifndef LEEWARD_COMPAT_URCU_CDS_H
#define LEEWARD_COMPAT_URCU_CDS_H

#include "hlist.h"
#include "lfstack.h"
#include "list.h"
#include "rcuhlist.h"
#include "rculfhash.h"
#include "rculfqueue.h"
#include "rculfstack.h"
#include "rculist.h"
#include "wfcqueue.h"
#include "wfqueue.h"
#include "wfstack.h"

#endif
