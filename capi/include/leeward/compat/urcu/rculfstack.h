/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu/rculfstack.h, leeward's: the stack that urcu/lfstack.h replaced, for programs that have not
 * moved. Lock-free; a pop is made in a section, and a popped node is freed or pushed again after a
 * grace period.
 *
 * A program that defines CDS_LFS_RCU_DEPRECATED as nothing is not warned. All of it is inlined,
 * safe in signal handlers, and leaves errno alone.
 */
#ifndef LEEWARD_COMPAT_URCU_RCULFSTACK_H
#define LEEWARD_COMPAT_URCU_RCULFSTACK_H

#include <stddef.h>

#include "compiler.h"
#include "uatomic.h"
#ifdef _LGPL_SOURCE
#include "pointer.h"
#endif

#ifndef CDS_LFS_RCU_DEPRECATED
#define CDS_LFS_RCU_DEPRECATED CDS_DEPRECATED("urcu/rculfstack.h is deprecated: use urcu/lfstack.h")
#endif

/* How the functions are defined; libleeward-urcu-cds has them as symbols. */
#ifndef LEE_1_URCU_CDS
#define LEE_1_URCU_CDS static inline
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The link of an element. */
struct cds_lfs_node_rcu {
    struct cds_lfs_node_rcu *next;
};

/* The top node, or NULL. */
struct cds_lfs_stack_rcu {
    struct cds_lfs_node_rcu *head;
};

/* Prepares a node. Does nothing, as a push stores all there is. */
CDS_LFS_RCU_DEPRECATED LEE_1_URCU_CDS void cds_lfs_node_init_rcu(struct cds_lfs_node_rcu *node)
{
    (void)node;
}

/* Makes an empty stack. */
CDS_LFS_RCU_DEPRECATED LEE_1_URCU_CDS void cds_lfs_init_rcu(struct cds_lfs_stack_rcu *s)
{
    s->head = NULL;
}

/*
 * Pushes the node. Returns 0 if the stack was empty, else non-zero. The thread that pops it sees
 * what was stored before.
 */
CDS_LFS_RCU_DEPRECATED LEE_1_URCU_CDS int cds_lfs_push_rcu(struct cds_lfs_stack_rcu *s, struct cds_lfs_node_rcu *node)
{
    /* Relaxed: nothing is read through it. */
    struct cds_lfs_node_rcu *top = __atomic_load_n(&s->head, __ATOMIC_RELAXED);

    do {
        /* Relaxed: a popper that has the node from before may still read its link. */
        __atomic_store_n(&node->next, top, __ATOMIC_RELAXED);
        /*
         * SeqCst: its release is the partner of the acquires in cds_lfs_pop_rcu(); its acquire
         * hands the nodes below on.
         */
    } while (!__atomic_compare_exchange_n(&s->head, &top, node, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
    return top != NULL;
}

/* Pops the top node; returns NULL if the stack is empty. In a section. */
CDS_LFS_RCU_DEPRECATED LEE_1_URCU_CDS struct cds_lfs_node_rcu *cds_lfs_pop_rcu(struct cds_lfs_stack_rcu *s)
{
    /* Acquire: partner of the release of the exchange in cds_lfs_push_rcu(). */
    struct cds_lfs_node_rcu *top = __atomic_load_n(&s->head, __ATOMIC_ACQUIRE), *next;

    do {
        if (top == NULL)
            return NULL;
        /* Relaxed: if another popper has the node and overwrote it, the exchange fails. */
        next = __atomic_load_n(&top->next, __ATOMIC_RELAXED);
        /*
         * SeqCst: liburcu's is a full barrier here. Acquire on failure: the next round reads
         * through it.
         */
    } while (!__atomic_compare_exchange_n(&s->head, &top, next, 0, __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE));
    return top;
}

#ifdef __cplusplus
}
#endif

#endif
