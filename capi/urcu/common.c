/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * libleeward-urcu-common.so.8: the queues and stacks of urcu/wfcqueue.h, urcu/wfstack.h and
 * urcu/wfqueue.h as functions, for programs that were compiled to call liburcu-common's. They are
 * what the headers inline, defined once with external linkage; common.symbols lists them, and what
 * compat_futex.h adds.
 */
#define LEE_1_URCU_COMMON __attribute__((__visibility__("default")))
#define CDS_WFQ_DEPRECATED

#include <stddef.h>

#include <urcu/wfcqueue.h>
#include <urcu/wfqueue.h>
#include <urcu/wfstack.h>

#include "compat_futex.h"

/* The layouts that those programs have compiled in. */
urcu_static_assert(sizeof(struct cds_wfcq_node) == sizeof(void *), "cds_wfcq_node", cds_wfcq_node_size);
urcu_static_assert(sizeof(struct cds_wfcq_tail) == sizeof(void *), "cds_wfcq_tail", cds_wfcq_tail_size);
urcu_static_assert(sizeof(struct __cds_wfcq_head) == sizeof(void *), "__cds_wfcq_head", cds_wfcq_head_without_size);
urcu_static_assert(offsetof(struct cds_wfcq_head, node) == 0, "cds_wfcq_head.node", cds_wfcq_head_node);
urcu_static_assert(offsetof(struct cds_wfcq_head, lock) == sizeof(void *), "cds_wfcq_head.lock", cds_wfcq_head_lock);
urcu_static_assert(sizeof(struct cds_wfs_node) == sizeof(void *), "cds_wfs_node", cds_wfs_node_size);
urcu_static_assert(sizeof(struct cds_wfs_head) == sizeof(void *), "cds_wfs_head", cds_wfs_head_size);
urcu_static_assert(sizeof(struct __cds_wfs_stack) == sizeof(void *), "__cds_wfs_stack", cds_wfs_stack_without_size);
urcu_static_assert(offsetof(struct cds_wfs_stack, head) == 0, "cds_wfs_stack.head", cds_wfs_stack_head);
urcu_static_assert(offsetof(struct cds_wfs_stack, lock) == sizeof(void *), "cds_wfs_stack.lock", cds_wfs_stack_lock);
urcu_static_assert(sizeof(struct cds_wfq_node) == sizeof(void *), "cds_wfq_node", cds_wfq_node_size);
urcu_static_assert(offsetof(struct cds_wfq_queue, head) == 0, "cds_wfq_queue.head", cds_wfq_queue_head);
urcu_static_assert(offsetof(struct cds_wfq_queue, tail) == sizeof(void *), "cds_wfq_queue.tail", cds_wfq_queue_tail);
urcu_static_assert(offsetof(struct cds_wfq_queue, dummy) == 2 * sizeof(void *), "cds_wfq_queue.dummy",
                   cds_wfq_queue_dummy);
urcu_static_assert(offsetof(struct cds_wfq_queue, lock) == 3 * sizeof(void *), "cds_wfq_queue.lock",
                   cds_wfq_queue_lock);
#if defined(__x86_64__) && defined(__GLIBC__)
urcu_static_assert(sizeof(struct cds_wfcq_head) == 48, "cds_wfcq_head", cds_wfcq_head_size);
urcu_static_assert(sizeof(struct cds_wfs_stack) == 48, "cds_wfs_stack", cds_wfs_stack_size);
urcu_static_assert(sizeof(struct cds_wfq_queue) == 64, "cds_wfq_queue", cds_wfq_queue_size);
#endif
