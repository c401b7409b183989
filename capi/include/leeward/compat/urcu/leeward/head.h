/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu/leeward/head.h: struct rcu_head, which call_rcu() queues and programs embed. Programs get it
 * by a flavour's header, or by urcu/rculfqueue.h.
 */
#ifndef LEEWARD_COMPAT_URCU_LEEWARD_HEAD_H
#define LEEWARD_COMPAT_URCU_LEEWARD_HEAD_H

#include "../wfcqueue.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A callback that waits for its grace period. Needs no initialisation; its fields are the
 * library's.
 */
struct rcu_head {
    struct cds_wfcq_node next;
    void (*func)(struct rcu_head *head);
};

#ifdef __cplusplus
}
#endif

#endif
