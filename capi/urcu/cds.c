/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What liburcu-cds exports besides its hash table, as functions, for programs that were compiled to
 * call them: urcu/lfstack.h, urcu/rculfqueue.h and urcu/rculfstack.h. They are what the headers
 * inline, defined once with external linkage; cds.symbols lists them.
 */
#define LEE_1_URCU_CDS __attribute__((__visibility__("default")))
#define CDS_LFS_RCU_DEPRECATED

#include <stddef.h>

#include <urcu/lfstack.h>
#include <urcu/rculfqueue.h>
#include <urcu/rculfstack.h>

/* The layouts that those programs have compiled in. */
urcu_static_assert(sizeof(struct cds_lfs_node) == sizeof(void *), "cds_lfs_node", cds_lfs_node_size);
urcu_static_assert(sizeof(struct cds_lfs_head) == sizeof(void *), "cds_lfs_head", cds_lfs_head_size);
urcu_static_assert(sizeof(struct __cds_lfs_stack) == sizeof(void *), "__cds_lfs_stack", cds_lfs_stack_without_size);
urcu_static_assert(offsetof(struct cds_lfs_stack, head) == 0, "cds_lfs_stack.head", cds_lfs_stack_head);
urcu_static_assert(offsetof(struct cds_lfs_stack, lock) == sizeof(void *), "cds_lfs_stack.lock", cds_lfs_stack_lock);
urcu_static_assert(sizeof(struct cds_lfq_node_rcu) == 2 * sizeof(void *), "cds_lfq_node_rcu", cds_lfq_node_size);
urcu_static_assert(offsetof(struct cds_lfq_node_rcu, dummy) == sizeof(void *), "cds_lfq_node_rcu.dummy",
                   cds_lfq_node_dummy);
urcu_static_assert(sizeof(struct cds_lfq_queue_rcu) == 3 * sizeof(void *), "cds_lfq_queue_rcu", cds_lfq_queue_size);
urcu_static_assert(offsetof(struct cds_lfq_queue_rcu, tail) == sizeof(void *), "cds_lfq_queue_rcu.tail",
                   cds_lfq_queue_tail);
urcu_static_assert(offsetof(struct cds_lfq_queue_rcu, queue_call_rcu) == 2 * sizeof(void *), "cds_lfq_queue_rcu",
                   cds_lfq_queue_call_rcu);
urcu_static_assert(sizeof(struct rcu_head) == 2 * sizeof(void *), "rcu_head", rcu_head_size);
urcu_static_assert(offsetof(struct rcu_head, func) == sizeof(void *), "rcu_head.func", rcu_head_func);
urcu_static_assert(sizeof(struct cds_lfs_node_rcu) == sizeof(void *), "cds_lfs_node_rcu", cds_lfs_node_rcu_size);
urcu_static_assert(sizeof(struct cds_lfs_stack_rcu) == sizeof(void *), "cds_lfs_stack_rcu", cds_lfs_stack_rcu_size);
#if defined(__x86_64__) && defined(__GLIBC__)
urcu_static_assert(sizeof(struct cds_lfs_stack) == 48, "cds_lfs_stack", cds_lfs_stack_size);
#endif
