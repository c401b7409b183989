/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * libleeward-urcu-memb.so.8 and its like: one flavour of urcu/leeward/flavour.h, as functions.
 *
 * It is compiled once for each flavour, with LEE_1_URCU_HEADER as the header that gives the flavour
 * the short names; so what reads `call_rcu` below defines urcu_memb_call_rcu. All of a flavour is
 * one source, so that nothing but the functions of flavour.symbols has external linkage, and a
 * program may link several flavours statically.
 *
 *     file           idea
 *     base.h         the flavour's header, errors, reports
 *     sleep.h        futexes
 *     inlined.h      the words of sections that were inlined from liburcu's headers
 *     worker.h       a worker and its queue
 *     forks.h        the pause of workers around a fork, and their queues in the child
 *     workers.h      all workers of the flavour: starting, ending, waiting for them
 *     call_rcu.h     call_rcu() and its choice of a worker
 *     processors.h   workers of processors
 *     defer.h        defer_rcu()
 *     poll.h         start_poll_synchronize_rcu()
 *     reader.h       registration, sections, synchronize_rcu()
 *     value.h        the flavour as a struct rcu_flavor_struct
 */
#define _GNU_SOURCE
/* The checks are functions beside the plain ones here, and not in place of them (reader.h). */
#undef DEBUG_RCU
#undef RCU_DEBUG
#undef CONFIG_RCU_DEBUG

#include "flavour/base.h"
#include "flavour/sleep.h"
#include "flavour/worker.h"
#include "flavour/forks.h"
#include "flavour/workers.h"
#include "flavour/call_rcu.h"
#include "flavour/processors.h"
#include "flavour/defer.h"
#include "flavour/poll.h"
#include "flavour/reader.h"
#include "flavour/value.h"
